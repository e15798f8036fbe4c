//! The settings as the rest of ralph takes them.

use std::{path::PathBuf, str::FromStr};

use serde_json::{Map, Value};

use super::{duration::parse_duration, goals, layers::Merged};
use crate::{
    claims::promise_token,
    event::{Backoff, BreakerLimits, Completion, Goal, GoalsWhen, Limits, SessionMode},
    server_url::ServerUrl,
};

/// The settings a run goes by. What each is for stands in `config.example.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub adapter: Option<String>,
    pub model: Option<String>,
    pub agent: Option<String>,
    /// The opencode server to use.
    pub server: Option<ServerUrl>,
    pub server_timeout_ms: u32,
    pub permissions: Permissions,
    /// As written: relative to the project, or absolute.
    pub plan: Option<PathBuf>,
    /// At most one of `prompt` and `prompt_file` is set.
    pub prompt: Option<String>,
    /// As written: relative to the project, or absolute.
    pub prompt_file: Option<PathBuf>,
    pub session: SessionMode,
    pub limits: Limits,
    pub backoff: Backoff,
    pub breaker: BreakerLimits,
    /// The token of the promise line, without the tag; none for a fresh one in each run.
    pub promise: Option<String>,
    pub completion: Completion,
    pub goals: Vec<Goal>,
    pub goals_parallel: bool,
    pub goals_when: GoalsWhen,
    /// Ids of adapters.
    pub fallback: Vec<String>,
    /// Ignored files that are in checkpoints all the same, as patterns of `.gitignore`.
    pub checkpoint_include: Vec<String>,
    /// What each layer says about adapters, weakest first. Merging them is for who knows what a manifest is.
    pub adapters: Vec<AdapterLayer>,
    pub notify: Notify,
    pub keep: Keep,
}

/// The `adapters` object of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterLayer {
    /// The file, variable or flag, as the user knows it.
    pub origin: String,
    /// Tables with the keys of a manifest, by adapter id.
    pub adapters: Map<String, Value>,
}

/// How somebody is told that the run is over or needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notify {
    None,
    Bell,
    Osc9,
    /// Run with `sh -c`.
    Command(String),
}

/// The answer to an agent that asks for a permission while nobody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    Deny,
    Allow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Runs, the latest ones; none for all.
    pub runs: Option<u32>,
    /// Time since a run's last record.
    pub age_ms: Option<u64>,
    /// Size of the files of all runs, without their checkpoints.
    pub size_mib: Option<u32>,
    /// Size at which the recording of one iteration ends.
    pub recording_mib: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config::of(&Merged::defaults(), Vec::new())
    }
}

impl Config {
    /// Takes the settings out of merged values, which were all checked when they were read.
    pub(super) fn of(merged: &Merged, adapters: Vec<AdapterLayer>) -> Self {
        let read = Reader(merged);
        Config {
            adapter: read.text("adapter"),
            model: read.text("model"),
            agent: read.text("agent"),
            server: read
                .text("server")
                .map(|text| ServerUrl::from_str(&text).expect(CHECKED)),
            server_timeout_ms: read.count("serverTimeout").expect(CHECKED),
            permissions: match read.text("permissions").as_deref() {
                Some("allow") => Permissions::Allow,
                Some(_) | None => Permissions::Deny,
            },
            plan: read.text("plan").map(PathBuf::from),
            prompt: read.text("prompt"),
            prompt_file: read.text("promptFile").map(PathBuf::from),
            session: match read.text("session").as_deref() {
                Some("resume") => SessionMode::Resume,
                Some(_) | None => SessionMode::Fresh,
            },
            limits: Limits {
                max_iterations: read.count("limits.maxIterations"),
                max_time_ms: read.duration_ms("limits.maxTime"),
                iteration_timeout_ms: read.duration_ms("limits.iterationTimeout"),
                idle_timeout_ms: read.duration_ms("limits.idleTimeout"),
                max_cost_usd: merged.get("limits.maxCostUsd").as_f64(),
                max_tokens: merged.get("limits.maxTokens").as_u64(),
                calls_per_hour: read.count("limits.callsPerHour"),
                phase_timeout_ms: read.duration_ms("limits.phaseTimeout"),
            },
            backoff: Backoff {
                base_ms: read.duration_ms("backoff.base").expect(CHECKED),
                max_ms: read.duration_ms("backoff.max").expect(CHECKED),
                jitter: merged.get("backoff.jitter").as_f64().expect(CHECKED),
            },
            breaker: BreakerLimits {
                no_progress: read.count("breaker.noProgress"),
                same_error: read.count("breaker.sameError"),
                cooldown_ms: read.duration_ms("breaker.cooldown").expect(CHECKED),
            },
            promise: read
                .text("completion.promise")
                .map(|text| promise_token(&text).to_owned()),
            completion: Completion {
                min_confidence: read.percent("completion.minConfidence"),
            },
            goals: goals::read(merged.get("goals")),
            goals_parallel: read.flag("goalsParallel"),
            goals_when: match read.text("goalsWhen").as_deref() {
                Some("iteration" | "both") => GoalsWhen::Iteration,
                Some(_) | None => GoalsWhen::Claim,
            },
            fallback: read.names("fallback"),
            checkpoint_include: read.names("checkpoint.include"),
            adapters,
            notify: match read.text("notify").as_deref() {
                None | Some("none" | "") => Notify::None,
                Some("bell") => Notify::Bell,
                Some("osc9") => Notify::Osc9,
                Some(command) => Notify::Command(command.to_owned()),
            },
            keep: Keep {
                runs: read.count("keep.runs"),
                age_ms: read.duration_ms("keep.age"),
                size_mib: read.count("keep.sizeMiB"),
                recording_mib: read.count("keep.recordingMiB").expect(CHECKED),
            },
        }
    }
}

