//! The stop ladder as a pure table: decides from each cue and its time what to do to the tree.

use std::time::{Duration, Instant};

use super::{Ladder, Stop, StopSignal};

/// How long processes that a program left behind may take to obey terminate.
pub(super) const LEFTOVER_GRACE: Duration = Duration::from_millis(300);
/// How long a rung may take once ralph is dead: the whole tree has to be gone within a second.
pub(super) const ORPHANED_GRACE: Duration = Duration::from_millis(250);
/// How long to keep killing a process that does not die before reporting it as a survivor.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(5);

/// An occurrence that the guard reports to the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// The program itself has ended, and descendants are left.
    ProgramEnded,
    Asked(Stop),
    RalphGone,
    /// The time of [`Ending::due`] has come.
    Due,
}

/// A step against the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Interrupt the program's process group.
    Interrupt,
    /// Terminate every descendant.
    Terminate,
    /// Kill every descendant.
    Kill,
}

/// The progress of a child tree towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    Interrupted {
        until: Instant,
    },
    Terminated {
        until: Instant,
    },
    Killing {
        next: Instant,
        give_up: Instant,
    },
    /// Killing did not help; the survivors are reported.
    GivenUp,
}

#[derive(Debug)]
pub(super) struct Ending {
    ladder: Ladder,
    stage: Stage,
}

impl Ending {
    pub(super) fn new(ladder: Ladder) -> Ending {
        Ending {
            ladder,
            stage: Stage::Running,
        }
    }

