//! The control socket of a running loop.

use std::{
    convert::Infallible,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

use super::{Reply, Request, Role};

/// A message of the user is far smaller; a longer request is not one of ours.
const REQUEST_CAP_BYTES: u64 = 1 << 20;

/// How long to leave connections alone when none can be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A request, and where its reply goes.
#[derive(Debug)]
pub struct Asked {
    pub request: Request,
    pub role: Role,
    pub reply: oneshot::Sender<Reply>,
}

/// Tells who is at the other end of a connection.
pub type RoleOf = Arc<dyn Fn(&UnixStream) -> Role + Send + Sync>;

/// How long whoever asked may take to read the reply when the run is over.
const REPLY_PATIENCE: Duration = Duration::from_secs(1);

/// The socket; it is removed with this value.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    task: tokio::task::JoinHandle<()>,
    /// Nothing is sent: every request holds a clone until its reply is written, so `replied` ends with the last one.
    replying: Option<mpsc::Sender<Infallible>>,
    replied: mpsc::Receiver<Infallible>,
}

impl Listener {
    /// Listens at `path` and hands every request to `asked`. The caller holds the project's lock, so a socket that is
    /// there already is a dead one.
    pub fn open(path: &Path, asked: mpsc::Sender<Asked>, role_of: RoleOf) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        let (replying, replied) = mpsc::channel(1);
        let requests = replying.downgrade();
        let task = tokio::spawn(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    let role_of = Arc::clone(&role_of);
                    tokio::spawn(serve(stream, role_of, asked.clone(), requests.clone()));
                } else {
                    // Out of descriptors, most likely: that passes, and the connection waits.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        });
        Ok(Self {
            path: path.to_owned(),
            task,
            replying: Some(replying),
            replied,
        })
    }

    /// Takes no more requests, and waits until those that were taken have their replies: the last one is often the
    /// one that has ended the run.
    pub async fn close(mut self) {
        self.task.abort();
        self.replying = None;
        // Whoever does not read has had its chance.
        _ = tokio::time::timeout(REPLY_PATIENCE, self.replied.recv()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
        _ = std::fs::remove_file(&self.path); // a dead socket is refused by the kernel as well
    }
}

async fn serve(
    stream: UnixStream,
    role_of: RoleOf,
    asked: mpsc::Sender<Asked>,
    requests: mpsc::WeakSender<Infallible>,
) {
    let Ok((stream, role)) = spawn_blocking(move || {
        let role = role_of(&stream);
        (stream, role)
    })
    .await
    else {
        return;
    };
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(REQUEST_CAP_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Some(replying) = requests.upgrade() else { return };
        let reply = match serde_json::from_slice(&line) {
            Ok(request) => answer(request, role, &asked).await,
            Err(error) => Reply::Refused {
                why: format!("not a request: {error}"),
            },
        };
        let mut line = serde_json::to_vec(&reply).expect("replies have no failing serialisers");
        line.push(b'\n');
        if writer.write_all(&line).await.is_err() {
            return;
        }
        drop(replying);
    }
}

/// Waits for the reply to `request` of the loop that takes what is `asked`.
pub async fn answer(request: Request, role: Role, asked: &mpsc::Sender<Asked>) -> Reply {
    let (reply, replied) = oneshot::channel();
    let over = || Reply::Refused {
        why: "the run is over".to_owned(),
    };
    if asked.send(Asked { request, role, reply }).await.is_err() {
        return over();
    }
    replied.await.unwrap_or_else(|_| over())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    const STATUS: &[u8] = b"{\"type\":\"status\"}\n";

    async fn reply(stream: UnixStream) -> Reply {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[tokio::test]
    async fn a_reply_that_was_given_arrives_though_the_run_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control.sock");
        let (asked_in, mut asked) = mpsc::channel(1);
        let listener = Listener::open(&path, asked_in, Arc::new(|_| Role::User)).unwrap();
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(STATUS).await.unwrap();
        let replier = asked.recv().await.unwrap().reply;
        let done = Reply::Done {
            text: "stops".to_owned(),
        };
        replier.send(done.clone()).unwrap();
        listener.close().await;
        // What was not written by now would never be: the runtime ends with the run.
        let mut written = [0; 256];
        let length = stream.into_std().unwrap().read(&mut written).unwrap();
        assert_eq!(serde_json::from_slice::<Reply>(&written[..length]).unwrap(), done);
    }

    #[tokio::test]
    async fn a_request_that_nobody_takes_any_more_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("control.sock");
        let (asked_in, asked) = mpsc::channel(1);
        let _listener = Listener::open(&path, asked_in, Arc::new(|_| Role::User)).unwrap();
        drop(asked);
        let mut stream = UnixStream::connect(&path).await.unwrap();
        stream.write_all(STATUS).await.unwrap();
        assert!(matches!(reply(stream).await, Reply::Refused { .. }));
    }
}
