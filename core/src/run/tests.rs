use super::*;
use crate::event::{
    AgentEvent, AgentSignal, AskEvent, BreakerCause, BreakerState, CancelReason, Changes, Checkpoint, Claim,
    ClaimEvent, ConfidencePart, ConfirmedBy, Day, Delivery, Denial, Elsewhere, Event, Evidence, Exit, Flaky, GateEvent,
    Goal, GoalFailure, GoalResult, Hint, IterationCommit, IterationEvent, Missing, Notice, Outcome, PausedBy,
    PlanChange, PlanEvent, PlanSnapshot, PlanTask, Problem, ProblemKind, Proof, Record, RequestedBy, Role, RunEvent,
    RunId, SandboxState, SessionId, Settings, Spent, SteeringEvent, SteeringId, SteeringKind, StopReason, StopRequest,
    TaskEvent, TestCounts, TestsChange, TimeEvent, Totals, Trial, Usage, Wait, WaitCause, WaitEnd, WorkerEvent,
};
use crate::testing::{Dice, goal_checked, iteration_started, through_json, through_snapshots};

/// Generates arbitrary event sequences, reproducible by seed: a fold must accept sequences that make no sense.
struct Chaos {
    dice: Dice,
    at_ms: u64,
    seq: u64,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        Self {
            dice: Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            at_ms: 1_000_000_000,
            seq: 0,
        }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.dice.roll(end)
    }

    fn number(&mut self) -> u32 {
        u32::try_from(self.below(6)).unwrap()
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn text<T: From<&'static str>>(&mut self) -> T {
        ["one", "two", "three\nlines", "vier ✔", ""][usize::try_from(self.below(5)).unwrap()].into()
    }

    fn texts<T: From<&'static str>>(&mut self) -> Vec<T> {
        (0..self.below(3)).map(|_| self.text()).collect()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        match self.coin() {
            true => Some(make(self)),
            false => None,
        }
    }

    fn any<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    fn role(&mut self) -> Role {
        self.any(&[Role::Work, Role::Work, Role::Review { round: 2 }])
    }

    fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            commit: self.text(),
            tree: self.text(),
            head: self.maybe(Self::text),
        }
    }

    fn changes(&mut self) -> Changes {
        Changes {
            commits: self.number(),
            files: self.number(),
            added: self.below(100),
            removed: self.below(100),
        }
    }

    fn usage(&mut self) -> Usage {
        #[allow(clippy::cast_precision_loss)]
        let cost = |chaos: &mut Self| chaos.below(1_000_000) as f64 / 7.0;
        Usage {
            input_tokens: self.maybe(|chaos| chaos.below(1_000)),
            cached_tokens: self.maybe(|chaos| chaos.below(1_000)),
            output_tokens: self.maybe(|chaos| chaos.below(1_000)),
            cost_usd: self.maybe(cost),
            estimated: self.coin(),
        }
    }

    fn problem(&mut self) -> Problem {
        let until_ms = self.maybe(|chaos| chaos.below(1_000));
        Problem::said(
            self.any(&[
                ProblemKind::Network,
                ProblemKind::RateLimited { until_ms },
                ProblemKind::TurnLimit,
                ProblemKind::Crashed,
            ]),
            self.text::<String>(),
        )
    }

    fn outcome(&mut self) -> Outcome {
        let problem = self.problem();
        self.any(&[
            Outcome::Completed,
            Outcome::Failed { problem },
            Outcome::Cancelled {
                reason: CancelReason::IdleTimeout,
            },
            Outcome::Interrupted,
        ])
    }

    fn plan(&mut self) -> PlanSnapshot {
        let task = |chaos: &mut Self| PlanTask {
            text: chaos.text(),
            done: chaos.coin(),
            line: chaos.number(),
            depth: 0,
            heading: None,
            settings: Default::default(),
            ..PlanTask::default()
        };
        PlanSnapshot {
            tasks: (0..self.below(5)).map(|_| task(self)).collect(),
        }
    }

    fn settings(&mut self) -> Box<Settings> {
        let goal = |name: String| Goal {
            name,
            command: "true".to_owned(),
            target: None,
            timeout_ms: 1,
            on_edit: false,
            ..Goal::default()
        };
        Box::new(Settings {
            adapter: self.text(),
            model: self.maybe(Self::text),
            goals: self.texts().into_iter().map(goal).collect(),
            ..Settings::default()
        })
    }

    fn test_counts(&mut self) -> TestCounts {
        TestCounts {
            passed: u32::try_from(self.below(3)).unwrap(),
            ..TestCounts::default()
        }
    }

    fn goal_result(&mut self) -> GoalResult {
        GoalResult {
            name: self.text(),
            passed: self.coin(),
            exit: self.maybe(|_| Exit::Code { code: 1 }),
            score: self.usage().cost_usd,
            target: None,
            duration_ms: self.below(100),
            why: self.maybe(|run| GoalFailure::NotStarted { why: run.text() }),
            tail: self.text(),
            tests: self.maybe(Self::test_counts),
            doubt: self.maybe(Self::text),
            failed_tests: vec![self.text()].into(),
            flaky: self.maybe(|_| Flaky::default()),
            newly_skipped: Default::default(),
            sealed_output: None,
        }
    }

    fn signal(&mut self) -> AgentSignal {
        let (text, call, usage, problem) = (
            self.text::<String>(),
            self.text::<String>(),
            self.usage(),
            self.problem(),
        );
        let allowed = self.coin();
        let model = self.maybe(Self::text);
        self.any(&[
            AgentSignal::Opened { session: None, model },
            AgentSignal::Said { text: text.clone() },
            AgentSignal::ToolStarted {
                call: call.clone(),
                tool: "bash".to_owned(),
                input: text.clone(),
            },
            AgentSignal::ToolEnded {
                call: call.clone(),
                tool: "bash".to_owned(),
                ok: true,
                output: String::new(),
                duration_ms: None,
            },
            AgentSignal::Usage { usage },
            AgentSignal::PermissionAsked {
                id: call,
                text,
                allowed,
            },
            AgentSignal::Problem { problem },
        ])
    }

    #[allow(clippy::too_many_lines, reason = "a flat list of all events")]
    fn event(&mut self) -> Event {
        let iteration = self.number();
        let id = SteeringId(self.number());
        match self.below(34) {
            0 => Event::Run(RunEvent::JournalOpened {
                format: "ralph-journal".to_owned(),
                version: 2,
                ralph: "0.1.0".to_owned(),
                run: RunId(self.text()),
            }),
            1 => Event::Run(RunEvent::Started {
                project: "/project".into(),
                pid: 1,
                settings: self.settings(),
                promise: "secret".to_owned(),
                number: 1,
                earlier_starts_ms: vec![self.at_ms - self.below(7_200_000)],
                earlier_spending: vec![Spent {
                    from_ms: self.at_ms - self.below(7_200_000),
                    usage: Usage::default(),
                }],
            }),
            2 => Event::Run(RunEvent::Resumed {
                pid: 2,
                ralph: self.text(),
                settings: self.settings(),
            }),
            3 => Event::Time(TimeEvent::ClockMoved {
                gap_ms: i64::try_from(self.below(20_000)).unwrap() - 10_000,
            }),
            4 => Event::Noticed {
                notice: match self.coin() {
                    true => Notice::info("any", self.text::<String>()),
                    false => Notice::warning("any", self.text::<String>()),
                },
            },
            5 if self.coin() => Event::Plan(PlanEvent::Changed {
                change: PlanChange::between(&self.plan(), &self.plan()),
            }),
            5 => Event::Plan(PlanEvent::Read { plan: self.plan() }),
            6 => Event::Iteration(IterationEvent::PreparationStarted {
                iteration,
                adapter: self.text(),
                role: self.role(),
            }),
            7 | 8 => Event::Iteration(IterationEvent::Started {
                iteration,
                adapter: self.text(),
                model: self.maybe(Self::text),
                task: self.maybe(Self::text),
                resume: self.maybe(|chaos| SessionId(chaos.text())),
                live_steering: self.coin(),
                checkpoint: self.maybe(Self::checkpoint),
                prompt_bytes: 1,
                overhead_bytes: 1,
                messages: Vec::new(),
                role: self.role(),
            }),
            9..=11 => Event::Agent(AgentEvent::Reported {
                iteration,
                signal: self.signal(),
            }),
            12 => Event::Agent(AgentEvent::DetailsOmitted { iteration }),
            13 => Event::Iteration(IterationEvent::CancelRequested {
                iteration,
                reason: CancelReason::Skipped,
            }),
            14 => Event::Iteration(IterationEvent::Ended {
                iteration,
                outcome: self.outcome(),
                exit: None,
                duration_ms: self.below(1_000),
                output_bytes: self.below(1_000),
            }),
            15 => Event::Iteration(IterationEvent::Settled {
                iteration,
                checkpoint: self.maybe(Self::checkpoint),
                changes: self.maybe(Self::changes),
                totals: self.maybe(Self::changes),
                progress: self.maybe(Self::coin),
                undone: self.coin(),
                committed: self.coin().then(|| IterationCommit {
                    commit: "c0".to_owned(),
                    files: 2,
                }),
                elsewhere: Elsewhere::default(),
            }),
            16 => Event::Claim(ClaimEvent::Made {
                iteration,
                claim: self.any(&[Claim::Promise, Claim::PlanComplete]),
            }),
            17 => Event::Claim(ClaimEvent::Denied {
                iteration,
                why: Denial::NotDone { why: self.text() },
            }),
            18 => Event::Plan(PlanEvent::Edited {
                iteration,
                vanished: self.texts(),
                added: self.texts(),
            }),
            19 => Event::Task(TaskEvent::Blocked {
                iteration,
                task: self.maybe(Self::text),
                question: self.text(),
            }),
            20 => Event::Gate(GateEvent::VerificationStarted {
                iteration,
                goals: self.texts(),
                ticks: self.coin(),
            }),
            21 if self.coin() => Event::Ask(AskEvent::Asked {
                ask: Box::new(crate::run::tests_question(1, iteration, &TestsChange::default())),
            }),
            21 if self.coin() => Event::Gate(GateEvent::TestsConfirmed {
                iteration,
                changes: Vec::new().into(),
                by: ConfirmedBy::Plan { task: self.text() },
            }),
            21 if self.coin() => Event::Gate(GateEvent::TrialMade {
                iteration,
                trial: Trial {
                    changes: Vec::new().into(),
                    results: vec![self.goal_result()],
                    problem: self.maybe(Self::text),
                },
            }),
            21 => Event::Gate(GateEvent::GoalChecked {
                iteration,
                result: self.goal_result(),
            }),
            22 => Event::Claim(ClaimEvent::Judged {
                iteration,
                confidence: 10,
                parts: vec![ConfidencePart {
                    evidence: Evidence::AgentsWord,
                    points: 10,
                }]
                .into(),
            }),
            23 => Event::Claim(ClaimEvent::Refused {
                iteration,
                reasons: self
                    .texts()
                    .into_iter()
                    .map(|task| Missing::TaskVanished { task })
                    .collect(),
            }),
            24 => Event::BreakerMoved {
                to: self.any(&[BreakerState::Closed, BreakerState::HalfOpen, BreakerState::Open]),
                why: BreakerCause::SameError {
                    iterations: self.number(),
                },
            },
            25 => Event::Worker(WorkerEvent::AdapterLimited {
                adapter: self.text(),
                until_ms: self.below(1_000),
            }),
            26 => Event::Time(TimeEvent::WaitStarted {
                wait: self.any(&[Wait::Backoff, Wait::LimitReset, Wait::CallBudget, Wait::DayBudget]),
                until_ms: self.at_ms + 1,
                attempt: self.number(),
                why: WaitCause::CallsUsedUp,
            }),
            27 => Event::Time(TimeEvent::WaitEnded {
                cause: self.any(&[WaitEnd::Elapsed, WaitEnd::RetriedNow]),
            }),
            33 => Event::Time(TimeEvent::DayBegan {
                day: Day {
                    from_ms: self.at_ms - self.below(7_200_000),
                    until_ms: self.at_ms + 1,
                },
            }),
            28 => Event::Time(TimeEvent::Paused { by: PausedBy::User }),
            29 => Event::Steering(SteeringEvent::Queued {
                id,
                kind: self.any(&[SteeringKind::Next, SteeringKind::Standing]),
                text: self.text(),
                answers: None,
            }),
            30 => Event::Steering(SteeringEvent::Delivered {
                id,
                iteration,
                how: Delivery::Prompt,
            }),
            31 if self.coin() => Event::Run(RunEvent::StopWithdrawn),
            31 => Event::Run(RunEvent::StopRequested {
                stop: self.any(&[
                    StopRequest::AfterIteration,
                    StopRequest::Graceful,
                    StopRequest::Immediate,
                ]),
                by: self.any(&[RequestedBy::User, RequestedBy::Interrupt]),
            }),
            _ => match self.coin() {
                true => Event::Run(RunEvent::Stopped {
                    reason: StopReason::done(Proof::ExitCodes),
                    hints: self.texts().into_iter().map(|how| Hint::LogIn { how }).collect(),
                    totals: Totals::default(),
                }),
                false => Event::Run(RunEvent::Reopened {
                    by: RequestedBy::User,
                    continued: self.coin(),
                }),
            },
        }
    }

    fn record(&mut self) -> Record {
        // The clock may be set back.
        self.at_ms = self.at_ms + self.below(10_000) - 1_000;
        self.seq += 1;
        Record {
            seq: self.seq - 1,
            at_ms: self.at_ms,
            event: self.event(),
        }
    }
}

