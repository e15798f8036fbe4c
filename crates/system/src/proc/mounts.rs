//! Directories that a child tree finds at other paths, mounted in a namespace of the tree's own; and its own queues.
//!
//! A guard does it before it starts its program and while it has one thread, so its whole tree is in the namespace, and
//! nothing of it remains when the tree has ended. Root only needs a namespace of mounts. Everybody else needs one of users
//! beside it, in which each process keeps its user and group; the system's administrator can forbid that.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount as mount_file_system},
    sched::{CloneFlags, unshare},
    sys::statvfs::{FsFlags, statvfs},
    unistd::{getegid, geteuid},
};

use super::{Mount, MountWrites};
use crate::tree_copy::clear;

const NONE: Option<&str> = None;

/// Mounts directories for this process and what it starts, in their order. The process must have one thread.
///
/// # Errors
/// The system's error, with the path.
pub(super) fn mount(mounts: &[Mount]) -> io::Result<()> {
    if mounts.is_empty() {
        return Ok(());
    }
    let only_own = enter_namespace()?;
    // Mounts made from here on appear nowhere else.
    mount_file_system(NONE, "/", NONE, MsFlags::MS_PRIVATE | MsFlags::MS_REC, NONE)?;
    for mount in mounts {
        let Mount { directory, at, writes } = mount;
        let mounted = match writes {
            MountWrites::Here => bind(mount),
            MountWrites::Nowhere => bind(mount).and_then(|()| Ok(forbid_writing(at)?)),
            MountWrites::To(_) if only_own && !is_own(directory) => bind(mount),
            MountWrites::To(writes) => overlay(&[directory], at, writes).or_else(|_| bind(mount)),
            MountWrites::Beside(writes) => overlay(&[directory, at], at, writes),
        };
        mounted.map_err(|error| io::Error::other(format!("{}: {error}", at.display())))?;
    }
    Ok(())
}

/// Whether a directory and what is in it belong to this process's user and group. A namespace of users knows no others, and
/// nothing of theirs can be written to in an overlay.
fn is_own(directory: &Path) -> bool {
    let is_own = |metadata: io::Result<fs::Metadata>| {
        metadata.is_ok_and(|metadata| metadata.uid() == geteuid().as_raw() && metadata.gid() == getegid().as_raw())
    };
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    is_own(fs::metadata(directory)) && entries.all(|entry| is_own(entry.metadata()))
}

fn bind(Mount { directory, at, .. }: &Mount) -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    Ok(mount_file_system(Some(directory), at, NONE, flags, NONE)?)
}

/// Makes a bind mount read-only.
fn forbid_writing(at: &Path) -> nix::Result<()> {
    let kept = statvfs(at)?.flags();
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    // A namespace of users cannot take these away from a mount of another one.
    for (kept_flag, flag) in [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
    ] {
        flags.set(flag, kept.contains(kept_flag));
    }
    mount_file_system(NONE, at, NONE, flags, NONE)
}

/// Mounts directories, the first one above the others, so that what is written there goes to `writes`.
fn overlay(directories: &[&PathBuf], at: &Path, writes: &Path) -> io::Result<()> {
    let (upper, work) = (writes.join("upper"), writes.join("work"));
    clear(&work).map_err(io::Error::other)?; // of an earlier mount, as the system leaves it
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    // Without `volatile`, the system writes all of the disk's changes when the mount ends.
    let mut options = OsString::from("volatile");
    let lower = directories.iter().enumerate();
    let lower = lower.map(|(number, &path)| (if number == 0 { ",lowerdir=" } else { ":" }, path));
    for (name, path) in lower.chain([(",upperdir=", &upper), (",workdir=", &work)]) {
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
    // In a namespace of users, only the attributes of users can be written. A mount without any cannot remove directories.
    let mut of_users = options.clone();
    of_users.push(",userxattr");
    if mount_with(&of_users).is_err() {
        mount_with(&options)?; // an older kernel
    }
    Ok(())
}

/// Gives this process and what it starts message queues, semaphores and numbered memory of their own, if it may: as root, and
/// where a namespace of users has been entered for mounts. A namespace of users for this alone would take the owners of
/// all files from the tree, and ssh refuses to work without them.
pub(super) fn leave_queues() -> bool {
    unshare(CloneFlags::CLONE_NEWIPC).is_ok()
}

/// Returns whether the namespace has only this process's user and group.
fn enter_namespace() -> io::Result<bool> {
    let (user, group) = (geteuid(), getegid());
    match unshare(CloneFlags::CLONE_NEWNS) {
        Err(Errno::EPERM) => {}
        entered => return Ok(entered.map(|()| false)?),
    }
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUSER)?;
    // The kernel takes a map of groups only from a process that cannot drop some of its own.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}
