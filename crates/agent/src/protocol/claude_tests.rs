use ralph_core::event::{AgentSignal, ToolKinds};
use serde_json::{Value, json};

use super::{super::testing, *};

type Session = testing::Session<ClaudeLive>;

impl testing::Published for ClaudeLive {}

impl Session {
    fn open(asks: bool) -> Self {
        let opening = SessionOpening {
            prompt: "Do the work".to_owned(),
            seed: "run/1".to_owned(),
            asks: if asks { ToolKinds::ALL } else { ToolKinds::NONE },
            ..SessionOpening::default()
        };
        Self::begin(opening)
    }

    fn steer(&mut self, id: u32) -> Value {
        let text = format!("message {id}\nwith two lines");
        self.tell(SessionCommand::Steer {
            id: SteeringId(id),
            text,
        });
        self.written.last().cloned().unwrap()
    }

    /// claude repeats a line that was sent to it.
    fn replay(&mut self, line: &Value) {
        let mut line = line.clone();
        line["isReplay"] = json!(true);
        self.hear(&line);
    }

    fn result(&mut self, text: &str) {
        self.hear(&json!({"type": "result", "subtype": "success", "is_error": false, "result": text}));
    }

    fn ask(&mut self, id: &str, tool: &str, input: Value) {
        let told = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
        let request =
            json!({"subtype": "hook_callback", "callback_id": "before", "input": told, "tool_use_id": "call"});
        self.hear(&json!({"type": "control_request", "request_id": id, "request": request}));
    }
}

#[test]
fn a_turn_without_messages_ends_with_its_result() {
    let mut session = Session::open(false);
    let prompt = session.written[0].clone();
    assert_eq!(prompt["message"]["content"][0]["text"], "Do the work");
    session.replay(&prompt);
    session.result("done");
    assert_eq!(session.verdicts(), [(true, Some("done"))]);
    assert!(session.closed);
    assert!(session.answered().is_empty(), "the prompt is no message");
}

#[test]
fn a_message_that_joins_the_turn_is_taken_when_it_is_repeated() {
    let mut session = Session::open(false);
    let line = session.steer(7);
    assert!(session.answered().is_empty(), "it is written, and not taken yet");
    session.replay(&line);
    assert_eq!(session.answered(), [(7, true)]);
    session.result("done");
    assert_eq!(session.verdicts(), [(true, Some("done"))]);
}

#[test]
fn a_message_that_waits_at_a_result_begins_the_next_turn_of_the_same_session() {
    let mut session = Session::open(false);
    let line = session.steer(1);
    session.result("first");
    assert!(
        session.verdicts().is_empty() && !session.closed,
        "the message has not been taken"
    );
    session.replay(&line);
    session.result("second");
    assert_eq!(session.answered(), [(1, true)]);
    assert_eq!(session.verdicts(), [(true, Some("second"))]);
    assert!(session.closed && !session.protocol.is_stuck());
}

#[test]
fn a_message_after_the_end_is_not_taken() {
    let mut session = Session::open(false);
    session.result("done");
    let written = session.written.len();
    session.tell(SessionCommand::Steer {
        id: SteeringId(3),
        text: "late".to_owned(),
    });
    assert_eq!(session.answered(), [(3, false)]);
    assert_eq!(session.written.len(), written, "nothing is written after the end");
}

#[test]
fn a_turn_that_fails_while_a_message_waits_ends_and_is_ended() {
    let mut session = Session::open(false);
    session.steer(1);
    session.hear(&json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error: 401"}));
    assert_eq!(session.verdicts().len(), 1);
    assert!(!session.verdicts()[0].0);
    assert!(
        session.protocol.is_stuck(),
        "claude would begin another turn with the message"
    );
    assert!(session.answered().is_empty(), "it stays due");
}

#[test]
fn every_line_has_a_name_of_its_own_that_no_other_session_has() {
    let mut names: Vec<String> = (0..200).map(|line| uuid("run/1", line)).collect();
    names.extend((0..200).map(|line| uuid("run/2", line)));
    assert!(names.iter().all(|name| name.len() == 36), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 400);
}

#[test]
fn every_use_of_a_tool_asks_and_is_answered_in_the_words_of_the_hook() {
    let mut session = Session::open(true);
    assert_eq!(session.written[0]["request"]["subtype"], "initialize");
    session.ask("a", "Bash", json!({"command": "git push", "description": "publish"}));
    session.ask("b", "Write", json!({"file_path": "/tmp/x", "content": "y"}));
    let requests: Vec<_> = session
        .signals
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::PermissionRequested { request } => Some(request),
            _ => None,
        })
        .collect();
    assert_eq!(requests[0].command.as_deref(), Some("git push"));
    assert_eq!((requests[0].kind, requests[1].kind), (ToolKind::Shell, ToolKind::Edit));
    assert_eq!(requests[1].paths, ["/tmp/x"]);

    let deny = PermissionAnswer::Deny {
        message: "not today".to_owned(),
    };
    session.tell(SessionCommand::Answer {
        id: AskId("b".to_owned()),
        answer: deny,
    });
    let told = session.written.last().unwrap()["response"].clone();
    assert_eq!(told["request_id"], "b");
    assert_eq!(told["response"]["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(
        told["response"]["hookSpecificOutput"]["permissionDecisionReason"],
        "not today"
    );
    session.tell(SessionCommand::Answer {
        id: AskId("a".to_owned()),
        answer: PermissionAnswer::Allow,
    });
    let told = session.written.last().unwrap()["response"].clone();
    assert_eq!(told["response"]["hookSpecificOutput"]["permissionDecision"], "allow");
    let written = session.written.len();
    session.tell(SessionCommand::Answer {
        id: AskId("a".to_owned()),
        answer: PermissionAnswer::Allow,
    });
    assert_eq!(session.written.len(), written, "an answer is given once");
}

