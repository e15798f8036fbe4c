//! The sources of settings.

use std::{env, ffi::OsString, path::PathBuf};

use ralph_system::files::{self, CONFIG_CAP_BYTES, ReadError};
use serde_json::Value;

/// The sources of settings, weakest first.
#[derive(Debug, Clone, Default)]
pub struct SettingSources {
    /// The file with the user's remembered choice; may be missing.
    pub remembered: Option<PathBuf>,
    /// The user's file; may be missing.
    pub user: Option<PathBuf>,
    /// The project's file, if it is trusted; may be missing.
    pub project: Option<ProjectFile>,
    /// The file named by `--config`, which overrides both others; must exist.
    pub extra: Option<PathBuf>,
    /// The environment. Only `RALPH_*` variables are read.
    pub env: Vec<(OsString, OsString)>,
    pub flags: Vec<Flag>,
}

impl SettingSources {
    /// The usual sources: `ralph/config.json` in the user's configuration directory, the project's file, and the
    /// environment of this process.
    pub fn for_project(project: ProjectFile) -> Self {
        SettingSources {
            remembered: None,
            user: dirs::config_dir().map(|directory| directory.join("ralph").join("config.json")),
            project: Some(project),
            extra: None,
            env: env::vars_os().collect(),
            flags: Vec::new(),
        }
    }
}

/// The file `.ralph/config.json` of a project. It is read once, when its trust is decided, so that later changes by an
/// agent have no effect.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub content: ProjectContent,
}

/// The content of a project's file.
#[derive(Debug, Clone)]
pub enum ProjectContent {
    Missing,
    /// The file exists, but is ignored until the user trusts it.
    Untrusted,
    Text(String),
    Unreadable(ReadError),
}

impl ProjectFile {
    /// Reads the file.
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
    /// The flag as it is typed, with its dashes, for errors and `ralph config`.
    pub name: String,
    /// The dotted key of the setting.
    pub key: String,
    /// The value. A text is parsed by the grammar of the setting, so `"50"` is valid for a number.
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
