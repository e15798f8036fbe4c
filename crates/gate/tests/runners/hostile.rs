//! Outputs of tests that print lines of a runner, by chance or on purpose.

use super::{counts, names_all, output, read, runners};

const PASSED_3: &str = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
const PASSED_100: &str =
    "test result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
const PASSED_1: &str = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";

#[test]
fn a_closing_line_that_accounts_for_other_tests_is_not_counted() {
    let runners = runners();
    for lines in [
        ["running 3 tests", PASSED_100, PASSED_3],
        ["running 3 tests", PASSED_3, PASSED_100],
        ["running 3 tests", PASSED_3, PASSED_3],
    ] {
        let report = read(&runners, "cargo test", &lines.join("\n")).unwrap();
        assert_eq!(counts(&report), [3, 0, 0, 0], "{lines:?}");
        assert_eq!(report.inconsistent, None, "{lines:?}");
    }
}

#[test]
fn a_closing_line_for_other_tests_alone_leaves_the_announced_ones_open() {
    let runners = runners();
    let report = read(&runners, "cargo test", &["running 3 tests", PASSED_100].join("\n")).unwrap();
    assert_eq!((report.counts.ran(), report.passed.len()), (0, 0));
    let reason = report.inconsistent.unwrap();
    assert_eq!(reason, "3 tests were announced, and no closing line accounts for them");
}

#[test]
fn a_nested_run_that_is_not_captured_is_no_fault() {
    let runners = runners();
    for lines in [
        // Both runs are complete.
        ["running 3 tests", "running 1 test", PASSED_1, PASSED_3],
        // The inner runs end early, as in tests of `exit` and `abort`.
        ["running 3 tests", "running 1 test", "running 1 test", PASSED_3],
    ] {
        let report = read(&runners, "cargo test", &lines.join("\n")).unwrap();
        assert_eq!(report.inconsistent, None, "{lines:?}");
        assert!(report.counts.passed >= 3, "{lines:?}");
    }
    let inner = output("pytest-passing");
    let (start, end) = inner.split_once("tests/test_sums.py").unwrap();
    let nested = format!("{start}{inner}tests/test_sums.py{end}");
    let report = read(&runners, "pytest -s", &nested).unwrap();
    assert_eq!((counts(&report), report.inconsistent), ([4, 0, 0, 0], None));
}

#[test]
fn a_binary_that_exits_early_is_noticed_among_others() {
    let runners = runners();
    let lines = ["running 3 tests", "running 1 test", PASSED_1];
    let report = read(&runners, "cargo test", &lines.join("\n")).unwrap();
    assert!(report.inconsistent.is_some());
    let twice = format!("{}\n{}", output("pytest-exits"), output("pytest-passing"));
    assert!(read(&runners, "make check", &twice).unwrap().inconsistent.is_some());
}

#[test]
fn filtered_output_without_announcements_is_counted() {
    let runners = runners();
    let lines = [PASSED_3, PASSED_1].join("\n");
    let report = read(&runners, "cargo test | grep '^test result'", &lines).unwrap();
    assert_eq!((counts(&report), report.inconsistent), ([4, 0, 0, 0], None));
}

#[test]
fn only_the_named_runner_counts() {
    let runners = runners();
    let fake = format!("{}{}", output("unittest-exits"), output("jest-passing"));
    assert_eq!(read(&runners, "python3 -m unittest", &fake), None);
    let other = format!("{}{}", output("unittest-passing"), output("jest-passing"));
    assert_eq!(
        read(&runners, "python3 -m unittest", &other).unwrap().counts.runner,
        "unittest"
    );
}

#[test]
fn the_runners_of_one_goal_are_summed() {
    let runners = runners();
    let both = format!("{}{}", output("cargo-passing"), output("jest-failing"));
    for command in ["make check", "cargo test; npx jest"] {
        let report = read(&runners, command, &both).unwrap();
        assert_eq!(report.counts.runner, "cargo+jest", "{command}");
        assert_eq!(counts(&report), [7, 1, 3, 0], "{command}");
    }
}

#[test]
fn two_sessions_of_a_runner_are_summed() {
    let runners = runners();
    for (name, command, expected) in [
        ("pytest-passing", "make", 4),
        ("pytest-quiet", "make", 4),
        ("unittest-passing", "make", 4),
        ("nextest-passing", "make", 6),
        ("jest-passing", "make", 4),
        ("mocha-failing", "make", 4),
        ("bun-passing", "make", 4),
        ("node-passing", "make", 4),
    ] {
        let twice = output(name).repeat(2);
        let report = read(&runners, command, &twice).unwrap();
        assert_eq!((report.counts.passed, report.inconsistent), (expected, None), "{name}");
    }
}

#[test]
fn a_line_that_is_none_of_a_runner_changes_nothing() {
    let runners = runners();
    let noise = [
        "ok then",
        "OK",
        "FAILED (failures=1)",
        "  1 failing",
        "5 tests, 3 of them slow",
        "Tests: see tests/README.md",
        "3 passed",
        "running 3 tests",
        "1..3",
    ];
    // Only the last two lines announce tests.
    assert_eq!(read(&runners, "./check.sh", &noise[..7].join("\n")), None);
    for line in &noise[..7] {
        let report = read(
            &runners,
            "./check.sh",
            &format!("{line}\n{}{line}\n", output("jest-failing")),
        )
        .unwrap();
        assert_eq!(counts(&report), [3, 1, 2, 0], "{line}");
    }
}

#[test]
fn ids_are_bounded() {
    let runners = runners();
    let mut text = "running 21000 tests\n".to_owned();
    for number in 0..21_000 {
        let length = if number < 10 { 400 } else { 0 };
        text.push_str(&format!("test case_{number}{} ... ok\n", "é".repeat(length)));
    }
    text.push_str(&PASSED_3.replace("3 passed", "21000 passed"));
    let report = read(&runners, "cargo test", &text).unwrap();
    assert!(!names_all(&report));
    assert_eq!((report.counts.passed, report.inconsistent), (21_000, None));
    assert_eq!(report.passed.len(), 20_000);
    assert!(report.passed.iter().all(|id| id.len() <= 512));
}

#[test]
fn numbers_without_end_are_no_trouble() {
    let runners = runners();
    let many = "9".repeat(40);
    for text in [
        format!("test result: ok. {many} passed; {many} failed; {many} ignored; 0 measured; 0 filtered out; finished"),
        format!("running {many} tests\n{PASSED_3}"),
        format!("Tests: {many} failed, {many} passed, {many} total"),
        format!("Ran {many} tests in 0.1s\nFAILED (failures={many}, errors={many})"),
    ] {
        assert!(read(&runners, "make", &text).is_some(), "{text}");
    }
}

#[test]
fn floods_are_no_lines_of_a_runner_and_end_before_its_patterns() {
    let runners = runners();
    let reader = runners.reader("yes");
    for flood in [
        "y\n",
        "\n",
        "1234567\n-5\n",
        "........\n",
        "====\n****\n",
        "aaaabbbb\ncccc\n",
        "é\n",
        "{}[]\n",
    ] {
        assert!(!reader.may_count(&flood.repeat(2000)), "{flood:?}");
    }
    for line in ["ok 1", "OK", "5 passed in 0.1s", "  2 passing (3ms)", "  ✓ adds (1 ms)"] {
        assert!(reader.may_count(&format!("{}{line}\n", "y\n".repeat(2000))), "{line}");
    }
}
