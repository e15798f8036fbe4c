//! Where there are no sub-reapers there is no guard for helpers: it could not know what they leave behind.

use std::{fs::File, io, os::fd::BorrowedFd, sync::Arc};

use super::order::{Order, Process};
use crate::proc::leftovers::Children;

/// What `ralph __guard --helpers` exits with.
const NO_GUARD: u8 = 125;

/// What the helpers of this process share.
#[derive(Debug)]
pub(in crate::proc) struct Helpers {
    children: Arc<Children>,
}

impl Helpers {
    /// Helpers that are children of this process.
    pub(in crate::proc) fn without_guard(children: Arc<Children>) -> Arc<Self> {
        Arc::new(Self { children })
    }

    /// The same.
    pub(in crate::proc) fn below_a_guard(children: Arc<Children>) -> Arc<Self> {
        Self::without_guard(children)
    }

    pub(super) fn children(&self) -> &Arc<Children> {
        &self.children
    }

    /// Has no guard that could keep it.
    pub(super) fn keep(&self, _file: &Arc<File>) {}

    /// Has no guard to give the order to.
    pub(super) fn submit(
        self: &Arc<Self>,
        _order: &Order,
        _files: &[BorrowedFd<'_>],
    ) -> io::Result<Option<Box<dyn Process>>> {
        Ok(None)
    }

    /// Does nothing.
    pub(in crate::proc) fn close(&self) {}
}

/// Does nothing.
#[must_use]
pub fn guard() -> u8 {
    NO_GUARD
}
