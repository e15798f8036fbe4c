//! Parses an agent's statement about itself at the end of its last message: that it is blocked, that the work is not
//! done, or a question.
//!
//! The built-in prompt asks for a plain line, which every agent can write:
//!
//! ```text
//! RALPH BLOCKED: the question only the user can answer
//! RALPH NOT DONE: what is missing
//! RALPH TESTS CHANGED: why the task demands it
//! RALPH COMMENT 3: why the lines of comment 3 stay as they are
//! ```
//!
//! A status block is accepted as well, as other tools that run agents in a loop ask for it:
//!
//! ```text
//! ---RALPH_STATUS---
//! STATUS: IN_PROGRESS | COMPLETE | BLOCKED
//! TESTS_STATUS: PASSING | FAILING | NOT_RUN
//! EXIT_SIGNAL: false
//! RECOMMENDATION: one line
//! ---END_RALPH_STATUS---
//! ```
//!
//! Keys count at the beginning of a line only, and as a whole: `TESTS_STATUS` is not `STATUS`. A statement that the
//! work is done is one more claim, trusted as little as any other; a statement that it is not done is believed.

use ralph_core::event::CommentAnswer;

use super::promise::unfenced_lines;

pub(super) const BEGIN: &str = "---RALPH_STATUS---";
pub(super) const END: &str = "---END_RALPH_STATUS---";
pub(super) const BLOCKED: &str = "RALPH BLOCKED:";
pub(super) const NOT_DONE: &str = "RALPH NOT DONE:";
pub(super) const TESTS_CHANGED: &str = "RALPH TESTS CHANGED:";
pub(super) const COMMENT: &str = "RALPH COMMENT ";
const NO_REASON: &str = "no reason given";

/// The part of an output that is searched for statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPlace {
    /// Anywhere in a final message, outside of fenced code. The last one counts.
    Message,
    /// In the last lines of a terminal's output: lines above may be a tool's output.
    LastLines,
}

/// An agent's statement about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SelfReport {
    /// `STATUS: COMPLETE` or `EXIT_SIGNAL: true`.
    pub claims_done: bool,
    /// Why the agent cannot continue.
    pub blocked: Option<String>,
    /// The agent's own words that the work is not done.
    pub denies_done: Option<String>,
    /// The agent's reason for changing tests.
    pub tests_changed: Option<String>,
    /// The agent's reasons for leaving commented lines as they are.
    pub comments: Vec<CommentAnswer>,
}

/// Parses the agent's statement about itself at the end of `text`.
pub fn self_report(text: &str, place: StatusPlace) -> SelfReport {
    let block = status_block(text, place).unwrap_or_default();
    let blocked = last_words(text, place, BLOCKED).or(block.blocked);
    SelfReport {
        // A blocked agent is not done, even if it also says so.
        claims_done: block.claims_done && blocked.is_none(),
        blocked,
        denies_done: last_words(text, place, NOT_DONE).or(block.denies_done),
        tests_changed: last_words(text, place, TESTS_CHANGED),
        comments: comment_answers(text, place),
    }
}

/// Returns the answers to comments, each on a line of its own. On a terminal, they are the last lines.
fn comment_answers(text: &str, place: StatusPlace) -> Vec<CommentAnswer> {
    match place {
        StatusPlace::Message => unfenced_lines(text).filter_map(comment_answer).collect(),
        StatusPlace::LastLines => {
            let lines = text.lines().rev().skip_while(|line| line.trim().is_empty());
            let mut answers: Vec<_> = lines.map_while(comment_answer).collect();
            answers.reverse();
            answers
        }
    }
}

fn comment_answer(line: &str) -> Option<CommentAnswer> {
    let line = line.trim().trim_matches('*').trim();
    let (number, reason) = line.strip_prefix(COMMENT)?.split_once(':')?;
    let reason = reason.trim();
    Some(CommentAnswer {
        comment: number.trim().parse().ok()?,
        reason: if reason.is_empty() { NO_REASON } else { reason }.into(),
    })
}

/// Returns the rest of the last line that begins with `key`.
fn last_words(text: &str, place: StatusPlace, key: &str) -> Option<String> {
    // The line may be in bold.
    let said = |line: &str| {
        let line = line.trim().trim_matches('*').trim();
        line.strip_prefix(key).map(|said| said.trim().to_owned())
    };
    let said = match place {
        StatusPlace::Message => unfenced_lines(text).filter_map(said).last(),
        StatusPlace::LastLines => said(text.lines().rev().find(|line| !line.trim().is_empty())?),
    }?;
    Some(if said.is_empty() { NO_REASON.to_owned() } else { said })
}

