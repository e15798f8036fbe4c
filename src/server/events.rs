//! The events of a run as they happen, as server-sent events: each record with its number as its id, so that whoever was
//! cut off goes on where it was.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;
use ralph_core::event::{EndKind, Event as Happened, Record};
use ralph_state::control::{Role, Status};
use ralph_system::diagnostics::kind;
use ralph_words::{Line, Tone, narrate, stop_in_words};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    driver::{Subscription, UiEvent},
    review,
};

use super::{
    problem::{Answered, Problem},
    served::{HEARTBEAT, Served},
};

/// What of the events somebody wants.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The last record that is known already.
    after: Option<u64>,
    /// The first record that is wanted.
    from: Option<u64>,
    /// What agents report beyond the journal, too.
    #[serde(default)]
    details: bool,
    /// The output of the agent's terminal, too.
    #[serde(default)]
    terminal: bool,
    /// Each record with the line that a person reads of it, too.
    #[serde(default)]
    pub(super) words: bool,
    /// A snapshot and a report before the stream is over, too: whoever serves it may be gone a moment later.
    #[serde(default)]
    pub(super) last: bool,
}

/// A record with the line that a person reads of it, as every screen has it; moments in it are UTC.
#[derive(Serialize)]
struct Narrated<'r> {
    seq: u64,
    #[serde(rename = "atMs")]
    at_ms: u64,
    event: &'r Happened,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<Line>,
}

