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
    layers::{self, Entries, Entry, Origin, Setting},
    manifest::Manifest,
    manifest_error::ManifestError,
    opencode::Credentials,
    subprocess::SubprocessAdapter,
};
use crate::files::{self, ADAPTER_CAP_BYTES};

/// Most adapters of one directory; those whose names come last are left out.
const ADAPTERS_CAP: usize = 256;
/// Most entries of a directory that are looked at.
const ENTRIES_CAP: usize = 4096;

/// The adapters that come with ralph: file name without `.toml`, and text.
const BUILT_IN: [(&str, &str); 7] = [
    ("aider", include_str!("../../adapters/aider.toml")),
    ("claude", include_str!("../../adapters/claude.toml")),
    ("codex", include_str!("../../adapters/codex.toml")),
    ("demo", include_str!("../../adapters/demo.toml")),
    ("gemini", include_str!("../../adapters/gemini.toml")),
    ("opencode-run", include_str!("../../adapters/opencode-run.toml")),
    ("opencode-server", include_str!("../../adapters/opencode-server.toml")),
];

/// Where adapters may be defined beside the built-in ones, weakest first.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Directories with `<id>.toml` files, the user's before the project's. One that is not there is empty.
    pub directories: Vec<PathBuf>,
    /// The `adapters` objects of the configuration layers.
    pub config: Vec<ConfigAdapters>,
}

/// The `"adapters"` object of one configuration layer: settings by adapter id.
#[derive(Debug, Clone)]
pub struct ConfigAdapters {
    /// The file, or what else the layer is called to the user.
    pub origin: String,
    pub adapters: serde_json::Map<String, serde_json::Value>,
}

/// The adapters by id.
#[derive(Debug)]
pub struct Catalog {
    adapters: BTreeMap<String, Adapter>,
    notices: Vec<String>,
}

#[derive(Debug, Default)]
struct Adapter {
    entries: Entries,
    /// The first thing that is wrong with one of its layers.
    broken: Option<ManifestError>,
}

