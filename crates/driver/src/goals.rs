//! Runs goals: commands in the real tree, each under a guard like an agent, so that no process of them is left either.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_core::event::{Exit, Goal, GoalFailure, GoalResult, Tail, TestNames, Text};
use ralph_gate::runner::{OutputReader, Runners, TestReport, read_report};
use ralph_system::{
    diagnostics::inherited,
    files::read_bytes,
    proc::{ChildEnd, Launch, Printed, RUN_ID_VAR, Size, StdoutMode, StopSpeed, Supervisor, collector},
};
use ralph_text::{KeptEscapes, PlainLines, PlainText, with_causes};
use tokio::{
    sync::{Mutex, OwnedMutexGuard, Semaphore, mpsc},
    task::{JoinHandle, JoinSet, spawn_blocking},
};
use tracing::debug;

use super::{
    room::FilledRoom,
    sealed::{self, SealedCopy, SealedPlace},
};

/// Bytes kept of a goal's output: its end, where test runners report failures.
pub(super) const TAIL_BYTES: usize = 8 * 1024;
/// Most bytes of a report of tests.
const REPORT_CAP_BYTES: u64 = 64 << 20;
const GRACE: Duration = Duration::from_secs(2);
const SIZE: Size = Size { cols: 120, rows: 40 };
/// The POSIX shell.
const SHELL: &str = "/bin/sh";

/// The surroundings in which goals and background tasks run.
#[derive(Debug, Clone)]
pub struct ExecutionContext {
    pub(super) project: PathBuf,
    pub(super) run_id: String,
    pub(super) scratch: PathBuf,
    pub(super) supervisor: Supervisor,
    /// Variables that they do not get: they run code written by an agent, which must not see keys.
    pub(super) withheld: Vec<String>,
    /// Held as long as a process of a goal lives: goals of two looks never run at once.
    pub(super) turn: Arc<Mutex<()>>,
    /// Reads which tests they ran.
    pub(super) runners: &'static Runners,
    /// The place of sealed goals; `None` if there is no sandbox.
    pub(super) sealed: Option<Arc<SealedPlace>>,
    /// Tests that may fail, by the names of their goals.
    pub(super) known_failures: Arc<BTreeMap<String, Vec<String>>>,
    /// Bytes that are kept of the end of an output.
    pub(super) kept_bytes: usize,
    /// The copy in which a sealed goal runs; it exists as long as a process of the goal.
    pub(super) sealed_copy: Option<Arc<SealedCopy>>,
    /// Whether Python keeps what it compiles for later goals.
    pub(super) keeps_compiled: bool,
    /// Further variables, with their values.
    pub(super) variables: Vec<(String, String)>,
    /// ralph's own directories that the programs fill.
    pub(super) writable: Vec<PathBuf>,
    /// The commands that prepare the project; without any, those of its lock files do.
    pub(super) setup: Arc<[String]>,
    /// The room that goals find in the place of `project`; `None` if they run in the project's own directory.
    pub(super) room: Option<FilledRoom>,
    /// The number of a goal among those that run at once.
    pub(super) slot: usize,
}

impl ExecutionContext {
    /// Makes a context in `project`. `run_id` marks the processes; their short-lived files are in `scratch`; they do not
    /// get the variables `withheld`.
    pub fn new(
        project: PathBuf,
        run_id: String,
        scratch: PathBuf,
        withheld: Vec<String>,
        runners: &'static Runners,
        supervisor: Supervisor,
    ) -> Self {
        ExecutionContext {
            project,
            run_id,
            scratch,
            supervisor,
            withheld,
            turn: Arc::default(),
            runners,
            sealed: None,
            known_failures: Arc::default(),
            kept_bytes: TAIL_BYTES,
            sealed_copy: None,
            keeps_compiled: true,
            variables: Vec::new(),
            writable: Vec::new(),
            setup: Arc::default(),
            room: None,
            slot: 0,
        }
    }

    /// Makes goals run in a room.
    pub(super) fn with_room(self, filled: FilledRoom) -> Self {
        ExecutionContext {
            room: Some(filled),
            ..self
        }
    }

