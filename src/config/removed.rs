//! Settings that ralph had once, with what does their work now.

/// The removed settings, by their key or that of their section, with the replacement. Sorted.
pub(super) const REMOVED_SETTINGS: &[(&str, &str)] = &[(
    "forge",
    "nothing is posted for an agent: read its last message in `ralph report`, and use `gh issue create` or `gh issue comment`",
)];

/// The names of the settings and sections that were removed.
pub(super) fn removed_settings() -> impl Iterator<Item = &'static str> {
    REMOVED_SETTINGS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use ralph_policy::settings::SettingKeys;

    use super::*;
    use crate::config::{Config, testing::Files};

    #[test]
    fn a_removed_setting_is_told_what_to_do_instead_and_is_no_setting() {
        let keys = SettingKeys::for_record::<Config>();
        assert!(REMOVED_SETTINGS.is_sorted());
        for (name, instead) in REMOVED_SETTINGS {
            let files = Files::of_project(&format!("{{ \"{name}\": {{ \"x\": 1 }} }}"));
            let removed = format!("project.json:1:3: `{name}` was removed");
            assert_eq!(files.error(), [removed.as_str(), *instead]);
            let group = format!("{name}.");
            assert!(
                keys.iter().all(|(key, _)| key != *name && !key.starts_with(&group)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_variable_of_a_removed_setting_is_told_so() {
        let notices = Files::new().env("RALPH_FORGE_ISSUES", "ask").load().notices;
        assert_eq!(
            notices,
            ["the variable `RALPH_FORGE_ISSUES` is of the setting `forge`, which was removed"]
        );
    }
}
