//! Runs for tests of the screen: sequences of events, one second apart.

use std::path::PathBuf;

use ralph_core::{
    event::{
        AgentEvent, AgentSignal, AskEvent, Changes, Checkpoint, Event, Goal, IterationEvent, Limits, Outcome,
        PlanEvent, PlanSnapshot, PlanTask, Record, RunEvent, RunId, Settings, SteeringEvent, SteeringId, SteeringKind,
        TimeEvent, Totals, Usage,
    },
    testing::{iteration_started, permission_asked, question_asked},
};
use ralph_plan::batch::{
    Batch, BatchEvent, BatchId, BatchLimits, BatchRecord, JobEnd, MergeTrouble, PlanName, Planned,
};

use crate::board::{Board, PlanRuns};

use super::model::{BoardModel, Model};

/// 2026-11-20 10:28:35 UTC.
pub(super) const START_MS: u64 = 1_795_170_515_000;

/// A model of a screen of `cols` and `rows` after `events`, which are one second apart.
pub(super) fn model(cols: u16, rows: u16, events: impl IntoIterator<Item = Event>) -> Model {
    let mut model = Model {
        now_ms: START_MS,
        ..Model::default()
    };
    (model.ui.cols, model.ui.rows) = (cols, rows);
    for (seq, event) in events.into_iter().enumerate() {
        let seq = seq as u64;
        model.apply(&Record {
            seq,
            at_ms: START_MS + seq * 1000,
            event,
        });
    }
    model
}

/// The queued message `id`.
pub(super) fn queued(id: u32, kind: SteeringKind, text: &str) -> Event {
    Event::Steering(SteeringEvent::Queued {
        id: SteeringId(id),
        kind,
        text: text.to_owned(),
        answers: None,
    })
}

const TASKS: [&str; 4] = [
    "Write the parser",
    "Test the parser with broken input",
    "Describe the format in README.md",
    "Measure how long 100 MB take, and say so",
];

pub(super) fn plan(done: usize, open: usize) -> Event {
    let tasks = (0..done + open).map(|at| PlanTask {
        text: TASKS[at % TASKS.len()].to_owned(),
        done: at < done,
        line: u32::try_from(at + 1).expect("few tasks"),
        depth: 0,
        heading: None,
        settings: Default::default(),
        ..PlanTask::default()
    });
    Event::Plan(PlanEvent::Read {
        plan: PlanSnapshot { tasks: tasks.collect() },
    })
}

pub(super) fn begun() -> Vec<Event> {
    let settings = Settings {
        adapter: "codex".to_owned(),
        model: Some("gpt-5.1".to_owned()),
        plan: PathBuf::from("/home/me/project/PLAN.md"),
        limits: Limits {
            max_iterations: Some(50),
            max_time_ms: Some(8 * 3_600_000),
            iteration_timeout_ms: Some(3_600_000),
            idle_timeout_ms: Some(600_000),
            max_cost_usd: Some(2.0),
            max_tokens: None,
            calls_per_hour: None,
            warn_at: Some(0.8),
            ..Limits::default()
        },
        goals: vec![Goal {
            name: "tests".to_owned(),
            command: "cargo test".to_owned(),
            target: None,
            timeout_ms: 900_000,
            on_edit: false,
            ..Goal::default()
        }],
        ..Settings::default()
    };
    vec![
        Event::Run(RunEvent::JournalOpened {
            format: "ralph".to_owned(),
            version: 1,
            ralph: "0.1.0".to_owned(),
            run: RunId("20261120-102835-4f2a".to_owned()),
        }),
        Event::Run(RunEvent::Started {
            project: PathBuf::from("/home/me/project"),
            pid: 1,
            settings: Box::new(settings),
            promise: "p".to_owned(),
            number: 1,
            earlier_starts_ms: Vec::new(),
            earlier_spending: Vec::new(),
        }),
        plan(0, 4),
    ]
}

/// The start of an iteration, each with the next task.
pub(super) fn started(iteration: u32) -> Event {
    let task = TASKS[(iteration as usize - 1) % TASKS.len()];
    iteration_started(iteration, Some(task), Some(checkpoint()))
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        commit: "c".to_owned(),
        tree: "t".to_owned(),
        head: None,
    }
}

