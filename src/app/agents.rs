//! Chooses the agents of a run: the named one or the first that is available, and its fallbacks.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ralph_agent::{
    AgentAdapter, Capabilities, Channel, GitIdentity,
    catalog::{AdapterSources, Catalog},
    dialect::{DialectKind, DialectTrait},
    manifest::{LiveLaunch, Manifest, Transport},
    mcp::{McpServers, RalphServer},
    opencode::{Credentials, ServerAdapter, ServerOptions},
    subprocess::SubprocessAdapter,
};
use ralph_core::{
    event::{ChannelKind, Notice, SessionMode, Worker},
    limits::LimitUnit,
};
use ralph_git::CommitterIdentity;
use ralph_state::store::accounts::AccountFile;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_tools::{
    language::{AST_GREP, LanguageServer, installed},
    mcp::{LANGUAGE_TOOLS, SYNTAX_TOOLS},
};
use serde_json::json;

use super::{Confiner, ProjectPlace, choice, permissions::unbypassed, sandbox::starting};
use ralph_driver::AvailableAgent;

use crate::{
    config::{Config, DeliverTo},
    error::{Failure, FailureKind},
};

/// ralph's native agent.
const NATIVE: &str = "native";
/// Variables by which programs reach a forge with the user's rights.
const FORGE_VARIABLES: [&str; 10] = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITLAB_TOKEN",
    "GITEA_SERVER_TOKEN",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "VSCODE_GIT_IPC_HANDLE",
    "GH_CONFIG_DIR",
];
/// The limits that depend on no report.
const UNCOUNTED: &str = "`--max-time TIME` or `--max-iterations N`";

pub(super) struct Agents {
    /// The adapter of the first agent.
    pub(super) id: String,
    /// The agents in order of preference. Never empty.
    pub(super) agents: Vec<AvailableAgent>,
    /// The login command of each agent that has one.
    pub(super) logins: BTreeMap<String, String>,
    /// The channel of each agent that has a choice.
    pub(super) channels: BTreeMap<String, ChannelKind>,
    /// Whether the run requires the live channel.
    pub(super) live_only: bool,
    /// The adapters that are used while the first one is rate-limited.
    pub(super) fallback: Vec<String>,
    /// The adapters with the models that they may be given; `None` is an agent's own choice.
    pub(super) workers: Vec<Worker>,
}

/// The inputs of the choice of agents.
pub(super) struct AgentChooser<'a> {
    /// `None` if no agent is started.
    pub(super) confiner: Option<&'a Confiner>,
    pub(super) catalog: &'a Catalog,
    pub(super) config: &'a Config,
    /// Whether the adapter in the configuration is the user's remembered choice, and not named for this run or project.
    pub(super) remembered: bool,
    pub(super) project: &'a Path,
    /// Whether a user watches on a screen.
    pub(super) watched: bool,
    pub(super) supervisor: &'a Supervisor,
    /// The project's state if a run follows, so that agents may be started.
    pub(super) run: Option<&'a ProjectPaths>,
}

impl<'a> AgentChooser<'a> {
    /// Creates a chooser that only determines which agents a run would use.
    pub(super) fn looking(
        catalog: &'a Catalog,
        config: &'a Config,
        remembered: bool,
        project: &'a Path,
        supervisor: &'a Supervisor,
    ) -> Self {
        Self {
            confiner: None,
            catalog,
            config,
            remembered,
            project,
            watched: false,
            supervisor,
            run: None,
        }
    }

