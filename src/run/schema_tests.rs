//! The schema of the view, for programs that read `ralph status --json`.

use std::{env, fs, path::Path};

use schemars::generate::SchemaSettings;

use super::RunView;

/// Writes the file anew where `RALPH_TEST_WRITE` asks for it.
#[test]
fn the_schema_of_the_view_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/status.schema.json");
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<RunView>();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if env::var_os("RALPH_TEST_WRITE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/status.schema.json is not that of the view: RALPH_TEST_WRITE=1 cargo test --lib run::schema_tests writes it"
    );
}
