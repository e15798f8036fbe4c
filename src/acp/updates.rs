//! Turns the records of a run into updates of an editor's session. Pure.

use std::fmt::Write as _;

use ralph_core::{
    event::{AgentEvent, AgentSignal, Ask, Event, Record, ToolKind},
    run::{OpenAsk, RunView},
};
use ralph_ui::report::{OutputStyle, RunReport, write_head};
use ralph_words::narrate;
use serde_json::{Value, json};

use crate::ui::headless::text::code_and_sign;

/// A run as its session has shown it.
#[derive(Debug, Default)]
pub(super) struct ShownRun {
    pub(super) view: RunView,
    plan: Vec<Value>,
}

impl ShownRun {
    /// Starts with a run of which the session has shown everything so far.
    pub(super) fn from_view(view: RunView) -> Self {
        let plan = entries(&view);
        Self { view, plan }
    }

    /// Applies a record, and returns the updates that show it. `clock` renders a moment on the user's clock.
    pub(super) fn take(&mut self, record: &Record, clock: impl Fn(u64) -> String) -> Vec<Value> {
        self.view.apply(record);
        let mut updates: Vec<Value> = match &record.event {
            Event::Agent(AgentEvent::Reported { iteration, signal }) => {
                of_signal(*iteration, signal).into_iter().collect()
            }
            event => {
                let line = narrate(event, clock);
                line.map(|line| message(&format!("{} {}  \n", code_and_sign(line.tone).1, line.text)))
                    .into_iter()
                    .collect()
            }
        };
        let plan = entries(&self.view);
        if plan != self.plan {
            updates.push(json!({"sessionUpdate": "plan", "entries": plan}));
            self.plan = plan;
        }
        updates
    }

    /// The requests and questions that the agent waits for.
    pub(super) fn waiting(&self) -> Vec<&Ask> {
        let open = self.view.open_asks().into_iter();
        open.filter_map(|ask| match ask {
            OpenAsk::Waits(ask) => Some(ask),
            OpenAsk::Missed(_) | OpenAsk::Blocks(_) => None,
        })
        .collect()
    }

    /// The first question that keeps the ended run from going on: its number and text.
    pub(super) fn blocked(&self) -> Option<(u32, &str)> {
        let mut open = self.view.open_asks().into_iter();
        open.find_map(|ask| match ask {
            OpenAsk::Blocks(block) => Some((block.number, block.question.as_str())),
            OpenAsk::Waits(_) | OpenAsk::Missed(_) => None,
        })
    }

    /// The verdict, as a report begins.
    pub(super) fn verdict(&self) -> Value {
        let mut text = Vec::new();
        let style = OutputStyle {
            hints: false,
            ..OutputStyle::PLAIN
        };
        let report = RunReport::from_view(self.view.clone());
        write_head(&report, style, &mut text).expect("a vector takes every write");
        message(&format!("\n```\n{}```\n", String::from_utf8_lossy(&text)))
    }
}

/// A piece of text in the answer of the session's turn.
pub(super) fn message(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn of_signal(iteration: u32, signal: &AgentSignal) -> Option<Value> {
    // The ids of calls are unique in an iteration alone.
    let id = |call: &str| format!("{iteration}-{call}");
    match signal {
        AgentSignal::Said { text } => Some(message(&format!("{}\n\n", text.trim_end()))),
        AgentSignal::Thought { text } => Some(json!({
            "sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": format!("{}\n\n", text.trim_end())},
        })),
        AgentSignal::ToolStarted { call, tool, input } => Some(json!({
            "sessionUpdate": "tool_call", "toolCallId": id(call), "title": format!("{tool} {input}"), "kind": "other",
            "status": "in_progress",
        })),
        AgentSignal::ToolEnded { call, ok, output, .. } => Some(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id(call),
            "status": if *ok { "completed" } else { "failed" },
            "content": [{"type": "content", "content": {"type": "text", "text": output}}],
        })),
        _ => None,
    }
}

fn entries(view: &RunView) -> Vec<Value> {
    let current = view.task().filter(|_| view.stop_reason().is_none());
    let entry = |task: &ralph_core::event::PlanTask| {
        let status = match task.done {
            true => "completed",
            false if current.is_some_and(|current| current.line == task.line) => "in_progress",
            false => "pending",
        };
        json!({"content": task.text, "priority": "medium", "status": status})
    };
    view.plan.tasks.iter().map(entry).collect()
}

/// The answers that an editor offers for a request.
pub(super) fn permission(ask: &Ask) -> Value {
    let request = &ask.request;
    let option = |id: &str, kind: &str, name: &str| json!({"optionId": id, "kind": kind, "name": name});
    let mut options = vec![option(ALLOW, "allow_once", "Allow")];
    if !ask.offer.rules.is_empty() {
        let always = format!("Allow {} in this run", ask.offer.rules.join(", "));
        options.push(option(ALLOW_IN_RUN, "allow_always", &always));
    }
    options.push(option(DENY, "reject_once", "Deny"));
    let mut shown = String::new();
    let parts = [&request.command, &request.url, &request.reason, &request.diff];
    for part in parts.into_iter().flatten() {
        writeln!(shown, "{part}").expect("a string takes every write");
    }
    request.paths.iter().for_each(|path| {
        writeln!(shown, "{path}").expect("a string takes every write");
    });
    let kind = match request.kind {
        ToolKind::Shell => "execute",
        ToolKind::Edit => "edit",
        ToolKind::Read => "read",
        ToolKind::Fetch => "fetch",
        ToolKind::Mcp | ToolKind::Other => "other",
    };
    json!({
        "toolCall": {
            "toolCallId": format!("ask-{}", ask.number), "title": format!("{}: {}", request.tool, request.title), "kind": kind,
            "status": "pending", "content": [{"type": "content", "content": {"type": "text", "text": shown}}],
        },
        "options": options,
    })
}

/// The choices that an editor offers for a question; `None` if it needs an answer in words.
pub(super) fn choices(ask: &Ask) -> Option<Value> {
    let [question] = &ask.request.questions[..] else {
        return None;
    };
    if question.multiple || question.choices.is_empty() {
        return None;
    }
    let options: Vec<Value> = question
        .choices
        .iter()
        .map(|choice| json!({"optionId": format!("{CHOICE}{}", choice.label), "kind": "allow_once", "name": choice.label}))
        .chain([json!({"optionId": DENY, "kind": "reject_once", "name": "Let it decide"})])
        .collect();
    Some(json!({
        "toolCall": {
            "toolCallId": format!("ask-{}", ask.number), "title": question.text, "kind": "think", "status": "pending",
        },
        "options": options,
    }))
}

pub(super) const ALLOW: &str = "allow";
pub(super) const ALLOW_IN_RUN: &str = "allow-in-run";
pub(super) const DENY: &str = "deny";
/// The prefix of the option of a choice.
pub(super) const CHOICE: &str = "choice:";
