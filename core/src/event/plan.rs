//! The contents of a plan.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// A plan's tasks in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct PlanSnapshot {
    pub tasks: Vec<PlanTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct PlanTask {
    /// The task's text without marker and box, and with its `qualifier`.
    pub text: String,
    pub done: bool,
    /// Line in the plan file, from 1; 0 for a done task that was removed from the file.
    pub line: u32,
    /// Nesting, 0 for a top-level task.
    pub depth: u8,
    /// The last heading between this task and the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    #[serde(default, skip_serializing_if = "TaskSettings::is_empty")]
    pub settings: TaskSettings,
    /// The content of the box of an open task, such as `~`, if it is not blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The end of `text` that tells the task from another with the same words: its heading in parentheses, after a space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qualifier: Option<String>,
    /// The steps of a task that is a heading with steps below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PlanStep>,
}

/// A step of a task: a box below the heading that is the task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct PlanStep {
    pub text: String,
    pub done: bool,
    /// Line in the plan file, from 1.
    pub line: u32,
}

/// Settings of a task that override those of the run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, crate::JsonSchema)]
pub struct TaskSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the task permits changes to tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tests_may_change: bool,
    /// The command that has to pass before the task's tick counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Patterns of the files that the task may change; empty for all files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Texts of the tasks that have to be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Whether the run may be done without the task, which is tried last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Tasks with a higher priority come first; the default is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

/// A task that may change some files only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ScopedTask {
    /// The text of the task.
    pub task: String,
    /// Patterns of the files.
    pub only: Vec<String>,
}

impl TaskSettings {
    pub fn is_empty(&self) -> bool {
        *self == TaskSettings::default()
    }

    /// Whether the task asks for an agent or a model.
    pub fn names_worker(&self) -> bool {
        self.adapter.is_some() || self.model.is_some()
    }

    /// Takes what is not set from the settings of the section around. A model belongs to the adapter beside it.
    pub fn inherit(&mut self, section: &TaskSettings) {
        if self.adapter.is_none() {
            self.model = self.model.take().or_else(|| section.model.clone());
            self.adapter.clone_from(&section.adapter);
        }
        self.tests_may_change |= section.tests_may_change;
        self.check = self.check.take().or_else(|| section.check.clone());
        if self.only.is_empty() {
            self.only.clone_from(&section.only);
        }
        if self.after.is_empty() {
            self.after.clone_from(&section.after);
        }
        self.optional |= section.optional;
        self.priority = self.priority.or(section.priority);
    }
}

