//! Directories that a child tree finds at other paths: mounted in a namespace of the tree's own.
//!
//! A guard does it before it starts its program and while it has one thread, so its whole tree is in the namespace, and
//! nothing of it remains when the tree has ended. Root only needs a namespace of mounts. Everybody else needs one of users
//! beside it, in which each process keeps its user and group; the system's administrator can forbid that.

use std::{fs, io};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount as mount_file_system},
    sched::{CloneFlags, unshare},
    unistd::{getegid, geteuid},
};

use super::Mount;

const NONE: Option<&str> = None;

/// Mounts directories for this process and what it starts, in their order. The process must have one thread.
///
/// # Errors
/// The system's error, with the path.
pub(super) fn mount(mounts: &[Mount]) -> io::Result<()> {
    if mounts.is_empty() {
        return Ok(());
    }
    enter_namespace()?;
    // Mounts made from here on appear nowhere else.
    mount_file_system(NONE, "/", NONE, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NONE)?;
    for Mount { directory, at } in mounts {
        let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount_file_system(Some(directory), at, NONE, bind, NONE)
            .map_err(|errno| io::Error::other(format!("{}: {}", at.display(), errno.desc())))?;
    }
    Ok(())
}

fn enter_namespace() -> io::Result<()> {
    let (user, group) = (geteuid(), getegid());
    match unshare(CloneFlags::CLONE_NEWNS) {
        Err(Errno::EPERM) => {}
        entered => return Ok(entered?),
    }
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUSER)?;
    // The kernel takes a map of groups only from a process that cannot drop some of its own.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}
