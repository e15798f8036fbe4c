//! The places where agents keep their state: the directories that belong to one program.

use ralph_system::sandbox::holds_credentials;

/// Names whose directories are not an agent's: programs read there what to start, and ralph what to allow.
pub(super) const SHARED_NAMES: &[&str] = &[
    "applications",
    "autostart",
    "bash",
    "bashrc",
    "bin",
    "cache",
    "cargo",
    "config",
    "data",
    "dbus-1",
    "emacs",
    "environment",
    "fish",
    "fonts",
    "git",
    "icons",
    "keyrings",
    "lib",
    "local",
    "npm",
    "nvim",
    "profile",
    "ralph",
    "rustup",
    "screen",
    "share",
    "state",
    "systemd",
    "tmux",
    "vim",
    "vscode",
    "zed",
    "zsh",
    "zshrc",
];

/// The directories in which programs have directories of their own, with the variables that move them.
pub(super) const HOMES: &[&str] = &[
    "$XDG_CONFIG_HOME",
    "~/.config",
    "$XDG_DATA_HOME",
    "~/.local/share",
    "$XDG_STATE_HOME",
    "~/.local/state",
    "$XDG_CACHE_HOME",
    "~/.cache",
];

/// The directories and files of an agent's state, as far as the places of its login tell: the directory of its own, in the
/// home directory or in one that many programs share. What has none of its own is only the file.
pub(super) fn state_of_login(files: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut directories, mut own_files) = (Vec::new(), Vec::new());
    // A path of no home directory is that of a file in the project, or of the system.
    for file in files
        .iter()
        .filter(|file| file.starts_with("~/") || file.starts_with('$'))
    {
        match own_directory(file) {
            Some(directory) if holds_credentials(&directory) => {}
            Some(directory) if directories.contains(&directory) => {}
            Some(directory) => directories.push(directory),
            None if holds_credentials(file) => {}
            None => own_files.push(file.clone()),
        }
    }
    (directories, own_files)
}

/// The directory of `file` that belongs to one program; `None` if only directories of all programs are above it.
fn own_directory(file: &str) -> Option<String> {
    let mut shared = HOMES
        .iter()
        .filter_map(|home| Some((*home, file.strip_prefix(home)?.strip_prefix('/')?)));
    let (home, below) = shared.next_back().or_else(|| file.split_once('/'))?;
    if home.starts_with('$') && home != "$HOME" && !home.starts_with("$XDG_") {
        return Some(home.to_owned());
    }
    let (name, _) = below.split_once('/')?;
    let is_own = !SHARED_NAMES.contains(&name.trim_start_matches('.'));
    // Directories that people made themselves are in the home directory as well.
    let is_own = is_own && (name.starts_with('.') || !matches!(home, "~" | "$HOME"));
    is_own.then(|| format!("{home}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_an_agent_is_the_directory_of_its_own_above_its_login() {
        for (file, directory) in [
            ("~/.qwen/oauth_creds.json", "~/.qwen"),
            ("~/.cline/data/settings/providers.json", "~/.cline"),
            ("~/.config/agent/login", "~/.config/agent"),
            ("~/.local/share/agent/a/b", "~/.local/share/agent"),
            ("$XDG_DATA_HOME/agent/auth.json", "$XDG_DATA_HOME/agent"),
            ("$XDG_RUNTIME_DIR/agent/auth.json", "$XDG_RUNTIME_DIR/agent"),
            ("$AGENT_HOME/auth.json", "$AGENT_HOME"),
        ] {
            assert_eq!(
                state_of_login(&[file.to_owned()]),
                (vec![directory.to_owned()], Vec::new()),
                "{file}"
            );
        }
    }

    #[test]
    fn directories_of_all_programs_are_nobodys_state() {
        for file in [
            "~/.agent.json",
            "~/.config/agent.json",
            "~/.config/git/agent",
            "~/.local/agent",
            "~/.local/share/login",
            "~/work/login",
            "$XDG_CONFIG_HOME/login",
            "$XDG_RUNTIME_DIR/login",
            "$HOME/login",
        ] {
            assert_eq!(
                state_of_login(&[file.to_owned()]),
                (Vec::new(), vec![file.to_owned()]),
                "{file}"
            );
        }
        for file in [
            ".env",
            "/etc/agent/login",
            "~/.aws/credentials",
            "~/.netrc",
            "~/.ssh/agent_key",
        ] {
            assert_eq!(state_of_login(&[file.to_owned()]), (Vec::new(), Vec::new()), "{file}");
        }
    }
}
