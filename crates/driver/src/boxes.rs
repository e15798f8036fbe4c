//! Notices ticked boxes of the plan while the agent works.
//!
//! The ticks are only shown: decisions use the plan as read when the iteration has ended. A plan that cannot be read is
//! skipped, because it is probably being written.

use std::sync::Arc;

use ralph_core::{machine::Input, run::Phase};
use ralph_system::diagnostics::inherited;
use tokio::task::spawn_blocking;

use super::{
    plan_look::ToggledBoxes,
    run::{Driver, DriverError},
    tools::OffLoopResult,
};

impl Driver {
    /// Reads the plan off the loop, if an agent works on it.
    pub(super) fn look_at_boxes(&mut self) {
        let view = &self.state().view;
        let (plan, role) = (view.plan.clone(), view.role);
        let Phase::Running { iteration, .. } = view.phase else {
            return self.checks.plan_look.begin_look(false);
        };
        self.checks.plan_look.begin_look(role.is_work());
        if !role.is_work() {
            return;
        }
        let (jobs, found) = (Arc::clone(&self.jobs), self.tools.calls.found_in.clone());
        tokio::spawn(async move {
            let before = plan.clone();
            let look = spawn_blocking(inherited(move || jobs.toggled_boxes(&before)));
            let toggled = look.await.ok().flatten();
            let seen = OffLoopResult::Boxes(ToggledBoxes {
                iteration,
                plan,
                toggled,
            });
            _ = found.send(seen).await; // the run is over
        });
    }

    /// Records the toggled boxes that a look has found, unless the plan was read meanwhile.
    pub(super) fn boxes_seen(&mut self, seen: ToggledBoxes) -> Result<(), DriverError> {
        self.checks.plan_look.end_look();
        let ToggledBoxes {
            iteration,
            plan,
            toggled,
        } = seen;
        let toggled = toggled.filter(|_| plan == self.state().view.plan).unwrap_or_default();
        if !toggled.is_empty() && self.checks.plan_look.takes(toggled.len()) {
            self.advance(&Input::BoxesToggled { iteration, toggled })?;
        }
        Ok(())
    }
}