#[test]
fn a_snapshot_and_its_tail_are_the_whole_fold_whatever_happened() {
    for seed in 1..=25 {
        let mut chaos = Chaos::new(seed);
        let records: Vec<Record> = (0..120).map(|_| chaos.record()).collect();
        let whole = RunView::of(&records);
        assert_eq!(through_snapshots(&records), whole, "seed {seed}");
        assert_eq!(whole.records, 120);
    }
}

#[test]
fn a_run_is_shown_by_the_name_of_its_directory() {
    let name = "20261120-102835-0424f2a90b1c3d7e86a";
    assert_eq!(RunId(name.to_owned()).to_string(), name);
}

#[test]
fn a_view_tells_neither_the_promise_nor_what_the_agent_says() {
    let started = Event::Run(RunEvent::Started {
        project: "/project".into(),
        pid: 1,
        settings: Box::default(),
        promise: "secret-promise".to_owned(),
        number: 1,
        earlier_starts_ms: Vec::new(),
        earlier_spending: Vec::new(),
    });
    let said = |signal| Event::Agent(AgentEvent::Reported { iteration: 1, signal });
    let text = "secret-thought".to_owned();
    let mut view = RunView::default();
    for event in [
        started,
        said(AgentSignal::Said { text: text.clone() }),
        said(AgentSignal::Thought { text: text.clone() }),
        said(AgentSignal::TurnEnded {
            ok: true,
            message: Some(text),
        }),
    ] {
        view.apply_event(1, &event);
    }
    let json = serde_json::to_string(&view).unwrap();
    assert!(!json.contains("secret"), "{json}");
}

