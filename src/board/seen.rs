//! The runs of a plan, as far as their journals were read.

use ralph_core::{
    event::{AgentSignal, Event, Record, Usage},
    run::RunView,
};
use ralph_text::one_line;

/// Most bytes of a message that are looked at for its last line.
const CAP_BYTES: usize = 4096;

/// The last run of a plan, and what those before it have used and how many iterations they had.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub view: RunView,
    /// The last line that its agent said.
    pub said: Option<String>,
    earlier: Usage,
    earlier_iterations: u32,
}

impl Seen {
    /// A run that follows others, which have used `earlier` in so many `iterations`.
    pub fn after(earlier: Usage, iterations: u32) -> Seen {
        Seen {
            earlier,
            earlier_iterations: iterations,
            ..Seen::default()
        }
    }

    /// Takes in the record that follows those before.
    pub fn apply(&mut self, record: &Record) {
        self.view.apply(record);
        match &record.event {
            Event::AgentReported {
                signal: AgentSignal::Said { text },
                ..
            } => self.said = last_line(text).or(self.said.take()),
            // What another said is no news of this one.
            Event::IterationStarted { .. } => self.said = None,
            _ => {}
        }
    }

    /// The iterations of all runs of the plan.
    pub fn iterations(&self) -> u32 {
        self.earlier_iterations.saturating_add(self.view.iterations.counted)
    }

    /// What all runs of the plan have used.
    pub fn usage(&self) -> Usage {
        self.earlier.plus(self.view.usage)
    }
}

fn last_line(text: &str) -> Option<String> {
    let start = text.len().saturating_sub(CAP_BYTES);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at))?;
    let mut lines = text[start..].lines().rev();
    lines.find(|line| !line.trim().is_empty()).map(one_line)
}
