//! `ralph blame`: which iteration wrote a line, and what verified it.

use std::path::{Path, PathBuf};

use ralph_core::{
    event::RunId,
    run::{Iteration, RunView},
};
use ralph_git::{BlamedLine, GitError, HistoryState, LineOrigin, Repository};
use ralph_system::proc::Supervisor;
use serde::Serialize;

use super::{
    ProjectPlace,
    history::{HistoryMoment, PastRun, moments, past_runs},
};
use crate::{
    error::{Failure, FailureKind},
    many::trees_of,
    review::{Projects, commit_span},
    ui::restorer::repository,
};

/// A line of a file with the work that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LineBlame {
    /// From 1.
    pub(crate) line: u32,
    pub(crate) text: String,
    #[serde(flatten)]
    pub(crate) author: LineAuthor,
}

/// The author of a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum LineAuthor {
    /// An agent, or a program that it started.
    Iteration {
        #[serde(flatten)]
        iteration: Box<BlamedIteration>,
        /// The commit with which the line arrived, if a batch merged it.
        #[serde(skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A person or another program, before this iteration began. No commit of that time has it.
    Hand { run: RunId, number: u32, before: u32 },
    /// A person or another program, after the last iteration. No commit has it.
    Now,
    Commit {
        commit: String,
        author: String,
        at_ms: u64,
        subject: String,
    },
}

/// An iteration that wrote lines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlamedIteration {
    pub(crate) run: RunId,
    /// The number of the run among those of its project, from 1; 0 if it has none.
    pub(crate) number: u32,
    pub(crate) project: PathBuf,
    pub(crate) iteration: u32,
    pub(crate) started_ms: u64,
    pub(crate) adapter: String,
    pub(crate) model: Option<String>,
    pub(crate) task: Option<String>,
    /// The file with the prompt; `None` if it is gone.
    pub(crate) prompt: Option<PathBuf>,
    /// The first verification after the line was written; `None` if no goal has run since.
    pub(crate) verified: Option<BlamedVerification>,
}

/// The results of the goals after a line's iteration, or after a later one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlamedVerification {
    /// The iteration after which the goals ran.
    pub(crate) iteration: u32,
    /// Names of the goals that passed.
    pub(crate) passed: Vec<String>,
    /// Names of the goals that failed; empty unless the goals never passed since.
    pub(crate) failed: Vec<String>,
}

/// Finds who wrote the lines of `file`, relative to the project; of one line, if one is given.
///
/// # Errors
/// A [`Failure`] without a repository, for a file that checkpoints do not hold, or if git fails.
pub(crate) fn blame(
    place: &ProjectPlace,
    file: &Path,
    line: Option<u32>,
    include: Vec<String>,
    supervisor: &Supervisor,
) -> Result<Vec<LineBlame>, Failure> {
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let repository = repository(&place.paths, scratch.path(), include, supervisor)?;
    let path = whole_path(&place.project.join(file));
    let path = path.strip_prefix(repository.root()).unwrap_or(file);
    let runs = past_runs(&place.paths);
    let moments = moments(&runs);
    let states = moments.iter().map(|moment| HistoryState {
        checkpoint: moment.checkpoint.clone(),
        has_commits_of_others: moment.is_before,
    });
    let states: Vec<HistoryState> = states.collect();
    let lines = repository.blame(&states, path, line).map_err(|error| match error {
        GitError::Refused { said, .. } if said.contains("has only") => {
            let why = said.trim_start_matches("fatal: ").trim_start_matches("file ");
            Failure::new(FailureKind::Usage, why)
        }
        error => error.into(),
    })?;
    let Some(lines) = lines else {
        let why = format!(
            "{}: no checkpoint holds it, so nobody knows who wrote it",
            file.display()
        );
        return Err(Failure::new(FailureKind::Failed, why)
            .hint("checkpoints hold files that git does not ignore, and those of `checkpoint.include`"));
    };
    let has_commits = lines
        .iter()
        .any(|line| matches!(line.origin, LineOrigin::Commit { .. }));
    let merged = if has_commits {
        merged_commits(place, &repository)
    } else {
        Vec::new()
    };
    Ok(lines.into_iter().map(|line| blamed(line, &moments, &merged)).collect())
}

