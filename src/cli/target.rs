//! The first word on the command line that is not a command: a plan, a task, or a mistake.

use std::{ffi::OsString, path::Path};

use clap::{Command, CommandFactory as _};

use crate::{
    config::Flag,
    error::{Failure, FailureKind},
};

use super::{
    args::Args,
    one_task::{self, GivenTask, is_task},
    removed,
};

/// Other tools' commands for what `ralph` does without one.
const STARTS: &[&str] = &["start", "loop", "go", "exec", "build", "work"];
/// Commands of other tools and habits, with the counterpart in ralph.
const ELSEWHERE: &[(&[&str], &str)] = &[
    (
        STARTS,
        "`ralph PLAN.md` starts a run, `ralph \"Build a web app\"` one of a single task",
    ),
    (
        &["cont", "restart", "retry"],
        "`ralph continue` continues the last run, `ralph` starts a new one",
    ),
    (
        &["log", "logs", "tail", "follow", "monitor", "top", "ps"],
        "`ralph status --watch` follows a run, `ralph attach` shows it, `ralph report` says what it did",
    ),
    (
        &["list", "ls", "history", "sessions"],
        "`ralph runs` lists the runs of this project",
    ),
    (
        &["show", "summary", "cost", "stats", "usage"],
        "`ralph report` says what a run did and what it cost",
    ),
    (
        &["kill", "abort", "cancel", "quit", "end"],
        "`ralph stop` ends the run, `--at-once` without grace",
    ),
    (
        &["undo", "rollback", "revert", "reset", "rewind"],
        "`ralph restore` lists what can be restored",
    ),
    (
        &["say", "tell", "send", "message", "msg", "chat"],
        "`ralph steer TEXT` sends the agent a message",
    ),
    (&["next"], "`ralph skip` ends this iteration and starts the next"),
    (&["unpause"], "`ralph resume` ends a pause"),
    (&["verify", "check", "test"], "`ralph goals check` runs the goals"),
    (
        &["agents", "models", "providers"],
        "`ralph adapters` lists the agents ralph can run",
    ),
    (
        &["login", "auth"],
        "each agent has its own login: `ralph doctor` shows which are logged in and what to type",
    ),
    (
        &["settings", "set", "get"],
        "`ralph config` shows the settings and where they come from",
    ),
    (
        &["serve", "server", "ui", "dashboard"],
        "`ralph web` serves the runs of all projects",
    ),
    (
        &["update", "upgrade", "self-update"],
        "ralph is updated the way it was installed",
    ),
    (
        &["allow", "approve", "yes"],
        "`ralph answer N yes` allows what the agent asks",
    ),
    (
        &["deny", "reject", "no"],
        "`ralph answer N no` denies what the agent asks",
    ),
];

/// Interprets the word in a command's place. A plan becomes the setting; a task is returned, with its plan yet to be
/// written.
///
/// # Errors
/// A [`Failure`] if the word is neither a file nor a task, or if another plan is given.
pub(super) fn resolve(args: &mut Args) -> Result<Option<GivenTask>, Failure> {
    let [first, rest @ ..] = &args.target[..] else {
        return Ok(None);
    };
    let starts = args.command.is_none();
    if !starts || !rest.is_empty() {
        return Err(no_command(first, rest));
    }
    if !Path::new(first).exists() {
        if !is_task(&first.to_string_lossy()) {
            return Err(no_command(first, rest));
        }
        let Some(task) = first.to_str().map(str::to_owned) else {
            return Err(super::mistake::not_utf8(first));
        };
        return one_task::check(args, &task).map(Some);
    }
    if !Path::new(first).is_file() {
        let why = format!("`{}` is not a file", first.display());
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("the plan is a file; ralph works in the directory in which it is started"));
    }
    if args.settings.given.iter().any(|flag| flag.name == "--plan") {
        let why = format!("the plan is given twice: `{}` and `--plan`", first.display());
        return Err(Failure::new(FailureKind::Usage, why).hint("name it once"));
    }
    let Some(plan) = first.to_str() else {
        return Err(super::mistake::not_utf8(first));
    };
    args.settings.given.push(Flag::new("--plan", "plan", plan));
    Ok(None)
}

