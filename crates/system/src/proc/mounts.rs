//! Directories that a child tree finds at other paths: mounted in a namespace of the tree's own.
//!
//! A guard does it before it starts its program and while it has one thread, so its whole tree is in the namespace, and
//! nothing of it remains when the tree has ended. Root only needs a namespace of mounts. Everybody else needs one of users
//! beside it, in which each process keeps its user and group; the system's administrator can forbid that.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::Path,
};

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
    for mount in mounts {
        if mount
            .writes
            .as_ref()
            .is_some_and(|writes| overlay(mount, writes).is_ok())
        {
            continue;
        }
        let Mount { directory, at, .. } = mount;
        let bind = MsFlags::MS_BIND | MsFlags::MS_REC;
        mount_file_system(Some(directory), at, NONE, bind, NONE)
            .map_err(|errno| io::Error::other(format!("{}: {}", at.display(), errno.desc())))?;
    }
    Ok(())
}

/// Mounts a directory so that what is written there goes to `writes`.
fn overlay(Mount { directory, at, .. }: &Mount, writes: &Path) -> io::Result<()> {
    let (upper, work) = (writes.join("upper"), writes.join("work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    let mut options = OsString::new();
    for (name, path) in [("lowerdir=", directory), (",upperdir=", &upper), (",workdir=", &work)] {
        // These separate options and directories.
        if path
            .as_os_str()
            .as_encoded_bytes()
            .iter()
            .any(|byte| b",:\\".contains(byte))
        {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        options.push(name);
        options.push(path);
    }
    let mount_with =
        |options: &OsStr| mount_file_system(Some("overlay"), at, Some("overlay"), MsFlags::empty(), Some(options));
    if mount_with(&options).is_err() {
        // In a namespace of users, only the attributes of users can be written.
        options.push(",userxattr");
        mount_with(&options)?;
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
