//! The limits, each a row: what it counts, what it is called, and how it is raised.
//!
//! A figure of a limit is an `f64` here, in the unit of its row: counts, milliseconds and tokens are far below 2^53,
//! up to which all whole numbers are exact.

use serde::{Deserialize, Serialize};

use crate::event::{Changes, Usage};

use super::fact::{Limits, NewLimits};

/// The work that a limit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitScope {
    Run,
    /// One task of the plan.
    Task,
    /// All runs of the project on one day.
    Day,
    /// All runs of the project within an hour. Only waited for; it ends no run.
    Hour,
    /// The running iteration, which ends at it. The run continues.
    Iteration,
}

/// The unit of a limit's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitUnit {
    Count,
    Milliseconds,
    Dollars,
    Tokens,
}

/// Whether a limit ends a running turn, or only keeps the next iteration from starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    Never,
    /// The report of the agent that reaches the limit ends the turn.
    ByReport,
    /// As [`TurnEnd::ByReport`], but the limit itself may be reached.
    ByExcess,
    /// A timer ends the turn.
    ByTimer,
}

/// A limit.
#[derive(Debug)]
pub struct LimitRow {
    pub kind: LimitKind,
    pub scope: LimitScope,
    pub unit: LimitUnit,
    /// The thing that is limited, as in "the iteration limit".
    pub noun: &'static str,
    /// Heads a line about its use, such as `task's cost`.
    pub name: &'static str,
    /// Its setting, such as `limits.perTask.maxTokens`.
    pub setting: &'static str,
    /// The option that sets it.
    pub flag: &'static str,
    /// The value of that option, as the help names it.
    pub value: &'static str,
    /// The option of `ralph continue` that takes what is allowed beyond the present use, if there is one.
    pub more: Option<&'static str>,
    /// Whether a run has this limit unless its user takes it away.
    pub by_default: bool,
    pub ends_turn: TurnEnd,
    max: fn(&Limits) -> Option<f64>,
    used: fn(&Consumption) -> Option<f64>,
    /// Sets it in a running run; `None` if only a resumed run can have another one.
    change: Option<fn(&mut NewLimits, f64)>,
}

/// The amounts that a run has used of everything that limits count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Consumption {
    /// Iterations that count: neither those ended by a rate limit nor reviews do.
    pub iterations: u32,
    pub elapsed_ms: u64,
    pub usage: Usage,
    /// `None` if they are not known.
    pub changes: Option<Changes>,
    /// Iterations that started within the last hour, in all runs of the project.
    pub calls: u32,
    /// `None` if no task is worked on.
    pub task: Option<TaskConsumption>,
    /// Spending of all runs of the project since the day began; `None` if no day is known.
    pub today: Option<Usage>,
    /// Those of the running iteration.
    pub subagents: SubagentCount,
}

/// How many subagents an iteration has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubagentCount {
    pub started: u32,
    pub running: u32,
    /// Levels of subagents below the agent.
    pub depth: u32,
}

/// The amounts that a run has used on one task.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TaskConsumption {
    pub iterations: u32,
    pub usage: Usage,
}

/// The columns that most rows share. Each row has to give all that `limits!` names.
const USUAL: LimitRow = LimitRow {
    kind: LimitKind::MaxIterations,
    scope: LimitScope::Run,
    unit: LimitUnit::Count,
    noun: "",
    name: "",
    setting: "",
    flag: "",
    value: "N",
    more: None,
    by_default: false,
    ends_turn: TurnEnd::ByReport,
    max: |_| None,
    used: |_| None,
    change: None,
};

