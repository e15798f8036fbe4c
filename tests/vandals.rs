//! Agents that lie, stall and vandalise: each with the end that the loop has to come to, under the real binary.
//!
//! A scenario is a row of [`scenarios`]: a name, a short script for `sh` (see `harness/scripted.rs` for what it can use), and
//! what has to come of it. The table with what did come of it is printed whenever one of them fails, and with
//! `cargo test vandals -- --nocapture`.

mod scenarios;

use std::{
    fmt::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use ralph::event::{Event, StopReason};

use crate::harness::{SOON, Sandbox, Script, events};

/// Side by side: most of them wait most of the time.
const WORKERS: usize = 4;

/// An agent, and what has to come of it.
struct Scenario {
    name: &'static str,
    script: Script,
    /// Open tasks of the plan.
    tasks: usize,
    /// The user's configuration.
    config: &'static str,
    args: &'static [&'static str],
    /// The exit code.
    code: i32,
    /// Most iterations it may take.
    iterations: u32,
    /// A word that the report of the end has to contain.
    because: &'static str,
    /// The state directory's files can grow to this size only.
    quota_blocks: Option<usize>,
}

/// What came of one.
struct Row {
    name: &'static str,
    required: String,
    came: String,
    iterations: u32,
    seconds: f32,
    faults: Vec<String>,
}

impl Scenario {
    fn run(&self) -> Row {
        let started = Instant::now();
        let sandbox = Sandbox::new();
        sandbox.plan(self.tasks);
        sandbox.install(&self.script);
        let config = sandbox.config().join("ralph");
        std::fs::create_dir_all(&config).expect("the user's configuration");
        std::fs::write(config.join("config.json"), self.config).expect("the user's configuration");
        let mut program = sandbox.looping(self.args);
        if let Some(blocks) = self.quota_blocks {
            program = program.with_small_files(blocks);
        }
        let finished = program.run(2 * SOON);
        let records = finished.records();
        let iterations = events(&records)
            .filter(|event| matches!(event, Event::IterationStarted { .. }))
            .count();
        let iterations = u32::try_from(iterations).expect("few iterations");
        let reason = events(&records).find_map(|event| match event {
            Event::RunStopped { reason, .. } => Some(reason.clone()),
            _ => None,
        });
        let code = finished.code().unwrap_or(-1);
        let said = format!(
            "{} {}",
            reason.as_ref().map(|reason| format!("{reason:?}")).unwrap_or_default(),
            finished.stderr
        );
        let mut faults = Vec::new();
        let mut expect = |holds: bool, what: String| {
            if !holds {
                faults.push(what);
            }
        };
        expect(code == self.code, format!("exit code {code}"));
        expect(iterations <= self.iterations, format!("{iterations} iterations"));
        expect(
            said.contains(self.because),
            format!("`{}` is not in: {said}", self.because),
        );
        let lied = matches!(reason, Some(StopReason::Done { .. }))
            && sandbox.read("PLAN.md").is_some_and(|plan| plan.contains("- [ ]"));
        expect(!lied, "done with an open task".to_owned());
        let left = sandbox.processes();
        expect(left.is_empty(), format!("left running: {left:?}"));
        Row {
            name: self.name,
            required: format!("{} {}", self.code, self.because),
            came: format!(
                "{code} {}",
                reason.as_ref().map(ralph::narration::stop_in_words).unwrap_or_default()
            ),
            iterations,
            seconds: started.elapsed().as_secs_f32(),
            faults,
        }
    }
}

#[test]
fn every_agent_that_lies_stalls_or_vandalises_comes_to_its_end() {
    let scenarios = scenarios::all();
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = scenario.run();
                    rows.lock().expect("no scenario panics with the lock").push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no scenario panics with the lock");
    rows.sort_by_key(|row| scenarios.iter().position(|scenario| scenario.name == row.name));
    let table = table(&rows);
    #[allow(clippy::print_stderr)] // shown by `--nocapture`, and when it fails
    {
        eprintln!("{table}");
    }
    assert_eq!(rows.len(), scenarios.len(), "every scenario was run");
    assert!(rows.iter().all(|row| row.faults.is_empty()), "{table}");
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<34} {:<28} {:<60} {:>5} {:>6}\n",
        "scenario", "required", "what happened", "iter", "s"
    );
    for row in rows {
        let came: String = row.came.chars().take(60).collect();
        writeln!(
            text,
            "{:<34} {:<28} {came:<60} {:>5} {:>6.1}",
            row.name, row.required, row.iterations, row.seconds
        )
        .expect("a string takes every write");
        for fault in &row.faults {
            writeln!(text, "    FAULT {fault}").expect("a string takes every write");
        }
    }
    text
}
