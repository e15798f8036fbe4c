//! Suggestions for the user at the end of a run.

use crate::{
    event::{BreakerCause, Finding, Hint, ProblemClass, ProblemKind, Proof, RestoreMoment, StopReason, Text, clip},
    run::MessageState,
};

use super::state::LoopState;

/// Maximum size of a quoted message, in bytes: enough to recognise it.
const MESSAGE_CAP_BYTES: usize = 200;

/// How to restore a readable plan; `None` without a checkpoint.
fn way_back(state: &LoopState) -> Option<Hint> {
    state.internal.latest.as_ref()?;
    let moment = match state.view.phase.outcome() {
        Some(_) => RestoreMoment::Before,
        // The plan was readable after the iteration and was broken later.
        None => RestoreMoment::After,
    };
    let iteration = state.view.iterations.number;
    (iteration > 0 || moment == RestoreMoment::Before).then_some(Hint::Restore { iteration, moment })
}

/// Suggestions about the end itself, about tasks that the user has set aside, and about messages that expire with the run.
pub(super) fn hints(state: &LoopState, reason: &StopReason) -> Vec<Hint> {
    let mut hints = for_reason(state, reason);
    let is_done = matches!(reason, StopReason::Done { .. });
    let left_out = state.view.left_out().into_iter();
    hints.extend(left_out.map(|task| Hint::TaskSetAside {
        task: clip(&task, MESSAGE_CAP_BYTES).into(),
    }));
    let open = state.view.comments.missing_work();
    hints.extend(open.map(|comment| Hint::CommentOpen {
        comment: comment.number,
        place: comment.place_now().into(),
        answered: comment.answer.is_some(),
    }));
    let drafts = state.view.comments.drafts().count();
    if drafts > 0 {
        let drafts = u32::try_from(drafts).unwrap_or(u32::MAX);
        hints.push(Hint::CommentsUnsent { drafts });
    }
    hints.extend(state.view.messages.iter().filter_map(|steering| {
        let (message, text) = (steering.id, clip(&steering.text, MESSAGE_CAP_BYTES).into());
        match steering.state() {
            MessageState::Queued => Some(Hint::MessageUndelivered { message, text }),
            MessageState::Delivered(_) if !is_done && steering.is_due() => Some(Hint::MessageExpires { message, text }),
            MessageState::Delivered(_) | MessageState::Withdrawn => None,
        }
    }));
    hints
}

fn for_reason(state: &LoopState, reason: &StopReason) -> Vec<Hint> {
    match reason {
        StopReason::Done { proof, .. } => match proof {
            Proof::Tests => Vec::new(),
            Proof::ExitCodes => vec![Hint::CountTests],
            Proof::Nothing => vec![Hint::SetGoal],
            Proof::Unconfirmed => vec![Hint::ConfirmTests],
        },
        StopReason::Superseded => Vec::new(),
        StopReason::BreakerOpen {
            why: BreakerCause::SameGoalFailure { goal, .. },
        } => vec![Hint::SeeGoal { goal: goal.clone() }, Hint::StartAgain],
        StopReason::BreakerOpen { .. } => {
            let iteration = state.view.iterations.number;
            vec![Hint::SeeDiff { iteration }, Hint::StartAgain]
        }
        StopReason::Blocked { .. } => vec![Hint::Answer],
        StopReason::AgentFailed { problem, .. } if problem.finding == Some(Finding::NoLiveChannel) => {
            let adapter = Text::from(&state.view.adapter);
            vec![Hint::NeedLiveChannel { adapter }]
        }
        StopReason::AgentFailed { problem, .. } => for_problem(state, problem.kind),
        StopReason::PlanInvalid { .. } => [Hint::FixPlan].into_iter().chain(way_back(state)).collect(),
        StopReason::LimitReached { limit } | StopReason::TaskLimitReached { limit, .. } => {
            vec![Hint::RaiseLimit { limit: *limit }]
        }
        StopReason::Broken { .. } => vec![Hint::FixCause],
        StopReason::Requested | StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp => {
            vec![Hint::Resume]
        }
    }
}

fn for_problem(state: &LoopState, kind: ProblemKind) -> Vec<Hint> {
    let adapter = &state.view.adapter;
    match kind {
        ProblemKind::Auth if state.view.settings.logins.contains_key(adapter) => {
            let how = Text::from(&state.view.settings.logins[adapter]);
            vec![Hint::LogIn { how }, Hint::Resume]
        }
        ProblemKind::ModelUnknown => vec![Hint::NameModel],
        kind if kind.class() == ProblemClass::Setup => {
            let adapter = Text::from(adapter);
            vec![Hint::CheckAdapter { adapter }]
        }
        _ => vec![Hint::Resume],
    }
}
