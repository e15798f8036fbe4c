//! Writes objects and references as git does, and reads commits: faster than git can start.
//!
//! Only if git would write the same: SHA-1 names, references in files of their own, and no setting about modes or
//! durability. Anything unexpected is left to git, which can handle it or reports the error.

use std::{
    fs::{self, File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib_with_limit};
use ralph_system::files::open_unfollowed;

use super::{layout::RepositoryLayout, settings::GitSettings, sha1::sha1};

/// Settings that only concern comparing files.
const OF_COMPARING: [&str; 2] = ["core.attributesfile", "core.bigfilethreshold"];
/// Extensions that do not affect how objects and references are written.
const HARMLESS: [&str; 5] = [
    "extensions.objectformat sha1",
    "extensions.refstorage files",
    "extensions.worktreeconfig ",
    "extensions.partialclone ",
    "extensions.preciousobjects ",
];

/// Hexadecimal digits of an object's name.
const NAME_BYTES: usize = 40;
/// Compression level of files and trees: the fastest, since git compresses them again when it packs them.
const LEVEL: u8 = 1;
/// Most bytes of an object's header: its kind and its size.
const HEAD_BYTES: usize = 32;
/// Most bytes of a commit; a larger one is left to git.
const COMMIT_BYTES: usize = 64 << 10;
/// Most commits that are followed one by one.
const MOST_COMMITS: u32 = 64;

/// The name of an object.
pub(super) type ObjectId = [u8; NAME_BYTES / 2];

/// The loose objects and references of a repository.
#[derive(Debug, Clone)]
pub(super) struct LooseObjects {
    common_dir: PathBuf,
    /// No setting affects how files are compared.
    has_default_diff_settings: bool,
}

impl LooseObjects {
    /// Returns the writer for a repository; `None` if git might write differently.
    pub(super) fn found(settings: &GitSettings, layout: &RepositoryLayout, id_bytes: usize) -> Option<LooseObjects> {
        let is_harmless = |line: &String| HARMLESS.iter().any(|harmless| line.starts_with(harmless));
        let is_usual = id_bytes * 2 == NAME_BYTES && settings.lines(is_of_writing).iter().all(is_harmless);
        is_usual.then(|| LooseObjects {
            common_dir: layout.common_dir.clone(),
            has_default_diff_settings: settings.lines(|key| OF_COMPARING.contains(&key)).is_empty(),
        })
    }

    /// Whether no setting and no replacement changes how git compares files.
    pub(super) fn has_default_diff_settings(&self) -> bool {
        self.has_default_diff_settings && !self.is_replaced()
    }

    /// Whether a loose object of this name exists.
    pub(super) fn has(&self, name: &str) -> bool {
        is_name(name) && self.object(name).is_file()
    }

    /// Writes a commit with this content and returns its name.
    pub(super) fn write_commit(&self, text: &str) -> Option<String> {
        let object = object_of("commit", text.as_bytes());
        let name = hex(&sha1(&object));
        write_object(&self.object(&name), &stored(&object)?).ok()?;
        Some(name)
    }

    /// Writes a blob or a tree, unless it exists, and returns its name.
    pub(super) fn write(&self, kind: &str, content: &[u8]) -> Option<ObjectId> {
        let object = object_of(kind, content);
        let id = sha1(&object);
        let path = self.object(&hex(&id));
        if !is_kept(&path) {
            write_object(&path, &compress_to_vec_zlib(&object, LEVEL)).ok()?;
        }
        Some(id)
    }

    /// Counts the commits from one to another along single parents; `None` at a merge, at an unreadable
    /// commit, beyond 64 commits, or if git may replace commits or their parents.
    pub(super) fn commits_between(&self, from: &str, to: &str) -> Option<u32> {
        if self.is_replaced() {
            return None;
        }
        let mut commit = to.to_owned();
        for count in 0..MOST_COMMITS {
            if commit == from {
                return Some(count);
            }
            commit = self.only_parent(&commit)?;
        }
        None
    }

    /// Whether git may substitute one object for another.
    fn is_replaced(&self) -> bool {
        let places = ["refs/replace", "info/grafts", "shallow"];
        let is_there = |name: &str| self.common_dir.join(name).symlink_metadata().is_ok();
        places.into_iter().any(is_there) || self.packs_replacements()
    }

    fn packs_replacements(&self) -> bool {
        let name = b"refs/replace/";
        match fs::read(self.common_dir.join("packed-refs")) {
            Ok(packed) => packed.windows(name.len()).any(|part| part == name),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Reads a loose object of a kind and of at most so many bytes, and verifies its name.
    pub(super) fn read(&self, kind: &str, name: &str, most_bytes: usize) -> Option<Vec<u8>> {
        if !is_name(name) {
            return None;
        }
        let (file, _) = open_unfollowed(&self.object(name)).ok()??;
        let most_bytes = most_bytes + HEAD_BYTES;
        let mut bytes = Vec::new();
        file.take(most_bytes as u64).read_to_end(&mut bytes).ok()?;
        let mut object = decompress_to_vec_zlib_with_limit(&bytes, most_bytes).ok()?;
        if hex(&sha1(&object)) != name {
            return None;
        }
        let end = object.iter().position(|&byte| byte == 0)?;
        let is_of_kind = object[..end].strip_prefix(kind.as_bytes())?.starts_with(b" ");
        is_of_kind.then(|| object.split_off(end + 1))
    }

    fn only_parent(&self, commit: &str) -> Option<String> {
        let text = self.read("commit", commit, COMMIT_BYTES)?;
        let mut lines = text.split(|&byte| byte == b'\n');
        let parents: Vec<&[u8]> = lines
            .by_ref()
            .skip(1)
            .map_while(|line| line.strip_prefix(b"parent "))
            .collect();
        match parents[..] {
            [parent] => String::from_utf8(parent.to_vec()).ok(),
            _ => None,
        }
    }

    /// Returns a mark that changes with the set of packs; `None` if objects may be outside the repository.
    pub(super) fn packs(&self) -> Option<PackDirectoryState> {
        let objects = self.common_dir.join("objects");
        let alternates = objects.join("info/alternates");
        if alternates.symlink_metadata().is_ok() {
            return None;
        }
        let metadata = objects.join("pack").metadata().ok()?;
        Some(PackDirectoryState {
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Points a reference in ralph's own namespace at an existing object; returns whether it did.
    pub(super) fn set_reference(&self, reference: &str, name: &str) -> bool {
        self.has(name) && self.write_reference(reference, name).is_ok()
    }

    fn object(&self, name: &str) -> PathBuf {
        let (directory, file) = name.split_at(2);
        self.common_dir.join("objects").join(directory).join(file)
    }

    fn write_reference(&self, reference: &str, name: &str) -> io::Result<()> {
        let mut path = self.common_dir.clone();
        // An agent can have redirected it, or changed the reference format since git was asked.
        let is_unusual = |path: &Path| !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if path.join("reftable").symlink_metadata().is_ok() || is_unusual(&path.join("refs/heads")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (directory, _) = reference.rsplit_once('/').ok_or(io::ErrorKind::InvalidInput)?;
        for part in directory.split('/') {
            path.push(part);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if is_unusual(&path) => return Err(io::ErrorKind::NotADirectory.into()),
                Ok(()) | Err(_) => {}
            }
        }
        let path = self.common_dir.join(reference);
        // Every git locks a reference with a file of this name.
        let lock = self.common_dir.join(format!("{reference}.lock"));
        let mut file = File::create_new(&lock)?;
        let written = writeln!(file, "{name}").and_then(|()| fs::rename(&lock, &path));
        if written.is_err() {
            _ = fs::remove_file(&lock); // the earlier error counts
        }
        written
    }
}

/// The state of the pack directory at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackDirectoryState {
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Whether a setting decides how git writes objects and references, or is an extension of the repository's format.
fn is_of_writing(key: &str) -> bool {
    let of_core = |name: &str| name == "sharedrepository" || name.starts_with("fsync");
    key.strip_prefix("core.").is_some_and(of_core) || key.starts_with("extensions.")
}

/// Returns the name of a file's blob.
pub(super) fn id_of(content: &[u8]) -> ObjectId {
    sha1(&object_of("blob", content))
}

/// Returns an object's name as git prints it.
pub(super) fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn object_of(kind: &str, content: &[u8]) -> Vec<u8> {
    [format!("{kind} {}\0", content.len()).as_bytes(), content].concat()
}

/// Whether an object exists; renews its time, because git prunes old unreachable objects.
fn is_kept(path: &Path) -> bool {
    let now = SystemTime::now();
    File::open(path).is_ok_and(|file| file.set_modified(now).is_ok())
}

pub(super) fn is_name(name: &str) -> bool {
    name.len() == NAME_BYTES && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Writes an object to a temporary file first, so that no reader finds half of it.
fn write_object(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    match fs::create_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // git cleans up leftover files with such a name.
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("tmp_obj_").permissions(Permissions::from_mode(0o444));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Returns a zlib stream (RFC 1950) of one uncompressed block; `None` above 65,535 bytes, which commits never reach.
fn stored(bytes: &[u8]) -> Option<Vec<u8>> {
    const HEADER: [u8; 2] = [0x78, 0x01];
    const LAST_AND_STORED: u8 = 1;
    let length = u16::try_from(bytes.len()).ok()?;
    let mut stream = HEADER.to_vec();
    stream.push(LAST_AND_STORED);
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(bytes);
    stream.extend(adler32(bytes).to_be_bytes());
    Some(stream)
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1, 0), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_stream_is_as_zlib_has_it() {
        // `zlib.compress(b"Wikipedia", 0)`.
        let expected = b"\x78\x01\x01\x09\x00\xf6\xffWikipedia\x11\xe6\x03\x98";
        assert_eq!(stored(b"Wikipedia").unwrap(), expected);
        assert_eq!(stored(&[0; 1 << 16]), None);
    }

    #[test]
    fn only_whole_names_are_names() {
        assert!(is_name(&"0a".repeat(20)));
        assert!(!is_name(&"0a".repeat(32)));
        assert!(!is_name(&"..".repeat(20)));
    }
}
