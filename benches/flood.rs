//! Floods through a headless ralph: their throughput, and the memory that they leave behind.

mod support;

use std::{
    env,
    io::Read,
    process::{Child, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use support::{
    agent::{self, Script},
    now_ns,
    numbers::{Quantity, megabytes, rate, rounds},
    report::{Row, note, title},
    scratch::Scratch,
    terminal,
};

const MB: u64 = 1_000_000;
const ROUNDS: usize = 2;
const COLOURS_BYTES: u64 = 100 * MB;
const LINES_BYTES: u64 = 20 * MB;
const MESSAGES_BYTES: u64 = 10 * MB;
const LEAST_COLOURS: f64 = 0.4;
const LEAST_LINES: f64 = 0.5;
/// 1 MB of a structured stream in 0.3 s.
const LEAST_MESSAGES: Quantity = Quantity::MegabytesPerSecond(1.0 / 0.3);
/// Most growth of memory after a hundred times the output.
const MOST_GROWTH: f64 = 1.25;
/// Set to `1`, it adds measurements that take minutes.
const LONG: &str = "RALPH_BENCH_LONG";

fn main() {
    agent::become_agent_if_asked();
    title("throughput, headless (PTY, guard, recording without cap, text to a pipe)");
    through(
        "coloured text",
        Script::Colours(COLOURS_BYTES),
        COLOURS_BYTES,
        LEAST_COLOURS,
    );
    through("lines of `y`", Script::Lines(LINES_BYTES), LINES_BYTES, LEAST_LINES);
    messages();
    title("memory, headless (peak of ralph alone)");
    memory();
}

/// A flood that went through ralph.
struct Passed {
    /// From the agent's start to the last byte of ralph's output.
    time: Duration,
    /// Bytes of ralph's output.
    shown: u64,
    peak: u64,
}

fn pass(dialect: &str, script: Script) -> Passed {
    let scratch = Scratch::new(10);
    scratch.configure(r#"{ "keep": { "recordingMiB": 4000 } }"#);
    scratch.add_agent(dialect, &script);
    let mut ralph = scratch.run("text", 1).stdout(Stdio::piped()).spawn().expect("ralph");
    let (shown, end) = drain(&mut ralph).join().expect("a reader");
    ralph.wait().expect("ralph's end");
    let log = scratch.agent_log();
    Passed {
        time: Duration::from_nanos(end.saturating_sub(log.starts[0])),
        shown,
        peak: log.peaks[0],
    }
}

/// Reads all of ralph's output; returns its size and the time of its end.
fn drain(ralph: &mut Child) -> JoinHandle<(u64, u64)> {
    let mut pipe = ralph.stdout.take().expect("a pipe");
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        let mut bytes = 0;
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            bytes += count as u64;
        }
        (bytes, now_ns())
    })
}

fn fastest(dialect: &str, script: Script) -> Passed {
    (0..rounds(ROUNDS))
        .map(|_| pass(dialect, script))
        .min_by_key(|passed| passed.time)
        .expect("a round")
}

fn through(name: &str, script: Script, bytes: u64, least: f64) {
    let raw = (0..rounds(ROUNDS))
        .map(|_| terminal::discarded(script))
        .min()
        .expect("a round");
    let passed = fastest("terminal", script);
    let raw = rate(bytes, raw);
    Row::new(format!("{name}, {} in", megabytes(bytes)), rate(bytes, passed.time))
        .beside("raw PTY", raw)
        .at_least(raw.with(raw.number() * least))
        .print();
    note(&format!("{} out", megabytes(passed.shown)));
}

fn messages() {
    let script = Script::Messages(MESSAGES_BYTES);
    let raw = (0..rounds(ROUNDS))
        .map(|_| terminal::piped_and_discarded(script))
        .min()
        .expect("a round");
    let passed = fastest("ralph-jsonl", script);
    let name = format!("messages, {} in", megabytes(MESSAGES_BYTES));
    Row::new(name, rate(MESSAGES_BYTES, passed.time))
        .beside("raw pipe", rate(MESSAGES_BYTES, raw))
        .at_least(LEAST_MESSAGES)
        .print();
    note(&format!("{} out", megabytes(passed.shown)));
}

fn memory() {
    let peak = |bytes| pass("terminal", Script::Colours(bytes)).peak;
    let small = megabytes(peak(MB));
    Row::new("after 1 MB of output", small).print();
    let long = env::var(LONG).is_ok_and(|value| value == "1");
    for (name, bytes) in [
        ("after 100 MB of output", 100 * MB),
        ("after 1 GB of output", 1000 * MB),
    ] {
        if bytes > 100 * MB && !long {
            note(&format!("{LONG}=1 adds 1 GB of output"));
            continue;
        }
        Row::new(name, megabytes(peak(bytes)))
            .beside("after 1 MB", small)
            .at_most(small.with(small.number() * MOST_GROWTH))
            .print();
    }
}
