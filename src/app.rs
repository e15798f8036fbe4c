//! Puts a run together from settings, adapter and plan, and shows it.

mod agents;
mod end;
mod place;
mod plan;

use std::{
    env::consts::OS,
    io::Write,
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, SystemTime},
};

use tracing::{Instrument, info, info_span};

use crate::{
    agent::catalog::{Catalog, ConfigAdapters, Sources as CatalogSources},
    config::{Config, Loaded},
    console,
    diagnostics::Diagnostics,
    driver::{
        self, Agent, Clock, Driver, Hub, OpenRun, RunConfig,
        prune::{Keep, prune},
    },
    error::{Failure, FailureKind},
    event::{Completion, GoalResult, PlanSnapshot, Settings},
    faces::Faces,
    files::{self, PROMPT_CAP_BYTES},
    host::Host,
    os::signals,
    proc::{self, Size},
    prompt::Template,
    run::RunView,
    settings::Origin,
    store::{journal, paths::RunPaths},
    text::with_causes,
    ui::{
        headless::{Format, Style},
        report::{Report, write_head},
        tui::{self, theme::Palette},
    },
};

use agents::Agents;
use end::concluded;
pub use place::Place;
use plan::check_confidence;
pub use plan::{DEFAULT_PLANS, chosen_plan};

/// The size of an agent's terminal when ralph has none itself.
const NO_TERMINAL: Size = Size { cols: 120, rows: 40 };
/// How long work on disk may go on after the run is over.
const JOB_PATIENCE: Duration = Duration::from_millis(500);

/// Threads for work on disk: one for the job of the moment, one for what ends a run whose job hangs, one to spare.
const JOB_THREADS: usize = 3;
const THREAD_PATIENCE: Duration = Duration::from_secs(10);
/// Longer than any run.
const FOR_THE_RUN: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub struct Presentation {
    pub format: Format,
    pub style: Style,
    /// On a screen of its own; what is left when that closes is text.
    pub screen: Option<ScreenWish>,
}

/// What the user wants of the screen; the rest is found out.
#[derive(Debug, Clone, Copy)]
pub struct ScreenWish {
    pub palette: Option<Palette>,
    pub ascii: bool,
    pub mouse: bool,
}

impl Presentation {
    /// Colour only where somebody sees it and did not ask for none.
    pub fn of_stdout(format: Format) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let terminal = console::is_terminal();
        let columns = terminal.then(|| crossterm::terminal::size().ok()).flatten();
        Self {
            format,
            style: Style {
                colour: terminal && !no_colour,
                columns: columns.map(|(columns, _)| columns),
            },
            screen: None,
        }
    }

    /// Whether the terminal can address its cells.
    pub fn can_have_screen(self) -> bool {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        self.format == Format::Text && console::is_terminal() && !dumb
    }

    /// Wants a screen, where there can be one: text for people, on a terminal that can address its cells.
    pub fn on_screen(mut self, wish: ScreenWish) -> Self {
        self.screen = self.can_have_screen().then_some(wish);
        self
    }
}

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
    notices: Vec<String>,
}

/// Runs the loop until it is over, and returns its exit code.
///
/// # Errors
/// A [`Failure`] if something is not in order, before anything is started; or if the run's state cannot be kept.
pub fn run(
    place: &Place,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
) -> Result<u8, Failure> {
    diagnostics.scope(|| logged_run(place, loaded, presentation, diagnostics))
}

fn logged_run(
    place: &Place,
    loaded: &Loaded,
    presentation: Presentation,
    diagnostics: &Diagnostics,
) -> Result<u8, Failure> {
    info!(
        version = env!("CARGO_PKG_VERSION"),
        system = OS,
        screen = presentation.screen.is_some(),
        "ralph started"
    );
    signals::survive_file_size_limit();
    let prepared = prepare(place, loaded)?;
    proc::become_subreaper();
    let mut open = OpenRun::open(place.paths.clone(), &prepared.settings.plan)?;
    diagnostics.write_to(&open.files.log());
    let run = info_span!("run", id = %open.run);
    let mut notices = prepared.notices;
    let failures = prune(&open.paths, &open.run, kept(&loaded.config), SystemTime::now());
    notices.extend(failures.iter().map(|error| with_causes(error)));
    notices.extend(open.let_go(&prepared.settings, &prepared.plan));
    open.notice_first(notices);
    let hub = Hub::new(&open.files.journal(), open.next_seq);
    let faces = Faces::of(place, &open, presentation, prepared.transcript, &loaded.config);
    let repository = open.repository(loaded.config.checkpoint.include.clone());
    let config = RunConfig {
        settings: prepared.settings,
        template: prepared.template,
        promise: loaded.config.completion.promise.clone(),
        agents: prepared.agents,
        goals_parallel: loaded.config.goals_parallel,
        withheld: prepared.withheld,
        size: match presentation.screen {
            Some(_) => pane_size(&prepared.plan),
            None => terminal_size(),
        },
        recording_cap_bytes: u64::from(loaded.config.keep.recording_mib) << 20,
        watched: presentation.screen.is_some(),
        repository,
        clock: Clock::of_the_system(),
    };
    let files = open.files.clone();
    let runtime = runtime()?;
    // However this function is left, the terminal is the user's again.
    let terminal = tui::terminal::Guard;
    let driver = Driver::new(open, config, hub.clone());
    let face = faces.start(&hub, driver.handle());
    // On a screen, agents have the size of the pane that shows them.
    let measure = presentation.screen.is_none().then_some(terminal_size as fn() -> Size);
    let result = runtime.block_on(Host::drive(driver, &place.paths, measure).instrument(run));
    runtime.block_on(face.wait());
    drop(terminal);
    if presentation.screen.is_some() {
        print_summary(&files, presentation.style);
    }
    runtime.shutdown_timeout(JOB_PATIENCE);
    proc::end_orphans();
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
pub fn check_goals(place: &Place, loaded: &Loaded) -> Result<Vec<GoalResult>, Failure> {
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
    proc::become_subreaper();
    let checks = driver::check_goals(
        config.goals.clone(),
        config.goals_parallel,
        place.project.clone(),
        format!("goals-{}", std::process::id()),
        scratch.path().to_owned(),
        catalog(place, config).keys(),
    );
    Ok(runtime()?.block_on(checks))
}

/// Makes the runtime, and the threads for its work on disk: later there may be none to be had, since an agent can use up
/// all that a user may have.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(FailureKind::Failed, format!("the runtime cannot be started: {why}"))
            .hint("end processes of yours that are not needed, or allow more with `ulimit -u`")
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("jobs")
        .thread_keep_alive(FOR_THE_RUN)
        .build()
        .map_err(|error| failed(&error))?;
    // One more, since the runtime panics where it cannot have its first.
    let spare = thread::Builder::new().spawn(|| {}).map_err(|error| failed(&error))?;
    _ = spare.join(); // it does nothing
    let (ready, readied) = mpsc::channel();
    let held: Vec<_> = (0..JOB_THREADS)
        .map(|_| {
            let (hold, held) = mpsc::channel::<()>();
            let ready = ready.clone();
            runtime.spawn_blocking(move || {
                _ = ready.send(()); // nobody waits any more
                _ = held.recv(); // until all threads are there
            });
            hold
        })
        .collect();
    for _ in &held {
        readied
            .recv_timeout(THREAD_PATIENCE)
            .map_err(|_| failed(&"no thread is to be had"))?;
    }
    Ok(runtime)
}

