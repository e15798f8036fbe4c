//! Compares two readings of a plan.

use std::{
    collections::{HashMap, VecDeque, hash_map::RandomState},
    hash::{BuildHasher, Hash, Hasher},
};

use ralph_core::event::{PlanSnapshot, PlanStep, PlanTask, step_name};

/// The changed tasks, by text. A task that only moved is in none of the lists. A step is named with its task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanChanges {
    /// Open before, done after.
    pub ticked: Vec<String>,
    /// Done before, open after.
    pub unticked: Vec<String>,
    pub added: Vec<String>,
    /// Open before, and no longer in the plan. What was done may go: plans are tidied.
    pub vanished: Vec<String>,
}

/// Compares two readings of a plan.
///
/// Tasks with equal texts are the same. Among several equal ones, the unchanged ones are paired first, so that a tick
/// of one of two equal tasks counts as one tick. A task that gained a note (`fix it` → `fix it (done in 1a2b)`) or a sign
/// before its text is the same, as agents like to add these when they tick; a shortened or reworded task has vanished, and
/// another was added. If several tasks could have become the same longer one, the longest is paired.
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
    let toggled = pairing.task_partners().into_iter().zip(0..).filter(|(new, old)| {
        let old = &before.tasks[*old as usize];
        new.is_some_and(|new| after.tasks[new].done != old.done)
    });
    toggled.map(|(_, old)| old).collect()
}

/// Adds the done tasks of `before` that are no longer in the file to `after`, where they were, with line 0.
///
/// So a plan may be tidied while its progress stays what it was.
pub fn keep_done(before: &PlanSnapshot, after: &mut PlanSnapshot) {
    let partners = Pairing::between(before, after).task_partners();
    let mut next = 0;
    let mut gone: Vec<(usize, PlanTask)> = Vec::new();
    for (old, partner) in before.tasks.iter().zip(partners) {
        match partner {
            Some(new) => next = new + 1,
            None if old.done => gone.push((
                next,
                PlanTask {
                    line: 0,
                    heading: None,
                    ..old.clone()
                },
            )),
            None => {}
        }
    }
    if gone.is_empty() {
        return;
    }
    // Stable, so that what was removed from one place keeps its order.
    gone.sort_by_key(|(at, _)| *at);
    let mut gone = gone.into_iter().peekable();
    let mut tasks = Vec::with_capacity(after.tasks.len());
    for (at, task) in std::mem::take(&mut after.tasks).into_iter().enumerate() {
        while let Some((_, done)) = gone.next_if(|(before, _)| *before <= at) {
            tasks.push(done);
        }
        tasks.push(task);
    }
    tasks.extend(gone.map(|(_, done)| done));
    after.tasks = tasks;
}

/// A box of a plan: a task, or a step of one.
struct PlanBox<'a> {
    /// The index of the task.
    task: usize,
    /// The step; `None` for a task without steps.
    step: Option<&'a PlanStep>,
    /// The text without a qualifier.
    words: &'a str,
    /// The words behind signs in front of them.
    stem: &'a str,
    /// The heading that it is below.
    section: &'a str,
    done: bool,
}

fn boxes(plan: &[PlanTask]) -> Vec<PlanBox<'_>> {
    let mut section = "";
    let mut boxes = Vec::with_capacity(plan.len());
    for (index, task) in plan.iter().enumerate() {
        section = task.heading.as_deref().unwrap_or(section);
        let qualifier = task.qualifier.as_deref();
        let words = qualifier
            .and_then(|qualifier| task.text.strip_suffix(qualifier))
            .unwrap_or(&task.text);
        if task.steps.is_empty() {
            let qualifier = qualifier.map(|qualifier| qualifier.trim_start_matches(" (").trim_end_matches(')'));
            boxes.push(PlanBox {
                task: index,
                step: None,
                words,
                stem: behind_signs(words),
                section: qualifier.unwrap_or(section),
                done: task.done,
            });
        }
        boxes.extend(task.steps.iter().map(|step| PlanBox {
            task: index,
            step: Some(step),
            words: &step.text,
            stem: behind_signs(&step.text),
            section: &task.text,
            done: step.done,
        }));
    }
    boxes
}

/// The text behind emoji and other signs. A text of signs alone is itself.
fn behind_signs(text: &str) -> &str {
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_ascii_punctuation();
    match text.trim_start_matches(is_sign) {
        "" => text,
        stem => stem,
    }
}

