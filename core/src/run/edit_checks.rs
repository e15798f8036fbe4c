//! Counts of the goals that were run after edits, while agents worked.

use serde::{Deserialize, Serialize};

use crate::event::Event;

/// Checks of the goals with `on_edit`.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditChecks {
    /// All checks of the run.
    pub count: u32,
    /// Checks in the latest iteration.
    pub count_now: u32,
    /// Checks in which a goal failed.
    pub failed: u32,
}

impl EditChecks {
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::IterationStarted { .. } => self.count_now = 0,
            Event::EditsChecked { results, .. } => {
                self.count += 1;
                self.count_now += 1;
                self.failed += u32::from(results.iter().any(|result| !result.passed));
            }
            _ => {}
        }
    }
}
