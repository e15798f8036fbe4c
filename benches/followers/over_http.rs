//! Floods through a whole ralph with many readers on its socket, as pages and programs have them.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::Stdio,
    thread::{self, JoinHandle},
    time::Duration,
};

use crate::{
    MB, percent,
    support::{
        agent::Script,
        numbers::{Quantity, megabytes},
        report::{Row, note, title},
        scratch::Scratch,
    },
};

const BYTES: u64 = 40 * MB;
const PAIRS: usize = 9;
const READERS: usize = 50;
const LEAST_PERCENT: f64 = 90.0;
const MOST_MEMORY: Quantity = Quantity::Megabytes(60.0);
/// Requests every kind of event.
const REQUEST: &[u8] = b"GET /events?details=true&terminal=true HTTP/1.1\r\nHost: ralph\r\n\r\n";
/// Interval between attempts to connect.
const LOOK: Duration = Duration::from_millis(1);

/// Compares the agent's rate with one reader and with fifty, and with itself to show the noise.
pub fn compare() {
    title("readers of one run over HTTP (whole ralph, headless; every event, every detail, the terminal)");
    pass(1); // a warm-up
    let (mut beside, mut itself) = (Vec::new(), Vec::new());
    let mut most = Passed::default();
    for pair in 0..PAIRS {
        let mut order = [1, READERS, 1];
        order.rotate_left(pair % 3);
        let (mut alone, mut with_all) = (Vec::new(), Passed::default());
        for readers in order {
            let passed = pass(readers);
            match readers {
                1 => alone.push(passed.time.as_secs_f64()),
                _ => with_all = passed,
            }
        }
        beside.push((alone[0] + alone[1]) / 2.0 / with_all.time.as_secs_f64());
        itself.push(alone[0] / alone[1]);
        most.peak = most.peak.max(with_all.peak);
        most.read = most.read.max(with_all.read);
    }
    Row::new("coloured text, 50 readers, one is stuck", percent(&mut beside))
        .beside("one reader with itself", percent(&mut itself))
        .at_least(Quantity::Percent(LEAST_PERCENT))
        .print();
    Row::new("memory of ralph with 50 readers (peak)", megabytes(most.peak))
        .at_most(MOST_MEMORY)
        .print();
    note(&format!(
        "a reader got {} of {}",
        megabytes(most.read),
        megabytes(BYTES)
    ));
}

/// A flood that went through ralph.
#[derive(Debug, Default)]
struct Passed {
    /// From the agent's start to its last byte.
    time: Duration,
    /// The most bytes that one reader received.
    read: u64,
    peak: u64,
}

fn pass(readers: usize) -> Passed {
    let scratch = Scratch::new(10);
    scratch.add_agent("terminal", &Script::Colours(BYTES));
    // The readers connect during the first iteration; the second is measured.
    let mut ralph = scratch.run("text", 2).stdout(Stdio::null()).spawn().expect("ralph");
    let first = connected(&scratch);
    let stuck = (readers > 1).then(|| connected(&scratch));
    let reading: Vec<JoinHandle<u64>> = std::iter::once(first)
        .chain((2..readers).map(|_| connected(&scratch)))
        .map(|stream| thread::spawn(move || read(stream)))
        .collect();
    ralph.wait().expect("ralph's end");
    let read = reading.into_iter().map(|reader| reader.join().expect("a reader"));
    let read = read.max().unwrap_or_default();
    drop(stuck);
    let log = scratch.agent_log();
    Passed {
        time: Duration::from_nanos(log.ends[1].saturating_sub(log.starts[1])),
        read,
        peak: log.peaks[1],
    }
}

/// Connects as soon as ralph listens, and requests all events.
fn connected(scratch: &Scratch) -> UnixStream {
    let socket = scratch.socket();
    let mut stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break stream,
            Err(_) => thread::sleep(LOOK),
        }
    };
    stream.write_all(REQUEST).expect("a server that takes a request");
    stream
}

/// Reads to the end of the run, and returns the number of bytes.
fn read(mut stream: UnixStream) -> u64 {
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes += count as u64;
    }
    bytes
}
