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
    match signal {
        AgentSignal::Said { .. }
        | AgentSignal::Thought { .. }
        | AgentSignal::ToolStarted { .. }
        | AgentSignal::ToolEnded { .. }
        | AgentSignal::FileChanged { .. } => true,
        AgentSignal::Opened { .. }
        | AgentSignal::Usage { .. }
        | AgentSignal::Retrying { .. }
        | AgentSignal::LimitHit { .. }
        | AgentSignal::WindowUsed { .. }
        | AgentSignal::PermissionAsked { .. }
        | AgentSignal::QuestionAsked { .. }
        | AgentSignal::Problem { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::PermissionRequested { .. }
        | AgentSignal::PermissionWithdrawn { .. }
        | AgentSignal::TextDelta { .. }
        | AgentSignal::ThoughtDelta { .. }
        | AgentSignal::ToolOutput { .. }
        | AgentSignal::TurnEnded { .. }
        | AgentSignal::Unknown { .. }
        | AgentSignal::Ended { .. } => false,
    }
}
