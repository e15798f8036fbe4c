//! Snapshots of the complete output of `ralph config`, which show how a change to a setting looks to users.

use std::{fs, path::Path};

use insta::assert_snapshot;
use ralph_core::testing::assert_committed;
use ralph_policy::settings::{Field, reference};

use super::{example, file, schema, settings::Config, show, testing::Files};

const FILTER: &str = "the_example_file";

const HEAD: &str = "\
# Configuration

Every setting, with what it may be and its default. [Settings](../guide/settings.md) says where they are written;
`config.example.json` in the repository has all of them in one file, and [config.schema.json](../config.schema.json) tells editors the
same. `ralph config` prints the values in effect and where each comes from. The variable of `limits.maxTime` is
`RALPH_LIMITS_MAX_TIME`, and so on.
";

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
    assert_snapshot!(show(&files.load(), |line, _| line.to_owned()).replace(&directory, ""));
}

/// Checks the example file, the schema for editors, and the reference page.
#[test]
fn the_example_file_is_what_the_declarations_say() {
    let text = example();
    serde_json::from_str::<serde_json::Value>(&text).expect("JSON without comments");
    assert_committed("config.example.json", &text, FILTER);
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert_committed("docs/config.schema.json", &schema, FILTER);
    let page = format!("{HEAD}{}", reference::page::<Config>(&flag));
    assert_committed("docs/reference/configuration.md", &page, FILTER);
}

/// The flag of a setting.
fn flag(_key: &str, field: &Field) -> Vec<(&'static str, String)> {
    let flag = field
        .flag
        .map(|flag| ("flag", format!("`{} {}`", flag.name, flag.value)));
    flag.into_iter().collect()
}

/// Checks the JSON blocks in the guide, which users copy.
#[test]
fn every_configuration_that_the_guide_shows_is_one() {
    let mut count = 0;
    for page in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide")).unwrap() {
        let page = page.unwrap().path();
        let text = fs::read_to_string(&page).unwrap();
        let blocks = ["```json\n", "```jsonc\n"].map(|fence| text.split(fence).skip(1));
        for block in blocks.into_iter().flatten() {
            let (block, _) = block.split_once("```").expect("its end");
            let layer = file::layer(&page, block);
            assert!(layer.mistakes.is_empty(), "{block}{:?}", layer.mistakes);
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} examples were found");
}
