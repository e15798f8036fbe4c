//! Tests in words: counts, changes, and mutants that were noticed.

use ralph_core::event::{
    Event, GateEvent, GuardedChange, GuardedChangeKind, Mutant, MutantOutcome, MutantTarget, TaskEvent, TestCounts,
    Trial, TriedMutant,
};

use super::counted;

/// Maximum number of changes or mutants named in a sentence.
const NAMED: usize = 5;

/// `214 tests`, `214 tests, 3 skipped`.
pub fn tests_in_words(tests: &TestCounts) -> String {
    let mut words = counted(u64::from(tests.ran()), "test");
    for (count, what) in [
        (tests.failed, "failed"),
        (tests.skipped, "skipped"),
        (tests.expected_failures, "expected to fail"),
    ] {
        if count > 0 {
            words.push_str(&format!(", {count} {what}"));
        }
    }
    words
}

/// `tests/a.py (deleted)`, `src/lib.rs (mod tests, changed)`.
pub fn guarded_change_in_words(change: &GuardedChange) -> String {
    let kind = match change.kind {
        GuardedChangeKind::Changed => "changed",
        GuardedChangeKind::Deleted => "deleted",
        GuardedChangeKind::Added => "new",
    };
    match &change.part {
        Some(part) => format!("{} ({part}, {kind})", change.path),
        None => format!("{} ({kind})", change.path),
    }
}

/// The first changes, and the number of others.
pub fn guarded_changes_in_words(changes: &[GuardedChange]) -> String {
    let named: Vec<String> = changes.iter().take(NAMED).map(guarded_change_in_words).collect();
    match changes.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// The consequence of confirming what an agent did; `None` for any other event.
pub fn confirmed_in_words(event: &Event) -> Option<&'static str> {
    match event {
        Event::Gate(GateEvent::TestsConfirmed { .. }) => Some("confirmed: the changed tests are accepted"),
        Event::Task(TaskEvent::ScopeConfirmed { .. }) => {
            Some("confirmed: the changes outside of the scope are accepted, and the tick counts")
        }
        _ => None,
    }
}

/// The note below a truncated diff of changed tests, with the command that shows it in full.
pub fn changed_tests_are_cut() -> &'static str {
    "Truncated: `ralph diff --since 1` shows everything that the run has changed."
}

/// The result of running the goals with the original tests, and what changed in them.
pub fn trial_in_words(trial: &Trial) -> String {
    let result = trial_result_in_words(trial);
    match guarded_changes_in_words(&trial.changes) {
        changes if changes.is_empty() => result,
        changes => format!("{result}; changed: {changes}"),
    }
}

/// The result of running the goals with the original tests.
pub fn trial_result_in_words(trial: &Trial) -> String {
    if let Some(why) = &trial.problem {
        return format!("the tests as they were could not be restored for a trial: {why}");
    }
    let failed: Vec<&str> = trial
        .results
        .iter()
        .filter(|result| !result.passed)
        .map(|result| &*result.name)
        .collect();
    match &failed[..] {
        [] if trial.changes.is_empty() => "the goals pass without the new tests, too".to_owned(),
        [] => "the goals pass with the tests as they were, too".to_owned(),
        failed => format!("{} did not pass with the tests as they were", failed.join(", ")),
    }
}

/// `the tests caught 4 of 5 deliberate bugs; they fail without the new code`. Mutants without a verdict are left out of the
/// numbers.
pub fn mutants_in_words(mutants: &[TriedMutant]) -> String {
    let few = mutants.iter().any(is_small).then(|| {
        let (noticed, of) = noticed_mutants(mutants);
        format!("the tests caught {noticed} of {of} deliberate bugs")
    });
    let whole = without_work(mutants).map(|outcome| match outcome {
        MutantOutcome::Noticed => "fail without the new code",
        MutantOutcome::Missed => "pass even without the new code",
        MutantOutcome::NoVerdict => "could not be run without the new code",
    });
    match (few, whole) {
        (Some(few), Some(whole)) => format!("{few}; they {whole}"),
        (None, Some(whole)) => format!("the tests {whole}"),
        (few, None) => few.unwrap_or_default(),
    }
}

/// Returns the number of noticed small changes, and of those with a verdict.
pub fn noticed_mutants(mutants: &[TriedMutant]) -> (usize, usize) {
    let small = mutants.iter().filter(|tried| is_small(tried));
    let with = |outcome| small.clone().filter(|tried| tried.outcome == outcome).count();
    let (noticed, missed) = (with(MutantOutcome::Noticed), with(MutantOutcome::Missed));
    (noticed, noticed + missed)
}

fn is_small(tried: &TriedMutant) -> bool {
    !matches!(tried.mutant.target, MutantTarget::Whole | MutantTarget::Comment)
}

