//! The line of text for each loop event, common to all user interfaces.

use ralph_core::event::{
    AgentCall, AgentEvent, AgentSignal, AskEvent, AskVerdict, BackgroundEvent, BreakerState, Claim, ClaimEvent,
    CommentAuthor, CommentEvent, ConfirmedBy, Decider, Delivery, Denial, Event, GateEvent, GoalResult, HookEvent,
    IterationEvent, Level, Missing, Notice, PausedBy, PlanEvent, RequestedBy, ReviewEvent, Role, RunEvent,
    SteeringEvent, SteeringKind, StopRequest, TaskEvent, TimeEvent, UnreadLines, WaitEnd, WorkerEvent,
};
use serde::Serialize;

use super::{
    Tone, all_changes_in_words, background, breaker_cause_in_words, breaker_state_word,
    claim::files_in_words,
    claim_in_words,
    comment::placed_in_words,
    commit_in_words, counted,
    end::unread_in_words,
    goal_in_words, guarded_changes_in_words, hook,
    iteration::{wait_in_words, worker_in_words},
    limit::{set_aside_in_words, task_set_aside_in_words, task_taken_back_in_words},
    missing_in_words, mutants_in_words, new_limits_in_words, noticed_mutants, outcome_in_words,
    permission::{answer_in_words, mode_in_words, question_in_words, scope_in_words},
    problem::cancel_reason,
    review::logged_review,
    role_in_words, short_duration, status_in_words, tree_in_words, trial_in_words, without_work, worker_with_model,
};

/// One event in words, without its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventLine {
    pub tone: Tone,
    pub text: String,
}

fn line(tone: Tone, text: impl Into<String>) -> Option<EventLine> {
    Some(EventLine {
        tone,
        text: text.into(),
    })
}

/// The line for an event; `None` for events that are shown elsewhere (the transcript, the summary) or not at all.
///
/// `time` renders a moment, given in milliseconds since the Unix epoch, on the user's clock.
pub fn narrate(event: &Event, time: impl Fn(u64) -> String) -> Option<EventLine> {
    match event {
        Event::Noticed { .. } => event.notice().and_then(notice_line),
        Event::BreakerMoved { to, why } => {
            let tone = match to {
                BreakerState::Closed => Tone::Good,
                BreakerState::HalfOpen | BreakerState::Open => Tone::Bad,
            };
            let to = breaker_state_word(*to);
            line(tone, format!("{to}: {}", breaker_cause_in_words(why)))
        }
        Event::Unknown { name } => line(Tone::Note, format!("an event of a newer ralph: {name}")),
        Event::Run(event) => run_line(event),
        Event::Time(event) => time_line(event, time),
        Event::Plan(event) => plan_line(event),
        Event::Task(event) => task_line(event),
        Event::Iteration(event) => iteration_line(event),
        Event::Agent(event) => agent_line(event, time),
        Event::Claim(event) => claim_line(event),
        Event::Ask(event) => ask_line(event, time),
        Event::Worker(event) => worker_line(event, time),
        Event::Gate(event) => gate_line(event),
        Event::Review(event) => review_line(event),
        Event::Steering(event) => steering_line(event),
        Event::Comment(event) => comment_line(event),
        Event::Background(event) => background_line(event),
        Event::Hook(event) => hook_line(event),
    }
}

fn run_line(event: &RunEvent) -> Option<EventLine> {
    match event {
        RunEvent::Resumed { .. } => line(Tone::Note, "resuming the run where it left off"),
        RunEvent::LimitsChanged { limits } => line(Tone::User, new_limits_in_words(limits)),
        RunEvent::Reopened { continued: true, .. } => line(Tone::User, "continuing the run after its end"),
        RunEvent::Reopened { .. } => line(Tone::User, "the run resumes with your message"),
        RunEvent::StopRequested { stop, by } => line(Tone::User, stop_request(*stop, *by)),
        RunEvent::StopWithdrawn => line(Tone::User, "not stopping after this iteration"),
        RunEvent::TreePrepared { tree } => {
            let steps = tree_in_words(tree).join(", ");
            let after = short_duration(tree.duration_ms);
            line(Tone::Note, format!("work tree prepared in {after}: {steps}"))
        }
        RunEvent::JournalOpened { .. }
        | RunEvent::Started { .. }
        | RunEvent::LimitNeared { .. }
        | RunEvent::CommandRefused { .. }
        | RunEvent::Stopped { .. } => event.notice().and_then(notice_line),
    }
}

