//! Files as they were at a checkpoint, if a later checkpoint has them differently.

use std::path::PathBuf;

use ralph_core::event::Checkpoint;

use super::{
    GitError, Repository,
    process::{self, COMPARE, RawChange, raw_changes},
};

/// Most files that are read, and most bytes of all of them.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 64 << 20;
/// Most bytes of the list of changed files.
const LIST_BYTES: usize = 1 << 20;

const NOTHING: &str = "000000";
const REGULAR: &str = "100644";
const EXECUTABLE: &str = "100755";
const LINK: &str = "120000";

/// The content of a path at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlierContent {
    Nothing,
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// The target of a symlink.
    Link(Vec<u8>),
}

impl Repository {
    /// Lists the paths below the root that differ between two checkpoints, of a renamed file both. Also returns whether the list
    /// is complete; it has at most 1 MiB. A repository inside is one path.
    ///
    /// # Errors
    /// [`GitError::Refused`] if a checkpoint is gone.
    pub fn paths_between(&self, from: &Checkpoint, to: &Checkpoint) -> Result<(Vec<PathBuf>, bool), GitError> {
        if from.tree == to.tree {
            return Ok((Vec::new(), true));
        }
        let git = self.store_git().args(COMPARE);
        let output = git.output_cap(LIST_BYTES).args([&from.tree, &to.tree]).run()?;
        let changes = raw_changes(&output.stdout).map_while(|change| change);
        let paths = changes.map(|change| process::path(change.path)).collect();
        Ok((paths, !output.cut))
    }

    /// Reads the files that differ between two checkpoints as they were at the earlier one, with their paths below the
    /// root. Returns `None` if there are more than 500 files or 64 MiB. Nested repositories are left out.
    ///
    /// # Errors
    /// [`GitError::Refused`] if a checkpoint is gone.
    pub fn earlier(
        &self,
        from: &Checkpoint,
        to: &Checkpoint,
    ) -> Result<Option<Vec<(PathBuf, EarlierContent)>>, GitError> {
        if from.tree == to.tree {
            return Ok(Some(Vec::new()));
        }
        let git = self.store_git().args(COMPARE);
        let output = git.output_cap(LIST_BYTES).args([&from.tree, &to.tree]).run()?;
        let files = changed_files(&output.stdout).ok_or_else(|| output.unexpected())?;
        if output.cut || files.len() > MOST_FILES {
            return Ok(None);
        }
        let present = files.iter().filter(|file| file.modes[0] != NOTHING);
        let asked: String = present.map(|file| format!("{}\n", file.blob_before)).collect();
        let git = self.store_git().args(["cat-file", "--batch"]).input(asked.into_bytes());
        let blobs = git.output_cap(MOST_BYTES).run()?;
        if blobs.cut {
            return Ok(None);
        }
        let mut rest = &blobs.stdout[..];
        let read = files
            .iter()
            .map(|file| Some((process::path(file.path), content(file.modes[0], &mut rest)?)));
        let read: Option<Vec<_>> = read.collect();
        read.map(Some).ok_or_else(|| blobs.unexpected())
    }
}

/// Takes the content of a file with `mode` from the blobs.
fn content(mode: &str, blobs: &mut &[u8]) -> Option<EarlierContent> {
    if mode == NOTHING {
        return Some(EarlierContent::Nothing);
    }
    let bytes = take_blob(blobs)?;
    Some(match mode {
        LINK => EarlierContent::Link(bytes),
        mode => EarlierContent::File {
            bytes,
            executable: mode == EXECUTABLE,
        },
    })
}

/// The changed files that are a file or a link at both checkpoints, or absent at one.
fn changed_files(output: &[u8]) -> Option<Vec<RawChange<'_>>> {
    let changes: Option<Vec<_>> = raw_changes(output).collect();
    let is_file = |mode: &str| matches!(mode, NOTHING | REGULAR | EXECUTABLE | LINK);
    let files = changes?
        .into_iter()
        .filter(|change| change.modes.into_iter().all(is_file));
    Some(files.collect())
}

/// Takes `NAME blob SIZE`, a line end, SIZE bytes and a line end.
fn take_blob(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let (_, size) = str::from_utf8(&rest[..end]).ok()?.split_once(" blob ")?;
    let (bytes, after) = rest[end + 1..].split_at_checked(size.parse().ok()?)?;
    *rest = after.strip_prefix(b"\n")?;
    Some(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_taken_one_after_the_other() {
        let mut rest = &b"1f blob 3\na\nb\n2e blob 0\n\n"[..];
        assert_eq!(take_blob(&mut rest).unwrap(), b"a\nb");
        assert_eq!(take_blob(&mut rest).unwrap(), b"");
        assert!(rest.is_empty());
        for cut in [&b"1f blob 3\na"[..], b"1f missing\n", b"1f blob 1\nab", b""] {
            assert_eq!(take_blob(&mut { cut }), None);
        }
    }

    #[test]
    fn what_is_no_file_on_either_side_is_left_out() {
        let output = b":100755 000000 1f 00 D\0gone\0:000000 100644 00 2e A\0new\0:160000 160000 3d 4c M\0inner\0";
        let files = changed_files(output).unwrap();
        let files: Vec<_> = files.iter().map(|file| (file.modes[0], file.path)).collect();
        assert_eq!(files, [(EXECUTABLE, &b"gone"[..]), (NOTHING, b"new")]);
        assert!(changed_files(b"new\0file\0").is_none());
    }
}
