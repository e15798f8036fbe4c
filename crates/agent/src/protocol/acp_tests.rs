use std::collections::BTreeSet;

use ralph_core::{
    event::{FileChange, ToolKind, ToolKinds, Usage},
    testing::acp::{Side, flaw},
};

use super::{super::testing, *};

const GEMINI: &str = include_str!("../../../../tests/fixtures/gemini/acp.jsonl");
const OPENCODE: &str = include_str!("../../../../tests/fixtures/opencode/acp.jsonl");

type Session = testing::Session<AcpLive>;

impl testing::Published for AcpLive {
    fn flaw(written: &Value) -> Option<String> {
        // The method is no longer part of the protocol, but gemini has no other one.
        let is_older = written["method"] == "session/set_model";
        flaw(Side::Client, written, None).filter(|_| !is_older)
    }
}

impl Session {
    fn start(opening: SessionOpening) -> Self {
        let opening = SessionOpening {
            prompt: "Do the work".to_owned(),
            cwd: "/repo".to_owned(),
            ..opening
        };
        Self::begin(opening)
    }

    /// A session whose prompt was sent, as request 3.
    fn open(opening: SessionOpening) -> Self {
        let mut session = Self::start(opening);
        session.reply(json!({"protocolVersion": 1}));
        session.reply(json!({"sessionId": "s"}));
        assert_eq!(session.last()["method"], "session/prompt");
        session
    }

    fn last(&self) -> &Value {
        self.written.last().expect("something was written")
    }

    /// Answers the latest request as the agent.
    fn reply(&mut self, result: Value) {
        let id = self.last()["id"].clone();
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn refuse(&mut self, id: u64, code: i64, message: &str) {
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    fn stop(&mut self, id: u64, reason: &str) {
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}}));
    }

    fn update(&mut self, update: Value) {
        let params = json!({"sessionId": "s", "update": update});
        self.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    fn ask(&mut self, id: Value, call: Value) {
        let options = json!([
            {"optionId": "forever", "kind": "allow_always"},
            {"optionId": "yes", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": "s", "toolCall": call, "options": options});
        self.hear(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params}));
    }

    fn steer(&mut self, id: u32) {
        let id = SteeringId(id);
        let text = "another word".to_owned();
        self.tell(SessionCommand::Steer { id, text });
    }

    fn answer(&mut self, id: &str, answer: PermissionAnswer) {
        let id = AskId(id.to_owned());
        self.tell(SessionCommand::Answer { id, answer });
    }

    fn problem(&self) -> Option<ProblemKind> {
        self.signals.iter().find_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.kind),
            _ => None,
        })
    }

    fn methods(&self) -> Vec<&str> {
        self.written
            .iter()
            .filter_map(|message| message["method"].as_str())
            .collect()
    }

    fn count(&self, wanted: impl Fn(&AgentSignal) -> bool) -> usize {
        self.signals.iter().filter(|signal| wanted(signal)).count()
    }
}

fn asking() -> SessionOpening {
    SessionOpening {
        asks: ToolKinds::ALL,
        ..SessionOpening::default()
    }
}

fn steered_by(steering: Steering) -> SessionOpening {
    SessionOpening {
        steering,
        ..SessionOpening::default()
    }
}

fn deny(message: &str) -> PermissionAnswer {
    PermissionAnswer::Deny {
        message: message.to_owned(),
    }
}