pub(super) async fn events(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answered<Response> {
    let Query(wanted) = wanted.map_err(|why| Problem::bad_request(why.body_text()))?;
    let (first, snapshot) = match first_record(&wanted, &headers, served.records())? {
        Some(first) => (first, None),
        None => {
            let status = served.whole_status(role).await?;
            let records = status.view.as_ref().map_or(0, |view| view.records);
            (records, Some(snapshot(&status)?))
        }
    };
    let subscription = served.subscribe(first, wanted.terminal);
    let events = stream::iter(snapshot).chain(follow(served, subscription, wanted));
    Ok(Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(heartbeat())
        .into_response())
}

/// What is sent while there is nothing to send.
pub(super) fn heartbeat() -> KeepAlive {
    KeepAlive::new()
        .interval(HEARTBEAT)
        .event(Event::default().event("heartbeat").data("{}"))
}

/// How a run stands, for whoever begins with that.
pub(super) fn snapshot(status: &Status) -> Answered<Event> {
    let records = status.view.as_ref().map_or(0, |view| view.records);
    let text = serde_json::to_string(status).map_err(|why| Problem::failed(why.to_string()))?;
    let snapshot = Event::default().event("snapshot").data(text);
    // A journal has a first record before anything is served.
    Ok(snapshot.id(records.saturating_sub(1).to_string()))
}

/// The end of a run's process.
pub(super) fn over(exit: Option<u8>) -> Event {
    Event::default()
        .event("over")
        .data(json!({"exitCode": exit}).to_string())
}

/// The record to begin with, of a run that has so many; none if it is not said.
///
/// # Errors
/// If it is not one that is there or comes next.
pub(super) fn first_record(wanted: &Wanted, headers: &HeaderMap, records: u64) -> Answered<Option<u64>> {
    let first = said(wanted, headers)?;
    match first.filter(|first| *first > records) {
        Some(first) => Err(Problem::bad_request(format!(
            "the run has {records} records so far: there is none before number {first}"
        ))),
        None => Ok(first),
    }
}

fn said(wanted: &Wanted, headers: &HeaderMap) -> Answered<Option<u64>> {
    let after = |seq: u64| {
        let next = seq.checked_add(1);
        next.ok_or_else(|| Problem::bad_request("there is no record after that number"))
    };
    // A browser that connects again repeats the address it had, and says in the header how far it is by now.
    if let Some(id) = headers.get("last-event-id") {
        let seq = id.to_str().ok().and_then(|id| id.parse().ok());
        let seq = seq.ok_or_else(|| Problem::bad_request("Last-Event-ID is not the number of a record"))?;
        return after(seq).map(Some);
    }
    match (wanted.after, wanted.from) {
        (Some(_), Some(_)) => Err(Problem::bad_request("`after` and `from` exclude each other")),
        (Some(seq), None) => after(seq).map(Some),
        (None, from) => Ok(from),
    }
}

/// What `subscription` gets, to the end of the run.
fn follow(served: Arc<Served>, subscription: Subscription, wanted: Wanted) -> impl Stream<Item = Event> {
    let state = (Some(subscription), served);
    let pieces = stream::unfold(state, move |(subscription, served)| async move {
        let mut subscription = subscription?;
        loop {
            // A client that is fast must not keep the others waiting.
            tokio::task::consume_budget().await;
            let Some(event) = subscription.next_event().await else {
                return Some((end(&served, wanted), (None, served)));
            };
            if let Some(event) = written(&event, wanted) {
                return Some((vec![event], (Some(subscription), served)));
            }
        }
    });
    pieces.flat_map(stream::iter)
}

/// What there is to say when nothing follows.
fn end(served: &Served, wanted: Wanted) -> Vec<Event> {
    let mut events = Vec::new();
    if wanted.last {
        let status = served.last_status();
        events.extend(snapshot(&status));
        let report = status.view.as_deref().map(review::report_of_records);
        let report = report.and_then(|report| serde_json::to_string(&report).ok());
        events.extend(report.map(|text| Event::default().event("report").data(text)));
    }
    events.push(over(served.exit()));
    events
}

/// An event as it is sent; none if it is not.
fn written(event: &UiEvent, wanted: Wanted) -> Option<Event> {
    match event {
        UiEvent::Record(record) => Some(of_record(record, wanted.words)),
        UiEvent::Detail(detail) if wanted.details => {
            let data = json!({
                "atMs": detail.at_ms,
                "iteration": detail.iteration,
                "signal": detail.signal,
                "missed": detail.missed,
            });
            Some(Event::default().event("detail").data(data.to_string()))
        }
        UiEvent::Output(bytes) => Some(output(bytes)),
        UiEvent::Skipped { bytes } => Some(skipped(*bytes)),
        UiEvent::Detail(_) | UiEvent::Resized(_) => None,
    }
}

/// Bytes of a terminal.
pub(super) fn output(bytes: &[u8]) -> Event {
    let data = json!({"data": STANDARD.encode(bytes)});
    Event::default().event("output").data(data.to_string())
}

/// So many bytes of a terminal that are left out.
pub(super) fn skipped(bytes: u64) -> Event {
    let data = json!({"bytes": bytes});
    Event::default().event("skipped").data(data.to_string())
}

pub(super) fn of_record(record: &Record, words: bool) -> Event {
    let narrated = Narrated {
        seq: record.seq,
        at_ms: record.at_ms,
        event: &record.event,
        words: words.then(|| in_words(&record.event)).flatten(),
    };
    let data = serde_json::to_string(&narrated).expect("records have no failing serialisers");
    Event::default()
        .id(record.seq.to_string())
        .event(kebab(&kind(&record.event).to_string()))
        .data(data)
}

/// The line of an event. Other screens say in other places than a log how a run ended.
fn in_words(event: &Happened) -> Option<Line> {
    match event {
        Happened::RunStopped { reason, .. } => Some(Line {
            tone: match reason.kind() {
                EndKind::Good => Tone::Good,
                EndKind::Bad => Tone::Bad,
                EndKind::Unfinished => Tone::Wait,
            },
            text: stop_in_words(reason),
        }),
        event => narrate(event, utc),
    }
}

/// A moment, for whoever knows the reader's zone.
fn utc(at_ms: u64) -> String {
    let moment = Timestamp::from_millisecond(at_ms.cast_signed());
    moment.map_or_else(|_| at_ms.to_string(), |moment| moment.to_string())
}

/// The name of a type as the journal spells it.
fn kebab(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len() + 4);
    for (at, character) in name.char_indices() {
        if character.is_ascii_uppercase() && at > 0 {
            kebab.push('-');
        }
        kebab.push(character.to_ascii_lowercase());
    }
    kebab
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::Outcome,
        testing::{iteration_started, permission_decided},
    };

    #[test]
    fn events_are_called_as_in_the_journal() {
        let events = [
            iteration_started(1, None, None),
            permission_decided(None, true, ralph_core::event::Decider::Unclear, None),
            Happened::Held,
            Happened::IterationEnded {
                iteration: 1,
                outcome: Outcome::Completed,
                exit: None,
                duration_ms: 1,
                output_bytes: 1,
            },
        ];
        for event in events {
            let journal = serde_json::to_value(&event).unwrap();
            assert_eq!(journal["type"], kebab(&kind(&event).to_string()));
        }
    }
}
