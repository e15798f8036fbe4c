//! The installed packages of a room: those of the start of the run, or those that commands have installed in it.
//!
//! The room keeps the start's beside it while others are in it. They come back after a kill, whatever is in their places.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_core::notices::first_named;
use ralph_gate::guard::FileContent;
use ralph_system::{
    files::read_bytes,
    tree_copy::{self, PACKAGES, paths_below, replace_tree},
};
use ralph_text::with_causes;

use super::packages::notes_of_tools;

/// Most bytes of a file that is compared. A larger one counts as changed.
const COMPARED_BYTES: u64 = 256 << 20;
/// Most paths that a notice names.
const NAMED: usize = 5;

/// The changed files by which the work names packages to install; none for the packages of the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PackageLists {
    pub(super) files: Vec<(String, FileContent)>,
    /// Whether the setup runs on all files of the work, and so the code of agents; otherwise on those of the start with these.
    pub(super) is_by_work: bool,
}

impl PackageLists {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.iter().map(|(path, _)| path)
    }

    /// Returns the lists for a setup on the files of the work; `None` without lists, or if they are for that already.
    pub(super) fn by_work(&self) -> Option<PackageLists> {
        let is_by_work = true;
        let files = self.files.clone();
        (!self.is_empty() && !self.is_by_work).then_some(PackageLists { files, is_by_work })
    }
}

/// Why packages could not be installed in the room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstallFailure {
    pub(super) why: String,
    /// Whether those of the start can be installed here, so that the work is the reason.
    pub(super) is_of_work: bool,
}

/// The commands that have installed packages, or why they could not.
pub(super) type Installed = Result<String, InstallFailure>;

#[derive(Debug, Default)]
pub(super) struct RoomPackages {
    tree: PathBuf,
    /// The place of the start's packages.
    stash: PathBuf,
    start: Vec<PathBuf>,
    now: Vec<PathBuf>,
    /// Whether commands are installing others, or were given up.
    are_aside: bool,
    lists: PackageLists,
    /// The result of the commands for the lists; `None` for packages from the project's directory.
    outcome: Option<Installed>,
    /// The lists whose packages can be installed only on all files of the work.
    need_work: PackageLists,
    /// The files of the start's packages that agents may have changed, in words.
    distrusted: Option<String>,
}

impl RoomPackages {
    pub(super) fn new(tree: &Path, stash: PathBuf, start: Vec<PathBuf>, distrusted: Option<String>) -> Self {
        RoomPackages {
            tree: tree.to_owned(),
            stash,
            now: start.clone(),
            start,
            distrusted,
            ..RoomPackages::default()
        }
    }

    /// The directories of the packages that are in the room; none while commands install them.
    pub(super) fn directories(&self) -> &[PathBuf] {
        if self.are_aside { &[] } else { &self.now }
    }

    pub(super) fn at_start(&self) -> (&[PathBuf], Option<&str>) {
        (&self.start, self.distrusted.as_deref())
    }

    /// Returns what commands have made of the lists of the work; `None` if they are still to run. Puts the packages of the start
    /// back if the work names no others.
    pub(super) fn outcome(&mut self, lists: &PackageLists) -> Result<Option<Option<Installed>>, String> {
        if self.are_aside || lists.is_empty() && !self.lists.is_empty() {
            self.put_back()?;
            (self.lists, self.outcome) = (PackageLists::default(), None);
        }
        let is_known =
            self.lists == *lists && (self.outcome.is_some() || !lists.is_empty() || self.distrusted.is_none());
        Ok(is_known.then(|| self.outcome.clone()))
    }

    /// Whether these can be installed only on all files of the work.
    pub(super) fn need_work(&self, lists: &PackageLists) -> bool {
        !lists.is_empty() && self.need_work.files == lists.files
    }

    /// Removes all packages. Those of the start are kept.
    pub(super) fn set_aside(&mut self) -> Result<(), String> {
        self.are_aside = true;
        let mut packages = self.now.iter();
        packages.try_for_each(|path| self.keep_or_remove(path, &self.tree.join(path)))
    }

