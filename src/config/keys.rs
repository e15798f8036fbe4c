//! The table of settings: what ralph reads its files, variables, schema and defaults by.

use super::kind::{Kind, Unlimited};

/// One setting.
pub(super) struct Key {
    /// Where it stands in a file, sections dotted.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    /// The default, as JSON.
    pub(super) default: &'static str,
    /// What it is for, one sentence.
    pub(super) about: &'static str,
}

const fn key(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key {
        path,
        kind,
        default,
        about,
    }
}

const COUNT: u64 = u32::MAX as u64;

/// Every setting this version acts on. One that would do nothing is no setting: whoever writes it has to be told.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("adapter", Kind::Name, "null", "The agent to run; null takes opencode-server, else the first of claude, codex and gemini that is installed."),
    key("model", Kind::Name, "null", "The model, as the agent names it; null leaves it to the agent."),
    key("agent", Kind::Name, "null", "The agent's own profile, such as opencode's `build`; null leaves it to the agent."),
    key("server", Kind::Server, "null", "The opencode server to use; null starts one for the run."),
    key("serverTimeout", Kind::Count { most: 600_000, unlimited: Unlimited::Never }, "5000", "Milliseconds a connection to that server may take, and the answer to whether it is well."),
    key("permissions", Kind::Choice(&["deny", "allow"]), r#""deny""#, "What an agent on an opencode server is answered that asks for a permission."),
    key("plan", Kind::Path, "null", "The plan file, relative to the project; null takes the first usual name that exists."),
    key("prompt", Kind::Text, "null", "Instructions in place of the built-in ones; knows {plan}, {task}, {iteration} and {progress}."),
    key("promptFile", Kind::Path, "null", "A file with such instructions, relative to the project."),
    key("session", Kind::Choice(&["fresh", "resume"]), r#""fresh""#, "Whether an iteration begins without memory of the one before or continues its session."),
    key("limits.maxIterations", Kind::Count { most: COUNT, unlimited: Unlimited::ByWord }, "50", "Iterations in a run."),
    key("limits.maxTime", Kind::Duration(Unlimited::ByWord), r#""8h""#, "Time a run may take."),
    key("limits.iterationTimeout", Kind::Duration(Unlimited::ByWord), r#""60m""#, "Time one iteration may take."),
    key("limits.idleTimeout", Kind::Duration(Unlimited::ByWord), r#""10m""#, "Time an agent may neither write nor use the CPU."),
    key("limits.phaseTimeout", Kind::Duration(Unlimited::Never), r#""10m""#, "Time ralph's own work before an iteration may take, and after it: checkpoint, plan and prompt."),
    key("limits.maxCostUsd", Kind::Amount(Unlimited::ByWordOrNull), "null", "Dollars a run may cost, as far as the agent tells; null is unlimited."),
    key("limits.maxTokens", Kind::Count { most: u64::MAX, unlimited: Unlimited::ByWordOrNull }, "null", "Tokens a run may use, as far as the agent tells; null is unlimited."),
    key("limits.callsPerHour", Kind::Count { most: COUNT, unlimited: Unlimited::ByWordOrNull }, "null", "Iterations that may begin within an hour; null is unlimited."),
    key("backoff.base", Kind::Duration(Unlimited::Never), r#""5s""#, "Delay after the first failure; it doubles with each further one."),
    key("backoff.max", Kind::Duration(Unlimited::Never), r#""5m""#, "Longest delay after a failure."),
    key("backoff.jitter", Kind::Share, "0.1", "Share of a delay that is added at random, 0 to 1."),
    key("fallback", Kind::Names(r#"["claude", "codex"]"#), "[]", "Adapters that take over while the first is limited, in this order; one that is not installed is left out."),
    key("goals", Kind::Goals, "[]", "Commands that have to succeed before a claim is believed, each with a name and, if wanted, a target and a timeout."),
    key("goalsParallel", Kind::Bool, "true", "Whether goals are run side by side or one after the other."),
    key("goalsWhen", Kind::Choice(&["claim", "iteration", "both"]), r#""claim""#, "When goals are run: on a claim, or after every iteration, which a claim then goes by; both is the latter."),
    key("completion.promise", Kind::Promise, "null", "What an agent has to promise when all is done; null takes a fresh token for each run."),
    key("completion.minConfidence", Kind::Percent, "50", "Confidence, 0 to 100, below which a claim is refused: 10 for the agent's word, 40 if it is given twice and there is nothing else, 50 for the ticked tasks, 40 for the goals."),
    key("checkpoint.include", Kind::Names(r#"[".env.local", "build/*.bin"]"#), "[]", "Ignored files that are in checkpoints all the same, as patterns of .gitignore."),
    key("breaker.noProgress", Kind::Count { most: COUNT, unlimited: Unlimited::ByWord }, "3", "Iterations running without progress after which the agent is told; after twice as many the loop stops."),
    key("breaker.sameError", Kind::Count { most: COUNT, unlimited: Unlimited::ByWord }, "5", "The same for iterations running that fail in the same way."),
    key("breaker.cooldown", Kind::Duration(Unlimited::Never), r#""30m""#, "How long an open breaker waits before one last try."),
    key("adapters", Kind::Adapters, "{}", "Changes to adapters and adapters of your own, by id, with the keys of a manifest."),
    key("notify", Kind::Text, r#""osc9""#, "How the screen tells that the run is over or needs somebody: none, bell, osc9, or a command that finds the reason in RALPH_REASON."),
    key("keep.runs", Kind::Count { most: COUNT, unlimited: Unlimited::ByWord }, "20", "Runs whose journals, recordings and checkpoints are kept."),
    key("keep.age", Kind::Duration(Unlimited::ByWord), r#""90d""#, "Time since a run's last record after which it is not kept."),
    key("keep.sizeMiB", Kind::Count { most: COUNT, unlimited: Unlimited::ByWord }, "2048", "Size of all journals and recordings, in MiB, beyond which the oldest runs are not kept."),
    key("keep.recordingMiB", Kind::Count { most: COUNT, unlimited: Unlimited::Never }, "64", "Size at which the recording of an iteration ends, and its signal log, in MiB."),
];

/// Settings of earlier versions, and what there is in their place.
const REMOVED: &[(&str, &str)] = &[(
    "completion.requireDualCondition",
    "`completion.minConfidence` decides it: at 10, one claim is enough where nothing proves it; at 50, it has to be \
     repeated",
)];

/// What there is in place of a setting that was removed; none for what never was one.
pub(super) fn replacement(path: &str) -> Option<&'static str> {
    REMOVED
        .iter()
        .find_map(|(removed, instead)| (*removed == path).then_some(*instead))
}

/// Lists the settings that were removed.
pub(super) fn removed() -> impl Iterator<Item = &'static str> {
    REMOVED.iter().map(|(path, _)| *path)
}

/// Finds the setting at a path, given segment by segment.
pub(super) fn find(path: &[String]) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path.split('.').eq(path.iter()))
}

/// Finds a setting by its dotted path.
pub(super) fn find_dotted(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Tells whether settings stand below this path, as below `limits`.
pub(super) fn is_section(path: &[String]) -> bool {
    matches!(path, [name] if sections().any(|section| section == name))
}

/// Lists `limits`, `backoff`, …; with repetitions.
fn sections() -> impl Iterator<Item = &'static str> {
    KEYS.iter()
        .filter_map(|key| key.path.rsplit_once('.').map(|(section, _)| section))
}

/// Finds the setting or section that somebody who wrote `unknown` probably meant, at whatever level it is.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    let known = KEYS.iter().map(|key| key.path).chain(sections());
    known
        .map(|known| (likeness(unknown, known), known))
        .filter(|(likeness, _)| *likeness >= 0.85)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

fn likeness(unknown: &str, known: &str) -> f64 {
    let (unknown_section, unknown_name) = split(unknown);
    let (known_section, known_name) = split(known);
    let names = strsim::jaro_winkler(&folded(unknown_name), &folded(known_name));
    // The same name elsewhere is near, a like name in the same place is nearer than one elsewhere.
    if unknown_section == known_section {
        names
    } else {
        names - 0.02
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// `max_iterations`, `max-iterations` and `maxIterations` differ in nothing a person would mean.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_found_at_any_level() {
        for (unknown, near) in [
            ("limits.maxIteration", "limits.maxIterations"),
            ("maxIterations", "limits.maxIterations"),
            ("max_iterations", "limits.maxIterations"),
            ("limits.adapter", "adapter"),
            ("limit", "limits"),
            ("promtFile", "promptFile"),
            ("keep.recordingMB", "keep.recordingMiB"),
            ("adaptor", "adapter"),
        ] {
            assert_eq!(nearest(unknown), Some(near), "{unknown}");
        }
    }

    #[test]
    fn a_name_like_no_other_has_no_near_one() {
        for unknown in ["colour", "daemon", ""] {
            assert_eq!(nearest(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_default_is_of_its_kind() {
        for key in KEYS {
            let default = serde_json::from_str(key.default).unwrap();
            assert_eq!(key.kind.check(&default), Ok(()), "{}", key.path);
        }
    }
}
