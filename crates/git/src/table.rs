//! ralph's knowledge of the files from the previous checkpoint, so that most checkpoints need no git: it compares the
//! work tree with the table, records the differences and maintains ralph's index as git would.
//!
//! The table knows only the usual cases. Everything else, above all a new file, is left to git, which knows the ignore
//! rules.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, Metadata},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use ralph_system::files::open_unfollowed;

use super::{
    directory_contents::{DirectoryContents, walk_directories},
    entries::IndexEntry,
    known_settings::IgnoreRuleFiles,
    layout::GITATTRIBUTES,
    loose::{self, LooseObjects, ObjectId},
    process,
    tree::{KnownFile, Trees},
};

/// With more files, the table would take much memory, so git does the work.
const MOST_FILES: usize = 200_000;
/// A larger file is left to git.
const FILE_BYTES: u64 = 1 << 20;
/// Files that are read in one comparison, and their bytes; more are left to git.
const MOST_READ: usize = 256;
const MOST_BYTES: u64 = 8 << 20;
/// Names of files that change how git treats other files.
const OF_GIT: [&[u8]; 2] = [b".gitignore", b".gitmodules"];
/// Seconds by which a file must be older than the look at it to count as unchanged. It could change later within the
/// same timestamp: clocks of file systems lag behind, or have a resolution of two seconds.
const SETTLED_S: i64 = 2;

/// The content of ralph's index, and the files outside of it.
#[derive(Debug)]
pub(super) struct IndexTable {
    known: BTreeMap<Vec<u8>, KnownFile>,
    /// Paths in the user's index.
    tracked: HashSet<Vec<u8>>,
    ignored: HashSet<Vec<u8>>,
    pub(super) rules: IgnoreRuleFiles,
    trees: Trees,
    /// Whether ralph's index file has the same content.
    pub(super) is_written: bool,
    /// Whether files of attributes differ from those in ralph's index file, where git looks if the work tree has none.
    pub(super) has_other_attributes: bool,
}

/// Differences between the work tree and the table.
#[derive(Debug, Default)]
pub(super) struct TableDifferences {
    files: Vec<FileContent>,
    gone: Vec<Vec<u8>>,
}

/// The content of a file that was read.
#[derive(Debug)]
struct FileContent {
    entry: IndexEntry,
    is_suspect: bool,
    bytes: Vec<u8>,
}

impl TableDifferences {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.gone.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let files = self.files.iter().map(|read| &read.entry.path);
        files.chain(&self.gone).map(Vec::as_slice)
    }
}

/// Files and bytes that may still be read.
struct ReadBudget {
    files: usize,
    bytes: u64,
}

impl ReadBudget {
    fn new() -> ReadBudget {
        ReadBudget {
            files: MOST_READ,
            bytes: MOST_BYTES,
        }
    }

    fn take(&mut self, bytes: u64) -> Option<()> {
        self.files = self.files.checked_sub(1)?;
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(())
    }
}

impl IndexTable {
    /// Makes a table; `None` if there are too many entries, or one that is not an ordinary file.
    pub(super) fn new(
        entries: Vec<(IndexEntry, bool)>,
        tracked: HashSet<Vec<u8>>,
        ignored: HashSet<Vec<u8>>,
        rules: IgnoreRuleFiles,
    ) -> Option<IndexTable> {
        if entries.len() > MOST_FILES || entries.iter().any(|(entry, _)| is_unusual(entry)) {
            return None;
        }
        let known = entries.into_iter().map(|(entry, is_suspect)| {
            let known = KnownFile { is_suspect, entry };
            (known.entry.path.clone(), known)
        });
        let table = IndexTable {
            known: known.collect(),
            tracked,
            ignored: HashSet::new(),
            rules: rules.clone(),
            trees: Trees::default(),
            is_written: true,
            has_other_attributes: false,
        };
        table.ignoring(ignored, rules)
    }

    /// Replaces the ignored paths and their rules; `None` if they could change unnoticed.
    pub(super) fn ignoring(mut self, ignored: HashSet<Vec<u8>>, rules: IgnoreRuleFiles) -> Option<IndexTable> {
        (self.ignored, self.rules) = (ignored, rules);
        let is_odd = |path: &Vec<u8>| is_of_git(path) || path.ends_with(b"/") && self.has_below(path);
        (!self.ignored.iter().any(is_odd)).then_some(self)
    }