    /// Returns the directory of what Python has compiled of the project.
    pub(super) fn compiled(&self) -> PathBuf {
        let below = self.project.strip_prefix("/").unwrap_or(&self.project);
        compiled_python(&self.scratch).join(below)
    }

    /// Returns the directory in which ralph finds the files that goals find in the project.
    pub(super) fn files(&self) -> PathBuf {
        match (&self.sealed_copy, &self.room) {
            (Some(copy), _) => copy.files.clone(),
            (None, Some(filled)) => filled.room.project(),
            (None, None) => self.project.clone(),
        }
    }

    /// Returns the directory in which ralph finds the files that goals write to the project.
    fn written(&self) -> PathBuf {
        match (&self.sealed_copy, &self.room) {
            (None, Some(filled)) => filled.written(self.slot),
            (Some(_), _) | (None, None) => self.files(),
        }
    }

    /// Sets further variables.
    #[must_use]
    pub fn with_variables(self, variables: Vec<(String, String)>) -> Self {
        ExecutionContext { variables, ..self }
    }

    /// Lets sealed goals run as well.
    #[must_use]
    pub fn with_sealed(self, sealed: Option<SealedPlace>) -> Self {
        ExecutionContext {
            sealed: sealed.map(Arc::new),
            ..self
        }
    }

    /// Lets only those tests fail that may and did, for further runs on the same files.
    pub(super) fn forgiving_failures_of(&self, goals: &[CheckedGoal]) -> Self {
        let has_failed = |goal: &str, test: &String| {
            let mut of_goal = goals.iter().filter(|checked| checked.result.name == goal);
            of_goal.any(|checked| {
                checked
                    .report
                    .as_ref()
                    .is_some_and(|report| report.failed.contains(test))
            })
        };
        let known = self.known_failures.iter().map(|(goal, tests)| {
            let failed = tests.iter().filter(|test| has_failed(goal, test)).cloned();
            (goal.clone(), failed.collect())
        });
        ExecutionContext {
            known_failures: Arc::new(known.collect()),
            ..self.clone()
        }
    }

    /// Lets these tests fail, by the names of their goals.
    #[must_use]
    pub fn with_known_failures(self, known_failures: BTreeMap<String, Vec<String>>) -> Self {
        ExecutionContext {
            known_failures: Arc::new(known_failures),
            ..self
        }
    }
}

/// A goal that was run.
#[derive(Debug)]
pub(super) struct CheckedGoal {
    pub(super) result: GoalResult,
    /// The tests by their names, if the test runner prints or reports them.
    pub(super) report: Option<TestReport>,
    /// The kept part of its output. The result has the end of it.
    pub(super) output: String,
}

/// Whether all goals passed.
pub(super) fn all_passed(checked: &[CheckedGoal]) -> bool {
    checked.iter().all(|checked| checked.result.passed)
}

/// The exclusive right to run goals, held as long as a process of them lives.
type GoalTurn = Arc<OwnedMutexGuard<()>>;

/// Goals that are running. Dropping it ends them at once.
#[derive(Debug)]
pub(super) struct GoalRun(JoinHandle<()>);

impl GoalRun {
    /// Starts `work`, which is aborted when this value is dropped.
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Starts `goals` for the agent, and sends the value that `found` makes of their results.
    pub(super) fn check<T: Send + 'static>(
        goals: Vec<Goal>,
        parallel: bool,
        context: ExecutionContext,
        found: impl FnOnce(Vec<GoalResult>) -> T + Send + 'static,
        results: mpsc::Sender<T>,
    ) -> Self {
        Self::spawn(async move {
            let checked = run_all(goals, parallel, Arc::new(context)).await;
            _ = results.send(found(checked)).await; // the run is over
        })
    }
}

