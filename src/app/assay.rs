//! Tries known cheats on a copy of the project. A run of ralph judges each.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ralph_core::event::{Event, GateSettings, GoalResult, Missing, StopReason, TestCounts};
use ralph_gate::{
    cheats::{Cheat, EditedFile},
    guard::{GuardError, Originals},
    runner::Runners,
};
use ralph_state::store::{journal, paths::ProjectPaths};
use ralph_system::proc::{Supervisor, own_executable};
use ralph_text::with_causes;
use ralph_words::{goal_in_words, missing_in_words, stop_in_words};
use serde_json::json;

use super::{
    ProjectPlace, check_goals,
    gate::{gate_settings, guard, known_runners},
};
use crate::{
    assay::{
        AssayAgent, AssayRow, AttemptKind, Break, BrokenWork, GateVerdict, PLAN, ProjectCopy, ProjectCopyError,
        ProjectFiles, breaks, examine,
    },
    config::{Loaded, verification_settings},
    error::{Failure, FailureKind},
};

/// Time for trying changes of the work: this, or this multiple of the goals' duration if that is longer.
const BREAKS_TIME: Duration = Duration::from_secs(60);
const BREAKS_FACTOR: u32 = 12;
/// Maximum number of noticed changes from which one is chosen.
const NOTICED: usize = 4;
/// Time limit of a run: this, or this multiple of the goals' duration if that is longer.
const RUN_TIME: Duration = Duration::from_secs(300);
const RUN_FACTOR: u32 = 40;
/// Estimated duration of a run in addition to the goals, which it runs about twice.
const RUN_OVERHEAD: Duration = Duration::from_millis(500);
/// Maximum number of bytes read of a run's output.
const PRINTED_BYTES: usize = 64 << 10;

/// Progress of an assay.
pub(crate) enum AssayProgress<'a> {
    /// The project is being copied.
    Copying { above: &'a Path },
    /// The goals are run on the copy.
    Checking,
    /// Looking for a change of the work that the tests notice.
    Breaking,
    /// The rows follow.
    Begun {
        assay: &'a Assay,
        rows: usize,
        estimate: Duration,
    },
    Row {
        row: &'a AssayRow,
        settings: &'a GateSettings,
    },
}

/// The result of an assay.
#[derive(Debug)]
pub(crate) struct Assay {
    pub(crate) broken: BrokenWork,
    pub(crate) settings: GateSettings,
    /// The counts of the tests that the goals ran.
    pub(crate) tests: Vec<TestCounts>,
    pub(crate) rows: Vec<AssayRow>,
    /// The cheats that do not apply to the project.
    pub(crate) inapplicable: Vec<String>,
}

