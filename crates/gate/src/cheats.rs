//! Known cheats: ways to have tests pass without the work being done.
//!
//! A cheat is data, a section of a TOML file: which files it changes, and how. [`Cheat::edits`] says what becomes of the files of
//! a project; nothing is written here. A cheat that finds nothing to change in a project does not apply to it.

mod manifest;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

pub use manifest::CheatError;

/// Most files that one cheat changes.
const FILES: usize = 1000;

/// Languages with the extensions of their files.
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

/// The language of a file of code, by its extension; none of a file that is no code.
pub fn language(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    let found = LANGUAGES.iter().find(|(_, extensions)| extensions.contains(&extension));
    found.map(|(language, _)| *language)
}

/// A way to have tests pass without the work being done.
#[derive(Debug, Clone)]
pub struct Cheat {
    /// Lower case, with `-` between words.
    pub name: String,
    /// One sentence about what it does.
    pub what: String,
    /// The language of the work that it is for; none for any.
    language: Option<&'static str>,
    /// The runners, by their ids, of which one has to be in use; empty for any.
    runners: Vec<String>,
    edits: Vec<Rule>,
}

/// A change of some files.
#[derive(Debug, Clone)]
struct Rule {
    place: Place,
    change: Change,
}

#[derive(Debug, Clone)]
enum Place {
    Parts(Vec<Part>),
    /// A path below each directory in which goals run.
    Path(String),
}

/// Files of a project by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Files that hold nothing but tests.
    Tests,
    /// Source files with tests inside.
    Blocks,
    /// The source files that are broken.
    Work,
    /// Scripts that goals name.
    Scripts,
}

#[derive(Debug, Clone)]
enum Change {
    Empty,
    Delete,
    /// The new name of the file, in which `*` stands for the old one.
    Rename(String),
    Write(String),
    Within(Within),
}

/// A change within a text. What is replaced has to be found.
#[derive(Debug, Clone, Default)]
struct Within {
    prepend: String,
    append: String,
    replace: Vec<(Regex, String)>,
}

/// A project as far as cheats need to know it. Paths are relative to it, with `/`.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// Files that hold nothing but tests.
    pub tests: Vec<String>,
    /// Source files with tests inside.
    pub blocks: Vec<String>,
    /// The source files that are broken.
    pub work: Vec<String>,
    /// The scripts that goals name.
    pub scripts: Vec<String>,
    /// The ids of the runners in use.
    pub runners: BTreeSet<String>,
    /// The directories in which goals run; empty for the project itself.
    pub directories: Vec<String>,
    /// The files in which runners report what ran.
    pub reports: Vec<String>,
    /// How many tests there are.
    pub count: u32,
}

/// A file as a cheat leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    /// The new text; none where the file is deleted.
    pub text: Option<String>,
}

impl Cheat {
    /// Reads the cheats of a file. `name` is the file's, for errors.
    ///
    /// # Errors
    /// [`CheatError`] for anything that is no cheat, with its line.
    pub fn parse(name: &str, text: &str) -> Result<Vec<Cheat>, CheatError> {
        manifest::parse(name, text)
    }

    /// Returns the files that the cheat changes in a project, whose texts `read` returns; none where it does not apply.
    pub fn edits(&self, scene: &Scene, read: impl Fn(&str) -> Option<String>) -> Vec<Edit> {
        let is_of_language = |language: &str| scene.work.iter().any(|path| self::language(path) == Some(language));
        let uses = |runner: &String| scene.runners.contains(runner);
        if !self.language.is_none_or(is_of_language) || !self.runners.is_empty() && !self.runners.iter().any(uses) {
            return Vec::new();
        }
        let mut tree = Tree {
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
        changed.map(|(path, text)| Edit { path, text }).collect()
    }

    fn paths(&self, place: &Place, scene: &Scene) -> Vec<String> {
        let parts = match place {
            Place::Parts(parts) => parts,
            Place::Path(path) if path == REPORT => return scene.reports.clone(),
            Place::Path(path) => {
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
                Part::Tests => &scene.tests,
                Part::Blocks => &scene.blocks,
                Part::Work => &scene.work,
                Part::Scripts => &scene.scripts,
            };
            let is_meant = |path: &&String| match (part, language(path)) {
                // A script in a language is replaced by one in that language, all others by one of the shell's.
                (Part::Scripts, language) => self.language == language,
                (Part::Tests | Part::Blocks | Part::Work, None) => false,
                (Part::Tests | Part::Blocks | Part::Work, Some(language)) => {
                    self.language.is_none_or(|meant| meant == language)
                }
            };
            paths.extend(files.iter().filter(is_meant).cloned());
        }
        paths
    }
}

/// Stands in texts for the number of tests.
const COUNT: &str = "{tests}";
/// Stands in texts for the report of the first goal that has one, and as a path for all reports.
const REPORT: &str = "{report}";

/// Fills in what a text says of the project; none if the project has nothing to fill in.
fn filled(text: &str, scene: &Scene) -> Option<String> {
    let text = text.replace(COUNT, &scene.count.to_string());
    match (text.contains(REPORT), scene.reports.first()) {
        (false, _) => Some(text),
        (true, Some(report)) => Some(text.replace(REPORT, report)),
        (true, None) => None,
    }
}

/// The files as they are and as far as they are changed.
struct Tree<'t> {
    read: &'t dyn Fn(&str) -> Option<String>,
    /// The new text of each file; none where it is deleted.
    changed: BTreeMap<String, Option<String>>,
}

impl Tree<'_> {
    fn text(&self, path: &str) -> Option<String> {
        match self.changed.get(path) {
            Some(text) => text.clone(),
            None => (self.read)(path),
        }
    }

    /// Changes a file; none if nothing of it is to be changed.
    fn change(&mut self, path: &str, change: &Change, scene: &Scene) -> Option<()> {
        let before = self.text(path);
        let after = match change {
            Change::Delete => {
                before?;
                None
            }
            Change::Empty => {
                before.filter(|text| !text.is_empty())?;
                Some(String::new())
            }
            Change::Rename(to) => {
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
            Change::Write(text) => {
                let text = filled(text, scene)?;
                (before.as_ref() != Some(&text)).then_some(Some(text))?
            }
            Change::Within(within) => Some(within.apply(before, scene)?),
        };
        self.changed.insert(path.to_owned(), after);
        Some(())
    }
}

impl Within {
    /// The text with the changes. A file that is not there is made of what is added, and has nothing to be replaced.
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
