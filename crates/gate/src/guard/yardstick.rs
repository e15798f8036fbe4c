//! The yardstick: what a run changed and the product is not made of. It is put back before the work is measured.
//!
//! The work is source of the product, data that lies with it, and its dependencies. All else may decide a result: golden
//! files, scripts, configuration of any tool. No list names these; what the product is made of has to be recognised instead.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use ralph_core::event::{GuardedChange, GuardedChangeKind};
use serde_json::{Map, Value};

use super::{
    GuardError, GuardedKind, Originals,
    diff::UnifiedDiff,
    project_dir::{FileContent, ProjectDir},
    sections,
    walk::walk,
};

/// Endings of files that products are made of.
const SOURCE: &[&str] = &[
    "adb", "ads", "asm", "astro", "awk", "bash", "bat", "c", "cbl", "cc", "cjs", "clj", "cljs", "cob", "coffee", "cpp",
    "cr", "cs", "cshtml", "css", "cts", "cu", "cxx", "d", "dart", "eex", "el", "elm", "erb", "erl", "ex", "exs", "f",
    "f03", "f90", "f95", "fish", "fnl", "for", "frag", "fs", "fsx", "gd", "gleam", "glsl", "go", "graphql", "groovy",
    "h", "haml", "hbs", "heex", "hh", "hpp", "hrl", "hs", "htm", "html", "hx", "idr", "java", "jinja", "jinja2", "jl",
    "js", "jsx", "kt", "kts", "l", "lean", "leex", "less", "lhs", "lisp", "lua", "m", "metal", "mjml", "mjs", "ml",
    "mli", "mlx", "mm", "mts", "nim", "odin", "pas", "php", "pl", "pm", "proto", "ps1", "pug", "purs", "pxd", "py",
    "pyi", "pyx", "r", "raku", "razor", "rb", "re", "res", "rkt", "rs", "s", "sass", "scala", "scm", "scss", "sh",
    "slim", "sml", "sol", "sql", "sv", "svelte", "svh", "swift", "tcl", "tera", "thrift", "ts", "tsx", "twig", "v",
    "vala", "vb", "vert", "vhd", "vhdl", "vim", "vue", "wgsl", "xaml", "y", "zig", "zsh",
];
/// Endings of files for people, which decide no result unless a test names them.
const PROSE: [&str; 6] = ["md", "markdown", "rst", "adoc", "org", "png"];
/// Files in which agents look for instructions of a project. The first is the one that most agents read.
pub const INSTRUCTIONS: [&str; 4] = ["AGENTS.md", "AGENT.md", "CLAUDE.md", "GEMINI.md"];
/// Tables and keys of manifests that describe the product itself.
const OF_PRODUCT: &str = "bin browser description engines exports features files lib main module name package project type \
    types typings version";
/// A part of the names of tables with packages: `devDependencies`, `dependency-groups`.
const PACKAGES: &str = "ependenc";
/// Most bytes of tests, or of source, that are searched for the names of files.
const SEARCHED_BYTES: usize = 8 << 20;

/// Why a changed file is part of the yardstick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YardstickKind {
    /// A manifest in which only the product's own part changed, or a lock file: work, unless the tests pass without it.
    Dependencies,
    /// A file of no product that was there before.
    Changed,
    /// A file of no product that is new.
    New,
    /// Source that a configuration or script of the tests names.
    Named,
    /// A new file of tests, beside older ones that have to pass without it.
    Test,
}

/// A file of the yardstick, with its content when the run began.
#[derive(Debug, Clone)]
pub struct YardstickFile {
    pub path: String,
    pub kind: YardstickKind,
    pub before: FileContent,
    pub now: FileContent,
}

impl YardstickFile {
    pub fn change(&self) -> GuardedChange {
        GuardedChange {
            path: self.path.as_str().into(),
            kind: match (&self.before, &self.now) {
                (FileContent::Nothing, _) => GuardedChangeKind::Added,
                (_, FileContent::Nothing) => GuardedChangeKind::Deleted,
                _ => GuardedChangeKind::Changed,
            },
            part: None,
        }
    }
}