fn said(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

#[test]
fn a_turn_is_over_when_its_prompt_is_answered() {
    let mut session = Session::start(SessionOpening::default());
    assert_eq!(session.last()["params"]["clientCapabilities"]["terminal"], false);
    session.reply(json!({"protocolVersion": 1}));
    assert_eq!(session.last()["params"], json!({"cwd": "/repo", "mcpServers": []}));
    session.reply(json!({"sessionId": "s"}));
    assert_eq!(session.last()["params"]["prompt"][0]["text"], "Do the work");
    session.update(said("do"));
    session.update(said("ne"));
    assert!(session.verdicts().is_empty() && !session.closed);
    session.reply(json!({"stopReason": "end_turn"}));
    assert_eq!(session.verdicts(), [(true, Some("done"))]);
    assert!(session.closed);
    assert_eq!(session.count(|signal| matches!(signal, AgentSignal::Said { .. })), 1);
    assert_eq!(
        session.count(|signal| matches!(signal, AgentSignal::TextDelta { .. })),
        2
    );
}

#[test]
fn every_reason_to_stop_but_the_end_of_the_turn_is_a_failure() {
    for (reason, kind) in [
        ("cancelled", ProblemKind::Other),
        ("refusal", ProblemKind::Other),
        ("max_tokens", ProblemKind::Other),
        ("max_turn_requests", ProblemKind::TurnLimit),
        ("new", ProblemKind::Other),
        ("", ProblemKind::Other),
    ] {
        let mut session = Session::open(SessionOpening::default());
        session.stop(3, reason);
        assert_eq!(session.verdicts(), [(false, None)], "{reason}");
        assert_eq!(session.problem(), Some(kind), "{reason}");
    }
}

#[test]
fn errors_are_classified_by_their_words_and_then_by_their_codes() {
    for (code, message, kind) in [
        (
            401,
            r#"{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}"#,
            ProblemKind::Auth,
        ),
        (429, "slow down", ProblemKind::RateLimited { until_ms: None }),
        (503, "later", ProblemKind::Overloaded),
        (-32603, "Internal error: invalid x-api-key", ProblemKind::Auth),
        (-32000, "Authentication required", ProblemKind::Auth),
        (-32603, "Internal error", ProblemKind::Other),
    ] {
        let mut session = Session::open(SessionOpening::default());
        session.refuse(3, code, message);
        assert_eq!(session.problem(), Some(kind), "{code} {message}");
        assert_eq!(session.verdicts(), [(false, None)]);
    }
}

#[test]
fn an_agent_that_speaks_another_version_is_refused() {
    for version in [json!(2), json!("1"), Value::Null] {
        let mut session = Session::start(SessionOpening::default());
        session.reply(json!({"protocolVersion": version}));
        assert_eq!(session.problem(), Some(ProblemKind::Usage));
        assert!(session.closed);
    }
}

#[test]
fn without_rules_the_agent_is_set_to_ask_for_nothing_and_what_it_asks_is_allowed() {
    let modes = json!({"sessionId": "s", "modes": {"availableModes": [{"id": "default"}, {"id": "yolo"}]}});
    let mut session = Session::start(SessionOpening::default());
    session.reply(json!({"protocolVersion": 1}));
    session.reply(modes.clone());
    assert_eq!(session.last()["params"]["modeId"], "yolo");
    // The agent's announcement of the mode is not a message of the turn.
    session.update(said("[MODE_UPDATE] yolo"));
    session.reply(json!({}));
    session.ask(
        json!(0),
        json!({"toolCallId": "a", "title": "touch x", "kind": "execute"}),
    );
    assert_eq!(
        session.last()["result"]["outcome"],
        json!({"outcome": "selected", "optionId": "yes"})
    );
    session.stop(4, "end_turn");
    assert_eq!(session.verdicts(), [(true, None)]);

    let mut session = Session::start(asking());
    session.reply(json!({"protocolVersion": 1}));
    session.reply(modes);
    assert_eq!(session.last()["method"], "session/prompt", "its mode stays");
}

#[test]
fn an_agent_that_refuses_to_ask_for_nothing_works_all_the_same() {
    let mut session = Session::start(SessionOpening::default());
    session.reply(json!({"protocolVersion": 1}));
    session.reply(json!({"sessionId": "s", "modes": {"availableModes": [{"id": "bypassPermissions"}]}}));
    session.refuse(3, -32603, "not as root");
    assert_eq!(session.last()["method"], "session/prompt");
}

#[test]
fn model_and_agent_are_set_before_the_prompt_or_the_turn_fails() {
    let opening = SessionOpening {
        model: Some("p/m".to_owned()),
        agent: Some("plan".to_owned()),
        ..SessionOpening::default()
    };
    let options = json!({"sessionId": "s", "configOptions": [
        {"id": "model", "category": "model", "currentValue": "p/other"},
        {"id": "how", "category": "mode", "options": [{"value": "build"}, {"value": "plan"}]},
    ]});
    let begin = |result: &Value| {
        let mut session = Session::start(opening.clone());
        session.reply(json!({"protocolVersion": 1}));
        session.reply(result.clone());
        session
    };
    let mut session = begin(&options);
    let set: Vec<_> = session.written[2..].iter().map(|told| &told["params"]).collect();
    assert_eq!(
        set,
        [
            &json!({"sessionId": "s", "configId": "model", "value": "p/m"}),
            &json!({"sessionId": "s", "configId": "how", "value": "plan"}),
        ]
    );
    session.stop(3, "");
    assert_ne!(
        session.last()["method"],
        "session/prompt",
        "one is set, the other not yet"
    );
    session.stop(4, "");
    assert_eq!(session.last()["method"], "session/prompt");

    let mut session = begin(&options);
    session.refuse(3, -32602, "Invalid params: model not found: p/m");
    assert_eq!(session.problem(), Some(ProblemKind::ModelUnknown));
    session.stop(4, "");
    assert!(!session.methods().contains(&"session/prompt"));

    let older =
        json!({"sessionId": "s", "models": {"currentModelId": "x"}, "modes": {"availableModes": [{"id": "plan"}]}});
    let session = begin(&older);
    assert_eq!(session.methods()[2..], ["session/set_model", "session/set_mode"]);

    let session = begin(&json!({"sessionId": "s"}));
    assert_eq!(session.problem(), Some(ProblemKind::Usage), "it takes no model");
    let session = begin(&json!({"sessionId": "s", "models": {}, "modes": {"availableModes": [{"id": "build"}]}}));
    assert_eq!(session.problem(), Some(ProblemKind::Usage), "it has no such mode");
}

#[test]
fn a_session_is_resumed_or_loaded_as_the_agent_can_and_its_past_is_not_told_again() {
    let opening = SessionOpening {
        resume: Some(SessionId("s".to_owned())),
        ..SessionOpening::default()
    };
    let both = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    for (can, method) in [(both, "session/resume"), (json!({"loadSession": true}), "session/load")] {
        let mut session = Session::start(opening.clone());
        session.reply(json!({"protocolVersion": 1, "agentCapabilities": can}));
        assert_eq!(session.last()["method"], method);
        assert_eq!(session.last()["params"]["sessionId"], "s");
        session.update(said("what was said before"));
        session.update(json!({"sessionUpdate": "usage_update", "cost": {"amount": 2.0, "currency": "USD"}}));
        session.reply(Value::Null);
        session.update(json!({"sessionUpdate": "usage_update", "cost": {"amount": 2.5, "currency": "USD"}}));
        session.stop(3, "end_turn");
        assert_eq!(session.verdicts(), [(true, None)]);
        let usage = Usage {
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        assert!(session.signals.contains(&AgentSignal::Usage { usage }));
    }
    let mut session = Session::start(opening.clone());
    session.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": false}}));
    assert_eq!(session.problem(), Some(ProblemKind::SessionLost));
    let mut session = Session::start(opening);
    session.reply(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}));
    session.refuse(2, -32603, "Internal error: service failure");
    assert_eq!(session.problem(), Some(ProblemKind::SessionLost));
}

