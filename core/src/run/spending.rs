//! What is spent in a day of the user's, by all runs of the project.

use serde::{Deserialize, Serialize};

use crate::event::{AgentSignal, Day, DayLimits, Event, Spent, Usage, Wait, WaitEnd};

use super::Phase;

const QUARTER_MS: u64 = 900_000;
/// Longer than any day, wherever it is counted from.
const KEPT_MS: u64 = 48 * 3_600_000;

/// What was spent lately, by quarters of an hour: enough to tell what of it was today, wherever the user is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// The quarters in which anything was spent, oldest first, those of runs before this one included.
    pub quarters: Vec<Spent>,
    /// None where no limit needs it.
    pub day: Option<Day>,
    /// How often the user allowed the limits of this day once more.
    pub extra: u32,
}

impl Spending {
    /// Takes in an event; `phase` is the one before it.
    pub(super) fn apply(&mut self, at_ms: u64, phase: &Phase, limits: &DayLimits, event: &Event) {
        match event {
            Event::RunStarted { earlier_spending, .. } => self.quarters.clone_from(earlier_spending),
            Event::AgentReported {
                signal: AgentSignal::Usage { usage },
                ..
            } => self.spend(at_ms, *usage),
            Event::DayBegan { day } => {
                self.day = Some(*day);
                self.extra = 0;
            }
            Event::WaitEnded {
                cause: WaitEnd::RetriedNow,
            } => {
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

    /// Allows the limits so often that what was spent is below them again.
    fn allow_more(&mut self, limits: &DayLimits) {
        let used_up = limits.times_used_up(&self.today());
        self.extra = used_up.max(self.extra.saturating_add(1));
    }

    /// Takes the times back by which the clock was set back, so that nothing lies in the days to come.
    pub(super) fn set_back(&mut self, by_ms: u64) {
        for spent in &mut self.quarters {
            spent.from_ms = spent.from_ms.saturating_sub(by_ms - by_ms % QUARTER_MS);
        }
    }

    /// What was spent since the day began.
    pub fn today(&self) -> Usage {
        let from_ms = self.day.map_or(0, |day| day.from_ms);
        let today = self.quarters.iter().filter(|spent| spent.from_ms >= from_ms);
        today.fold(Usage::default(), |sum, spent| sum.plus(spent.usage))
    }

    /// The limits as they hold today.
    pub fn limits_today(&self, limits: &DayLimits) -> DayLimits {
        limits.times(self.extra.saturating_add(1))
    }
}
