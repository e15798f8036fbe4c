//! Shows a run from a thread of its own: on a screen, or as text.
//!
//! A screen that breaks becomes text: a mistake in it must not cost the run.

use std::{
    convert::Infallible,
    env,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};

use crate::{
    app::{Place, Presentation, ScreenWish},
    config::{Config, Notify},
    console,
    driver::{Handle, Hub, OpenRun, Subscription, WhenSlow},
    error::{Failure, FailureKind},
    event::{Record, RunId},
    git::Repository,
    proc::helper::Helper,
    store::paths::{ProjectPaths, RunPaths, create_private_dir},
    text::{Form, with_causes},
    ui::{
        headless::{self, Format},
        tui::{
            self, DiffRequest, Differ, Notifier, Player, Recordings, Setup,
            theme::{Surroundings, Theme},
        },
    },
};

/// How long the last lines may take to be written.
const FACE_PATIENCE: Duration = Duration::from_secs(2);

/// How long a command may take that tells the user something.
const NOTICE_DEADLINE: Duration = Duration::from_secs(60);
/// How long ralph waits for the last of them before it leaves.
const NOTICE_PATIENCE: Duration = Duration::from_secs(3);

/// A face that is not shown yet.
pub(crate) struct Faces {
    presentation: Presentation,
    paths: ProjectPaths,
    files: RunPaths,
    /// The first record that is not in the journal yet.
    next_seq: u64,
    recovered: bool,
    transcript: bool,
    notify: Notify,
    include: Vec<String>,
}

/// A face that is being shown.
pub(crate) struct Shown {
    left: oneshot::Receiver<()>,
    /// Closed when the face is gone and no command of the user's runs any more.
    notices: mpsc::Receiver<Infallible>,
}

impl Shown {
    /// Waits until the face is gone: the loop stays as long as a screen has something to show.
    pub(crate) async fn wait(mut self) {
        // A face that is stuck in a terminal that was stopped must not keep the process.
        if tokio::time::timeout(FACE_PATIENCE, self.left).await.is_ok() {
            // What tells that the run is over is not cut off by its end.
            _ = tokio::time::timeout(NOTICE_PATIENCE, self.notices.recv()).await;
        }
    }
}

impl Faces {
    pub(crate) fn of(
        place: &Place,
        open: &OpenRun,
        presentation: Presentation,
        transcript: bool,
        config: &Config,
    ) -> Self {
        Self {
            presentation,
            paths: place.paths.clone(),
            files: open.files.clone(),
            next_seq: open.next_seq,
            recovered: open.recovered,
            transcript,
            notify: config.notify.clone(),
            include: config.checkpoint.include.clone(),
        }
    }

    /// Starts to show what `hub` tells.
    pub(crate) fn start(self, hub: &Hub, handle: Handle) -> Shown {
        let screen = self.presentation.screen.is_some();
        // What a new run's journal begins with belongs to what is printed; the past of an old one was printed then. A screen
        // takes the past before it shows anything.
        let first = if screen || self.recovered { self.next_seq } else { 0 };
        let events = hub.subscribe(first, WhenSlow::HoldAgentBack);
        let (done, left) = oneshot::channel();
        let (running, notices) = mpsc::channel(1);
        let face = thread::Builder::new().name("face".to_owned()).spawn(move || {
            self.show(events, handle, running);
            _ = done.send(()); // the run may have given up on this face
        });
        // Without a thread nobody sees the run; it can go on.
        drop(face);
        Shown { left, notices }
    }

    fn show(self, mut events: Subscription, handle: Handle, running: mpsc::Sender<Infallible>) {
        let Presentation { format, style, screen } = self.presentation;
        if let Some(wish) = screen {
            let leaving = handle.clone();
            let setup = self.setup(wish, handle, running);
            let shown = panic::catch_unwind(AssertUnwindSafe(|| tui::run(setup, &mut tui::Live(&mut events))));
            tui::terminal::give_back();
            match shown {
                Ok(Ok(())) => return leaving.leave(),
                Ok(Err(error)) => console::warn(&format!("no screen: {}", with_causes(&error))),
                Err(_) => {
                    tui::terminal::take_held()
                        .iter()
                        .for_each(|what| console::complain(what));
                    console::warn("the screen broke; the run goes on as text");
                }
            }
            leaving.unwatch();
            headless::show(events, Format::Text, style, &mut console::stdout(style.form()));
            return;
        }
        let form = match format {
            Format::Text => style.form(),
            Format::Jsonl => Form::Json,
        };
        let mut out = console::stdout(form);
        headless::show(events, format, style, &mut out);
    }

