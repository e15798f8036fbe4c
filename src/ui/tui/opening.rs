//! What is shown, in the user's editor.

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempPath;

use super::{
    beside::beside,
    inputs::{Arrived, Mailbox},
    lending::{Lent, lend},
};

/// What names a program to edit with, the first that is set, and what is opened where none is.
const EDITORS: ([&str; 2], [&str; 2]) = (["VISUAL", "EDITOR"], ["vi", "nano"]);
/// The same to look at something where there is no editor of the user's.
const PAGERS: ([&str; 1], [&str; 1]) = (["PAGER"], ["less"]);

/// A file to look at.
pub(super) enum Document {
    Real(PathBuf),
    /// Readable by its owner alone, and deleted when it is dropped.
    Temporary(TempPath),
}

impl Document {
    /// Writes `text` to a file whose name ends with `name`.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(super) fn of(name: &str, text: &str) -> io::Result<Self> {
        let suffix = format!("-{name}");
        let mut file = tempfile::Builder::new().prefix("ralph-").suffix(&suffix).tempfile()?;
        file.write_all(text.as_bytes())?;
        Ok(Self::Temporary(file.into_temp_path()))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Real(path) => path,
            Self::Temporary(path) => path,
        }
    }
}

/// The terminal, which an editor may have.
pub(super) struct Loan {
    lent: Lent,
    /// What it shows while it has it. Not the editor's thread's: a screen that is left meanwhile leaves no file behind.
    document: Option<Document>,
}

impl Loan {
    pub(super) fn of(lent: Lent) -> Self {
        Self { lent, document: None }
    }

    pub(super) fn is_out(&self) -> bool {
        self.document.is_some()
    }

    /// Opens a document in a thread of its own, until [`Arrived::Returned`] comes.
    pub(super) fn begin(&mut self, document: Document, mailbox: Mailbox) {
        let lent = self.lent.clone();
        let path = document.path().to_owned();
        let program = program(matches!(document, Document::Real(_)));
        self.document = Some(document);
        beside(move || {
            let returned = Arrived::Returned(run(&program, &path, &lent).err());
            _ = mailbox.send(returned); // if nobody listens any more, the terminal is nobody's concern either
        });
    }

    /// Takes the terminal back; tells whether a real file was opened.
    pub(super) fn end(&mut self) -> bool {
        self.lent.end();
        matches!(self.document.take(), Some(Document::Real(_)))
    }
}

/// The program to open a file with, and its arguments.
fn program(edits: bool) -> String {
    let set = |name: &&str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let there = |name: &&&str| which::which(name).is_ok();
    let (editors, pagers) = match edits {
        true => (EDITORS, None),
        false => (EDITORS, Some(PAGERS)),
    };
    let mut named = editors.0.iter().chain(pagers.iter().flat_map(|pagers| &pagers.0));
    if let Some(program) = named.find_map(set) {
        return program;
    }
    let mut usual = pagers.iter().flat_map(|pagers| &pagers.1).chain(&editors.1);
    (*usual.find(|name| there(name)).unwrap_or(&"vi")).to_owned()
}

/// Runs it in the foreground, and says what is wrong if it fails.
fn run(program: &str, path: &Path, lent: &Lent) -> Result<(), String> {
    lent.call_off().map_err(|error| format!("no editor: {error}"))?;
    // With its arguments, as git takes them.
    let line = format!("{program} \"$1\"");
    match lend(Command::new("sh").args(["-c", &line, "sh"]).arg(path)) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}; set EDITOR to your editor")),
        Err(error) => Err(format!("no editor could be started: {error}")),
    }
}
