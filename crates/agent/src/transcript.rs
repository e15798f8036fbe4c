//! Renders signals for reading: ANSI text for terminal panes, recordings and headless output. Pure.
//!
//! An agent's messages are Markdown, and pass through [`Sanitizer`] first: a transcript contains only its own escape
//! sequences. It uses the sixteen colours of the terminal's theme, so it is legible on dark and light backgrounds.

mod block;
mod folded;
mod inline;
mod lines;
mod markdown;
mod style;
mod table;
mod thought;
pub mod unfolded;

use std::{borrow::Cow, collections::VecDeque, path::Path};

use ralph_core::event::{AgentSignal, FileChange, Problem, SteeringId, Usage};
use ralph_text::{Sanitizer, one_line, sanitized};
use ralph_words::{Tone, cost_in_words, reported_problem, short_count, short_duration, window_in_words};

use self::{
    folded::{FoldedOutput, SHOWN_LINES, counted, more_lines},
    lines::{BOLD, CYAN, DIM, GREEN, RED, RESET, YELLOW, line},
    markdown::Markdown,
    style::TextStyle,
    thought::FoldedThought,
};

use super::live_output::LiveOutput;

/// Most calls in progress that are remembered.
const CALLS_CAP: usize = 64;
/// Shorter durations of a tool are not shown.
const SHOWN_DURATION_MS: u64 = 1000;

/// Renders one session. It remembers its last output, to separate blocks and avoid repetition.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// The directory relative to which paths are shown, with a slash at its end; `None` if unknown.
    project: Option<String>,
    /// The terminal's width; `None` if unknown.
    columns: Option<u16>,
    /// Whether everything is shown in full.
    is_unfolded: bool,
    last: LastBlock,
    /// The last message that was shown.
    said: Option<String>,
    /// The text that is being written.
    live: Option<LiveText>,
    /// Whether the reason of a failed turn has been shown.
    explained: bool,
    /// The tool calls in progress, the latest last.
    calls: VecDeque<ShownCall>,
    /// The call whose head was shown last, until another result follows.
    head: Option<String>,
    /// The output of the running tool so far, and its shown part.
    output: Option<(LiveOutput, FoldedOutput)>,
    /// The input of the latest tool: a changed path that it names is not repeated.
    input: String,
    /// Usage that was not shown yet. Some agents report it after every step; it is shown at the end.
    usage: Option<Usage>,
}

/// A text whose pieces are shown as they arrive.
#[derive(Debug)]
struct LiveText {
    kind: TextKind,
    /// The text so far, up to a bound. If the signal with the whole text equals it, that is not shown again.
    text: String,
    sanitizer: Sanitizer,
    markdown: Markdown,
    /// The folding of a thought.
    fold: Option<FoldedThought>,
    /// Whether something else was shown since.
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Said,
    Thought,
}

impl TextKind {
    fn style(self) -> TextStyle {
        match self {
            TextKind::Said => TextStyle::PLAIN,
            TextKind::Thought => TextStyle::THOUGHT,
        }
    }
}

/// The assumed width of a terminal whose width is unknown.
const COLUMNS: u16 = 80;

/// Most bytes of a live text that are remembered; a longer text is shown again as a whole.
const LIVE_CAP_BYTES: usize = 1024 * 1024;

/// A tool call, as shown at its beginning.
#[derive(Debug)]
struct ShownCall {
    id: String,
    tool: String,
    /// The first line of its input.
    input: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastBlock {
    #[default]
    Nothing,
    Text,
    Tool,
    Note,
}

impl Transcript {
    /// Creates a transcript of an agent that works in `project`, for a terminal of width `columns`.
    pub(crate) fn new(project: &Path, columns: u16) -> Self {
        let project = project.to_str().map(|path| format!("{}/", path.trim_end_matches('/')));
        Self {
            project: project.filter(|path| path != "/"),
            columns: Some(columns),
            ..Self::default()
        }
    }

    /// Creates a transcript that shows everything in full.
    fn unfolded(project: &Path, columns: u16) -> Self {
        Self {
            is_unfolded: true,
            ..Self::new(project, columns)
        }
    }

