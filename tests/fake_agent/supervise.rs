//! Plays ralph for tests in which ralph is killed: starts a program under a guard and reports on stdout.
//!
//! ```text
//! fake-agent supervise GUARD SCRATCH RUN_ID GRACE_MS PROGRAM ARG…
//! ```
//! Prints `guard PID` once it runs and `ended …` at the end. Reads the commands `stop`, `at-once`, `drop`, `again`
//! (after an end), `quit` and `count` from stdin, one a line. `count` prints `children N fds N threads N peak-kb N`,
//! with descriptors counted since the start. It reads output slowly. The program does not get the variable that
//! `WITHOUT` names.

use std::{
    fs,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use ralph_system::proc::{ChildEnd, Ladder, Launch, OutputSink, Stdin, StopSignal, StopSpeed, Supervisor};

use crate::Outcome;

struct SlowOutput {
    /// Held until the guard was announced: a program that ends at once must not be reported before.
    named: Arc<Mutex<()>>,
}

impl OutputSink for SlowOutput {
    fn terminal(&mut self, _: &[u8]) {
        // Slower than any program writes, so that `peak-kb` shows the largest buffer that is needed.
        thread::sleep(Duration::from_micros(20));
    }

    fn stdout(&mut self, _: &[u8]) {}

    fn ended(&mut self, end: ChildEnd) {
        let _named = self.named.lock();
        say(&format!("ended {end:?}"));
    }
}

pub fn run(args: &[String]) -> Outcome<()> {
    let [guard, scratch, run_id, grace, program, args @ ..] = args else {
        return Err("supervise GUARD SCRATCH RUN_ID GRACE_MS PROGRAM ARG…".to_owned());
    };
    // The process that started the tests may have left descriptors open.
    let inherited = fds();
    let supervisor = Supervisor::default();
    supervisor.become_subreaper();
    let grace = Duration::from_millis(grace.parse().map_err(|_| "GRACE_MS is not a number")?);
    let here = std::env::current_dir().map_err(|error| error.to_string())?;
    let launch = Launch {
        args: args.iter().map(Into::into).collect(),
        env_remove: std::env::var("WITHOUT").into_iter().collect(),
        stdin: Stdin::Piped,
        ladder: Ladder {
            first: StopSignal::Interrupt,
            grace,
        },
        guard: Some(PathBuf::from(guard)),
        ..Launch::new(program, &here, grace, run_id, Path::new(scratch))
    };
    let start = || {
        let named = Arc::new(Mutex::new(()));
        let report = SlowOutput { named: named.clone() };
        let _until_named = named.lock();
        let child = supervisor
            .spawn(launch.clone(), Box::new(report))
            .map_err(|error| error.to_string())?;
        say(&format!("guard {}", child.guard_pid()));
        Ok::<_, String>(Some(child))
    };
    let mut child = start()?;
    for line in io::stdin().lock().lines() {
        match (line.map_err(|error| error.to_string())?.as_str(), &child) {
            ("stop", Some(child)) => child.stop(StopSpeed::Graceful),
            ("at-once", Some(child)) => child.stop(StopSpeed::Immediate),
            ("drop", Some(_)) => child = None,
            ("again", _) => child = start()?,
            ("count", _) => say(&count(inherited)),
            ("quit", _) => return Ok(()),
            (other, _) => return Err(format!("`{other}`: no such command now")),
        }
    }
    Ok(())
}

fn say(line: &str) {
    _ = writeln!(io::stdout(), "{line}");
}

fn fds() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn count(inherited: usize) -> String {
    let children: usize = fs::read_dir("/proc/self/task").map_or(0, |threads| {
        let lists = threads
            .flatten()
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        lists.map(|list| list.split_whitespace().count()).sum()
    });
    let fds = fds().abs_diff(inherited);
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0");
    let peak = peak.trim().trim_end_matches(" kB");
    format!("children {children} fds {fds} threads {threads} peak-kb {peak}")
}
