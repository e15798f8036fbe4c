//! Merge commits with several branches, and signed ones.

use std::path::Path;

use super::{
    GitError, process,
    process::Git,
    work_trees::{Branches, full},
};

/// How git signs the commits of a repository whose user wants that.
///
/// A signature needs the user's keys, so its program runs outside of every sandbox. The repository's configuration,
/// which an agent can write, names the key and its format, but no program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSigning {
    /// Overrides of the configuration, as `key=value`.
    settings: Vec<String>,
}

impl CommitSigning {
    /// Reads how commits of the repository are signed; `None` if they are not.
    ///
    /// # Errors
    /// [`GitError`] if git cannot be asked.
    pub fn in_repository(branches: &Branches) -> Result<Option<CommitSigning>, GitError> {
        if effective(branches, &["--type=bool"], "commit.gpgSign")?.as_deref() != Some("true") {
            return Ok(None);
        }
        let mut settings = Vec::new();
        for key in ["gpg.format", "user.signingKey"] {
            let value = effective(branches, &[], key)?;
            settings.extend(value.map(|value| format!("{key}={value}")));
        }
        let openpgp = match users_own(branches, "gpg.openpgp.program")? {
            Some(program) => Some(program),
            None => users_own(branches, "gpg.program")?,
        };
        let openpgp = openpgp.unwrap_or_else(|| "gpg".to_owned());
        settings.extend(["gpg.program", "gpg.openpgp.program"].map(|key| format!("{key}={openpgp}")));
        for (key, default) in [
            ("gpg.x509.program", "gpgsm"),
            ("gpg.ssh.program", "ssh-keygen"),
            ("gpg.ssh.defaultKeyCommand", ""),
        ] {
            let value = users_own(branches, key)?.unwrap_or_else(|| default.to_owned());
            settings.push(format!("{key}={value}"));
        }
        Ok(Some(CommitSigning { settings }))
    }

    /// Checks that the key can be used, with a signature of a commit that is in no branch.
    ///
    /// # Errors
    /// [`GitError::Refused`] with the words of the program that signs.
    pub fn check(&self, branches: &Branches) -> Result<(), GitError> {
        let args = ["commit-tree", "-S", "-m", "Can commits be signed?", "HEAD^{tree}"];
        self.git(branches, branches.root()).args(args).run().map(drop)
    }

    fn git(&self, branches: &Branches, tree: &Path) -> Git {
        let git = branches.unconfined(tree);
        self.settings.iter().fold(git, |git, setting| git.setting(setting))
    }
}

/// Makes one merge commit of the tree that is checked out in a work tree of ralph's own. Its parents are `onto` and the
/// tips of `merged`, in this order.
///
/// # Errors
/// [`GitError`] if git cannot make or sign it.
pub fn merge_commit(
    branches: &Branches,
    signing: Option<&CommitSigning>,
    tree: &Path,
    (onto, merged): (&str, &[String]),
    message: &str,
) -> Result<String, GitError> {
    let mut args = vec!["commit-tree".to_owned(), "-p".to_owned(), onto.to_owned()];
    for branch in merged {
        args.extend(["-p".to_owned(), full(branch)]);
    }
    args.extend(signing.map(|_| "-S".to_owned()));
    args.extend(["-m", message, "HEAD^{tree}"].map(str::to_owned));
    let git = match signing {
        Some(signing) => signing.git(branches, tree),
        None => branches.at(tree),
    };
    git.args(args).run()?.line()
}

/// Returns the value of `key` that applies in the repository.
fn effective(branches: &Branches, options: &[&str], key: &str) -> Result<Option<String>, GitError> {
    // Not `Branches::git`, whose own settings say that commits are not signed.
    let git = branches
        .unconfined(branches.root())
        .args(["config"])
        .args(options)
        .args(["--get", key]);
    let output = git.run_any()?;
    output.success().then(|| output.line()).transpose()
}

/// Returns the value of `key` in the configuration of the user or the system, which an agent cannot write.
fn users_own(branches: &Branches, key: &str) -> Result<Option<String>, GitError> {
    let args = ["config", "--null", "--show-scope", "--get-all", key];
    let output = branches.unconfined(branches.root()).args(args).run_any()?;
    let items: Vec<&[u8]> = process::nul_separated(&output.stdout).collect();
    let of_user = items
        .chunks_exact(2)
        .filter(|entry| entry[0] == b"global" || entry[0] == b"system");
    let mut values = of_user.map(|entry| String::from_utf8_lossy(entry[1]).into_owned());
    Ok(values.next_back())
}
