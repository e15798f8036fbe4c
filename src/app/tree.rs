//! Prepares a work tree so that its project runs there: copies, links, ports and commands by the settings in `tree`.
//!
//! The process that works in the tree prepares it, so that its sandbox holds for the commands, and an engine may run it
//! on another machine. What was done is recorded in the tree's state, which no agent can write: a job that is started
//! again does not repeat it.

use std::{
    fs,
    ops::RangeInclusive,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Component, Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ralph_core::event::{Goal, GoalResult, Limits, PreparedTree, TreeCommand};
use ralph_git::{Branches, NoRepository, exclude, ignored_matching, is_ignored};
use ralph_state::store::ports;
use ralph_system::{
    files,
    os::disk::DiskFloor,
    paths::{ProjectPaths, digest, replace_file},
    proc::Supervisor,
    tree_copy::{self, CopiedFiles},
};
use ralph_text::{console::print, one_line};
use ralph_words::{goal_in_words, low_disk_in_words};
use serde::{Deserialize, Serialize};

use super::{ProjectPlace, ceilings::disk_floors, check_context::CheckContext, runtime::runtime};
use ralph_driver::check_goals;

use crate::{
    config::{Config, TreeSettings},
    error::{Failure, FailureKind},
};

/// Maximum duration of each command of `tree.setup` and `tree.teardown`.
const COMMAND_TIMEOUT_MS: u64 = 15 * 60_000;
/// The ports that work trees get.
const PORTS: RangeInclusive<u16> = 20_000..=29_999;
/// The project's own list of patterns of files to copy, as other tools read it.
const INCLUDE_FILE: &str = ".worktreeinclude";
const INCLUDE_CAP_BYTES: u64 = 64 << 10;
const RECORD_CAP_BYTES: u64 = 1 << 20;
/// Time between two looks at a disk that is nearly full.
const DISK_PAUSE: Duration = Duration::from_secs(2);

/// Variables for the programs in a work tree.
pub(crate) type TreeVariables = Vec<(String, String)>;

/// The record of a prepared work tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeRecord {
    /// The settings by which it was prepared.
    setup: Vec<String>,
    copy: String,
    link: Vec<String>,
    /// The report; `None` once a run has told it.
    report: Option<Box<PreparedTree>>,
}

/// Prepares the work tree `place` of the project at `source`, unless a record says that it is prepared. Returns the
/// variables for its programs.
///
/// # Errors
/// A [`Failure`] that names the step that failed.
pub(crate) fn prepare_tree(
    place: &ProjectPlace,
    config: &Config,
    source: &Path,
    supervisor: &Supervisor,
) -> Result<TreeVariables, Failure> {
    place.paths.create()?;
    let record = place.paths.tree_record();
    let wanted = TreeRecord::wanted(&config.tree, source);
    let known = files::read_bytes(&record, RECORD_CAP_BYTES).ok();
    let known = known.and_then(|bytes| serde_json::from_slice::<TreeRecord>(&bytes).ok());
    let ports = reserved_ports(place, &config.tree)?;
    let variables = variables(place, &ports);
    if known.is_some_and(|known| known.is_for(&wanted)) {
        return Ok(variables);
    }
    let report = match wanted.is_nothing() && ports.is_empty() {
        true if config.tree.teardown.is_empty() => return Ok(variables),
        true => None,
        false => {
            let tree = fill(place, config, source, (&wanted, &ports, &variables), supervisor)?;
            Some(Box::new(tree))
        }
    };
    let written = serde_json::to_vec(&TreeRecord { report, ..wanted }).map_err(std::io::Error::other);
    written
        .and_then(|bytes| replace_file(&record, &bytes))
        .map_err(|error| failed(format!("{}: {error}", record.display())))?;
    Ok(variables)
}

/// Prepares the work tree of the merge queue, whose ignored files were removed.
///
/// # Errors
/// As [`prepare_tree`].
pub(super) fn prepare_merged_tree(
    place: &ProjectPlace,
    config: &Config,
    source: &Path,
    supervisor: &Supervisor,
) -> Result<TreeVariables, Failure> {
    _ = fs::remove_file(place.paths.tree_record()); // missing, or replaced below
    prepare_tree(place, config, source, supervisor).inspect_err(|_| {
        // The next merge begins with the same commands.
        _ = tear_down_tree(place, config, supervisor);
    })
}