fn notice_line(notice: Notice) -> Option<EventLine> {
    match notice.level {
        Level::Info => line(Tone::Note, notice.text),
        Level::Warning => line(Tone::Warning, format!("warning: {}", notice.text)),
    }
}

fn time_line(event: &TimeEvent, time: impl Fn(u64) -> String) -> Option<EventLine> {
    match event {
        TimeEvent::ClockMoved { gap_ms } => line(Tone::Wait, clock_moved(*gap_ms)),
        TimeEvent::WaitStarted {
            wait,
            until_ms,
            attempt,
            why,
        } => line(Tone::Wait, wait_in_words(*wait, &time(*until_ms), *attempt, why)),
        TimeEvent::WaitEnded {
            cause: WaitEnd::Elapsed,
        } => None,
        TimeEvent::WaitEnded {
            cause: WaitEnd::RetriedNow,
        } => line(Tone::User, "trying again now"),
        TimeEvent::WaitEnded {
            cause: WaitEnd::Stopped,
        } => None,
        TimeEvent::Paused { by: PausedBy::File } => line(Tone::Wait, "pausing: `.ralph-pause` exists"),
        TimeEvent::Paused { by: PausedBy::User } => line(Tone::Wait, "pausing: requested by the user"),
        TimeEvent::Unpaused { by: PausedBy::File } => line(Tone::User, "resuming: `.ralph-pause` was removed"),
        TimeEvent::Unpaused { by: PausedBy::User } => line(Tone::User, "resuming"),
        TimeEvent::Held => line(Tone::Wait, "paused: remove `.ralph-pause` or type `ralph resume`"),
        TimeEvent::DayBegan { .. } => None,
    }
}

fn plan_line(event: &PlanEvent) -> Option<EventLine> {
    match event {
        PlanEvent::LinesUnread { unread } => lines_unread(unread),
        PlanEvent::Edited { vanished, added, .. } => {
            let parts = [("removed from the plan", vanished), ("added to the plan", added)];
            let parts = parts.into_iter().filter(|(_, tasks)| !tasks.is_empty());
            let parts: Vec<String> = parts
                .map(|(what, tasks)| format!("{what}: {}", tasks.join(" · ")))
                .collect();
            line(
                if vanished.is_empty() { Tone::Note } else { Tone::Bad },
                parts.join("; "),
            )
        }
        PlanEvent::Read { .. } | PlanEvent::Changed { .. } | PlanEvent::NotRead { .. } => {
            event.notice().and_then(notice_line)
        }
    }
}

fn task_line(event: &TaskEvent) -> Option<EventLine> {
    match event {
        TaskEvent::Blocked { question, .. } => line(Tone::Bad, format!("blocked, set aside: {question}")),
        TaskEvent::SetAside {
            task,
            limit,
            iterations,
            usage,
            ..
        } => line(Tone::Bad, set_aside_in_words(task, *limit, *iterations, usage)),
        TaskEvent::SetAsideByUser { task } => line(Tone::Note, task_set_aside_in_words(task)),
        TaskEvent::TakenBack { task } => line(Tone::Note, task_taken_back_in_words(task)),
        TaskEvent::ScopeChecked {
            task, outside, more: 0, ..
        } if outside.is_empty() => line(
            Tone::Good,
            format!("no change is left outside of the scope of \"{task}\""),
        ),
        // The refusal says the same.
        TaskEvent::ScopeChecked { ticked: true, .. } => None,
        TaskEvent::ScopeChecked {
            task, outside, more, ..
        } => {
            let found = Missing::OutOfScope {
                task: task.into(),
                files: outside.clone(),
                more: *more,
            };
            line(Tone::Bad, missing_in_words(&found))
        }
        TaskEvent::ScopeConfirmed { files, more, .. } => {
            let files = files_in_words(files, *more);
            line(Tone::User, format!("you accepted changes outside of scopes: {files}"))
        }
    }
}

