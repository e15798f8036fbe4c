//! The difference between two readings of a plan, as stored in a journal. Its size depends on the range
//! of tasks in which they differ, and not on the length of the plan.

use serde::{Deserialize, Serialize};

use super::{Notice, PlanSnapshot, PlanTask, Text, UnreadLines};
use crate::json::ReadJson;

/// The difference between two consecutive readings of a plan. Positions are indexes of tasks in the earlier reading.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct PlanChange {
    /// Positions of the tasks whose box was ticked or cleared, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toggled: Vec<u32>,
    /// Line shifts of tasks, by position, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shifted: Vec<LineShift>,
    /// Tasks that were removed, inserted or reworded, by position, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ReplacedTasks>,
}

/// A shift of all tasks from position `from` up to the next [`LineShift`], in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct LineShift {
    pub from: u32,
    /// Negative for upwards.
    pub by: i32,
}

/// A range of tasks, starting at position `at`, that is replaced by `added`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ReplacedTasks {
    pub at: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<PlanTask>,
}

// The signature is required by serde.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl PlanChange {
    /// Computes the difference between two readings: what lies between the first and the last task that differ, besides boxes
    /// and lines, is replaced as a whole.
    pub fn between(before: &PlanSnapshot, after: &PlanSnapshot) -> Self {
        let (before, after) = (&before.tasks, &after.tasks);
        let mut change = Self::default();
        let (mut old, mut new, mut shift) = (0, 0, 0);
        let end = (before.len(), after.len());
        for (kept_old, kept_new) in kept(before, after).chain([end]) {
            if kept_old > old || kept_new > new {
                change.replaced.push(ReplacedTasks {
                    at: position(old),
                    removed: position(kept_old - old),
                    added: after[new..kept_new].to_vec(),
                });
            }
            let (Some(task), Some(now)) = (before.get(kept_old), after.get(kept_new)) else {
                break;
            };
            let by = now.line.cast_signed().wrapping_sub(task.line.cast_signed());
            if by != shift && now.line > 0 {
                let from = position(kept_old);
                change.shifted.push(LineShift { from, by });
                shift = by;
            }
            if task.done != now.done {
                change.toggled.push(position(kept_old));
            }
            (old, new) = (kept_old + 1, kept_new + 1);
        }
        change
    }

    /// Turns the earlier reading into the later one. Positions beyond the end of `plan` are ignored.
    pub fn apply_to(&self, plan: &mut PlanSnapshot) {
        for position in &self.toggled {
            if let Some(task) = plan.tasks.get_mut(*position as usize) {
                task.done = !task.done;
            }
        }
        let ends = self.shifted.iter().skip(1).map(|next| next.from).chain([u32::MAX]);
        for (shift, end) in self.shifted.iter().zip(ends) {
            let tasks = plan.tasks.iter_mut().take(end as usize).skip(shift.from as usize);
            let tasks = tasks.filter(|task| task.line > 0);
            tasks.for_each(|task| task.line = task.line.wrapping_add_signed(shift.by));
        }
        // From last to first, so that earlier positions stay valid.
        for replaced in self.replaced.iter().rev() {
            let at = (replaced.at as usize).min(plan.tasks.len());
            let end = at.saturating_add(replaced.removed as usize).min(plan.tasks.len());
            plan.tasks.splice(at..end, replaced.added.iter().cloned());
        }
    }

    /// Number of entries, each about the size of a task.
    pub fn entries(&self) -> usize {
        let added: usize = self.replaced.iter().map(|replaced| replaced.added.len()).sum();
        self.toggled.len() + self.shifted.len() + self.replaced.len() + added
    }
}

fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The tasks at the beginning and at the end that both plans have, as pairs of positions.
fn kept(before: &[PlanTask], after: &[PlanTask]) -> impl Iterator<Item = (usize, usize)> {
    let same = |(old, new): &(&PlanTask, &PlanTask)| is_same(old, new);
    let head = before.iter().zip(after).take_while(same).count();
    let ends = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = ends.take_while(same).count();
    let end = (before.len() - tail..before.len()).zip(after.len() - tail..after.len());
    (0..head).zip(0..head).chain(end)
}

/// Whether two tasks differ in their box and their line only. One that is not in the file has no line.
fn is_same(old: &PlanTask, new: &PlanTask) -> bool {
    let PlanTask {
        text,
        done: _,
        line,
        depth,
        heading,
        settings,
        mark,
        qualifier,
        steps,
    } = old;
    (*line > 0) == (new.line > 0)
        && (text, depth, heading) == (&new.text, &new.depth, &new.heading)
        && (settings, mark, qualifier, steps) == (&new.settings, &new.mark, &new.qualifier, &new.steps)
}

/// The plan on disk.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum PlanEvent {
    /// The plan on disk differs from the last one recorded; the change is large, so the whole plan is recorded.
    #[serde(rename = "plan-read")]
    Read { plan: PlanSnapshot },
    /// The lines of the plan that look like tasks and are none have changed.
    #[serde(rename = "plan-lines-unread")]
    LinesUnread { unread: UnreadLines },
    /// The plan on disk differs from the last one recorded in a few boxes or tasks only.
    #[serde(rename = "plan-changed")]
    Changed { change: PlanChange },
    /// The plan cannot be read after an iteration.
    #[serde(rename = "plan-not-read")]
    NotRead { why: Text },
    /// The agent added or removed tasks. Ticking a task does not count.
    #[serde(rename = "plan-edited")]
    Edited {
        iteration: u32,
        /// Texts of the removed tasks.
        vanished: Vec<String>,
        added: Vec<String>,
    },
}

