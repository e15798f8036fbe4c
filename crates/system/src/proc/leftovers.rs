//! The second net: finds processes that a killed guard, or a killed ralph, has left behind, by identity and never by
//! name.

use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsString,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
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
use parking_lot::{Condvar, Mutex};

use super::{RUN_ID_VAR, process::Process, system, tree};

/// Marks every descendant of one child that keeps its environment; unlike the run's mark, no two children share it.
pub(super) const CHILD_ID_VAR: &str = "RALPH_CHILD_ID";

/// Marks the tree of a child that must not see that ralph has started it: systemd names each start of a service so.
const UNNAMED_VAR: &str = "INVOCATION_ID";

/// How long to keep killing processes that do not die.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);

/// The children of this process.
#[derive(Debug, Default)]
pub(super) struct StartedChildren {
    /// Pids of the children that it has started and not reaped: guards, and helpers without one. Locked while a child
    /// is started or reaped: a child that is missing here counts as an orphan.
    pub(super) started: Mutex<BTreeSet<i32>>,
    /// Children from before this process became ralph; `sh -c 'server & exec ralph'` makes one, for example.
    inherited: OnceLock<Vec<Process>>,
    /// Whether this process never becomes the parent of orphans.
    adopts_none: AtomicBool,
    /// The number of guards that are waited for.
    guards: Mutex<usize>,
    guard_ended: Condvar,
}

impl StartedChildren {
    /// Makes this process the parent of all processes that a killed guard leaves behind.
    pub(super) fn become_subreaper(&self) {
        if self.adopts_none.load(Ordering::Acquire) {
            return;
        }
        self.inherited.get_or_init(|| {
            let started = self.started.lock();
            let mut children = tree::children(getpid());
            children.retain(|child| !started.contains(&child.pid.as_raw()));
            children
        });
        // Refused only by kernels before 3.4. The guards are sub-reapers of their own; this is the second net.
        _ = system::become_subreaper();
    }

    /// Adopts no orphans from now on.
    pub(super) fn stop_adopting(&self) {
        self.adopts_none.store(true, Ordering::Release);
        // Refused only by kernels that have no sub-reapers.
        _ = system::stop_being_subreaper();
    }

    pub(super) fn guard_started(&self) {
        *self.guards.lock() += 1;
    }

    pub(super) fn guard_ended(&self) {
        *self.guards.lock() -= 1;
        self.guard_ended.notify_all();
    }

    /// Returns once no guard is left, or when that takes too long. Guards that were told to end have their trees to end first.
    pub(super) fn wait_for_guards(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut guards = self.guards.lock();
        while *guards > 0 && !self.guard_ended.wait_until(&mut guards, deadline).timed_out() {}
    }

    /// Ends the children that this process did not start.
    pub(super) fn end_orphans(&self) {
        // Called after every checkpoint, where there is hardly ever an orphan.
        if system::is_subreaper() && !self.orphans(&self.started.lock()).is_empty() {
            self.end_adopted(Instant::now() + PATIENCE);
        }
    }

