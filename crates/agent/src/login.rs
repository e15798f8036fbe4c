//! Checks whether an agent has credentials for its model, as far as this can be told without asking the model.
//!
//! A key may also be in a file of the agent's own, in the system's keyring, or not be needed at all. Missing
//! credentials are therefore not an error, but a hint for when the agent reports that it is not logged in.

use std::{env, path::PathBuf};

/// The places where an agent keeps its credentials.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CredentialSources {
    /// Variables, each of which is sufficient.
    pub env: Vec<String>,
    /// Further variables with keys that the agent may use, such as those of other providers.
    pub keys: Vec<String>,
    /// Files, each of which is sufficient; they may begin with `~/` or with `$NAME/`.
    pub files: Vec<String>,
    /// The command that logs in.
    pub hint: Option<String>,
}

/// The result of looking for credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// The adapter does not say where to look.
    NotAsked,
    Variable(String),
    File(PathBuf),
    NotFound {
        hint: Option<String>,
    },
}

impl CredentialSources {
    /// The agent's own key variables; empty if the adapter names none.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.env.iter().chain(&self.keys).map(String::as_str)
    }

    /// Looks for the credentials. `own` are the variables that the adapter itself sets.
    pub(super) fn look<'a>(&self, own: impl Iterator<Item = &'a str> + Clone) -> Login {
        if self.env.is_empty() && self.files.is_empty() {
            return Login::NotAsked;
        }
        let set = |name: &&String| {
            own.clone().any(|own| own == name.as_str()) || env::var_os(name).is_some_and(|value| !value.is_empty())
        };
        if let Some(name) = self.env.iter().find(set) {
            return Login::Variable(name.clone());
        }
        let found = self
            .files
            .iter()
            .filter_map(|file| expanded(file))
            .find(|file| file.is_file());
        found.map_or_else(
            || Login::NotFound {
                hint: self.hint.clone(),
            },
            Login::File,
        )
    }
}

/// The path that `file` stands for; `None` if it begins with a variable that is not set.
pub(super) fn expanded(file: &str) -> Option<PathBuf> {
    if let Some(rest) = file.strip_prefix("~/") {
        return Some(dirs::home_dir()?.join(rest));
    }
    let named = file.strip_prefix('$');
    match named.map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
        Some((name, rest)) => {
            let directory = env::var_os(name).filter(|value| !value.is_empty())?;
            let directory = PathBuf::from(directory);
            Some(if rest.is_empty() {
                directory
            } else {
                directory.join(rest)
            })
        }
        None => Some(PathBuf::from(file)),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, iter};

    use super::*;

    #[test]
    fn a_variable_or_a_file_is_enough_and_neither_is_said_with_what_to_do() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("auth.json");
        let credentials = CredentialSources {
            env: vec!["RALPH_TEST_NO_SUCH_KEY".to_owned()],
            files: vec!["$RALPH_TEST_NO_SUCH_DIR/x".to_owned(), file.display().to_string()],
            hint: Some("log in".to_owned()),
            ..CredentialSources::default()
        };
        let hint = Some("log in".to_owned());
        assert_eq!(credentials.look(iter::empty()), Login::NotFound { hint });
        fs::write(&file, "{}").expect("a file");
        assert_eq!(credentials.look(iter::empty()), Login::File(file));
        let name = "RALPH_TEST_NO_SUCH_KEY";
        assert_eq!(credentials.look(iter::once(name)), Login::Variable(name.to_owned()));
        assert_eq!(CredentialSources::default().look(iter::empty()), Login::NotAsked);
    }

    #[test]
    fn variables_and_the_home_directory_are_filled_in() {
        // cargo sets it for every test.
        let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo runs this");
        assert_eq!(
            expanded("$CARGO_MANIFEST_DIR/Cargo.toml"),
            Some(PathBuf::from(manifest).join("Cargo.toml"))
        );
        assert!(expanded("~/x").is_some_and(|path| path.is_absolute()));
        assert_eq!(expanded("$RALPH_TEST_NO_SUCH_DIR/x"), None);
    }
}
