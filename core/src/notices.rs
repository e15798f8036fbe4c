//! The notices that the machine gives, and the clauses and figures in them. The package `words` uses these as well.

use std::fmt::Display;

use crate::{
    event::{
        BackgroundEnd, BackgroundResult, Ceiling, ExceededCeiling, Exit, Hook, LimitKind, LowDisk, Notice, OwnWork,
        ReviewObstacle, Role, SteeringId, TestNames, Worker,
    },
    limits::{LimitRow, LimitScope},
};

/// Most names in a notice.
const NAMED: usize = 3;

pub(crate) fn goals_changed() -> Notice {
    Notice::warning(
        "goals-changed",
        "the goals differ from those at the start of the run: the new ones count from now on",
    )
}

pub(crate) fn tests_merged((goal, now, before): (&str, u32, u32)) -> Notice {
    Notice::info(
        "tests-merged",
        format!("goal `{goal}` ran {now} tests, {before} before; all tests as they were pass"),
    )
}

/// The question about tasks that an agent removed from the plan, and that it does not put back.
pub(crate) fn not_put_back(tasks: &[String]) -> String {
    let named = first_named(tasks.iter(), NAMED, "; ");
    format!("the agent removed open tasks from the plan and does not put them back: {named}")
}

/// A goal fails by tests alone that failed before the run.
pub(crate) fn known_failures(goal: &str, tests: &TestNames) -> Notice {
    let named: Vec<&str> = tests.iter().take(NAMED).map(|name| name.as_str()).collect();
    let more = if tests.len() > NAMED { ", …" } else { "" };
    let text = format!(
        "goal `{goal}` fails only by tests that failed before the run, too ({}{more}): if they are no part of the work, \
         `--known-failures forgive` lets them fail",
        named.join(", ")
    );
    Notice::warning("known-failures", text)
}

pub(crate) fn starts_paused() -> Notice {
    Notice::warning(
        "starts-paused",
        "`.ralph-pause` exists: the run starts paused; remove the file to resume",
    )
}

pub(crate) fn pause_during_session() -> Notice {
    Notice::warning(
        "pause-during-session",
        "`.ralph-pause` appeared while the agent worked: if it is not yours, the agent made it; the run waits until you \
         remove it (`ralph resume`)",
    )
}

pub(crate) fn nothing_to_do() -> Notice {
    Notice::info("nothing-to-do", "nothing to do: the plan has no open task")
}

pub(crate) fn task_asks_for(Worker { adapter, model }: &Worker) -> Notice {
    let worker = worker_with_model(adapter, model.as_deref());
    Notice::info("task-asks-for", format!("the task asks for {worker}"))
}

pub(crate) fn task_handed_on(Worker { adapter, model }: &Worker, attempts: u32) -> Notice {
    let worker = worker_with_model(adapter, model.as_deref());
    let attempts = counted(u64::from(attempts), "iteration");
    Notice::info(
        "task-handed-on",
        format!("{attempts} made no progress on this task: handing it to {worker}"),
    )
}

/// A limit caused a switch to another adapter than in the previous iteration.
pub(crate) fn adapter_switched(adapter: &str) -> Notice {
    Notice::info("adapter-switched", format!("continuing with {adapter}"))
}

pub(crate) fn session_lost() -> Notice {
    Notice::warning(
        "session-lost",
        "the session to continue no longer exists: the next one starts fresh",
    )
}

pub(crate) fn session_too_long() -> Notice {
    Notice::warning(
        "session-too-long",
        "the session is too long for its model: the next one starts fresh",
    )
}

pub(crate) fn agent_lingers() -> Notice {
    Notice::info(
        "agent-lingers",
        "the agent has finished its turn but not exited: it is stopped",
    )
}

pub(crate) fn agent_left_behind(iteration: u32, after_ms: u64) -> Notice {
    let after = whole_duration(after_ms);
    Notice::warning(
        "agent-left-behind",
        format!(
            "ending iteration {iteration} took longer than {after}: processes of it that still run are left behind"
        ),
    )
}

pub(crate) fn work_overdue(work: OwnWork) -> Notice {
    let work = own_work_in_words(work);
    let text = format!("{work} did not end soon after the time limit of the run");
    Notice::warning("work-overdue", text)
}

pub(crate) fn message_outstanding(message: SteeringId) -> Notice {
    let text = format!(
        "the work is done, but message {} has not reached the agent: one more iteration",
        message.0
    );
    Notice::info("message-outstanding", text)
}

