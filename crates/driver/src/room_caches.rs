//! The caches that goals share with agents, as goals find them: without what has changed there since the first agent of a run.
//!
//! Goals read what package managers and compilers keep there, and agents can write to it, as can the code of agents that
//! goals run. So nothing of that counts: tools fetch or build it again, and what goals write is gone with the next files of
//! the room. What they cannot fetch, as there is no network, can be shown if it took the place of nothing.

use std::{
    collections::{HashMap, HashSet, hash_map::RandomState},
    env, fs,
    hash::BuildHasher,
    io::{self, Read},
    path::{Path, PathBuf},
};

use ralph_system::{
    files::open_unfollowed,
    paths::{ProjectPaths, create_private_dir},
    proc::{Mount, MountWrites},
    sandbox::{UserEnvironment, shared_caches},
    tree_copy::{FileStamp, changed_below, paths_below, stamp, take_out},
};
use sha2::{Digest, Sha256};
use tracing::debug;

use super::room_packages::{clear, in_words};

/// Most bytes of an entry of Go's cache that says which file has a result.
const ENTRY_BYTES: u64 = 1024;
/// Most bytes of a file that is compared with its name.
const CONTENT_BYTES: u64 = 256 << 20;

/// A file of Go's build cache. Go renews the times of those that it uses after an hour, so a change says little.
enum OfGo {
    /// It says which file has the result of an action.
    Entry,
    /// It has the SHA-256 of its content as its name.
    Content,
}

impl OfGo {
    fn of(path: &Path) -> Option<OfGo> {
        let (digest, kind) = path.file_name()?.to_str()?.split_once('-')?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        match kind {
            "a" if is_digest => Some(OfGo::Entry),
            "d" if is_digest => Some(OfGo::Content),
            _ => None,
        }
    }
}

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
    /// Hashes of the entries of Go's cache that were there, with their paths.
    entries: HashSet<u64>,
    /// Files of Go's cache whose content is that of their name.
    proven: HashMap<PathBuf, FileStamp>,
    hashes: RandomState,
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
            ..RoomCaches::default()
        }
    }

    /// Notes what is there. No agent may have worked.
    pub(super) fn note(&mut self) {
        let (mut at_start, mut entries) = (HashSet::new(), HashSet::new());
        for path in self.places.iter().flat_map(|place| paths_below(place)) {
            at_start.insert(self.hash(&path));
            if let Some(OfGo::Entry) = OfGo::of(&path) {
                entries.extend(self.entry(&path));
            }
        }
        (self.at_start, self.entries) = (Some(at_start), entries);
    }

    fn hash(&self, path: &Path) -> u64 {
        self.hashes.hash_one(path.as_os_str())
    }

    /// Returns a hash of an entry of Go's cache with its path.
    fn entry(&self, path: &Path) -> Option<u64> {
        let (file, there) = open_unfollowed(path).ok()??;
        let mut content = Vec::new();
        file.take(ENTRY_BYTES).read_to_end(&mut content).ok()?;
        (there.len() <= ENTRY_BYTES).then(|| self.hashes.hash_one((path.as_os_str(), content)))
    }

    /// Whether a file of Go's cache has the content that it had before an agent worked.
    fn is_renewed(&mut self, path: &Path) -> bool {
        let was_there = |at_start: &HashSet<u64>| at_start.contains(&self.hash(path));
        if !self.at_start.as_ref().is_some_and(was_there) {
            return false;
        }
        match OfGo::of(path) {
            None => false,
            Some(OfGo::Entry) => self.entry(path).is_some_and(|entry| self.entries.contains(&entry)),
            Some(OfGo::Content) => self.is_proven(path),
        }
    }

    /// Whether the content of a file is that of its name.
    fn is_proven(&mut self, path: &Path) -> bool {
        let Ok(Some((file, there))) = open_unfollowed(path) else {
            return false;
        };
        let stamp = stamp(&there);
        if self.proven.get(path) == Some(&stamp) {
            return true;
        }
        if there.len() > CONTENT_BYTES {
            return false;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_proven = digest(file).is_ok_and(|digest| name.starts_with(&digest));
        if is_proven {
            self.proven.insert(path.to_owned(), stamp);
        }
        is_proven
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
        let mut hidden: Vec<PathBuf> = self.places.iter().flat_map(changed).collect();
        let changed = hidden.len();
        hidden.retain(|path| !self.is_renewed(path));
        debug!(changed, hidden = hidden.len(), "goals do not see changes of caches");
        self.take_out(hidden)
    }

    fn take_out(&mut self, hidden: Vec<PathBuf>) -> Result<(), String> {
        for (number, place) in self.places.iter().enumerate() {
            let layer = self.layer(number);
            clear(&layer)?;
            in_words(create_private_dir(&layer))?;
            let here = hidden.iter().filter_map(|path| path.strip_prefix(place).ok());
            in_words(take_out(here, &layer))?;
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
            let was_there = |at_start: &HashSet<u64>| at_start.contains(&self.hash(path));
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

/// Returns the SHA-256 of everything that is read, in hexadecimal digits.
fn digest(mut from: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut from, &mut hasher)?;
    Ok(format!("{:x}", hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{File, FileTimes},
        os::unix::fs::symlink,
        time::SystemTime,
    };

    use super::*;

    #[test]
    fn files_of_gos_cache_are_as_they_were_if_only_their_times_are_new() {
        let cache = tempfile::tempdir().unwrap();
        let path = |name: &str| cache.path().join(name);
        let digest = |text: &str| digest(text.as_bytes()).unwrap();
        let names = ["object", "other", "action"].map(digest);
        let (object, other, entry) = (
            path(&format!("{}-d", names[0])),
            path(&format!("{}-d", names[1])),
            path(&format!("{}-a", names[2])),
        );
        fs::write(&object, "object").unwrap();
        fs::write(&other, "other").unwrap();
        fs::write(&entry, "v1 object").unwrap();
        fs::write(path("trim.txt"), "1").unwrap();
        let mut caches = RoomCaches {
            places: vec![cache.path().to_owned()],
            ..RoomCaches::default()
        };
        assert!(!caches.is_renewed(&object), "it is not known to have been there");
        caches.note();
        let now = FileTimes::new().set_modified(SystemTime::now());
        for file in [&object, &other, &entry] {
            File::options().write(true).open(file).unwrap().set_times(now).unwrap();
            assert!(caches.is_renewed(file) && caches.is_renewed(file), "{file:?}");
        }
        assert!(!caches.is_renewed(&path("trim.txt")));
        // Files that an agent writes or adds are no longer those of the start.
        fs::write(&object, "forged").unwrap();
        fs::write(&entry, "v1 forged").unwrap();
        let added = path(&format!("{}-d", digest("added")));
        fs::write(&added, "added").unwrap();
        fs::remove_file(&other).unwrap();
        symlink(&added, &other).unwrap();
        for file in [&object, &other, &entry, &added] {
            assert!(!caches.is_renewed(file), "{file:?}");
        }
        fs::write(&entry, "v1 object").unwrap();
        assert!(caches.is_renewed(&entry));
    }
}