    /// Appends the rendered `signal` to `out`: whole lines, each terminated by CR and LF, except for a text that is
    /// still being written.
    pub(crate) fn render(&mut self, signal: &AgentSignal, out: &mut Vec<u8>) {
        match signal {
            AgentSignal::TextDelta { text } => return self.grow(TextKind::Said, text, out),
            AgentSignal::ThoughtDelta { text } => return self.grow(TextKind::Thought, text, out),
            AgentSignal::Said { text } if self.was_live(TextKind::Said, text, out) => {
                self.said = Some(text.clone());
                return;
            }
            AgentSignal::Thought { text } if self.was_live(TextKind::Thought, text, out) => return,
            AgentSignal::Usage { usage } => {
                self.usage = Some(self.usage.map_or(*usage, |sum| sum.plus(*usage)));
                return;
            }
            // The tool call is shown; decisions are shown where they are made.
            AgentSignal::PermissionRequested { .. }
            | AgentSignal::PermissionWithdrawn { .. }
            | AgentSignal::Subagent { .. }
            | AgentSignal::Unknown { .. }
            | AgentSignal::MessageAnswered { text: None, .. } => return,
            AgentSignal::ToolOutput { .. } if self.last != LastBlock::Tool => return,
            _ => self.end_live(out),
        }
        match signal {
            AgentSignal::Opened { model, .. } => {
                if let Some(model) = model {
                    self.note(DIM, model, out);
                }
            }
            AgentSignal::Said { text } => self.said(text, out),
            AgentSignal::Thought { text } => self.whole(TextKind::Thought, text, out),
            AgentSignal::ToolStarted { call, tool, input } => self.tool_started(call, tool, input, out),
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                output,
                duration_ms,
            } => {
                self.tool_ends(call, out);
                self.result(call, tool, output, *ok, *duration_ms, out);
            }
            AgentSignal::FileChanged { path, change } => self.file_changed(path, *change, out),
            AgentSignal::Retrying { attempt, of, why, .. } => {
                let count = match (attempt, of) {
                    (Some(attempt), Some(of)) => format!(" {attempt} of {of}"),
                    (Some(attempt), None) => format!(" {attempt}"),
                    (None, _) => String::new(),
                };
                self.note(YELLOW, &format!("↻ retry{count}: {why}"), out);
            }
            AgentSignal::WindowUsed { window } => self.note(DIM, &window_in_words(window), out),
            AgentSignal::LimitHit { text, .. } => self.note(YELLOW, &format!("limit: {text}"), out),
            AgentSignal::PermissionAsked { text, allowed, .. } => {
                let colour = if *allowed { DIM } else { YELLOW };
                self.note(colour, &format!("asks for permission: {text}"), out);
            }
            AgentSignal::QuestionAsked { text, .. } => self.note(YELLOW, &format!("asks: {text}"), out),
            AgentSignal::Problem { problem } => self.problem(problem, out),
            AgentSignal::TurnEnded { ok, message } => self.turn_ended(*ok, message.as_deref(), out),
            AgentSignal::MessageAnswered {
                id, text: Some(text), ..
            } => {
                let from = if *id == SteeringId::RALPH { "ralph" } else { "you" };
                self.message(from, text, out);
            }
            AgentSignal::Noted { text } => self.note(DIM, text, out),
            AgentSignal::ToolOutput { call, text } => self.tool_output(call, text, out),
            AgentSignal::Usage { .. }
            | AgentSignal::Unknown { .. }
            | AgentSignal::PermissionRequested { .. }
            | AgentSignal::PermissionWithdrawn { .. }
            | AgentSignal::Subagent { .. }
            | AgentSignal::MessageAnswered { text: None, .. }
            | AgentSignal::TextDelta { .. }
            | AgentSignal::ThoughtDelta { .. } => {}
            AgentSignal::Ended { .. } => self.show_usage(out),
        }
    }

