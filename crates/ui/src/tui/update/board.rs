//! Applies keys and mouse events to the screen of a batch.

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use ralph_core::{
    event::{Ask, UserCommand},
    run::RunView,
};
use ralph_plan::batch::PlanPhase;
use ralph_words::Tone;

use crate::{
    board::{Board, BoardRow},
    tui::{
        boxes::{batch_question, scrolled_help},
        hints,
        keys::{self, Chord, KeyAction},
        model::{AnswerBox, BoardFocus, BoardMode, BoardModel, BoardSpot, InputMode, Model},
        order::{BoardOrder, ScreenEvent, ScreenOrder, Scroll},
    },
};

use super::WHEEL_LINES;

/// Takes a new state of the board. The selection stays; a box whose question is settled closes.
pub(in crate::tui) fn take_board(model: &mut BoardModel, board: Board) {
    model.board = board;
    model.plan = model.plan.min(model.board.plans.len().saturating_sub(1));
    model.ask = model.ask.min(model.board.asks.len().saturating_sub(1));
    if model.board.asks.is_empty() {
        model.focus = BoardFocus::Plans;
    }
    let gone = match &mut model.mode {
        BoardMode::Answering {
            plan,
            model: box_,
            sent,
        } => {
            let asks: Vec<Ask> = model.board.asks_of(plan).cloned().collect();
            let number = answered_number(box_);
            let is_there = asks.iter().any(|ask| Some(ask.number) == number);
            box_.run.permissions.pending = asks;
            (!is_there).then_some(*sent)
        }
        BoardMode::Quit if model.board.is_over() => Some(true),
        BoardMode::Cancel(plan) => {
            let row = model.board.plans.iter().find(|row| row.plan == *plan);
            (!row.is_some_and(can_be_cancelled)).then_some(true)
        }
        BoardMode::Normal | BoardMode::Quit | BoardMode::Help { .. } => None,
    };
    if let Some(is_meant) = gone {
        model.mode = BoardMode::Normal;
        if !is_meant {
            model.toast(
                Tone::Wait,
                "the question is closed: it is answered, or no agent waits for it",
            );
        }
    }
}

fn answered_number(model: &Model) -> Option<u32> {
    match &model.ui.mode {
        InputMode::Answering(answering) => Some(answering.ask),
        _ => None,
    }
}

/// Applies `input` to the model and returns the resulting orders.
pub(in crate::tui) fn update_board(model: &mut BoardModel, input: Input) -> Vec<BoardOrder> {
    match input {
        Input::Resize(cols, rows) => {
            (model.cols, model.rows) = (cols, rows);
            if let BoardMode::Answering { model: box_, .. } = &mut model.mode {
                (box_.ui.cols, box_.ui.rows) = (cols, rows);
            }
            Vec::new()
        }
        Input::FocusGained | Input::FocusLost => Vec::new(),
        Input::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        input if matches!(model.mode, BoardMode::Answering { .. }) => answer(model, input),
        Input::Key(key) => key_pressed(model, key),
        Input::Mouse(mouse) => moused(model, mouse),
        Input::Paste(_) => Vec::new(),
    }
}

fn key_pressed(model: &mut BoardModel, key: KeyEvent) -> Vec<BoardOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    match &model.mode {
        BoardMode::Normal | BoardMode::Answering { .. } => match keys::action_on_board(chord) {
            Some(action) => act(model, action),
            None => {
                model.toast(Tone::Note, format!("{}: no action here (? lists keys)", chord.name()));
                Vec::new()
            }
        },
        BoardMode::Quit | BoardMode::Cancel(_) => asked(model, chord),
        BoardMode::Help { top } => {
            let top = *top;
            helped(model, chord, top)
        }
    }
}

