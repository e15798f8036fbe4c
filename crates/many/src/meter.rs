//! Usage of a batch's runs and the limits they meet, read incrementally from their journals.

use std::collections::{BTreeMap, btree_map::Entry};

use ralph_core::{
    event::{Outcome, StopReason, Usage, Wait, WaitCause},
    run::{Phase, RunView},
};
use ralph_plan::batch::PlanName;
use ralph_state::store::journal::JournalReader;
use ralph_system::paths::ProjectPaths;

#[derive(Default)]
pub(super) struct UsageMeter {
    /// Runs by plan and run id; ids sort by start time.
    runs: BTreeMap<(PlanName, String), MeteredRun>,
}

struct MeteredRun {
    reader: JournalReader,
    view: Box<RunView>,
}

/// A rate limit that a run's agent reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LimitMet {
    pub(super) adapter: String,
    pub(super) until_ms: u64,
    /// The run's adapter and its fallbacks, in order.
    pub(super) workers: Vec<String>,
}

impl UsageMeter {
    /// Reads new records of a plan's runs, whose state is given. A run with an unreadable record counts up to
    /// there.
    pub(crate) fn read(&mut self, plan: &PlanName, state: &ProjectPaths) {
        for run in state.run_ids() {
            let run = match self.runs.entry((plan.clone(), run.0.clone())) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => match JournalReader::open(&state.run(&run).journal()) {
                    Ok(reader) => new.insert(MeteredRun {
                        reader,
                        view: Box::default(),
                    }),
                    Err(_) => continue,
                },
            };
            while let Ok(Some(record)) = run.reader.next_record() {
                run.view.apply(&record);
            }
        }
    }

    /// Returns the usage of all runs together.
    pub(super) fn usage(&self) -> Usage {
        let runs = self.runs.values();
        runs.fold(Usage::default(), |sum, run| sum.plus(run.view.usage))
    }

    /// Returns the limits that the last run of a plan has met.
    pub(super) fn limits_met(&self, plan: &PlanName) -> Vec<LimitMet> {
        self.last_run(plan).map_or_else(Vec::new, limits_met)
    }

    /// Returns the reason why the last run of a plan makes no progress; `None` if it does, or is over.
    pub(super) fn stalled(&self, plan: &PlanName) -> Option<WaitCause> {
        stalled(self.last_run(plan)?)
    }

    /// Whether the last run of a plan has ended with success, or was confirmed since.
    pub(super) fn has_succeeded(&self, plan: &PlanName) -> bool {
        let reason = self.last_run(plan).and_then(RunView::stop_reason);
        reason.is_some_and(StopReason::is_success)
    }

    fn last_run(&self, plan: &PlanName) -> Option<&RunView> {
        let mut of_plan = self.runs.iter().filter(|((of, _), _)| of == plan);
        of_plan.next_back().map(|(_, run)| &*run.view)
    }
}

fn stalled(view: &RunView) -> Option<WaitCause> {
    let by_breaker = view.breaker.why.clone().map(|why| WaitCause::Breaker { why });
    let latest = view.iterations.rows.iter().rev().find_map(|row| row.outcome.as_ref());
    match latest {
        _ if view.is_over() => None,
        // Limits are recorded apart.
        Some(Outcome::Failed { problem }) if by_breaker.is_none() && !problem.kind.is_limit() => {
            Some(WaitCause::Failure {
                problem: problem.clone(),
            })
        }
        Some(_) | None => by_breaker,
    }
}

fn limits_met(view: &RunView) -> Vec<LimitMet> {
    let mut limited = view.limited.clone();
    // Without a fallback, a run only records that it waits.
    if let Phase::Waiting {
        wait: Wait::LimitReset | Wait::Headroom,
        until_ms,
        ..
    } = &view.phase
    {
        limited.entry(view.adapter.clone()).or_insert(*until_ms);
    }
    let settings = &view.settings;
    let workers: Vec<String> = [&settings.adapter]
        .into_iter()
        .chain(&settings.fallback)
        .cloned()
        .collect();
    let met = limited.into_iter().map(|(adapter, until_ms)| LimitMet {
        adapter,
        until_ms,
        workers: workers.clone(),
    });
    met.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Event, Problem, ProblemKind, Settings, TimeEvent, WorkerEvent};

    #[test]
    fn a_wait_for_a_limit_is_one_that_was_met_and_another_wait_is_none() {
        let mut view = RunView {
            adapter: "codex".to_owned(),
            settings: Settings {
                adapter: "codex".to_owned(),
                fallback: vec!["claude".to_owned()],
                ..Settings::default()
            }
            .into(),
            ..RunView::default()
        };
        let waits = |wait| {
            Event::Time(TimeEvent::WaitStarted {
                wait,
                until_ms: 90,
                attempt: 1,
                why: WaitCause::Failure {
                    problem: Problem::said(ProblemKind::RateLimited { until_ms: None }, "429"),
                },
            })
        };
        view.apply_event(1, &waits(Wait::Backoff));
        assert_eq!(limits_met(&view), []);
        view.apply_event(2, &waits(Wait::Headroom));
        assert_eq!(limits_met(&view).len(), 1);
        view.apply_event(2, &waits(Wait::LimitReset));
        let workers = ["codex", "claude"].map(str::to_owned).to_vec();
        let met = |adapter: &str, until_ms| LimitMet {
            adapter: adapter.to_owned(),
            until_ms,
            workers: workers.clone(),
        };
        assert_eq!(limits_met(&view), [met("codex", 90)]);
        view.apply_event(
            3,
            &Event::Worker(WorkerEvent::AdapterLimited {
                adapter: "claude".to_owned(),
                until_ms: 70,
            }),
        );
        assert_eq!(limits_met(&view), [met("claude", 70), met("codex", 90)]);
    }
}
