//! The tests of the work: those that failed or did not exist when the run began, and pass now. They are what measures it, so
//! the expectations of each are altered.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Instant,
};

use ralph_core::event::{Goal, GoalFailure, GoalResult, Mutant, MutantOutcome, MutantTarget, TestCounts, TriedMutant};
use ralph_gate::{
    guard::{NewFiles, Originals},
    mutants::{Mutation, expectations_by_test, has_mutants},
};
use ralph_system::files::read_bytes;

use super::{
    super::goals::{CheckedGoal, all_passed},
    altered::{AlteredFile, AlteredRuns, function_name, header_of},
    bite::{Candidate, EXPECTATIONS, FILE_BYTES, Reached, bite, expectations, narrow, verdicts},
    in_place::blocking,
    without_work::ChangedLines,
};

/// Maximum number of tests of the work whose expectations are altered.
const TESTS: usize = 24;
/// Maximum number of altered expectations of one test.
const OF_ONE_TEST: usize = 2;

/// The failures of the goals before the first iteration.
#[derive(Debug, Clone, Default)]
pub(super) struct FailedBefore {
    /// The names of failed tests, as the runners print them.
    names: Vec<String>,
    /// Whether tests failed or could not be run whose names are unknown: any test may be one of the work.
    is_unknown: bool,
    /// The number of tests that ran.
    ran: u32,
}

impl FailedBefore {
    /// Reads the results `at_start` of the goals that have tests now. Other goals, such as lints, say nothing about tests.
    pub(super) fn of(goals: &[Goal], at_start: &[GoalResult]) -> Self {
        let results = goals
            .iter()
            .map(|goal| at_start.iter().find(|result| result.name == goal.name));
        let is_unnamed = |result: &GoalResult| {
            let has_run = result.tests.as_ref().is_some_and(|tests| tests.ran() > 0);
            !has_run || !result.passed && result.failed_tests.is_empty()
        };
        FailedBefore {
            is_unknown: results.clone().any(|result| result.is_none_or(is_unnamed)),
            ran: results
                .clone()
                .flatten()
                .filter_map(|result| result.tests.as_ref())
                .map(TestCounts::ran)
                .sum(),
            names: results
                .flatten()
                .flat_map(|result| result.failed_tests.iter().map(|name| name.to_string()))
                .collect(),
        }
    }

    /// Returns the names of failed tests; `None` if there may be others.
    pub(super) fn all_names(&self) -> Option<&[String]> {
        (!self.is_unknown).then_some(&*self.names)
    }

    /// Whether the test that `header` opens in the file at `path` failed, or that whole file.
    fn names(&self, path: &str, header: &str) -> bool {
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str());
        let is_file = |name: &String| name.ends_with(path) || stem == Some(last_part(name));
        let mut names = self.names.iter();
        names.any(|name| is_file(name) || is_test(path, header, name))
    }
}

/// Whether the line that opens a test has the name that a runner prints: `def test_a(self):` for `m.C.test_a`, and
/// `it('adds', () => {` for `sums > adds`.
fn is_named(header: &str, name: &str) -> bool {
    let header = header.trim();
    let quoted = header.find(['\'', '"', '`']).and_then(|open| {
        let quote = header[open..].chars().next()?;
        let title = header[open + 1..].split(quote).next()?;
        (!title.is_empty()).then_some(title)
    });
    if let Some(title) = quoted {
        let above = name.strip_suffix(title);
        return above.is_some_and(|above| above.is_empty() || !above.ends_with(char::is_alphanumeric));
    }
    let last = last_part(name);
    let mut words = header.split(|c: char| !c.is_alphanumeric() && c != '_');
    !last.is_empty() && words.any(|word| word == last)
}

/// Whether a name is that of the test that `header` opens in the file at `path`: `tests/test_a.py::test_b` is in no other file.
fn is_test(path: &str, header: &str, name: &str) -> bool {
    let file = name.split_once("::").map(|(file, _)| Path::new(file));
    let is_elsewhere = |file: &Path| file.extension().is_some() && file.file_name() != Path::new(path).file_name();
    is_named(header, name) && !file.is_some_and(is_elsewhere)
}