fn no_command(first: &OsString, rest: &[OsString]) -> Failure {
    let word = first.to_string_lossy();
    if word.trim().is_empty() && rest.is_empty() {
        return one_task::empty();
    }
    if word == "-" {
        return Failure::new(FailureKind::Usage, "a task is an argument and not read from stdin")
            .hint("`ralph \"$(cat FILE)\"` takes it from a file; `ralph import -` makes a plan from stdin");
    }
    if let Some(removed) = removed::failure([first].into_iter().chain(rest).filter_map(|word| word.to_str())) {
        return removed;
    }
    if !rest.is_empty() || is_task(&word) {
        let words: Vec<_> = [first]
            .into_iter()
            .chain(rest)
            .map(|word| word.to_string_lossy())
            .collect();
        let said = words.join(" ");
        // "start" before a task in quotes is not part of the task.
        let task = match &words[..] {
            [start, task] if STARTS.contains(&&start[..]) && is_task(task) => task,
            _ => &said[..],
        };
        return Failure::new(FailureKind::Usage, format!("`{said}` is not a command"))
            .hint(format!(
                "a task is typed in quotes, without a command: ralph \"{}\"",
                sample(task)
            ))
            .hint("to send it to the active run: ralph steer TEXT");
    }
    if word.contains(['/', '.']) {
        return Failure::new(FailureKind::Configuration, format!("{word}: there is no such file"))
            .hint("a plan is a checklist with lines `- [ ] …`: `ralph init` creates one")
            .hint("a task is a sentence: ralph \"Build a web app\"");
    }
    let mut failure = Failure::new(FailureKind::Usage, format!("`{word}` is not a command"));
    let known = ELSEWHERE
        .iter()
        .find(|(words, _)| words.contains(&word.to_lowercase().as_str()));
    if let Some((_, hint)) = known {
        failure = failure.hint(*hint);
    } else if let Some(near) = nearest(&word) {
        failure = failure.hint(format!("did you mean `ralph {near}`?"));
    }
    failure.hint("`ralph -h` lists the commands")
}

/// Returns the text for use in a hint, or `TASK` if it is too long or cannot stand between double quotes.
pub(super) fn sample(said: &str) -> &str {
    let is_plain = !said.contains(|character: char| character.is_control() || "\"\\$`!".contains(character));
    if is_plain && said.len() <= 80 { said } else { "TASK" }
}

/// The command that was probably meant.
fn nearest(word: &str) -> Option<String> {
    let command = Args::command();
    let names = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(Command::get_name);
    let scored = names.map(|name| (strsim::jaro_winkler(word, name), name));
    let best = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best.0 > 0.8).then(|| best.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        no_command(&words[0], &words[1..]).to_string()
    }

    #[test]
    fn a_word_of_other_tools_is_told_what_it_is_here() {
        for (words, hint) in ELSEWHERE {
            for word in *words {
                assert!(said(&[word]).contains(hint), "{word}");
                assert!(Args::command().find_subcommand(word).is_none(), "{word} is a command");
            }
        }
    }

    #[test]
    fn a_mistyped_command_and_a_task_are_told_what_to_type() {
        assert_eq!(
            said(&["stauts"]),
            "error: `stauts` is not a command\nhint: did you mean `ralph status`?\nhint: `ralph -h` lists the commands"
        );
        assert_eq!(
            said(&["xyzzy"]),
            "error: `xyzzy` is not a command\nhint: `ralph -h` lists the commands"
        );
        let unquoted = said(&["build", "a", "web", "app"]);
        assert!(unquoted.contains("`build a web app` is not a command"), "{unquoted}");
        assert!(
            unquoted.contains("without a command: ralph \"build a web app\""),
            "{unquoted}"
        );
        assert!(said(&["start", "mend it"]).contains(": ralph \"mend it\""));
        assert!(said(&["say", "\"hi\""]).contains("ralph \"TASK\""));
        for missing in ["TODO.md", "my plan.md"] {
            let missing = said(&[missing]);
            assert!(missing.contains("there is no such file\nhint: a plan is"), "{missing}");
        }
        assert!(said(&[" "]).starts_with("error: the task has no words\nhint: ralph \""));
        assert!(said(&["-"]).contains("ralph import -"));
    }
}
