//! Sealed goals: each runs in a copy of the room, with files added that agents can neither read nor write.
//!
//! The agent's code runs beside these files, so it could copy them elsewhere. A sealed goal may therefore write only to
//! its copy, and its output goes to a file that agents cannot read; records, prompts and tools show only the number of
//! passed tests.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use ralph_core::event::{GoalFailure, GoalResult, Notice, RunId, TestNames};
use ralph_system::{
    files::{create_new, read_bytes},
    paths::{ProjectPaths, RunPaths, create_private_dir, replace_file},
    proc::{Confinement, Supervisor},
    scratch::{ScratchDirectory, sweep},
    tree_copy::{copy_project, lay_over},
};
use ralph_text::with_causes;
use tracing::debug;

use super::room::FilledRoom;

const GIT: &str = ".git";
/// Bytes kept of the end of a sealed goal's output, in its file.
pub(super) const KEPT_BYTES: usize = 1 << 20;
/// Most outputs of goals of one name.
const OUTPUTS: u32 = 100_000;
/// Most bytes of the list of hidden directories of a run.
const HIDDEN_CAP_BYTES: u64 = 1 << 20;
/// Variables that name a directory for temporary files.
const TEMPORARY_VARS: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];
/// Variables that name a cache without which a tool does not work, and its directory.
const CACHE_VARS: [(&str, &str); 3] = [
    ("XDG_CACHE_HOME", "cache"),
    ("npm_config_cache", "npm"),
    ("GOCACHE", "go-build"),
];
/// The variable of a build directory that other builds share; removed for sealed goals.
const SHARED_BUILD_VAR: &str = "CARGO_TARGET_DIR";

/// The place of sealed goals: their copies, outputs and confinement.
#[derive(Debug)]
pub struct SealedPlace {
    /// The directory for copies of the project.
    copies: PathBuf,
    /// The directory of the files with their output.
    outputs: PathBuf,
    /// Their confinement, to which each run adds its copy.
    confinement: Confinement,
}

/// The copy in which a sealed goal runs. Removed when dropped.
#[derive(Debug)]
pub(super) struct SealedCopy {
    _directory: ScratchDirectory,
    /// The project in it, as ralph finds it, and as the goal does.
    pub(super) files: PathBuf,
    pub(super) project: PathBuf,
}

impl SealedPlace {
    /// Makes a place below the project's state. Its goals are confined to `confinement` and their copy; outputs go to
    /// `outputs`.
    pub fn new(paths: &ProjectPaths, outputs: PathBuf, confinement: Confinement) -> Self {
        SealedPlace {
            copies: paths.sealed_copies(),
            outputs,
            confinement,
        }
    }

    /// Makes the copy for one run of a goal, of the room or else of `project`, and the confined supervisor that starts the goal.
    pub(super) fn prepare(
        &self,
        (project, room, slot): (&Path, Option<&FilledRoom>, usize),
        sealed: &Path,
        supervisor: &Supervisor,
    ) -> Result<(SealedCopy, Supervisor), String> {
        let directory = ScratchDirectory::new(&self.copies).map_err(|error| error.to_string())?;
        let (tree, temporary) = (directory.path().join("tree"), directory.path().join("tmp"));
        for directory in [&tree, &temporary] {
            create_private_dir(directory).map_err(|error| with_causes(&error))?;
        }
        let supervisor = supervisor.confining(Some(self.confinement_in(&tree, &temporary)));
        let (files, project, mounts) = match room {
            Some(filled) => {
                let (files, mounts) = filled.room.copy_to(&tree, slot)?;
                (files, project.to_owned(), mounts)
            }
            None => {
                // Copied in confinement: background tasks of the agent may add links meanwhile that lead to files the goal
                // may not read.
                supervisor
                    .in_confinement(|| copy_project(project, &tree, &self.copies))
                    .map_err(|error| with_causes(&error))?
                    .map_err(|error| with_causes(&error))?;
                // The history is only read, and may be larger than all the rest. Where it is no directory, a file says where it is.
                if fs::remove_dir(tree.join(GIT)).is_ok() {
                    symlink(project.join(GIT), tree.join(GIT)).map_err(|error| error.to_string())?;
                }
                (tree.clone(), tree, Vec::new())
            }
        };
        lay_over(sealed, &files).map_err(|error| with_causes(&error))?;
        let copy = SealedCopy {
            _directory: directory,
            files,
            project,
        };
        Ok((copy, supervisor.mounting(mounts)))
    }

