//! How much of what an agent reports goes into the journal.
//!
//! The journal keeps what the state is folded from. What is only told (messages, tools, files) are *details*: so many of
//! them are kept that a run can be read, and no more, however fast an agent talks. What was left out is in the
//! iteration's signal log and was shown when it happened. Both budgets shrink as a run grows, so a long run has one, too.

use crate::event::AgentSignal;

/// What details of one iteration may take, in bytes of records, and those of a run.
const DETAILS: Share = Share {
    most: 192 * 1024,
    least: 16 * 1024,
    run: 12 << 20,
};
/// The same for what the state is made of. Thousands of permissions and questions fit; an agent that reports more does
/// nothing else.
const NEEDED: Share = Share {
    most: 1 << 20,
    least: 64 * 1024,
    run: 24 << 20,
};

/// What one iteration may take of what is left for the run.
struct Share {
    most: u64,
    least: u64,
    run: u64,
}

impl Share {
    /// The first iteration may take the most, each later one the same part of what is left.
    fn of_iteration(&self, used_before: u64) -> u64 {
        let part = self.run / self.most;
        (self.run.saturating_sub(used_before) / part).clamp(self.least, self.most)
    }
}

/// What of the journal's room is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    details: Taken,
    needed: Taken,
    /// Details of the latest iteration were left out.
    omitted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Taken {
    iteration_bytes: u64,
    /// By the iterations before.
    before_bytes: u64,
}

impl Taken {
    fn begin_iteration(&mut self) {
        self.before_bytes += std::mem::take(&mut self.iteration_bytes);
    }

    fn has_room(self, share: &Share, bytes: u64) -> bool {
        self.iteration_bytes + bytes <= share.of_iteration(self.before_bytes)
    }

    fn is_half_full(self, share: &Share) -> bool {
        self.iteration_bytes >= share.of_iteration(self.before_bytes) / 2
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

    pub(super) fn take(&mut self, signal: &AgentSignal, weight: Weight) {
        let taken = match weight {
            Weight::Detail => &mut self.details,
            Weight::Needed => &mut self.needed,
        };
        taken.iteration_bytes += signal.record_bytes();
    }

    /// Looks whether `signal`, which is bounded and of that weight, may become a record.
    pub(super) fn room_for(&self, signal: &AgentSignal, weight: Weight) -> Room {
        let bytes = signal.record_bytes();
        match (weight, signal) {
            (Weight::Detail, _) if self.details.has_room(&DETAILS, bytes) => Room::There,
            (Weight::Detail, _) => Room::OnlyTold,
            // Few and small: used-up money and tokens are told at intervals, and a turn ends once.
            (Weight::Needed, AgentSignal::Usage { .. } | AgentSignal::TurnEnded { .. }) => Room::There,
            // An agent that tries again for hours, and gets on in between, is no flood. What it waits for is not followed any
            // more then; that it got on still is, which happens once.
            (Weight::Needed, AgentSignal::Retrying { .. }) if self.needed.is_half_full(&NEEDED) => Room::OnlyTold,
            (Weight::Needed, signal) if is_getting_on(signal) => Room::There,
            (Weight::Needed, _) if self.needed.has_room(&NEEDED, bytes) => Room::There,
            (Weight::Needed, _) => Room::None,
        }
    }
}

/// What a signal is to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// It changes nothing in the state.
    Detail,
    Needed,
}

/// Whether there is room for a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    There,
    /// It is told and not kept.
    OnlyTold,
    /// It would be needed, and there is none: nothing can be known of this iteration any more.
    None,
}

/// What shows that an agent does not wait any more.
pub(super) fn is_getting_on(signal: &AgentSignal) -> bool {
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