/// Renders the changes of some files as a unified diff for people.
pub fn yardstick_diff(files: &[YardstickFile]) -> String {
    let mut diff = UnifiedDiff::default();
    for file in files {
        diff.add(&file.path, &file.before, Some(&file.now));
    }
    diff.into_text()
}

/// Returns the files of the yardstick among those that the run changed, each as it was `before`. Guarded files are not
/// among them: a trial has their originals.
///
/// # Errors
/// [`GuardError`] if the project or the store cannot be read.
pub fn yardstick(
    originals: &Originals,
    project: &Path,
    before: &[(String, FileContent)],
) -> Result<Vec<YardstickFile>, GuardError> {
    let project_dir = ProjectDir::open(project).map_err(GuardError::file(project))?;
    let (naming, product) = (OnceCell::new(), OnceCell::new());
    let mut found = Vec::new();
    if originals.test_files().next().is_some() {
        for path in originals.new_tests(project)? {
            if let Some(now) = project_dir.read(&path).unwrap_or(None) {
                found.push(YardstickFile {
                    path,
                    kind: YardstickKind::Test,
                    before: FileContent::Nothing,
                    now,
                });
            }
        }
    }
    for (path, before) in before {
        let is_guarded = match originals.guard.kind_of_new(path) {
            Some(GuardedKind::Test | GuardedKind::Named | GuardedKind::Config | GuardedKind::Shadow) => true,
            Some(GuardedKind::Sections | GuardedKind::Rust) | None => false,
        };
        // A file that cannot be read could not be put back.
        let Some(now) = project_dir.read(path).unwrap_or(None) else {
            continue;
        };
        if is_guarded || now.is_like(before) || is_of_git(path) {
            continue;
        }
        let naming = known(&naming, || NamingTexts::of(originals))?;
        let product = || known(&product, || Product::in_project(originals, project, &project_dir));
        if let Some(kind) = kind(path, before, &now, naming, product)? {
            found.push(YardstickFile {
                path: path.clone(),
                kind,
                before: before.clone(),
                now,
            });
        }
    }
    Ok(found)
}

/// Whether a run changed neither source of the product nor tests: only files of the `yardstick`, configuration of runners that
/// is among the guarded `changes`, and what decides no result. `before` has all changed files.
pub fn is_yardstick_alone(
    originals: &Originals,
    before: &[(String, FileContent)],
    changes: &[GuardedChange],
    yardstick: &[YardstickFile],
) -> bool {
    let is_put_back = |path: &String| {
        let kind = originals.guard.kind_of_new(path);
        let is_config = matches!(kind, Some(GuardedKind::Config | GuardedKind::Shadow));
        let is_one = |file: &YardstickFile| file.path == *path && file.kind != YardstickKind::Test;
        is_config && changes.iter().any(|change| change.path == **path) || yardstick.iter().any(is_one)
    };
    let decides_nothing = |path: &String| is_prose(path) || is_of_git(path);
    !before.is_empty()
        && before
            .iter()
            .all(|(path, _)| is_put_back(path) || decides_nothing(path))
}

/// Returns files that changed, each as it was `before`, as a yardstick.
pub fn changed_files(project: &Path, before: &[(String, FileContent)]) -> Vec<YardstickFile> {
    let Ok(project_dir) = ProjectDir::open(project) else {
        return Vec::new();
    };
    let file = |(path, before): &(String, FileContent)| {
        Some(YardstickFile {
            path: path.clone(),
            kind: YardstickKind::Changed,
            before: before.clone(),
            now: project_dir.read(path).unwrap_or(None)?,
        })
    };
    before.iter().filter_map(file).collect()
}

