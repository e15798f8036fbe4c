//! The answer of a reviewer, at the end of its last message.
//!
//! ```text
//! REVIEW: approved
//! ```
//!
//! or
//!
//! ```text
//! REVIEW: findings
//! 1. src/lexer.rs:12: what is wrong, and what would be right
//! 2. …
//! ```
//!
//! A message without such a line counts as findings, so that they reach the author, unless it is praise in another
//! form, which counts as no answer. An agent without messages has to use the form, since its last lines may be a tool's
//! output.

use ralph_core::event::{Findings, ReviewAnswer};

use super::{promise::unfenced_lines, self_report::StatusPlace};

const KEY: &str = "REVIEW:";

/// Phrases of free-form praise, in lower case.
const PRAISE: [&str; 12] = [
    "approve",
    "looks good",
    "looks fine",
    "looks correct",
    "lgtm",
    "all good",
    "well done",
    "no findings",
    "no issues",
    "no problems",
    "nothing has to change",
    "nothing to change",
];
/// Words that negate the praise that follows them.
const NEGATIONS: [&str; 5] = ["not", "n't", "cannot", "never", "n’t"];

/// Parses the answer in `text`; `None` if it has none.
pub fn review_answer(text: &str, place: StatusPlace) -> Option<ReviewAnswer> {
    let in_form = answer_in_form(text, place);
    match place {
        StatusPlace::Message => in_form.or_else(|| free_findings(text)),
        StatusPlace::LastLines => in_form,
    }
}

/// Parses free-form findings: the text before the first list, and the entries of the list.
fn free_findings(text: &str) -> Option<ReviewAnswer> {
    let lines: Vec<&str> = unfenced_lines(text)
        .filter(|line| answer_word(line).is_none())
        .collect();
    let first = lines.iter().position(|line| entry(line.trim()).is_some());
    let (lead, list) = lines.split_at(first.unwrap_or(lines.len()));
    let lead = lead.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = [lead]
        .into_iter()
        .chain(listed(list))
        .filter(|text| !text.is_empty())
        .collect();
    (!found.is_empty() && !praises(text)).then(|| ReviewAnswer::Findings {
        findings: Findings::new(found),
    })
}

fn praises(text: &str) -> bool {
    let text = text.to_lowercase();
    PRAISE.iter().any(|praise| {
        text.match_indices(praise).any(|(at, _)| {
            let before = text[..at].trim_end();
            !NEGATIONS.iter().any(|negation| before.ends_with(negation))
        })
    })
}

/// Parses the answer in the requested form.
fn answer_in_form(text: &str, place: StatusPlace) -> Option<ReviewAnswer> {
    let lines: Vec<&str> = match place {
        StatusPlace::Message => unfenced_lines(text).collect(),
        StatusPlace::LastLines => text.lines().collect(),
    };
    let at = lines.iter().rposition(|line| answer_word(line).is_some())?;
    let (word, below) = (answer_word(lines[at])?, &lines[at + 1..]);
    let findings = listed(below);
    if word.eq_ignore_ascii_case("approved") {
        // On a terminal, text below may be a tool's output.
        let is_last = place == StatusPlace::Message || below.iter().all(|line| line.trim().is_empty());
        return (findings.is_empty() && is_last).then_some(ReviewAnswer::Approved);
    }
    if !word.eq_ignore_ascii_case("findings") || findings.is_empty() {
        return None;
    }
    let found = findings;
    let findings = Findings::new(found);
    Some(ReviewAnswer::Findings { findings })
}

/// The text after the key on its line, which may be in bold.
fn answer_word(line: &str) -> Option<&str> {
    let bare = |text: &str| text.trim_matches(['*', ' ', '\t', '.']).len();
    let line = line.trim().trim_matches('*');
    let word = line.strip_prefix(KEY)?.trim_start_matches(['*', ' ', '\t']);
    Some(&word[..bare(word)])
}

/// The list entries in `lines`, each joined to a single line. Text before the first entry is dropped.
fn listed(lines: &[&str]) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        match (entry(line), entries.last_mut()) {
            (Some(text), _) => entries.push(text.to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line);
            }
            (None, None) => {}
        }
    }
    entries
}

/// Returns the file and the line that a finding begins with: `src/lexer.rs:12: …`. The file is a path below the project.
pub fn finding_place(finding: &str) -> Option<(&str, u32)> {
    let marks = ['`', '*', '"', '\'', '(', '[', ' '];
    let text = finding.trim_start_matches(marks);
    let (file, rest) = text.split_once(':')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let line = rest[..digits].parse().ok().filter(|line| *line > 0)?;
    let is_below = !file.is_empty() && !file.starts_with('/') && !file.split('/').any(|part| part == "..");
    let file = file.strip_prefix("./").unwrap_or(file);
    (is_below && !file.contains(char::is_whitespace)).then_some((file, line))
}

