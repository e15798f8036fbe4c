//! The known test runners, and the files that they want to be guarded.

use std::{
    cell::LazyCell,
    path::{Path, PathBuf},
};

use ralph_core::event::Goal;
use ralph_gate::{
    guard::{FileGuard, GuardRules},
    runner::{InlineTests, Runner, Runners},
};
use ralph_system::files::Directory;

/// The texts of files in `runners`, each with its name without `.toml`.
macro_rules! texts {
    ($($id:literal),*) => { &[$(($id, include_str!(concat!("../runners/", $id, ".toml")))),*] };
}

/// The runners that come with ralph.
const BUILT_IN: &[(&str, &str)] = texts![
    "automake", "bun", "busted", "cargo", "ctest", "dart", "deno", "dotnet", "go", "gradle", "jest", "just", "make",
    "meson", "minitest", "mix", "mocha", "nextest", "nim", "node", "npm", "phpunit", "prove", "pytest", "rspec",
    "surefire", "swift", "tap", "tox", "unittest", "vitest", "zig"
];

/// Reads all layers. A file of the user or the project replaces the built-in runner of the same name. `built_in` says
/// whether the built-in runners are read; a run without goals does not need them.
///
/// # Errors
/// One sentence for each file that cannot be used.
pub(crate) fn load(user: Option<PathBuf>, project: &Directory, built_in: bool) -> Result<Runners, Vec<String>> {
    let user = user.map(|user| Directory::read(&user)).unwrap_or_default();
    let built_in = if built_in { BUILT_IN } else { &[] };
    let mut texts: Vec<(String, String, String)> = built_in
        .iter()
        .map(|(id, text)| ((*id).to_owned(), (*text).to_owned(), format!("runners/{id}.toml")))
        .collect();
    let mut mistakes = Vec::new();
    for directory in [&user, project] {
        for file in &directory.files {
            let id = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let path = file.path.display().to_string();
            match &file.text {
                Ok(text) => {
                    texts.retain(|(known, ..)| *known != id);
                    texts.push((id, text.clone(), path));
                }
                Err(error) => mistakes.push(format!("{path}: {error}")),
            }
        }
    }
    let mut runners = Vec::new();
    for (id, text, path) in texts {
        match Runner::parse(&id, &text) {
            Ok(runner) => runners.push(runner),
            Err(error) => mistakes.push(format!("{path}: {error}")),
        }
    }
    match mistakes.is_empty() {
        true => Ok(Runners::new(runners)),
        false => Err(mistakes),
    }
}

/// Whether a goal's command names a runner whose tests can be counted, or a program that starts one.
pub(crate) fn names_runner(runners: &Runners, goals: &[Goal]) -> bool {
    goals.iter().any(|goal| !runners.likely(&goal.command).is_empty())
}

/// The guard rules for the goals: the rules of their runners, and the scripts that they name.
///
/// Scripts for which `exists` returns false are left out, since the agent has yet to write them. One that is a test by its name,
/// as in `node --test add.test.js`, is one: what it imports is what it tests. A shell imports nothing, so what its script names
/// measures.
pub(crate) fn rules(
    runners: &Runners,
    goals: &[Goal],
    guard: &[String],
    except: &[String],
    exists: impl Fn(&str) -> bool,
) -> GuardRules {
    let mut rules = GuardRules {
        named: guard.to_vec(),
        except: except.to_vec(),
        ..GuardRules::default()
    };
    let all = LazyCell::new(|| FileGuard::new(all_rules(runners)).ok());
    let is_test = |script: &String| {
        let is_shell = Path::new(script)
            .extension()
            .is_none_or(|ending| ending == "sh" || ending == "bash");
        !is_shell && all.as_ref().is_some_and(|guard| guard.is_test(script))
    };
    for goal in goals {
        let likely = runners.likely(&goal.command);
        let scripts = scripts(goal);
        // A script or a makefile may start any runner, so the rules of all runners apply.
        let is_open = likely.iter().any(|runner| !runner.counts_tests()) || !scripts.is_empty();
        let scripts = scripts.into_iter().filter(|script| exists(script) && !is_test(script));
        rules.config.extend(scripts);
        match is_open {
            true => runners.iter().for_each(|runner| add(&mut rules, runner)),
            false => likely.into_iter().for_each(|runner| add(&mut rules, runner)),
        }
    }
    rules
}

