//! Shows a run from its own thread: on a screen, or as text.
//!
//! A screen that fails is replaced by text: a defect in it must not cost the run.

use std::{
    convert::Infallible,
    io,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    thread,
    time::Duration,
};

use ralph_core::{
    event::{Record, RunId},
    run::RunView,
};
use ralph_driver::{
    LoopHandle, OpenRun,
    hub::{Hub, LagPolicy, Subscription},
};
use ralph_git::Differ;
use ralph_review::{changed_files, commit_span, commits};
use ralph_state::{control::frames::UiEvent, store::signal_log::Unfold};
use ralph_system::{
    diagnostics::inherited,
    paths::{ProjectPaths, RunPaths},
    proc::Supervisor,
};
use ralph_text::{AllowedEscapes, console, with_causes};
use ralph_ui::tui::{
    self, CommitSource, DiffRequest, NotifyChannel, Overlay, Player, Recordings, ScreenError, Setup, Unfolder,
    theme::Theme,
};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use crate::{
    config::{Config, Notify},
    ui::{
        headless::{self, OutputFormat},
        live::{LiveControl, LiveSource},
        notify::{CommandNotifier, notifier},
        presentation::{Presentation, ScreenOptions, looks_file},
        restorer::restorer,
        terminal::{self, surroundings},
        unfolded::{prompt_text, task_text, unfolded},
    },
};

/// Time limit for writing the last lines.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time limit for the user's last notification command at the end.
const NOTICE_PATIENCE: Duration = Duration::from_secs(3);

/// The process that shows a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenHost {
    /// This process.
    Here,
    /// Other processes, which attach to this one.
    Elsewhere,
}

/// A user interface of a run, not shown yet.
pub(crate) struct FrontEnd {
    presentation: Presentation,
    host: ScreenHost,
    paths: ProjectPaths,
    files: RunPaths,
    run: RunId,
    /// The first record that is not in the journal yet.
    next_seq: u64,
    recovered: bool,
    terminals: Vec<String>,
    notify: Notify,
    /// URL of the page that shows the run.
    page: Option<String>,
    /// Environment variables with API keys, which the user's command does not get.
    keys: Vec<String>,
    include: Vec<String>,
    supervisor: Supervisor,
}

/// A failure to replay a finished run.
#[derive(Debug, Error)]
pub(crate) enum ReplayError {
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    Screen(#[from] ScreenError),
}

/// A user interface that is running.
pub(crate) struct RunningFrontEnd {
    left: oneshot::Receiver<()>,
    /// Closed when the user interface has ended and no notification command runs any more.
    notices: mpsc::Receiver<Infallible>,
}

impl RunningFrontEnd {
    /// Waits, with a time limit, until the user interface has shown the end of the run and its last notification is
    /// sent.
    pub(crate) async fn wait(mut self) {
        // A user interface that blocks on a stopped terminal must not keep the process alive.
        if tokio::time::timeout(PATIENCE, self.left).await.is_ok() {
            // The notification about the end of the run gets time to finish.
            _ = tokio::time::timeout(NOTICE_PATIENCE, self.notices.recv()).await;
        }
    }
}

impl FrontEnd {
    /// `terminals` are the adapters whose agents draw their own terminal.
    pub(crate) fn new(
        open: &OpenRun,
        presentation: Presentation,
        host: ScreenHost,
        terminals: Vec<String>,
        config: &Config,
        keys: Vec<String>,
        supervisor: &Supervisor,
    ) -> Self {
        Self {
            presentation,
            host,
            paths: open.paths.clone(),
            files: open.files.clone(),
            run: open.run.clone(),
            next_seq: open.next_seq,
            recovered: open.recovered,
            terminals,
            notify: config.notify.clone(),
            page: config.page.clone(),
            keys,
            include: config.checkpoint.include.clone(),
            supervisor: supervisor.clone(),
        }
    }

    /// Sets the URL under which the run is served over TCP, unless a page is configured.
    pub(crate) fn served_at(mut self, url: Option<String>) -> Self {
        self.page = self.page.or(url);
        self
    }

