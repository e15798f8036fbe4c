//! The list of what agents asked: what waits first, then what can still be answered, then the past from the newest on.

use ralph_core::{
    event::Decider,
    run::{AskEnd, AskEntry, AskSubject},
};
use ralph_text::one_line;
use ralph_words::asked_in_words;

use super::Model;

/// Where somebody is in the list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskList {
    /// The entry that is chosen, by its place among all: others come and go. The first where it is none.
    pub selected: Option<u64>,
    /// The one that is shown whole.
    pub reading: Option<Reading>,
}

/// An entry that is shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    pub place: u64,
    /// First line in view.
    pub top: usize,
}

/// The entries in the order in which they are listed.
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

/// Whether nobody answered it, and an answer would still reach the agent.
pub fn is_missed(model: &Model, entry: &AskEntry) -> bool {
    // Looked at first, since it is cheap and says no to most.
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

/// Which row of the list is chosen.
pub fn position(model: &Model) -> usize {
    let selected = model.ui.asks.selected;
    let chosen = selected.and_then(|place| listed(model).position(|entry| entry.place == place));
    chosen.unwrap_or(0)
}

/// Chooses a row. The first row stays the first, whatever comes to stand there.
pub fn select(model: &mut Model, row: usize) {
    let chosen = listed(model).nth(row).map(|entry| entry.place);
    model.ui.asks.selected = chosen.filter(|_| row > 0);
}

/// An entry in a line.
pub fn ask_in_words(entry: &AskEntry) -> String {
    one_line(&match &entry.what {
        // A question speaks for itself.
        AskSubject::Request { request, .. } if !request.questions.is_empty() => request.title.clone(),
        AskSubject::Request { request, .. } => asked_in_words(&request.tool, &request.title),
        AskSubject::Title { tool, title } => asked_in_words(tool, title),
        AskSubject::Block { question, .. } => format!("blocked: {question}"),
    })
}
