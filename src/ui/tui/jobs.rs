//! What a screen shows that takes its time to be had: each is made in a thread of its own, and arrives in the mailbox.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    sync::Arc,
};

use crate::{driver::Unfold, proc::Size};

use super::{
    DiffRequest, Differ, Recordings, Setup, Unfolder,
    beside::beside,
    cast,
    inputs::{Arrived, Mailbox},
    model::{DiffState, Model},
    patch::Patch,
    screens,
    update::ScreenEvent,
};

pub(super) struct Jobs {
    differ: Differ,
    recordings: Recordings,
    unfolder: Unfolder,
    /// What is read as a conversation, if the recording does not say it.
    transcript: bool,
    mailbox: Mailbox,
    diffing: bool,
    /// The recording that is being read, and the pane it is read for.
    playing: Option<(u32, Size)>,
}

impl Jobs {
    pub(super) fn new(setup: &Setup, mailbox: Mailbox) -> Self {
        Self {
            differ: Arc::clone(&setup.differ),
            recordings: Arc::clone(&setup.recordings),
            unfolder: Arc::clone(&setup.unfolder),
            transcript: setup.terminals.is_empty(),
            mailbox,
            diffing: false,
            playing: None,
        }
    }

    /// Makes the patch that the pane is about, unless another one is being made: the next one is made when that is there.
    pub(super) fn load_diff(&mut self, model: &mut Model) {
        let Some(iteration) = model.ui.diff.iteration else {
            return;
        };
        let since = model.ui.diff.since.unwrap_or(iteration);
        let iterations = &model.run.iterations;
        let (Some(first), Some(last)) = (iterations.numbered(since), iterations.numbered(iteration)) else {
            return;
        };
        let Some(before) = first.before.clone() else {
            let patch = Err("There is no checkpoint to compare with.".to_owned());
            model.ui.diff.state = DiffState::None;
            _ = self.mailbox.send(Arrived::Ui(ScreenEvent::DiffLoaded {
                since,
                iteration,
                patch,
            }));
            return;
        };
        let request = DiffRequest {
            since,
            iteration,
            before,
            after: last.after.clone(),
        };
        if std::mem::replace(&mut self.diffing, true) {
            return;
        }
        let (differ, mailbox) = (Arc::clone(&self.differ), self.mailbox.clone());
        beside(move || {
            let patch = differ(&request).map(|text| Patch::parse(&text));
            let loaded = ScreenEvent::DiffLoaded {
                since,
                iteration,
                patch,
            };
            _ = mailbox.send(Arrived::Ui(loaded)); // the screen may be gone
        });
    }

    /// Takes note that a patch is there.
    pub(super) fn has_diffed(&mut self) {
        self.diffing = false;
    }

    pub(super) fn play(&mut self, iteration: u32, pane: Size) {
        let recordings = Arc::clone(&self.recordings);
        // One at a time: a resize by mouse asks for many.
        if self.playing.is_some() {
            return;
        }
        self.playing = Some((iteration, pane));
        let (mailbox, transcript) = (self.mailbox.clone(), self.transcript);
        // A row of the pane names what else there is to see of the iteration.
        let pane = Size {
            rows: pane.rows.saturating_sub(1).max(1),
            ..pane
        };
        beside(move || {
            let path = recordings(iteration);
            let screen = File::open(&path)
                .map_err(|error| format!("{}: {error}", path.display()))
                .and_then(|file| {
                    let lines = BufReader::new(file).lines().map_while(Result::ok);
                    cast::play(lines, pane, transcript)
                        .map(Box::new)
                        .ok_or_else(|| format!("{}: not a recording", path.display()))
                });
            _ = mailbox.send(Arrived::Recording { iteration, screen }); // the screen may be gone
        });
    }

    /// Takes note that a recording was read; tells whether it was this one, for a pane of this size.
    pub(super) fn has_played(&mut self, iteration: u32, pane: Size) -> bool {
        self.playing.take() == Some((iteration, pane))
    }

    pub(super) fn unfold(&self, iteration: u32, what: Unfold, pane: Size) {
        let (unfolder, mailbox) = (Arc::clone(&self.unfolder), self.mailbox.clone());
        beside(move || {
            let text = unfolder(iteration, what, pane.cols);
            let screen = text.map(|text| Box::new(screens::of_transcript(&text, pane)));
            let unfolded = Arrived::Unfolded {
                iteration,
                what,
                screen,
            };
            _ = mailbox.send(unfolded); // the screen may be gone
        });
    }
}
