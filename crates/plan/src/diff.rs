//! Compares two readings of a plan.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::{BuildHasher, Hash, Hasher},
};

use ralph_core::event::{PlanSnapshot, PlanTask};

/// The changed tasks, by text. A task that only moved is in none of the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanChanges {
    /// Open before, done after.
    pub ticked: Vec<String>,
    /// Done before, open after.
    pub unticked: Vec<String>,
    pub added: Vec<String>,
    /// In the plan before, but not after.
    pub vanished: Vec<String>,
}

/// Compares two readings of a plan.
///
/// Tasks with equal texts are the same. Among several equal ones, the unchanged ones are paired first, so that a tick
/// of one of two equal tasks counts as one tick. A task that gained a note (`fix it` → `fix it (done in 1a2b)`) is the
/// same, as agents like to add one when they tick; a shortened or reworded task has vanished, and another was added. If
/// several tasks could have become the same longer one, the longest is paired.
///
/// The run time is linear in the length of both plans, even if every task was reworded.
///
/// `ticked`, `unticked` and `vanished` keep the order and the texts of `before`, `added` those of `after`.
pub fn diff(before: &PlanSnapshot, after: &PlanSnapshot) -> PlanChanges {
    Pairing::between(before, after).changes()
}

/// The positions in `before` of the tasks whose box differs in `after`, ascending. Tasks are paired as in [`diff`].
pub fn toggled(before: &PlanSnapshot, after: &PlanSnapshot) -> Vec<u32> {
    let pairing = Pairing::between(before, after);
    let partners = pairing.partner.iter().zip(0..);
    let toggled = partners.filter(|(new, old)| {
        let old = &before.tasks[*old as usize];
        new.is_some_and(|new| after.tasks[new].done != old.done)
    });
    toggled.map(|(_, old)| old).collect()
}

struct Pairing<'a> {
    before: &'a [PlanTask],
    after: &'a [PlanTask],
    /// For each earlier task, the index of the later one.
    partner: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Pairing<'a> {
    fn between(before: &'a PlanSnapshot, after: &'a PlanSnapshot) -> Self {
        let mut pairing = Self {
            before: &before.tasks,
            after: &after.tasks,
            partner: vec![None; before.tasks.len()],
            taken: vec![false; after.tasks.len()],
        };
        pairing.pair_equal(|task| (task.text.as_str(), task.done));
        pairing.pair_equal(|task| task.text.as_str());
        pairing.pair_grown();
        pairing
    }

    /// Pairs the unpaired tasks with equal keys, in order.
    fn pair_equal<K: Eq + Hash>(&mut self, key: impl Fn(&'a PlanTask) -> K) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (new, task) in self.after.iter().enumerate() {
            if !self.taken[new] {
                free.entry(key(task)).or_default().push_back(new);
            }
        }
        for (old, partner) in self.before.iter().zip(&mut self.partner) {
            if partner.is_some() {
                continue;
            }
            *partner = free.get_mut(&key(old)).and_then(VecDeque::pop_front);
            if let Some(new) = *partner {
                self.taken[new] = true;
            }
        }
    }

    /// Pairs the unpaired tasks whose later text is the earlier one plus a note.
    fn pair_grown(&mut self) {
        let keys = RandomState::new();
        let mut free: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (old, task) in self.before.iter().enumerate() {
            if self.partner[old].is_none() {
                free.entry(hash_of(&keys, &task.text)).or_default().push_back(old);
            }
        }
        if free.is_empty() {
            return;
        }
        for (new, task) in self.after.iter().enumerate() {
            if self.taken[new] {
                continue;
            }
            let stems = stems(&keys, &task.text);
            let grown = stems.into_iter().rev().find_map(|(stem, hash)| {
                let same = free.get_mut(&hash)?;
                let old = *same.front()?;
                (self.before[old].text == stem).then(|| same.pop_front()).flatten()
            });
            if let Some(old) = grown {
                self.partner[old] = Some(new);
                self.taken[new] = true;
            }
        }
    }

    fn changes(&self) -> PlanChanges {
        let mut changes = PlanChanges::default();
        for (old, partner) in self.before.iter().zip(&self.partner) {
            let list = match partner.map(|new| (old.done, self.after[new].done)) {
                Some((false, true)) => &mut changes.ticked,
                Some((true, false)) => &mut changes.unticked,
                Some((true, true) | (false, false)) => continue,
                None => &mut changes.vanished,
            };
            list.push(old.text.clone());
        }
        let added = self.after.iter().zip(&self.taken).filter(|(_, taken)| !**taken);
        changes.added = added.map(|(new, _)| new.text.clone()).collect();
        changes
    }
}

