//! Reports invalid command lines in the format of all other failures.

use std::{ffi::OsString, ops::Range, os::unix::ffi::OsStrExt};

use clap::{
    Arg, CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::error::{Failure, FailureKind};

use super::{args::Args, other_flags, removed};

/// Replaces `--json` with `--format json`, or the reverse, if `error` says that the command only has the other one.
pub(super) fn with_other_format(error: &clap::Error, args: &[OsString]) -> Option<Vec<OsString>> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut args = args.to_vec();
    let last = |word: &str| args.iter().rposition(|arg| arg == word);
    let (typed, meant): (Range<usize>, &[&str]) = match (error.kind(), flag.as_str()) {
        (ErrorKind::UnknownArgument, "--json") => {
            let at = last("--json")?;
            (at..at + 1, &["--format", "json"])
        }
        (ErrorKind::UnknownArgument, "--format") => match (last("--format=json"), last("--format")) {
            (Some(at), _) => (at..at + 1, &["--json"]),
            (None, Some(at)) if args.get(at + 1)? == "json" => (at..at + 2, &["--json"]),
            (None, _) => return None,
        },
        _ => return None,
    };
    drop(args.splice(typed, meant.iter().map(OsString::from)));
    Some(args)
}

/// Turns clap's paragraphs about `args` into one line and hints.
pub(super) fn failure(error: &clap::Error, args: &[OsString]) -> Failure {
    // clap does not name the argument that is not UTF-8.
    let odd = args.iter().find(|arg| arg.to_str().is_none());
    match odd {
        Some(odd) if error.kind() == ErrorKind::InvalidUtf8 => not_utf8(odd),
        Some(_) | None => {
            if let Some(removed) = removed::failure(args.iter().skip(1).filter_map(|arg| arg.to_str())) {
                return removed;
            }
            let command = command_of(args);
            let failure = usage_failure(&error.to_string(), command.clone());
            let hints = foreign_flag_hints(error);
            if !hints.is_empty() {
                return Failure { hints, ..failure }.hint(format!("see `{command} --help`"));
            }
            match misplaced(error).zip(command.strip_prefix("ralph ")) {
                Some((flag, name)) => Failure {
                    hints: vec![format!("`{flag}` is an option of `ralph`: type it before `{name}`")],
                    ..failure
                }
                .hint(format!("see `{command} --help`")),
                None => failure,
            }
        }
    }
}

/// The error for an argument that is not UTF-8. No setting can hold it, and a plan of that name cannot be recorded.
pub(super) fn not_utf8(arg: &OsString) -> Failure {
    Failure::new(
        FailureKind::Configuration,
        format!("`{}` on the command line is not valid UTF-8", arg.display()),
    )
    .hint(format!(
        "if it is the name of a file, rename that: mv $'{}' NEW-NAME",
        arg.as_bytes().escape_ascii()
    ))
}

/// The hints for a flag that other programs of this kind have.
fn foreign_flag_hints(error: &clap::Error) -> Vec<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return Vec::new();
    };
    match hint_for(flag) {
        Some(hint) => vec![hint.to_owned()],
        None if error.kind() == ErrorKind::UnknownArgument && misplaced(error).is_none() => other_flags::hints(flag),
        None => Vec::new(),
    }
}

fn hint_for(flag: &str) -> Option<&'static str> {
    match flag {
        "--yolo"
        | "--full-auto"
        | "--dangerously-skip-permissions"
        | "--dangerously-bypass-approvals-and-sandbox"
        | "--skip-permissions" => Some(
            "agents do not ask for permission by default (`--permission-mode auto`); see `ralph permissions --help`",
        ),
        "--approval-mode" | "--ask-for-approval" | "--permissions" => Some(
            "`--permission-mode ask` asks you, `restricted` denies what no rule allows, `readonly` only allows reading",
        ),
        "--allowedTools" | "--allowed-tools" | "--disallowedTools" | "--disallowed-tools" => {
            Some("use rules: \"permissions\": {\"allow\": [\"Bash(npm run *)\"]} in .ralph/config.json")
        }
        "--detach" | "--background" | "--daemon" => Some(
            "a run goes on without its screen: `q`, then `d`, leaves it; `nohup ralph --headless &` starts one without a terminal",
        ),
        "--concurrency" | "--max-parallel" | "--parallel" | "--workers" => {
            Some("`ralph many PLAN... --jobs N` runs N plans at a time")
        }
        _ => None,
    }
}

/// The flag that the subcommand does not know but `ralph` does.
fn misplaced(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let known = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        long.as_ref() == Some(flag) || short.as_ref() == Some(flag)
    };
    let is_of_ralph = error.kind() == ErrorKind::UnknownArgument && Args::command().get_arguments().any(known);
    is_of_ralph.then(|| flag.clone())
}

/// The typed command, `ralph` or `ralph NAME`.
fn command_of(args: &[OsString]) -> String {
    let command = Args::command();
    let named = args
        .iter()
        .filter_map(|arg| arg.to_str())
        .find(|word| command.find_subcommand(word).is_some());
    named.map_or_else(|| "ralph".to_owned(), |name| format!("ralph {name}"))
}

