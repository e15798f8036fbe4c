//! What `ralph many clean` is given.

use crate::settings::parse_duration;

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
