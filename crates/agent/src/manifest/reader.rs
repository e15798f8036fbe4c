//! Turns written adapter files into the parts of a [`Manifest`](super::Manifest).

use std::{sync::Arc, time::Duration};

use ralph_core::event::{ProblemKind, ToolKinds};
use ralph_policy::settings::{LayerError, Merged, Node, PlaceholderSet as _, SettingOrigin, parse_template};
use ralph_system::proc::Ladder;
use ralph_text::Position;

use super::{
    super::{
        Capabilities,
        dialect::{DialectKind, LinePattern, LinePatterns},
        login::CredentialSources,
        manifest_error::ManifestError,
        protocol::Steering,
        state::state_of_login,
        template::{AdapterPlaceholder, AdapterTemplate},
    },
    AskSettings, CommandTemplate, LiveLaunch, McpDelivery, PromptBy, SubagentCap, SubagentSettings, Transport,
    written::{WrittenAdapter, WrittenSubagentCap},
};

/// The placeholders that are allowed in each kind of value.
const IN_PROGRAM: &[AdapterPlaceholder] = &[AdapterPlaceholder::Ralph];
const IN_ARGS: &[AdapterPlaceholder] = &[
    AdapterPlaceholder::Model,
    AdapterPlaceholder::Agent,
    AdapterPlaceholder::Resume,
    AdapterPlaceholder::PromptFile,
    AdapterPlaceholder::Ralph,
];
/// The live channel has no prompt file, since the prompt is a message.
const IN_LIVE: &[AdapterPlaceholder] = &[
    AdapterPlaceholder::Model,
    AdapterPlaceholder::Agent,
    AdapterPlaceholder::Resume,
    AdapterPlaceholder::Ralph,
];
/// For the settings that make an agent ask.
const IN_ASKING: &[AdapterPlaceholder] = &[AdapterPlaceholder::AskingFile, AdapterPlaceholder::Ralph];
const IN_ASKING_ENV: &[AdapterPlaceholder] = &[
    AdapterPlaceholder::Agent,
    AdapterPlaceholder::AskingFile,
    AdapterPlaceholder::Ralph,
];
/// For the settings with MCP servers.
const IN_MCP: &[AdapterPlaceholder] = &[AdapterPlaceholder::McpServers];
/// A server is started for no session in particular.
const IN_SERVER: &[AdapterPlaceholder] = &[AdapterPlaceholder::Port, AdapterPlaceholder::Ralph];
const IN_ENV: &[AdapterPlaceholder] = &[
    AdapterPlaceholder::Model,
    AdapterPlaceholder::Agent,
    AdapterPlaceholder::Session,
    AdapterPlaceholder::PromptFile,
    AdapterPlaceholder::Ralph,
];

/// The written settings of one adapter; its checks return errors with their place.
pub(super) struct AdapterReader<'a> {
    pub(super) id: &'a str,
    pub(super) written: &'a WrittenAdapter,
    pub(super) merged: &'a Merged,
}

