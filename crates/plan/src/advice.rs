//! Finds mistakes in a plan and tasks that are likely to cause trouble.
//!
//! A mistake is a line that was meant as a task but is not parsed as one. A warning is about an open task that is
//! probably too large for one session, or whose completion cannot be determined. The rules are few and conservative,
//! since hand-written plans are rarely wrong; the guide on plans lists them.
//! by hand is rarely wrong; they are in the guide on plans.

use pulldown_cmark::{Event, Options, Parser, Tag};
use ralph_core::event::{PlanSnapshot, PlanTask};
use ralph_text::{LineIndex, Position};

use super::{kind::PlanKind, reading::ParsedPlan};

/// Maximum number of words of a task. A longer one is a paragraph.
const WORDS: usize = 60;
/// This many joining words suggest several tasks in one.
const JOINS: usize = 3;
/// Words that join what could be separate tasks.
const JOINING: [&str; 4] = ["and", "then", "also", "plus"];
/// Phrases that leave the extent of the work open, anywhere in a task.
const OPEN_ENDED: [&str; 10] = [
    "etc",
    "and so on",
    "and more",
    "stuff",
    "as needed",
    "if necessary",
    "various things",
    "everything else",
    "tbd",
    "???",
];
/// Verbs without an end of their own, if hardly any words follow.
const ENDLESS: [&str; 8] = [
    "improve", "enhance", "optimize", "optimise", "polish", "refactor", "tidy", "clean",
];
/// Maximum number of words, including the verb, that are too few to give such a verb an end.
const FEW_WORDS: usize = 4;

/// The severity of an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdviceSeverity {
    Mistake,
    Warning,
}

/// A mistake or warning with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAdvice {
    pub severity: AdviceSeverity,
    pub position: Position,
    /// The name of the rule, for programs.
    pub rule: &'static str,
    pub text: String,
    /// The suggested correction.
    pub hint: &'static str,
}

/// Returns the mistakes and warnings about a plan, in the order of its lines.
pub fn advice(kind: PlanKind, text: &str, reading: &ParsedPlan) -> Vec<PlanAdvice> {
    let tasks = &reading.plan;
    let lines: Vec<&str> = lines(text);
    let mut all = match kind {
        PlanKind::Markdown => almost_tasks(text, &lines, tasks),
        PlanKind::Prd => Vec::new(),
    };
    all.extend(reading.mistakes.iter().map(|mistake| PlanAdvice {
        severity: AdviceSeverity::Mistake,
        position: mistake.position,
        rule: "settings",
        text: mistake.what.clone(),
        hint: "braces that are not settings go in backticks: `{x=1}`",
    }));
    for (at, task) in tasks.tasks.iter().enumerate().filter(|(_, task)| !task.done) {
        let line = usize::try_from(task.line).unwrap_or(usize::MAX).saturating_sub(1);
        let source = lines.get(line).copied().unwrap_or_default();
        all.extend(task_warnings(task, source));
        let twin = tasks.tasks[..at].iter().find(|earlier| earlier.text == task.text);
        all.extend(twin.map(|twin| {
            let text = format!("the same task is on line {}", twin.line);
            let hint = "say what is different about it, or remove one of them";
            warning(task, source, "", "repeated", text, hint)
        }));
    }
    all.sort_by_key(|advice| advice.position);
    all
}

/// The lines of a text. Lines end in LF, CR LF or CR.
fn lines(text: &str) -> Vec<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unix = text.split('\n').flat_map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        line.split('\r')
    });
    unix.collect()
}

/// The warnings about an open task.
fn task_warnings(task: &PlanTask, source: &str) -> Vec<PlanAdvice> {
    let text = task.text.to_lowercase();
    let words: Vec<&str> = text
        .split(|character: char| !(character.is_alphanumeric() || matches!(character, '\'' | '-' | '?')))
        .filter(|word| !word.is_empty())
        .collect();
    let joins = words.iter().filter(|word| JOINING.contains(word)).count() + text.matches(';').count();
    let mut all = Vec::new();
    if words.len() > WORDS {
        let said = format!("{} words, and {WORDS} are a lot for one session", words.len());
        let hint = "split it, or put what explains it into notes below the task";
        all.push(warning(task, source, "", "long", said, hint));
    } else if joins >= JOINS {
        let said = format!("it looks like {} tasks in one", joins + 1);
        all.push(warning(
            task,
            source,
            "",
            "several",
            said,
            "make each of them a task of its own",
        ));
    }
    let padded = format!(" {} ", words.join(" "));
    if let Some(vague) = OPEN_ENDED.iter().find(|vague| padded.contains(&format!(" {vague} "))) {
        let said = format!("`{vague}` leaves open when it is done");
        all.push(warning(
            task,
            source,
            vague,
            "open-ended",
            said,
            "name what else is meant, or leave it out",
        ));
    } else if words.len() <= FEW_WORDS
        && let Some(verb) = words.first().filter(|first| ENDLESS.contains(first))
    {
        let said = format!("`{verb}` alone has no clear end");
        let hint = "say what must be true when it is done, such as a passing test or a number";
        all.push(warning(task, source, verb, "vague", said, hint));
    }
    all
}

/// Creates a warning at `word` in the task's line, or else at the beginning of its text.
fn warning(
    task: &PlanTask,
    source: &str,
    word: &str,
    rule: &'static str,
    text: String,
    hint: &'static str,
) -> PlanAdvice {
    let indent = source.len() - source.trim_start().len();
    let place = match word {
        "" => None,
        word => source.to_lowercase().find(word),
    };
    let at = place.unwrap_or(indent);
    let before = source.get(..at).unwrap_or_default().chars().count();
    PlanAdvice {
        severity: AdviceSeverity::Warning,
        position: Position {
            line: task.line,
            column: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
        },
        rule,
        text,
        hint,
    }
}

