//! The agent of an assay: a script that makes the edits of a cheat and then claims to be done.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_gate::cheats::EditedFile;

/// The plan of each run, relative to the project.
pub(crate) const PLAN: &str = ".ralph/plans/assay.md";

/// An agent whose edits are laid out in a directory.
#[derive(Debug)]
pub(crate) struct AssayAgent {
    directory: PathBuf,
}

impl AssayAgent {
    /// The plan before the agent's claim, with one open task.
    pub(crate) const OPEN: &str = "# Plan\n\n- [ ] Make the goals pass\n";
    const DONE: &str = "# Plan\n\n- [x] Make the goals pass\n";
    /// Applies the edits in `$1` and replaces the plan `$2`; runs in the project.
    const SCRIPT: &str = "#!/bin/sh\n\
        set -e\n\
        cat > /dev/null\n\
        if [ -d \"$1/files\" ]; then cp -R \"$1/files/.\" .; fi\n\
        while IFS= read -r path; do rm -f -- \"$path\"; done < \"$1/deleted\"\n\
        cp \"$1/plan\" \"$2\"\n\
        : > .ralph-done\n";

    /// Lays out the edits in `directory`, which is emptied first.
    ///
    /// # Errors
    /// [`io::Error`] if the directory cannot be written.
    pub(crate) fn new(directory: &Path, edits: &[EditedFile]) -> io::Result<AssayAgent> {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        fs::create_dir_all(directory)?;
        let mut deleted = String::new();
        for EditedFile { path, text } in edits {
            match text {
                None => deleted += &format!("{path}\n"),
                Some(text) => {
                    let path = directory.join("files").join(path);
                    fs::create_dir_all(path.parent().unwrap_or(directory))?;
                    fs::write(path, text)?;
                }
            }
        }
        fs::write(directory.join("deleted"), deleted)?;
        fs::write(directory.join("plan"), AssayAgent::DONE)?;
        fs::write(directory.join("agent.sh"), AssayAgent::SCRIPT)?;
        Ok(AssayAgent {
            directory: directory.to_owned(),
        })
    }

    /// Returns the command line that runs the script in the project.
    pub(crate) fn command(&self) -> [String; 4] {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        [
            "/bin/sh".to_owned(),
            shown(&self.directory.join("agent.sh")),
            shown(&self.directory),
            PLAN.to_owned(),
        ]
    }
}
