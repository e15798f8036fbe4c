//! Small changes of tests and work, each tried alone.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use ralph_core::event::{Goal, MutantOutcome, TriedMutant};
use ralph_gate::{
    guard::Originals,
    mutants::{Mutation, MutationKind, has_mutants, test_mutants, work_mutants},
};
use ralph_system::files::read_bytes;
use ralph_text::{is_part_of_word, whole_words};

use super::{
    super::goals::{CheckedGoal, ExecutionContext, all_passed, check_all},
    in_place::{InPlace, substituted},
    without_work::ChangedLines,
};

/// Maximum number of altered expectations among the mutants. They are tried first.
pub(super) const EXPECTATIONS: usize = 3;
/// Maximum number of source files searched for mutants.
pub(super) const FILES: usize = 60;
/// Maximum number of lines between the start of a test and its expectation.
const LINES_OF_A_TEST: usize = 60;
/// Longer files are not mutated.
pub(super) const FILE_BYTES: u64 = 1 << 20;

/// Runs goals with altered files, which are restored after each run.
pub(super) struct AlteredRuns {
    /// `None` once files could not be altered or restored: dropping it restored all of them, and nothing runs any more.
    pub(super) held: Option<InPlace>,
    pub(super) goals: Vec<Goal>,
    pub(super) parallel: bool,
    pub(super) place: Arc<ExecutionContext>,
}

/// A file and its altered content.
pub(super) struct AlteredFile {
    pub(super) path: String,
    pub(super) before: Vec<u8>,
    pub(super) altered: Vec<u8>,
}

impl AlteredRuns {
    pub(super) async fn run(&mut self, files: Vec<AlteredFile>) -> Option<Vec<CheckedGoal>> {
        let mut held = self.held.take()?;
        for file in &files {
            held = substituted(held, file.path.clone(), file.altered.clone()).await?;
        }
        let results = check_all(self.goals.clone(), self.parallel, Arc::clone(&self.place)).await;
        for file in files {
            held = substituted(held, file.path, file.before).await?;
        }
        self.held = Some(held);
        Some(results)
    }
}

/// Tries `candidates` one after the other, each alone, until `at_most` have a verdict.
pub(super) async fn bite(
    runs: &mut AlteredRuns,
    candidates: Vec<Candidate>,
    at_most: usize,
    until: Instant,
) -> Vec<TriedMutant> {
    let mut tried = Vec::new();
    let mut verdicts = 0;
    for Candidate { mutation, before } in candidates {
        if verdicts >= at_most || Instant::now() >= until {
            break;
        }
        let file = AlteredFile {
            path: mutation.mutant.path.to_string(),
            before,
            altered: mutation.text.into_bytes(),
        };
        let Some(results) = runs.run(vec![file]).await else {
            break;
        };
        let outcome = outcome(&results);
        verdicts += usize::from(outcome != MutantOutcome::NoVerdict);
        tried.push(TriedMutant {
            mutant: mutation.mutant,
            outcome,
        });
    }
    tried
}

pub(super) fn outcome(results: &[CheckedGoal]) -> MutantOutcome {
    if all_passed(results) {
        return MutantOutcome::Missed;
    }
    let has_failed = |checked: &CheckedGoal| checked.result.tests.as_ref().is_some_and(|tests| tests.failed > 0);
    match results.iter().any(has_failed) {
        true => MutantOutcome::Noticed,
        false => MutantOutcome::NoVerdict,
    }
}

/// A mutant, with the original content of its file.
pub(super) struct Candidate {
    mutation: Mutation,
    before: Vec<u8>,
}

/// Evidence of which tests run: a goal may run only some of the project's tests.
pub(super) struct Reached {
    /// Names of passed tests that are one word, without their modules: `adds` for `tests::adds`.
    names: HashSet<String>,
    /// Names of passed tests that are more than one word.
    odd_names: Vec<String>,
    /// The words of the goals' commands, without quotes and slashes at their ends.
    words: Vec<String>,
    /// The ends of the goals' outputs.
    tails: Vec<String>,
    /// The directory of the project's Python files that goals compiled.
    compiled: PathBuf,
}

impl Reached {
    pub(super) fn by(goals: &[Goal], checked: &[CheckedGoal], compiled: PathBuf) -> Self {
        let reports = checked.iter().filter_map(|checked| checked.report.as_ref());
        let name = |id: &String| {
            let end = id.rsplit([':', '.', ' ', '/']).next().unwrap_or(id);
            end.split(['[', '(']).next().unwrap_or(end).to_owned()
        };
        let names = reports.flat_map(|report| &report.passed).map(name);
        let words = goals.iter().flat_map(|goal| goal.command.split_whitespace());
        let words = words.map(|word| word.trim_matches(['"', '\'']).trim_end_matches('/').to_owned());
        let (names, odd_names): (Vec<_>, Vec<_>) = names
            .filter(|name| !name.is_empty())
            .partition(|name| name.chars().all(is_part_of_word));
        Self {
            names: names.into_iter().collect(),
            odd_names,
            words: words.collect(),
            tails: checked.iter().map(|checked| checked.output.clone()).collect(),
            compiled,
        }
    }

    /// Whether the tests of a file run: a command names it or a directory of it, it was printed, or Python compiled it.
    fn has_file(&self, path: &str) -> bool {
        let mut paths = Path::new(path).ancestors().filter_map(Path::to_str);
        let is_named = paths.any(|path| !path.is_empty() && self.words.iter().any(|word| word == path));
        is_named || self.tails.iter().any(|tail| contains_word(tail, path)) || self.has_compiled(path)
    }

