use ralph_core::event::{AgentSignal, Exit, FileChange, SteeringId, ToolKind, ToolKinds};
use serde_json::{Value, json};

use super::{super::testing, *};

use super::super::PENDING_CAP;

const COMMANDS_AND_CHANGES: ToolKinds = ToolKinds::from_kinds(&[ToolKind::Shell, ToolKind::Edit]);

type Session = testing::Session<CodexLive>;

impl testing::Published for CodexLive {}

impl Session {
    /// A session whose turn is about to begin.
    fn asked_to_work(asks: bool) -> Self {
        let mut session = Self::begin(opening(asks));
        session.hear(&json!({"id": "initialize", "result": {}}));
        session.hear(&json!({"id": "thread", "result": {"thread": {"id": "t"}, "model": "large"}}));
        session
    }

    /// A session whose turn is running.
    fn working(asks: bool) -> Self {
        let mut session = Self::asked_to_work(asks);
        session.hear(&json!({"id": "turn", "result": {"turn": {"id": "u"}}}));
        session
    }

    fn told(&mut self, method: &str, params: Value) {
        let mut params = params;
        params["threadId"] = json!("t");
        self.hear(&json!({"method": method, "params": params}));
    }

    fn steer(&mut self, id: u32) {
        let text = format!("message {id}\nwith two lines");
        self.tell(SessionCommand::Steer {
            id: SteeringId(id),
            text,
        });
    }

    /// codex accepts a message, and takes it into the conversation with its next request to the model.
    fn takes(&mut self, line: u64) {
        self.hear(&json!({"id": format!("steer/{line}"), "result": {"turnId": "u"}}));
        let item = json!({"type": "userMessage", "id": "i", "clientId": format!("run/1/{line}")});
        self.told("item/started", json!({"item": item}));
    }

    fn says(&mut self, text: &str) {
        let item = json!({"type": "agentMessage", "id": "m", "text": text});
        self.told("item/completed", json!({"item": item, "turnId": "u"}));
    }

    fn completes(&mut self, status: &str, error: Value) {
        let turn = json!({"id": "u", "status": status, "error": error});
        self.told("turn/completed", json!({"turn": turn}));
    }

    fn ask(&mut self, id: u64, command: &str) {
        let params = json!({"threadId": "t", "turnId": "u", "itemId": "call", "command": command, "reason": "to see"});
        self.hear(&json!({"id": id, "method": "item/commandExecution/requestApproval", "params": params}));
    }

    fn end(&mut self) {
        let finish = Finish {
            exit: Some(Exit::Code { code: 0 }),
            stderr: "",
        };
        self.with(|protocol, clock, exchange| protocol.finish(finish, clock, exchange));
    }

    fn problems(&self) -> Vec<ProblemKind> {
        let problems = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.kind),
            _ => None,
        });
        problems.collect()
    }

    fn requests(&self) -> Vec<&ralph_core::event::PermissionRequest> {
        let requests = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::PermissionRequested { request } => Some(&**request),
            _ => None,
        });
        requests.collect()
    }

    fn input_tokens(&self) -> Vec<Option<u64>> {
        let used = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Usage { usage } => Some(usage.input_tokens),
            _ => None,
        });
        used.collect()
    }

    fn unknown(&self) -> usize {
        let said = |signal: &&AgentSignal| matches!(signal, AgentSignal::Noted { .. } | AgentSignal::Unknown { .. });
        self.signals.iter().filter(said).count()
    }

    /// The written messages that have a value at `pointer`.
    fn wrote(&self, pointer: &str) -> Vec<&Value> {
        self.written
            .iter()
            .filter_map(|message| message.pointer(pointer))
            .collect()
    }
}

fn opening(asks: bool) -> SessionOpening {
    SessionOpening {
        prompt: "Do the work".to_owned(),
        cwd: "/repo".to_owned(),
        seed: "run/1".to_owned(),
        asks: if asks { COMMANDS_AND_CHANGES } else { ToolKinds::NONE },
        ..SessionOpening::default()
    }
}

