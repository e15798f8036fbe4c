//! The files as ralph knows them from the checkpoint before, so that most of the next one needs no git: it compares the work
//! tree with them, records what differs and keeps ralph's index as git would.
//!
//! Only what is usual is known this way. Whatever is not, a new name first of all, is left to git, which knows what is ignored.

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
    entries::Entry,
    layout::GITATTRIBUTES,
    look::{Look, look_through},
    loose::{self, Id, Loose},
    process,
    rules::Rules,
    tree::{Known, Trees},
};

/// More files are left to git: what is known of them would take much memory.
const MOST_FILES: usize = 200_000;
/// A larger file is left to git.
const FILE_BYTES: u64 = 1 << 20;
/// Files that are read at once, and their bytes; more are left to git.
const MOST_READ: usize = 256;
const MOST_BYTES: u64 = 8 << 20;
/// Names that change what other files are to git.
const OF_GIT: [&[u8]; 2] = [b".gitignore", b".gitmodules"];
/// How long a file has to be older than the look at it: it may have changed afterwards, and its time is that of a clock that
/// lags behind or counts in twos.
const SETTLED_S: i64 = 2;

/// What ralph's index holds, and what is not in it.
#[derive(Debug)]
pub(super) struct Table {
    known: BTreeMap<Vec<u8>, Known>,
    /// Those of the user's index.
    tracked: HashSet<Vec<u8>>,
    ignored: HashSet<Vec<u8>>,
    pub(super) rules: Rules,
    trees: Trees,
    /// Whether ralph's index holds the same.
    pub(super) is_written: bool,
    /// Whether it holds other attributes: git looks for them there where they are not in the work tree.
    pub(super) has_other_attributes: bool,
}

/// What differs from the table.
#[derive(Debug, Default)]
pub(super) struct Differences {
    files: Vec<Content>,
    gone: Vec<Vec<u8>>,
}

/// A file that was read.
#[derive(Debug)]
struct Content {
    entry: Entry,
    is_suspect: bool,
    bytes: Vec<u8>,
}

impl Differences {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.gone.is_empty()
    }

    fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let files = self.files.iter().map(|read| &read.entry.path);
        files.chain(&self.gone).map(Vec::as_slice)
    }
}

/// How much more is read.
struct Budget {
    files: usize,
    bytes: u64,
}

