//! The manifest of an engine of hosts: complete and checked. Whether a host answers is not tried here.

use std::{collections::BTreeSet, time::Duration};

use ralph_policy::settings::{LayerError, Merged};

use super::super::{
    manifest::{CommandTemplate, EngineManifestError, EngineManifestReader, EnginePlaceholder},
    written::WrittenEngine,
};

/// Most plans that a host runs at a time.
const SLOTS: std::ops::RangeInclusive<u32> = 1..=1024;

/// A complete engine of hosts.
#[derive(Debug, Clone)]
pub(crate) struct HostsManifest {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) verified: Option<String>,
    pub(crate) install: Option<String>,
    /// How long a host may take to answer.
    pub(super) timeout: Duration,
    /// How long a connection may be silent.
    pub(super) patience: Duration,
    pub(super) setup: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Runs a line of `sh` on a host.
    pub(super) command: Vec<CommandTemplate>,
    pub(super) args: Vec<String>,
    /// The program on the hosts.
    pub(super) ralph: String,
    /// Each host, and how many plans it runs at a time.
    pub(super) hosts: Vec<(String, u32)>,
}

impl HostsManifest {
    /// Returns the program that reaches the hosts.
    pub(crate) fn program(&self) -> Option<String> {
        self.command.first()?.fill(|_| None)
    }

    pub(crate) fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Makes the manifest of engine `id` from its merged layers.
    ///
    /// # Errors
    /// The first error in it.
    pub(crate) fn from_merged(
        id: &str,
        merged: &Merged,
        written: WrittenEngine,
    ) -> Result<HostsManifest, EngineManifestError> {
        use EnginePlaceholder::{Args, Command, Host};
        let reader = EngineManifestReader { merged };
        for (key, command) in [
            ("submit.command", &written.submit.command),
            ("find.command", &written.find.command),
            ("state.command", &written.state.command),
            ("cancel.command", &written.cancel.command),
        ] {
            if command.is_some() {
                return Err(EngineManifestError::TwoWays {
                    at: merged.origin(key),
                    key: "node.command",
                    pointer: key,
                });
            }
        }
        let key = "node.command";
        let command = reader.command(
            key,
            written.node.command.as_deref().unwrap_or_default(),
            &[Host, Command, Args],
        )?;
        if !command
            .iter()
            .flat_map(|word| word.placeholders())
            .any(|slot| slot == Command)
        {
            return Err(EngineManifestError::NoCommand { at: merged.origin(key) });
        }
        if written.node.ralph.trim().is_empty() {
            return Err(LayerError::empty(merged, "node.ralph").into());
        }
        let milliseconds = |value: u32| Duration::from_millis(u64::from(value));
        Ok(HostsManifest {
            hosts: hosts(merged, &written.node.hosts)?,
            command,
            args: written.node.args,
            ralph: written.node.ralph,
            timeout: milliseconds(written.timeout_ms),
            patience: milliseconds(written.patience_ms),
            setup: written.job.setup,
            env: written.job.env.into_iter().collect(),
            title: written.title.unwrap_or_else(|| id.to_owned()),
            verified: written.verified,
            install: written.install.hint,
            id: id.to_owned(),
        })
    }
}

/// Parses `HOST` and `HOST=PLANS`.
fn hosts(merged: &Merged, written: &[String]) -> Result<Vec<(String, u32)>, EngineManifestError> {
    let mut known = BTreeSet::new();
    let parsed = written.iter().map(|text| {
        let (host, slots) = match text.rsplit_once('=') {
            Some((host, slots)) => (host, slots.parse().ok().filter(|slots| SLOTS.contains(slots))),
            None => (text.as_str(), Some(1)),
        };
        // A host with a dash at its beginning would be an option of ssh.
        let is_host = !host.is_empty()
            && !host.starts_with('-')
            && !host.chars().any(|letter| letter.is_whitespace() || letter.is_control());
        match slots.filter(|_| is_host && known.insert(host.to_owned())) {
            Some(slots) => Ok((host.to_owned(), slots)),
            None => Err(EngineManifestError::NotAHost {
                at: merged.origin("node.hosts"),
                text: text.clone(),
            }),
        }
    });
    parsed.collect()
}
