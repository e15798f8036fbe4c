//! Real outputs of runners, recorded from runs of small projects.

use std::{collections::BTreeSet, fs, path::Path};

use super::{counts, names_all, output, read, runners};

/// A file below `outputs`, a command line for it, and its counts: passed, failed, skipped, expected to fail.
type OutputCase = (&'static str, &'static str, [u32; 4]);

const ROWS: &[OutputCase] = &[
    ("automake-failing", "make check", [2, 3, 1, 1]),
    ("automake-none", "make check", [0, 0, 0, 0]),
    ("automake-passing", "make check", [2, 0, 0, 0]),
    ("busted-failing", "busted", [2, 2, 1, 0]),
    ("busted-none", "busted", [0, 1, 0, 0]),
    ("busted-passing", "busted", [2, 0, 0, 0]),
    ("meson-failing", "meson test -C builddir", [2, 3, 1, 1]),
    ("meson-none", "meson test -C builddir", [0, 0, 0, 0]),
    ("meson-passing", "meson test -C builddir", [2, 0, 0, 0]),
    ("nim-failing", "nimble test", [2, 1, 1, 0]),
    ("nim-passing", "nimble test", [2, 0, 0, 0]),
    ("bun-failing", "bun test", [3, 1, 2, 0]),
    ("bun-none", "bun test", [0, 0, 0, 0]),
    ("bun-passing", "bun test", [2, 0, 0, 0]),
    ("cargo-failing", "cargo test --no-fail-fast", [2, 2, 1, 0]),
    ("cargo-none", "cargo test nothing", [0, 0, 0, 0]),
    ("cargo-passing", "cargo test", [4, 0, 1, 0]),
    ("cargo-quiet", "cargo test -q", [4, 0, 1, 0]),
    ("deno-failing", "deno test", [3, 1, 1, 0]),
    ("deno-none", "deno test", [0, 0, 0, 0]),
    ("deno-passing", "deno test", [2, 0, 0, 0]),
    ("jest-failing", "npx jest", [3, 1, 2, 0]),
    ("jest-import-error", "npx jest", [0, 0, 0, 0]),
    ("jest-none", "npx jest", [0, 0, 0, 0]),
    ("jest-passing", "npx jest", [2, 0, 0, 0]),
    ("jest-verbose", "npx jest --verbose", [3, 1, 2, 0]),
    ("mocha-failing", "npx mocha", [2, 1, 1, 0]),
    ("mocha-none", "npx mocha", [0, 0, 0, 0]),
    ("mocha-passing", "npx mocha", [2, 0, 0, 0]),
    ("nextest-exits", "cargo nextest run", [3, 0, 1, 0]),
    ("nextest-failing", "cargo nextest run", [2, 1, 1, 0]),
    ("nextest-none", "cargo nextest run", [0, 0, 4, 0]),
    ("nextest-passing", "cargo nextest run", [3, 0, 1, 0]),
    ("node-failing", "node --test", [2, 1, 1, 1]),
    ("node-none", "node --test", [0, 0, 0, 0]),
    ("node-passing", "node --test", [2, 0, 0, 0]),
    ("node-spec", "node --test", [2, 1, 1, 1]),
    ("node-spec-passing", "node --test", [2, 0, 0, 0]),
    ("pytest-collected", "pytest --collect-only", [0, 0, 0, 0]),
    ("pytest-deselected", "pytest -k adds", [2, 0, 0, 0]),
    ("pytest-failing", "pytest", [2, 3, 1, 1]),
    ("pytest-import-error", "pytest", [0, 1, 0, 0]),
    ("pytest-none", "pytest", [0, 0, 0, 0]),
    ("pytest-passing", "pytest", [2, 0, 0, 0]),
    ("pytest-quiet", "pytest -q", [2, 3, 1, 1]),
    ("pytest-verbose", "pytest -v", [2, 3, 1, 1]),
    ("pytest-xdist", "pytest -n 2", [2, 3, 1, 1]),
    ("ctest-failing", "ctest --test-dir build", [3, 3, 2, 0]),
    ("ctest-none", "ctest --test-dir build", [0, 0, 0, 0]),
    ("ctest-passing", "ctest --test-dir build", [2, 0, 0, 0]),
    ("ctest-target", "cmake --build build --target test", [2, 0, 0, 0]),
    ("go-cached", "go test ./...", [1, 0, 0, 0]),
    ("go-compile-error", "go test ./...", [0, 0, 0, 0]),
    ("go-exits", "go test .", [0, 1, 0, 0]),
    ("go-failing", "go test ./...", [0, 1, 0, 0]),
    ("go-json", "go test -json .", [4, 1, 1, 0]),
    ("go-none", "go test ./none ./empty", [0, 0, 0, 0]),
    ("go-passing", "go test ./...", [1, 0, 0, 0]),
    ("go-verbose", "go test -v ./...", [4, 0, 0, 0]),
    ("go-verbose-failing", "go test -v ./...", [4, 1, 1, 0]),
    ("minitest-failing", "rake test", [2, 2, 1, 0]),
    ("minitest-none", "ruby test/all.rb", [0, 0, 0, 0]),
    ("minitest-passing", "rake test", [2, 0, 0, 0]),
    ("minitest-verbose", "rake test", [2, 2, 1, 0]),
    ("mix-failing", "mix test", [3, 1, 2, 0]),
    ("mix-none", "mix test", [0, 0, 0, 0]),
    ("mix-passing", "mix test", [3, 0, 0, 0]),
    ("mix-trace", "mix test --trace", [3, 1, 2, 0]),
    ("phpunit-failing", "vendor/bin/phpunit", [3, 2, 2, 0]),
    ("phpunit-none", "vendor/bin/phpunit", [0, 0, 0, 0]),
    ("phpunit-passing", "vendor/bin/phpunit", [2, 0, 0, 0]),
    ("phpunit-skips", "vendor/bin/phpunit", [2, 0, 1, 0]),
    ("phpunit-testdox", "vendor/bin/phpunit", [3, 2, 2, 0]),
    ("prove-exits", "prove", [0, 1, 0, 0]),
    ("prove-failing", "prove", [4, 1, 0, 0]),
    ("prove-none", "prove", [0, 0, 0, 0]),
    ("prove-passing", "prove", [2, 0, 0, 0]),
    ("prove-verbose", "prove -v", [4, 1, 0, 0]),
    ("rspec-documentation", "bundle exec rspec", [2, 1, 3, 0]),
    ("rspec-failing", "bundle exec rspec", [2, 1, 3, 0]),
    ("rspec-load-error", "bundle exec rspec", [0, 1, 0, 0]),
    ("rspec-none", "bundle exec rspec", [0, 0, 0, 0]),
    ("rspec-passing", "bundle exec rspec", [2, 0, 0, 0]),
    ("surefire-exits", "mvn test", [0, 0, 0, 0]),
    ("surefire-failing", "mvn -B test", [2, 2, 1, 0]),
    ("surefire-passing", "./mvnw verify", [2, 0, 0, 0]),
    ("tap-failing", "bats t", [0, 1, 1, 1]),
    ("tap-mocha", "tape t", [2, 1, 1, 0]),
    ("tap-passing", "bats t", [2, 0, 0, 0]),
    ("unittest-failing", "python -m unittest", [2, 3, 1, 1]),
    ("unittest-import-error", "python -m unittest", [0, 1, 0, 0]),
    ("unittest-none", "python -m unittest", [0, 0, 0, 0]),
    ("unittest-passing", "python -m unittest", [2, 0, 0, 0]),
    ("unittest-verbose", "python -m unittest -v", [2, 3, 1, 1]),
    ("vitest-failing", "npx vitest run", [2, 1, 2, 1]),
    ("vitest-import-error", "npx vitest run", [0, 0, 0, 0]),
    ("vitest-none", "npx vitest run", [0, 0, 0, 0]),
    ("vitest-passing", "npx vitest run", [2, 0, 0, 0]),
    ("vitest-verbose", "npx vitest run", [2, 1, 2, 1]),
];