#[test]
fn a_session_is_one_thread_with_one_turn() {
    let mut session = Session::working(false);
    assert_eq!(
        session.wrote("/method"),
        ["initialize", "initialized", "thread/start", "turn/start"]
    );
    assert_eq!(session.wrote("/params/approvalPolicy"), ["never"]);
    assert_eq!(session.wrote("/params/input/0/text"), ["Do the work"]);
    assert_eq!(
        session.signals,
        [AgentSignal::Opened {
            session: Some(SessionId("t".to_owned())),
            model: Some("large".to_owned())
        }]
    );
    session.says("so far");
    session.says("done");
    session.completes("completed", Value::Null);
    assert_eq!(session.verdicts(), [(true, Some("done"))]);
    assert!(session.closed);
    session.end();
    assert_eq!(session.verdicts().len(), 1);
}

#[test]
fn model_and_session_are_named_where_the_thread_is_opened_and_rules_have_it_ask() {
    let mut session = Session::begin(SessionOpening {
        model: Some("large".to_owned()),
        resume: Some(SessionId("before".to_owned())),
        ..opening(true)
    });
    session.hear(&json!({"id": "initialize", "result": {}}));
    let asked = session.written.last().unwrap();
    assert_eq!(asked["method"], "thread/resume");
    let params = json!({
        "threadId": "before", "excludeTurns": true, "cwd": "/repo", "model": "large",
        "approvalPolicy": "untrusted", "approvalsReviewer": "user", "config": {}, "sandbox": "danger-full-access",
    });
    assert_eq!(asked["params"], params);
}

#[test]
fn a_session_that_is_not_there_any_more_is_lost() {
    let mut session = Session::begin(opening(false));
    session.hear(&json!({"id": "initialize", "result": {}}));
    // The error as it was recorded.
    let error = json!({"code": -32600, "message": "no rollout found for thread id 01a1f846"});
    session.hear(&json!({"id": "thread", "error": error}));
    assert_eq!(session.problems(), [ProblemKind::SessionLost]);
    assert_eq!(session.verdicts(), [(false, None)]);
    assert!(session.closed);
}

#[test]
fn a_message_is_taken_when_it_is_in_the_conversation_and_not_when_it_is_accepted() {
    let mut session = Session::working(false);
    session.steer(7);
    let sent = session.written.last().unwrap().clone();
    assert_eq!(sent["method"], "turn/steer");
    assert_eq!(sent["params"]["expectedTurnId"], "u");
    session.hear(&json!({"id": "steer/1", "result": {"turnId": "u"}}));
    assert!(session.answered().is_empty(), "a turn that fails now would lose it");
    session.takes(1);
    session.takes(1);
    assert_eq!(session.answered(), [(7, true)], "once");
}

#[test]
fn a_message_before_the_turn_is_known_waits_for_it() {
    let mut session = Session::asked_to_work(false);
    session.steer(1);
    session.steer(2);
    assert_eq!(session.written.len(), 4, "there is no turn to send it to");
    session.told("turn/started", json!({"turn": {"id": "u"}}));
    session.hear(&json!({"id": "turn", "result": {"turn": {"id": "u"}}}));
    assert_eq!(
        session.wrote("/params/clientUserMessageId"),
        ["run/1/1", "run/1/2"],
        "each once"
    );
    session.takes(2);
    session.takes(1);
    assert_eq!(session.answered(), [(2, true), (1, true)]);
}

#[test]
fn messages_that_the_turn_did_not_take_are_given_back_before_its_verdict() {
    let mut session = Session::working(false);
    session.steer(1);
    session.steer(2);
    session.steer(3);
    // The turn ended before the message arrived.
    let error = json!({"code": -32600, "message": "no active turn to steer"});
    session.hear(&json!({"id": "steer/1", "error": error}));
    session.hear(&json!({"id": "steer/2", "result": {"turnId": "u"}}));
    session.completes("failed", json!({"message": "x"}));
    session.steer(4);
    assert_eq!(session.answered(), [(1, false), (2, false), (3, false), (4, false)]);
    let verdict = |signal: &AgentSignal| matches!(signal, AgentSignal::TurnEnded { .. });
    let at = session.signals.iter().position(verdict).unwrap();
    let third = AgentSignal::MessageAnswered {
        id: SteeringId(3),
        taken: false,
        text: None,
    };
    assert!(session.signals[..at].contains(&third));
    assert_eq!(
        session.wrote("/params/clientUserMessageId").len(),
        3,
        "nothing is written after the end"
    );
}

