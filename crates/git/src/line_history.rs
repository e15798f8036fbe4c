//! Finds for each line of a file the checkpoint at which it first was as it is, with `git blame` on commits that git keeps
//! in a temporary repository: one commit for each state, on the one before it.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ralph_core::event::Checkpoint;
use ralph_system::files::read_bytes;

use super::{
    GitError, Repository,
    process::{self, Git},
    show::is_name,
};

/// Most bytes of the list of commits whose parents a shallow clone lacks.
const SHALLOW_BYTES: u64 = 16 << 20;

/// Settings of the user's that would change what `git blame` prints, or name files that the temporary repository lacks.
const SETTINGS: [&str; 4] = [
    "blame.ignoreRevsFile=",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.quotePath=false",
];

/// A state of the files in the history of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryState {
    pub checkpoint: Checkpoint,
    /// Whether lines that are the same in the user's HEAD are older than this state: true before an iteration, where
    /// commits of others may have arrived.
    pub has_commits_of_others: bool,
}

/// The first appearance of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineOrigin {
    /// The index of a state.
    State(usize),
    /// A change after the last state that is in no commit.
    Now,
    Commit {
        /// The full name.
        id: String,
        author: String,
        /// In seconds since the Unix epoch.
        at_s: u64,
        subject: String,
    },
}

/// A line of a file with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlamedLine {
    /// From 1.
    pub number: u32,
    pub origin: LineOrigin,
    /// Bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// The content of a file whose lines are traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlamedContent {
    /// The present content. `has_commits_of_others` as in [`HistoryState`].
    Present { has_commits_of_others: bool },
    /// The content in the last state.
    LastState,
}

impl Repository {
    /// Finds the origin of each line of `content` of `path`, relative to the root; only of line `line`, if one is given.
    /// `states` are in the order of time;
    /// those whose objects are gone are left out. Returns `None` for a file that checkpoints do not hold.
    ///
    /// # Errors
    /// [`GitError`] if the file has no such line, or if git fails.
    pub fn blame(
        &self,
        states: &[HistoryState],
        content: BlamedContent,
        path: &Path,
        line: Option<u32>,
    ) -> Result<Option<Vec<BlamedLine>>, GitError> {
        let present = match content {
            BlamedContent::Present { has_commits_of_others } => Some(self.present_state(has_commits_of_others)?),
            BlamedContent::LastState => None,
        };
        let Some(blamed) = present.as_ref().or(states.last()) else {
            return Ok(None);
        };
        let history = LineHistory::begin(self)?;
        if !history.has_file(&blamed.checkpoint.tree, path)? {
            return Ok(None);
        }
        let present_index = states.len();
        let states = history.kept(states.iter().chain(&present))?;
        let commits = history.write(&states)?;
        let name = process::path(path.as_os_str().as_bytes());
        let mut found = history.blame(commits.last(), &name, line)?;
        history.find_commits_of_others(&states, &commits, &mut found)?;
        let lines = found.into_iter().map(|found| {
            let origin = match commits.iter().position(|commit| *commit == found.commit) {
                Some(kept) => match states[kept].index {
                    index if index == present_index => LineOrigin::Now,
                    index => LineOrigin::State(index),
                },
                None => LineOrigin::Commit {
                    id: found.commit,
                    author: found.about.author,
                    at_s: found.about.at_s,
                    subject: found.about.subject,
                },
            };
            BlamedLine {
                number: found.number,
                origin,
                text: found.text,
            }
        });
        Ok(Some(lines.collect()))
    }

    fn present_state(&self, has_commits_of_others: bool) -> Result<HistoryState, GitError> {
        Ok(HistoryState {
            checkpoint: Checkpoint {
                commit: String::new(),
                tree: self.tree_of(None)?,
                head: self.present_head()?,
            },
            has_commits_of_others,
        })
    }

    fn present_head(&self) -> Result<Option<String>, GitError> {
        let git = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let output = git.run_any()?;
        output.success().then(|| output.line()).transpose()
    }
}

/// A state whose files the repository has.
#[derive(Debug, Clone, Copy)]
struct KeptState<'s> {
    /// Its index among all states.
    index: usize,
    tree: &'s str,
    head: Option<&'s str>,
    has_commits_of_others: bool,
}

/// The branch of the temporary repository.
const HISTORY: &str = "refs/heads/history";

/// A temporary repository that reads the objects of another.
struct LineHistory<'r> {
    repository: &'r Repository,
    directory: PathBuf,
}

