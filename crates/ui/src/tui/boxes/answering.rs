//! Answers to the agent's questions.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ralph_core::{
    event::{Answer, AnswerPlace, ConfirmedBy, Decider, PermissionMode, Question, Remember, RuleScope, UserCommand},
    run::{ConfirmedTests, OpenAsk},
};
use ralph_words::{Tone, late_answer_in_words, not_an_answer_in_words};

use crate::tui::{
    editor::Editor,
    keys::{self, Chord},
    model::{AnswerBox, AnswerStep, InputMode, Model, Pane, SettledMeanwhile},
    order::{ScreenOrder, Scroll},
};

use super::{
    answer_box::{extent, follow_choice, has_deadline, offers_all, whole_kind},
    choices::{self, ChoiceEffect},
    confirm,
    message::too_long,
    typed::{TypingEffect, typed},
};

/// Keys within this time after the box appeared are ignored: the user may have meant them for something else.
const UNSEEN_MS: u64 = 400;

/// Shows the agent's oldest waiting question, unless it was postponed, and closes the box of a settled one.
pub(in crate::tui) fn show_question(model: &mut Model) {
    if let InputMode::Answering(answering) = &model.ui.mode {
        let answering = answering.clone();
        follow(model, answering);
    }
    let permissions = &model.run.permissions;
    let mut open = permissions.pending.iter().chain(permissions.decisions());
    let next = open.find(|known| known.number > model.ui.put_off);
    if let Some(next) = next
        && model.ui.mode == InputMode::Normal
        && model.ui.replay.is_none()
    {
        model.ui.mode = InputMode::Answering(AnswerBox {
            late: next.is_decision(),
            ..AnswerBox::new(next.number, model.now_ms)
        });
    }
}

/// Closes the box if the question is settled. A question that has timed out can still be answered: a text being typed
/// stays and becomes a message.
fn follow(model: &mut Model, mut answering: AnswerBox) {
    let is_late = match model.run.open_ask(answering.ask) {
        Some(subject) => subject.is_late(),
        None => return close(model, answering),
    };
    if is_late && !answering.late {
        let fate = late_answer_in_words(&model.run, answering.ask);
        let how = match answering.step {
            AnswerStep::Choosing => "P answers it late",
            AnswerStep::Denying(_) | AnswerStep::Wording(_) | AnswerStep::Remembering(..) => {
                "yours goes into the next prompt"
            }
        };
        model.ui.toast(Tone::Wait, format!("{how}: {fate}"), model.now_ms);
        answering.late = true;
        model.ui.mode = match answering.step {
            AnswerStep::Choosing => InputMode::Normal,
            _ => InputMode::Answering(answering),
        };
    }
}

/// Closes the box of a settled question and tells how it was settled, unless that happened here. If the user is typing
/// an answer, the keys must not become commands.
fn close(model: &mut Model, mut answering: AnswerBox) {
    let at = AnswerPlace::Screen;
    let confirmed = model.run.changed_tests.confirmed.iter().next_back();
    let ask = answering.ask;
    let confirmed_here = |confirmed: &&ConfirmedTests| confirmed.by == ConfirmedBy::User { at, ask };
    if confirmed.filter(confirmed_here).is_some() {
        model.ui.mode = InputMode::Normal;
        return;
    }
    let decider = model.run.permissions.decider(answering.ask);
    let message = model
        .run
        .messages
        .iter()
        .rev()
        .find(|message| message.answers == Some(answering.ask));
    let was_here = match message {
        Some(message) => message.answered_at == Some(at),
        None => decider == Some(&Decider::User { at }),
    };
    model.ui.mode = InputMode::Normal;
    if was_here {
        return;
    }
    let fate = late_answer_in_words(&model.run, answering.ask);
    let is_message = matches!(answering.step, AnswerStep::Denying(_) | AnswerStep::Wording(_));
    let Some(editor) = answering.editor() else {
        return model.ui.toast(Tone::Wait, fate, model.now_ms);
    };
    let typed = editor.text().trim().to_owned();
    let kept = is_message && !typed.is_empty();
    if kept {
        model.ui.recall.push(typed);
    }
    model.ui.mode = InputMode::TooLate(SettledMeanwhile {
        fate,
        since_ms: model.now_ms,
        kept,
    });
}

