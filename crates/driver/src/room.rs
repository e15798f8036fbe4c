//! The room: a copy of the project, made before the first agent of a run, in which goals run.
//!
//! No agent has been in it: it lies in ralph's state, and before goals run it gets the files of a checkpoint and nothing
//! else of what agents leave. Goals find it at the project's own path, by a mount that only they see, because installed
//! packages and what tools have built name that path. So no file of the user's is replaced for a measurement, and goals
//! may run while an agent works.

use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use ralph_core::event::{Checkpoint, RunId};
use ralph_gate::guard::FileContent;
use ralph_git::{CheckedOut, Repository};
use ralph_system::{
    files::read_bytes,
    os::{disk::free_bytes, now_ms},
    paths::{ProjectPaths, create_private_dir, replace_file},
    proc::{ChildEnd, Launch, Mount, MountWrites, StdoutMode, Supervisor, collector},
    tree_copy::{
        FileStamp, bytes_in, copy_project, has_packages, is_as_copied, is_rebuilt, paths_below, replace_tree,
        stamps_below,
    },
};
use ralph_words::size_in_words;

use super::{
    packages::{PackagesRecord, notes_of_tools, room_setup},
    room_caches::RoomCaches,
    room_layers::{RoomLayer, write_content},
    room_packages::{Installed, PackageLists, RoomPackages, clear, in_words, move_to, named},
};

const GIT: &str = ".git";
const RECORD: &str = "room.json";
const ASIDE: &str = "aside";
const START: &str = "start";
const COPIES: &str = "copies";
const STASH: &str = "packages";
const WRITTEN: &str = "written";
const LAYERS: &str = "layers";
/// Most bytes of built files with which goals run at once in layers: those that build more go on with what the last have built.
const BUILT_BYTES: u64 = 32 << 20;
/// Most missing packages that are noted.
const MISSING: usize = 100;
const GRACE: Duration = Duration::from_secs(2);
/// Most bytes of the record of a room.
const RECORD_CAP_BYTES: u64 = 64 << 20;

/// The facts of a room that a later process needs: the run that it is of, when it was made, the files that were neither in
/// the first checkpoint nor ignored, as those that are too large, the directories of installed packages, and what agents
/// may have changed in them.
type RoomRecord = (String, Option<u64>, BTreeSet<PathBuf>, Vec<PathBuf>, Option<String>);

/// The room of a run.
#[derive(Debug)]
pub(super) struct Room {
    paths: ProjectPaths,
    run: RunId,
    repository: Arc<Repository>,
    directory: PathBuf,
    /// The copy, and git's index of it.
    tree: PathBuf,
    index: PathBuf,
    /// The root of the repository, and the project below it.
    root: PathBuf,
    project: PathBuf,
    others: BTreeSet<PathBuf>,
    /// The time at which it was made; `None` where the system cannot take files out of caches.
    made_ms: Option<u64>,
    content: Mutex<RoomContent>,
}

/// The present content of a room.
#[derive(Debug, Default)]
struct RoomContent {
    /// The number of times that it was filled.
    fills: u64,
    /// The number of programs that were started in it.
    launches: u64,
    /// Whether its goals build next to nothing.
    builds_little: bool,
    /// The installed packages. What goals write to them is gone when they have ended.
    packages: RoomPackages,
    caches: RoomCaches,
    /// The other ignored files, as they were before an agent worked; none after a restart.
    stamps: HashMap<PathBuf, FileStamp>,
    /// Ignored files of the project's, in the place of those that are aside.
    brought: Vec<IgnoredEntry>,
    brought_ms: u64,
    /// These as they were brought.
    brought_stamps: HashMap<PathBuf, FileStamp>,
}

/// A room with the files of a checkpoint, until it is filled again.
#[derive(Debug, Clone)]
pub(super) struct FilledRoom {
    pub(super) room: Arc<Room>,
    /// `None` for the files of the start.
    checkpoint: Option<Checkpoint>,
    fill: u64,
    layer: Option<RoomLayer>,
}

/// A file or directory that git ignores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IgnoredEntry {
    /// Below the root.
    pub(super) path: PathBuf,
    /// Whether it holds installed packages.
    pub(super) is_installed: bool,
    /// Whether git did not ignore it when the run began.
    pub(super) is_newly_ignored: bool,
}

