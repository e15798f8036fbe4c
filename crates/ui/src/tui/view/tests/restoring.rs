//! Snapshots of the questions about restoring files.

use insta::assert_snapshot;

use super::*;

#[test]
fn files_are_restored_after_a_question_and_what_was_done_is_said() {
    let mut model = with(
        model(80, 24, [running(), vec![stopped(StopReason::Requested)]].concat()),
        |model| {
            model.ui.show(Pane::History);
            model.ui.history.selected = 1;
            model.ui.restores = true;
            model.ui.mode = InputMode::Asking(Confirmation::Restore { iteration: 2 });
        },
    );
    assert_snapshot!("restore_asked", drawn(&model));
    model.ui.history.restored = Some(Ok("3 files written, 1 deleted".to_owned()));
    model.ui.mode = InputMode::Asking(Confirmation::Restored);
    assert_snapshot!("restore_done", drawn(&model));
}
