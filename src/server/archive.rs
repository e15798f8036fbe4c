//! The runs of a project as they are on disk: read off the server's thread, a few at a time, since git and long journals
//! take their time.

use std::{convert::Infallible, io, path::PathBuf, sync::Arc};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    event::RunId,
    proc::Supervisor,
    review::{RunEntry, Shelf},
    store::{journal::JournalError, paths::ProjectPaths},
    text::with_causes,
};

use super::problem::{Answered, Problem};

/// Requests that read at a time; more wait. Each may hold what it has read until its client has taken it.
const READERS: usize = 4;

/// What a client is handed at a time of something large.
const PIECE_BYTES: usize = 64 * 1024;

/// The runs of one project.
#[derive(Debug, Clone)]
pub(crate) struct Archive {
    pub(super) paths: ProjectPaths,
    desk: Desk,
}

/// What archives of several projects share.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    supervisor: Supervisor,
    shelf: Arc<Shelf>,
    free: Arc<Semaphore>,
}

impl Desk {
    pub(crate) fn new(supervisor: &Supervisor) -> Self {
        Self {
            supervisor: supervisor.clone(),
            shelf: Arc::default(),
            free: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Does `work` on a thread where it may take its time.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shelf, &Supervisor) -> Answered<T> + Send + 'static,
    ) -> Answered<(T, OwnedSemaphorePermit)> {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        let permit = permit.map_err(|_| Problem::failed("the server ends"))?;
        let desk = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&desk.shelf, &desk.supervisor)).await;
        let done = done.map_err(|error| Problem::failed(error.to_string()))??;
        Ok((done, permit))
    }
}

impl Archive {
    pub(crate) fn new(paths: ProjectPaths, desk: Desk) -> Self {
        Self { paths, desk }
    }

    /// All runs, the latest first.
    pub(super) async fn runs(&self) -> Answered<Vec<RunEntry>> {
        let paths = self.paths.clone();
        let read = self.desk.read(move |shelf, _| Ok(shelf.runs(&paths))).await;
        read.map(|(runs, _)| runs)
    }

    /// The run of this name; none if there is none. A name is looked up and never made a part of a path.
    pub(super) fn find(&self, name: &str) -> Option<Kept> {
        let runs = self.paths.run_ids();
        let run = runs.into_iter().find(|run| run.0 == name)?;
        Some(Kept {
            archive: self.clone(),
            run,
        })
    }

    pub(crate) fn kept_of(&self, run: RunId) -> Kept {
        Kept {
            archive: self.clone(),
            run,
        }
    }
}

/// What is on disk of a run, which may still go on.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    archive: Archive,
    run: RunId,
}

impl Kept {
    pub(super) fn archive(&self) -> &Archive {
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

    /// How it stands, while a ralph serves it or not.
    pub(super) async fn entry(&self, live: bool) -> Answered<RunEntry> {
        let (paths, run) = (self.archive.paths.clone(), self.run.clone());
        let read = self
            .archive
            .desk
            .read(move |shelf, _| Ok(shelf.run(&paths, &run, live)));
        read.await.map(|(entry, _)| entry)
    }

    /// Does `work` on a thread where it may take its time.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ProjectPaths, &RunId, &Supervisor) -> Answered<T> + Send + 'static,
    ) -> Answered<(T, OwnedSemaphorePermit)> {
        let (paths, run) = (self.archive.paths.clone(), self.run.clone());
        let read = move |_: &Shelf, supervisor: &Supervisor| work(&paths, &run, supervisor);
        self.archive.desk.read(read).await
    }
}

/// `bytes`, which count as being read until the client has taken nearly all of them.
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

/// Why a journal was not read.
pub(super) fn of_journal(error: &JournalError) -> Problem {
    match error {
        JournalError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Problem::not_found("there is no journal of this run")
        }
        _ => Problem::failed(with_causes(error)),
    }
}
