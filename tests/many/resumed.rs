//! A resumed batch: with other options, and for some of its plans.

use serde_json::Value;

use super::{assert_tidy, assert_verified, batch, many, sandbox, status};
use crate::harness::{SOON, Sandbox};

/// Two plans with two more tasks than usual, finished one per iteration.
fn slow() -> Sandbox {
    let sandbox = sandbox("echo $n >> $plan.txt; tick; over done", &["api", "ui"]);
    for plan in ["api", "ui"] {
        let tasks: String = (1..=4).map(|number| format!("- [ ] {number} of {plan}\n")).collect();
        sandbox.write(&format!("{plan}.md"), &tasks);
    }
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plans"]);
    sandbox
}

#[track_caller]
fn plan(sandbox: &Sandbox, at: usize) -> (Value, Value) {
    let plan = &status(sandbox)["plans"][at];
    (plan["phase"]["type"].clone(), plan["tasks"]["done"].clone())
}

#[test]
fn options_at_resume_take_effect_before_and_behind_the_command() {
    let sandbox = slow();
    let first = batch(&sandbox, &["api.md", "-n", "1"]).run(SOON);
    assert_eq!(first.code(), Some(1), "{first:?}");
    let before = sandbox.ralph(["-n", "2", "many", "resume", "--headless"]);
    let before = before.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent")).run(SOON);
    assert_eq!(before.code(), Some(1), "{before:?}");
    assert_eq!(plan(&sandbox, 0), ("kept".into(), 3.into()));
    assert_eq!(status(&sandbox)["plans"][0]["iterations"], 3, "of both runs");
    let behind = many(&sandbox, "resume -n 9 --jobs 3 --goal made=false").run(SOON);
    assert_eq!(behind.code(), Some(1), "{behind:?}");
    assert_eq!(status(&sandbox)["jobs"], 3);
    assert!(!behind.stdout.contains("api: merged"), "the goal counts: {behind:?}");
    let goal = "test -s api.txt";
    let last = many(&sandbox, "resume --goal").arg(format!("made={goal}")).run(SOON);
    assert_eq!(last.code(), Some(0), "{last:?}");
    assert_verified(&sandbox, goal, &["api"]);
    assert_tidy(&sandbox);
}

#[test]
fn one_plan_is_resumed_alone() {
    let sandbox = slow();
    let first = batch(&sandbox, &["api.md", "ui.md", "-n", "1"]).run(SOON);
    assert_eq!(first.code(), Some(1), "{first:?}");
    let alone = many(&sandbox, "resume ui.md -n 9").run(SOON);
    assert_eq!(alone.code(), Some(1), "{alone:?}");
    assert!(alone.stdout.contains(": resuming ui\n"), "{alone:?}");
    assert_eq!(plan(&sandbox, 0), ("kept".into(), 1.into()));
    assert_eq!(plan(&sandbox, 1), ("merged".into(), 4.into()));
    let again = many(&sandbox, "resume ui").run(SOON);
    assert_eq!(
        (
            again.code(),
            again.stdout.contains("ui is merged; there is nothing to resume")
        ),
        (Some(0), true),
        "{again:?}"
    );
    let all = many(&sandbox, "resume").run(SOON);
    assert_eq!(all.code(), Some(0), "{all:?}");
    assert_verified(&sandbox, "true", &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn what_cannot_be_changed_at_resume_is_refused() {
    let sandbox = slow();
    batch(&sandbox, &["api.md", "-n", "1"]).run(SOON);
    for (args, code, said) in [
        ("resume --plan ui.md", 2, "`--plan` names one plan"),
        ("resume nobody", 2, "`nobody` is not a plan of the last batch"),
        ("resume -n many", 3, "--max-iterations"),
        ("resume --into main", 2, "--into"),
    ] {
        let refused = many(&sandbox, args).run(SOON);
        assert_eq!(refused.code(), Some(code), "{args}: {refused:?}");
        assert!(refused.stderr.contains(said), "{args}: {refused:?}");
    }
    assert_eq!(plan(&sandbox, 0), ("kept".into(), 1.into()));
}

#[test]
fn a_plan_that_asks_is_resumed_once_it_is_answered_or_if_it_is_named() {
    let asks = "if printf '%s' \"$prompt\" | grep -q 'blue, please'; then echo blue > $plan.txt; tick; tick; over done; else over 'RALPH BLOCKED: which colour?'; fi";
    let sandbox = sandbox(asks, &["api"]);
    let first = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(first.code(), Some(1), "{first:?}");
    let command = first.stderr.split('`').find(|text| text.contains("ralph steer"));
    let command = command
        .expect("a hint")
        .replace("ralph steer", &format!("{} steer", env!("CARGO_BIN_EXE_ralph")));
    for (args, runs) in [("resume", false), ("resume api", true), ("resume", false)] {
        let again = many(&sandbox, args).run(SOON);
        assert_eq!(again.code(), Some(1), "{args}: {again:?}");
        assert_eq!(again.stdout.contains("api: running again"), runs, "{args}: {again:?}");
        assert!(again.stderr.contains("answers api"), "{args}: {again:?}");
    }
    let command = command.replace("YOUR ANSWER", "blue, please");
    let answered = sandbox.program("sh").args(["-c", &command]).run(SOON);
    assert_eq!(answered.code(), Some(0), "{command}: {answered:?}");
    let last = many(&sandbox, "resume").run(SOON);
    assert_eq!(last.code(), Some(0), "{last:?}");
    assert_verified(&sandbox, "grep -q blue api.txt", &["api"]);
}

#[test]
fn the_scope_of_a_task_holds_in_a_resumed_batch_whatever_its_agent_has_done_to_the_plan() {
    let agent = "sed -i 's/only=[^}]*/only=**/' \"$RALPH_PLAN\"
if [ -e \"$HOME/back\" ]; then git checkout --quiet main -- shared.txt; else echo x >> shared.txt; fi
echo $n > $plan.txt; tick; tick; commit Work; over done";
    let sandbox = sandbox(agent, &["api"]);
    sandbox.write("api.md", "# Api {only=api.txt}\n\n- [ ] One\n- [ ] Two\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Scope"]);
    let first = batch(&sandbox, &["api.md", "-n", "1"]).run(SOON);
    assert_eq!(first.code(), Some(1), "{first:?}");
    let again = many(&sandbox, "resume -n 1").run(SOON);
    assert_eq!(again.code(), Some(1), "{again:?}");
    assert_eq!(plan(&sandbox, 0), ("kept".into(), 0.into()));
    sandbox.release("back");
    let last = many(&sandbox, "resume -n 1").run(SOON);
    assert_eq!(last.code(), Some(0), "{last:?}");
    assert_verified(&sandbox, "test \"$(cat shared.txt)\" = base", &["api"]);
}

#[test]
fn a_task_to_resolve_a_merge_has_no_scope() {
    let agent = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt; echo x > merged-$plan.txt
else echo "$plan" >> shared.txt; fi
tick; over done"#;
    let sandbox = sandbox(agent, &["api", "ui"]);
    for plan in ["api", "ui"] {
        sandbox.write(&format!("{plan}.md"), "# Plan {only=shared.txt}\n\n- [ ] One\n");
    }
    sandbox.git(["commit", "--quiet", "--all", "--message", "Scopes"]);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2", "-n", "3"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_verified(&sandbox, "true", &["api", "ui"]);
}
