//! `ralph bisect`: finds the iteration that broke a goal, by running the goal on checkpoints in a copy of the project.

use ralph_core::event::RunId;
use ralph_git::Replica;
use ralph_policy::settings::closest;
use ralph_system::proc::Supervisor;
use ralph_words::goal_in_words;

use super::{ProjectPlace, assay::place_of_copies, check_goals};
use crate::{
    assay::ProjectCopy,
    config::Loaded,
    error::{Failure, FailureKind},
    review::{HistoryMoment, moments, past_runs, repository},
};

/// Progress of a search.
#[derive(Debug)]
pub(crate) enum BisectProgress<'a> {
    /// The project is being copied.
    Copying,
    /// The goal will run at most `most` times, on `states` states of the files.
    Begun { states: usize, most: u32 },
    /// The goal is being run on the files of this place.
    Running { place: &'a BisectPlace },
    Ran {
        place: &'a BisectPlace,
        passed: bool,
        /// The result in words.
        result: String,
    },
}

/// A state of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BisectPlace {
    Before { run: RunId, number: u32, iteration: u32 },
    After { run: RunId, number: u32, iteration: u32 },
    Now,
}

/// The result of a search.
#[derive(Debug)]
pub(crate) struct Bisection {
    pub(crate) end: BisectEnd,
    /// How often the goal ran.
    pub(crate) runs: u32,
}

#[derive(Debug)]
pub(crate) enum BisectEnd {
    /// The goal passes on the present files.
    PassesNow,
    /// The goal fails at the earliest state, too.
    FailsAtFirst { first: BisectPlace },
    /// The goal passes at `passes`, and fails at `fails`, which comes right after it.
    Broken {
        passes: BisectPlace,
        fails: BisectPlace,
        task: Option<String>,
        /// The git command that shows the change between the two.
        shows: String,
    },
}

