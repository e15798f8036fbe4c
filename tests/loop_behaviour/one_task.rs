//! `ralph "TASK"`: a run of one task, whose plan is a separate file.

use std::fs;

use nix::sys::signal::Signal;
use ralph_core::event::{Proof, StopReason};

use super::notices;
use crate::harness::{SOON, Sandbox, Script, running::Finished, wait_until};

const PLAN: &str = ".ralph/plans/write-it.md";

fn run(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.looping(args).run(SOON)
}

/// The end of the latest run, and the number of its finished tasks.
fn ended(sandbox: &Sandbox) -> (Option<StopReason>, usize) {
    let paths = sandbox.paths();
    let view = ralph_state::store::journal::read_view(&paths, &paths.latest_run().expect("a run")).expect("a journal");
    (view.stop_reason().cloned(), view.plan.done())
}

fn said(finished: &Finished, what: &str) {
    assert!(finished.stderr.contains(what), "{what} is not in {finished:?}");
}

#[test]
fn a_task_is_a_run_of_its_own_beside_the_plan_of_the_project_and_nothing_is_overwritten() {
    let sandbox = Sandbox::new();
    let before = sandbox.read("PLAN.md");
    sandbox.install(&Script::worker());
    let first = run(&sandbox, &["Write it"]);
    assert_eq!(first.code(), Some(0), "{first:?}");
    assert_eq!(ended(&sandbox), (Some(StopReason::done(Proof::Nothing)), 1));
    assert_eq!(sandbox.read(PLAN).as_deref(), Some("# Task\n\n- [x] Write it\n"));
    assert_eq!(sandbox.read("PLAN.md"), before);
    assert!(
        notices(&first.records()).contains(&format!(
            "the plan of this task is {PLAN}; without goals only the agent's claim shows that it is done (`--goal \
             tests='COMMAND'`)"
        )),
        "{first:?}"
    );
    // The same task can run again; the first plan file stays.
    let second = run(&sandbox, &["--goal", "tests=true", "Write it"]);
    assert_eq!(second.code(), Some(0), "{second:?}");
    assert_eq!(ended(&sandbox), (Some(StopReason::done(Proof::ExitCodes)), 1));
    assert_eq!(sandbox.read(PLAN).as_deref(), Some("# Task\n\n- [x] Write it\n"));
    let again = ".ralph/plans/write-it-2.md";
    assert_eq!(sandbox.read(again).as_deref(), Some("# Task\n\n- [x] Write it\n"));
    assert!(notices(&second.records()).contains(&format!("the plan of this task is {again}")));
    // A setup added later is trusted nevertheless: plans of single tasks are not configuration.
    sandbox.write("package.json", r#"{ "scripts": { "test": "true" } }"#);
    let init = sandbox.untrusting_ralph(["init", "--yes", "--no-check"]).run(SOON);
    assert_eq!(init.code(), Some(0), "{init:?}");
    let goals = sandbox.untrusting_ralph(["goals"]).run(SOON);
    assert!(goals.code() == Some(0) && goals.stdout.contains("npm"), "{goals:?}");
}

#[test]
fn a_message_that_waits_for_the_last_run_is_delivered_or_withdrawn_before_another_plan_has_its_turn() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let first = run(&sandbox, &["Write it"]);
    assert_eq!(first.code(), Some(0), "{first:?}");
    let queued = |text: &str| {
        let steered = sandbox.ralph(["steer", text]).run(SOON);
        assert!(steered.stdout.contains("`ralph continue` delivers it"), "{steered:?}");
    };
    let refused = |number: u32, text: &str| {
        let other = run(&sandbox, &[]);
        assert_eq!(other.code(), Some(1), "{other:?}");
        said(&other, &format!("message {number} waits for the last run, of "));
        said(&other, text);
        said(
            &other,
            &format!("`ralph continue` delivers it, `ralph steer --withdraw {number}` drops it"),
        );
        let done = StopReason::done(Proof::Nothing);
        assert_eq!(ended(&sandbox).0, Some(done), "its end stays");
    };
    queued("use tabs");
    refused(1, "use tabs");
    let listed = sandbox.ralph(["runs"]).run(SOON);
    assert!(
        listed
            .stdout
            .contains("done (not verified) · 1 message waits for `ralph continue`"),
        "{listed:?}"
    );
    let continued = sandbox.looping(["continue"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    assert!(sandbox.prompt(2).contains("use tabs"), "{continued:?}");

    queued("use spaces");
    refused(2, "use spaces");
    let withdrawn = sandbox.ralph(["steer", "--withdraw", "2"]).run(SOON);
    assert_eq!(withdrawn.stdout, "message 2 is withdrawn\n", "{withdrawn:?}");
    let again = sandbox.ralph(["steer", "--withdraw", "2"]).run(SOON);
    assert_eq!(again.code(), Some(1), "{again:?}");
    said(&again, "no message 2 waits for the last run");
    let other = run(&sandbox, &[]);
    assert_eq!(other.code(), Some(0), "{other:?}");
    let paths = sandbox.paths();
    let prompt = fs::read_to_string(paths.run(&paths.latest_run().expect("a run")).prompt(1)).expect("a prompt");
    assert!(!prompt.contains("use spaces"), "{prompt}");
}

#[test]
fn a_task_that_was_cut_off_goes_on_with_its_plan_whoever_has_changed_that() {
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    sandbox.install(&Script::jsonl(
        r#"if [ ! -e "$HOME/ready" ]; then : > "$HOME/ready"; exec sleep 600; fi
work; over done"#,
    ));
    let start = || sandbox.looping(["Write it\nwith tests"]).start();
    let running = start();
    wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.kill();
    let plans = || {
        let tasks = sandbox.project().join(".ralph/plans");
        let names = tasks.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let [plan] = &plans()[..] else { panic!("{:?}", plans()) };
    let plan = format!(".ralph/plans/{plan}");
    assert_eq!(
        sandbox.read(&plan).as_deref(),
        Some("# Task\n\n- [ ] Write it\n\n  with tests\n")
    );
    // Without the task's text the run is not found, and the hint says how to continue it.
    let lost = sandbox.ralph(["--adapter", "script"]).run(SOON);
    assert_eq!(lost.code(), Some(3), "{lost:?}");
    said(
        &lost,
        &format!("hint: `ralph continue` continues the last run, of {plan}"),
    );
    sandbox.write(&plan, "# Task\n\n- [ ] Write it\n- [ ] And more\n");
    let resumed = start().wait(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_eq!(ended(&sandbox), (Some(StopReason::done(Proof::Nothing)), 2));
    assert_eq!(sandbox.paths().run_ids().len(), 1, "one run");
    assert_eq!(plans().len(), 1, "one plan");
}

#[test]
fn a_task_that_was_interrupted_is_continued_without_being_typed_again() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        r#"if [ ! -e "$HOME/ready" ]; then : > "$HOME/ready"; exec sleep 600; fi
work; over done"#,
    ));
    let running = sandbox.looping(["Write it"]).start();
    wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(SOON).code(), Some(130));
    let continued = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    assert_eq!(ended(&sandbox), (Some(StopReason::done(Proof::Nothing)), 1));
    assert_eq!(sandbox.paths().run_ids().len(), 1);
    let report = sandbox.ralph(["report"]).run(SOON);
    assert!(report.stdout.contains("Write it"), "{report:?}");
}

