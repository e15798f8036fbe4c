//! Finds the paths that a program was denied, in its output: the system does not report them otherwise.

/// An action that every sandbox forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Forbidden {
    /// A user namespace: a sandbox or a container of the program's own.
    UserNamespace,
    /// Rights beyond the user's, as setuid programs have them.
    Privileges,
    /// A change of the user's own git configuration, for which git creates a file in the home directory.
    GitConfiguration,
}

/// Phrases with which programs report a denied path, in lower case.
const DENIED: [&str; 3] = ["permission denied", "eacces", "operation not permitted"];

/// Words of programs that could not create something and do not say why.
const CREATES: [&str; 2] = ["creat", "mkdir"];
const FAILS: [&str; 5] = ["cannot", "can't", "could not", "failed", "unable"];

/// Starts of the lines in which npm names a path that it may not create, replace or remove.
const PATHS_OF_NPM: [&str; 2] = ["npm error path ", "npm ERR! path "];

/// Phrases that report a denial and name no path, with the place: ssh without usable keys or known hosts, and `pip install
/// --user`.
const UNNAMED: [(&str, &str); 3] = [
    ("Permission denied (publickey", "~/.ssh"),
    ("Host key verification failed", "~/.ssh"),
    (
        "Could not install packages due to an OSError: [Errno 13] Permission denied",
        "~/.local/lib",
    ),
];

/// Phrases of unshare, bwrap, podman and Chromium without user namespaces.
const NAMESPACE_FORBIDDEN: [&str; 4] = [
    "/proc/self/uid_map: Permission denied",
    "setting up uid map: Permission denied",
    "newuidmap: write to uid_map failed",
    "No usable sandbox!",
];

/// Phrases of sudo and ping without further rights.
const PRIVILEGES_FORBIDDEN: [&str; 2] = ["\"no new privileges\" flag is set", "missing cap_net_raw"];

/// The ends of the user's configuration files of git, as in the message that one cannot be locked.
const GIT_CONFIGURATIONS: [&str; 2] = ["/.gitconfig:", "/git/config:"];

/// Most lines of an output that are searched.
const MOST_LINES: usize = 200;

/// Returns the paths in the lines of `output` that report a denial, as written there: absolute ones, and those that
/// begin with `~/` or `../`.
pub fn denied_paths(output: &str) -> impl Iterator<Item = &str> {
    let tells = |line: &&str| is_denial(line) && !locks_git_configuration(line);
    let lines = output.lines().take(MOST_LINES).filter(tells);
    lines.flat_map(|line| {
        let words = line
            .split(|character: char| character.is_whitespace() || "'\"`:,;()[]<>=\u{2018}\u{2019}".contains(character));
        let paths: Vec<&str> = words
            .filter(|word| ["/", "~/", "../"].iter().any(|start| word.starts_with(start)) && word.len() > 3)
            .collect();
        // The program that reports it stands in front of what it reports, and a denied path in front of the words.
        let is_first = paths.get(..2).is_some_and(|paths| {
            let between = line
                .split_once(paths[0])
                .and_then(|(_, rest)| rest.split_once(paths[1]));
            between.is_some_and(|(between, _)| between.starts_with(':') && !says(&between.to_lowercase(), &DENIED))
        });
        paths.into_iter().skip(usize::from(is_first))
    })
}

/// Returns the places that `output` names in other lines than those that report their denial: the directories of paths
/// that npm may not change, and repositories that git may not push to.
pub fn places_denied_elsewhere(output: &str) -> impl Iterator<Item = &str> {
    let (of_npm, of_git) = (
        output.contains("EACCES"),
        output.contains("unable to create temporary object directory"),
    );
    output.lines().take(MOST_LINES).filter_map(move |line| {
        let npm = PATHS_OF_NPM.iter().find_map(|start| line.strip_prefix(start));
        let directory = npm.filter(|_| of_npm).and_then(|path| path.rsplit_once('/'));
        let repository = line.strip_prefix("To ").filter(|_| of_git);
        directory.map(|(directory, _)| directory).or(repository)
    })
}