#[test]
fn what_is_asked_is_told_and_answered_by_kind() {
    let mut session = Session::open(asking());
    session.ask(
        json!("text"),
        json!({"toolCallId": "a", "title": "rm x", "kind": "execute", "rawInput": {"command": "rm -r x"}}),
    );
    session.ask(
        json!(7),
        json!({"toolCallId": "b", "title": "touch y", "kind": "execute"}),
    );
    let diff = json!([{"type": "diff", "path": "/repo/w", "oldText": "a\nb\n", "newText": "a\nc\n"}]);
    session.ask(
        json!(8),
        json!({"toolCallId": "c", "title": "w", "kind": "edit", "content": diff}),
    );
    let asked: Vec<_> = session
        .signals
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::PermissionRequested { request } => Some(request.clone()),
            _ => None,
        })
        .collect();
    let commands: Vec<_> = asked.iter().map(|request| request.command.as_deref()).collect();
    assert_eq!(commands, [Some("rm -r x"), Some("touch y"), None]);
    let kinds: Vec<_> = asked.iter().map(|request| request.kind).collect();
    assert_eq!(kinds, [ToolKind::Shell, ToolKind::Shell, ToolKind::Edit]);
    assert_eq!(asked[2].paths, ["/repo/w"]);
    assert_eq!(asked[2].diff.as_deref(), Some("@@ /repo/w:2 @@\n-b\n+c"));

    session.answer(r#""text""#, PermissionAnswer::Allow);
    let told = session.last().clone();
    assert_eq!(
        (&told["id"], &told["result"]["outcome"]["optionId"]),
        (&json!("text"), &json!("yes"))
    );
    session.answer("8", PermissionAnswer::Allow);
    session.answer("7", deny("not today"));
    let told = session.last().clone();
    assert_eq!(
        (&told["id"], &told["result"]["outcome"]["optionId"]),
        (&json!(7), &json!("no"))
    );
    let written = session.written.len();
    session.answer("7", PermissionAnswer::Allow);
    assert_eq!(session.written.len(), written, "an answer is given once");
}

