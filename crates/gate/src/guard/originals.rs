//! Copies of guarded files from the start of a run, and the changes since.
//!
//! A store is an index and a file with all copies one after the other. The index is written last: without it, a store
//! is incomplete and ignored.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, hash_map::RandomState},
    fs::{self, File},
    hash::BuildHasher as _,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use ralph_core::event::{GuardedChange, GuardedChangeKind};
use serde::{Deserialize, Serialize};

use super::{
    FileGuard, GuardError, GuardRules, GuardedKind,
    diff::UnifiedDiff,
    is_rust, manifests,
    parts::ChangedParts,
    project_dir::{FileContent, PathState, ProjectDir, WriteStamp, before_change, sync},
    rust,
    store_writer::StoreWriter,
    walk::{UnguardedPath, is_walked, walk},
};

const INDEX: &str = "index.json";
const COPIES: &str = "copies";
/// Most entries in the list of files that are left out.
pub(super) const LEFT_OUT_CAP: usize = 100;
/// Most names that are read in a directory behind a symlink.
const LINKED_CAP: usize = 4096;

/// Files, each with the content that takes its place.
type Replacements = Vec<(String, FileContent)>;

/// Copies of guarded files from the start of a run.
#[derive(Debug)]
pub struct Originals {
    pub(super) guard: FileGuard,
    pub(super) index: OriginalsIndex,
    /// Positions in the index by path.
    by_path: BTreeMap<String, usize>,
    /// The directories with a guarded file below them.
    directories: BTreeSet<String>,
    copies: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct OriginalsIndex {
    rules: GuardRules,
    pub(super) entries: Vec<OriginalEntry>,
    unmatched: Vec<String>,
    left_out: Vec<UnguardedPath>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OriginalEntry {
    pub(super) path: String,
    pub(super) kind: GuardedKind,
    /// Whether the copy is the target of a symlink.
    pub(super) link: bool,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) mode: u32,
    /// `None` if a later change could have left the identity the same.
    pub(super) identity: Option<WriteStamp>,
}

/// Files that did not exist before, each list ordered by path.
#[derive(Debug, Default)]
pub struct NewFiles {
    /// Test files that had another name, and source of Rust with tests that were in another file.
    pub renamed: Vec<RenamedFile>,
    /// Test files that are new.
    pub tests: Vec<String>,
    /// Source of Rust, which may have tests in it.
    pub rust: Vec<String>,
}

/// A new file with tests that were in another one.
#[derive(Debug)]
pub struct RenamedFile {
    pub to: String,
    pub content: FileContent,
    pub from: String,
    /// The other file with its tests.
    pub before: FileContent,
    /// The other file as it is.
    pub now: FileContent,
}

/// A change of a guarded file, and the content that a trial puts in its place.
#[derive(Debug)]
pub(super) struct GuardedDifference {
    pub(super) changes: Vec<GuardedChange>,
    pub(super) path: String,
    /// `None` if a trial leaves the file as it is.
    pub(super) put: Option<FileContent>,
    /// The present file in normalised form, if the comparison used one.
    shown: Option<Vec<u8>>,
}

/// The present project, as found by a walk.
#[derive(Debug, Default)]
struct PresentProject {
    /// Guarded paths, with their present state.
    guarded: BTreeMap<String, PathState>,
    /// New files that match a pattern, with its kind.
    new: Vec<(String, GuardedKind)>,
    /// Hashes of new test files, computed on first use.
    new_tests: OnceCell<HashSet<u64>>,
    /// All Rust files, if tests in them are guarded.
    rust: Vec<String>,
    /// Number of present blocks minus number of original ones, by the hash of their likeness.
    blocks: OnceCell<HashMap<u64, i64>>,
    hasher: RandomState,
}

impl PresentProject {
    /// Whether a new test file has this content, so that the original was only renamed.
    fn has_moved(&self, original: &FileContent, project_dir: &ProjectDir) -> bool {
        let FileContent::File { bytes, .. } = original else {
            return false;
        };
        let tests = self.new.iter().filter(|(_, kind)| *kind == GuardedKind::Test);
        let hash = |path: &str| Some(self.hasher.hash_one(project_dir.read_file(path).ok()?.1));
        let hashes = self
            .new_tests
            .get_or_init(|| tests.filter_map(|(path, _)| hash(path)).collect());
        hashes.contains(&self.hasher.hash_one(bytes))
    }
}

impl Originals {
    pub(super) fn take(
        guard: FileGuard,
        project: &Path,
        store: &Path,
        earlier: &BTreeMap<String, FileContent>,
    ) -> Result<Originals, GuardError> {
        fs::create_dir_all(store).map_err(GuardError::file(store))?;
        let index_path = store.join(INDEX);
        match fs::remove_file(&index_path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(GuardError::file(&index_path)(error)),
            Ok(()) | Err(_) => {}
        }
        let copies = store.join(COPIES);
        let mut store_writer = StoreWriter::new(project, &copies)?;
        let mut left_out = walk(
            project,
            |_| false,
            |path, _| match guard.kind(path) {
                Some(kind) if !earlier.contains_key(path) => store_writer.add(path, kind),
                Some(_) | None => Ok(()),
            },
        )?;
        for (path, content) in earlier {
            if let Some(kind) = guard.kind(path).filter(|_| is_walked(path)) {
                store_writer.add_content(path, kind, content, None)?;
            }
        }
        // A goal's program may lie in a directory that is not walked, such as `node_modules`.
        for path in guard.named_paths() {
            match earlier.get(path) {
                _ if store_writer.has(path) => {}
                Some(content) => store_writer.add_content(path, GuardedKind::Named, content, None)?,
                None => store_writer.add(path, GuardedKind::Named)?,
            }
        }
        let (entries, others) = store_writer.finish()?;
        left_out.extend(others);
        left_out.truncate(LEFT_OUT_CAP);
        let index = OriginalsIndex {
            unmatched: guard.unmatched(entries.iter().map(|entry| entry.path.as_str())),
            rules: guard.rules.clone(),
            entries,
            left_out,
        };
        write_json(&index_path, &index)?;
        Ok(Originals::new(guard, index, copies))
    }

