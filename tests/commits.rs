//! ralph commits what iterations leave uncommitted.

use std::fs;

use ralph_core::event::{Event, IterationEvent, Record};

use crate::harness::{
    SOON, Sandbox, Script,
    batches::{batch, sandbox_in, target},
    events,
    running::Program,
    warnings,
};

/// An agent that ticks a task in each iteration and commits nothing.
const LAZY: &str =
    "said working; echo $n > work-$n.txt; sed -i '0,/- \\[ \\]/s//- [x]/' \"$RALPH_PLAN\"; over 'One less.'";

fn sandbox_with(agent: &str, tasks: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(tasks);
    sandbox.install(&Script::jsonl(agent));
    sandbox
}

fn committing(sandbox: &Sandbox) -> Program {
    let program = sandbox.looping_as("text", ["--max-iterations", "9"]);
    program.env("RALPH_COMMIT", "iteration")
}

/// The commits of iterations in the journal: the iteration, and the number of files.
fn made(records: &[Record]) -> Vec<(u32, u32)> {
    let made = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Settled {
            iteration,
            committed: Some(made),
            ..
        }) => Some((*iteration, made.files)),
        _ => None,
    });
    made.collect()
}

fn subjects(sandbox: &Sandbox) -> Vec<String> {
    let log = sandbox.git(["log", "--reverse", "--format=%s"]);
    log.lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn what_an_agent_leaves_is_committed_after_its_task_and_the_users_changes_are_not() {
    let sandbox = sandbox_with(LAZY, 2);
    sandbox.write("staged", "staged\n");
    sandbox.git(["add", "staged"]);
    sandbox.write("staged", "staged, and more\n");
    sandbox.write("notes", "mine\n");
    let index = sandbox.git(["ls-files", "--stage", "staged"]);
    let finished = committing(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(subjects(&sandbox), ["Task 1", "Task 2"]);
    let run = sandbox.paths().latest_run().unwrap();
    let body = sandbox.git(["log", "-1", "--format=%b"]);
    assert_eq!(body.trim_end(), format!("Iteration 2 of ralph's run {run}."));
    let files = sandbox.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(files, "PLAN.md\nwork-2.txt\n");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "AM staged\n?? notes\n");
    assert_eq!(sandbox.git(["ls-files", "--stage", "staged"]), index);
    let records = sandbox.journal();
    assert_eq!(made(&records), [(1, 2), (2, 2)]);
    assert_eq!(warnings(&records), [""; 0]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let told = format!("committed as {} (2 files)", &head[..7]);
    assert!(finished.stdout.contains(&told), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains(&told) && report.contains(" Task 2"), "{report}");
    // A checkpoint is restored without a move of the branch.
    let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read("work-1.txt"), None);
    assert_eq!(sandbox.read("notes").as_deref(), Some("mine\n"));
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn without_the_setting_only_the_agent_commits() {
    let sandbox = sandbox_with(LAZY, 1);
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(subjects(&sandbox), [""; 0]);
}

#[test]
fn a_file_that_both_have_changed_stays_uncommitted_and_is_told_once() {
    let sandbox = sandbox_with(&format!("echo agent >> both.txt; {LAZY}"), 2);
    sandbox.write("both.txt", "mine\n");
    let finished = committing(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? both.txt\n");
    assert_eq!(sandbox.read("both.txt").as_deref(), Some("mine\nagent\nagent\n"));
    let told =
        "Left uncommitted, as it had changes of your own before the run and the agent has changed more: both.txt.";
    assert_eq!(warnings(&sandbox.journal()), [told]);
}

#[test]
fn what_the_agent_commits_itself_is_not_committed_again() {
    let sandbox = sandbox_with("said working; work; [ $n = 1 ] || echo rest > rest.txt; over done", 2);
    let finished = committing(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let subjects = subjects(&sandbox);
    assert_eq!(subjects, ["Work of iteration 1", "Work of iteration 2", "Task 2"]);
    assert_eq!(made(&sandbox.journal()), [(2, 1)]);
    sandbox.assert_clean();
}

#[test]
fn without_a_branch_nothing_is_committed_and_it_is_told_once() {
    let sandbox = sandbox_with(LAZY, 2);
    sandbox.git(["checkout", "--quiet", "--detach"]);
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let finished = committing(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.git(["rev-parse", "HEAD"]), head);
    let told = "What the agent left is not committed: no branch is checked out. The next iteration tries again.";
    let detached = "HEAD is detached; commits made here are on no branch";
    assert_eq!(warnings(&sandbox.journal()), [detached, told]);
}

#[test]
fn the_iteration_of_a_killed_ralph_is_committed_without_the_users_files() {
    let sandbox = sandbox_with(
        "said working; echo $n > work-$n.txt; : > $HOME/wrote; [ $n -gt 1 ] || await go; \
         sed -i 's/- \\[ \\]/- [x]/' \"$RALPH_PLAN\"; over done",
        1,
    );
    sandbox.write("notes", "mine\n");
    let running = committing(&sandbox).start();
    crate::harness::wait_until(SOON, "the agent's file", || sandbox.read_home("wrote").map(drop));
    running.kill();
    _ = running.wait(SOON);
    sandbox.waits_until_nothing_runs();
    sandbox.release("go");
    let finished = committing(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "?? notes\n");
    assert_eq!(made(&sandbox.journal()), [(1, 1), (2, 2)]);
}

/// Names programs that leave traces: one outside of the sandbox, and one where the sandbox writes.
const PLANTING: &str = r#"
for name in filter hook; do
    printf '#!/bin/sh\necho %s >> "%s/.git/traces"\necho %s >> "%s/planted"\n[ $# = 0 ] || cat\n' \
        $name "$PWD" $name "$HOME" > .git/$name
    chmod +x .git/$name
done
mkdir -p .git/hooks
for hook in pre-commit commit-msg post-commit reference-transaction post-index-change; do cp .git/hook .git/hooks/$hook; done
git config filter.e.clean "$PWD/.git/filter clean"
git config core.fsmonitor "$PWD/.git/hook"
git config gpg.program "$PWD/.git/hook"
git config commit.gpgSign true
echo '*.e filter=e' > .gitattributes
echo work > work.e
sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
over done"#;

#[test]
fn filters_of_an_agent_have_its_rights_and_hooks_do_not_run() {
    for mode in ["on", "off"] {
        let sandbox = Sandbox::outside_of_tmp();
        sandbox.plan(1);
        sandbox.install(&Script::jsonl(PLANTING));
        let program = sandbox.looping_as("text", ["--sandbox", mode]);
        let finished = program.env("RALPH_COMMIT", "iteration").run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(made(&sandbox.journal()), [(1, 3)], "{mode}: {finished:?}");
        let traces = sandbox.read(".git/traces").unwrap_or_default();
        assert!(traces.contains("filter"), "the commit ran the filter: {traces}");
        assert!(!traces.contains("hook"), "{mode}: {traces}");
        let planted = sandbox.read_home("planted");
        assert_eq!(planted.is_some(), mode == "off", "{mode}: {planted:?}");
    }
}

#[cfg(feature = "batch")]
#[test]
fn the_plans_of_a_batch_commit_on_their_own_branches() {
    let agent = "echo $plan >> $plan-$n.txt; tick; over done";
    let sandbox = sandbox_in(Sandbox::new(), agent, &["api", "ui"]);
    let directory = sandbox.config().join("ralph");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.json"), r#"{"commit": "iteration"}"#).unwrap();
    let main = sandbox.git(["rev-parse", "main"]);
    let finished = batch(&sandbox, &["api.md", "ui.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let log = sandbox.git(["log", "--format=%s", &format!("main..{}", target(&sandbox))]);
    for task in ["One of api", "Two of api", "One of ui", "Two of ui"] {
        assert_eq!(log.lines().filter(|subject| *subject == task).count(), 1, "{log}");
    }
    assert!(!log.contains("Work of plan"), "nothing was left for the end: {log}");
    assert_eq!(sandbox.git(["rev-parse", "main"]), main);
    sandbox.assert_clean();
}
