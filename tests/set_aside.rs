//! Tasks that the user sets aside while a run works.

use ralph_core::event::{Event, IterationEvent, Record};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished};

/// The task of each iteration.
fn tasks(records: &[Record]) -> Vec<&str> {
    let tasks = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { task, .. }) => Some(task.as_deref().unwrap_or("none")),
        _ => None,
    });
    tasks.collect()
}

/// Ticks the task of its prompt, once it is told to go on.
const WORKER: &str = r#"said "ready $n"; await go-$n
task=$(printf '%s\n' "$prompt" | sed -n '/^  [A-Z]/{s/^  //p;q}')
sed -i "s/- \[ \] $task/- [x] $task/" "$RALPH_PLAN"; over Ready."#;

fn sandbox(plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", plan);
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(WORKER));
    sandbox
}

fn plan(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.ralph(["plan"]).args(args).run(SOON)
}

#[test]
fn a_task_is_set_aside_while_the_run_works_and_the_run_is_done_without_it() {
    let sandbox = sandbox("- [ ] Read\n- [ ] Parse\n  - [ ] Tokens\n- [ ] Print {after=Parse}\n- [ ] Test it\n");
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 1\""));
    let done = plan(&sandbox, &["set-aside", "Pars"]);
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(
        done.stderr.contains("the plan has no open task that begins so"),
        "{done:?}"
    );
    let done = plan(&sandbox, &["set-aside", "Parse"]);
    assert_eq!(
        (done.code(), &*done.stdout),
        (Some(0), "you set aside: Parse\n"),
        "{done:?}"
    );
    let done = plan(&sandbox, &["set-aside", "Parse"]);
    assert!(done.stderr.contains("set aside already"), "{done:?}");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(status.contains("setAsideByUser"), "{status}");
    sandbox.release("go-1");
    sandbox.release("go-2");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = sandbox.journal();
    assert_eq!(tasks(&records), ["Read", "Test it"]);
    let told = "The user has set \"Parse\" aside. Leave it as it is; the work is done without it.";
    assert!(sandbox.prompt(2).contains(told), "{}", sandbox.prompt(2));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    for task in ["Parse", "Tokens", "Print"] {
        assert!(
            report.contains(&format!("set aside by you: {task}")),
            "{task}: {report}"
        );
        let hint = format!("set aside by you, and still open: {task}");
        assert!(report.contains(&hint), "{task}: {report}");
    }
    let late = plan(&sandbox, &["set-aside", "Parse"]);
    assert_eq!(late.code(), Some(1), "{late:?}");
}

#[test]
fn a_task_that_is_taken_back_is_worked_on_also_after_ralph_was_killed() {
    let sandbox = sandbox("- [ ] Read\n- [ ] Parse\n- [ ] Parse again\n");
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("\"ready 1\""));
    for task in ["Parse", "Parse again"] {
        assert_eq!(plan(&sandbox, &["set-aside", task]).code(), Some(0));
    }
    let done = plan(&sandbox, &["set-aside", "--undo", "Parse again"]);
    assert_eq!(
        (done.code(), &*done.stdout),
        (Some(0), "you took back: Parse again\n"),
        "{done:?}"
    );
    running.kill();
    _ = running.wait(SOON);
    for n in 1..=4 {
        sandbox.release(&format!("go-{n}"));
    }
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(tasks(&sandbox.journal()), ["Read", "Read", "Parse again"]);
    assert!(sandbox.read("PLAN.md").unwrap().contains("- [ ] Parse\n"));
}
