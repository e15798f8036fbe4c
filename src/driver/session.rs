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
/// A process tree that used less of a core than this between two looks does nothing: event loops tick.
const IDLE_CPU_SHARE: u32 = 100;

pub(super) struct Current {
    pub(super) iteration: u32,
    session: Box<dyn Session>,
    signals: mpsc::Receiver<AgentSignal>,
    seen: Activity,
    seen_ms: u64,
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
            seen_ms: now_ms,
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

    pub(super) fn steer(&self, text: &str) -> bool {
        self.session.steer(text).is_ok()
    }

    /// Looks at the session and tells since when it has neither written nor computed.
    pub(super) fn quiet_since_ms(&mut self, now_ms: u64) -> u64 {
        let activity = self.session.activity();
        let elapsed = Duration::from_millis(now_ms.saturating_sub(self.seen_ms));
        let cpu = activity.cpu.saturating_sub(self.seen.cpu);
        if activity.output_bytes != self.seen.output_bytes || cpu > elapsed / IDLE_CPU_SHARE {
            self.quiet_since_ms = now_ms;
        }
        self.seen = activity;
        self.seen_ms = now_ms;
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
