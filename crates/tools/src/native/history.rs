//! A conversation, shortened when it grows too long: a summary takes the place of old steps, or old tool results are left
//! out, and old output of the model (arguments of calls, texts, thoughts). The latest of these and all user messages are
//! kept.
//!
//! Tokens are estimated at four bytes each, which is slightly too many for code and English. A lower count of the API
//! is ignored for this purpose: some APIs silently truncate a long conversation and count the rest.

use serde_json::{Map, Value};

use super::message::{ChatMessage, ModelAnswer, ReasoningProof, TokenUsage, ToolResult};

const BYTES_PER_TOKEN: u64 = 4;
/// The estimated size of the JSON around each part of a request.
const FRAME_BYTES: usize = 60;
/// The percentage of the budget above which a conversation is too long, so that an answer fits in.
const FULL_PERCENT: u64 = 80;
/// The percentage of the window that neither the request nor the answer uses.
const SPARE_PERCENT: u64 = 5;
/// The part of the conversation that stays besides a summary, and the most of the summary itself: a quarter each.
const KEPT_SHARE: u64 = 4;
/// The numbers of latest results that are kept, normally and after an overflow.
const KEPT: usize = 6;
const KEPT_AFTER_OVERFLOW: usize = 2;
/// Shorter parts are never left out.
const SHORT_BYTES: usize = 400;
/// Shorter arguments of a call are kept when the others are left out.
const SHORT_ARGUMENT_BYTES: usize = 120;
/// Most bytes of a kept part after an overflow, and of one if that was not enough.
const KEPT_BYTES: usize = 4096;
const FEW_BYTES: usize = 1024;

const LEFT_OUT: &str = "[left out to make room; use the tool again if you need it]";
const TEXT_LEFT_OUT: &str = "[left out to make room]";
const STEPS_LEFT_OUT: &str =
    "[Earlier steps of this work are left out to make room. The files show what came of them.]";
/// The beginning of the message that has the summary of old steps.
const SUMMARY: &str = "[Summary of the earlier steps of this work, which are left out to make room]\n\n";
/// Replaces an argument that was left out. A call in which the model copies it into a file is refused.
pub(super) const ARGUMENT_LEFT_OUT: &str = "[left out of the conversation to make room; it was carried out as written]";

#[derive(Debug, Default)]
pub(super) struct ChatHistory {
    messages: Vec<ChatMessage>,
    /// The number of messages and their tokens, as the API last counted them.
    counted: Option<(usize, u64)>,
    /// The tokens of a request without its messages: the instructions and the tools.
    beside: u64,
}

impl ChatHistory {
    /// Restores a stored conversation. Calls without a result, since the agent was ended, get one.
    pub(super) fn restored(messages: Vec<ChatMessage>) -> Self {
        let mut history = Self::default();
        for message in messages {
            if !matches!(message, ChatMessage::Results { .. }) {
                history.repair();
            }
            history.messages.push(message);
        }
        history.repair();
        history
    }

    pub(super) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    pub(super) fn push(&mut self, message: ChatMessage) {
        self.messages.push(message);
    }

    /// Adds a result to calls that will not get one, and returns it: APIs refuse calls without a result.
    pub(super) fn repair(&mut self) -> Option<&ChatMessage> {
        let Some(ChatMessage::Assistant(answer)) = self.messages.last() else {
            return None;
        };
        if answer.calls.is_empty() {
            return None;
        }
        let interrupted = answer.calls.iter().map(|call| ToolResult {
            call: call.id.clone(),
            text: "interrupted: nobody knows what came of it".to_owned(),
            ..ToolResult::default()
        });
        let results = interrupted.collect();
        self.messages.push(ChatMessage::Results { results });
        self.messages.last()
    }

    /// Records the API's count of a request with all present messages, and of its answer.
    pub(super) fn count(&mut self, tokens: TokenUsage) {
        if tokens.input > 0 {
            self.counted = Some((self.messages.len() + 1, tokens.input.saturating_add(tokens.output)));
        }
    }

