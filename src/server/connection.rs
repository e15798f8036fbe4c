//! One connection of a client, within bounds.

use std::{pin::pin, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
};

use crate::control::Role;

use super::served::Stage;

/// All headers of a request together.
const HEADERS_CAP_BYTES: usize = 32 * 1024;
/// How long a client may take to say what it wants.
const HEADERS_PATIENCE: Duration = Duration::from_secs(10);

/// Answers what comes over `stream` on behalf of `role`, until the client has enough, or the run is over and the client has
/// its last answer.
pub(super) async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    role: Role,
    routes: Router,
    mut stages: watch::Receiver<Stage>,
) {
    let service = TowerToHyperService::new(routes.layer(Extension(role)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_PATIENCE)
        .max_buf_size(HEADERS_CAP_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stages.wait_for(|stage| *stage >= Stage::Closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    _ = connection.await; // a client that has gone needs nothing
}
