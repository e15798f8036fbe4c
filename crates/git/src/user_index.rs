//! The files of the user's index, as git lists them.

use std::{
    collections::HashSet,
    fs::Metadata,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::PathBuf,
};

use super::process::{self, nul_separated};

/// The user's index when ralph's was last updated from it.
#[derive(Debug)]
pub(super) struct UserIndex {
    pub(super) identity: IndexIdentity,
    /// The output of `git ls-files -t --stage -z`.
    pub(super) listed: Vec<u8>,
}

/// The identity of the user's index file: git never writes an index in place, so a new version is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexIdentity {
    Missing,
    /// A file that git would not leave there, or a huge one.
    Odd,
    File {
        inode: u64,
        bytes: u64,
        modified: (i64, i64),
    },
}

impl IndexIdentity {
    pub(super) fn from_metadata(metadata: &Metadata) -> IndexIdentity {
        IndexIdentity::File {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// A file of the user's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedFile<'a> {
    /// The item of the list.
    pub(super) item: &'a [u8],
    /// The file should not be in the work tree (`skip-worktree`).
    pub(super) is_skipped: bool,
    /// `MODE OBJECT`.
    content: &'a str,
    pub(super) path: &'a [u8],
}

impl<'a> ListedFile<'a> {
    /// Parses `TAG MODE OBJECT STAGE<TAB>PATH`.
    fn parse(item: &'a [u8]) -> Option<ListedFile<'a>> {
        let tab = item.iter().position(|&byte| byte == b'\t')?;
        let (tag, rest) = str::from_utf8(&item[..tab]).ok()?.split_once(' ')?;
        Some(ListedFile {
            item,
            is_skipped: tag == "S",
            content: rest.rsplit_once(' ')?.0,
            path: &item[tab + 1..],
        })
    }

    /// Returns the name of the file's object.
    pub(super) fn object(&self) -> &'a str {
        self.content.rsplit(' ').next().unwrap_or_default()
    }

    /// Whether it names a commit, as the entry of a submodule does.
    pub(super) fn is_link(&self) -> bool {
        self.content.starts_with("160000 ")
    }

    /// Whether a work tree can have the path: no `..`, `.git` or empty part. An agent can write any path into an index.
    fn is_possible(&self) -> bool {
        let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b".." | b".git");
        self.path.split(|&byte| byte == b'/').all(is_part)
    }

    /// Formats the file for `git update-index --index-info`. A file in conflict is listed with each of its sides; the
    /// last one stands for it.
    pub(super) fn entry(&self) -> Vec<u8> {
        [self.content.as_bytes(), b" 0\t", self.path, b"\0"].concat()
    }
}

impl UserIndex {
    pub(super) fn files(&self) -> impl Iterator<Item = ListedFile<'_>> {
        let files = nul_separated(&self.listed).filter_map(ListedFile::parse);
        files.filter(ListedFile::is_possible)
    }

    /// Returns the submodules.
    pub(super) fn submodules(&self) -> impl Iterator<Item = ListedFile<'_>> {
        self.files().filter(ListedFile::is_link)
    }

    /// Returns those of the paths that the user's index has; ralph's also has untracked ones.
    pub(super) fn tracked(&self, paths: &[PathBuf]) -> HashSet<PathBuf> {
        if paths.is_empty() {
            return HashSet::new();
        }
        let paths: HashSet<&[u8]> = paths.iter().map(|path| path.as_os_str().as_bytes()).collect();
        let tracked = self.files().filter(|file| paths.contains(file.path));
        tracked.map(|file| process::path(file.path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read_and_names_that_lead_elsewhere_are_nobodys_files() {
        let of = |tag: &str, stage: &str, path: &str| format!("{tag} 100644 07 {stage}\t{path}\0");
        let listed = [
            of("H", "0", "a b"),
            of("S", "0", "gone"),
            of("M", "3", "both"),
            of("H", "0", "../up"),
            of("H", "0", "a/../b"),
            of("H", "0", "/absolute"),
            of("H", "0", ".git/config"),
            of("H", "0", "a//b"),
            "no listing\0".to_owned(),
        ];
        let index = UserIndex {
            identity: IndexIdentity::Missing,
            listed: listed.concat().into_bytes(),
        };
        let files: Vec<_> = index.files().map(|file| (file.is_skipped, file.entry())).collect();
        let entry = |path: &str| format!("100644 07 0\t{path}\0").into_bytes();
        assert_eq!(
            files,
            [(false, entry("a b")), (true, entry("gone")), (false, entry("both"))]
        );
    }
}
