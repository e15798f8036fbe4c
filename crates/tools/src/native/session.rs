//! Stored sessions, which can be continued after their agent has ended: files with one message per line.
//!
//! They are stored outside of ralph's own state, which a confined agent may not read.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use ralph_system::files;
use serde::{Deserialize, Serialize};

use super::message::ChatMessage;

/// Most bytes of a session that are read.
const SESSION_CAP_BYTES: u64 = 256 << 20;
/// Sessions that were not modified for this time are removed when another one begins.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum SessionLine {
    Message {
        message: ChatMessage,
    },
    /// The conversation after old steps were summed up, in place of all before.
    Compacted {
        messages: Vec<ChatMessage>,
    },
}

/// A session that is being written. If it cannot be stored, it is lost when the agent ends; loading it then reports
/// that.
#[derive(Debug)]
pub(super) struct SessionFile {
    pub(super) id: String,
    file: Option<File>,
}

/// The directory of stored sessions; `None` if the system has no suitable place.
pub(super) fn directory() -> Option<PathBuf> {
    let state = dirs::state_dir().or_else(|| Some(dirs::home_dir()?.join(".local/state")))?;
    Some(state.join("ralph-native"))
}

impl SessionFile {
    pub(super) fn begin(directory: Option<&Path>) -> Self {
        let id = files::secret().unwrap_or_else(|_| format!("{}", std::process::id()));
        let id = id.get(..16).unwrap_or(&id).to_owned();
        let file = directory.and_then(|directory| {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
            remove_old(directory, SystemTime::now());
            Some(files::append_private(&path(directory, &id)).ok()?.0)
        });
        Self { id, file }
    }

    /// Loads the session `id` with its content. An incomplete last line is skipped.
    ///
    /// # Errors
    /// A message that the session was not found, or cannot be read.
    pub(super) fn load(directory: Option<&Path>, id: &str) -> Result<(Self, Vec<ChatMessage>), String> {
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let directory = directory.filter(|_| is_name);
        let missing = || format!("session not found: {id}");
        let path = path(directory.ok_or_else(missing)?, id);
        let bytes = files::read_bytes(&path, SESSION_CAP_BYTES).map_err(|error| match error.is_missing() {
            true => missing(),
            false => format!("session not found: {}: {error}", path.display()),
        })?;
        let mut messages = Vec::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(SessionLine::Message { message }) => messages.push(message),
                Ok(SessionLine::Compacted { messages: compacted }) => messages = compacted,
                Err(_) => {}
            }
        }
        let mut file = files::append_private(&path).ok().map(|(file, _)| file);
        if let Some(file) = file.as_mut().filter(|_| !bytes.ends_with(b"\n")) {
            // Separates later lines from the incomplete one.
            _ = file.write_all(b"\n");
        }
        let id = id.to_owned();
        Ok((Self { id, file }, messages))
    }

    pub(super) fn append(&mut self, message: &ChatMessage) {
        self.write(&SessionLine::Message {
            message: message.clone(),
        });
    }

    /// Replaces the conversation so far.
    pub(super) fn compact(&mut self, messages: &[ChatMessage]) {
        self.write(&SessionLine::Compacted {
            messages: messages.to_vec(),
        });
    }

    fn write(&mut self, line: &SessionLine) {
        let Some(file) = &mut self.file else { return };
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            file.write_all(&bytes)
        });
        if written.is_err() {
            // A file with a gap would contain a different conversation.
            self.file = None;
        }
    }
}

fn path(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.jsonl"))
}

fn remove_old(directory: &Path, now: SystemTime) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_old = || {
            let touched = entry.metadata().ok()?.modified().ok()?;
            Some(now.duration_since(touched).ok()? > KEPT)
        };
        if path.extension().is_some_and(|ending| ending == "jsonl") && is_old() == Some(true) {
            _ = fs::remove_file(path); // another agent may have removed it
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::user(text)
    }

    #[test]
    fn a_session_is_there_again_wherever_its_file_was_torn() {
        let directory = tempfile::tempdir().unwrap();
        let at = Some(directory.path());
        let mut session = SessionFile::begin(at);
        session.append(&user("first"));
        let whole = fs::read(path(directory.path(), &session.id)).unwrap().len();
        session.append(&user("second"));
        let file = path(directory.path(), &session.id);
        let bytes = fs::read(&file).unwrap();
        for cut in whole..bytes.len() - 1 {
            fs::write(&file, &bytes[..cut]).unwrap();
            let (mut again, messages) = SessionFile::load(at, &session.id).unwrap();
            assert_eq!(messages, [user("first")], "cut at {cut}");
            again.append(&user("third"));
            let (_, messages) = SessionFile::load(at, &session.id).unwrap();
            assert_eq!(messages, [user("first"), user("third")], "cut at {cut}");
        }
    }

    #[test]
    fn a_session_goes_on_with_its_summary() {
        let directory = tempfile::tempdir().unwrap();
        let at = Some(directory.path());
        let mut session = SessionFile::begin(at);
        session.append(&user("first"));
        session.append(&user("second"));
        session.compact(&[user("first"), user("summary")]);
        session.append(&user("third"));
        let (_, messages) = SessionFile::load(at, &session.id).unwrap();
        assert_eq!(messages, [user("first"), user("summary"), user("third")]);
    }

    #[test]
    fn only_a_session_that_is_there_is_found() {
        let directory = tempfile::tempdir().unwrap();
        for id in ["", "nothing", "../x", "a/b"] {
            let missing = SessionFile::load(Some(directory.path()), id).unwrap_err();
            assert!(missing.contains("session not found"), "{missing}");
        }
        assert!(SessionFile::load(None, "x").is_err());
    }

    #[test]
    fn old_sessions_are_removed_when_another_begins() {
        let directory = tempfile::tempdir().unwrap();
        let session = SessionFile::begin(Some(directory.path()));
        let later = SystemTime::now() + KEPT + Duration::from_secs(60);
        remove_old(directory.path(), SystemTime::now());
        assert!(path(directory.path(), &session.id).exists());
        remove_old(directory.path(), later);
        assert!(!path(directory.path(), &session.id).exists());
    }
}
