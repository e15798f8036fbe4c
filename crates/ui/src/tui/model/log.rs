//! The log: one line for each event, bounded, with a filter by kind.

use std::collections::VecDeque;

use ralph_core::{
    event::{
        AgentEvent, AgentSignal, ClaimEvent, Event, FileChange, IterationEvent, Outcome, Record, RunEvent, TimeEvent,
        clip,
    },
    run::Iteration,
};
use ralph_state::control::frames::SignalDetail;
use ralph_text::one_line;
use ralph_words::{
    EventLine, Tone, all_changes_in_words, narrate, outcome_word, reported_problem, short_duration, usage_in_words,
};

/// Maximum number of lines; older ones are in the journal.
const LINES: usize = 5_000;
/// Maximum bytes of a line; the recording has the rest.
const LINE_BYTES: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub at_ms: u64,
    pub sign: LogLineKind,
    pub text: String,
}

/// The kind of event a line describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLineKind {
    Event(Tone),
    /// A message of the agent.
    Said,
    Tool,
    File,
    /// The end of an iteration.
    Separator,
}

/// A filter for lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFilter {
    #[default]
    All,
    Problems,
    /// Messages of the agent and actions of the user.
    Messages,
    Tools,
    Files,
}

impl LogFilter {
    pub fn name(self) -> &'static str {
        match self {
            LogFilter::All => "all",
            LogFilter::Problems => "problems",
            LogFilter::Messages => "messages",
            LogFilter::Tools => "tools",
            LogFilter::Files => "files",
        }
    }

    /// The next filter.
    pub fn next(self) -> Self {
        match self {
            LogFilter::All => LogFilter::Problems,
            LogFilter::Problems => LogFilter::Messages,
            LogFilter::Messages => LogFilter::Tools,
            LogFilter::Tools => LogFilter::Files,
            LogFilter::Files => LogFilter::All,
        }
    }

    /// Whether this filter includes a line. Only `All` includes ends of iterations.
    fn has(self, sign: LogLineKind) -> bool {
        match self {
            LogFilter::All => true,
            LogFilter::Problems => matches!(sign, LogLineKind::Event(Tone::Bad | Tone::Warning | Tone::Wait)),
            LogFilter::Messages => matches!(sign, LogLineKind::Said | LogLineKind::Event(Tone::User)),
            LogFilter::Tools => sign == LogLineKind::Tool,
            LogFilter::Files => sign == LogLineKind::File,
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct EventLog {
    lines: VecDeque<LogLine>,
    /// Number of lines dropped at the front.
    dropped: u64,
    kind: LogFilter,
    /// The end of an iteration whose goals may still be checked: its rule is drawn once something else begins.
    ended: Option<EndedIteration>,
    /// The lines that pass the filter, by their position among all lines ever added.
    shown: VecDeque<u64>,
}

impl EventLog {
    /// An empty log with the filter `kind`.
    pub fn with_filter(kind: LogFilter) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    pub fn kind(&self) -> LogFilter {
        self.kind
    }

    /// Changes the filter and keeps the view's place, given and returned as the number of lines `below` the view.
    pub fn show(&mut self, kind: LogFilter, below: usize) -> usize {
        let seen = self.shown.iter().rev().nth(below).or(self.shown.front()).copied();
        self.kind = kind;
        self.shown.clear();
        for at in 0..self.lines.len() {
            self.pass(at);
        }
        let Some(seen) = seen.filter(|_| below > 0) else {
            return 0;
        };
        let later = self.shown.iter().rev().take_while(|place| **place > seen).count();
        later.min(self.shown.len().saturating_sub(1))
    }

    /// Number of lines that pass the filter.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether no line passes the filter.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The line at index `at` of those that pass the filter.
    pub fn get(&self, at: usize) -> Option<&LogLine> {
        let place = self.shown.get(at)?.checked_sub(self.dropped)?;
        self.lines.get(usize::try_from(place).ok()?)
    }

    /// The place among all lines ever added of the line at index `at` of those that pass the filter.
    pub fn place(&self, at: usize) -> Option<u64> {
        self.shown.get(at).copied()
    }

    /// Adds the line at `at` to the shown ones if it passes the filter. The end of an iteration passes if a line of
    /// that iteration does.
    fn pass(&mut self, at: usize) {
        let sign = self.lines[at].sign;
        let is_shown = match (sign, self.kind) {
            (LogLineKind::Separator, kind) if kind != LogFilter::All => {
                let before = self.len().checked_sub(1).and_then(|last| self.get(last));
                before.is_some_and(|before| before.sign != LogLineKind::Separator)
            }
            (sign, kind) => kind.has(sign),
        };
        if is_shown {
            self.shown.push_back(self.dropped + at as u64);
        }
    }

    pub fn push(&mut self, at_ms: u64, sign: LogLineKind, text: &str) {
        if self.lines.len() == LINES {
            self.lines.pop_front();
            self.dropped += 1;
            if self.shown.front().is_some_and(|place| *place < self.dropped) {
                self.shown.pop_front();
            }
        }
        self.lines.push_back(LogLine {
            at_ms,
            sign,
            text: clip(&one_line(text), LINE_BYTES),
        });
        self.pass(self.lines.len() - 1);
    }

    /// Adds the line for `record`, if there is one. Returns it if it describes an event of the loop itself.
    pub fn take(
        &mut self,
        record: &Record,
        iteration: Option<&Iteration>,
        clock: impl Fn(u64) -> String,
    ) -> Option<EventLine> {
        match (&record.event, iteration) {
            (Event::Iteration(IterationEvent::Settled { .. }), Some(iteration)) => {
                self.ended = Some(EndedIteration {
                    at_ms: record.at_ms,
                    parts: separator(iteration),
                });
                return None;
            }
            (Event::Claim(ClaimEvent::Refused { .. }), _) => {
                if let Some(ended) = &mut self.ended {
                    ended.parts[1] = "refused".to_owned();
                }
            }
            (
                Event::Iteration(IterationEvent::Started { .. })
                | Event::Run(RunEvent::Stopped { .. })
                | Event::Time(TimeEvent::WaitStarted { .. }),
                _,
            ) => {
                if let Some(ended) = self.ended.take() {
                    self.push(ended.at_ms, LogLineKind::Separator, &ended.parts.join(" · "));
                }
            }
            _ => {}
        }
        // The rule says the same.
        let is_told = matches!(
            &record.event,
            Event::Iteration(IterationEvent::Ended {
                outcome: Outcome::Completed,
                ..
            })
        );
        if let Some(line) = narrate(&record.event, clock).filter(|_| !is_told) {
            self.push(record.at_ms, LogLineKind::Event(line.tone), &line.text);
            return Some(line);
        }
        if let Event::Agent(AgentEvent::Reported { signal, .. }) = &record.event
            && let Some((sign, text)) = signal_line(signal)
        {
            self.push(record.at_ms, sign, &text);
        }
        None
    }
}

impl EventLog {
    /// Adds the line for a detail, which is not a record.
    pub fn tell(&mut self, detail: &SignalDetail) {
        if detail.missed > 0 {
            let text = format!("… {} more are in the signal log", detail.missed);
            self.push(detail.at_ms, LogLineKind::Event(Tone::Note), &text);
        }
        if let Some((sign, text)) = signal_line(&detail.signal) {
            self.push(detail.at_ms, sign, &text);
        }
    }
}

/// An iteration that has ended, for its rule.
#[derive(Debug, Clone)]
struct EndedIteration {
    at_ms: u64,
    /// Its number, its outcome and what else there is to say.
    parts: Vec<String>,
}

fn separator(iteration: &Iteration) -> Vec<String> {
    let outcome = iteration.outcome.as_ref().map_or("interrupted", outcome_word);
    let mut parts = vec![format!("iteration {}", iteration.number), outcome.to_owned()];
    parts.push(short_duration(iteration.duration_ms));
    let work = iteration.changes.as_ref();
    parts.extend(work.map(|changes| all_changes_in_words(changes, &iteration.elsewhere)));
    if iteration.progress == Some(false) {
        parts.push("no progress".to_owned());
    }
    parts
}

/// The agent's action in short; the terminal has it in full.
fn signal_line(signal: &AgentSignal) -> Option<(LogLineKind, String)> {
    match signal {
        AgentSignal::Said { text } => {
            // A promise is for ralph, which says what becomes of it.
            let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with("<promise>");
            let first = text.lines().find(is_said)?;
            Some((LogLineKind::Said, first.to_owned()))
        }
        AgentSignal::ToolStarted { tool, input, .. } => Some((LogLineKind::Tool, format!("{tool} {input}"))),
        AgentSignal::ToolEnded { tool, ok: false, .. } => {
            Some((LogLineKind::Event(Tone::Bad), format!("{tool} failed")))
        }
        AgentSignal::FileChanged { path, change } => {
            let word = match change {
                FileChange::Added => "added",
                FileChange::Updated => "updated",
                FileChange::Deleted => "deleted",
            };
            Some((LogLineKind::File, format!("{word} {path}")))
        }
        AgentSignal::Problem { problem } => {
            let (tone, text) = reported_problem(problem);
            Some((LogLineKind::Event(tone), text))
        }
        AgentSignal::Retrying { why, .. } => {
            Some((LogLineKind::Event(Tone::Wait), format!("the agent tries again: {why}")))
        }
        AgentSignal::Usage { usage } => Some((LogLineKind::Event(Tone::Note), usage_in_words(usage)?)),
        AgentSignal::Opened { model: Some(model), .. } => {
            Some((LogLineKind::Event(Tone::Note), format!("model {model}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(log: &EventLog) -> String {
        let lines = (0..log.len()).filter_map(|at| log.get(at));
        lines.map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_of_a_kind_are_shown_with_the_ends_of_their_iterations_and_the_place_is_kept() {
        let mut log = EventLog::default();
        let lines = [
            (LogLineKind::Tool, "shell"),
            (LogLineKind::Event(Tone::Bad), "failed"),
            (LogLineKind::Separator, "1"),
            (LogLineKind::Said, "hello"),
            (LogLineKind::Separator, "2"),
            (LogLineKind::File, "added"),
            (LogLineKind::Event(Tone::User), "message"),
        ];
        for (sign, text) in lines {
            log.push(0, sign, text);
        }
        let shown = [
            (LogFilter::Problems, 0, "failed 1"),
            (LogFilter::Messages, 2, "hello 2 message"),
            (LogFilter::Tools, 0, "shell 1"),
            (LogFilter::Files, 0, "added"),
            (LogFilter::All, 1, "shell failed 1 hello 2 added message"),
        ];
        // Three lines above the end, or at the first line if there are fewer.
        for (kind, below, expected) in shown {
            assert_eq!(log.kind().next(), kind);
            assert_eq!((log.show(kind, 3), texts(&log).as_str()), (below, expected));
        }
        log.show(LogFilter::Problems, 0);
        log.push(0, LogLineKind::Said, "more");
        log.push(0, LogLineKind::Event(Tone::Wait), "waits");
        assert_eq!(texts(&log), "failed 1 waits");
        for _ in 0..LINES {
            log.push(0, LogLineKind::Said, "…");
        }
        assert_eq!((log.len(), log.dropped()), (0, 9), "what was dropped is not shown");
    }
}
