//! The running session as the loop sees it: its signals, its activity, its recording.
//!
//! Stop 4 of the tour in ARCHITECTURE.md. Signals arrive through a bounded channel, so an agent that talks faster than
//! the loop reads has to wait; usage gets an estimated cost if the agent reports none, and is summed up on the way.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use ralph_agent::{Activity, AgentAdapter, Display, Session, SessionCommand, SessionRequest};
use ralph_core::event::{AgentSignal, CancelReason, Usage};
use ralph_state::store::{recording::TerminalRecording, signal_log::SignalLog};
use ralph_system::proc::{Size, StopSpeed};
use tokio::{sync::mpsc, time::Instant};

use super::{pricing::SessionPricing, usage_throttle::UsageThrottle};
use crate::hub::Hub;

/// Most signals queued for the loop; when full, the session's reader waits.
const SIGNALS: usize = 256;
/// Share of a core below which a process tree counts as idle: an agent that waits for its model uses about a hundredth,
/// for its event loop alone.
const IDLE_CPU_SHARE: f64 = 0.03;
/// Least CPU time that counts as work: it is counted in ticks of 10 ms, and a few of them are no work in any interval.
const IDLE_CPU_FLOOR: Duration = Duration::from_millis(50);

pub(super) struct CurrentSession {
    pub(super) iteration: u32,
    /// Whether the agent was told to ask before it uses tools.
    pub(super) is_told_to_ask: bool,
    session: Box<dyn Session>,
    signals: mpsc::Receiver<AgentSignal>,
    pricing: SessionPricing,
    usage_throttle: UsageThrottle,
    /// The signal that comes next, if it has already arrived.
    arrived: Option<AgentSignal>,
    pub(super) log: SignalLog,
    recording: SharedRecording,
    /// The session's activity at `quiet_since`; small increases, which an idle session has as well, are ignored.
    activity: Activity,
    /// By [`super::clock::RunClock::running_time`].
    quiet_since: Duration,
    /// Since when it is quiet, and how many quarters of the idle limit were announced.
    announced: (Duration, u64),
}

impl CurrentSession {
    pub(super) fn start(
        adapter: &Arc<dyn AgentAdapter>,
        request: SessionRequest,
        pricing: SessionPricing,
        log: SignalLog,
        recording: SharedRecording,
        running_time: Duration,
    ) -> Self {
        let iteration = request.iteration;
        let is_told_to_ask = !request.asks.is_empty();
        let (sender, signals) = mpsc::channel(SIGNALS);
        let session = adapter.start(request, sender);
        Self {
            iteration,
            is_told_to_ask,
            session,
            signals,
            pricing,
            usage_throttle: UsageThrottle::default(),
            arrived: None,
            log,
            recording,
            activity: Activity::default(),
            quiet_since: running_time,
            announced: (running_time, 0),
        }
    }

