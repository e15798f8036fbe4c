//! Problems of a session, in words.

use ralph_core::{
    event::{CancelReason, Finding, Problem, ProblemKind},
    limits::LimitScope,
};

use super::{Tone, exit_in_words, limit_word};

/// A reported problem with its kind. An end caused by ralph is a note and not a problem.
pub fn reported_problem(problem: &Problem) -> (Tone, String) {
    let text = problem_in_words(problem);
    match problem.finding {
        Some(Finding::EndedByRalph { .. }) => (Tone::Note, format!("ended by ralph: {text}")),
        Some(Finding::NoResult { .. } | Finding::Idle | Finding::Flooded | Finding::NoLiveChannel) | None => {
            let kind = problem_kind_in_words(problem.kind);
            (Tone::Bad, format!("{kind}: {text}"))
        }
    }
}

/// A problem as a clause: the agent's words, or ralph's own finding if the agent gave no reason.
pub fn problem_in_words(problem: &Problem) -> String {
    let text = &problem.text;
    match problem.finding {
        None => text.to_string(),
        Some(finding @ Finding::EndedByRalph { .. }) => finding_in_words(finding),
        Some(finding) if text.is_empty() => finding_in_words(finding),
        Some(Finding::Idle) => format!("{text} (the agent waited in silence until the idle limit)"),
        Some(finding @ (Finding::NoResult { .. } | Finding::Flooded | Finding::NoLiveChannel)) => {
            format!("{text} ({})", finding_in_words(finding))
        }
    }
}

fn finding_in_words(finding: Finding) -> String {
    match finding {
        Finding::NoResult { exit: Some(exit) } => {
            format!("the agent ended without a result ({})", exit_in_words(exit))
        }
        Finding::NoResult { exit: None } => "the agent ended without a result".to_owned(),
        Finding::Idle => "the agent was idle (no output, no CPU) until the idle limit".to_owned(),
        Finding::NoLiveChannel => "its live channel did not start".to_owned(),
        Finding::EndedByRalph { reason } => cancel_reason(reason),
        Finding::Flooded => "the agent reported too many permissions, questions, limits or problems".to_owned(),
    }
}

/// Why ralph ended a session, as a clause.
pub(super) fn cancel_reason(reason: CancelReason) -> String {
    let why = match reason {
        CancelReason::Skipped => "skipped by the user",
        CancelReason::Steered => "interrupted by an urgent message",
        CancelReason::IterationTimeout => "its time limit is reached",
        CancelReason::IdleTimeout => "idle timeout",
        CancelReason::LoginRefused => "its login is refused repeatedly",
        CancelReason::Limited => "it waits for a limit",
        CancelReason::Denied => "it needs a denied permission",
        CancelReason::Flooded => "it reports too much",
        CancelReason::MaxSteps => "the limit on tool calls is reached",
        CancelReason::Limit(limit) => {
            let of = match limit.row().scope {
                LimitScope::Run => "run's ",
                LimitScope::Iteration => "iteration's ",
                LimitScope::Task | LimitScope::Day | LimitScope::Hour => "",
            };
            return format!("the {of}{} limit is reached", limit_word(limit));
        }
        CancelReason::Stopped => "the run is stopping",
    };
    why.to_owned()
}

/// The kind of a problem in a word or two.
pub fn problem_kind_in_words(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::NotInstalled => "not installed",
        ProblemKind::Auth => "not authenticated",
        ProblemKind::ModelUnknown => "unknown model",
        ProblemKind::Usage => "command line refused",
        ProblemKind::RateLimited { .. } => "rate limited",
        ProblemKind::QuotaExhausted { .. } => "quota exhausted",
        ProblemKind::Overloaded => "model overloaded",
        ProblemKind::Network => "network",
        ProblemKind::ContextOverflow => "context overflow",
        ProblemKind::PermissionDenied => "permission denied",
        ProblemKind::TurnLimit => "turn limit",
        ProblemKind::SessionLost => "session lost",
        ProblemKind::Crashed => "crashed",
        ProblemKind::Hung => "hung",
        ProblemKind::Flood => "flood of reports",
        ProblemKind::TooLarge => "killed by ralph",
        ProblemKind::Other => "error",
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::Exit;

    use super::*;

    #[test]
    fn what_the_agent_said_comes_before_what_was_found() {
        let waited = Problem {
            finding: Some(Finding::Idle),
            ..Problem::said(ProblemKind::Overloaded, "status 429")
        };
        assert_eq!(
            problem_in_words(&waited),
            "status 429 (the agent waited in silence until the idle limit)"
        );
        let skipped = Problem {
            finding: Some(Finding::EndedByRalph {
                reason: CancelReason::Skipped,
            }),
            ..Problem::said(ProblemKind::Crashed, "the agent was ended by signal 15")
        };
        assert_eq!(problem_in_words(&skipped), "skipped by the user");
        let exit = Some(Exit::Code { code: 1 });
        let crashed = Problem::found(ProblemKind::Crashed, Finding::NoResult { exit });
        assert_eq!(
            problem_in_words(&crashed),
            "the agent ended without a result (exit code 1)"
        );
    }
}
