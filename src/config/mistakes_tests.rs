//! Tests the messages about wrong settings, in every layer.

use std::fs;

use insta::assert_snapshot;

use super::{Config, testing::Files};

#[test]
fn an_unknown_setting_is_placed_and_corrected() {
    let files = Files::of_project("{\n  // mine\n  \"limits\": {\n    \"maxIteration\": 5\n  }\n}");
    assert_eq!(
        files.error(),
        [
            "project.json:4:5: unknown setting `limits.maxIteration`",
            "did you mean `limits.maxIterations`?"
        ]
    );
    assert_eq!(
        Files::of_project(r#"{ "maxIterations": 5 }"#).error(),
        [
            "project.json:1:3: unknown setting `maxIterations`",
            "did you mean `limits.maxIterations`?"
        ]
    );
    assert_eq!(
        Files::of_project(r#"{ "colours": [] }"#).error(),
        [
            "project.json:1:3: unknown setting `colours`",
            "`ralph config schema` lists every setting"
        ]
    );
}

#[test]
fn a_dotted_key_is_told_how_to_nest() {
    assert_eq!(
        Files::of_project(r#"{ "limits.maxTime": "1h" }"#).error(),
        [
            "project.json:1:3: unknown setting `limits.maxTime`",
            "write `limits.maxTime` as objects: { \"limits\": { \"maxTime\": … } }"
        ]
    );
}

#[test]
fn an_ill_typed_value_says_what_is_and_what_should_be() {
    for (text, error) in [
        (
            r#"{ "limits": { "maxTime": 300 } }"#,
            r#"`limits.maxTime` is the number 300; expected a duration, such as "90s", "10m" or "1h30m", or "unlimited""#,
        ),
        (
            r#"{ "limits": { "maxTime": "8x" } }"#,
            r#"`limits.maxTime` is the text "8x" (unknown unit `x`); expected a duration, such as "90s", "10m" or "1h30m", or "unlimited""#,
        ),
        (
            r#"{ "limits": { "maxIterations": 0 } }"#,
            r#"`limits.maxIterations` is the number 0; expected a whole number from 1 to 4294967295, such as 50, or "unlimited""#,
        ),
        (
            r#"{ "limits": { "maxIterations": 2.5 } }"#,
            r#"`limits.maxIterations` is the number 2.5; expected a whole number from 1 to 4294967295, such as 50, or "unlimited""#,
        ),
        (
            r#"{ "limits": { "maxTokens": 0 } }"#,
            r#"`limits.maxTokens` is the number 0; expected a whole number from 1, such as 50, or "unlimited""#,
        ),
        (
            r#"{ "limits": { "maxCostUsd": -1 } }"#,
            r#"`limits.maxCostUsd` is the number -1; expected a number above 0, such as 2.5, or "unlimited""#,
        ),
        (
            r#"{ "backoff": { "base": "unlimited" } }"#,
            r#"`backoff.base` is the text "unlimited" (no number before a unit); expected a duration, such as "90s", "10m" or "1h30m""#,
        ),
        (
            r#"{ "session": "new" }"#,
            r#"`session` is the text "new"; expected "fresh" or "resume""#,
        ),
        (
            r#"{ "session": "resumed" }"#,
            r#"`session` is the text "resumed" (did you mean "resume"?); expected "fresh" or "resume""#,
        ),
        (
            r#"{ "adapter": ["codex"] }"#,
            r#"`adapter` is a list; expected a text on one line, such as "codex", or null"#,
        ),
        (
            r#"{ "model": " " }"#,
            r#"`model` is the text " "; expected a text on one line, such as "codex", or null"#,
        ),
        (
            r#"{ "completion": { "promise": "a\nb" } }"#,
            r#"`completion.promise` is the text "a\nb"; expected a text on one line without `<` and `>`, such as "ALL DONE", or null"#,
        ),
        (
            r#"{ "limits": true }"#,
            "`limits` is true; expected an object with settings",
        ),
        (
            r#"{ "adapters": { "codex": "x" } }"#,
            r#"`adapters` is an object (`codex` is the text "x"); expected an object of objects, such as {"codex": {"command": {"program": "/opt/codex"}}}"#,
        ),
        (
            r#"[]"#,
            r#"the configuration is a list; expected an object, such as { "adapter": "codex" }"#,
        ),
    ] {
        let name = error.split('`').nth(1).and_then(|key| key.rsplit('.').next());
        let at = name.map_or(0, |name| text.find(&format!("\"{name}\"")).unwrap());
        let column = at + 1;
        assert_eq!(
            Files::of_project(text).error(),
            [format!("project.json:1:{column}: {error}")]
        );
    }
}

#[test]
fn null_does_not_give_up_a_limit_that_has_a_default() {
    let error = Files::of_project(r#"{ "limits": { "maxTime": null } }"#).error();
    assert!(
        error[0].starts_with(
            "project.json:1:15: `limits.maxTime` is null (write \"unlimited\" to go without this limit); expected"
        ),
        "{}",
        error[0]
    );
    for off in ["null", "\"unlimited\""] {
        let files = Files::of_project(&format!(
            r#"{{ "limits": {{ "maxCostUsd": {off}, "maxTokens": {off}, "callsPerHour": {off} }} }}"#
        ));
        assert_eq!(files.load().config, Config::default());
    }
}

#[test]
fn variables_and_flags_are_named_in_errors() {
    assert_eq!(
        Files::new().env("RALPH_SESSION", "new").error(),
        [r#"RALPH_SESSION is "new"; expected "fresh" or "resume""#]
    );
    assert_eq!(
        Files::new()
            .flag("--max-iterations", "limits.maxIterations", "many")
            .error(),
        [r#"--max-iterations is "many"; expected a whole number from 1 to 4294967295, such as 50, or "unlimited""#]
    );
}

#[test]
fn broken_json_is_placed() {
    assert_eq!(
        Files::of_project("{\n  \"adapter\" \"codex\"\n}").error(),
        [
            "project.json: line 2, column 13: not valid JSON (expected colon after the string or word in object property)",
            "comments and trailing commas are fine, all else is as in JSON"
        ]
    );
}

#[test]
fn a_file_that_is_not_utf8_is_placed() {
    let files = Files::new().with("project.json", b"{\n  \"adapter\": \"\xff\" }");
    assert_eq!(files.error()[0], "project.json: line 2, column 15: not UTF-8");
}

#[test]
fn a_setting_that_stands_twice_is_refused() {
    assert_eq!(
        Files::of_project("{ \"model\": \"a\",\n \"model\": \"b\" }").error(),
        ["project.json:2:2: `model` is set a second time, after line 1"]
    );
}

#[test]
fn the_file_of_config_has_to_be_there() {
    let files = Files::new().extra("none.json");
    assert_eq!(files.error(), ["none.json: cannot be read"]);
}

#[test]
fn a_directory_in_place_of_a_file_is_an_error() {
    let files = Files::new();
    fs::create_dir(files.directory.path().join("project.json")).unwrap();
    assert_eq!(files.error(), ["project.json: cannot be read"]);
}

#[test]
fn all_errors_of_all_layers_are_told_at_once() {
    let files = Files::new()
        .with("user.json", r#"{ "modle": "x" }"#)
        .with("project.json", "{")
        .env("RALPH_SESSION", "new");
    let error = files.error();
    assert_eq!(error[0], "user.json:1:3: unknown setting `modle` (and 2 more)");
    assert_eq!(error[1], "did you mean `model`?");
    assert!(
        error[2].starts_with("also project.json: line 1, column 1: not valid JSON"),
        "{}",
        error[2]
    );
    assert!(error[4].starts_with("also RALPH_SESSION is "), "{}", error[4]);
}

#[test]
fn a_mistake_is_an_error_where_a_stronger_layer_hides_it_too() {
    let files = Files::of_project(r#"{ "session": "new" }"#).flag("--session", "session", "fresh");
    assert!(files.error()[0].starts_with("project.json:1:3: `session`"));
}

#[test]
fn one_layer_may_set_only_one_prompt() {
    assert_eq!(
        Files::of_project(r#"{ "prompt": "Work.", "promptFile": "p.md" }"#).error(),
        ["project.json:1:22: `prompt` and `promptFile` are both set; only one can be"]
    );
}

#[test]
fn a_backoff_that_begins_above_its_end_is_refused() {
    assert_eq!(
        Files::of_project(r#"{ "backoff": { "base": "10m" } }"#).error(),
        ["project.json:1:16: `backoff.base` (10m) is longer than `backoff.max` (5m, default)"]
    );
}

#[test]
fn a_layer_that_is_not_read_whole_makes_no_further_errors() {
    let files = Files::new()
        .with("user.json", r#"{ "backoff": { "base": "10m" } }"#)
        .with("project.json", r#"{ "backoff": { "max": "20m" }, "modle": "x" }"#);
    assert_eq!(files.error()[0], "project.json:1:32: unknown setting `modle`");
}

#[test]
fn every_kind_of_setting_says_what_it_expects() {
    let mistakes = [
        r#"{ "server": "ftp://x" }"#,
        r#"{ "server": "localhost" }"#,
        r#"{ "serverTimeout": 600001 }"#,
        r#"{ "permissions": "ask" }"#,
        r#"{ "plan": "" }"#,
        r#"{ "prompt": "\t" }"#,
        r#"{ "notify": 1 }"#,
        r#"{ "goals": {} }"#,
        r#"{ "goalsParallel": "yes" }"#,
        r#"{ "goalsWhen": "never" }"#,
        r#"{ "completion": { "minConfidence": 101 } }"#,
        r#"{ "completion": { "promise": "<promise></promise>" } }"#,
        r#"{ "fallback": ["a", "a"] }"#,
        r#"{ "fallback": "a" }"#,
        r#"{ "checkpoint": { "include": [""] } }"#,
        r#"{ "adapters": [] }"#,
        r#"{ "limits": { "phaseTimeout": "unlimited" } }"#,
        r#"{ "limits": { "maxTime": "3651d" } }"#,
        r#"{ "limits": { "callsPerHour": false } }"#,
        r#"{ "keep": { "recordingMiB": "unlimited" } }"#,
        r#"{ "keep": null }"#,
    ];
    let told: Vec<String> = mistakes.map(|text| Files::of_project(text).error().join("\n")).to_vec();
    assert_snapshot!(told.join("\n"));
}

#[test]
fn every_mistake_in_one_file_is_told_in_its_order() {
    let files = Files::of_project(
        r#"{
  "modle": "x",
  "goals": [
    { "name": "a", "comand": "x" },
    "b",
  ],
  "limits": { "maxTime": 5, "limits.maxTime": 1, "maxIterations": 0 },
  "adapters": { "codex": { "title": "a", "title": "b" } },
  "session": "new",
  "session": "fresh",
}"#,
    );
    assert_snapshot!(files.error().join("\n"));
}

#[test]
fn words_that_are_no_values_are_refused_by_the_name_of_their_variable() {
    let variables = [
        ("RALPH_GOALS", r#"[{"name": "a"}]"#),
        ("RALPH_GOALS", "a=b"),
        ("RALPH_ADAPTERS", "codex"),
        ("RALPH_ADAPTERS", r#"{"codex": 1}"#),
        ("RALPH_FALLBACK", "a,,b"),
        ("RALPH_GOALS_PARALLEL", "yes"),
        ("RALPH_LIMITS_MAX_COST_USD", "0"),
        ("RALPH_MODEL", "a\nb"),
    ];
    let told = variables.map(|(name, value)| Files::new().env(name, value).error().join("\n"));
    assert_snapshot!(told.join("\n"));
}
