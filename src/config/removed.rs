//! Settings that ralph had once, with what does their work now.

use ralph_policy::settings::Mistake;

/// The removed settings, by their key or that of their section, with the replacement. Sorted.
const REMOVED_SETTINGS: &[(&str, &str)] = &[(
    "forge",
    "nothing is posted for an agent: read its last message in `ralph report`, and use `gh issue create` or `gh issue comment`",
)];

/// The replacement of a setting that was removed.
pub(super) fn instead_of(key: &str) -> Option<&'static str> {
    let is_of = |name: &str| {
        key.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let found = REMOVED_SETTINGS.iter().find(|(name, _)| is_of(name));
    found.map(|(_, instead)| *instead)
}

/// The names of the settings and sections that were removed.
pub(super) fn removed_settings() -> impl Iterator<Item = &'static str> {
    REMOVED_SETTINGS.iter().map(|(name, _)| *name)
}

/// Tells a removed setting from one that never was.
pub(super) fn or_removed(mistake: Mistake) -> Mistake {
    match mistake {
        Mistake::Unknown { origin, key, near } => match instead_of(&key) {
            Some(instead) => Mistake::Removed { origin, key, instead },
            None => Mistake::Unknown { origin, key, near },
        },
        mistake => mistake,
    }
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
            assert!(keys.iter().all(|(key, _)| instead_of(key).is_none()), "{name}");
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
