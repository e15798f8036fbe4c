//! Reads lines from another process on a separate thread: they may be incomplete or endless.

use std::{
    io::{self, BufRead, BufReader, Read},
    thread,
};

use ralph_text::json_rpc::JsonRpcMessage;
use tokio::sync::mpsc;

/// Most lines in the queue; if it is full, the writer has to wait.
const LINES: usize = 32;

/// A line without its terminator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputLine {
    Whole(Vec<u8>),
    /// The line exceeded the limit and was skipped.
    TooLong,
}

impl InputLine {
    /// Parses the line; `None` if it is not a message.
    pub fn message(&self) -> Option<JsonRpcMessage> {
        match self {
            InputLine::Whole(line) => JsonRpcMessage::parse(line),
            InputLine::TooLong => None,
        }
    }
}

/// Reads `input` until its end, in lines of at most `cap_bytes`.
///
/// # Errors
/// The thread cannot be started.
pub fn read(input: impl Read + Send + 'static, cap_bytes: usize) -> io::Result<mpsc::Receiver<InputLine>> {
    let (lines, read) = mpsc::channel(LINES);
    let body = move || read_lines(BufReader::new(input), cap_bytes, &lines);
    thread::Builder::new().name("lines".to_owned()).spawn(body)?;
    Ok(read)
}

fn read_lines(mut input: impl BufRead, cap_bytes: usize, lines: &mpsc::Sender<InputLine>) {
    loop {
        let mut line = Vec::new();
        let most = cap_bytes as u64 + 1;
        match input.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = match line.last() {
            Some(b'\n') => {
                line.pop();
                InputLine::Whole(line)
            }
            Some(_) if line.len() > cap_bytes => match skip_line(&mut input) {
                Ok(()) => InputLine::TooLong,
                Err(_) => return,
            },
            // The last line, without a terminator.
            Some(_) | None => InputLine::Whole(line),
        };
        if lines.blocking_send(line).is_err() {
            return; // the receiver was dropped
        }
    }
}

/// Skips the rest of the line.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let skipped = end.map_or(buffer.len(), |at| at + 1);
        input.consume(skipped);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP_BYTES: usize = 1 << 16;

    fn lines(input: &[u8]) -> Vec<InputLine> {
        let (sender, mut read) = mpsc::channel(64);
        read_lines(input, CAP_BYTES, &sender);
        drop(sender);
        std::iter::from_fn(|| read.blocking_recv()).collect()
    }

    #[test]
    fn a_line_without_end_is_left_out_and_those_after_it_are_read() {
        let mut input = b"first\n".to_vec();
        input.extend(vec![b'x'; 3 * CAP_BYTES]);
        input.extend(b"\nlast\nhalf");
        let whole = |text: &[u8]| InputLine::Whole(text.to_vec());
        assert_eq!(
            lines(&input),
            [whole(b"first"), InputLine::TooLong, whole(b"last"), whole(b"half")]
        );
    }

    #[test]
    fn the_longest_line_is_whole() {
        let mut input = vec![b'x'; CAP_BYTES];
        input.push(b'\n');
        assert!(matches!(&lines(&input)[..], [InputLine::Whole(line)] if line.len() == CAP_BYTES));
    }
}