/// Outputs of runs without tests, or that ended before their tests did.
const NO_EVIDENCE: &[(&str, &str)] = &[
    ("cargo-compile-error", "cargo test"),
    ("mix-compile-error", "mix test"),
    ("surefire-compile-error", "mvn test"),
    ("surefire-none", "mvn test"),
    ("unittest-exits", "python -m unittest"),
];

/// Outputs that show tests which did not all end.
const INCONSISTENT: &[(&str, &str)] = &[
    ("cargo-exits", "cargo test"),
    ("pytest-exits", "pytest"),
    ("tap-exits", "bats t"),
];

#[test]
fn every_output_is_counted_for_its_command_and_for_one_that_names_no_runner() {
    let runners = runners();
    for (name, command, expected) in ROWS {
        let runner = name.split('-').next().unwrap();
        let likely: Vec<_> = runners.likely(command).iter().map(|runner| runner.id.clone()).collect();
        assert!(likely.iter().any(|id| id == runner), "{command}: {likely:?}");
        for command in [command, "./check.sh", "make check"] {
            let report = read(&runners, command, &output(name)).unwrap_or_else(|| panic!("{name}: nothing"));
            assert_eq!(counts(&report), *expected, "{name} by `{command}`");
            assert_eq!(report.counts.runner, runner, "{name} by `{command}`");
            assert_eq!(report.inconsistent, None, "{name} by `{command}`");
        }
    }
}

