//! Finds files by name and by content. In a git repository, ignored files are left out; elsewhere, directories with
//! build output and dependencies are.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use ralph_system::{
    files::{self, ReadError, source_entries},
    proc::GIT_AS_IT_IS,
};
use regex_lite::{Regex, RegexBuilder};

use super::outcome::{ToolOutcome, display_path};

/// Most bytes of a file that is searched.
const FILE_CAP_BYTES: u64 = 2 << 20;
/// Most files that are considered.
const FILES_CAP: usize = 100_000;
/// Most bytes of the names of all files.
const NAMES_CAP_BYTES: u64 = 16 << 20;
/// Most lines, or names, in a result.
const FOUND_CAP: usize = 200;
/// Most skipped files that a result names.
const NAMED: usize = 5;
/// Most bytes of a line in a result.
const LINE_CAP_BYTES: usize = 300;
/// The time limit of a search.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(in crate::native) struct GrepSearch {
    project: PathBuf,
    place: PathBuf,
    pattern: Regex,
    glob: Option<NamePattern>,
}

#[derive(Debug)]
pub(in crate::native) struct GlobSearch {
    project: PathBuf,
    place: PathBuf,
    pattern: NamePattern,
}

/// A pattern of file names.
#[derive(Debug)]
struct NamePattern {
    regex: Regex,
    /// Whether it applies to the name alone, in any directory.
    is_of_name: bool,
}

impl GrepSearch {
    pub(super) fn new(
        project: &Path,
        place: &Path,
        pattern: &str,
        glob: Option<&str>,
        ignore_case: bool,
    ) -> Result<Self, String> {
        let regex = RegexBuilder::new(pattern).case_insensitive(ignore_case).build();
        Ok(Self {
            project: project.to_owned(),
            place: place.to_owned(),
            pattern: regex.map_err(|error| format!("`{pattern}` is not a regular expression: {error}"))?,
            glob: glob.map(NamePattern::new).transpose()?,
        })
    }

    pub(super) fn carry_out(self) -> ToolOutcome {
        let deadline = Instant::now() + PATIENCE;
        let (mut found, mut skipped) = (Vec::new(), SkippedFiles::default());
        for path in files_below(&self.place)? {
            if self.glob.as_ref().is_some_and(|glob| !glob.matches(&path, &self.place)) {
                continue;
            }
            let shown = display_path(&path, &self.project);
            let bytes = match files::read_bytes(&path, FILE_CAP_BYTES) {
                Ok(bytes) => bytes,
                Err(error) => {
                    let is_large = matches!(error, ReadError::TooLarge { .. });
                    skipped.large.extend(is_large.then_some(shown));
                    continue;
                }
            };
            let Ok(text) = std::str::from_utf8(&bytes) else {
                skipped.no_text.push(shown);
                continue;
            };
            for (number, line) in text.lines().enumerate().filter(|(_, line)| self.pattern.is_match(line)) {
                if found.len() == FOUND_CAP {
                    found.push(format!("[more than {FOUND_CAP} lines: search for less]"));
                    return Ok(found.join("\n"));
                }
                let line = ralph_core::event::clip(line.trim_end(), LINE_CAP_BYTES);
                found.push(format!("{shown}:{}: {line}", number + 1));
            }
            if Instant::now() > deadline {
                found.push("[search timed out, results are incomplete]".to_owned());
                break;
            }
        }
        if found.is_empty() {
            found.push("(nothing is found)".to_owned());
        }
        found.extend(skipped.in_words());
        Ok(found.join("\n"))
    }
}

/// Files that were not searched.
#[derive(Debug, Default)]
struct SkippedFiles {
    large: Vec<String>,
    no_text: Vec<String>,
}

impl SkippedFiles {
    /// Formats a note such as `[not searched: 1 file above 2 MiB (a.log); 2 files of no UTF-8 text (b.png, c.png)]`.
    fn in_words(&self) -> Option<String> {
        let kinds = [
            (&self.large, format!("above {} MiB", FILE_CAP_BYTES >> 20)),
            (&self.no_text, "of no UTF-8 text".to_owned()),
        ];
        let kinds = kinds.iter().filter(|(files, _)| !files.is_empty());
        let kinds: Vec<String> = kinds
            .map(|(files, what)| {
                let word = if files.len() == 1 { "file" } else { "files" };
                let more = if files.len() > NAMED { ", …" } else { "" };
                let names = files[..files.len().min(NAMED)].join(", ");
                format!("{} {word} {what} ({names}{more})", files.len())
            })
            .collect();
        (!kinds.is_empty()).then(|| format!("[not searched: {}]", kinds.join("; ")))
    }
}

impl GlobSearch {
    pub(super) fn new(project: &Path, place: &Path, pattern: &str) -> Result<Self, String> {
        Ok(Self {
            project: project.to_owned(),
            place: place.to_owned(),
            pattern: NamePattern::new(pattern)?,
        })
    }