    /// Moves packages that are `here` to the place of the start's, if they are of the start.
    fn keep_or_remove(&self, path: &PathBuf, here: &Path) -> Result<(), String> {
        let kept = self.stash.join(path);
        let are_of_start = self.start.contains(path) && kept.symlink_metadata().is_err();
        match are_of_start && here.symlink_metadata().is_ok() {
            true => move_to(here, &kept),
            false => clear(here),
        }
    }

    /// Puts the packages of the start back.
    pub(super) fn put_back(&mut self) -> Result<(), String> {
        for path in self.now.iter().chain(&self.start) {
            let (here, kept) = (self.tree.join(path), self.stash.join(path));
            if kept.symlink_metadata().is_ok() {
                clear(&here)?;
                move_to(&kept, &here)?;
            } else if !self.start.contains(path) {
                clear(&here)?;
            }
        }
        self.now.clone_from(&self.start);
        self.are_aside = false;
        clear(&self.stash)
    }

    /// Notes what commands have installed, in the directories `found`, or why they failed. What they do not install is the
    /// start's; if they fail, all packages are.
    pub(super) fn settle(
        &mut self,
        found: Vec<PathBuf>,
        lists: &PackageLists,
        mut outcome: Installed,
    ) -> Result<(), String> {
        (self.now, self.are_aside) = (found, false);
        if lists.is_by_work && outcome.is_ok() && matches!(self.outcome, Some(Err(_))) {
            self.need_work = lists.clone();
        }
        let left = self.start.iter().filter(|path| !self.now.contains(path));
        let left: Vec<PathBuf> = left.cloned().collect();
        if let (Ok(by), true, Some(left)) = (&outcome, lists.is_empty(), left.first()) {
            let why = format!("`{by}` does not install `{}`", left.display());
            outcome = Err(InstallFailure { why, is_of_work: false });
        }
        if outcome.is_err() {
            self.put_back()?;
        } else if lists.is_empty() {
            clear(&self.stash)?;
            (self.start, self.distrusted) = (self.now.clone(), None);
        } else {
            for path in left {
                let kept = self.stash.join(&path);
                in_words(replace_tree(&kept, &self.tree.join(&path)))?;
                self.now.push(path);
            }
        }
        (self.lists, self.outcome) = (lists.clone(), Some(outcome));
        Ok(())
    }

    /// Returns a path at which packages of the start are not as they were. A new package of node changes no other one unless it
    /// hides that, as node loads what is named; Python loads whatever is installed.
    pub(super) fn altered(&self) -> Option<PathBuf> {
        let added = self.now.iter().filter(|path| !self.start.contains(path));
        let mut paths = self.start.iter().chain(added);
        paths.find_map(|path| {
            let (kept, here) = (self.stash.join(path), self.tree.join(path));
            if !path.ends_with(PACKAGES) {
                return Some(path.clone());
            }
            let below = |directory: &Path| {
                let directory = directory.to_owned();
                let paths = paths_below(&directory)
                    .filter_map(move |path| path.strip_prefix(&directory).map(Path::to_owned).ok());
                paths.filter(|path| notes_of_tools(path).is_none())
            };
            let is_changed = |file: &PathBuf| !is_alike(&kept.join(file), &here.join(file));
            let is_amiss = |file: &PathBuf| {
                let above = file.parent().unwrap_or(file);
                let name = above.to_string_lossy();
                let is_package = !name.contains('/') && (name.is_empty() || name.starts_with(['@', '.']));
                let is_new = kept.join(file).symlink_metadata().is_err();
                is_new && (is_package && self.hides_package(path, file) || !is_package && kept.join(above).is_dir())
            };
            let changed = below(&kept).find(is_changed).or_else(|| below(&here).find(is_amiss));
            changed.map(|file| path.join(file))
        })
    }

    /// Whether a package in a directory of packages would be found before one of the start that has its name.
    fn hides_package(&self, directory: &Path, name: &Path) -> bool {
        let place = directory.parent().unwrap_or(directory);
        let mut others = self.start.iter().filter(|other| **other != *directory);
        others.any(|other| {
            let is_above = other.parent().is_some_and(|other| place.starts_with(other));
            is_above && self.stash.join(other).join(name).symlink_metadata().is_ok()
        })
    }

