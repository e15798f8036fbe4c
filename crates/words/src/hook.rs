//! Sentences about hooks.

use ralph_core::event::{BackgroundResult, Hook};
use ralph_text::one_line;

use super::{Tone, background_end_in_words, background_went_well, short_duration};

/// The line for a hook that ended well; `None` for one that failed, which has a notice or ends the run.
pub(super) fn ended(hook: Hook, task: Option<&str>, result: &BackgroundResult) -> Option<(Tone, String)> {
    let after = short_duration(result.duration_ms);
    let said = last_line(result).map(|said| format!(": {said}")).unwrap_or_default();
    let name = named(hook, task);
    background_went_well(result).then(|| (Tone::Note, format!("{name} done in {after}{said}")))
}

/// Why a hook failed, with the last line that it printed: ``hook `afterIteration` failed: exit code 1: no route``.
pub(super) fn hook_failed(hook: Hook, task: Option<&str>, result: &BackgroundResult) -> String {
    let end = background_end_in_words(result);
    let said = last_line(result).map(|said| format!(": {said}")).unwrap_or_default();
    format!("{} failed: {end}{said}", named(hook, task))
}

fn named(hook: Hook, task: Option<&str>) -> String {
    match (hook, task) {
        (Hook::OnTaskDone | Hook::OnBlocked, Some(task)) => format!("hook `{}` ({})", hook.name(), one_line(task)),
        _ => format!("hook `{}`", hook.name()),
    }
}

fn last_line(result: &BackgroundResult) -> Option<String> {
    let last = result.tail.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(one_line(last))
}
