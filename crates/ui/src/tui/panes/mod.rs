//! The contents of the main area, and the plan beside it: a file for each.

mod asks;
mod background;
mod content;
mod diff;
mod goal_rows;
mod history;
mod iteration;
mod limits;
mod log;
mod messages;
mod page;
mod patch_lines;
mod plan;
mod plan_window;
mod report;
mod restore;
mod sides;
mod terminal;
mod title;

use super::{
    keys::KeyFocus,
    layout::Focus,
    model::{IterationPart, Model, Pane},
};

pub(super) use content::{PaneContent, below_head, draw_list, go};
pub(super) use diff::{comment_role, loaded as diff_loaded, show as show_diff};
pub(super) use history::sign as sign_of_iteration;
pub(super) use iteration::draw_parts;
pub(super) use limits::sign_of_goal;
pub(super) use messages::withdrawn;
pub(super) use plan::{has_goal_rows, outstanding_in_words};
pub(super) use report::{answer as answer_end, commits_listed, refresh as refresh_report, show_end};
pub(super) use restore::{restorable, restored};
pub(super) use terminal::{draw_start, rendered};
pub(super) use title::{draw as draw_title, tab_at};

/// The content of a pane when nothing is opened in it.
pub(super) fn content_for(place: KeyFocus) -> &'static dyn PaneContent {
    match place {
        KeyFocus::Plan => &plan::PlanContent,
        KeyFocus::View(Pane::Terminal) => &terminal::TerminalContent,
        KeyFocus::View(Pane::Log) => &log::LogContent,
        KeyFocus::View(Pane::Diff) => &diff::DiffContent,
        KeyFocus::View(Pane::History) => &history::HistoryContent,
        KeyFocus::View(Pane::Messages) => &messages::MessageListContent,
        KeyFocus::View(Pane::Asks) => &asks::AskListContent,
        KeyFocus::View(Pane::Limits) => &limits::LimitsContent,
        KeyFocus::View(Pane::Background) => &background::BackgroundContent,
        KeyFocus::View(Pane::Report) => &report::ReportContent,
    }
}

/// The content of the main area.
pub(super) fn shown(model: &Model) -> &'static dyn PaneContent {
    let ui = &model.ui;
    match &ui.history.open {
        _ if ui.unfolded.is_some() => &terminal::TerminalContent,
        Some(open) => match open.part {
            IterationPart::Transcript => &terminal::TerminalContent,
            IterationPart::Diff => &diff::DiffContent,
            IterationPart::Goals | IterationPart::Messages | IterationPart::Subagents => &iteration::PartContent,
        },
        None if ui.reading.is_some() => &messages::MessageContent,
        None if ui.asks.reading.is_some() => &asks::AskContent,
        None => content_for(KeyFocus::View(ui.pane)),
    }
}

/// The content that has the focus.
pub(super) fn focused(model: &Model) -> &'static dyn PaneContent {
    match KeyFocus::from_ui(&model.ui) {
        KeyFocus::Plan => &plan::PlanContent,
        KeyFocus::View(_) => shown(model),
    }
}

/// The row of the match that a search in lines of a pane is at.
pub(super) fn row_of_match(model: &Model) -> Option<u16> {
    let (content, landed) = (focused(model), model.ui.search.landed?);
    let area = match model.ui.focus {
        Focus::Plan => model.layout().tasks,
        Focus::Main => model.content_area(),
    };
    let is_here = landed.at == content.at(model) && landed.focus == model.ui.focus && landed.pane == model.ui.pane;
    content.row_of(model, area, landed.line).filter(|_| is_here)
}