fn iteration_of_a_long_run(number: u32) -> [Event; 4] {
    let task = format!("task {}", number % 50);
    [
        iteration_started(number, Some(&task), None),
        goal_checked(number, "tests", 1, &"x".repeat(8_000)),
        Event::Iteration(IterationEvent::Ended {
            iteration: number,
            outcome: Outcome::Completed,
            exit: None,
            duration_ms: 1_000,
            output_bytes: 1,
        }),
        Event::Noticed {
            notice: Notice::warning("long", "something".repeat(100)),
        },
    ]
}

#[test]
fn a_run_of_twelve_thousand_iterations_takes_no_more_than_its_rows() {
    let mut view = RunView::default();
    for number in 1..=12_000 {
        for event in iteration_of_a_long_run(number) {
            view.apply_event(u64::from(number), &event);
        }
    }
    let rows = &view.iterations.rows;
    assert_eq!((rows.len(), rows.dropped()), (10_000, 2_000));
    assert_eq!(view.iterations.number, 12_000);
    assert_eq!(view.iterations.work["task 7"].duration_ms, 240_000);
    let json = serde_json::to_string(&view).unwrap();
    assert!(json.len() < 16 << 20, "{} bytes", json.len());
    assert_eq!(through_json(&view), view);
}

#[test]
fn a_message_that_is_withdrawn_keeps_where_it_was_delivered() {
    let mut view = RunView::default();
    let id = SteeringId(1);
    let how = Delivery::Prompt;
    for event in [
        Event::Steering(SteeringEvent::Queued {
            id,
            kind: SteeringKind::Standing,
            text: "use tabs".to_owned(),
            answers: None,
        }),
        Event::Steering(SteeringEvent::Delivered { id, iteration: 3, how }),
    ] {
        view.apply_event(1, &event);
    }
    assert!(view.messages[0].is_due() && !view.messages[0].is_queued());
    view.apply_event(2, &Event::Steering(SteeringEvent::Withdrawn { id }));
    let message = &view.messages[0];
    assert_eq!((message.state(), message.is_due()), (MessageState::Withdrawn, false));
    assert_eq!(message.delivered.last(), Some(&Delivered { iteration: 3, how }));
}

