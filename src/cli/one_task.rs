//! A task on the command line: `ralph "build X"` is a run of that one task.
//!
//! Its plan is a file of the project, below [`PLANS`]: the agent ticks the box there, and the user can change it.
//! Typing the same task again continues with its file until it is done; after that, a new file is begun, and no file is
//! overwritten.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::PlanSnapshot;
use ralph_plan::PlanKind;
use ralph_system::{
    files::{PLAN_CAP_BYTES, create_new, read_bytes},
    paths::digest,
};

use crate::{
    begin::{PLANS, task_plan},
    config::Flag,
    error::{Failure, FailureKind},
};

use super::{
    args::Args,
    continued::{LastRun, PLAN},
    run::place,
};

/// Words in the file names of plans, and their extensions.
const PLAN_NAMES: [&str; 4] = ["plan", "prd", "todo", "task"];
const EXTENSIONS: [&str; 3] = ["md", "markdown", "json"];

/// A typed task, for which there may already be a plan.
#[derive(Debug)]
pub(super) struct GivenTask {
    /// The name of the plan's file, without number and extension.
    name: String,
    /// The text of the task in the plan.
    task: String,
    /// The text of the plan.
    text: String,
}

/// A plan that was written for this command.
pub(super) struct NewPlan(PathBuf);

impl NewPlan {
    /// Removes the plan again if no run of it began: the user was told why, and may word the next attempt differently.
    pub(super) fn remove_unless_begun(self, args: &Args) {
        let Self(path) = self;
        let began = LastRun::read(args).ok().flatten().is_some_and(|last| last.is_of(&path));
        if began || fs::remove_file(&path).is_err() {
            return;
        }
        // Directories that hold something else stay.
        for directory in path.ancestors().skip(1).take(Path::new(PLANS).components().count()) {
            _ = fs::remove_dir(directory);
        }
    }
}

/// Whether the text in a plan's place, which names no existing file, is a task: a sentence and not the name of a
/// missing file.
pub(super) fn is_task(typed: &str) -> bool {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let [first, .., last] = &words[..] else { return false };
    let extension = Path::new(last).extension().and_then(|extension| extension.to_str());
    let ends_as_file = extension.is_some_and(|extension| EXTENSIONS.contains(&extension));
    // "Write README.md" is a task, `my plan.md` and `docs/my ideas.md` are missing files.
    let last = last.to_lowercase();
    let is_name = words.len() == 2 && PLAN_NAMES.iter().any(|plan| last.contains(plan)) || first.contains('/');
    !(ends_as_file && is_name)
}

/// Checks a typed task.
///
/// # Errors
/// A [`Failure`] if the text is not a task, or if a plan is named besides.
pub(super) fn check(args: &Args, task: &str) -> Result<GivenTask, Failure> {
    if args.settings.given.iter().any(|flag| flag.name == "--plan") {
        let why = "a task and a plan are given: a run works on one of them";
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
            // The name has only the first line, so the digest tells tasks apart.
            false => format!("{}-{:08x}", planned.name, digest(task.as_bytes()) >> 32),
        },
        task: task_text,
        text: planned.text,
    })
}

impl GivenTask {
    /// Sets the plan of the command line to that of the task, and writes it if it is missing. Returns a plan that was
    /// written.
    ///
    /// # Errors
    /// A [`Failure`] if the plan cannot be written.
    pub(super) fn write_plan(self, args: &mut Args) -> Result<Option<NewPlan>, Failure> {
        let project = place(args)?.project;
        let last = LastRun::read(args).ok().flatten();
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

    /// Whether the file is a plan of this task with work left: an open task, or a last run that is not done.
    fn is_unfinished(&self, plan: &Path, last: Option<&LastRun>) -> bool {
        let Some(there) = read(plan) else { return false };
        let is_ours = there.tasks.iter().any(|task| task.text == self.task);
        let is_open = there.tasks.iter().any(|task| !task.done);
        is_ours && (is_open || last.is_some_and(|last| last.is_of(plan) && !last.is_done()))
    }
}

/// The error for a task without words.
pub(super) fn empty() -> Failure {
    Failure::new(FailureKind::Usage, "the task has no words").hint("ralph \"Build a web app\"")
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
