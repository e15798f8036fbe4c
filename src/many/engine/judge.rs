//! What is to be made of a job, by what its engine says and what its run shows. Pure.
//!
//! The run decides: one whose lock is held goes on, whatever the engine says, and one whose journal has its end is over. The
//! engine is believed where the run is silent, and about who has ended it.

use std::time::Duration;

use ralph_core::event::StopReason;
use ralph_plan::batch::EngineEnd;

use super::{commands::Told, manifest::Meaning};

/// How long a run may be silent after its engine has said that the job is over: another machine's files are seen late.
const LATE: Duration = Duration::from_secs(2);
/// How long the engine may take to say why it ended a run that was ended from outside.
const NAMED: Duration = Duration::from_secs(30);

/// What the run of a job shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::many) enum Shown {
    /// Somebody works there.
    Working,
    Over(StopReason),
    /// Nobody works there, and there is no end.
    Silent,
}

/// What is seen of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) told: Told,
    /// Its script has begun.
    pub(super) began: bool,
    pub(super) run: Shown,
}

/// What is to be made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Wait,
    /// The engine says what cannot be; the run is waited for.
    WaitFor {
        word: String,
    },
    /// As its run says.
    Over(StopReason),
    /// As its engine says, if it can be withdrawn: if it has not begun by now.
    Withdraw(EngineEnd),
    /// As its engine says; whatever is left of it there is to be ended.
    Ended(EngineEnd),
    /// Its run ended without a word.
    Died,
}

/// `same_for` is how long it has been seen like this, `ours` whether this batch has asked for its end, `progress` whether the run
/// got somewhere.
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

/// A run that has its end, which somebody else may have wanted.
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
        // This batch did.
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