const CHECKED: &str = "every value was checked against its kind when it was read";

struct Reader<'a>(&'a Merged);

impl Reader<'_> {
    /// Reads a text; none for null.
    fn text(&self, path: &str) -> Option<String> {
        self.0.get(path).as_str().map(str::to_owned)
    }

    /// Reads a number; none for no limit.
    fn count(&self, path: &str) -> Option<u32> {
        let count = self.0.get(path).as_u64()?;
        Some(u32::try_from(count).expect(CHECKED))
    }

    fn percent(&self, path: &str) -> u8 {
        let percent = self.0.get(path).as_u64().expect(CHECKED);
        u8::try_from(percent).expect(CHECKED)
    }

    fn flag(&self, path: &str) -> bool {
        self.0.get(path).as_bool().expect(CHECKED)
    }

    fn names(&self, path: &str) -> Vec<String> {
        let names = self.0.get(path).as_array().expect(CHECKED).iter();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Reads a duration; none for no limit, the one text that is none.
    fn duration_ms(&self, path: &str) -> Option<u64> {
        parse_duration(self.0.get(path).as_str()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Flag, Sources, file, keys::KEYS, layers::dotted, load};

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let config = Config::default();
        assert_eq!(
            config.limits,
            Limits {
                max_iterations: Some(50),
                max_time_ms: Some(8 * 3_600_000),
                iteration_timeout_ms: Some(3_600_000),
                idle_timeout_ms: Some(600_000),
                max_cost_usd: None,
                max_tokens: None,
                calls_per_hour: None,
                phase_timeout_ms: Some(600_000),
            }
        );
        assert_eq!((config.backoff.base_ms, config.backoff.max_ms), (5_000, 300_000));
        assert_eq!(config.session, SessionMode::Fresh);
        assert_eq!(config.completion, Completion::default());
        assert_eq!(config.breaker, BreakerLimits::default());
        assert_eq!((config.goals_when, config.goals_parallel), (GoalsWhen::Claim, true));
        assert_eq!(config.keep.runs, Some(20));
    }

    #[test]
    fn the_example_says_every_default_and_nothing_else() {
        let text = include_str!("../../config.example.json");
        let mut merged = Merged::defaults();
        let mut missing: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
        for leaf in file::leaves(Path::new("config.example.json"), text).unwrap().0 {
            let path = dotted(&leaf.path);
            assert_eq!(merged.get(&path), &leaf.value, "{path}");
            missing.retain(|known| *known != path);
            merged.set(leaf);
        }
        // Its default is empty, and so leaves nothing to list.
        assert_eq!(missing, ["adapters"]);
        assert!(text.contains("\n  \"adapters\": {},\n"));
        assert_eq!(Config::of(&merged, Vec::new()), Config::default());
    }

    #[test]
    fn every_setting_changes_the_configuration() {
        for key in KEYS {
            let other = match key.path {
                "session" => "resume",
                "server" => "http://127.0.0.1:7",
                "permissions" => "allow",
                "goalsWhen" => "both",
                "goalsParallel" => "false",
                "goals" => "tests=true",
                "backoff.jitter" => "0.5",
                "backoff.max"
                | "limits.maxTime"
                | "limits.iterationTimeout"
                | "limits.idleTimeout"
                | "limits.phaseTimeout"
                | "breaker.cooldown"
                | "keep.age" => "9m",
                "backoff.base" => "9s",
                "adapters" => r#"{"codex": {"title": "x"}}"#,
                _ => "7",
            };
            let flags = vec![Flag::new("--flag", key.path, other)];
            let config = load(&Sources {
                flags,
                ..Sources::default()
            })
            .unwrap()
            .config;
            assert_ne!(config, Config::default(), "{} changes nothing", key.path);
        }
    }
}