impl Drop for GoalRun {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `goals` without a loop around them, and returns their results in order.
pub async fn check_goals(goals: Vec<Goal>, parallel: bool, context: ExecutionContext) -> Vec<GoalResult> {
    run_all(goals, parallel, Arc::new(context)).await
}

/// Runs all goals and returns their results in order.
pub(super) async fn run_all(goals: Vec<Goal>, parallel: bool, context: Arc<ExecutionContext>) -> Vec<GoalResult> {
    let checked = check_all(goals, parallel, context).await;
    checked.into_iter().map(|checked| checked.result).collect()
}

/// Runs all goals and returns their results and reports of tests, in order.
pub(super) async fn check_all(goals: Vec<Goal>, parallel: bool, context: Arc<ExecutionContext>) -> Vec<CheckedGoal> {
    let turn: GoalTurn = Arc::new(Arc::clone(&context.turn).lock_owned().await);
    check_in_turn(goals, parallel, context, turn).await
}

/// Runs all goals in each of several `places`, at most as many of these at once as the machine has cores. Returns the results in
/// order.
pub(super) async fn check_side_by_side(
    goals: &[Goal],
    parallel: bool,
    context: &ExecutionContext,
    places: Vec<FilledRoom>,
) -> Vec<Vec<CheckedGoal>> {
    let turn: GoalTurn = Arc::new(Arc::clone(&context.turn).lock_owned().await);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (free, mut running) = (Arc::new(Semaphore::new(cores)), JoinSet::new());
    for (index, place) in places.into_iter().enumerate() {
        let slot = index * goals.len();
        let context = Arc::new(
            ExecutionContext {
                slot,
                ..context.clone()
            }
            .with_room(place),
        );
        let (goals, free, turn) = (goals.to_vec(), Arc::clone(&free), Arc::clone(&turn));
        running.spawn(async move {
            let _place = free.acquire_owned().await;
            (index, check_in_turn(goals, parallel, context, turn).await)
        });
    }
    in_order(running).await
}

async fn check_in_turn(
    goals: Vec<Goal>,
    parallel: bool,
    context: Arc<ExecutionContext>,
    turn: GoalTurn,
) -> Vec<CheckedGoal> {
    let mut results = Vec::new();
    if !parallel {
        for goal in goals {
            results.push(run(goal, Arc::clone(&context), Arc::clone(&turn)).await);
        }
        return results;
    }
    let mut running = JoinSet::new();
    for (index, goal) in goals.into_iter().enumerate() {
        let (context, turn) = ((*context).clone(), Arc::clone(&turn));
        let slot = context.slot + index;
        let context = Arc::new(ExecutionContext { slot, ..context });
        running.spawn(async move { (index, run(goal, context, turn).await) });
    }
    in_order(running).await
}

async fn in_order<T: Send + 'static>(running: JoinSet<(usize, T)>) -> Vec<T> {
    let mut indexed = running.join_all().await;
    indexed.sort_by_key(|(index, _)| *index);
    indexed.into_iter().map(|(_, result)| result).collect()
}

async fn run(goal: Goal, context: Arc<ExecutionContext>, turn: GoalTurn) -> CheckedGoal {
    #[cfg(test)]
    if let Some(ending) = super::simulation::ending_of_goal().await {
        return result(&goal, Instant::now(), &parking_lot::Mutex::default(), ending);
    }
    match goal.sealed.clone() {
        Some(directory) => run_sealed(goal, directory, context, turn).await,
        None => run_in(goal, context, turn).await,
    }
}

