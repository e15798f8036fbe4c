//! Reads a remote's address: its forge, the repository there, and the program that reaches the forge. Pure.

use thiserror::Error;

/// A repository of a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeRepository {
    /// The forge's host name.
    pub host: String,
    pub owner: String,
    pub name: String,
}

/// The command-line program of a kind of forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeProgram {
    /// GitHub's `gh`.
    Gh,
    /// GitLab's `glab`.
    Glab,
    /// `tea`, of Gitea and Forgejo.
    Tea,
}

/// Why the address of a remote names no repository that ralph can reach.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("`{address}` is not the address of a repository on a forge")]
    NoForge { address: String },
    #[error("{host} is reached by `{program}`, which ralph does not use yet: only GitHub is supported")]
    Unsupported { host: String, program: &'static str },
}

impl ForgeRepository {
    /// Reads the address of a git remote: `https://HOST/OWNER/NAME`, `ssh://git@HOST/OWNER/NAME` or
    /// `git@HOST:OWNER/NAME`, each with or without `.git`.
    ///
    /// # Errors
    /// [`AddressError::NoForge`] for a path, and for every other form.
    pub fn parse(address: &str) -> Result<ForgeRepository, AddressError> {
        let trimmed = address.trim();
        parts(trimmed)
            .and_then(|(host, path)| repository(host, path))
            .ok_or_else(|| AddressError::NoForge {
                address: without_credentials(trimmed),
            })
    }

    /// Returns the program that reaches the forge, by the name of its host.
    ///
    /// # Errors
    /// [`AddressError::Unsupported`] if ralph cannot use that program.
    pub fn program(&self) -> Result<ForgeProgram, AddressError> {
        let host = self.host.to_lowercase();
        let is_of = |words: &[&str]| host.split('.').any(|label| words.contains(&label));
        let program = if is_of(&["gitlab"]) {
            ForgeProgram::Glab
        } else if is_of(&["codeberg", "gitea", "forgejo"]) {
            ForgeProgram::Tea
        } else {
            ForgeProgram::Gh
        };
        match program {
            ForgeProgram::Gh => Ok(program),
            ForgeProgram::Glab | ForgeProgram::Tea => Err(AddressError::Unsupported {
                host: self.host.clone(),
                program: program.name(),
            }),
        }
    }
}

impl ForgeProgram {
    /// The name of the program on `PATH`.
    pub fn name(self) -> &'static str {
        match self {
            ForgeProgram::Gh => "gh",
            ForgeProgram::Glab => "glab",
            ForgeProgram::Tea => "tea",
        }
    }
}

/// Splits an address into its host and its path.
fn parts(address: &str) -> Option<(&str, &str)> {
    if let Some((scheme, rest)) = address.split_once("://") {
        if !matches!(scheme, "https" | "http" | "ssh" | "git+ssh") {
            return None;
        }
        let (authority, path) = rest.split_once('/')?;
        let host = authority.rsplit('@').next()?;
        let host = host.split(':').next()?;
        return Some((host, path));
    }
    let (authority, path) = address.split_once(':')?;
    let (_, host) = authority.split_once('@')?;
    Some((host, path.trim_start_matches('/')))
}

fn repository(host: &str, path: &str) -> Option<ForgeRepository> {
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.split_once('/')?;
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with('-')
            && word
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
            && word != "."
            && word != ".."
    };
    let is_host = is_word(host) && !host.contains('_');
    (is_host && is_word(owner) && is_word(name)).then(|| ForgeRepository {
        host: host.to_lowercase(),
        owner: owner.to_owned(),
        name: name.to_owned(),
    })
}

/// The address without a password that it may contain.
fn without_credentials(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}/{path}")
        }
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_names_the_same_repository() {
        let shop = ForgeRepository {
            host: "github.com".to_owned(),
            owner: "team".to_owned(),
            name: "shop".to_owned(),
        };
        for address in [
            "https://github.com/team/shop",
            "https://github.com/team/shop.git",
            "https://user:word@github.com/team/shop.git/",
            "ssh://git@github.com:22/team/shop.git",
            "git@github.com:team/shop.git",
            "git@GitHub.com:/team/shop",
        ] {
            assert_eq!(ForgeRepository::parse(address).as_ref(), Ok(&shop), "{address}");
        }
        assert_eq!(shop.program(), Ok(ForgeProgram::Gh));
    }

    #[test]
    fn a_path_or_an_odd_address_is_no_repository_of_a_forge() {
        for address in [
            "",
            "/srv/shop.git",
            "../shop",
            "file:///srv/team/shop",
            "https://github.com/shop",
            "https://github.com/team/shop/more",
            "https://github.com/team/..",
            "https://github.com/--help/shop",
            "https://git hub.com/team/shop",
            "ext::sh -c touch% x",
        ] {
            assert!(ForgeRepository::parse(address).is_err(), "{address}");
        }
        let error = ForgeRepository::parse("https://user:word@h/x").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`https://h/x` is not the address of a repository on a forge"
        );
    }

    #[test]
    fn forges_whose_program_ralph_does_not_use_are_refused_in_words() {
        for (address, program) in [
            ("https://gitlab.example.org/team/shop", "glab"),
            ("git@codeberg.org:team/shop", "tea"),
        ] {
            let error = ForgeRepository::parse(address).unwrap().program().unwrap_err();
            assert!(error.to_string().contains(&format!("`{program}`")), "{error}");
        }
    }
}
