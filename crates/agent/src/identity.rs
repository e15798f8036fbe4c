//! The user's name, address and command for ssh, for agents whose tools do not see the user's git configuration.
//!
//! Name and address are passed as configuration that git includes for one repository only. In any other repository, such as one
//! that a test creates, its own configuration applies. `GIT_AUTHOR_NAME` and similar variables would apply everywhere.
//! The command is a variable, since such an agent sets `core.sshCommand` itself: to nothing, with which git cannot reach
//! any server.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

const SSH_COMMAND: &str = "GIT_SSH_COMMAND";
const COUNT: &str = "GIT_CONFIG_COUNT";

/// The name and address of a repository's committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitIdentity {
    pub name: Option<String>,
    pub email: Option<String>,
    /// `core.sshCommand`; `None` stands for `ssh`.
    pub ssh_command: Option<String>,
    pub git_dir: PathBuf,
}

impl GitIdentity {
    /// Writes the identity into `directory` and returns the variables that make git read it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn variables(&self, directory: &Path) -> io::Result<Vec<(String, String)>> {
        let file = directory.join("gitconfig");
        fs::write(&file, self.configuration())?;
        let given = env::var(COUNT).ok().and_then(|count| count.parse::<u32>().ok());
        let n = given.unwrap_or(0);
        let ssh = self.ssh_command.clone().unwrap_or_else(|| "ssh".to_owned());
        let ssh = env::var_os(SSH_COMMAND)
            .is_none()
            .then(|| (SSH_COMMAND.to_owned(), ssh));
        Ok([
            (COUNT.to_owned(), (n + 1).to_string()),
            (format!("GIT_CONFIG_KEY_{n}"), self.condition()),
            (format!("GIT_CONFIG_VALUE_{n}"), file.to_string_lossy().into_owned()),
        ]
        .into_iter()
        .chain(ssh)
        .collect())
    }

    fn configuration(&self) -> String {
        let line = |key: &str, value: &Option<String>| match value {
            Some(value) => format!("\t{key} = \"{}\"\n", quoted(value)),
            None => String::new(),
        };
        format!("[user]\n{}{}", line("name", &self.name), line("email", &self.email))
    }

    /// The configuration key of an include for this repository alone. Its directory is a pattern there, so special
    /// characters are escaped.
    fn condition(&self) -> String {
        let mut pattern = String::new();
        for character in self.git_dir.to_string_lossy().chars() {
            if matches!(character, '*' | '?' | '[' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        format!("includeIf.gitdir:{pattern}.path")
    }
}

fn quoted(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn it_holds_in_its_repository_however_that_is_called_and_in_no_other() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = dir.path().join("a *[strange]? \"na\\me");
        let other = dir.path().join("other");
        for repository in [&project, &other] {
            fs::create_dir(repository).expect("a directory");
            let git = Command::new("git")
                .args(["init", "--quiet"])
                .current_dir(repository)
                .status();
            assert!(git.expect("git").success());
        }
        let identity = GitIdentity {
            name: Some("Ann \"A\\B\" Other; # x".to_owned()),
            email: None,
            ssh_command: None,
            git_dir: project.join(".git").canonicalize().expect("it is there"),
        };
        let variables = identity.variables(dir.path()).expect("a file");
        let name_in = |repository: &Path| {
            let git = Command::new("git")
                .args(["config", "user.name"])
                .current_dir(repository)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_SYSTEM", "/dev/null")
                .envs(variables.iter().cloned())
                .output();
            String::from_utf8(git.expect("git").stdout).expect("UTF-8")
        };
        assert_eq!(name_in(&project).trim_end(), "Ann \"A\\B\" Other; # x");
        assert_eq!(name_in(&other), "");
    }
}
