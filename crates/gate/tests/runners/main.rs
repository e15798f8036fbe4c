//! The built-in runners, tested on real outputs and reports, and on some made up to deceive.

mod hostile;
mod manifests;
mod outputs;
mod reports;

use std::{fs, path::Path};

use ralph_gate::runner::{Runner, Runners, TestReport};

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
    let report = reader.finish();
    // Together they count as one by one.
    for size in [1, 7, usize::MAX] {
        let mut reader = runners.reader(command);
        let lines: Vec<_> = output.split_inclusive('\n').collect();
        lines.chunks(size).for_each(|lines| reader.lines(&lines.concat()));
        assert_eq!(reader.finish(), report, "{size} lines of {output}");
    }
    report
}

fn counts(report: &TestReport) -> [u32; 4] {
    let counts = &report.counts;
    [counts.passed, counts.failed, counts.skipped, counts.expected_failures]
}

/// Whether each test that ran is named, two of the same name once.
fn names_all(report: &TestReport) -> bool {
    let counts = &report.counts;
    [
        (&report.passed, counts.passed),
        (&report.failed, counts.failed),
        (&report.expected, counts.expected_failures),
    ]
    .iter()
    .all(|(names, count)| names.len() == *count as usize)
}
