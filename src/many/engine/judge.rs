//! Decides the state of a job from its engine's answers and its run's files. Pure.
//!
//! The run takes precedence: while its lock is held it continues, and once its journal has an end it is over.
//! The engine's answer counts if the run is silent, and to tell who ended it.

use std::time::Duration;

use ralph_core::event::StopReason;
use ralph_plan::batch::EngineEnd;

use super::{commands::Told, manifest::Meaning};

/// How long a run may be silent after its engine reported the end of the job: files from other machines
/// arrive late.
const LATE: Duration = Duration::from_secs(2);
/// How long the engine may take to report why it ended a run.
const NAMED: Duration = Duration::from_secs(30);

/// The state of a job's run, according to its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::many) enum Shown {
    /// The run's lock is held.
    Working,
    Over(StopReason),
    /// The lock is free, and the journal has no end.
    Silent,
}

/// The observed state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) told: Told,
    /// The job's script has begun.
    pub(super) began: bool,
    pub(super) run: Shown,
}

/// The decision about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Wait,
    /// The engine's answer contradicts the run; wait for the run.
    WaitFor {
        word: String,
    },
    /// The run has ended for the recorded reason.
    Over(StopReason),
    /// The engine has ended the job, which must be withdrawn first: it may have begun by now.
    Withdraw(EngineEnd),
    /// The engine has ended the job; its remainder is to be cancelled.
    Ended(EngineEnd),
    /// The run ended without recording an end.
    Died,
}

/// Decides about a job. `same_for` is how long `seen` has not changed, `ours` whether this batch has asked
/// the job to end, `progress` whether the run has done a task.
pub(super) fn judge(seen: &Seen, same_for: Duration, patience: Duration, ours: bool, progress: bool) -> Verdict {
    let late = LATE.min(patience);
    match (&seen.run, &seen.told) {
        (Shown::Working, Told::Word { word, meaning }) => match meaning {
            Meaning::Ended | Meaning::CutOff | Meaning::Cancelled if same_for >= patience => {
                Verdict::WaitFor { word: word.clone() }
            }
            Meaning::Queued | Meaning::Running | Meaning::Ended | Meaning::CutOff | Meaning::Cancelled => Verdict::Wait,
        },
        (Shown::Working, Told::Nothing | Told::Unknown) => Verdict::Wait,
        (Shown::Over(reason), told) => over(reason, told, same_for, patience, ours, progress),
        (Shown::Silent, Told::Nothing) => Verdict::Wait,
        (Shown::Silent, Told::Unknown) if same_for < late => Verdict::Wait,
        (Shown::Silent, Told::Unknown) => match seen.began {
            true => Verdict::Died,
            false => Verdict::Withdraw(EngineEnd::Forgotten),
        },
        (Shown::Silent, Told::Word { word, meaning }) => match (meaning, seen.began) {
            (Meaning::Queued, false) => Verdict::Wait,
            (Meaning::Queued | Meaning::Running, _) if same_for < patience => Verdict::Wait,
            (Meaning::Running, false) => Verdict::WaitFor { word: word.clone() },
            (Meaning::Queued | Meaning::Running, true) => Verdict::Ended(EngineEnd::Vanished { state: word.clone() }),
            (Meaning::Ended | Meaning::CutOff | Meaning::Cancelled, _) if same_for < late => Verdict::Wait,
            (Meaning::Ended, true) => Verdict::Died,
            (Meaning::Ended, false) => Verdict::Withdraw(EngineEnd::NotStarted { state: word.clone() }),
            (Meaning::CutOff | Meaning::Cancelled, began) => {
                let end = ended_by(*meaning, word, progress);
                match began {
                    true => Verdict::Ended(end),
                    false => Verdict::Withdraw(end),
                }
            }
        },
    }
}

/// Decides about a run with a recorded end, which may have been caused from outside.
fn over(
    reason: &StopReason,
    told: &Told,
    same_for: Duration,
    patience: Duration,
    ours: bool,
    progress: bool,
) -> Verdict {
    let from_outside = matches!(
        reason,
        StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp
    );
    match told {
        _ if ours || !from_outside => Verdict::Over(reason.clone()),
        Told::Word {
            word,
            meaning: meaning @ (Meaning::CutOff | Meaning::Cancelled),
        } => Verdict::Ended(ended_by(*meaning, word, progress)),
        Told::Word {
            meaning: Meaning::Ended,
            ..
        }
        | Told::Unknown => Verdict::Over(reason.clone()),
        Told::Nothing | Told::Word { .. } if same_for < NAMED.min(patience) => Verdict::Wait,
        Told::Nothing | Told::Word { .. } => Verdict::Over(reason.clone()),
    }
}

