//! Applies keys, mouse events and job results to the model. Pure: side effects are returned as orders.

mod board;

use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};
use ralph_core::{
    event::{RequestedBy, StopRequest, UserCommand},
    run::Phase,
};
use ralph_words::{higher_limits, used_up_in_words};
use ratatui::layout::Position;

pub(super) use board::{take_board, update_board};

use super::{
    boxes, hints,
    keys::{self, BindingContext, Chord, KeyAction, KeyFocus},
    layout::Focus,
    model::{ActionSearch, Confirmation, InputMode, Model, Pane, Search, more, used_up},
    order::{EditTarget, Replay, ScreenEvent, ScreenOrder, Scroll, Seek, refused},
    panes::{self, content_for},
};

/// Lines scrolled per step of the mouse wheel.
const WHEEL_LINES: usize = 3;

/// Applies `event` to the model and returns the resulting orders.
pub(super) fn update(model: &mut Model, event: ScreenEvent) -> Vec<ScreenOrder> {
    let orders = take(model, event);
    boxes::show_question(model);
    panes::show_end(model);
    panes::refresh_report(model);
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
        } => panes::diff_loaded(model, since, iteration, patch),
        ScreenEvent::Played { iteration, result } => {
            if let Some(open) = &mut model.ui.history.open
                && open.iteration == iteration
            {
                open.state = result.into();
            }
            Vec::new()
        }
        ScreenEvent::Unfolded { overlay, result } => panes::rendered(model, overlay, result),
        ScreenEvent::CommitsListed { commits, files } => panes::commits_listed(model, commits, files),
        ScreenEvent::Restored { result } => panes::restored(model, result),
        ScreenEvent::Searched { found } => boxes::search_found(model, found),
    }
}

