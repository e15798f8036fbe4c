//! The subagents of claude, as its events on tasks tell of them.
//!
//! A subagent that runs in the background outlives the answer of the agent: claude begins another turn, with a `result`
//! of its own, when it ends. The text of a subagent's subagents is not told, and their usage only as the size of their
//! last request.

use std::collections::BTreeSet;

use ralph_core::event::{AgentSignal, Usage};
use serde_json::Value;

use super::fields::{array, number, text};
use crate::subagents::FollowedSubagents;

#[derive(Debug, Default)]
pub(super) struct ClaudeSubagents {
    /// By the name of the task.
    known: FollowedSubagents,
    /// Those that run in the background.
    background: BTreeSet<String>,
    /// How many of them have ended without a turn about it.
    unheard: u32,
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
                let parent = self.known.id(text(event, "/parent_task_id"));
                self.known
                    .begin(task, (id, parent, text(event, "/description")), now_ms, out);
                // A message to a subagent that has ended makes it go on.
                self.known.change(task, out, |report| report.running = true);
                let is_workflow = text(event, "/task_type") == "local_workflow";
                if self.known.get(task).is_some() && (is_workflow || event["is_backgrounded"] == true) {
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
        let task = match self.known.get(named) {
            Some(_) => named,
            // Earlier versions, and other programs, name only the use of the tool.
            None => call,
        };
        self.known
            .begin(task, (call, None, text(event, "/task_description")), now_ms, out);
        self.known.spend(task, now_ms, out, |so_far| so_far.plus(usage));
    }

    /// Notes the end of a use of a tool.
    pub(super) fn tool_ended(&mut self, call: &str, out: &mut Vec<AgentSignal>) {
        if !self.background.contains(call) {
            self.end(call, out);
        }
    }

    fn end(&mut self, task: &str, out: &mut Vec<AgentSignal>) {
        self.known.change(task, out, |report| report.running = false);
    }

    /// Raises the usage of a subagent to the tokens that claude tells, where they are more than those of its known requests.
    fn has_used(&mut self, task: &str, tokens: u64, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let known = self.known.get(task).and_then(|report| report.usage.tokens());
        if known.unwrap_or(0) < tokens {
            self.known.spend(task, now_ms, out, |mut usage| {
                usage.input_tokens = Some(tokens - usage.output_tokens.unwrap_or(0).min(tokens));
                usage
            });
        }
    }

    /// The agents of a workflow, which are told as parts of its progress.
    fn workflow(&mut self, event: &Value, now_ms: u64, out: &mut Vec<AgentSignal>) {
        let parent = self.known.id(text(event, "/task_id"));
        for agent in array(event, "/workflow_progress") {
            let id = text(agent, "/agentId");
            if text(agent, "/type") != "workflow_agent" {
                continue;
            }
            self.known
                .begin(id, (id, parent.clone(), text(agent, "/label")), now_ms, out);
            if let Some(tokens) = number(agent, "/tokens") {
                self.has_used(id, tokens, now_ms, out);
            }
            if !matches!(text(agent, "/state"), "queued" | "start" | "progress") {
                self.end(id, out);
            }
        }
    }
}
