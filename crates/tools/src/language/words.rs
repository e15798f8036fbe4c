//! Results of language servers as text for an agent: a line for each place, in the format of compilers.

use std::fmt::Write as _;

use ralph_core::notices::counted;

use super::{
    ChangedFile, Diagnostic, DiagnosticSeverity, Indexing, LanguageAnswer, OutlineItem, QueryError, Results,
    SourceLocation,
};

/// Maximum bytes of an answer.
const ANSWER_BYTES: usize = 24 * 1024;

/// Renders a result.
pub fn found(found: &LanguageAnswer) -> String {
    let text = match found {
        LanguageAnswer::Definitions(told) => list(told, "No definition found.", place),
        LanguageAnswer::Matches(told) => list(told, "No match.", place),
        LanguageAnswer::References(told) => list(told, "No references found.", place),
        LanguageAnswer::Hover { text, still } => {
            let text = if text.trim().is_empty() {
                "No information about this position."
            } else {
                text.trim()
            };
            format!("{text}\n{}", still.as_ref().map_or_else(String::new, still_going))
        }
        LanguageAnswer::Outline(told) => list(told, "No symbols in this file.", |item| outline(item, false)),
        LanguageAnswer::Symbols(told) => list(told, "No symbol of that name.", |item| outline(item, true)),
        LanguageAnswer::Diagnostics(told) => list(told, "No errors and no warnings.", message),
        LanguageAnswer::Edits { files, applied } => edits(files, *applied),
    };
    cut(text)
}

fn list<T>(told: &Results<T>, nothing: &str, line: impl Fn(&T) -> String) -> String {
    let mut text: String = told.items.iter().map(|item| line(item) + "\n").collect();
    if told.items.is_empty() {
        text = format!("{nothing}\n");
    }
    if told.more > 0 {
        _ = writeln!(text, "… and {} more", told.more);
    }
    if let Some(still) = &told.indexing {
        text.push_str(&still_going(still));
    }
    text
}

fn still_going(still: &Indexing) -> String {
    let doing = still
        .doing
        .as_ref()
        .map_or_else(String::new, |doing| format!(" ({doing})"));
    format!(
        "{} is still indexing{doing}: there may be more; ask again later.\n",
        still.server
    )
}

fn place(place: &SourceLocation) -> String {
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

fn message(message: &Diagnostic) -> String {
    let severity = match message.severity {
        DiagnosticSeverity::Error => "error",
        DiagnosticSeverity::Warning => "warning",
        DiagnosticSeverity::Information => "information",
        DiagnosticSeverity::Hint => "hint",
    };
    let source = match message.source.trim() {
        "" => String::new(),
        source => format!(" ({source})"),
    };
    let SourceLocation { path, line, column, .. } = &message.place;
    let text = message.text.trim().replace('\n', "\n    ");
    format!("{path}:{line}:{column}: {severity}: {text}{source}")
}

fn edits(files: &[ChangedFile], applied: bool) -> String {
    let places: usize = files.iter().map(|file| file.places).sum();
    let what = format!(
        "{} in {}",
        counted(places as u64, "place"),
        counted(files.len() as u64, "file")
    );
    let mut text = match applied {
        true => format!("Changed {what}:\n"),
        false => format!("Nothing is changed yet. This would change {what}; {{\"apply\": true}} makes the changes:\n"),
    };
    for file in files {
        for line in &file.lines {
            _ = writeln!(text, "{}:{}\n- {}\n+ {}", file.path, line.line, line.before, line.after);
        }
        if file.lines.len() < file.places {
            _ = writeln!(text, "{}: {} in total", file.path, counted(file.places as u64, "place"));
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
        text.push_str("\n… the rest is left out: narrow the request\n");
    }
    text
}

/// Why there is no answer, and what to ask instead.
pub fn no_answer(why: &QueryError) -> String {
    match why {
        QueryError::Outside { file } => format!("`{file}` is not in the project"),
        QueryError::Unreadable { file, why } => format!("`{file}` cannot be read: {why}"),
        QueryError::NoServer { file, known } if known.is_empty() => {
            format!("no language server is installed for `{file}`")
        }
        QueryError::NoServer { file, known } => {
            format!(
                "no language server is installed for `{file}`; there is one for files with: {}",
                known.join(", ")
            )
        }
        QueryError::NoLine { file, lines } => {
            format!("`{file}` has only {} (numbered from 1)", counted(*lines as u64, "line"))
        }
        QueryError::NoColumn { file, line, columns } => format!(
            "line {line} of `{file}` has only {} (columns are numbered from 1); `symbol` takes a name instead",
            counted(*columns as u64, "character")
        ),
        QueryError::NoPlace => {
            "give the position on the line: `symbol`, a name as written there, or `column`".to_owned()
        }
        QueryError::NoSymbol {
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
        QueryError::NoQuestion => "give a `file`, or the `name` of a symbol to look for in the project".to_owned(),
        QueryError::NoPattern => "`pattern` is empty: write code, with $A for what may differ".to_owned(),
        QueryError::TooManyMatches => {
            "there are too many matches to change at once: nothing was changed; give a `path`".to_owned()
        }
        QueryError::NotStarted { server, why } => format!("`{server}` does not start: {why}"),
        QueryError::GaveUp { server, why } => {
            format!("`{server}` ended twice and is not started again in this run ({why}): continue without it")
        }
        QueryError::Ended { server, why } => format!("`{server}` ended during the request ({why}): ask again"),
        QueryError::Late {
            still: Indexing {
                server,
                doing: Some(doing),
            },
            ..
        } => {
            format!("`{server}` is still indexing ({doing}): ask again later")
        }
        QueryError::Late { still, .. } => format!(
            "`{}` did not answer in time and continues: ask again later",
            still.server
        ),
        QueryError::Unsupported { server } => format!("`{server}` does not support this request: use your own tools"),
        QueryError::Refused { server, why } => format!("`{server}` refuses: {why}"),
        QueryError::Garbled { server, what } => format!("`{server}` answered {what}; nothing was changed"),
        QueryError::NoEdits => "there is nothing to change".to_owned(),
        QueryError::MovesFiles { server } => {
            format!("`{server}` would move files for this, which is not supported: nothing was changed; rename by hand")
        }
        QueryError::EditsOutside { path } => {
            format!("this would change `{path}` outside of the project: nothing was changed")
        }
        QueryError::EditsOverlap { path } => {
            format!("the edits of `{path}` contradict each other: nothing was changed")
        }
        QueryError::EditsDenied { path } => format!(
            "the user's rules require permission to edit `{path}`: nothing was changed; edit with your own tools, which request it"
        ),
        QueryError::ChangedMeanwhile { path } => format!("`{path}` changed meanwhile: nothing was changed; ask again"),
        QueryError::NotWritten { path, why } => format!("`{path}` cannot be written: {why}; nothing was changed"),
        QueryError::TooManyFiles { files, most } => {
            format!("this would change more than {files} files; the maximum is {most}: nothing was changed")
        }
        QueryError::Busy { most } => format!("{most} requests are open already: ask again after one is answered"),
        QueryError::Closed => "the run is over".to_owned(),
    }
}

/// The answer if a query takes longer than a call may.
pub fn still_running() -> &'static str {
    "The request takes longer than a call may and continues: ask again later."
}
