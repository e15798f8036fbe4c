//! The places settings come from.

use std::{env, ffi::OsString, path::PathBuf};

use ralph_system::files::{self, CONFIG_CAP_BYTES, ReadError};
use serde_json::Value;

/// Where settings may come from, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// What the user has answered when ralph asked; need not exist.
    pub remembered: Option<PathBuf>,
    /// The user's file; need not exist.
    pub user: Option<PathBuf>,
    /// The project's file, as far as it counts; need not exist.
    pub project: Option<ProjectFile>,
    /// The file named by `--config`, above both others; has to exist.
    pub extra: Option<PathBuf>,
    /// The environment. Only `RALPH_*` is looked at.
    pub env: Vec<(OsString, OsString)>,
    pub flags: Vec<Flag>,
}

impl Sources {
    /// Names the usual places: `ralph/config.json` in the user's configuration directory, the project's file, and this
    /// process's environment.
    pub fn of_project(project: ProjectFile) -> Self {
        Sources {
            remembered: None,
            user: dirs::config_dir().map(|directory| directory.join("ralph").join("config.json")),
            project: Some(project),
            extra: None,
            env: env::vars_os().collect(),
            flags: Vec::new(),
        }
    }
}

/// `.ralph/config.json` of a project. It is read when its trust is decided, and not again: what an agent makes of it
/// meanwhile is not what its user has trusted.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub content: ProjectContent,
}

/// What there is of a project's file.
#[derive(Debug, Clone)]
pub enum ProjectContent {
    Missing,
    /// It is there, and says nothing before its user trusts it.
    Untrusted,
    Text(String),
    Unreadable(ReadError),
}

impl ProjectFile {
    /// Reads it.
    pub fn read(path: PathBuf) -> Self {
        let content = match files::read_text(&path, CONFIG_CAP_BYTES) {
            Ok(text) => ProjectContent::Text(text),
            Err(error) if error.is_missing() => ProjectContent::Missing,
            Err(error) => ProjectContent::Unreadable(error),
        };
        ProjectFile { path, content }
    }
}

/// A setting given on the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Flag {
    /// The flag as it is typed, with its dashes, for errors and `ralph config show`.
    pub name: String,
    /// The dotted key it sets.
    pub key: String,
    /// Its value; a text is read as the setting's kind wants it, so `"50"` will do for a number.
    pub value: Value,
}

impl Flag {
    pub fn new(name: &str, key: &str, value: impl Into<Value>) -> Self {
        Flag {
            name: name.to_owned(),
            key: key.to_owned(),
            value: value.into(),
        }
    }
}