#[test]
fn an_agent_that_dies_gives_its_messages_back() {
    let mut session = Session::working(false);
    session.steer(1);
    session.end();
    assert_eq!(session.answered(), [(1, false)]);
    assert_eq!(session.verdicts(), [(false, None)]);
    assert_eq!(session.problems(), [ProblemKind::Crashed]);
}

#[test]
fn a_thread_that_is_resumed_does_not_count_what_it_used_before() {
    let told = |turn: &str, total: u64, last: u64| {
        let counts = |count: u64| json!({"inputTokens": count, "cachedInputTokens": 0, "outputTokens": 1});
        json!({"turnId": turn, "tokenUsage": {"total": counts(total), "last": counts(last)}})
    };
    let mut session = Session::asked_to_work(false);
    session.told("thread/tokenUsage/updated", told("before", 900, 100));
    session.hear(&json!({"id": "turn", "result": {"turn": {"id": "u"}}}));
    session.told("thread/tokenUsage/updated", told("u", 1000, 100));
    // codex repeats the counts when a message interrupts an answer.
    session.told("thread/tokenUsage/updated", told("u", 1000, 100));
    session.told("thread/tokenUsage/updated", told("u", 1250, 250));
    assert_eq!(session.input_tokens(), [Some(100), Some(250)]);

    let mut silent = Session::working(false);
    silent.told("thread/tokenUsage/updated", told("u", 1000, 100));
    assert_eq!(silent.input_tokens(), [Some(100)], "what it used before was not told");
}

#[test]
fn a_request_that_codex_repeats_is_a_retry_and_no_problem() {
    let mut session = Session::working(false);
    let error = json!({
        "message": "Reconnecting... 2/5",
        "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": 429}},
        "additionalDetails": "exceeded retry limit, last status: 429 Too Many Requests",
    });
    session.told("error", json!({"error": error, "willRetry": true}));
    let retrying = AgentSignal::Retrying {
        attempt: Some(2),
        of: Some(5),
        why: "exceeded retry limit, last status: 429 Too Many Requests".to_owned(),
        kind: Some(ProblemKind::RateLimited { until_ms: None }),
    };
    assert_eq!(session.signals.last(), Some(&retrying));
    session.completes("completed", Value::Null);
    assert!(session.problems().is_empty());
}

#[test]
fn an_error_that_was_reported_explains_an_end_that_says_nothing() {
    let mut session = Session::working(false);
    let error = json!({"message": "The model does not exist", "codexErrorInfo": "modelNotFound"});
    session.told("error", json!({"error": error, "willRetry": false}));
    session.end();
    assert_eq!(session.problems(), [ProblemKind::ModelUnknown]);

    let mut session = Session::working(false);
    session.told("error", json!({"error": {"message": "odd"}, "willRetry": false}));
    session.completes("completed", Value::Null);
    assert_eq!(
        (session.verdicts(), session.unknown()),
        (vec![(true, None)], 1),
        "a warning"
    );

    let mut session = Session::working(false);
    session.completes("interrupted", Value::Null);
    assert_eq!(session.problems(), [ProblemKind::Other]);
}

#[test]
fn threads_of_other_agents_are_none_of_this_session() {
    let mut session = Session::working(false);
    let turn = json!({"id": "other", "status": "completed"});
    session.hear(&json!({"method": "turn/completed", "params": {"threadId": "child", "turn": turn}}));
    session.told("turn/completed", json!({"turn": turn}));
    assert!(session.verdicts().is_empty());
    let delta = json!({"threadId": "child", "delta": "x"});
    session.hear(&json!({"method": "item/agentMessage/delta", "params": delta}));
    assert_eq!(session.signals.len(), 1);
}

