//! The socket of a run that is on a host: each connection is passed on to the run's own one there.
//!
//! The socket is where that of a run on this machine would be, so steering, pausing and attaching need to know nothing of
//! hosts.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ralph_state::{control::is_listened_to, store::paths::ProjectPaths};
use ralph_system::proc::helper::PipedHelper;

use super::{
    super::super::node::{NodeJob, NodeReply, NodeRequest},
    transport::{CARRYING, NodeTransport},
};

/// The time that a client has to send something. A client that only tries whether anybody listens sends nothing.
const FIRST_WORDS: Duration = Duration::from_secs(5);
/// Interval between looks whether the job is over.
const LOOK: Duration = Duration::from_millis(100);

/// A socket on this machine; it is removed when this is dropped.
pub(super) struct Tunnel {
    socket: PathBuf,
    over: Arc<AtomicBool>,
}

impl Tunnel {
    /// Listens in the place of the run of `state`. `None` if something else does, or if nothing can.
    pub(super) fn open(state: &ProjectPaths, transport: &NodeTransport, host: &str, job: &NodeJob) -> Option<Tunnel> {
        let socket = state.socket();
        state.make_socket_dir().ok()?;
        if is_listened_to(&socket) {
            return None;
        }
        _ = fs::remove_file(&socket); // missing, or left by a process that is gone
        let listener = UnixListener::bind(&socket).ok()?;
        listener.set_nonblocking(true).ok()?;
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, transport, host, job) = (Arc::clone(&over), transport.clone(), host.to_owned(), job.clone());
        let listen = move || {
            while !is_over.load(Ordering::Acquire) {
                match listener.accept() {
                    Ok((client, _)) => {
                        let (transport, host, job) = (transport.clone(), host.clone(), job.clone());
                        let pass = move || _ = pass_on(client, &transport, &host, job); // the client sees the end
                        // Without a thread the client is disconnected.
                        _ = thread::Builder::new().name("tunnel".to_owned()).spawn(pass);
                    }
                    Err(_) => _ = poll(&mut [PollFd::new(listener.as_fd(), PollFlags::POLLIN)], timeout(LOOK)),
                }
            }
        };
        thread::Builder::new().name("tunnel".to_owned()).spawn(listen).ok()?;
        Some(Tunnel { socket, over })
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        _ = fs::remove_file(&self.socket); // it may be removed with the state
    }
}

fn timeout(patience: Duration) -> PollTimeout {
    PollTimeout::try_from(patience.as_millis()).unwrap_or(PollTimeout::MAX)
}

fn pass_on(mut client: UnixStream, transport: &NodeTransport, host: &str, job: NodeJob) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(FIRST_WORDS))?;
    let mut buffer = vec![0; 64 << 10];
    let first = client.read(&mut buffer)?;
    if first == 0 {
        return Ok(());
    }
    let opened = transport.open(host, &NodeRequest::Connect { job });
    let mut conversation = opened.map_err(|failure| io::Error::other(failure.to_string()))?;
    match conversation.reply(CARRYING) {
        Ok(NodeReply::Done) => {}
        Ok(_) | Err(_) => return Ok(()),
    }
    let (received, mut helper) = conversation.into_stream();
    helper.write_all(&buffer[..first], CARRYING)?;
    client.write_all(&received)?;
    splice(&mut client, &mut helper, &mut buffer)
}

/// Passes bytes on in both directions until one side ends.
fn splice(client: &mut UnixStream, helper: &mut PipedHelper, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        let mut watched = [client.as_fd(), helper.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        poll(&mut watched, PollTimeout::NONE)?;
        let [from_client, from_run] = watched.map(|fd| fd.any().unwrap_or(false));
        if from_client {
            let length = client.read(buffer)?;
            if length == 0 {
                return Ok(());
            }
            helper.write_all(&buffer[..length], CARRYING)?;
        }
        if from_run {
            let length = helper.read(buffer, CARRYING)?;
            if length == 0 {
                return Ok(());
            }
            client.write_all(&buffer[..length])?;
        }
    }
}
