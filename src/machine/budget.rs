//! How much of what an agent reports goes into the journal.
//!
//! The journal keeps what the state is folded from. What is only told (messages, tools, files) are *details*: so many of
//! them are kept that a run can be read, and no more, however fast an agent talks. What was left out is in the
//! iteration's signal log and was shown when it happened. Both budgets shrink as a run grows, so a long run has one, too.

use crate::event::{AgentSignal, CancelReason, Event};

use super::{
    rules::Rules,
    step::{Decision, is_running},
};

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
enum Room {
    There,
    /// It is told and not kept.
    OnlyTold,
    /// It would be needed, and there is none: nothing can be known of this iteration any more.
    None,
}

impl Rules {
    /// Whether a reader that wants no more than the present journals hold keeps `event`, as the next one.
    pub(super) fn keeps(&self, event: &Event) -> bool {
        match event {
            Event::AgentReported { signal, .. } => self.room_for(signal) == Room::There,
            _ => true,
        }
    }

    /// Looks whether `signal`, which is bounded, may become a record.
    fn room_for(&self, signal: &AgentSignal) -> Room {
        let bytes = signal.record_bytes();
        match (self.weight_of(signal), signal) {
            (Weight::Detail, _) if self.budget.details.has_room(&DETAILS, bytes) => Room::There,
            (Weight::Detail, _) => Room::OnlyTold,
            // Few and small: used-up money and tokens are told at intervals, and a turn ends once.
            (Weight::Needed, AgentSignal::Usage { .. } | AgentSignal::TurnEnded { .. }) => Room::There,
            // An agent that tries again for hours, and gets on in between, is no flood. What it waits for is not followed any
            // more then; that it got on still is, which happens once.
            (Weight::Needed, AgentSignal::Retrying { .. }) if self.budget.needed.is_half_full(&NEEDED) => {
                Room::OnlyTold
            }
            (Weight::Needed, signal) if is_getting_on(signal) => Room::There,
            (Weight::Needed, _) if self.budget.needed.has_room(&NEEDED, bytes) => Room::There,
            (Weight::Needed, _) => Room::None,
        }
    }
}

/// Records what the agent reported, as far as the journal has room for it.
pub(super) fn report(decision: &mut Decision, iteration: u32, signal: AgentSignal) {
    match decision.state.rules.room_for(&signal) {
        Room::There => decision.push(Event::AgentReported { iteration, signal }),
        Room::OnlyTold => {
            if !decision.state.rules.budget.has_omitted() {
                decision.push(Event::DetailsOmitted { iteration });
            }
        }
        Room::None => {
            if is_running(&decision.state, iteration) {
                let reason = CancelReason::Flooded;
                decision.push(Event::CancelRequested { iteration, reason });
            }
        }
    }
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
