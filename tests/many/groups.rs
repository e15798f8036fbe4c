//! Plans that finish while another one is being merged: they are merged and verified together, and divided if they
//! fail.

use nix::sys::signal::Signal;

use super::{assert_tidy, assert_verified, batch, history, many, sandbox, show, status, target};
use crate::harness::{SOON, Sandbox, running::Running, wait_until};

/// Runs `$HOME/PLAN.sh`, or `$HOME/repair.sh` for a merge task, which `$task` names.
const AGENT: &str = r#"
[ "$plan" = a ] || await "$plan-go"
task=work; if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then task=repair; fi
[ "$n" -gt 1 ] && [ $task = work ] || . "$HOME/$plan.sh"
tick; over done"#;

/// Notes each merged tree. Waits in that of the first plan for `first-go`, and in that of a group for `group-go`.
const QUEUE: &str = r#"
subject=$(git log -1 --format=%s)
case $subject in Merge*) echo "$subject" >> "$HOME/trees";; esac
case $subject in
"Merge plan a") while ! [ -e "$HOME/first-go" ]; do sleep 0.05; done;;
"Merge plans b, c and d") while ! [ -e "$HOME/group-go" ]; do sleep 0.05; done;;
esac
"#;

/// Four plans with the work of each, and a goal behind the waiting in the queue.
fn four(work: [&str; 4], goal: &str) -> (Sandbox, String) {
    let names = ["a", "b", "c", "d"];
    let sandbox = sandbox(AGENT, &names);
    for (name, work) in names.into_iter().zip(work) {
        std::fs::write(sandbox.home().join(format!("{name}.sh")), work).expect("the plan's work");
    }
    let path = sandbox.home().join("goal.sh");
    std::fs::write(&path, format!("{QUEUE}\n{goal}\n")).expect("the goal");
    (sandbox, format!("check=sh {}", path.display()))
}

/// Starts the batch, and lets the first merge end once all other plans have finished.
fn started(sandbox: &Sandbox, goal: &str) -> Running {
    let args = [
        "a.md",
        "b.md",
        "c.md",
        "d.md",
        "--jobs",
        "4",
        "--headless",
        "--goal",
        goal,
    ];
    let running = batch(sandbox, &args).start();
    running.wait_for_line(SOON, |line| line.contains("a: running"));
    let is_in_queue = |number: usize, phase: &str| {
        let plans = &status(sandbox)["plans"];
        (plans[number]["phase"]["type"] == phase).then_some(())
    };
    wait_until(SOON, "the first plan is verified", || is_in_queue(0, "verifying"));
    // They finish in order.
    for (number, name) in ["b", "c", "d"].into_iter().enumerate() {
        sandbox.release(&format!("{name}-go"));
        wait_until(SOON, "the plan has finished", || is_in_queue(number + 1, "finished"));
    }
    sandbox.release("first-go");
    running
}

/// The subjects of the merged trees on which the goals ran.
fn trees(sandbox: &Sandbox) -> Vec<String> {
    let trees = sandbox.read_home("trees").unwrap_or_default();
    trees.lines().map(str::to_owned).collect()
}

/// The work of a plan that writes a file of its own.
const OWN_FILE: &str = "echo $plan > $plan.txt";

#[test]
fn three_plans_that_wait_for_a_merge_are_one_merge_that_is_verified_once() {
    let (sandbox, goal) = four([OWN_FILE; 4], "true");
    let running = started(&sandbox, &goal);
    wait_until(SOON, "the group is verified", || {
        (trees(&sandbox).len() == 2).then_some(())
    });
    let shown = many(&sandbox, "status").run(SOON);
    assert!(shown.stdout.contains("done, being merged together with b"), "{shown:?}");
    sandbox.release("group-go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("b, c, d: merged"), "{finished:?}");
    assert_eq!(trees(&sandbox), ["Merge plan a", "Merge plans b, c and d"]);
    assert_verified(&sandbox, "true", &["a", "b", "c", "d"]);
    let target = target(&sandbox);
    assert_eq!(history(&sandbox, &target).len(), 2);
    let parents = sandbox.git(["show", "--no-patch", "--format=%P", &target]);
    assert_eq!(parents.split_whitespace().count(), 4, "the target and three branches");
    assert_tidy(&sandbox);
}

#[test]
fn a_group_that_fails_is_divided_and_the_plan_that_fails_is_repaired() {
    // The work of `c` passes alone, and fails beside that of `a`.
    let c = "echo c > c.txt; rm -f bad.txt; [ $task = repair ] || echo bad > bad.txt";
    let (sandbox, goal) = four(
        [OWN_FILE, OWN_FILE, c, OWN_FILE],
        "! { [ -e a.txt ] && [ -e bad.txt ]; }",
    );
    sandbox.release("group-go");
    let finished = started(&sandbox, &goal).wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said = "b, c, d: merged together, the goals fail on the merged tree; merging fewer of them at a time";
    assert!(finished.stdout.contains(said), "{finished:?}");
    let trees = trees(&sandbox);
    let expected = ["Merge plan a", "Merge plans b, c and d", "Merge plan b", "Merge plan c"];
    assert_eq!(trees[..4], expected, "{trees:?}");
    assert_verified(&sandbox, "! [ -e bad.txt ]", &["a", "b", "c", "d"]);
    assert_tidy(&sandbox);
}

#[test]
fn a_plan_in_conflict_with_its_group_is_left_out_and_comes_next() {
    let line = "if [ $task = repair ]; then sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt; \
                else echo $plan >> shared.txt; fi";
    let (sandbox, goal) = four([OWN_FILE, line, line, OWN_FILE], "! grep -q '^<<<' shared.txt");
    let finished = started(&sandbox, &goal).wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(trees(&sandbox)[..2], ["Merge plan a", "Merge plans b and d"]);
    assert!(
        finished.stdout.contains("c: conflicts with the target in shared.txt"),
        "{finished:?}"
    );
    assert_eq!(show(&sandbox, "shared.txt"), "base\nc\nb\n");
    assert_verified(&sandbox, "true", &["a", "b", "c", "d"]);
    assert_tidy(&sandbox);
}

#[test]
fn a_batch_that_is_killed_while_it_verifies_a_group_merges_it_once() {
    let (sandbox, goal) = four([OWN_FILE; 4], "true");
    let running = started(&sandbox, &goal);
    wait_until(SOON, "the group is verified", || {
        (trees(&sandbox).len() == 2).then_some(())
    });
    running.signal(Signal::SIGKILL);
    running.wait(SOON);
    sandbox.release("group-go");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_verified(&sandbox, "true", &["a", "b", "c", "d"]);
    assert_eq!(history(&sandbox, &target(&sandbox)).len(), 2);
    assert_tidy(&sandbox);
}
