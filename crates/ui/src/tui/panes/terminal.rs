//! The cells of a terminal: the agent's, that of a past iteration, or a text in place of a pane.

use ralph_state::store::signal_log::Unfold;
use ralph_text::one_line;
use ratatui::layout::Rect;

use crate::tui::{
    keys::KeyAction,
    model::{InputMode, Model, OpenOverlay, Overlay, PlaybackState, iteration_task},
    order::{ScreenOrder, Scroll, refused},
    pen::Pen,
    search_query::SearchDirection,
    theme::TextRole,
};

use super::content::PaneContent;

pub(super) struct TerminalContent;

impl PaneContent for TerminalContent {
    fn draw(&self, model: &Model, area: Rect, pen: &mut Pen<'_>) {
        let ui = &model.ui;
        let overlay = ui.unfolded.as_ref().map(|overlay| &overlay.state);
        match overlay.or(ui.history.open.as_ref().map(|open| &open.state)) {
            Some(PlaybackState::Loaded) => {}
            Some(PlaybackState::Failed(why)) => pen.note(area, why),
            Some(PlaybackState::Loading) if overlay.is_some() => pen.note(area, "Reading…"),
            Some(PlaybackState::Loading) => pen.note(area, "Reading the recording…"),
            None if !model.run.iterations.rows.is_empty() => {}
            None if model.run.is_over() => pen.note(area, "No iteration has run."),
            None => pen.note(area, "The agent's terminal appears here."),
        }
    }

    fn note(&self, model: &Model) -> String {
        match &model.ui.unfolded {
            Some(OpenOverlay { overlay, .. }) => match overlay {
                Overlay::Folded { .. } => "nothing folded · Esc leaves".to_owned(),
                Overlay::Prompt { iteration } => format!("prompt of iteration {iteration} · Esc leaves"),
                Overlay::Output { task } => format!("output of task {task} · Esc leaves"),
            },
            None if model.ui.mode == InputMode::Typing => "you type to the agent · Ctrl-] leaves".to_owned(),
            None => String::new(),
        }
    }

    fn scroll(&self, model: &mut Model, by: Scroll) -> Vec<ScreenOrder> {
        let scrolled = model.ui.shows_cells().then_some(ScreenOrder::Scroll(by));
        scrolled.into_iter().collect()
    }

    fn key(&self, model: &mut Model, action: KeyAction) -> Vec<ScreenOrder> {
        match action {
            KeyAction::Unfold(what) => unfold(model, what),
            KeyAction::Prompt => show_prompt(model),
            _ => Vec::new(),
        }
    }

    fn direction(&self) -> SearchDirection {
        SearchDirection::Up
    }
}

/// Draws what is known of an iteration whose agent has not shown anything yet, and the last words of the agent before it.
pub(in crate::tui) fn draw_start(model: &Model, before: &[String], area: Rect, pen: &mut Pen<'_>) {
    let Some(iteration) = model.run.iterations.latest() else {
        return;
    };
    let since = model.now_ms.saturating_sub(iteration.started_ms) / 1000;
    let spinner = pen.theme.glyphs.spinner;
    let sign = spinner[usize::try_from(since).unwrap_or(0) % spinner.len()];
    let agent = one_line(&iteration.adapter);
    let goals: Vec<&str> = model.run.goals.iter().map(|goal| goal.name.as_str()).collect();
    let mut rows = vec![
        (format!("{sign} starting {agent}… {since} s"), TextRole::Accent),
        (String::new(), TextRole::Plain),
        (
            iteration_task(&model.run, model.run.iterations.rows.len() - 1),
            TextRole::Plain,
        ),
    ];
    if !goals.is_empty() {
        rows.push((format!("goals: {}", goals.join(", ")), TextRole::Dim));
    }
    // A row of each end stays free.
    let room = usize::from(area.height).saturating_sub(rows.len() + 2);
    let last = &before[before.len().saturating_sub(room)..];
    if !last.is_empty() {
        rows.push((String::new(), TextRole::Plain));
    }
    rows.extend(last.iter().map(|row| (row.clone(), TextRole::Dim)));
    for (y, (text, role)) in (area.top()..area.bottom()).zip(rows) {
        pen.role(area.x + 1, y, area.right(), &one_line(&text), role);
    }
}

/// Shows a folded part of the transcript.
fn unfold(model: &mut Model, what: Unfold) -> Vec<ScreenOrder> {
    if !model.ui.transcript {
        return refused(model, "the agent draws its own terminal: nothing is folded");
    }
    let Some(iteration) = model.run.iterations.latest().map(|iteration| iteration.number) else {
        return Vec::new();
    };
    show(model, Overlay::Folded { iteration, what })
}

/// Shows the prompt of the iteration that is chosen in the history, or else of the latest.
pub(super) fn show_prompt(model: &mut Model) -> Vec<ScreenOrder> {
    match model.chosen_iteration() {
        Some(iteration) => show(model, Overlay::Prompt { iteration }),
        None => refused(model, "no iteration has run"),
    }
}

/// Shows a text in place of the pane.
pub(super) fn show(model: &mut Model, overlay: Overlay) -> Vec<ScreenOrder> {
    model.ui.close();
    model.ui.unfolded = Some(OpenOverlay {
        overlay: overlay.clone(),
        state: PlaybackState::Loading,
    });
    vec![ScreenOrder::Unfold(overlay)]
}

/// Takes the result of rendering a text, unless another one is shown by now.
pub(in crate::tui) fn rendered(model: &mut Model, overlay: Overlay, result: Result<(), String>) -> Vec<ScreenOrder> {
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