    /// Loads the originals below `store`; `None` if the store is incomplete.
    ///
    /// # Errors
    /// [`GuardError`] if the store cannot be read.
    pub fn load(store: &Path) -> Result<Option<Originals>, GuardError> {
        let Some(index) = read_json::<OriginalsIndex>(&store.join(INDEX))? else {
            return Ok(None);
        };
        let guard = FileGuard::new(index.rules.clone())?;
        Ok(Some(Originals::new(guard, index, store.join(COPIES))))
    }

    /// Whether these are the files that `guard` guards.
    pub fn are_of(&self, guard: &FileGuard) -> bool {
        self.index.rules == guard.rules
    }

    /// Adds the original contents to those of `earlier` files. A file whose name alone is guarded counts as present.
    pub(super) fn add_to(&self, earlier: &mut BTreeMap<String, FileContent>) -> Result<(), GuardError> {
        for entry in &self.index.entries {
            earlier.insert(entry.path.clone(), self.content(entry)?);
        }
        Ok(())
    }

    fn new(guard: FileGuard, index: OriginalsIndex, copies: PathBuf) -> Originals {
        let by_path = index
            .entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (entry.path.clone(), at))
            .collect();
        let guarded = index.entries.iter().filter(|entry| entry.kind != GuardedKind::Shadow);
        let directories = guarded
            .flat_map(|entry| parent_directories(&entry.path))
            .map(str::to_owned)
            .collect();
        Originals {
            guard,
            index,
            by_path,
            directories,
            copies,
        }
    }

    /// Returns the user's patterns that matched nothing.
    pub fn unmatched(&self) -> &[String] {
        &self.index.unmatched
    }

    /// Returns at most a hundred files that are not guarded although patterns match them.
    pub fn left_out(&self) -> &[UnguardedPath] {
        &self.index.left_out
    }

    /// Returns the number of files that are guarded completely or in part.
    pub fn len(&self) -> usize {
        self.index
            .entries
            .iter()
            .filter(|entry| entry.kind != GuardedKind::Shadow)
            .count()
    }

