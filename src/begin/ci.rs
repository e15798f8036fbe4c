//! The commands of a project's CI.

use std::{collections::HashMap, env};

use ralph_gate::runner::Runners;
use ralph_text::is_part_of_word;
use yaml_rust2::{
    Yaml, YamlLoader,
    parser::{Event, MarkedEventReceiver, Parser},
    scanner::{Marker, TScalarStyle},
};

/// Keys whose values are commands.
const SCRIPTS: [&str; 5] = ["run", "script", "command", "commands", "test_script"];
/// Words that say what a command works on: tests.
pub(super) const TESTS: [&str; 6] = ["test", "tests", "spec", "specs", "unittest", "unittests"];
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

/// Names of the systems that a row of a matrix may be for.
const SYSTEMS: [&str; 2] = ["ubuntu", "linux"];

/// Some commands that run in order, in a directory below the project or at its top.
pub(super) struct Step {
    directory: Option<String>,
    commands: Vec<String>,
    /// The number of steps of its job before it, which may make what it tests.
    before: usize,
}

/// The values of a job's matrix in a row for this system.
type Row = HashMap<String, String>;

/// The steps in a file of a CI, whichever it is of: what its keys call scripts and commands.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let (mut steps, mut loader) = (Vec::new(), WithoutAliases(YamlLoader::default()));
    if Parser::new_from_str(text).load(&mut loader, true).is_ok() {
        let documents = loader.0.documents().iter();
        documents.for_each(|document| add(document, None, &mut steps));
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

fn add(yaml: &Yaml, row: Option<&Row>, steps: &mut Vec<Step>) {
    match yaml {
        Yaml::Array(items) => {
            let first = steps.len();
            for item in items {
                let at = steps.len();
                add(item, row, steps);
                if let [step] = &mut steps[at..] {
                    step.before = at - first;
                }
            }
        }
        Yaml::Hash(map) => {
            let own = row_for_linux(&yaml["strategy"]["matrix"]);
            let row = own.as_ref().or(row);
            for (key, value) in map {
                let commands = match key.as_str() {
                    Some(key) if SCRIPTS.contains(&key) => commands(value, row),
                    _ => Vec::new(),
                };
                match commands.is_empty() {
                    true => add(value, row, steps),
                    false => steps.push(Step {
                        directory: yaml["working-directory"].as_str().map(|path| filled(path, row)),
                        commands,
                        before: 0,
                    }),
                }
            }
        }
        _ => {}
    }
}

/// The values of a matrix of GitHub's for this system: of each list the first one, and those of the first row that is included.
fn row_for_linux(matrix: &Yaml) -> Option<Row> {
    let is_for_linux = |text: &str| SYSTEMS.iter().any(|system| text.contains(system));
    let of_linux = |values: &[Yaml]| -> Option<String> {
        let mut texts = values.iter().filter_map(text);
        let first = texts.clone().next();
        texts.find(|text| is_for_linux(text)).or(first)
    };
    let lists = matrix.as_hash()?.iter();
    let lists = lists.filter_map(|(name, values)| Some((name.as_str()?.to_owned(), of_linux(values.as_vec()?)?)));
    let mut row: Row = lists.collect();
    let texts = |included: &Yaml| -> Row {
        let values = included.as_hash().into_iter().flatten();
        let values = values.filter_map(|(name, value)| Some((name.as_str()?.to_owned(), text(value)?)));
        values.collect()
    };
    let mut included = matrix["include"].as_vec().into_iter().flatten().map(texts);
    let fits = |other: &Row| {
        let of_row = other.iter().any(|(name, value)| row.get(name) == Some(value));
        of_row || row.is_empty() && other.values().any(|value| is_for_linux(value))
    };
    row.extend(included.find(fits).unwrap_or_default());
    Some(row)
}

fn text(value: &Yaml) -> Option<String> {
    match value {
        Yaml::String(text) | Yaml::Real(text) => Some(text.clone()),
        Yaml::Integer(number) => Some(number.to_string()),
        Yaml::Boolean(is_set) => Some(is_set.to_string()),
        _ => None,
    }
}

/// A text with the values of its job's matrix, of which one that is not set is empty, as on GitHub.
fn filled(text: &str, row: Option<&Row>) -> String {
    let Some(row) = row else { return text.to_owned() };
    let mut parts = text.split("${{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.split_once("}}").and_then(|(name, rest)| {
            let value = row.get(name.trim().strip_prefix("matrix.")?);
            Some(value.cloned().unwrap_or_default() + rest)
        });
        filled += &value.unwrap_or_else(|| format!("${{{{{part}"));
    }
    filled
}

fn commands(script: &Yaml, row: Option<&Row>) -> Vec<String> {
    let texts = match script {
        Yaml::Array(items) => items.iter().filter_map(Yaml::as_str).collect(),
        one => Vec::from_iter(one.as_str()),
    };
    let texts = texts.iter().map(|text| filled(text, row).replace("\\\n", " "));
    let lines = texts.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("set -"))
        .collect()
}

/// The command lines of some steps that run tests.
pub(super) fn tests(steps: &[Step], runners: &Runners) -> impl Iterator<Item = String> {
    let each = steps.iter().enumerate();
    each.flat_map(move |(at, step)| step.tests(&steps[at - step.before..at], runners))
}

impl Step {
    /// Its commands at the top of the project, those that are joined apart. Commands with variables cannot be told.
    pub(super) fn plain(&self) -> impl Iterator<Item = &str> {
        let commands = self.commands.iter().filter(|_| self.directory.is_none());
        let commands = commands.flat_map(|line| line.split("&&")).map(str::trim);
        commands.filter(|command| !command.contains(['$', '{', '|', ';', '>']))
    }

