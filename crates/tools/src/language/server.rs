//! One language server: its start, its capabilities, and requests to it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_system::{
    diagnostics::inherited,
    proc::{Launch, Stdin, StopSpeed},
};
use ralph_text::with_causes;
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, oneshot},
    task::spawn_blocking,
    time::{timeout, timeout_at},
};

use super::{
    documents::{Documents, Update},
    facts::{Indexing, QueryError},
    home::{Home, blocking, confined},
    position::Encoding,
    source::SourceText,
    state::{ServerLink, ServerOutput},
    table::{LanguageServer, TSC},
    uri,
};
use crate::json_rpc::{Frames, RequestError};

/// The time limit of the answer to `initialize`.
const GREETING: Duration = Duration::from_secs(30);
/// The time a server has to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// A server that has been silent for this time after its start or a change counts as done.
const SETTLED: Duration = Duration::from_millis(800);
/// The pause between two requests to a busy server.
const ANEW: Duration = Duration::from_millis(400);
/// Error codes after which a request is repeated, since files changed while it was processed: `ContentModified` and
/// `ServerCancelled`.
const PASSING: [i64; 2] = [-32801, -32802];

#[derive(Debug)]
pub(super) struct RunningServer {
    pub(super) row: LanguageServer,
    pub(super) root: PathBuf,
    pub(super) encoding: Encoding,
    pub(super) link: Arc<ServerLink>,
    capabilities: Value,
    documents: Arc<Mutex<Documents>>,
    home: Home,
    started: Instant,
    gone: Mutex<Option<oneshot::Receiver<()>>>,
}

impl RunningServer {
    /// Starts a server for `root`.
    ///
    /// # Errors
    /// The server cannot be started, or has not answered `initialize`.
    pub(super) async fn start(
        row: LanguageServer,
        root: PathBuf,
        home: Home,
        link: Arc<ServerLink>,
    ) -> Result<Self, String> {
        let (told, gone) = oneshot::channel();
        let reader = ServerOutput {
            link: Arc::clone(&link),
            frames: Frames::default(),
            gone: Some(told),
        };
        let launching = {
            let (row, root, home) = (row.clone(), root.clone(), home.clone());
            inherited(move || {
                let program = which::which_in(&row.command, std::env::var_os("PATH"), &root);
                let program = program.map_err(|_| format!("`{}` is not on PATH", row.command))?;
                // Scanned before the server is started, so that it is notified of all later changes.
                let documents = confined(&home, || Documents::new(&root, &row));
                let documents = documents.map_err(|error| with_causes(&error))?;
                let child = home
                    .supervisor
                    .spawn(launch(program, &row, &root, &home), Box::new(reader));
                Ok::<_, String>((child.map_err(|error| with_causes(&error))?, documents))
            })
        };
        let launched = spawn_blocking(launching).await.map_err(|error| error.to_string())?;
        let (child, documents) = launched?;
        link.set_child(child);
        let mut server = Self {
            encoding: Encoding::Utf16,
            capabilities: Value::Null,
            documents: Arc::new(Mutex::new(documents)),
            started: Instant::now(),
            gone: Mutex::new(Some(gone)),
            row,
            root,
            link,
            home,
        };
        let greeting = greeting(&server.row, &server.root);
        let until = Instant::now() + GREETING;
        match server.link.request("initialize", &greeting, until).await {
            Ok(mut answer) => {
                server.capabilities = answer["capabilities"].take();
                server.encoding = Encoding::chosen(&server.capabilities);
                server.link.notify("initialized", &json!({}));
                Ok(server)
            }
            Err(failed) => {
                server.end().await;
                Err(match failed {
                    RequestError::Ended(why) => why,
                    RequestError::Refused { message, .. } => message,
                    RequestError::Late => format!("it has not greeted within {} s", GREETING.as_secs()),
                })
            }
        }
    }

    /// Whether the server reports a capability.
    pub(super) fn can(&self, what: &str) -> bool {
        !matches!(self.capabilities[what], Value::Null | Value::Bool(false))
    }

    /// Whether the server reports diagnostics only on request. Other servers that support requests also publish
    /// diagnostics, including those of builds.
    pub(super) fn is_asked_for_diagnostics(&self) -> bool {
        self.row.name == TSC && self.can("diagnosticProvider")
    }

    /// The files that the server has open.
    pub(super) async fn opened(&self) -> Vec<PathBuf> {
        self.documents.lock().await.opened()
    }

    /// Sends a request until it has an answer: an empty one is requested again while the server is not done with the
    /// project.
    ///
    /// # Errors
    /// [`QueryError`]
    pub(super) async fn answer(&self, method: &str, params: &Value, until: Instant) -> Result<Value, QueryError> {
        let begun = Instant::now();
        loop {
            let answered = self.link.request(method, params, until).await;
            let is_done = self.is_settled() || Instant::now() >= until;
            match answered {
                Ok(Value::Array(items)) if items.is_empty() && !is_done => {}
                Ok(Value::Null) if !is_done => {}
                Ok(answer) => return Ok(answer),
                Err(RequestError::Refused { code, .. })
                    if (PASSING.contains(&code) || !is_done) && Instant::now() < until => {}
                Err(RequestError::Refused { message, .. }) => {
                    return Err(QueryError::Refused {
                        server: self.row.name.clone(),
                        why: message.chars().take(500).collect(),
                    });
                }
                Err(RequestError::Late) => return Err(self.late(begun)),
                Err(RequestError::Ended(why)) => {
                    return Err(QueryError::Ended {
                        server: self.row.name.clone(),
                        why,
                    });
                }
            }
            self.news(until.min(Instant::now() + ANEW)).await;
        }
    }

