//! Results of language servers as text for an agent: a line for each place, in the format of compilers.

use std::fmt::Write as _;

use ralph_tools::language::{Edited, Found, Message, NoAnswer, OutlineItem, Place, Severity, Still, Told};

use super::counted;

/// Maximum bytes of an answer.
const ANSWER_BYTES: usize = 24 * 1024;

/// Renders a result.
pub fn found(found: &Found) -> String {
    let text = match found {
        Found::Definitions(told) => list(told, "No definition found.", place),
        Found::Matches(told) => list(told, "No match.", place),
        Found::References(told) => list(told, "No references found.", place),
        Found::Hover { text, still } => {
            let text = if text.trim().is_empty() {
                "Nothing is known of this place."
            } else {
                text.trim()
            };
            format!("{text}\n{}", still.as_ref().map_or_else(String::new, still_going))
        }
        Found::Outline(told) => list(told, "No symbols in this file.", |item| outline(item, false)),
        Found::Symbols(told) => list(told, "No symbol of that name.", |item| outline(item, true)),
        Found::Diagnostics(told) => list(told, "No errors and no warnings.", message),
        Found::Edits { files, applied } => edits(files, *applied),
    };
    cut(text)
}

fn list<T>(told: &Told<T>, nothing: &str, line: impl Fn(&T) -> String) -> String {
    let mut text: String = told.items.iter().map(|item| line(item) + "\n").collect();
    if told.items.is_empty() {
        text = format!("{nothing}\n");
    }
    if told.more > 0 {
        _ = writeln!(text, "… and {} more", told.more);
    }
    if let Some(still) = &told.still {
        text.push_str(&still_going(still));
    }
    text
}

fn still_going(still: &Still) -> String {
    let doing = still
        .doing
        .as_ref()
        .map_or_else(String::new, |doing| format!(" ({doing})"));
    format!(
        "{} is still indexing{doing}: there may be more, ask again later.\n",
        still.server
    )
}

fn place(place: &Place) -> String {
    let source = place.source.as_deref().unwrap_or_default();
    format!("{}:{}:{}: {source}", place.path, place.line, place.column)
        .trim_end()
        .to_owned()
}

fn outline(item: &OutlineItem, with_file: bool) -> String {
    let indent = "  ".repeat(usize::from(item.depth));
    let detail = match item.detail.is_empty() {
        true => String::new(),
        false => format!(" · {}", item.detail),
    };
    match with_file {
        true => format!(
            "{}:{}: {} {}{detail}",
            item.place.path, item.place.line, item.kind, item.name
        ),
        false => format!("{}: {indent}{} {}{detail}", item.place.line, item.kind, item.name),
    }
}

fn message(message: &Message) -> String {
    let severity = match message.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Information => "information",
        Severity::Hint => "hint",
    };
    let source = match message.source.trim() {
        "" => String::new(),
        source => format!(" ({source})"),
    };
    let Place { path, line, column, .. } = &message.place;
    let text = message.text.trim().replace('\n', "\n    ");
    format!("{path}:{line}:{column}: {severity}: {text}{source}")
}

fn edits(files: &[Edited], applied: bool) -> String {
    let places: usize = files.iter().map(|file| file.places).sum();
    let what = format!(
        "{} in {}",
        counted(places as u64, "place"),
        counted(files.len() as u64, "file")
    );
    let mut text = match applied {
        true => format!("Changed {what}:\n"),
        false => format!("Nothing is changed yet. This would change {what}; with {{\"apply\": true}} it is done:\n"),
    };
    for file in files {
        for line in &file.lines {
            _ = writeln!(text, "{}:{}\n- {}\n+ {}", file.path, line.line, line.before, line.after);
        }
        if file.lines.len() < file.places {
            _ = writeln!(text, "{}: {} in all", file.path, counted(file.places as u64, "place"));
        }
    }
    text
}

fn cut(mut text: String) -> String {
    if text.len() > ANSWER_BYTES {
        let mut end = ANSWER_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(text[..end].rfind('\n').unwrap_or(end));
        text.push_str("\n… the rest is left out: ask about less\n");
    }
    text
}

