//! Finds the commands that test, lint and build a project, from the files of its tools.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use ralph_gate::runner::{Runner, Runners};

use super::{
    ci,
    project_root::{FILES_CAP, NO_PARTS, ProjectRoot},
    python,
};

/// Levels below a project without commands at which parts of it are looked for, and the most parts that are found.
const PART_LEVELS: usize = 2;
const PARTS_CAP: usize = 8;
/// The most other commands that a suggestion has.
const OTHERS_CAP: usize = 3;
/// The name of the goal that runs the tests.
const TESTS: &str = "tests";
/// The origin of commands of the CI.
const CI: &str = "the CI";

/// A command that verifies work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandSuggestion {
    /// The name of the goal.
    pub(crate) name: String,
    pub(crate) command: String,
    /// The file that the command was found in.
    pub(crate) from: String,
    /// Commands that may do the same where this one fails.
    pub(crate) others: Vec<String>,
}

/// Finds the commands of a project, tests first: those of its tools, at its top or in its parts, and what its CI runs. Names are
/// unique.
pub(crate) fn suggestions(project: &Path, runners: &Runners) -> Vec<CommandSuggestion> {
    let root = ProjectRoot::new(project, "");
    let mut found = suggestions_at(&root, runners);
    let is_whole = !found.is_empty();
    if !is_whole {
        add_parts(project, "", PART_LEVELS, runners, &mut found);
        found.truncate(PARTS_CAP);
    }
    // Some directories are made by steps that prepare a machine.
    let can_begin = |command: &String| {
        let place = command.trim_start_matches('(').strip_prefix("cd ");
        place
            .and_then(|place| place.split(' ').next())
            .is_none_or(|place| root.has(place))
    };
    let mut seen = BTreeSet::new();
    let mut in_ci = ci::tests(root.ci(), runners).filter(|command| can_begin(command) && seen.insert(command.clone()));
    let has_parts = !is_whole && !found.is_empty();
    match found.iter_mut().find(|suggestion| suggestion.name == TESTS) {
        Some(tests) => {
            let others = in_ci.filter(|command| *command != tests.command);
            tests.others.extend(others.take(OTHERS_CAP));
            tests.others.truncate(OTHERS_CAP);
        }
        None if has_parts => {}
        None => {
            let tests = in_ci.next().map(|command| CommandSuggestion {
                name: TESTS.to_owned(),
                command,
                from: CI.to_owned(),
                others: in_ci.take(OTHERS_CAP).collect(),
            });
            found.splice(0..0, tests);
        }
    }
    found
}

/// The file or directory at the top of a project whose name says that tests are in it.
pub(crate) fn place_of_tests(project: &Path) -> Option<String> {
    let entries = ProjectRoot::new(project, "").entries("");
    let mut names = entries.into_iter().map(|(name, _)| name);
    names.find(|name| ci::TESTS.contains(&name.split('.').next().unwrap_or_default()))
}

/// Adds the tests of the projects in the directories at `relative`, named after their directories.
fn add_parts(project: &Path, relative: &str, levels: usize, runners: &Runners, found: &mut Vec<CommandSuggestion>) {
    let entries = fs::read_dir(project.join(relative)).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = directories.filter_map(|entry| entry.file_name().into_string().ok());
    let is_plain = |name: &String| {
        let mut letters = name.chars();
        let starts_well = letters.next().is_some_and(|first| first.is_ascii_alphanumeric());
        starts_well && letters.all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    };
    let mut names: Vec<String> = names
        .filter(|name| is_plain(name) && !NO_PARTS.contains(&&name[..]))
        .take(FILES_CAP)
        .collect();
    names.sort_unstable();
    for name in names {
        let path = format!("{relative}{name}");
        let tests = suggestions_at(&ProjectRoot::new(project, &path), runners)
            .into_iter()
            .next();
        match tests.filter(|tests| tests.name == TESTS) {
            Some(tests) => found.push(CommandSuggestion {
                name: path.replace('/', "-"),
                command: format!("cd {path} && {}", tests.command),
                from: tests.from,
                others: Vec::new(),
            }),
            None if levels > 1 => add_parts(project, &format!("{path}/"), levels - 1, runners, found),
            None => {}
        }
    }
}

