//! Merges the layers into the settings.

use std::path::{Path, PathBuf};

use ralph_policy::settings::{
    Layer, Leaf, Merged, Mistake, Mistakes, Node, NodeShape, SettingKeys, SettingOrigin, format_duration,
};
use serde_json::Value;

use super::{
    env, file,
    left_out::without_effect,
    permissions::{add_rules, hidden_rules},
    sandbox::not_by_project,
    settings::Config,
    sources::{Flag, SettingSources},
};

/// The settings of a run with their origins.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// Notes for the user that are not errors, one sentence each.
    pub notices: Vec<String>,
    /// Whether the adapter is the user's remembered choice, and not named for this run or project.
    pub adapter_is_remembered: bool,
    /// The flags of the command line, and the file that `--config` names.
    pub flags: Vec<Flag>,
    pub extra: Option<PathBuf>,
    pub(super) merged: Merged,
}

/// Reads and merges all layers.
///
/// # Errors
/// [`Mistakes`], with all mistakes of all layers, including those in values that a stronger layer overrides.
pub fn load(sources: &SettingSources) -> Result<Loaded, Mistakes> {
    let mut mistakes = Vec::new();
    let texts = file_texts(sources, &mut mistakes);
    let files = texts.iter().map(|(path, text)| file::layer(path, text));
    let rest = [env::read(&sources.env), flag_layer(&sources.flags)];
    let project = sources.project.as_ref().map(|file| &*file.path);
    let mut merged = Merged::defaults::<Config>();
    let (mut notices, mut adapters) = (Vec::new(), Vec::new());
    for layer in files.chain(rest) {
        mistakes.extend(layer.mistakes);
        notices.extend(layer.notices);
        mistakes.extend(one_prompt(&layer.leaves, &mut merged));
        adapters.extend(adapters_of(&layer.leaves));
        for leaf in layer.leaves {
            if let Some(mistake) = not_by_project(&leaf, project) {
                mistakes.push(mistake);
                continue;
            }
            match add_goals(&merged, leaf) {
                Ok(leaf) => merged.set(add_rules(&merged, leaf)),
                Err(mistake) => mistakes.push(mistake),
            }
        }
    }
    let mut config = match merged.read::<Config>() {
        Ok(config) => config,
        Err(more) => {
            mistakes.extend(more);
            Config::default()
        }
    };
    config.adapters = adapters;
    notices.extend(without_effect(&merged));
    if mistakes.is_empty() {
        // Not checked if a layer has mistakes: the missing value may be the other half.
        mistakes.extend(backoff_in_order(&config, &merged));
        mistakes.extend(hidden_rules(&config.permissions));
    }
    match Mistakes::new(mistakes) {
        Some(mistakes) => Err(mistakes),
        None => Ok(Loaded {
            adapter_is_remembered: is_of(&merged.origin("adapter"), sources.remembered.as_deref()),
            config,
            notices,
            flags: sources.flags.clone(),
            extra: sources.extra.clone(),
            merged,
        }),
    }
}

/// Whether a value was written in `file`.
fn is_of(origin: &SettingOrigin, file: Option<&Path>) -> bool {
    matches!((origin, file), (SettingOrigin::File { path, .. }, Some(file)) if **path == *file)
}

fn file_texts(sources: &SettingSources, mistakes: &mut Vec<Mistake>) -> Vec<(PathBuf, String)> {
    let remembered = sources.remembered.iter().chain(&sources.user);
    let user = remembered.map(|path| (path, file::read_if_there(path)));
    let project = sources.project.iter().map(|own| (&own.path, file::project_text(own)));
    let extra = sources.extra.iter().map(|path| (path, file::read(path).map(Some)));
    let mut texts = Vec::new();
    for (path, text) in user.chain(project).chain(extra) {
        match text {
            Ok(Some(text)) => texts.push((path.clone(), text)),
            Ok(None) => {}
            Err(mistake) => mistakes.push(mistake),
        }
    }
    texts
}