/// A test's name without its parameters.
fn without_parameters(name: &str) -> &str {
    name.split(['[', '(']).next().unwrap_or(name).trim_end()
}

/// The last part of a test's name, without its parameters.
fn last_part(name: &str) -> &str {
    let whole = without_parameters(name);
    whole.rsplit([':', '.', '/', ' ', '>']).next().unwrap_or(whole)
}

/// A test of the work, with the alterations of its expectations.
#[derive(Debug)]
struct WorkTest {
    path: String,
    header: String,
    /// Whether it is a new test: one for another system, or for those who ask for it, does not run.
    may_not_run: bool,
    mutations: Vec<Mutation>,
}

impl WorkTest {
    fn has_name(&self, name: &str) -> bool {
        is_test(&self.path, &self.header, name)
    }
}

/// The tests of the work, by their files, with the contents of these.
#[derive(Debug, Default)]
struct WorkTests {
    tests: Vec<WorkTest>,
    files: BTreeMap<String, String>,
}

/// Finds the tests of the work. The files are read with the originals in place.
///
/// Older tests that are not known to have failed may have had no chance to, as one may have ended the process. They are asked
/// where more of them have `passed` than ran before.
fn find(originals: &Originals, project: &Path, before: &FailedBefore, passed: &[String]) -> WorkTests {
    let NewFiles { renamed, tests, rust } = originals.new_files(project).unwrap_or_default();
    // A renamed file may have a name by which the runner does not find it.
    let renamed = renamed.iter().map(|file| &file.to);
    let renamed = renamed.filter(|path| !rust.contains(*path)).map(String::as_str);
    let known = originals.test_files().chain(renamed);
    let new = tests.iter().chain(&rust).map(String::as_str);
    let all = known.map(|path| (false, path)).chain(new.map(|path| (true, path)));
    let (mut found, mut others) = (WorkTests::default(), Vec::new());
    for (is_new, path) in all.filter(|(_, path)| has_mutants(path)) {
        if found.tests.len() >= TESTS {
            break;
        }
        let text = read_bytes(&project.join(path), FILE_BYTES).ok();
        let Some(text) = text.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            continue;
        };
        for mutations in expectations_by_test(path, &text, OF_ONE_TEST) {
            let Some(header) = mutations.first().and_then(|first| header_of(first, &text)) else {
                continue;
            };
            let is_known = before.names(path, &header);
            let is_of_work = is_new || is_known || before.is_unknown;
            let tests = if is_of_work { &mut found.tests } else { &mut others };
            if tests.len() < TESTS {
                tests.push(WorkTest {
                    path: path.to_owned(),
                    header,
                    may_not_run: !is_known && (is_new || !is_of_work),
                    mutations: mutations.into_iter().map(of_work).collect(),
                });
                found.files.insert(path.to_owned(), text.clone());
            }
        }
    }
    let is_of_new = |name: &&String| {
        let mut new = found.tests.iter().filter(|test| test.may_not_run);
        new.any(|test| name.split('/').any(|part| is_named(&test.header, part)))
    };
    let of_new = passed.iter().filter(is_of_new).count();
    if passed.len() > before.ran as usize + of_new {
        found.tests.extend(others);
        found.tests.truncate(TESTS);
    }
    found
}

/// Alters the tests of the work, or else some expectations of any tests. `report` has the results as they are. No run begins
/// after `until`.
pub(super) async fn bitten(
    runs: &mut AlteredRuns,
    report: &[CheckedGoal],
    project: &Path,
    originals: &Arc<Originals>,
    failed_before: &FailedBefore,
    lines: ChangedLines,
    until: Instant,
) -> Vec<TriedMutant> {
    let reports = report.iter().filter_map(|checked| checked.report.as_ref());
    let passed: Vec<String> = reports.flat_map(|report| report.passed.iter().cloned()).collect();
    let of_work = {
        let (project, originals, before) = (project.to_owned(), Arc::clone(originals), failed_before.clone());
        let passed = passed.clone();
        blocking(move || Ok(find(&originals, &project, &before, &passed))).await
    };
    let mut mutants = tried(runs, of_work.unwrap_or_default(), (report, &passed), until).await;
    if verdicts(&mutants) > 0 {
        return mutants;
    }
    let reached = Reached::by(&runs.goals, report, runs.place.compiled());
    let (project, originals) = (project.to_owned(), Arc::clone(originals));
    let found = blocking(move || Ok(expectations(&originals, &project, &reached, &lines)));
    let mut tests = found.await.unwrap_or_default();
    if tests.is_empty() || narrow(runs, &tests, EXPECTATIONS).await.is_none() {
        return mutants;
    }
    let at_once = any_at_once(runs, &mut tests, EXPECTATIONS).await.unwrap_or_default();
    // A noticed expectation decides.
    if at_once.is_empty() {
        let is_enough = |tried: &[TriedMutant]| {
            let is_noticed = |tried: &TriedMutant| tried.outcome == MutantOutcome::Noticed;
            verdicts(tried) >= EXPECTATIONS || tried.iter().any(is_noticed)
        };
        mutants.extend(bite(runs, tests, is_enough, until).await);
    }
    mutants.extend(at_once);
    mutants
}

