//! The replacement of one file: by what, and when.

use std::{
    fmt, fs,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use nix::{
    sys::stat::{Mode, SFlag, makedev, mknod},
    unistd::mkfifo,
};

use super::random::Random;
use crate::harness::Sandbox;

/// Files that ralph or git reads. Any other existing file may be struck as well.
const NAMED: [&str; 22] = [
    "PLAN.md",
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".git",
    ".git/index",
    ".git/config",
    ".git/HEAD",
    ".git/packed-refs",
    ".git/info/exclude",
    ".git/info/attributes",
    ".git/objects",
    ".git/refs",
    ".git/refs/heads/main",
    ".ralph",
    ".ralph/config.json",
    ".ralph/prompt.md",
    ".ralph/adapters",
    ".ralph/adapters/script.toml",
    ".ralph/adapters/other.toml",
    ".ralph-done",
    "src",
];

/// A sequence that must not reach a terminal: it would write to the clipboard.
const SEQUENCE: &[u8] = b"\x1b]52;c;b3duZWQ=\x07\x1b[2J\xc2\x9b31m\xe2\x80\xae";
/// Larger than any file that is read whole. The file is sparse and takes no disk space.
const HUGE: u64 = 1 << 40;

#[derive(Debug, Clone, Copy)]
enum StrikeShape {
    Pipe,
    Device,
    LinkToDevice,
    LinkToItself,
    LinkToNothing,
    LinkToHome,
    Directory,
    Huge,
    /// Cut in half, as by a crash.
    Torn,
    /// A byte is changed.
    Damaged,
    /// Bytes that a terminal would obey.
    Sequences,
    Empty,
    Gone,
    /// An additional file, under a name that a terminal would obey.
    OddName,
}

const SHAPES: [StrikeShape; 14] = [
    StrikeShape::Pipe,
    StrikeShape::Device,
    StrikeShape::LinkToDevice,
    StrikeShape::LinkToItself,
    StrikeShape::LinkToNothing,
    StrikeShape::LinkToHome,
    StrikeShape::Directory,
    StrikeShape::Huge,
    StrikeShape::Torn,
    StrikeShape::Damaged,
    StrikeShape::Sequences,
    StrikeShape::Empty,
    StrikeShape::Gone,
    StrikeShape::OddName,
];

#[derive(Debug)]
enum StrikeTarget {
    Named(&'static str),
    /// One of the existing files, chosen by this number.
    Any(usize),
}

#[derive(Debug)]
pub(super) struct Strike {
    /// Number of lines that ralph has printed before; 0 is before it starts.
    pub(super) after: usize,
    target: StrikeTarget,
    shape: StrikeShape,
    number: u64,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} turns {:?} after {} lines", self.target, self.shape, self.after)
    }
}

impl Strike {
    pub(super) fn choose(random: &mut Random) -> Strike {
        let target = match random.below(3) {
            0 => StrikeTarget::Any(random.below(1 << 20)),
            _ => StrikeTarget::Named(random.of(&NAMED)),
        };
        Strike {
            after: random.below(30).saturating_sub(5),
            target,
            shape: random.of(&SHAPES),
            number: random.next(),
        }
    }

    pub(super) fn may_hit_the_plan(&self) -> bool {
        matches!(self.target, StrikeTarget::Any(_) | StrikeTarget::Named("PLAN.md"))
    }

    /// Replaces the file. Does nothing if an earlier strike hit its directory.
    pub(super) fn hit(&self, sandbox: &Sandbox) {
        let project = sandbox.project();
        let path = match self.target {
            StrikeTarget::Named(name) => project.join(name),
            StrikeTarget::Any(number) => {
                let mut files = Vec::new();
                collect(&project, &mut files);
                files.sort();
                match files.len() {
                    0 => return,
                    count => files.swap_remove(number % count),
                }
            }
        };
        _ = self.replace(&path, sandbox); // an earlier strike may be in the way
    }

    fn replace(&self, path: &Path, sandbox: &Sandbox) -> io::Result<()> {
        match self.shape {
            StrikeShape::Torn => return tear(path),
            StrikeShape::Damaged => return damage(path, self.number),
            StrikeShape::OddName => {
                let name = String::from_utf8_lossy(SEQUENCE).into_owned();
                return fs::write(path.with_file_name(format!("{}-{name}", self.number)), SEQUENCE);
            }
            _ => {}
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        remove(path)?;
        match self.shape {
            StrikeShape::Pipe => mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?,
            // Only root may create a device; a link to one is just as endless.
            StrikeShape::Device => mknod(path, SFlag::S_IFCHR, Mode::S_IRUSR, makedev(1, 5))
                .map_err(io::Error::from)
                .or_else(|_| symlink("/dev/zero", path))?,
            StrikeShape::LinkToDevice => symlink("/dev/zero", path)?,
            StrikeShape::LinkToItself => symlink(path, path)?,
            StrikeShape::LinkToNothing => symlink("nowhere/at/all", path)?,
            StrikeShape::LinkToHome => symlink(sandbox.home(), path)?,
            StrikeShape::Directory => fs::create_dir(path)?,
            StrikeShape::Huge => File::create(path)?.set_len(HUGE)?,
            StrikeShape::Sequences => fs::write(path, SEQUENCE.repeat(64))?,
            StrikeShape::Empty => drop(File::create(path)?),
            StrikeShape::Gone | StrikeShape::Torn | StrikeShape::Damaged | StrikeShape::OddName => {}
        }
        Ok(())
    }
}

/// Collects every file below `directory` without following links.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), files);
        } else {
            files.push(entry.path());
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
}

/// Cuts a regular file in half.
fn tear(path: &Path) -> io::Result<()> {
    let file = regular(path)?;
    file.set_len(file.metadata()?.len() / 2)
}

/// Changes a byte of a regular file.
fn damage(path: &Path, number: u64) -> io::Result<()> {
    let mut file = regular(path)?;
    let length = file.metadata()?.len().max(1);
    let mut byte = [0];
    file.seek(SeekFrom::Start(number % length))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(number % length))?;
    file.write_all(&[byte[0] ^ 0x55])
}

fn regular(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // git keeps its objects read-only.
    fs::set_permissions(path, fs::Permissions::from_mode(found.permissions().mode() | 0o600))?;
    File::options().read(true).write(true).open(path)
}
