//! Files of which only some sections or keys are guarded.
//!
//! TOML and JSON are compared by their values, because a key can be spelled in many ways. A trial's file is
//! serialised from the agent's values with the original guarded ones, without comments.

use ralph_core::event::GuardedChangeKind;
use serde_json::{Map, Value};

use super::parts::ChangedParts;

/// Stands for an absent value.
const NOTHING: Value = Value::Null;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionsFormat {
    Toml,
    Json,
    /// Python's: sections of lines.
    Ini,
}

/// Returns the changed parts among the named ones, and the present file with their originals. `None` if one of the
/// two files cannot be parsed, so that only the whole file can be compared.
pub(super) fn compare(
    path: &str,
    names: &[String],
    original: Option<&[u8]>,
    now: Option<&[u8]>,
) -> Option<ChangedParts> {
    let mut parts = match format(path) {
        SectionsFormat::Ini => compare_ini(names, original.unwrap_or_default(), now.unwrap_or_default())?,
        format => compare_values(format, names, original, now)?,
    };
    // The package is gone; a `Cargo.toml` with only some sections would make cargo refuse the whole workspace.
    if now.is_none() && path.rsplit('/').next() == Some("Cargo.toml") {
        parts.put = None;
    }
    Some(parts)
}

fn format(path: &str) -> SectionsFormat {
    match path.rsplit('.').next() {
        Some("toml") => SectionsFormat::Toml,
        Some("json") => SectionsFormat::Json,
        _ => SectionsFormat::Ini,
    }
}

fn compare_values(
    format: SectionsFormat,
    names: &[String],
    original: Option<&[u8]>,
    now: Option<&[u8]>,
) -> Option<ChangedParts> {
    let original = parse(format, original)?;
    let mut value = parse(format, now)?;
    let shown = serialise(format, &value);
    let mut changes = Vec::new();
    for name in names {
        let path: Vec<&str> = name.split('.').collect();
        let kind = match (has(&original, &path), has(&value, &path)) {
            (true, false) => GuardedChangeKind::Deleted,
            (false, true) => GuardedChangeKind::Added,
            (true, true) | (false, false) => GuardedChangeKind::Changed,
        };
        if restore(&mut value, &original, &path) {
            changes.push((kind, name.clone()));
        }
    }
    let put = if changes.is_empty() {
        None
    } else {
        Some(serialise(format, &value)?)
    };
    let shown = if now.is_some() { shown } else { None };
    Some(ChangedParts { changes, put, shown })
}

fn serialise(format: SectionsFormat, value: &Value) -> Option<Vec<u8>> {
    match format {
        SectionsFormat::Json => serde_json::to_vec_pretty(value).ok(),
        SectionsFormat::Toml | SectionsFormat::Ini => Some(toml::to_string(value).ok()?.into_bytes()),
    }
}

fn parse(format: SectionsFormat, bytes: Option<&[u8]>) -> Option<Value> {
    let Some(bytes) = bytes else {
        return Some(Value::Object(Map::new()));
    };
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    match format {
        SectionsFormat::Json => serde_json::from_slice(bytes).ok(),
        SectionsFormat::Toml | SectionsFormat::Ini => toml::from_str(std::str::from_utf8(bytes).ok()?).ok(),
    }
}

/// Returns the values of a TOML or JSON file; `None` if it is another, or cannot be parsed.
pub(super) fn values(path: &str, text: &str) -> Option<Value> {
    match format(path) {
        SectionsFormat::Ini => None,
        format => parse(format, Some(text.as_bytes())),
    }
}

/// Returns values as the text of a file.
pub(super) fn serialised(path: &str, value: &Value) -> Option<Vec<u8>> {
    serialise(format(path), value)
}

/// Returns the named parts of a file as text; the whole file if it cannot be parsed.
pub(super) fn text(path: &str, names: &[String], text: &str) -> String {
    let Some(value) = values(path, text) else {
        return text.to_owned();
    };
    let parts = names.iter().filter_map(|name| {
        let keys = name.split('.').take_while(|key| *key != "*");
        keys.into_iter().try_fold(&value, |value, key| value.get(key))
    });
    parts.map(|value| format!("{value}\n")).collect()
}

