//! A task on the command line: `ralph "build X"` is a run of that one task.
//!
//! Its plan is a file of the project, below [`PLANS`]: the agent ticks the box there, and the user can change it. A task that is
//! typed again goes on with its file until it is done; the next time after that begins a new one, and nothing is overwritten.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::PlanSnapshot;
use ralph_plan::PlanKind;
use ralph_state::store::paths::digest;
use ralph_system::files::{PLAN_CAP_BYTES, create_new, read_bytes};

use crate::{
    begin::{PLANS, task_plan},
    config::Flag,
    error::{Failure, FailureKind},
};

use super::{
    args::Args,
    continued::{Last, PLAN},
    run::place,
};

/// What the file of a plan is called, in part, and how its name ends.
const PLAN_NAMES: [&str; 4] = ["plan", "prd", "todo", "task"];
const EXTENSIONS: [&str; 3] = ["md", "markdown", "json"];

/// A task that was typed, of which there may be a plan already.
#[derive(Debug)]
pub(super) struct GivenTask {
    /// The name of the plan's file, without a number and an extension.
    name: String,
    /// The task, as a plan has it.
    task: String,
    /// The plan.
    text: String,
}

/// A plan that was written for this command.
pub(super) struct NewPlan(PathBuf);

impl NewPlan {
    /// Takes the plan away again if no run of it began: what kept it from that was said, and the next attempt may be worded
    /// otherwise.
    pub(super) fn remove_unless_begun(self, args: &Args) {
        let Self(path) = self;
        let began = Last::of(args).ok().flatten().is_some_and(|last| last.is_of(&path));
        if began || fs::remove_file(&path).is_err() {
            return;
        }
        // Those that hold something else stay.
        for directory in path.ancestors().skip(1).take(Path::new(PLANS).components().count()) {
            _ = fs::remove_dir(directory);
        }
    }
}

/// Whether what stands in a plan's place, and is no file, is a task: a sentence, and not the name of a file that is missing.
pub(super) fn is_task(typed: &str) -> bool {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let [first, .., last] = &words[..] else { return false };
    let extension = Path::new(last).extension().and_then(|extension| extension.to_str());
    let ends_as_file = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    // "Write README.md" is a task, `my plan.md` and `docs/my ideas.md` are files that are not there.
    let last = last.to_lowercase();
    let is_name = words.len() == 2 && PLAN_NAMES.iter().any(|plan| last.contains(plan)) || first.contains('/');
    !(ends_as_file && is_name)
}

/// Reads a task that was typed.
///
/// # Errors
/// A [`Failure`] if it is none, or if a plan is named besides.
pub(super) fn check(args: &Args, task: &str) -> Result<GivenTask, Failure> {
    if args.settings.given.iter().any(|flag| flag.name == "--plan") {
        let why = "a task and a plan are named: a run is of one of them";
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("leave out `--plan` to run the task alone")
            .hint("or add it to the plan: ralph plan --plan FILE add \"TASK\""));
    }
    let planned = task_plan(task).ok_or_else(empty)?;
    let reading = ralph_plan::read_bytes(PlanKind::Markdown, planned.text.as_bytes()).map_err(|_| empty())?;
    if let Some(mistake) = reading.mistakes.first() {
        return Err(Failure::new(FailureKind::Usage, format!("the task: {}", mistake.what))
            .hint("braces that are not settings go in backticks: '`{x=1}`'"));
    }
    let task_text = reading.plan.tasks.into_iter().next().ok_or_else(empty)?.text;
    Ok(GivenTask {
        name: match planned.is_one_line {
            true => planned.name,
            // Of the rest there is nothing in the name.
            false => format!("{}-{:08x}", planned.name, digest(task.as_bytes()) >> 32),
        },
        task: task_text,
        text: planned.text,
    })
}

impl GivenTask {
    /// Has the command line name the plan of the task, which is written where there is none; one that was written is returned.
    ///
    /// # Errors
    /// A [`Failure`] if it cannot be written.
    pub(super) fn write_plan(self, args: &mut Args) -> Result<Option<NewPlan>, Failure> {
        let project = place(args)?.project;
        let last = Last::of(args).ok().flatten();
        let mut number = 1;
        let (name, is_new) = loop {
            let name = match number {
                1 => format!("{PLANS}/{}.md", self.name),
                _ => format!("{PLANS}/{}-{number}.md", self.name),
            };
            let path = project.join(&name);
            match create_new(&path, &self.text) {
                Ok(()) => break (name, true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.symlink_metadata().is_ok() => {
                    if self.is_unfinished(&path, last.as_ref()) {
                        break (name, false);
                    }
                }
                Err(error) => {
                    let why = format!("{name}: the plan of the task cannot be written: {error}");
                    return Err(Failure::new(FailureKind::Failed, why)
                        .hint("or write it yourself, as `- [ ] TASK`, and name the file: ralph FILE"));
                }
            }
            number += 1;
        };
        args.settings.given.push(Flag::new("--plan", PLAN, &name[..]));
        Ok(is_new.then(|| NewPlan(project.join(name))))
    }

    /// Whether it is a plan of this task with something left to do: a task, or what kept the last run from its end.
    fn is_unfinished(&self, plan: &Path, last: Option<&Last>) -> bool {
        let Some(there) = read(plan) else { return false };
        let is_ours = there.tasks.iter().any(|task| task.text == self.task);
        let is_open = there.tasks.iter().any(|task| !task.done);
        is_ours && (is_open || last.is_some_and(|last| last.is_of(plan) && !last.is_done()))
    }
}

/// What is said of a task without words.
pub(super) fn empty() -> Failure {
    Failure::new(FailureKind::Usage, "the task has no words in it").hint("ralph \"Build a web app\"")
}

fn read(path: &Path) -> Option<PlanSnapshot> {
    let bytes = read_bytes(path, PLAN_CAP_BYTES).ok()?;
    let reading = ralph_plan::read_bytes(PlanKind::Markdown, &bytes).ok()?;
    Some(reading.plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_a_task_and_the_name_of_a_missing_file_is_not() {
        for task in [
            "build X",
            "Fix the typo in README.md",
            "Fix Cargo.toml",
            "Write README.md",
            "Write hello.txt",
            "write docs/guide.md and test it",
            "fix\nit",
            "-x is not taken",
            "构建 一个",
        ] {
            assert!(is_task(task), "{task}");
        }
        for other in [
            "build",
            "",
            " ",
            "-",
            " stop ",
            "PLAN2.md",
            "my plan.md",
            "docs/my great ideas.md",
            "./my old plan.json",
        ] {
            assert!(!is_task(other), "{other}");
        }
    }
}
