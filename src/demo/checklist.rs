//! Finds the open tasks of a Markdown check-list: lines with an empty box.

use std::ops::Range;

/// An open task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChecklistTask {
    pub text: String,
    /// The bytes of the plan between the brackets.
    tick: Range<usize>,
    indent: usize,
}

/// The open task that is on a line of the prompt, else the first one. If it has open subtasks, the first of these: a
/// task is done when its parts are.
pub(super) fn current(plan: &str, prompt: &str) -> Option<ChecklistTask> {
    let all = open(plan);
    let lines: Vec<String> = prompt.lines().map(bare).collect();
    let asked = all.iter().position(|task| lines.contains(&bare(&task.text)));
    let mut open = all.into_iter().skip(asked.unwrap_or(0));
    let mut current = open.next()?;
    for task in open {
        if task.indent <= current.indent {
            break;
        }
        current = task;
    }
    Some(current)
}

/// The text without emphasis and code marks, which a prompt leaves out.
fn bare(text: &str) -> String {
    text.trim().replace(['`', '*', '_'], "")
}

/// Number of open tasks.
pub(super) fn open_count(plan: &str) -> usize {
    open(plan).len()
}

/// The plan with the task's box ticked and every other byte unchanged.
pub(super) fn ticked(plan: &str, task: &ChecklistTask) -> String {
    let mut plan = plan.to_owned();
    plan.replace_range(task.tick.clone(), "x");
    plan
}

fn open(plan: &str) -> Vec<ChecklistTask> {
    let mut tasks = Vec::new();
    let mut at = 0;
    let mut fenced = false;
    for line in plan.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            tasks.extend(open_task(line, start));
        }
    }
    tasks
}

fn open_task(line: &str, start: usize) -> Option<ChecklistTask> {
    let indent = line.len() - line.trim_start().len();
    let item = &line[indent..];
    let number = item.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match number {
        0 => item.starts_with(['-', '*', '+']),
        _ => item[number..].starts_with(['.', ')']),
    };
    let after = item.get(number + 1..).filter(|_| marker)?;
    let rest = after.trim_start_matches([' ', '\t']);
    let text = rest.strip_prefix("[ ]").filter(|_| rest.len() < after.len())?;
    let tick = start + line.len() - rest.len() + 1;
    Some(ChecklistTask {
        text: text.trim().to_owned(),
        tick: tick..tick + 1,
        indent,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Plan\r\n\r\n- [x] done\r\n```\n- [ ] an example\n```\n* [ ] parent\n  1. [X] one\n  2) [ ] two ü\n- [] no box\n-[ ] no item\n+ [ ] last\n";

    #[test]
    fn the_first_open_task_is_found_below_its_parent() {
        let task = current(PLAN, "").expect("a task");
        assert_eq!(task.text, "two ü");
        assert_eq!(open_count(PLAN), 3);
        let asked = current("- [ ] one\n- [ ] run `two`\n", "Do:\n\n  run two\n").expect("a task");
        assert_eq!(asked.text, "run `two`", "of a section, say");
    }

    #[test]
    fn ticking_changes_one_byte() {
        let mut plan = PLAN.to_owned();
        let mut done = Vec::new();
        while let Some(task) = current(&plan, "") {
            let after = ticked(&plan, &task);
            assert_eq!(
                after
                    .bytes()
                    .zip(plan.bytes())
                    .filter(|(after, before)| after != before)
                    .count(),
                1
            );
            plan = after;
            done.push(task.text);
        }
        assert_eq!(done, ["two ü", "parent", "last"]);
    }
}