#[test]
fn a_command_is_asked_about_as_the_shell_gets_it() {
    let mut session = Session::working(true);
    session.ask(0, "/bin/bash -lc 'git push --force'");
    session.ask(1, "/bin/bash -lc 'ls'; rm x");
    let requests = session.requests();
    assert_eq!(requests[0].command.as_deref(), Some("git push --force"));
    assert_eq!(
        (requests[0].kind, requests[0].call.as_deref()),
        (ToolKind::Shell, Some("call"))
    );
    assert_eq!(requests[0].reason.as_deref(), Some("to see"));
    assert_eq!(
        requests[1].command.as_deref(),
        Some("/bin/bash -lc 'ls'; rm x"),
        "all of it"
    );

    for id in ["1", "0", "1"] {
        session.tell(SessionCommand::Answer {
            id: AskId(id.to_owned()),
            answer: PermissionAnswer::Allow,
        });
    }
    let answers = &session.written[4..];
    assert_eq!(
        answers,
        [
            json!({"id": 1, "result": {"decision": "accept"}}),
            json!({"id": 0, "result": {"decision": "accept"}})
        ],
        "each is answered once"
    );
}

#[test]
fn why_something_was_denied_is_said_before_it_is() {
    let mut session = Session::working(true);
    session.ask(0, "/bin/bash -lc 'rm -rf /'");
    session.tell(SessionCommand::Answer {
        id: AskId("0".to_owned()),
        answer: PermissionAnswer::Deny {
            message: "not today".to_owned(),
        },
    });
    let [.., said, denied] = &session.written[..] else {
        panic!("{:?}", session.written)
    };
    assert_eq!(said["params"]["input"][0]["text"], "Denied: rm -rf /\nnot today");
    assert_eq!(*denied, json!({"id": 0, "result": {"decision": "decline"}}));
    session.takes(1);
    session.completes("completed", Value::Null);
    assert!(session.answered().is_empty(), "it is no message of the user's");
}

#[test]
fn a_request_that_is_withdrawn_waits_no_more() {
    let mut session = Session::working(true);
    session.ask(0, "ls");
    session.told("serverRequest/resolved", json!({"requestId": 0}));
    let id = AskId("0".to_owned());
    let withdrawn = AgentSignal::PermissionWithdrawn { id: id.clone() };
    assert_eq!(session.signals.last(), Some(&withdrawn));
    let written = session.written.len();
    session.tell(SessionCommand::Answer {
        id,
        answer: PermissionAnswer::Allow,
    });
    assert_eq!(session.written.len(), written);
}

#[test]
fn an_agent_that_asks_without_end_is_denied_what_comes_on_top() {
    let mut session = Session::working(true);
    for number in 0..1_000 {
        session.ask(number, "ls");
    }
    assert_eq!(session.requests().len(), PENDING_CAP);
    assert_eq!(session.wrote("/result/decision").len(), 1_000 - PENDING_CAP);
}

#[test]
fn what_is_asked_in_another_way_is_refused_and_said_once() {
    let mut session = Session::working(true);
    for id in ["x", "y"] {
        session.hear(&json!({"id": id, "method": "item/tool/requestUserInput", "params": {}}));
        let told = session.written.last().unwrap();
        assert_eq!(
            (&told["id"], &told["error"]["code"]),
            (&json!(id), &json!(METHOD_NOT_FOUND))
        );
    }
    assert_eq!(session.unknown(), 1);
}

#[test]
fn lines_that_are_no_messages_and_messages_of_another_form_break_nothing() {
    let mut session = Session::working(true);
    let odd = [Value::Null, json!(1), json!("x"), json!([1]), json!({"x": 1})];
    let methods = [
        "turn/started",
        "turn/completed",
        "item/started",
        "item/completed",
        "item/agentMessage/delta",
        "thread/tokenUsage/updated",
        "account/rateLimits/updated",
        "error",
        "warning",
        "serverRequest/resolved",
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
    ];
    for value in &odd {
        session.hear(value);
        session.hear(&json!({"id": value, "result": value}));
        session.hear(&json!({"id": "steer/1", "error": value}));
        for method in methods {
            session.hear(&json!({"method": method, "params": value}));
            session.hear(&json!({"id": value, "method": method, "params": value}));
            for field in ["item", "turn", "error", "tokenUsage", "rateLimits"] {
                session.told(method, json!({field: value}));
            }
            let item = json!({"type": "fileChange", "changes": [value, {"kind": value}], "aggregatedOutput": value});
            session.told(method, json!({"item": item, "turn": {"id": value}, "turnId": "u"}));
        }
    }
    session.feed(b"not JSON\n\xff\xfe\n{\"half\":\n");
    session.says("done");
    session.completes("completed", Value::Null);
    assert_eq!(session.verdicts(), [(true, Some("done"))]);
}

