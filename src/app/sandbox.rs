//! Builds the sandbox from the settings, the adapters and the capabilities of this machine.

use std::{
    collections::HashSet,
    env,
    ffi::OsString,
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use nix::unistd::geteuid;
use parking_lot::Mutex;
use ralph_agent::{catalog::Catalog, manifest::Manifest};
use ralph_core::event::{Notice, SandboxState};
use ralph_git::SigningFormat;
use ralph_plan::prompt::AgentConfinement;
use ralph_system::{
    files::read_text,
    paths::create_private_dir,
    proc::{Confinement, ConfinementLevel, Network, OnRefused, RefusedCall, Supervisor},
    proxy::RefusedConnection,
    real_paths::RealPaths,
    sandbox::{
        FilePolicy, ListedPath, ListingReason, PolicyInput, UserEnvironment, expanded,
        hosts::{AllowedHost, AllowedHosts},
        root_secrets,
        sockets::{allowed_sockets, harmless_sockets, name_of_socket, withheld_variables},
    },
};
use ralph_words::lacking_in_words;

use super::{ProjectPlace, place::where_it_leads, strict::Strict};
use crate::{
    config::{Config, SandboxMode},
    error::{Failure, FailureKind},
};

/// Most notices about refusals in a run.
const MOST_TOLD: usize = 50;

/// The beginning of the notices of agents without a sandbox.
pub(super) const UNCONFINED: &str = "UNCONFINED: the agent can do whatever you can";
/// How commits are signed without the agent reading a key.
const SIGNED_BY_SSH: &str = r#"to have the ssh-agent sign them: "sandbox": { "sockets": ["ssh-agent"] }"#;
const SIGNED_BY_GPG: &str =
    r#"to have them signed: "sandbox": { "show": ["~/.gnupg"], "write": ["~/.gnupg"], "sockets": ["gpg-agent"] }"#;

/// The variable that names pnpm's store.
const PNPM_STORE: &str = "npm_config_store_dir";
/// Most bytes of a file of npm's or pnpm's settings.
const NPM_FILE_CAP_BYTES: u64 = 1 << 20;
/// The variable in which git passes the options of `git -c` to the programs that it starts.
const GIT_PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

/// Confines agents and goals.
#[derive(Debug)]
pub(crate) struct Confiner {
    level: ConfinementLevel,
    wanted: PolicyInput,
    /// The hosts that the user's settings allow.
    hosts: Vec<String>,
    /// Real paths of the sockets of other programs that may be connected to.
    sockets: Vec<PathBuf>,
    /// Variables that lead to other sockets.
    withheld: Vec<&'static str>,
    /// Receives the calls that programs are refused. Set once a program is to be started.
    on_refused: Option<OnRefused>,
    /// The kind of key with which git signs the user's commits.
    signing: Option<SigningFormat>,
    /// Whether the ssh-agent can be reached.
    has_ssh_agent: bool,
    is_strict: bool,
    /// Set once a program is to be started.
    strict: Option<Strict>,
    /// The directory of the copies in which sealed goals run.
    copies: PathBuf,
}

impl Confiner {
    /// Creates a confiner that is ready to start programs; `None` if nothing is confined. `tell` is called once for
    /// everything that is refused.
    ///
    /// # Errors
    /// A [`Failure`] if the settings require the strict sandbox and a prerequisite is missing.
    pub(super) fn wanted(
        place: &ProjectPlace,
        config: &Config,
        catalog: &Catalog,
        supervisor: &Supervisor,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Option<Self>, Failure> {
        let Some(mut confiner) = Self::unless_off(place, config, catalog, supervisor) else {
            return Ok(None);
        };
        if config.sandbox.mode == SandboxMode::Auto && confiner.level == ConfinementLevel::None {
            return Ok(None);
        }
        confiner.enforce(place, tell)?;
        Ok(Some(confiner))
    }

    /// Creates a confiner that acquires nothing; `None` if the sandbox is off.
    pub(super) fn unless_off(
        place: &ProjectPlace,
        config: &Config,
        catalog: &Catalog,
        supervisor: &Supervisor,
    ) -> Option<Self> {
        let is_on = config.sandbox.mode != SandboxMode::Off;
        is_on.then(|| Self::new(place, config, catalog, supervisor))
    }

    /// Creates a confiner for inspection. If the sandbox is off, it shows what would be allowed if it were on.
    pub(crate) fn new(place: &ProjectPlace, config: &Config, catalog: &Catalog, supervisor: &Supervisor) -> Self {
        let settings = &config.sandbox;
        let states = catalog.ids().filter_map(|id| catalog.manifest(id).ok());
        let others: Vec<String> = states
            .flat_map(|manifest| manifest.state.into_iter().chain(manifest.state_files))
            .collect();
        let is_strict = settings.mode == SandboxMode::Strict;
        Confiner {
            level: Supervisor::confinement_level(),
            wanted: PolicyInput {
                project: place.project.clone(),
                git: ralph_git::directories(&place.project, supervisor),
                ralph_state: place.paths.states().root().to_owned(),
                own: Vec::new(),
                own_files: Vec::new(),
                root_secrets: existing_root_secrets(&others),
                others,
                raw_devices: raw_devices(),
                private: is_strict.then(|| vec![place.paths.caches()]),
                write: settings.write.clone(),
                hide: settings.hide.clone(),
                show: settings.show.clone(),
                sealed: sealed_directories(place, config),
            },
            copies: place.paths.sealed_copies(),
            hosts: settings.hosts.clone(),
            sockets: sockets(place, &settings.sockets, is_strict),
            withheld: withheld_variables(&settings.sockets, Supervisor::mediates_connections()),
            on_refused: None,
            signing: ralph_git::commit_signing(&place.project, supervisor),
            has_ssh_agent: settings.sockets.iter().any(|name| name == "ssh-agent"),
            is_strict,
            strict: None,
        }
    }

    /// Acquires the resources of a strict sandbox, and checks that this machine can enforce it. `tell` is called once
    /// for everything that is refused.
    ///
    /// # Errors
    /// A [`Failure`] that names what is missing.
    pub(crate) fn enforce(
        &mut self,
        place: &ProjectPlace,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<(), Failure> {
        let tell = Arc::new(once(tell));
        let told = Arc::clone(&tell);
        self.on_refused = Some(OnRefused(Arc::new(move |call| told(call_refused(&call)))));
        if self.is_strict {
            refuse_home(&place.project)?;
            let refused = move |refused: RefusedConnection| {
                let address = refused.address.map(|address| address.to_string());
                tell(connection_refused(&refused.host, refused.port, address.as_deref()));
            };
            let strict = Strict::start(self.level, &place.paths.caches(), refused)?;
            self.wanted.private = Some(vec![strict.temporary().to_owned(), place.paths.caches()]);
            self.strict = Some(strict);
            Strict::try_out(self.confinement(None)?)?;
        }
        Ok(())
    }

    /// Receives the calls that confined programs are refused.
    pub(crate) fn on_refused(&self) -> OnRefused {
        self.on_refused.clone().unwrap_or_else(OnRefused::ignored)
    }

    pub(crate) fn level(&self) -> ConfinementLevel {
        self.level
    }

    /// Directories of sealed goals, which the sandbox hides.
    pub(super) fn sealed(&self) -> &[PathBuf] {
        &self.wanted.sealed
    }

    /// Returns the confinement of sealed goals, without their copy of the project.
    ///
    /// # Errors
    /// As [`Confiner::confinement`].
    pub(super) fn sealed_goal_confinement(&self) -> Result<Confinement, Failure> {
        let policy = self.policy(None).writing_only([]);
        let mut confinement = self.held_to(&policy, None)?;
        // The work tree of a plan is in ralph's state, which is hidden.
        confinement.read.push(self.wanted.project.clone());
        Ok(confinement)
    }

    /// The description of the sandbox for the prompts of agents.
    pub(super) fn confined(&self) -> AgentConfinement {
        match (self.level, self.is_strict) {
            (ConfinementLevel::None, _) => AgentConfinement::No,
            (ConfinementLevel::Landlock { .. }, false) => AgentConfinement::On,
            (ConfinementLevel::Landlock { .. }, true) => AgentConfinement::Strict,
        }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// The policy of the agent of `manifest`, or of goals without one.
    pub(crate) fn policy(&self, manifest: Option<&Manifest>) -> FilePolicy {
        let wanted = PolicyInput {
            own: manifest.map(|manifest| manifest.state.clone()).unwrap_or_default(),
            own_files: manifest
                .map(|manifest| manifest.state_files.clone())
                .unwrap_or_default(),
            ..self.wanted.clone()
        };
        let directories = program_directories(&wanted.project);
        let is_installed = |program: &str| which::which_in(program, Some(&directories), &wanted.project).is_ok();
        let mut real = RealPaths::default();
        with_environment(|world| FilePolicy::from_input(&wanted, world, is_installed))
            .resolved(|path| real.leads_to(path))
    }

    /// The hosts that the agent of `manifest`, or a goal, may connect to in a strict sandbox.
    pub(crate) fn hosts(&self, manifest: Option<&Manifest>) -> AllowedHosts {
        let of_agent = manifest.iter().flat_map(|manifest| &manifest.hosts);
        // Hosts in settings were checked when they were read. Invalid hosts in a manifest allow nothing.
        of_agent
            .chain(&self.hosts)
            .filter_map(|host| AllowedHost::read(host))
            .collect()
    }

    /// The confinement that `proc` enforces for the agent of `manifest`, or for goals without one.
    ///
    /// # Errors
    /// A [`Failure`] if no random token can be generated.
    pub(crate) fn confinement(&self, manifest: Option<&Manifest>) -> Result<Confinement, Failure> {
        let policy = self.policy(manifest);
        make_missing(&policy);
        self.held_to(&policy, manifest)
    }

    fn held_to(&self, policy: &FilePolicy, manifest: Option<&Manifest>) -> Result<Confinement, Failure> {
        let paths =
            |places: &[ralph_system::sandbox::ListedPath]| places.iter().map(|place| place.path.clone()).collect();
        let open = Confinement {
            write: paths(&policy.write),
            read: policy
                .shown_in_hidden()
                .cloned()
                .chain(public_ssh_files(policy))
                .collect(),
            hidden: paths(&policy.hidden),
            unlisted: self.unlisted(),
            required: false,
            abi: None,
            network: Some(Network {
                sockets: self.sockets.clone(),
                ..Network::default()
            }),
            variables: self.variables(policy),
        };
        match &self.strict {
            Some(strict) => strict.confinement(open, self.hosts(manifest)),
            None => Ok(open),
        }
    }

    /// The variables that are set, or removed if `None`.
    fn variables(&self, policy: &FilePolicy) -> Vec<(String, Option<String>)> {
        let unsigned = self
            .leaves_unsigned(policy)
            .then(|| (GIT_PARAMETERS.to_owned(), Some(unsigned())));
        let withheld = self.withheld.iter().map(|name| ((*name).to_owned(), None));
        let store = pnpm_store(&self.wanted.project, policy).map(|store| (PNPM_STORE.to_owned(), Some(store)));
        withheld.chain(unsigned).chain(store).collect()
    }

    /// Directories whose names are hidden as well: those of sealed goals, and the copies that contain their files.
    fn unlisted(&self) -> Vec<PathBuf> {
        if self.wanted.sealed.is_empty() {
            return Vec::new();
        }
        // A rule can only exclude a directory that exists.
        _ = create_private_dir(&self.copies); // if ralph cannot create it, no copy is made
        self.wanted.sealed.iter().chain([&self.copies]).cloned().collect()
    }

    /// Whether commits that git would sign stay unsigned, because no key can be read.
    fn leaves_unsigned(&self, policy: &FilePolicy) -> bool {
        let is_hidden = |name: &str| policy.hidden.iter().any(|place| place.path.ends_with(name));
        match self.signing {
            None => false,
            Some(SigningFormat::Ssh) => is_hidden(".ssh") && !self.has_ssh_agent,
            Some(SigningFormat::Gpg) => is_hidden(".gnupg"),
        }
    }

    /// The sandbox of agents and goals.
    pub(super) fn state(&self) -> SandboxState {
        match (self.level, self.is_strict) {
            (ConfinementLevel::None, _) => SandboxState::Unconfined,
            (ConfinementLevel::Landlock { .. }, true) => SandboxState::Strict,
            (ConfinementLevel::Landlock { .. }, false) => SandboxState::On,
        }
    }

    /// The places that agents should not read and can, since they lie in places that agents write to.
    pub(super) fn exposed(&self, manifest: Option<&Manifest>) -> Vec<PathBuf> {
        let policy = self.policy(manifest);
        let exposed = policy.exposed().map(|place| place.path.clone());
        exposed.filter(|path| path.exists()).collect()
    }

    /// The notices about the sandbox before a run.
    pub(super) fn notices(&self, manifest: Option<&Manifest>) -> Vec<Notice> {
        let ConfinementLevel::Landlock { abi } = self.level else {
            return vec![sandbox_missing()];
        };
        let policy = self.policy(manifest);
        let hidden = policy.hidden.iter().filter(|place| place.path.exists());
        let hidden = hidden.map(ListedPath::pattern).collect::<HashSet<_>>().len() as u64;
        let exposed = self.exposed(manifest).into_iter().map(|place| {
            let text = format!(
                "{} is not hidden from the agent, since it lies in a place that the agent writes to",
                place.display()
            );
            Notice::warning("sandbox-exposes", text)
        });
        let missing = policy
            .write
            .iter()
            .filter(|place| place.why == ListingReason::Setting && !place.path.exists())
            .map(|place| {
                let text = format!(
                    "`sandbox.write` allows nothing at {}, which does not exist: create it before the run",
                    place.path.display()
                );
                Notice::warning("sandbox-write-missing", text)
            });
        let on = match self.is_strict {
            true => {
                let hosts: Vec<String> = self.hosts(manifest).iter().map(ToString::to_string).collect();
                let network = match hosts.is_empty() {
                    true => "to no host".to_owned(),
                    false => format!("only to {}", hosts.join(", ")),
                };
                let text = format!(
                    "sandbox: strict (Landlock {abi}); the agent writes to the project, its own state and caches of its own; \
                     {hidden} places hidden; network: {network}"
                );
                Notice::info("sandbox-strict", text).with("hosts", hosts.join(", "))
            }
            false => Notice::info(
                "sandbox-on",
                format!(
                    "sandbox: on (Landlock {abi}); the agent writes to the project, its own state, caches and /tmp; {hidden} \
                     places hidden; network open"
                ),
            ),
        };
        let unsigned = self.leaves_unsigned(&policy).then(|| {
            let how = match self.signing {
                Some(SigningFormat::Ssh) => SIGNED_BY_SSH,
                Some(SigningFormat::Gpg) | None => SIGNED_BY_GPG,
            };
            let text = format!("commits of the agent are not signed, since the sandbox hides keys; {how}");
            Notice::warning("commits-unsigned", text)
        });
        let lacking = lacking_in_words(abi);
        let weak = (!lacking.is_empty()).then(|| {
            let text = format!(
                "this kernel's Landlock {abi} cannot keep the agent from {}",
                lacking.join(", ")
            );
            Notice::warning("sandbox-weak", text)
        });
        let open = (!Supervisor::mediates_connections()).then(|| {
            Notice::warning(
                "sandbox-sockets-open",
                "this system cannot keep the agent from sockets of other programs (ssh-agent, docker, tmux): that needs Linux \
                 5.19, and no other sandbox around ralph",
            )
        });
        [on].into_iter()
            .chain(unsigned)
            .chain(weak)
            .chain(open)
            .chain(exposed)
            .chain(missing)
            .collect()
    }
}

/// The supervisor that starts the agent of `manifest`, or goals. It confines them if there is a confiner.
///
/// # Errors
/// As [`Confiner::confinement`].
pub(super) fn starting(
    confiner: Option<&Confiner>,
    supervisor: &Supervisor,
    manifest: Option<&Manifest>,
) -> Result<Supervisor, Failure> {
    let Some(confiner) = confiner else {
        return Ok(supervisor.clone());
    };
    let confined = supervisor.confining(Some(confiner.confinement(manifest)?));
    Ok(confined.reporting_refusals(confiner.on_refused()))
}

/// Returns what starts the program of a manifest to ask for its version: confined, unless the sandbox is off. Makes no
/// directory.
pub(crate) fn probing(
    place: &ProjectPlace,
    config: &Config,
    catalog: &Catalog,
    supervisor: &Supervisor,
) -> impl Fn(&Manifest) -> Supervisor + Sync {
    let confiner = Confiner::unless_off(place, config, catalog, supervisor);
    let supervisor = supervisor.clone();
    move |manifest| {
        let confinement = confiner.as_ref().and_then(|confiner| {
            let policy = confiner.policy(Some(manifest));
            confiner.held_to(&policy, Some(manifest)).ok()
        });
        supervisor.confining(confinement)
    }
}

/// Places that exist and that agents of root must not read; none for other users.
fn existing_root_secrets(agents: &[String]) -> Vec<ListedPath> {
    if !geteuid().is_root() {
        return Vec::new();
    }
    let own = dirs::home_dir().map(|home| where_it_leads(&home));
    let homes = fs::read_dir("/home").into_iter().flatten().flatten();
    let homes = homes.map(|home| home.path()).chain([PathBuf::from("/root")]);
    let others: Vec<PathBuf> = homes.filter(|home| Some(where_it_leads(home)) != own).collect();
    let mut secrets = root_secrets(&others, agents);
    secrets.retain(|secret| secret.path.exists());
    secrets
}

/// Devices by which root, or a member of a device's group, reads any file or all that is typed or shown.
fn raw_devices() -> Vec<PathBuf> {
    let devices = fs::read_dir("/dev").into_iter().flatten().flatten();
    let raw = devices.filter(|device| {
        device.file_type().is_ok_and(|kind| kind.is_block_device()) || device.file_name().to_str().is_some_and(is_raw)
    });
    raw.map(|device| device.path()).collect()
}

/// Whether the character device, or directory, `/dev/NAME` gives access to disks, memory, keyboards or consoles.
fn is_raw(name: &str) -> bool {
    let single = [
        "mem", "kmem", "port", "kmsg", "input", "mapper", "raw", "bsg", "console", "vcs", "vcsa", "vcsu",
    ];
    // `ttyS0` and `ttyUSB0` are no consoles: boards are programmed over them.
    let numbered = [
        "sg", "ng", "nvme", "hidraw", "usbmon", "tty", "fb", "vcs", "vcsa", "vcsu",
    ];
    let has_number = |rest: &str| rest.starts_with(|digit: char| digit.is_ascii_digit());
    let mut rests = numbered.iter().filter_map(|device| name.strip_prefix(device));
    single.contains(&name) || rests.any(has_number)
}

/// Refuses a project that contains the user's home directory: all keys in it would be readable.
fn refuse_home(project: &Path) -> Result<(), Failure> {
    match dirs::home_dir() {
        Some(home) if where_it_leads(&home).starts_with(where_it_leads(project)) => Err(Failure::new(
            FailureKind::Configuration,
            format!(
                "the sandbox cannot be strict: {} contains your home directory",
                project.display()
            ),
        )
        .hint("work in a directory of its own, or use `--sandbox on`")),
        _ => Ok(()),
    }
}

/// The paths of the sockets that a confined program may connect to, as they are written and as they are resolved. Which requests the run accepts from agents is
/// decided at the run's own socket.
fn sockets(place: &ProjectPlace, settings: &[String], is_strict: bool) -> Vec<PathBuf> {
    let allowed = with_environment(|environment| allowed_sockets(settings, &place.project, environment));
    let harmless = harmless_sockets().filter(|_| !is_strict);
    let own = place.paths.socket();
    let all = harmless.chain(allowed).chain([own]);
    all.flat_map(|path| [where_it_leads(&path), path]).collect()
}

/// Files beside the user's ssh keys that hold no secret, and without which ssh connects to no known host.
fn public_ssh_files(policy: &FilePolicy) -> Vec<PathBuf> {
    let hidden = policy.hidden.iter().filter(|place| place.path.ends_with(".ssh"));
    let files = hidden
        .filter_map(|place| fs::read_dir(&place.path).ok())
        .flatten()
        .flatten();
    let is_public = |name: &str| name == "config" || name.starts_with("known_hosts") || name.ends_with(".pub");
    files
        .filter(|file| file.file_name().to_str().is_some_and(is_public))
        .map(|file| file.path())
        .collect()
}

/// Calls `tell` once for each notice.
fn once(tell: impl Fn(Notice) + Send + Sync + 'static) -> impl Fn(Notice) + Send + Sync + 'static {
    let told: Mutex<Vec<Notice>> = Mutex::default();
    move |notice| {
        let mut told = told.lock();
        if told.len() < MOST_TOLD && !told.contains(&notice) {
            told.push(notice.clone());
            tell(notice);
        }
    }
}

/// The notice about a refused call.
fn call_refused(call: &RefusedCall) -> Notice {
    match call {
        RefusedCall::Connection { address } => {
            connection_refused(&address.ip().to_canonical().to_string(), address.port(), None)
        }
        RefusedCall::Listening { address } => Notice::warning(
            "listening-refused",
            format!("the sandbox refused to listen at {address}: only this machine may connect (127.0.0.1)"),
        ),
        RefusedCall::Socket { path } => {
            let name = with_environment(|environment| name_of_socket(path, environment, where_it_leads));
            let shown = path.display().to_string();
            let named = name.unwrap_or(&shown);
            let text = format!(
                "the sandbox refused a connection to {shown}; to allow it: \"sandbox\": {{ \"sockets\": [\"{named}\"] }}"
            );
            let notice = Notice::warning("socket-refused", text).with("path", &shown);
            match name {
                Some(name) => notice.with("name", name),
                None => notice,
            }
        }
    }
}

/// Calls `work` with the facts about the user of this process that resolve places.
fn with_environment<T>(work: impl FnOnce(&UserEnvironment<'_>) -> T) -> T {
    let home = dirs::home_dir().and_then(|home| home.into_os_string().into_string().ok());
    let variable = |name: &str| env::var(name).ok();
    work(&UserEnvironment {
        home: home.as_deref(),
        variable: &variable,
    })
}

/// The directories of programs that are installed for the user, or in `project` as package managers of JavaScript and
/// Python do.
fn program_directories(project: &Path) -> OsString {
    let own = ["", "node_modules/.bin", ".venv/bin", "venv/bin"].map(|below| project.join(below));
    let path = env::var_os("PATH").unwrap_or_default();
    // A colon in the name of the project cannot be written.
    env::join_paths(env::split_paths(&path).chain(own)).unwrap_or(path)
}

/// The real directories of all sealed goals, including disabled ones.
fn sealed_directories(place: &ProjectPlace, config: &Config) -> Vec<PathBuf> {
    let goals = config.goals.enabled.iter().chain(&config.goals.disabled);
    let written = goals.filter_map(|goal| goal.sealed.as_deref());
    written
        .filter_map(|path| expanded_here(path, &place.project))
        .map(|path| where_it_leads(&path))
        .collect()
}

/// Expands a path from the settings for the user of this process.
pub(super) fn expanded_here(path: &Path, project: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    with_environment(|world| expanded(text, project, world))
}

/// Returns pnpm's store: the one that the packages of a project are from, or the usual one. pnpm finds its store by making a file in
/// the home directory, which the sandbox refuses; then it would make a store in the project and refuse the packages that are there.
fn pnpm_store(project: &Path, policy: &FilePolicy) -> Option<String> {
    let settings = [
        project.join(".npmrc"),
        PathBuf::from(env::var_os("HOME")?).join(".npmrc"),
    ];
    let is_set = |file: &PathBuf| read_text(file, NPM_FILE_CAP_BYTES).is_ok_and(|text| text.contains("store-dir"));
    if env::var_os(PNPM_STORE).is_some() || settings.iter().any(is_set) {
        return None;
    }
    let installed = read_text(&project.join("node_modules/.modules.yaml"), NPM_FILE_CAP_BYTES).ok();
    let of_packages = installed.as_deref().and_then(|text| {
        let (_, after) = text.split_once("storeDir")?;
        let (_, value) = after.lines().next()?.split_once(':')?;
        // The version of its format is appended by pnpm.
        Path::new(value.trim().trim_matches(['"', ',', '\''])).parent()
    });
    let mut places = policy.write.iter().map(|place| &*place.path);
    let usual = || places.find(|place| place.ends_with("pnpm/store"));
    let store = of_packages.or_else(usual)?;
    Some(store.to_str()?.to_owned())
}

/// The value that makes git sign nothing, in addition to its other parameters.
fn unsigned() -> String {
    let given = env::var(GIT_PARAMETERS).unwrap_or_default();
    format!("{given} 'commit.gpgsign=false' 'tag.gpgsign=false'")
        .trim_start()
        .to_owned()
}

/// The notice about a refused connection.
///
/// `address` is the non-public address that an allowed host name resolved to.
fn connection_refused(host: &str, port: u16, address: Option<&str>) -> Notice {
    let since = address.map_or_else(String::new, |address| {
        format!(", since it leads to {address}, which is not public")
    });
    let listed = listed_as(address.unwrap_or(host), port);
    let text = format!(
        "connection to {host}:{port} refused by the sandbox{since}; to allow it: \"sandbox\": {{ \"hosts\": [\"{listed}\"] }}"
    );
    Notice::warning("connection-refused", text)
        .with("host", host)
        .with("port", port)
}

/// A host in the format of `sandbox.hosts`.
fn listed_as(host: &str, port: u16) -> String {
    match (host.contains(':'), port) {
        (_, 80 | 443) => host.to_owned(),
        (false, _) => format!("{host}:{port}"),
        (true, _) => format!("[{host}]:{port}"),
    }
}

/// The notice that this system cannot confine anything.
pub(super) fn sandbox_missing() -> Notice {
    Notice::warning("sandbox-missing", format!("{UNCONFINED}: this system has no Landlock"))
}

/// Creates the directories that a confined program would create for itself: only existing ones can be allowed.
fn make_missing(policy: &FilePolicy) {
    for place in &policy.write {
        if place.is_made && !place.path.exists() {
            // If ralph may not create it, the program reports that itself.
            _ = create_private_dir(&place.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_disks_memory_keyboards_and_consoles_are_raw_and_others_are_not() {
        for name in [
            "mem", "kmsg", "input", "console", "tty0", "tty63", "vcs", "vcsa12", "hidraw3", "sg0", "ng0n1", "nvme0",
            "fb0",
        ] {
            assert!(is_raw(name), "{name}");
        }
        for name in [
            "tty",
            "ttyS0",
            "ttyUSB0",
            "null",
            "shm",
            "pts",
            "kvm",
            "fuse",
            "memory_bandwidth",
            "sgx_enclave",
        ] {
            assert!(!is_raw(name), "{name}");
        }
    }
}
