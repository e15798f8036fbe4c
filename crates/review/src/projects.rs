//! The projects of a user, found by their state directories below one root.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use parking_lot::Mutex;
use ralph_core::event::{Event, RunEvent, RunId};
use ralph_state::store::{journal::JournalReader, lock};
use ralph_system::paths::{ProjectPaths, States};

use super::{RunCache, RunEntry};

/// Maximum number of projects without a live run that are listed; live runs are always listed.
const LISTED: usize = 100;

/// Number of records at the start of a journal that may name the project: usually the second does.
const FIRST_RECORDS: usize = 8;

/// All projects of a user.
#[derive(Debug)]
pub struct Projects {
    root: PathBuf,
    /// The known projects by state directory.
    known: Mutex<HashMap<PathBuf, ProjectPaths>>,
}

impl Projects {
    /// The projects whose state directories are below `root`.
    pub fn below(root: PathBuf) -> Self {
        Self {
            root,
            known: Mutex::default(),
        }
    }

    /// The live or else the latest run of each project: live runs first, then by start time, newest first.
    pub fn runs(&self, cache: &RunCache) -> Vec<RunEntry> {
        let mut entries = Vec::new();
        let mut past = Vec::new();
        for paths in self.all() {
            match lock::running(&paths) {
                Some(run) => entries.push(cache.run(&paths, &run, true)),
                None => past.extend(paths.latest_run().map(|run| (changed(&paths), paths, run))),
            }
        }
        past.sort_by_key(|(changed, ..)| std::cmp::Reverse(*changed));
        let past = past.into_iter().take(LISTED);
        entries.extend(past.map(|(_, paths, run)| cache.run(&paths, &run, false)));
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.live, entry.started_ms)));
        entries
    }

    /// All runs of the project at `root`, newest first. The path is compared and never opened.
    pub fn runs_of(&self, root: &Path, cache: &RunCache) -> Vec<RunEntry> {
        let project = self.all().into_iter().find(|paths| paths.project() == root);
        project.map_or_else(Vec::new, |paths| cache.runs(&paths))
    }

    /// The run with this id, and whether a ralph serves it.
    pub fn find(&self, name: &str) -> Option<(ProjectPaths, RunId, bool)> {
        let found = self.all().into_iter().find_map(|paths| {
            let run = paths.run_ids().into_iter().find(|run| run.0 == name)?;
            Some((paths, run))
        });
        let (paths, run) = found?;
        let is_live = lock::running(&paths).as_ref() == Some(&run);
        Some((paths, run, is_live))
    }

    /// All projects with at least one run.
    pub fn all(&self) -> Vec<ProjectPaths> {
        let mut known = self.known.lock();
        let states = States::below(&self.root).list().into_iter();
        let projects = states.filter_map(|state| {
            if let Some(paths) = known.get(&state) {
                return Some(paths.clone());
            }
            let paths = project_of(&state)?;
            known.insert(state, paths.clone());
            Some(paths)
        });
        projects.filter(|paths| paths.check_state().is_ok()).collect()
    }
}

/// When the project's latest run was begun.
fn changed(paths: &ProjectPaths) -> Option<SystemTime> {
    fs::metadata(paths.latest()).ok()?.modified().ok()
}

/// The project of a state directory, as named in its journals; `None` if the directory does not belong to that project.
fn project_of(state: &Path) -> Option<ProjectPaths> {
    let runs = fs::read_dir(state.join("runs")).ok()?;
    let mut journals: Vec<PathBuf> = runs
        .filter_map(|run| Some(run.ok()?.path().join("events.jsonl")))
        .collect();
    journals.sort();
    let (project, _) = journals.iter().rev().find_map(|journal| start(journal))?;
    let paths = ProjectPaths::new(&project, state.parent()).ok()?;
    (paths.state() == state).then_some(paths)
}

/// Returns the number of a run among those of its project, from 1; `None` if it has none.
pub fn run_number(paths: &ProjectPaths, run: &RunId) -> Option<u32> {
    let (_, number) = start(&paths.run(run).journal())?;
    (number > 0).then_some(number)
}

/// Returns the project and the number of a run by the first records of its journal.
fn start(journal: &Path) -> Option<(PathBuf, u32)> {
    let mut reader = JournalReader::open(journal).ok()?;
    for _ in 0..FIRST_RECORDS {
        if let Event::Run(RunEvent::Started { project, number, .. }) = reader.next_record().ok()??.event {
            return Some((project, number));
        }
    }
    None
}
