//! Tests of the records of plans: their size, and the state that they fold to.

use crate::{
    event::{AgentSignal, Event, Exit, PlanEvent, PlanSnapshot, Settings},
    run::RunView,
};

use super::{Input, LoopState, Settlement, Step, step, testing};

/// A run whose iterations edit the plan.
struct Run {
    state: LoopState,
    plan: PlanSnapshot,
    events: Vec<Event>,
    /// The boxes that are toggled while the agent of the next iteration works.
    toggled: Option<Vec<u32>>,
}

impl Run {
    fn with_tasks(count: usize) -> Self {
        let tasks = (0..count).map(|number| testing::task(&format!("a task, and its number is {number}"), false));
        let mut run = Self {
            state: LoopState::default(),
            plan: PlanSnapshot { tasks: tasks.collect() },
            events: Vec::new(),
            toggled: None,
        };
        run.take(&Input::Start(Box::new(testing::start(Settings::default()))));
        run
    }

    fn take(&mut self, input: &Input) {
        let Step { state, events, .. } = step(std::mem::take(&mut self.state), 1_000, input);
        self.state = state;
        self.events.extend(events);
    }

    /// Prepares an iteration, edits the plan in it and settles it. Returns the size of its records in bytes.
    fn iterate(&mut self, edit: impl FnOnce(&mut PlanSnapshot)) -> usize {
        let iteration = self.state.view.iterations.number + 1;
        let from = self.events.len();
        let result = Ok(testing::preparation(self.plan.clone()));
        self.take(&Input::Prepared { iteration, result });
        let ended = AgentSignal::Ended {
            exit: Some(Exit::Code { code: 0 }),
            output_bytes: 1,
        };
        let (ok, message) = (true, None);
        if let Some(toggled) = self.toggled.take() {
            self.take(&Input::BoxesToggled { iteration, toggled });
        }
        for signal in [AgentSignal::TurnEnded { ok, message }, ended] {
            self.take(&Input::Agent { iteration, signal });
        }
        edit(&mut self.plan);
        let settlement = Settlement::from_plan(Ok(self.plan.clone()), 0.0);
        self.take(&Input::Settled {
            iteration,
            settlement: Box::new(settlement),
        });
        assert_eq!(self.state.view.iterations.number, iteration, "it was settled");
        assert!(!self.state.view.is_over());
        let records = self.events[from..].iter();
        records.map(|event| serde_json::to_vec(event).unwrap().len()).sum()
    }
}

#[test]
fn the_records_of_an_iteration_are_as_large_whatever_the_length_of_the_plan() {
    let [short, long] = [100, 2_000].map(|count| {
        let mut run = Run::with_tasks(count);
        run.iterate(|plan| plan.tasks[0].done = true);
        (1..50)
            .map(|task| run.iterate(|plan| plan.tasks[task].done = true))
            .max()
    });
    assert!(long.unwrap() < short.unwrap() + 16, "{long:?} bytes against {short:?}");
    assert!(long.unwrap() < 2_048, "{long:?} bytes");
}

#[test]
fn a_journal_of_changes_folds_to_the_plan_that_was_read_last() {
    let mut run = Run::with_tasks(20);
    let edits: [fn(&mut PlanSnapshot); 6] = [
        |plan| plan.tasks[0].done = true,
        |plan| plan.tasks.rotate_left(1),
        |plan| plan.tasks.insert(3, testing::task("a task that the agent adds", false)),
        |plan| plan.tasks[9].text.push_str(" (with a note)"),
        |plan| drop(plan.tasks.drain(1..10)),
        |plan| plan.tasks.iter_mut().for_each(|task| task.text.push('!')),
    ];
    for edit in edits {
        run.iterate(edit);
        assert_eq!(*run.state.view.plan, run.plan);
    }
    let is_whole = |event: &&Event| matches!(event, Event::Plan(PlanEvent::Read { .. }));
    assert_eq!(
        run.events.iter().filter(is_whole).count(),
        3,
        "the first, the one in which a task moved past all others, and the one that is all new"
    );
    let mut view = RunView::default();
    run.events.iter().for_each(|event| view.apply_event(1_000, event));
    assert_eq!(view, run.state.view);
    assert_eq!(view.iterations.rows.get(0).map(|first| first.closed), Some(1));
}

#[test]
fn boxes_that_are_seen_while_an_agent_works_count_for_what_is_left_of_them_at_its_end() {
    let mut seen = Run::with_tasks(5);
    let mut unseen = Run::with_tasks(5);
    type Edit = fn(&mut PlanSnapshot);
    let edits: [(Vec<u32>, Edit); 4] = [
        (vec![0], |plan| plan.tasks[0].done = true),
        (vec![1, 2], |plan| plan.tasks[1].done = true),
        (vec![3, 4], |_| ()),
        (vec![0], |plan| plan.tasks[4].done = true),
    ];
    for (toggled, edit) in edits {
        seen.toggled = Some(toggled);
        seen.iterate(edit);
        unseen.iterate(edit);
        let facts = |run: &Run| {
            let latest = run.state.view.iterations.latest().cloned();
            let latest = latest.map(|latest| (latest.closed, latest.progress, latest.outcome));
            (
                run.state.internal.clone(),
                run.state.view.plan.clone(),
                run.state.view.breaker.clone(),
                latest,
            )
        };
        assert_eq!(facts(&seen), facts(&unseen));
    }
    let changes = |run: &Run| {
        run.events
            .iter()
            .filter(|event| matches!(event, Event::Plan(PlanEvent::Changed { .. })))
            .count()
    };
    assert_eq!(
        (changes(&seen), changes(&unseen)),
        (7, 3),
        "a tick that stays is recorded once"
    );
}
