//! Sealed goals in words. The parts for an agent are made here from numbers alone.

use std::path::Path;

use ralph_core::event::TestCounts;

use super::counted;

/// `7 of 9 tests passed`.
pub fn passed_of_all(tests: &TestCounts) -> String {
    if tests.ran() == 0 {
        return "no test ran".to_owned();
    }
    let skipped = match tests.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    let all = counted(u64::from(tests.ran()), "test");
    format!("{} of {all} passed{skipped}", tests.passed)
}

/// Tells an agent that a sealed goal did not pass; `score` is empty if its tests were not counted.
pub fn sealed_goal_failed(goal: &str, about: &str, score: &str) -> String {
    let score = if score.is_empty() { "failed" } else { score };
    format!(
        "goal `{goal}`{about}: {score}. Its tests are held out and cannot be seen: look for what the task asks for and the work does \
         not do yet"
    )
}

/// The path of a sealed goal's output.
pub fn sealed_output_in_words(output: &Path) -> String {
    format!("output, which agents cannot read: {}", output.display())
}

/// Why the counts of a sealed goal are not trusted, without its output.
pub fn doubt_of_sealed() -> &'static str {
    "the counts contradict each other"
}

/// Why a sealed goal could not be run, without naming its files.
pub fn sealed_not_started() -> &'static str {
    "it could not be started in its copy of the project"
}

pub fn sealed_without_sandbox() -> &'static str {
    "it is sealed, and no sandbox hides its files from agents"
}

/// A warning that an agent may know the tests of a sealed goal.
pub fn sealed_was_readable(directory: &Path, runs: usize) -> String {
    format!(
        "Agents of {} in this project could read {}, since a sandbox did not hide it: they may know its tests, and the work may be \
         made for these.",
        counted(runs as u64, "earlier run"),
        directory.display()
    )
}

/// A warning that an agent tried to read the tests of a sealed goal.
pub fn sealed_read_attempt(directory: &Path) -> String {
    format!(
        "The agent tried to read {}, which belongs to a sealed goal; the sandbox refused it.",
        directory.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_is_how_many_of_the_tests_that_ran_have_passed() {
        let tests = |passed, failed, skipped| TestCounts {
            passed,
            failed,
            skipped,
            ..TestCounts::default()
        };
        assert_eq!(passed_of_all(&tests(7, 2, 0)), "7 of 9 tests passed");
        assert_eq!(passed_of_all(&tests(0, 1, 2)), "0 of 1 test passed, 2 skipped");
        assert_eq!(passed_of_all(&tests(0, 0, 0)), "no test ran");
    }
}
