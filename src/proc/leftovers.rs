//! The second net: finds what a killed guard, or a killed ralph, has left behind, by identity and never by name.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::{
        signal::Signal,
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, getpid, getsid},
};

use super::{
    HELPER_VAR, RUN_ID_VAR, system,
    tree::{self, Process},
};

/// Marks every descendant of one child that keeps its environment; unlike the run's mark, no two children share it.
pub(super) const CHILD_ID_VAR: &str = "RALPH_CHILD_ID";

/// How long to go on killing what does not die.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// The guards of this process. Held while one is started: a guard that is not in here yet looks like an orphan.
static GUARDS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Returns the guards of this process, locked.
pub(super) fn guards() -> MutexGuard<'static, BTreeSet<i32>> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes ralph the parent of whatever a killed guard leaves behind. To be called once, at start.
///
/// From then on, what ralph starts in a session of its own has to be started with [`super::spawn`]: any other child
/// in a foreign session is taken for one that was left behind. Elsewhere than on Linux this does nothing.
pub fn become_subreaper() {
    // Refused by kernels before 3.4 only; the guards are sub-reapers of their own, this is the second net.
    _ = system::become_subreaper();
}

/// Ends whatever runs of these ids have left running, and returns the pids.
///
/// For the start, when the runs are known to be over: ralph and guard were both killed. Found are processes that carry
/// one of the ids as [`RUN_ID_VAR`], everything below them, and everything in their sessions. This process and those
/// above it are never touched. Blocks for at most three seconds if something does not die.
#[must_use]
pub fn sweep(run_ids: &[String]) -> Vec<u32> {
    if run_ids.is_empty() {
        return Vec::new();
    }
    let marks: Vec<Vec<u8>> = run_ids.iter().map(|id| mark(RUN_ID_VAR, id)).collect();
    let mut ended = BTreeSet::new();
    end_all(&mut ended, |all| {
        let marked = system::carriers(all, &marks).into_iter().collect();
        family(all, marked, None)
    });
    ended.into_iter().map(i32::cast_unsigned).collect()
}

/// Ends at once everything that belonged to a guard that was killed.
pub(super) fn end_orphans_of(guard: Pid, child_id: &str) {
    let marks = [mark(CHILD_ID_VAR, child_id)];
    end_all(&mut BTreeSet::new(), |all| {
        let marked = system::carriers(all, &marks).into_iter();
        family(all, marked.chain(orphans(all)).collect(), Some(guard))
    });
    reap_adopted();
}

/// Reaps every adopted child that has ended, one by one: `waitpid(-1)` would steal the exit codes of others.
pub(super) fn reap_adopted() {
    if !system::is_subreaper() {
        return;
    }
    let known = guards();
    for process in adopted(&tree::children(getpid()), &known) {
        if process.ended {
            _ = waitpid(process.pid, Some(WaitPidFlag::WNOHANG));
        }
    }
}

/// Picks the children of this process that it never started.
///
/// What ralph starts itself stays in ralph's session, guards excepted; what a guard leaves behind cannot be in it.
fn adopted<'a>(all: &'a [Process], known: &BTreeSet<i32>) -> Vec<&'a Process> {
    let here = getpid();
    let Ok(session) = getsid(None) else {
        return Vec::new();
    };
    all.iter()
        .filter(|process| process.parent == here && process.session != session)
        .filter(|process| !known.contains(&process.pid.as_raw()))
        .collect()
}

/// Picks the adopted children that no helper of ralph has left behind.
fn orphans(all: &[Process]) -> Vec<Pid> {
    if !system::is_subreaper() {
        return Vec::new();
    }
    let helper = [mark(HELPER_VAR, "1")];
    let adopted: Vec<Process> = adopted(all, &guards()).into_iter().cloned().collect();
    let helpers = system::carriers(&adopted, &helper);
    adopted
        .iter()
        .map(|process| process.pid)
        .filter(|pid| !helpers.contains(pid))
        .collect()
}

fn mark(name: &str, value: &str) -> Vec<u8> {
    format!("{name}={value}").into_bytes()
}

/// Widens `found` to the sessions and descendants of what is in it; `guard` is a session that is lost as a whole.
fn family(all: &[Process], mut found: HashSet<Pid>, guard: Option<Pid>) -> Vec<Process> {
    let spared = lineage(all);
    let own_session = getsid(None).ok();
    let known: HashSet<Pid> = guards().iter().copied().map(Pid::from_raw).collect();
    found.retain(|pid| !spared.contains(pid) && !known.contains(pid));
    loop {
        let before = found.len();
        let mut sessions: HashSet<Pid> = all
            .iter()
            .filter(|process| found.contains(&process.pid))
            .map(|process| process.session)
            .collect();
        sessions.extend(guard);
        sessions.retain(|session| {
            // A session led by ralph's own ancestors, or by none (0), is not theirs.
            Some(*session) != own_session && session.as_raw() > 0 && !spared.contains(session)
        });
        found.extend(
            all.iter()
                .filter(|process| sessions.contains(&process.session))
                .map(|process| process.pid),
        );
        found.extend(tree::below(all, &found).into_iter().map(|process| process.pid));
        found.retain(|pid| !spared.contains(pid) && !known.contains(pid));
        if found.len() <= before {
            break;
        }
    }
    all.iter()
        .filter(|process| found.contains(&process.pid))
        .cloned()
        .collect()
}

/// Returns this process and those above it.
fn lineage(all: &[Process]) -> HashSet<Pid> {
    let mut lineage = HashSet::from([Pid::from_raw(1)]);
    let mut pid = getpid();
    while lineage.insert(pid) {
        match all.iter().find(|process| process.pid == pid) {
            Some(process) => pid = process.parent,
            None => break,
        }
    }
    lineage
}

/// Kills what `find` finds, again and again until it finds nothing alive.
fn end_all(ended: &mut BTreeSet<i32>, find: impl Fn(&[Process]) -> Vec<Process>) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut targets = find(&system::processes());
        targets.retain(|process| !process.ended);
        if targets.is_empty() || Instant::now() >= deadline {
            return;
        }
        // Guards last: as long as one lives, what is orphaned below it stays in sight.
        if targets.iter().any(|process| !is_guard(process.pid)) {
            targets.retain(|process| !is_guard(process.pid));
        }
        for process in targets {
            ended.insert(process.pid.as_raw());
            tree::signal_awake(process.pid, Signal::SIGKILL);
        }
        reap_adopted();
        // Nothing tells when a process that is not a child has ended.
        thread::sleep(PAUSE);
    }
}

fn is_guard(pid: Pid) -> bool {
    system::command_line(pid).split(|&byte| byte == 0).nth(1) == Some(b"__guard")
}
