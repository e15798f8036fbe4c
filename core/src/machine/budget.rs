//! Limits how much of an agent's reports goes into the journal.
//!
//! The journal keeps the signals that the state is folded from. All others (messages, tools, files) are *details*:
//! enough of them are kept to follow a run, no matter how fast an agent reports. Omitted details were shown live, and
//! are in the signal log of the iteration. Both budgets shrink as a run grows, so even a long run has a bounded
//! journal.

use crate::event::AgentSignal;

/// The share of details, in bytes of records.
const DETAILS: SignalShare = SignalShare {
    most: 192 * 1024,
    least: 16 * 1024,
    run: 12 << 20,
};
/// The share of signals that affect the state. It has room for thousands of permissions and questions; an agent that
/// needs more does nothing else.
const NEEDED: SignalShare = SignalShare {
    most: 1 << 20,
    least: 64 * 1024,
    run: 24 << 20,
};

/// The journal space for one kind of signal: the bounds per iteration and the total per run.
struct SignalShare {
    most: u64,
    least: u64,
    run: u64,
}

impl SignalShare {
    /// The budget of an iteration: `most` for the first one, and for later ones the same fraction of what is left, at
    /// least `least`.
    fn for_iteration(&self, used_before: u64) -> u64 {
        let part = self.run / self.most;
        (self.run.saturating_sub(used_before) / part).clamp(self.least, self.most)
    }
}

/// The journal space in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    details: SpaceUsed,
    needed: SpaceUsed,
    /// Whether details of the latest iteration were omitted.
    omitted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct SpaceUsed {
    iteration_bytes: u64,
    /// Bytes of the earlier iterations.
    before_bytes: u64,
}

impl SpaceUsed {
    fn begin_iteration(&mut self) {
        self.before_bytes += std::mem::take(&mut self.iteration_bytes);
    }

    fn has_room(self, share: &SignalShare, bytes: u64) -> bool {
        self.iteration_bytes + bytes <= share.for_iteration(self.before_bytes)
    }

    fn is_half_full(self, share: &SignalShare) -> bool {
        self.iteration_bytes >= share.for_iteration(self.before_bytes) / 2
    }
}

impl Budget {
    pub(super) fn begin_iteration(&mut self) {
        self.details.begin_iteration();
        self.needed.begin_iteration();
        self.omitted = false;
    }

    pub(super) fn omit(&mut self) {
        self.omitted = true;
    }

    pub(super) fn has_omitted(&self) -> bool {
        self.omitted
    }

    pub(super) fn take(&mut self, signal: &AgentSignal, importance: Importance) {
        let taken = match importance {
            Importance::Detail => &mut self.details,
            Importance::Needed => &mut self.needed,
        };
        taken.iteration_bytes += signal.record_bytes();
    }

    /// Whether `signal`, which is already bounded, may become a record.
    pub(super) fn admission(&self, signal: &AgentSignal, importance: Importance) -> Admission {
        let bytes = signal.record_bytes();
        match (importance, signal) {
            (Importance::Detail, _) if self.details.has_room(&DETAILS, bytes) => Admission::Record,
            (Importance::Detail, _) => Admission::ShowOnly,
            // Small and rare: usage is reported at intervals, and a turn ends once.
            (Importance::Needed, AgentSignal::Usage { .. } | AgentSignal::TurnEnded { .. }) => Admission::Record,
            // An agent that keeps retrying for hours, with progress in between, is not a flood. From here on its
            // retries are no longer recorded; its progress still is, as that happens only once per recorded retry.
            (Importance::Needed, AgentSignal::Retrying { .. }) if self.needed.is_half_full(&NEEDED) => {
                Admission::ShowOnly
            }
            (Importance::Needed, signal) if shows_progress(signal) => Admission::Record,
            (Importance::Needed, _) if self.needed.has_room(&NEEDED, bytes) => Admission::Record,
            (Importance::Needed, _) => Admission::Reject,
        }
    }
}

/// The importance of a signal to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Importance {
    /// The signal does not affect the state.
    Detail,
    Needed,
}

