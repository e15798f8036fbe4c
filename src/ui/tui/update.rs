//! Applies keys, mouse events and job results to the model. Pure: side effects are returned as orders.

mod answering;
mod asks;
mod background;
mod board;
mod choices;
mod contents;
mod copying;
mod diff;
mod history;
mod messages;
mod order;
mod palette;
mod plan;
mod questions;
mod report;
mod search;

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use ralph_core::{
    event::{RequestedBy, StopRequest, UserCommand},
    run::Phase,
};
use ralph_words::used_up_in_words;
use ratatui::layout::Position;

use crate::driver::Unfold;

pub(super) use answering::show_question;
pub(super) use board::{BoardOrder, take_board, update_board};
pub(crate) use order::{Edited, Order, Replay, ScreenEvent, Scroll, Seek, Wanted};
use order::{Way, refused};
pub(super) use report::{refresh as refresh_report, show_end};

use super::{
    keys::{self, Action, Chord, Here},
    layout::Focus,
    model::{
        ActionSearch, Mode, Model, Overlay, Pane, PlaybackState, Question, Search, Unfolded, background_at, more,
        select, used_up,
    },
};

/// Lines scrolled per step of the mouse wheel.
const WHEEL_LINES: usize = 3;

/// Applies `event` to the model and returns the resulting orders.
pub(crate) fn update(model: &mut Model, event: ScreenEvent) -> Vec<Order> {
    let orders = take(model, event);
    show_question(model);
    show_end(model);
    refresh_report(model);
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
        ScreenEvent::DiffLoaded {
            since,
            iteration,
            patch,
        } => diff::loaded(model, since, iteration, patch),
        ScreenEvent::Played { iteration, result } => {
            if let Some(open) = &mut model.ui.history.open
                && open.iteration == iteration
            {
                open.state = result.into();
            }
            Vec::new()
        }
        ScreenEvent::Unfolded { overlay, result } => {
            let Some(open) = model.ui.unfolded.as_mut().filter(|open| open.overlay == overlay) else {
                return Vec::new();
            };
            open.state = result.into();
            // A single result or a prompt is read from its beginning.
            let from_beginning = match overlay {
                Overlay::Folded { what, .. } => what == Unfold::Last,
                Overlay::Prompt { .. } => true,
                Overlay::Output { .. } => false,
            };
            match open.state == PlaybackState::Loaded && from_beginning {
                true => vec![Order::Scroll(Scroll::Top)],
                false => Vec::new(),
            }
        }
        ScreenEvent::Searched { found } => search::take(model, found),
    }
}

fn key_pressed(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    match model.ui.mode.clone() {
        Mode::Normal => normal(model, key),
        Mode::Steering => super::lines::steering(model, key),
        Mode::Recalling(shown) => {
            super::lines::recalling(model, key, shown);
            Vec::new()
        }
        Mode::Searching => search::searching(model, key),
        Mode::Typing => typing(model, key),
        Mode::Asking(Question::Quit) => questions::quitting(model, key),
        Mode::Asking(Question::Withdraw { id }) => questions::withdrawing(model, key, id),
        Mode::Asking(Question::Skip { iteration }) => questions::skipping(model, key, iteration),
        Mode::Asking(Question::More) => questions::continuing(model, key),
        Mode::Answering(shown) => answering::answering(model, key, shown),
        Mode::TooLate(shown) => answering::too_late(model, key, &shown),
        Mode::Copying => copying::choose(model, key),
        Mode::Palette(shown) => match palette::choose(model, key, shown) {
            Some(action) => act(model, action),
            None => Vec::new(),
        },
        Mode::Help { top } => help(model, key, top),
    }
}

