//! Tests of the limits per task and day: tasks set aside, waits, and clock changes.

use crate::{
    event::{
        AgentSignal, CancelReason, Day, DayLimits, Event, Findings, IterationEvent, LimitKind, Limits, PlanSnapshot,
        Problem, ProblemKind, RequestedBy, ReviewAnswer, ReviewSettings, ReviewWhen, Role, RunEvent, Settings, Spent,
        StopReason, TaskEvent, TaskLimits, Usage, UserCommand, Wait, Worker,
    },
    run::Phase,
};

use super::{Feedback, Input, LoopState, Settlement, Start, Statement, Step, Timer, TimerKind, step, testing};

const HOUR_MS: u64 = 3_600_000;
/// Does not begin at midnight UTC.
const DAY: Day = Day {
    from_ms: 1_000 * HOUR_MS,
    until_ms: 1_024 * HOUR_MS,
};
const NEXT: Day = Day {
    from_ms: DAY.until_ms,
    until_ms: DAY.until_ms + 24 * HOUR_MS,
};
const EVENING_MS: u64 = DAY.until_ms - 2 * HOUR_MS;

/// A run with its current time.
struct Run {
    state: LoopState,
    now_ms: u64,
}

impl Run {
    fn with(limits: Limits, earlier_spending: Vec<Spent>) -> Run {
        let start = Start {
            earlier_spending,
            day: Some(DAY),
            ..testing::start(Settings {
                limits,
                ..Settings::default()
            })
        };
        let now_ms = EVENING_MS;
        let state = step(LoopState::default(), now_ms, &Input::Start(Box::new(start))).state;
        Run { state, now_ms }
    }

    fn of_day(max_cost_usd: f64) -> Run {
        Run::with(of_day(max_cost_usd), Vec::new())
    }

    fn of_task(per_task: TaskLimits) -> Run {
        let limits = Limits {
            per_task,
            ..Limits::default()
        };
        Run::with(limits, Vec::new())
    }

    fn take(&mut self, input: &Input) -> Vec<Event> {
        let Step { state, events, .. } = step(std::mem::take(&mut self.state), self.now_ms, input);
        self.state = state;
        events
    }

    fn iteration(&self) -> u32 {
        match self.state.view.phase {
            Phase::Preparing { iteration } => iteration,
            _ => self.state.view.iterations.number,
        }
    }

    /// Begins the prepared iteration.
    fn begin(&mut self, done: &[&str]) -> Vec<Event> {
        let iteration = self.iteration();
        self.take(&Input::Prepared {
            iteration,
            result: Ok(testing::preparation(plan(done))),
        })
    }

    fn spend(&mut self, cost_usd: f64) -> Vec<Event> {
        let usage = Usage {
            cost_usd: Some(cost_usd),
            ..Usage::default()
        };
        let signal = AgentSignal::Usage { usage };
        let iteration = self.iteration();
        self.take(&Input::Agent { iteration, signal })
    }

    /// Ends the running iteration; `done` are the ticked tasks after it.
    fn end(&mut self, done: &[&str]) -> Vec<Event> {
        let iteration = self.iteration();
        let ended = AgentSignal::Ended {
            exit: None,
            output_bytes: 1,
        };
        let turned = AgentSignal::TurnEnded {
            ok: true,
            message: None,
        };
        self.take(&Input::Agent {
            iteration,
            signal: turned,
        });
        self.take(&Input::Agent {
            iteration,
            signal: ended,
        });
        self.take(&Input::Settled {
            iteration,
            settlement: Box::new(Settlement::from_plan(Ok(plan(done)), 0.5)),
        })
    }

    fn command(&mut self, command: UserCommand) -> Vec<Event> {
        let by = RequestedBy::User;
        self.take(&Input::Command { command, by })
    }

    fn task(&self) -> Option<&str> {
        self.state.view.iterations.latest()?.task.as_deref()
    }

    fn waits_until(&self) -> Option<u64> {
        match self.state.view.phase {
            Phase::Waiting {
                wait: Wait::DayBudget,
                until_ms,
                ..
            } => Some(until_ms),
            _ => None,
        }
    }

    fn recover(&mut self, limits: Limits, day: Day) {
        self.take(&Input::Recover {
            pid: 2,
            settings: Box::new(Settings {
                limits,
                ..Settings::default()
            }),
            pause_file: false,
            day: Some(day),
        });
    }
}

