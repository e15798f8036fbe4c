//! Files that decide the results of tests: copies of their original state, and trials with these in place.
//!
//! [`FileGuard`] determines guarded files by patterns. [`Originals`] holds copies of them from the start of a run and
//! finds files that differ from these. An [`OpenTrial`] puts the originals in place until it is ended.
//!
//! An agent can write anywhere in the project, also while this code works. So no symlink is followed there, only
//! regular files are opened, and `.gitignore` hides nothing. Originals and records of trials lie outside the project.

mod diff;
mod manifests;
mod originals;
mod parts;
mod project_dir;
mod record;
mod rust;
mod store_writer;
mod trial;
mod walk;
mod yardstick;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use ralph_text::path_glob::{PathGlob, PathGlobs, parts};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::{
    manifests::package_lists,
    originals::{NewFiles, Originals, RenamedFile},
    project_dir::FileContent,
    trial::OpenTrial,
    walk::UnguardedPath,
    yardstick::{
        INSTRUCTIONS, YardstickFile, YardstickKind, changed_files, is_for_tools, is_yardstick_alone, yardstick,
        yardstick_diff,
    },
};

/// Patterns of guarded files. A pattern without `/` matches the file name in any directory. The syntax includes `**`,
/// `*`, `?`, `{a,b}` and `[a-z]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GuardRules {
    /// Files with tests. New ones do not count as changes.
    pub tests: Vec<String>,
    /// Files that the user names. New ones do not count as changes. A file named by its whole path is guarded
    /// anywhere.
    pub named: Vec<String>,
    /// Files that configure a runner. A new one counts as a change if it can affect guarded files.
    pub config: Vec<String>,
    /// Files that would shadow a runner's modules, such as `unittest.py`: only new ones count as changes.
    pub shadows: Vec<String>,
    /// Exceptions from the other patterns.
    pub except: Vec<String>,
    /// Whether tests in Rust source files are guarded.
    pub rust_blocks: bool,
}

/// The rules with their compiled patterns.
#[derive(Debug, Clone, Default)]
pub struct FileGuard {
    rules: GuardRules,
    tests: PathGlobs,
    named: PathGlobs,
    config: PathGlobs,
    shadows: PathGlobs,
    except: PathGlobs,
}

/// The reason why a file is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GuardedKind {
    Test,
    Named,
    Config,
    Shadow,
    /// A manifest, in all but what describes the product and names packages.
    #[serde(alias = "sections")]
    Manifest,
    Rust,
}

/// The reason why guarded files could not be inspected or put in place.
#[derive(Debug, Error)]
pub enum GuardError {
    #[error("pattern `{pattern}`: {why}")]
    Pattern { pattern: String, why: &'static str },
    #[error("{path}", path = path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path}: not what ralph wrote", path = path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("{path}: too many files to look for guarded ones", path = path.display())]
    TooManyFiles { path: PathBuf },
    /// Something occupies the place of a file that is to be restored; its bytes stay in the record.
    #[error("{}: a directory or link is in the way; the files are kept in {}", paths.join(", "), record.display())]
    Blocked { paths: Vec<String>, record: PathBuf },
    #[error("{path}: the copies of the original tests are gone", path = path.display())]
    Gone { path: PathBuf },
}

impl GuardError {
    /// Whether the cause lies outside of `project`, where an agent cannot mend it.
    pub fn is_outside_of(&self, project: &Path) -> bool {
        match self {
            GuardError::Pattern { .. } | GuardError::Unreadable { .. } | GuardError::Gone { .. } => true,
            GuardError::File { path, .. } => !path.starts_with(project),
            GuardError::TooManyFiles { .. } | GuardError::Blocked { .. } => false,
        }
    }

    fn file(path: &Path) -> impl FnOnce(io::Error) -> GuardError {
        let path = path.to_owned();
        move |source| GuardError::File { path, source }
    }
}

impl FileGuard {
    /// Compiles the rules.
    ///
    /// # Errors
    /// [`GuardError::Pattern`] names an invalid pattern.
    pub fn new(rules: GuardRules) -> Result<FileGuard, GuardError> {
        let wrong = |(pattern, why)| GuardError::Pattern { pattern, why };
        let compiled = |patterns: &[String]| PathGlobs::new(patterns).map_err(wrong);
        Ok(FileGuard {
            tests: compiled(&rules.tests)?,
            named: compiled(&rules.named)?,
            config: compiled(&rules.config)?,
            shadows: compiled(&rules.shadows)?,
            except: compiled(&rules.except)?,
            rules,
        })
    }

    /// Copies the guarded files in their present state below `store`, a directory outside the project that is created
    /// if necessary.
    ///
    /// # Errors
    /// [`GuardError`] if the project cannot be read or the store cannot be written. A single unreadable file is left
    /// out ([`Originals::left_out`]).
    pub fn take(&self, project: &Path, store: &Path) -> Result<Originals, GuardError> {
        Originals::take(self.clone(), project, store, &BTreeMap::new())
    }

    /// As [`FileGuard::take`], with `earlier` contents of files that have changed since. Files of `kept`, the originals that
    /// `store` had so far, are taken from there.
    ///
    /// # Errors
    /// As [`FileGuard::take`], and if `kept` cannot be read.
    pub fn take_earlier(
        &self,
        project: &Path,
        store: &Path,
        mut earlier: BTreeMap<String, FileContent>,
        kept: Option<&Originals>,
    ) -> Result<Originals, GuardError> {
        if let Some(kept) = kept {
            kept.add_to(&mut earlier)?;
        }
        Originals::take(self.clone(), project, store, &earlier)
    }

    /// Returns the reason why the file at `path` is guarded; `None` if it is not. A Rust file may contain no guarded
    /// block.
    fn kind(&self, path: &str) -> Option<GuardedKind> {
        let parts = parts(path);
        // Configuration often lies among tests, whose patterns are less specific.
        let kind = if self.config.matches(&parts) {
            GuardedKind::Config
        } else if self.tests.matches(&parts) {
            GuardedKind::Test
        } else if self.named.matches(&parts) {
            GuardedKind::Named
        } else if self.shadows.matches(&parts) {
            GuardedKind::Shadow
        } else if manifests::is_manifest(path) {
            GuardedKind::Manifest
        } else if self.rules.rust_blocks && is_rust(path) {
            GuardedKind::Rust
        } else {
            return None;
        };
        (!self.except.matches(&parts)).then_some(kind)
    }

    /// Whether the file at `path` is one of tests, by its name. Configuration of tests is not.
    pub fn is_test(&self, path: &str) -> bool {
        self.kind(path) == Some(GuardedKind::Test)
    }

    /// Returns the kind of a file that did not exist before.
    fn kind_of_new(&self, path: &str) -> Option<GuardedKind> {
        match self.kind(path) {
            Some(GuardedKind::Test | GuardedKind::Named) if self.shadows.matches(&parts(path)) => {
                Some(GuardedKind::Shadow)
            }
            kind => kind,
        }
    }

    /// Returns the paths that the user names without wildcards.
    fn named_paths(&self) -> impl Iterator<Item = &str> {
        self.named.iter().filter_map(PathGlob::path)
    }

    /// Returns the user's patterns that match none of the paths.
    fn unmatched<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut left: Vec<&PathGlob> = self.named.iter().collect();
        for parts in paths.map(parts) {
            left.retain(|glob| !glob.matches(&parts));
        }
        left.into_iter().map(|glob| glob.pattern().to_owned()).collect()
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
