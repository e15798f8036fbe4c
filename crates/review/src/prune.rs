//! Deletes old runs: their directories and their checkpoints.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use ralph_core::{event::RunId, run::is_message_left};
use ralph_git::{GitError, NoRepository, Repository};
use ralph_state::store::journal::read_view;
use ralph_system::{
    paths::{ProjectPaths, RunPaths},
    proc::Supervisor,
};
use thiserror::Error;

/// Why an old run was not deleted.
#[derive(Debug, Error)]
pub enum PruneError {
    #[error("old runs are not deleted")]
    NoRepository(#[source] NoRepository),
    #[error("the checkpoints of the old run {run} are not deleted")]
    Checkpoints { run: RunId, source: GitError },
    #[error("the old run {run} is not deleted")]
    Files { run: RunId, source: io::Error },
}

/// The limits for runs that are kept; `None` means no such limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionLimits {
    /// The number of latest runs.
    pub runs: Option<u32>,
    /// Most time since a run's last record.
    pub age: Option<Duration>,
    /// Most bytes of the files of all runs, the latest first; the store of the checkpoints is not counted.
    pub size_bytes: Option<u64>,
}

/// Deletes the runs that exceed the limits of `keep` at `now`, and returns the failures.
///
/// Never deletes `running` or the latest run that has ended.
pub fn prune(
    paths: &ProjectPaths,
    running: &RunId,
    keep: RetentionLimits,
    now: SystemTime,
    supervisor: &Supervisor,
) -> Vec<PruneError> {
    let superfluous = superfluous(paths, running, keep, now);
    if superfluous.is_empty() {
        return Vec::new();
    }
    let scratch = paths.run(running).scratch();
    let repository = match Repository::discover_or_store(paths.project(), &scratch, &paths.states(), supervisor) {
        Ok((repository, _)) => Some(repository),
        // Without git the checkpoints cannot be deleted; the runs are kept, so that the next start tries again.
        Err(
            error @ (NoRepository::NoGit
            | NoRepository::Unreadable(_)
            | NoRepository::WorkTreeElsewhere { .. }
            | NoRepository::ReferencesElsewhere { .. }
            | NoRepository::ForeignGitDirectory { .. }),
        ) => {
            return vec![PruneError::NoRepository(error)];
        }
        Err(_) => None,
    };
    let forget = |run| delete(paths, repository.as_ref(), run).err();
    let failures = superfluous.into_iter().filter_map(forget).collect();
    if let Some(repository) = repository {
        repository.collect();
    }
    failures
}