    /// Whether a known file lies in a directory, which is given with a slash.
    fn has_below(&self, directory: &[u8]) -> bool {
        let mut from = self.known.range(directory.to_vec()..);
        from.next().is_some_and(|(path, _)| path.starts_with(directory))
    }

    /// Follows a change of the user's index; false if it is unusual or may change what is ignored.
    pub(super) fn follow(&mut self, root: &Path, theirs: &[IndexEntry]) -> bool {
        let tracked: HashSet<Vec<u8>> = theirs.iter().map(|entry| entry.path.clone()).collect();
        // Files that are not tracked any more may be ignored.
        let untracked = self.tracked.difference(&tracked);
        let is_there = |path: &Vec<u8>| root.join(process::path(path)).symlink_metadata().is_ok();
        if untracked.into_iter().any(is_there) {
            return false;
        }
        for entry in theirs {
            if is_unusual(entry) {
                return false;
            }
            if !self.known.contains_key(&entry.path) {
                // The contents of ignored directories are not looked at.
                if above(&entry.path).any(|directory| self.ignored.contains(directory)) {
                    return false;
                }
                let known = KnownFile {
                    entry: entry.clone().unread(),
                    is_suspect: false,
                };
                self.trees.forget(&entry.path);
                self.known.insert(entry.path.clone(), known);
                self.is_written = false;
            }
        }
        self.tracked = tracked;
        true
    }

    /// Writes the trees of the files; `None` if git has to.
    pub(super) fn write_trees(&mut self, loose: &LooseObjects) -> Option<String> {
        self.trees.write(&self.known, loose)
    }

    /// Whether no file differs from the previous checkpoint.
    pub(super) fn is_as_before(&self) -> bool {
        self.trees.are_known()
    }

    /// Records that git has written the tree of ralph's index; false if it is not the expected one.
    pub(super) fn is_of(&mut self, tree: &str) -> bool {
        self.trees.written_by_git(&self.known, tree)
    }

    /// Returns the entries in order, for an index.
    pub(super) fn entries(&self) -> Vec<IndexEntry> {
        let entries = self.known.values().map(|known| match known.is_suspect {
            true => known.entry.clone().unread(),
            false => known.entry.clone(),
        });
        entries.collect()
    }

    /// Compares the work tree with the table; `None` if git has to.
    pub(super) fn compare(&mut self, root: &Path, spares: impl Fn(&Path) -> bool + Sync) -> Option<TableDifferences> {
        let contents = walk_directories(|directory| self.list_directory(root, directory, &spares))?;
        let mut gone = Vec::new();
        if contents.seen.len() < self.known.len() {
            let seen: HashSet<&[u8]> = contents.seen.into_iter().collect();
            let missing = self.known.keys().filter(|path| !seen.contains(&path[..]));
            gone.extend(missing.cloned());
        }
        let files = self.read_again(root, contents.to_read)?;
        let found = TableDifferences { files, gone };
        let is_for_git = found.paths().any(is_of_git);
        (!is_for_git).then_some(found)
    }

