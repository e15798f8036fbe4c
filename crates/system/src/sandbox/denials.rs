//! Finds the paths that a program was denied, in its output: the system does not report them otherwise.

/// Phrases with which programs report a denied path, in lower case.
const DENIED: [&str; 3] = ["permission denied", "eacces", "operation not permitted"];

/// Most lines of an output that are searched.
const MOST_LINES: usize = 200;

/// Returns the paths in the lines of `output` that report a denial, as written there: absolute ones, and those that
/// begin with `~/` or `../`.
pub fn denied_paths(output: &str) -> impl Iterator<Item = &str> {
    let tells = |line: &&str| {
        let line = line.to_lowercase();
        DENIED.iter().any(|words| line.contains(words))
    };
    let lines = output.lines().take(MOST_LINES).filter(tells);
    lines.flat_map(|line| {
        line.split(|character: char| character.is_whitespace() || "'\"`:,;()[]<>=\u{2018}\u{2019}".contains(character))
            .filter(|word| ["/", "~/", "../"].iter().any(|start| word.starts_with(start)) && word.len() > 3)
    })
}

/// Whether `output` comes from an ssh that has no usable keys or known hosts.
pub fn misses_ssh_keys(output: &str) -> bool {
    ["Permission denied (publickey", "Host key verification failed"]
        .iter()
        .any(|words| output.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_found_in_the_words_of_all_kinds_of_programs() {
        for (line, path) in [
            ("sh: 1: cannot create /home/me/x: Permission denied", "/home/me/x"),
            ("bash: line 1: /home/me/x: Permission denied", "/home/me/x"),
            ("cat: /home/me/.ssh/id: Permission denied", "/home/me/.ssh/id"),
            ("touch: cannot touch '/home/me/x': Permission denied", "/home/me/x"),
            ("touch: cannot touch \u{2018}../x\u{2019}: Permission denied", "../x"),
            ("Error: EACCES: permission denied, open '/home/me/x'", "/home/me/x"),
            (
                "PermissionError: [Errno 13] Permission denied: '/home/me/x'",
                "/home/me/x",
            ),
            ("open /home/me/x: permission denied", "/home/me/x"),
            (
                "failed to open: /home/me/x (Permission denied, os error 13)",
                "/home/me/x",
            ),
            (
                "warning: unable to access '~/.config/git/attributes': Permission denied",
                "~/.config/git/attributes",
            ),
        ] {
            assert_eq!(denied_paths(line).collect::<Vec<_>>(), [path], "{line}");
        }
    }

    #[test]
    fn an_ssh_without_keys_is_known_by_its_words() {
        assert!(misses_ssh_keys(
            "git@example.org: Permission denied (publickey).\nfatal: Could not read from remote"
        ));
        assert!(misses_ssh_keys("Host key verification failed.\n"));
        assert!(!misses_ssh_keys("cat: x: Permission denied\n"));
    }

    #[test]
    fn a_line_that_tells_of_nothing_denied_has_no_paths_in_it() {
        let output = "cat: /home/me/x: No such file or directory\nwrote /home/me/y\nPermission denied (publickey).\n";
        assert_eq!(denied_paths(output).count(), 0);
    }
}
