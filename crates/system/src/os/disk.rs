//! The disk below a path: its file system, its free space, and whether it can be written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::{LowDisk, SizeLimit};
use serde::{Deserialize, Serialize};

/// Remote file systems: locks, sockets and notifications on them are not reliable.
const REMOTE: [&str; 13] = [
    "9p",
    "afs",
    "ceph",
    "cifs",
    "davfs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "vboxsf",
    "virtiofs",
];
/// Remote file systems behind FUSE.
const REMOTE_FUSE: [&str; 5] = [
    "fuse.gvfsd-fuse",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
];
const IN_MEMORY: [&str; 2] = ["ramfs", "tmpfs"];

/// The file system of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// The system's name for it: `ext4`, `nfs4`, `fuse.sshfs`.
    pub name: String,
}

impl FileSystem {
    /// Returns the file system of `path`, which need not exist; `None` if the system does not tell (only Linux does).
    pub fn containing(path: &Path) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let path = existing(path).canonicalize().ok()?;
        mounted_at(&mounts, &path).map(|name| Self { name: name.to_owned() })
    }

    /// Whether another machine keeps the files.
    pub fn is_remote(&self) -> bool {
        let name = self.name.as_str();
        REMOTE.contains(&name) || REMOTE_FUSE.contains(&name)
    }

    /// Whether the files are gone when the machine restarts.
    pub fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.name.as_str())
    }
}

/// Returns the bytes that this user can still write below `path`, which need not exist; `None` if unknown.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(existing(path)).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// The part of a disk that a limit in bytes keeps free at most: on a small one, the limit would be most of it.
const LARGEST_PART: u64 = 10;

/// A disk on which some space is to stay free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskFloor {
    /// A directory on the disk.
    path: PathBuf,
    least_bytes: u64,
}

/// Returns the disks of `paths`, each once, with the space that `limit` keeps free on them. A disk whose size the system
/// does not tell has none.
pub fn floors(paths: &[&Path], limit: SizeLimit) -> Vec<DiskFloor> {
    let mut devices = Vec::new();
    let mut floors = Vec::new();
    for path in paths {
        let Ok(device) = rustix::fs::stat(existing(path)).map(|found| found.st_dev) else {
            continue;
        };
        if let Some(total) = total_bytes(path)
            && !devices.contains(&device)
        {
            devices.push(device);
            floors.push(DiskFloor {
                path: path.to_path_buf(),
                least_bytes: match limit {
                    SizeLimit::Bytes(bytes) => bytes.min(total / LARGEST_PART),
                    SizeLimit::Percent(percent) => total / 100 * u64::from(percent),
                },
            });
        }
    }
    floors
}

impl DiskFloor {
    /// Returns the floor at half of the height.
    #[must_use]
    pub fn halved(&self) -> Self {
        Self {
            path: self.path.clone(),
            least_bytes: self.least_bytes / 2,
        }
    }

    /// Returns the disk's state if less space is free than the floor asks for.
    pub fn low(&self) -> Option<LowDisk> {
        let free_bytes = free_bytes(&self.path)?;
        (free_bytes < self.least_bytes).then(|| LowDisk {
            path: self.path.to_string_lossy().into_owned().into(),
            free_bytes,
            least_bytes: self.least_bytes,
        })
    }

    /// Returns the bytes that are left above the floor.
    pub fn left_bytes(&self) -> Option<u64> {
        Some(free_bytes(&self.path)?.saturating_sub(self.least_bytes))
    }
}

fn total_bytes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(existing(path)).ok()?;
    found.f_blocks.checked_mul(found.f_frsize)
}

/// Writes an unnamed temporary file below `path`, or in the nearest existing directory above it.
///
/// # Errors
/// The system's error.
pub fn try_to_write(path: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(existing(path))?;
    io::Write::write_all(&mut file, &[0; 4096])?;
    // Because of delayed allocation, a write alone would succeed on a full disk.
    file.sync_all()
}

