//! The tasks that are read and left out: signs that may be no boxes, and tasks that their author skips.

use std::collections::HashSet;

use ralph_core::event::UnreadWhy;
use ralph_text::LineIndex;

use super::{
    check_box::{BoxForm, BoxState},
    reading::{FoundTasks, TaskSource, unread},
};

/// Takes ✅ and ❌ for boxes only where other boxes stand in the same list, or no task of the plan has another box: both are also
/// written in front of what is good or bad.
pub(super) fn leave_out_signs(found: &mut FoundTasks) {
    let is_sign = |source: &TaskSource| source.check_box.form == BoxForm::Emoji;
    let (signs, boxes): (Vec<_>, Vec<_>) = found.sources.iter().partition(|source| is_sign(source));
    if signs.is_empty() || boxes.is_empty() {
        return;
    }
    let lists: HashSet<u32> = boxes.iter().map(|source| source.list).collect();
    let kept: Vec<bool> = found
        .sources
        .iter()
        .map(|source| !is_sign(source) || lists.contains(&source.list))
        .collect();
    for (task, source) in found
        .tasks
        .iter()
        .zip(&found.sources)
        .zip(&kept)
        .filter_map(|(it, kept)| (!kept).then_some(it))
    {
        if source.check_box.state != BoxState::Ticked {
            found.unread.push(unread(task.line, &task.text, UnreadWhy::Sign));
        }
    }
    found.retain(&kept);
}

/// Leaves out the tasks with the setting `skip`, and those in them.
pub(super) fn leave_out_skipped(text: &str, found: &mut FoundTasks) {
    if !found.sources.iter().any(|source| source.is_skipped) {
        return;
    }
    let mut around = None;
    let kept: Vec<bool> = found
        .tasks
        .iter()
        .zip(&found.sources)
        .map(|(task, source)| {
            around = around.filter(|outer| task.depth > *outer);
            if source.is_skipped && around.is_none() {
                around = Some(task.depth);
            }
            around.is_none()
        })
        .collect();
    let lines = LineIndex::new(text);
    for (task, _) in found.tasks.iter().zip(&kept).filter(|(_, kept)| !**kept) {
        let source = text.get(lines.start_of(task.line)..).unwrap_or_default();
        let source = source.split(['\n', '\r']).next().unwrap_or_default();
        found.unread.push(unread(task.line, source, UnreadWhy::Skipped));
    }
    found.retain(&kept);
}
