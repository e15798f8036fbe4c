//! The processes of background tasks: each runs below a guard, as those of goals do, with its output kept. An order,
//! its time limit or the end of the run ends it.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ralph_core::{
    event::{BackgroundEnd, BackgroundProgress, BackgroundResult, clip},
    machine::Input,
};
use ralph_state::store::task_output::TaskOutput;
use ralph_system::{
    diagnostics::inherited,
    proc::{Child, ChildEnd, Printed, StopSpeed, collector},
};
use ralph_text::with_causes;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};
use tracing::debug;

use super::goals::{ExecutionContext, launch};

/// Maximum size of the output that is kept of a task.
const OUTPUT_BYTES: u64 = 8 << 20;
/// Lines of the end of the output that its record keeps.
const TAIL_LINES: usize = 20;
/// Most bytes of each of these lines.
const TAIL_LINE_BYTES: usize = 512;
/// First interval between records of a task's progress. It doubles up to [`LAST_PROGRESS`], because journals are kept
/// whole.
const FIRST_PROGRESS: Duration = Duration::from_secs(1);
const LAST_PROGRESS: Duration = Duration::from_secs(60);
/// How long the end of a run waits for its tasks: longer than the ladder takes. Their guards end what is left then.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// An order to a task; a later variant is stronger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TaskOrder {
    Run,
    EndWithRun { at_once: bool },
    Cancel { at_once: bool },
}

/// A task to start.
#[derive(Debug)]
pub(super) struct TaskLaunch {
    pub(super) number: u32,
    /// The shell command.
    pub(super) command: String,
    pub(super) context: ExecutionContext,
    /// The directory for its output.
    pub(super) output: PathBuf,
    /// Maximum run time; `None` is unlimited.
    pub(super) timeout_ms: Option<u64>,
}

/// The running tasks. Dropping it ends them at once.
#[derive(Debug, Default)]
pub(super) struct BackgroundTasks {
    orders: BTreeMap<u32, watch::Sender<TaskOrder>>,
    tasks: JoinSet<()>,
}

impl BackgroundTasks {
    /// Starts `task`; its end becomes an input.
    pub(super) fn start(&mut self, task: TaskLaunch, results: mpsc::Sender<Input>) {
        let number = task.number;
        // Drops the tasks that have ended.
        while self.tasks.try_join_next().is_some() {}
        self.orders.retain(|_, order| !order.is_closed());
        let (order, ordered) = watch::channel(TaskOrder::Run);
        self.orders.insert(number, order);
        self.tasks.spawn(async move {
            let result = Box::new(attend(task, ordered, &results).await);
            _ = results.send(Input::BackgroundEnded { number, result }).await; // the run was given up
        });
    }

    pub(super) fn cancel(&self, number: u32) {
        if let Some(order) = self.orders.get(&number) {
            order.send_if_modified(|order| raise(order, TaskOrder::Cancel { at_once: false }));
        }
    }

    pub(super) fn end(&self, at_once: bool) {
        for order in self.orders.values() {
            order.send_if_modified(|order| raise(order, TaskOrder::EndWithRun { at_once }));
        }
    }

