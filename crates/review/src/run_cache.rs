//! The runs of a project with their states, cached so that unchanged journals are not read again.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use ralph_core::{event::RunId, run::RunView};
use ralph_state::store::{
    journal::{JournalError, JournalReader},
    lock,
};
use ralph_system::paths::ProjectPaths;
use ralph_text::with_causes;

use super::{RunEntry, RunStanding};

/// The cache of journals.
#[derive(Debug, Default)]
pub struct RunCache {
    known: Mutex<HashMap<PathBuf, CachedJournal>>,
}

/// The cached state of a journal.
#[derive(Debug)]
enum CachedJournal {
    /// The journal of a run that a ralph serves: it grows.
    Open { reader: JournalReader, view: Box<RunView> },
    /// The journal of a run that is over or that no process serves, with its size at that time.
    Closed { entry: Box<RunEntry>, bytes: u64 },
}

impl RunCache {
    /// All runs of a project, newest first.
    pub fn runs(&self, paths: &ProjectPaths) -> Vec<RunEntry> {
        let running = lock::running(paths);
        let runs = paths.run_ids();
        let runs = runs.iter().rev();
        runs.map(|run| self.run(paths, run, running.as_ref() == Some(run)))
            .collect()
    }

    /// One run of a project; `live` if a ralph serves it.
    pub fn run(&self, paths: &ProjectPaths, run: &RunId, live: bool) -> RunEntry {
        let journal = paths.run(run).journal();
        let mut known = self.known.lock();
        let mut entry = match read(known.remove(&journal), &journal, run, live) {
            Ok(read) => {
                let entry = match &read {
                    CachedJournal::Open { view, .. } => RunEntry::from_view(run, view, live),
                    CachedJournal::Closed { entry, .. } => RunEntry {
                        live,
                        ..RunEntry::clone(entry)
                    },
                };
                known.insert(journal, read);
                entry
            }
            Err(error) => RunEntry::unreadable(run, format!("its journal cannot be read: {}", with_causes(&error))),
        };
        if entry.project.as_os_str().is_empty() {
            entry.project = paths.project().to_owned();
        }
        entry
    }
}

/// Continues to read a journal from its cached state.
fn read(known: Option<CachedJournal>, journal: &Path, run: &RunId, live: bool) -> Result<CachedJournal, JournalError> {
    let (mut reader, mut view) = match known {
        Some(CachedJournal::Closed { entry, bytes })
            if length(journal) == bytes && (!live || entry.standing == RunStanding::Over) =>
        {
            return Ok(CachedJournal::Closed { entry, bytes });
        }
        Some(CachedJournal::Open { reader, view }) => (reader, view),
        // The run has continued since, or is unknown: read from the beginning.
        Some(CachedJournal::Closed { .. }) | None => (JournalReader::open(journal)?, Box::default()),
    };
    let bytes = length(journal);
    while let Some(record) = reader.next_record()? {
        view.apply(&record);
    }
    Ok(match live && !view.is_over() {
        true => CachedJournal::Open { reader, view },
        false => CachedJournal::Closed {
            entry: Box::new(RunEntry::from_view(run, &view, false)),
            bytes,
        },
    })
}

fn length(journal: &Path) -> u64 {
    std::fs::metadata(journal).map_or(0, |metadata| metadata.len())
}