fn of_work(mut mutation: Mutation) -> Mutation {
    mutation.mutant.target = MutantTarget::WorkTest;
    mutation
}

/// Alters the expectations of the tests of the work. `with_work` are the results as they are.
///
/// First a comment is added to each file: what fails by that knows the files of its tests, and its results say nothing. Then
/// one expectation of each test is altered, all in one run, and each test has to fail by its name. The tests that have not are
/// altered alone.
async fn tried(
    runs: &mut AlteredRuns,
    found: WorkTests,
    (with_work, passed): (&[CheckedGoal], &[String]),
    until: Instant,
) -> Vec<TriedMutant> {
    let WorkTests { mut tests, mut files } = found;
    // A test that fails with the work in place may fail: the goals passed.
    tests.retain(|test| failed_by_name(test, with_work).is_empty());
    let has_run = |test: &WorkTest| passed.iter().any(|name| test.has_name(name));
    tests.retain(|test| !test.may_not_run || passed.is_empty() || has_run(test));
    files.retain(|path, _| tests.iter().any(|test| test.path == *path));
    let Some((first, _)) = files.first_key_value() else {
        return Vec::new();
    };
    let mut tried = Vec::new();
    let names = tests.iter().filter_map(|test| function_name(&test.header)).collect();
    let outcome = match runs.narrow(with_comments(&files), &names).await {
        Some(true) => Some(MutantOutcome::Missed),
        Some(false) => commented(runs, &files).await,
        None => None,
    };
    let Some(outcome) = outcome else { return tried };
    if outcome == MutantOutcome::Noticed {
        let mutant = Mutant {
            path: first.as_str().into(),
            line: 1,
            before: "".into(),
            after: "".into(),
            target: MutantTarget::Comment,
        };
        return vec![TriedMutant { mutant, outcome }];
    }
    let Some(noticed) = at_once(runs, &tests, &files).await else {
        return tried;
    };
    for (at, test) in tests.into_iter().enumerate() {
        if noticed.get(at) == Some(&true) {
            tried.extend(test.mutations.into_iter().next().map(|mutation| TriedMutant {
                mutant: mutation.mutant,
                outcome: MutantOutcome::Noticed,
            }));
            continue;
        }
        for mutation in test.mutations {
            if Instant::now() >= until {
                return tried;
            }
            let Some(before) = files.get(&test.path) else { break };
            let Some(outcome) = runs.outcome(altered(&test.path, before, mutation.text)).await else {
                return tried;
            };
            tried.push(TriedMutant {
                mutant: mutation.mutant,
                outcome,
            });
            if outcome == MutantOutcome::Noticed {
                break;
            }
        }
    }
    tried
}

/// Alters one expectation of each test, all in one run, and returns for each test whether it has failed by its name. A
/// single test is not run.
async fn at_once(runs: &mut AlteredRuns, tests: &[WorkTest], files: &BTreeMap<String, String>) -> Option<Vec<bool>> {
    if tests.len() < 2 {
        return Some(Vec::new());
    }
    let results = runs.run_some(all_altered(tests, files)).await?;
    Some((0..tests.len()).map(|at| has_failed(tests, at, &results)).collect())
}

