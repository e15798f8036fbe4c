//! `ralph restore`: restores the files of a checkpoint.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    io::{self, IsTerminal},
    path::PathBuf,
};

use ralph_core::{
    event::{Changes, RunId, StopReason},
    run::RunView,
};
use ralph_git::{CheckpointPosition as Position, Moment, Repository, RestoreResult};
use ralph_review::{date_time, repository, run_number};
use ralph_state::store::journal::read_view;
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::{
    console::{complain, print, print_coloured, warn},
    escape_name,
};
use ralph_ui::tui::RestoreTarget;

use crate::{
    config,
    error::{Failure, FailureKind},
    ui::{
        Presentation,
        headless::OutputFormat,
        restorer::{self, nested_in_words, refuse_while_working, restored_in_words},
    },
};

use super::{
    args::{Args, RestoreArgs},
    confirm::is_confirmed,
    run::{place, sources},
    table::{TableCell, table},
    trust,
};

/// Digits shown of a commit id.
const SHOWN_OF_ID: usize = 12;
/// A number with fewer digits is a run's number and no part of an id.
const SHORTEST_PART: usize = 4;
/// Maximum number of runs named in a hint.
const RUNS_TOLD: usize = 5;

pub(super) fn run(args: &Args, wish: &RestoreArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let run = which_run(&place.paths, wish.run.as_deref())?;
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let repository = repository(&place.paths, scratch.path(), included(args), supervisor)?;
    let (target, what) = match (wish.n, wish.undo) {
        (_, true) => (RestoreTarget::Undo, format!("before the last restore of run {run}")),
        (Some(n), false) if wish.before => (
            RestoreTarget::Before(n),
            format!("{} iteration {n} of run {run}", Moment::Before),
        ),
        (Some(n), false) => (
            RestoreTarget::After(n),
            format!("{} iteration {n} of run {run}", Moment::After),
        ),
        (None, false) => {
            list(&repository, &place.paths, &run)?;
            return Ok(0);
        }
    };
    let target = restorer::position(&repository, &run, target)?;
    refuse_while_working(&place.paths)?;
    let root = repository.root().display();
    let question = format!("Replace the files in {root} with those {what}?");
    if !wish.yes && !confirmed(&question)? {
        print("nothing was changed\n");
        return Ok(0);
    }
    let restored = restorer::restore(&repository, &place.paths, &run, target, supervisor)?;
    print(&in_words(&restored, wish.run.as_deref()));
    Ok(0)
}

/// The setting `checkpoint.include`. Empty with a warning if the configuration cannot be read, since that may be the
/// file to restore.
pub(super) fn included(args: &Args) -> Vec<String> {
    let loaded = trust::place_to_look(args).and_then(|place| Ok(config::load(&sources(args, &place))?));
    match loaded {
        Ok(loaded) => loaded.config.checkpoint.include,
        Err(failure) => {
            warn(&format!("{}; ignored files stay as they are", failure.message));
            Vec::new()
        }
    }
}

/// The error of commands that need a run, in a project without one.
pub(super) fn no_runs() -> Failure {
    Failure::new(FailureKind::Failed, "no runs in this project yet")
        .hint("`ralph PLAN.md` starts one, `ralph demo` shows one")
}

/// Finds a run by its number, by its id, by a unique beginning or end of the id, or by `-N`, which counts from the latest.
/// Without a name, returns the latest run, or the one before if the latest only verified a finished plan.
///
/// # Errors
/// A [`Failure`] if no run or more than one has that name.
pub(super) fn which_run(paths: &ProjectPaths, named: Option<&str>) -> Result<RunId, Failure> {
    let runs = paths.run_ids();
    match named {
        Some(named) => named_run(paths, &runs, named).cloned(),
        None => {
            let latest = paths.latest_run().ok_or_else(no_runs)?;
            Ok(that_worked(paths, &latest, &runs).unwrap_or(latest))
        }
    }
}

fn named_run<'a>(paths: &ProjectPaths, runs: &'a [RunId], named: &str) -> Result<&'a RunId, Failure> {
    let listed = |runs: &mut dyn Iterator<Item = &RunId>| {
        let ids: Vec<&str> = runs.take(RUNS_TOLD).map(|run| run.0.as_str()).collect();
        ids.join(", ")
    };
    let unknown = || {
        Failure::new(FailureKind::Usage, format!("there is no run `{named}`"))
            .hint(format!("the latest are: {}", listed(&mut runs.iter().rev())))
    };
    if let Some(run) = runs.iter().find(|run| run.0 == named) {
        return Ok(run);
    }
    if let Some(back) = named.strip_prefix('-').and_then(|back| back.parse::<usize>().ok()) {
        let run = back.checked_sub(1).and_then(|back| runs.iter().rev().nth(back));
        return run.ok_or_else(unknown);
    }
    let number = named.parse::<u32>().ok();
    let mut numbered = runs.iter().rev().filter(|_| number.is_some());
    if let Some(run) = numbered.find(|run| run_number(paths, run) == number) {
        return Ok(run);
    }
    if number.is_some() && named.len() < SHORTEST_PART {
        return Err(unknown());
    }
    let is_meant = |run: &&RunId| !named.is_empty() && (run.0.starts_with(named) || run.0.ends_with(named));
    let meant: Vec<&RunId> = runs.iter().filter(is_meant).collect();
    match meant[..] {
        [] => Err(unknown()),
        [run] => Ok(run),
        [..] => {
            let why = format!("`{named}` matches the ids of {} runs", meant.len());
            let hint = format!("type more of the id: {}", listed(&mut meant.into_iter().rev()));
            Err(Failure::new(FailureKind::Usage, why).hint(hint))
        }
    }
}

