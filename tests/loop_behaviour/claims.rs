//! Claims of an agent to be done, and how ralph judges them.

use std::sync::{Arc, Mutex};

use ralph_core::event::{Claim, ClaimEvent, Event, Exit, GateEvent, IterationEvent, Proof, Record, StopReason};
use serde_json::json;

use super::{notices, reason};
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FinishedLoop, FunctionAgent, LoopProject},
};

/// A plan without tasks and without anything that can be checked.
const DESCRIPTION: &str = "# Make it pretty\n\nAll of it.\n";

fn claims(records: &[Record]) -> Vec<(u32, Claim)> {
    events(records)
        .filter_map(|event| match event {
            Event::Claim(ClaimEvent::Made { iteration, claim }) => Some((*iteration, *claim)),
            _ => None,
        })
        .collect()
}

fn refusals(records: &[Record]) -> usize {
    events(records)
        .filter(|event| matches!(event, Event::Claim(ClaimEvent::Refused { .. })))
        .count()
}

async fn ran(project: &LoopProject, agent: &FunctionAgent) -> FinishedLoop {
    let finished = project.looping(agent).max_iterations(5).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

/// An agent that works on a task and then creates the file that claims the end.
fn leaving_the_done_file() -> FunctionAgent {
    FunctionAgent::terminal(|turn| async move {
        turn.work();
        turn.write(".ralph-done", "");
    })
}

#[tokio::test(start_paused = true)]
async fn a_done_file_with_open_tasks_is_refused_and_the_next_prompt_says_why() {
    let project = LoopProject::new();
    let records = ran(&project, &leaving_the_done_file()).await.records();
    assert_eq!(
        claims(&records),
        [(1, Claim::DoneFile), (2, Claim::DoneFile), (2, Claim::PlanComplete)]
    );
    assert_eq!(refusals(&records), 1);
    assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
    let prompt = project.prompt(2);
    assert!(
        prompt.contains("refused") && prompt.contains("one task is still open: Write world.txt"),
        "{prompt}"
    );
    assert!(!project.prompt(1).contains("refused"));
}

#[test]
fn the_done_file_of_an_agent_is_taken_away_and_the_tree_is_clean() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("work; touch .ralph-done"));
    let finished = sandbox.looping(["--max-iterations", "5"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read(".ralph-done"), None);
    sandbox.assert_clean();
}

#[tokio::test(start_paused = true)]
async fn a_done_file_that_was_there_at_start_claims_nothing_and_is_said_to_be_removed() {
    let project = LoopProject::new();
    project.write(".ralph-done", "from yesterday");
    let records = ran(&project, &FunctionAgent::worker()).await.records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
    let said = notices(&records)
        .iter()
        .filter(|text| text.contains(".ralph-done"))
        .count();
    assert_eq!(said, 1, "{:?}", notices(&records));
}

#[tokio::test(start_paused = true)]
async fn a_directory_in_place_of_the_done_file_claims_nothing() {
    let project = LoopProject::new();
    project.write(".ralph-done/file", "");
    let records = ran(&project, &FunctionAgent::worker()).await.records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
}

#[tokio::test(start_paused = true)]
async fn a_promise_in_the_final_message_is_a_claim() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        turn.over(&format!("All is well.\n{}", turn.promise()));
    });
    let records = ran(&project, &agent).await.records();
    assert_eq!(
        claims(&records),
        [(1, Claim::Promise), (2, Claim::Promise), (2, Claim::PlanComplete)]
    );
    assert_eq!(refusals(&records), 1);
}

#[tokio::test(start_paused = true)]
async fn a_promise_in_an_earlier_message_or_in_a_tools_output_is_no_claim() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        let promise = turn.promise();
        turn.said(&promise);
        turn.signal(&json!({"type": "tool-ended", "call": "1", "tool": "shell", "ok": true, "output": promise}));
        turn.over("One task less.");
    });
    let records = ran(&project, &agent).await.records();
    assert_eq!(claims(&records), [(2, Claim::PlanComplete)]);
}

