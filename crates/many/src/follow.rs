//! Follows the journals of a batch and of its runs, for display.
//!
//! The follower only reads files, so it shows a batch of another process, an interrupted one and a finished
//! one in the same way. Each record of a run is read once.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ralph_core::event::{RunId, Usage};
use ralph_plan::batch::{Batch, PlanName, PlanPhase};
use ralph_state::store::journal::{JournalReader, read_view};
use ralph_system::{
    files,
    os::watch::ChangeWatch,
    paths::{ProjectPaths, RunPaths},
};
use ralph_ui::board::{Board, PlanRuns};

use super::{BatchPaths, read};

/// Interval between looks if the kernel does not report changes.
const LOOK: Duration = Duration::from_secs(1);
/// Shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Most bytes of a step.
const STEP_CAP_BYTES: u64 = 4 << 10;
/// File name of every journal.
const JOURNAL: &str = "events.jsonl";

/// Returns the state directory of a plan's runs; `None` while it is unknown.
pub(crate) type StateOf = Box<dyn Fn(&PlanName) -> Option<ProjectPaths> + Send>;

/// The known state of a batch and its runs.
pub struct BatchFollower {
    paths: BatchPaths,
    state_of: StateOf,
    batch: Option<Batch>,
    /// Times of the first and the last record.
    times_ms: (u64, u64),
    bytes: u64,
    runs: BTreeMap<PlanName, FollowedRun>,
    /// The steps of the preparation of work trees.
    steps: BTreeMap<PlanName, String>,
}

/// The last run of a plan.
struct FollowedRun {
    run: RunId,
    files: RunPaths,
    /// `None` before the journal exists, and after a read error.
    reader: Option<JournalReader>,
    seen: PlanRuns,
}

impl BatchFollower {
    pub fn new(paths: BatchPaths, state_of: StateOf) -> BatchFollower {
        BatchFollower {
            paths,
            state_of,
            batch: None,
            times_ms: (0, 0),
            bytes: 0,
            runs: BTreeMap::new(),
            steps: BTreeMap::new(),
        }
    }

    /// Reads the new records; `None` before the batch can be read.
    pub fn look(&mut self) -> Option<Board> {
        self.read_batch();
        let batch = self.batch.as_ref()?;
        for plan in batch.plans.iter().filter(|plan| plan.phase != PlanPhase::Waiting) {
            let Some(state) = (self.state_of)(&plan.name) else {
                continue;
            };
            follow_run(&mut self.runs, &plan.name, &state);
            match files::read_text(&state.tree_step(), STEP_CAP_BYTES) {
                Ok(step) => self.steps.insert(plan.name.clone(), step),
                Err(_) => self.steps.remove(&plan.name),
            };
        }
        // A batch that has ended is not running, even while its process still exists.
        let is_running = batch.end.is_none() && self.paths.is_at_work();
        let seen = |plan: &PlanName| self.runs.get(plan).map(|followed| &followed.seen);
        let step = |plan: &PlanName| self.steps.get(plan).map(String::as_str);
        Some(Board::new(batch, self.times_ms, is_running, (seen, step)))
    }

    fn read_batch(&mut self) {
        let journal = self.paths.journal();
        let bytes = fs::metadata(&journal).map_or(0, |journal| journal.len());
        if bytes == self.bytes {
            return;
        }
        // An unreadable journal is read again when it has grown.
        self.bytes = bytes;
        let Ok(records) = read(&journal) else { return };
        if let (Some(batch), Some(first), Some(last)) = (Batch::from_records(&records), records.first(), records.last())
        {
            self.batch = Some(batch);
            self.times_ms = (first.at_ms, last.at_ms);
        }
    }

    /// The directories of the journals that are followed.
    fn directories(&self) -> impl Iterator<Item = &Path> {
        let runs = self.runs.values().map(|followed| followed.files.dir());
        runs.chain([self.paths.dir()])
    }
}

fn follow_run(runs: &mut BTreeMap<PlanName, FollowedRun>, plan: &PlanName, state: &ProjectPaths) {
    let Some(run) = state.latest_run() else { return };
    if runs.get(plan).is_none_or(|followed| followed.run != run) {
        let (earlier, iterations) = match runs.get(plan) {
            Some(followed) => (followed.seen.usage(), followed.seen.iterations()),
            None => used_before(state, &run),
        };
        let followed = FollowedRun {
            files: state.run(&run),
            reader: None,
            seen: PlanRuns::after(earlier, iterations),
            run,
        };
        runs.insert(plan.clone(), followed);
    }
    if let Some(followed) = runs.get_mut(plan) {
        followed.read();
    }
}

/// Returns the usage and the number of iterations of all runs before `run`.
fn used_before(state: &ProjectPaths, run: &RunId) -> (Usage, u32) {
    let earlier = state.run_ids().into_iter().filter(|other| other.0 < run.0);
    let views = earlier.filter_map(|other| read_view(state, &other).ok());
    views.fold((Usage::default(), 0), |(usage, iterations), view| {
        (
            usage.plus(view.usage),
            iterations.saturating_add(view.iterations.counted),
        )
    })
}

impl FollowedRun {
    fn read(&mut self) {
        if self.reader.is_none() && self.seen.view.records == 0 {
            self.reader = JournalReader::open(&self.files.journal()).ok();
        }
        let Some(reader) = &mut self.reader else { return };
        loop {
            match reader.next_record() {
                Ok(Some(record)) => self.seen.apply(&record),
                Ok(None) => return,
                // The records read so far are still shown.
                Err(_) => {
                    self.reader = None;
                    return;
                }
            }
        }
    }
}

/// A follower on a thread of its own; dropping this ends it.
#[derive(Debug)]
pub struct FollowerThread {
    ended: Arc<AtomicBool>,
    thread: thread::Thread,
}

impl FollowerThread {
    /// Calls `on_change` with the present board, and again after each change.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        mut follower: BatchFollower,
        mut on_change: impl FnMut(Board) + Send + 'static,
    ) -> std::io::Result<FollowerThread> {
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        let follow = move || {
            let mut watch = ChangeWatch::new(JOURNAL, thread::current());
            let mut last = None;
            while !is_over.load(Ordering::Acquire) {
                let board = follower.look();
                follower.directories().for_each(|directory| watch.add(directory));
                if board.is_some() && board != last {
                    last.clone_from(&board);
                    board.into_iter().for_each(&mut on_change);
                }
                // Collects bursts of changes.
                thread::sleep(PAUSE);
                thread::park_timeout(LOOK);
            }
        };
        let thread = thread::Builder::new().name("board".to_owned()).spawn(follow)?;
        Ok(FollowerThread {
            ended,
            thread: thread.thread().clone(),
        })
    }
}

impl Drop for FollowerThread {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
