//! Background tasks in words.

use ralph_core::{
    event::{
        BACKGROUND_COMMAND_CAP_BYTES, BackgroundEnd, BackgroundProgress, BackgroundRefusal, BackgroundResult, Decision,
        Requester,
    },
    run::{BackgroundState, BackgroundTask},
};
use ralph_text::one_line;

use super::{Tone, background_end_in_words, counted, decider_in_words, short_duration};

/// Maximum characters of a command within other text.
const COMMAND_CHARS: usize = 60;

/// The first line of a command, cut, for use within other text.
pub fn command_in_words(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or_default().trim_end();
    match (first.char_indices().nth(COMMAND_CHARS), lines.next()) {
        (None, None) => first.to_owned(),
        (cut, _) => format!("{} …", &first[..cut.map_or(first.len(), |(at, _)| at)]),
    }
}

/// The state of a background task in a word or two: `running`, `exit code 1`.
pub fn background_state_in_words(task: &BackgroundTask) -> String {
    match (&task.result, task.state()) {
        (Some(result), _) => background_end_in_words(result),
        (None, BackgroundState::Running) => "running".to_owned(),
        (None, BackgroundState::Ending | BackgroundState::Ended) => "ending".to_owned(),
    }
}

/// The output of a background task so far, as a suffix: `: 412 lines, the last: compiling ralph`.
pub fn background_progress_in_words(progress: &BackgroundProgress) -> String {
    let lines = counted(progress.output_lines, "line");
    match one_line(&progress.last_line).trim() {
        "" => format!(": {lines}"),
        last => format!(": {lines}, the last: {last}"),
    }
}

/// Whether a task ended as expected, as far as ralph can tell.
pub fn background_went_well(result: &BackgroundResult) -> bool {
    match &result.end {
        BackgroundEnd::Exited { exit } => exit.success(),
        BackgroundEnd::Cancelled | BackgroundEnd::RunOver => true,
        BackgroundEnd::NotStarted { .. }
        | BackgroundEnd::TimedOut { .. }
        | BackgroundEnd::Exceeded { .. }
        | BackgroundEnd::Killed
        | BackgroundEnd::Lost => false,
    }
}

pub(super) fn started(number: u32, by: Requester, command: &str) -> (Tone, String) {
    let (tone, by) = match by {
        Requester::User => (Tone::User, ""),
        Requester::Agent => (Tone::Note, " by the agent"),
    };
    let command = command_in_words(command);
    (tone, format!("background task {number} started{by}: {command}"))
}

pub(super) fn cancelled(number: u32, by: Requester) -> (Tone, String) {
    let (tone, by) = match by {
        Requester::User => (Tone::User, ""),
        Requester::Agent => (Tone::Note, " by the agent"),
    };
    (tone, format!("background task {number} cancelled{by}"))
}

/// The line for the end of a task; `None` for a task that ended with the run, which is the normal case.
pub(super) fn ended(number: u32, result: &BackgroundResult) -> Option<(Tone, String)> {
    if matches!(result.end, BackgroundEnd::RunOver) {
        return None;
    }
    let tone = match background_went_well(result) {
        true => Tone::Note,
        false => Tone::Bad,
    };
    let end = background_end_in_words(result);
    let after = short_duration(result.duration_ms);
    Some((tone, format!("background task {number} is over after {after}: {end}")))
}

