//! ralph's own tools for agents: the effect of each tool. No tool decides anything.
//!
//! The agents are functions. The tests of the real agents show that those find the tools (`agents_loop::an_interrupt`,
//! `live_channel`).

mod background;
mod goals;
mod over_stdio;

use ralph_core::{
    event::{
        AgentCall, AgentEvent, Claim, ClaimEvent, Event, Missing, Record, RunEvent, RunId, SteeringKind, StopReason,
        UserCommand,
    },
    run::OpenAsk,
};
use ralph_state::control::ToolCall;

use crate::harness::{
    SOON, events,
    in_process::{FunctionAgent, LoopProject, RunningLoop},
};

/// An agent that says `ready` in its first session and, once released, continues with `work`.
fn waits(work: impl Fn(&crate::harness::in_process::AgentTurn) + Copy + Send + Sync + 'static) -> FunctionAgent {
    FunctionAgent::jsonl(move |turn| async move {
        if turn.n == 1 {
            turn.said("ready");
            turn.wait_for("go").await;
        }
        work(&turn);
    })
}

async fn ready(running: &RunningLoop) {
    running.wait_for_record(crate::loop_behaviour::said("ready")).await;
}

fn plan_text(project: &LoopProject) -> String {
    project.read("PLAN.md").expect("a plan")
}

