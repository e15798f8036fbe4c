//! A bounded list.

use std::collections::{VecDeque, vec_deque};

use serde::{Deserialize, Serialize};

use super::Shared;

/// A list that keeps the newest `CAP` entries, oldest first, and counts the dropped ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Recent{T}")]
pub struct Recent<T, const CAP: usize> {
    dropped: u64,
    #[schemars(with = "VecDeque<T>")]
    kept: Shared<VecDeque<T>>,
}

impl<T, const CAP: usize> Default for Recent<T, CAP> {
    fn default() -> Self {
        Self {
            dropped: 0,
            kept: Shared::default(),
        }
    }
}

impl<T: Clone, const CAP: usize> Recent<T, CAP> {
    pub fn push(&mut self, entry: T) {
        if self.kept.len() == CAP {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back(entry);
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut T> {
        self.kept.back_mut()
    }

    pub(super) fn before_last_mut(&mut self, age: usize) -> Option<&mut T> {
        let at = self.kept.len().checked_sub(age + 1)?;
        self.kept.get_mut(at)
    }

    pub(super) fn iter_mut(&mut self) -> vec_deque::IterMut<'_, T> {
        self.kept.iter_mut()
    }
}

impl<T, const CAP: usize> Recent<T, CAP> {
    /// Number of stored entries.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Number of dropped entries.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn get(&self, at: usize) -> Option<&T> {
        self.kept.get(at)
    }

    pub fn last(&self) -> Option<&T> {
        self.kept.back()
    }

    pub fn iter(&self) -> vec_deque::Iter<'_, T> {
        self.kept.iter()
    }
}

impl<'r, T, const CAP: usize> IntoIterator for &'r Recent<T, CAP> {
    type Item = &'r T;
    type IntoIter = vec_deque::Iter<'r, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_others_counted() {
        let mut recent: Recent<u32, 3> = Recent::default();
        (1..=5).for_each(|entry| recent.push(entry));
        assert_eq!(recent.iter().copied().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((recent.len(), recent.dropped()), (3, 2));
    }

    #[test]
    fn the_newest_entries_can_be_changed() {
        let mut recent: Recent<u32, 3> = Recent::default();
        assert!(recent.is_empty());
        assert_eq!(recent.last_mut(), None);
        assert_eq!(recent.before_last_mut(0), None);
        (1..=5).for_each(|entry| recent.push(entry));
        assert!(!recent.is_empty());
        *recent.last_mut().unwrap() *= 10;
        *recent.before_last_mut(2).unwrap() *= 10;
        assert_eq!(recent.before_last_mut(3), None);
        assert_eq!((&recent).into_iter().copied().collect::<Vec<_>>(), [30, 4, 50]);
    }
}
