//! When to look at the plan while an agent works on it, and how many of its changes are recorded.

use std::{sync::Arc, time::Duration};

use ralph_core::{event::PlanSnapshot, run::Shared};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

/// Delay between a write and a look: files are written in pieces.
const QUIET: Duration = Duration::from_millis(100);
/// Shortest time between two looks.
const ROUND: Duration = Duration::from_secs(1);
/// Most boxes that the records of an iteration may name; each record counts as [`BOXES_PER_RECORD`] more.
const MOST_BOXES: usize = 10_000;
const BOXES_PER_RECORD: usize = 10;

/// The schedule of looks at the plan.
#[derive(Debug, Default)]
pub(super) struct PlanLook {
    /// Notified of each write. Several writes before a look count as one.
    pub(super) written: Arc<Notify>,
    /// When to look after a write.
    due: Option<Instant>,
    earliest: Option<Instant>,
    is_looking: bool,
    /// How many boxes the records of this iteration may still name.
    left: usize,
}

/// The boxes that an agent has ticked or cleared while it works.
#[derive(Debug)]
pub(super) struct ToggledBoxes {
    pub(super) iteration: u32,
    /// The plan that they are compared with.
    pub(super) plan: Shared<PlanSnapshot>,
    /// Their positions in it; `None` if the plan cannot be read now.
    pub(super) toggled: Option<Vec<u32>>,
}

impl PlanLook {
    /// Waits until a look at the plan is due. Cancel safe.
    pub(super) async fn due(&mut self) {
        if self.is_looking {
            return std::future::pending().await;
        }
        let due = match self.due {
            Some(due) => due,
            None => {
                self.written.notified().await;
                let due = Instant::now() + QUIET;
                *self.due.insert(self.earliest.map_or(due, |earliest| earliest.max(due)))
            }
        };
        sleep_until(due).await;
    }

    pub(super) fn begin_iteration(&mut self) {
        self.left = MOST_BOXES;
    }

    /// Clears the due look, and marks it as running if `is_looking`.
    pub(super) fn begin_look(&mut self, is_looking: bool) {
        (self.due, self.is_looking) = (None, is_looking);
    }

    pub(super) fn end_look(&mut self) {
        self.is_looking = false;
        self.earliest = Some(Instant::now() + ROUND);
    }

    /// Uses up `boxes` of this iteration's allowance; false if too few are left.
    pub(super) fn takes(&mut self, boxes: usize) -> bool {
        let left = self.left.checked_sub(boxes + BOXES_PER_RECORD);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_of_an_iteration_name_no_more_than_so_many_boxes() {
        let mut look = PlanLook::default();
        assert!(!look.takes(1), "no iteration has begun");
        look.begin_iteration();
        assert!(!look.takes(MOST_BOXES), "as one record");
        let ticks = (0..).take_while(|_| look.takes(1)).count();
        assert_eq!(ticks, MOST_BOXES / (1 + BOXES_PER_RECORD));
        look.begin_iteration();
        assert!(look.takes(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_writes_is_looked_at_once_a_second() {
        let (mut look, start) = (PlanLook::default(), Instant::now());
        for second in 0..5 {
            for _ in 0..1_000 {
                look.written.notify_one();
            }
            look.due().await;
            look.begin_look(true);
            look.end_look();
            assert_eq!(start.elapsed(), QUIET + ROUND * second);
        }
    }
}
