//! The yardstick: what a run changed and the product is not made of. It is put back before the work is measured.
//!
//! The work is source of the product, data that lies with it, and its dependencies. All else may decide a result: golden
//! files, scripts, configuration of any tool. No list names these; what the product is made of has to be recognised instead.

use std::{cell::OnceCell, collections::BTreeSet, path::Path};

use ralph_core::event::{GuardedChange, GuardedChangeKind};

use super::{
    GuardError, GuardedKind, Originals,
    diff::UnifiedDiff,
    manifests::{self, describes_product, is_lock},
    project_dir::{FileContent, ProjectDir},
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
            Some(GuardedKind::Manifest | GuardedKind::Rust) | None => false,
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
        let is_config = matches!(
            kind,
            Some(GuardedKind::Config | GuardedKind::Manifest | GuardedKind::Shadow)
        );
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
                GuardedKind::Manifest => naming.configuration.push_str(&manifests::naming(&entry.path, &text)),
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
}
