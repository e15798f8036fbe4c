//! Yes-or-no questions to the user at the terminal.

use std::io::{self, BufRead};

use ralph_text::console::complain;

use crate::error::{Failure, FailureKind};

/// Reads the answer to a question that was just asked. Only `y` and `yes` count as yes.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read.
pub(super) fn is_confirmed() -> Result<bool, Failure> {
    Ok(matches!(answer()?.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Reads the answer to a question that was just asked and whose default is yes. Asks again after any other word. The
/// end of the input counts as no.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read.
pub(super) fn is_agreed() -> Result<bool, Failure> {
    loop {
        let answer = answer()?;
        match answer.trim().to_lowercase().as_str() {
            "" => return Ok(!answer.is_empty()),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => complain("type y or n [Y/n]"),
        }
    }
}

fn answer() -> Result<String, Failure> {
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("the answer cannot be read: {error}")))?;
    Ok(answer)
}
