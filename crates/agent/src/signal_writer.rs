//! Writes the signals of a session that is a task: to the display, then to the channel, on a thread of its own.
//!
//! Display and channel may block, and the loop that empties the channel runs on the same thread as the session's task. So
//! the task only hands batches over, and waits for room without blocking its thread.

use std::thread;

use ralph_core::event::{AgentSignal, Problem, ProblemKind};
use tokio::sync::mpsc;

use crate::{Display, transcript::Transcript};

/// Batches of signals under way to the thread; when full, the session's task waits, and with it the server's stream.
const BATCHES: usize = 64;

/// The session's end of the writer. If it is dropped without a last [`AgentSignal::Ended`], the thread sends one.
pub(super) struct SignalWriter {
    batches: mpsc::Sender<Vec<AgentSignal>>,
}

impl SignalWriter {
    /// Starts the thread, which shows `transcript`.
    ///
    /// # Errors
    /// The system has no thread to give; display and channel are gone then.
    pub(super) fn start(
        transcript: Transcript,
        display: Box<dyn Display>,
        out: mpsc::Sender<AgentSignal>,
    ) -> std::io::Result<Self> {
        let (batches, received) = mpsc::channel(BATCHES);
        let writer = WriterThread {
            display,
            out,
            transcript,
            ended: false,
        };
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || writer.run(received))?;
        Ok(Self { batches })
    }

    /// Writes signals, in order. Cancel safe: all of them are written, or none.
    pub(super) async fn write(&self, signals: Vec<AgentSignal>) {
        if !signals.is_empty() {
            _ = self.batches.send(signals).await; // the thread ended with its listener
        }
    }
}

struct WriterThread {
    display: Box<dyn Display>,
    out: mpsc::Sender<AgentSignal>,
    transcript: Transcript,
    ended: bool,
}

impl WriterThread {
    fn run(mut self, mut received: mpsc::Receiver<Vec<AgentSignal>>) {
        while let Some(signals) = received.blocking_recv() {
            self.show(&signals);
            for signal in signals.into_iter().filter(|signal| !signal.is_live_text()) {
                self.ended |= matches!(signal, AgentSignal::Ended { .. });
                _ = self.out.blocking_send(signal); // the loop has ended
            }
        }
    }

    fn show(&mut self, signals: &[AgentSignal]) {
        let mut shown = Vec::new();
        for signal in signals {
            self.transcript.render(signal, &mut shown);
        }
        if !shown.is_empty() {
            self.display.show(&shown);
        }
    }
}

impl Drop for WriterThread {
    /// The task, or this thread, panicked: the session still has to end for the loop.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let problem = Problem::said(ProblemKind::Crashed, "ralph's side of this session broke down");
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        };
        for signal in [AgentSignal::Problem { problem }, ended] {
            _ = self.out.blocking_send(signal); // the loop has ended
        }
    }
}
