//! TCP ports that are reserved for work trees, so that the servers of two of them never share one.
//!
//! A reservation is a file below the state directory that is named after the port and has the path of the work tree. It
//! is void once the work tree is gone.

use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, Ipv6Addr, TcpListener},
    ops::RangeInclusive,
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use ralph_system::{
    files,
    paths::{digest, replace_file},
};
use thiserror::Error;

/// Most bytes of the path of a work tree.
const PATH_CAP_BYTES: u64 = 4096;

#[derive(Debug, Error)]
pub enum PortsError {
    #[error("{path}: ports cannot be reserved", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "{wanted} ports are wanted and {free} are free in {}-{}: {reserved} are reserved for other work trees, {in_use} \
         are in use",
        range.start(), range.end()
    )]
    TooFew {
        wanted: usize,
        free: usize,
        reserved: usize,
        in_use: usize,
        range: RangeInclusive<u16>,
    },
}

/// Reserves `count` ports of `range` for the work tree `tree`, in `directory`. Returns the same ports for the same work
/// tree, in ascending order.
///
/// # Errors
/// [`PortsError`] if there are too few, or if they cannot be recorded.
pub fn reserve(
    directory: &Path,
    tree: &Path,
    count: usize,
    range: &RangeInclusive<u16>,
) -> Result<Vec<u16>, PortsError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| PortsError::File { path, source }
    };
    fs::create_dir_all(directory).map_err(at(directory))?;
    let lock = directory.join("lock");
    let locked = File::options().create(true).append(true).mode(0o600).open(&lock);
    let locked = locked.and_then(|file| file.lock().map(|()| file)).map_err(at(&lock))?;
    let owner = |port: u16| files::read_bytes(&directory.join(port.to_string()), PATH_CAP_BYTES).ok();
    let tree_bytes = tree.as_os_str().as_bytes();
    let (mut own, mut free, mut reserved, mut in_use) = (Vec::new(), Vec::new(), 0, 0);
    for port in in_order(range, digest(tree_bytes)) {
        match owner(port) {
            Some(owner) if owner == tree_bytes => own.push(port),
            Some(owner) if Path::new(std::ffi::OsStr::from_bytes(&owner)).exists() => reserved += 1,
            Some(_) | None if free.len() >= count => {}
            Some(_) | None if is_free(port) => free.push(port),
            Some(_) | None => in_use += 1,
        }
    }
    own.sort_unstable();
    own.truncate(count);
    let missing = count - own.len();
    if free.len() < missing {
        return Err(PortsError::TooFew {
            wanted: count,
            free: own.len() + free.len(),
            reserved,
            in_use,
            range: range.clone(),
        });
    }
    for port in free.into_iter().take(missing) {
        let path = directory.join(port.to_string());
        replace_file(&path, tree_bytes).map_err(at(&path))?;
        own.push(port);
    }
    drop(locked);
    own.sort_unstable();
    Ok(own)
}

/// Returns all ports of a range, beginning at a place that depends on `seed`: users of one machine, who do not see each
/// other's reservations, rarely get the same ones.
fn in_order(range: &RangeInclusive<u16>, seed: u64) -> impl Iterator<Item = u16> {
    let size = range.clone().count() as u64;
    let begin = u16::try_from(seed % size.max(1)).unwrap_or_default();
    let middle = range.start().saturating_add(begin);
    (middle..=*range.end()).chain(*range.start()..middle)
}

/// Whether no program listens on a port. Listens there itself for a moment.
fn is_free(port: u16) -> bool {
    let is_free = |listener: io::Result<TcpListener>| match listener {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::AddrInUse && error.kind() != io::ErrorKind::PermissionDenied,
    };
    is_free(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        && is_free(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        && is_free(TcpListener::bind((Ipv6Addr::LOCALHOST, port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_keeps_its_ports_and_shares_none() {
        let root = tempfile::tempdir().unwrap();
        let (directory, range) = (root.path().join("ports"), 23_450..=23_457);
        let trees = ["a", "b"].map(|name| root.path().join(name));
        for tree in &trees {
            fs::create_dir(tree).unwrap();
        }
        let first = reserve(&directory, &trees[0], 3, &range).unwrap();
        let second = reserve(&directory, &trees[1], 3, &range).unwrap();
        assert_eq!((first.len(), second.len()), (3, 3));
        assert!(first.iter().all(|port| !second.contains(port)), "{first:?} {second:?}");
        assert_eq!(reserve(&directory, &trees[0], 3, &range).unwrap(), first);
        assert_eq!(reserve(&directory, &trees[0], 2, &range).unwrap(), first[..2]);
    }

    #[test]
    fn a_port_in_use_is_left_out_and_a_reservation_ends_with_its_tree() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("ports");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let trees = ["a", "b"].map(|name| root.path().join(name));
        for tree in &trees {
            fs::create_dir(tree).unwrap();
        }
        let refused = reserve(&directory, &trees[0], 1, &(port..=port))
            .unwrap_err()
            .to_string();
        let expected = format!(
            "1 ports are wanted and 0 are free in {port}-{port}: 0 are reserved for other work trees, 1 are in use"
        );
        assert_eq!(refused, expected);
        drop(listener);
        assert_eq!(reserve(&directory, &trees[0], 1, &(port..=port)).unwrap(), [port]);
        let refused = reserve(&directory, &trees[1], 1, &(port..=port))
            .unwrap_err()
            .to_string();
        assert!(refused.contains("1 are reserved for other work trees"), "{refused}");
        fs::remove_dir(&trees[0]).unwrap();
        assert_eq!(reserve(&directory, &trees[1], 1, &(port..=port)).unwrap(), [port]);
    }
}
