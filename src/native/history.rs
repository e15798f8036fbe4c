//! A conversation, and what becomes of it when it grows too long: old results of tools are left out, the newest and everything
//! that was said stay.
//!
//! Tokens are estimated between the counts that the API gives: four bytes each, which is a little too many for code and English.

use super::message::{Message, Tokens, ToolResult};

const BYTES_PER_TOKEN: u64 = 4;
/// The share of the budget from which on a conversation is too long, in percent: an answer has to fit in, too.
const FULL_PERCENT: u64 = 80;
/// The newest results that stay when room is made, and when there has to be much of it.
const KEPT: usize = 6;
const KEPT_AFTER_OVERFLOW: usize = 2;
/// A shorter result is not worth leaving out.
const SHORT_BYTES: usize = 400;
/// Most bytes of a result that stays after an overflow.
const KEPT_BYTES: usize = 4096;

const LEFT_OUT: &str = "[left out to make room; use the tool again if you need it]";

#[derive(Debug, Default)]
pub(super) struct History {
    messages: Vec<Message>,
    /// Tokens of the conversation up to the message of that number, as the API counted them.
    counted: Option<(usize, u64)>,
}

impl History {
    /// A conversation that was kept. Calls that no result followed, since the agent was ended, get one.
    pub(super) fn of(messages: Vec<Message>) -> Self {
        let mut history = Self::default();
        for message in messages {
            if !matches!(message, Message::Results { .. }) {
                history.repair();
            }
            history.messages.push(message);
        }
        history.repair();
        history
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Gives calls that will have no result one that says so, which is returned: APIs refuse what has none.
    pub(super) fn repair(&mut self) -> Option<&Message> {
        let Some(Message::Assistant(answer)) = self.messages.last() else {
            return None;
        };
        if answer.calls.is_empty() {
            return None;
        }
        let interrupted = answer.calls.iter().map(|call| ToolResult {
            call: call.id.clone(),
            text: "interrupted: nobody knows what came of it".to_owned(),
            ok: false,
        });
        let results = interrupted.collect();
        self.messages.push(Message::Results { results });
        self.messages.last()
    }

    /// Takes the API's count of a request with all messages so far, and of the answer that follows.
    pub(super) fn count(&mut self, tokens: Tokens) {
        if tokens.input > 0 {
            self.counted = Some((self.messages.len() + 1, tokens.input.saturating_add(tokens.output)));
        }
    }

    /// The tokens that the conversation has, about.
    pub(super) fn tokens(&self) -> u64 {
        let (from, counted) = self.counted.unwrap_or_default();
        let bytes: usize = self.messages.iter().skip(from).map(size).sum();
        counted + bytes as u64 / BYTES_PER_TOKEN
    }

    /// Makes room if the conversation is about to be longer than `budget` tokens. Returns how many results were left out.
    pub(super) fn fit(&mut self, budget: u64) -> usize {
        if self.tokens() <= budget / 100 * FULL_PERCENT {
            return 0;
        }
        self.shorten(KEPT, usize::MAX)
    }

    /// Makes as much room as there is to make. Returns how many results were left out or cut.
    pub(super) fn make_room(&mut self) -> usize {
        self.shorten(KEPT_AFTER_OVERFLOW, KEPT_BYTES)
    }

    fn shorten(&mut self, kept: usize, kept_bytes: usize) -> usize {
        let mut results: Vec<&mut ToolResult> = self
            .messages
            .iter_mut()
            .filter_map(|message| match message {
                Message::Results { results } => Some(results),
                Message::User { .. } | Message::Assistant(_) => None,
            })
            .flatten()
            .collect();
        let old = results.len().saturating_sub(kept);
        let mut shortened = 0;
        for (at, result) in results.iter_mut().enumerate() {
            if at < old && result.text.len() > SHORT_BYTES {
                LEFT_OUT.clone_into(&mut result.text);
                shortened += 1;
            } else if at >= old && result.text.len() > kept_bytes {
                result.text = crate::event::clip_middle(&result.text, kept_bytes);
                shortened += 1;
            }
        }
        if shortened > 0 {
            self.counted = None;
        }
        shortened
    }
}

/// Bytes that a message takes in a request, about.
fn size(message: &Message) -> usize {
    match message {
        Message::User { text } => text.len(),
        Message::Assistant(answer) => {
            let calls = answer.calls.iter().map(|call| call.name.len() + call.arguments.len());
            answer.text.len() + calls.sum::<usize>()
        }
        Message::Results { results } => results.iter().map(|result| result.text.len()).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::message::{Answer, Call};

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn answer(id: &str) -> Message {
        Message::Assistant(Answer {
            calls: vec![Call {
                id: id.to_owned(),
                ..Call::default()
            }],
            ..Answer::default()
        })
    }

    fn results(call: &str, bytes: usize) -> Message {
        Message::Results {
            results: vec![ToolResult {
                call: call.to_owned(),
                text: "x".repeat(bytes),
                ok: true,
            }],
        }
    }

    fn long() -> History {
        let calls: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let said = calls.iter().flat_map(|call| [answer(call), results(call, 4000)]);
        History::of(std::iter::once(user("Do it.")).chain(said).collect())
    }

    #[test]
    fn calls_that_were_interrupted_get_a_result() {
        let history = History::of(vec![user("a"), answer("1"), user("b"), answer("2")]);
        let result = |at: usize| matches!(&history.messages()[at], Message::Results { results } if !results[0].ok);
        assert_eq!(history.messages().len(), 6);
        assert!(result(2) && result(5));
        assert_eq!(
            History::of(history.messages().to_vec()).messages().len(),
            6,
            "only once"
        );
    }

    #[test]
    fn room_is_made_of_old_results_and_only_when_it_is_needed() {
        let mut history = long();
        assert_eq!(history.tokens(), 20_001);
        assert_eq!(history.fit(30_000), 0);
        assert_eq!(history.fit(20_000), 14);
        assert!(history.tokens() < 7_000, "{}", history.tokens());
        assert_eq!(history.messages().len(), 41, "every call still has a result");
        assert_eq!(history.fit(1), 0, "nothing is left that is worth it");
        assert_eq!(history.make_room(), 4);
    }

    #[test]
    fn a_count_of_the_api_stands_for_all_before_it() {
        let mut history = long();
        history.count(Tokens {
            input: 500,
            output: 50,
            ..Tokens::default()
        });
        history.push(answer("x"));
        history.push(results("x", 400));
        assert_eq!(history.tokens(), 650);
    }
}
