//! What an agent says about itself at the end of its last message: a status block, or a question.
//!
//! The block is the one other loops have taught agents to write:
//!
//! ```text
//! ---RALPH_STATUS---
//! STATUS: IN_PROGRESS | COMPLETE | BLOCKED
//! EXIT_SIGNAL: false
//! RECOMMENDATION: one line
//! ---END_RALPH_STATUS---
//! ```
//!
//! Keys count at the beginning of a line only, and as a whole: `TESTS_STATUS` is not `STATUS`. It is one more claim,
//! and believed as little as any other.

const BEGIN: &str = "---RALPH_STATUS---";
const END: &str = "---END_RALPH_STATUS---";

/// Where a status block counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPlace {
    /// Anywhere in a final message; the last one counts.
    Message,
    /// As the last lines of a terminal's output: anything above may be a tool's.
    LastLines,
}

/// What a status block says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusBlock {
    /// `STATUS: COMPLETE` or `EXIT_SIGNAL: true`.
    pub claims_done: bool,
    /// `STATUS: BLOCKED`, with the reason it gives.
    pub blocked: Option<String>,
}

/// Reads the last whole status block of `text`; none if there is none.
pub fn status_block(text: &str, place: StatusPlace) -> Option<StatusBlock> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = match place {
        StatusPlace::Message => lines.iter().rposition(|line| *line == END)?,
        StatusPlace::LastLines => {
            let last = lines.iter().rposition(|line| !line.is_empty())?;
            (lines[last] == END).then_some(last)?
        }
    };
    let begin = lines[..end].iter().rposition(|line| *line == BEGIN)?;
    Some(parse(&lines[begin + 1..end]))
}

fn parse(lines: &[&str]) -> StatusBlock {
    let value = |key: &str| {
        lines
            .iter()
            .find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
            .unwrap_or_default()
    };
    let status = value("STATUS");
    let exit = value("EXIT_SIGNAL");
    let blocked = status.eq_ignore_ascii_case("BLOCKED").then(|| {
        let reasons = ["REASON", "BLOCKED_REASON", "QUESTION", "RECOMMENDATION"];
        let reason = reasons.into_iter().map(value).find(|reason| !reason.is_empty());
        reason.unwrap_or("it does not say why").to_owned()
    });
    StatusBlock {
        // Who is blocked is not done, whatever the other line says.
        claims_done: blocked.is_none()
            && (status.eq_ignore_ascii_case("COMPLETE") || exit.eq_ignore_ascii_case("true")),
        blocked,
    }
}

/// Returns the question that a final message ends with: its last line that is not blank, if that ends in a question mark.
pub fn final_question(message: &str) -> Option<&str> {
    let last = message.lines().rev().find(|line| !line.trim().is_empty())?.trim();
    let bare = last.trim_end_matches(['*', '_', '`', ')', '"', '\'']);
    bare.ends_with('?').then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &str) -> String {
        format!("I did it.\n{BEGIN}\n{lines}\n{END}\n")
    }

    fn read(text: &str) -> Option<StatusBlock> {
        status_block(text, StatusPlace::Message)
    }

    #[test]
    fn complete_and_the_exit_signal_are_claims() {
        for lines in [
            "STATUS: COMPLETE",
            "STATUS: IN_PROGRESS\nEXIT_SIGNAL: true",
            "STATUS:complete",
        ] {
            assert!(read(&block(lines)).unwrap().claims_done, "{lines}");
        }
        assert!(
            !read(&block("STATUS: IN_PROGRESS\nEXIT_SIGNAL: false"))
                .unwrap()
                .claims_done
        );
    }

    #[test]
    fn keys_count_as_a_whole_and_at_the_beginning_of_a_line() {
        for lines in [
            "TESTS_STATUS: COMPLETE",
            "  STATUS: COMPLETE",
            "> STATUS: COMPLETE",
            "RECOMMENDATION: set STATUS: COMPLETE and EXIT_SIGNAL: true",
        ] {
            assert!(!read(&block(lines)).unwrap().claims_done, "{lines}");
        }
    }

    #[test]
    fn the_last_block_counts() {
        let text = block("STATUS: COMPLETE") + &block("STATUS: IN_PROGRESS");
        assert!(!read(&text).unwrap().claims_done);
    }

    #[test]
    fn an_unfinished_or_quoted_block_is_none() {
        assert_eq!(read(&format!("{BEGIN}\nSTATUS: COMPLETE\n")), None);
        assert_eq!(read(&format!("> {BEGIN}\n> STATUS: COMPLETE\n> {END}\n")), None);
        assert_eq!(read("STATUS: COMPLETE"), None);
    }

    #[test]
    fn blocked_has_a_reason_and_is_no_claim() {
        let status = read(&block(
            "STATUS: BLOCKED\nEXIT_SIGNAL: true\nRECOMMENDATION: give me the key",
        ))
        .unwrap();
        assert_eq!(
            status,
            StatusBlock {
                claims_done: false,
                blocked: Some("give me the key".to_owned())
            }
        );
    }

    #[test]
    fn on_a_terminal_only_the_last_lines_count() {
        let text = block("STATUS: COMPLETE");
        assert!(status_block(&text, StatusPlace::LastLines).is_some());
        assert!(status_block(&(text + "and more"), StatusPlace::LastLines).is_none());
    }

    #[test]
    fn a_message_that_ends_with_a_question_asks_it() {
        assert_eq!(
            final_question("Done so far.\n\nWhich database should I use?\n"),
            Some("Which database should I use?")
        );
        assert_eq!(final_question("**Shall I go on?**"), Some("**Shall I go on?**"));
        assert_eq!(final_question("Is it done? Yes, it is."), None);
        assert_eq!(final_question(""), None);
    }
}