macro_rules! limits {
    ($( $(#[$doc:meta])* $kind:ident {
        scope: $scope:expr,
        unit: $unit:expr,
        noun: $noun:expr,
        name: $name:expr,
        setting: $setting:expr,
        flag: $flag:expr,
        max: $max:expr,
        used: $used:expr,
        $($column:ident: $value:expr,)*
    } )*) => {
        /// The name of a limit.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum LimitKind {
            $( $(#[$doc])* $kind, )*
        }

        /// All limits, in the order in which they are shown and, within a scope, looked at.
        pub const LIMITS: &[LimitRow] = &[ $( LimitRow {
            kind: LimitKind::$kind,
            scope: $scope,
            unit: $unit,
            noun: $noun,
            name: $name,
            setting: $setting,
            flag: $flag,
            max: $max,
            used: $used,
            $($column: $value,)*
            ..USUAL
        }, )* ];
    };
}

limits! {
    MaxIterations {
        scope: LimitScope::Run,
        unit: LimitUnit::Count,
        noun: "iteration",
        name: "iterations",
        setting: "limits.maxIterations",
        flag: "--max-iterations",
        max: |limits| limits.max_iterations.map(f64::from),
        used: |used| Some(f64::from(used.iterations)),
        more: Some("--iterations"),
        by_default: true,
        ends_turn: TurnEnd::Never,
        change: Some(|new, max| new.max_iterations = Some(count(max))),
    }
    MaxTime {
        scope: LimitScope::Run,
        unit: LimitUnit::Milliseconds,
        noun: "time",
        name: "time",
        setting: "limits.maxTime",
        flag: "--max-time",
        max: |limits| limits.max_time_ms.map(figure),
        used: |used| Some(figure(used.elapsed_ms)),
        value: "TIME",
        by_default: true,
        ends_turn: TurnEnd::ByTimer,
        change: Some(|new, max| new.max_time_ms = Some(whole(max))),
    }
    MaxCost {
        scope: LimitScope::Run,
        unit: LimitUnit::Dollars,
        noun: "cost",
        name: "cost",
        setting: "limits.maxCostUsd",
        flag: "--max-cost-usd",
        max: |limits| limits.max_cost_usd,
        used: |used| used.usage.cost_usd,
        value: "USD",
        change: Some(|new, max| new.max_cost_usd = Some(max)),
    }
    MaxTokens {
        scope: LimitScope::Run,
        unit: LimitUnit::Tokens,
        noun: "token",
        name: "tokens",
        setting: "limits.maxTokens",
        flag: "--max-tokens",
        max: |limits| limits.max_tokens.map(figure),
        used: |used| used.usage.tokens().map(figure),
        change: Some(|new, max| new.max_tokens = Some(whole(max))),
    }
    TaskIterations {
        scope: LimitScope::Task,
        unit: LimitUnit::Count,
        noun: "iteration",
        name: "task's iterations",
        setting: "limits.perTask.maxIterations",
        flag: "--max-iterations-per-task",
        max: |limits| limits.per_task.max_iterations.map(f64::from),
        used: |used| Some(f64::from(used.task?.iterations)),
        ends_turn: TurnEnd::Never,
    }
    TaskCost {
        scope: LimitScope::Task,
        unit: LimitUnit::Dollars,
        noun: "cost",
        name: "task's cost",
        setting: "limits.perTask.maxCostUsd",
        flag: "--max-cost-usd-per-task",
        max: |limits| limits.per_task.max_cost_usd,
        used: |used| used.task?.usage.cost_usd,
        value: "USD",
    }
    TaskTokens {
        scope: LimitScope::Task,
        unit: LimitUnit::Tokens,
        noun: "token",
        name: "task's tokens",
        setting: "limits.perTask.maxTokens",
        flag: "--max-tokens-per-task",
        max: |limits| limits.per_task.max_tokens.map(figure),
        used: |used| used.task?.usage.tokens().map(figure),
    }
    DayCost {
        scope: LimitScope::Day,
        unit: LimitUnit::Dollars,
        noun: "cost",
        name: "today's cost",
        setting: "limits.perDay.maxCostUsd",
        flag: "--max-cost-usd-per-day",
        max: |limits| limits.per_day.max_cost_usd,
        used: |used| used.today?.cost_usd,
        value: "USD",
    }
    DayTokens {
        scope: LimitScope::Day,
        unit: LimitUnit::Tokens,
        noun: "token",
        name: "today's tokens",
        setting: "limits.perDay.maxTokens",
        flag: "--max-tokens-per-day",
        max: |limits| limits.per_day.max_tokens.map(figure),
        used: |used| used.today?.tokens().map(figure),
    }
    /// Only waited for; it ends no run.
    CallsPerHour {
        scope: LimitScope::Hour,
        unit: LimitUnit::Count,
        noun: "call",
        name: "calls per hour",
        setting: "limits.callsPerHour",
        flag: "--calls-per-hour",
        max: |limits| limits.calls_per_hour.map(f64::from),
        used: |used| Some(f64::from(used.calls)),
        ends_turn: TurnEnd::Never,
    }
    Subagents {
        scope: LimitScope::Iteration,
        unit: LimitUnit::Count,
        noun: "subagent",
        name: "subagents",
        setting: "limits.subagents.perIteration",
        flag: "--max-subagents",
        max: |limits| limits.subagents.per_iteration.map(f64::from),
        used: |used| Some(f64::from(used.subagents.started)),
        by_default: true,
        ends_turn: TurnEnd::ByExcess,
    }
    SubagentsAtOnce {
        scope: LimitScope::Iteration,
        unit: LimitUnit::Count,
        noun: "parallel subagent",
        name: "parallel subagents",
        setting: "limits.subagents.atOnce",
        flag: "--max-parallel-subagents",
        max: |limits| limits.subagents.at_once.map(f64::from),
        used: |used| Some(f64::from(used.subagents.running)),
        by_default: true,
        ends_turn: TurnEnd::ByExcess,
    }
    SubagentDepth {
        scope: LimitScope::Iteration,
        unit: LimitUnit::Count,
        noun: "subagent level",
        name: "subagent levels",
        setting: "limits.subagents.depth",
        flag: "--max-subagent-depth",
        max: |limits| limits.subagents.depth.map(f64::from),
        used: |used| Some(f64::from(used.subagents.depth)),
        by_default: true,
        ends_turn: TurnEnd::ByExcess,
    }
}

#[allow(clippy::cast_precision_loss)] // Times and tokens are far below the precision of f64.
fn figure(amount: u64) -> f64 {
    amount as f64
}

/// The figure as a whole number; the cast rounds down and saturates.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn whole(figure: f64) -> u64 {
    figure as u64
}

