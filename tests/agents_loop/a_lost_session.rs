//! A session that is to be continued and is not there any more: the next one starts fresh, and ralph says so.

use std::fs;

use ralph::event::{Event, Notice, Outcome, ProblemKind};

use super::{PATIENCE, assert_done, outcomes, ralph, work_on};
use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
    },
    stand_in::{Scenario, StandIn, say, shell},
};

fn scenario(agent: Agent) {
    // Paused between the two, since nobody can say when an agent writes its sessions down.
    let pausing =
        "awk '!t && sub(/- \\[ \\]/, \"- [x]\") { t = 1 } { print }' PLAN.md > P && mv P PLAN.md; touch .ralph-pause";
    let first = Scenario::new().then(shell(pausing)).then(say("Ticked."));
    let model = StandIn::start(work_on("world").into_iter().fold(first, Scenario::then));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let running = ralph(agent, &sandbox).args(["--session", "resume"]).start();
    running.wait_for_record(PATIENCE, |event| matches!(event, Event::Held));
    forget(agent, &sandbox);
    fs::remove_file(sandbox.project().join(".ralph-pause")).expect("the agent paused the run");
    let finished = running.wait(PATIENCE);

    assert_done(&finished, 2, 3);
    let records = finished.records();
    let ended = outcomes(&records);
    assert!(
        matches!(&ended[..], [Outcome::Completed, Outcome::Failed { problem }, Outcome::Completed] if problem.kind == ProblemKind::SessionLost),
        "{ended:#?}"
    );
    let resumed: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::IterationStarted { resume, .. } => Some(resume.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(resumed, [false, true, false]);
    let lost = Notice::SessionLost;
    let said = |event: &Event| matches!(event, Event::Noticed { notice } if *notice == lost);
    assert!(records.iter().any(|record| said(&record.event)), "{}", finished.stdout);
}

/// Removes every session the agent has kept.
fn forget(agent: Agent, sandbox: &Sandbox) {
    let kept = match agent {
        Agent::Codex => sandbox.codex_home().join("sessions"),
        Agent::Claude => sandbox.home().join(".claude/projects"),
        Agent::Gemini => sandbox.home().join(".gemini/tmp"),
        Agent::Opencode => sandbox.data().join("opencode"),
        Agent::OpencodeServer => unreachable!("a server keeps its sessions for as long as it runs"),
    };
    fs::remove_dir_all(&kept).unwrap_or_else(|error| panic!("{}: {error}", kept.display()));
}

each_agent!(scenario: codex Codex, claude Claude, gemini Gemini, opencode Opencode);
