//! `kill -9` of the guard, of ralph, of both; and the leftovers of fifty sessions.

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Write},
    os::fd::OwnedFd,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_system::proc;
use rustix::process::{PidfdFlags, pidfd_open};

use super::{AGENT, DEADLINE, GUARD, ProcessSandbox, STUBBORN, alive_in};

/// A process that plays ralph, with an agent and all its stubborn children.
struct SupervisorProcess {
    process: Child,
    commands: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
    guard: Pid,
}

impl SupervisorProcess {
    fn start(sandbox: &ProcessSandbox, steps: &[&str]) -> SupervisorProcess {
        Self::start_without("", sandbox, steps)
    }

    /// As [`Self::start`], but the agent does not get the variable `without`.
    fn start_without(without: &str, sandbox: &ProcessSandbox, steps: &[&str]) -> SupervisorProcess {
        let mut process = Command::new(AGENT)
            .args(["supervise", GUARD])
            .arg(sandbox.path("scratch"))
            .args([&run_id(sandbox), "600000", AGENT])
            .args(steps)
            .env("WITHOUT", without)
            .current_dir(sandbox.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let commands = process.stdin.take().unwrap();
        let mut says = BufReader::new(process.stdout.take().unwrap()).lines();
        let guard = says.next().unwrap().unwrap();
        let guard = guard.strip_prefix("guard ").unwrap().parse().unwrap();
        SupervisorProcess {
            process,
            commands,
            says,
            guard: Pid::from_raw(guard),
        }
    }

    fn hear(&mut self) -> String {
        self.says.next().unwrap().unwrap()
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.commands, "{command}").unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Stops a process, and returns once all its threads have stopped.
fn freeze(pid: Pid) {
    kill(pid, Signal::SIGSTOP).unwrap();
    super::wait_until("a process stops", || {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let states = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
        states
            .into_iter()
            .all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
    });
}

fn run_id(sandbox: &ProcessSandbox) -> String {
    format!("run-{}", sandbox.dir.path().file_name().unwrap().to_string_lossy())
}

fn surrounded() -> (ProcessSandbox, SupervisorProcess) {
    surrounded_without("")
}

fn surrounded_without(without: &str) -> (ProcessSandbox, SupervisorProcess) {
    let sandbox = ProcessSandbox::new();
    let steps = [&["ignore-signals"], &STUBBORN[..], &["write ready x", "hang"]].concat();
    let supervisor = SupervisorProcess::start_without(without, &sandbox, &steps);
    sandbox.wait_for("ready");
    (sandbox, supervisor)
}

/// Waits until no process of the sandbox runs, other than `except` and zombies of foreign parents.
fn wait_until_gone(sandbox: &ProcessSandbox, except: Option<Pid>) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let running: Vec<(OwnedFd, String)> = alive_in(&sandbox.path(""))
            .into_iter()
            .filter_map(|process| {
                let pid = process
                    .split(' ')
                    .next()?
                    .parse()
                    .ok()
                    .filter(|pid| except.map(Pid::as_raw) != Some(*pid))?;
                let fd = pidfd_open(rustix::process::Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
                (!has_ended(&fd, Duration::ZERO)).then_some((fd, process))
            })
            .collect();
        let Some((first, _)) = running.first() else {
            return;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(
            !left.is_zero(),
            "{:?}",
            running.iter().map(|(_, process)| process).collect::<Vec<_>>()
        );
        has_ended(first, left);
    }
}

fn has_ended(process: &OwnedFd, within: Duration) -> bool {
    use std::os::fd::AsFd;
    let timeout = PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX);
    poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], timeout).unwrap() > 0
}