#[test]
fn what_cannot_be_run_leaves_no_plan_behind() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let long = "word ".repeat(20_000);
    for (args, code, why) in [
        (&["Write it", "--plan", "PLAN.md"][..], 2, "a task and a plan are given"),
        (&["Write it {adaptor=codex}"], 2, "did you mean `adapter`?"),
        (&["Write it {adapter=nobody}"], 3, "there is no adapter `nobody`"),
        (&["Write it", "--max-time", "8"], 3, "no unit"),
        (&["Write it", "--adapter", "nobody"], 3, "nobody"),
        (&[&long, "--max-time", "8"], 3, "no unit"),
        (&["-- "], 2, "unexpected argument"),
        (&[""], 2, "the task has no words"),
        (&["-"], 2, "not read from stdin"),
        (&["my plan.md"], 3, "my plan.md: there is no such file"),
        (&["write", "it"], 2, "ralph \"write it\""),
        (&["--status", "write it"], 2, "unexpected argument '--status'"),
    ] {
        let refused = sandbox.ralph(["--adapter", "script"]).args(args).run(SOON);
        assert_eq!(refused.code(), Some(code), "{args:?} {refused:?}");
        said(&refused, why);
        assert!(!sandbox.project().join(".ralph").exists(), "{args:?}");
    }
    // If the plan file cannot be written, the error says why.
    sandbox.write(".ralph", "a file\n");
    let refused = sandbox.untrusting_ralph(["--adapter", "script", "Write it"]).run(SOON);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    said(
        &refused,
        ".ralph/plans/write-it.md: the plan of the task cannot be written",
    );
    assert_eq!(refused.stderr.matches("error: ").count(), 1);
}