fn act(model: &mut BoardModel, action: KeyAction) -> Vec<BoardOrder> {
    match action {
        KeyAction::Open if model.focus == BoardFocus::Asks => open_ask(model, model.ask),
        KeyAction::Open => return open(model),
        KeyAction::Answer => {
            let chosen = model.board.plans.get(model.plan).map(|row| row.plan.clone());
            let of_plan = model
                .board
                .asks
                .iter()
                .position(|asked| Some(&asked.plan) == chosen.as_ref());
            let at = match model.focus {
                BoardFocus::Asks => model.ask,
                BoardFocus::Plans => of_plan.unwrap_or(0),
            };
            open_ask(model, at);
        }
        KeyAction::CancelTask => match model.board.plans.get(model.plan) {
            Some(row) if can_be_cancelled(row) && model.board.running => {
                model.mode = BoardMode::Cancel(row.plan.clone());
            }
            Some(_) | None => model.toast(Tone::Note, "nothing to cancel: the batch is over"),
        },
        KeyAction::NextFocus => {
            model.focus = match model.focus {
                BoardFocus::Plans if !model.board.asks.is_empty() => BoardFocus::Asks,
                BoardFocus::Plans | BoardFocus::Asks => BoardFocus::Plans,
            }
        }
        KeyAction::Help => model.mode = BoardMode::Help { top: 0 },
        KeyAction::Redraw => return vec![BoardOrder::Redraw],
        KeyAction::Suspend => return vec![BoardOrder::Suspend],
        KeyAction::Interrupt | KeyAction::Quit if model.board.is_over() => return vec![BoardOrder::Leave],
        KeyAction::Interrupt if model.board.stopping => return vec![BoardOrder::Stop],
        KeyAction::Interrupt | KeyAction::Quit => model.mode = BoardMode::Quit,
        action => {
            let page = match model.focus {
                BoardFocus::Plans => model.page(),
                BoardFocus::Asks => model.ask_page(),
            };
            if let Some(by) = Scroll::from_action(action, page) {
                scroll(model, model.focus, by);
            }
        }
    }
    Vec::new()
}

fn scroll(model: &mut BoardModel, focus: BoardFocus, by: Scroll) {
    let (at, count) = match focus {
        BoardFocus::Plans => (&mut model.plan, model.board.plans.len()),
        BoardFocus::Asks => (&mut model.ask, model.board.asks.len()),
    };
    *at = by.downwards(*at, count.saturating_sub(1));
}

/// Whether a plan can still be cancelled.
fn can_be_cancelled(row: &BoardRow) -> bool {
    !matches!(row.phase, PlanPhase::Merged { .. } | PlanPhase::Kept { .. })
}

fn open(model: &mut BoardModel) -> Vec<BoardOrder> {
    let Some(row) = model.board.plans.get(model.plan) else {
        return Vec::new();
    };
    if row.run.is_some() {
        return vec![BoardOrder::Open(row.plan.clone())];
    }
    let why = format!("{} has not run yet: {}", row.plan, row.doing);
    model.toast(Tone::Note, why);
    Vec::new()
}

/// Opens the answer box for a question.
fn open_ask(model: &mut BoardModel, at: usize) {
    let Some(asked) = model.board.asks.get(at) else {
        return model.toast(Tone::Note, "no open questions");
    };
    let (plan, number) = (asked.plan.clone(), asked.ask.number);
    model.ask = at;
    let mut run = RunView::default();
    run.permissions.pending = model.board.asks_of(&plan).cloned().collect();
    let mut own = Model {
        run,
        now_ms: model.now_ms,
        utc_offset_s: model.utc_offset_s,
        ..Model::default()
    };
    (own.ui.cols, own.ui.rows) = (model.cols, model.rows);
    // The user opened the box: it accepts keys at once, and no other question opens by itself.
    own.ui.put_off = u32::MAX;
    own.ui.mode = InputMode::Answering(AnswerBox::new(number, 0));
    model.mode = BoardMode::Answering {
        plan,
        model: Box::new(own),
        sent: false,
    };
}

