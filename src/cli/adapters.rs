//! `ralph adapters`: which agents there are and whether they can be used.

use std::{fmt::Write as _, path::Path};

use crate::{
    agent::{
        catalog::Catalog,
        check::{CheckReport, Comparison, Version},
        login::Login,
    },
    app, config,
    console::{print, warn},
    error::{Failure, FailureKind},
    proc::Supervisor,
    words::short_duration,
};

use super::{
    args::{AdaptersCommand, Args},
    run::sources,
    trust,
};

/// The agent inside ralph, which is always there and does no work of the user's.
pub(super) const DEMO: &str = "demo";

pub(super) fn run(args: &Args, command: &AdaptersCommand, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let catalog = app::catalog(&place, &loaded.config);
    match command {
        AdaptersCommand::List => {
            list(&catalog, &place.project);
            catalog.notices().iter().for_each(|notice| warn(notice));
        }
        AdaptersCommand::Show { id } => print(&catalog.show(id)?),
        AdaptersCommand::Check { id: Some(id) } => {
            let report = catalog.check(id, &place.project, supervisor)?;
            print(&in_words(&report));
            if report.path.is_none() {
                return Ok(FailureKind::AgentUnavailable.exit_code());
            }
        }
        AdaptersCommand::Check { id: None } => {
            let checked = catalog.check_all(&place.project, supervisor);
            for (id, check) in &checked {
                match check {
                    Ok(report) => print(&in_words(report)),
                    Err(error) => print(&format!("{id}: {}\n", crate::text::with_causes(error))),
                }
            }
            let is_there = |(id, check): &(&str, Result<CheckReport, _>)| {
                *id != DEMO && check.as_ref().is_ok_and(|report| report.path.is_some())
            };
            if !checked.iter().any(is_there) {
                return Ok(FailureKind::AgentUnavailable.exit_code());
            }
        }
    }
    Ok(0)
}

fn list(catalog: &Catalog, project: &Path) {
    let mut text = String::new();
    let listed = catalog.list(project);
    // Of their own adapters, people choose the names.
    let ids = listed
        .iter()
        .map(|adapter| adapter.id.chars().count())
        .max()
        .unwrap_or(0);
    let titles = listed
        .iter()
        .map(|adapter| adapter.title.chars().count())
        .max()
        .unwrap_or(0);
    let channels = listed.iter().map(|adapter| adapter.channels.len()).max().unwrap_or(0);
    let asks = listed.iter().map(|adapter| adapter.asks.len()).max().unwrap_or(0);
    for adapter in listed {
        let state = match (&adapter.broken, &adapter.installed) {
            (Some(why), _) => format!("broken: {why}"),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => "not installed".to_owned(),
        };
        writeln!(
            text,
            "{:<ids$}  {:<titles$}  {:<channels$}  {:<asks$}  {state}  ({})",
            adapter.id, adapter.title, adapter.channels, adapter.asks, adapter.origin
        )
        .expect("a string takes every write");
    }
    print(&text);
}

fn in_words(report: &CheckReport) -> String {
    let mut text = format!("{}: {}\n", report.id, report.title);
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<9}{value}").expect("a string takes every write");
    };
    match &report.path {
        Some(path) => line("program", &path.display().to_string()),
        None => line("program", &format!("`{}` is not on PATH", report.program)),
    }
    match &report.version {
        Version::NotAsked => {}
        Version::Said(version) => line("version", version),
        Version::Failed { why } => line("version", &format!("unknown: {why}")),
        Version::TimedOut { after } => {
            let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            line(
                "version",
                &format!("unknown: no answer within {}", short_duration(after_ms)),
            );
        }
    }
    if let Some(verified) = &report.verified {
        match report.comparison() {
            Comparison::Same => line("verified", "with this version"),
            Comparison::Other => line("verified", &format!("with version {verified}; others should work")),
            Comparison::Unknown => line("verified", &format!("with version {verified}")),
        }
    }
    match (&report.path, &report.login) {
        (None, _) | (Some(_), Login::NotAsked) => {}
        (Some(_), Login::Variable(name)) => line("login", &format!("{name} is set")),
        (Some(_), Login::File(path)) => line("login", &format!("{} is there", path.display())),
        (Some(_), Login::NotFound { hint: None }) => line("login", "none found"),
        (Some(_), Login::NotFound { hint: Some(hint) }) => line("login", &format!("none found: {hint}")),
    }
    if let (None, Some(install)) = (&report.path, &report.install) {
        line("install", install);
    }
    text
}