    /// Lists one directory without those below; `None` if git has to.
    fn list_directory(
        &self,
        root: &Path,
        directory: &[u8],
        spares: impl Fn(&Path) -> bool,
    ) -> Option<DirectoryContents<'_>> {
        let mut contents = DirectoryContents::default();
        for item in fs::read_dir(root.join(process::path(directory))).ok()? {
            let item = item.ok()?;
            let kind = item.file_type().ok()?;
            let mut path = [directory, item.file_name().as_bytes()].concat();
            if kind.is_dir() {
                if directory.is_empty() && path == b".git" || spares(&process::path(&path)) {
                    continue;
                }
                path.push(b'/');
                if !self.ignored.contains(&path) {
                    contents.directories.push(path);
                }
            } else if let Some((known_path, known)) = self.known.get_key_value(&path) {
                contents.seen.push(known_path);
                if known.is_suspect || !known.entry.looks_like(&item.metadata().ok()?) {
                    contents.to_read.push(path);
                }
            } else {
                let is_known = self.ignored.contains(&path)
                    || directory.is_empty() && path == b".git"
                    || !kind.is_file() && !kind.is_symlink()
                    || spares(&process::path(&path));
                if !is_known {
                    return None;
                }
            }
        }
        Some(contents)
    }

    /// Reads files that may have changed, and returns those that have.
    fn read_again(&mut self, root: &Path, paths: Vec<Vec<u8>>) -> Option<Vec<FileContent>> {
        let mut changed = Vec::new();
        let mut budget = ReadBudget::new();
        for path in paths {
            let read = read(root, &path, &mut budget)?;
            let known = self.known.get_mut(&path)?;
            if read.entry.id == known.entry.id && read.entry.mode() == known.entry.mode() {
                known.entry = read.entry;
                known.is_suspect = read.is_suspect;
            } else {
                changed.push(read);
            }
        }
        Some(changed)
    }

    /// Reads the files that git has found to differ; `None` if git has to add them.
    pub(super) fn read(&self, root: &Path, add: &[PathBuf], remove: &[PathBuf]) -> Option<TableDifferences> {
        let mut found = TableDifferences::default();
        let mut budget = ReadBudget::new();
        found
            .gone
            .extend(remove.iter().map(|path| path.as_os_str().as_bytes().to_vec()));
        for path in add {
            let bytes = path.as_os_str().as_bytes();
            match root.join(path).symlink_metadata() {
                Ok(_) => found.files.push(read(root, bytes, &mut budget)?),
                Err(_) => found.gone.push(bytes.to_vec()),
            }
        }
        // A file in the place of a directory, or the other way round.
        let is_below = |path: &[u8]| {
            let is_file = |directory: &[u8]| self.known.contains_key(&directory[..directory.len() - 1]);
            above(path).any(is_file) || self.has_below(&[path, b"/"].concat())
        };
        (!found.files.iter().any(|read| is_below(&read.entry.path))).then_some(found)
    }

    /// Records the differences after their contents are written; `None` if one cannot be written.
    pub(super) fn record(&mut self, differences: TableDifferences, loose: &LooseObjects) -> Option<()> {
        for read in &differences.files {
            let id = loose.write("blob", &read.bytes)?;
            debug_assert_eq!(id[..], read.entry.id);
        }
        self.is_written &= differences.is_empty();
        self.has_other_attributes |= differences
            .paths()
            .any(|path| name_of(path) == GITATTRIBUTES.as_bytes());
        for path in differences.gone {
            self.trees.forget(&path);
            self.known.remove(&path);
        }
        for read in differences.files {
            self.trees.forget(&read.entry.path);
            let known = KnownFile {
                is_suspect: read.is_suspect,
                entry: read.entry,
            };
            self.known.insert(known.entry.path.clone(), known);
        }
        Some(())
    }
}

/// Returns the directories that contain a file, except the root, each with a slash.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..=at])
}

/// Whether the entry is something else than an ordinary file.
fn is_unusual(entry: &IndexEntry) -> bool {
    entry.stage != 0 || entry.absent || entry.is_link()
}

fn is_of_git(path: &[u8]) -> bool {
    OF_GIT.contains(&name_of(path))
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Reads a file or a link; `None` for other kinds, and beyond the bounds.
fn read(root: &Path, path: &[u8], budget: &mut ReadBudget) -> Option<FileContent> {
    let file = root.join(process::path(path));
    let metadata = file.symlink_metadata().ok()?;
    let before = now_s();
    budget.take(metadata.len())?;
    let (metadata, content) = if metadata.is_symlink() {
        let target = fs::read_link(&file).ok()?;
        (metadata, target.as_os_str().as_bytes().to_vec())
    } else {
        let (file, metadata) = open_unfollowed(&file).ok()??;
        let mut content = Vec::new();
        file.take(FILE_BYTES + 1).read_to_end(&mut content).ok()?;
        (metadata, content)
    };
    if content.len() as u64 != metadata.len() || metadata.len() > FILE_BYTES {
        return None;
    }
    let id: ObjectId = loose::id_of(&content);
    Some(FileContent {
        entry: IndexEntry::from_metadata(path, &id, &metadata)?,
        is_suspect: may_change_unseen(&metadata, before),
        bytes: content,
    })
}

/// Whether a file could change after the look without new times.
fn may_change_unseen(metadata: &Metadata, looked_s: i64) -> bool {
    metadata.mtime().max(metadata.ctime()) > looked_s - SETTLED_S
}

fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
