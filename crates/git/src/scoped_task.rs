//! A task on a scoped thread.

use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Work on a thread of its own; if no thread can be started, it is done when its result is asked for.
pub(super) struct ScopedTask<'scope, 'env, T> {
    running: Option<ScopedJoinHandle<'scope, T>>,
    work: &'env (dyn Fn() -> T + Sync),
}

impl<'scope, 'env, T: Send + 'scope> ScopedTask<'scope, 'env, T> {
    pub(super) fn start(threads: &'scope Scope<'scope, 'env>, work: &'env (dyn Fn() -> T + Sync)) -> Self {
        let running = Builder::new().spawn_scoped(threads, work).ok();
        Self { running, work }
    }

    pub(super) fn result(self) -> T {
        match self.running {
            Some(running) => running.join().expect("a scoped task does not panic"),
            None => (self.work)(),
        }
    }
}
