//! The files that a server has open, and the notifications that keep it up to date.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_system::files::ReadError;
use serde_json::{Value, json};

use super::{
    changes::{FileEvent, FileStamps, between, scan},
    source::{SourceText, Stamp, read},
    state::ServerLink,
    table::LanguageServer,
    uri,
};

/// Most files that a server has open. Beyond that, the least recently used file is closed.
const OPEN: usize = 200;
/// Most changed files whose text is sent at a time; for others the server only gets the names.
const AT_A_TIME: usize = 100;

#[derive(Debug)]
pub(super) struct Documents {
    open: BTreeMap<PathBuf, OpenDocument>,
    seen: FileStamps,
    uses: u64,
}

#[derive(Debug)]
struct OpenDocument {
    version: i64,
    source: Arc<SourceText>,
    used: u64,
}

/// The result of bringing a server up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    None,
    /// The server was sent changes.
    Some,
}

impl Documents {
    /// Must be called before the server is started, so that it is notified of all later changes.
    pub(super) fn new(root: &Path, server: &LanguageServer) -> Self {
        Self {
            open: BTreeMap::new(),
            seen: scan(root, server),
            uses: 0,
        }
    }

    /// Notifies the server of changes on disk.
    pub(super) fn catch_up(&mut self, link: &ServerLink, root: &Path, server: &LanguageServer) -> Update {
        let now = scan(root, server);
        let mut changed = between(&self.seen, &now);
        self.seen = now;
        // Also open files outside of the scan, such as generated ones.
        let elsewhere = self.open.iter().filter(|(path, open)| {
            !changed.iter().any(|(changed, _)| changed == *path) && Stamp::from_path(path) != Some(open.source.stamp)
        });
        let elsewhere: Vec<_> = elsewhere.map(|(path, _)| (path.clone(), FileEvent::Changed)).collect();
        changed.extend(elsewhere);
        if changed.is_empty() {
            return Update::None;
        }
        for (path, _) in changed.iter().take(AT_A_TIME).filter(|(path, _)| server.is_for(path)) {
            // A file that is gone or unreadable is closed.
            _ = self.hand_over(path, link, server);
        }
        let events: Vec<Value> = changed
            .iter()
            .map(|(path, change)| json!({"uri": uri::from_path(path), "type": *change as u8}))
            .collect();
        link.notify("workspace/didChangeWatchedFiles", &json!({"changes": events}));
        Update::Some
    }

    /// Opens or updates a file on the server with its present text.
    pub(super) fn hand_over(
        &mut self,
        path: &Path,
        link: &ServerLink,
        server: &LanguageServer,
    ) -> Result<(Arc<SourceText>, Update), ReadError> {
        self.uses += 1;
        let address = uri::from_path(path);
        if let Some(open) = self.open.get_mut(path)
            && Stamp::from_path(path) == Some(open.source.stamp)
        {
            open.used = self.uses;
            return Ok((Arc::clone(&open.source), Update::None));
        }
        let source = match read(path) {
            Ok(source) => Arc::new(source),
            Err(error) => {
                if self.open.remove(path).is_some() {
                    link.notify("textDocument/didClose", &json!({"textDocument": {"uri": address}}));
                }
                return Err(error);
            }
        };
        let text = source.text.as_str();
        match self.open.get_mut(path) {
            Some(open) => {
                let is_same = open.source.text == source.text;
                (open.source, open.used) = (Arc::clone(&source), self.uses);
                if is_same {
                    return Ok((source, Update::None));
                }
                open.version += 1;
                let document = json!({"uri": address, "version": open.version});
                let change = json!({"textDocument": document, "contentChanges": [{"text": text}]});
                link.notify("textDocument/didChange", &change);
            }
            None => {
                self.make_room(link);
                let language = server.language_of(path);
                let document = json!({"uri": address, "languageId": language, "version": 1, "text": text});
                link.notify("textDocument/didOpen", &json!({"textDocument": document}));
                let open = OpenDocument {
                    version: 1,
                    source: Arc::clone(&source),
                    used: self.uses,
                };
                self.open.insert(path.to_owned(), open);
            }
        }
        // Checkers that read files, such as `cargo check`, run on this notification.
        link.notify("textDocument/didSave", &json!({"textDocument": {"uri": address}}));
        Ok((source, Update::Some))
    }

    fn make_room(&mut self, link: &ServerLink) {
        if self.open.len() < OPEN {
            return;
        }
        let oldest = self
            .open
            .iter()
            .min_by_key(|(_, open)| open.used)
            .map(|(path, _)| path.clone());
        if let Some(path) = oldest {
            self.open.remove(&path);
            let closed = json!({"textDocument": {"uri": uri::from_path(&path)}});
            link.notify("textDocument/didClose", &closed);
        }
    }

    /// The files that the server has open.
    pub(super) fn opened(&self) -> Vec<PathBuf> {
        self.open.keys().cloned().collect()
    }

    /// The stamp of the version of a file that the server knows.
    pub(super) fn known(&self, path: &Path) -> Option<Stamp> {
        let open = self.open.get(path).map(|open| open.source.stamp);
        open.or_else(|| self.seen.get(path).copied())
    }
}
