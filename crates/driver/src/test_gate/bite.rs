//! Small changes of tests and work, each tried alone.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    time::Instant,
};

use ralph_core::event::{Goal, MUTANTS, MutantOutcome, TriedMutant};
use ralph_gate::{
    guard::{GuardError, OpenTrial, Originals},
    mutants::{Mutation, MutationKind, has_mutants, test_mutants, work_mutants},
};
use ralph_system::files::read_bytes;
use ralph_text::{is_part_of_word, whole_words};

use super::{
    super::goals::CheckedGoal,
    altered::{AlteredFile, AlteredRuns, function_name, header_of},
    in_place::{InPlace, blocking},
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

/// Narrows the runs to the tests of the first `candidates`, of which `at_most` are tried.
pub(super) async fn narrow(runs: &mut AlteredRuns, candidates: &[Candidate], at_most: usize) -> Option<bool> {
    let first = || candidates.iter().take(at_most);
    let names = first().filter_map(|candidate| {
        let text = str::from_utf8(&candidate.before).ok()?;
        function_name(&header_of(&candidate.mutation, text)?)
    });
    let names = names.collect();
    let files: BTreeMap<&str, &Vec<u8>> = first()
        .map(|candidate| (candidate.mutation.mutant.path.as_str(), &candidate.before))
        .collect();
    let as_they_are = files.into_iter().map(|(path, text)| AlteredFile {
        path: path.to_owned(),
        before: text.clone(),
        altered: text.clone(),
    });
    runs.narrow(as_they_are.collect(), &names).await
}

/// Tries `candidates`, each alone, until `is_enough` of those that were tried, or as long as the next one would end before a
/// time, if it took as long as the last. At least one is tried.
pub(super) async fn bite(
    runs: &mut AlteredRuns,
    candidates: Vec<Candidate>,
    is_enough: impl Fn(&[TriedMutant]) -> bool,
    until: Instant,
) -> Vec<TriedMutant> {
    let mut tried = Vec::new();
    for candidate in candidates {
        let began = Instant::now();
        let Some(outcome) = runs.outcome(candidate.file()).await else {
            break;
        };
        tried.push(candidate.tried(outcome));
        if is_enough(&tried) || Instant::now() + began.elapsed() > until {
            break;
        }
    }
    tried
}

/// The number of mutants that have a verdict.
pub(super) fn verdicts(tried: &[TriedMutant]) -> usize {
    let has_verdict = |tried: &&TriedMutant| tried.outcome != MutantOutcome::NoVerdict;
    tried.iter().filter(has_verdict).count()
}

/// Tries some `candidates` of the work with the agent's own tests: those that it adds to older files may be the ones that notice.
///
/// # Errors
/// [`GuardError`] if the agent's files cannot be restored.
pub(super) async fn of_work(
    runs: &mut AlteredRuns,
    candidates: Vec<Candidate>,
    (project, record): (PathBuf, PathBuf),
    until: Instant,
) -> Result<Vec<TriedMutant>, GuardError> {
    let begun = blocking(move || OpenTrial::replacing(Vec::new(), &project, &record));
    runs.held = InPlace::of(begun.await?);
    let is_enough = |tried: &[TriedMutant]| verdicts(tried) >= usize::from(MUTANTS) - EXPECTATIONS;
    let tried = bite(runs, candidates, is_enough, until).await;
    runs.held.end().await.map(|()| tried)
}

/// A mutant, with the original content of its file.
pub(super) struct Candidate {
    pub(super) mutation: Mutation,
    pub(super) before: Vec<u8>,
}

impl Candidate {
    pub(super) fn tried(self, outcome: MutantOutcome) -> TriedMutant {
        TriedMutant {
            mutant: self.mutation.mutant,
            outcome,
        }
    }

    fn file(&self) -> AlteredFile {
        AlteredFile {
            path: self.mutation.mutant.path.to_string(),
            before: self.before.clone(),
            altered: self.mutation.text.clone().into_bytes(),
        }
    }
}

/// Evidence of which tests run: a goal may run only some of the project's tests.
pub(super) struct Reached {
    /// Names of passed tests that are one word, without their modules: `adds` for `tests::adds`.
    names: HashSet<String>,
    /// Names of passed tests that are more than one word.
    odd_names: Vec<String>,
    /// The words of each goal's command, without quotes and slashes at their ends.
    commands: Vec<Vec<String>>,
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
        let word = |word: &str| word.trim_matches(['"', '\'']).trim_end_matches('/').to_owned();
        let words = |goal: &Goal| goal.command.split_whitespace().map(word).collect();
        let (names, odd_names): (Vec<_>, Vec<_>) = names
            .filter(|name| !name.is_empty())
            .partition(|name| name.chars().all(is_part_of_word));
        Self {
            names: names.into_iter().collect(),
            odd_names,
            commands: goals.iter().map(words).collect(),
            tails: checked.iter().map(|checked| checked.output.clone()).collect(),
            compiled,
        }
    }

    /// Whether the tests of a file run: a command names it or a directory of it, it was printed, or Python compiled it.
    fn has_file(&self, path: &str) -> bool {
        let is_named = self.commands.iter().any(|words| names(words, path));
        is_named || self.tails.iter().any(|tail| contains_word(tail, path)) || self.has_compiled(path)
    }

    /// Returns the candidates in files that may run: a command that names some of their files runs no others. A script that
    /// runs other files has no expectations itself.
    fn of_run_files(&self, mut candidates: Vec<Candidate>) -> Vec<Candidate> {
        let names_file = |words: &[String], candidate: &Candidate| names(words, &candidate.mutation.mutant.path);
        let names_some = |words: &Vec<String>| candidates.iter().any(|candidate| names_file(words, candidate));
        if !self.commands.is_empty() && self.commands.iter().all(names_some) {
            candidates.retain(|candidate| self.commands.iter().any(|words| names_file(words, candidate)));
        }
        candidates
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

/// Returns mutants of expectations. Tests that are known to run come first, then files that name a module that the run has
/// changed; altered literals come before negated assertions, and each file has one before any has a second. New tests come
/// after older ones.
///
/// The files are read with the originals in place.
pub(super) fn expectations(
    originals: &Originals,
    project: &Path,
    reached: &Reached,
    changed: &ChangedLines,
) -> Vec<Candidate> {
    let modules = changed
        .iter()
        .filter_map(|(path, _)| Path::new(path).file_stem()?.to_str());
    let modules: Vec<&str> = modules.collect();
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
        let is_foreign = !modules.iter().any(|module| contains_word(text, module));
        let mutations = test_mutants(path, text, text.len() as u64).into_iter().map(|mutation| {
            let above = with_tests.iter().take(mutation.mutant.line as usize);
            let runs = above.rev().take(LINES_OF_A_TEST).any(|has_test| *has_test);
            let is_negation = mutation.kind != MutationKind::Literal;
            ((is_unknown && !runs, is_foreign, is_new, is_negation, !runs), mutation)
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
    let candidates = ranked.into_iter().map(|(_, candidate)| candidate);
    reached.of_run_files(candidates.collect())
}

/// Whether the words of a command have a path, or a directory above it.
fn names(words: &[String], path: &str) -> bool {
    let mut paths = Path::new(path).ancestors().filter_map(Path::to_str);
    paths.any(|path| !path.is_empty() && words.iter().any(|word| word == path))
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
            &Vec::new(),
        );
        assert_eq!(last.last().unwrap().mutation.mutant.path, "tests/new/test_c.py");
        let first = |reached: &Reached| {
            expectations(&originals, &project, reached, &Vec::new())[0]
                .mutation
                .mutant
                .path
                .clone()
        };
        let compiled = dir.path().join("compiled");
        let by = |command: &str| Reached::by(&[goal(command)], &[], compiled.clone());
        assert_eq!(first(&by("pytest -q")), "tests/old/test_a.py");
        assert_eq!(first(&by("pytest -q tests/unit/")), "tests/unit/test_b.py");
        // Tests that a goal does not run cannot notice anything.
        let of_one = expectations(&originals, &project, &by("pytest 'tests/new/test_c.py'"), &Vec::new());
        assert!(
            of_one
                .iter()
                .all(|candidate| candidate.mutation.mutant.path == "tests/new/test_c.py")
        );
        let both = ["pytest tests/new", "make check"].map(goal);
        let of_all = expectations(
            &originals,
            &project,
            &Reached::by(&both, &[], compiled.clone()),
            &Vec::new(),
        );
        assert_eq!(of_all.len(), 3 * of_one.len());
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
