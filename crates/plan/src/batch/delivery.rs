//! Delivery of verified work that is not merged here: a branch on a remote, or a pull request.

use serde::{Deserialize, Serialize};

/// The form in which a batch delivers verified work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    /// The plan's branch is pushed.
    Branch,
    /// A pull request is opened and watched until it is merged or closed.
    Pr,
}

/// The remote that a batch delivers to. It is recorded at the start, before any agent runs: an agent can change the remotes of the
/// repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    pub kind: DeliveryKind,
    /// The address of the remote.
    pub remote: String,
    /// The branch of the remote that the plans begin from, and that pull requests are for.
    pub base: String,
    /// How often failed checks and review comments of a pull request give its agent another task.
    pub rounds: u32,
}

/// The pull request of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct PullRequest {
    pub number: u64,
    pub url: String,
}

/// The work of a plan that is on the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredWork {
    pub commit: String,
    pub request: Option<PullRequest>,
}

/// A failed check of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct FailedCheck {
    pub name: String,
    /// The end of its log.
    pub log: String,
}

/// A review thread of a pull request that waits for a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ReviewThread {
    /// The forge's id.
    pub id: String,
    /// File and line.
    pub place: String,
    pub text: String,
}