fn of_day(max_cost_usd: f64) -> Limits {
    Limits {
        per_day: DayLimits {
            max_cost_usd: Some(max_cost_usd),
            ..DayLimits::default()
        },
        ..Limits::default()
    }
}

fn plan(done: &[&str]) -> PlanSnapshot {
    let task = |text: &&str| testing::task(text, done.contains(text));
    PlanSnapshot {
        tasks: ["one", "two"].iter().map(task).collect(),
    }
}

fn cancelled(events: &[Event]) -> Option<CancelReason> {
    events.iter().find_map(|event| match event {
        Event::Iteration(IterationEvent::CancelRequested { reason, .. }) => Some(*reason),
        _ => None,
    })
}

fn stopped_for(run: &Run) -> Option<&StopReason> {
    run.state.view.stop_reason()
}

const ONE_DOLLAR: TaskLimits = TaskLimits {
    max_cost_usd: Some(1.0),
    max_iterations: None,
    max_tokens: None,
};

#[test]
fn a_task_that_has_used_up_its_money_is_set_aside_and_the_next_one_is_worked_on() {
    let mut run = Run::of_task(ONE_DOLLAR);
    run.begin(&[]);
    assert_eq!(cancelled(&run.spend(0.7)), None);
    assert_eq!(run.state.view.task().map(|task| task.text.as_str()), Some("one"));
    assert_eq!(
        cancelled(&run.spend(0.4)),
        Some(CancelReason::Limit(LimitKind::TaskCost))
    );
    assert_eq!(
        run.state.view.task().map(|task| task.text.as_str()),
        Some("one"),
        "it is still worked on"
    );
    let events = run.end(&[]);
    let limit = LimitKind::TaskCost;
    let set_aside = |event: &Event| {
        matches!(event, Event::Task(TaskEvent::SetAside { task, limit: of, iterations: 1, usage, .. })
            if task == "one" && *of == limit && usage.cost_usd.is_some_and(|cost| cost > 1.09))
    };
    assert!(events.iter().any(set_aside), "{events:#?}");
    let told = Feedback::TaskAtLimit { task: "one".to_owned() };
    assert!(run.state.prompt_feedback().contains(&told));
    run.begin(&[]);
    assert_eq!(run.task(), Some("two"));
    // Only the spending on the task itself counts.
    assert_eq!(cancelled(&run.spend(0.9)), None);
    run.end(&["two"]);
    let task = "one".to_owned();
    assert_eq!(
        stopped_for(&run),
        Some(&StopReason::TaskLimitReached {
            limit,
            task: task.into()
        })
    );
    assert_eq!(stopped_for(&run).unwrap().exit_code(), 8);
}

#[test]
fn a_task_that_is_done_at_its_limit_is_not_set_aside() {
    let mut run = Run::of_task(ONE_DOLLAR);
    run.begin(&[]);
    run.spend(1.5);
    let events = run.end(&["one"]);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Task(TaskEvent::SetAside { .. })))
    );
    run.begin(&["one"]);
    assert_eq!(run.task(), Some("two"));
}

#[test]
fn a_review_is_not_paid_by_its_task_and_sends_nobody_back_to_one_at_its_limit() {
    for (max_iterations, sent_back) in [(2, true), (1, false)] {
        let mut run = Run::of_task(TaskLimits {
            max_iterations: Some(max_iterations),
            ..ONE_DOLLAR
        });
        run.state.view.settings.review = Some(ReviewSettings {
            by: Worker {
                adapter: "other".to_owned(),
                model: None,
            },
            when: ReviewWhen::Task,
            rounds: 2,
        });
        run.begin(&[]);
        run.spend(0.5);
        run.end(&["one"]);
        run.begin(&["one"]);
        assert_eq!(run.state.view.role, Role::Review { round: 1 });
        assert_eq!(cancelled(&run.spend(3.0)), None);
        assert_eq!(run.state.view.iterations.work["one"].usage.cost_usd, Some(0.5));
        let findings = Findings {
            found: vec!["a stub".into()].into(),
            more: 0,
        };
        let iteration = run.iteration();
        run.take(&Input::AgentStated {
            iteration,
            statement: Statement {
                review: Some(ReviewAnswer::Findings { findings }),
                ..Statement::default()
            },
        });
        run.end(&["one"]);
        run.begin(&["one"]);
        assert_eq!(run.task(), Some(if sent_back { "one" } else { "two" }));
    }
}