pub(crate) fn review_omitted(adapter: &str, why: ReviewObstacle) -> Notice {
    let why = match why {
        ReviewObstacle::NotConfigured => "the run continues without a reviewer".to_owned(),
        ReviewObstacle::Limited { .. } => format!("{adapter} is limited"),
        ReviewObstacle::LimitReached { limit } => format!("the {} limit is reached", limit_word(limit)),
        ReviewObstacle::Failing { reviews } => format!("{} failed in a row", counted(u64::from(reviews), "review")),
    };
    Notice::warning("review-omitted", format!("no review: {why}"))
}

pub(crate) fn reviewer_given_up(adapter: &str, reviews: u32) -> Notice {
    let reviews = counted(u64::from(reviews), "review");
    let text = format!("{reviews} by {adapter} failed in a row; reviews are off for the rest of this run");
    Notice::warning("reviewer-given-up", text)
}

pub(crate) fn hook_failed(hook: Hook, task: Option<&str>, result: &BackgroundResult) -> Notice {
    Notice::warning("hook-failed", hook_failed_in_words(hook, task, result))
}

/// How much of a limit is used, and how to raise it while the run goes on.
pub(crate) fn limit_near(limit: LimitKind, task: Option<&str>, percent: u8) -> Notice {
    let of = task.map(|task| format!(" for: {task}")).unwrap_or_default();
    let raise = match limit.row().can_be_changed() {
        true => format!("; `ralph continue {}` raises it", raise_option(limit)),
        false => String::new(),
    };
    let text = format!("{percent}% of the {} limit is used{of}{raise}", limit_word(limit));
    Notice::warning("limit-near", text)
}

/// Joins the first `most` names, and says how many more there are.
pub fn first_named(mut names: impl ExactSizeIterator<Item: Display>, most: usize, between: &str) -> String {
    let first: Vec<String> = names.by_ref().take(most).map(|name| name.to_string()).collect();
    let first = first.join(between);
    match names.len() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// `1 task`, `3 tasks`.
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// `900 bytes`, `4 KiB`, `812 MiB`, `12.3 GiB`.
#[allow(clippy::cast_precision_loss)]
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1024 => counted(bytes, "byte"),
        1024..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        0x4000_0000.. => format!("{:.1} GiB", (bytes >> 20) as f64 / 1024.0),
    }
}

