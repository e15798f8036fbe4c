//! Puts a run together from settings, adapter and plan, and shows it.

mod agents;
mod ceilings;
mod check_context;
mod check_turn;
mod choice;
mod denials;
mod detached;
mod end;
mod gate;
mod goals;
mod keep;
#[cfg(feature = "page")]
pub(crate) mod listen;
#[cfg_attr(not(feature = "batch"), path = "app/no_batch.rs")]
pub(crate) mod many;
#[cfg(feature = "native")]
mod native;
mod own_files;
mod permissions;
mod place;
mod plan;
mod prepare;
mod prompt;
mod runtime;
mod sandbox;
mod sealed;
mod strict;
mod tree;
mod workers;

use std::{
    env::consts::OS,
    time::{Duration, SystemTime},
};

use ralph_core::event::Notice;
use ralph_driver::{
    Driver, HookStarter, OpenError, OpenRun, RunChoice, RunClock, RunConfig, hub::Hub, note_hidden, read_earlier,
};
use ralph_review::prune::prune;
use ralph_state::control::frames::{ScreenFacts, Show};
use ralph_system::{
    diagnostics::Diagnostics,
    os::signals,
    paths::create_anew,
    proc::{Size, Starter, Supervisor},
};
use ralph_text::with_causes;
use ralph_ui::tui;
use tracing::{Instrument, info, info_span};

use crate::{
    config::{CommitWhen, Loaded},
    error::Failure,
    host::{DetachedFrom, ProcessSignals},
    ui::{
        Presentation,
        attached::signalling,
        front_end::{FrontEnd, ScreenHost},
        summary, terminal,
    },
};

pub(crate) use agents::{
    catalog, chosen_adapter, native_lacks_tls, users_adapters, withheld_from_agent, withheld_from_goals,
};
pub(crate) use check_turn::turn_of_agent;
pub(crate) use choice::{AgentCandidate, open_choice};
pub(crate) use detached::{DetachedEnd, FollowUpCommands, attach, attach_at, run_detached};
use end::concluded;
pub(crate) use gate::{leave_unguarded, runners};
pub(crate) use goals::check_goals;
use keep::kept;
pub(crate) use own_files::OwnFiles;
pub(crate) use permissions::{PathRoots, answer_in_words, because_in_words, decide, judge};
pub(crate) use place::{ProjectPlace, check_files};
pub(crate) use plan::{chosen_plan, import_hint, no_plan, nothing_to_do};
use prepare::prepare;
pub(crate) use prompt::{built_in_prompt, next_prompt};
use runtime::runtime;
pub(crate) use sandbox::{Confiner, probing};
pub(crate) use sealed::sealed_goals_here;
use tree::take_report;
pub(crate) use tree::{prepare_tree, tear_down_tree};

/// Time for blocking work to end after the run is over.
/// Memory limit of each process of a language server.
const LANGUAGE_MEMORY_BYTES: u64 = 4 << 30;

const JOB_PATIENCE: Duration = Duration::from_millis(500);

/// Runs the loop to its end, and returns its exit code. `starter` is the process that started this one and shows the
/// run, if any.
///
/// # Errors
/// A [`Failure`] if a check fails before anything is started, or if the run's state cannot be stored.
pub(crate) fn run(
    place: &ProjectPlace,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
    supervisor: &Supervisor,
    starter: Option<&Starter>,
    opening: RunChoice,
) -> Result<u8, Failure> {
    diagnostics.scope(|| logged_run(place, loaded, presentation, diagnostics, supervisor, starter, opening))
}

