//! An entry of the ACP registry.

use std::collections::BTreeMap;

use serde::Deserialize;

/// An agent of the registry: what it is, and how it is installed and run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegistryEntry {
    pub id: String,
    pub name: String,
    pub version: String,
    /// The licence, as the entry says it.
    pub license: Option<String>,
    /// The address of the sources.
    pub repository: Option<String>,
    pub(super) distribution: Distribution,
}

/// The ways in which an agent is distributed. Others than these are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Distribution {
    /// A package that `npx` installs and runs.
    pub(super) npx: Option<Package>,
    /// A package that `uvx` installs and runs.
    pub(super) uvx: Option<Package>,
    /// An archive for each platform.
    #[serde(default)]
    pub(super) binary: BTreeMap<String, ReleaseArchive>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Package {
    /// The package's name, with or without a version.
    pub(super) package: String,
    /// The program of the package, if it is not called like the package.
    pub(super) cmd: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ReleaseArchive {
    /// The archive's address.
    pub(super) archive: String,
    /// The path of the program in the archive.
    pub(super) cmd: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

impl Package {
    /// The package without scope and version, which is what its program is called unless the entry says otherwise.
    pub(super) fn bare_name(&self) -> &str {
        let name = self.package.rsplit_once('/').map_or(&*self.package, |(_, name)| name);
        name.split(['@', '=', '[']).next().unwrap_or(name)
    }
}

impl ReleaseArchive {
    /// The name of the program.
    pub(super) fn program(&self) -> &str {
        self.cmd.rsplit_once('/').map_or(&*self.cmd, |(_, name)| name)
    }
}
