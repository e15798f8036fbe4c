//! Limits of a run: in total, for each task, and for each day and hour together with the other runs of the project.
//!
//! [`LIMITS`] is the only list of them. Whoever shows, checks, warns of or raises limits reads its rows, so a new limit
//! is a row, its field in [`Limits`] and its setting.

mod fact;
mod rows;
mod rule;

pub use fact::{DayLimits, Limits, NewLimits, SizeLimit, SubagentLimits, TaskLimits, WARN_AT};
pub use rows::{
    Consumption, LIMITS, LimitKind, LimitRow, LimitScope, LimitUnit, SubagentCount, TaskConsumption, TurnEnd,
    by_precedence, reached, whole,
};
pub use rule::{consumption, consumption_at, day_limit_reached, limits_now, run_limit_reached};

/// A usage of 100 tokens and one dollar, for tests.
#[cfg(test)]
const USED: crate::event::Usage = crate::event::Usage {
    input_tokens: Some(60),
    cached_tokens: None,
    output_tokens: Some(40),
    cost_usd: Some(1.0),
    estimated: false,
};
