//! The caches that goals share with agents, as goals find them: without what has changed there since the first agent of a run.
//!
//! Goals read what package managers and compilers keep there, and agents can write to it, as can the code of agents that
//! goals run. So nothing of that counts: tools fetch or build it again, and what goals write is gone with the next files of
//! the room. What they cannot fetch, as there is no network, can be shown if it took the place of nothing.

use std::{
    collections::HashSet,
    env, fs,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    path::{Path, PathBuf},
};

use ralph_system::{
    paths::{ProjectPaths, create_private_dir},
    proc::{Mount, MountWrites},
    sandbox::{UserEnvironment, shared_caches},
    tree_copy::{changed_below, paths_below, take_out},
};
use ralph_text::with_causes;

use super::room_packages::clear;

#[derive(Debug, Default)]
pub(super) struct RoomCaches {
    /// Without those in the project, and without links.
    places: Vec<PathBuf>,
    /// The place of what takes files out of the caches, and of what is written to them.
    directory: PathBuf,
    /// The files that are taken out; `None` if caches are as they are.
    hidden: Option<Vec<PathBuf>>,
    /// Hashes of the paths that were there before an agent worked; none after a restart.
    at_start: Option<HashSet<u64>>,
}

impl RoomCaches {
    pub(super) fn new(paths: &ProjectPaths, root: &Path) -> Self {
        let home = env::home_dir();
        let environment = UserEnvironment {
            home: home.as_deref().and_then(Path::to_str),
            variable: &|name| env::var(name).ok(),
        };
        let places = shared_caches(root, &environment).into_iter().chain([paths.caches()]);
        let mut places: Vec<PathBuf> = places.filter_map(|place| place.canonicalize().ok()).collect();
        places.retain(|place| place.is_dir() && !place.starts_with(root) && !root.starts_with(place));
        places.sort();
        places.dedup_by(|below, above| below.starts_with(above));
        RoomCaches {
            places,
            directory: paths.room().join("shared"),
            hidden: None,
            at_start: None,
        }
    }

    /// Notes what is there. No agent may have worked.
    pub(super) fn note(&mut self) {
        let paths = self.places.iter().flat_map(|place| paths_below(place));
        self.at_start = Some(paths.map(|path| hash(&path)).collect());
    }

    /// Takes out what has changed since a time; with `None`, caches are as they are.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn hide(&mut self, since_ms: Option<u64>) -> Result<(), String> {
        self.hidden = None;
        clear(&self.directory)?;
        let Some(since_ms) = since_ms else { return Ok(()) };
        let changed = |place: &PathBuf| changed_below(place, |at_ms| at_ms >= since_ms, |at_ms| at_ms >= since_ms);
        self.take_out(self.places.iter().flat_map(changed).collect())
    }

    fn take_out(&mut self, hidden: Vec<PathBuf>) -> Result<(), String> {
        for (number, place) in self.places.iter().enumerate() {
            let layer = self.layer(number);
            clear(&layer)?;
            create_private_dir(&layer).map_err(|error| with_causes(&error))?;
            let here = hidden.iter().filter_map(|path| path.strip_prefix(place).ok());
            take_out(here, &layer).map_err(|error| with_causes(&error))?;
        }
        self.hidden = Some(hidden);
        Ok(())
    }

    /// Shows what took the place of nothing, unless tools have fetched or built it again. Returns that.
    ///
    /// # Errors
    /// Why that is not possible.
    pub(super) fn show_added(&mut self) -> Result<Vec<PathBuf>, String> {
        let hidden = self.hidden.take().unwrap_or_default();
        let is_added = |path: &PathBuf| {
            let was_there = |at_start: &HashSet<u64>| at_start.contains(&hash(path));
            !self.at_start.as_ref().is_none_or(was_there) && !self.is_written(path)
        };
        let (added, rest) = hidden.into_iter().partition(is_added);
        self.take_out(rest)?;
        Ok(added)
    }

    /// Whether goals have written a path.
    fn is_written(&self, path: &Path) -> bool {
        let number = self.places.iter().position(|place| path.starts_with(place));
        let below = number.and_then(|number| path.strip_prefix(&self.places[number]).ok());
        let Some((number, below)) = number.zip(below) else {
            return false;
        };
        let mut slots = (0..)
            .map(|slot| self.written(number, slot))
            .take_while(|written| written.exists());
        slots.any(|written| written.join("upper").join(below).symlink_metadata().is_ok())
    }

    /// The files that are taken out, where `output` names a cache with such files; with `None`, everything.
    pub(super) fn hidden(&self, output: Option<&str>) -> Vec<PathBuf> {
        let is_named = |place: &&PathBuf| output.is_none_or(|output| output.contains(&*place.to_string_lossy()));
        let named: Vec<&PathBuf> = self.places.iter().filter(is_named).collect();
        let hidden = self.hidden.iter().flatten();
        hidden
            .filter(|path| named.iter().any(|place| path.starts_with(place)))
            .cloned()
            .collect()
    }

    /// Returns the mounts for one of the programs that run at once. Many tools never use the place that is made for them: an
    /// empty one stays as it is.
    pub(super) fn mounts(&self, slot: usize) -> Vec<Mount> {
        let is_empty = |place: &Path| fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none());
        let used = |(_, place): &(usize, &PathBuf)| self.hidden.is_some() && !is_empty(place);
        let places = self.places.iter().enumerate().filter(used);
        let mount = |(number, place): (usize, &PathBuf)| Mount {
            directory: self.layer(number),
            at: place.clone(),
            writes: MountWrites::Beside(self.written(number, slot)),
        };
        places.map(mount).collect()
    }

    fn written(&self, number: usize, slot: usize) -> PathBuf {
        self.directory.join(format!("{number}-{slot}"))
    }

    fn layer(&self, number: usize) -> PathBuf {
        self.directory.join(number.to_string())
    }
}

fn hash(path: &Path) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(path.as_os_str())
}
