//! The page in a real Chromium: what it weighs, how soon it shows a run, and whether it stutters in a flood of records.

#[allow(dead_code)] // the tests use more of it
#[path = "../tests/page/browser.rs"]
mod browser;
#[allow(dead_code)]
#[path = "../tests/page/relay.rs"]
mod relay;
mod support;

/// The part of the test harness that its browser needs.
mod harness {
    use std::time::Duration;

    pub const SOON: Duration = Duration::from_secs(60);

    pub fn skipped(what: &str) {
        crate::support::report::note(what);
    }
}

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use browser::{Browser, Page};
use relay::Relay;
use support::{
    numbers::{Quantity, Times, rounds},
    report::{Row, title},
    scratch::Scratch,
};

const PHONE: [u32; 2] = [390, 844];
const RECORDS: u32 = 10_000;
const ROUNDS: usize = 9;
const MOST_BYTES: Quantity = Quantity::Bytes(150_000.0);
const SOONEST: Quantity = Quantity::Milliseconds(300.0);
const LONGEST: Quantity = Quantity::Milliseconds(50.0);
const LOOK: Duration = Duration::from_millis(5);

/// Says one thing, and ten thousand more when it may.
const AGENT: &str = r#"
cat > /dev/null
until_there() { while [ ! -e "$HOME/$1" ]; do sleep 0.05; done; }
echo '{"type":"said","text":"ready"}'
until_there go
seq -f '{"type":"said","text":"message %.0f of a flood, with some words in it"}' 10000
until_there end
echo '{"type":"turn-ended","ok":true,"message":"Done."}'
"#;

/// The bytes of all files of the page as they were sent.
const WEIGHT: &str = "performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource'))
    .filter(({ name }) => !name.includes('/runs')).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)";

/// Starts to measure the gaps between frames.
const FRAMES: &str = "globalThis.longest = 0; globalThis.frame = (() => { let last = performance.now();
    const look = (now) => { longest = Math.max(longest, now - last); last = now; requestAnimationFrame(look); };
    requestAnimationFrame(look); })(); 0";

fn main() {
    let Some(browser) = Browser::shared() else { return };
    let scratch = Scratch::new(10);
    scratch.add_shell_agent("ralph-jsonl", AGENT);
    let mut ralph = scratch.run("text", 1).stdout(Stdio::null()).spawn().expect("ralph");
    while UnixStream::connect(scratch.socket()).is_err() {
        thread::sleep(LOOK);
    }
    let relay = Relay::start(scratch.socket());
    let open = || {
        let page = browser.page(PHONE, "light");
        page.opens(&relay.url(""));
        page.waits_for("document.querySelector('.talk .said')");
        page
    };

    title("the page in Chromium, of a run that goes on");
    let page = open();
    let bytes = number(&page, WEIGHT);
    Row::new("files of the page, without the terminal's", Quantity::Bytes(bytes))
        .at_most(MOST_BYTES)
        .print();
    let first = Times::of(rounds(ROUNDS), || first_event(&scratch));
    Row::new("first event of the stream", first.median())
        .at_most(SOONEST)
        .print();
    // From the navigation to the first message of the agent; beside it, the page's own file alone.
    let (mut shown, mut loaded) = (Times::default(), Times::default());
    for _ in 0..rounds(ROUNDS) {
        let page = open();
        shown.push(milliseconds(&page, "performance.now()"));
        loaded.push(milliseconds(
            &page,
            "performance.getEntriesByType('navigation')[0].responseEnd",
        ));
    }
    Row::new("until the first message is there", shown.median())
        .beside("its HTML", loaded.median())
        .at_most(SOONEST)
        .print();

    title("ten thousand records that come at once");
    let blank = browser.page(PHONE, "light");
    blank.value(FRAMES);
    page.value(FRAMES);
    fs::write(scratch.path("home/go"), "").expect("a file");
    page.waits_for(&format!("seen('message {RECORDS} of a flood')"));
    Row::new("longest gap between two frames", milliseconds(&page, "longest"))
        .beside("an empty page", milliseconds(&blank, "longest"))
        .at_most(LONGEST)
        .print();
    drop((page, blank));
    end(&scratch, &mut ralph);
}

/// Reads the events of the run up to the first one.
fn first_event(scratch: &Scratch) {
    let mut stream = UnixStream::connect(scratch.socket()).expect("the run listens");
    stream
        .write_all(b"GET /events HTTP/1.1\r\nhost: ralph\r\n\r\n")
        .expect("a request");
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    while !read.windows(7).any(|bytes| bytes == b"\nevent:") {
        let count = stream.read(&mut piece).expect("an answer");
        assert!(count > 0, "{}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..count]);
    }
}

fn number(page: &Page, expression: &str) -> f64 {
    page.value(expression).as_f64().expect("a number")
}

fn milliseconds(page: &Page, expression: &str) -> Duration {
    Duration::from_secs_f64(number(page, expression) / 1e3)
}

fn end(scratch: &Scratch, ralph: &mut Child) {
    fs::write(scratch.path("home/end"), "").expect("a file");
    ralph.wait().expect("ralph's end");
}