impl PlanSnapshot {
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.done).count()
    }

    pub fn open(&self) -> usize {
        self.tasks.len() - self.done()
    }

    /// Number of open tasks without which a run cannot be done, besides those with a text in `left_out`.
    pub fn open_required(&self, left_out: &[String]) -> usize {
        self.required(left_out).count()
    }

    /// Whether there are tasks and all are done but optional ones and those with a text in `left_out`. A plan without
    /// check-boxes is never complete.
    pub fn is_complete(&self, left_out: &[String]) -> bool {
        !self.tasks.is_empty() && self.open_required(left_out) == 0
    }

    /// The first task without which a run cannot be done, besides those with a text in `left_out`.
    pub fn first_required(&self, left_out: &[String]) -> Option<&PlanTask> {
        let current = self.current_except(left_out).filter(|task| task.is_required());
        current.or_else(|| self.required(left_out).next())
    }

    fn required(&self, left_out: &[String]) -> impl Iterator<Item = &PlanTask> {
        let required = self.tasks.iter().filter(|task| task.is_required());
        required.filter(|task| !left_out.contains(&task.text))
    }

    /// Texts of the open tasks among `texts`, of the open tasks in them, and of those that wait for one of all these.
    pub fn with_dependents(&self, texts: &[String]) -> Vec<String> {
        if texts.is_empty() {
            return Vec::new();
        }
        let mut found: HashSet<&str> = texts.iter().map(String::as_str).collect();
        loop {
            let known = found.len();
            let mut around: Vec<&PlanTask> = Vec::new();
            for task in &self.tasks {
                around.retain(|outer| outer.depth < task.depth);
                let waits = task.settings.after.iter().any(|other| found.contains(other.as_str()));
                if waits || around.iter().any(|outer| found.contains(outer.text.as_str())) {
                    found.insert(&task.text);
                }
                around.push(task);
            }
            if found.len() == known {
                break;
            }
        }
        let open = self
            .tasks
            .iter()
            .filter(|task| !task.done && found.contains(task.text.as_str()));
        open.map(|task| task.text.clone()).collect()
    }

    /// Removes from `missing` the tasks that reappeared: one entry for each additional occurrence compared with
    /// `before`.
    pub fn take_back(&self, before: &PlanSnapshot, missing: &mut Vec<String>) {
        let count = |plan: &PlanSnapshot, text: &str| {
            let tasks = plan.tasks.iter();
            let named = tasks.map(|task| {
                let steps = task.steps.iter().filter(|step| step_name(task, step) == text).count();
                steps + usize::from(task.text == text)
            });
            named.sum::<usize>()
        };
        let mut back = HashMap::new();
        missing.retain(|text| {
            let left = back
                .entry(text.clone())
                .or_insert_with(|| count(self, text).saturating_sub(count(before, text)));
            let is_back = *left > 0;
            *left = left.saturating_sub(1);
            !is_back
        });
    }

    /// The scope of the task with this text, by the name of the task when the run began; `None` if it may change every file.
    ///
    /// A task keeps the scope that it had when the run began (`at_start`), also if its text has gained a note. Another task has
    /// the one in the plan: an agent that writes it restricts only itself.
    pub fn scope_of(&self, at_start: &[ScopedTask], text: &str) -> Option<ScopedTask> {
        let exact = at_start.iter().find(|scoped| scoped.task == text);
        let grown = || {
            let is_gone = |scoped: &&ScopedTask| !self.tasks.iter().any(|task| task.text == scoped.task);
            let grown = at_start.iter().filter(|scoped| has_grown(&scoped.task, text));
            grown.filter(is_gone).max_by_key(|scoped| scoped.task.len())
        };
        exact.or_else(grown).cloned().or_else(|| {
            let task = self.tasks.iter().find(|task| task.text == text)?;
            let only = task.settings.only.clone();
            let task = text.to_owned();
            (!only.is_empty()).then_some(ScopedTask { task, only })
        })
    }

    /// The heading that a task is below, by its position.
    pub fn section_of(&self, position: usize) -> Option<&str> {
        let tasks = self.tasks.get(..=position)?;
        tasks.iter().rev().find_map(|task| task.heading.as_deref())
    }

    /// The first open task, which an iteration works on.
    ///
    /// If that task has open children, the innermost first one is returned instead.
    pub fn current(&self) -> Option<&PlanTask> {
        self.current_except(&[])
    }

    /// The open task that comes first, whose text is not among `set_aside` and which waits for no other task.
    ///
    /// Optional tasks come last, those with a higher priority first, and otherwise the order of the file counts.
    pub fn current_except(&self, set_aside: &[String]) -> Option<&PlanTask> {
        let waiting = self.waiting();
        let is_free = |index: usize| {
            let task = &self.tasks[index];
            !task.done && !set_aside.contains(&task.text) && !waiting.get(index).copied().unwrap_or_default()
        };
        let ranks = self.ranks();
        let free = (0..self.tasks.len()).filter(|index| is_free(*index));
        let first = match &ranks[..] {
            [] => { free }.next()?,
            ranks => free.min_by_key(|index| (ranks[*index], *index))?,
        };
        let mut current = &self.tasks[first];
        for (index, task) in self.tasks.iter().enumerate().skip(first + 1) {
            if task.depth <= current.depth {
                break;
            }
            if is_free(index) {
                current = task;
            }
        }
        Some(current)
    }

    /// The rank of each task by its own settings and those of the tasks around it: whether it is optional, and its
    /// negated priority. Empty if no task has a rank of its own.
    fn ranks(&self) -> Vec<(bool, i32)> {
        let has_rank = |task: &PlanTask| task.settings.optional || task.settings.priority.is_some();
        if !self.tasks.iter().any(has_rank) {
            return Vec::new();
        }
        let mut around: Vec<(u8, (bool, i32))> = Vec::new();
        let ranks = self.tasks.iter().map(|task| {
            around.retain(|(depth, _)| *depth < task.depth);
            let (optional, negated) = around.last().map(|(_, rank)| *rank).unwrap_or_default();
            let own = task.settings.priority.map(i32::saturating_neg);
            let rank = (optional || task.settings.optional, own.unwrap_or(negated));
            around.push((task.depth, rank));
            rank
        });
        ranks.collect()
    }

    /// Whether each task waits for another one: by its own settings, by those of a task around it, or with an open task
    /// in it. Empty if no task has to wait.
    fn waiting(&self) -> Vec<bool> {
        if self.tasks.iter().all(|task| task.settings.after.is_empty()) {
            return Vec::new();
        }
        let open: HashSet<&str> = self
            .tasks
            .iter()
            .filter(|task| !task.done)
            .map(|task| task.text.as_str())
            .collect();
        let waits = |task: &PlanTask| task.settings.after.iter().any(|other| open.contains(other.as_str()));
        let mut waiting: Vec<bool> = self.tasks.iter().map(waits).collect();
        let mut around: Vec<usize> = Vec::new();
        for index in 0..self.tasks.len() {
            around.retain(|outer| self.tasks[*outer].depth < self.tasks[index].depth);
            if waiting[index] && !self.tasks[index].done && waits(&self.tasks[index]) {
                around.iter().for_each(|outer| waiting[*outer] = true);
            }
            around.push(index);
        }
        around.clear();
        for (index, (task, waiting)) in self.tasks.iter().zip(&mut waiting).enumerate() {
            around.retain(|outer| self.tasks[*outer].depth < task.depth);
            *waiting |= around.iter().any(|outer| waits(&self.tasks[*outer]));
            around.push(index);
        }
        waiting
    }
}

