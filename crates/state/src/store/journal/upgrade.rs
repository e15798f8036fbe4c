//! Upgrades older records: in version 1 reasons and causes were sentences; for a time in version 2, notices were.
//!
//! A sentence becomes the `text` variant of the fact that has replaced it. Its words are not interpreted.

use ralph_core::event::Record;
use serde_json::{Value, json};

/// Reads a line that is not a current record as one of an older ralph; `None` if that fails, too.
pub(super) fn record(line: &[u8]) -> Option<Record> {
    let mut record: Value = serde_json::from_slice(line).ok()?;
    event(&mut record["event"]);
    // Via text again: reading a record from a `Value` would compile all of its deserialisers a second time.
    serde_json::from_slice(&serde_json::to_vec(&record).ok()?).ok()
}

fn event(event: &mut Value) {
    match event["type"].as_str() {
        Some("claim-refused") => each(&mut event["reasons"], fact),
        Some("claim-judged") => each(&mut event["parts"], |part| rename(part, "what", "evidence")),
        Some("goal-checked") => {
            let why = &mut event["result"]["why"];
            match why.as_str() {
                Some("") => *why = Value::Null,
                _ => fact(why),
            }
        }
        Some("breaker-moved" | "wait-started") => fact(&mut event["why"]),
        Some("run-stopped") => {
            each(&mut event["hints"], fact);
            if event["reason"]["type"] == "breaker-open" || event["reason"]["type"] == "broken" {
                fact(&mut event["reason"]["why"]);
            }
        }
        Some("completion-denied") => {
            let why = &mut event["why"];
            if let Value::String(text) = why {
                *why = json!({ "type": "not-done", "why": std::mem::take(text) });
            }
        }
        Some("noticed") => {
            let (level, text) = (event["level"].take(), event["text"].take());
            if text.is_string() {
                event["notice"] = json!({ "type": "text", "level": level, "text": text });
            }
        }
        _ => {}
    }
}

fn each(list: &mut Value, change: impl Fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().for_each(change);
}

/// Turns a sentence into a fact; a fact stays as it is.
fn fact(value: &mut Value) {
    if let Value::String(text) = value {
        *value = json!({ "type": "text", "text": std::mem::take(text) });
    }
}