#[test]
fn no_child_survives_the_death_of_its_guard() {
    let (sandbox, mut ralph) = surrounded();
    kill(ralph.guard, Signal::SIGKILL).unwrap();
    assert_eq!(ralph.hear(), "ended GuardLost");
    let left: Vec<_> = alive_in(&sandbox.path(""))
        .into_iter()
        .filter(|process| !process.contains(" supervise "))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // Adopted children were reaped, too.
    ralph.tell("count");
    assert!(ralph.hear().starts_with("children 0 "));
    assert_eq!(sandbox.scratch_files(), 0);
    ralph.tell("quit");
    ralph.process.wait().unwrap();
}

#[test]
fn no_child_survives_an_agent_that_kills_its_whole_group_with_the_guard_in_it() {
    let sandbox = ProcessSandbox::new();
    let mut ralph = SupervisorProcess::start(&sandbox, &["spawn daemon", "spawn setsid", "kill-group SIGKILL"]);
    assert_eq!(ralph.hear(), "ended GuardLost");
    let left: Vec<_> = alive_in(&sandbox.path(""))
        .into_iter()
        .filter(|process| !process.contains(" supervise "))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    ralph.tell("quit");
    ralph.process.wait().unwrap();
}

#[test]
fn no_child_survives_the_death_of_ralph() {
    let (sandbox, mut ralph) = surrounded();
    ralph.kill();
    wait_until_gone(&sandbox, None);
    // Only the guard can remove its files now, and it has.
    assert_eq!(sandbox.scratch_files(), 0);
}

#[test]
fn the_death_of_ralph_is_not_the_end_of_an_agents_input() {
    let sandbox = ProcessSandbox::new();
    // Agents treat the end of their input as permission for what they have asked for.
    let steps = [
        "ignore-signals",
        "write ready x",
        "save-prompt copy",
        "write went-on x",
        "hang",
    ];
    let mut ralph = SupervisorProcess::start(&sandbox, &steps);
    sandbox.wait_for("ready");
    ralph.kill();
    wait_until_gone(&sandbox, None);
    assert_eq!(sandbox.read("went-on"), "");
}

#[test]
fn no_child_survives_a_ralph_that_dies_while_it_starts_one() {
    for _ in 0..10 {
        let sandbox = ProcessSandbox::new();
        let mut ralph = SupervisorProcess::start(&sandbox, &STUBBORN);
        ralph.kill();
        wait_until_gone(&sandbox, None);
    }
}

#[test]
fn what_is_left_when_both_were_killed_is_found_at_the_next_start() {
    // Goals do not see which run they belong to, and are found all the same.
    for without in ["", proc::RUN_ID_VAR] {
        is_found_when_both_were_killed(without);
    }
}

fn is_found_when_both_were_killed(without: &str) {
    let (sandbox, mut ralph) = surrounded_without(without);
    // ralph is stopped first, so that it cannot react to the death of its guard.
    freeze(ralph.pid());
    kill(ralph.guard, Signal::SIGKILL).unwrap();
    ralph.kill();
    let other = ProcessSandbox::new();
    assert_eq!(proc::Supervisor::default().sweep(&[run_id(&other)]), Vec::<u32>::new());
    let ended = proc::Supervisor::default().sweep(&["another".to_owned(), run_id(&sandbox)]);
    for kind in ["plain", "nohup", "own-group", "setsid", "double-fork", "stopped"] {
        let pid: u32 = sandbox.read(&format!("{kind}.pid")).trim().parse().unwrap();
        assert!(ended.contains(&pid), "{kind} is not among {ended:?}");
    }
    // Without guard, parent, session and environment, nothing identifies these as ralph's.
    for kind in ["env-clear-setsid", "daemon"] {
        let pid: i32 = sandbox.read(&format!("{kind}.pid")).trim().parse().unwrap();
        kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
    }
    end_respawner(&sandbox);
    wait_until_gone(&sandbox, None);
}

/// Ends the child that keeps replacing itself, and so has no pid file.
fn end_respawner(sandbox: &ProcessSandbox) {
    let deadline = Instant::now() + DEADLINE;
    while let Some(process) = alive_in(&sandbox.path(""))
        .iter()
        .find(|process| process.contains("--respawner"))
    {
        assert!(Instant::now() < deadline);
        let pid = process.split(' ').next().unwrap().parse().unwrap();
        // Killing the pid just read may be too late, since the process replaces itself: repeat until a kill hits
        // between two generations.
        kill(Pid::from_raw(pid), Signal::SIGKILL).ok();
    }
}

