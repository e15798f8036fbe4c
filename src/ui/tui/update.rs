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
pub(crate) use order::{EditTarget, MatchTarget, Replay, ScreenEvent, ScreenOrder, Scroll, Seek};
use order::{StepDirection, refused};
pub(super) use report::{refresh as refresh_report, show_end};

use super::{
    keys::{self, BindingContext, Chord, KeyAction},
    layout::Focus,
    model::{
        ActionSearch, Confirmation, InputMode, Model, OpenOverlay, Overlay, Pane, PlaybackState, Search, background_at,
        more, select, used_up,
    },
};

/// Lines scrolled per step of the mouse wheel.
const WHEEL_LINES: usize = 3;

/// Applies `event` to the model and returns the resulting orders.
pub(crate) fn update(model: &mut Model, event: ScreenEvent) -> Vec<ScreenOrder> {
    let orders = take(model, event);
    show_question(model);
    show_end(model);
    refresh_report(model);
    orders
}

fn take(model: &mut Model, event: ScreenEvent) -> Vec<ScreenOrder> {
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
                true => vec![ScreenOrder::Scroll(Scroll::Top)],
                false => Vec::new(),
            }
        }
        ScreenEvent::Searched { found } => search::take(model, found),
    }
}

fn key_pressed(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    match model.ui.mode.clone() {
        InputMode::Normal => normal(model, key),
        InputMode::Steering => super::lines::steering(model, key),
        InputMode::Recalling(shown) => {
            super::lines::recalling(model, key, shown);
            Vec::new()
        }
        InputMode::Searching => search::searching(model, key),
        InputMode::Typing => typing(model, key),
        InputMode::Asking(Confirmation::Quit) => questions::quitting(model, key),
        InputMode::Asking(Confirmation::Withdraw { id }) => questions::withdrawing(model, key, id),
        InputMode::Asking(Confirmation::Skip { iteration }) => questions::skipping(model, key, iteration),
        InputMode::Asking(Confirmation::More) => questions::continuing(model, key),
        InputMode::Answering(shown) => answering::answering(model, key, shown),
        InputMode::TooLate(shown) => answering::too_late(model, key, &shown),
        InputMode::Copying => copying::choose(model, key),
        InputMode::Palette(shown) => match palette::choose(model, key, shown) {
            Some(action) => act(model, action),
            None => Vec::new(),
        },
        InputMode::Help { top } => help(model, key, top),
    }
}

