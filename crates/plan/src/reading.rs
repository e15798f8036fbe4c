//! The result of parsing a plan: its tasks, and the mistakes in their settings.

use std::ops::Range;

use ralph_core::event::{PlanSnapshot, PlanTask, UnreadLine, UnreadWhy, clip};
use ralph_text::Position;

use super::{check_box::CheckBox, headings::Heading, line::one_line, story_keys::StoryState};

/// Longest beginning of an unread line that is kept.
const UNREAD_CAP_BYTES: usize = 80;

/// An invalid setting of a task. The task itself is still valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskMistake {
    /// Index of the task in the plan.
    pub task: usize,
    pub position: Position,
    /// A clause with the correction.
    pub what: String,
}

/// A parsed plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedPlan {
    pub plan: PlanSnapshot,
    pub mistakes: Vec<TaskMistake>,
    /// Settings without an effect. The plan can be worked on as it is.
    pub remarks: Vec<TaskMistake>,
    /// How the stories of a `prd.json` say that they are done, if they do.
    pub story_state: Option<StoryState>,
    /// The position of the settings of each task that has any, in the order of the plan, with the task's index.
    pub places: Vec<(usize, Position)>,
    /// The lines that look like tasks and cannot be read, in the order of the plan.
    pub unread: Vec<UnreadLine>,
}

/// The tasks of a plan before their sizes are checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FoundTasks {
    pub(super) tasks: Vec<PlanTask>,
    pub(super) mistakes: Vec<TaskMistake>,
    pub(super) remarks: Vec<TaskMistake>,
    pub(super) story_state: Option<StoryState>,
    pub(super) places: Vec<(usize, Position)>,
    pub(super) unread: Vec<UnreadLine>,
    /// The place of each task; empty for a plan in JSON.
    pub(super) sources: Vec<TaskSource>,
    pub(super) headings: Vec<Heading>,
}

/// The place of a task in Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskSource {
    pub(super) check_box: CheckBox,
    /// From its marker to the end of its last line.
    pub(super) range: Range<usize>,
    /// The number of its list; 0 for a heading.
    pub(super) list: u32,
    /// Number of headings before it, which is that of its own heading, from 1.
    pub(super) section: usize,
    /// Whether it has the setting `skip`.
    pub(super) is_skipped: bool,
}

impl FoundTasks {
    /// Removes the tasks that are not `kept`. The tasks in them move outwards.
    pub(super) fn retain(&mut self, kept: &[bool]) {
        let mut around: Vec<(u8, bool)> = Vec::new();
        let mut numbers = Vec::with_capacity(kept.len());
        let mut next = 0;
        for (task, kept) in self.tasks.iter_mut().zip(kept) {
            around.retain(|(depth, _)| *depth < task.depth);
            let gone = around.iter().filter(|(_, kept)| !kept).count();
            around.push((task.depth, *kept));
            task.depth = task.depth.saturating_sub(u8::try_from(gone).unwrap_or(u8::MAX));
            numbers.push(kept.then_some(next));
            next += usize::from(*kept);
        }
        // The heading of a task that goes is that of the next one.
        let mut heading = None;
        for (task, kept) in self.tasks.iter_mut().zip(kept) {
            if *kept {
                task.heading = task.heading.take().or(heading.take());
                heading = None;
            } else {
                heading = task.heading.take().or(heading);
            }
        }
        let mut keep = kept.iter();
        self.tasks.retain(|_| keep.next().copied().unwrap_or(true));
        let mut keep = kept.iter();
        self.sources.retain(|_| keep.next().copied().unwrap_or(true));
        let number = |task: usize| numbers.get(task).copied().unwrap_or(Some(next));
        self.places = self
            .places
            .iter()
            .filter_map(|(task, place)| Some((number(*task)?, *place)))
            .collect();
        self.mistakes.retain_mut(|mistake| {
            let number = number(mistake.task);
            mistake.task = number.unwrap_or_default();
            number.is_some()
        });
    }
}

/// An entry for a line that is no task.
pub(super) fn unread(line: u32, source: &str, why: UnreadWhy) -> UnreadLine {
    UnreadLine {
        line,
        text: clip(&one_line(source), UNREAD_CAP_BYTES).into(),
        why,
    }
}