/// Runs a goal in the project of `context`.
async fn run_in(goal: Goal, context: Arc<ExecutionContext>, turn: GoalTurn) -> CheckedGoal {
    let started = Instant::now();
    let reader = context.runners.reader(&goal.command);
    let printed = Arc::new(parking_lot::Mutex::new(GoalOutput::read_by(reader, context.kept_bytes)));
    let (held, collected) = ((turn, context.sealed_copy.clone()), Arc::clone(&printed));
    let (sink, mut ended) = collector(move |output| {
        // The turn and the copy are kept until the process has ended, even if its end is no longer awaited.
        let _ = &held;
        let mut collected = collected.lock();
        match output {
            Printed::Stdout(bytes) => collected.bytes(bytes),
            Printed::Line(line) => collected.line(line),
            Printed::Lines(lines) => collected.lines(lines),
            Printed::Terminal(_) => {}
        }
    });
    let launch = goal_launch(&goal.command, &context);
    let workspace = goal.workspace.clone();
    // Starting looks at directories, forks and writes files: not on the loop's thread.
    let report = goal.report.as_ref().map(|report| context.written().join(report));
    let stale = report.clone();
    let known_failures = Arc::clone(&context.known_failures);
    let start = move || {
        let cwd = match workspace {
            Some(path) => directory(&context.files(), &path).map(|()| context.project.join(path))?,
            None => context.project.clone(),
        };
        if let Some(stale) = stale {
            remove_stale(&stale)?;
        }
        for cache in &launch.writable {
            std::fs::create_dir_all(cache).map_err(|error| format!("{}: {error}", cache.display()))?;
        }
        let supervisor = match &context.room {
            Some(filled) => &context.supervisor.mounting(filled.mounts(context.slot)),
            None => &context.supervisor,
        };
        let child = supervisor.spawn(Launch { cwd, ..launch }, sink);
        child.map_err(|error| with_causes(&error))
    };
    debug!(goal = goal.name, "goal started");
    let known = known_failures.get(&goal.name).cloned();
    let spawned = spawn_blocking(inherited(start)).await;
    let child = match spawned.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(child) => child,
        Err(why) => return result(&goal, started, &printed, Err(not_started(why))),
    };
    let end = match tokio::time::timeout(Duration::from_millis(goal.timeout_ms), &mut ended).await {
        Ok(end) => Ok(end),
        Err(_) => {
            child.stop(StopSpeed::Graceful);
            // The guard ends it within the grace; its end is awaited, so that two looks never overlap.
            _ = ended.await;
            Err(())
        }
    };
    let ending = match end {
        Ok(Ok(ChildEnd::Exited(exit))) => Ok(exit),
        Ok(Ok(ChildEnd::NotStarted { why, .. })) => Err(not_started(why)),
        Ok(Ok(ChildEnd::Exceeded(exceeded))) => Err(GoalFailure::Exceeded { exceeded }),
        Ok(Ok(ChildEnd::GuardLost)) | Ok(Err(_)) => Err(GoalFailure::Killed),
        Err(()) => Err(GoalFailure::TimedOut {
            after_ms: goal.timeout_ms,
        }),
    };
    let checked = result(&goal, started, &printed, ending);
    let checked = match report {
        None => checked,
        Some(report) => with_report(checked, report).await,
    };
    match known {
        Some(known) => forgiven(checked, &known),
        None => checked,
    }
}

/// Runs a sealed goal in a copy, with the files of `sealed` copied over it.
async fn run_sealed(goal: Goal, sealed: PathBuf, context: Arc<ExecutionContext>, turn: GoalTurn) -> CheckedGoal {
    let Some(sealing) = context.sealed.clone() else {
        return not_run(&goal, ralph_words::sealed_without_sandbox().to_owned());
    };
    let prepare = {
        let (sealing, context) = (Arc::clone(&sealing), Arc::clone(&context));
        move || {
            sealing.prepare(
                (&context.project, context.room.as_ref(), context.slot),
                &sealed,
                &context.supervisor,
            )
        }
    };
    let prepared = spawn_blocking(inherited(prepare)).await;
    let (known, mut held) = (goal.clone(), None);
    let checked = match prepared.unwrap_or_else(|error| Err(error.to_string())) {
        Ok((copy, supervisor)) => {
            let copy = Arc::new(copy);
            held = Some(Arc::clone(&copy));
            let inside = ExecutionContext {
                project: copy.project.clone(),
                supervisor,
                kept_bytes: sealed::KEPT_BYTES,
                sealed_copy: Some(copy),
                room: None,
                // The next goals may run code of the agent, which must not read held-out tests.
                keeps_compiled: false,
                ..(*context).clone()
            };
            run_in(goal, Arc::new(inside), turn).await
        }
        Err(why) => not_run(&goal, why),
    };
    // The copy is removed off the loop's thread, too.
    let redacted = move || {
        drop(held);
        sealing.redacted(checked.result, &checked.output)
    };
    let redacted = spawn_blocking(inherited(redacted)).await;
    match redacted {
        Ok(result) => CheckedGoal {
            result,
            report: None,
            output: String::new(),
        },
        // The goal's result is not used here, because it may name sealed files.
        Err(_) => not_run(&known, ralph_words::sealed_not_started().to_owned()),
    }
}

/// Removes the report of an earlier run.
///
/// # Errors
/// Why it cannot be removed. A report found after the run could then be the earlier one.
fn remove_stale(report: &Path) -> Result<(), String> {
    match std::fs::remove_file(report) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!(
            "{}: an earlier report cannot be removed: {error}",
            report.display()
        )),
    }
}

