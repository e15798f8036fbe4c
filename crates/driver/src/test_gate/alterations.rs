//! Whether passing tests notice alterations: of themselves, of the work, and all of the work taken out.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_core::event::{Bite, Goal, TriedMutant};
use ralph_gate::{
    guard::{FileContent, GuardError, Originals},
    mutants::has_mutants,
};

use super::{
    super::goals::{CheckedGoal, ExecutionContext},
    altered::{AlteredRuns, narrowed},
    bite::{self, Candidate},
    in_place::{InPlace, blocking},
    without_work::{self, ChangedLines, WithWork, WithoutWork},
    work_tests::{FailedBefore, bitten},
};

/// Alterations that may refuse a claim begin within this time at least, or within this many times the duration of the goals.
const BITE_TIME: Duration = Duration::from_secs(60);
const BITE_FACTOR: u32 = 3;
/// One run of the goals with a mutant may take this long at least, or this many times the duration of the goals.
const MUTANT_TIME: Duration = Duration::from_secs(10);
const MUTANT_FACTOR: u32 = 3;

/// Goals whose tests have passed, and the work that they measure.
pub(super) struct Altering {
    /// The goals that ran tests.
    pub(super) goals: Vec<Goal>,
    /// The time that all goals took.
    pub(super) took: Duration,
    pub(super) parallel: bool,
    pub(super) place: Arc<ExecutionContext>,
    pub(super) originals: Arc<Originals>,
    pub(super) failed_before: FailedBefore,
    /// The directory in which files are altered, and that of the record of it.
    pub(super) project: PathBuf,
    pub(super) record: PathBuf,
    /// The lines that the work added, and the files that it changed, as they were.
    pub(super) lines: ChangedLines,
    pub(super) before: Arc<Vec<(String, FileContent)>>,
    pub(super) wanted: Bite,
}

impl Altering {
    /// The time for what may refuse a claim.
    fn time(&self) -> Duration {
        BITE_TIME.max(self.took.saturating_mul(BITE_FACTOR))
    }

    /// Alters the tests, of which the originals are `held` in place. `report` has the results with these.
    pub(super) async fn of_tests(&mut self, held: &InPlace, report: &[CheckedGoal]) -> (Vec<TriedMutant>, AlteredRuns) {
        let until = Instant::now() + self.time();
        // A mutant may never end.
        let patience = MUTANT_TIME.max(self.took.saturating_mul(MUTANT_FACTOR));
        let patience_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        for goal in &mut self.goals {
            goal.timeout_ms = goal.timeout_ms.min(patience_ms);
        }
        let mut runs = AlteredRuns {
            held: held.clone(),
            goals: self.goals.clone(),
            narrowed: None,
            took: self.took,
            parallel: self.parallel,
            place: Arc::clone(&self.place),
        };
        let (project, originals) = (&self.project, &self.originals);
        let lines = self.lines.clone();
        let tried = bitten(&mut runs, report, project, originals, &self.failed_before, lines, until).await;
        (tried, runs)
    }

    /// Takes the work out, and alters it, with the agent's tests in place. `with_work` are the results as the agent left all.
    ///
    /// # Errors
    /// [`GuardError`] if the agent's files cannot be restored.
    pub(super) async fn of_work(
        self,
        mut runs: AlteredRuns,
        changed_tests: Vec<String>,
        with_work: &[WithWork],
    ) -> Result<Vec<TriedMutant>, GuardError> {
        let time = self.time();
        let altered = self.candidates().await;
        let of_changed = self.narrowed_to_new_and(changed_tests).await;
        let (wanted, took, record) = (self.wanted, self.took, self.record);
        let goals = WithoutWork {
            of_changed,
            failed_before: self.failed_before.all_names().map(<[String]>::to_vec),
            goals: self.goals,
        };
        // Runs that decide nothing may take as long as the goals once more.
        let until = Instant::now()
            + match wanted {
                Bite::Require => time,
                Bite::Off | Bite::Report | Bite::Refuse => took,
            };
        let mut tried = Vec::new();
        let is_cheap = goals.is_narrow() && (runs.narrowed.is_some() || !runs.are_long() || goals.runs_nothing());
        if wanted == Bite::Require || altered.is_empty() || is_cheap {
            let without = without_work::tried(
                record.clone(),
                self.originals,
                self.before,
                goals,
                with_work,
                self.parallel,
                self.place,
            );
            tried.extend(without.await?);
        }
        tried.extend(bite::of_work(&mut runs, altered, (self.project, record), until).await?);
        Ok(tried)
    }

    /// Returns alterations of the lines that the run changed, without those of tests in files of their own.
    async fn candidates(&self) -> Vec<Candidate> {
        let (originals, project) = (Arc::clone(&self.originals), self.project.clone());
        let mut lines = self.lines.clone();
        let found = blocking(move || {
            let is_test = |path: &String| originals.test_files().any(|test| test == path);
            lines.retain(|(path, _)| has_mutants(path) && (!is_test(path) || path.ends_with(".rs")));
            Ok(bite::work(&project, lines))
        });
        found.await.unwrap_or_default()
    }

    /// Returns goals that run only the new and changed tests; none if there are no such tests.
    async fn narrowed_to_new_and(&self, changed: Vec<String>) -> Option<Vec<Goal>> {
        let (originals, project) = (Arc::clone(&self.originals), self.project.clone());
        let (goals, runners) = (self.goals.clone(), self.place.runners);
        let found = blocking(move || {
            let mut files = originals.new_tests(&project)?;
            files.extend(changed);
            let paths: BTreeSet<&str> = files.iter().map(String::as_str).collect();
            Ok(match files.is_empty() {
                true => Some(Vec::new()),
                // Any test may read what is no source.
                false if !paths.iter().all(|path| has_mutants(path)) => None,
                false => narrowed(&goals, runners, &paths, &BTreeSet::new()),
            })
        });
        found.await.unwrap_or_default()
    }
}
