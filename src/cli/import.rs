//! `ralph import`: turns written requirements into a plan.

use std::{
    io::{self, Read as _},
    path::Path,
};

use ralph_plan::{PlanError, PlanKind};
use ralph_system::{
    files::{PLAN_CAP_BYTES, ReadError, create_new, read_bytes, replace_unless_changed},
    proc::Supervisor,
};
use ralph_text::{
    console::{complain, print},
    with_causes,
};
use ralph_words::counted;

use crate::{
    begin::{self, Imported},
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, ImportArgs},
    import_with_agent,
};

/// The file name that means stdin or stdout.
const DASH: &str = "-";

/// Maximum number of lines named in the note about passages that were left out.
const LINES_TOLD: usize = 40;

pub(super) fn run(args: &Args, wish: &ImportArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let (spec, to) = (wish.spec.as_path(), wish.to.as_path());
    let file = match spec == Path::new(DASH) {
        true => "standard input".to_owned(),
        false => spec.display().to_string(),
    };
    let bytes = read(spec).map_err(|error| unreadable(&file, &error))?;
    let imported = begin::import(&bytes, wish.name.as_deref(), &title_of(spec));
    if let Some(plan) = &wish.check {
        import_with_agent::accepted(plan, imported.as_ref().ok())?;
        return Ok(0);
    }
    if wish.with_agent && !matches!(&imported, Err(error) if error.is_no_text()) {
        if to == Path::new(DASH) {
            let why = "with `--with-agent` the plan goes to a file";
            return Err(
                Failure::new(FailureKind::Usage, why).hint("it is shown before it is written: leave out `--to -`")
            );
        }
        let found = imported.ok();
        let wish = import_with_agent::AgentImportArgs {
            spec: &bytes,
            found: found.as_ref(),
            to,
            yes: wish.yes,
        };
        return import_with_agent::run(args, &wish, supervisor);
    }
    let imported = imported.map_err(|error| {
        Failure::new(FailureKind::Configuration, format!("{file}: {error}"))
            .hint(error.hint(&spec.display().to_string()))
    })?;
    if to == Path::new(DASH) {
        print(&imported.plan);
        complain_if_any(&left_in_words(&imported.left, &file));
        return Ok(0);
    }
    write(to, &imported.plan)?;
    complain(&summary(&imported, to));
    complain_if_any(&left_in_words(&imported.left, &file));
    let to = to.display();
    complain(&format!(
        "next: read it and make each task small enough for one session; `ralph {to}` starts the run"
    ));
    Ok(0)
}

/// Writes a new plan, or fills one that has no task yet.
fn write(to: &Path, plan: &str) -> Result<(), Failure> {
    let name = to.display();
    let written = match create_new(to, plan) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fill(to, plan),
        created => created.map(|()| true),
    };
    let why = match written {
        Ok(true) => return Ok(()),
        Ok(false) => format!("{name} is there already, and nothing is overwritten"),
        Err(error) => format!("{name}: cannot be written: {error}"),
    };
    Err(Failure::new(FailureKind::Failed, why)
        .hint("`--to FILE` names another file, `--to -` prints the plan; `--with-agent` shows the difference and asks"))
}

/// Puts the plan into an existing one without tasks, below what it has but the template of `ralph init`. Returns whether
/// it was one.
fn fill(to: &Path, plan: &str) -> io::Result<bool> {
    let Ok(before) = read_bytes(to, PLAN_CAP_BYTES) else {
        return Ok(false);
    };
    let kind = PlanKind::from_path(to);
    let is_unfilled = matches!(
        ralph_plan::read_bytes(kind, &before),
        Err(PlanError::NoTaskYet | PlanError::Empty { .. })
    );
    if kind != PlanKind::Markdown || !is_unfilled {
        return Ok(false);
    }
    let kept = String::from_utf8_lossy(&before);
    let filled = match kept.trim() {
        "" => plan.to_owned(),
        kept if kept == begin::plan(&[]).trim() => plan.to_owned(),
        kept => format!("{kept}\n\n{plan}"),
    };
    replace_unless_changed(to, Some(&before), &filled, PLAN_CAP_BYTES)
}

fn complain_if_any(text: &str) {
    if !text.is_empty() {
        complain(text);
    }
}

fn read(spec: &Path) -> Result<Vec<u8>, ReadError> {
    if spec != Path::new(DASH) {
        return read_bytes(spec, PLAN_CAP_BYTES);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(PLAN_CAP_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > PLAN_CAP_BYTES {
        true => Err(ReadError::TooLarge {
            cap_bytes: PLAN_CAP_BYTES,
        }),
        false => Ok(bytes),
    }
}

fn unreadable(file: &str, error: &ReadError) -> Failure {
    let why = match error.is_missing() {
        true => "there is no such file".to_owned(),
        false => with_causes(error),
    };
    Failure::new(FailureKind::Failed, format!("{file}: {why}")).hint(match error {
        ReadError::TooLarge { .. } => "split it: a plan contains the next tasks",
        ReadError::NotAFile { .. } | ReadError::NotUtf8 { .. } | ReadError::System(_) => {
            "`ralph import FILE` reads requirements from a file, `ralph import -` from standard input"
        }
    })
}

fn title_of(spec: &Path) -> String {
    let stem = spec.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| stem != DASH).unwrap_or_else(|| "Plan".to_owned())
}

fn summary(imported: &Imported, to: &Path) -> String {
    let merged = match imported.merged {
        0 => String::new(),
        count => format!(", {} merged", counted(count as u64, "repetition")),
    };
    let excluded = match imported.excluded {
        0 => String::new(),
        count => format!(", {} kept as notes", counted(count as u64, "non-goal")),
    };
    let tasks = counted(imported.tasks as u64, "task");
    format!("wrote {}: {tasks}{merged}{excluded}", to.display())
}

/// Names the lines of the passages that were left out; empty if none were.
fn left_in_words(left: &[u32], file: &str) -> String {
    let mut lines = left.to_vec();
    lines.dedup();
    let more = lines.len().saturating_sub(LINES_TOLD);
    let shown: Vec<String> = lines.iter().take(LINES_TOLD).map(u32::to_string).collect();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let (were, line) = match (left.len(), lines.len()) {
        (0, _) => return String::new(),
        (1, _) => ("was", "line"),
        (_, 1) => ("were", "line"),
        (_, _) => ("were", "lines"),
    };
    format!(
        "{} of {file} {were} left out, not an item of a list: {line} {}{more}\n\
         hint: `--with-agent` has an agent read all of it",
        counted(left.len() as u64, "passage"),
        shown.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_what_was_not_taken_is_named_once() {
        assert_eq!(left_in_words(&[], "req.md"), "");
        assert!(left_in_words(&[3], "req.md").starts_with("1 passage of req.md was left out, "));
        assert!(left_in_words(&[3, 18, 18, 20], "req.md").contains(": lines 3, 18, 20\n"));
        let many: Vec<u32> = (1..=50).collect();
        assert!(left_in_words(&many, "req.md").contains(", 40 and 10 more\n"));
    }
}