#[test]
fn the_reason_of_a_denial_goes_before_it_as_a_message_where_the_agent_takes_one() {
    let opening = SessionOpening {
        steering: Steering::Prompt,
        ..asking()
    };
    let mut session = Session::open(opening);
    session.ask(json!(1), json!({"toolCallId": "a"}));
    session.answer("1", deny("not today"));
    let [.., reason, denied] = &session.written[..] else {
        panic!("{:?}", session.written)
    };
    assert_eq!(reason["params"]["prompt"][0]["text"], "not today");
    assert_eq!(denied["result"]["outcome"]["optionId"], "no");
    session.stop(3, "end_turn");
    assert!(session.verdicts().is_empty(), "the message is not answered yet");
    session.stop(4, "end_turn");
    assert_eq!(session.verdicts(), [(true, None)]);
    assert!(session.answered().is_empty(), "it is nobody's message");
}

#[test]
fn permission_for_one_use_is_never_given_for_more_than_that() {
    let mut session = Session::open(asking());
    let options = json!([{"optionId": "forever", "kind": "allow_always"}]);
    let params = json!({"toolCall": {"toolCallId": "a"}, "options": options});
    session.hear(&json!({"id": 1, "method": "session/request_permission", "params": params}));
    session.answer("1", PermissionAnswer::Allow);
    assert_eq!(session.last()["result"]["outcome"], json!({"outcome": "cancelled"}));
}

#[test]
fn a_request_that_is_withdrawn_waits_no_more() {
    let mut session = Session::open(asking());
    session.ask(json!(5), json!({"toolCallId": "a"}));
    session.hear(&json!({"method": "$/cancel_request", "params": {"requestId": 5}}));
    let id = AskId("5".to_owned());
    assert!(session.signals.contains(&AgentSignal::PermissionWithdrawn { id }));
    let written = session.written.len();
    session.answer("5", PermissionAnswer::Allow);
    assert_eq!(session.written.len(), written);
}

#[test]
fn an_agent_that_asks_without_end_is_denied_what_comes_on_top() {
    let mut session = Session::open(asking());
    for number in 0..1_000 {
        session.ask(
            json!(number),
            json!({"toolCallId": number.to_string(), "kind": "execute"}),
        );
    }
    let asked = session.count(|signal| matches!(signal, AgentSignal::PermissionRequested { .. }));
    assert_eq!(session.written.len(), 3 + 1_000 - asked);
    assert!(asked < 100, "{asked}");
    let mut session = Session::open(SessionOpening::default());
    for number in 0..1_000 {
        session.ask(json!(number), json!({"toolCallId": "a", "kind": "execute"}));
    }
    assert_eq!(session.written.len(), 3 + 1_000, "each is allowed");
}

#[test]
fn a_form_for_the_user_is_declined_and_said_once() {
    let mut session = Session::open(SessionOpening::default());
    let form =
        json!({"mode": "form", "sessionId": "s", "message": "Which colour?", "requestedSchema": {"type": "object"}});
    for id in ["a", "b"] {
        session.hear(&json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": form}));
        assert_eq!(
            *session.last(),
            json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}})
        );
    }
    let said = |signal: &&AgentSignal| matches!(signal, AgentSignal::Noted { text } if text.contains("a form"));
    assert_eq!(session.signals.iter().filter(said).count(), 1);
    session.stop(3, "end_turn");
    assert_eq!(session.verdicts(), [(true, None)]);
}

