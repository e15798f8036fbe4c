//! Journals that other versions wrote: `tests/fixtures/journals` has runs as the first one left them.

use std::{fs, path::Path};

use ralph::{event::RunId, host::paths::ProjectPaths};
use serde_json::Value;

use crate::{
    harness::{SOON, Sandbox, Script},
    tui::Terminal,
};

/// Name of a fixture, what `ralph runs` says of its end, and the kind of end in the report.
const RUNS: [(&str, &str, Option<&str>); 5] = [
    ("done", "done", Some("done")),
    ("messages", "done, unverified", Some("done")),
    ("blocked", "Which colour do you want?", Some("blocked")),
    ("limited", "the limit of iterations is reached", Some("limit-reached")),
    ("cut-off", "cut off", None),
];

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/journals/{name}.jsonl"));
    fs::read_to_string(path).expect("a fixture")
}

/// A project whose only run left the journal `text`.
fn left_behind(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let run = RunId(first["event"]["run"].as_str().expect("a run").to_owned());
    let paths: ProjectPaths = sandbox.paths();
    paths.run(&run).create().expect("its directories");
    // The plan is the one of this project, as if it had been run here.
    let text = text.replace("/home/someone/project", &sandbox.project().display().to_string());
    fs::write(paths.run(&run).journal(), text).expect("its journal");
    fs::write(paths.latest(), &run.0).expect("its name");
    sandbox
}

/// The journal of a run that was cut off, with an event that no version knows yet.
fn from_the_future() -> String {
    let mut text = fixture("cut-off");
    text.push_str(r#"{"seq":7,"atMs":1795296088900,"event":{"type":"goal-skipped","goal":"tests"},"since":"9.0.0"}"#);
    text.push('\n');
    text
}

#[track_caller]
fn printed(sandbox: &Sandbox, args: &[&str]) -> String {
    let finished = sandbox.ralph(args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{args:?}: {finished:?}");
    finished.stdout
}

#[test]
fn runs_of_the_first_version_are_still_read() {
    for (name, how, end) in RUNS {
        let sandbox = left_behind(&fixture(name));
        let runs = printed(&sandbox, &["runs"]);
        assert!(runs.contains(how), "{name}: {runs}");
        let report: Value = serde_json::from_str(&printed(&sandbox, &["report", "--format", "json"])).expect("JSON");
        assert_eq!(report["end"]["reason"]["type"].as_str(), end, "{name}: {report:#}");
        assert!(!report["iterations"].as_array().expect("a list").is_empty());
        assert!(printed(&sandbox, &["status"]).contains("PLAN.md"), "{name}");
        assert!(printed(&sandbox, &["report", "--format", "markdown"]).contains("Write the first file"));
    }
}

#[test]
fn a_run_of_the_first_version_is_played() {
    let sandbox = left_behind(&fixture("messages"));
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("l");
    terminal.sees("the next task");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn an_unknown_event_is_shown_by_its_name_and_keeps_nothing_from_being_read() {
    let sandbox = left_behind(&from_the_future());
    assert!(printed(&sandbox, &["runs"]).contains("cut off"));
    printed(&sandbox, &["report"]);
    printed(&sandbox, &["status"]);
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("l");
    terminal.sees("an event of a newer ralph: goal-skipped");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_run_with_an_unknown_event_is_not_resumed_and_who_wrote_it_is_said() {
    let sandbox = left_behind(&from_the_future().replacen("\"ralph\":\"0.1.0\"", "\"ralph\":\"9.0.0\"", 1));
    sandbox.install(&Script::worker());
    let run = &sandbox.paths().run_ids()[0];
    let before = fs::read(sandbox.paths().run(run).journal()).expect("a journal");
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    for part in ["`goal-skipped`", "ralph 9.0.0 wrote it", "hint: use ralph 9.0.0"] {
        assert!(
            finished.stderr.contains(part),
            "{part:?} is not in:\n{}",
            finished.stderr
        );
    }
    assert_eq!(
        fs::read(sandbox.paths().run(run).journal()).expect("a journal"),
        before,
        "it is left as it was"
    );
}
