//! Files that replace those of the agent while goals run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_gate::guard::{FileContent, GuardError, OpenTrial, Originals};
use ralph_system::diagnostics::inherited;
use ralph_text::with_causes;
use tokio::task::spawn_blocking;
use tracing::debug;

/// Other files in place of the agent's, which are restored when this is dropped.
pub(super) struct InPlace {
    trial: Option<OpenTrial>,
}

impl InPlace {
    pub(super) async fn begin(originals: &Arc<Originals>, project: &Path, record: &Path) -> Result<Self, GuardError> {
        let (originals, project, record) = (Arc::clone(originals), project.to_owned(), record.to_owned());
        // If the caller gives up meanwhile, the trial is dropped, and so ended, on the thread that began it.
        let begin = move || {
            let trial = OpenTrial::begin(&originals, &project, &record)?;
            Ok(Self { trial: Some(trial) })
        };
        blocking(begin).await
    }

    /// Replaces files with `files`, each with its path.
    pub(super) fn replacing(
        files: Vec<(String, FileContent)>,
        project: &Path,
        record: &Path,
    ) -> Result<Self, GuardError> {
        let trial = OpenTrial::replacing(files, project, record)?;
        Ok(Self { trial: Some(trial) })
    }

    /// The reason why a file could not be replaced; `None` if all were.
    pub(super) fn refused(&self) -> Option<String> {
        let trial = self.trial.as_ref().expect("it is in place until it is dropped");
        let refused = trial.refused();
        (!refused.is_empty()).then(|| format!("something is in the way of {}", refused.join(", ")))
    }

    /// Removes new test files, and returns whether there were any.
    pub(super) fn without_new_tests(
        mut self,
        originals: &Originals,
        project: &Path,
    ) -> Result<(Self, bool), GuardError> {
        let new = originals.new_tests(project)?;
        let trial = self.trial.as_mut().expect("it is in place until it is dropped");
        for path in &new {
            trial.remove(path)?;
        }
        Ok((self, !new.is_empty()))
    }

    /// Replaces files with others, each with its path.
    pub(super) fn put(mut self, files: &[(String, FileContent)]) -> Result<Self, GuardError> {
        let trial = self.trial.as_mut().expect("it is in place until it is dropped");
        for (path, content) in files {
            trial.replace(path, content)?;
        }
        Ok(self)
    }

    fn substitute(&mut self, path: &str, bytes: &[u8]) -> Result<(), GuardError> {
        let trial = self.trial.as_mut().expect("it is in place until it is dropped");
        trial.substitute(path, bytes)
    }

    pub(super) fn end(mut self) -> Result<(), GuardError> {
        let trial = self.trial.take().expect("it is in place until it is dropped");
        trial.end().map(drop)
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        if let Some(trial) = self.trial.take() {
            // The goals were given up. What fails here is tried again at the next start.
            _ = trial.end();
        }
    }
}

/// Runs blocking work off the loop; a panic of it is an error of the trial.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GuardError> + Send + 'static,
) -> Result<T, GuardError> {
    let done = spawn_blocking(inherited(work)).await;
    done.unwrap_or_else(|error| {
        Err(GuardError::File {
            path: PathBuf::new(),
            source: std::io::Error::other(error),
        })
    })
}

/// Replaces a file with `bytes`. Returns `None` if that fails; the agent's files are restored then.
pub(super) async fn substituted(mut held: InPlace, path: String, bytes: Vec<u8>) -> Option<InPlace> {
    let put = blocking(move || {
        held.substitute(&path, &bytes)?;
        Ok(held)
    });
    put.await
        .inspect_err(|error| {
            debug!(
                error = with_causes(error),
                "a mutant could not be put in place or taken back"
            )
        })
        .ok()
}
