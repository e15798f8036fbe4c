//! Questions that somebody at the terminal answers with yes or no.

use std::io::{self, BufRead};

use crate::error::{Failure, FailureKind};

/// Reads the answer to a question that was just asked; anything but a plain yes is a no.
///
/// # Errors
/// A [`Failure`] if it cannot be read.
pub(super) fn is_confirmed() -> Result<bool, Failure> {
    Ok(matches!(answer()?.trim(), "y" | "Y" | "yes"))
}

/// The same where Enter means yes. Whoever is gone has not agreed.
///
/// # Errors
/// A [`Failure`] if it cannot be read.
pub(super) fn is_agreed() -> Result<bool, Failure> {
    let answer = answer()?;
    Ok(!answer.is_empty() && matches!(answer.trim(), "" | "y" | "Y" | "yes"))
}

fn answer() -> Result<String, Failure> {
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("the answer cannot be read: {error}")))?;
    Ok(answer)
}
