//! Puts a run together from settings, adapter and plan, and shows it.

mod agents;
mod end;
mod place;
mod plan;
mod prompt;
mod runtime;

use std::{
    env::consts::OS,
    path::Path,
    time::{Duration, SystemTime},
};

use tracing::{Instrument, info, info_span};

use crate::{
    agent::catalog::{Catalog, Sources as CatalogSources},
    config::{Config, Loaded},
    diagnostics::Diagnostics,
    driver::{
        self, Agent, Clock, Driver, Hub, OpenRun, RunConfig,
        prune::{Keep, prune},
    },
    error::{Failure, FailureKind},
    event::{Completion, GoalResult, Notice, PlanSnapshot, Settings},
    host::Host,
    os::signals,
    proc::{Size, Supervisor},
    prompt::Template,
    text::with_causes,
    ui::{Presentation, front_end::FrontEnd, summary, terminal, tui},
};

use agents::{Agents, Chooser};
use end::concluded;
pub(crate) use place::Place;
use plan::check_confidence;
pub(crate) use plan::chosen_plan;
use prompt::template;
use runtime::runtime;

/// How long work on disk may go on after the run is over.
const JOB_PATIENCE: Duration = Duration::from_millis(500);

/// Everything that has been found to be in order before a run starts.
struct Prepared {
    settings: Settings,
    template: Template,
    agents: Vec<Agent>,
    /// What is shown of agents is made from their signals.
    transcript: bool,
    plan: PlanSnapshot,
    /// Variables that are for agents alone.
    withheld: Vec<String>,
    notices: Vec<Notice>,
}

/// Runs the loop until it is over, and returns its exit code.
///
/// # Errors
/// A [`Failure`] if something is not in order, before anything is started; or if the run's state cannot be kept.
pub(crate) fn run(
    place: &Place,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    diagnostics.scope(|| logged_run(place, loaded, presentation, diagnostics, supervisor))
}

fn logged_run(
    place: &Place,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    info!(
        version = env!("CARGO_PKG_VERSION"),
        system = OS,
        screen = presentation.screen.is_some(),
        "ralph started"
    );
    signals::survive_file_size_limit();
    let prepared = prepare(place, loaded, presentation.screen.is_some(), supervisor)?;
    supervisor.become_subreaper();
    let mut open = OpenRun::open(place.paths.clone(), &prepared.settings.plan, supervisor)?;
    diagnostics.write_to(&open.files.log());
    let run = info_span!("run", id = %open.run);
    let mut notices = prepared.notices;
    let failures = prune(
        &open.paths,
        &open.run,
        kept(&loaded.config),
        SystemTime::now(),
        supervisor,
    );
    notices.extend(failures.iter().map(|error| Notice::OldRunKept {
        why: with_causes(error),
    }));
    notices.extend(open.let_go(&prepared.settings, &prepared.plan));
    open.notice_first(notices);
    let hub = Hub::new(&open.files.journal(), open.next_seq);
    let front_end = FrontEnd::new(&open, presentation, prepared.transcript, &loaded.config, supervisor);
    let repository = open.repository(loaded.config.checkpoint.include.clone(), supervisor);
    let config = RunConfig {
        settings: prepared.settings,
        template: prepared.template,
        promise: loaded.config.completion.promise.clone(),
        agents: prepared.agents,
        goals_parallel: loaded.config.goals_parallel,
        withheld: prepared.withheld,
        size: match presentation.screen {
            Some(_) => terminal::pane_size(prepared.plan.tasks.len()),
            None => terminal::agent_size(),
        },
        recording_cap_bytes: u64::from(loaded.config.keep.recording_mib) << 20,
        watched: presentation.screen.is_some(),
        repository,
        clock: Clock::of_the_system(),
        supervisor: supervisor.clone(),
    };
    let files = open.files.clone();
    let runtime = runtime()?;
    // However this function is left, the terminal is the user's again.
    let guard = tui::terminal::Guard;
    let driver = Driver::new(open, config, hub.clone());
    let shown = front_end.start(&hub, driver.handle());
    // On a screen, agents have the size of the pane that shows them.
    let measure = presentation
        .screen
        .is_none()
        .then_some(terminal::agent_size as fn() -> Size);
    let result = runtime.block_on(Host::drive(driver, &place.paths, measure).instrument(run));
    runtime.block_on(shown.wait());
    drop(guard);
    if presentation.screen.is_some() {
        summary::print(&files, presentation.style);
    }
    runtime.shutdown_timeout(JOB_PATIENCE);
    supervisor.end_orphans();
    concluded(result, &files.log(), presentation.format)
}

