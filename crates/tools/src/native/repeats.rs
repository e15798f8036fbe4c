//! Detects a model in a loop: the same calls with the same results, again and again.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of repetitions after which the model is told.
const TOLD_AFTER: u32 = 3;
/// The number of repetitions after which the turn ends.
const ENDED_AFTER: u32 = 6;

#[derive(Debug, Default)]
pub(super) struct Repeats {
    last: u64,
    count: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    No,
    /// The model should be told.
    Tell {
        count: u32,
    },
    /// The model does not stop.
    Endless {
        count: u32,
    },
}

impl Repeats {
    /// Records the calls of one answer and their results.
    pub(super) fn take(&mut self, calls: &[(&str, &str)], results: &[&str]) -> Repeated {
        let mut hasher = DefaultHasher::new();
        (calls, results).hash(&mut hasher);
        let found = hasher.finish();
        self.count = if found == self.last { self.count + 1 } else { 1 };
        self.last = found;
        match self.count {
            count if count >= ENDED_AFTER => Repeated::Endless { count },
            count if count >= TOLD_AFTER => Repeated::Tell { count },
            _ => Repeated::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_counts_only_with_the_same_result_and_in_a_row() {
        let mut repeats = Repeats::default();
        let mut take = |arguments, result| repeats.take(&[("shell", arguments)], &[result]);
        assert_eq!(take("ls", "a"), Repeated::No);
        assert_eq!(take("ls", "a"), Repeated::No);
        assert_eq!(take("ls", "b"), Repeated::No, "something happens");
        assert_eq!(take("ls", "b"), Repeated::No);
        assert_eq!(take("ls", "b"), Repeated::Tell { count: 3 });
        assert_eq!(take("ls", "b"), Repeated::Tell { count: 4 });
        assert_eq!(take("pwd", "/"), Repeated::No);
        for _ in 0..4 {
            take("pwd", "/");
        }
        assert_eq!(take("pwd", "/"), Repeated::Endless { count: 6 });
    }
}