/// Returns the changed files by which the work names packages to install: lock files, lists of requirements and manifests.
/// Each has its present content, but for what a manifest tells a setup to run or to take from elsewhere: that is as `before`.
pub fn package_lists(project: &Path, before: &[(String, FileContent)]) -> Vec<(String, FileContent)> {
    let Ok(project_dir) = ProjectDir::open(project) else {
        return Vec::new();
    };
    let changed = before.iter().filter_map(|(path, before)| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_list = is_lock(name) || path.contains("requirements") && path.ends_with(".txt");
        let now = project_dir.read(path).unwrap_or(None)?;
        let is_changed = !now.is_like(before);
        let content = match is_list || describes_product(path, before, &now, None) {
            true => Some(now).filter(|_| is_changed),
            false => with_packages_of(path, before, &now).filter(|content| !content.is_like(before)),
        };
        content.map(|content| (path.clone(), content))
    });
    changed.collect()
}

/// Returns a manifest as it was `before`, with the product's own part and the packages from a registry as they are `now`;
/// `None` if it names the same packages.
fn with_packages_of(path: &str, before: &FileContent, now: &FileContent) -> Option<FileContent> {
    let FileContent::File { bytes, mode } = now else {
        return None;
    };
    let now = sections::values(path, str::from_utf8(bytes).ok()?)?;
    let before = match before {
        FileContent::File { bytes, .. } => sections::values(path, str::from_utf8(bytes).ok()?)?,
        FileContent::Nothing => Value::Null,
        FileContent::Link(_) => return None,
    };
    let changed = changed_leaves(&before, &now);
    changed.iter().any(|(key, _)| key.contains(PACKAGES)).then_some(())?;
    let with_packages = with_parts_of(&before, &now, "");
    let bytes = sections::serialised(path, &with_packages)?;
    Some(FileContent::File { bytes, mode: *mode })
}

/// Returns the value `before`, with the parts of `now` that only describe the product or name packages. `Null` is nothing.
fn with_parts_of<'v>(before: &'v Value, now: &'v Value, key: &str) -> Value {
    let is_taken = |value: &Value, key: String| {
        leaves(value, key)
            .iter()
            .all(|(key, value)| is_of_product(key, value, true, |_| false))
    };
    match (before, now) {
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            let names = |value: &'v Value| value.as_object().into_iter().flat_map(Map::keys);
            let gone = names(before).filter(|name| now.get(name).is_none());
            let part = |name: &String| {
                let at = |value: &'v Value| value.get(name).unwrap_or(&Value::Null);
                let part = with_parts_of(at(before), at(now), &format!("{key}\n{name}"));
                (!part.is_null()).then(|| (name.clone(), part))
            };
            let parts: Map<String, Value> = names(now).chain(gone).filter_map(part).collect();
            match parts.is_empty() && *before != Value::Object(Map::new()) {
                true => Value::Null,
                false => Value::Object(parts),
            }
        }
        (Value::Array(_) | Value::Null, Value::Array(_)) | (Value::Array(_), Value::Null) => {
            let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let (old, new) = (items(before), items(now));
            let is_taken = |item: &&Value| is_taken(item, format!("{key}\n{item}"));
            let kept = new.iter().filter(|item| old.contains(item) || is_taken(item));
            let put_back = old.iter().filter(|item| !new.contains(item) && !is_taken(item));
            let all: Vec<Value> = kept.chain(put_back).cloned().collect();
            match all.is_empty() && !before.is_array() {
                true => Value::Null,
                false => Value::Array(all),
            }
        }
        _ if [before, now]
            .iter()
            .all(|value| value.is_null() || is_taken(value, key.to_owned())) =>
        {
            now.clone()
        }
        _ => before.clone(),
    }
}

/// Returns the value, which is made when it is first needed.
fn known<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, GuardError>) -> Result<&T, GuardError> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

/// The original texts of tests and configurations, which name files.
#[derive(Debug, Default)]
struct NamingTexts {
    tests: String,
    configuration: String,
}