/// The guard rules of all runners.
pub(crate) fn all_rules(runners: &Runners) -> GuardRules {
    let mut rules = GuardRules::default();
    runners.iter().for_each(|runner| add(&mut rules, runner));
    rules
}

fn add(rules: &mut GuardRules, runner: &Runner) {
    let extend = |list: &mut Vec<String>, more: &[String]| {
        let new = more.iter().filter(|pattern| !list.contains(pattern)).cloned();
        let new: Vec<String> = new.collect();
        list.extend(new);
    };
    extend(&mut rules.tests, &runner.tests);
    extend(&mut rules.config, &runner.config);
    extend(&mut rules.shadows, &runner.shadows);
    rules.rust_blocks |= runner.blocks == Some(InlineTests::Rust);
}

/// Programs that run the file that is their first argument after options.
const INTERPRETERS: [&str; 12] = [
    "sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "source", ".",
];

/// The project files that a goal's command runs: `./check.sh`, `scripts/test.py`, `bash check.sh`.
fn scripts(goal: &Goal) -> Vec<String> {
    let commands = goal.command.split(['\n', ';', '&', '|', '(', ')']);
    commands
        .filter_map(script)
        .map(|path| match &goal.workspace {
            Some(workspace) => format!("{}/{path}", workspace.trim_end_matches('/')),
            None => path.to_owned(),
        })
        .collect()
}

/// The file that one command runs, by its path in the project.
fn script(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let is_assignment = |word: &&str| word.contains('=');
    let program = words.find(|word| !is_assignment(word) && *word != "exec" && *word != "env")?;
    let path = if INTERPRETERS.contains(&program) {
        interpreted(program, words)?
    } else {
        Some(program).filter(|program| program.contains('/'))?
    };
    let path = path.trim_start_matches("./");
    let leads_elsewhere = path.starts_with(['/', '~', '$']) || path.split('/').any(|part| part == "..");
    (!path.is_empty() && !leads_elsewhere && !path.contains(['*', '?', '[', '{'])).then_some(path)
}

