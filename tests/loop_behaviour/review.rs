//! Reviews by an agent other than the author.

use ralph_core::event::{
    AgentEvent, ClaimEvent, Event, IterationEvent, Limits, Record, ReviewEvent, ReviewResult, ReviewSettings,
    ReviewWhen, Role, SteeringEvent, SteeringKind, StopReason, StopRequest, TaskEvent, TimeEvent, UserCommand, Worker,
};
use ralph_state::control::ToolCall;
use serde_json::json;

use super::{notices, reason, said};
use crate::harness::{
    SOON, events,
    in_process::{FinishedLoop, FunctionAgent, LoopProject, Looping},
};

const APPROVED: &str = "It is fine.\nREVIEW: approved";
const FOUND: &str = "Look.\nREVIEW: findings\n1. work.txt:1: a stub\n2. PLAN.md: no test";

/// An author that finishes a task in each iteration.
fn author() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        turn.work();
        turn.over("done");
    })
}

/// A reviewer that answers with `answer` of the iteration's number.
fn reviewer(answer: fn(u32) -> &'static str) -> FunctionAgent {
    FunctionAgent::jsonl(move |turn| async move {
        turn.over(answer(turn.n));
    })
}

fn review(when: ReviewWhen) -> ReviewSettings {
    ReviewSettings {
        by: Worker {
            adapter: "second".to_owned(),
            model: Some("sharp".to_owned()),
        },
        when,
        rounds: 2,
    }
}

fn looping<'a>(
    project: &'a LoopProject,
    author: &FunctionAgent,
    reviewer: &FunctionAgent,
    when: ReviewWhen,
) -> Looping<'a> {
    project
        .looping(author)
        .with_agent(&reviewer.clone().called("second"))
        .with(|settings| settings.review = Some(review(when)))
}

/// The purpose, agent and task of each iteration.
fn iterations(records: &[Record]) -> Vec<String> {
    let each = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started {
            adapter,
            model,
            task,
            role,
            ..
        }) => {
            let role = match role {
                Role::Work => "work".to_owned(),
                Role::Review { round } => format!("review {round}"),
            };
            let by = model
                .as_ref()
                .map_or(adapter.clone(), |model| format!("{adapter}/{model}"));
            Some(format!("{role} by {by}: {}", task.as_deref().unwrap_or("-")))
        }
        _ => None,
    });
    each.collect()
}

fn results(records: &[Record]) -> Vec<&'static str> {
    let each = events(records).filter_map(|event| match event {
        Event::Review(ReviewEvent::Concluded { result, .. }) => Some(match result {
            ReviewResult::Approved => "approved",
            ReviewResult::Findings { sent_back: true, .. } => "sent back",
            ReviewResult::Findings { sent_back: false, .. } => "disagrees",
            ReviewResult::NoAnswer => "no answer",
            ReviewResult::Failed => "failed",
            ReviewResult::Skipped => "skipped",
        }),
        _ => None,
    });
    each.collect()
}

fn assert_done(finished: &FinishedLoop) {
    assert_eq!(finished.code(), Some(0), "{:?}", finished.records());
}