/// Replaces the tests read from the output by those of the report file. A report that cannot be read is no evidence.
async fn with_report(checked: CheckedGoal, path: PathBuf) -> CheckedGoal {
    let shown = path.display().to_string();
    let read = move || {
        let bytes = read_bytes(&path, REPORT_CAP_BYTES).map_err(|error| with_causes(&error))?;
        read_report(&bytes).map_err(|error| error.to_string())
    };
    let report = spawn_blocking(inherited(read)).await;
    let CheckedGoal { mut result, output, .. } = checked;
    match report.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(report) => {
            result.tests = Some(report.counts.clone());
            result.doubt = report.inconsistent.as_ref().map(Text::from);
            result.failed_tests = failed_tests(&report);
            let report = Some(report);
            CheckedGoal { result, report, output }
        }
        Err(why) => {
            result.tests = None;
            result.failed_tests = TestNames::default();
            result.doubt = Some(format!("the report {shown} cannot be read: {why}").into());
            let report = None;
            CheckedGoal { result, report, output }
        }
    }
}

/// Variables of a terminal that a goal gets as the user has them: tests may depend on them.
const TERMINAL_VARS: [&str; 2] = ["TERM", "COLORTERM"];

/// Returns the launch of a goal. Its output is a pipe, as for a test server: on a terminal, runners draw their progress over
/// lines that were printed before, and what they count would be read more than once.
fn goal_launch(command: &str, context: &ExecutionContext) -> Launch {
    let mut launch = launch(command, context);
    // The shell is replaced by that of the command, so both outputs are one, in order.
    let both = format!("exec {SHELL} -c \"$0\" 2>&1");
    launch.args.insert(1, OsString::from(both));
    launch.stdout = StdoutMode::Piped;
    // Work that behaves differently while ralph looks would pass here and nowhere else.
    let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let own = own.filter(|name| name.starts_with("RALPH_") && launch.env.iter().all(|(given, _)| given != name));
    launch.env_remove.extend([RUN_ID_VAR.to_owned()].into_iter().chain(own));
    // On a pipe, Python would keep what it prints to itself until it ends; a goal that is out of time is ended.
    launch.env.insert(0, ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()));
    for name in TERMINAL_VARS.map(str::to_owned) {
        let is_given = launch.env.iter().any(|(given, _)| *given == name);
        match std::env::var(&name) {
            Ok(value) if !is_given => launch.env.push((name, value)),
            Err(_) if !is_given => launch.env_remove.push(name),
            Ok(_) | Err(_) => {}
        }
    }
    launch
}

/// Returns the launch of a shell command in the project, without a terminal user.
pub(super) fn launch(command: &str, context: &ExecutionContext) -> Launch {
    // Python trusts compiled files in the project, so an agent could plant some that do not match their source. The cache
    // has the libraries, too: without it, Python compiles them for each goal.
    let compiled = compiled_python(&context.scratch);
    let cache = (
        "PYTHONPYCACHEPREFIX".to_owned(),
        compiled.to_string_lossy().into_owned(),
    );
    let no_writing = "PYTHONDONTWRITEBYTECODE".to_owned();
    let (set, removed, writable) = match context.keeps_compiled {
        true => (None, Some(no_writing), Some(compiled.clone())),
        false => (Some((no_writing, "1".to_owned())), None, None),
    };
    let writable = context.writable.iter().cloned().chain(writable).collect();
    let given = context.variables.iter().cloned();
    let env = [cache].into_iter().chain(set).chain(given).collect();
    let env_remove = context.withheld.iter().cloned().chain(removed).collect();
    Launch {
        args: vec![OsString::from("-c"), OsString::from(command)],
        env,
        env_remove,
        size: SIZE,
        readable: vec![compiled],
        writable,
        ..Launch::new(SHELL, &context.project, GRACE, &context.run_id, &context.scratch)
    }
}

/// Returns the directory for Python's compiled files of goals, inside the run's short-lived files.
pub(super) fn compiled_python(scratch: &Path) -> PathBuf {
    scratch.join("pycache")
}