    /// Chooses the agents that the configuration asks for. Checks as far as possible that each can be started.
    ///
    /// # Errors
    /// A [`Failure`] if the first agent is unknown, broken or not installed, or if another one is unknown or broken.
    pub(super) fn choose(&self, notices: &mut Vec<Notice>) -> Result<Agents, Failure> {
        let Self { catalog, config, .. } = self;
        let id = match &config.adapter {
            Some(id) if !self.remembered => id.clone(),
            remembered => choice::adapter(catalog, config, remembered.as_deref(), self.project, notices)?,
        };
        let manifest = catalog.manifest(&id)?;
        manifest.can_be_given(config.model.as_deref(), config.agent.as_deref())?;
        let mut channels = BTreeMap::new();
        let mut agents = vec![self.agent(&id, &mut channels, notices)?];
        agents.extend(self.fallback(&id, &mut channels, notices)?);
        let fallback = agents[1..].iter().map(|agent| agent.adapter.id().to_owned()).collect();
        notices.extend(stripped_model(&manifest, config.model.as_deref()));
        notices.extend(about_server(&manifest, config));
        let logins = agents.iter().filter_map(|agent| {
            let id = agent.adapter.id();
            let hint = catalog.manifest(id).ok()?.credentials.hint?;
            Some((id.to_owned(), hint))
        });
        let workers = agents.iter().map(|agent| {
            let adapter = agent.adapter.id().to_owned();
            let model = config.model.clone().filter(|_| adapter == id);
            Worker { adapter, model }
        });
        Ok(Agents {
            workers: workers.collect(),
            logins: logins.collect(),
            live_only: config.channel == Channel::Live || !config.permissions.policy().allows_all(),
            channels,
            id,
            agents,
            fallback,
        })
    }

    /// Whether the agent's sessions use the live channel.
    fn live(&self, manifest: &Manifest, notices: &mut Vec<Notice>) -> Result<bool, Failure> {
        let id = &manifest.id;
        match (self.config.channel, &manifest.live) {
            // An agent behind an HTTP server is always interactive and has no other channel.
            (_, _) if manifest.transport == Transport::Http => Ok(false),
            (Channel::OneWay, Some(_)) if manifest.dialect.is_none() => Err(Failure::new(
                FailureKind::Usage,
                format!("adapter `{id}` has only a live channel"),
            )
            .hint("`--channel auto` uses it")),
            (Channel::OneWay, _) | (Channel::Auto, None) => Ok(false),
            (Channel::Auto, Some(_)) if manifest.dialect.is_none() => Ok(true),
            (Channel::Live, Some(live)) if self.loses_sessions(manifest, live) => Err(Failure::new(
                FailureKind::Usage,
                format!("adapter `{id}` cannot continue a session on its live channel"),
            )
            .hint("`--channel one-way` continues sessions, `--session fresh` does not need that")),
            (Channel::Auto, Some(live)) if self.needs_answers(live) && self.loses_sessions(manifest, live) => {
                Err(Failure::new(
                    FailureKind::Usage,
                    format!("adapter `{id}` cannot continue a session on its live channel, which rules need"),
                )
                .hint("`--session fresh` does not need that"))
            }
            (Channel::Live, Some(_)) => Ok(true),
            (Channel::Live, None) => Err(Failure::new(
                FailureKind::Usage,
                format!("adapter `{id}` has no live channel"),
            )
            .hint("`--channel auto` uses the available one")
            .hint("`ralph adapters` shows which adapters have one")),
            (Channel::Auto, Some(live))
                if !(self.needs_answers(live)
                    || self.needs_counts(manifest, live)
                    || self.needs_servers(manifest, live)
                    || self.watched && self.is_better(manifest, live)) =>
            {
                Ok(false)
            }
            (Channel::Auto, Some(live)) if !live.is_current => {
                notices.push(Notice::warning(
                    "live-args-unchanged",
                    format!(
                        "messages do not reach a running turn of `{id}`: `command.args` is changed and `live.args` is not"
                    ),
                ));
                Ok(false)
            }
            (Channel::Auto, Some(_)) => Ok(true),
        }
    }

    /// Whether the run needs to continue sessions, and the live channel cannot.
    fn loses_sessions(&self, manifest: &Manifest, live: &LiveLaunch) -> bool {
        self.config.session == SessionMode::Resume && manifest.capabilities.resume && !live.capabilities.resume
    }

    /// Whether a watching user gains from the live channel, and the run loses nothing by it.
    fn is_better(&self, manifest: &Manifest, live: &LiveLaunch) -> bool {
        let writes_along = manifest
            .dialect
            .is_some_and(|dialect| dialect.has(DialectTrait::StreamsText));
        let gains = live.capabilities.live_steering || !writes_along;
        let (limits, one_way) = (&self.config.limits, manifest.capabilities);
        // Tokens have a cost as well, by `prices`.
        let has_cost = |of: Capabilities| of.cost || of.usage;
        let uncounted = LimitUnit::Tokens.is_limited(limits) && one_way.usage && !live.capabilities.usage
            || LimitUnit::Dollars.is_limited(limits) && has_cost(one_way) && !has_cost(live.capabilities);
        gains && !uncounted && !self.loses_sessions(manifest, live)
    }