fn ended_by(meaning: Meaning, word: &str, progress: bool) -> EngineEnd {
    let state = word.to_owned();
    match meaning {
        Meaning::CutOff => EngineEnd::CutOff { state, progress },
        Meaning::Cancelled | Meaning::Queued | Meaning::Running | Meaning::Ended => EngineEnd::Cancelled { state },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::Proof;

    const NOW: Duration = Duration::ZERO;
    const EVER: Duration = Duration::from_secs(3600);
    const PATIENCE: Duration = Duration::from_secs(60);

    fn word(word: &str, meaning: Meaning) -> Told {
        Told::Word {
            word: word.to_owned(),
            meaning,
        }
    }

    fn verdict(told: &Told, began: bool, run: &Shown, same_for: Duration) -> Verdict {
        let seen = Seen {
            told: told.clone(),
            began,
            run: run.clone(),
        };
        judge(&seen, same_for, PATIENCE, false, true)
    }

    fn all_told() -> [Told; 7] {
        [
            Told::Nothing,
            Told::Unknown,
            word("PENDING", Meaning::Queued),
            word("RUNNING", Meaning::Running),
            word("COMPLETED", Meaning::Ended),
            word("TIMEOUT", Meaning::CutOff),
            word("CANCELLED", Meaning::Cancelled),
        ]
    }

    #[test]
    fn a_run_that_goes_on_is_waited_for_whatever_its_engine_says() {
        for told in all_told() {
            for same_for in [NOW, EVER] {
                let verdict = verdict(&told, true, &Shown::Working, same_for);
                assert!(
                    matches!(verdict, Verdict::Wait | Verdict::WaitFor { .. }),
                    "{told:?}: {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn a_run_that_is_done_is_done_whatever_its_engine_says() {
        let done = StopReason::done(Proof::Tests);
        for told in all_told() {
            let over = Verdict::Over(done.clone());
            assert_eq!(verdict(&told, true, &Shown::Over(done.clone()), NOW), over, "{told:?}");
        }
    }

    #[test]
    fn who_ended_a_run_from_outside_is_told_by_its_engine_if_it_is_in_time() {
        let ended = Shown::Over(StopReason::Terminated);
        let state = "TIMEOUT".to_owned();
        let cut_off = EngineEnd::CutOff { state, progress: true };
        assert_eq!(verdict(&all_told()[5], true, &ended, NOW), Verdict::Ended(cut_off));
        let state = "CANCELLED".to_owned();
        assert_eq!(
            verdict(&all_told()[6], true, &ended, NOW),
            Verdict::Ended(EngineEnd::Cancelled { state })
        );
        for told in [Told::Nothing, word("RUNNING", Meaning::Running)] {
            assert_eq!(verdict(&told, true, &ended, NOW), Verdict::Wait);
            assert_eq!(
                verdict(&told, true, &ended, EVER),
                Verdict::Over(StopReason::Terminated)
            );
        }
        // This batch ended it.
        let seen = Seen {
            told: all_told()[6].clone(),
            began: true,
            run: ended,
        };
        assert_eq!(
            judge(&seen, NOW, PATIENCE, true, true),
            Verdict::Over(StopReason::Terminated)
        );
    }

    #[test]
    fn a_silent_run_is_over_once_its_engine_has_said_so_for_a_while() {
        for (told, began, expected) in [
            (&all_told()[1], true, Verdict::Died),
            (&all_told()[1], false, Verdict::Withdraw(EngineEnd::Forgotten)),
            (&all_told()[4], true, Verdict::Died),
        ] {
            assert_eq!(verdict(told, began, &Shown::Silent, NOW), Verdict::Wait);
            assert_eq!(verdict(told, began, &Shown::Silent, EVER), expected);
        }
        let running = &all_told()[3];
        let state = "RUNNING".to_owned();
        assert_eq!(verdict(running, true, &Shown::Silent, LATE), Verdict::Wait);
        let vanished = Verdict::Ended(EngineEnd::Vanished { state: state.clone() });
        assert_eq!(verdict(running, true, &Shown::Silent, EVER), vanished);
        assert_eq!(
            verdict(running, false, &Shown::Silent, EVER),
            Verdict::WaitFor { word: state }
        );
        for told in [&all_told()[0], &all_told()[2]] {
            assert_eq!(verdict(told, false, &Shown::Silent, EVER), Verdict::Wait, "{told:?}");
        }
    }
}