/// `0.4s`, `26s`, `3m12s`, `1h05m`.
#[allow(clippy::cast_precision_loss)]
pub fn short_duration(duration_ms: u64) -> String {
    let seconds = duration_ms / 1000;
    match seconds {
        0..10 => format!("{:.1}s", duration_ms as f64 / 1e3),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600.. => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A time limit in whole seconds or minutes.
pub fn whole_duration(duration_ms: u64) -> String {
    match duration_ms {
        0..60_000 => format!("{} s", duration_ms.div_ceil(1000)),
        60_000.. => format!("{} min", duration_ms.div_ceil(60_000)),
    }
}

/// An agent and its model: `codex/gpt-5.4`.
pub fn worker_with_model(adapter: &str, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("{adapter}/{model}"),
        None => adapter.to_owned(),
    }
}

/// The name of a limit, without the word "limit".
pub fn limit_word(limit: LimitKind) -> String {
    let LimitRow { scope, noun, .. } = limit.row();
    match scope {
        LimitScope::Run => (*noun).to_owned(),
        LimitScope::Task => format!("per-task {noun}"),
        LimitScope::Day => format!("daily {noun}"),
        LimitScope::Hour => format!("hourly {noun}"),
        LimitScope::Iteration => (*noun).to_owned(),
    }
}

/// The option that raises a limit, with its value.
pub fn raise_option(limit: LimitKind) -> String {
    let LimitRow { flag, value, more, .. } = limit.row();
    format!("{} {value}", more.unwrap_or(flag))
}

/// The role of an iteration other than work: `review`, `review 2`.
pub fn role_in_words(role: Role) -> Option<String> {
    match role {
        Role::Work => None,
        Role::Review { round: 0 | 1 } => Some("review".to_owned()),
        Role::Review { round } => Some(format!("review {round}")),
    }
}

/// Ralph's own work that took too long, as a subject of a sentence.
pub fn own_work_in_words(work: OwnWork) -> String {
    match work {
        OwnWork::Preparing { iteration, role } => match role_in_words(role) {
            None => format!("preparing iteration {iteration}, its checkpoint, plan or prompt,"),
            Some(review) => format!("preparing iteration {iteration} ({review}), its checkpoint, patch or prompt,"),
        },
        OwnWork::Settling { iteration, role } => match role_in_words(role) {
            None => format!("examining the result of iteration {iteration}, its checkpoint or plan,"),
            Some(review) => {
                format!(
                    "examining the result of iteration {iteration} ({review}), its checkpoint or the files it changed,"
                )
            }
        },
        OwnWork::Verifying => "checking the goals".to_owned(),
    }
}

/// How a process ended: `exit code 1`, `signal 9`.
pub fn exit_in_words(exit: Exit) -> String {
    match exit {
        Exit::Code { code } => format!("exit code {code}"),
        Exit::Signal { signal } => format!("signal {signal}"),
    }
}

/// `its processes used 6.2 GiB together, more than 6.0 GiB (`limits.memory`): node 5.1 GiB, tsc 812 MiB`.
pub fn exceeded_in_words(exceeded: &ExceededCeiling) -> String {
    let what = match &exceeded.ceiling {
        Ceiling::Memory {
            limit_bytes,
            used_bytes,
        } => {
            let [used, limit] = [*used_bytes, *limit_bytes].map(size_in_words);
            format!("its processes used {used} together, more than {limit} (`limits.memory`)")
        }
        Ceiling::Processes { limit, count } => {
            format!("it had {count} processes, more than {limit} (`limits.processes`)")
        }
        Ceiling::Disk { low } => low_disk_in_words(low),
    };
    let verb = match &exceeded.ceiling {
        Ceiling::Memory { .. } | Ceiling::Processes { .. } => "",
        Ceiling::Disk { .. } => "wrote ",
    };
    let largest = exceeded.largest.iter();
    let largest: Vec<String> = largest
        .map(|process| format!("{} {verb}{}", process.name, size_in_words(process.bytes)))
        .collect();
    match largest.is_empty() {
        true => what,
        false => format!("{what}: {}", largest.join(", ")),
    }
}

/// `the free space below /home/me/project is 400 MiB, less than 1.0 GiB (`limits.diskFree`)`.
pub fn low_disk_in_words(low: &LowDisk) -> String {
    let [free, least] = [low.free_bytes, low.least_bytes].map(size_in_words);
    format!(
        "the free space below {} is {free}, less than {least} (`limits.diskFree`)",
        low.path
    )
}

/// How a background task ended: `exit code 0`, `cancelled`.
pub fn background_end_in_words(result: &BackgroundResult) -> String {
    match &result.end {
        BackgroundEnd::Exited { exit } => exit_in_words(*exit),
        BackgroundEnd::NotStarted { why } => format!("not started ({why})"),
        BackgroundEnd::TimedOut { after_ms } => format!("stopped at its limit of {}", short_duration(*after_ms)),
        BackgroundEnd::Exceeded { exceeded } => format!("killed: {}", exceeded_in_words(exceeded)),
        BackgroundEnd::Cancelled => "cancelled".to_owned(),
        BackgroundEnd::RunOver => "ended with the run".to_owned(),
        BackgroundEnd::Killed => "killed".to_owned(),
        BackgroundEnd::Lost => "ended with ralph, which was killed".to_owned(),
    }
}

/// Why a hook failed, with the last line that it printed: ``hook `afterIteration` failed: exit code 1: no route``.
pub fn hook_failed_in_words(hook: Hook, task: Option<&str>, result: &BackgroundResult) -> String {
    let end = background_end_in_words(result);
    let said = last_line(result).map(|said| format!(": {said}")).unwrap_or_default();
    format!("{} failed: {end}{said}", hook_in_words(hook, task))
}

/// ``hook `onTaskDone` (Write the parser)``.
pub fn hook_in_words(hook: Hook, task: Option<&str>) -> String {
    match (hook, task) {
        (Hook::OnTaskDone | Hook::OnBlocked, Some(task)) => format!("hook `{}` ({})", hook.name(), on_one_line(task)),
        _ => format!("hook `{}`", hook.name()),
    }
}

/// The last line that a command printed.
pub fn last_line(result: &BackgroundResult) -> Option<String> {
    let last = result.tail.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(on_one_line(last))
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