/// The texts that `text` may have been before it gained a note, shortest first, each with its hash: every prefix that
/// does not end within a word.
fn stems<'a>(keys: &RandomState, text: &'a str) -> Vec<(&'a str, u64)> {
    let mut hasher = keys.build_hasher();
    let mut hashed = 0;
    let ends = text.char_indices().filter(|(_, next)| !next.is_alphanumeric());
    ends.map(|(end, _)| {
        // Each byte is hashed once.
        hasher.write(&text.as_bytes()[hashed..end]);
        hashed = end;
        (&text[..end], hasher.finish())
    })
    .collect()
}

fn hash_of(keys: &RandomState, text: &str) -> u64 {
    let mut hasher = keys.build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanKind, read::parse};

    fn plan(text: &str) -> PlanSnapshot {
        parse(PlanKind::Markdown, text).unwrap()
    }

    fn changes(before: &str, after: &str) -> PlanChanges {
        diff(&plan(before), &plan(after))
    }

    #[test]
    fn a_tick_and_an_untick_are_told_apart() {
        let changes = changes("- [ ] a\n- [x] b\n- [ ] c", "- [x] a\n- [ ] b\n- [ ] c");
        assert_eq!(changes.ticked, ["a"]);
        assert_eq!(changes.unticked, ["b"]);
        assert!(changes.added.is_empty() && changes.vanished.is_empty());
    }

    #[test]
    fn boxes_that_are_others_are_named_by_their_places_before() {
        let before = plan("- [ ] a\n- [x] b\n- [ ] c\n- [ ] d");
        let after = plan("- [ ] new\n- [ ] c\n- [x] a (done in 1a2b)\n- [ ] b");
        assert_eq!(toggled(&before, &after), [0, 1]);
        assert_eq!(toggled(&before, &before), [0; 0]);
    }

    #[test]
    fn moving_a_task_changes_nothing() {
        let same = changes("- [ ] a\n- [x] b\n- [ ] c", "* [ ] c\n1. [ ] a\n\n# End\n- [X] b");
        assert_eq!(same, PlanChanges::default());
    }

    #[test]
    fn added_and_vanished_tasks_are_named() {
        let changes = changes("- [ ] a\n- [ ] b", "- [ ] b\n- [ ] c");
        assert_eq!(changes.added, ["c"]);
        assert_eq!(changes.vanished, ["a"]);
    }

    #[test]
    fn equal_tasks_are_counted() {
        let both = changes("- [ ] test\n- [ ] test\n- [ ] test", "- [x] test\n- [ ] test");
        assert_eq!(both.ticked, ["test"]);
        assert_eq!(both.vanished, ["test"]);
    }

    #[test]
    fn of_two_equal_tasks_the_unchanged_one_is_paired_first() {
        let changes = changes("- [ ] test\n- [x] test", "- [x] test\n- [x] test");
        assert_eq!(changes.ticked, ["test"]);
        assert!(changes.unticked.is_empty());
    }

    #[test]
    fn a_task_that_grew_a_note_is_the_same_task() {
        let changes = changes("- [ ] fix it\n- [ ] add", "- [x] fix it (done in 1a2b)\n- [ ] address");
        assert_eq!(changes.ticked, ["fix it"]);
        assert_eq!(changes.vanished, ["add"]);
        assert_eq!(changes.added, ["address"]);
    }

    #[test]
    fn of_two_tasks_that_may_have_grown_into_one_it_is_the_longer() {
        let changes = changes("- [ ] fix\n- [ ] fix it", "- [x] fix it (done)\n- [ ] fix");
        assert_eq!(changes.ticked, ["fix it"]);
        assert!(changes.vanished.is_empty() && changes.added.is_empty(), "{changes:?}");
    }

    #[test]
    fn equal_tasks_grow_one_by_one() {
        let changes = changes("- [ ] a\n- [ ] a\n- [ ] a", "- [x] a: one\n- [x] a, two\n- [ ] ab");
        assert_eq!(changes.ticked, ["a", "a"]);
        assert_eq!((changes.vanished.len(), changes.added.len()), (1, 1));
    }

    #[test]
    fn a_plan_whose_every_task_was_reworded_is_compared_in_one_pass() {
        // Pairwise comparison would need 3.6 · 10^9 steps.
        let tasks = |word: &str| PlanSnapshot {
            tasks: (0..60_000)
                .map(|number| PlanTask {
                    text: format!("a task, {word} of its number, which is {number}"),
                    done: false,
                    line: 1,
                    depth: 0,
                    heading: None,
                    settings: Default::default(),
                })
                .collect(),
        };
        let changes = diff(&tasks("aware"), &tasks("unaware"));
        assert_eq!((changes.vanished.len(), changes.added.len()), (60_000, 60_000));
        assert!(changes.ticked.is_empty() && changes.unticked.is_empty());
    }

    #[test]
    fn a_task_that_shrank_has_vanished() {
        let changes = changes("- [ ] parse and print", "- [x] parse");
        assert_eq!(changes.vanished, ["parse and print"]);
        assert_eq!(changes.added, ["parse"]);
    }
}
