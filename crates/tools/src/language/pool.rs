//! The language servers of a run: one for each kind of files and each root, started by the first question, kept until
//! the run ends.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use ralph_system::proc::StopSpeed;
use tokio::{
    sync::{Mutex, mpsc},
    time::timeout_at,
};

use super::{
    facts::{Indexing, QueryError},
    home::Home,
    server::RunningServer,
    source::root_of,
    state::ServerLink,
    table::LanguageServer,
};

/// Most servers at a time. A further one replaces the least recently used.
const SERVERS: usize = 6;
/// How often a server is started before it is given up.
const STARTS: u32 = 2;

/// A message for the user about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerNotice {
    Started {
        server: String,
        root: PathBuf,
        after_ms: u64,
    },
    /// The server ended and is restarted.
    Ended { server: String, why: String },
    /// The server is not started again in this run.
    GaveUp { server: String, why: String },
}

/// The servers of a run. Clones share the same state.
#[derive(Debug, Clone)]
pub(super) struct ServerPool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rows: Vec<LanguageServer>,
    home: Home,
    slots: parking_lot::Mutex<BTreeMap<(String, PathBuf), Arc<ServerSlot>>>,
    closed: AtomicBool,
    /// Links of all servers, including those that are still starting.
    links: parking_lot::Mutex<Vec<Weak<ServerLink>>>,
    notices: mpsc::Sender<ServerNotice>,
}

#[derive(Debug)]
struct ServerSlot {
    server: Mutex<SlotState>,
    used: parking_lot::Mutex<Instant>,
}

#[derive(Debug, Default)]
struct SlotState {
    server: Option<Arc<RunningServer>>,
    starts: u32,
    /// The reason why it last ended.
    why: String,
}

impl ServerPool {
    /// Creates the pool with those servers in `rows` whose programs are installed. Messages for the user go to `notices`.
    pub(super) fn new(rows: Vec<LanguageServer>, home: Home, notices: mpsc::Sender<ServerNotice>) -> Self {
        Self(Arc::new(Inner {
            rows,
            home,
            slots: parking_lot::Mutex::default(),
            closed: AtomicBool::new(false),
            links: parking_lot::Mutex::default(),
            notices,
        }))
    }

    pub(super) fn home(&self) -> &Home {
        &self.0.home
    }

    /// Returns the server for a file. It is started if it is not running.
    pub(super) async fn server_for(&self, file: &Path, until: Instant) -> Result<Arc<RunningServer>, QueryError> {
        let row = self.0.rows.iter().find(|row| row.is_for(file)).cloned();
        let row = row.ok_or_else(|| {
            let mut known: Vec<String> = self.0.rows.iter().flat_map(|row| row.extensions.clone()).collect();
            known.sort();
            known.dedup();
            QueryError::NoServer {
                file: super::source::display_path(&self.0.home.project, file),
                known,
            }
        })?;
        let root = root_of(&self.0.home.project, file, &row.roots);
        self.server(row, root, until).await
    }

    /// The running servers.
    pub(super) async fn running(&self) -> Vec<Arc<RunningServer>> {
        let slots: Vec<Arc<ServerSlot>> = self.0.slots.lock().values().cloned().collect();
        let mut running = Vec::new();
        for slot in slots {
            // A server that is still starting has nothing to report.
            if let Ok(standing) = slot.server.try_lock() {
                running.extend(standing.server.clone());
            }
        }
        running
    }

    /// A server for each kind of files that has a root marker at the project's root, and all running servers.
    pub(super) async fn servers_of_project(&self, until: Instant) -> Result<Vec<Arc<RunningServer>>, QueryError> {
        let (mut servers, mut failed) = (self.running().await, None);
        for row in &self.0.rows {
            let project = &self.0.home.project;
            let is_here = row.roots.iter().any(|root| project.join(root).exists());
            let is_there = servers.iter().any(|server| server.row.extensions == row.extensions);
            if is_here && !is_there {
                match self.server(row.clone(), project.clone(), until).await {
                    Ok(server) => servers.push(server),
                    Err(why) => failed = Some(why),
                }
            }
        }
        match failed {
            Some(why) if servers.is_empty() => Err(why),
            Some(_) | None => Ok(servers),
        }
    }

