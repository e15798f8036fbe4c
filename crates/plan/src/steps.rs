//! Steps below a heading that are one task, and tasks of equal text that are told apart.
//!
//! Plans repeat steps below each heading ("Step 1: Write the failing test", "Step 2: Commit"). Such a step means nothing without
//! its heading, and one session can do them all: the heading is the task.

use std::collections::{HashMap, HashSet};

use ralph_core::event::{PlanStep, PlanTask, clip};

use super::{kind::ALL_HEADINGS_CAP_BYTES, reading::FoundTasks};

/// Longest heading that tells a task from others.
const QUALIFIER_CAP_BYTES: usize = 120;

/// Makes one task of the boxes below a heading if most of them are also below other headings.
pub(super) fn form_steps(found: &mut FoundTasks) {
    if found.headings.is_empty() || found.sources.len() != found.tasks.len() {
        return;
    }
    let groups = groups(found);
    if groups.is_empty() {
        return;
    }
    let mut kept = vec![true; found.tasks.len()];
    for (first, end) in groups {
        let heading = found.headings[found.sources[first].section - 1].text.clone();
        let steps: Vec<PlanStep> = found.tasks[first..end]
            .iter()
            .map(|task| PlanStep {
                text: task.text.clone(),
                done: task.done,
                line: task.line,
            })
            .collect();
        let task = &mut found.tasks[first];
        task.done = steps.iter().all(|step| step.done);
        task.text = heading;
        task.heading = None;
        task.mark = None;
        task.steps = steps;
        kept[first + 1..end].fill(false);
    }
    found.retain(&kept);
}

/// The ranges of tasks that are steps of one heading.
fn groups(found: &FoundTasks) -> Vec<(usize, usize)> {
    let mut sections: Vec<(usize, usize)> = Vec::new();
    for (task, source) in found.sources.iter().enumerate() {
        match sections.last_mut() {
            Some((first, end)) if found.sources[*first].section == source.section => *end = task + 1,
            Some(_) | None => sections.push((task, task + 1)),
        }
    }
    // In how many sections each key is.
    let mut counts: HashMap<String, usize> = HashMap::new();
    for &(first, end) in &sections {
        let keys: HashSet<String> = outer(&found.tasks[first..end]).flat_map(keys).collect();
        for key in keys {
            *counts.entry(key).or_default() += 1;
        }
    }
    let is_repeated = |task: &PlanTask| keys(task).any(|key| counts.get(&key).is_some_and(|count| *count > 1));
    sections.retain(|&(first, end)| {
        let section = found.sources[first].section;
        let tasks = &found.tasks[first..end];
        let is_free = section > 0 && found.sources[first].list > 0 && !found.headings[section - 1].is_each;
        let is_plain = tasks.iter().all(|task| task.settings == tasks[0].settings);
        let count = outer(tasks).count();
        let repeated = outer(tasks).filter(|task| is_repeated(task)).count();
        is_free && is_plain && count > 1 && repeated * 2 > count && !found.headings[section - 1].text.is_empty()
    });
    sections
}

/// The tasks that are in no other one of these.
fn outer(tasks: &[PlanTask]) -> impl Iterator<Item = &PlanTask> {
    let depth = tasks.iter().map(|task| task.depth).min();
    tasks.iter().filter(move |task| Some(task.depth) == depth)
}

/// The part that two steps have in common: the text, or a number before a colon ("Step 2: …").
fn keys(task: &PlanTask) -> impl Iterator<Item = String> {
    let text = task.text.to_lowercase();
    let label = text.split_once(':').map(|(label, _)| label.trim().to_owned());
    let label =
        label.filter(|label| label.ends_with(|c: char| c.is_ascii_digit()) && label.contains(char::is_alphabetic));
    [text].into_iter().chain(label.map(|label| format!("{label}:")))
}

