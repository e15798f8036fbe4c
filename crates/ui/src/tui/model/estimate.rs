//! Estimates the remaining time from past iterations, and tells whether the run can be continued.

use ralph_core::{
    event::LimitKind,
    limits::{consumption, run_limit_reached},
    run::{Phase, RunView},
};
use ralph_words::sufficient_raise;

/// Minimum number of iterations for an estimate.
const LEAST: usize = 2;
/// Number of iterations used: older ones are less representative.
const LATEST: usize = 20;

/// Median time per completed task times the number of open tasks, in milliseconds. `None` if fewer than two iterations
/// completed a task, no task is open, or no work is under way.
pub fn estimate_ms(run: &RunView, now_ms: u64) -> Option<u64> {
    let works = matches!(
        run.phase,
        Phase::Preparing { .. } | Phase::Running { .. } | Phase::Settling { .. } | Phase::Verifying { .. }
    );
    let open = run.plan.open() as u64;
    if !works || open == 0 {
        return None;
    }
    let mut durations: Vec<u64> = run
        .iterations
        .rows
        .iter()
        .rev()
        .filter(|iteration| iteration.closed > 0)
        .map(|iteration| iteration.duration_ms / u64::from(iteration.closed))
        .take(LATEST)
        .collect();
    if durations.len() < LEAST {
        return None;
    }
    durations.sort_unstable();
    let median = durations[durations.len() / 2];
    // The running iteration has already worked on the first open task.
    let since_ms = run.phase.running_since_ms();
    let done = since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
    Some(median.saturating_mul(open).saturating_sub(done.min(median)))
}

/// The limit that keeps a finished run from being continued by a message.
pub fn used_up(run: &RunView) -> Option<LimitKind> {
    run_limit_reached(run, run.end()?.at_ms)
}

/// The option that continues a finished run with a raised limit.
pub fn more(run: &RunView) -> Option<[String; 2]> {
    sufficient_raise(used_up(run)?, &run.settings.limits, &consumption(run, run.clock.now_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::{Event, Outcome, PausedBy, TimeEvent};

    use crate::tui::testing::{begun, ended, model, plan, running, started};

    #[test]
    fn only_iterations_that_closed_a_task_tell_how_long_the_rest_takes_and_only_while_one_runs() {
        let estimate = |events: Vec<Event>| {
            let model = model(80, 24, events);
            estimate_ms(&model.run, model.now_ms)
        };
        assert!(estimate(running()).is_some(), "each of two closed one");
        let mut nothing = begun();
        for number in 1..=4 {
            nothing.push(started(number));
            nothing.extend(ended(number, Outcome::Completed));
        }
        nothing.push(started(5));
        assert_eq!(estimate(nothing), None, "four iterations, and nothing was ticked");
        let mut held = running();
        held.extend(ended(3, Outcome::Completed));
        held.extend([
            plan(3, 1),
            Event::Time(TimeEvent::Paused { by: PausedBy::User }),
            Event::Time(TimeEvent::Held),
        ]);
        assert_eq!(estimate(held), None, "nobody works");
    }
}
