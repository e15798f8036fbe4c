//! Limits of runs, tasks and days in words: their names, their usage, and the options that raise them.

use ralph_core::{
    event::{LimitKind, Limits, NewLimits, Usage, UsageWindow, WindowKind},
    run::RunView,
};

use super::{cost_in_words, counted, short_count, short_duration, usage_in_words};

/// The name of a limit, without the word "limit".
pub fn limit_word(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::MaxIterations => "iteration",
        LimitKind::MaxTime => "time",
        LimitKind::MaxCost => "cost",
        LimitKind::MaxTokens => "token",
        LimitKind::TaskIterations => "per-task iteration",
        LimitKind::TaskCost => "per-task cost",
        LimitKind::TaskTokens => "per-task token",
        LimitKind::DayCost => "daily cost",
        LimitKind::DayTokens => "daily token",
        LimitKind::CallsPerHour => "hourly call",
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

/// The values of new limits: `80 iterations, $20.00`.
pub fn limit_values(limits: &NewLimits) -> String {
    let parts = [
        limits.max_iterations.map(|most| counted(u64::from(most), "iteration")),
        limits.max_time_ms.map(short_duration),
        limits.max_cost_usd.map(|most| format!("${most:.2}")),
        limits.max_tokens.map(|most| format!("{} tokens", short_count(most))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// Proposals of higher limits, one for each limit of the run: ten more iterations, or twice as much.
pub fn higher_limits(limits: &Limits) -> Vec<NewLimits> {
    let none = NewLimits::default;
    let iterations = limits.max_iterations.map(|most| NewLimits {
        max_iterations: Some(most.saturating_add(10)),
        ..none()
    });
    let time = limits.max_time_ms.map(|most_ms| NewLimits {
        max_time_ms: Some(most_ms.saturating_mul(2)),
        ..none()
    });
    let cost = limits.max_cost_usd.map(|most| NewLimits {
        max_cost_usd: Some(most * 2.0),
        ..none()
    });
    let tokens = limits.max_tokens.map(|most| NewLimits {
        max_tokens: Some(most.saturating_mul(2)),
        ..none()
    });
    [iterations, time, cost, tokens].into_iter().flatten().collect()
}

/// The option that raises a limit, with its value.
pub fn raise_option(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::MaxIterations => "--iterations N",
        LimitKind::MaxTime => "--max-time TIME",
        LimitKind::MaxCost => "--max-cost-usd USD",
        LimitKind::MaxTokens => "--max-tokens N",
        LimitKind::TaskIterations => "--max-iterations-per-task N",
        LimitKind::TaskCost => "--max-cost-usd-per-task USD",
        LimitKind::TaskTokens => "--max-tokens-per-task N",
        LimitKind::DayCost => "--max-cost-usd-per-day USD",
        LimitKind::DayTokens => "--max-tokens-per-day N",
        LimitKind::CallsPerHour => "--calls-per-hour N",
    }
}

/// The option of `ralph continue` that raises a limit of the run, with a sufficient value; `None` for limits of tasks
/// and days.
pub fn sufficient_raise(limit: LimitKind, limits: &Limits, view: &RunView) -> Option<[String; 2]> {
    let (flag, value) = match limit {
        // Additional iterations.
        LimitKind::MaxIterations => ("--iterations", "10".to_owned()),
        LimitKind::MaxTime => {
            let hours = view.totals().elapsed_ms / 3_600_000 + 8;
            ("--max-time", format!("{hours}h"))
        }
        LimitKind::MaxCost => {
            let cost = view.usage.cost_usd.unwrap_or_default();
            ("--max-cost-usd", (cost * 2.0).ceil().to_string())
        }
        LimitKind::MaxTokens => {
            let most = limits.max_tokens.unwrap_or_default();
            ("--max-tokens", most.saturating_mul(2).to_string())
        }
        LimitKind::TaskIterations
        | LimitKind::TaskCost
        | LimitKind::TaskTokens
        | LimitKind::DayCost
        | LimitKind::DayTokens
        | LimitKind::CallsPerHour => return None,
    };
    Some([flag.to_owned(), value])
}

/// The effort spent on a task that is set aside at a limit, and how to raise the limit.
/// A task that the user has set aside.
pub fn task_set_aside_in_words(task: &str) -> String {
    format!("you set aside: {task}")
}

/// A task that the user has taken back.
pub fn task_taken_back_in_words(task: &str) -> String {
    format!("you took back: {task}")
}

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
pub fn spent_in_words(view: &RunView) -> Vec<String> {
    let limits = &view.settings.limits;
    let mut parts = Vec::new();
    let mut add = |what: &str, usage: &Usage, max_cost_usd: Option<f64>, max_tokens: Option<u64>| {
        parts.extend(spending_in_words(what, usage, max_cost_usd, max_tokens));
    };
    add("run", &view.usage, limits.max_cost_usd, limits.max_tokens);
    if let Some(work) = view.current_work() {
        let per_task = &limits.per_task;
        add("task", &work.usage, per_task.max_cost_usd, per_task.max_tokens);
    }
    let of_day = view.spending.limits_today(&limits.per_day);
    add("today", &view.spending.today(), of_day.max_cost_usd, of_day.max_tokens);
    parts
}

/// Usage of the cost and token limits of `what`, each by itself.
pub(super) fn spending_in_words(
    what: &str,
    usage: &Usage,
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
) -> Vec<String> {
    let cost = max_cost_usd.map(|max| {
        let cost = cost_in_words(usage).unwrap_or_else(|| "$0.00".to_owned());
        format!("{what} {cost} of ${max}")
    });
    let tokens = max_tokens.map(|max| {
        let tokens = short_count(usage.tokens().unwrap_or_default());
        format!("{what} {tokens} of {} tokens", short_count(max))
    });
    cost.into_iter().chain(tokens).collect()
}
