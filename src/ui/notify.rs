//! Runs the user's command that tells somebody who looks elsewhere about the run.

use std::{convert::Infallible, path::Path, sync::Arc, thread, time::Duration};

use ralph_core::{event::Record, run::RunView};
use ralph_system::proc::{Supervisor, helper::Helper};
use tokio::sync::mpsc;

use crate::{
    config::Notify,
    ui::tui::{Notifier, Reason, reason},
};

/// How long a command may take that tells the user something.
const DEADLINE: Duration = Duration::from_secs(60);

/// Makes the way to tell that the user chose. `running` is held as long as a command of theirs runs, which gets none of the
/// variables in `keys`, and a link to what it is about where there is a `page`.
pub(super) fn notifier(
    notify: &Notify,
    project: &Path,
    keys: &[String],
    page: Option<&str>,
    supervisor: &Supervisor,
    running: mpsc::Sender<Infallible>,
) -> Notifier {
    let command = match notify {
        Notify::None => return Notifier::None,
        Notify::Bell => return Notifier::Bell,
        Notify::Osc9 => return Notifier::Osc9,
        Notify::Command(command) => command.clone(),
    };
    let page = page.map(|page| format!("{}/", page.trim_end_matches('/')));
    let (project, keys, supervisor) = (project.to_owned(), keys.to_vec(), supervisor.clone());
    Notifier::Call(Arc::new(move |reason| {
        let shell = supervisor
            .helper("sh")
            .args(["-c", &command])
            .env("RALPH_REASON", reason.text)
            .current_dir(&project)
            .output_cap(0)
            .deadline(DEADLINE);
        let shell = match &page {
            Some(page) => shell.env("RALPH_URL", format!("{page}{}", reason.route)),
            None => shell,
        };
        let shell = keys.iter().fold(shell, Helper::env_remove);
        let running = running.clone();
        // Waited for beside everything else; one that cannot be started tells nobody, and nothing depends on it.
        _ = thread::Builder::new().name("notice".to_owned()).spawn(move || {
            _ = shell.run();
            drop(running);
        });
    }))
}

/// Runs the user's command for a run that is shown as text. The other ways to tell are a screen's own: they are sequences of
/// its terminal.
pub(super) struct Teller {
    call: Arc<dyn Fn(Reason) + Send + Sync>,
    view: RunView,
}

impl Teller {
    /// None where there is no command.
    pub(super) fn new(notifier: Notifier) -> Option<Self> {
        let Notifier::Call(call) = notifier else {
            return None;
        };
        let view = RunView::default();
        Some(Self { call, view })
    }

    /// Takes in a record of the past, which is told no more.
    pub(super) fn remember(&mut self, record: &Record) {
        self.view.apply(record);
    }

    /// Tells of `record`, if it is something that somebody should know.
    pub(super) fn tell(&mut self, record: &Record) {
        self.view.apply(record);
        if let Some(reason) = reason(&record.event, &self.view) {
            (self.call)(reason);
        }
    }
}