/// Tries `cheats` on a copy of the project with its goals.
///
/// # Errors
/// A [`Failure`] if there are no goals, or if nothing can be determined.
pub(crate) fn assay(
    place: &ProjectPlace,
    loaded: &Loaded,
    cheats: Vec<Cheat>,
    supervisor: &Supervisor,
    mut tell: impl FnMut(AssayProgress<'_>),
) -> Result<Assay, Failure> {
    if loaded.config.goals.enabled.is_empty() {
        let why = "there are no goals, so nothing would notice a cheat";
        return Err(Failure::new(FailureKind::Configuration, why)
            .hint("`ralph init` finds the commands that test this project and writes them down as goals"));
    }
    let runners = known_runners(place, &loaded.config)?;
    let above = place_of_copies("assay");
    tell(AssayProgress::Copying { above: &above });
    let mut copy = ProjectCopy::make(&place.project, &above, supervisor)?;
    let plan = copy.project().join(PLAN);
    write(&plan, AssayAgent::OPEN)?;
    copy.begin_repository()?;
    let mut bench = Workbench {
        place: ProjectPlace {
            own: place.own.clone(),
            ..ProjectPlace::for_project(copy.project(), Some(&copy.beside("state")))?
        },
        copy,
        loaded,
        runners,
        supervisor,
        took: Duration::ZERO,
    };
    tell(AssayProgress::Checking);
    let results = bench.check()?;
    let mut files = bench.files()?;
    let tests: Vec<TestCounts> = results.iter().filter_map(|result| result.tests.clone()).collect();
    files.scene.count = tests.iter().map(TestCounts::ran).max().unwrap_or(0);
    files
        .scene
        .runners
        .extend(tests.iter().map(|tests| tests.runner.clone()));
    tell(AssayProgress::Breaking);
    let broken = bench.break_work(&results, &files)?;
    files.scene.work = match &broken {
        BrokenWork::By(by) => vec![by.mutant.path.to_string()],
        BrokenWork::Already { .. } | BrokenWork::Unnoticed { .. } => files.ranked.iter().take(1).cloned().collect(),
    };
    let mut assay = Assay {
        broken,
        settings: gate_settings(runners, &loaded.config),
        tests,
        rows: Vec::new(),
        inapplicable: Vec::new(),
    };
    bench.copy.commit()?;
    let tries = bench.tries(&mut assay, &files, cheats);
    let rows = tries.len();
    let one = bench.took * 2 + RUN_OVERHEAD;
    let estimate = one * u32::try_from(rows).unwrap_or(u32::MAX);
    tell(AssayProgress::Begun {
        assay: &assay,
        rows,
        estimate,
    });
    let originals = bench.guarded()?;
    for tried in tries {
        let row = bench.row(tried, originals.as_ref())?;
        tell(AssayProgress::Row {
            row: &row,
            settings: &assay.settings,
        });
        // The controls come first. If one fails, the rows after it would prove nothing.
        let goes_on = row.is_as_it_should_be();
        assay.rows.push(row);
        if !goes_on {
            break;
        }
    }
    Ok(assay)
}

/// The directory of all copies. It is probably on the same file system as the projects, so that copies may share
/// blocks.
/// The directory of copies of projects for a command.
pub(super) fn place_of_copies(command: &str) -> PathBuf {
    let caches = dirs::cache_dir().unwrap_or_else(env::temp_dir);
    caches.join("ralph").join(command)
}

/// An attempt: a cheat or a control.
struct AssayAttempt {
    name: String,
    what: String,
    kind: AttemptKind,
    edits: Vec<EditedFile>,
}

impl AssayAttempt {
    fn nothing() -> Self {
        Self {
            name: "do-nothing".to_owned(),
            what: "Nothing is done, and it is claimed to be done.".to_owned(),
            kind: AttemptKind::Nothing,
            edits: Vec::new(),
        }
    }

    fn repair(by: &Break) -> Self {
        Self {
            name: "repair".to_owned(),
            what: "The work is put right.".to_owned(),
            kind: AttemptKind::Repair,
            edits: vec![EditedFile {
                path: by.mutant.path.to_string(),
                text: Some(by.original.clone()),
            }],
        }
    }
}

/// The copy on which the attempts are made.
struct Workbench<'a> {
    copy: ProjectCopy,
    /// The copy as a project.
    place: ProjectPlace,
    loaded: &'a Loaded,
    runners: &'static Runners,
    supervisor: &'a Supervisor,
    /// Duration of the goals.
    took: Duration,
}