impl Room {
    /// Makes the room of a run from the project's present files, of which `checkpoint` was just made.
    ///
    /// # Errors
    /// Why goals have to run in the project's directory.
    pub(super) fn make(
        paths: &ProjectPaths,
        run: &RunId,
        repository: &Arc<Repository>,
        checkpoint: &Checkpoint,
        supervisor: &Supervisor,
        scratch: &Path,
    ) -> Result<Room, String> {
        let mut room = Room::at(paths, run, repository)?;
        clear(&room.directory)?;
        in_words(create_private_dir(&room.tree))?;
        let filled = room
            .try_caches(supervisor, scratch)
            .or_else(|_| {
                room.made_ms = None;
                room.try_mounts(Vec::new(), supervisor, scratch)
            })
            .and_then(|()| room.seed(checkpoint));
        if let Err(why) = filled {
            _ = clear(&room.directory); // the next run tries again
            return Err(why);
        }
        room.write_record(&room.content.lock())?;
        Ok(room)
    }

    fn write_record(&self, content: &RoomContent) -> Result<(), String> {
        let (packages, distrusted) = content.packages.at_start();
        let record: RoomRecord = (
            self.run.0.clone(),
            self.made_ms,
            self.others.clone(),
            packages.to_vec(),
            distrusted.map(str::to_owned),
        );
        let written = serde_json::to_vec(&record)
            .map_err(io::Error::from)
            .and_then(|text| replace_file(&self.directory.join(RECORD), &text));
        written.map_err(|error| format!("{}: {error}", self.directory.join(RECORD).display()))
    }

    fn seed(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        let most = free_bytes(&self.directory).unwrap_or(u64::MAX) / 2;
        if bytes_in(&self.root) > most {
            let most = size_in_words(most);
            return Err(format!(
                "the project is larger than {most}, half of what is free on the disk"
            ));
        }
        in_words(copy_project(&self.root, &self.tree, self.paths.states().root()))?;
        self.others = self.untracked_with(checkpoint)?;
        let ignored = self.ignored_below(&self.tree)?;
        let mut content = self.content.lock();
        let mut packages = Vec::new();
        for path in ignored {
            let here = self.tree.join(&path);
            match has_packages(&here) {
                true => packages.push(path),
                false if is_rebuilt(&here) => {}
                false => in_words(replace_tree(&here, &self.directory.join(START).join(path)))?,
            }
        }
        let distrusted = self.distrusted(&PackagesRecord::of(&self.paths), &packages)?;
        content.packages = RoomPackages::new(&self.tree, self.directory.join(STASH), packages, distrusted);
        self.note_ignored(&mut content)
    }

    /// Returns what agents of earlier runs may have changed in the packages, in words. Caches of tools among these go, as tools
    /// make them anew.
    fn distrusted(&self, record: &PackagesRecord, packages: &[PathBuf]) -> Result<Option<String>, String> {
        let mut found = Vec::new();
        for directory in packages {
            for file in record.changed(&self.root.join(directory)) {
                let path = directory.join(&file);
                match notes_of_tools(&file) {
                    None => found.push(path),
                    Some(cached) if cached.iter().count() > 1 => clear(&self.tree.join(path))?,
                    Some(_) => {}
                }
            }
        }
        let missing = record.missing.iter().filter(|path| self.is_missing(path));
        found.extend(missing.cloned());
        let words = "changed while an agent of an earlier run worked";
        Ok((!found.is_empty()).then(|| format!("{} {words}", named(&found))))
    }

    /// Whether the project's directory lacks something, and not because all around it is missing.
    fn is_missing(&self, path: &Path) -> bool {
        let here = self.root.join(path);
        here.symlink_metadata().is_err() && here.parent().is_some_and(Path::is_dir)
    }

    /// Returns the first packages of the room that the project's directory does not have.
    pub(super) fn missing_packages(&self) -> Vec<PathBuf> {
        let content = self.content.lock();
        let below = |directory: &PathBuf| paths_below(&self.tree.join(directory));
        let paths = content.packages.directories().iter().flat_map(below);
        let missing = paths.filter_map(|path| {
            let inside = path.strip_prefix(&self.tree).ok()?;
            let counts = notes_of_tools(inside).is_none() && !path.ancestors().any(is_rebuilt);
            (self.is_missing(inside) && counts).then(|| inside.to_owned())
        });
        missing.take(MISSING).collect()
    }

