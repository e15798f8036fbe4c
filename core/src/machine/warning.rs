//! Tells the user, once for each limit, that the share `warn_at` of it is used.

use crate::{
    event::{Event, LimitKind, RunEvent, Text},
    limits::{LimitScope, by_precedence, consumption_at, limits_now},
    notices,
    run::{Phase, RunView},
};

use super::{decision::StepDecision, state::LoopState};

/// Announces the limits that are nearly reached.
pub(super) fn announce(decision: &mut StepDecision, now_ms: u64) {
    let view = &decision.state.view;
    let Some(warn_at) = view.settings.limits.warn_at else {
        return;
    };
    if view.phase == Phase::Idle || view.is_over() {
        return;
    }
    let told = &decision.state.internal.warnings;
    let is_new = |(limit, task, _): &(LimitKind, Option<Text>, f64)| !told.contain(*limit, task.as_ref());
    let near: Vec<_> = used_shares(view, now_ms)
        .into_iter()
        .filter(|(_, _, share)| (warn_at..1.0).contains(share))
        .filter(is_new)
        .collect();
    for (limit, task, share) in near {
        // The share is below 1.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let percent = (share * 100.0) as u8;
        let notice = notices::limit_near(limit, task.as_deref(), percent);
        decision.push(Event::Run(RunEvent::LimitNeared { limit, task, notice }));
    }
}

/// The time at which the share `warn_at` of the run's time is used.
pub(super) fn time_warning_at(state: &LoopState) -> Option<u64> {
    let limits = &state.view.settings.limits;
    // Rounded up, so that the share is used then. Times are far below the precision of f64.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    let after_ms = (limits.max_time_ms? as f64 * limits.warn_at?).ceil() as u64;
    Some(state.view.clock.started_ms.saturating_add(after_ms))
}