    fn setup(&self, wish: ScreenWish, handle: Handle, running: mpsc::Sender<Infallible>) -> Setup {
        let files = self.files.clone();
        Setup {
            handle: Some(handle),
            theme: Theme::suiting(&surroundings(), wish.palette, wish.ascii),
            mouse: wish.mouse,
            transcript: self.transcript,
            differ: differ(&self.paths, self.files.scratch().join("screen"), self.include.clone()),
            recordings: Arc::new(move |iteration| files.recording(iteration)),
            remembered: Some(self.paths.state().join("messages")),
            notifier: notifier(&self.notify, &self.paths, running),
        }
    }
}

/// Plays a run of the past on the screen, until the user leaves.
///
/// # Errors
/// A [`Failure`] if there is no screen to play it on.
pub(crate) fn replay(
    paths: &ProjectPaths,
    run: &RunId,
    records: Vec<Record>,
    wish: ScreenWish,
    speed: f64,
) -> Result<(), Failure> {
    let files = paths.run(run);
    let recordings: Recordings = Arc::new(move |iteration| files.recording(iteration));
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let setup = Setup {
        handle: None,
        theme: Theme::suiting(&surroundings(), wish.palette, wish.ascii),
        mouse: wish.mouse,
        transcript: true,
        differ: differ(paths, scratch.path().to_owned(), Vec::new()),
        recordings: Arc::clone(&recordings),
        remembered: None,
        notifier: Notifier::None,
    };
    let _terminal = tui::terminal::Guard;
    tui::run(setup, &mut Player::new(records, recordings, speed))
        .map_err(|error| Failure::new(FailureKind::Failed, with_causes(&error)))
}

/// Tells by what the user wishes; `running` is held as long as a command of theirs runs.
fn notifier(notify: &Notify, paths: &ProjectPaths, running: mpsc::Sender<Infallible>) -> Notifier {
    let command = match notify {
        Notify::None => return Notifier::None,
        Notify::Bell => return Notifier::Bell,
        Notify::Osc9 => return Notifier::Osc9,
        Notify::Command(command) => command.clone(),
    };
    let project = paths.project().to_owned();
    Notifier::Call(Arc::new(move |reason| {
        let shell = Helper::new("sh")
            .args(["-c", &command])
            .env("RALPH_REASON", reason)
            .current_dir(&project)
            .output_cap(0)
            .deadline(NOTICE_DEADLINE);
        let running = running.clone();
        // Waited for beside everything else; one that cannot be started tells nobody, and nothing depends on it.
        _ = thread::Builder::new().name("notice".to_owned()).spawn(move || {
            _ = shell.run();
            drop(running);
        });
    }))
}

/// What the environment says of the terminal.
pub(crate) fn surroundings() -> Surroundings {
    let text = |name: &str| env::var(name).unwrap_or_default();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(text);
    Surroundings {
        no_color: !text("NO_COLOR").is_empty(),
        term: text("TERM"),
        colorterm: text("COLORTERM"),
        colorfgbg: text("COLORFGBG"),
        locale: locale.into_iter().find(|value| !value.is_empty()).unwrap_or_default(),
    }
}

/// Makes patches with git, in an index of its own: the loop's is never waited for.
///
/// `include` is the setting, so that what a checkpoint has beyond what git would is there on both sides.
pub(crate) fn differ(paths: &ProjectPaths, scratch: PathBuf, include: Vec<String>) -> Differ {
    let states = paths.states();
    let project = paths.project().to_owned();
    let repository: Mutex<Option<Repository>> = Mutex::new(None);
    Arc::new(move |request: &DiffRequest| {
        let mut repository = repository.lock().unwrap_or_else(PoisonError::into_inner);
        if repository.is_none() {
            create_private_dir(&scratch).map_err(|error| with_causes(&error))?;
            let (found, _) = Repository::discover(&project, &scratch).map_err(|error| with_causes(&error))?;
            *repository = Some(found.including(include.clone()).sparing(states.clone()));
        }
        let patch = repository
            .as_ref()
            .map(|found| found.patch(&request.before, request.after.as_ref()));
        patch
            .expect("a repository was found")
            .map_err(|error| with_causes(&error))
    })
}
