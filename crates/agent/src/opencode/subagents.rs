//! The subagents of a turn: sessions that uses of a tool create. Pure.

use ralph_core::event::{AgentSignal, SubagentReport};
use serde_json::Value;

use crate::{dialect::text, subagents::FollowedSubagents};

use super::wire::{MessagePart, ToolStatus};

#[derive(Debug, Default)]
pub(super) struct OpencodeSubagents {
    /// By the ids of their sessions.
    known: FollowedSubagents,
}

impl OpencodeSubagents {
    /// Takes a use of a tool, which belongs to a subagent if it tells a session.
    pub(super) fn tool(&mut self, part: &MessagePart, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let session = text(&part.raw, "/state/metadata/sessionId");
        let call = text(&part.raw, "/callID");
        if session.is_empty() {
            if part.tool_status() == ToolStatus::Failed && text(&part.raw, "/tool") == "task" {
                // It was allowed, and did not start.
                let subagent = Box::new(SubagentReport {
                    id: call.to_owned(),
                    ..SubagentReport::default()
                });
                out.push(AgentSignal::Subagent { subagent });
            }
            return;
        }
        let parent = self.known.id(&part.session);
        let title = match text(&part.raw, "/state/title") {
            "" => text(&part.raw, "/state/input/description"),
            title => title,
        };
        self.known.begin(session, (call, parent, title), now_ms, out);
        if matches!(part.tool_status(), ToolStatus::Completed | ToolStatus::Failed) {
            self.known.change(session, out, |report| report.running = false);
        }
    }

    /// Adds the usage of a step of a session.
    pub(super) fn spent(&mut self, session: &str, usage: &Value, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let Some(AgentSignal::Usage { usage }) = crate::dialect::usage(usage) else {
            return;
        };
        // Its tool is told later, or belongs to an earlier turn.
        self.known.begin(session, (session, None, ""), now_ms, out);
        self.known.spend(session, now_ms, out, |so_far| so_far.plus(usage));
    }
}