/// The path without `..` and with the links of its directory resolved.
fn whole_path(path: &Path) -> PathBuf {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        (_, _) => path.to_owned(),
    }
}

/// Iterations of batches, with the commits that they made by the beginning of their names.
fn merged_commits(place: &ProjectPlace, repository: &Repository) -> Vec<(String, BlamedIteration)> {
    let (root, state) = (place.paths.states().root().to_owned(), place.paths.state());
    let trees = trees_of(&root, state);
    let projects = Projects::below(root).all();
    let projects = projects.iter().filter(|paths| paths.project().starts_with(&trees));
    let runs: Vec<PastRun> = projects.flat_map(past_runs).collect();
    let iterations = runs
        .iter()
        .flat_map(|run| run.view.iterations.rows.iter().map(move |row| (run, row)));
    let (with_commits, spans): (Vec<_>, Vec<_>) = iterations
        .filter_map(|(run, row)| Some(((run, row), commit_span(row)?)))
        .unzip();
    let commits = repository.commits_of_each(&spans);
    let found = with_commits.into_iter().zip(commits);
    let found = found.flat_map(|((run, row), commits)| {
        let iteration = blamed_iteration(run, row);
        commits.into_iter().map(move |commit| (commit.id, iteration.clone()))
    });
    found.collect()
}

fn blamed(line: BlamedLine, moments: &[HistoryMoment<'_>], merged: &[(String, BlamedIteration)]) -> LineBlame {
    let author = match line.origin {
        LineOrigin::Now => LineAuthor::Now,
        LineOrigin::State(index) => {
            let HistoryMoment {
                run,
                iteration,
                is_before,
                ..
            } = &moments[index];
            match is_before {
                true => LineAuthor::Hand {
                    run: run.id.clone(),
                    number: run.view.number,
                    before: iteration.number,
                },
                false => LineAuthor::Iteration {
                    iteration: Box::new(blamed_iteration(run, iteration)),
                    commit: None,
                },
            }
        }
        LineOrigin::Commit {
            id,
            author,
            at_s,
            subject,
        } => match merged.iter().find(|(beginning, _)| id.starts_with(beginning.as_str())) {
            Some((_, iteration)) => LineAuthor::Iteration {
                iteration: Box::new(iteration.clone()),
                commit: Some(id),
            },
            None => LineAuthor::Commit {
                commit: id,
                author,
                at_ms: at_s.saturating_mul(1000),
                subject,
            },
        },
    };
    LineBlame {
        line: line.number,
        text: line.text,
        author,
    }
}

fn blamed_iteration(run: &PastRun, iteration: &Iteration) -> BlamedIteration {
    let prompt = run.paths.run(&run.id).prompt(iteration.number);
    BlamedIteration {
        run: run.id.clone(),
        number: run.view.number,
        project: run.paths.project().to_owned(),
        iteration: iteration.number,
        started_ms: iteration.started_ms,
        adapter: iteration.adapter.clone(),
        model: iteration.shown_model().map(str::to_owned),
        task: iteration.task.clone(),
        prompt: prompt.is_file().then_some(prompt),
        verified: verification(&run.view, iteration.number),
    }
}

/// The first verification since the iteration in which all goals passed, or else the last one that failed.
fn verification(view: &RunView, since: u32) -> Option<BlamedVerification> {
    let checks = view.iterations.rows.iter().filter_map(|row| {
        let goals = &row.look.goals;
        let of = |passed| {
            let named = goals.iter().filter(move |goal| goal.passed == passed);
            named.map(|goal| goal.name.clone()).collect::<Vec<String>>()
        };
        (row.number >= since && !goals.is_empty()).then(|| BlamedVerification {
            iteration: row.number,
            passed: of(true),
            failed: of(false),
        })
    });
    let checks: Vec<BlamedVerification> = checks.collect();
    let passed = checks.iter().find(|check| check.failed.is_empty());
    passed.or(checks.last()).cloned()
}