#[test]
fn a_higher_limit_takes_a_task_up_again_and_a_message_does_not() {
    let mut run = Run::of_task(ONE_DOLLAR);
    run.begin(&["two"]);
    run.spend(1.5);
    run.end(&["two"]);
    assert!(run.state.closed_for_good().is_some(), "a message is refused");
    let reopened = Event::Run(RunEvent::Reopened {
        by: RequestedBy::User,
        continued: true,
    });
    for (max_cost_usd, goes_on) in [(1.2, false), (2.0, true)] {
        run.state.apply_event(run.now_ms, &reopened);
        let per_task = TaskLimits {
            max_cost_usd: Some(max_cost_usd),
            ..ONE_DOLLAR
        };
        let limits = Limits {
            per_task,
            ..Limits::default()
        };
        run.recover(limits, DAY);
        run.begin(&["two"]);
        assert_eq!(stopped_for(&run).is_none(), goes_on, "{:?}", run.state.view.phase);
    }
    assert_eq!(run.task(), Some("one"));
}

#[test]
fn iterations_of_a_task_are_counted_without_those_that_a_limit_of_the_agent_ended() {
    let per_task = TaskLimits {
        max_iterations: Some(2),
        ..TaskLimits::default()
    };
    let mut run = Run::of_task(per_task);
    run.begin(&[]);
    let problem = Problem::said(ProblemKind::RateLimited { until_ms: None }, "429");
    let iteration = run.iteration();
    for signal in [
        AgentSignal::Problem { problem },
        AgentSignal::TurnEnded {
            ok: false,
            message: None,
        },
        AgentSignal::Ended {
            exit: None,
            output_bytes: 1,
        },
    ] {
        run.take(&Input::Agent { iteration, signal });
    }
    run.take(&Input::Settled {
        iteration,
        settlement: Box::new(Settlement::from_plan(Ok(plan(&[])), 0.5)),
    });
    run.command(UserCommand::RetryNow);
    for _ in 0..2 {
        run.begin(&[]);
        assert_eq!(run.task(), Some("one"));
        run.end(&[]);
    }
    run.begin(&[]);
    assert_eq!(run.task(), Some("two"));
    let work = &run.state.view.iterations.work["one"];
    assert_eq!((work.counted, &work.iterations[..]), (2, &[1, 2, 3][..]));
}

#[test]
fn the_limit_of_the_day_ends_the_iteration_and_is_waited_for_until_midnight() {
    let mut run = Run::of_day(10.0);
    run.begin(&[]);
    assert_eq!(cancelled(&run.spend(9.99)), None);
    assert_eq!(
        cancelled(&run.spend(0.02)),
        Some(CancelReason::Limit(LimitKind::DayCost))
    );
    run.end(&["one"]);
    assert_eq!(run.waits_until(), Some(DAY.until_ms));
    let epoch = Some(run.state.view.epoch);
    run.now_ms = DAY.until_ms;
    run.take(&Input::DayBegan { day: NEXT });
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 2 });
    assert_eq!(run.state.view.spending.today(), Usage::default());
    // The timer of the wait fires too late to have an effect.
    let timer = Timer {
        kind: TimerKind::WaitOver,
        epoch,
        at_ms: DAY.until_ms,
    };
    assert_eq!(run.take(&Input::TimerFired { timer }), []);
}

#[test]
fn what_is_spent_after_midnight_belongs_to_the_new_day() {
    let mut run = Run::of_day(10.0);
    run.begin(&[]);
    run.spend(9.0);
    run.now_ms = NEXT.from_ms + 5;
    run.take(&Input::DayBegan { day: NEXT });
    assert_eq!(cancelled(&run.spend(9.0)), None);
    assert_eq!(run.state.view.spending.today().cost_usd, Some(9.0));
    assert_eq!(
        cancelled(&run.spend(1.0)),
        Some(CancelReason::Limit(LimitKind::DayCost))
    );
}

#[test]
fn earlier_runs_of_the_day_count_and_those_of_yesterday_do_not() {
    let spent = |from_ms, cost_usd| Spent {
        from_ms,
        usage: Usage {
            cost_usd: Some(cost_usd),
            ..Usage::default()
        },
    };
    let yesterday = spent(DAY.from_ms - HOUR_MS / 4, 50.0);
    let run = Run::with(of_day(10.0), vec![yesterday, spent(DAY.from_ms, 10.0)]);
    assert_eq!(run.waits_until(), Some(DAY.until_ms), "it does not even begin");
    let run = Run::with(of_day(10.0), vec![yesterday, spent(DAY.from_ms, 9.0)]);
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 1 });
}

