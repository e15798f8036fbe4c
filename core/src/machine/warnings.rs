//! The limits that the user was told of. A limit that is raised, and one of a new day, is told of again.

use crate::{
    event::{Event, LimitKind, Limits, NewLimits, RunEvent, Text, TimeEvent, Wait, WaitEnd},
    limits::LimitScope,
    run::{Phase, RunView},
};

/// The limits that the user was told of, each with its task if it is one per task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings(Vec<(LimitKind, Option<Text>)>);

impl Warnings {
    pub(super) fn contain(&self, limit: LimitKind, task: Option<&Text>) -> bool {
        let mut told = self.0.iter();
        told.any(|(known, of)| *known == limit && of.as_ref() == task)
    }

    /// Applies an event; `view` is the state before it.
    pub(super) fn apply(&mut self, view: &RunView, event: &Event) {
        match event {
            Event::Run(RunEvent::LimitNeared { limit, task, .. }) => self.0.push((*limit, task.clone())),
            // The limits may be others.
            Event::Run(RunEvent::Resumed { .. }) => self.0.clear(),
            Event::Run(RunEvent::LimitsChanged { limits }) => self.0.retain(|(limit, _)| !changes(limits, *limit)),
            Event::Time(TimeEvent::DayBegan { .. }) => self.forget_day(),
            Event::Time(TimeEvent::WaitEnded {
                cause: WaitEnd::RetriedNow,
            }) => {
                if let Phase::Waiting {
                    wait: Wait::DayBudget, ..
                } = view.phase
                {
                    self.forget_day();
                }
            }
            _ => {}
        }
    }

    fn forget_day(&mut self) {
        self.0.retain(|(limit, _)| limit.row().scope != LimitScope::Day);
    }
}

fn changes(new: &NewLimits, limit: LimitKind) -> bool {
    limit.row().max(&Limits::default().with(new)).is_some()
}
