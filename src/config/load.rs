//! From the layers to the settings.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    duration::format_duration,
    env,
    error::ConfigError,
    file, goals, keys,
    kind::Kind,
    layers::{Leaf, Merged, adapters_of, leaves_of},
    origin::{Origin, Origins},
    settings::Config,
    sources::{Flag, Sources},
};

/// The settings of a run, and where they came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub config: Config,
    pub origins: Origins,
    /// What the user should know that is no error, one sentence each.
    pub notices: Vec<String>,
    pub(super) values: Value,
}

/// Reads and merges all layers.
///
/// # Errors
/// [`ConfigError`], with everything that is wrong in any layer, also where a stronger one hides it.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let mut errors = Vec::new();
    let mut layers = Vec::new();
    let mut notices = Vec::new();
    for (path, text) in file_texts(sources, &mut errors) {
        match file::leaves(&path, &text) {
            Ok((leaves, removed)) => {
                layers.push(leaves);
                notices.extend(removed);
            }
            Err(found) => errors.extend(found),
        }
    }
    let environment = env::read(&sources.env);
    errors.extend(environment.errors);
    layers.push(environment.leaves);
    notices.extend(environment.notices);
    let mut of_flags = Vec::new();
    for flag in &sources.flags {
        match read_flag(flag) {
            Ok(leaves) => of_flags.extend(leaves),
            Err(error) => errors.push(error),
        }
    }
    layers.push(of_flags);

    let mut merged = Merged::defaults();
    let adapters = layers.iter().filter_map(|layer| adapters_of(layer)).collect();
    for layer in layers {
        errors.extend(one_prompt(&layer, &mut merged));
        for leaf in layer {
            match add_goals(&merged, leaf) {
                Ok(leaf) => merged.set(leaf),
                Err(error) => errors.push(error),
            }
        }
    }
    let config = Config::of(&merged, adapters);
    if errors.is_empty() {
        // Not of a layer that could not be read whole: what is missing of it may be the other half.
        errors.extend(backoff_in_order(&config, &merged.origins));
    }
    if let Some(error) = ConfigError::of(errors) {
        return Err(error);
    }
    Ok(Loaded {
        config,
        origins: merged.origins,
        notices,
        values: merged.root,
    })
}

