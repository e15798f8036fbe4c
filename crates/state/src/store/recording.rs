//! Recordings: the terminal output of an iteration, as asciicast v2 files that `asciinema play` understands.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::{Duration, Instant},
};

use ralph_system::{files, paths::create_anew};
use serde::Deserialize;
use serde_json::json;

/// Interval between writes during continuous output: a flood costs few writes and a crash loses little. The last bytes
/// before a silence are left to [`TerminalRecording::write_out`].
const FLUSH_EVERY: Duration = Duration::from_millis(250);

/// Opens a recording for reading; it may still grow.
///
/// # Errors
/// The file system's error.
pub fn open(path: &Path) -> io::Result<File> {
    files::open_regular(path)
}

/// The content of one line of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedEvent {
    /// The terminal has this size from here on; the header has the first size.
    Size {
        cols: u16,
        rows: u16,
    },
    Output {
        text: String,
    },
}

impl RecordedEvent {
    /// Parses a line; `None` for an unknown event and for a line that was cut off.
    pub fn parse(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct RecordingHeader {
            width: u16,
            height: u16,
        }
        if line.starts_with('{') {
            let RecordingHeader { width, height } = serde_json::from_str(line).ok()?;
            return Some(Self::Size {
                cols: width,
                rows: height,
            });
        }
        let (_, code, text): (f64, String, String) = serde_json::from_str(line).ok()?;
        match code.as_str() {
            "o" => Some(Self::Output { text }),
            "r" => {
                let (cols, rows) = text.split_once('x')?;
                Some(Self::Size {
                    cols: cols.parse().ok()?,
                    rows: rows.parse().ok()?,
                })
            }
            _ => None,
        }
    }
}

/// An open recording. Dropping it writes the buffered rest.
#[derive(Debug)]
pub struct TerminalRecording {
    file: BufWriter<File>,
    started: Instant,
    flushed: Instant,
    /// The first bytes of a character whose rest has not arrived yet.
    partial: Vec<u8>,
    written_bytes: u64,
    cap_bytes: u64,
    /// Columns and rows of the terminal.
    size: (u16, u16),
    state: RecordingState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordingState {
    Recording,
    /// The cap is reached, or the disk is full: nothing more is written.
    Ended,
}

impl TerminalRecording {
    /// Creates the recording at `path`, replacing an earlier one of the same iteration.
    ///
    /// At most `cap_bytes` are written. The header contains `unix_seconds` and whether this is a transcript, which is
    /// wrapped when it is shown.
    ///
    /// # Errors
    /// The file system's error.
    pub fn create(
        path: &Path,
        (cols, rows): (u16, u16),
        unix_seconds: u64,
        transcript: bool,
        cap_bytes: u64,
    ) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(64 * 1024, create_anew(path)?);
        let header = json!({
            "version": 2,
            "width": cols,
            "height": rows,
            "timestamp": unix_seconds,
            "transcript": transcript,
        });
        writeln!(file, "{header}")?;
        // A reader that follows the terminal needs its size first.
        file.flush()?;
        let now = Instant::now();
        Ok(Self {
            file,
            started: now,
            flushed: now,
            partial: Vec::new(),
            written_bytes: 0,
            cap_bytes,
            size: (cols, rows),
            state: RecordingState::Recording,
        })
    }

