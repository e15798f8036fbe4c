use std::path::PathBuf;

use thiserror::Error;

use super::{keys, origin::Origin};
use crate::{files::ReadError, position::Position};

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{}: {position}: not UTF-8", path.display())]
    NotUtf8 { path: PathBuf, position: Position },
    /// `expected` is the parser's own short word on it.
    #[error("{}: {position}: not valid JSON ({expected})", path.display())]
    NotJson {
        path: PathBuf,
        position: Position,
        expected: String,
    },
    #[error("{origin}: unknown setting `{key}`")]
    Unknown { origin: Origin, key: String },
    #[error("{origin}: {key} is {found}; expected {expected}")]
    IllTyped {
        origin: Origin,
        /// The setting in backquotes, or what else is meant.
        key: String,
        found: String,
        expected: String,
    },
    #[error("{origin}: `{key}` is set a second time, after line {first}")]
    Repeated { origin: Origin, key: String, first: u32 },
    /// Two settings that are fine, but not together.
    #[error("{origin}: {why}")]
    Conflict { origin: Origin, why: String },
    #[error("{first} (and {} more)", others.len())]
    Several {
        first: Box<ConfigError>,
        others: Vec<ConfigError>,
    },
}

impl ConfigError {
    /// Makes one error of several; none of none.
    pub(super) fn of(mut errors: Vec<ConfigError>) -> Option<ConfigError> {
        if errors.len() < 2 {
            return errors.pop();
        }
        let others = errors.split_off(1);
        let first = Box::new(errors.pop()?);
        Some(ConfigError::Several { first, others })
    }

    /// Says what to do about it, one sentence each, and what else is wrong.
    pub fn hints(&self) -> Vec<String> {
        match self {
            ConfigError::Unreadable { .. } => Vec::new(),
            ConfigError::NotUtf8 { .. } => vec!["save the file as UTF-8".to_owned()],
            ConfigError::NotJson { .. } => {
                vec!["comments and trailing commas are fine, all else is as in JSON".to_owned()]
            }
            ConfigError::Unknown { key, .. } => vec![match keys::nearest(key) {
                Some(near) if near == key => format!("write `{key}` as objects: {}", nested(key)),
                Some(near) => format!("did you mean `{near}`?"),
                None => "`ralph config schema` lists every setting".to_owned(),
            }],
            ConfigError::IllTyped { .. } | ConfigError::Repeated { .. } | ConfigError::Conflict { .. } => Vec::new(),
            ConfigError::Several { first, others } => {
                let also = others.iter().flat_map(|other| {
                    let mut lines = vec![format!("also {other}")];
                    lines.extend(other.hints());
                    lines
                });
                first.hints().into_iter().chain(also).collect()
            }
        }
    }
}

/// Writes a dotted key as a file has it: `{ "limits": { "maxTime": … } }`.
fn nested(key: &str) -> String {
    let inside = |value: String, name: &str| format!("{{ \"{name}\": {value} }}");
    key.rsplit('.').fold("…".to_owned(), inside)
}
