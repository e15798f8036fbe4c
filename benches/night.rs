//! A long night: the time between iterations, memory, descriptors and disk at its end beside those at its beginning.

mod support;

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
    time::Duration,
};

use support::{
    agent::{self, Script},
    numbers::{Quantity, Times, megabytes, rounds},
    report::{self, Row, note, title},
    scratch::Scratch,
};

/// Variable for the number of iterations.
const ITERATIONS: &str = "RALPH_BENCH_ITERATIONS";
const MANY: usize = 2_000;
/// Parts of the night that are compared.
const PARTS: usize = 4;
/// Most of what the last part takes, beside what another part took.
const FLAT: f64 = 1.25;
/// The end of an iteration in the output of a run.
const ENDED: &str = "\"iteration-ended\"";

/// The resources that a run has taken so far.
struct Sample {
    memory_bytes: u64,
    descriptors: usize,
    /// Bytes of ralph's own files.
    state_bytes: u64,
    /// Bytes of the repository, in which the checkpoints are.
    git_bytes: u64,
}

fn main() {
    agent::become_agent_if_asked();
    let iterations = env::var(ITERATIONS).ok().and_then(|text| text.parse().ok());
    let iterations: usize = iterations.unwrap_or_else(|| rounds(MANY)).max(PARTS);
    title(&format!(
        "a night of {iterations} iterations, 1,000 files, an agent that edits and commits"
    ));
    let scratch = Scratch::new(1000);
    scratch.add_agent("terminal", &Script::Commit);
    let samples = night(&scratch, iterations);
    print(&scratch, iterations, &samples);
    note(&format!("{ITERATIONS}=200 is done sooner"));
    report::write("night");
}

/// Runs so many iterations and takes a sample after each part of them.
fn night(scratch: &Scratch, iterations: usize) -> Vec<Sample> {
    let mut run = scratch.run("jsonl", iterations);
    let mut run = run
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("ralph starts");
    let output = BufReader::new(run.stdout.take().expect("a pipe"));
    let mut samples = Vec::new();
    let ends = output.lines().map_while(Result::ok).filter(|line| line.contains(ENDED));
    for (number, _) in ends.enumerate() {
        if (number + 1) % (iterations / PARTS) == 0 {
            samples.push(Sample::take(scratch, run.id()));
        }
    }
    run.wait().expect("ralph ends");
    assert!(
        samples.len() >= PARTS,
        "{} of {PARTS} parts of the night",
        samples.len()
    );
    samples
}

impl Sample {
    fn take(scratch: &Scratch, pid: u32) -> Sample {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Sample {
            memory_bytes: memory.unwrap_or_default() * 1024,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count),
            state_bytes: bytes_below(&scratch.path("state")),
            git_bytes: bytes_below(&scratch.project().join(".git")),
        }
    }
}

fn print(scratch: &Scratch, iterations: usize, samples: &[Sample]) {
    let gaps: Vec<Duration> = scratch.agent_log().gaps().collect();
    let part = (gaps.len() / PARTS).max(1);
    let median = |gaps: &[Duration]| gaps.iter().copied().collect::<Times>().median();
    let (first, last) = (median(&gaps[..part]), median(&gaps[gaps.len() - part..]));
    Row::new("between two agents, last quarter, p50", last)
        .beside("first quarter", first)
        .at_most(first.mul_f64(FLAT))
        .print();
    let [first, before, .., last] = samples else { return };
    let flat = |quantity: Quantity| quantity.with(quantity.number() * FLAT);
    let memory = megabytes(first.memory_bytes);
    Row::new("memory of ralph at the end", megabytes(last.memory_bytes))
        .beside("after a quarter", memory)
        .at_most(flat(memory))
        .print();
    #[allow(clippy::cast_precision_loss)] // a few dozen descriptors, and files below a petabyte
    let count = |count: usize| Quantity::Count(count as f64);
    Row::new("open descriptors at the end", count(last.descriptors))
        .beside("after a quarter", count(first.descriptors))
        .at_most(count(first.descriptors))
        .print();
    let before_last = &samples[samples.len() - 2];
    for (name, bytes) in [
        ("ralph's files", (|sample| sample.state_bytes) as fn(&Sample) -> u64),
        ("repository", |sample| sample.git_bytes),
    ] {
        #[allow(clippy::cast_precision_loss)]
        let each = |from: &Sample, to: &Sample| {
            Quantity::Bytes(bytes(to).saturating_sub(bytes(from)) as f64 / (iterations / PARTS) as f64)
        };
        let second = each(first, before);
        Row::new(format!("{name}, each iteration, last quarter"), each(before_last, last))
            .beside("second quarter", second)
            .at_most(flat(second))
            .print();
    }
}

/// Returns the size of all files below a directory.
fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
