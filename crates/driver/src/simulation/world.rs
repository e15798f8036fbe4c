//! The surroundings of one seed: its chance, its clock, its disk and the truth about the work.

use std::{
    cell::RefCell,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use ralph_core::{
    event::{Exit, GoalFailure, RunId},
    testing::Dice,
};
use ralph_system::{
    faults::{DiskFault, DiskOperation, FaultyDisk},
    os::now_ms,
};

use super::soak::Sample;
use crate::{ClockReading, RunClock};

/// A disk that begins to fail after some operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct DiskPlan {
    pub(super) after: u32,
    /// Number of operations that fail.
    pub(super) lasts: u32,
    pub(super) fault: DiskFault,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) project: PathBuf,
    pub(super) tasks: u32,
    /// The wall clock at the beginning of the present life. The first one begins at the real time, which the first record of a
    /// journal has.
    pub(super) began_ms: AtomicU64,
    /// By how much the user has set the wall clock.
    pub(super) set_ms: AtomicI64,
    disk: Mutex<Option<DiskPlan>>,
    operations: AtomicU32,
    /// Whether a record could not be written in the present life.
    pub(super) append_failed: AtomicBool,
    pub(super) faults: AtomicU32,
    goals: AtomicU32,
    /// The iterations whose sessions were started, with their runs.
    pub(super) sessions: Mutex<Vec<(RunId, u32)>>,
    /// Sessions that have not ended.
    pub(super) alive: AtomicU32,
    /// The texts of messages that a loop has accepted, with its run.
    pub(super) accepted: Mutex<Vec<(RunId, String)>>,
    pub(super) prints: bool,
    /// Whether the agent works a little in each iteration, and nothing fails.
    pub(super) is_steady: bool,
    pub(super) samples: Mutex<Vec<Sample>>,
}

impl World {
    pub(super) fn new(seed: u64, project: &Path, tasks: u32, prints: bool) -> Self {
        World {
            seed,
            project: project.to_owned(),
            tasks,
            began_ms: AtomicU64::new(now_ms()),
            set_ms: AtomicI64::new(0),
            disk: Mutex::default(),
            operations: AtomicU32::new(0),
            append_failed: AtomicBool::new(false),
            faults: AtomicU32::new(0),
            goals: AtomicU32::new(0),
            sessions: Mutex::default(),
            alive: AtomicU32::new(0),
            accepted: Mutex::default(),
            prints,
            is_steady: false,
            samples: Mutex::default(),
        }
    }

    /// Makes a world for a run that only works.
    pub(super) fn steady(project: &Path) -> Self {
        World {
            is_steady: true,
            ..World::new(0, project, 1, false)
        }
    }

    /// Returns the chance of one actor, which no other actor's decisions change.
    pub(super) fn dice(&self, actor: &str, number: u32) -> Dice {
        let mixed = actor.bytes().fold(self.seed ^ u64::from(number) << 32, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
        });
        let mut dice = Dice::new(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first numbers of similar seeds are similar.
        (0..8).for_each(|_| _ = dice.roll(2));
        dice
    }

    pub(super) fn tell(&self, text: impl FnOnce() -> String) {
        if self.prints {
            #[allow(clippy::print_stderr)] // for the one who looks at this seed
            {
                eprintln!("  {}", text());
            }
        }
    }

    /// Begins a life in which the disk fails as planned.
    pub(super) fn begin(&self, disk: Option<DiskPlan>) {
        *self.disk.lock() = disk;
        self.operations.store(0, Ordering::Relaxed);
        self.append_failed.store(false, Ordering::Relaxed);
    }

    /// Returns clocks that follow tokio's. To be called in the runtime of a life.
    pub(super) fn clock(self: &Arc<Self>) -> RunClock {
        let (world, start) = (Arc::clone(self), tokio::time::Instant::now());
        let began_ms = self.began_ms.load(Ordering::Relaxed);
        RunClock::read_by(move || {
            let monotonic = start.elapsed();
            let wall_ms = began_ms.saturating_add(u64::try_from(monotonic.as_millis()).unwrap_or(u64::MAX));
            ClockReading {
                wall_ms: wall_ms.saturating_add_signed(world.set_ms.load(Ordering::Relaxed)),
                monotonic: monotonic + Duration::from_secs(1),
            }
        })
    }

    pub(super) fn plan(&self) -> PathBuf {
        self.project.join("PLAN.md")
    }

    /// The file that exists once the work of a task is done.
    pub(super) fn work(&self, task: u32) -> PathBuf {
        self.project.join(format!("work-{task}.txt"))
    }

    /// Whether the work of all tasks is done.
    pub(super) fn is_done(&self) -> bool {
        (1..=self.tasks).all(|task| self.work(task).exists())
    }

    /// Ticks a task, or unticks it.
    pub(super) fn tick(&self, task: u32, done: bool) {
        let plan = fs::read_to_string(self.plan()).unwrap_or_default();
        let (from, to) = match done {
            true => (format!("- [ ] Task {task}\n"), format!("- [x] Task {task}\n")),
            false => (format!("- [x] Task {task}\n"), format!("- [ ] Task {task}\n")),
        };
        fs::write(self.plan(), plan.replace(&from, &to)).expect("the plan");
    }

    /// Whether a task is ticked.
    pub(super) fn is_ticked(&self, task: u32) -> bool {
        fs::read_to_string(self.plan()).is_ok_and(|plan| plan.contains(&format!("- [x] Task {task}\n")))
    }

    /// Runs the goal, which passes only if all work is done, in virtual time.
    async fn goal(&self) -> Result<Exit, GoalFailure> {
        let mut dice = self.dice("goal", self.goals.fetch_add(1, Ordering::Relaxed));
        tokio::time::sleep(Duration::from_millis(1 + dice.roll(90_000))).await;
        match dice.roll(12) {
            0 => Err(GoalFailure::Killed),
            1 => Err(GoalFailure::TimedOut { after_ms: 90_000 }),
            2 => Ok(Exit::Code { code: 3 }),
            _ => Ok(Exit::Code {
                code: i32::from(!self.is_done()),
            }),
        }
    }
}

impl FaultyDisk for World {
    fn fault(&self, operation: DiskOperation) -> Option<DiskFault> {
        let plan = (*self.disk.lock())?;
        let number = self.operations.fetch_add(1, Ordering::Relaxed);
        let fails = (plan.after..plan.after.saturating_add(plan.lasts)).contains(&number);
        if !fails {
            return None;
        }
        self.faults.fetch_add(1, Ordering::Relaxed);
        self.tell(|| format!("disk: {operation:?} fails, {:?}", plan.fault));
        if operation == DiskOperation::Append {
            self.append_failed.store(true, Ordering::Relaxed);
        }
        Some(plan.fault)
    }
}

thread_local! {
    static WORLD: RefCell<Option<Arc<World>>> = const { RefCell::new(None) };
}

/// Places this thread in a world, or in none.
pub(super) fn enter(world: Option<Arc<World>>) {
    ralph_system::faults::use_disk(world.clone().map(|world| world as Arc<dyn FaultyDisk>));
    WORLD.set(world);
}

/// The end of a goal in the world of this thread; `None` outside of a simulation.
pub(crate) async fn ending_of_goal() -> Option<Result<Exit, GoalFailure>> {
    let world = WORLD.with_borrow(Clone::clone)?;
    Some(world.goal().await)
}