    /// Adds terminal output. A failure to write ends only the recording.
    pub fn output(&mut self, bytes: &[u8]) {
        if self.state == RecordingState::Ended {
            return;
        }
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.partial), bytes].concat();
            &joined
        };
        let (whole, partial) = bytes.split_at(whole_characters(bytes));
        self.partial.extend_from_slice(partial);
        match str::from_utf8(whole) {
            // The common case; the search for broken characters takes several times as long.
            Ok(text) => self.event("o", text),
            Err(_) => self.event("o", &String::from_utf8_lossy(whole)),
        }
        if self.written_bytes > self.cap_bytes {
            self.event("o", "\r\n[the recording ends here: it has reached its size limit]\r\n");
            self.end();
        }
    }

    /// Records that the terminal has another size from here on.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        if std::mem::replace(&mut self.size, (cols, rows)) != (cols, rows) {
            self.event("r", &format!("{cols}x{rows}"));
        }
    }

    /// Writes the buffered output.
    pub fn write_out(&mut self) {
        if self.state == RecordingState::Recording && !self.file.buffer().is_empty() && self.file.flush().is_err() {
            self.state = RecordingState::Ended;
        }
    }

    fn event(&mut self, code: &str, text: &str) {
        if self.state == RecordingState::Ended || text.is_empty() {
            return;
        }
        match self.write(code, text) {
            Ok(()) => self.written_bytes += text.len() as u64,
            Err(_) => self.state = RecordingState::Ended,
        }
    }

    fn write(&mut self, code: &str, text: &str) -> io::Result<()> {
        write!(self.file, "[{:.6}, \"{code}\", ", self.started.elapsed().as_secs_f64())?;
        serde_json::to_writer(&mut self.file, text)?;
        self.file.write_all(b"]\n")?;
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.file.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    fn end(&mut self) {
        _ = self.file.flush(); // a full disk has been noticed by the journal, which matters more
        self.state = RecordingState::Ended;
    }
}

impl Drop for TerminalRecording {
    fn drop(&mut self) {
        if self.state == RecordingState::Recording && !self.partial.is_empty() {
            let rest = std::mem::take(&mut self.partial);
            self.event("o", &String::from_utf8_lossy(&rest));
        }
        self.end();
    }
}

/// Returns the length of `bytes` without an incomplete character at the end; broken characters count.
fn whole_characters(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    for start in (tail..bytes.len()).rev() {
        let length = match bytes[start] {
            0x00..=0x7f => return bytes.len(),
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
        };
        return if start + length > bytes.len() {
            start
        } else {
            bytes.len()
        };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(path: &Path) -> String {
        let text = std::fs::read_to_string(path).unwrap();
        let mut lines = text.lines();
        let header: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(header["version"], 2);
        lines
            .map(|line| {
                let event: (f64, String, String) = serde_json::from_str(line).unwrap();
                if event.1 == "o" { event.2 } else { String::new() }
            })
            .collect()
    }

    #[test]
    fn a_link_in_place_of_a_recording_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, path) = (dir.path().join("secret"), dir.path().join("0001.cast"));
        std::fs::write(&secret, "secret").unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        let why = open(&path).unwrap_err().to_string();
        assert_eq!(why, "it is a symbolic link, not a regular file");
    }

    fn recorded(chunks: &[&[u8]], cap_bytes: u64) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0001.cast");
        let mut recording = TerminalRecording::create(&path, (80, 24), 0, true, cap_bytes).unwrap();
        for chunk in chunks {
            recording.output(chunk);
        }
        drop(recording);
        played(&path)
    }

    #[test]
    fn output_cut_within_characters_is_recorded_whole() {
        let text = "a→b 🦀 \u{1b}[31mé\u{1b}[0m";
        for cut in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            assert_eq!(recorded(&[head, tail], 1 << 20), text);
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(recorded(&bytes, 1 << 20), text);
    }

    #[test]
    fn broken_bytes_become_replacement_characters() {
        assert_eq!(recorded(&[b"a\xffb", b"\xe2\x82"], 1 << 20), "a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn a_recording_has_each_size_of_its_terminal_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0001.cast");
        let mut recording = TerminalRecording::create(&path, (80, 24), 0, true, 1 << 20).unwrap();
        recording.resize(80, 24);
        recording.output(b"a");
        recording.resize(100, 30);
        recording.resize(100, 30);
        recording.output(b"b");
        drop(recording);
        let text = std::fs::read_to_string(&path).unwrap();
        let events = text.lines().skip(1).map(|line| {
            let (_, code, text): (f64, String, String) = serde_json::from_str(line).unwrap();
            code + " " + &text
        });
        assert_eq!(events.collect::<Vec<_>>(), ["o a", "r 100x30", "o b"]);
    }

    #[test]
    fn a_recording_stops_at_its_cap_and_says_so() {
        let text = recorded(&[&[b'x'; 600], &[b'y'; 600], &[b'Z'; 600]], 1000);
        assert!(text.contains("size limit"), "{text}");
        assert!(!text.contains('Z'));
    }
}