fn suggestions_at(root: &ProjectRoot<'_>, runners: &Runners) -> Vec<CommandSuggestion> {
    let mut found = SuggestedCommands::default();
    for look in [cargo, node, of_python, go] {
        look(root, &mut found);
    }
    of_runners(root, runners, &mut found);
    // Makefiles and justfiles come last: they fill in only what the languages have not provided.
    tasks(root, &mut found);
    format(root, &mut found);
    found.suggestions
}

#[derive(Default)]
struct SuggestedCommands {
    suggestions: Vec<CommandSuggestion>,
    /// The number of suggestions by name.
    named: BTreeMap<String, usize>,
}

impl SuggestedCommands {
    fn add(&mut self, name: &str, command: impl Into<String>, from: impl Into<String>) {
        self.add_with(name, command, from, Vec::new());
    }

    fn add_with(&mut self, name: &str, command: impl Into<String>, from: impl Into<String>, others: Vec<String>) {
        let count = self.named.entry(name.to_owned()).or_default();
        *count += 1;
        let name = match *count {
            1 => name.to_owned(),
            more => format!("{name}-{more}"),
        };
        self.suggestions.push(CommandSuggestion {
            name,
            command: command.into(),
            from: from.into(),
            others,
        });
    }

    fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    fn first(&mut self, name: &str) -> Option<&mut CommandSuggestion> {
        let mut suggestions = self.suggestions.iter_mut();
        suggestions.find(|suggestion| suggestion.name == name)
    }
}

fn cargo(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    const FILE: &str = "Cargo.toml";
    if !root.has(FILE) {
        return;
    }
    let all = if root.text(FILE).contains("[workspace]") {
        " --workspace"
    } else {
        ""
    };
    found.add("tests", format!("cargo test{all}"), FILE);
    let is_configured = || {
        let lints = ["[lints.clippy", "[workspace.lints.clippy"]
            .iter()
            .any(|table| root.text(FILE).contains(table));
        lints || root.has("clippy.toml") || root.has(".clippy.toml")
    };
    if let Some((command, from)) = root.runs("cargo clippy") {
        found.add("lint", command, from);
    } else if is_configured() {
        found.add("lint", format!("cargo clippy{all} --all-targets"), FILE);
    }
}

fn of_python(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    for (name, command, from) in python::commands(root) {
        found.add(name, command, from);
    }
}

fn node(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    const FILE: &str = "package.json";
    let package = root.json(FILE);
    let run = match () {
        () if root.has("pnpm-lock.yaml") => "pnpm run",
        () if root.has("yarn.lock") => "yarn run",
        () if root.has("bun.lock") || root.has("bun.lockb") => "bun run",
        () => "npm run",
    };
    let script = |name: &str| package["scripts"][name].as_str().unwrap_or_default();
    let mut chosen = Vec::new();
    // The script that npm writes into a new package always fails.
    if !script("test").is_empty() && !script("test").contains("no test specified") {
        chosen.push(("tests", "test"));
    }
    for (goal, names) in [
        ("lint", &["lint"][..]),
        ("types", &["typecheck", "type-check", "types", "tsc"]),
        ("build", &["build"]),
    ] {
        let name = names.iter().find(|name| !script(name).is_empty());
        chosen.extend(name.map(|name| (goal, *name)));
    }
    let names = package["scripts"]
        .as_object()
        .into_iter()
        .flat_map(|scripts| scripts.keys());
    for name in names.map(String::as_str) {
        let is_run = root.ci_commands().any(|command| runs_script(command, name));
        let is_chosen = chosen.iter().any(|(_, chosen)| *chosen == name);
        if is_run && !is_chosen && only_looks(name, script(name)) && !runs_script(script(name), "test") {
            chosen.push((name, name));
        }
    }
    for (goal, name) in &chosen {
        let is_part = |other: &str| other != *name && runs_script(script(other), name);
        if !chosen.iter().any(|(_, other)| is_part(other)) {
            found.add(
                &goal.replace(|sign: char| !sign.is_ascii_alphanumeric(), "-"),
                format!("{run} {name}"),
                FILE,
            );
        }
    }
}