/// What is kept of old runs.
fn kept(config: &Config) -> Keep {
    let keep = &config.keep;
    Keep {
        runs: keep.runs,
        age: keep.age_ms.map(Duration::from_millis),
        size_bytes: keep.size_mib.map(|mib| u64::from(mib) << 20),
    }
}

/// Runs the configured goals once, without a loop.
///
/// # Errors
/// A [`Failure`] if there are none, or if nothing can be run here.
pub(crate) fn check_goals(place: &Place, loaded: &Loaded, supervisor: &Supervisor) -> Result<Vec<GoalResult>, Failure> {
    let config = &loaded.config;
    if config.goals.is_empty() {
        return Err(
            Failure::new(FailureKind::Configuration, "there are no goals to check")
                .hint("name some with `\"goals\": [{\"name\": \"tests\", \"command\": \"cargo test\"}]` in .ralph/config.json")
                .hint("or one with `ralph --goal tests=\"cargo test\" goals check`"),
        );
    }
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    supervisor.become_subreaper();
    let checks = driver::check_goals(
        config.goals.clone(),
        config.goals_parallel,
        place.project.clone(),
        format!("goals-{}", std::process::id()),
        scratch.path().to_owned(),
        catalog(place, config).keys(),
        supervisor,
    );
    Ok(runtime()?.block_on(checks))
}

/// Checks everything that can be wrong before a run.
fn prepare(place: &Place, loaded: &Loaded, watched: bool, supervisor: &Supervisor) -> Result<Prepared, Failure> {
    let config = &loaded.config;
    let mut notices: Vec<Notice> = loaded.notices.iter().map(Notice::warning).collect();
    let template = template(place, config)?;
    let (plan, snapshot) = chosen_plan(place, config)?;
    check_confidence(config, &snapshot)?;
    let catalog = catalog(place, config);
    notices.extend(catalog.notices().iter().map(Notice::warning));
    let chooser = Chooser {
        catalog: &catalog,
        config,
        project: &place.project,
        watched,
        supervisor,
    };
    let Agents { id, agents, logins } = chooser.choose(&mut notices)?;
    let stand_ins = agents[1..].iter().map(|agent| agent.adapter.id().to_owned()).collect();
    let settings = Settings {
        adapter: id,
        model: config.model.clone(),
        agent: config.agent.clone(),
        plan,
        session: config.session,
        limits: config.limits.clone(),
        backoff: config.backoff.clone(),
        goals: config.goals.clone(),
        goals_when: config.goals_when,
        completion: Completion {
            min_confidence: config.completion.min_confidence,
        },
        breaker: config.breaker,
        fallback: stand_ins,
        logins,
    };
    Ok(Prepared {
        settings,
        template,
        transcript: !agents[0].last_line_claims,
        agents,
        plan: snapshot,
        withheld: catalog.keys(),
        notices,
    })
}

/// The adapter that a run would use, which can be started as far as can be told.
///
/// # Errors
/// The [`Failure`] that such a run would end with.
pub(crate) fn chosen_adapter(
    catalog: &Catalog,
    config: &Config,
    project: &Path,
    supervisor: &Supervisor,
) -> Result<String, Failure> {
    let chooser = Chooser {
        catalog,
        config,
        project,
        watched: false,
        supervisor,
    };
    chooser.choose(&mut Vec::new()).map(|chosen| chosen.id)
}

/// All adapters that can be seen from `place`.
pub(crate) fn catalog(place: &Place, config: &Config) -> Catalog {
    let user = dirs::config_dir().map(|dir| dir.join("ralph").join("adapters"));
    Catalog::load(&CatalogSources {
        directories: user
            .into_iter()
            .chain([place.project.join(".ralph").join("adapters")])
            .collect(),
        config: config.adapters.clone(),
    })
}
