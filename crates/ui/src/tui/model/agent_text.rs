//! The agent's last message and code block, for copying, and its last sentence in each iteration.

use std::collections::BTreeMap;

use ralph_core::event::{AgentSignal, clip};

/// Maximum bytes of a message that are kept.
const CAP_BYTES: usize = 128 * 1024;
/// Maximum bytes of a sentence, and the maximum number of iterations whose sentence is kept.
const SENTENCE_BYTES: usize = 240;
const SENTENCES: usize = 1_000;
/// The delimiter of code blocks.
const FENCE: &str = "```";

#[derive(Debug, Clone, Default)]
pub struct AgentText {
    pub message: Option<String>,
    /// The last code block of any message.
    pub block: Option<String>,
    /// The last sentence of each iteration's latest message, by the number of the iteration.
    pub last_sentences: BTreeMap<u32, String>,
}

impl AgentText {
    pub(super) fn note_signal(&mut self, iteration: u32, signal: &AgentSignal) {
        let Some(text) = signal.message() else { return };
        if let Some(sentence) = last_sentence(text) {
            self.last_sentences.insert(iteration, sentence);
            while self.last_sentences.len() > SENTENCES {
                self.last_sentences.pop_first();
            }
        }
        let AgentSignal::Said { text } = signal else { return };
        let end = (0..=CAP_BYTES.min(text.len())).rfind(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        if let Some(block) = last_block(text) {
            self.block = Some(block);
        }
        self.message = Some(text.to_owned());
    }
}

/// The last sentence of a message; `None` if it only has markup or lines for ralph.
fn last_sentence(message: &str) -> Option<String> {
    let is_prose = |line: &&str| {
        let is_for_ralph = line.starts_with("<promise>") || line.starts_with("RALPH ") || line.starts_with(FENCE);
        !is_for_ralph && line.contains(char::is_alphanumeric)
    };
    let line = message.lines().rev().map(str::trim).find(is_prose)?;
    let sentence = line.rsplit_once(". ").map_or(line, |(_, last)| last);
    Some(clip(sentence, SENTENCE_BYTES))
}

/// The last code block; an unclosed block extends to the end.
fn last_block(text: &str) -> Option<String> {
    let (mut last, mut open): (Option<String>, Option<(String, &str)>) = (None, None);
    for line in text.lines() {
        let trimmed = line.trim_start();
        let fence = &trimmed[..trimmed.len() - trimmed.trim_start_matches('`').len()];
        match &mut open {
            // A fence is closed by one that is at least as long.
            Some((block, opened)) if fence.len() >= opened.len() && trimmed.trim_end() == fence => {
                last = Some(std::mem::take(block));
                open = None;
            }
            Some((block, _)) => {
                block.push_str(line);
                block.push('\n');
            }
            None if fence.len() >= FENCE.len() => open = Some((String::new(), fence)),
            None => {}
        }
    }
    open.map(|(block, _)| block).or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_message_the_last_sentence_that_is_for_people_is_kept() {
        let kept = |message| last_sentence(message).unwrap_or_default();
        assert_eq!(
            kept("I wrote it. The parser reads lists.\n\n"),
            "The parser reads lists."
        );
        assert_eq!(
            kept("All of 3.5 is in.\n<promise>x</promise>\nRALPH DONE\n"),
            "All of 3.5 is in."
        );
        assert_eq!(kept("```\n---\n"), "");
        assert!(kept(&"long ".repeat(200)).len() <= SENTENCE_BYTES);
    }

    fn said(text: &str) -> AgentSignal {
        AgentSignal::Said { text: text.to_owned() }
    }

    #[test]
    fn the_last_message_and_the_last_block_of_any_are_kept() {
        let mut spoken = AgentText::default();
        spoken.note_signal(1, &said("First:\n```sh\nls\n```\nthen\n````\n```\nrm x\n````\ndone"));
        assert_eq!(spoken.block.as_deref(), Some("```\nrm x\n"));
        spoken.note_signal(1, &said("No code."));
        assert_eq!(spoken.message.as_deref(), Some("No code."));
        assert_eq!(spoken.block.as_deref(), Some("```\nrm x\n"));
        spoken.note_signal(1, &said("```\nopen"));
        assert_eq!(spoken.block.as_deref(), Some("open\n"));
        spoken.note_signal(1, &said(&"ü".repeat(CAP_BYTES)));
        assert_eq!(spoken.message.map(|text| text.len()), Some(CAP_BYTES));
    }
}