    fn late(&self, begun: Instant) -> QueryError {
        QueryError::Late {
            still: self.still().unwrap_or_else(|| Indexing {
                server: self.row.name.clone(),
                doing: None,
            }),
            after_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The server's present task, if it is not done with the project.
    pub(super) fn still(&self) -> Option<Indexing> {
        let doing = self.link.busy()?;
        Some(Indexing {
            server: self.row.name.clone(),
            doing: Some(doing).filter(|doing| !doing.is_empty()),
        })
    }

    /// Whether the server has seen the whole project.
    fn is_settled(&self) -> bool {
        if self.link.ended().is_some() {
            return true;
        }
        let is_quiet = self.started.elapsed() > SETTLED && self.link.latest().elapsed() > SETTLED;
        self.link.busy().is_none() && (self.link.says_done() || is_quiet)
    }

    /// Waits until the server has seen the project, or `until`.
    pub(super) async fn settled(&self, until: Instant) {
        while !self.is_settled() && Instant::now() < until {
            self.news(until.min(Instant::now() + ANEW)).await;
        }
    }

    /// Waits until the server has been quiet for a while, or `until`.
    pub(super) async fn quiet(&self, since: Instant, until: Instant) {
        let is_quiet = || self.link.latest().max(since).elapsed() > SETTLED && self.is_settled();
        while !is_quiet() && self.link.ended().is_none() && Instant::now() < until {
            self.news(until.min(Instant::now() + ANEW)).await;
        }
    }

    /// Waits for the next message about the server's state.
    pub(super) async fn news(&self, until: Instant) {
        let mut news = self.link.news();
        _ = timeout_at(until.into(), news.changed()).await; // a timeout is handled by the caller
    }

    /// Notifies the server of changes, and opens `file` on it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) async fn catch_up(&self, file: Option<&Path>) -> Result<(Option<Arc<SourceText>>, Update), QueryError> {
        let documents = Arc::clone(&self.documents).lock_owned().await;
        let (link, root, row) = (Arc::clone(&self.link), self.root.clone(), self.row.clone());
        let (home, path) = (self.home.clone(), file.map(Path::to_owned));
        let project = self.home.project.clone();
        let work = move || {
            let mut documents = documents;
            let told = confined(&home, || {
                let mut news = documents.catch_up(&link, &root, &row);
                let handed = path.as_ref().map(|path| documents.hand_over(path, &link, &row));
                let source = handed
                    .transpose()
                    .map_err(|error| with_causes(&error))?
                    .map(|(source, more)| {
                        if more == Update::Some {
                            news = Update::Some;
                        }
                        source
                    });
                Ok((source, news))
            });
            told.map_err(|error| with_causes(&error))
                .and_then(|told| told)
                .map_err(|why| QueryError::Unreadable {
                    file: path
                        .map(|path| super::source::display_path(&project, &path))
                        .unwrap_or_default(),
                    why,
                })
        };
        blocking(work).await
    }

    /// Returns the first file whose stamp differs from the one that the server knows.
    pub(super) async fn knows(&self, files: &[(PathBuf, super::source::Stamp)]) -> Option<PathBuf> {
        let documents = self.documents.lock().await;
        let other = files
            .iter()
            .find(|(path, stamp)| documents.known(path).is_some_and(|known| known != *stamp));
        other.map(|(path, _)| path.clone())
    }

    /// Ends the server and waits until its processes are gone.
    pub(super) async fn end(&self) {
        self.link.stop(StopSpeed::Graceful);
        if let Some(gone) = self.gone.lock().await.take() {
            _ = timeout(2 * GRACE + GRACE, gone).await; // its guard continues to end it
        }
    }
}

fn launch(program: PathBuf, row: &LanguageServer, root: &Path, home: &Home) -> Launch {
    Launch {
        cwd: root.to_owned(),
        env: vec![
            ("TERM".to_owned(), "dumb".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
        ],
        stdin: Stdin::Piped,
        ..home.launch(program, &row.args, GRACE)
    }
}

/// The parameters of `initialize`. They announce no capability that would make the server wait for an editor.
fn greeting(row: &LanguageServer, root: &Path) -> Value {
    let folder = json!({"uri": uri::from_path(root), "name": root.file_name().map_or("project".into(), |name| name.to_string_lossy())});
    let kinds: Vec<u8> = (1..=26).collect();
    json!({
        // The sandbox hides ralph's process from the server; the guard ends the server instead.
        "processId": null,
        "clientInfo": {"name": "ralph", "version": env!("CARGO_PKG_VERSION")},
        "rootPath": root.to_string_lossy(),
        "rootUri": uri::from_path(root),
        "workspaceFolders": [folder],
        "initializationOptions": row.options,
        "capabilities": {
            "general": {"positionEncodings": Encoding::OFFERED},
            "offsetEncoding": Encoding::OFFERED,
            "window": {"workDoneProgress": true},
            "experimental": {"serverStatusNotification": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeWatchedFiles": {"dynamicRegistration": true},
                "symbol": {"symbolKind": {"valueSet": kinds}},
                "workspaceEdit": {"documentChanges": true},
            },
            "textDocument": {
                "synchronization": {"didSave": true},
                "definition": {"linkSupport": true},
                "references": {},
                "hover": {"contentFormat": ["markdown", "plaintext"]},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true, "symbolKind": {"valueSet": kinds}},
                "rename": {"prepareSupport": false},
                "publishDiagnostics": {"versionSupport": true},
            },
        },
    })
}
