//! The entries of an index file: parses git's, and writes one for git to read (gitformat-index(5)).
//!
//! The file is the user's, so an agent can write it: parsing returns `None` for anything unknown, and git is asked
//! instead.

use std::{fs::Metadata, os::unix::fs::MetadataExt};

/// Bytes of a cached `stat`: times, device, inode, mode, owner, group and size.
const STAT_BYTES: usize = 40;
const MODIFIED: usize = 8;
const MODE: usize = 24;

const STAGE: u16 = 0x3000;
const EXTENDED: u16 = 0x4000;
const NAME: u16 = 0x0fff;
const SKIP_WORKTREE: u16 = 0x4000;

pub(super) const DIRECTORY: u32 = 0o040_000;
pub(super) const REGULAR: u32 = 0o100_644;
pub(super) const EXECUTABLE: u32 = 0o100_755;
const SYMBOLIC: u32 = 0o120_000;
const LINK: u32 = 0o160_000;

/// One file of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// With `/` as separator.
    pub(super) path: Vec<u8>,
    pub(super) id: Vec<u8>,
    /// 0, or 1 to 3 for the sides of a conflict.
    pub(super) stage: u16,
    /// The file should not be in the work tree (`skip-worktree`).
    pub(super) absent: bool,
    stat: [u8; STAT_BYTES],
}

impl IndexEntry {
    /// Makes an entry without a cached `stat`.
    pub(super) fn new(path: &[u8], id: Vec<u8>, mode: u32, stage: u16, absent: bool) -> IndexEntry {
        let mut stat = [0; STAT_BYTES];
        stat[MODE..MODE + 4].copy_from_slice(&mode.to_be_bytes());
        IndexEntry {
            path: path.to_vec(),
            id,
            stage,
            absent,
            stat,
        }
    }

    /// Makes an entry of a file from its metadata before it was read; `None` for kinds of files that git does not
    /// store.
    pub(super) fn from_metadata(path: &[u8], id: &[u8], metadata: &Metadata) -> Option<IndexEntry> {
        Some(IndexEntry {
            path: path.to_vec(),
            id: id.to_vec(),
            stage: 0,
            absent: false,
            stat: stat_of(metadata)?,
        })
    }

    /// Whether all cached metadata of the file is unchanged.
    pub(super) fn looks_like(&self, metadata: &Metadata) -> bool {
        stat_of(metadata) == Some(self.stat)
    }

    pub(super) fn mode(&self) -> u32 {
        number(&self.stat[MODE..]).unwrap_or_default()
    }

    /// Whether the entry is the commit of a submodule.
    pub(super) fn is_link(&self) -> bool {
        self.mode() == LINK
    }

    /// Whether the file may have changed after it was read without a visible difference, because it is as young as the
    /// index.
    ///
    /// Only whole seconds count: git is usually built without fractions. It treats a file that changed within its
    /// second as unchanged, unless the index is of the same second.
    pub(super) fn is_racy(&self, written_seconds: u32) -> bool {
        number(&self.stat[MODIFIED..]).unwrap_or_default() >= written_seconds
    }

    /// Clears the cached `stat`, so that git reads the file before it trusts the entry.
    #[must_use]
    pub(super) fn unread(self) -> IndexEntry {
        IndexEntry::new(&self.path, self.id.clone(), self.mode(), self.stage, self.absent)
    }

    /// Whether a work tree can have the path: no `..`, `.git` or empty part.
    fn is_possible(&self) -> bool {
        let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b".." | b".git");
        self.path.split(|&byte| byte == b'/').all(is_part)
    }
}

