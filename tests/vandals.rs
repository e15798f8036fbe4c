//! Agents that lie, stall and vandalise: each with the end that the loop must reach, under the real binary.
//!
//! A scenario is a row of [`scenarios`]: a name, a short script for `sh` (see `harness/scripted.rs` for its commands),
//! and the required end. The table of actual ends is printed if a scenario fails, and with `cargo test vandals --
//! --nocapture`.

mod scenarios;
mod state;
mod tools;
mod tricks;

use std::{
    fmt::Write as _,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use ralph_core::event::{Event, GateEvent, IterationEvent, Record, RunEvent};

use crate::harness::{SOON, Sandbox, Script, events, wait_until};

/// Scenarios at a time: most of them wait most of the time.
const WORKERS: usize = 4;
/// Largest journal: none of these runs has more than a handful of iterations.
const JOURNAL_CAP_BYTES: u64 = 2 << 20;

/// An agent and the required end of its run.
struct VandalScenario {
    name: &'static str,
    script: Script,
    /// `PLAN.md` at the start of the run.
    plan: &'static str,
    /// The user's configuration.
    config: &'static str,
    args: &'static [&'static str],
    /// The exit code; `None` if ralph itself is killed.
    code: Option<i32>,
    /// Most iterations that the run may take.
    iterations: u32,
    /// A text that the reason of the end has to contain.
    because: &'static str,
    /// A file in the user's home that must not exist afterwards.
    never: &'static str,
    /// Whether a report is possible afterwards: not if the agent removed the records that it is made of.
    reported: Reported,
    /// Largest file that ralph may write, in blocks.
    quota_blocks: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Reported {
    Yes,
    No,
}

/// The result of one scenario.
struct ScenarioResult {
    name: &'static str,
    required: String,
    actual: String,
    iterations: u32,
    seconds: f32,
    faults: Vec<String>,
}

impl VandalScenario {
    /// Runs the scenario. A panic, such as a run without an end, fails this row and not the whole table.
    fn run_to_result(&self) -> ScenarioResult {
        let started = Instant::now();
        std::panic::catch_unwind(|| self.run(started)).unwrap_or_else(|_| ScenarioResult {
            name: self.name,
            required: self.because.to_owned(),
            actual: "panicked".to_owned(),
            iterations: 0,
            seconds: started.elapsed().as_secs_f32(),
            faults: vec!["panicked: see above".to_owned()],
        })
    }

    fn run(&self, started: Instant) -> ScenarioResult {
        let sandbox = self.sandbox();
        // They have all rights of the user: a sandbox would keep most of them from what they do.
        let mut program = sandbox.looping(self.args.iter().chain(&["--sandbox", "off"]));
        if let Some(blocks) = self.quota_blocks {
            program = program.with_small_files(blocks);
        }
        let finished = program.run(SOON);
        let records = finished.records();
        let iterations = events(&records)
            .filter(|event| matches!(event, Event::Iteration(IterationEvent::Started { .. })))
            .count();
        let iterations = u32::try_from(iterations).expect("few iterations");
        let reason = events(&records).find_map(|event| match event {
            Event::Run(RunEvent::Stopped { reason, .. }) => Some(reason.clone()),
            _ => None,
        });
        let code = finished.code();
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
        expect(code == self.code, format!("exit code {code:?}"));
        expect(iterations <= self.iterations, format!("{iterations} iterations"));
        expect(
            said.contains(self.because),
            format!("`{}` is not in: {said}", self.because),
        );
        expect(
            !sandbox.home().join(self.never).is_file(),
            format!("{} is there", self.never),
        );
        faults.extend(self.lies(&sandbox, &records, code == Some(0)));
        faults.extend(self.unreported(&sandbox));
        faults.extend(self.overgrown(&sandbox));
        faults.extend(left_running(&sandbox, code));
        let word = |code: Option<i32>| code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        ScenarioResult {
            name: self.name,
            required: format!("{} {}", word(self.code), self.because),
            actual: format!(
                "{} {}",
                word(code),
                reason.as_ref().map(ralph_words::stop_in_words).unwrap_or_default()
            ),
            iterations,
            seconds: started.elapsed().as_secs_f32(),
            faults,
        }
    }

    fn sandbox(&self) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.write("PLAN.md", self.plan);
        sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
        sandbox.install(&self.script);
        let config = sandbox.config().join("ralph");
        std::fs::create_dir_all(&config).expect("the user's configuration");
        std::fs::write(config.join("config.json"), self.config).expect("the user's configuration");
        sandbox
    }

    /// Faults of a run that ended with 0: an unticked task, or a goal that does not pass.
    fn lies(&self, sandbox: &Sandbox, records: &[Record], ended_well: bool) -> Vec<String> {
        if !ended_well {
            return Vec::new();
        }
        let plan = sandbox.read("PLAN.md").unwrap_or_default();
        let mut lies = Vec::new();
        if plan.contains("- [ ]") {
            lies.push("done with an open task".to_owned());
        }
        let tasks = self.plan.lines().filter_map(|line| line.strip_prefix("- [ ] "));
        for task in tasks {
            let count = |text: &str, task: &str| text.lines().filter(|line| line.contains(task)).count();
            if count(&plan, &format!("- [x] {task}")) < count(self.plan, &format!("- [ ] {task}")) {
                lies.push(format!("done without `{task}`"));
            }
        }
        let mut goals = std::collections::BTreeMap::new();
        for event in events(records) {
            if let Event::Gate(GateEvent::GoalChecked { result, .. }) = event {
                goals.insert(&result.name, result.passed);
            }
        }
        lies.extend(
            goals
                .iter()
                .filter(|(_, passed)| !**passed)
                .map(|(name, _)| format!("done without {name}")),
        );
        lies
    }

    /// Faults of the report.
    fn unreported(&self, sandbox: &Sandbox) -> Vec<String> {
        if self.reported == Reported::No {
            return Vec::new();
        }
        let report = sandbox.ralph(["report"]).run(SOON);
        let mut faults = Vec::new();
        if report.code() != Some(0) || !report.stdout.starts_with("run ") {
            faults.push(format!("no report: {report:?}"));
        }
        if report.stdout.contains(|c: char| c.is_control() && c != '\n') {
            faults.push("control characters in the report".to_owned());
        }
        faults
    }

    /// The fault of a journal that the agent has filled.
    fn overgrown(&self, sandbox: &Sandbox) -> Option<String> {
        if self.reported == Reported::No {
            return None;
        }
        let journal = std::fs::metadata(sandbox.the_run().journal());
        let bytes = journal.map_or(u64::MAX, |file| file.len());
        (bytes > JOURNAL_CAP_BYTES).then(|| format!("a journal of {bytes} bytes"))
    }
}