    /// Checks that limits on usage can be enforced for `agent`, one of `workers`. Returns a notice if this holds only in
    /// part.
    ///
    /// # Errors
    /// A [`Failure`] if there is a limit on cost, and the agent reports no cost and a model has no price; or a limit on
    /// tokens, and the agent reports none.
    pub(super) fn held_to_limits(&self, agent: &AvailableAgent, workers: &[Worker]) -> Result<Option<Notice>, Failure> {
        let (limits, reported) = (&self.config.limits, agent.adapter.capabilities());
        let adapter = agent.adapter.id().to_owned();
        let mut of_agent = workers.iter().filter(|worker| worker.adapter == adapter);
        let is_uncounted = |worker: &&Worker| !agent.has_cost(self.model_of(worker), &self.config.prices);
        if LimitUnit::Dollars.is_limited(limits)
            && let Some(worker) = of_agent.find(is_uncounted)
        {
            return Err(self.costs_nothing(worker, reported.usage));
        }
        if LimitUnit::Tokens.is_limited(limits) && !agent.has_tokens() {
            return Err(counts_no_tokens(&adapter, reported.cost));
        }
        let is_bound = LimitUnit::Tokens.is_limited(limits) || LimitUnit::Dollars.is_limited(limits);
        Ok((is_bound && !reported.usage_in_turn).then(|| {
            let text = format!(
                "{adapter} reports usage only at the end of a turn: one turn may exceed a limit on tokens or cost"
            );
            Notice::warning("spending-reported-late", text)
        }))
    }

    /// The workers with the models that the settings name for them.
    pub(super) fn with_models(&self, workers: &[Worker]) -> Vec<Worker> {
        let with_model = |worker: &Worker| Worker {
            model: self.model_of(worker).map(str::to_owned),
            adapter: worker.adapter.clone(),
        };
        workers.iter().map(with_model).collect()
    }

    /// The model of the worker, if the settings name it.
    fn model_of<'w>(&'w self, worker: &'w Worker) -> Option<&'w str> {
        let of_native = || self.config.native.model.as_deref().filter(|_| worker.adapter == NATIVE);
        worker.model.as_deref().or_else(of_native)
    }

    /// The failure for a limit on cost that would never be reached.
    fn costs_nothing(&self, worker: &Worker, counts_tokens: bool) -> Failure {
        let adapter = &worker.adapter;
        let model = self.model_of(worker);
        let no_price = match model.filter(|_| counts_tokens) {
            Some(model) => format!(", and `prices` has no price for {model}"),
            None => String::new(),
        };
        let what = format!("{adapter} reports no cost{no_price}, so a limit on cost would not end the run");
        let name = json!(model.unwrap_or(adapter));
        let example = counts_tokens.then(|| {
            format!(
                "its price in dollars per million tokens makes the limit work: \
                 `\"prices\": {{ {name}: {{ \"input\": 1.25, \"output\": 10 }} }}` in your settings, with its real figures"
            )
        });
        let instead = match counts_tokens {
            true => "`--max-tokens N`",
            false => UNCOUNTED,
        };
        let instead =
            format!("{instead} bounds it instead, with `--max-cost-usd unlimited` if the limit is in your settings");
        Failure::new(FailureKind::Configuration, what)
            .hints(example)
            .hint(instead)
    }

    /// Whether only the live channel reports usage during a turn, and a limit or `headroom` needs that. codex reports the
    /// windows of its account there as well.
    fn needs_counts(&self, manifest: &Manifest, live: &LiveLaunch) -> bool {
        let is_bound =
            LimitUnit::Tokens.is_limited(&self.config.limits) || LimitUnit::Dollars.is_limited(&self.config.limits);
        let has_headroom = !self.config.headroom().is_none();
        (is_bound || has_headroom)
            && !manifest.capabilities.usage_in_turn
            && live.capabilities.usage_in_turn
            && live.capabilities.usage
            && !self.loses_sessions(manifest, live)
    }

    /// Whether only the live channel can pass on the user's MCP servers.
    fn needs_servers(&self, manifest: &Manifest, live: &LiveLaunch) -> bool {
        !self.config.mcp.is_empty()
            && !manifest.takes_servers(None)
            && manifest.takes_servers(Some(live))
            && !self.loses_sessions(manifest, live)
    }

