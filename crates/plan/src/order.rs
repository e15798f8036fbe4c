//! The order of tasks: which task each `after` names.

use std::collections::HashMap;

use ralph_text::Position;

use super::{
    group::shortened,
    reading::{ParsedPlan, TaskMistake},
};

/// Replaces the beginnings of texts in `after` by the whole texts. Adds a mistake for each that names no task or several,
/// and for tasks that wait for each other.
pub(super) fn resolve_order(reading: &mut ParsedPlan) {
    if reading.plan.tasks.iter().all(|task| task.settings.after.is_empty()) {
        return;
    }
    let texts: Vec<String> = reading.plan.tasks.iter().map(|task| task.text.clone()).collect();
    let mut mistakes = Vec::new();
    for (task, found) in reading.plan.tasks.iter_mut().enumerate() {
        for name in std::mem::take(&mut found.settings.after) {
            match named(&texts, &name) {
                Ok(other) if texts[other] == found.text => {
                    mistakes.push((task, format!("`after={}` names the task itself", shortened(&name))));
                }
                Ok(other) => found.settings.after.push(texts[other].clone()),
                Err(what) => mistakes.push((task, what)),
            }
        }
    }
    mistakes.extend(circle(reading, &texts));
    for (task, what) in mistakes {
        let place = reading.places.iter().find(|(known, _)| *known == task);
        let line = reading.plan.tasks[task].line;
        let position = place.map_or(Position { line, column: 1 }, |(_, position)| *position);
        reading.mistakes.push(TaskMistake { task, position, what });
    }
}

/// The tasks that the beginning of a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedTasks {
    /// The position of the only one.
    One(usize),
    /// The positions of the first two.
    Several(usize, usize),
    Nothing,
}

/// Finds the task with that text, or those whose text begins with it and goes on with another word.
pub fn tasks_named(texts: &[String], name: &str) -> NamedTasks {
    if let Some(exact) = texts.iter().position(|text| text == name) {
        return NamedTasks::One(exact);
    }
    let begins = |text: &String| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let mut found = (0..texts.len()).filter(|task| begins(&texts[*task]));
    match (found.next(), found.next()) {
        (Some(task), None) => NamedTasks::One(task),
        (Some(first), Some(second)) => NamedTasks::Several(first, second),
        (None, _) => NamedTasks::Nothing,
    }
}

/// The task that an `after` names.
fn named(texts: &[String], name: &str) -> Result<usize, String> {
    let shown = shortened(name);
    match tasks_named(texts, name) {
        NamedTasks::One(task) => Ok(task),
        NamedTasks::Several(first, second) => Err(format!(
            "`after={shown}` names several tasks, `{}` and `{}`; write more of the text",
            shortened(&texts[first]),
            shortened(&texts[second])
        )),
        NamedTasks::Nothing => Err(format!(
            "no task begins with `{shown}`; write the beginning of its text: after=\"Write the parser\""
        )),
    }
}