#[test]
fn what_is_asked_in_another_way_is_refused_and_said_once() {
    let mut session = Session::open(SessionOpening::default());
    for method in ["fs/write_text_file", "terminal/create", "mcp/connect", "mcp/connect"] {
        session.hear(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": {}}));
        assert_eq!(session.last()["error"]["code"], METHOD_NOT_FOUND);
        assert_eq!(session.last()["id"], method);
    }
    assert_eq!(session.count(|signal| matches!(signal, AgentSignal::Unknown { .. })), 1);
}

#[test]
fn what_is_told_in_another_way_is_said_once_unless_it_is_an_extension() {
    let mut session = Session::open(SessionOpening::default());
    for method in ["qwen/notify", "_meta/new", "session/new_in_acp", "session/new_in_acp"] {
        session.hear(&json!({"jsonrpc": "2.0", "method": method, "params": {}}));
    }
    assert_eq!(session.written.len(), 3, "nothing of it is answered");
    assert_eq!(session.count(|signal| matches!(signal, AgentSignal::Unknown { .. })), 1);
}

#[test]
fn a_message_reaches_the_turn_by_the_extension_where_it_is_announced() {
    let mut session = Session::start(SessionOpening::default());
    session.reply(json!({"protocolVersion": 1, "_meta": {"steering": {"supported": true}}}));
    session.steer(1);
    session.reply(json!({"sessionId": "s"}));
    assert_eq!(session.methods()[2..], ["session/prompt", "_session/steering"]);
    assert_eq!(
        session.last()["params"]["_meta"]["steering"]["idleBehavior"],
        "promptRequired"
    );
    for (id, outcome) in [
        (1, json!({"outcome": "injected"})),
        (2, json!({"outcome": "promptRequired"})),
        // The answer of agents that do not know the method, and of one that starts a turn by itself.
        (3, json!({})),
        (4, json!({"outcome": "startedNewTurn"})),
    ] {
        if id > 1 {
            session.steer(id);
        }
        session.reply(outcome);
    }
    assert_eq!(session.answered(), [(1, true), (2, false), (3, false), (4, false)]);
    session.stop(3, "end_turn");
    session.steer(5);
    assert_eq!(session.answered().last(), Some(&(5, false)), "the turn is over");
}

#[test]
fn a_message_for_an_agent_that_takes_none_is_not_sent() {
    for steering in [Steering::Protocol, Steering::Never] {
        let mut session = Session::open(steered_by(steering));
        session.steer(1);
        assert_eq!(session.answered(), [(1, false)]);
        assert_eq!(session.last()["method"], "session/prompt");
        assert_eq!(session.written.len(), 3);
    }
}

#[test]
fn a_message_that_is_another_prompt_holds_the_turn_open_until_it_is_answered() {
    let mut session = Session::open(steered_by(Steering::Prompt));
    session.steer(1);
    session.steer(2);
    session.stop(3, "end_turn");
    session.stop(4, "end_turn");
    assert!(session.verdicts().is_empty());
    session.refuse(5, -32602, "a prompt is already active");
    assert_eq!(session.answered(), [(1, true), (2, false)]);
    assert_eq!(session.verdicts(), [(true, None)]);
    let mut session = Session::open(steered_by(Steering::Prompt));
    session.steer(1);
    session.refuse(3, 500, "broken");
    assert_eq!(session.verdicts(), [(false, None)]);
    session.refuse(4, 500, "broken");
    assert_eq!(session.answered(), [(1, false)]);
}

#[test]
fn a_use_of_a_tool_is_told_when_it_starts_with_what_is_known_then() {
    let mut session = Session::open(SessionOpening::default());
    session.update(said("I look"));
    session.update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "a", "title": "bash", "kind": "execute",
        "status": "pending"}),
    );
    // Some agents send the arguments in pieces.
    let piece = json!([{"type": "content", "content": {"type": "text", "text": "{\"comm"}}]);
    session.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "in_progress", "content": piece}),
    );
    session.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "in_progress",
        "rawInput": {"command": "ls", "cwd": "/repo"}}),
    );
    session.update(
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed",
        "rawOutput": {"output": "x", "metadata": {"exit": 1}}}),
    );
    // Some agents send further updates after the end.
    session.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "a", "_meta": {}}));
    let told: Vec<_> = session
        .signals
        .iter()
        .filter(|signal| !signal.is_live_text())
        .skip(1)
        .collect();
    let shell = || ("a".to_owned(), "shell".to_owned());
    let (call, tool) = shell();
    let input = "ls".to_owned();
    let started = AgentSignal::ToolStarted { call, tool, input };
    let (call, tool) = shell();
    let ended = AgentSignal::ToolEnded {
        call,
        tool,
        ok: false,
        output: "x".to_owned(),
        duration_ms: Some(0),
    };
    let text = "I look".to_owned();
    assert_eq!(told, [&AgentSignal::Said { text }, &started, &ended]);
}

