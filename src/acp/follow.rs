//! Starts the runs of an editor's session, and passes on what their loops tell. Each run has a thread.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use ralph_core::event::{Record, RunId, StopReason};
use ralph_state::{
    control::{
        self, Address, ControlReply, ControlRequest,
        frames::{Frame, UiEvent},
        stream::{FrameReader, StreamPurpose},
    },
    store::journal::read_view,
};
use ralph_system::{
    paths::ProjectPaths,
    proc::{LoopEnd, Supervisor, UnattendedStart},
};
use tokio::sync::mpsc::UnboundedSender;

/// Time that a run has to begin. Checks before the first iteration may take a while.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time that the process of a loop has to end after the loop has told the end of its run. Until then, the next run of the
/// project might be refused.
const EXIT_PATIENCE: Duration = Duration::from_secs(10);

/// News of a session's run.
#[derive(Debug)]
pub(super) enum RunNews {
    Began,
    /// No run began; the words of the command line say why.
    Refused {
        why: String,
    },
    Record(Arc<Record>),
    /// The loop did not do what it was asked to.
    NotDone {
        why: String,
    },
    Over {
        reason: Option<StopReason>,
    },
}

/// News of the session with this number.
pub(super) type SessionNews = (usize, RunNews);

/// Starts runs with the options that the editor's settings name.
pub(crate) struct RunStarter {
    pub(crate) supervisor: Supervisor,
    /// Options of `ralph` for each run.
    pub(crate) options: Vec<OsString>,
    pub(crate) state_dir: Option<PathBuf>,
}

impl RunStarter {
    /// Starts `ralph WORDS OPTIONS -- PROMPT` in the project on a thread of its own, and passes on its news from the
    /// record `from` on.
    pub(super) fn start(
        self: &Arc<Self>,
        paths: &ProjectPaths,
        line: CommandLine,
        from: u64,
        session: usize,
        news: &UnboundedSender<SessionNews>,
    ) {
        let (starter, paths, news) = (Arc::clone(self), paths.clone(), news.clone());
        let body = move || {
            let tell = |said: RunNews| _ = news.send((session, said)); // the editor may be gone
            match starter.begin(paths.project(), line) {
                Ok((run, end)) => {
                    tell(RunNews::Began);
                    follow(&paths, from, &tell);
                    end.wait(EXIT_PATIENCE);
                    let reason = read_view(&paths, &run)
                        .ok()
                        .and_then(|view| view.stop_reason().cloned());
                    tell(RunNews::Over { reason });
                }
                Err(why) => tell(RunNews::Refused { why }),
            }
        };
        thread::spawn(body);
    }

    fn begin(&self, project: &Path, line: CommandLine) -> Result<(RunId, LoopEnd), String> {
        let words = [Some("--__loop"), line.command, Some("--headless")];
        let mut args: Vec<OsString> = words.into_iter().flatten().map(OsString::from).collect();
        args.extend(self.options.iter().cloned());
        if let Some(directory) = &self.state_dir {
            args.extend([OsString::from("--state-dir"), directory.clone().into_os_string()]);
        }
        if let Some(prompt) = line.prompt {
            args.extend([OsString::from("--"), OsString::from(prompt)]);
        }
        match self.supervisor.start_unattended(project, args, PATIENCE) {
            Ok(UnattendedStart::Ready { id, end }) => Ok((RunId(id), end)),
            Ok(UnattendedStart::Refused { messages }) => Err(messages.trim().to_owned()),
            Err(error) => Err(format!("ralph cannot be started: {error}")),
        }
    }
}

/// The part of a command line that depends on the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The subcommand, if any.
    pub(super) command: Option<&'static str>,
    /// A plan or a task.
    pub(super) prompt: Option<String>,
}

/// Passes on the records of the run until its loop ends.
fn follow(paths: &ProjectPaths, from: u64, tell: &impl Fn(RunNews)) {
    let address = Address::Socket(paths.socket());
    let Ok(mut frames) = FrameReader::open(&address, StreamPurpose::Records, Some(from)) else {
        return;
    };
    loop {
        match frames.next_frame() {
            Ok(Some(Frame::Event(UiEvent::Record(record)))) => tell(RunNews::Record(record)),
            Ok(Some(Frame::End { .. }) | None) | Err(_) => return,
            Ok(Some(Frame::Hello(_) | Frame::Alive | Frame::Event(_))) => {}
        }
    }
}

/// Asks the loop of the project on a thread of its own, and passes on a refusal.
pub(super) fn ask(paths: &ProjectPaths, request: ControlRequest, session: usize, news: &UnboundedSender<SessionNews>) {
    let (socket, news) = (paths.socket(), news.clone());
    thread::spawn(move || {
        let why = match control::ask(&socket, &request) {
            Ok(ControlReply::Refused { why } | ControlReply::Forbidden { why }) => why,
            // A run that has just ended needs no command.
            Ok(_) | Err(control::ControlError::NotRunning) => return,
            Err(error) => ralph_text::with_causes(&error),
        };
        _ = news.send((session, RunNews::NotDone { why })); // the editor may be gone
    });
}