#[tokio::test(start_paused = true)]
async fn a_promise_on_the_last_line_of_a_terminal_is_a_claim_and_one_above_it_is_not() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.work();
        turn.print(&format!("{}\n", turn.promise()));
        if turn.n == 1 {
            turn.print("That was a quote.\n");
        }
    });
    let records = ran(&project, &agent).await.records();
    assert_eq!(claims(&records), [(2, Claim::Promise), (2, Claim::PlanComplete)]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_repeats_its_prompt_claims_nothing() {
    let terminal = FunctionAgent::terminal(|turn| async move {
        turn.work();
        turn.print(&format!("{}\n", turn.prompt));
    });
    let jsonl = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        turn.over(&turn.prompt);
    });
    for (name, agent) in [("terminal", terminal), ("ralph-jsonl", jsonl)] {
        let project = LoopProject::new();
        let records = ran(&project, &agent).await.records();
        assert_eq!(claims(&records), [(2, Claim::PlanComplete)], "{name}");
        assert!(
            format!("{records:?}").contains("on a line of its own"),
            "{name} does not repeat it"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_promise_of_an_earlier_run_claims_nothing() {
    let project = LoopProject::new();
    let first = Arc::new(Mutex::new(None));
    let agent = FunctionAgent::terminal(move |turn| {
        let first = Arc::clone(&first);
        async move {
            turn.work();
            let promise = first.lock().unwrap().get_or_insert_with(|| turn.promise()).clone();
            turn.print(&format!("{promise}\n"));
        }
    });
    ran(&project, &agent).await;
    project.write("PLAN.md", "- [ ] One\n- [ ] Two\n");
    let finished = project.looping(&agent).run().await;
    assert_eq!(claims(&finished.records()), [(2, Claim::PlanComplete)]);
}

#[tokio::test(start_paused = true)]
async fn the_users_own_promise_counts_in_its_tag_only() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.work();
        turn.print(match turn.n {
            1 => "COMPLETE\n",
            _ => "<promise>COMPLETE</promise>\n",
        });
    });
    let finished = project.looping(&agent).promise("COMPLETE").run().await;
    assert_eq!(
        claims(&finished.records()),
        [(2, Claim::Promise), (2, Claim::PlanComplete)],
        "{finished:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_promise_of_an_agent_that_failed_is_no_claim() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.work();
        turn.print(&format!("{}\n", turn.promise()));
        if turn.n != 2 {
            turn.exits(Exit::Code { code: 1 });
        }
    });
    let records = ran(&project, &agent).await.records();
    assert_eq!(claims(&records), [(2, Claim::Promise), (2, Claim::PlanComplete)]);
}

#[tokio::test(start_paused = true)]
async fn the_last_box_ticked_by_a_session_that_was_cut_off_is_looked_at_once_more() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move {
        turn.work();
        if turn.n == 2 {
            turn.exits(Exit::Code { code: 1 });
        }
    });
    let records = project.looping(&agent).run().await.records();
    assert_eq!(claims(&records), [(3, Claim::PlanComplete)]);
    let third =
        events(&records).find(|event| matches!(event, Event::Iteration(IterationEvent::Started { iteration: 3, .. })));
    assert!(
        matches!(
            third,
            Some(Event::Iteration(IterationEvent::Started { task: None, .. }))
        ),
        "{third:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_tasks_and_goals_is_done_when_the_same_is_claimed_in_two_iterations_running() {
    let project = LoopProject::new();
    project.write("PLAN.md", DESCRIPTION);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.write("f", &turn.n.to_string());
        match turn.n {
            2 | 4 | 5 => turn.over(&turn.promise()),
            _ => turn.over("Not yet."),
        }
    });
    let finished = project.looping(&agent).promise("PRETTY").run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        claims(&records),
        [(2, Claim::Promise), (4, Claim::Promise), (5, Claim::Promise)]
    );
    assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
    let prompt = project.prompt(3);
    assert!(
        prompt.contains("there is no proof: if it is true, claim it once more"),
        "{prompt}"
    );
}