impl NamingTexts {
    fn of(originals: &Originals) -> Result<NamingTexts, GuardError> {
        let mut naming = NamingTexts::default();
        for entry in originals.index.entries.iter().filter(|entry| !entry.link) {
            let text = String::from_utf8_lossy(&originals.bytes(entry)?).into_owned();
            match entry.kind {
                GuardedKind::Test => naming.add_test(&text),
                GuardedKind::Rust => {
                    let starts = ["#[cfg(test)]", "#[test]"].iter().filter_map(|start| text.find(start));
                    naming.add_test(starts.min().map_or("", |start| &text[start..]));
                }
                GuardedKind::Config | GuardedKind::Named => naming.configuration.push_str(&text),
                GuardedKind::Sections => {
                    let parts = originals.guard.section_names(&entry.path);
                    let text = sections::text(&entry.path, &parts, &text);
                    naming.configuration.push_str(&text);
                }
                GuardedKind::Shadow => {}
            }
        }
        Ok(naming)
    }

    fn add_test(&mut self, text: &str) {
        if self.tests.len() < SEARCHED_BYTES {
            self.tests.push_str(text);
        }
    }
}

/// The source of the product.
#[derive(Debug, Default)]
struct Product {
    text: String,
    directories: BTreeSet<String>,
}

impl Product {
    fn in_project(originals: &Originals, project: &Path, project_dir: &ProjectDir) -> Result<Product, GuardError> {
        let mut product = Product::default();
        walk(
            project,
            |_| false,
            |path, kind| {
                let is_guarded = !matches!(originals.guard.kind(path), None | Some(GuardedKind::Rust));
                let may_be = kind.is_file() && !is_guarded && product.text.len() < SEARCHED_BYTES;
                if !may_be || !is_source(path) && has_ending(path) {
                    return Ok(());
                }
                let bytes = project_dir.read_file(path).map(|(_, bytes)| bytes).unwrap_or_default();
                if is_source(path) || is_command(path, &bytes) {
                    product.directories.insert(parent(path).to_owned());
                    product.text.push_str(&String::from_utf8_lossy(&bytes));
                }
                Ok(())
            },
        )?;
        Ok(product)
    }

    /// Whether a file lies in a directory of source, or below one that is not the project itself.
    fn lies_with_source(&self, path: &str) -> bool {
        let mut directory = parent(path);
        while !directory.is_empty() {
            if self.directories.contains(directory) {
                return true;
            }
            directory = parent(directory);
        }
        false
    }
}

/// The kind of a changed file; `None` if it is work. The source of the `product` is read only for files that are none of it.
fn kind<'p>(
    path: &str,
    before: &FileContent,
    now: &FileContent,
    naming: &NamingTexts,
    product: impl FnOnce() -> Result<&'p Product, GuardError>,
) -> Result<Option<YardstickKind>, GuardError> {
    let is_new = *before == FileContent::Nothing;
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_command = |content: &FileContent| match content {
        FileContent::File { bytes, .. } => is_command(path, bytes),
        FileContent::Nothing => true,
        FileContent::Link(_) => false,
    };
    if is_source(path) || is_command(before) && is_command(now) {
        // Source that tests import is what they test.
        let is_loaded = || is_named(&naming.configuration, path) && !is_imported(&naming.tests, path);
        let configures = !is_new && (name.contains(".config.") || name.starts_with('.') || is_loaded());
        return Ok(configures.then_some(YardstickKind::Named));
    }
    if is_lock(name) || describes_product(path, before, now, Some(&naming.tests)) {
        return Ok(Some(YardstickKind::Dependencies));
    }
    let is_in_tests = is_named(&naming.tests, path);
    if is_new && is_in_tests {
        // A test as it was waits for it.
        return Ok(None);
    }
    let product = product()?;
    let is_read = is_named(&product.text, path);
    let is_apart = !is_read && !product.directories.contains(parent(path));
    let is_of_tests = is_in_tests || is_snapshot(&naming.tests, path, is_apart);
    // A product without source is made of other files.
    let has_no_source = product.directories.is_empty();
    let is_of_product = is_read || has_no_source || product.lies_with_source(path) || is_prose(path);
    let kind = match is_new {
        true => YardstickKind::New,
        false => YardstickKind::Changed,
    };
    Ok((is_of_tests || !is_of_product).then_some(kind))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn ends_in(path: &str, endings: &[&str]) -> bool {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    ending.is_some_and(|(_, ending)| endings.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether the name of a file is that of a document for people.
fn is_prose(path: &str) -> bool {
    ends_in(path, &PROSE)
}

fn is_source(path: &str) -> bool {
    ends_in(path, SOURCE)
}

/// Whether a file is a program whose name has no ending, as those of commands have none.
fn is_command(path: &str, bytes: &[u8]) -> bool {
    !has_ending(path) && bytes.starts_with(b"#!")
}

fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or(path).contains('.')
}

/// Whether a file tells tools, hosts or agents what to do, as far as its path shows. A new one may be data of the product
/// unless its name is one that such programs look for.
pub fn is_for_tools(path: &str, is_new: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_known = is_hidden || INSTRUCTIONS.contains(&name) || name.contains(".config.");
    is_known || !is_new && !is_source(path) && !is_prose(path) && !is_lock(name)
}

/// Whether a file is for git or its hosts alone.
fn is_of_git(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| first.starts_with(".git"))
}

/// Whether the name of a file is that of pinned dependencies: `Cargo.lock`, `package-lock.json`, `go.sum`.
fn is_lock(name: &str) -> bool {
    let mut words = name.split(['.', '-', '_']);
    name == "go.sum" || words.any(|word| word.eq_ignore_ascii_case("lock") || word == "lockb")
}

/// Whether a text names a file: by its path, or by its name.
fn is_named(text: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        // A sentence may end with the name.
        !before.is_some_and(is_part) && !after.is_some_and(|c| c != '.' && is_part(c))
    })
}