/// One line of a list of adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: String,
    pub title: String,
    /// The strongest place that says something about it.
    pub origin: Origin,
    /// The program's path if it is installed.
    pub installed: Option<PathBuf>,
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
            let entries = layers::from_toml(text, Path::new(id), &|_| Origin::BuiltIn);
            catalog.add(id, entries);
        }
        for directory in &sources.directories {
            catalog.add_directory(directory);
        }
        for layer in &sources.config {
            for (id, value) in &layer.adapters {
                let origin = Origin::Config {
                    layer: layer.origin.clone(),
                    id: id.clone(),
                };
                catalog.add(id, layers::from_json(value, &origin));
            }
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
        Manifest::from_entries(id, &adapter.entries).map_err(wrong)
    }

    /// An adapter to run sessions with.
    ///
    /// # Errors
    /// As [`Catalog::manifest`].
    pub fn adapter(&self, id: &str) -> Result<SubprocessAdapter, AgentError> {
        Ok(SubprocessAdapter::new(self.manifest(id)?))
    }

    /// Looks for the program and its version, as a session in `cwd` would find it.
    ///
    /// # Errors
    /// As [`Catalog::manifest`]; a program that is missing is in the report.
    pub fn check(&self, id: &str, cwd: &Path) -> Result<CheckReport, AgentError> {
        Ok(check::check(&self.manifest(id)?, cwd))
    }

    /// Checks every adapter, all at the same time: some programs take seconds to tell their version.
    pub fn check_all(&self, cwd: &Path) -> Vec<(&str, Result<CheckReport, AgentError>)> {
        thread::scope(|scope| {
            let checks: Vec<_> = self
                .ids()
                .map(|id| (id, scope.spawn(move || self.check(id, cwd))))
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
        let of_agents = manifests.flat_map(|manifest| manifest.credentials.env);
        let keys: BTreeSet<String> = of_agents.chain([Credentials::PASSWORD_VAR.to_owned()]).collect();
        keys.into_iter().collect()
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
                origin: adapter.strongest(),
                installed: manifest
                    .as_ref()
                    .ok()
                    .and_then(|manifest| check::find(manifest, cwd).ok()),
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
        let mut entries: Vec<_> = adapter.entries.iter().collect();
        entries.sort_by_key(|(key, _)| (layers::rank(key), *key));
        let width = entries
            .iter()
            .map(|(key, entry)| shown(key, entry).len())
            .max()
            .unwrap_or_default()
            .min(60);
        for (key, entry) in entries {
            // Writing to a String does not fail.
            _ = writeln!(out, "{:width$}  # {}", shown(key, entry), entry.origin);
        }
        if let Err(error) = self.manifest(id) {
            _ = writeln!(out, "# broken: {}", why(&error));
        }
        Ok(out)
    }

    fn get(&self, id: &str) -> Result<&Adapter, AgentError> {
        self.adapters.get(id).ok_or_else(|| AgentError::UnknownAdapter {
            id: id.to_owned(),
            suggestion: layers::closest(id, self.ids()),
            known: self.ids().map(str::to_owned).collect(),
        })
    }

    fn add_directory(&mut self, directory: &Path) {
        // One that cannot be read is as good as none: most users have none.
        let Ok(found) = fs::read_dir(directory) else {
            return;
        };
        let found: Vec<_> = found.take(ENTRIES_CAP + 1).collect();
        let mut is_complete = found.len() <= ENTRIES_CAP;
        let mut paths: Vec<_> = found.into_iter().filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        is_complete &= paths.len() <= ADAPTERS_CAP;
        paths.truncate(ADAPTERS_CAP);
        if !is_complete {
            self.notices.push(format!(
                "{}: too many adapters: only {ADAPTERS_CAP} are read",
                directory.display()
            ));
        }
        for path in paths {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            self.add(&id, read(&path));
        }
    }

    fn add(&mut self, id: &str, entries: Result<Entries, ManifestError>) {
        let adapter = self.adapters.entry(id.to_owned()).or_default();
        match entries.and_then(|entries| check_id(id, entries)) {
            Ok(entries) => adapter.entries.extend(entries),
            Err(error) => {
                adapter.broken.get_or_insert(error);
            }
        }
    }
}

impl Adapter {
    fn strongest(&self) -> Origin {
        let strength = |origin: &Origin| match origin {
            Origin::BuiltIn => 0,
            Origin::File { .. } => 1,
            Origin::Config { .. } => 2,
        };
        let origins = self.entries.values().map(|entry| &entry.origin);
        origins
            .max_by_key(|origin| strength(origin))
            .cloned()
            .unwrap_or(Origin::BuiltIn)
    }
}

fn read(path: &Path) -> Result<Entries, ManifestError> {
    let text = files::read_text(path, ADAPTER_CAP_BYTES).map_err(|source| ManifestError::Read {
        path: path.to_owned(),
        source: source.into(),
    })?;
    layers::from_toml(&text, path, &|line| Origin::File {
        path: path.to_owned(),
        line,
    })
}

fn check_id(id: &str, entries: Entries) -> Result<Entries, ManifestError> {
    let first = || {
        entries
            .values()
            .next()
            .map_or(Origin::BuiltIn, |entry| entry.origin.clone())
    };
    let valid = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    if !id.bytes().all(valid) || !id.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(ManifestError::IdInvalid {
            at: first(),
            id: id.to_owned(),
        });
    }
    match entries.get("id") {
        Some(Entry {
            setting: Setting::Text(named),
            origin,
        }) if named != id => Err(ManifestError::IdMismatch {
            at: origin.clone(),
            id: named.clone(),
            expected: id.to_owned(),
        }),
        Some(_) | None => Ok(entries),
    }
}

/// A value as it may be shown: those of variables that hold secrets, by their names, stay out of sight.
fn shown(key: &str, entry: &Entry) -> String {
    const SECRET: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
    let secret = key.starts_with(layers::ENV) && SECRET.iter().any(|word| key.to_ascii_uppercase().contains(word));
    match secret {
        true => format!("{key} = (not shown)"),
        false => format!("{key} = {}", entry.setting),
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
