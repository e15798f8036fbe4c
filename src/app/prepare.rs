//! Checks, before any process starts, whether a run can start.

use std::{path::PathBuf, sync::Arc};

use ralph_core::event::{
    Completion, DenialLimits, GivenSetting, Notice, PlanSnapshot, SandboxState, ScopedTask, Settings, Waiting, Worker,
};
use ralph_gate::{guard::FileGuard, runner::Runners};
use ralph_plan::prompt::{AgentConfinement, PromptTemplate};
use ralph_state::store::rules::remembered;
use ralph_system::{
    os::disk::DiskFloor,
    proc::{Confinement, LeftProcesses, Supervisor},
};
use ralph_tools::language::LanguageServer;
use tokio::sync::mpsc;

use super::{
    Confiner, ProjectPlace,
    agents::{AgentChooser, Agents, catalog, check_model_is_reached, withheld_from_goals},
    ceilings::{disk_floors, tree_limits},
    denials::Denials,
    gate::{gate_settings, guard, known_runners, test_files},
    permissions::{enforceable, judge},
    plan::{about_other_loop, about_plan, about_task, check_confidence, check_scopes, chosen_work, with_checks},
    prompt::template,
    sandbox::{UNCONFINED, sandbox_missing, starting},
    sealed::sealed_goals,
    workers::{add_asked_for, add_escalation, add_reviewer},
};
use ralph_driver::{AvailableAgent, DenialScanner, PermissionDecider};

use crate::{
    config::{Loaded, SandboxMode},
    error::Failure,
};

/// Capacity of the notice channel; far above the number of notices ever queued.
const NOTICE_CAPACITY: usize = 64;

/// The result of all checks before a run.
pub(super) struct PreparedRun {
    /// The runners that parse the test counts of goals.
    pub(super) runners: &'static Runners,
    /// The guard of the files that decide the results of goals; `None` if no file is guarded.
    pub(super) guard: Option<FileGuard>,
    /// Tells files with tests.
    pub(super) test_files: FileGuard,
    /// The confinement of sealed goals, without their copy of the project; `None` if no goal is sealed.
    pub(super) sealed: Option<Confinement>,
    /// The directories of sealed goals, which agents cannot read.
    pub(super) sealed_directories: Vec<PathBuf>,
    pub(super) settings: Settings,
    pub(super) template: PromptTemplate,
    pub(super) agents: Vec<AvailableAgent>,
    /// The agents with the models that the settings name for them.
    pub(super) workers: Vec<Worker>,
    /// Adapters whose agents draw on their terminal. The display of the others is made from their signals.
    pub(super) terminals: Vec<String>,
    pub(super) plan: PlanSnapshot,
    /// Variables that goals do not get.
    pub(super) withheld: Vec<String>,
    /// Variables with keys of agents.
    pub(super) keys: Vec<String>,
    /// Applies the permission rules to tool calls.
    pub(super) judge: Arc<dyn PermissionDecider>,
    /// Disks on which some space stays free.
    pub(super) disks: Vec<DiskFloor>,
    /// The supervisor that starts goals.
    pub(super) goals: Supervisor,
    /// The processes that the agents' sessions leave running.
    pub(super) left: LeftProcesses,
    /// Confines agents and goals as long as it exists.
    pub(super) confiner: Option<Confiner>,
    /// Detects denials of the sandbox in the output of tools.
    pub(super) denial_scanner: Option<Arc<dyn DenialScanner>>,
    pub(super) confined: AgentConfinement,
    /// Notices to record while the run is in progress.
    pub(super) received_notices: mpsc::Receiver<Notice>,
    #[cfg(feature = "telemetry")]
    pub(super) telemetry: Option<crate::telemetry::RunTelemetry>,
    /// Whether agents get ralph's own tools.
    pub(super) has_tools: bool,
    /// The language servers that are installed.
    pub(super) languages: Vec<LanguageServer>,
    pub(super) notices: Vec<Notice>,
}

