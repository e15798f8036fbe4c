//! Finds mistakes in a plan and tasks that are likely to cause trouble.
//!
//! A mistake is a line that looks like a task and cannot be read. A warning is about an open task that is
//! probably too large for one session, or whose completion cannot be determined. The rules are few and conservative,
//! since hand-written plans are rarely wrong; the guide on plans lists them.

use std::collections::HashSet;

use ralph_core::event::{PlanTask, UnreadLine, UnreadWhy};
use ralph_text::Position;

use super::{group::shortened, kind::PlanKind, reading::ParsedPlan};

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
    // Several lines of one example are one warning.
    let is_next = |one: &UnreadLine, other: &UnreadLine| {
        one.why.is_chosen() && one.why == other.why && other.line == one.line + 1
    };
    let unread = reading.unread.chunk_by(is_next).filter_map(<[UnreadLine]>::first);
    let mut all: Vec<PlanAdvice> = unread.map(|unread| of_unread(unread, &lines)).collect();
    if kind == PlanKind::Markdown {
        all.extend(legends(&tasks.tasks, &lines));
    }
    all.extend(reading.remarks.iter().map(|remark| PlanAdvice {
        severity: AdviceSeverity::Warning,
        position: remark.position,
        rule: "no-effect",
        text: remark.what.clone(),
        hint: "use a key that ralph reads, or ignore this if it is for something else",
    }));
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
        all.extend(marked(task, source));
        if !task.steps.is_empty() {
            let said = format!(
                "`{}` is one task with {} steps",
                shortened(&task.text),
                task.steps.len()
            );
            let hint = "`{each}` at the end of the heading makes each box a task";
            all.push(warning(task, source, "", "steps", said, hint));
        }
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
    if is_placeholder(&task.text) {
        let said = "it looks like a placeholder of a template".to_owned();
        all.push(warning(
            task,
            source,
            "",
            "placeholder",
            said,
            "say what is to be done, or remove it",
        ));
    }
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

/// The finding about a line that looks like a task and cannot be read, with the right form.
fn of_unread(unread: &UnreadLine, lines: &[&str]) -> PlanAdvice {
    let (rule, said, hint) = match unread.why {
        UnreadWhy::Code => (
            "in-code",
            "a box in a block of code is an example",
            "move it out of the code if it is a task",
        ),
        UnreadWhy::Comment => (
            "in-comment",
            "a box in a comment is not a task",
            "move it out of the comment if it is one",
        ),
        UnreadWhy::Skipped => (
            "skipped",
            "the task is left out (`skip`)",
            "remove `{skip}` if it is to be done",
        ),
        UnreadWhy::Quote => (
            "in-quote",
            "a box in a quote is not a task",
            "remove the `>` if it is one",
        ),
        UnreadWhy::Table => (
            "in-table",
            "a box in a table is not a task",
            "write `- [ ] …` below the table",
        ),
        UnreadWhy::NoMarker => (
            "no-marker",
            "a box without a list marker is not a task",
            "write `- [ ] …`",
        ),
        UnreadWhy::NoSpace => (
            "no-space",
            "there is no space between the list marker and the box",
            "write `- [ ] …`",
        ),
        UnreadWhy::Indented => (
            "indented",
            "it is indented like code, in a block that is not only a list",
            "indent it by less than four spaces",
        ),
        UnreadWhy::Markup => ("in-markup", "the box is inside other markup", "write `- [ ] …`"),
        UnreadWhy::Empty => (
            "empty",
            "a box without text is not a task",
            "say what is to be done, or remove it",
        ),
        UnreadWhy::Number => (
            "number",
            "a number in brackets is a reference, not a box",
            "write `- [ ] …` if it is a task",
        ),
        UnreadWhy::Sign => (
            "sign",
            "a sign is only taken for a box where other boxes are in its list",
            "write `- [ ] …` if it is a task",
        ),
        UnreadWhy::Unclosed => (
            "unclosed",
            "code or a comment begins here and does not end; what is below was read all the same",
            "close it",
        ),
    };
    let line = lines.get(unread.line as usize - 1).copied().unwrap_or_default();
    let column = line.chars().take_while(|character| character.is_whitespace()).count() + 1;
    PlanAdvice {
        severity: match unread.why.is_chosen() {
            true => AdviceSeverity::Warning,
            false => AdviceSeverity::Mistake,
        },
        position: Position {
            line: unread.line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        },
        rule,
        text: said.to_owned(),
        hint,
    }
}

/// Texts that name a state, as lines of a legend do.
const STATES: [&str; 18] = [
    "blocked",
    "cancelled",
    "canceled",
    "complete",
    "completed",
    "deferred",
    "doing",
    "done",
    "failed",
    "finished",
    "in progress",
    "in work",
    "not started",
    "open",
    "pending",
    "skipped",
    "to do",
    "todo",
];

