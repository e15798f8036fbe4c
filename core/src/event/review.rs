//! Reviews: an agent other than the author examines the changes. Advice, never evidence.

use serde::{Deserialize, Serialize};

use super::{LimitKind, List, Text};
use crate::json::ReadJson;

/// Maximum number of findings of a review in a record.
const FINDINGS: usize = 20;
const FINDING_BYTES: usize = 1024;

/// A reviewer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ReviewAnswer {
    Approved,
    Findings { findings: Findings },
}

/// The findings of a reviewer, in its own words and unchecked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct Findings {
    pub found: List<Text<FINDING_BYTES>, FINDINGS>,
    /// Number of further findings that were left out.
    #[serde(default, skip_serializing_if = "super::plan_change::is_zero")]
    pub more: u32,
}

impl Findings {
    /// Total number of findings, including those left out.
    pub fn count(&self) -> u64 {
        self.found.len() as u64 + u64::from(self.more)
    }

    /// Keeps the first findings, and the number of all.
    pub fn new(found: Vec<String>) -> Self {
        let left_out = found.len().saturating_sub(FINDINGS);
        Self {
            found: found.iter().map(Text::from).collect(),
            more: u32::try_from(left_out).unwrap_or(u32::MAX),
        }
    }
}

/// The result of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ReviewResult {
    Approved,
    Findings {
        findings: Findings,
        /// True if the author continues with the same work; false if all rounds are used up and the run goes on despite
        /// the findings.
        sent_back: bool,
    },
    /// The reviewer's last message has no answer: it is empty, or does not follow the requested format.
    NoAnswer,
    /// The reviewer failed or was ended; see the outcome of the iteration.
    Failed,
    /// The user skipped the review.
    Skipped,
}

impl ReviewResult {
    /// Whether the reviewer gave a verdict.
    pub fn is_answer(&self) -> bool {
        match self {
            ReviewResult::Approved | ReviewResult::Findings { .. } => true,
            ReviewResult::NoAnswer | ReviewResult::Failed | ReviewResult::Skipped => false,
        }
    }

    /// Drops the texts of the findings and keeps their number.
    pub fn shorten(&mut self) {
        if let ReviewResult::Findings { findings, .. } = self {
            let left_out = u32::try_from(findings.found.len()).unwrap_or(u32::MAX);
            findings.found = List::default();
            findings.more = findings.more.saturating_add(left_out);
        }
    }
}

/// Why a due review is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ReviewObstacle {
    /// The run was resumed without a reviewer.
    NotConfigured,
    /// The reviewer's adapter is rate-limited until `until_ms`.
    Limited { until_ms: u64 },
    /// A limit of the run is reached.
    LimitReached { limit: LimitKind },
    /// Reviews are off after this many consecutive failures.
    Failing { reviews: u32 },
}

/// Reviews of the work.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ReviewEvent {
    /// A reviewer is to look at the work before the run continues or completes.
    #[serde(rename = "review-requested")]
    Requested {
        /// The latest iteration of the author.
        iteration: u32,
        /// The finished task; `None` if the whole plan is reviewed.
        task: Option<String>,
        /// Whether the review is all that is missing for completion.
        claims_done: bool,
    },
    /// The requested review will not be made.
    #[serde(rename = "review-withdrawn")]
    Withdrawn,
    /// A review ended. Its answer proves nothing.
    #[serde(rename = "review-concluded")]
    Concluded { iteration: u32, result: ReviewResult },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_findings(count: usize) -> ReviewResult {
        ReviewResult::Findings {
            findings: Findings::new(vec!["a finding".to_owned(); count]),
            sent_back: true,
        }
    }

    #[test]
    fn findings_that_a_record_has_no_room_for_are_counted() {
        for (count, kept) in [(0, 0), (3, 3), (20, 20), (25, 20)] {
            let findings = Findings::new(vec!["a finding".to_owned(); count]);
            assert_eq!(findings.found.len(), kept);
            assert_eq!(findings.count(), count as u64);
        }
    }

    #[test]
    fn shortened_findings_keep_their_number_but_not_their_texts() {
        for count in [3, 25] {
            let mut result = with_findings(count);
            result.shorten();
            let ReviewResult::Findings { findings, sent_back } = result else {
                panic!("findings")
            };
            assert!(findings.found.is_empty() && sent_back);
            assert_eq!(findings.count(), count as u64);
        }
    }

    #[test]
    fn an_approval_and_findings_are_answers_and_nothing_else_is() {
        for answer in [ReviewResult::Approved, with_findings(1)] {
            assert!(answer.is_answer(), "{answer:?}");
        }
        for none in [ReviewResult::NoAnswer, ReviewResult::Failed, ReviewResult::Skipped] {
            assert!(!none.is_answer(), "{none:?}");
        }
    }
}
