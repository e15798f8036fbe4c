//! The verdict on a session that did not report how its turn went.

use ralph_core::event::{AgentSignal, Exit, Problem, ProblemKind};

use super::{Finish, classify::classify_last, clock::ZonedClock, wording::last_error};

/// Reports a session that ended without a verdict: always a failure, independent of the exit code.
pub(crate) fn without_verdict(
    finish: Finish<'_>,
    message: Option<String>,
    clock: &ZonedClock,
    out: &mut Vec<AgentSignal>,
) {
    end(Some(problem(finish, clock)), message, out);
}

/// Reports the end of a turn: a failure if there is a problem.
pub(super) fn end(problem: Option<Problem>, message: Option<String>, out: &mut Vec<AgentSignal>) {
    let ok = problem.is_none();
    out.extend(problem.map(|problem| AgentSignal::Problem { problem }));
    out.push(AgentSignal::TurnEnded { ok, message });
}

pub(super) fn problem(finish: Finish<'_>, clock: &ZonedClock) -> Problem {
    let said = last_error(finish.stderr).map(|error| classify_last(error, clock));
    let crashed = |text: String| Problem::said(ProblemKind::Crashed, text);
    match (finish.exit, said) {
        // The signal ended the agent; messages on stderr do not matter.
        (Some(Exit::Signal { signal }), _) => crashed(format!("the agent was ended by signal {signal}")),
        (Some(Exit::Code { code: 0 }), _) => {
            crashed("the agent ended without finishing its turn (exit code 0)".to_owned())
        }
        // Exit code 2 means a refused command line, by a convention that clap and getopt share.
        (Some(Exit::Code { code: 2 }), Some(said)) if said.kind == ProblemKind::Other => {
            Problem::said(ProblemKind::Usage, said.text)
        }
        (Some(Exit::Code { code }), Some(said)) if said.kind == ProblemKind::Other => {
            crashed(format!("the agent ended with exit code {code}: {}", said.text))
        }
        (Some(Exit::Code { .. }), Some(said)) => said,
        (Some(Exit::Code { code }), None) => {
            crashed(format!("the agent ended without finishing its turn (exit code {code})"))
        }
        (None, _) => crashed("the agent's guard was killed, and the agent with it".to_owned()),
    }
}
