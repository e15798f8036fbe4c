//! `ralph blame`: shows who wrote the lines of a file.

use std::{fmt::Write as _, path::Path};

use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{print, print_coloured, print_json},
    one_line, pretty_json, sanitized, with_causes,
};
use ralph_ui::report::OutputStyle;
use unicode_width::UnicodeWidthStr;

use crate::{
    error::{Failure, FailureKind},
    review::{BlameError, BlameRequest, BlamedIteration, LineAuthor, LineBlame, blame, blame_in_words},
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
    let request = BlameRequest {
        file: path.to_owned(),
        from_root: false,
        line,
        after: None,
        include: included(args),
    };
    let lines = blame(&place.paths, request, supervisor).map_err(failure)?;
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    match (as_json, line) {
        (true, _) => print_json(&pretty_json(&lines)),
        (false, None) => print_coloured(&listed(&lines, style)),
        (false, Some(_)) => lines.iter().for_each(|line| print(&blame_in_words(file, line))),
    }
    Ok(0)
}

fn failure(error: BlameError) -> Failure {
    let kind = match error {
        BlameError::NoSuchLine { .. } => FailureKind::Usage,
        BlameError::Git(error) => return error.into(),
        BlameError::NoRepository(error) => return error.into(),
        BlameError::Scratch(_) | BlameError::NotHeld { .. } => FailureKind::Failed,
    };
    let failure = Failure::new(kind, with_causes(&error));
    match error {
        BlameError::NotHeld { .. } => {
            failure.hint("checkpoints hold files that git does not ignore, and those of `checkpoint.include`")
        }
        _ => failure,
    }
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
