//! Runs the goals that `ralph init` offers, once each. Goals that pass are written. A goal that fails now is written only if
//! the user says so: one that no work can reach would keep each run from its end.

use std::{mem, path::Path};

use ralph_core::event::{Exit, Goal, GoalFailure, GoalResult};
use ralph_system::{files::read_text, proc::Supervisor, sandbox::denials::denied_paths};
use ralph_text::{console::complain, one_line};
use ralph_words::{counted, error_line, goal_in_words, short_duration};

use crate::{
    app::{self, ProjectPlace},
    begin::{CommandSuggestion, pip, python},
    config::{self, Loaded},
    error::{Failure, FailureKind},
};

use super::{args::Args, confirm::answer, goals, run::sources};

/// Timeout of a goal that names none.
const TIMEOUT_MS: u64 = 15 * 60_000;
/// Most bytes of the list of submodules.
const MODULES_CAP: u64 = 1 << 20;
/// The exit code of a shell that does not find a program.
const NO_PROGRAM: i32 = 127;
/// Gives a command a home directory of its own.
const OWN_HOME: &str = "export HOME=\"$(mktemp -d)\"";
/// The origin of a goal that the user named.
pub(super) const NAMED: &str = "--goal";

/// The goals to write.
#[derive(Debug, Default)]
pub(super) struct ProvenGoals {
    pub(super) goals: Vec<CommandSuggestion>,
    /// Whether tests that fail now may fail later, too.
    pub(super) forgives: bool,
}

/// Runs each goal once. If `asks`, the user decides about those that fail.
///
/// # Errors
/// A [`Failure`] if goals cannot be run at all, or an answer cannot be read.
pub(super) fn prove(
    args: &Args,
    place: &ProjectPlace,
    found: Vec<CommandSuggestion>,
    asks: bool,
    supervisor: &Supervisor,
) -> Result<ProvenGoals, Failure> {
    let mut loaded = config::load(&sources(args, place))?;
    let runners = app::runners(place, true)?;
    let mut proven = ProvenGoals::default();
    let (mut failing, mut not_installed) = (Vec::new(), Vec::new());
    for mut goal in found {
        let mut result = run(place, &mut loaded, &goal, supervisor)?;
        let packages = runners.installs_missing(&goal.command, &result.tail);
        let missing = match packages.filter(|_| !ran_tests(&result)) {
            Some(installs) => Some(format!("packages are not installed; `{installs}` installs them")),
            None => {
                missing_program(&place.project, &goal, &result).map(|program| install(&place.project, &goal, &program))
            }
        };
        complain(&match &missing {
            Some(missing) if goal.from == NAMED => format!("✖ {}: kept, but {missing}", goal.name),
            Some(missing) => format!("✖ {}: skipped, since {missing}", goal.name),
            None => told(&goal, &result),
        });
        let own_home = makes_names_in_home(&result).then(|| format!("{OWN_HOME} && {}", goal.command));
        let activated = activated(&place.project, &goal.command, &result.tail).filter(|_| !result.passed);
        let mut others = mem::take(&mut goal.others);
        others.retain(|_| !ran_tests(&result));
        let others = own_home.into_iter().chain(activated).chain(others);
        let is_tried = goal.from != NAMED && missing.is_none();
        for command in others.filter(|_| is_tried) {
            let other = CommandSuggestion {
                command,
                ..goal.clone()
            };
            let tried = run(place, &mut loaded, &other, supervisor)?;
            complain(&told(&other, &tried));
            if tried.passed {
                (goal, result) = (other, tried);
                break;
            }
        }
        match missing {
            _ if result.passed || goal.from == NAMED => proven.goals.push(goal),
            Some(_) => not_installed.push(goal),
            None => failing.push((goal, result)),
        }
    }
    if let Some(path) = empty_submodule(&place.project).filter(|_| !failing.is_empty()) {
        complain(&format!(
            "note: the submodule {path} is empty; `git submodule update --init --recursive` fetches it"
        ));
    }
    let mut left_out = Vec::new();
    for (goal, result) in failing {
        let answer = if asks {
            decided(&goal, &result)?
        } else {
            RedGoal::LeftOut
        };
        match answer {
            RedGoal::LeftOut => left_out.push(goal),
            RedGoal::Kept => proven.goals.push(goal),
            RedGoal::Forgiven => {
                proven.forgives = true;
                proven.goals.push(goal);
            }
        }
    }
    // Settings that are there are never written again.
    if proven.goals.is_empty() && !not_installed.is_empty() {
        complain("note: once that is installed, `ralph init` adds these goals");
        not_installed.clear();
    }
    for (goals, when) in [
        (not_installed, "once that is installed"),
        (left_out, "left out, since it fails now"),
    ] {
        for goal in goals {
            complain(&format!("note: {}: {when}, `{}` adds it", goal.name, adds(&goal)));
        }
    }
    if proven.goals.is_empty() {
        complain("note: no goal is left, so its runs will end unverified");
    }
    Ok(proven)
}