    fn has_compiled(&self, path: &str) -> bool {
        let source = Path::new(path);
        let (Some(stem), Some(parent)) = (source.file_stem().and_then(|stem| stem.to_str()), source.parent()) else {
            return false;
        };
        let Ok(entries) = std::fs::read_dir(self.compiled.join(parent)) else {
            return false;
        };
        let starts = format!("{stem}.");
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(&starts))
    }

    /// For each line of a file, whether it has the name of a test that is known to have run.
    fn lines_with_tests(&self, text: &str) -> Vec<bool> {
        let has_name = |line: &str| {
            let mut words = line.split(|c| !is_part_of_word(c));
            words.any(|word| self.names.contains(word)) || self.odd_names.iter().any(|name| contains_word(line, name))
        };
        text.lines().map(has_name).collect()
    }
}

/// Returns mutants of expectations. Tests that are known to run come first, altered literals come before negated assertions,
/// and each file has one before any has a second. New tests come after older ones.
///
/// The files are read with the originals in place.
pub(super) fn expectations(originals: &Originals, project: &Path, reached: &Reached) -> Vec<Candidate> {
    let new = originals.new_tests(project).unwrap_or_default();
    let known = originals.test_files().map(|path| (false, path));
    let all = known.chain(new.iter().map(|path| (true, path.as_str())));
    let mut files: Vec<(bool, bool, &str)> = all
        .filter(|(_, path)| has_mutants(path))
        .map(|(is_new, path)| (!reached.has_file(path), is_new, path))
        .collect();
    files.sort_unstable();
    let mut ranked = Vec::new();
    for (is_unknown, is_new, path) in files.into_iter().take(FILES) {
        let Ok(before) = read_bytes(&project.join(path), FILE_BYTES) else {
            continue;
        };
        let Ok(text) = std::str::from_utf8(&before) else {
            continue;
        };
        let with_tests = reached.lines_with_tests(text);
        let mutations = test_mutants(path, text, text.len() as u64).into_iter().map(|mutation| {
            let above = with_tests.iter().take(mutation.mutant.line as usize);
            let runs = above.rev().take(LINES_OF_A_TEST).any(|has_test| *has_test);
            let is_negation = mutation.kind != MutationKind::Literal;
            ((is_unknown && !runs, is_new, is_negation, !runs), mutation)
        });
        let mut of_file: Vec<_> = mutations.collect();
        of_file.sort_by_key(|(rank, _)| *rank);
        let best = of_file.into_iter().take(EXPECTATIONS * 2).enumerate();
        ranked.extend(best.map(|(nth, (rank, mutation))| {
            let before = before.clone();
            ((rank, nth), Candidate { mutation, before })
        }));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

pub(super) fn contains_word(line: &str, word: &str) -> bool {
    whole_words(line, word).next().is_some()
}

/// Returns mutants of lines that the run changed. Each file has one before any has a second.
pub(super) fn work(project: &Path, changed: ChangedLines) -> Vec<Candidate> {
    let mut ranked = Vec::new();
    for (path, lines) in changed.into_iter().take(FILES) {
        let full = project.join(&path);
        let Ok(before) = read_bytes(&full, FILE_BYTES) else {
            continue;
        };
        let Ok(text) = std::str::from_utf8(&before) else {
            continue;
        };
        let mutations = work_mutants(&path, text, &lines, text.len() as u64);
        ranked.extend(mutations.into_iter().enumerate().map(|(nth, mutation)| {
            let before = before.clone();
            (nth, Candidate { mutation, before })
        }));
    }
    ranked.sort_by_key(|(nth, _)| *nth);
    ranked.into_iter().map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use ralph_gate::guard::FileGuard;

    use super::*;

    fn goal(command: &str) -> Goal {
        Goal {
            command: command.to_owned(),
            ..Goal::default()
        }
    }

    #[test]
    fn expectations_of_tests_that_run_are_altered_first() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        for (path, expected) in [("tests/old/test_a.py", 1), ("tests/unit/test_b.py", 2)] {
            let path = project.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!("from x import f\n\n\ndef test_it():\n    assert f() == {expected}\n");
            std::fs::write(path, text).unwrap();
        }
        let rules = ralph_gate::guard::GuardRules {
            tests: vec!["tests/**".to_owned()],
            ..ralph_gate::guard::GuardRules::default()
        };
        let originals = FileGuard::new(rules).unwrap();
        let originals = originals.take(&project, &dir.path().join("store")).unwrap();
        // New tests come after older ones.
        let new = project.join("tests/new/test_c.py");
        std::fs::create_dir_all(new.parent().unwrap()).unwrap();
        std::fs::write(&new, "from x import f\n\n\ndef test_new():\n    assert f() == 3\n").unwrap();
        let last = expectations(
            &originals,
            &project,
            &Reached::by(&[goal("pytest -q")], &[], PathBuf::new()),
        );
        assert_eq!(last.last().unwrap().mutation.mutant.path, "tests/new/test_c.py");
        let first = |reached: &Reached| {
            expectations(&originals, &project, reached)[0]
                .mutation
                .mutant
                .path
                .clone()
        };
        let compiled = dir.path().join("compiled");
        let by = |command: &str| Reached::by(&[goal(command)], &[], compiled.clone());
        assert_eq!(first(&by("pytest -q")), "tests/old/test_a.py");
        assert_eq!(first(&by("pytest -q tests/unit/")), "tests/unit/test_b.py");
        let printed = Reached {
            tails: vec!["tests/unit/test_b.py .... [100%]".to_owned()],
            ..by("pytest")
        };
        assert_eq!(first(&printed), "tests/unit/test_b.py");
        let compiled = compiled.join("tests/unit");
        std::fs::create_dir_all(&compiled).unwrap();
        std::fs::write(compiled.join("test_b.cpython-311.pyc"), "").unwrap();
        assert_eq!(first(&by("pytest -q")), "tests/unit/test_b.py");
    }
}