    /// Starts to show the events of `hub`.
    pub(crate) fn start(self, hub: &Hub, handle: LoopHandle) -> RunningFrontEnd {
        let screen = self.presentation.screen.is_some();
        // Text of a new run includes the first records of its journal; the past of a resumed run was printed earlier. A
        // screen reads the past before it draws.
        let first = if screen || self.recovered { self.next_seq } else { 0 };
        let when_slow = match self.host {
            ScreenHost::Here => LagPolicy::HoldAgentBack,
            ScreenHost::Elsewhere => LagPolicy::Skip,
        };
        let events = hub.subscribe(first, when_slow);
        let (done, left) = oneshot::channel();
        let (running, notices) = mpsc::channel(1);
        let thread = thread::Builder::new().name("ui".to_owned()).spawn(inherited(move || {
            self.show(events, handle, running);
            _ = done.send(()); // the run may no longer wait for it
        }));
        // Without a thread nothing is shown, but the run can continue.
        drop(thread);
        RunningFrontEnd { left, notices }
    }

    fn show(self, mut events: Subscription, handle: LoopHandle, running: mpsc::Sender<Infallible>) {
        let Presentation { format, screen, .. } = self.presentation;
        if self.host == ScreenHost::Elsewhere {
            return self.tell(events, running);
        }
        if let Some(options) = screen {
            let leaving = handle.clone();
            let setup = self.setup(options, handle, running.clone());
            let shown = panic::catch_unwind(AssertUnwindSafe(|| tui::run(setup, &mut LiveSource(&mut events))));
            tui::terminal::give_back();
            match shown {
                Ok(Ok(_)) => return leaving.leave(),
                Ok(Err(error)) => console::warn(&format!("no screen: {}", with_causes(&error))),
                Err(_) => {
                    tui::terminal::take_panic_messages()
                        .iter()
                        .for_each(|what| console::complain(what));
                    console::warn("the screen broke; the run continues as text");
                }
            }
            leaving.unwatch();
            return self.show_text(events, OutputFormat::Text, running);
        }
        self.show_text(events, format, running);
    }

    /// Shows nothing and only runs the user's notification command. Screens do not run it: several may be attached, or
    /// none.
    fn tell(&self, mut events: Subscription, running: mpsc::Sender<Infallible>) {
        let Some(mut command) = CommandNotifier::new(self.notifier(running)) else {
            return;
        };
        events.past(&mut |record| command.apply_past(record));
        for event in events {
            if let UiEvent::Record(record) = event {
                command.notify(&record);
            }
        }
    }

    fn show_text(&self, mut events: Subscription, format: OutputFormat, running: mpsc::Sender<Infallible>) {
        let style = self.presentation.style;
        let form = match format {
            OutputFormat::Text => style.form(),
            OutputFormat::Jsonl => AllowedEscapes::Json,
        };
        let mut out = console::stdout(form);
        let mut command = CommandNotifier::new(self.notifier(running));
        let mut past = RunView::default();
        events.past(&mut |record| {
            past.apply(record);
            if let Some(command) = &mut command {
                command.apply_past(record);
            }
        });
        let events = events.inspect(|event| {
            if let (UiEvent::Record(record), Some(command)) = (event, &mut command) {
                command.notify(record);
            }
        });
        headless::show(past, events, format, style, terminal::pace(), &mut out);
    }

    fn notifier(&self, running: mpsc::Sender<Infallible>) -> NotifyChannel {
        notifier(
            &self.notify,
            self.paths.project(),
            &self.keys,
            self.page.as_deref(),
            &self.supervisor,
            running,
        )
    }

