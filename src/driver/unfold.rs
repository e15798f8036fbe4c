//! What a transcript has folded, from the log of the signals it was made of.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use crate::{agent::transcript::unfolded::Unfolding, store::signal_log};

pub use crate::agent::transcript::unfolded::Unfold;

/// Renders what is folded in the iteration whose signal log is at `path`, as ANSI text for a terminal of so many columns; none if
/// nothing is.
///
/// # Errors
/// Whatever reading says.
pub fn unfolded(path: &Path, what: Unfold, project: &Path, columns: u16) -> io::Result<Option<Vec<u8>>> {
    let mut unfolding = Unfolding::new(what, project, columns);
    match signal_log::read(path, |signal| unfolding.take(signal)) {
        // Without a signal there is no log.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result?,
    }
    Ok(unfolding.finish())
}