impl AdapterReader<'_> {
    /// Fails if one of `keys` is not set.
    fn require(&self, keys: &[&'static str]) -> Result<(), ManifestError> {
        let missing: Vec<_> = keys
            .iter()
            .copied()
            .filter(|key| self.merged.get(key).is_none())
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

    /// The place for errors that concern no single key.
    fn whole(&self) -> SettingOrigin {
        let rows = self.merged.rows();
        match rows.first().map(|(_, node)| &node.origin) {
            Some(SettingOrigin::File { path, .. }) => SettingOrigin::file(path, Position { line: 1, column: 1 }),
            Some(origin) => origin.clone(),
            None => SettingOrigin::BuiltIn,
        }
    }

    /// The place of `key`.
    fn at(&self, key: &str) -> SettingOrigin {
        let found = self.merged.get(key);
        found.map_or_else(|| self.whole(), |node| node.origin.clone())
    }

    /// Rejects `live_steering = true` for a subprocess adapter, which cannot steer a running turn.
    pub(super) fn live_steering(&self) -> Result<bool, ManifestError> {
        match (self.written.capabilities.live_steering, self.written.transport) {
            (true, Transport::Pty) => Err(ManifestError::NotLive {
                at: self.at("capabilities.live_steering"),
            }),
            (claimed, Transport::Pty | Transport::Http) => Ok(claimed),
        }
    }

    pub(super) fn live(&self, command: &CommandTemplate) -> Result<Option<LiveLaunch>, ManifestError> {
        let written = &self.written.live;
        // A program that takes no arguments on either channel.
        let (none, takes_none) = (Vec::new(), self.written.command.args.is_none());
        let args = written.args.as_ref().or(takes_none.then_some(&none));
        let (Some(protocol), Some(args)) = (written.protocol, args) else {
            let half = [
                ("live.protocol", "live.args", written.args.is_some()),
                ("live.args", "live.protocol", written.protocol.is_some()),
            ];
            return match half.iter().find(|(_, _, is_half)| *is_half) {
                Some((key, known, _)) => Err(ManifestError::Missing {
                    at: self.at(known),
                    id: self.id.to_owned(),
                    keys: vec![key],
                }),
                None => Ok(None),
            };
        };
        let args = self.templates("live.args", args, IN_LIVE)?;
        let live = CommandTemplate {
            args: args.clone(),
            ..command.clone()
        };
        self.check_groups("live.args", &live)?;
        let built_in = |key| {
            self.merged
                .get(key)
                .is_some_and(|node| node.origin == SettingOrigin::BuiltIn)
        };
        Ok(Some(LiveLaunch {
            protocol,
            capabilities: Capabilities {
                live_steering: written.steering != Steering::Never,
                resume: written.resume
                    && (protocol.transmits(AdapterPlaceholder::Resume) || live.takes(AdapterPlaceholder::Resume)),
                usage: written.usage && self.written.capabilities.usage,
                cost: self.written.capabilities.cost,
                usage_in_turn: self
                    .written
                    .capabilities
                    .usage_in_turn
                    .unwrap_or_else(|| protocol.reports_usage_in_turn()),
                asks: match &written.asking.kinds {
                    Some(kinds) => ToolKinds::from_kinds(kinds),
                    None => protocol.asks(),
                },
                dispensable: protocol.dispensable(),
                ..Capabilities::default()
            },
            args,
            steering: written.steering,
            named_calls: written.named_calls,
            asking: self.asking()?,
            is_current: built_in("live.args") == built_in("command.args"),
        }))
    }

    /// The patterns of the agent's output; `None` if none are set.
    pub(super) fn patterns(&self, dialect: Option<DialectKind>) -> Result<Option<Arc<LinePatterns>>, ManifestError> {
        let written = &self.written.patterns;
        let named = &written.problem;
        let problems = [
            (ProblemKind::Auth, &named.auth),
            (ProblemKind::ModelUnknown, &named.model_unknown),
            (ProblemKind::QuotaExhausted { until_ms: None }, &named.quota_exhausted),
            (ProblemKind::RateLimited { until_ms: None }, &named.rate_limited),
            (ProblemKind::ContextOverflow, &named.context_overflow),
            (ProblemKind::Overloaded, &named.overloaded),
            (ProblemKind::Network, &named.network),
            (ProblemKind::Other, &named.other),
        ];
        let problems = problems.into_iter();
        let patterns = LinePatterns {
            problems: problems
                .filter_map(|(kind, pattern)| Some((kind, pattern.clone()?)))
                .collect(),
            usage: written.usage.clone(),
            cost: written.cost.clone(),
            asks: written.asks.clone(),
            message: written.message.clone(),
            after: written.after.clone(),
        };
        if patterns == LinePatterns::default() {
            return Ok(None);
        }
        if dialect != Some(DialectKind::Terminal) {
            return Err(ManifestError::PatternsUnused {
                at: self.at("patterns"),
            });
        }
        let groups: [(&str, &Option<LinePattern>, &[&'static str]); 2] = [
            ("patterns.usage", &patterns.usage, &["input", "cached", "output"]),
            ("patterns.cost", &patterns.cost, &["cost"]),
        ];
        for (key, pattern, names) in groups {
            if pattern.as_ref().is_some_and(|pattern| !pattern.has_group(names)) {
                return Err(ManifestError::NoGroup {
                    at: self.at(key),
                    key: key.to_owned(),
                    names: names.to_vec(),
                });
            }
        }
        Ok(Some(Arc::new(patterns)))
    }

    fn asking(&self) -> Result<AskSettings, ManifestError> {
        let written = &self.written.live.asking;
        Ok(AskSettings {
            args: self.templates("live.asking.args", &written.args, IN_ASKING)?,
            env: self.env("live.asking.env", &written.env, IN_ASKING_ENV)?,
            file: written.file.clone(),
            bypass: self.places(&written.bypass),
        })
    }

    pub(super) fn mcp(&self) -> Result<McpDelivery, ManifestError> {
        let written = &self.written.mcp;
        Ok(McpDelivery {
            form: written.form,
            args: self.templates("mcp.args", &written.args, IN_MCP)?,
            env: self.env("mcp.env", &written.env, IN_MCP)?,
            stays: written.stays,
        })
    }

    pub(super) fn subagents(&self) -> Result<SubagentSettings, ManifestError> {
        let written = &self.written.subagents;
        let cap = |key: &str, cap: &WrittenSubagentCap| {
            Ok::<_, ManifestError>(SubagentCap {
                own: cap.own,
                args: self.templates(key, &cap.args, &[AdapterPlaceholder::Limit])?,
                env: cap.env.clone(),
            })
        };
        Ok(SubagentSettings {
            tools: written.tools.clone(),
            at_once: cap("subagents.at_once.args", &written.at_once)?,
            depth: cap("subagents.depth.args", &written.depth)?,
        })
    }

    pub(super) fn credentials(&self) -> CredentialSources {
        let login = &self.written.login;
        CredentialSources {
            env: login.env.clone(),
            keys: login.keys.clone(),
            files: self.places(&login.files),
            hint: login.hint.clone(),
        }
    }

    /// The directories and files of the agent's state. Where it names none, its login tells them.
    pub(super) fn state(&self) -> (Vec<String>, Vec<String>) {
        let (login, sandbox) = (&self.written.login, &self.written.sandbox);
        match sandbox.write.is_empty() && sandbox.write_files.is_empty() {
            true => state_of_login(&self.places(&login.files)),
            false => (self.places(&sandbox.write), self.places(&sandbox.write_files)),
        }
    }

    /// Paths in which variables that `command.env` sets have the agent's value, and not that of ralph's environment.
    pub(super) fn places(&self, paths: &[String]) -> Vec<String> {
        let moved = |path: &String| {
            let named = path.strip_prefix('$')?;
            let (name, rest) = named
                .split_once('/')
                .map_or((named, None), |(name, rest)| (name, Some(rest)));
            let (_, value) = self.written.command.env.iter().find(|(known, _)| known == name)?;
            // A value that the run decides.
            let is_fixed = !value.contains('{');
            is_fixed.then(|| rest.map_or_else(|| value.clone(), |rest| format!("{value}/{rest}")))
        };
        paths
            .iter()
            .map(|path| moved(path).unwrap_or_else(|| path.clone()))
            .collect()
    }

    pub(super) fn stop(&self) -> Ladder {
        let stop = &self.written.stop;
        Ladder {
            first: stop.first,
            grace: Duration::from_millis(stop.grace_ms.into()),
        }
    }

    /// The dialect of the output; `None` if there is only a live channel.
    pub(super) fn dialect(&self) -> Result<Option<DialectKind>, ManifestError> {
        let of_one_way = ["dialect", "command.args", "command.prompt"];
        let is_live_alone = self.written.live.protocol.is_some()
            && self.written.transport == Transport::Pty
            && of_one_way.iter().all(|key| self.merged.get(key).is_none());
        if is_live_alone {
            self.require(&["command.program"])?;
            return Ok(None);
        }
        match self.written.transport {
            Transport::Pty => self.require(&["dialect", "command.program", "command.prompt"])?,
            Transport::Http => self.require(&["dialect", "command.program", "command.args"])?,
        }
        let dialect = self.written.dialect.unwrap_or(DialectKind::Terminal);
        match (self.written.transport, dialect) {
            // opencode's is the only supported server.
            (Transport::Pty, _) | (Transport::Http, DialectKind::OpencodeJson) => Ok(Some(dialect)),
            (Transport::Http, _) => Err(ManifestError::NoServerDialect {
                at: self.at("dialect"),
                found: self.merged.get("dialect").map(Node::described).unwrap_or_default(),
            }),
        }
    }

    pub(super) fn command(&self) -> Result<CommandTemplate, ManifestError> {
        let (in_args, in_env) = match self.written.transport {
            Transport::Pty => (IN_ARGS, IN_ENV),
            Transport::Http => (IN_SERVER, IN_SERVER),
        };
        let written = &self.written.command;
        let list = |key: &str, texts: &Option<Vec<String>>, allowed: &[AdapterPlaceholder]| {
            let texts = texts.as_ref().map(|texts| self.templates(key, texts, allowed));
            texts.transpose()
        };
        let program = written.program.as_deref().unwrap_or_default();
        let command = CommandTemplate {
            program: self.template("command.program", program, IN_PROGRAM)?,
            args: list("command.args", &written.args, in_args)?.unwrap_or_default(),
            model: list("command.model", &written.model, &[AdapterPlaceholder::Model])?,
            agent: list("command.agent", &written.agent, &[AdapterPlaceholder::Agent])?,
            resume: list("command.resume", &written.resume, &[AdapterPlaceholder::Session])?,
            prompt: written.prompt.unwrap_or(PromptBy::Stdin),
            env: self.env("command.env", &written.env, in_env)?,
            env_remove: written.env_remove.clone(),
            unpacks_to: written.unpacks_to.clone(),
            git_identity: written.git_identity,
        };
        if program.trim().is_empty() {
            return Err(LayerError::empty(self.merged, "command.program").into());
        }
        self.check_groups("command.args", &command)?;
        self.check_use(&command)?;
        Ok(command)
    }

    /// Checks that the prompt and the port of a server have a place where they are passed on.
    fn check_use(&self, command: &CommandTemplate) -> Result<(), ManifestError> {
        let takes_port = command
            .args
            .iter()
            .any(|arg| arg.placeholders().any(|found| found == AdapterPlaceholder::Port));
        if self.written.transport == Transport::Http && !takes_port {
            return Err(ManifestError::PortUnused {
                at: self.at("command.args"),
            });
        }
        if command.prompt == PromptBy::File && !command.takes(AdapterPlaceholder::PromptFile) {
            return Err(ManifestError::PromptUnused {
                at: self.at("command.prompt"),
            });
        }
        Ok(())
    }

    /// Checks that `{model}`, `{agent}` and `{resume}` in `args` are elements of their own and are defined, since they
    /// stand for whole lists.
    fn check_groups(&self, key: &str, command: &CommandTemplate) -> Result<(), ManifestError> {
        let groups = [
            (AdapterPlaceholder::Model, &command.model),
            (AdapterPlaceholder::Agent, &command.agent),
            (AdapterPlaceholder::Resume, &command.resume),
        ];
        for (placeholder, group) in groups {
            let key = key.to_owned();
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

    /// The variables of a table, sorted by name.
    fn env(
        &self,
        key: &str,
        written: &[(String, String)],
        allowed: &[AdapterPlaceholder],
    ) -> Result<Vec<(String, AdapterTemplate)>, ManifestError> {
        let mut env: Vec<_> = written.iter().collect();
        env.sort();
        let filled = env.into_iter().map(|(name, value)| {
            let template = self.template(&format!("{key}.{name}"), value, allowed)?;
            Ok((name.clone(), template))
        });
        filled.collect()
    }

    fn templates(
        &self,
        key: &str,
        texts: &[String],
        allowed: &[AdapterPlaceholder],
    ) -> Result<Vec<AdapterTemplate>, ManifestError> {
        texts.iter().map(|text| self.template(key, text, allowed)).collect()
    }

    fn template(
        &self,
        key: &str,
        text: &str,
        allowed: &[AdapterPlaceholder],
    ) -> Result<AdapterTemplate, ManifestError> {
        Ok(parse_template(self.merged, key, text, allowed)?)
    }
}
