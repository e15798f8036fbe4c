//! A row of the board: one plan of the batch.

use ralph_core::{
    event::{Proof, RunId, Usage},
    run::{Phase as RunPhase, RunView},
};
use ralph_plan::batch::{Batch, BatchPlan, MergeTrouble, PlanName, PlanPhase, PullRequest};
use ralph_text::one_line;
use ralph_words::{
    Tone, asked_in_words, phase_in_words, plan_phase_word, plan_state_in_words, run_phase_word, tool_in_words,
};
use serde::Serialize;

use super::{PlanPreview, PlanRuns};

/// The state of a plan for display: its place in the batch, and the activity of its run.
#[derive(Debug, Clone, PartialEq, Serialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardRow {
    pub plan: PlanName,
    pub file: String,
    /// The section of the file; `None` for the whole file.
    pub section: Option<String>,
    pub after: Vec<PlanName>,
    pub phase: PlanPhase,
    /// Start of the phase, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    pub branch: String,
    /// Number of tasks that were added to it because of a merge.
    pub tasks_given: u32,
    /// Why the last merge failed.
    pub trouble: Option<MergeTrouble>,
    /// The proof of its run; `None` if the run is not done.
    pub proof: Option<Proof>,
    /// The proof of its merge; `None` if it is not merged, or if no goals verify merges.
    pub merge_proof: Option<Proof>,
    /// Its pull request; `None` if it has none.
    pub request: Option<PullRequest>,
    /// Colour and sign of the state.
    pub tone: Tone,
    /// The state in a word.
    pub state: String,
    /// The current activity, or the reason for inactivity.
    pub doing: String,
    /// The end of a timed wait, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
    /// The latest run; `None` before the first.
    pub run: Option<RunId>,
    /// Whether the run is in progress and can be attached to.
    pub live: bool,
    pub tasks: Option<TaskProgress>,
    /// The task that the agent is working on.
    pub task: Option<String>,
    /// Number of iterations in all runs of the plan.
    pub iterations: Option<u32>,
    /// Usage of all runs of the plan.
    pub usage: Option<Usage>,
    /// Number of waiting requests of its agent.
    pub asks: usize,
    /// Its latest run in short, for the screen; `None` before the first.
    #[serde(skip)]
    pub preview: Option<PlanPreview>,
}

/// The progress of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, crate::JsonSchema)]
pub struct TaskProgress {
    pub done: usize,
    pub all: usize,
}

impl BoardRow {
    /// Creates the row of `plan`; `seen` has its runs, and `step` is that of the preparation of its work tree.
    ///
    /// `is_running` tells whether a process is working on the plan.
    pub(super) fn new(
        batch: &Batch,
        plan: &BatchPlan,
        (seen, step): (Option<&PlanRuns>, Option<&str>),
        is_running: bool,
    ) -> BoardRow {
        let is_live = is_running && plan.phase == PlanPhase::Running;
        let view = seen.map(|seen| &seen.view);
        // While the next run starts, an ended run is still the previous one.
        let live = view.filter(|view| is_live && !view.is_over());
        let (tone, state) = match live {
            Some(view) => run_phase_word(view),
            None if !is_running && batch.end.is_none() && batch.task_for(plan).is_some() => (Tone::Bad, "interrupted"),
            None => plan_phase_word(plan, batch.stops(plan)),
        };
        let doing = match (live, seen) {
            (Some(view), Some(seen)) => doing(view, seen.said.as_deref()),
            (_, _) if is_live && step.is_some() => format!("preparing its work tree: {}", step.unwrap_or_default()),
            (_, _) => plan_state_in_words(plan, batch, is_running),
        };
        BoardRow {
            plan: plan.name.clone(),
            file: plan.file.clone(),
            section: plan.section.clone(),
            after: plan.after.clone(),
            phase: plan.phase.clone(),
            since_ms: plan.since_ms,
            branch: batch.id.branch(&plan.name),
            tasks_given: plan.tasks_given,
            trouble: plan.trouble.clone(),
            proof: plan.proof,
            merge_proof: plan.merge_proof.as_ref().map(|merge| merge.proof),
            request: plan.delivered.as_ref().and_then(|work| work.request.clone()),
            tone,
            state: state.to_owned(),
            doing: one_line(&doing),
            until_ms: live.and_then(waits_until_ms),
            run: view.and_then(|view| view.run.clone()),
            live: live.is_some(),
            tasks: view.map(|view| TaskProgress {
                done: view.plan.done(),
                all: view.plan.tasks.len(),
            }),
            task: live.and_then(RunView::task).map(|task| one_line(&task.text)),
            iterations: seen.map(PlanRuns::iterations),
            usage: seen.map(PlanRuns::usage),
            asks: live.map_or(0, |view| view.permissions.pending.len()),
            preview: seen.map(|seen| PlanPreview::new(seen, live.is_some())),
        }
    }
}

/// The activity of a run: the waiting request, the tool in use, the agent's last line, or the phase of the loop.
fn doing(view: &RunView, said: Option<&str>) -> String {
    if let Some(ask) = view.permissions.pending.first() {
        return match ask.request.questions.is_empty() {
            true => format!("asks: {}", asked_in_words(&ask.request.tool, &ask.request.title)),
            false => format!("asks: {}", ask.request.title),
        };
    }
    match &view.phase {
        RunPhase::Running { .. } => {
            let tool = view.tool.as_ref().map(tool_in_words);
            tool.or_else(|| said.map(str::to_owned))
                .unwrap_or_else(|| phase_in_words(view))
        }
        _ => phase_in_words(view),
    }
}

fn waits_until_ms(view: &RunView) -> Option<u64> {
    match (view.permissions.pending.first(), &view.phase) {
        (Some(ask), _) => ask.until_ms,
        (None, phase) => phase.waits_until_ms(),
    }
}
