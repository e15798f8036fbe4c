//! Renders the changes between two checkpoints for people, and deletes a run's checkpoints.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_core::event::{Checkpoint, RunId};

use super::{
    CheckpointPosition, GitError, Moment, Repository,
    patch::with_plan_last,
    process::{Git, nul_separated},
    restore::no_checkpoint,
    store::CHECKPOINTS,
};

/// Most commits that are listed for one iteration.
const COMMITS: &str = "--max-count=50";
const MOST_COMMITS: usize = 50;

/// Most bytes of a rendered difference. A person reads no more, and a program can ask git.
const DIFFERENCE_BYTES: usize = 8 << 20;
/// Most bytes of the subjects of commits.
const SUBJECTS_BYTES: usize = 1 << 20;

/// Longest time for listing the commits of a run. git waits for ever where one of its files is a pipe.
const LISTING_DEADLINE: Duration = Duration::from_secs(20);

/// Most bytes of the names of files.
const NAMES_BYTES: usize = 64 << 10;

/// How a difference is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffDetail {
    Patch,
    /// Files and counts of lines, at most so many columns wide.
    Stat {
        columns: u16,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffColour {
    Yes,
    No,
}

/// The checkpoints before and after iterations.
#[derive(Debug)]
pub struct IterationCheckpoints {
    pub before: Checkpoint,
    pub after: AfterCheckpoint,
}

/// The checkpoint after an iteration.
#[derive(Debug)]
pub enum AfterCheckpoint {
    Checkpoint(Checkpoint),
    /// The last iteration of the run has no checkpoint after it: it is running or was interrupted. Holds the error for
    /// the second case.
    NotYet(GitError),
}

/// A rendered difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedDiff {
    pub bytes: Vec<u8>,
    /// The command that shows all of it, if `bytes` is only the beginning.
    pub whole: Option<String>,
}

/// A commit in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Abbreviated.
    pub id: String,
    pub subject: String,
}

/// Arguments of `git log` for at most 50 commits.
pub(super) const LOG: [&str; 5] = ["log", "--no-color", "--no-show-signature", "--format=%h%x09%s", COMMITS];

/// Arguments of `git log` for many commits with their parents; missing commits are left out.
const LOG_OF_CHAINS: [&str; 7] = [
    "log",
    "--no-color",
    "--no-show-signature",
    "--format=%H %P%x09%h%x09%s",
    "--max-count=50000",
    "--ignore-missing",
    "--stdin",
];

/// Most bytes that are read of its output, which has the newest commits first.
const CHAINS_BYTES: usize = 16 << 20;

/// Commits by their full names, each with its parent if it has exactly one.
#[derive(Debug, Default)]
pub(super) struct CommitChains(HashMap<String, (Option<String>, Commit)>);

impl CommitChains {
    fn read(printed: &[u8]) -> Self {
        let text = String::from_utf8_lossy(printed);
        let commits = text.lines().filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            let (names, id, subject) = (fields.next()?, fields.next()?, fields.next()?);
            let mut names = names.split_whitespace();
            let name = names.next()?.to_owned();
            let parent = names.next().filter(|_| names.next().is_none()).map(str::to_owned);
            let (id, subject) = (id.to_owned(), subject.to_owned());
            Some((name, (parent, Commit { id, subject })))
        });
        Self(commits.collect())
    }

    /// Returns the same as [`Repository::commits_between`]; `None` unless a few commits with one parent each connect
    /// the two.
    pub(super) fn between(&self, from: &Checkpoint, to: &Checkpoint) -> Option<Vec<Commit>> {
        let (from, mut at) = (from.head.as_ref()?, to.head.as_ref()?);
        let mut commits = Vec::new();
        while at != from {
            let (parent, commit) = self.0.get(at).filter(|_| commits.len() < MOST_COMMITS)?;
            commits.push(commit.clone());
            at = parent.as_ref()?;
        }
        commits.reverse();
        Some(commits)
    }
}

