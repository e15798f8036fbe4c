//! Inputs for tests of the machine.

use crate::event::{AgentSignal, Exit, PlanSnapshot, PlanTask, Settings};

use super::{Preparation, Start};

/// The start of a project's first run with these settings.
pub(super) fn start(settings: Settings) -> Start {
    Start {
        project: "/project".into(),
        pid: 1,
        settings,
        promise: "nonce".to_owned(),
        pause_file: false,
        number: 1,
        earlier_starts_ms: Vec::new(),
        earlier_spending: Vec::new(),
        day: None,
    }
}

/// A preparation for an agent without live steering.
pub(super) fn preparation(plan: PlanSnapshot) -> Preparation {
    Preparation {
        plan,
        checkpoint: None,
        prompt_bytes: 1,
        overhead_bytes: 1,
        delivered: Vec::new(),
        live_steering: false,
        windows: Vec::new(),
        notices: Vec::new(),
    }
}

/// The signals of an agent whose turn and process end well.
pub(super) fn agent_end() -> [AgentSignal; 2] {
    let (ok, message) = (true, None);
    let ended = AgentSignal::Ended {
        exit: Some(Exit::Code { code: 0 }),
        output_bytes: 1,
    };
    [AgentSignal::TurnEnded { ok, message }, ended]
}

/// A task of a plan.
pub(super) fn task(text: &str, done: bool) -> PlanTask {
    PlanTask {
        text: text.to_owned(),
        done,
        line: 1,
        depth: 0,
        heading: None,
        settings: Default::default(),
    }
}
