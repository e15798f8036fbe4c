//! Restores the files of the project to a checkpoint of an iteration in the history.

use ralph_words::Tone;

use crate::tui::{
    model::{Confirmation, InputMode, Model},
    order::{RestoreTarget, ScreenOrder, refused},
};

/// The checkpoints of an iteration.
pub(in crate::tui) fn restorable(model: &Model, number: u32) -> Vec<RestoreTarget> {
    let Some(iteration) = model.run.iterations.numbered(number) else {
        return Vec::new();
    };
    let settled = model.ui.timeline.as_ref().map(|timeline| &timeline.settled);
    let is_settled = iteration.after.is_some() || settled.is_some_and(|settled| settled.contains_key(&number));
    let after = is_settled.then_some(RestoreTarget::After(number));
    let before = iteration.before.as_ref().map(|_| RestoreTarget::Before(number));
    after.into_iter().chain(before).collect()
}

/// Asks to which checkpoint of the chosen iteration the files are restored.
pub(super) fn ask(model: &mut Model) -> Vec<ScreenOrder> {
    let open = model.ui.history.open.as_ref().map(|open| open.iteration);
    let Some(iteration) = open.or_else(|| model.chosen_iteration()) else {
        return refused(model, "no iteration has run");
    };
    if !model.ui.restores {
        return refused(
            model,
            "the files are on the machine of the run: `ralph restore` works there",
        );
    }
    if !model.can_restore() {
        return refused(
            model,
            "ralph is working on these files: stop the run first, or wait for its end",
        );
    }
    if restorable(model, iteration).is_empty() {
        return refused(model, &format!("there is no checkpoint of iteration {iteration}"));
    }
    model.ui.mode = InputMode::Asking(Confirmation::Restore { iteration });
    Vec::new()
}

/// Shows what was restored, or why nothing was.
pub(in crate::tui) fn restored(model: &mut Model, result: Result<String, String>) -> Vec<ScreenOrder> {
    model.ui.toast = None;
    if model.ui.mode == InputMode::Normal {
        model.ui.mode = InputMode::Asking(Confirmation::Restored);
    } else {
        let (tone, said) = match &result {
            Ok(changed) => (Tone::Good, changed),
            Err(why) => (Tone::Bad, why),
        };
        model.ui.toast(tone, said.clone(), model.now_ms);
    }
    model.ui.history.restored = Some(result);
    Vec::new()
}

#[cfg(test)]
mod tests {
    use ralph_core::event::StopReason;

    use super::*;
    use crate::tui::{
        model::{Pane, ReplayState},
        order::ScreenEvent,
        panes::show_end,
        testing::{model, running, started, stopped},
        update::{tests::press, update},
    };

    /// The history of a run that was stopped in its third iteration.
    fn over() -> Model {
        let mut model = model(100, 30, [running(), vec![stopped(StopReason::Requested)]].concat());
        show_end(&mut model);
        model.ui.show(Pane::History);
        model.ui.restores = true;
        model
    }

    fn said(model: &Model) -> &str {
        model.ui.toast.as_ref().map_or("", |toast| &toast.text)
    }

    #[test]
    fn the_files_of_a_chosen_iteration_are_restored_once_that_is_confirmed() {
        let mut model = over();
        assert_eq!(press(&mut model, "ku"), []);
        assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Restore { iteration: 2 }));
        assert_eq!(press(&mut model, "x"), [], "no answer");
        let restore = |target| [ScreenOrder::Restore(target)];
        assert_eq!(press(&mut model, "a"), restore(RestoreTarget::After(2)));
        assert_eq!(said(&model), "restoring the files…");
        assert_eq!(press(&mut model, "ub"), restore(RestoreTarget::Before(2)));
        assert_eq!(press(&mut model, "un"), []);
        let copied = ScreenOrder::Copy("ralph restore 2".to_owned());
        assert_eq!(press(&mut model, "uc"), [copied]);
        assert_eq!(press(&mut model, "jua"), [], "there is no checkpoint after the third");
        assert_eq!(press(&mut model, "b"), restore(RestoreTarget::Before(3)));
    }

    #[test]
    fn what_was_restored_is_said_and_undone_by_a_key() {
        let mut model = over();
        let result = Ok("3 files written, 1 deleted".to_owned());
        assert_eq!(update(&mut model, ScreenEvent::Restored { result }), []);
        assert_eq!(model.ui.mode, InputMode::Asking(Confirmation::Restored));
        assert_eq!(press(&mut model, "u"), [ScreenOrder::Restore(RestoreTarget::Undo)]);

        press(&mut model, ":");
        let result = Err("ralph is working on these files".to_owned());
        update(&mut model, ScreenEvent::Restored { result });
        assert_eq!(model.ui.mode, InputMode::Steering, "what is typed stays");
        assert_eq!(said(&model), "ralph is working on these files");
    }

    #[test]
    fn nothing_is_restored_while_the_agent_works_or_from_another_machine() {
        let mut live = model(100, 30, running());
        live.ui.show(Pane::History);
        live.ui.restores = true;
        assert_eq!(press(&mut live, "ku"), []);
        assert!(
            said(&live).starts_with("ralph is working on these files"),
            "{}",
            said(&live)
        );

        let mut far = over();
        far.ui.restores = false;
        press(&mut far, "ku");
        assert!(said(&far).contains("machine of the run"), "{}", said(&far));
    }

    #[test]
    fn a_replay_names_its_run_in_the_command() {
        let mut replay = model(100, 30, [running(), vec![started(4)]].concat());
        replay.ui.show(Pane::History);
        replay.ui.restores = true;
        replay.ui.replay = Some(ReplayState {
            speed: 1.0,
            paused: true,
            over: false,
        });
        let copied = ScreenOrder::Copy("ralph restore 4 --run 20261120-102835-4f2a".to_owned());
        assert_eq!(press(&mut replay, "uc"), [copied]);
    }
}