fn normal(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    match keys::action(chord, BindingContext::from_ui(&model.ui)) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

/// Shows a folded part of the transcript in place of the pane.
fn unfold(model: &mut Model, what: Unfold) -> Vec<ScreenOrder> {
    if !model.ui.transcript {
        return refused(model, "the agent draws its own terminal: nothing is folded");
    }
    let Some(iteration) = model.run.iterations.latest().map(|iteration| iteration.number) else {
        return Vec::new();
    };
    show_overlay(model, Overlay::Folded { iteration, what })
}

/// Shows `overlay` in place of the pane.
fn show_overlay(model: &mut Model, overlay: Overlay) -> Vec<ScreenOrder> {
    model.ui.close();
    model.ui.unfolded = Some(OpenOverlay {
        overlay,
        state: PlaybackState::Loading,
    });
    vec![ScreenOrder::Unfold(overlay)]
}

/// Shows the prompt of the iteration that is chosen in the history, or else of the latest.
fn show_prompt(model: &mut Model) -> Vec<ScreenOrder> {
    match chosen_iteration(model) {
        Some(iteration) => show_overlay(model, Overlay::Prompt { iteration }),
        None => refused(model, "no iteration has run"),
    }
}

fn typing(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    let leaves = key.modifiers.contains(KeyModifiers::CONTROL)
        // Some terminals report Ctrl-] as Ctrl-5.
        && matches!(key.code, KeyCode::Char(']' | '5'));
    if leaves || !model.run.is_busy() {
        model.ui.mode = InputMode::Normal;
        return Vec::new();
    }
    vec![ScreenOrder::Type(Input::Key(key)), ScreenOrder::Scroll(Scroll::Bottom)]
}

fn help(model: &mut Model, key: KeyEvent, top: usize) -> Vec<ScreenOrder> {
    let chord = Chord::new(key.code, key.modifiers);
    let page = usize::from(model.ui.rows).saturating_sub(6).max(1);
    let last = super::view::last_line_of_help(model);
    let action = keys::action(chord, BindingContext::from_ui(&model.ui));
    if let Some(action @ (KeyAction::Interrupt | KeyAction::Suspend | KeyAction::Redraw)) = action {
        return act(model, action);
    }
    model.ui.mode = match action.and_then(|action| Scroll::from_action(action, page)) {
        Some(scroll) => InputMode::Help {
            top: scroll.downwards(top, last),
        },
        None => InputMode::Normal,
    };
    Vec::new()
}

fn pasted(model: &mut Model, text: String) -> Vec<ScreenOrder> {
    match model.ui.mode {
        InputMode::Steering => super::lines::paste(model, &text),
        InputMode::Searching => {
            model.ui.search.query.insert(&text.replace(['\r', '\n'], " "));
            return search::query_changed(model);
        }
        InputMode::Answering(_) => answering::pasted(model, &text),
        InputMode::Palette(ref mut palette) => palette.query.insert(&text),
        InputMode::Recalling(ref mut recalling) => {
            recalling.query.insert(&text.replace(['\r', '\n'], " "));
            recalling.nth = 0;
        }
        InputMode::Typing => {
            return vec![
                ScreenOrder::Type(Input::Paste(text)),
                ScreenOrder::Scroll(Scroll::Bottom),
            ];
        }
        // Pasted text is meant for the agent and must not be read as keys.
        InputMode::Normal if model.ui.replay.is_none() && used_up(&model.run).is_none() => {
            model.ui.mode = InputMode::Steering;
            super::lines::paste(model, &text);
        }
        InputMode::Normal
        | InputMode::Asking(_)
        | InputMode::Copying
        | InputMode::TooLate(_)
        | InputMode::Help { .. } => {}
    }
    Vec::new()
}

fn moused(model: &mut Model, mouse: MouseEvent) -> Vec<ScreenOrder> {
    if model.ui.mode == InputMode::Typing {
        return vec![ScreenOrder::Type(Input::Mouse(mouse))];
    }
    let wheel = match mouse.kind {
        MouseEventKind::ScrollUp => Some(Scroll::Up(WHEEL_LINES)),
        MouseEventKind::ScrollDown => Some(Scroll::Down(WHEEL_LINES)),
        _ => None,
    };
    // A box receives the wheel instead of the pane behind it.
    match (&model.ui.mode, wheel) {
        (InputMode::Normal | InputMode::Steering | InputMode::Searching | InputMode::Typing, Some(by)) => {
            let focus = focus_at(model, mouse.column, mouse.row).unwrap_or(model.ui.focus);
            return scroll(model, focus, by);
        }
        (InputMode::Normal | InputMode::Steering | InputMode::Searching | InputMode::Typing, None) => {}
        (InputMode::Answering(_), Some(by)) => {
            answering::wheel(model, by);
            return Vec::new();
        }
        (&InputMode::Help { top }, Some(by)) => {
            model.ui.mode = InputMode::Help {
                top: by.downwards(top, super::view::last_line_of_help(model)),
            };
            return Vec::new();
        }
        (
            InputMode::Asking(_)
            | InputMode::Copying
            | InputMode::Recalling(_)
            | InputMode::Answering(_)
            | InputMode::TooLate(_)
            | InputMode::Palette(_)
            | InputMode::Help { .. },
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
fn clicked(model: &mut Model, column: u16, row: u16) -> Vec<ScreenOrder> {
    let layout = model.layout();
    let at = Position::new(column, row);
    if let Some(focus) = focus_at(model, column, row) {
        model.ui.focus = focus;
    }
    if layout.title.contains(at)
        && let Some(pane) = super::view::tab_at(model, layout.title, column)
    {
        return act(model, KeyAction::Show(pane));
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

fn act(model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
    match action {
        KeyAction::Steer
        | KeyAction::PauseOrResume
        | KeyAction::StopAfterIteration
        | KeyAction::Skip
        | KeyAction::RetryNow
        | KeyAction::Type
        | KeyAction::Answer
        | KeyAction::Withdraw
        | KeyAction::CancelTask
            if model.ui.replay.is_none() =>
        {
            return ask_of_loop(model, action);
        }
        KeyAction::NextFocus => match model.ui.focus {
            Focus::Main => focus_plan(model),
            Focus::Plan => model.ui.focus = Focus::Main,
        },
        KeyAction::FocusPlan => focus_plan(model),
        KeyAction::Zoom => model.ui.zoomed = !model.ui.zoomed,
        KeyAction::Show(pane) => return show(model, pane),
        KeyAction::Search => search::begin(model),
        KeyAction::NextMatch => return search::forward(model),
        KeyAction::PreviousMatch => return search::backward(model),
        KeyAction::Copy => return copying::begin(model),
        KeyAction::Filter => {
            let kind = model.log.kind().next();
            model.ui.log_below = model.log.show(kind, model.ui.log_below);
            // The current match may be among the hidden lines.
            model.ui.search.landed = None;
        }
        KeyAction::Edit => return edit(model),
        KeyAction::LineUp
        | KeyAction::LineDown
        | KeyAction::PageUp
        | KeyAction::PageDown
        | KeyAction::Top
        | KeyAction::Bottom => {
            if let Some(by) = Scroll::from_action(action, page(model)) {
                return scroll(model, model.ui.focus, by);
            }
        }
        KeyAction::Open => return open(model),
        KeyAction::Fold => return plan::fold(model),
        KeyAction::NextFile => diff::go_to_file(model, StepDirection::Next),
        KeyAction::PreviousFile => diff::go_to_file(model, StepDirection::Previous),
        KeyAction::Wrap => diff::wrap(model),
        KeyAction::Leftwards => diff::scroll_sideways(model, StepDirection::Previous),
        KeyAction::Rightwards => diff::scroll_sideways(model, StepDirection::Next),
        KeyAction::CompareEarlier => return diff::compare(model, StepDirection::Previous),
        KeyAction::NextPart => return history::turn(model, StepDirection::Next),
        KeyAction::PreviousPart => return history::turn(model, StepDirection::Previous),
        KeyAction::SeekForward => return vec![ScreenOrder::Replay(Replay::Seek(Seek::Forward))],
        KeyAction::SeekBackward => return vec![ScreenOrder::Replay(Replay::Seek(Seek::Backward))],
        KeyAction::CompareLater => return diff::compare(model, StepDirection::Next),
        KeyAction::Unfold(what) => return unfold(model, what),
        KeyAction::Prompt => return show_prompt(model),
        KeyAction::Back => {
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
        KeyAction::Help => model.ui.mode = InputMode::Help { top: 0 },
        KeyAction::Palette => model.ui.mode = InputMode::Palette(ActionSearch::default()),
        KeyAction::Redraw => return vec![ScreenOrder::Redraw],
        KeyAction::Suspend => return vec![ScreenOrder::Suspend],
        KeyAction::Interrupt => return questions::interrupt(model),
        KeyAction::Quit if model.run.is_over() || model.ui.replay.is_some() => return vec![ScreenOrder::Leave],
        KeyAction::Quit => model.ui.mode = InputMode::Asking(Confirmation::Quit),
        KeyAction::PauseOrResume => return vec![ScreenOrder::Replay(Replay::PauseOrResume)],
        KeyAction::Faster => return vec![ScreenOrder::Replay(Replay::Faster)],
        KeyAction::Slower => return vec![ScreenOrder::Replay(Replay::Slower)],
        KeyAction::NextIteration => return vec![ScreenOrder::Replay(Replay::NextIteration)],
        KeyAction::PreviousIteration => return vec![ScreenOrder::Replay(Replay::PreviousIteration)],
        KeyAction::Steer
        | KeyAction::StopAfterIteration
        | KeyAction::Skip
        | KeyAction::RetryNow
        | KeyAction::Type
        | KeyAction::Answer
        | KeyAction::Withdraw
        | KeyAction::CancelTask => {}
    }
    Vec::new()
}

/// Opens the focused content in the user's editor.
fn edit(model: &mut Model) -> Vec<ScreenOrder> {
    // A replay shows the plan as it was, not the current file.
    let edited = if model.ui.focus == Focus::Plan && model.ui.replay.is_none() {
        Some(EditTarget::Plan)
    } else if search::is_in_terminal(model) {
        Some(EditTarget::Terminal)
    } else {
        contents::document(model).map(|(name, text)| EditTarget::Text { name, text })
    };
    match edited {
        Some(edited) => vec![ScreenOrder::Edit(edited)],
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
fn ask_of_loop(model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
    let asks_of_tests = model.run.permissions.about_tests().is_some();
    if model.run.is_over() && action == KeyAction::Answer && (asks_of_tests || !model.run.blocks.is_empty()) {
        if let Some(limit) = used_up(&model.run).filter(|_| !asks_of_tests) {
            return refused(model, &used_up_in_words(limit));
        }
        model.ui.show(Pane::Report);
        report::answer(model);
        return Vec::new();
    }
    if let (KeyAction::RetryNow, Some(limit)) = (action, used_up(&model.run)) {
        if model.ui.continues && more(&model.run).is_some() {
            model.ui.mode = InputMode::Asking(Confirmation::More);
            return Vec::new();
        }
        return refused(model, &used_up_in_words(limit));
    }
    if model.run.is_over() && action != KeyAction::Steer {
        return refused(model, "the run is over");
    }
    let command = match action {
        KeyAction::Steer => {
            if let Some(limit) = used_up(&model.run) {
                return refused(model, &used_up_in_words(limit));
            }
            model.ui.mode = InputMode::Steering;
            model.ui.recall.rewind();
            return Vec::new();
        }
        KeyAction::Type if model.ui.transcript => {
            let agent = model.run.current_adapter();
            let why = format!("{agent} does not read its terminal; use `:`");
            return refused(model, &why);
        }
        KeyAction::Type if model.run.is_busy() => {
            model.ui.show(Pane::Terminal);
            model.ui.mode = InputMode::Typing;
            return vec![ScreenOrder::Scroll(Scroll::Bottom)];
        }
        KeyAction::Skip => {
            let Phase::Running { iteration, .. } = model.run.phase else {
                return refused(model, "no iteration is running");
            };
            model.ui.mode = InputMode::Asking(Confirmation::Skip { iteration });
            return Vec::new();
        }
        KeyAction::Type => return refused(model, "no iteration is running"),
        KeyAction::RetryNow if matches!(model.run.phase, Phase::Waiting { .. }) => UserCommand::RetryNow,
        KeyAction::RetryNow => return refused(model, "not waiting"),
        KeyAction::PauseOrResume if model.run.is_paused() => UserCommand::Resume,
        KeyAction::PauseOrResume => UserCommand::Pause,
        KeyAction::StopAfterIteration if model.run.stop.is_some() => UserCommand::WithdrawStop,
        KeyAction::StopAfterIteration => {
            return vec![ScreenOrder::stop(StopRequest::AfterIteration, RequestedBy::User)];
        }
        KeyAction::Withdraw => return messages::withdraw(model),
        KeyAction::CancelTask => return background::cancel(model),
        KeyAction::Answer if model.run.permissions.pending.is_empty() && !asks_of_tests => {
            let can_wait = model.run.permissions.unanswered.is_empty() && model.run.blocks.is_empty();
            let why = match can_wait {
                true => "no open questions",
                false => "no open questions; P lists what you can still answer",
            };
            return refused(model, why);
        }
        KeyAction::Answer => {
            model.ui.put_off = 0;
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    vec![ScreenOrder::by_user(command)]
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

fn show(model: &mut Model, pane: Pane) -> Vec<ScreenOrder> {
    // From the history, show the changes of the selected iteration.
    let iteration = chosen_iteration(model);
    model.ui.show(pane);
    match iteration {
        Some(iteration) if pane == Pane::Diff => diff::show(model, iteration),
        Some(_) | None => Vec::new(),
    }
}

fn open(model: &mut Model) -> Vec<ScreenOrder> {
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

fn scroll(model: &mut Model, focus: Focus, scroll: Scroll) -> Vec<ScreenOrder> {
    if focus == Focus::Plan {
        plan::scroll(model, scroll);
        return Vec::new();
    }
    if model.ui.shows_cells() {
        return vec![ScreenOrder::Scroll(scroll)];
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