/// The end of an iteration with its results.
pub(super) fn ended(iteration: u32, outcome: Outcome) -> Vec<Event> {
    let changes = Changes {
        commits: 1,
        files: 3,
        added: 120,
        removed: 4,
    };
    vec![
        Event::Agent(AgentEvent::Reported {
            iteration,
            signal: AgentSignal::Usage {
                usage: Usage {
                    input_tokens: Some(12_000),
                    cached_tokens: None,
                    output_tokens: Some(900),
                    cost_usd: Some(0.21),
                    ..Usage::default()
                },
            },
        }),
        Event::Iteration(IterationEvent::Ended {
            iteration,
            outcome,
            exit: None,
            duration_ms: 42_000,
            output_bytes: 10_000,
        }),
        Event::Iteration(IterationEvent::Settled {
            iteration,
            checkpoint: Some(checkpoint()),
            changes: Some(changes),
            totals: Some(changes),
            progress: Some(true),
            undone: false,
            committed: None,
            elsewhere: ralph_core::event::Elsewhere::default(),
        }),
    ]
}

pub(super) fn stopped(reason: ralph_core::event::StopReason) -> Event {
    Event::Run(RunEvent::Stopped {
        reason,
        hints: vec![ralph_core::event::Hint::SetGoal].into(),
        totals: Totals {
            iterations: 4,
            tasks_done: 4,
            tasks_open: 0,
            changes: None,
            usage: Usage::default(),
            elapsed_ms: 192_000,
        },
    })
}

/// A run with two finished iterations and a third that runs.
pub(super) fn running() -> Vec<Event> {
    let mut events = begun();
    events.push(started(1));
    events.extend(ended(1, Outcome::Completed));
    events.push(plan(1, 3));
    events.push(started(2));
    events.extend(ended(2, Outcome::Completed));
    events.push(plan(2, 2));
    events.push(started(3));
    events
}

pub(super) fn plan_name(name: &str) -> PlanName {
    PlanName(name.to_owned())
}

/// A batch of `plans`, two at a time, after `events`, which are one second apart.
pub(super) fn batch(plans: &[&str], events: impl IntoIterator<Item = BatchEvent>) -> Batch {
    let planned = plans.iter().map(|name| Planned {
        name: plan_name(name),
        file: format!("plans/{name}.md"),
        section: None,
        after: Vec::new(),
        issue: None,
    });
    let batch = BatchId("20261120-102835".to_owned());
    let begun = [
        BatchEvent::BatchOpened {
            format: "ralph-batch".to_owned(),
            version: 1,
            ralph: "0.1.0".to_owned(),
            batch: batch.clone(),
        },
        BatchEvent::BatchStarted {
            target: batch.target(),
            base: "c0".to_owned(),
            jobs: 2,
            engine: "local".to_owned(),
            arguments: Vec::new(),
            plans: planned.collect(),
            limits: BatchLimits::default(),
            delivery: None,
            watches: false,
        },
    ];
    let records = begun
        .into_iter()
        .chain(events)
        .zip(0..)
        .map(|(event, seq)| BatchRecord {
            seq,
            at_ms: START_MS + seq * 1000,
            event,
        });
    Batch::from_records(&records.collect::<Vec<_>>()).expect("a batch")
}

/// The view of run `run` after `events`.
pub(super) fn seen(run: &str, events: impl IntoIterator<Item = Event>) -> PlanRuns {
    let mut seen = PlanRuns::default();
    for (event, seq) in events.into_iter().zip(0..) {
        let event = match event {
            Event::Run(RunEvent::JournalOpened {
                format, version, ralph, ..
            }) => Event::Run(RunEvent::JournalOpened {
                format,
                version,
                ralph,
                run: RunId(run.to_owned()),
            }),
            event => event,
        };
        seen.apply(&Record {
            seq,
            at_ms: START_MS + seq * 1000,
            event,
        });
    }
    seen
}

/// The events of a plan whose run has started.
pub(super) fn at_work(name: &str) -> [BatchEvent; 3] {
    let plan = plan_name(name);
    [
        BatchEvent::PlanStarted { plan: plan.clone() },
        BatchEvent::WorkTreeAdded {
            plan: plan.clone(),
            base: "c0".to_owned(),
            tree: String::new(),
        },
        BatchEvent::JobStarted { plan },
    ]
}

