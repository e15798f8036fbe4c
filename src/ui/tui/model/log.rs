//! The log: one line for each event, bounded.

use std::collections::VecDeque;

use crate::{
    driver::Detail,
    event::{AgentSignal, Event, FileChange, Record, clip},
    run::Iteration,
    text::one_line,
    words::{
        Line, Tone, changes_in_words, narrate, outcome_word, problem_in_words, problem_kind_in_words, short_duration,
        usage_in_words,
    },
};

/// Older lines are in the journal.
const LINES: usize = 5_000;
/// Most bytes of a line; the recording has the whole.
const LINE_BYTES: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub at_ms: u64,
    pub sign: Sign,
    pub text: String,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    Event(Tone),
    /// The agent said something.
    Said,
    Tool,
    File,
    /// The end of an iteration.
    Separator,
}

#[derive(Debug, Clone, Default)]
pub struct Log {
    lines: VecDeque<LogLine>,
    /// Lines that were dropped at the front.
    dropped: u64,
}

impl Log {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn get(&self, at: usize) -> Option<&LogLine> {
        self.lines.get(at)
    }

    pub fn push(&mut self, at_ms: u64, sign: Sign, text: &str) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(LogLine {
            at_ms,
            sign,
            text: clip(&one_line(text), LINE_BYTES),
        });
    }

    /// Adds what is to be said about `record`; returns the line of an event that is the loop's own.
    pub fn take(
        &mut self,
        record: &Record,
        iteration: Option<&Iteration>,
        clock: impl Fn(u64) -> String,
    ) -> Option<Line> {
        if let Event::IterationSettled { .. } = &record.event
            && let Some(iteration) = iteration
        {
            self.push(record.at_ms, Sign::Separator, &separator(iteration));
            return None;
        }
        if let Some(line) = narrate(&record.event, clock) {
            self.push(record.at_ms, Sign::Event(line.tone), &line.text);
            return Some(line);
        }
        if let Event::AgentReported { signal, .. } = &record.event
            && let Some((sign, text)) = signal_line(signal)
        {
            self.push(record.at_ms, sign, &text);
        }
        None
    }
}

impl Log {
    /// Adds what is shown of a detail that is no record.
    pub fn tell(&mut self, detail: &Detail) {
        if detail.missed > 0 {
            let text = format!("… {} more are in the signal log", detail.missed);
            self.push(detail.at_ms, Sign::Event(Tone::Note), &text);
        }
        if let Some((sign, text)) = signal_line(&detail.signal) {
            self.push(detail.at_ms, sign, &text);
        }
    }
}

fn separator(iteration: &Iteration) -> String {
    let mut parts = vec![format!("iteration {}", iteration.number)];
    parts.extend(
        iteration
            .outcome
            .as_ref()
            .map(|outcome| outcome_word(outcome).to_owned()),
    );
    parts.push(short_duration(iteration.duration_ms));
    parts.extend(iteration.changes.as_ref().map(changes_in_words));
    if iteration.progress == Some(false) {
        parts.push("no progress".to_owned());
    }
    parts.join(" · ")
}

/// What the agent does, in short: the terminal has it in full.
fn signal_line(signal: &AgentSignal) -> Option<(Sign, String)> {
    match signal {
        AgentSignal::Said { text } => {
            let first = text.lines().find(|line| !line.trim().is_empty())?;
            Some((Sign::Said, first.to_owned()))
        }
        AgentSignal::ToolStarted { tool, input, .. } => Some((Sign::Tool, format!("{tool} {input}"))),
        AgentSignal::ToolEnded { tool, ok: false, .. } => Some((Sign::Event(Tone::Bad), format!("{tool} failed"))),
        AgentSignal::FileChanged { path, change } => {
            let word = match change {
                FileChange::Added => "added",
                FileChange::Updated => "updated",
                FileChange::Deleted => "deleted",
            };
            Some((Sign::File, format!("{word} {path}")))
        }
        AgentSignal::Problem { problem } => {
            let kind = problem_kind_in_words(problem.kind);
            Some((Sign::Event(Tone::Bad), format!("{kind}: {}", problem_in_words(problem))))
        }
        AgentSignal::Retrying { why, .. } => Some((Sign::Event(Tone::Wait), format!("the agent tries again: {why}"))),
        AgentSignal::Usage { usage } => Some((Sign::Event(Tone::Note), usage_in_words(usage)?)),
        AgentSignal::Opened { model: Some(model), .. } => Some((Sign::Event(Tone::Note), format!("model {model}"))),
        AgentSignal::Opened { model: None, .. }
        | AgentSignal::Thought { .. }
        | AgentSignal::ToolEnded { ok: true, .. }
        | AgentSignal::LimitHit { .. }
        | AgentSignal::PermissionAsked { .. }
        | AgentSignal::QuestionAsked { .. }
        | AgentSignal::TurnEnded { .. }
        | AgentSignal::Unknown { .. }
        | AgentSignal::MessageAnswered { .. }
        | AgentSignal::PermissionRequested { .. }
        | AgentSignal::PermissionWithdrawn { .. }
        | AgentSignal::TextDelta { .. }
        | AgentSignal::ThoughtDelta { .. }
        | AgentSignal::ToolOutput { .. }
        | AgentSignal::Ended { .. } => None,
    }
}