/// Why there is no answer, and what to ask instead.
pub fn no_answer(why: &NoAnswer) -> String {
    match why {
        NoAnswer::Outside { file } => format!("`{file}` is not in the project"),
        NoAnswer::Unreadable { file, why } => format!("`{file}` cannot be read: {why}"),
        NoAnswer::NoServer { file, known } if known.is_empty() => {
            format!("no language server is installed for `{file}`")
        }
        NoAnswer::NoServer { file, known } => {
            format!(
                "no language server is installed for `{file}`; there is one for files with: {}",
                known.join(", ")
            )
        }
        NoAnswer::NoLine { file, lines } => {
            format!("`{file}` has {}: lines count from 1", counted(*lines as u64, "line"))
        }
        NoAnswer::NoColumn { file, line, columns } => format!(
            "line {line} of `{file}` has {}: columns count from 1, and `symbol` takes a name instead",
            counted(*columns as u64, "character")
        ),
        NoAnswer::NoPlace => "say where on the line: `symbol`, a name as it is written there, or `column`".to_owned(),
        NoAnswer::NoSymbol {
            symbol,
            file,
            line,
            source,
            near,
        } => {
            let near: Vec<String> = near.iter().map(u32::to_string).collect();
            let near = match &near[..] {
                [] => String::new(),
                [only] => format!(" It is on line {only}."),
                lines => format!(" It is on lines {}.", lines.join(", ")),
            };
            let source = match source.trim() {
                "" => "is empty".to_owned(),
                source => format!("is `{source}`"),
            };
            format!("`{symbol}` is not on line {line} of `{file}`, which {source}.{near}")
        }
        NoAnswer::NoQuestion => "name a `file`, or the `name` of a symbol to look for in the project".to_owned(),
        NoAnswer::NoPattern => "`pattern` is empty: write code, with $A for what may differ".to_owned(),
        NoAnswer::TooManyMatches => {
            "there are more matches than are changed at once: nothing was changed, name a `path`".to_owned()
        }
        NoAnswer::NotStarted { server, why } => format!("`{server}` does not start: {why}"),
        NoAnswer::GaveUp { server, why } => {
            format!("`{server}` ended twice and is not started again in this run ({why}): go on without it")
        }
        NoAnswer::Ended { server, why } => format!("`{server}` ended while it was asked ({why}): ask again"),
        NoAnswer::Late {
            still: Still {
                server,
                doing: Some(doing),
            },
            ..
        } => {
            format!("`{server}` is still indexing ({doing}): it goes on meanwhile, ask again later")
        }
        NoAnswer::Late { still, .. } => format!(
            "`{}` has not answered in time: it goes on meanwhile, ask again later",
            still.server
        ),
        NoAnswer::Unsupported { server } => format!("`{server}` cannot tell this: look with your own tools"),
        NoAnswer::Refused { server, why } => format!("`{server}` refuses: {why}"),
        NoAnswer::Garbled { server, what } => format!("`{server}` answered {what}; nothing was changed"),
        NoAnswer::NoEdits => "there is nothing to change".to_owned(),
        NoAnswer::MovesFiles { server } => {
            format!("`{server}` would move files for this, which is not done here: nothing was changed, rename by hand")
        }
        NoAnswer::EditsOutside { path } => {
            format!("this would change `{path}`, which is not in the project: nothing was changed")
        }
        NoAnswer::EditsOverlap { path } => format!("the edits of `{path}` contradict each other: nothing was changed"),
        NoAnswer::EditsDenied { path } => format!(
            "your user's rules do not let `{path}` be edited without asking: nothing was changed; edit with your own tools, which ask"
        ),
        NoAnswer::ChangedMeanwhile { path } => format!("`{path}` changed meanwhile: nothing was changed, ask again"),
        NoAnswer::NotWritten { path, why } => format!("`{path}` cannot be written: {why}; nothing was changed"),
        NoAnswer::TooManyFiles { files, most } => {
            format!(
                "this would change more than {files} files, and at most {most} are changed at once: nothing was changed"
            )
        }
        NoAnswer::Busy { most } => format!("{most} questions are being answered already: ask again when one is"),
        NoAnswer::Closed => "the run is over".to_owned(),
    }
}

/// The answer if a query takes longer than a call may.
pub fn still_running() -> &'static str {
    "It takes longer than a call may, and goes on meanwhile: ask again later."
}