#[test]
fn a_plan_is_told_when_it_changes() {
    let mut session = Session::open(SessionOpening::default());
    for status in ["pending", "pending", "completed"] {
        let entries = json!([{"content": "write it", "priority": "high", "status": status}]);
        session.update(json!({"sessionUpdate": "plan", "entries": entries}));
    }
    let inputs: Vec<_> = session
        .signals
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::ToolStarted { input, .. } => Some(input.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(inputs, ["[ ] write it", "[x] write it"]);
}

#[test]
fn tokens_are_those_of_the_whole_turn_with_the_cache_counted_once() {
    let used = |opening: SessionOpening, result: Value| {
        let mut session = Session::open(opening);
        session.reply(result);
        session.signals.iter().find_map(|signal| match signal {
            AgentSignal::Usage { usage } => Some((usage.input_tokens, usage.cached_tokens, usage.output_tokens)),
            _ => None,
        })
    };
    let beside = json!({"stopReason": "end_turn", "usage": {"inputTokens": 900, "outputTokens": 40,
        "totalTokens": 1050, "thoughtTokens": 10, "cachedReadTokens": 100}});
    assert_eq!(
        used(SessionOpening::default(), beside.clone()),
        Some((Some(1000), Some(100), Some(50)))
    );
    let within = json!({"stopReason": "end_turn", "usage": {"inputTokens": 1000, "outputTokens": 50,
        "totalTokens": 1050, "thoughtTokens": 10, "cachedReadTokens": 100}});
    assert_eq!(
        used(SessionOpening::default(), within),
        Some((Some(1000), Some(100), Some(50)))
    );
    let quota = json!({"stopReason": "end_turn",
        "_meta": {"quota": {"token_count": {"input_tokens": 5000, "output_tokens": 250}}}});
    assert_eq!(
        used(SessionOpening::default(), quota),
        Some((Some(5000), None, Some(250)))
    );
    let without_tokens = SessionOpening {
        without_tokens: true,
        ..SessionOpening::default()
    };
    assert_eq!(used(without_tokens, beside), None);
}

#[test]
fn what_an_update_says_of_the_turn_so_far_is_told_at_once_and_not_again_with_its_end() {
    let mut session = Session::open(SessionOpening::default());
    let update = |input: u64, cost: f64| {
        json!({"sessionUpdate": "usage_update", "used": input, "size": 1000, "cost": {"amount": cost, "currency": "USD"},
            "_meta": {"usage": {"inputTokens": input, "outputTokens": 10, "totalTokens": input + 10}}})
    };
    session.update(update(100, 0.5));
    session.update(update(100, 0.5));
    session.update(update(250, 0.75));
    session.reply(
        json!({"stopReason": "end_turn", "_meta": {"usage": {"inputTokens": 250, "outputTokens": 15, "totalTokens": 265}}}),
    );
    let told = session.signals.iter().filter_map(|signal| match signal {
        AgentSignal::Usage { usage } => Some((usage.tokens(), usage.cost_usd)),
        _ => None,
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(Some(110), Some(0.5)), (Some(150), Some(0.25)), (Some(5), Some(0.0))]
    );
}

#[test]
fn lines_that_are_no_messages_are_said_once_and_change_nothing() {
    let mut session = Session::open(SessionOpening::default());
    for line in [
        "Debug: hello",
        "[]",
        "{}",
        r#"{"jsonrpc":"2.0","id":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"method":7,"id":1}"#,
        r#"{"method":"session/update"}"#,
        r#"{"method":"session/update","params":{"sessionId":"s","update":[]}}"#,
        r#"{"method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"new"}}}"#,
        r#"{"method":"session/request_permission","id":1,"params":null}"#,
    ] {
        session.with(|protocol, clock, exchange| protocol.feed(format!("{line}\n").as_bytes(), clock, exchange));
    }
    assert!(session.verdicts().is_empty());
    session.stop(3, "end_turn");
    assert_eq!(session.verdicts(), [(true, None)]);
}

#[test]
fn a_program_that_ends_in_the_middle_has_failed_its_turn_once() {
    let exit = Some(ralph_core::event::Exit::Code { code: 0 });
    for stop in [false, true] {
        let mut session = Session::open(SessionOpening::default());
        session.update(said("half of it"));
        if stop {
            session.stop(3, "end_turn");
        }
        session.with(|protocol, clock, exchange| protocol.finish(Finish { exit, stderr: "" }, clock, exchange));
        assert_eq!(session.verdicts(), [(stop, Some("half of it"))]);
    }
}

/// The turns of a recording: each with its prompt, its lines, and the prompt renumbered to request 3.
fn turns(recording: &str) -> Vec<(String, Vec<Value>)> {
    let mut turns: Vec<(String, Value, Vec<Value>)> = Vec::new();
    let mut opening = Vec::new();
    for line in recording.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let mut message = line["msg"].clone();
        let is_told = line["dir"] == "->";
        match turns.last_mut() {
            // Messages for the running turn, and their answers, are not replayed here.
            _ if is_told && message["method"] == "session/prompt" => {
                let text = message["params"]["prompt"][0]["text"].as_str().expect("a text");
                if text.starts_with("PROMPT") {
                    turns.push((text.to_owned(), message["id"].clone(), opening.clone()));
                }
            }
            _ if is_told => {}
            None => opening.push(message),
            Some((_, id, heard)) if message["method"].is_null() => {
                if message["id"] == *id {
                    message["id"] = json!(3);
                    heard.push(message);
                }
            }
            Some((_, _, heard)) => heard.push(message),
        }
    }
    turns.into_iter().map(|(text, _, heard)| (text, heard)).collect()
}

