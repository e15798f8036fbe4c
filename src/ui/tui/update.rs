//! What keys, mouse and results of jobs do to the screen. Pure: what else has to happen is returned as orders.

mod answering;
mod asks;
mod choices;
mod order;
mod questions;

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};

use crate::{
    event::{RequestedBy, StopRequest, UserCommand},
    run::Phase,
    words::{Tone, used_up_in_words},
};

pub(super) use answering::show_question;
pub(crate) use order::{Direction, Order, Replay, ScreenEvent, Scroll};

use super::{
    keys::{self, Action, Chord},
    model::{DiffState, Mode, Model, Pane, Playback, PlaybackState, Question, select, used_up},
};

/// Lines a turn of the mouse wheel moves.
const WHEEL_LINES: usize = 3;

/// Lets `event` change the screen; returns what has to be done.
pub(crate) fn update(model: &mut Model, event: ScreenEvent) -> Vec<Order> {
    let orders = take(model, event);
    show_question(model);
    orders
}

fn take(model: &mut Model, event: ScreenEvent) -> Vec<Order> {
    match event {
        ScreenEvent::Input(Input::Key(key)) if key.kind != KeyEventKind::Release => key_pressed(model, key),
        ScreenEvent::Input(Input::Paste(text)) => pasted(model, text),
        ScreenEvent::Input(Input::Mouse(mouse)) => moused(model, mouse),
        ScreenEvent::Input(Input::Resize(cols, rows)) => {
            (model.ui.cols, model.ui.rows) = (cols, rows);
            Vec::new()
        }
        ScreenEvent::Input(Input::Key(_) | Input::FocusGained | Input::FocusLost) => Vec::new(),
        ScreenEvent::DiffLoaded { iteration, lines } => {
            if model.ui.diff.iteration == Some(iteration) {
                model.ui.diff.state = match lines {
                    Ok(lines) => DiffState::Loaded(lines),
                    Err(why) => DiffState::Failed(why),
                };
                model.ui.diff.top = model.ui.diff.top.min(diff_lines(model).saturating_sub(1));
            }
            Vec::new()
        }
        ScreenEvent::Played { iteration, result } => {
            if let Some(open) = &mut model.ui.history.open
                && open.iteration == iteration
            {
                open.state = match result {
                    Ok(()) => PlaybackState::Loaded,
                    Err(why) => PlaybackState::Failed(why),
                };
            }
            Vec::new()
        }
        ScreenEvent::Searched { found } => {
            model.ui.search.missed = !found;
            super::lines::tell_missed(model)
        }
    }
}

fn key_pressed(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    match model.ui.mode.clone() {
        Mode::Normal => normal(model, key),
        Mode::Steering => super::lines::steering(model, key),
        Mode::Searching => super::lines::searching(model, key),
        Mode::Typing => typing(model, key),
        Mode::Asking(Question::Quit) => questions::quitting(model, key),
        Mode::Asking(Question::Skip { iteration }) => questions::skipping(model, key, iteration),
        Mode::Answering(shown) => answering::answering(model, key, shown),
        Mode::TooLate(shown) => answering::too_late(model, key, &shown),
        Mode::Help { top } => help(model, key, top),
    }
}

fn normal(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    match keys::action(chord, model.ui.replay.is_some()) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

fn typing(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let leaves = key.modifiers.contains(KeyModifiers::CONTROL)
        // The byte of Ctrl-] is read as Ctrl-5 by some.
        && matches!(key.code, KeyCode::Char(']' | '5'));
    if leaves || !model.run.is_busy() {
        model.ui.mode = Mode::Normal;
        return Vec::new();
    }
    vec![Order::Type(Input::Key(key)), Order::Scroll(Scroll::Bottom)]
}

fn help(model: &mut Model, key: KeyEvent, top: usize) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    let page = usize::from(model.ui.rows).saturating_sub(6).max(1);
    let last = keys::bindings(model.ui.replay.is_some()).count().saturating_sub(1);
    let action = keys::action(chord, model.ui.replay.is_some());
    if let Some(action @ (Action::Interrupt | Action::Suspend | Action::Redraw)) = action {
        return act(model, action);
    }
    model.ui.mode = match action.and_then(|action| Scroll::of(action, page)) {
        Some(scroll) => Mode::Help {
            top: scroll.downwards(top, last),
        },
        None => Mode::Normal,
    };
    Vec::new()
}