#[test]
fn a_task_that_comes_back_keeps_its_work_and_is_open_once_the_user_has_answered() {
    let plan = |texts: &[&str]| {
        let task = |text: &&str| PlanTask {
            text: (*text).to_owned(),
            done: false,
            line: 1,
            depth: 0,
            heading: None,
            settings: Default::default(),
            ..PlanTask::default()
        };
        let tasks = texts.iter().map(task).collect();
        Event::Plan(PlanEvent::Read {
            plan: PlanSnapshot { tasks },
        })
    };
    let mut view = RunView::default();
    let states = |view: &RunView| -> Vec<TaskState> { view.tasks().iter().map(|task| task.state).collect() };
    let [started, _, ended, _] = iteration_of_a_long_run(2);
    let vanished = Event::Plan(PlanEvent::Edited {
        iteration: 2,
        vanished: vec!["task 2".to_owned()],
        added: Vec::new(),
    });
    for event in [plan(&["task 1", "task 2"]), started, ended, plan(&["task 1"]), vanished] {
        view.apply_event(1, &event);
    }
    assert_eq!(states(&view), [TaskState::Open, TaskState::Vanished]);
    view.apply_event(2, &plan(&["task 1", "task 2"]));
    assert_eq!(states(&view), [TaskState::Open, TaskState::Open]);
    let work = Work {
        iterations: vec![2],
        duration_ms: 1_000,
        counted: 1,
        ..Work::default()
    };
    assert_eq!(view.tasks()[1].work, work);
    let blocked = Event::Task(TaskEvent::Blocked {
        iteration: 2,
        task: Some("task 2".to_owned()),
        question: "Which colour?".into(),
    });
    view.apply_event(3, &blocked);
    assert_eq!(states(&view), [TaskState::Open, TaskState::Blocked]);
    let answered = Event::Steering(SteeringEvent::Queued {
        id: SteeringId(1),
        kind: SteeringKind::Next,
        text: "blue".to_owned(),
        answers: None,
    });
    view.apply_event(4, &answered);
    assert_eq!(states(&view), [TaskState::Open, TaskState::Open]);
}

#[test]
fn the_settings_of_a_start_and_of_a_resume_tell_the_sandbox() {
    let resumed = |sandbox| {
        Event::Run(RunEvent::Resumed {
            pid: 1,
            ralph: String::new(),
            settings: Box::new(Settings {
                sandbox,
                ..Settings::default()
            }),
        })
    };
    let mut view = RunView::default();
    for sandbox in [Some(SandboxState::On), Some(SandboxState::Unconfined), None] {
        view.apply_event(1, &resumed(sandbox));
        assert_eq!(view.sandbox, sandbox);
    }
}
