use ralph_core::event::{AgentSignal, Exit, ProblemKind};

use super::{super::testing, *};
use crate::dialect::DialectKind;

type Session = testing::Session<PiLive>;

impl testing::Published for PiLive {}

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/pi/", $name, ".jsonl"))
    };
}

const SETTLED: &str = r#"{"type":"agent_settled"}"#;

impl Session {
    fn open() -> Self {
        Self::begin(SessionOpening {
            prompt: "Do the work".to_owned(),
            ..SessionOpening::default()
        })
    }

    fn steer(&mut self, id: u32, text: &str) -> Value {
        self.tell(SessionCommand::Steer {
            id: SteeringId(id),
            text: text.to_owned(),
        });
        self.written.last().cloned().unwrap()
    }

    /// pi repeats a message of the user.
    fn repeat(&mut self, message: &Value) {
        let content = json!([{"type": "text", "text": message["message"]}]);
        self.hear(&json!({"type": "message_start", "message": {"role": "user", "content": content}}));
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
}

fn played(recording: &str, size: usize) -> Session {
    let mut session = Session::open();
    recording.as_bytes().chunks(size).for_each(|piece| session.feed(piece));
    session.end();
    session
}

#[test]
fn the_prompt_is_a_command_and_the_input_is_closed_when_pi_settles() {
    let mut session = Session::open();
    let kinds: Vec<_> = session.written.iter().map(|message| message["type"].clone()).collect();
    assert_eq!(kinds, ["get_state", "prompt"]);
    assert_eq!(session.written[1]["message"], "Do the work");
    session.feed(recorded!("success").as_bytes());
    assert!(session.closed);
    session.end();
    assert_eq!(session.verdicts().len(), 1);
    assert!(session.verdicts()[0].0);
    assert_eq!(session.written.len(), 2);
}

#[test]
fn every_recording_of_the_one_way_channel_gives_the_same_signals() {
    for recording in [
        recorded!("success"),
        recorded!("toolfail"),
        recorded!("resume-1"),
        recorded!("resume-2"),
        recorded!("http401"),
        recorded!("http429"),
        recorded!("http429x2"),
        recorded!("http500"),
        recorded!("stream_error"),
        recorded!("cut"),
        recorded!("sig-SIGTERM"),
    ] {
        // Here the id of the session is in the answer to a command.
        let (header, events) = recording.split_once('\n').unwrap();
        let header: Value = serde_json::from_str(header).unwrap();
        let state = json!({
            "type": "response", "command": "get_state", "success": true, "data": {"sessionId": header["id"]},
        });
        let live = played(&format!("{state}\n{events}"), usize::MAX);

        let mut dialect = DialectKind::PiJson.parser();
        let mut signals = Vec::new();
        dialect.feed(recording.as_bytes(), &live.clock, &mut signals);
        let finish = Finish {
            exit: Some(Exit::Code { code: 0 }),
            stderr: "",
        };
        dialect.finish(finish, &live.clock, &mut signals);
        assert_eq!(live.signals, signals);
        let is_opened = |signal: &AgentSignal| matches!(signal, AgentSignal::Opened { session: Some(_), .. });
        assert!(live.signals.iter().any(is_opened));
    }
}

#[test]
fn recorded_messages_join_the_turn_and_one_that_comes_too_late_does_not() {
    let recording = recorded!("rpc-steering");
    let opened = |size: usize, end: usize| {
        let mut session = Session::open();
        for id in 1..=3 {
            session.steer(id, &format!("message {id}\nwith two lines"));
        }
        let recording = &recording.as_bytes()[..end];
        recording.chunks(size).for_each(|piece| session.feed(piece));
        session.end();
        session
    };
    let whole = opened(usize::MAX, recording.len());
    assert_eq!(whole.answered(), [(1, true), (2, true), (3, false)]);
    assert_eq!(whole.verdicts(), [(true, Some("All done."))]);
    let used = whole
        .signals
        .iter()
        .filter(|signal| matches!(signal, AgentSignal::Usage { usage } if usage.input_tokens == Some(1000)));
    assert_eq!(used.count(), 3);
    let strange = |signal: &AgentSignal| matches!(signal, AgentSignal::Noted { .. } | AgentSignal::Unknown { .. });
    assert!(!whole.signals.iter().any(strange), "{:#?}", whole.signals);
    for size in [1, 2, 3, 7, 64, 1000, 4096] {
        assert_eq!(opened(size, recording.len()).signals, whole.signals, "pieces of {size}");
    }
    for end in (0..recording.len()).step_by(97) {
        assert_eq!(opened(usize::MAX, end).verdicts().len(), 1, "it ends after {end} bytes");
    }
}

#[test]
fn a_message_is_taken_when_it_is_repeated_and_the_prompt_is_no_message() {
    let mut session = Session::open();
    let sent = session.steer(7, "Do the work");
    assert_eq!(sent["type"], "steer");
    let prompt = session.written[1].clone();
    session.repeat(&prompt);
    assert!(session.answered().is_empty(), "that was the prompt");
    session.repeat(&sent);
    assert_eq!(session.answered(), [(7, true)]);
    session.repeat(&sent);
    assert_eq!(session.answered(), [(7, true)], "an outcome is reported once");
}

#[test]
fn a_message_that_is_refused_or_comes_after_the_end_is_not_taken() {
    let mut session = Session::open();
    session.steer(1, "first");
    session.steer(2, "second");
    session.hear(&json!({"id": "steer/1", "type": "response", "command": "steer", "success": false, "error": "no"}));
    session.hear(&json!({"id": "steer/2", "type": "response", "command": "steer", "success": true}));
    assert_eq!(session.answered(), [(1, false)]);
    session.feed(format!("{SETTLED}\n").as_bytes());
    assert_eq!(session.answered(), [(1, false), (2, false)]);
    let written = session.written.len();
    session.steer(3, "third");
    assert_eq!(session.answered(), [(1, false), (2, false), (3, false)]);
    assert_eq!(session.written.len(), written, "nothing is written after the end");
}

#[test]
fn a_message_that_looks_like_a_command_of_pi_is_sent_as_text() {
    let mut session = Session::open();
    let sent = session.steer(1, "/skill:deploy now");
    assert_eq!(sent["message"], " /skill:deploy now");
    let prompt = session.written[1].clone();
    session.repeat(&prompt);
    session.repeat(&sent);
    assert_eq!(session.answered(), [(1, true)]);
}

#[test]
fn a_refused_prompt_fails_the_turn() {
    let mut session = Session::open();
    session.steer(1, "hello");
    let error = "No API key found for the selected model.\n\nUse /login to log into a provider.";
    session.hear(&json!({"id": "prompt", "type": "response", "command": "prompt", "success": false, "error": error}));
    assert!(session.closed);
    assert_eq!(session.answered(), [(1, false)]);
    session.end();
    assert_eq!(session.problems(), [ProblemKind::Auth]);
    assert_eq!(session.verdicts(), [(false, None)]);
}

#[test]
fn a_question_of_an_extension_is_cancelled_and_said_once() {
    let mut session = Session::open();
    let ask =
        |id: &str, method: &str| json!({"type": "extension_ui_request", "id": id, "method": method, "title": "Sure?"});
    session.hear(&ask("a", "notify"));
    assert_eq!(session.written.len(), 2, "it waits for no answer");
    session.hear(&ask("b", "confirm"));
    session.hear(&ask("c", "confirm"));
    let cancelled = |id: &str| json!({"type": "extension_ui_response", "id": id, "cancelled": true});
    assert_eq!(session.written[2..], [cancelled("b"), cancelled("c")]);
    let said = AgentSignal::Noted {
        text: "an extension of pi asks a question, which is cancelled: Sure?".to_owned(),
    };
    assert_eq!(session.signals, [said]);
    session.feed(format!("{SETTLED}\n").as_bytes());
    session.hear(&ask("d", "confirm"));
    assert_eq!(session.written.len(), 4, "nothing is written after the end");
}

#[test]
fn a_program_that_ends_before_pi_settles_has_failed() {
    let mut session = Session::open();
    session.steer(1, "hello");
    session.end();
    assert_eq!(session.problems(), [ProblemKind::Crashed]);
    assert!(session.answered().is_empty(), "it stays due");
}
