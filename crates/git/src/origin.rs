//! The facts of a repository at the start of a run, for the user who has to bring it back.

use std::path::Path;

use super::{
    layout::read_small,
    process::{self, Git},
};

/// The branch and the remote of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub(super) branch: Option<String>,
    pub(super) remote: Option<String>,
}

impl Origin {
    /// Reads them with a git that is bound to the repository.
    pub(super) fn read(git_dir: &Path, git: Git) -> Origin {
        let head = read_small(&git_dir.join("HEAD"));
        let branch = head.and_then(|head| {
            let name = head.strip_prefix(b"ref: refs/heads/")?.trim_ascii_end().to_owned();
            // The name is not a reference if git keeps references in another form than files.
            String::from_utf8(name).ok().filter(|name| !name.starts_with('.'))
        });
        let args = ["config", "--get-regexp", r"^remote\..*\.url$"];
        let output = git.args(args).deadline(process::DISCOVERY_DEADLINE).run();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let output = output.unwrap_or_default();
        let remotes = || output.lines().filter_map(|line| line.split_once(' '));
        let remote = remotes()
            .find(|(key, _)| *key == "remote.origin.url")
            .or_else(|| remotes().next());
        Origin {
            branch,
            remote: remote.map(|(_, address)| without_login(address)),
        }
    }
}

/// Returns an address without a user and a password, which may be a token.
fn without_login(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) if scheme.starts_with("http") => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        _ => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_remote_is_told_without_its_token() {
        for (address, told) in [
            ("https://me:token@host/a@b.git", "https://host/a@b.git"),
            ("https://token@host", "https://host"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("ssh://git@host/a.git", "ssh://git@host/a.git"),
            ("../a", "../a"),
        ] {
            assert_eq!(without_login(address), told);
        }
    }
}
