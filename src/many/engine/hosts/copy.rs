//! Copies the records and the output of a job from its host to the state directory of the plan's runs here.
//!
//! A copy is the beginning of the original, cut after a record, so a lost connection loses nothing: the next one begins
//! where the copy ends. A host is not trusted with anything else: a run's name is checked, sizes have a cap, and the
//! output loses what a terminal would obey.

use std::{collections::BTreeMap, fs, io::Write, path::Path};

use ralph_core::event::RunId;
use ralph_plan::batch::PlanName;
use ralph_state::store::paths::{ProjectPaths, replace_file};
use ralph_system::files::{self, append_private};
use ralph_text::with_causes;

use super::super::super::{node::is_name, worker::Site};

/// Most bytes of a run's journal.
const JOURNAL_CAP_BYTES: u64 = 4 << 30;
/// Most bytes of a job's output.
const LOG_CAP_BYTES: u64 = 1 << 30;
/// Most bytes in one message.
pub(super) const PART_CAP_BYTES: u64 = 33 << 20;

/// The copy of one job's files.
pub(super) struct JobCopy<'a> {
    site: &'a Site,
    plan: &'a PlanName,
    state: ProjectPaths,
    /// Size of the plan's log before the job.
    log_before: u64,
}

impl JobCopy<'_> {
    pub(super) fn new<'a>(site: &'a Site, plan: &'a PlanName, log_before: u64) -> Result<JobCopy<'a>, String> {
        let state = site.state_of(plan)?;
        state.create().map_err(|error| with_causes(&error))?;
        for run in state.run_ids() {
            cut_torn(&state.run(&run).journal())?;
        }
        Ok(JobCopy {
            site,
            plan,
            state,
            log_before,
        })
    }

    /// Returns the sizes of the journals that are here, by run.
    pub(super) fn journals(&self) -> BTreeMap<String, u64> {
        let runs = self.state.run_ids().into_iter();
        runs.map(|run| {
            let bytes = size(&self.state.run(&run).journal());
            (run.0, bytes)
        })
        .collect()
    }

    pub(super) fn log_bytes(&self) -> u64 {
        size(&self.site.paths.log(self.plan)).saturating_sub(self.log_before)
    }

    /// Adds records of a run, which begin at `from`.
    ///
    /// # Errors
    /// In words, if they do not continue what is here.
    pub(super) fn add_records(&self, run: &str, from: u64, part: &[u8]) -> Result<(), String> {
        if !is_name(run) {
            return Err(format!("named a run {run:?}"));
        }
        let run = RunId(run.to_owned());
        let paths = self.state.run(&run);
        let path = paths.journal();
        if size(&path) != from || part.last() != Some(&b'\n') {
            return Err(format!("sent records of run {run} that do not continue those known"));
        }
        if from + part.len() as u64 > JOURNAL_CAP_BYTES {
            return Err(format!("sent more than {JOURNAL_CAP_BYTES} bytes of records"));
        }
        paths.create().map_err(|error| with_causes(&error))?;
        append(&path, part)?;
        if self.state.latest_run().is_none_or(|latest| latest.0 < run.0) {
            let latest = self.state.latest();
            let written = replace_file(&latest, format!("{run}\n").as_bytes());
            written.map_err(|error| format!("{}: {error}", latest.display()))?;
        }
        Ok(())
    }

    /// Adds output, which begins at `from`.
    ///
    /// # Errors
    /// As [`JobCopy::add_records`].
    pub(super) fn add_output(&self, from: u64, part: &[u8]) -> Result<(), String> {
        if from != self.log_bytes() || from + part.len() as u64 > LOG_CAP_BYTES {
            return Err("sent output that does not continue what is known".to_owned());
        }
        // Replaced one by one, so that the sizes stay equal.
        let shown = part.iter().map(|byte| match byte {
            b'\n' | b'\t' | 0x20..=0x7e | 0x80.. => *byte,
            _ => b'?',
        });
        append(&self.site.paths.log(self.plan), &shown.collect::<Vec<u8>>())
    }
}

/// Cuts off part of a record that a batch has left which was killed while it wrote.
fn cut_torn(path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::error::Error| format!("{}: {}", path.display(), with_causes(error));
    if size(path) == 0 || files::read_end(path, 0, 1).map_err(|error| failed(&error))? == b"\n" {
        return Ok(());
    }
    let end = files::read_end(path, 0, PART_CAP_BYTES).map_err(|error| failed(&error))?;
    let torn = end.iter().rev().position(|byte| *byte == b'\n').unwrap_or(end.len());
    let cut = append_private(path).and_then(|(file, metadata)| file.set_len(metadata.len() - torn as u64));
    cut.map_err(|error| failed(&error))
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

fn append(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let written = append_private(path).and_then(|(mut file, _)| file.write_all(bytes));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_cut_off_by_a_kill_is_asked_for_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        for (text, kept) in [("", ""), ("{}\n", "{}\n"), ("{}\n{\"a", "{}\n"), ("{\"a", "")] {
            fs::write(&path, text).unwrap();
            cut_torn(&path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), kept, "{text}");
        }
        cut_torn(&directory.path().join("missing")).unwrap();
    }
}
