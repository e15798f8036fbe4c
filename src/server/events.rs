//! The events of a run as they happen, as server-sent events: each record with its number as its id, so that whoever was
//! cut off goes on where it was.

use std::{convert::Infallible, sync::Arc, time::Duration};

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
use serde::Deserialize;
use serde_json::json;

use crate::{
    control::Role,
    diagnostics::kind,
    driver::{Subscription, UiEvent},
    event::Record,
};

use super::{
    problem::{Answered, Problem},
    served::Served,
};

/// Whoever hears nothing for longer has lost the connection.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What of the events somebody wants.
#[derive(Debug, Default, Deserialize)]
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
}

pub(super) async fn events(
    State(served): State<Arc<Served>>,
    Extension(role): Extension<Role>,
    headers: HeaderMap,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Answered<Response> {
    let Query(wanted) = wanted.map_err(|why| Problem::bad_request(why.body_text()))?;
    let (first, snapshot) = match first_record(&wanted, &headers)? {
        Some(first) => {
            let records = served.view().records;
            if first > records {
                let detail = format!("the run has {records} records so far: there is none before number {first}");
                return Err(Problem::bad_request(detail));
            }
            (first, None)
        }
        None => {
            let status = served.whole_status(role).await?;
            let records = status.view.as_ref().map_or(0, |view| view.records);
            let snapshot = Event::default().event("snapshot").json_data(&status);
            let snapshot = snapshot.map_err(|why| Problem::failed(why.to_string()))?;
            // A journal has a first record before anything is served.
            (records, Some(snapshot.id(records.saturating_sub(1).to_string())))
        }
    };
    let subscription = served.subscribe(first, wanted.terminal);
    let events = stream::iter(snapshot).chain(follow(served, subscription, wanted.details));
    let heartbeat = KeepAlive::new()
        .interval(HEARTBEAT)
        .event(Event::default().event("heartbeat").data("{}"));
    Ok(Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(heartbeat)
        .into_response())
}

/// The record to begin with; none if it is not said.
fn first_record(wanted: &Wanted, headers: &HeaderMap) -> Answered<Option<u64>> {
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
fn follow(served: Arc<Served>, subscription: Subscription, details: bool) -> impl Stream<Item = Event> {
    let state = (Some(subscription), served);
    stream::unfold(state, move |(subscription, served)| async move {
        let mut subscription = subscription?;
        loop {
            // A client that is fast must not keep the others waiting.
            tokio::task::consume_budget().await;
            let Some(event) = subscription.next_event().await else {
                let over = json!({"exitCode": served.exit()});
                let over = Event::default().event("over").data(over.to_string());
                return Some((over, (None, served)));
            };
            if let Some(event) = written(&event, details) {
                return Some((event, (Some(subscription), served)));
            }
        }
    })
}

/// An event as it is sent; none if it is not.
fn written(event: &UiEvent, details: bool) -> Option<Event> {
    match event {
        UiEvent::Record(record) => Some(of_record(record)),
        UiEvent::Detail(detail) if details => {
            let data = json!({
                "atMs": detail.at_ms,
                "iteration": detail.iteration,
                "signal": detail.signal,
                "missed": detail.missed,
            });
            Some(Event::default().event("detail").data(data.to_string()))
        }
        UiEvent::Output(bytes) => {
            let data = json!({"data": STANDARD.encode(bytes)});
            Some(Event::default().event("output").data(data.to_string()))
        }
        UiEvent::Skipped { bytes } => {
            let data = json!({"bytes": bytes});
            Some(Event::default().event("skipped").data(data.to_string()))
        }
        UiEvent::Detail(_) | UiEvent::Resized(_) => None,
    }
}

fn of_record(record: &Record) -> Event {
    let data = serde_json::to_string(record).expect("records have no failing serialisers");
    Event::default()
        .id(record.seq.to_string())
        .event(kebab(&kind(&record.event).to_string()))
        .data(data)
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
    use crate::{
        event::{Event as Happened, Outcome},
        testing::{iteration_started, permission_decided},
    };

    #[test]
    fn events_are_called_as_in_the_journal() {
        let events = [
            iteration_started(1, None, None),
            permission_decided(None, true, crate::event::Decider::Unclear, None),
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
