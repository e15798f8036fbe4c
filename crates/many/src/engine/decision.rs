//! Decides the state of a job from its engine's answers and its run's files. Pure.
//!
//! The run takes precedence: while its lock is held it continues, and once its journal has an end it is over.
//! The engine's answer counts if the run is silent, and to tell who ended it.

use std::time::Duration;

use ralph_core::event::StopReason;
use ralph_plan::batch::EngineEnd;

use super::{commands::EngineAnswer, manifest::StateMeaning};

/// How long a run may be silent after its engine reported the end of the job: files from other machines
/// arrive late.
const LATE: Duration = Duration::from_secs(2);
/// How long the engine may take to report why it ended a run.
const NAMED: Duration = Duration::from_secs(30);

/// The state of a job's run, according to its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunState {
    /// The run's lock is held.
    Working,
    Over(StopReason),
    /// The lock is free, and the journal has no end.
    Silent,
}

/// The observed state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobObservation {
    pub(super) answer: EngineAnswer,
    /// The job's script has begun.
    pub(super) began: bool,
    pub(super) run: RunState,
}

/// The decision about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JobDecision {
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

/// Decides about a job. `same_for` is how long `observed` has not changed, `ours` whether this batch has asked
/// the job to end, `progress` whether the run has done a task.
pub(super) fn decide(
    observed: &JobObservation,
    same_for: Duration,
    patience: Duration,
    ours: bool,
    progress: bool,
) -> JobDecision {
    let late = LATE.min(patience);
    match (&observed.run, &observed.answer) {
        (RunState::Working, EngineAnswer::Word { word, meaning }) => match meaning {
            StateMeaning::Ended | StateMeaning::CutOff | StateMeaning::Cancelled if same_for >= patience => {
                JobDecision::WaitFor { word: word.clone() }
            }
            StateMeaning::Queued
            | StateMeaning::Running
            | StateMeaning::Ended
            | StateMeaning::CutOff
            | StateMeaning::Cancelled => JobDecision::Wait,
        },
        (RunState::Working, EngineAnswer::Nothing | EngineAnswer::Unknown) => JobDecision::Wait,
        (RunState::Over(reason), answer) => over(reason, answer, same_for, patience, ours, progress),
        (RunState::Silent, EngineAnswer::Nothing) => JobDecision::Wait,
        (RunState::Silent, EngineAnswer::Unknown) if same_for < late => JobDecision::Wait,
        (RunState::Silent, EngineAnswer::Unknown) => match observed.began {
            true => JobDecision::Died,
            false => JobDecision::Withdraw(EngineEnd::Forgotten),
        },
        (RunState::Silent, EngineAnswer::Word { word, meaning }) => match (meaning, observed.began) {
            (StateMeaning::Queued, false) => JobDecision::Wait,
            (StateMeaning::Queued | StateMeaning::Running, _) if same_for < patience => JobDecision::Wait,
            (StateMeaning::Running, false) => JobDecision::WaitFor { word: word.clone() },
            (StateMeaning::Queued | StateMeaning::Running, true) => {
                JobDecision::Ended(EngineEnd::Vanished { state: word.clone() })
            }
            (StateMeaning::Ended | StateMeaning::CutOff | StateMeaning::Cancelled, _) if same_for < late => {
                JobDecision::Wait
            }
            (StateMeaning::Ended, true) => JobDecision::Died,
            (StateMeaning::Ended, false) => JobDecision::Withdraw(EngineEnd::NotStarted { state: word.clone() }),
            (StateMeaning::CutOff | StateMeaning::Cancelled, began) => {
                let end = ended_by(*meaning, word, progress);
                match began {
                    true => JobDecision::Ended(end),
                    false => JobDecision::Withdraw(end),
                }
            }
        },
    }
}

/// Decides about a run with a recorded end, which may have been caused from outside.
fn over(
    reason: &StopReason,
    answer: &EngineAnswer,
    same_for: Duration,
    patience: Duration,
    ours: bool,
    progress: bool,
) -> JobDecision {
    let from_outside = matches!(
        reason,
        StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp
    );
    match answer {
        _ if ours || !from_outside => JobDecision::Over(reason.clone()),
        EngineAnswer::Word {
            word,
            meaning: meaning @ (StateMeaning::CutOff | StateMeaning::Cancelled),
        } => JobDecision::Ended(ended_by(*meaning, word, progress)),
        EngineAnswer::Word {
            meaning: StateMeaning::Ended,
            ..
        }
        | EngineAnswer::Unknown => JobDecision::Over(reason.clone()),
        EngineAnswer::Nothing | EngineAnswer::Word { .. } if same_for < NAMED.min(patience) => JobDecision::Wait,
        EngineAnswer::Nothing | EngineAnswer::Word { .. } => JobDecision::Over(reason.clone()),
    }
}