/// Why a request was refused, and what to do instead.
pub fn background_refusal_in_words(refusal: &BackgroundRefusal) -> String {
    match refusal {
        BackgroundRefusal::RunOver => "the run is over, and background tasks do not outlive it".to_owned(),
        BackgroundRefusal::NoCommand => "the command is empty: `ralph tasks start -- COMMAND…`".to_owned(),
        BackgroundRefusal::CommandTooLong { bytes } => format!(
            "the command has {} KiB; the maximum is {}: put it into a script",
            bytes.div_ceil(1024),
            BACKGROUND_COMMAND_CAP_BYTES / 1024
        ),
        BackgroundRefusal::UsedUp { limit } => {
            format!("{limit} background tasks were started already: continue without another one")
        }
        BackgroundRefusal::TooMany { limit } => format!(
            "{} at a time: `ralph tasks` lists them, `ralph tasks cancel N` ends one",
            match limit {
                1 => "only one background task runs".to_owned(),
                limit => format!("at most {limit} background tasks run"),
            }
        ),
        BackgroundRefusal::NotForAgents => {
            "only the user may start background tasks in this run (`background.agents` is false); say in your report what you need"
                .to_owned()
        }
        BackgroundRefusal::Rules { decision, by } => {
            let by = decider_in_words(by);
            match decision {
                Decision::Deny | Decision::Allow => format!("the command is denied: {by}"),
                Decision::Ask => format!(
                    "the command needs the user's word ({by}), which a background task cannot wait for: ask the user to \
                     start it"
                ),
            }
        }
        BackgroundRefusal::Unknown { number } => {
            format!("there is no background task {number}: `ralph tasks` lists them")
        }
        BackgroundRefusal::StartedByUser { number } => {
            format!("background task {number} is the user's; say in your report why it should end")
        }
        BackgroundRefusal::Ending { number } => format!("background task {number} is being ended already"),
        BackgroundRefusal::Ended { number } => format!("background task {number} is over already"),
    }
}

/// A task in a prompt: that it runs, or how it ended, with the end of its output.
pub fn background_in_prompt(task: &BackgroundTask, now_ms: u64) -> String {
    let number = task.number;
    let command = command_in_words(&task.command);
    let by = match task.by {
        Requester::User => "the user",
        Requester::Agent => "an agent",
    };
    let Some(result) = &task.result else {
        let age = short_duration(task.age_ms(now_ms));
        return format!(
            "Task {number}, started by {by}, has been running for {age}: `{command}`. `ralph tasks output {number}` shows \
             what it writes."
        );
    };
    let end = background_end_in_words(result);
    let after = short_duration(result.duration_ms);
    let head = format!("Task {number}, started by {by}, is over after {after} ({end}): `{command}`");
    match &result.tail[..] {
        "" => format!("{head}. It had no output."),
        tail => format!("{head}. It ended with:\n{tail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::Exit;

    fn task(number: u32, command: &str, end: Option<BackgroundEnd>) -> BackgroundTask {
        BackgroundTask {
            number,
            by: Requester::Agent,
            command: command.to_owned(),
            cwd: "/project".into(),
            started_ms: 0,
            cancelled_by: None,
            ends_with_run: false,
            progress: None,
            result: end.map(|end| BackgroundResult {
                end,
                duration_ms: 65_000,
                output_bytes: 9,
                tail: "2 failed".into(),
            }),
        }
    }

    fn exited(code: i32) -> BackgroundEnd {
        BackgroundEnd::Exited {
            exit: Exit::Code { code },
        }
    }

    #[test]
    fn a_command_is_named_by_its_first_line() {
        assert_eq!(command_in_words("npm run dev"), "npm run dev");
        assert_eq!(command_in_words("cd web\nnpm run dev\n"), "cd web …");
        let long = "ä".repeat(100);
        assert_eq!(command_in_words(&long), format!("{} …", "ä".repeat(60)));
    }

    #[test]
    fn a_prompt_tells_what_runs_and_what_has_ended() {
        assert_eq!(
            background_in_prompt(&task(1, "npm run dev", None), 60_000),
            "Task 1, started by an agent, has been running for 1m00s: `npm run dev`. `ralph tasks output 1` shows what it \
             writes."
        );
        assert_eq!(
            background_in_prompt(&task(2, "cargo test", Some(exited(101))), 0),
            "Task 2, started by an agent, is over after 1m05s (exit code 101): `cargo test`. It ended with:\n2 failed"
        );
    }

    #[test]
    fn only_one_that_ended_with_the_run_goes_unmentioned() {
        let said = |end| ended(1, &task(1, "x", Some(end)).result.unwrap());
        assert_eq!(said(BackgroundEnd::RunOver), None);
        assert_eq!(
            said(exited(0)),
            Some((
                Tone::Note,
                "background task 1 is over after 1m05s: exit code 0".to_owned()
            ))
        );
        assert_eq!(said(exited(1)).unwrap().0, Tone::Bad);
    }
}
