//! `ralph init --with-agent`: an agent writes instructions for agents, and the user confirms them before they are
//! stored.

use std::path::Path;

use ralph_system::{
    files::{create_new, read_bytes},
    proc::Supervisor,
};
use ralph_text::{
    console::{complain, print},
    with_causes,
};

use crate::{
    begin::{self, CommandSuggestion},
    error::{Failure, FailureKind},
};

use super::{
    args::Args,
    confirm::is_confirmed,
    scratch_project::{Assignment, ScratchProject},
    trust,
};

/// Maximum size. Longer instructions cost every session more than they help.
const CAP_BYTES: u64 = 32 * 1024;

/// Has the agent write `name`, a file that the project lacks, and returns the exit code. `commands` verify the project.
pub(super) fn run(
    args: &Args,
    name: &str,
    commands: &[CommandSuggestion],
    yes: bool,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = trust::place_to_run(args)?;
    let scratch_project = ScratchProject::new("ralph-init-")?;
    let project = place.project.display().to_string();
    let assignment = begin::instructions_assignment(name, &project, commands);
    let unfinished = format!(
        "the agent did not finish {name}: it is not written\n\
         hint: the same command again asks it once more; `--agents-md` writes one without an agent"
    );
    let assignment = Assignment {
        written: name,
        text: &assignment,
        unfinished: &unfinished,
        check: None,
    };
    if let Some(code) = scratch_project.run_agent(&assignment, args, &place, supervisor)? {
        return Ok(code);
    }
    let text = accepted(&scratch_project.file(name), name)?;
    let shown: String = text.lines().map(|line| format!("    {line}\n")).collect();
    print(&format!("\n{name}:\n{shown}\n"));
    if !yes && !is_confirmed(&format!("Write {name}?"))? {
        complain(&format!("{name} is not written"));
        return Ok(0);
    }
    create_new(&place.project.join(name), &text)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("{name}: cannot be written: {error}")))?;
    print(&format!("wrote {name}\n"));
    Ok(0)
}

/// Returns the agent's text if it can be shown as it is.
fn accepted(file: &Path, name: &str) -> Result<String, Failure> {
    let refused = |why: &str| {
        let what = format!("the file of the agent is not a valid {name}: {why}");
        Failure::new(FailureKind::Failed, what).hint("`--agents-md` writes one without an agent")
    };
    let bytes = read_bytes(file, CAP_BYTES).map_err(|error| refused(&with_causes(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8"))?;
    let odd = |sign: char| sign.is_control() && !matches!(sign, '\n' | '\t');
    match text.trim() {
        "" => Err(refused("it is empty")),
        _ if text.contains(odd) => Err(refused("it has control characters, which a terminal would not show")),
        trimmed => Ok(format!("{trimmed}\n")),
    }
}