fn logged_run(
    place: &ProjectPlace,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
    supervisor: &Supervisor,
    starter: Option<&Starter>,
    opening: RunChoice,
) -> Result<u8, Failure> {
    info!(
        version = env!("CARGO_PKG_VERSION"),
        system = OS,
        screen = presentation.screen.is_some(),
        "ralph started"
    );
    signals::survive_file_size_limit();
    // A screen, the page and an editor show the run that they start.
    let is_watched = presentation.screen.is_some() || starter.is_some();
    let mut prepared = prepare(place, loaded, is_watched, supervisor)?;
    supervisor.become_subreaper();
    #[cfg(feature = "page")]
    let (url, serve) = listen::serving(&place.paths, &loaded.config).map(|(url, serve)| (url, Some(serve)))?;
    #[cfg(not(feature = "page"))]
    let (url, serve) = (None::<String>, None);
    let plan = (&*prepared.settings.plan, prepared.settings.section.as_deref());
    let mut open = OpenRun::open_as(place.paths.clone(), plan, supervisor, opening)?;
    diagnostics.write_to(&open.files.log());
    let run = info_span!("run", id = %open.run);
    let mut notices = prepared.notices;
    // Kept to the end of the run, since its proxy serves the confined programs.
    let confiner = prepared.confiner;
    let failures = prune(
        &open.paths,
        &open.run,
        kept(&loaded.config),
        SystemTime::now(),
        supervisor,
    );
    let old_run_kept = |why: String| Notice::warning("old-run-kept", why);
    notices.extend(failures.iter().map(|error| old_run_kept(with_causes(error))));
    let failures = many::prune_batches(place, &loaded.config, supervisor);
    notices.extend(failures.into_iter().map(old_run_kept));
    notices.extend(open.dropped_requirements(&prepared.settings, &prepared.plan));
    notices.extend(url.iter().map(|url| {
        let text = format!("listening at {url}; `ralph token` prints its token");
        Notice::info("listening", text).with("url", url)
    }));
    notices.extend(read_earlier(&open.paths, &open.run, &prepared.sealed_directories));
    note_hidden(&open.files, open.recovered, &prepared.sealed_directories).map_err(|source| OpenError::State {
        path: open.files.hidden_from_agents(),
        source,
    })?;
    open.notice_first(notices);
    open.tree = take_report(&open.paths);
    if place
        .paths
        .project()
        .starts_with(place.paths.states().root().join("worktrees"))
    {
        open.keep_scopes(&mut prepared.settings);
    }
    let hub = Hub::new(&open.files.journal(), open.next_seq);
    let terminals = prepared.terminals;
    let front_end = FrontEnd::new(
        &open,
        presentation,
        match starter {
            Some(_) => ScreenHost::Elsewhere,
            None => ScreenHost::Here,
        },
        terminals.clone(),
        &loaded.config,
        prepared.keys.clone(),
        supervisor,
    )
    .served_at(url);
    let keys = prepared.keys;
    let repository = open.repository(loaded.config.checkpoint.include.clone(), supervisor)?;
    let repository = repository.map(|repository| repository.committing_in(prepared.goals.confinement()));
    let commits = loaded.config.commit == CommitWhen::Iteration;
    if commits && repository.is_none() {
        let why = "`commit` has no effect, because the project has no repository that ralph can use.";
        open.notice_first(vec![Notice::warning("commit-without-repository", why)]);
    }
    let config = RunConfig {
        settings: prepared.settings,
        template: prepared.template,
        promise: loaded.config.completion.promise.clone(),
        agents: prepared.agents,
        workers: prepared.workers,
        prices: loaded.config.prices.clone(),
        goals_parallel: loaded.config.goals_parallel,
        room: loaded.config.room,
        setup: loaded.config.tree.setup.clone(),
        withheld: prepared.withheld,
        size: match presentation.screen {
            Some(_) => terminal::pane_size(prepared.plan.tasks.len()),
            None => terminal::agent_size(),
        },
        recording_cap_bytes: u64::from(loaded.config.keep.recording_mib) << 20,
        agent_tools: prepared.has_tools,
        runners: prepared.runners,
        guard: prepared.guard,
        test_files: prepared.test_files,
        sealed: prepared.sealed,
        languages: prepared.languages,
        language_memory_bytes: Some(LANGUAGE_MEMORY_BYTES),
        watched: presentation.screen.is_some(),
        permission_policy: Some(prepared.judge),
        repository,
        commits,
        heard: Some(prepared.received_notices),
        denial_scanner: prepared.denial_scanner,
        confined: prepared.confined,
        clock: RunClock::system(),
        disks: prepared.disks,
        keep_awake: loaded.config.keep_awake,
        hooks: HookStarter {
            supervisor: supervisor.clone(),
            keys,
        },
        supervisor: prepared.goals,
        left: prepared.left,
    };
    let files = open.files.clone();
    let shown = ScreenFacts {
        run: open.run.clone(),
        show: Show {
            terminals,
            notify: signalling(&loaded.config.notify),
            include: loaded.config.checkpoint.include.clone(),
        },
        here: presentation.screen.is_some() && starter.is_none(),
    };
    let output = match starter {
        Some(_) => Some(create_anew(&files.output()).map_err(|source| OpenError::State {
            path: files.output(),
            source,
        })?),
        None => None,
    };
    let behind = starter
        .zip(output.as_ref())
        .map(|(starter, output)| DetachedFrom { starter, output });
    let runtime = runtime()?;
    // Restores the terminal on every path out of this function.
    let guard = tui::terminal::TerminalGuard;
    #[cfg(feature = "telemetry")]
    let exporter = prepared.telemetry.and_then(|telemetry| telemetry.start(&hub, &files));
    let driver = Driver::new(open, config, hub.clone());
    let ui = front_end.start(&hub, driver.handle());
    // On a screen, agents have the size of the pane that shows them.
    let measure = presentation
        .screen
        .is_none()
        .then_some(terminal::agent_size as fn() -> Size);
    let drive = ProcessSignals::drive(driver, &place.paths, measure, shown, serve, behind);
    let result = runtime.block_on(drive.instrument(run));
    runtime.block_on(ui.wait());
    drop(guard);
    #[cfg(feature = "telemetry")]
    exporter.into_iter().for_each(crate::telemetry::Exporter::finish);
    if presentation.screen.is_some() && starter.is_none() {
        summary::print(&files, presentation.style);
    }
    runtime.shutdown_timeout(JOB_PATIENCE);
    supervisor.end_orphans();
    drop(confiner);
    concluded(result, &files.log(), presentation)
}
