//! The phase of a loop in words: a static form for `ralph status`, and headlines with running clocks.

use ralph_core::{
    event::{StopRequest, Wait},
    run::{GoalState, Iteration, Phase, RunView, Tool},
};

use super::{Tone, counted, end::end_headline, role_in_words, stop_in_words, ticking, wait_cause_in_words};

/// The current phase, as a clause that stays true until the next record.
pub fn phase_in_words(view: &RunView) -> String {
    match &view.phase {
        Phase::Running { iteration, .. } if !view.permissions.pending.is_empty() => {
            format!("iteration {iteration} waits for an answer: `ralph asks`")
        }
        phase @ Phase::Running { .. } if view.is_paused() => format!("{}, will pause after it", still(phase, view)),
        Phase::Waiting { wait, why, .. } => match wait {
            Wait::Backoff => format!("waiting before the next try: {}", wait_cause_in_words(why)),
            Wait::LimitReset => "waiting for the agent's limit to reset".to_owned(),
            Wait::CallBudget => "waiting for the next call of the hour".to_owned(),
            Wait::DayBudget => "waiting for tomorrow: today's limit is used up".to_owned(),
            Wait::Headroom => "waiting to leave a part of the account's window free".to_owned(),
            Wait::Disk => "waiting for space on a disk".to_owned(),
            Wait::Cooldown => "waiting before one last try".to_owned(),
        },
        phase => still(phase, view),
    }
}

/// The running tool on one line: `shell cargo test`.
pub fn tool_in_words(tool: &Tool) -> String {
    let mut lines = tool.input.trim().lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!("{} {first}{more}", tool.name).trim_end().to_owned()
}

/// The phase at `now_ms` with its clock, and what follows. `time` renders a moment on the user's clock.
pub fn phase_headline(view: &RunView, now_ms: u64, time: impl Fn(u64) -> String) -> String {
    match &view.phase {
        Phase::Running { iteration, .. } if !view.permissions.pending.is_empty() => {
            let asks = counted(view.permissions.pending.len() as u64, "question");
            format!("iteration {iteration} waits for your answer · {asks}")
        }
        Phase::Running { iteration, .. } => {
            let since_ms = view.phase.running_since_ms().unwrap_or(now_ms);
            let since = ticking(now_ms.saturating_sub(since_ms));
            format!("{}iteration {iteration} · {since}{}", role(view), then(view))
        }
        phase @ (Phase::Preparing { .. } | Phase::Cancelling { .. } | Phase::Settling { .. }) => {
            format!("{}{}", still(phase, view), then(view))
        }
        Phase::Stopped { end } => end_headline(&end.reason),
        Phase::Waiting { wait, until_ms, .. } => {
            let what = match wait {
                Wait::Backoff => "trying again",
                Wait::LimitReset => "rate-limited, resuming",
                Wait::CallBudget => "next call",
                Wait::DayBudget => "day's limit used up, resuming",
                Wait::Headroom => "window kept free, resuming",
                Wait::Disk => return phase_in_words(view),
                Wait::Cooldown => "one more try",
            };
            let left_ms = until_ms.saturating_sub(now_ms).div_ceil(1000) * 1000;
            format!("{what} in {} ({})", ticking(left_ms), time(*until_ms))
        }
        phase @ (Phase::Idle | Phase::Verifying { .. } | Phase::Paused) => still(phase, view),
    }
}

/// The phase as a headline where the iteration's number and duration are shown elsewhere.
pub fn phase_word(view: &RunView, now_ms: u64, time: impl Fn(u64) -> String) -> String {
    match &view.phase {
        Phase::Running { .. } if !view.permissions.pending.is_empty() => {
            let asks = counted(view.permissions.pending.len() as u64, "question");
            format!("waiting for your answer · {asks}")
        }
        Phase::Running { .. } if !view.role.is_work() => format!("reviewing{}", then(view)),
        Phase::Running { .. } => format!("{}{}", work_in_words(view), then(view)),
        Phase::Preparing { .. } => format!("preparing{}", then(view)),
        Phase::Cancelling { .. } => format!("ending the iteration{}", then(view)),
        Phase::Settling { .. } => format!("checking the result{}", then(view)),
        Phase::Idle | Phase::Verifying { .. } | Phase::Waiting { .. } | Phase::Paused | Phase::Stopped { .. } => {
            phase_headline(view, now_ms, time)
        }
    }
}

