//! The packages of a project: the commands that install them, and whether agents may have changed them.
//!
//! A lock file has hashes of what is downloaded, and none of what is installed. A program can set neither the clock nor the
//! time of the last change of a file (`ctime`): so a file that an agent has changed shows a time at which a run went on.

use std::path::{Path, PathBuf};

use ralph_system::{
    files::read_bytes,
    paths::{ProjectPaths, replace_file},
    tree_copy::{PACKAGES, changed_below, is_rebuilt},
};
use serde::{Deserialize, Serialize};

/// Most bytes of the record.
const RECORD_CAP_BYTES: u64 = 1 << 20;

/// Files that pin dependencies, each with the command that installs them. Of files for the same language the first one
/// counts.
const INSTALLERS: [&[(&str, &str)]; 4] = [
    &[
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --frozen-lockfile"),
        ("bun.lock", "bun install --frozen-lockfile"),
        ("bun.lockb", "bun install --frozen-lockfile"),
        ("package-lock.json", "npm ci"),
        ("npm-shrinkwrap.json", "npm ci"),
    ],
    &[
        ("uv.lock", "uv sync --frozen"),
        ("poetry.lock", "poetry install --no-interaction"),
        (
            "requirements.txt",
            "python3 -m venv .venv && .venv/bin/pip install --requirement requirements.txt",
        ),
    ],
    &[
        ("Gemfile.lock", "bundle install"),
        ("composer.lock", "composer install --no-interaction"),
    ],
    &[("mix.lock", "mix deps.get")],
];

/// Returns the commands that install what the lock files of a project name.
pub fn installers(project: &Path) -> Vec<String> {
    let has = |name: &str| project.join(name).exists();
    let found = INSTALLERS
        .iter()
        .filter_map(|files| files.iter().find(|(file, _)| has(file)));
    // Without an environment of its own, the project uses another one on purpose.
    let is_used = |(file, _): &&(&str, &str)| *file != "requirements.txt" || has(".venv");
    found
        .filter(is_used)
        .map(|(_, command)| (*command).to_owned())
        .collect()
}

/// Returns the commands that install the packages of a room: those of `setup`, or those of the lock files of `project`.
pub fn room_setup(setup: &[String], project: &Path) -> Vec<String> {
    // Those about ports and services of a work tree prepare more than packages.
    let own = setup.iter().filter(|command| !command.contains("RALPH_")).cloned();
    let own: Vec<String> = own.collect();
    if own.is_empty() { installers(project) } else { own }
}

/// The record of who may have changed installed packages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PackagesRecord {
    /// The times in which runs with agents went on, in milliseconds since 1970. The last one is open while one does.
    worked: Vec<(u64, u64)>,
    /// The time until which goals have passed with what agents installed, as the work names it.
    pub(super) accepted_ms: u64,
    /// The packages that were missing at the end of the last run, though the room had them: the first of them.
    pub(super) missing: Vec<PathBuf>,
    /// How the last setup of a room failed.
    pub failed: Option<String>,
}

impl PackagesRecord {
    pub fn of(paths: &ProjectPaths) -> Self {
        let read = read_bytes(&paths.packages(), RECORD_CAP_BYTES).ok();
        read.and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    pub(super) fn change(paths: &ProjectPaths, change: impl FnOnce(&mut Self)) {
        let known = Self::of(paths);
        let mut record = known.clone();
        change(&mut record);
        if record != known {
            // Without the record, packages are trusted as they were before there was one.
            _ = serde_json::to_vec(&record).map(|text| replace_file(&paths.packages(), &text));
        }
    }

    /// Notes that an agent starts. A time that a killed ralph has left open goes on.
    pub(super) fn begin(&mut self, now_ms: u64) {
        if self.worked.last().is_none_or(|(_, end)| *end != u64::MAX) {
            self.worked.push((now_ms, u64::MAX));
        }
    }

    /// Notes that the run is over.
    pub(super) fn end(&mut self, now_ms: u64) {
        let open = self.worked.last_mut().filter(|(_, end)| *end == u64::MAX);
        open.into_iter().for_each(|(_, end)| *end = now_ms);
    }

    /// Returns the time since which agents of a run may have worked, whose room was made at a time; `None` if none has.
    pub(super) fn since(&self, made_ms: u64) -> Option<u64> {
        let mut after = self
            .worked
            .iter()
            .filter(|(begin, end)| *begin >= made_ms || *end == u64::MAX);
        after.next().map(|(begin, _)| made_ms.max(*begin))
    }

    /// Returns what changed below a directory of packages while an agent may have worked.
    pub(super) fn changed(&self, directory: &Path) -> Vec<PathBuf> {
        let is_within = |at_ms| {
            let is_within = |(begin, end): &(u64, u64)| (*begin..=*end).contains(&at_ms);
            at_ms > self.accepted_ms && self.worked.iter().any(is_within)
        };
        let below = |path: PathBuf| path.strip_prefix(directory).map(Path::to_owned).ok();
        let changed = changed_below(directory, is_within, |_| false)
            .into_iter()
            .filter_map(below);
        let is_kept = |path: &PathBuf| {
            let mut here = path.ancestors().filter(|above| *above != Path::new(""));
            !here.any(|above| is_rebuilt(&directory.join(above)))
        };
        changed.filter(is_kept).collect()
    }
}

/// A note or a cache that tools keep beside packages: its path below the innermost directory of these. No package's name
/// begins with a dot.
pub(super) fn notes_of_tools(file: &Path) -> Option<PathBuf> {
    let parts: Vec<_> = file.iter().collect();
    let from = parts.iter().rposition(|part| *part == PACKAGES).map_or(0, |at| at + 1);
    let first = parts.get(from)?;
    let is_hidden = first.as_encoded_bytes().starts_with(b".") && *first != ".bin";
    is_hidden.then(|| parts[from..].iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_set_up_by_the_commands_of_a_work_tree_that_are_not_about_its_services() {
        let project = tempfile::tempdir().unwrap();
        let commands = |setup: &[&str]| {
            let setup: Vec<String> = setup.iter().map(|command| (*command).to_owned()).collect();
            room_setup(&setup, project.path())
        };
        let services = "docker compose -p $RALPH_TREE up --detach --wait";
        assert_eq!(commands(&[services]), [""; 0]);
        assert_eq!(commands(&[services, "make deps"]), ["make deps"]);
        std::fs::write(project.path().join("package-lock.json"), "").unwrap();
        assert_eq!(commands(&[services]), ["npm ci"]);
        assert_eq!(commands(&["make deps"]), ["make deps"]);
    }
}