/// The final message of a status block with `lines`.
fn block(lines: &str) -> String {
    format!("Task 1 is done.\n---RALPH_STATUS---\n{lines}\n---END_RALPH_STATUS---")
}

/// An agent that finishes the only task with the message `words`, and claims the end in all later iterations.
fn content_later(words: &str) -> FunctionAgent {
    let words = words.to_owned();
    FunctionAgent::jsonl(move |turn| {
        let words = words.clone();
        async move {
            if turn.n > 1 {
                return turn.over("All well.");
            }
            turn.work();
            turn.over(&words);
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_explicit_not_done_refuses_the_end_though_every_box_is_ticked() {
    for (words, reason_given) in [
        (block("EXIT_SIGNAL: false"), "EXIT_SIGNAL: false"),
        (block("STATUS: IN_PROGRESS"), "STATUS: IN_PROGRESS"),
        (
            block("STATUS: COMPLETE\nTESTS_STATUS: FAILING"),
            "TESTS_STATUS: FAILING",
        ),
        (
            "Nearly.\nRALPH NOT DONE: the README is missing".to_owned(),
            "the README is missing",
        ),
    ] {
        let project = LoopProject::new();
        project.plan(1);
        let records = ran(&project, &content_later(&words)).await.records();
        assert_eq!(
            claims(&records).last(),
            Some(&(2, Claim::PlanComplete)),
            "{reason_given}"
        );
        assert_eq!(refusals(&records), 1, "{reason_given}");
        assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
        let prompt = project.prompt(2);
        assert!(
            prompt.contains("the last message said that the work is not done") && prompt.contains(reason_given),
            "{prompt}"
        );
    }
}

#[test]
fn goals_are_not_run_for_an_agent_that_says_that_it_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let words = block("EXIT_SIGNAL: false").replace('\n', r"\n");
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then work; over '{words}'; else over 'All well.'; fi"
    )));
    let finished = sandbox.looping(["--goal", "tests=true"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let checked: Vec<u32> = events(&finished.records())
        .filter_map(|event| match event {
            Event::Gate(GateEvent::VerificationStarted { iteration, .. }) => Some(*iteration),
            _ => None,
        })
        .collect();
    assert_eq!(checked, [2]);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_says_not_done_for_ever_is_stopped_by_the_breaker() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            turn.work();
        }
        turn.over(&block("EXIT_SIGNAL: false"));
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(7), "{finished:?}");
}

#[tokio::test(start_paused = true)]
async fn ten_points_believe_the_first_claim_where_nothing_proves_it() {
    let project = LoopProject::new();
    project.write("PLAN.md", DESCRIPTION);
    let agent = FunctionAgent::jsonl(|turn| async move { turn.over(&turn.promise()) });
    let looping = project.looping(&agent).promise("PRETTY");
    let finished = looping
        .with(|settings| settings.completion.min_confidence = 10)
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(claims(&finished.records()), [(1, Claim::Promise)]);
}

#[tokio::test(start_paused = true)]
async fn sixty_points_want_the_agents_word_besides_the_boxes() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n > 1 {
            return turn.over(&turn.promise());
        }
        turn.work();
        turn.over("One less.");
    });
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.completion.min_confidence = 60)
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(refusals(&records), 1);
    let prompt = project.prompt(2);
    assert!(
        prompt.contains("nothing in your last message says that all is done"),
        "{prompt}"
    );
}

#[test]
fn a_confidence_that_no_claim_can_reach_is_refused_before_the_start() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_COMPLETION_MIN_CONFIDENCE", "90")
        .run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished
            .stderr
            .contains("`completion.minConfidence` is 90, but no claim can exceed 60")
            && finished.stderr.contains("hint: "),
        "{finished:?}"
    );
}
