//! The plan of a run for a single task on the command line.

use ralph_text::Sanitizer;

/// Directory of such plans in the project: agents can write there, and the user can change the plan during the run.
pub(crate) const PLANS: &str = ".ralph/plans";

/// Maximum number of characters of the task's line. A longer task is shortened there, with its whole text below.
const LINE_CAP: usize = 300;
/// Maximum number of characters of the shortened line.
const BEGINNING_CAP: usize = 120;
/// Maximum number of characters of a file name.
const NAME_CAP: usize = 40;

/// A typed task as a plan.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskPlan {
    /// The file name without extension: lower-case words.
    pub(crate) name: String,
    /// Whether the line is the whole task, so that equal lines mean equal tasks.
    pub(crate) is_one_line: bool,
    pub(crate) text: String,
}

/// Turns a task into a plan: its first line is the task, and the rest is text below it. `None` if it has no words.
pub(crate) fn task_plan(task: &str) -> Option<TaskPlan> {
    // The sanitizer does not cut long lines.
    let task = Sanitizer::default().take(task).into_owned();
    let task = task.trim();
    let (first, below) = task.split_once('\n').unwrap_or((task, ""));
    let first = without_marks(first).split_whitespace().collect::<Vec<_>>().join(" ");
    if first.is_empty() {
        return None;
    }
    let is_long = first.chars().count() > LINE_CAP;
    let (line, below) = match is_long {
        true => (beginning(&first), task),
        false => (first, below.trim_matches('\n')),
    };
    let mut text = format!("# Task\n\n- [ ] {line}\n");
    if !below.trim().is_empty() {
        text.push('\n');
        for line in below.lines() {
            let line = line.trim_end();
            text += if line.is_empty() { "" } else { "  " };
            text += line;
            text.push('\n');
        }
    }
    Some(TaskPlan {
        name: name_of(&line),
        is_one_line: below.trim().is_empty(),
        text,
    })
}

/// Removes the marks of a heading, list item or task from a line.
fn without_marks(line: &str) -> &str {
    let line = line.trim_start();
    let item = line.strip_prefix(['-', '*', '+']);
    let item = item.filter(|rest| rest.is_empty() || rest.starts_with(' '));
    let item = item.map(str::trim_start);
    let item = item.map(|item| item.strip_prefix("[ ]").unwrap_or(item));
    let title = line.trim_start_matches('#');
    let heading = Some(title).filter(|title| title.is_empty() || title.starts_with(' '));
    item.or(heading).unwrap_or(line).trim_start()
}

/// Splits a line before what may be settings of the task.
fn split(line: &str) -> (&str, &str) {
    let at = line
        .rfind(" {")
        .filter(|at| line.ends_with('}') && line.len() - at <= LINE_CAP);
    line.split_at(at.unwrap_or(line.len()))
}

/// The first words of a long line, with the settings at its end: these are only read on the task's line.
fn beginning(line: &str) -> String {
    let (line, settings) = split(line);
    let cut: String = line.chars().take(BEGINNING_CAP).collect();
    let cut = cut.rsplit_once(' ').map_or(&cut[..], |(words, _)| words);
    format!("{cut} …{settings}")
}

fn name_of(line: &str) -> String {
    let mut name = String::new();
    let words = split(line).0.split(|character: char| !character.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let is_full = !name.is_empty() && name.chars().count() + word.chars().count() >= NAME_CAP;
        if is_full {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.extend(word.chars().take(NAME_CAP).flat_map(char::to_lowercase));
    }
    match &name[..] {
        "" => "task".to_owned(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::PlanTask;

    use ralph_plan::{PlanKind, read_bytes};

    fn planned(task: &str) -> (TaskPlan, Vec<PlanTask>) {
        let plan = task_plan(task).unwrap_or_else(|| panic!("{task:?} has words"));
        let reading = read_bytes(PlanKind::Markdown, plan.text.as_bytes()).unwrap();
        assert_eq!(reading.mistakes, [], "{task:?}");
        (plan, reading.plan.tasks)
    }

    #[test]
    fn a_task_is_the_one_task_of_its_plan_and_names_its_file() {
        for (task, name, text) in [
            ("Build a web app", "build-a-web-app", "Build a web app"),
            (
                "  Fix the typo in README.md\n",
                "fix-the-typo-in-readme-md",
                "Fix the typo in README.md",
            ),
            (
                "-x is not taken: mend it",
                "x-is-not-taken-mend-it",
                "-x is not taken: mend it",
            ),
            ("- [ ] write it", "write-it", "write it"),
            ("## Write it", "write-it", "Write it"),
            ("#42 is open", "42-is-open", "#42 is open"),
            ("```rust is a fence", "rust-is-a-fence", "```rust is a fence"),
            ("> not a quote", "not-a-quote", "> not a quote"),
            ("Füge Tests hinzu", "füge-tests-hinzu", "Füge Tests hinzu"),
            ("构建 一个 网页", "构建-一个-网页", "构建 一个 网页"),
            ("🚀 🚀", "task", "🚀 🚀"),
            ("Port it {adapter=codex}", "port-it", "Port it"),
            ("\u{1b}[31mred\u{1b}[0m alert\u{7}", "red-alert", "red alert"),
            ("[x](y) is a link", "x-y-is-a-link", "x is a link"),
            (
                "Make everything in this project faster than it has ever been",
                "make-everything-in-this-project-faster",
                "Make everything in this project faster than it has ever been",
            ),
        ] {
            let (plan, tasks) = planned(task);
            assert_eq!((&plan.name[..], plan.is_one_line), (name, true), "{task:?}");
            assert_eq!(tasks.len(), 1, "{task:?}");
            assert_eq!((&tasks[0].text[..], tasks[0].done), (text, false), "{task:?}");
        }
        for empty in ["", " ", "\n\t\n", "- [ ] ", "# ", "\u{1b}[31m"] {
            assert_eq!(task_plan(empty), None, "{empty:?}");
        }
    }

    #[test]
    fn what_follows_the_first_line_stands_below_the_task() {
        let (plan, tasks) = planned("# Parse dates\r\n\r\nAs in ISO 8601.\n\n    code\n- [ ] and times\n");
        assert_eq!(
            plan.text,
            "# Task\n\n- [ ] Parse dates\n\n  As in ISO 8601.\n\n      code\n  - [ ] and times\n"
        );
        assert!(!plan.is_one_line);
        let tasks: Vec<_> = tasks.iter().map(|task| (&task.text[..], task.depth)).collect();
        assert_eq!(tasks, [("Parse dates", 0), ("and times", 1)]);
    }

    #[test]
    fn a_line_that_is_a_text_is_the_task_by_its_beginning_and_keeps_its_settings() {
        let long = "word ".repeat(20_000) + "{adapter=codex}";
        let (plan, tasks) = planned(&long);
        assert!(tasks[0].text.chars().count() <= BEGINNING_CAP + 2, "{}", tasks[0].text);
        assert!(tasks[0].text.ends_with("word …"), "{}", tasks[0].text);
        assert_eq!(tasks[0].settings.adapter.as_deref(), Some("codex"));
        assert!(!plan.is_one_line && plan.text.contains(&long), "all of it is there");
        assert_eq!(planned(&"x".repeat(100_000)).1.len(), 1);
        assert!(planned(&"構".repeat(100_000)).0.name.len() <= 120);
    }
}
