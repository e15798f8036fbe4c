//! The scene of cheats in a project: its test files, the runners in use, and the scripts of goals.

use std::{collections::BTreeSet, path::Path};

use ralph_core::event::Goal;
use ralph_gate::{
    cheats::Scene,
    guard::{FileGuard, GuardError},
    runner::Runners,
};

use crate::runners;

use super::{ProjectCopy, breaks::ranked};

/// Most bytes of tests that are read to find the source files they mention.
const TESTS_BYTES: usize = 8 << 20;

/// The files of a project.
#[derive(Debug)]
pub(crate) struct ProjectFiles {
    /// The scene for cheats, before any work is broken.
    pub(crate) scene: Scene,
    /// The source files, those that the tests mention most first.
    pub(crate) ranked: Vec<String>,
}

/// Files whose lines start runners.
const STARTERS: [&str; 5] = ["Makefile", "makefile", "GNUmakefile", "justfile", "package.json"];

/// Examines the copy of a project. `store` is the directory for copies of guarded files.
///
/// # Errors
/// [`GuardError`] if the copy cannot be walked.
pub(crate) fn examine(
    copy: &ProjectCopy,
    files: &[String],
    goals: &[Goal],
    known: &Runners,
    guard: &[String],
    store: &Path,
) -> Result<ProjectFiles, GuardError> {
    let project = copy.project();
    // A test file counts even if the user excludes it from the guard.
    let rules = runners::rules(known, goals, guard, &[], |path| project.join(path).is_file());
    let originals = FileGuard::new(rules)?.take(&project, store)?;
    let scripts: Vec<String> = runners::scripts_of(goals)
        .filter(|path| copy.text(path).is_some())
        .collect();
    let (mut tests, mut blocks, mut said) = (Vec::new(), Vec::new(), String::new());
    for path in originals.test_files() {
        let Some(text) = copy.text(path) else { continue };
        if said.len() < TESTS_BYTES {
            said += &text;
        }
        match originals.is_source(path) {
            true => blocks.push(path.to_owned()),
            false => tests.push(path.to_owned()),
        }
    }
    let is_test = |path: &str| tests.iter().any(|test| test == path) || scripts.iter().any(|script| script == path);
    let ranked = ranked(files, is_test, &said);
    let mut directories: Vec<String> = goals
        .iter()
        .map(|goal| {
            goal.workspace
                .clone()
                .unwrap_or_default()
                .trim_end_matches('/')
                .to_owned()
        })
        .collect();
    directories.sort();
    directories.dedup();
    let scene = Scene {
        work: Vec::new(),
        runners: in_use(copy, goals, &scripts, &directories, known),
        reports: goals.iter().filter_map(|goal| goal.report.clone()).collect(),
        count: 0,
        tests,
        blocks,
        scripts,
        directories,
    };
    Ok(ProjectFiles { scene, ranked })
}

/// Returns the ids of the runners that the goals start, directly or through scripts.
fn in_use(
    copy: &ProjectCopy,
    goals: &[Goal],
    scripts: &[String],
    directories: &[String],
    known: &Runners,
) -> BTreeSet<String> {
    let mut in_use = BTreeSet::new();
    for goal in goals {
        in_use.extend(known.likely(&goal.command).into_iter().map(|runner| runner.id.clone()));
    }
    let starts_others = in_use
        .iter()
        .any(|id| known.get(id).is_some_and(|runner| !runner.counts_tests()));
    let starters = directories.iter().flat_map(|directory| {
        STARTERS.map(|name| match directory.is_empty() {
            true => name.to_owned(),
            false => format!("{directory}/{name}"),
        })
    });
    let starters = starters.filter(|_| starts_others);
    for text in starters
        .chain(scripts.iter().cloned())
        .filter_map(|path| copy.text(&path))
    {
        in_use.extend(
            text.lines()
                .flat_map(|line| known.likely(line))
                .map(|runner| runner.id.clone()),
        );
    }
    in_use
}