    /// Ends at once everything that belonged to a guard that was killed.
    pub(super) fn end_orphans_of(&self, guard: Pid, child_id: &str) {
        let marks = marks(CHILD_ID_VAR, [child_id]);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            // On Linux this finds all of them and no others: processes that have lost their guard are now below this
            // process.
            self.end_adopted(deadline);
            let others = self.marked_family(&marks, Some(guard));
            if others.is_empty() {
                return;
            }
            let killed = kill_families(&others);
            pause_unless(!killed.is_empty());
        }
    }

    /// Kills and reaps the orphans that this process has adopted, until none is left.
    fn end_adopted(&self, deadline: Instant) {
        if !system::is_subreaper() {
            return;
        }
        let mut killed = HashSet::new();
        while Instant::now() < deadline {
            self.reap_adopted();
            // Orphans that have ended and are not reaped yet count: each may have just handed on a child.
            let orphans = self.orphans(&self.started.lock());
            if orphans.is_empty() {
                return;
            }
            let before = killed.len();
            killed.extend(kill_families(&orphans));
            pause_unless(killed.len() > before);
        }
    }

    /// Reaps every adopted child that has ended, one by one: `waitpid(-1)` would steal the exit codes of other
    /// children.
    pub(super) fn reap_adopted(&self) {
        if !system::is_subreaper() {
            return;
        }
        // Locked until they are reaped: then their pids may be those of the next children.
        let started = self.started.lock();
        for process in self.orphans(&started) {
            if process.ended {
                _ = waitpid(process.pid, Some(WaitPidFlag::WNOHANG));
            }
        }
    }

    /// Returns the children that this process never started, unreaped ones included.
    fn orphans(&self, started: &BTreeSet<i32>) -> Vec<Process> {
        let here = getpid();
        let mut orphans = tree::children(here);
        orphans.retain(|child| {
            child.parent == here && !started.contains(&child.pid.as_raw()) && !self.is_inherited(child)
        });
        orphans
    }

    /// Whether a child was there before this process became ralph, or may come from such a child: it shares the child's
    /// process group, unless it is a daemon.
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
        let known = self.started.lock().iter().copied().map(Pid::from_raw).collect();
        let mut family = family(&all, marked, guard, &known);
        family.retain(|process| !process.ended);
        family
    }
}

/// Ends all processes that the runs with these ids have left running, and returns their pids.
pub(super) fn sweep(children: &StartedChildren, run_ids: &[String]) -> Vec<u32> {
    if run_ids.is_empty() {
        return Vec::new();
    }
    let marks = marks(RUN_ID_VAR, run_ids);
    let mut ended = HashSet::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = ended.len();
        let targets = children.marked_family(&marks, None);
        let (guards, others): (Vec<_>, Vec<_>) = targets.into_iter().partition(|process| is_guard(process.pid));
        ended.extend(kill_families(&others));
        for guard in &guards {
            // Guards last: as long as one lives, processes orphaned below it stay below it.
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

/// Returns the pids that [`sweep`] would end, without ending them.
pub(super) fn left_running(children: &StartedChildren, run_ids: &[String]) -> Vec<u32> {
    if run_ids.is_empty() {
        return Vec::new();
    }
    let marks = marks(RUN_ID_VAR, run_ids);
    let found = children.marked_family(&marks, None);
    found
        .iter()
        .map(|process| process.pid.as_raw().cast_unsigned())
        .collect()
}

fn pause_unless(progress: bool) {
    if !progress {
        // The end of a process that is not a child of ralph's is not signalled.
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

/// How the variables begin that mark what belongs to one of `ids`, which are values of `name`; each ends with a NUL.
fn marks<'a>(name: &str, ids: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> Vec<Vec<u8>> {
    let both = |id: &str| {
        let unnamed = match name {
            RUN_ID_VAR => format!("{UNNAMED_VAR}={}", digest(id)),
            _ => format!("{UNNAMED_VAR}={}\0", unnamed_id(id)),
        };
        [format!("{name}={id}\0"), unnamed].map(String::into_bytes)
    };
    ids.into_iter().flat_map(|id| both(id.as_ref())).collect()
}

/// Returns the environment of a child without the variables that name ralph, and with one that marks it as they do.
pub(super) fn unnamed(environment: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut child_id = None;
    let mut left: Vec<_> = environment
        .filter(|(name, value)| {
            if name == CHILD_ID_VAR {
                child_id = Some(value.to_string_lossy().into_owned());
            }
            ![CHILD_ID_VAR, RUN_ID_VAR, UNNAMED_VAR]
                .iter()
                .any(|named| name == *named)
        })
        .collect();
    left.extend(child_id.map(|id| (UNNAMED_VAR.into(), unnamed_id(&id).into())));
    left
}

/// The value of [`UNNAMED_VAR`] for a child: its first half is the same for all children of a run.
fn unnamed_id(child_id: &str) -> String {
    let run_id = child_id.rsplit_once('/').map_or(child_id, |(run_id, _)| run_id);
    digest(run_id) + &digest(child_id)
}

fn digest(id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Widens `found` to the sessions and descendants of its processes; `guard` is a session that is lost as a whole.
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
            // A session led by an ancestor of ralph, or by no visible process (0), does not belong to the family.
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