/// Returns the result of the goals without the work, if they ran so.
pub fn without_work(mutants: &[TriedMutant]) -> Option<MutantOutcome> {
    let mut whole = mutants
        .iter()
        .filter(|tried| tried.mutant.target == MutantTarget::Whole);
    whole.next().map(|tried| tried.outcome)
}

/// ``tests/a.py:12, what a test expects: `assert x == 4` instead of `assert x == 3` ``.
pub fn mutant_in_words(mutant: &Mutant) -> String {
    let Mutant { path, line, .. } = mutant;
    let what = match mutant.target {
        MutantTarget::Work => "the code",
        MutantTarget::Test => "what a test expects",
        MutantTarget::WorkTest => "what a test of the work expects",
        MutantTarget::Comment => return format!("a comment at the end of {path}"),
        MutantTarget::Whole => return format!("all of the work taken out: {}", mutant.before),
    };
    format!(
        "{path}:{line}, {what}: `{}` instead of `{}`",
        mutant.after.trim(),
        mutant.before.trim()
    )
}

/// Whether the only mutant is the whole work, taken out.
pub(super) fn is_whole(mutants: &[Mutant]) -> bool {
    matches!(mutants, [mutant] if mutant.target == MutantTarget::Whole)
}

/// The first mutants, one per line.
pub(super) fn mutants_listed(mutants: &[Mutant]) -> String {
    let lines: Vec<String> = mutants
        .iter()
        .take(NAMED)
        .map(|mutant| format!("- {}", mutant_in_words(mutant)))
        .collect();
    lines.join("\n")
}

/// `ran fewer tests`, or what else is less than before.
pub(super) fn loss_in_words(before: &TestCounts, now: Option<&TestCounts>) -> &'static str {
    match now {
        Some(now) if now.ran() < before.ran() => "ran fewer tests",
        Some(now) if now.expected_failures > before.expected_failures => "expects more tests to fail",
        Some(_) => "skips more tests",
        None => "ran fewer tests",
    }
}

/// `18 tests now, 20 tests before`.
pub(super) fn fewer_in_words(before: &TestCounts, now: Option<&TestCounts>) -> String {
    match now {
        None => format!("it showed {} before, and shows none now", tests_in_words(before)),
        Some(now) => format!("{} now, {} before", tests_in_words(now), tests_in_words(before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noticed_is_told_apart_from_the_work_as_a_whole() {
        let tried = |target, outcome| TriedMutant {
            mutant: Mutant {
                path: "a.js".into(),
                line: 1,
                before: "a.js, b.js".into(),
                after: "".into(),
                target,
            },
            outcome,
        };
        let small = tried(MutantTarget::Test, MutantOutcome::Noticed);
        let whole = tried(MutantTarget::Whole, MutantOutcome::Missed);
        let both = [small.clone(), whole.clone()];
        assert_eq!(
            mutants_in_words(&both),
            "the tests caught 1 of 1 deliberate bugs; they pass even without the new code"
        );
        assert_eq!(mutants_in_words(&both[..1]), "the tests caught 1 of 1 deliberate bugs");
        assert_eq!(mutants_in_words(&both[1..]), "the tests pass even without the new code");
        assert_eq!(mutant_in_words(&whole.mutant), "all of the work taken out: a.js, b.js");
    }

    fn counts(passed: u32, skipped: u32) -> TestCounts {
        TestCounts {
            passed,
            skipped,
            ..TestCounts::default()
        }
    }

    #[test]
    fn tests_are_counted_with_what_was_not_measured() {
        assert_eq!(tests_in_words(&counts(1, 0)), "1 test");
        assert_eq!(tests_in_words(&counts(20, 2)), "20 tests, 2 skipped");
        assert_eq!(
            fewer_in_words(&counts(20, 0), Some(&counts(19, 1))),
            "19 tests, 1 skipped now, 20 tests before"
        );
        for (now, said) in [
            (Some(counts(19, 1)), "ran fewer tests"),
            (Some(counts(21, 1)), "skips more tests"),
            (None, "ran fewer tests"),
        ] {
            assert_eq!(loss_in_words(&counts(20, 0), now.as_ref()), said);
        }
    }

    #[test]
    fn changes_beyond_the_first_are_counted() {
        let change = |n: u32| GuardedChange {
            path: format!("tests/{n}.py").into(),
            kind: GuardedChangeKind::Deleted,
            part: None,
        };
        let changes: Vec<_> = (0..7).map(change).collect();
        let words = guarded_changes_in_words(&changes);
        assert!(
            words.starts_with("tests/0.py (deleted), tests/1.py (deleted)"),
            "{words}"
        );
        assert!(words.ends_with("tests/4.py (deleted) and 2 more"), "{words}");
    }
}
