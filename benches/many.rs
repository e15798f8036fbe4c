//! The overhead of `ralph many` for each plan, and its speed-up from running plans in parallel.

mod support;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use support::{
    numbers::Times,
    report::{Row, title},
    scratch::{Scratch, printed},
};

const PLANS: usize = 20;
const WAITING: usize = 8;
const JOBS: u32 = 2;
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
    let one_by_one = alone(&scratch, &plans);
    let batch = batch(&scratch, &plans, 1);
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
    let one_by_one = alone(&scratch, waiting);
    let batch = self::batch(&scratch, waiting, JOBS);
    Row::new("the batch", batch)
        .beside("one after the other", one_by_one)
        .at_most(one_by_one.div_f64(OF_JOBS * f64::from(JOBS)))
        .print();
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
fn alone(scratch: &Scratch, plans: &[String]) -> Duration {
    let before = scratch.git(["rev-parse", "HEAD"]);
    let start = Instant::now();
    for plan in plans {
        let args = ["--headless", "--adapter", "bench", "--plan", plan];
        printed(&mut scratch.ralph(args));
    }
    let took = start.elapsed();
    scratch.git(["reset", "--quiet", "--hard", before.trim()]);
    took
}

/// Returns the time of a batch of the plans, until all are merged.
fn batch(scratch: &Scratch, plans: &[String], jobs: u32) -> Duration {
    let start = Instant::now();
    let mut many = scratch.ralph(["many", "--adapter", "bench", "--jobs", &jobs.to_string()]);
    printed(many.args(plans));
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
