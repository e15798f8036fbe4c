//! The time until ralph runs: as a process, with its configuration, with its agent. Also the size of its binary.

mod support;

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use support::{
    agent::{self, Script},
    numbers::{Times, megabytes, rounds},
    report::{self, Row, title},
    scratch::{Scratch, run_to_limit},
};

const ROUNDS: usize = 60;
const RUNS: usize = 12;
const MOST_BEYOND_TRUE: Duration = Duration::from_millis(5);
/// Two thirds are code. It was 8 MB before the server, the page, the sandbox, batches and ralph's own agent.
const MOST_BYTES: u64 = 24_000_000;

fn main() {
    agent::become_agent_if_asked();
    title("startup (medians)");
    let scratch = Scratch::new(100);
    let [nothing, version, config] = interleaved([
        &|| quietly(scratch.command("/bin/true")),
        &|| quietly(scratch.ralph(["--version"])),
        &|| quietly(scratch.ralph(["config"])),
    ]);
    let most = nothing + MOST_BEYOND_TRUE;
    for (name, time) in [("ralph --version", version), ("ralph config", config)] {
        Row::new(name, time).beside("/bin/true", nothing).at_most(most).print();
    }
    let agent = until_agent(&scratch);
    let status = Times::of(RUNS, || drop(scratch.git(["status", "--porcelain"]))).median();
    Row::new("run: from exec to the agent's start", agent)
        .beside("git status", status)
        .print();
    size();
    report::write("startup");
}

/// Measures several actions in turn, so that a busy moment of the machine affects all of them. Returns medians.
fn interleaved<const N: usize>(actions: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times: [Times; N] = std::array::from_fn(|_| Times::default());
    for _ in 0..rounds(ROUNDS) {
        for (action, times) in actions.iter().zip(&mut times) {
            let start = Instant::now();
            action();
            times.push(start.elapsed());
        }
    }
    times.map(|times| times.median())
}

fn quietly(mut command: Command) {
    let status = command.stdout(Stdio::null()).status().expect("a program that starts");
    assert!(status.success(), "{command:?}");
}

fn until_agent(scratch: &Scratch) -> Duration {
    scratch.add_agent("terminal", &Script::Nothing);
    let started: Vec<u64> = (0..RUNS).map(|_| run_to_limit(&mut scratch.run("jsonl", 1))).collect();
    let reached = scratch.agent_log().starts;
    let times: Times = started
        .iter()
        .zip(&reached)
        .map(|(start, agent)| Duration::from_nanos(agent.saturating_sub(*start)))
        .collect();
    times.median()
}

fn size() {
    let bytes = fs::metadata(env!("CARGO_BIN_EXE_ralph"))
        .expect("ralph's executable")
        .len();
    let own = fs::metadata(std::env::current_exe().expect("the bench's own path")).expect("this bench");
    Row::new("size of the release binary", megabytes(bytes))
        .beside("this bench", megabytes(own.len()))
        .at_most(megabytes(MOST_BYTES))
        .print();
}
