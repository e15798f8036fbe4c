//! Starts no iteration while a part of the account's windows is to stay free.

use crate::event::{Event, TimeEvent, Wait, WaitCause, WindowSample, WorkerEvent};

use super::{decision::StepDecision, policy, settle};

/// The room that the account's windows leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// Another adapter is prepared, or the loop waits.
    Held,
}

/// Holds the prepared iteration back if more of the account's windows is used than runs may use.
///
/// A fallback takes over, as with a limit that was reached. The user may end the wait; the windows are then ignored
/// until it would have ended.
pub(super) fn check(decision: &mut StepDecision, now_ms: u64, samples: &[WindowSample]) -> Room {
    let state = &decision.state;
    let waived_until_ms = state.internal.windows.waived_until_ms;
    let Some(hold) = state.view.settings.headroom.hold(samples, now_ms) else {
        return Room::Free;
    };
    if waived_until_ms.is_some_and(|until_ms| until_ms > now_ms) {
        return Room::Free;
    }
    let adapter = state.view.adapter.clone();
    let mut until_ms = hold.until_ms;
    let is_work = state.view.role.is_work();
    if !is_work || !state.view.settings.fallback.is_empty() {
        decision.push(Event::Worker(WorkerEvent::AdapterLimited {
            adapter: adapter.clone(),
            until_ms,
        }));
        match policy::worker_at(&decision.state, now_ms) {
            Err(first_free_ms) if is_work => until_ms = first_free_ms,
            // A fallback takes over, or the review is left out.
            Ok(_) | Err(_) => {
                settle::next(decision, now_ms);
                return Room::Held;
            }
        }
    }
    decision.push(Event::Time(TimeEvent::WaitStarted {
        wait: Wait::Headroom,
        until_ms,
        attempt: 0,
        why: WaitCause::WindowUsed {
            adapter,
            window: hold.kind,
            used_percent: hold.used_percent,
            most_percent: hold.most_percent,
        },
    }));
    Room::Held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Headroom, ReviewSettings, ReviewWhen, Settings, UsageWindow, UserCommand, WindowKind, Worker},
        machine::{
            Preparation, Settlement,
            testing::{self, NOW_MS, Run},
        },
        run::Phase,
    };

    const HOUR_MS: u64 = 3_600_000;
    /// The end of a wait for a window that is reset in an hour.
    const UNTIL_MS: u64 = NOW_MS + HOUR_MS + 1_000;

    fn settings(fallback: &[&str]) -> Settings {
        Settings {
            adapter: "own".to_owned(),
            fallback: fallback.iter().map(|&adapter| adapter.to_owned()).collect(),
            headroom: Headroom {
                five_hour: 15,
                ..Headroom::default()
            },
            ..Settings::default()
        }
    }

    /// A preparation with a window that is nearly used up, and is reset an hour later.
    fn used_up(now_ms: u64) -> Preparation {
        let window = UsageWindow {
            kind: WindowKind::FiveHour,
            used_percent: 90,
            resets_ms: now_ms + HOUR_MS,
            length_ms: 5 * HOUR_MS,
        };
        Preparation {
            windows: vec![WindowSample { at_ms: now_ms, window }],
            ..testing::preparation(testing::plan(&[("one", false), ("two", false)]))
        }
    }

    fn held_until(run: &Run) -> Option<u64> {
        match run.state.view.phase {
            Phase::Waiting {
                wait: Wait::Headroom,
                until_ms,
                ..
            } => Some(until_ms),
            _ => None,
        }
    }

    fn prepares_with(run: &Run) -> Option<&str> {
        let prepares = matches!(run.state.view.phase, Phase::Preparing { .. });
        prepares.then_some(run.state.view.adapter.as_str())
    }

    fn was_limited(run: &Run) -> bool {
        let limited = |event: &Event| matches!(event, Event::Worker(WorkerEvent::AdapterLimited { .. }));
        run.history.iter().any(limited)
    }

    #[test]
    fn an_iteration_waits_for_the_reset_of_a_window_that_is_nearly_used_up() {
        let mut run = Run::begun(settings(&[]));
        run.prepared(used_up(NOW_MS));
        assert_eq!(held_until(&run), Some(UNTIL_MS));
        assert!(!was_limited(&run), "no other adapter may be used");
    }

    #[test]
    fn a_user_who_ends_the_wait_allows_iterations_until_it_would_have_ended() {
        let mut run = Run::begun(settings(&[]));
        run.prepared(used_up(NOW_MS));
        run.command(UserCommand::RetryNow);
        let retried = run.state;
        for (now_ms, is_held) in [(NOW_MS, false), (UNTIL_MS - 1, false), (UNTIL_MS, true)] {
            let mut run = Run {
                state: retried.clone(),
                now_ms,
                ..Run::begun(settings(&[]))
            };
            run.prepared(used_up(now_ms));
            assert_eq!(held_until(&run).is_some(), is_held, "{now_ms}");
        }
    }

    #[test]
    fn a_fallback_takes_over_if_one_is_free() {
        let mut run = Run::begun(settings(&["other"]));
        run.prepared(used_up(NOW_MS));
        assert_eq!(prepares_with(&run), Some("other"));
        assert_eq!(run.state.view.limited["own"], UNTIL_MS);
    }

    #[test]
    fn the_loop_waits_for_the_adapter_that_is_free_first() {
        let mut run = Run::begun(settings(&["other"]));
        let free_ms = NOW_MS + 60_000;
        run.state.view.limited.insert("other".to_owned(), free_ms);
        run.prepared(used_up(NOW_MS));
        assert_eq!(held_until(&run), Some(free_ms));
    }

    #[test]
    fn a_review_is_left_out_rather_than_waited_for() {
        let by = Worker {
            adapter: "own".to_owned(),
            model: Some("strict".to_owned()),
        };
        let review = ReviewSettings {
            by,
            when: ReviewWhen::Task,
            rounds: 1,
        };
        let mut run = Run::begun(Settings {
            review: Some(review),
            ..settings(&[])
        });
        run.prepared(Preparation {
            windows: Vec::new(),
            ..used_up(NOW_MS)
        });
        run.end_session();
        let plan = testing::plan(&[("one", true), ("two", false)]);
        run.settled(Settlement::from_plan(Ok(plan), 0.0));
        assert!(!run.state.view.role.is_work());
        run.prepared(used_up(NOW_MS));
        assert_eq!(held_until(&run), None, "the author goes on");
        assert!(run.state.view.role.is_work());
        assert!(was_limited(&run));
    }
}