/// Whether tests import a file of source: `require('../src/add')`, `from calc import add`, `use sums::add;`.
fn is_imported(tests: &str, path: &str) -> bool {
    let stem = Path::new(path)
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or(path);
    let is_import = |(at, _): (usize, &str)| {
        let (before, after) = (&tests[..at], &tests[at + stem.len()..]);
        let is_end = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
        let begins = ["/", "::", "from ", "import ", "."];
        after.starts_with(is_end) && begins.iter().any(|begin| before.ends_with(begin))
    };
    is_named(tests, path) || tests.match_indices(stem).any(is_import)
}

/// Whether a file is called like a test, or like a file of tests, as snapshots are: `crate__module__test_name.snap`,
/// `add.test.js.snap`. One that lies `apart` from source may have a name that tests give it.
fn is_snapshot(tests: &str, path: &str, is_apart: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Some((stem, _)) = name.rsplit_once('.') else {
        return false;
    };
    let is_given = || {
        ['"', '\'']
            .iter()
            .any(|quote| tests.contains(&format!("{quote}{stem}{quote}")))
    };
    let is_test = |(_, test): (&str, &str)| {
        let mut words = tests.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == test)
    };
    is_source(stem) || stem.rsplit_once("__").is_some_and(is_test) || is_apart && is_given()
}

/// Whether a manifest differs only in what describes the product, and in its dependencies: those from a registry and, with
/// `tests`, new ones from elsewhere that these do not name. They are source of the work.
fn describes_product(path: &str, before: &FileContent, now: &FileContent, tests: Option<&str>) -> bool {
    let text = |content: &FileContent| match content {
        FileContent::File { bytes, .. } => String::from_utf8(bytes.clone()).ok(),
        FileContent::Nothing | FileContent::Link(_) => None,
    };
    let (Some(before), Some(now)) = (text(before), text(now)) else {
        return false;
    };
    let known = tests.map(|tests| before.clone() + tests);
    let names = |known: &String, name: &str| known.contains(name) || known.contains(&name.replace('-', "_"));
    let is_new = |name: &str| known.as_ref().is_some_and(|known| !names(known, name));
    if path.rsplit('/').next() == Some("go.mod") {
        let other = |text: &str| -> Vec<String> {
            let keeps = |line: &&str| {
                let replaced = line.split_once("=>").and_then(|(left, _)| {
                    let left = left.trim_start().trim_start_matches("replace ");
                    left.split_whitespace().next()
                });
                replaced.is_some_and(|module| !is_new(module)) || line.starts_with("module")
            };
            let lines = text.lines().map(str::trim);
            lines.filter(keeps).map(str::to_owned).collect()
        };
        return other(&before) == other(&now);
    }
    let (Some(before), Some(now)) = (sections::values(path, &before), sections::values(path, &now)) else {
        return false;
    };
    let changed = changed_leaves(&before, &now);
    let mut changed = changed.iter();
    changed.len() > 0 && changed.all(|(key, value)| is_of_product(key, value, false, is_new))
}