    /// The approximate tokens of the conversation.
    pub(super) fn tokens(&self) -> u64 {
        match self.counted {
            Some((from, counted)) => counted + estimated(&self.messages[from.min(self.messages.len())..]),
            None => self.estimate(),
        }
    }

    /// Estimates the tokens of a request from its length alone.
    fn estimate(&self) -> u64 {
        self.beside + estimated(&self.messages)
    }

    /// Removes all thoughts, and returns their number.
    pub(super) fn forget_thoughts(&mut self) -> usize {
        let mut forgotten = 0;
        for message in &mut self.messages {
            if let ChatMessage::Assistant(answer) = message {
                forgotten += answer.thoughts.len();
                answer.thoughts.clear();
            }
        }
        forgotten
    }

    /// How many tokens of `window` are left for the answer. Some stay free, since both the estimate and the count of the
    /// API may be too low.
    pub(super) fn room(&self, window: u64) -> u64 {
        let spare = window / 100 * SPARE_PERCENT;
        window.saturating_sub(spare.saturating_add(self.tokens().max(self.estimate())))
    }

    /// Whether the next request would exceed the share of `window` that leaves room for an answer. `beside` are the tokens
    /// for instructions and tools.
    pub(super) fn is_full(&mut self, window: u64, beside: u64) -> bool {
        self.beside = beside;
        self.tokens().max(self.estimate()) > fullest(window)
    }

    /// The old steps that a summary can take the place of: all but the task and the latest steps. `None` if they are too
    /// few to be worth it.
    pub(super) fn old_steps(&self, window: u64) -> Option<&[ChatMessage]> {
        let share = fullest(window) / KEPT_SHARE;
        let (mut end, mut kept) = (self.messages.len(), 0);
        for (at, message) in self.messages.iter().enumerate().skip(1).rev() {
            kept += size(message);
            if end < self.messages.len() && tokens_of(kept) > share {
                break;
            }
            // Results stay with their calls.
            if !matches!(message, ChatMessage::Results { .. }) {
                end = at;
            }
        }
        let old = self.messages.get(1..end)?;
        (estimated(old) > share).then_some(old)
    }