/// Parses the output of [`LOG`]; the commits are returned oldest first.
pub(super) fn oldest_first(printed: &[u8]) -> Vec<Commit> {
    let text = String::from_utf8_lossy(printed);
    let commits = text.lines().filter_map(|line| {
        let (id, subject) = line.split_once('\t')?;
        Some(Commit {
            id: id.to_owned(),
            subject: subject.to_owned(),
        })
    });
    let mut commits: Vec<Commit> = commits.collect();
    commits.reverse();
    commits
}

impl Repository {
    /// Finds the checkpoints around iteration `n` of a run, by default the last one that has ended. With `since`, the
    /// first checkpoint is that before iteration `since`.
    ///
    /// # Errors
    /// [`GitError::NoCheckpoint`] names a missing checkpoint; [`GitError::Later`] if `since` comes after `n`.
    pub fn around(&self, run: &RunId, since: Option<u32>, n: Option<u32>) -> Result<IterationCheckpoints, GitError> {
        let saved = self.list(run)?;
        let iterations = saved.iter().filter_map(|saved| match saved.position {
            CheckpointPosition::Iteration { n, moment } => Some((n, moment)),
            CheckpointPosition::Restore { .. } => None,
        });
        let ended = iterations.clone().filter(|(_, moment)| *moment == Moment::After);
        let n = n.or_else(|| ended.map(|(n, _)| n).max()).unwrap_or(1);
        let since = since.unwrap_or(n);
        if since > n {
            return Err(GitError::Later { since, n });
        }
        let find = |n, moment| {
            let place = CheckpointPosition::Iteration { n, moment };
            let found = saved.iter().find(|saved| saved.position == place);
            found
                .map(|saved| saved.checkpoint.clone())
                .ok_or_else(|| no_checkpoint(&saved, run, n, moment))
        };
        let before = find(since, Moment::Before)?;
        let is_last = iterations.map(|(n, _)| n).max() == Some(n);
        let after = match find(n, Moment::After) {
            Ok(after) => AfterCheckpoint::Checkpoint(after),
            Err(why) if is_last => AfterCheckpoint::NotYet(why),
            Err(why) => return Err(why),
        };
        Ok(IterationCheckpoints { before, after })
    }

