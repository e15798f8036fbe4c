//! The goals, and whether the tests behind them are intact.

use serde::Serialize;

use super::{ConfirmedBy, GoalResult, GuardedChange, List, Text, Trial, TriedMutant};
use crate::json::ReadJson;

/// The goals, and whether the tests behind them are intact.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant)] // one at a time is made, and written
pub enum GateEvent {
    /// The goals are being run. Iteration 0 is the check before the first iteration.
    VerificationStarted {
        iteration: u32,
        goals: Vec<String>,
        /// Whether only the checks of ticked tasks are run. Claims are judged afterwards.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ticks: bool,
    },
    GoalChecked {
        iteration: u32,
        result: GoalResult,
    },
    /// The goals passed, but files that guard the tests had changed: the goals were run again with the original files.
    TrialMade {
        iteration: u32,
        trial: Trial,
    },
    /// Changed tests were accepted.
    TestsConfirmed {
        /// The iteration that changed the tests.
        iteration: u32,
        changes: List<GuardedChange>,
        by: ConfirmedBy,
    },
    /// The goals were run with small mutations of the code that tests should detect.
    MutantsTried {
        iteration: u32,
        mutants: List<TriedMutant>,
    },
    /// The goals with `on_edit` were run while the agent works. They prove nothing: the results that count come after
    /// the iteration.
    EditsChecked {
        iteration: u32,
        results: Vec<GoalResult>,
        /// The goals whose result is new to the agent.
        news: Vec<String>,
        /// Whether the agent is told at once; otherwise the next prompt lists what still fails.
        live: bool,
    },
    /// The goals were run on the files that an iteration left, while the run went on. They prove nothing: a claim is
    /// judged by goals that are run for it.
    IterationChecked {
        iteration: u32,
        /// Without failures of goals that have never passed: their work is still to be done.
        results: Vec<GoalResult>,
        /// The goals whose result is new to the agent.
        news: Vec<String>,
        /// Whether the agent is told at once; otherwise the next prompt lists what fails.
        live: bool,
    },
    /// A goal that is broken was run on the files of an iteration before the break, to find which one broke it.
    BreakSought {
        iteration: u32,
        goal: Text,
        passed: bool,
    },
}
