//! The agent's last message and code block, for copying.

use ralph_core::event::AgentSignal;

/// Maximum bytes of a message that are kept.
const CAP_BYTES: usize = 128 * 1024;
/// The delimiter of code blocks.
const FENCE: &str = "```";

#[derive(Debug, Clone, Default)]
pub struct AgentText {
    pub message: Option<String>,
    /// The last code block of any message.
    pub block: Option<String>,
}

impl AgentText {
    pub(super) fn note_signal(&mut self, signal: &AgentSignal) {
        let AgentSignal::Said { text } = signal else { return };
        let end = (0..=CAP_BYTES.min(text.len())).rfind(|at| text.is_char_boundary(*at));
        let text = &text[..end.unwrap_or(0)];
        if let Some(block) = last_block(text) {
            self.block = Some(block);
        }
        self.message = Some(text.to_owned());
    }
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

    fn said(text: &str) -> AgentSignal {
        AgentSignal::Said { text: text.to_owned() }
    }

    #[test]
    fn the_last_message_and_the_last_block_of_any_are_kept() {
        let mut spoken = AgentText::default();
        spoken.note_signal(&said("First:\n```sh\nls\n```\nthen\n````\n```\nrm x\n````\ndone"));
        assert_eq!(spoken.block.as_deref(), Some("```\nrm x\n"));
        spoken.note_signal(&said("No code."));
        assert_eq!(spoken.message.as_deref(), Some("No code."));
        assert_eq!(spoken.block.as_deref(), Some("```\nrm x\n"));
        spoken.note_signal(&said("```\nopen"));
        assert_eq!(spoken.block.as_deref(), Some("open\n"));
        spoken.note_signal(&said(&"ü".repeat(CAP_BYTES)));
        assert_eq!(spoken.message.map(|text| text.len()), Some(CAP_BYTES));
    }
}
