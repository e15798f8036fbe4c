//! Tool uses in ACP updates, each of which contains only the fields that changed.
//!
//! A use is reported when it starts, not when it is announced: some agents announce it before they know its arguments.
//! ACP gives tools no names, only kinds and titles, so a tool is named by its kind. With some agents the id of a use
//! begins with the name of its tool; their manifests say so.

use std::collections::HashMap;

use ralph_core::event::{AgentSignal, FileChange, ToolKind, ToolKinds};
use serde_json::Value;

use crate::dialect::{ZonedClock, array, head, one_line, path_in, short_input, text, tool_input};

/// Most uses that are remembered. Further open uses are not recorded.
const TOOLS_CAP: usize = 1024;

/// The uses that were announced and have not ended.
#[derive(Debug, Default)]
pub(super) struct AcpToolUses {
    uses: HashMap<String, AcpToolUse>,
    /// Whether the ids of uses begin with the names of their tools.
    pub(super) named_calls: bool,
    /// The last use that ended without a permission request.
    unasked_use: Option<(ToolKind, String)>,
}

/// The known data of one tool use.
#[derive(Debug, Clone, Default)]
pub(super) struct AcpToolUse {
    kind: String,
    title: String,
    input: Value,
    /// The arguments that the agent has sent as the content of the use, until `input` has them.
    streamed: Value,
    content: Value,
    output: Value,
    locations: Vec<String>,
    /// The tool's own name, if it is part of the use's id.
    name: Option<String>,
    /// The title at the announcement: later titles describe what the use does.
    announced: String,
    asked: bool,
    /// Whether it was denied, and its end was reported.
    denied: bool,
    started: bool,
    started_ms: Option<u64>,
}

impl AcpToolUses {
    pub(super) fn knows(&self, call: &str) -> bool {
        self.uses.contains_key(call)
    }

    /// Takes a `tool_call` or a `tool_call_update`.
    pub(super) fn take(&mut self, update: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let call = text(update, "/toolCallId");
        let status = text(update, "/status");
        if status.is_empty() && text(update, "/sessionUpdate") == "tool_call_update" && !self.knows(call) {
            // An addition after the end, which is not reported.
            return;
        }
        match self.uses.get_mut(call).filter(|tool| tool.denied) {
            // It was used all the same.
            Some(tool) if status == "completed" => (tool.denied, tool.started) = (false, false),
            Some(_) => return,
            None => {}
        }
        self.merge(update);
        match status {
            "" | "pending" => {}
            status if is_end(status) => {
                self.start(call, Some(clock.now_ms), out);
                self.end(call, status == "completed", clock, out);
            }
            // The arguments are still arriving.
            _ if self.uses.get(call).is_some_and(AcpToolUse::streams_arguments) => {}
            _ => self.start(call, Some(clock.now_ms), out),
        }
    }

    /// Merges the data in a permission request, and returns all known data of the use.
    pub(super) fn ask(&mut self, update: &Value) -> AcpToolUse {
        let call = text(update, "/toolCallId");
        if self.uses.get(call).is_some_and(|tool| tool.denied) {
            self.uses.remove(call);
        }
        let mut tool = self.merge(update);
        tool.asked = true;
        if let Some(known) = self.uses.get_mut(call) {
            known.asked = true;
        }
        tool
    }

    /// A use of one of these kinds that ended without a permission request; returned once.
    pub(super) fn unasked_use(&mut self, concerned: ToolKinds) -> Option<String> {
        let (kind, tool) = self.unasked_use.take()?;
        concerned.has(kind).then_some(tool)
    }

    fn merge(&mut self, update: &Value) -> AcpToolUse {
        let call = text(update, "/toolCallId");
        let named_calls = self.named_calls;
        let mut tool = self.uses.remove(call).unwrap_or_else(|| AcpToolUse {
            name: named_calls.then(|| name_in(call)).flatten(),
            announced: text(update, "/title").to_owned(),
            ..AcpToolUse::default()
        });
        tool.merge(update);
        if self.uses.len() < TOOLS_CAP {
            self.uses.insert(call.to_owned(), tool.clone());
        }
        tool
    }

