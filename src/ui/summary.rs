//! The summary that a screen leaves in the terminal: the head of the run's report.

use std::io::Write;

use ralph_core::run::RunView;
use ralph_state::store::journal;
use ralph_system::paths::RunPaths;
use ralph_text::console;
use ralph_ui::report::{OutputStyle, RunReport, write_head};

/// Prints how the run in `files` ended and where its recordings are. Prints nothing if its journal cannot be read.
pub(crate) fn print(files: &RunPaths, style: OutputStyle) {
    let mut view = RunView::default();
    if journal::for_each(&files.journal(), |record| view.apply(&record)).is_err() {
        return;
    }
    let report = RunReport::from_view(view);
    let mut out = console::stdout(style.form());
    let recordings = files.dir().join("iterations");
    // A write error is ignored: the terminal may be closed.
    _ = write_head(&report, style, &mut out).and_then(|()| match style.hints {
        true => writeln!(
            out,
            "  recordings: {} (replay with `ralph replay`)",
            recordings.display()
        ),
        false => Ok(()),
    });
}