#[test]
fn a_sweep_ends_a_guard_that_is_still_there_with_all_it_guards() {
    let (sandbox, mut ralph) = surrounded();
    freeze(ralph.pid());
    freeze(ralph.guard);
    let ended = proc::Supervisor::default().sweep(&[run_id(&sandbox)]);
    assert!(ended.contains(&ralph.guard.as_raw().cast_unsigned()));
    wait_until_gone(&sandbox, Some(ralph.pid()));
    ralph.kill();
}

#[test]
fn a_sweep_for_nothing_finds_nothing() {
    assert_eq!(proc::Supervisor::default().sweep(&[]), Vec::<u32>::new());
    assert_eq!(
        proc::Supervisor::default().sweep(&["no-such-run".to_owned()]),
        Vec::<u32>::new()
    );
}

#[test]
fn memory_stays_small_under_a_flood_that_is_read_slowly() {
    let sandbox = ProcessSandbox::new();
    let mut ralph = SupervisorProcess::start(&sandbox, &["flood-color 100000000"]);
    assert_eq!(ralph.hear(), "ended Exited(Code { code: 0 })");
    ralph.tell("count");
    let peak: u64 = ralph.hear().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(peak < 40_000, "{peak} kB");
    ralph.tell("quit");
    ralph.process.wait().unwrap();
}

#[test]
fn fifty_sessions_leave_no_descriptor_no_thread_and_no_zombie() {
    let sandbox = ProcessSandbox::new();
    let mut ralph = SupervisorProcess::start(&sandbox, &["say x", "spawn daemon", "kill-self SIGKILL"]);
    assert!(ralph.hear().starts_with("ended"));
    let count = |ralph: &mut SupervisorProcess| {
        ralph.tell("count");
        ralph.hear().split(" peak").next().unwrap().to_owned()
    };
    let settled = |ralph: &mut SupervisorProcess, expected: &str| {
        let deadline = Instant::now() + DEADLINE;
        // The thread that reports `ended` still exists while it does so.
        while count(ralph) != expected {
            assert!(Instant::now() < deadline, "{} instead of {expected}", count(ralph));
        }
    };
    settled(&mut ralph, "children 0 fds 0 threads 1");
    for _ in 0..50 {
        ralph.tell("again");
        for expected in ["guard", "ended"] {
            let heard = ralph.hear();
            assert!(heard.starts_with(expected), "{heard}");
        }
    }
    settled(&mut ralph, "children 0 fds 0 threads 1");
    assert_eq!(sandbox.scratch_files(), 0);
    ralph.tell("quit");
    ralph.process.wait().unwrap();
}

#[test]
fn a_lost_guard_is_made_up_for_by_marks_and_sessions_where_there_is_no_subreaper() {
    let sandbox = ProcessSandbox::new();
    // This process is not a subreaper. Children without environment whose parent is gone as well cannot be found then.
    let found: Vec<&str> = STUBBORN
        .into_iter()
        .filter(|kind| !["spawn daemon", "spawn respawn"].contains(kind))
        .collect();
    let steps = [&["ignore-signals"], &found[..], &["say ready", "hang"]].concat();
    let mut session = sandbox.start(sandbox.launch(&steps));
    session.until("ready");
    kill(
        Pid::from_raw(session.child().guard_pid().cast_signed()),
        Signal::SIGKILL,
    )
    .unwrap();
    let end = loop {
        if let Some((end, _)) = session.next() {
            break end;
        }
    };
    assert_eq!(end, proc::ChildEnd::GuardLost);
    // The processes were adopted by the init process, which reaps them in its own time.
    wait_until_gone(&sandbox, None);
}