    /// Returns the notice that this channel cannot pass on the user's MCP servers, if that is so.
    fn servers_left_out(&self, manifest: &Manifest, is_live: bool) -> Option<Notice> {
        let channel = manifest.live.as_ref().filter(|_| is_live);
        if self.config.mcp.is_empty() || manifest.takes_servers(channel) {
            return None;
        }
        let other = manifest.live.as_ref();
        let id = &manifest.id;
        let text = match other.is_some_and(|live| self.needs_servers(manifest, live)) {
            true => format!(
                "{id} gets no MCP servers on its one-way channel, so those of `mcp` are left out: `--channel live` passes \
                 them on"
            ),
            false => format!("{id} does not support MCP servers, so those of `mcp` in the settings are left out"),
        };
        Some(Notice::warning("servers-left-out", text))
    }

    /// Returns the notice that a limit does not count what subagents use on this channel, if that is so.
    fn subagents_uncounted(&self, manifest: &Manifest, is_live: bool) -> Option<Notice> {
        let limits = &self.config.limits;
        let is_bound = LimitUnit::Tokens.is_limited(limits) || LimitUnit::Dollars.is_limited(limits);
        let counts = match (&manifest.live, manifest.dialect) {
            (Some(live), _) if is_live => live.protocol.reports_subagents(),
            (_, dialect) => dialect.is_none_or(|dialect| dialect.has(DialectTrait::CountsSubagents)),
        };
        (is_bound && !counts && !manifest.subagents.tools.is_empty()).then(|| {
            let id = &manifest.id;
            let text = format!(
                "{id} does not report the tokens of its subagents here, so limits on tokens or cost do not count them"
            );
            Notice::warning("subagents-uncounted", text)
        })
    }

    /// Whether there are permission rules, and this channel can ask about tool calls.
    fn needs_answers(&self, live: &LiveLaunch) -> bool {
        !live.capabilities.asks.is_empty() && !self.config.permissions.policy().allows_all()
    }

    /// Creates the agent of adapter `id`. Checks as far as possible that it can be started.
    pub(super) fn agent(
        &self,
        id: &str,
        channels: &mut BTreeMap<String, ChannelKind>,
        notices: &mut Vec<Notice>,
    ) -> Result<AvailableAgent, Failure> {
        self.agent_of(self.catalog.manifest(id)?, channels, notices)
    }

    /// Creates the agent of a manifest, as [`AgentChooser::agent`] does.
    pub(super) fn agent_of(
        &self,
        mut manifest: Manifest,
        channels: &mut BTreeMap<String, ChannelKind>,
        notices: &mut Vec<Notice>,
    ) -> Result<AvailableAgent, Failure> {
        let of_others = withheld_from_agent(self.catalog, &manifest, self.config);
        manifest.command.env_remove.extend(of_others);
        let live = self.live(&manifest, notices)?;
        let has_live = manifest.live.is_some();
        notices.extend(self.servers_left_out(&manifest, live));
        notices.extend(self.subagents_uncounted(&manifest, live));
        if manifest.live.is_some() && manifest.transport == Transport::Pty {
            let channel = if live { ChannelKind::Live } else { ChannelKind::OneWay };
            channels.insert(manifest.id.clone(), channel);
        }
        if let Some(confiner) = self.confiner {
            notices.extend(unconfined(confiner, &manifest, self.config)?);
        }
        let supervisor = starting(self.confiner, self.supervisor, Some(&manifest))?;
        let last_line_claims = manifest.dialect == Some(DialectKind::Terminal);
        let account = self
            .run
            .map(|paths| AccountFile::new(&paths.states(), &manifest.account()));
        let adapter: Arc<dyn AgentAdapter> = match manifest.transport {
            Transport::Pty => {
                let is_told = manifest.command.git_identity;
                let identity = is_told.then(|| identity(self.project, self.supervisor)).flatten();
                if let Some(live) = manifest.live.as_ref().filter(|_| live) {
                    let concerned = self.config.permissions.policy().concerns();
                    unbypassed(&manifest.id, live, concerned, self.project)?;
                }
                let adapter = SubprocessAdapter::new(manifest, &supervisor);
                let adapter = adapter.committing_as(identity).live(live);
                let continues = self.config.session == SessionMode::Resume;
                Arc::new(adapter.serving(self.servers()).continuing(continues))
            }
            Transport::Http => {
                let options = server_options(self.config);
                Arc::new(ServerAdapter::new(manifest, options, &supervisor).serving(self.servers()))
            }
        };
        adapter.check(self.project)?;
        let is_one_way = self.config.channel == Channel::OneWay && has_live;
        Ok(AvailableAgent {
            can_ask_always: !is_one_way && adapter.can_ask_always(self.project),
            adapter,
            last_line_claims,
            account,
        })
    }

