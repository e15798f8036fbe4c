//! A run for tests: it takes inputs one after the other, and its plan and files are what the test says.

use crate::{
    event::{
        AgentSignal, Checkpoint, Event, Exit, Outcome, PlanSnapshot, Problem, RequestedBy, Settings, StopReason,
        StopRequest, UserCommand,
    },
    run::Phase,
};

use super::{Input, LoopState, Preparation, Settlement, Statement, Verification, step, testing};

/// A run, with the files that its next preparation or settlement finds.
pub(super) struct ScriptedRun {
    pub(super) state: LoopState,
    pub(super) now_ms: u64,
    pub(super) plan: PlanSnapshot,
    pub(super) files: Option<Checkpoint>,
    /// Whether the agent takes messages while it works.
    pub(super) live_steering: bool,
}

impl ScriptedRun {
    /// Starts a run with tasks as in [`plan_of`].
    pub(super) fn start(settings: Settings, tasks: &[&str]) -> Self {
        let mut script = Self {
            state: LoopState::default(),
            now_ms: 1_000_000,
            plan: plan_of(tasks),
            files: None,
            live_steering: false,
        };
        script.take(&Input::Start(Box::new(testing::start(settings))));
        script
    }

    /// As `start`, with the first iteration running.
    pub(super) fn running(settings: Settings, tasks: &[&str]) -> Self {
        let mut script = Self::start(settings, tasks);
        script.prepare();
        script
    }

    pub(super) fn take(&mut self, input: &Input) -> Vec<Event> {
        let step = step(std::mem::take(&mut self.state), self.now_ms, input);
        self.state = step.state;
        step.events
    }

    /// The number of the iteration that is prepared or was begun last.
    pub(super) fn iteration(&self) -> u32 {
        match self.state.view.phase {
            Phase::Preparing { iteration } => iteration,
            _ => self.state.view.iterations.number,
        }
    }

    pub(super) fn preparation(&self) -> Preparation {
        let due = self.state.view.messages.iter().filter(|message| message.is_due());
        Preparation {
            checkpoint: self.files.clone(),
            delivered: due.map(|message| message.id).collect(),
            live_steering: self.live_steering,
            ..testing::preparation(self.plan.clone())
        }
    }

    /// Ends the preparation, with the messages that are due in the prompt.
    pub(super) fn prepare(&mut self) -> Vec<Event> {
        let preparation = self.preparation();
        self.prepare_as(preparation)
    }

    pub(super) fn prepare_as(&mut self, preparation: Preparation) -> Vec<Event> {
        let (iteration, result) = (self.iteration(), Ok(preparation));
        self.take(&Input::Prepared { iteration, result })
    }

    pub(super) fn signal(&mut self, signal: AgentSignal) -> Vec<Event> {
        let iteration = self.iteration();
        self.take(&Input::Agent { iteration, signal })
    }

    pub(super) fn say(&mut self, text: &str) -> Vec<Event> {
        let text = text.to_owned();
        self.signal(AgentSignal::Said { text })
    }

    pub(super) fn tell(&mut self, statement: Statement) -> Vec<Event> {
        let iteration = self.iteration();
        self.take(&Input::AgentStated { iteration, statement })
    }

    /// The agent's turn and its process end well.
    pub(super) fn complete(&mut self) -> Vec<Event> {
        let signals = testing::agent_end();
        signals.into_iter().flat_map(|signal| self.signal(signal)).collect()
    }

    /// The agent's turn fails with this problem, and its process ends.
    pub(super) fn fail(&mut self, problem: Problem) -> Vec<Event> {
        let ended = AgentSignal::TurnEnded {
            ok: false,
            message: None,
        };
        let mut events = self.signal(AgentSignal::Problem { problem });
        events.extend(self.signal(ended));
        events.extend(self.end());
        events
    }

    /// The agent's process ends without a word.
    pub(super) fn end(&mut self) -> Vec<Event> {
        self.signal(AgentSignal::Ended {
            exit: Some(Exit::Signal { signal: 15 }),
            output_bytes: 1,
        })
    }

    /// Ends the iteration with this outcome: `Completed`, `Failed` or `Interrupted`.
    pub(super) fn end_as(&mut self, outcome: &Outcome) -> Vec<Event> {
        match outcome {
            Outcome::Completed => self.complete(),
            Outcome::Failed { problem } => self.fail(problem.clone()),
            Outcome::Interrupted => self.recover(),
            Outcome::Cancelled { .. } => panic!("a command cancels an iteration"),
        }
    }

