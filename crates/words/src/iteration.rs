//! Outcomes of iterations, cancellations, waits and the breaker, in words.

use ralph_core::event::{
    BreakerCause, BreakerState, CancelReason, IterationCommit, Outcome, RunId, Wait, WaitCause, Worker,
};
use ralph_text::one_line;

use super::{
    Tone, counted, limit::window_word, limit_word, low_disk_in_words, problem::cancel_reason, problem_in_words,
    problem_kind_in_words,
};

/// Most characters of the first line of a commit's message.
const SUBJECT_CHARACTERS: usize = 72;

/// The number of a run and its id, such as `12 (20261120-102835-4f2a)`.
pub fn run_in_words(number: u32, run: Option<&RunId>) -> String {
    let id = run.map_or("unknown", |run| run.0.as_str());
    match number {
        0 => id.to_owned(),
        number => format!("{number} ({id})"),
    }
}

/// The message of the commit of what an iteration left uncommitted: the first line names the tasks that it ticked, or
/// the task that it worked on.
pub fn iteration_commit_message(ticked: &[String], task: Option<&str>, iteration: u32, run: &RunId) -> String {
    let first = ticked.first().map(String::as_str).or(task).map(one_line);
    let first = first
        .filter(|first| !first.is_empty())
        .unwrap_or_else(|| format!("Work of iteration {iteration}"));
    let more = match ticked.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let room = SUBJECT_CHARACTERS.saturating_sub(more.chars().count());
    let subject = match first.chars().count() > room {
        true => first.chars().take(room - 1).chain(['…']).collect(),
        false => first,
    };
    let tasks: String = match ticked {
        [] | [_] => String::new(),
        ticked => {
            ticked
                .iter()
                .map(|task| format!("- {}\n", one_line(task)))
                .collect::<String>()
                + "\n"
        }
    };
    format!("{subject}{more}\n\n{tasks}Iteration {iteration} of ralph's run {run}.\n")
}

/// An outcome with its reason, as a predicate of an iteration.
pub fn outcome_in_words(outcome: &Outcome) -> (Tone, String) {
    match outcome {
        Outcome::Completed => (Tone::Good, "completed".to_owned()),
        Outcome::Failed { problem } => {
            let kind = problem_kind_in_words(problem.kind);
            (Tone::Bad, format!("failed ({kind}: {})", problem_in_words(problem)))
        }
        Outcome::Cancelled { reason } if is_timeout(*reason) => {
            (Tone::Wait, format!("timed out ({})", cancel_reason(*reason)))
        }
        Outcome::Cancelled { reason } => (Tone::Wait, format!("was ended ({})", cancel_reason(*reason))),
        Outcome::Interrupted => (Tone::Bad, "was cut off when ralph was killed".to_owned()),
    }
}

/// ralph's commit of an iteration: `committed as 1a2b3c4 (2 files)`.
pub fn commit_in_words(made: &IterationCommit) -> String {
    let id: String = made.commit.chars().take(7).collect();
    format!("committed as {id} ({})", counted(u64::from(made.files), "file"))
}

/// `from the next iteration on: codex with model gpt-5`.
pub fn worker_in_words(worker: &Worker) -> String {
    format!("from the next iteration on: {}", worker_name(worker))
}

/// `codex with model gpt-5`.
pub fn worker_name(Worker { adapter, model }: &Worker) -> String {
    let with = model
        .as_ref()
        .map_or_else(String::new, |model| format!(" with model {model}"));
    format!("{adapter}{with}")
}

/// An outcome in one word, for tables.
pub fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed { .. } => "failed",
        Outcome::Cancelled { reason } if is_timeout(*reason) => "timed out",
        Outcome::Cancelled { .. } => "ended",
        Outcome::Interrupted => "cut off",
    }
}

fn is_timeout(reason: CancelReason) -> bool {
    matches!(reason, CancelReason::IdleTimeout | CancelReason::IterationTimeout)
}

pub(super) fn wait_in_words(wait: Wait, until: &str, attempt: u32, why: &WaitCause) -> String {
    let why = wait_cause_in_words(why);
    match wait {
        Wait::Backoff if attempt > 1 => format!("trying again at {until} ({} consecutive failure)", ordinal(attempt)),
        Wait::Backoff => format!("trying again at {until}"),
        Wait::LimitReset | Wait::CallBudget | Wait::DayBudget | Wait::Headroom => {
            format!("waiting until {until}: {why}")
        }
        Wait::Disk => format!("waiting for space: {why}"),
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
        WaitCause::DiskLow { low } => low_disk_in_words(low),
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
        BreakerCause::ClaimRefused { times, .. } => {
            format!("{} refused for the same reason", counted(u64::from(*times), "claim"))
        }
        BreakerCause::Progress => "progress was made".to_owned(),
        BreakerCause::OneMoreTry => "one more try after a pause".to_owned(),
        BreakerCause::ResetByUser => "requested by the user".to_owned(),
    }
}

/// Whether the loop is stuck: `no`, `perhaps: 3 consecutive iterations without changes`.
pub fn breaker_in_words(state: BreakerState, why: Option<&BreakerCause>) -> String {
    let name = match state {
        BreakerState::Closed => return "no".to_owned(),
        BreakerState::HalfOpen => "perhaps",
        BreakerState::Open => "yes",
    };
    match why {
        None => name.to_owned(),
        Some(why) => format!("{name}: {}", breaker_cause_in_words(why)),
    }
}

/// The finding of the stuck detector: `perhaps stuck`.
pub fn breaker_state_word(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "no longer stuck",
        BreakerState::HalfOpen => "perhaps stuck",
        BreakerState::Open => "stuck",
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
    fn a_commit_is_named_after_its_tasks_in_at_most_72_characters() {
        let run = RunId("20261120-102835-4f2a".to_owned());
        let message = |ticked: &[&str], task: Option<&str>| {
            let ticked: Vec<String> = ticked.iter().map(|text| (*text).to_owned()).collect();
            iteration_commit_message(&ticked, task, 3, &run)
        };
        let body = "Iteration 3 of ralph's run 20261120-102835-4f2a.\n";
        assert_eq!(
            message(&["Write the\tparser"], Some("Other")),
            format!("Write the parser\n\n{body}")
        );
        assert_eq!(message(&[], Some("Other")), format!("Other\n\n{body}"));
        for none in [None, Some("\u{1b}[1m \n")] {
            assert_eq!(message(&[], none), format!("Work of iteration 3\n\n{body}"));
        }
        assert_eq!(
            message(&["One", "Two\nlines"], None),
            format!("One (and 1 more)\n\n- One\n- Two lines\n\n{body}")
        );
        let long = "ä".repeat(100);
        for ticked in [&[long.as_str()][..], &[&long, "b", "c"]] {
            let message = message(ticked, None);
            assert_eq!(message.lines().next().unwrap().chars().count(), 72, "{message}");
        }
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
