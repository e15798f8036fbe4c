//! The session that runs now, as the loop sees it.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;

use crate::{
    agent::{Activity, AgentAdapter, Display, Session, SessionRequest},
    event::AgentSignal,
    host::{control::Quiet, recording::Recording},
    proc::{Size, Stop},
};

use super::bus::Bus;

/// Signals under way to the loop; when full, the session's reader waits.
const SIGNALS: usize = 256;
/// A process tree that uses less of a core than this share does nothing: an agent that waits for its model for ever
/// uses about a hundredth, for its event loop alone.
const IDLE_CPU_SHARE: f64 = 0.03;
/// Time on the CPU is told in ticks of 10 ms; a few of them are no work, however short the time they fell into.
const IDLE_CPU_FLOOR: Duration = Duration::from_millis(50);

pub(super) struct Current {
    pub(super) iteration: u32,
    session: Box<dyn Session>,
    signals: mpsc::Receiver<AgentSignal>,
    /// What the session had done at `quiet_since_ms`, but for the little that an idle one does, too.
    seen: Activity,
    quiet_since_ms: u64,
    /// Since when it is quiet, and how many quarters of the idle limit were told of that.
    told: (u64, u64),
}

impl Current {
    pub(super) fn start(adapter: &Arc<dyn AgentAdapter>, request: SessionRequest, now_ms: u64) -> Self {
        let iteration = request.iteration;
        let (sender, signals) = mpsc::channel(SIGNALS);
        let session = adapter.start(request, sender);
        Self {
            iteration,
            session,
            signals,
            seen: Activity::default(),
            quiet_since_ms: now_ms,
            told: (now_ms, 0),
        }
    }

    /// Waits for the next signal. A session that goes away without its last word has ended all the same.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> AgentSignal {
        self.signals.recv().await.unwrap_or(AgentSignal::Ended {
            exit: None,
            output_bytes: self.seen.output_bytes,
        })
    }

    pub(super) fn stop(&self, at_once: bool) {
        self.session.stop(if at_once { Stop::AtOnce } else { Stop::InOrder });
    }

    pub(super) fn resize(&self, size: Size) {
        self.session.resize(size);
    }

    pub(super) fn type_bytes(&self, bytes: &[u8]) {
        self.session.type_bytes(bytes);
    }

    pub(super) fn steer(&self, text: &str) -> bool {
        self.session.steer(text).is_ok()
    }

    /// Looks at the session and tells since when it has neither written nor computed.
    pub(super) fn quiet_since_ms(&mut self, now_ms: u64) -> u64 {
        let activity = self.session.activity();
        let quiet = Duration::from_millis(now_ms.saturating_sub(self.quiet_since_ms));
        let idle_cpu = quiet.mul_f64(IDLE_CPU_SHARE).max(IDLE_CPU_FLOOR);
        if activity.output_bytes != self.seen.output_bytes || activity.cpu > self.seen.cpu + idle_cpu {
            self.seen = activity;
            self.quiet_since_ms = now_ms;
        }
        self.quiet_since_ms
    }

    /// Tells of a session that has done nothing for half of the idle limit.
    pub(super) fn quiet(&mut self, now_ms: u64, idle_ms: u64) -> Option<Quiet> {
        let since_ms = self.quiet_since_ms(now_ms);
        let is_long = now_ms.saturating_sub(since_ms) >= idle_ms / 2;
        is_long.then_some(Quiet {
            since_ms,
            until_ms: since_ms.saturating_add(idle_ms),
        })
    }

    /// The same after each quarter of the limit from the second on, once, as long as anything is left.
    pub(super) fn news_of_quiet(&mut self, now_ms: u64, idle_ms: u64) -> Option<Quiet> {
        let quiet = self.quiet(now_ms, idle_ms)?;
        let quarters = now_ms.saturating_sub(quiet.since_ms).saturating_mul(4) / idle_ms.max(1);
        let told = std::mem::replace(&mut self.told, (quiet.since_ms, quarters));
        (told < self.told && now_ms < quiet.until_ms).then_some(quiet)
    }
}

/// Terminal output goes to the recording first, then to whoever watches.
pub(super) struct Tee {
    pub(super) recording: Option<Recording>,
    pub(super) bus: Bus,
}

impl Display for Tee {
    fn show(&mut self, bytes: &[u8]) {
        if let Some(recording) = &mut self.recording {
            recording.output(bytes);
        }
        self.bus.show(bytes);
    }
}