impl LineHistory<'_> {
    fn begin(repository: &Repository) -> Result<LineHistory<'_>, GitError> {
        let directory = repository.index.with_file_name("git-history");
        let history = LineHistory { repository, directory };
        let format = match repository.id_bytes {
            20 => "sha1",
            _ => "sha256",
        };
        let init = ["init", "--quiet", "--bare", "--template=", "--object-format", format];
        let git = Git::at(&repository.supervisor, repository.root());
        git.args(init).args([&history.directory]).run()?;
        let written = history.read_objects_of_repository();
        written.map_err(|source| GitError::File {
            path: history.directory.clone(),
            source,
        })?;
        Ok(history)
    }

    fn read_objects_of_repository(&self) -> io::Result<()> {
        let common = &self.repository.layout.common_dir;
        fs::create_dir_all(self.directory.join("objects/info"))?;
        let objects = [common.join("objects").as_os_str().as_bytes(), b"\n"].concat();
        fs::write(self.directory.join("objects/info/alternates"), objects)?;
        // Without it, git would look for the parents that a shallow clone lacks.
        match read_bytes(&common.join("shallow"), SHALLOW_BYTES) {
            Ok(shallow) => fs::write(self.directory.join("shallow"), shallow),
            Err(_) => Ok(()), // the clone is whole, or git says what is missing
        }
    }

    fn git(&self) -> Git {
        let git = Git::at(&self.repository.supervisor, &self.directory);
        SETTINGS
            .into_iter()
            .fold(git, Git::setting)
            .env("GIT_DIR", &self.directory)
    }

    /// Returns the states whose objects the repository still has. Heads that it does not have are left out.
    fn kept<'s>(&self, states: impl Iterator<Item = &'s HistoryState>) -> Result<Vec<KeptState<'s>>, GitError> {
        let states: Vec<&HistoryState> = states.collect();
        let names = states.iter().flat_map(|state| {
            let Checkpoint { tree, head, .. } = &state.checkpoint;
            [Some(tree), head.as_ref()].into_iter().flatten()
        });
        let asked: String = names
            .filter(|name| is_name(name))
            .map(|name| format!("{name}\n"))
            .collect();
        let check = ["cat-file", "--batch-check=%(objectname)"];
        let output = self.git().args(check).input(asked.into_bytes()).run()?;
        let text = String::from_utf8_lossy(&output.stdout);
        // A missing object has the word `missing` after its name.
        let known: HashSet<&str> = text.lines().collect();
        let kept = states.into_iter().enumerate().filter_map(|(index, state)| {
            let Checkpoint { tree, head, .. } = &state.checkpoint;
            known.contains(tree.as_str()).then(|| KeptState {
                index,
                tree,
                head: head.as_deref().filter(|head| known.contains(head)),
                has_commits_of_others: state.has_commits_of_others,
            })
        });
        Ok(kept.collect())
    }

    /// Writes a commit for each state; returns their names. A state follows the latest one with the same files, because
    /// files that were restored are as old as they were before; otherwise, it follows the one before it.
    fn write(&self, states: &[KeptState<'_>]) -> Result<Vec<String>, GitError> {
        let mut latest: HashMap<&str, usize> = HashMap::new();
        let parents = states.iter().enumerate().map(|(index, state)| {
            let same = latest.insert(state.tree, index);
            let parent = same.or(index.checked_sub(1))?;
            Some(format!(":{}", parent + 1))
        });
        let parents: Vec<Option<String>> = parents.collect();
        self.import(states.iter().copied().zip(parents))
    }

    /// Writes commits of states, each with its parent; returns their names.
    fn import<'s>(
        &self,
        states: impl Iterator<Item = (KeptState<'s>, Option<String>)>,
    ) -> Result<Vec<String>, GitError> {
        let mut stream = String::new();
        let mut mark = 0;
        for (state, parent) in states {
            mark += 1;
            stream += &format!(
                "reset {HISTORY}\ncommit {HISTORY}\nmark :{mark}\ncommitter ralph <ralph@localhost> {mark} +0000\ndata 0\n"
            );
            if let Some(parent) = parent {
                stream += &format!("from {parent}\n");
            }
            // The path of the root is empty.
            stream += &format!("M 040000 {} \n", state.tree);
        }
        let marks = self.directory.join("marks");
        let import = ["fast-import", "--quiet", "--date-format=raw", "--force"];
        let export = format!("--export-marks={}", marks.display());
        let git = self.git().args(import).args([export]).input(stream.into_bytes());
        git.run()?;
        let failed = |source| GitError::File {
            path: marks.clone(),
            source,
        };
        let text = fs::read_to_string(&marks).map_err(failed)?;
        let mut commits: Vec<(usize, String)> = text.lines().filter_map(read_mark).collect();
        commits.sort();
        match commits.len() == mark {
            true => Ok(commits.into_iter().map(|(_, commit)| commit).collect()),
            false => Err(failed(io::Error::other("git has written other commits"))),
        }
    }

    /// Blames lines of a file as it is in `commit`, given in ascending order; all of them, if none is given.
    fn blame(
        &self,
        commit: Option<&String>,
        path: &Path,
        lines: impl IntoIterator<Item = u32>,
    ) -> Result<Vec<FoundLine>, GitError> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for line in lines {
            match ranges.last_mut().filter(|(_, end)| line - *end <= 1) {
                Some((_, end)) => *end = line,
                None => ranges.push((line, line)),
            }
        }
        let lines = ranges.into_iter().map(|(start, end)| format!("-L{start},{end}"));
        let git = self.git().args(["blame", "--porcelain"]).args(lines).args(commit);
        let output = git.args(["--"]).args([path]).run()?;
        read_blame(&output.stdout).ok_or_else(|| output.unexpected())
    }

    /// Replaces the state of each line that arrived with a commit of somebody else by that commit. A line that an agent wrote
    /// before somebody committed it has an earlier state, and keeps it.
    fn find_commits_of_others(
        &self,
        states: &[KeptState<'_>],
        commits: &[String],
        found: &mut [FoundLine],
    ) -> Result<(), GitError> {
        for (state, commit) in states.iter().zip(commits) {
            let Some(head) = state.head else { continue };
            let is_of_state = |line: &&mut FoundLine| state.has_commits_of_others && line.commit == *commit;
            let mut files: HashMap<PathBuf, Vec<&mut FoundLine>> = HashMap::new();
            for line in found.iter_mut().filter(is_of_state) {
                files.entry(line.path.clone()).or_default().push(line);
            }
            if files.is_empty() {
                continue;
            }
            let on_head = self.import([(*state, Some(head.to_owned()))].into_iter())?;
            for (path, mut lines) in files {
                lines.sort_by_key(|line| line.number_there);
                let numbers = lines.iter().map(|line| line.number_there);
                let blamed = self.blame(on_head.first(), &path, numbers)?;
                for (line, blamed) in lines.into_iter().zip(blamed) {
                    if !on_head.contains(&blamed.commit) {
                        line.commit = blamed.commit;
                        line.about = blamed.about;
                    }
                }
            }
        }
        Ok(())
    }

    fn has_file(&self, tree: &str, path: &Path) -> Result<bool, GitError> {
        let name = [tree.as_bytes(), b":", path.as_os_str().as_bytes()].concat();
        let check = self.git().args(["cat-file", "-t"]).args([process::path(&name)]);
        let output = check.run_any()?;
        Ok(output.success() && output.line().is_ok_and(|kind| kind == "blob"))
    }
}

