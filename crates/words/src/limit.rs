//! Limits in words: their names, what is used of them, and how they are raised. Which limits there are is in
//! [`ralph_core::limits`].

use ralph_core::{
    event::{LimitKind, Limits, NewLimits, Usage, UsageWindow, WindowKind},
    limits::{Consumption, LIMITS, LimitRow, LimitScope, LimitUnit, consumption, limits_now, whole},
    run::RunView,
};

use super::{cost_in_words, counted, limit_word, raise_option, short_count, short_duration, usage_in_words};

/// A higher limit that a running run is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRaise {
    /// The limit: `100 iterations`.
    pub words: String,
    /// The value that an option or a setting takes for it: `100`, `16h`.
    pub value: String,
    pub limits: NewLimits,
}

/// A reached limit of a run, as a clause.
pub(super) fn reached_in_words(limit: LimitKind) -> String {
    let LimitRow { scope, noun, .. } = limit.row();
    match scope {
        LimitScope::Run => format!("the run has reached its {noun} limit"),
        LimitScope::Task => format!("the open tasks have reached their {noun} limit"),
        LimitScope::Day => format!("the {noun} limit of the day is reached"),
        LimitScope::Hour => format!("the {noun}s of this hour are used up"),
        LimitScope::Iteration => format!("an iteration has reached its {noun} limit"),
    }
}

/// The name of a window of an account's usage.
pub(super) fn window_word(window: WindowKind) -> &'static str {
    match window {
        WindowKind::FiveHour => "five-hour window",
        WindowKind::Week => "weekly window",
    }
}

/// `82% of the five-hour window is used`.
pub fn window_in_words(window: &UsageWindow) -> String {
    format!("{}% of the {} is used", window.used_percent, window_word(window.kind))
}

/// The raised limits of a run: `the limit of the run is now 80 iterations, $20.00, counted from its beginning`.
pub fn new_limits_in_words(limits: &NewLimits) -> String {
    format!(
        "the limit of the run is now {}, counted from its beginning",
        limit_values(limits)
    )
}

/// The values of new limits: `80 iterations, $20`.
fn limit_values(new: &NewLimits) -> String {
    let limits = Limits::default().with(new);
    let parts = LIMITS
        .iter()
        .filter_map(|row| Some(figure_in_words(row, row.max(&limits)?)));
    parts.collect::<Vec<_>>().join(", ")
}

/// A figure of a limit with what it counts: `80 iterations`, `16h`, `$2.5`, `10.0k tokens`.
fn figure_in_words(row: &LimitRow, figure: f64) -> String {
    match row.unit {
        LimitUnit::Count => counted(whole(figure), row.noun),
        LimitUnit::Milliseconds | LimitUnit::Dollars => amount_in_words(row.unit, figure),
        LimitUnit::Tokens => format!("{} tokens", short_count(whole(figure))),
    }
}

/// A limit's figure by itself: `80`, `16h`, `$2.5`, `10.0k`.
fn amount_in_words(unit: LimitUnit, figure: f64) -> String {
    match unit {
        LimitUnit::Count => whole(figure).to_string(),
        LimitUnit::Milliseconds => exact_duration(whole(figure)),
        LimitUnit::Dollars => format!("${figure}"),
        LimitUnit::Tokens => short_count(whole(figure)),
    }
}

/// The use of a limit, and the limit: `7 of 50`, `$1.25`.
pub fn limit_use_in_words(row: &LimitRow, limits: &Limits, used: &Consumption) -> String {
    let figure = row.used(used);
    let used = match row.unit {
        LimitUnit::Count => Some(whole(figure.unwrap_or(0.0)).to_string()),
        LimitUnit::Milliseconds => figure.map(|figure| short_duration(whole(figure))),
        LimitUnit::Dollars => cost_in_words(&row.usage(used)),
        LimitUnit::Tokens => figure.map(|figure| {
            let Usage {
                input_tokens,
                output_tokens,
                ..
            } = row.usage(used);
            let [all, input, output] =
                [Some(whole(figure)), input_tokens, output_tokens].map(|tokens| short_count(tokens.unwrap_or(0)));
            match row.scope {
                LimitScope::Run => format!("{all} ({input} in, {output} out)"),
                LimitScope::Task | LimitScope::Day | LimitScope::Hour | LimitScope::Iteration => all,
            }
        }),
    };
    let used = used.unwrap_or_else(|| "not reported".to_owned());
    match row.max(limits) {
        Some(max) => format!("{used} of {}", amount_in_words(row.unit, max)),
        None => used,
    }
}

/// The effective limits of a run, with "unlimited" for those that a run has unless its user takes them away:
/// `50 iterations`, `8h total`, `$2 per task`.
pub fn limits_in_words(limits: &Limits) -> impl Iterator<Item = (LimitKind, String)> + '_ {
    LIMITS.iter().filter_map(|row| {
        let figure = match row.max(limits) {
            Some(max) => figure_in_words(row, max),
            None if row.by_default && row.unit == LimitUnit::Milliseconds => "unlimited".to_owned(),
            None if row.by_default => format!("unlimited {}", row.name),
            None => return None,
        };
        let text = match row.scope {
            LimitScope::Run if row.unit == LimitUnit::Milliseconds => format!("{figure} total"),
            LimitScope::Run => figure,
            LimitScope::Task => format!("{figure} per task"),
            LimitScope::Day => format!("{figure} per day"),
            LimitScope::Hour => format!("{figure} per hour"),
            // Few runs ever come near them.
            LimitScope::Iteration => return None,
        };
        Some((row.kind, text))
    })
}

