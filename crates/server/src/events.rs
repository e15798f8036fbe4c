//! The events of a run as server-sent events. Each record has its number as its id, so that a client that was
//! disconnected can resume.

use std::{convert::Infallible, sync::Arc};

use axum::{
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::{Stream, StreamExt, stream};
use jiff::Timestamp;
use ralph_core::{
    event::{EndKind, Event as Happened, Record, RunEvent},
    json::tag_of,
};
use ralph_driver::hub::Subscription;
use ralph_state::control::{RunStatus, frames::UiEvent};
use ralph_words::{EventLine, Tone, narrate, stop_in_words};
use serde::{Deserialize, Serialize};
use serde_json::{
    json,
    value::{RawValue, to_raw_value},
};

use super::{
    extract::{Caller, Query},
    problem::{ApiProblem, HttpResult},
    served::{HEARTBEAT, ServedRun},
};

/// The part of the events that a client requests.
#[derive(Debug, Clone, Copy, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// The last record that the client has.
    after: Option<u64>,
    /// The first record to send.
    from: Option<u64>,
    /// Whether to include details of agents that are not in the journal.
    #[serde(default)]
    details: bool,
    /// Whether to include the output of the agent's terminal.
    #[serde(default)]
    terminal: bool,
    /// Whether each record includes its line of text for people.
    #[serde(default)]
    pub(super) words: bool,
    /// Whether a snapshot and a report precede the end of the stream, since the server may end right after it.
    #[serde(default)]
    pub(super) last: bool,
}

/// A record with its line of text, as on every screen. Times in the text are UTC.
#[derive(Serialize)]
struct NarratedRecord<'r> {
    seq: u64,
    #[serde(rename = "atMs")]
    at_ms: u64,
    event: &'r RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    words: Option<EventLine>,
}

