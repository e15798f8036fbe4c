//! Results of tests on merged trees, in words.

use ralph_core::event::{GuardedChange, Proof};
use ralph_plan::batch::{Side, TestTrouble};

use super::{guarded_changes_in_words, tests_in_words};

/// The word for the proof of a merged tree.
pub fn proof_word(proof: Proof) -> &'static str {
    match proof {
        Proof::Tests => "verified",
        Proof::ExitCodes => "passed",
        Proof::Nothing => "not verified",
        Proof::Unconfirmed => "changed tests are not confirmed",
    }
}

/// Why the tests of a merged tree do not count, as a clause on one line.
pub fn test_trouble_in_words(trouble: &TestTrouble) -> String {
    let text = match trouble {
        TestTrouble::Fewer {
            side,
            goal,
            before,
            now,
        } => {
            let (before, side) = (tests_in_words(before), side_in_words(*side));
            match now {
                Some(now) => format!(
                    "goal `{goal}` ran {} on the merged tree, and {before} on {side}",
                    tests_in_words(now)
                ),
                None => format!("goal `{goal}` showed no tests on the merged tree, and {before} on {side}"),
            }
        }
        TestTrouble::Fails {
            side, goal, changes, ..
        } => format!(
            "goal `{goal}` does not pass with the tests of {}; changed: {}",
            side_in_words(*side),
            guarded_changes_in_words(changes)
        ),
        TestTrouble::Doubtful { goal, why } => format!("the result of goal `{goal}` does not count: {why}"),
        TestTrouble::Untried { side, why, changes } => untried_tests(*side, why, changes),
    };
    text.replace('\n', " ")
}

/// Why a merged tree could not be tried with the tests of a side, as a clause.
pub fn untried_tests(side: Side, why: &str, changes: &[GuardedChange]) -> String {
    format!(
        "the merged tree could not be tried with the tests of {} ({why}); changed: {}",
        side_in_words(side),
        guarded_changes_in_words(changes)
    )
}

/// The message that the proof of a merged tree is weaker than `--require` demands.
pub fn too_little_proof(proof: Proof, required: Proof) -> String {
    format!(
        "the merged tree is {}, and `--require {}` asks for more: `ralph many resume --require any` merges it all the same",
        proof_word(proof),
        proof_word(required)
    )
}

/// A merge task about tests that do not count, on one line.
pub(super) fn tests_task(troubles: &[TestTrouble], target: &str) -> String {
    let reasons: Vec<String> = troubles.iter().map(test_trouble_in_words).collect();
    format!(
        "`{target}` was merged into this branch, and the tests of the two together do not count: {}. Keep all tests of both sides as \
         they are in their commits (`git show {target}:FILE` prints those of the target), and make the work pass them",
        reasons.join("; ")
    )
}

fn side_in_words(side: Side) -> &'static str {
    match side {
        Side::Target => "the target",
        Side::Plan => "the plan's branch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::TestCounts;

    #[test]
    fn numbers_of_both_sides_are_named() {
        let counts = |passed| TestCounts {
            passed,
            ..TestCounts::default()
        };
        let fewer = |now| TestTrouble::Fewer {
            side: Side::Target,
            goal: "tests".to_owned(),
            before: counts(5),
            now,
        };
        assert_eq!(
            test_trouble_in_words(&fewer(Some(counts(4)))),
            "goal `tests` ran 4 tests on the merged tree, and 5 tests on the target"
        );
        assert_eq!(
            test_trouble_in_words(&fewer(None)),
            "goal `tests` showed no tests on the merged tree, and 5 tests on the target"
        );
        let task = tests_task(&[fewer(None)], "main");
        assert!(!task.contains('\n') && task.contains("5 tests on the target"), "{task}");
    }
}
