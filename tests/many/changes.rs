//! Changes to a batch while it runs: further plans, a pause, other limits, messages.

use nix::sys::signal::Signal;

use super::{assert_tidy, batch, many, sandbox, status};
use crate::harness::{SOON, wait_until};

/// Makes the file `PLAN-began` in its home, and waits for `PLAN-go` there before it ends its plan.
const WAITS: &str = "touch \"$HOME/$plan-began\"; await $plan-go; echo $plan > $plan.txt; tick; tick; over done";

#[test]
fn a_plan_that_is_added_runs_and_is_merged_with_the_others() {
    let sandbox = sandbox(WAITS, &["api", "ui", "docs"]);
    let running = batch(&sandbox, &["api.md", "--jobs", "1", "--headless"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: running"));
    let added = many(&sandbox, "add ui.md docs.md").run(SOON);
    assert_eq!(added.code(), Some(0), "{added:?}");
    assert!(added.stdout.contains("2 plans added: ui, docs"), "{added:?}");
    let again = many(&sandbox, "add ui.md").run(SOON);
    assert_eq!(again.code(), Some(3), "{again:?}");
    assert!(
        again.stderr.contains("ui.md: the batch has this plan already"),
        "{again:?}"
    );
    let changed = many(&sandbox, "resume --jobs 3 --max-tokens 1000000").run(SOON);
    assert_eq!(changed.code(), Some(0), "{changed:?}");
    wait_until(SOON, "all three run", || {
        let plans = status(&sandbox)["plans"].clone();
        let phases = plans
            .as_array()
            .unwrap()
            .iter()
            .map(|plan| plan["phase"]["type"] == "running");
        (phases.filter(|runs| *runs).count() == 3).then_some(())
    });
    for plan in ["api", "ui", "docs"] {
        sandbox.release(&format!("{plan}-go"));
    }
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("done: 3 of 3 plans merged"), "{finished:?}");
    assert_tidy(&sandbox);
}

#[test]
fn a_paused_batch_starts_nothing_until_it_goes_on() {
    let sandbox = sandbox(WAITS, &["api", "ui"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "--jobs", "1", "--headless"]).start();
    wait_until(SOON, "api works", || sandbox.read_home("api-began"));
    let paused = sandbox.ralph(["pause"]).run(SOON);
    assert_eq!(paused.code(), Some(0), "{paused:?}");
    sandbox.release("api-go");
    sandbox.release("ui-go");
    running.wait_for_line(SOON, |line| line.contains("api: merged;"));
    let state = status(&sandbox);
    assert_eq!(
        (&state["paused"], &state["plans"][1]["phase"]["type"]),
        (&true.into(), &"waiting".into())
    );
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_plan_that_is_added_to_a_batch_that_is_over_runs_with_the_next_resume() {
    let sandbox = sandbox("echo $plan > $plan.txt; tick; tick; over done", &["api", "ui"]);
    assert_eq!(batch(&sandbox, &["api.md"]).run(SOON).code(), Some(0));
    let added = many(&sandbox, "add ui.md").run(SOON);
    assert!(added.stdout.contains("`ralph many resume` runs the batch"), "{added:?}");
    let finished = many(&sandbox, "resume --headless").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("2 of 2 plans merged"), "{finished:?}");
}

#[test]
fn a_message_reaches_the_agent_of_one_plan() {
    let sandbox = sandbox(
        "printf '%s' \"$prompt\" > \"$HOME/$plan-$n.prompt\"; said ready; [ \"$n\" != 1 ] || await $plan-go; tick; over done",
        &["api", "ui"],
    );
    let running = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2", "--headless"]).start();
    wait_until(SOON, "api runs", || sandbox.read_home("api-1.prompt"));
    let sent = sandbox
        .ralph(["steer", "--to", "api", "use-the-test-database"])
        .run(SOON);
    assert_eq!(sent.code(), Some(0), "{sent:?}");
    sandbox.release("api-go");
    sandbox.release("ui-go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let told = |file: &str| {
        sandbox
            .read_home(file)
            .unwrap_or_default()
            .contains("use-the-test-database")
    };
    assert!(told("api-2.prompt") && !told("ui-2.prompt"), "{finished:?}");
}

#[test]
fn a_paused_batch_that_was_interrupted_goes_on_when_it_is_resumed() {
    let sandbox = sandbox(WAITS, &["api"]);
    let running = batch(&sandbox, &["api.md", "--headless"]).start();
    // The run may not answer yet.
    running.wait_for_line(SOON, |line| line.contains("api: running"));
    let paused = sandbox.ralph(["pause"]).run(SOON);
    assert_eq!(paused.code(), Some(0), "{paused:?}");
    let tree = status(&sandbox)["plans"][0]["workTree"].as_str().unwrap().to_owned();
    wait_until(SOON, "the run is paused", || {
        let status = sandbox.ralph(["status"]).current_dir(&tree).run(SOON);
        status.stdout.contains("pause").then_some(())
    });
    running.signal(Signal::SIGINT);
    let interrupted = running.wait(SOON);
    assert_ne!(interrupted.code(), Some(0), "{interrupted:?}");
    sandbox.release("api-go");
    let finished = many(&sandbox, "resume --headless").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}
