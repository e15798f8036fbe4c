//! Entries of adapter files, read into the parts of a [`Manifest`](super::Manifest).

use std::{str::FromStr, time::Duration};

use crate::proc::{Ladder, StopSignal};

use super::{
    super::{
        dialect::DialectKind,
        layers::{ENV, Entries, Entry, Origin, Setting},
        login::Credentials,
        manifest_error::ManifestError,
        template::{Placeholder, Template, UnknownPlaceholder},
    },
    Command, PromptBy, Transport,
};

const DEFAULT_GRACE_MS: i64 = 3000;
const MAX_GRACE_MS: i64 = 60_000;

/// Where a placeholder may stand, by the kind of value.
const IN_PROGRAM: &[Placeholder] = &[Placeholder::Ralph];
const IN_ARGS: &[Placeholder] = &[
    Placeholder::Model,
    Placeholder::Agent,
    Placeholder::Resume,
    Placeholder::PromptFile,
    Placeholder::Ralph,
];
/// Of a server, which is started for no session in particular.
const IN_SERVER: &[Placeholder] = &[Placeholder::Port, Placeholder::Ralph];
const IN_ENV: &[Placeholder] = &[
    Placeholder::Model,
    Placeholder::Agent,
    Placeholder::Session,
    Placeholder::PromptFile,
    Placeholder::Ralph,
];

/// The merged entries of one adapter, read with errors that name the place.
pub(super) struct Reader<'a> {
    pub(super) id: &'a str,
    pub(super) entries: &'a Entries,
}

impl<'a> Reader<'a> {
    /// Fails if one of `keys` is nowhere.
    pub(super) fn require(&self, keys: &[&'static str]) -> Result<(), ManifestError> {
        let missing: Vec<_> = keys
            .iter()
            .copied()
            .filter(|key| !self.entries.contains_key(*key))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(ManifestError::Missing {
            at: self.whole(),
            id: self.id.to_owned(),
            keys: missing,
        })
    }

    /// A place for what is about no key in particular.
    fn whole(&self) -> Origin {
        match self.entries.values().next().map(|entry| &entry.origin) {
            Some(Origin::File { path, .. }) => Origin::File {
                path: path.clone(),
                line: 1,
            },
            Some(origin @ (Origin::BuiltIn | Origin::Config { .. })) => origin.clone(),
            None => Origin::BuiltIn,
        }
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.get(key)
    }

    /// The place of `key`, which was read from there.
    fn at(&self, key: &str) -> Origin {
        self.entry(key)
            .map_or_else(|| self.whole(), |entry| entry.origin.clone())
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        match &self.entry(key)?.setting {
            Setting::Text(text) => Some(text),
            Setting::List(_) | Setting::Number(_) | Setting::Flag(_) => None,
        }
    }

    pub(super) fn list(&self, key: &str) -> Option<&'a [String]> {
        match &self.entry(key)?.setting {
            Setting::List(items) => Some(items),
            Setting::Text(_) | Setting::Number(_) | Setting::Flag(_) => None,
        }
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        matches!(
            self.entry(key),
            Some(Entry {
                setting: Setting::Flag(true),
                ..
            })
        )
    }

    /// Nothing of a program reads text while it works: one that claims so would never be told what it was sent.
    pub(super) fn live_steering(&self, transport: Transport) -> Result<bool, ManifestError> {
        let key = "capabilities.live_steering";
        match (self.flag(key), transport) {
            (true, Transport::Pty) => Err(ManifestError::NotLive { at: self.at(key) }),
            (claimed, Transport::Pty | Transport::Http) => Ok(claimed),
        }
    }