/// Processes that the run left. A killed run leaves them to the guard, which takes a moment.
fn left_running(sandbox: &Sandbox, code: Option<i32>) -> Option<String> {
    if code.is_none() {
        wait_until(SOON, "end of what was left running", || {
            sandbox.processes().is_empty().then_some(())
        });
    }
    let left = sandbox.processes();
    (!left.is_empty()).then(|| format!("left running: {left:?}"))
}

#[test]
fn every_agent_that_lies_stalls_or_vandalises_comes_to_its_end() {
    let scenarios: Vec<VandalScenario> = [scenarios::all(), tricks::all(), tools::all(), state::all()]
        .into_iter()
        .flatten()
        .collect();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = scenario.run_to_result();
                    results.lock().expect("no scenario panics with the lock").push(result);
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no scenario panics with the lock");
    results.sort_by_key(|result| scenarios.iter().position(|scenario| scenario.name == result.name));
    let table = table(&results);
    #[allow(clippy::print_stderr)] // shown by `--nocapture`, and when it fails
    {
        eprintln!("{table}");
    }
    assert_eq!(results.len(), scenarios.len(), "every scenario was run");
    assert!(results.iter().all(|result| result.faults.is_empty()), "{table}");
}

fn table(results: &[ScenarioResult]) -> String {
    let mut text = format!(
        "{:<46} {:<24} {:<60} {:>5} {:>6}\n",
        "scenario", "required", "what happened", "iter", "s"
    );
    for result in results {
        let actual: String = result.actual.chars().take(60).collect();
        writeln!(
            text,
            "{:<46} {:<24} {actual:<60} {:>5} {:>6.1}",
            result.name, result.required, result.iterations, result.seconds
        )
        .expect("a string takes every write");
        for fault in &result.faults {
            writeln!(text, "    FAULT {fault}").expect("a string takes every write");
        }
    }
    text
}
