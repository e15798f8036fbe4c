//! The terminal of an iteration as server-sent events: from its recording, and live from the run.
//!
//! The id of an event is the number of bytes up to its end, so that a client that was disconnected can resume. A
//! recording replaces bytes that are not UTF-8, so its count can differ from that of the live terminal.

use std::{
    convert::Infallible,
    fs::File,
    io::{BufRead, BufReader},
    sync::Arc,
};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::{Stream, StreamExt, stream};
use ralph_core::event::{Event as Happened, IterationEvent};
use ralph_driver::hub::Subscription;
use ralph_state::{
    control::frames::UiEvent,
    store::recording::{self, RecordedEvent},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    archive::StoredRun,
    events::{self, heartbeat},
    extract::Query,
    problem::{ApiProblem, HttpResult},
    served::ServedRun,
};

/// Terminal bytes read of a recording at a time.
const BATCH_BYTES: usize = 256 * 1024;

/// The part of a terminal that a client requests.
#[derive(Debug, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TerminalQuery {
    /// The iteration; by default the latest.
    iteration: Option<u32>,
    /// The number of bytes that the client has already.
    #[serde(default)]
    from: u64,
}

/// The terminal of an iteration of the current run.
pub(crate) async fn current_terminal(
    State(served): State<Arc<ServedRun>>,
    stored: StoredRun,
    headers: HeaderMap,
    Query(wanted): Query<TerminalQuery>,
) -> HttpResult<Response> {
    let from = first_byte(&wanted, &headers)?;
    let (latest, runs, records) = served.at_work();
    let iteration = found(wanted.iteration, latest)?;
    let Some(terminal) = served.terminal(iteration, from, records) else {
        return recorded_terminal(&stored, iteration, from).await;
    };
    if from > terminal.end {
        return Err(ApiProblem::bad_request(format!(
            "the terminal of iteration {iteration} has shown {} bytes so far",
            terminal.end
        )));
    }
    let past = recorded(&stored, iteration, from, Some(terminal.start)).await.ok();
    let past = stream::iter(past).flatten();
    let mut subscription = terminal.subscription;
    let at = terminal.start;
    // The output of an earlier iteration is complete.
    if runs != Some(iteration) {
        let (mut at, mut events) = (at, Vec::new());
        subscription.take_all(&mut |event| events.extend(shown(&event, &mut at)));
        return Ok(sent(past.chain(stream::iter(events)).chain(stream::iter([over()]))));
    }
    Ok(sent(past.chain(follow(subscription, iteration, at))))
}

/// The terminal of an iteration of a past run.
pub(super) async fn past_terminal(
    stored: StoredRun,
    headers: HeaderMap,
    Query(wanted): Query<TerminalQuery>,
) -> HttpResult<Response> {
    let from = first_byte(&wanted, &headers)?;
    let iteration = found(wanted.iteration, stored.entry(false).await?.iterations)?;
    recorded_terminal(&stored, iteration, from).await
}

/// The byte from which on the terminal is wanted.
fn first_byte(wanted: &TerminalQuery, headers: &HeaderMap) -> HttpResult<u64> {
    let Some(id) = headers.get("last-event-id") else {
        return Ok(wanted.from);
    };
    let from = id.to_str().ok().and_then(|id| id.parse().ok());
    from.ok_or_else(|| ApiProblem::bad_request("Last-Event-ID is not a count of bytes"))
}

fn found(wanted: Option<u32>, latest: u32) -> HttpResult<u32> {
    let iteration = wanted.unwrap_or(latest);
    match (1..=latest).contains(&iteration) {
        true => Ok(iteration),
        false => Err(ApiProblem::not_found(format!(
            "there is no iteration {iteration}: the run has had {latest} so far"
        ))),
    }
}

async fn recorded_terminal(stored: &StoredRun, iteration: u32, from: u64) -> HttpResult<Response> {
    let recorded = recorded(stored, iteration, from, None).await?;
    Ok(sent(recorded.chain(stream::iter([over()]))))
}

fn sent(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    Sse::new(events.map(Ok::<_, Infallible>))
        .keep_alive(heartbeat())
        .into_response()
}

/// A recording that is being read.
struct Recorded {
    lines: BufReader<File>,
    /// Number of terminal bytes before the next line.
    at: u64,
    from: u64,
    to: Option<u64>,
    /// Whether the first size of the terminal was read.
    begun: bool,
}

/// The recorded output of an iteration between two byte positions.
async fn recorded(
    stored: &StoredRun,
    iteration: u32,
    from: u64,
    to: Option<u64>,
) -> HttpResult<impl Stream<Item = Event> + Send + 'static + use<>> {
    let path = stored.recording(iteration);
    let opened = stored.read(move |_, _, _| {
        let file = recording::open(&path);
        file.map_err(|_| ApiProblem::not_found(format!("there is no recording of iteration {iteration}")))
    });
    let (file, _) = opened.await?;
    let recorded = Recorded {
        lines: BufReader::new(file),
        at: 0,
        from,
        to,
        begun: false,
    };
    let batches = stream::unfold((stored.clone(), Some(recorded)), |(stored, recorded)| async move {
        let recorded = recorded?;
        let (read, _) = stored.read(move |_, _, _| Ok(recorded.batch())).await.ok()?;
        let (events, recorded) = read;
        Some((stream::iter(events), (stored, recorded)))
    });
    Ok(batches.flatten())
}

