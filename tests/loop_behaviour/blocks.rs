//! Agents that cannot continue without an answer of the user.

use ralph_core::event::{Event, IterationEvent, RunEvent, SteeringKind, StopReason, StopRequest, UserCommand};

use super::{reason, said};
use crate::harness::{
    SOON, events,
    in_process::{FunctionAgent, LoopProject},
};

const BLOCKED: &str = "---RALPH_STATUS---\nSTATUS: BLOCKED\nREASON: Which key do I use?\n---END_RALPH_STATUS---";

#[tokio::test(start_paused = true)]
async fn a_message_answers_a_blocked_task_which_is_then_worked_on_again() {
    let project = LoopProject::new();
    project.plan(2);
    let agent = FunctionAgent::jsonl(|turn| async move {
        match turn.n {
            1 => return turn.over(BLOCKED),
            2 => {
                turn.edit_plan(|plan| plan.replace("- [ ] Task 2", "- [x] Task 2"));
                turn.said("ready");
                turn.wait_for("go").await;
            }
            _ => turn.work(),
        }
        turn.over("ok");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready")).await;
    let second = project.prompt(2);
    assert!(
        second.contains("\"Task 1\" is set aside until the user answers: Which key do I use?"),
        "{second}"
    );
    running.steer(SteeringKind::Next, "the blue one").await;
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let tasks: Vec<Option<&str>> = events(&records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Started { task, .. }) => Some(task.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, [Some("Task 1"), Some("Task 2"), Some("Task 1")]);
    assert!(project.prompt(3).contains("the blue one"), "{}", project.prompt(3));
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("blocked: Which key do I use?"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_others_go_on_and_the_end_is_the_question() {
    let project = LoopProject::new();
    project.plan(3);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            return turn.over(BLOCKED);
        }
        let task = format!("Task {}", turn.n);
        turn.edit_plan(|plan| plan.replace(&format!("- [ ] {task}"), &format!("- [x] {task}")));
        turn.over("ok");
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    let question = "Which key do I use?".to_owned();
    assert_eq!(
        *reason(&finished.records()),
        StopReason::Blocked {
            question: question.into()
        }
    );
    assert_eq!(
        project.read("PLAN.md").as_deref(),
        Some("- [x] Task 1\n- [ ] Task 2\n- [x] Task 3\n")
    );
}

#[tokio::test(start_paused = true)]
async fn the_plain_line_that_the_prompt_asks_for_blocks_with_any_agent() {
    const WORDS: &str = "I looked everywhere.\nRALPH BLOCKED: Which key do I use?";
    for agent in [
        FunctionAgent::terminal(|turn| async move { turn.print(&format!("{WORDS}\n")) }),
        FunctionAgent::jsonl(|turn| async move { turn.over(WORDS) }),
    ] {
        let project = LoopProject::new();
        project.plan(1);
        let finished = project.looping(&agent).run().await;
        assert_eq!(finished.code(), Some(8), "{finished:?}");
        let question = "Which key do I use?".to_owned();
        assert_eq!(
            *reason(&finished.records()),
            StopReason::Blocked {
                question: question.into()
            }
        );
        assert!(project.prompt(1).contains("RALPH BLOCKED: and your question"));
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_blocked_is_not_done_though_every_box_is_ticked() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        turn.over(BLOCKED);
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(8), "{finished:?}");
}

#[tokio::test(start_paused = true)]
async fn a_blocked_run_that_nobody_watches_is_answered_by_steer_and_resumed() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            return turn.over(BLOCKED);
        }
        turn.work();
        turn.over("ok");
    });
    let blocked = project.looping(&agent).run().await;
    assert_eq!(blocked.code(), Some(8), "{blocked:?}");
    let Some(Event::Run(RunEvent::Stopped { hints, .. })) = blocked.records().pop().map(|record| record.event) else {
        panic!("no end")
    };
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    assert!(hints[0].contains("answer with `ralph answer"), "{hints:?}");
    let steered = project.ralph(["steer", "the", "blue", "one"]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{steered:?}");
    assert!(
        steered.stdout.contains("message 1 is queued") && steered.stdout.contains("`ralph continue` delivers it"),
        "{steered:?}"
    );
    let status = project.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("1 message waits for `ralph continue`") && status.contains("the blue one"),
        "{status}"
    );
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(project.prompt(2).contains("the blue one"), "in the same run");
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("2 iterations") && report.contains("done"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn each_question_of_a_blocked_run_is_answered_by_its_number_after_the_end_and_told_once() {
    let project = LoopProject::new();
    project.plan(2);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n <= 2 {
            return turn.over(BLOCKED);
        }
        turn.work();
        turn.over("ok");
    });
    let blocked = project.looping(&agent).run().await;
    assert_eq!(blocked.code(), Some(8), "{blocked:?}");
    let asks = project.ralph(["asks"]).run(SOON).stdout;
    for number in [1, 2] {
        let line = format!("{number}: Which key do I use? (unanswered; your answer goes into the next prompt)");
        assert!(asks.contains(&line), "{asks}");
    }
    let unknown = project.ralph(["answer", "3", "blue"]).run(SOON);
    assert!(unknown.stderr.contains("there is no question 3"), "{unknown:?}");
    let first = project.ralph(["answer", "1", "the blue one"]).run(SOON);
    assert_eq!(first.code(), Some(0), "{first:?}");
    let asks = project.ralph(["asks"]).run(SOON).stdout;
    assert!(asks.starts_with("2: "), "the other is still open: {asks}");
    let again = project.ralph(["answer", "1", "the red one"]).run(SOON);
    assert_eq!(again.code(), Some(1), "{again:?}");
    assert_eq!(project.ralph(["answer", "2", "the red one"]).run(SOON).code(), Some(0));
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = project.prompt(3);
    for answer in ["the blue one", "the red one"] {
        let told = format!("You asked: Which key do I use?\n  The user answers: {answer}");
        assert_eq!(prompt.matches(&told).count(), 1, "{prompt}");
    }
    assert!(!project.prompt(4).contains("You asked"), "once: {}", project.prompt(4));
}

#[tokio::test(start_paused = true)]
async fn a_message_for_a_run_that_was_stopped_is_queued_and_one_for_no_run_is_refused() {
    let project = LoopProject::new();
    project.plan(1);
    let nowhere = project.ralph(["steer", "hello"]).run(SOON);
    assert_eq!(nowhere.code(), Some(1), "{nowhere:?}");
    assert!(
        nowhere.stderr.contains("no runs in this project yet") && nowhere.stderr.contains("\nhint: "),
        "{nowhere:?}"
    );
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        if turn.n == 1 {
            turn.hang().await;
        }
        turn.work();
        turn.over("ok");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(said("ready")).await;
    let stop = StopRequest::Graceful;
    running.command(UserCommand::Stop { stop }).await.unwrap();
    assert_eq!(running.wait().await.code(), Some(130));
    assert_eq!(project.ralph(["steer", "use tabs"]).run(SOON).code(), Some(0));
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(project.prompt(2).contains("use tabs"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_used_up_a_limit_takes_no_message_and_says_what_does() {
    let project = LoopProject::new();
    project.plan(2);
    let finished = project.looping(&FunctionAgent::worker()).max_iterations(1).run().await;
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let steered = project.ralph(["steer", "more"]).run(SOON);
    assert_eq!(steered.code(), Some(1), "{steered:?}");
    assert!(
        steered
            .stderr
            .contains("reached its iteration limit: `ralph continue --iterations 1` allows more"),
        "{steered:?}"
    );
}