fn file_texts(sources: &Sources, errors: &mut Vec<ConfigError>) -> Vec<(PathBuf, String)> {
    let optional = [&sources.user, &sources.project].into_iter().flatten();
    let optional = optional.map(|path| (path, file::read_if_there(path)));
    let required = sources.extra.iter().map(|path| (path, file::read(path).map(Some)));
    let mut texts = Vec::new();
    for (path, text) in optional.chain(required) {
        match text {
            Ok(Some(text)) => texts.push((path.clone(), text)),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    }
    texts
}

fn read_flag(flag: &Flag) -> Result<Vec<Leaf>, ConfigError> {
    let origin = Origin::Flag(flag.name.clone());
    let Some(key) = keys::find_dotted(flag.key) else {
        let key = flag.key.to_owned();
        return Err(ConfigError::Unknown { origin, key });
    };
    let value = match &flag.value {
        Value::String(word) if key.kind == Kind::Goals => Value::Array(vec![goals::of_word(word)]),
        Value::String(word) => key.kind.value_of_word(word),
        other => other.clone(),
    };
    leaves_of(key, value, origin).map_err(|error| match error {
        ConfigError::IllTyped { origin, key, found, .. } if flag.key == "goals" => ConfigError::IllTyped {
            origin,
            key,
            found,
            expected: r#"NAME=COMMAND, such as tests="cargo test""#.to_owned(),
        },
        error => error,
    })
}

/// Goals of the command line are added to those there are, where all else is replaced.
fn add_goals(merged: &Merged, mut leaf: Leaf) -> Result<Leaf, ConfigError> {
    let (Origin::Flag(_), Some(there), Value::Array(more)) =
        (&leaf.origin, merged.get("goals").as_array(), &mut leaf.value)
    else {
        return Ok(leaf);
    };
    if leaf.path != ["goals"] {
        return Ok(leaf);
    }
    let repeated = there
        .iter()
        .find(|goal| more.iter().any(|new| new["name"] == goal["name"]));
    if let Some(name) = repeated.and_then(|goal| goal["name"].as_str()) {
        return Err(ConfigError::Conflict {
            why: format!("there is a goal `{name}` already ({})", merged.origins.of("goals")),
            origin: leaf.origin,
        });
    }
    more.splice(0..0, there.iter().cloned());
    Ok(leaf)
}

/// Lets a `prompt` take the place of a weaker layer's `promptFile`, and the other way round; one layer may set only one.
fn one_prompt(layer: &[Leaf], merged: &mut Merged) -> Option<ConfigError> {
    let set = |key: &str| layer.iter().find(|leaf| leaf.path == [key] && !leaf.value.is_null());
    let (gives_way, origin) = match (set("prompt"), set("promptFile")) {
        (Some(_), Some(file)) => {
            return Some(ConfigError::Conflict {
                origin: file.origin.clone(),
                why: "`prompt` and `promptFile` are both set; only one can be".to_owned(),
            });
        }
        (Some(prompt), None) => ("promptFile", &prompt.origin),
        (None, Some(file)) => ("prompt", &file.origin),
        (None, None) => return None,
    };
    if !merged.get(gives_way).is_null() {
        merged.set(Leaf {
            path: vec![gives_way.to_owned()],
            value: Value::Null,
            origin: origin.clone(),
        });
    }
    None
}

fn backoff_in_order(config: &Config, origins: &Origins) -> Option<ConfigError> {
    let (base_ms, max_ms) = (config.backoff.base_ms, config.backoff.max_ms);
    if base_ms <= max_ms {
        return None;
    }
    let (base, max) = (origins.of("backoff.base"), origins.of("backoff.max"));
    let (origin, other) = if *base == Origin::Default {
        (max, base)
    } else {
        (base, max)
    };
    Some(ConfigError::Conflict {
        origin: origin.clone(),
        why: format!(
            "`backoff.base` ({}) is longer than `backoff.max` ({}, {other})",
            format_duration(base_ms),
            format_duration(max_ms)
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::testing::Files;

    #[test]
    fn nothing_anywhere_is_the_defaults() {
        let loaded = Files::new().load();
        assert_eq!(loaded.config, Config::default());
        assert_eq!(loaded.origins, Origins::default());
        assert!(loaded.notices.is_empty());
        assert_eq!(load(&Sources::default()).unwrap().config, Config::default());
    }

    #[test]
    fn every_layer_is_stronger_than_the_one_before() {
        let layer = |model: &str| format!(r#"{{ "model": "{model}" }}"#);
        let mut files = Files::new().with("user.json", layer("user"));
        assert_eq!(files.load().config.model.as_deref(), Some("user"));
        files = files.with("project.json", layer("project"));
        assert_eq!(files.load().config.model.as_deref(), Some("project"));
        files = files.with("extra.json", layer("extra")).extra("extra.json");
        assert_eq!(files.load().config.model.as_deref(), Some("extra"));
        files = files.env("RALPH_MODEL", "env");
        assert_eq!(files.load().config.model.as_deref(), Some("env"));
        files = files.flag("--model", "model", "flag");
        let loaded = files.load();
        assert_eq!(loaded.config.model.as_deref(), Some("flag"));
        assert_eq!(loaded.origins.of("model"), &Origin::Flag("--model".to_owned()));
    }

    #[test]
    fn layers_are_merged_key_by_key() {
        let files = Files::new()
            .with("user.json", r#"{ "limits": { "maxTime": "1h", "maxIterations": 3 } }"#)
            .with(
                "project.json",
                "{\n  \"limits\": {\n    \"maxTime\": \"unlimited\",\n  },\n}",
            );
        let loaded = files.load();
        assert_eq!(loaded.config.limits.max_iterations, Some(3));
        assert_eq!(loaded.config.limits.max_time_ms, None);
        let line = |file: &str, line| Origin::File {
            path: files.directory.path().join(file),
            line,
        };
        assert_eq!(loaded.origins.of("limits.maxIterations"), &line("user.json", 1));
        assert_eq!(loaded.origins.of("limits.maxTime"), &line("project.json", 3));
        assert_eq!(loaded.origins.of("limits.idleTimeout"), &Origin::Default);
    }

    #[test]
    fn every_layer_keeps_what_it_says_about_adapters() {
        let files = Files::new()
            .with(
                "user.json",
                r#"{ "adapters": { "codex": { "command": { "program": "a", "args": ["x"] } }, "mine": {} } }"#,
            )
            .with(
                "project.json",
                r#"{ "adapters": { "codex": { "command": { "args": [] }, "title": null } } }"#,
            );
        let loaded = files.load();
        let layers: Vec<_> = loaded
            .config
            .adapters
            .iter()
            .map(|layer| Value::Object(layer.adapters.clone()))
            .collect();
        assert_eq!(
            layers,
            [
                json!({ "codex": { "command": { "program": "a", "args": ["x"] } }, "mine": {} }),
                json!({ "codex": { "command": { "args": [] }, "title": null } }),
            ]
        );
        assert_eq!(
            loaded.config.adapters[1].origin,
            files.directory.path().join("project.json").display().to_string()
        );
    }

    #[test]
    fn adapters_are_shown_merged_to_the_last_key() {
        let loaded = Files::new()
            .with(
                "user.json",
                r#"{ "adapters": { "codex": { "command": { "program": "a", "args": ["x"] } } } }"#,
            )
            .with(
                "project.json",
                r#"{ "adapters": { "codex": { "command": { "args": [] } } } }"#,
            )
            .load();
        assert_eq!(
            loaded.values["adapters"],
            json!({ "codex": { "command": { "program": "a", "args": [] } } })
        );
        let origin = |key| loaded.origins.of(key).to_string();
        assert!(origin("adapters.codex.command.program").ends_with("user.json:1"));
        assert!(origin("adapters.codex.command.args").ends_with("project.json:1"));
    }

    #[test]
    fn an_empty_object_hides_nothing() {
        let loaded = Files::new()
            .with("user.json", r#"{ "adapters": { "codex": { "title": "x" } } }"#)
            .with("project.json", r#"{ "adapters": { "codex": {} }, "limits": {} }"#)
            .env("RALPH_ADAPTERS", "{}")
            .load();
        assert_eq!(loaded.values["adapters"], json!({ "codex": { "title": "x" } }));
    }

    #[test]
    fn words_become_what_their_setting_wants() {
        let config = Files::new()
            .env("RALPH_LIMITS_MAX_ITERATIONS", "7")
            .env("RALPH_LIMITS_IDLE_TIMEOUT", "90s")
            .env("RALPH_LIMITS_MAX_TIME", "unlimited")
            .env("RALPH_ADAPTERS", r#"{"codex": {"title": "x"}}"#)
            .flag("--max-cost-usd", "limits.maxCostUsd", "2.5")
            .flag("--max-tokens", "limits.maxTokens", 1000)
            .flag("--model", "model", "4")
            .load()
            .config;
        assert_eq!(config.limits.max_iterations, Some(7));
        assert_eq!(config.limits.idle_timeout_ms, Some(90_000));
        assert_eq!(config.limits.max_time_ms, None);
        assert_eq!(config.limits.max_cost_usd, Some(2.5));
        assert_eq!(config.limits.max_tokens, Some(1000));
        assert_eq!(config.model.as_deref(), Some("4"));
        assert_eq!(config.adapters[0].adapters["codex"]["title"], "x");
        assert_eq!(config.adapters[0].origin, "RALPH_ADAPTERS");
    }

    #[test]
    fn a_file_may_be_empty_commented_or_marked() {
        for text in [
            "",
            "// nothing yet\n",
            "{}",
            "\u{feff}{ /* nothing */ }",
            r#"{ "$schema": "https://x.test/s.json" }"#,
        ] {
            assert_eq!(Files::of_project(text).load().config, Config::default(), "{text}");
        }
    }

    #[test]
    fn null_takes_a_stronger_layer_back_to_the_default() {
        let files = Files::new()
            .with("user.json", r#"{ "model": "x" }"#)
            .with("project.json", r#"{ "model": null }"#);
        assert_eq!(files.load().config.model, None);
    }

    #[test]
    fn a_prompt_takes_the_place_of_a_weaker_prompt_file() {
        let files = Files::of_project(r#"{ "promptFile": "p.md" }"#).flag("--prompt", "prompt", "Work.");
        let loaded = files.load();
        assert_eq!(loaded.config.prompt.as_deref(), Some("Work."));
        assert_eq!(loaded.config.prompt_file, None);
        assert_eq!(loaded.origins.of("promptFile"), &Origin::Flag("--prompt".to_owned()));
        let files = Files::of_project(r#"{ "prompt": "Work." }"#).flag("--prompt-file", "promptFile", "p.md");
        let config = files.load().config;
        assert_eq!((config.prompt, config.prompt_file), (None, Some("p.md".into())));
    }

    #[test]
    fn a_promise_may_be_written_with_its_tag() {
        let files = Files::of_project(r#"{ "completion": { "promise": "<promise>ALL DONE</promise>" } }"#);
        assert_eq!(files.load().config.promise.as_deref(), Some("ALL DONE"));
    }
}
