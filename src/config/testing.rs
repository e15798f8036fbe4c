//! Configuration files for tests.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{Flag, Loaded, NO_HINT, ProjectFile, SettingSources, load};

/// The files of a user, a project and `--config`, in a temporary directory.
pub(super) struct Files {
    pub(super) directory: TempDir,
    sources: SettingSources,
}

impl Files {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let sources = SettingSources {
            user: Some(directory.path().join("user.json")),
            ..SettingSources::default()
        };
        Files { directory, sources }
    }

    pub(super) fn of_project(text: &str) -> Self {
        Files::new().with("project.json", text)
    }

    pub(super) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.directory.path().join(name), text).unwrap();
        self
    }

    pub(super) fn extra(mut self, name: &str) -> Self {
        self.sources.extra = Some(self.directory.path().join(name));
        self
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.push((name.into(), value.into()));
        self
    }

    pub(super) fn flag(mut self, name: &str, key: &str, value: impl Into<Value>) -> Self {
        self.sources.flags.push(Flag::new(name, key, value));
        self
    }

    fn sources(&self) -> SettingSources {
        SettingSources {
            project: Some(ProjectFile::read(self.directory.path().join("project.json"))),
            ..self.sources.clone()
        }
    }

    pub(super) fn load(&self) -> Loaded {
        load(&self.sources()).unwrap()
    }

    /// The error and its hints, without the path of the directory.
    pub(super) fn error(&self) -> Vec<String> {
        let error = load(&self.sources()).unwrap_err();
        let directory = format!("{}/", self.directory.path().display());
        let lines = [error.to_string()].into_iter().chain(error.hints(NO_HINT));
        lines.map(|line| line.replace(&directory, "")).collect()
    }
}
