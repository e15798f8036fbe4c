//! What `ralph config` prints, whole: a change to a setting shows here as what users see of it.

use insta::assert_snapshot;

use super::{schema, show, testing::Files};

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

#[test]
fn the_schema_describes_every_setting() {
    assert_snapshot!(serde_json::to_string_pretty(&schema()).unwrap());
}
