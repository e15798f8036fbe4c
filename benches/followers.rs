//! A flood with many subscribers: the effect of twenty of them, one of which is stuck, on the agent's rate and on
//! memory.

#[path = "followers/over_http.rs"]
mod over_http;
mod support;

use std::{
    fs, io,
    path::Path,
    thread::{self, JoinHandle},
    time::Duration,
};

use ralph::ui::headless::{OutputStyle, Pace, TextPrinter};
use ralph_driver::hub::{Hub, LagPolicy};
use ralph_state::control::frames::UiEvent;

use support::{
    agent::{self, Script},
    numbers::{Quantity, Times, megabytes, rate, rounds},
    report::{Row, note, title},
    terminal,
};

const MB: u64 = 1_000_000;
const BYTES: u64 = 100 * MB;
/// Rounds, each with a flood for one subscriber, one for twenty and another for one. Comparing within a round
/// excludes slow changes of the machine's load. Short floods and many rounds, so that five per cent exceed the noise
/// of the median.
const ROUNDS: usize = 21;
const ROUND_BYTES: u64 = 20 * MB;
/// All subscribers except the owner and the stuck one.
const WATCHERS: usize = 18;
const LEAST_PERCENT: f64 = 95.0;
/// Most growth of memory with four times the output.
const MOST_GROWTH: f64 = 1.25;
/// Time limit for the owner to show the rest.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    agent::become_agent_if_asked();
    title("followers of one run (PTY to hub; the owner's text is thrown away)");
    compare();
    let first_alone = pass(BYTES, Followers::Owner);
    let first_beside = pass(BYTES, Followers::Twenty);
    note(&format!(
        "a watcher was shown {} of {}, the rest was counted as skipped",
        megabytes(first_beside.watched),
        megabytes(BYTES)
    ));
    title("memory of this process (peak)");
    let peak = megabytes(first_beside.peak);
    Row::new("20 subscribers, 100 MB", peak)
        .beside("the owner alone", megabytes(first_alone.peak))
        .print();
    Row::new(
        "20 subscribers, 400 MB",
        megabytes(pass(4 * BYTES, Followers::Twenty).peak),
    )
    .beside("100 MB", peak)
    .at_most(peak.with(peak.number() * MOST_GROWTH))
    .print();
    over_http::compare();
}

/// Compares the owner's rate with the rate with twenty subscribers, and with itself to show the noise.
fn compare() {
    pass(ROUND_BYTES, Followers::Twenty); // a warm-up
    let (mut beside, mut itself): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut rates = Vec::new();
    for round in 0..rounds(ROUNDS) {
        // Rotated, because a pass is affected by the one before it.
        let mut order = [Followers::Owner, Followers::Twenty, Followers::Owner];
        order.rotate_left(round % 3);
        let mut alone = Vec::new();
        let mut with_all = Duration::ZERO;
        for followers in order {
            let time = pass(ROUND_BYTES, followers).time;
            match followers {
                Followers::Owner => alone.push(time.as_secs_f64()),
                Followers::Twenty => with_all = time,
            }
        }
        beside.push((alone[0] + alone[1]) / 2.0 / with_all.as_secs_f64());
        itself.push(alone[0] / alone[1]);
        rates.push(with_all);
    }
    Row::new("coloured text, 20 subscribers, one is stuck", percent(&mut beside))
        .beside("the owner with itself", percent(&mut itself))
        .at_least(Quantity::Percent(LEAST_PERCENT))
        .print();
    let rates: Times = rates.into_iter().collect();
    note(&format!(
        "of the owner's rate alone, median of {ROUNDS} pairs; the rate is {}",
        rate(ROUND_BYTES, rates.median())
    ));
}

fn percent(ratios: &mut [f64]) -> Quantity {
    ratios.sort_unstable_by(f64::total_cmp);
    Quantity::Percent(ratios[ratios.len() / 2] * 100.0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Followers {
    Owner,
    Twenty,
}

/// A flood that went through a hub.
struct Passed {
    /// From the agent's start to its last byte.
    time: Duration,
    /// The most bytes that one watcher received.
    watched: u64,
    peak: u64,
}

fn pass(bytes: u64, followers: Followers) -> Passed {
    forget_peak();
    let hub = Hub::new(Path::new("/nowhere/events.jsonl"), 0);
    let owner = show(&hub);
    let count = if followers == Followers::Twenty { WATCHERS } else { 0 };
    let watchers: Vec<JoinHandle<u64>> = (0..count).map(|_| watch(&hub, bytes)).collect();
    let stuck = (followers == Followers::Twenty).then(|| hub.subscribe(0, LagPolicy::Skip));
    let time = terminal::read(Script::Colours(bytes), |bytes| hub.output(bytes));
    hub.close(PATIENCE);
    owner.join().expect("an owner");
    let shown = watchers.into_iter().map(|watcher| watcher.join().expect("a watcher"));
    let watched = shown.max().unwrap_or_default();
    drop(stuck);
    Passed {
        time,
        watched,
        peak: peak(),
    }
}

/// Subscribes the owner of the run, and renders its text as a headless ralph does.
fn show(hub: &Hub) -> JoinHandle<()> {
    let events = hub.subscribe(0, LagPolicy::HoldAgentBack);
    let style = OutputStyle {
        colour: true,
        ..OutputStyle::PLAIN
    };
    let mut text = TextPrinter::new(style, Pace::Lines);
    thread::spawn(move || {
        for event in events {
            text.show(&event, &mut io::sink())
                .expect("a sink that takes everything");
        }
    })
}

/// Subscribes a watcher, which returns the number of bytes that it received.
fn watch(hub: &Hub, all: u64) -> JoinHandle<u64> {
    let events = hub.subscribe(0, LagPolicy::Skip);
    thread::spawn(move || {
        let (mut shown, mut skipped) = (0, 0);
        for event in events {
            match event {
                UiEvent::Output(bytes) => shown += bytes.len() as u64,
                UiEvent::Skipped { bytes } => skipped += bytes,
                UiEvent::Record(_) | UiEvent::Resized(_) | UiEvent::Detail(_) => {}
            }
        }
        assert!(shown + skipped >= all, "a byte was neither shown nor counted");
        shown
    })
}

/// Has the kernel measure the peak anew.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("a kernel that forgets a peak");
}

/// Returns the peak memory of this process since then, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: u64 = line
        .and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .expect("a peak");
    kilobytes * 1024
}
