//! The strength of the evidence that a run is done.

use serde::{Deserialize, Serialize};

/// The evidence that a run is done, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Tests were changed, pass only in their changed form, and the user has not confirmed the change.
    Unconfirmed,
    /// Only the agent's word and the boxes that it ticked.
    #[default]
    Nothing,
    /// The exit codes of the goals.
    ExitCodes,
    /// Tests that were counted and that detect changes; the files that guard them are original or confirmed.
    Tests,
}

impl Proof {
    pub(super) fn is_default(&self) -> bool {
        *self == Proof::default()
    }
}
