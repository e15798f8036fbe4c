//! Small changes that tests should notice.
//!
//! Mutants of work show that the tests cover it (cf. Groce et al., "An extensible, regular-expression-based tool for
//! multi-language mutant generation", ICSE 2018). Mutants of tests show that the tests decide: with correct work they must
//! fail once something else is expected. Work that ends the runner early, imitates its summary or turns assertions into
//! nothing passes all of them; work whose results are equal to everything passes those with another literal and fails those
//! with the opposite assertion, so both kinds are needed.

mod assertions;
mod candidate;
mod language;
mod lexer;
mod literal;
mod negation;
mod scope;
mod source;
mod work;

use std::{collections::BTreeMap, ops::RangeInclusive};

use fastrand::Rng;
use ralph_core::event::{Mutant, MutantTarget};

use candidate::{AGAIN, Candidate, Edit, LAST_RESORT, PROBABLE};
pub(crate) use language::Language;
pub(crate) use lexer::{Kind, block_comment};
pub(crate) use source::{Source, has_word};

/// Longest text of which there are mutants, in bytes.
const LARGEST_TEXT: usize = 256 * 1024;
/// Most candidates that are put in order.
const MOST_ORDERED: usize = 2000;
/// Most mutants of one text.
const MOST: usize = 64;

/// A mutant with the whole text of the file that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutation {
    pub mutant: Mutant,
    pub kind: MutationKind,
    pub text: String,
    /// The line that opens the test of an altered expectation, from 1; the altered line of work.
    pub test: u32,
    edits: Vec<Edit>,
}

impl Mutation {
    /// Returns `text` with all of these mutations of it; `None` if two of them change the same part.
    pub fn all_in(text: &str, mutations: &[&Mutation]) -> Option<String> {
        let mut edits: Vec<&Edit> = mutations.iter().flat_map(|mutation| &mutation.edits).collect();
        edits.sort_by_key(|edit| (edit.start, edit.end));
        candidate::applied(text, edits)
    }
}

/// The kind of code that a mutant changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutationKind {
    /// An expected value, or the expected type of an error.
    Literal,
    /// A whole assertion, into its opposite.
    Negation,
    /// The work itself.
    Work,
}

/// Whether there are mutants of a file at `path`: of Python, Rust, JavaScript, TypeScript and Go, in which a bench
/// measures what they find.
pub fn has_mutants(path: &str) -> bool {
    Language::of_path(path).is_some()
}

/// Mutants of the lines `lines` (counted from 1, inclusive) of work, the best first.
///
/// Each line has one mutant before a line has two. The same seed gives the same mutants. Tests within a
/// file of code are left alone, and so are comments and imports. Texts are changed where nothing else is left.
pub fn work_mutants(path: &str, text: &str, lines: &[RangeInclusive<u32>], seed: u64) -> Vec<Mutation> {
    let Some(source) = source(path, text) else {
        return Vec::new();
    };
    let candidates = work::candidates(&source, lines);
    let ordered = candidate::by_line(candidates, &mut Rng::with_seed(seed), MOST);
    mutations(path, &source, ordered)
}

/// Mutants of what tests expect, the surest first: correct work must fail each of them.
///
/// Other literals come before opposite assertions, and tests have one each before one has two. The same seed gives the
/// same mutants. Tests that are skipped, and assertions that may not be reached, are left alone.
pub fn test_mutants(path: &str, text: &str, seed: u64) -> Vec<Mutation> {
    let Some(source) = source(path, text) else {
        return Vec::new();
    };
    let mut random = Rng::with_seed(seed);
    let mut candidates = assertions::candidates(&source, &mut random);
    candidates.retain(|candidate| candidate.tier < AGAIN);
    random.shuffle(&mut candidates);
    candidates.truncate(MOST_ORDERED);
    let mut ordered = candidate::by_assertion(candidates, MOST);
    ordered.sort_by_key(|candidate| candidate.tier >= LAST_RESORT);
    mutations(path, &source, ordered)
}

/// Mutants of what each test of a file expects, tests in the order of the file: up to `most` of a test, literals before
/// opposite assertions, other assertions before another literal of the same one.
pub fn expectations_by_test(path: &str, text: &str, most: usize) -> Vec<Vec<Mutation>> {
    let Some(source) = source(path, text) else {
        return Vec::new();
    };
    let mut random = Rng::with_seed(text.len() as u64);
    let mut tests: BTreeMap<usize, Vec<Candidate>> = BTreeMap::new();
    for candidate in assertions::candidates(&source, &mut random) {
        tests.entry(candidate.group).or_default().push(candidate);
    }
    let of_test = |mut candidates: Vec<Candidate>| {
        if candidates.iter().any(|candidate| candidate.tier < PROBABLE) {
            candidates.retain(|candidate| candidate.tier < PROBABLE);
        }
        let ordered = candidate::by_assertion(candidates, most);
        mutations(path, &source, ordered)
    };
    let tests = tests.into_values().map(of_test);
    tests.filter(|mutations| !mutations.is_empty()).collect()
}

/// A file that is read for mutants; `None` if it is too large, or in a language that is not altered.
fn source<'t>(path: &str, text: &'t str) -> Option<Source<'t>> {
    let language = Language::of_path(path).filter(|_| text.len() <= LARGEST_TEXT)?;
    Some(Source::new(language, text))
}

fn mutations(path: &str, source: &Source<'_>, candidates: Vec<Candidate>) -> Vec<Mutation> {
    candidates
        .into_iter()
        .filter_map(|candidate| mutation(path, source, &candidate))
        .collect()
}

fn mutation(path: &str, source: &Source<'_>, candidate: &Candidate) -> Option<Mutation> {
    let text = candidate.apply(source.text)?;
    let start = candidate.edits.first()?.start;
    let line = source
        .lines
        .partition_point(|line| line.start <= start)
        .checked_sub(1)?;
    let before = source.text.lines().nth(line)?.trim().to_owned();
    let after = text.lines().nth(line).unwrap_or_default().trim().to_owned();
    let target = match candidate.kind {
        MutationKind::Literal | MutationKind::Negation => MutantTarget::Test,
        MutationKind::Work => MutantTarget::Work,
    };
    let test = match target {
        MutantTarget::Work => line,
        MutantTarget::Test | MutantTarget::WorkTest | MutantTarget::Comment | MutantTarget::Whole => candidate.group,
    };
    (text != source.text).then(|| Mutation {
        test: u32::try_from(test + 1).unwrap_or(u32::MAX),
        edits: candidate.edits.clone(),
        mutant: Mutant {
            path: path.into(),
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            before: before.into(),
            after: after.into(),
            target,
        },
        kind: candidate.kind,
        text,
    })
}

#[cfg(test)]
mod tests;