    fn confinement_in(&self, tree: &Path, temporary: &Path) -> Confinement {
        let mut confinement = self.confinement.clone();
        confinement.write.extend([tree, temporary].map(Path::to_owned));
        let shown = |path: &Path| Some(path.to_string_lossy().into_owned());
        let variables = TEMPORARY_VARS.map(|name| (name.to_owned(), shown(temporary)));
        let caches = CACHE_VARS.map(|(name, below)| (name.to_owned(), shown(&temporary.join(below))));
        confinement.variables.extend(variables.into_iter().chain(caches));
        confinement.variables.push((SHARED_BUILD_VAR.to_owned(), None));
        confinement
    }

    /// Writes the output to a file, and returns the result without what agents must not see.
    pub(super) fn redacted(&self, result: GoalResult, output: &str) -> GoalResult {
        let why = result.why.as_ref().map(ralph_words::goal_failure_in_words);
        let ended = why
            .as_deref()
            .into_iter()
            .chain(result.doubt.as_deref())
            .map(|line| format!("{line}\n"));
        let output = self.write_output(&result.name, &(output.to_owned() + &ended.collect::<String>()));
        GoalResult {
            tail: match (result.passed, &result.tests) {
                (false, Some(tests)) => ralph_words::passed_of_all(tests).into(),
                (true, _) | (false, None) => "".into(),
            },
            why: result.why.map(without_details),
            doubt: result.doubt.map(|_| ralph_words::doubt_of_sealed().into()),
            failed_tests: TestNames::default(),
            sealed_output: Some(output),
            ..result
        }
    }

    /// Writes `text` to a new file. Returns its path.
    fn write_output(&self, goal: &str, text: &str) -> PathBuf {
        let name: String = goal
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' })
            .take(60)
            .collect();
        let path = |number: u32| self.outputs.join(format!("{name}-{number:03}.txt"));
        let number = (1..OUTPUTS).find(|number| !path(*number).exists()).unwrap_or(OUTPUTS);
        let path = path(number);
        let kept = create_private_dir(&self.outputs)
            .map_err(|error| with_causes(&error))
            .and_then(|()| create_new(&path, text).map_err(|error| error.to_string()));
        if let Err(why) = kept {
            debug!(why, "the output of a sealed goal is not kept");
        }
        path
    }
}

/// Returns the reason without texts that may name a sealed file.
fn without_details(why: GoalFailure) -> GoalFailure {
    match why {
        GoalFailure::NotStarted { .. } => GoalFailure::NotStarted {
            why: ralph_words::sealed_not_started().into(),
        },
        GoalFailure::Exited { .. }
        | GoalFailure::TimedOut { .. }
        | GoalFailure::Exceeded { .. }
        | GoalFailure::Killed
        | GoalFailure::NoNumber
        | GoalFailure::BelowTarget { .. } => why,
    }
}

/// Removes the copies that a killed ralph left behind in a project. Returns their number.
pub fn sweep_copies(paths: &ProjectPaths) -> usize {
    sweep(&paths.sealed_copies())
}

/// Records which directories are hidden from the agents of a run. If it goes on, only those hidden from its beginning
/// count.
///
/// # Errors
/// The file system's error.
pub fn note_hidden(files: &RunPaths, goes_on: bool, hidden: &[PathBuf]) -> std::io::Result<()> {
    let before = goes_on.then(|| hidden_in(files));
    let kept: Vec<&PathBuf> = hidden
        .iter()
        .filter(|path| before.as_ref().is_none_or(|before| before.contains(path)))
        .collect();
    let path = files.hidden_from_agents();
    if kept.is_empty() && !path.exists() {
        return Ok(());
    }
    let text = serde_json::to_vec(&kept)?;
    replace_file(&path, &text)
}

fn hidden_in(files: &RunPaths) -> Vec<PathBuf> {
    let text = read_bytes(&files.hidden_from_agents(), HIDDEN_CAP_BYTES).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns notices of directories of sealed goals that agents of earlier runs in the project could read.
pub fn read_earlier(paths: &ProjectPaths, run: &RunId, sealed: &[PathBuf]) -> Vec<Notice> {
    let earlier: Vec<RunPaths> = paths
        .run_ids()
        .iter()
        .filter(|id| *id != run)
        .map(|id| paths.run(id))
        .collect();
    let notice = |directory: &PathBuf| {
        let made = fs::metadata(directory).and_then(|metadata| metadata.created()).ok();
        let could_read = |files: &&RunPaths| {
            let worked = fs::metadata(files.journal())
                .and_then(|metadata| metadata.modified())
                .ok();
            let was_there = match (made, worked) {
                (Some(made), Some(worked)) => made <= worked,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            was_there && !hidden_in(files).contains(directory)
        };
        let runs = earlier.iter().filter(could_read).count();
        (runs > 0).then(|| Notice::warning("sealed-was-readable", ralph_words::sealed_was_readable(directory, runs)))
    };
    sealed.iter().filter_map(notice).collect()
}
