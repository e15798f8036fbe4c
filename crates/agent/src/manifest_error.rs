//! Errors in a manifest, each with its place and key.

use ralph_policy::settings::{LayerError, SettingOrigin};
use thiserror::Error;

#[derive(Debug, Clone, Error)]
pub enum ManifestError {
    /// An error in a single layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
    #[error("{at}: `dialect` is {found}; expected \"opencode-json\" with `transport = \"http\"`")]
    NoServerDialect { at: SettingOrigin, found: String },
    #[error("{at}: `{{{name}}}` in `{key}` must be an element of its own: it stands for all of `command.{name}`")]
    PlaceholderNotAlone {
        at: SettingOrigin,
        key: String,
        name: &'static str,
    },
    #[error("{at}: `{key}` uses `{{{name}}}`, but there is no `command.{name}` to say what it stands for")]
    PlaceholderUndefined {
        at: SettingOrigin,
        key: String,
        name: &'static str,
    },
    #[error("{at}: with `command.prompt = \"file\"`, `{{prompt_file}}` must be in `command.args` or `command.env`")]
    PromptUnused { at: SettingOrigin },
    #[error("{at}: with `transport = \"http\"`, `{{port}}` must be in `command.args`")]
    PortUnused { at: SettingOrigin },
    #[error(
        "{at}: `capabilities.live_steering` needs `transport = \"http\"`: a subprocess adapter cannot steer a running turn"
    )]
    NotLive { at: SettingOrigin },
    #[error("{at}: `patterns` are for `dialect = \"terminal\"`: other dialects have a structure of their own")]
    PatternsUnused { at: SettingOrigin },
    #[error("{at}: `{key}` needs a named group such as `(?<{}>...)`", .names.join(">...)` or `(?<"))]
    NoGroup {
        at: SettingOrigin,
        key: String,
        names: Vec<&'static str>,
    },
    #[error("{at}: adapter `{id}` is not complete: {} missing", missing(.keys))]
    Missing {
        at: SettingOrigin,
        id: String,
        keys: Vec<&'static str>,
    },
}

impl ManifestError {
    /// Further errors, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            ManifestError::Layer(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

fn missing(keys: &[&str]) -> String {
    let quoted: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    format!("{} {}", quoted.join(", "), if keys.len() == 1 { "is" } else { "are" })
}
