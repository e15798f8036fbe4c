//! Sentences about hooks.

use ralph_core::{
    event::{BackgroundResult, Hook},
    notices::{hook_in_words, last_line},
};
use ralph_text::one_line;

use super::{Tone, background_went_well, short_duration};

/// The line for a hook that ended well; `None` for one that failed, which has a notice or ends the run.
pub(super) fn ended(hook: Hook, task: Option<&str>, result: &BackgroundResult) -> Option<(Tone, String)> {
    let after = short_duration(result.duration_ms);
    let said = last_line(result)
        .map(|said| format!(": {}", one_line(&said)))
        .unwrap_or_default();
    let name = hook_in_words(hook, task);
    background_went_well(result).then(|| (Tone::Note, format!("{name} done in {after}{said}")))
}
