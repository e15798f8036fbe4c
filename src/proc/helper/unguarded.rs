//! Where there are no sub-reapers there is no guard for helpers: it could not know what they leave behind.

use std::{io, os::fd::OwnedFd};

use super::run::{Order, Process};

/// What `ralph __guard --helpers` exits with.
const NO_GUARD: u8 = 125;

/// Does nothing.
pub fn allow_guard() {}

/// Does nothing.
#[must_use]
pub fn guard() -> u8 {
    NO_GUARD
}

/// Has no guard to give the order to.
pub(super) fn submit(_order: &Order, _stdio: &[OwnedFd; 3]) -> io::Result<Option<Box<dyn Process>>> {
    Ok(None)
}

/// Does nothing.
pub(in crate::proc) fn close() {}