/// A duration in the largest unit of which it is a multiple, as settings take it: `16h`, `90m`, `8s`.
fn exact_duration(duration_ms: u64) -> String {
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let (unit, unit_ms) = *units
        .iter()
        .find(|(_, unit_ms)| duration_ms.is_multiple_of(*unit_ms))
        .unwrap_or(&("ms", 1));
    format!("{}{unit}", duration_ms / unit_ms)
}

/// The higher limit that is proposed instead of the present one; `None` without a limit that a running run can change.
pub fn limit_raise(row: &LimitRow, limits: &Limits, used: &Consumption) -> Option<LimitRaise> {
    let max = row.raised(limits, used).filter(|_| row.can_be_changed())?;
    let mut limits = NewLimits::default();
    row.set(&mut limits, max);
    Some(LimitRaise {
        words: figure_in_words(row, max),
        value: value_of(row, max),
        limits,
    })
}

/// A proposal of a higher limit for each limit of the run.
pub fn higher_limits(view: &RunView, now_ms: u64) -> Vec<LimitRaise> {
    let used = consumption(view, now_ms);
    let raised = LIMITS.iter().map(|row| limit_raise(row, &view.settings.limits, &used));
    raised.flatten().collect()
}

/// A figure as an option takes it.
fn value_of(row: &LimitRow, figure: f64) -> String {
    match row.unit {
        LimitUnit::Milliseconds => exact_duration(whole(figure)),
        LimitUnit::Count | LimitUnit::Tokens => whole(figure).to_string(),
        LimitUnit::Dollars => figure.to_string(),
    }
}

/// The option of `ralph continue` that raises a limit of the run as proposed, with its value; `None` for limits of tasks
/// and days.
pub fn sufficient_raise(limit: LimitKind, limits: &Limits, used: &Consumption) -> Option<[String; 2]> {
    let row = limit.row();
    let max = row.raised(limits, used).filter(|_| row.can_be_changed())?;
    let (flag, figure) = match row.more {
        Some(more) => (more, max - row.used(used).unwrap_or(0.0)),
        None => (row.flag, max),
    };
    Some([flag.to_owned(), value_of(row, figure)])
}

/// The message that a reached limit keeps the run from continuing, and how to raise the limit.
pub fn used_up_in_words(limit: LimitKind, view: &RunView) -> String {
    let used = consumption(view, view.clock.now_ms);
    let option = sufficient_raise(limit, &view.settings.limits, &used).map(|option| option.join(" "));
    let option = option.unwrap_or_else(|| raise_option(limit));
    format!("{}: `ralph continue {option}` allows more", reached_in_words(limit))
}

/// A task that the user has set aside.
pub fn task_set_aside_in_words(task: &str) -> String {
    format!("you set aside: {task}")
}

/// A task that the user has taken back.
pub fn task_taken_back_in_words(task: &str) -> String {
    format!("you took back: {task}")
}

/// The effort spent on a task that is set aside at a limit, and how to raise the limit.
pub(super) fn set_aside_in_words(task: &str, limit: LimitKind, iterations: u32, usage: &Usage) -> String {
    let had = [Some(counted(u64::from(iterations), "iteration")), usage_in_words(usage)];
    let had: Vec<String> = had.into_iter().flatten().collect();
    format!(
        "set aside at the {} limit ({}): {task}; `ralph continue {}` allows more once this run is over",
        limit_word(limit),
        had.join(", "),
        raise_option(limit),
    )
}

/// The limit at which a task is set aside, and how to raise it.
pub fn task_at_limit_in_words(limit: LimitKind) -> String {
    let word = limit_word(limit);
    format!(
        "{word} limit reached, `ralph continue {}` allows more",
        raise_option(limit)
    )
}

/// Usage of the existing cost and token limits of the run, the task and the day.
pub fn spent_in_words(view: &RunView, now_ms: u64) -> Vec<String> {
    let (limits, used) = (limits_now(view), consumption(view, now_ms));
    let rows = LIMITS.iter().filter_map(|row| {
        let what = match row.scope {
            LimitScope::Run => "run",
            LimitScope::Task if used.task.is_none() => return None,
            LimitScope::Task => "task",
            LimitScope::Day => "today",
            LimitScope::Hour | LimitScope::Iteration => return None,
        };
        spending_in_words(what, row.unit, &row.usage(&used), row.max(&limits)?)
    });
    rows.collect()
}

/// Usage of a cost or token limit of `what`; `None` if the limit counts something else.
pub(super) fn spending_in_words(what: &str, unit: LimitUnit, usage: &Usage, max: f64) -> Option<String> {
    match unit {
        LimitUnit::Dollars => {
            let cost = cost_in_words(usage).unwrap_or_else(|| "$0.00".to_owned());
            Some(format!("{what} {cost} of ${max}"))
        }
        LimitUnit::Tokens => {
            let tokens = short_count(usage.tokens().unwrap_or_default());
            Some(format!("{what} {tokens} of {} tokens", short_count(whole(max))))
        }
        LimitUnit::Count | LimitUnit::Milliseconds => None,
    }
}
