//! Shows a run whose loop is another process: on a screen, or as text if the screen fails.

use std::{
    fs, io,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Arc,
};

use ralph_core::{
    event::{RequestedBy, RunId},
    run::RunView,
};
use ralph_git::Differ;
use ralph_state::control::{
    Address, ControlError,
    frames::{Hello, Signalling},
    stream::{FrameReader, StreamPurpose, fetch},
};
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::{console, with_causes};
use ralph_ui::tui::{
    self, DiffRequest, EventSource, NotifyChannel, PatchSource as MakeDiff, Recordings, ScreenExit, Setup, Unfolder,
};
use tempfile::TempDir;
use thiserror::Error;

use crate::{
    config::Notify,
    ui::{
        front_end::{commits_of, differ, theme, unfolder},
        headless,
        presentation::{Presentation, ScreenOptions, looks_file},
        remote::{Remote, StreamEnd},
        restorer::restorer,
        signals::{SignalEffect, TerminalSignals},
        terminal,
    },
};

/// Size limits of a patch and of a recording that another machine sends.
const PATCH_CAP_BYTES: usize = 16 << 20;
const RECORDING_CAP_BYTES: usize = 64 << 20;

#[derive(Debug, Error)]
pub(crate) enum AttachError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the running ralph does not say which run it is")]
    NoHello,
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error("no thread can be started")]
    Threads(#[source] io::Error),
}

/// A terminal that attaches to a run.
pub(crate) struct AttachedClient<'a> {
    place: RunLocation<'a>,
    presentation: Presentation,
    screen: ScreenOptions,
    supervisor: &'a Supervisor,
    /// The loop's process, if this one has started it.
    started: Option<u32>,
    scratch: TempDir,
    signals: TerminalSignals,
}

/// The location of the run.
pub(crate) enum RunLocation<'a> {
    /// In a project on this machine.
    Here(&'a ProjectPaths),
    There(Address),
}

/// The result of an [`AttachedClient::show`].
#[derive(Debug)]
pub(crate) struct AttachResult {
    pub(crate) run: RunId,
    pub(crate) left: ScreenExit,
    /// How the stream ended; `None` if it was still open.
    pub(crate) ending: Option<StreamEnd>,
    /// The exit code of the run, if it had ended by then.
    pub(crate) stopped: Option<u8>,
}

impl<'a> AttachedClient<'a> {
    /// Prepares to show a run. Until a screen opens, signals end this process alone ([`SignalEffect::Leave`]).
    ///
    /// # Errors
    /// [`AttachError`] if the scratch directory or the signal thread cannot be created.
    pub(crate) fn new(
        place: RunLocation<'a>,
        presentation: Presentation,
        screen: ScreenOptions,
        supervisor: &'a Supervisor,
    ) -> Result<Self, AttachError> {
        Ok(Self {
            place,
            presentation,
            screen,
            supervisor,
            started: None,
            scratch: tempfile::tempdir().map_err(AttachError::Scratch)?,
            signals: TerminalSignals::listen().map_err(AttachError::Threads)?,
        })
    }

    /// Notes that this process has started the loop as process `pid`: from here on, terminating signals stop the loop.
    pub(crate) fn has_started(&mut self, pid: u32) {
        self.started = Some(pid);
        self.signals.mean(self.without_screen());
    }

    /// The effect of signals while there is no screen.
    fn without_screen(&self) -> SignalEffect {
        self.started.map_or(SignalEffect::Leave, SignalEffect::Stop)
    }