    /// Ends all tasks at once, and waits for their ends.
    pub(super) async fn give_up(&mut self) {
        self.end(true);
        let gone = async { while self.tasks.join_next().await.is_some() {} };
        _ = timeout(PATIENCE, gone).await; // their guards outlive ralph and go on ending them
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Raises `order` to a stronger one. A cancelled task stays cancelled, even if the run ends before it.
fn raise(order: &mut TaskOrder, to: TaskOrder) -> bool {
    let to = match (*order, to) {
        (TaskOrder::Cancel { at_once: before }, TaskOrder::EndWithRun { at_once }) => TaskOrder::Cancel {
            at_once: before || at_once,
        },
        _ => to,
    };
    let is_stronger = to > *order;
    if is_stronger {
        *order = to;
    }
    is_stronger
}

/// Starts a task, and waits for its end.
async fn attend(
    task: TaskLaunch,
    mut ordered: watch::Receiver<TaskOrder>,
    inputs: &mpsc::Sender<Input>,
) -> BackgroundResult {
    let started = Instant::now();
    let printed = Arc::new(Mutex::new(TaskOutputSummary::default()));
    let mut output = TaskOutput::new(task.output, OUTPUT_BYTES);
    let collected = Arc::clone(&printed);
    let (sink, mut ended) = collector(move |piece| {
        let mut printed = collected.lock();
        match piece {
            Printed::Terminal(bytes) | Printed::Stdout(bytes) => {
                output.write(bytes);
                printed.bytes += bytes.len() as u64;
            }
            Printed::Line(line) => printed.line(line),
            Printed::Lines(lines) => lines.lines().for_each(|line| printed.line(line)),
        }
    });
    let time = task.timeout_ms.map(Duration::from_millis);
    let mut launch = launch(&task.command, &task.context);
    // No colours and no progress bars: the output is read by ralph and by agents.
    let plain = [("TERM", "dumb"), ("NO_COLOR", "1")];
    let plain = plain.map(|(name, value)| (name.to_owned(), value.to_owned()));
    launch.env.splice(0..0, plain);
    debug!(number = task.number, "background task started");
    // Starting forks and writes files: not on the loop's thread.
    let supervisor = task.context.supervisor;
    let spawn = inherited(move || supervisor.spawn(launch, sink));
    let end = match spawn_blocking(spawn).await {
        Ok(Ok(child)) => {
            let progress = report(task.number, &printed, inputs);
            tokio::select! {
                end = watch_over(&child, &mut ended, &mut ordered, time) => end,
                never = progress => match never {},
            }
        }
        Ok(Err(error)) => BackgroundEnd::NotStarted {
            why: with_causes(&error).into(),
        },
        Err(error) => BackgroundEnd::NotStarted {
            why: error.to_string().into(),
        },
    };
    let printed = printed.lock();
    BackgroundResult {
        end,
        duration_ms: millis(started.elapsed()),
        output_bytes: printed.bytes,
        tail: printed.tail().into(),
    }
}

/// Reports the progress of a task from time to time, if its output has grown.
async fn report(number: u32, printed: &Mutex<TaskOutputSummary>, inputs: &mpsc::Sender<Input>) -> Infallible {
    let (mut pause, mut reported_bytes) = (FIRST_PROGRESS, 0);
    loop {
        sleep(pause).await;
        pause = (pause * 2).min(LAST_PROGRESS);
        let progress = printed.lock().progress();
        if progress.output_bytes == reported_bytes {
            continue;
        }
        reported_bytes = progress.output_bytes;
        // A busy loop misses this report and gets the next one.
        _ = inputs.try_send(Input::BackgroundProgressed { number, progress });
    }
}

/// Waits until `child` is gone, and stops it on an order or after its time.
async fn watch_over(
    child: &Child,
    ended: &mut oneshot::Receiver<ChildEnd>,
    ordered: &mut watch::Receiver<TaskOrder>,
    time: Option<Duration>,
) -> BackgroundEnd {
    let mut out_of_time = false;
    let mut can_be_ordered = true;
    let over = async {
        match time {
            Some(time) => sleep(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(over);
    let end = loop {
        tokio::select! {
            end = &mut *ended => break end,
            changed = ordered.changed(), if can_be_ordered => {
                can_be_ordered = changed.is_ok();
                child.stop(match *ordered.borrow_and_update() {
                    TaskOrder::EndWithRun { at_once: false } | TaskOrder::Cancel { at_once: false } if can_be_ordered => StopSpeed::Graceful,
                    // At once if so ordered, or if the sender is gone and no further order can come.
                    TaskOrder::EndWithRun { .. } | TaskOrder::Cancel { .. } | TaskOrder::Run => StopSpeed::Immediate,
                });
            }
            () = &mut over, if !out_of_time => {
                out_of_time = true;
                child.stop(StopSpeed::Graceful);
            }
        }
    };
    match (*ordered.borrow(), out_of_time, end) {
        (_, _, Ok(ChildEnd::NotStarted { why, .. })) => BackgroundEnd::NotStarted { why: why.into() },
        (TaskOrder::Cancel { .. }, ..) => BackgroundEnd::Cancelled,
        (TaskOrder::EndWithRun { .. }, ..) => BackgroundEnd::RunOver,
        (TaskOrder::Run, true, _) => BackgroundEnd::TimedOut {
            after_ms: time.map_or(0, millis),
        },
        (TaskOrder::Run, false, Ok(ChildEnd::Exited(exit))) => BackgroundEnd::Exited { exit },
        (TaskOrder::Run, false, Ok(ChildEnd::Exceeded(exceeded))) => BackgroundEnd::Exceeded { exceeded },
        (TaskOrder::Run, false, Ok(ChildEnd::GuardLost) | Err(_)) => BackgroundEnd::Killed,
    }
}

/// The part of a task's output that goes into its record.
#[derive(Debug, Default)]
struct TaskOutputSummary {
    bytes: u64,
    lines: VecDeque<String>,
    /// Number of all non-blank lines, also of those that are not kept.
    count: u64,
}

impl TaskOutputSummary {
    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        self.count += 1;
        if self.lines.len() == TAIL_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(clip(line, TAIL_LINE_BYTES));
    }

    fn progress(&self) -> BackgroundProgress {
        BackgroundProgress {
            output_bytes: self.bytes,
            output_lines: self.count,
            last_line: self.lines.back().cloned().unwrap_or_default().into(),
        }
    }

    fn tail(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_is_told_where_there_is_some_and_ever_more_rarely() {
        let printed = Arc::new(Mutex::new(TaskOutputSummary::default()));
        let (inputs, mut received) = mpsc::channel(64);
        let seen = Arc::clone(&printed);
        let reporting = tokio::spawn(async move { report(7, &seen, &inputs).await });
        let write = |line: &str| {
            let mut printed = printed.lock();
            printed.bytes += line.len() as u64;
            printed.line(line);
        };
        let began = tokio::time::Instant::now();
        let mut after = Vec::new();
        for n in 1..=8_u64 {
            write(&format!("{n} of 8"));
            let Some(Input::BackgroundProgressed { number: 7, progress }) = received.recv().await else {
                panic!("there is progress")
            };
            assert_eq!((progress.output_bytes, progress.output_lines), (n * 6, n));
            assert_eq!(progress.last_line, format!("{n} of 8"));
            after.push(began.elapsed().as_secs());
        }
        assert_eq!(after, [1, 3, 7, 15, 31, 63, 123, 183]);
        let silent = timeout(Duration::from_secs(600), received.recv()).await;
        assert!(silent.is_err(), "it has written nothing since");
        reporting.abort();
    }

    #[test]
    fn an_order_only_gets_stronger_and_a_cancelled_task_stays_cancelled_when_the_run_ends() {
        let with_run = |at_once| TaskOrder::EndWithRun { at_once };
        let cancel = |at_once| TaskOrder::Cancel { at_once };
        for (order, to, then) in [
            (TaskOrder::Run, with_run(false), with_run(false)),
            (with_run(false), with_run(true), with_run(true)),
            (with_run(true), with_run(false), with_run(true)),
            (TaskOrder::Run, cancel(false), cancel(false)),
            (cancel(false), with_run(false), cancel(false)),
            (cancel(false), with_run(true), cancel(true)),
            (cancel(true), with_run(false), cancel(true)),
        ] {
            let mut raised = order;
            assert_eq!(raise(&mut raised, to), order != then, "{order:?}, then {to:?}");
            assert_eq!(raised, then, "{order:?}, then {to:?}");
        }
    }
}
