//! The functions of `linux.rs` for other Unixes: with `ps`, `sigwait`, and asking for the parent.
//!
//! Without sub-reapers, a process that starts a session of its own and then loses its parent is found only by its
//! environment, and one without that environment escapes. The tests run on Linux; this file is kept small because it is
//! not tested elsewhere.

use std::{
    fs::File,
    io::{self, Seek, Write},
    os::fd::{BorrowedFd, OwnedFd},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::signal::{SigSet, Signal},
    unistd::{Pid, getppid, getsid},
};

use super::{
    Confinement, ConfinementLevel, Mount, OnRefused, StopSpeed,
    helper::{Helper, Helpers},
    process::Process,
    signals::{GuardEvent, INPUT_ENDED, SIGNALS, STOP_GRACEFULLY, STOP_IMMEDIATELY},
};

const PARENT_POLL: Duration = Duration::from_millis(100);

/// Having no children proves nothing: a descendant may have been adopted by init.
pub(super) const SUBREAPERS: bool = false;

/// `None`: a replaced file has no name here, so the path of the executable has to do.
pub(super) const OWN_EXECUTABLE: Option<&str> = None;

pub(super) fn become_subreaper() -> Result<(), Errno> {
    Ok(())
}

pub(super) fn stop_being_subreaper() -> Result<(), Errno> {
    Ok(())
}

/// Returns `None`: limits on memory have no effect on this system.
pub(super) fn resident_bytes(_pid: Pid) -> Option<u64> {
    None
}

/// As [`resident_bytes`].
pub(super) fn proportional_bytes(_pid: Pid) -> Option<u64> {
    None
}

/// As [`resident_bytes`].
pub(super) fn written_bytes(_pid: Pid) -> Option<u64> {
    None
}

/// Does nothing: the system chooses by itself.
pub(super) fn prefer_as_victim(_pid: Pid) {}

/// Has this process, and what it starts, yield to others.
pub(super) fn yield_to_others() {
    _ = rustix::process::nice(19); // a failure only leaves it more of the machine
}

pub(super) fn is_subreaper() -> bool {
    false
}

/// Returns `None`: this system has no such descriptors.
pub(super) fn pidfd(_child: Pid) -> Option<OwnedFd> {
    None
}

/// Returns the lowest level: ralph knows no confinement for this system.
pub(super) fn confinement_level() -> ConfinementLevel {
    ConfinementLevel::None
}

/// Calls `start`, unless confinement is required.
pub(super) fn confined<T: Send>(confinement: &Confinement, start: impl FnOnce() -> T + Send) -> io::Result<T> {
    match confinement.required {
        true => Err(io::Error::other("confinement is not supported on this system")),
        false => Ok(start()),
    }
}

/// As [`confined`].
pub(super) fn start_confined<T: Send>(
    confinement: &Confinement,
    _ralph: Pid,
    _on_refused: OnRefused,
    start: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    confined(confinement, start)
}

/// Refuses to mount anything.
pub(super) fn mount(mounts: &[Mount]) -> io::Result<()> {
    match mounts.is_empty() {
        true => Ok(()),
        false => Err(io::Error::other("directories are mounted on Linux alone")),
    }
}

/// Returns false: this system has no namespaces.
pub(super) fn leave_queues() -> bool {
    false
}

/// Checks that no confinement is required.
pub(super) fn try_out(confinement: &Confinement) -> io::Result<()> {
    confined(confinement, || ())
}

/// Returns false: ralph holds no calls on this system.
pub(super) fn mediates() -> bool {
    false
}

/// Returns false: this cannot be found out here.
pub(super) fn peer_has_ended(_socket: BorrowedFd<'_>) -> bool {
    false
}

/// Returns a file without a name that holds `bytes`, positioned at its beginning.
pub(super) fn anonymous_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Calls `start` without a limit: allocations cannot be limited here.
pub(super) fn with_memory_limit<T>(_bytes: u64, start: impl FnOnce() -> T) -> T {
    start()
}

pub(super) fn name_guard() {}

pub(super) fn process(pid: Pid) -> Option<Process> {
    table(&["-p", &pid.to_string()]).pop()
}

/// Returns false: this cannot be found out here.
pub(super) fn runs_this_executable(_pid: Pid) -> bool {
    false
}

pub(super) fn processes() -> Vec<Process> {
    table(&["-ax"])
}

/// Returns `None`: the system keeps no lists of children, so the whole table has to be read.
pub(super) fn children(_: Pid) -> Option<Vec<Pid>> {
    None
}

/// Returns the processes whose environment holds one of `marks`: how a variable begins, with a NUL after its
/// whole value.
pub(super) fn carriers(all: &[Process], marks: &[Vec<u8>]) -> Vec<Pid> {
    let with_environment = if cfg!(target_os = "macos") { "-axwwE" } else { "axeww" };
    let listing = ps(&[with_environment, "-o", "pid=,command="]);
    let carrying = listing.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok().map(Pid::from_raw)?;
        words
            .map(|word| format!("{word}\0"))
            .any(|variable| marks.iter().any(|mark| variable.as_bytes().starts_with(mark)))
            .then_some(pid)
    });
    carrying
        .filter(|pid| all.iter().any(|process| process.pid == *pid))
        .collect()
}

