//! The commands that test, lint and type-check a project in Python.

use super::project_root::{NO_PARTS, ProjectRoot};

pub(super) const PYPROJECT: &str = "pyproject.toml";
/// Files that make a directory a project, and say what it needs.
pub(super) const MANIFESTS: [&str; 6] = [
    PYPROJECT,
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "tox.ini",
    "Pipfile",
];
/// Files beside the manifests that may name pytest.
pub(super) const ALSO: [&str; 4] = [
    "requirements-dev.txt",
    "dev-requirements.txt",
    "test-requirements.txt",
    "noxfile.py",
];
pub(crate) const PYTEST: &str = "pytest";
/// The lock files of the managers of environments, each with what starts a command in it and what installs it.
const MANAGERS: [(&str, &str, &str); 4] = [
    ("uv.lock", "uv run ", "uv sync"),
    ("poetry.lock", "poetry run ", "poetry install"),
    ("pdm.lock", "pdm run ", "pdm install"),
    ("Pipfile.lock", "pipenv run ", "pipenv install"),
];
/// Levels at which files with tests are looked for, and the most that are read.
const LEVELS: usize = 3;
const TESTS_CAP: usize = 24;

/// Returns name, command and origin of each.
pub(super) fn commands(root: &ProjectRoot<'_>) -> Vec<(&'static str, String, String)> {
    let manifest = MANIFESTS.into_iter().find(|name| root.has(name));
    let mut tests = Vec::new();
    // Without a manifest, what is further down may belong to other projects.
    match manifest {
        Some(_) => add_tests(root, "", LEVELS, &mut tests),
        None => ["", "tests/", "test/"]
            .iter()
            .for_each(|below| add_tests(root, below, 0, &mut tests)),
    }
    if manifest.is_none() && tests.is_empty() {
        return Vec::new();
    }
    let from = manifest.map_or_else(|| tests[0].clone(), str::to_owned);
    let interpreter = Interpreter::of(root);
    let mut found = Vec::new();
    let mut add = |name, command: String, from: String| found.push((name, command, from));
    if let Some(command) = test_command(root, &tests, &interpreter) {
        add("tests", command, from.clone());
    }
    let project = root.text(PYPROJECT);
    if let Some((command, from)) = root.runs("ruff check") {
        add("lint", interpreter.tool(root, &command), from);
    } else if project.contains("[tool.ruff") || root.has("ruff.toml") || root.has(".ruff.toml") || root.hooks("ruff") {
        add("lint", interpreter.tool(root, "ruff check ."), from.clone());
    }
    let types = [
        &*project,
        &root.text("mypy.ini"),
        &root.text(".mypy.ini"),
        &root.text("setup.cfg"),
    ];
    let section = types.iter().find_map(|text| {
        let at = ["[tool.mypy]", "[mypy]"].iter().find_map(|title| text.find(title))?;
        text[at + 1..].split("\n[").next()
    });
    let names_files = section.is_some_and(|section| {
        let mut keys = section.lines().filter_map(|line| line.split_once('='));
        keys.any(|(key, _)| ["files", "packages", "modules"].contains(&key.trim()))
    });
    if names_files {
        add("types", interpreter.tool(root, "mypy"), from);
    } else if let Some((command, from)) = root.runs("mypy") {
        add("types", interpreter.tool(root, &command), from);
    } else if section.is_some() || root.hooks("mypy") {
        add("types", interpreter.tool(root, "mypy ."), from);
    }
    found
}

/// How programs of the project are started.
struct Interpreter {
    /// The manager that starts a command, with a space behind it; empty if there is none.
    run: &'static str,
    /// The virtual environment, which need not be activated.
    environment: Option<String>,
}

impl Interpreter {
    fn of(root: &ProjectRoot<'_>) -> Self {
        let environment = root.virtual_env();
        // A manager that is not installed starts nothing, and its environment may be there.
        let starts = |run: &str| environment.is_none() || which::which(run.split(' ').next().unwrap_or(run)).is_ok();
        let manager = MANAGERS
            .into_iter()
            .find(|(lock, run, _)| root.has(lock) && starts(run));
        Self {
            run: manager.map_or("", |(_, run, _)| run),
            environment: environment.filter(|_| manager.is_none()),
        }
    }

    /// A command that begins with a program of Python's.
    fn tool(&self, root: &ProjectRoot<'_>, command: &str) -> String {
        match self.run {
            "" => in_environment(root, self.environment.as_deref(), command),
            run => format!("{run}{command}"),
        }
    }

