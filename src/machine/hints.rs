//! What the user can do when a run is over.

use crate::{
    event::{LimitKind, ProblemKind, StopReason, clip},
    run::{MessageState, Phase},
};

use super::state::LoopState;

/// Enough of a message to know it again.
const MESSAGE_CAP_BYTES: usize = 200;

/// How to get a readable plan back; none where no checkpoint was made.
fn way_back(state: &LoopState) -> Option<String> {
    let n = state.view.iterations.number;
    state.rules.latest.as_ref()?;
    Some(match state.view.phase {
        Phase::Settling { .. } | Phase::Verifying { .. } => {
            format!("`ralph restore {n} --before` brings back the files as they were before iteration {n}")
        }
        // It was broken since.
        Phase::Idle
        | Phase::Preparing { .. }
        | Phase::Running { .. }
        | Phase::Cancelling { .. }
        | Phase::Waiting { .. }
        | Phase::Paused
        | Phase::Stopped { .. } => {
            if n == 0 {
                return None;
            }
            format!("`ralph restore {n}` brings back the files as they were after iteration {n}")
        }
    })
}

/// What the user can do next: about the end itself, and about messages that end with the run.
pub(super) fn hints(state: &LoopState, reason: &StopReason) -> Vec<String> {
    let mut hints = of_reason(state, reason);
    let is_done = matches!(reason, StopReason::Done { .. });
    let lost = state.view.messages.iter().filter(|steering| match steering.state() {
        MessageState::Queued => true,
        MessageState::Delivered(_) => !is_done && steering.is_due(),
        MessageState::Withdrawn => false,
    });
    hints.extend(lost.map(|steering| {
        let (id, text) = (steering.id.0, clip(&steering.text, MESSAGE_CAP_BYTES));
        match steering.state() {
            MessageState::Queued => format!("message {id} was never delivered; send it again to include it: {text}"),
            MessageState::Delivered(_) | MessageState::Withdrawn => {
                format!("message {id} holds for this run only; send it again to include it in the next: {text}")
            }
        }
    }));
    hints
}

fn of_reason(state: &LoopState, reason: &StopReason) -> Vec<String> {
    let adapter = &state.view.adapter;
    match reason {
        StopReason::Done { verified: true } => Vec::new(),
        StopReason::Done { verified: false } => vec![
            "no goal was checked: look at the result, or let ralph check it with `--goal tests='COMMAND'`".to_owned(),
        ],
        StopReason::BreakerOpen { .. } => vec![
            format!(
                "see `ralph diff {}`, then split the task or adjust the prompt",
                state.view.iterations.number
            ),
            "run the same command to start again; a new run begins with a closed breaker".to_owned(),
        ],
        StopReason::Blocked { .. } => {
            vec!["answer with `ralph steer \"ANSWER\"`, or press `:` on the screen: the run goes on with it".to_owned()]
        }
        StopReason::AgentFailed { problem, .. } => match problem.kind {
            ProblemKind::Auth if state.view.settings.logins.contains_key(adapter) => vec![
                state.view.settings.logins[adapter].clone(),
                "run the same command to resume".to_owned(),
            ],
            ProblemKind::NotInstalled | ProblemKind::Auth | ProblemKind::Usage => {
                vec![format!("`ralph adapters check {adapter}` shows what the adapter needs")]
            }
            ProblemKind::ModelUnknown => vec!["name another model with `--model`".to_owned()],
            ProblemKind::RateLimited { .. }
            | ProblemKind::QuotaExhausted { .. }
            | ProblemKind::Overloaded
            | ProblemKind::Network
            | ProblemKind::ContextOverflow
            | ProblemKind::PermissionDenied
            | ProblemKind::TurnLimit
            | ProblemKind::SessionLost
            | ProblemKind::Crashed
            | ProblemKind::Hung
            | ProblemKind::Flood
            | ProblemKind::Other => vec!["run the same command to resume".to_owned()],
        },
        StopReason::PlanInvalid { .. } => {
            let mut hints = vec!["fix the plan and run the same command to resume".to_owned()];
            hints.extend(way_back(state));
            hints
        }
        StopReason::LimitReached { limit } => vec![
            match limit {
                LimitKind::MaxIterations => "go on with the same command, or allow more with `--max-iterations`",
                LimitKind::MaxTime => "go on with the same command, or allow more with `--max-time`",
                LimitKind::MaxCost => "go on with the same command, or allow more with `--max-cost-usd`",
                LimitKind::MaxTokens => "go on with the same command, or allow more with `--max-tokens`",
            }
            .to_owned(),
        ],
        StopReason::Broken { .. } => vec!["fix the cause and run the same command to resume".to_owned()],
        StopReason::Requested | StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp => {
            vec!["run the same command to resume".to_owned()]
        }
        StopReason::Superseded => Vec::new(),
    }
}