    /// Whether agents get ralph's own tools.
    pub(super) fn has_tools(&self) -> bool {
        self.config.tools.enabled
    }

    /// The tools that the settings reserve for the user.
    fn tools_withheld(&self) -> Vec<String> {
        let background = ["background_start", "background_cancel"].iter();
        let background = background.filter(|_| !self.config.background.agents);
        background.map(|&name| name.to_owned()).collect()
    }

    /// The language servers that agents may use: those that are installed.
    pub(super) fn languages(&self) -> Vec<LanguageServer> {
        let servers = self.config.language_servers.iter();
        servers.filter_map(|server| installed(server, self.project)).collect()
    }

    /// The names of ralph's tools that agents do not get.
    fn tools_left_out(&self) -> Vec<String> {
        let mut names = self.tools_withheld();
        if self.languages().is_empty() {
            names.extend(LANGUAGE_TOOLS.map(str::to_owned));
        }
        if which::which_in(AST_GREP, std::env::var_os("PATH"), self.project).is_err() {
            names.extend(SYNTAX_TOOLS.map(str::to_owned));
        }
        names
    }

    /// The MCP servers that agents get.
    fn servers(&self) -> McpServers {
        let program = std::env::current_exe().ok().filter(|_| self.has_tools());
        let own = program.zip(self.run).map(|(program, paths)| RalphServer {
            program,
            socket: paths.socket(),
            without: self.tools_left_out(),
        });
        McpServers {
            own,
            others: self.config.mcp.clone(),
        }
    }