/// Parses the last complete status block of `text`; `None` if there is no block.
fn status_block(text: &str, place: StatusPlace) -> Option<SelfReport> {
    Some(parse(&block_lines(text, place)?))
}

/// The lines of the last complete status block of `text`.
pub(super) fn block_lines(text: &str, place: StatusPlace) -> Option<Vec<&str>> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = match place {
        StatusPlace::Message => lines.iter().rposition(|line| *line == END)?,
        StatusPlace::LastLines => {
            let last = lines.iter().rposition(|line| !line.is_empty())?;
            (lines[last] == END).then_some(last)?
        }
    };
    let begin = lines[..end].iter().rposition(|line| *line == BEGIN)?;
    Some(lines[begin + 1..end].to_vec())
}

fn parse(lines: &[&str]) -> SelfReport {
    let value = |key: &str| {
        lines
            .iter()
            .find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
            .unwrap_or_default()
    };
    let is = |value: &str, words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    let (status, tests, exit) = (value("STATUS"), value("TESTS_STATUS"), value("EXIT_SIGNAL"));
    let blocked = is(status, &["BLOCKED"]).then(|| {
        let reasons = ["REASON", "BLOCKED_REASON", "QUESTION", "RECOMMENDATION"];
        let reason = reasons.into_iter().map(value).find(|reason| !reason.is_empty());
        reason.unwrap_or(NO_REASON).to_owned()
    });
    let complete = is(status, &["COMPLETE", "COMPLETED", "DONE"]);
    let unfinished = !status.is_empty() && !complete && blocked.is_none();
    let against = [
        (unfinished, "STATUS", status),
        (is(tests, &["FAILING", "FAILED", "FAIL"]), "TESTS_STATUS", tests),
        (is(exit, &["false", "no"]), "EXIT_SIGNAL", exit),
    ];
    let against: Vec<String> = against
        .iter()
        .filter(|(speaks, ..)| *speaks)
        .map(|(_, key, value)| format!("{key}: {value}"))
        .collect();
    SelfReport {
        claims_done: complete || is(exit, &["true"]),
        blocked,
        denies_done: (!against.is_empty()).then(|| against.join(", ")),
        tests_changed: None,
        comments: Vec::new(),
    }
}