/// Finds lines outside of code, quotes and comments that look like tasks but are not parsed as such.
fn almost_tasks(text: &str, lines: &[&str], tasks: &PlanSnapshot) -> Vec<PlanAdvice> {
    let quoted = quoted_lines(text, lines.len());
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        if quoted[at] || tasks.tasks.iter().any(|task| task.line == number) {
            continue;
        }
        let Some((rule, said, hint)) = almost_a_task(line.trim_start()) else {
            continue;
        };
        let column = line.chars().take_while(|character| character.is_whitespace()).count() + 1;
        all.push(PlanAdvice {
            severity: AdviceSeverity::Mistake,
            position: Position {
                line: number,
                column: u32::try_from(column).unwrap_or(u32::MAX),
            },
            rule,
            text: said.to_owned(),
            hint,
        });
    }
    all
}

fn almost_a_task(line: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let is_box = |text: &str| {
        let inside = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        inside.is_some_and(|(inside, after)| {
            matches!(inside.trim(), "" | "x" | "X") && !inside.is_empty() && !after.starts_with(['(', '[', ':'])
        })
    };
    if is_box(line) {
        return Some((
            "no-marker",
            "a box without a list marker is not a task",
            "write `- [ ] …`",
        ));
    }
    let after_marker = line.strip_prefix(['-', '*', '+'])?;
    if is_box(after_marker) {
        return Some((
            "no-space",
            "there is no space between the list marker and the box",
            "write `- [ ] …`",
        ));
    }
    let content = after_marker.strip_prefix(' ')?.trim_start();
    if is_box(content) {
        let text = content.split_once(']').map_or("", |(_, after)| after);
        return match text.trim() {
            "" => Some((
                "empty",
                "a box without text is not a task",
                "say what is to be done, or remove it",
            )),
            _ => None,
        };
    }
    let (inside, after) = content.strip_prefix('[')?.split_once(']')?;
    let is_sign = matches!(
        inside.trim(),
        "✓" | "✔" | "v" | "V" | "*" | "o" | "O" | "_" | "y" | "Y" | "done"
    );
    (is_sign && after.starts_with(' ')).then_some((
        "odd-box",
        "only `[ ]` and `[x]` are read as boxes",
        "write `- [x] …` if it is done, and `- [ ] …` if it is not",
    ))
}

/// Marks the lines that are in code, in a quote or in a comment.
fn quoted_lines(text: &str, count: usize) -> Vec<bool> {
    let mut quoted = vec![false; count];
    let places = LineIndex::new(text);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        let is_quoted = match event {
            Event::Start(Tag::CodeBlock(_) | Tag::BlockQuote(_) | Tag::HtmlBlock) | Event::Html(_) => true,
            Event::InlineHtml(html) => html.starts_with("<!--"),
            _ => false,
        };
        if !is_quoted || range.is_empty() {
            continue;
        }
        let (first, last) = (places.line_of(range.start), places.line_of(range.end - 1));
        for line in first..=last {
            if let Some(line) = quoted.get_mut(line as usize - 1) {
                *line = true;
            }
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;

    fn said(text: &str) -> Vec<String> {
        let reading = read_bytes(PlanKind::Markdown, text.as_bytes()).unwrap();
        advice(PlanKind::Markdown, text, &reading)
            .iter()
            .map(|advice| {
                let Position { line, column } = advice.position;
                let sign = if advice.severity == AdviceSeverity::Mistake {
                    "!"
                } else {
                    ""
                };
                format!("{line}:{column} {sign}{}", advice.rule)
            })
            .collect()
    }

    #[test]
    fn a_plan_as_people_write_it_is_right() {
        let text = "# Plan\n\n- [ ] Add a parser for the configuration and test it with broken input\n  - [x] Read a line\n\
                    - [ ] Refactor the parser so that no function is longer than a screen\n- [ ] Clean up\n  after the tests\n\n\
                    [x](https://example.org) and [ ]: no task\n\n```\n[ ] code\n-[ ] code\n```\n\n> [ ] quote\n\n<!--\n[ ] comment\n-->\n";
        assert_eq!(said(text), [] as [&str; 0]);
    }

    #[test]
    fn what_looks_like_a_task_and_is_none_is_a_mistake_with_its_place() {
        let text = "- [ ] one\n\n[ ] two\n\n-[ ] three\n\n  *[x] four\n\n- [✓] five\n- [ ]\n- [P1] six\n- [link](x)\n";
        assert_eq!(
            said(text),
            [
                "3:1 !no-marker",
                "5:1 !no-space",
                "7:3 !no-space",
                "9:1 !odd-box",
                "10:1 !empty"
            ]
        );
        assert_eq!(said("\u{feff}- [ ] one\r\n\r\n-[ ] two\r\n"), ["3:1 !no-space"]);
    }

    #[test]
    fn open_tasks_that_are_too_big_or_too_vague_are_named() {
        let long = "word ".repeat(WORDS + 1);
        let text = format!(
            "- [ ] {long}\n- [ ] Parse it and print it and sort it and send it\n- [ ] Improve performance\n\
             - [ ] Fix the tests etc.\n- [ ] Fix the tests etc.\n- [x] Improve it, and so on\n"
        );
        assert_eq!(
            said(&text),
            [
                "1:1 long",
                "2:1 several",
                "3:7 vague",
                "4:21 open-ended",
                "5:1 repeated",
                "5:21 open-ended"
            ]
        );
    }
}
