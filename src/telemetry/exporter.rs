//! Sends the telemetry of a run to a collector, or appends it to a file, from a thread of its own.
//!
//! The thread follows the records as a screen of another process does: nothing waits for it, and what it has missed is
//! read from the journal. A collector that does not answer costs the run nothing but one notice.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use nix::fcntl::OFlag;
use ralph_core::event::Notice;
use ralph_state::{
    control::frames::{PollResult, UiEvent},
    http_client,
    store::journal::{JournalError, for_each},
};
use ralph_system::{
    files,
    paths::{RunPaths, replace_file},
};
use ralph_text::{console, with_causes};
use reqwest::{Client, redirect::Policy};
use serde_json::Value;
use tokio::{
    runtime::{Builder, Runtime},
    sync::mpsc::Sender,
};

use super::{
    otlp::{Attributes, metrics, traces},
    spans::SpanFold,
};
use crate::error::{Failure, FailureKind};
use ralph_driver::hub::{Hub, StreamMode};

/// How long spans are collected for one request.
const COLLECTING: Duration = Duration::from_secs(2);
/// Most spans of one request.
const BATCH: usize = 512;
/// Most spans and metrics that wait for a collector; older ones are dropped.
const WAITING: usize = 4_096;
/// Deadline of a request.
const DEADLINE: Duration = Duration::from_secs(5);
/// Pause after a request that failed.
const PAUSE: Duration = Duration::from_secs(30);
/// How long the end of a run waits for its last spans.
const LAST_WORDS: Duration = Duration::from_secs(3);
/// Most bytes of the file with the position.
const POSITION_CAP_BYTES: u64 = 64;

/// A receiver of telemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TelemetryTarget {
    /// The base address of a collector that takes OTLP over HTTP.
    Collector(String),
    /// A file of JSON lines with the spans; the metrics are in a file beside it.
    File(PathBuf),
}

impl TelemetryTarget {
    /// Reads an address, or a file: relative to `directory`, or to the home directory with `~/`.
    pub(crate) fn read(text: &str, directory: &Path) -> TelemetryTarget {
        if text.starts_with("http://") || text.starts_with("https://") {
            return TelemetryTarget::Collector(text.trim_end_matches('/').to_owned());
        }
        let below_home = text.strip_prefix("~/").zip(dirs::home_dir());
        TelemetryTarget::File(below_home.map_or_else(|| directory.join(text), |(rest, home)| home.join(rest)))
    }

    /// Whether it is a file of `project`: every iteration would change the project.
    pub(crate) fn is_in(&self, project: &Path) -> bool {
        matches!(self, TelemetryTarget::File(path) if path.starts_with(project))
    }

    /// Returns the target for a message, without a password.
    fn shown(&self) -> String {
        match self {
            TelemetryTarget::Collector(url) => match url.split_once("://") {
                Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or(rest)),
                None => url.clone(),
            },
            TelemetryTarget::File(path) => path.display().to_string(),
        }
    }
}

/// Spans and metrics that were not sent yet.
#[derive(Debug, Default)]
struct UnsentSpans {
    spans: Vec<Value>,
    metrics: Vec<Value>,
    resource: Attributes,
    /// The number of the latest record that they follow from.
    seq: u64,
    since: Option<Instant>,
}

impl UnsentSpans {
    fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.metrics.is_empty()
    }

    /// Drops the oldest beyond the bound.
    fn bound(&mut self) {
        for kept in [&mut self.spans, &mut self.metrics] {
            let more = kept.len().saturating_sub(WAITING);
            kept.drain(..more);
        }
    }
}

/// The telemetry that the settings of a run ask for.
pub(crate) struct RunTelemetry {
    target: TelemetryTarget,
    /// Takes at most one notice.
    tell: Sender<Notice>,
}

impl RunTelemetry {
    /// Returns the telemetry for the setting `otel`, if it is set.
    ///
    /// # Errors
    /// A [`Failure`] if the file lies in the project.
    pub(crate) fn configured(
        otel: Option<&str>,
        project: &Path,
        tell: Sender<Notice>,
    ) -> Result<Option<RunTelemetry>, Failure> {
        let Some(otel) = otel else { return Ok(None) };
        let target = TelemetryTarget::read(otel, project);
        match target.is_in(project) {
            false => Ok(Some(RunTelemetry { target, tell })),
            true => Err(Failure::new(
                FailureKind::Configuration,
                format!("`otel`: {otel} lies in the project, which would change with every span"),
            )
            .hint("name a file elsewhere, such as \"~/ralph-spans.jsonl\"")),
        }
    }