/// Handles a key while the notice is shown that the answer comes too late.
pub(in crate::tui) fn too_late(model: &mut Model, key: KeyEvent, shown: &SettledMeanwhile) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    let closes = match (chord.code, chord.modifiers) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), KeyModifiers::CONTROL) => true,
        (KeyCode::Enter, _) => model.now_ms.saturating_sub(shown.since_ms) >= UNSEEN_MS,
        _ => false,
    };
    if closes {
        model.ui.mode = InputMode::Normal;
    }
    Vec::new()
}

/// Handles a key while a question is shown.
pub(in crate::tui) fn key(model: &mut Model, key: KeyEvent, mut answering: AnswerBox) -> Vec<ScreenOrder> {
    let orders = match answering.step {
        AnswerStep::Choosing => choosing(model, key, &mut answering),
        AnswerStep::Denying(_) | AnswerStep::Wording(_) | AnswerStep::Remembering(..) => {
            writing(model, key, &mut answering)
        }
    };
    if let InputMode::Answering(shown) = &mut model.ui.mode {
        *shown = answering;
    }
    orders
}

fn choosing(model: &mut Model, key: KeyEvent, answering: &mut AnswerBox) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    let interrupts = chord == Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    if interrupts {
        return confirm::interrupt(model);
    }
    let is_new = model.now_ms.saturating_sub(answering.shown_ms) < UNSEEN_MS;
    let Some(subject) = model.run.open_ask(answering.ask).filter(|_| !is_new) else {
        scroll(model, chord, answering);
        return Vec::new();
    };
    let questions = subject.questions().to_vec();
    let is_permission = subject.is_permission();
    let is_yes_or_no = subject.is_decision() || matches!(subject, OpenAsk::Blocks(_));
    let has_words = !is_permission && !subject.is_decision();
    let offers_all = offers_all(&model.run, subject);
    let has_deadline = has_deadline(subject);
    match choices_of(&questions, chord, answering) {
        ChoiceEffect::Nothing => {}
        ChoiceEffect::Moved => {
            follow_choice(model, answering);
            return Vec::new();
        }
        ChoiceEffect::Answered(answer) => return answered(model, answering, answer),
    }
    match (chord.code, chord.modifiers) {
        (KeyCode::Char('o'), KeyModifiers::NONE) if has_words => {
            answering.step = AnswerStep::Wording(Editor::default());
        }
        (KeyCode::Char(digit @ '1'..='9'), KeyModifiers::NONE) if !questions.is_empty() => {
            return digit_pressed(model, &questions, answering, digit);
        }
        (KeyCode::Char('y'), KeyModifiers::NONE) if is_permission || is_yes_or_no => {
            return answered(model, answering, Answer::Allow { remember: None });
        }
        (KeyCode::Char('a'), KeyModifiers::NONE) if is_permission => {
            begin_rule(model, answering, RuleScope::Run, RuleDraft::Offered);
        }
        (KeyCode::Char('A'), KeyModifiers::NONE) if is_permission => {
            begin_rule(model, answering, RuleScope::Project, RuleDraft::Offered);
        }
        (KeyCode::Char('e'), KeyModifiers::NONE) if is_permission => {
            begin_rule(model, answering, RuleScope::Run, RuleDraft::WholeKind);
        }
        (KeyCode::Char('Y'), KeyModifiers::NONE) if is_permission && offers_all => {
            return all_allowed(model, answering);
        }
        (KeyCode::Char('n'), KeyModifiers::NONE) => {
            return answered(model, answering, Answer::Deny { message: None });
        }
        (KeyCode::Char('N'), KeyModifiers::NONE) => answering.step = AnswerStep::Denying(Editor::default()),
        (KeyCode::Char('w'), KeyModifiers::NONE) if has_deadline => {
            let ask = answering.ask;
            return vec![ScreenOrder::by_user(UserCommand::WaitForAnswer { ask })];
        }
        (KeyCode::Esc, KeyModifiers::NONE) => leave_for_later(model, answering),
        // Any other key is not an answer.
        _ => scroll(model, chord, answering),
    }
    Vec::new()
}

