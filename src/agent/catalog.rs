//! All adapters there are: built in, the user's, the project's and those of the configuration, merged key by key.
//!
//! A file's name is the adapter's id. A later layer may set a single key of an adapter that an earlier one has, or add
//! a whole one. A broken adapter harms nobody but who asks for it, and neither does a directory of a million.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    thread,
};

use super::{
    AgentError,
    check::{self, CheckReport},
    login::Login,
    manifest::{LANGUAGE, Manifest, Transport, Written},
    manifest_error::ManifestError,
    opencode::Credentials,
    subprocess::SubprocessAdapter,
};
use crate::{
    files::{self, ADAPTER_CAP_BYTES, ReadError},
    proc::Supervisor,
    settings::{Keys, Layer, Leaf, Merged, Node, Origin, Place, Shape, closest, from_toml},
    text::Position,
};

/// Most adapters of one directory; those whose names come last are left out.
const ADAPTERS_CAP: usize = 256;
/// Most entries of a directory that are looked at.
const ENTRIES_CAP: usize = 4096;

/// The adapters that come with ralph: file name without `.toml`, and text.
const BUILT_IN: [(&str, &str); 9] = [
    ("aider", include_str!("../../adapters/aider.toml")),
    ("claude", include_str!("../../adapters/claude.toml")),
    ("codex", include_str!("../../adapters/codex.toml")),
    ("demo", include_str!("../../adapters/demo.toml")),
    ("gemini", include_str!("../../adapters/gemini.toml")),
    ("native", include_str!("../../adapters/native.toml")),
    ("opencode-run", include_str!("../../adapters/opencode-run.toml")),
    ("opencode-server", include_str!("../../adapters/opencode-server.toml")),
    ("qwen-code", include_str!("../../adapters/qwen-code.toml")),
];

/// The ids of the adapters that come with ralph.
pub(crate) fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(id, _)| *id)
}

/// Where adapters may be defined beside the built-in ones, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Directories with `<id>.toml` files. One that is not there is empty.
    pub directories: Vec<PathBuf>,
    /// What was read of the project's own directory, as far as it counts.
    pub project: Directory,
    /// The `adapters` tables of the configuration layers: settings by adapter id.
    pub config: Vec<Node>,
}

/// The files of a directory that define adapters, by name.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    pub files: Vec<AdapterFile>,
    /// What the user should know that is no error.
    pub notice: Option<String>,
}

/// A file `<id>.toml`, as it was read.
#[derive(Debug, Clone)]
pub struct AdapterFile {
    pub path: PathBuf,
    pub text: Result<String, ReadError>,
}

impl Directory {
    /// Reads a directory. One that cannot be read is as good as none: most users have none.
    pub fn read(directory: &Path) -> Self {
        let Ok(found) = fs::read_dir(directory) else {
            return Self::default();
        };
        let found: Vec<_> = found.take(ENTRIES_CAP + 1).collect();
        let mut is_complete = found.len() <= ENTRIES_CAP;
        let mut paths: Vec<_> = found.into_iter().filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        is_complete &= paths.len() <= ADAPTERS_CAP;
        paths.truncate(ADAPTERS_CAP);
        let too_many = || {
            let directory = directory.display();
            format!("{directory}: too many adapters: only {ADAPTERS_CAP} are read")
        };
        let read = |path: PathBuf| AdapterFile {
            text: files::read_text(&path, ADAPTER_CAP_BYTES),
            path,
        };
        Self {
            files: paths.into_iter().map(read).collect(),
            notice: (!is_complete).then(too_many),
        }
    }
}

impl AdapterFile {
    fn leaves(&self) -> Result<Vec<Leaf>, ManifestError> {
        let text = self.text.as_ref().map_err(|source| ManifestError::Read {
            path: self.path.clone(),
            source: source.clone().into(),
        })?;
        layer(&self.path, text, Place::file(&self.path, text))
    }
}

/// The adapters by id.
#[derive(Debug)]
pub struct Catalog {
    adapters: BTreeMap<String, Adapter>,
    notices: Vec<String>,
}

#[derive(Debug)]
struct Adapter {
    merged: Merged,
    /// Where the strongest layer says something about it.
    origin: Origin,
    /// The first thing that is wrong with one of its layers.
    broken: Option<ManifestError>,
}

/// One line of a list of adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub title: String,
    /// How it can be talked with.
    pub channels: &'static str,
    /// For which uses of tools it asks.
    pub asks: String,
    /// The strongest place that says something about it.
    pub origin: Origin,
    /// The program's path if it is installed.
    pub installed: Option<PathBuf>,
    /// What was found of its login.
    pub login: Login,
    /// Why it cannot be used at all.
    pub broken: Option<String>,
}

