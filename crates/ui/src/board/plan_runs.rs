//! The runs of a plan, as read from their journals so far.

use ralph_core::{
    event::{AgentEvent, AgentSignal, Event, IterationEvent, Record, Usage},
    run::RunView,
};
use ralph_text::one_line;

/// Number of bytes at the end of a message that are searched for its last line.
const CAP_BYTES: usize = 4096;

/// The latest run of a plan, and the totals of the earlier ones.
#[derive(Debug, Clone, Default)]
pub struct PlanRuns {
    pub view: RunView,
    /// The last line of the agent's messages.
    pub said: Option<String>,
    earlier: Usage,
    earlier_iterations: u32,
}

impl PlanRuns {
    /// Creates the state of a run that follows others, which used `earlier` in `iterations`.
    pub fn after(earlier: Usage, iterations: u32) -> PlanRuns {
        PlanRuns {
            earlier,
            earlier_iterations: iterations,
            ..PlanRuns::default()
        }
    }

    /// Applies the next record.
    pub fn apply(&mut self, record: &Record) {
        self.view.apply(record);
        match &record.event {
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::Said { text },
                ..
            }) => self.said = last_line(text).or(self.said.take()),
            // The last line belongs to the agent of an earlier iteration.
            Event::Iteration(IterationEvent::Started { .. }) => self.said = None,
            _ => {}
        }
    }

    /// Number of iterations in all runs of the plan.
    pub fn iterations(&self) -> u32 {
        self.earlier_iterations.saturating_add(self.view.iterations.counted)
    }

    /// Usage of all runs of the plan.
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
