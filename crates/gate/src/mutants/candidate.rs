//! Mutants before they are made, and the order in which they are.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::MutationKind;
use super::source::Source;

/// From here on a candidate is used where nothing else is left.
pub(super) const LAST_RESORT: u8 = 6;
/// A literal that another candidate alters, too, altered in another way.
pub(super) const AGAIN: u8 = 7;
/// An argument of a function of the project that is called like an assertion is probably an expectation. It is used for tests
/// that have nothing else.
pub(super) const PROBABLE: u8 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl Edit {
    pub(super) fn of_token(source: &Source<'_>, token: usize, text: impl Into<String>) -> Option<Self> {
        let token = source.tokens.get(token)?;
        Some(Edit {
            start: token.start,
            end: token.end,
            text: text.into(),
        })
    }

    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Edit {
            start: at,
            end: at,
            text: text.into(),
        }
    }

    /// Puts `open` and `close` around the tokens of `range`.
    pub(super) fn around(
        source: &Source<'_>,
        range: &std::ops::Range<usize>,
        open: &str,
        close: &str,
    ) -> Option<Vec<Self>> {
        let (start, end) = source.span(range)?;
        Some(vec![Edit::insert(start, open), Edit::insert(end, close)])
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) kind: MutationKind,
    /// The lower, the surer that tests notice it.
    pub(super) tier: u8,
    /// The test of an assertion, the line of work.
    pub(super) group: usize,
    /// The assertion.
    pub(super) part: usize,
    /// In the order of the text, apart from each other.
    pub(super) edits: Vec<Edit>,
}

impl Candidate {
    /// The changed text; none if the edits do not fit it.
    pub(super) fn apply(&self, text: &str) -> Option<String> {
        applied(text, &self.edits)
    }
}

/// The text with `edits`, which are in its order; none if they do not fit it, or overlap.
pub(super) fn applied<'a>(text: &str, edits: impl IntoIterator<Item = &'a Edit>) -> Option<String> {
    let mut changed = String::with_capacity(text.len() + 16);
    let mut at = 0;
    for edit in edits {
        changed.push_str(text.get(at..edit.start)?);
        changed.push_str(&edit.text);
        at = edit.end;
    }
    changed.push_str(text.get(at..)?);
    Some(changed)
}

/// The best of each line, then the second best of each, and so on.
pub(super) fn by_line(mut candidates: Vec<Candidate>, random: &mut Rng, most: usize) -> Vec<Candidate> {
    random.shuffle(&mut candidates);
    candidates.sort_by_key(|candidate| candidate.tier);
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    let mut rounds: Vec<(usize, Candidate)> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let round = seen.entry(candidate.group).or_default();
        rounds.push((*round, candidate));
        *round += 1;
    }
    rounds.sort_by_key(|(round, candidate)| (*round, candidate.tier));
    rounds.into_iter().map(|(_, candidate)| candidate).take(most).collect()
}

/// Up to `most` candidates: literals first, and another assertion each time as far as there are any.
pub(super) fn by_assertion(mut candidates: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let mut used = Used::default();
    let mut ordered = Vec::new();
    for kind in [MutationKind::Literal, MutationKind::Negation] {
        let mut of_kind = candidates.extract_if(.., |candidate| candidate.kind == kind).collect();
        while let Some(next) = used.take_best(&mut of_kind).filter(|_| ordered.len() < most) {
            ordered.push(next);
        }
    }
    ordered
}

#[derive(Debug, Default)]
struct Used {
    groups: BTreeMap<usize, usize>,
    parts: BTreeMap<usize, usize>,
}

impl Used {
    fn take_best(&mut self, from: &mut Vec<Candidate>) -> Option<Candidate> {
        let count = |map: &BTreeMap<usize, usize>, key| map.get(&key).copied().unwrap_or(0);
        let (best, _) = from.iter().enumerate().min_by_key(|(_, candidate)| {
            (
                candidate.tier >= LAST_RESORT,
                count(&self.parts, candidate.part),
                candidate.tier,
                count(&self.groups, candidate.group),
            )
        })?;
        let best = from.swap_remove(best);
        *self.groups.entry(best.group).or_default() += 1;
        *self.parts.entry(best.part).or_default() += 1;
        Some(best)
    }
}