/// The events of a plan whose run is done.
pub(super) fn job_done(name: &str) -> Vec<BatchEvent> {
    let end = JobEnd::Over {
        reason: ralph_core::event::StopReason::done(ralph_core::event::Proof::ExitCodes),
    };
    let plan = plan_name(name);
    [
        at_work(name).to_vec(),
        vec![BatchEvent::JobEnded { plan, end, calls: 0 }],
    ]
    .concat()
}

/// The events of a merge that is being verified.
pub(super) fn verifying(name: &str) -> [BatchEvent; 2] {
    let (plan, commit) = (plan_name(name), format!("{name}0123456789"));
    let onto = "c0".to_owned();
    [
        BatchEvent::MergeStarted {
            plan: plan.clone(),
            with: Vec::new(),
        },
        BatchEvent::MergeMade {
            plan,
            commit,
            onto,
            with: Vec::new(),
        },
    ]
}

/// The events of a completed merge.
pub(super) fn merged(name: &str) -> Vec<BatchEvent> {
    let (plan, commit) = (plan_name(name), format!("{name}0123456789"));
    let moved = [
        BatchEvent::MergeVerified {
            plan: plan.clone(),
            proof: None,
        },
        BatchEvent::TargetMoved {
            plan,
            commit,
            with: Vec::new(),
        },
    ];
    [job_done(name), verifying(name).to_vec(), moved.to_vec()].concat()
}

/// The events of a merge with a conflict.
pub(super) fn in_conflict(name: &str) -> Vec<BatchEvent> {
    let plan = plan_name(name);
    let trouble = MergeTrouble::Conflict {
        files: vec!["src/lib.rs".to_owned()],
    };
    let refused = [
        BatchEvent::MergeStarted {
            plan: plan.clone(),
            with: Vec::new(),
        },
        BatchEvent::MergeRefused {
            plan,
            trouble,
            onto: "5e335bc53f".to_owned(),
            branch: String::new(),
        },
    ];
    [job_done(name), refused.to_vec()].concat()
}

/// The plans of [`busy_board`].
pub(super) const PLANS: [&str; 8] = ["api", "ui", "docs", "search", "billing", "import", "mail", "audit"];

/// A batch with plans in many different states.
pub(super) fn busy_board() -> Board {
    let said = Event::Agent(AgentEvent::Reported {
        iteration: 3,
        signal: AgentSignal::Said {
            text: "The parser is there.\n\nNow the tests of lists in tables.\n".to_owned(),
        },
    });
    let limited = Event::Time(TimeEvent::WaitStarted {
        wait: ralph_core::event::Wait::LimitReset,
        until_ms: START_MS + 3_600_000,
        attempt: 0,
        why: ralph_core::event::WaitCause::CallsUsedUp,
    });
    // Five minutes are left when the board is drawn.
    let in_time = |mut event: Event| {
        if let Event::Ask(AskEvent::Asked { ask }) = &mut event {
            ask.until_ms = Some(START_MS + 420_000);
        }
        event
    };
    let done = [
        running(),
        vec![
            plan(4, 0),
            stopped(ralph_core::event::StopReason::done(ralph_core::event::Proof::ExitCodes)),
        ],
    ]
    .concat();
    let runs = [
        ("api", done.clone()),
        ("ui", [running(), vec![said]].concat()),
        ("docs", [running(), vec![in_time(permission_asked(1))]].concat()),
        ("search", [running(), vec![limited]].concat()),
        ("billing", done.clone()),
        ("import", done),
        ("mail", [running(), vec![in_time(question_asked(1, false))]].concat()),
    ];
    let runs: Vec<(&str, PlanRuns)> = runs
        .into_iter()
        .map(|(name, events)| (name, seen(name, events)))
        .collect();
    let events = [
        merged("api"),
        at_work("ui").to_vec(),
        at_work("docs").to_vec(),
        at_work("search").to_vec(),
        in_conflict("billing"),
        job_done("import"),
        verifying("import").to_vec(),
        at_work("mail").to_vec(),
    ];
    let batch = batch(&PLANS, events.concat());
    let times_ms = (START_MS, START_MS + 60_000);
    let seen = |plan: &PlanName| {
        let run = runs.iter().find(|(name, _)| *name == plan.0);
        run.map(|(_, seen)| seen)
    };
    Board::new(&batch, times_ms, true, (seen, |_| None))
}

/// The screen of `board`, two minutes after its batch began.
pub(super) fn board_model(board: Board, size: (u16, u16)) -> BoardModel {
    BoardModel::new(board, size, START_MS + 120_000)
}
