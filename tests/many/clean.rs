//! Leftovers of batches: pruned when the next one starts, removed by `ralph many clean`, and kept if they are the only
//! copy.

use std::{fs, path::PathBuf};

use nix::sys::signal::Signal;

use super::{batch, many, sandbox, status, target};
use crate::harness::{SOON, Sandbox, running::Finished};

/// Finishes its only task.
const QUICK: &str = "echo \"$plan\" >> \"$plan.txt\"; tick; over done";
/// As [`QUICK`], but the agent of `ui` never ends.
const ENDLESS: &str = "[ $plan != ui ] || { echo ui > ui.txt; commit Work; said ready; await go; }; echo $plan > $plan.txt; tick; over done";

fn references(sandbox: &Sandbox) -> Vec<String> {
    let list = ["for-each-ref", "--format=%(refname)", "refs/ralph"];
    let listed = [sandbox.git(list), sandbox.store_git(list)].concat();
    // The others are no checkpoints.
    let is_checkpoint = |name: &&str| !name.contains("/heads/") && !name.ends_with("/settings");
    listed.lines().filter(is_checkpoint).map(str::to_owned).collect()
}

fn branches(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.git(["branch", "--list", "ralph/*", "--format=%(refname:short)"]);
    listed.lines().map(str::to_owned).collect()
}

/// State directories of the project and of its work trees.
fn states(sandbox: &Sandbox) -> Vec<PathBuf> {
    let all = fs::read_dir(sandbox.state().join("ralph")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.join("runs").is_dir()).collect()
}

/// Gives both plans a task, runs a batch and merges its result into the checked-out branch.
fn one_more(sandbox: &Sandbox, round: u32) {
    for plan in ["api", "ui"] {
        sandbox.write(&format!("{plan}.md"), &format!("- [ ] Round {round} of {plan}\n"));
    }
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plans"]);
    let finished = batch(sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    sandbox.git(["merge", "--quiet", "--ff-only", &target(sandbox)]);
}

fn clean(sandbox: &Sandbox, args: &str) -> Finished {
    many(sandbox, &format!("clean {args}")).run(SOON)
}

#[test]
fn of_many_batches_the_references_of_the_last_one_are_left_and_the_runs_that_are_kept() {
    let sandbox = sandbox(QUICK, &["api", "ui"]);
    fs::create_dir_all(sandbox.config().join("ralph")).unwrap();
    fs::write(sandbox.config().join("ralph/config.json"), r#"{"keep": {"runs": 1}}"#).unwrap();
    one_more(&sandbox, 0);
    let of_one = references(&sandbox).len();
    assert!(of_one >= 4, "{:?}", references(&sandbox));
    for round in 1..10 {
        one_more(&sandbox, round);
    }
    assert_eq!(references(&sandbox).len(), of_one, "{:?}", references(&sandbox));
    assert_eq!(branches(&sandbox), [target(&sandbox)]);
    // One of the project and four of the last two batches: a batch that starts keeps those of the last one that has
    // ended.
    assert_eq!(states(&sandbox).len(), 5, "{:?}", states(&sandbox));
    let run = sandbox
        .looping(["--max-iterations", "1", "--plan", "PLAN.md"])
        .run(SOON);
    assert_eq!(run.code(), Some(6), "{run:?}");
    assert_eq!(states(&sandbox).len(), 3, "{:?}", states(&sandbox));
    let cleaned = clean(&sandbox, "");
    assert_eq!(cleaned.code(), Some(0), "{cleaned:?}");
    for words in [
        &format!("removed {of_one} checkpoints, the runs of 2 plans, `ralph/"),
        "/target`\n",
    ] {
        assert!(cleaned.stdout.contains(words), "{words}: {cleaned:?}");
    }
    assert_eq!(branches(&sandbox), [] as [&str; 0]);
    assert_eq!(states(&sandbox).len(), 1, "{:?}", states(&sandbox));
    let project = sandbox.paths();
    let own = |name: &String| project.run_ids().iter().any(|run| name.contains(&run.0));
    assert!(references(&sandbox).iter().all(own), "{:?}", references(&sandbox));
    assert_eq!(sandbox.read("api.txt").unwrap().lines().count(), 10);
    let again = clean(&sandbox, "");
    assert!(again.stdout.contains("nothing to clean"), "{again:?}");
}

#[test]
fn what_is_on_no_other_branch_stays_and_is_named_with_the_command_that_removes_it() {
    let sandbox = sandbox(ENDLESS, &["api", "ui"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: merged"));
    let tree = PathBuf::from(status(&sandbox)["plans"][1]["workTree"].as_str().unwrap());
    let busy = clean(&sandbox, "");
    assert_eq!(busy.code(), Some(5), "{busy:?}");
    super::wait_until(SOON, "the work of ui", || tree.join("ui.txt").exists().then_some(()));
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(SOON).code(), Some(130));
    let resumable = clean(&sandbox, "");
    assert_eq!(resumable.code(), Some(0), "{resumable:?}");
    assert!(
        resumable.stdout.contains("`ralph many resume` continues it"),
        "{resumable:?}"
    );
    assert!(
        resumable.stderr.contains("ralph many cancel && ralph many clean"),
        "{resumable:?}"
    );
    many(&sandbox, "cancel").run(SOON);
    let recent = clean(&sandbox, "--older 7d");
    assert!(recent.stdout.contains("it was active within that time"), "{recent:?}");
    let (branch, target) = (status(&sandbox)["plans"][1]["branch"].clone(), target(&sandbox));
    let branch = branch.as_str().unwrap();
    fs::write(tree.join("note"), "mine").unwrap();
    let changed = clean(&sandbox, "");
    assert!(
        changed.stdout.contains("ui, which has uncommitted changes"),
        "{changed:?}"
    );
    fs::remove_file(tree.join("note")).unwrap();
    let kept = clean(&sandbox, "");
    let tree = tree.display();
    for hint in [
        format!("git worktree remove --force {tree} && git branch -D {branch}"),
        format!("git branch -D {target}"),
    ] {
        assert!(kept.stderr.contains(&format!("hint: {hint}\n")), "{hint}: {kept:?}");
        let removed = sandbox.program("sh").args(["-c", &hint]).run(SOON);
        assert_eq!(removed.code(), Some(0), "{removed:?}");
    }
    assert_eq!(
        sandbox
            .git(["log", "--all", "--format=%s", "--", "api.txt"])
            .lines()
            .count(),
        0
    );
    clean(&sandbox, "");
    assert_eq!((references(&sandbox), branches(&sandbox)), (Vec::new(), Vec::new()));
    assert_eq!(states(&sandbox), [sandbox.paths().state()]);
}