fn count(figure: f64) -> u32 {
    u32::try_from(whole(figure)).unwrap_or(u32::MAX)
}

impl LimitKind {
    /// Its row.
    pub fn row(self) -> &'static LimitRow {
        // Both are written by one macro, in the same order.
        &LIMITS[self as usize]
    }
}

impl LimitUnit {
    /// Whether a limit counts in this unit.
    pub fn is_limited(self, limits: &Limits) -> bool {
        LIMITS.iter().any(|row| row.unit == self && row.max(limits).is_some())
    }
}

impl LimitRow {
    /// The value of the limit; `None` if there is none.
    pub fn max(&self, limits: &Limits) -> Option<f64> {
        (self.max)(limits)
    }

    /// Its setting, without the leading `limits.`.
    pub fn name_of_setting(&self) -> &'static str {
        self.setting.trim_start_matches("limits.")
    }

    /// Whether people are shown it beside the others: limits of the run and of the hour always, those of tasks and days
    /// if they are set, those of an iteration once they are used.
    pub fn is_shown(&self, limits: &Limits, used: &Consumption) -> bool {
        match self.scope {
            LimitScope::Run | LimitScope::Hour => true,
            LimitScope::Task | LimitScope::Day => self.max(limits).is_some(),
            LimitScope::Iteration => self.used(used) > Some(0.0),
        }
    }

    /// Returns what is used of it; `None` if that is not known.
    pub fn used(&self, used: &Consumption) -> Option<f64> {
        (self.used)(used)
    }

    /// The tokens and the cost within its scope.
    pub fn usage(&self, used: &Consumption) -> Usage {
        match self.scope {
            LimitScope::Run | LimitScope::Hour | LimitScope::Iteration => used.usage,
            LimitScope::Task => used.task.unwrap_or_default().usage,
            LimitScope::Day => used.today.unwrap_or_default(),
        }
    }

    /// The used share of the limit; `None` without a limit, or if it is not known what is used.
    pub fn share(&self, limits: &Limits, used: &Consumption) -> Option<f64> {
        Some(self.used(used)? / self.max(limits)?)
    }

    pub fn is_reached(&self, limits: &Limits, used: &Consumption) -> bool {
        let max = self.max(limits);
        let is_reached = |used, max| match self.ends_turn {
            TurnEnd::ByExcess => used > max,
            TurnEnd::Never | TurnEnd::ByReport | TurnEnd::ByTimer => used >= max,
        };
        max.is_some_and(|max| self.used(used).is_some_and(|used| is_reached(used, max)))
    }

    /// The limit that is proposed instead of the present one: twice as much, or, if less than half of the present limit
    /// would be left of that, the first multiple of it that leaves so much. `None` without a limit.
    pub fn raised(&self, limits: &Limits, used: &Consumption) -> Option<f64> {
        let max = self.max(limits)?;
        let times = self.used(used).unwrap_or(0.0) / max + 0.5;
        Some(max * times.ceil().max(2.0))
    }

    /// Whether a running run can be given another limit.
    pub fn can_be_changed(&self) -> bool {
        self.change.is_some()
    }

    /// Sets this limit of a running run; without effect if it cannot be changed.
    pub fn set(&self, new: &mut NewLimits, max: f64) {
        if let Some(change) = self.change {
            change(new, max);
        }
    }
}

