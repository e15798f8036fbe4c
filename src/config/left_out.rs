//! Settings of leaves, which a ralph may be built without. They stay known, so that a file of settings serves every ralph.

use ralph_policy::settings::{Merged, SettingOrigin};

/// The settings, and sections of settings, that only a leaf uses: each with the feature of the package with the leaf, and
/// whether it is built in.
const LEAF_SETTINGS: &[(&str, &str, bool)] = &[
    ("deliver", "batch", cfg!(feature = "batch")),
    ("listen", "page", cfg!(feature = "page")),
    ("native", "native", cfg!(feature = "native")),
    ("otel", "telemetry", cfg!(feature = "telemetry")),
];

/// Says which settings have no effect, because this ralph is built without what they set.
pub(super) fn without_effect(merged: &Merged) -> Vec<String> {
    let left_out = LEAF_SETTINGS.iter().filter(|(.., is_built_in)| !is_built_in);
    left_out
        .filter_map(|(key, feature, _)| notice(merged, key, feature))
        .collect()
}

fn notice(merged: &Merged, key: &str, feature: &str) -> Option<String> {
    let rows = merged.rows();
    let is_its = |row: &str| {
        row.strip_prefix(key)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let (_, set) = rows
        .iter()
        .find(|(row, node)| is_its(row) && node.origin != SettingOrigin::Default)?;
    let origin = &set.origin;
    Some(format!(
        "{origin}: `{key}` has no effect, because this ralph is built without the feature `{feature}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::testing::Files;

    #[test]
    fn a_setting_of_a_leaf_that_is_left_out_is_said_to_have_no_effect() {
        let said = |text: &str| {
            let files = Files::of_project(text);
            let said = notice(&files.load().merged, "native", "native")?;
            Some(said.replace(&format!("{}/", files.directory.path().display()), ""))
        };
        assert_eq!(
            said("{\n  \"native\": { \"retries\": 2 }\n}").as_deref(),
            Some("project.json:2:15: `native` has no effect, because this ralph is built without the feature `native`")
        );
        assert_eq!(said(r#"{ "notify": "bell" }"#), None);
    }

    #[test]
    fn every_setting_of_a_leaf_is_a_setting() {
        let merged = Files::new().load().merged;
        for (key, ..) in LEAF_SETTINGS {
            assert!(merged.get(key).is_some(), "{key}");
        }
    }
}
