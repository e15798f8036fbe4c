//! `ralph status --watch`: shows the state of the run at every change, until it is over.
//!
//! Without a run, it waits for one: it may be started before the loop, and it survives a ralph that is killed and
//! started again.

use std::{io, pin::pin, time::Duration};

use futures_util::StreamExt;
use ralph_core::{
    event::{Record, RunId},
    run::{OpenAsk, RunView},
};
use ralph_state::{
    control::{ControlClient, ControlError, RunStatus},
    http_client::{SentEvent, events},
    store::{journal::read_view, lock},
};
use ralph_system::{os::now_ms, paths::ProjectPaths};
use ralph_text::{
    console::{self, complain, print, print_json},
    one_line,
};
use ralph_ui::report::OutputStyle;
use reqwest::StatusCode;
use serde::Serialize;
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use unicode_width::UnicodeWidthChar;

use ralph_driver::whole_status;

use crate::{
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{args::Args, run::place, status::in_words};

/// Interval between checks for a run while none works.
const LOOK: Duration = Duration::from_millis(300);
/// Interval at which a countdown is redrawn.
const TICK: Duration = Duration::from_secs(1);
/// Time without data after which a server is considered dead. It sends a heartbeat every ten seconds.
const SILENCE: Duration = Duration::from_secs(30);

/// Why following one connection ended.
enum WatchEnd {
    /// The run is over, with this exit code.
    Over(u8),
    /// The ralph of the run has vanished, or is about to.
    Lost,
}

/// The last message about a run that cannot be followed.
#[derive(PartialEq)]
enum WatchMessage {
    Nothing,
    Waits,
    Silent,
}

/// Shows the state of the run until it is over, and returns its exit code.
pub(super) fn watch(args: &Args, json: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::of(FailureKind::Failed, &error))?;
    let mut shown = StatusDisplay::new(json);
    runtime.block_on(until_over(&paths, &mut shown))
}

/// Follows runs until one is over, and returns its exit code.
async fn until_over(paths: &ProjectPaths, shown: &mut StatusDisplay) -> Result<u8, Failure> {
    let mut said = WatchMessage::Nothing;
    let mut run = None;
    loop {
        match follow(paths, shown, &mut run).await {
            Ok(WatchEnd::Over(exit)) => return Ok(exit),
            Ok(WatchEnd::Lost) => said = WatchMessage::Nothing,
            Err(ControlError::NotRunning) => {}
            Err(ControlError::NoAnswer { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                if said != WatchMessage::Silent {
                    complain("the running ralph does not answer: waiting for it (Ctrl-C leaves)");
                    said = WatchMessage::Silent;
                }
            }
            // The loop has ended, and its process exits in a moment.
            Err(ControlError::Refused { status, .. }) if status == StatusCode::CONFLICT => {
                run = run.or(at_work(paths).await);
            }
            Err(error) => return Err(error.into()),
        }
        // A ralph that ends records how before it exits.
        let is_held = lock::is_held(paths);
        if let Some(exit) = run.as_ref().and_then(|run| shown.end(paths, run)) {
            return Ok(exit);
        }
        if !is_held && (run.is_some() || said != WatchMessage::Waits) {
            complain(match run.take() {
                Some(_) => {
                    "the run was interrupted; `ralph continue` resumes it, and this command then continues (Ctrl-C leaves)"
                }
                None => "no run is active in this project: waiting for one to start (Ctrl-C leaves)",
            });
            (said, shown.lines) = (WatchMessage::Waits, 0);
        }
        sleep(LOOK).await;
    }
}

/// The run that works in the project.
async fn at_work(paths: &ProjectPaths) -> Option<RunId> {
    let paths = paths.clone();
    // Finding the holder of the lock may block, which a thread with a runtime must not.
    let holder = spawn_blocking(move || lock::holder(&paths)).await.ok().flatten();
    holder.and_then(|holder| holder.run)
}

/// Follows the run that works in the project, and stores its id in `run`.
async fn follow(
    paths: &ProjectPaths,
    shown: &mut StatusDisplay,
    run: &mut Option<RunId>,
) -> Result<WatchEnd, ControlError> {
    let client = ControlClient::for_socket(&paths.socket())?;
    let response = client.open("/events").await?;
    let mut events = pin!(events(response.bytes_stream()));
    let mut watched = None;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let sent = tokio::select! {
            sent = timeout(SILENCE, events.next()) => sent,
            _ = ticks.tick(), if shown.is_terminal => {
                if let Some(watched) = &mut watched {
                    shown.show(watched);
                }
                continue;
            }
        };
        let Ok(Some(Ok(sent))) = sent else {
            return Ok(WatchEnd::Lost);
        };
        if sent.event == "over" {
            let exit = serde_json::from_str::<serde_json::Value>(&sent.data).ok();
            let exit = exit.and_then(|over| u8::try_from(over["exitCode"].as_u64()?).ok());
            return Ok(exit.map_or(WatchEnd::Lost, WatchEnd::Over));
        }
        if take(&mut watched, &sent)
            && let Some(watched) = &mut watched
        {
            *run = Some(watched.run.clone());
            shown.show(watched);
            // The process stays for as long as a screen shows the end.
            if let Some(reason) = watched.view.as_ref().and_then(|view| view.stop_reason()) {
                return Ok(WatchEnd::Over(reason.exit_code()));
            }
        }
    }
}

