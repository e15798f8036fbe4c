//! Tree objects of the known files: computes their names and writes them without git.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Bound,
};

use super::{
    entries::{DIRECTORY, IndexEntry},
    loose::{LooseObjects, ObjectId, PackDirectoryState, hex},
    sha1::sha1,
};

/// A file of the index.
#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    pub(super) entry: IndexEntry,
    /// The file may have changed since it was read without a visible difference.
    pub(super) is_suspect: bool,
}

/// Tree objects of the directories, by path with a slash at the end; the root's path is empty.
#[derive(Debug, Default)]
pub(super) struct Trees {
    ids: HashMap<Vec<u8>, ObjectId>,
    /// Objects that git has found in packs, valid as long as `packs` is unchanged.
    packed: HashSet<Vec<u8>>,
    packs: Option<PackDirectoryState>,
    /// Objects that were not found outside of packs at the latest attempt.
    missing: HashSet<Vec<u8>>,
    /// Trees that were not written because of missing objects.
    unwritten: HashSet<Vec<u8>>,
}

/// Destination of tree objects.
enum TreeDestination<'a> {
    /// Only their names are computed.
    Nothing,
    Objects(&'a LooseObjects),
}

struct TreeItem {
    mode: u32,
    name: Vec<u8>,
    id: Vec<u8>,
}

type KnownFiles = BTreeMap<Vec<u8>, KnownFile>;

impl Trees {
    /// Forgets the trees that contain a file.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.ids.remove(&b""[..]);
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.ids.remove(&path[..=at]);
        }
    }

    /// Whether no file has changed since the trees were named.
    pub(super) fn are_known(&self) -> bool {
        self.ids.contains_key(&b""[..])
    }

    /// Computes the name of the root tree, which git has written.
    pub(super) fn name(&mut self, files: &KnownFiles) -> Option<String> {
        self.tree(files, b"", &TreeDestination::Nothing).map(|id| hex(&id))
    }

    /// Writes the changed trees and returns the root's name. `None` if an object may be missing, which only git can
    /// verify.
    pub(super) fn write(&mut self, files: &KnownFiles, loose: &LooseObjects) -> Option<String> {
        let packs = loose.packs();
        if packs.is_none() || packs != self.packs {
            self.packed.clear();
            self.packs = packs;
        }
        self.missing.clear();
        self.unwritten.clear();
        // Another process may have removed the tree.
        if let Some(root) = self.ids.get(&b""[..])
            && !self.packed.contains(&root[..])
            && !loose.has(&hex(root))
        {
            return None;
        }
        let root = self.tree(files, b"", &TreeDestination::Objects(loose))?;
        self.missing.is_empty().then(|| hex(&root))
    }

    /// Records that git has written the tree of these files, and so verified that the missing objects exist.
    pub(super) fn written_by_git(&mut self, files: &KnownFiles, tree: &str) -> bool {
        if self.packs.is_some() {
            self.packed.extend(self.missing.drain());
        }
        self.name(files).is_some_and(|name| name == tree)
    }

    fn tree(&mut self, files: &KnownFiles, directory: &[u8], to: &TreeDestination) -> Option<ObjectId> {
        if let Some(id) = self.ids.get(directory) {
            return Some(*id);
        }
        let items = self.items(files, directory, to)?;
        // git does not write empty trees.
        if items.is_empty() {
            return None;
        }
        let mut content = Vec::new();
        for item in &items {
            content.extend(format!("{:o} ", item.mode).bytes());
            content.extend(&item.name);
            content.push(0);
            content.extend(&item.id);
        }
        let name = || sha1(&[format!("tree {}\0", content.len()).as_bytes(), &content].concat());
        let id = match to {
            TreeDestination::Nothing => name(),
            TreeDestination::Objects(loose) if self.all_there(items, loose) => loose.write("tree", &content)?,
            TreeDestination::Objects(_) => {
                let id = name();
                self.unwritten.insert(id.to_vec());
                return Some(id);
            }
        };
        self.ids.insert(directory.to_owned(), id);
        Some(id)
    }

    /// Whether all objects of a tree exist; remembers the missing ones.
    fn all_there(&mut self, items: Vec<TreeItem>, loose: &LooseObjects) -> bool {
        let mut all = true;
        for item in items {
            if self.unwritten.contains(&item.id) {
                all = false;
            } else if !self.packed.contains(&item.id) && !loose.has(&hex(&item.id)) {
                all = false;
                self.missing.insert(item.id);
            }
        }
        all
    }

    /// Returns the items of one directory in git's order, which is that of the paths.
    fn items(&mut self, files: &KnownFiles, directory: &[u8], to: &TreeDestination) -> Option<Vec<TreeItem>> {
        let mut items = Vec::new();
        let mut from = Bound::Included(directory.to_vec());
        while let Some((path, known)) = files.range((from, Bound::Unbounded)).next() {
            let Some(rest) = path.strip_prefix(directory) else {
                break;
            };
            let Some(end) = rest.iter().position(|&byte| byte == b'/') else {
                items.push(TreeItem {
                    mode: known.entry.mode(),
                    name: rest.to_vec(),
                    id: known.entry.id.clone(),
                });
                from = Bound::Excluded(path.clone());
                continue;
            };
            let below = &path[..=directory.len() + end];
            let id = self.tree(files, below, to)?;
            items.push(TreeItem {
                mode: DIRECTORY,
                name: rest[..end].to_vec(),
                id: id.to_vec(),
            });
            // Continues after everything below this directory: the byte after a slash.
            let mut after = below.to_vec();
            after.pop();
            after.push(b'/' + 1);
            from = Bound::Included(after);
        }
        Some(items)
    }
}
