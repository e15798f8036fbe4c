//! Agents whose process is kept for all iterations: the time from the end of one to the next session, and what is left.

use std::fs;

use ralph_core::event::{AgentEvent, AgentSignal, Event, IterationEvent, Record};

use super::{PATIENCE, assert_done, ralph, work_on};
use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
        connect::COLLECT_GARBAGE,
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
            Event::Iteration(IterationEvent::Ended { .. }) => ended = Some(record.at_ms),
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::Opened { .. },
                ..
            }) => {
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
        matches!(event, Event::Iteration(IterationEvent::Ended { iteration: 1, .. }))
    });
    let left = numbers(&sandbox, "left");
    assert!(!left.is_empty() && !is_running(left[0]), "{left:?}");
    let finished = running.wait(PATIENCE);
    assert_done(&finished, 3, 3);
    let parents = numbers(&sandbox, "parents");
    let log = fs::read_to_string(sandbox.the_run().log()).unwrap_or_default();
    assert_eq!(parents, [parents[0]; TASKS], "one process for all:\n{log}");
    sandbox.assert_nothing_runs();
    println!(
        "{agent:?}: {:?} ms from an iteration's end to the next session",
        waits(&finished.records())
    );
}

mod fifty_iterations {
    use super::*;

    const TASKS: usize = 50;

    #[expect(
        clippy::print_stdout,
        reason = "the figures of docs/design/agents.md, shown by `--nocapture`"
    )]
    fn scenario(agent: Agent) {
        let all = (1..=TASKS).flat_map(steps);
        let model = StandIn::start(all.fold(Scenario::new(), Scenario::then));
        let Some(sandbox) = agent.sandbox(&model, 0) else {
            return;
        };
        // Otherwise opencode keeps everything, and needs a new process after a few sessions.
        sandbox.set_variable(COLLECT_GARBAGE, "1");
        sandbox.plan(TASKS);
        let args = ["--channel", "live", "--max-iterations", "60"];
        let running = ralph(agent, &sandbox).args(args).start();
        let open = |iteration: u32| {
            running.wait_for_record(PATIENCE, |event| match event {
                Event::Iteration(IterationEvent::Ended { iteration: ended, .. }) => *ended == iteration,
                _ => false,
            });
            let open = fs::read_dir(format!("/proc/{}/fd", running.pid())).expect("ralph's descriptors");
            open.count()
        };
        let (before, after) = (open(3), open(48));
        let finished = running.wait(PATIENCE);
        assert_done(&finished, 50, 50);
        // A helper of ralph's may run at either moment.
        assert!(after < before + 10, "{before} descriptors, later {after}");
        sandbox.assert_nothing_runs();
        let mut waits = waits(&finished.records());
        waits.sort_unstable();
        let mut processes = numbers(&sandbox, "parents");
        processes.dedup();
        let log = fs::read_to_string(sandbox.the_run().log()).unwrap_or_default();
        assert!(processes.len() < 10, "{processes:?}\n{log}");
        println!(
            "{agent:?}: {} processes, {} ms from an iteration's end to the next session, {} ms at most; {before} descriptors, later {after}",
            processes.len(),
            waits[waits.len() / 2],
            waits[waits.len() - 1],
        );
    }

    each_agent!(scenario: ; opencode Opencode, copilot Copilot, kimi Kimi);
}

each_agent!(scenario: ; opencode Opencode, copilot Copilot, kimi Kimi);