pub(super) fn command_line(pid: Pid) -> Vec<u8> {
    let words = ps(&["-ww", "-o", "command=", "-p", &pid.to_string()]);
    words.split_whitespace().collect::<Vec<_>>().join("\0").into_bytes()
}

/// There is no cheap way to see a process's directory here.
pub(super) fn working_directory(_: Pid) -> Option<PathBuf> {
    None
}

/// There is no cheap way to see a process's standard input here.
pub(super) fn piped_input(_: Pid) -> Option<(u64, u64)> {
    None
}

fn ps(args: &[&str]) -> String {
    // A separate set of children suffices: without sub-reapers, no child is mistaken for an orphan.
    let helpers = Helpers::without_guard(Arc::default());
    let finished = Helper::new(&helpers, "ps").args(args).run();
    finished
        .map(|finished| String::from_utf8_lossy(&finished.stdout.bytes).into_owned())
        .unwrap_or_default()
}

fn table(which: &[&str]) -> Vec<Process> {
    let args = [which, &["-o", "pid=,ppid=,pgid=,stat=,time=,comm="]].concat();
    // `ps` lists itself, a process that has ended by the time its output is parsed.
    ps(&args)
        .lines()
        .filter_map(parse)
        .filter(|process| process.name != "ps")
        .collect()
}

fn parse(line: &str) -> Option<Process> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse().ok().map(Pid::from_raw);
    let (pid, parent, group) = (number()?, number()?, number()?);
    let state = words.next()?;
    let cpu = parse_time(words.next()?)?;
    let name = words.collect::<Vec<_>>().join(" ");
    Some(Process {
        pid,
        parent,
        group,
        // On some systems the session that `ps` prints is an address.
        session: getsid(Some(pid)).unwrap_or(Pid::from_raw(0)),
        name: name.rsplit('/').next().unwrap_or_default().to_owned(),
        ended: state.starts_with('Z'),
        cpu,
    })
}

/// Reads `[[days-]hours:]minutes:seconds[.hundredths]`.
fn parse_time(text: &str) -> Option<Duration> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let mut seconds = 0.0;
    for part in clock.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Duration::try_from_secs_f64(days.parse::<f64>().ok()? * 86_400.0 + seconds).ok()
}

/// Signals as they arrive, read by a thread of their own.
pub(super) struct SignalQueue(Receiver<Signal>);

pub(super) struct GuardEvents {
    signals: SignalQueue,
    ralph: Pid,
    ralph_gone: bool,
}

impl GuardEvents {
    pub(super) fn block_signals() -> Result<SignalQueue, Errno> {
        let signals: SigSet = SIGNALS.into_iter().collect();
        signals.thread_block()?;
        let (sender, receiver) = mpsc::channel();
        let reader = move || {
            while let Ok(signal) = signals.wait() {
                if sender.send(signal).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(reader).map_err(|_| Errno::EAGAIN)?;
        Ok(SignalQueue(receiver))
    }

    pub(super) fn new(signals: SignalQueue, ralph: Pid) -> GuardEvents {
        GuardEvents {
            signals,
            ralph,
            ralph_gone: false,
        }
    }

    pub(super) fn next(&mut self, deadline: Option<Instant>) -> GuardEvent {
        loop {
            if !self.ralph_gone && getppid() != self.ralph {
                self.ralph_gone = true;
                return GuardEvent::RalphGone;
            }
            let mut child_ended = false;
            while let Ok(signal) = self.signals.0.try_recv() {
                match meaning(signal) {
                    Some(GuardEvent::ChildEnded) => child_ended = true,
                    Some(event) => return event,
                    None => {}
                }
            }
            // Before the children: `ps` is one, and must not hold up the ladder that it is run for.
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return GuardEvent::Due;
            }
            if child_ended {
                return GuardEvent::ChildEnded;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let slice = left.map_or(PARENT_POLL, |left| left.min(PARENT_POLL));
            if let Some(event) = self.signals.0.recv_timeout(slice).ok().and_then(meaning) {
                return event;
            }
        }
    }
}

fn meaning(signal: Signal) -> Option<GuardEvent> {
    match signal {
        Signal::SIGCHLD => Some(GuardEvent::ChildEnded),
        Signal::SIGTERM | STOP_GRACEFULLY => Some(GuardEvent::Asked(StopSpeed::Graceful)),
        STOP_IMMEDIATELY => Some(GuardEvent::Asked(StopSpeed::Immediate)),
        INPUT_ENDED => Some(GuardEvent::InputEnded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_length_are_read() {
        let seconds = |text| parse_time(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("0:01.25"), Some(1.25));
        assert_eq!(seconds("12:34"), Some(754.0));
        assert_eq!(seconds("1-02:03:04"), Some(93_784.0));
        assert_eq!(seconds("?"), None);
    }

    #[test]
    fn this_process_is_in_its_own_table() {
        let here = process(nix::unistd::getpid()).unwrap();
        assert_eq!(here.parent, getppid());
        assert!(processes().iter().any(|process| process.pid == here.pid));
    }
}