    /// Notes the ignored files as they are. No agent may have worked.
    fn note_ignored(&self, content: &mut RoomContent) -> Result<(), String> {
        for path in self.ignored(content)? {
            content.stamps.extend(self.stamps(&path));
        }
        Ok(())
    }

    /// Gives ignored files the content that they had before an agent worked: goals run code of agents, and a clone has
    /// nothing that such code has left. What tools had built since is built again.
    fn restore_ignored(&self, content: &mut RoomContent) -> Result<(), String> {
        for path in self.ignored(content)? {
            for (file, stamp) in self.stamps(&path) {
                if content.stamps.get(&file) != Some(&stamp) {
                    clear(&self.tree.join(file))?;
                }
            }
        }
        for (file, _) in stamps_below(&self.directory.join(START)) {
            let here = self.tree.join(&file);
            if here.symlink_metadata().is_err() {
                in_words(replace_tree(&self.directory.join(START).join(&file), &here))?;
                content.stamps.extend(self.stamps(&file));
            }
        }
        Ok(())
    }

    /// Returns what git ignores in the room, without installed packages.
    fn ignored(&self, content: &RoomContent) -> Result<Vec<PathBuf>, String> {
        let mut found = self.ignored_below(&self.tree)?;
        // An environment that ignores its own content is listed by parts.
        let packages = content.packages.directories();
        found.retain(|path| !packages.iter().any(|packages| path.starts_with(packages)));
        Ok(found.into_iter().collect())
    }

    fn stamps(&self, path: &Path) -> impl Iterator<Item = (PathBuf, FileStamp)> {
        stamps_below(&self.tree.join(path)).map(|(file, stamp)| match file.as_os_str().is_empty() {
            true => (path.to_owned(), stamp),
            false => (path.join(file), stamp),
        })
    }

    /// Returns the room that an earlier process has made for this run.
    pub(super) fn of_run(paths: &ProjectPaths, run: &RunId, repository: &Arc<Repository>) -> Option<Room> {
        let room = Room::at(paths, run, repository).ok()?;
        let text = read_bytes(&room.directory.join(RECORD), RECORD_CAP_BYTES).ok()?;
        let (owner, made_ms, others, packages, distrusted): RoomRecord = serde_json::from_slice(&text).ok()?;
        // A ralph was killed while other ignored files were in place.
        let is_whole = owner == run.0 && room.directory.join(ASIDE).symlink_metadata().is_err();
        let mut packages = RoomPackages::new(&room.tree, room.directory.join(STASH), packages, distrusted);
        if !is_whole || packages.put_back().is_err() {
            return None;
        }
        room.content.lock().packages = packages;
        Some(Room {
            made_ms,
            others,
            ..room
        })
    }

    fn at(paths: &ProjectPaths, run: &RunId, repository: &Arc<Repository>) -> Result<Room, String> {
        let root = repository.root().to_owned();
        let project = paths.project().canonicalize().map_err(|error| error.to_string())?;
        if !project.starts_with(&root) {
            return Err(format!("{} is not below {}", project.display(), root.display()));
        }
        Ok(Room {
            tree: paths.room().join("tree"),
            index: paths.room().join("index"),
            directory: paths.room(),
            paths: paths.clone(),
            run: run.clone(),
            repository: Arc::clone(repository),
            root,
            project,
            others: BTreeSet::new(),
            made_ms: Some(now_ms()),
            content: Mutex::new(RoomContent {
                caches: RoomCaches::new(paths, repository.root()),
                ..RoomContent::default()
            }),
        })
    }

    /// Removes the room, at the end of its run.
    pub(super) fn remove(paths: &ProjectPaths) {
        _ = clear(&paths.room()); // the next run tries again
    }

