//! `ralph demo`: the real loop with the embedded agent, in a scratch repository.

use std::{fs, path::Path};

use ralph_driver::RunChoice;
use ralph_git::NoRepository;
use ralph_system::proc::Supervisor;
use ralph_text::{console::print, shell_word};

use crate::{
    app::{self, ProjectPlace},
    config::{self, Flag, SettingSources},
    demo,
    error::{Failure, FailureKind, INSTALL_GIT},
};

use super::{
    args::{Args, FormatArg, ShowFlags},
    run::{diagnostics, presentation, screen, sources},
    setup::git,
};

pub(super) fn run(args: &Args, show: &ShowFlags, supervisor: &Supervisor) -> Result<u8, Failure> {
    // `ralph --format jsonl demo` means the same as `ralph demo --format jsonl`.
    let show = match args.show.format {
        FormatArg::Text => show,
        FormatArg::Jsonl => &args.show,
    };
    if let Err(NoRepository::NoGit) = ralph_git::version(supervisor) {
        let why = "the demo begins with `git init`, and git is not installed";
        return Err(Failure::new(FailureKind::Failed, why).hint(INSTALL_GIT));
    }
    let scratch = tempfile::Builder::new()
        .prefix("ralph-demo-")
        .tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?
        .keep();
    let project = scratch.join("project");
    prepare(&project, supervisor)
        .map_err(|why| Failure::new(FailureKind::Failed, format!("{}: {why}", project.display())))?;
    let project = project
        .canonicalize()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", project.display())))?;
    let state = args.state_dir.clone().unwrap_or_else(|| scratch.join("state"));
    let place = ProjectPlace::for_project(project.clone(), Some(&state))?;
    let loaded = config::load(&SettingSources {
        flags: [
            vec![
                Flag::new("ralph demo", "adapter", "demo"),
                Flag::new("ralph demo", "plan", "PLAN.md"),
                Flag::new("ralph demo", "goals", demo::scratch_goal()),
            ],
            limits(args, &place),
        ]
        .concat(),
        ..SettingSources::default()
    })?;
    // Hints name commands that would not find this state directory.
    let presentation = presentation(show, screen(args, &place)).without_hints();
    let code = app::run(
        &place,
        &loaded,
        presentation,
        &diagnostics(show, presentation),
        supervisor,
        None,
        RunChoice::AsFound,
    )?;
    if show.format == FormatArg::Text {
        print(&what_next(&project, &state, code));
    }
    Ok(code)
}

/// Lists commands to type after the demo. They work from any directory.
fn what_next(project: &Path, state: &Path, code: u8) -> String {
    let [project, state] = [project, state].map(|path| shell_word(&path.to_string_lossy()));
    let mut text = format!(
        "\nThe repository is in {project}: look at its files and `git log`.\n\
         Play it again: cd {project} && ralph --state-dir {state} replay\n"
    );
    if code != 0 {
        // A second `ralph demo` would not resume this one.
        let goal = demo::scratch_goal();
        text += &format!(
            "`ralph demo` starts over. To resume this one: cd {project} && ralph --adapter demo --goal '{goal}' \
             --state-dir {state}\n"
        );
    }
    text + "next: in your project, `ralph init`\n"
}

/// The limits among the flags of this command line. The other flags do not apply to the demo.
fn limits(args: &Args, place: &ProjectPlace) -> Vec<Flag> {
    let flags = sources(args, place).flags;
    flags
        .into_iter()
        .filter(|flag| flag.key.starts_with("limits."))
        .collect()
}

/// Creates a git repository with a plan.
fn prepare(project: &Path, supervisor: &Supervisor) -> Result<(), String> {
    fs::create_dir_all(project).map_err(|error| error.to_string())?;
    fs::write(project.join("PLAN.md"), demo::scratch_plan()).map_err(|error| error.to_string())?;
    git(project, &["init", "--quiet"], supervisor)?;
    git(project, &["add", "PLAN.md"], supervisor)?;
    let identity: &[&str] = match git(project, &["var", "GIT_AUTHOR_IDENT"], supervisor) {
        Ok(()) => &[],
        Err(_) => &["-c", "user.name=ralph demo", "-c", "user.email=demo@localhost"],
    };
    let commit = [
        "-c",
        "commit.gpgSign=false",
        "commit",
        "--quiet",
        "--message",
        "Plan the work",
    ];
    git(project, &[identity, &commit].concat(), supervisor)
}
