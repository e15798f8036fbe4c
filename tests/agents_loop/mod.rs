//! ralph with each of the real agents: events of a user's night, one module for each.

mod a_bad_night;
mod a_failing_server;
mod a_limit;
mod a_plan;
mod a_push;
mod a_refused_key;
mod accounts;
mod an_interrupt;
mod coverage;
mod first_hour;
mod importing;
mod nobody_listens;
mod of_the_registry;
mod one_of_your_own;
mod resuming;
mod reviewing;
mod standing_in;
mod two_agents;
mod whichever;

use std::time::Duration;

use ralph_core::event::{
    AgentCall, AgentEvent, AgentSignal, BackgroundEvent, Event, IterationEvent, Outcome, Proof, Record, Requester,
    RunEvent, StopReason, Totals,
};
use serde_json::json;

use crate::{
    harness::{Program, Sandbox, agent::Agent, running::Finished},
    stand_in::{Scenario, Step, answer, log::ModelRequest, say, shell},
};

/// Longest time for a run that normally takes seconds. Some agents need ten seconds to start, and far more on a busy
/// machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The real ralph with an agent. It prints its records and backs off only briefly.
pub(crate) fn ralph(agent: Agent, sandbox: &Sandbox) -> Program {
    let args = [
        "--adapter",
        agent.adapter(),
        "--plan",
        "PLAN.md",
        "--headless",
        "--format",
        "jsonl",
    ];
    sandbox.ralph(args).env("RALPH_BACKOFF_BASE", "10ms")
}

/// Leaves one task in the plan.
pub(crate) fn plan_one_task(sandbox: &Sandbox) {
    sandbox.write("PLAN.md", "# Plan\n\n- [ ] Write hello.txt\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan less"]);
}

/// The name under which the agent offers this tool of ralph.
fn own_tool(agent: Agent, name: &str) -> String {
    let prefix = match agent {
        Agent::Codex | Agent::Claude | Agent::Native | Agent::NativeResponses | Agent::NativeMessages => "mcp__ralph__",
        Agent::Gemini => "mcp_ralph_",
        Agent::Opencode | Agent::OpencodeServer | Agent::Kilo => "ralph_",
        Agent::Copilot => "ralph-",
        Agent::Kimi => "mcp__ralph__",
        Agent::Pi | Agent::Cline => unreachable!("it has no MCP servers"),
    };
    format!("{prefix}{name}")
}

/// An answer that calls the tools of ralph that report on the work.
pub(crate) fn use_own_tools(agent: Agent) -> Step {
    let tool = |name: &str| own_tool(agent, name);
    answer()
        .call(&tool("plan"), json!({}))
        .call(&tool("goals_check"), json!({}))
        .call(&tool("claim_done"), json!({}))
        .into()
}

/// Makes the agent start a background task, look at it and cancel it, in one request each.
pub(crate) fn use_a_background_task(agent: Agent, scenario: Scenario) -> Scenario {
    let calls = [
        ("background_start", json!({"command": "exec sleep 301"})),
        ("background_status", json!({})),
        ("background_output", json!({"number": 1})),
        ("background_cancel", json!({"number": 1})),
    ];
    let call = |(name, arguments)| Step::from(answer().call(&own_tool(agent, name), arguments));
    calls.into_iter().map(call).fold(scenario, Scenario::then)
}

/// Checks that the model has read the result of each call, and that the records show the cancellation.
#[track_caller]
pub(crate) fn assert_background_task_used(requests: &[ModelRequest], records: &[Record]) {
    let read = requests.last().expect("requests").body.to_string();
    for answered in [
        "background task 1 started: exec sleep 301",
        "Task 1 (running for",
        "It has no output yet",
        "background task 1 is being ended",
    ] {
        assert!(read.contains(answered), "`{answered}` is not in {read}");
    }
    let cancelled = |record: &Record| {
        let by = Requester::Agent;
        record.event == Event::Background(BackgroundEvent::Cancelled { number: 1, by })
    };
    assert!(records.iter().any(cancelled));
}

