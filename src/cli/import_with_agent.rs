//! `ralph import --with-agent`: an agent writes the plan, and the user confirms the difference before it is stored.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use ralph_plan::PlanKind;
use ralph_system::{
    files::{PLAN_CAP_BYTES, read_bytes, replace_unless_changed},
    proc::Supervisor,
};
use ralph_text::{
    console::{self, complain, print},
    with_causes,
};
use ralph_words::counted;
use similar::TextDiff;

use crate::{
    begin::{self, Imported},
    error::{Failure, FailureKind, shell_word},
};

use super::{
    args::Args,
    confirm::is_confirmed,
    scratch_project::{Assignment, ScratchProject},
    trust,
};

/// Files in the agent's directory: the plan that it writes, and the requirements.
const WRITTEN: &str = "PLAN.md";
const SPEC: &str = "requirements.md";
/// Maximum number of refused plans that are kept beside one.
const KEPT: usize = 20;
/// Time limit of the search for the shortest difference; after that, a longer one is shown.
const PATIENCE: Duration = Duration::from_millis(200);

/// The arguments of the command that matter to the agent's work.
pub(super) struct AgentImportArgs<'a> {
    pub(super) spec: &'a [u8],
    /// The plan found by structure alone, if any.
    pub(super) found: Option<&'a Imported>,
    pub(super) to: &'a Path,
    pub(super) yes: bool,
}

pub(super) fn run(args: &Args, wish: &AgentImportArgs<'_>, supervisor: &Supervisor) -> Result<u8, Failure> {
    // Refused before the agent's session, which costs money.
    if !wish.yes && !console::is_answered() {
        return Err(
            Failure::new(FailureKind::Usage, "not a terminal, so the result cannot be confirmed").hint(
                "`--yes` accepts the plan that the agent writes, if it can be read and nothing is missing from it",
            ),
        );
    }
    let place = trust::place_to_run(args)?;
    let before = existing(wish.to)?;
    let scratch_project = ScratchProject::new("ralph-import-")?;
    let project = place.project.display().to_string();
    scratch_project.write(SPEC, wish.spec)?;
    let assignment = begin::assignment(WRITTEN, SPEC, &project, wish.found);
    let unfinished = "the agent did not finish the plan: nothing is written\n\
                      hint: run the same command again to retry; without `--with-agent`, the items of lists become the plan";
    let program = std::env::current_exe().ok();
    let assignment = Assignment {
        written: WRITTEN,
        text: &assignment,
        unfinished,
        check: program.map(|program| {
            let program = shell_word(&program.to_string_lossy());
            format!("{program} import {SPEC} --__check {WRITTEN}")
        }),
    };
    let code = scratch_project.run_agent(&assignment, args, &place, supervisor)?;
    if code.is_some_and(|code| [129, 130, 143].contains(&code)) {
        return Ok(code.unwrap_or_default());
    }
    let written = scratch_project.file(WRITTEN);
    let plan = match (accepted(&written, wish.found), code) {
        (Ok(plan), None) => plan,
        // It was in time, and the run still ended for another reason.
        (Ok(_), Some(code)) => {
            keep(&written, wish.to);
            return Ok(code);
        }
        (Err(refused), code) => {
            if code.is_some() {
                complain(&refused.message);
            }
            keep(&written, wish.to);
            return code.ok_or(refused);
        }
    };
    let tasks = ralph_plan::read_bytes(PlanKind::Markdown, plan.as_bytes()).map_or(0, |read| read.plan.tasks.len());
    complain(&format!("the agent's plan has {}", counted(tasks as u64, "task")));
    print(&difference(before.as_deref(), &plan, wish.to));
    if before.as_deref() == Some(plan.as_bytes()) {
        complain("the plan is unchanged: nothing is written");
        return Ok(0);
    }
    if !wish.yes && !is_confirmed(&format!("Write this to {}?", wish.to.display()))? {
        complain("nothing is written");
        return Ok(0);
    }
    write(wish.to, before.as_deref(), &plan)?;
    complain(&format!("wrote {}; `ralph {0}` starts", wish.to.display()));
    Ok(0)
}

/// The existing plan, if there is one.
fn existing(to: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match read_bytes(to, PLAN_CAP_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(Failure::new(
            FailureKind::Failed,
            format!("{}: {}", to.display(), with_causes(&error)),
        )),
    }
}

/// Keeps what the agent wrote beside the plan, under a name of its own, and says where.
fn keep(written: &Path, to: &Path) {
    let Ok(bytes) = read_bytes(written, PLAN_CAP_BYTES) else {
        return;
    };
    let stem = to.file_stem().unwrap_or_default().to_string_lossy();
    let names = (1..).map(|number| match number {
        1 => format!("{stem}.refused.md"),
        number => format!("{stem}.refused-{number}.md"),
    });
    for name in names.take(KEPT) {
        let path = to.with_file_name(name);
        let file = File::options().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| file.write_all(&bytes)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => return,
            Ok(()) => return complain(&format!("what the agent wrote is kept in {}", path.display())),
        }
    }
}

/// Returns the agent's text if it is a valid plan in which nothing was lost.
pub(super) fn accepted(path: &Path, found: Option<&Imported>) -> Result<String, Failure> {
    let refused = |why: String| {
        Failure::new(
            FailureKind::Failed,
            format!("the file of the agent is not a valid plan: {why}"),
        )
        .hint("without `--with-agent`, the items of lists become the plan")
    };
    let bytes = read_bytes(path, PLAN_CAP_BYTES).map_err(|error| refused(with_causes(&error)))?;
    let read = ralph_plan::read_bytes(PlanKind::Markdown, &bytes).map_err(|error| refused(error.to_string()))?;
    if let Some(mistake) = read.mistakes.first() {
        return Err(refused(format!("{}: {}", mistake.position, mistake.what)));
    }
    if read.plan.open() == 0 {
        return Err(refused("it has no open task".to_owned()));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let tasks: Vec<&str> = read.plan.tasks.iter().map(|task| task.text.as_str()).collect();
    begin::check(&text, &tasks, found).map_err(|error| refused(error.to_string()))?;
    Ok(text)
}

/// The changed lines, or the whole plan if it is new.
fn difference(before: Option<&[u8]>, plan: &str, to: &Path) -> String {
    let before = String::from_utf8_lossy(before.unwrap_or_default());
    let text = match before.is_empty() {
        true => plan.lines().map(|line| format!("+{line}\n")).collect(),
        false => {
            let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(&*before, plan);
            diff.unified_diff().to_string()
        }
    };
    let text: String = text
        .chars()
        .filter(|sign| *sign == '\n' || !sign.is_control())
        .collect();
    format!("{}\n{text}", to.display())
}

/// Writes the plan only if the file still has the content `before`, which the user was shown.
fn write(to: &Path, before: Option<&[u8]>, plan: &str) -> Result<(), Failure> {
    let written = replace_unless_changed(to, before, plan, PLAN_CAP_BYTES).map_err(|error| {
        Failure::new(
            FailureKind::Failed,
            format!("{}: cannot be written: {error}", to.display()),
        )
    })?;
    if !written {
        let why = format!("{}: the file changed meanwhile and was not overwritten", to.display());
        return Err(Failure::new(FailureKind::Failed, why)
            .hint("run the same command again to see the difference to the current file"));
    }
    Ok(())
}