    /// Shows the run of the project's loop until it is over or the user leaves. `attached` is called once the loop has
    /// accepted the screen.
    ///
    /// # Errors
    /// [`AttachError`] if no loop runs, or a thread cannot be started.
    pub(crate) fn show(&self, attached: impl FnOnce()) -> Result<AttachResult, AttachError> {
        let (hello, mut remote) = self.open(StreamPurpose::Screen, None)?;
        attached();
        let run = hello.run.clone();
        let reach = remote.reach(self.started).map_err(AttachError::Threads)?;
        let unfolder: Unfolder = match self.place {
            RunLocation::Here(paths) => unfolder(paths, &hello.run),
            RunLocation::There(_) => {
                Arc::new(|_, _| Err("This is only available on the machine of the run.".to_owned()))
            }
        };
        let (differ, recordings) = self.files(&hello, self.scratch.path());
        let setup = Setup {
            reach: Some(Arc::new(reach)),
            theme: theme(self.screen),
            mouse: self.screen.mouse,
            terminals: hello.show.terminals.clone(),
            differ,
            recordings,
            unfolder,
            commits: match self.place {
                RunLocation::Here(paths) => Some(commits_of(paths, self.supervisor)),
                RunLocation::There(_) => None,
            },
            restorer: match self.place {
                RunLocation::Here(paths) => {
                    let include = hello.show.include.clone();
                    Some(restorer(paths, &hello.run, include, self.supervisor))
                }
                RunLocation::There(_) => None,
            },
            project: match self.place {
                RunLocation::Here(paths) => Some(paths.project().to_owned()),
                RunLocation::There(_) => None,
            },
            continues: self.started.is_some(),
            remembered: match self.place {
                RunLocation::Here(paths) => Some(paths.state().join("messages")),
                RunLocation::There(_) => None,
            },
            looks: match self.place {
                RunLocation::Here(paths) => Some(looks_file(paths)),
                RunLocation::There(_) => None,
            },
            notifier: match hello.show.notify {
                Signalling::None => NotifyChannel::None,
                Signalling::Bell => NotifyChannel::Bell,
                Signalling::Osc9 => NotifyChannel::Osc9,
            },
            shows_progress: terminal::shows_progress(),
        };
        self.signals.mean(SignalEffect::OfScreen);
        let shown = panic::catch_unwind(AssertUnwindSafe(|| tui::run(setup, &mut remote)));
        tui::terminal::give_back();
        self.signals.mean(self.without_screen());
        let left = match shown {
            Ok(Ok(left)) => left,
            // The terminal was closed before its hangup signal arrived.
            Ok(Err(_)) if tui::terminal::is_gone() => ScreenExit::Signalled(RequestedBy::Hangup),
            Ok(Err(error)) => {
                console::warn(&format!("no screen: {}", with_causes(&error)));
                return self.show_text(run, remote);
            }
            Err(_) => {
                tui::terminal::take_panic_messages()
                    .iter()
                    .for_each(|what| console::complain(what));
                console::warn("the screen broke; the run continues as text");
                return self.show_text(run, remote);
            }
        };
        let (ending, stopped) = (remote.ending(), remote.stopped());
        Ok(AttachResult {
            run,
            left,
            ending,
            stopped,
        })
    }

    /// Shows the rest of the run as text. The screen's connection is closed first: the loop must not wait at the end
    /// for a screen that is gone.
    fn show_text(&self, run: RunId, screen: Remote) -> Result<AttachResult, AttachError> {
        let next = screen.next_seq();
        drop(screen);
        let rest = self.open(StreamPurpose::Text, Some(next)).map(|(_, rest)| rest);
        shown_as_text(run, rest, |rest| {
            let style = self.presentation.style;
            let mut out = console::stdout(style.form());
            let mut past = RunView::default();
            rest.past(&mut |record| past.apply(record));
            headless::show(
                past,
                rest,
                headless::OutputFormat::Text,
                style,
                terminal::pace(),
                &mut out,
            );
        })
    }

    fn open(&self, looks: StreamPurpose, from: Option<u64>) -> Result<(Box<Hello>, Remote), AttachError> {
        let address = match &self.place {
            RunLocation::Here(paths) => Address::Socket(paths.socket()),
            RunLocation::There(address) => address.clone(),
        };
        let (hello, frames) = greeted(FrameReader::open(&address, looks, from)?)?;
        let files = match &self.place {
            RunLocation::Here(paths) => Some(paths.run(&hello.run)),
            RunLocation::There(_) => None,
        };
        let remote = Remote::start(frames, &hello, looks, address, files).map_err(AttachError::Threads)?;
        Ok((hello, remote))
    }

