//! The checks of tasks, and the ticks that count only once these have passed.

use std::collections::{HashMap, HashSet};

use ralph_core::event::{Goal, GoalResult, PlanSnapshot, TaskSettings};

use crate::reading::{ParsedPlan, TaskMistake};

/// The checks of the tasks of a plan, as goals in the order of the plan.
pub fn checks(plan: &PlanSnapshot, timeout_ms: u64) -> Vec<Goal> {
    let mut seen = HashSet::new();
    let tasks = plan.tasks.iter().filter(|task| seen.insert(task.text.as_str()));
    tasks
        .filter_map(|task| {
            Some(Goal {
                name: format!("check of {}", task.text),
                command: task.settings.check.clone()?,
                timeout_ms,
                task: Some(task.text.clone()),
                ..Goal::default()
            })
        })
        .collect()
}

/// Counts a ticked task as open until its check has passed, and returns the names of the checks that have to be run.
///
/// A tick counts if the check passed in `results`, or if the task was done in `before`, the plan as it was last recorded,
/// and the check was not run. The first reading of a run has no plan before it: its ticks are the user's. `goals` without
/// a task are ignored. What the reading says of checks is ignored as well, since an agent may have written it.
pub fn hold_unchecked(
    plan: &mut PlanSnapshot,
    goals: &[Goal],
    before: &PlanSnapshot,
    results: &[GoalResult],
) -> Vec<String> {
    let checks: Vec<&Goal> = goals.iter().filter(|goal| goal.task.is_some()).collect();
    if checks.is_empty() || (before.tasks.is_empty() && results.is_empty()) {
        return Vec::new();
    }
    let known: HashSet<&str> = before.tasks.iter().map(|task| task.text.as_str()).collect();
    let earlier = owners(&checks, before, |_| true);
    let now = owners(&checks, plan, |text| {
        !known.contains(text) || earlier.contains_key(text)
    });
    let mut done_before: HashMap<usize, usize> = HashMap::new();
    for task in before.tasks.iter().filter(|task| task.done) {
        if let Some(check) = earlier.get(task.text.as_str()) {
            *done_before.entry(*check).or_default() += 1;
        }
    }
    let mut unchecked = Vec::new();
    for task in plan.tasks.iter_mut().filter(|task| task.done) {
        let Some(check) = now.get(&task.text) else { continue };
        let name = &checks[*check].name;
        match results.iter().find(|result| result.name == *name) {
            Some(result) => task.done = result.passed,
            None => {
                let left = done_before.entry(*check).or_default();
                if *left > 0 {
                    *left -= 1;
                } else {
                    task.done = false;
                    if !unchecked.contains(name) {
                        unchecked.push(name.clone());
                    }
                }
            }
        }
    }
    unchecked
}

/// The index of the check of each task that has one, by its text.
///
/// A task that is gone may have gained a note. Its check is then that of the tasks for which `may_have_grown` holds and
/// whose text begins with that of the task.
fn owners(checks: &[&Goal], plan: &PlanSnapshot, may_have_grown: impl Fn(&str) -> bool) -> HashMap<String, usize> {
    let texts: HashSet<&str> = plan.tasks.iter().map(|task| task.text.as_str()).collect();
    let mut owners = HashMap::new();
    let mut gone = Vec::new();
    for (index, check) in checks.iter().enumerate() {
        let task = check.task.as_deref().unwrap_or_default();
        match texts.contains(task) {
            true => _ = owners.insert(task.to_owned(), index),
            false => gone.push((task, index)),
        }
    }
    let checked: HashSet<&str> = checks.iter().filter_map(|check| check.task.as_deref()).collect();
    // The longest text comes last and wins.
    gone.sort_by_key(|(task, _)| task.len());
    for (task, index) in gone {
        let grown = |text: &str| {
            let note = text.strip_prefix(task);
            note.is_some_and(|note| !note.starts_with(char::is_alphanumeric)) && may_have_grown(text)
        };
        let grown = texts.iter().filter(|text| !checked.contains(*text) && grown(text));
        owners.extend(grown.map(|text| ((*text).to_owned(), index)));
    }
    owners
}