/// Deletes one run, the checkpoints first: without its directory they would never be found again.
fn delete(paths: &ProjectPaths, repository: Option<&Repository>, run: RunId) -> Result<(), PruneError> {
    if let Some(Err(source)) = repository.map(|repository| repository.forget(&run)) {
        return Err(PruneError::Checkpoints { run, source });
    }
    match fs::remove_dir_all(paths.run(&run).dir()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(PruneError::Files { run, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the runs to delete, oldest first.
fn superfluous(paths: &ProjectPaths, running: &RunId, keep: RetentionLimits, now: SystemTime) -> Vec<RunId> {
    let mut runs = paths.run_ids();
    // Other entries of the directory are not ralph's to delete.
    runs.retain(is_own);
    let mut kept = 0;
    let mut bytes: u64 = 0;
    let first_kept = runs.iter().rposition(|run| {
        kept += 1;
        let files = paths.run(run);
        let is_beyond = |limit: Option<u64>, value: &mut dyn FnMut() -> u64| limit.is_some_and(|limit| value() > limit);
        is_beyond(keep.runs.map(u64::from), &mut || kept)
            || keep.age.is_some_and(|age| age_of(&files, now) > age)
            || is_beyond(keep.size_bytes, &mut || {
                bytes = bytes.saturating_add(size_of(files.dir()));
                bytes
            })
    });
    // All runs older than one that is not kept are deleted as well.
    let Some(last) = first_kept else { return Vec::new() };
    let last_ended = runs
        .iter()
        .rev()
        .find(|run| *run != running && has_ended(paths, run))
        .cloned();
    runs.truncate(last + 1);
    runs.retain(|run| run != running && Some(run) != last_ended.as_ref());
    runs
}

/// Time since the last record; zero if the journal has no time, or a future one.
fn age_of(files: &RunPaths, now: SystemTime) -> Duration {
    let last = fs::metadata(files.journal()).and_then(|meta| meta.modified());
    last.ok()
        .and_then(|last| now.duration_since(last).ok())
        .unwrap_or_default()
}

/// Returns the bytes of the files below `dir`. Unreadable files do not count.
pub fn size_of(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => size_of(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Whether it is a run's id: the time and a suffix for runs of the same second, which was shorter in early versions.
fn is_own(run: &RunId) -> bool {
    let parts: Vec<&str> = run.0.split('-').collect();
    let digits = |part: &str, len: usize| part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts[..], [date, time, rest] if digits(date, 8) && digits(time, 6) && (digits(rest, 19) || digits(rest, 5)))
}

fn has_ended(paths: &ProjectPaths, run: &RunId) -> bool {
    read_view(paths, run).is_ok_and(|view| view.is_over() && !is_message_left(&view.messages))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ralph_core::event::{BackgroundEnd, BackgroundEvent, BackgroundResult, Event, RunEvent, StopReason, Totals};
    use ralph_state::store::journal::Journal;

    use super::*;

    struct Runs {
        _dir: tempfile::TempDir,
        paths: ProjectPaths,
    }

    impl Runs {
        fn new(runs: &[(&str, Ended)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let project = dir.path().join("project");
            fs::create_dir(&project).unwrap();
            let paths = ProjectPaths::new(&project, Some(&dir.path().join("state"))).unwrap();
            for (name, ended) in runs {
                let run = id(name);
                paths.run(&run).create().unwrap();
                let (mut journal, _) = Journal::create(&paths.run(&run).journal(), 0, &run).unwrap();
                if *ended != Ended::No {
                    let end = Event::Run(RunEvent::Stopped {
                        reason: StopReason::Requested,
                        hints: Vec::new().into(),
                        totals: Totals::default(),
                    });
                    journal.append(0, end).unwrap();
                }
                if *ended == Ended::BeforeItsTask {
                    let result = BackgroundResult {
                        end: BackgroundEnd::RunOver,
                        duration_ms: 1,
                        output_bytes: 0,
                        tail: "".into(),
                    };
                    journal
                        .append(0, Event::Background(BackgroundEvent::Ended { number: 1, result }))
                        .unwrap();
                }
            }
            Runs { _dir: dir, paths }
        }

        fn left(&self) -> Vec<String> {
            self.paths
                .run_ids()
                .into_iter()
                .map(|run| run.0[14..15].to_owned())
                .collect()
        }
    }

    #[derive(PartialEq)]
    enum Ended {
        Yes,
        /// A background task of the run ended after it.
        BeforeItsTask,
        No,
    }

    /// Returns the id of a run that began in the given second.
    fn id(second: &str) -> RunId {
        RunId(format!("20260101-00000{second}-000ab"))
    }

    fn latest(runs: &Runs, running: &str, keep: u32) -> Vec<PruneError> {
        let keep = RetentionLimits {
            runs: Some(keep),
            ..RetentionLimits::default()
        };
        prune(
            &runs.paths,
            &id(running),
            keep,
            SystemTime::now(),
            &Supervisor::default(),
        )
    }

    #[test]
    fn the_latest_runs_are_kept() {
        let runs = Runs::new(&[
            ("1", Ended::Yes),
            ("2", Ended::Yes),
            ("3", Ended::Yes),
            ("4", Ended::No),
        ]);
        assert!(latest(&runs, "4", 2).is_empty());
        assert_eq!(runs.left(), ["3", "4"]);
    }

    #[test]
    fn neither_the_running_run_nor_the_last_one_that_ended_is_deleted() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No), ("4", Ended::No)]);
        assert!(latest(&runs, "3", 1).is_empty());
        assert_eq!(runs.left(), ["2", "3", "4"]);
    }

    #[test]
    fn a_run_whose_background_task_ended_after_it_has_ended() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::BeforeItsTask), ("3", Ended::No)]);
        assert!(latest(&runs, "3", 1).is_empty());
        assert_eq!(runs.left(), ["2", "3"]);
    }

    #[test]
    fn what_is_no_run_is_left_alone() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No)]);
        let mine = runs.paths.runs().join("my-notes");
        fs::create_dir(&mine).unwrap();
        latest(&runs, "3", 1);
        assert!(mine.is_dir());
        assert!(!runs.paths.run(&id("1")).dir().is_dir());
    }

    #[test]
    fn what_cannot_be_deleted_is_said() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No)]);
        fs::remove_dir_all(runs.paths.run(&id("1")).dir()).unwrap();
        fs::write(runs.paths.run(&id("1")).dir(), "a file in its place").unwrap();
        let said = latest(&runs, "3", 2);
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["the old run 20260101-000001-000ab is not deleted"]);
        assert!(Path::new(runs.paths.run(&id("1")).dir()).is_file());
    }
    #[test]
    fn runs_in_which_nothing_happened_for_long_are_not_kept() {
        let runs = Runs::new(&[
            ("1", Ended::Yes),
            ("2", Ended::Yes),
            ("3", Ended::Yes),
            ("4", Ended::No),
        ]);
        let day = Duration::from_secs(24 * 60 * 60);
        let now = SystemTime::now();
        for (run, days) in [("1", 40), ("2", 20), ("3", 40)] {
            let journal = runs.paths.run(&id(run)).journal();
            let file = fs::File::options().append(true).open(journal).unwrap();
            file.set_modified(now - days * day).unwrap();
        }
        let keep = RetentionLimits {
            age: Some(30 * day),
            ..RetentionLimits::default()
        };
        assert!(prune(&runs.paths, &id("4"), keep, now, &Supervisor::default()).is_empty());
        assert_eq!(
            runs.left(),
            ["3", "4"],
            "the third is too old, and the last one that ended"
        );
        let younger = RetentionLimits {
            age: Some(50 * day),
            ..RetentionLimits::default()
        };
        assert!(prune(&runs.paths, &id("4"), younger, now, &Supervisor::default()).is_empty());
        assert_eq!(runs.left(), ["3", "4"]);
    }

    #[test]
    fn the_oldest_runs_are_not_kept_when_all_of_them_are_too_large() {
        let runs = Runs::new(&[
            ("1", Ended::Yes),
            ("2", Ended::Yes),
            ("3", Ended::Yes),
            ("4", Ended::No),
        ]);
        for run in ["1", "2", "3"] {
            fs::write(runs.paths.run(&id(run)).recording(1), vec![0; 100_000]).unwrap();
        }
        let size = |bytes| RetentionLimits {
            size_bytes: Some(bytes),
            ..RetentionLimits::default()
        };
        assert!(
            prune(
                &runs.paths,
                &id("4"),
                size(400_000),
                SystemTime::now(),
                &Supervisor::default()
            )
            .is_empty()
        );
        assert_eq!(runs.left(), ["1", "2", "3", "4"]);
        assert!(
            prune(
                &runs.paths,
                &id("4"),
                size(250_000),
                SystemTime::now(),
                &Supervisor::default()
            )
            .is_empty()
        );
        assert_eq!(runs.left(), ["2", "3", "4"]);
        assert!(
            prune(
                &runs.paths,
                &id("4"),
                size(1),
                SystemTime::now(),
                &Supervisor::default()
            )
            .is_empty()
        );
        assert_eq!(runs.left(), ["3", "4"], "the last one that ended stays");
    }
}