fn pasted(model: &mut Model, text: String) -> Vec<Order> {
    match model.ui.mode {
        Mode::Steering => super::lines::paste(model, &text),
        Mode::Searching => model.ui.search.query.insert(&text.replace(['\r', '\n'], " ")),
        Mode::Answering(_) => answering::pasted(model, &text),
        Mode::Typing => return vec![Order::Type(Input::Paste(text)), Order::Scroll(Scroll::Bottom)],
        // What was meant for the agent must not be taken for keys.
        Mode::Normal if model.ui.replay.is_none() && used_up(&model.run).is_none() => {
            model.ui.mode = Mode::Steering;
            super::lines::paste(model, &text);
        }
        Mode::Normal | Mode::Asking(_) | Mode::TooLate(_) | Mode::Help { .. } => {}
    }
    Vec::new()
}

fn moused(model: &mut Model, mouse: MouseEvent) -> Vec<Order> {
    if model.ui.mode == Mode::Typing {
        return vec![Order::Type(Input::Mouse(mouse))];
    }
    let wheel = match mouse.kind {
        MouseEventKind::ScrollUp => Some(Scroll::Up(WHEEL_LINES)),
        MouseEventKind::ScrollDown => Some(Scroll::Down(WHEEL_LINES)),
        _ => None,
    };
    // A box takes what would go to the pane behind it.
    match (&mut model.ui.mode, wheel) {
        (Mode::Normal | Mode::Steering | Mode::Searching | Mode::Typing, Some(by)) => return scroll(model, by),
        (Mode::Normal | Mode::Steering | Mode::Searching | Mode::Typing, None) => {}
        (Mode::Answering(_), Some(by)) => {
            answering::wheel(model, by);
            return Vec::new();
        }
        (Mode::Help { top }, Some(by)) => {
            let last = keys::bindings(model.ui.replay.is_some()).count().saturating_sub(1);
            *top = by.downwards(*top, last);
            return Vec::new();
        }
        (Mode::Asking(_) | Mode::Answering(_) | Mode::TooLate(_) | Mode::Help { .. }, _) => return Vec::new(),
    }
    match mouse.kind {
        MouseEventKind::Down(_) => clicked(model, mouse.column, mouse.row),
        MouseEventKind::ScrollUp
        | MouseEventKind::ScrollDown
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => Vec::new(),
    }
}

/// A click on a pane's name shows it, one on a row of the history chooses it.
fn clicked(model: &mut Model, column: u16, row: u16) -> Vec<Order> {
    let layout = model.layout();
    let at = ratatui::layout::Position::new(column, row);
    if layout.title.contains(at)
        && let Some(pane) = super::view::tab_at(layout.title, column)
    {
        return act(model, Action::Show(pane));
    }
    if layout.main.contains(at)
        && model.ui.pane == Pane::Asks
        && let Some(chosen) = super::view::ask_at(model, layout.main, row)
    {
        select(model, chosen);
    }
    if layout.main.contains(at) && model.ui.pane == Pane::History && model.ui.history.open.is_none() {
        let first = super::view::first_in_history(model, layout.main);
        let line = usize::from(row - layout.main.y).checked_sub(1);
        if let Some(chosen) = line
            .map(|line| first + line)
            .filter(|chosen| *chosen < model.run.iterations.rows.len())
        {
            model.ui.history.selected = model.run.iterations.rows.len() - 1 - chosen;
        }
    }
    Vec::new()
}

