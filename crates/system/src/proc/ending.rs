//! The stop ladder as a pure table: decides from each event and its time what to do to the tree.

use std::time::{Duration, Instant};

use super::{Ladder, StopSignal, StopSpeed};

/// How long processes that a program left behind may take to obey terminate.
pub(super) const LEFTOVER_GRACE: Duration = Duration::from_millis(300);
/// How long a rung may take once ralph is dead: the whole tree has to be gone within a second.
pub(super) const ORPHANED_GRACE: Duration = Duration::from_millis(250);
/// How long to keep killing a process that does not die before reporting it as a survivor.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
const KILL_PAUSE: Duration = Duration::from_millis(5);

/// An occurrence that the guard reports to the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LadderEvent {
    /// The program itself has ended, and descendants are left.
    ProgramEnded,
    Asked(StopSpeed),
    RalphGone,
    /// The time of [`LadderProgress::due`] has come.
    Due,
}

/// A step against the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LadderStep {
    /// Interrupt the program's process group.
    Interrupt,
    /// Terminate every descendant.
    Terminate,
    /// Kill every descendant.
    Kill,
}

/// The progress of a child tree towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LadderStage {
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
pub(super) struct LadderProgress {
    ladder: Ladder,
    stage: LadderStage,
}

impl LadderProgress {
    pub(super) fn new(ladder: Ladder) -> LadderProgress {
        LadderProgress {
            ladder,
            stage: LadderStage::Running,
        }
    }

