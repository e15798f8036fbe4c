//! Inputs for tests of the machine.

use crate::event::{AgentSignal, Event, Exit, GoalResult, PlanSnapshot, PlanTask, RequestedBy, Settings, UserCommand};

use super::{Effect, Input, LoopState, Preparation, Settlement, Start, Step, Timer, TimerKind, step};

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
        out_of_scope: Vec::new(),
        day: None,
    }
}

/// A preparation for an agent without live steering.
pub(super) fn preparation(plan: PlanSnapshot) -> Preparation {
    Preparation {
        unread: None,
        plan,
        checkpoint: None,
        prompt_bytes: 1,
        overhead_bytes: 1,
        delivered: Vec::new(),
        live_steering: false,
        windows: Vec::new(),
        leftovers: Vec::new(),
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
        ..PlanTask::default()
    }
}

/// The result of a goal without tests.
pub(super) fn goal_result(name: &str, passed: bool) -> GoalResult {
    GoalResult {
        name: name.to_owned(),
        passed,
        exit: None,
        score: None,
        target: None,
        duration_ms: 1,
        why: None,
        tail: "output".into(),
        tests: None,
        doubt: None,
        failed_tests: Vec::new().into(),
        flaky: None,
        newly_skipped: Default::default(),
        sealed_output: None,
    }
}

/// The time at which a [`Run`] begins.
pub(super) const NOW_MS: u64 = 100_000_000;

/// A run that is driven by inputs.
pub(super) struct Run {
    pub(super) state: LoopState,
    pub(super) now_ms: u64,
    /// The events of the last input.
    pub(super) events: Vec<Event>,
    /// The effects of the last input.
    pub(super) effects: Vec<Effect>,
    /// All events.
    pub(super) history: Vec<Event>,
}

impl Run {
    /// Starts a run, which prepares its first iteration if nothing prevents it.
    pub(super) fn begun(settings: Settings) -> Self {
        let mut run = Self {
            state: LoopState::default(),
            now_ms: NOW_MS,
            events: Vec::new(),
            effects: Vec::new(),
            history: Vec::new(),
        };
        run.take(&Input::Start(Box::new(start(settings))));
        run
    }

    pub(super) fn take(&mut self, input: &Input) {
        let Step { state, events, effects } = step(std::mem::take(&mut self.state), self.now_ms, input);
        self.history.extend(events.iter().cloned());
        (self.state, self.events, self.effects) = (state, events, effects);
    }

    pub(super) fn command(&mut self, command: UserCommand) {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by });
    }

    /// Begins the next iteration, unless something prevents it.
    pub(super) fn prepared(&mut self, preparation: Preparation) {
        let iteration = self.state.view.iterations.number + 1;
        let result = Ok(preparation);
        self.take(&Input::Prepared { iteration, result });
    }

    /// The agent of the latest iteration reports.
    pub(super) fn signal(&mut self, signal: AgentSignal) {
        let iteration = self.state.view.iterations.number;
        self.take(&Input::Agent { iteration, signal });
    }

    /// The agent of the latest iteration ends its turn, and its process ends.
    pub(super) fn end_session(&mut self) {
        agent_end().into_iter().for_each(|signal| self.signal(signal));
    }

    pub(super) fn settled(&mut self, settlement: Settlement) {
        let iteration = self.state.view.iterations.number;
        let settlement = Box::new(settlement);
        self.take(&Input::Settled { iteration, settlement });
    }

    /// The timer of this kind that the last input armed.
    pub(super) fn armed(&self, kind: TimerKind) -> Option<Timer> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Arm { timer } if timer.kind == kind => Some(*timer),
            _ => None,
        })
    }

    /// Fires a timer when it is due.
    pub(super) fn fire(&mut self, timer: Timer) {
        self.now_ms = self.now_ms.max(timer.at_ms);
        self.take(&Input::TimerFired { timer });
    }
}

/// A plan of these tasks, of which those marked `true` are done.
pub(super) fn plan(tasks: &[(&str, bool)]) -> PlanSnapshot {
    PlanSnapshot {
        tasks: tasks.iter().map(|(text, done)| task(text, *done)).collect(),
    }
}
