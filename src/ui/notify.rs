//! Notifies the user: as the settings say, or once as a test.

use std::{convert::Infallible, path::Path, sync::Arc, thread, time::Duration};

use ralph_core::{event::Record, run::RunView};
use ralph_system::proc::{
    Supervisor,
    helper::{Helper, HelperError, HelperOutput},
};
use ralph_ui::tui::{NotifyChannel, Reason, reason};
use tokio::sync::mpsc;

use crate::config::Notify;

/// Time limit of a notification command.
const DEADLINE: Duration = Duration::from_secs(60);
/// Bytes kept of what a command writes that is run as a test.
const OUTPUT_CAP_BYTES: usize = 4096;

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
    let (project, keys, supervisor) = (project.to_owned(), keys.to_vec(), supervisor.clone());
    let page = page.map(str::to_owned);
    NotifyChannel::Call(Arc::new(move |reason| {
        let shell = supervisor.users_command(&command, &project, &keys);
        let shell = told(shell, &reason, page.as_deref()).output_cap(0);
        let running = running.clone();
        // The command has its own thread, so that nothing waits for it. A failure to start it is ignored: nothing
        // depends on it.
        _ = thread::Builder::new().name("notice".to_owned()).spawn(move || {
            _ = shell.run();
            drop(running);
        });
    }))
}

/// Tells a notification command its subject.
fn told(shell: Helper, reason: &Reason, page: Option<&str>) -> Helper {
    let shell = shell.env("RALPH_REASON", &reason.text).deadline(DEADLINE);
    match page {
        Some(page) => shell.env("RALPH_URL", format!("{}/{}", page.trim_end_matches('/'), reason.route)),
        None => shell,
    }
}

/// Runs a notification command once, and returns how it ended and the end of what it wrote.
///
/// # Errors
/// [`HelperError`] if it cannot be run, or does not end in time.
pub(crate) fn run_once(
    command: &str,
    project: &Path,
    keys: &[String],
    page: Option<&str>,
    supervisor: &Supervisor,
    reason: &Reason,
) -> Result<HelperOutput, HelperError> {
    let shell = supervisor.users_command(command, project, keys);
    told(shell, reason, page).output_cap(OUTPUT_CAP_BYTES).run()
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