    /// Whether nothing is guarded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the file at `path` has tests and little else.
    pub fn is_test(&self, path: &str) -> bool {
        self.guard.kind(path) == Some(GuardedKind::Test)
    }

    /// Whether the file at `path` is guarded for another reason than its tests.
    pub fn is_configuration(&self, path: &str) -> bool {
        let kind = self.guard.kind(path);
        kind.is_some_and(|kind| !matches!(kind, GuardedKind::Test | GuardedKind::Rust))
    }

    /// Returns the paths of guarded files with tests, files with only tests first.
    pub fn test_files(&self) -> impl Iterator<Item = &str> {
        let files = |kind| {
            let entries = self.index.entries.iter();
            entries.filter(move |entry| entry.kind == kind && !entry.link)
        };
        let tests = files(GuardedKind::Test).chain(files(GuardedKind::Rust));
        tests.map(|entry| entry.path.as_str())
    }

    /// Returns the original bytes of a guarded file; `None` if the path is not guarded.
    ///
    /// # Errors
    /// [`GuardError`] if the store cannot be read.
    pub(super) fn original(&self, path: &str) -> Result<Option<Vec<u8>>, GuardError> {
        let entry = self.by_path.get(path).and_then(|at| self.index.entries.get(*at));
        let entry = entry.filter(|entry| entry.kind != GuardedKind::Shadow);
        entry.map(|entry| self.bytes(entry)).transpose()
    }

    /// Returns the changes of guarded files, ordered by path.
    ///
    /// # Errors
    /// [`GuardError`] if the project or the store cannot be read.
    pub fn changes(&self, project: &Path) -> Result<Vec<GuardedChange>, GuardError> {
        self.compared(project).map(|(changes, _)| changes)
    }

    /// Returns the changes of guarded files, ordered by path, and the files that have to be replaced for the originals to be
    /// in place, with what replaces them.
    ///
    /// # Errors
    /// [`GuardError`] if the project or the store cannot be read.
    pub fn compared(&self, project: &Path) -> Result<(Vec<GuardedChange>, Replacements), GuardError> {
        let (mut changes, mut puts) = (Vec::new(), Vec::new());
        for difference in self.differences(project)? {
            changes.extend(difference.changes);
            puts.extend(difference.put.map(|put| (difference.path, put)));
        }
        changes.sort();
        Ok((changes, puts))
    }

    /// Renders [`Originals::changes`] as a unified diff for people, of at most 64 KiB.
    ///
    /// Partially guarded files are shown with their guarded parts only.
    ///
    /// # Errors
    /// As [`Originals::changes`].
    pub fn diff(&self, project: &Path) -> Result<String, GuardError> {
        let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
        let mut diff = UnifiedDiff::default();
        for GuardedDifference { path, put, shown, .. } in self.differences(project)? {
            let before = match put {
                Some(put) => put,
                None => self
                    .original(&path)?
                    .map_or(FileContent::Nothing, |bytes| FileContent::File { bytes, mode: 0o644 }),
            };
            let now = match shown {
                Some(bytes) => Some(FileContent::File { bytes, mode: 0o644 }),
                None => project_dir.read(&path).unwrap_or(None),
            };
            diff.add(&path, &before, now.as_ref());
        }
        Ok(diff.into_text())
    }

    /// Returns new test files that are not renamed originals, ordered by path.
    ///
    /// # Errors
    /// [`GuardError`] if the project or the store cannot be read.
    pub fn new_tests(&self, project: &Path) -> Result<Vec<String>, GuardError> {
        self.new_files(project).map(|new| new.tests)
    }