/// The text after `1.`, `1)`, `-` or `*`.
fn entry(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match digits.len() < line.len() {
        true => digits.strip_prefix('.').or_else(|| digits.strip_prefix(')'))?,
        false => line.strip_prefix('-').or_else(|| line.strip_prefix('*'))?,
    };
    let text = rest.strip_prefix([' ', '\t'])?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<ReviewAnswer> {
        review_answer(text, StatusPlace::Message)
    }

    #[test]
    fn a_finding_names_its_place_at_its_beginning() {
        for (finding, place) in [
            ("src/lexer.rs:12: a stub", Some(("src/lexer.rs", 12))),
            ("`./a.py:3` is wrong", Some(("a.py", 3))),
            ("**b.rs:4-9**: too long", Some(("b.rs", 4))),
            ("c.rs:0: no line", None),
            ("../secret:1: outside", None),
            ("/etc/passwd:1: outside", None),
            ("see d.rs:5", None),
            ("nothing", None),
            ("e.rs: no line", None),
        ] {
            assert_eq!(finding_place(finding), place, "{finding}");
        }
    }

    fn found(text: &str) -> Vec<String> {
        match read(text) {
            Some(ReviewAnswer::Findings { findings }) => findings.found.into_iter().map(String::from).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_line_of_that_form_answers() {
        for text in [
            "It is fine.\n\nREVIEW: approved\n",
            "**REVIEW: approved**",
            "**REVIEW:** Approved.",
            "REVIEW: findings\n1. a\n\nI was wrong.\nREVIEW: approved\nThank you.",
        ] {
            assert_eq!(read(text), Some(ReviewAnswer::Approved), "{text}");
        }
    }

    #[test]
    fn findings_are_the_entries_of_the_list_below() {
        assert_eq!(
            found(
                "Two things.\nREVIEW: findings\n\n1. src/a.rs:12: it panics\n   on an empty line\n2) src/b.rs:3: a stub\n- and more\n"
            ),
            [
                "src/a.rs:12: it panics on an empty line",
                "src/b.rs:3: a stub",
                "and more"
            ]
        );
        assert_eq!(found("REVIEW: findings\n* one"), ["one"]);
    }

    #[test]
    fn words_without_the_form_are_findings_unless_they_approve() {
        assert_eq!(
            found("The name is wrong. - made.txt should be notes.txt"),
            ["The name is wrong. - made.txt should be notes.txt"]
        );
        assert_eq!(
            found("I looked at it.\n\nThe name\nis wrong:\n- made.txt should be notes.txt\n- it is empty\n"),
            [
                "I looked at it. The name is wrong:",
                "made.txt should be notes.txt",
                "it is empty"
            ]
        );
        assert_eq!(found("REVIEW: findings\nIt is wrong."), ["It is wrong."]);
        assert_eq!(
            found("I can't approve this: it is empty."),
            ["I can't approve this: it is empty."]
        );
        assert!(found(&"wrong ".repeat(5_000))[0].len() <= 1024);
        let terminal = review_answer("The name is wrong.", StatusPlace::LastLines);
        assert_eq!(terminal, None);
    }

    #[test]
    fn praise_in_another_form_is_no_answer() {
        for text in [
            "",
            "Looks good to me!",
            "REVIEW: looks good",
            "REVIEW: approved with nits",
            "REVIEW: findings",
            "REVIEW: approved\n1. but this is wrong",
            "I would say REVIEW: approved",
            "> REVIEW: approved",
            "```\nREVIEW: approved\n```",
            "REVIEWED: approved",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn on_a_terminal_nothing_follows_an_approval() {
        let last = |text| review_answer(text, StatusPlace::LastLines);
        assert_eq!(last("work\nREVIEW: approved\n\n"), Some(ReviewAnswer::Approved));
        assert_eq!(last("REVIEW: approved\n$ rm x\n"), None);
    }

    #[test]
    fn many_long_findings_are_bounded_and_counted() {
        let list: String = (0..50).map(|n| format!("{n}. {}\n", "ü".repeat(5_000))).collect();
        let Some(ReviewAnswer::Findings { findings }) = read(&format!("REVIEW: findings\n{list}")) else {
            panic!("findings")
        };
        assert_eq!((findings.found.len(), findings.more, findings.count()), (20, 30, 50));
        assert!(findings.found.iter().all(|finding| finding.len() <= 1024));
    }
}
