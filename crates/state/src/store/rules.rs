//! The rules that answers have added for every run of a project.
//!
//! The rules are stored with the project's state, not in its tree: neither an agent nor a foreign clone can bring rules
//! along.

use ralph_core::event::RememberedRule;
use ralph_system::paths::ProjectPaths;
use serde::{Deserialize, Serialize};

use super::state_file::{self, StateFileError};

/// Most bytes read: more than rules from answers ever take.
const CAP_BYTES: u64 = 1 << 20;

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RulesFile {
    allow: Vec<RememberedRule>,
}

/// Reads the rules of a project, oldest first; empty if no answer has added any.
///
/// # Errors
/// [`StateFileError::Read`] and [`StateFileError::Garbled`].
pub fn remembered(paths: &ProjectPaths) -> Result<Vec<RememberedRule>, StateFileError> {
    let written: Option<RulesFile> = state_file::read(paths.rules(), CAP_BYTES)?;
    Ok(written.unwrap_or_default().allow)
}

/// Adds rules; a rule that is already there also takes over the new one's list of rules that it precedes.
///
/// # Errors
/// Any [`StateFileError`]; the stored rules stay as they were.
pub fn remember(paths: &ProjectPaths, rules: &[RememberedRule]) -> Result<(), StateFileError> {
    let mut allow = remembered(paths)?;
    for rule in rules {
        match allow.iter_mut().find(|known| known.rule == rule.rule) {
            Some(known) => {
                let more: Vec<String> = rule
                    .over
                    .iter()
                    .filter(|over| !known.over.contains(over))
                    .cloned()
                    .collect();
                known.over.extend(more);
            }
            None => allow.push(rule.clone()),
        }
    }
    write(paths, allow)
}

/// Removes a rule; false if it is not there.
///
/// # Errors
/// Any [`StateFileError`]; the stored rules stay as they were.
pub fn forget(paths: &ProjectPaths, rule: &str) -> Result<bool, StateFileError> {
    let mut allow = remembered(paths)?;
    let before = allow.len();
    allow.retain(|known| known.rule != rule);
    if allow.len() == before {
        return Ok(false);
    }
    write(paths, allow)?;
    Ok(true)
}

fn write(paths: &ProjectPaths, allow: Vec<RememberedRule>) -> Result<(), StateFileError> {
    state_file::write(paths.rules(), &RulesFile { allow })
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::symlink,
        path::Path,
    };

    use super::*;
    use ralph_core::event::RunId;

    fn rule(rule: &str, over: &[&str]) -> RememberedRule {
        RememberedRule {
            rule: rule.to_owned(),
            over: over.iter().map(|over| (*over).to_owned()).collect(),
            run: RunId("20261120-102835-4f2a".to_owned()),
            ask: 3,
            at_ms: 1,
        }
    }

    #[test]
    fn rules_are_added_once_taken_back_and_kept_apart_for_each_project() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        assert_eq!(remembered(&paths).unwrap(), []);
        paths.create().unwrap();
        remember(&paths, &[rule("Bash(a *)", &["Bash"]), rule("Read", &[])]).unwrap();
        remember(&paths, &[rule("Bash(a *)", &["Bash", "Bash(a *)"])]).unwrap();
        let both = [rule("Bash(a *)", &["Bash", "Bash(a *)"]), rule("Read", &[])];
        assert_eq!(remembered(&paths).unwrap(), both);
        assert!(forget(&paths, "Bash(a *)").unwrap());
        assert!(!forget(&paths, "Bash(a *)").unwrap());
        assert_eq!(remembered(&paths).unwrap(), [rule("Read", &[])]);
        let other = ProjectPaths::new(Path::new("/b/app"), Some(dir.path())).unwrap();
        assert_eq!(remembered(&other).unwrap(), []);
    }

    #[test]
    fn a_file_that_is_no_list_of_rules_is_named_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        paths.create().unwrap();
        for text in ["", "{", "{\"allow\": \"Bash\"}", "\u{fffd}"] {
            fs::write(paths.rules(), text).unwrap();
            let error = remember(&paths, &[rule("Read", &[])]).unwrap_err().to_string();
            assert!(error.contains("rules.json: not what ralph has written"), "{error}");
            assert_eq!(fs::read_to_string(paths.rules()).unwrap(), text);
        }
    }

    #[test]
    fn a_pipe_a_link_and_a_file_without_end_in_place_of_the_rules_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ProjectPaths::new(Path::new("/a/app"), Some(dir.path())).unwrap();
        paths.create().unwrap();
        let file = paths.rules();
        let why = || {
            let error = remembered(&paths).unwrap_err();
            assert!(error.to_string().contains("rules.json: cannot be read"), "{error}");
            std::error::Error::source(&error).unwrap().to_string()
        };
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(why(), "it is a named pipe, not a regular file");
        fs::remove_file(&file).unwrap();
        let elsewhere = dir.path().join("elsewhere.json");
        fs::write(&elsewhere, r#"{ "allow": [] }"#).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(why(), "it is a symbolic link, not a regular file");
        fs::remove_file(&file).unwrap();
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(why(), "it is larger than 1 MiB");
    }
}
