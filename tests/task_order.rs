//! The order of tasks that wait for others, come first or are optional, in runs of the real binary.

use ralph_core::event::{Event, IterationEvent, Record};

use crate::harness::{SOON, Sandbox, Script, events};

fn sandbox(plan: &str, agent: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", plan);
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(agent));
    sandbox
}

/// The task of each iteration.
fn tasks(records: &[Record]) -> Vec<&str> {
    let tasks = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { task, .. }) => Some(task.as_deref().unwrap_or("none")),
        _ => None,
    });
    tasks.collect()
}

/// Ticks the task of its prompt, which is the only line that is indented by two blanks.
const TICK: &str = r#"task=$(printf '%s\n' "$prompt" | sed -n '/^  [A-Z]/{s/^  //p;q}')
tick() { sed -i "s/- \[ \] $task/- [x] $task/" "$RALPH_PLAN"; }
"#;

#[test]
fn tasks_are_worked_on_in_the_order_that_the_plan_asks_for() {
    let sandbox = sandbox(
        "- [ ] Extra {optional}\n- [ ] Print {after=Parse}\n- [ ] Read\n- [ ] Parse {after=Read}\n- [ ] Urgent {priority=1}\n",
        &format!("{TICK}tick; over Ready."),
    );
    let next = sandbox.ralph(["plan", "--next"]).run(SOON).stdout;
    assert_eq!(next, "Urgent\n");
    let finished = sandbox.looping(["--max-iterations", "9"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        tasks(&finished.records()),
        ["Urgent", "Read", "Parse", "Print", "Extra"]
    );
    assert!(sandbox.prompt(2).contains("\n  Read\n"), "{}", sandbox.prompt(2));
}

#[test]
fn a_run_is_done_without_an_optional_task_at_its_limit_and_an_agent_makes_no_task_optional() {
    let sandbox = sandbox(
        "- [ ] Extra {optional}\n- [ ] Needed\n",
        &format!(
            "{TICK}case $n in 1) sed -i 's/Needed/Needed {{optional}}/' \"$RALPH_PLAN\" ;; 2) tick ;; esac; echo $n > file; over Ready."
        ),
    );
    let args = ["--max-iterations", "9", "--max-iterations-per-task", "2"];
    let finished = sandbox.looping(args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(tasks(&finished.records()), ["Needed", "Needed", "Extra", "Extra"]);
}

#[test]
fn tasks_that_wait_for_each_other_are_refused_before_the_start() {
    let sandbox = sandbox("- [ ] One {after=Two}\n- [ ] Two {after=One}\n", "over Ready.");
    let refused = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    let words = "PLAN.md: line 2, column 11: the tasks `One` and `Two` wait for each other";
    assert!(refused.stderr.contains(words), "{refused:?}");
}
