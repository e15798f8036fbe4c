//! The lives of a run: each one opens the project as a new ralph does, drives the run, and ends by itself or is killed.

use std::{
    fs,
    io::Write as _,
    path::Path,
    sync::{Arc, atomic::Ordering},
    task::Poll,
    time::Duration,
};

use ralph_agent::Prices;
use ralph_core::{
    event::{Backoff, BreakerLimits, Goal, GoalsWhen, Limits, Settings, StopReason, Worker},
    testing::Dice,
};
use ralph_gate::runner::Runners;
use ralph_plan::prompt::{AgentConfinement, PromptTemplate};
use ralph_system::{
    faults::DiskFault,
    paths::ProjectPaths,
    proc::{LeftProcesses, Size, Supervisor},
};
use tokio::runtime::Builder;

use super::{
    agent::{ID, PROMISE, SimulatedAgent},
    check::{Findings, Inspection},
    user,
    world::{DiskPlan, World, enter},
};
use crate::{AvailableAgent, Driver, HookStarter, OpenRun, RunConfig, hub::Hub};

/// Lives of a run at most. The last one is without faults.
pub(super) const LIVES: u32 = 6;
/// A run that still goes on after this time has no end.
const LONGEST: Duration = Duration::from_secs(40 * 24 * 3600);

static RUNNERS: std::sync::LazyLock<Runners> = std::sync::LazyLock::new(Runners::default);

/// The end of a life.
#[derive(Debug)]
pub(super) enum LifeEnd {
    Stopped(StopReason),
    /// ralph ended with an error, whose text is not empty.
    Failed(String),
    /// The run could not be opened.
    NotOpened(String),
    Killed,
}

/// The facts about a life that only it knows.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) end: LifeEnd,
    /// The run and whether it was resumed; `None` if it was not opened.
    pub(super) run: Option<(ralph_core::event::RunId, bool)>,
    /// Number of records that were published.
    pub(super) published: u64,
}

/// Drives a run through its lives, and returns what happened.
///
/// # Errors
/// The first fault found.
pub(super) fn simulate(seed: u64, prints: bool) -> Result<Findings, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let root = directory.path().canonicalize().map_err(|error| error.to_string())?;
    let project = root.join("project");
    fs::create_dir(&project).map_err(|error| error.to_string())?;
    let mut dice = World::new(seed, &project, 1, false).dice("world", 0);
    let tasks = 1 + u32::try_from(dice.roll(4)).expect("a small number");
    let world = Arc::new(World::new(seed, &project, tasks, prints));
    let boxes: String = (1..=tasks).map(|task| format!("- [ ] Task {task}\n")).collect();
    fs::write(world.plan(), format!("# Plan\n\n{boxes}")).map_err(|error| error.to_string())?;
    let paths = ProjectPaths::new(&project, Some(&root.join("state"))).map_err(|error| error.to_string())?;
    let settings = settings(&world, &mut dice);
    let mut inspection = Inspection::new(Arc::clone(&world), paths.clone(), !settings.goals.is_empty());
    for life in 1..=LIVES {
        let lived = live(&world, &paths, &settings, life);
        world.tell(|| format!("life {life}: {lived:?}"));
        if inspection.look(life, &lived)? {
            return Ok(inspection.findings);
        }
        if let LifeEnd::Killed = lived.end {
            tear(&world, &paths, life);
        }
    }
    Err(format!("no end after {LIVES} lives, the last of them without faults"))
}

pub(super) fn settings(world: &World, dice: &mut Dice) -> Settings {
    let goal = Goal {
        name: "tests".to_owned(),
        command: "the simulation answers".to_owned(),
        timeout_ms: 600_000,
        ..Goal::default()
    };
    Settings {
        adapter: ID.to_owned(),
        plan: world.plan(),
        limits: Limits {
            max_iterations: Some(4 + u32::try_from(dice.roll(12)).expect("a small number")),
            max_time_ms: (dice.roll(2) == 0).then_some(8 * 3_600_000),
            iteration_timeout_ms: (dice.roll(2) == 0).then_some(1_800_000),
            // A simulated agent that hangs uses nothing.
            idle_timeout_ms: Some(600_000),
            ..Limits::default()
        },
        // The chance of the jitter is not the seed's.
        backoff: Backoff {
            base_ms: 1_000,
            max_ms: 300_000,
            jitter: 0.0,
        },
        breaker: BreakerLimits {
            cooldown_ms: 60_000,
            ..BreakerLimits::default()
        },
        goals: if dice.roll(4) > 0 { vec![goal] } else { Vec::new() },
        goals_when: [GoalsWhen::Claim, GoalsWhen::Background, GoalsWhen::Iteration][dice.index(3)],
        ..Settings::default()
    }
}

