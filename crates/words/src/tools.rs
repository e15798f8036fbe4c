//! Replies of ralph's own tools to an agent: the result, and what to do next.

use std::{fmt::Write as _, ops::Range};

use ralph_core::{
    event::{Goal, GoalResult, Missing, PlanSnapshot, Requester, clip},
    run::BackgroundTask,
};

use super::{
    background::{background_state_in_words, command_in_words},
    counted, goal_in_words,
    prompt::missing,
    short_duration,
};

/// Maximum number of listed tasks; the plan itself has the rest.
const LISTED: usize = 200;
/// Maximum bytes of a background task's last line.
const LAST_LINE_BYTES: usize = 200;
/// Maximum bytes of a failed goal's output.
const TAIL_BYTES: usize = 4 * 1024;

/// The reason why a tool call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolRefusal {
    NoSession,
    Reviewing,
    OtherRun,
    TooMany,
    NoSuchTicket { ticket: u32 },
    Ended,
    NoGoals,
    NoSuchComment { comment: u32 },
}

/// Why a tool call was refused.
pub fn tool_refusal_in_words(why: ToolRefusal) -> String {
    match why {
        ToolRefusal::NoSession => "no session of the run is active: only the agent of a run can call this".to_owned(),
        ToolRefusal::Reviewing => {
            "this session is a review: put your findings into your last message; only that counts".to_owned()
        }
        ToolRefusal::OtherRun => "this tool belongs to another run, not to the active one; nothing was done".to_owned(),
        ToolRefusal::TooMany => {
            "the limit for this tool is reached in this session: continue with the task, and put the rest in your \
                            last message"
                .to_owned()
        }
        ToolRefusal::NoSuchTicket { ticket } => format!("there is no ticket {ticket}: call the tool without one"),
        ToolRefusal::Ended => "the session has ended".to_owned(),
        ToolRefusal::NoSuchComment { comment } => format!("no comment {comment} was sent to you"),
        ToolRefusal::NoGoals => "this run has no goals that you can check".to_owned(),
    }
}

/// The tasks, with the agent's current one and those that are set aside: by the user, or until the user answers a
/// question.
pub fn plan_for_agent(
    path: &str,
    plan: &PlanSnapshot,
    missing: &[String],
    aside: &[(String, Option<String>)],
) -> String {
    let set_aside: Vec<String> = aside.iter().map(|(task, _)| task.clone()).collect();
    let current = plan.current_except(&set_aside);
    let mut text = match plan.tasks.len() {
        0 => format!("{path} has no tasks: it is a description of the work.\n"),
        all => format!("{path}: {} of {} done.\n", plan.done(), counted(all as u64, "task")),
    };
    if let Some(current) = current {
        _ = writeln!(text, "Yours: {} (line {})", current.text, current.line);
    }
    for (index, task) in plan.tasks.iter().enumerate() {
        if index == LISTED {
            _ = writeln!(text, "… and {} more", plan.tasks.len() - LISTED);
            break;
        }
        let sign = if task.done { "x" } else { " " };
        let blocked = aside.iter().find(|(blocked, _)| *blocked == task.text && !task.done);
        let blocked = blocked.map_or_else(String::new, |(_, question)| match question {
            Some(question) => format!(" (set aside until the user answers: {question})"),
            None => " (set aside by the user: leave it)".to_owned(),
        });
        let indent = "  ".repeat(usize::from(task.depth).min(8));
        _ = writeln!(text, "{indent}- [{sign}] {}{blocked}", task.text);
    }
    for task in missing {
        _ = writeln!(text, "Removed from the plan; restore it: {task}");
    }
    text
}

/// The results of the goals.
pub fn goals_for_agent(results: &[GoalResult]) -> String {
    let passed = results.iter().filter(|result| result.passed).count();
    let mut text = format!("{passed} of {} passed.\n", counted(results.len() as u64, "goal"));
    for result in results {
        _ = writeln!(text, "- {}", goal_in_words(result));
        let tail = end_of(&result.tail);
        if !result.passed && !tail.is_empty() {
            _ = writeln!(text, "  It ended with:\n{tail}");
        }
    }
    text
}

/// Changed results of goals that were run after edits, as a message to the running turn.
pub fn edits_checked(results: &[GoalResult]) -> String {
    let mut text = "From ralph, after your last edits:\n".to_owned();
    for result in results {
        let tail = end_of(&result.tail);
        _ = match (result.passed, tail.is_empty()) {
            (true, _) => writeln!(text, "- goal `{}` passes again", result.name),
            (false, true) => writeln!(text, "- goal {}", goal_in_words(result)),
            (false, false) => writeln!(text, "- goal {}. It ended with:\n{tail}", goal_in_words(result)),
        };
    }
    text + "This is not a new task: continue with yours, and fix what your edits broke. ralph runs these goals again after your next edits."
}

/// The reply if the goals run longer than a call may take.
pub fn goals_still_running(tool: &str, ticket: u32, running_ms: u64) -> String {
    format!(
        "The goals have been running for {} and continue. Call `{tool}` again with {{\"ticket\": {ticket}}} for the results, \
         which may not include what you change meanwhile.",
        short_duration(running_ms)
    )
}

