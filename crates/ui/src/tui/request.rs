//! The full request of an agent in rows: the command, the change or the questions, with place and reason.

use std::ops::Range;

use ralph_core::event::{Ask, Question};
use ralph_text::{one_line, sanitized};
use ralph_words::{changed_tests_are_cut, counted};

use super::{
    model::{ChoiceSelection, are_marked, choices},
    pen::{flowed, wrapped},
    shell,
    theme::TextRole,
};

/// A line of pieces.
pub(super) type RequestLine = Vec<(String, TextRole)>;

/// The command or the change, with place and reason.
pub(super) fn rows(ask: &Ask, room: usize) -> Vec<RequestLine> {
    let request = &ask.request;
    if !request.questions.is_empty() {
        return questions(&request.questions, None, room).0;
    }
    let mut rows = Vec::new();
    let what = match (&request.command, &request.url, &request.diff) {
        (Some(command), ..) => {
            rows.extend(flowed(&shell::coloured(&shown(command)), room));
            command
        }
        (None, Some(url), _) => {
            rows.extend(flowed(&[(shown(url), TextRole::Strong)], room));
            url
        }
        (None, None, Some(patch)) => {
            rows.push(vec![(one_line(&request.title), TextRole::Strong)]);
            for line in shown(patch).lines() {
                let left_out = line
                    .strip_prefix("[… ")
                    .and_then(|line| line.strip_suffix(']')?.parse::<u64>().ok());
                rows.extend(match left_out {
                    Some(more) => flowed(
                        &[(format!("… and {}", counted(more, "more line")), TextRole::Wait)],
                        room,
                    ),
                    None => flowed(&[(line.to_owned(), role_of_line(line))], room),
                });
            }
            &request.title
        }
        (None, None, None) => {
            rows.extend(flowed(&[(shown(&request.title), TextRole::Strong)], room));
            &request.title
        }
    };
    // The title often has the path.
    let paths = request.paths.iter().filter(|path| !what.contains(path.as_str()));
    rows.extend(paths.flat_map(|path| flowed(&[(one_line(path), TextRole::Plain)], room)));
    if let Some(reason) = &request.reason {
        rows.extend(paragraph(&one_line(reason), TextRole::Dim, room));
    }
    let notes = [
        ask.cut.then(|| match ask.is_about_tests() {
            true => changed_tests_are_cut().to_owned(),
            false => "Truncated: the request is longer than a record.".to_owned(),
        }),
        (!ask.offer.asked_by.is_empty()).then(|| format!("matches your rule {}", ask.offer.asked_by.join(", "))),
    ];
    for note in notes.into_iter().flatten() {
        rows.extend(paragraph(&one_line(&note), TextRole::Wait, room));
    }
    rows
}

/// The questions with their choices, and the range of rows of each choice. The range of a first choice includes its
/// question. With `choosing`, the cursor and the selection are marked.
pub(super) fn questions(
    questions: &[Question],
    choosing: Option<&ChoiceSelection>,
    room: usize,
) -> (Vec<RequestLine>, Vec<Range<usize>>) {
    let (mut rows, mut places) = (Vec::new(), Vec::new());
    let all = choices(questions);
    let pointed = choosing.and_then(|choosing| all.get(choosing.cursor.min(all.len().saturating_sub(1))));
    for (at, question) in questions.iter().enumerate() {
        let mut start = rows.len();
        rows.extend(lines(&question.text, room));
        for (index, choice) in question.choices.iter().enumerate() {
            let here = (at, index);
            let is_pointed = pointed == Some(&here);
            let pointer = match (choosing, is_pointed) {
                (None, _) => "",
                (Some(_), true) => "> ",
                (Some(_), false) => "  ",
            };
            let is_taken = choosing.is_some_and(|choosing| choosing.taken.contains(&here));
            let mark = match (question.multiple, is_taken) {
                _ if choosing.is_none() || !are_marked(questions) => "",
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
                (false, true) => "(x) ",
                (false, false) => "( ) ",
            };
            let description = match choice.description.as_str() {
                "" => String::new(),
                description => format!("  {}", one_line(description)),
            };
            let label = if is_pointed { TextRole::Chosen } else { TextRole::Plain };
            let head = [
                (pointer.to_owned(), TextRole::User),
                (mark.to_owned(), if is_taken { TextRole::Good } else { TextRole::Dim }),
                (format!("{:>2} ", index + 1), TextRole::Key),
            ];
            let words = [(one_line(&choice.label), label), (description, TextRole::Dim)];
            rows.extend(hanging(&head, &words, room));
            places.push(start..rows.len());
            start = rows.len();
        }
    }
    (rows, places)
}

/// A question that blocks a task.
pub(super) fn block(task: Option<&str>, question: &str, room: usize) -> Vec<RequestLine> {
    let task = task.map(|task| format!("blocks: {}", one_line(task)));
    let mut rows: Vec<RequestLine> = lines(question, room).collect();
    rows.extend(task.iter().flat_map(|task| paragraph(task, TextRole::Dim, room)));
    rows
}

/// The text of a question, wrapped between words.
fn lines(text: &str, room: usize) -> impl Iterator<Item = RequestLine> {
    let text = shown(text);
    let lines: Vec<RequestLine> = text
        .lines()
        .flat_map(|line| paragraph(line, TextRole::Strong, room))
        .collect();
    lines.into_iter()
}

/// Words beside a head, with a hanging indent.
fn hanging(head: &[(String, TextRole)], words: &[(String, TextRole)], room: usize) -> Vec<RequestLine> {
    let width: usize = head.iter().map(|(text, _)| text.len()).sum();
    let mut rows = flowed(words, room.saturating_sub(width).max(2));
    for (at, row) in rows.iter_mut().enumerate() {
        let before = match at {
            0 => head.to_vec(),
            _ => vec![(" ".repeat(width), TextRole::Plain)],
        };
        row.splice(0..0, before);
    }
    rows
}

/// Wraps a text into rows.
pub(super) fn paragraph(text: &str, role: TextRole, room: usize) -> impl Iterator<Item = RequestLine> {
    wrapped(text, room).into_iter().map(move |line| vec![(line, role)])
}

/// Sanitizes a text of several lines.
pub(super) fn shown(text: &str) -> String {
    sanitized(text).replace('\t', "    ")
}

/// The role of a patch line without context.
fn role_of_line(line: &str) -> TextRole {
    if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") {
        TextRole::Strong
    } else if line.starts_with('+') {
        TextRole::Added
    } else if line.starts_with('-') {
        TextRole::Removed
    } else if line.starts_with("@@") {
        TextRole::Hunk
    } else if line.starts_with("index ") || line.starts_with("new file") || line.starts_with("deleted file") {
        TextRole::Dim
    } else {
        TextRole::Plain
    }
}