/// The command that adds a goal later.
pub(super) fn adds(goal: &CommandSuggestion) -> String {
    goals::add_command(&goal.name, &goal.command)
}

/// The decision about a goal that fails now.
enum RedGoal {
    LeftOut,
    /// The agent has to make it pass.
    Kept,
    /// The tests that fail now may fail.
    Forgiven,
}

fn decided(goal: &CommandSuggestion, result: &GoalResult) -> Result<RedGoal, Failure> {
    let failed = result.tests.as_ref().map_or(0, |tests| u64::from(tests.failed));
    let are_named = failed > 0 && u64::try_from(result.failed_tests.len()) == Ok(failed);
    let others = result.tests.as_ref().is_some_and(|tests| tests.passed > 0);
    // Only tests that their runner names can be told from others.
    let question = match are_named && others {
        true => format!(
            "{} fails now. Keep it as a goal? y: the agent has to fix it; f: {} may fail as now [y/f/N] ",
            goal.name,
            counted(failed, "test")
        ),
        false => format!(
            "{} fails now. Keep it as a goal, which the agent has to fix? [y/N] ",
            goal.name
        ),
    };
    let answer = answer(&question)?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => RedGoal::Kept,
        "f" if are_named && others => RedGoal::Forgiven,
        _ => RedGoal::LeftOut,
    })
}

fn run(
    place: &ProjectPlace,
    loaded: &mut Loaded,
    goal: &CommandSuggestion,
    supervisor: &Supervisor,
) -> Result<GoalResult, Failure> {
    complain(&format!("running {} …", goal.command));
    loaded.config.goals.enabled = vec![Goal {
        name: goal.name.clone(),
        command: goal.command.clone(),
        target: None,
        timeout_ms: TIMEOUT_MS,
        on_edit: false,
        ..Goal::default()
    }];
    let mut results = app::check_goals(place, loaded, None, None, supervisor)?;
    results
        .pop()
        .ok_or_else(|| Failure::new(FailureKind::Failed, format!("`{}` was not run", goal.command)))
}

/// The first submodule that a clone did not fetch.
fn empty_submodule(project: &Path) -> Option<String> {
    let modules = read_text(&project.join(".gitmodules"), MODULES_CAP).ok()?;
    let values = modules.lines().filter_map(|line| line.split_once('='));
    let mut paths = values
        .filter(|(key, _)| key.trim() == "path")
        .map(|(_, path)| path.trim());
    let is_empty = |path: &&str| {
        project
            .join(path)
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_none())
    };
    paths.find(is_empty).map(one_line)
}

/// Whether a goal failed at a new name in the user's home directory. No setting allows such a name if it is another one each time.
fn makes_names_in_home(result: &GoalResult) -> bool {
    let home = dirs::home_dir();
    let is_new = |path: &str| {
        let path = Path::new(path);
        home.as_deref() == path.parent() && !path.exists()
    };
    !result.passed && denied_paths(&result.tail).any(is_new)
}

/// The command with the programs of its virtual environment in reach, if one of these was missing.
fn activated(project: &Path, command: &str, said: &str) -> Option<String> {
    let (environment, module) = command.split_once("/bin/python -m ")?;
    let programs = project.join(environment).join("bin").read_dir().ok()?.flatten();
    let is_missed = |name: &str| said.contains(&format!("No such file or directory: '{name}'"));
    let mut names = programs.filter_map(|entry| entry.file_name().into_string().ok());
    let is_missed = names.any(|name| is_missed(&name));
    is_missed.then(|| format!("export PATH=\"$PWD/{environment}/bin:$PATH\" && python -m {module}"))
}

/// Whether the command of a goal runs tests, some of which pass.
fn ran_tests(result: &GoalResult) -> bool {
    result.passed || result.tests.as_ref().is_some_and(|tests| tests.passed > 0)
}

/// The missing program, if that is why the check failed; its result says nothing about the project then.
fn missing_program(project: &Path, goal: &CommandSuggestion, result: &GoalResult) -> Option<String> {
    if ran_tests(result) {
        return None;
    }
    if let Some(module) = missing_module(&result.tail)
        && pip::brought_by(project, module).is_some()
    {
        return Some(module.to_owned());
    }
    let is_missing = matches!(
        &result.why,
        Some(GoalFailure::Exited {
            exit: Exit::Code { code: NO_PROGRAM }
        })
    );
    let first = goal.command.split_whitespace().next().unwrap_or_default();
    // Managers of packages and scripts end with codes of their own.
    let program = not_found(&result.tail).or(is_missing.then_some(first));
    program.map(str::to_owned)
}

/// The module that Python reports as missing: `No module named pytest`, `No module named 'click'`.
fn missing_module(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("No module named ")?;
    let rest = rest.trim_start_matches(['\'', '"']);
    let name = rest.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next()?;
    Some(name).filter(|name| !name.is_empty())
}

