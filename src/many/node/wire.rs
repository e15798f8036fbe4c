//! The conversation between a batch and `ralph __node`: lines of JSON, some with bytes behind them.
//!
//! The batch sends one request. The node first sends its greeting, which ends whatever a shell prints before, and then its
//! replies. The greeting has the version, which both sides share, so the types may change.

use std::{collections::BTreeMap, path::PathBuf};

use ralph_core::event::Exit;
use serde::{Deserialize, Serialize};

/// The beginning of a node's first line; the version follows.
pub(in crate::many) const GREETING: &str = "ralph-node ";
pub(in crate::many) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Most bytes of a line.
pub(in crate::many) const LINE_CAP_BYTES: usize = 32 << 20;
/// Most bytes of a bundle.
pub(in crate::many) const BUNDLE_CAP_BYTES: u64 = 16 << 30;

/// The job that a request is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::many) struct NodeJob {
    /// The name of the project's state directory on the machine of the batch.
    pub(in crate::many) project: String,
    pub(in crate::many) batch: String,
    pub(in crate::many) plan: String,
    /// The name of the job, which is never used again.
    pub(in crate::many) name: String,
    /// The project's path within its repository.
    pub(in crate::many) prefix: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in crate::many) enum NodeRequest {
    /// Starts a job, unless it was started or withdrawn before. The batch sends a [`BundleHeader`] and a bundle after
    /// [`NodeReply::Ready`].
    Start(Box<StartRequest>),
    /// Sends the records and the output of a job until it is over.
    Follow {
        job: NodeJob,
        /// Sizes of the journals that the batch has, by run.
        journals: BTreeMap<String, u64>,
        log_bytes: u64,
    },
    /// Asks a job to end; withdraws one that was never started.
    Stop { job: NodeJob },
    /// Commits what the agent left, and sends the commits that the batch lacks.
    Take {
        job: NodeJob,
        known: Vec<String>,
        message: String,
        /// Whether the run has completed the plan. Otherwise a merge that it has not concluded stays open.
        finished: bool,
    },
    /// Connects stdin and stdout with the socket of the job's run.
    Connect { job: NodeJob },
    /// Removes the work tree, its branch and the state of its runs.
    Remove { job: NodeJob, args: Vec<String> },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::many) struct StartRequest {
    pub(in crate::many) job: NodeJob,
    /// The commit that the plan's branch begins at.
    pub(in crate::many) tip: String,
    /// The merge that the agent is to conclude.
    pub(in crate::many) merge: Option<OpenMergeRequest>,
    /// Texts of the project's own files that the user has trusted, by name.
    pub(in crate::many) trusted: BTreeMap<String, String>,
    /// The committer, for a node without one: name and email.
    pub(in crate::many) committer: Option<(String, String)>,
    /// The arguments of the run.
    pub(in crate::many) args: Vec<String>,
    pub(in crate::many) env: Vec<(String, String)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::many) struct OpenMergeRequest {
    pub(in crate::many) commit: String,
    pub(in crate::many) message: String,
    /// The plan's file, relative to the project, and its text with the added task.
    pub(in crate::many) file: String,
    pub(in crate::many) text: String,
}

/// Precedes a bundle of this size; none if there is nothing to send.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::many) struct BundleHeader {
    pub(in crate::many) bytes: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in crate::many) enum NodeReply {
    /// The commits that the node has.
    Ready {
        known: Vec<String>,
    },
    /// The bytes of a journal from `from` on follow.
    Journal {
        run: String,
        from: u64,
        bytes: u64,
    },
    /// The bytes of the job's output from `from` on follow.
    Log {
        from: u64,
        bytes: u64,
    },
    /// The state of the job, again and again while it runs. Everything that it had written by then was sent before.
    State {
        state: JobState,
    },
    /// A bundle follows, with `tip` as the tip of the plan's branch.
    Bundle {
        tip: String,
        bytes: u64,
    },
    Done,
    /// The request was not carried out.
    Refused {
        why: String,
    },
}

/// The state of a job on its node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in crate::many) enum JobState {
    /// The node knows no such job.
    Absent,
    /// The batch has withdrawn it before it was started.
    Withdrawn,
    Running,
    Ended {
        exit: Option<Exit>,
        /// The end of its output.
        tail: String,
    },
    /// Its processes are gone, and none has recorded an end.
    Gone,
}

/// Whether a text from another machine is fit for a directory's name.
pub(in crate::many) fn is_name(text: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !text.is_empty() && text.len() <= 200 && !text.starts_with('.') && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_another_machine_leads_anywhere_else() {
        for name in ["20261127-030000", "api", "Übung_2", "app-0123456789abcdef", "v1.2"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            ".git",
            "a/b",
            "../a",
            "a\0",
            "a b",
            "a\n",
            &"a".repeat(201),
        ] {
            assert!(!is_name(name), "{name:?}");
        }
    }
}