    /// Renders the difference from one checkpoint to another, or to the present files, as git prints it, up to 8 MiB: that of
    /// `only` some paths below the root, or of all where it is empty; the plan comes last. The contents of files are not escaped.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn difference(
        &self,
        from: &Checkpoint,
        to: Option<&Checkpoint>,
        detail: DiffDetail,
        colour: DiffColour,
        only: &[PathBuf],
        plan: &Path,
    ) -> Result<RenderedDiff, GitError> {
        let to = self.tree_of(to)?;
        let is_patch = detail == DiffDetail::Patch;
        let detail = match detail {
            DiffDetail::Patch => "--patch".to_owned(),
            DiffDetail::Stat { columns } => format!("--stat={columns}"),
        };
        let colour = match colour {
            DiffColour::Yes => "--color=always",
            DiffColour::No => "--color=never",
        };
        let args = [
            "diff-tree",
            "-r",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
            detail.as_str(),
            colour,
        ];
        let git = self.store_git().output_cap(DIFFERENCE_BYTES).args(args);
        let only_these = only.iter().map(|path| format!(":(literal){}", path.display()));
        let mut output = git.args([&from.tree, &to]).args(["--"]).args(only_these).run()?;
        if is_patch && only.is_empty() {
            let left = DIFFERENCE_BYTES.saturating_sub(output.stdout.len());
            output.stdout.extend(self.nested_patches(&from.tree, &to, &args, left)?);
        }
        with_plan_last(&mut output, plan);
        let whole = format!("{} diff {:.12} {to:.12}", self.store_git_in_words(), from.tree);
        Ok(RenderedDiff {
            bytes: output.stdout,
            whole: output.cut.then_some(whole),
        })
    }

    /// Returns the paths that differ between two checkpoints, cut after a bound.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a checkpoint is gone.
    pub fn names_between(&self, from: &Checkpoint, to: &Checkpoint) -> Result<Vec<String>, GitError> {
        if from.tree == to.tree {
            return Ok(Vec::new());
        }
        let git = self
            .store_git()
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames"]);
        let output = git.output_cap(NAMES_BYTES).args([&from.tree, &to.tree]).run()?;
        let names = nul_separated(&output.stdout);
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Lists the commits that HEAD reached at `to` and did not at `from`, oldest first; at most the latest 50.
    ///
    /// # Errors
    /// [`GitError::Refused`] when a commit is gone.
    pub(super) fn commits_within(
        &self,
        time: Duration,
        from: &Checkpoint,
        to: &Checkpoint,
    ) -> Result<Vec<Commit>, GitError> {
        let Some(head) = to.head.as_ref().filter(|_| from.head != to.head) else {
            return Ok(Vec::new());
        };
        let mut git = self.git().deadline(time).args(LOG).args([head]);
        if let Some(head) = &from.head {
            git = git.args([format!("^{head}")]);
        }
        let output = git.output_cap(SUBJECTS_BYTES).run()?;
        Ok(oldest_first(&output.stdout))
    }

    /// Lists the commits that HEAD reached in each of several spans, oldest first; at most the latest 50 of each. One git process
    /// answers for all spans without merges, because a process for each of thousands would take seconds.
    pub fn commits_of_each(&self, spans: &[(Checkpoint, Checkpoint)]) -> Vec<Vec<Commit>> {
        let until = Instant::now() + LISTING_DEADLINE;
        let chains = self.chains(spans);
        let asked = |from, to| {
            let left = until.saturating_duration_since(Instant::now());
            (!left.is_zero()).then(|| self.commits_within(left, from, to).ok())?
        };
        let commits = spans.iter().map(|(from, to)| {
            let known = chains.between(from, to);
            known.or_else(|| asked(from, to)).unwrap_or_default()
        });
        commits.collect()
    }

    /// Reads the commits between the ends of all spans; spans that it cannot answer are then asked for one by one.
    pub(super) fn chains(&self, spans: &[(Checkpoint, Checkpoint)]) -> CommitChains {
        let since = spans.first().and_then(|(from, _)| from.head.as_deref());
        let ends = spans.iter().filter_map(|(_, to)| to.head.as_deref());
        let mut asked: String = ends.filter(|end| is_name(end)).map(|end| format!("{end}\n")).collect();
        if asked.is_empty() {
            return CommitChains::default();
        }
        if let Some(since) = since.filter(|since| is_name(since)) {
            asked += &format!("^{since}\n");
        }
        let git = self
            .git()
            .deadline(LISTING_DEADLINE)
            .args(LOG_OF_CHAINS)
            .input(asked.into_bytes());
        let output = git.output_cap(CHAINS_BYTES).run();
        output.map_or_else(|_| CommitChains::default(), |output| CommitChains::read(&output.stdout))
    }

    /// Deletes the checkpoints of a run; [`Repository::collect`] then deletes the objects that only they needed.
    ///
    /// # Errors
    /// [`GitError`]; the remaining checkpoints still exist then.
    pub fn forget(&self, run: &RunId) -> Result<(), GitError> {
        self.verify(&mut self.state.lock())?;
        self.forget_nested(run)?;
        // Checkpoints from before there was a store are in the repository itself.
        let list = ["for-each-ref", "--format=delete %(refname)"];
        let prefix = format!("{CHECKPOINTS}{run}/");
        let places: [fn(&Repository) -> Git; 2] = [Repository::git, Repository::store_git];
        let has_store = self.store.as_ref().is_some_and(|store| store.exists());
        for git in &places[..1 + usize::from(has_store)] {
            let output = git(self).args(list).args([&prefix]).run()?;
            delete_references(git(self), output.stdout)?;
        }
        Ok(())
    }
}

/// Whether `name` is the full name of an object: git would take other lines for options or revisions.
fn is_name(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Deletes references, each given as a line `delete NAME`. A symbolic reference is deleted itself, not its target: an
/// agent may have pointed it at a branch of the user's.
pub(super) fn delete_references(git: Git, lines: Vec<u8>) -> Result<(), GitError> {
    if lines.is_empty() {
        return Ok(());
    }
    git.args(["update-ref", "--no-deref", "--stdin"])
        .input(lines)
        .run()
        .map(drop)
}
