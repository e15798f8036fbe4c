//! The control socket of a running loop.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{mpsc, oneshot},
};

use crate::host::control::{Reply, Request};

/// A message of the user is far smaller; a longer request is not one of ours.
const REQUEST_CAP_BYTES: u64 = 1 << 20;

/// How long to leave connections alone when none can be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A request and where its reply goes.
pub(super) type Asked = (Request, oneshot::Sender<Reply>);

/// The socket; it is removed with this value.
#[derive(Debug)]
pub(super) struct Listener {
    path: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl Listener {
    /// Listens at `path` and hands every request to `asked`. The caller holds the project's lock, so a socket that is
    /// there already is a dead one.
    pub(super) fn open(path: &Path, asked: mpsc::Sender<Asked>) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        let task = tokio::spawn(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, asked.clone()));
                } else {
                    // Out of descriptors, most likely: that passes, and the connection waits.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        });
        Ok(Self {
            path: path.to_owned(),
            task,
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
        _ = std::fs::remove_file(&self.path); // a dead socket is refused by the kernel as well
    }
}

async fn serve(stream: UnixStream, asked: mpsc::Sender<Asked>) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(REQUEST_CAP_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let reply = match serde_json::from_slice(&line) {
            Ok(request) => answer(request, &asked).await,
            Err(error) => Reply::Refused {
                why: format!("not a request: {error}"),
            },
        };
        let mut line = serde_json::to_vec(&reply).expect("replies have no failing serialisers");
        line.push(b'\n');
        if writer.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn answer(request: Request, asked: &mpsc::Sender<Asked>) -> Reply {
    let (reply, replied) = oneshot::channel();
    let over = || Reply::Refused {
        why: "the run is over".to_owned(),
    };
    if asked.send((request, reply)).await.is_err() {
        return over();
    }
    replied.await.unwrap_or_else(|_| over())
}