/// Recordings of codex 0.169.0, one for each situation.
macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/codex/app-server-", $name, ".jsonl"))
    };
}

fn played(recording: &str, size: usize) -> Session {
    let mut session = Session::begin(opening(false));
    for piece in recording.as_bytes().chunks(size) {
        session.feed(piece);
    }
    session.end();
    session
}

#[test]
fn recorded_conversations_are_understood_however_they_are_cut() {
    for recording in [
        recorded!("success"),
        recorded!("steering"),
        recorded!("approvals"),
        recorded!("resume"),
        recorded!("http401"),
        recorded!("http429x2"),
        recorded!("usage-limit"),
        recorded!("cut"),
    ] {
        let whole = played(recording, usize::MAX);
        for size in [1, 2, 3, 7, 64, 1000, 4096] {
            let pieces = played(recording, size);
            assert_eq!(pieces.signals, whole.signals, "pieces of {size} bytes");
            assert_eq!(pieces.written, whole.written, "pieces of {size} bytes");
        }
        assert_eq!(whole.verdicts().len(), 1);
        for end in (0..recording.len()).step_by(97) {
            let session = played(&recording[..recording.floor_char_boundary(end)], usize::MAX);
            assert_eq!(session.verdicts().len(), 1, "it ends after {end} bytes");
        }
    }
}

#[test]
fn a_recorded_turn_gives_the_signals_of_the_one_way_channel_and_its_text_as_it_is_written() {
    let session = played(recorded!("success"), usize::MAX);
    let shown: Vec<_> = session.signals.iter().filter(|signal| !signal.is_live_text()).collect();
    let tools: Vec<_> = shown
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::ToolStarted { input, .. } => Some(input.clone()),
            AgentSignal::ToolEnded { ok, output, .. } => Some(format!("{ok} {output}")),
            _ => None,
        })
        .collect();
    assert_eq!(tools[..2], ["echo one; echo two", "true one\ntwo\n"]);
    assert_eq!(tools[3], "false line 1\nline 2\nline 3\n");
    let added = AgentSignal::FileChanged {
        path: "/repo/hello.txt".to_owned(),
        change: FileChange::Added,
    };
    let thought = AgentSignal::Thought {
        text: "let me think".to_owned(),
    };
    assert!(shown.contains(&&added) && shown.contains(&&thought), "{shown:#?}");
    assert_eq!(session.input_tokens(), [Some(1000); 5]);
    assert_eq!(session.verdicts(), [(true, Some("All done, in a few words.\n"))]);

    let said: String = session
        .signals
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, "I will look first.All done, in a few words.\n");
    let of_tools = session
        .signals
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::ToolOutput { .. }));
    assert_eq!(of_tools.count(), 2);
    let strange: Vec<_> = shown
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Noted { .. } | AgentSignal::Unknown { .. }))
        .collect();
    assert_eq!(strange.len(), 1, "a warning of codex's: {strange:?}");
}

#[test]
fn recorded_messages_join_the_turn_and_one_that_comes_too_late_does_not() {
    let mut session = Session::begin(opening(false));
    for id in 1..=3 {
        session.steer(id);
    }
    session.feed(recorded!("steering").as_bytes());
    assert_eq!(session.wrote("/params/clientUserMessageId").len(), 3);
    assert_eq!(session.answered(), [(1, true), (2, true), (3, false)]);
    assert_eq!(session.verdicts(), [(true, Some("Last.\n"))]);
    assert_eq!(
        session.input_tokens(),
        [Some(1000), Some(1000)],
        "the answer that was cut off is not counted twice"
    );
}

