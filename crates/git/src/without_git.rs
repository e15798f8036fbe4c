//! Counts the differences between two trees without git, which takes longer to start than this takes.
//!
//! Lines are counted only where every diff algorithm gives the same numbers: one edit in one place, or no line that is
//! on both sides. Anything that git may see differently (renames, attributes, packed objects) is left to git.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};

use ralph_core::event::Changes;

use super::{
    entries::{DIRECTORY, EXECUTABLE, REGULAR},
    layout::{GITATTRIBUTES, RepositoryLayout, config_home},
    loose::{LooseObjects, ObjectId, hex},
    process,
};

/// Most objects that are read, and most bytes of all together; beyond that, git does the work.
const MOST_OBJECTS: usize = 512;
const MOST_BYTES: usize = 8 << 20;
/// Bytes in which git looks for a NUL, which makes a file binary.
const LOOKED_AT_BYTES: usize = 8000;

/// Counts the files and lines that differ between two trees; `None` if git has to.
pub(super) fn changes(loose: &LooseObjects, layout: &RepositoryLayout, from: &str, to: &str) -> Option<Changes> {
    if !loose.has_default_diff_settings() || has_attributes(layout) {
        return None;
    }
    let mut walk = TreeComparison {
        objects: ObjectReader::new(loose),
        changes: Changes::default(),
        is_added_to: false,
        is_removed_from: false,
    };
    walk.trees(Some(from), Some(to), &layout.root)?;
    // A removed and an added file may be a rename.
    (!(walk.is_added_to && walk.is_removed_from)).then_some(walk.changes)
}

/// Returns the paths of files that differ between two trees; `None` if git has to. A renamed file has two paths.
pub(super) fn names(loose: &LooseObjects, from: &str, to: &str) -> Option<Vec<Vec<u8>>> {
    let (mut names, mut objects) = (Vec::new(), ObjectReader::new(loose));
    let mut trees = vec![(Some(from.to_owned()), Some(to.to_owned()), Vec::new())];
    while let Some((old, new, directory)) = trees.pop() {
        for (name, sides) in objects.differing(old.as_deref(), new.as_deref())? {
            let path = [&directory, &name[..]].concat();
            let [old, new] = sides.map(|item| item.filter(|item| item.kind == TreeEntryKind::Tree));
            if sides.iter().flatten().any(|item| item.kind == TreeEntryKind::File) {
                names.push(path.clone());
            }
            if old.is_some() || new.is_some() {
                let [old, new] = [old, new].map(|tree| tree.map(|tree| hex(&tree.id)));
                trees.push((old, new, [&path[..], b"/"].concat()));
            }
        }
    }
    names.sort_unstable();
    Some(names)
}

/// Whether a file outside the work tree may assign attributes.
fn has_attributes(layout: &RepositoryLayout) -> bool {
    let of_the_user = config_home().map(|config| config.join("git/attributes"));
    let places = [layout.common_dir.join("info/attributes"), "/etc/gitattributes".into()];
    places
        .into_iter()
        .chain(of_the_user)
        .any(|path| path.symlink_metadata().is_ok())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TreeEntry {
    kind: TreeEntryKind,
    mode: u32,
    id: ObjectId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeEntryKind {
    Tree,
    File,
}

/// An item in the old and in the new tree; one of them may lack it.
type Sides = [Option<TreeEntry>; 2];

/// Reads objects of a repository, up to the bounds.
struct ObjectReader<'a> {
    loose: &'a LooseObjects,
    /// Objects and bytes that may still be read.
    count: usize,
    bytes: usize,
}

impl<'a> ObjectReader<'a> {
    fn new(loose: &'a LooseObjects) -> Self {
        Self {
            loose,
            count: MOST_OBJECTS,
            bytes: MOST_BYTES,
        }
    }

    /// Returns the items that differ between two trees, by name; one of the trees may be absent.
    fn differing(&mut self, old: Option<&str>, new: Option<&str>) -> Option<BTreeMap<Vec<u8>, Sides>> {
        let mut differing: BTreeMap<Vec<u8>, Sides> = BTreeMap::new();
        for (side, tree) in [old, new].into_iter().enumerate() {
            let items = tree.map_or_else(|| Some(BTreeMap::new()), |tree| read_items(&self.read("tree", tree)?));
            for (name, item) in items? {
                differing.entry(name).or_default()[side] = Some(item);
            }
        }
        differing.retain(|_, [old, new]| old != new);
        Some(differing)
    }

    fn read(&mut self, kind: &str, name: &str) -> Option<Vec<u8>> {
        self.count = self.count.checked_sub(1)?;
        let content = self.loose.read(kind, name, self.bytes)?;
        self.bytes = self.bytes.checked_sub(content.len())?;
        Some(content)
    }
}

struct TreeComparison<'a> {
    objects: ObjectReader<'a>,
    changes: Changes,
    is_added_to: bool,
    is_removed_from: bool,
}

