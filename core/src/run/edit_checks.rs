//! Counts of the goals that were run after edits, while agents worked.

use serde::{Deserialize, Serialize};

use crate::event::{Event, GateEvent, IterationEvent};

/// Checks of the goals with `on_edit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
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
            Event::Iteration(IterationEvent::Started { .. }) => self.count_now = 0,
            Event::Gate(GateEvent::EditsChecked { results, .. }) => {
                self.count += 1;
                self.count_now += 1;
                self.failed += u32::from(results.iter().any(|result| !result.passed));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{goal_checked, iteration_started};

    /// A check whose goals exit with these codes.
    fn checked(codes: &[i32]) -> Event {
        let results = codes.iter().map(|code| {
            let Event::Gate(GateEvent::GoalChecked { result, .. }) = goal_checked(1, "tests", *code, "") else {
                unreachable!("a goal was checked")
            };
            result
        });
        Event::Gate(GateEvent::EditsChecked {
            iteration: 1,
            results: results.collect(),
            news: Vec::new(),
            live: false,
        })
    }

    #[test]
    fn a_check_fails_with_any_of_its_goals_and_counts_for_its_iteration_and_the_run() {
        let mut checks = EditChecks::default();
        for (event, expected) in [
            (checked(&[0, 0]), (1, 1, 0)),
            (checked(&[0, 1, 1]), (2, 2, 1)),
            (iteration_started(2, None, None), (2, 0, 1)),
            (checked(&[1]), (3, 1, 2)),
            (checked(&[0]), (4, 2, 2)),
        ] {
            checks.apply(&event);
            assert_eq!((checks.count, checks.count_now, checks.failed), expected, "{event:?}");
        }
    }
}