#[tokio::test(start_paused = true)]
async fn each_finished_task_is_reviewed_and_findings_send_the_author_back_to_it() {
    let project = LoopProject::new();
    project.write("PLAN.md", "- [ ] a\n- [ ] b {model=big}\n");
    let author = FunctionAgent::jsonl(|turn| async move {
        let is_sent_back = turn.prompt.contains("was reviewed and is not accepted yet:\n\n  a\n");
        assert_eq!(is_sent_back, turn.n == 3, "{}", turn.prompt);
        assert_eq!(
            turn.prompt.contains("1. work.txt:1: a stub\n"),
            turn.n == 3,
            "{}",
            turn.prompt
        );
        if turn.n == 3 {
            turn.write("work.txt", "no stub");
            return turn.over("I fixed it.");
        }
        turn.work();
        turn.over("done");
    });
    let reviewer = FunctionAgent::jsonl(|turn| async move {
        assert_eq!(turn.resume, None);
        assert!(!turn.prompt.contains("<promise>"), "{}", turn.prompt);
        assert_eq!(turn.prompt.contains("> I fixed it."), turn.n == 4, "{}", turn.prompt);
        assert_eq!(
            turn.prompt.contains("- work.txt:1: a stub\n"),
            turn.n == 4,
            "{}",
            turn.prompt
        );
        turn.over(if turn.n == 2 { FOUND } else { APPROVED });
    });
    let finished = looping(&project, &author, &reviewer, ReviewWhen::Task)
        .max_iterations(3)
        .run()
        .await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        [
            "work by script: a",
            "review 1 by second/sharp: a",
            "work by script: a",
            "review 2 by second/sharp: a",
            "work by script/big: b",
            "review 1 by second/sharp: b",
        ],
        "a review is none of the iterations that are counted"
    );
    assert_eq!(results(&records), ["sent back", "approved", "approved"]);
    assert_eq!(notices(&records), ["the task asks for script/big"]);
    let report = project.ralph(["report"]).run(SOON).stdout;
    for needed in ["review", "2 findings", "1. work.txt:1: a stub", "approved"] {
        assert!(report.contains(needed), "`{needed}` is not in {report}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_end_one_review_decides_nothing_and_a_reviewer_that_disagrees_for_ever_is_outvoted() {
    let project = LoopProject::new();
    let author = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        turn.over(&format!("All done.\n{}", turn.promise()));
    });
    let finished = looping(&project, &author, &reviewer(|_| FOUND), ReviewWhen::End)
        .run()
        .await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(results(&records), ["sent back", "sent back", "disagrees"]);
    assert_eq!(
        iterations(&records),
        [
            "work by script: Write hello.txt",
            "work by script: Write world.txt",
            "review 1 by second/sharp: Write world.txt",
            "work by script: Write world.txt",
            "review 2 by second/sharp: Write world.txt",
            "work by script: Write world.txt",
            "review 3 by second/sharp: Write world.txt",
        ]
    );
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("the reviewer still disagrees"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn findings_in_free_form_reach_the_author_and_the_report() {
    let project = LoopProject::new();
    project.plan(1);
    let reviewer = FunctionAgent::jsonl(|turn| async move {
        turn.over(match turn.n {
            2 => "The name is wrong.\n\n- made.txt should be notes.txt\n",
            _ => APPROVED,
        });
    });
    let finished = looping(&project, &author(), &reviewer, ReviewWhen::Task).run().await;
    assert_done(&finished);
    assert_eq!(results(&finished.records()), ["sent back", "approved"]);
    let report = project.ralph(["report"]).run(SOON).stdout;
    for text in [project.prompt(3), report] {
        for found in ["The name is wrong.", "made.txt should be notes.txt"] {
            assert!(text.contains(found), "{text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_that_a_reviewer_claims_ticks_or_leaves_counts() {
    let project = LoopProject::new();
    project.write("PLAN.md", "- [ ] a\n- [ ] b\n- [ ] c\n");
    let reviewer = FunctionAgent::jsonl(|turn| async move {
        turn.edit_plan(|plan| plan.replace("[ ]", "[x]"));
        turn.write(".ralph-done", "");
        turn.over(&format!(
            "RALPH BLOCKED: which?\n{}\n{APPROVED}",
            "<promise>x</promise>"
        ));
    });
    let finished = looping(&project, &author(), &reviewer, ReviewWhen::Task)
        .promise("x")
        .run()
        .await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        [
            "work by script: a",
            "review 1 by second/sharp: a",
            "work by script: b",
            "review 1 by second/sharp: b",
            "work by script: c",
            "review 1 by second/sharp: c",
        ]
    );
    let undone = notices(&records)
        .iter()
        .filter(|told| told.contains("was restored"))
        .count();
    assert_eq!(undone, 2, "the last one had nothing to tick: {:?}", notices(&records));
    assert!(!project.project().join(".ralph-done").exists());
    assert!(!events(&records).any(|event| matches!(event, Event::Task(TaskEvent::Blocked { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_may_look_at_the_plan_and_every_call_that_would_change_the_run_is_refused_with_the_reason() {
    let project = LoopProject::new();
    let running = looping(&project, &author(), &waiting(), ReviewWhen::Task).start();
    running.wait_for_record(said("reviewing")).await;
    let looked = running.tool(ToolCall::Plan {}).await;
    assert!(
        !looked.refused && looked.text.contains("1 of 2 tasks done"),
        "{looked:?}"
    );
    let text = || "said by the reviewer".to_owned();
    for call in [
        ToolCall::ClaimDone { ticket: None },
        ToolCall::GoalsCheck { ticket: None },
        ToolCall::Blocked { reason: text() },
        ToolCall::Question {
            question: Some(text()),
            choices: Vec::new(),
            ticket: None,
        },
        ToolCall::Progress { note: text() },
        ToolCall::TaskAdd { task: text() },
    ] {
        let answer = running.tool(call.clone()).await;
        assert!(answer.refused, "{call:?}: {answer:?}");
        assert!(
            answer.text.starts_with("this session is a review: "),
            "{call:?}: {answer:?}"
        );
    }
    running.command(UserCommand::Skip).await.expect("a skip");
    let finished = running.wait().await;
    assert_done(&finished);
    let records = finished.records();
    assert!(
        !serde_json::to_string(&records)
            .unwrap()
            .contains("said by the reviewer")
    );
    assert!(!events(&records).any(|event| matches!(
        event,
        Event::Agent(AgentEvent::Called { .. }) | Event::Claim(ClaimEvent::Made { iteration: 2, .. })
    )));
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_that_fails_is_not_retried_and_after_three_times_not_asked_again() {
    let project = LoopProject::new();
    project.plan(5);
    let reviewer = FunctionAgent::jsonl(|turn| async move {
        match turn.n {
            2 => turn.failed(&json!({"kind": "auth"}), "log in"),
            4 => turn.failed(&json!({"kind": "rate-limited"}), "slow down"),
            _ => turn.over("Looks good to me!"),
        }
    });
    let finished = looping(&project, &author(), &reviewer, ReviewWhen::Task).run().await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(results(&records), ["failed", "failed", "no answer"]);
    assert_eq!(
        notices(&records),
        ["3 reviews by second failed in a row; reviews are off for the rest of this run"]
    );
    let work = iterations(&records)
        .iter()
        .filter(|what| what.starts_with("work"))
        .count();
    assert_eq!(work, 5);
    let waited = |event: &Event| matches!(event, Event::Time(TimeEvent::WaitStarted { .. }));
    assert!(!events(&records).any(waited), "nobody waits for a reviewer");
}

#[tokio::test(start_paused = true)]
async fn a_reviewer_that_is_limited_is_left_alone_until_it_is_back() {
    let project = LoopProject::new();
    project.plan(3);
    let slow = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 4 {
            tokio::time::sleep(std::time::Duration::from_secs(7_200)).await;
        }
        turn.work();
        turn.over("done");
    });
    let reviewer = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            let until_ms = turn.now_ms() + 3_600_000;
            return turn.failed(&json!({"kind": "rate-limited", "untilMs": until_ms}), "slow down");
        }
        turn.over(APPROVED);
    });
    let unlimited = |limits: &mut Limits| {
        limits.iteration_timeout_ms = None;
        limits.idle_timeout_ms = None;
    };
    let finished = looping(&project, &slow, &reviewer, ReviewWhen::Task)
        .with(|settings| unlimited(&mut settings.limits))
        .run()
        .await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(notices(&records), ["no review: second is limited"]);
    assert_eq!(results(&records), ["approved"]);
}

/// A reviewer that waits in its first iteration and approves in the others.
fn waiting() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        if turn.n == 2 {
            turn.said("reviewing");
            turn.hang().await;
        }
        turn.over(APPROVED);
    })
}

#[tokio::test(start_paused = true)]
async fn a_review_that_is_killed_is_repeated_and_a_run_that_is_stopped_in_it_goes_on_with_it() {
    let project = LoopProject::new();
    let running = looping(&project, &author(), &waiting(), ReviewWhen::Task).start();
    running.wait_for_record(said("reviewing")).await;
    running.kill().await;
    let running = looping(&project, &author(), &reviewer(|_| APPROVED), ReviewWhen::Task).start();
    let finished = running.wait().await;
    assert_done(&finished);
    assert_eq!(
        iterations(&finished.records()),
        [
            "review 1 by second/sharp: Write hello.txt",
            "work by script: Write world.txt",
            "review 1 by second/sharp: Write world.txt"
        ]
    );

    let project = LoopProject::new();
    let running = looping(&project, &author(), &waiting(), ReviewWhen::Task).start();
    running.wait_for_record(said("reviewing")).await;
    let stop = StopRequest::Graceful;
    running.command(UserCommand::Stop { stop }).await.expect("a stop");
    let finished = running.wait().await;
    assert_eq!(reason(&finished.records()), &StopReason::Requested);
    assert!(results(&finished.records()).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_review_can_be_skipped_and_a_message_goes_to_the_author_first() {
    let project = LoopProject::new();
    let running = looping(&project, &author(), &waiting(), ReviewWhen::Task).start();
    running.wait_for_record(said("reviewing")).await;
    running.command(UserCommand::Skip).await.expect("a skip");
    let finished = running.wait().await;
    assert_done(&finished);
    assert_eq!(results(&finished.records()), ["skipped", "approved"]);

    let project = LoopProject::new();
    let running = looping(&project, &author(), &waiting(), ReviewWhen::Task).start();
    running.wait_for_record(said("reviewing")).await;
    running.steer(SteeringKind::Now, "use tabs").await;
    let finished = running.wait().await;
    assert_done(&finished);
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        [
            "work by script: Write hello.txt",
            "review 1 by second/sharp: Write hello.txt",
            "work by script: Write world.txt",
            "review 1 by second/sharp: Write world.txt"
        ]
    );
    let in_prompt = |event: &Event| matches!(event, Event::Steering(SteeringEvent::Delivered { iteration: 3, .. }));
    assert!(events(&records).any(in_prompt), "{records:?}");
}

#[tokio::test(start_paused = true)]
async fn a_review_that_uses_up_the_money_does_not_keep_the_run_from_being_done() {
    let project = LoopProject::new();
    project.plan(1);
    let costly = FunctionAgent::jsonl(|turn| async move {
        turn.signal(&json!({"type": "usage", "usage": {"costUsd": 3.0}}));
        turn.hang().await;
    });
    let finished = looping(&project, &author(), &costly, ReviewWhen::End)
        .with(|settings| settings.limits.max_cost_usd = Some(2.0))
        .run()
        .await;
    assert_done(&finished);
    assert_eq!(results(&finished.records()), ["failed"]);
}
