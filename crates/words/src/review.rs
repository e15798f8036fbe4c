//! Reviews in words.

use ralph_core::event::{Findings, ReviewResult, Role};

use super::{Tone, counted, role_in_words};

/// The result of a review, as a clause.
pub fn review_in_words(result: &ReviewResult) -> (Tone, String) {
    match result {
        ReviewResult::Approved => (Tone::Good, "approved".to_owned()),
        ReviewResult::Findings { findings, sent_back } => {
            let count = counted(findings.count(), "finding");
            let then = if *sent_back {
                ""
            } else {
                ": the reviewer still disagrees"
            };
            (Tone::Bad, format!("{count}{then}"))
        }
        ReviewResult::NoAnswer => (Tone::Warning, "no usable answer".to_owned()),
        ReviewResult::Failed => (Tone::Warning, "failed".to_owned()),
        ReviewResult::Skipped => (Tone::User, "skipped".to_owned()),
    }
}

/// The result of a review in a word or two, for tables.
pub fn review_word(result: &ReviewResult) -> String {
    match result {
        ReviewResult::Findings { findings, .. } => counted(findings.count(), "finding"),
        result => review_in_words(result).1,
    }
}

/// The result of a review with its findings and what follows, for the log.
pub(super) fn logged_review(result: &ReviewResult) -> (Tone, String) {
    let (tone, what) = review_in_words(result);
    let text = match result {
        ReviewResult::Approved | ReviewResult::Skipped => format!("review: {what}"),
        ReviewResult::Findings { findings, sent_back } => {
            let then = if *sent_back { "back to the author" } else { "continuing" };
            format!("review: {what}; {then}: {}", findings_in_words(findings).join(" "))
        }
        ReviewResult::NoAnswer | ReviewResult::Failed => format!("review: {what}; continuing without it"),
    };
    (tone, text)
}

/// The findings of a review, numbered, one per line.
pub fn findings_in_words(findings: &Findings) -> Vec<String> {
    let found = findings.found.iter().enumerate();
    let mut lines: Vec<String> = found
        .map(|(index, finding)| format!("{}. {finding}", index + 1))
        .collect();
    if findings.more > 0 {
        lines.push(format!("… and {} more", findings.more));
    }
    lines
}

/// The task of an iteration, with its role if that is not work: `review: Write the parser`.
pub fn task_in_words(role: Role, task: Option<&str>) -> String {
    match (role_in_words(role), task) {
        (None, Some(task)) => task.to_owned(),
        (None, None) => "verify the finished plan".to_owned(),
        (Some(role), Some(task)) => format!("{role}: {task}"),
        (Some(role), None) => format!("{role} of all work"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_told_with_what_follows_from_them() {
        let findings = Findings {
            found: vec!["a.rs:1: a stub".into(), "b.rs:2: a panic".into()].into(),
            more: 3,
        };
        let of = |sent_back| ReviewResult::Findings {
            findings: findings.clone(),
            sent_back,
        };
        assert_eq!(
            logged_review(&of(true)).1,
            "review: 5 findings; back to the author: 1. a.rs:1: a stub 2. b.rs:2: a panic … and 3 more"
        );
        assert_eq!(
            review_in_words(&of(false)).1,
            "5 findings: the reviewer still disagrees"
        );
    }
}
