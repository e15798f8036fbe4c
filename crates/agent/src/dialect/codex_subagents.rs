//! The subagents of codex, which are threads of their own.
//!
//! A `collab_tool_call` tells that one was started and how it is since. On the live channel their turns and their usage
//! are told as well; `codex exec` tells neither.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, SubagentReport, Usage, clip};
use serde_json::Value;

use super::{
    excerpt::TEXT_CAP_BYTES,
    fields::{array, text},
};

/// Most threads that are followed.
const KNOWN_CAP: usize = 4096;
/// The time between two reports on the usage of a subagent.
const USAGE_EVERY_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(crate) struct CodexSubagents {
    /// By the ids of their threads.
    known: HashMap<String, FollowedThread>,
}

#[derive(Debug)]
struct FollowedThread {
    report: SubagentReport,
    /// The usage of the thread when it was last told.
    seen: Option<Usage>,
    told_ms: u64,
}

impl CodexSubagents {
    /// Takes a finished item; `own` is the thread of the agent itself.
    pub(super) fn take(&mut self, item: &Value, own: Option<&str>, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let field = |exec: &str, live: &str| item.get(exec).or_else(|| item.get(live)).unwrap_or(&Value::Null);
        let sender = field("sender_thread_id", "senderThreadId").as_str();
        let parent = sender.filter(|sender| Some(*sender) != own && self.known.contains_key(*sender));
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
        self.set_running(thread, true, out);
    }

    pub(crate) fn turn_ended(&mut self, thread: &str, out: &mut Vec<AgentSignal>) {
        self.set_running(thread, false, out);
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
        let found = self.known.get_mut(thread)?;
        // A thread that was forked begins with the usage of the other.
        let new = found.seen.replace(total).map_or(last, |seen| total.since(seen));
        found.report.usage = found.report.usage.plus(new);
        if now_ms.saturating_sub(found.told_ms) >= USAGE_EVERY_MS {
            found.told_ms = now_ms;
            found.tell(out);
        }
        Some(new)
    }

    fn begin(&mut self, thread: &str, parent: Option<&str>, title: &str, now_ms: u64, out: &mut Vec<AgentSignal>) {
        if let Some(found) = self.known.get_mut(thread) {
            // Its turn may be told before its start.
            if found.report.title.is_empty() && !title.is_empty() {
                found.report.title = clip(title, TEXT_CAP_BYTES);
                found.report.parent = parent.map(str::to_owned);
                found.tell(out);
            }
            return;
        }
        if thread.is_empty() || self.known.len() == KNOWN_CAP {
            return;
        }
        let report = SubagentReport {
            id: thread.to_owned(),
            parent: parent.map(str::to_owned),
            title: clip(title, TEXT_CAP_BYTES),
            running: true,
            usage: Usage::default(),
        };
        let followed = FollowedThread {
            report,
            seen: None,
            told_ms: now_ms,
        };
        followed.tell(out);
        self.known.insert(thread.to_owned(), followed);
    }

    fn set_running(&mut self, thread: &str, running: bool, out: &mut Vec<AgentSignal>) {
        if let Some(found) = self
            .known
            .get_mut(thread)
            .filter(|found| found.report.running != running)
        {
            found.report.running = running;
            found.tell(out);
        }
    }
}

impl FollowedThread {
    fn tell(&self, out: &mut Vec<AgentSignal>) {
        out.push(AgentSignal::Subagent {
            subagent: Box::new(self.report.clone()),
        });
    }
}
