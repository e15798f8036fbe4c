//! Runs for tests of the screen: told in events, seconds apart.

use std::path::PathBuf;

use crate::{
    event::{
        AgentSignal, Changes, Checkpoint, DayLimits, Event, Goal, Limits, Outcome, PlanSnapshot, PlanTask, Record,
        RunId, Settings, SteeringId, SteeringKind, TaskLimits, Totals, Usage,
    },
    testing::iteration_started,
};

use super::model::Model;

/// 2026-11-20 10:28:35 UTC.
pub(super) const START_MS: u64 = 1_795_170_515_000;

/// A model of a screen of `cols` and `rows` after `events`, each a second after the one before.
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

/// A message that was given as `id`.
pub(super) fn queued(id: u32, kind: SteeringKind, text: &str) -> Event {
    Event::SteeringQueued {
        id: SteeringId(id),
        kind,
        text: text.to_owned(),
        answers: None,
    }
}

pub(super) fn plan(done: usize, open: usize) -> Event {
    const TASKS: [&str; 4] = [
        "Write the parser",
        "Test the parser with broken input",
        "Describe the format in README.md",
        "Measure how long 100 MB take, and say so",
    ];
    let tasks = (0..done + open).map(|at| PlanTask {
        text: TASKS[at % TASKS.len()].to_owned(),
        done: at < done,
        line: u32::try_from(at + 1).expect("few tasks"),
        depth: 0,
        heading: None,
        settings: Default::default(),
    });
    Event::PlanRead {
        plan: PlanSnapshot { tasks: tasks.collect() },
    }
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
            max_steps: None,
            per_task: TaskLimits::default(),
            per_day: DayLimits::default(),
            phase_timeout_ms: None,
        },
        goals: vec![Goal {
            name: "tests".to_owned(),
            command: "cargo test".to_owned(),
            target: None,
            timeout_ms: 900_000,
            on_edit: false,
        }],
        ..Settings::default()
    };
    vec![
        Event::JournalOpened {
            format: "ralph".to_owned(),
            version: 1,
            ralph: "0.1.0".to_owned(),
            run: RunId("20261120-102835-4f2a".to_owned()),
        },
        Event::RunStarted {
            project: PathBuf::from("/home/me/project"),
            pid: 1,
            settings: Box::new(settings),
            promise: "p".to_owned(),
            earlier_starts_ms: Vec::new(),
            earlier_spending: Vec::new(),
        },
        plan(0, 4),
    ]
}

pub(super) fn started(iteration: u32) -> Event {
    iteration_started(iteration, Some("Write the parser"), Some(checkpoint()))
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        commit: "c".to_owned(),
        tree: "t".to_owned(),
        head: None,
    }
}

/// The end of an iteration, and what came of it.
pub(super) fn ended(iteration: u32, outcome: Outcome) -> Vec<Event> {
    let changes = Changes {
        commits: 1,
        files: 3,
        added: 120,
        removed: 4,
    };
    vec![
        Event::AgentReported {
            iteration,
            signal: AgentSignal::Usage {
                usage: Usage {
                    input_tokens: Some(12_000),
                    cached_tokens: None,
                    output_tokens: Some(900),
                    cost_usd: Some(0.21),
                },
            },
        },
        Event::IterationEnded {
            iteration,
            outcome,
            exit: None,
            duration_ms: 42_000,
            output_bytes: 10_000,
        },
        Event::IterationSettled {
            iteration,
            checkpoint: Some(checkpoint()),
            changes: Some(changes),
            totals: Some(changes),
            progress: Some(true),
            undone: false,
        },
    ]
}

pub(super) fn stopped(reason: crate::event::StopReason) -> Event {
    Event::RunStopped {
        reason,
        hints: vec![crate::event::Hint::SetGoal],
        totals: Totals {
            iterations: 4,
            tasks_done: 4,
            tasks_open: 0,
            changes: None,
            usage: Usage::default(),
            elapsed_ms: 192_000,
        },
    }
}

/// Two iterations over, the third running.
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