fn usage_failure(text: &str, mut command: String) -> Failure {
    let mut paragraphs = text.split("\n\n");
    let what = joined(paragraphs.next().unwrap_or_default());
    let what = what.replace("invalid digit found in string", "expected a whole number");
    let mut failure = Failure::new(FailureKind::Usage, what.strip_prefix("error: ").unwrap_or(&what));
    for paragraph in paragraphs {
        if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            command = words(usage);
            continue;
        }
        let tips = paragraph.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
        // The tip to write `-- --flag` is for a plan of that name.
        let tips = tips.filter(|tip| !tip.starts_with("to pass '-"));
        failure = failure.hints(tips.map(str::to_owned));
    }
    failure.hint(format!("see `{command} --help`"))
}

/// Joins the lines of a paragraph.
fn joined(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The command and its subcommands, without arguments.
fn words(usage: &str) -> String {
    let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    usage
        .split_whitespace()
        .take_while(is_word)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_flag_is_one_line_with_the_right_one_as_hint() {
        let text = "error: unexpected argument '--max-tiem' found\n\n  tip: a similar argument exists: '--max-time'\n\n\
                    Usage: ralph --max-time <TIME>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            usage_failure(text, "ralph".to_owned()).to_string(),
            "error: unexpected argument '--max-tiem' found\nhint: a similar argument exists: '--max-time'\n\
             hint: see `ralph --help`"
        );
    }

    #[cfg(feature = "batch")]
    #[test]
    fn an_unknown_flag_is_not_taken_for_the_name_of_a_plan() {
        let args = ["ralph", "many", "--frobnicate"].map(OsString::from);
        let error = super::super::help::command().try_get_matches_from(&args).unwrap_err();
        assert_eq!(
            failure(&error, &args).to_string(),
            "error: unexpected argument '--frobnicate' found\nhint: see `ralph many --help`"
        );
    }

    #[test]
    fn an_option_of_ralph_behind_a_command_is_told_its_place() {
        let typed = |words: &[&str]| {
            let args: Vec<OsString> = words.iter().map(OsString::from).collect();
            let error = super::super::help::command().try_get_matches_from(&args).unwrap_err();
            failure(&error, &args).to_string()
        };
        assert_eq!(
            typed(&["ralph", "import", "spec.md", "-a", "codex"]),
            "error: unexpected argument '-a' found\nhint: `-a` is an option of `ralph`: type it before `import`\n\
             hint: see `ralph import --help`"
        );
        assert!(typed(&["ralph", "plan", "check", "--max-time=8h"]).contains("type it before `plan`"));
        assert!(!typed(&["ralph", "--max-tiem", "8h"]).contains("before"));
    }

    #[test]
    fn json_is_had_by_either_of_its_flags() {
        let meant = |typed: &str| {
            let args: Vec<OsString> = typed.split(' ').map(OsString::from).collect();
            let error = super::super::help::command().try_get_matches_from(&args).unwrap_err();
            let meant = with_other_format(&error, &args)?;
            let words: Vec<_> = meant.iter().map(|arg| arg.to_string_lossy()).collect();
            Some(words.join(" "))
        };
        assert_eq!(
            meant("ralph status --format json").as_deref(),
            Some("ralph status --json")
        );
        assert_eq!(meant("ralph asks --format=json").as_deref(), Some("ralph asks --json"));
        assert_eq!(
            meant("ralph report -1 --json").as_deref(),
            Some("ralph report -1 --format json")
        );
        assert_eq!(
            meant("ralph doctor --json").as_deref(),
            Some("ralph doctor --format json")
        );
        assert_eq!(meant("ralph status --format xml"), None);
    }

    #[test]
    fn what_agents_call_it_is_told_in_ralphs_words() {
        for (flag, hint) in [
            (
                "--yolo",
                "do not ask for permission by default (`--permission-mode auto`)",
            ),
            (
                "--full-auto",
                "do not ask for permission by default (`--permission-mode auto`)",
            ),
            (
                "--dangerously-skip-permissions",
                "do not ask for permission by default (`--permission-mode auto`)",
            ),
            ("--approval-mode=yolo", "`--permission-mode ask`"),
            ("--allowedTools", "\"permissions\""),
            ("--parallel=4", "--jobs N"),
            ("--calls=50", "`ralph --calls-per-hour 50`"),
            ("--status", "`ralph status`"),
            ("--reset-circuit", "`ralph reset-circuit`"),
            ("--timeout=20", "`ralph --iteration-timeout 20m`"),
            ("--detach", "`q`, then `d`, leaves it"),
        ] {
            let args: Vec<OsString> = ["ralph", flag].iter().map(OsString::from).collect();
            let error = super::super::help::command().try_get_matches_from(&args).unwrap_err();
            let text = failure(&error, &args).to_string();
            assert!(text.contains(hint) && !text.contains("similar"), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_on_the_line_and_the_help_is_that_of_the_subcommand() {
        let text = "error: the following required arguments were not provided:\n  <TEXT>...\n\n\
                    Usage: ralph steer <TEXT>...\n\nFor more information, try '--help'.\n";
        assert_eq!(
            usage_failure(text, "ralph".to_owned()).to_string(),
            "error: the following required arguments were not provided: <TEXT>...\n\
             hint: see `ralph steer --help`"
        );
    }
}
