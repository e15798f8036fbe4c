//! Settings of git, as git itself reads them.

use std::path::Path;

use ralph_system::proc::Supervisor;

use super::{
    GitError,
    process::{self, DISCOVERY_DEADLINE, Git},
};

/// Returns the keys and values of the text of a file of git's settings, in their order, without those of files that it
/// includes. Names of sections and keys are in lower case.
///
/// # Errors
/// [`GitError`] if git cannot read it.
pub fn settings_of(supervisor: &Supervisor, text: Vec<u8>) -> Result<Vec<(String, String)>, GitError> {
    let list = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    // In no repository: the settings of one may be broken.
    let git = Git::at(supervisor, Path::new("/")).deadline(DISCOVERY_DEADLINE);
    let output = git.args(list).input(text).run()?;
    let settings = process::nul_separated(&output.stdout).map(String::from_utf8_lossy);
    Ok(settings
        .map(|setting| {
            let (key, value) = setting.split_once('\n').unwrap_or((&setting, ""));
            (key.to_owned(), value.to_owned())
        })
        .collect())
}
