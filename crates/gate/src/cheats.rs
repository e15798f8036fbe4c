//! Known cheats: ways to make tests pass without doing the work.
//!
//! A cheat is data, a section of a TOML file: the files that it changes, and how. [`Cheat::edits`] computes the
//! changed files of a project without writing any. A cheat that finds nothing to change in a project does not apply
//! to it.

mod manifest;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

use crate::data_file::DataFileError;

/// Most files that one cheat changes.
const FILES: usize = 1000;

/// Languages, with the extensions of their files.
const LANGUAGES: [(&str, &[&str]); 11] = [
    ("python", &["py"]),
    ("rust", &["rs"]),
    ("javascript", &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"]),
    ("go", &["go"]),
    ("java", &["java", "kt"]),
    ("c", &["c", "h", "cc", "cpp", "cxx", "hpp"]),
    ("csharp", &["cs"]),
    ("swift", &["swift"]),
    ("ruby", &["rb"]),
    ("php", &["php"]),
    ("elixir", &["ex", "exs"]),
];

/// Returns the language of a source file, by its extension; `None` for other files.
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let found = LANGUAGES.iter().find(|(_, extensions)| extensions.contains(&extension));
    found.map(|(language, _)| *language)
}

/// A way to make tests pass without doing the work.
#[derive(Debug, Clone)]
pub struct Cheat {
    /// Lower case, with `-` between words.
    pub name: String,
    /// A sentence that describes it.
    pub what: String,
    /// The required language of the work; `None` for any.
    language: Option<&'static str>,
    /// Ids of runners, one of which must be in use; empty for any.
    runners: Vec<String>,
    edits: Vec<CheatEdit>,
}

/// A change of certain files.
#[derive(Debug, Clone)]
struct CheatEdit {
    place: EditTarget,
    change: EditAction,
}

#[derive(Debug, Clone)]
enum EditTarget {
    Parts(Vec<FilePurpose>),
    /// A path below each directory in which goals run.
    Path(String),
}

/// Files of a project by their purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilePurpose {
    /// Files that contain only tests.
    Tests,
    /// Source files that contain tests.
    Blocks,
    /// The broken source files.
    Work,
    /// Scripts that goals name.
    Scripts,
}

#[derive(Debug, Clone)]
enum EditAction {
    Empty,
    Delete,
    /// The new file name, in which `*` stands for the old one.
    Rename(String),
    Write(String),
    Within(TextChange),
}

/// A change within a text. A replacement must find its pattern.
#[derive(Debug, Clone, Default)]
struct TextChange {
    prepend: String,
    append: String,
    replace: Vec<(Regex, String)>,
}

/// The facts about a project that cheats need. Paths are relative to it, with `/`.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Files that contain only tests.
    pub tests: Vec<String>,
    /// Source files that contain tests.
    pub blocks: Vec<String>,
    /// The broken source files.
    pub work: Vec<String>,
    /// The scripts that goals name.
    pub scripts: Vec<String>,
    /// The ids of the runners in use.
    pub runners: BTreeSet<String>,
    /// The directories in which goals run; empty for the project itself.
    pub directories: Vec<String>,
    /// The files in which runners report the tests that ran.
    pub reports: Vec<String>,
    /// Number of tests.
    pub count: u32,
}

/// A file after a cheat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    pub path: String,
    /// The new text; `None` if the file is deleted.
    pub text: Option<String>,
}

impl Cheat {
    /// Parses the cheats of a file. `name` is the file's name, for errors.
    ///
    /// # Errors
    /// [`DataFileError`] names the line of an invalid cheat.
    pub fn parse(name: &str, text: &str) -> Result<Vec<Cheat>, DataFileError> {
        manifest::parse(name, text)
    }

    /// Returns the files that the cheat changes in a project; empty if it does not apply. `read` returns the text of
    /// a file.
    pub fn edits(&self, scene: &Scene, read: impl Fn(&str) -> Option<String>) -> Vec<EditedFile> {
        let is_of_language = |language: &str| scene.work.iter().any(|path| self::language(path) == Some(language));
        let uses = |runner: &String| scene.runners.contains(runner);
        if !self.language.is_none_or(is_of_language) || !self.runners.is_empty() && !self.runners.iter().any(uses) {
            return Vec::new();
        }
        let mut tree = EditedTree {
            read: &read,
            changed: BTreeMap::new(),
        };
        for rule in &self.edits {
            let mut applies = false;
            for path in self.paths(&rule.place, scene).into_iter().take(FILES) {
                applies |= tree.change(&path, &rule.change, scene).is_some();
            }
            if !applies {
                return Vec::new();
            }
        }
        let changed = tree.changed.into_iter();
        changed.map(|(path, text)| EditedFile { path, text }).collect()
    }

