//! Checks the project: its repository, its plan, and what earlier runs have left.

use ralph_core::event::EndKind;
use ralph_git::{NoRepository, Repository};
use ralph_state::store::{journal::read_view, lock};
use ralph_system::proc::Supervisor;
use ralph_text::with_causes;
use ralph_words::{counted, stop_in_words};

use super::model::{DoctorFinding, Fatal, FindingState};
use crate::{
    app::{self, ProjectPlace},
    config::{Config, DeliverTo},
    error::Failure,
};

pub(super) fn findings(
    place: &ProjectPlace,
    config: &Config,
    supervisor: &Supervisor,
    told: &mut dyn FnMut(&DoctorFinding),
) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut add = |finding: DoctorFinding| {
        told(&finding);
        findings.push(finding);
    };
    repository(place, supervisor).into_iter().for_each(&mut add);
    forge(place, config, supervisor).into_iter().for_each(&mut add);
    add(plan(place, config));
    add(runs(place));
    left_running(place, supervisor).into_iter().for_each(&mut add);
    files(place).into_iter().for_each(&mut add);
    findings
}

/// Checks the repository. `None` if git itself is missing, which another row reports.
fn repository(place: &ProjectPlace, supervisor: &Supervisor) -> Option<DoctorFinding> {
    const NAME: &str = "repository";
    let scratch = match tempfile::tempdir() {
        Ok(scratch) => scratch,
        Err(error) => {
            let text = format!("cannot be checked: no temporary directory: {error}");
            return Some(DoctorFinding::new(NAME, FindingState::Weak, text));
        }
    };
    match Repository::discover(&place.project, scratch.path(), &place.paths.states(), supervisor) {
        Ok((repository, notes)) => {
            let text = [vec![repository.root().display().to_string()], notes].concat();
            Some(DoctorFinding::new(NAME, FindingState::Good, text.join(" · ")))
        }
        Err(NoRepository::NoGit) => None,
        Err(error) => {
            let text = format!("{}: no checkpoints, no statistics", with_causes(&error));
            let todo = match error {
                NoRepository::NotARepository { .. } => Some("git init"),
                NoRepository::Bare { .. } | NoRepository::InsideGitDirectory { .. } => {
                    Some("run ralph in a work tree of it: `git worktree add DIR`")
                }
                NoRepository::Ignored { .. } | NoRepository::Home { .. } => {
                    Some("give the project a repository of its own: `git init`")
                }
                NoRepository::WorkTreeElsewhere { .. } => Some("git config --unset core.worktree"),
                NoRepository::ReferencesElsewhere { .. } => Some("delete the file `commondir` there"),
                NoRepository::ForeignGitDirectory { .. } => Some("if you moved the project: git worktree repair"),
                NoRepository::NoGit | NoRepository::Unreadable(_) => None,
            };
            Some(DoctorFinding::new(NAME, FindingState::Weak, text).todos(todo.map(str::to_owned)))
        }
    }
}

/// Asks the forge of the remote, if work is delivered there: its program has to be there, and its token has to be taken.
fn forge(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Option<DoctorFinding> {
    const NAME: &str = "forge";
    (config.deliver == DeliverTo::Pr).then(|| match app::many::forge_answer(place, supervisor) {
        Ok(text) => DoctorFinding::new(NAME, FindingState::Good, text),
        Err(failure) => DoctorFinding::new(NAME, FindingState::Weak, failure.message).todos(failure.hints),
    })
}

fn plan(place: &ProjectPlace, config: &Config) -> DoctorFinding {
    match app::chosen_plan(place, config) {
        Ok((path, reading)) => {
            let plan = &reading.plan;
            let path = path.strip_prefix(&place.project).unwrap_or(&path);
            let tasks = match (plan.open(), plan.tasks.len()) {
                (_, 0) => "no tasks: the goals decide when it is done".to_owned(),
                (open, all) => format!("{open} of {} open", counted(all as u64, "task")),
            };
            DoctorFinding::new("plan", FindingState::Good, format!("{}: {tasks}", path.display()))
        }
        // A plan is needed for a run, but its absence is no fault of the machine: users write it last.
        Err(failure) => DoctorFinding::new("plan", FindingState::Weak, failure.message).todos(failure.hints),
    }
}

/// Whether a run is in progress here, and how the last one ended.
fn runs(place: &ProjectPlace) -> DoctorFinding {
    let paths = &place.paths;
    if lock::is_held(paths) {
        let who = lock::holder(paths).map_or_else(String::new, |holder| format!(" (pid {})", holder.pid));
        return DoctorFinding::new("runs", FindingState::Good, format!("ralph is running here{who}"))
            .todo("`ralph attach` shows it, `ralph stop` stops it");
    }
    let Some(latest) = paths.latest_run() else {
        return DoctorFinding::new("runs", FindingState::Good, "none yet");
    };
    match read_view(paths, &latest) {
        Ok(view) => match view.stop_reason() {
            Some(reason) => {
                let text = format!("the last one: {}", stop_in_words(reason));
                match reason.kind() {
                    EndKind::Bad => {
                        DoctorFinding::new("runs", FindingState::Weak, text).todo("`ralph report` says what it did")
                    }
                    EndKind::Good | EndKind::Unfinished => DoctorFinding::new("runs", FindingState::Good, text),
                }
            }
            None => DoctorFinding::new("runs", FindingState::Weak, format!("run {latest} was interrupted"))
                .todo("`ralph` with the same plan resumes it"),
        },
        Err(error) => DoctorFinding::fatal("runs", Fatal::Machine, &Failure::from(error)),
    }
}

/// Processes that earlier runs left behind.
fn left_running(place: &ProjectPlace, supervisor: &Supervisor) -> Option<DoctorFinding> {
    if lock::is_held(&place.paths) {
        return None;
    }
    let runs: Vec<String> = place.paths.run_ids().into_iter().map(|run| run.0).collect();
    let left = supervisor.left_running(&runs);
    if left.is_empty() {
        return None;
    }
    let pids: Vec<String> = left.iter().map(u32::to_string).collect();
    let text = match pids.len() {
        1 => format!("a process of an earlier run is still running (pid {})", pids[0]),
        count => format!(
            "{count} processes of earlier runs are still running (pids {})",
            pids.join(", ")
        ),
    };
    Some(DoctorFinding::new("left over", FindingState::Weak, text).todo("the next `ralph` here ends them first"))
}

/// Marker files that the user or an agent left for the loop.
fn files(place: &ProjectPlace) -> Vec<DoctorFinding> {
    let paths = &place.paths;
    let told = [
        (
            paths.pause_file(),
            "a run starts paused",
            "`rm .ralph-pause` resumes it",
        ),
        (
            paths.done_file(),
            "of an earlier run: the next one clears it",
            "`rm .ralph-done`, if it should not be there",
        ),
    ];
    told.into_iter()
        .filter(|(path, ..)| path.symlink_metadata().is_ok())
        .map(|(path, text, todo)| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            DoctorFinding::new(name, FindingState::Weak, text).todo(todo)
        })
        .collect()
}
