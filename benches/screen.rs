//! The screen: the throughput of floods, the delay of keys, and the cost of an idle screen.
//!
//! The real binary runs in a terminal whose other end reads its output.

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
    report::{self, Row, note, title},
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
/// Least part of the rate in one process.
const LEAST_APART: f64 = 0.85;
const RECORDS: u64 = 100_000;
const PRESSES: usize = 100;
/// Duration of the measurement of an idle screen.
const IDLE: Duration = Duration::from_secs(5);
/// An agent that waits until it is ended.
const SILENT: &str = "echo ready; exec sleep 600\n";
/// Set to `1`, it adds measurements that take minutes.
const LONG: &str = "RALPH_BENCH_LONG";
/// Shown at the end of the only iteration.
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
    report::write("screen");
}

/// Returns a run of the adapter `bench` on a screen, with one iteration.
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
    // The loop is a process of its own, which reads the project before there is a frame: ralph starts twice and its guard
    // once.
    Row::new("from the start to the first frame", times.median())
        .beside("/bin/true", nothing.median())
        .at_most(Quantity::Milliseconds(60.0))
        .print();
}

/// The process of the loop.
#[derive(Clone, Copy)]
enum Loop {
    /// A process of its own, as for users.
    Apart,
    /// The process of the screen.
    Here,
}

/// Returns the time from the agent's start to the end of the run on the screen, and the resident memory.
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

/// Compares with the loop in the screen's process, to measure the cost of the stream between the two.
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

/// Measures a second screen that attaches to a run with many records.
fn attach() {
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("terminal", SILENT);
    let screen = Screen::start(&watched(&scratch));
    screen.wait_for("ready", true);
    // The screen is killed: the run continues, with the records that its journal has then.
    drop(screen);
    let path = scratch.latest_run().journal();
    let (mut journal, _) = Journal::reopen(&path, drop).expect("a journal");
    for _ in 0..RECORDS {
        let notice = Notice::info("nothing-to-do", "nothing to do");
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
    #[allow(clippy::cast_precision_loss)] // sizes are far below 2^53 bytes
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
    // The bench itself is the agent: it floods far longer than keys are pressed.
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
        // 13.5 MB are pages of the executable, which all processes of ralph share.
        ("after 100 MB that move about", Script::Moves(100 * MB), 30.0),
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

/// Measures the first scroll, which builds the history of 10,000 rows.
fn looking_back() {
    let scratch = Scratch::new(10);
    scratch.add_agent("terminal", &Script::Colours(100 * MB));
    let mut screen = Screen::start(&watched(&scratch));
    screen.wait_for(OVER, true);
    // At its end, the run shows its report instead of the terminal.
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
    // The notice about the pause disappears by itself.
    thread::sleep(Duration::from_secs(5));
    cost("paused", &screen, Quantity::Count(0.0));
}

/// Measures frames and processor time during [`IDLE`].
fn cost(name: &str, screen: &Screen, frames: Quantity) {
    let ((frames_before, _), cpu_before) = (screen.drawn(), screen.cpu());
    thread::sleep(IDLE);
    let ((frames_after, _), cpu_after) = (screen.drawn(), screen.cpu());
    #[allow(clippy::cast_precision_loss)] // a few frames
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