impl TreeComparison<'_> {
    /// Compares two trees of `directory`; one of them may be absent.
    fn trees(&mut self, old: Option<&str>, new: Option<&str>, directory: &Path) -> Option<()> {
        let differing = self.objects.differing(old, new)?;
        // An ignored file of attributes is in neither tree, and still counts.
        if directory.join(GITATTRIBUTES).symlink_metadata().is_ok() {
            return None;
        }
        for (name, [old, new]) in differing {
            let kinds = [old, new].map(|item| item.map(|item| item.kind));
            match kinds {
                [Some(TreeEntryKind::Tree) | None, Some(TreeEntryKind::Tree) | None] => {
                    let [old, new] = [old, new].map(|item| item.map(|item| hex(&item.id)));
                    let below: PathBuf = directory.join(process::path(&name));
                    self.trees(old.as_deref(), new.as_deref(), &below)?;
                }
                [Some(TreeEntryKind::File) | None, Some(TreeEntryKind::File) | None] => self.files(old, new)?,
                // A file in the place of a directory, or the other way round.
                [Some(_), Some(_)] => return None,
            }
        }
        Some(())
    }

    fn files(&mut self, old: Option<TreeEntry>, new: Option<TreeEntry>) -> Option<()> {
        self.is_added_to |= old.is_none();
        self.is_removed_from |= new.is_none();
        self.changes.files += 1;
        if old.map(|item| item.id) == new.map(|item| item.id) {
            return Some(()); // only the mode differs
        }
        let mut content = |item: Option<TreeEntry>| {
            item.map_or_else(|| Some(Vec::new()), |item| self.objects.read("blob", &hex(&item.id)))
        };
        let (old, new) = (content(old)?, content(new)?);
        if !is_binary(&old) && !is_binary(&new) {
            let (added, removed) = lines_between(&old, &new)?;
            self.changes.added += added;
            self.changes.removed += removed;
        }
        Some(())
    }
}

/// Parses a tree: `mode SPACE name NUL id` for each item. `None` if it has items other than files and trees.
fn read_items(mut rest: &[u8]) -> Option<BTreeMap<Vec<u8>, TreeEntry>> {
    let mut items = BTreeMap::new();
    while !rest.is_empty() {
        let space = rest.iter().position(|&byte| byte == b' ')?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        let mode = u32::from_str_radix(str::from_utf8(&rest[..space]).ok()?, 8).ok()?;
        let kind = match mode {
            DIRECTORY => TreeEntryKind::Tree,
            REGULAR | EXECUTABLE => TreeEntryKind::File,
            _ => return None,
        };
        let name = rest.get(space + 1..end)?.to_vec();
        let (id, after) = rest[end + 1..].split_first_chunk()?;
        items.insert(name, TreeEntry { kind, mode, id: *id });
        rest = after;
    }
    Some(items)
}

fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(LOOKED_AT_BYTES)].contains(&0)
}

/// Returns the numbers of added and of removed lines; `None` if they depend on the diff algorithm.
fn lines_between(old: &[u8], new: &[u8]) -> Option<(u64, u64)> {
    let lines = |content: &'_ [u8]| -> Vec<Vec<u8>> {
        let lines = content.split_inclusive(|&byte| byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    let (old, new) = (lines(old), lines(new));
    let same =
        |pairs: &mut dyn Iterator<Item = (&Vec<u8>, &Vec<u8>)>| pairs.take_while(|(old, new)| old == new).count();
    let before = same(&mut old.iter().zip(&new));
    let (old, new) = (&old[before..], &new[before..]);
    let behind = same(&mut old.iter().rev().zip(new.iter().rev()));
    let (old, new) = (&old[..old.len() - behind], &new[..new.len() - behind]);
    let known: HashSet<&Vec<u8>> = old.iter().collect();
    let is_one_way = !new.iter().any(|line| known.contains(line));
    is_one_way.then_some((new.len() as u64, old.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_where_there_is_one_way_to_compare_them() {
        let counted = |old: &str, new: &str| lines_between(old.as_bytes(), new.as_bytes());
        assert_eq!(counted("a\nb\n", "a\nb\n"), Some((0, 0)));
        assert_eq!(counted("a\nb\n", "a\nb\nc\n"), Some((1, 0)));
        assert_eq!(counted("a\na\n", "a\na\na\na\n"), Some((2, 0)));
        assert_eq!(counted("a\nb\na\n", "a\n"), Some((0, 2)));
        assert_eq!(counted("a\nb\nc\n", "a\nx\ny\nc\n"), Some((2, 1)));
        assert_eq!(
            counted("a\nb", "a\nb\n"),
            Some((1, 1)),
            "a line and one without its end"
        );
        assert_eq!(counted("", "a\nb"), Some((2, 0)));
        assert_eq!(counted("a\nb\nc\nd\n", "x\nb\nc\ny\n"), None, "two places");
    }

    #[test]
    fn a_tree_that_is_none_is_not_read() {
        let tree = [&b"100644 a\0"[..], &[7; 20], b"40000 b\0", &[8; 20]].concat();
        assert_eq!(read_items(&tree).unwrap().len(), 2);
        for end in 1..tree.len() {
            assert_eq!(read_items(&tree[..end]).is_some(), end == 29, "{end}");
        }
        assert!(read_items(&[&b"120000 link\0"[..], &[7; 20]].concat()).is_none());
    }
}
