//! `ralph setup NAME`: creates a project, from a missing directory to a first commit with its plan.
//!
//! A failure removes everything again: afterwards the directory is complete or absent.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_state::control::UserOnlyAction;
use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{complain, print},
    one_line, with_causes,
};

use crate::{
    app::ProjectPlace,
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, InitArgs},
    init, run, trust,
};

/// Maximum length of a file name on Linux.
const NAME_CAP_BYTES: usize = 255;

pub(super) fn run(args: &Args, name: &str, wish: &InitArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let above = run::place(args)?;
    trust::refuse_agent(&above.paths, UserOnlyAction::Trust)?;
    init::check_tasks(&wish.tasks)?;
    check_name(name)?;
    let directory = above.project.join(name);
    if wish.dry_run {
        let is_new = check_new(&directory)?;
        let made = if is_new { "would be created" } else { "would be used" };
        print(&format!(
            "{} {made}, with a repository, a plan and a first commit\n",
            directory.display()
        ));
        return Ok(0);
    }
    if let Some(root) = init::git_root(&above.project) {
        complain(&format!(
            "note: this is inside of the repository {}; the new project gets its own repository",
            root.display()
        ));
    }
    let wish = &wish.with_first_task(false)?;
    let made = CreatedDirectory::at(&directory)?;
    git(&directory, &["init", "--quiet"], supervisor)
        .map_err(|why| Failure::new(FailureKind::Failed, why).hint("`ralph doctor` says whether git can be used"))?;
    let place = ProjectPlace::for_project(directory.clone(), args.state_dir.as_deref())?;
    if !init::begin(args, &place, wish, supervisor)? {
        return Ok(0);
    }
    made.keep();
    match committed(&directory, name, supervisor) {
        Ok(()) => print(&format!("created {name} with a first commit\n")),
        Err(why) => complain(&format!(
            "note: {name} was created, but nothing was committed: {}\n\
             hint: git config --global user.name \"NAME\" && git config --global user.email \"ADDRESS\"\n\
             hint: cd {name} && git add --all && git commit -m \"Begin\"",
            one_line(&why)
        )),
    }
    let tasks = match wish.tasks[..] {
        [] => ", add tasks to PLAN.md, one per line as `- [ ] …`",
        _ => "",
    };
    print(&format!("next: cd {name}{tasks}; `ralph` starts the run\n"));
    Ok(0)
}

/// Checks that the name is that of a directory in this one, and can be typed without quotes.
fn check_name(name: &str) -> Result<(), Failure> {
    let why = match name {
        _ if name.trim().is_empty() => "a project needs a name".to_owned(),
        "." | ".." => format!("`{name}` does not name a new directory"),
        _ if name.contains('/') => format!("`{name}` is a path, not a name"),
        _ if name.starts_with('-') => format!("`{name}` looks like a flag"),
        _ if name.chars().any(char::is_control) => {
            format!(
                "`{}` has characters that are not allowed in a name",
                name.escape_debug()
            )
        }
        _ if name.len() > NAME_CAP_BYTES => format!("the name is longer than {NAME_CAP_BYTES} bytes"),
        _ => return Ok(()),
    };
    let hint = match name.contains('/') {
        true => "change to the directory above it first: `ralph setup NAME` creates the project there",
        false => {
            "`ralph setup my-project` creates the directory my-project; `ralph init` sets up an existing directory"
        }
    };
    Err(Failure::new(FailureKind::Usage, why).hint(hint))
}

/// Whether the path does not exist. An empty directory is accepted as well; anything else is an error.
fn check_new(directory: &Path) -> Result<bool, Failure> {
    let name = directory.display();
    match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Failure::new(
            FailureKind::Usage,
            format!("{name}: there is a file of this name"),
        )
        .hint("choose another name")),
        Err(error) => Err(Failure::new(FailureKind::Failed, format!("{name}: {error}"))),
        Ok(mut entries) => match entries.next() {
            None => Ok(false),
            Some(_) => Err(
                Failure::new(FailureKind::Usage, format!("{name} exists already and is not empty"))
                    .hint(format!("`cd {name} && ralph init` sets up an existing project")),
            ),
        },
    }
}

/// The directory, which is removed on drop unless it is kept.
struct CreatedDirectory {
    directory: PathBuf,
    /// Whether the directory existed before, empty.
    was_there: bool,
    is_kept: bool,
}

impl CreatedDirectory {
    fn at(directory: &Path) -> Result<Self, Failure> {
        let is_new = check_new(directory)?;
        if is_new {
            fs::create_dir(directory).map_err(|error| {
                Failure::new(
                    FailureKind::Failed,
                    format!("{}: cannot be created: {error}", directory.display()),
                )
                .hint("change to a directory that you can write to")
            })?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            was_there: !is_new,
            is_kept: false,
        })
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for CreatedDirectory {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // The directory holds only files made a moment ago. Errors are ignored, since the failure before is reported.
        if self.was_there {
            _ = fs::remove_dir_all(self.directory.join(".git"));
            _ = fs::remove_dir_all(self.directory.join(".ralph"));
            _ = fs::remove_file(self.directory.join("PLAN.md"));
        } else {
            _ = fs::remove_dir_all(&self.directory);
        }
    }
}

fn committed(directory: &Path, name: &str, supervisor: &Supervisor) -> Result<(), String> {
    git(directory, &["add", "--all"], supervisor)?;
    git(
        directory,
        &["commit", "--quiet", "--message", &format!("Begin {name}")],
        supervisor,
    )
}

/// Runs git as the user would.
pub(super) fn git(directory: &Path, args: &[&str], supervisor: &Supervisor) -> Result<(), String> {
    let shown = args.join(" ");
    let finished = supervisor
        .git_helper(directory)
        // Otherwise git makes up an address from the host name.
        .args(["-c", "user.useConfigOnly=true"])
        .args(args)
        .current_dir(directory)
        .env("GIT_TERMINAL_PROMPT", "0")
        .run()
        .map_err(|error| format!("git {shown}: {}", with_causes(&error)))?;
    if finished.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&finished.stderr.bytes);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(format!("git {shown}: {}", last.unwrap_or("it failed").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_of_a_directory_and_nothing_else() {
        for name in ["", "  ", ".", "..", "a/b", "/tmp/x", "-x", "a\nb", &"x".repeat(256)] {
            let refused = check_name(name).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Usage, "{name:?}");
            assert!(!refused.hints.is_empty(), "{name:?}");
        }
        for name in ["shop", "my shop", ".dotfiles", "größe"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
    }
}
