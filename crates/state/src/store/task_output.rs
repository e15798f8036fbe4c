//! The output of a background task: its first and its last bytes, in a directory of its own.
//!
//! A file's name is the number of output bytes before it. The first file and the latest ones are kept, so that the size
//! is bounded, and a gap shows between two names. A reader needs nothing but the names.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use ralph_system::{
    files,
    paths::{create_anew, create_private_dir},
};

/// Files besides the first.
const LATEST: usize = 3;

/// Keeps the output of one task.
#[derive(Debug)]
pub struct TaskOutput {
    dir: PathBuf,
    /// Most bytes of one file.
    file_bytes: u64,
    /// The last file; `None` before the first byte, and after a failure.
    file: Option<File>,
    /// The offset of its first byte, and its length.
    start: u64,
    length: u64,
    /// The offsets of the files besides the first.
    latest: VecDeque<u64>,
}

impl TaskOutput {
    /// Keeps at most `cap_bytes` in `dir`, which is created on the first write.
    pub fn new(dir: PathBuf, cap_bytes: u64) -> Self {
        Self {
            dir,
            file_bytes: (cap_bytes / (1 + LATEST as u64)).max(1),
            file: None,
            start: 0,
            length: 0,
            latest: VecDeque::new(),
        }
    }

    /// Appends bytes. Bytes that cannot be written are lost: a full disk is no reason to end the task.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.length == self.file_bytes {
                self.start += self.length;
                self.length = 0;
                self.file = None;
            }
            if self.length == 0 {
                self.file = self.begin().ok();
            }
            let room = usize::try_from(self.file_bytes - self.length).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(room.min(bytes.len()));
            if let Some(file) = &mut self.file
                && file.write_all(now).is_err()
            {
                self.file = None;
            }
            self.length += now.len() as u64;
            bytes = rest;
        }
    }

    fn begin(&mut self) -> io::Result<File> {
        create_private_dir(&self.dir).map_err(io::Error::other)?;
        if self.start > 0 {
            self.latest.push_back(self.start);
        }
        if self.latest.len() > LATEST
            && let Some(oldest) = self.latest.pop_front()
        {
            fs::remove_file(file_at(&self.dir, oldest))?;
        }
        create_anew(&file_at(&self.dir, self.start))
    }
}

/// A part of an output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputPiece {
    /// Its offset: later than requested if the bytes in between are not kept.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// The current length of the output.
    pub end: u64,
}

/// Reads at most `most` bytes of the output in `dir` from the offset `from`, and only from one file. A task without
/// output has no directory.
///
/// # Errors
/// The file system's error.
pub fn read(dir: &Path, from: u64, most: u64) -> io::Result<OutputPiece> {
    let files = files(dir)?;
    let Some((last, length)) = files.last() else {
        return Ok(OutputPiece::default());
    };
    let end = last + length;
    let holding = files.iter().find(|(start, length)| from < start + length);
    let Some((start, length)) = holding.copied() else {
        return Ok(OutputPiece {
            from: end,
            bytes: Vec::new(),
            end,
        });
    };
    let from = from.max(start);
    let mut bytes = Vec::new();
    match files::open_regular(&file_at(dir, start)) {
        Ok(mut file) => {
            file.seek(SeekFrom::Start(from - start))?;
            file.take(most.min(start + length - from)).read_to_end(&mut bytes)?;
        }
        // The writer has removed it meanwhile; the next read finds another.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(OutputPiece { from, bytes, end })
}

/// Returns the offset of the last `most` bytes of the output in `dir`.
///
/// # Errors
/// The file system's error.
pub fn tail_start(dir: &Path, most: u64) -> io::Result<u64> {
    let files = files(dir)?;
    Ok(files
        .last()
        .map_or(0, |(start, length)| (start + length).saturating_sub(most)))
}

/// Reads the kept part of the last `most` bytes in `dir`.
///
/// # Errors
/// The file system's error.
pub fn read_tail(dir: &Path, most: u64) -> io::Result<OutputPiece> {
    let mut tail = read(dir, tail_start(dir, most)?, most)?;
    // The last bytes may span two files.
    let next = tail.from + tail.bytes.len() as u64;
    let rest = read(dir, next, most)?;
    if rest.from > next {
        return Ok(rest);
    }
    tail.bytes.extend(rest.bytes);
    tail.end = rest.end;
    Ok(tail)
}

/// Returns offset and length of each file, in order.
fn files(dir: &Path) -> io::Result<Vec<(u64, u64)>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let start = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // The writer may have removed a file meanwhile.
        if let (Some(start), Ok(metadata)) = (start, entry.metadata()) {
            files.push((start, metadata.len()));
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn file_at(dir: &Path, start: u64) -> PathBuf {
    dir.join(format!("{start:016}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all kept pieces with their offsets.
    fn kept(dir: &Path) -> Vec<(u64, String)> {
        let mut pieces = Vec::new();
        let mut from = 0;
        loop {
            let piece = read(dir, from, 1 << 20).unwrap();
            if piece.bytes.is_empty() {
                return pieces;
            }
            from = piece.from + piece.bytes.len() as u64;
            pieces.push((piece.from, String::from_utf8(piece.bytes).unwrap()));
        }
    }

    fn pieces(of: &[(u64, &str)]) -> Vec<(u64, String)> {
        of.iter().map(|(from, text)| (*from, (*text).to_owned())).collect()
    }

    #[test]
    fn the_first_and_the_last_bytes_are_kept_and_the_gap_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("1");
        assert_eq!(read(&dir, 0, 10).unwrap(), OutputPiece::default());
        let mut output = TaskOutput::new(dir.clone(), 16);
        output.write(b"0123456");
        assert_eq!(kept(&dir), pieces(&[(0, "0123"), (4, "456")]));
        // The result does not depend on how the writes are cut.
        output.write(b"789abcdefghijklmnop");
        assert_eq!(
            kept(&dir),
            pieces(&[(0, "0123"), (16, "ghij"), (20, "klmn"), (24, "op")])
        );
        assert_eq!(
            read(&dir, 6, 2).unwrap(),
            OutputPiece {
                from: 16,
                bytes: b"gh".into(),
                end: 26
            }
        );
        assert_eq!(
            read(&dir, 26, 2).unwrap(),
            OutputPiece {
                from: 26,
                bytes: Vec::new(),
                end: 26
            }
        );
        assert_eq!(read(&dir, 99, 2).unwrap().from, 26);
        assert_eq!(tail_start(&dir, 5).unwrap(), 21);
    }

    #[test]
    fn an_output_without_end_takes_no_more_than_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let mut output = TaskOutput::new(dir.path().join("1"), 4096);
        for _ in 0..1000 {
            output.write(&[b'x'; 777]);
        }
        let bytes: u64 = files(&dir.path().join("1"))
            .unwrap()
            .iter()
            .map(|(_, length)| length)
            .sum();
        assert!(bytes <= 4096 && bytes > 2048, "{bytes}");
        assert_eq!(read(&dir.path().join("1"), 0, 1).unwrap().end, 777_000);
    }
}