fn config(world: &Arc<World>, settings: &Settings) -> RunConfig {
    let supervisor = Supervisor::default();
    RunConfig {
        settings: settings.clone(),
        template: PromptTemplate::built_in(),
        promise: Some(PROMISE.to_owned()),
        agents: vec![AvailableAgent {
            adapter: Arc::new(SimulatedAgent(Arc::clone(world))),
            last_line_claims: false,
            account: None,
            can_ask_always: false,
        }],
        workers: vec![Worker {
            adapter: ID.to_owned(),
            model: None,
        }],
        prices: Prices::default(),
        goals_parallel: false,
        room: Default::default(),
        setup: Vec::new(),
        withheld: Vec::new(),
        size: Size { cols: 80, rows: 24 },
        recording_cap_bytes: 1 << 20,
        repository: None,
        commits: false,
        heard: None,
        denial_scanner: None,
        confined: AgentConfinement::No,
        clock: world.clock(),
        disks: Vec::new(),
        hooks: HookStarter {
            supervisor: supervisor.clone(),
            keys: Vec::new(),
        },
        keep_awake: false,
        supervisor,
        left: LeftProcesses::default(),
        permission_policy: None,
        agent_tools: false,
        runners: &RUNNERS,
        guard: None,
        test_files: ralph_gate::guard::FileGuard::default(),
        sealed: None,
        languages: Vec::new(),
        language_memory_bytes: None,
        watched: false,
    }
}

/// Lives one life of ralph, with the faults that belong to it.
pub(super) fn live(world: &Arc<World>, paths: &ProjectPaths, settings: &Settings, life: u32) -> Life {
    let mut dice = world.dice("life", life);
    let is_last = life == LIVES;
    let disk = (!is_last && dice.roll(2) == 0).then(|| DiskPlan {
        after: u32::try_from(dice.roll(120)).expect("a small number"),
        lasts: [1, 1, 3, u32::MAX][dice.index(4)],
        fault: [
            DiskFault::Full { written_percent: 0 },
            DiskFault::Full { written_percent: 60 },
            DiskFault::ReadOnly,
            DiskFault::Failed,
        ][dice.index(4)],
    });
    let most_steps = [20, 200, 2_000][dice.index(3)];
    let killed_after = (!is_last && dice.roll(3) > 0).then(|| dice.roll(most_steps));
    world.tell(|| format!("life {life}: {disk:?}, killed after {killed_after:?} steps"));
    world.begin(disk);
    enter(Some(Arc::clone(world)));
    let everywhere = Arc::clone(world);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .on_thread_start(move || enter(Some(Arc::clone(&everywhere))))
        .build()
        .expect("a runtime");
    let lived = runtime.block_on(drive(world, paths, settings, life, killed_after));
    // Blocking work that has begun is awaited here, as a kill of ralph would not.
    drop(runtime);
    enter(None);
    lived
}

async fn drive(
    world: &Arc<World>,
    paths: &ProjectPaths,
    settings: &Settings,
    life: u32,
    killed_after: Option<u64>,
) -> Life {
    let began = tokio::time::Instant::now();
    let open = match OpenRun::open(paths.clone(), &settings.plan, &Supervisor::default()) {
        Ok(open) => open,
        Err(error) => {
            return Life {
                end: LifeEnd::NotOpened(ralph_text::with_causes(&error)),
                run: None,
                published: 0,
            };
        }
    };
    let (run, recovered) = (open.run.clone(), open.recovered);
    let hub = Hub::new(&open.files.journal(), open.next_seq);
    let mut driver = Driver::new(open, config(world, settings), hub.clone());
    let user = user::command(Arc::clone(world), life, life == LIVES, driver.handle(), run.clone());
    let others = [
        tokio::spawn(user),
        tokio::spawn(user::break_off(Arc::clone(world), life, driver.handle())),
    ];
    let end = {
        let mut running = std::pin::pin!(driver.run());
        let mut steps = 0;
        let until_killed = std::future::poll_fn(|context| {
            steps += 1;
            match killed_after {
                Some(most) if steps > most => Poll::Ready(None),
                Some(_) | None => running.as_mut().poll(context).map(Some),
            }
        });
        match tokio::time::timeout(LONGEST, until_killed).await {
            Ok(None) => LifeEnd::Killed,
            Ok(Some(Ok(reason))) => LifeEnd::Stopped(reason),
            Ok(Some(Err(error))) => LifeEnd::Failed(ralph_text::with_causes(&error)),
            Err(_) => panic!("no end within {LONGEST:?}"),
        }
    };
    others.iter().for_each(tokio::task::JoinHandle::abort);
    drop(driver);
    // The session's task sees that it was aborted.
    tokio::task::yield_now().await;
    let passed = u64::try_from(began.elapsed().as_millis()).expect("a few days");
    world.began_ms.fetch_add(passed + 1_000, Ordering::Relaxed);
    Life {
        end,
        run: Some((run, recovered)),
        published: hub.published(),
    }
}

/// Leaves part of a line in the journal, as a kill in the middle of a write does.
fn tear(world: &World, paths: &ProjectPaths, life: u32) {
    let mut dice = world.dice("tear", life);
    let Some(run) = paths.latest_run().filter(|_| dice.roll(2) == 0) else {
        return;
    };
    append(
        &paths.run(&run).journal(),
        &br#"{"seq":99,"at":1,"event":{"type":"noticed""#[..1 + dice.index(40)],
    );
}

fn append(journal: &Path, bytes: &[u8]) {
    let file = fs::File::options().append(true).open(journal);
    if let Ok(mut file) = file {
        file.write_all(bytes).expect("a few bytes");
    }
}