#[test]
fn an_output_without_tests_is_no_evidence() {
    let runners = runners();
    for (name, command) in NO_EVIDENCE {
        for command in [command, "./check.sh"] {
            assert_eq!(read(&runners, command, &output(name)), None, "{name} by `{command}`");
        }
    }
}

#[test]
fn tests_that_were_announced_and_did_not_end_are_inconsistent() {
    let runners = runners();
    for (name, command) in INCONSISTENT {
        for command in [command, "./check.sh"] {
            let report = read(&runners, command, &output(name)).unwrap();
            assert!(report.inconsistent.is_some(), "{name} by `{command}`: {report:?}");
        }
    }
}

/// The same command line prints nothing when all tests pass.
const QUIET: &str = "surefire-quiet";

#[test]
fn a_command_line_that_shows_failures_alone_is_no_evidence() {
    let runners = runners();
    assert_eq!(read(&runners, "mvn -B -q test", &output(QUIET)), None);
    let report = read(&runners, "./check.sh", &output(QUIET)).unwrap();
    assert_eq!(counts(&report), [2, 2, 1, 0]);
}

#[test]
fn every_output_is_expected_somewhere() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let files: BTreeSet<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let rows = ROWS.iter().map(|(name, ..)| *name);
    let others = NO_EVIDENCE.iter().chain(INCONSISTENT).map(|(name, _)| *name);
    let named: BTreeSet<String> = rows.chain(others).chain([QUIET]).map(str::to_owned).collect();
    assert_eq!(files, named);
}

#[test]
fn ids_are_complete_where_every_test_is_named() {
    let runners = runners();
    let report = read(&runners, "cargo test", &output("cargo-failing")).unwrap();
    assert!(names_all(&report));
    assert_eq!(report.passed, ["tests::overflows", "adds_from_outside"]);
    assert_eq!(report.failed, ["tests::adds", "src/lib.rs - add"]);
    assert_eq!(report.skipped, ["tests::adds_much"]);
    let report = read(&runners, "pytest", &output("pytest-verbose")).unwrap();
    assert!(names_all(&report));
    assert_eq!(report.expected, ["tests/test_sums.py::Sums::test_expected"]);
    let report = read(&runners, "pytest", &output("pytest-failing")).unwrap();
    assert!(!names_all(&report));
    assert_eq!(report.failed.len(), 3);
    let report = read(&runners, "pytest", &output("pytest-passing")).unwrap();
    assert!(report.passed.is_empty() && report.failed.is_empty());
}

