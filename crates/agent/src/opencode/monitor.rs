//! Monitors a server's process by its output: whether it has ended, and its last words.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use ralph_system::proc::{ChildEnd, OutputSink};
use ralph_text::{KeptEscapes, PlainText, one_line};
use ralph_words::{exceeded_in_words, exit_in_words};
use tokio::sync::watch;

use crate::dialect::Tail;

/// Shared by the users of a server and the thread that reads its output.
#[derive(Debug)]
pub(super) struct ProcessMonitor {
    tail: Mutex<Tail>,
    /// How the process ended; `None` while it runs.
    end: watch::Sender<Option<String>>,
    /// Whether it has ended, for threads that block until then.
    ended: (Mutex<bool>, Condvar),
}

impl Default for ProcessMonitor {
    fn default() -> Self {
        Self {
            tail: Mutex::default(),
            end: watch::Sender::new(None),
            ended: (Mutex::new(false), Condvar::new()),
        }
    }
}

impl ProcessMonitor {
    /// Creates the receiver of the process's output.
    pub(super) fn output(self: &Arc<Self>) -> Box<dyn OutputSink> {
        Box::new(MonitorOutput {
            monitor: Arc::clone(self),
            plain: PlainText::new(KeptEscapes::Nothing),
        })
    }

    /// How the process ended, with its last words; `None` while any process of its group runs.
    pub(super) fn end(&self) -> Option<String> {
        self.end.borrow().clone()
    }

    /// Waits for the end of the process. Cancel safe.
    pub(super) async fn ended(&self) -> String {
        let mut end = self.end.subscribe();
        let end = end.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or_default()
    }

    /// Waits for the end of the process on this thread. Returns whether it ended within `patience`.
    pub(super) fn wait_for_end(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut ended = self.ended.0.lock();
        while !*ended {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return false;
            };
            self.ended.1.wait_for(&mut ended, left);
        }
        true
    }

    /// The last non-empty line of its output.
    pub(super) fn last_words(&self) -> String {
        let tail = self.tail.lock().text();
        let last = tail.lines().rfind(|line| !line.trim().is_empty());
        last.map(one_line).unwrap_or_default()
    }

    fn finish(&self, end: &ChildEnd) {
        let said = match self.last_words() {
            words if words.is_empty() => String::new(),
            words => format!("; its last words: {words}"),
        };
        let why = match end {
            ChildEnd::Exited(exit) => format!("it ended with {}{said}", exit_in_words(*exit)),
            ChildEnd::NotStarted { why, .. } => why.clone(),
            ChildEnd::Exceeded(exceeded) => exceeded_in_words(exceeded),
            ChildEnd::GuardLost => "its guard was killed, and the server with it".to_owned(),
        };
        self.end.send_replace(Some(why));
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
    }
}

struct MonitorOutput {
    monitor: Arc<ProcessMonitor>,
    plain: PlainText,
}

impl OutputSink for MonitorOutput {
    fn terminal(&mut self, bytes: &[u8]) {
        let mut tail = self.monitor.tail.lock();
        self.plain.feed(bytes, |line| tail.push(line));
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.terminal(bytes);
    }

    fn ended(&mut self, end: ChildEnd) {
        let monitor = Arc::clone(&self.monitor);
        {
            let mut tail = monitor.tail.lock();
            self.plain.finish(|line| tail.push(line));
        }
        monitor.finish(&end);
    }
}

impl Drop for MonitorOutput {
    /// A listener that is dropped without an end has panicked, or its thread has: threads that wait must not wait
    /// forever.
    fn drop(&mut self) {
        if self.monitor.end().is_none() {
            self.monitor.finish(&ChildEnd::GuardLost);
        }
    }
}
