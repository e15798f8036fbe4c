//! The Test Anything Protocol, up to version 14: only tests at the left margin count; subtests are part of these.

use super::{
    ids::Ids,
    tally::{CountKind, Figures, number},
};

/// The marks of the lines that matter: each has one of these.
pub(super) const MARKS: [&str; 3] = ["1..", "ok", "Bail out!"];

/// The part of a TAP stream that was read.
#[derive(Debug, Clone, Default)]
pub(super) struct Tap {
    pub(super) figures: Figures,
    pub(super) ids: Ids,
    points: u32,
    planned: Option<u32>,
    bailed_out: bool,
}

impl Tap {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(plan) = line.strip_prefix("1..") {
            let count = plan.split(char::is_whitespace).next().and_then(number);
            if let Some(count) = count {
                self.planned = Some(self.planned.unwrap_or_default().saturating_add(count));
            }
        } else if let Some(point) = after_word(line, "not ok") {
            self.point(point, false);
        } else if let Some(point) = after_word(line, "ok") {
            self.point(point, true);
        } else if line.starts_with("Bail out!") {
            self.bailed_out = true;
        }
    }

    fn point(&mut self, point: &str, is_ok: bool) {
        let point = point.trim_start();
        let digits = point
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(point.len());
        let (description, directive) = split_directive(&point[digits..]);
        let kind = match (directive, is_ok) {
            (Some(Directive::Skip), _) => CountKind::Skipped,
            (Some(Directive::Todo), false) => CountKind::Expected,
            (Some(Directive::Todo) | None, true) => CountKind::Passed,
            (None, false) => CountKind::Failed,
        };
        self.points = self.points.saturating_add(1);
        self.figures.add(kind, 1);
        let description = description.trim_start();
        self.ids
            .add(description.strip_prefix("- ").unwrap_or(description), kind);
    }

    /// Whether it is TAP: other text may have lines that begin with `ok`, but no plan.
    pub(super) fn is_recognised(&self) -> bool {
        self.planned.is_some()
    }

    /// Returns the reason why the stream is no evidence: it ended early.
    pub(super) fn inconsistent(&self) -> Option<String> {
        let planned = self.planned?;
        if self.bailed_out {
            Some("the tests were abandoned (`Bail out!`)".to_owned())
        } else if self.points < planned {
            Some(format!(
                "{planned} tests were planned, and {} are reported",
                self.points
            ))
        } else {
            None
        }
    }
}

/// Returns the rest of a line after its first word, if that is `word`.
fn after_word<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    line.strip_prefix(word)
        .filter(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

enum Directive {
    Skip,
    Todo,
}

/// Splits a test point into its description and its directive, which begins with an unescaped `#`.
fn split_directive(text: &str) -> (&str, Option<Directive>) {
    for (place, _) in text.match_indices('#') {
        let (before, after) = text.split_at(place);
        let after = after[1..].trim_start();
        let begins_with = |word: &str| after.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if before.ends_with('\\') {
            continue;
        }
        if begins_with("skip") {
            return (before, Some(Directive::Skip));
        }
        if begins_with("todo") {
            return (before, Some(Directive::Todo));
        }
    }
    (text, None)
}
