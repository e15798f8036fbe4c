//! `ralph comment`: comments on lines of the work. They are drafts until they are sent in one message.

use std::{fmt::Write as _, path::Path};

use ralph_core::{
    event::{COMMENTED_LINES, CommentPlace, SteeringKind, UserCommand},
    run::{Comment, CommentState, RunView},
};
use ralph_driver::{CommentOutcome, change_comments};
use ralph_git::anchor::{locate, place as place_of, source_lines};
use ralph_state::{
    control::{self, ControlError, ControlRequest},
    store::journal::read_view,
};
use ralph_system::{files::read_bytes, paths::ProjectPaths};
use ralph_text::{
    console::{print, print_json},
    one_line,
};
use ralph_words::{command_refusal_in_words, comment_author_in_words, comment_state_in_words};

use crate::{
    app::ProjectPlace,
    error::{Failure, FailureKind},
};

use super::{args::Args, comment_args::CommentArgs, control::show, run::place};

/// Most bytes of a commented file.
const FILE_CAP_BYTES: u64 = 4 << 20;
const EXAMPLE: &str = "ralph comment src/parser.rs:12 \"This loses the last line\"";

pub(super) fn run(args: &Args, wish: &CommentArgs) -> Result<u8, Failure> {
    let place = place(args)?;
    let text = |words: &[String]| words.join(" ").trim().to_owned();
    let numbered = |comment: u32, command: fn(u32) -> UserCommand| {
        if !wish.words.is_empty() {
            let what = format!("no text belongs there: {}", one_line(&wish.words.join(" ")));
            return Err(Failure::new(FailureKind::Usage, what).hint(EXAMPLE));
        }
        change(&place.paths, command(comment))
    };
    if let Some(comment) = wish.edit {
        let text = text(&wish.words);
        return change(&place.paths, UserCommand::EditComment { comment, text });
    }
    if let Some(comment) = wish.withdraw {
        return numbered(comment, |comment| UserCommand::WithdrawComment { comment });
    }
    if let Some(comment) = wish.resolve {
        return numbered(comment, |comment| UserCommand::ResolveComment { comment });
    }
    match &wish.words[..] {
        [] if wish.send => send(&place.paths, wish.now),
        [] => list(&place, wish),
        [named, words @ ..] => {
            let command = UserCommand::WriteComment {
                place: Box::new(commented(&place.project, named)?),
                text: text(words),
            };
            let written = change(&place.paths, command)?;
            match wish.send {
                true => send(&place.paths, wish.now),
                false => Ok(written),
            }
        }
    }
}

fn send(paths: &ProjectPaths, now: bool) -> Result<u8, Failure> {
    let kind = if now { SteeringKind::Now } else { SteeringKind::Next };
    change(paths, UserCommand::SendComments { kind })
}

/// Carries out a command in the running loop, or in the journal of the last run.
fn change(paths: &ProjectPaths, command: UserCommand) -> Result<u8, Failure> {
    if let Some(refusal) = command.refusal() {
        return Err(Failure::new(FailureKind::Usage, command_refusal_in_words(&refusal)).hint(EXAMPLE));
    }
    let request = ControlRequest::Command {
        command: command.clone(),
    };
    match control::ask(&paths.socket(), &request) {
        Err(ControlError::NotRunning) => {}
        reply => return show(reply?),
    }
    match change_comments(paths, &command)? {
        CommentOutcome::Done { text } => {
            print(&format!("{text}\n"));
            Ok(0)
        }
        CommentOutcome::Refused { why } => Err(Failure::new(FailureKind::Failed, why)),
        CommentOutcome::NoRun => Err(no_run()),
    }
}

fn no_run() -> Failure {
    Failure::new(
        FailureKind::Failed,
        "no runs in this project yet, so there is no work to comment on",
    )
    .hint("start one with `ralph`")
}

/// Reads the lines named by `FILE:LINE` or `FILE:FIRST-LAST` as they are now.
fn commented(project: &Path, named: &str) -> Result<CommentPlace, Failure> {
    let usage = |what: String| Failure::new(FailureKind::Usage, what).hint(EXAMPLE);
    let parsed = named.rsplit_once(':').and_then(|(file, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some((file, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    let Some((file, first, last)) = parsed.filter(|(file, ..)| !file.is_empty()) else {
        return Err(usage(format!("`{}` names no line: write FILE:LINE", one_line(named))));
    };
    let wrong = |why: String| Failure::new(FailureKind::Usage, format!("{}: {why}", one_line(file)));
    let path = project.join(file);
    let path = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
    let Ok(below) = path.strip_prefix(project) else {
        return Err(wrong("it is not in this project".to_owned()));
    };
    let Some(below) = below.to_str() else {
        return Err(wrong("its path is not UTF-8".to_owned()));
    };
    let bytes = read_bytes(&path, FILE_CAP_BYTES).map_err(|error| wrong(error.to_string()))?;
    let lines = source_lines(&String::from_utf8_lossy(&bytes));
    let count = usize::try_from(last).unwrap_or(0) + 1;
    let count = count.saturating_sub(usize::try_from(first).unwrap_or(usize::MAX));
    if count > COMMENTED_LINES {
        return Err(wrong(format!(
            "a comment is about {COMMENTED_LINES} lines at most, not {count}"
        )));
    }
    place_of(below, &lines, first, count)
        .ok_or_else(|| wrong(format!("it has {} lines, and no line {first} to {last}", lines.len())))
}

fn list(place: &ProjectPlace, wish: &CommentArgs) -> Result<u8, Failure> {
    let run = place.paths.latest_run().ok_or_else(no_run)?;
    let mut view = read_view(&place.paths, &run)?;
    // The user alone changes the files while no loop runs.
    if view.is_over() {
        look(&place.project, &mut view);
    }
    if wish.json {
        let json = serde_json::to_string_pretty(&view.comments.list).expect("a view has no failing serialisers");
        print_json(&format!("{json}\n"));
        return Ok(0);
    }
    if view.comments.list.is_empty() {
        print("no comments\n");
        return Ok(0);
    }
    print(&view.comments.list.iter().map(shown).collect::<String>());
    Ok(0)
}

/// Finds the lines of comments in the files as they are now.
fn look(project: &Path, view: &mut RunView) {
    for comment in view.comments.list.iter_mut().filter(|comment| !comment.resolved) {
        if let Ok(bytes) = read_bytes(&project.join(&comment.file), FILE_CAP_BYTES) {
            let lines = source_lines(&String::from_utf8_lossy(&bytes));
            (comment.line, comment.lines) = locate(&comment.place, &lines, comment.line);
        }
    }
}

/// A comment in a few lines: number, place, state, quote, text and the agent's reason.
fn shown(comment: &Comment) -> String {
    let mut text = format!(
        "{}  {}  {}\n",
        comment.number,
        comment.place_now(),
        comment_state_in_words(comment)
    );
    if let Some(by) = comment_author_in_words(comment.by) {
        _ = writeln!(text, "   {by}");
    }
    for line in &comment.place.quote {
        _ = writeln!(text, "   > {}", one_line(line));
    }
    for line in comment.text.lines() {
        _ = writeln!(text, "   {}", one_line(line));
    }
    if let Some(answer) = &comment.answer {
        _ = writeln!(
            text,
            "   the agent, in iteration {}: {}",
            answer.iteration,
            one_line(&answer.reason)
        );
    }
    if comment.state() == CommentState::Answered {
        let number = comment.number;
        _ = writeln!(
            text,
            "   `ralph comment --resolve {number}` accepts the reason; a message sends the agent back"
        );
    }
    text
}