/// The file that an interpreter runs: its first argument, unless an option before it is followed by a module (`-m`) or code (`-c`).
fn interpreted<'a>(interpreter: &str, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_shell = ["sh", "bash", "dash", "zsh"].contains(&interpreter);
    let (code, with_value): (&[char], &[char]) = match interpreter {
        _ if is_shell => (&['c'], &['o', 'O']),
        "node" => (&['e', 'p'], &['r']),
        "perl" => (&['e', 'E'], &['I']),
        "php" => (&['r'], &['d']),
        "ruby" => (&['e'], &['I', 'r']),
        _ => (&['c', 'm'], &['W', 'X']),
    };
    loop {
        let word = words.next()?;
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else {
            match is_shell && word.starts_with('+') {
                true => continue,
                false => return Some(word),
            }
        };
        match option.strip_prefix('-') {
            Some("eval" | "print" | "run") => return None,
            Some("require" | "import") => _ = words.next(),
            Some(_) => {}
            // The code of a shell begins with a program.
            None if option.contains(code) => return words.next().filter(|word| is_shell && word.contains('/')),
            None if option.ends_with(with_value) => _ = words.next(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_text::{KeptEscapes, PlainText};

    use super::*;

    fn goal(command: &str) -> Goal {
        Goal {
            command: command.to_owned(),
            ..Goal::default()
        }
    }

    fn built_in() -> Runners {
        load(None, &Directory::default(), true).unwrap()
    }

    #[test]
    fn scripts_that_a_command_names_are_guarded() {
        for (command, named) in [
            ("./check.sh --fast", vec!["check.sh"]),
            ("bash scripts/test.sh && echo ok", vec!["scripts/test.sh"]),
            ("python3 run_tests.py", vec!["run_tests.py"]),
            ("bash -euo pipefail check.sh", vec!["check.sh"]),
            ("sh -x ./check.sh", vec!["check.sh"]),
            ("bash -lc './check.sh --all'", vec!["check.sh"]),
            ("python3 -W ignore -B run_tests.py", vec!["run_tests.py"]),
            ("node --test --import ./setup.mjs test.js", vec!["test.js"]),
            ("perl -Ilib t/all.pl", vec!["t/all.pl"]),
            ("node -e 1", vec![]),
            ("cargo test", vec![]),
            ("python3 -m pytest -q", vec![]),
            ("/usr/bin/true", vec![]),
            ("sh ../outside.sh", vec![]),
            ("test -f done.txt", vec![]),
            ("CI=1 ./ci/run.sh | tee log.txt", vec!["ci/run.sh"]),
            ("node node_modules/.bin/jest", vec!["node_modules/.bin/jest"]),
        ] {
            assert_eq!(scripts(&goal(command)), named, "{command}");
        }
    }

    #[test]
    fn tests_are_counted_in_coloured_output() {
        let coloured = [
            (
                "pytest -q",
                "\x1b[32m.\x1b[0m\x1b[32m.\x1b[0m\x1b[33ms\x1b[0m\n\x1b[32m\x1b[32m\x1b[1m2 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m\x1b[32m in 0.01s\x1b[0m\x1b[0m\n",
                (2, 1),
            ),
            (
                "cargo test",
                "\nrunning 2 tests\ntest a ... \x1b[32mok\x1b(B\x1b[m\ntest b ... \x1b[33mignored\x1b(B\x1b[m\n\ntest result: \x1b[32mok\x1b(B\x1b[m. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
                (1, 1),
            ),
            (
                "node --test",
                "\x1b[32m✔ small \x1b[90m(0.5ms)\x1b[39m\x1b[39m\n\x1b[34mℹ tests 1\x1b[39m\n\x1b[34mℹ suites 0\x1b[39m\n\x1b[34mℹ pass 1\x1b[39m\n\x1b[34mℹ fail 0\x1b[39m\n\x1b[34mℹ cancelled 0\x1b[39m\n\x1b[34mℹ skipped 0\x1b[39m\n\x1b[34mℹ todo 0\x1b[39m\n\x1b[34mℹ duration_ms 5\x1b[39m",
                (1, 0),
            ),
            (
                "jest",
                "\x1b[0m\x1b[7m\x1b[1m\x1b[32m PASS \x1b[39m\x1b[22m\x1b[27m\x1b[0m \x1b[2m./\x1b[22m\x1b[1ma.test.js\x1b[22m\n\n\x1b[1mTest Suites: \x1b[22m\x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m, 1 total\n\x1b[1mTests:       \x1b[22m\x1b[1m\x1b[33m1 skipped\x1b[39m\x1b[22m, \x1b[1m\x1b[32m3 passed\x1b[39m\x1b[22m, 4 total\n\x1b[1mSnapshots:   \x1b[22m0 total\n\x1b[1mTime:\x1b[22m        0.5 s\n\x1b[2mRan all test suites\x1b[22m\x1b[2m.\x1b[22m\n",
                (3, 1),
            ),
        ];
        let runners = built_in();
        for (command, output, (passed, skipped)) in coloured {
            let mut reader = runners.reader(command);
            let mut plain = PlainText::new(KeptEscapes::Nothing);
            plain.feed(output.as_bytes(), |line| reader.line(line));
            plain.finish(|line| reader.line(line));
            let counts = reader.finish().expect(command).counts;
            assert_eq!((counts.passed, counts.skipped), (passed, skipped), "{command}");
        }
    }

    #[test]
    fn a_goal_guards_what_its_runner_says() {
        let runners = built_in();
        let of = |command: &str| rules(&runners, &[goal(command)], &[], &[], |_| true);
        assert!(of("cargo test").rust_blocks);
        let python = of("python3 -m unittest");
        assert!(!python.rust_blocks && python.shadows.iter().any(|name| name == "unittest.py"));
        // `make` may start any of the runners.
        assert!(of("make test").rust_blocks);
        assert_eq!(of("test -f done.txt"), GuardRules::default());
    }

    #[test]
    fn a_file_of_the_project_replaces_a_built_in_runner_and_its_mistakes_are_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cargo.toml"), "title = \"x\"\ncomand = []\n").unwrap();
        let mistakes = load(Some(dir.path().to_owned()), &Directory::default(), true).unwrap_err();
        assert_eq!(mistakes.len(), 1, "{mistakes:?}");
        assert!(
            mistakes[0].contains("cargo.toml") && mistakes[0].contains("comand"),
            "{}",
            mistakes[0]
        );
    }
}
