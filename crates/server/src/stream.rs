//! The run for ralph's own screens: frames of events, and the way back for keys and sizes.
//!
//! Stop 9 of the tour in ARCHITECTURE.md.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::rejection::BytesRejection,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use ralph_driver::{
    LoopHandle,
    hub::{LagPolicy, StreamMode, Subscription},
};
use ralph_state::control::{
    ClientRole,
    frames::{Frame, Hello, ScreenFacts, UiEvent},
};
use ralph_system::proc::Size;
use serde::Deserialize;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{
    extract::{Caller, Query},
    json::Json,
    problem::{ApiProblem, HttpResult},
    screens::ScreenTable,
    served::{HEARTBEAT, ServedRun},
};

/// The query of a stream.
#[derive(Debug, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct StreamQuery {
    /// The first record; by default, the next one.
    from: Option<u64>,
    /// Whether the client is a screen with a user, which the loop waits for after the end.
    screen: bool,
    /// Whether the agent waits for the reader of this stream.
    hold: bool,
    /// Only records, without the agent's terminal.
    records: bool,
}

pub(crate) async fn stream(
    Caller(served, role): Caller<ServedRun>,
    Query(query): Query<StreamQuery>,
) -> HttpResult<Response> {
    if query.screen || query.hold {
        refuse_agent(role)?;
    }
    let published = served.hub().published();
    let first = query.from.unwrap_or(published);
    if first > published {
        let detail = format!("the run has {published} records so far: no record precedes number {first}");
        return Err(ApiProblem::bad_request(detail));
    }
    let subscription = match (query.records, query.hold) {
        (true, _) => served.hub().follow(first, StreamMode::NoOutput),
        (false, true) => served.hub().subscribe(first, LagPolicy::HoldAgentBriefly),
        (false, false) => served.hub().subscribe(first, LagPolicy::Skip),
    };
    let screen = match query.screen {
        true => Some(CountedScreen::open(&served).await),
        false => None,
    };
    let ScreenFacts { run, show, .. } = served.screens().shown().clone();
    let hello = Frame::Hello(Box::new(Hello {
        run,
        pid: std::process::id(),
        first,
        screen: screen.as_ref().map(|screen| screen.number),
        show,
    }));
    let sizes = served.screens().sizes();
    let follower = StreamClient {
        subscription,
        sizes,
        served,
        records_only: query.records,
        _screen: screen,
    };
    let frames = stream::iter([bytes_of(&hello)]).chain(follower.frames());
    let body = Body::from_stream(frames.map(Ok::<_, Infallible>));
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// A client that reads a stream.
struct StreamClient {
    subscription: Subscription,
    sizes: watch::Receiver<Option<Size>>,
    served: Arc<ServedRun>,
    records_only: bool,
    /// The screen is counted as long as this exists.
    _screen: Option<CountedScreen>,
}

impl StreamClient {
    /// The frames to the end of the run.
    fn frames(mut self) -> impl stream::Stream<Item = Bytes> {
        // A late client gets the current size.
        self.sizes.mark_changed();
        stream::unfold(Some(self), async |follower| {
            let mut follower = follower?;
            let frame = follower.next().await;
            let goes_on = !matches!(frame, NextFrame::Last(_));
            let (NextFrame::Frame(bytes) | NextFrame::Last(bytes)) = frame;
            Some((bytes, goes_on.then_some(follower)))
        })
    }

    async fn next(&mut self) -> NextFrame {
        // A fast client must not starve the others.
        tokio::task::consume_budget().await;
        let alive = Instant::now() + HEARTBEAT;
        loop {
            let frame = tokio::select! {
                event = self.subscription.next_event() => match event {
                    // The mode of a stream of records leaves details.
                    Some(UiEvent::Detail(_)) if self.records_only => None,
                    Some(event) => Some(bytes_of(&Frame::Event(event))),
                    None => {
                        let exit_code = self.served.exit();
                        return NextFrame::Last(bytes_of(&Frame::End { exit_code }));
                    }
                },
                changed = self.sizes.changed(), if !self.records_only => {
                    let size = *self.sizes.borrow_and_update();
                    let size = size.filter(|_| changed.is_ok());
                    size.map(|size| bytes_of(&Frame::Event(UiEvent::Resized(size))))
                },
                () = sleep_until(alive) => Some(bytes_of(&Frame::Alive)),
            };
            if let Some(bytes) = frame {
                return NextFrame::Frame(bytes);
            }
        }
    }
}

enum NextFrame {
    Frame(Bytes),
    Last(Bytes),
}

fn bytes_of(frame: &Frame) -> Bytes {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes.into()
}

/// A screen that is counted until this is dropped with its connection.
struct CountedScreen {
    number: u64,
    served: Arc<ServedRun>,
}

impl CountedScreen {
    async fn open(served: &Arc<ServedRun>) -> Self {
        served.handle().watch_soon().await;
        let (number, _) = served.screens().change(ScreenTable::add);
        Self {
            number,
            served: Arc::clone(served),
        }
    }
}

impl Drop for CountedScreen {
    fn drop(&mut self) {
        let (served, number) = (Arc::clone(&self.served), self.number);
        // Without a runtime, the run has ended.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let (_, size) = served.screens().change(|table| table.remove(number));
                resize(served.handle(), size).await;
                served.handle().unwatch_soon().await;
            });
        }
    }
}

async fn resize(handle: &LoopHandle, size: Option<Size>) {
    if let Some(size) = size {
        handle.resize_soon(size).await;
    }
}

/// The screen that a request comes from.
#[derive(Debug, Default, Deserialize, crate::schema::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScreenQuery {
    /// The number that its stream begins with.
    screen: Option<u64>,
}

/// Types into the agent's terminal.
pub(crate) async fn input(
    Caller(served, role): Caller<ServedRun>,
    Query(ScreenQuery { screen }): Query<ScreenQuery>,
    body: Result<Bytes, BytesRejection>,
) -> HttpResult<StatusCode> {
    refuse_agent(role)?;
    let bytes = body.map_err(|why| ApiProblem::new(why.status(), why.body_text()))?;
    if let Some(screen) = screen {
        let (_, size) = served.screens().change(|table| table.typed(screen));
        resize(served.handle(), size).await;
    }
    served.handle().type_soon(bytes.into()).await;
    Ok(StatusCode::NO_CONTENT)
}

/// The size of a pane that shows the agent's terminal.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
#[schemars(rename = "Pane")]
#[serde(deny_unknown_fields)]
pub(crate) struct PaneSize {
    cols: u16,
    rows: u16,
}

/// Sets the size of a screen's pane; without a screen, that of the agent's terminal.
pub(crate) async fn size(
    Caller(served, role): Caller<ServedRun>,
    Query(ScreenQuery { screen }): Query<ScreenQuery>,
    body: HttpResult<Json<PaneSize>>,
) -> HttpResult<StatusCode> {
    refuse_agent(role)?;
    let Json(PaneSize { cols, rows }) = body?;
    let size = Size { cols, rows }.clamped();
    let size = match screen {
        Some(screen) => served.screens().change(|table| table.measured(screen, size)).1,
        None => Some(size),
    };
    resize(served.handle(), size).await;
    Ok(StatusCode::NO_CONTENT)
}

fn refuse_agent(role: ClientRole) -> HttpResult<()> {
    match role {
        ClientRole::User => Ok(()),
        ClientRole::Reader => Err(ApiProblem::forbidden(
            "this token is read-only, and a screen needs more: use `GET /events`",
        )),
        ClientRole::Agent => Err(ApiProblem::forbidden("only the user can open a screen, not an agent")),
    }
}
