//! Tells what a session does: shows it, then sends it, on a thread of its own.
//!
//! Display and channel may make whoever speaks wait, and the loop that empties the channel runs on the same thread as
//! the session's task. So the task only hands signals over, and waits without keeping anybody else from working.

use std::thread;

use tokio::sync::mpsc;

use crate::{
    agent::{Display, transcript::Transcript},
    event::{AgentSignal, Problem, ProblemKind},
};

/// Batches of signals under way to the thread; when full, the session's task waits, and with it the server's stream.
const BATCHES: usize = 64;

/// A session's task's end of it. Without a last [`AgentSignal::Ended`], the thread makes up for that.
pub(super) struct Voice {
    batches: mpsc::Sender<Vec<AgentSignal>>,
}

impl Voice {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give; display and channel are gone then.
    pub(super) fn start(display: Box<dyn Display>, out: mpsc::Sender<AgentSignal>) -> std::io::Result<Self> {
        let (batches, received) = mpsc::channel(BATCHES);
        let speaker = Speaker {
            display,
            out,
            transcript: Transcript::default(),
            ended: false,
        };
        thread::Builder::new()
            .name("ralph-voice".to_owned())
            .spawn(move || speaker.speak(received))?;
        Ok(Self { batches })
    }

    /// Tells signals, in order. Cancel safe: all of them are told, or none.
    pub(super) async fn tell(&self, signals: Vec<AgentSignal>) {
        if !signals.is_empty() {
            _ = self.batches.send(signals).await; // the thread is gone with whoever listened
        }
    }
}

struct Speaker {
    display: Box<dyn Display>,
    out: mpsc::Sender<AgentSignal>,
    transcript: Transcript,
    ended: bool,
}

impl Speaker {
    fn speak(mut self, mut received: mpsc::Receiver<Vec<AgentSignal>>) {
        while let Some(signals) = received.blocking_recv() {
            self.show(&signals);
            for signal in signals {
                self.ended |= matches!(signal, AgentSignal::Ended { .. });
                _ = self.out.blocking_send(signal); // nobody listens any more
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

impl Drop for Speaker {
    /// The task, or this thread, broke down: the session still has to end for who waits.
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let problem = Problem {
            kind: ProblemKind::Crashed,
            text: "ralph's side of this session broke down".to_owned(),
        };
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        };
        for signal in [AgentSignal::Problem { problem }, ended] {
            _ = self.out.blocking_send(signal); // nobody listens any more
        }
    }
}
