//! Records in words: the one line a person reads of each loop event, whatever face shows it. Pure.

mod figures;

use crate::event::{
    AgentSignal, BreakerState, CancelReason, Claim, Delivery, Event, GoalResult, Level, LimitKind, Outcome, PausedBy,
    ProblemKind, RequestedBy, SteeringKind, StopReason, StopRequest, Wait, WaitEnd,
};

pub use figures::{changes_in_words, counted, short_count, short_duration, usage_in_words};

/// What kind of news a line is; a face gives it a colour and a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Start,
    Good,
    Bad,
    Wait,
    User,
    Note,
}

/// One event in words, without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    pub text: String,
}

fn line(tone: Tone, text: impl Into<String>) -> Option<Line> {
    Some(Line {
        tone,
        text: text.into(),
    })
}

/// Puts an event into words; none for what is shown elsewhere (the transcript, the summary) or is of no interest.
///
/// `time` renders a moment, given in milliseconds since the Unix epoch, as the user's clock shows it.
pub fn narrate(event: &Event, time: impl Fn(u64) -> String) -> Option<Line> {
    match event {
        Event::RunResumed { .. } => line(Tone::Note, "resuming the run where it left off"),
        Event::Noticed {
            level: Level::Info,
            text,
        } => line(Tone::Note, text),
        Event::Noticed {
            level: Level::Warning,
            text,
        } => line(Tone::Bad, format!("warning: {text}")),
        Event::IterationStarted {
            iteration,
            task,
            resume,
            ..
        } => {
            let task = task.as_deref().unwrap_or("check that everything is done");
            let resumed = if resume.is_some() { " (session resumed)" } else { "" };
            line(Tone::Start, format!("iteration {iteration}: {task}{resumed}"))
        }
        Event::AgentReported { signal, .. } => narrate_signal(signal, time),
        Event::DetailsOmitted { iteration } => line(
            Tone::Note,
            format!("iteration {iteration} tells much: the rest of it is in its signal log, not in the journal"),
        ),
        Event::CancelRequested { iteration, reason } => line(
            Tone::Wait,
            format!("ending iteration {iteration}: {}", cancel_reason(*reason)),
        ),
        Event::IterationEnded {
            iteration,
            outcome,
            duration_ms,
            ..
        } => {
            let (tone, text) = outcome_in_words(outcome);
            line(
                tone,
                format!("iteration {iteration} {text} after {}", short_duration(*duration_ms)),
            )
        }
        Event::IterationSettled {
            changes: Some(changes),
            progress,
            ..
        } => {
            let stuck = if *progress == Some(false) { ", no progress" } else { "" };
            line(Tone::Note, format!("{}{stuck}", changes_in_words(changes)))
        }
        Event::IterationSettled { changes: None, .. } => None,
        Event::ClaimMade { claim, .. } => line(Tone::Note, claim_in_words(*claim)),
        Event::ClaimRefused { reasons, .. } => {
            // The rest of a reason is output for the agent.
            let heads: Vec<&str> = reasons.iter().filter_map(|reason| reason.lines().next()).collect();
            line(Tone::Bad, format!("not done: {}", heads.join("; ")))
        }
        Event::CompletionDenied { why, .. } => {
            line(Tone::Note, format!("the agent says that the work is not done: {why}"))
        }
        Event::PlanEdited { vanished, added, .. } => {
            let parts = [("gone from the plan", vanished), ("new in the plan", added)];
            let parts = parts.into_iter().filter(|(_, tasks)| !tasks.is_empty());
            let parts: Vec<String> = parts
                .map(|(what, tasks)| format!("{what}: {}", tasks.join(" · ")))
                .collect();
            line(
                if vanished.is_empty() { Tone::Note } else { Tone::Bad },
                parts.join("; "),
            )
        }
        Event::TaskBlocked { question, .. } => line(Tone::Bad, format!("blocked, set aside: {question}")),
        Event::VerificationStarted { goals, .. } => line(Tone::Wait, format!("checking goals: {}", goals.join(", "))),
        Event::GoalChecked { result, .. } => {
            let tone = if result.passed { Tone::Good } else { Tone::Bad };
            line(tone, format!("goal {}", goal_in_words(result)))
        }
        Event::ClaimJudged { confidence, parts, .. } => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| format!("{} {}", part.what, part.points))
                .collect();
            line(Tone::Note, format!("confidence {confidence}: {}", parts.join(", ")))
        }
        Event::BreakerMoved {
            to: BreakerState::Closed,
            why,
        } => line(Tone::Good, format!("breaker closed: {why}")),
        Event::BreakerMoved {
            to: BreakerState::HalfOpen,
            why,
        } => line(Tone::Bad, format!("breaker half-open: {why}")),
        Event::BreakerMoved {
            to: BreakerState::Open,
            why,
        } => line(Tone::Bad, format!("breaker open: {why}")),
        Event::ClockMoved { gap_ms } => line(Tone::Wait, clock_moved(*gap_ms)),
        Event::AdapterLimited { adapter, until_ms } => {
            line(Tone::Wait, format!("{adapter} is limited until {}", time(*until_ms)))
        }
        Event::WaitStarted {
            wait,
            until_ms,
            attempt,
            why,
        } => line(Tone::Wait, wait_in_words(*wait, &time(*until_ms), *attempt, why)),
        Event::WaitEnded {
            cause: WaitEnd::Elapsed,
        } => None,
        Event::WaitEnded {
            cause: WaitEnd::RetriedNow,
        } => line(Tone::User, "trying again now"),
        Event::WaitEnded {
            cause: WaitEnd::Stopped,
        } => None,
        Event::Paused { by: PausedBy::File } => line(Tone::Wait, "pausing: `.ralph-pause` is there"),
        Event::Paused { by: PausedBy::User } => line(Tone::Wait, "pausing: asked by the user"),
        Event::Unpaused { by: PausedBy::File } => line(Tone::User, "going on: `.ralph-pause` is gone"),
        Event::Unpaused { by: PausedBy::User } => line(Tone::User, "going on"),
        Event::Held => line(
            Tone::Wait,
            "paused: remove `.ralph-pause` or type `ralph resume` to go on",
        ),
        Event::SteeringQueued { id, kind, text } => {
            let when = match kind {
                SteeringKind::Next => "for the next prompt",
                SteeringKind::Now => "for now",
                SteeringKind::Standing => "for every prompt",
            };
            line(Tone::User, format!("message {} {when}: {text}", id.0))
        }
        Event::SteeringDelivered { id, iteration, how } => {
            let how = match how {
                Delivery::Prompt => "in the prompt of",
                Delivery::Live => "live in",
            };
            line(
                Tone::User,
                format!("message {} delivered {how} iteration {iteration}", id.0),
            )
        }
        Event::SteeringWithdrawn { id } => line(Tone::User, format!("message {} withdrawn", id.0)),
        Event::RunReopened { .. } => line(Tone::User, "the run goes on with your message"),
        Event::StopRequested { stop, by } => line(Tone::User, stop_request(*stop, *by)),
        Event::Unknown { name } => line(Tone::Note, format!("an event of a newer ralph: {name}")),
        // Shown by the head, the tasks and the summary.
        Event::JournalOpened { .. }
        | Event::RunStarted { .. }
        | Event::PlanRead { .. }
        | Event::AgentStated { .. }
        | Event::PreparationStarted { .. }
        | Event::RunStopped { .. } => None,
    }
}

