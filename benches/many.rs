//! The overhead of `ralph many` for each plan, its speed-up from running plans in parallel, and what its merge queue adds
//! to them.

mod support;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use support::{
    numbers::Times,
    report::{self, Row, note, title},
    scratch::{Scratch, printed},
};

const PLANS: usize = 20;
const WAITING: usize = 8;
const JOBS: u32 = 2;
/// Plans whose merges are verified by a slow goal, and how many of them run at a time.
const QUEUED: usize = 30;
const QUEUED_JOBS: u32 = 4;
/// The variable with the seconds that the slow goal takes, and its default.
const GOAL_SECONDS: &str = "RALPH_BENCH_GOAL_SECONDS";
const DEFAULT_GOAL: Duration = Duration::from_secs(3);
/// Most of the best possible time.
const OF_BEST: f64 = 1.5;
const MOST_PER_PLAN: Duration = Duration::from_millis(150);
/// Least part of the ideal speed-up.
const OF_JOBS: f64 = 0.9;

/// Does the only task of its plan and commits it, after `WAIT` seconds.
const AGENT: &str = r#"
cat > /dev/null
sleep WAIT
sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
echo done > "work-$(basename "$RALPH_PLAN" .md).txt"
git add --all && git commit --quiet --message "Do it"
echo '{"type":"turn-ended","ok":true,"message":"Done."}'
"#;

fn main() {
    let scratch = Scratch::new(100);
    let plans = commit_plans(&scratch, PLANS);
    title(&format!("many plans, {PLANS} of one task each (100 files)"));
    scratch.add_shell_agent("ralph-jsonl", &AGENT.replace("WAIT", "0"));
    let one_by_one = alone(&scratch, &plans, &[]);
    let batch = batch(&scratch, &plans, 1, &[]);
    let add = work_trees(&scratch);
    let plan = u32::try_from(PLANS).expect("a few plans");
    Row::new(
        "added to a plan, one at a time",
        batch.saturating_sub(one_by_one) / plan,
    )
    .beside("git worktree add", add)
    .at_most(add + MOST_PER_PLAN)
    .print();
    title(&format!(
        "{WAITING} plans whose agents wait for a second, {JOBS} at a time"
    ));
    scratch.add_shell_agent("ralph-jsonl", &AGENT.replace("WAIT", "1"));
    let waiting = &plans[..WAITING];
    let one_by_one = alone(&scratch, waiting, &[]);
    let batch = self::batch(&scratch, waiting, JOBS, &[]);
    Row::new("the batch", batch)
        .beside("one after the other", one_by_one)
        .at_most(one_by_one.div_f64(OF_JOBS * f64::from(JOBS)))
        .print();
    queue();
    report::write("many");
}

/// Prints how long plans take whose goal is slow, beside the best possible: the plans by themselves, and one verification
/// of the last of them.
fn queue() {
    let seconds = std::env::var(GOAL_SECONDS)
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    let goal_takes = seconds.map_or(DEFAULT_GOAL, Duration::from_secs_f64);
    let scratch = Scratch::new(100);
    let plans = commit_plans(&scratch, QUEUED);
    scratch.add_shell_agent("ralph-jsonl", &AGENT.replace("WAIT", "0"));
    title(&format!(
        "{QUEUED} plans, {QUEUED_JOBS} at a time, with a goal of {:.0} s",
        goal_takes.as_secs_f64()
    ));
    let command = format!("check=sleep {}", goal_takes.as_secs_f64());
    let goal = ["--goal", &command];
    let one = alone(&scratch, &plans[..1], &goal);
    let rounds = u32::try_from(QUEUED).expect("a few plans").div_ceil(QUEUED_JOBS);
    let best = one * rounds + goal_takes;
    let batch = batch(&scratch, &plans, QUEUED_JOBS, &goal);
    Row::new("the batch, until all are merged", batch)
        .beside("the best possible", best)
        .at_most(best.mul_f64(OF_BEST))
        .print();
    let merges = scratch.git([
        "log",
        "--branches=ralph/*/target",
        "--oneline",
        "--merges",
        "--grep=^Merge plan",
    ]);
    note(&format!("  the goal ran on {} merged trees", merges.lines().count()));
}

/// Commits plans of one task each.
fn commit_plans(scratch: &Scratch, count: usize) -> Vec<String> {
    let plans: Vec<String> = (0..count).map(|number| format!("part-{number:02}.md")).collect();
    for plan in &plans {
        fs::write(scratch.project().join(plan), "- [ ] Do it\n").expect("a plan");
    }
    scratch.git(["add", "--all"]);
    scratch.git(["commit", "--quiet", "--message", "Plans"]);
    plans
}

/// Returns the time of the plans one after the other, without a batch.
fn alone(scratch: &Scratch, plans: &[String], more: &[&str]) -> Duration {
    let before = scratch.git(["rev-parse", "HEAD"]);
    let start = Instant::now();
    for plan in plans {
        let args = ["--headless", "--adapter", "bench", "--plan", plan];
        printed(scratch.ralph(args).args(more));
    }
    let took = start.elapsed();
    scratch.git(["reset", "--quiet", "--hard", before.trim()]);
    took
}

/// Returns the time of a batch of the plans, until all are merged.
fn batch(scratch: &Scratch, plans: &[String], jobs: u32, more: &[&str]) -> Duration {
    let start = Instant::now();
    let mut many = scratch.ralph(["many", "--adapter", "bench", "--jobs", &jobs.to_string()]);
    printed(many.args(plans).args(more));
    start.elapsed()
}

/// Returns the median time of `git worktree add` in the project.
fn work_trees(scratch: &Scratch) -> Duration {
    let trees: Vec<PathBuf> = (0..=PLANS)
        .map(|number| scratch.path(format!("tree-{number}")))
        .collect();
    let mut trees = trees.iter();
    let add = || {
        let tree = trees.next().expect("a tree for each round").display().to_string();
        scratch.git(["worktree", "add", "--quiet", "--detach", &tree]);
    };
    Times::of(PLANS, add).median()
}
