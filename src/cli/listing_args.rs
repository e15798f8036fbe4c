//! The arguments of commands that list and show adapters, goals and settings.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(super) enum AdaptersCommand {
    /// Print an adapter's settings, each with its origin
    Show { id: String },
    /// Check whether an adapter's program is installed, its version and its login; without ID, those of all adapters.
    /// With ID, the agent is also asked for a short answer, which costs what its model takes for one
    Check { id: Option<String> },
    /// Add an agent of the ACP registry: show what it would install and run, ask, and write its adapter
    Add {
        /// The agent's ID in the registry; an unknown one is answered with all that there are
        #[arg(value_name = "ID")]
        entry: String,
        /// Add it without a question
        #[arg(long)]
        yes: bool,
    },
    /// Use this adapter wherever none is named, in every project
    Use { id: String },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print the JSON schema of configuration files
    Schema,
}

#[derive(Debug, Subcommand)]
pub(super) enum GoalsCommand {
    /// Run all goals once and show each result; exit code 1 if one fails
    Check {
        /// The directory in which the merge queue keeps the tests of both sides: by ralph itself
        #[arg(long = "__merged", hide = true, value_name = "DIR")]
        merged: Option<PathBuf>,
    },
    /// Write a goal to .ralph/config.json, and trust it
    Add {
        /// The goal, such as tests='cargo test'
        #[arg(value_name = "NAME=COMMAND")]
        goal: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormatArg {
    Text,
    Markdown,
    Json,
}