    pub(super) fn settlement(&self) -> Settlement {
        Settlement {
            checkpoint: self.files.clone(),
            ..Settlement::from_plan(Ok(self.plan.clone()), 0.5)
        }
    }

    pub(super) fn settle(&mut self) -> Vec<Event> {
        let settlement = self.settlement();
        self.settle_as(settlement)
    }

    pub(super) fn settle_as(&mut self, settlement: Settlement) -> Vec<Event> {
        let (iteration, settlement) = (self.iteration(), Box::new(settlement));
        self.take(&Input::Settled { iteration, settlement })
    }

    /// An iteration that is prepared, completes and is settled. Returns the events of the settlement.
    pub(super) fn iterate(&mut self) -> Vec<Event> {
        self.prepare();
        self.complete();
        self.settle()
    }

    pub(super) fn verification(&self, passed: bool) -> Verification {
        let results = self
            .state
            .view
            .running_goals()
            .map(|goal| testing::goal_result(&goal.name, passed));
        Verification {
            notices: Vec::new(),
            results: results.collect(),
            trial: None,
            broken: None,
            mutants: Vec::new(),
            plan: Ok(self.plan.clone()),
            vanished: Vec::new(),
            added: Vec::new(),
            random: 0.5,
        }
    }

    /// The running goals all pass, or all fail.
    pub(super) fn verify(&mut self, passed: bool) -> Vec<Event> {
        let verification = self.verification(passed);
        self.verify_as(verification)
    }

    pub(super) fn verify_as(&mut self, verification: Verification) -> Vec<Event> {
        let Phase::Verifying { iteration, .. } = self.state.view.phase else {
            panic!("{:?} verifies nothing", self.state.view.phase);
        };
        let verification = Box::new(verification);
        self.take(&Input::Verified {
            iteration,
            verification,
        })
    }

    pub(super) fn command(&mut self, command: UserCommand) -> Vec<Event> {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    pub(super) fn stop(&mut self, stop: StopRequest) -> Vec<Event> {
        self.command(UserCommand::Stop { stop })
    }

    /// ralph is killed and started again with the same settings.
    pub(super) fn recover(&mut self) -> Vec<Event> {
        let settings = (*self.state.view.settings).clone();
        self.recover_with(settings)
    }

    pub(super) fn recover_with(&mut self, settings: Settings) -> Vec<Event> {
        self.take(&Input::Recover {
            pid: 2,
            settings: Box::new(settings),
            pause_file: self.state.view.paused_by_file,
            day: self.state.view.spending.day,
        })
    }

    /// Ticks a task of the plan.
    pub(super) fn tick(&mut self, text: &str) {
        let mut tasks = self.plan.tasks.iter_mut();
        tasks.find(|task| task.text == text).expect("a task of the plan").done = true;
    }

    pub(super) fn prepares(&self, iteration: u32) -> bool {
        self.state.view.phase == Phase::Preparing { iteration }
    }

    pub(super) fn stop_reason(&self) -> Option<&StopReason> {
        self.state.view.stop_reason()
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.stop_reason(), Some(StopReason::Done { .. }))
    }

    /// The latest outcome of an iteration.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.state.view.iterations.latest()?.outcome.as_ref()
    }
}

/// A plan of these tasks; a `+` before one means that it is done.
pub(super) fn plan_of(tasks: &[&str]) -> PlanSnapshot {
    let task = |text: &&str| match text.strip_prefix('+') {
        Some(text) => testing::task(text, true),
        None => testing::task(text, false),
    };
    PlanSnapshot {
        tasks: tasks.iter().map(task).collect(),
    }
}

/// Files with this content, at this commit of the user's branch.
pub(super) fn files(tree: &str, head: &str) -> Option<Checkpoint> {
    Some(Checkpoint {
        commit: format!("checkpoint of {tree}"),
        tree: tree.to_owned(),
        head: Some(head.to_owned()),
    })
}

/// The sentences of the notices among `events`.
pub(super) fn notices(events: &[Event]) -> Vec<String> {
    let notices = events.iter().filter_map(Event::notice);
    notices.map(|notice| notice.text.to_string()).collect()
}

/// Whether the agent's process was asked to end.
pub(super) fn is_cancelling(script: &ScriptedRun) -> bool {
    matches!(script.state.view.phase, Phase::Cancelling { .. })
}