/// Outputs of runners that could not be run here, from public logs and documentation.
const FROM_LOGS: &[(&str, &str, [u32; 4])] = &[
    (
        "swift test",
        "Test Suite 'All tests' started at 18:08:38.557
Test Suite 'bin.xctest' started at 18:08:38.558
Test Suite 'CalculatorTests' started at 18:08:38.558
Test Case 'CalculatorTests.testAddCheck' started at 18:08:38.558
Test Case 'CalculatorTests.testAddCheck' passed (0.0 seconds).
Test Case 'CalculatorTests.testMulCheck' started at 18:08:38.558
calculator.swift:35: error: CalculatorTests.testMulCheck : XCTAssertEqual failed
Test Case 'CalculatorTests.testMulCheck' failed (0.0 seconds).
Test Suite 'CalculatorTests' failed at 18:08:38.558
\t Executed 2 tests, with 1 failure (0 unexpected) in 0.0 (0.0) seconds
Test Suite 'bin.xctest' failed at 18:08:38.558
\t Executed 2 tests, with 1 failure (0 unexpected) in 0.0 (0.0) seconds
Test Suite 'All tests' failed at 18:08:38.558
\t Executed 2 tests, with 1 failure (0 unexpected) in 0.0 (0.0) seconds",
        [1, 1, 0, 0],
    ),
    (
        "swift test",
        "Test Suite 'All tests' passed at 2026-04-05 21:46:30.869.
\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds
✔ Test add() passed after 0.001 seconds.
✔ Test run with 76 tests in 17 suites passed after 0.020 seconds.",
        [76, 0, 0, 0],
    ),
    (
        "swift test",
        "Test Suite 'All tests' failed at 2024-01-03 15:08:21.364
\t Executed 24 tests, with 2 tests skipped and 5 failures (0 unexpected) in 197.131 (197.131) seconds",
        [17, 5, 2, 0],
    ),
    (
        "dotnet test",
        "Passed!  - Failed:     0, Passed:    12, Skipped:     1, Total:    13, Duration: 45 ms - A.Tests.dll (net8.0)
Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 8 ms - B.Tests.dll (net8.0)",
        [14, 1, 1, 0],
    ),
    (
        "dotnet test",
        "Test run summary: Failed! - bin/Debug/net9.0/A.Tests.dll (net9.0|x64)
  total: 4
  failed: 1
  succeeded: 2
  skipped: 1
  duration: 1s 200ms",
        [2, 1, 1, 0],
    ),
    (
        "dotnet test",
        "Total tests: 3
     Passed: 2
     Failed: 1
 Total time: 1.2345 Seconds",
        [2, 1, 0, 0],
    ),
    (
        "./gradlew test",
        "> Task :compileJava UP-TO-DATE
> Task :compileTestJava
> Task :testClasses
> Task :test
BUILD SUCCESSFUL in 2s",
        [1, 0, 0, 0],
    ),
    (
        "./gradlew test",
        "> Task :compileTestJava
> Task :app:test FAILED
SumsTest > fails() FAILED
    org.opentest4j.AssertionFailedError at SumsTest.java:8
3 tests completed, 1 failed
> There were failing tests. See the report at: file:///home/me/build/reports/tests/test/index.html",
        [0, 1, 0, 0],
    ),
    (
        "./gradlew test",
        "> Task :test
SumsTest > adds() PASSED
SumsTest > later() SKIPPED
SumsTest > addsNone() PASSED",
        [2, 0, 1, 0],
    ),
    (
        "mvn test",
        "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.052 s <<< FAILURE! -- in MoreTest
[ERROR] MoreTest.fails -- Time elapsed: 0.010 s <<< FAILURE!
[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1",
        [1, 1, 1, 0],
    ),
    ("ctest", "100% tests passed, 0 tests failed out of 2", [2, 0, 0, 0]),
    (
        "vendor/bin/pest",
        "  Tests:    1 failed, 1 skipped, 2 passed (4 assertions)",
        [2, 1, 1, 0],
    ),
    (
        "rake test",
        "3 tests, 4 assertions, 1 failures, 0 errors, 1 pendings, 0 omissions, 0 notifications",
        [1, 1, 1, 0],
    ),
];

#[test]
fn lines_of_public_logs_are_counted() {
    let runners = runners();
    for (command, text, expected) in FROM_LOGS {
        for command in [command, "make check"] {
            let report = read(&runners, command, text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((counts(&report), report.inconsistent), (*expected, None), "{text}");
        }
    }
}