    fn module(&self, command: &str) -> String {
        match &self.environment {
            Some(path) => format!("{path}/bin/python -m {command}"),
            None if self.run.is_empty() => format!("python3 -m {command}"),
            None => format!("{}python -m {command}", self.run),
        }
    }
}

/// A command, with the program of the project's `environment` if there is one.
pub(super) fn in_environment(root: &ProjectRoot<'_>, environment: Option<&str>, command: &str) -> String {
    let program = command.split(' ').next().unwrap_or_default();
    match environment.filter(|path| root.has(&format!("{path}/bin/{program}"))) {
        Some(path) => format!("{path}/bin/{command}"),
        None => command.to_owned(),
    }
}

/// The command with which a manager of environments installs what a project needs; `None` for other programs.
pub(crate) fn installer(manager: &str) -> Option<&'static str> {
    let found = MANAGERS
        .into_iter()
        .find(|(_, run, _)| run.split(' ').next() == Some(manager));
    found.map(|(_, _, install)| install)
}

fn test_command(root: &ProjectRoot<'_>, tests: &[String], interpreter: &Interpreter) -> Option<String> {
    let texts: Vec<String> = tests.iter().map(|path| root.text(path)).collect();
    let names_pytest = MANIFESTS
        .iter()
        .chain(&ALSO)
        .any(|name| root.text(name).contains("pytest"));
    let is_of_pytest = |text: &String| {
        let mut lines = text.lines();
        lines.any(|line| {
            ["import pytest", "from pytest", "def test_", "async def test_"]
                .iter()
                .any(|start| line.starts_with(start))
        })
    };
    let has_pytest =
        names_pytest || root.has("conftest.py") || root.has("pytest.ini") || texts.iter().any(is_of_pytest);
    let is_of_unittest = texts
        .iter()
        .any(|text| text.contains("unittest") || text.contains("TestCase"));
    if !has_pytest && is_of_unittest {
        let directory = tests[0].rsplit_once('/').map(|(directory, _)| directory);
        let is_shared = |directory: &&str| {
            tests
                .iter()
                .all(|test| test.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/')))
        };
        let place = directory
            .filter(is_shared)
            .map(|directory| match top_of_package(root, directory) {
                Some(top) => format!(" -s {directory} -t {top}"),
                None => format!(" -s {directory}"),
            });
        let pattern = tests
            .iter()
            .all(|test| test.ends_with("_test.py"))
            .then_some(" -p '*_test.py'");
        let command = format!(
            "unittest discover{}{}",
            place.unwrap_or_default(),
            pattern.unwrap_or_default()
        );
        return Some(interpreter.module(&command));
    }
    let has_tests = !tests.is_empty()
        || ["tests", "test", "conftest.py", "pytest.ini"]
            .iter()
            .any(|name| root.has(name));
    (has_tests || names_pytest).then(|| match interpreter.run {
        "" => interpreter.module("pytest -q"),
        run => format!("{run}pytest -q"),
    })
}

/// The directory from which a package is imported; `None` if `directory` is no package. Its tests may import each other.
fn top_of_package<'a>(root: &ProjectRoot<'_>, directory: &'a str) -> Option<&'a str> {
    let is_package = |directory: &str| root.has(&format!("{directory}/__init__.py"));
    let mut top = is_package(directory).then_some(directory)?;
    while let Some((parent, _)) = top.rsplit_once('/') {
        top = parent;
        if !is_package(parent) {
            return Some(parent);
        }
    }
    Some(".")
}

/// Adds the files with tests below a directory that belong to this project.
fn add_tests(root: &ProjectRoot<'_>, below: &str, levels: usize, tests: &mut Vec<String>) {
    for (name, is_directory) in root.entries(below) {
        let path = format!("{below}{name}");
        let is_test = name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
        if !is_directory && is_test && tests.len() < TESTS_CAP {
            tests.push(path);
            continue;
        }
        let is_plain = is_directory && !name.starts_with('.') && !NO_PARTS.contains(&&*name);
        let is_own =
            || !root.is_made(&path) && !MANIFESTS.iter().any(|manifest| root.has(&format!("{path}/{manifest}")));
        if is_plain && levels > 0 && tests.len() < TESTS_CAP && is_own() {
            add_tests(root, &format!("{path}/"), levels - 1, tests);
        }
    }
}
