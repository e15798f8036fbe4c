//! Files that replace those of the agent while goals run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use ralph_gate::guard::{FileContent, GuardError, OpenTrial, Originals};
use ralph_system::diagnostics::inherited;
use ralph_text::with_causes;
use tokio::task::spawn_blocking;
use tracing::debug;

/// Other files in place of the agent's, which are restored when this is dropped, and where one cannot be replaced.
#[derive(Clone)]
pub(super) struct InPlace(Arc<Mutex<Held>>);

struct Held(Option<OpenTrial>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(trial) = self.0.take() {
            // The goals were given up. What fails here is tried again at the next start.
            _ = trial.end();
        }
    }
}

impl InPlace {
    /// Puts the originals in place.
    pub(super) async fn begin(originals: &Arc<Originals>, project: &Path, record: &Path) -> Result<Self, GuardError> {
        let (originals, project, record) = (Arc::clone(originals), project.to_owned(), record.to_owned());
        // If the caller gives up meanwhile, the trial is dropped, and so ended, on the thread that began it.
        blocking(move || OpenTrial::begin(&originals, &project, &record).map(Self::of)).await
    }

    pub(super) fn of(trial: OpenTrial) -> Self {
        Self(Arc::new(Mutex::new(Held(Some(trial)))))
    }

    /// Whether other files are still in place.
    pub(super) fn is_held(&self) -> bool {
        self.0.lock().0.is_some()
    }

    /// Restores the agent's files, and puts the originals in place anew.
    pub(super) async fn renew(
        &self,
        originals: &Arc<Originals>,
        project: &Path,
        record: &Path,
    ) -> Result<(), GuardError> {
        self.end().await?;
        let anew = Self::begin(originals, project, record).await?;
        let trial = anew.0.lock().0.take();
        self.0.lock().0 = trial;
        Ok(())
    }

    /// The reason why a file could not be replaced; `None` if all were.
    pub(super) fn refused(&self) -> Option<String> {
        let held = self.0.lock();
        let refused = held
            .0
            .as_ref()
            .map(OpenTrial::refused)
            .filter(|refused| !refused.is_empty());
        refused.map(|refused| format!("something is in the way of {}", refused.join(", ")))
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut OpenTrial) -> Result<T, GuardError> + Send + 'static,
    ) -> Result<T, GuardError> {
        let held = Arc::clone(&self.0);
        let work = move || {
            let mut held = held.lock();
            let done = held
                .0
                .as_mut()
                .map_or_else(|| Err(given_up("the trial has ended")), work);
            if done.is_err() {
                drop(Held(held.0.take()));
            }
            done
        };
        blocking(work).await
    }

    /// Removes new test files, and returns whether there were any.
    pub(super) async fn without_new_tests(
        &self,
        originals: &Arc<Originals>,
        project: &Path,
    ) -> Result<bool, GuardError> {
        let (originals, project) = (Arc::clone(originals), project.to_owned());
        let remove = move |trial: &mut OpenTrial| {
            let new = originals.new_tests(&project)?;
            new.iter().try_for_each(|path| trial.remove(path))?;
            Ok(!new.is_empty())
        };
        self.with(remove).await
    }

    /// Replaces files with others, each with its path.
    pub(super) async fn put(&self, files: Vec<(String, FileContent)>) -> Result<(), GuardError> {
        let put = move |trial: &mut OpenTrial| {
            files
                .iter()
                .try_for_each(|(path, content)| trial.replace(path, content))
        };
        self.with(put).await
    }

    /// Replaces a file with `bytes`. Returns `None` if that fails.
    pub(super) async fn substitute(&self, path: String, bytes: Vec<u8>) -> Option<()> {
        let put = self.with(move |trial| trial.substitute(&path, &bytes)).await;
        let told = "a mutant could not be put in place or taken back";
        put.inspect_err(|error| debug!(error = with_causes(error), told)).ok()
    }

    /// Restores the agent's files; does nothing if they are.
    pub(super) async fn end(&self) -> Result<(), GuardError> {
        let held = Arc::clone(&self.0);
        blocking(move || held.lock().0.take().map_or(Ok(()), |trial| trial.end().map(drop))).await
    }
}

fn given_up(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> GuardError {
    GuardError::File {
        path: PathBuf::new(),
        source: std::io::Error::other(why),
    }
}

/// Runs blocking work off the loop; a panic of it is an error of the trial.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GuardError> + Send + 'static,
) -> Result<T, GuardError> {
    let done = spawn_blocking(inherited(work)).await;
    done.unwrap_or_else(|error| Err(given_up(error)))
}