/// Checks everything that can be wrong before a run.
pub(super) fn prepare(
    place: &ProjectPlace,
    loaded: &Loaded,
    watched: bool,
    supervisor: &Supervisor,
) -> Result<PreparedRun, Failure> {
    let disks = disk_floors(&loaded.config.limits, &place.paths);
    let supervisor = &supervisor.limiting_trees(tree_limits(&loaded.config.limits, &disks));
    let of_settings = |text: &String| Notice::warning("settings", text);
    let mut notices: Vec<Notice> = loaded.notices.iter().map(of_settings).collect();
    let (work, reading) = chosen_work(place, &loaded.config)?;
    let config = &with_checks(&loaded.config, &reading.plan)?;
    let template = template(place, config, &work)?;
    notices.extend(about_plan(place, &work, &template));
    notices.extend(about_task(place, &work, config));
    notices.extend(about_other_loop(place));
    check_confidence(config, &reading.plan)?;
    check_scopes(place, &reading.plan, supervisor)?;
    let catalog = catalog(place, config);
    let of_adapters = |text: &String| Notice::warning("adapters", text);
    notices.extend(catalog.notices().iter().map(of_adapters));
    let (tell, received_notices) = mpsc::channel(NOTICE_CAPACITY);
    let refusals = tell.clone();
    let tell_refused = move |refused| _ = refusals.try_send(refused); // the channel has room
    let confiner = Confiner::wanted(place, config, &catalog, supervisor, tell_refused)?;
    let goals = sealed_goals(place, config, &catalog, confiner.as_ref())?;
    let left = LeftProcesses::default();
    let chooser = AgentChooser {
        confiner: confiner.as_ref(),
        catalog: &catalog,
        config,
        remembered: loaded.adapter_is_remembered,
        project: &place.project,
        watched,
        supervisor: &supervisor.reporting_left_running(left.receiver()),
        run: Some(&place.paths),
    };
    let has_tools = chooser.has_tools();
    let languages = chooser.languages();
    let mut chosen = chooser.choose(&mut notices)?;
    add_asked_for(&chooser, &mut chosen, (&work.path, &reading), &mut notices)?;
    let escalation = add_escalation(&chooser, &mut chosen, &mut notices)?;
    let review = add_reviewer(&chooser, &mut chosen, &mut notices)?;
    let Agents {
        id,
        agents,
        logins,
        channels,
        live_only,
        fallback,
        workers,
    } = chosen;
    for agent in &agents {
        check_model_is_reached(agent, config)?;
        notices.extend(chooser.held_to_limits(agent, &workers)?);
    }
    let first = catalog.manifest(&id)?;
    notices.extend(match &confiner {
        Some(confiner) => confiner.notices(Some(&first)),
        None if config.sandbox.mode == SandboxMode::Off => {
            vec![Notice::warning("sandbox-off", format!("{UNCONFINED} (--sandbox off)"))]
        }
        None => vec![sandbox_missing()],
    });
    let policy = config.permissions.policy();
    for agent in &agents {
        enforceable(agent, &policy)?;
    }
    let ids = || agents.iter().map(|agent| agent.adapter.id());
    let denial_scanner = confiner
        .as_ref()
        .map(|confiner| Arc::new(Denials::of(confiner, &catalog, &place.project, ids())) as Arc<dyn DenialScanner>);
    let drawing = agents.iter().filter(|agent| agent.last_line_claims);
    let terminals = drawing.map(|agent| agent.adapter.id().to_owned()).collect();
    let confined = confiner.as_ref().map_or(AgentConfinement::No, Confiner::confined);
    let runners = known_runners(place, config)?;
    let sandbox = confiner.as_ref().map_or(SandboxState::Unconfined, Confiner::state);
    let settings = Settings {
        adapter: id,
        model: config.model.clone(),
        agent: config.agent.clone(),
        plan: work.path.clone(),
        section: config.section.clone(),
        session: config.session,
        limits: config.limits.clone(),
        backoff: config.backoff.clone(),
        goals,
        optional_tasks: {
            let tasks = reading.plan.tasks.iter().filter(|task| task.settings.optional);
            tasks.map(|task| task.text.clone()).collect()
        },
        scopes: scopes(&reading.plan),
        goals_when: config.goals_when,
        completion: Completion {
            min_confidence: config.completion.min_confidence,
        },
        gate: gate_settings(runners, config),
        breaker: config.breaker,
        fallback,
        headroom: config.headroom(),
        escalation,
        review,
        logins,
        channels,
        live_only,
        waiting: Waiting {
            timeout_ms: config.permissions.timeout_ms,
            unanswered: config.permissions.unanswered,
        },
        denials: DenialLimits::default(),
        permission_mode: config.permissions.mode,
        background: config.background,
        hooks: config.hooks.clone(),
        remembered: remembered(&place.paths)?,
        sandbox: Some(sandbox),
        given: given(loaded),
    };
    let guard = guard(runners, config, &place.project)?;
    Ok(PreparedRun {
        runners,
        test_files: test_files(place, guard.as_ref(), &settings.scopes)?,
        guard,
        settings,
        template,
        terminals,
        workers: chooser.with_models(&workers),
        agents,
        plan: reading.plan,
        disks,
        withheld: withheld_from_goals(&catalog, config),
        keys: catalog.keys(),
        judge: judge(place, policy),
        sealed: confiner
            .as_ref()
            .filter(|confiner| !confiner.sealed().is_empty())
            .map(Confiner::sealed_goal_confinement)
            .transpose()?,
        sealed_directories: confiner
            .as_ref()
            .map_or_else(Vec::new, |confiner| confiner.sealed().to_vec()),
        left,
        goals: starting(confiner.as_ref(), supervisor, None)?,
        confiner,
        denial_scanner,
        confined,
        received_notices,
        has_tools,
        languages,
        notices,
        #[cfg(feature = "telemetry")]
        telemetry: crate::telemetry::RunTelemetry::configured(config.otel.as_deref(), &place.project, tell)?,
    })
}

/// The tasks that may change some files only.
fn scopes(plan: &PlanSnapshot) -> Vec<ScopedTask> {
    let scoped = plan.tasks.iter().filter(|task| !task.settings.only.is_empty());
    let scoped = scoped.map(|task| ScopedTask {
        task: task.text.clone(),
        only: task.settings.only.clone(),
    });
    scoped.collect()
}

/// The settings given on the command line, except those of the screen.
fn given(loaded: &Loaded) -> Vec<GivenSetting> {
    let flags = loaded.flags.iter().filter(|flag| !flag.key.starts_with("screen."));
    let flags = flags.map(|flag| GivenSetting {
        flag: flag.name.clone(),
        key: flag.key.clone(),
        value: flag
            .value
            .as_str()
            .map_or_else(|| flag.value.to_string(), str::to_owned),
    });
    let extra = loaded.extra.iter().map(|path| GivenSetting {
        flag: "--config".to_owned(),
        key: String::new(),
        value: path.to_string_lossy().into_owned(),
    });
    flags.chain(extra).collect()
}
