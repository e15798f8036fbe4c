//! Where a value came from.

use std::{collections::BTreeMap, fmt, path::PathBuf};

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        path: PathBuf,
        /// From 1.
        line: u32,
    },
    /// An environment variable, by its name.
    Env(String),
    /// A command-line flag, with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Env(name) | Origin::Flag(name) => f.write_str(name),
        }
    }
}

/// The origin of each value that is not the default, by dotted key: `limits.maxTime`, `adapters.codex.command.program`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origins {
    of: BTreeMap<String, Origin>,
}

impl Origins {
    /// Returns the origin of a value; what was never set is a default.
    pub fn of(&self, key: &str) -> &Origin {
        self.of.get(key).unwrap_or(&Origin::Default)
    }

    /// Records that a value was set, which takes the place of everything below it.
    pub(super) fn set(&mut self, key: &str, origin: Origin) {
        let below = format!("{key}.");
        self.of.retain(|known, _| !known.starts_with(&below));
        self.of.insert(key.to_owned(), origin);
    }
}