/// Handles a key for the choices of questions.
fn choices_of(questions: &[Question], chord: Chord, answering: &mut AnswerBox) -> ChoiceEffect {
    match questions {
        [] => ChoiceEffect::Nothing,
        questions => choices::key(questions, chord, answering),
    }
}

fn leave_for_later(model: &mut Model, answering: &AnswerBox) {
    model.ui.mode = InputMode::Normal;
    let subject = model.run.open_ask(answering.ask);
    let is_put_off = !answering.late || subject.is_some_and(OpenAsk::is_decision);
    if is_put_off {
        model.ui.put_off = model.ui.put_off.max(answering.ask);
        let how = "postponed; a opens it again";
        model.ui.toast(Tone::Wait, how, model.now_ms);
    }
}

/// Handles a digit: answers a single question with one choice, or starts a typed answer.
fn digit_pressed(model: &Model, questions: &[Question], answering: &mut AnswerBox, digit: char) -> Vec<ScreenOrder> {
    let number = usize::try_from(digit.to_digit(10).unwrap_or_default()).unwrap_or_default();
    match questions {
        [only] if number > only.choices.len() => Vec::new(),
        [only] if !only.multiple => {
            let words = vec![choices::name(only, number - 1)];
            answered(model, answering, Answer::Words { words })
        }
        _ => {
            let mut editor = Editor::default();
            editor.insert(&digit.to_string());
            answering.step = AnswerStep::Wording(editor);
            Vec::new()
        }
    }
}

/// The initial content of the rule editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleDraft {
    Offered,
    /// The rule that allows every request of this kind.
    WholeKind,
}

/// Opens the editor with the rules that an approval would add.
fn begin_rule(model: &mut Model, answering: &mut AnswerBox, scope: RuleScope, suggestion: RuleDraft) {
    let Some(subject) = model.run.open_ask(answering.ask) else {
        return;
    };
    if subject.is_cut() {
        let why = "too long to show in full, so no rule can be added; y allows it once";
        model.ui.toast(Tone::Note, why, model.now_ms);
        return;
    }
    let rules = match suggestion {
        RuleDraft::Offered => subject.offered_rules().join("\n"),
        RuleDraft::WholeKind => match whole_kind(subject) {
            Some(rule) => rule.to_owned(),
            None => return,
        },
    };
    answering.refused = None;
    answering.step = AnswerStep::Remembering(scope, Editor::with_text(&rules));
}

/// Scrolls the question.
fn scroll(model: &Model, chord: Chord, answering: &mut AnswerBox) {
    let (_, page) = extent(model, answering);
    if let Some(by) = keys::action(chord, keys::BindingContext::from_ui(&model.ui))
        .and_then(|action| Scroll::from_action(action, page))
    {
        scroll_by(model, by, answering);
    }
}

fn scroll_by(model: &Model, by: Scroll, answering: &mut AnswerBox) {
    let (last, _) = extent(model, answering);
    answering.top = by.downwards(answering.top.min(last), last);
}

/// Scrolls the question with the mouse wheel, also while an answer is typed.
pub(in crate::tui) fn wheel(model: &mut Model, by: Scroll) {
    let InputMode::Answering(answering) = &model.ui.mode else {
        return;
    };
    let mut answering = answering.clone();
    scroll_by(model, by, &mut answering);
    model.ui.mode = InputMode::Answering(answering);
}