/// `running`, or `fixing goal tests` if no open task is left to work on, or the last claim was refused, because of goals.
fn work_in_words(view: &RunView) -> String {
    let mut rows = view.iterations.rows.iter().rev().filter(|row| row.role.is_work());
    let has_task = rows.next().is_some_and(|row| row.task.is_some());
    let was_refused = rows.next().is_some_and(Iteration::was_refused);
    let failing: Vec<&str> = view
        .goals
        .iter()
        .filter(|goal| matches!(&goal.state, GoalState::Checked { result } if !result.passed))
        .map(|goal| goal.name.as_str())
        .collect();
    match &failing[..] {
        [] => "running".to_owned(),
        _ if has_task && !was_refused => "running".to_owned(),
        [goal] => format!("fixing goal {goal}"),
        goals => format!("fixing goals {}", goals.join(", ")),
    }
}

/// The words for a phase that all forms share.
fn still(phase: &Phase, view: &RunView) -> String {
    match phase {
        Phase::Idle => "starting".to_owned(),
        Phase::Preparing { iteration } => format!("preparing iteration {iteration}"),
        Phase::Running { iteration, .. } if !view.role.is_work() => format!("reviewing, iteration {iteration}"),
        Phase::Running { iteration, .. } => format!("running iteration {iteration}"),
        Phase::Cancelling { iteration, .. } => format!("ending iteration {iteration}"),
        Phase::Settling { iteration, .. } => format!("checking iteration {iteration}"),
        Phase::Verifying { .. } => "checking the goals".to_owned(),
        Phase::Waiting { .. } => "waiting".to_owned(),
        Phase::Paused if view.paused_by_file => "paused by `.ralph-pause`".to_owned(),
        Phase::Paused => "paused".to_owned(),
        Phase::Stopped { end } => stop_in_words(&end.reason),
    }
}

/// The role of an iteration other than work, as a prefix: `review, `.
fn role(view: &RunView) -> String {
    role_in_words(view.role).map_or_else(String::new, |role| format!("{role}, "))
}

/// The effect of a pending stop or pause, as a suffix.
fn then(view: &RunView) -> &'static str {
    match (view.stop.map(|stop| stop.request), view.is_paused()) {
        (Some(StopRequest::AfterIteration), _) => " · stops after this iteration",
        (Some(StopRequest::Graceful | StopRequest::Immediate), _) => " · stopping",
        (None, true) => " · pauses after this iteration",
        (None, false) => "",
    }
}

/// The state of a plan's run.
pub fn run_phase_word(view: &RunView) -> (Tone, &'static str) {
    if !view.permissions.pending.is_empty() {
        return (Tone::User, "needs answer");
    }
    match &view.phase {
        Phase::Idle | Phase::Preparing { .. } => (Tone::Start, "starting"),
        Phase::Running { .. } if !view.role.is_work() => (Tone::Start, "reviewing"),
        Phase::Running { .. } if view.breaker.why.is_some() => (Tone::Warning, "stalled"),
        Phase::Running { .. } => (Tone::Start, "running"),
        Phase::Cancelling { .. } => (Tone::Wait, "stopping"),
        Phase::Settling { .. } | Phase::Verifying { .. } => (Tone::Start, "checking"),
        Phase::Waiting {
            wait: Wait::LimitReset | Wait::CallBudget | Wait::DayBudget | Wait::Headroom,
            ..
        } => (Tone::Wait, "limited"),
        Phase::Waiting { wait: Wait::Disk, .. } => (Tone::Wait, "no space"),
        Phase::Waiting {
            wait: Wait::Backoff | Wait::Cooldown,
            ..
        } => (Tone::Wait, "retrying"),
        Phase::Paused => (Tone::Wait, "paused"),
        Phase::Stopped { .. } => (Tone::Note, "over"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{event::RequestedBy, run::StopAsked};

    #[test]
    fn a_headline_counts_and_says_what_follows() {
        let mut view = RunView {
            phase: Phase::Running {
                iteration: 3,
                started_ms: 1_000,
                live_steering: false,
            },
            ..RunView::default()
        };
        let headline = |view: &RunView| phase_headline(view, 13_000, |_| String::new());
        assert_eq!(headline(&view), "iteration 3 · 0:12");
        view.stop = Some(StopAsked {
            request: StopRequest::AfterIteration,
            by: RequestedBy::User,
        });
        assert_eq!(headline(&view), "iteration 3 · 0:12 · stops after this iteration");
        assert_eq!(phase_in_words(&view), "running iteration 3");
        assert_eq!(
            phase_word(&view, 13_000, |_| String::new()),
            "running · stops after this iteration"
        );
    }
}