/// Checks the directory of a project that the relative path `workspace` names.
///
/// # Errors
/// Why a goal cannot run there: the directory is missing, or a link is outside of the project.
fn directory(project: &Path, workspace: &str) -> Result<(), String> {
    let path = project.join(workspace);
    let is_within = match (path.canonicalize(), project.canonicalize()) {
        (Ok(found), Ok(project)) => found.starts_with(project),
        (Err(_), _) | (_, Err(_)) => true,
    };
    match (is_within, path.is_dir()) {
        (false, _) => Err(format!("its workspace `{workspace}` is outside of the project")),
        (true, false) => Err(format!("its workspace `{workspace}` is not a directory of the project")),
        (true, true) => Ok(()),
    }
}

/// Returns the result of a goal that was not started.
fn not_run(goal: &Goal, why: String) -> CheckedGoal {
    result(
        goal,
        Instant::now(),
        &parking_lot::Mutex::default(),
        Err(not_started(why)),
    )
}

fn not_started(why: String) -> GoalFailure {
    GoalFailure::NotStarted { why: why.into() }
}

fn result(
    goal: &Goal,
    started: Instant,
    printed: &parking_lot::Mutex<GoalOutput>,
    ending: Result<Exit, GoalFailure>,
) -> CheckedGoal {
    let mut printed = printed.lock();
    printed.finish();
    let score = goal.target.and(printed.last_number);
    let why = match (&ending, goal.target, score) {
        (Err(why), _, _) => Some(why.clone()),
        (Ok(exit), _, _) if !exit.success() => Some(GoalFailure::Exited { exit: *exit }),
        (Ok(_), Some(target), Some(score)) if score < target => Some(GoalFailure::BelowTarget { score, target }),
        (Ok(_), Some(_), None) => Some(GoalFailure::NoNumber),
        (Ok(_), Some(_), Some(_)) | (Ok(_), None, _) => None,
    };
    let report = printed.tests.take().and_then(OutputReader::finish);
    // The ends of lines are those of a terminal.
    let output = std::mem::take(&mut printed.tail).replace("\r\n", "\n");
    let result = GoalResult {
        name: goal.name.clone(),
        passed: why.is_none(),
        exit: ending.ok(),
        score,
        target: goal.target,
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        why,
        tail: Tail::from(&output),
        tests: report.as_ref().map(|report| report.counts.clone()),
        doubt: report
            .as_ref()
            .and_then(|report| report.inconsistent.as_ref().map(Text::from)),
        failed_tests: report.as_ref().map(failed_tests).unwrap_or_default(),
        flaky: None,
        newly_skipped: Default::default(),
        sealed_output: None,
    };
    CheckedGoal { result, report, output }
}

/// Lets a goal pass that failed with an exit code, if each failed test is named and in `known`, and other tests passed.
fn forgiven(mut checked: CheckedGoal, known: &[String]) -> CheckedGoal {
    let CheckedGoal { result, report, .. } = &mut checked;
    let (
        Some(GoalFailure::Exited {
            exit: Exit::Code { .. },
        }),
        None,
        Some(report),
    ) = (&result.why, result.target, report)
    else {
        return checked;
    };
    let TestReport { counts, failed, .. } = report;
    let are_named = !failed.is_empty() && u32::try_from(failed.len()) == Ok(counts.failed);
    if are_named && report.inconsistent.is_none() && counts.passed > 0 && failed.iter().all(|name| known.contains(name))
    {
        result.passed = true;
        result.why = None;
    }
    checked
}

/// Returns the names of the first failed tests.
fn failed_tests(report: &TestReport) -> TestNames {
    report.failed.iter().map(Text::from).collect()
}

/// The kept part of a goal's output.
#[derive(Debug, Default)]
struct GoalOutput {
    /// Reads the lines of its bytes, without colours; `None` before the first and after the last of them.
    plain: Option<PlainText>,
    tail: String,
    kept_bytes: usize,
    last_number: Option<f64>,
    /// Taken when the goal has ended.
    tests: Option<OutputReader<'static>>,
}