#[test]
fn whoever_does_not_want_to_wait_allows_as_much_again() {
    let mut run = Run::of_day(10.0);
    run.begin(&[]);
    run.spend(31.0);
    run.end(&[]);
    assert!(run.waits_until().is_some());
    run.command(UserCommand::RetryNow);
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 2 });
    run.begin(&[]);
    assert_eq!(cancelled(&run.spend(8.0)), None, "up to the next multiple");
    assert_eq!(
        cancelled(&run.spend(1.0)),
        Some(CancelReason::Limit(LimitKind::DayCost))
    );
    run.end(&[]);
    assert!(run.waits_until().is_some());
    // The extension applies to this day only.
    run.now_ms = NEXT.from_ms;
    run.take(&Input::DayBegan { day: NEXT });
    run.begin(&[]);
    assert_eq!(
        cancelled(&run.spend(10.0)),
        Some(CancelReason::Limit(LimitKind::DayCost))
    );
}

#[test]
fn a_run_whose_time_ends_before_the_day_does_not_wait() {
    let limits = Limits {
        max_time_ms: Some(HOUR_MS),
        ..of_day(10.0)
    };
    let mut run = Run::with(limits, Vec::new());
    run.begin(&[]);
    run.spend(10.0);
    run.end(&[]);
    let limit = LimitKind::DayCost;
    assert_eq!(stopped_for(&run), Some(&StopReason::LimitReached { limit }));
}

#[test]
fn a_computer_that_slept_over_midnight_goes_on_when_it_wakes() {
    let mut run = Run::of_day(10.0);
    run.begin(&[]);
    run.spend(10.0);
    run.end(&[]);
    run.now_ms = NEXT.from_ms + 7 * HOUR_MS;
    let gap_ms = 9 * HOUR_MS;
    run.take(&Input::ClockMoved {
        gap_ms: gap_ms.cast_signed(),
    });
    assert_eq!(run.waits_until(), Some(DAY.until_ms), "midnight is a date");
    run.take(&Input::DayBegan { day: NEXT });
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 2 });
}

#[test]
fn a_clock_that_is_set_back_to_yesterday_takes_what_was_spent_along() {
    let mut run = Run::of_day(10.0);
    run.begin(&[]);
    run.spend(10.0);
    run.end(&[]);
    let gap_ms = 24 * HOUR_MS;
    run.now_ms -= gap_ms;
    run.take(&Input::ClockMoved {
        gap_ms: -gap_ms.cast_signed(),
    });
    let before = Day {
        from_ms: DAY.from_ms - gap_ms,
        until_ms: DAY.from_ms,
    };
    run.take(&Input::DayBegan { day: before });
    assert_eq!(
        run.waits_until(),
        Some(before.until_ms),
        "it waits for the other midnight"
    );
    run.now_ms = before.until_ms;
    run.take(&Input::DayBegan { day: DAY });
    assert_eq!(run.state.view.spending.today(), Usage::default());
    assert_eq!(run.state.view.phase, Phase::Preparing { iteration: 2 });
}

#[test]
fn a_run_that_was_killed_while_it_waited_looks_at_the_limits_and_the_date_anew() {
    let waiting = || {
        let mut run = Run::of_day(10.0);
        run.begin(&[]);
        run.spend(10.0);
        run.end(&[]);
        run
    };
    let mut same = waiting();
    same.recover(of_day(10.0), DAY);
    assert_eq!(same.waits_until(), Some(DAY.until_ms));
    let mut raised = waiting();
    raised.recover(of_day(11.0), DAY);
    assert_eq!(raised.state.view.phase, Phase::Preparing { iteration: 2 });
    let mut tomorrow = waiting();
    tomorrow.now_ms = NEXT.from_ms + HOUR_MS;
    tomorrow.recover(of_day(10.0), NEXT);
    assert_eq!(tomorrow.state.view.phase, Phase::Preparing { iteration: 2 });
}

#[test]
fn spending_is_kept_for_two_days_and_no_longer() {
    let mut run = Run::of_day(1_000.0);
    run.begin(&[]);
    for _ in 0..24 * 4 * 5 {
        run.now_ms += HOUR_MS / 4;
        run.spend(0.01);
        run.spend(0.01);
    }
    assert_eq!(run.state.view.spending.quarters.len(), 48 * 4);
}
