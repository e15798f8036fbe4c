//! Manifests: which of their changes are work, and what a setup takes from those of the work.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

use super::{
    project_dir::{FileContent, ProjectDir},
    sections,
};

/// Tables and keys of manifests that describe the product itself.
const OF_PRODUCT: &str = "bin browser description engines exports features files lib main module name package project type \
    types typings version";
/// A part of the names of tables with packages: `devDependencies`, `dependency-groups`.
const PACKAGES: &str = "ependenc";

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
        (!now.is_like(before)).then_some(())?;
        let content = match is_list || describes_product(path, before, &now, None) {
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
