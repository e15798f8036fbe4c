//! The list of background tasks, the newest first.

use ralph_core::run::BackgroundTask;

use super::{Model, Pane};

/// The selected task.
pub fn background_at(model: &Model) -> Option<&BackgroundTask> {
    let tasks = &model.run.background.tasks;
    let chosen = model.ui.position(Pane::Background).min(tasks.len().saturating_sub(1));
    tasks.iter().rev().nth(chosen)
}
