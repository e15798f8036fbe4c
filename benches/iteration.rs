//! The gap between one agent's exit and the next one's start, and ralph's additions to the prompt.

mod support;

use std::time::Duration;

use ralph_core::event::{Event, IterationEvent};
use support::{
    agent::{self, Script},
    numbers::{Quantity, Times},
    report::{Row, title},
    scratch::{Scratch, run_to_limit},
};

const ITERATIONS: usize = 25;
const SCANS: usize = 9;
/// An iteration takes minutes, so a shorter gap is not noticed.
const MOST: Duration = Duration::from_millis(60);
/// Most scans of the work tree in a gap, each as long as a `git status`.
const MOST_SCANS: u32 = 2;
/// For a thread of the guard, some dozen rules, and a filter if sockets are restricted.
const MOST_CONFINING: Duration = Duration::from_millis(3);
const MOST_OVERHEAD_BYTES: f64 = 1500.0;
const LARGE: [usize; 2] = [5000, 100_000];
/// Files that differ from the last commit in a large repository, modified and untracked.
const MODIFIED: usize = 120;
const UNTRACKED: usize = 80;

const CASES: [(&str, Script); 3] = [
    ("agent that does nothing", Script::Nothing),
    ("agent that edits a file", Script::Edit),
    ("agent that edits and commits", Script::Commit),
];

fn main() {
    agent::become_agent_if_asked();
    title("iteration gap, 100 files (from one agent's exit to the next one's start)");
    let small = Scratch::new(100);
    for (name, script) in CASES {
        gap(&small, name, script, 0);
    }
    title("sandbox (what it adds to an iteration)");
    confined(&small);
    for files in LARGE {
        title(&format!(
            "iteration gap, {files} files of which 200 differ from the last commit"
        ));
        let large = large(files);
        // The last of the cases commits everything.
        for (name, script) in CASES {
            gap(&large, name, script, MOST_SCANS);
        }
    }
    title("prompt");
    overhead(&small);
}

fn large(files: usize) -> Scratch {
    let scratch = Scratch::new(files);
    for number in 0..MODIFIED {
        scratch.write_file(number * (files / MODIFIED), "changed since");
    }
    for number in files..files + UNTRACKED {
        scratch.write_file(number, "not committed");
    }
    scratch
}

/// Measures gaps, which may take `scans` scans of the work tree in addition to [`MOST`].
fn gap(scratch: &Scratch, name: &str, script: Script, scans: u32) {
    scratch.add_agent("terminal", &script);
    let before = scratch.agent_log();
    run_to_limit(&mut scratch.run("jsonl", ITERATIONS));
    let times: Times = scratch.agent_log().after(&before).gaps().collect();
    let status = Times::of(SCANS, || drop(scratch.git(["status", "--porcelain"]))).median();
    for (percentile, time) in [("p50", times.median()), ("p90", times.percentile(90))] {
        Row::new(format!("{name}, {percentile}"), time)
            .beside("git status", status)
            .at_most(MOST + status * scans)
            .print();
    }
}

/// Measures the time that confining an agent adds to the gap.
fn confined(scratch: &Scratch) {
    scratch.add_agent("terminal", &Script::Nothing);
    let gap = |mode: &str| {
        let before = scratch.agent_log();
        let mut run = scratch.run("jsonl", ITERATIONS);
        // The agent writes its log there.
        run.env("RALPH_SANDBOX_WRITE", scratch.path(""));
        run_to_limit(run.args(["--sandbox", mode]));
        let times: Times = scratch.agent_log().after(&before).gaps().collect();
        times.median()
    };
    let open = gap("off");
    for mode in ["on", "strict"] {
        let added = gap(mode).saturating_sub(open);
        Row::new(format!("{mode}, added to the gap, p50"), added)
            .beside("gap without", open)
            .at_most(MOST_CONFINING)
            .print();
    }
}

fn overhead(scratch: &Scratch) {
    let mut overheads = scratch.journal().into_iter().filter_map(|record| match record.event {
        Event::Iteration(IterationEvent::Started {
            overhead_bytes,
            prompt_bytes,
            ..
        }) => Some((overhead_bytes, prompt_bytes)),
        _ => None,
    });
    let (overhead, prompt) = overheads.next().expect("an iteration");
    #[allow(clippy::cast_precision_loss)] // a prompt is shorter than 2^53 bytes
    let [overhead, prompt] = [overhead, prompt].map(|bytes| Quantity::Bytes(bytes as f64));
    Row::new("ralph's own words around the user's", overhead)
        .beside("whole prompt", prompt)
        .at_most(Quantity::Bytes(MOST_OVERHEAD_BYTES))
        .print();
}