#[test]
fn a_request_that_is_withdrawn_waits_no_more() {
    let mut session = Session::open(true);
    session.ask("a", "Bash", json!({"command": "ls"}));
    session.hear(&json!({"type": "control_cancel_request", "request_id": "a"}));
    let id = AskId("a".to_owned());
    assert!(
        session
            .signals
            .contains(&AgentSignal::PermissionWithdrawn { id: id.clone() })
    );
    let written = session.written.len();
    session.tell(SessionCommand::Answer {
        id,
        answer: PermissionAnswer::Allow,
    });
    assert_eq!(session.written.len(), written);
}

impl Session {
    /// claude reports a tool use from its start to its end.
    fn uses(&mut self, call: &str, tool: &str, result: &str, failed: bool) {
        let used = json!({"type": "tool_use", "id": call, "name": tool, "input": {"command": "rm x"}});
        self.hear(&json!({"type": "assistant", "message": {"content": [used]}}));
        let ended = json!({"type": "tool_result", "tool_use_id": call, "content": result, "is_error": failed});
        self.hear(&json!({"type": "user", "message": {"content": [ended]}}));
    }

    fn problems(&self) -> Vec<&str> {
        let problems = self.signals.iter().filter_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.text.as_str()),
            _ => None,
        });
        problems.collect()
    }
}

#[test]
fn a_tool_that_was_used_without_asking_ends_the_turn_once() {
    let told = "claude used a tool without requesting permission, so the rules cannot be enforced: Bash";
    for (result, failed) in [("", false), ("Exit code 1\nno such file", true)] {
        let mut session = Session::open(true);
        session.uses("other", "Bash", result, failed);
        assert_eq!(session.problems(), [told], "{result}");
        assert_eq!(session.verdicts(), [(false, None)]);
        assert!(session.protocol.is_stuck(), "it would go on");
        assert!(!session.closed, "the end of its input would allow what still waits");
        session.ask("late", "Bash", json!({"command": "rm y"}));
        session.uses("another", "Bash", "", false);
        session.result("done");
        assert_eq!(session.verdicts().len(), 1);
        assert_eq!(session.written.len(), 2, "nothing more is answered");
    }
}