    /// The fallback agents of `first`. Those that are not installed are left out with a notice.
    fn fallback(
        &self,
        first: &str,
        channels: &mut BTreeMap<String, ChannelKind>,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<AvailableAgent>, Failure> {
        let mut agents = Vec::new();
        for id in self.config.fallback.iter().filter(|id| *id != first) {
            match self.agent(id, channels, notices) {
                Ok(agent) => agents.push(agent),
                Err(failure) if failure.kind == FailureKind::AgentUnavailable => {
                    let text = format!("`{id}` of `fallback` is not installed and is left out");
                    notices.push(Notice::warning("fallback-missing", text));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(agents)
    }
}

/// The failure for a limit on tokens that would never be reached.
fn counts_no_tokens(adapter: &str, tells_cost: bool) -> Failure {
    let what = format!("{adapter} reports no tokens, so a limit on tokens would not end the run");
    let instead = match tells_cost {
        true => "`--max-cost-usd USD`",
        false => UNCOUNTED,
    };
    Failure::new(FailureKind::Configuration, what).hint(format!(
        "{instead} bounds it instead, with `--max-tokens unlimited` if the limit is in your settings"
    ))
}

/// Returns the adapter that a run would use. Checks as far as possible that it can be started.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub(crate) fn chosen_adapter(
    catalog: &Catalog,
    config: &Config,
    remembered: bool,
    project: &Path,
    supervisor: &Supervisor,
) -> Result<String, Failure> {
    let chooser = AgentChooser::looking(catalog, config, remembered, project, supervisor);
    chooser.choose(&mut Vec::new()).map(|chosen| chosen.id)
}

#[cfg(feature = "native")]
pub(crate) use super::native::native_lacks_tls;

/// Without the native agent, there is no model to reach.
#[cfg(not(feature = "native"))]
pub(crate) fn native_lacks_tls(_: &Config) -> Option<String> {
    None
}

/// Refuses the native agent if this build cannot reach its model.
pub(super) fn check_model_is_reached(agent: &AvailableAgent, config: &Config) -> Result<(), Failure> {
    match native_lacks_tls(config).filter(|_| agent.adapter.id() == NATIVE) {
        Some(why) => Err(Failure::new(
            FailureKind::AgentUnavailable,
            format!("adapter `{NATIVE}`: {why}"),
        )),
        None => Ok(()),
    }
}

/// The directory of the user's adapters; `None` if there is no home directory.
pub(crate) fn users_adapters() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("ralph").join("adapters"))
}

/// All adapters that are visible from `place`.
pub(crate) fn catalog(place: &ProjectPlace, config: &Config) -> Catalog {
    Catalog::load(&AdapterSources {
        directories: users_adapters().into_iter().collect(),
        project: place.own.adapters.clone(),
        config: [
            #[cfg(feature = "native")]
            super::native::adapter_settings(&config.native),
        ]
        .into_iter()
        .chain(config.adapters.clone())
        .collect(),
    })
}

/// Returns a notice if an agent is less confined than the user may expect.
///
/// # Errors
/// A [`Failure`] if the sandbox is strict and the agent would run outside of it.
pub(super) fn unconfined(confiner: &Confiner, manifest: &Manifest, config: &Config) -> Result<Option<Notice>, Failure> {
    match (&config.server, manifest.transport) {
        (Some(url), Transport::Http) if confiner.is_strict() => Err(Failure::new(
            FailureKind::Configuration,
            format!("the sandbox is strict, and the server {url} runs outside of it"),
        )
        .hint("without `--server`, ralph starts one in the sandbox")),
        (Some(url), Transport::Http) => Ok(Some(Notice::warning(
            "server-unconfined",
            format!("{url} runs outside of the sandbox: its agent is not confined"),
        ))),
        (_, _) => Ok(None),
    }
}

/// The key variables that the agent of `manifest` does not get.
pub(crate) fn withheld_from_agent(catalog: &Catalog, manifest: &Manifest, config: &Config) -> Vec<String> {
    let mut names = catalog.keys_of_others(manifest);
    names.extend(withheld_of_forge(config));
    names.retain(|name| !config.keys.agents.contains(name));
    names
}

/// The key variables that goals do not get.
pub(crate) fn withheld_from_goals(catalog: &Catalog, config: &Config) -> Vec<String> {
    let mut names = catalog.keys();
    names.extend(withheld_of_forge(config));
    names.retain(|name| !config.keys.goals.contains(name));
    names
}

/// The variables of the forge that neither agents nor goals get where ralph delivers the work.
fn withheld_of_forge(config: &Config) -> impl Iterator<Item = String> {
    let names = FORGE_VARIABLES.iter().filter(|_| config.deliver != DeliverTo::Merge);
    names.map(|name| (*name).to_owned())
}

/// The committer identity for `project`, if it does not come from the repository's own configuration.
fn identity(project: &Path, supervisor: &Supervisor) -> Option<GitIdentity> {
    let found = CommitterIdentity::in_project(project, supervisor)?;
    Some(GitIdentity {
        name: found.name,
        email: found.email,
        ssh_command: found.ssh_command,
        git_dir: found.git_dir,
    })
}

fn server_options(config: &Config) -> ServerOptions {
    ServerOptions {
        url: config.server.clone(),
        timeout: Duration::from_millis(u64::from(config.server_timeout_ms)),
        credentials: Credentials::from_env(),
        ..ServerOptions::default()
    }
}

/// Returns a notice if the provider is removed from the model's name, because the agent has only one provider.
fn stripped_model(manifest: &Manifest, model: Option<&str>) -> Option<Notice> {
    let named = manifest.model_form.apply(model?).ok()?;
    let (id, provider, model) = (&manifest.id, named.stripped?, named.name);
    let text = format!("`{id}` gets the model as `{model}` (without the provider `{provider}`)");
    Some(Notice::warning("provider-stripped", text))
}

/// Returns a notice if the server in the settings is unused or gets a password unencrypted.
fn about_server(manifest: &Manifest, config: &Config) -> Option<Notice> {
    let url = config.server.as_ref()?;
    match manifest.transport {
        Transport::Pty => Some(Notice::warning(
            "server-unused",
            format!("adapter `{}` uses no server: `server` has no effect", manifest.id),
        )),
        Transport::Http if !url.is_local() && Credentials::from_env().is_some() => Some(Notice::warning(
            "password-in-clear",
            format!("{url}: the password is sent over the network unencrypted; a tunnel would protect it"),
        )),
        Transport::Http => None,
    }
}
