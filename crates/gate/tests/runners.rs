//! The runners that come with ralph, on real outputs of theirs.

use std::{collections::BTreeSet, fs, path::Path};

use ralph_gate::runner::{IdSource, Runner, Runners, TestReport};

/// File below `outputs`, a command line that leads to it, and what it counts: passed, failed, skipped, expected to fail.
type Row = (&'static str, &'static str, [u32; 4]);

const ROWS: &[Row] = &[
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

/// Outputs of runs that ended before their tests did, or that never had any.
const NO_EVIDENCE: &[(&str, &str)] = &[
    ("cargo-compile-error", "cargo test"),
    ("unittest-exits", "python -m unittest"),
];

/// Outputs that show tests, and that not all of them came to an end.
const INCONSISTENT: &[(&str, &str)] = &[("cargo-exits", "cargo test"), ("pytest-exits", "pytest")];

fn runners() -> Runners {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runners");
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let runners = files.iter().map(|path| {
        let id = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        Runner::parse(id, &text).unwrap_or_else(|error| panic!("{error}"))
    });
    Runners::new(runners.collect())
}

fn output(name: &str) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    fs::read_to_string(directory.join(format!("{name}.txt"))).unwrap()
}

fn read(runners: &Runners, command: &str, output: &str) -> Option<TestReport> {
    let mut reader = runners.reader(command);
    output.lines().for_each(|line| reader.line(line));
    reader.finish()
}

fn counts(report: &TestReport) -> [u32; 4] {
    let counts = &report.counts;
    [counts.passed, counts.failed, counts.skipped, counts.expected_failures]
}

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

#[test]
fn every_output_is_expected_somewhere() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outputs");
    let files: BTreeSet<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let rows = ROWS.iter().map(|(name, ..)| *name);
    let others = NO_EVIDENCE.iter().chain(INCONSISTENT).map(|(name, _)| *name);
    let named: BTreeSet<String> = rows
        .chain(others)
        .chain(["mocha-tap", "node-tap", "node-tap-failing"])
        .map(str::to_owned)
        .collect();
    assert_eq!(files, named);
}

#[test]
fn ids_are_complete_where_every_test_is_named() {
    let runners = runners();
    let report = read(&runners, "cargo test", &output("cargo-failing")).unwrap();
    assert_eq!(report.id_source, IdSource::All);
    assert_eq!(report.passed, ["tests::overflows", "adds_from_outside"]);
    assert_eq!(report.failed, ["tests::adds", "src/lib.rs - add"]);
    assert_eq!(report.skipped, ["tests::adds_much"]);
    let report = read(&runners, "pytest", &output("pytest-verbose")).unwrap();
    assert_eq!(report.id_source, IdSource::All);
    assert_eq!(report.expected, ["tests/test_sums.py::Sums::test_expected"]);
    let report = read(&runners, "pytest", &output("pytest-failing")).unwrap();
    assert_eq!(report.id_source, IdSource::Some);
    assert_eq!(report.failed.len(), 3);
    let report = read(&runners, "pytest", &output("pytest-passing")).unwrap();
    assert_eq!(report.id_source, IdSource::None);
}
