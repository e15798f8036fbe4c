//! The diff pane: its iterations and the scroll position.

use crate::ui::tui::{
    model::{DiffState, Model},
    patch::Patch,
};

use super::order::{ScreenOrder, Scroll, StepDirection, refused};

/// Columns scrolled sideways by a key.
const SIDEWAYS: usize = 16;

/// Shows the changes of `iteration`; a repeated call reloads them.
pub(super) fn show(model: &mut Model, iteration: u32) -> Vec<ScreenOrder> {
    let diff = &mut model.ui.diff;
    if diff.iteration != Some(iteration) {
        diff.since = None;
        begin(model, iteration);
    }
    vec![ScreenOrder::LoadDiff]
}

fn begin(model: &mut Model, iteration: u32) {
    let diff = &mut model.ui.diff;
    (diff.top, diff.left) = (0, 0);
    diff.state = DiffState::Loading;
    diff.iteration = Some(iteration);
}

/// Takes a loaded patch, unless another one is wanted by now.
pub(super) fn loaded(model: &mut Model, since: u32, iteration: u32, patch: Result<Patch, String>) -> Vec<ScreenOrder> {
    let diff = &mut model.ui.diff;
    if diff.iterations() != Some((since, iteration)) {
        return match diff.iteration {
            Some(_) => vec![ScreenOrder::LoadDiff],
            None => Vec::new(),
        };
    }
    diff.state = match patch {
        Ok(patch) => DiffState::Loaded(patch),
        Err(why) => DiffState::Failed(why),
    };
    model.ui.diff.top = model.ui.diff.top.min(last_top(model));
    Vec::new()
}

/// Moves the start of the comparison an iteration back or forth. After the run's start comes the iteration alone, and
/// vice versa.
pub(super) fn compare(model: &mut Model, way: StepDirection) -> Vec<ScreenOrder> {
    let diff = &model.ui.diff;
    let (Some(iteration), Some(first)) = (diff.iteration, first_iteration(model)) else {
        return Vec::new();
    };
    let since = diff.since.unwrap_or(iteration);
    let since = match way {
        StepDirection::Previous if since <= first => iteration,
        StepDirection::Previous => since - 1,
        StepDirection::Next if since >= iteration => first,
        StepDirection::Next => since + 1,
    };
    if first == iteration {
        return refused(model, "there is no earlier iteration to compare with");
    }
    model.ui.diff.since = Some(since).filter(|since| *since != iteration);
    begin(model, iteration);
    vec![ScreenOrder::LoadDiff]
}

/// The first known iteration of the run.
pub(super) fn first_iteration(model: &Model) -> Option<u32> {
    Some(model.run.iterations.rows.get(0)?.number)
}

fn patch(model: &Model) -> Option<&Patch> {
    match &model.ui.diff.state {
        DiffState::Loaded(patch) => Some(patch),
        DiffState::None | DiffState::Loading | DiffState::Failed(_) => None,
    }
}

fn last_top(model: &Model) -> usize {
    let lines = patch(model).map_or(0, |patch| patch.lines.len());
    let height = usize::from(model.layout().main.height);
    // A wrapped line may take all of the rows.
    lines.saturating_sub(if model.ui.diff.wrap { 1 } else { height })
}

pub(super) fn scroll(model: &mut Model, by: Scroll) {
    model.ui.diff.top = by.downwards(model.ui.diff.top, last_top(model));
}

/// Goes to the beginning of the next file, or of the current one and then the one before.
pub(super) fn go_to_file(model: &mut Model, way: StepDirection) {
    let top = model.ui.diff.top;
    let Some(patch) = patch(model) else { return };
    let mut files = patch.files.iter().map(|file| file.at);
    let at = match way {
        StepDirection::Next => files.find(|at| *at > top),
        StepDirection::Previous => files.rfind(|at| *at < top).or(Some(0)),
    };
    // Even if less than a page follows: the current file is the one at the top.
    if let Some(at) = at {
        model.ui.diff.top = at;
    }
}

/// Goes to the beginning of a file, given by its index.
pub(super) fn show_file(model: &mut Model, file: usize) {
    if let Some(file) = patch(model).and_then(|patch| patch.files.get(file)) {
        model.ui.diff.top = file.at;
    }
}

pub(super) fn wrap(model: &mut Model) {
    model.ui.diff.wrap = !model.ui.diff.wrap;
    model.ui.diff.left = 0;
}

pub(super) fn scroll_sideways(model: &mut Model, way: StepDirection) {
    let widest = patch(model).map_or(0, |patch| patch.widest);
    let diff = &mut model.ui.diff;
    diff.left = match way {
        _ if diff.wrap => 0,
        StepDirection::Next => (diff.left + SIDEWAYS).min(widest.saturating_sub(SIDEWAYS)),
        StepDirection::Previous => diff.left.saturating_sub(SIDEWAYS),
    };
}
