//! Reads the runs of a project from disk.
//!
//! Reading happens off the server's thread and for few requests at a time, since git and long journals are slow.

use std::{convert::Infallible, io, path::PathBuf, sync::Arc};

use axum::body::{Body, Bytes};
use futures_util::stream;
use ralph_core::event::RunId;
use ralph_review::{RunCache, RunEntry};
use ralph_state::store::journal::JournalError;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::with_causes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{ApiProblem, HttpResult};

/// Requests that read at the same time; others wait. Each may hold what it has read until its client has received it.
const READERS: usize = 4;

/// Requests that look for a run or list runs at the same time.
const LOOKERS: usize = 2;

/// Size of the pieces in which a large answer is sent.
const PIECE_BYTES: usize = 64 * 1024;

/// The runs of one project.
#[derive(Debug, Clone)]
pub struct Archive {
    pub(super) paths: ProjectPaths,
    readers: SharedReaders,
}

/// The resources shared by archives of several projects.
#[derive(Debug, Clone)]
pub struct SharedReaders {
    supervisor: Supervisor,
    cache: Arc<RunCache>,
    free: Arc<Semaphore>,
    /// Permits for short lookups, which wait for no client. Every command begins with one.
    looking: Arc<Semaphore>,
}

impl SharedReaders {
    pub fn new(supervisor: &Supervisor) -> Self {
        Self {
            supervisor: supervisor.clone(),
            cache: Arc::default(),
            free: Arc::new(Semaphore::new(READERS)),
            looking: Arc::new(Semaphore::new(LOOKERS)),
        }
    }

    /// Looks something up among the runs, on a thread for blocking work. Waits for no client.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RunCache) -> T + Send + 'static,
    ) -> HttpResult<T> {
        let work = move |cache: &RunCache, _: &Supervisor| Ok(work(cache));
        self.work(&self.looking, work).await.map(|(done, _)| done)
    }

    /// Does `work` on a thread for blocking work. The result occupies one of the [`READERS`] until the permit is
    /// dropped.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&RunCache, &Supervisor) -> HttpResult<T> + Send + 'static,
    ) -> HttpResult<(T, OwnedSemaphorePermit)> {
        self.work(&self.free, work).await
    }

    async fn work<T: Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        work: impl FnOnce(&RunCache, &Supervisor) -> HttpResult<T> + Send + 'static,
    ) -> HttpResult<(T, OwnedSemaphorePermit)> {
        let permit = Arc::clone(permits).acquire_owned().await;
        let permit = permit.map_err(|_| ApiProblem::failed("the server is stopping"))?;
        let readers = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&readers.cache, &readers.supervisor)).await;
        let done = done.map_err(|error| ApiProblem::failed(error.to_string()))??;
        Ok((done, permit))
    }
}

impl Archive {
    pub fn new(paths: ProjectPaths, readers: SharedReaders) -> Self {
        Self { paths, readers }
    }

    /// All runs, the latest first.
    pub async fn runs(&self) -> HttpResult<Vec<RunEntry>> {
        let paths = self.paths.clone();
        self.readers.look(move |cache| cache.runs(&paths)).await
    }

    /// Returns the run of this name, if it exists. The name is compared and never becomes part of a path.
    pub fn find(&self, name: &str) -> Option<StoredRun> {
        let runs = self.paths.run_ids();
        let run = runs.into_iter().find(|run| run.0 == name)?;
        Some(self.stored_run(run))
    }

    pub fn stored_run(&self, run: RunId) -> StoredRun {
        StoredRun {
            archive: self.clone(),
            run,
            include: Vec::new(),
        }
    }
}

/// The stored files of a run, which may still be running.
#[derive(Debug, Clone)]
pub struct StoredRun {
    archive: Archive,
    run: RunId,
    /// The setting `checkpoint.include`, for the current run.
    include: Vec<String>,
}

impl StoredRun {
    #[must_use]
    pub fn including(mut self, patterns: Vec<String>) -> Self {
        self.include = patterns;
        self
    }

    pub(super) fn include(&self) -> &[String] {
        &self.include
    }

    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.archive.paths.run(&self.run).journal()
    }

    pub(super) fn recording(&self, iteration: u32) -> PathBuf {
        self.archive.paths.run(&self.run).recording(iteration)
    }

    /// The run's entry in a list. `live` says whether a ralph serves the run.
    pub(super) async fn entry(&self, live: bool) -> HttpResult<RunEntry> {
        let (paths, run) = (self.archive.paths.clone(), self.run.clone());
        let looked = move |cache: &RunCache| cache.run(&paths, &run, live);
        self.archive.readers.look(looked).await
    }

    /// Does `work` on a thread for blocking work.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ProjectPaths, &RunId, &Supervisor) -> HttpResult<T> + Send + 'static,
    ) -> HttpResult<(T, OwnedSemaphorePermit)> {
        let (paths, run) = (self.archive.paths.clone(), self.run.clone());
        let read = move |_: &RunCache, supervisor: &Supervisor| work(&paths, &run, supervisor);
        self.archive.readers.read(read).await
    }
}

/// Sends `bytes` in pieces. They occupy a reader's permit until the client has received nearly all of them.
pub(super) fn in_pieces(bytes: Vec<u8>, permit: OwnedSemaphorePermit) -> Body {
    let state = (Bytes::from(bytes), permit);
    Body::from_stream(stream::unfold(state, |(mut left, permit)| async move {
        if left.is_empty() {
            return None;
        }
        let piece = left.split_to(left.len().min(PIECE_BYTES));
        Some((Ok::<_, Infallible>(piece), (left, permit)))
    }))
}

/// Turns the error of reading a journal into an answer.
pub(super) fn journal_problem(error: &JournalError) -> ApiProblem {
    match error {
        JournalError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            ApiProblem::not_found("there is no journal of this run")
        }
        _ => ApiProblem::failed(with_causes(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_looks_waits_for_no_client_that_takes_its_time() {
        let readers = SharedReaders::new(&Supervisor::default());
        let mut taking = Vec::new();
        for _ in 0..READERS {
            let (_, permit) = readers.read(|_, _| Ok(())).await.unwrap();
            taking.push(permit);
        }
        assert_eq!(readers.look(|_| 7).await, Ok(7));
    }
}
