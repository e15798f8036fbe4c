//! The subagents of claude, as its events on tasks tell of them.
//!
//! A subagent that runs in the background outlives the answer of the agent: claude begins another turn, with a `result`
//! of its own, when it ends. The text of a subagent's subagents is not told, and their usage only as the size of their
//! last request.

use std::collections::{BTreeSet, HashMap};

use ralph_core::event::{AgentSignal, SubagentReport, Usage, clip};
use serde_json::Value;

use super::{
    excerpt::TEXT_CAP_BYTES,
    fields::{array, number, text},
};

/// Most subagents that are followed.
const KNOWN_CAP: usize = 4096;
/// The time between two reports on the usage of a subagent.
const USAGE_EVERY_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct ClaudeSubagents {
    /// By the name of the task.
    known: HashMap<String, FollowedSubagent>,
    /// Those that run in the background.
    background: BTreeSet<String>,
    /// How many of them have ended without a turn about it.
    unheard: u32,
}

#[derive(Debug)]
struct FollowedSubagent {
    report: SubagentReport,
    told_ms: u64,
}

impl ClaudeSubagents {
    /// Whether a subagent is running in the background.
    pub(super) fn run_in_background(&self) -> bool {
        !self.background.is_empty()
    }

    /// Whether a further turn is to be expected after a `result`.
    pub(super) fn another_turn_is_due(&self) -> bool {
        self.run_in_background() || self.unheard > 0
    }

    /// Notes the turn that a `result` ends.
    pub(super) fn turn_ended(&mut self, result: &Value) {
        if text(result, "/origin/kind") == "task-notification" {
            self.unheard = self.unheard.saturating_sub(1);
        }
    }

    /// Takes an event on a task.
    pub(super) fn take(&mut self, event: &Value, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let task = text(event, "/task_id");
        match text(event, "/subtype") {
            "task_started" if matches!(text(event, "/task_type"), "local_agent" | "local_workflow") => {
                let id = match text(event, "/tool_use_id") {
                    "" => task,
                    call => call,
                };
                let parent = self.known.get(text(event, "/parent_task_id"));
                let parent = parent.map(|parent| parent.report.id.clone());
                match self.known.get_mut(task) {
                    // A message to a subagent that has ended makes it go on.
                    Some(found) if !found.report.running => {
                        found.report.running = true;
                        found.tell(out);
                    }
                    Some(_) => {}
                    None => self.begin(task, id, parent, text(event, "/description"), now_ms, out),
                }
                let is_workflow = text(event, "/task_type") == "local_workflow";
                if self.known.contains_key(task) && (is_workflow || event["is_backgrounded"] == true) {
                    self.background.insert(task.to_owned());
                }
            }
            "task_progress" => {
                if let Some(tokens) = number(event, "/usage/total_tokens") {
                    self.has_used(task, tokens, now_ms, out);
                }
                self.workflow(event, now_ms, out);
            }
            "task_notification" => {
                if let Some(tokens) = number(event, "/usage/total_tokens") {
                    self.has_used(task, tokens, now_ms, out);
                }
                self.end(task, out);
                self.unheard += u32::from(self.background.remove(task));
            }
            _ => {}
        }
    }

    /// Adds the usage of a request that a subagent has made.
    pub(super) fn spent(&mut self, event: &Value, usage: Usage, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let call = text(event, "/parent_tool_use_id");
        if call.is_empty() {
            return;
        }
        let named = text(event, "/agent_id");
        let task = match self.known.contains_key(named) {
            true => named,
            // Earlier versions, and other programs, name only the use of the tool.
            false => call,
        };
        self.begin(task, call, None, text(event, "/task_description"), now_ms, out);
        if let Some(found) = self.known.get_mut(task) {
            found.report.usage = found.report.usage.plus(usage);
            found.tell_usage(now_ms, out);
        }
    }

    /// Notes the end of a use of a tool.
    pub(super) fn tool_ended(&mut self, call: &str, out: &mut Vec<AgentSignal>) {
        if !self.background.contains(call) {
            self.end(call, out);
        }
    }

    fn begin(
        &mut self,
        task: &str,
        id: &str,
        parent: Option<String>,
        title: &str,
        now_ms: u64,
        out: &mut Vec<AgentSignal>,
    ) {
        if task.is_empty() || self.known.contains_key(task) || self.known.len() == KNOWN_CAP {
            return;
        }
        let report = SubagentReport {
            id: id.to_owned(),
            parent,
            title: clip(title, TEXT_CAP_BYTES),
            running: true,
            usage: Usage::default(),
        };
        let followed = FollowedSubagent {
            report,
            told_ms: now_ms,
        };
        followed.tell(out);
        self.known.insert(task.to_owned(), followed);
    }

    fn end(&mut self, task: &str, out: &mut Vec<AgentSignal>) {
        if let Some(found) = self.known.get_mut(task).filter(|found| found.report.running) {
            found.report.running = false;
            found.tell(out);
        }
    }

    /// Raises the usage of a subagent to the tokens that claude tells, where they are more than those of its known requests.
    fn has_used(&mut self, task: &str, tokens: u64, now_ms: u64, out: &mut Vec<AgentSignal>) {
        if let Some(found) = self.known.get_mut(task)
            && found.report.usage.tokens().unwrap_or(0) < tokens
        {
            found.report.usage.input_tokens = Some(tokens - found.report.usage.output_tokens.unwrap_or(0).min(tokens));
            found.tell_usage(now_ms, out);
        }
    }

    /// The agents of a workflow, which are told as parts of its progress.
    fn workflow(&mut self, event: &Value, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let parent = self
            .known
            .get(text(event, "/task_id"))
            .map(|found| found.report.id.clone());
        for agent in array(event, "/workflow_progress") {
            let id = text(agent, "/agentId");
            if text(agent, "/type") != "workflow_agent" {
                continue;
            }
            self.begin(id, id, parent.clone(), text(agent, "/label"), now_ms, out);
            if let Some(tokens) = number(agent, "/tokens") {
                self.has_used(id, tokens, now_ms, out);
            }
            if !matches!(text(agent, "/state"), "queued" | "start" | "progress") {
                self.end(id, out);
            }
        }
    }
}

impl FollowedSubagent {
    fn tell_usage(&mut self, now_ms: u64, out: &mut Vec<AgentSignal>) {
        if now_ms.saturating_sub(self.told_ms) >= USAGE_EVERY_MS {
            self.told_ms = now_ms;
            self.tell(out);
        }
    }

    fn tell(&self, out: &mut Vec<AgentSignal>) {
        out.push(AgentSignal::Subagent {
            subagent: Box::new(self.report.clone()),
        });
    }
}