/// The latest run with iterations, if the `latest` one only found its plan finished.
fn that_worked(paths: &ProjectPaths, latest: &RunId, runs: &[RunId]) -> Option<RunId> {
    let is_done = |view: &RunView| matches!(view.stop_reason(), Some(StopReason::Done { .. }));
    let view = read_view(paths, latest).ok()?;
    if !is_done(&view) || !view.iterations.rows.is_empty() {
        return None;
    }
    let views = runs
        .iter()
        .rev()
        .filter_map(|run| Some((run, read_view(paths, run).ok()?)));
    let mut worked = views.filter(|(_, view)| !view.iterations.rows.is_empty());
    // A run that did not finish its plan is not substituted: the latest run shows what it lost.
    let (run, _) = worked.next().filter(|(_, view)| is_done(view))?;
    complain(&format!(
        "note: the latest run, {latest}, had no iterations, since its plan was finished: this is the one before, {run}"
    ));
    Some(run.clone())
}

/// Lists the checkpoints: a line for each iteration with its changes, then those taken before files were restored.
fn list(repository: &Repository, paths: &ProjectPaths, run: &RunId) -> Result<(), Failure> {
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let saved = repository.list(run)?;
    let view = read_view(paths, run)?;
    let commit = |wanted: Position| {
        let saved = saved.iter().find(|saved| saved.position == wanted);
        saved.map_or("-", |saved| short(&saved.checkpoint.commit))
    };
    let numbers: BTreeSet<u32> = saved
        .iter()
        .filter_map(|saved| match saved.position {
            Position::Iteration { n, .. } => Some(n),
            Position::Restore { .. } => None,
        })
        .collect();
    let rows: Vec<_> = numbers
        .into_iter()
        .map(|n| {
            let at = |moment| commit(Position::Iteration { n, moment });
            // A rate-limited iteration is retried under the same number; the latest attempt counts.
            let iteration = view.iterations.rows.iter().rev().find(|row| row.number == n);
            let changed = |count: fn(&Changes) -> u64| match iteration.and_then(|row| row.changes.as_ref()) {
                Some(changes) => count(changes).to_string(),
                None => "-".to_owned(),
            };
            [
                TableCell::coloured(n.to_string(), "1"),
                TableCell::new(at(Moment::Before)),
                TableCell::new(at(Moment::After)),
                TableCell::new(iteration.map_or_else(|| "-".to_owned(), |row| date_time(row.started_ms))),
                TableCell::coloured(changed(|changes| changes.added), "32"),
                TableCell::coloured(changed(|changes| changes.removed), "31"),
                TableCell::new(iteration.and_then(|row| row.task.as_deref()).unwrap_or_default()),
            ]
        })
        .collect();
    let titles = [" iteration", "before", "after", "started", " +", " −", "task"];
    let mut text = format!("run {run}\n{}", table(titles, &rows, style));
    for saved in &saved {
        if let Position::Restore { k } = saved.position {
            let commit = short(&saved.checkpoint.commit);
            writeln!(text, "before restore #{k}  {commit}").expect("a string takes every write");
        }
    }
    text.push_str(
        "`ralph restore N` restores the files as they were after iteration N; `--before` as they were before it; `--undo` undoes the last restore\n",
    );
    print_coloured(&text);
    Ok(())
}

fn short(commit: &str) -> &str {
    &commit[..commit.len().min(SHOWN_OF_ID)]
}

fn confirmed(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(FailureKind::Usage, "not a terminal").hint("pass `--yes` to confirm"));
    }
    is_confirmed(&format!("{question}\nA checkpoint of the current state is made first."))
}

/// Describes what was restored, and how to undo it. `named` is the run as the user typed it.
fn in_words(restored: &RestoreResult, named: Option<&str>) -> String {
    let mut text = String::new();
    let mut each = |sign: &str, paths: &[PathBuf]| {
        for path in paths {
            writeln!(text, "{sign} {}", escape_name(&path.to_string_lossy())).expect("a string takes every write");
        }
    };
    each("wrote  ", &restored.written);
    each("deleted", &restored.deleted);
    for line in nested_in_words(restored) {
        writeln!(text, "{line}").expect("a string takes every write");
    }
    for notice in &restored.notices {
        writeln!(text, "warning: {notice}").expect("a string takes every write");
    }
    let of = named.map_or_else(String::new, |run| format!(" --run {run}"));
    writeln!(
        text,
        "{}; `ralph restore --undo{of}` restores the previous state",
        restored_in_words(restored)
    )
    .expect("a string takes every write");
    text
}
