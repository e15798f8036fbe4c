//! The exit codes and their meanings, for the help and the reference.

use std::fmt::Write as _;

/// The exit codes, each with its meaning in a few words.
const CODES: &[(u8, &str)] = &[
    (0, "done"),
    (
        1,
        "the agent failed for good, ralph's state could not be kept, or the repository is gone",
    ),
    (2, "usage"),
    (3, "configuration, prompt or plan invalid"),
    (4, "the agent is not installed, or its server cannot be used"),
    (5, "another ralph is already running in this project"),
    (6, "a limit was reached"),
    (7, "no progress: the stuck detector stopped the run"),
    (8, "blocked: needs your answer"),
    (
        9,
        "done, but proven less than it has to be: changed tests wait for `ralph confirm`, or `--require` wants more",
    ),
    (129, "hung up: the terminal went away"),
    (130, "interrupted (Ctrl-C), or ended by `ralph stop`"),
    (143, "terminated (SIGTERM)"),
];

/// The table at the end of the long help.
pub(super) fn help() -> String {
    let mut text = "Exit codes:".to_owned();
    for (code, meaning) in CODES {
        write!(text, "\n    {code:>3}  {meaning}").expect("a string takes every write");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{LimitKind, StopReason},
        testing::assert_committed,
    };

    use crate::error::FailureKind;

    #[test]
    fn every_way_to_end_has_its_code_in_the_table() {
        let failures = [
            FailureKind::Failed,
            FailureKind::Usage,
            FailureKind::Configuration,
            FailureKind::AgentUnavailable,
            FailureKind::Locked,
            FailureKind::Unanswered,
        ];
        let limit = LimitKind::MaxTime;
        let stops = [
            StopReason::LimitReached { limit },
            StopReason::Requested,
            StopReason::Interrupted,
            StopReason::Terminated,
            StopReason::HungUp,
            StopReason::Superseded,
        ];
        let codes = failures.map(FailureKind::exit_code).into_iter();
        for code in codes.chain(stops.iter().map(StopReason::exit_code)) {
            assert!(CODES.iter().any(|(known, _)| *known == code), "{code}");
        }
    }

    #[test]
    fn the_page_of_exit_codes_is_the_committed_one() {
        let mut page = "# Exit codes\n\n| code | meaning |\n|---|---|\n".to_owned();
        for (code, meaning) in CODES {
            writeln!(page, "| {code} | {meaning} |").expect("a string takes every write");
        }
        page += "\nA run that has a process of its own continues when its terminal goes away; with `--headless` or `--foreground` it \
                 ends with 129.\n\n`ralph status --watch` and `ralph wait` exit with the code of the run. Commands that answer a \
                 question use 1 for no: `ralph goals check`, which exits with 2 if the goals cannot be run, \
                 `ralph trust --show`; `ralph permissions test` is 0 for allowed, 1 for \
                 denied and 8 for asked.\n";
        assert_committed("docs/reference/exit-codes.md", &page, "exit_codes");
    }
}
