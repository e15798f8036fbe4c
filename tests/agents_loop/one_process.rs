//! Agents whose process is kept for all iterations: the time from the end of one to the next session, and what is left.

use std::fs;

use ralph_core::event::{AgentSignal, Event, Record};

use super::{PATIENCE, assert_done, ralph, work_on};
use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
        processes::is_running,
    },
    stand_in::{Scenario, StandIn, Step, shell},
};

/// An iteration that notes its shell's parent, and leaves a process behind.
fn steps(number: usize) -> [Step; 3] {
    let notes =
        "echo $PPID >> \"$HOME/parents\"; sleep 600 < /dev/null > /dev/null 2>&1 & echo $! >> \"$HOME/left\"; true";
    let [work, end] = work_on(&format!("file{number}"));
    [shell(notes).into(), work, end]
}

/// The milliseconds from the end of each iteration's turn to the next session.
fn waits(records: &[Record]) -> Vec<u64> {
    let mut ended = None;
    let mut waits = Vec::new();
    for record in records {
        match &record.event {
            Event::IterationEnded { .. } => ended = Some(record.at_ms),
            Event::AgentReported {
                signal: AgentSignal::Opened { .. },
                ..
            } => {
                waits.extend(ended.take().map(|ended| record.at_ms - ended));
            }
            _ => {}
        }
    }
    waits
}

fn numbers(sandbox: &Sandbox, file: &str) -> Vec<i32> {
    let text = fs::read_to_string(sandbox.home().join(file)).unwrap_or_default();
    text.lines().map(|line| line.trim().parse().expect("a pid")).collect()
}

#[expect(
    clippy::print_stdout,
    reason = "the figure of docs/design/agents.md, shown by `--nocapture`"
)]
fn scenario(agent: Agent) {
    const TASKS: usize = 3;
    let all = (1..=TASKS).flat_map(steps);
    let model = StandIn::start(all.fold(Scenario::new(), Scenario::then));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    sandbox.plan(TASKS);
    let running = ralph(agent, &sandbox).args(["--channel", "live"]).start();
    running.wait_for_record(PATIENCE, |event| {
        matches!(event, Event::IterationEnded { iteration: 1, .. })
    });
    let left = numbers(&sandbox, "left");
    assert!(!left.is_empty() && !is_running(left[0]), "{left:?}");
    let finished = running.wait(PATIENCE);
    assert_done(&finished, 3, 3);
    let parents = numbers(&sandbox, "parents");
    assert_eq!(parents, [parents[0]; TASKS], "one process for all");
    sandbox.assert_nothing_runs();
    println!(
        "{agent:?}: {:?} ms from an iteration's end to the next session",
        waits(&finished.records())
    );
}

each_agent!(scenario: ; opencode Opencode, copilot Copilot, kimi Kimi);
