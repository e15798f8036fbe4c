//! Journals that are read: recorded runs (`tests/fixtures/journals`), events of a newer ralph, and what journals hold.

use std::{fs, path::Path};

use ralph_core::{
    event::{AgentEvent, Event, IterationEvent, Outcome, ProblemKind, RunEvent, RunId},
    run::RunView,
};
use ralph_state::store::journal;
use ralph_system::paths::ProjectPaths;
use serde_json::Value;

use crate::{
    harness::{SOON, Sandbox, Script, scripted::events},
    tui::Terminal,
};

/// The name of a fixture, its end as `ralph runs` shows it, and the kind of end in the report.
pub const RUNS: [(&str, &str, Option<&str>); 14] = [
    ("done", "done", Some("done")),
    ("messages", "done (not verified)", Some("done")),
    ("blocked", "Which colour do you want?", Some("blocked")),
    ("limited", "iteration limit reached", Some("limit-reached")),
    ("cut-off", "interrupted", None),
    ("stuck", "stopped: no progress", Some("breaker-open")),
    ("refused", "interrupted", None),
    ("steered", "done", Some("done")),
    ("reviewed", "done (not verified)", Some("done")),
    ("broken", "took longer than 2 s", Some("broken")),
    ("background", "done (not verified)", Some("done")),
    ("edits", "done", Some("done")),
    ("ticked", "done (not verified)", Some("done")),
    (
        "budgets",
        "per-task iteration limit reached",
        Some("task-limit-reached"),
    ),
];

pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/journals/{name}.jsonl"));
    fs::read_to_string(path).expect("a fixture")
}

