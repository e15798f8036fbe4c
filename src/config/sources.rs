//! The places settings come from.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// Where settings may come from, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The user's file; need not exist.
    pub user: Option<PathBuf>,
    /// The project's file; need not exist.
    pub project: Option<PathBuf>,
    /// The file named by `--config`, above both others; has to exist.
    pub extra: Option<PathBuf>,
    /// The environment. Only `RALPH_*` is looked at.
    pub env: Vec<(OsString, OsString)>,
    pub flags: Vec<Flag>,
}

impl Sources {
    /// Names the usual places: `ralph/config.json` in the user's configuration directory, `.ralph/config.json` in the
    /// project, and this process's environment.
    pub fn of_project(project: &Path) -> Self {
        Sources {
            user: dirs::config_dir().map(|directory| directory.join("ralph").join("config.json")),
            project: Some(project.join(".ralph").join("config.json")),
            extra: None,
            env: env::vars_os().collect(),
            flags: Vec::new(),
        }
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