impl Budget {
    fn new() -> Budget {
        Budget {
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

impl Table {
    /// None if one of the entries is more than a file.
    pub(super) fn new(
        entries: Vec<(Entry, bool)>,
        tracked: HashSet<Vec<u8>>,
        ignored: HashSet<Vec<u8>>,
        rules: Rules,
    ) -> Option<Table> {
        if entries.len() > MOST_FILES || entries.iter().any(|(entry, _)| is_unusual(entry)) {
            return None;
        }
        let known = entries.into_iter().map(|(entry, is_suspect)| {
            let known = Known { is_suspect, entry };
            (known.entry.path.clone(), known)
        });
        let table = Table {
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

    /// Takes in what is ignored now; none where that can change unseen.
    pub(super) fn ignoring(mut self, ignored: HashSet<Vec<u8>>, rules: Rules) -> Option<Table> {
        (self.ignored, self.rules) = (ignored, rules);
        let is_odd = |path: &Vec<u8>| is_of_git(path) || path.ends_with(b"/") && self.has_below(path);
        (!self.ignored.iter().any(is_odd)).then_some(self)
    }

    /// Whether a file is known in a directory, which is given with a slash.
    fn has_below(&self, directory: &[u8]) -> bool {
        let mut from = self.known.range(directory.to_vec()..);
        from.next().is_some_and(|(path, _)| path.starts_with(directory))
    }

    /// Takes in the user's index after it has changed; false where more than its files' contents has.
    pub(super) fn follow(&mut self, root: &Path, theirs: &[Entry]) -> bool {
        let tracked: HashSet<Vec<u8>> = theirs.iter().map(|entry| entry.path.clone()).collect();
        // What is tracked no more may be ignored.
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
                // What is ignored as a whole is not looked through.
                if above(&entry.path).any(|directory| self.ignored.contains(directory)) {
                    return false;
                }
                let known = Known {
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

    /// Writes the trees of the files; none where git has to.
    pub(super) fn write_trees(&mut self, loose: &Loose) -> Option<String> {
        self.trees.write(&self.known, loose)
    }

    /// Whether the trees of the checkpoint before are those of the files.
    pub(super) fn is_as_before(&self) -> bool {
        self.trees.are_known()
    }

    /// Takes in that git has written the tree of ralph's index; false where that is another one than it should be.
    pub(super) fn is_of(&mut self, tree: &str) -> bool {
        self.trees.written_by_git(&self.known, tree)
    }

    /// The entries in their order, for an index.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let entries = self.known.values().map(|known| match known.is_suspect {
            true => known.entry.clone().unread(),
            false => known.entry.clone(),
        });
        entries.collect()
    }

    /// Compares the files with those that are known; none where git has to.
    pub(super) fn compare(&mut self, root: &Path, spares: impl Fn(&Path) -> bool + Sync) -> Option<Differences> {
        let look = look_through(|directory| self.look_at(root, directory, &spares))?;
        let mut gone = Vec::new();
        if look.seen.len() < self.known.len() {
            let seen: HashSet<&[u8]> = look.seen.into_iter().collect();
            let missing = self.known.keys().filter(|path| !seen.contains(&path[..]));
            gone.extend(missing.cloned());
        }
        let files = self.read_again(root, look.to_read)?;
        let found = Differences { files, gone };
        let is_for_git = found.paths().any(is_of_git);
        (!is_for_git).then_some(found)
    }

    /// Looks at what is in a directory itself; none where git has to.
    fn look_at(&self, root: &Path, directory: &[u8], spares: impl Fn(&Path) -> bool) -> Option<Look<'_>> {
        let mut look = Look::default();
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
                    look.directories.push(path);
                }
            } else if let Some((known_path, known)) = self.known.get_key_value(&path) {
                look.seen.push(known_path);
                if known.is_suspect || !known.entry.looks_like(&item.metadata().ok()?) {
                    look.to_read.push(path);
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
        Some(look)
    }

    /// Reads files that may have changed, and returns those that have.
    fn read_again(&mut self, root: &Path, paths: Vec<Vec<u8>>) -> Option<Vec<Content>> {
        let mut changed = Vec::new();
        let mut budget = Budget::new();
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

    /// Reads the files that git has found to differ; none where git has to.
    pub(super) fn read(&self, root: &Path, add: &[PathBuf], remove: &[PathBuf]) -> Option<Differences> {
        let mut found = Differences::default();
        let mut budget = Budget::new();
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

    /// Takes in what differs, once all of it is written; none where it cannot be.
    pub(super) fn record(&mut self, differences: Differences, loose: &Loose) -> Option<()> {
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
            let known = Known {
                is_suspect: read.is_suspect,
                entry: read.entry,
            };
            self.known.insert(known.entry.path.clone(), known);
        }
        Some(())
    }
}

/// The directories that a file is in, the root excepted, each with a slash.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..=at])
}

/// Whether there is more to it than a file.
fn is_unusual(entry: &Entry) -> bool {
    entry.stage != 0 || entry.absent || entry.is_link()
}

fn is_of_git(path: &[u8]) -> bool {
    OF_GIT.contains(&name_of(path))
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// Reads a file or a link; none if that is not what it is, or too much.
fn read(root: &Path, path: &[u8], budget: &mut Budget) -> Option<Content> {
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
    let id: Id = loose::id_of(&content);
    Some(Content {
        entry: Entry::of(path, &id, &metadata)?,
        is_suspect: may_change_unseen(&metadata, before),
        bytes: content,
    })
}

/// Whether a file could change after it was looked at and have the same times.
fn may_change_unseen(metadata: &Metadata, looked_s: i64) -> bool {
    metadata.mtime().max(metadata.ctime()) > looked_s - SETTLED_S
}

fn now_s() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