    /// Notes that packages of the project's directory are in the places of those that are `aside`.
    pub(super) fn taken(&mut self, taken: Vec<PathBuf>, aside: &Path, lists: &PackageLists) -> Result<(), String> {
        for path in taken {
            self.keep_or_remove(&path, &aside.join(&path))?;
            if !self.now.contains(&path) {
                self.now.push(path);
            }
        }
        (self.lists, self.outcome) = (lists.clone(), None);
        Ok(())
    }
}

/// Whether a path has the same content in both places, or is a command that is gone.
fn is_alike(before: &Path, now: &Path) -> bool {
    match fs::symlink_metadata(before) {
        Ok(there) if there.is_dir() => true,
        _ if now.symlink_metadata().is_err() => now.parent().is_some_and(|above| above.ends_with(".bin")),
        Ok(there) if there.is_symlink() => fs::read_link(now).ok() == fs::read_link(before).ok(),
        _ => match (read_bytes(before, COMPARED_BYTES), read_bytes(now, COMPARED_BYTES)) {
            (Ok(before), Ok(after)) => before == after && !now.is_symlink(),
            _ => false,
        },
    }
}

/// Gives the reason of an error in words.
pub(super) fn in_words<T>(result: Result<T, impl std::error::Error>) -> Result<T, String> {
    result.map_err(|error| with_causes(&error))
}

/// Removes a file, or a directory with everything in it.
pub(super) fn clear(path: &Path) -> Result<(), String> {
    in_words(tree_copy::clear(path))
}

pub(super) fn move_to(from: &Path, to: &Path) -> Result<(), String> {
    let moved = fs::create_dir_all(to.parent().unwrap_or(to)).and_then(|()| fs::rename(from, to));
    moved.map_err(|error| format!("{}: {error}", to.display()))
}

/// Names the first of some paths.
pub(super) fn named(paths: &[PathBuf]) -> String {
    first_named(paths.iter().map(|path| format!("`{}`", path.display())), NAMED, ", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_the_start_are_found_to_be_altered() {
        let (index, path) = ("node_modules/sum/index.js", "node_modules");
        for (places, file, content, expected) in [
            (&[path][..], index, "1", None),
            (&[path], "node_modules/more/index.js", "2", None),
            (&[path], "node_modules/@scope/more/index.js", "2", None),
            (&[path], "node_modules/.bin/more", "2", None),
            (&[path], "node_modules/.package-lock.json", "2", None),
            (&[path], index, "2", Some(index)),
            (
                &[path],
                "node_modules/sum/other.js",
                "2",
                Some("node_modules/sum/other.js"),
            ),
            (
                &[path],
                "node_modules/sum/node_modules/more/index.js",
                "2",
                Some("node_modules/sum/node_modules"),
            ),
            (&[path], "node_modules/.bin/sum", "2", Some("node_modules/.bin/sum")),
            (
                &[path],
                "node_modules/.pnpm/sum@1/node_modules/sum/a.js",
                "2",
                Some("node_modules/.pnpm/sum@1/node_modules/sum/a.js"),
            ),
            (
                &[path, "part/node_modules"],
                "part/node_modules/more/index.js",
                "2",
                None,
            ),
            (
                &[path, "part/node_modules"],
                "part/node_modules/sum/index.js",
                "2",
                Some("part/node_modules/sum"),
            ),
            (&[path, ".venv"], ".venv/lib/more.py", "2", Some(".venv")),
        ] {
            let room = tempfile::tempdir().unwrap();
            let (tree, stash) = (room.path().join("tree"), room.path().join("stash"));
            let write = |root: &Path, path: &str, content: &str| {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            };
            for root in [&tree, &stash] {
                write(root, index, "1");
                write(root, "node_modules/.bin/sum", "1");
                write(root, "node_modules/.pnpm/sum@1/node_modules/sum/index.js", "1");
            }
            write(&tree, file, content);
            let start = places.iter().filter(|place| !place.starts_with("part"));
            let start: Vec<PathBuf> = start.map(PathBuf::from).collect();
            let packages = RoomPackages {
                now: places.iter().map(PathBuf::from).collect(),
                ..RoomPackages::new(&tree, stash, start, None)
            };
            assert_eq!(packages.altered(), expected.map(PathBuf::from), "{file}");
        }
    }
}
