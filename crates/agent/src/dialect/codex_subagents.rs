//! The subagents of codex, which are threads of their own.
//!
//! A `collab_tool_call` tells that one was started and how it is since. On the live channel their turns and their usage
//! are told as well; `codex exec` tells neither.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, TEXT_CAP_BYTES, Usage, clip};
use serde_json::Value;

use super::fields::{array, text};
use crate::subagents::FollowedSubagents;

#[derive(Debug, Default)]
pub(crate) struct CodexSubagents {
    /// By the ids of their threads.
    known: FollowedSubagents,
    /// The usage of threads when it was last told.
    seen: HashMap<String, Usage>,
}

impl CodexSubagents {
    /// Takes a finished item; `own` is the thread of the agent itself.
    pub(super) fn take(&mut self, item: &Value, own: Option<&str>, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let field = |exec: &str, live: &str| item.get(exec).or_else(|| item.get(live)).unwrap_or(&Value::Null);
        let sender = field("sender_thread_id", "senderThreadId").as_str();
        let parent = sender.filter(|sender| Some(*sender) != own && self.known.get(sender).is_some());
        let parent = parent.map(str::to_owned);
        if matches!(text(item, "/tool"), "spawn_agent" | "spawnAgent") {
            let threads = array(field("receiver_thread_ids", "receiverThreadIds"), "");
            for thread in threads.filter_map(Value::as_str) {
                self.begin(thread, parent.as_deref(), text(item, "/prompt"), now_ms, out);
            }
        }
        let states = field("agents_states", "agentsStates").as_object();
        for (thread, state) in states.into_iter().flatten() {
            match text(state, "/status") {
                "pending_init" | "pendingInit" | "running" => {}
                _ => self.turn_ended(thread, out),
            }
        }
    }

    /// Notes that a thread works.
    pub(crate) fn turn_started(&mut self, thread: &str, now_ms: u64, out: &mut Vec<AgentSignal>) {
        self.begin(thread, None, "", now_ms, out);
        self.known.change(thread, out, |report| report.running = true);
    }

    pub(crate) fn turn_ended(&mut self, thread: &str, out: &mut Vec<AgentSignal>) {
        self.known.change(thread, out, |report| report.running = false);
    }

    /// Takes the usage of a thread so far, of which `last` is that of its last request. Returns what is new.
    pub(crate) fn used(
        &mut self,
        thread: &str,
        (total, last): (Usage, Usage),
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
    ) -> Option<Usage> {
        self.begin(thread, None, "", now_ms, out);
        self.known.get(thread)?;
        // A thread that was forked begins with the usage of the other.
        let seen = self.seen.insert(thread.to_owned(), total);
        let new = seen.map_or(last, |seen| total.since(seen));
        self.known.spend(thread, now_ms, out, |so_far| so_far.plus(new));
        Some(new)
    }

    fn begin(&mut self, thread: &str, parent: Option<&str>, title: &str, now_ms: u64, out: &mut Vec<AgentSignal>) {
        self.known
            .begin(thread, (thread, parent.map(str::to_owned), title), now_ms, out);
        // Its turn may be told before its start.
        self.known.change(thread, out, |report| {
            if report.title.is_empty() && !title.is_empty() {
                report.title = clip(title, TEXT_CAP_BYTES);
                report.parent = parent.map(str::to_owned);
            }
        });
    }
}
