//! Goals that are run after edits, while the agent works.
//!
//! Their results decide nothing: at the end of the iteration, the gate uses goals that it runs itself.

use crate::{
    event::{Event, GoalResult, Tail, clip_start},
    run::Phase,
};

use super::{
    decision::{StepDecision, is_running},
    state::LoopState,
};

/// Maximum number of checks per iteration.
const CHECKS: u32 = 256;
const CHECKS_OF_RUN: u32 = 8_192;
/// Maximum size of a failing goal's output that the agent gets, in bytes.
const TAIL_BYTES: usize = 2048;

/// Whether goals are run after edits of the agent that is working now.
pub fn checks_edits(state: &LoopState) -> bool {
    let view = &state.view;
    matches!(view.phase, Phase::Running { .. })
        && view.role.is_work()
        && state.internal.verdict.is_none()
        && view.edit_checks.count_now < CHECKS
        && view.edit_checks.count < CHECKS_OF_RUN
        && view.settings.goals.iter().any(|goal| goal.on_edit)
}

/// Records the results of goals that were run after edits. New results are sent to an agent with live steering.
pub(super) fn checked(decision: &mut StepDecision, iteration: u32, results: &[GoalResult]) {
    if !is_running(&decision.state, iteration) || !checks_edits(&decision.state) {
        return;
    }
    let results: Vec<GoalResult> = results.iter().map(shortened).collect();
    let known = &decision.state.internal.after_edits;
    let news: Vec<String> = results
        .iter()
        .filter(|result| known.is_news(result))
        .map(|result| result.name.clone())
        .collect();
    let live_steering = matches!(
        decision.state.view.phase,
        Phase::Running {
            live_steering: true,
            ..
        }
    );
    decision.push(Event::EditsChecked {
        iteration,
        live: live_steering && !news.is_empty(),
        results,
        news,
    });
}

/// Drops the output of a goal that passed, and shortens that of a failed one.
fn shortened(result: &GoalResult) -> GoalResult {
    let tail = match result.passed {
        true => Tail::default(),
        false => clip_start(result.tail.trim(), TAIL_BYTES).into(),
    };
    GoalResult { tail, ..result.clone() }
}