impl Recorded {
    /// Reads the next events. Also returns the rest of the recording, `None` at its end.
    fn batch(mut self) -> (Vec<Event>, Option<Self>) {
        let (mut events, mut bytes, mut line) = (Vec::new(), 0, String::new());
        while bytes < BATCH_BYTES && (!self.begun || self.is_left()) {
            self.begun = true;
            line.clear();
            let is_whole = self.lines.read_line(&mut line).is_ok() && line.ends_with('\n');
            if !is_whole {
                events.extend(self.gap());
                return (events, None);
            }
            match RecordedEvent::parse(&line) {
                Some(RecordedEvent::Size { cols, rows }) => events.push(resized(cols, rows)),
                Some(RecordedEvent::Output { text }) => {
                    let piece = self.wanted(text.as_bytes());
                    bytes += piece.len();
                    if !piece.is_empty() {
                        events.push(events::output(piece).id(self.at.to_string()));
                    }
                }
                None => {}
            }
        }
        let is_left = self.is_left();
        (events, is_left.then_some(self))
    }

    fn is_left(&self) -> bool {
        self.to.is_none_or(|to| self.at < to)
    }

    /// The part of the next bytes that is between the two positions.
    fn wanted<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.at;
        let end = start + bytes.len() as u64;
        let within = |count: u64| usize::try_from(count.clamp(start, end) - start).expect("an index of a slice");
        let to = self.to.unwrap_or(u64::MAX);
        self.at = end.min(to);
        &bytes[within(self.from.min(to))..within(to)]
    }

    /// The requested bytes that are missing from the recording, which has reached its cap.
    fn gap(&self) -> Option<Event> {
        let to = self.to?;
        let left = to.saturating_sub(self.at.max(self.from));
        (left > 0).then(|| events::skipped(left).id(to.to_string()))
    }
}

/// Streams the output of `subscription` from `at` on, to the end of the iteration.
fn follow(subscription: Subscription, iteration: u32, at: u64) -> impl Stream<Item = Event> {
    stream::unfold((Some(subscription), at), move |(subscription, mut at)| async move {
        let mut subscription = subscription?;
        loop {
            tokio::task::consume_budget().await;
            let Some(event) = subscription.next_event().await else {
                return Some((over(), (None, at)));
            };
            if let UiEvent::Record(record) = &event
                && matches!(record.event, Happened::Iteration(IterationEvent::Ended { iteration: ended, .. }) if ended == iteration)
            {
                return Some((over(), (None, at)));
            }
            if let Some(event) = shown(&event, &mut at) {
                return Some((event, (Some(subscription), at)));
            }
        }
    })
}

/// Formats an event for sending. `at` counts the bytes.
fn shown(event: &UiEvent, at: &mut u64) -> Option<Event> {
    match event {
        UiEvent::Output(bytes) => {
            *at += bytes.len() as u64;
            Some(events::output(bytes).id(at.to_string()))
        }
        UiEvent::Skipped { bytes } => {
            *at += bytes;
            Some(events::skipped(*bytes).id(at.to_string()))
        }
        UiEvent::Resized(size) => Some(resized(size.cols, size.rows)),
        UiEvent::Record(_) | UiEvent::Detail(_) => None,
    }
}

fn resized(cols: u16, rows: u16) -> Event {
    let data = json!({"cols": cols, "rows": rows});
    Event::default().event("resized").data(data.to_string())
}

/// The end of the iteration.
fn over() -> Event {
    Event::default().event("over").data("{}")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    /// The recording between two byte positions, as text.
    fn read(from: u64, to: Option<u64>) -> String {
        let mut file = tempfile::tempfile().unwrap();
        let text = "{\"version\":2,\"width\":80,\"height\":24}\n[0.1,\"o\",\"one \"]\n[0.2,\"r\",\"30x5\"]\n[0.3,\"o\",\"two\"]\n[0.4,\"o\",\"cut";
        file.write_all(text.as_bytes()).unwrap();
        std::io::Seek::rewind(&mut file).unwrap();
        let recorded = Recorded {
            lines: BufReader::new(file),
            at: 0,
            from,
            to,
            begun: false,
        };
        let (events, rest) = recorded.batch();
        assert!(rest.is_none());
        events.iter().map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn a_recording_is_read_between_two_counts_and_what_it_lacks_is_said() {
        let has = |text: &str, bytes: &str| text.contains(&STANDARD.encode(bytes));
        let all = read(0, None);
        assert!(has(&all, "one ") && has(&all, "two") && all.contains("30"), "{all}");
        let rest = read(2, None);
        assert!(has(&rest, "e ") && has(&rest, "two"), "{rest}");
        let part = read(2, Some(5));
        assert!(
            has(&part, "e ") && has(&part, "t") && !part.contains("skipped"),
            "{part}"
        );
        let capped = read(0, Some(10));
        assert!(
            capped.contains("skipped") && capped.contains("\\\"bytes\\\":3"),
            "{capped}"
        );
        for at in [0, 4] {
            let none = read(at, Some(at));
            assert!(none.contains("80") && !none.contains("output"), "{none}");
        }
    }
}
