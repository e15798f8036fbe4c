//! Texts for a screen on request: folded parts of a transcript, from the signal log it was made of; prompts; the output
//! of background tasks.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use ralph_agent::transcript::unfolded::Unfolding;
use ralph_state::store::{
    signal_log::{self, Unfold},
    task_output,
};
use ralph_system::files::{self, ReadError};
use ralph_text::{KeptEscapes, PlainText};

/// Renders the folded part `what` of the iteration with the signal log at `path`, as ANSI text for a terminal of
/// `columns` columns; `None` if there is no such part.
///
/// # Errors
/// The error of reading.
pub(crate) fn unfolded(path: &Path, what: Unfold, project: &Path, columns: u16) -> io::Result<Option<Vec<u8>>> {
    let mut unfolding = Unfolding::new(what, project, columns);
    match signal_log::read(path, |signal| unfolding.take(signal)) {
        // Without a signal there is no log.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        result => result?,
    }
    Ok(unfolding.finish())
}

/// Most bytes of a prompt, which contains the user's plan and messages.
const PROMPT_CAP_BYTES: u64 = 16 << 20;
/// Most bytes of a task's output; the end is kept.
const OUTPUT_BYTES: u64 = 1 << 20;

/// Renders the prompt at `path` for a terminal.
///
/// # Errors
/// As [`files::read_text`].
pub(crate) fn prompt_text(path: &Path) -> Result<Vec<u8>, ReadError> {
    let text = files::read_text(path, PROMPT_CAP_BYTES)?;
    Ok(lines(text.as_bytes(), KeptEscapes::Nothing))
}

/// Renders the end of a background task's output in `dir` for a terminal; `None` if it is empty.
///
/// # Errors
/// The error of reading.
pub(crate) fn task_text(dir: &Path) -> io::Result<Option<Vec<u8>>> {
    let output = task_output::read_tail(dir, OUTPUT_BYTES)?;
    Ok((!output.bytes.is_empty()).then(|| lines(&output.bytes, KeptEscapes::Colour)))
}

/// Returns the lines of a foreign text, without control sequences that do more than show text.
fn lines(bytes: &[u8], keep: KeptEscapes) -> Vec<u8> {
    let (mut plain, mut shown) = (PlainText::new(keep), Vec::new());
    let mut take = |line: &str| {
        shown.extend_from_slice(line.as_bytes());
        shown.extend_from_slice(b"\r\n");
    };
    plain.feed(bytes, &mut take);
    plain.finish(&mut take);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_and_an_output_are_lines_that_only_show_text() {
        let dir = tempfile::tempdir().unwrap();
        let prompt = dir.path().join("0001.md");
        std::fs::write(&prompt, "Do \x1b[2Jit.\n\n- now").unwrap();
        assert_eq!(prompt_text(&prompt).unwrap(), b"Do it.\r\n\r\n- now\r\n");
        assert!(prompt_text(&dir.path().join("0002.md")).is_err());

        let output = dir.path().join("0001");
        assert_eq!(task_text(&output).unwrap(), None);
        task_output::TaskOutput::new(output.clone(), 1 << 20).write(b"\x1b[31mred\x1b[0m\x1b]0;title\x07\n10%\r20%\n");
        let shown = String::from_utf8(task_text(&output).unwrap().unwrap()).unwrap();
        assert!(
            shown.contains("\x1b[31mred") && shown.contains("20%\r\n") && !shown.contains("title"),
            "{shown:?}"
        );
    }
}