/// Handles a key of the text that belongs to an answer.
fn writing(model: &mut Model, key: KeyEvent, answering: &mut AnswerBox) -> Vec<ScreenOrder> {
    let Some(editor) = answering.editor() else {
        return Vec::new();
    };
    match typed(editor, key) {
        TypingEffect::Edited => answering.refused = None,
        TypingEffect::Above | TypingEffect::Below => {}
        TypingEffect::TooLong => too_long(model),
        // Below the final report there is only the answer line.
        TypingEffect::Cancelled | TypingEffect::Interrupted if model.run.is_over() && model.ui.pane == Pane::Report => {
            let typed = editor.text().trim().to_owned();
            model.ui.mode = InputMode::Normal;
            let how = match typed.is_empty() {
                true => "a answers it later",
                false => "a answers it later; your text is kept: `:` and Up restore it",
            };
            model.ui.toast(Tone::Note, how, model.now_ms);
            if !typed.is_empty() {
                model.ui.recall.push(typed);
            }
        }
        TypingEffect::Cancelled | TypingEffect::Interrupted => {
            answering.step = AnswerStep::Choosing;
            answering.refused = None;
        }
        TypingEffect::Entered => return entered(model, answering),
    }
    Vec::new()
}

/// Sends the answer with its text. The text stays until the loop has accepted the answer.
fn entered(model: &Model, answering: &mut AnswerBox) -> Vec<ScreenOrder> {
    let answer = match &answering.step {
        AnswerStep::Choosing => return Vec::new(),
        AnswerStep::Denying(editor) => {
            let text = editor.text().trim().to_owned();
            let message = Some(text).filter(|text| !text.is_empty());
            Answer::Deny { message }
        }
        AnswerStep::Wording(editor) => {
            let words = editor.text().trim().lines().map(str::to_owned).collect();
            Answer::Words { words }
        }
        AnswerStep::Remembering(scope, editor) => {
            let rules = editor.text().lines().map(str::trim).filter(|rule| !rule.is_empty());
            let rules: Vec<String> = rules.map(str::to_owned).collect();
            if rules.is_empty() {
                answering.refused = Some("write a rule, such as Bash(npm run test *)".to_owned());
                return Vec::new();
            }
            let scope = *scope;
            Answer::Allow {
                remember: Some(Remember { scope, rules }),
            }
        }
    };
    answered(model, answering, answer)
}

/// Inserts a paste into the answer's text. It never acts as keys.
pub(in crate::tui) fn pasted(model: &mut Model, text: &str) {
    let InputMode::Answering(answering) = &mut model.ui.mode else {
        return;
    };
    match answering.editor() {
        Some(editor) if editor.has_room_for(text) => editor.insert(text),
        Some(_) => too_long(model),
        None => {}
    }
}

/// Approves the request and switches to the permission mode that allows everything without a rule.
fn all_allowed(model: &Model, answering: &mut AnswerBox) -> Vec<ScreenOrder> {
    let mut orders = answered(model, answering, Answer::Allow { remember: None });
    orders.push(ScreenOrder::by_user(UserCommand::SetPermissionMode {
        mode: PermissionMode::Auto,
    }));
    orders
}

/// Sends an answer if it is valid.
fn answered(model: &Model, answering: &mut AnswerBox, answer: Answer) -> Vec<ScreenOrder> {
    let ask = answering.ask;
    let questions = model.run.open_ask(ask).map_or(&[][..], OpenAsk::questions);
    answering.refused = not_an_answer_in_words(ask, questions, &answer);
    if answering.refused.is_some() {
        return Vec::new();
    }
    vec![ScreenOrder::by_user(UserCommand::Answer {
        ask,
        answer,
        at: AnswerPlace::Screen,
    })]
}

#[cfg(test)]
mod tests;
