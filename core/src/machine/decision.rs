//! A decision in the making: what is pushed to it is an event, and changes the state at once.

use crate::{
    event::{Event, Notice, PlanChange, PlanSnapshot, StopReason},
    run::Phase,
};

use super::{hints::hints, state::LoopState};

/// Events in the making, with the state as it is after them.
pub(super) struct Decision {
    pub(super) state: LoopState,
    events: Vec<Event>,
    now_ms: u64,
}

impl Decision {
    pub(super) fn at(state: LoopState, now_ms: u64) -> Self {
        Self {
            state,
            events: Vec::new(),
            now_ms,
        }
    }

    pub(super) fn push(&mut self, event: Event) {
        let event = event.bounded();
        self.state.apply_event(self.now_ms, &event);
        self.events.push(event);
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.push(Event::Noticed { notice });
    }

    /// Records what is new in the plan: all of it only where naming the changes would take about as much room.
    pub(super) fn plan_read(&mut self, plan: &PlanSnapshot) {
        let known = &*self.state.view.plan;
        if *known == *plan {
            return;
        }
        let change = PlanChange::between(known, plan);
        let event = match change.entries() * 2 < plan.tasks.len() {
            true => Event::PlanChanged { change },
            false => Event::PlanRead { plan: plan.clone() },
        };
        self.push(event);
    }

    pub(super) fn stop(&mut self, reason: StopReason) {
        let hints = hints(&self.state, &reason);
        self.push(Event::RunStopped {
            reason,
            hints,
            totals: self.state.view.totals(),
        });
    }

    /// What was decided, and the state after it.
    pub(super) fn made(self) -> (LoopState, Vec<Event>) {
        (self.state, self.events)
    }
}

pub(super) fn is_running(state: &LoopState, iteration: u32) -> bool {
    matches!(state.view.phase, Phase::Running { iteration: current, .. } if current == iteration)
}