    /// Reports the start of a use, once.
    pub(super) fn start(&mut self, call: &str, now_ms: Option<u64>, out: &mut Vec<AgentSignal>) {
        let Some(tool) = self.uses.get_mut(call).filter(|tool| !tool.started) else {
            return;
        };
        tool.started = true;
        tool.started_ms = now_ms;
        out.push(AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: tool.name().to_owned(),
            input: tool.input_in_words(tool_input),
        });
    }

    /// Reports the end of a use that is denied. Some agents never mention it again; others report its failure later.
    pub(super) fn deny(&mut self, call: &str, why: &str, out: &mut Vec<AgentSignal>) {
        self.start(call, None, out);
        let Some(tool) = self.uses.get_mut(call).filter(|tool| !tool.denied) else {
            return;
        };
        tool.denied = true;
        out.push(AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: tool.name().to_owned(),
            ok: false,
            output: head(why),
            duration_ms: None,
        });
    }

    fn end(&mut self, call: &str, completed: bool, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let Some(tool) = self.uses.remove(call) else { return };
        // A failed use may have been refused before it was asked for, and a tool of unknown kind may do anything.
        if completed && !tool.asked && tool.kind() != ToolKind::Other {
            self.unasked_use = Some((tool.kind(), one_line(&format!("{}: {}", tool.name(), tool.title()))));
        }
        let ok = completed && tool.exit_code().is_none_or(|code| code == 0);
        out.push(AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: tool.name().to_owned(),
            ok,
            output: head(&tool.result()),
            duration_ms: tool.started_ms.map(|started| clock.now_ms.saturating_sub(started)),
        });
        if ok {
            out.extend(tool.changes());
        }
    }
}

impl AcpToolUse {
    /// Whether the agent sends the arguments in pieces as the content of the use, before it sends all of them.
    fn streams_arguments(&self) -> bool {
        let piece = text(&self.content, "/0/content/text");
        self.input.is_null() && piece.starts_with('{')
    }

    /// The arguments, as far as the agent has reported them.
    fn arguments(&self) -> &Value {
        match &self.input {
            Value::Null => &self.streamed,
            input => input,
        }
    }

    fn merge(&mut self, update: &Value) {
        if self.streams_arguments() && update.get("rawInput").is_some_and(|told| !is_empty(told)) {
            self.content = Value::Null;
        }
        for (known, told) in [
            (&mut self.kind, text(update, "/kind")),
            (&mut self.title, text(update, "/title")),
        ] {
            if !told.is_empty() {
                told.clone_into(known);
            }
        }
        for (known, name) in [
            (&mut self.input, "rawInput"),
            (&mut self.content, "content"),
            (&mut self.output, "rawOutput"),
        ] {
            if let Some(told) = update.get(name).filter(|told| !is_empty(told)) {
                known.clone_from(told);
            }
        }
        if self.streams_arguments()
            && let Ok(arguments) = serde_json::from_str(text(&self.content, "/0/content/text"))
        {
            self.streamed = arguments;
        }
        let locations: Vec<_> = array(update, "/locations")
            .map(|location| text(location, "/path").to_owned())
            .collect();
        if !locations.is_empty() {
            self.locations = locations;
        }
    }

    pub(super) fn name(&self) -> &str {
        if let Some(name) = &self.name {
            return name;
        }
        match self.kind.as_str() {
            "execute" => "shell",
            kind @ ("edit" | "delete" | "move" | "read" | "search" | "fetch") => kind,
            _ if self.announced.is_empty() => "tool",
            _ => &self.announced,
        }
    }

