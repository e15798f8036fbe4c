//! Files that decide the results of tests: copies of them as they were, and a trial with these in place.
//!
//! [`Guard`] knows by patterns which files are guarded, [`Originals`] has copies of them from the start of a run and finds
//! what is no longer like them, and a [`Trial`] puts them in place until it is ended.
//!
//! An agent can write anywhere in the project, while this code works too. No symlink is followed there, nothing but
//! regular files is opened, and `.gitignore` hides nothing. Originals and records of trials are outside of the project.

mod diff;
mod glob;
mod originals;
mod parts;
mod place;
mod record;
mod rust;
mod sections;
mod taking;
mod trial;
mod walk;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::glob::{Glob, Globs};
pub use self::{
    originals::Originals,
    trial::{Ended, Trial},
    walk::LeftOut,
};

/// Most bytes of a guarded file.
const FILE_CAP_BYTES: u64 = 16 << 20;

/// Patterns of what is guarded. A pattern without `/` is for the name of a file in any directory; `**`, `*`, `?`,
/// `{a,b}` and `[a-z]` are understood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GuardRules {
    /// Files with tests. New ones are no change.
    pub tests: Vec<String>,
    /// Files that the user names. New ones are no change. One that is named by its whole path is guarded wherever it is.
    pub named: Vec<String>,
    /// Files that configure a runner. A new one is a change where it can affect what is guarded.
    pub config: Vec<String>,
    /// Files that would stand in the way of a runner's modules, such as `unittest.py`: only new ones are a change.
    pub shadows: Vec<String>,
    /// Files that are not guarded, although another pattern says so.
    pub except: Vec<String>,
    /// Files of which only parts are guarded, and the names of these parts: sections, or keys such as `package.autotests`.
    pub sections: BTreeMap<String, Vec<String>>,
    /// Whether tests in Rust source files are guarded.
    pub rust_blocks: bool,
}

impl GuardRules {
    /// True if no pattern guards anything.
    pub fn guards_nothing(&self) -> bool {
        let except = self.except.clone();
        let nothing = GuardRules {
            except,
            ..GuardRules::default()
        };
        *self == nothing
    }
}

/// The rules of what is guarded, with their patterns checked.
#[derive(Debug, Clone)]
pub struct Guard {
    rules: GuardRules,
    tests: Globs,
    named: Globs,
    config: Globs,
    shadows: Globs,
    except: Globs,
    sections: Vec<(Glob, Vec<String>)>,
}

/// Why a file is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Test,
    Named,
    Config,
    Shadow,
    Sections,
    Rust,
}

/// Why guarded files could not be looked at or put in place.
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
    /// Something stands where a file is to be put back; its bytes are kept in the record.
    #[error("{}: a directory or link is in the way; the files are kept in {}", paths.join(", "), record.display())]
    Blocked { paths: Vec<String>, record: PathBuf },
}

impl GuardError {
    fn file(path: &Path) -> impl FnOnce(io::Error) -> GuardError {
        let path = path.to_owned();
        move |source| GuardError::File { path, source }
    }
}

impl Guard {
    /// Checks the rules.
    ///
    /// # Errors
    /// [`GuardError::Pattern`] names the pattern that is wrong.
    pub fn new(rules: GuardRules) -> Result<Guard, GuardError> {
        let sections = rules.sections.iter();
        let sections = sections.map(|(pattern, names)| Ok((Glob::new(pattern)?, names.clone())));
        Ok(Guard {
            tests: Globs::new(&rules.tests)?,
            named: Globs::new(&rules.named)?,
            config: Globs::new(&rules.config)?,
            shadows: Globs::new(&rules.shadows)?,
            except: Globs::new(&rules.except)?,
            sections: sections.collect::<Result<_, GuardError>>()?,
            rules,
        })
    }

    /// Copies what is guarded, as it is now, below `store`, a directory outside of the project that is made if need be.
    ///
    /// # Errors
    /// [`GuardError`] if the project cannot be read or the store cannot be written. A single file that cannot be read is
    /// left out ([`Originals::left_out`]).
    pub fn take(&self, project: &Path, store: &Path) -> Result<Originals, GuardError> {
        Originals::take(self.clone(), project, store)
    }

    /// Why the file at `path` is guarded, if it is. A Rust file may have nothing that is.
    fn kind(&self, path: &str) -> Option<Kind> {
        let parts = glob::parts(path);
        // Configuration often stands among tests, and patterns for these are the wider ones.
        let kind = if self.config.matches(&parts) {
            Kind::Config
        } else if self.tests.matches(&parts) {
            Kind::Test
        } else if self.named.matches(&parts) {
            Kind::Named
        } else if self.shadows.matches(&parts) {
            Kind::Shadow
        } else if self.sections.iter().any(|(glob, _)| glob.matches(&parts)) {
            Kind::Sections
        } else if self.rules.rust_blocks && is_rust(path) {
            Kind::Rust
        } else {
            return None;
        };
        (!self.except.matches(&parts)).then_some(kind)
    }

    /// The kind of a file that was not there before.
    fn kind_of_new(&self, path: &str) -> Option<Kind> {
        match self.kind(path) {
            Some(Kind::Test | Kind::Named) if self.shadows.matches(&glob::parts(path)) => Some(Kind::Shadow),
            kind => kind,
        }
    }

    /// The names of the parts of a file that are guarded.
    fn section_names(&self, path: &str) -> Vec<String> {
        let parts = glob::parts(path);
        let names = self.sections.iter().filter(|(glob, _)| glob.matches(&parts));
        names.flat_map(|(_, names)| names.iter().cloned()).collect()
    }

    /// The files that the user names by their whole path.
    fn named_paths(&self) -> impl Iterator<Item = &str> {
        self.named.iter().filter_map(Glob::path)
    }

    /// The user's patterns that none of the paths matches.
    fn unmatched<'a>(&self, paths: impl Iterator<Item = &'a str>) -> Vec<String> {
        let mut left: Vec<&Glob> = self.named.iter().collect();
        for path in paths {
            if left.is_empty() {
                break;
            }
            let parts = glob::parts(path);
            left.retain(|glob| !glob.matches(&parts));
        }
        left.into_iter().map(|glob| glob.pattern().to_owned()).collect()
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