    /// The command lines that run tests: the whole step if it can run here, alone and after `before`, or its lines that name
    /// tests. Those that cannot fail (`test || true`) are left out.
    fn tests(&self, before: &[Step], runners: &Runners) -> Vec<String> {
        let runs_tests = |line: &str| {
            let is_counted = runners.likely(line).iter().any(|runner| runner.counts_tests());
            (is_counted || has_test_word(line)) && !begins_with(line, &FOR_FILES)
        };
        let needed = self.needed();
        if needed.iter().any(|line| begins_with(line, &CONTROL)) || !needed.iter().any(|line| runs_tests(line)) {
            return Vec::new();
        }
        let Some(whole) = self.whole() else {
            let lines = needed
                .into_iter()
                .filter(|line| runs_tests(line) && self.is_plain(line));
            return lines.filter_map(|line| self.placed(line)).collect();
        };
        let parts: Vec<String> = before.iter().chain([self]).filter_map(Step::whole).collect();
        let mut found = vec![whole];
        if let [_, _, ..] = &parts[..] {
            let apart = parts.iter().map(|part| match part.starts_with("cd ") {
                true => format!("({part})"),
                false => part.clone(),
            });
            found.push(apart.collect::<Vec<_>>().join(" && "));
        }
        found
    }

    /// The commands that prepare no machine.
    fn needed(&self) -> Vec<&str> {
        let commands = self.commands.iter().map(String::as_str);
        commands.filter(|line| !has_word(line, &FOR_MACHINES)).collect()
    }

    /// All commands that prepare no machine as one; `None` without any, and if one cannot be told.
    fn whole(&self) -> Option<String> {
        let needed = self.needed();
        let can_run = |line: &&str| self.is_plain(line) && !begins_with(line, &CONTROL);
        let is_whole = !needed.is_empty() && needed.iter().all(can_run);
        is_whole.then(|| self.placed(&needed.join(" && ")))?
    }

    /// Returns a command in the directory of the step, unless only the CI knows that.
    fn placed(&self, command: &str) -> Option<String> {
        match &self.directory {
            Some(directory) => self.is_plain(directory).then(|| format!("cd {directory} && {command}")),
            None => Some(command.to_owned()),
        }
    }

    /// Whether a command can fail, and can be told without the CI: this machine or the step sets its variables.
    fn is_plain(&self, line: &str) -> bool {
        let sets = |command: &String, name: &str| {
            command
                .split_whitespace()
                .any(|word| word.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
        };
        let is_set =
            |name: &str| env::var_os(name).is_some() || self.commands.iter().any(|command| sets(command, name));
        !["${{", "||"].iter().any(|sign| line.contains(sign)) && variables(line).all(is_set)
    }
}

/// The names of the variables of a command, without those that have a default.
fn variables(line: &str) -> impl Iterator<Item = &str> {
    line.split('$').skip(1).filter_map(|part| {
        let name = match part.strip_prefix('{') {
            Some(part) => part.split('}').next()?,
            None => part.split(|sign| !is_part_of_word(sign)).next()?,
        };
        let is_name =
            name.starts_with(|sign: char| sign.is_alphabetic() || sign == '_') && name.chars().all(is_part_of_word);
        is_name.then_some(name)
    })
}

/// Whether a command names tests; options name them to build or to leave them out (`--enable-tests`).
fn has_test_word(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| match word.strip_prefix('-') {
        Some(option) => TESTS.contains(&option.trim_start_matches('-')),
        None => has_word(word, &TESTS),
    })
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

    fn found(text: &str) -> Vec<String> {
        let runners = crate::runners::load(None, &Directory::default(), true).unwrap();
        tests(&steps(text), &runners).collect()
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
            // Earlier steps build what tests, with the matrix's values for this system.
            (
                "jobs:\n  a:\n    strategy:\n      matrix:\n        os: [windows, ubuntu]\n        include:\n        - {os: windows, generator: -G x}\n        - {os: ubuntu, with: -j2}\n    steps:\n    - run: sudo apt install cmake\n    - run: cmake -B build ${{ matrix.generator }}\n      working-directory: lib\n    - run: cmake --build build ${{matrix.with}}\n      working-directory: lib\n    - run: ./tests\n      working-directory: lib/build\n",
                &[
                    "cd lib/build && ./tests",
                    "(cd lib && cmake -B build) && (cd lib && cmake --build build -j2) && (cd lib/build && ./tests)",
                ],
            ),
            (
                "jobs:\n  a:\n    strategy: {matrix: {version: [20, 18]}}\n    steps:\n    - run: node --test v${{ matrix.version }} ${{ github.sha }}\n    - run: node --test v${{ matrix.version }}\n    - run: make configure --enable-tests\n",
                &["node --test v20"],
            ),
            (
                "jobs:\n  a:\n    steps:\n    - {run: make all, working-directory: \"${{ github.workspace }}\"}\n    - run: make test\n",
                &["make test"],
            ),
            (
                "script: ['echo x >> \"${CI_FILE}\" && make test', 'make test ARGS=${ARGS:--v}', 'A=1 ctest $A $?', 'prove $CI_DIR/t']\n",
                &["make test ARGS=${ARGS:--v}", "A=1 ctest $A $?"],
            ),
            ("script: |\n  for dir in spec/*; do\n    rspec $dir\n  done\n", &[]),
            ("script: [sudo apt install test, make, echo tests]\n", &[]),
            ("script: [test -z x, git diff tests]\n", &[]),
            ("script: [\n", &[]),
            ("a: &a [ctest]\nscript: *a\nother: {script: prove}\n", &["prove"]),
            ("- 1\n- two\n", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
