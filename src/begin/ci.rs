//! The commands of a project's CI.

use ralph_gate::runner::Runners;
use yaml_rust2::{
    Yaml, YamlLoader,
    parser::{Event, MarkedEventReceiver, Parser},
    scanner::{Marker, TScalarStyle},
};

/// Keys whose values are commands.
const SCRIPTS: [&str; 5] = ["run", "script", "command", "commands", "test_script"];
/// Words that say what a command works on: tests.
const TESTS: [&str; 6] = ["test", "tests", "spec", "specs", "unittest", "unittests"];
/// Words of commands that prepare a machine, or that others would notice.
const FOR_MACHINES: [&str; 17] = [
    "apk", "apt", "brew", "clone", "curl", "deploy", "docker", "download", "fetch", "get", "install", "login",
    "publish", "push", "sudo", "upload", "wget",
];
/// Programs that test nothing, with any arguments.
const FOR_FILES: [&str; 11] = [
    "cat", "cd", "cp", "echo", "export", "git", "ls", "mkdir", "mv", "rm", "test",
];
/// First words of lines that are parts of a longer command.
const CONTROL: [&str; 10] = ["if", "then", "else", "elif", "fi", "for", "while", "do", "done", "case"];

/// Some commands that run in order, in a directory below the project or at its top.
pub(super) struct Step {
    directory: Option<String>,
    commands: Vec<String>,
}

/// The steps in a file of a CI, whichever it is of: what its keys call scripts and commands.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut loader) = (Vec::new(), WithoutAliases(YamlLoader::default()));
    if Parser::new_from_str(text).load(&mut loader, true).is_ok() {
        let documents = loader.0.documents().iter();
        documents.for_each(|document| add(document, &mut steps));
    }
    steps
}

/// Loads nothing for an alias: a few lines of them could stand for more than fits into memory.
struct WithoutAliases(YamlLoader);

impl MarkedEventReceiver for WithoutAliases {
    fn on_event(&mut self, event: Event, at: Marker) {
        let event = match event {
            Event::Alias(_) => Event::Scalar(String::new(), TScalarStyle::Plain, 0, None),
            event => event,
        };
        self.0.on_event(event, at);
    }
}

fn add(yaml: &Yaml, steps: &mut Vec<Step>) {
    match yaml {
        Yaml::Array(items) => items.iter().for_each(|item| add(item, steps)),
        Yaml::Hash(map) => {
            for (key, value) in map {
                let commands = match key.as_str() {
                    Some(key) if SCRIPTS.contains(&key) => commands(value),
                    _ => Vec::new(),
                };
                match commands.is_empty() {
                    true => add(value, steps),
                    false => steps.push(Step {
                        directory: yaml["working-directory"].as_str().map(str::to_owned),
                        commands,
                    }),
                }
            }
        }
        _ => {}
    }
}

fn commands(script: &Yaml) -> Vec<String> {
    let texts = match script {
        Yaml::Array(items) => items.iter().filter_map(Yaml::as_str).collect(),
        one => Vec::from_iter(one.as_str()),
    };
    let texts = texts.iter().map(|text| text.replace("\\\n", " "));
    let lines = texts.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("set -"))
        .collect()
}

impl Step {
    /// Its commands at the top of the project, those that are joined apart. Commands with variables cannot be told.
    pub(super) fn plain(&self) -> impl Iterator<Item = &str> {
        let commands = self.commands.iter().filter(|_| self.directory.is_none());
        let commands = commands.flat_map(|line| line.split("&&")).map(str::trim);
        commands.filter(|command| !command.contains(['$', '{', '|', ';', '>']))
    }

    /// The command lines that run tests: the whole step if it can run here, or its lines that name tests. Those that cannot fail
    /// (`test || true`) are left out.
    pub(super) fn tests(&self, runners: &Runners) -> Vec<String> {
        let runs_tests = |line: &str| {
            let is_counted = runners.likely(line).iter().any(|runner| runner.counts_tests());
            (is_counted || has_word(line, &TESTS)) && !begins_with(line, &FOR_FILES)
        };
        let is_plain = |line: &&String| !line.contains("${{") && !line.contains("||");
        let needed: Vec<&String> = self
            .commands
            .iter()
            .filter(|line| !has_word(line, &FOR_MACHINES))
            .collect();
        if needed.iter().any(|line| begins_with(line, &CONTROL)) || !needed.iter().any(|line| runs_tests(line)) {
            return Vec::new();
        }
        let lines = match needed.iter().all(is_plain) {
            true => vec![needed.iter().map(|line| &line[..]).collect::<Vec<_>>().join(" && ")],
            false => {
                let lines = needed.into_iter().filter(|line| runs_tests(line) && is_plain(line));
                lines.cloned().collect()
            }
        };
        let placed = lines.into_iter().map(|line| match &self.directory {
            Some(directory) => format!("cd {directory} && {line}"),
            None => line,
        });
        placed.filter(|line| !line.contains("${{")).collect()
    }
}

fn begins_with(line: &str, words: &[&str]) -> bool {
    line.split_whitespace()
        .next()
        .is_some_and(|first| words.contains(&first))
}

fn has_word(line: &str, words: &[&str]) -> bool {
    let mut parts = line.split(|sign: char| !sign.is_alphanumeric());
    parts.any(|part| words.contains(&part))
}

#[cfg(test)]
mod tests {
    use ralph_system::files::Directory;

    use super::*;

    fn tests(text: &str) -> Vec<String> {
        let runners = crate::runners::load(None, &Directory::default(), true).unwrap();
        steps(text).iter().flat_map(|step| step.tests(&runners)).collect()
    }

    #[test]
    fn the_steps_that_test_are_found_in_each_kind_of_ci() {
        for (text, expected) in [
            (
                "jobs:\n  a:\n    steps:\n    - name: Install bats\n      run: git clone https://x/bats\n    - run: PATH=\"./bats:$PATH\" test/run\n",
                &["PATH=\"./bats:$PATH\" test/run"][..],
            ),
            (
                "jobs:\n  a:\n    steps:\n    - run: |\n        cd tests\n        # all\n        ./unittest.sh \\\n          -v\n        git diff --exit-code\n",
                &["cd tests && ./unittest.sh    -v && git diff --exit-code"],
            ),
            (
                "jobs:\n  a:\n    steps:\n    - {run: busted, working-directory: lua}\n",
                &["cd lua && busted"],
            ),
            (
                "install:\n- luarocks install busted\nscript:\n- luacheck src\n- busted -v\n",
                &["luacheck src && busted -v"],
            ),
            (
                "unit:\n  stage: test\n  before_script: [mix deps.get]\n  script: mix test\n",
                &["mix test"],
            ),
            (
                "jobs:\n  a:\n    steps:\n    - run: {name: Test, command: prove -l t}\n",
                &["prove -l t"],
            ),
            // Some lines of a step that needs more than this machine has.
            (
                "script:\n- export A=${{ matrix.a }}\n- ctest\n- phpunit test/Weak.php || true\n",
                &["ctest"],
            ),
            ("script: |\n  for dir in spec/*; do\n    rspec $dir\n  done\n", &[]),
            ("script: [sudo apt install test, make, echo tests]\n", &[]),
            ("script: [test -z x, git diff tests]\n", &[]),
            ("script: [\n", &[]),
            ("a: &a [ctest]\nscript: *a\nother: {script: prove}\n", &["prove"]),
            ("- 1\n- two\n", &[]),
        ] {
            assert_eq!(tests(text), expected, "{text}");
        }
    }
}