/// Returns git's cached form of metadata: the lower 32 bits of each number, and one of the modes that git stores.
fn stat_of(metadata: &Metadata) -> Option<[u8; STAT_BYTES]> {
    let kind = metadata.file_type();
    let mode = match metadata.mode() & 0o100 {
        _ if kind.is_symlink() => SYMBOLIC,
        _ if !kind.is_file() => return None,
        0 => REGULAR,
        _ => EXECUTABLE,
    };
    let low = |number: i64| number.to_be_bytes()[4..].try_into().unwrap_or([0; 4]);
    let numbers: [[u8; 4]; STAT_BYTES / 4] = [
        low(metadata.ctime()),
        low(metadata.ctime_nsec()),
        low(metadata.mtime()),
        low(metadata.mtime_nsec()),
        low(metadata.dev().cast_signed()),
        low(metadata.ino().cast_signed()),
        mode.to_be_bytes(),
        metadata.uid().to_be_bytes(),
        metadata.gid().to_be_bytes(),
        low(metadata.size().cast_signed()),
    ];
    numbers.concat().try_into().ok()
}

/// Parses an index. `None` if it is invalid, or if it needs other files, as split and sparse indexes do.
pub(super) fn read(bytes: &[u8], id_bytes: usize) -> Option<Vec<IndexEntry>> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let version = take_number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let count = take_number(&mut rest)? as usize;
    // The count is not trusted: no more is reserved than the file can hold.
    let mut entries: Vec<IndexEntry> = Vec::with_capacity(count.min(bytes.len() / STAT_BYTES));
    let mut previous = Vec::new();
    for _ in 0..count {
        let entry = take_entry(&mut rest, version, id_bytes, &previous)?;
        previous.clone_from(&entry.path);
        if entry.mode() == DIRECTORY {
            return None;
        }
        if entry.is_possible() {
            entries.push(entry);
        }
    }
    let extensions = rest.get(..rest.len().checked_sub(id_bytes)?)?;
    is_all_optional(extensions)?;
    Some(entries)
}

/// Serializes an index of these entries, which are in order.
pub(super) fn write(entries: &[IndexEntry], id_bytes: usize) -> Vec<u8> {
    let version: u32 = if entries.iter().any(|entry| entry.absent) { 3 } else { 2 };
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(version.to_be_bytes());
    bytes.extend(u32::try_from(entries.len()).unwrap_or(u32::MAX).to_be_bytes());
    for entry in entries {
        let start = bytes.len();
        bytes.extend(entry.stat);
        bytes.extend(&entry.id);
        let length = u16::try_from(entry.path.len()).unwrap_or(NAME).min(NAME);
        let extended = if entry.absent { EXTENDED } else { 0 };
        bytes.extend((entry.stage << 12 | extended | length).to_be_bytes());
        if entry.absent {
            bytes.extend(SKIP_WORKTREE.to_be_bytes());
        }
        bytes.extend(&entry.path);
        let written = bytes.len() - start;
        bytes.resize(start + padded(written), 0);
    }
    // No checksum: git accepts zeros, see `index.skipHash`.
    bytes.resize(bytes.len() + id_bytes, 0);
    bytes
}

/// Parses the output of `git ls-files -t --stage -z`, for an index that is not read here.
pub(super) fn read_listed(output: &[u8]) -> Option<Vec<IndexEntry>> {
    let items = output.split(|&byte| byte == 0).filter(|item| !item.is_empty());
    let entry = |item: &[u8]| {
        let tab = item.iter().position(|&byte| byte == b'\t')?;
        let words = str::from_utf8(&item[..tab]).ok()?;
        let words: Vec<&str> = words.split(' ').collect();
        let [tag, mode, id, stage] = words[..] else { return None };
        let id = (0..id.len() / 2).map(|at| u8::from_str_radix(id.get(2 * at..2 * at + 2)?, 16).ok());
        let mode = u32::from_str_radix(mode, 8).ok()?;
        Some(IndexEntry::new(
            &item[tab + 1..],
            id.collect::<Option<_>>()?,
            mode,
            stage.parse().ok().filter(|stage| *stage <= 3)?,
            tag.eq_ignore_ascii_case("S"),
        ))
    };
    let entries: Option<Vec<IndexEntry>> = items.map(entry).collect();
    Some(entries?.into_iter().filter(IndexEntry::is_possible).collect())
}

