//! The delay between an agent's output and its display: on the screen and in headless text, for every channel that
//! streams.
//!
//! The agent is the bench itself. It speaks the channel's protocol and writes an answer line by line, each with the
//! time of writing, slowly enough that each line is shown before the next one is written.

#[path = "first_character/server.rs"]
mod server;
#[path = "first_character/speaker.rs"]
mod speaker;
mod support;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use server::Server;
use speaker::{Channel, LINES, MARK, become_speaker_if_asked, mark, moment_of};
use support::{
    now_ns,
    numbers::{Quantity, Times},
    report::{Row, title},
    scratch::Scratch,
    screen::Screen,
};

/// Below the delay that people notice.
const MOST: Quantity = Quantity::Milliseconds(100.0);

fn main() {
    become_speaker_if_asked();
    let bare = through_a_pipe();
    title("from the write of an agent to the screen");
    for channel in Channel::ALL {
        row(channel.name(), &on_the_screen(channel), &bare);
    }
    title("from the write of an agent to a line of headless text");
    for channel in Channel::ALL {
        row(channel.name(), &in_headless_text(channel), &bare);
    }
}

fn row(name: &str, times: &Times, bare: &Times) {
    Row::new(format!("{name}: half of the lines"), times.median())
        .beside("a bare pipe", bare.median())
        .print();
    Row::new(format!("{name}: the slowest"), times.percentile(100))
        .beside("a bare pipe", bare.percentile(100))
        .at_most(MOST)
        .print();
}

/// Returns the delays of the same lines through a bare pipe.
fn through_a_pipe() -> Times {
    let mut command = Command::new(std::env::current_exe().expect("the bench's own path"));
    command.args([MARK, "bare"]).stdin(Stdio::null()).stdout(Stdio::piped());
    lines_of(command.spawn().expect("a speaker"))
}

fn in_headless_text(channel: Channel) -> Times {
    let (scratch, server) = prepared(channel);
    let mut command = run(&scratch, channel, server.as_ref());
    command.arg("--headless").stdout(Stdio::piped()).stderr(Stdio::null());
    lines_of(command.spawn().expect("ralph"))
}

/// Returns the delays between writing and arrival of each marked line.
fn lines_of(mut child: Child) -> Times {
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut times = Times::default();
    let mut next = 0;
    for line in out.lines() {
        let line = line.expect("text");
        let now = now_ns();
        if next < LINES && line.contains(&mark(next)) {
            times.push(Duration::from_nanos(now.saturating_sub(moment_of(&line, next))));
            next += 1;
        }
    }
    child.wait().expect("its end");
    assert_eq!(next, LINES, "not every line arrived");
    times
}

fn on_the_screen(channel: Channel) -> Times {
    let (scratch, server) = prepared(channel);
    let screen = Screen::start(&run(&scratch, channel, server.as_ref()));
    let mut times = Times::default();
    for line in 0..LINES {
        screen.wait_for(&mark(line), true);
        let now = now_ns();
        let moment = moment_of(&screen.contents(), line);
        times.push(Duration::from_nanos(now.saturating_sub(moment)));
    }
    times
}

/// Makes a project with an adapter `bench` that speaks `channel`, and the server if the channel needs one.
fn prepared(channel: Channel) -> (Scratch, Option<Server>) {
    let scratch = Scratch::new(10);
    let server = match channel {
        Channel::Server => Some(Server::start()),
        Channel::ClaudeOneWay | Channel::ClaudeLive | Channel::GeminiOneWay | Channel::CodexLive | Channel::Acp => None,
    };
    if let Some(manifest) = channel.manifest() {
        let directory = scratch.path("config/ralph/adapters");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("bench.toml"), manifest).expect("an adapter");
    }
    (scratch, server)
}

fn run(scratch: &Scratch, channel: Channel, server: Option<&Server>) -> Command {
    let mut command = scratch.ralph(["--max-iterations", "1", "--channel", channel.setting()]);
    match server {
        Some(server) => command.args(["--adapter", "opencode-server", "--server", &server.url()]),
        None => command.args(["--adapter", "bench"]),
    };
    command
}
