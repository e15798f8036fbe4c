//! Has git store files byte for byte, with their modes and links, and run no program on them.
//!
//! Attributes convert line ends, expand `$Id$` and run filters, in both directions. Of all files of attributes
//! `info/attributes` takes precedence. So git works on ralph's index with a common directory of ralph's own, which has
//! that file, and links to the repository's for everything else.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ralph_system::files::open_unfollowed;

use super::{
    GitError, Repository,
    entries::IndexEntry,
    layout::{GITATTRIBUTES, config_home},
    process::{self, Git},
};

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

/// Settings with which git may store other bytes than the file has: line ends, or a further file of attributes.
const CONVERSIONS: [&str; 2] = ["core.attributesfile", "core.autocrlf"];
/// Words of attributes that change what is stored of a file.
const CONVERTING: [&[u8]; 7] = [b"text", b"eol", b"crlf", b"ident", b"filter", b"encoding", b"[attr]"];
/// A larger file of attributes is not searched.
const ATTRIBUTES_BYTES: u64 = 1 << 20;

impl Repository {
    /// Returns a git command on ralph's index and the unconverted files.
    pub(super) fn own_index_git(&self) -> Git {
        // The checksum of an index, which git does not verify, costs as much as reading it.
        let git = self.git().setting("index.skipHash=true");
        let empty = if self.id_bytes == 20 {
            EMPTY_TREE
        } else {
            EMPTY_TREE_SHA256
        };
        SETTINGS
            .into_iter()
            .fold(git, Git::setting)
            .env("GIT_COMMON_DIR", &self.attribute_free_dir)
            .env("GIT_OBJECT_DIRECTORY", self.layout.common_dir.join("objects"))
            .env("GIT_ATTR_SOURCE", empty)
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

    /// Whether the user's index may hold converted content instead of the files' bytes.
    pub(super) fn converts(&self, entries: &[IndexEntry]) -> bool {
        let mut places = vec![
            self.layout.common_dir.join("info/attributes"),
            "/etc/gitattributes".into(),
        ];
        places.extend(config_home().map(|config| config.join("git/attributes")));
        let mut directories = HashSet::new();
        for entry in entries {
            for directory in process::path(&entry.path).ancestors().skip(1) {
                if !directories.insert(directory.to_owned()) {
                    break;
                }
            }
        }
        directories.insert(PathBuf::new());
        let inside = directories
            .into_iter()
            .map(|directory| self.layout.root.join(directory));
        places.extend(inside.map(|directory| directory.join(GITATTRIBUTES)));
        if places.iter().any(|path| is_converting(path)) {
            return true;
        }
        let Some(known) = self.settings() else { return true };
        let set = known.settings.lines(|key| CONVERSIONS.contains(&key));
        set.iter().any(|line| !line.eq_ignore_ascii_case("core.autocrlf false"))
    }
}

/// Whether a file of attributes may change what is stored; true if it cannot be searched.
fn is_converting(path: &Path) -> bool {
    let file = match open_unfollowed(path) {
        Ok(Some((file, metadata))) if metadata.len() <= ATTRIBUTES_BYTES => file,
        Ok(_) => return true,
        Err(error) => return error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::NotADirectory,
    };
    let mut bytes = Vec::new();
    let read = file.take(ATTRIBUTES_BYTES).read_to_end(&mut bytes);
    let names = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    read.is_err() || CONVERTING.into_iter().any(names)
}
