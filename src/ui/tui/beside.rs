//! Work beside the screen.

use std::{sync::mpsc, thread};

/// Does `work` in a thread of its own; here and now where no thread is to be had, while the screen waits.
pub(super) fn beside<Work: FnOnce() + Send + 'static>(work: Work) {
    let (sender, works) = mpsc::channel::<Work>();
    let there = thread::Builder::new().spawn(move || {
        if let Ok(work) = works.recv() {
            work();
        }
    });
    match there {
        Ok(_) => _ = sender.send(work), // it waits for that
        Err(_) => work(),
    }
}
