//! The options of `ralph many clean` and `ralph many resume`.

use ralph_policy::settings::parse_duration;

use super::setting_flags::{self, SettingFlags};

/// Remove what batches that are over have left: checkpoints, states of work trees, branches that others contain
///
/// Commits that are on no other branch, work trees with changes and a last batch that can be resumed stay. Each is named, with the
/// command that removes it.
#[derive(Debug, clap::Args)]
pub(super) struct CleanFlags {
    /// Only what batches left in which nothing has happened for this time, such as 12h or 7d
    #[arg(long = "older", value_name = "TIME", value_parser = parse_duration)]
    pub(super) older_ms: Option<u64>,
}

// Arguments of `ralph many resume`.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(setting_flags::hide_listed),
    mut_arg("max-cost-usd", |arg| arg.hide(false).help_heading(None::<&str>).help("New cost limit of all plans together, or \"unlimited\" [default: as before]")),
    mut_arg("max-tokens", |arg| arg.hide(false).help_heading(None::<&str>).help("New token limit of all plans together, or \"unlimited\" [default: as before]")),
    mut_arg("calls-per-hour", |arg| arg.hide(false).help_heading(None::<&str>).help("New limit of iterations per hour of all plans together, or \"unlimited\" [default: as before]"))
)]
pub(super) struct Resuming {
    /// Plans to go on with alone, by their names or files; also those that were cancelled [default: all that are not merged]
    #[arg(value_name = "PLAN")]
    pub(super) plans: Vec<String>,
    /// Run N plans at a time from now on [default: as before]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) jobs: Option<u32>,
    /// Print lines of text instead of showing a board
    #[arg(long)]
    pub(super) headless: bool,
    #[command(flatten)]
    pub(super) settings: SettingFlags,
}