#[test]
fn recorded_requests_say_what_they_are_about() {
    let session = played(recorded!("approvals"), usize::MAX);
    let asked: Vec<_> = session
        .requests()
        .into_iter()
        .map(|request| (request.kind, request.title.as_str(), request.diff.as_deref()))
        .collect();
    assert_eq!(
        asked,
        [
            (ToolKind::Shell, "ls", None),
            (ToolKind::Shell, "rm -rf x", None),
            (
                ToolKind::Edit,
                "/repo/w.txt",
                Some("--- /dev/null\n+++ /repo/w.txt\n+one\n")
            ),
            (
                ToolKind::Edit,
                "/repo/w.txt",
                Some("--- /repo/w.txt\n+++ /repo/w.txt\n@@ -1 +1 @@\n-one\n+two\n")
            ),
        ]
    );
}

#[test]
fn recorded_failures_are_what_they_are() {
    let until_ms = Some(1_795_400_000_000);
    for (recording, kind) in [
        (recorded!("http401"), ProblemKind::Auth),
        (recorded!("usage-limit"), ProblemKind::QuotaExhausted { until_ms }),
        (recorded!("cut"), ProblemKind::Network),
    ] {
        let session = played(recording, usize::MAX);
        assert_eq!(session.problems(), [kind]);
        assert!(matches!(session.verdicts()[..], [(false, _)]), "{kind:?}");
    }
    let waited_out = played(recorded!("http429x2"), usize::MAX);
    let retry = |signal: &&AgentSignal| matches!(signal, AgentSignal::Retrying { .. });
    assert_eq!(waited_out.signals.iter().filter(retry).count(), 2);
    assert_eq!(waited_out.verdicts(), [(true, Some("ok after\n"))]);
}

#[test]
fn a_recorded_session_that_is_resumed_counts_its_own_turn_only() {
    assert_eq!(
        played(recorded!("resume"), usize::MAX).input_tokens(),
        [Some(1000), Some(1000)]
    );
}

#[test]
fn questions_are_answered_by_their_names_and_nobody_there_is_said_in_words() {
    let mut session = Session::working(false);
    let question = json!({"id": "colour", "header": "Colour", "question": "Which colour?", "isOther": true,
        "options": [{"label": "red", "description": "fire"}]});
    for id in [7, 8] {
        let params =
            json!({"threadId": "t", "turnId": "u", "itemId": "i", "isBlocking": true, "questions": [question]});
        session.hear(&json!({"id": id, "method": "item/tool/requestUserInput", "params": params}));
    }
    let Some(AgentSignal::PermissionRequested { request }) = session.signals.last() else {
        panic!("{:?}", session.signals)
    };
    assert!(request.questions[0].free_text && request.questions[0].choices[0].label == "red");
    let answers = vec![vec!["red".to_owned()]];
    let message = "Nobody is there.".to_owned();
    for (id, answer) in [
        ("7", PermissionAnswer::Words { answers }),
        ("8", PermissionAnswer::Deny { message }),
    ] {
        let id = AskId(id.to_owned());
        session.tell(SessionCommand::Answer { id, answer });
    }
    let told = |id: i32, text: &str| json!({"id": id, "result": {"answers": {"colour": {"answers": [text]}}}});
    assert!(
        session
            .written
            .ends_with(&[told(7, "red"), told(8, "Nobody is there.")])
    );
}

#[test]
fn a_thread_is_opened_so_that_what_rules_concern_is_asked_for_or_not_there() {
    let opened = |asks: ToolKinds| {
        let mut session = Session::begin(SessionOpening { asks, ..opening(true) });
        session.hear(&json!({"id": "initialize", "result": {}}));
        let servers = json!({"a": {"tools": {"t": {"approval_mode": "approve"}}}, "b": {}});
        if session.written.last().unwrap()["method"] == "config/read" {
            session.hear(&json!({"id": "config", "result": {"config": {"mcp_servers": servers}}}));
        }
        session.written.last().unwrap()["params"].clone()
    };
    let commands = opened(COMMANDS_AND_CHANGES);
    assert_eq!(
        (
            &commands["approvalPolicy"],
            &commands["approvalsReviewer"],
            &commands["config"]
        ),
        (&json!("untrusted"), &json!("user"), &json!({}))
    );
    assert_eq!(
        opened(ToolKinds::ALL)["config"],
        json!({
            "web_search": "disabled",
            "features": {"view_image": false, "goals": false, "image_generation": false, "multi_agent": false},
            "mcp_servers": {
                "a": {"default_tools_approval_mode": "prompt", "tools": {"t": {"approval_mode": "prompt"}}},
                "b": {"default_tools_approval_mode": "prompt"},
            },
        })
    );
    let nothing = opened(ToolKinds::NONE);
    assert_eq!(
        (&nothing["approvalPolicy"], &nothing["config"]),
        (&json!("never"), &Value::Null)
    );
}