/// A project whose only run left the journal `text`.
pub fn left_behind(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let run = RunId(first["event"]["run"].as_str().expect("a run").to_owned());
    let paths: ProjectPaths = sandbox.paths();
    paths.run(&run).create().expect("its directories");
    // The plan path is replaced by this project's, as if the run had happened here.
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
fn recorded_runs_are_still_read() {
    for (name, how, end) in RUNS {
        let sandbox = left_behind(&fixture(name));
        let run = &sandbox.paths().run_ids()[0];
        let (records, _) = journal::read(&sandbox.paths().run(run).journal()).expect("a journal");
        let strange = events(&records).find(|event| matches!(event, Event::Unknown { .. }));
        assert_eq!(strange, None, "{name}");
        let runs = printed(&sandbox, &["runs"]);
        assert!(runs.contains(how), "{name}: {runs}");
        let report: Value = serde_json::from_str(&printed(&sandbox, &["report", "--format", "json"])).expect("JSON");
        assert_eq!(report["end"]["reason"]["type"].as_str(), end, "{name}: {report:#}");
        assert!(
            !report["view"]["iterations"]["rows"]["kept"]
                .as_array()
                .expect("a list")
                .is_empty()
        );
        assert!(printed(&sandbox, &["status"]).contains("PLAN.md"), "{name}");
        assert!(printed(&sandbox, &["report", "--format", "markdown"]).contains("Write the first file"));
    }
}

#[test]
fn what_a_recorded_run_was_refused_and_stopped_for_is_reported() {
    let sandbox = left_behind(&fixture("stuck"));
    let report = printed(&sandbox, &["report"]);
    for said in [
        "refused: 2 tasks are still open, the next is: Write the first file\n",
        "after iteration 2: perhaps stuck: 2 consecutive iterations without changes\n",
        "confidence 10: agent's claim +10\n",
    ] {
        assert!(report.contains(said), "`{said}` is not in:\n{report}");
    }
    let status = printed(&sandbox, &["status"]);
    assert!(
        status.contains("yes: 4 consecutive iterations without changes"),
        "{status}"
    );
}

#[test]
fn a_recorded_run_is_resumed_with_what_it_had_to_tell_the_agent() {
    let sandbox = left_behind(&fixture("refused"));
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("work; over done"));
    let finished = sandbox.looping(["--goal", "tests=true"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let prompt = sandbox.prompt(2);
    for said in [
        "Your claim to be done was refused: goal `tests` did not pass: exit code 3. It ended with:",
        "1 of 2 passed",
    ] {
        assert!(prompt.contains(said), "`{said}` is not in:\n{prompt}");
    }
    let report: Value = serde_json::from_str(&printed(&sandbox, &["report", "--format", "json"])).expect("JSON");
    assert_eq!(report["end"]["reason"]["type"], "done", "{report:#}");
    let iterations = &report["view"]["iterations"]["rows"]["kept"];
    assert_eq!(iterations.as_array().map(Vec::len), Some(2), "{report:#}");
}

#[test]
fn status_for_programs_has_the_view_of_the_run() {
    for (name, ..) in RUNS {
        let sandbox = left_behind(&fixture(name));
        let run = &sandbox.paths().run_ids()[0];
        let (records, _) = journal::read(&sandbox.paths().run(run).journal()).expect("a journal");
        let status: Value = serde_json::from_str(&printed(&sandbox, &["status", "--json"])).expect("JSON");
        let view: RunView = serde_json::from_str(&status["view"].to_string()).expect("a view");
        assert_eq!(view, RunView::of(&records), "{name}");
        assert_eq!(status["over"], view.is_over(), "{name}");
    }
}

#[test]
fn a_recorded_run_is_played() {
    let sandbox = left_behind(&fixture("messages"));
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 100, 30);
    terminal.sees("replay · end");
    terminal.press("l");
    terminal.sees("the next task");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn what_a_run_has_spent_of_its_day_and_its_tasks_is_reported_and_shown_at_80_columns() {
    let sandbox = left_behind(&fixture("budgets"));
    let report = printed(&sandbox, &["report"]);
    for said in [
        "the task \"Write the first file\": per-task iteration limit reached",
        "ralph continue --max-iterations-per-task N",
        "$6.60",
    ] {
        assert!(report.contains(said), "`{said}` is not in:\n{report}");
    }
    let mut terminal = Terminal::start(&sandbox.ralph(["replay", "--speed", "64"]), 80, 24);
    terminal.sees("replay · end");
    // The user has allowed the same amount once more for the day.
    terminal.sees("2/3 · iteration 3/50 · $6.60 · today $6.60/$8 · ");
    terminal.sees("blocked: per-task iteration limit reached");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn an_unknown_event_is_shown_by_its_name_and_keeps_nothing_from_being_read() {
    let sandbox = left_behind(&from_the_future());
    assert!(printed(&sandbox, &["runs"]).contains("interrupted"));
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

/// Reports `signal` this many times, as fast as the pipe accepts it.
fn repeated(signal: &str, times: usize) -> String {
    format!("yes '{signal}' | head -n {times}\n")
}

const SAID: &str = r#"{"type":"said","text":"I look at the next file of this project, and then at the one after it."}"#;

#[test]
fn an_agent_that_talks_without_end_leaves_a_small_journal_and_all_of_it_in_its_signal_log() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!(
        "{}work; over 'Done, all of it.'",
        repeated(SAID, 50_000)
    )));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let journal = sandbox.the_run().journal();
    let bytes = fs::metadata(&journal).expect("a journal").len();
    assert!(bytes < 512 * 1024, "{bytes} bytes");
    let records = sandbox.journal();
    assert_eq!(finished.records(), records, "what is printed is the journal");
    let omissions =
        events(&records).filter(|event| matches!(event, Event::Agent(AgentEvent::DetailsOmitted { iteration: 1 })));
    assert_eq!(omissions.count(), 1);
    let log = fs::read_to_string(sandbox.the_run().signals(1)).expect("a signal log");
    assert_eq!(log.lines().filter(|line| line.contains("\"said\"")).count(), 50_000);
    assert!(log.lines().last().expect("a line").contains("Done, all of it."));
}

#[test]
fn the_screen_goes_on_showing_what_the_journal_leaves_out() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let script = format!(
        "{}said 'the last of it'; await go; work; over done",
        repeated(SAID, 50_000)
    );
    sandbox.install(&Script::jsonl(&script));
    let screen = sandbox.ralph(["--adapter", "script"]);
    let mut terminal = Terminal::start(&screen.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent")), 100, 30);
    terminal.sees("the last of it");
    terminal.press("l");
    // As a line of the log; the terminal's pane has it without the dot.
    terminal.sees("· the last of it");
    sandbox.release("go");
    terminal.sees("… done (not verified)");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_flood_of_permissions_fails_its_iteration_and_is_named() {
    let sandbox = Sandbox::new();
    let asked = r#"{"type":"permission-asked","id":"1","text":"to do the same thing once more, as it did just now"}"#;
    sandbox.install(&Script::jsonl(&format!("yes '{asked}'")));
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{}", finished.stderr);
    let records = sandbox.journal();
    let failed = events(&records).find_map(|event| match event {
        Event::Iteration(IterationEvent::Ended {
            outcome: Outcome::Failed { problem },
            ..
        }) => Some(problem.kind),
        _ => None,
    });
    assert_eq!(failed, Some(ProblemKind::Flood));
    let bytes = fs::metadata(sandbox.the_run().journal()).expect("a journal").len();
    assert!(bytes < 2 << 20, "{bytes} bytes");
    sandbox.assert_nothing_runs();
}

#[test]
fn usage_that_is_told_with_every_token_is_summed_up_and_still_counts_in_full() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let usage = r#"{"type":"usage","usage":{"inputTokens":null,"cachedTokens":null,"outputTokens":3,"costUsd":null}}"#;
    sandbox.install(&Script::jsonl(&format!("{}work; over done", repeated(usage, 30_000))));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let records = sandbox.journal();
    let Some(Event::Run(RunEvent::Stopped { totals, .. })) = records.last().map(|record| &record.event) else {
        panic!("{records:?}")
    };
    assert_eq!(totals.usage.output_tokens, Some(90_000));
    let told = events(&records).filter(|event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    assert!(told.count() < 1_000);
}

#[test]
fn a_message_that_is_too_long_is_refused_with_its_size() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    let long = "word ".repeat(14_000);
    let refused = sandbox.ralph(["steer", &long]).run(SOON);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("69 KiB; the maximum is 64"),
        "{}",
        refused.stderr
    );
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}