/// Adds its heading to the text of each task that has the text of another one below another heading.
pub(super) fn tell_apart(found: &mut FoundTasks) {
    if found.sources.len() != found.tasks.len() {
        return;
    }
    let heading = |section: usize| section.checked_sub(1).map_or("", |at| found.headings[at].text.as_str());
    let mut sections: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (task, source) in found.tasks.iter().zip(&found.sources) {
        sections.entry(&task.text).or_default().insert(heading(source.section));
    }
    let qualifiers: Vec<Option<String>> = found
        .tasks
        .iter()
        .zip(&found.sources)
        .map(|(task, source)| {
            let heading = heading(source.section);
            let is_shared = sections
                .get(task.text.as_str())
                .is_some_and(|sections| sections.len() > 1);
            let tells = is_shared && !heading.is_empty() && heading != task.text;
            tells.then(|| format!(" ({})", clip(heading, QUALIFIER_CAP_BYTES)))
        })
        .collect();
    let bytes: usize = qualifiers.iter().flatten().map(String::len).sum();
    if bytes > ALL_HEADINGS_CAP_BYTES {
        return;
    }
    for (task, qualifier) in found.tasks.iter_mut().zip(qualifiers) {
        task.text.push_str(qualifier.as_deref().unwrap_or_default());
        task.qualifier = qualifier;
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::PlanSnapshot;

    use crate::{PlanKind, parse_bytes};

    fn plan(text: &str) -> PlanSnapshot {
        parse_bytes(PlanKind::Markdown, text.as_bytes()).unwrap()
    }

    fn texts(text: &str) -> Vec<String> {
        plan(text).tasks.into_iter().map(|task| task.text).collect()
    }

    #[test]
    fn steps_that_repeat_below_headings_are_one_task_each() {
        let text = "# Plan\n### Task 1: parser\n- [x] **Step 1: Write the failing test**\n- [ ] **Step 2: Write it**\n  - [ ] part\n\
                    ### Task 2: printer\nFiles: a.py\n- [x] **Step 1: Write the failing test**\n- [x] **Step 2: Print it**\n";
        let plan = plan(text);
        assert_eq!(texts(text), ["Task 1: parser", "Task 2: printer"]);
        assert_eq!((plan.tasks[0].done, plan.tasks[1].done), (false, true));
        let steps: Vec<_> = plan.tasks[0]
            .steps
            .iter()
            .map(|step| (step.line, step.done, step.text.as_str()))
            .collect();
        assert_eq!(
            steps,
            [
                (3, true, "Step 1: Write the failing test"),
                (4, false, "Step 2: Write it"),
                (5, false, "part")
            ]
        );
        assert_eq!((plan.tasks[0].line, plan.tasks[0].depth), (3, 0));
    }

    #[test]
    fn tasks_are_given_one_by_one_if_the_heading_says_so_or_one_has_settings_of_its_own() {
        let two = |heading: &str, first: &str| {
            texts(&format!(
                "## A{heading}\n- [ ] Test{first}\n- [ ] Commit\n## B\n- [ ] Test\n- [ ] Commit\n"
            ))
        };
        assert_eq!(two("", ""), ["A", "B"]);
        assert_eq!(two(" {each}", ""), ["Test", "Commit", "B"]);
        assert_eq!(two("", " {model=opus}"), ["Test", "Commit", "B"]);
    }

    #[test]
    fn headings_with_mostly_other_tasks_stay_headings() {
        let text =
            "## A\n- [ ] Parse\n- [ ] Print\n- [ ] Document it\n## B\n- [ ] Send\n- [ ] Sort\n- [ ] Document it\n";
        assert_eq!(
            texts(text),
            ["Parse", "Print", "Document it (A)", "Send", "Sort", "Document it (B)"]
        );
        let feat = "## A\n- [ ] feat: parse\n- [ ] fix: print\n## B\n- [ ] feat: send\n- [ ] fix: sort\n";
        assert_eq!(texts(feat).len(), 4);
    }

    #[test]
    fn equal_tasks_below_one_heading_stay_equal() {
        assert_eq!(texts("- [ ] TODO\n- [ ] TODO\n"), ["TODO", "TODO"]);
        assert_eq!(texts("- [ ] TODO\n# A\n- [ ] TODO\n"), ["TODO", "TODO (A)"]);
    }
}
