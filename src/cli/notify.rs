//! `ralph notify`: notifies the user once, as the screen or the loop would.

use std::path::Path;

use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{self, print},
    one_line,
};
use ralph_ui::tui::{NotifyChannel, Reason, looks::Looks, notification_bytes, terminal};

use crate::{
    app,
    config::{self, Notify},
    error::{Failure, FailureKind},
    ui::{looks_file, notify::run_once},
};

use super::{args::Args, run::sources, trust};

/// Lines shown of what a command wrote.
const TAIL_LINES: usize = 5;

pub(super) fn run(args: &Args, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let config = config::load(&sources(args, &place))?.config;
    let project = place.project.file_name().unwrap_or_default().to_string_lossy();
    let reason = Reason {
        text: one_line(&format!("ralph {project}: this is a test")),
        route: String::new(),
    };
    match &config.notify {
        Notify::None => Err(Failure::new(FailureKind::Configuration, "`notify` is \"none\": nothing would tell you")
            .hint("`RALPH_NOTIFY=osc9 ralph notify` tries the notification of the terminal, \"bell\" its bell, any other text is a command")
            .hint("`\"notify\": \"osc9\"` in the settings sets it")),
        Notify::Bell => of_terminal(&NotifyChannel::Bell, "rang the bell of this terminal", &reason, &looks_file(&place.paths)),
        Notify::Osc9 => of_terminal(
            &NotifyChannel::Osc9,
            "sent a notification to this terminal (OSC 9); if none came, the terminal does not show them: set `notify` to \"bell\" or to a command",
            &reason,
            &looks_file(&place.paths),
        ),
        Notify::Command(command) => {
            let keys = app::catalog(&place, &config).keys();
            let page = config.page.as_deref();
            let ended = run_once(command, &place.project, &keys, page, supervisor, &reason);
            let ended = ended.map_err(|error| failed(command, &error.to_string()))?;
            let written = [ended.stdout.bytes, ended.stderr.bytes].concat();
            let written = String::from_utf8_lossy(&written);
            let lines: Vec<&str> = written.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                console::complain(&format!("│ {}", one_line(line)));
            }
            if !ended.status.success() {
                return Err(failed(command, &ended.status.to_string()));
            }
            print(&format!("ran `{}` with RALPH_REASON=\"{}\"\n", one_line(command), reason.text));
            Ok(0)
        }
    }
}

/// Notifies through the terminal, as a screen does.
fn of_terminal(channel: &NotifyChannel, done: &str, reason: &Reason, looks: &Path) -> Result<u8, Failure> {
    if !console::is_terminal() {
        return Err(Failure::new(
            FailureKind::Usage,
            "a terminal shows the notification, and stdout is none",
        )
        .hint("a command in `notify` also works without a terminal"));
    }
    terminal::write_all(&notification_bytes(channel, &reason.text))
        .map_err(|error| Failure::of(FailureKind::Failed, &error))?;
    print(&format!("{done}\n"));
    print("a run notifies you so while its screen is open; a command in `notify` does it always\n");
    if Looks::read(looks).notify == Some(false) {
        console::warn(
            "notifications are off on your screens: `Notifications: on` in the palette (Ctrl-P) turns them on",
        );
    }
    Ok(0)
}

fn failed(command: &str, why: &str) -> Failure {
    Failure::new(FailureKind::Failed, format!("`{}` failed: {why}", one_line(command)))
        .hint("`ralph config` says where `notify` is set")
}
