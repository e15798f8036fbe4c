//! Many plans at once: they run side by side, are merged one after the other, and nothing unverified ever reaches the
//! target.

mod board;
mod changes;
mod clean;
mod field;
mod groups;
mod kills;
mod limits;
mod merges;
mod planted;
mod resumed;
mod sections;
mod tests_gate;
mod trees;

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{
    SOON, Sandbox,
    batches::{batch, many, sandbox_in, status, target},
    running::Program,
    wait_until,
};

/// Ends at once, commits the first half of its tasks and leaves the rest to the merge.
const WORKER: &str = "echo \"$n\" >> \"$plan.txt\"; tick; [ \"$n\" -gt 1 ] || commit \"Work of $plan\"; over done";

/// Writes to a file that all plans write to, and resolves conflicts by keeping both sides.
const QUARRELLER: &str = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt
else
    echo "$plan" >> shared.txt
fi
tick; over done"#;

/// Leaves a conflict unresolved and claims to be done.
const STUBBORN: &str = "grep -q -- '- \\[ \\] Merge' \"$RALPH_PLAN\" || echo \"$plan\" >> shared.txt; tick; over done";

fn sandbox(agent: &str, plans: &[&str]) -> Sandbox {
    sandbox_in(Sandbox::new(), agent, plans)
}

/// Every commit that the target pointed to in this batch, the oldest first.
fn history(sandbox: &Sandbox, target: &str) -> Vec<String> {
    let args = ["rev-list", "--first-parent", "--reverse", &format!("main..{target}")];
    sandbox.git(args).lines().map(str::to_owned).collect()
}

/// Runs `goal` on the files of every commit that the target pointed to, and checks that each plan was merged once.
#[track_caller]
fn assert_verified(sandbox: &Sandbox, goal: &str, plans: &[&str]) {
    let target = target(sandbox);
    let commits = history(sandbox, &target);
    for commit in &commits {
        let script = format!(
            "rm -rf ../look && mkdir ../look && git archive {commit} | tar -x -C ../look && cd ../look && {goal}"
        );
        let looked = sandbox.program("sh").args(["-c", &script]).run(SOON);
        assert_eq!(
            looked.code(),
            Some(0),
            "{commit} is in the target and fails: {looked:?}"
        );
    }
    let mut merged = merged_plans(sandbox, &target);
    merged.sort();
    let mut plans: Vec<&str> = plans.to_vec();
    plans.sort_unstable();
    assert_eq!(merged, plans);
}

/// The plans in the merges of the target, the latest merge first. Plans that were verified together have one merge.
pub(crate) fn merged_plans(sandbox: &Sandbox, target: &str) -> Vec<String> {
    let messages = sandbox.git(["log", "--first-parent", "--format=%b", &format!("main..{target}")]);
    let branches = messages.lines().filter_map(|line| line.strip_prefix("Branch: "));
    let names = branches.map(|branch| branch.rsplit('/').next().unwrap_or(branch).to_owned());
    names.collect()
}

/// Checks that only the target is left of the batch.
#[track_caller]
fn assert_tidy(sandbox: &Sandbox) {
    let target = target(sandbox);
    let branches = sandbox.git(["branch", "--list", "ralph/*", "--format=%(refname:short)"]);
    assert_eq!(branches.trim(), target, "{:#}", status(sandbox)["plans"]);
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
    let trees = sandbox.state().join("ralph/worktrees");
    let left: Vec<PathBuf> =
        fs::read_dir(&trees).map_or_else(|_| Vec::new(), |all| all.map(|one| one.unwrap().path()).collect());
    assert_eq!(left, Vec::<PathBuf>::new());
    sandbox.assert_clean();
    sandbox.waits_until_nothing_runs();
}

fn show(sandbox: &Sandbox, path: &str) -> String {
    sandbox.git(["show", &format!("{}:{path}", target(sandbox))])
}

