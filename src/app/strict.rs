//! What a strict sandbox takes besides its lists: a proxy, a temporary directory, caches of its own, and a kernel that can
//! refuse connections. Whatever of it is missing, nothing is started.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use ralph_system::{
    proc::{Confinement, ConfinementLevel, Network, Supervisor},
    proxy::{Proxy, Refused},
    sandbox::hosts::Hosts,
};
use tempfile::TempDir;

use crate::error::{Failure, FailureKind};

/// The first version of Landlock that refuses connections (4) and signals (6).
const NEEDED: i32 = 6;

/// Programs look for a proxy in any of these.
const PROXY_VARS: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

/// What programs must not have of the user's: exceptions from the proxy, and a build directory that others build in as well.
const TAKEN_AWAY: [&str; 3] = ["NO_PROXY", "no_proxy", "CARGO_TARGET_DIR"];

/// Where package managers and compilers keep what they would keep in a shared cache, below the directory for that.
const CACHE_VARS: [(&str, &str); 7] = [
    ("XDG_CACHE_HOME", "xdg"),
    ("CARGO_HOME", "cargo"),
    ("npm_config_cache", "npm"),
    ("GOMODCACHE", "go-mod"),
    ("GOCACHE", "go-build"),
    ("GRADLE_USER_HOME", "gradle"),
    ("BUN_INSTALL_CACHE_DIR", "bun"),
];

/// Ready to start programs. Dropped, it ends the proxy and removes the temporary directory.
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
        on_refused: impl Fn(Refused) + Send + Sync + 'static,
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

    /// Makes `open` a confinement that connects to `hosts` alone. A program that `serves` is connected to by ralph.
    pub(super) fn confinement(&self, open: Confinement, hosts: Hosts, serves: bool) -> Result<Confinement, Failure> {
        let url = self
            .proxy
            .admit(hosts)
            .map_err(|error| missing(format!("no random numbers: {error}")))?;
        Ok(Confinement {
            required: true,
            abi: Some(self.abi),
            network: Some(Network {
                port: self.proxy.port(),
                listens: serves,
            }),
            variables: open.variables.iter().cloned().chain(self.variables(&url)).collect(),
            ..open
        })
    }

    fn variables(&self, url: &str) -> Vec<(String, Option<String>)> {
        let temporary = self.temporary().display().to_string();
        let proxies = PROXY_VARS.map(|name| (name, url.to_owned()));
        let temporary = ["TMPDIR", "TMP", "TEMP"].map(|name| (name, temporary.clone()));
        let caches = CACHE_VARS.map(|(name, below)| (name, self.caches.join(below).display().to_string()));
        // Node looks for a proxy only if it is told to.
        let node = [("NODE_USE_ENV_PROXY", "1".to_owned())];
        let set = proxies.into_iter().chain(temporary).chain(caches).chain(node);
        set.map(|(name, value)| (name.to_owned(), Some(value)))
            .chain(TAKEN_AWAY.map(|name| (name.to_owned(), None)))
            .collect()
    }

    /// Makes sure that this machine holds a program to `confinement`, by holding nothing to it.
    ///
    /// # Errors
    /// A [`Failure`] with the system's reason.
    pub(super) fn try_out(confinement: Confinement) -> Result<(), Failure> {
        Supervisor::try_confinement(&confinement).map_err(missing)
    }
}

/// The version of Landlock, if it is enough.
fn sufficient(level: ConfinementLevel) -> Result<i32, Failure> {
    match level {
        ConfinementLevel::Landlock { abi } if abi >= NEEDED => Ok(abi),
        ConfinementLevel::Landlock { abi } => Err(missing(format!(
            "this kernel has Landlock {abi}, and refusing connections and signals takes version {NEEDED} (Linux 6.12)"
        ))),
        ConfinementLevel::None => Err(missing(format!(
            "this system has no Landlock, or forbids it here; it takes version {NEEDED} (Linux 6.12)"
        ))),
    }
}

fn missing(what: impl Display) -> Failure {
    Failure::new(
        FailureKind::Configuration,
        format!("the sandbox cannot be strict: {what}"),
    )
    .hint("`--sandbox on` confines by what there is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernel_is_not_enough_for_a_strict_sandbox_and_says_what_is() {
        for (level, word) in [
            (ConfinementLevel::None, "no Landlock"),
            (ConfinementLevel::Landlock { abi: 5 }, "Landlock 5"),
        ] {
            let failure = sufficient(level).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Configuration);
            assert!(failure.to_string().contains(word), "{failure}");
        }
        assert_eq!(sufficient(ConfinementLevel::Landlock { abi: 6 }).unwrap(), 6);
    }
}