impl GoalOutput {
    fn read_by(reader: OutputReader<'static>, kept_bytes: usize) -> Self {
        GoalOutput {
            kept_bytes,
            tests: Some(reader),
            ..GoalOutput::default()
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let plain = self.plain.take();
        let mut plain = plain.unwrap_or_else(|| PlainText::new(KeptEscapes::Nothing));
        plain.feed_blocks(bytes, |lines| match lines {
            PlainLines::One(line) => self.line(line),
            PlainLines::AsIs(lines) => self.lines(lines),
        });
        self.plain = Some(plain);
    }

    /// Reads a last line without an end.
    fn finish(&mut self) {
        if let Some(mut plain) = self.plain.take() {
            plain.finish(|line| self.line(line));
        }
    }

    fn line(&mut self, line: &str) {
        if let Some(tests) = &mut self.tests {
            tests.line(line);
        }
        if let Some(number) = last_number(line) {
            self.last_number = Some(number);
        }
        self.tail.push_str(line);
        self.tail.push('\n');
        self.cut();
    }

    /// Takes whole lines. What costs something for each line is done for few of them: a goal may print millions.
    fn lines(&mut self, lines: &str) {
        if let Some(tests) = &mut self.tests {
            tests.lines(lines);
        }
        if lines.bytes().any(|byte| byte.is_ascii_digit()) {
            self.last_number = lines.lines().rev().find_map(last_number).or(self.last_number);
        }
        let mut kept = lines.len().saturating_sub(self.kept_bytes);
        while !lines.is_char_boundary(kept) {
            kept += 1;
        }
        self.tail.push_str(&lines[kept..]);
        self.cut();
    }

    fn cut(&mut self) {
        if self.tail.len() > 2 * self.kept_bytes {
            let mut cut = self.tail.len() - self.kept_bytes;
            while !self.tail.is_char_boundary(cut) {
                cut += 1;
            }
            self.tail.drain(..cut);
        }
    }
}

/// Returns the last number of a line: `87.5` in `coverage: 87.5%`.
fn last_number(line: &str) -> Option<f64> {
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    line.split(|c| !digits(c))
        .rev()
        .find_map(|word| word.trim_end_matches(['.', '-']).parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_of_a_line_is_its_score() {
        assert_eq!(last_number("coverage: 87.5%"), Some(87.5));
        assert_eq!(last_number("12 of 40 passed."), Some(40.0));
        assert_eq!(last_number("-3"), Some(-3.0));
        assert_eq!(last_number("nothing - here."), None);
    }

    #[test]
    fn lines_that_arrive_together_are_taken_as_if_they_came_one_by_one() {
        let outputs = [
            "score 1\nscore 7.5\nno more\n",
            "\n\n",
            &"é\n".repeat(3 * TAIL_BYTES),
            &"12 of 40\r\n".repeat(10_000),
        ];
        for output in outputs {
            let read = |take: fn(&mut GoalOutput, &str)| {
                let mut printed = GoalOutput {
                    kept_bytes: TAIL_BYTES,
                    ..GoalOutput::default()
                };
                take(&mut printed, output);
                printed
            };
            let one_by_one = read(|printed, output| output.lines().for_each(|line| printed.line(line)));
            let together = read(GoalOutput::lines);
            assert_eq!(together.last_number, one_by_one.last_number);
            let together = together.tail.replace("\r\n", "\n");
            assert!(!together.is_empty() && one_by_one.tail.ends_with(&together));
        }
    }

    #[test]
    fn lines_that_arrive_in_pieces_are_read_without_their_colours() {
        let mut printed = GoalOutput {
            kept_bytes: TAIL_BYTES,
            ..GoalOutput::default()
        };
        for piece in "\x1b[32m2 passed\x1b[0m\nno \x1b[1mend".as_bytes().chunks(3) {
            printed.bytes(piece);
        }
        printed.finish();
        assert_eq!(printed.tail, "2 passed\nno end\n");
    }

    #[test]
    fn only_the_end_of_the_output_is_kept() {
        let mut printed = GoalOutput {
            kept_bytes: TAIL_BYTES,
            ..GoalOutput::default()
        };
        for n in 0..10_000 {
            printed.line(&format!("line {n} →"));
        }
        assert!(printed.tail.len() <= 2 * TAIL_BYTES);
        assert!(printed.tail.ends_with("line 9999 →\n"));
    }
}