#[test]
fn three_plans_side_by_side_end_in_one_verified_target() {
    let goal = "test $(cat *.txt | wc -l) -ge 3";
    let sandbox = sandbox(WORKER, &["api", "ui", "docs"]);
    sandbox.write("notes.txt", "not committed\n");
    let args = [
        "api.md",
        "ui.md",
        "docs.md",
        "--jobs",
        "2",
        "--goal",
        &format!("all={goal}"),
    ];
    let finished = batch(&sandbox, &args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for line in [
        "3 plans, 2 at a time",
        "api: done (passed)",
        "docs: merged (passed);",
        "done: 3 of 3 plans merged into `ralph/",
    ] {
        assert!(finished.stdout.contains(line), "{line}: {finished:?}");
    }
    assert!(finished.stderr.contains("warning: uncommitted changes"), "{finished:?}");
    fs::remove_file(sandbox.project().join("notes.txt")).unwrap();
    assert_verified(&sandbox, goal, &["api", "ui", "docs"]);
    assert_tidy(&sandbox);
    // Uncommitted work of the agent is merged as well.
    assert_eq!(show(&sandbox, "ui.txt"), "1\n2\n");
    assert_eq!(show(&sandbox, "docs.md").matches("[x]").count(), 2);
    let status = status(&sandbox);
    assert_eq!(status["running"], false);
    for plan in status["plans"].as_array().unwrap() {
        assert_eq!(
            (&plan["phase"]["type"], &plan["tasks"]["done"]),
            (&"merged".into(), &2.into()),
            "{plan}"
        );
    }
    let table = many(&sandbox, "status").run(SOON);
    assert!(table.stdout.contains("over; 3 of 3 merged"), "{table:?}");
    let report = many(&sandbox, "report").run(SOON);
    for line in [
        "done: 3 of 3 plans merged · 6 iterations",
        "ui (ui.md)\n  goal all: passed\n",
        " Work of ui\n",
    ] {
        assert!(report.stdout.contains(line), "{line}: {report:?}");
    }
    many(&sandbox, "report --format json --out ../report.json").run(SOON);
    let written = fs::read_to_string(sandbox.project().with_file_name("report.json")).unwrap();
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written["plans"][2]["runs"][0]["totals"]["tasksDone"], 2, "{written}");
    let runs = sandbox.ralph(["runs", "--all"]).run(SOON);
    assert_eq!(runs.stdout.matches("done (passed)").count(), 3, "{runs:?}");
    let again = many(&sandbox, "resume").run(SOON);
    assert_eq!(
        (again.code(), again.stdout.contains("nothing to resume")),
        (Some(0), true),
        "{again:?}"
    );
}

