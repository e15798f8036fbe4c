//! Work in the background of the screen.

use std::{sync::mpsc, thread};

/// Runs `work` on a new thread. If no thread can be started, runs it here, and the screen waits.
pub(super) fn spawn_or_run<Work: FnOnce() + Send + 'static>(work: Work) {
    let (sender, works) = mpsc::channel::<Work>();
    let there = thread::Builder::new().spawn(move || {
        if let Ok(work) = works.recv() {
            work();
        }
    });
    match there {
        Ok(_) => _ = sender.send(work), // the thread waits for the work
        Err(_) => work(),
    }
}