#[test]
fn recorded_conversations_are_understood_however_they_are_cut() {
    let outcomes = |recording: &str| {
        let replayed = turns(recording).into_iter().map(|(prompt, heard)| {
            let whole: String = heard.iter().map(|message| format!("{message}\n")).collect();
            let told = |size: usize| {
                let mut session = Session::start(asking());
                for piece in whole.as_bytes().chunks(size) {
                    session.with(|protocol, clock, exchange| protocol.feed(piece, clock, exchange));
                }
                session
            };
            let at_once = told(usize::MAX);
            for size in 1..100 {
                assert_eq!(told(size).signals, at_once.signals, "{prompt} in pieces of {size}");
            }
            let unknown = at_once.count(|signal| matches!(signal, AgentSignal::Unknown { .. }));
            assert_eq!(unknown, 0, "{prompt}: {:?}", at_once.signals);
            let [(ok, _)] = at_once.verdicts()[..] else {
                panic!("{prompt}: {:?}", at_once.signals)
            };
            let asked = at_once.count(|signal| matches!(signal, AgentSignal::PermissionRequested { .. }));
            let added = at_once.count(|signal| {
                matches!(signal, AgentSignal::FileChanged { path, change: FileChange::Added } if path == "/repo/w.txt")
            });
            (prompt, ok, at_once.problem(), asked, added)
        });
        replayed.collect::<Vec<_>>()
    };
    let gemini = outcomes(GEMINI);
    let opencode = outcomes(OPENCODE);
    let expected = |prompt: &str, ok, problem, asked, added| (format!("PROMPT {prompt}"), ok, problem, asked, added);
    let (auth, other) = (Some(ProblemKind::Auth), Some(ProblemKind::Other));
    let all = [
        expected("one", true, None, 1, 0),
        expected("two", true, None, 1, 0),
        expected("two b", true, None, 1, 0),
        expected("write", true, None, 1, 1),
        // The message that was sent meanwhile ended gemini's turn, and joined opencode's.
        expected("three", false, other, 1, 0),
        expected("four", false, other, 0, 0),
        expected("five", false, other, 1, 0),
        expected("six", false, auth, 0, 0),
        expected("six b", true, None, 0, 0),
        expected("eight", true, None, 0, 0),
    ];
    assert_eq!(gemini, all);
    let mut joined = all;
    joined[4] = expected("three", true, None, 1, 0);
    assert_eq!(opencode, joined);
}

/// What recorded agents send beside the schema. ralph takes all of it, as the test before shows.
const DEVIATIONS: [(&str, &str, &[&str]); 2] = [
    (
        "gemini",
        GEMINI,
        // An earlier draft.
        &["the response to session/new.models: is not described"],
    ),
    (
        "opencode",
        OPENCODE,
        // The present draft.
        &[
            "the response to initialize.agentCapabilities.sessionCapabilities.fork: is not described",
            "the response to session/prompt.usage: is not described",
        ],
    ),
];

#[allow(clippy::print_stdout)] // the figures, with `--nocapture`
#[test]
fn recorded_agents_keep_to_the_schema_but_for_what_is_named() {
    for (agent, recording, deviations) in DEVIATIONS {
        let (mut asked, mut found, mut count) = (HashMap::new(), BTreeSet::new(), 0);
        for line in recording.lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let (message, method) = (&line["msg"], line["msg"]["method"].as_str());
            let id = message["id"].to_string();
            if line["dir"] == "<-" {
                let asked = asked.get(&id).map(String::as_str).filter(|_| method.is_none());
                found.extend(flaw(Side::Agent, message, asked));
                count += 1;
            } else if let Some(method) = method {
                asked.insert(id, method.to_owned());
            }
        }
        println!(
            "ACP: {agent}, {count} recorded messages, fields beside the schema: {}",
            found.len()
        );
        assert_eq!(Vec::from_iter(found), deviations, "{agent}");
    }
}

#[test]
fn a_tool_that_is_used_without_asking_ends_the_turn() {
    let call = |id: &str, kind: &str, status: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "kind": kind, "status": status, "title": "touch x"});
    let opening = SessionOpening {
        asks: ToolKinds::from_kinds(&[ToolKind::Shell]),
        ..SessionOpening::default()
    };
    let mut session = Session::open(opening);
    session.ask(
        json!(1),
        json!({"toolCallId": "a", "kind": "execute", "title": "touch x"}),
    );
    session.answer("1", PermissionAnswer::Allow);
    session.update(call("a", "execute", "completed"));
    session.update(call("b", "execute", "in_progress"));
    session.update(call("b", "execute", "failed"));
    session.update(call("c", "edit", "in_progress"));
    session.update(call("c", "edit", "completed"));
    assert!(
        session.verdicts().is_empty(),
        "asked, refused, and nothing that rules concern"
    );
    session.update(call("d", "execute", "in_progress"));
    session.update(call("d", "execute", "completed"));
    assert_eq!(session.problem(), Some(ProblemKind::Usage));
    assert!(session.closed);
}

