//! Output and reports of test runners.

#![no_main]

use std::{fs, sync::LazyLock};

use libfuzzer_sys::fuzz_target;
use ralph_gate::runner::{Runner, Runners, read_report};

static RUNNERS: LazyLock<Runners> = LazyLock::new(|| {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../runners");
    let files = fs::read_dir(directory)
        .expect("the runners")
        .map(|file| file.expect("a file").path());
    let parsed = files.map(|path| {
        let id = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Runner::parse(&id, &fs::read_to_string(&path).expect("a text")).expect("a runner")
    });
    Runners::new(parsed.collect())
});

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = read_report(bytes) {
        assert!(!error.to_string().is_empty());
    }
    // No command line names a runner, so every runner reads the output.
    let mut reader = RUNNERS.reader("./anything");
    for line in String::from_utf8_lossy(bytes).lines() {
        reader.line(line);
    }
    if let Some(report) = reader.finish() {
        assert!(report.inconsistent.is_some() || !report.counts.runner.is_empty());
    }
});
