//! Work beside the screen.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

/// Does `work` in a thread of its own; here and now where no thread is to be had, while the screen waits.
pub(super) fn beside(work: impl FnOnce() + Send + 'static) {
    let work: Box<dyn FnOnce() + Send> = Box::new(work);
    let here = Arc::new(Mutex::new(Some(work)));
    let there = Arc::clone(&here);
    let run = |work: &Mutex<Option<Box<dyn FnOnce() + Send>>>| {
        let work = mem::take(&mut *work.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(work) = work {
            work();
        }
    };
    if thread::Builder::new().spawn(move || run(&there)).is_err() {
        run(&here);
    }
}
