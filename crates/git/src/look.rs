//! Walks a work tree level by level, in several threads if a level is wide: reading directories mostly waits for the
//! system.

use std::{mem, thread};

use super::beside::Beside;

/// Directories of one level above which threads are used, and the most threads.
const MANY_DIRECTORIES: usize = 32;
const MOST_THREADS: usize = 8;

/// The contents of one directory, or of all together.
#[derive(Debug, Default)]
pub(super) struct Look<'a> {
    /// Directories still to be looked at.
    pub(super) directories: Vec<Vec<u8>>,
    /// Known files that were found.
    pub(super) seen: Vec<&'a [u8]>,
    /// Found files that may have changed.
    pub(super) to_read: Vec<Vec<u8>>,
}

impl<'a> Look<'a> {
    fn and(mut self, mut other: Look<'a>) -> Look<'a> {
        self.directories.append(&mut other.directories);
        self.seen.append(&mut other.seen);
        self.to_read.append(&mut other.to_read);
        self
    }
}

/// Looks at the root, whose path is empty, and at every directory that is found; `None` as soon as one look returns it.
pub(super) fn look_through<'a>(at: impl Fn(&[u8]) -> Option<Look<'a>> + Sync) -> Option<Look<'a>> {
    let mut all = at(b"")?;
    while !all.directories.is_empty() {
        let level = mem::take(&mut all.directories);
        all = all.and(look_at_each(&level, &at)?);
    }
    Some(all)
}

fn look_at_each<'a>(level: &[Vec<u8>], at: &(impl Fn(&[u8]) -> Option<Look<'a>> + Sync)) -> Option<Look<'a>> {
    let one_by_one = |directories: &[Vec<u8>]| {
        let mut looks = directories.iter().map(|directory| at(directory));
        looks.try_fold(Look::default(), |all, look| Some(all.and(look?)))
    };
    if level.len() < MANY_DIRECTORIES {
        return one_by_one(level);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut shares = level.chunks(level.len().div_ceil(threads.min(MOST_THREADS)));
    let own = shares.next().unwrap_or_default();
    let others: Vec<_> = shares.map(|share| move || one_by_one(share)).collect();
    thread::scope(|scope| {
        let others: Vec<_> = others.iter().map(|other| Beside::start(scope, other)).collect();
        let mut looks = others.into_iter().map(Beside::result);
        looks.try_fold(one_by_one(own)?, |all, look| Some(all.and(look?)))
    })
}
