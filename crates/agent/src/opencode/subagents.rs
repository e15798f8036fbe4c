//! The subagents of a turn: sessions that uses of a tool create. Pure.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, SubagentReport, Usage, clip};
use serde_json::Value;

use crate::dialect::{TEXT_CAP_BYTES, text};

use super::wire::{MessagePart, ToolStatus};

/// The time between two reports on the usage of a subagent.
const USAGE_EVERY_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct OpencodeSubagents {
    /// By the ids of their sessions.
    known: HashMap<String, FollowedSession>,
}

#[derive(Debug)]
struct FollowedSession {
    report: SubagentReport,
    told_ms: u64,
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
        let parent = self.known.get(&part.session).map(|parent| parent.report.id.clone());
        let title = match text(&part.raw, "/state/title") {
            "" => text(&part.raw, "/state/input/description"),
            title => title,
        };
        let report = SubagentReport {
            id: call.to_owned(),
            parent,
            title: clip(title, TEXT_CAP_BYTES),
            running: true,
            usage: Usage::default(),
        };
        self.begin(session, report, now_ms, out);
        if matches!(part.tool_status(), ToolStatus::Completed | ToolStatus::Failed)
            && let Some(found) = self.known.get_mut(session).filter(|found| found.report.running)
        {
            found.report.running = false;
            found.tell(out);
        }
    }

    /// Adds the usage of a step of a session.
    pub(super) fn spent(&mut self, session: &str, usage: &Value, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let Some(AgentSignal::Usage { usage }) = crate::dialect::usage(usage) else {
            return;
        };
        // Its tool is told later, or belongs to an earlier turn.
        let report = SubagentReport {
            id: session.to_owned(),
            running: true,
            ..SubagentReport::default()
        };
        self.begin(session, report, now_ms, out);
        if let Some(found) = self.known.get_mut(session) {
            found.report.usage = found.report.usage.plus(usage);
            if now_ms.saturating_sub(found.told_ms) >= USAGE_EVERY_MS {
                found.told_ms = now_ms;
                found.tell(out);
            }
        }
    }

    fn begin(&mut self, session: &str, report: SubagentReport, now_ms: u64, out: &mut Vec<AgentSignal>) {
        if !self.known.contains_key(session) {
            let followed = FollowedSession {
                report,
                told_ms: now_ms,
            };
            followed.tell(out);
            self.known.insert(session.to_owned(), followed);
        }
    }
}

impl FollowedSession {
    fn tell(&self, out: &mut Vec<AgentSignal>) {
        out.push(AgentSignal::Subagent {
            subagent: Box::new(self.report.clone()),
        });
    }
}
