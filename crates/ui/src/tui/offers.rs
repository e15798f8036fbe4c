//! The currently useful key bindings, for the help and the palette. Pure.

use ralph_core::{
    event::StopRequest,
    run::{Message, Phase},
};

use super::{
    keys::{self, Binding, BindingContext, BindingScope, KeyAction},
    model::{Model, Pane, background_at, has_sections, message_at, more, used_up},
};

/// The bindings that have an effect at the current focus, in the order of the table.
pub(super) fn offered(model: &Model) -> impl Iterator<Item = &'static Binding> + '_ {
    keys::bindings(BindingContext::from_ui(&model.ui)).filter(|binding| works(binding, model))
}

fn works(binding: &Binding, model: &Model) -> bool {
    let run = &model.run;
    let continues = || binding.action == KeyAction::RetryNow && model.ui.continues && more(run).is_some();
    if binding.when == BindingScope::Live && run.is_over() && binding.action != KeyAction::Steer && !continues() {
        return false;
    }
    match binding.action {
        KeyAction::Steer => used_up(run).is_none(),
        // Only an agent with its own terminal reads typed keys.
        KeyAction::Type => run.is_busy() && !model.ui.transcript,
        KeyAction::Skip => matches!(run.phase, Phase::Running { .. }),
        KeyAction::RetryNow => run.is_over() || matches!(run.phase, Phase::Waiting { .. }),
        KeyAction::Answer => !run.permissions.pending.is_empty(),
        KeyAction::CancelTask => run.background.alive().next().is_some(),
        KeyAction::Withdraw => run.messages.iter().any(Message::is_due),
        KeyAction::Open if model.ui.pane == Pane::Messages => model.ui.reading.is_none() && message_at(model).is_some(),
        KeyAction::Open if model.ui.pane == Pane::Background => {
            model.ui.unfolded.is_none() && background_at(model).is_some()
        }
        KeyAction::SetAside => run.plan.open() > 0,
        KeyAction::Fold => has_sections(&run.plan) && !model.layout().has_strip(),
        // Not offered once a stronger stop was requested.
        KeyAction::StopAfterIteration => run.stop.is_none_or(|stop| stop.request == StopRequest::AfterIteration),
        KeyAction::NextMatch | KeyAction::PreviousMatch => !model.ui.search.query.is_empty(),
        // All other actions are always possible.
        _ => true,
    }
}

/// The actions whose names contain the letters of `query` in order, best match first.
pub(super) fn actions_found(model: &Model, query: &str) -> Vec<&'static Binding> {
    let query = query.trim().to_lowercase();
    let bindings = offered(model).filter(|binding| binding.action != KeyAction::Palette);
    let ranked = bindings.filter_map(|binding| Some((rank(&binding.about.to_lowercase(), &query)?, binding)));
    let mut found: Vec<(u8, &Binding)> = ranked.collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, binding)| binding).collect()
}

/// Match quality of a name, 0 is best; `None` if it does not match.
fn rank(name: &str, query: &str) -> Option<u8> {
    if name.starts_with(query) {
        return Some(0);
    }
    if let Some(at) = name.find(query) {
        let begins_word = name[..at].ends_with(|before: char| !before.is_alphanumeric());
        return Some(if begins_word { 1 } else { 2 });
    }
    let mut letters = name.chars();
    let has_all = query
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .all(|letter| letters.any(|other| other == letter));
    has_all.then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_name_comes_first() {
        let mut names = ["a screen", "redraw the screen", "draw", "d_r_a_w"];
        names.sort_by_key(|name| rank(name, "draw").unwrap_or(9));
        assert_eq!(names[..2], ["draw", "redraw the screen"]);
        assert_eq!(rank("redraw the screen", "rds"), Some(3));
        assert_eq!(rank("redraw", "xyz"), None);
    }
}