/// Checks that the model has read the tools' answers in `request`, and that `records` show them: none of two tasks is
/// done, and the goal `true` passes.
#[track_caller]
pub(crate) fn assert_own_tools_answered(request: &ModelRequest, records: &[Record]) {
    let read = request.body.to_string();
    for answered in [
        "0 of 2 tasks done",
        "1 of 1 goal passed",
        "2 tasks are still open, the next is: Write hello.txt",
    ] {
        assert!(read.contains(answered), "`{answered}` is not in {read}");
    }
    let calls = records.iter().filter_map(|record| match &record.event {
        Event::Agent(AgentEvent::Called { call, .. }) => Some(call),
        _ => None,
    });
    let calls: Vec<&AgentCall> = calls.collect();
    let checked =
        |call: &&AgentCall| matches!(call, AgentCall::GoalsChecked { passed: 1, failed } if failed.is_empty());
    let refused = |call: &&AgentCall| matches!(call, AgentCall::Claimed { reasons } if reasons.len() == 1);
    assert!(calls.iter().any(checked) && calls.iter().any(refused), "{calls:?}");
}

/// Answers of a model that do one task: write a file, tick the box, commit.
pub(crate) fn work_on(name: &str) -> [Step; 2] {
    work_by("PLAN.md", name)
}

/// As [`work_on`], with another plan.
pub(crate) fn work_by(plan: &str, name: &str) -> [Step; 2] {
    let tick = format!("awk '!t && sub(/- \\[ \\]/, \"- [x]\") {{ t = 1 }} {{ print }}' {plan} > P && mv P {plan}");
    let command = format!("echo {name} > {name}.txt && {tick} && git add --all && git commit --quiet -m {name}");
    [shell(&command).into(), say(&format!("Wrote {name}.txt.")).into()]
}

pub(crate) fn in_order<const N: usize>(parts: [&[Step]; N]) -> Scenario {
    parts
        .into_iter()
        .flatten()
        .cloned()
        .fold(Scenario::new(), Scenario::then)
}

/// The end of the run, from its last record. Records of background tasks may follow and are skipped.
#[track_caller]
pub(crate) fn stopped(finished: &Finished) -> (StopReason, Vec<String>, Totals) {
    let mut events = finished.records().into_iter().map(|record| record.event);
    match events.rfind(|event| !matches!(event, Event::Background(BackgroundEvent::Ended { .. }))) {
        Some(Event::Run(RunEvent::Stopped { reason, hints, totals })) => {
            (reason, hints.iter().map(ralph_words::hint_in_words).collect(), totals)
        }
        other => panic!(
            "{other:?} is not the end of a run\n{}{}",
            finished.stdout, finished.stderr
        ),
    }
}

#[track_caller]
pub(crate) fn assert_done(finished: &Finished, tasks: u32, iterations: u32) {
    let (reason, _, totals) = stopped(finished);
    assert_eq!(reason, StopReason::done(Proof::Nothing), "{}", finished.stdout);
    assert_eq!(
        (totals.tasks_done, totals.iterations),
        (tasks, iterations),
        "{}",
        finished.stdout
    );
    assert_eq!(finished.code(), Some(0));
}

/// How each iteration ended, in order.
pub(crate) fn outcomes(records: &[Record]) -> Vec<Outcome> {
    let ended = records.iter().filter_map(|record| match &record.event {
        Event::Iteration(IterationEvent::Ended { outcome, .. }) => Some(outcome.clone()),
        _ => None,
    });
    ended.collect()
}

/// The signals of the agent, in order.
pub(crate) fn signals(records: &[Record]) -> Vec<AgentSignal> {
    let told = records.iter().filter_map(|record| match &record.event {
        Event::Agent(AgentEvent::Reported { signal, .. }) => Some(signal.clone()),
        _ => None,
    });
    told.collect()
}