/// Returns what `output` reports to need that every sandbox forbids.
pub fn forbidden(output: &str) -> Option<Forbidden> {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| output.contains(phrase));
    if has(&NAMESPACE_FORBIDDEN) {
        return Some(Forbidden::UserNamespace);
    }
    if has(&PRIVILEGES_FORBIDDEN) {
        return Some(Forbidden::Privileges);
    }
    let locks = output.lines().take(MOST_LINES).any(locks_git_configuration);
    locks.then_some(Forbidden::GitConfiguration)
}

/// Returns the place that a program in `output` was denied without naming it.
pub fn unnamed_place(output: &str) -> Option<&'static str> {
    let (_, place) = UNNAMED.iter().find(|(denial, _)| output.contains(denial))?;
    Some(place)
}

fn is_denial(line: &str) -> bool {
    let line = line.to_lowercase();
    says(&line, &DENIED) || says(&line, &CREATES) && says(&line, &FAILS)
}

fn says(line: &str, words: &[&str]) -> bool {
    words.iter().any(|words| line.contains(words))
}

fn locks_git_configuration(line: &str) -> bool {
    let (_, file) = line.split_once("could not lock config file ").unwrap_or_default();
    GIT_CONFIGURATIONS.iter().any(|end| file.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_found_in_the_words_of_all_kinds_of_programs() {
        for (line, path) in [
            ("sh: 1: cannot create /home/me/x: Permission denied", "/home/me/x"),
            (
                "/home/me/run.sh: 2: cannot create /home/me/x: Permission denied",
                "/home/me/x",
            ),
            (
                "the agent ended with exit code 2: /home/me/run.sh: 2: cannot create /home/me/x: Permission denied",
                "/home/me/x",
            ),
            ("/home/me/run.sh: Permission denied", "/home/me/run.sh"),
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
                "cannot create directory: /home/me/.cache/nim/a",
                "/home/me/.cache/nim/a",
            ),
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
    fn a_place_that_another_line_names_is_found() {
        for (output, path) in [
            (
                "npm error code EACCES\nnpm error syscall rename\nnpm error path /home/me/.npm-global/x\n",
                "/home/me/.npm-global",
            ),
            (
                "error: remote unpack failed: unable to create temporary object directory\nTo ../bare.git\n ! [remote rejected]",
                "../bare.git",
            ),
        ] {
            assert_eq!(places_denied_elsewhere(output).collect::<Vec<_>>(), [path], "{output}");
        }
        assert_eq!(places_denied_elsewhere("To ../bare.git\n * [new branch]\n").count(), 0);
    }

    #[test]
    fn what_every_sandbox_forbids_is_known_by_its_words() {
        for (output, what) in [
            (
                "unshare: cannot open /proc/self/uid_map: Permission denied",
                Some(Forbidden::UserNamespace),
            ),
            (
                "bwrap: setting up uid map: Permission denied",
                Some(Forbidden::UserNamespace),
            ),
            (
                "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.",
                Some(Forbidden::Privileges),
            ),
            (
                "ping: socket: Operation not permitted\nping: => missing cap_net_raw+p capability or setuid?",
                Some(Forbidden::Privileges),
            ),
            (
                "error: could not lock config file /home/me/.gitconfig: Permission denied",
                Some(Forbidden::GitConfiguration),
            ),
            (
                "error: could not lock config file ../x/.git/config: Permission denied",
                None,
            ),
            ("cat: x: Permission denied", None),
        ] {
            assert_eq!(forbidden(output), what, "{output}");
        }
    }

    #[test]
    fn the_place_of_a_denial_without_a_path_is_that_of_the_program() {
        for (output, place) in [
            (
                "git@example.org: Permission denied (publickey).\nfatal: Could not read from remote",
                Some("~/.ssh"),
            ),
            ("Host key verification failed.\n", Some("~/.ssh")),
            (
                "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: 'RECORD'",
                Some("~/.local/lib"),
            ),
            ("cat: x: Permission denied\n", None),
        ] {
            assert_eq!(unnamed_place(output), place, "{output}");
        }
    }

    #[test]
    fn a_line_that_tells_of_nothing_denied_has_no_paths_in_it() {
        let output = "cat: /home/me/x: No such file or directory\nwrote /home/me/y\nPermission denied (publickey).\n";
        assert_eq!(denied_paths(output).count(), 0);
    }
}
