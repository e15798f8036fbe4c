//! What a background task has written: its first bytes and its last ones, in a directory of its own.
//!
//! A file's name is the number of bytes before it. The first file is kept, and of those after it the last ones, so that what is
//! kept has a bound, and what is missing lies between two names. A reader needs nothing but the names.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use super::paths::{create_anew, create_private_dir};

/// Files besides the first.
const LATEST: usize = 3;

/// Keeps the output of one task.
#[derive(Debug)]
pub struct TaskOutput {
    dir: PathBuf,
    /// Most bytes of one file.
    file_bytes: u64,
    /// The last file; none before the first byte, and after a failure.
    file: Option<File>,
    /// Where it begins, and how long it is.
    start: u64,
    length: u64,
    /// Where the files besides the first begin.
    latest: VecDeque<u64>,
}

impl TaskOutput {
    /// Keeps at most `cap_bytes` in `dir`, which is made.
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

    /// Takes the next bytes. What cannot be written is left out: a full disk is no reason to end the task.
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
pub struct Piece {
    /// Where it begins: later than asked for where what is in between is not kept.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// Where the output ends by now.
    pub end: u64,
}

/// Reads at most `most` bytes of the output in `dir`, from the byte `from` on, as far as one file has them. A task that has
/// written nothing has no directory.
///
/// # Errors
/// Whatever the file system says.
pub fn read(dir: &Path, from: u64, most: u64) -> io::Result<Piece> {
    let files = files(dir)?;
    let Some((last, length)) = files.last() else {
        return Ok(Piece::default());
    };
    let end = last + length;
    let holding = files.iter().find(|(start, length)| from < start + length);
    let Some((start, length)) = holding.copied() else {
        return Ok(Piece {
            from: end,
            bytes: Vec::new(),
            end,
        });
    };
    let from = from.max(start);
    let mut bytes = Vec::new();
    match File::open(file_at(dir, start)) {
        Ok(mut file) => {
            file.seek(SeekFrom::Start(from - start))?;
            file.take(most.min(start + length - from)).read_to_end(&mut bytes)?;
        }
        // It has made room meanwhile: the next look finds another.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(Piece { from, bytes, end })
}

/// Where what is kept in `dir` of the last `most` bytes begins.
///
/// # Errors
/// Whatever the file system says.
pub fn tail_start(dir: &Path, most: u64) -> io::Result<u64> {
    let files = files(dir)?;
    Ok(files
        .last()
        .map_or(0, |(start, length)| (start + length).saturating_sub(most)))
}

/// Reads what is kept in `dir` of the last `most` bytes.
///
/// # Errors
/// Whatever the file system says.
pub fn read_tail(dir: &Path, most: u64) -> io::Result<Piece> {
    let mut tail = read(dir, tail_start(dir, most)?, most)?;
    // The last file may hold less than that.
    let next = tail.from + tail.bytes.len() as u64;
    let rest = read(dir, next, most)?;
    if rest.from > next {
        return Ok(rest);
    }
    tail.bytes.extend(rest.bytes);
    tail.end = rest.end;
    Ok(tail)
}

/// Where the files begin, and how long they are, in order.
fn files(dir: &Path) -> io::Result<Vec<(u64, u64)>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let start = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // One that is gone meanwhile has made room.
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

    /// All that is kept, with where each piece begins.
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
        assert_eq!(read(&dir, 0, 10).unwrap(), Piece::default());
        let mut output = TaskOutput::new(dir.clone(), 16);
        output.write(b"0123456");
        assert_eq!(kept(&dir), pieces(&[(0, "0123"), (4, "456")]));
        // However it is cut.
        output.write(b"789abcdefghijklmnop");
        assert_eq!(
            kept(&dir),
            pieces(&[(0, "0123"), (16, "ghij"), (20, "klmn"), (24, "op")])
        );
        assert_eq!(
            read(&dir, 6, 2).unwrap(),
            Piece {
                from: 16,
                bytes: b"gh".into(),
                end: 26
            }
        );
        assert_eq!(
            read(&dir, 26, 2).unwrap(),
            Piece {
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