    /// Returns the files that did not exist before and may have tests.
    ///
    /// # Errors
    /// [`GuardError`] if the project or the store cannot be read.
    pub fn new_files(&self, project: &Path) -> Result<NewFiles, GuardError> {
        let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
        let now = self.now(project, &project_dir)?;
        let mut gone = Vec::new();
        let entries = self.index.entries.iter();
        for entry in entries.filter(|entry| entry.kind == GuardedKind::Test) {
            if matches!(project_dir.inspect(&entry.path), Ok(PathState::Nothing)) {
                gone.push((&entry.path, self.content(entry)?));
            }
        }
        let renamed = |to: &String| {
            let content = project_dir.read(to).unwrap_or(None)?;
            let (from, _) = gone.iter().find(|(_, gone)| content.is_like(gone))?;
            Some(RenamedFile {
                to: to.clone(),
                from: (*from).clone(),
                before: content.clone(),
                content,
                now: FileContent::Nothing,
            })
        };
        let of_kind = |wanted: GuardedKind| {
            let new = now.new.iter().filter(|(_, kind)| *kind == wanted);
            let mut paths: Vec<String> = new.map(|(path, _)| path.clone()).collect();
            paths.sort();
            paths
        };
        let mut tests = of_kind(GuardedKind::Test);
        let mut renamed: Vec<RenamedFile> = tests.iter().filter_map(renamed).collect();
        tests.retain(|path| renamed.iter().all(|file| file.to != *path));
        let rust = of_kind(GuardedKind::Rust);
        for path in &rust {
            renamed.extend(self.rust_moved_to(path, &now, &project_dir)?);
        }
        Ok(NewFiles { renamed, tests, rust })
    }

    /// Returns a new file once for each other one whose tests are in it now.
    fn rust_moved_to(
        &self,
        to: &str,
        now: &PresentProject,
        project_dir: &ProjectDir,
    ) -> Result<Vec<RenamedFile>, GuardError> {
        let likenesses = |content: &FileContent| match content {
            FileContent::File { bytes, .. } => str::from_utf8(bytes).map(rust::likenesses).unwrap_or_default(),
            FileContent::Link(_) | FileContent::Nothing => Vec::new(),
        };
        let Some(content) = project_dir.read(to).unwrap_or(None) else {
            return Ok(Vec::new());
        };
        let here = likenesses(&content);
        let entries = self.index.entries.iter();
        let mut moved = Vec::new();
        for entry in entries.filter(|entry| entry.kind == GuardedKind::Rust && !here.is_empty()) {
            let (original, current) = (self.content(entry)?, project_dir.read(&entry.path).unwrap_or(None));
            if !likenesses(&original).iter().any(|block| here.contains(block)) {
                continue;
            }
            let kind = GuardedChangeKind::Deleted;
            let is_moved = self.rust_difference(&entry.path, kind, original, current.clone(), now, None);
            if let (Some(GuardedDifference { put: Some(before), .. }), Some(now)) = (is_moved, current) {
                moved.push(RenamedFile {
                    to: to.to_owned(),
                    content: content.clone(),
                    from: entry.path.clone(),
                    before,
                    now,
                });
            }
        }
        Ok(moved)
    }

    /// Returns the files of the work as they were `before`, each with its path. Files that are still as before and guarded
    /// files are left out. In a file with guarded parts, these parts keep their present text.
    ///
    /// # Errors
    /// [`GuardError`] if the project cannot be read.
    pub fn without_work(
        &self,
        project: &Path,
        before: Vec<(String, FileContent)>,
    ) -> Result<Vec<(String, FileContent)>, GuardError> {
        let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
        let files = before.into_iter().filter_map(|(path, before)| {
            // A trial refuses what cannot be read, since it could not be restored.
            let now = project_dir.read(&path).unwrap_or(None);
            let put = self.with_guarded_parts(&path, before, now.as_ref())?;
            (now.as_ref() != Some(&put)).then_some((path, put))
        });
        Ok(files.collect())
    }