/// The used share of every limit, with the task of a limit per task.
fn used_shares(view: &RunView, now_ms: u64) -> Vec<(LimitKind, Option<Text>, f64)> {
    let worked_on = view.iterations.latest().filter(|latest| latest.role.is_work());
    let worked_on = worked_on.and_then(|latest| latest.task.as_ref());
    let work = worked_on.and_then(|task| view.iterations.work.get(task));
    let (limits, used) = (limits_now(view), consumption_at(view, now_ms, work));
    let shares = by_precedence().filter_map(|row| {
        let task = worked_on.filter(|_| row.scope == LimitScope::Task);
        Some((
            row.kind,
            task.map(|task| task.clone().into()),
            row.share(&limits, &used)?,
        ))
    });
    shares.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{
            AgentSignal, Day, DayLimits, Limits, NewLimits, PlanSnapshot, RequestedBy, Settings, TaskLimits, Usage,
            UserCommand,
        },
        machine::{Input, Settlement, Start, Step, Timer, TimerKind, step, testing},
    };

    const DAY: Day = Day {
        from_ms: 0,
        until_ms: 86_400_000,
    };
    const NEXT: Day = Day {
        from_ms: DAY.until_ms,
        until_ms: 2 * DAY.until_ms,
    };

    struct Run {
        state: LoopState,
        now_ms: u64,
    }

    impl Run {
        /// A run that has prepared its first iteration.
        fn with(limits: Limits) -> Self {
            let limits = Limits {
                warn_at: Some(0.8),
                ..limits
            };
            let start = Start {
                day: Some(DAY),
                ..testing::start(Settings {
                    limits,
                    ..Settings::default()
                })
            };
            let state = LoopState::default();
            let mut run = Run { state, now_ms: 1_000 };
            run.take(&Input::Start(Box::new(start)));
            run
        }

        /// Takes an input, and returns what the user is told of limits.
        fn take(&mut self, input: &Input) -> Vec<(LimitKind, Option<String>, u8)> {
            let Step { state, events, .. } = step(std::mem::take(&mut self.state), self.now_ms, input);
            self.state = state;
            let near = events.into_iter().filter_map(|event| match event {
                Event::Run(RunEvent::LimitNeared { limit, task, notice }) => {
                    let (percent, _) = notice.text.split_once('%').expect("a share");
                    Some((limit, task.map(String::from), percent.parse().expect("a number")))
                }
                _ => None,
            });
            near.collect()
        }

        fn begin(&mut self) -> Vec<(LimitKind, Option<String>, u8)> {
            let Phase::Preparing { iteration } = self.state.view.phase else {
                panic!("{:?} prepares nothing", self.state.view.phase);
            };
            let tasks = ["one", "two"].map(|text| testing::task(text, false)).to_vec();
            self.take(&Input::Prepared {
                iteration,
                result: Ok(testing::preparation(PlanSnapshot { tasks })),
            })
        }

        fn spend(&mut self, cost_usd: f64) -> Vec<(LimitKind, Option<String>, u8)> {
            let usage = Usage {
                cost_usd: Some(cost_usd),
                output_tokens: Some(10),
                ..Usage::default()
            };
            self.signal(AgentSignal::Usage { usage })
        }

        fn signal(&mut self, signal: AgentSignal) -> Vec<(LimitKind, Option<String>, u8)> {
            let iteration = self.state.view.iterations.number;
            self.take(&Input::Agent { iteration, signal })
        }

        fn end(&mut self) -> Vec<(LimitKind, Option<String>, u8)> {
            self.signal(AgentSignal::TurnEnded {
                ok: true,
                message: None,
            });
            self.signal(AgentSignal::Ended {
                exit: None,
                output_bytes: 1,
            });
            let iteration = self.state.view.iterations.number;
            let tasks = ["one", "two"].map(|text| testing::task(text, false)).to_vec();
            self.take(&Input::Settled {
                iteration,
                settlement: Box::new(Settlement::from_plan(Ok(PlanSnapshot { tasks }), 0.5)),
            })
        }
    }

    #[test]
    fn a_limit_is_told_of_once_before_it_is_reached_and_again_when_it_was_raised() {
        let mut run = Run::with(Limits {
            max_cost_usd: Some(10.0),
            max_tokens: Some(1_000),
            ..Limits::default()
        });
        run.begin();
        assert_eq!(run.spend(7.9), []);
        assert_eq!(run.spend(0.3), [(LimitKind::MaxCost, None, 82)]);
        assert_eq!(run.spend(0.3), []);
        let limits = NewLimits {
            max_cost_usd: Some(20.0),
            ..NewLimits::default()
        };
        let command = UserCommand::SetLimits { limits };
        let by = RequestedBy::User;
        assert_eq!(run.take(&Input::Command { command, by }), []);
        assert_eq!(run.spend(7.5), [(LimitKind::MaxCost, None, 80)]);
        assert_eq!(run.spend(5.0), [], "the limit itself is told of as before");
    }

    #[test]
    fn limits_per_task_are_told_of_for_each_task_and_those_of_a_day_for_each_day() {
        let mut run = Run::with(Limits {
            per_task: TaskLimits {
                max_cost_usd: Some(1.0),
                ..TaskLimits::default()
            },
            per_day: DayLimits {
                max_cost_usd: Some(2.0),
                ..DayLimits::default()
            },
            ..Limits::default()
        });
        run.begin();
        assert_eq!(run.spend(0.9), [(LimitKind::TaskCost, Some("one".to_owned()), 90)]);
        assert_eq!(run.spend(0.15), [], "the task is over its limit");
        run.end();
        run.begin();
        assert_eq!(
            run.spend(0.85),
            [
                (LimitKind::DayCost, None, 95),
                (LimitKind::TaskCost, Some("two".to_owned()), 85)
            ]
        );
        run.now_ms = NEXT.from_ms + 1;
        assert_eq!(run.take(&Input::DayBegan { day: NEXT }), []);
        assert_eq!(run.spend(1.7), [(LimitKind::DayCost, None, 85)]);
    }

    #[test]
    fn iterations_calls_and_time_are_told_of_as_well() {
        let mut run = Run::with(Limits {
            max_iterations: Some(5),
            calls_per_hour: Some(5),
            max_time_ms: Some(100_000),
            ..Limits::default()
        });
        for _ in 0..3 {
            assert_eq!(run.begin(), []);
            assert_eq!(run.end(), []);
        }
        assert_eq!(
            run.begin(),
            [
                (LimitKind::MaxIterations, None, 80),
                (LimitKind::CallsPerHour, None, 80)
            ]
        );
        let at_ms = time_warning_at(&run.state).expect("a limit on time");
        assert_eq!(at_ms, 81_000);
        run.now_ms = at_ms;
        let timer = Timer {
            kind: TimerKind::TimeWarning,
            epoch: None,
            at_ms,
        };
        assert_eq!(run.take(&Input::TimerFired { timer }), [(LimitKind::MaxTime, None, 80)]);
    }

    #[test]
    fn nothing_is_told_without_a_share_to_warn_at() {
        let mut run = Run::with(Limits {
            max_cost_usd: Some(1.0),
            ..Limits::default()
        });
        run.state.view.settings.limits.warn_at = None;
        run.begin();
        assert_eq!(run.spend(0.9), []);
    }
}