/// Finds what broke the goal `name`, in all runs of the project or in one.
///
/// The search begins at the last state at which the goal passed by the records, or else at the first one.
///
/// # Errors
/// A [`Failure`] without such a goal, without checkpoints, or if the goal cannot be run.
pub(crate) fn bisect(
    place: &ProjectPlace,
    mut loaded: Loaded,
    (name, run): (&str, Option<&RunId>),
    supervisor: &Supervisor,
    mut tell: impl FnMut(BisectProgress<'_>),
) -> Result<Bisection, Failure> {
    let goals = &mut loaded.config.goals.enabled;
    if goals.iter().all(|goal| goal.name != name) {
        return Err(no_goal(name, goals.iter().map(|goal| &goal.name[..])));
    }
    goals.retain(|goal| goal.name == name);
    let scratch = tempfile::tempdir()
        .map_err(|error| Failure::new(FailureKind::Failed, format!("no temporary directory: {error}")))?;
    let include = loaded.config.checkpoint.include.clone();
    let repository = repository(&place.paths, scratch.path(), include, supervisor)?;
    let mut runs = past_runs(&place.paths);
    runs.retain(|past| run.is_none_or(|run| past.id == *run));
    let moments = moments(&runs);
    if moments.is_empty() {
        return Err(nothing_to_search());
    }
    tell(BisectProgress::Copying);
    let mut copy = ProjectCopy::make(&place.project, &place_of_copies("bisect"), supervisor)?;
    copy.begin_repository()?;
    let replica = repository.replica(&place.project, &copy.project())?;
    let states = states(&moments, &replica, name);
    let (last, earlier) = match &states[..] {
        [earlier @ .., last] if !earlier.is_empty() => (last, earlier),
        _ => return Err(nothing_to_search()),
    };
    let bench = ProjectPlace {
        own: place.own.clone(),
        ..ProjectPlace::for_project(copy.project(), Some(&copy.beside("state")))?
    };
    tell(BisectProgress::Begun {
        states: states.len(),
        most: most_runs(states.len()),
    });
    let mut runs = 0;
    let mut passes = |state: &BisectState| -> Result<bool, Failure> {
        let place = &state.place;
        tell(BisectProgress::Running { place });
        copy.restore()?;
        replica.fill(&state.tree)?;
        runs += 1;
        let results = check_goals(&bench, &loaded, None, None, supervisor)?;
        let passed = results.iter().all(|result| result.passed);
        let result = results.first().map(goal_in_words).unwrap_or_default();
        tell(BisectProgress::Ran { place, passed, result });
        Ok(passed)
    };
    if passes(last)? {
        let end = BisectEnd::PassesNow;
        return Ok(Bisection { end, runs });
    }
    // All states before the first are known to pass, and that at `fails` to fail.
    let (mut first, mut fails) = (0, earlier.len());
    while first < fails {
        let middle = usize::midpoint(first, fails);
        match passes(&states[middle])? {
            true => first = middle + 1,
            false => fails = middle,
        }
    }
    let fails_at = &states[fails];
    let end = match fails.checked_sub(1).map(|before| &states[before]) {
        None => BisectEnd::FailsAtFirst {
            first: fails_at.place.clone(),
        },
        Some(before) => BisectEnd::Broken {
            passes: before.place.clone(),
            fails: fails_at.place.clone(),
            task: fails_at.task.clone(),
            shows: format!("git diff {:.12} {:.12}", before.tree, fails_at.tree),
        },
    };
    Ok(Bisection { end, runs })
}

fn nothing_to_search() -> Failure {
    let why = "there are no checkpoints with other files than the present ones";
    Failure::new(FailureKind::Failed, why).hint("`ralph restore` lists the checkpoints of a run")
}

fn no_goal<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Failure {
    let failure = Failure::new(FailureKind::Usage, format!("there is no goal `{name}`"));
    match closest(name, known) {
        Some(near) => failure.hint(format!("did you mean `{near}`? `ralph goals list` shows all")),
        None => failure.hint("`ralph goals list` shows all"),
    }
}

/// The most runs of a goal that a search in so many states takes.
fn most_runs(states: usize) -> u32 {
    1 + (states.saturating_sub(1)).checked_ilog2().map_or(0, |whole| whole + 1)
}

/// A state that the goal can run on.
struct BisectState {
    place: BisectPlace,
    /// The task of the iteration that made it.
    task: Option<String>,
    tree: String,
}

/// The states with other files of the project than the ones before, since the goal last passed by the records. The last one
/// has the present files. States whose objects are gone are left out.
fn states(moments: &[HistoryMoment<'_>], replica: &Replica<'_>, goal: &str) -> Vec<BisectState> {
    let mut states: Vec<BisectState> = Vec::new();
    let mut last_tree = None;
    let mut first = 0;
    for moment in moments {
        let tree = &moment.checkpoint.tree;
        if last_tree != Some(tree)
            && let Ok(of_project) = replica.tree_of_project(tree)
            && states.last().is_none_or(|last| last.tree != of_project)
        {
            states.push(BisectState {
                place: BisectPlace::at_moment(moment),
                task: moment.iteration.task.clone().filter(|_| !moment.is_before),
                tree: of_project,
            });
        }
        last_tree = Some(tree);
        let mut results = moment.iteration.look.goals.iter();
        if !moment.is_before && results.any(|result| result.name == goal && result.passed) {
            first = states.len().saturating_sub(1);
        }
    }
    let mut states = states.split_off(first);
    if states.last().is_none_or(|last| last.tree != replica.now()) {
        states.push(BisectState {
            place: BisectPlace::Now,
            task: None,
            tree: replica.now().to_owned(),
        });
    }
    states
}

impl BisectPlace {
    fn at_moment(moment: &HistoryMoment<'_>) -> Self {
        let (run, number) = (moment.run.id.clone(), moment.run.view.number);
        let iteration = moment.iteration.number;
        match moment.is_before {
            true => BisectPlace::Before { run, number, iteration },
            false => BisectPlace::After { run, number, iteration },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_takes_a_run_for_the_present_files_and_one_for_each_halving() {
        let most: Vec<u32> = [1, 2, 3, 4, 5, 9, 200, 201, 1025].map(most_runs).to_vec();
        assert_eq!(most, [1, 2, 3, 3, 4, 5, 9, 9, 12]);
    }
}