    /// Returns a file as it was `before`, with the present text of its guarded parts; `None` if the whole file is guarded or
    /// its parts cannot be found.
    fn with_guarded_parts(&self, path: &str, before: FileContent, now: Option<&FileContent>) -> Option<FileContent> {
        let kind = match self.guard.kind_of_new(path) {
            Some(GuardedKind::Test | GuardedKind::Named | GuardedKind::Config | GuardedKind::Shadow) => return None,
            Some(kind @ (GuardedKind::Manifest | GuardedKind::Rust)) => kind,
            None => return Some(before),
        };
        let Some(FileContent::File { bytes: now, mode }) = now else {
            return Some(before);
        };
        let (was, mode) = match &before {
            FileContent::File { bytes, mode } => (Some(&bytes[..]), *mode),
            FileContent::Nothing => (None, *mode),
            FileContent::Link(_) => return None,
        };
        let parts = match (kind, was) {
            (GuardedKind::Manifest, was) => manifests::compare(path, Some(now), was)?,
            // The file is new: without it, its tests have nothing to test.
            (_, None) => return Some(before),
            (_, Some(was)) => rust::compare(str::from_utf8(now).ok()?, str::from_utf8(was).ok()?, |_| false),
        };
        Some(parts.put.map_or(before, |bytes| FileContent::File { bytes, mode }))
    }

    pub(super) fn differences(&self, project: &Path) -> Result<Vec<GuardedDifference>, GuardError> {
        let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
        let now = self.now(project, &project_dir)?;
        let mut differences = Vec::new();
        for entry in &self.index.entries {
            let found = match now.guarded.get(&entry.path) {
                Some(found) => found.clone(),
                // In a directory that is not walked, or deleted.
                None => project_dir.inspect(&entry.path).unwrap_or(PathState::Other),
            };
            differences.extend(self.difference(entry, &found, &now, &project_dir)?);
        }
        for (path, kind) in &now.new {
            let difference = match kind {
                GuardedKind::Test | GuardedKind::Named | GuardedKind::Rust => None,
                GuardedKind::Config | GuardedKind::Manifest if !self.affects_originals(path) => None,
                GuardedKind::Config | GuardedKind::Shadow => {
                    Some(whole(path, GuardedChangeKind::Added, FileContent::Nothing))
                }
                GuardedKind::Manifest => self.new_manifest(path, &project_dir),
            };
            differences.extend(difference);
        }
        differences.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(differences)
    }

    fn new_manifest(&self, path: &str, project_dir: &ProjectDir) -> Option<GuardedDifference> {
        let added = || Some(whole(path, GuardedChangeKind::Added, FileContent::Nothing));
        let Ok(Some(FileContent::File { bytes, mode })) = project_dir.read(path) else {
            return added();
        };
        match manifests::compare(path, None, Some(&bytes)) {
            Some(parts) => in_parts(path, parts, mode),
            None => added(),
        }
    }

    fn now(&self, project: &Path, project_dir: &ProjectDir) -> Result<PresentProject, GuardError> {
        let mut now = PresentProject::default();
        walk(
            project,
            |directory| self.directories.contains(directory),
            |path, kind| {
                if self.guard.rules.rust_blocks && is_rust(path) {
                    now.rust.push(path.to_owned());
                }
                if self.by_path.contains_key(path) {
                    // A file that cannot be inspected counts as changed.
                    now.guarded
                        .insert(path.to_owned(), project_dir.inspect(path).unwrap_or(PathState::Other));
                } else if let Some(kind) = self.guard.kind_of_new(path) {
                    now.new.push((path.to_owned(), kind));
                } else if kind.is_symlink()
                    && let Some(kind) = self.linked_kind(project, path)
                {
                    now.new.push((path.to_owned(), kind));
                }
                Ok(())
            },
        )?;
        Ok(now)
    }

    /// Returns the kind of a new symlink to a directory with a file that would shadow or configure a runner.
    fn linked_kind(&self, project: &Path, path: &str) -> Option<GuardedKind> {
        let names = fs::read_dir(project.join(path)).ok()?.take(LINKED_CAP);
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut kinds = names.filter_map(|name| self.guard.kind_of_new(&format!("{path}/{name}")));
        kinds.find(|kind| matches!(kind, GuardedKind::Config | GuardedKind::Shadow))
    }

    /// Whether a new configuration file can affect guarded files: it applies below its nearest directory that is not
    /// hidden.
    fn affects_originals(&self, path: &str) -> bool {
        let shown =
            parent_directories(path).find(|directory| !directory.rsplit('/').next().unwrap_or("").starts_with('.'));
        shown.is_none_or(|directory| directory.is_empty() || self.directories.contains(directory))
    }