    /// Replaces the `count` messages after the task by a summary. What the user said among them stays.
    pub(super) fn sum_up(&mut self, count: usize, summary: &str, window: u64) {
        let cap_bytes = usize::try_from(fullest(window) / KEPT_SHARE * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let summary = ralph_core::event::clip_middle(summary.trim(), cap_bytes);
        let old: Vec<ChatMessage> = self.messages.drain(1..=count).collect();
        let is_said = |message: &ChatMessage| matches!(message, ChatMessage::User { text, .. } if !text.starts_with(SUMMARY) && text != STEPS_LEFT_OUT);
        let said = old.into_iter().filter(is_said);
        let summary = ChatMessage::user(format!("{SUMMARY}{summary}"));
        self.messages.splice(1..1, std::iter::once(summary).chain(said));
        self.counted = None;
    }

    /// Makes room if the next request would exceed `budget` tokens, of which `beside` are for instructions and tools.
    /// Returns the number of parts that were left out or cut.
    pub(super) fn fit(&mut self, budget: u64, beside: u64) -> usize {
        self.beside = beside;
        let most = fullest(budget);
        let steps: [fn(&mut Self, u64) -> usize; 6] = [
            |history, _| history.shorten(KEPT, usize::MAX),
            |history, most| history.drop_oldest(KEPT, most / 2),
            |history, _| history.shorten(KEPT_AFTER_OVERFLOW, usize::MAX),
            |history, _| history.shorten(KEPT_AFTER_OVERFLOW, KEPT_BYTES),
            |history, _| history.shorten(0, FEW_BYTES) + history.shorten_prompts(),
            |history, most| history.drop_oldest(1, most / 2),
        ];
        let mut shortened = 0;
        for step in steps {
            if self.tokens().max(self.estimate()) <= most {
                break;
            }
            shortened += step(self, most);
        }
        shortened
    }

    /// Makes room after the API reported an overflow. Returns the number of parts that were left out or cut.
    pub(super) fn make_room(&mut self) -> usize {
        match self.shorten(KEPT_AFTER_OVERFLOW, KEPT_BYTES) {
            0 => self.drop_oldest(1, self.estimate() / 2),
            shortened => shortened,
        }
    }

    /// Leaves out long parts, except for the latest `kept` of each kind, which are cut to `kept_bytes`.
    fn shorten(&mut self, kept: usize, kept_bytes: usize) -> usize {
        let (mut results, mut calls, mut answers) = (0, 0, 0);
        let mut shortened = 0;
        for message in self.messages.iter_mut().rev() {
            match message {
                ChatMessage::User { .. } => {}
                ChatMessage::Results { results: of_answer } => {
                    for result in of_answer.iter_mut().rev() {
                        shortened += cut(&mut result.text, results < kept, kept_bytes, LEFT_OUT);
                        results += 1;
                    }
                }
                ChatMessage::Assistant(answer) => {
                    for call in answer.calls.iter_mut().rev() {
                        let most = if calls < kept { kept_bytes } else { SHORT_BYTES };
                        if call.arguments.len() > most {
                            call.arguments = short_arguments(&call.arguments);
                            shortened += 1;
                        }
                        calls += 1;
                    }
                    shortened += cut(&mut answer.text, answers < kept, kept_bytes, TEXT_LEFT_OUT);
                    // The thoughts of the latest answer are sent back with its results.
                    if answers >= kept.max(1) && !answer.thoughts.is_empty() {
                        answer.thoughts.clear();
                        shortened += 1;
                    }
                    answers += 1;
                }
            }
        }
        if shortened > 0 {
            self.counted = None;
        }
        shortened
    }

    /// Cuts the prompts of old turns, as in a session that spans many iterations.
    fn shorten_prompts(&mut self) -> usize {
        let old = self
            .messages
            .iter_mut()
            .skip(1)
            .rev()
            .filter_map(|message| match message {
                ChatMessage::User { text } => Some(text),
                ChatMessage::Assistant(_) | ChatMessage::Results { .. } => None,
            });
        let cut = old.skip(KEPT).map(|text| cut(text, true, FEW_BYTES, TEXT_LEFT_OUT));
        let shortened = cut.sum::<usize>();
        if shortened > 0 {
            self.counted = None;
        }
        shortened
    }

    /// Removes the oldest answers with their results until about `most` tokens are left; `kept` results stay. If only
    /// the API's count is too high, half of the messages are removed. Returns the number of removed messages.
    fn drop_oldest(&mut self, kept: usize, most: u64) -> usize {
        let is_result = |message: &ChatMessage| matches!(message, ChatMessage::Results { .. });
        let half = if self.counted.is_some() {
            self.messages.len() / 2
        } else {
            0
        };
        let mut bytes: usize = self.messages.iter().map(size).sum();
        let mut results = self.messages.iter().filter(|message| is_result(message)).count();
        let mut end = 1;
        for (at, message) in self.messages.iter().enumerate().skip(1) {
            if !is_result(message) {
                if results < kept {
                    break;
                }
                end = at;
                if self.beside + tokens_of(bytes) <= most && at >= half {
                    break;
                }
            }
            match message {
                ChatMessage::User { .. } => {}
                ChatMessage::Assistant(_) => bytes -= size(message),
                ChatMessage::Results { .. } => {
                    bytes -= size(message);
                    results -= 1;
                }
            }
        }
        let before = self.messages.len();
        let mut at = 0;
        self.messages.retain(|message| {
            at += 1;
            at == 1 || at > end || matches!(message, ChatMessage::User { .. })
        });
        let dropped = before - self.messages.len();
        if dropped > 0 {
            self.counted = None;
            let is_note =
                |message: &ChatMessage| matches!(message, ChatMessage::User { text, .. } if text == STEPS_LEFT_OUT);
            if !self.messages.iter().any(is_note) {
                self.messages.insert(1, ChatMessage::user(STEPS_LEFT_OUT));
            }
        }
        dropped
    }
}

/// Most tokens of a request to a model with this window.
fn fullest(window: u64) -> u64 {
    window / 100 * FULL_PERCENT
}

/// Leaves out a long text, or cuts it to `kept_bytes` if `is_kept`. Returns 1 if it became shorter.
fn cut(text: &mut String, is_kept: bool, kept_bytes: usize, left_out: &str) -> usize {
    let most = if is_kept { kept_bytes } else { SHORT_BYTES };
    if text.len() <= most {
        return 0;
    }
    *text = match is_kept {
        true => ralph_core::event::clip_middle(text, kept_bytes),
        false => left_out.to_owned(),
    };
    1
}

/// The arguments of a call without long values. The result is an object, since APIs accept nothing else.
fn short_arguments(written: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(written).unwrap_or_default();
    let short = |value: Value| match value.to_string().len() > SHORT_ARGUMENT_BYTES {
        true => Value::from(ARGUMENT_LEFT_OUT),
        false => value,
    };
    let fields: Map<String, Value> = fields.into_iter().map(|(name, value)| (name, short(value))).collect();
    let short = Value::Object(fields).to_string();
    if short.len() > SHORT_BYTES {
        "{}".to_owned()
    } else {
        short
    }
}

/// The approximate number of tokens in a text of this size.
pub(super) fn tokens_of(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

fn estimated(messages: &[ChatMessage]) -> u64 {
    tokens_of(messages.iter().map(size).sum())
}

/// The approximate size of a message in a request.
fn size(message: &ChatMessage) -> usize {
    let parts = match message {
        ChatMessage::User { text } => text.len(),
        ChatMessage::Assistant(answer) => size_of_answer(answer),
        ChatMessage::Results { results } => results
            .iter()
            .map(|result| result.call.len() + result.text.len() + FRAME_BYTES)
            .sum(),
    };
    parts + FRAME_BYTES
}

fn size_of_answer(answer: &ModelAnswer) -> usize {
    let calls = answer.calls.iter();
    let calls = calls.map(|call| call.id.len() + call.name.len() + call.arguments.len() + FRAME_BYTES);
    let thoughts = answer.thoughts.iter().map(|thought| match &thought.proof {
        ReasoningProof::Unsigned => 0,
        ReasoningProof::Redacted(data) => data.len(),
        ReasoningProof::Signature(proof) | ReasoningProof::Encrypted { content: proof, .. } => {
            thought.text.len() + proof.len() + FRAME_BYTES
        }
        ReasoningProof::Field(_) => thought.text.len(),
    });
    answer.text.len() + calls.sum::<usize>() + thoughts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::native::message::{ModelCall, Reasoning};

    fn user(text: &str) -> ChatMessage {
        ChatMessage::user(text)
    }

    fn answer(id: &str) -> ChatMessage {
        ChatMessage::Assistant(ModelAnswer {
            calls: vec![ModelCall {
                id: id.to_owned(),
                ..ModelCall::default()
            }],
            ..ModelAnswer::default()
        })
    }

    fn results(call: &str, bytes: usize) -> ChatMessage {
        ChatMessage::Results {
            results: vec![ToolResult {
                call: call.to_owned(),
                text: "x".repeat(bytes),
                ok: true,
            }],
        }
    }

    fn long() -> ChatHistory {
        let calls: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let said = calls.iter().flat_map(|call| [answer(call), results(call, 4000)]);
        ChatHistory::restored(std::iter::once(user("Do it.")).chain(said).collect())
    }

    #[test]
    fn calls_that_were_interrupted_get_a_result() {
        let history = ChatHistory::restored(vec![user("a"), answer("1"), user("b"), answer("2")]);
        let result = |at: usize| matches!(&history.messages()[at], ChatMessage::Results { results } if !results[0].ok);
        assert_eq!(history.messages().len(), 6);
        assert!(result(2) && result(5));
        assert_eq!(
            ChatHistory::restored(history.messages().to_vec()).messages().len(),
            6,
            "only once"
        );
    }

    /// A conversation with `count` uses of `write`, each with a text and thoughts.
    fn written(count: usize, bytes: usize) -> ChatHistory {
        let uses = (0..count).flat_map(|number| {
            let id = number.to_string();
            let arguments = json!({"path": format!("{number}.txt"), "content": "x".repeat(bytes)}).to_string();
            let answer = ModelAnswer {
                thoughts: vec![Reasoning {
                    text: "Hm. ".repeat(200),
                    proof: ReasoningProof::Signature("signed".to_owned()),
                }],
                text: "I write it. ".repeat(100),
                calls: vec![ModelCall {
                    id: id.clone(),
                    name: "write".to_owned(),
                    arguments,
                }],
            };
            [ChatMessage::Assistant(answer), results(&id, 20)]
        });
        ChatHistory::restored(std::iter::once(user("Do it.")).chain(uses).collect())
    }

    /// Whether each answer with calls is directly followed by its results, and the task is still present.
    fn is_whole(history: &ChatHistory) -> bool {
        let messages = history.messages();
        let mut pairs = messages.iter().zip(messages.iter().skip(1));
        let has_results = |(one, next): (&ChatMessage, &ChatMessage)| match (one, next) {
            (ChatMessage::Assistant(answer), ChatMessage::Results { results }) => {
                let asked: Vec<_> = answer.calls.iter().map(|call| &call.id).collect();
                asked == results.iter().map(|result| &result.call).collect::<Vec<_>>()
            }
            (ChatMessage::Assistant(answer), _) => answer.calls.is_empty(),
            (_, ChatMessage::Results { .. }) => false,
            (_, _) => true,
        };
        messages[0] == user("Do it.") && pairs.all(has_results)
    }

    #[test]
    fn room_is_made_of_old_results_first_and_only_when_it_is_needed() {
        let mut history = long();
        assert_eq!(history.tokens(), 21_231);
        assert_eq!(history.fit(30_000, 0), 0);
        assert_eq!(history.fit(20_000, 0), 14);
        assert!(history.tokens() < 7_500, "{}", history.tokens());
        assert_eq!(history.messages().len(), 41, "every call still has a result");
        assert_eq!(history.make_room(), 4);
    }

    #[test]
    fn what_the_model_wrote_long_ago_is_left_out_as_well_and_no_request_exceeds_the_limit() {
        for (count, bytes, beside) in [(50, 4096, 2_000), (400, 100, 2_000), (3, 200_000, 0)] {
            let mut history = written(0, 0);
            for message in &written(count, bytes).messages()[1..] {
                history.push(message.clone());
                if matches!(message, ChatMessage::Results { .. }) {
                    history.fit(16_000, beside);
                    let tokens = history.estimate();
                    assert!(tokens <= 12_800, "{tokens} with {} messages", history.messages().len());
                    assert!(is_whole(&history), "{history:?}");
                }
            }
        }
        let mut history = written(20, 4096);
        history.fit(20_000, 2_000);
        let ChatMessage::Assistant(first) = &history.messages()[1] else {
            panic!("no answer")
        };
        let arguments = json!({"path": "0.txt", "content": ARGUMENT_LEFT_OUT}).to_string();
        assert_eq!((&first.calls[0].arguments, first.thoughts.len()), (&arguments, 0));
        assert_eq!(first.text, TEXT_LEFT_OUT);
        let ChatMessage::Assistant(newest) = &history.messages()[39] else {
            panic!("no answer")
        };
        assert!(newest.calls[0].arguments.len() > 4096 && newest.thoughts.len() == 1);
    }

    #[test]
    fn where_nothing_is_long_the_oldest_steps_are_dropped_and_what_the_user_said_stays() {
        let mut history = written(400, 100);
        history.push(user("Use tabs."));
        assert!(history.fit(16_000, 0) > 0);
        assert!(is_whole(&history));
        assert_eq!(history.messages()[1], user(STEPS_LEFT_OUT));
        assert!(history.messages().contains(&user("Use tabs.")));
        let notes = history
            .messages()
            .iter()
            .filter(|message| **message == user(STEPS_LEFT_OUT));
        assert_eq!(notes.count(), 1);
    }

    #[test]
    fn a_summary_takes_the_place_of_old_steps_and_the_next_one_takes_its_place() {
        let mut history = written(0, 0);
        let mut summaries = 0;
        for (at, message) in written(400, 600).messages()[1..].iter().enumerate() {
            history.push(message.clone());
            if at == 21 {
                history.push(user("Use tabs."));
            }
            if matches!(message, ChatMessage::Results { .. }) && history.is_full(16_000, 2_000) {
                let before = history.tokens();
                let count = history.old_steps(16_000).expect("old steps").len();
                summaries += 1;
                history.sum_up(count, &format!("Summary {summaries}."), 16_000);
                assert!(history.tokens() < before / 2, "{} of {before}", history.tokens());
                assert!(is_whole(&history), "{history:?}");
                let starts = |message: &&ChatMessage| matches!(message, ChatMessage::User { text, .. } if text.starts_with(SUMMARY));
                assert_eq!(history.messages().iter().filter(starts).count(), 1);
                assert_eq!(history.messages()[1], user(&format!("{SUMMARY}Summary {summaries}.")));
                assert!(history.messages().contains(&user("Use tabs.")));
                let last = history.messages().last();
                assert_eq!(last, Some(message), "the latest step stays");
            }
        }
        assert!(summaries > 5, "{summaries}");
        history.sum_up(1, &"x".repeat(1 << 20), 16_000);
        assert!(history.messages()[1..2].iter().map(size).sum::<usize>() < 13_000);
    }

    #[test]
    fn one_step_that_is_too_long_is_nothing_to_sum_up() {
        let history = ChatHistory::restored(vec![user("Do it."), answer("1"), results("1", 100_000)]);
        assert_eq!(history.old_steps(16_000), None);
        assert_eq!(ChatHistory::restored(vec![user("Do it.")]).old_steps(16_000), None);
        assert_eq!(ChatHistory::default().old_steps(16_000), None);
    }

    #[test]
    fn prompts_of_turns_long_ago_are_cut_and_those_of_now_stay() {
        let prompt = "Do the next task. ".repeat(400);
        let turns = (0..20).flat_map(|number| {
            [
                user(&prompt),
                answer(&number.to_string()),
                results(&number.to_string(), 9),
            ]
        });
        let mut history = ChatHistory::restored(turns.collect());
        assert!(history.fit(24_000, 0) > 0);
        assert!(history.estimate() <= 19_200, "{}", history.estimate());
        let whole = history.messages().iter().filter(|message| **message == user(&prompt));
        assert_eq!(whole.count(), 1 + KEPT, "the first, which has the task, and the newest");
    }

    #[test]
    fn a_server_that_counts_too_little_is_not_believed() {
        let mut history = written(50, 4096);
        history.count(TokenUsage {
            input: 900,
            output: 5,
            ..TokenUsage::default()
        });
        assert!(history.fit(16_000, 2_000) > 0);
        assert!(history.estimate() <= 12_800, "{}", history.estimate());
    }

    #[test]
    fn a_count_of_the_api_stands_for_all_before_it() {
        let mut history = long();
        history.count(TokenUsage {
            input: 500,
            output: 50,
            ..TokenUsage::default()
        });
        history.push(answer("x"));
        history.push(results("x", 400));
        assert_eq!(history.tokens(), 550 + 521 / 4, "the answer is in the count");
    }
}
