//! Outcomes of iterations, cancellations, waits and the breaker, in words.

use ralph_core::event::{BreakerCause, BreakerState, Outcome, Wait, WaitCause};

use super::{
    Tone, counted,
    limit::{limit_word, window_word},
    problem::cancel_reason,
    problem_in_words, problem_kind_in_words,
};

/// An outcome with its reason, as a predicate of an iteration.
pub fn outcome_in_words(outcome: &Outcome) -> (Tone, String) {
    match outcome {
        Outcome::Completed => (Tone::Good, "completed".to_owned()),
        Outcome::Failed { problem } => {
            let kind = problem_kind_in_words(problem.kind);
            (Tone::Bad, format!("failed ({kind}: {})", problem_in_words(problem)))
        }
        Outcome::Cancelled { reason } => (Tone::Wait, format!("was ended ({})", cancel_reason(*reason))),
        Outcome::Interrupted => (Tone::Bad, "was cut off when ralph was killed".to_owned()),
    }
}

/// An outcome in one word, for tables.
pub fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed { .. } => "failed",
        Outcome::Cancelled { .. } => "ended",
        Outcome::Interrupted => "cut off",
    }
}

pub(super) fn wait_in_words(wait: Wait, until: &str, attempt: u32, why: &WaitCause) -> String {
    let why = wait_cause_in_words(why);
    match wait {
        Wait::Backoff if attempt > 1 => format!("trying again at {until} ({} consecutive failure)", ordinal(attempt)),
        Wait::Backoff => format!("trying again at {until}"),
        Wait::LimitReset | Wait::CallBudget | Wait::DayBudget | Wait::Headroom => {
            format!("waiting until {until}: {why}")
        }
        Wait::Cooldown => format!("one more try at {until}: {why}"),
    }
}

/// The reason for a wait, as a clause.
pub fn wait_cause_in_words(cause: &WaitCause) -> String {
    match cause {
        WaitCause::Failure { problem } => problem_in_words(problem),
        WaitCause::CallsUsedUp => "the calls of this hour are used up".to_owned(),
        WaitCause::DayUsedUp { limit } => {
            let limit = limit_word(*limit);
            format!("the {limit} limit is reached; `ralph resume --now` allows as much again")
        }
        WaitCause::WindowUsed {
            adapter,
            window,
            used_percent,
            most_percent,
        } => format!(
            "{used_percent}% of the {} of {adapter} is used, and runs may use {most_percent}% (`headroom`, `pace`); \
             `ralph resume --now` uses more",
            window_word(*window)
        ),
        WaitCause::Breaker { why } => breaker_cause_in_words(why),
        WaitCause::BegunBefore => "started before the restart".to_owned(),
    }
}

/// The reason for a transition of the stuck detector, as a clause.
pub fn breaker_cause_in_words(cause: &BreakerCause) -> String {
    let consecutive = |iterations: u32| counted(u64::from(iterations), "consecutive iteration");
    match cause {
        BreakerCause::NoProgress { iterations } => format!("{} without changes", consecutive(*iterations)),
        BreakerCause::SameError { iterations } => format!("{} failed in the same way", consecutive(*iterations)),
        BreakerCause::SameGoalFailure { goal, iterations, .. } => {
            format!(
                "goal `{goal}` failed in the same way after {}",
                consecutive(*iterations)
            )
        }
        BreakerCause::Progress => "progress was made".to_owned(),
        BreakerCause::OneMoreTry => "one more try after a pause".to_owned(),
        BreakerCause::ResetByUser => "requested by the user".to_owned(),
    }
}

/// Whether the loop is stuck: `no`, `warning: 3 consecutive iterations without changes`.
pub fn breaker_in_words(state: BreakerState, why: Option<&BreakerCause>) -> String {
    let name = match state {
        BreakerState::Closed => return "no".to_owned(),
        BreakerState::HalfOpen | BreakerState::Open => breaker_state_word(state),
    };
    match why {
        None => name.to_owned(),
        Some(why) => format!("{name}: {}", breaker_cause_in_words(why)),
    }
}

/// The transition of the stuck detector into a state: `tripped` in `stuck detector tripped`.
pub fn breaker_state_word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "reset",
        BreakerState::HalfOpen => "warning",
        BreakerState::Open => "tripped",
    }
}

/// `1st`, `2nd`, `11th`.
fn ordinal(number: u32) -> String {
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals_are_those_of_english() {
        let shown = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal);
        assert_eq!(
            shown,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"
            ]
        );
    }

    #[test]
    fn a_breaker_is_told_by_what_it_counted() {
        let stuck = BreakerCause::NoProgress { iterations: 3 };
        assert_eq!(
            breaker_cause_in_words(&stuck),
            "3 consecutive iterations without changes"
        );
    }
}