struct Pairing<'a> {
    before: &'a [PlanTask],
    after: &'a [PlanTask],
    old: Vec<PlanBox<'a>>,
    new: Vec<PlanBox<'a>>,
    /// For each earlier box, the index of the later one.
    partner: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Pairing<'a> {
    fn between(before: &'a PlanSnapshot, after: &'a PlanSnapshot) -> Self {
        let (old, new) = (boxes(&before.tasks), boxes(&after.tasks));
        let mut pairing = Self {
            before: &before.tasks,
            after: &after.tasks,
            partner: vec![None; old.len()],
            taken: vec![false; new.len()],
            old,
            new,
        };
        pairing.pair_equal(|one| (one.words, one.section, one.done));
        pairing.pair_equal(|one| (one.words, one.section));
        pairing.pair_equal(|one| (one.words, one.done));
        pairing.pair_equal(|one| one.words);
        pairing.pair_equal(|one| (one.stem, one.section));
        pairing.pair_equal(|one| one.stem);
        pairing.pair_grown();
        pairing
    }

    /// Pairs the unpaired boxes with equal keys, in order.
    fn pair_equal<K: Eq + Hash>(&mut self, key: impl Fn(&PlanBox<'a>) -> K) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (new, one) in self.new.iter().enumerate() {
            if !self.taken[new] {
                free.entry(key(one)).or_default().push_back(new);
            }
        }
        if free.is_empty() {
            return;
        }
        for (old, partner) in self.old.iter().zip(&mut self.partner) {
            if partner.is_some() {
                continue;
            }
            *partner = free.get_mut(&key(old)).and_then(VecDeque::pop_front);
            if let Some(new) = *partner {
                self.taken[new] = true;
            }
        }
    }

    /// Pairs the unpaired boxes whose later text is the earlier one plus a note.
    fn pair_grown(&mut self) {
        let keys = RandomState::new();
        let mut free: HashMap<u64, VecDeque<usize>> = HashMap::new();
        for (old, one) in self.old.iter().enumerate() {
            if self.partner[old].is_none() {
                free.entry(hash_of(&keys, one.stem)).or_default().push_back(old);
            }
        }
        if free.is_empty() {
            return;
        }
        for (new, one) in self.new.iter().enumerate() {
            if self.taken[new] {
                continue;
            }
            let stems = stems(&keys, one.stem);
            let grown = stems.into_iter().rev().find_map(|(stem, hash)| {
                let same = free.get_mut(&hash)?;
                let old = *same.front()?;
                (self.old[old].stem == stem).then(|| same.pop_front()).flatten()
            });
            if let Some(old) = grown {
                self.partner[old] = Some(new);
                self.taken[new] = true;
            }
        }
    }

    /// For each earlier task, the index of the later one with the first of its boxes that is still there.
    fn task_partners(&self) -> Vec<Option<usize>> {
        let mut partners = vec![None; self.before.len()];
        for (old, partner) in self.old.iter().zip(&self.partner) {
            let task = partner.map(|new| self.new[new].task);
            partners[old.task] = partners[old.task].or(task);
        }
        partners
    }

    fn changes(&self) -> PlanChanges {
        let mut changes = PlanChanges::default();
        for (task, partner) in self.before.iter().zip(self.task_partners()) {
            match partner.map(|new| (task.done, self.after[new].done)) {
                Some((false, true)) => changes.ticked.push(task.text.clone()),
                Some((true, false)) => changes.unticked.push(task.text.clone()),
                Some((true, true) | (false, false)) | None => {}
            }
        }
        let vanished = self
            .old
            .iter()
            .zip(&self.partner)
            .filter(|(old, partner)| partner.is_none() && !old.done);
        changes.vanished = vanished.map(|(old, _)| name(self.before, old)).collect();
        let is_known = |task: usize| {
            self.new
                .iter()
                .zip(&self.taken)
                .any(|(one, taken)| one.task == task && *taken)
        };
        let mut latest = None;
        for (one, _) in self.new.iter().zip(&self.taken).filter(|(_, taken)| !**taken) {
            if one.step.is_none() || is_known(one.task) {
                changes.added.push(name(self.after, one));
            } else if latest.replace(one.task) != Some(one.task) {
                // All of its steps are new.
                changes.added.push(self.after[one.task].text.clone());
            }
        }
        changes
    }
}

