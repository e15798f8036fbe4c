//! Manifests: which of their changes are work, what a trial puts back of the others, and what a setup takes.
//!
//! A manifest describes the product, names packages, and says how tests are run. TOML and JSON are compared by their values,
//! because a key can be spelled in many ways. A trial's file is serialised from the work's product and packages and the
//! original other values, without comments.

use std::{collections::BTreeMap, path::Path};

use ralph_core::event::GuardedChangeKind;
use serde_json::{Map, Value};

use super::{
    parts::ChangedParts,
    project_dir::{FileContent, ProjectDir},
};
use crate::mutants::has_word;

const MANIFESTS: &str = "Cargo.toml composer.json deno.json package.json pyproject.toml";
/// Tables and keys of manifests that describe the product itself.
const OF_PRODUCT: &str = "bin browser description engines exports features files lib main module name package project type \
    types typings version";
/// Tables and keys, beside those of packages, that decide what a lock file pins.
const LOCKED: &str = "autoload imports minimum-stability overrides patch pnpm replace repositories require require-dev \
    resolutions target tool.pdm.dev-dependencies tool.poetry tool.uv workspace workspaces";
/// Values among these that decide which tests are built, and of what.
const SWITCHES: &str = "lib.bench lib.doctest lib.harness lib.path lib.test package.autobenches package.autotests \
    workspace.default-members";
/// Values that name files by which tests are run.
const NAMING: &str = "babel bench jest lib.path mocha nyc scripts tasks test tool.coverage tool.hatch.envs \
    tool.pdm.scripts tool.pytest tool.tox vitest";
