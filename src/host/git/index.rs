//! ralph's own index: a copy of the user's that also knows the untracked files, kept between checkpoints.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    mem,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
};

use super::{GitError, Repository, checkpoint::State, layout::open_regular, process::Git, survey::Work};

/// A larger index is somebody's joke: git's own have a hundred bytes for each file.
const CAP_BYTES: u64 = 512 << 20;

/// More files than this that git cannot take are no accident of one file.
const MOST_REFUSED: usize = 16;

/// Tells one file from the one that replaces it: git never writes an index in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    Missing,
    /// A pipe, a link, a directory: nothing to read.
    Odd,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copied {
    Yes,
    No,
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Identity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified,
        }
    }
}

impl Repository {
    /// A git command that reads and writes ralph's index instead of the user's.
    pub(super) fn own_index_git(&self) -> Git {
        // Its checksum, which nobody reads, costs as much as reading it. The user's own keeps it: not all programs that
        // read that one can do without.
        self.git().setting("index.skipHash=true")
    }

    /// Copies the user's index, unless ralph's was made from the same one.
    ///
    /// The user's index knows which ignored files are tracked and spares reading the files that it has seen unchanged;
    /// ralph's also knows the untracked ones.
    pub(super) fn follow_index(&self, state: &mut State) -> Result<Copied, GitError> {
        let theirs = self.layout.git_dir.join("index");
        let failed = |source| GitError::File {
            path: theirs.clone(),
            source,
        };
        let (identity, file) = match open_regular(&theirs) {
            Ok(Some((file, metadata))) if metadata.len() <= CAP_BYTES => {
                (Identity::of(&metadata), Some((file, metadata)))
            }
            Ok(_) => (Identity::Odd, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Identity::Missing, None),
            Err(error) => return Err(failed(error)),
        };
        if state.origin == Some(identity) {
            return Ok(Copied::No);
        }
        state.last = None;
        self.forget_index()?;
        if let Some((mut file, metadata)) = file {
            self.copy_index(&mut file, &metadata).map_err(failed)?;
        }
        if identity == Identity::Odd {
            state.tell(format!(
                "{} is not a regular file of at most {} MiB: checkpoints are made without it, and hold no ignored files.",
                theirs.display(),
                CAP_BYTES >> 20
            ));
        }
        state.origin = Some(identity);
        Ok(Copied::Yes)
    }

    fn copy_index(&self, theirs: &mut File, metadata: &Metadata) -> io::Result<()> {
        let mut ours = File::create(&self.index)?;
        io::copy(&mut theirs.take(CAP_BYTES), &mut ours)?;
        // git mistrusts entries as young as the index itself; a copy that looks younger would be trusted.
        ours.set_modified(metadata.modified()?)
    }

    /// Takes the differences that were found into the index; a file that git cannot take becomes a notice.
    pub(super) fn update_index(&self, work: &mut Work) -> Result<(), GitError> {
        if !work.remove.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            self.own_index_git().args(args).input(listed(&work.remove)).run()?;
        }
        let mut refused = 0;
        // git takes all paths or none. Where it takes none, halves are tried, down to the paths it cannot take.
        let mut groups = vec![mem::take(&mut work.add)];
        while let Some(mut group) = groups.pop() {
            if group.is_empty() {
                continue;
            }
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            match self.own_index_git().args(args).input(listed(&group)).run() {
                Ok(_) => {}
                Err(error @ GitError::Refused { .. }) if group.len() == 1 => {
                    refused += 1;
                    if refused > MOST_REFUSED {
                        return Err(error);
                    }
                    let path = group[0].display();
                    work.notices
                        .push(format!("{path} is not in the checkpoint as it is: {error}."));
                }
                Err(GitError::Refused { .. }) => {
                    groups.push(group.split_off(group.len() / 2));
                    groups.push(group);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes the index: the next checkpoint copies the user's again.
    pub(super) fn forget_index(&self) -> Result<(), GitError> {
        for path in [self.index.clone(), self.index.with_extension("lock")] {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(GitError::File { path, source }),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        self.lock().finish_naming();
        _ = self.forget_index(); // a copy, worth nothing to the next run
    }
}

fn listed(paths: &[PathBuf]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}
