//! Background jobs of the screen: each runs on its own thread, and its result arrives in the mailbox.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    sync::Arc,
};

use ralph_system::proc::Size;

use super::{
    CommitSource, DiffRequest, PatchSource, Recordings, Restorer, Setup, Unfolder, cast,
    inputs::{Mailbox, RenderedTerminal, ScreenInput},
    model::{DiffState, Model, Overlay, Pane},
    order::{RestoreTarget, ScreenEvent},
    patch::Patch,
    screens,
    spawn::spawn_or_run,
};

pub(super) struct Jobs {
    differ: PatchSource,
    recordings: Recordings,
    unfolder: Unfolder,
    commits: Option<CommitSource>,
    /// The number of iterations that had ended when their commits were last listed.
    listed: usize,
    restorer: Option<Restorer>,
    /// Whether a recording is treated as a transcript if it does not say so itself.
    transcript: bool,
    mailbox: Mailbox,
    diffing: bool,
    /// The recording being read, and the pane size it is read for.
    playing: Option<(u32, Size)>,
}

impl Jobs {
    pub(super) fn new(setup: &Setup, mailbox: Mailbox) -> Self {
        Self {
            differ: Arc::clone(&setup.differ),
            recordings: Arc::clone(&setup.recordings),
            unfolder: Arc::clone(&setup.unfolder),
            commits: setup.commits.clone(),
            listed: 0,
            restorer: setup.restorer.clone(),
            transcript: setup.terminals.is_empty(),
            mailbox,
            diffing: false,
            playing: None,
        }
    }

    /// Loads the patch for the diff pane, unless another one is being loaded; the next one is loaded after that.
    pub(super) fn load_diff(&mut self, model: &mut Model) {
        let Some((since, iteration)) = model.ui.diff.iterations() else {
            return;
        };
        let request = match diff_request(model, since, iteration) {
            None => return,
            Some(Ok(request)) => request,
            Some(Err(why)) => {
                model.ui.diff.state = DiffState::None;
                _ = self.mailbox.send(ScreenInput::Ui(ScreenEvent::DiffLoaded {
                    since,
                    iteration,
                    patch: Err(why),
                }));
                return;
            }
        };
        if std::mem::replace(&mut self.diffing, true) {
            return;
        }
        let (differ, mailbox) = (Arc::clone(&self.differ), self.mailbox.clone());
        spawn_or_run(move || {
            let patch = differ(&request).map(|text| Patch::parse(&text));
            let loaded = ScreenEvent::DiffLoaded {
                since,
                iteration,
                patch,
            };
            _ = mailbox.send(ScreenInput::Ui(loaded)); // the screen may be gone
        });
    }

    /// Notes that a patch has arrived.
    pub(super) fn has_diffed(&mut self) {
        self.diffing = false;
    }

    pub(super) fn play(&mut self, iteration: u32, pane: Size) {
        let recordings = Arc::clone(&self.recordings);
        // One at a time: resizing with the mouse requests many.
        if self.playing.is_some() {
            return;
        }
        self.playing = Some((iteration, pane));
        let (mailbox, transcript) = (self.mailbox.clone(), self.transcript);
        // One row of the pane names the other parts of the iteration.
        let pane = Size {
            rows: pane.rows.saturating_sub(1).max(1),
            ..pane
        };
        spawn_or_run(move || {
            let path = recordings(iteration);
            let screen = File::open(&path)
                .map_err(|error| format!("{}: {error}", path.display()))
                .and_then(|file| {
                    let lines = BufReader::new(file).lines().map_while(Result::ok);
                    cast::play(lines, pane, transcript)
                        .map(Box::new)
                        .ok_or_else(|| format!("{}: not a recording", path.display()))
                });
            let rendered = RenderedTerminal::Recording { iteration, screen };
            _ = mailbox.send(ScreenInput::Rendered(rendered)); // the screen may be gone
        });
    }

    /// Notes that a recording was read. Returns whether it was this iteration's, for a pane of this size.
    pub(super) fn has_played(&mut self, iteration: u32, pane: Size) -> bool {
        self.playing.take() == Some((iteration, pane))
    }