    /// Shows a piece of a text as it arrives.
    fn grow(&mut self, kind: TextKind, piece: &str, out: &mut Vec<u8>) {
        let is_more = |live: &LiveText| live.kind == kind && self.last == LastBlock::Text && !live.ended;
        if !self.live.as_ref().is_some_and(is_more) {
            self.end_live(out);
            self.live = None;
        }
        if self.live.is_none() {
            // Leading blank lines are also trimmed from the whole text.
            if piece.trim().is_empty() {
                return;
            }
            self.begin(LastBlock::Text, out);
        }
        let (columns, fold) = (self.columns(), self.fold(kind));
        let is_first = self.live.is_none();
        let live = self.live.get_or_insert_with(|| LiveText {
            kind,
            text: String::new(),
            sanitizer: Sanitizer::default(),
            markdown: Markdown::new(kind.style(), columns),
            fold,
            ended: false,
        });
        if live.text.len() + piece.len() <= LIVE_CAP_BYTES {
            live.text.push_str(piece);
        }
        let shown = match &mut live.fold {
            Some(fold) if is_first => fold.shown(piece.trim_start()),
            Some(fold) => fold.shown(piece),
            None => piece,
        };
        live.markdown.feed(&live.sanitizer.take(shown), out);
    }

    fn fold(&self, kind: TextKind) -> Option<FoldedThought> {
        (kind == TextKind::Thought && !self.is_unfolded).then(FoldedThought::default)
    }

    /// Most lines that are shown of a tool's input, and of its result.
    fn most_lines(&self) -> usize {
        if self.is_unfolded { usize::MAX } else { SHOWN_LINES }
    }

    fn columns(&self) -> usize {
        usize::from(self.columns.unwrap_or(COLUMNS))
    }

    /// Ends the live text. Returns whether `text` equals it and is thus already shown.
    fn was_live(&mut self, kind: TextKind, text: &str, out: &mut Vec<u8>) -> bool {
        self.end_live(out);
        let shown = self.live.take_if(|live| live.kind == kind);
        shown.is_some_and(|live| live.text.trim() == text.trim())
    }

    fn end_live(&mut self, out: &mut Vec<u8>) {
        if let Some(live) = &mut self.live
            && !std::mem::replace(&mut live.ended, true)
        {
            live.markdown.finish(out);
            folded_thought(live.fold.as_ref(), out);
        }
    }

    fn said(&mut self, text: &str, out: &mut Vec<u8>) {
        if !text.trim().is_empty() {
            self.whole(TextKind::Said, text, out);
            self.said = Some(text.to_owned());
        }
    }

    /// Shows a text that arrived as a whole.
    fn whole(&mut self, kind: TextKind, text: &str, out: &mut Vec<u8>) {
        self.begin(LastBlock::Text, out);
        let mut markdown = Markdown::new(kind.style(), self.columns());
        let mut fold = self.fold(kind);
        let shown = fold.as_mut().map_or(text, |fold| fold.shown(text.trim_start()));
        markdown.feed(&Sanitizer::default().take(shown), out);
        markdown.finish(out);
        folded_thought(fold.as_ref(), out);
    }

    /// Shows a message to the agent, in full.
    fn message(&mut self, from: &str, text: &str, out: &mut Vec<u8>) {
        self.begin(LastBlock::Note, out);
        let text = sanitized(text.trim());
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        line(out, &[GREEN, "❯ ", BOLD, from, RESET, GREEN, " ", first, RESET]);
        lines.for_each(|text| line(out, &["  ", GREEN, text, RESET]));
    }

    fn tool_started(&mut self, call: &str, tool: &str, input: &str, out: &mut Vec<u8>) {
        self.begin(LastBlock::Tool, out);
        self.head = Some(call.to_owned());
        if self.calls.len() >= CALLS_CAP {
            self.calls.pop_front();
        }
        self.calls.push_back(ShownCall {
            id: call.to_owned(),
            tool: tool.to_owned(),
            input: input.trim().lines().next().unwrap_or_default().to_owned(),
        });
        input.clone_into(&mut self.input);
        let input = sanitized(&self.relative(input.trim())).into_owned();
        let mut lines = input.lines();
        let first = lines.next().unwrap_or_default();
        line(out, &[CYAN, "▸ ", BOLD, &one_line(tool), RESET, " ", first]);
        capped(lines, self.most_lines() - 1, |text| line(out, &["  ", text]));
    }