fn flag_layer(flags: &[Flag]) -> Layer {
    let keys = SettingKeys::for_record::<Config>();
    let mut layer = Layer::default();
    for flag in flags {
        let origin = SettingOrigin::Flag(flag.name.clone());
        let Some(field) = keys.find(&flag.key) else {
            let near = keys.nearest(&flag.key).map(str::to_owned);
            let key = flag.key.clone();
            layer.mistakes.push(Mistake::Unknown { origin, key, near });
            continue;
        };
        let value = match &flag.value {
            Value::String(word) => (field.kind.from_flag)(word),
            other => other.clone(),
        };
        let mut of_flag = Layer::default();
        of_flag.take(field, &flag.key, Node::from_value(value, &origin));
        let mistakes = of_flag.mistakes.into_iter();
        match flag.key.as_str() {
            "goals" => layer.mistakes.extend(mistakes.map(flag_goal_mistake).take(1)),
            _ => layer.mistakes.extend(mistakes),
        }
        layer.leaves.extend(of_flag.leaves);
    }
    layer
}

/// Rewrites a mistake about a goal of the command line for its syntax there, which differs from that in a file.
fn flag_goal_mistake(mistake: Mistake) -> Mistake {
    match mistake {
        Mistake::IllTyped { origin, key, found, .. } => Mistake::IllTyped {
            origin,
            key: "`goals`".to_owned(),
            found: format!("a list ({key} is {found})"),
            expected: r#"NAME=COMMAND, such as tests="cargo test""#.to_owned(),
        },
        other => other,
    }
}

/// The adapters of one layer, put together from its leaves; `None` if it has none.
fn adapters_of(leaves: &[Leaf]) -> Option<Node> {
    let mut merged = Merged::empty();
    let of_adapters = |leaf: &&Leaf| leaf.path.first().is_some_and(|first| first == "adapters");
    let mut origin = SettingOrigin::Default;
    for leaf in leaves.iter().filter(of_adapters) {
        origin = leaf.node.origin.clone();
        merged.set(leaf.clone());
    }
    let mut adapters = merged.get("adapters").cloned()?;
    adapters.origin = origin;
    Some(adapters)
}

/// Adds goals of the command line to the goals of weaker layers; all other settings are replaced.
fn add_goals(merged: &Merged, mut leaf: Leaf) -> Result<Leaf, Mistake> {
    let (SettingOrigin::Flag(_), Some(there), NodeShape::List(more)) =
        (&leaf.node.origin, merged.get("goals"), &mut leaf.node.shape)
    else {
        return Ok(leaf);
    };
    if leaf.path != ["goals"] {
        return Ok(leaf);
    }
    let names = |goals: &[Node]| -> Vec<String> {
        let names = goals.iter().filter_map(|goal| goal.get("name")?.text());
        names.map(str::to_owned).collect()
    };
    let earlier = there.items().unwrap_or_default();
    let new = names(more);
    if let Some(name) = names(earlier).into_iter().find(|name| new.contains(name)) {
        return Err(Mistake::Conflict {
            why: format!("there is a goal `{name}` already ({})", there.origin),
            origin: leaf.node.origin,
        });
    }
    more.splice(0..0, earlier.iter().cloned());
    Ok(leaf)
}

/// Makes `prompt` override the `promptFile` of a weaker layer, and the reverse. One layer may set only one of them.
fn one_prompt(layer: &[Leaf], merged: &mut Merged) -> Option<Mistake> {
    let set = |key: &str| layer.iter().find(|leaf| leaf.path == [key] && !leaf.node.is_null());
    let (gives_way, origin) = match (set("prompt"), set("promptFile")) {
        (Some(_), Some(file)) => {
            return Some(Mistake::Conflict {
                origin: file.node.origin.clone(),
                why: "`prompt` and `promptFile` are both set; only one can be".to_owned(),
            });
        }
        (Some(prompt), None) => ("promptFile", &prompt.node.origin),
        (None, Some(file)) => ("prompt", &file.node.origin),
        (None, None) => return None,
    };
    if merged.get(gives_way).is_some_and(|weaker| !weaker.is_null()) {
        merged.set(Leaf {
            path: vec![gives_way.to_owned()],
            node: Node::from_value(Value::Null, origin),
        });
    }
    None
}