#[test]
fn two_that_conflict_are_merged_after_a_task_for_the_agent_of_the_second() {
    let sandbox = sandbox(QUARRELLER, &["api", "ui"]);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("conflicts with the target in shared.txt"),
        "{finished:?}"
    );
    let shared = show(&sandbox, "shared.txt");
    let mut lines: Vec<&str> = shared.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["api", "api", "base", "ui", "ui"]);
    assert_verified(&sandbox, "! grep -q '<<<<' shared.txt", &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn eight_that_add_a_line_at_one_place_are_all_merged() {
    let agent = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt
else
    echo "$plan" >> shared.txt
    tick
fi
tick; over done"#;
    let plans = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let sandbox = sandbox(agent, &plans);
    let files = plans.map(|plan| format!("{plan}.md"));
    let mut args: Vec<&str> = files.iter().map(String::as_str).collect();
    args.extend(["--jobs", "8"]);
    let finished = batch(&sandbox, &args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let shared = show(&sandbox, "shared.txt");
    let mut lines: Vec<&str> = shared.lines().filter(|line| *line != "base").collect();
    lines.sort_unstable();
    assert_eq!(lines, plans);
    assert_verified(&sandbox, "! grep -q '<<<<' shared.txt", &plans);
    assert_tidy(&sandbox);
}

#[test]
fn two_that_pass_and_fail_together_are_merged_after_a_task() {
    let agent = "if grep -q -- '- \\[ \\] Merge' \"$RALPH_PLAN\"; then rm other.* ; touch other.$plan; else touch \"other.$plan\"; fi; tick; over done";
    let sandbox = sandbox(agent, &["api", "ui"]);
    let goal = "test $(ls other.* 2>/dev/null | wc -l) -le 1";
    let finished = batch(
        &sandbox,
        &["api.md", "ui.md", "--jobs", "2", "--goal", &format!("one={goal}")],
    )
    .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("the goals fail on the merged tree"),
        "{finished:?}"
    );
    assert_verified(&sandbox, goal, &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn what_cannot_be_merged_after_two_tasks_is_left_and_named_and_can_be_resolved_by_hand() {
    let sandbox = sandbox(STUBBORN, &["api", "ui"]);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("1 of 2 plans merged"), "{finished:?}");
    let status = status(&sandbox);
    let plans = status["plans"].as_array().unwrap();
    let kept = plans
        .iter()
        .find(|plan| plan["phase"]["type"] == "kept")
        .expect("one is kept");
    assert_eq!(
        (&kept["phase"]["why"]["type"], &kept["tasksGiven"]),
        (&"not-merged".into(), &2.into()),
        "{kept}"
    );
    let branch = kept["branch"].as_str().unwrap();
    assert!(finished.stderr.contains(&format!("..{branch}` shows")), "{finished:?}");
    let report = many(&sandbox, "report --format markdown").run(SOON);
    for line in [
        "over: 1 of 2 plans merged",
        "not merged: conflict",
        &format!("..{branch}` shows what it did\n"),
    ] {
        assert!(report.stdout.contains(line), "{line}: {report:?}");
    }
    assert_eq!(sandbox.git(["branch", "--list", branch]).lines().count(), 1);
    // The user resolves the conflict.
    let tree = Path::new(kept["workTree"].as_str().expect("its work tree stays"));
    fs::write(tree.join("shared.txt"), "resolved\n").unwrap();
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_eq!(show(&sandbox, "shared.txt"), "resolved\n");
    assert_tidy(&sandbox);
}

#[test]
fn a_target_that_moves_meanwhile_is_not_overruled() {
    let sandbox = sandbox(WORKER, &["api"]);
    sandbox.git(["branch", "trunk"]);
    // The script moves the target only on the merged tree, where no branch is checked out, and only once.
    let script = "if ! git symbolic-ref -q HEAD >/dev/null && ! test -e \"$(git rev-parse --git-common-dir)/moved\"; then \
                  touch \"$(git rev-parse --git-common-dir)/moved\"; \
                  git update-ref refs/heads/trunk $(git commit-tree -p trunk -m Elsewhere trunk^{tree}); fi";
    sandbox.write("goal.sh", script);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Goal"]);
    sandbox.git(["branch", "--force", "trunk", "main"]);
    let finished = batch(&sandbox, &["api.md", "--into", "trunk", "--goal", "moves=sh goal.sh"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("`trunk` moved meanwhile; merging again"),
        "{finished:?}"
    );
    let log = sandbox.git(["log", "--first-parent", "--format=%s", "main..trunk"]);
    assert_eq!(log, "Merge plan api\nElsewhere\n");
}

#[test]
fn a_branch_that_is_checked_out_clean_is_moved_with_its_files() {
    let sandbox = sandbox(WORKER, &["api"]);
    let finished = batch(&sandbox, &["api.md", "--into", "main"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("api.txt").as_deref(), Some("1\n2\n"));
    sandbox.assert_clean();
}

#[test]
fn a_branch_that_becomes_dirty_is_left_alone_until_its_changes_are_committed() {
    let agent = "if [ \"$n\" = 1 ]; then await go; fi; echo x > api.txt; tick; over done";
    let sandbox = sandbox(agent, &["api"]);
    let running = batch(&sandbox, &["api.md", "--into", "main"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: running on"));
    sandbox.write("shared.txt", "mine\n");
    sandbox.release("go");
    running.wait_for_line(SOON, |line| {
        line.contains("api: waits until the target can be moved: ") && line.contains("has uncommitted changes")
    });
    assert_eq!(sandbox.read("shared.txt").as_deref(), Some("mine\n"));
    running.signal(Signal::SIGINT);
    let stopped = running.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    let resumed = many(&sandbox, "resume").start();
    resumed.wait_for_line(SOON, |line| line.contains("api: waits until the target can be moved"));
    sandbox.git(["commit", "--quiet", "--all", "--message", "Mine"]);
    let finished = resumed.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(finished.stdout.matches("waits until").count(), 1, "{finished:?}");
    let files = (sandbox.read("shared.txt"), sandbox.read("api.txt"));
    assert_eq!(files, (Some("mine\n".to_owned()), Some("x\n".to_owned())));
}

#[test]
fn a_plan_whose_name_begins_with_a_dash_is_run_as_any_other() {
    let sandbox = sandbox("echo $n >> made.txt; tick; over done", &["-dash"]);
    let finished = batch(&sandbox, &["./-dash.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_verified(&sandbox, "test -s made.txt", &["dash"]);
}

#[test]
fn a_run_that_cannot_start_is_left_with_its_error_as_the_reason() {
    let sandbox = sandbox("over done", &["api"]);
    let finished = many(&sandbox, "api.md --adapter nowhere").run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(
        finished
            .stdout
            .contains("api: not merged: did not run: there is no adapter `nowhere`"),
        "{finished:?}"
    );
}

#[test]
fn what_an_agent_commits_on_a_branch_of_its_own_is_merged_as_well() {
    let agent = "git checkout --quiet -b mine-$plan-$n; echo $n >> $plan.txt; tick; commit Mine; over done";
    let sandbox = sandbox(agent, &["api"]);
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(show(&sandbox, "api.txt"), "1\n2\n");
    assert_verified(&sandbox, "test -s api.txt", &["api"]);
}

#[test]
fn one_plan_is_cancelled_and_the_others_go_on() {
    let agent = "[ $plan != ui ] || await never; tick; touch $plan.txt; over done";
    let sandbox = sandbox(agent, &["api", "ui", "docs"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "docs.md", "--jobs", "1"]).start();
    running.wait_for_line(SOON, |line| line.contains("ui: running on"));
    let second = batch(&sandbox, &["docs.md"]).run(SOON);
    assert_eq!(second.code(), Some(5), "{second:?}");
    let cancelled = many(&sandbox, "cancel ui.md").run(SOON);
    assert_eq!(cancelled.code(), Some(0), "{cancelled:?}");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("ui: not merged: cancelled"), "{finished:?}");
    assert_verified(&sandbox, "true", &["api", "docs"]);
    sandbox.waits_until_nothing_runs();
    let unknown = many(&sandbox, "cancel iu").run(SOON);
    assert_eq!(unknown.code(), Some(2), "{unknown:?}");
}

#[test]
fn a_plan_that_is_cancelled_while_no_batch_works_does_not_go_on_with_it() {
    let agent = "[ $plan != ui ] || await never; tick; touch $plan.txt; over done";
    let sandbox = sandbox(agent, &["api", "ui"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: merged"));
    running.kill();
    running.wait(SOON);
    sandbox.waits_until_nothing_runs();
    for _ in 0..2 {
        let cancelled = many(&sandbox, "cancel ui").run(SOON);
        assert_eq!(cancelled.code(), Some(0), "{cancelled:?}");
    }
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(1), "{resumed:?}");
    assert!(resumed.stdout.contains("ui: not merged: cancelled"), "{resumed:?}");
    assert_verified(&sandbox, "true", &["api"]);
}

#[test]
fn an_interrupted_batch_resumes_its_runs() {
    let agent = "[ \"$n\" = 1 ] || await go; echo $n >> $plan.txt; tick; over done";
    let sandbox = sandbox(agent, &["api", "ui"]);
    let running = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).start();
    let trees = || {
        let plans = status(&sandbox)["plans"].as_array().cloned().unwrap_or_default();
        plans.iter().all(|plan| plan["iterations"] == 2).then_some(())
    };
    running.wait_for_line(SOON, |line| line.contains("ui: running on"));
    wait_until(SOON, "second iterations", trees);
    running.signal(Signal::SIGINT);
    let stopped = running.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    sandbox.waits_until_nothing_runs();
    sandbox.release("go");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_verified(&sandbox, "test $(cat shared.txt) = base", &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn an_agent_neither_cancels_nor_resumes_the_batch_that_it_works_in() {
    let agent = format!(
        r#"
project=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)")
for call in "cancel api" cancel resume clean; do
    {ralph} many $call >> "$HOME/said" 2>&1; echo "tree $?" >> "$HOME/said"
    (cd "$project" && {ralph} many $call) >> "$HOME/said" 2>&1; echo "there $?" >> "$HOME/said"
    (cd "$project" && env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" {ralph} many $call) >> "$HOME/said" 2>&1
    echo "bare $?" >> "$HOME/said"
done
tick; tick; touch api.txt; over done"#,
        ralph = env!("CARGO_BIN_EXE_ralph")
    );
    let sandbox = sandbox(&agent, &["api"]);
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    let said = sandbox.read_home("said").unwrap();
    assert_eq!(finished.code(), Some(0), "{finished:?}: {said}");
    let why = "`ralph many` was called from within the run; agents may not call this";
    assert_eq!(said.matches(why).count(), 12, "{said}");
    for place in ["tree 1", "there 1", "bare 1"] {
        assert_eq!(said.matches(place).count(), 4, "{said}");
    }
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &str, code: i32, said: &str) {
    let finished = batch(sandbox, &args.split_whitespace().collect::<Vec<_>>()).run(SOON);
    assert_eq!(finished.code(), Some(code), "{args}: {finished:?}");
    assert!(finished.stderr.contains(said), "{args}: {finished:?}");
    assert!(finished.stderr.contains("hint: "), "{args}: {finished:?}");
    assert_eq!(finished.stdout, "", "{args}");
    if sandbox.project().join(".git").exists() {
        assert_eq!(sandbox.git(["branch", "--list", "ralph/*"]), "", "{args}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_starts() {
    let sandbox = sandbox(WORKER, &["api", "ui"]);
    sandbox.write("empty.md", "");
    sandbox.write("done.md", "- [x] One\n");
    sandbox.write("lost.md", "---\nafter: [nobody]\n---\n- [ ] One\n");
    sandbox.write("a.md", "---\nafter: b\n---\n- [ ] One\n");
    sandbox.write("b.md", "---\nafter: [a]\n---\n- [ ] One\n");
    sandbox.write("odd.md", "---\nafter: {a: b}\n---\n- [ ] One\n");
    refused(&sandbox, "", 2, "no plan is named");
    let misplaced = "put `resume` first: `ralph many resume …`";
    refused(&sandbox, "--max-cost-usd 5 resume", 2, misplaced);
    refused(&sandbox, "api.md ./api.md", 2, "api.md is given twice");
    refused(&sandbox, "api.md gone.md", 3, "gone.md: there is no such plan");
    refused(&sandbox, "empty.md", 3, "empty.md: ");
    refused(&sandbox, "done.md", 3, "done.md: every task is done");
    refused(&sandbox, "../home/x.md", 3, "lies outside of the project");
    refused(&sandbox, "lost.md", 3, "`after` names `nobody`");
    refused(&sandbox, "a.md b.md", 3, "plans wait for each other: a → b → a");
    refused(&sandbox, "odd.md", 3, "odd.md: line 2: `after` takes names");
    refused(&sandbox, "api.md --into nowhere", 2, "there is no such branch");
    refused(&sandbox, "api.md --into no..where", 2, "not the name of a branch");
    refused(&sandbox, "api.md --plan ui.md", 2, "`--plan` names one plan");
    sandbox.write("later.md", "- [ ] One\n");
    refused(&sandbox, "later.md --into main", 1, "later.md is not committed");
    sandbox.write("shared.txt", "changed\n");
    refused(&sandbox, "api.md --into main", 1, "has uncommitted changes");
    sandbox.git(["checkout", "--quiet", "shared.txt"]);
    sandbox.git(["branch", "ralph"]);
    refused(&sandbox, "api.md", 1, "a branch is named `ralph`");
    sandbox.git(["branch", "--delete", "ralph"]);
    let nothing = many(&sandbox, "status").run(SOON);
    assert_eq!(nothing.code(), Some(1), "{nothing:?}");
    assert!(
        nothing.stderr.contains("there is no batch in this project"),
        "{nothing:?}"
    );
}

#[test]
fn a_project_that_no_work_tree_can_begin_with_is_refused() {
    let sandbox = Sandbox::without_git();
    refused(&sandbox, "PLAN.md", 1, "not in a git repository");
    sandbox.git(["init", "--quiet"]);
    refused(&sandbox, "PLAN.md", 1, "has no commit yet");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Start"]);
    sandbox.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "./.git",
        "part",
    ]);
    sandbox.git(["commit", "--quiet", "--message", "Part"]);
    refused(&sandbox, "PLAN.md", 1, "has submodules");
}

#[test]
fn a_plan_begins_with_what_it_waits_for_in_a_shallow_clone_and_below_the_root_as_well() {
    let sandbox = sandbox(
        "[ $plan != ui ] || cat below/api.txt > seen.txt 2>/dev/null || cat api.txt > seen.txt; echo done > $plan.txt; tick; over done",
        &[],
    );
    sandbox.write("below/api.md", "- [ ] One\n");
    sandbox.write("below/ui.md", "---\nafter: api\n---\n- [ ] One\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Below"]);
    let origin = format!("file://{}", sandbox.project().display());
    sandbox.git(["clone", "--quiet", "--depth", "1", &origin, "../clone"]);
    let below = sandbox.project().with_file_name("clone").join("below");
    let run = |args: &str| many(&sandbox, args).current_dir(&below).run(SOON);
    let finished = run("--adapter script ui.md api.md --jobs 2");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let status: Value = serde_json::from_str(&run("status --json").stdout).unwrap();
    let seen = format!("{}:below/seen.txt", status["target"].as_str().unwrap());
    let shown = sandbox
        .program("git")
        .args(["show", &seen])
        .current_dir(&below)
        .run(SOON);
    assert_eq!(shown.stdout, "done\n", "{shown:?}");
}