impl PlanEvent {
    /// The notice that the event gives to the user, if any.
    pub fn notice(&self) -> Option<Notice> {
        match self {
            PlanEvent::NotRead { why } => Some(Notice::warning("plan-unreadable", why.as_str())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::TaskSettings, testing::Dice};

    /// A plan of tasks `[x] text`, one per line; `---` is another line.
    fn plan(lines: &[&str]) -> PlanSnapshot {
        let task = |(line, text): (usize, &&str)| {
            let (check_box, text) = text.split_at(3);
            (check_box != "---").then(|| PlanTask {
                text: text.trim().to_owned(),
                done: check_box == "[x]",
                line: position(line + 1),
                depth: 0,
                heading: None,
                settings: TaskSettings::default(),
                ..PlanTask::default()
            })
        };
        PlanSnapshot {
            tasks: lines.iter().enumerate().filter_map(task).collect(),
        }
    }

    #[track_caller]
    fn change(before: &PlanSnapshot, after: &PlanSnapshot) -> PlanChange {
        let change = PlanChange::between(before, after);
        let mut made = before.clone();
        change.apply_to(&mut made);
        assert_eq!(made, *after, "{change:?}");
        change
    }

    #[test]
    fn a_tick_is_a_position() {
        let change = change(&plan(&["[ ] a", "[ ] b", "[x] c"]), &plan(&["[ ] a", "[x] b", "[x] c"]));
        assert_eq!(serde_json::to_string(&change).unwrap(), r#"{"toggled":[1]}"#);
    }

    #[test]
    fn a_note_between_tasks_shifts_those_below() {
        let change = change(
            &plan(&["[ ] a", "[ ] b", "[ ] c"]),
            &plan(&["[ ] a", "---", "[ ] b", "---", "[x] c"]),
        );
        assert_eq!(
            serde_json::to_string(&change).unwrap(),
            r#"{"toggled":[2],"shifted":[{"from":1,"by":1},{"from":2,"by":2}]}"#
        );
    }

    #[test]
    fn tasks_in_one_place_are_the_only_ones_that_are_named() {
        let change = change(
            &plan(&["[ ] a", "[ ] b", "[ ] c", "[ ] d"]),
            &plan(&["[ ] a", "[ ] e", "[ ] c", "[x] d"]),
        );
        let replaced: Vec<_> = change
            .replaced
            .iter()
            .map(|it| (it.at, it.removed, it.added.len()))
            .collect();
        assert_eq!(replaced, [(1, 1, 1)]);
        assert_eq!(change.toggled, [3]);
    }

    #[test]
    fn any_two_plans_differ_by_what_makes_one_of_the_other() {
        let mut dice = Dice::new(7);
        let texts = ["[ ] a", "[x] a", "[ ] b", "[x] b", "[ ] c", "[ ] d", "---", "---"];
        let mut before = plan(&[]);
        for _ in 0..2_000 {
            let lines: Vec<&str> = (0..dice.roll(9)).map(|_| texts[dice.index(texts.len())]).collect();
            let after = plan(&lines);
            change(&before, &after);
            before = after;
        }
    }

    #[test]
    fn what_is_beyond_the_end_of_a_plan_changes_nothing() {
        let change = PlanChange {
            toggled: vec![0, 9],
            shifted: vec![LineShift { from: 8, by: -3 }, LineShift { from: 2, by: 3 }],
            replaced: vec![ReplacedTasks {
                at: 7,
                removed: u32::MAX,
                added: Vec::new(),
            }],
        };
        let mut changed = plan(&["[ ] a"]);
        change.apply_to(&mut changed);
        assert_eq!(changed, plan(&["[x] a"]));
    }

    #[test]
    fn a_change_has_an_entry_for_each_tick_shift_and_range_and_for_each_added_task() {
        let added = plan(&["[ ] a", "[ ] b", "[ ] c"]).tasks;
        let range = |at, added| ReplacedTasks { at, removed: 2, added };
        let shift = |from| LineShift { from, by: 1 };
        let change = PlanChange {
            toggled: vec![0, 1, 2, 3],
            shifted: vec![shift(1), shift(2), shift(3)],
            replaced: vec![range(4, added), range(8, Vec::new())],
        };
        assert_eq!(change.entries(), 4 + 3 + 2 + 3);
        assert_eq!(PlanChange::default().entries(), 0);
    }

    #[test]
    fn removed_tasks_stay_removed_after_the_change_was_read_from_a_journal() {
        let (before, after) = (plan(&["[ ] a", "[ ] b", "[ ] c"]), plan(&["[ ] c"]));
        let line = serde_json::to_string(&change(&before, &after)).expect("JSON");
        let read: PlanChange = serde_json::from_str(&line).expect("a change");
        let mut made = before;
        read.apply_to(&mut made);
        assert_eq!(made, after);
    }
}