/// Whether a text names nothing but a state: `In progress`, `= done`.
fn is_state(text: &str) -> bool {
    let text = text.trim_matches(|character: char| !character.is_alphanumeric());
    STATES.contains(&&*text.to_lowercase())
}

/// Warns of boxes that explain what marks mean: a list of short texts, each with another mark, or of names of states.
fn legends(tasks: &[PlanTask], lines: &[&str]) -> Vec<PlanAdvice> {
    const LEGEND_WORDS: usize = 3;
    let mark = |task: &PlanTask| match (&task.mark, task.done) {
        (Some(mark), _) => mark.clone(),
        (None, done) => done.to_string(),
    };
    let is_next = |one: &PlanTask, other: &PlanTask| other.line == one.line + 1 && one.depth == other.depth;
    let lists = tasks.chunk_by(is_next);
    let legends = lists.filter(|list| {
        let marks: HashSet<String> = list.iter().map(mark).collect();
        let is_short = list
            .iter()
            .all(|task| task.text.split_whitespace().count() <= LEGEND_WORDS);
        let has_states = list.iter().all(|task| is_state(&task.text));
        (list.len() > 2 && marks.len() == list.len() && is_short) || (list.len() > 1 && marks.len() > 1 && has_states)
    });
    let open = legends.flatten().filter(|task| !task.done);
    open.map(|task| {
        let source = lines.get(task.line as usize - 1).copied().unwrap_or_default();
        let said = format!(
            "`{}` looks like a line of a legend, and is a task",
            shortened(&task.text)
        );
        warning(
            task,
            source,
            "",
            "legend",
            said,
            "write the legend as text: `[ ]` in backticks",
        )
    })
    .collect()
}

/// The tasks that carry a mark of the author's, as a warning for each.
fn marked(task: &PlanTask, source: &str) -> Option<PlanAdvice> {
    let mark = task.mark.as_deref()?;
    let said = format!("`[{mark}]` is taken as open");
    let hint = "write `[x]` if it is done, and `{skip}` at its end if it is to be left out";
    Some(warning(task, source, "", "marked", said, hint))
}

/// Whether a text is a placeholder of a template: all of it is in brackets or braces, but for a word or two before
/// double braces.
fn is_placeholder(text: &str) -> bool {
    let is_label = |before: &str| before.split_whitespace().count() <= 2;
    let has_slot = (text.split_once("{{")).is_some_and(|(before, rest)| is_label(before) && rest.ends_with("}}"));
    let pairs = [('[', ']'), ('{', '}'), ('<', '>')];
    let all_in = |(open, close): (char, char)| {
        let inside = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inside.is_some_and(|inside| !inside.trim_matches([open, close]).contains([open, close]))
    };
    has_slot || pairs.into_iter().any(all_in) || !text.contains(char::is_alphanumeric)
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
                    [x](https://example.org) and [ ]: no task\n\n> quote\n";
        assert_eq!(said(text), [] as [&str; 0]);
        let examples = format!("{text}```\n[ ] code\n-[ ] code\n```\n\n<!--\n[ ] comment\n-->\n");
        assert_eq!(said(&examples), ["13:1 in-code", "18:1 in-comment"]);
    }

    #[test]
    fn what_looks_like_a_task_and_is_none_is_a_mistake_with_its_place() {
        let text = "- [ ] one\n\n[ ] two\n\n-[ ] three\n\n  *[x] four\n\n- [✓] five\n- [ ]\n- [P1] six\n- [link](x)\n";
        assert_eq!(
            said(text),
            ["3:1 !no-marker", "5:1 !no-space", "7:3 !no-space", "10:1 !empty"]
        );
        assert_eq!(said("\u{feff}- [ ] one\r\n\r\n-[ ] two\r\n"), ["3:1 !no-space"]);
    }

    #[test]
    fn marks_legends_and_placeholders_are_warned_of() {
        let text = "### Legend\n- [ ] Not started\n- [~] In progress\n- [x] Completed\n\n## Work\n- [ ] [Add tasks here]\n- [ ] {{task}}\n- [ ] …\n\
                    - [ ] Task 1: {{what to do}}\n- [ ] Read {{name}} in a text\n- [x] Write the parser [done]\n- [ ] Write the printer\n";
        assert_eq!(
            said(text),
            [
                "2:1 legend",
                "3:1 legend",
                "3:1 marked",
                "7:1 placeholder",
                "8:1 placeholder",
                "9:1 placeholder",
                "10:1 placeholder"
            ]
        );
        // Two marks are enough where each line is the name of a state, and one mark is not.
        let states =
            "- [ ] Todo\n- [x] = done\n- [ ] Blocked\n\n- [ ] Done\n- [ ] Open\n\n- [ ] Open the file\n- [x] Done\n";
        assert_eq!(said(states), ["1:1 legend", "3:1 legend"]);
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
