//! Spending per day, by all runs of the project.

use serde::{Deserialize, Serialize};

use crate::event::{AgentEvent, AgentSignal, Day, DayLimits, Event, RunEvent, Spent, TimeEvent, Usage, Wait, WaitEnd};

use super::Phase;

const QUARTER_MS: u64 = 900_000;
/// Longer than any day in any time zone.
const KEPT_MS: u64 = 48 * 3_600_000;

/// Recent spending by quarters of an hour, which is enough to sum up the current day in any time zone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// The quarters with spending, oldest first, including earlier runs.
    pub quarters: Vec<Spent>,
    /// The current day; `None` if no limit needs it.
    pub day: Option<Day>,
    /// How many times the user extended the limits of this day.
    pub extra: u32,
}

impl Spending {
    /// Applies an event; `phase` is the phase before it.
    pub(super) fn apply(&mut self, at_ms: u64, phase: &Phase, limits: &DayLimits, event: &Event) {
        match event {
            Event::Run(RunEvent::Started { earlier_spending, .. }) => self.quarters.clone_from(earlier_spending),
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::Usage { usage },
                ..
            }) => self.spend(at_ms, *usage),
            Event::Time(TimeEvent::DayBegan { day }) => {
                self.day = Some(*day);
                self.extra = 0;
            }
            Event::Time(TimeEvent::WaitEnded {
                cause: WaitEnd::RetriedNow,
            }) => {
                if let Phase::Waiting {
                    wait: Wait::DayBudget, ..
                } = phase
                {
                    self.allow_more(limits);
                }
            }
            _ => {}
        }
    }

    fn spend(&mut self, at_ms: u64, usage: Usage) {
        let from_ms = at_ms - at_ms % QUARTER_MS;
        self.quarters.retain(|spent| spent.from_ms + KEPT_MS > at_ms);
        let place = self.quarters.partition_point(|spent| spent.from_ms < from_ms);
        match self.quarters.get_mut(place).filter(|spent| spent.from_ms == from_ms) {
            Some(spent) => spent.usage = spent.usage.plus(usage),
            None => self.quarters.insert(place, Spent { from_ms, usage }),
        }
    }

    /// Extends the limits until the spending is below them.
    fn allow_more(&mut self, limits: &DayLimits) {
        let used_up = limits.times_used_up(&self.today());
        self.extra = used_up.max(self.extra.saturating_add(1));
    }

    /// Moves the times back with the clock, so that none is in the future.
    pub(super) fn set_back(&mut self, by_ms: u64) {
        for spent in &mut self.quarters {
            spent.from_ms = spent.from_ms.saturating_sub(by_ms - by_ms % QUARTER_MS);
        }
    }

    /// The spending since the day began.
    pub fn today(&self) -> Usage {
        let from_ms = self.day.map_or(0, |day| day.from_ms);
        let today = self.quarters.iter().filter(|spent| spent.from_ms >= from_ms);
        today.fold(Usage::default(), |sum, spent| sum.plus(spent.usage))
    }

    /// The limits of the current day, including extensions.
    pub fn limits_today(&self, limits: &DayLimits) -> DayLimits {
        limits.times(self.extra.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(count: u64) -> Usage {
        Usage {
            input_tokens: Some(count),
            ..Usage::default()
        }
    }

    fn quarters(spending: &Spending) -> Vec<(u64, Option<u64>)> {
        let quarters = spending.quarters.iter();
        quarters
            .map(|spent| (spent.from_ms / QUARTER_MS, spent.usage.tokens()))
            .collect()
    }

    #[test]
    fn spending_is_summed_up_by_quarters_of_an_hour_in_their_order() {
        let mut spending = Spending::default();
        // The clock may be set back.
        for (at_ms, count) in [
            (5 * QUARTER_MS, 1),
            (6 * QUARTER_MS - 1, 2),
            (8 * QUARTER_MS, 4),
            (3 * QUARTER_MS + 7, 8),
            (5 * QUARTER_MS, 16),
        ] {
            spending.spend(at_ms, tokens(count));
        }
        assert_eq!(quarters(&spending), [(3, Some(8)), (5, Some(19)), (8, Some(4))]);
        assert!(spending.quarters.iter().all(|spent| spent.from_ms % QUARTER_MS == 0));
    }

    #[test]
    fn spending_of_more_than_two_days_ago_is_not_stored() {
        let mut spending = Spending::default();
        for at_ms in [QUARTER_MS, 2 * QUARTER_MS, QUARTER_MS + KEPT_MS] {
            spending.spend(at_ms, tokens(1));
        }
        assert_eq!(quarters(&spending), [(2, Some(1)), (1 + KEPT_MS / QUARTER_MS, Some(1))]);
    }

    #[test]
    fn a_clock_that_is_set_back_moves_spending_by_whole_quarters() {
        let moved = |by_ms| {
            let mut spending = Spending::default();
            spending.spend(5 * QUARTER_MS, tokens(1));
            spending.set_back(by_ms);
            spending.quarters[0].from_ms
        };
        assert_eq!(moved(QUARTER_MS - 1), 5 * QUARTER_MS);
        assert_eq!(moved(2 * QUARTER_MS + 5), 3 * QUARTER_MS);
        assert_eq!(moved(9 * QUARTER_MS), 0);
    }
}
