//! Output of `ralph config`.

use std::{fmt::Write as _, path::Path};

use ralph_policy::settings::{self, FlagDeclaration, SettingKeys, SettingOrigin};
use serde_json::Value;

use super::{
    load::Loaded,
    settings::Config,
    sources::{ProjectContent, SettingSources},
};

/// The path of the schema, relative to the example file.
const SCHEMA: &str = "docs/config.schema.json";

/// Lists each effective value with its origin, one per line. `paint` highlights values that differ from the default.
pub fn show(loaded: &Loaded, paint: impl Fn(&str, bool) -> String) -> String {
    let rows = loaded.merged.rows().into_iter();
    let rows: Vec<_> = rows
        .map(|(key, node)| (key, node.value().to_string(), &node.origin))
        .collect();
    let key_width = width(rows.iter().map(|(key, _, _)| key));
    let value_width = width(rows.iter().map(|(_, value, _)| value)).min(40);
    let mut text = String::new();
    for (key, value, origin) in rows {
        let line = format!("{key:key_width$}  {value:value_width$}  {origin}");
        writeln!(text, "{}", paint(&line, *origin != SettingOrigin::Default)).expect("a string takes every write");
    }
    text
}

fn width<'t>(texts: impl Iterator<Item = &'t String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// Lists the configuration files, weakest first, with whether each exists and is trusted.
pub fn paths(sources: &SettingSources) -> String {
    let there = |path: &Path| if path.exists() { "" } else { "  (not there)" };
    // Left out if missing, since most users have none.
    let remembered = sources.remembered.iter().filter(|path| path.exists());
    let remembered = remembered.map(|path| ("chosen", path, ""));
    let user = sources.user.iter().map(|path| ("user", path, there(path)));
    let project = sources.project.iter().map(|file| {
        let state = match file.content {
            ProjectContent::Missing => "  (not there)",
            ProjectContent::Untrusted => "  (not trusted)",
            ProjectContent::Text(_) | ProjectContent::Unreadable(_) => "",
        };
        ("project", &file.path, state)
    });
    let extra = sources.extra.iter().map(|path| ("--config", path, there(path)));
    let mut text = String::new();
    for (layer, path, state) in remembered.chain(user).chain(project).chain(extra) {
        writeln!(text, "{layer:8}  {}{state}", path.display()).expect("a string takes every write");
    }
    text
}

/// Generates the JSON Schema of configuration files, for editors.
pub fn schema() -> Value {
    settings::schema::<Config>()
}

/// Generates `config.example.json`, with every default.
pub fn example() -> String {
    settings::example::<Config>(SCHEMA)
}

/// A command-line flag of a setting.
#[derive(Debug, Clone)]
pub struct SettingFlag {
    /// The dotted path of the setting.
    pub key: String,
    pub declared: FlagDeclaration,
    /// Whether the flag may be repeated.
    pub adds: bool,
}

/// Lists the flags in the order of the settings.
pub fn flags() -> Vec<SettingFlag> {
    let keys = SettingKeys::for_record::<Config>();
    let flags = keys.iter().filter_map(|(key, field)| {
        Some(SettingFlag {
            key: key.to_owned(),
            declared: field.flag?,
            adds: field.kind.adds,
        })
    });
    flags.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Flag, ProjectFile, load};

    #[test]
    fn show_names_each_value_and_its_origin() {
        let flags = vec![
            Flag::new("--max-time", "limits.maxTime", "2h"),
            Flag::new(
                "--adapters",
                "adapters",
                json!({ "codex": { "command": { "program": "/opt/codex" } } }),
            ),
        ];
        let text = show(
            &load(&SettingSources {
                flags,
                ..SettingSources::default()
            })
            .unwrap(),
            |line, _| line.to_owned(),
        );
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        for expected in [
            ["adapter", "null", "default"],
            ["limits.maxTime", "\"2h\"", "--max-time"],
            ["limits.maxIterations", "50", "default"],
            ["adapters.codex.command.program", "\"/opt/codex\"", "--adapters"],
        ] {
            assert!(
                lines.iter().any(|line| line == &expected),
                "{expected:?} is not in:\n{text}"
            );
        }
        assert_eq!(lines.len(), SettingKeys::for_record::<Config>().iter().count());
    }

    #[test]
    fn paths_tell_whether_a_file_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let (user, project) = (
            directory.path().join("user.json"),
            directory.path().join("project.json"),
        );
        std::fs::write(&user, "{}").unwrap();
        let sources = SettingSources {
            user: Some(user.clone()),
            project: Some(ProjectFile::read(project.clone())),
            ..SettingSources::default()
        };
        assert_eq!(
            paths(&sources),
            format!(
                "user      {}\nproject   {}  (not there)\n",
                user.display(),
                project.display()
            )
        );
    }

    #[test]
    fn the_schema_has_every_setting_with_its_default() {
        let schema = schema();
        for (key, field) in SettingKeys::for_record::<Config>().iter() {
            let place = key.split('.').fold(&schema, |schema, name| &schema["properties"][name]);
            assert_eq!(place["default"], field.default_value());
            assert!(!place["description"].as_str().unwrap().is_empty(), "{key}");
        }
        assert_eq!(schema["properties"]["limits"]["additionalProperties"], false);
    }
}
