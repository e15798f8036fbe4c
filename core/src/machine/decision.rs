//! A decision in progress: a pushed event changes the state at once.

use crate::{
    event::{
        Event, Hint, IterationEvent, Leftover, Notice, PlanChange, PlanEvent, PlanSnapshot, RunEvent, StopReason,
        UnreadLines, listed,
    },
    run::Phase,
};

use super::{hints::hints, state::LoopState};

/// The events of a decision in progress, and the state after them.
pub(super) struct StepDecision {
    pub(super) state: LoopState,
    events: Vec<Event>,
    now_ms: u64,
}

impl StepDecision {
    pub(super) fn at(state: LoopState, now_ms: u64) -> Self {
        Self {
            state,
            events: Vec::new(),
            now_ms,
        }
    }

    pub(super) fn push(&mut self, event: Event) {
        self.state.apply_event(self.now_ms, &event);
        self.events.push(event);
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.push(Event::Noticed { notice });
    }

    /// Records what a job has to tell beside its result.
    pub(super) fn told(&mut self, leftovers: &[(Leftover, Notice)], notices: &[Notice]) {
        for (leftover, notice) in leftovers.iter().cloned() {
            self.push(Event::Iteration(IterationEvent::LeftoverFound { leftover, notice }));
        }
        notices.iter().for_each(|notice| self.notice(notice.clone()));
    }

    /// Records changes of the plan. The whole plan is recorded only if the list of changes would be about as large.
    pub(super) fn plan_read(&mut self, plan: &PlanSnapshot) {
        let known = &*self.state.view.plan;
        if *known == *plan {
            return;
        }
        let change = PlanChange::between(known, plan);
        let event = match change.entries() * 2 < plan.tasks.len() {
            true => Event::Plan(PlanEvent::Changed { change }),
            false => Event::Plan(PlanEvent::Read { plan: plan.clone() }),
        };
        self.push(event);
    }

    pub(super) fn lines_unread(&mut self, unread: Option<&UnreadLines>) {
        if let Some(unread) = unread.filter(|unread| **unread != self.state.view.unread) {
            let unread = unread.clone();
            self.push(Event::Plan(PlanEvent::LinesUnread { unread }));
        }
    }

    pub(super) fn stop(&mut self, reason: StopReason) {
        let hints = listed(hints(&self.state, &reason), |count| Hint::More { count });
        self.push(Event::Run(RunEvent::Stopped {
            reason,
            hints,
            totals: self.state.view.totals(),
        }));
    }

    /// The events so far.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns the state after the decision, and its events.
    pub(super) fn finish(self) -> (LoopState, Vec<Event>) {
        (self.state, self.events)
    }
}

pub(super) fn is_running(state: &LoopState, iteration: u32) -> bool {
    matches!(state.view.phase, Phase::Running { iteration: current, .. } if current == iteration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::testing;

    #[test]
    fn a_plan_is_recorded_as_its_changes_if_they_are_shorter() {
        let plan = |done: usize| {
            let texts = ["a", "b", "c", "d", "e", "f"].into_iter().enumerate();
            let tasks: Vec<(&str, bool)> = texts.map(|(at, text)| (text, at < done)).collect();
            testing::plan(&tasks)
        };
        for (toggled, is_change) in [(1, true), (2, true), (3, false), (6, false)] {
            let mut decision = StepDecision::at(LoopState::default(), 1_000);
            decision.plan_read(&plan(0));
            decision.plan_read(&plan(0));
            decision.plan_read(&plan(toggled));
            let [Event::Plan(PlanEvent::Read { .. }), changed] = decision.events() else {
                panic!("{:?}", decision.events());
            };
            assert_eq!(
                matches!(changed, Event::Plan(PlanEvent::Changed { .. })),
                is_change,
                "{toggled}"
            );
            assert_eq!(*decision.state.view.plan, plan(toggled));
        }
    }
}
