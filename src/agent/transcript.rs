//! Signals as a person would want to read them: ANSI text for terminal panes, recordings and headless output. Pure.
//!
//! What an agent says passes through [`sanitized`] first: the only escape sequences in a transcript are its own. It
//! uses the sixteen colours of the terminal's own theme, so it is legible on dark and light ones alike.

use std::{borrow::Cow, collections::VecDeque};

use crate::{
    event::{AgentSignal, FileChange, Problem, Usage},
    text::{one_line, sanitized},
    words::{problem_in_words, problem_kind_in_words},
};

use super::live_output::LiveOutput;

/// Most lines of a tool's input and of its result that are shown.
const INPUT_CAP_LINES: usize = 12;
const RESULT_CAP_LINES: usize = 100;
/// Most calls under way that are remembered.
const CALLS_CAP: usize = 64;
/// A tool that took less is not worth a line about it.
const SHOWN_DURATION_MS: u64 = 1000;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const ITALIC: &str = "\x1b[2;3m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const CYAN: &str = "\x1b[36m";
const RESET: &str = "\x1b[0m";

/// Renders one session. It remembers what was shown last, to separate and not to repeat.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    last: Last,
    /// The last message that was shown.
    said: Option<String>,
    /// A text that is being written.
    live: Option<Live>,
    /// Why the turn failed has been shown.
    explained: bool,
    /// The calls of tools under way, the latest last.
    calls: VecDeque<Call>,
    /// The call whose head was shown last, if no result came after it.
    head: Option<String>,
    /// What the latest tool has written so far.
    output: Option<LiveOutput>,
    /// What the latest tool was asked for: a path that was changed need not be named again.
    input: String,
    /// What was used and not shown yet: some agents tell it after every step, and it is of interest at the end.
    usage: Option<Usage>,
}

/// A text of which pieces have been shown as they came.
#[derive(Debug)]
struct Live {
    voice: Voice,
    /// All of it so far, up to a bound; its whole may come as a signal that need not be shown again.
    text: String,
    /// Its last line has no end yet.
    mid_line: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Said,
    Thought,
}

/// Most bytes of a text under way that are remembered; the whole of a longer one is shown again.
const LIVE_CAP_BYTES: usize = 1024 * 1024;

/// A call of a tool, as it was shown when it began.
#[derive(Debug)]
struct Call {
    id: String,
    tool: String,
    /// The first line of what it was asked for.
    input: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    Text,
    Tool,
    Note,
}