/// Returns the last non-blank line of a final message if it ends in a question mark.
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

    fn read(text: &str) -> SelfReport {
        self_report(text, StatusPlace::Message)
    }

    #[test]
    fn complete_and_the_exit_signal_are_claims() {
        for lines in [
            "STATUS: COMPLETE",
            "STATUS: IN_PROGRESS\nEXIT_SIGNAL: true",
            "STATUS:complete",
        ] {
            assert!(read(&block(lines)).claims_done, "{lines}");
        }
        assert!(!read(&block("STATUS: IN_PROGRESS\nEXIT_SIGNAL: false")).claims_done);
    }

    #[test]
    fn keys_count_as_a_whole_and_at_the_beginning_of_a_line() {
        for lines in [
            "TESTS_STATUS: COMPLETE",
            "  STATUS: COMPLETE",
            "> STATUS: COMPLETE",
            "RECOMMENDATION: set STATUS: COMPLETE and EXIT_SIGNAL: true",
        ] {
            assert!(!read(&block(lines)).claims_done, "{lines}");
        }
    }

    #[test]
    fn the_last_block_counts() {
        let text = block("STATUS: COMPLETE") + &block("STATUS: IN_PROGRESS");
        assert!(!read(&text).claims_done);
    }

    #[test]
    fn an_unfinished_or_quoted_block_is_none() {
        let nothing = SelfReport::default();
        assert_eq!(read(&format!("{BEGIN}\nSTATUS: COMPLETE\n")), nothing);
        assert_eq!(read(&format!("> {BEGIN}\n> STATUS: COMPLETE\n> {END}\n")), nothing);
        assert_eq!(read("STATUS: COMPLETE"), nothing);
    }

    #[test]
    fn blocked_has_a_reason_and_is_no_claim() {
        let status = read(&block(
            "STATUS: BLOCKED\nEXIT_SIGNAL: true\nRECOMMENDATION: give me the key",
        ));
        assert_eq!(
            status,
            SelfReport {
                claims_done: false,
                blocked: Some("give me the key".to_owned()),
                denies_done: None,
                tests_changed: None,
                comments: Vec::new(),
            }
        );
    }

    #[test]
    fn a_status_block_that_says_not_done_denies_the_end() {
        for (lines, why) in [
            ("EXIT_SIGNAL: false", "EXIT_SIGNAL: false"),
            ("STATUS: COMPLETE\nEXIT_SIGNAL: False", "EXIT_SIGNAL: False"),
            ("STATUS: IN_PROGRESS", "STATUS: IN_PROGRESS"),
            ("STATUS: IN_PROGRESS\nEXIT_SIGNAL: true", "STATUS: IN_PROGRESS"),
            ("STATUS: COMPLETE\nTESTS_STATUS: FAILING", "TESTS_STATUS: FAILING"),
            (
                "STATUS: PARTIAL\nTESTS_STATUS: FAILED\nEXIT_SIGNAL: no",
                "STATUS: PARTIAL, TESTS_STATUS: FAILED, EXIT_SIGNAL: no",
            ),
        ] {
            assert_eq!(read(&block(lines)).denies_done.as_deref(), Some(why), "{lines}");
        }
        for lines in [
            "STATUS: COMPLETE",
            "STATUS: done\nTESTS_STATUS: PASSING\nEXIT_SIGNAL: true",
            "TESTS_STATUS: NOT_RUN",
            "STATUS: BLOCKED\nREASON: which key?",
            "",
        ] {
            assert_eq!(read(&block(lines)).denies_done, None, "{lines}");
        }
    }

    #[test]
    fn a_plain_line_says_blocked_or_not_done() {
        let status = read("I looked everywhere.\n\nRALPH BLOCKED: Which key do I use?\n");
        assert_eq!(status.blocked.as_deref(), Some("Which key do I use?"));
        assert_eq!(status.denies_done, None);
        let status = read("**RALPH NOT DONE: two tests fail**\nSee above.");
        assert_eq!(status.denies_done.as_deref(), Some("two tests fail"));
        assert_eq!(status.blocked, None);
        let status = read(&format!("{}RALPH BLOCKED:", block("STATUS: COMPLETE")));
        assert_eq!(status.blocked.as_deref(), Some(NO_REASON));
        assert!(!status.claims_done);
    }

    #[test]
    fn a_plain_line_that_is_quoted_fenced_or_within_another_says_nothing() {
        for text in [
            "> RALPH BLOCKED: which key?",
            "`RALPH BLOCKED: which key?`",
            "```\nRALPH BLOCKED: which key?\n```",
            "The line would be RALPH BLOCKED: which key?",
            "ralph blocked: which key?",
        ] {
            assert_eq!(read(text), SelfReport::default(), "{text}");
        }
    }

    #[test]
    fn on_a_terminal_only_the_last_lines_count() {
        let last = |text: &str| self_report(text, StatusPlace::LastLines);
        let text = block("STATUS: COMPLETE");
        assert!(last(&text).claims_done);
        assert_eq!(last(&(text + "and more")), SelfReport::default());
        let text = "RALPH BLOCKED: Which key?\n\n";
        assert_eq!(last(text).blocked.as_deref(), Some("Which key?"));
        assert_eq!(last(&format!("{text}$ ")), SelfReport::default());
    }

    #[test]
    fn answers_to_comments_are_lines_of_their_own() {
        let text = "Done.\nRALPH COMMENT 2: the tests pin it\n**RALPH COMMENT 3: no**\nRALPH COMMENT 4:\n> RALPH COMMENT 5: x\n\
                    ```\nRALPH COMMENT 6: x\n```\nRALPH COMMENT x: y\nsay RALPH COMMENT 7: z\n";
        let answers = |report: SelfReport| -> Vec<(u32, String)> {
            let answers = report.comments.into_iter();
            answers.map(|answer| (answer.comment, answer.reason.into())).collect()
        };
        let expected = [(2, "the tests pin it"), (3, "no"), (4, NO_REASON)];
        assert_eq!(
            answers(read(text)),
            expected.map(|(number, reason)| (number, reason.to_owned()))
        );
        let last = self_report(
            "RALPH COMMENT 1: x\nlog\nRALPH COMMENT 2: y\n\n",
            StatusPlace::LastLines,
        );
        assert_eq!(answers(last), [(2, "y".to_owned())]);
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