impl Catalog {
    /// Reads every layer. What is wrong with an adapter is told when it is asked for.
    pub fn load(sources: &Sources) -> Self {
        let mut catalog = Self {
            adapters: BTreeMap::new(),
            notices: Vec::new(),
        };
        for (id, text) in BUILT_IN {
            let layer = layer(Path::new(id), text, Place::built_in(text));
            catalog.add(id, &Origin::BuiltIn, layer);
        }
        for directory in &sources.directories {
            catalog.add_directory(&Directory::read(directory));
        }
        catalog.add_directory(&sources.project);
        for (id, node) in sources.config.iter().filter_map(Node::fields).flatten() {
            catalog.add(id, &node.origin, leaves(node));
        }
        catalog
    }

    /// What the user should know that is no error, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Every id, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.adapters.keys().map(String::as_str)
    }

    /// The complete manifest of an adapter.
    ///
    /// # Errors
    /// [`AgentError::UnknownAdapter`], or [`AgentError::Manifest`] with the first thing that is wrong in it.
    pub fn manifest(&self, id: &str) -> Result<Manifest, AgentError> {
        let adapter = self.get(id)?;
        let wrong = |source| AgentError::Manifest {
            id: id.to_owned(),
            source: Box::new(source),
        };
        if let Some(broken) = &adapter.broken {
            return Err(wrong(broken.clone()));
        }
        Manifest::of(id, &adapter.merged).map_err(wrong)
    }

    /// An adapter to run sessions with.
    ///
    /// # Errors
    /// As [`Catalog::manifest`].
    pub fn adapter(&self, id: &str, supervisor: &Supervisor) -> Result<SubprocessAdapter, AgentError> {
        Ok(SubprocessAdapter::new(self.manifest(id)?, supervisor))
    }

    /// Looks for the program and its version, as a session in `cwd` would find it.
    ///
    /// # Errors
    /// As [`Catalog::manifest`]; a program that is missing is in the report.
    pub fn check(&self, id: &str, cwd: &Path, supervisor: &Supervisor) -> Result<CheckReport, AgentError> {
        Ok(check::check(&self.manifest(id)?, cwd, &self.keys(), supervisor))
    }

    /// Checks every adapter, all at the same time: some programs take seconds to tell their version.
    pub fn check_all(&self, cwd: &Path, supervisor: &Supervisor) -> Vec<(&str, Result<CheckReport, AgentError>)> {
        thread::scope(|scope| {
            let checks: Vec<_> = self
                .ids()
                .map(|id| (id, scope.spawn(move || self.check(id, cwd, supervisor))))
                .collect();
            let checked = checks.into_iter();
            checked
                .map(|(id, check)| (id, check.join().expect("a check does not panic")))
                .collect()
        })
    }

    /// The variables that hold a key of some agent's, each once: what runs beside agents has no use for them.
    pub fn keys(&self) -> Vec<String> {
        let manifests = self.ids().filter_map(|id| self.manifest(id).ok());
        let of_agents = manifests.flat_map(|manifest| {
            let variables = manifest.credentials.variables();
            variables.map(str::to_owned).collect::<Vec<_>>()
        });
        let keys: BTreeSet<String> = of_agents.chain([Credentials::PASSWORD_VAR.to_owned()]).collect();
        keys.into_iter().collect()
    }

    /// The variables with keys that are not for the agent of `manifest`: those of the others. One of which nobody has said
    /// what it uses gets all of them.
    pub fn keys_of_others(&self, manifest: &Manifest) -> Vec<String> {
        let own: Vec<&str> = manifest.credentials.variables().collect();
        if own.is_empty() {
            return Vec::new();
        }
        let set = manifest.command.env.iter().map(|(name, _)| name.as_str());
        // ralph gives a server of its own a password.
        let of_server = (manifest.transport == Transport::Http).then_some(Credentials::PASSWORD_VAR);
        let kept: Vec<&str> = own.into_iter().chain(set).chain(of_server).collect();
        self.keys()
            .into_iter()
            .filter(|name| !kept.contains(&name.as_str()))
            .collect()
    }

    /// Each adapter with whether it can be used in `cwd`.
    pub fn list(&self, cwd: &Path) -> Vec<Listed> {
        let listed = |(id, adapter): (&String, &Adapter)| {
            let manifest = self.manifest(id);
            let title = manifest
                .as_ref()
                .map_or_else(|_| id.clone(), |manifest| manifest.title.clone());
            Listed {
                id: id.clone(),
                title,
                channels: manifest.as_ref().map_or("-", Manifest::channels),
                asks: manifest.as_ref().map_or_else(|_| "-".to_owned(), Manifest::asks),
                origin: adapter.origin.clone(),
                installed: manifest
                    .as_ref()
                    .ok()
                    .and_then(|manifest| check::find(manifest, cwd).ok()),
                login: manifest.as_ref().map_or(Login::NotAsked, check::login),
                broken: manifest.err().map(|error| why(&error)),
            }
        };
        self.adapters.iter().map(listed).collect()
    }

    /// Each value of an adapter with its origin, as TOML.
    ///
    /// # Errors
    /// [`AgentError::UnknownAdapter`]. What is wrong with an adapter is shown, too: it is what one looks for here.
    pub fn show(&self, id: &str) -> Result<String, AgentError> {
        let adapter = self.get(id)?;
        let mut out = String::new();
        let keys = Keys::of::<Written>();
        let mut rows = adapter.merged.rows();
        rows.sort_by_cached_key(|(key, _)| (keys.rank(key), key.clone()));
        let rows = rows.into_iter().map(|(key, node)| (shown(&key, node), &node.origin));
        let rows: Vec<_> = rows.collect();
        let width = rows.iter().map(|(row, _)| row.len()).max().unwrap_or_default().min(60);
        for (row, origin) in rows {
            // Writing to a String does not fail.
            _ = writeln!(out, "{row:width$}  # {origin}");
        }
        if let Err(error) = self.manifest(id) {
            _ = writeln!(out, "# broken: {}", why(&error));
        }
        Ok(out)
    }

    fn get(&self, id: &str) -> Result<&Adapter, AgentError> {
        self.adapters.get(id).ok_or_else(|| AgentError::UnknownAdapter {
            id: id.to_owned(),
            suggestion: closest(id, self.ids()).map(str::to_owned),
            known: self.ids().map(str::to_owned).collect(),
        })
    }

    fn add_directory(&mut self, directory: &Directory) {
        self.notices.extend(directory.notice.clone());
        for file in &directory.files {
            let id = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            self.add(&id, &Origin::file(&file.path, START), file.leaves());
        }
    }

    fn add(&mut self, id: &str, origin: &Origin, leaves: Result<Vec<Leaf>, ManifestError>) {
        let adapter = self.adapters.entry(id.to_owned()).or_insert_with(|| Adapter {
            merged: Merged::empty(),
            origin: origin.clone(),
            broken: None,
        });
        match leaves.and_then(|leaves| check_id(id, origin, leaves)) {
            Ok(leaves) => {
                if let Some(leaf) = leaves.first() {
                    adapter.origin = leaf.node.origin.clone();
                }
                leaves.into_iter().for_each(|leaf| adapter.merged.set(leaf));
            }
            Err(error) => {
                adapter.broken.get_or_insert(error);
            }
        }
    }
}