/// A part of the names of tables with packages: `devDependencies`, `dependency-groups`.
const PACKAGES: &str = "ependenc";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a file of this name describes a product and says how its tests are run.
pub(super) fn is_manifest(path: &str) -> bool {
    has_word(MANIFESTS, name(path))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the changes of a manifest in how tests are run, and the present file without these. `None` if one of the two files
/// cannot be parsed, so that only the whole file can be compared.
pub(super) fn compare(path: &str, original: Option<&[u8]>, now: Option<&[u8]>) -> Option<ChangedParts> {
    let values = |bytes: Option<&[u8]>| bytes.map_or(Some(Value::Null), |bytes| values(path, bytes));
    let (before, present) = (values(original)?, values(now)?);
    // The parts that a lock file depends on stay: the two have to fit.
    let is_left = |key: &str, _: &Value| {
        let first = key.split('\n').nth(1).unwrap_or_default();
        let is_left = first.contains(PACKAGES) || has_word(OF_PRODUCT, first) || lies_in(LOCKED, key);
        is_left && !lies_in(SWITCHES, key)
    };
    let mixed = mixed(&before, &present, "", &is_left);
    let changes = changed_keys(&mixed, &present);
    let is_original = mixed == before;
    let put = match original {
        _ if changes.is_empty() => None,
        // The package is gone; a `Cargo.toml` with only some tables would make cargo refuse the whole workspace.
        _ if now.is_none() && name(path) == "Cargo.toml" => None,
        Some(original) if is_original => Some(original.to_vec()),
        _ => Some(serialised(path, &mixed)?),
    };
    let shown = now.filter(|_| !is_original).and_then(|_| serialised(path, &present));
    Some(ChangedParts { changes, put, shown })
}

/// The keys at which values differ: those of the document, or of one of its tables.
fn changed_keys(before: &Value, now: &Value) -> Vec<(GuardedChangeKind, String)> {
    let at = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
    let mut changes = Vec::new();
    for key in keys(before, now) {
        let (was, is) = (at(before, key), at(now, key));
        let inner = keys(&was, &is).map(|inner| (at(&was, inner), at(&is, inner), format!("{key}.{inner}")));
        let mut parts: Vec<_> = inner.collect();
        if parts.is_empty() || !(was.is_object() || was.is_null()) || !(is.is_object() || is.is_null()) {
            parts = vec![(was, is, key.clone())];
        }
        let differing = parts.into_iter().filter(|(was, is, _)| was != is);
        changes.extend(differing.map(|(was, is, key)| match (was.is_null(), is.is_null()) {
            (true, _) => (GuardedChangeKind::Added, key),
            (_, true) => (GuardedChangeKind::Deleted, key),
            (false, false) => (GuardedChangeKind::Changed, key),
        }));
    }
    changes
}

/// The keys of two tables, those of `now` first.
fn keys<'v>(before: &'v Value, now: &'v Value) -> impl Iterator<Item = &'v String> {
    let keys = |value: &'v Value| value.as_object().into_iter().flat_map(Map::keys);
    let gone = keys(before).filter(|key| now.get(*key).is_none());
    keys(now).chain(gone)
}

/// Returns the values of a manifest that name files by which tests are run, as text; the whole file if it cannot be parsed.
pub(super) fn naming(path: &str, text: &str) -> String {
    let Some(value) = values(path, text.as_bytes()) else {
        return text.to_owned();
    };
    let at = |path: &str| path.split('.').try_fold(&value, |value, key| value.get(key));
    let parts = NAMING.split(' ').filter_map(at);
    parts.map(|value| format!("{value}\n")).collect()
}

/// Returns the values of a TOML or JSON file; `None` if it is another, or cannot be parsed.
fn values(path: &str, bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match name(path).rsplit('.').next()? {
        "json" => serde_json::from_slice(bytes).ok(),
        "toml" => toml::from_str(str::from_utf8(bytes).ok()?).ok(),
        _ => None,
    }
}

/// Returns values as the text of a file.
fn serialised(path: &str, value: &Value) -> Option<Vec<u8>> {
    let nothing = Value::Object(Map::new());
    let value = if value.is_null() { &nothing } else { value };
    match path.ends_with(".json") {
        true => serde_json::to_vec_pretty(value).ok(),
        false => Some(toml::to_string(value).ok()?.into_bytes()),
    }
}

/// Returns the changed files by which the work names packages to install: lock files, lists of requirements and manifests.
/// Each has its present content, but for what a manifest tells a setup to run or to take from elsewhere: that is as `before`.
pub fn package_lists(project: &Path, before: &[(String, FileContent)]) -> Vec<(String, FileContent)> {
    let Ok(project_dir) = ProjectDir::open(project) else {
        return Vec::new();
    };
    let changed = before.iter().filter_map(|(path, before)| {
        let is_list = is_lock(name(path)) || path.contains("requirements") && path.ends_with(".txt");
        let now = project_dir.read(path).unwrap_or(None)?;
        (!now.is_like(before)).then_some(())?;
        let content = match is_list || name(path) == "go.mod" && describes_product(path, before, &now, None) {
            true => now,
            false => with_packages_of(path, before, &now).filter(|content| !content.is_like(before))?,
        };
        Some((path.clone(), content))
    });
    changed.collect()
}

/// Returns a manifest as it was `before`, with the product's own part and the packages from a registry as they are `now`;
/// `None` if it names the same packages.
fn with_packages_of(path: &str, before: &FileContent, now: &FileContent) -> Option<FileContent> {
    let FileContent::File { bytes, mode } = now else {
        return None;
    };
    let present = values(path, bytes)?;
    let before = match before {
        FileContent::File { bytes, .. } => values(path, bytes)?,
        FileContent::Nothing => Value::Null,
        FileContent::Link(_) => return None,
    };
    let mixed = mixed(&before, &present, "", &|key, value| {
        is_of_product(key, value, true, |_| false)
    });
    if mixed == present {
        return Some(now.clone());
    }
    let with_others = self::mixed(&before, &present, "", &|key, _| key.contains(PACKAGES));
    (with_others != before).then_some(())?;
    let bytes = serialised(path, &mixed)?;
    Some(FileContent::File { bytes, mode: *mode })
}

/// Returns the value `before`, with the parts of `now` of which each value is `taken`. `Null` is nothing.
fn mixed(before: &Value, now: &Value, key: &str, taken: &dyn Fn(&str, &Value) -> bool) -> Value {
    let is_taken = |value: &Value, key: String| leaves(value, key).iter().all(|(key, value)| taken(key, value));
    match (before, now) {
        (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
            let part = |name: &String| {
                let at = |value: &Value| value.get(name).cloned().unwrap_or_default();
                let part = mixed(&at(before), &at(now), &format!("{key}\n{name}"), taken);
                (!part.is_null()).then(|| (name.clone(), part))
            };
            let parts: Map<String, Value> = keys(before, now).filter_map(part).collect();
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

/// Whether a manifest differs only in what describes the product, and in its dependencies: those from a registry and, with
/// `tests`, new ones from elsewhere that these do not name. They are source of the work.
pub(super) fn describes_product(path: &str, before: &FileContent, now: &FileContent, tests: Option<&str>) -> bool {
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
    if name(path) == "go.mod" {
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
    let (Some(before), Some(now)) = (values(path, before.as_bytes()), values(path, now.as_bytes())) else {
        return false;
    };
    let accepts = |key: &str, value: &Value| is_of_product(key, value, false, is_new);
    before != now && mixed(&before, &now, "", &accepts) == now
}

/// Whether a key is one of a list, or lies in one of the tables there.
fn lies_in(list: &str, key: &str) -> bool {
    let path = key.trim_start().replace('\n', ".");
    let mut above = list.split(' ').filter_map(|one| path.strip_prefix(one));
    above.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a value of a manifest describes the product, or names a package that it needs: also for its development, if
/// `for_development`. One from elsewhere than a registry has to be new.
fn is_of_product(key: &str, value: &Value, for_development: bool, is_new: impl Fn(&str) -> bool) -> bool {
    let parts: Vec<&str> = key.split('\n').filter(|part| !part.is_empty()).collect();
    let describes = |table: &&str| has_word(OF_PRODUCT, table);
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

/// Whether the name of a file is that of pinned dependencies: `Cargo.lock`, `package-lock.json`, `go.sum`.
pub(super) fn is_lock(name: &str) -> bool {
    let mut words = name.split(['.', '-', '_']);
    name == "go.sum" || words.any(|word| word.eq_ignore_ascii_case("lock") || word == "lockb")
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
            let tests = "use soft_asserts::same; import \"x.org/soft\"";
            let found = describes_product(path, &file(before), &file(now), Some(tests));
            assert_eq!(found, is_work, "{path}: {now}");
        }
    }

    /// Returns the changes that are no work, and the text of the trial.
    fn compared(path: &str, original: &str, now: &str) -> (Vec<String>, String) {
        let parts = compare(path, Some(original.as_bytes()), Some(now.as_bytes())).unwrap();
        let changes = parts.changes.iter().map(|(kind, part)| format!("{kind:?} {part}"));
        (
            changes.collect(),
            String::from_utf8(parts.put.unwrap_or_default()).unwrap(),
        )
    }

    #[test]
    fn a_changed_dependency_is_no_change() {
        let original = "[package]\nname = \"a\"\n[lib]\ndoctest = true\n[dependencies]\n";
        let now = "# new\n[dependencies]\nserde = \"1\"\n[package]\nname = \"a\"\n[ 'lib' ] # here\ndoctest=true\n";
        assert_eq!(compared("Cargo.toml", original, now), (vec![], String::new()));
        for (path, now) in [
            (
                "Cargo.toml",
                "[dev-dependencies]\na = '1'\n[patch.crates-io]\na = { path = 'a' }\n[workspace]\nmembers = ['a']\n",
            ),
            (
                "package.json",
                r#"{"devDependencies":{"a":"1"},"overrides":{"a":"2"},"imports":{"a":"b"}}"#,
            ),
            (
                "pyproject.toml",
                "[tool.uv.sources]\na = { path = 'a' }\n[dependency-groups]\ndev = ['a']\n",
            ),
        ] {
            let original = if path.ends_with(".json") { "{}" } else { "" };
            assert_eq!(
                compared(path, original, now),
                (vec![], String::new()),
                "it has to fit to a lock file"
            );
        }
    }

    #[test]
    fn keys_that_switch_tests_off_are_found_in_any_spelling() {
        let original = "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n";
        for (now, expected) in [
            (
                "package = { name = \"a\", autotests = false }\n[[bin]]\nname = \"b\"\n",
                "Added package.autotests",
            ),
            (
                "[package]\nname = \"a\"\n\"auto\\u0074ests\" = false\n[[bin]]\nname = \"b\"",
                "Added package.autotests",
            ),
            (
                "lib.test = false\n[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n",
                "Added lib.test",
            ),
            (
                "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[profile.test]\ndebug-assertions = false",
                "Added profile.test",
            ),
            (
                "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[[test]]\nname = \"t\"\nharness = false",
                "Added test",
            ),
            (
                "[workspace]\ndefault-members = [\"x\"]\n[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n",
                "Added workspace.default-members",
            ),
        ] {
            let (changes, put) = compared("x/Cargo.toml", original, now);
            assert_eq!(changes, [expected], "{now}");
            assert_eq!(put, original);
        }
    }

    #[test]
    fn the_rest_of_the_agents_file_stays() {
        let original = "[tool.pytest.ini_options]\naddopts = \"--strict\"\n[project]\nname = \"a\"\n";
        let now =
            "[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n[project]\nname = \"a\"\ndependencies = [\"x\"]\n";
        let (changes, put) = compared("pyproject.toml", original, now);
        assert_eq!(changes, ["Changed tool.pytest"]);
        for line in ["addopts = \"--strict\"", "dependencies = [\"x\"]"] {
            assert!(put.contains(line), "{put}");
        }
        let (changes, put) = compared("pyproject.toml", original, "[project]\nname = \"a\"\n");
        assert_eq!(changes, ["Deleted tool.pytest"]);
        assert!(put.contains("--strict"));
    }

    #[test]
    fn keys_of_json_keep_their_order() {
        let original = r#"{"name":"a","scripts":{"test":"jest","build":"x"},"jest":{"bail":1}}"#;
        let now = r#"{"name":"b","scripts":{"test":"exit 0","build":"y"},"dependencies":{"b":"1"}}"#;
        let (changes, put) = compared("package.json", original, now);
        assert_eq!(
            changes,
            ["Changed scripts.test", "Changed scripts.build", "Deleted jest.bail"]
        );
        let put: String = put.split_whitespace().collect();
        let expected =
            r#"{"name":"b","scripts":{"test":"jest","build":"x"},"dependencies":{"b":"1"},"jest":{"bail":1}}"#;
        assert_eq!(put, expected);
        for odd in ["[]", r#"{"scripts":"x"}"#, r#"{"scripts":["x"]}"#] {
            let original = r#"{"scripts":{"test":"jest"}}"#;
            let (changes, put) = compared("package.json", original, odd);
            assert_eq!((changes.is_empty(), put.as_str()), (false, original), "{odd}");
        }
    }

    #[test]
    fn a_file_that_is_gone_or_new_or_broken() {
        let text = Some("[lib]\ntest = true\n[tool.pytest]\na = 1\n".as_bytes());
        let gone = compare("pyproject.toml", text, None).unwrap();
        assert_eq!(gone.changes.len(), 2);
        assert!(gone.put.is_some());
        let gone = compare("Cargo.toml", text, None).unwrap();
        assert_eq!((gone.changes[0].0, gone.put), (GuardedChangeKind::Deleted, None));
        let new = compare("pyproject.toml", None, text).unwrap();
        assert_eq!(new.changes[0].0, GuardedChangeKind::Added);
        assert_eq!(new.put.unwrap(), b"");
        assert!(compare("pyproject.toml", text, Some(b"[lib\n")).is_none());
        assert!(compare("pyproject.toml", text, Some(b"\xff")).is_none());
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
                values(path, text.as_bytes()),
                values(path, expected.as_bytes()),
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
