//! How goals were run after edits, while agents worked.

use serde::{Deserialize, Serialize};

use crate::event::Event;

/// Checks of the goals for edits.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditChecks {
    /// All those of the run.
    pub count: u32,
    /// Those of the latest iteration.
    pub count_now: u32,
    /// Those in which a goal did not pass.
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
