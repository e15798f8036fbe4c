use std::collections::BTreeMap;

use futures_util::{FutureExt, stream};

use crate::opencode::{
    feed::Feed,
    verdict::TurnVerdict,
    wire::{self, MessageRole},
};

use super::*;

/// Recordings of opencode 1.18.33, one for each turn.
macro_rules! recordings {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/opencode-server/", $name, ".sse")))),*]
    };
}

const RECORDINGS: [(&str, &str); 12] = recordings!(
    "success" "denied-with-message" "denied" "http401" "http404" "http429x2" "unknown-model" "aborted" "steered"
    "subagent-and-todo" "question" "catch-up"
);
const MESSAGES: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/fixtures/opencode-server/catch-up.messages.json"
));

fn recording(name: &str) -> &'static str {
    let found = RECORDINGS.iter().find(|(known, _)| *known == name);
    found.expect("a recording").1
}

/// The events in a recording.
fn events(text: &str) -> Vec<ServerEvent> {
    events_of_pieces(vec![text.as_bytes().to_vec()])
}

fn events_of_pieces(pieces: Vec<Vec<u8>>) -> Vec<ServerEvent> {
    let pieces = pieces.into_iter().map(Ok::<_, std::io::Error>);
    let mut feed = Feed::from_bytes(stream::iter(pieces));
    let mut events = Vec::new();
    // All data is available, so nothing has to be awaited.
    while let Some(Ok((event, _))) = feed.next().now_or_never() {
        events.push(event);
    }
    events
}

/// The turn of a recording: that of its first user message.
fn turn_of(events: &[ServerEvent]) -> ServerTurn {
    let first = events.iter().find_map(|event| match &event.kind {
        EventKind::MessageUpdated(info) if info.role == MessageRole::User => Some(info),
        _ => None,
    });
    let first = first.expect("a message of the user");
    // Ids are compared as texts; this baseline is just below the id.
    let mut baseline = first.id.clone();
    baseline.pop();
    ServerTurn::new(&first.session, Some(baseline))
}

/// The result of playing events: signals, next actions, and the verdict.
#[derive(Debug, Default)]
struct Played {
    signals: Vec<AgentSignal>,
    nexts: Vec<String>,
    verdict: Option<TurnVerdict>,
}

fn play(events: Vec<ServerEvent>) -> Played {
    let mut turn = turn_of(&events);
    let mut played = Played::default();
    played.take(&mut turn, events);
    played.end(&mut turn);
    played
}

impl Played {
    fn take(&mut self, turn: &mut ServerTurn, events: Vec<ServerEvent>) {
        for event in events {
            let next = match turn.take(event, &clock(), &mut self.signals) {
                NextAction::GoOn => continue,
                NextAction::Look => "look".to_owned(),
                NextAction::AskPermission(permission) => format!("ask permission {}", permission.permission),
                NextAction::PermissionAnswered { .. } => "permission answered".to_owned(),
                NextAction::AskQuestion(question) => format!("ask {} question", question.questions.len()),
                NextAction::QuestionAnswered(_) => "question answered".to_owned(),
            };
            self.nexts.push(next);
        }
    }

    fn end(&mut self, turn: &mut ServerTurn) {
        turn.finish(&mut self.signals);
        self.verdict = Some(turn.verdict());
    }

    /// The reported content, independent of order and of how texts were split.
    fn told(&self) -> BTreeMap<String, String> {
        let mut told = BTreeMap::new();
        let mut add = |key: String, text: &str| told.entry(key).or_insert_with(String::new).push_str(text);
        for signal in &self.signals {
            match signal {
                AgentSignal::Said { text } => add("said".to_owned(), text),
                AgentSignal::Thought { text } => add("thought".to_owned(), text),
                AgentSignal::ToolStarted { call, input, .. } => add(format!("{call} started"), input),
                AgentSignal::ToolEnded { call, output, .. } => add(format!("{call} ended"), output),
                AgentSignal::Usage { usage } => add("usage".to_owned(), &format!("{usage:?}")),
                AgentSignal::FileChanged { path, change } => add(path.clone(), &format!("{change:?}")),
                // Live text is reported again as a whole later.
                signal if signal.is_live_text() => {}
                other => add("other".to_owned(), &format!("{other:?}")),
            }
        }
        told
    }
}

