//! The view of a batch, shown by the screen, the page and `ralph many status`: the fold over its journal and the
//! journals of its runs. Pure.
//!
//! A [`Board`] holds no clock: countdowns are given as their end time, so a board only changes with a record.

mod plan_runs;
mod preview;
mod row;

use ralph_core::event::{Ask, Proof, Usage};
use ralph_plan::batch::{Batch, BatchEnd, BatchId, PlanName, PlanPhase, StartHold};
use ralph_words::{
    batch_hints, batch_usage_in_words, merge_hint, merged_plans_in_words, plan_phase_in_words, repair_in_words,
    repository_change_in_words,
};
use serde::Serialize;

pub use plan_runs::PlanRuns;
pub use preview::{PlanPreview, PreviewedTask};
pub use row::{BoardRow, TaskProgress};

/// The state of a batch for display.
#[derive(Debug, Clone, PartialEq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Board {
    pub batch: BatchId,
    /// Whether a process is carrying out the batch.
    pub running: bool,
    /// Whether the batch was asked to stop and its runs are ending.
    pub stopping: bool,
    pub end: Option<BatchEnd>,
    /// The branch that collects the merged plans.
    pub target: String,
    /// The proof of the last merge; `None` before the first one, or if no goals verify merges.
    pub proof: Option<Proof>,
    /// Maximum number of runs at a time.
    pub jobs: u32,
    /// The executor of the runs: `local`, or the name of an engine.
    pub engine: String,
    /// Start time, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// Time of the last record. Once the batch is over, its end.
    pub changed_ms: u64,
    pub counts: PlanCounts,
    /// Usage of all runs.
    pub usage: Usage,
    /// How much of the shared limits is used, one sentence per limit.
    pub used: Vec<String>,
    /// The reason for delayed starts at the time of the last record. Ends by itself.
    pub held: Option<StartHold>,
    /// The current step of the merge queue.
    pub queue: Option<String>,
    pub plans: Vec<BoardRow>,
    /// Waiting requests of agents, oldest first.
    pub asks: Vec<PlanAsk>,
    /// Suggested commands after the end: for changes to the repository, and for unmerged plans.
    pub hints: Vec<String>,
}

/// Number of plans by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, crate::JsonSchema)]
pub struct PlanCounts {
    pub merged: usize,
    pub running: usize,
    /// Done, and being merged, in review, or waiting for it.
    pub merging: usize,
    pub waiting: usize,
    /// Not merged: left as they are.
    pub kept: usize,
}

/// A waiting request of the agent of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanAsk {
    pub plan: PlanName,
    pub ask: Ask,
}

impl Board {
    /// Creates the board of `batch`, whose first and last records were written at `times_ms`. `seen` returns the run of
    /// a plan.
    pub fn new<'s>(
        batch: &Batch,
        times_ms: (u64, u64),
        running: bool,
        (seen, step): (
            impl Fn(&PlanName) -> Option<&'s PlanRuns>,
            impl Fn(&PlanName) -> Option<&'s str>,
        ),
    ) -> Board {
        let mut counts = PlanCounts::default();
        let mut usage = Usage::default();
        let mut asks = Vec::new();
        let mut plans = Vec::new();
        for plan in &batch.plans {
            let seen = seen(&plan.name);
            *counts.entry(&plan.phase) += 1;
            usage = seen.map_or(usage, |seen| usage.plus(seen.usage()));
            let works = running && batch.includes(plan);
            let is_live = works && plan.phase == PlanPhase::Running;
            if let Some(seen) = seen.filter(|seen| is_live && !seen.view.is_over()) {
                let permissions = &seen.view.permissions;
                asks.extend(permissions.pending.iter().map(|ask| PlanAsk {
                    plan: plan.name.clone(),
                    ask: ask.clone(),
                }));
            }
            plans.push(BoardRow::new(batch, plan, (seen, step(&plan.name)), works));
        }
        asks.sort_by_key(|asked| asked.ask.asked_ms);
        let in_queue = batch.plans.iter().find(|plan| is_being_merged(&plan.phase));
        let repairing = batch.repairing(times_ms.1).filter(|_| running);
        let is_unmerged = !running && batch.end.is_none_or(|end| end.exit_code() != 0);
        let changes = batch.repository_changes.iter().filter(|_| !running);
        let changes = changes.map(repository_change_in_words);
        let hints = match is_unmerged {
            true => batch_hints(batch, &batch.id),
            false => Vec::new(),
        };
        Board {
            batch: batch.id.clone(),
            running,
            stopping: running && batch.stopped.is_some(),
            end: batch.end,
            target: batch.target.clone(),
            proof: batch.target_proof.as_ref().map(|merge| merge.proof),
            jobs: batch.jobs,
            engine: batch.engine.clone(),
            started_ms: times_ms.0,
            changed_ms: times_ms.1,
            counts,
            usage,
            used: batch_usage_in_words(&batch.limits, &usage),
            held: batch.held(times_ms.1).filter(|_| running),
            queue: in_queue
                .map(|plan| {
                    format!(
                        "{}: {}",
                        merged_plans_in_words(&plan.name, &plan.group),
                        plan_phase_in_words(plan)
                    )
                })
                .or_else(|| repairing.map(|plan| format!("{}: {}", plan.name, repair_in_words()))),
            plans,
            asks,
            hints: changes
                .chain(hints)
                .chain(merge_hint(batch).filter(|_| !running))
                .collect(),
        }
    }

    /// The waiting requests in the run of `plan`.
    pub fn asks_of(&self, plan: &PlanName) -> impl Iterator<Item = &Ask> {
        self.asks
            .iter()
            .filter(move |asked| asked.plan == *plan)
            .map(|asked| &asked.ask)
    }

    /// Whether no process is working on the batch.
    pub fn is_over(&self) -> bool {
        !self.running
    }
}

impl PlanCounts {
    fn entry(&mut self, phase: &PlanPhase) -> &mut usize {
        match phase {
            PlanPhase::Merged { .. } => &mut self.merged,
            PlanPhase::Preparing | PlanPhase::Running => &mut self.running,
            PlanPhase::Waiting | PlanPhase::Ready => &mut self.waiting,
            PlanPhase::Kept { .. } => &mut self.kept,
            _ => &mut self.merging,
        }
    }
}

fn is_being_merged(phase: &PlanPhase) -> bool {
    matches!(
        phase,
        PlanPhase::Merging | PlanPhase::Verifying { .. } | PlanPhase::Moving { .. } | PlanPhase::Repairing
    )
}
