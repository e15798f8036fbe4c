//! Converts the `session/update` notifications of a turn to signals.

use ralph_core::event::{AgentSignal, Usage, clip_start};
use serde_json::Value;

use super::tools::{AcpToolUse, AcpToolUses, is_end};
use crate::dialect::{TEXT_CAP_BYTES, TodoList, UnknownReports, ZonedClock, number, text};

#[derive(Debug, Default)]
pub(super) struct AcpUpdates {
    unknown: UnknownReports,
    pub(super) tools: AcpToolUses,
    /// The text that is being written.
    writing: PartialMessage,
    /// The last complete message.
    message: Option<String>,
    todos: TodoList,
    /// Whether the agent's token counts are ignored.
    without_tokens: bool,
    /// The session's cost when the turn began, and now.
    cost_before: Option<f64>,
    cost: Option<f64>,
    /// The usage of the turn reported so far.
    told: Usage,
}

#[derive(Debug, Default)]
struct PartialMessage {
    kind: ChunkKind,
    /// The agent's id of the message, if any.
    id: String,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ChunkKind {
    #[default]
    Said,
    Thought,
}

impl AcpUpdates {
    /// Begins a turn of a new or an existing session.
    pub(super) fn begin(&mut self, is_new: bool, without_tokens: bool) {
        self.without_tokens = without_tokens;
        self.cost_before = if is_new { Some(0.0) } else { self.cost };
        self.told = Usage::default();
    }

    /// Takes an update from before the turn, of which only the session's cost matters.
    pub(super) fn take_before(&mut self, update: &Value) {
        self.take_cost(update);
    }

    pub(super) fn take(&mut self, update: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match text(update, "/sessionUpdate") {
            "agent_message_chunk" => self.grow(ChunkKind::Said, update, out),
            "agent_thought_chunk" => self.grow(ChunkKind::Thought, update, out),
            "tool_call" | "tool_call_update" => {
                // The text after the end of a use is another answer of the model. An agent that names its messages says so
                // itself: another one may still be writing beside the tool.
                let ends_unnamed = self.writing.id.is_empty() && is_end(text(update, "/status"));
                if ends_unnamed || !self.tools.knows(text(update, "/toolCallId")) {
                    self.say(out);
                }
                self.tools.take(update, clock, out);
            }
            "plan" => self.take_plan(update, out),
            "usage_update" => {
                self.take_cost(update);
                self.tell_usage(&update["_meta"], out);
            }
            "user_message_chunk"
            | "available_commands_update"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update" => {}
            other => {
                let other = other.to_owned();
                self.unknown.report(&other, || format!("unknown update {update}"), out);
            }
        }
    }

    fn grow(&mut self, kind: ChunkKind, update: &Value, out: &mut Vec<AgentSignal>) {
        let id = text(update, "/messageId");
        if self.writing.kind != kind || self.writing.id != id {
            self.say(out);
            self.writing = PartialMessage {
                kind,
                id: id.to_owned(),
                text: String::new(),
            };
        }
        let piece = text(update, "/content/text").to_owned();
        if piece.is_empty() {
            return;
        }
        let writing = &mut self.writing;
        writing.text.push_str(&piece);
        if writing.text.len() > 2 * TEXT_CAP_BYTES {
            writing.text = clip_start(&writing.text, TEXT_CAP_BYTES);
        }
        out.push(match kind {
            ChunkKind::Said => AgentSignal::TextDelta { text: piece },
            ChunkKind::Thought => AgentSignal::ThoughtDelta { text: piece },
        });
    }

    /// Takes the use of a tool that the agent asks about. Some agents do not announce a use before.
    pub(super) fn ask(&mut self, call: &Value, out: &mut Vec<AgentSignal>) -> AcpToolUse {
        self.say(out);
        self.tools.ask(call)
    }

    /// Reports the text whose pieces have arrived, if any.
    pub(super) fn say(&mut self, out: &mut Vec<AgentSignal>) {
        let said = clip_start(&std::mem::take(&mut self.writing.text), TEXT_CAP_BYTES);
        match self.writing.kind {
            _ if said.is_empty() => {}
            ChunkKind::Said => {
                self.message = Some(said.clone());
                out.push(AgentSignal::Said { text: said });
            }
            ChunkKind::Thought => out.push(AgentSignal::Thought { text: said }),
        }
    }

    fn take_plan(&mut self, update: &Value, out: &mut Vec<AgentSignal>) {
        let entries = &update["entries"];
        if self.todos.are_new(entries) {
            self.say(out);
            self.todos.report(entries.clone(), out);
        }
    }

    fn take_cost(&mut self, update: &Value) {
        let cost = &update["cost"];
        if text(cost, "/currency") == "USD" {
            self.cost = cost["amount"].as_f64().or(self.cost);
        }
    }

    /// Reports the new usage of the turn: its cost, and its tokens from `counts`.
    ///
    /// The protocol reports tokens only in the result of a turn. ralph's own agent reports them in the `_meta` of each
    /// `usage_update`.
    fn tell_usage(&mut self, counts: &Value, out: &mut Vec<AgentSignal>) {
        let cost = self.cost.zip(self.cost_before).map(|(cost, before)| cost - before);
        let tokens = match self.without_tokens {
            true => Usage::default(),
            false => tokens(counts),
        };
        let usage = Usage {
            cost_usd: cost.filter(|cost| *cost > 0.0),
            ..tokens
        };
        let more = usage.since(self.told);
        let is_first = self.told == Usage::default() && usage != Usage::default();
        if is_first || more.tokens() > Some(0) || more.cost_usd > Some(0.0) {
            self.told = self.told.plus(more);
            out.push(AgentSignal::Usage { usage: more });
        }
    }

    /// Ends the turn: reports pending text and usage. Returns the last message.
    pub(super) fn end(&mut self, result: &Value, out: &mut Vec<AgentSignal>) -> Option<String> {
        self.say(out);
        self.tell_usage(result, out);
        self.message.take()
    }
}

/// The tokens of a turn, from the result of its prompt, the `_meta` of it or an equivalent `_meta`.
fn tokens(result: &Value) -> Usage {
    let counts = result.pointer("/_meta/usage").unwrap_or(&result["usage"]);
    let usage = |name: &str| number(counts, &format!("/{name}"));
    let quota = |name: &str| number(result, &format!("/_meta/quota/token_count/{name}"));
    let Some((input, output)) = usage("inputTokens").zip(usage("outputTokens")) else {
        return Usage {
            input_tokens: quota("input_tokens"),
            output_tokens: quota("output_tokens"),
            ..Usage::default()
        };
    };
    let sum = |names: [&str; 2]| names.into_iter().filter_map(usage).fold(0, u64::saturating_add);
    let cached = sum(["cachedReadTokens", "cachedWriteTokens"]);
    // Some agents include the cache in the input, others report it separately: the total shows which.
    let (input, output) = match usage("totalTokens") {
        Some(total) if total == input.saturating_add(output) => (input, output),
        _ => (
            input.saturating_add(cached),
            output.saturating_add(usage("thoughtTokens").unwrap_or_default()),
        ),
    };
    Usage {
        input_tokens: Some(input),
        cached_tokens: usage("cachedReadTokens"),
        output_tokens: Some(output),
        ..Usage::default()
    }
}