    pub(super) fn choice<T: Copy>(
        &self,
        key: &str,
        default: T,
        choices: &[(&'static str, T)],
    ) -> Result<T, ManifestError> {
        let Some(value) = self.text(key) else {
            return Ok(default);
        };
        let found = choices.iter().find(|(name, _)| *name == value);
        found.map(|(_, choice)| *choice).ok_or_else(|| ManifestError::NotOneOf {
            at: self.at(key),
            key: key.to_owned(),
            value: value.to_owned(),
            allowed: choices.iter().map(|(name, _)| *name).collect(),
        })
    }

    pub(super) fn credentials(&self) -> Credentials {
        let list = |key| self.list(key).map(<[String]>::to_vec).unwrap_or_default();
        Credentials {
            env: list("login.env"),
            files: list("login.files"),
            hint: self.text("login.hint").map(str::to_owned),
        }
    }

    pub(super) fn stop(&self) -> Result<Ladder, ManifestError> {
        let signals = [
            ("interrupt", StopSignal::Interrupt),
            ("terminate", StopSignal::Terminate),
        ];
        let first = self.choice("stop.first", StopSignal::Terminate, &signals)?;
        let grace_ms = match self.entry("stop.grace_ms") {
            Some(Entry {
                setting: Setting::Number(number),
                ..
            }) => *number,
            Some(_) | None => DEFAULT_GRACE_MS,
        };
        if !(0..=MAX_GRACE_MS).contains(&grace_ms) {
            return Err(ManifestError::OutOfRange {
                at: self.at("stop.grace_ms"),
                key: "stop.grace_ms".to_owned(),
                value: grace_ms.to_string(),
                allowed: "0 to 60000",
            });
        }
        Ok(Ladder {
            first,
            grace: Duration::from_millis(grace_ms.unsigned_abs()),
        })
    }

    pub(super) fn dialect(&self, transport: Transport) -> Result<DialectKind, ManifestError> {
        match transport {
            Transport::Pty => {
                self.require(&["dialect", "command.program", "command.args", "command.prompt"])?;
                self.choice("dialect", DialectKind::Terminal, &DialectKind::NAMES)
            }
            Transport::Http => {
                self.require(&["dialect", "command.program", "command.args"])?;
                // The one whose servers are known.
                let known = [("opencode-json", DialectKind::OpencodeJson)];
                self.choice("dialect", DialectKind::OpencodeJson, &known)
            }
        }
    }

    pub(super) fn command(&self, transport: Transport) -> Result<Command, ManifestError> {
        let (in_args, in_env) = match transport {
            Transport::Pty => (IN_ARGS, IN_ENV),
            Transport::Http => (IN_SERVER, IN_SERVER),
        };
        let command = Command {
            program: self.template(
                "command.program",
                self.text("command.program").unwrap_or_default(),
                IN_PROGRAM,
            )?,
            args: self.templates("command.args", in_args)?.unwrap_or_default(),
            model: self.templates("command.model", &[Placeholder::Model])?,
            agent: self.templates("command.agent", &[Placeholder::Agent])?,
            resume: self.templates("command.resume", &[Placeholder::Session])?,
            prompt: self.choice(
                "command.prompt",
                PromptBy::Stdin,
                &[("stdin", PromptBy::Stdin), ("file", PromptBy::File)],
            )?,
            env: self.env(in_env)?,
            env_remove: self
                .list("command.env_remove")
                .map(<[String]>::to_vec)
                .unwrap_or_default(),
            git_identity: self.flag("command.git_identity"),
        };
        if self
            .text("command.program")
            .is_some_and(|program| program.trim().is_empty())
        {
            return Err(ManifestError::Empty {
                at: self.at("command.program"),
                key: "command.program".to_owned(),
            });
        }
        self.check_groups(&command)?;
        let takes_port = command
            .args
            .iter()
            .any(|arg| arg.placeholders().any(|found| found == Placeholder::Port));
        if transport == Transport::Http && !takes_port {
            return Err(ManifestError::PortUnused {
                at: self.at("command.args"),
            });
        }
        if command.prompt == PromptBy::File && !command.takes(Placeholder::PromptFile) {
            return Err(ManifestError::PromptUnused {
                at: self.at("command.prompt"),
            });
        }
        Ok(command)
    }

    /// `{model}`, `{agent}` and `{resume}` in `args` stand for whole lists, so they stand alone and have a list.
    fn check_groups(&self, command: &Command) -> Result<(), ManifestError> {
        let groups = [
            (Placeholder::Model, &command.model),
            (Placeholder::Agent, &command.agent),
            (Placeholder::Resume, &command.resume),
        ];
        for (placeholder, group) in groups {
            let key = "command.args".to_owned();
            for arg in command
                .args
                .iter()
                .filter(|arg| arg.placeholders().any(|found| found == placeholder))
            {
                let name = placeholder.name();
                if arg.whole() != Some(placeholder) {
                    return Err(ManifestError::PlaceholderNotAlone {
                        at: self.at(&key),
                        key,
                        name,
                    });
                }
                if group.is_none() {
                    return Err(ManifestError::PlaceholderUndefined {
                        at: self.at(&key),
                        key,
                        name,
                    });
                }
            }
        }
        Ok(())
    }

    fn env(&self, allowed: &[Placeholder]) -> Result<Vec<(String, Template)>, ManifestError> {
        self.entries
            .keys()
            .filter_map(|key| Some((key, key.strip_prefix(ENV)?)))
            .map(|(key, name)| {
                let value = self.text(key).unwrap_or_default();
                Ok((name.to_owned(), self.template(key, value, allowed)?))
            })
            .collect()
    }

    fn templates(&self, key: &str, allowed: &[Placeholder]) -> Result<Option<Vec<Template>>, ManifestError> {
        let Some(items) = self.list(key) else {
            return Ok(None);
        };
        items
            .iter()
            .map(|item| self.template(key, item, allowed))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn template(&self, key: &str, text: &str, allowed: &[Placeholder]) -> Result<Template, ManifestError> {
        let unknown = |name: String| ManifestError::UnknownPlaceholder {
            at: self.at(key),
            key: key.to_owned(),
            name,
            allowed: allowed.iter().map(ToString::to_string).collect(),
        };
        let template = Template::from_str(text).map_err(|UnknownPlaceholder(name)| unknown(name))?;
        let misplaced = template.placeholders().find(|found| !allowed.contains(found));
        misplaced.map_or(Ok(template), |misplaced| Err(unknown(misplaced.name().to_owned())))
    }
}