fn calls(records: &[Record]) -> Vec<AgentCall> {
    let calls = events(records).filter_map(|event| match event {
        Event::Agent(AgentEvent::Called { call, .. }) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

fn claims(records: &[Record]) -> Vec<Claim> {
    let claims = events(records).filter_map(|event| match event {
        Event::Claim(ClaimEvent::Made { claim, .. }) => Some(*claim),
        _ => None,
    });
    claims.collect()
}

const CLAIM: ToolCall = ToolCall::ClaimDone { ticket: None };

#[tokio::test(start_paused = true)]
async fn a_claim_is_refused_with_what_the_plan_has_against_it_and_taken_once_nothing_has() {
    let project = LoopProject::new();
    let agent = waits(|turn| turn.over("All done."));
    let running = project
        .looping(&agent)
        .with(|settings| settings.completion.min_confidence = 60)
        .start();
    ready(&running).await;
    let plan = plan_text(&project);
    let refused = running.tool(CLAIM).await;
    assert!(
        refused.refused && refused.text.contains("2 tasks are still open"),
        "{refused:?}"
    );
    project.write("PLAN.md", "- [x] another\n");
    let refused = running.tool(CLAIM).await;
    assert!(
        refused.refused && refused.text.contains("was removed from the plan"),
        "{refused:?}"
    );
    project.write("PLAN.md", &plan.replace("[ ]", "[x]"));
    let taken = running.tool(CLAIM).await;
    assert!(!taken.refused && taken.text.contains("end your turn"), "{taken:?}");
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(claims(&finished.records()), [Claim::Tool, Claim::PlanComplete]);
    let judged = calls(&finished.records());
    assert!(
        matches!(&judged[..], [AgentCall::Claimed { reasons: open }, AgentCall::Claimed { reasons: gone }, AgentCall::Claimed { reasons: none }]
            if matches!(open[..], [Missing::TasksOpen { open: 2, .. }]) && !gone.is_empty() && none.is_empty()),
        "{judged:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_taken_is_judged_like_any_other_at_the_end_of_the_turn() {
    let project = LoopProject::new();
    let agent = waits(|turn| {
        turn.edit_plan(|plan| plan.replace("[x]", "[ ]"));
        turn.over("RALPH NOT DONE: the tests are missing");
    });
    let running = project.looping(&agent).max_iterations(1).start();
    ready(&running).await;
    let plan = plan_text(&project);
    project.write("PLAN.md", &plan.replace("[ ]", "[x]"));
    assert!(!running.tool(CLAIM).await.refused);
    project.release("go");
    let finished = running.wait().await;
    assert_ne!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(claims(&records), [Claim::Tool]);
    assert!(
        events(&records)
            .any(|event| matches!(event, Event::Claim(ClaimEvent::Refused { reasons, .. }) if reasons.len() == 2))
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_blocked_by_the_tool_is_set_aside_with_its_reason() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = waits(|turn| turn.over("I stop here."));
    let running = project.looping(&agent).start();
    ready(&running).await;
    let reason = "Which key do I use?".to_owned();
    assert!(!running.tool(ToolCall::Blocked { reason: reason.clone() }).await.refused);
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(8));
    let stop = finished.records().pop().map(|record| record.event);
    assert!(
        matches!(&stop, Some(Event::Run(RunEvent::Stopped { reason: StopReason::Blocked { question }, .. })) if *question == reason),
        "{stop:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_notes_is_in_the_next_prompt_and_what_it_proposes_is_not_in_the_plan() {
    let project = LoopProject::new();
    let agent = waits(|turn| {
        turn.work();
        turn.over("ok");
    });
    let running = project.looping(&agent).start();
    ready(&running).await;
    let before = plan_text(&project);
    for note in ["the lexer is done", "the parser is next"] {
        let note = note.to_owned();
        assert!(!running.tool(ToolCall::Progress { note }).await.refused);
    }
    let task = "Document the grammar".to_owned();
    assert!(!running.tool(ToolCall::TaskAdd { task: task.clone() }).await.refused);
    assert_eq!(plan_text(&project), before);
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = project.prompt(2);
    assert!(prompt.contains("the lexer is done; the parser is next"), "{prompt}");
    assert!(calls(&finished.records()).contains(&AgentCall::Proposed { task: task.into() }));
    let status = project.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(status.contains("Document the grammar"), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_question_gives_a_ticket_and_its_answer_is_fetched_with_it_or_comes_in_the_next_prompt() {
    let project = LoopProject::new();
    let agent = waits(|turn| {
        turn.work();
        turn.over("ok");
    });
    let running = project.looping(&agent).start();
    ready(&running).await;
    let ask = |text: &str| ToolCall::Question {
        question: Some(text.to_owned()),
        choices: vec!["SQLite".to_owned(), "Postgres".to_owned()],
        ticket: None,
    };
    let fetch = |ticket| ToolCall::Question {
        question: None,
        choices: Vec::new(),
        ticket: Some(ticket),
    };
    assert!(
        running
            .tool(ask("Which database?"))
            .await
            .text
            .contains("{\"ticket\": 1}")
    );
    assert!(running.tool(ask("Which port?")).await.text.contains("{\"ticket\": 2}"));
    assert!(running.tool(fetch(1)).await.text.contains("is not answered yet"));
    assert!(running.tool(fetch(7)).await.refused);
    let view = running.view();
    assert!(
        matches!(&view.open_asks()[..], [OpenAsk::Missed(one), OpenAsk::Missed(two)] if (one.number, two.number) == (1, 2)),
        "{:?}",
        view.open_asks()
    );
    for (number, words) in [(1, "2"), (2, "5433")] {
        let answer = UserCommand::Answer {
            ask: number,
            answer: ralph_core::event::Answer::Words {
                words: vec![words.to_owned()],
            },
            at: ralph_core::event::AnswerPlace::CommandLine,
        };
        running.command(answer).await.expect("an answer that is taken");
    }
    assert!(running.tool(fetch(1)).await.text.contains("Postgres"));
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let prompt = project.prompt(2);
    assert!(prompt.contains("5433") && !prompt.contains("Postgres"), "{prompt}");
}

#[tokio::test(start_paused = true)]
async fn a_question_can_be_answered_after_its_iteration_and_the_next_one_has_the_answer() {
    let project = LoopProject::new();
    project.plan(3);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said(&format!("ready {}", turn.n));
        turn.wait_for(&format!("go {}", turn.n)).await;
        turn.work();
        turn.over("ok");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(crate::loop_behaviour::said("ready 1")).await;
    let question = Some("Which database?".to_owned());
    let asked = ToolCall::Question {
        question,
        choices: Vec::new(),
        ticket: None,
    };
    assert!(!running.tool(asked).await.refused);
    project.release("go 1");
    running.wait_for_record(crate::loop_behaviour::said("ready 2")).await;
    let answer = UserCommand::Answer {
        ask: 1,
        answer: ralph_core::event::Answer::Words {
            words: vec!["Postgres".to_owned()],
        },
        at: ralph_core::event::AnswerPlace::CommandLine,
    };
    running.command(answer).await.expect("an answer that is taken");
    project.release("go 2");
    project.release("go 3");
    running.wait().await;
    assert!(!project.prompt(2).contains("Postgres") && project.prompt(3).contains("Postgres"));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_abuses_every_tool_gets_sentences_and_changes_neither_verdict_nor_journal() {
    let project = LoopProject::new();
    let agent = waits(|turn| turn.over("nothing"));
    let running = project.looping(&agent).max_iterations(1).start();
    ready(&running).await;
    let long = "x".repeat(1 << 20);
    let other = RunId("20200101-000000-another".to_owned());
    assert!(running.tool_for_run(&other, CLAIM).await.text.contains("another run"));
    for call in [
        ToolCall::Progress { note: long.clone() },
        ToolCall::Progress { note: " \n".to_owned() },
        ToolCall::TaskAdd { task: long.clone() },
        ToolCall::Blocked { reason: long.clone() },
        ToolCall::Question {
            question: Some(long),
            choices: Vec::new(),
            ticket: None,
        },
        ToolCall::Question {
            question: None,
            choices: vec!["a".to_owned()],
            ticket: None,
        },
        ToolCall::GoalsCheck { ticket: Some(3) },
        ToolCall::GoalsCheck { ticket: None },
    ] {
        let answer = running.tool(call.clone()).await;
        assert!(
            answer.refused && (10..300).contains(&answer.text.len()),
            "{call:?}: {answer:?}"
        );
    }
    for flood in 0..200 {
        let answer = running
            .tool(ToolCall::Progress {
                note: format!("note {flood}"),
            })
            .await;
        assert_eq!(answer.refused, flood >= 64, "{flood}: {answer:?}");
    }
    assert!(
        running
            .tool(CLAIM)
            .await
            .text
            .contains("the limit for this tool is reached")
    );
    let steered = running.steer(SteeringKind::Next, "go on").await;
    assert!(steered.contains("next prompt"), "the user is heard all the same");
    project.release("go");
    let finished = running.wait().await;
    assert_ne!(finished.code(), Some(0));
    assert_eq!(calls(&finished.records()).len(), 64);
    assert_eq!(claims(&finished.records()), []);
}
