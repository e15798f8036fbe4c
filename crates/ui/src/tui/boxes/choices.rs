//! Keys that select among the choices of an agent's questions.

use crossterm::event::{KeyCode, KeyModifiers};
use ralph_core::event::{Answer, Question};

use crate::tui::{
    editor::Editor,
    keys::Chord,
    model::{AnswerBox, AnswerStep, ChoiceSelection, are_marked, choices},
};

/// The effect of a key on the choices.
pub(super) enum ChoiceEffect {
    /// The key has no meaning for the choices.
    Nothing,
    Moved,
    /// The selection is complete.
    Answered(Answer),
}

/// Handles a key where there are choices.
pub(super) fn key(questions: &[Question], chord: Chord, answering: &mut AnswerBox) -> ChoiceEffect {
    let all = choices(questions);
    if all.is_empty() {
        return match chord.code {
            KeyCode::Enter => {
                answering.step = AnswerStep::Wording(Editor::default());
                ChoiceEffect::Moved
            }
            _ => ChoiceEffect::Nothing,
        };
    }
    let choice = &mut answering.choice;
    choice.cursor = choice.cursor.min(all.len() - 1);
    let at = all[choice.cursor];
    match (chord.code, chord.modifiers) {
        (KeyCode::Up | KeyCode::Char('k'), KeyModifiers::NONE) => choice.cursor = choice.cursor.saturating_sub(1),
        (KeyCode::Down | KeyCode::Char('j'), KeyModifiers::NONE) => {
            choice.cursor = (choice.cursor + 1).min(all.len() - 1);
        }
        (KeyCode::Char(' '), KeyModifiers::NONE) => toggle(questions, choice, at),
        (KeyCode::Enter, KeyModifiers::NONE) => return entered(questions, &all, answering),
        _ => return ChoiceEffect::Nothing,
    }
    ChoiceEffect::Moved
}

fn toggle(questions: &[Question], choice: &mut ChoiceSelection, at: (usize, usize)) {
    if !are_marked(questions) {
        return;
    }
    let was_taken = choice.taken.remove(&at);
    if !questions[at.0].multiple {
        choice.taken.retain(|(question, _)| *question != at.0);
    }
    if !was_taken {
        choice.taken.insert(at);
    }
}

fn entered(questions: &[Question], all: &[(usize, usize)], answering: &mut AnswerBox) -> ChoiceEffect {
    let choice = &mut answering.choice;
    let (here, _) = all[choice.cursor];
    let has_answer = |choice: &ChoiceSelection, question: usize| choice.taken.iter().any(|(of, _)| *of == question);
    // The choice at the cursor counts, unless several can be selected and some were.
    if !questions[here].multiple {
        choice.taken.retain(|(question, _)| *question != here);
    }
    if !has_answer(choice, here) {
        choice.taken.insert(all[choice.cursor]);
    }
    let after = all[choice.cursor..].iter().chain(&all[..choice.cursor]);
    let mut open = after.filter(|(question, _)| !has_answer(choice, *question));
    if let Some(next) = open.next() {
        choice.cursor = all.iter().position(|known| known == next).unwrap_or_default();
        return ChoiceEffect::Moved;
    }
    let words: Vec<String> = questions
        .iter()
        .enumerate()
        .map(|(at, question)| {
            let taken = choice.taken.iter().filter(|(of, _)| *of == at);
            let names: Vec<String> = taken.map(|(_, choice)| name(question, *choice)).collect();
            names.join(",")
        })
        .collect();
    if words.iter().any(String::is_empty) {
        // The remaining questions need typed answers; the selected ones are filled in.
        answering.step = AnswerStep::Wording(Editor::with_text(&words.join("\n")));
        return ChoiceEffect::Moved;
    }
    ChoiceEffect::Answered(Answer::Words { words })
}

/// The text that names a choice in an answer: its number, unless another choice has that label.
pub(super) fn name(question: &Question, choice: usize) -> String {
    let number = (choice + 1).to_string();
    match question.choices.iter().any(|other| other.label == number) {
        true => question.choices[choice].label.clone(),
        false => number,
    }
}