/// Whether a value of a manifest describes the product, or names a package that it needs: also for its development, if
/// `for_development`. One from elsewhere than a registry has to be new.
fn is_of_product(key: &str, value: &Value, for_development: bool, is_new: impl Fn(&str) -> bool) -> bool {
    let parts: Vec<&str> = key.split('\n').filter(|part| !part.is_empty()).collect();
    let describes = |table: &&str| OF_PRODUCT.split(' ').any(|one| one == *table);
    if parts.first().is_some_and(describes) && !key.contains("ependencies") {
        return true;
    }
    let is_table = |part: &&str| part.ends_with("ependencies") || for_development && part.contains(PACKAGES);
    let is_wanted = |part: &str| for_development || !part.to_ascii_lowercase().contains("dev");
    let table = parts.iter().rposition(is_table).filter(|at| is_wanted(parts[*at]));
    let is_elsewhere = parts
        .last()
        .is_some_and(|last| matches!(*last, "path" | "git" | "url" | "registry"))
        || value
            .as_str()
            .is_some_and(|value| value.contains(':') || value.contains('/'));
    table.is_some_and(|at| !is_elsewhere || parts.get(at + 1).is_some_and(|name| is_new(name)))
}

/// The values that only one of two documents has, by their keys.
fn changed_leaves<'v>(before: &'v Value, now: &'v Value) -> Vec<(String, &'v Value)> {
    let (old, new) = (leaves(before, String::new()), leaves(now, String::new()));
    let added = new.iter().filter(|(key, value)| old.get(*key) != Some(value));
    let removed = old.iter().filter(|(key, value)| new.get(*key) != Some(value));
    added.chain(removed).map(|(key, value)| (key.clone(), *value)).collect()
}

