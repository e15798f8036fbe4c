//! Trees of the files that are known: their names as git gives them, and written without it.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Bound,
};

use super::{
    entries::{DIRECTORY, Entry},
    loose::{Id, Loose, Packs, hex},
    sha1::sha1,
};

/// A file of the index.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) entry: Entry,
    /// It may have changed since it was read and look the same.
    pub(super) is_suspect: bool,
}

/// The trees of the directories, by path with a slash at the end; the root's is empty.
#[derive(Debug, Default)]
pub(super) struct Trees {
    of: HashMap<Vec<u8>, Id>,
    /// What git has found in packs, as long as these are the packs.
    packed: HashSet<Vec<u8>>,
    packs: Option<Packs>,
    /// What was not found beside the packs at the latest attempt.
    missing: HashSet<Vec<u8>>,
    /// Trees that were not written because of that.
    unwritten: HashSet<Vec<u8>>,
}

/// Where trees go.
enum To<'a> {
    /// Nowhere: their names are wanted.
    Nothing,
    Objects(&'a Loose),
}

struct Item {
    mode: u32,
    name: Vec<u8>,
    id: Vec<u8>,
}

type Files = BTreeMap<Vec<u8>, Known>;

impl Trees {
    /// Forgets the trees that have a file in them.
    pub(super) fn forget(&mut self, path: &[u8]) {
        self.of.remove(&b""[..]);
        for (at, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            self.of.remove(&path[..=at]);
        }
    }

    /// Whether no file has changed since they were named.
    pub(super) fn are_known(&self) -> bool {
        self.of.contains_key(&b""[..])
    }

    /// Names the trees of the files, all of which git has written.
    pub(super) fn name(&mut self, files: &Files) -> Option<String> {
        self.tree(files, b"", &To::Nothing).map(|id| hex(&id))
    }

    /// Writes the trees that changed and returns the root's name. None where something in them may not be there: git has to
    /// make sure of it.
    pub(super) fn write(&mut self, files: &Files, loose: &Loose) -> Option<String> {
        let packs = loose.packs();
        if packs.is_none() || packs != self.packs {
            self.packed.clear();
            self.packs = packs;
        }
        self.missing.clear();
        self.unwritten.clear();
        // Somebody may have taken away what was written before.
        if let Some(root) = self.of.get(&b""[..])
            && !self.packed.contains(&root[..])
            && !loose.has(&hex(root))
        {
            return None;
        }
        let root = self.tree(files, b"", &To::Objects(loose))?;
        self.missing.is_empty().then(|| hex(&root))
    }

    /// git has written the tree of these files, and so made sure that what was missed is there.
    pub(super) fn written_by_git(&mut self, files: &Files, tree: &str) -> bool {
        if self.packs.is_some() {
            self.packed.extend(self.missing.drain());
        }
        self.name(files).is_some_and(|name| name == tree)
    }

    fn tree(&mut self, files: &Files, directory: &[u8], to: &To) -> Option<Id> {
        if let Some(id) = self.of.get(directory) {
            return Some(*id);
        }
        let items = self.items(files, directory, to)?;
        // The empty tree is none that git writes.
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
            To::Nothing => name(),
            To::Objects(loose) if self.all_there(items, loose) => loose.write("tree", &content)?,
            To::Objects(_) => {
                let id = name();
                self.unwritten.insert(id.to_vec());
                return Some(id);
            }
        };
        self.of.insert(directory.to_owned(), id);
        Some(id)
    }

    /// Makes sure of everything in a tree, and remembers what is not to be found.
    fn all_there(&mut self, items: Vec<Item>, loose: &Loose) -> bool {
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

    /// What is in a directory itself, in git's order, which is that of the paths.
    fn items(&mut self, files: &Files, directory: &[u8], to: &To) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        let mut from = Bound::Included(directory.to_vec());
        while let Some((path, known)) = files.range((from, Bound::Unbounded)).next() {
            let Some(rest) = path.strip_prefix(directory) else {
                break;
            };
            let Some(end) = rest.iter().position(|&byte| byte == b'/') else {
                items.push(Item {
                    mode: known.entry.mode(),
                    name: rest.to_vec(),
                    id: known.entry.id.clone(),
                });
                from = Bound::Excluded(path.clone());
                continue;
            };
            let below = &path[..=directory.len() + end];
            let id = self.tree(files, below, to)?;
            items.push(Item {
                mode: DIRECTORY,
                name: rest[..end].to_vec(),
                id: id.to_vec(),
            });
            // The byte after a slash: all that is below is passed over.
            let mut after = below.to_vec();
            after.pop();
            after.push(b'/' + 1);
            from = Bound::Included(after);
        }
        Some(items)
    }
}