/// Applies an event to the status and its view. Returns whether there is something to show.
///
/// Parsed from bytes, as everywhere else: parsing from text would instantiate the same code a second time.
fn take(watched: &mut Option<RunStatus>, sent: &SentEvent) -> bool {
    match (sent.event.as_str(), watched) {
        ("snapshot", watched) => {
            *watched = serde_json::from_slice(sent.data.as_bytes()).ok();
            watched.is_some()
        }
        ("heartbeat", _) | (_, None) => false,
        (_, Some(status)) => {
            let (Ok(record), Some(mut view)) = (
                serde_json::from_slice::<Record>(sent.data.as_bytes()),
                status.view.take(),
            ) else {
                return false;
            };
            view.apply(&record);
            let listen = status.listen.take();
            *status = whole_status(*view, status.pid, None);
            status.listen = listen;
            true
        }
    }
}

/// The last output, and how it was shown.
struct StatusDisplay {
    json: bool,
    is_terminal: bool,
    columns: Option<u16>,
    last: String,
    /// Lines on the terminal that the next output replaces.
    lines: usize,
}

impl StatusDisplay {
    fn new(json: bool) -> Self {
        Self {
            json,
            is_terminal: console::is_terminal() && !json,
            columns: Presentation::for_stdout(OutputFormat::Text).style.columns,
            last: String::new(),
            lines: 0,
        }
    }

    /// Shows how `run` ended, and returns its exit code; `None` if its journal has no end.
    fn end(&mut self, paths: &ProjectPaths, run: &RunId) -> Option<u8> {
        let view = read_view(paths, run).ok()?;
        let exit = view.stop_reason()?.exit_code();
        self.show(&mut whole_status(view, 0, None));
        Some(exit)
    }

    fn show(&mut self, status: &mut RunStatus) {
        let Some(view) = status.view.take() else { return };
        let text = match (self.json, self.is_terminal) {
            (true, _) => json_line(status, &view),
            (false, true) => in_words(status, &view, now_ms(), OutputStyle::PLAIN),
            (false, false) => line(status, &view),
        };
        status.view = Some(view);
        if text == self.last {
            return;
        }
        match (self.json, self.is_terminal) {
            (true, _) => print_json(&format!("{text}\n")),
            (false, false) => print(&format!("{text}\n")),
            (false, true) => {
                let fitting: String = text.lines().map(|line| cut(line, self.columns) + "\n").collect();
                console::print_over(&fitting, self.lines);
                self.lines = fitting.lines().count();
            }
        }
        self.last = text;
    }
}

/// The status without its view, which grows with the run, and with the open questions.
fn json_line(status: &RunStatus, view: &RunView) -> String {
    #[derive(Serialize)]
    struct StatusLine<'v> {
        #[serde(flatten)]
        status: &'v RunStatus,
        asks: Vec<OpenAsk<'v>>,
    }
    let asks = view.open_asks();
    serde_json::to_string(&StatusLine { status, asks }).expect("a status has no failing serialisers")
}

/// The state of the run in one line.
fn line(status: &RunStatus, view: &RunView) -> String {
    let RunStatus {
        phase, task, totals, ..
    } = status;
    let all = u64::from(totals.tasks_done) + u64::from(totals.tasks_open);
    let mut parts = vec![phase.clone(), format!("{} of {all} tasks", totals.tasks_done)];
    parts.extend(task.clone());
    let asks = view.permissions.pending.len();
    if asks > 0 {
        parts.push(format!("asks: `ralph asks` ({asks})"));
    }
    one_line(&parts.join(" · "))
}

/// The beginning of a line that fits into the columns: a wrapped line would count as two.
fn cut(line: &str, columns: Option<u16>) -> String {
    let mut left = columns.map_or(usize::MAX, usize::from);
    let fits = |character: &char| {
        let width = character.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    line.chars().take_while(fits).collect()
}