/// Turns the sentence in field `from` into a fact in field `to`.
fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(mut sentence) = object.as_object_mut().and_then(|fields| fields.remove(from)) {
        fact(&mut sentence);
        object[to] = sentence;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{
        Breakdown, BreakerCause, BreakerState, ConfidencePart, Denial, Event, Evidence, Hint, Missing, Notice,
        RequestedBy, StopReason, StopRequest, WaitCause,
    };

    fn upgraded(event: &str) -> Event {
        let line = format!(r#"{{"seq":7,"atMs":8,"event":{event}}}"#);
        let record = record(line.as_bytes()).unwrap_or_else(|| panic!("not a record: {event}"));
        assert_eq!((record.seq, record.at_ms), (7, 8));
        record.event
    }

    #[test]
    fn sentences_of_the_first_version_become_facts() {
        assert_eq!(
            upgraded(r#"{"type":"claim-refused","iteration":3,"reasons":["one task is still open: A","B"]}"#),
            Event::ClaimRefused {
                iteration: 3,
                reasons: ["one task is still open: A", "B"]
                    .map(|text| Missing::Text { text: text.to_owned() })
                    .into(),
            }
        );
        assert_eq!(
            upgraded(
                r#"{"type":"claim-judged","iteration":3,"confidence":50,"parts":[{"what":"it says so","points":50}]}"#
            ),
            Event::ClaimJudged {
                iteration: 3,
                confidence: 50,
                parts: vec![ConfidencePart {
                    evidence: Evidence::Text {
                        text: "it says so".to_owned()
                    },
                    points: 50,
                }],
            }
        );
        let stuck = || BreakerCause::Text {
            text: "6 iterations running changed nothing".to_owned(),
        };
        assert_eq!(
            upgraded(r#"{"type":"breaker-moved","to":"open","why":"6 iterations running changed nothing"}"#),
            Event::BreakerMoved {
                to: BreakerState::Open,
                why: stuck(),
            }
        );
        let stopped = upgraded(
            r#"{"type":"run-stopped","reason":{"type":"breaker-open","why":"6 iterations running changed nothing"},"hints":["type it again"],
                "totals":{"iterations":6,"tasksDone":0,"tasksOpen":1,"changes":null,"elapsedMs":1,
                "usage":{"inputTokens":null,"cachedTokens":null,"outputTokens":null,"costUsd":null}}}"#,
        );
        assert!(
            matches!(stopped, Event::RunStopped { reason: StopReason::BreakerOpen { why }, hints, .. }
            if why == stuck() && hints == [Hint::Text { text: "type it again".to_owned() }])
        );
        let wait = r#"{"type":"wait-started","wait":"backoff","untilMs":5,"attempt":1,"why":"overloaded"}"#;
        assert!(
            matches!(upgraded(wait), Event::WaitStarted { why: WaitCause::Text { text }, .. } if text == "overloaded")
        );
    }

    #[test]
    fn sentences_of_the_second_version_become_facts() {
        let notice = Notice::warning("no checkpoint before iteration 1: git is gone");
        assert_eq!(
            upgraded(r#"{"type":"noticed","level":"warning","text":"no checkpoint before iteration 1: git is gone"}"#),
            Event::Noticed { notice }
        );
        let why = Denial::NotDone {
            why: "blocked: which colour?".to_owned(),
        };
        assert_eq!(
            upgraded(r#"{"type":"completion-denied","iteration":2,"why":"blocked: which colour?"}"#),
            Event::CompletionDenied { iteration: 2, why }
        );
        let stopped = upgraded(
            r#"{"type":"run-stopped","reason":{"type":"broken","why":"the disk is full"},"hints":[],
                "totals":{"iterations":6,"tasksDone":0,"tasksOpen":1,"changes":null,"elapsedMs":1,
                "usage":{"inputTokens":null,"cachedTokens":null,"outputTokens":null,"costUsd":null}}}"#,
        );
        assert!(
            matches!(stopped, Event::RunStopped { reason: StopReason::Broken { why: Breakdown::Text { text } }, .. }
            if text == "the disk is full")
        );
    }

    #[test]
    fn a_stop_is_read_under_its_earlier_name() {
        let stop = Event::StopRequested {
            stop: StopRequest::Graceful,
            by: RequestedBy::Interrupt,
        };
        assert_eq!(
            upgraded(r#"{"type":"stop-requested","stop":"in-order","by":"interrupt"}"#),
            stop
        );
    }

    #[test]
    fn a_goal_that_passed_has_no_reason_and_one_that_failed_keeps_its_own() {
        let checked = |passed: bool, why: &str| {
            let result = json!({
                "name": "tests", "passed": passed, "exit": null, "score": null, "target": null, "durationMs": 1,
                "why": why, "tail": "",
            });
            let Event::GoalChecked { result, .. } =
                upgraded(&json!({ "type": "goal-checked", "iteration": 1, "result": result }).to_string())
            else {
                panic!("a goal")
            };
            result.why
        };
        assert_eq!(checked(true, ""), None);
        let text = "exit code 1".to_owned();
        assert_eq!(
            checked(false, "exit code 1"),
            Some(ralph_core::event::GoalFailure::Text { text })
        );
    }

    #[test]
    fn a_fact_that_was_added_to_an_old_journal_stays() {
        let event = Event::BreakerMoved {
            to: BreakerState::Open,
            why: BreakerCause::NoProgress { iterations: 6 },
        };
        assert_eq!(upgraded(&serde_json::to_string(&event).unwrap()), event);
    }
}
