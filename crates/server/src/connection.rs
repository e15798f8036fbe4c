//! One connection of a client, within bounds.
//!
//! A client decides when it sends and when it reads. The memory it can use is bounded, and requests that are not sent
//! in time are closed.

use std::{
    env,
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header::CONNECTION},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::watch,
    time::{Sleep, sleep, timeout},
};

use super::{problem::ApiProblem, served::ServerStage};

/// Maximum size of all headers of a request.
const HEADERS_CAP_BYTES: usize = 32 * 1024;
/// Maximum size of a request body. Messages of the user are far smaller, even in JSON.
pub(super) const BODY_CAP_BYTES: usize = 1 << 20;
/// Pause after a connection could not be accepted.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Timeouts for a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// Until the headers of the first or the next request are complete.
    pub(super) headers: Duration,
    /// Until the body of a request is complete.
    pub(super) body: Duration,
    /// Until the client reads any part of the data sent to it.
    pub(super) reading: Duration,
}

impl Timeouts {
    pub(super) fn from_env() -> Self {
        let timeouts = Self {
            headers: Duration::from_secs(10),
            body: Duration::from_secs(10),
            reading: Duration::from_secs(60),
        };
        match env::var("RALPH_TEST_SERVER_PATIENCE_MS") {
            Ok(ms) if cfg!(debug_assertions) => {
                let all = ms.parse().map(Duration::from_millis).unwrap_or(timeouts.headers);
                Self {
                    headers: all,
                    body: all,
                    reading: all,
                }
            }
            Ok(_) | Err(_) => timeouts,
        }
    }
}

/// Answers the requests on `stream` with `routes`. Ends when the client closes the connection, or when the run is over
/// and the client has its last answer.
pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    routes: Router,
    timeouts: Timeouts,
    mut stages: watch::Receiver<ServerStage>,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.headers)
        .max_buf_size(HEADERS_CAP_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stages.wait_for(|stage| *stage >= ServerStage::Closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    _ = connection.await; // a client that has gone needs no answer
}

/// Middleware that reads the whole request body, within its size limit and in time, before a route sees it.
pub(super) async fn take_body(State(timeouts): State<Timeouts>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let problem = match timeout(timeouts.body, whole(body)).await {
        Ok(Ok(body)) => return next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(problem)) => problem,
        Err(_) => {
            let detail = format!("the body of the request took longer than {} s", timeouts.body.as_secs());
            ApiProblem::new(StatusCode::REQUEST_TIMEOUT, detail)
        }
    };
    let mut response = problem.into_response();
    // The rest of the client's data is not read.
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn whole(body: Body) -> Result<Bytes, ApiProblem> {
    let mut chunks = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| ApiProblem::bad_request(format!("the body cannot be read: {error}")))?;
        if whole.len() + chunk.len() > BODY_CAP_BYTES {
            let detail = format!("the body of a request has at most {} MiB", BODY_CAP_BYTES >> 20);
            return Err(ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// A stream that fails with a timeout if the peer reads nothing for too long.
#[derive(Debug)]
pub(super) struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// Runs while writing is blocked.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeout<S> {
    pub(super) fn new(stream: S, timeout: Duration) -> Self {
        Self {
            stream,
            timeout,
            waits: None,
        }
    }

    /// Resets the timeout if `written` is ready, and fails the write once the timeout has passed.
    fn judge<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let timeout = self.timeout;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(waits.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(shut, context)
    }
}
