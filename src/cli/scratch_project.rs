//! Has an agent write one file for the project: a plan, or instructions for agents.
//!
//! The agent runs in a normal loop over an assignment of one task, in a scratch directory. Choice of the agent, limits,
//! sandbox, stopping and clean-up are those of the loop. A checkpoint of the project is taken before and restored
//! afterwards.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_core::event::{Goal, Hooks, RunId};
use ralph_driver::RunChoice;
use ralph_git::{Moment, Repository};
use ralph_system::proc::Supervisor;
use ralph_text::{console::complain, one_line, with_causes};
use tempfile::TempDir;

use crate::{
    app::{self, ProjectPlace},
    config::{self, Loaded, Notify},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    args::Args,
    run::{diagnostics, screen, sources},
};

/// Name of the file with the assignment: the plan of that loop.
const ASSIGNMENT: &str = "ASSIGNMENT.md";
/// Upper bounds for writing one file. Lower limits of the user's apply.
const ITERATIONS: u32 = 3;
const TIME_MS: u64 = 30 * 60_000;

/// A file that an agent writes there.
pub(super) struct Assignment<'a> {
    /// The file that it writes.
    pub(super) written: &'a str,
    /// A plan of one task.
    pub(super) text: &'a str,
    /// The message for an agent that did not finish.
    pub(super) unfinished: &'a str,
    /// The command that says whether the file is as it has to be; `None` if it only has to be there.
    pub(super) check: Option<String>,
}

/// The scratch directory of the agent, deleted on drop.
pub(super) struct ScratchProject {
    scratch: TempDir,
    pub(super) directory: PathBuf,
}

impl ScratchProject {
    pub(super) fn new(prefix: &str) -> Result<Self, Failure> {
        let scratch = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
        let directory = scratch.path().join("desk");
        fs::create_dir(&directory).map_err(|error| failed(&directory, &error))?;
        let directory = directory.canonicalize().map_err(|error| failed(&directory, &error))?;
        Ok(Self { scratch, directory })
    }

    /// Writes a file there for the agent to read.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let file = self.file(name);
        fs::write(&file, bytes).map_err(|error| failed(&file, &error))
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Has the agent carry out an assignment. If it did not finish, says so and returns the exit code of that run.
    pub(super) fn run_agent(
        &self,
        assignment: &Assignment<'_>,
        args: &Args,
        place: &ProjectPlace,
        supervisor: &Supervisor,
    ) -> Result<Option<u8>, Failure> {
        self.write(ASSIGNMENT, assignment.text.as_bytes())?;
        let guard = ProjectCheckpoint::take(place, self.scratch.path(), supervisor);
        let code = work(args, place, (&self.directory, &self.state()), assignment, supervisor);
        guard.restore()?;
        let code = code?;
        // A user who interrupted the run needs no explanation.
        if ![0, 129, 130, 143].contains(&code) {
            complain(assignment.unfinished);
        }
        Ok((code != 0).then_some(code))
    }

    /// The directory with the states of its runs.
    pub(super) fn state(&self) -> PathBuf {
        self.scratch.path().join("state")
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FailureKind::Failed, format!("{}: {error}", path.display()))
}

/// Runs the agent in `directory`, and returns the exit code of that run.
fn work(
    args: &Args,
    place: &ProjectPlace,
    (directory, state): (&Path, &Path),
    assignment: &Assignment<'_>,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let mut loaded = config::load(&sources(args, place))?;
    assign(&mut loaded, assignment);
    // The warning before a limit says how to raise it, and this run cannot be continued.
    loaded.config.limits.warn_at = None;
    let scratch_place = ProjectPlace {
        own: place.own.clone(),
        ..ProjectPlace::for_project(directory.to_owned(), Some(state))?
    };
    // The run is deleted with the scratch project, so it cannot be continued.
    let presentation = Presentation::for_stdout(OutputFormat::Text)
        .suiting(screen(args, place))
        .without_hints();
    let diagnostics = diagnostics(&args.show, presentation);
    let opening = RunChoice::AsFound;
    app::run(
        &scratch_place,
        &loaded,
        presentation,
        &diagnostics,
        supervisor,
        None,
        opening,
    )
}

/// Turns the user's settings into those of the assignment: how agents are run is kept, what concerns the project's own
/// work is replaced.
fn assign(loaded: &mut Loaded, assignment: &Assignment<'_>) {
    let config = &mut loaded.config;
    config.plan = Some(PathBuf::from(ASSIGNMENT));
    (config.mode, config.prompt, config.prompt_file) = (None, None, None);
    config.goals.enabled = vec![Goal {
        name: "written".to_owned(),
        command: match &assignment.check {
            Some(check) => check.clone(),
            None => format!("test -s {}", assignment.written),
        },
        target: None,
        timeout_ms: 60_000,
        on_edit: false,
        ..Goal::default()
    }];
    config.completion.promise = None;
    config.checkpoint.include.clear();
    (config.listen, config.notify) = (None, Notify::None);
    config.hooks = Hooks::default();
    let limits = &mut config.limits;
    limits.max_iterations = Some(limits.max_iterations.map_or(ITERATIONS, |most| most.min(ITERATIONS)));
    limits.max_time_ms = Some(limits.max_time_ms.map_or(TIME_MS, |most| most.min(TIME_MS)));
}

/// A checkpoint of the project from before the agent ran.
struct ProjectCheckpoint {
    repository: Option<Repository>,
    run: RunId,
}

impl ProjectCheckpoint {
    fn take(place: &ProjectPlace, scratch: &Path, supervisor: &Supervisor) -> Self {
        let run = RunId(format!("desk-{}", std::process::id()));
        let found = Repository::discover(&place.project, scratch, &place.paths.states(), supervisor);
        let taken = found.map_err(|error| with_causes(&error)).and_then(|(repository, _)| {
            match repository.checkpoint(&run, 1, Moment::Before) {
                Ok(_) => Ok(repository),
                Err(error) => Err(with_causes(&error)),
            }
        });
        let repository = taken
            .inspect_err(|why| {
                complain(&format!(
                    "note: a change by the agent to this project could not be undone: {why}"
                ))
            })
            .ok();
        Self { repository, run }
    }

    /// Restores the files that differ, and names them.
    fn restore(self) -> Result<(), Failure> {
        let Some(repository) = self.repository else {
            return Ok(());
        };
        let restored = repository.restore(&self.run, 1, Moment::Before);
        let restored = restored.map_err(|error| Failure::of(FailureKind::Failed, &error))?;
        let paths: Vec<String> = [&restored.written[..], &restored.deleted]
            .concat()
            .iter()
            .map(|path| one_line(&path.to_string_lossy()))
            .collect();
        if !paths.is_empty() {
            complain(&format!(
                "the agent changed the project; its changes were undone: {}",
                paths.join(", ")
            ));
        }
        repository
            .forget(&self.run)
            .map_err(|error| Failure::of(FailureKind::Failed, &error))
    }
}