/// Returns `path`, or the nearest existing directory above it.
fn existing(path: &Path) -> &Path {
    path.ancestors()
        .find(|path| path.symlink_metadata().is_ok())
        .unwrap_or(Path::new("/"))
}

/// Returns the type of the last mount at or above `path`: a later one hides those before it.
fn mounted_at<'a>(mountinfo: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(PathBuf, &str)> = None;
    for line in mountinfo.lines() {
        let Some((place, kind)) = mount(line) else { continue };
        let deeper = |(best, _): &(PathBuf, &str)| place.components().count() >= best.components().count();
        if path.starts_with(&place) && best.as_ref().is_none_or(deeper) {
            best = Some((place, kind));
        }
    }
    best.map(|(_, kind)| kind)
}

/// Parses a line of `mountinfo`: the mount point and the type.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let place = before.split(' ').nth(4)?;
    Some((PathBuf::from(unescaped(place)), after.split(' ').next()?))
}

/// Replaces the octal escapes of blanks and backslashes.
fn unescaped(text: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes
        .into_iter()
        .fold(text.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /home rw,relatime - nfs4 server:/home rw
23 22 0:21 / /home/me/my\\040disk rw - xfs /dev/sdb1 rw
24 21 0:22 / /tmp rw - ext4 /dev/sdc1 rw
25 21 0:23 / /tmp rw - tmpfs tmpfs rw
";

    #[test]
    fn the_deepest_and_latest_mount_keeps_a_file() {
        let kind = |path: &str| mounted_at(MOUNTS, Path::new(path));
        assert_eq!(kind("/etc"), Some("ext4"));
        assert_eq!(kind("/home/me"), Some("nfs4"));
        assert_eq!(kind("/homestead"), Some("ext4"));
        assert_eq!(kind("/home/me/my disk/project"), Some("xfs"));
        assert_eq!(kind("/tmp/x"), Some("tmpfs"));
        assert_eq!(mounted_at("", Path::new("/")), None);
    }

    #[test]
    fn file_systems_elsewhere_and_in_memory_are_known() {
        let named = |name: &str| FileSystem { name: name.to_owned() };
        assert!(named("nfs4").is_remote() && named("fuse.sshfs").is_remote());
        assert!(!named("ext4").is_remote() && !named("fuse.ext2").is_remote());
        assert!(named("tmpfs").is_in_memory() && !named("xfs").is_in_memory());
    }

    #[test]
    fn a_directory_that_is_not_made_yet_is_tried_where_it_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("not/there");
        try_to_write(&path).unwrap();
        assert!(free_bytes(&path).is_some_and(|bytes| bytes > 0));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn a_disk_is_listed_once_and_a_small_one_keeps_a_tenth_free() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path(), &dir.path().join("not/there")];
        let total = total_bytes(dir.path()).unwrap();
        let least = |limit| match &floors(&paths, limit)[..] {
            [one] => one.least_bytes,
            several => panic!("{several:?}"),
        };
        assert_eq!(least(SizeLimit::Bytes(4096)), 4096);
        assert_eq!(least(SizeLimit::Bytes(u64::MAX)), total / 10);
        assert_eq!(least(SizeLimit::Percent(50)), total / 100 * 50);
    }

    #[test]
    fn a_disk_is_low_below_its_floor() {
        let dir = tempfile::tempdir().unwrap();
        let floor = |least_bytes| DiskFloor {
            path: dir.path().to_path_buf(),
            least_bytes,
        };
        assert_eq!(floor(1).low(), None);
        let low = floor(u64::MAX).low().expect("less is free");
        assert_eq!((&*low.path, low.least_bytes), (dir.path().to_str().unwrap(), u64::MAX));
        assert_eq!(floor(u64::MAX).left_bytes(), Some(0));
        assert_eq!(floor(u64::MAX).halved().least_bytes, u64::MAX / 2);
    }

    #[test]
    fn a_directory_below_a_file_cannot_be_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(try_to_write(&file.join("state")).is_err());
    }
}