/// Passes input to the answer box.
fn answer(model: &mut BoardModel, input: Input) -> Vec<BoardOrder> {
    let BoardMode::Answering { plan, model: own, sent } = &mut model.mode else {
        return Vec::new();
    };
    let plan = plan.clone();
    let orders = super::update(own, ScreenEvent::Input(input));
    let mut wanted = Vec::new();
    for order in orders {
        match order {
            ScreenOrder::Command {
                command: command @ UserCommand::Answer { .. },
                ..
            } => {
                *sent = true;
                wanted.push(BoardOrder::Answer {
                    plan: plan.clone(),
                    command,
                });
            }
            ScreenOrder::Redraw => wanted.push(BoardOrder::Redraw),
            ScreenOrder::Suspend => wanted.push(BoardOrder::Suspend),
            // Ctrl-C closes only the box.
            _ => own.ui.mode = InputMode::Normal,
        }
    }
    if answered_number(own).is_none() {
        model.mode = BoardMode::Normal;
    }
    wanted
}

fn asked(model: &mut BoardModel, chord: Chord) -> Vec<BoardOrder> {
    let interrupts = chord == Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    if interrupts && matches!(model.mode, BoardMode::Cancel(_)) {
        model.mode = BoardMode::Normal;
        return act(model, KeyAction::Interrupt);
    }
    let Some(order) = batch_question(model).and_then(|question| question.answered(chord)) else {
        return Vec::new();
    };
    model.mode = BoardMode::Normal;
    order.into_iter().collect()
}

fn helped(model: &mut BoardModel, chord: Chord, top: usize) -> Vec<BoardOrder> {
    let page = usize::from(model.rows).saturating_sub(6).max(1);
    let action = keys::action_on_board(chord);
    if let Some(action @ (KeyAction::Interrupt | KeyAction::Suspend | KeyAction::Redraw)) = action {
        return act(model, action);
    }
    model.mode = match action.and_then(|action| Scroll::from_action(action, page)) {
        Some(by) => {
            let bindings: Vec<_> = model.offered().collect();
            let top = scrolled_help(&bindings, model.mouse, top, model.layout().whole, by);
            BoardMode::Help { top }
        }
        None => BoardMode::Normal,
    };
    Vec::new()
}

/// The wheel scrolls the list under the pointer, a click selects a row.
fn moused(model: &mut BoardModel, mouse: MouseEvent) -> Vec<BoardOrder> {
    if !matches!(model.mode, BoardMode::Normal) {
        return Vec::new();
    }
    let spot = model.spot_at(mouse.column, mouse.row);
    let focus = match spot {
        Some(BoardSpot::Ask(_)) => BoardFocus::Asks,
        Some(BoardSpot::Plan(_)) | None => BoardFocus::Plans,
    };
    match (mouse.kind, spot) {
        (MouseEventKind::ScrollUp, _) => scroll(model, focus, Scroll::Up(WHEEL_LINES)),
        (MouseEventKind::ScrollDown, _) => scroll(model, focus, Scroll::Down(WHEEL_LINES)),
        (MouseEventKind::Down(_), Some(BoardSpot::Plan(plan))) => (model.plan, model.focus) = (plan, focus),
        (MouseEventKind::Down(_), Some(BoardSpot::Ask(ask))) => (model.ask, model.focus) = (ask, focus),
        (MouseEventKind::Down(_), None) if mouse.row + 1 == model.layout().footer.bottom() => {
            let action = hints::at_column(hints::of_board(model), mouse.column);
            return action.map_or_else(Vec::new, |action| act(model, action));
        }
        (
            MouseEventKind::Down(_)
            | MouseEventKind::Up(_)
            | MouseEventKind::Drag(_)
            | MouseEventKind::Moved
            | MouseEventKind::ScrollLeft
            | MouseEventKind::ScrollRight,
            _,
        ) => {}
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