/// Runs the commands that end the life of a work tree.
///
/// # Errors
/// A [`Failure`] that names the command that failed.
pub(crate) fn tear_down_tree(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Result<(), Failure> {
    if config.tree.teardown.is_empty() {
        return Ok(());
    }
    let variables = variables(place, &reserved_ports(place, &config.tree)?);
    let _step = ShownStep(place.paths.tree_step());
    run_all(
        (place, config, &variables),
        "teardown",
        &config.tree.teardown,
        supervisor,
    )?;
    _ = fs::remove_file(place.paths.tree_record()); // a tree that stays is prepared again
    Ok(())
}

/// Takes the report on the preparation of the work tree from its record.
pub(super) fn take_report(paths: &ProjectPaths) -> Option<Box<PreparedTree>> {
    let path = paths.tree_record();
    let bytes = files::read_bytes(&path, RECORD_CAP_BYTES).ok()?;
    let mut record: TreeRecord = serde_json::from_slice(&bytes).ok()?;
    let report = record.report.take()?;
    let written = serde_json::to_vec(&record).ok()?;
    _ = replace_file(&path, &written); // otherwise the next run reports it again
    Some(report)
}

impl TreeRecord {
    fn wanted(settings: &TreeSettings, source: &Path) -> Self {
        TreeRecord {
            setup: settings.setup.clone(),
            copy: patterns(settings, source),
            link: settings.link.clone(),
            report: None,
        }
    }

    fn is_nothing(&self) -> bool {
        self.setup.is_empty() && self.copy.is_empty() && self.link.is_empty()
    }

    fn is_for(&self, wanted: &Self) -> bool {
        (&self.setup, &self.copy, &self.link) == (&wanted.setup, &wanted.copy, &wanted.link)
    }
}

/// Copies, links, and runs the commands. Returns the report.
fn fill(
    place: &ProjectPlace,
    config: &Config,
    source: &Path,
    (wanted, ports, variables): (&TreeRecord, &[u16], &TreeVariables),
    supervisor: &Supervisor,
) -> Result<PreparedTree, Failure> {
    let begun = Instant::now();
    let _step = ShownStep(place.paths.tree_step());
    wait_for_disk_space(place, &config.limits);
    let tree = branches(&place.project, supervisor)?;
    let copied = match wanted.copy.is_empty() {
        true => CopiedFiles::default(),
        false => {
            show_step(place, "copying files");
            let files = ignored_matching(&branches(source, supervisor)?, &wanted.copy)?;
            tree_copy::copy_files(source, &place.project, &files)
                .map_err(|error| Failure::of(FailureKind::Failed, &error).hint(COPY_HINT))?
        }
    };
    let mut linked = Vec::new();
    for path in &wanted.link {
        if link(place, source, path, &tree)? {
            linked.push(path.clone());
        }
    }
    let results = run_all((place, config, variables), "setup", &wanted.setup, supervisor)?;
    let commands = results.iter().map(|result| TreeCommand {
        command: (&result.name).into(),
        duration_ms: result.duration_ms,
        output: result.tail.as_str().into(),
    });
    Ok(PreparedTree {
        copied_files: copied.files,
        copied_bytes: copied.bytes,
        linked: linked.into_iter().map(Into::into).collect(),
        commands: commands.collect(),
        ports: ports.to_vec().into(),
        duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// Waits until all disks have the space that `limits.diskFree` keeps free.
fn wait_for_disk_space(place: &ProjectPlace, limits: &Limits) {
    let floors = disk_floors(limits, &place.paths);
    while let Some(low) = floors.iter().find_map(DiskFloor::low) {
        show_step(place, &format!("waiting for space: {}", low_disk_in_words(&low)));
        thread::sleep(DISK_PAUSE);
    }
}

/// Writes the present step, for processes that follow the batch.
fn show_step(place: &ProjectPlace, step: &str) {
    _ = replace_file(&place.paths.tree_step(), step.as_bytes()); // it is shown and not needed
}

/// The file of the present step, which is removed with this value.
struct ShownStep(PathBuf);

impl Drop for ShownStep {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0); // it is shown only before the first record of a run
    }
}

const COPY_HINT: &str = "`tree.copy` and .worktreeinclude name what a work tree gets copies of";

/// Makes a link to `path` of the project at `source`, unless the work tree has something there. Returns whether it was
/// made.
fn link(place: &ProjectPlace, source: &Path, path: &str, tree: &Branches) -> Result<bool, Failure> {
    let Some(leads_to) = linked_path(source, path)? else {
        return Ok(false);
    };
    let relative = Path::new(path.trim_end_matches('/'));
    let at = place.project.join(relative);
    let refused = |error: std::io::Error| failed(format!("{}: cannot be linked: {error}", at.display()));
    let has_room = fs::symlink_metadata(&at).is_err()
        && tree_copy::make_directories(&place.project, relative)
            .map_err(|error| Failure::of(FailureKind::Failed, &error))?;
    if !has_room {
        return Ok(false);
    }
    symlink(&leads_to, &at).map_err(refused)?;
    // A pattern such as `node_modules/` matches directories only, so the link would be committed.
    if !is_ignored(tree, &place.project, relative)? {
        let in_root = at.strip_prefix(tree.root()).unwrap_or(relative);
        exclude(tree, &[&format!("/{}", in_root.display())])?;
    }
    Ok(true)
}

/// Returns the real path of something in the project at `source`; `None` if there is nothing.
///
/// # Errors
/// A [`Failure`] if it is outside of the project.
pub(super) fn linked_path(source: &Path, path: &str) -> Result<Option<PathBuf>, Failure> {
    let is_within = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let outside = |leads_to: &Path| {
        let what = format!(
            "`tree.link`: `{path}` leads out of the project, to {}",
            leads_to.display()
        );
        Failure::new(FailureKind::Configuration, what).hint("`tree.setup` can make it in each work tree instead")
    };
    if !is_within {
        return Err(outside(&source.join(path)));
    }
    let Ok(real) = source.join(path).canonicalize() else {
        return Ok(None);
    };
    match real.starts_with(source) {
        true => Ok(Some(real)),
        false => Err(outside(&real)),
    }
}

/// Runs commands one after the other, until one fails.
fn run_all(
    (place, config, variables): (&ProjectPlace, &Config, &TreeVariables),
    step: &str,
    commands: &[String],
    supervisor: &Supervisor,
) -> Result<Vec<GoalResult>, Failure> {
    if commands.is_empty() {
        return Ok(Vec::new());
    }
    let context = CheckContext::new(place, config, supervisor)?;
    let execution = context.execution(place, config)?.with_variables(variables.clone());
    let runtime = runtime()?;
    let mut results = Vec::new();
    for command in commands {
        show_step(place, &format!("{step}: {command}"));
        let goal = Goal {
            name: command.clone(),
            command: command.clone(),
            timeout_ms: COMMAND_TIMEOUT_MS,
            ..Goal::default()
        };
        let mut done = runtime.block_on(check_goals(vec![goal], false, execution.clone()));
        let Some(result) = done.pop() else { continue };
        let words = goal_in_words(&result);
        print(&format!("{step}: {}\n", one_line(&words)));
        for line in result.tail.trim_end().lines() {
            print(&format!("  │ {}\n", one_line(line)));
        }
        if !result.passed {
            let last = result.tail.trim_end().lines().last().map(one_line).unwrap_or_default();
            let what = format!("the {step} of the work tree failed: {words}: {last}");
            return Err(failed(one_line(&what).trim_end_matches([':', ' ']).to_owned())
                .hint(format!("cd {} && {command}", place.project.display())));
        }
        results.push(result);
    }
    Ok(results)
}

/// Returns the patterns of files to copy.
pub(super) fn patterns(settings: &TreeSettings, source: &Path) -> String {
    let own = settings.copy.iter().map(|pattern| format!("{pattern}\n"));
    let included = files::read_unfollowed(&source.join(INCLUDE_FILE), INCLUDE_CAP_BYTES);
    let included = included.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    own.chain(included).collect()
}

fn reserved_ports(place: &ProjectPlace, settings: &TreeSettings) -> Result<Vec<u16>, Failure> {
    let directory = place.paths.states().ports();
    let count = usize::try_from(settings.ports).unwrap_or_default();
    ports::reserve(&directory, &place.project, count, &PORTS)
        .map_err(|error| Failure::of(FailureKind::Failed, &error).hint("`tree.ports` sets their number"))
}

fn variables(place: &ProjectPlace, ports: &[u16]) -> TreeVariables {
    let numbered = ports.iter().enumerate();
    let numbered = numbered.map(|(at, port)| (format!("RALPH_PORT_{}", at + 1), port.to_string()));
    let first = ports.first().map(|port| ("RALPH_PORT".to_owned(), port.to_string()));
    let name = ("RALPH_TREE".to_owned(), tree_name(&place.project));
    [name].into_iter().chain(first).chain(numbered).collect()
}

/// Returns a name of the work tree that no other one has, of lower-case letters, digits and `_`: usable for databases
/// and containers.
fn tree_name(project: &Path) -> String {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '_',
    });
    let letters: String = letters.take(40).collect();
    let hash = digest(project.as_os_str().as_bytes()) & 0xff_ffff;
    format!("{letters}_{hash:06x}")
}