fn iteration_line(event: &IterationEvent) -> Option<EventLine> {
    match event {
        IterationEvent::Started {
            iteration,
            task,
            adapter,
            model,
            role: role @ Role::Review { .. },
            ..
        } => {
            let review = role_in_words(*role).unwrap_or_default();
            let task = task.as_deref().unwrap_or("all work");
            let by = worker_with_model(adapter, model.as_deref());
            line(Tone::Start, format!("iteration {iteration}, {review} by {by}: {task}"))
        }
        IterationEvent::Started {
            iteration,
            task,
            resume,
            ..
        } => {
            let task = task.as_deref().unwrap_or("verify the finished plan");
            let resumed = if resume.is_some() { " (session resumed)" } else { "" };
            line(Tone::Start, format!("iteration {iteration}: {task}{resumed}"))
        }
        IterationEvent::CancelRequested { iteration, reason } => line(
            Tone::Wait,
            format!("ending iteration {iteration}: {}", cancel_reason(*reason)),
        ),
        IterationEvent::Ended {
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
        IterationEvent::Settled {
            changes: Some(changes),
            progress,
            undone,
            committed,
            elsewhere,
            ..
        } => {
            let then = match (undone, progress) {
                (true, _) => ", undone",
                (false, Some(false)) => ", no progress",
                (false, Some(true) | None) => "",
            };
            let committed = committed.as_ref().map(commit_in_words);
            let committed = committed.map_or_else(String::new, |committed| format!(", {committed}"));
            let work = all_changes_in_words(changes, elsewhere);
            line(Tone::Note, format!("{work}{then}{committed}"))
        }
        IterationEvent::Settled {
            changes: None,
            committed: Some(made),
            ..
        } => line(Tone::Note, commit_in_words(made)),
        IterationEvent::Settled {
            changes: None,
            committed: None,
            ..
        } => None,
        IterationEvent::PreparationStarted { .. } | IterationEvent::LeftoverFound { .. } => {
            event.notice().and_then(notice_line)
        }
    }
}

fn agent_line(event: &AgentEvent, time: impl Fn(u64) -> String) -> Option<EventLine> {
    match event {
        AgentEvent::Reported { signal, .. } => narrate_signal(signal, time),
        AgentEvent::DetailsOmitted { iteration } => line(
            Tone::Note,
            format!("iteration {iteration} reports many details: the rest is in its signal log, not in the journal"),
        ),
        // Recorded again with the claim of the file.
        AgentEvent::Stated {
            claims,
            status: Some(status),
            ..
        } if !claims.contains(&Claim::DoneFile) => line(Tone::Note, status_in_words(status)),
        AgentEvent::Called { call, .. } => narrate_call(call),
        AgentEvent::FoundIdle { quiet_ms, left_ms } => {
            let [quiet, left] = [*quiet_ms, *left_ms].map(short_duration);
            line(Tone::Note, format!("idle for {quiet}; will be stopped in {left}"))
        }
        AgentEvent::FoundActive => line(Tone::Note, "the agent is active again"),
        AgentEvent::Stated { .. } => None,
    }
}

fn claim_line(event: &ClaimEvent) -> Option<EventLine> {
    match event {
        ClaimEvent::Made { claim, .. } => line(Tone::Note, claim_in_words(*claim)),
        ClaimEvent::Refused { reasons, .. } => {
            let reasons: Vec<String> = reasons.iter().map(missing_in_words).collect();
            line(Tone::Bad, format!("not done: {}", reasons.join("; ")))
        }
        ClaimEvent::Denied { why, .. } => line(
            Tone::Note,
            match why {
                Denial::NotDone { why } => format!("the agent says that the work is not done: {why}"),
                Denial::Blocked { question } => format!("the agent says that it is blocked: {question}"),
            },
        ),
        // A refusal says where more confidence is wanted, and the report tells the rest.
        ClaimEvent::Judged { .. } => None,
    }
}

fn ask_line(event: &AskEvent, time: impl Fn(u64) -> String) -> Option<EventLine> {
    match event {
        AskEvent::Asked { ask } => line(Tone::Bad, question_in_words(ask, time)),
        // Permissions by rule are routine.
        AskEvent::Answered { answered }
            if answered.verdict == AskVerdict::Allowed
                && matches!(answered.by, Decider::Rule { .. } | Decider::Mode { .. }) =>
        {
            None
        }
        AskEvent::Answered { answered } => {
            let tone = match (&answered.verdict, &answered.by) {
                (_, Decider::User { .. }) => Tone::User,
                (AskVerdict::Allowed | AskVerdict::Withdrawn, _) => Tone::Note,
                (AskVerdict::Denied | AskVerdict::Words { .. }, _) => Tone::Bad,
            };
            line(tone, answer_in_words(answered))
        }
        AskEvent::RulesAdded { ask, scope, rules, .. } => line(
            Tone::User,
            format!(
                "now allowed {} (question {ask}): {}",
                scope_in_words(*scope),
                rules.join(", ")
            ),
        ),
        AskEvent::RuleForgotten { rule } => line(Tone::User, format!("rule of an answer removed: {rule}")),
        AskEvent::PermissionModeChanged { mode } => line(Tone::User, mode_in_words(*mode)),
    }
}

fn worker_line(event: &WorkerEvent, time: impl Fn(u64) -> String) -> Option<EventLine> {
    match event {
        WorkerEvent::Changed { worker } => line(Tone::User, worker_in_words(worker)),
        WorkerEvent::AdapterLimited { adapter, until_ms } => {
            line(Tone::Wait, format!("{adapter} is limited until {}", time(*until_ms)))
        }
        WorkerEvent::LiveChannelGivenUp { adapter, why } => line(Tone::Bad, live_channel_given_up(adapter, why)),
    }
}

fn gate_line(event: &GateEvent) -> Option<EventLine> {
    match event {
        GateEvent::VerificationStarted { goals, ticks: true, .. } => {
            line(Tone::Wait, format!("checking ticked tasks: {}", goals.join(", ")))
        }
        GateEvent::VerificationStarted { goals, .. } => {
            line(Tone::Wait, format!("checking goals: {}", goals.join(", ")))
        }
        GateEvent::GoalChecked { result, .. } => {
            let tone = if result.passed { Tone::Good } else { Tone::Bad };
            line(tone, format!("goal {}", goal_in_words(result)))
        }
        GateEvent::TrialMade { trial, .. } => {
            let passed = trial.problem.is_none() && trial.results.iter().all(|result| result.passed);
            line(if passed { Tone::Good } else { Tone::Bad }, trial_in_words(trial))
        }
        GateEvent::TestsConfirmed { changes, by, .. } => match by {
            ConfirmedBy::User { .. } => line(
                Tone::User,
                format!("you confirmed the changed tests: {}", guarded_changes_in_words(changes)),
            ),
            ConfirmedBy::Plan { task } => line(
                Tone::Note,
                format!(
                    "the plan allows changed tests at \"{task}\": {}",
                    guarded_changes_in_words(changes)
                ),
            ),
        },
        GateEvent::MutantsTried { mutants, .. } => {
            let tone = match (noticed_mutants(mutants), without_work(mutants)) {
                ((1.., _), _) | ((0, 0), Some(_)) => Tone::Note,
                ((0, _), _) => Tone::Bad,
            };
            line(tone, mutants_in_words(mutants))
        }
        GateEvent::BreakSought {
            iteration,
            goal,
            passed,
        } => {
            let (tone, word) = match passed {
                true => (Tone::Note, "passes"),
                false => (Tone::Bad, "fails"),
            };
            line(
                tone,
                format!("goal {goal} {word} with the files of iteration {iteration}"),
            )
        }
        GateEvent::EditsChecked {
            results, news, live, ..
        } => edits_checked("after edits", results, news, *live),
        GateEvent::IterationChecked {
            iteration,
            results,
            news,
            live,
        } => edits_checked(
            &format!("with the files of iteration {iteration}"),
            results,
            news,
            *live,
        ),
    }
}

fn review_line(event: &ReviewEvent) -> Option<EventLine> {
    match event {
        ReviewEvent::Concluded { result, .. } => {
            let (tone, text) = logged_review(result);
            line(tone, text)
        }
        ReviewEvent::Requested { .. } | ReviewEvent::Withdrawn => None,
    }
}

fn steering_line(event: &SteeringEvent) -> Option<EventLine> {
    match event {
        SteeringEvent::Queued {
            id,
            text,
            answers: Some(answered),
            ..
        } => line(
            Tone::User,
            format!(
                "message {} answers \"{}\" in the next prompt: {text}",
                id.0, answered.question
            ),
        ),
        SteeringEvent::Queued { id, kind, text, .. } => {
            let when = match kind {
                SteeringKind::Next => "queued for the next prompt",
                SteeringKind::Now => "sent now",
                SteeringKind::Standing => "added to every prompt",
            };
            line(Tone::User, format!("{when} (message {}): {text}", id.0))
        }
        SteeringEvent::Delivered { id, iteration, how } => {
            let how = match how {
                Delivery::Prompt => "in the prompt of",
                Delivery::Live => "live in",
            };
            line(
                Tone::User,
                format!("message {} delivered {how} iteration {iteration}", id.0),
            )
        }
        SteeringEvent::Withdrawn { id } => line(Tone::User, format!("message {} withdrawn", id.0)),
    }
}

fn comment_line(event: &CommentEvent) -> Option<EventLine> {
    match event {
        CommentEvent::Written {
            comment,
            by,
            place,
            text,
        } => {
            let tone = match by {
                CommentAuthor::User => Tone::User,
                CommentAuthor::Reviewer { .. } => Tone::Note,
            };
            line(
                tone,
                format!("comment {comment} on {}:{}: {text}", place.file, place.line),
            )
        }
        CommentEvent::Edited { comment, text } => line(Tone::User, format!("comment {comment} is now: {text}")),
        CommentEvent::Withdrawn { comment } => line(Tone::User, format!("comment {comment} withdrawn")),
        CommentEvent::Resolved { comment } => line(Tone::User, format!("comment {comment} resolved")),
        CommentEvent::Placed { places, .. } => placed_in_words(places).and_then(|text| line(Tone::Note, text)),
        CommentEvent::Sent { .. } => None,
    }
}

fn background_line(event: &BackgroundEvent) -> Option<EventLine> {
    match event {
        BackgroundEvent::Started {
            number, by, command, ..
        } => {
            let (tone, text) = background::started(*number, *by, command);
            line(tone, text)
        }
        BackgroundEvent::Cancelled { number, by } => {
            let (tone, text) = background::cancelled(*number, *by);
            line(tone, text)
        }
        BackgroundEvent::Ended { number, result } => {
            background::ended(*number, result).and_then(|(tone, text)| line(tone, text))
        }
        BackgroundEvent::Progressed { .. } => None,
    }
}

fn hook_line(event: &HookEvent) -> Option<EventLine> {
    match event {
        HookEvent::Ended { hook, task, result, .. } => {
            hook::ended(*hook, task.as_deref(), result).and_then(|(tone, text)| line(tone, text))
        }
        HookEvent::Started { .. } => None,
    }
}

/// Changed results of goals that were run after edits.
/// Names the lines of the plan that are not read. A plan that has none any more needs no words.
fn lines_unread(unread: &UnreadLines) -> Option<EventLine> {
    let lines: Vec<u32> = unread.lines.iter().map(|unread| unread.line).collect();
    match (unread_in_words(&lines), unread.examples) {
        (Some(words), _) => line(
            Tone::Warning,
            format!("warning: {words}; `ralph plan check` says why and what to write"),
        ),
        (None, 0) => None,
        (None, examples) => line(
            Tone::Note,
            format!(
                "{} of the plan in code, comments or `{{skip}}` are not tasks",
                counted(examples, "box")
            ),
        ),
    }
}

fn edits_checked(when: &str, results: &[GoalResult], news: &[String], live: bool) -> Option<EventLine> {
    let told: Vec<&GoalResult> = results.iter().filter(|result| news.contains(&result.name)).collect();
    let tone = match told.iter().all(|result| result.passed) {
        true => Tone::Good,
        false => Tone::Bad,
    };
    let goals: Vec<String> = told.iter().map(|result| goal_in_words(result)).collect();
    if goals.is_empty() {
        return None;
    }
    let how = if live { " (the agent is told)" } else { "" };
    line(tone, format!("{when}: {}{how}", goals.join(", ")))
}

/// The line for a call of one of ralph's tools by the agent.
fn narrate_call(call: &AgentCall) -> Option<EventLine> {
    match call {
        AgentCall::Claimed { reasons } if reasons.is_empty() => {
            line(Tone::Note, "the agent claims to be done: judged at the end of its turn")
        }
        AgentCall::Claimed { reasons } => {
            let reasons: Vec<String> = reasons.iter().map(missing_in_words).collect();
            line(
                Tone::Note,
                format!("the agent claims to be done, refused at once: {}", reasons.join("; ")),
            )
        }
        AgentCall::GoalsChecked { passed, failed } if failed.is_empty() => {
            let goals = counted(u64::from(*passed), "goal");
            line(Tone::Note, format!("the agent had the goals checked: {goals} passed"))
        }
        AgentCall::GoalsChecked { failed, .. } => line(
            Tone::Note,
            format!("the agent had the goals checked: {} did not pass", failed.join(", ")),
        ),
        AgentCall::Blocked { reason } => line(Tone::Bad, format!("the agent is blocked: {reason}")),
        AgentCall::TestsChanged { why } => line(Tone::Note, format!("the agent changed tests on purpose: {why}")),
        AgentCall::Noted { note } => line(Tone::Note, format!("progress: {note}")),
        AgentCall::CommentAnswered { answer } => line(
            Tone::Note,
            format!("the agent answers comment {}: {}", answer.comment, answer.reason),
        ),
        AgentCall::Proposed { task } => line(Tone::Note, format!("the agent proposes a task: {task}")),
    }
}

/// The line for a signal that concerns the loop itself; others are in the transcript.
fn narrate_signal(signal: &AgentSignal, time: impl Fn(u64) -> String) -> Option<EventLine> {
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
        AgentSignal::WindowUsed { .. }
        | AgentSignal::Opened { .. }
        | AgentSignal::Said { .. }
        | AgentSignal::Thought { .. }
        | AgentSignal::ToolStarted { .. }
        | AgentSignal::ToolEnded { .. }
        | AgentSignal::FileChanged { .. }
        | AgentSignal::Usage { .. }
        | AgentSignal::Retrying { .. }
        | AgentSignal::Problem { .. }
        | AgentSignal::TurnEnded { .. }
        | AgentSignal::Noted { .. }
        | AgentSignal::Unknown { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::PermissionRequested { .. }
        | AgentSignal::PermissionWithdrawn { .. }
        | AgentSignal::Subagent { .. }
        | AgentSignal::TextDelta { .. }
        | AgentSignal::ThoughtDelta { .. }
        | AgentSignal::ToolOutput { .. }
        | AgentSignal::Ended { .. } => None,
    }
}

/// A forward jump does not reveal whether the computer slept or ralph was stopped.
fn clock_moved(gap_ms: i64) -> String {
    let gap = short_duration(gap_ms.unsigned_abs());
    if gap_ms < 0 {
        format!("the clock was set back by {gap}: waits and limits move with it")
    } else {
        format!("the computer or ralph was asleep for {gap}: that time does not count against limits")
    }
}

fn live_channel_given_up(adapter: &str, why: &str) -> String {
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({why})")
    };
    format!("the installed `{adapter}` has no live channel{why}: continuing one-way, messages wait for the next prompt")
}

fn stop_request(stop: StopRequest, by: RequestedBy) -> String {
    let by = match by {
        RequestedBy::Interrupt => "interrupted",
        RequestedBy::Terminate => "terminated",
        RequestedBy::Hangup => "the terminal is gone",
        RequestedBy::User => "stop requested",
    };
    let how = match stop {
        StopRequest::AfterIteration => "stopping after this iteration",
        StopRequest::Graceful => "stopping (repeat to force)",
        StopRequest::Immediate => "stopping at once",
    };
    format!("{by}: {how}")
}
