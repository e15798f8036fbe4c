//! Runs the user's notification command.

use std::{convert::Infallible, path::Path, sync::Arc, thread, time::Duration};

use ralph_core::{event::Record, run::RunView};
use ralph_system::proc::Supervisor;
use ralph_ui::tui::{NotifyChannel, Reason, reason};
use tokio::sync::mpsc;

use crate::config::Notify;

/// Time limit of a notification command.
const DEADLINE: Duration = Duration::from_secs(60);

/// Builds the notifier that the user configured. A running command holds a clone of `running`, gets none of the
/// variables in `keys`, and gets a link to its subject if there is a `page`.
pub(super) fn notifier(
    notify: &Notify,
    project: &Path,
    keys: &[String],
    page: Option<&str>,
    supervisor: &Supervisor,
    running: mpsc::Sender<Infallible>,
) -> NotifyChannel {
    let command = match notify {
        Notify::None => return NotifyChannel::None,
        Notify::Bell => return NotifyChannel::Bell,
        Notify::Osc9 => return NotifyChannel::Osc9,
        Notify::Command(command) => command.clone(),
    };
    let page = page.map(|page| format!("{}/", page.trim_end_matches('/')));
    let (project, keys, supervisor) = (project.to_owned(), keys.to_vec(), supervisor.clone());
    NotifyChannel::Call(Arc::new(move |reason| {
        let shell = supervisor
            .users_command(&command, &project, &keys)
            .env("RALPH_REASON", reason.text)
            .output_cap(0)
            .deadline(DEADLINE);
        let shell = match &page {
            Some(page) => shell.env("RALPH_URL", format!("{page}{}", reason.route)),
            None => shell,
        };
        let running = running.clone();
        // The command has its own thread, so that nothing waits for it. A failure to start it is ignored: nothing
        // depends on it.
        _ = thread::Builder::new().name("notice".to_owned()).spawn(move || {
            _ = shell.run();
            drop(running);
        });
    }))
}

/// Runs the notification command for a run without a screen of its own. The other notifiers are terminal sequences,
/// which belong to a screen.
pub(super) struct CommandNotifier {
    call: Arc<dyn Fn(Reason) + Send + Sync>,
    view: RunView,
}

impl CommandNotifier {
    /// `None` if `notifier` is not a command.
    pub(super) fn new(notifier: NotifyChannel) -> Option<Self> {
        let NotifyChannel::Call(call) = notifier else {
            return None;
        };
        let view = RunView::default();
        Some(Self { call, view })
    }

    /// Applies a record of the past without a notification.
    pub(super) fn apply_past(&mut self, record: &Record) {
        self.view.apply(record);
    }

    /// Applies `record` and runs the command if the record gives a reason for it.
    pub(super) fn notify(&mut self, record: &Record) {
        self.view.apply(record);
        if let Some(reason) = reason(&record.event, &self.view) {
            (self.call)(reason);
        }
    }
}