fn backoff_in_order(config: &Config, merged: &Merged) -> Option<Mistake> {
    let (base_ms, max_ms) = (config.backoff.base_ms, config.backoff.max_ms);
    if base_ms <= max_ms {
        return None;
    }
    let (base, max) = (merged.origin("backoff.base"), merged.origin("backoff.max"));
    let (origin, other) = match base {
        SettingOrigin::Default => (max, base),
        _ => (base, max),
    };
    Some(Mistake::Conflict {
        why: format!(
            "`backoff.base` ({}) is longer than `backoff.max` ({}, {other})",
            format_duration(base_ms),
            format_duration(max_ms)
        ),
        origin,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use ralph_text::Position;

    use super::*;
    use crate::config::testing::Files;

    #[test]
    fn nothing_anywhere_is_the_defaults() {
        let loaded = Files::new().load();
        assert_eq!(loaded.config, Config::default());
        assert!(
            loaded
                .merged
                .rows()
                .iter()
                .all(|(_, node)| node.origin == SettingOrigin::Default)
        );
        assert!(loaded.notices.is_empty());
        assert_eq!(load(&SettingSources::default()).unwrap().config, Config::default());
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
        assert_eq!(loaded.merged.origin("model"), SettingOrigin::Flag("--model".to_owned()));
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
        let place = |file: &str, line, column| {
            SettingOrigin::file(&files.directory.path().join(file), Position { line, column })
        };
        assert_eq!(loaded.merged.origin("limits.maxIterations"), place("user.json", 1, 32));
        assert_eq!(loaded.merged.origin("limits.maxTime"), place("project.json", 3, 5));
        assert_eq!(loaded.merged.origin("limits.idleTimeout"), SettingOrigin::Default);
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
        let layers: Vec<_> = loaded.config.adapters.iter().map(Node::value).collect();
        assert_eq!(
            layers,
            [
                json!({ "codex": { "command": { "program": "a", "args": ["x"] } }, "mine": {} }),
                json!({ "codex": { "command": { "args": [] }, "title": null } }),
            ]
        );
        let codex = loaded.config.adapters[1].get("codex").unwrap();
        assert_eq!(
            codex.get("title").unwrap().origin.to_string(),
            format!("{}:1:55", files.directory.path().join("project.json").display())
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
            loaded.merged.get("adapters").unwrap().value(),
            json!({ "codex": { "command": { "program": "a", "args": [] } } })
        );
        let origin = |key| loaded.merged.origin(key).to_string();
        assert!(origin("adapters.codex.command.program").ends_with("user.json:1:41"));
        assert!(origin("adapters.codex.command.args").ends_with("project.json:1:41"));
    }

    #[test]
    fn an_empty_object_hides_nothing() {
        let loaded = Files::new()
            .with("user.json", r#"{ "adapters": { "codex": { "title": "x" } } }"#)
            .with("project.json", r#"{ "adapters": { "codex": {} }, "limits": {} }"#)
            .env("RALPH_ADAPTERS", "{}")
            .load();
        assert_eq!(
            loaded.merged.get("adapters").unwrap().value(),
            json!({ "codex": { "title": "x" } })
        );
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
        let title = config.adapters[0].get("codex").unwrap().get("title").unwrap();
        assert_eq!(
            (title.text(), title.origin.to_string()),
            (Some("x"), "RALPH_ADAPTERS".to_owned())
        );
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
        assert_eq!(
            loaded.merged.origin("promptFile"),
            SettingOrigin::Flag("--prompt".to_owned())
        );
        let files = Files::of_project(r#"{ "prompt": "Work." }"#).flag("--prompt-file", "promptFile", "p.md");
        let config = files.load().config;
        assert_eq!((config.prompt, config.prompt_file), (None, Some("p.md".into())));
    }

    #[test]
    fn a_promise_may_be_written_with_its_tag() {
        let files = Files::of_project(r#"{ "completion": { "promise": "<promise>ALL DONE</promise>" } }"#);
        assert_eq!(files.load().config.completion.promise.as_deref(), Some("ALL DONE"));
    }
}
