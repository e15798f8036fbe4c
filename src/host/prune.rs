//! Lets go of old runs: their directories and their checkpoints.

use std::{fs, io};

use thiserror::Error;

use super::{
    git::{GitError, NoRepository, Repository},
    journal,
    paths::ProjectPaths,
};
use crate::event::{Event, RunId};

/// Why an old run is still there.
#[derive(Debug, Error)]
pub enum PruneError {
    #[error("old runs are not deleted")]
    NoRepository(#[source] NoRepository),
    #[error("the checkpoints of the old run {run} are not deleted")]
    Checkpoints {
        run: RunId,
        #[source]
        source: GitError,
    },
    #[error("the old run {run} is not deleted")]
    Files {
        run: RunId,
        #[source]
        source: io::Error,
    },
}

/// Deletes all but the latest `keep` runs, and returns what could not be deleted.
///
/// Neither `running` nor the latest run that came to an end is deleted, however few are to be kept.
pub fn prune(paths: &ProjectPaths, running: &RunId, keep: u32) -> Vec<PruneError> {
    let superfluous = superfluous(paths, running, keep);
    if superfluous.is_empty() {
        return Vec::new();
    }
    let scratch = paths.run(running).scratch();
    let repository = match Repository::discover(paths.project(), &scratch) {
        Ok((repository, _)) => Some(repository),
        // Without git nothing can be said about checkpoints; with the runs kept, the next start tries again.
        Err(error @ (NoRepository::NoGit | NoRepository::Unreadable(_))) => {
            return vec![PruneError::NoRepository(error)];
        }
        Err(_) => None,
    };
    let forget = |run| delete(paths, repository.as_ref(), run).err();
    superfluous.into_iter().filter_map(forget).collect()
}

/// Deletes one run, the checkpoints first: without its directory nobody would know of it any more.
fn delete(paths: &ProjectPaths, repository: Option<&Repository>, run: RunId) -> Result<(), PruneError> {
    if let Some(Err(source)) = repository.map(|repository| repository.forget(&run)) {
        return Err(PruneError::Checkpoints { run, source });
    }
    match fs::remove_dir_all(paths.run(&run).dir()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(PruneError::Files { run, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The runs to delete, oldest first.
fn superfluous(paths: &ProjectPaths, running: &RunId, keep: u32) -> Vec<RunId> {
    let mut runs = paths.run_ids();
    // What else somebody put there is not ralph's to delete.
    runs.retain(is_own);
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let beyond = runs.len().saturating_sub(keep);
    if beyond == 0 {
        return Vec::new();
    }
    let last_ended = runs
        .iter()
        .rev()
        .find(|run| *run != running && has_ended(paths, run))
        .cloned();
    runs.truncate(beyond);
    runs.retain(|run| run != running && Some(run) != last_ended.as_ref());
    runs
}

fn is_own(run: &RunId) -> bool {
    let parts: Vec<&str> = run.0.split('-').collect();
    let digits = |part: &str, len: usize| part.len() == len && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts[..], [date, time, rest] if digits(date, 8) && digits(time, 6) && digits(rest, 5))
}

fn has_ended(paths: &ProjectPaths, run: &RunId) -> bool {
    let records = journal::read(&paths.run(run).journal()).map(|(records, _)| records);
    let last = records.ok().and_then(|mut records| records.pop());
    matches!(last.map(|record| record.event), Some(Event::RunStopped { .. }))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{
        event::{StopReason, Totals},
        host::journal::Journal,
    };

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
                if *ended == Ended::Yes {
                    let end = Event::RunStopped {
                        reason: StopReason::Requested,
                        hints: Vec::new(),
                        totals: Totals::default(),
                    };
                    journal.append(0, end).unwrap();
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
        No,
    }

    /// A run that began in the given second.
    fn id(second: &str) -> RunId {
        RunId(format!("20260101-00000{second}-000ab"))
    }

    #[test]
    fn the_latest_runs_are_kept() {
        let runs = Runs::new(&[
            ("1", Ended::Yes),
            ("2", Ended::Yes),
            ("3", Ended::Yes),
            ("4", Ended::No),
        ]);
        assert!(prune(&runs.paths, &id("4"), 2).is_empty());
        assert_eq!(runs.left(), ["3", "4"]);
    }

    #[test]
    fn neither_the_running_run_nor_the_last_one_that_ended_is_deleted() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No), ("4", Ended::No)]);
        assert!(prune(&runs.paths, &id("3"), 1).is_empty());
        assert_eq!(runs.left(), ["2", "3", "4"]);
    }

    #[test]
    fn what_is_no_run_is_left_alone() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No)]);
        let mine = runs.paths.runs().join("my-notes");
        fs::create_dir(&mine).unwrap();
        prune(&runs.paths, &id("3"), 1);
        assert!(mine.is_dir());
        assert!(!runs.paths.run(&id("1")).dir().is_dir());
    }

    #[test]
    fn what_cannot_be_deleted_is_said() {
        let runs = Runs::new(&[("1", Ended::Yes), ("2", Ended::Yes), ("3", Ended::No)]);
        fs::remove_dir_all(runs.paths.run(&id("1")).dir()).unwrap();
        fs::write(runs.paths.run(&id("1")).dir(), "a file in its place").unwrap();
        let said = prune(&runs.paths, &id("3"), 2);
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["the old run 20260101-000001-000ab is not deleted"]);
        assert!(Path::new(runs.paths.run(&id("1")).dir()).is_file());
    }
}