pub(super) fn branches(project: &Path, supervisor: &Supervisor) -> Result<Branches, Failure> {
    Branches::find(project, supervisor).map_err(|error: NoRepository| error.into())
}

fn failed(what: String) -> Failure {
    Failure::new(FailureKind::Failed, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_tree_suits_databases_and_differs_by_its_path() {
        let names = ["/a/Ünits-2", "/b/Ünits-2", "/"].map(|path| tree_name(Path::new(path)));
        assert!(
            names[0].starts_with("_nits_2_") && names[1].starts_with("_nits_2_"),
            "{names:?}"
        );
        assert_ne!(names[0], names[1]);
        let suits = |name: &String| {
            name.chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        };
        assert!(names.iter().all(suits), "{names:?}");
    }

    #[test]
    fn a_link_that_leaves_the_project_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(source.join("data/inner")).unwrap();
        symlink("/usr", source.join("out")).unwrap();
        symlink("data/inner", source.join("in")).unwrap();
        let refused = |path: &str| linked_path(&source, path).err().map(|failure| failure.message);
        for path in ["out", "../project2", "/usr", "data/../../x", "out/share"] {
            let why = refused(path).unwrap_or_else(|| panic!("{path} is accepted"));
            assert!(why.contains("leads out of the project"), "{path}: {why}");
        }
        assert_eq!(linked_path(&source, "in").unwrap(), Some(source.join("data/inner")));
        assert_eq!(linked_path(&source, "missing").unwrap(), None);
    }
}
