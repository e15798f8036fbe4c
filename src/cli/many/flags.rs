//! The commands of batches, and their arguments.

use std::path::PathBuf;

use clap::Subcommand;
use ralph_policy::settings::parse_duration;

use crate::cli::{
    listing_args::ReportFormatArg,
    setting_flags::{self, SettingFlags},
};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(in crate::cli) enum BatchCommand {
    /// Run several plans side by side, each on a branch of its own, and merge finished plans: `ralph many api.md
    /// ui.md`. A merge counts once the goals pass on the merged tree; options of `ralph` that are typed here apply to
    /// every run
    Many(Box<ManyArgs>),
    /// Make plans from issues of your forge and run them side by side: `ralph take 42 43`, `ralph take --label ralph`. Without an issue
    /// or a filter, list the open issues; options of `ralph` that are typed here apply to every run
    Take(Box<TakeArgs>),
    /// List the engines that can run the plans of `ralph many`, or show one
    Engines {
        /// The engine whose settings are printed, each with its origin
        #[arg(value_name = "ENGINE")]
        id: Option<String>,
    },
}

/// Remove what batches that are over have left: checkpoints, states of work trees, branches that others contain
///
/// Commits that are on no other branch, work trees with changes and a last batch that can be resumed stay. Each is named, with the
/// command that removes it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CleanFlags {
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
pub(in crate::cli) struct Resuming {
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

// Arguments of `ralph many`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    mut_args(setting_flags::hide_listed)
)]
pub(in crate::cli) struct ManyArgs {
    #[command(subcommand)]
    pub(super) command: Option<ManyCommand>,
    /// The plans, which are files of the project
    #[arg(value_name = "PLAN")]
    pub(super) plans: Vec<PathBuf>,
    /// Run each section of this plan as a plan of its own
    #[arg(long, value_name = "PLAN", conflicts_with = "plans")]
    pub(super) each_section: Option<PathBuf>,
    /// Run N plans at a time [default: half of the cores; all plans if an engine has a queue]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) jobs: Option<u32>,
    /// The engine that runs the plans: `local` (processes of this machine) or one of `ralph engines`
    #[arg(long, value_name = "ENGINE", default_value = "local")]
    pub(super) engine: String,
    /// Merge into this branch [default: a new branch of the batch, from HEAD]
    #[arg(long, value_name = "BRANCH")]
    pub(super) into: Option<String>,
    /// Print lines of text instead of showing a board
    #[arg(long)]
    pub(super) headless: bool,
    #[command(flatten)]
    pub(super) settings: SettingFlags,
}

// Arguments of `ralph take`.
#[derive(Debug, clap::Args)]
#[command(mut_args(setting_flags::hide_listed))]
pub(in crate::cli) struct TakeArgs {
    /// The issues, by their numbers
    #[arg(value_name = "ISSUE", value_parser = issue_number, conflicts_with_all = ["label", "assignee", "milestone", "query"])]
    pub(super) issues: Vec<u64>,
    /// Take the open issues with this label; can be repeated
    #[arg(long, value_name = "LABEL")]
    pub(super) label: Vec<String>,
    /// Take those of this user
    #[arg(long, value_name = "LOGIN")]
    pub(super) assignee: Option<String>,
    /// Take those of this milestone, by its number
    #[arg(long, value_name = "MILESTONE")]
    pub(super) milestone: Option<String>,
    /// Take those that the forge's search finds
    #[arg(long, value_name = "WORDS")]
    pub(super) query: Option<String>,
    /// List the issues, and take none
    #[arg(long)]
    pub(super) list: bool,
    /// Also take issues that the filter finds later, until the batch is stopped
    #[arg(long, conflicts_with_all = ["issues", "list", "plans_only"])]
    pub(super) watch: bool,
    /// Write the plans below .ralph/issues, and run none
    #[arg(long)]
    pub(super) plans_only: bool,
    /// Run N plans at a time [default: half of the cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) jobs: Option<u32>,
    /// Merge into this branch; with `--deliver`, a branch of the remote [default: a new branch of the batch; the remote's
    /// default branch]
    #[arg(long, value_name = "BRANCH")]
    pub(super) into: Option<String>,
    /// Print lines of text instead of showing a board
    #[arg(long)]
    pub(super) headless: bool,
    #[command(flatten)]
    pub(super) settings: SettingFlags,
}

/// Parses `42` or `#42`.
fn issue_number(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix('#').unwrap_or(text).parse();
    number.map_err(|_| "an issue is named by its number, as in `ralph take 42`".to_owned())
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ManyCommand {
    /// Show the status of each plan of the last batch
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Summarize the last batch: the work of each plan, what is merged, and why the rest is not
    Report {
        #[arg(
            long,
            value_enum,
            value_name = "FORMAT",
            help = "Write it as text, Markdown or JSON",
            hide_possible_values = true,
            default_value = "text"
        )]
        format: ReportFormatArg,
        /// Write it to this file
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Cancel a plan, or all plans that are not merged; their branches are kept
    Cancel {
        /// The plan, by its name or its file
        #[arg(value_name = "PLAN")]
        plan: Option<String>,
    },
    /// Add plans to the last batch, also while it runs
    Add {
        /// The plans, which are files of the project
        #[arg(value_name = "PLAN", required = true)]
        plans: Vec<PathBuf>,
    },
    Clean(CleanFlags),
    /// Show the board of the last batch on this terminal, or the run of one of its plans
    Attach {
        /// The plan, by its name or its file [default: the board of all plans]
        #[arg(value_name = "PLAN")]
        plan: Option<String>,
    },
    /// Resume the last batch: interrupted plans and plans that were not merged; options of `ralph` that are typed here
    /// replace those of the batch
    Resume(Box<Resuming>),
}