    /// Returns when [`Cue::Due`] is to be reported.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.stage {
            Stage::Running | Stage::GivenUp => None,
            Stage::Interrupted { until } | Stage::Terminated { until } => Some(until),
            Stage::Killing { next, .. } => Some(next),
        }
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.stage == Stage::GivenUp
    }

    /// Handles a cue at `now`. A cue that asks for no more than is already being done changes nothing.
    pub(super) fn take(&mut self, cue: Cue, now: Instant) -> Option<Action> {
        match cue {
            Cue::ProgramEnded => self.hurry(LEFTOVER_GRACE, now),
            Cue::Asked(Stop::Graceful) => self.begin(now),
            Cue::Asked(Stop::Immediate) => self.kill(now),
            Cue::RalphGone => {
                self.ladder.grace = self.ladder.grace.min(ORPHANED_GRACE);
                match self.stage {
                    Stage::Running => self.begin(now),
                    Stage::Interrupted { until } => {
                        self.stage = Stage::Interrupted {
                            until: until.min(now + self.ladder.grace),
                        };
                        None
                    }
                    Stage::Terminated { .. } => self.hurry(ORPHANED_GRACE, now),
                    Stage::Killing { .. } | Stage::GivenUp => None,
                }
            }
            Cue::Due => self.next_rung(now),
        }
    }

    fn begin(&mut self, now: Instant) -> Option<Action> {
        match (self.stage, self.ladder.first) {
            (Stage::Running, StopSignal::Interrupt) => {
                self.stage = Stage::Interrupted {
                    until: now + self.ladder.grace,
                };
                Some(Action::Interrupt)
            }
            (Stage::Running, StopSignal::Terminate) => self.terminate(self.ladder.grace, now),
            (
                Stage::Interrupted { .. } | Stage::Terminated { .. } | Stage::Killing { .. } | Stage::GivenUp,
                StopSignal::Interrupt | StopSignal::Terminate,
            ) => None,
        }
    }

    fn next_rung(&mut self, now: Instant) -> Option<Action> {
        match self.stage {
            Stage::Interrupted { until } if until <= now => self.terminate(self.ladder.grace, now),
            Stage::Terminated { until } if until <= now => self.kill(now),
            Stage::Killing { give_up, .. } if give_up <= now => {
                self.stage = Stage::GivenUp;
                None
            }
            Stage::Killing { next, give_up } if next <= now => {
                self.stage = Stage::Killing {
                    next: now + KILL_PAUSE,
                    give_up,
                };
                Some(Action::Kill)
            }
            Stage::Running
            | Stage::Interrupted { .. }
            | Stage::Terminated { .. }
            | Stage::Killing { .. }
            | Stage::GivenUp => None,
        }
    }

    /// Makes sure that every descendant has been told to terminate and has at most `grace` left to do so.
    fn hurry(&mut self, grace: Duration, now: Instant) -> Option<Action> {
        let grace = grace.min(self.ladder.grace);
        match self.stage {
            Stage::Running | Stage::Interrupted { .. } => self.terminate(grace, now),
            Stage::Terminated { until } => {
                self.stage = Stage::Terminated {
                    until: until.min(now + grace),
                };
                None
            }
            Stage::Killing { .. } | Stage::GivenUp => None,
        }
    }

    fn terminate(&mut self, grace: Duration, now: Instant) -> Option<Action> {
        self.stage = Stage::Terminated { until: now + grace };
        Some(Action::Terminate)
    }

    fn kill(&mut self, now: Instant) -> Option<Action> {
        match self.stage {
            Stage::Running | Stage::Interrupted { .. } | Stage::Terminated { .. } => {
                self.stage = Stage::Killing {
                    next: now + KILL_PAUSE,
                    give_up: now + KILL_PATIENCE,
                };
                Some(Action::Kill)
            }
            Stage::Killing { .. } | Stage::GivenUp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(3);

    fn ending(first: StopSignal) -> (Ending, Instant) {
        (Ending::new(Ladder { first, grace: GRACE }), Instant::now())
    }

    #[test]
    fn goes_down_one_rung_per_grace() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        assert_eq!(ending.take(Cue::Asked(Stop::Graceful), start), Some(Action::Interrupt));
        assert_eq!(ending.due(), Some(start + GRACE));
        assert_eq!(ending.take(Cue::Due, start + GRACE), Some(Action::Terminate));
        assert_eq!(ending.due(), Some(start + 2 * GRACE));
        assert_eq!(ending.take(Cue::Due, start + 2 * GRACE), Some(Action::Kill));
        let again = ending.due().unwrap();
        assert_eq!(ending.take(Cue::Due, again), Some(Action::Kill));
    }

    #[test]
    fn terminate_as_first_signal_is_the_only_rung_before_kill() {
        let (mut ending, start) = ending(StopSignal::Terminate);
        assert_eq!(ending.take(Cue::Asked(Stop::Graceful), start), Some(Action::Terminate));
        assert_eq!(ending.take(Cue::Due, start + GRACE), Some(Action::Kill));
    }

    #[test]
    fn asking_again_changes_nothing_but_at_once_does() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(Cue::Asked(Stop::Graceful), start);
        assert_eq!(ending.take(Cue::Asked(Stop::Graceful), start + GRACE / 2), None);
        assert_eq!(ending.due(), Some(start + GRACE));
        assert_eq!(
            ending.take(Cue::Asked(Stop::Immediate), start + GRACE / 2),
            Some(Action::Kill)
        );
        assert_eq!(ending.take(Cue::Asked(Stop::Graceful), start + GRACE / 2), None);
    }

    #[test]
    fn leftovers_of_a_program_that_ended_get_a_short_grace() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        assert_eq!(ending.take(Cue::ProgramEnded, start), Some(Action::Terminate));
        assert_eq!(ending.due(), Some(start + LEFTOVER_GRACE));
    }

    #[test]
    fn the_end_of_the_program_cuts_a_long_grace_short() {
        let (mut ending, start) = ending(StopSignal::Terminate);
        ending.take(Cue::Asked(Stop::Graceful), start);
        assert_eq!(ending.take(Cue::ProgramEnded, start), None);
        assert_eq!(ending.due(), Some(start + LEFTOVER_GRACE));
    }

    #[test]
    fn after_the_death_of_ralph_everything_is_killed_within_a_second() {
        for first in [StopSignal::Interrupt, StopSignal::Terminate] {
            for asked_before in [true, false] {
                let (mut ending, start) = ending(first);
                if asked_before {
                    ending.take(Cue::Asked(Stop::Graceful), start);
                }
                let mut last = ending.take(Cue::RalphGone, start);
                let mut now = start;
                while last != Some(Action::Kill) {
                    now = ending.due().unwrap();
                    last = ending.take(Cue::Due, now);
                }
                assert!(now - start <= Duration::from_millis(500), "{first:?} {asked_before}");
            }
        }
    }

    #[test]
    fn killing_what_cannot_be_killed_ends() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(Cue::Asked(Stop::Immediate), start);
        assert!(!ending.has_given_up());
        ending.take(Cue::Due, start + KILL_PATIENCE);
        assert!(ending.has_given_up());
        assert_eq!(ending.due(), None);
    }

    #[test]
    fn a_timer_that_comes_too_early_moves_nothing() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(Cue::Asked(Stop::Graceful), start);
        assert_eq!(ending.take(Cue::Due, start + GRACE / 2), None);
        assert_eq!(ending.due(), Some(start + GRACE));
    }
}