/// Adds a mistake for each task with the text of an earlier one and another check or scope: a task is its text.
pub(super) fn find_conflicts(reading: &mut ParsedPlan) {
    let mut earlier: HashMap<&str, &TaskSettings> = HashMap::new();
    let tasks = reading.plan.tasks.iter().enumerate();
    let conflicts: Vec<(usize, &'static str)> = tasks
        .filter_map(|(index, task)| {
            let settings = &task.settings;
            let known = *earlier.entry(&task.text).or_insert(settings);
            let other = (known.check != settings.check).then_some("check");
            Some((
                index,
                other.or_else(|| (known.only != settings.only).then_some("scope"))?,
            ))
        })
        .collect();
    for (task, other) in conflicts {
        let place = reading.places.iter().find(|(known, _)| *known == task);
        let line = reading.plan.tasks[task].line;
        let position = place.map_or(ralph_text::Position { line, column: 1 }, |(_, position)| *position);
        reading.mistakes.push(TaskMistake {
            task,
            position,
            what: format!("an earlier task has the same text and another {other}; reword one of them"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanKind, parse_bytes, read_bytes};

    fn plan(text: &str) -> PlanSnapshot {
        parse_bytes(PlanKind::Markdown, text.as_bytes()).unwrap()
    }

    fn goals() -> Vec<Goal> {
        checks(&plan("- [ ] fix {check=a}\n- [ ] fix it\n- [ ] add {check=b}\n"), 1)
    }

    fn result(task: &str, passed: bool) -> GoalResult {
        serde_json::from_value(serde_json::json!({
            "name": format!("check of {task}"), "passed": passed, "exit": null, "score": null, "target": null,
            "durationMs": 1, "why": null, "tail": "",
        }))
        .unwrap()
    }

    /// The texts of the tasks that count as done, and the checks that are due.
    fn held(before: &str, now: &str, results: &[GoalResult]) -> (Vec<String>, Vec<String>) {
        let mut now = plan(now);
        let due = hold_unchecked(&mut now, &goals(), &plan(before), results);
        let done = now.tasks.into_iter().filter(|task| task.done).map(|task| task.text);
        (done.collect(), due)
    }

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    const OPEN: &str = "- [ ] fix\n- [ ] fix it\n- [ ] add\n";

    #[test]
    fn a_tick_counts_once_its_check_has_passed() {
        let ticked = "- [x] fix\n- [x] fix it\n- [ ] add\n";
        assert_eq!(held(OPEN, ticked, &[]), (texts(["fix it"]), texts(["check of fix"])));
        assert_eq!(
            held(OPEN, ticked, &[result("fix", true)]),
            (texts(["fix", "fix it"]), vec![])
        );
        assert_eq!(held(OPEN, ticked, &[result("fix", false)]), (texts(["fix it"]), vec![]));
        assert_eq!(held(ticked, ticked, &[]), (texts(["fix", "fix it"]), vec![]));
        assert_eq!(
            held(ticked, ticked, &[result("fix", false)]),
            (texts(["fix it"]), vec![])
        );
    }

    #[test]
    fn whatever_an_agent_writes_of_a_check_changes_nothing() {
        for ticked in [
            "- [x] fix {check=true}\n- [x] fix it\n",
            "- [x] fix {check=\"true\"}\n  check: true\n- [x] fix it\n",
            "- [x] fix (done in 1a2b)\n- [x] fix it\n",
            "- [x] fix: done {check=true}\n- [x] fix it\n",
        ] {
            assert_eq!(
                held(OPEN, ticked, &[]),
                (texts(["fix it"]), texts(["check of fix"])),
                "{ticked}"
            );
        }
        // Checks that were added later are ignored.
        assert_eq!(
            held(OPEN, "- [x] fix it {check=false}\n", &[]),
            (texts(["fix it"]), vec![])
        );
        assert_eq!(held(OPEN, "- [x] new {check=false}\n", &[]), (texts(["new"]), vec![]));
    }

    #[test]
    fn a_task_that_was_taken_out_and_comes_back_has_its_check() {
        assert_eq!(
            held("- [ ] other\n", "- [x] fix\n- [x] other\n", &[]),
            (texts(["other"]), texts(["check of fix"]))
        );
    }

    #[test]
    fn each_of_two_equal_tasks_is_checked() {
        let goals = checks(&plan("- [ ] a {check=x}\n- [ ] a {check=x}\n"), 1);
        assert_eq!(goals.len(), 1);
        let mut now = plan("- [x] a\n- [x] a\n");
        let due = hold_unchecked(&mut now, &goals, &plan("- [x] a\n- [ ] a\n"), &[]);
        assert_eq!((now.done(), due), (1, texts(["check of a"])));
    }

    #[test]
    fn the_ticks_of_the_first_reading_are_the_users() {
        let mut first = plan("- [x] fix\n- [ ] add\n");
        let due = hold_unchecked(&mut first, &goals(), &PlanSnapshot::default(), &[]);
        assert_eq!((first.done(), due), (1, vec![]));
    }

    #[test]
    fn equal_tasks_with_different_checks_are_a_mistake() {
        let mistakes = |text: &str| {
            let reading = read_bytes(PlanKind::Markdown, text.as_bytes()).unwrap();
            reading
                .mistakes
                .iter()
                .map(|it| (it.task, it.position.line))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            mistakes("- [ ] a {check=x}\n- [ ] b\n- [ ] a {check=y}\n- [ ] a\n"),
            [(2, 3), (3, 4)]
        );
        assert_eq!(mistakes("- [ ] a {check=x}\n- [ ] a {check=x}\n"), []);
        assert_eq!(mistakes("- [ ] a {only=x}\n- [ ] a {only=x}\n- [ ] a\n"), [(2, 3)]);
    }
}
