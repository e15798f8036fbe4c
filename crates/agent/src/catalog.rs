//! The catalogue of adapters: built in, the user's, the project's and those of the configuration, merged key by key.
//!
//! The name of a file is the id of its adapter. A later layer may set single keys of an adapter from an earlier layer,
//! or add a complete adapter. A broken adapter is reported only when it is asked for and does not affect the others;
//! the size of a directory is bounded.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ralph_policy::settings::{
    self, CatalogError, Layer, LayerError, ManifestKind, Merged, Node, OriginFinder, SettingOrigin, Terms, from_toml,
};
use ralph_system::{files::Directory, proc::Supervisor, workers::share};

use super::{
    AgentError,
    check::{self, CheckReport},
    login::Login,
    manifest::{LANGUAGE, Manifest, Transport, WrittenAdapter},
    manifest_error::ManifestError,
    opencode::Credentials,
    registry::{self, AgentLaunch, Registry, RegistryEntry},
};

macro_rules! built_in {
    ($($(#[$with:meta])? $id:literal),+ $(,)?) => {
        &[$($(#[$with])? ($id, include_str!(concat!("../adapters/", $id, ".toml")))),+]
    };
}

/// The adapters that come with ralph: file name without `.toml`, and text.
const BUILT_IN: &[(&str, &str)] = built_in![
    "aider",
    "claude",
    "cline",
    "codex",
    "copilot",
    "demo",
    "gemini",
    "kilo",
    "kimi",
    #[cfg(feature = "native")]
    "native",
    "opencode-run",
    "opencode-server",
    "pi",
    "qwen-code",
];

/// The ids of the adapters that come with ralph.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(id, _)| *id)
}

/// The sources of adapters beside the built-in ones, weakest first.
#[derive(Debug, Clone, Default)]
pub struct AdapterSources {
    /// Directories with `<id>.toml` files. A missing directory counts as empty.
    pub directories: Vec<PathBuf>,
    /// The adapter files of the project's own directory, as far as the project is trusted.
    pub project: Directory,
    /// The `adapters` tables of the configuration layers: settings by adapter id.
    pub config: Vec<Node>,
}

/// The adapters by id.
#[derive(Debug)]
pub struct Catalog(settings::Catalog<AdapterFiles>);

#[derive(Debug)]
struct AdapterFiles;

impl ManifestKind for AdapterFiles {
    type Manifest = Manifest;
    type Written = WrittenAdapter;
    type Error = ManifestError;

    const TERMS: &'static Terms = &LANGUAGE;
    const NAME: &'static str = "adapter";
    const BUILT_IN: &'static [(&'static str, &'static str)] = BUILT_IN;

    fn from_merged(id: &str, merged: &Merged) -> Result<Manifest, ManifestError> {
        Manifest::from_merged(id, merged)
    }

    fn hints(error: &ManifestError) -> Vec<String> {
        error.hints()
    }

    /// Variables whose names suggest a secret.
    fn is_secret(key: &str) -> bool {
        const SECRET: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
        key.starts_with("command.env.") && SECRET.iter().any(|word| key.to_ascii_uppercase().contains(word))
    }
}

/// One line of a list of adapters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAdapter {
    pub id: String,
    pub title: String,
    /// The channels through which ralph can talk to the agent.
    pub channels: &'static str,
    /// The tool uses for which the agent asks for permission.
    pub asks_before: String,
    /// The place of a built-in adapter among those that a run may choose.
    pub rank: Option<u32>,
    /// The strongest source that sets a value of this adapter.
    pub origin: SettingOrigin,
    /// The program's path if it is installed.
    pub installed: Option<PathBuf>,
    /// The state of the agent's login, as far as it can be seen.
    pub login: Login,
    /// Why the adapter cannot be used; `None` if it can.
    pub broken: Option<String>,
}

impl Catalog {
    /// Reads every layer. Errors in an adapter are reported when it is asked for.
    pub fn load(sources: &AdapterSources) -> Self {
        let users: Vec<_> = sources.directories.iter().map(|path| Directory::read(path)).collect();
        let mut catalog = settings::Catalog::load(users.iter().chain([&sources.project]));
        for (id, node) in sources.config.iter().filter_map(Node::fields).flatten() {
            catalog.add_node(id, node);
        }
        Catalog(catalog)
    }

    /// Warnings for the user, one sentence each.
    pub fn notices(&self) -> &[String] {
        self.0.notices()
    }

    /// Every id, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.ids()
    }

    /// Whether there is an adapter of this id, which may be made of an entry of the registry.
    pub fn has(&self, id: &str) -> bool {
        let is_listed = |entry: &str| Registry::compiled_in().entry(entry).is_ok();
        self.ids().any(|known| known == id) || id.strip_prefix(registry::PREFIX).is_some_and(is_listed)
    }

    /// The complete manifest of an adapter.
    ///
    /// # Errors
    /// [`AgentError::Catalog`], and [`AgentError::Registry`] if the registry has no such agent.
    pub fn manifest(&self, id: &str) -> Result<Manifest, AgentError> {
        match self.text_of_registry(id)? {
            Some(text) => manifest_of_text(id, &text),
            None => Ok(self.0.manifest(id)?),
        }
    }

    /// The adapter that is made of an entry of the registry: of `acp:goose` the one that runs the program of `goose`.
    /// `None` for any other id.
    fn text_of_registry(&self, id: &str) -> Result<Option<String>, AgentError> {
        let Some(entry) = id.strip_prefix(registry::PREFIX) else {
            return Ok(None);
        };
        let registry = Registry::compiled_in();
        let entry = registry.entry(entry)?;
        let found = registry::program_of(entry, |name| which::which(name).ok());
        // Without a program for this platform, there is nothing to look for but the agent's id.
        let launch = found.unwrap_or_else(|| AgentLaunch::of_program(&entry.id));
        let known = self.knows_agent(entry);
        let launch = launch.with_variables_of(known.as_ref());
        Ok(Some(registry::adapter_text(
            entry,
            &launch,
            &registry.described(),
            known.as_ref(),
        )))
    }

    /// The manifest of the built-in adapter that knows the agent of an entry of the registry.
    pub fn knows_agent(&self, entry: &RegistryEntry) -> Option<Manifest> {
        let mut manifests = built_in().filter_map(|id| self.0.manifest(id).ok());
        manifests.find(|manifest| manifest.acp.as_ref() == Some(&entry.id))
    }

    /// Looks for the program and its version, as a session in `cwd` would find it.
    ///
    /// # Errors
    /// As [`Catalog::manifest`]. A missing program is not an error but part of the report.
    pub fn check(
        &self,
        id: &str,
        cwd: &Path,
        supervisor_of: impl Fn(&Manifest) -> Supervisor,
    ) -> Result<CheckReport, AgentError> {
        Ok(check::check(&self.manifest(id)?, cwd, &self.keys(), supervisor_of))
    }

    /// Checks all adapters, several at once, since some programs take seconds to print their version. Returns the reports in
    /// the order of their ids.
    pub fn check_all(
        &self,
        cwd: &Path,
        supervisor_of: impl Fn(&Manifest) -> Supervisor + Sync,
    ) -> Vec<(&str, Result<CheckReport, AgentError>)> {
        let mut checked = Vec::new();
        self.check_each(cwd, supervisor_of, |id, check| checked.push((id, check)));
        checked.sort_by_key(|(id, _)| *id);
        checked
    }

    /// Checks all adapters, several at once, and calls `each` as soon as a check has ended.
    pub fn check_each<'a>(
        &'a self,
        cwd: &Path,
        supervisor_of: impl Fn(&Manifest) -> Supervisor + Sync,
        mut each: impl FnMut(&'a str, Result<CheckReport, AgentError>),
    ) {
        let ids: Vec<&str> = self.ids().collect();
        let check = |id| (id, self.check(id, cwd, &supervisor_of));
        share(ids.into_iter(), check, |(id, check)| each(id, check));
    }

    /// The environment variables that hold keys of any agent, each once. Other programs that ralph starts do not get
    /// them.
    pub fn keys(&self) -> Vec<String> {
        let manifests = self.ids().filter_map(|id| self.manifest(id).ok());
        let of_agents = manifests.flat_map(|manifest| {
            let variables = manifest.credentials.variables();
            variables.map(str::to_owned).collect::<Vec<_>>()
        });
        let keys: BTreeSet<String> = of_agents.chain([Credentials::PASSWORD_VAR.to_owned()]).collect();
        keys.into_iter().collect()
    }

    /// The key variables that are withheld from the agent of `manifest`: those of the other agents. An adapter that
    /// names no variables of its own gets all of them.
    pub fn keys_of_others(&self, manifest: &Manifest) -> Vec<String> {
        let own: Vec<&str> = manifest.credentials.variables().collect();
        if own.is_empty() {
            return Vec::new();
        }
        let set = manifest.command.env.iter().map(|(name, _)| name.as_str());
        // ralph sets a password for a server that it starts itself.
        let password = (manifest.transport == Transport::Http).then_some(Credentials::PASSWORD_VAR);
        let kept: Vec<&str> = own.into_iter().chain(set).chain(password).collect();
        self.keys()
            .into_iter()
            .filter(|name| !kept.contains(&name.as_str()))
            .collect()
    }

    /// All adapters, and whether each can be used in `cwd`.
    pub fn list(&self, cwd: &Path) -> Vec<ListedAdapter> {
        let listed = |(id, origin, manifest): (&str, &SettingOrigin, Result<Manifest, String>)| ListedAdapter {
            id: id.to_owned(),
            title: manifest
                .as_ref()
                .map_or_else(|_| id.to_owned(), |manifest| manifest.title.clone()),
            channels: manifest.as_ref().map_or("-", Manifest::channels),
            asks_before: manifest.as_ref().map_or_else(|_| "-".to_owned(), Manifest::asks_before),
            rank: manifest.as_ref().ok().and_then(|manifest| manifest.rank),
            origin: origin.clone(),
            installed: manifest
                .as_ref()
                .ok()
                .and_then(|manifest| check::find(manifest, cwd).ok()),
            login: manifest.as_ref().map_or(Login::NotAsked, check::login),
            broken: manifest.err(),
        };
        self.0.list().map(listed).collect()
    }

    /// Each value of an adapter with its origin, as TOML. An error in it is a comment.
    ///
    /// # Errors
    /// [`AgentError::Catalog`] if there is no such adapter.
    pub fn show(&self, id: &str) -> Result<String, AgentError> {
        match self.text_of_registry(id)? {
            Some(text) => Ok(text),
            None => Ok(self.0.show(id)?),
        }
    }
}

/// The manifest of an adapter that is in no directory.
///
/// # Errors
/// [`AgentError::Catalog`].
pub fn manifest_of_text(id: &str, text: &str) -> Result<Manifest, AgentError> {
    let read = || -> Result<Manifest, ManifestError> {
        let refused = |mistakes| ManifestError::from(LayerError::from_mistakes(mistakes));
        let root =
            from_toml(Path::new(id), text, OriginFinder::built_in(text)).map_err(|mistake| refused(vec![mistake]))?;
        let layer = Layer::read::<WrittenAdapter>(&root, &LANGUAGE).in_order();
        if !layer.mistakes.is_empty() {
            return Err(refused(layer.mistakes));
        }
        let mut merged = Merged::empty();
        layer.leaves.into_iter().for_each(|leaf| merged.set(leaf));
        Manifest::from_merged(id, &merged)
    };
    read().map_err(|source| {
        AgentError::from(CatalogError::Broken {
            what: AdapterFiles::NAME,
            id: id.to_owned(),
            hints: source.hints(),
            source: Box::new(source),
        })
    })
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;