    /// Waits for the next signal. A session that goes away without reporting its end has ended all the same.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> AgentSignal {
        loop {
            if let Some(signal) = self.arrived.take() {
                return signal;
            }
            let received = tokio::select! {
                biased;
                received = self.signals.recv() => received,
                () = self.usage_throttle.passes() => {
                    match self.usage_throttle.pass(Instant::now()) {
                        Some(usage) => return AgentSignal::Usage { usage },
                        None => continue,
                    }
                }
            };
            let signal = received.unwrap_or(AgentSignal::Ended {
                exit: None,
                output_bytes: self.activity.output_bytes,
            });
            let signal = self.pricing.price(signal);
            if let AgentSignal::Usage { usage } = signal {
                if let Some(usage) = self.usage_throttle.take(usage, Instant::now()) {
                    return AgentSignal::Usage { usage };
                }
            } else if let Some(usage) = self.held_before(&signal) {
                self.arrived = Some(signal);
                return AgentSignal::Usage { usage };
            } else {
                return signal;
            }
        }
    }

    /// Returns the held usage if it has to be reported before `signal`.
    fn held_before(&mut self, signal: &AgentSignal) -> Option<Usage> {
        match signal {
            AgentSignal::TurnEnded { .. } | AgentSignal::Ended { .. } => self.usage_throttle.pass(Instant::now()),
            _ => None,
        }
    }

    /// Stops the session. `reason` is set if its turn is cut off.
    pub(super) fn stop(&self, reason: Option<CancelReason>, at_once: bool) {
        if let Some(reason) = reason {
            self.session.ends_for(reason);
        }
        self.session.stop(if at_once {
            StopSpeed::Immediate
        } else {
            StopSpeed::Graceful
        });
    }

    pub(super) fn has_written(&self) -> bool {
        self.session.activity().output_bytes > 0
    }

    pub(super) fn resize(&self, size: Size) {
        self.recording.with(|recording| recording.resize(size.cols, size.rows));
        self.session.resize(size);
    }

    /// Writes the buffered parts of its recording and its log, because a silent session would not.
    pub(super) fn write_out(&mut self) {
        self.recording.with(TerminalRecording::write_out);
        self.log.write_out();
    }

    pub(super) fn type_bytes(&self, bytes: &[u8]) {
        self.session.type_bytes(bytes);
    }

    /// Sends a command to the agent. Returns whether it was sent; its result is a signal.
    pub(super) fn send(&self, command: SessionCommand) -> bool {
        self.session.send(command).is_ok()
    }

    /// Restarts the idle time: until now the session waited for an answer and was not idle.
    pub(super) fn begin_to_work(&mut self, running_time: Duration) {
        self.quiet_since = running_time;
    }

    /// Measures the session's activity, and returns for how long it has neither written nor computed.
    pub(super) fn quiet_for(&mut self, running_time: Duration) -> Duration {
        let activity = self.session.activity();
        let idle_cpu = running_time
            .saturating_sub(self.quiet_since)
            .mul_f64(IDLE_CPU_SHARE)
            .max(IDLE_CPU_FLOOR);
        if activity.output_bytes != self.activity.output_bytes || activity.cpu > self.activity.cpu + idle_cpu {
            self.activity = activity;
            self.quiet_since = running_time;
        }
        running_time.saturating_sub(self.quiet_since)
    }

    /// Returns for how long a session has done nothing, if that is half of the idle limit or more.
    pub(super) fn long_quiet(&mut self, running_time: Duration, idle: Duration) -> Option<Duration> {
        let quiet = self.quiet_for(running_time);
        (quiet >= idle / 2).then_some(quiet)
    }

    /// Whether the session is active again after its idleness was announced; true once.
    pub(super) fn is_active_again(&mut self, running_time: Duration) -> bool {
        self.quiet_for(running_time);
        let (since, quarters) = self.announced;
        let is_active = quarters > 0 && since < self.quiet_since;
        if is_active {
            self.announced = (self.quiet_since, 0);
        }
        is_active
    }

    /// As [`CurrentSession::long_quiet`], but once for each quarter of the limit from the second on, until the limit is
    /// reached.
    pub(super) fn quiet_to_announce(&mut self, running_time: Duration, idle: Duration) -> Option<Duration> {
        let quiet = self.long_quiet(running_time, idle)?;
        let quarters = quiet.as_millis().saturating_mul(4) / idle.as_millis().max(1);
        let quarters = u64::try_from(quarters).unwrap_or(u64::MAX);
        let before = std::mem::replace(&mut self.announced, (self.quiet_since, quarters));
        (before < self.announced && quiet < idle).then_some(quiet)
    }
}

/// The recording of a session; `None` if it could not be created. Its output comes from a reader's thread, the sizes of
/// its terminal from the loop.
#[derive(Clone)]
pub(super) struct SharedRecording(Arc<Mutex<Option<TerminalRecording>>>);

impl SharedRecording {
    pub(super) fn new(recording: Option<TerminalRecording>) -> Self {
        Self(Arc::new(Mutex::new(recording)))
    }

    fn with(&self, write: impl FnOnce(&mut TerminalRecording)) {
        // No holder of the lock panics; a player would skip an incomplete event.
        let mut recording = self.0.lock();
        recording.as_mut().map(write);
    }
}

/// Passes terminal output to the recording first, then to the hub.
pub(super) struct OutputTee {
    pub(super) recording: SharedRecording,
    pub(super) hub: Hub,
}

impl Display for OutputTee {
    fn show(&mut self, bytes: &[u8]) {
        self.recording.with(|recording| recording.output(bytes));
        self.hub.show(bytes);
    }
}
