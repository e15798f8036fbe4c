//! Walks a work tree level by level, in several threads if a level is wide: reading directories mostly waits for the
//! system.

use std::{mem, thread};

use super::scoped_task::ScopedTask;

/// Directories of one level above which threads are used, and the most threads.
const MANY_DIRECTORIES: usize = 32;
const MOST_THREADS: usize = 8;

/// The contents of one directory, or of all together.
#[derive(Debug, Default)]
pub(super) struct DirectoryContents<'a> {
    /// Directories still to be looked at.
    pub(super) directories: Vec<Vec<u8>>,
    /// Known files that were found.
    pub(super) seen: Vec<&'a [u8]>,
    /// Found files that may have changed.
    pub(super) to_read: Vec<Vec<u8>>,
}

impl<'a> DirectoryContents<'a> {
    fn and(mut self, mut other: DirectoryContents<'a>) -> DirectoryContents<'a> {
        self.directories.append(&mut other.directories);
        self.seen.append(&mut other.seen);
        self.to_read.append(&mut other.to_read);
        self
    }
}

/// Looks at the root, whose path is empty, and at every directory that is found; `None` as soon as one look returns it.
pub(super) fn walk_directories<'a>(
    at: impl Fn(&[u8]) -> Option<DirectoryContents<'a>> + Sync,
) -> Option<DirectoryContents<'a>> {
    let mut all = at(b"")?;
    while !all.directories.is_empty() {
        let level = mem::take(&mut all.directories);
        all = all.and(walk_level(&level, &at)?);
    }
    Some(all)
}

fn walk_level<'a>(
    level: &[Vec<u8>],
    at: &(impl Fn(&[u8]) -> Option<DirectoryContents<'a>> + Sync),
) -> Option<DirectoryContents<'a>> {
    let one_by_one = |directories: &[Vec<u8>]| {
        let mut each = directories.iter().map(|directory| at(directory));
        each.try_fold(DirectoryContents::default(), |all, contents| Some(all.and(contents?)))
    };
    if level.len() < MANY_DIRECTORIES {
        return one_by_one(level);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut shares = level.chunks(level.len().div_ceil(threads.min(MOST_THREADS)));
    let own = shares.next().unwrap_or_default();
    let others: Vec<_> = shares.map(|share| move || one_by_one(share)).collect();
    thread::scope(|scope| {
        let others: Vec<_> = others.iter().map(|other| ScopedTask::start(scope, other)).collect();
        let mut each = others.into_iter().map(ScopedTask::result);
        each.try_fold(one_by_one(own)?, |all, contents| Some(all.and(contents?)))
    })
}