/// Where a file begins.
const START: Position = Position { line: 1, column: 1 };

fn layer(path: &Path, text: &str, place: Place<'_>) -> Result<Vec<Leaf>, ManifestError> {
    let root = from_toml(path, text, place).map_err(|mistake| ManifestError::written(vec![mistake]))?;
    leaves(&root)
}

/// What one layer says about an adapter.
fn leaves(root: &Node) -> Result<Vec<Leaf>, ManifestError> {
    let layer = Layer::of::<Written>(root, &LANGUAGE).in_order();
    match layer.mistakes.is_empty() {
        true => Ok(layer.leaves),
        false => Err(ManifestError::written(layer.mistakes)),
    }
}

fn check_id(id: &str, origin: &Origin, leaves: Vec<Leaf>) -> Result<Vec<Leaf>, ManifestError> {
    let valid = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    if !id.bytes().all(valid) || !id.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(ManifestError::IdInvalid {
            at: origin.clone(),
            id: id.to_owned(),
        });
    }
    let named = leaves.iter().find(|leaf| leaf.path == ["id"]);
    match named.and_then(|leaf| Some((leaf.node.text()?, &leaf.node.origin))) {
        Some((named, at)) if named != id => Err(ManifestError::IdMismatch {
            at: at.clone(),
            id: named.to_owned(),
            expected: id.to_owned(),
        }),
        Some(_) | None => Ok(leaves),
    }
}

/// A value as it may be shown, in TOML: those of variables that hold secrets, by their names, stay out of sight.
fn shown(key: &str, node: &Node) -> String {
    const SECRET: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
    let secret = key.starts_with("command.env.") && SECRET.iter().any(|word| key.to_ascii_uppercase().contains(word));
    match secret {
        true => format!("{key} = (not shown)"),
        false => format!("{key} = {}", in_toml(node)),
    }
}

fn in_toml(node: &Node) -> String {
    match &node.shape {
        Shape::List(items) => {
            let items: Vec<String> = items.iter().map(in_toml).collect();
            format!("[{}]", items.join(", "))
        }
        Shape::Scalar(_) | Shape::Table(_) | Shape::Foreign(_) => node.value().to_string(),
    }
}

/// What is wrong, with its causes, without saying again which adapter it is about.
fn why(error: &AgentError) -> String {
    let first = std::error::Error::source(error);
    let causes: Vec<_> = std::iter::successors(first, |error| error.source())
        .map(ToString::to_string)
        .collect();
    if causes.is_empty() {
        error.to_string()
    } else {
        causes.join(": ")
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
