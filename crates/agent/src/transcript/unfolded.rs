//! Rebuilds the parts that a transcript leaves out, from its signals. Pure.

use std::{collections::VecDeque, path::Path};

use ralph_core::event::AgentSignal;
use ralph_state::store::signal_log::Unfold;

use super::{
    CALLS_CAP, Transcript,
    folded::{SHOWN_LINES, is_folded},
    thought::words_of,
};

/// Most bytes kept of a whole transcript; a longer one keeps its end.
const WHOLE_CAP_BYTES: usize = 4 << 20;

/// Collects the signals of an iteration, in order.
pub struct Unfolding {
    what: Unfold,
    columns: usize,
    /// The transcript of all signals so far.
    transcript: Transcript,
    out: Vec<u8>,
    /// The calls in progress.
    started: VecDeque<AgentSignal>,
    /// The latest folded signal, preceded by its tool call if it is a result.
    last: Vec<AgentSignal>,
}

impl Unfolding {
    pub fn new(what: Unfold, project: &Path, columns: u16) -> Self {
        Self {
            what,
            columns: usize::from(columns),
            transcript: Transcript::unfolded(project, columns),
            out: Vec::new(),
            started: VecDeque::new(),
            last: Vec::new(),
        }
    }

    pub fn take(&mut self, signal: AgentSignal) {
        match self.what {
            Unfold::All => {
                self.transcript.render(&signal, &mut self.out);
                if self.out.len() > 2 * WHOLE_CAP_BYTES {
                    let from = self.out.len() - WHOLE_CAP_BYTES;
                    let line = self.out[from..].iter().position(|byte| *byte == b'\n');
                    self.out.drain(..from + line.map_or(0, |at| at + 1));
                }
            }
            Unfold::Last => self.remember(signal),
        }
    }

    fn remember(&mut self, signal: AgentSignal) {
        match &signal {
            AgentSignal::ToolStarted { input, .. } => {
                if input.trim().lines().count() > SHOWN_LINES {
                    self.last = vec![signal.clone()];
                }
                if self.started.len() >= CALLS_CAP {
                    self.started.pop_front();
                }
                self.started.push_back(signal);
            }
            AgentSignal::ToolEnded { call, output, .. } => {
                let at = self.started.iter().position(
                    |started| matches!(started, AgentSignal::ToolStarted { call: known, .. } if known == call),
                );
                let started = at.and_then(|at| self.started.remove(at));
                if is_folded(output, self.columns) {
                    self.last = started.into_iter().chain([signal]).collect();
                }
            }
            AgentSignal::Thought { text } if words_of(text) > 1 => self.last = vec![signal],
            _ => {}
        }
    }

    /// The unfolded content as ANSI text; `None` if nothing is folded.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        for signal in &self.last {
            self.transcript.render(signal, &mut self.out);
        }
        Some(self.out).filter(|out| !out.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(call: &str) -> AgentSignal {
        AgentSignal::ToolStarted {
            call: call.to_owned(),
            tool: "shell".to_owned(),
            input: format!("seq {call}"),
        }
    }

    fn ended(call: &str, lines: usize) -> AgentSignal {
        AgentSignal::ToolEnded {
            call: call.to_owned(),
            tool: "shell".to_owned(),
            ok: true,
            output: (1..=lines).map(|line| format!("{call}-{line}\n")).collect(),
            duration_ms: None,
        }
    }

    fn unfolded(what: Unfold, signals: &[AgentSignal]) -> Option<String> {
        let mut unfolding = Unfolding::new(what, Path::new("/project"), 80);
        signals.iter().for_each(|signal| unfolding.take(signal.clone()));
        unfolding.finish().map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_latest_folded_result_is_shown_whole_and_nothing_else() {
        let signals = [
            started("a"),
            started("b"),
            ended("a", 20),
            ended("b", 9),
            started("c"),
            ended("c", 8),
        ];
        let last = unfolded(Unfold::Last, &signals).unwrap();
        assert!(
            last.contains("seq b") && last.contains("b-9") && !last.contains("more line"),
            "{last}"
        );
        assert!(!last.contains("a-1") && !last.contains("c-1"), "{last}");
        let all = unfolded(Unfold::All, &signals).unwrap();
        for line in ["seq a", "a-20", "b-9", "c-8"] {
            assert!(all.contains(line), "{line}: {all}");
        }
        assert_eq!(unfolded(Unfold::Last, &signals[4..]), None);
    }

    #[test]
    fn a_long_line_is_folded_by_its_rows_and_unfolds() {
        let end = |width: usize| AgentSignal::ToolEnded {
            call: "1".to_owned(),
            tool: "shell".to_owned(),
            ok: true,
            output: "x".repeat(width),
            duration_ms: None,
        };
        let rows = |signal: &AgentSignal| {
            let (mut transcript, mut out) = (Transcript::new(Path::new("/project"), 80), Vec::new());
            transcript.render(&started("1"), &mut out);
            transcript.render(signal, &mut out);
            let text = String::from_utf8(out).unwrap();
            let shown = text.matches('x').count();
            (shown, text.contains('…'))
        };
        assert_eq!(rows(&end(8 * 78)), (8 * 78, false));
        assert_eq!(rows(&end(4_000)), (8 * 78 - 1, true));
        let last = unfolded(Unfold::Last, &[started("1"), end(4_000)]).unwrap();
        assert_eq!(last.matches('x').count(), 4_000);
        assert_eq!(unfolded(Unfold::Last, &[started("1"), end(8 * 78)]), None);
    }

    #[test]
    fn a_thought_is_folded_to_its_first_line_however_it_comes_and_unfolds() {
        let text = "\n**The plan**\n\nFirst this.\n  \nThen that.\n";
        let whole = [AgentSignal::Thought { text: text.to_owned() }];
        let mut pieces: Vec<AgentSignal> = text
            .chars()
            .map(|piece| AgentSignal::ThoughtDelta { text: piece.into() })
            .collect();
        pieces.extend(whole.clone());
        for signals in [&whole[..], &pieces[..]] {
            let (mut transcript, mut out) = (Transcript::new(Path::new("/project"), 80), Vec::new());
            signals.iter().for_each(|signal| transcript.render(signal, &mut out));
            let shown = String::from_utf8(out).unwrap();
            assert!(shown.contains("The plan") && !shown.contains("this"), "{shown}");
            assert!(shown.contains("… 2 more lines\x1b"), "{shown}");
        }
        let shown = unfolded(Unfold::Last, &whole).unwrap();
        assert!(shown.contains("Then that.") && !shown.contains("more line"), "{shown}");
    }
}