    pub(super) fn unfold(&self, overlay: Overlay, pane: Size) {
        let (unfolder, mailbox) = (Arc::clone(&self.unfolder), self.mailbox.clone());
        spawn_or_run(move || {
            let text = unfolder(&overlay, pane.cols);
            let screen = text.map(|text| Box::new(screens::finished_transcript(&text, pane)));
            let rendered = RenderedTerminal::Overlay { overlay, screen };
            _ = mailbox.send(ScreenInput::Rendered(rendered)); // the screen may be gone
        });
    }

    /// Lists the commits of the iterations for the report, if it is shown and another iteration has ended.
    pub(super) fn list_commits(&mut self, model: &Model) {
        let ended = model
            .run
            .iterations
            .rows
            .iter()
            .filter(|row| row.after.is_some())
            .count();
        let Some(source) = self.commits.clone().filter(|_| model.ui.pane == Pane::Report) else {
            return;
        };
        if std::mem::replace(&mut self.listed, ended) == ended {
            return;
        }
        let (view, mailbox) = (model.run.clone(), self.mailbox.clone());
        spawn_or_run(move || {
            let (commits, files) = source(&view);
            _ = mailbox.send(ScreenInput::Ui(ScreenEvent::CommitsListed { commits, files })); // the screen may be gone
        });
    }

    pub(super) fn restore(&self, target: RestoreTarget) {
        let Some(restorer) = self.restorer.clone() else {
            return;
        };
        let mailbox = self.mailbox.clone();
        spawn_or_run(move || {
            let result = restorer(target);
            _ = mailbox.send(ScreenInput::Ui(ScreenEvent::Restored { result })); // the screen may be gone
        });
    }
}

/// Finds the two checkpoints for the patch of iterations `since` to `iteration`. Returns `None` if the run has no such
/// iterations.
///
/// # Errors
/// A sentence if the checkpoint before the first or after the last of them is missing.
fn diff_request(model: &Model, since: u32, iteration: u32) -> Option<Result<DiffRequest, String>> {
    let iterations = &model.run.iterations;
    let (first, last) = (iterations.numbered(since)?, iterations.numbered(iteration)?);
    let Some(before) = first.before.clone() else {
        return Some(Err("There is no checkpoint to compare with.".to_owned()));
    };
    let replayed = model.ui.timeline.as_ref();
    let after = last.after.as_ref().or_else(|| replayed?.settled.get(&iteration));
    // Only the iteration that still runs ends with the current files.
    let goes_on = replayed.is_none() && !model.run.is_over() && iteration == iterations.number;
    if after.is_none() && !goes_on {
        return Some(Err(format!("There is no checkpoint after iteration {iteration}.")));
    }
    Some(Ok(DiffRequest {
        since,
        iteration,
        before,
        after: after.cloned(),
        plan: model.run.settings.plan.clone(),
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ralph_core::event::Checkpoint;

    use super::*;
    use crate::tui::{
        model::Timeline,
        testing::{model, running, started},
    };

    fn checkpoint(name: &str) -> Checkpoint {
        Checkpoint {
            commit: name.to_owned(),
            tree: name.to_owned(),
            head: None,
        }
    }

    fn of_replay(mut model: Model, iteration: u32) -> Model {
        model.ui.timeline = Some(Timeline {
            settled: BTreeMap::from([(iteration, checkpoint("later"))]),
            ..Timeline::default()
        });
        model
    }

    fn tree_after(model: &Model, iteration: u32) -> Result<Option<String>, String> {
        let request = diff_request(model, iteration, iteration).expect("an iteration of the run");
        request.map(|request| request.after.map(|after| after.tree))
    }

    #[test]
    fn only_the_iteration_that_runs_is_compared_with_the_files_as_they_are() {
        let live = model(100, 30, running());
        assert_eq!(tree_after(&live, 2), Ok(Some("t".to_owned())), "it has a checkpoint");
        assert_eq!(tree_after(&live, 3), Ok(None));
        assert!(diff_request(&live, 4, 4).is_none());

        let resumed = model(100, 30, [running(), vec![started(4)]].concat());
        assert_eq!(
            tree_after(&resumed, 3),
            Err("There is no checkpoint after iteration 3.".to_owned()),
            "it was interrupted"
        );
    }

    #[test]
    fn a_replay_compares_with_the_checkpoint_that_it_has_not_come_to() {
        let replay = of_replay(model(100, 30, running()), 3);
        assert_eq!(tree_after(&replay, 3), Ok(Some("later".to_owned())));

        let cut_off = of_replay(model(100, 30, running()), 2);
        assert!(tree_after(&cut_off, 3).is_err());
    }
}