    fn checked_out(&self) -> CheckedOut<'_> {
        CheckedOut {
            directory: &self.tree,
            index: &self.index,
        }
    }

    /// Returns the directory for the record of replaced files.
    pub(super) fn trial(&self) -> PathBuf {
        self.directory.join("trial")
    }

    /// Returns the directory of the caches with which packages are installed.
    pub(super) fn caches(&self) -> PathBuf {
        self.directory.join("caches")
    }

    /// Returns the project's directory in the room, as ralph finds it.
    pub(super) fn project(&self) -> PathBuf {
        self.project_in(&self.tree)
    }

    fn project_in(&self, tree: &Path) -> PathBuf {
        match self.project.strip_prefix(&self.root) {
            Ok(below) if !below.as_os_str().is_empty() => tree.join(below),
            Ok(_) | Err(_) => tree.to_owned(),
        }
    }

    /// Returns the mounts by which a program finds the room in the place of the project. What it writes to installed packages
    /// is gone when it has ended: it runs code of agents, which could change the packages for the next goal. So is what it
    /// writes to the repository, which is the user's: even `git status` writes its index. (Not if files of others are there.)
    /// The `slot` is its number among those that run at once.
    fn mounts(&self, slot: usize, layer: Option<&RoomLayer>) -> Vec<Mount> {
        let mut content = self.content.lock();
        let packages = content.packages.directories().iter();
        let packages = packages
            .map(|path| self.tree.join(path))
            .filter(|packages| packages.is_dir())
            .enumerate();
        let (written, launch) = (self.directory.join(WRITTEN), content.launches);
        let packages = packages.map(|(number, packages)| Mount {
            writes: MountWrites::To(written.join(format!("{launch}-{number}"))),
            at: packages.clone(),
            directory: packages,
        });
        let history = self.history(&self.tree, MountWrites::To(written.join(format!("{launch}-git"))));
        let inside: Vec<Mount> = history.into_iter().chain(packages).collect();
        let layer = layer.map(|layer| layer.mounts(slot, &self.root, &self.tree, &inside));
        let mounts = inside.into_iter().chain([self.in_place(&self.tree)]);
        let mounts = mounts.chain(layer.unwrap_or_default());
        let mounts = mounts.chain(content.caches.mounts(slot)).collect();
        content.launches += 1;
        mounts
    }

    /// Returns the mount of the repository in a copy of the project. That of a linked work tree is elsewhere, and stays there.
    fn history(&self, tree: &Path, writes: MountWrites) -> Option<Mount> {
        let (own, common) = (self.root.join(GIT), self.repository.common_dir());
        let (directory, at) = match own.is_dir() {
            true => (own, tree.join(GIT)),
            false => (common.to_owned(), common.to_owned()),
        };
        directory.is_dir().then_some(Mount { directory, at, writes })
    }

    /// Copies the room into an empty directory. Returns the project in the copy, as ralph finds it, and the mounts by which a
    /// program finds the copy in the place of the project. It writes to nothing else there.
    ///
    /// # Errors
    /// Why it could not be copied.
    pub(super) fn copy_to(&self, tree: &Path, slot: usize) -> Result<(PathBuf, Vec<Mount>), String> {
        in_words(copy_project(&self.tree, tree, &self.directory))?;
        let mounts = self
            .history(tree, MountWrites::Nowhere)
            .into_iter()
            .chain([self.in_place(tree)]);
        let mounts = mounts.chain(self.content.lock().caches.mounts(slot));
        Ok((self.project_in(tree), mounts.collect()))
    }

    fn in_place(&self, tree: &Path) -> Mount {
        Mount {
            directory: tree.to_owned(),
            at: self.root.clone(),
            writes: MountWrites::Here,
        }
    }

    /// Whether goals do not see what agents change in caches.
    pub(super) fn hides_caches(&self) -> bool {
        self.made_ms.is_some()
    }

    /// Returns the room with the files of a checkpoint. Without one it has to be new.
    ///
    /// # Errors
    /// Why it does not have them.
    pub(super) fn filled(self: Arc<Self>, checkpoint: Option<Checkpoint>, is_new: bool) -> Result<FilledRoom, String> {
        let fill = match &checkpoint {
            Some(checkpoint) => self.fill(checkpoint)?,
            None if is_new => 0,
            None => return Err("there is no checkpoint of the files".to_owned()),
        };
        let room = self;
        Ok(FilledRoom {
            room,
            checkpoint,
            fill,
            layer: None,
        })
    }

    /// Gives the room the files of a checkpoint. What earlier goals have left there goes. Returns the number of this
    /// fill.
    ///
    /// # Errors
    /// Why it does not have them.
    fn fill(&self, checkpoint: &Checkpoint) -> Result<u64, String> {
        let mut content = self.content.lock();
        self.put_back(&mut content)?;
        content.fills += 1;
        for left in [
            self.trial(),
            self.directory.join(COPIES),
            self.directory.join(WRITTEN),
            self.directory.join(LAYERS),
            self.caches(),
        ] {
            clear(&left)?; // of earlier goals, and of a ralph that was killed
        }
        self.check_out(checkpoint)?;
        self.restore_ignored(&mut content)?;
        let since = |made_ms| PackagesRecord::of(&self.paths).since(made_ms);
        content.caches.hide(self.made_ms.and_then(since))?;
        Ok(content.fills)
    }

    /// Gives tracked files the content that they have in a checkpoint, and removes new ones.
    fn check_out(&self, checkpoint: &Checkpoint) -> Result<(), String> {
        let found = self.untracked_with(checkpoint)?;
        found
            .difference(&self.others)
            .try_for_each(|new| clear(&self.tree.join(new)))
    }

    /// Gives tracked files the content that they have in a checkpoint. Returns the others that git does not ignore.
    fn untracked_with(&self, checkpoint: &Checkpoint) -> Result<BTreeSet<PathBuf>, String> {
        clear(&self.index.with_extension("lock"))?;
        let at = self.checked_out();
        let inside = in_words(self.repository.check_out(checkpoint, at))?;
        self.refuse_repositories(inside)?;
        in_words(self.repository.untracked_in(at))
    }

    /// Returns what git ignores in a copy of the project.
    fn ignored_below(&self, directory: &Path) -> Result<BTreeSet<PathBuf>, String> {
        let at = CheckedOut {
            directory,
            ..self.checked_out()
        };
        in_words(self.repository.ignored_in(at))
    }

    /// Refuses repositories inside the project, unless git ignores them: a checkpoint has only their names.
    fn refuse_repositories(&self, inside: Vec<PathBuf>) -> Result<(), String> {
        if inside.is_empty() {
            return Ok(());
        }
        let ignored = self.ignored_below(&self.root)?;
        let is_ignored = |path: &&PathBuf| path.ancestors().any(|above| ignored.contains(above));
        match inside.iter().find(|path| !is_ignored(path)) {
            None => Ok(()),
            Some(path) => Err(format!(
                "{} is a repository of its own, so no checkpoint has its files",
                path.display()
            )),
        }
    }

    /// Puts ignored files that were set aside back in their places.
    fn put_back(&self, content: &mut RoomContent) -> Result<(), String> {
        content.brought_stamps.clear();
        let brought = &mut content.brought;
        while let Some(IgnoredEntry { path, .. }) = brought.last() {
            let (here, aside) = (self.tree.join(path), self.directory.join(ASIDE).join(path));
            clear(&here)?;
            if aside.symlink_metadata().is_ok() {
                move_to(&aside, &here)?;
            }
            brought.pop();
        }
        clear(&self.directory.join(ASIDE))
    }

    /// Returns what git ignores and is no longer as it was when the room was made. `first` is the checkpoint of that time.
    ///
    /// # Errors
    /// Why git cannot list it.
    pub(super) fn left_by_agents(&self, first: Option<&Checkpoint>) -> Result<Vec<IgnoredEntry>, String> {
        let mut paths = self.ignored_below(&self.root)?;
        paths.extend(self.ignored_below(&self.tree)?);
        paths.retain(|path| !is_as_copied(&self.root.join(path), &self.tree.join(path)));
        let newly_ignored = in_words(self.repository.newly_ignored(&self.run, first, &paths))?;
        let entry = |path: PathBuf| IgnoredEntry {
            is_installed: has_packages(&self.root.join(&path)),
            is_newly_ignored: newly_ignored.contains(&path),
            path,
        };
        Ok(paths.into_iter().map(entry).collect())
    }

    /// Tries the mounts of the caches as well.
    fn try_caches(&mut self, supervisor: &Supervisor, scratch: &Path) -> Result<(), String> {
        let caches = &mut self.content.get_mut().caches;
        caches.hide(Some(u64::MAX))?;
        caches.note();
        let mounts = caches.mounts(0);
        let tried = self.try_mounts(mounts, supervisor, scratch);
        self.content.get_mut().caches.hide(None)?;
        tried
    }

    /// Runs a program that does nothing, with the mount of the room and others.
    fn try_mounts(&self, mut mounts: Vec<Mount>, supervisor: &Supervisor, scratch: &Path) -> Result<(), String> {
        mounts.insert(0, self.in_place(&self.tree));
        let launch = Launch {
            args: ["-c", ":"].map(Into::into).to_vec(),
            stdout: StdoutMode::Piped,
            ..Launch::new("/bin/sh", &self.root, GRACE, &self.run.0, scratch)
        };
        let (sink, ended) = collector(|_| {});
        let started = supervisor.mounting(mounts).spawn(launch, sink);
        let _child = in_words(started)?;
        match ended.blocking_recv() {
            Ok(ChildEnd::Exited(exit)) if exit.success() => Ok(()),
            Ok(ChildEnd::NotStarted { why, .. }) => Err(why),
            end => Err(format!("a program in it ended with {end:?}")),
        }
    }
}

