//! Starts no iteration while a disk of the run is nearly full.
//!
//! The wait has no known end: a look at the disks follows another until there is space, without a record of each.

use crate::{
    event::{Event, LowDisk, TimeEvent, Wait, WaitCause, WaitEnd},
    run::Phase,
};

use super::{decision::StepDecision, settle, state::LoopState};

/// Time between two looks at the disks.
const LOOK_MS: u64 = 2_000;

pub(super) fn wait(decision: &mut StepDecision, now_ms: u64, low: &LowDisk) {
    decision.push(Event::Time(TimeEvent::WaitStarted {
        wait: Wait::Disk,
        until_ms: next_look_ms(now_ms),
        attempt: 0,
        why: WaitCause::DiskLow { low: low.clone() },
    }));
}

/// Starts the next iteration if there is space again.
pub(super) fn probed(decision: &mut StepDecision, now_ms: u64, low: Option<&LowDisk>) {
    if is_awaited(&decision.state) && low.is_none() {
        decision.push(Event::Time(TimeEvent::WaitEnded {
            cause: WaitEnd::Elapsed,
        }));
        settle::next(decision, now_ms);
    }
}

/// Whether the loop waits for space.
pub(super) fn is_awaited(state: &LoopState) -> bool {
    matches!(state.view.phase, Phase::Waiting { wait: Wait::Disk, .. })
}

pub(super) fn next_look_ms(now_ms: u64) -> u64 {
    now_ms.saturating_add(LOOK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Limits, RequestedBy, Settings, UserCommand},
        machine::{Effect, Input, LoopState, Refusal, Step, Timer, TimerKind, step, testing::start},
    };

    const NOW_MS: u64 = 1_000_000;

    fn low() -> LowDisk {
        LowDisk {
            path: "/home".into(),
            free_bytes: 1,
            least_bytes: 2,
        }
    }

    /// A loop that found a full disk when it prepared its first iteration.
    fn waiting() -> Step {
        let refused = Input::Prepared {
            iteration: 1,
            result: Err(Refusal::Disk { low: low() }),
        };
        let begin = Input::Start(Box::new(start(Settings {
            limits: Limits {
                max_time_ms: Some(3_600_000),
                ..Limits::default()
            },
            ..Settings::default()
        })));
        let started = step(LoopState::default(), NOW_MS, &begin).state;
        step(started, NOW_MS, &refused)
    }

    fn armed(step: &Step) -> Option<Timer> {
        let mut timers = step.effects.iter().filter_map(|effect| match effect {
            Effect::Arm { timer } if timer.kind == TimerKind::WaitOver => Some(*timer),
            _ => None,
        });
        timers.next()
    }

    #[test]
    fn a_full_disk_is_looked_at_without_a_record_until_there_is_space() {
        let mut before = waiting();
        assert!(matches!(
            before.state.view.phase,
            Phase::Waiting { wait: Wait::Disk, .. }
        ));
        for _ in 0..3 {
            let timer = armed(&before).expect("another look");
            let looking = step(before.state, timer.at_ms, &Input::TimerFired { timer });
            assert_eq!(
                (&looking.events[..], &looking.effects[..]),
                (&[][..], &[Effect::ProbeDisks][..])
            );
            before = step(looking.state, timer.at_ms, &Input::DisksProbed { low: Some(low()) });
            assert_eq!(before.events, []);
        }
        let now_ms = armed(&before).expect("another look").at_ms;
        let freed = step(before.state, now_ms, &Input::DisksProbed { low: None });
        assert_eq!(freed.state.view.phase, Phase::Preparing { iteration: 1 });
    }

    #[test]
    fn whoever_ends_the_wait_has_the_disks_looked_at_at_once() {
        let retry = Input::Command {
            command: UserCommand::RetryNow,
            by: RequestedBy::User,
        };
        let retried = step(waiting().state, NOW_MS + 1, &retry);
        assert!(retried.effects.contains(&Effect::Prepare { iteration: 1 }));
        // An answer to a look that the user did not wait for.
        let late = step(retried.state, NOW_MS + 2, &Input::DisksProbed { low: None });
        assert_eq!((late.events, late.effects), (vec![], vec![]));
    }

    #[test]
    fn the_time_limit_of_the_run_ends_the_wait() {
        let at_ms = NOW_MS + 3_600_000;
        let timer = Timer {
            kind: TimerKind::MaxTime,
            epoch: None,
            at_ms,
        };
        let over = step(waiting().state, at_ms, &Input::TimerFired { timer });
        assert!(over.state.view.is_over());
    }

    #[test]
    fn the_disks_are_looked_at_every_two_seconds() {
        let mut before = waiting();
        let first = armed(&before).expect("a look");
        assert_eq!(first.at_ms, NOW_MS + 2_000);
        before = step(before.state, NOW_MS + 5_000, &Input::DisksProbed { low: Some(low()) });
        assert_eq!(armed(&before).map(|timer| timer.at_ms), Some(NOW_MS + 7_000));
    }

    #[test]
    fn only_the_timer_of_the_wait_has_the_disks_looked_at() {
        let waiting = waiting().state;
        let epoch = waiting.view.epoch;
        for (kind, epoch) in [(TimerKind::Idle, epoch), (TimerKind::WaitOver, epoch - 1)] {
            let timer = Timer {
                kind,
                epoch: Some(epoch),
                at_ms: NOW_MS,
            };
            let after = step(waiting.clone(), NOW_MS, &Input::TimerFired { timer });
            assert_eq!(after.effects, [], "{kind:?} of phase {epoch}");
        }
    }

    #[test]
    fn a_late_look_at_the_disks_does_not_touch_another_wait() {
        let mut state = waiting().state;
        let why = WaitCause::CallsUsedUp;
        state.apply_event(
            NOW_MS,
            &Event::Time(TimeEvent::WaitStarted {
                wait: Wait::CallBudget,
                until_ms: NOW_MS + 3_600_000,
                attempt: 0,
                why,
            }),
        );
        let late = step(state, NOW_MS, &Input::DisksProbed { low: Some(low()) });
        assert_eq!((late.events, late.effects), (vec![], vec![]));
    }
}
