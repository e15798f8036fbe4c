//! The line by which an agent claims that the whole plan is done.
//!
//! `<promise>TOKEN</promise>`, alone on its line. The token is fresh for each run, so that neither an old transcript
//! nor a file in the tree can make the claim. The prompt has it only in the middle of a line, so that an echo of the
//! prompt cannot either. A token chosen by the user (`--promise TEXT`) uses the same tag, as bare words such as "done"
//! end up on a line of their own by accident.

pub(super) const OPEN: &str = "<promise>";
pub(super) const CLOSE: &str = "</promise>";

/// Renders the line that an agent has to write.
pub fn promise_line(token: &str) -> String {
    format!("{OPEN}{token}{CLOSE}")
}

/// Returns the token in the user's text, which may include the tag.
pub fn promise_token(text: &str) -> &str {
    let text = text.trim();
    tagged(text).unwrap_or(text)
}

/// Whether a final assistant message makes the promise: on a line of its own, outside of fenced code.
///
/// White space around the line and inside the tag is ignored; case matters. A line in a fence, in a block quote or in
/// backquotes is an example. An empty token is never promised.
pub fn final_promise(message: &str, token: &str) -> bool {
    unfenced_lines(message).any(|line| promises(line, token))
}

/// The lines of a message outside of fenced code, without the fences themselves.
pub(super) fn unfenced_lines(message: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<Fence> = None;
    message.lines().filter(move |line| match (fence, Fence::parse(line)) {
        (None, None) => true,
        (None, Some(opened)) => {
            fence = Some(opened);
            false
        }
        (Some(opened), Some(mark)) => {
            if mark.closes(opened) {
                fence = None;
            }
            false
        }
        (Some(_), None) => false,
    })
}

/// Whether the last non-blank line of a terminal's output makes the promise.
///
/// For agents without messages: lines above the last one may be a tool's output.
pub fn last_line_promise(output: &str, token: &str) -> bool {
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    last.is_some_and(|line| promises(line, token))
}

fn promises(line: &str, token: &str) -> bool {
    let token = token.trim();
    !token.is_empty() && tagged(line.trim()) == Some(token)
}

fn tagged(line: &str) -> Option<&str> {
    Some(line.strip_prefix(OPEN)?.strip_suffix(CLOSE)?.trim())
}

/// A line that opens or closes fenced code.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    /// Whether no text follows the mark, as required of a closing fence.
    bare: bool,
}

impl Fence {
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        // ```` ```code``` ```` on one line is a code span.
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        is_fence.then_some(Fence {
            mark,
            length,
            bare: info.is_empty(),
        })
    }

    fn closes(self, opened: Fence) -> bool {
        self.bare && self.mark == opened.mark && self.length >= opened.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_is_a_promise_wherever_it_stands() {
        assert!(final_promise("All done.\n<promise>4f2a</promise>", "4f2a"));
        assert!(final_promise("<promise>4f2a</promise>\r\nBye.", "4f2a"));
        assert!(final_promise("  <promise> 4f2a </promise>\t\n\n", "4f2a"));
    }

    #[test]
    fn a_promise_within_a_line_is_none() {
        for message in [
            "I shall write <promise>4f2a</promise> later",
            "`<promise>4f2a</promise>`",
            "> <promise>4f2a</promise>",
            "- <promise>4f2a</promise>",
            "<promise>4f2a</promise>.",
            "4f2a",
        ] {
            assert!(!final_promise(message, "4f2a"), "{message}");
        }
    }

    #[test]
    fn another_token_is_none() {
        assert!(!final_promise("<promise>0000</promise>", "4f2a"));
        assert!(!final_promise("<promise>4F2A</promise>", "4f2a"));
        assert!(!final_promise("<promise>TOKEN</promise>", "4f2a"));
    }

    #[test]
    fn an_empty_token_is_never_promised() {
        assert!(!final_promise("<promise></promise>", ""));
        assert!(!last_line_promise("<promise> </promise>", " "));
    }

    #[test]
    fn a_fenced_promise_is_an_example() {
        assert!(!final_promise("```\n<promise>4f2a</promise>\n```\n", "4f2a"));
        assert!(!final_promise("~~~text\n```\n<promise>4f2a</promise>\n~~~", "4f2a"));
        assert!(!final_promise("````\n```\n<promise>4f2a</promise>\n````", "4f2a"));
        assert!(!final_promise("```rust\n```text\n<promise>4f2a</promise>\n", "4f2a"));
    }

    #[test]
    fn a_promise_after_a_fence_counts() {
        assert!(final_promise("```sh\ncargo test\n```\n<promise>4f2a</promise>", "4f2a"));
        assert!(final_promise("```cargo test```\n<promise>4f2a</promise>", "4f2a"));
    }

    #[test]
    fn on_a_terminal_only_the_last_line_counts() {
        assert!(last_line_promise("work\n<promise>4f2a</promise>\r\n\n  \n", "4f2a"));
        assert!(!last_line_promise("<promise>4f2a</promise>\n$ ", "4f2a"));
        assert!(!last_line_promise("", "4f2a"));
    }

    #[test]
    fn the_users_own_token_may_come_in_its_tag() {
        assert_eq!(promise_token(" ALL DONE "), "ALL DONE");
        assert_eq!(promise_token("<promise> ALL DONE </promise>"), "ALL DONE");
        assert!(final_promise(&promise_line("ALL DONE"), "ALL DONE"));
    }
}