impl FilledRoom {
    /// Returns the mounts of [`Room::mounts`] for one of the programs that run at once.
    pub(super) fn mounts(&self, slot: usize) -> Vec<Mount> {
        self.room.mounts(slot, self.layer.as_ref())
    }

    /// Returns the project's directory with what one of the programs that run at once writes there, as ralph finds it.
    pub(super) fn written(&self, slot: usize) -> PathBuf {
        match &self.layer {
            Some(layer) => self.room.project_in(&layer.written(slot)),
            None => self.room.project(),
        }
    }

    /// Whether goals can run in layers, and do not build so much that it pays for one to go on with what the last has left.
    pub(super) fn suits_layers(&self) -> bool {
        self.room.hides_caches() && self.content().is_ok_and(|content| content.builds_little)
    }

    /// Returns the room as goals find it with each of several lists of other `files`, at once.
    ///
    /// # Errors
    /// Why it does not have them.
    pub(super) fn in_layers(&self, files: &[Vec<(String, FileContent)>]) -> Result<Vec<FilledRoom>, String> {
        let (room, _content) = (&self.room, self.content()?);
        let layers = room.directory.join(LAYERS);
        clear(&layers)?;
        let make = |(number, files): (usize, &Vec<_>)| {
            let layer = RoomLayer::make(layers.join(number.to_string()), (&room.tree, &room.project()), files)?;
            Ok(FilledRoom {
                layer: Some(layer),
                ..self.clone()
            })
        };
        files.iter().enumerate().map(make).collect()
    }

