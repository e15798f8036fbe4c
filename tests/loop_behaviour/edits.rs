//! Goals that run after edits while the agent works.

use std::{path::Path, time::Duration};

use ralph_core::{
    event::{Event, GateEvent, Goal, Record, Settings},
    run::{GoalState, RunView},
};
use serde_json::json;

use super::{outcomes, said};
use crate::harness::{
    SOON, events,
    in_process::{AgentTurn, FunctionAgent, LoopProject, RunningLoop, while_time_stands},
    wait_until,
};

/// Longer than the quiet time after a tool before goals run.
const QUIET: Duration = Duration::from_secs(2);

/// A goal that runs `command` after edits.
fn goal(command: String) -> impl FnOnce(&mut Settings) {
    let goal = Goal {
        name: "lint".to_owned(),
        command,
        target: None,
        timeout_ms: 60_000,
        on_edit: true,
        ..Goal::default()
    };
    move |settings| settings.goals = vec![goal]
}

fn use_tool(turn: &AgentTurn) {
    turn.signal(&json!({"type": "tool-started", "call": "1", "tool": "Bash", "input": "make"}));
    turn.signal(&json!({"type": "tool-ended", "call": "1", "tool": "Bash", "ok": true, "output": ""}));
}

fn edit(turn: &AgentTurn, text: &str) {
    turn.write("a.txt", text);
    use_tool(turn);
}

/// Results of the checks after edits: whether all goals passed, the number of news, and whether the agent was told
/// live.
fn checks(records: &[Record]) -> Vec<(bool, usize, bool)> {
    let checks = events(records).filter_map(|event| match event {
        Event::Gate(GateEvent::EditsChecked {
            results, news, live, ..
        }) => Some((results.iter().all(|result| result.passed), news.len(), *live)),
        _ => None,
    });
    checks.collect()
}

/// Waits for words of the agent before any time passes.
async fn says(running: &RunningLoop, words: &'static str) {
    running
        .wait_for_processes(Duration::ZERO, move |records| events(records).any(said(words)))
        .await;
}

fn is_there(path: &Path) -> Option<()> {
    path.exists().then_some(())
}

#[tokio::test(start_paused = true)]
async fn a_goal_that_fails_after_an_edit_is_told_to_the_running_turn_and_so_is_that_it_passes_again() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        edit(&turn, "bad\n");
        turn.said("edited");
        let failed = turn.wait_for_messages(1).await;
        assert!(failed.contains("lint failed") && failed.contains("no good"), "{failed}");
        // The output differs only in a number, which is not news.
        edit(&turn, "bad 2\n");
        turn.said("edited again");
        turn.wait_for("mend").await;
        edit(&turn, "good");
        turn.said("mended");
        assert!(turn.wait_for_messages(2).await.contains("`lint` passes again"));
        turn.wait_for("end").await;
        turn.work();
        turn.over(&turn.promise());
    })
    .live();
    let command = "cat a.txt; grep -q good a.txt || { echo no good; exit 3; }".to_owned();
    let running = project.looping(&agent).with(goal(command)).start();
    for (number, words) in [(1, "edited"), (2, "edited again"), (3, "mended")] {
        says(&running, words).await;
        running
            .wait_for_processes(QUIET, move |records| checks(records).len() == number)
            .await;
        if number == 2 {
            project.release("mend");
        }
    }
    let view = RunView::of(&running.records());
    assert!(
        matches!(&view.goals[0].state, GoalState::Checked { result } if result.passed),
        "{:?}",
        view.goals
    );
    project.release("end");
    let is_checked = |event: &Event| matches!(event, Event::Gate(GateEvent::GoalChecked { .. }));
    running
        .wait_for_processes(Duration::ZERO, move |records| events(records).any(is_checked))
        .await;
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(checks(&records), [(false, 1, true), (false, 0, false), (true, 1, true)]);
    let report = project.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("after edits: 3 checks, 2 of them failed"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn what_still_fails_when_the_turn_is_over_is_in_the_next_prompt_of_an_agent_without_messages() {
    let project = LoopProject::new();
    project.plan(2);
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            edit(&turn, "bad");
            turn.said("edited");
            turn.wait_for("end").await;
        }
        turn.work();
        turn.over("One task less.");
    });
    let command = "echo no good; exit 3".to_owned();
    let running = project.looping(&agent).with(goal(command)).max_iterations(2).start();
    says(&running, "edited").await;
    running
        .wait_for_processes(QUIET, |records| checks(records) == [(false, 1, false)])
        .await;
    project.release("end");
    let finished = running.wait().await;
    let prompt = project.prompt(2);
    assert!(
        prompt.contains("After the last edits of that session: goal `lint` did not pass") && prompt.contains("no good"),
        "{prompt}"
    );
    // The result of the last check is told once, together with the refusal of the claim.
    assert_eq!(outcomes(&finished.records()).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn edits_while_the_goals_run_lead_to_one_more_run_and_the_end_of_the_turn_ends_them() {
    let project = LoopProject::new();
    project.plan(2);
    let home = project.home();
    let [hold, begun, count] = ["hold", "begun", "count"].map(|name| home.join(name));
    std::fs::write(&hold, "").expect("a file");
    let agent = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 {
            edit(&turn, "0");
            turn.said("edited");
            turn.wait_for("more").await;
            for edits in 1..9 {
                edit(&turn, &"x".repeat(edits));
            }
            turn.said("edited more");
            turn.wait_for("end").await;
        }
        turn.work();
        turn.over("One task less.");
    });
    let [held, begins, counts] = [&hold, &begun, &count].map(|path| path.display());
    let command = format!("echo run >> '{counts}'; touch '{begins}'; while [ -e '{held}' ]; do sleep 0.02; done");
    let running = project.looping(&agent).with(goal(command)).max_iterations(1).start();
    says(&running, "edited").await;
    let path = begun.clone();
    while_time_stands(QUIET, "a goal", move || is_there(&path)).await;
    project.release("more");
    says(&running, "edited more").await;
    std::fs::remove_file(&hold).expect("what holds the goal");
    running
        .wait_for_processes(Duration::ZERO, |records| checks(records).len() == 1)
        .await;
    std::fs::remove_file(&begun).expect("what the goal left");
    std::fs::write(&hold, "").expect("a file");
    let path = begun.clone();
    while_time_stands(QUIET, "another run of the goal", move || is_there(&path)).await;
    project.release("end");
    let finished = running.wait().await;
    assert_eq!(
        checks(&finished.records()),
        [(true, 0, false)],
        "the second was ended with the turn"
    );
    let runs = std::fs::read_to_string(count).expect("what the goal left");
    assert_eq!(runs.lines().count(), 2);
    wait_until(SOON, "the end of the goal", || {
        project.processes().is_empty().then_some(())
    });
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changes_nothing_runs_no_goal() {
    let project = LoopProject::new();
    let agent = FunctionAgent::jsonl(|turn| async move {
        for _ in 0..20 {
            use_tool(&turn);
            tokio::time::sleep(QUIET).await;
        }
        turn.work();
        turn.over("One task less.");
    });
    let running = project
        .looping(&agent)
        .with(goal("true".to_owned()))
        .max_iterations(1)
        .start();
    assert_eq!(checks(&running.wait().await.records()), []);
}
