//! A run in a list of runs.

use std::path::PathBuf;

use ralph_core::{
    event::{Proof, RunId, StopReason},
    run::RunView,
};
use ralph_words::{left_in_words, phase_in_words, stop_in_words};
use serde::Serialize;

/// The state of a run at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEntry {
    pub run: RunId,
    /// The number of the run among those of its project, from 1; 0 if it has none.
    pub number: u32,
    /// The project's root, absolute.
    pub project: PathBuf,
    pub plan: PathBuf,
    pub adapter: String,
    /// In milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// Time of the last record, in milliseconds since the Unix epoch.
    pub last_ms: u64,
    pub standing: RunStanding,
    /// Whether a ralph serves the run: it can be followed and, unless it is over, controlled.
    pub live: bool,
    /// The current activity, or how the run ended, in words.
    pub state: String,
    /// The evidence that the run is done; `null` unless it is.
    pub proof: Option<Proof>,
    pub tasks_done: u32,
    pub tasks_open: u32,
    pub iterations: u32,
    pub elapsed_ms: u64,
    /// Number of questions of the agent that wait for an answer.
    pub asks: usize,
    /// Whether the run asks something or cannot continue without an answer.
    pub needs_you: bool,
    /// The exit code of the run; `null` while it is not over.
    pub exit_code: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, crate::JsonSchema)]
#[schemars(rename = "Standing")]
#[serde(rename_all = "kebab-case")]
pub enum RunStanding {
    Running,
    Over,
    /// The run was cut off; the next `ralph` in the project resumes it.
    Interrupted,
    /// The run's journal cannot be read.
    Unreadable,
}

impl RunEntry {
    /// The entry of `run` from its `view`; `live` if a ralph serves the run.
    pub fn from_view(run: &RunId, view: &RunView, live: bool) -> Self {
        let totals = view.end().map_or_else(|| view.totals(), |end| end.totals.clone());
        let (standing, state) = match view.stop_reason() {
            Some(reason) => (RunStanding::Over, stop_in_words(reason) + &left_in_words(view)),
            None if live => (RunStanding::Running, phase_in_words(view)),
            None => (
                RunStanding::Interrupted,
                "interrupted; `ralph continue` resumes it".to_owned(),
            ),
        };
        let exit_code = view.stop_reason().map(|reason| reason.exit_code());
        let asks = match standing {
            RunStanding::Running => view.permissions.pending.len(),
            RunStanding::Over | RunStanding::Interrupted | RunStanding::Unreadable => 0,
        };
        let ended_blocked = matches!(view.stop_reason(), Some(StopReason::Blocked { .. }));
        let is_blocked = standing == RunStanding::Running && !view.blocks.is_empty();
        Self {
            run: run.clone(),
            number: view.number,
            project: PathBuf::clone(&view.project),
            plan: view.settings.plan.clone(),
            adapter: view.author().to_owned(),
            started_ms: view.clock.begun_ms,
            last_ms: view.clock.now_ms,
            standing,
            live,
            state,
            proof: match view.stop_reason() {
                Some(StopReason::Done { proof, .. }) => Some(*proof),
                _ => None,
            },
            tasks_done: totals.tasks_done,
            tasks_open: totals.tasks_open,
            iterations: totals.iterations,
            elapsed_ms: totals.elapsed_ms,
            asks,
            needs_you: asks > 0 || is_blocked || ended_blocked,
            exit_code,
        }
    }

    /// The entry of a run whose journal cannot be read.
    pub fn unreadable(run: &RunId, why: String) -> Self {
        Self {
            standing: RunStanding::Unreadable,
            state: why,
            ..Self::from_view(run, &RunView::default(), false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{Event, RunEvent, StopReason, Totals},
        testing::permission_asked,
    };

    fn entry(events: &[Event], live: bool) -> RunEntry {
        let mut view = RunView::default();
        events.iter().for_each(|event| view.apply_event(1, event));
        RunEntry::from_view(&RunId("one".to_owned()), &view, live)
    }

    #[test]
    fn a_run_needs_somebody_while_it_asks_and_when_it_ended_blocked() {
        let asks = [permission_asked(3)];
        assert!(entry(&asks, true).needs_you);
        assert_eq!(entry(&asks, true).asks, 1);
        let cut_off = entry(&asks, false);
        assert_eq!(
            (cut_off.standing, cut_off.asks, cut_off.needs_you),
            (RunStanding::Interrupted, 0, false)
        );
        let stopped = |reason| {
            entry(
                &[Event::Run(RunEvent::Stopped {
                    reason,
                    hints: Vec::new().into(),
                    totals: Totals::default(),
                })],
                false,
            )
        };
        let done = stopped(StopReason::done(Proof::Tests));
        assert_eq!((done.standing, done.exit_code), (RunStanding::Over, Some(0)));
        assert!(!done.needs_you);
        let blocked = stopped(StopReason::Blocked { question: "".into() });
        assert!(blocked.needs_you);
    }
}
