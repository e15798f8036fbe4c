//! What `ralph config` prints, whole: a change to a setting shows here as what users see of it.

use std::{env, fs, path::Path};

use insta::assert_snapshot;

use super::{example, schema, show, testing::Files};

#[test]
fn show_prints_every_setting_with_its_origin() {
    let files = Files::new()
        .with("user.json", "{\n  \"model\": \"m\",\n  \"fallback\": [\"codex\"],\n}")
        .with(
            "project.json",
            "{\n  \"limits\": { \"maxTime\": \"2h\" },\n  \"adapters\": {\n    \"codex\": {\n      \"command\": { \"program\": \"/opt/codex\" } } },\n  \"goals\": [\n    { \"name\": \"tests\", \"command\": \"make\" } ] }",
        )
        .env("RALPH_KEEP_SIZE_MIB", "unlimited")
        .flag("--goal", "goals", "lint=make lint")
        .flag("--max-cost-usd", "limits.maxCostUsd", "2.50");
    let directory = format!("{}/", files.directory.path().display());
    assert_snapshot!(show(&files.load()).replace(&directory, ""));
}

/// Writes the file anew where `RALPH_TEST_WRITE` is set.
#[test]
fn the_example_file_is_what_the_declarations_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.example.json");
    if env::var_os("RALPH_TEST_WRITE").is_some() {
        fs::write(&path, example()).unwrap();
    }
    let written = fs::read_to_string(path).unwrap();
    assert!(
        written == example(),
        "config.example.json is not what the settings say: `RALPH_TEST_WRITE=1 cargo test the_example_file` writes it"
    );
}

#[test]
fn the_schema_describes_every_setting() {
    assert_snapshot!(serde_json::to_string_pretty(&schema()).unwrap());
}