/// A task that waits for itself, by `after` or because it contains a task that waits for it.
fn circle(reading: &ParsedPlan, texts: &[String]) -> Option<(usize, String)> {
    let tasks = &reading.plan.tasks;
    let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
    for (task, text) in texts.iter().enumerate() {
        by_text.entry(text).or_default().push(task);
    }
    let named = |task: usize| {
        let named = tasks[task].settings.after.iter();
        let named = named.filter_map(|text| by_text.get(text.as_str()));
        named.flatten().copied().collect::<Vec<usize>>()
    };
    let mut waits_for: Vec<Vec<usize>> = (0..tasks.len()).map(named).collect();
    let mut around: Vec<usize> = Vec::new();
    for task in 0..tasks.len() {
        around.retain(|outer| tasks[*outer].depth < tasks[task].depth);
        // A task waits for those in it, and these wait for what it waits for.
        if let Some(outer) = around.last() {
            waits_for[*outer].push(task);
            let others = named(*outer);
            waits_for[task].extend(others);
        }
        around.push(task);
    }
    let mut visits = vec![Visit::Not; tasks.len()];
    for start in 0..tasks.len() {
        if visits[start] != Visit::Not {
            continue;
        }
        // Depth first, without recursion: each entry has the number of its neighbours that were looked at.
        let mut path = vec![(start, 0)];
        visits[start] = Visit::Open;
        while let Some((task, looked)) = path.last_mut() {
            let task = *task;
            let Some(next) = waits_for[task].get(*looked).copied() else {
                visits[task] = Visit::Done;
                path.pop();
                continue;
            };
            *looked += 1;
            match visits[next] {
                Visit::Not => {
                    visits[next] = Visit::Open;
                    path.push((next, 0));
                }
                Visit::Done => {}
                Visit::Open => {
                    let mut path = path.iter().rev().map(|(task, _)| *task);
                    let told = path
                        .find(|task| !tasks[*task].settings.after.is_empty())
                        .unwrap_or(task);
                    let what = format!(
                        "the tasks `{}` and `{}` wait for each other; take one `after` out",
                        shortened(&texts[next]),
                        shortened(&texts[task])
                    );
                    return Some((told, what));
                }
            }
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    Open,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlanKind, read_bytes};

    fn reading(text: &str) -> ParsedPlan {
        read_bytes(PlanKind::Markdown, text.as_bytes()).unwrap()
    }

    /// The order in which the tasks are worked on.
    fn order(text: &str) -> Vec<String> {
        let reading = reading(text);
        assert_eq!(reading.mistakes, []);
        let mut plan = reading.plan;
        let mut order = Vec::new();
        while let Some(line) = plan.current().map(|task| task.line) {
            let task = plan.tasks.iter_mut().find(|task| task.line == line).unwrap();
            task.done = true;
            order.push(task.text.clone());
        }
        order
    }

    fn mistakes(text: &str) -> Vec<String> {
        let mistakes = reading(text).mistakes;
        mistakes
            .iter()
            .map(|it| format!("{}: {}", it.position.line, it.what))
            .collect()
    }

    #[test]
    fn tasks_wait_for_those_they_name() {
        assert_eq!(
            order("- [ ] T1: write {after=T2 after=\"T10\"}\n- [ ] T2: read\n- [ ] T10: both {after=\"T2: read\"}\n"),
            ["T2: read", "T10: both", "T1: write"]
        );
        let prd = br#"[{"id": 1, "title": "a", "after": ["2", 3]}, {"id": 2, "title": "b"}, {"id": 3, "title": "c", "optional": true}]"#;
        let reading = read_bytes(PlanKind::Prd, prd).unwrap();
        assert_eq!(reading.mistakes, []);
        assert_eq!(reading.plan.tasks[0].settings.after, ["2: b", "3: c"]);
        assert!(reading.plan.tasks[2].settings.optional);
    }

    #[test]
    fn tasks_in_a_task_wait_with_it_and_it_waits_for_them() {
        assert_eq!(
            order("- [ ] a {after=c}\n  - [ ] a1\n- [ ] b\n  - [ ] b1 {after=c}\n- [ ] c\n"),
            ["c", "a1", "a", "b1", "b"]
        );
    }

    #[test]
    fn a_higher_priority_comes_first_and_optional_tasks_come_last() {
        assert_eq!(
            order(
                "- [ ] a {optional priority=9}\n  - [ ] a1\n- [ ] b {priority=-1}\n- [ ] c\n- [ ] d {priority=2}\n  - [ ] d1\n"
            ),
            ["d1", "d", "c", "b", "a1", "a"]
        );
        assert_eq!(order("# Late {optional}\n- [ ] a\n# Now\n- [ ] b\n"), ["b", "a"]);
    }

    #[test]
    fn names_of_no_task_or_several_and_circles_are_mistakes() {
        assert_eq!(
            mistakes("- [ ] a one\n- [ ] a two\n- [ ] b {after=a}\n- [ ] c {after=x}\n- [ ] d {after=d}\n"),
            [
                "3: `after=a` names several tasks, `a one` and `a two`; write more of the text",
                "4: no task begins with `x`; write the beginning of its text: after=\"Write the parser\"",
                "5: `after=d` names the task itself",
            ]
        );
        for (text, line) in [
            ("- [ ] a {after=b}\n- [ ] b {after=c}\n- [ ] c {after=a}\n", 3),
            ("- [ ] a\n  - [ ] b {after=a}\n", 2),
            ("- [ ] a {after=b}\n  - [ ] b\n", 1),
        ] {
            let found = mistakes(text);
            assert!(
                found.len() == 1
                    && found[0].starts_with(&format!("{line}: the tasks `"))
                    && found[0].contains("wait for each other"),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn a_word_that_is_no_setting_beside_optional_is_a_mistake() {
        assert_eq!(
            mistakes("- [ ] a {optional=yes}\n"),
            ["1: `optional` has no value; write it alone"]
        );
        assert_eq!(
            mistakes("- [ ] a {priority=high}\n"),
            ["1: `priority` is not `high`; write a whole number: priority=2"]
        );
        assert_eq!(
            mistakes("- [ ] a {optional optional}\n"),
            ["1: `optional` is set twice"]
        );
        assert_eq!(
            reading("- [ ] render {options}\n").plan.tasks[0].text,
            "render {options}"
        );
    }

    #[test]
    fn the_longest_chain_is_read_in_one_pass() {
        let chain: String = (0..4_000)
            .map(|n| format!("- [ ] t{n} {{after=t{}}}\n", n + 1))
            .collect();
        assert_eq!(mistakes(&(chain + "- [ ] t4000\n")), [] as [&str; 0]);
    }
}