/// All limits in the order in which they are looked at: the one that comes first is named if several are reached.
pub fn by_precedence() -> impl Iterator<Item = &'static LimitRow> {
    let scopes = [
        LimitScope::Run,
        LimitScope::Hour,
        LimitScope::Day,
        LimitScope::Task,
        LimitScope::Iteration,
    ];
    scopes
        .into_iter()
        .flat_map(|scope| LIMITS.iter().filter(move |row| row.scope == scope))
}

/// The limit that forbids another iteration.
pub fn reached(scope: LimitScope, limits: &Limits, used: &Consumption) -> Option<LimitKind> {
    let mut rows = LIMITS.iter().filter(|row| row.scope == scope);
    rows.find(|row| row.is_reached(limits, used)).map(|row| row.kind)
}

#[cfg(test)]
mod tests {
    use super::{super::USED, *};
    use crate::event::{DayLimits, TaskLimits};

    #[test]
    fn a_run_may_start_another_iteration_until_a_limit_is_reached() {
        let limits = Limits {
            max_iterations: Some(5),
            max_time_ms: Some(1_000),
            ..Limits::default()
        };
        let cheap = Limits {
            max_cost_usd: Some(1.0),
            ..limits.clone()
        };
        let terse = Limits {
            max_tokens: Some(100),
            ..limits.clone()
        };
        for (limits, iterations, elapsed_ms, limit) in [
            (&limits, 4, 999, None),
            (&limits, 5, 999, Some(LimitKind::MaxIterations)),
            (&limits, 4, 1_000, Some(LimitKind::MaxTime)),
            (&cheap, 4, 999, Some(LimitKind::MaxCost)),
            (&terse, 4, 999, Some(LimitKind::MaxTokens)),
            (&Limits::default(), u32::MAX, u64::MAX, None),
        ] {
            let used = Consumption {
                iterations,
                elapsed_ms,
                usage: USED,
                ..Consumption::default()
            };
            assert_eq!(reached(LimitScope::Run, limits, &used), limit, "{limits:?}");
        }
    }

    #[test]
    fn limits_of_the_run_a_task_or_a_day_bound_cost_and_tokens() {
        let of_task = |per_task| Limits {
            per_task,
            ..Limits::default()
        };
        let of_day = |per_day| Limits {
            per_day,
            ..Limits::default()
        };
        let (max_cost_usd, max_tokens) = (Some(1.0), Some(1));
        let unlimited = (Limits::default(), false, false);
        let on_cost = [
            Limits {
                max_cost_usd,
                ..Limits::default()
            },
            of_task(TaskLimits {
                max_cost_usd,
                ..TaskLimits::default()
            }),
            of_day(DayLimits {
                max_cost_usd,
                ..DayLimits::default()
            }),
        ];
        let on_tokens = [
            Limits {
                max_tokens,
                ..Limits::default()
            },
            of_task(TaskLimits {
                max_tokens,
                ..TaskLimits::default()
            }),
            of_day(DayLimits {
                max_tokens,
                ..DayLimits::default()
            }),
        ];
        let on_cost = on_cost.map(|limits| (limits, true, false));
        let on_tokens = on_tokens.map(|limits| (limits, false, true));
        for (limits, cost, tokens) in on_cost.into_iter().chain(on_tokens).chain([unlimited]) {
            let limited = [LimitUnit::Dollars, LimitUnit::Tokens].map(|unit| unit.is_limited(&limits));
            assert_eq!(limited, [cost, tokens], "{limits:?}");
        }
    }

    #[test]
    fn a_raise_doubles_the_limit_and_leaves_at_least_half_of_it_unused() {
        for (max_tokens, used, raised) in [
            (100, 0, 200.0),
            (100, 100, 200.0),
            (100, 150, 200.0),
            (100, 151, 300.0),
            (100, 1_000, 1_100.0),
        ] {
            let limits = Limits {
                max_tokens: Some(max_tokens),
                ..Limits::default()
            };
            let used = Consumption {
                usage: Usage {
                    output_tokens: Some(used),
                    ..Usage::default()
                },
                ..Consumption::default()
            };
            let row = LimitKind::MaxTokens.row();
            assert_eq!(row.raised(&limits, &used), Some(raised), "{used:?}");
            assert_eq!(row.raised(&Limits::default(), &used), None);
        }
    }

    #[test]
    fn a_limit_of_the_run_and_no_other_is_changed_while_it_runs() {
        for row in LIMITS {
            let mut new = NewLimits::default();
            row.set(&mut new, 7.0);
            let set = row.max(&Limits::default().with(&new));
            assert_eq!(set, (row.scope == LimitScope::Run).then_some(7.0), "{row:?}");
            assert_eq!(row.can_be_changed(), set.is_some());
            assert_eq!(row.kind.row().name, row.name);
        }
    }
}