    pub(super) fn carry_out(self) -> ToolOutcome {
        let files = files_below(&self.place)?;
        let found = files.iter().filter(|path| self.pattern.matches(path, &self.place));
        let mut found: Vec<String> = found
            .take(FOUND_CAP + 1)
            .map(|path| display_path(path, &self.project))
            .collect();
        if found.len() > FOUND_CAP {
            found.truncate(FOUND_CAP);
            found.push(format!("[more than {FOUND_CAP} files: look for less]"));
        }
        match found.is_empty() {
            true => Ok("(nothing is found)".to_owned()),
            false => Ok(found.join("\n")),
        }
    }
}

impl NamePattern {
    fn new(glob: &str) -> Result<Self, String> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let regex = Regex::new(&format!("^{}$", in_regex(glob)));
        Ok(Self {
            regex: regex.map_err(|_| format!("`{glob}` is not a valid glob"))?,
            is_of_name: !glob.contains('/'),
        })
    }

    fn matches(&self, path: &Path, place: &Path) -> bool {
        let name = match self.is_of_name {
            true => path.file_name().map(Path::new).unwrap_or(path),
            false => path.strip_prefix(place).unwrap_or(path),
        };
        self.regex.is_match(&name.to_string_lossy())
    }
}

/// Converts `*`, `**`, `?`, `[…]` and `{a,b}` to a regular expression.
fn in_regex(glob: &str) -> String {
    let mut regex = String::new();
    let mut rest = glob;
    let mut open = 0_u32;
    while let Some(first) = rest.chars().next() {
        let (taken, written): (usize, String) = match first {
            _ if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            _ if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '{' => {
                open += 1;
                (1, "(?:".to_owned())
            }
            '}' if open > 0 => {
                open -= 1;
                (1, ")".to_owned())
            }
            ',' if open > 0 => (1, "|".to_owned()),
            '[' => match rest.find(']') {
                Some(end) if end > 1 => (end + 1, rest[..=end].replacen("[!", "[^", 1)),
                _ => (1, r"\[".to_owned()),
            },
            other => (other.len_utf8(), regex_lite::escape(&other.to_string())),
        };
        regex.push_str(&written);
        rest = &rest[taken..];
    }
    regex.push_str(&")".repeat(open as usize));
    regex
}

/// The files below a directory, or the place itself if it is a file.
fn files_below(place: &Path) -> Result<Vec<PathBuf>, String> {
    let found = fs::metadata(place).map_err(|error| format!("{}: {error}", place.display()))?;
    if !found.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut files = match git_files(place) {
        Some(files) => files,
        None => {
            let files = source_entries(place).filter(|entry| entry.file_type().is_file());
            files.take(FILES_CAP).map(|entry| entry.into_path()).collect()
        }
    };
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files that git tracks or does not ignore; `None` outside of a repository.
fn git_files(place: &Path) -> Option<Vec<PathBuf>> {
    let mut git = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(place)
        .envs(GIT_AS_IT_IS)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut names = Vec::new();
    let listed = git.stdout.take()?;
    let read = listed.take(NAMES_CAP_BYTES).read_to_end(&mut names);
    let is_cut = names.len() as u64 == NAMES_CAP_BYTES;
    if is_cut {
        // The output was cut off, so the last name may be incomplete.
        _ = git.kill();
        names.truncate(names.iter().rposition(|byte| *byte == 0).unwrap_or_default());
    }
    let status = git.wait().ok()?;
    if read.is_err() || !(is_cut || status.success()) {
        return None;
    }
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = names
        .take(FILES_CAP)
        .map(|name| place.join(String::from_utf8_lossy(name).as_ref()));
    // Deleted files are still in the index.
    Some(paths.filter(|path| path.is_file()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (glob, path, matches) in [
            ("*.rs", "/p/src/a.rs", true),
            ("src/*.rs", "/p/src/a.rs", true),
            ("src/*.rs", "/p/src/b/a.rs", false),
            ("src/**/*.rs", "/p/src/b/c/a.rs", true),
            ("src/**/*.rs", "/p/src/a.rs", true),
            ("**", "/p/x/y", true),
            ("*.{rs,toml}", "/p/Cargo.toml", true),
            ("a?[0-9].txt", "/p/ab7.txt", true),
            ("a?[!0-9].txt", "/p/ab7.txt", false),
            ("a+(b).txt", "/p/a+(b).txt", true),
            ("{", "/p/x", false),
        ] {
            let pattern = NamePattern::new(glob).unwrap();
            assert_eq!(
                pattern.matches(Path::new(path), Path::new("/p")),
                matches,
                "{glob} {path}"
            );
        }
    }
}
