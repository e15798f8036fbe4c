//! The committer of a project, if the user's own configuration names one and the repository's does not.

use std::path::{Path, PathBuf};

use ralph_system::proc::Supervisor;

use super::{
    layout::inspect_above,
    process::{DISCOVERY_DEADLINE, Git},
};

/// The committer's name and email and the command for ssh, for a program that does not see the user's own git
/// configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitterIdentity {
    pub name: Option<String>,
    pub email: Option<String>,
    /// `core.sshCommand`.
    pub ssh_command: Option<String>,
    /// The repository that the identity is for.
    pub git_dir: PathBuf,
}

impl CommitterIdentity {
    /// Asks git for the identity in `project`; `None` outside a repository.
    pub fn in_project(project: &Path, supervisor: &Supervisor) -> Option<Self> {
        inspect_above(project).ok()?;
        let ask = |args: &[&str]| ask(project, args, supervisor);
        Some(CommitterIdentity {
            name: global_value("user.name", ask),
            email: global_value("user.email", ask),
            ssh_command: ask(&["config", "--get", "core.sshCommand"]),
            git_dir: ask(&["rev-parse", "--absolute-git-dir"])?.into(),
        })
    }
}

/// The kind of key with which git signs commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningFormat {
    Ssh,
    /// OpenPGP, or X.509, which gpg handles as well.
    Gpg,
}

/// Returns the kind of key with which git signs commits in `project`; `None` if it signs none, or outside a repository.
pub fn commit_signing(project: &Path, supervisor: &Supervisor) -> Option<SigningFormat> {
    let set = ["config", "--type=bool", "--get", "commit.gpgsign"];
    let signs = inspect_above(project).is_ok() && ask(project, &set, supervisor).is_some_and(|value| value == "true");
    let format = || match ask(project, &["config", "--get", "gpg.format"], supervisor).as_deref() {
        Some("ssh") => SigningFormat::Ssh,
        Some(_) | None => SigningFormat::Gpg,
    };
    signs.then(format)
}

/// Returns the value of `key` if it comes from the user's or the system's configuration.
fn global_value(key: &str, ask: impl Fn(&[&str]) -> Option<String>) -> Option<String> {
    let told = ask(&["config", "--show-scope", "--get", key])?;
    let (scope, value) = told.split_once('\t')?;
    matches!(scope, "global" | "system").then(|| value.to_owned())
}

fn ask(project: &Path, args: &[&str], supervisor: &Supervisor) -> Option<String> {
    let output = Git::at(supervisor, project)
        .deadline(DISCOVERY_DEADLINE)
        .args(args)
        .run()
        .ok()?;
    let line = String::from_utf8(output.stdout).ok()?;
    Some(line.trim_end_matches('\n').to_owned())
}