/// The program that a shell reports as not found, behind its own name or the number of a line: `sh: 1: eslint: not found`,
/// `bash: eslint: command not found`, `/home/me/test.sh: line 3: redis-server: command not found`; or another program that starts
/// those which the path has: `make: dune: No such file or directory`, `/usr/bin/env: 'node': No such file or directory`.
fn not_found(said: &str) -> Option<&str> {
    said.lines().rev().find_map(|line| {
        if let Some(before) = line.trim_end().strip_suffix(": No such file or directory") {
            let (place, program) = before.rsplit_once(": ")?;
            let starter = place.rsplit('/').next()?.split('[').next()?;
            let program = program.trim_matches(['\'', '‘', '’']);
            return Some(program).filter(|program| ["make", "gmake", "env"].contains(&starter) && is_program(program));
        }
        let before = line.trim_end().strip_suffix("not found")?.trim_end();
        let before = before.strip_suffix("command").unwrap_or(before).trim_end();
        let mut parts = before.strip_suffix(':')?.rsplit(": ");
        let (program, place) = (parts.next()?, parts.next()?);
        let number = place.strip_prefix("line ").unwrap_or(place);
        let is_line = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_shell = place.rsplit('/').next().is_some_and(|name| name.ends_with("sh"));
        Some(program).filter(|program| (is_line || is_shell) && is_program(program))
    })
}

/// Whether a name can be one of a program that the path has.
fn is_program(name: &str) -> bool {
    !name.is_empty() && !name.contains([' ', '/'])
}

fn install(project: &Path, goal: &CommandSuggestion, program: &str) -> String {
    // `cd web && npm run test` tests a part of the project.
    let (part, command) = goal.command.split_once(" && ").unwrap_or(("", &goal.command));
    let part = part.strip_prefix("cd ").unwrap_or_default();
    let has_modules = project.join(part).join("node_modules").exists();
    let manager = command.split_whitespace().next().unwrap_or_default();
    let installer = python::installer(manager).filter(|_| program != manager);
    let how = match (&*goal.from, program) {
        ("package.json", _) if !has_modules && program != manager => match part {
            "" => format!("`{manager} install` installs it"),
            part => format!("`{manager} install` in {part} installs it"),
        },
        _ if let Some(installer) = installer => format!("`{installer}` installs it"),
        (_, module) if command.contains(" -m ") => {
            let what = pip::brought_by(project, module).unwrap_or_else(|| module.to_owned());
            format!("`{}` installs it", pip::install_command(project, manager, &what))
        }
        _ => "install it first".to_owned(),
    };
    format!("`{program}` is not installed; {how}")
}

fn told(goal: &CommandSuggestion, result: &GoalResult) -> String {
    if result.passed {
        return format!("✔ {} passed in {}", goal.name, short_duration(result.duration_ms));
    }
    let error = error_line(&result.tail).map(|line| format!(": {}", one_line(&line)));
    format!("✖ {}{}", goal_in_words(result), error.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_is_missing_is_named_as_the_shell_names_it() {
        for (said, program) in [
            ("> lint\n> eslint .\n\nsh: 1: eslint: not found\n", Some("eslint")),
            (
                "bash: line 1: golangci-lint: command not found\n",
                Some("golangci-lint"),
            ),
            ("/bin/sh: ruff: not found", Some("ruff")),
            ("./test.sh: 17: redis-server: not found\nFAILED", Some("redis-server")),
            (
                "make: dune: No such file or directory\nmake: *** [Makefile:19: test] Error 127",
                Some("dune"),
            ),
            ("make[1]: dune: No such file or directory", Some("dune")),
            ("/usr/bin/env: ‘node’: No such file or directory", Some("node")),
            ("cat: notes: No such file or directory", None),
            ("make: ./a/b: No such file or directory", None),
            ("404 page not found", None),
            ("GET /a: not found", None),
            ("it failed", None),
        ] {
            assert_eq!(not_found(said), program, "{said}");
        }
    }

    #[test]
    fn tests_that_start_programs_of_their_environment_find_them() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join(".venv/bin")).unwrap();
        std::fs::write(project.path().join(".venv/bin/dotenv"), "").unwrap();
        let command = ".venv/bin/python -m pytest -q";
        for (said, expected) in [
            (
                "E  FileNotFoundError: [Errno 2] No such file or directory: 'dotenv'\n",
                Some("export PATH=\"$PWD/.venv/bin:$PATH\" && python -m pytest -q"),
            ),
            (
                "E  FileNotFoundError: [Errno 2] No such file or directory: 'a.txt'\n",
                None,
            ),
        ] {
            assert_eq!(activated(project.path(), command, said).as_deref(), expected, "{said}");
            assert_eq!(activated(project.path(), "pytest -q", said), None);
        }
    }

    #[test]
    fn the_module_that_is_missing_is_named_as_python_names_it() {
        for (said, module) in [
            ("E   ModuleNotFoundError: No module named 'click'\n", Some("click")),
            ("ModuleNotFoundError: No module named 'attrs.filters'", Some("attrs")),
            ("/usr/bin/python3: No module named pytest", Some("pytest")),
            ("1 passed", None),
        ] {
            assert_eq!(missing_module(said), module, "{said}");
        }
    }
}