    /// Shortens a path or a search to be relative to the project. Commands are not changed.
    fn relative<'a>(&self, input: &'a str) -> Cow<'a, str> {
        let Some(project) = &self.project else {
            return Cow::Borrowed(input);
        };
        if input == project.trim_end_matches('/') {
            return Cow::Borrowed(".");
        }
        if let Some(path) = input.strip_prefix(project.as_str()) {
            return Cow::Borrowed(path);
        }
        match input.rsplit_once(" in ") {
            Some((pattern, path)) if path.starts_with(project.as_str()) => {
                Cow::Owned(format!("{pattern} in {}", &path[project.len()..]))
            }
            _ => Cow::Borrowed(input),
        }
    }

    /// Makes the places of changes in a result, `@@ /project/src/a.rs:3 @@`, relative to the project.
    fn with_relative_places<'a>(&self, result: &'a str) -> Cow<'a, str> {
        let Some(project) = self.project.as_ref().filter(|_| result.contains("@@ /")) else {
            return Cow::Borrowed(result);
        };
        let place = format!("@@ {project}");
        let relative = |line: &str| match line.strip_prefix(&place) {
            Some(rest) => format!("@@ {rest}"),
            None => line.to_owned(),
        };
        Cow::Owned(result.split_inclusive('\n').map(relative).collect())
    }

    /// Shows the output of a running tool, if its head was the last thing shown.
    fn tool_output(&mut self, call: &str, piece: &str, out: &mut Vec<u8>) {
        if self.head.as_deref() != Some(call) || self.last != LastBlock::Tool {
            return;
        }
        if !self.output.as_ref().is_some_and(|(live, _)| live.belongs_to(call)) {
            let tool = self.calls.iter().find(|known| known.id == call);
            let folded = FoldedOutput::for_tool(tool.map_or("", |call| &call.tool), self.most_lines(), self.columns());
            self.output = Some((LiveOutput::new(call), folded));
        }
        let Some((live, folded)) = &mut self.output else { return };
        folded.show(&sanitized(live.grow(piece)), out);
    }

    /// Names the call that ends, unless it was shown last.
    fn tool_ends(&mut self, call: &str, out: &mut Vec<u8>) {
        let Some(at) = self.calls.iter().position(|known| known.id == call) else {
            return;
        };
        let under_its_head = self.head.take().as_deref() == Some(call);
        let Some(ShownCall { tool, input, .. }) = self.calls.remove(at).filter(|_| !under_its_head) else {
            return;
        };
        let input = one_line(&self.relative(&input));
        line(out, &[CYAN, "◂ ", BOLD, &one_line(&tool), RESET, " ", &input]);
    }

    /// Shows the rest of a tool's result, folded, and how the tool ended.
    fn result(&mut self, call: &str, tool: &str, output: &str, ok: bool, ms: Option<u64>, out: &mut Vec<u8>) {
        self.last = LastBlock::Tool;
        let whole = output.trim_end();
        let (kept, lines) = counted(whole);
        let live = self.output.take_if(|(live, _)| live.belongs_to(call));
        let most = self.most_lines();
        let (before, left, mut folded) = match live {
            Some((live, folded)) => match live.unshown_in(call, output) {
                Some(left) => (left.before, counted(left.after.trim_end()).0, folded),
                // A long output is truncated differently at its end.
                None if folded.is_full() => ("", "", folded),
                None => ("", kept, FoldedOutput::for_tool(tool, most, self.columns())),
            },
            None => ("", kept, FoldedOutput::for_tool(tool, most, self.columns())),
        };
        folded.show(&sanitized(&self.with_relative_places(left)), out);
        if !before.is_empty() && !folded.is_full() {
            line(out, &["  ", DIM, "… before that:", RESET]);
            folded.show(&sanitized(before), out);
        }
        let hidden = folded.hidden(lines);
        let took = ms.filter(|ms| *ms >= SHOWN_DURATION_MS).map(short_duration);
        match (hidden, &took) {
            (0, _) => {}
            (hidden, Some(took)) if ok => line(out, &["  ", DIM, &more_lines(hidden), " · ", took, RESET]),
            (hidden, _) => line(out, &["  ", DIM, &more_lines(hidden), RESET]),
        }
        match (ok, took) {
            (true, Some(took)) if hidden == 0 => line(out, &["  ", DIM, "took ", &took, RESET]),
            (true, _) => {}
            (false, None) => line(out, &["  ", RED, "✗ ", &one_line(tool), " failed", RESET]),
            (false, Some(took)) => line(out, &["  ", RED, "✗ ", &one_line(tool), " failed after ", &took, RESET]),
        }
    }

    fn file_changed(&mut self, path: &str, change: FileChange, out: &mut Vec<u8>) {
        let (colour, sign, word) = match change {
            FileChange::Added => (GREEN, "+", "added"),
            FileChange::Updated => (YELLOW, "~", "updated"),
            FileChange::Deleted => (RED, "-", "deleted"),
        };
        // Options follow the path in the input.
        let is_named = |rest: &str| rest.is_empty() || rest.starts_with(' ');
        if self.last == LastBlock::Tool && self.input.strip_prefix(path).is_some_and(is_named) {
            line(out, &["  ", colour, sign, " ", word, RESET]);
        } else {
            self.begin(LastBlock::Tool, out);
            line(out, &[colour, sign, RESET, " ", &one_line(&self.relative(path))]);
        }
    }

    fn show_usage(&mut self, out: &mut Vec<u8>) {
        if let Some(text) = self.usage.take().as_ref().and_then(usage_line) {
            self.note(DIM, &text, out);
        }
    }

    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        self.explained = true;
        match reported_problem(problem) {
            (Tone::Bad, text) => self.note(RED, &format!("✗ {text}"), out),
            (_, text) => self.note(YELLOW, &format!("● {text}"), out),
        }
    }

    fn turn_ended(&mut self, ok: bool, message: Option<&str>, out: &mut Vec<u8>) {
        // Most agents have already sent their last message as a message.
        if let Some(message) = message.filter(|message| self.said.as_deref() != Some(*message)) {
            self.said(message, out);
        }
        if !ok && !self.explained {
            self.note(RED, "✗ the turn failed", out);
        }
        self.show_usage(out);
    }

    /// Shows one line that is not part of the conversation.
    fn note(&mut self, colour: &str, text: &str, out: &mut Vec<u8>) {
        self.begin(LastBlock::Note, out);
        line(out, &[colour, &one_line(text), RESET]);
    }

    /// Separates blocks by an empty line, except consecutive notes and consecutive tools.
    fn begin(&mut self, next: LastBlock, out: &mut Vec<u8>) {
        let last = std::mem::replace(&mut self.last, next);
        let apart = match (last, next) {
            (LastBlock::Nothing, _) | (LastBlock::Note, LastBlock::Note) | (LastBlock::Tool, LastBlock::Tool) => false,
            (LastBlock::Text | LastBlock::Tool | LastBlock::Note, _) => true,
        };
        if apart {
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn folded_thought(fold: Option<&FoldedThought>, out: &mut Vec<u8>) {
    match fold.map_or(0, FoldedThought::hidden) {
        0 => {}
        hidden => line(out, &[DIM, &more_lines(hidden), RESET]),
    }
}

fn capped<'a>(mut lines: impl Iterator<Item = &'a str>, cap: usize, mut each: impl FnMut(&str)) {
    lines.by_ref().take(cap).for_each(&mut each);
    match lines.count() {
        0 => {}
        more => each(&more_lines(more)),
    }
}

/// The usage of a session in one line; `None` if the agent reported none.
fn usage_line(usage: &Usage) -> Option<String> {
    let cached = usage.cached_tokens.filter(|count| *count > 0);
    let cached = cached
        .map(|count| format!(" ({} cached)", short_count(count)))
        .unwrap_or_default();
    let parts = [
        usage
            .input_tokens
            .map(|count| format!("{} tokens in{cached}", short_count(count))),
        usage.output_tokens.map(|count| format!("{} out", short_count(count))),
        cost_in_words(usage),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

#[cfg(test)]
mod tests;