    fn setup(&self, options: ScreenOptions, handle: LoopHandle, running: mpsc::Sender<Infallible>) -> Setup {
        let files = self.files.clone();
        Setup {
            reach: Some(Arc::new(LiveControl(handle))),
            theme: theme(options),
            mouse: options.mouse,
            terminals: self.terminals.clone(),
            differ: differ(Differ::new(
                &self.paths,
                self.files.scratch().join("screen"),
                self.include.clone(),
                &self.supervisor,
            )),
            recordings: Arc::new(move |iteration| files.recording(iteration)),
            unfolder: unfolder(&self.paths, &self.run),
            commits: Some(commits_of(&self.paths, &self.supervisor)),
            restorer: Some(restorer(&self.paths, &self.run, self.include.clone(), &self.supervisor)),
            project: Some(self.paths.project().to_owned()),
            continues: false,
            remembered: Some(self.paths.state().join("messages")),
            looks: Some(looks_file(&self.paths)),
            notifier: self.notifier(running),
            shows_progress: terminal::shows_progress(),
        }
    }
}

/// Replays a finished run on the screen until the user leaves.
///
/// # Errors
/// [`ReplayError`] if the screen cannot be opened or the temporary directory not created.
pub(crate) fn replay(
    paths: &ProjectPaths,
    run: &RunId,
    records: Vec<Record>,
    include: Vec<String>,
    options: ScreenOptions,
    speed: f64,
    supervisor: &Supervisor,
) -> Result<(), ReplayError> {
    let files = paths.run(run);
    let recordings: Recordings = Arc::new(move |iteration| files.recording(iteration));
    let scratch = tempfile::tempdir().map_err(ReplayError::Scratch)?;
    let setup = Setup {
        reach: None,
        theme: theme(options),
        mouse: options.mouse,
        terminals: Vec::new(),
        differ: differ(Differ::new(
            paths,
            scratch.path().to_owned(),
            include.clone(),
            supervisor,
        )),
        recordings: Arc::clone(&recordings),
        unfolder: unfolder(paths, run),
        commits: Some(commits_of(paths, supervisor)),
        restorer: Some(restorer(paths, run, include, supervisor)),
        project: None,
        continues: false,
        remembered: None,
        looks: Some(looks_file(paths)),
        notifier: NotifyChannel::None,
        shows_progress: false,
    };
    let _terminal = tui::terminal::TerminalGuard;
    tui::run(setup, &mut Player::new(records, recordings, speed))?;
    Ok(())
}

pub(crate) fn theme(options: ScreenOptions) -> Theme {
    Theme::suiting(&surroundings(), options.palette, options.ascii)
}

pub(super) fn unfolder(paths: &ProjectPaths, run: &RunId) -> Unfolder {
    let files = paths.run(run);
    let project = paths.project().to_owned();
    Arc::new(move |overlay, columns| match overlay {
        Overlay::Folded { iteration, what } => {
            let path = files.signals(*iteration);
            let text = unfolded(&path, *what, &project, columns);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            text.ok_or_else(|| match what {
                Unfold::Last => format!("Iteration {iteration} has no folded output."),
                Unfold::All => "No output of the agent yet.".to_owned(),
            })
        }
        Overlay::Prompt { iteration } => {
            let path = files.prompt(*iteration);
            prompt_text(&path).map_err(|error| format!("{}: {}", path.display(), with_causes(&error)))
        }
        Overlay::Output { task } => {
            let path = files.background(*task);
            let text = task_text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            text.ok_or_else(|| format!("Task {task} has no output."))
        }
    })
}

pub(super) fn commits_of(paths: &ProjectPaths, supervisor: &Supervisor) -> CommitSource {
    let (paths, supervisor) = (paths.clone(), supervisor.clone());
    Arc::new(move |view| {
        let rows = &view.iterations.rows;
        let spans: Vec<_> = rows.iter().map(commit_span).collect();
        let found = commits(&paths, &spans, &supervisor);
        let files = changed_files(&paths, view, &supervisor);
        (rows.iter().map(|row| row.number).zip(found).collect(), files)
    })
}

pub(super) fn differ(differ: Differ) -> tui::PatchSource {
    Arc::new(move |request: &DiffRequest| {
        let patch = differ.patch(&request.before, request.after.as_ref(), &request.plan);
        patch.map_err(|error| with_causes(&error))
    })
}