fn key_pressed(model: &mut Model, key: KeyEvent) -> Vec<ScreenOrder> {
    match model.ui.mode.clone() {
        InputMode::Normal => normal(model, key),
        InputMode::Steering => boxes::key_of_message(model, key),
        InputMode::Recalling(shown) => {
            boxes::key_of_recall(model, key, shown);
            Vec::new()
        }
        InputMode::Searching => boxes::key_of_search(model, key),
        InputMode::Typing => typing(model, key),
        InputMode::Asking(asked) => boxes::key_of_question(model, key, asked),
        InputMode::Answering(shown) => boxes::key_of_answer(model, key, shown),
        InputMode::TooLate(shown) => boxes::too_late(model, key, &shown),
        InputMode::Commenting(draft) => boxes::key_of_comment(model, key, draft),
        InputMode::Comments { chosen } => boxes::key_of_comments(model, key, chosen),
        InputMode::Copying => boxes::key_of_copying(model, key),
        InputMode::Palette(shown) => match boxes::key_of_palette(model, key, shown) {
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
        None => refused(model, &format!("{}: no action here (? lists keys)", chord.name())),
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
    let action = keys::action(chord, BindingContext::from_ui(&model.ui));
    if let Some(action @ (KeyAction::Interrupt | KeyAction::Suspend | KeyAction::Redraw)) = action {
        return act(model, action);
    }
    if key.code == KeyCode::Char('/') {
        return act(model, KeyAction::Palette);
    }
    model.ui.mode = match action.and_then(|action| Scroll::from_action(action, page)) {
        Some(by) => InputMode::Help {
            top: boxes::help_scrolled(model, top, by),
        },
        None => InputMode::Normal,
    };
    Vec::new()
}

fn pasted(model: &mut Model, text: String) -> Vec<ScreenOrder> {
    match model.ui.mode {
        InputMode::Steering => boxes::pasted_message(model, &text),
        InputMode::Searching => {
            model.ui.search.query.insert(&text.replace(['\r', '\n'], " "));
            return boxes::query_changed(model);
        }
        InputMode::Answering(_) => boxes::pasted_answer(model, &text),
        InputMode::Palette(ref mut palette) => palette.query.insert(&text),
        InputMode::Commenting(ref mut draft) if draft.editor.has_room_for(&text) => draft.editor.insert(&text),
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
            boxes::pasted_message(model, &text);
        }
        InputMode::Normal
        | InputMode::Asking(_)
        | InputMode::Copying
        | InputMode::Commenting(_)
        | InputMode::Comments { .. }
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
    match (&model.ui.mode, wheel) {
        (InputMode::Answering(_), Some(by)) => boxes::scroll_answer(model, by),
        (&InputMode::Help { top }, Some(by)) => {
            model.ui.mode = InputMode::Help {
                top: boxes::help_scrolled(model, top, by),
            };
        }
        // A box receives the mouse instead of the pane behind it.
        (mode, _) if mode.is_box() => {}
        (_, Some(by)) if model.layout().aside.contains(Position::new(mouse.column, mouse.row)) => {
            return content_for(KeyFocus::View(Pane::Log)).scroll(model, by);
        }
        (_, Some(by)) => {
            let focus = focus_at(model, mouse.column, mouse.row).unwrap_or(model.ui.focus);
            return scroll(model, focus, by);
        }
        (_, None) if matches!(mouse.kind, MouseEventKind::Down(_)) => return clicked(model, mouse.column, mouse.row),
        (_, None) => {}
    }
    Vec::new()
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
        && let Some(pane) = panes::tab_at(model, layout.title, column)
    {
        return act(model, KeyAction::Show(pane));
    }
    if layout.aside.contains(at) {
        return act(model, KeyAction::Show(Pane::Log));
    }
    // A line in which the user types covers the hints.
    if model.ui.mode == InputMode::Normal && layout.footer.contains(at) && row + 1 == layout.footer.bottom() {
        return match hints::action_at(model, column) {
            Some(action) => act(model, action),
            None => Vec::new(),
        };
    }
    if layout.tasks.contains(at) {
        return content_for(KeyFocus::Plan).click(model, layout.tasks, at);
    }
    panes::shown(model).click(model, model.content_area(), at)
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
        | KeyAction::RaiseLimit
        | KeyAction::ChooseWorker
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
        KeyAction::Search => boxes::begin_search(model),
        KeyAction::NextMatch => return boxes::search_forward(model),
        KeyAction::PreviousMatch => return boxes::search_backward(model),
        KeyAction::Copy => return boxes::begin_copying(model),
        KeyAction::Edit => return edit(model),
        KeyAction::SeekForward => return vec![ScreenOrder::Replay(Replay::Seek(Seek::Forward))],
        KeyAction::SeekBackward => return vec![ScreenOrder::Replay(Replay::Seek(Seek::Backward))],
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
        KeyAction::Comments => model.ui.mode = InputMode::Comments { chosen: 0 },
        KeyAction::Help => model.ui.mode = InputMode::Help { top: 0 },
        KeyAction::Palette => model.ui.mode = InputMode::Palette(ActionSearch::default()),
        KeyAction::Redraw => return vec![ScreenOrder::Redraw],
        KeyAction::Suspend => return vec![ScreenOrder::Suspend],
        KeyAction::Interrupt => return boxes::interrupt(model),
        KeyAction::Quit if model.run.is_over() || model.ui.replay.is_some() => return vec![ScreenOrder::Leave],
        KeyAction::Quit => model.ui.mode = InputMode::Asking(Confirmation::Quit),
        KeyAction::PauseOrResume => return vec![ScreenOrder::Replay(Replay::PauseOrResume)],
        KeyAction::Detach => return vec![ScreenOrder::Detach],
        KeyAction::CopyContinue => return vec![ScreenOrder::Copy("ralph continue".to_owned())],
        KeyAction::Look(change) => return vec![ScreenOrder::Look(change)],
        KeyAction::Faster => return vec![ScreenOrder::Replay(Replay::Faster)],
        KeyAction::Slower => return vec![ScreenOrder::Replay(Replay::Slower)],
        KeyAction::NextIteration => return vec![ScreenOrder::Replay(Replay::NextIteration)],
        KeyAction::PreviousIteration => return vec![ScreenOrder::Replay(Replay::PreviousIteration)],
        action => {
            return match Scroll::from_action(action, page(model)) {
                Some(by) => scroll(model, model.ui.focus, by),
                None => key(model, action),
            };
        }
    }
    Vec::new()
}

/// Carries out an action that the focused pane defines.
fn key(model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
    content_for(KeyFocus::from_ui(&model.ui)).key(model, action)
}

/// Opens the focused content in the user's editor.
fn edit(model: &mut Model) -> Vec<ScreenOrder> {
    // A replay shows the plan as it was, not the current file.
    let edited = if model.ui.focus == Focus::Plan && model.ui.replay.is_none() {
        Some(EditTarget::Plan)
    } else if boxes::is_in_terminal(model) {
        Some(EditTarget::Terminal)
    } else {
        let content = panes::focused(model);
        let text = content.document(model).filter(|text| !text.trim().is_empty());
        text.map(|text| EditTarget::Text {
            name: content.file(),
            text,
        })
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
    let asks_to_decide = model.run.permissions.decisions().next().is_some();
    if model.run.is_over() && action == KeyAction::Answer && (asks_to_decide || !model.run.blocks.is_empty()) {
        if let Some(limit) = used_up(&model.run).filter(|_| !asks_to_decide) {
            return refused(model, &used_up_in_words(limit, &model.run));
        }
        model.ui.show(Pane::Report);
        panes::answer_end(model);
        return Vec::new();
    }
    if let (KeyAction::RetryNow, Some(limit)) = (action, used_up(&model.run)) {
        if model.ui.continues && more(&model.run).is_some() {
            model.ui.mode = InputMode::Asking(Confirmation::More);
            return Vec::new();
        }
        return refused(model, &used_up_in_words(limit, &model.run));
    }
    if model.run.is_over() && action != KeyAction::Steer {
        return refused(model, "the run is over");
    }
    let command = match action {
        KeyAction::Steer => {
            if let Some(limit) = used_up(&model.run) {
                return refused(model, &used_up_in_words(limit, &model.run));
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
        KeyAction::Withdraw | KeyAction::CancelTask => return key(model, action),
        KeyAction::RaiseLimit if higher_limits(&model.run, model.now_ms).is_empty() => {
            return refused(model, "the run has no limits");
        }
        KeyAction::RaiseLimit | KeyAction::ChooseWorker => {
            let asked = match action {
                KeyAction::RaiseLimit => Confirmation::RaiseLimit,
                _ => Confirmation::Worker,
            };
            model.ui.mode = InputMode::Asking(asked);
            return Vec::new();
        }
        KeyAction::Answer if model.run.permissions.pending.is_empty() && !asks_to_decide => {
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

fn show(model: &mut Model, pane: Pane) -> Vec<ScreenOrder> {
    // From the history, show the changes of the selected iteration.
    let iteration = model.chosen_iteration();
    model.ui.show(pane);
    match iteration {
        Some(iteration) if pane == Pane::Diff => panes::show_diff(model, iteration),
        Some(_) | None => Vec::new(),
    }
}

/// Rows of a page, less one so that the reader keeps the context.
fn page(model: &Model) -> usize {
    usize::from(model.layout().main.height).saturating_sub(1).max(1)
}

fn scroll(model: &mut Model, focus: Focus, by: Scroll) -> Vec<ScreenOrder> {
    let content = match focus {
        Focus::Plan => content_for(KeyFocus::Plan),
        Focus::Main => panes::shown(model),
    };
    content.scroll(model, by)
}

#[cfg(test)]
pub(super) mod tests;
