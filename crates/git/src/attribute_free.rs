//! Has git store files byte for byte, with their modes and links, and run no program on them.
//!
//! Attributes convert line ends, expand `$Id$` and run filters, in both directions. Of all files of attributes
//! `info/attributes` takes precedence. So git works on ralph's index with a common directory of ralph's own, which has
//! that file, and links to the repository's for everything else.

use std::{fs, io, os::unix::fs::symlink, path::Path};

use super::{GitError, Repository, process::Git};

const ATTRIBUTES: &str = "* -text -eol -crlf -ident -filter -working-tree-encoding\n";
const LINKED: [&str; 7] = [
    "config",
    "refs",
    "packed-refs",
    "reftable",
    "shallow",
    "modules",
    "info/exclude",
];

/// Settings that would hide a difference, or store other bytes than were read.
const SETTINGS: [&str; 6] = [
    "core.autocrlf=false",
    "core.checkStat=default",
    "core.fileMode=true",
    "core.sparseCheckout=false",
    "core.symlinks=true",
    "core.trustCtime=true",
];

/// The empty tree, which git knows without having it, as the source of attributes: git then reads none from the work
/// tree, where a pipe would block it. Versions before 2.41 do read them, but `info/attributes` still takes precedence.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl Repository {
    /// Returns a git command on ralph's index and the unconverted files.
    pub(super) fn own_index_git(&self) -> Git {
        // The checksum of an index, which git does not verify, costs as much as reading it.
        let git = self.git().setting("index.skipHash=true");
        SETTINGS
            .into_iter()
            .fold(git, Git::setting)
            .env("GIT_COMMON_DIR", &self.attribute_free_dir)
            .env("GIT_OBJECT_DIRECTORY", self.store_objects())
            .env("GIT_ATTR_SOURCE", self.empty_tree())
    }

    /// Returns the name of the empty tree.
    pub(super) fn empty_tree(&self) -> &'static str {
        match self.id_bytes {
            20 => EMPTY_TREE,
            _ => EMPTY_TREE_SHA256,
        }
    }

    /// Makes ralph's common directory, which overrules all attributes, unless it exists.
    pub(super) fn make_attribute_free(&self) -> Result<(), GitError> {
        let attributes = self.attribute_free_dir.join("info/attributes");
        if attributes.is_file() {
            return Ok(());
        }
        self.fill_attribute_free_dir(&attributes)
            .map_err(|source| GitError::File {
                path: self.attribute_free_dir.clone(),
                source,
            })
    }

    fn fill_attribute_free_dir(&self, attributes: &Path) -> io::Result<()> {
        fs::create_dir_all(self.attribute_free_dir.join("info"))?;
        for name in LINKED {
            let link = self.attribute_free_dir.join(name);
            match symlink(self.layout.common_dir.join(name), link) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        // Written last: it marks the directory as complete.
        fs::write(attributes, ATTRIBUTES)
    }
}