#[test]
fn what_waits_at_the_end_of_the_turn_is_denied_before_the_input_ends() {
    let mut session = Session::open(true);
    session.ask("a", "Bash", json!({"command": "rm x"}));
    session.result("done");
    assert!(session.closed);
    let told = session.written.last().unwrap()["response"].clone();
    assert_eq!(told["request_id"], "a");
    assert_eq!(told["response"]["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn what_was_asked_for_or_not_run_or_concerns_no_rule_goes_on() {
    let refused = "<tool_use_error>InputValidationError: no command</tool_use_error>";
    for (asks, tool, result, failed) in [
        (true, "TodoWrite", "", false),
        (true, "Bash", refused, true),
        (false, "Bash", "", false),
    ] {
        let mut session = Session::open(asks);
        session.uses("other", tool, result, failed);
        assert!(session.problems().is_empty(), "{tool} {result}");
    }
    let mut session = Session::open(true);
    session.ask("a", "Bash", json!({"command": "rm x"}));
    session.uses("call", "Bash", "", false);
    assert!(session.problems().is_empty() && !session.protocol.is_stuck());
}

#[test]
fn an_agent_that_asks_without_end_is_denied_what_comes_on_top() {
    let mut session = Session::open(true);
    for number in 0..1_000 {
        session.ask(&number.to_string(), "Bash", json!({"command": "ls"}));
    }
    let asked = |signal: &&AgentSignal| matches!(signal, AgentSignal::PermissionRequested { .. });
    assert_eq!(session.signals.iter().filter(asked).count(), PENDING_CAP);
    assert_eq!(session.written.len(), 2 + 1_000 - PENDING_CAP);
}

#[test]
fn what_is_asked_in_another_way_is_refused_and_said_once() {
    let mut session = Session::open(true);
    for id in ["x", "y"] {
        session.hear(&json!({"type": "control_request", "request_id": id, "request": {"subtype": "elicitation"}}));
        let told = &session.written.last().unwrap()["response"];
        assert_eq!((&told["subtype"], &told["request_id"]), (&json!("error"), &json!(id)));
    }
    let said = |signal: &&AgentSignal| matches!(signal, AgentSignal::Unknown { .. });
    assert_eq!(session.signals.iter().filter(said).count(), 1);
}

#[test]
fn the_recorded_conversation_is_understood_however_it_is_cut() {
    const RECORDED: &str = include_str!("../../../../tests/fixtures/claude/two-way.jsonl");
    let heard: Vec<Value> = RECORDED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let whole: String = heard.iter().map(|event| format!("{event}\n")).collect();
    let told = |size: usize| {
        let mut session = Session::open(false);
        for piece in whole.as_bytes().chunks(size) {
            session.with(|protocol, clock, exchange| protocol.feed(piece, clock, exchange));
        }
        session.signals
    };
    let at_once = told(usize::MAX);
    assert_eq!(told(7), at_once);
    let texts = |wanted: &AgentSignal| at_once.iter().filter(|signal| *signal == wanted).count();
    assert_eq!(
        texts(&AgentSignal::TextDelta {
            text: "two ".to_owned()
        }),
        1
    );
    assert!(
        at_once
            .iter()
            .any(|signal| matches!(signal, AgentSignal::Opened { session: Some(_), .. }))
    );
}

#[test]
fn questions_are_handed_back_with_their_answers_however_they_were_asked() {
    let mut session = Session::open(true);
    let asked = json!({"questions": [
        {"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "red", "description": "fire"}]},
        {"question": "Which sizes?", "header": "Size", "multiSelect": true, "options": [{"label": "S"}, {"label": "L"}]},
    ]});
    session.ask("a", "AskUserQuestion", asked.clone());
    let request =
        json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": asked, "tool_use_id": "call"});
    session.hear(&json!({"type": "control_request", "request_id": "b", "request": request}));
    let Some(AgentSignal::PermissionRequested { request }) = session.signals.last() else {
        panic!("{:?}", session.signals)
    };
    assert_eq!(request.title, "Which colour?");
    let [colour, sizes] = &request.questions[..] else {
        panic!("{request:?}")
    };
    assert_eq!(
        (colour.header.as_str(), colour.choices[0].description.as_str()),
        ("Colour", "fire")
    );
    assert!(!colour.multiple && sizes.multiple && sizes.free_text);
    let answers = vec![vec!["red".to_owned()], vec!["S".to_owned(), "L".to_owned()]];
    let mut handed_back = |id: &str, pointer: &str| {
        let answer = PermissionAnswer::Words {
            answers: answers.clone(),
        };
        session.tell(SessionCommand::Answer {
            id: AskId(id.to_owned()),
            answer,
        });
        session.written.last().unwrap().pointer(pointer).cloned().unwrap()
    };
    let expected = json!({"Which colour?": "red", "Which sizes?": "S, L"});
    let by_hook = handed_back("a", "/response/response/hookSpecificOutput/updatedInput");
    assert_eq!(by_hook["answers"], expected);
    let by_prompt = handed_back("b", "/response/response/updatedInput");
    assert_eq!(
        (&by_prompt["answers"], &by_prompt["questions"]),
        (&expected, &asked["questions"])
    );
}

#[test]
fn the_change_of_a_file_is_shown_line_by_line_whatever_tool_makes_it() {
    let edit = json!({"file_path": "/repo/a", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree"});
    let both = json!({"file_path": "/repo/a", "edits": [
        {"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]});
    let write = json!({"file_path": "/repo/new", "content": "first\nsecond\n"});
    let mut session = Session::open(true);
    for (tool, input, diff) in [
        ("Edit", edit, Some("@@ /repo/a @@\n-two\n+2")),
        ("MultiEdit", both, Some("@@ /repo/a @@\n-a\n+b\n@@ /repo/a @@\n-c")),
        ("Write", write, Some("@@ /repo/new @@\n+first\n+second")),
        ("Read", json!({"file_path": "/repo/a"}), None),
        ("Edit", json!({"file_path": 7, "old_string": [], "edits": {}}), None),
    ] {
        session.ask(tool, tool, input);
        let asked = session.signals.iter().rev().find_map(|signal| match signal {
            AgentSignal::PermissionRequested { request } => Some(request),
            _ => None,
        });
        assert_eq!(asked.expect("a request").diff.as_deref(), diff, "{tool}");
    }
}
