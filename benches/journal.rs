//! The size of the journal and the cost of reading it, after an agent that talks as fast as it can and after a long
//! plan.

mod support;

use std::{
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::resource::{UsageWho, getrusage};
use ralph_core::event::{Event, IterationEvent, PlanEvent};
use ralph_system::paths::RunPaths;
use support::{
    agent::{self, Script},
    numbers::{megabytes, rounds},
    report::{Row, note, title},
    scratch::Scratch,
};

const ROUNDS: usize = 10;
const MIB: u64 = 1 << 20;
/// Variable for the seconds that the agent talks.
const SECONDS: &str = "RALPH_BENCH_SECONDS";
const FEW_SECONDS: u64 = 5;
const MOST_JOURNAL: u64 = 4 * MIB;
const MOST_STATUS: Duration = Duration::from_millis(20);
const MOST_STATUS_BYTES: u64 = 20 * MIB;
const MOST_RESUME_BYTES: u64 = 60 * MIB;
/// Variable for the number of tasks of the long plan, each done in an iteration of its own.
const TASKS: &str = "RALPH_BENCH_TASKS";
const MANY_TASKS: usize = 2_000;
const MOST_JOURNAL_OF_TASKS: u64 = 20 * MIB;
/// Most time of a command after so many iterations.
const MOST_AFTER_TASKS: [(&str, Duration); 3] = [
    ("status", Duration::from_millis(50)),
    ("report", Duration::from_millis(500)),
    ("runs", Duration::from_millis(50)),
];

fn main() {
    agent::become_agent_if_asked();
    if become_meter_if_asked() {
        return;
    }
    let seconds = env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(FEW_SECONDS);
    title(&format!("journal of an agent that talks for {seconds} s"));
    let scratch = Scratch::new(10);
    scratch.add_agent("ralph-jsonl", &Script::Talk(seconds));
    let mut run = scratch.run("jsonl", 1);
    let status = run.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("ralph");
    let files = scratch.latest_run();
    sizes(&scratch, &files);
    readers(&scratch, &files.journal());
    resuming(&scratch, &files.journal());
    note(&format!("{SECONDS}=60 lets it talk for a minute"));
    let tasks = env::var(TASKS).ok().and_then(|text| text.parse().ok());
    long_plan(tasks.unwrap_or_else(|| rounds(MANY_TASKS)));
}

/// Works through a plan with one iteration per task, and measures commands that read the journal.
fn long_plan(tasks: usize) {
    title(&format!("journal of {tasks} iterations with a plan of {tasks} tasks"));
    let scratch = Scratch::new(10);
    let plan: String = (0..tasks)
        .map(|number| format!("- [ ] Write part {number} of the parser, with its tests and its documentation\n"))
        .collect();
    fs::write(scratch.project().join("PLAN.md"), plan).expect("a plan");
    scratch.git(["commit", "--all", "--quiet", "--message", "Plan"]);
    scratch.add_agent("terminal", &Script::Tick);
    let mut run = scratch.run("jsonl", tasks);
    let status = run.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("ralph");
    let journal = scratch.latest_run().journal();
    let records = scratch.journal();
    let iterations = records
        .iter()
        .filter(|record| matches!(record.event, Event::Iteration(IterationEvent::Ended { .. })))
        .count();
    assert_eq!(iterations, tasks, "each task took an iteration");
    let plans = records
        .iter()
        .filter(|record| matches!(record.event, Event::Plan(PlanEvent::Read { .. })));
    let plan_bytes = plans.map(|plan| serde_json::to_vec(plan).expect("JSON").len()).max();
    let whole = (plan_bytes.unwrap_or_default() * iterations) as u64;
    Row::new(
        "journal",
        megabytes(fs::metadata(&journal).map_or(0, |meta| meta.len())),
    )
    .beside("whole plans", megabytes(whole))
    .at_most(megabytes(MOST_JOURNAL_OF_TASKS))
    .print();
    let raw = time_of_reading(&journal);
    for (command, most) in MOST_AFTER_TASKS {
        let rounds = (0..rounds(ROUNDS)).map(|_| metered(&scratch, &[command]));
        let passed = rounds.min_by_key(|passed| passed.time).expect("a round");
        let row = Row::new(format!("ralph {command}"), passed.time).beside("its bytes", raw);
        row.at_most(most).print();
    }
    note(&format!("{TASKS}=200 is done sooner"));
}

fn time_of_reading(journal: &Path) -> Duration {
    let start = Instant::now();
    let mut bytes = Vec::new();
    let read = File::open(journal).and_then(|mut file| file.read_to_end(&mut bytes));
    read.expect("the journal");
    start.elapsed()
}

fn sizes(scratch: &Scratch, files: &RunPaths) {
    let length = |path: PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
    let journal = length(files.journal());
    Row::new("journal", megabytes(journal))
        .beside("signal log", megabytes(length(files.signals(1))))
        .at_most(megabytes(MOST_JOURNAL))
        .print();
    note(&format!("{} records", scratch.journal().len()));
}

/// Measures commands that read the journal, compared with reading its bytes.
fn readers(scratch: &Scratch, journal: &Path) {
    let raw = time_of_reading(journal);
    for command in ["status", "report", "runs"] {
        let rounds = (0..rounds(ROUNDS)).map(|_| metered(scratch, &[command]));
        let passed = rounds.min_by_key(|passed| passed.time).expect("a round");
        let row = Row::new(format!("ralph {command}"), passed.time).beside("its bytes", raw);
        row.at_most(MOST_STATUS).print();
        Row::new(format!("ralph {command}, peak"), megabytes(passed.peak))
            .at_most(megabytes(MOST_STATUS_BYTES))
            .print();
    }
}

/// Removes the last record, the end of the run, and resumes the run with an agent that does nothing.
fn resuming(scratch: &Scratch, journal: &Path) {
    let text = fs::read_to_string(journal).expect("the journal");
    let end = text.rfind("\n{\"seq\":").expect("a last record");
    assert!(text[end..].contains("run-stopped"), "the last record is the end");
    fs::write(journal, &text[..=end]).expect("the journal");
    scratch.add_agent("ralph-jsonl", &Script::Nothing);
    let args = [
        "--headless",
        "--adapter",
        "bench",
        "--format",
        "jsonl",
        "--max-iterations",
        "2",
    ];
    let passed = metered(scratch, &args);
    Row::new("resuming, peak", megabytes(passed.peak))
        .at_most(megabytes(MOST_RESUME_BYTES))
        .print();
}

struct Passed {
    time: Duration,
    peak: u64,
}

const METER: &str = "__bench-meter";

/// Runs ralph from a separate process without other children, so that the measured memory is ralph's.
fn metered(scratch: &Scratch, args: &[&str]) -> Passed {
    let mut command = scratch.command(env::current_exe().expect("the bench's own path"));
    let output = command.arg(METER).args(args).output().expect("the meter");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|number| number.parse().expect("a number"));
    let mut next = || numbers.next().expect("a number");
    Passed {
        time: Duration::from_micros(next()),
        peak: next() * 1024,
    }
}

fn become_meter_if_asked() -> bool {
    let args: Vec<String> = env::args().skip(1).collect();
    let Some((_, args)) = args.split_first().filter(|(mark, _)| *mark == METER) else {
        return false;
    };
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
    let status = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("ralph");
    let time = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("what its child used");
    writeln!(io::stdout(), "{} {}", time.as_micros(), usage.max_rss()).expect("whoever asked");
    true
}