/// The name of a box in records and messages.
fn name(plan: &[PlanTask], one: &PlanBox<'_>) -> String {
    let task = &plan[one.task];
    match one.step {
        Some(step) => step_name(task, step),
        None => task.text.clone(),
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
                    ..PlanTask::default()
                })
                .collect(),
        };
        let changes = diff(&tasks("aware"), &tasks("unaware"));
        assert_eq!((changes.vanished.len(), changes.added.len()), (60_000, 60_000));
        assert!(changes.ticked.is_empty() && changes.unticked.is_empty());
    }

    #[test]
    fn a_sign_before_the_text_makes_no_other_task() {
        let changes = changes(
            "- [ ] parse\n- [ ] print\n- [ ] send",
            "- [x] ✅ parse\n- [x] ~~🎉 print~~ (done)\n- [ ] send",
        );
        assert_eq!(changes.ticked, ["parse", "print"]);
        assert!(changes.vanished.is_empty() && changes.added.is_empty(), "{changes:?}");
    }

    #[test]
    fn done_tasks_may_go_and_count_as_before() {
        let before = plan("- [x] a\n- [ ] b\n- [x] c\n  - [x] d\n- [ ] e");
        let mut after = plan("- [ ] b\n- [ ] new\n");
        let changes = diff(&before, &after);
        assert_eq!(
            (changes.vanished, changes.added),
            (vec!["e".to_owned()], vec!["new".to_owned()])
        );
        keep_done(&before, &mut after);
        let kept: Vec<_> = after
            .tasks
            .iter()
            .map(|task| (task.line, task.done, task.text.as_str()))
            .collect();
        assert_eq!(
            kept,
            [
                (0, true, "a"),
                (1, false, "b"),
                (0, true, "c"),
                (0, true, "d"),
                (2, false, "new")
            ]
        );
        let again = after.clone();
        let mut read = plan("- [ ] b\n- [ ] new\n");
        keep_done(&again, &mut read);
        assert_eq!(read, again);
    }

    #[test]
    fn of_equal_tasks_the_one_below_its_heading_is_ticked() {
        let before = "# A\n- [ ] one\n- [ ] doc\n- [ ] two\n# B\n- [ ] three\n- [ ] doc\n- [ ] four\n";
        let last = "# A\n- [ ] one\n- [ ] doc\n- [ ] two\n# B\n- [ ] three\n- [x] doc\n- [ ] four\n";
        assert_eq!(changes(before, last).ticked, ["doc (B)"]);
        let noted = last.replace("[x] doc", "[x] doc: see the guide");
        let changes = changes(before, &noted);
        assert!(changes.vanished.is_empty() && changes.added.is_empty(), "{changes:?}");
    }

    #[test]
    fn steps_are_named_with_their_task() {
        let before = "# A\n- [ ] Test\n- [ ] Commit\n# B\n- [ ] Test\n- [ ] Commit\n";
        let changed = |after: &str| changes(before, after);
        let one = changed("# A\n- [x] Test\n- [x] Commit\n# B\n- [ ] Test\n- [ ] Commit\n");
        assert_eq!(one.ticked, ["A"]);
        let less = changed("# A\n- [x] Test\n- [x] Commit\n# B\n- [x] Test\n");
        assert_eq!(less.vanished, ["Commit (B)"]);
        let more =
            changed("# A\n- [ ] Test\n- [ ] Commit\n# B\n- [ ] Test\n- [ ] Commit\n# C\n- [ ] Test\n- [ ] Commit\n");
        assert_eq!((more.added, more.vanished), (vec!["C".to_owned()], vec![]));
        // A plan that becomes one with steps loses none of its tasks.
        let grown = changes(
            "# A\n- [ ] Test\n- [ ] Commit\n",
            "# A\n- [x] Test\n- [ ] Commit\n# B\n- [ ] Test\n- [ ] Commit\n",
        );
        assert_eq!((grown.vanished, grown.added), (vec![], vec!["B".to_owned()]));
    }

    #[test]
    fn a_task_that_shrank_has_vanished() {
        let changes = changes("- [ ] parse and print", "- [x] parse");
        assert_eq!(changes.vanished, ["parse and print"]);
        assert_eq!(changes.added, ["parse"]);
    }
}