#[test]
fn a_form_of_a_server_is_declined_and_said_once() {
    let mut session = Session::working(true);
    let form = json!({"serverName": "db", "message": "Which table?", "mode": "form"});
    for id in [1, 2] {
        session.hear(&json!({"id": id, "method": "mcpServer/elicitation/request", "params": form}));
    }
    assert_eq!(session.wrote("/result/action"), [&json!("decline"), &json!("decline")]);
    assert!(session.requests().is_empty());
    assert_eq!(session.unknown(), 1);
}

#[test]
fn a_tool_of_a_server_is_asked_for_as_a_question_of_the_server() {
    let mut session = Session::working(true);
    let question = json!({"serverName": "db", "message": "Allow?", "_meta": {
        "codex_approval_kind": "mcp_tool_call", "tool_name": "drop", "tool_params": {"table": "users"},
    }});
    for id in [1, 2] {
        session.hear(&json!({"id": id, "method": "mcpServer/elicitation/request", "params": question}));
    }
    let request = session.requests()[0];
    assert_eq!((request.tool.as_str(), request.kind), ("mcp__db__drop", ToolKind::Mcp));
    assert!(request.title.contains("users"), "{}", request.title);
    for (id, answer) in [
        ("1", PermissionAnswer::Allow),
        ("2", PermissionAnswer::Deny { message: String::new() }),
    ] {
        let id = AskId(id.to_owned());
        session.tell(SessionCommand::Answer { id, answer });
    }
    assert_eq!(session.wrote("/result/action"), [&json!("accept"), &json!("decline")]);
}

#[test]
fn a_tool_that_is_used_without_asking_ends_the_turn() {
    let command = |id: &str, status: &str| json!({"id": id, "type": "commandExecution", "command": "/bin/bash -lc 'touch x'", "status": status, "exitCode": 0});
    let ended = |session: &Session| {
        let mut problems = session.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.clone()),
            _ => None,
        });
        problems.next()
    };
    let mut session = Session::working(true);
    session.ask(0, "touch x");
    session.told("item/completed", json!({"item": command("call", "completed")}));
    session.told("item/completed", json!({"item": command("denied", "declined")}));
    let search = json!({"id": "s", "type": "webSearch", "query": "x"});
    session.told("item/completed", json!({"item": search}));
    assert_eq!(ended(&session), None, "asked, denied, and nothing that rules concern");
    session.told("item/completed", json!({"item": command("other", "completed")}));
    let problem = ended(&session).expect("a problem");
    assert_eq!(problem.kind, ProblemKind::Usage);
    assert!(
        problem.text.contains("without requesting permission") && problem.text.contains("touch x"),
        "{}",
        problem.text
    );
    let mut session = Session::working(false);
    session.told("item/completed", json!({"item": command("call", "completed")}));
    assert_eq!(ended(&session), None, "without rules nothing is asked");
}

#[test]
fn the_list_of_what_it_is_going_to_do_is_told_when_it_changes() {
    let mut session = Session::working(false);
    let plan = |first: &str, second: &str| {
        let step = |step: &str, status: &str| json!({"step": step, "status": status});
        json!({"turnId": "u", "explanation": null, "plan": [step("Read the code", first), step("Write it", second)]})
    };
    let inputs = |told: Vec<AgentSignal>| -> Vec<String> {
        let input = |signal| match signal {
            AgentSignal::ToolStarted { tool, input, .. } if tool == "plan" => Some(input),
            _ => None,
        };
        told.into_iter().filter_map(input).collect()
    };
    session.told("turn/plan/updated", plan("inProgress", "pending"));
    session.told("turn/plan/updated", plan("inProgress", "pending"));
    session.told("turn/plan/updated", plan("completed", "inProgress"));
    assert_eq!(
        inputs(session.signals),
        ["[>] Read the code\n[ ] Write it", "[x] Read the code\n[>] Write it"]
    );
}