    /// Follows the records of `hub`. What an earlier process has sent is not sent again.
    pub(crate) fn start(self, hub: &Hub, files: &RunPaths) -> Option<Exporter> {
        let (hub, position) = (hub.clone(), files.telemetry());
        let (ends, over) = mpsc::channel();
        let thread = thread::Builder::new().name("telemetry".to_owned());
        let started = thread.spawn(move || follow(&self, &hub, &position, &ends));
        started.ok().map(|_| Exporter { over })
    }
}

/// The export of a run that goes on.
pub(crate) struct Exporter {
    /// Gets a failure that came after the end of the run. Closed when everything was sent or given up.
    over: mpsc::Receiver<String>,
}

impl Exporter {
    /// Waits for the last spans, for a short time. Prints a failure that the run could not record any more.
    pub(crate) fn finish(self) {
        // A collector that does not answer is left behind.
        if let Ok(why) = self.over.recv_timeout(LAST_WORDS) {
            console::complain(&format!("warning: {why}"));
        }
    }
}

fn follow(telemetry: &RunTelemetry, hub: &Hub, position: &Path, ends: &mpsc::Sender<String>) {
    let sent = files::read_text(position, POSITION_CAP_BYTES).ok();
    let sent: Option<u64> = sent.and_then(|text| text.trim().parse().ok());
    let mut sender = RequestSender::new(&telemetry.target);
    let mut subscription = hub.follow(0, StreamMode::NoOutput);
    let (mut fold, mut waiting) = (SpanFold::default(), UnsentSpans::default());
    let mut failed_until: Option<Instant> = None;
    let mut is_told = false;
    loop {
        let due = waiting.since.map(|since| since + COLLECTING);
        let due = due.max(failed_until).filter(|_| !waiting.is_empty());
        let is_over = match subscription.poll(due) {
            PollResult::Event(UiEvent::Record(record)) => {
                let told = fold.apply(&record);
                if sent.is_none_or(|sent| record.seq > sent) && !(told.spans.is_empty() && told.metrics.is_empty()) {
                    waiting.spans.extend(told.spans);
                    waiting.metrics.extend(told.metrics);
                    waiting.resource = fold.resource();
                    waiting.since.get_or_insert_with(Instant::now);
                    waiting.seq = record.seq;
                    waiting.bound();
                }
                false
            }
            PollResult::Event(_) | PollResult::Woken => false,
            PollResult::Over => true,
        };
        let now = Instant::now();
        let is_due = waiting.since.is_some_and(|since| now >= since + COLLECTING) || waiting.spans.len() >= BATCH;
        // A collector that has just failed is not tried again at the end.
        let may_send = (is_over || is_due) && failed_until.is_none_or(|until| now >= until);
        if may_send && !waiting.is_empty() {
            match sender.send(&waiting) {
                Ok(()) => {
                    _ = replace_file(position, waiting.seq.to_string().as_bytes()); // sent again with the same ids
                    waiting = UnsentSpans::default();
                    failed_until = None;
                }
                Err(why) => {
                    failed_until = Some(Instant::now() + PAUSE);
                    if !is_told {
                        is_told = true;
                        let target = telemetry.target.shown();
                        let why = format!("OpenTelemetry gets nothing of this run at {target}: {why}.");
                        match is_over {
                            // The end of the run may wait no longer; the channel for notices has room.
                            true => _ = ends.send(why),
                            false => _ = telemetry.tell.try_send(Notice::warning("telemetry-not-sent", why)),
                        }
                    }
                }
            }
        }
        if is_over {
            return;
        }
    }
}

/// Sends requests to a target.
struct RequestSender<'a> {
    target: &'a TelemetryTarget,
    /// The collector's client, or the reason why there is none; `None` before the first request.
    client: Option<Result<(Runtime, Client), String>>,
}

