//! Questions to the user at the terminal, answered on the line of the question.

use std::io::{self, BufRead};

use ralph_text::console::{complain, prompt};

use crate::error::{Failure, FailureKind};

/// Asks a question whose default is no. Only `y` and `yes` count as yes.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read.
pub(super) fn is_confirmed(question: &str) -> Result<bool, Failure> {
    let answer = answer(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Asks a question whose default is yes. Asks again after any other word. The end of the input counts as no.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read.
pub(super) fn is_agreed(question: &str) -> Result<bool, Failure> {
    let mut asked = format!("{question} [Y/n] ");
    loop {
        let answer = answer(&asked)?;
        match answer.trim().to_lowercase().as_str() {
            "" => return Ok(!answer.is_empty()),
            "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => "type y or n [Y/n] ".clone_into(&mut asked),
        }
    }
}

/// Asks a question and returns the answer with its line end. Empty at the end of the input.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read.
pub(super) fn answer(question: &str) -> Result<String, Failure> {
    prompt(question);
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("the answer cannot be read: {error}")))?;
    if answer.is_empty() {
        complain(""); // the end of the input ends no line
    }
    Ok(answer)
}
