//! The installed packages of the room: where the work names others, commands install them there.
//!
//! Agents can write to what is installed in the project's directory, and no lock file has a hash of that. So nothing from
//! there counts where a command is known; package managers begin with empty caches, because agents can write to these as well.
//! A setup runs code of the project, which can change any package. So it runs on the files of the start, and takes from the work
//! no more than the names of packages.

use std::sync::Arc;

use ralph_core::event::{Checkpoint, Goal, Notice};
use ralph_text::one_line;
use ralph_words::{error_line, goal_in_words};

use super::{
    super::{
        goals::{CheckedGoal, ExecutionContext, check_all},
        room::FilledRoom,
        room_packages::{InstallFailure, Installed, PackageLists},
    },
    ignored::off_loop,
};

/// Maximum duration of each command.
const COMMAND_TIMEOUT_MS: u64 = 15 * 60_000;
/// The variables that name the places from which package managers take what they have downloaded before.
const CACHES: &str = "BUN_INSTALL_CACHE_DIR COMPOSER_CACHE_DIR PDM_CACHE_DIR PIP_CACHE_DIR POETRY_CACHE_DIR UV_CACHE_DIR \
                      YARN_CACHE_FOLDER YARN_GLOBAL_FOLDER npm_config_cache npm_config_store_dir";
const UNDECLARED: &str = "no manifest and no lock file names another package";

/// The packages of the room, after it was tried to have them be those that the work names.
pub(super) struct Followed {
    pub(super) told: Vec<Notice>,
    /// Why packages that agents have installed do not count; `None` if they do.
    pub(super) objection: Option<String>,
    /// Whether commands have installed those of the lists; `None` if no command is known.
    pub(super) is_set_up: Option<bool>,
}

/// Has the packages of the room be those that the work names in its `lists`.
pub(super) async fn follow(
    filled: &FilledRoom,
    place: &ExecutionContext,
    first: Option<Checkpoint>,
    lists: &PackageLists,
) -> Followed {
    let known = {
        let (filled, lists) = (filled.clone(), lists.clone());
        off_loop(move || filled.packages(&lists)).await
    };
    let is_missing = known == Ok(None);
    let outcome = match known {
        Ok(Some(known)) => Ok(known),
        Ok(None) => installed(filled, place, first, lists).await,
        Err(why) => Err(why),
    };
    let is_set_up = outcome
        .as_ref()
        .map_or(Some(false), |outcome| outcome.as_ref().map(Result::is_ok));
    let is_named = !lists.is_empty();
    let changed = filled.of_packages(|packages| packages.at_start().1.map(str::to_owned));
    let changed = changed.filter(|_| !is_named);
    let warning = |code: &'static str, text: String| Some(Notice::warning(code, text));
    let (told, objection) = match outcome {
        Ok(Some(Ok(by))) => {
            let text = format!("the packages of the room are those that `{by}` has installed there");
            let told = (is_missing || is_named).then(|| Notice::info("packages-set-up", text));
            (told, Some(format!("`{by}` installs others")))
        }
        Ok(Some(Err(InstallFailure { why, is_of_work }))) => {
            let changed = changed.map(|changed| format!(", where {changed}")).unwrap_or_default();
            let text = format!("{why}. So the packages of the room are from the project's directory{changed}");
            (warning("packages-not-set-up", text), is_of_work.then_some(why))
        }
        Ok(None) => {
            let todo = "No command is known that installs packages here: install them anew, or name it in `tree.setup`";
            let text = changed.map(|changed| format!("{changed}. {todo}"));
            (text.and_then(|text| warning("packages-not-trusted", text)), None)
        }
        Err(why) => (warning("packages-not-set-up", why.clone()), Some(why)),
    };
    let undeclared = (!is_named).then(|| UNDECLARED.to_owned());
    Followed {
        told: told.into_iter().collect(),
        objection: undeclared.or(objection),
        is_set_up,
    }
}

/// Installs the packages of the room by commands. Returns what they have made of it; `None` if none is known.
async fn installed(
    filled: &FilledRoom,
    place: &ExecutionContext,
    first: Option<Checkpoint>,
    lists: &PackageLists,
) -> Result<Option<Installed>, String> {
    let on = first.clone().filter(|_| !lists.is_by_work);
    let outcome = match run(filled, place, on, lists).await {
        Ok(None) => return Ok(None),
        Ok(Some(by)) => Ok(by),
        // The work is the reason where the packages of the start can be installed: the network is there.
        Err(why) => Err(InstallFailure {
            why,
            is_of_work: lists.is_by_work
                && matches!(run(filled, place, first, &PackageLists::default()).await, Ok(Some(_))),
        }),
    };
    let (filled, lists) = (filled.clone(), lists.clone());
    off_loop(move || {
        filled.end_setup(&lists, outcome)?;
        filled.packages(&lists).map(Option::flatten)
    })
    .await
}

/// Runs the commands that install packages, on the files of the checkpoint `on` with these lists, or on those of the work.
/// Returns them; `None` if none is known.
///
/// # Errors
/// Which of them failed, with the line that says why.
async fn run(
    filled: &FilledRoom,
    place: &ExecutionContext,
    on: Option<Checkpoint>,
    lists: &PackageLists,
) -> Result<Option<String>, String> {
    let begin = {
        let (filled, setup, lists) = (filled.clone(), Arc::clone(&place.setup), lists.clone());
        move || {
            let lists = on.as_ref().map_or(&[][..], |_| &lists.files);
            filled.begin_setup(on.as_ref(), lists, &setup)
        }
    };
    let commands = off_loop(begin).await?;
    let caches = filled.room.caches();
    let variable = |name: &str| (name.to_owned(), caches.join(name).to_string_lossy().into_owned());
    let place = Arc::new(ExecutionContext {
        variables: CACHES.split_whitespace().map(variable).collect(),
        writable: vec![caches.clone()],
        keeps_compiled: false,
        ..place.clone()
    });
    for command in &commands {
        let goal = Goal {
            name: format!("`{command}`"),
            command: command.clone(),
            timeout_ms: COMMAND_TIMEOUT_MS,
            ..Goal::default()
        };
        for CheckedGoal { result, output, .. } in check_all(vec![goal], false, Arc::clone(&place)).await {
            if !result.passed {
                let line = error_line(&output).map(|line| format!(": {}", one_line(&line)));
                return Err(goal_in_words(&result) + &line.unwrap_or_default());
            }
        }
    }
    Ok((!commands.is_empty()).then(|| commands.join("`, `")))
}