/// The values of a document that hold no others, by their keys.
fn leaves(value: &Value, key: String) -> BTreeMap<String, &Value> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, value)| leaves(value, format!("{key}\n{name}")))
            .collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|value| leaves(value, format!("{key}\n{value}")))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => [(key, value)].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> FileContent {
        FileContent::File {
            bytes: text.as_bytes().to_vec(),
            mode: 0o644,
        }
    }

    #[test]
    fn what_the_product_is_not_made_of_is_told_from_the_work() {
        use YardstickKind::{Changed, Dependencies, Named, New};
        let naming = NamingTexts {
            tests: "const { add } = require('../src/add'); read('golden/a.txt'); assert_snapshot!(\"total\"); fn prints_it() {}"
                .to_owned(),
            configuration: "setupFiles: ['./scripts/setup.js'], include: ['src/add.js'], sh ci/tests.sh\n".to_owned(),
        };
        let product = Product {
            text: "open('data/rates.csv')".to_owned(),
            directories: ["src".to_owned(), String::new()].into(),
        };
        let (some, other, nothing) = (file("1"), file("2"), FileContent::Nothing);
        for (path, is_new, expected) in [
            ("src/add.js", false, None),
            ("src/new.js", true, None),
            ("scripts/setup.js", false, Some(Named)),
            ("scripts/setup.js", true, None),
            ("ci/tests.sh", false, Some(Named)),
            ("eslint.config.mjs", false, Some(Named)),
            ("deploy.sh", false, None),
            ("golden/a.txt", false, Some(Changed)),
            ("golden/b.txt", false, Some(Changed)),
            ("golden/a.txt", true, None),
            ("golden/b.txt", true, Some(New)),
            ("src/snapshots/total.snap", false, Some(Changed)),
            ("src/snapshots/x__prints_it.snap", false, Some(Changed)),
            ("src/__snapshots__/add.test.js.snap", true, Some(New)),
            ("src/locale/de.po", false, None),
            ("src/table.bin", true, None),
            ("data/rates.csv", false, None),
            ("data/rates.csv", true, None),
            ("mypy.ini", true, Some(New)),
            (".c8rc.json", false, Some(Changed)),
            ("Makefile", false, Some(Changed)),
            ("Cargo.lock", false, Some(Dependencies)),
            ("package-lock.json", true, Some(Dependencies)),
            ("uv.lock", false, Some(Dependencies)),
            ("go.sum", false, Some(Dependencies)),
            ("README.md", false, None),
        ] {
            let before = if is_new { &nothing } else { &some };
            let found = kind(path, before, &other, &naming, || Ok(&product)).unwrap();
            assert_eq!(found, expected, "{path} {is_new}");
        }
        let script = file("#!/bin/sh\n");
        for (path, now, expected) in [
            ("libexec/sums", &script, None),
            ("libexec/sums", &nothing, None),
            ("libexec/sums", &other, Some(Changed)),
            ("golden/a.txt", &script, Some(Changed)),
        ] {
            let found = kind(path, &file("#!/bin/bash\n"), now, &naming, || Ok(&product)).unwrap();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn files_for_tools_hosts_and_agents_are_told_from_source_and_prose() {
        for (path, is_new, expected) in [
            (".github/workflows/ci.yml", true, true),
            ("web/.eslintrc", false, true),
            ("web/vite.config.ts", true, true),
            ("docs/CLAUDE.md", true, true),
            ("Makefile", false, true),
            ("pyproject.toml", false, true),
            ("data/rates.csv", true, false),
            ("src/a.py", false, false),
            ("README.md", false, false),
            ("Cargo.lock", false, false),
        ] {
            assert_eq!(is_for_tools(path, is_new), expected, "{path}");
        }
    }

    #[test]
    fn other_dependencies_of_the_product_are_work_and_those_of_tests_are_not() {
        for (path, before, now, is_work) in [
            (
                "package.json",
                r#"{"dependencies": {"a": "1"}}"#,
                r#"{"dependencies": {"a": "2", "b": "1"}}"#,
                true,
            ),
            (
                "package.json",
                r#"{"devDependencies": {"a": "1"}}"#,
                r#"{"devDependencies": {"a": "2"}}"#,
                false,
            ),
            (
                "package.json",
                r#"{"dependencies": {"a": "1"}}"#,
                r#"{"dependencies": {"a": "file:soft"}}"#,
                false,
            ),
            ("package.json", r#"{"version": "1"}"#, r#"{"version": "2"}"#, true),
            (
                "package.json",
                r#"{"scripts": {"test": "a"}}"#,
                r#"{"scripts": {"test": "b"}}"#,
                false,
            ),
            (
                "Cargo.toml",
                "[package]\nedition = \"2018\"",
                "[package]\nedition = \"2021\"",
                true,
            ),
            (
                "Cargo.toml",
                "[dependencies]\na = \"1\"",
                "[dependencies]\na = { version = \"1\", features = [\"b\"] }",
                true,
            ),
            (
                "Cargo.toml",
                "[dependencies]\na = \"1\"",
                "[dependencies]\na = { path = \"soft\" }",
                false,
            ),
            (
                "Cargo.toml",
                "[dev-dependencies]\na = \"1\"",
                "[dev-dependencies]\na = { path = \"soft\" }",
                false,
            ),
            (
                "Cargo.toml",
                "[lints.clippy]\nall = \"deny\"",
                "[lints.clippy]\nall = \"allow\"",
                false,
            ),
            (
                "pyproject.toml",
                "[project]\ndependencies = [\"a\"]",
                "[project]\ndependencies = [\"a\", \"b>=2\"]",
                true,
            ),
            (
                "pyproject.toml",
                "[tool.mypy]\nstrict = true",
                "[tool.mypy]\nignore_errors = true",
                false,
            ),
            ("go.mod", "module a\n", "module a\nrequire b v1\n", true),
            (
                "go.mod",
                "module a\n",
                "module a\nreplace x.org/soft => ./soft\n",
                false,
            ),
            (
                "go.mod",
                "module a\n",
                "module a\nreplace x.org/other => ./other\n",
                true,
            ),
            (
                "go.mod",
                "module a\nrequire x.org/b v1\n",
                "module a\nrequire x.org/b v1\nreplace (\n\tx.org/b v1 => ./b\n)\n",
                false,
            ),
            (
                "Cargo.toml",
                "[dependencies]",
                "[dependencies]\nsoft-asserts = { path = \"soft\" }",
                false,
            ),
            (
                "Cargo.toml",
                "[dependencies]",
                "[dependencies]\nother = { path = \"other\" }",
                true,
            ),
            (
                "Cargo.toml",
                "[dev-dependencies]",
                "[dev-dependencies]\nother = { path = \"other\" }",
                false,
            ),
            (
                "package.json",
                r#"{"dependencies": {}}"#,
                r#"{"dependencies": {"other": "file:other"}}"#,
                true,
            ),
            ("setup.cfg", "[a]\nb = 1", "[a]\nb = 2", false),
        ] {
            assert_eq!(
                describes_product(
                    path,
                    &file(before),
                    &file(now),
                    Some("use soft_asserts::same; import \"x.org/soft\"")
                ),
                is_work,
                "{path}: {now}"
            );
        }
    }

    #[test]
    fn a_manifest_takes_packages_and_no_commands_from_the_work() {
        let cases = [
            (
                "package.json",
                r#"{"name": "a", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "^10.0.0"}}"#,
                r#"{"name": "b", "scripts": {"test": "true", "postinstall": "node x.js"},
                    "dependencies": {"left-pad": "1", "x": "file:./x"}, "devDependencies": {"mocha": "^11.0.0"}}"#,
                r#"{"name": "b", "scripts": {"test": "mocha"}, "dependencies": {"left-pad": "1"}, "devDependencies": {"mocha": "^11.0.0"}}"#,
            ),
            // Moved from a registry to a directory, and gone.
            (
                "package.json",
                r#"{"private": true, "devDependencies": {"mocha": "1", "nyc": "1"}}"#,
                r#"{"devDependencies": {"mocha": "file:./mocha"}}"#,
                r#"{"private": true, "devDependencies": {"mocha": "1"}}"#,
            ),
            (
                "pyproject.toml",
                "[build-system]\nrequires = ['hatchling']\n[project]\nname = 'a'\ndependencies = ['one', 'two>=1']\n",
                "[build-system]\nrequires = ['evil']\nbackend-path = ['.']\n[project]\nname = 'a'\n\
                 dependencies = ['two>=2', 'evil @ file:///x']\n[dependency-groups]\ndev = ['pytest']\n",
                "[build-system]\nrequires = ['hatchling']\n[project]\nname = 'a'\ndependencies = ['two>=2']\n\
                 [dependency-groups]\ndev = ['pytest']\n",
            ),
            (
                "new/package.json",
                "",
                r#"{"name": "new", "scripts": {"install": "node x.js"}, "dependencies": {"left-pad": "1"}}"#,
                r#"{"name": "new", "dependencies": {"left-pad": "1"}}"#,
            ),
        ];
        for (path, before, now, expected) in cases {
            let before = if before.is_empty() {
                FileContent::Nothing
            } else {
                file(before)
            };
            let Some(FileContent::File { bytes, .. }) = with_packages_of(path, &before, &file(now)) else {
                panic!("{now}");
            };
            let text = String::from_utf8(bytes).unwrap();
            assert_eq!(
                sections::values(path, &text),
                sections::values(path, expected),
                "{text}"
            );
        }
        // It names the same packages.
        let (before, now) = (
            file(r#"{"dependencies": {"a": "1"}}"#),
            file(r#"{"scripts": {"x": "1"}, "dependencies": {"a": "1"}}"#),
        );
        assert_eq!(with_packages_of("package.json", &before, &now), None);
    }
}
