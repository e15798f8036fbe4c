//! Settings from the environment: `RALPH_LIMITS_MAX_TIME` is `limits.maxTime`.

use std::ffi::{OsStr, OsString};

use ralph_policy::settings::{Field, Layer, Mistake, Node, SettingKeys, SettingOrigin};

use super::{removed::removed_settings, settings::Config};

const PREFIX: &str = "RALPH_";

/// Prefix of variables that ralph's own tests set, to find their processes and to name the agents that must be
/// installed.
const TEST_PREFIX: &str = "RALPH_TEST_";

/// Variables of ralph that are not settings: those that it sets for agents and hooks, its log filter, and the key of its native
/// agent.
///
/// The variables for agents must not configure a ralph that an agent starts, so `plan` cannot be set by variable.
pub const RUNTIME_VARIABLES: [&str; 18] = [
    "RALPH_RUN_ID",
    "RALPH_ITERATION",
    "RALPH_PLAN",
    "RALPH_STATE_DIR",
    "RALPH_PROJECT",
    "RALPH_HOOK",
    "RALPH_TASK",
    "RALPH_QUESTION",
    "RALPH_OUTCOME",
    "RALPH_END",
    "RALPH_EXIT_CODE",
    "RALPH_CHILD_ID",
    "RALPH_DEMO_SPEED",
    "RALPH_LOG",
    "RALPH_NATIVE_API_KEY",
    "RALPH_BUDGET",
    "RALPH_TREE",
    "RALPH_PORT",
];

/// Prefix of the variables with the reserved ports of a work tree, which end with a number.
const PORT_PREFIX: &str = "RALPH_PORT_";

/// Reads settings from the variables of an environment. Empty ones count as not set.
pub(super) fn read(variables: &[(OsString, OsString)]) -> Layer {
    let keys = SettingKeys::for_record::<Config>();
    let mut layer = Layer::default();
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let is_port = name
            .strip_prefix(PORT_PREFIX)
            .is_some_and(|number| number.parse::<u32>().is_ok());
        if RUNTIME_VARIABLES.contains(&name) || is_port || name.starts_with(TEST_PREFIX) || value.is_empty() {
            continue;
        }
        match keys.iter().find(|(key, _)| variable(key) == name) {
            Some((key, field)) => take(&mut layer, (key, field), name, value),
            None => layer.notices.push(unknown(&keys, name)),
        }
    }
    layer
}

fn take(layer: &mut Layer, (key, field): (&str, &Field), name: &str, value: &OsStr) {
    let origin = SettingOrigin::Env(name.to_owned());
    let Some(word) = value.to_str() else {
        let (found, expected) = ("not UTF-8".to_owned(), "text in UTF-8".to_owned());
        layer.mistakes.push(Mistake::ill_typed(&origin, key, found, expected));
        return;
    };
    layer.take(field, key, Node::from_value((field.kind.from_variable)(word), &origin));
}

fn unknown(keys: &SettingKeys, name: &str) -> String {
    let is_of = |section: &&str| name == variable(section) || name.starts_with(&format!("{}_", variable(section)));
    if let Some(section) = removed_settings().find(is_of) {
        return format!("the variable `{name}` is of the setting `{section}`, which was removed");
    }
    let known = keys
        .iter()
        .map(|(key, _)| variable(key))
        .filter(|known| !RUNTIME_VARIABLES.contains(&known.as_str()));
    let nearest = known
        .map(|known| (strsim::jaro_winkler(name, &known), known))
        // All names begin with the prefix, which raises the similarity of any two.
        .filter(|(likeness, _)| *likeness >= 0.94)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((_, known)) => format!("the variable `{name}` is not a setting; did you mean `{known}`?"),
        None => format!("the variable `{name}` is not a setting"),
    }
}

/// Returns the name of a setting's variable: words in capitals, joined by underscores.
pub(super) fn variable(path: &str) -> String {
    let mut name = PREFIX.to_owned();
    let letters: Vec<char> = path.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        // A capital begins a word only before a lower-case letter: not the B of `recordingMiB`.
        let begins_word = letter.is_uppercase() && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if begins_word {
            name.push('_');
        }
        name.push(if letter == '.' {
            '_'
        } else {
            letter.to_ascii_uppercase()
        });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(path: &str) -> String {
        assert!(SettingKeys::for_record::<Config>().find(path).is_some());
        variable(path)
    }

    fn environment(variables: &[(&str, &str)]) -> Layer {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        read(&variables)
    }

    #[test]
    fn names_follow_from_paths() {
        assert_eq!(name("adapter"), "RALPH_ADAPTER");
        assert_eq!(name("promptFile"), "RALPH_PROMPT_FILE");
        assert_eq!(name("limits.maxIterations"), "RALPH_LIMITS_MAX_ITERATIONS");
        assert_eq!(name("limits.maxCostUsd"), "RALPH_LIMITS_MAX_COST_USD");
        assert_eq!(name("keep.recordingMiB"), "RALPH_KEEP_RECORDING_MIB");
    }

    #[test]
    fn no_two_settings_have_the_same_variable() {
        let keys = SettingKeys::for_record::<Config>();
        let mut names: Vec<String> = keys.iter().map(|(key, _)| variable(key)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), keys.iter().count());
    }

    #[test]
    fn what_ralph_tells_its_agents_is_not_a_setting() {
        let read = environment(&RUNTIME_VARIABLES.map(|name| (name, "x")));
        assert!(read.leaves.is_empty() && read.mistakes.is_empty() && read.notices.is_empty());
        let read = environment(&[("RALPH_TEST_SANDBOX", "x")]);
        assert!(read.leaves.is_empty() && read.mistakes.is_empty() && read.notices.is_empty());
    }

    #[test]
    fn an_unknown_variable_is_noticed_with_the_one_that_was_meant() {
        let read = environment(&[("RALPH_ADPTER", "codex"), ("RALPH_XYZ", "1"), ("OTHER", "1")]);
        assert_eq!(
            read.notices,
            [
                "the variable `RALPH_ADPTER` is not a setting; did you mean `RALPH_ADAPTER`?",
                "the variable `RALPH_XYZ` is not a setting"
            ]
        );
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        assert!(environment(&[("RALPH_MODEL", "")]).leaves.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_not_utf8_is_refused() {
        use std::os::unix::ffi::OsStringExt;
        let read = read(&[("RALPH_MODEL".into(), OsString::from_vec(vec![0xff]))]);
        assert_eq!(
            read.mistakes[0].to_string(),
            "RALPH_MODEL is not UTF-8; expected text in UTF-8"
        );
    }
}