/// Only what the loop itself has to do with; the rest is in the transcript.
fn narrate_signal(signal: &AgentSignal, time: impl Fn(u64) -> String) -> Option<Line> {
    match signal {
        AgentSignal::LimitHit { until_ms, text, .. } => {
            let until = until_ms
                .map(|until_ms| format!(" until {}", time(until_ms)))
                .unwrap_or_default();
            line(Tone::Wait, format!("the agent is limited{until}: {text}"))
        }
        AgentSignal::PermissionAsked { text, allowed, .. } => {
            let tone = if *allowed { Tone::Note } else { Tone::Bad };
            line(tone, format!("the agent asks for permission: {text}"))
        }
        AgentSignal::QuestionAsked { text, .. } => line(Tone::Bad, format!("the agent asks: {text}")),
        AgentSignal::Opened { .. }
        | AgentSignal::Said { .. }
        | AgentSignal::Thought { .. }
        | AgentSignal::ToolStarted { .. }
        | AgentSignal::ToolEnded { .. }
        | AgentSignal::FileChanged { .. }
        | AgentSignal::Usage { .. }
        | AgentSignal::Retrying { .. }
        | AgentSignal::Problem { .. }
        | AgentSignal::TurnEnded { .. }
        | AgentSignal::Unknown { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::Ended { .. } => None,
    }
}

/// An outcome with its reason, as what an iteration did.
pub fn outcome_in_words(outcome: &Outcome) -> (Tone, String) {
    match outcome {
        Outcome::Completed => (Tone::Good, "completed".to_owned()),
        Outcome::Failed { problem } => (Tone::Bad, format!("failed ({}: {})", problem.kind, problem.text)),
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

fn cancel_reason(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Skipped => "skipped by the user",
        CancelReason::Steered => "a message cannot wait",
        CancelReason::IterationTimeout => "its time limit is reached",
        CancelReason::IdleTimeout => "it neither wrote nor computed until the idle limit",
        CancelReason::LoginRefused => "its login is refused again and again",
        CancelReason::Flooded => "it reports without end",
        CancelReason::MaxTime => "the run's time limit is reached",
        CancelReason::MaxCost => "the cost limit is reached",
        CancelReason::MaxTokens => "the token limit is reached",
        CancelReason::Stopped => "the run is stopping",
    }
}

/// What was claimed, in a clause.
pub fn claim_in_words(claim: Claim) -> &'static str {
    match claim {
        Claim::DoneFile => "the agent claims to be done: `.ralph-done`",
        Claim::Promise => "the agent claims to be done: its promise",
        Claim::StatusBlock => "the agent claims to be done: its status block",
        Claim::PlanComplete => "the plan has no open task",
    }
}

/// Where the clock went forward, nobody can tell a computer that slept from a ralph that was stopped.
fn clock_moved(gap_ms: i64) -> String {
    let gap = short_duration(gap_ms.unsigned_abs());
    if gap_ms < 0 {
        format!("the clock was set back by {gap}: waits and limits move with it")
    } else {
        format!("the computer or ralph was asleep for {gap}: that time counts against no limit")
    }
}

fn wait_in_words(wait: Wait, until: &str, attempt: u32, why: &str) -> String {
    match wait {
        Wait::Backoff if attempt > 1 => format!("trying again at {until} (failure {attempt} in a row)"),
        Wait::Backoff => format!("trying again at {until}"),
        Wait::LimitReset => format!("waiting until {until}: {why}"),
        Wait::CallBudget => format!("waiting until {until}: {why}"),
        Wait::Cooldown => format!("one more try at {until}: {why}"),
    }
}

fn stop_request(stop: StopRequest, by: RequestedBy) -> String {
    let by = match by {
        RequestedBy::Interrupt => "interrupted",
        RequestedBy::Terminate => "terminated",
        RequestedBy::Hangup => "the terminal is gone",
        RequestedBy::User => "asked to stop",
    };
    let how = match stop {
        StopRequest::AfterIteration => "stopping after this iteration",
        StopRequest::InOrder => "stopping (again for at once)",
        StopRequest::AtOnce => "stopping at once",
    };
    format!("{by}: {how}")
}

/// `tests passed in 26s`, `coverage did not pass in 3.0s: 71 is below 80`.
pub fn goal_in_words(result: &GoalResult) -> String {
    let GoalResult { name, score, why, .. } = result;
    let took = short_duration(result.duration_ms);
    if !result.passed {
        return format!("{name} did not pass in {took}: {why}");
    }
    let score = score.map(|score| format!(" (score {score})")).unwrap_or_default();
    format!("{name} passed{score} in {took}")
}

/// Why a run is over, as a clause after "ralph: ".
pub fn stop_in_words(reason: &StopReason) -> String {
    match reason {
        StopReason::Done { verified: true } => "done".to_owned(),
        StopReason::Done { verified: false } => "done, unverified".to_owned(),
        StopReason::AgentFailed { adapter, problem } => format!("stopped, {}", failure_in_words(adapter, problem.kind)),
        StopReason::Broken { why } => format!("stopped, ralph cannot go on ({why})"),
        StopReason::PlanInvalid { why } => format!("stopped, the plan cannot be read ({why})"),
        StopReason::LimitReached { limit } => format!(
            "stopped, the limit of {} is reached",
            match limit {
                LimitKind::MaxIterations => "iterations",
                LimitKind::MaxTime => "time",
                LimitKind::MaxCost => "cost",
                LimitKind::MaxTokens => "tokens",
            }
        ),
        StopReason::BreakerOpen { why } => format!("stopped, the loop gets nowhere ({why})"),
        StopReason::Blocked { question } => format!("blocked: needs your answer ({question})"),
        StopReason::Requested => "stopped as asked".to_owned(),
        StopReason::Interrupted => "interrupted".to_owned(),
        StopReason::Terminated => "terminated".to_owned(),
        StopReason::HungUp => "stopped, the terminal is gone".to_owned(),
        StopReason::Superseded => "cut off, and followed by another run".to_owned(),
    }
}

/// What is wrong with an agent, short enough for a headline: its own words are in the log.
fn failure_in_words(adapter: &str, kind: ProblemKind) -> String {
    let agent = if adapter.is_empty() { "the agent" } else { adapter };
    match kind {
        ProblemKind::NotInstalled => format!("{agent} is not installed"),
        ProblemKind::Auth => format!("{agent} is not logged in"),
        ProblemKind::ModelUnknown => format!("{agent} does not know the model"),
        ProblemKind::Usage => format!("{agent} refused its command line"),
        ProblemKind::RateLimited { .. }
        | ProblemKind::QuotaExhausted { .. }
        | ProblemKind::Overloaded
        | ProblemKind::Network
        | ProblemKind::ContextOverflow
        | ProblemKind::PermissionDenied
        | ProblemKind::TurnLimit
        | ProblemKind::SessionLost
        | ProblemKind::Crashed
        | ProblemKind::Hung
        | ProblemKind::Flood
        | ProblemKind::Other => format!("{agent} failed ({kind})"),
    }
}