    fn difference(
        &self,
        entry: &OriginalEntry,
        found: &PathState,
        now: &PresentProject,
        project_dir: &ProjectDir,
    ) -> Result<Option<GuardedDifference>, GuardError> {
        if entry.kind == GuardedKind::Shadow || entry.is_untouched(found) {
            return Ok(None);
        }
        let original = self.content(entry)?;
        let current = project_dir.read(&entry.path).unwrap_or(None);
        if current.as_ref().is_some_and(|current| current.is_like(&original)) {
            return Ok(None);
        }
        let kind = match found {
            PathState::Nothing => GuardedChangeKind::Deleted,
            // Something else has taken the place of its directory.
            PathState::Other
                if project_dir
                    .missing_parents(&entry.path)
                    .is_ok_and(|missing| missing.is_none()) =>
            {
                GuardedChangeKind::Deleted
            }
            PathState::File(_) | PathState::Link(_) | PathState::Other => GuardedChangeKind::Changed,
        };
        match entry.kind {
            GuardedKind::Test if kind == GuardedChangeKind::Deleted && now.has_moved(&original, project_dir) => {
                Ok(None)
            }
            GuardedKind::Test | GuardedKind::Named | GuardedKind::Config => {
                Ok(Some(whole(&entry.path, kind, original)))
            }
            GuardedKind::Manifest => {
                let compare =
                    |original: &[u8], now: Option<&[u8]>| manifests::compare(&entry.path, Some(original), now);
                Ok(part_difference(&entry.path, kind, original, current, compare))
            }
            GuardedKind::Rust => Ok(self.rust_difference(&entry.path, kind, original, current, now, Some(project_dir))),
            GuardedKind::Shadow => Ok(None),
        }
    }

    /// `project_dir` is where tests may have moved to; without it, such tests count as deleted.
    fn rust_difference(
        &self,
        path: &str,
        kind: GuardedChangeKind,
        original: FileContent,
        current: Option<FileContent>,
        now: &PresentProject,
        project_dir: Option<&ProjectDir>,
    ) -> Option<GuardedDifference> {
        // A module's file may have its other possible name now.
        let other = other_module_file(path).filter(|_| current == Some(FileContent::Nothing));
        let moved = other
            .as_ref()
            .and_then(|other| Some((other, project_dir?.read(other).ok()??)));
        let (path, current) = match &moved {
            Some((other, content @ FileContent::File { .. })) => (other.as_str(), Some(content.clone())),
            Some(_) | None => (path, current),
        };
        let has_moved = |likeness: &rust::Likeness| {
            let balance = project_dir.and_then(|project_dir| {
                let blocks = now.blocks.get_or_init(|| self.block_balance(now, project_dir));
                blocks.get(&now.hasher.hash_one(likeness))
            });
            balance.is_some_and(|balance| *balance >= 0)
        };
        part_difference(path, kind, original, current, |original, now| {
            let original = str::from_utf8(original).ok()?;
            Some(match now {
                Some(now) => rust::compare(original, str::from_utf8(now).ok()?, has_moved),
                None => rust::compare_deleted(original, has_moved),
            })
        })
    }

    /// Counts, for each likeness, the blocks in all present Rust files minus those in the originals.
    fn block_balance(&self, now: &PresentProject, project_dir: &ProjectDir) -> HashMap<u64, i64> {
        let mut balance: HashMap<u64, i64> = HashMap::new();
        let mut count = |bytes: &[u8], by: i64| {
            for likeness in str::from_utf8(bytes).map(rust::likenesses).unwrap_or_default() {
                *balance.entry(now.hasher.hash_one(&likeness)).or_default() += by;
            }
        };
        for path in &now.rust {
            if let Ok((_, bytes)) = project_dir.read_file(path) {
                count(&bytes, 1);
            }
        }
        for entry in self
            .index
            .entries
            .iter()
            .filter(|entry| is_rust(&entry.path) && !entry.link)
        {
            if let Ok(bytes) = self.bytes(entry) {
                count(&bytes, -1);
            }
        }
        balance
    }

