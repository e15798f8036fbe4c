//! The currently useful key bindings, for the help and the palette. Pure.

use ralph_core::{
    event::StopRequest,
    run::{Message, Phase},
};

use super::{
    keys::{self, Binding, BindingContext, BindingGroup, BindingScope, KEYLESS, KeyAction},
    looks::LookChange,
    model::{Model, Pane, background_at, has_sections, message_at, more, used_up},
};

/// The bindings that have an effect at the current focus, in the order of the table.
pub(super) fn offered(model: &Model) -> impl Iterator<Item = &'static Binding> + '_ {
    keys::bindings(BindingContext::from_ui(&model.ui)).filter(|binding| works(binding, model))
}

/// The commands without a key that have an effect now.
pub(super) fn offered_without_key(model: &Model) -> impl Iterator<Item = &'static Binding> + '_ {
    let is_live = |binding: &&Binding| binding.when != BindingScope::Live || model.ui.replay.is_none();
    KEYLESS.iter().filter(is_live).filter(|binding| works(binding, model))
}

/// Whether an action that needs a loop also has an effect after the end of the run.
fn takes_when_over(action: KeyAction) -> bool {
    matches!(action, KeyAction::Steer | KeyAction::Comment)
}

fn works(binding: &Binding, model: &Model) -> bool {
    let run = &model.run;
    let continues = || binding.action == KeyAction::RetryNow && model.ui.continues && more(run).is_some();
    if binding.when == BindingScope::Live && run.is_over() && !takes_when_over(binding.action) && !continues() {
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
        KeyAction::Open if model.ui.pane == Pane::History => {
            model.ui.history.open.is_none() && model.chosen_iteration().is_some()
        }
        KeyAction::Split => model.has_room_for_sides(),
        KeyAction::Restore => model.can_restore() && model.chosen_iteration().is_some(),
        KeyAction::SetAside => run.plan.open() > 0,
        KeyAction::Fold => has_sections(&run.plan) && !model.layout().has_strip(),
        // Not offered once a stronger stop was requested.
        KeyAction::StopAfterIteration => run.stop.is_none_or(|stop| stop.request == StopRequest::AfterIteration),
        KeyAction::Detach => model.ui.detaches,
        KeyAction::CopyContinue => run.is_over() && model.ui.replay.is_none(),
        KeyAction::Look(LookChange::Mouse(on)) => model.ui.mouse != on,
        KeyAction::Look(LookChange::Notify(on)) => model.ui.notifies.is_some_and(|notifies| notifies != on),
        KeyAction::NextMatch | KeyAction::PreviousMatch => !model.ui.search.query.is_empty(),
        // All other actions are always possible.
        _ => true,
    }
}

/// Returns the actions that match `query`, best match first, and moves last among equals.
pub(super) fn actions_found(model: &Model, query: &str) -> Vec<&'static Binding> {
    let query = query.trim().to_lowercase();
    let bindings = offered(model).filter(|binding| binding.action != KeyAction::Palette);
    let bindings = bindings.chain(offered_without_key(model));
    let ranked = bindings.filter_map(|binding| Some((rank(binding.name, binding.about, &query)?, binding)));
    let mut found: Vec<(u8, &Binding)> = ranked.collect();
    found.sort_by_key(|(rank, binding)| (*rank, binding.group == BindingGroup::Move));
    found.into_iter().map(|(_, binding)| binding).collect()
}

/// Match quality of an action, 0 is best; `None` if it does not match: the beginning of its name, of a word of it, a part
/// of it, of its description, then letters in order.
fn rank(name: &str, about: &str, query: &str) -> Option<u8> {
    let (name, about) = (name.to_lowercase(), about.to_lowercase());
    if name.starts_with(query) {
        return Some(0);
    }
    let at_word = |text: &str| {
        let mut places = text.match_indices(query);
        places.any(|(at, _)| text[..at].ends_with(|before: char| !before.is_alphanumeric()))
    };
    if at_word(&name) {
        return Some(1);
    }
    if name.contains(query) {
        return Some(2);
    }
    if about.starts_with(query) || at_word(&about) {
        return Some(3);
    }
    let mut letters = name.chars();
    let has_all = query
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .all(|letter| letters.any(|other| other == letter));
    has_all.then_some(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::{model, running};

    #[test]
    fn an_action_is_found_by_the_beginning_of_its_name_then_of_a_word_then_by_letters() {
        let model = model(100, 30, running());
        for (query, name) in [
            ("history", "Go to history"),
            ("skip", "Skip iteration"),
            ("quit", "Quit…"),
            ("diff", "Go to diff"),
            ("pause", "Pause"),
            ("theme", "Theme: dark"),
            ("light", "Theme: light"),
            ("stop", "Stop after iteration"),
            ("gtlg", "Go to log"),
        ] {
            let found = actions_found(&model, query);
            assert_eq!(found.first().map(|binding| binding.name), Some(name), "{query}");
        }
        assert_eq!(actions_found(&model, "zzz").len(), 0);
        let all = actions_found(&model, "");
        assert!(all.iter().all(|binding| !binding.name.is_empty()));
    }
}
