//! The cost of runs whose agents do nothing: many at once on one machine.

mod support;

use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use support::{
    agent,
    numbers::{Quantity, rounds},
    processes::descendants,
    report::{self, Row, note, title},
    scratch::Scratch,
};

/// Runs at once, and how many of them `RALPH_BENCH_ROUNDS=1` starts.
const RUNS: usize = 50;
/// The guard, the agent, and the guard of ralph's helpers.
const DESCENDANTS: usize = 3;
/// Duration of a measurement.
const IDLE: Duration = Duration::from_secs(30);
/// A pause after the start, in which what follows a start ends.
const SETTLE: Duration = Duration::from_secs(5);
/// Longest time for a run to start.
const START: Duration = Duration::from_secs(60);

fn main() {
    agent::become_agent_if_asked();
    let count = rounds(RUNS);
    title("idle runs: processor time of all their processes, as a share of a core");
    note(&format!(
        "{count} at once, each with an agent that sleeps, {} s",
        IDLE.as_secs()
    ));
    let runs: Vec<IdleRun> = (0..count).map(|_| IdleRun::start()).collect();
    runs.iter().for_each(IdleRun::wait_until_it_works);
    let ralphs: Vec<u32> = runs.iter().map(|run| run.ralph.id()).collect();
    let idle = share(&ralphs);
    drop(runs);
    let tails: Vec<PollingTail> = (0..count).map(|_| PollingTail::start()).collect();
    let tails: Vec<u32> = tails.iter().map(|tail| tail.0.id()).collect();
    let reference = share(&tails);
    // The budget is that of fifty runs.
    #[allow(clippy::cast_precision_loss)] // a few runs
    let most = count as f64 / RUNS as f64;
    Row::new(format!("{count} idle runs"), idle)
        .beside(format!("{count} `tail -f`, a look a second"), reference)
        .at_most(Quantity::Percent(most))
        .print();
    report::write("idle");
}

/// Returns the processor time of `roots` and all their descendants during [`IDLE`], as a share of a core.
fn share(roots: &[u32]) -> Quantity {
    thread::sleep(SETTLE);
    let trees = roots.iter().flat_map(|root| [vec![*root], descendants(*root)].concat());
    let processes: Vec<u32> = trees.collect();
    let used = || processes.iter().map(|pid| processor_time(*pid)).sum::<Duration>();
    let before = used();
    thread::sleep(IDLE);
    let used = used().saturating_sub(before);
    Quantity::Percent(used.as_secs_f64() / IDLE.as_secs_f64() * 100.0)
}

/// The processor time of a process by the scheduler's own count: clock ticks are too coarse for so little.
fn processor_time(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// A headless run whose agent sleeps; killed when it is dropped.
struct IdleRun {
    ralph: Child,
    _scratch: Scratch,
}

impl IdleRun {
    fn start() -> IdleRun {
        let scratch = Scratch::new(1);
        scratch.add_shell_agent("terminal", "exec sleep 1000\n");
        let mut command = scratch.run("jsonl", 1);
        command.env("RALPH_LIMITS_IDLE_TIMEOUT", "unlimited");
        let ralph = command.stdout(Stdio::null()).spawn().expect("ralph");
        IdleRun {
            ralph,
            _scratch: scratch,
        }
    }

    fn wait_until_it_works(&self) {
        let step = Duration::from_millis(100);
        let mut waited = Duration::ZERO;
        while descendants(self.ralph.id()).len() < DESCENDANTS {
            assert!(waited < START, "a run without an agent");
            // No event reports the start of a process that is not a child.
            thread::sleep(step);
            waited += step;
        }
    }
}

impl Drop for IdleRun {
    fn drop(&mut self) {
        _ = self.ralph.kill(); // usually it runs
        _ = self.ralph.wait();
    }
}

/// A program that looks at a file once a second; killed when it is dropped.
struct PollingTail(Child);

impl PollingTail {
    fn start() -> PollingTail {
        let mut command = std::process::Command::new("tail");
        command.args(["---disable-inotify", "-s", "1", "-f", "/dev/null"]);
        PollingTail(command.spawn().expect("tail"))
    }
}

impl Drop for PollingTail {
    fn drop(&mut self) {
        _ = self.0.kill(); // it runs until then
        _ = self.0.wait();
    }
}