fn act(model: &mut Model, action: Action) -> Vec<Order> {
    match action {
        Action::Steer
        | Action::PauseOrResume
        | Action::StopAfterIteration
        | Action::Skip
        | Action::RetryNow
        | Action::Type
        | Action::Answer
        | Action::Withdraw
            if model.ui.replay.is_none() =>
        {
            return ask_of_loop(model, action);
        }
        Action::NextPane => {
            let next = match model.ui.pane {
                Pane::Terminal => Pane::Log,
                Pane::Log | Pane::Diff | Pane::History | Pane::Messages | Pane::Asks | Pane::Limits => Pane::Terminal,
            };
            model.ui.show(next);
        }
        Action::Show(pane) => return show(model, pane),
        Action::Search => {
            model.ui.mode = Mode::Searching;
            model.ui.search.query.take();
            model.ui.search.missed = false;
        }
        Action::NextMatch => return super::lines::find_again(model, Direction::Older),
        Action::PreviousMatch => return super::lines::find_again(model, Direction::Newer),
        Action::LineUp | Action::LineDown | Action::PageUp | Action::PageDown | Action::Top | Action::Bottom => {
            if let Some(by) = Scroll::of(action, page(model)) {
                return scroll(model, by);
            }
        }
        Action::Open => return open(model),
        Action::Back => {
            // The marks of a search go with it.
            model.ui.search.query.take();
            if model.ui.history.open.take().is_none() && model.ui.asks.reading.take().is_none() {
                model.ui.show(Pane::Terminal);
            }
        }
        Action::Help => model.ui.mode = Mode::Help { top: 0 },
        Action::Redraw => return vec![Order::Redraw],
        Action::Suspend => return vec![Order::Suspend],
        Action::Interrupt => return vec![Order::interrupt(model)],
        Action::Quit if model.run.is_over() || model.ui.replay.is_some() => return vec![Order::Leave],
        Action::Quit => model.ui.mode = Mode::Asking(Question::Quit),
        Action::PauseOrResume => return vec![Order::Replay(Replay::PauseOrResume)],
        Action::Faster => return vec![Order::Replay(Replay::Faster)],
        Action::Slower => return vec![Order::Replay(Replay::Slower)],
        Action::NextIteration => return vec![Order::Replay(Replay::NextIteration)],
        Action::PreviousIteration => return vec![Order::Replay(Replay::PreviousIteration)],
        Action::Steer
        | Action::StopAfterIteration
        | Action::Skip
        | Action::RetryNow
        | Action::Type
        | Action::Answer
        | Action::Withdraw => {}
    }
    Vec::new()
}