    /// The sources of patches and recordings: files of this machine, or requests to the loop.
    fn files(&self, hello: &Hello, scratch: &Path) -> (MakeDiff, Recordings) {
        match &self.place {
            RunLocation::Here(paths) => {
                let files = paths.run(&hello.run);
                let include = hello.show.include.clone();
                let git = Differ::new(paths, scratch.to_owned(), include, self.supervisor);
                (differ(git), Arc::new(move |iteration| files.recording(iteration)))
            }
            RunLocation::There(address) => {
                let (asked, scratch) = (address.clone(), scratch.to_owned());
                let recordings = move |iteration| {
                    let path = scratch.join(format!("{iteration}.cast"));
                    let recording = fetch(&asked, &format!("/recording/{iteration}"), RECORDING_CAP_BYTES);
                    // If the request fails there is no file, and the screen reports that.
                    _ = recording.map(|bytes| fs::write(&path, bytes));
                    path
                };
                let asked = address.clone();
                let differ = move |request: &DiffRequest| {
                    let route = format!("/diff/{}?since={}", request.iteration, request.since);
                    let patch = fetch(&asked, &route, PATCH_CAP_BYTES);
                    let patch = patch.map_err(|error| with_causes(&error))?;
                    Ok(String::from_utf8_lossy(&patch).into_owned())
                };
                (Arc::new(differ), Arc::new(recordings))
            }
        }
    }
}

/// Calls `show` to print the rest of a run that had a screen. A loop that has ended meanwhile, usually by a signal,
/// cannot be reopened. That is no failure: its process and its journal tell how it ended.
fn shown_as_text(
    run: RunId,
    rest: Result<Remote, AttachError>,
    show: impl FnOnce(&mut Remote),
) -> Result<AttachResult, AttachError> {
    let (ending, stopped) = match rest {
        Ok(mut rest) => {
            show(&mut rest);
            (rest.ending(), rest.stopped())
        }
        Err(AttachError::Control(_) | AttachError::NoHello) => (Some(StreamEnd::Lost), None),
        Err(error @ (AttachError::Scratch(_) | AttachError::Threads(_))) => return Err(error),
    };
    Ok(AttachResult {
        run,
        left: ScreenExit::Over,
        ending,
        stopped,
    })
}

/// Reads the first frame, which identifies the run.
///
/// # Errors
/// [`AttachError::NoHello`] if the first frame is something else.
pub(crate) fn greeted(mut frames: FrameReader) -> Result<(Box<Hello>, FrameReader), AttachError> {
    let hello = frames.hello().ok_or(AttachError::NoHello)?;
    Ok((hello, frames))
}

/// The terminal's part in `notify`. A command is run by the loop, once, regardless of the number of screens.
pub(crate) fn signalling(notify: &Notify) -> Signalling {
    match notify {
        Notify::None | Notify::Command(_) => Signalling::None,
        Notify::Bell => Signalling::Bell,
        Notify::Osc9 => Signalling::Osc9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_ends_while_its_screen_becomes_text_is_over_and_no_failure() {
        let run = || RunId("20261120-102835-4f2a".to_owned());
        let nothing = |_: &mut Remote| panic!("there is nothing to show");
        for gone in [AttachError::Control(ControlError::NotRunning), AttachError::NoHello] {
            let result = shown_as_text(run(), Err(gone), nothing).expect("a visit");
            assert_eq!((result.left, result.ending), (ScreenExit::Over, Some(StreamEnd::Lost)));
        }
        let no_thread = AttachError::Threads(io::ErrorKind::WouldBlock.into());
        assert!(shown_as_text(run(), Err(no_thread), nothing).is_err());
    }
}
