//! The loop's handle of a running session.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ralph_core::event::{AskId, CancelReason, Finding, PermissionAnswer, Problem, ProblemKind, SteeringId};
use ralph_system::proc::{Size, StopSpeed};
use tokio::sync::{mpsc, watch};

use crate::{Activity, NotLive, Session, SessionCommand, protocol::PENDING_CAP};

use super::server::ManagedServer;

/// Most messages on their way to a session; more than a user can write.
const STEERING: usize = 32;
/// The share of a core that counts as idle. A server that waits for its model, or for nothing, uses up to half of it.
const IDLE_SHARE: f64 = 0.1;

/// A message for the running turn.
#[derive(Debug)]
pub(super) struct SteeringMessage {
    pub(super) id: SteeringId,
    pub(super) text: String,
}

/// Receives the decisions on the agent's requests.
pub(super) type PermissionAnswers = mpsc::Receiver<(AskId, PermissionAnswer)>;

/// State shared by a session's handle and its task.
#[derive(Debug)]
pub(super) struct SharedSession {
    /// Bytes of events about the session.
    output: AtomicU64,
    /// Signs of life that are not output: polls of a starting server, which has its own time limit, and heartbeats
    /// while a tool runs on a server whose processes ralph cannot see.
    beats: AtomicU64,
    using_a_tool: AtomicBool,
    finished: AtomicBool,
    managed: Mutex<Option<ManagedServerUse>>,
    steering: mpsc::Sender<SteeringMessage>,
    answers: mpsc::Sender<(AskId, PermissionAnswer)>,
    /// Whether messages are accepted.
    live: Mutex<bool>,
    /// The reason for which ralph ends the session.
    ended_for: OnceLock<CancelReason>,
}

