//! Signal logs: all signals of an agent in one iteration, one JSON object a line.
//!
//! The journal has the signals that the loop uses and a bounded part of the rest; the log has all of them.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_core::event::AgentSignal;
use ralph_system::{files, paths::create_anew};
use serde::Deserialize;
use serde_json::json;

/// Interval between writes, as for recordings: a crash loses little, and a flood costs few writes.
const FLUSH_EVERY: Duration = Duration::from_millis(250);

/// The part of a log that is shown in full, where a transcript folds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfold {
    /// The latest result or thought that is folded.
    Last,
    All,
}

/// The log of one iteration; the file is made with the first signal. Dropping it writes the buffered rest.
#[derive(Debug)]
pub struct SignalLog {
    path: PathBuf,
    cap_bytes: u64,
    state: LogState,
}

#[derive(Debug)]
enum LogState {
    Empty,
    Open {
        file: BufWriter<File>,
        flushed: Instant,
        written_bytes: u64,
    },
    /// The cap is reached, or writing has failed, which ends only the log.
    Ended,
}

impl SignalLog {
    /// Makes a log at `path` of at most `cap_bytes` and a last line. It replaces an earlier one of the same iteration.
    pub fn new(path: &Path, cap_bytes: u64) -> Self {
        Self {
            path: path.to_owned(),
            cap_bytes,
            state: LogState::Empty,
        }
    }

    /// Adds a signal that arrived at `at_ms`, in milliseconds since the Unix epoch.
    pub fn add(&mut self, at_ms: u64, signal: &AgentSignal) {
        if let LogState::Empty = self.state {
            self.state = match create_anew(&self.path) {
                Ok(file) => LogState::Open {
                    file: BufWriter::with_capacity(64 * 1024, file),
                    flushed: Instant::now(),
                    written_bytes: 0,
                },
                Err(_) => LogState::Ended,
            };
        }
        if self.write(at_ms, signal).is_err() {
            self.state = LogState::Ended; // a full disk is noticed by the journal, which matters more
        }
    }

    /// Writes the buffered signals.
    pub fn write_out(&mut self) {
        if let LogState::Open { file, .. } = &mut self.state
            && !file.buffer().is_empty()
            && file.flush().is_err()
        {
            self.state = LogState::Ended;
        }
    }

    fn write(&mut self, at_ms: u64, signal: &AgentSignal) -> io::Result<()> {
        let LogState::Open {
            file,
            flushed,
            written_bytes,
        } = &mut self.state
        else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(&json!({"atMs": at_ms, "signal": signal}))?;
        line.push(b'\n');
        if *written_bytes + line.len() as u64 > self.cap_bytes {
            let cut = json!({"atMs": at_ms, "cut": "this log has reached its size limit"});
            writeln!(file, "{cut}")?;
            file.flush()?;
            self.state = LogState::Ended;
            return Ok(());
        }
        file.write_all(&line)?;
        *written_bytes += line.len() as u64;
        // A screen reads the full text of these signals from this file as soon as the user opens them.
        let is_shown = matches!(
            signal,
            AgentSignal::Said { .. }
                | AgentSignal::Thought { .. }
                | AgentSignal::ToolStarted { .. }
                | AgentSignal::ToolEnded { .. }
        );
        if is_shown || flushed.elapsed() >= FLUSH_EVERY {
            file.flush()?;
            *flushed = Instant::now();
        }
        Ok(())
    }
}

/// Passes the signals of the log at `path` to `each`, in order. Skips other lines: an incomplete last line, and signals
/// of another version.
///
/// # Errors
/// The error of opening or reading.
pub fn read(path: &Path, mut each: impl FnMut(AgentSignal)) -> io::Result<()> {
    #[derive(Deserialize)]
    struct SignalLine {
        signal: AgentSignal,
    }
    for line in BufReader::new(files::open_regular(path)?).split(b'\n') {
        if let Ok(SignalLine { signal }) = serde_json::from_slice(&line?) {
            each(signal);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_signal_log_has_signals_whole_and_says_where_its_limit_ended_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0001.signals.jsonl");
        fs::write(&path, "of an earlier try").unwrap();
        let long = AgentSignal::Said {
            text: "x".repeat(100_000),
        };
        let mut log = SignalLog::new(&path, 150_000);
        for at_ms in 1..4 {
            log.add(at_ms, &long);
        }
        drop(log);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], json!({"atMs": 1, "signal": long}));
        assert_eq!(lines[1]["cut"], "this log has reached its size limit");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_a_screen_shows_is_there_for_it_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0001.signals.jsonl");
        let mut log = SignalLog::new(&path, 1_000_000);
        let shown = [
            AgentSignal::ToolStarted {
                call: "1".to_owned(),
                tool: "shell".to_owned(),
                input: "make".to_owned(),
            },
            AgentSignal::Said {
                text: "It builds.".to_owned(),
            },
        ];
        for (n, signal) in shown.iter().enumerate() {
            log.add(1, signal);
            let mut found = Vec::new();
            read(&path, |signal| found.push(signal)).unwrap();
            assert_eq!(found, shown[..=n]);
        }
    }

    #[test]
    fn a_session_without_signals_leaves_no_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0001.signals.jsonl");
        drop(SignalLog::new(&path, 1000));
        assert!(!path.exists());
    }
}