fn normal(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let chord = Chord::new(key.code, key.modifiers);
    match keys::action(chord, Here::of(&model.ui)) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

/// Shows a folded part of the transcript in place of the pane.
fn unfold(model: &mut Model, what: Unfold) -> Vec<Order> {
    if !model.ui.transcript {
        return refused(model, "the agent draws its terminal itself: nothing is folded");
    }
    let Some(iteration) = model.run.iterations.latest().map(|iteration| iteration.number) else {
        return Vec::new();
    };
    show_overlay(model, Overlay::Folded { iteration, what })
}

/// Shows `overlay` in place of the pane.
fn show_overlay(model: &mut Model, overlay: Overlay) -> Vec<Order> {
    model.ui.close();
    model.ui.unfolded = Some(Unfolded {
        overlay,
        state: PlaybackState::Loading,
    });
    vec![Order::Unfold(overlay)]
}

/// Shows the prompt of the iteration that is chosen in the history, or else of the latest.
fn show_prompt(model: &mut Model) -> Vec<Order> {
    match chosen_iteration(model) {
        Some(iteration) => show_overlay(model, Overlay::Prompt { iteration }),
        None => refused(model, "no iteration has run"),
    }
}

fn typing(model: &mut Model, key: KeyEvent) -> Vec<Order> {
    let leaves = key.modifiers.contains(KeyModifiers::CONTROL)
        // Some terminals report Ctrl-] as Ctrl-5.
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
    let last = super::view::last_line_of_help(model);
    let action = keys::action(chord, Here::of(&model.ui));
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
        Mode::Searching => {
            model.ui.search.query.insert(&text.replace(['\r', '\n'], " "));
            return search::query_changed(model);
        }
        Mode::Answering(_) => answering::pasted(model, &text),
        Mode::Palette(ref mut palette) => palette.query.insert(&text),
        Mode::Recalling(ref mut recalling) => {
            recalling.query.insert(&text.replace(['\r', '\n'], " "));
            recalling.nth = 0;
        }
        Mode::Typing => return vec![Order::Type(Input::Paste(text)), Order::Scroll(Scroll::Bottom)],
        // Pasted text is meant for the agent and must not be read as keys.
        Mode::Normal if model.ui.replay.is_none() && used_up(&model.run).is_none() => {
            model.ui.mode = Mode::Steering;
            super::lines::paste(model, &text);
        }
        Mode::Normal | Mode::Asking(_) | Mode::Copying | Mode::TooLate(_) | Mode::Help { .. } => {}
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
    // A box receives the wheel instead of the pane behind it.
    match (&model.ui.mode, wheel) {
        (Mode::Normal | Mode::Steering | Mode::Searching | Mode::Typing, Some(by)) => {
            let focus = focus_at(model, mouse.column, mouse.row).unwrap_or(model.ui.focus);
            return scroll(model, focus, by);
        }
        (Mode::Normal | Mode::Steering | Mode::Searching | Mode::Typing, None) => {}
        (Mode::Answering(_), Some(by)) => {
            answering::wheel(model, by);
            return Vec::new();
        }
        (&Mode::Help { top }, Some(by)) => {
            model.ui.mode = Mode::Help {
                top: by.downwards(top, super::view::last_line_of_help(model)),
            };
            return Vec::new();
        }
        (
            Mode::Asking(_)
            | Mode::Copying
            | Mode::Recalling(_)
            | Mode::Answering(_)
            | Mode::TooLate(_)
            | Mode::Palette(_)
            | Mode::Help { .. },
            _,
        ) => {
            return Vec::new();
        }
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

/// The area at a position.
fn focus_at(model: &Model, column: u16, row: u16) -> Option<Focus> {
    let (layout, at) = (model.layout(), Position::new(column, row));
    if layout.tasks.contains(at) {
        return Some(Focus::Plan);
    }
    (layout.title.contains(at) || layout.main.contains(at)).then_some(Focus::Main)
}

/// Handles a click: focuses its area, shows the pane whose name was clicked, selects the clicked row of a list.
fn clicked(model: &mut Model, column: u16, row: u16) -> Vec<Order> {
    let layout = model.layout();
    let at = Position::new(column, row);
    if let Some(focus) = focus_at(model, column, row) {
        model.ui.focus = focus;
    }
    if layout.title.contains(at)
        && let Some(pane) = super::view::tab_at(model, layout.title, column)
    {
        return act(model, Action::Show(pane));
    }
    if layout.tasks.contains(at) {
        return plan::clicked(model, &layout, row);
    }
    if layout.main.contains(at)
        && model.ui.pane == Pane::Asks
        && let Some(chosen) = super::view::ask_at(model, layout.main, row)
    {
        select(model, chosen);
    }
    if layout.main.contains(at)
        && model.ui.pane == Pane::Background
        && let Some(chosen) = super::view::background_row_at(model, layout.main, row)
    {
        model.ui.background = chosen;
    }
    if model.ui.pane == Pane::Diff
        && let Some(file) = super::view::file_name_at(model, layout.main, at)
    {
        diff::show_file(model, file);
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
        | Action::CancelTask
            if model.ui.replay.is_none() =>
        {
            return ask_of_loop(model, action);
        }
        Action::NextFocus => match model.ui.focus {
            Focus::Main => focus_plan(model),
            Focus::Plan => model.ui.focus = Focus::Main,
        },
        Action::FocusPlan => focus_plan(model),
        Action::Zoom => model.ui.zoomed = !model.ui.zoomed,
        Action::Show(pane) => return show(model, pane),
        Action::Search => search::begin(model),
        Action::NextMatch => return search::forward(model),
        Action::PreviousMatch => return search::backward(model),
        Action::Copy => return copying::begin(model),
        Action::Filter => {
            let kind = model.log.kind().next();
            model.ui.log_below = model.log.show(kind, model.ui.log_below);
            // The current match may be among the hidden lines.
            model.ui.search.landed = None;
        }
        Action::Edit => return edit(model),
        Action::LineUp | Action::LineDown | Action::PageUp | Action::PageDown | Action::Top | Action::Bottom => {
            if let Some(by) = Scroll::of(action, page(model)) {
                return scroll(model, model.ui.focus, by);
            }
        }
        Action::Open => return open(model),
        Action::Fold => return plan::fold(model),
        Action::NextFile => diff::go_to_file(model, Way::Next),
        Action::PreviousFile => diff::go_to_file(model, Way::Previous),
        Action::Wrap => diff::wrap(model),
        Action::Leftwards => diff::scroll_sideways(model, Way::Previous),
        Action::Rightwards => diff::scroll_sideways(model, Way::Next),
        Action::CompareEarlier => return diff::compare(model, Way::Previous),
        Action::NextPart => return history::turn(model, Way::Next),
        Action::PreviousPart => return history::turn(model, Way::Previous),
        Action::SeekForward => return vec![Order::Replay(Replay::Seek(Seek::Forward))],
        Action::SeekBackward => return vec![Order::Replay(Replay::Seek(Seek::Backward))],
        Action::CompareLater => return diff::compare(model, Way::Next),
        Action::Unfold(what) => return unfold(model, what),
        Action::Prompt => return show_prompt(model),
        Action::Back => {
            // Also removes the highlights of a search.
            model.ui.search = Search::default();
            if model.ui.close() || std::mem::take(&mut model.ui.zoomed) {
                return Vec::new();
            }
            match model.ui.focus {
                Focus::Plan => {
                    model.ui.task = None;
                    model.ui.focus = Focus::Main;
                }
                Focus::Main => model.ui.show(model.ui.report.instead_of.unwrap_or_default()),
            }
        }
        Action::Help => model.ui.mode = Mode::Help { top: 0 },
        Action::Palette => model.ui.mode = Mode::Palette(ActionSearch::default()),
        Action::Redraw => return vec![Order::Redraw],
        Action::Suspend => return vec![Order::Suspend],
        Action::Interrupt => return questions::interrupt(model),
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
        | Action::Withdraw
        | Action::CancelTask => {}
    }
    Vec::new()
}

/// Opens the focused content in the user's editor.
fn edit(model: &mut Model) -> Vec<Order> {
    // A replay shows the plan as it was, not the current file.
    let edited = if model.ui.focus == Focus::Plan && model.ui.replay.is_none() {
        Some(Edited::Plan)
    } else if search::is_in_terminal(model) {
        Some(Edited::Terminal)
    } else {
        contents::document(model).map(|(name, text)| Edited::Text { name, text })
    };
    match edited {
        Some(edited) => vec![Order::Edit(edited)],
        None => refused(model, "there is nothing to open here"),
    }
}

/// Focuses the plan, and enlarges it if it has no room of its own.
fn focus_plan(model: &mut Model) {
    model.ui.focus = Focus::Plan;
    if model.layout().tasks.is_empty() {
        model.ui.zoomed = true;
    }
}

/// Carries out an action that needs a loop, or says why it is impossible.
fn ask_of_loop(model: &mut Model, action: Action) -> Vec<Order> {
    let asks_of_tests = model.run.permissions.about_tests().is_some();
    if model.run.is_over() && action == Action::Answer && (asks_of_tests || !model.run.blocks.is_empty()) {
        if let Some(limit) = used_up(&model.run).filter(|_| !asks_of_tests) {
            return refused(model, &used_up_in_words(limit));
        }
        model.ui.show(Pane::Report);
        report::answer(model);
        return Vec::new();
    }
    if let (Action::RetryNow, Some(limit)) = (action, used_up(&model.run)) {
        if model.ui.continues && more(&model.run).is_some() {
            model.ui.mode = Mode::Asking(Question::More);
            return Vec::new();
        }
        return refused(model, &used_up_in_words(limit));
    }
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
        Action::StopAfterIteration if model.run.stop.is_some() => UserCommand::WithdrawStop,
        Action::StopAfterIteration => return vec![Order::stop(StopRequest::AfterIteration, RequestedBy::User)],
        Action::Withdraw => return messages::withdraw(model),
        Action::CancelTask => return background::cancel(model),
        Action::Answer if model.run.permissions.pending.is_empty() && !asks_of_tests => {
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

/// The iteration selected in the history, or the latest in other panes.
fn chosen_iteration(model: &Model) -> Option<u32> {
    let chosen = match model.ui.pane {
        Pane::History => model.run.iterations.rows.iter().rev().nth(model.ui.history.selected),
        Pane::Terminal
        | Pane::Log
        | Pane::Diff
        | Pane::Messages
        | Pane::Asks
        | Pane::Limits
        | Pane::Background
        | Pane::Report => model.run.iterations.latest(),
    };
    chosen.map(|iteration| iteration.number)
}

fn show(model: &mut Model, pane: Pane) -> Vec<Order> {
    // From the history, show the changes of the selected iteration.
    let iteration = chosen_iteration(model);
    model.ui.show(pane);
    match iteration {
        Some(iteration) if pane == Pane::Diff => diff::show(model, iteration),
        Some(_) | None => Vec::new(),
    }
}

fn open(model: &mut Model) -> Vec<Order> {
    match model.ui.pane {
        Pane::History => return history::open(model),
        Pane::Asks => asks::open(model),
        Pane::Messages => messages::open(model),
        Pane::Background => {
            if let Some(task) = background_at(model).map(|task| task.number) {
                return show_overlay(model, Overlay::Output { task });
            }
        }
        Pane::Terminal | Pane::Log | Pane::Diff | Pane::Limits | Pane::Report => {}
    }
    Vec::new()
}

/// Rows of a page, less one so that the reader keeps the context.
fn page(model: &Model) -> usize {
    usize::from(model.layout().main.height).saturating_sub(1).max(1)
}

fn scroll(model: &mut Model, focus: Focus, scroll: Scroll) -> Vec<Order> {
    if focus == Focus::Plan {
        plan::scroll(model, scroll);
        return Vec::new();
    }
    if model.ui.shows_cells() {
        return vec![Order::Scroll(scroll)];
    }
    match model.ui.pane {
        Pane::Log => model.ui.log_below = scroll.upwards(model.ui.log_below, model.log.len()),
        Pane::History => history::scroll(model, scroll),
        Pane::Asks => asks::scroll(model, scroll),
        Pane::Messages => messages::scroll(model, scroll),
        Pane::Background => background::scroll(model, scroll),
        Pane::Diff => diff::scroll(model, scroll),
        Pane::Report => report::scroll(model, scroll),
        Pane::Limits => {
            let all = super::view::lines_of_limits(model).len();
            let last = all.saturating_sub(usize::from(model.layout().main.height));
            model.ui.limits_top = scroll.downwards(model.ui.limits_top, last);
        }
        Pane::Terminal => {}
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
