//! Stores sent messages for later runs: one file per project, one message per line.

use std::{
    fs::{self, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

use ralph_system::files;
use rustix::fs::{FlockOperation, flock};

use super::editor::RECALLED;

/// Stored messages, oldest first. Invalid lines are skipped.
pub(super) fn read(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Adds a message as the newest and returns all stored ones. Safe with several ralph processes at once: a lock prevents
/// lost updates, and readers see the file before or after the change.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn add(path: &Path, message: &str) -> io::Result<Vec<String>> {
    let lock = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path.with_extension("lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let mut texts = read(path);
    texts.retain(|known| known != message);
    texts.push(message.to_owned());
    texts.drain(..texts.len().saturating_sub(RECALLED));
    let mut lines = Vec::new();
    for text in &texts {
        writeln!(lines, "{}", serde_json::to_string(text)?)?;
    }
    files::replace(path, &lines, Permissions::from_mode(0o600))?;
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn several_ralphs_add_messages_and_none_loses_those_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("messages");
        fs::write(&path, "\"from before\\nof two lines\"\nnonsense\n").unwrap();
        thread::scope(|scope| {
            for ralph in ["a", "b", "c"] {
                let path = &path;
                scope.spawn(move || {
                    for n in 0..20 {
                        add(path, &format!("{ralph}{n}")).unwrap();
                    }
                });
            }
        });
        let texts = read(&path);
        assert_eq!((texts.len(), texts[0].as_str()), (61, "from before\nof two lines"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for n in 0..150 {
            add(&path, &n.to_string()).unwrap();
        }
        add(&path, "120").unwrap();
        let texts = read(&path);
        assert_eq!((texts.len(), texts[99].as_str()), (RECALLED, "120"));
    }
}