/// Whether there is a value at a path.
fn has(value: &Value, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return *value != NOTHING;
    };
    match value {
        Value::Object(map) if *first == "*" => map.values().any(|value| has(value, rest)),
        Value::Object(map) => map.get(*first).is_some_and(|value| has(value, rest)),
        Value::Array(items) => items.iter().any(|item| has(item, path)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Sets the value at a path to the original; returns whether it was different.
fn restore(value: &mut Value, original: &Value, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    match value {
        Value::Object(map) if *first == "*" => {
            let mut keys: Vec<String> = map.keys().cloned().collect();
            keys.extend(original.as_object().into_iter().flat_map(Map::keys).cloned());
            let restored = keys.iter().map(|key| restore_key(map, original, key, rest));
            restored.fold(false, |any, one| any | one)
        }
        Value::Object(map) => restore_key(map, original, first, rest),
        // In arrays such as `[[bin]]`, only the items that existed before.
        Value::Array(items) => {
            let others = original.as_array().map_or(&[][..], Vec::as_slice);
            let mut any = false;
            for (at, item) in items.iter_mut().enumerate() {
                let other = match item.get("name") {
                    Some(name) => others.iter().find(|other| other.get("name") == Some(name)),
                    None => others.get(at),
                };
                any |= other.is_some_and(|other| restore(item, other, path));
            }
            any
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn restore_key(map: &mut Map<String, Value>, original: &Value, key: &str, rest: &[&str]) -> bool {
    let original = original.get(key).unwrap_or(&NOTHING);
    let has_now = map.get(key).unwrap_or(&NOTHING);
    if rest.is_empty() {
        let differs = has_now != original;
        if differs && *original == NOTHING {
            map.shift_remove(key);
        } else if differs {
            map.insert(key.to_owned(), original.clone());
        }
        return differs;
    }
    if let Some(below @ (Value::Object(_) | Value::Array(_))) = map.get_mut(key) {
        return restore(below, original, rest);
    }
    // Not a table any more: the guarded keys are restored in a new table.
    let mut below = Value::Object(Map::new());
    let restored = original.is_object() && restore(&mut below, original, rest);
    if restored {
        map.insert(key.to_owned(), below);
    }
    restored
}

/// A section of an INI file: its header and the lines up to the next one.
struct IniSection<'a> {
    /// `None` before the first header.
    name: Option<&'a str>,
    lines: Vec<&'a str>,
}

impl IniSection<'_> {
    fn is_named(&self, name: &str) -> bool {
        let rest = self.name.and_then(|own| own.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|char: char| char.is_alphanumeric() || char == '_'))
    }

    fn content_lines(&self) -> impl Iterator<Item = &str> {
        self.lines
            .iter()
            .map(|line| line.trim_end())
            .filter(|line| has_content(line))
    }
}

fn sections(text: &str) -> Vec<IniSection<'_>> {
    let mut sections = vec![IniSection {
        name: None,
        lines: Vec::new(),
    }];
    let mut has_values = false;
    for line in text.lines() {
        // An indented line continues a value, if there is one.
        let start = if has_values { line } else { line.trim_start() };
        let header = start.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((name, _)) = header {
            sections.push(IniSection {
                name: Some(name.trim()),
                lines: Vec::new(),
            });
            has_values = false;
        } else {
            has_values |= has_content(line);
        }
        if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    sections
}

fn has_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with(['#', ';'])
}

fn compare_ini(names: &[String], original: &[u8], now: &[u8]) -> Option<ChangedParts> {
    let text = |bytes| {
        std::str::from_utf8(bytes)
            .ok()
            .map(|text: &str| text.trim_start_matches('\u{feff}'))
    };
    let (original, now) = (sections(text(original)?), sections(text(now)?));
    let is_guarded = |section: &&IniSection<'_>| names.iter().any(|name| section.is_named(name));
    let mut changes = Vec::new();
    for section in original.iter().filter(is_guarded) {
        let other = now.iter().find(|other| other.name == section.name);
        let kind = match other {
            None => GuardedChangeKind::Deleted,
            Some(other) if !section.content_lines().eq(other.content_lines()) => GuardedChangeKind::Changed,
            Some(_) => continue,
        };
        changes.push((kind, format!("[{}]", section.name.unwrap_or_default())));
    }
    for section in now.iter().filter(is_guarded) {
        if !original.iter().any(|other| other.name == section.name) {
            changes.push((
                GuardedChangeKind::Added,
                format!("[{}]", section.name.unwrap_or_default()),
            ));
        }
    }
    let kept = now.iter().filter(|section| !is_guarded(section));
    let lines = kept
        .chain(original.iter().filter(is_guarded))
        .flat_map(|section| &section.lines);
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let put = (!changes.is_empty()).then_some(text.into_bytes());
    // Sections in the same order as in `put`.
    let kept = now.iter().filter(|section| !is_guarded(section));
    let lines = kept
        .chain(now.iter().filter(is_guarded))
        .flat_map(|section| &section.lines);
    let shown: String = lines.flat_map(|line| [line, "\n"]).collect();
    Some(ChangedParts {
        changes,
        put,
        shown: Some(shown.into_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::{GuardedChangeKind, compare};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Returns the changes, and the text of the trial.
    fn compared(path: &str, guarded: &[&str], original: &str, now: &str) -> (Vec<String>, String) {
        let parts = compare(path, &names(guarded), Some(original.as_bytes()), Some(now.as_bytes())).unwrap();
        let changes = parts
            .changes
            .iter()
            .map(|(kind, part)| format!("{kind:?} {part}"))
            .collect();
        (changes, String::from_utf8(parts.put.unwrap_or_default()).unwrap())
    }

    const CARGO: [&str; 6] = [
        "lib",
        "test",
        "package.autotests",
        "bin.test",
        "profile.*.debug-assertions",
        "workspace.exclude",
    ];

    #[test]
    fn a_changed_dependency_is_no_change() {
        let original = "[package]\nname = \"a\"\n[lib]\ndoctest = true\n[dependencies]\n";
        let now = "# new\n[dependencies]\nserde = \"1\"\n[package]\nname = \"a\"\n[ 'lib' ] # here\ndoctest=true\n";
        assert_eq!(compared("Cargo.toml", &CARGO, original, now), (vec![], String::new()));
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
                "[package]\nname = \"a\"\n'auto\\u0074ests' = 1\n\"auto\\u0074ests\" = false\n[[bin]]\nname = \"b\"",
                "Added package.autotests",
            ),
            (
                "lib.test = false\n[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n",
                "Added lib",
            ),
            (
                "[package]\nname = \"a\"\n[[bin]]\ntest = false\nname = \"b\"\n",
                "Added bin.test",
            ),
            (
                "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[profile.test]\ndebug-assertions = false",
                "Added profile.*.debug-assertions",
            ),
            (
                "[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n[[test]]\nname = \"t\"\nharness = false",
                "Added test",
            ),
            (
                "[workspace]\nexclude = [\"x\"]\n[package]\nname = \"a\"\n[[bin]]\nname = \"b\"\n",
                "Added workspace.exclude",
            ),
        ] {
            let (changes, put) = compared("x/Cargo.toml", &CARGO, original, now);
            assert_eq!(changes, [expected], "{now}");
            assert!(!put.contains("false") && !put.contains("exclude ="), "{put}");
            assert!(put.contains("name = \"a\"") && put.contains("name = \"b\""), "{put}");
            assert_eq!(compared("Cargo.toml", &CARGO, original, &put).0, Vec::<String>::new());
        }
    }

    #[test]
    fn the_rest_of_the_agents_file_stays() {
        let original = "[tool.pytest.ini_options]\naddopts = \"--strict\"\n[project]\nname = \"a\"\n";
        let now = "[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n[project]\nname = \"a\"\ndependencies = [\"x\"]\n[tool.black]\nline-length = 80\n";
        let (changes, put) = compared("pyproject.toml", &["tool.pytest"], original, now);
        assert_eq!(changes, ["Changed tool.pytest"]);
        for line in ["addopts = \"--strict\"", "dependencies = [\"x\"]", "line-length = 80"] {
            assert!(put.contains(line), "{put}");
        }
        let (changes, put) = compared(
            "pyproject.toml",
            &["tool.pytest"],
            original,
            "[project]\nname = \"a\"\n",
        );
        assert_eq!(changes, ["Deleted tool.pytest"]);
        assert!(put.contains("--strict"));
    }

    #[test]
    fn a_new_entry_of_a_list_has_its_own_keys() {
        let original = "[[bin]]\nname = \"a\"\n";
        let now = "[[bin]]\nname = \"new\"\ntest = false\n[[bin]]\nname = \"a\"\n";
        assert!(compared("Cargo.toml", &CARGO, original, now).0.is_empty());
    }

    #[test]
    fn keys_of_json_keep_their_order() {
        let original = r#"{"name":"a","scripts":{"test":"jest","build":"x"},"jest":{"bail":1}}"#;
        let now = r#"{"name":"a","scripts":{"test":"exit 0","build":"y"},"dependencies":{"b":"1"}}"#;
        let (changes, put) = compared("package.json", &["scripts.test", "jest"], original, now);
        assert_eq!(changes, ["Changed scripts.test", "Deleted jest"]);
        let put: String = put.split_whitespace().collect();
        let expected =
            r#"{"name":"a","scripts":{"test":"jest","build":"y"},"dependencies":{"b":"1"},"jest":{"bail":1}}"#;
        assert_eq!(put, expected);
        assert_eq!(
            compared(
                "package.json",
                &["scripts.test"],
                r#"{"scripts":{"test":"jest"}}"#,
                "[]"
            )
            .0
            .len(),
            0
        );
        let (changes, put) = compared("package.json", &["scripts.test"], original, r#"{"scripts":"x"}"#);
        assert_eq!(changes, ["Deleted scripts.test"]);
        assert!(put.contains("jest"));
    }

    #[test]
    fn sections_of_ini_files_match_by_the_start_of_their_name() {
        let original = "[metadata]\nname = a\n[testenv:py39]\ncommands = pytest\n[tool:pytest]\naddopts = -x\n";
        let now = "[metadata]\nname = b\n[testenv:py39]\n# why\ncommands = true\n[testenvx]\na = 1\n[pytest]\npython_files = no\n";
        let (changes, put) = compared("setup.cfg", &["testenv", "tool:pytest", "pytest"], original, now);
        assert_eq!(
            changes,
            ["Changed [testenv:py39]", "Deleted [tool:pytest]", "Added [pytest]"]
        );
        let expected =
            "[metadata]\nname = b\n[testenvx]\na = 1\n[testenv:py39]\ncommands = pytest\n[tool:pytest]\naddopts = -x\n";
        assert_eq!(put, expected);
    }

    #[test]
    fn an_indented_header_is_one_where_no_value_is_open() {
        let original = "[testenv]\ncommands =\n  [tox]\n  x\n";
        assert!(compared("tox.ini", &["testenv"], original, original).0.is_empty());
        let (_, put) = compared("tox.ini", &["testenv"], original, "[testenv]\n");
        assert_eq!(put, original);
        let (changes, put) = compared("tox.ini", &["pytest"], "[tox]\n", "[tox]\n  [pytest]\na = 1\n");
        assert_eq!((changes, put.as_str()), (vec!["Added [pytest]".to_owned()], "[tox]\n"));
    }

    #[test]
    fn a_file_that_is_gone_or_new_or_broken() {
        let guarded = names(&["lib", "tool.pytest"]);
        let text = Some("[lib]\ntest = true\n[tool.pytest]\na = 1\n".as_bytes());
        let gone = compare("pyproject.toml", &guarded, text, None).unwrap();
        assert_eq!(gone.changes.len(), 2);
        assert!(gone.put.is_some());
        let gone = compare("Cargo.toml", &guarded, text, None).unwrap();
        assert_eq!((gone.changes[0].0, gone.put), (GuardedChangeKind::Deleted, None));
        let new = compare("pyproject.toml", &guarded, None, text).unwrap();
        assert_eq!(new.changes[0].0, GuardedChangeKind::Added);
        assert_eq!(new.put.unwrap(), b"[tool]\n");
        assert!(compare("pyproject.toml", &guarded, text, Some(b"[lib\n")).is_none());
        assert!(compare("pyproject.toml", &guarded, text, Some(b"\xff")).is_none());
    }
}