/// Carries out what only makes sense while there is a loop; says so when it makes none.
fn ask_of_loop(model: &mut Model, action: Action) -> Vec<Order> {
    if model.run.is_over() && action != Action::Steer {
        return refused(model, "the run is over");
    }
    let command = match action {
        Action::Steer => {
            if let Some(limit) = used_up(&model.run) {
                return refused(model, &used_up_in_words(limit));
            }
            model.ui.mode = Mode::Steering;
            model.ui.recall.rewind();
            return Vec::new();
        }
        Action::Type if model.ui.transcript => {
            let agent = model.run.current_adapter();
            let why = format!("{agent} does not read its terminal; use `:`");
            return refused(model, &why);
        }
        Action::Type if model.run.is_busy() => {
            model.ui.show(Pane::Terminal);
            model.ui.mode = Mode::Typing;
            return vec![Order::Scroll(Scroll::Bottom)];
        }
        Action::Skip => {
            let Phase::Running { iteration, .. } = model.run.phase else {
                return refused(model, "no iteration is running");
            };
            model.ui.mode = Mode::Asking(Question::Skip { iteration });
            return Vec::new();
        }
        Action::Type => return refused(model, "no iteration is running"),
        Action::RetryNow if matches!(model.run.phase, Phase::Waiting { .. }) => UserCommand::RetryNow,
        Action::RetryNow => return refused(model, "not waiting"),
        Action::PauseOrResume if model.run.is_paused() => UserCommand::Resume,
        Action::PauseOrResume => UserCommand::Pause,
        Action::StopAfterIteration => return vec![Order::stop(StopRequest::AfterIteration, RequestedBy::User)],
        Action::Withdraw => return withdraw(model),
        Action::Answer if model.run.permissions.pending.is_empty() => {
            let can_wait = model.run.permissions.unanswered.is_empty() && model.run.blocks.is_empty();
            let why = match can_wait {
                true => "the agent asks nothing",
                false => "the agent waits for nothing; P lists what you can still answer",
            };
            return refused(model, why);
        }
        Action::Answer => {
            model.ui.put_off = 0;
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    vec![Order::by_user(command)]
}

fn withdraw(model: &mut Model) -> Vec<Order> {
    if model.ui.pane != Pane::Messages {
        return Vec::new();
    }
    let message = model.run.messages.iter().rev().nth(model.ui.message);
    match message.filter(|message| message.is_due()) {
        Some(message) => vec![Order::by_user(UserCommand::Withdraw { id: message.id })],
        None => refused(model, "only a message that waits, or a standing one, can be taken back"),
    }
}

fn refused(model: &mut Model, why: &str) -> Vec<Order> {
    model.ui.toast(Tone::Note, why, model.now_ms);
    Vec::new()
}

fn show(model: &mut Model, pane: Pane) -> Vec<Order> {
    // From the history, the changes of what is chosen there.
    let chosen = match model.ui.pane {
        Pane::History => model.run.iterations.rows.iter().rev().nth(model.ui.history.selected),
        Pane::Terminal | Pane::Log | Pane::Diff | Pane::Messages | Pane::Asks | Pane::Limits => {
            model.run.iterations.latest()
        }
    };
    let iteration = chosen.map(|iteration| iteration.number);
    model.ui.show(pane);
    match iteration {
        Some(iteration) if pane == Pane::Diff => load_diff(model, iteration),
        Some(_) | None => Vec::new(),
    }
}

pub(super) fn load_diff(model: &mut Model, iteration: u32) -> Vec<Order> {
    let diff = &mut model.ui.diff;
    if diff.iteration != Some(iteration) {
        diff.top = 0;
        diff.state = DiffState::Loading;
    }
    diff.iteration = Some(iteration);
    vec![Order::LoadDiff { iteration }]
}

fn open(model: &mut Model) -> Vec<Order> {
    if model.ui.pane == Pane::Asks {
        asks::open(model);
    }
    if model.ui.pane != Pane::History {
        return Vec::new();
    }
    let chosen = model.run.iterations.rows.iter().rev().nth(model.ui.history.selected);
    let Some(iteration) = chosen.map(|iteration| iteration.number) else {
        return Vec::new();
    };
    model.ui.history.open = Some(Playback {
        iteration,
        state: PlaybackState::Loading,
    });
    vec![Order::Play { iteration }]
}

/// A page less a line, so that the eye finds where it was.
fn page(model: &Model) -> usize {
    usize::from(model.layout().main.height).saturating_sub(1).max(1)
}

fn scroll(model: &mut Model, scroll: Scroll) -> Vec<Order> {
    if model.ui.shows_cells() {
        return vec![Order::Scroll(scroll)];
    }
    match model.ui.pane {
        Pane::Log => model.ui.log_below = scroll.upwards(model.ui.log_below, model.log.len()),
        Pane::History => {
            let count = model.run.iterations.rows.len();
            model.ui.history.selected = scroll.upwards(model.ui.history.selected, count);
        }
        Pane::Asks => asks::scroll(model, scroll),
        // The newest is the first row.
        Pane::Messages => {
            let last = model.run.messages.len().saturating_sub(1);
            model.ui.message = scroll.downwards(model.ui.message, last);
        }
        Pane::Diff => {
            let last = diff_lines(model).saturating_sub(usize::from(model.layout().main.height));
            model.ui.diff.top = scroll.downwards(model.ui.diff.top, last);
        }
        Pane::Terminal | Pane::Limits => {}
    }
    Vec::new()
}

pub(super) fn diff_lines(model: &Model) -> usize {
    match &model.ui.diff.state {
        DiffState::Loaded(lines) => lines.len(),
        DiffState::None | DiffState::Loading | DiffState::Failed(_) => 0,
    }
}

#[cfg(test)]
mod tests;