impl Workbench<'_> {
    /// Runs the goals on the copy as it is.
    fn check(&mut self) -> Result<Vec<GoalResult>, Failure> {
        let began = Instant::now();
        let results = check_goals(&self.place, self.loaded, None, None, self.supervisor)?;
        self.took = began.elapsed();
        Ok(results)
    }

    fn files(&self) -> Result<ProjectFiles, Failure> {
        let config = &self.loaded.config;
        let (goals, patterns) = (&config.goals.enabled, &config.gate.guard);
        let store = self.copy.beside("originals");
        let files = examine(&self.copy, &self.copy.files()?, goals, self.runners, patterns, &store)?;
        empty(&store)?;
        Ok(files)
    }

    /// The guarded files of the copy; `None` if the gate guards none.
    fn guarded(&self) -> Result<Option<Originals>, Failure> {
        let project = self.copy.project();
        let guard = guard(self.runners, &self.loaded.config, &project)?;
        let taken = guard.map(|guard| guard.take(&project, &self.copy.beside("originals")));
        Ok(taken.transpose()?)
    }

    /// Breaks the work in a way that the goals notice, unless they fail already.
    fn break_work(&mut self, results: &[GoalResult], files: &ProjectFiles) -> Result<BrokenWork, Failure> {
        if let Some(failed) = results.iter().find(|result| !result.passed) {
            let why = goal_in_words(failed);
            return Ok(BrokenWork::Already { why });
        }
        let counts = results.iter().any(|result| ran(result) > 0);
        let until = Instant::now() + BREAKS_TIME.max(self.took * BREAKS_FACTOR);
        let (mut passed, mut noticed, mut unclear) = (Vec::new(), Vec::new(), None);
        for offer in breaks(&files.ranked, |path| self.copy.text(path)) {
            if noticed.len() >= NOTICED || Instant::now() >= until {
                break;
            }
            self.copy.write(&offer.mutant.path, &offer.broken)?;
            let results = self.check()?;
            self.copy.restore()?;
            match notice(&results, counts) {
                GoalReaction::Expectation => {
                    noticed.insert(0, offer);
                    break;
                }
                GoalReaction::Test => noticed.push(offer),
                GoalReaction::Unclear => unclear = unclear.or(Some(offer)),
                GoalReaction::None => passed.push(offer),
            }
        }
        // If no change is noticed by a test, the finding is that the tests notice nothing. A change that only fails to
        // build counts if no other change passed.
        let first = noticed.into_iter().next();
        let broken = match first.or(unclear.filter(|_| passed.is_empty())) {
            Some(offer) => BrokenWork::By(offer),
            None => BrokenWork::Unnoticed {
                tried: passed.len(),
                first: passed.into_iter().next(),
            },
        };
        if let BrokenWork::By(offer) | BrokenWork::Unnoticed { first: Some(offer), .. } = &broken {
            self.copy.write(&offer.mutant.path, &offer.broken)?;
        }
        Ok(broken)
    }

    /// The attempts. If the goals notice nothing, one control is enough.
    fn tries(&self, assay: &mut Assay, files: &ProjectFiles, cheats: Vec<Cheat>) -> Vec<AssayAttempt> {
        let mut tries = vec![AssayAttempt::nothing()];
        match &assay.broken {
            BrokenWork::Unnoticed { .. } => return tries,
            BrokenWork::Already { .. } => {}
            BrokenWork::By(by) => tries.push(AssayAttempt::repair(by)),
        }
        for cheat in cheats {
            let mut edits = cheat.edits(&files.scene, |path| self.copy.text(path));
            edits.retain(|edit| self.copy.can_be_edited(&edit.path));
            match edits.is_empty() {
                true => assay.inapplicable.push(cheat.name),
                false => tries.push(AssayAttempt {
                    name: cheat.name,
                    what: cheat.what,
                    kind: AttemptKind::Cheat,
                    edits,
                }),
            }
        }
        // Another cheat of the same name, for another language, may apply.
        let is_tried = |name: &String| tries.iter().any(|tried| tried.name == *name);
        assay.inapplicable.retain(|name| !is_tried(name));
        assay.inapplicable.sort();
        assay.inapplicable.dedup();
        tries
    }

    /// Runs ralph with an agent that makes the attempt's edits, and restores the copy.
    fn row(&mut self, tried: AssayAttempt, originals: Option<&Originals>) -> Result<AssayRow, Failure> {
        let began = Instant::now();
        let unguarded = self.unguarded(&tried, originals);
        self.copy.remember_all(&tried.edits);
        let verdict = self.verdict(&tried.edits)?;
        self.copy.restore()?;
        Ok(AssayRow {
            name: tried.name,
            what: tried.what,
            kind: tried.kind,
            verdict,
            unguarded,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Edited files outside of the work that exist and are not guarded.
    fn unguarded(&self, tried: &AssayAttempt, originals: Option<&Originals>) -> Vec<String> {
        let Some(originals) = originals.filter(|_| tried.kind == AttemptKind::Cheat) else {
            return Vec::new();
        };
        let is_guarded = |path: &str| matches!(originals.original(path), Ok(Some(_)) | Err(_));
        let paths = tried.edits.iter().map(|edit| &edit.path);
        paths
            .filter(|path| self.copy.text(path).is_some() && !is_guarded(path))
            .cloned()
            .collect()
    }

    fn verdict(&mut self, edits: &[EditedFile]) -> Result<GateVerdict, Failure> {
        let (state, config) = (self.copy.beside("state"), self.copy.beside("config.json"));
        empty(&state)?;
        // A plan that git ignores still has the tick of the last agent.
        write(&self.copy.project().join(PLAN), AssayAgent::OPEN)?;
        let directory = self.copy.beside("agent");
        let agent = AssayAgent::new(&directory, edits).map_err(|source| ProjectCopyError::File {
            path: directory,
            source,
        })?;
        let limit = RUN_TIME.max(self.took * RUN_FACTOR);
        write(&config, &self.settings(&agent, limit).to_string())?;
        let mut ralph = self.supervisor.helper(own_executable());
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RALPH_")) {
            ralph = ralph.env_remove(name);
        }
        let given = [
            Path::new("--state-dir"),
            &state,
            Path::new("--config"),
            &config,
            Path::new("__assay"),
        ];
        let finished = ralph
            .args(given)
            .current_dir(&self.copy.project())
            .deadline(limit * 2)
            .output_cap(PRINTED_BYTES)
            .run();
        let undecided = |why: String| Ok(GateVerdict::Undecided { why });
        let finished = match finished {
            Ok(finished) => finished,
            Err(error) => return undecided(with_causes(&error)),
        };
        match judged(&self.copy.project(), &state) {
            Some(verdict) => Ok(verdict),
            None => undecided(last_line(&finished.stderr.bytes)),
        }
    }

    /// The settings of a run: the user's goals and gate, and an agent that cheats.
    fn settings(&self, agent: &AssayAgent, limit: Duration) -> serde_json::Value {
        let [program, args @ ..] = agent.command();
        let seconds = |time: Duration| format!("{}s", time.as_secs());
        let more = json!({
            "adapter": "assay",
            "adapters": { "assay": {
                "title": "Known cheat",
                "dialect": "terminal",
                "command": { "program": program, "args": args, "prompt": "stdin" },
                "stop": { "first": "terminate", "grace_ms": 1000 },
            } },
            "plan": PLAN,
            "handover": false,
            "tools": { "enabled": false },
            "limits": { "maxIterations": 1, "maxTime": seconds(limit) },
        });
        verification_settings(self.loaded, more)
    }
}

/// How the goals react to a change of the work.
enum GoalReaction {
    /// An expectation of a test fails. Cheats have more ways to silence that than an error.
    Expectation,
    /// A test fails, or a goal without counted tests.
    Test,
    /// A goal fails, but no counted test.
    Unclear,
    None,
}

/// Texts that tests print if an expectation fails.
const EXPECTATIONS: [&str; 4] = ["AssertionError", "assertion `", "assertion failed", "expect("];

fn notice(results: &[GoalResult], counts: bool) -> GoalReaction {
    let has_failed = |result: &&GoalResult| result.tests.as_ref().is_some_and(|tests| tests.failed > 0);
    let failed = results.iter().find(has_failed);
    match failed {
        Some(failed) if EXPECTATIONS.iter().any(|said| failed.tail.contains(said)) => GoalReaction::Expectation,
        Some(_) => GoalReaction::Test,
        None if results.iter().all(|result| result.passed) => GoalReaction::None,
        None if counts => GoalReaction::Unclear,
        None => GoalReaction::Test,
    }
}

/// The number of tests that a goal ran.
fn ran(result: &GoalResult) -> u32 {
    result.tests.as_ref().map_or(0, TestCounts::ran)
}

/// Reads the verdict from the journal of the run in `state`; `None` if the run has no end.
fn judged(project: &Path, state: &Path) -> Option<GateVerdict> {
    let paths = ProjectPaths::new(project, Some(state)).ok()?;
    let run = paths.latest_run()?;
    let (mut refused, mut end) = (None, None);
    let read = journal::for_each(&paths.run(&run).journal(), |record| match record.event {
        Event::ClaimRefused { reasons, .. } => refused = Some(reasons),
        Event::RunStopped { reason, .. } => end = Some(reason),
        _ => {}
    });
    read.ok()?;
    match (end?, refused) {
        (StopReason::Done { proof, .. }, _) => Some(GateVerdict::Accepted(proof)),
        (_, Some(reasons)) => {
            let deceives = !reasons
                .iter()
                .any(|reason| matches!(reason, Missing::GoalFailed { .. }));
            let why = reasons.iter().map(missing_in_words).collect();
            Some(GateVerdict::Refused { why, deceives })
        }
        (other, None) => Some(GateVerdict::Undecided {
            why: stop_in_words(&other),
        }),
    }
}

/// The first error line that a run printed, otherwise its last line.
fn last_line(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    let error = text.lines().find(|line| line.starts_with("error:"));
    let last = error.or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    last.unwrap_or("the run ended without output").to_owned()
}

fn write(path: &Path, text: &str) -> Result<(), ProjectCopyError> {
    let above = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(above).and_then(|()| fs::write(path, text));
    written.map_err(|source| ProjectCopyError::File {
        path: path.to_owned(),
        source,
    })
}

fn empty(directory: &Path) -> Result<(), ProjectCopyError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ProjectCopyError::File {
            path: directory.to_owned(),
            source: error,
        }),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl From<ProjectCopyError> for Failure {
    fn from(error: ProjectCopyError) -> Self {
        Failure::of(FailureKind::Unanswered, &error)
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        Failure::of(FailureKind::Unanswered, &error)
    }
}
