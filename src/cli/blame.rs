//! `ralph blame`: shows who wrote the lines of a file.

use std::{fmt::Write as _, path::Path};

use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{print, print_coloured, print_json},
    one_line, pretty_json, sanitized,
};
use ralph_ui::report::OutputStyle;
use unicode_width::UnicodeWidthStr;

use crate::{
    app::{self, BlamedIteration, LineAuthor, LineBlame},
    error::{Failure, FailureKind},
    review::date_time,
    ui::{Presentation, headless::OutputFormat},
};

use super::{args::Args, restore::included, run::place};

/// Maximum columns of a line's author beside its text.
const AUTHOR_COLUMNS: usize = 48;

/// Shows who wrote `target`, which is `FILE` or `FILE:LINE`.
pub(super) fn run(args: &Args, target: &str, as_json: bool, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let (file, line) = file_and_line(target, |file| place.project.join(file).exists());
    let path = Path::new(file);
    if !place.project.join(path).is_file() {
        let why = match place.project.join(path).exists() {
            true => format!("{file}: it is not a regular file"),
            false => format!("{file}: there is no such file"),
        };
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("name a file, and a line after a colon: `ralph blame src/parser.rs:12`"));
    }
    let lines = app::blame(&place, path, line, included(args), supervisor)?;
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    match (as_json, line) {
        (true, _) => print_json(&pretty_json(&lines)),
        (false, None) => print_coloured(&listed(&lines, style)),
        (false, Some(_)) => lines.iter().for_each(|line| print(&details(file, line))),
    }
    Ok(0)
}

/// Splits `FILE:LINE`. A file whose name ends with a colon and a number is taken as it is.
fn file_and_line(target: &str, exists: impl Fn(&str) -> bool) -> (&str, Option<u32>) {
    let split = target.rsplit_once(':').filter(|_| !exists(target));
    let split = split.and_then(|(file, line)| Some((file, line.parse().ok().filter(|line| *line > 0)?)));
    split.map_or((target, None), |(file, line)| (file, Some(line)))
}

/// Formats the lines, each after its author and its number.
fn listed(lines: &[LineBlame], style: OutputStyle) -> String {
    let authors: Vec<String> = lines.iter().map(|line| cut(&author(&line.author))).collect();
    let width = authors.iter().map(|author| author.width()).max().unwrap_or(0);
    let digits = lines.last().map_or(1, |line| line.line.to_string().len());
    let mut text = String::new();
    for (line, author) in lines.iter().zip(&authors) {
        let pad = " ".repeat(width - author.width());
        let code = match line.author {
            LineAuthor::Iteration { .. } => "36",
            LineAuthor::Hand { .. } | LineAuthor::Now | LineAuthor::Commit { .. } => "2",
        };
        let author = style.paint(code, author);
        let (number, shown) = (line.line, line.text.replace('\t', "    "));
        writeln!(text, "{author}{pad}  {number:>digits$}  {}", sanitized(&shown)).expect("a string takes every write");
    }
    text
}

/// The author of a line as a few words: `1.3 codex Write the parser`, with the run before the iteration.
fn author(author: &LineAuthor) -> String {
    match author {
        LineAuthor::Iteration { iteration, .. } => {
            let task = iteration.task.as_deref().unwrap_or_default();
            let adapter = &iteration.adapter;
            one_line(&format!("{} {adapter} {task}", short_place(iteration)))
        }
        LineAuthor::Hand { number, before, .. } => format!("by hand, before {number}.{before}"),
        LineAuthor::Now => "by hand, since".to_owned(),
        LineAuthor::Commit { commit, author, .. } => one_line(&format!("{commit:.8} {author}")),
    }
}

fn short_place(iteration: &BlamedIteration) -> String {
    format!("{}.{}", iteration.number, iteration.iteration)
}

fn cut(text: &str) -> String {
    if text.width() <= AUTHOR_COLUMNS {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        if kept.width() + 2 > AUTHOR_COLUMNS {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// All that is known of a line.
fn details(file: &str, line: &LineBlame) -> String {
    let mut text = format!("{}:{}  {}\n", one_line(file), line.line, one_line(&line.text));
    let mut row = |name: &str, value: &str| {
        writeln!(text, "  {name:<9} {}", one_line(value)).expect("a string takes every write");
    };
    match &line.author {
        LineAuthor::Iteration { iteration, commit } => {
            let BlamedIteration { run, number, .. } = &**iteration;
            let n = iteration.iteration;
            let when = date_time(iteration.started_ms);
            row("written", &format!("in iteration {n} of run {number} ({run}), {when}"));
            let model = iteration.model.as_deref().map(|model| format!(", {model}"));
            row("agent", &format!("{}{}", iteration.adapter, model.unwrap_or_default()));
            row("task", iteration.task.as_deref().unwrap_or("none"));
            row("verified", &verified(iteration));
            if let Some(commit) = commit {
                row("merged", &format!("with commit {commit:.12}"));
                row("tree", &iteration.project.display().to_string());
            }
            if let Some(prompt) = &iteration.prompt {
                row("prompt", &prompt.display().to_string());
            }
            if commit.is_none() {
                row("changes", &format!("`ralph diff {n} --run {number}` shows them"));
            }
        }
        LineAuthor::Hand { run, number, before } => row(
            "written",
            &format!("by hand or by another program, before iteration {before} of run {number} ({run})"),
        ),
        LineAuthor::Now => row("written", "by hand or by another program, since the last iteration"),
        LineAuthor::Commit {
            commit,
            author,
            at_ms,
            subject,
        } => {
            row("written", &format!("by {author}, {}", date_time(*at_ms)));
            row("commit", &format!("{commit:.12} {subject}"));
        }
    }
    text
}

fn verified(iteration: &BlamedIteration) -> String {
    let Some(found) = &iteration.verified else {
        return "no: no goal has run since".to_owned();
    };
    let after = match found.iteration == iteration.iteration {
        true => "after this iteration".to_owned(),
        false => format!("after iteration {}", found.iteration),
    };
    match &found.failed[..] {
        [] => format!("{} passed {after}", found.passed.join(", ")),
        failed => format!(
            "no: {} failed {after}, and not all goals passed since",
            failed.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_after_the_last_colon() {
        let split = |target| file_and_line(target, |file| file == "odd:7");
        assert_eq!(split("src/a.rs"), ("src/a.rs", None));
        assert_eq!(split("src/a.rs:12"), ("src/a.rs", Some(12)));
        assert_eq!(split("src/a.rs:0"), ("src/a.rs:0", None));
        assert_eq!(split("odd:7"), ("odd:7", None));
        assert_eq!(split("odd:7:3"), ("odd:7", Some(3)));
    }
}
