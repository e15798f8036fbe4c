//! Agents that cannot go on without a person.

use ralph::event::{Event, StopReason};

use super::{reason, said};
use crate::harness::{SOON, Sandbox, Script, events};

const BLOCKED: &str =
    r"over '---RALPH_STATUS---\nSTATUS: BLOCKED\nREASON: Which key do I use?\n---END_RALPH_STATUS---'";

#[test]
fn a_message_answers_a_blocked_task_which_is_then_worked_on_again() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(&format!(
        "case $n in 1) {BLOCKED}; exit;; 2) sed -i 's/- \\[ \\] Task 2/- [x] Task 2/' PLAN.md; said ready; await go;; \
         *) work;; esac; over ok"
    )));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    let second = sandbox.prompt(2);
    assert!(
        second.contains("\"Task 1\" is set aside until the user answers: Which key do I use?"),
        "{second}"
    );
    assert_eq!(sandbox.ralph(["steer", "the blue one"]).run(SOON).code(), Some(0));
    sandbox.let_go("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let tasks: Vec<Option<&str>> = events(&records)
        .filter_map(|event| match event {
            Event::IterationStarted { task, .. } => Some(task.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, [Some("Task 1"), Some("Task 2"), Some("Task 1")]);
    assert!(sandbox.prompt(3).contains("the blue one"), "{}", sandbox.prompt(3));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("blocked: Which key do I use?"), "{report}");
}

#[test]
fn without_an_answer_the_others_go_on_and_the_end_is_the_question() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl(&format!(
        "[ $n = 2 ] && {{ {BLOCKED}; exit; }}; sed -i \"s/- \\[ \\] Task $n/- [x] Task $n/\" PLAN.md; over ok"
    )));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    let question = "Which key do I use?".to_owned();
    assert_eq!(*reason(&finished.records()), StopReason::Blocked { question });
    assert_eq!(
        sandbox.read("PLAN.md").as_deref(),
        Some("- [x] Task 1\n- [ ] Task 2\n- [x] Task 3\n")
    );
}

#[test]
fn the_plain_line_that_the_prompt_asks_for_blocks_with_any_agent() {
    for script in [
        Script::terminal("echo 'I looked everywhere.'; echo 'RALPH BLOCKED: Which key do I use?'"),
        Script::jsonl(r"over 'I looked everywhere.\nRALPH BLOCKED: Which key do I use?'"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        sandbox.install(&script);
        let finished = sandbox.looping([] as [&str; 0]).run(SOON);
        assert_eq!(finished.code(), Some(8), "{finished:?}");
        let question = "Which key do I use?".to_owned();
        assert_eq!(*reason(&finished.records()), StopReason::Blocked { question });
        assert!(sandbox.prompt(1).contains("RALPH BLOCKED: and your question"));
    }
}

#[test]
fn who_is_blocked_is_not_done_though_every_box_is_ticked() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!("work; {BLOCKED}")));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(8), "{finished:?}");
}

#[test]
fn a_blocked_run_that_nobody_watches_is_answered_by_steer_and_resumed() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then {BLOCKED}; else work; over ok; fi"
    )));
    let blocked = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(blocked.code(), Some(8), "{blocked:?}");
    let Some(Event::RunStopped { hints, .. }) = blocked.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
    assert!(hints[0].contains("answer with `ralph steer"), "{hints:?}");
    let steered = sandbox.ralph(["steer", "the", "blue", "one"]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{steered:?}");
    assert!(
        steered.stdout.contains("message 1 is queued") && steered.stdout.contains("resumes the last run with it"),
        "{steered:?}"
    );
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("the next `ralph` resumes the last run") && status.contains("the blue one"),
        "{status}"
    );
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(sandbox.prompt(2).contains("the blue one"), "in the same run");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("2 iterations") && report.contains("done"), "{report}");
}

#[test]
fn a_message_for_a_run_that_was_stopped_is_queued_and_one_for_no_run_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let nowhere = sandbox.ralph(["steer", "hello"]).run(SOON);
    assert_eq!(nowhere.code(), Some(1), "{nowhere:?}");
    assert!(
        nowhere.stderr.contains("no runs in this project yet") && nowhere.stderr.contains("\nhint: "),
        "{nowhere:?}"
    );
    sandbox.install(&Script::jsonl("said ready; [ $n = 1 ] && await never; work; over ok"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, said("ready"));
    assert_eq!(sandbox.ralph(["stop"]).run(SOON).code(), Some(0));
    assert_eq!(running.wait(SOON).code(), Some(130));
    assert_eq!(sandbox.ralph(["steer", "use tabs"]).run(SOON).code(), Some(0));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(sandbox.prompt(2).contains("use tabs"));
}

#[test]
fn a_run_that_used_up_a_limit_takes_no_message_and_says_what_does() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::worker());
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let steered = sandbox.ralph(["steer", "more"]).run(SOON);
    assert_eq!(steered.code(), Some(1), "{steered:?}");
    assert!(
        steered.stderr.contains("used up its iterations") && steered.stderr.contains("starts a new one"),
        "{steered:?}"
    );
}