/// Checks everything that can be wrong before a run.
fn prepare(place: &Place, loaded: &Loaded) -> Result<Prepared, Failure> {
    let config = &loaded.config;
    let mut notices = loaded.notices.clone();
    let template = template(place, config)?;
    let (plan, snapshot) = chosen_plan(place, config)?;
    check_confidence(config, &snapshot)?;
    let catalog = catalog(place, config);
    notices.extend_from_slice(catalog.notices());
    let Agents { id, agents, logins } = Agents::choose(&catalog, config, &place.project, &mut notices)?;
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
pub fn chosen_adapter(catalog: &Catalog, config: &Config, project: &Path) -> Result<String, Failure> {
    Agents::choose(catalog, config, project, &mut Vec::new()).map(|chosen| chosen.id)
}

/// All adapters that can be seen from `place`.
pub fn catalog(place: &Place, config: &Config) -> Catalog {
    let user = dirs::config_dir().map(|dir| dir.join("ralph").join("adapters"));
    let layers = config.adapters.iter();
    Catalog::load(&CatalogSources {
        directories: user
            .into_iter()
            .chain([place.project.join(".ralph").join("adapters")])
            .collect(),
        config: layers
            .map(|layer| ConfigAdapters {
                origin: match &layer.origin {
                    Origin::File { path, .. } => path.display().to_string(),
                    other => other.to_string(),
                },
                adapters: layer.value().as_object().cloned().unwrap_or_default(),
            })
            .collect(),
    })
}

/// The prompt that was asked for, the project's own, or the built-in one.
fn template(place: &Place, config: &Config) -> Result<Template, Failure> {
    let own = place.project.join(".ralph").join("prompt.md");
    let (text, source) = match (&config.prompt, &config.prompt_file) {
        (Some(text), _) => (text.clone(), "the prompt".to_owned()),
        (None, Some(path)) => {
            let path = place.project.join(path);
            (read_prompt(&path)?, path.display().to_string())
        }
        (None, None) if own.exists() => (read_prompt(&own)?, own.display().to_string()),
        (None, None) => return Ok(Template::built_in()),
    };
    Template::parse(&text)
        .map_err(|error| Failure::new(FailureKind::Configuration, format!("{source}: {error}")).hints(error.hints()))
}

fn read_prompt(path: &Path) -> Result<String, Failure> {
    files::read_text(path, PROMPT_CAP_BYTES).map_err(|error| {
        let why = format!("{}: the prompt cannot be read: {}", path.display(), with_causes(&error));
        Failure::new(FailureKind::Configuration, why)
            .hint("name a file of text with `--prompt-file FILE`, or leave it out for the built-in instructions")
    })
}

/// Prints what the screen leaves behind.
fn print_summary(files: &RunPaths, style: Style) {
    let mut view = RunView::default();
    if journal::for_each(&files.journal(), |record| view.apply(&record)).is_err() {
        return;
    }
    let report = Report::of(&view);
    let mut out = console::stdout(style.form());
    let recordings = files.dir().join("iterations");
    // A closed terminal wants no summary.
    _ = write_head(&report, style, &mut out).and_then(|()| {
        let recordings = recordings.display();
        writeln!(out, "  recordings: {recordings} (`ralph replay` plays them)")
    });
}

/// The size an agent's terminal gets on a screen: that of the pane that shows it.
fn pane_size(plan: &PlanSnapshot) -> Size {
    let (cols, rows) = crossterm::terminal::size().unwrap_or((NO_TERMINAL.cols, NO_TERMINAL.rows));
    tui::Layout::of(cols, rows, plan.tasks.len()).pane()
}

/// The size an agent's terminal gets: that of ralph's own.
fn terminal_size() -> Size {
    if !console::is_terminal() {
        return NO_TERMINAL;
    }
    match crossterm::terminal::size() {
        Ok((cols, rows)) if cols > 0 && rows > 0 => Size { cols, rows }.clamped(),
        Ok(_) | Err(_) => NO_TERMINAL,
    }
}
