//! `ralph import --with-agent`: an agent writes the plan, somebody reads the difference, and only then it is the plan.
//!
//! The agent is run as in any run, by a loop of its own over an assignment of one task, in a directory made for it: choice, limits,
//! sandbox, stopping and what is left running are the loop's. The project is compared around it and put back.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    app::{self, Place},
    begin::{self, Imported},
    config::{self, Loaded, Notify},
    console::{self, complain, print},
    driver::Opening,
    error::{Failure, FailureKind},
    event::{Goal, RunId},
    files::{PLAN_CAP_BYTES, read_bytes, replace_unless_changed},
    git::{Moment, Repository},
    plan::{self, PlanKind},
    proc::Supervisor,
    text::{one_line, with_causes},
    ui::{Presentation, headless::Format},
    words::counted,
};

use super::{
    args::Args,
    confirm::is_confirmed,
    run::{diagnostics, screen, sources},
    trust,
};

/// What the agent writes, and what it is told to write it by.
const WRITTEN: &str = "PLAN.md";
const ASSIGNMENT: &str = "ASSIGNMENT.md";
const SPEC: &str = "requirements.md";
/// Whatever the limits of a run are, a plan takes no longer.
const ITERATIONS: u32 = 3;
const TIME_MS: u64 = 30 * 60_000;

/// What is asked of the agent.
pub(super) struct Wish<'a> {
    pub(super) spec: &'a [u8],
    /// What structure alone finds, if it finds anything.
    pub(super) found: Option<&'a Imported>,
    pub(super) to: &'a Path,
    pub(super) yes: bool,
}

pub(super) fn run(args: &Args, wish: &Wish<'_>, supervisor: &Supervisor) -> Result<u8, Failure> {
    // It would cost a session to find out.
    if !wish.yes && !console::is_answered() {
        return Err(
            Failure::new(FailureKind::Usage, "not a terminal, so nobody can confirm the plan")
                .hint("`--yes` takes the plan that the agent writes, if it can be read and nothing is lost in it"),
        );
    }
    let place = trust::place_to_run(args)?;
    let before = existing(wish.to)?;
    let scratch = tempfile::Builder::new()
        .prefix("ralph-import-")
        .tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let failed = |error: io::Error| Failure::new(FailureKind::Failed, format!("{}: {error}", scratch.path().display()));
    let desk = scratch.path().join("plan");
    fs::create_dir(&desk).map_err(failed)?;
    let desk = desk.canonicalize().map_err(failed)?;
    let project = place.project.display().to_string();
    fs::write(desk.join(SPEC), wish.spec).map_err(failed)?;
    let assignment = begin::assignment(WRITTEN, SPEC, &project, wish.found);
    fs::write(desk.join(ASSIGNMENT), assignment).map_err(failed)?;

    let guard = Untouched::of(&place, scratch.path(), supervisor);
    let code = work(args, &place, &desk, &scratch.path().join("state"), supervisor);
    guard.restore()?;
    match code? {
        0 => {}
        // Whoever interrupted it knows.
        code @ (129 | 130 | 143) => return Ok(code),
        code => {
            complain(
                "the agent did not finish the plan: nothing is written\n\
                 hint: the same command again asks it once more; without `--with-agent`, structure alone makes a plan",
            );
            return Ok(code);
        }
    }
    let plan = accepted(&desk.join(WRITTEN), wish.found)?;
    print(&difference(
        before.as_deref(),
        &plan,
        scratch.path(),
        wish.to,
        supervisor,
    ));
    if before.as_deref() == Some(plan.as_bytes()) {
        complain("the plan is what it was: nothing is written");
        return Ok(0);
    }
    if !wish.yes {
        complain(&format!("Write this to {}? [y/N]", wish.to.display()));
        if !is_confirmed()? {
            complain("nothing is written");
            return Ok(0);
        }
    }
    write(wish.to, before.as_deref(), &plan)?;
    complain(&format!("wrote {}; `ralph {0}` starts", wish.to.display()));
    Ok(0)
}

/// The plan that is there.
fn existing(to: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match read_bytes(to, PLAN_CAP_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(Failure::new(
            FailureKind::Failed,
            format!("{}: {}", to.display(), with_causes(&error)),
        )),
    }
}

/// Has the agent work at its desk, and returns the exit code of that run.
fn work(args: &Args, place: &Place, desk: &Path, state: &Path, supervisor: &Supervisor) -> Result<u8, Failure> {
    let mut loaded = config::load(&sources(args, place))?;
    assign(&mut loaded);
    let at_desk = Place {
        own: place.own.clone(),
        ..Place::of(desk.to_owned(), Some(state))?
    };
    // The run is gone with its desk: there is nothing to continue.
    let presentation = Presentation::of_stdout(Format::Text)
        .suiting(screen(args, place))
        .without_hints();
    let diagnostics = diagnostics(&args.show, presentation);
    let opening = Opening::AsFound;
    app::run(&at_desk, &loaded, presentation, &diagnostics, supervisor, None, opening)
}

