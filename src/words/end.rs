//! The end of a run in words.

use crate::event::{BreakerCause, LimitKind, ProblemKind, StopReason};

use super::{breaker_cause_in_words, counted, problem_kind_in_words};

/// Why a run is over, as a clause after "ralph: ".
pub fn stop_in_words(reason: &StopReason) -> String {
    match reason {
        StopReason::Done { verified: true } => "done".to_owned(),
        StopReason::Done { verified: false } => "done (not verified)".to_owned(),
        StopReason::AgentFailed { adapter, problem } => format!("failed: {}", failure_in_words(adapter, problem.kind)),
        StopReason::Broken { why } => format!("failed: ralph cannot continue ({why})"),
        StopReason::PlanInvalid { why } => format!("failed: the plan cannot be read ({why})"),
        StopReason::LimitReached { limit } => format!(
            "stopped: {} limit reached",
            match limit {
                LimitKind::MaxIterations => "iteration",
                LimitKind::MaxTime => "time",
                LimitKind::MaxCost => "cost",
                LimitKind::MaxTokens => "token",
            }
        ),
        StopReason::BreakerOpen { why } => match why {
            BreakerCause::NoProgress { iterations } => {
                format!(
                    "stopped: no progress in {}",
                    counted(u64::from(*iterations), "iteration")
                )
            }
            why => format!("stopped: no progress ({})", breaker_cause_in_words(why)),
        },
        StopReason::Blocked { question } => format!("blocked: needs your answer ({question})"),
        StopReason::Requested => "stopped by user".to_owned(),
        StopReason::Interrupted => "interrupted".to_owned(),
        StopReason::Terminated => "terminated".to_owned(),
        StopReason::HungUp => "stopped: the terminal is gone".to_owned(),
        StopReason::Superseded => "cut off, and followed by another run".to_owned(),
    }
}

/// What is wrong with an agent, short enough for a headline: its own words are in the log.
fn failure_in_words(adapter: &str, kind: ProblemKind) -> String {
    let agent = if adapter.is_empty() { "the agent" } else { adapter };
    match kind {
        ProblemKind::NotInstalled => format!("{agent} is not installed"),
        ProblemKind::Auth => format!("{agent} is not logged in"),
        ProblemKind::ModelUnknown => format!("{agent} does not know the model"),
        ProblemKind::Usage => format!("{agent} refused its command line"),
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
        | ProblemKind::Other => format!("{agent} failed ({})", problem_kind_in_words(kind)),
    }
}
