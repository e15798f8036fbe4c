//! codex reviews the changes of claude.

use ralph_core::event::{AgentEvent, Event, IterationEvent, ReviewEvent, ReviewResult};
use serde_json::json;

use super::{PATIENCE, assert_done, in_order, plan_one_task, ralph, work_on};
use crate::{
    harness::{agent::Agent, events},
    stand_in::{StandIn, Step, answer, say, shell},
};

#[test]
fn findings_of_codex_reach_the_next_prompt_of_claude_and_a_claim_of_the_reviewer_is_refused() {
    let finding = "hello.txt:1: greets nobody";
    let found: [Step; 1] = [say(&format!("I looked.\n\nREVIEW: findings\n1. {finding}")).into()];
    let mended: [Step; 2] = [
        shell("echo hello world > hello.txt && git commit --quiet --all -m Greet").into(),
        say("It greets now.").into(),
    ];
    let approved: [Step; 2] = [
        answer().call("mcp__ralph__claim_done", json!({})).into(),
        say("REVIEW: approved").into(),
    ];
    let model = StandIn::start(in_order([&work_on("hello"), &found, &mended, &approved]));
    let Some(mut sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    if Agent::Claude.join(&mut sandbox, &model, 0).is_none() {
        return;
    }
    plan_one_task(&sandbox);
    let finished = ralph(Agent::Claude, &sandbox).args(["--review", "codex"]).run(PATIENCE);
    assert_done(&finished, 1, 4);
    let records = finished.records();
    let worked: Vec<&str> = events(&records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Started { adapter, .. }) => Some(adapter.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(worked, ["claude", "codex", "claude", "codex"]);
    let results: Vec<bool> = events(&records)
        .filter_map(|event| match event {
            Event::Review(ReviewEvent::Concluded { result, .. }) => Some(*result == ReviewResult::Approved),
            _ => None,
        })
        .collect();
    assert_eq!(results, [false, true]);
    let requests = model.main_requests();
    let [_, _, review, author, _, again, refused] = &requests[..] else {
        panic!("{} requests", requests.len());
    };
    assert!(review.prompt().contains("+hello\n"), "{}", review.prompt());
    assert!(
        author.prompt().contains(&format!("1. {finding}\n")),
        "{}",
        author.prompt()
    );
    assert!(again.prompt().contains("+hello world\n"), "{}", again.prompt());
    let read = refused.body.to_string();
    assert!(read.contains("this session is a review"), "{read}");
    assert!(!events(&records).any(|event| matches!(event, Event::Agent(AgentEvent::Called { .. }))));
    assert_eq!(sandbox.read("hello.txt").as_deref(), Some("hello world\n"));
    let status = sandbox.ralph(["status"]).run(PATIENCE).stdout;
    assert!(status.contains("adapter   claude\nreviewer  codex\n"), "{status}");
    sandbox.assert_nothing_runs();
}
