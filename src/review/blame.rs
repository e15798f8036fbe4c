//! The iteration that wrote a line of a file, and what verified it.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use ralph_core::{
    event::RunId,
    run::{Iteration, RunView},
};
use ralph_git::{BlamedContent, BlamedLine, GitError, HistoryState, LineOrigin, NoRepository, Repository};
use ralph_state::store::paths::ProjectPaths;
use ralph_system::proc::Supervisor;
use ralph_text::one_line;
use serde::Serialize;
use thiserror::Error;

use super::{
    Projects, commit_span, date_time,
    history::{HistoryMoment, PastRun, moments, past_runs},
    repository::repository,
};

#[derive(Debug, Error)]
pub(crate) enum BlameError {
    #[error("no temporary directory")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    NoRepository(#[from] NoRepository),
    #[error("{why}")]
    NoSuchLine { why: String },
    #[error("{}: no checkpoint holds it, so nobody knows who wrote it", .file.display())]
    NotHeld { file: PathBuf },
    #[error(transparent)]
    Git(GitError),
}

impl From<GitError> for BlameError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Refused { said, .. } if said.contains("has only") => {
                let why = said.trim_start_matches("fatal: ").trim_start_matches("file ");
                BlameError::NoSuchLine { why: why.to_owned() }
            }
            error => BlameError::Git(error),
        }
    }
}

/// A file, or a line of it, whose author is asked for.
#[derive(Debug, Clone)]
pub(crate) struct BlameRequest {
    pub(crate) file: PathBuf,
    /// Whether `file` is relative to the root of the repository, as in a patch. Otherwise it is relative to the project.
    pub(crate) from_root: bool,
    /// From 1; `None` for all lines.
    pub(crate) line: Option<u32>,
    /// The iteration whose result the file is looked up in. `None`, or an iteration that still runs, for the present files.
    pub(crate) after: Option<(RunId, u32)>,
    /// The setting `checkpoint.include`.
    pub(crate) include: Vec<String>,
}

/// A line of a file with the work that it comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlamedVerification {
    /// The iteration after which the goals ran.
    pub(crate) iteration: u32,
    /// Names of the goals that passed.
    pub(crate) passed: Vec<String>,
    /// Names of the goals that failed; empty unless the goals never passed since.
    pub(crate) failed: Vec<String>,
}

/// Finds who wrote the requested lines of a project's file.
///
/// # Errors
/// [`BlameError::NotHeld`] for a file that checkpoints do not hold, the others as they are named.
pub(crate) fn blame(
    paths: &ProjectPaths,
    request: BlameRequest,
    supervisor: &Supervisor,
) -> Result<Vec<LineBlame>, BlameError> {
    let BlameRequest {
        file,
        from_root,
        line,
        after,
        include,
    } = request;
    let scratch = tempfile::tempdir().map_err(BlameError::Scratch)?;
    let repository = repository(paths, scratch.path(), include, supervisor)?;
    let path = match from_root {
        true => file.clone(),
        false => {
            let path = whole_path(&paths.project().join(&file));
            path.strip_prefix(repository.root()).unwrap_or(&file).to_owned()
        }
    };
    let runs = past_runs(paths);
    let mut moments = moments(&runs);
    let is_wanted = |moment: &HistoryMoment<'_>| {
        let wanted = after.as_ref().map(|(run, iteration)| (run, *iteration));
        !moment.is_before && wanted == Some((&moment.run.id, moment.iteration.number))
    };
    let content = match moments.iter().position(is_wanted) {
        Some(last) => {
            moments.truncate(last + 1);
            BlamedContent::LastState
        }
        None => BlamedContent::Present {
            has_commits_of_others: moments.last().is_none_or(|last| !last.is_before),
        },
    };
    let states = moments.iter().map(|moment| HistoryState {
        checkpoint: moment.checkpoint.clone(),
        has_commits_of_others: moment.is_before,
    });
    let states: Vec<HistoryState> = states.collect();
    let Some(lines) = repository.blame(&states, content, &path, line)? else {
        return Err(BlameError::NotHeld { file });
    };
    let has_commits = lines
        .iter()
        .any(|line| matches!(line.origin, LineOrigin::Commit { .. }));
    let merged = if has_commits {
        merged_commits(paths, &repository)
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
fn merged_commits(paths: &ProjectPaths, repository: &Repository) -> Vec<(String, BlamedIteration)> {
    let trees = paths.work_trees();
    let projects = Projects::below(paths.states().root().to_owned()).all();
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
        LineOrigin::Now => match moments.last() {
            // This iteration still runs, or was interrupted.
            Some(last) if last.is_before => LineAuthor::Iteration {
                iteration: Box::new(blamed_iteration(last.run, last.iteration)),
                commit: None,
            },
            _ => LineAuthor::Now,
        },
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

/// Formats all that is known of a line of `file`.
pub(crate) fn blame_in_words(file: &str, line: &LineBlame) -> String {
    let mut text = format!("{}:{}  {}\n", one_line(file), line.line, one_line(&line.text));
    let mut row = |name: &str, value: &str| {
        writeln!(text, "  {name:<9} {}", one_line(value)).expect("a string takes every write");
    };
    match &line.author {
        LineAuthor::Iteration { iteration, commit } => {
            let BlamedIteration { run, number, .. } = &**iteration;
            let n = iteration.iteration;
            let when = date_time(iteration.started_ms);
            row("written", &format!("in iteration {n} of run {number} ({run}), {when}"));
            let model = iteration.model.as_deref().map(|model| format!(", {model}"));
            row("agent", &format!("{}{}", iteration.adapter, model.unwrap_or_default()));
            row("task", iteration.task.as_deref().unwrap_or("none"));
            row("verified", &verified(iteration));
            if let Some(commit) = commit {
                row("merged", &format!("with commit {commit:.12}"));
                row("tree", &iteration.project.display().to_string());
            }
            if let Some(prompt) = &iteration.prompt {
                row("prompt", &prompt.display().to_string());
            }
            if commit.is_none() {
                row("changes", &format!("`ralph diff {n} --run {number}` shows them"));
            }
        }
        LineAuthor::Hand { run, number, before } => row(
            "written",
            &format!("by hand or by another program, before iteration {before} of run {number} ({run})"),
        ),
        LineAuthor::Now => row("written", "by hand or by another program, since the last iteration"),
        LineAuthor::Commit {
            commit,
            author,
            at_ms,
            subject,
        } => {
            row("written", &format!("by {author}, {}", date_time(*at_ms)));
            row("commit", &format!("{commit:.12} {subject}"));
        }
    }
    text
}

fn verified(iteration: &BlamedIteration) -> String {
    let Some(found) = &iteration.verified else {
        return "no: no goal has run since".to_owned();
    };
    let after = match found.iteration == iteration.iteration {
        true => "after this iteration".to_owned(),
        false => format!("after iteration {}", found.iteration),
    };
    match &found.failed[..] {
        [] => format!("{} passed {after}", found.passed.join(", ")),
        failed => format!(
            "no: {} failed {after}, and not all goals passed since",
            failed.join(", ")
        ),
    }
}
