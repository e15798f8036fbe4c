//! The content of an agent's last message: the fields of its status block, and the text that another session may read.

use std::collections::BTreeMap;

use ralph_core::event::AgentStatus;

use super::{
    promise::{CLOSE, OPEN},
    self_report::{BEGIN, BLOCKED, COMMENT, END, NOT_DONE, StatusPlace, block_lines},
};

/// Returns all fields of the last complete status block of `text`; `None` if there is no block.
///
/// The values are not interpreted. A line without a key continues the value before it.
pub fn status(text: &str, place: StatusPlace) -> Option<AgentStatus> {
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in block_lines(text, place)? {
        match field(line) {
            // The first occurrence counts, as in `self_report`.
            Some((key, _)) if fields.contains_key(&key) => current = None,
            Some((key, value)) => {
                fields.insert(key.clone(), value.to_owned());
                current = Some(key);
            }
            None => {
                let value = current.as_ref().and_then(|key| fields.get_mut(key));
                if let Some(value) = value.filter(|_| !line.trim().is_empty()) {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            }
        }
    }
    Some(fields.into())
}

/// Splits `TESTS_STATUS: PASSING` into key and value. The key is converted to capitals.
fn field(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end();
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_key.then(|| (key.to_ascii_uppercase().replace('-', "_"), value.trim()))
}

/// Removes the parts of a message that are addressed to ralph: promises, status blocks, and lines that say that the
/// agent is blocked or not done.
pub fn reported(message: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_block = false;
    for line in message.lines() {
        match line.trim() {
            BEGIN => in_block = true,
            END if in_block => in_block = false,
            // The beginning of the block was cut off.
            END => {
                let is_field = |line: &String| field(line).is_some();
                while lines.pop_if(|line| is_field(line)).is_some() {}
            }
            said if in_block || [BLOCKED, NOT_DONE, COMMENT].iter().any(|key| said.contains(key)) => {}
            _ => {
                let left = without_promise(line);
                let is_empty = left.trim().is_empty();
                let was_empty = lines.last().is_none_or(|last| last.trim().is_empty());
                if !(is_empty && was_empty) {
                    lines.push(left.trim_end().to_owned());
                }
            }
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Removes promises of any token from a line.
fn without_promise(line: &str) -> String {
    let mut left = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(OPEN) {
        left.push_str(before);
        rest = after.split_once(CLOSE).map_or("", |(_, after)| after);
    }
    left + &rest.replace(CLOSE, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> AgentStatus {
        let text = format!("I did it.\n{BEGIN}\n{lines}\n{END}\n");
        status(&text, StatusPlace::Message).expect("a block")
    }

    #[test]
    fn a_status_block_is_kept_whole_with_what_makes_no_sense_as_it_is() {
        let read = read(
            "STATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: two or so\nfiles-modified: 5\nTESTS_STATUS: PASSING\n\
             WORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\nRECOMMENDATION: look at the lexer\n  before the parser\nMOOD: \
             good\nSTATUS: COMPLETE\nno key here",
        );
        let given: Vec<(&str, &str)> = read.iter().collect();
        assert_eq!(
            given,
            [
                ("EXIT_SIGNAL", "false"),
                ("FILES_MODIFIED", "5"),
                ("MOOD", "good"),
                ("RECOMMENDATION", "look at the lexer before the parser"),
                ("STATUS", "IN_PROGRESS"),
                ("TASKS_COMPLETED_THIS_LOOP", "two or so"),
                ("TESTS_STATUS", "PASSING"),
                ("WORK_TYPE", "IMPLEMENTATION"),
            ]
        );
        assert_eq!(status("STATUS: COMPLETE", StatusPlace::Message), None);
    }

    #[test]
    fn a_status_block_is_bounded_and_keeps_what_has_a_meaning() {
        let unknown: String = (0..100).map(|n| format!("A{n:02}: {}\n", "x".repeat(9_000))).collect();
        let read = read(&format!(
            "{unknown}{}: long\nSTATUS: COMPLETE\nRECOMMENDATION: rest",
            "K".repeat(41)
        ));
        assert_eq!(read.iter().count(), 16);
        assert_eq!(
            (read.get("STATUS"), read.get("RECOMMENDATION")),
            (Some("COMPLETE"), Some("rest"))
        );
        assert!(read.iter().all(|(_, value)| value.len() <= 400));
    }

    #[test]
    fn what_was_said_to_ralph_is_not_reported_to_another_session() {
        let said = format!(
            "The parser works.\n\n\n**RALPH NOT DONE: the lexer**\nIt is <promise>4f2a</promise> fast.\n\
             <promise>4f2a</promise>\n{BEGIN}\nSTATUS: COMPLETE\n{END}\nOne test is slow.\nRALPH BLOCKED: which key?\n"
        );
        assert_eq!(
            reported(&said),
            "The parser works.\n\nIt is  fast.\n\nOne test is slow."
        );
        // A record keeps only the end of a long message.
        assert_eq!(reported(&format!("TUS: COMPLETE\n{END}\nBye. <promise>4f")), "Bye.");
        assert_eq!(reported(&format!("Hello.\n{BEGIN}\nSTATUS: COMPLETE\n")), "Hello.");
    }
}