    /// Returns when [`LadderEvent::Due`] is to be reported.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.stage {
            LadderStage::Running | LadderStage::GivenUp => None,
            LadderStage::Interrupted { until } | LadderStage::Terminated { until } => Some(until),
            LadderStage::Killing { next, .. } => Some(next),
        }
    }

    pub(super) fn has_given_up(&self) -> bool {
        self.stage == LadderStage::GivenUp
    }

    /// Handles an event at `now`. An event that asks for no more than is already being done changes nothing.
    pub(super) fn take(&mut self, event: LadderEvent, now: Instant) -> Option<LadderStep> {
        match event {
            LadderEvent::ProgramEnded => self.hurry(LEFTOVER_GRACE, now),
            LadderEvent::Asked(StopSpeed::Graceful) => self.begin(now),
            LadderEvent::Asked(StopSpeed::Immediate) => self.kill(now),
            LadderEvent::RalphGone => {
                self.ladder.grace = self.ladder.grace.min(ORPHANED_GRACE);
                match self.stage {
                    LadderStage::Running => self.begin(now),
                    LadderStage::Interrupted { until } => {
                        self.stage = LadderStage::Interrupted {
                            until: until.min(now + self.ladder.grace),
                        };
                        None
                    }
                    LadderStage::Terminated { .. } => self.hurry(ORPHANED_GRACE, now),
                    LadderStage::Killing { .. } | LadderStage::GivenUp => None,
                }
            }
            LadderEvent::Due => self.next_rung(now),
        }
    }

    fn begin(&mut self, now: Instant) -> Option<LadderStep> {
        match (self.stage, self.ladder.first) {
            (LadderStage::Running, StopSignal::Interrupt) => {
                self.stage = LadderStage::Interrupted {
                    until: now + self.ladder.grace,
                };
                Some(LadderStep::Interrupt)
            }
            (LadderStage::Running, StopSignal::Terminate) => self.terminate(self.ladder.grace, now),
            (
                LadderStage::Interrupted { .. }
                | LadderStage::Terminated { .. }
                | LadderStage::Killing { .. }
                | LadderStage::GivenUp,
                StopSignal::Interrupt | StopSignal::Terminate,
            ) => None,
        }
    }

    fn next_rung(&mut self, now: Instant) -> Option<LadderStep> {
        match self.stage {
            LadderStage::Interrupted { until } if until <= now => self.terminate(self.ladder.grace, now),
            LadderStage::Terminated { until } if until <= now => self.kill(now),
            LadderStage::Killing { give_up, .. } if give_up <= now => {
                self.stage = LadderStage::GivenUp;
                None
            }
            LadderStage::Killing { next, give_up } if next <= now => {
                self.stage = LadderStage::Killing {
                    next: now + KILL_PAUSE,
                    give_up,
                };
                Some(LadderStep::Kill)
            }
            LadderStage::Running
            | LadderStage::Interrupted { .. }
            | LadderStage::Terminated { .. }
            | LadderStage::Killing { .. }
            | LadderStage::GivenUp => None,
        }
    }

    /// Makes sure that every descendant has been told to terminate and has at most `grace` left to do so.
    fn hurry(&mut self, grace: Duration, now: Instant) -> Option<LadderStep> {
        let grace = grace.min(self.ladder.grace);
        match self.stage {
            LadderStage::Running | LadderStage::Interrupted { .. } => self.terminate(grace, now),
            LadderStage::Terminated { until } => {
                self.stage = LadderStage::Terminated {
                    until: until.min(now + grace),
                };
                None
            }
            LadderStage::Killing { .. } | LadderStage::GivenUp => None,
        }
    }

    fn terminate(&mut self, grace: Duration, now: Instant) -> Option<LadderStep> {
        self.stage = LadderStage::Terminated { until: now + grace };
        Some(LadderStep::Terminate)
    }

    fn kill(&mut self, now: Instant) -> Option<LadderStep> {
        match self.stage {
            LadderStage::Running | LadderStage::Interrupted { .. } | LadderStage::Terminated { .. } => {
                self.stage = LadderStage::Killing {
                    next: now + KILL_PAUSE,
                    give_up: now + KILL_PATIENCE,
                };
                Some(LadderStep::Kill)
            }
            LadderStage::Killing { .. } | LadderStage::GivenUp => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(3);

    fn ending(first: StopSignal) -> (LadderProgress, Instant) {
        (LadderProgress::new(Ladder { first, grace: GRACE }), Instant::now())
    }

    #[test]
    fn goes_down_one_rung_per_grace() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        assert_eq!(
            ending.take(LadderEvent::Asked(StopSpeed::Graceful), start),
            Some(LadderStep::Interrupt)
        );
        assert_eq!(ending.due(), Some(start + GRACE));
        assert_eq!(
            ending.take(LadderEvent::Due, start + GRACE),
            Some(LadderStep::Terminate)
        );
        assert_eq!(ending.due(), Some(start + 2 * GRACE));
        assert_eq!(ending.take(LadderEvent::Due, start + 2 * GRACE), Some(LadderStep::Kill));
        let again = ending.due().unwrap();
        assert_eq!(ending.take(LadderEvent::Due, again), Some(LadderStep::Kill));
    }

    #[test]
    fn terminate_as_first_signal_is_the_only_rung_before_kill() {
        let (mut ending, start) = ending(StopSignal::Terminate);
        assert_eq!(
            ending.take(LadderEvent::Asked(StopSpeed::Graceful), start),
            Some(LadderStep::Terminate)
        );
        assert_eq!(ending.take(LadderEvent::Due, start + GRACE), Some(LadderStep::Kill));
    }

    #[test]
    fn asking_again_changes_nothing_but_at_once_does() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(LadderEvent::Asked(StopSpeed::Graceful), start);
        assert_eq!(
            ending.take(LadderEvent::Asked(StopSpeed::Graceful), start + GRACE / 2),
            None
        );
        assert_eq!(ending.due(), Some(start + GRACE));
        assert_eq!(
            ending.take(LadderEvent::Asked(StopSpeed::Immediate), start + GRACE / 2),
            Some(LadderStep::Kill)
        );
        assert_eq!(
            ending.take(LadderEvent::Asked(StopSpeed::Graceful), start + GRACE / 2),
            None
        );
    }

    #[test]
    fn leftovers_of_a_program_that_ended_get_a_short_grace() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        assert_eq!(
            ending.take(LadderEvent::ProgramEnded, start),
            Some(LadderStep::Terminate)
        );
        assert_eq!(ending.due(), Some(start + LEFTOVER_GRACE));
    }

    #[test]
    fn the_end_of_the_program_cuts_a_long_grace_short() {
        let (mut ending, start) = ending(StopSignal::Terminate);
        ending.take(LadderEvent::Asked(StopSpeed::Graceful), start);
        assert_eq!(ending.take(LadderEvent::ProgramEnded, start), None);
        assert_eq!(ending.due(), Some(start + LEFTOVER_GRACE));
    }

    #[test]
    fn after_the_death_of_ralph_everything_is_killed_within_a_second() {
        for first in [StopSignal::Interrupt, StopSignal::Terminate] {
            for asked_before in [true, false] {
                let (mut ending, start) = ending(first);
                if asked_before {
                    ending.take(LadderEvent::Asked(StopSpeed::Graceful), start);
                }
                let mut last = ending.take(LadderEvent::RalphGone, start);
                let mut now = start;
                while last != Some(LadderStep::Kill) {
                    now = ending.due().unwrap();
                    last = ending.take(LadderEvent::Due, now);
                }
                assert!(now - start <= Duration::from_millis(500), "{first:?} {asked_before}");
            }
        }
    }

    #[test]
    fn killing_what_cannot_be_killed_ends() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(LadderEvent::Asked(StopSpeed::Immediate), start);
        assert!(!ending.has_given_up());
        ending.take(LadderEvent::Due, start + KILL_PATIENCE);
        assert!(ending.has_given_up());
        assert_eq!(ending.due(), None);
    }

    #[test]
    fn a_timer_that_comes_too_early_moves_nothing() {
        let (mut ending, start) = ending(StopSignal::Interrupt);
        ending.take(LadderEvent::Asked(StopSpeed::Graceful), start);
        assert_eq!(ending.take(LadderEvent::Due, start + GRACE / 2), None);
        assert_eq!(ending.due(), Some(start + GRACE));
    }
}