    fn paths(&self, place: &EditTarget, scene: &Scene) -> Vec<String> {
        let parts = match place {
            EditTarget::Parts(parts) => parts,
            EditTarget::Path(path) if path == REPORT => return scene.reports.clone(),
            EditTarget::Path(path) => {
                let below = |directory: &String| match directory.is_empty() {
                    true => path.clone(),
                    false => format!("{directory}/{path}"),
                };
                return scene.directories.iter().map(below).collect();
            }
        };
        let mut paths = Vec::new();
        for part in parts {
            let files = match part {
                FilePurpose::Tests => &scene.tests,
                FilePurpose::Blocks => &scene.blocks,
                FilePurpose::Work => &scene.work,
                FilePurpose::Scripts => &scene.scripts,
            };
            let is_meant = |path: &&String| match (part, language(path)) {
                // A script in a known language is replaced by one in that language, any other by a shell script.
                (FilePurpose::Scripts, language) => self.language == language,
                (FilePurpose::Tests | FilePurpose::Blocks | FilePurpose::Work, None) => false,
                (FilePurpose::Tests | FilePurpose::Blocks | FilePurpose::Work, Some(language)) => {
                    self.language.is_none_or(|meant| meant == language)
                }
            };
            paths.extend(files.iter().filter(is_meant).cloned());
        }
        paths
    }
}

/// Placeholder for the number of tests.
const COUNT: &str = "{tests}";
/// Placeholder in texts for the first report of a goal; as a path, it stands for all reports.
const REPORT: &str = "{report}";

/// Replaces the placeholders of a text; `None` if the project has no value for one.
fn filled(text: &str, scene: &Scene) -> Option<String> {
    let text = text.replace(COUNT, &scene.count.to_string());
    match (text.contains(REPORT), scene.reports.first()) {
        (false, _) => Some(text),
        (true, Some(report)) => Some(text.replace(REPORT, report)),
        (true, None) => None,
    }
}

/// The files of the project, with the changes made so far.
struct EditedTree<'t> {
    read: &'t dyn Fn(&str) -> Option<String>,
    /// The new text of each changed file; `None` if it is deleted.
    changed: BTreeMap<String, Option<String>>,
}

impl EditedTree<'_> {
    fn text(&self, path: &str) -> Option<String> {
        match self.changed.get(path) {
            Some(text) => text.clone(),
            None => (self.read)(path),
        }
    }

    /// Changes a file; `None` if the change does not apply to it.
    fn change(&mut self, path: &str, change: &EditAction, scene: &Scene) -> Option<()> {
        let before = self.text(path);
        let after = match change {
            EditAction::Delete => {
                before?;
                None
            }
            EditAction::Empty => {
                before.filter(|text| !text.is_empty())?;
                Some(String::new())
            }
            EditAction::Rename(to) => {
                let (directory, name) = path.rsplit_once('/').map_or(("", path), |(above, name)| (above, name));
                let to = to.replace('*', name);
                let to = if directory.is_empty() {
                    to
                } else {
                    format!("{directory}/{to}")
                };
                self.changed.insert(to, Some(before?));
                None
            }
            EditAction::Write(text) => {
                let text = filled(text, scene)?;
                (before.as_ref() != Some(&text)).then_some(Some(text))?
            }
            EditAction::Within(within) => Some(within.apply(before, scene)?),
        };
        self.changed.insert(path.to_owned(), after);
        Some(())
    }
}

impl TextChange {
    /// Returns the text with the changes. A missing file counts as empty, unless something must be replaced in it.
    fn apply(&self, before: Option<String>, scene: &Scene) -> Option<String> {
        let mut text = match (before, self.replace.is_empty()) {
            (Some(text), _) => text,
            (None, true) => String::new(),
            (None, false) => return None,
        };
        let mut found = self.replace.is_empty();
        for (pattern, with) in &self.replace {
            let with = filled(with, scene)?;
            let replaced = pattern.replace_all(&text, with.as_str()).into_owned();
            found |= replaced != text;
            text = replaced;
        }
        let (prepend, append) = (filled(&self.prepend, scene)?, filled(&self.append, scene)?);
        found.then(|| format!("{prepend}{text}{append}"))
    }
}
