//! Subagents of the real agents, and the limits on them.

use std::collections::BTreeSet;

use ralph_core::{
    event::{CancelReason, LimitKind, Outcome, Record},
    run::RunView,
};
use serde_json::{Value, json};

use crate::{
    agents_loop::{assert_done, outcomes, plan_one_task, ralph, stopped, work_on},
    harness::{SOON, agent::Agent, notices, running::Finished},
    stand_in::{Scenario, StandIn, Step, answer, decide, log::ModelRequest, say},
};

const FAN: usize = 42;
/// The beginning of each subagent's prompt.
const EXPLORE: &str = "EXPLORE";

/// An answer that starts all subagents at once.
fn fan_out(agent: Agent) -> Step {
    let one = |number: usize| {
        let (title, prompt) = (format!("explore {number}"), format!("{EXPLORE} {number}"));
        match agent {
            Agent::Claude => (
                "Agent",
                json!({ "description": title, "prompt": prompt, "run_in_background": false }),
            ),
            Agent::Codex => ("multi_agent_v1/spawn_agent", json!({ "message": prompt })),
            _ => (
                "task",
                json!({ "description": title, "prompt": prompt, "subagent_type": "general" }),
            ),
        }
    };
    let calls = (1..=FAN).map(one);
    calls
        .fold(answer(), |answer, (name, input)| answer.call(name, input))
        .into()
}

/// Waits for the subagents of codex that have not finished.
fn wait_for_subagents(request: &ModelRequest) -> Option<Step> {
    let results = request.tool_results.iter();
    let started = results.filter_map(|result| {
        Some(
            serde_json::from_str::<Value>(result).ok()?["agent_id"]
                .as_str()?
                .to_owned(),
        )
    });
    let has_finished = |id: &String| {
        request
            .tool_results
            .iter()
            .any(|text| text.contains(&format!("\"{id}\":")))
    };
    let running: Vec<String> = started.filter(|id| !has_finished(id)).collect();
    let wait = json!({ "targets": running, "timeout_ms": 30_000 });
    (!running.is_empty()).then(|| answer().call("multi_agent_v1/wait_agent", wait).into())
}

/// A model that starts subagents before it works, unless its prompt tells that there were too many.
fn model(agent: Agent) -> Scenario {
    let [work, done] = work_on("hello");
    decide(move |request: &ModelRequest| {
        let (prompt, results) = (request.prompt(), &request.tool_results);
        if prompt.contains(EXPLORE) && !prompt.contains("PLAN.md") {
            return say("Explored.").into();
        }
        let is_warned = request.user_texts.iter().any(|text| text.contains("subagent limit"));
        if results.is_empty() && !is_warned {
            return fan_out(agent);
        }
        if let Some(wait) = wait_for_subagents(request) {
            return wait;
        }
        let has_worked = results.last().is_some_and(|result| !is_of_subagent(result));
        if has_worked { done.clone() } else { work.clone() }
    })
    .into()
}

fn is_of_subagent(result: &str) -> bool {
    ["Explored", "limit", "agent", "task", "rejected"]
        .iter()
        .any(|word| result.contains(word))
}

/// The subagents that have made a request.
fn explored(model: &StandIn) -> usize {
    let prompts: BTreeSet<String> = model
        .main_requests()
        .iter()
        .map(|request| request.prompt().to_owned())
        .filter(|prompt| prompt.contains(EXPLORE) && !prompt.contains("PLAN.md"))
        .collect();
    prompts.len()
}

/// The most subagents that ran at the same time.
fn most_at_once(records: &[Record]) -> u32 {
    let mut view = RunView::default();
    let counts = records.iter().map(|record| {
        view.apply(record);
        view.iterations.latest().map_or(0, |latest| latest.subagents.running())
    });
    counts.max().unwrap_or(0)
}

fn run(agent: Agent, channel: &str, args: &[&str]) -> Option<(StandIn, Finished)> {
    let model = StandIn::start(model(agent));
    let sandbox = agent.sandbox(&model, 0)?;
    plan_one_task(&sandbox);
    let finished = ralph(agent, &sandbox)
        .args(["--channel", channel])
        .args(args)
        .run(4 * SOON);
    Some((model, finished))
}

/// Runs a fan-out within the default limits, and compares its tokens with those that the model has counted.
fn ends_inside_the_limit(agent: Agent, channel: &str, tokens_of_request: u64) {
    let Some((model, finished)) = run(agent, channel, &[]) else {
        return;
    };
    assert_done(&finished, 1, 1);
    let records = finished.records();
    let most = most_at_once(&records);
    assert!((2..=10).contains(&most), "{most}");
    let explored = explored(&model);
    assert!((2..=10).contains(&explored), "{explored}");
    let (_, _, totals) = stopped(&finished);
    let requests = model.main_requests().len() as u64;
    assert_eq!(
        totals.usage.tokens(),
        Some(requests * tokens_of_request),
        "{requests} requests"
    );
}

