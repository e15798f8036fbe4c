//! The session that runs now, as the loop sees it.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;

use crate::{
    agent::{Activity, AgentAdapter, Display, Session, SessionRequest},
    event::AgentSignal,
    host::recording::Recording,
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