    async fn server(
        &self,
        row: LanguageServer,
        root: PathBuf,
        until: Instant,
    ) -> Result<Arc<RunningServer>, QueryError> {
        let name = row.name.clone();
        let slot = self.slot(&name, &root);
        // A separate task, so that a start that takes longer than this question continues for the next one.
        let (servers, starting) = (self.clone(), Arc::clone(&slot));
        let started = tokio::spawn(async move {
            let mut standing = starting.server.lock().await;
            servers.started(&mut standing, row, root).await
        });
        let begun = Instant::now();
        match timeout_at(until.into(), started).await {
            Ok(Ok(server)) => server,
            Ok(Err(_)) => Err(QueryError::Closed),
            Err(_) => Err(QueryError::Late {
                still: Indexing {
                    server: name,
                    doing: None,
                },
                after_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    fn slot(&self, name: &str, root: &Path) -> Arc<ServerSlot> {
        let mut slots = self.0.slots.lock();
        let key = (name.to_owned(), root.to_owned());
        if !slots.contains_key(&key) && slots.len() >= SERVERS {
            let used = |slot: &ServerSlot| *slot.used.lock();
            let oldest = slots
                .iter()
                .min_by_key(|(_, slot)| used(slot))
                .map(|(key, _)| key.clone());
            let oldest = oldest.and_then(|key| slots.remove(&key));
            if let Some(slot) = oldest {
                tokio::spawn(async move {
                    if let Some(server) = slot.server.lock().await.server.take() {
                        server.end().await;
                    }
                });
            }
        }
        let slot = slots.entry(key).or_insert_with(|| {
            Arc::new(ServerSlot {
                server: Mutex::default(),
                used: parking_lot::Mutex::new(Instant::now()),
            })
        });
        *slot.used.lock() = Instant::now();
        Arc::clone(slot)
    }

    async fn started(
        &self,
        standing: &mut SlotState,
        row: LanguageServer,
        root: PathBuf,
    ) -> Result<Arc<RunningServer>, QueryError> {
        let name = row.name.clone();
        if let Some(server) = &standing.server {
            let Some(why) = server.link.ended() else {
                return Ok(Arc::clone(server));
            };
            standing.server = None;
            standing.why.clone_from(&why);
            let server = name.clone();
            self.send_notice(match standing.starts < STARTS {
                true => ServerNotice::Ended { server, why },
                false => ServerNotice::GaveUp { server, why },
            });
        }
        while standing.starts < STARTS {
            if self.0.closed.load(Ordering::Acquire) {
                return Err(QueryError::Closed);
            }
            standing.starts += 1;
            let begun = Instant::now();
            let link = Arc::new(ServerLink::new(root.clone()));
            {
                let mut links = self.0.links.lock();
                links.retain(|link| link.strong_count() > 0);
                links.push(Arc::downgrade(&link));
            }
            match RunningServer::start(row.clone(), root.clone(), self.0.home.clone(), link).await {
                Ok(server) => {
                    let after_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                    self.send_notice(ServerNotice::Started {
                        server: name,
                        root,
                        after_ms,
                    });
                    let server = Arc::new(server);
                    standing.server = Some(Arc::clone(&server));
                    // The run ended meanwhile, and its end did not see this server.
                    if self.0.closed.load(Ordering::Acquire) {
                        server.end().await;
                        return Err(QueryError::Closed);
                    }
                    return Ok(server);
                }
                Err(why) if standing.starts < STARTS => {
                    standing.why.clone_from(&why);
                    self.send_notice(ServerNotice::Ended {
                        server: name.clone(),
                        why,
                    });
                }
                Err(why) => {
                    standing.why.clone_from(&why);
                    self.send_notice(ServerNotice::GaveUp {
                        server: name.clone(),
                        why: why.clone(),
                    });
                    return Err(QueryError::NotStarted { server: name, why });
                }
            }
        }
        Err(QueryError::GaveUp {
            server: name,
            why: standing.why.clone(),
        })
    }

    fn send_notice(&self, notice: ServerNotice) {
        _ = self.0.notices.try_send(notice); // the run is over, or the queue is full of unread messages
    }

    /// Ends all servers and waits until their processes are gone. No further server is started.
    pub(super) async fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
        // Servers without an answer to `initialize` are stopped first, since the code below would wait for them.
        let links = std::mem::take(&mut *self.0.links.lock());
        links
            .iter()
            .filter_map(Weak::upgrade)
            .for_each(|link| link.stop(StopSpeed::Graceful));
        let slots: Vec<Arc<ServerSlot>> = std::mem::take(&mut *self.0.slots.lock()).into_values().collect();
        let ending = slots.into_iter().map(|slot| async move {
            // A server that is still starting notices the flag and ends itself.
            let server = slot.server.lock().await.server.take();
            if let Some(server) = server {
                server.end().await;
            }
        });
        futures_util::future::join_all(ending).await;
    }
}
