//! The one view of a batch: its journal and the journals of its runs, folded into what a screen, a page and `ralph many status`
//! show. Pure.
//!
//! A [`Board`] holds no clock: what counts down is told as a moment, so a board is the same until a record changes it.

mod row;
mod seen;

use ralph_core::{
    event::{Proof, Usage},
    run::Ask,
};
use ralph_plan::batch::{Batch, BatchEnd, BatchId, Held, Phase, PlanName};
use ralph_words::{
    batch_hints, batch_usage_in_words, plan_phase_in_words, repair_in_words, repository_change_in_words,
};
use serde::Serialize;

pub use row::{Row, Tasks};
pub use seen::Seen;

/// A batch as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Board {
    pub batch: BatchId,
    /// A process carries it out.
    pub running: bool,
    /// It was asked to stop, and its runs end.
    pub stopping: bool,
    pub end: Option<BatchEnd>,
    /// The branch that collects what is merged.
    pub target: String,
    /// The evidence for its last merge; none before one, or where no goals verify merges.
    pub proof: Option<Proof>,
    /// How many runs at a time.
    pub jobs: u32,
    /// Who runs them: `local`, or an engine.
    pub engine: String,
    /// Milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// When the last record was written: the end, once it is over.
    pub changed_ms: u64,
    pub counts: Counts,
    /// Of all runs.
    pub usage: Usage,
    /// How much of what its plans may use together is used, a sentence for each limit.
    pub used: Vec<String>,
    /// What held the starts of runs when the last record was written; it is over by itself.
    pub held: Option<Held>,
    /// What the merge queue does now.
    pub queue: Option<String>,
    pub plans: Vec<Row>,
    /// What agents ask and wait for, the oldest first.
    pub asks: Vec<PlanAsk>,
    /// Commands for its user once it is over: about changes to the repository, and about what is not merged.
    pub hints: Vec<String>,
}

/// How many plans are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    pub merged: usize,
    pub running: usize,
    /// Done, and being merged or waiting for it.
    pub merging: usize,
    pub waiting: usize,
    /// Left as they are.
    pub kept: usize,
}

/// Something that the agent of a plan asks, and waits for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanAsk {
    pub plan: PlanName,
    pub ask: Ask,
}

impl Board {
    /// The board of `batch`, whose first and last record were written at `times_ms`; `seen` has the run of a plan.
    pub fn of<'s>(
        batch: &Batch,
        times_ms: (u64, u64),
        running: bool,
        seen: impl Fn(&PlanName) -> Option<&'s Seen>,
    ) -> Board {
        let mut counts = Counts::default();
        let mut usage = Usage::default();
        let mut asks = Vec::new();
        let mut plans = Vec::new();
        for plan in &batch.plans {
            let seen = seen(&plan.name);
            *counts.of(&plan.phase) += 1;
            usage = seen.map_or(usage, |seen| usage.plus(seen.usage()));
            let works = running && batch.includes(plan);
            let is_live = works && plan.phase == Phase::Running;
            if let Some(seen) = seen.filter(|seen| is_live && !seen.view.is_over()) {
                asks.extend(seen.view.permissions.pending.iter().map(|ask| PlanAsk {
                    plan: plan.name.clone(),
                    ask: ask.clone(),
                }));
            }
            plans.push(Row::of(batch, plan, seen, works));
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
                .map(|plan| format!("{}: {}", plan.name, plan_phase_in_words(plan)))
                .or_else(|| repairing.map(|plan| format!("{}: {}", plan.name, repair_in_words()))),
            plans,
            asks,
            hints: changes.chain(hints).collect(),
        }
    }

    /// What waits for an answer in the run of `plan`.
    pub fn asks_of(&self, plan: &PlanName) -> impl Iterator<Item = &Ask> {
        self.asks
            .iter()
            .filter(move |asked| asked.plan == *plan)
            .map(|asked| &asked.ask)
    }

    /// Whether nothing more happens by itself.
    pub fn is_over(&self) -> bool {
        !self.running
    }
}

impl Counts {
    fn of(&mut self, phase: &Phase) -> &mut usize {
        match phase {
            Phase::Merged { .. } => &mut self.merged,
            Phase::Preparing | Phase::Running => &mut self.running,
            Phase::Finished | Phase::Merging | Phase::Verifying { .. } | Phase::Moving { .. } | Phase::Repairing => {
                &mut self.merging
            }
            Phase::Waiting | Phase::Ready => &mut self.waiting,
            Phase::Kept { .. } => &mut self.kept,
        }
    }
}

fn is_being_merged(phase: &Phase) -> bool {
    match phase {
        Phase::Merging | Phase::Verifying { .. } | Phase::Moving { .. } | Phase::Repairing => true,
        Phase::Waiting
        | Phase::Preparing
        | Phase::Ready
        | Phase::Running
        | Phase::Finished
        | Phase::Merged { .. }
        | Phase::Kept { .. } => false,
    }
}
