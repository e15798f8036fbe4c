//! The arguments of commands that list and show adapters, engines and settings.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(super) enum AdaptersCommand {
    /// List the adapters and whether they are installed
    List,
    /// Print an adapter's settings, each with its origin
    Show { id: String },
    /// Check whether an adapter's program is installed, and its version; without ID, all of them
    Check { id: Option<String> },
    /// Use this adapter wherever none is named, in every project
    Use { id: String },
}

#[derive(Debug, Subcommand)]
pub(super) enum EnginesCommand {
    /// List the engines and whether they are installed
    List,
    /// Print an engine's settings, each with its origin
    Show { id: String },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every effective setting with its origin
    Show,
    /// Print the JSON schema of configuration files
    Schema,
    /// Print the files that are read
    Path,
}
