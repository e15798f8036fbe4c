//! The state of a batch's plans in a word, for a row of the board.

use ralph_core::{
    event::Wait,
    run::{Phase as RunPhase, RunView},
};
use ralph_plan::batch::{BatchPlan, KeptReason, MergeTrouble, PlanPhase};

use super::Tone;

/// The state of a plan without an active run; `stops` means that the plan is being ended.
pub fn plan_phase_word(plan: &BatchPlan, stops: bool) -> (Tone, &'static str) {
    match &plan.phase {
        PlanPhase::Merged { .. } => (Tone::Good, "merged"),
        PlanPhase::Kept {
            why: KeptReason::Cancelled,
        } => (Tone::Note, "cancelled"),
        PlanPhase::Kept { .. } => (Tone::Bad, "not merged"),
        _ if stops => (Tone::Wait, "stopping"),
        _ if plan.target_in_use.is_some() || plan.forge_silent.is_some() => (Tone::Wait, "waiting"),
        PlanPhase::Waiting | PlanPhase::Ready => (Tone::Note, "waiting"),
        PlanPhase::Preparing | PlanPhase::Running => (Tone::Start, "starting"),
        PlanPhase::Finished => (Tone::Wait, "done"),
        PlanPhase::Merging | PlanPhase::Moving { .. } => (Tone::Start, "merging"),
        PlanPhase::Verifying { .. } => (Tone::Start, "verifying"),
        PlanPhase::Repairing if plan.trouble.as_ref().is_some_and(MergeTrouble::is_of_request) => {
            (Tone::Warning, "changes asked")
        }
        PlanPhase::Repairing => (Tone::Warning, "conflict"),
        PlanPhase::Delivering => (Tone::Start, "delivering"),
        PlanPhase::Delivered if plan.is_watched() => (Tone::Wait, "in review"),
        PlanPhase::Delivered => (Tone::Good, "pushed"),
    }
}

/// The state of a plan's run.
pub fn run_phase_word(view: &RunView) -> (Tone, &'static str) {
    if !view.permissions.pending.is_empty() {
        return (Tone::User, "needs answer");
    }
    match &view.phase {
        RunPhase::Idle | RunPhase::Preparing { .. } => (Tone::Start, "starting"),
        RunPhase::Running { .. } if !view.role.is_work() => (Tone::Start, "reviewing"),
        RunPhase::Running { .. } if view.breaker.why.is_some() => (Tone::Warning, "stalled"),
        RunPhase::Running { .. } => (Tone::Start, "running"),
        RunPhase::Cancelling { .. } => (Tone::Wait, "stopping"),
        RunPhase::Settling { .. } | RunPhase::Verifying { .. } => (Tone::Start, "checking"),
        RunPhase::Waiting {
            wait: Wait::LimitReset | Wait::CallBudget | Wait::DayBudget | Wait::Headroom,
            ..
        } => (Tone::Wait, "limited"),
        RunPhase::Waiting { wait: Wait::Disk, .. } => (Tone::Wait, "no space"),
        RunPhase::Waiting {
            wait: Wait::Backoff | Wait::Cooldown,
            ..
        } => (Tone::Wait, "retrying"),
        RunPhase::Paused => (Tone::Wait, "paused"),
        RunPhase::Stopped { .. } => (Tone::Note, "over"),
    }
}