fn ended_by(meaning: StateMeaning, word: &str, progress: bool) -> EngineEnd {
    let state = word.to_owned();
    match meaning {
        StateMeaning::CutOff => EngineEnd::CutOff { state, progress },
        StateMeaning::Cancelled | StateMeaning::Queued | StateMeaning::Running | StateMeaning::Ended => {
            EngineEnd::Cancelled { state }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::Proof;

    const NOW: Duration = Duration::ZERO;
    const EVER: Duration = Duration::from_secs(3600);
    const PATIENCE: Duration = Duration::from_secs(60);

    fn word(word: &str, meaning: StateMeaning) -> EngineAnswer {
        EngineAnswer::Word {
            word: word.to_owned(),
            meaning,
        }
    }

    fn verdict(answer: &EngineAnswer, began: bool, run: &RunState, same_for: Duration) -> JobDecision {
        let observed = JobObservation {
            answer: answer.clone(),
            began,
            run: run.clone(),
        };
        decide(&observed, same_for, PATIENCE, false, true)
    }

    fn all_told() -> [EngineAnswer; 7] {
        [
            EngineAnswer::Nothing,
            EngineAnswer::Unknown,
            word("PENDING", StateMeaning::Queued),
            word("RUNNING", StateMeaning::Running),
            word("COMPLETED", StateMeaning::Ended),
            word("TIMEOUT", StateMeaning::CutOff),
            word("CANCELLED", StateMeaning::Cancelled),
        ]
    }

    #[test]
    fn a_run_that_goes_on_is_waited_for_whatever_its_engine_says() {
        for answer in all_told() {
            for same_for in [NOW, EVER] {
                let verdict = verdict(&answer, true, &RunState::Working, same_for);
                assert!(
                    matches!(verdict, JobDecision::Wait | JobDecision::WaitFor { .. }),
                    "{answer:?}: {verdict:?}"
                );
            }
        }
    }

    #[test]
    fn a_run_that_is_done_is_done_whatever_its_engine_says() {
        let done = StopReason::done(Proof::Tests);
        for answer in all_told() {
            let over = JobDecision::Over(done.clone());
            assert_eq!(
                verdict(&answer, true, &RunState::Over(done.clone()), NOW),
                over,
                "{answer:?}"
            );
        }
    }

    #[test]
    fn who_ended_a_run_from_outside_is_told_by_its_engine_if_it_is_in_time() {
        let ended = RunState::Over(StopReason::Terminated);
        let state = "TIMEOUT".to_owned();
        let cut_off = EngineEnd::CutOff { state, progress: true };
        assert_eq!(verdict(&all_told()[5], true, &ended, NOW), JobDecision::Ended(cut_off));
        let state = "CANCELLED".to_owned();
        assert_eq!(
            verdict(&all_told()[6], true, &ended, NOW),
            JobDecision::Ended(EngineEnd::Cancelled { state })
        );
        for answer in [EngineAnswer::Nothing, word("RUNNING", StateMeaning::Running)] {
            assert_eq!(verdict(&answer, true, &ended, NOW), JobDecision::Wait);
            assert_eq!(
                verdict(&answer, true, &ended, EVER),
                JobDecision::Over(StopReason::Terminated)
            );
        }
        // This batch ended it.
        let observed = JobObservation {
            answer: all_told()[6].clone(),
            began: true,
            run: ended,
        };
        assert_eq!(
            decide(&observed, NOW, PATIENCE, true, true),
            JobDecision::Over(StopReason::Terminated)
        );
    }

    #[test]
    fn a_silent_run_is_over_once_its_engine_has_said_so_for_a_while() {
        for (answer, began, expected) in [
            (&all_told()[1], true, JobDecision::Died),
            (&all_told()[1], false, JobDecision::Withdraw(EngineEnd::Forgotten)),
            (&all_told()[4], true, JobDecision::Died),
        ] {
            assert_eq!(verdict(answer, began, &RunState::Silent, NOW), JobDecision::Wait);
            assert_eq!(verdict(answer, began, &RunState::Silent, EVER), expected);
        }
        let running = &all_told()[3];
        let state = "RUNNING".to_owned();
        assert_eq!(verdict(running, true, &RunState::Silent, LATE), JobDecision::Wait);
        let vanished = JobDecision::Ended(EngineEnd::Vanished { state: state.clone() });
        assert_eq!(verdict(running, true, &RunState::Silent, EVER), vanished);
        assert_eq!(
            verdict(running, false, &RunState::Silent, EVER),
            JobDecision::WaitFor { word: state }
        );
        for answer in [&all_told()[0], &all_told()[2]] {
            assert_eq!(
                verdict(answer, false, &RunState::Silent, EVER),
                JobDecision::Wait,
                "{answer:?}"
            );
        }
    }
}
