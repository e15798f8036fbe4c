//! The screen: how fast floods get through it, how soon a key shows, what it costs when nothing happens.
//!
//! The real binary in a terminal, whose other end reads what is drawn.

mod support;

use std::{
    env,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use ralph_core::event::{Event, Notice};
use ralph_state::store::journal::Journal;
use support::{
    agent::{self, Script},
    numbers::{Quantity, Times, megabytes, rate, rounds},
    report::{Row, note, title},
    scratch::Scratch,
    screen::Screen,
    terminal,
};

const MB: u64 = 1_000_000;
const ROUNDS: usize = 2;
const COLOURS_BYTES: u64 = 100 * MB;
const LINES_BYTES: u64 = 20 * MB;
const LEAST_COLOURS: f64 = 0.4;
const LEAST_LINES: f64 = 0.5;
/// Of the rate in one process.
const LEAST_APART: f64 = 0.85;
const RECORDS: u64 = 100_000;
const PRESSES: usize = 100;
/// How long is looked at a screen on which nothing happens.
const IDLE: Duration = Duration::from_secs(5);
/// An agent that waits to be ended.
const SILENT: &str = "echo ready; exec sleep 600\n";
/// Set to `1`, it adds what takes minutes.
const LONG: &str = "RALPH_BENCH_LONG";
/// Shown when the only iteration is over.
const OVER: &str = "iteration limit reached";

fn main() {
    agent::become_agent_if_asked();
    title("first frame");
    first_frame();
    title("attach");
    attach();
    title("throughput, on a screen of 120×44 (PTY, guard, recording, 10,000 rows of history, drawing)");
    through(
        "coloured text",
        Script::Colours(COLOURS_BYTES),
        COLOURS_BYTES,
        Some(LEAST_COLOURS),
    );
    through(
        "lines of `y`",
        Script::Lines(LINES_BYTES),
        LINES_BYTES,
        Some(LEAST_LINES),
    );
    through(
        "text that moves about",
        Script::Moves(COLOURS_BYTES),
        COLOURS_BYTES,
        None,
    );
    beside_one_process();
    messages(MB);
    messages(10 * MB);
    title("from a key to what it shows");
    latency();
    title("memory, on a screen (resident after the flood)");
    memory();
    title("nothing happens");
    idle();
}

/// A run of the adapter `bench` on a screen, one iteration.
fn watched(scratch: &Scratch) -> Command {
    scratch.ralph(["--adapter", "bench", "--max-iterations", "1"])
}

fn first_frame() {
    let nothing = Times::of(20, || {
        Command::new("/bin/true").status().expect("a program");
    });
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", SILENT);
    let mut times = Times::default();
    for _ in 0..10 {
        let start = Instant::now();
        let screen = Screen::start(&watched(&scratch));
        times.push(screen.wait_for("ralph", true) - start);
    }
    Row::new("from the start to the first frame", times.median())
        .beside("/bin/true", nothing.median())
        .at_most(Quantity::Milliseconds(30.0))
        .print();
}

/// Where the loop is.
#[derive(Clone, Copy)]
enum Loop {
    /// In a process of its own, as users have it.
    Apart,
    /// In that of its screen.
    Here,
}

/// The time from the agent's start to the end of the run on the screen.
fn pass(dialect: &str, script: Script) -> (Duration, u64) {
    pass_with(Loop::Apart, dialect, script)
}

fn pass_with(place: Loop, dialect: &str, script: Script) -> (Duration, u64) {
    let scratch = Scratch::new(10);
    scratch.configure(r#"{ "keep": { "recordingMiB": 4000 } }"#);
    scratch.add_agent(dialect, &script);
    let mut command = watched(&scratch);
    if let Loop::Here = place {
        command.arg("--foreground");
    }
    let screen = Screen::start(&command);
    screen.wait_for(OVER, true);
    let end = support::now_ns();
    let time = Duration::from_nanos(end.saturating_sub(scratch.agent_log().starts[0]));
    (time, screen.resident())
}

fn fastest(dialect: &str, script: Script) -> Duration {
    let times = (0..rounds(ROUNDS)).map(|_| pass(dialect, script).0);
    times.min().expect("a round")
}

/// The same with the loop in the process of its screen: what the stream between the two costs.
fn beside_one_process() {
    let here = (0..rounds(ROUNDS)).map(|_| pass_with(Loop::Here, "terminal", Script::Colours(COLOURS_BYTES)).0);
    let here = rate(COLOURS_BYTES, here.min().expect("a round"));
    Row::new(
        "coloured text, the loop in a process of its own",
        rate(COLOURS_BYTES, fastest("terminal", Script::Colours(COLOURS_BYTES))),
    )
    .beside("in one process", here)
    .at_least(here.with(here.number() * LEAST_APART))
    .print();
}

/// A second screen comes to a run with that many records behind it.
fn attach() {
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", SILENT);
    let screen = Screen::start(&watched(&scratch));
    screen.wait_for("ready", true);
    // Killed: the run goes on with what is in its journal then.
    drop(screen);
    let path = scratch.latest_run().journal();
    let (mut journal, _) = Journal::reopen(&path, drop).expect("a journal");
    for _ in 0..RECORDS {
        let notice = Notice::NothingToDo;
        journal.append(0, Event::Noticed { notice }).expect("a disk");
    }
    let screen = Screen::start(&scratch.ralph(["--adapter", "bench"]));
    screen.wait_for("ready", true);
    let mut times = Times::default();
    for _ in 0..10 {
        let start = Instant::now();
        let visitor = Screen::start(&scratch.ralph(["attach"]));
        times.push(visitor.wait_for("ready", true) - start);
    }
    Row::new(
        "from `ralph attach` to what the agent shows, after 100,000 records",
        times.median(),
    )
    .at_most(Quantity::Milliseconds(200.0))
    .print();
}

fn through(name: &str, script: Script, bytes: u64, least: Option<f64>) {
    let raw = (0..rounds(ROUNDS))
        .map(|_| terminal::discarded(script))
        .min()
        .expect("a round");
    let raw = rate(bytes, raw);
    let row = Row::new(
        format!("{name}, {} in", megabytes(bytes)),
        rate(bytes, fastest("terminal", script)),
    )
    .beside("raw PTY", raw);
    match least {
        Some(least) => row.at_least(raw.with(raw.number() * least)).print(),
        None => row.print(),
    }
    if let Some(tmux) = terminal::in_tmux(script) {
        note(&format!("tmux, nobody attached: {}", rate(bytes, tmux)));
    }
}

fn messages(bytes: u64) {
    let time = fastest("ralph-jsonl", Script::Messages(bytes));
    #[allow(clippy::cast_precision_loss)] // of sizes far below that
    let most = Quantity::Milliseconds(300.0 * bytes as f64 / 1e6);
    Row::new(
        format!("messages, {} in, until the end is shown", megabytes(bytes)),
        time,
    )
    .at_most(most)
    .print();
}

fn latency() {
    let quiet = presses(SILENT, "ready");
    row("while nothing happens", &quiet, [35.0, 35.0]);
    // The bench itself floods: coloured text for far longer than the keys are pressed.
    let scratch = Scratch::new(10);
    scratch.configure(r#"{ "keep": { "recordingMiB": 1 } }"#);
    scratch.add_agent("terminal", &Script::Colours(1_000_000 * MB));
    let flooded = press_all(&scratch, "compute");
    row("while the agent floods", &flooded, [50.0, 100.0]);
}

fn presses(agent: &str, ready: &str) -> Times {
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", agent);
    press_all(&scratch, ready)
}

fn press_all(scratch: &Scratch, ready: &str) -> Times {
    let mut screen = Screen::start(&watched(scratch));
    screen.wait_for(ready, true);
    let mut times = Times::default();
    for press in 0..PRESSES {
        // People are not in step with frames.
        thread::sleep(Duration::from_millis(17 + 7 * (press as u64 % 11)));
        times.push(screen.latency("c", "calls per hour", true));
        thread::sleep(Duration::from_millis(17 + 5 * (press as u64 % 13)));
        times.push(screen.latency("t", "calls per hour", false));
    }
    times
}

fn row(name: &str, times: &Times, [p99, most]: [f64; 2]) {
    Row::new(format!("{name}: half of the keys"), times.median()).print();
    Row::new(format!("{name}: 99 of 100 keys"), times.percentile(99))
        .at_most(Quantity::Milliseconds(p99))
        .print();
    Row::new(format!("{name}: the slowest"), times.percentile(100))
        .at_most(Quantity::Milliseconds(most))
        .print();
}

fn memory() {
    let (_, small) = pass("terminal", Script::Colours(MB));
    Row::new("after 1 MB of output", megabytes(small)).print();
    let mut sizes = vec![
        ("after 100 MB of output", Script::Colours(100 * MB), 40.0),
        ("after 100 MB that move about", Script::Moves(100 * MB), 25.0),
    ];
    if env::var_os(LONG).is_some_and(|value| value == "1") {
        sizes.push(("after 1 GB of output", Script::Colours(1000 * MB), 40.0));
    } else {
        note(&format!("{LONG}=1 adds what a gigabyte leaves"));
    }
    for (name, script, most) in sizes {
        let (_, large) = pass("terminal", script);
        Row::new(name, megabytes(large))
            .beside("after 1 MB", megabytes(small))
            .at_most(Quantity::Megabytes(most))
            .print();
    }
    looking_back();
}

/// The history of 10,000 rows is made when somebody scrolls.
fn looking_back() {
    let scratch = Scratch::new(10);
    scratch.add_agent("terminal", &Script::Colours(100 * MB));
    let mut screen = Screen::start(&watched(&scratch));
    screen.wait_for(OVER, true);
    // The end has shown its report.
    screen.press("t");
    Row::new(
        "from a key to the first row, after 100 MB",
        screen.latency("g", "rows below", true),
    )
    .at_most(Quantity::Milliseconds(100.0))
    .print();
    Row::new("with all 10,000 rows", megabytes(screen.resident()))
        .at_most(Quantity::Megabytes(40.0))
        .print();
}

fn idle() {
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", SILENT);
    let screen = Screen::start(&watched(&scratch));
    screen.wait_for("ready", true);
    cost("an agent that is silent", &screen, Quantity::Count(6.0));
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", "echo quick\n");
    let mut screen = Screen::start(&scratch.ralph(["--adapter", "bench"]));
    screen.press("p");
    screen.wait_for("… paused", true);
    // What was said of the pause goes away by itself.
    thread::sleep(Duration::from_secs(5));
    cost("paused", &screen, Quantity::Count(0.0));
}

/// What passes in [`IDLE`].
fn cost(name: &str, screen: &Screen, frames: Quantity) {
    let ((frames_before, _), cpu_before) = (screen.drawn(), screen.cpu());
    thread::sleep(IDLE);
    let ((frames_after, _), cpu_after) = (screen.drawn(), screen.cpu());
    #[allow(clippy::cast_precision_loss)] // of a handful
    let drawn = (frames_after - frames_before) as f64;
    Row::new(
        format!("{name}: frames in {} s", IDLE.as_secs()),
        Quantity::Count(drawn),
    )
    .at_most(frames)
    .print();
    let share = cpu_after.since(&cpu_before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    Row::new(format!("{name}: share of a core"), Quantity::Percent(share))
        .at_most(Quantity::Percent(0.2))
        .print();
}