pub(crate) async fn events(
    Caller(served, role): Caller<ServedRun>,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> HttpResult<Response> {
    let (first, snapshot) = match first_record(&query, &headers, served.records())? {
        Some(first) => (first, None),
        None => {
            let status = served.whole_status(role).await?;
            let records = status.view.as_ref().map_or(0, |view| view.records);
            (records, Some(snapshot(&status)?))
        }
    };
    let subscription = served.subscribe(first, query.terminal);
    let events = stream::iter(snapshot).chain(follow(served, subscription, query));
    Ok(Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(heartbeat())
        .into_response())
}

/// The event sent while the run is quiet.
pub(super) fn heartbeat() -> KeepAlive {
    KeepAlive::new()
        .interval(HEARTBEAT)
        .event(Event::default().event("heartbeat").data("{}"))
}

/// The state of the run, as the first event of a stream.
pub(super) fn snapshot(status: &RunStatus) -> HttpResult<Event> {
    let records = status.view.as_ref().map_or(0, |view| view.records);
    let text = serde_json::to_string(status).map_err(|why| ApiProblem::failed(why.to_string()))?;
    let snapshot = Event::default().event("snapshot").data(text);
    // A journal has its first record before the server starts.
    Ok(snapshot.id(records.saturating_sub(1).to_string()))
}

/// The end of the run's process.
pub(super) fn over(exit: Option<u8>) -> Event {
    Event::default()
        .event("over")
        .data(json!({"exitCode": exit}).to_string())
}

/// Returns the number of the first record to send, or `None` if the client names none. `records` is the number of
/// records.
///
/// # Errors
/// If the number is beyond the next record.
pub(super) fn first_record(query: &EventsQuery, headers: &HeaderMap, records: u64) -> HttpResult<Option<u64>> {
    let first = said(query, headers)?;
    match first.filter(|first| *first > records) {
        Some(first) => Err(ApiProblem::bad_request(format!(
            "the run has {records} records so far: no record precedes number {first}"
        ))),
        None => Ok(first),
    }
}

fn said(query: &EventsQuery, headers: &HeaderMap) -> HttpResult<Option<u64>> {
    let after = |seq: u64| {
        let next = seq.checked_add(1);
        next.ok_or_else(|| ApiProblem::bad_request("there is no record after that number"))
    };
    // A browser that reconnects repeats its address, and names the last event in the header.
    if let Some(id) = headers.get("last-event-id") {
        let seq = id.to_str().ok().and_then(|id| id.parse().ok());
        let seq = seq.ok_or_else(|| ApiProblem::bad_request("Last-Event-ID is not the number of a record"))?;
        return after(seq).map(Some);
    }
    match (query.after, query.from) {
        (Some(_), Some(_)) => Err(ApiProblem::bad_request("`after` and `from` exclude each other")),
        (Some(seq), None) => after(seq).map(Some),
        (None, from) => Ok(from),
    }
}

/// Streams the events of `subscription` to the end of the run.
fn follow(served: Arc<ServedRun>, subscription: Subscription, query: EventsQuery) -> impl Stream<Item = Event> {
    let state = (Some(subscription), served);
    let pieces = stream::unfold(state, move |(subscription, served)| async move {
        let mut subscription = subscription?;
        loop {
            // A fast client must not starve the others.
            tokio::task::consume_budget().await;
            let Some(event) = subscription.next_event().await else {
                return Some((end(&served, query), (None, served)));
            };
            if let Some(event) = written(&event, query) {
                return Some((vec![event], (Some(subscription), served)));
            }
        }
    });
    pieces.flat_map(stream::iter)
}

/// The events at the end of a stream.
fn end(served: &ServedRun, query: EventsQuery) -> Vec<Event> {
    let mut events = Vec::new();
    if query.last {
        let status = served.last_status();
        events.extend(snapshot(&status));
        let report = status.view.map(|view| ralph_review::report_of_records(*view));
        let report = report.and_then(|report| serde_json::to_string(&report).ok());
        events.extend(report.map(|text| Event::default().event("report").data(text)));
    }
    events.push(over(served.exit()));
    events
}

/// Formats an event for sending; `None` if the client does not want it.
fn written(event: &UiEvent, query: EventsQuery) -> Option<Event> {
    match event {
        UiEvent::Record(record) => Some(record_event(record, query.words)),
        UiEvent::Detail(detail) if query.details => {
            let data = serde_json::to_string(detail).expect("details have no failing serialisers");
            Some(Event::default().event("detail").data(data))
        }
        UiEvent::Output(bytes) => Some(output(bytes)),
        UiEvent::Skipped { bytes } => Some(skipped(*bytes)),
        UiEvent::Detail(_) | UiEvent::Resized(_) => None,
    }
}

/// Output of a terminal.
pub(super) fn output(bytes: &[u8]) -> Event {
    let data = json!({"data": STANDARD.encode(bytes)});
    Event::default().event("output").data(data.to_string())
}

/// A number of omitted bytes of terminal output.
pub(super) fn skipped(bytes: u64) -> Event {
    let data = json!({"bytes": bytes});
    Event::default().event("skipped").data(data.to_string())
}

pub(super) fn record_event(record: &Record, words: bool) -> Event {
    let event = to_raw_value(&record.event).expect("events have no failing serialisers");
    let narrated = NarratedRecord {
        seq: record.seq,
        at_ms: record.at_ms,
        event: &event,
        words: words.then(|| in_words(&record.event)).flatten(),
    };
    let data = serde_json::to_string(&narrated).expect("records have no failing serialisers");
    Event::default()
        .id(record.seq.to_string())
        .event(tag_of(event.get(), "type").expect("an event has a type"))
        .data(data)
}

/// The line of text for an event. Other screens show the end of a run outside of their log.
fn in_words(event: &Happened) -> Option<EventLine> {
    match event {
        Happened::Run(RunEvent::Stopped { reason, .. }) => Some(EventLine {
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

/// Formats a time in UTC, for clients that know the reader's time zone.
fn utc(at_ms: u64) -> String {
    let moment = Timestamp::from_millisecond(at_ms.cast_signed());
    moment.map_or_else(|_| at_ms.to_string(), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::{iteration_started, question_withdrawn};

    #[test]
    fn events_are_called_as_in_the_journal() {
        for (event, name) in [
            (
                iteration_started(1, Some("\"type\":\"held\""), None),
                "iteration-started",
            ),
            (question_withdrawn(1), "answered"),
        ] {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(tag_of(&text, "type").unwrap(), name);
        }
    }
}