    /// Replaces ignored files of the room by those of the project: all of them, or none.
    ///
    /// # Errors
    /// Why one of them could not be copied.
    pub(super) fn bring(&self, entries: &[IgnoredEntry]) -> Result<(), String> {
        let room = &self.room;
        let mut content = self.content()?;
        content.brought_ms = now_ms();
        for IgnoredEntry { path, .. } in entries {
            in_words(replace_tree(
                &room.root.join(path),
                &room.directory.join(COPIES).join(path),
            ))?;
        }
        // It marks the room as one with files of agents, should ralph be killed now.
        in_words(create_private_dir(&room.directory.join(ASIDE)))?;
        for entry in entries {
            let here = room.tree.join(&entry.path);
            if here.symlink_metadata().is_ok() {
                move_to(&here, &room.directory.join(ASIDE).join(&entry.path))?;
            }
            content.brought.push(entry.clone());
            let copy = room.directory.join(COPIES).join(&entry.path);
            if copy.symlink_metadata().is_ok() {
                move_to(&copy, &here)?;
                content.brought_stamps.extend(room.stamps(&entry.path));
            }
        }
        clear(&room.directory.join(COPIES))
    }

    /// Gives the room its files again: goals run code of the work, which may have changed them before they are compared.
    ///
    /// # Errors
    /// Why it does not have them.
    pub(super) fn renew(&self) -> Result<(), String> {
        let _content = self.content()?;
        self.check_out(self.checkpoint.as_ref())
    }

    fn check_out(&self, checkpoint: Option<&Checkpoint>) -> Result<(), String> {
        checkpoint.map_or(Ok(()), |checkpoint| self.room.check_out(checkpoint))
    }

    /// Undoes [`FilledRoom::bring`].
    ///
    /// # Errors
    /// Why one of the files could not be moved back.
    pub(super) fn take_back(&self) -> Result<(), String> {
        let mut content = self.content()?;
        self.room.put_back(&mut content)
    }

    /// Keeps what [`FilledRoom::bring`] has brought, as packages that the lists name.
    ///
    /// # Errors
    /// Why what was there before stays beside it.
    pub(super) fn keep(&self, lists: &PackageLists) -> Result<(), String> {
        let mut content = self.content()?;
        let RoomContent {
            brought,
            brought_stamps,
            brought_ms,
            packages,
            stamps,
            ..
        } = &mut *content;
        stamps.extend(brought_stamps.drain());
        let installed = brought.drain(..).filter(|entry| entry.is_installed);
        let installed: Vec<PathBuf> = installed.map(|entry| entry.path).collect();
        if !installed.is_empty() {
            PackagesRecord::change(&self.room.paths, |record| record.accepted_ms = *brought_ms);
            packages.taken(installed, &self.room.directory.join(ASIDE), lists)?;
        }
        clear(&self.room.directory.join(ASIDE))
    }

