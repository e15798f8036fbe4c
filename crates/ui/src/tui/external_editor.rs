//! Opens the shown text in the user's editor.

use std::{
    env,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempPath;

use super::terminal_ownership::{StopsGroup, run_in_foreground};

/// Variables that name an editor, in order, and the programs to try if none is set.
const EDITORS: ([&str; 2], [&str; 2]) = (["VISUAL", "EDITOR"], ["vi", "nano"]);
/// Likewise for a pager, which views a file if the user has set no editor.
const PAGERS: ([&str; 1], [&str; 1]) = (["PAGER"], ["less"]);

/// A file to open.
pub(super) enum EditorDocument {
    Real(PathBuf),
    /// Readable by its owner only; deleted on drop.
    Temporary(TempPath),
}

impl EditorDocument {
    /// Writes `text` to a temporary file whose name ends with `name`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn temporary(name: &str, text: &str) -> io::Result<Self> {
        let suffix = format!("-{name}");
        let mut file = tempfile::Builder::new().prefix("ralph-").suffix(&suffix).tempfile()?;
        file.write_all(text.as_bytes())?;
        Ok(Self::Temporary(file.into_temp_path()))
    }

    /// Returns what opens the file in the foreground and waits. It does not own the file: if the screen is closed
    /// meanwhile, a temporary one must still be deleted.
    pub(super) fn opener(&self) -> impl FnOnce(StopsGroup<'_>) -> Result<(), String> + Send + use<> {
        let (edits, path) = match self {
            Self::Real(path) => (true, path.clone()),
            Self::Temporary(path) => (false, path.to_path_buf()),
        };
        let program = program(edits);
        move |stop| run(&program, &path, stop)
    }
}

/// The command that opens a file, with its arguments.
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

/// Runs `program` in the foreground. The error is a sentence.
fn run(program: &str, path: &Path, stop: StopsGroup<'_>) -> Result<(), String> {
    // Run by a shell, since the variable may contain arguments, as with git.
    let line = format!("{program} \"$1\"");
    match run_in_foreground(Command::new("sh").args(["-c", &line, "sh"]).arg(path), stop) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}; set EDITOR to your editor")),
        Err(error) => Err(format!("no editor could be started: {error}")),
    }
}