impl SharedSession {
    /// Creates the state, and the receivers of messages and answers for the running turn.
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<SteeringMessage>, PermissionAnswers) {
        let (steering, messages) = mpsc::channel(STEERING);
        // One place for each request that may be pending.
        let (answers, received) = mpsc::channel(PENDING_CAP);
        let shared = Self {
            output: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            using_a_tool: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            managed: Mutex::new(None),
            steering,
            answers,
            live: Mutex::new(false),
            ended_for: OnceLock::new(),
        };
        (Arc::new(shared), messages, received)
    }

    /// Records that the session waits for this process to answer.
    pub(super) fn starts(&self, managed: &Arc<ManagedServer>) {
        let mut used = self.managed.lock();
        if used.is_none() {
            *used = Some(ManagedServerUse::new(Arc::clone(managed)));
        }
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn add_output(&self, bytes: usize) {
        self.output.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn output_bytes(&self) -> u64 {
        self.output.load(Ordering::Relaxed)
    }

    pub(super) fn set_using_a_tool(&self, using: bool) {
        self.using_a_tool.store(using, Ordering::Relaxed);
    }

    pub(super) fn beat(&self) {
        if self.using_a_tool.load(Ordering::Relaxed) && self.managed.lock().is_none() {
            self.beats.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn open_steering(&self) {
        *self.live.lock() = true;
    }

    /// Stops accepting messages. Messages accepted before are in the channel when this returns.
    pub(super) fn close_steering(&self) {
        *self.live.lock() = false;
    }

    /// The problem of a session that ralph itself ends.
    pub(super) fn end_by_ralph(&self) -> Option<Problem> {
        let reason = *self.ended_for.get()?;
        let finding = Finding::EndedByRalph { reason };
        Some(Problem::found(ProblemKind::Crashed, finding))
    }

    pub(super) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    fn steer(&self, message: SteeringMessage) -> Result<(), NotLive> {
        let live = self.live.lock();
        match *live && self.steering.try_send(message).is_ok() {
            true => Ok(()),
            false => Err(NotLive),
        }
    }
}

/// The handle of a session. Dropping it before the session has ended aborts the session at once.
pub(super) struct ServerSession {
    shared: Arc<SharedSession>,
    stop: watch::Sender<Option<StopSpeed>>,
}

impl ServerSession {
    pub(super) fn new(shared: Arc<SharedSession>, stop: watch::Sender<Option<StopSpeed>>) -> Self {
        Self { shared, stop }
    }
}

impl Session for ServerSession {
    fn stop(&self, stop: StopSpeed) {
        self.stop.send_if_modified(|asked| {
            let faster = *asked != Some(StopSpeed::Immediate) && *asked != Some(stop);
            if faster {
                *asked = Some(stop);
            }
            faster
        });
    }

    fn ends_for(&self, reason: CancelReason) {
        // The first reason counts, even if the session is then stopped faster.
        _ = self.shared.ended_for.set(reason);
    }

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn send(&self, command: SessionCommand) -> Result<(), NotLive> {
        match command {
            SessionCommand::Steer { id, text } => self.shared.steer(SteeringMessage { id, text }),
            SessionCommand::Answer { id, answer } => self.shared.answers.try_send((id, answer)).map_err(|_| NotLive),
        }
    }

    /// Events of the session count as output, heartbeats do not. The processes of a server that ralph started are
    /// visible: a silent build counts as work by its CPU time. On other servers a running tool counts as work as long
    /// as heartbeats arrive; only the iteration's time limits it.
    fn activity(&self) -> Activity {
        let used = self.shared.managed.lock().as_mut().map(ManagedServerUse::work);
        Activity {
            output_bytes: self.shared.output_bytes() + self.shared.beats.load(Ordering::Relaxed),
            cpu: used.unwrap_or_default(),
        }
    }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        if !self.shared.finished.load(Ordering::Relaxed) {
            self.stop(StopSpeed::Immediate);
        }
    }
}

/// A process that ralph started, and its work since the session began.
#[derive(Debug)]
struct ManagedServerUse {
    managed: Arc<ManagedServer>,
    work: WorkMeter,
}

impl ManagedServerUse {
    fn new(managed: Arc<ManagedServer>) -> Self {
        let work = WorkMeter::new(managed.child.activity().cpu, Instant::now());
        Self { managed, work }
    }

    fn work(&mut self) -> Duration {
        self.work.take(self.managed.child.activity().cpu, Instant::now())
    }
}

/// Counts CPU time beyond that of a waiting server.
#[derive(Debug)]
struct WorkMeter {
    last: (Duration, Instant),
    work: Duration,
}

impl WorkMeter {
    fn new(cpu: Duration, now: Instant) -> Self {
        Self {
            last: (cpu, now),
            work: Duration::ZERO,
        }
    }

    fn take(&mut self, cpu: Duration, now: Instant) -> Duration {
        let (before, at) = std::mem::replace(&mut self.last, (cpu, now));
        let idle = now.saturating_duration_since(at).mul_f64(IDLE_SHARE);
        self.work += cpu.saturating_sub(before).saturating_sub(idle);
        self.work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_waits_does_no_work_and_a_build_in_it_does() {
        let start = Instant::now();
        let seconds = |seconds: u64| start + Duration::from_secs(seconds);
        let ms = Duration::from_millis;
        let mut meter = WorkMeter::new(ms(9_000), seconds(0));
        assert_eq!(meter.take(ms(9_450), seconds(10)), ms(0));
        assert_eq!(meter.take(ms(12_450), seconds(20)), ms(2_000));
        assert_eq!(meter.take(ms(12_500), seconds(30)), ms(2_000), "it never falls");
    }

    fn message(text: &str) -> SteeringMessage {
        SteeringMessage {
            id: SteeringId(1),
            text: text.to_owned(),
        }
    }

    #[test]
    fn messages_are_taken_only_while_a_turn_runs() {
        let (shared, mut received, _answers) = SharedSession::new();
        assert_eq!(shared.steer(message("early")), Err(NotLive));
        shared.open_steering();
        assert_eq!(shared.steer(message("now")), Ok(()));
        shared.close_steering();
        assert_eq!(shared.steer(message("late")), Err(NotLive));
        assert_eq!(received.try_recv().map(|message| message.text), Ok("now".to_owned()));
        assert!(received.try_recv().is_err());
    }

    #[test]
    fn stopping_gets_faster_and_never_slower() {
        let (stop, seen) = watch::channel(None);
        let session = ServerSession::new(SharedSession::new().0, stop);
        for (asked, then) in [
            (StopSpeed::Graceful, StopSpeed::Graceful),
            (StopSpeed::Immediate, StopSpeed::Immediate),
            (StopSpeed::Graceful, StopSpeed::Immediate),
        ] {
            session.stop(asked);
            assert_eq!(*seen.borrow(), Some(then));
        }
    }
}