fn take_entry(rest: &mut &[u8], version: u32, id_bytes: usize, previous: &[u8]) -> Option<IndexEntry> {
    let start = *rest;
    let stat = take(rest, STAT_BYTES)?.try_into().ok()?;
    let id = take(rest, id_bytes)?.to_vec();
    let flags = take_half(rest)?;
    let more = if flags & EXTENDED == 0 { 0 } else { take_half(rest)? };
    let kept = if version < 4 {
        0
    } else {
        previous.len().checked_sub(take_offset(rest)?)?
    };
    let end = rest.iter().position(|&byte| byte == 0)?;
    let path = [&previous[..kept], take(rest, end)?].concat();
    if version < 4 {
        *rest = start.get(padded(start.len() - rest.len())..)?;
    } else {
        take(rest, 1)?;
    }
    Some(IndexEntry {
        path,
        id,
        stage: (flags & STAGE) >> 12,
        absent: more & SKIP_WORKTREE != 0,
        stat,
    })
}

/// Entries of versions 2 and 3 end with 1 to 8 NULs.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

/// Returns `Some` if all extensions after the entries are optional.
fn is_all_optional(mut rest: &[u8]) -> Option<()> {
    while !rest.is_empty() {
        let name = take(&mut rest, 4)?;
        let length = take_number(&mut rest)? as usize;
        take(&mut rest, length)?;
        if !name[0].is_ascii_uppercase() {
            return None;
        }
    }
    Some(())
}

/// Takes a number in the variable-length encoding of packs: seven bits a byte, the high bit set on all but the last.
fn take_offset(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = *take(rest, 1)?.first()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *take(rest, 1)?.first()?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some(value)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

fn take_number(rest: &mut &[u8]) -> Option<u32> {
    number(take(rest, 4)?)
}

fn take_half(rest: &mut &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(take(rest, 2)?.try_into().ok()?))
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: usize = 20;

    fn entry(path: &str) -> IndexEntry {
        IndexEntry::new(path.as_bytes(), vec![7; ID], 0o100_644, 0, false)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let long = "deep/".repeat(1000) + "file";
        let entries = [
            entry("a"),
            IndexEntry {
                absent: true,
                ..entry("b/c")
            },
            IndexEntry {
                stage: 2,
                ..entry("conflict")
            },
            entry(&long),
        ];
        assert_eq!(read(&write(&entries, ID), ID).unwrap(), entries);
    }

    #[test]
    fn a_file_that_ends_anywhere_is_no_index() {
        let whole = write(
            &[
                entry("one"),
                IndexEntry {
                    absent: true,
                    ..entry("two")
                },
            ],
            ID,
        );
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end], ID), None, "{end}");
        }
    }

    #[test]
    fn no_byte_of_a_file_makes_reading_it_fail_in_another_way() {
        let whole = write(&[entry("one"), entry("two/three")], ID);
        for at in 0..whole.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                _ = read(&bytes, ID);
            }
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_nobodys_files() {
        let names = ["../up", "a/../b", "/absolute", ".git/config", "a//b", "good"];
        let read = read(&write(&names.map(entry), ID), ID).unwrap();
        assert_eq!(read, [entry("good")]);
    }

    #[test]
    fn an_index_that_needs_another_file_is_left_to_git() {
        let mut bytes = write(&[entry("one")], ID);
        bytes.truncate(bytes.len() - ID);
        let with = |name: &[u8]| [&bytes[..], name, &[0, 0, 0, 1, 9], &[0; ID]].concat();
        assert!(read(&with(b"TREE"), ID).is_some());
        assert!(read(&with(b"link"), ID).is_none());
    }

    #[test]
    fn a_listing_is_read() {
        let id = "07".repeat(ID);
        let text = format!("H 100644 {id} 0\ta b\0S 100755 {id} 0\tgone\0M 100644 {id} 3\tboth\0");
        let read = read_listed(text.as_bytes()).unwrap();
        let expected = [
            entry("a b"),
            IndexEntry::new(b"gone", vec![7; ID], 0o100_755, 0, true),
            IndexEntry {
                stage: 3,
                ..entry("both")
            },
        ];
        assert_eq!(read, expected);
        assert_eq!(read_listed(b"H 100644 zz 0\tx\0"), None);
    }
}
