//! What can be wrong with a manifest, always with the place and the key.

use std::{path::PathBuf, sync::Arc};

use thiserror::Error;

use super::layers::Origin;
use crate::files::ReadError;

#[derive(Debug, Clone, Error)]
pub enum ManifestError {
    #[error("{path} cannot be read", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: Arc<ReadError>,
    },
    #[error("{path}:{line}: not valid TOML: {why}", path = path.display())]
    Syntax { path: PathBuf, line: usize, why: String },
    #[error("{at}: unknown key `{key}`{}", did_you_mean(.suggestion.as_deref()))]
    UnknownKey {
        at: Origin,
        key: String,
        suggestion: Option<String>,
    },
    #[error("{at}: `{key}` must be {expected}, not {found}")]
    WrongType {
        at: Origin,
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("{at}: must be an object of adapter settings")]
    NotAnObject { at: Origin },
    #[error("{at}: `{key}` is `{value}`, but must be {}", one_of(.allowed))]
    NotOneOf {
        at: Origin,
        key: String,
        value: String,
        allowed: Vec<&'static str>,
    },
    #[error("{at}: `{key}` is {value}, but must be {allowed}")]
    OutOfRange {
        at: Origin,
        key: String,
        value: String,
        allowed: &'static str,
    },
    #[error("{at}: unknown placeholder `{{{name}}}` in `{key}`; known there: {}", .allowed.join(", "))]
    UnknownPlaceholder {
        at: Origin,
        key: String,
        name: String,
        allowed: Vec<String>,
    },
    #[error("{at}: `{{{name}}}` in `{key}` must be an element of its own: it stands for all of `command.{name}`")]
    PlaceholderNotAlone {
        at: Origin,
        key: String,
        name: &'static str,
    },
    #[error("{at}: `{key}` uses `{{{name}}}`, but there is no `command.{name}` to say what it stands for")]
    PlaceholderUndefined {
        at: Origin,
        key: String,
        name: &'static str,
    },
    #[error("{at}: with `command.prompt = \"file\"`, `{{prompt_file}}` must be in `command.args` or `command.env`")]
    PromptUnused { at: Origin },
    #[error("{at}: with `transport = \"http\"`, `{{port}}` must be in `command.args`")]
    PortUnused { at: Origin },
    #[error(
        "{at}: `capabilities.live_steering` needs `transport = \"http\"`: a program is not told anything while it works"
    )]
    NotLive { at: Origin },
    #[error("{at}: `{key}` is empty")]
    Empty { at: Origin, key: String },
    #[error("{at}: `id` is `{id}`, but the name of the file makes it `{expected}`")]
    IdMismatch { at: Origin, id: String, expected: String },
    #[error("{at}: `{id}` cannot name an adapter: lower-case letters, digits, `-`, `_` and `.` only")]
    IdInvalid { at: Origin, id: String },
    #[error("{at}: adapter `{id}` is not complete: {} missing", missing(.keys))]
    Missing {
        at: Origin,
        id: String,
        keys: Vec<&'static str>,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default()
}

fn one_of(allowed: &[&str]) -> String {
    let quoted: Vec<_> = allowed.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [only] => only.clone(),
        _ => format!("one of {}", quoted.join(", ")),
    }
}

fn missing(keys: &[&str]) -> String {
    let quoted: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    format!("{} {}", quoted.join(", "), if keys.len() == 1 { "is" } else { "are" })
}