    fn content(&self, entry: &OriginalEntry) -> Result<FileContent, GuardError> {
        let bytes = self.bytes(entry)?;
        Ok(if entry.link {
            FileContent::Link(bytes)
        } else {
            FileContent::File {
                bytes,
                mode: entry.mode,
            }
        })
    }

    pub(super) fn bytes(&self, entry: &OriginalEntry) -> Result<Vec<u8>, GuardError> {
        let mut bytes = Vec::new();
        let mut read = || {
            let mut file = File::open(&self.copies)?;
            file.seek(SeekFrom::Start(entry.at))?;
            file.take(entry.len).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == entry.len {
                Ok(())
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        };
        read().map_err(GuardError::file(&self.copies))?;
        Ok(bytes)
    }
}

impl OriginalEntry {
    pub(super) fn empty(path: &str, kind: GuardedKind) -> OriginalEntry {
        OriginalEntry {
            path: path.to_owned(),
            kind,
            link: false,
            at: 0,
            len: 0,
            mode: 0o644,
            identity: None,
        }
    }

    fn is_untouched(&self, found: &PathState) -> bool {
        match found {
            PathState::File(metadata) => !self.link && self.identity == Some(metadata.identity),
            PathState::Nothing | PathState::Link(_) | PathState::Other => false,
        }
    }
}

fn whole(path: &str, kind: GuardedChangeKind, put: FileContent) -> GuardedDifference {
    let change = GuardedChange {
        path: path.into(),
        kind,
        part: None,
    };
    GuardedDifference {
        changes: vec![change],
        path: path.to_owned(),
        put: Some(put),
        shown: None,
    }
}

/// Compares the parts of a file. If `compare` cannot tell, the whole file differs.
fn part_difference(
    path: &str,
    kind: GuardedChangeKind,
    original: FileContent,
    now: Option<FileContent>,
    compare: impl FnOnce(&[u8], Option<&[u8]>) -> Option<ChangedParts>,
) -> Option<GuardedDifference> {
    let (bytes, mode) = match now {
        Some(FileContent::Nothing) => (None, 0o644),
        Some(FileContent::File { bytes, mode }) => (Some(bytes), mode),
        Some(FileContent::Link(_)) | None => return Some(whole(path, kind, original)),
    };
    let parts = match &original {
        FileContent::File { bytes: original, .. } => compare(original, bytes.as_deref()),
        FileContent::Link(_) | FileContent::Nothing => None,
    };
    match parts {
        Some(parts) => in_parts(path, parts, mode),
        None => Some(whole(path, kind, original)),
    }
}

/// Returns `a/mod.rs` for `a.rs`, and the other way round.
fn other_module_file(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".rs")?;
    Some(match stem.strip_suffix("/mod") {
        Some(directory) => format!("{directory}.rs"),
        None => format!("{stem}/mod.rs"),
    })
}

/// Makes a difference from changed parts; `None` if no part changed.
fn in_parts(path: &str, parts: ChangedParts, mode: u32) -> Option<GuardedDifference> {
    let change = |(kind, part): (_, String)| GuardedChange {
        path: path.into(),
        kind,
        part: Some(part.into()),
    };
    let changes: Vec<_> = parts.changes.into_iter().map(change).collect();
    (!changes.is_empty()).then(|| GuardedDifference {
        changes,
        path: path.to_owned(),
        put: parts.put.map(|bytes| FileContent::File { bytes, mode }),
        shown: parts.shown,
    })
}

/// Returns the directories that contain a path, innermost first; the project itself is the empty string.
fn parent_directories(path: &str) -> impl Iterator<Item = &str> {
    let below = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    below.chain([""])
}

/// Replaces a file of ralph's own atomically, so that it survives a power failure.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), GuardError> {
    let write = || {
        let bytes = serde_json::to_vec(value)?;
        let new = path.with_extension("new");
        before_change()?;
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        sync(&file)?;
        before_change()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |directory| sync(&File::open(directory)?))
    };
    write().map_err(GuardError::file(path))
}

/// Reads a file of ralph's own; `None` if it does not exist.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>, GuardError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(GuardError::file(path))?,
    };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|source| GuardError::Unreadable {
        path: path.to_owned(),
        source,
    })
}