/// Runs a fan-out that may start three subagents.
fn stops_at_three(agent: Agent, channel: &str) -> Option<(Vec<Outcome>, usize)> {
    let (model, finished) = run(agent, channel, &["--max-subagents", "3"])?;
    let records = finished.records();
    assert_eq!(stopped(&finished).2.tasks_done, 1, "{}", finished.stdout);
    Some((outcomes(&records), explored(&model)))
}

const LIMIT: Outcome = Outcome::Cancelled {
    reason: CancelReason::Limit(LimitKind::Subagents),
};

#[test]
fn a_fan_out_of_claude_ends_inside_its_limit_one_way() {
    ends_inside_the_limit(Agent::Claude, "one-way", 1_170);
}

#[test]
fn a_fan_out_of_claude_ends_inside_its_limit_live() {
    ends_inside_the_limit(Agent::Claude, "live", 1_170);
}

#[test]
fn a_fan_out_of_codex_ends_inside_its_limit_live() {
    ends_inside_the_limit(Agent::Codex, "live", 1_050);
}

#[test]
fn a_fan_out_of_opencode_ends_inside_its_limit() {
    ends_inside_the_limit(Agent::OpencodeServer, "auto", 1_050);
}

#[test]
fn a_limit_on_tokens_counts_subagents_or_says_that_it_does_not() {
    for (agent, channel, tokens_of_request, counts) in [
        (Agent::Claude, "auto", 1_170, true),
        (Agent::Codex, "auto", 1_050, true),
        (Agent::Codex, "one-way", 1_050, true),
        (Agent::Opencode, "auto", 1_050, false),
    ] {
        let Some((model, finished)) = run(agent, channel, &["--max-tokens", "10000000"]) else {
            return;
        };
        let said = notices(&finished.records())
            .iter()
            .any(|text| text.contains("tokens of its subagents"));
        let requests = model.main_requests().len() as u64;
        let is_whole = stopped(&finished).2.usage.tokens() == Some(requests * tokens_of_request);
        assert_eq!(
            (is_whole, said),
            (counts, !counts),
            "{agent:?} {channel}: {}",
            finished.stdout
        );
    }
}

#[test]
fn what_exceeds_the_limit_is_denied_to_an_agent_that_asks() {
    for agent in [Agent::Claude, Agent::OpencodeServer] {
        let Some((outcomes, explored)) = stops_at_three(agent, "live") else {
            return;
        };
        assert_eq!((outcomes, explored), (vec![Outcome::Completed], 3), "{agent:?}");
    }
}

#[test]
fn an_agent_that_does_not_ask_is_ended_at_the_limit_and_told_so() {
    for (agent, channel) in [
        (Agent::Claude, "one-way"),
        (Agent::Codex, "one-way"),
        (Agent::Codex, "live"),
    ] {
        let Some((outcomes, explored)) = stops_at_three(agent, channel) else {
            return;
        };
        assert_eq!(outcomes, [LIMIT, Outcome::Completed], "{agent:?} {channel}");
        assert!(explored <= 10, "{explored}");
    }
}

#[test]
fn what_subagents_of_subagents_use_counts_as_well() {
    for channel in ["one-way", "live"] {
        let [work, done] = work_on("hello");
        let model = StandIn::start(decide(move |request: &ModelRequest| {
            let (prompt, results) = (request.prompt(), &request.tool_results);
            let of_subagent = prompt.contains(EXPLORE) && !prompt.contains("PLAN.md");
            if of_subagent && prompt.contains("inner") {
                return say("Explored.").into();
            }
            if results.is_empty() {
                let below = if of_subagent { "inner" } else { "outer" };
                let input = json!({ "message": format!("{EXPLORE} {below}") });
                return answer().call("multi_agent_v1/spawn_agent", input).into();
            }
            if let Some(wait) = wait_for_subagents(request) {
                return wait;
            }
            match results.last().is_some_and(|result| !is_of_subagent(result)) {
                _ if of_subagent => say("Explored.").into(),
                true => done.clone(),
                false => work.clone(),
            }
        }));
        let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
            return;
        };
        sandbox.add_to_codex("[agents]\nmax_depth = 2\n");
        plan_one_task(&sandbox);
        let finished = ralph(Agent::Codex, &sandbox).args(["--channel", channel]).run(4 * SOON);
        assert_done(&finished, 1, 1);
        let requests = model.main_requests().len() as u64;
        assert_eq!(explored(&model), 2, "{channel}: {}", finished.stdout);
        assert_eq!(
            stopped(&finished).2.usage.tokens(),
            Some(requests * 1_050),
            "{channel}: {}",
            finished.stdout
        );
    }
}
