//! The settings of a batch: those of each run, and the limits of all plans together.

use std::path::{Path, PathBuf};

use ralph_plan::batch::{Batch, BatchLimits, Resumption};
use ralph_system::proc::Supervisor;

use super::super::{args::Args, run::sources};
use crate::{
    app::{self, ProjectPlace},
    config::{self, Config, Flag},
    error::{Failure, FailureKind},
};

/// Refuses `--plan`, which names the one plan of a run. `instead` is the command to type.
pub(super) fn refuse_plan<'f>(mut given: impl Iterator<Item = &'f Flag>, instead: &str) -> Result<(), Failure> {
    match given.any(|flag| flag.key == "plan") {
        false => Ok(()),
        true => Err(
            Failure::new(FailureKind::Usage, "`--plan` names one plan, and a batch has several")
                .hint(format!("leave it out: `{instead}`")),
        ),
    }
}

/// Returns the arguments of every run: a name and a value for each setting.
pub(super) fn arguments_of<'f>(given: impl Iterator<Item = &'f Flag>, config: Option<&Path>) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for flag in given {
        let value = flag.value.as_str();
        let value = value.map_or_else(|| flag.value.to_string(), str::to_owned);
        arguments.extend([flag.name.clone(), value]);
    }
    if let Some(config) = config {
        arguments.extend([CONFIG.to_owned(), config.to_string_lossy().into_owned()]);
    }
    arguments
}

/// Parses the result of [`arguments_of`].
pub(super) fn settings_of(arguments: &[String]) -> (Vec<Flag>, Option<PathBuf>) {
    let known = config::flags();
    let (mut given, mut config) = (Vec::new(), None);
    for argument in arguments.chunks_exact(2) {
        let (name, value) = (argument[0].as_str(), argument[1].as_str());
        if name == CONFIG {
            config = Some(PathBuf::from(value));
        } else if let Some(flag) = known.iter().find(|flag| flag.declared.name == name) {
            given.push(Flag::new(name, &flag.key, value));
        }
    }
    (given, config)
}

/// The option that names an additional configuration file.
pub(super) const CONFIG: &str = "--config";

/// Settings of which only one may be given.
pub(super) const PROMPTS: [&str; 2] = ["prompt", "promptFile"];

/// Limits that, typed after `many`, apply to all plans together.
pub(super) const SHARED: [&str; 3] = ["limits.maxCostUsd", "limits.maxTokens", "limits.callsPerHour"];

pub(super) fn is_shared(flag: &Flag) -> bool {
    SHARED.contains(&flag.key.as_str())
}

/// Returns the limits `before`, replaced by those that are given. `config` has their values.
pub(super) fn limits<'f>(given: impl Iterator<Item = &'f Flag>, config: &Config, before: BatchLimits) -> BatchLimits {
    let mut limits = before;
    for flag in given {
        match flag.name.as_str() {
            "--max-cost-usd" => limits.max_cost_usd = config.limits.max_cost_usd,
            "--max-tokens" => limits.max_tokens = config.limits.max_tokens,
            "--calls-per-hour" => limits.calls_per_hour = config.limits.calls_per_hour,
            _ => {}
        }
    }
    limits
}

/// Returns the settings and limits that `typed` changes for a resumed batch, and the resulting configuration.
pub(super) fn changes<'f>(
    args: &Args,
    place: &ProjectPlace,
    batch: &Batch,
    typed: impl Iterator<Item = &'f Flag>,
    supervisor: &Supervisor,
) -> Result<(Resumption, Config), Failure> {
    let (shared, own): (Vec<Flag>, Vec<Flag>) = typed.cloned().partition(is_shared);
    let (mut given, known_config) = settings_of(&batch.arguments);
    let is_same = |known: &Flag, flag: &Flag| {
        let are_prompts = PROMPTS.contains(&known.key.as_str()) && PROMPTS.contains(&flag.key.as_str());
        known.key == flag.key || are_prompts
    };
    given.retain(|known| !own.iter().any(|flag| is_same(known, flag)));
    given.extend(own.iter().cloned());
    let mut sources = sources(args, place);
    let has_other_config = sources.extra.is_some();
    sources.extra = sources.extra.or(known_config);
    sources.flags = [&given[..], &shared].concat();
    let config = config::load(&sources)?.config;
    if !(own.is_empty() && shared.is_empty() && !has_other_config) {
        app::many::check_limits_hold(place, &config, supervisor)?;
    }
    let is_changed = !own.is_empty() || has_other_config;
    let changes = Resumption {
        limits: (!shared.is_empty()).then(|| limits(shared.iter(), &config, batch.limits)),
        arguments: is_changed.then(|| arguments_of(given.iter(), sources.extra.as_deref())),
        ..Resumption::default()
    };
    Ok((changes, config))
}
