//! Files of the project, of `.git` and of `.ralph` turn into something else at any moment of a run.
//!
//! Each run is one loop of the real binary over a small plan, during which a few files are replaced by pipes, links,
//! devices, directories, huge or torn files. Every run ends within its limits, leaves no process, writes no foreign
//! byte to the terminal, keeps a readable journal, and never exits with 0 while a task is open.
//!
//! `RALPH_CHAOS_SEED=N` chooses other runs, `RALPH_TEST_ROUNDS=N` more of them, and `RALPH_CHAOS_RUN=K` only the K-th.
//! The seed alone decides what is struck; the moment of a strike depends on the machine, too.

pub mod random;
mod strike;

use std::{
    env,
    fmt::Write as _,
    fs,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ralph_core::testing::rounds;
use ralph_core::{event::Record, machine::LoopState};
use ralph_state::store::journal;

use crate::harness::{SOON, Sandbox, Script, running::Finished, wait::poll};

use random::Random;
use strike::Strike;

const SEED: u64 = 20_261_121;
/// A run takes 0.4 s of processor time.
const RUNS: usize = 40;
/// Runs side by side: most of them wait for an agent that hangs.
const WORKERS: usize = 6;

/// Longest time for one run. Its own limits end it far earlier.
const LIMIT: Duration = SOON;
const LIMITS: [&str; 6] = [
    "--max-iterations",
    "5",
    "--max-time",
    "12s",
    "--iteration-timeout",
    "2s",
];
const TASKS: &str = "# Plan\n\n- [ ] Task 1\n- [ ] Task 2\n- [ ] Task 3\n";
/// The user's settings. The project has a configuration of its own, which may be struck.
const CONFIG: &str = r#"{ "breaker": { "cooldown": "100ms" }, "limits": { "phaseTimeout": "2s" } }"#;

/// Agents that do their work, with git and without, quickly and slowly.
const AGENTS: [&str; 4] = [
    "said working; work; over 'One task less.'",
    "echo $n > work-$n.txt; sed -i '0,/- \\[ \\]/s//- [x]/' \"$RALPH_PLAN\"; over ok",
    "said one; sleep 0.2; echo $n >> notes.txt; sleep 0.2; sed -i '0,/- \\[ \\]/s//- [x]/' \"$RALPH_PLAN\"; touch .ralph-done; over \"$(promise)\"",
    "i=0; while [ $i -lt 50 ]; do said \"line $i\"; i=$((i + 1)); done; timeout 1 git add --all; work; over ok",
];

/// ralph does not bound the agent's own git, which would read an endless file until the iteration's limit.
const BOUNDS: &str = "ulimit -d 262144; ulimit -t 1";

/// One run: its agent, and the strikes with their moments.
struct Chaos {
    agent: &'static str,
    format: &'static str,
    strikes: Vec<Strike>,
}

impl Chaos {
    fn choose(seed: u64, run: u64) -> Chaos {
        let mut random = Random::new(seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let strikes = 1 + random.below(4);
        Chaos {
            agent: random.of(&AGENTS),
            format: random.of(&["jsonl", "text"]),
            strikes: (0..strikes).map(|_| Strike::choose(&mut random)).collect(),
        }
    }

    /// Runs the scenario and returns the faults found.
    fn faults(&self) -> Vec<String> {
        let sandbox = Sandbox::new();
        sandbox.write("PLAN.md", TASKS);
        sandbox.write("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n");
        sandbox.write(".gitignore", "*.log\n");
        sandbox.write(".ralph/config.json", "{}");
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Plan"]);
        sandbox.install(&Script::jsonl(&format!("{BOUNDS}; {}", self.agent)));
        fs::write(sandbox.config().join("ralph/config.json"), CONFIG).expect("the user's configuration");
        let finished = self.strike_and_wait(&sandbox);
        let mut faults = Vec::new();
        match finished {
            Err(why) => faults.push(why),
            Ok(finished) => {
                faults.extend(self.wrong_end(&sandbox, &finished));
                faults.extend(foreign("run", &finished));
            }
        }
        let left = sandbox.processes();
        if !left.is_empty() {
            faults.push(format!("left running: {left:?}"));
        }
        for command in ["status", "report", "doctor"] {
            let after = sandbox.ralph([command]).run(LIMIT);
            faults.extend(foreign(command, &after));
            if !matches!(after.code(), Some(0 | 1 | 3 | 4)) {
                faults.push(format!(
                    "`ralph {command}` ended with {:?}: {}",
                    after.code(),
                    after.stderr
                ));
            }
        }
        faults
    }

    fn strike_and_wait(&self, sandbox: &Sandbox) -> Result<Finished, String> {
        for strike in self.strikes.iter().filter(|strike| strike.after == 0) {
            strike.hit(sandbox);
        }
        let mut running = sandbox.looping(["--format", self.format]).args(LIMITS).start();
        let mut strikes: Vec<&Strike> = self.strikes.iter().filter(|strike| strike.after > 0).collect();
        strikes.sort_by_key(|strike| strike.after);
        for strike in strikes {
            let is_time = poll(LIMIT, || {
                (running.printed() >= strike.after || running.ends_within(Duration::ZERO)).then_some(())
            });
            if is_time.is_some() {
                strike.hit(sandbox);
            }
        }
        if !running.ends_within(LIMIT) {
            let printed = running.so_far();
            running.kill();
            return Err(format!("no end within {LIMIT:?}; it printed:\n{printed}"));
        }
        Ok(running.wait(LIMIT))
    }

    /// Faults in the run's end and in the files that it kept.
    fn wrong_end(&self, sandbox: &Sandbox, finished: &Finished) -> Vec<String> {
        let mut faults = Vec::new();
        if !matches!(finished.code(), Some(0 | 1 | 3 | 4 | 6 | 7 | 8)) || finished.stderr.contains("panicked") {
            faults.push(format!("exit code {:?}: {}", finished.code(), finished.stderr));
        }
        let mut open_tasks = None;
        for run in sandbox.paths().run_ids() {
            match journal::read(&sandbox.paths().run(&run).journal()) {
                Ok((records, _)) => open_tasks = Some(open(&records)),
                Err(error) => faults.push(format!("the journal cannot be read: {error}")),
            }
        }
        if finished.code() == Some(0) {
            if open_tasks != Some(0) {
                faults.push(format!("done with open tasks: {open_tasks:?}"));
            }
            let plan = fs::read_to_string(sandbox.project().join("PLAN.md"));
            let spared = !self.strikes.iter().any(Strike::may_hit_the_plan);
            if spared && !plan.is_ok_and(|plan| plan.contains("- [x] Task 3") && !plan.contains("- [ ]")) {
                faults.push("done, and the plan is not".to_owned());
            }
        }
        faults
    }

    fn in_words(&self) -> String {
        let mut text = format!("agent `{:.40}`, {}", self.agent, self.format);
        for strike in &self.strikes {
            write!(text, "; {strike}").expect("a string takes every write");
        }
        text
    }
}

/// Number of open tasks by the journal, including vanished ones.
fn open(records: &[Record]) -> usize {
    let mut state = LoopState::default();
    records.iter().for_each(|record| state.apply(record));
    state.view.plan.open() + state.view.missing.len()
}

/// Foreign bytes in a program's output: a terminal may only see text and line ends.
fn foreign(what: &str, finished: &Finished) -> Option<String> {
    let is_foreign = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    [&finished.stdout, &finished.stderr].into_iter().find_map(|text| {
        let line = text.lines().find(|line| line.contains(is_foreign))?;
        Some(format!("a foreign byte in the output of {what}: {line:?}"))
    })
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().expect("a number"))
}

#[test]
fn whatever_becomes_of_its_files_a_run_ends_in_order() {
    let seed = setting("RALPH_CHAOS_SEED").unwrap_or(SEED);
    let runs = match setting("RALPH_CHAOS_RUN") {
        Some(run) => run..run + 1,
        None => 0..rounds(RUNS) as u64,
    };
    let next = AtomicU64::new(runs.start);
    let failed = Mutex::new(String::new());
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run >= runs.end {
                        return;
                    }
                    let chaos = Chaos::choose(seed, run);
                    let began = Instant::now();
                    // A panic fails one run and does not end the others.
                    let faults = std::panic::catch_unwind(|| chaos.faults());
                    let faults = faults.unwrap_or_else(|_| vec!["the test itself panicked: see above".to_owned()]);
                    if !faults.is_empty() {
                        let mut failed = failed.lock().expect("nobody panics with the lock");
                        writeln!(
                            failed,
                            "run {run} ({:.1} s): {}\n    {}",
                            began.elapsed().as_secs_f32(),
                            chaos.in_words(),
                            faults.join("\n    ")
                        )
                        .expect("a string takes every write");
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("nobody panics with the lock");
    #[allow(clippy::print_stderr)] // shown by `--nocapture`, and when it fails
    {
        eprintln!(
            "RALPH_CHAOS_SEED={seed}: {runs:?} in {:.0} s",
            started.elapsed().as_secs_f32()
        );
    }
    assert!(failed.is_empty(), "RALPH_CHAOS_SEED={seed}\n{failed}");
}