#[test]
fn a_tool_is_told_from_the_name_of_its_use_where_titles_say_something_else() {
    let opening = SessionOpening {
        named_calls: true,
        ..asking()
    };
    let mut session = Session::open(opening);
    for (id, kind) in [
        ("google_web_search__fc_1", "search"),
        ("grep_search__fc__2", "search"),
        ("mcp_db_drop__fc_3", "other"),
        ("run_shell_command__4", "execute"),
        ("fc_5", "execute"),
    ] {
        session.ask(json!(id), json!({"toolCallId": id, "kind": kind, "title": "x y"}));
    }
    let requests = session.signals.iter().filter_map(|signal| match signal {
        AgentSignal::PermissionRequested { request } => Some((request.tool.as_str(), request.kind)),
        _ => None,
    });
    assert_eq!(
        requests.collect::<Vec<_>>(),
        [
            ("google_web_search", ToolKind::Fetch),
            ("grep_search", ToolKind::Read),
            ("mcp_db_drop", ToolKind::Mcp),
            ("run_shell_command", ToolKind::Shell),
            ("shell", ToolKind::Shell),
        ]
    );
}

#[test]
fn a_tool_without_a_kind_is_called_as_it_was_announced() {
    let mut session = Session::open(asking());
    for (id, title) in [("a", "websearch"), ("b", "db_drop")] {
        let update = json!({"sessionUpdate": "tool_call", "toolCallId": id, "kind": "other", "status": "pending"});
        let mut update = update;
        update["title"] = json!(title);
        session.update(update);
        session.ask(json!(id), json!({"toolCallId": id, "kind": "other", "title": "cats"}));
    }
    let requests = session.signals.iter().filter_map(|signal| match signal {
        AgentSignal::PermissionRequested { request } => Some((request.tool.as_str(), request.kind)),
        _ => None,
    });
    assert_eq!(
        requests.collect::<Vec<_>>(),
        [("websearch", ToolKind::Other), ("db_drop", ToolKind::Mcp)]
    );
}

#[test]
fn a_denial_is_held_back_as_long_as_another_request_waits() {
    let mut session = Session::open(asking());
    for (id, call) in [(1, "a"), (2, "b"), (3, "c")] {
        session.ask(json!(id), json!({"toolCallId": call, "kind": "execute", "title": "ls"}));
    }
    let written = session.written.len();
    session.answer("1", deny("not today"));
    assert_eq!(
        session.written.len(),
        written,
        "others would be taken as denied with it"
    );
    session.answer("2", PermissionAnswer::Allow);
    // The agent gave up the third request.
    session.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"}));
    let answers: Vec<_> = session.written[written..]
        .iter()
        .map(|message| (&message["id"], &message["result"]["outcome"]["optionId"]))
        .collect();
    assert_eq!(answers, [(&json!(2), &json!("yes")), (&json!(1), &json!("no"))]);
    let id = AskId("3".to_owned());
    assert!(session.signals.contains(&AgentSignal::PermissionWithdrawn { id }));
}

#[test]
fn a_command_that_came_in_pieces_is_known_when_it_is_asked_about_and_a_tools_name_is_no_command() {
    let mut session = Session::open(asking());
    let said = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
    for (call, pieces) in [("a", &["{\"comm", "{\"command\": \"rm x\"}"][..]), ("b", &[])] {
        session.update(json!({
            "sessionUpdate": "tool_call", "toolCallId": call, "title": "Bash", "kind": "execute", "status": "pending",
            "content": said(""),
        }));
        for piece in pieces {
            session.update(json!({
                "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress", "content": said(piece),
            }));
        }
        let call =
            json!({"toolCallId": call, "title": "Bash", "content": said("Requesting approval to Running: rm x")});
        session.ask(json!(pieces.len()), call);
    }
    let commands = session.signals.iter().filter_map(|signal| match signal {
        AgentSignal::PermissionRequested { request } => Some(request.command.as_deref()),
        _ => None,
    });
    assert_eq!(commands.collect::<Vec<_>>(), [Some("rm x"), None]);
}