/// Whether a text is that of a task with a note behind it.
pub fn has_grown(task: &str, text: &str) -> bool {
    let note = text.strip_prefix(task);
    note.is_some_and(|note| !note.starts_with(char::is_alphanumeric))
}

/// The name of a step where its task is not named beside it.
pub fn step_name(task: &PlanTask, step: &PlanStep) -> String {
    format!("{} ({})", step.text, task.text)
}

impl PlanTask {
    fn is_required(&self) -> bool {
        !self.done && !self.settings.optional
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of lines such as `  [x] deploy < build, test`: a done task in another one, which waits for two tasks.
    fn plan(lines: &[&str]) -> PlanSnapshot {
        let task = |line: &&str| {
            let (text, after) = line.split_once(" < ").unwrap_or((line, ""));
            let (indent, text) = text.split_at(text.len() - text.trim_start().len());
            let (check_box, text) = text.split_at(3);
            let after = after.split(", ").filter(|other| !other.is_empty());
            PlanTask {
                text: text.trim().to_owned(),
                done: check_box == "[x]",
                line: 1,
                depth: u8::try_from(indent.len() / 2).expect("a depth"),
                heading: None,
                settings: TaskSettings {
                    after: after.map(str::to_owned).collect(),
                    ..TaskSettings::default()
                },
                ..PlanTask::default()
            }
        };
        PlanSnapshot {
            tasks: lines.iter().map(task).collect(),
        }
    }

    fn current(plan: &PlanSnapshot) -> Option<&str> {
        plan.current().map(|task| task.text.as_str())
    }

    #[track_caller]
    fn assert_current(lines: &[&str], task: &str) {
        assert_eq!(current(&plan(lines)), Some(task), "{lines:#?}");
    }

    #[test]
    fn the_innermost_first_open_task_is_worked_on() {
        assert_current(&["[x] a", "[ ] b", "[ ] c"], "b");
        assert_current(&["[ ] a", "  [x] b", "  [ ] c", "[ ] d"], "c");
        assert_current(&["[ ] a", "  [ ] b", "    [ ] c", "  [ ] d"], "c");
        assert_eq!(current(&plan(&["[x] a", "  [x] b"])), None);
    }

    #[test]
    fn a_task_waits_for_the_open_tasks_that_it_names() {
        assert_current(&["[ ] deploy < build", "[ ] build"], "build");
        assert_current(&["[ ] deploy < build", "[x] build"], "deploy");
        assert_current(&["[ ] deploy < build, test", "[x] build", "[ ] test"], "test");
        assert_current(&["[ ] build", "[ ] deploy < build"], "build");
        assert_eq!(current(&plan(&["[ ] a < b", "[ ] b < a"])), None);
    }

    #[test]
    fn a_task_waits_with_the_open_tasks_in_it() {
        assert_current(&["[ ] release", "  [ ] deploy < build", "[ ] build"], "build");
        assert_current(&["[ ] release", "  [x] deploy < build", "[ ] build"], "release");
        assert_current(&["[ ] first", "[ ] deploy < build", "[ ] build"], "first");
    }

    #[test]
    fn the_tasks_in_a_waiting_task_wait_too_and_those_beside_it_do_not() {
        assert_current(&["[ ] release < build", "  [ ] deploy", "[ ] build"], "build");
        assert_current(&["[ ] deploy < build", "[ ] other", "[ ] build"], "other");
    }

    #[test]
    fn a_higher_priority_comes_first_and_applies_to_the_tasks_within() {
        let mut urgent = plan(&["[ ] a", "[x] outer", "  [ ] inner", "[ ] b"]);
        urgent.tasks[1].settings.priority = Some(2);
        urgent.tasks[3].settings.priority = Some(1);
        assert_eq!(current(&urgent), Some("inner"));
        urgent.tasks[2].settings.priority = Some(0);
        assert_eq!(current(&urgent), Some("b"));
    }

    #[test]
    fn optional_tasks_and_those_within_come_last() {
        let mut plan = plan(&["[x] outer", "  [ ] inner", "[ ] a"]);
        plan.tasks[0].settings.optional = true;
        assert_eq!(current(&plan), Some("a"));
        plan.tasks[2].done = true;
        assert_eq!(current(&plan), Some("inner"));
    }

    #[test]
    fn a_run_is_done_without_its_optional_tasks_and_those_left_out() {
        let mut plan = plan(&["[x] a", "[ ] b", "[ ] c", "[ ] d"]);
        plan.tasks[3].settings.optional = true;
        let left_out = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (texts, open, first) in [
            (&[][..], 2, Some("b")),
            (&["b"], 1, Some("c")),
            (&["c"], 1, Some("b")),
            (&["b", "c"], 0, None),
        ] {
            let texts = left_out(texts);
            assert_eq!(plan.open_required(&texts), open, "{texts:?}");
            assert_eq!(plan.is_complete(&texts), open == 0, "{texts:?}");
            let required = plan.first_required(&texts).map(|task| task.text.as_str());
            assert_eq!(required, first, "{texts:?}");
        }
    }

    #[test]
    fn a_plan_without_tasks_is_never_complete() {
        assert!(!plan(&[]).is_complete(&[]));
    }

    #[test]
    fn the_first_required_task_may_wait_for_another() {
        let waiting = plan(&["[ ] deploy < build", "[ ] build"]);
        let left_out = ["build".to_owned()];
        let required = waiting.first_required(&left_out).map(|task| task.text.as_str());
        assert_eq!(required, Some("deploy"));
    }

    #[test]
    fn a_missing_task_is_taken_back_once_for_each_time_that_it_reappears() {
        let before = plan(&["[ ] a", "[ ] b"]);
        let taken_back = |lines: &[&str]| {
            let mut missing = vec!["a".to_owned(), "a".to_owned(), "b".to_owned()];
            plan(lines).take_back(&before, &mut missing);
            missing
        };
        assert_eq!(taken_back(&["[ ] a", "[ ] b"]), ["a", "a", "b"]);
        assert_eq!(taken_back(&["[ ] a", "[ ] a", "[ ] b"]), ["a", "b"]);
        assert_eq!(taken_back(&["[ ] a", "[ ] a", "[ ] a", "[ ] b"]), ["b"]);
        assert_eq!(taken_back(&[]), ["a", "a", "b"]);
    }

    #[test]
    fn a_task_asks_for_a_worker_with_an_agent_or_a_model() {
        let named = |adapter: Option<&str>, model: Option<&str>| {
            let (adapter, model) = (adapter.map(str::to_owned), model.map(str::to_owned));
            let settings = TaskSettings {
                adapter,
                model,
                ..TaskSettings::default()
            };
            settings.names_worker()
        };
        assert!(named(Some("codex"), None) && named(None, Some("opus")));
        assert!(!named(None, None));
    }

    #[test]
    fn a_task_takes_from_its_section_only_what_it_does_not_set() {
        let section = TaskSettings {
            adapter: Some("codex".to_owned()),
            model: Some("small".to_owned()),
            tests_may_change: true,
            check: Some("make test".to_owned()),
            only: vec!["src/**".to_owned()],
            after: vec!["build".to_owned()],
            optional: true,
            priority: Some(1),
        };
        let inherited = |mut settings: TaskSettings| {
            settings.inherit(&section);
            settings
        };
        assert_eq!(inherited(TaskSettings::default()), section);
        let own = TaskSettings {
            adapter: Some("claude".to_owned()),
            check: Some("true".to_owned()),
            only: vec!["docs/**".to_owned()],
            after: vec!["test".to_owned()],
            priority: Some(-1),
            ..TaskSettings::default()
        };
        let both = TaskSettings {
            tests_may_change: true,
            optional: true,
            ..own.clone()
        };
        assert_eq!(inherited(own), both, "the model belongs to the section's agent");
        let mut permissive = both.clone();
        permissive.inherit(&TaskSettings::default());
        assert_eq!(permissive, both);
    }

    #[test]
    fn a_task_keeps_the_scope_of_the_start_with_a_note_and_a_new_one_has_its_own() {
        let scoped = |task: &str, only: &str| ScopedTask {
            task: task.to_owned(),
            only: vec![only.to_owned()],
        };
        let at_start = [scoped("fix", "a"), scoped("fix it", "b")];
        let scope = |lines: &[&str], text: &str| {
            let mut plan = plan(lines);
            let new = plan.tasks.iter_mut().filter(|task| task.text.starts_with("new"));
            new.for_each(|task| task.settings.only = vec!["c".to_owned()]);
            plan.scope_of(&at_start, text)
        };
        assert_eq!(scope(&["[ ] fix", "[ ] fix it"], "fix it"), Some(scoped("fix it", "b")));
        assert_eq!(
            scope(&["[ ] fix", "[x] fix it (1a2b)"], "fix it (1a2b)"),
            Some(scoped("fix it", "b"))
        );
        assert_eq!(
            scope(&["[x] fix: done", "[ ] fix it"], "fix: done"),
            Some(scoped("fix", "a"))
        );
        assert_eq!(scope(&["[ ] fix", "[ ] fix other"], "fix other"), None);
        assert_eq!(scope(&["[ ] new"], "new"), Some(scoped("new", "c")));
        assert_eq!(scope(&["[ ] fixes"], "fixes"), None);
    }

    #[test]
    fn settings_of_a_task_survive_in_a_journal() {
        let plan = plan(&["[ ] deploy < build", "[ ] build"]);
        let line = serde_json::to_string(&plan).expect("JSON");
        let read: PlanSnapshot = serde_json::from_str(&line).expect("a plan");
        assert_eq!(read, plan);
    }
}
