//! Times in the state, and what becomes of them when the clock does not show how much time has passed.
//!
//! Records are stamped by the wall clock. Times that stand for a duration (when the run began, until when a failure is
//! waited out) move with it; what somebody announced as a date does not.

use crate::event::{Event, Wait};

use super::{phase::Phase, state::LoopState};

impl LoopState {
    /// Takes the time of a record, and leaves out what did not pass for the loop.
    pub(super) fn follow_clock(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::ClockMoved { gap_ms } => {
                self.skip(*gap_ms);
                self.delay_wait(*gap_ms);
                self.now_ms = at_ms;
            }
            // Nobody worked while there was no ralph, or after the end. A wait went on meanwhile, unless the clock was set back.
            Event::RunResumed { .. } | Event::RunReopened { .. } => {
                let gap_ms = at_ms.cast_signed().saturating_sub(self.now_ms.cast_signed());
                self.skip(gap_ms);
                self.delay_wait(gap_ms.min(0));
                self.now_ms = at_ms;
                // Its work is begun anew.
                self.entered_ms = at_ms;
            }
            _ => self.now_ms = self.now_ms.max(at_ms),
        }
    }

    /// Leaves out a time in which nobody worked: it counts for no limit and no duration. Negative where the clock was set
    /// back.
    fn skip(&mut self, gap_ms: i64) {
        self.started_ms = self.started_ms.saturating_add_signed(gap_ms);
        self.entered_ms = self.entered_ms.saturating_add_signed(gap_ms);
        if gap_ms < 0 {
            // Set forward, it is rather a sleep, over which calls grow old.
            for start_ms in &mut self.starts_ms {
                *start_ms = start_ms.saturating_add_signed(gap_ms);
            }
        }
        match &mut self.phase {
            Phase::Running { started_ms, .. } | Phase::Cancelling { started_ms, .. } => {
                *started_ms = started_ms.saturating_add_signed(gap_ms);
            }
            Phase::Idle
            | Phase::Preparing { .. }
            | Phase::Settling { .. }
            | Phase::Verifying { .. }
            | Phase::Waiting { .. }
            | Phase::Paused
            | Phase::Stopped(_) => {}
        }
    }

    /// Moves the end of a wait that stands for a duration.
    fn delay_wait(&mut self, gap_ms: i64) {
        let Phase::Waiting { wait, until_ms } = &mut self.phase else {
            return;
        };
        match wait {
            Wait::Backoff | Wait::Cooldown => *until_ms = until_ms.saturating_add_signed(gap_ms),
            // As the starts that it is counted from.
            Wait::CallBudget => *until_ms = until_ms.saturating_add_signed(gap_ms.min(0)),
            // Announced as a date.
            Wait::LimitReset => {}
        }
    }
}