/// Alters the expectations of the first `candidates`, all in one run. Moves those that are noticed by name to the result.
async fn any_at_once(
    runs: &mut AlteredRuns,
    candidates: &mut Vec<Candidate>,
    at_most: usize,
) -> Option<Vec<TriedMutant>> {
    let first = || candidates.iter().take(at_most);
    let mut files = BTreeMap::new();
    for Candidate { mutation, before } in first() {
        let text = str::from_utf8(before).unwrap_or_default();
        files.insert(mutation.mutant.path.to_string(), text.to_owned());
    }
    let tests = first().map(|Candidate { mutation, .. }| WorkTest {
        path: mutation.mutant.path.to_string(),
        header: header_of(mutation, &files[&*mutation.mutant.path]).unwrap_or_default(),
        may_not_run: false,
        mutations: vec![mutation.clone()],
    });
    let tests: Vec<WorkTest> = tests.collect();
    let mut noticed = at_once(runs, &tests, &files).await?.into_iter();
    let of_names = candidates.extract_if(.., |_| noticed.next() == Some(true));
    Some(
        of_names
            .map(|candidate| candidate.tried(MutantOutcome::Noticed))
            .collect(),
    )
}

/// Runs the goals with a comment at the end of each file; once more if they fail, which may be chance.
async fn commented(runs: &mut AlteredRuns, files: &BTreeMap<String, String>) -> Option<MutantOutcome> {
    let mut outcome = MutantOutcome::NoVerdict;
    for _ in 0..2 {
        let results = runs.run(with_comments(files)).await?;
        let mut failed = results.iter().filter_map(|checked| checked.result.why.as_ref());
        // A busy machine may be slow once.
        let is_chance = |why: &GoalFailure| matches!(why, GoalFailure::TimedOut { .. } | GoalFailure::Killed);
        outcome = match all_passed(&results) {
            true => return Some(MutantOutcome::Missed),
            false if failed.all(is_chance) => MutantOutcome::NoVerdict,
            false => MutantOutcome::Noticed,
        };
    }
    Some(outcome)
}

fn with_comments(files: &BTreeMap<String, String>) -> Vec<AlteredFile> {
    files.iter().map(with_comment).collect()
}

