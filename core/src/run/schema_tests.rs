//! The generated JSON schema of the view, for programs that read `ralph status --json`.

use schemars::generate::SchemaSettings;

use super::RunView;
use crate::testing::assert_committed;

#[test]
fn the_schema_of_the_view_is_the_committed_one() {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<RunView>();
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    assert_committed("docs/status.schema.json", &text, "run::schema_tests");
}
