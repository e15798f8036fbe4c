//! Process trees: descent, and signals for all processes of a tree.

use std::collections::{HashMap, HashSet};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{process::Process, system};

/// Returns everything below `root`, parents before their children, `root` itself not included.
///
/// The table changes while it is read: a process that forks at that moment may hide its child from this call, but not
/// from the next one once the parent has ended.
pub(super) fn descendants(root: Pid) -> Vec<Process> {
    walk(root).unwrap_or_else(|| {
        let all = system::processes();
        // Without sub-reapers, a process that has lost its parent is found by its session.
        let session = all
            .iter()
            .filter(|process| process.session == root)
            .map(|process| process.pid);
        let roots: HashSet<Pid> = session.chain([root]).collect();
        let mut found = below(&all, &roots);
        found.extend(
            all.into_iter()
                .filter(|process| process.pid != root && roots.contains(&process.pid)),
        );
        found
    })
}

/// Returns the children of `parent`.
pub(super) fn children(parent: Pid) -> Vec<Process> {
    match system::children(parent) {
        Some(children) => children.into_iter().filter_map(system::process).collect(),
        None => system::processes()
            .into_iter()
            .filter(|process| process.parent == parent)
            .collect(),
    }
}

/// Follows the kernel's own lists of children: its cost grows with the tree, not with the machine.
fn walk(root: Pid) -> Option<Vec<Process>> {
    let mut found: Vec<Process> = Vec::new();
    let mut seen = HashSet::from([root]);
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        let children = match system::children(parent) {
            Some(children) => children,
            // The kernel has no such lists, or `parent` is gone and its children have a new one.
            None if parent == root => return None,
            None => continue,
        };
        for child in children {
            if seen.insert(child)
                && let Some(process) = system::process(child)
            {
                found.push(process);
                next.push(child);
            }
        }
    }
    Some(found)
}

/// Returns the processes of `all` that descend from one of `roots`, the roots themselves not included.
pub(super) fn below(all: &[Process], roots: &HashSet<Pid>) -> Vec<Process> {
    let mut children: HashMap<Pid, Vec<&Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut seen = roots.clone();
    let mut next: Vec<Pid> = roots.iter().copied().collect();
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if seen.insert(child.pid) {
                next.push(child.pid);
                found.push(child.clone());
            }
        }
    }
    found
}

/// Kills the processes that `find` returns, and repeats until it returns no new one. Returns the killed ones.
///
/// A process that forks in the meantime is caught by the next look. One that has just ended counts as new as well: its
/// child may have been handed on to a process whose children were listed before.
pub(super) fn kill_all(find: impl Fn() -> Vec<Process>) -> HashSet<Pid> {
    let mut seen = HashSet::new();
    let mut killed = HashSet::new();
    // Bounded: callers repeat while processes are left, and have their own patience.
    for _ in 0..1000 {
        let before = seen.len();
        for process in find() {
            if seen.insert((process.pid, process.ended)) && !process.ended {
                killed.insert(process.pid);
                signal_awake(process.pid, Signal::SIGKILL);
            }
        }
        if seen.len() == before {
            break;
        }
    }
    killed
}

/// Sends `signal` and wakes a stopped process, which handles no signal but SIGKILL.
pub(super) fn signal_awake(pid: Pid, to_send: Signal) {
    signal(pid, to_send);
    if to_send != Signal::SIGKILL {
        signal(pid, Signal::SIGCONT);
    }
}

/// Sends `to_send` to one process.
pub(super) fn signal(pid: Pid, to_send: Signal) {
    // Fails if it is gone, or belongs to another user: the guard reports what stays.
    _ = kill(pid, to_send);
}
