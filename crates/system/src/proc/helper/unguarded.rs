//! Helpers on systems without sub-reapers: a guard could not know which processes helpers leave behind, so none is
//! used.

use std::{fs::File, io, os::fd::BorrowedFd, sync::Arc};

use super::order::{HelperProcess, HelperSpec};
use crate::proc::leftovers::StartedChildren;

/// The exit code of `ralph __guard --helpers`.
const NO_GUARD: u8 = 125;

/// The state that all helpers of this process share.
#[derive(Debug)]
pub(in crate::proc) struct Helpers {
    children: Arc<StartedChildren>,
}

impl Helpers {
    /// Makes helpers that are children of this process.
    pub(in crate::proc) fn without_guard(children: Arc<StartedChildren>) -> Arc<Self> {
        Arc::new(Self { children })
    }

    /// As `without_guard`: this system has no guards of helpers.
    pub(in crate::proc) fn below_a_guard(children: Arc<StartedChildren>) -> Arc<Self> {
        Self::without_guard(children)
    }

    pub(super) fn children(&self) -> &Arc<StartedChildren> {
        &self.children
    }

    /// Does nothing: no guard could keep the file.
    pub(super) fn keep(&self, _file: &Arc<File>) {}

    /// Returns `None`: no guard could take the helper.
    pub(super) fn submit(
        self: &Arc<Self>,
        _spec: &HelperSpec,
        _files: &[BorrowedFd<'_>],
    ) -> io::Result<Option<Box<dyn HelperProcess>>> {
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