    /// Compares the installed packages with those that the work names.
    ///
    /// # Errors
    /// Why those of the start could not be put back.
    pub(super) fn packages(&self, lists: &PackageLists) -> Result<Option<Option<Installed>>, String> {
        self.content()?.packages.outcome(lists)
    }

    /// Returns what `look` finds in the installed packages.
    pub(super) fn of_packages<T>(&self, look: impl FnOnce(&RoomPackages) -> T) -> T {
        look(&self.room.content.lock().packages)
    }

    /// Removes the packages if commands are known that install them, on the files of the checkpoint `on`, or of its own, with
    /// these `lists` in it. Returns the commands.
    ///
    /// # Errors
    /// Why the room does not have the files, or still has packages.
    pub(super) fn begin_setup(
        &self,
        on: Option<&Checkpoint>,
        lists: &[(String, FileContent)],
        setup: &[String],
    ) -> Result<Vec<String>, String> {
        let (room, mut content) = (&self.room, self.content()?);
        let mut there = room.ignored_below(&room.root)?;
        there.retain(|path| has_packages(&room.root.join(path)));
        if there.is_empty() && content.packages.at_start().0.is_empty() {
            return Ok(Vec::new()); // the project does without
        }
        self.check_out(on.or(self.checkpoint.as_ref()))?;
        for (path, content) in lists {
            let here = room.project().join(path);
            clear(&here)?;
            let made = fs::create_dir_all(here.parent().unwrap_or(&here)).and_then(|()| write_content(&here, content));
            made.map_err(|error| format!("{}: {error}", here.display()))?;
        }
        let commands = room_setup(setup, &room.project());
        if commands.is_empty() {
            self.check_out(self.checkpoint.as_ref())?;
        } else {
            content.packages.set_aside()?;
            clear(&room.caches())?;
            in_words(create_private_dir(&room.caches()))?;
        }
        Ok(commands)
    }

    /// Notes what the commands of [`FilledRoom::begin_setup`] have installed, or why they failed.
    ///
    /// # Errors
    /// Why the room does not have its files.
    pub(super) fn end_setup(&self, lists: &PackageLists, outcome: Installed) -> Result<(), String> {
        let (room, mut content) = (&self.room, self.content()?);
        clear(&room.caches())?;
        self.check_out(self.checkpoint.as_ref())?;
        let found = room.ignored(&content)?.into_iter();
        let found = found.filter(|path| has_packages(&room.tree.join(path))).collect();
        let failed = outcome.as_ref().err().map(|failure| failure.why.clone());
        PackagesRecord::change(&room.paths, |record| record.failed = failed);
        content.packages.settle(found, lists, outcome)?;
        room.write_record(&content)?;
        room.note_ignored(&mut content)
    }

    /// Shows goals what agents have added to caches, and tools have not fetched again. Returns that.
    ///
    /// # Errors
    /// Why it is not shown.
    pub(super) fn show_added_to_caches(&self) -> Result<Vec<PathBuf>, String> {
        self.content()?.caches.show_added()
    }

    /// Returns what goals do not see of caches that an `output` names; with `None`, of all.
    pub(super) fn hidden_in_caches(&self, output: Option<&str>) -> Vec<PathBuf> {
        self.room.content.lock().caches.hidden(output)
    }

    /// Keeps the ignored files that goals have left, such as what they have built. No agent may have worked.
    ///
    /// # Errors
    /// Why git cannot list them.
    pub(super) fn keep_built(&self) -> Result<(), String> {
        let mut content = self.content()?;
        content.caches.note();
        let ignored = self.room.ignored(&content)?.into_iter();
        let built: u64 = ignored.map(|path| bytes_in(&self.room.tree.join(path))).sum();
        content.builds_little = built <= BUILT_BYTES;
        self.room.note_ignored(&mut content)
    }

    /// Returns the content, unless the room was filled again.
    fn content(&self) -> Result<MutexGuard<'_, RoomContent>, String> {
        let content = self.room.content.lock();
        match content.fills == self.fill {
            true => Ok(content),
            false => Err("the room was filled again".to_owned()),
        }
    }
}
