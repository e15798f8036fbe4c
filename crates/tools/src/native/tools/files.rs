//! File tools: reading in parts, listing directories, exact edits.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_system::files::{self, ReadError};

use super::outcome::ToolOutcome;

/// Most bytes of a file that are processed.
const FILE_CAP_BYTES: u64 = 16 << 20;
/// The default number of lines that are read at once.
const LINES: u64 = 1000;
/// Most bytes of one line.
const LINE_CAP_BYTES: usize = 2000;
/// Most bytes that are read at once.
const READ_CAP_BYTES: usize = 28_000;
/// Most line numbers that are listed for a text with several occurrences.
const LINES_NAMED: usize = 5;
/// Most names of a directory that are listed.
const NAMES_CAP: usize = 500;

#[derive(Debug)]
pub(in crate::native) struct Read {
    path: PathBuf,
    offset: u64,
    limit: u64,
}

impl Read {
    pub(super) fn new(path: PathBuf, offset: Option<u64>, limit: Option<u64>) -> Self {
        Self {
            path,
            offset: offset.unwrap_or(1).max(1),
            limit: limit.unwrap_or(LINES).max(1),
        }
    }

    pub(super) fn carry_out(self) -> ToolOutcome {
        let text = text_of(&self.path)?;
        let total = text.lines().count() as u64;
        if total == 0 {
            return Ok("(the file is empty)".to_owned());
        }
        if self.offset > total {
            return Err(format!("{}: it has only {total} lines", self.path.display()));
        }
        let mut found = String::new();
        let mut next = self.offset;
        let skipped = usize::try_from(self.offset - 1).unwrap_or(usize::MAX);
        for line in text.lines().skip(skipped) {
            if next - self.offset == self.limit || found.len() > READ_CAP_BYTES {
                break;
            }
            found.push_str(&format!(
                "{next:>5}\t{}\n",
                ralph_core::event::clip(line, LINE_CAP_BYTES)
            ));
            next += 1;
        }
        if next <= total {
            found.push_str(&format!("[lines {next} to {total} follow: `offset` {next} reads on]\n"));
        }
        Ok(found)
    }
}

/// The sorted names in a directory.
pub(super) fn list(path: &Path) -> ToolOutcome {
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    let entries = fs::read_dir(path).map_err(wrong)?;
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_directory { name + "/" } else { name }
        })
        .collect();
    names.sort();
    let more = names.len().saturating_sub(NAMES_CAP);
    names.truncate(NAMES_CAP);
    if more > 0 {
        names.push(format!("[{more} more]"));
    }
    match names.is_empty() {
        true => Ok("(the directory is empty)".to_owned()),
        false => Ok(names.join("\n")),
    }
}

/// The planned content of a file, and its content at the time of planning.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::native) struct FileEdit {
    pub(in crate::native) path: PathBuf,
    /// `None` if the file is new.
    pub(in crate::native) before: Option<String>,
    pub(in crate::native) after: String,
}

impl FileEdit {
    pub(super) fn edit(path: &Path, old: &str, new: &str, all: bool) -> Result<Self, String> {
        let shown = path.display();
        let before = text_of(path)?;
        if old.is_empty() {
            return Err("`old` is empty; `write` writes a whole file".to_owned());
        }
        if old == new {
            return Err("`old` and `new` are the same".to_owned());
        }
        // Models write ` ` even if the file uses `\r `.
        let has_returns = before.contains("\r\n") && !old.contains('\r');
        let (old, new) = match has_returns {
            true => (old.replace('\n', "\r\n"), new.replace('\n', "\r\n")),
            false => (old.to_owned(), new.to_owned()),
        };
        let found: Vec<usize> = before.match_indices(&old).map(|(at, _)| at).collect();
        let after = match (&found[..], all) {
            ([], _) => return Err(format!("{shown}: `old` is not in it{}", nearly(&before, &old))),
            ([_], _) | (_, true) => before.replace(&old, &new),
            (several, false) => {
                let mut lines: Vec<usize> = several
                    .iter()
                    .map(|at| before[..*at].matches('\n').count() + 1)
                    .collect();
                lines.dedup();
                let word = if lines.len() == 1 { "line" } else { "lines" };
                let more = if lines.len() > LINES_NAMED { ", …" } else { "" };
                let named: Vec<String> = lines.iter().take(LINES_NAMED).map(usize::to_string).collect();
                return Err(format!(
                    "{shown}: `old` occurs {} times ({word} {}{more}); take more of what is around it, or set `all`",
                    several.len(),
                    named.join(", ")
                ));
            }
        };
        Ok(Self {
            path: path.to_owned(),
            before: Some(before),
            after,
        })
    }

    pub(super) fn write(path: &Path, content: &str) -> Result<Self, String> {
        if path.is_dir() {
            return Err(format!("{}: it is a directory", path.display()));
        }
        let before = match files::read_text(path, FILE_CAP_BYTES) {
            Ok(text) => Some(text),
            Err(error) if error.is_missing() => None,
            // The old content of an unreadable file is not shown, since the whole file is replaced.
            Err(_) => Some(String::new()),
        };
        Ok(Self {
            path: path.to_owned(),
            before,
            after: content.to_owned(),
        })
    }

    /// Checks that the file has not changed since the edit was planned.
    fn check(&self) -> Result<(), String> {
        let shown = self.path.display();
        match (&self.before, files::read_text(&self.path, FILE_CAP_BYTES)) {
            (Some(before), Ok(now)) if *before != now => {
                Err(format!("{shown}: it has changed in the meantime; read it again"))
            }
            (None, Ok(_)) => Err(format!("{shown}: it has been made in the meantime; read it")),
            (_, _) => Ok(()),
        }
    }

    /// Makes the change. Returns a line about it.
    pub(in crate::native) fn carry_out(&self) -> ToolOutcome {
        self.check()?;
        let (shown, after) = (self.path.display(), &self.after);
        let wrong = |error: io::Error| format!("{shown}: {error}");
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(wrong)?;
        }
        // Written in place, which keeps the file's mode and its links.
        fs::write(&self.path, after).map_err(wrong)?;
        let lines = after.lines().count();
        Ok(match &self.before {
            None => format!("{shown} is written: {lines} lines"),
            Some(_) => format!("{shown} is changed: {lines} lines now"),
        })
    }
}

/// Reads a text file.
fn text_of(path: &Path) -> Result<String, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("{shown}: it is a directory; `list_dir` lists it"));
    }
    files::read_text(path, FILE_CAP_BYTES).map_err(|error: ReadError| match error.is_missing() {
        true => format!("{shown}: there is no such file; `glob` finds files"),
        false => format!("{shown}: {error}"),
    })
}

/// A hint at the line in `text` that matches the first line of `old` except for white space; empty if there is none.
fn nearly(text: &str, old: &str) -> String {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(first) = old.lines().map(squeezed).find(|line| !line.is_empty()) else {
        return String::new();
    };
    match text.lines().position(|line| squeezed(line) == first) {
        Some(at) => format!(
            "; line {} is like its first line but for white space, so read it again",
            at + 1
        ),
        None => String::new(),
    }
}
