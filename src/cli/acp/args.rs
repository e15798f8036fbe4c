//! The arguments of `ralph acp`.

use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
    ralph acp                        the command that an editor starts
    ralph acp -a codex -n 20         its runs use codex, 20 iterations at most

A prompt is a task. A prompt that is only a file of the project, or `/plan PLAN.md`, is a plan;
`/continue` continues the last run.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct AcpArgs {
    /// Options of `ralph` for each run
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) options: Vec<OsString>,
}