/// Whether a command runs the script `name` of a package.
fn runs_script(command: &str, name: &str) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    words.windows(2).any(|pair| pair == ["run", name])
        || words
            .windows(2)
            .any(|pair| ["npm", "pnpm", "yarn", "bun"].contains(&pair[0]) && pair[1] == name)
}

/// Whether a script checks the project, as its name or its command says. Other scripts of a CI may publish or deploy.
fn only_looks(name: &str, command: &str) -> bool {
    let words = [
        "check",
        "ci",
        "lint",
        "test",
        "tests",
        "types",
        "typecheck",
        "validate",
        "verify",
    ];
    let mut parts = name.split(|sign: char| !sign.is_ascii_alphanumeric());
    parts.any(|part| words.contains(&part)) || has_check_flag(command)
}

/// Whether a command is told to look and to write nothing.
fn has_check_flag(command: &str) -> bool {
    command
        .split_whitespace()
        .any(|word| word == "--check" || word == "--check-only")
}

/// Adds the command with which the CI checks how files are formatted.
fn format(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    let command = root.ci_commands().find(|command| has_check_flag(command));
    if let Some(command) = command.filter(|_| !found.has("format")) {
        let environment = root.virtual_env();
        found.add(
            "format",
            python::in_environment(root, environment.as_deref(), command),
            CI,
        );
    }
}

fn go(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    if root.has("go.mod") {
        found.add("tests", "go test -v ./...", "go.mod");
        for tool in ["golangci-lint run", "go vet"] {
            if let Some((command, from)) = root.runs(tool) {
                found.add("lint", command, from);
            }
        }
    }
}

/// Adds the tests of the first runner that knows how to start them in such a project.
fn of_runners(root: &ProjectRoot<'_>, runners: &Runners, found: &mut SuggestedCommands) {
    let start = |runner: &Runner| {
        let mut commands = runner.start.iter();
        commands.find_map(|start| {
            let files: Option<Vec<String>> = start.files.iter().map(|glob| root.find(glob)).collect();
            let first = files?.into_iter().next()?;
            start
                .is_said_by(&root.text(&first))
                .then(|| (start.command.clone(), first))
        })
    };
    let mut commands = runners.iter().filter_map(start);
    if let Some((command, from)) = commands.next() {
        let others = commands.map(|(command, _)| command).collect();
        found.add_with(TESTS, command, from, others);
    }
}