fn clock() -> ZonedClock {
    ZonedClock::at("2026-11-20T09:20:00Z")
}

#[test]
fn recordings_are_understood_as_they_were_reviewed() {
    for (name, text) in RECORDINGS {
        let played = play(events(text));
        let signals = played.signals.iter();
        let mut lines: Vec<_> = signals.map(|signal| serde_json::to_string(signal).unwrap()).collect();
        lines.push(format!("next: {}", played.nexts.join(", ")));
        lines.push(format!("{:#?}", played.verdict.unwrap()));
        let path = "../../../../tests/fixtures/opencode-server/signals";
        insta::with_settings!({ snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, lines.join("\n"));
        });
    }
}

#[test]
fn what_the_model_writes_is_told_as_it_comes() {
    let played = play(events(recording("steered")));
    let first = played.signals.iter().find_map(|signal| match signal {
        AgentSignal::TextDelta { text } => Some((true, text.as_str())),
        AgentSignal::Said { text } => Some((false, text.as_str())),
        _ => None,
    });
    assert!(matches!(first, Some((true, _))), "{first:?}");
    let pieces: String = played
        .signals
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::TextDelta { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(pieces.contains("first final"), "{pieces}");
}

#[test]
fn it_does_not_matter_where_the_bytes_are_cut() {
    for (name, text) in RECORDINGS {
        let whole = events(text);
        let bytes = text.as_bytes();
        let single = bytes.iter().map(|byte| vec![*byte]).collect();
        assert!(events_of_pieces(single) == whole, "{name} byte by byte");
    }
    // This event contains multi-byte characters, and is short enough to be cut at every byte.
    let text = recording("catch-up");
    let start = text.find("I will look").expect("a text");
    let start = text[..start].rfind("data:").expect("its event");
    let text = &text[start..start + text[start..].find("\n\n").expect("its end") + 2];
    assert!(text.contains('ü'));
    let whole = events(text);
    assert_eq!(whole.len(), 1);
    for at in 0..=text.len() {
        let (head, tail) = text.as_bytes().split_at(at);
        assert_eq!(
            events_of_pieces(vec![head.to_vec(), tail.to_vec()]),
            whole,
            "cut at {at}"
        );
    }
}

#[test]
fn an_event_that_comes_twice_counts_once() {
    for (name, text) in RECORDINGS {
        let once = play(events(text));
        let twice = play(
            events(text)
                .into_iter()
                .flat_map(|event| [event.clone(), event])
                .collect(),
        );
        assert_eq!(twice.signals, once.signals, "{name}");
        assert_eq!(twice.verdict, once.verdict, "{name}");
    }
}

#[test]
fn events_that_change_places_change_nothing_that_is_told() {
    for (name, text) in RECORDINGS {
        let events = events(text);
        let whole = play(events.clone());
        let told = whole.told();
        for at in 1..events.len() {
            let mut swapped = events.clone();
            swapped.swap(at - 1, at);
            let played = play(swapped);
            assert_eq!(played.told(), told, "{name}, {at}");
            assert_eq!(played.verdict, whole.verdict, "{name}, {at}");
        }
    }
}

#[test]
fn what_a_lost_stream_would_have_told_is_caught_up_with_and_not_doubled() {
    let text = recording("catch-up");
    let events = events(text);
    let whole = play(events.clone());
    let listed: Vec<ListedMessage> = serde_json::from_str(MESSAGES).expect("messages");
    let count = events.len();
    // The stream is lost after `lost` events and comes back before `back`.
    for lost in 4..count {
        for back in [lost, count.min(lost + 1), count.min(lost + 7), count] {
            let mut all = events.clone();
            let mut turn = turn_of(&all);
            let mut played = Played::default();
            let rest = all.split_off(back);
            all.truncate(lost);
            played.take(&mut turn, all);
            turn.catch_up(&listed, &clock(), &mut played.signals);
            played.take(&mut turn, rest);
            played.end(&mut turn);
            assert_eq!(played.told(), whole.told(), "lost after {lost}, back at {back}");
            assert_eq!(played.verdict, whole.verdict, "lost after {lost}, back at {back}");
        }
    }
}

#[test]
fn a_turn_without_its_last_messages_is_no_success() {
    for (name, text) in RECORDINGS {
        let events = events(text);
        let whole = play(events.clone());
        for at in 3..events.len() {
            let mut turn = turn_of(&events);
            let mut played = Played::default();
            played.take(&mut turn, events[..at].to_vec());
            played.end(&mut turn);
            let verdict = played.verdict.expect("a verdict");
            // Only events after the last message may be missing.
            if verdict.ok {
                assert_eq!(whole.verdict, Some(verdict), "{name} cut after {at}");
            }
        }
    }
}

/// A turn of session `s`, and its signals for these events.
fn told(lines: &[serde_json::Value]) -> (ServerTurn, Vec<AgentSignal>) {
    let mut turn = ServerTurn::new("s", None);
    let mut signals = Vec::new();
    for line in lines {
        let event = wire::event(&line.to_string()).expect("an event");
        turn.take(event, &clock(), &mut signals);
    }
    (turn, signals)
}

fn status(status: serde_json::Value) -> serde_json::Value {
    serde_json::json!({"type": "session.status", "properties": {"sessionID": "s", "status": status}})
}

fn error(name: &str, message: &str) -> serde_json::Value {
    let error = serde_json::json!({"name": name, "data": {"message": message}});
    serde_json::json!({"type": "session.error", "properties": {"sessionID": "s", "error": error}})
}

#[test]
fn a_repetition_in_an_hour_is_not_waited_for() {
    let now_ms = clock().now_ms;
    let retry = |message: &str, next: u64| {
        status(serde_json::json!({"type": "retry", "attempt": 1, "message": message, "next": next}))
    };
    let (turn, signals) = told(&[retry("Rate limit reached", now_ms + 2_000)]);
    assert_eq!(turn.fatal_problem(&clock()), None);
    let until_ms = Some(now_ms + 2_000);
    let kind = Some(ProblemKind::RateLimited { until_ms });
    assert!(matches!(&signals[..], [AgentSignal::Retrying { attempt: Some(1), kind: told, .. }] if *told == kind));
    let until_ms = Some(now_ms + 3_600_000);
    for (message, kind) in [
        ("Rate limit reached", ProblemKind::RateLimited { until_ms }),
        (
            "You exceeded your current quota",
            ProblemKind::QuotaExhausted { until_ms },
        ),
        ("Something else", ProblemKind::RateLimited { until_ms }),
    ] {
        let (turn, _) = told(&[retry(message, now_ms + 3_600_000)]);
        assert_eq!(
            turn.fatal_problem(&clock()).map(|problem| problem.kind),
            Some(kind),
            "{message}"
        );
    }
}

#[test]
fn a_session_that_is_compacted_in_vain_is_given_up() {
    let overflow = || error("ContextOverflowError", "prompt is too long");
    let (turn, _) = told(&[overflow(), overflow()]);
    assert_eq!(turn.fatal_problem(&clock()), None);
    let (turn, _) = told(&[overflow(), overflow(), overflow()]);
    let problem = turn.fatal_problem(&clock()).expect("a problem");
    assert_eq!(problem.kind, ProblemKind::ContextOverflow);
    assert!(problem.text.contains("3 times"), "{}", problem.text);
}

#[test]
fn the_first_words_about_an_error_are_kept() {
    let (turn, _) = told(&[
        error(
            "UnknownError",
            "Agent not found: \"nope\". Available agents: build, plan",
        ),
        error(
            "UnknownError",
            "UnknownError: UnknownError\n    at <anonymous> (/x.js:1:2)",
        ),
    ]);
    let problem = turn.verdict().problem.expect("a problem");
    assert_eq!(problem.kind, ProblemKind::Usage);
    assert!(problem.text.starts_with("Agent not found"), "{}", problem.text);
}

#[test]
fn what_is_unknown_is_said_once() {
    let odd = serde_json::json!({"type": "session.levitated", "properties": {"sessionID": "s"}});
    let foreign = serde_json::json!({"type": "session.levitated", "properties": {"sessionID": "t"}});
    let garbled = serde_json::json!({"type": "message.updated", "properties": {"sessionID": "s", "info": 1}});
    let (_, signals) = told(&[foreign, odd.clone(), odd, garbled.clone(), garbled]);
    let texts: Vec<_> = signals
        .iter()
        .map(|signal| match signal {
            AgentSignal::Unknown { text, .. } => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "unknown event `session.levitated`",
            "unreadable event `message.updated`"
        ]
    );
}
