//! The prerequisites of a strict sandbox: a proxy, a temporary directory, its own caches, and a kernel that can refuse
//! connections.
//!
//! If one is missing, nothing is started.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use ralph_system::{
    proc::{Confinement, ConfinementLevel, Network, Supervisor},
    proxy::{PROXY_VARIABLES, Proxy, RefusedConnection},
    sandbox::hosts::AllowedHosts,
};
use tempfile::TempDir;

use crate::error::{Failure, FailureKind};

/// The minimum version of Landlock: 4 refuses connections, 6 refuses signals.
const NEEDED: i32 = 6;

/// Variables with the hosts that are reached without the proxy: servers of the programs themselves.
const NO_PROXY_VARS: [&str; 2] = ["NO_PROXY", "no_proxy"];
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// A variable that is removed: a build directory shared with other builds.
const TAKEN_AWAY: &str = "CARGO_TARGET_DIR";

/// Variables with the cache directories of package managers and compilers, with their names below the sandbox's own
/// cache.
const CACHE_VARS: [(&str, &str); 7] = [
    ("XDG_CACHE_HOME", "xdg"),
    ("CARGO_HOME", "cargo"),
    ("npm_config_cache", "npm"),
    ("GOMODCACHE", "go-mod"),
    ("GOCACHE", "go-build"),
    ("GRADLE_USER_HOME", "gradle"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
];

/// The resources of a strict sandbox. Ends the proxy and removes the temporary directory on drop.
#[derive(Debug)]
pub(super) struct Strict {
    proxy: Proxy,
    temporary: TempDir,
    caches: PathBuf,
    abi: i32,
}

impl Strict {
    /// # Errors
    /// A [`Failure`] that names what is missing.
    pub(super) fn start(
        level: ConfinementLevel,
        caches: &Path,
        on_refused: impl Fn(RefusedConnection) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        Ok(Self {
            abi: sufficient(level)?,
            proxy: Proxy::start(on_refused).map_err(|error| missing(format!("no proxy: {error}")))?,
            temporary: tempfile::Builder::new()
                .prefix("ralph-")
                .tempdir()
                .map_err(|error| missing(format!("no temporary directory: {error}")))?,
            caches: caches.to_owned(),
        })
    }

    pub(super) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    /// Restricts the network of `open` to `hosts`.
    pub(super) fn confinement(&self, open: Confinement, hosts: AllowedHosts) -> Result<Confinement, Failure> {
        let addresses = hosts.addresses();
        let access = self
            .proxy
            .admit(hosts)
            .map_err(|error| missing(format!("no port of the proxy: {error}")))?;
        Ok(Confinement {
            required: true,
            abi: Some(self.abi),
            network: open.network.map(|network| Network {
                proxy_port: Some(access.port),
                addresses,
                ..network
            }),
            variables: open
                .variables
                .iter()
                .cloned()
                .chain(self.variables(&access.url))
                .collect(),
            ..open
        })
    }

    fn variables(&self, url: &str) -> Vec<(String, Option<String>)> {
        let temporary = self.temporary().display().to_string();
        let proxies = PROXY_VARIABLES.map(|name| (name, url.to_owned()));
        let temporary = ["TMPDIR", "TMP", "TEMP"].map(|name| (name, temporary.clone()));
        let caches = CACHE_VARS.map(|(name, below)| (name, self.caches.join(below).display().to_string()));
        // Node uses a proxy only if this is set.
        let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
        let direct = NO_PROXY_VARS.map(|name| (name, NO_PROXY.to_owned()));
        let set = proxies
            .into_iter()
            .chain(direct)
            .chain(temporary)
            .chain(caches)
            .chain(node);
        set.map(|(name, value)| (name.to_owned(), Some(value)))
            .chain([(TAKEN_AWAY.to_owned(), None)])
            .collect()
    }

    /// Checks that this machine can enforce `confinement`, by applying it to no work at all.
    ///
    /// # Errors
    /// A [`Failure`] with the system's reason.
    pub(super) fn try_out(confinement: Confinement) -> Result<(), Failure> {
        Supervisor::try_confinement(&confinement).map_err(missing)
    }
}

/// Returns the version of Landlock, if it is sufficient.
fn sufficient(level: ConfinementLevel) -> Result<i32, Failure> {
    match level {
        ConfinementLevel::Landlock { abi } if abi >= NEEDED => Ok(abi),
        ConfinementLevel::Landlock { abi } => Err(missing(format!(
            "this kernel has Landlock {abi}; refusing connections and signals needs version {NEEDED} (Linux 6.12)"
        ))),
        ConfinementLevel::None => Err(missing(format!(
            "Landlock version {NEEDED} (Linux 6.12) is required and not available here"
        ))),
    }
}

fn missing(what: impl Display) -> Failure {
    Failure::new(
        FailureKind::Configuration,
        format!("the sandbox cannot be strict: {what}"),
    )
    .hint("`--sandbox on` uses whatever this kernel supports")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_is_not_enough_for_a_strict_sandbox_and_says_what_is() {
        for (level, word) in [
            (ConfinementLevel::None, "not available here"),
            (ConfinementLevel::Landlock { abi: 5 }, "Landlock 5"),
        ] {
            let failure = sufficient(level).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Configuration);
            assert!(failure.to_string().contains(word), "{failure}");
        }
        assert_eq!(sufficient(ConfinementLevel::Landlock { abi: 6 }).unwrap(), 6);
    }
}