fn with_comment((path, text): (&String, &String)) -> AlteredFile {
    let mark = if path.ends_with(".py") { "#" } else { "//" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    altered(path, text, format!("{text}{end}{mark} end\n"))
}

fn altered(path: &str, before: &str, altered: String) -> AlteredFile {
    AlteredFile {
        path: path.to_owned(),
        before: before.as_bytes().to_vec(),
        altered: altered.into_bytes(),
    }
}

/// Each file with one altered expectation in each of its tests.
fn all_altered(tests: &[WorkTest], files: &BTreeMap<String, String>) -> Vec<AlteredFile> {
    let all = files.iter().filter_map(|(path, text)| {
        let of_file = tests.iter().filter(|test| test.path == *path);
        let mutations: Vec<&Mutation> = of_file.filter_map(|test| test.mutations.first()).collect();
        Some(altered(path, text, Mutation::all_in(text, &mutations)?))
    });
    all.collect()
}

/// Whether the test at this place failed by its name, which no other altered test has. Subclasses run the tests of a class
/// under names of their own.
fn has_failed(tests: &[WorkTest], at: usize, results: &[CheckedGoal]) -> bool {
    let failed = failed_by_name(&tests[at], results);
    let others = || tests.iter().enumerate().filter(|(other, _)| *other != at);
    let is_shared = |name: &String| others().any(|(_, other)| other.has_name(name));
    failed.iter().any(|name| !is_shared(name))
}

/// Returns the names of failed tests that may be this one. The cases of a test with parameters have one name.
fn failed_by_name(test: &WorkTest, checked: &[CheckedGoal]) -> BTreeSet<String> {
    let reports = checked.iter().filter_map(|checked| checked.report.as_ref());
    let failed = reports.flat_map(|report| &report.failed);
    let of_test = failed.filter(|name| test.has_name(name));
    of_test.map(|name| without_parameters(name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use ralph_gate::guard::{FileGuard, GuardRules};

    use super::*;

    #[test]
    fn the_line_that_opens_a_test_has_the_name_that_runners_print() {
        for (header, name, is_one) in [
            ("def test_a(self):", "m.C.test_a", true),
            ("    async def test_a():", "tests/test_m.py::test_a[1-2]", true),
            ("def test_a(self):", "m.C.test_ab", false),
            ("fn adds() {", "sums::tests::adds", true),
            ("it('adds two', () => {", "sums > adds two", true),
            ("it('adds two', () => {", "adds two", true),
            ("it('adds', () => {", "sums > never adds", true),
            ("it('adds', () => {", "readds", false),
            ("it('encode yes', () => {", "encode", false),
            ("func TestAdd(t *testing.T) {", "TestAdd", true),
        ] {
            assert_eq!(is_named(header, name), is_one, "{header} {name}");
        }
    }

    #[test]
    fn tests_are_asked_where_they_are_now_and_if_they_had_no_chance_to_fail() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let write = |path: &str, name: &str| {
            let text = format!("func {name}(t *testing.T) {{\n\tif f() != 5 {{\n\t\tt.Fatal()\n\t}}\n}}\n");
            std::fs::write(project.join(path), text).unwrap();
        };
        write("a_test.go", "TestA");
        write("b_test.go", "TestB");
        let rules = GuardRules {
            tests: vec!["*_test.go".to_owned()],
            ..GuardRules::default()
        };
        let originals = FileGuard::new(rules).unwrap();
        let originals = originals.take(&project, &dir.path().join("store")).unwrap();
        let before = FailedBefore {
            names: vec!["TestA".to_owned()],
            ran: 1,
            ..FailedBefore::default()
        };
        let found = |passed: &[&str]| {
            let passed: Vec<String> = passed.iter().map(|name| (*name).to_owned()).collect();
            let found = find(&originals, &project, &before, &passed);
            let tests = found.tests.into_iter();
            tests.map(|test| (test.path, test.may_not_run)).collect::<Vec<_>>()
        };
        let at = |path: &str, may_not_run| (path.to_owned(), may_not_run);
        assert_eq!(found(&["TestA"]), [at("a_test.go", false)]);
        assert_eq!(
            found(&["TestA", "TestB"]),
            [at("a_test.go", false), at("b_test.go", true)]
        );
        write("c_test.go", "TestC");
        let new = [at("a_test.go", false), at("c_test.go", true)];
        assert_eq!(found(&["TestA", "TestC", "TestC/of_a_table"]), new);
        std::fs::rename(project.join("a_test.go"), project.join("_a_test.go")).unwrap();
        assert_eq!(found(&["TestC"])[0], at("_a_test.go", false));
    }

    #[test]
    fn tests_of_the_work_failed_before_it_by_their_names_or_those_of_their_files() {
        let result = |passed, ran, names: &[&str]| GoalResult {
            passed,
            tests: Some(TestCounts {
                passed: ran,
                ..TestCounts::default()
            }),
            failed_tests: names.iter().map(|name| (*name).into()).collect(),
            ..crate::test_gate::tests::passing("tests")
        };
        let goals = ["tests"].map(|name| Goal {
            name: name.into(),
            ..Goal::default()
        });
        let of = |results: &[GoalResult]| FailedBefore::of(&goals, results);
        let named = of(&[result(false, 3, &["leap_test", "tests/test_b.py", "m.C.test_c"])]);
        assert!(named.names("src/leap_test.py", "def test_any(self):"));
        assert!(named.names("tests/test_b.py", "def test_any(self):"));
        assert!(named.names("tests/test_d.py", "def test_c(self):"));
        assert!(!named.names("tests/test_d.py", "def test_d(self):"));
        let of_one_file = of(&[result(false, 3, &["tests/test_b.py::test_1", "sums::test_2"])]);
        assert!(of_one_file.names("tests/test_b.py", "def test_1():"));
        assert!(!of_one_file.names("tests/test_d.py", "def test_1():"));
        assert!(of_one_file.names("src/sums.rs", "fn test_2() {"));
        for unknown in [of(&[]), of(&[result(false, 0, &[])]), of(&[result(false, 3, &[])])] {
            assert!(unknown.is_unknown, "{unknown:?}");
        }
        let lint = crate::test_gate::tests::passing("lint");
        assert!(!of(&[result(true, 3, &[]), lint]).is_unknown);
    }
}
