//! Writes the signals of a session task to the display and then to the channel, on a separate thread.
//!
//! Display and channel may block, and the loop that empties the channel runs on the same thread as the session's task.
//! The task therefore only passes batches on, and waits for room without blocking its thread.

use std::thread;

use ralph_core::event::{AgentSignal, Problem, ProblemKind};
use tokio::sync::mpsc;

use crate::{Display, transcript::Transcript};

/// Most batches of signals in the queue to the thread. If it is full, the session's task waits, and with it the
/// server's stream.
const BATCHES: usize = 64;

/// The session's end of the queue. If it is dropped before an [`AgentSignal::Ended`], the thread sends one.
pub(super) struct SignalWriter {
    batches: mpsc::Sender<Vec<AgentSignal>>,
}

impl SignalWriter {
    /// Starts the thread, which renders `transcript`.
    ///
    /// # Errors
    /// The thread cannot be started; display and channel are dropped then.
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

    /// Writes signals in order. Cancel safe: either all of them are written, or none.
    pub(super) async fn write(&self, signals: Vec<AgentSignal>) {
        if !signals.is_empty() {
            _ = self.batches.send(signals).await; // the thread ended with its receiver
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
    /// The task or this thread has panicked: the loop still needs an end of the session.
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
