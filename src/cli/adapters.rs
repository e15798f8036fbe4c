//! `ralph adapters`: lists the agents, and whether they can be used.

use std::{fmt::Write as _, path::Path};

use ralph_agent::{
    AgentError,
    catalog::Catalog,
    check::{CheckReport, Comparison, InstalledVersion},
    check_turn::TurnCheckResult,
    login::Login,
};
use ralph_state::control::UserOnlyAction;
use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{print, print_coloured, warn},
    one_line,
};
use ralph_words::short_duration;

use crate::{
    app::{self, ProjectPlace},
    config::{self, Loaded},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    adapters_add,
    args::Args,
    choice,
    listing_args::AdaptersCommand,
    run::sources,
    table::{TableCell, table},
    trust::{self, refuse_agent},
};

/// The built-in demo agent: always present, does no work of the user's.
const DEMO: &str = "demo";
/// ralph's native agent: always present, usable once it has a key or the address of a model.
pub(super) const NATIVE: &str = "native";

/// Whether an adapter can do real work here: the demo never can, the native agent only with a login.
pub(super) fn is_of_use(id: &str, check: &Result<CheckReport, AgentError>) -> bool {
    let lacks_login = || {
        check
            .as_ref()
            .is_ok_and(|report| matches!(report.login, Login::NotFound { .. }))
    };
    id != DEMO && !(id == NATIVE && lacks_login())
}

pub(super) fn run(args: &Args, command: Option<&AdaptersCommand>, supervisor: &Supervisor) -> Result<u8, Failure> {
    use AdaptersCommand::{Add, Check, Show, Use};

    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let catalog = app::catalog(&place, &loaded.config);
    let probing = app::probing(&place, &loaded.config, &catalog, supervisor);
    match command {
        None => {
            list(&catalog, &place.project);
            catalog.notices().iter().for_each(|notice| warn(notice));
        }
        Some(Show { id }) => print(&catalog.show(id)?),
        Some(Add { entry, yes }) => {
            refuse_agent(&place.paths, UserOnlyAction::Trust)?;
            adapters_add::add(&place, &catalog, entry, *yes)?;
        }
        Some(Use { id }) => {
            adapters_add::refuse_without_file(id)?;
            catalog.manifest(id)?;
            refuse_agent(&place.paths, UserOnlyAction::Trust)?;
            choice::remember(&place, id)?;
        }
        Some(Check { id: Some(id) }) => {
            let report = catalog.check(id, &place.project, probing)?;
            print(&in_words(&report));
            let lacks_tls = app::native_lacks_tls(&loaded.config).filter(|_| id == NATIVE);
            if let Some(why) = &lacks_tls {
                print(&format!("  {:<9}{why}\n", "model"));
            }
            let works = match report.path.filter(|_| lacks_tls.is_none()) {
                Some(program) => turn_works(&place, &loaded, supervisor, id, &program)?,
                None => false,
            };
            if !works {
                return Ok(FailureKind::AgentUnavailable.exit_code());
            }
        }
        Some(Check { id: None }) => {
            let checked = catalog.check_all(&place.project, probing);
            for (id, check) in &checked {
                match check {
                    Ok(report) => print(&in_words(report)),
                    Err(error) => print(&format!("{id}: {}\n", ralph_text::with_causes(error))),
                }
            }
            let is_there = |(id, check): &(&str, Result<CheckReport, _>)| {
                is_of_use(id, check) && check.as_ref().is_ok_and(|report| report.path.is_some())
            };
            if !checked.iter().any(is_there) {
                return Ok(FailureKind::AgentUnavailable.exit_code());
            }
        }
    }
    Ok(0)
}

/// Runs a turn of the agent and prints what came of it. The demo has no model, and no turn.
fn turn_works(
    place: &ProjectPlace,
    loaded: &Loaded,
    supervisor: &Supervisor,
    id: &str,
    program: &Path,
) -> Result<bool, Failure> {
    if id == DEMO {
        return Ok(true);
    }
    let (works, words) = match app::turn_of_agent(place, loaded, supervisor, id, program)? {
        TurnCheckResult::Works { after } => (true, format!("works: answered after {:.1} s", after.as_secs_f64())),
        TurnCheckResult::Fails { why } => (false, format!("does not work: {}", one_line(&why))),
    };
    print(&format!("  {:<9}{words}\n", "turn"));
    Ok(works)
}

fn list(catalog: &Catalog, project: &Path) {
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let rows: Vec<_> = catalog
        .list(project)
        .into_iter()
        .map(|adapter| {
            let state = match (&adapter.broken, &adapter.installed) {
                (Some(why), _) => TableCell::coloured(format!("broken: {why}"), "31"),
                (None, Some(path)) => TableCell::coloured(path.display().to_string(), "32"),
                (None, None) => TableCell::coloured("not installed", "2"),
            };
            [
                TableCell::coloured(&adapter.id, "1"),
                TableCell::new(&adapter.title),
                TableCell::new(adapter.channels),
                TableCell::new(&adapter.asks_before),
                TableCell::coloured(adapter.origin.to_string(), "2"),
                state,
            ]
        })
        .collect();
    let titles = ["adapter", "agent", "channels", "asks before", "from", "program"];
    print_coloured(&table(titles, &rows, style));
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
        InstalledVersion::NotAsked => {}
        InstalledVersion::Said(version) => line("version", version),
        InstalledVersion::Failed { why } => line("version", &format!("unknown: {why}")),
        InstalledVersion::TimedOut { after } => {
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