/// A line in the output of `git blame`.
pub(super) struct FoundLine {
    number: u32,
    /// Its number in the file as `commit` has it.
    number_there: u32,
    commit: String,
    about: CommitDetails,
    /// The file's name in `commit`.
    path: PathBuf,
    text: String,
}

#[derive(Debug, Clone, Default)]
struct CommitDetails {
    author: String,
    at_s: u64,
    subject: String,
}

/// Parses a line `:MARK COMMIT`.
fn read_mark(line: &str) -> Option<(usize, String)> {
    let (mark, commit) = line.strip_prefix(':')?.split_once(' ')?;
    Some((mark.parse().ok()?, commit.to_owned()))
}

/// Parses the output of `git blame --porcelain`; `None` for output of another form.
pub(super) fn read_blame(printed: &[u8]) -> Option<Vec<FoundLine>> {
    let mut known: HashMap<String, (CommitDetails, PathBuf)> = HashMap::new();
    let mut found = Vec::new();
    let mut lines = printed.split(|&byte| byte == b'\n');
    while let Some(head) = lines.next().filter(|head| !head.is_empty()) {
        let mut words = str::from_utf8(head).ok()?.split(' ');
        let commit = words.next()?.to_owned();
        let (number_there, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        // git tells of a commit at its first line only.
        let (about, path) = known.entry(commit.clone()).or_default();
        let text = loop {
            let line = lines.next()?;
            if let Some(text) = line.strip_prefix(b"\t") {
                break String::from_utf8_lossy(text).into_owned();
            }
            let value = |name: &str| line.strip_prefix(name.as_bytes());
            let text = |value| String::from_utf8_lossy(value).into_owned();
            if let Some(author) = value("author ") {
                about.author = text(author);
            } else if let Some(at) = value("author-time ") {
                about.at_s = text(at).parse().ok()?;
            } else if let Some(subject) = value("summary ") {
                about.subject = text(subject);
            } else if let Some(name) = value("filename ") {
                *path = process::path(&unquoted(name));
            }
        };
        found.push(FoundLine {
            number,
            number_there,
            commit,
            about: about.clone(),
            path: path.clone(),
            text,
        });
    }
    Some(found)
}

/// Decodes a name that git has quoted as in C, because it has quotation marks or control characters.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(quoted) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = quoted.iter().copied();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 11,
            Some(b'f') => 12,
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'3') => {
                let digits = [Some(digit), rest.next(), rest.next()];
                let digits = digits.map(|digit| digit.unwrap_or(b'0').wrapping_sub(b'0') & 7);
                digits[0] << 6 | digits[1] << 3 | digits[2]
            }
            Some(other) => other,
        });
    }
    bytes
}
