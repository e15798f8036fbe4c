//! A session of the adapter, without the loop around it.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use ralph_agent::{
    AgentAdapter, Display, Session, SessionRequest,
    catalog::{AdapterSources, Catalog},
    opencode::{ServerAdapter, ServerOptions},
};
use ralph_core::event::{AgentSignal, Problem, RunId, SessionId, ToolKinds};
use ralph_policy::settings::{Node, SettingOrigin};
use ralph_system::proc::{Size, Supervisor};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::SOON;

/// A running runtime, a working directory and an adapter.
pub struct LiveAdapter {
    pub adapter: ServerAdapter,
    runtime: tokio::runtime::Handle,
    /// Ends the runtime when dropped.
    _running: tokio::sync::oneshot::Sender<()>,
    dir: TempDir,
}

/// A started session.
pub struct StartedSession {
    pub session: Box<dyn Session>,
    signals: mpsc::Receiver<AgentSignal>,
    seen: Vec<AgentSignal>,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl LiveAdapter {
    /// An adapter for the server that `options` name.
    pub fn new(options: ServerOptions) -> LiveAdapter {
        LiveAdapter::with(options, serde_json::json!({}))
    }

    /// An adapter with changes to its manifest.
    pub fn with(options: ServerOptions, changes: Value) -> LiveAdapter {
        let adapters = serde_json::json!({ "opencode-server": changes });
        let catalog = Catalog::load(&AdapterSources {
            config: vec![Node::from_value(adapters, &SettingOrigin::Default)],
            ..AdapterSources::default()
        });
        let manifest = catalog.manifest("opencode-server").expect("a manifest");
        let (running, stop) = tokio::sync::oneshot::channel::<()>();
        let (sender, handle) = mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime");
            sender.send(runtime.handle().clone()).expect("the test waits for it");
            _ = runtime.block_on(stop); // ends when the sender is dropped
        });
        LiveAdapter {
            adapter: ServerAdapter::new(
                manifest,
                options,
                &Supervisor::default().guarded_by(PathBuf::from(env!("CARGO_BIN_EXE_ralph"))),
            ),
            runtime: handle.recv().expect("a handle"),
            _running: running,
            dir: tempfile::tempdir().expect("a directory"),
        }
    }

    pub fn start(&self) -> StartedSession {
        self.start_with(|_| {})
    }

    pub fn start_with(&self, change: impl FnOnce(&mut SessionRequest)) -> StartedSession {
        let prompt = self.dir.path().join("prompt.md");
        fs::write(&prompt, "Do it.").expect("a prompt");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let mut request = SessionRequest {
            run: RunId("run".to_owned()),
            iteration: 1,
            prompt,
            cwd: self.dir.path().to_owned(),
            model: None,
            agent: None,
            resume: None::<SessionId>,
            size: Size { cols: 80, rows: 24 },
            asks: ToolKinds::NONE,
            subagents: ralph_core::event::SubagentLimits::default(),
            one_way: false,
            env: Vec::new(),
            scratch: self.dir.path().to_owned(),
            display: Box::new(CapturedScreen(Arc::clone(&shown))),
        };
        change(&mut request);
        let (out, mut received) = tokio::sync::mpsc::channel(16);
        let (sender, signals) = mpsc::channel();
        thread::spawn(move || {
            while let Some(signal) = received.blocking_recv() {
                if sender.send(signal).is_err() {
                    return; // the test has ended
                }
            }
        });
        let _entered = self.runtime.enter();
        StartedSession {
            session: self.adapter.start(request, out),
            signals,
            seen: Vec::new(),
            shown,
        }
    }
}

impl StartedSession {
    /// Waits for a signal; earlier ones count.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, wanted: impl Fn(&AgentSignal) -> bool) -> AgentSignal {
        if let Some(found) = self.seen.iter().find(|signal| wanted(signal)) {
            return found.clone();
        }
        let end = Instant::now() + SOON;
        loop {
            match self.signals.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(signal) => {
                    self.seen.push(signal.clone());
                    if wanted(&signal) {
                        return signal;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no {what}; seen: {:#?}", self.seen)
                }
            }
        }
    }

    #[track_caller]
    pub fn opened(&mut self) {
        self.wait_for("session", |signal| matches!(signal, AgentSignal::Opened { .. }));
    }

    /// Collects everything up to the end, which must come once and last.
    #[track_caller]
    pub fn finish(mut self) -> SessionReport {
        self.wait_for("end", |signal| matches!(signal, AgentSignal::Ended { .. }));
        assert_eq!(
            self.signals.recv_timeout(Duration::ZERO).ok(),
            None,
            "nothing after the end"
        );
        SessionReport {
            signals: self.seen,
            shown: String::from_utf8_lossy(&self.shown.lock().expect("no panic")).into_owned(),
        }
    }
}

/// Everything that a session reported.
#[derive(Debug)]
pub struct SessionReport {
    pub signals: Vec<AgentSignal>,
    pub shown: String,
}

impl SessionReport {
    /// The verdict on the turn.
    #[track_caller]
    pub fn verdict(&self) -> (bool, Option<&str>) {
        let verdicts: Vec<_> = self
            .signals
            .iter()
            .filter_map(|signal| match signal {
                AgentSignal::TurnEnded { ok, message } => Some((*ok, message.as_deref())),
                _ => None,
            })
            .collect();
        assert_eq!(verdicts.len(), 1, "{:#?}", self.signals);
        verdicts[0]
    }

    pub fn problem(&self) -> Option<&Problem> {
        self.signals.iter().find_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem),
            _ => None,
        })
    }

    pub fn count(&self, wanted: impl Fn(&AgentSignal) -> bool) -> usize {
        self.signals.iter().filter(|signal| wanted(signal)).count()
    }
}

struct CapturedScreen(Arc<Mutex<Vec<u8>>>);

impl Display for CapturedScreen {
    fn show(&mut self, bytes: &[u8]) {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
    }
}
