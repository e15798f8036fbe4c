//! Reviews: an agent that is not the author looks at what was changed. Advice, never evidence.

use serde::{Deserialize, Serialize};

use super::{LimitKind, clip::clip};

/// Most findings that are kept of a review.
const FINDINGS: usize = 20;
const FINDING_BYTES: usize = 1024;

/// A reviewer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ReviewAnswer {
    Approved,
    Findings { findings: Findings },
}

impl ReviewAnswer {
    /// With so many findings of such a length as a record may carry.
    #[must_use]
    pub fn bounded(self) -> Self {
        match self {
            ReviewAnswer::Approved => self,
            ReviewAnswer::Findings { findings } => ReviewAnswer::Findings {
                findings: findings.bounded(),
            },
        }
    }
}

/// What a reviewer found, in its own words, of which nothing is checked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct Findings {
    pub found: Vec<String>,
    /// Further ones that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Findings {
    /// How many there are, those included that are left out.
    pub fn count(&self) -> u64 {
        self.found.len() as u64 + u64::from(self.more)
    }

    /// With so many of such a length as a record may carry.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let left_out = self.found.len().saturating_sub(FINDINGS);
        self.found.truncate(FINDINGS);
        self.more = self.more.saturating_add(u32::try_from(left_out).unwrap_or(u32::MAX));
        self.found
            .iter_mut()
            .for_each(|finding| *finding = clip(finding, FINDING_BYTES));
        self
    }
}

/// What came of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ReviewResult {
    Approved,
    Findings {
        findings: Findings,
        /// The author goes back to the work; else the rounds are used up, and the run goes on although the reviewer disagrees.
        sent_back: bool,
    },
    /// The reviewer's last message has no answer: it is empty, or praise in another form than the one that was asked for.
    NoAnswer,
    /// The reviewer failed or was ended, as the iteration's outcome says.
    Failed,
    /// The user did not want to wait for it.
    Skipped,
}

impl ReviewResult {
    /// Whether somebody looked at the work and said what they think of it.
    pub fn is_answer(&self) -> bool {
        match self {
            ReviewResult::Approved | ReviewResult::Findings { .. } => true,
            ReviewResult::NoAnswer | ReviewResult::Failed | ReviewResult::Skipped => false,
        }
    }

    /// Leaves out what takes much room.
    pub fn shorten(&mut self) {
        if let ReviewResult::Findings { findings, .. } = self {
            let left_out = u32::try_from(findings.found.len()).unwrap_or(u32::MAX);
            findings.found = Vec::new();
            findings.more = findings.more.saturating_add(left_out);
        }
    }

    pub(super) fn bounded(self) -> Self {
        match self {
            ReviewResult::Findings { findings, sent_back } => ReviewResult::Findings {
                findings: findings.bounded(),
                sent_back,
            },
            ReviewResult::Approved | ReviewResult::NoAnswer | ReviewResult::Failed | ReviewResult::Skipped => self,
        }
    }
}

/// Why a review that was due is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ReviewObstacle {
    /// The run was resumed without a reviewer.
    NotConfigured,
    /// The reviewer's adapter is of no use until then.
    Limited { until_ms: u64 },
    /// A limit of the run is reached.
    LimitReached { limit: LimitKind },
    /// It failed so often running that it is asked no more.
    Failing { reviews: u32 },
}
