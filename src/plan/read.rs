//! From the bytes of a plan file to its tasks.

use std::path::Path;

use super::{error::PlanError, markdown, prd};
use crate::{event::PlanSnapshot, position::Position};

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// A check-list: `- [ ] task`.
    Markdown,
    /// User stories in JSON, each with `passes`.
    Prd,
}

impl PlanKind {
    /// Tells the kind from the file's name: `.json` in any case is [`PlanKind::Prd`], all else Markdown.
    pub fn of(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("json") => PlanKind::Prd,
            Some(_) | None => PlanKind::Markdown,
        }
    }
}

/// Reads a plan's bytes; a UTF-8 byte order mark is skipped.
///
/// # Errors
/// [`PlanError::NotUtf8`], and those of [`parse`].
pub fn parse_bytes(kind: PlanKind, bytes: &[u8]) -> Result<PlanSnapshot, PlanError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(kind, text),
        Err(error) => {
            let (valid, _) = bytes.split_at(error.valid_up_to());
            let valid = String::from_utf8_lossy(valid);
            Err(PlanError::NotUtf8 {
                position: Position::of(&valid, valid.len()),
                utf16: bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]),
            })
        }
    }
}

/// Reads a plan's tasks in file order. The snapshot has at least one.
///
/// # Errors
/// [`PlanError`] if there is no task, or if a `prd.json` is not what it should be.
pub fn parse(kind: PlanKind, text: &str) -> Result<PlanSnapshot, PlanError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(PlanError::Empty { kind });
    }
    let tasks = match kind {
        PlanKind::Markdown => markdown::tasks(text),
        PlanKind::Prd => prd::tasks(text)?,
    };
    if tasks.is_empty() {
        return Err(PlanError::NoTasks { kind });
    }
    Ok(PlanSnapshot { tasks })
}

/// Makes one clean line of a task's text: runs of white space and control characters become one space, and characters
/// that reorder text go.
///
/// The text goes to terminals and is compared between iterations, so neither an escape sequence nor a re-wrapped line
/// may survive in it.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for character in text.chars().filter(|character| !reorders(*character)) {
        if character.is_whitespace() || character.is_control() {
            gap = !line.is_empty();
            continue;
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
        }
        line.push(character);
    }
    line
}

fn reorders(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_the_kind() {
        assert_eq!(PlanKind::of(Path::new("a/prd.JSON")), PlanKind::Prd);
        assert_eq!(PlanKind::of(Path::new("PLAN.md")), PlanKind::Markdown);
        assert_eq!(PlanKind::of(Path::new("plan")), PlanKind::Markdown);
        assert_eq!(PlanKind::of(Path::new(".json")), PlanKind::Markdown);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let plan = parse_bytes(PlanKind::Markdown, b"\xef\xbb\xbf- [ ] one\n").unwrap();
        assert_eq!(plan.tasks[0].text, "one");
        assert_eq!(plan.tasks[0].line, 1);
        let plan = parse_bytes(PlanKind::Prd, b"\xef\xbb\xbf[{\"title\":\"one\"}]").unwrap();
        assert_eq!(plan.tasks[0].text, "one");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_placed() {
        let error = parse_bytes(PlanKind::Markdown, b"- [ ] one\n- [ ] \xc3\xa4\xff").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 8: not UTF-8");
    }

    #[test]
    fn utf16_is_recognised() {
        let error = parse_bytes(PlanKind::Markdown, b"\xff\xfe-\0 \0[\0").unwrap_err();
        assert!(error.hint().contains("UTF-16"), "{}", error.hint());
    }

    #[test]
    fn an_empty_plan_says_so() {
        for text in ["", " \r\n\t\n", "\u{feff}"] {
            assert_eq!(
                parse(PlanKind::Markdown, text).unwrap_err().to_string(),
                "the plan is empty"
            );
            assert_eq!(parse(PlanKind::Prd, text).unwrap_err().to_string(), "the plan is empty");
        }
    }

    #[test]
    fn a_plan_without_tasks_says_how_to_write_one() {
        let error = parse(PlanKind::Markdown, "# Plan\n\n- just a list\n").unwrap_err();
        assert_eq!(error.to_string(), "no task found");
        assert!(error.hint().contains("- [ ] "), "{}", error.hint());
        let error = parse(PlanKind::Prd, r#"{"userStories": []}"#).unwrap_err();
        assert_eq!(error.to_string(), "no task found");
        assert!(error.hint().contains("passes"), "{}", error.hint());
    }

    #[test]
    fn control_characters_do_not_reach_the_text() {
        let plan = parse(PlanKind::Markdown, "- [ ] a\u{1b}[31mb\tc\u{7}\n").unwrap();
        assert_eq!(plan.tasks[0].text, "a [31mb c");
        let plan = parse(PlanKind::Markdown, "- [ ] a\u{202e}b \u{2066}\n").unwrap();
        assert_eq!(plan.tasks[0].text, "ab");
    }
}
