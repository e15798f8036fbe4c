//! The driver in simulated surroundings: a virtual clock, an agent that lies, fails, hangs and vanishes, a disk that is
//! full, read-only or broken, clients that break off, and kills at any step. All of it follows from a seed.
//!
//! The driver, the machine, the journal, the store and the server are the real ones, on real files. Only goals are not real
//! processes: they would need real time. What is checked after each life of a run is in [`check`].
//!
//! [`soak`] is a day of work without faults. `RALPH_SIM_SEEDS=N` tries more seeds, `RALPH_SIM_SEED=N` only one and prints what happens.

mod agent;
mod check;
mod life;
mod soak;
mod user;
mod world;

use std::{
    env,
    fmt::Write as _,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

pub(super) use world::ending_of_goal;

/// Seeds of a usual test run, within seconds.
const SEEDS: u64 = 300;
/// Most failing seeds that are printed.
const PRINTED: usize = 8;

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn whatever_fails_around_it_a_run_loses_nothing_and_claims_nothing() {
    let seeds = match setting("RALPH_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..setting("RALPH_SIM_SEEDS").unwrap_or(SEEDS) + 1,
    };
    let is_one = seeds.end - seeds.start == 1;
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(Vec::new());
    let totals = Mutex::new(check::Totals::default());
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    // A panic fails one seed and does not end the others.
                    let result = catch_unwind(AssertUnwindSafe(|| life::simulate(seed, is_one)));
                    match result.unwrap_or_else(|_| Err("a panic: see above".to_owned())) {
                        Ok(found) => totals.lock().expect("no holder panics").add(&found),
                        Err(fault) => failed.lock().expect("no holder panics").push((seed, fault)),
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no holder panics");
    failed.sort();
    let totals = totals.into_inner().expect("no holder panics");
    let mut text = format!(
        "{} seeds in {} s, {} failed: {totals}",
        seeds.end - seeds.start,
        began.elapsed().as_secs(),
        failed.len()
    );
    for (seed, fault) in failed.iter().take(PRINTED) {
        write!(
            text,
            "\nRALPH_SIM_SEED={seed} cargo test --lib simulation -- --nocapture\n    {fault}"
        )
        .expect("a string takes every write");
    }
    #[allow(clippy::print_stderr)] // shown by `--nocapture`
    {
        eprintln!("{text}");
    }
    assert!(failed.is_empty(), "{text}");
    // A simulation in which nothing happens finds nothing.
    assert!(is_one || totals.is_varied(), "{text}");
}
