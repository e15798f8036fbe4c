//! The second net: finds what a killed guard, or a killed ralph, has left behind, by identity and never by name.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
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

use super::{RUN_ID_VAR, process::Process, system, tree};

/// Marks every descendant of one child that keeps its environment; unlike the run's mark, no two children share it.
pub(super) const CHILD_ID_VAR: &str = "RALPH_CHILD_ID";

/// How long to go on killing what does not die.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);

/// The children of this process.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// Those that it has started and not reaped: guards, and helpers without one. Held while one is started or reaped: a
    /// child that is not in here is taken for one that was left behind.
    started: Mutex<BTreeSet<i32>>,
    /// Those that it had before it was ralph: `sh -c 'server & exec ralph'` is one way to get some.
    inherited: OnceLock<Vec<Process>>,
}

impl Children {
    /// Returns the pids of the children that this process has started, locked.
    pub(super) fn started(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes this process the parent of whatever a killed guard leaves behind.
    pub(super) fn become_subreaper(&self) {
        self.inherited.get_or_init(|| {
            let started = self.started();
            let mut children = tree::children(getpid());
            children.retain(|child| !started.contains(&child.pid.as_raw()));
            children
        });
        // Refused by kernels before 3.4 only; the guards are sub-reapers of their own, this is the second net.
        _ = system::become_subreaper();
    }

    /// Ends the children that this process did not start.
    pub(super) fn end_orphans(&self) {
        // Called after every checkpoint, where there is hardly ever an orphan.
        if system::is_subreaper() && !self.orphans(&self.started()).is_empty() {
            self.end_adopted(Instant::now() + PATIENCE);
        }
    }

    /// Ends at once everything that belonged to a guard that was killed.
    pub(super) fn end_orphans_of(&self, guard: Pid, child_id: &str) {
        let marks = [mark(CHILD_ID_VAR, child_id)];
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            // On Linux this is all of it, and exact: what has lost its guard is now below this process.
            self.end_adopted(deadline);
            let others = self.marked_family(&marks, Some(guard));
            if others.is_empty() {
                return;
            }
            let killed = kill_families(&others);
            pause_unless(!killed.is_empty());
        }
    }

    /// Kills and reaps the orphans that this process has adopted, until there are none.
    fn end_adopted(&self, deadline: Instant) {
        if !system::is_subreaper() {
            return;
        }
        let mut killed = HashSet::new();
        while Instant::now() < deadline {
            self.reap_adopted();
            // Those that have ended and are not reaped yet count: each may have handed on a child just now.
            let orphans = self.orphans(&self.started());
            if orphans.is_empty() {
                return;
            }
            let before = killed.len();
            killed.extend(kill_families(&orphans));
            pause_unless(killed.len() > before);
        }
    }

    /// Reaps every adopted child that has ended, one by one: `waitpid(-1)` would steal the exit codes of others.
    pub(super) fn reap_adopted(&self) {
        if !system::is_subreaper() {
            return;
        }
        // Locked until they are reaped: then their pids may be those of the next children.
        let started = self.started();
        for process in self.orphans(&started) {
            if process.ended {
                _ = waitpid(process.pid, Some(WaitPidFlag::WNOHANG));
            }
        }
    }

    /// Returns the children of this process that it never started, those included that wait to be reaped.
    fn orphans(&self, started: &BTreeSet<i32>) -> Vec<Process> {
        let here = getpid();
        let mut orphans = tree::children(here);
        orphans.retain(|child| {
            child.parent == here && !started.contains(&child.pid.as_raw()) && !self.is_inherited(child)
        });
        orphans
    }

    /// Tells whether a child was there before this process was ralph, or may come from one that was: a process that it left
    /// behind is in its process group, unless it is a daemon.
    pub(super) fn is_inherited(&self, child: &Process) -> bool {
        let inherited = self.inherited.get().map(Vec::as_slice).unwrap_or_default();
        inherited
            .iter()
            .any(|other| other.pid == child.pid || other.group == child.group)
    }

    /// Returns the living processes that carry one of `marks`, with their families.
    fn marked_family(&self, marks: &[Vec<u8>], guard: Option<Pid>) -> Vec<Process> {
        let all = system::processes();
        let marked = system::carriers(&all, marks).into_iter().collect();
        let known = self.started().iter().copied().map(Pid::from_raw).collect();
        let mut family = family(&all, marked, guard, &known);
        family.retain(|process| !process.ended);
        family
    }
}

/// Ends whatever runs of these ids have left running, and returns the pids.
pub(super) fn sweep(children: &Children, run_ids: &[String]) -> Vec<u32> {
    if run_ids.is_empty() {
        return Vec::new();
    }
    let marks: Vec<Vec<u8>> = run_ids.iter().map(|id| mark(RUN_ID_VAR, id)).collect();
    let mut ended = HashSet::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = ended.len();
        let targets = children.marked_family(&marks, None);
        let (guards, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|process| is_guard(process.pid));
        ended.extend(kill_families(&others));
        for guard in &guards {
            // Guards last: as long as one lives, what is orphaned below it stays below it.
            ended.extend(tree::kill_all(|| tree::descendants(guard.pid)));
            if tree::descendants(guard.pid).iter().all(|process| process.ended) {
                ended.insert(guard.pid);
                tree::signal_awake(guard.pid, Signal::SIGKILL);
            }
        }
        if guards.is_empty() && others.is_empty() || Instant::now() >= deadline {
            break;
        }
        pause_unless(ended.len() > before);
    }
    ended.into_iter().map(|pid| pid.as_raw().cast_unsigned()).collect()
}

/// Finds what [`sweep`] would end, and leaves it alone.
pub(super) fn left_running(children: &Children, run_ids: &[String]) -> Vec<u32> {
    if run_ids.is_empty() {
        return Vec::new();
    }
    let marks: Vec<Vec<u8>> = run_ids.iter().map(|id| mark(RUN_ID_VAR, id)).collect();
    let found = children.marked_family(&marks, None);
    found
        .iter()
        .map(|process| process.pid.as_raw().cast_unsigned())
        .collect()
}

fn pause_unless(progress: bool) {
    if !progress {
        // Nothing tells when a process that is no child of ours has ended.
        thread::sleep(PAUSE);
    }
}

/// Kills these and everything below them.
fn kill_families(heads: &[Process]) -> HashSet<Pid> {
    let killed = tree::kill_all(|| heads.iter().flat_map(|head| tree::descendants(head.pid)).collect());
    let heads = heads.iter().filter(|head| !head.ended).map(|head| head.pid);
    let heads = heads.inspect(|&pid| tree::signal_awake(pid, Signal::SIGKILL));
    killed.into_iter().chain(heads).collect()
}

fn mark(name: &str, value: &str) -> Vec<u8> {
    format!("{name}={value}").into_bytes()
}

/// Widens `found` to the sessions and descendants of what is in it; `guard` is a session that is lost as a whole.
///
/// `known` are children of this process, which are left alone.
fn family(all: &[Process], mut found: HashSet<Pid>, guard: Option<Pid>, known: &HashSet<Pid>) -> Vec<Process> {
    let spared = lineage(all);
    let own_session = getsid(None).ok();
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

pub(super) fn is_guard(pid: Pid) -> bool {
    system::command_line(pid).split(|&byte| byte == 0).nth(1) == Some(b"__guard")
}