    pub(super) fn kind(&self) -> ToolKind {
        match self.kind.as_str() {
            "execute" => ToolKind::Shell,
            "edit" | "delete" | "move" => ToolKind::Edit,
            // A search of the web.
            "search" if self.name.as_ref().is_some_and(|name| name.contains("web")) => ToolKind::Fetch,
            "read" | "search" => ToolKind::Read,
            "fetch" => ToolKind::Fetch,
            // The joined names of a server and its tool; names of other tools are single words.
            _ if is_joined(self.name()) => ToolKind::Mcp,
            _ => ToolKind::Other,
        }
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Whether the title may only be the name of the tool.
    pub(super) fn is_titled_by_name(&self) -> bool {
        self.title == self.announced && !self.title.contains(char::is_whitespace)
    }

    /// The main argument for display; the title if there are no arguments.
    pub(super) fn short_input(&self) -> String {
        self.input_in_words(short_input)
    }

    fn input_in_words(&self, in_words: fn(&Value) -> String) -> String {
        let tells = |input: &Value| match input {
            Value::Object(fields) => fields.keys().any(|name| name != "cwd"),
            Value::Null => false,
            _ => true,
        };
        match self.arguments() {
            input if tells(input) => in_words(input),
            _ if self.name() == self.title => String::new(),
            _ => self.title.clone(),
        }
    }

    /// The command of a shell; the title if the agent does not report the command separately. `None` if it has reported only
    /// the name of its tool.
    pub(super) fn command(&self) -> Option<String> {
        if self.kind() != ToolKind::Shell {
            return None;
        }
        match &self.arguments()["command"] {
            Value::String(command) => Some(command.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => Some(self.title.clone()).filter(|_| !self.is_titled_by_name()),
        }
    }

    pub(super) fn reason(&self) -> Option<String> {
        self.arguments()["description"].as_str().map(str::to_owned)
    }

    pub(super) fn url(&self) -> Option<String> {
        self.arguments()["url"].as_str().map(str::to_owned)
    }

    /// The files that the use concerns. The location of a shell is only its directory.
    pub(super) fn paths(&self) -> Vec<String> {
        if self.kind() == ToolKind::Shell {
            return Vec::new();
        }
        let mut paths = self.locations.clone();
        let others = self
            .diffs()
            .map(|diff| text(diff, "/path"))
            .chain(path_in(self.arguments()));
        for path in others {
            if !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
        paths
    }

    /// The diff of its changes.
    pub(super) fn diff(&self) -> Option<String> {
        let diffs: Vec<_> = self.diffs().map(difference).collect();
        (!diffs.is_empty()).then(|| diffs.join("\n"))
    }

    fn diffs(&self) -> impl Iterator<Item = &Value> {
        array(&self.content, "").filter(|part| text(part, "/type") == "diff")
    }

    fn exit_code(&self) -> Option<i64> {
        ["/metadata/exit", "/exitCode", "/exit_code"]
            .iter()
            .find_map(|pointer| self.output.pointer(pointer)?.as_i64())
    }

    /// The result for display: the diff of a change, otherwise the tool's output.
    fn result(&self) -> String {
        if let Some(diff) = self.diff() {
            return diff;
        }
        let said: Vec<_> = array(&self.content, "")
            .map(|part| text(part, "/content/text"))
            .filter(|said| !said.is_empty())
            .collect();
        match (&self.output, &said[..]) {
            (Value::String(output), []) => output.clone(),
            (output, []) => match text(output, "/output") {
                "" => text(output, "/error").to_owned(),
                output => output.to_owned(),
            },
            (_, said) => said.join("\n"),
        }
    }

    fn changes(&self) -> Vec<AgentSignal> {
        let change = match self.kind.as_str() {
            "delete" => FileChange::Deleted,
            "edit" if self.output.pointer("/metadata/exists") == Some(&Value::Bool(false)) => FileChange::Added,
            "edit" | "move" => FileChange::Updated,
            _ => return Vec::new(),
        };
        let diffs: Vec<_> = self.diffs().collect();
        let is_new = |diff: &Value| text(diff, "/_meta/kind") == "add" || diff["oldText"].is_null();
        if !diffs.is_empty() && change == FileChange::Updated {
            let changed = diffs.into_iter().map(|diff| AgentSignal::FileChanged {
                path: text(diff, "/path").to_owned(),
                change: if is_new(diff) { FileChange::Added } else { change },
            });
            return changed.collect();
        }
        let changed = self
            .paths()
            .into_iter()
            .map(|path| AgentSignal::FileChanged { path, change });
        changed.collect()
    }
}

/// Whether a use with this status is over.
pub(super) fn is_end(status: &str) -> bool {
    matches!(status, "completed" | "failed")
}

/// The tool name in the id of a use, such as `read_file` in `read_file__fc_1`.
fn name_in(call: &str) -> Option<String> {
    let name = match call.starts_with("mcp_") {
        // The names of servers and their tools may contain `__` as well.
        true => call.rsplit_once("__")?.0,
        false => call.split_once("__")?.0,
    };
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn is_joined(name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    name.contains('_') && name.chars().all(is_part)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Formats a `diff` with its path and first line.
fn difference(diff: &Value) -> String {
    let (alike, lines) = super::super::difference::difference(text(diff, "/oldText"), text(diff, "/newText"));
    let place = format!("@@ {}:{} @@", text(diff, "/path"), alike + 1);
    let lines: Vec<_> = std::iter::once(place).chain(lines).collect();
    lines.join("\n")
}