/// Targets of a Makefile and recipes of a justfile, for goals that no language has provided.
fn tasks(root: &ProjectRoot<'_>, found: &mut SuggestedCommands) {
    for (file, program) in [
        ("justfile", "just"),
        ("Justfile", "just"),
        ("Makefile", "make"),
        ("makefile", "make"),
    ] {
        let text = root.text(file);
        let has = |target: &str| {
            let is_rule = |line: &str| {
                // Recipes of just have parameters before the colon.
                let rest = line.strip_prefix(target).filter(|rest| rest.starts_with([':', ' ']));
                let rest = rest.and_then(|rest| rest.split_once(':'));
                rest.is_some_and(|(_, rest)| !rest.starts_with('='))
            };
            text.lines().any(is_rule)
        };
        for (goal, targets) in [(TESTS, &["test", "tests", "check"][..]), ("lint", &["lint"])] {
            let target = targets.iter().find(|target| has(target));
            match (target, found.first(goal)) {
                (Some(target), None) => found.add(goal, format!("{program} {target}"), file),
                (Some(target), Some(tests)) => tests.others.push(format!("{program} {target}")),
                (None, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_system::files::Directory;

    use super::*;

    fn runners() -> Runners {
        crate::runners::load(None, &Directory::default(), true).unwrap()
    }

    /// File names with their contents.
    type Files = [(&'static str, &'static str)];

    fn of(files: &Files) -> Vec<String> {
        let project = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = suggestions(project.path(), &runners());
        found
            .into_iter()
            .map(|found| format!("{}={}", found.name, found.command))
            .collect()
    }

    #[test]
    fn each_language_brings_its_commands() {
        let cases: &[(&Files, &[&str])] = &[
            (&[], &[]),
            (&[("Cargo.toml", "[package]")], &["tests=cargo test"]),
            (
                &[("Cargo.toml", "[workspace]\n[workspace.lints.clippy]\nall = \"deny\"\n")],
                &[
                    "tests=cargo test --workspace",
                    "lint=cargo clippy --workspace --all-targets",
                ],
            ),
            // Checks that the CI runs on pull requests have to pass, unless another command runs them already.
            (
                &[
                    (
                        "package.json",
                        r#"{ "scripts": { "test": "node --test", "test-ci": "nyc npm test", "lint": "eslint", "check": "npm run types:check && npm run lint",
                         "types:check": "tsc", "format": "oxfmt --check", "deploy": "wrangler deploy", "check-links": "lychee" } }"#,
                    ),
                    (
                        ".github/workflows/ci.yml",
                        "on: [push, pull_request]\njobs:\n  a:\n    steps:\n      - run: npm ci\n      - run: npm test\n      - run: npm run test-ci\n      \
                         - run: |\n          npm run check\n          npm run format && npm run deploy\n",
                    ),
                    (
                        ".github/workflows/links.yml",
                        "on: schedule\njobs:\n  a:\n    steps:\n      - run: npm run check-links\n",
                    ),
                ],
                &["tests=npm run test", "check=npm run check", "format=npm run format"],
            ),
            (
                &[
                    ("Cargo.toml", "[package]"),
                    (
                        ".github/workflows/ci.yml",
                        "on:\n  pull_request:\njobs:\n  a:\n    steps:\n      - run: cargo fmt -- --check\n",
                    ),
                ],
                &["tests=cargo test", "format=cargo fmt -- --check"],
            ),
            // Lints and types are those that the project runs itself.
            (
                &[
                    ("Cargo.toml", "[package]"),
                    (
                        ".github/workflows/ci.yml",
                        "jobs:\n  lint:\n    name: cargo clippy\n    steps:\n      - run: cargo clippy --tests -- -Dclippy::all\n",
                    ),
                ],
                &["tests=cargo test", "lint=cargo clippy --tests -- -Dclippy::all"],
            ),
            (
                &[
                    ("pyproject.toml", "[tool.mypy]\nfiles = [\"src\"]\n[tool.pytest]\n"),
                    (".pre-commit-config.yaml", "repos:\n  - hooks:\n      - id: ruff\n"),
                    ("tox.ini", "[testenv]\ncommands = mypy --strict src\n"),
                ],
                &["tests=python3 -m pytest -q", "lint=ruff check .", "types=mypy"],
            ),
            (
                &[
                    ("setup.py", "extras = [\"mypy\"]"),
                    ("requirements-dev.txt", "mypy\nruff\npytest\n"),
                    ("tox.ini", "commands =\n    mypy src\n"),
                ],
                &["tests=python3 -m pytest -q", "types=mypy src"],
            ),
            // Tests are where people have them.
            (
                &[
                    ("setup.py", ""),
                    ("inflect.py", ""),
                    ("test_inflect.py", "import pytest\n"),
                ],
                &["tests=python3 -m pytest -q"],
            ),
            (
                &[
                    ("requirements.txt", "flask\n"),
                    ("test_a.py", "def test_a():\n    pass\n"),
                ],
                &["tests=python3 -m pytest -q"],
            ),
            (
                &[("greet.py", ""), ("test_greet.py", "import unittest\n")],
                &["tests=python3 -m unittest discover"],
            ),
            (
                &[
                    ("pyproject.toml", "[project]\n"),
                    ("pkg/checks/a_test.py", "from django.test import TestCase\n"),
                ],
                &["tests=python3 -m unittest discover -s pkg/checks -p '*_test.py'"],
            ),
            (
                &[
                    ("setup.py", ""),
                    ("test_a.py", "def test_a(): pass\n"),
                    (".venv/pyvenv.cfg", ""),
                    (".venv/bin/python", ""),
                    (".venv/bin/mypy", ""),
                    (".venv/lib/x/test_b.py", ""),
                    ("mypy.ini", "[mypy]\n"),
                ],
                &["tests=.venv/bin/python -m pytest -q", "types=.venv/bin/mypy ."],
            ),
            (
                &[
                    ("env/pyvenv.cfg", ""),
                    ("env/bin/python", ""),
                    ("services/api/pyproject.toml", "[project]\n"),
                    ("services/api/test_a.py", "def test_a(): pass\n"),
                ],
                &["services-api=cd services/api && ../../env/bin/python -m pytest -q"],
            ),
            (
                &[("notes/a.py", ""), ("notes/deep/test_b.py", "import unittest\n")],
                &["notes-deep=cd notes/deep && python3 -m unittest discover"],
            ),
            (
                &[(
                    "package.json",
                    r#"{ "scripts": { "test": "vitest", "lint": "eslint .", "typecheck": "tsc", "build": "tsc -b" } }"#,
                )],
                &[
                    "tests=npm run test",
                    "lint=npm run lint",
                    "types=npm run typecheck",
                    "build=npm run build",
                ],
            ),
            (
                &[
                    ("package.json", r#"{ "scripts": { "test": "jest" } }"#),
                    ("pnpm-lock.yaml", ""),
                ],
                &["tests=pnpm run test"],
            ),
            (
                &[(
                    "package.json",
                    r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#,
                )],
                &[],
            ),
            (&[("package.json", "{ broken")], &[]),
            (
                &[
                    ("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n"),
                    ("tests/test_a.py", ""),
                    ("uv.lock", ""),
                ],
                &[
                    "tests=uv run pytest -q",
                    "lint=uv run ruff check .",
                    "types=uv run mypy .",
                ],
            ),
            (&[("setup.py", ""), ("tests/a.py", "")], &["tests=python3 -m pytest -q"]),
            (
                &[
                    ("pyproject.toml", "[project]\n"),
                    ("tests/test_a.py", "import unittest\n"),
                ],
                &["tests=python3 -m unittest discover -s tests"],
            ),
            (
                &[
                    ("pyproject.toml", "[project]\n"),
                    ("tests/__init__.py", ""),
                    ("tests/test_a.py", "import unittest\nfrom . import helper\n"),
                ],
                &["tests=python3 -m unittest discover -s tests -t ."],
            ),
            (
                &[
                    ("pyproject.toml", "[project]\n"),
                    ("src/pkg/__init__.py", ""),
                    ("src/pkg/tests/__init__.py", ""),
                    ("src/pkg/tests/test_a.py", "import unittest\n"),
                ],
                &["tests=python3 -m unittest discover -s src/pkg/tests -t src"],
            ),
            (&[("go.mod", "")], &["tests=go test -v ./..."]),
            (
                &[
                    ("go.mod", ""),
                    ("Makefile", "lint:\n\tgolangci-lint run ./...\nvet:\n\tgo vet ./...\n"),
                ],
                &[
                    "tests=go test -v ./...",
                    "lint=golangci-lint run ./...",
                    "lint-2=go vet ./...",
                ],
            ),
            (&[("build.gradle.kts", ""), ("gradlew", "")], &["tests=./gradlew test"]),
            (&[("pom.xml", "")], &["tests=mvn -q test"]),
            (&[("App.csproj", "")], &["tests=dotnet test"]),
            (&[("Gemfile", ""), ("spec/a_spec.rb", "")], &["tests=bundle exec rspec"]),
            (&[("mix.exs", "")], &["tests=mix test"]),
            (&[("spec/a_spec.lua", "")], &["tests=busted"]),
            (&[("test/a.bats", ""), ("Makefile", "install:\n")], &["tests=bats test"]),
            (&[("t/a.t", ""), ("dist.ini", "")], &["tests=prove -lr t"]),
            (&[("phpunit.xml.dist", ""), ("composer.json", "{}")], &["tests=phpunit"]),
            (
                &[("composer.json", "{\n  \"scripts\": {\n    \"test\": \"pest\"\n  }\n}\n")],
                &["tests=composer test"],
            ),
            (&[("CMakeLists.txt", "project(a)\n")], &[]),
            (&[("Gemfile", ""), ("Rakefile", "")], &["tests=bundle exec rake test"]),
            // Tests that only the CI names.
            (
                &[(
                    ".github/workflows/ci.yml",
                    "on: pull_request\njobs:\n  a:\n    steps:\n      - run: ./scripts/run-tests\n",
                )],
                &["tests=./scripts/run-tests"],
            ),
            (
                &[(
                    ".github/workflows/release.yml",
                    "on: release\njobs:\n  a:\n    steps:\n      - run: ./scripts/run-tests\n",
                )],
                &[],
            ),
            (
                &[("Makefile", "test: all\n\tcc a.c\nlint:\n\ttrue\n")],
                &["tests=make test", "lint=make lint"],
            ),
            (&[("Makefile", "test := 1\ntesting:\n")], &[]),
            (&[("justfile", "test *args:\n  cargo test\n")], &["tests=just test"]),
        ];
        for (files, expected) in cases {
            assert_eq!(of(files), *expected, "{files:?}");
        }
        // Only a manager that is installed can start anything.
        let files = [
            ("pyproject.toml", "[tool.pytest]\n"),
            ("tests/test_a.py", "def test_a(): pass\n"),
            ("pdm.lock", ""),
            (".venv/pyvenv.cfg", ""),
            (".venv/bin/python", ""),
        ];
        let expected = match which::which("pdm") {
            Ok(_) => "tests=pdm run pytest -q",
            Err(_) => "tests=.venv/bin/python -m pytest -q",
        };
        assert_eq!(of(&files), [expected]);
    }

    #[test]
    fn a_project_of_parts_has_the_tests_of_each() {
        let project = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("services/api/Cargo.toml", "[package]"),
            (
                "web/package.json",
                r#"{"scripts": {"test": "vitest", "lint": "eslint"}}"#,
            ),
            ("web/node_modules/left/package.json", r#"{"scripts": {"test": "tap"}}"#),
            ("docs/package.json", r#"{"scripts": {"lint": "markdownlint"}}"#),
            ("a b/Cargo.toml", "[package]"),
            ("one/two/three/go.mod", "module three"),
        ] {
            let path = project.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = suggestions(project.path(), &runners());
        let found: Vec<_> = found.iter().map(|found| (&*found.name, &*found.command)).collect();
        assert_eq!(
            found,
            [
                ("services-api", "cd services/api && cargo test"),
                ("web", "cd web && npm run test")
            ]
        );
    }

    #[test]
    fn two_languages_have_goals_of_different_names_and_a_makefile_fills_gaps_only() {
        let found = of(&[
            ("go.mod", ""),
            ("package.json", r#"{ "scripts": { "test": "vitest" } }"#),
            ("Makefile", "test:\nlint:\n"),
        ]);
        assert_eq!(
            found,
            ["tests=npm run test", "tests-2=go test -v ./...", "lint=make lint"]
        );
    }
}