/// The reply to a claim that is judged at the end of the turn.
pub fn claim_recorded(goals: usize) -> String {
    let proof = match goals {
        0 => "No task is open".to_owned(),
        goals => format!("No task is open, and {} passed", counted(goals as u64, "goal")),
    };
    format!("{proof}. Your claim is recorded: end your turn now. ralph checks everything once more after that.")
}

/// The reply to a claim that is refused at once.
pub fn claim_refused(reasons: &[Missing], goals: &[Goal]) -> String {
    let reasons: Vec<String> = reasons
        .iter()
        .map(|reason| format!("- {}", missing(reason, goals)))
        .collect();
    format!(
        "Not done:\n{}\nContinue, and claim it again when that is settled.",
        reasons.join("\n")
    )
}

pub fn blocked_recorded() -> &'static str {
    "Recorded: the task is set aside, and the user learns the reason. Leave the files in a clean state, and end your turn."
}

pub fn progress_recorded() -> &'static str {
    "Recorded: the user sees it, and the next session reads it."
}

pub fn tests_changed_recorded() -> &'static str {
    "Recorded: after your turn, the user decides whether to accept the changed tests. Until then the original tests count."
}

pub fn comment_answer_recorded() -> &'static str {
    "Recorded: the user decides whether the reason is enough. Continue with your task."
}

pub fn proposal_recorded() -> &'static str {
    "Recorded as a proposal: the user decides whether it goes into the plan. Continue with your task."
}

/// The reply to a question that was put to the user.
pub fn question_recorded(ticket: u32, live: bool) -> String {
    let how = match live {
        true => "An answer reaches you as a message while you work",
        false => "An answer comes in the prompt of the next session",
    };
    format!(
        "The question is put to the user, who may be away. {how}; `question` with {{\"ticket\": {ticket}}} checks for it. \
         Continue with work that does not depend on it; if nothing is left, call `blocked`."
    )
}

/// The reply while a question is unanswered.
pub fn question_open(ticket: u32) -> String {
    format!("Question {ticket} is not answered yet. Continue with work that does not depend on it.")
}

/// The reply with the user's answer.
pub fn question_answered(text: &str) -> String {
    format!("The user answers: {text}")
}

/// The reply after a background task was started for the agent.
pub fn background_started(number: u32, text: &str) -> String {
    format!(
        "{text}\n`background_output` with {{\"number\": {number}}} shows what it writes, `background_cancel` ends it. It ends with the \
         run at the latest."
    )
}

/// The states of background tasks, one per line, with their last line of output.
pub fn background_for_agent(tasks: &[(&BackgroundTask, String)], now_ms: u64) -> String {
    if tasks.is_empty() {
        return "No background task was started in this run.".to_owned();
    }
    let mut text = String::new();
    for (task, last) in tasks {
        _ = write!(text, "{}", background_headline(task, now_ms));
        if !last.is_empty() {
            _ = write!(text, "; last line: {}", clip(last, LAST_LINE_BYTES));
        }
        text.push('\n');
    }
    text
}

/// Output of a background task: the bytes `shown` of a total of `end`.
pub fn background_output(task: &BackgroundTask, now_ms: u64, shown: Range<u64>, end: u64, written: &str) -> String {
    let head = background_headline(task, now_ms);
    if end == 0 {
        return format!("{head}. It has no output yet.");
    }
    if shown.is_empty() {
        return format!("{head}. It has no output after byte {end}.");
    }
    let number = task.number;
    let part = match (shown.start, shown.end) {
        (0, until) if until >= end => format!("All {end} bytes of its output:"),
        (from, until) if until >= end => format!("Its output from byte {from} to its end, {end}:"),
        (from, until) => format!(
            "Its output from byte {from} to byte {until} of {end}; {{\"number\": {number}, \"from\": {until}}} reads on:"
        ),
    };
    format!("{head}. {part}\n{written}")
}

/// `Task 2 (running for 5s, started by an agent): npm run dev`.
fn background_headline(task: &BackgroundTask, now_ms: u64) -> String {
    let by = match task.by {
        Requester::User => "the user",
        Requester::Agent => "an agent",
    };
    let state = background_state_in_words(task);
    let age = short_duration(task.age_ms(now_ms));
    let time = match task.result {
        None => format!("{state} for {age}"),
        Some(_) => format!("{state} after {age}"),
    };
    let command = command_in_words(&task.command);
    format!("Task {} ({time}, started by {by}): {command}", task.number)
}

/// The reply if an argument of the agent is empty or too long.
pub fn invalid_argument(name: &str, most_bytes: usize, bytes: usize) -> String {
    match bytes {
        0 => format!("`{name}` is empty: fill it in"),
        bytes => format!("`{name}` has {bytes} bytes; the maximum is {most_bytes}: shorten it"),
    }
}

fn end_of(tail: &str) -> &str {
    let mut start = tail.len().saturating_sub(TAIL_BYTES);
    while !tail.is_char_boundary(start) {
        start += 1;
    }
    tail[start..].trim()
}
