//! The list of the agents' questions: first those that wait, then those that can still be answered, then past ones,
//! newest first.

use ralph_core::{
    event::Decider,
    run::{AskEnd, AskEntry, AskSubject},
};
use ralph_text::one_line;
use ralph_words::asked_in_words;

use super::Model;

/// The user's position in the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskList {
    /// The selected entry, by its position in the history, since others come and go; `None` selects the first row.
    pub selected: Option<u64>,
    /// The position of the entry shown in full.
    pub reading: Option<u64>,
}

/// The entries in display order.
pub fn listed(model: &Model) -> impl Iterator<Item = &AskEntry> {
    let waiting = model.asks.iter().filter(|entry| is_waiting(entry));
    let missed = model.asks.iter().filter(|entry| is_missed(model, entry));
    let past = model.asks.iter().rev();
    let past = past.filter(|entry| !is_waiting(entry) && !is_missed(model, entry));
    waiting.chain(missed).chain(past)
}

fn is_waiting(entry: &AskEntry) -> bool {
    entry.end.is_none()
}

/// Whether the question got no answer, and a late answer would still reach the agent.
pub fn is_missed(model: &Model, entry: &AskEntry) -> bool {
    // Checked first, as it is cheap and rules out most entries.
    let unanswered = match &entry.end {
        Some(AskEnd::Unanswered) => true,
        Some(AskEnd::Decided { allowed, by, .. }) => !allowed && *by == Decider::Deadline,
        Some(AskEnd::Answered { answers, by, .. }) => answers.is_empty() && *by == Decider::Deadline,
        Some(AskEnd::Withdrawn) | None => false,
    };
    let is_open = |number: u32| {
        let unanswered = &model.run.permissions.unanswered;
        unanswered.iter().any(|ask| ask.number == number) || model.run.blocks.iter().any(|block| block.number == number)
    };
    unanswered && entry.number.is_some_and(is_open)
}

/// The selected row of the list.
pub fn position(model: &Model) -> usize {
    let selected = model.ui.asks.selected;
    let chosen = selected.and_then(|place| listed(model).position(|entry| entry.place == place));
    chosen.unwrap_or(0)
}

/// Selects a row. If it is the first, the selection stays on the first row when the list changes.
pub fn select(model: &mut Model, row: usize) {
    let chosen = listed(model).nth(row).map(|entry| entry.place);
    model.ui.asks.selected = chosen.filter(|_| row > 0);
}

/// An entry in a line.
pub fn ask_in_words(entry: &AskEntry) -> String {
    one_line(&match &entry.what {
        // A question needs no tool name.
        AskSubject::Request(ask) if !ask.request.questions.is_empty() => ask.request.title.clone(),
        AskSubject::Request(ask) => asked_in_words(&ask.request.tool, &ask.request.title),
        AskSubject::Title { tool, title } => asked_in_words(tool, title),
        AskSubject::Block { question, .. } => format!("blocked: {question}"),
    })
}