/// Whether the journal has room for a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Record,
    /// The signal is shown but not recorded.
    ShowOnly,
    /// The journal has no room for a signal that affects the state: the state of the iteration can no longer be
    /// tracked.
    Reject,
}

/// Whether a signal shows that the agent no longer waits.
pub(super) fn shows_progress(signal: &AgentSignal) -> bool {
    matches!(
        signal,
        AgentSignal::Said { .. }
            | AgentSignal::Thought { .. }
            | AgentSignal::ToolStarted { .. }
            | AgentSignal::ToolEnded { .. }
            | AgentSignal::FileChanged { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{ProblemKind, Usage};

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    fn said() -> AgentSignal {
        AgentSignal::Said {
            text: "x".repeat(1_000),
        }
    }

    fn asked() -> AgentSignal {
        AgentSignal::PermissionAsked {
            allowed: false,
            id: "1".to_owned(),
            text: "git push".to_owned(),
        }
    }

    fn retrying() -> AgentSignal {
        AgentSignal::Retrying {
            attempt: None,
            of: None,
            why: "overloaded".to_owned(),
            kind: Some(ProblemKind::Overloaded),
        }
    }

    /// A budget of which the latest iteration has used these bytes.
    fn used(details: u64, needed: u64) -> Budget {
        let used = |iteration_bytes| SpaceUsed {
            iteration_bytes,
            before_bytes: 0,
        };
        Budget {
            details: used(details),
            needed: used(needed),
            omitted: false,
        }
    }

    #[test]
    fn the_share_of_an_iteration_is_a_fixed_fraction_of_what_is_left() {
        for (used_before, share) in [
            (0, 192 * KIB),
            (3 * MIB, 144 * KIB),
            (6 * MIB, 96 * KIB),
            (12 * MIB, 16 * KIB),
            (20 * MIB, 16 * KIB),
        ] {
            assert_eq!(DETAILS.for_iteration(used_before), share, "{used_before}");
        }
    }

    #[test]
    fn a_detail_is_recorded_if_it_fits_into_the_share_exactly() {
        let bytes = said().record_bytes();
        let room = 192 * KIB - bytes;
        for (used_bytes, admission) in [(room, Admission::Record), (room + 1, Admission::ShowOnly)] {
            let budget = used(used_bytes, 0);
            assert_eq!(budget.admission(&said(), Importance::Detail), admission);
        }
    }

    #[test]
    fn an_iteration_begins_with_a_share_of_what_the_earlier_ones_left() {
        let mut budget = Budget::default();
        assert!(!budget.has_omitted());
        budget.take(&said(), Importance::Detail);
        budget.take(&asked(), Importance::Needed);
        budget.omit();
        budget.begin_iteration();
        let before = |signal: AgentSignal| SpaceUsed {
            iteration_bytes: 0,
            before_bytes: signal.record_bytes(),
        };
        let begun = Budget {
            details: before(said()),
            needed: before(asked()),
            omitted: false,
        };
        assert_eq!(budget, begun);
        budget.take(&said(), Importance::Detail);
        budget.begin_iteration();
        assert_eq!(budget.details.before_bytes, 2 * said().record_bytes());
    }

    #[test]
    fn retries_are_recorded_until_half_of_the_share_is_used() {
        for (used_bytes, admission) in [(512 * KIB - 1, Admission::Record), (512 * KIB, Admission::ShowOnly)] {
            let budget = used(0, used_bytes);
            assert_eq!(budget.admission(&retrying(), Importance::Needed), admission);
        }
    }

    #[test]
    fn without_room_only_signals_are_recorded_that_cannot_become_a_flood() {
        let full = used(MIB, MIB);
        let usage = AgentSignal::Usage {
            usage: Usage::default(),
        };
        let turn_ended = AgentSignal::TurnEnded {
            ok: true,
            message: None,
        };
        for signal in [usage, turn_ended, said()] {
            assert_eq!(
                full.admission(&signal, Importance::Needed),
                Admission::Record,
                "{signal:?}"
            );
        }
        assert_eq!(full.admission(&asked(), Importance::Needed), Admission::Reject);
        assert_eq!(used(0, 0).admission(&asked(), Importance::Needed), Admission::Record);
    }
}