impl Transcript {
    /// Appends what `signal` looks like to `out`: whole lines, each ended with CR and LF, but for a text that is being
    /// written.
    pub(crate) fn render(&mut self, signal: &AgentSignal, out: &mut Vec<u8>) {
        match signal {
            AgentSignal::TextDelta { text } => return self.grow(Voice::Said, text, out),
            AgentSignal::ThoughtDelta { text } => return self.grow(Voice::Thought, text, out),
            AgentSignal::Said { text } if self.was_live(Voice::Said, text, out) => {
                self.said = Some(text.clone());
                return;
            }
            AgentSignal::Thought { text } if self.was_live(Voice::Thought, text, out) => return,
            _ => self.end_live_line(out),
        }
        match signal {
            AgentSignal::Opened { session, model } => {
                let session = session.as_ref().map(|session| format!("session {}", session.0));
                let parts: Vec<_> = session.into_iter().chain(model.clone()).collect();
                if !parts.is_empty() {
                    self.note(DIM, &parts.join(" · "), out);
                }
            }
            AgentSignal::Said { text } => self.said(text, out),
            AgentSignal::Thought { text } => {
                self.begin(Last::Text, out);
                text_lines(ITALIC, "", text, usize::MAX, out);
            }
            AgentSignal::ToolStarted { call, tool, input } => self.tool_started(call, tool, input, out),
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                output,
                duration_ms,
            } => {
                self.tool_ends(call, out);
                let live = self.output.take_if(|live| live.is_of(call));
                let output = live.map_or(output.as_str(), |live| live.left_of(call, output));
                self.tool_ended(tool, *ok, output, *duration_ms, out);
            }
            AgentSignal::FileChanged { path, change } => self.file_changed(path, *change, out),
            AgentSignal::Usage { usage } => self.usage = Some(self.usage.map_or(*usage, |sum| sum.plus(*usage))),
            AgentSignal::Retrying { attempt, of, why, .. } => {
                let count = match (attempt, of) {
                    (Some(attempt), Some(of)) => format!(" {attempt} of {of}"),
                    (Some(attempt), None) => format!(" {attempt}"),
                    (None, _) => String::new(),
                };
                self.note(YELLOW, &format!("↻ retry{count}: {why}"), out);
            }
            AgentSignal::LimitHit { text, .. } => self.note(YELLOW, &format!("limit: {text}"), out),
            AgentSignal::PermissionAsked { text, allowed, .. } => {
                let colour = if *allowed { DIM } else { YELLOW };
                self.note(colour, &format!("asks for permission: {text}"), out);
            }
            AgentSignal::QuestionAsked { text, .. } => self.note(YELLOW, &format!("asks: {text}"), out),
            AgentSignal::Problem { problem } => self.problem(problem, out),
            AgentSignal::TurnEnded { ok, message } => self.turn_ended(*ok, message.as_deref(), out),
            AgentSignal::Unknown { text } => self.note(DIM, text, out),
            AgentSignal::ToolOutput { call, text } => self.tool_output(call, text, out),
            // The call of the tool is shown, and what becomes of the request is told where it is decided.
            AgentSignal::PermissionRequested { .. }
            | AgentSignal::PermissionWithdrawn { .. }
            | AgentSignal::MessageAnswered { .. }
            | AgentSignal::TextDelta { .. }
            | AgentSignal::ThoughtDelta { .. } => {}
            AgentSignal::Ended { .. } => self.show_usage(out),
        }
    }

    /// Shows a piece of a text as it comes.
    fn grow(&mut self, voice: Voice, piece: &str, out: &mut Vec<u8>) {
        let goes_on = |live: &mut Live| live.voice == voice && self.last == Last::Text;
        if !self.live.as_mut().is_some_and(goes_on) {
            self.end_live_line(out);
            self.live = None;
        }
        if self.live.is_none() {
            // Blank lines before the first word would be taken off the whole, too.
            if piece.trim().is_empty() {
                return;
            }
            self.begin(Last::Text, out);
        }
        let live = self.live.get_or_insert_with(|| Live {
            voice,
            text: String::new(),
            mid_line: false,
        });
        if live.text.len() + piece.len() <= LIVE_CAP_BYTES {
            live.text.push_str(piece);
        }
        let (colour, reset) = match voice {
            Voice::Said => ("", ""),
            Voice::Thought => (ITALIC, RESET),
        };
        let piece = sanitized(piece);
        for (at, part) in piece.split('\n').enumerate() {
            if at > 0 {
                out.extend_from_slice(b"\r\n");
                live.mid_line = false;
            }
            if !part.is_empty() {
                for text in [colour, part, reset] {
                    out.extend_from_slice(text.as_bytes());
                }
                live.mid_line = true;
            }
        }
    }

    /// Whether the text was shown as it came; it is complete with this.
    fn was_live(&mut self, voice: Voice, text: &str, out: &mut Vec<u8>) -> bool {
        self.end_live_line(out);
        let shown = self.live.take_if(|live| live.voice == voice);
        shown.is_some_and(|live| live.text.trim() == text.trim())
    }

    fn end_live_line(&mut self, out: &mut Vec<u8>) {
        if let Some(live) = &mut self.live
            && std::mem::take(&mut live.mid_line)
        {
            out.extend_from_slice(b"\r\n");
        }
    }

    fn said(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.trim().is_empty() {
            return;
        }
        self.begin(Last::Text, out);
        text_lines("", "", text, usize::MAX, out);
        self.said = Some(text.to_owned());
    }

    fn tool_started(&mut self, call: &str, tool: &str, input: &str, out: &mut Vec<u8>) {
        self.begin(Last::Tool, out);
        self.head = Some(call.to_owned());
        if self.calls.len() >= CALLS_CAP {
            self.calls.pop_front();
        }
        self.calls.push_back(Call {
            id: call.to_owned(),
            tool: tool.to_owned(),
            input: input.trim().lines().next().unwrap_or_default().to_owned(),
        });
        input.clone_into(&mut self.input);
        let input = sanitized(input.trim());
        let mut lines = input.lines();
        let first = lines.next().unwrap_or_default();
        line(out, &[CYAN, "▸ ", BOLD, &one_line(tool), RESET, " ", first]);
        capped(lines, INPUT_CAP_LINES - 1, |text| line(out, &["  ", text]));
    }

    /// Shows what a tool writes, where its head was the last thing shown.
    fn tool_output(&mut self, call: &str, piece: &str, out: &mut Vec<u8>) {
        if self.head.as_deref() != Some(call) || self.last != Last::Tool {
            return;
        }
        if !self.output.as_ref().is_some_and(|live| live.is_of(call)) {
            self.output = Some(LiveOutput::new(call));
        }
        let Some(live) = &mut self.output else { return };
        for text in sanitized(live.grow(piece)).lines() {
            line(out, &["  ", DIM, text, RESET]);
        }
    }

    /// Says which call ends, unless it is the one that was shown last.
    fn tool_ends(&mut self, call: &str, out: &mut Vec<u8>) {
        let Some(at) = self.calls.iter().position(|known| known.id == call) else {
            return;
        };
        let under_its_head = self.head.take().as_deref() == Some(call);
        let Some(Call { tool, input, .. }) = self.calls.remove(at).filter(|_| !under_its_head) else {
            return;
        };
        line(
            out,
            &[CYAN, "◂ ", BOLD, &one_line(&tool), RESET, " ", &one_line(&input)],
        );
    }

    fn tool_ended(&mut self, tool: &str, ok: bool, output: &str, duration_ms: Option<u64>, out: &mut Vec<u8>) {
        self.last = Last::Tool;
        text_lines(DIM, "  ", output, RESULT_CAP_LINES, out);
        let took = duration_ms.filter(|ms| *ms >= SHOWN_DURATION_MS).map(seconds);
        match (ok, took) {
            (true, None) => {}
            (true, Some(took)) => line(out, &["  ", DIM, "took ", &took, RESET]),
            (false, None) => line(out, &["  ", RED, "✗ ", &one_line(tool), " failed", RESET]),
            (false, Some(took)) => line(out, &["  ", RED, "✗ ", &one_line(tool), " failed after ", &took, RESET]),
        }
    }

    fn file_changed(&mut self, path: &str, change: FileChange, out: &mut Vec<u8>) {
        let (colour, word) = match change {
            FileChange::Added => (GREEN, "added"),
            FileChange::Updated => (YELLOW, "updated"),
            FileChange::Deleted => (RED, "deleted"),
        };
        if self.last == Last::Tool && self.input == path {
            line(out, &["  ", colour, word, RESET]);
        } else {
            self.begin(Last::Tool, out);
            line(out, &[colour, "▸ ", word, RESET, " ", &one_line(path)]);
        }
    }

    fn show_usage(&mut self, out: &mut Vec<u8>) {
        if let Some(text) = self.usage.take().as_ref().and_then(usage_line) {
            self.note(DIM, &text, out);
        }
    }

    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        self.explained = true;
        let kind = problem_kind_in_words(problem.kind);
        self.note(RED, &format!("✗ {kind}: {}", problem_in_words(problem)), out);
    }

    fn turn_ended(&mut self, ok: bool, message: Option<&str>, out: &mut Vec<u8>) {
        // Most agents have said their last message already, as a message.
        if let Some(message) = message.filter(|message| self.said.as_deref() != Some(*message)) {
            self.said(message, out);
        }
        if !ok && !self.explained {
            self.note(RED, "✗ the turn failed", out);
        }
        self.show_usage(out);
    }

    /// One line that is no part of the conversation.
    fn note(&mut self, colour: &str, text: &str, out: &mut Vec<u8>) {
        self.begin(Last::Note, out);
        line(out, &[colour, &one_line(text), RESET]);
    }

    /// Separates texts from what came before with an empty line, and tools from texts.
    fn begin(&mut self, next: Last, out: &mut Vec<u8>) {
        let last = std::mem::replace(&mut self.last, next);
        let apart = match (last, next) {
            (Last::Nothing, _) | (Last::Note, Last::Note) | (Last::Tool, Last::Tool) => false,
            (Last::Text | Last::Tool | Last::Note, _) => true,
        };
        if apart {
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn line(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

/// Every line of `text` in one colour; each is closed by itself, so that a cut in between bleeds nowhere.
fn text_lines(colour: &str, indent: &str, text: &str, cap: usize, out: &mut Vec<u8>) {
    let reset = if colour.is_empty() { "" } else { RESET };
    let text: Cow<'_, str> = sanitized(text.trim_end());
    capped(text.lines(), cap, |text| line(out, &[indent, colour, text, reset]));
}

fn capped<'a>(mut lines: impl Iterator<Item = &'a str>, cap: usize, mut each: impl FnMut(&str)) {
    lines.by_ref().take(cap).for_each(&mut each);
    match lines.count() {
        0 => {}
        1 => each("… 1 more line"),
        more => each(&format!("… {more} more lines")),
    }
}

fn seconds(ms: u64) -> String {
    match ms / 1000 {
        whole @ 0..60 => format!("{whole}.{} s", ms % 1000 / 100),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

/// What a session used, in one line; nothing if the agent told nothing.
fn usage_line(usage: &Usage) -> Option<String> {
    let cached = usage.cached_tokens.filter(|count| *count > 0);
    let cached = cached
        .map(|count| format!(" ({} cached)", grouped(count)))
        .unwrap_or_default();
    let parts = [
        usage
            .input_tokens
            .map(|count| format!("{} tokens in{cached}", grouped(count))),
        usage.output_tokens.map(|count| format!("{} out", grouped(count))),
        usage.cost_usd.map(|cost| format!("${cost:.4}")),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::event::SessionId;

    use super::*;

    fn rendered(signals: &[AgentSignal]) -> String {
        let mut transcript = Transcript::default();
        let mut out = Vec::new();
        for signal in signals {
            transcript.render(signal, &mut out);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    fn readable(signals: &[AgentSignal]) -> String {
        let shown = rendered(signals);
        assert!(shown.ends_with("\r\n"));
        assert!(
            !shown.replace("\r\n", "").contains(['\r', '\n']),
            "every line ends with CR LF: {shown:?}"
        );
        shown.replace("\r\n", "\n").replace('\x1b', "^")
    }

    fn said(text: &str) -> AgentSignal {
        AgentSignal::Said { text: text.to_owned() }
    }

    fn tool_ended(ok: bool, output: &str) -> AgentSignal {
        AgentSignal::ToolEnded {
            call: "1".to_owned(),
            tool: "shell".to_owned(),
            ok,
            output: output.to_owned(),
            duration_ms: None,
        }
    }

    #[test]
    fn a_session_reads_as_a_conversation() {
        let usage = Usage {
            input_tokens: Some(1_234_567),
            cached_tokens: Some(500),
            output_tokens: Some(50),
            cost_usd: None,
        };
        assert_snapshot!(readable(&[
            AgentSignal::Opened { session: Some(SessionId("s-1".to_owned())), model: None },
            AgentSignal::Thought { text: "I should look.".to_owned() },
            said("I will run a command first.\n"),
            AgentSignal::ToolStarted { call: "1".to_owned(), tool: "shell".to_owned(), input: "ls\npwd".to_owned() },
            tool_ended(true, "README.md\n"),
            AgentSignal::FileChanged { path: "src/a.rs".to_owned(), change: FileChange::Added },
            tool_ended(false, ""),
            said("Done.\n\nBye."),
            AgentSignal::Usage { usage },
            AgentSignal::TurnEnded { ok: true, message: Some("Done.\n\nBye.".to_owned()) },
        ]), @r"
        ^[2msession s-1^[0m

        ^[2;3mI should look.^[0m

        I will run a command first.

        ^[36m▸ ^[1mshell^[0m ls
          pwd
          ^[2mREADME.md^[0m
        ^[32m▸ added^[0m src/a.rs
          ^[31m✗ shell failed^[0m

        Done.

        Bye.

        ^[2m1,234,567 tokens in (500 cached) · 50 out^[0m
        ");
    }

    #[test]
    fn what_was_used_is_added_up_and_shown_at_the_end() {
        let usage = Usage {
            input_tokens: Some(1000),
            cost_usd: Some(0.001),
            ..Usage::default()
        };
        let shown = rendered(&[
            AgentSignal::Usage { usage },
            said("one"),
            AgentSignal::Usage { usage },
            AgentSignal::TurnEnded {
                ok: true,
                message: None,
            },
            AgentSignal::Ended {
                exit: None,
                output_bytes: 0,
            },
        ]);
        assert_eq!(shown.matches("tokens in").count(), 1, "{shown}");
        assert!(shown.ends_with("2,000 tokens in · $0.0020\x1b[0m\r\n"), "{shown:?}");
    }

    #[test]
    fn results_of_tools_that_work_at_the_same_time_say_whose_they_are() {
        let started = |call: &str, input: &str| AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: "Edit".to_owned(),
            input: input.to_owned(),
        };
        let ended = |call: &str, ok, duration_ms| AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: "Edit".to_owned(),
            ok,
            output: format!("result of {call}"),
            duration_ms,
        };
        let changed = |path: &str| AgentSignal::FileChanged {
            path: path.to_owned(),
            change: FileChange::Updated,
        };
        assert_snapshot!(readable(&[
            started("1", "a.rs"),
            started("2", "b.rs"),
            ended("1", true, Some(999)),
            ended("2", true, Some(1_250)),
            started("3", "c.rs"),
            ended("3", false, Some(61_000)),
            changed("c.rs"),
            changed("d.rs"),
        ]), @r"
        ^[36m▸ ^[1mEdit^[0m a.rs
        ^[36m▸ ^[1mEdit^[0m b.rs
        ^[36m◂ ^[1mEdit^[0m a.rs
          ^[2mresult of 1^[0m
        ^[36m◂ ^[1mEdit^[0m b.rs
          ^[2mresult of 2^[0m
          ^[2mtook 1.2 s^[0m
        ^[36m▸ ^[1mEdit^[0m c.rs
          ^[2mresult of 3^[0m
          ^[31m✗ Edit failed after 1 min 1 s^[0m
          ^[33mupdated^[0m
        ^[33m▸ updated^[0m d.rs
        ");
    }

    #[test]
    fn what_a_tool_writes_is_shown_as_it_comes_and_once() {
        let started = AgentSignal::ToolStarted {
            call: "1".to_owned(),
            tool: "shell".to_owned(),
            input: "make".to_owned(),
        };
        let piece = |call: &str, text: &str| AgentSignal::ToolOutput {
            call: call.to_owned(),
            text: text.to_owned(),
        };
        let live = [
            started.clone(),
            piece("1", "one\ntw"),
            piece("2", "other\n"),
            piece("1", "o\nth"),
        ];
        assert!(rendered(&live).contains("two"), "it is shown before the tool ends");
        let whole = "one\ntwo\nthree\n";
        let all: Vec<_> = live.into_iter().chain([tool_ended(true, whole)]).collect();
        assert_eq!(rendered(&all), rendered(&[started, tool_ended(true, whole)]));
    }

    #[test]
    fn problems_and_retries_stand_out() {
        let why = "unexpected status 401".to_owned();
        assert_snapshot!(readable(&[
            AgentSignal::Retrying { attempt: Some(1), of: Some(5), why: why.clone(), kind: None },
            AgentSignal::Retrying { attempt: None, of: None, why: "waiting for network".to_owned(), kind: None },
            AgentSignal::Problem { problem: Problem::said(crate::event::ProblemKind::Auth, why) },
            AgentSignal::TurnEnded { ok: false, message: None },
        ]), @r"
        ^[33m↻ retry 1 of 5: unexpected status 401^[0m
        ^[33m↻ retry: waiting for network^[0m
        ^[31m✗ not authenticated: unexpected status 401^[0m
        ");
    }

    #[test]
    fn a_permission_that_was_given_does_not_look_like_trouble() {
        let asked = |allowed| {
            readable(&[AgentSignal::PermissionAsked {
                id: "1".to_owned(),
                text: "bash (touch x)".to_owned(),
                allowed,
            }])
        };
        assert_eq!(asked(true), "^[2masks for permission: bash (touch x)^[0m\n");
        assert_eq!(asked(false), "^[33masks for permission: bash (touch x)^[0m\n");
    }

    #[test]
    fn a_failure_nobody_explained_is_still_shown() {
        assert!(
            rendered(&[AgentSignal::TurnEnded {
                ok: false,
                message: None
            }])
            .contains("the turn failed")
        );
    }

    #[test]
    fn a_final_message_that_was_not_said_before_is_shown() {
        let message = Some("the end".to_owned());
        assert!(rendered(&[AgentSignal::TurnEnded { ok: true, message }]).contains("the end\r\n"));
    }

    #[test]
    fn no_escape_sequence_of_an_agent_gets_through() {
        let evil = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2Jc\rd\u{9b}31m\x08";
        let own = [BOLD, DIM, ITALIC, RED, GREEN, YELLOW, CYAN, RESET];
        let shown = rendered(&[
            said(evil),
            AgentSignal::Thought { text: evil.to_owned() },
            AgentSignal::ToolStarted {
                call: String::new(),
                tool: evil.to_owned(),
                input: evil.to_owned(),
            },
            tool_ended(false, evil),
            AgentSignal::FileChanged {
                path: evil.to_owned(),
                change: FileChange::Deleted,
            },
            AgentSignal::Unknown { text: evil.to_owned() },
            AgentSignal::Opened {
                session: Some(SessionId(evil.to_owned())),
                model: Some(evil.to_owned()),
            },
            AgentSignal::Problem {
                problem: Problem::said(crate::event::ProblemKind::Other, evil.to_owned()),
            },
            AgentSignal::QuestionAsked {
                id: String::new(),
                text: evil.to_owned(),
            },
        ]);
        let rest = own
            .iter()
            .fold(shown.replace("\r\n", "\n"), |text, sequence| text.replace(sequence, ""));
        assert!(
            !rest
                .chars()
                .any(|character| character.is_control() && character != '\n'),
            "{rest:?}"
        );
    }

    #[test]
    fn a_long_result_is_cut_and_the_cut_is_counted() {
        let output = (0..150).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let shown = rendered(&[tool_ended(true, &output)]);
        assert_eq!(shown.lines().count(), RESULT_CAP_LINES + 1);
        assert!(shown.contains("… 50 more lines"));
    }
}
