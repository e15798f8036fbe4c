//! A day of work in virtual time: memory, time and disk must not grow with the number of iterations.

use std::{fs, path::Path, sync::Arc, time::Duration, time::Instant};

use ralph_core::event::{LimitKind, Limits, StopReason};
use ralph_system::paths::ProjectPaths;

use super::{
    life::{LIVES, LifeEnd, live, settings},
    world::World,
};

const ITERATIONS: u32 = 2_000;
const DAY_SECONDS: u64 = 24 * 3600;
/// Parts of the day that are compared.
const PARTS: u32 = 4;
/// Largest growth from one part to a later one, in percent.
const FLAT_PERCENT: u64 = 125;

/// The duration of an iteration of the steady agent.
pub(super) const ITERATION: Duration = Duration::from_secs(DAY_SECONDS / ITERATIONS as u64);

/// The resources that a run has taken so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    at: Instant,
    memory_bytes: u64,
    /// Bytes of ralph's own files.
    state_bytes: u64,
}

impl Sample {
    /// Takes a sample at the end of each part of the day.
    pub(super) fn take(session: u32, state: &Path) -> Option<Sample> {
        session.is_multiple_of(ITERATIONS / PARTS).then(|| Sample {
            at: Instant::now(),
            memory_bytes: resident_bytes(),
            state_bytes: bytes_below(state),
        })
    }
}

#[test]
#[ignore = "it measures the memory of the process, in which no other test may run"]
fn a_day_of_two_thousand_iterations_takes_no_more_at_its_end_than_before() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let project = root.join("project");
    fs::create_dir(&project).unwrap();
    let world = Arc::new(World::steady(&project));
    fs::write(world.plan(), "- [ ] Task 1\n").unwrap();
    let paths = ProjectPaths::new(&project, Some(&root.join("state"))).unwrap();
    let mut settings = settings(&world, &mut world.dice("world", 0));
    settings.limits = Limits {
        max_iterations: Some(ITERATIONS),
        ..Limits::default()
    };
    let began = Instant::now();
    let lived = live(&world, &paths, &settings, LIVES);
    let limit = LimitKind::MaxIterations;
    assert!(matches!(lived.end, LifeEnd::Stopped(StopReason::LimitReached { limit: found }) if found == limit));
    let samples = world.samples.lock().clone();
    let [first, second, third, last] = samples[..] else {
        panic!("{} samples", samples.len());
    };
    let grown = |before: u64, after: u64| after - before;
    let (disk, disk_at_end) = (
        grown(first.state_bytes, second.state_bytes),
        grown(third.state_bytes, last.state_bytes),
    );
    #[allow(clippy::print_stderr)] // shown by `--nocapture`
    {
        let part = u64::from(ITERATIONS / PARTS);
        eprintln!(
            "{ITERATIONS} iterations, {DAY_SECONDS} s of virtual time in {} s; the last quarter beside the second: memory {} kB \
             beside {} kB, {} µs an iteration beside {} µs, {} bytes of disk an iteration beside {}",
            began.elapsed().as_secs(),
            last.memory_bytes / 1024,
            second.memory_bytes / 1024,
            (last.at - third.at).as_micros() / u128::from(part),
            (second.at - first.at).as_micros() / u128::from(part),
            disk_at_end / part,
            disk / part
        );
    }
    assert!(last.memory_bytes * 100 <= second.memory_bytes * FLAT_PERCENT);
    assert!(disk_at_end * 100 <= disk * FLAT_PERCENT);
    // Other processes take the processor, too: only a time that doubles is a fault.
    assert!(last.at - third.at <= 2 * (second.at - first.at));
}

fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.expect("its memory") * 1024
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