/// What the user's settings say of how an agent is run stays; what they say of the project's own work does not.
fn assign(loaded: &mut Loaded) {
    let config = &mut loaded.config;
    config.plan = Some(PathBuf::from(ASSIGNMENT));
    (config.mode, config.prompt, config.prompt_file) = (None, None, None);
    config.goals.enabled = vec![Goal {
        name: "plan".to_owned(),
        command: format!("test -s {WRITTEN}"),
        target: None,
        timeout_ms: 60_000,
        on_edit: false,
        ..Goal::default()
    }];
    config.completion.promise = None;
    config.checkpoint.include.clear();
    (config.listen, config.notify) = (None, Notify::None);
    let limits = &mut config.limits;
    limits.max_iterations = Some(limits.max_iterations.map_or(ITERATIONS, |most| most.min(ITERATIONS)));
    limits.max_time_ms = Some(limits.max_time_ms.map_or(TIME_MS, |most| most.min(TIME_MS)));
}

/// What the agent wrote, if it can be taken for the plan.
fn accepted(path: &Path, found: Option<&Imported>) -> Result<String, Failure> {
    let refused = |why: String| {
        Failure::new(
            FailureKind::Failed,
            format!("what the agent wrote cannot be the plan: {why}"),
        )
        .hint("nothing is written; without `--with-agent`, structure alone makes a plan")
    };
    let bytes = read_bytes(path, PLAN_CAP_BYTES).map_err(|error| refused(with_causes(&error)))?;
    let read = plan::read_bytes(PlanKind::Markdown, &bytes).map_err(|error| refused(error.to_string()))?;
    if let Some(mistake) = read.mistakes.first() {
        return Err(refused(format!("{}: {}", mistake.position, mistake.what)));
    }
    if read.plan.open() == 0 {
        return Err(refused("it has no open task".to_owned()));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let tasks: Vec<&str> = read.plan.tasks.iter().map(|task| task.text.as_str()).collect();
    begin::check(&text, &tasks, found).map_err(|error| refused(error.to_string()))?;
    complain(&format!("the agent's plan has {}", counted(tasks.len() as u64, "task")));
    Ok(text)
}

/// The lines that differ, as git shows them; the whole plan where there was none.
fn difference(before: Option<&[u8]>, plan: &str, scratch: &Path, to: &Path, supervisor: &Supervisor) -> String {
    let whole = || plan.lines().map(|line| format!("+{line}\n")).collect::<String>();
    let text = before.map_or_else(whole, |before| {
        let (old, new) = (scratch.join("before"), scratch.join("after"));
        let written = fs::write(&old, before).and_then(|()| fs::write(&new, plan));
        let git = supervisor
            .helper("git")
            .args(["diff", "--no-index", "--no-color", "--no-ext-diff", "--"])
            .args([&old, &new])
            .current_dir(scratch);
        match written.is_ok().then(|| git.run()) {
            Some(Ok(shown)) => {
                let shown = String::from_utf8_lossy(&shown.stdout.bytes).into_owned();
                let hunks = shown.lines().skip_while(|line| !line.starts_with("@@"));
                let hunks: String = hunks.map(|line| format!("{line}\n")).collect();
                // Of what is no text, git shows none.
                if hunks.is_empty() { whole() } else { hunks }
            }
            Some(Err(_)) | None => whole(),
        }
    });
    let text: String = text
        .chars()
        .filter(|sign| *sign == '\n' || !sign.is_control())
        .collect();
    format!("{}\n{text}", to.display())
}

/// Writes the plan where `before` was shown, and nowhere else.
fn write(to: &Path, before: Option<&[u8]>, plan: &str) -> Result<(), Failure> {
    let written = replace_unless_changed(to, before, plan, PLAN_CAP_BYTES).map_err(|error| {
        Failure::new(
            FailureKind::Failed,
            format!("{}: cannot be written: {error}", to.display()),
        )
    })?;
    if !written {
        let why = format!("{}: it has changed meanwhile and is left as it is", to.display());
        return Err(Failure::new(FailureKind::Failed, why)
            .hint("the same command again shows the difference to what is there now"));
    }
    Ok(())
}

/// The project as it was before the agent.
struct Untouched {
    repository: Option<Repository>,
    run: RunId,
}

impl Untouched {
    fn of(place: &Place, scratch: &Path, supervisor: &Supervisor) -> Self {
        let run = RunId(format!("import-{}", std::process::id()));
        let found = Repository::discover(&place.project, scratch, supervisor);
        let taken = found.map_err(|error| with_causes(&error)).and_then(|(repository, _)| {
            match repository.checkpoint(&run, 1, Moment::Before) {
                Ok(_) => Ok(repository),
                Err(error) => Err(with_causes(&error)),
            }
        });
        let repository = taken
            .inspect_err(|why| {
                complain(&format!(
                    "note: a change of the agent's to this project could not be undone: {why}"
                ))
            })
            .ok();
        Self { repository, run }
    }

    /// Puts back what is not as it was.
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
                "the agent has changed the project, which is put back: {}",
                paths.join(", ")
            ));
        }
        repository
            .forget(&self.run)
            .map_err(|error| Failure::of(FailureKind::Failed, &error))
    }
}
