//! The time until all descendants are gone: after Ctrl-C, and after ralph was killed.

mod support;

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use support::{
    agent,
    numbers::{Times, rounds},
    processes::{GRACE, Watched, wait_for_descendants},
    report::{self, Row, note, title},
    scratch::Scratch,
};

const ROUNDS: usize = 7;
const MOST: Duration = Duration::from_millis(100);

/// Six children that ignore all signals except SIGKILL, each detached from its parent in another way.
const CHILDREN: &str = r#"
trap '' INT TERM HUP
sleep 1000 &
nohup sleep 1000 >/dev/null 2>&1 &
setsid sleep 1000 &
(sleep 1000 &)
setsid sh -c 'sleep 1000 & exit 0' &
env -i /bin/sleep 1000 &
"#;
const IGNORES_ALL: &str = "wait\nexec sleep 1000\n";
/// The guard of ralph's helpers, the guard of the agent, the agent and six children.
const DESCENDANTS: usize = 9;

fn main() {
    agent::become_agent_if_asked();
    title("descendants gone (agent and six children that ignore every signal but kill)");
    note(&format!("the grace of {} ms is taken off", GRACE.as_millis()));
    for (name, signal) in [("SIGINT", Signal::SIGINT), ("SIGKILL", Signal::SIGKILL)] {
        measure(&format!("after {name} of ralph"), signal);
    }
    report::write("stop");
}

fn measure(name: &str, signal: Signal) {
    let (mut beyond, mut floor) = (Times::default(), Times::default());
    for _ in 0..rounds(ROUNDS) {
        let scratch = Scratch::new(10);
        scratch.add_shell_agent("terminal", &format!("{CHILDREN}{IGNORES_ALL}"));
        let mut ralph = start(&scratch);
        let tree = wait_for_descendants(ralph.0.id(), DESCENDANTS);
        let watched = Watched::new(&tree);
        let start = Instant::now();
        kill(Pid::from_raw(ralph.0.id().cast_signed()), signal).expect("a child that was not reaped");
        watched.wait();
        beyond.push(start.elapsed().saturating_sub(GRACE));
        ralph.0.wait().expect("ralph's end");
        floor.push(kill_one());
    }
    Row::new(format!("{name}, median"), beyond.median())
        .beside("kill of one child", floor.median())
        .at_most(MOST)
        .print();
    Row::new(format!("{name}, worst of {ROUNDS}"), beyond.percentile(100))
        .beside("kill of one child", floor.percentile(100))
        .at_most(MOST)
        .print();
}

fn start(scratch: &Scratch) -> Ralph {
    Ralph(scratch.run("jsonl", 1).stdout(Stdio::null()).spawn().expect("ralph"))
}

/// A running ralph, killed on drop, so that a failing bench leaves no agent behind.
struct Ralph(Child);

impl Drop for Ralph {
    fn drop(&mut self) {
        _ = self.0.kill(); // usually it has ended
        _ = self.0.wait();
    }
}

/// Returns the time to kill one child, the least that any stop can take.
fn kill_one() -> Duration {
    let mut child = std::process::Command::new("sleep")
        .arg("1000")
        .spawn()
        .expect("a process");
    let start = Instant::now();
    child.kill().expect("a child that runs");
    child.wait().expect("its end");
    start.elapsed()
}