impl<'a> RequestSender<'a> {
    fn new(target: &'a TelemetryTarget) -> Self {
        Self { target, client: None }
    }

    fn send(&mut self, waiting: &UnsentSpans) -> Result<(), String> {
        let spans = traces(&waiting.spans, &waiting.resource);
        let measured = metrics(&waiting.metrics, &waiting.resource);
        let requests = [
            ("traces", spans, waiting.spans.is_empty()),
            ("metrics", measured, waiting.metrics.is_empty()),
        ];
        for (signal, body, is_empty) in requests {
            if is_empty {
                continue;
            }
            match self.target {
                TelemetryTarget::File(path) => append(path, signal, &body).map_err(|error| error.to_string())?,
                TelemetryTarget::Collector(url) => self.post(&format!("{url}/v1/{signal}"), &body)?,
            }
        }
        Ok(())
    }

    fn post(&mut self, url: &str, body: &Value) -> Result<(), String> {
        let client = self.client.get_or_insert_with(|| {
            let client = http_client::encrypted_if(url.starts_with("https://"))
                .redirect(Policy::none())
                .timeout(DEADLINE)
                .build();
            let runtime = Builder::new_current_thread().enable_all().build();
            Ok((
                runtime.map_err(|error| with_causes(&error))?,
                client.map_err(|error| with_causes(&error))?,
            ))
        });
        let (runtime, client) = client.as_ref().map_err(Clone::clone)?;
        // The answer says nothing that is needed, and may be endless.
        let answered =
            runtime.block_on(async { client.post(url).json(body).send().await.map(|answer| answer.status()) });
        match answered {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(format!("the collector answers {status}")),
            Err(error) => Err(with_causes(&error.without_url())),
        }
    }
}

/// Appends a request to the file of its signal. Does not follow a link, which an agent could have pointed at any file of
/// the user's.
fn append(path: &Path, signal: &str, body: &Value) -> io::Result<()> {
    let path = match signal {
        "metrics" => metrics_beside(path),
        _ => path.to_owned(),
    };
    let mut options = OpenOptions::new();
    let options = options.append(true).create(true).mode(0o600);
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let mut file = options.custom_flags(flags.bits()).open(path)?;
    file.write_all(format!("{body}\n").as_bytes())
}

/// Returns the file of the metrics: `run.jsonl` has `run.metrics.jsonl` beside it.
fn metrics_beside(path: &Path) -> PathBuf {
    match path.extension() {
        Some(extension) => path.with_extension(format!("metrics.{}", extension.to_string_lossy())),
        None => path.with_extension("metrics"),
    }
}

/// Writes the telemetry of a run from its journal, also of one that goes on, and returns the number of its spans.
///
/// # Errors
/// The reason why the journal cannot be read or the target gets nothing.
pub(crate) fn write_run(files: &RunPaths, target: &TelemetryTarget) -> Result<usize, WriteError> {
    let (mut fold, mut all) = (SpanFold::default(), UnsentSpans::default());
    for_each(&files.journal(), |record| {
        let told = fold.apply(&record);
        all.spans.extend(told.spans);
        all.metrics.extend(told.metrics);
    })?;
    all.resource = fold.resource();
    RequestSender::new(target)
        .send(&all)
        .map_err(|why| WriteError::Target {
            target: target.shown(),
            why,
        })?;
    Ok(all.spans.len())
}

/// Why the telemetry of a run was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{target}: {why}")]
    Target { target: String, why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_no_password_and_a_file_is_below_its_directory() {
        let read = |text: &str| TelemetryTarget::read(text, Path::new("/here"));
        assert_eq!(
            read("https://me:secret@otel.example/x/").shown(),
            "https://otel.example/x"
        );
        assert_eq!(read("http://127.0.0.1:4318/").shown(), "http://127.0.0.1:4318");
        assert_eq!(read("spans.jsonl"), TelemetryTarget::File("/here/spans.jsonl".into()));
        assert!(read("/here/spans").is_in(Path::new("/here")) && !read("/there").is_in(Path::new("/here")));
        assert_eq!(metrics_beside(Path::new("/a/b.jsonl")), Path::new("/a/b.metrics.jsonl"));
        assert_eq!(metrics_beside(Path::new("/a/b")), Path::new("/a/b.metrics"));
    }
}
