//! `ralph adapters add`: makes an adapter of an entry of the compiled-in ACP registry, after its user has seen what it would
//! install and run.
//!
//! The command writes an adapter; it installs and runs nothing. Only a user can want it: an agent is refused, and nothing of
//! the project takes part in the decision.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use ralph_agent::{
    catalog::{Catalog, built_in, manifest_of_text},
    manifest::Manifest,
    registry::{self, AgentLaunch, LaunchSource, Registry, RegistryEntry},
};
use ralph_system::{files, proc::is_below_a_run};
use ralph_text::{
    console::{self, complain, print},
    escape_name,
};

use crate::{
    app::{self, ProjectPlace},
    error::{Failure, FailureKind},
};

use super::confirm::is_confirmed;

/// Shows what the agent would install and run, asks, and writes its adapter.
///
/// # Errors
/// A [`Failure`] if there is no such entry, if nothing can run it, or if there is no user who agrees.
pub(super) fn add(place: &ProjectPlace, catalog: &Catalog, wanted: &str, yes: bool) -> Result<(), Failure> {
    refuse_file(wanted)?;
    let registry = Registry::compiled_in();
    let id = wanted.strip_prefix(registry::PREFIX).unwrap_or(wanted);
    let entry = registry.entry(id).map_err(|error| {
        let hints = error.hints();
        Failure::of(FailureKind::Usage, &error).hints(hints)
    })?;
    refuse_taken(catalog, &entry.id)?;
    let launch = registry::launch(entry, |name| which::which(name).ok()).map_err(|error| {
        let hints = error.hints.clone();
        Failure::of(FailureKind::AgentUnavailable, &error).hints(hints)
    })?;
    refuse_in_project(&place.project, &launch)?;
    let known = catalog.knows_agent(entry);
    let launch = launch.with_variables_of(known.as_ref());
    let text = registry::adapter_text(entry, &launch, &registry.described(), known.as_ref());
    let manifest = manifest_of_text(&entry.id, &text)?;
    let directory = app::users_adapters().ok_or_else(|| {
        let why = "there is no home directory in which an adapter could be written";
        Failure::new(FailureKind::Configuration, why)
    })?;
    let file = directory.join(format!("{}.toml", entry.id));
    let shown = in_words((entry, &registry), &launch, &manifest, &file);
    if yes {
        print(&shown);
    } else if !console::is_answered() || is_below_a_run() {
        complain(&shown);
        let why = "not a terminal, so adding this agent cannot be confirmed";
        return Err(Failure::new(FailureKind::Usage, why).hint("`--yes` adds it without confirmation"));
    } else {
        complain(&shown);
        if !is_confirmed("Add it?")? {
            return Err(Failure::new(FailureKind::Failed, "not added: nothing was written"));
        }
    }
    files::create_new(&file, &text)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", file.display())))?;
    print(&format!(
        "added: {}; `ralph --adapter {}` runs it\n",
        file.display(),
        entry.id
    ));
    Ok(())
}

/// Refuses a file with an entry, which ralph took once.
fn refuse_file(wanted: &str) -> Result<(), Failure> {
    match wanted.contains('/') || wanted.ends_with(".json") {
        false => Ok(()),
        true => Err(Failure::new(FailureKind::Usage, "`ralph adapters add FILE.json` was removed").hint(
            "write an adapter, ~/.config/ralph/adapters/ID.toml: docs/guide/adapters.md has one for an agent that speaks ACP",
        )),
    }
}

/// Refuses to make an adapter the default that has no file, and is looked up in the registry of this ralph alone.
///
/// # Errors
/// A [`Failure`] that says how to add it.
pub(super) fn refuse_without_file(id: &str) -> Result<(), Failure> {
    let Some(entry) = id.strip_prefix(registry::PREFIX) else {
        return Ok(());
    };
    let why = format!(
        "`{}` is an entry of the ACP registry and no adapter yet",
        escape_name(id)
    );
    Err(Failure::new(FailureKind::Usage, why)
        .hint(format!("add it first: `ralph adapters add {}`", escape_name(entry))))
}

/// Refuses an id that an adapter has.
fn refuse_taken(catalog: &Catalog, id: &str) -> Result<(), Failure> {
    if built_in().any(|known| known == id) {
        let failure = Failure::new(FailureKind::Usage, format!("ralph comes with an adapter `{id}`"));
        return Err(failure.hint(format!("`ralph --adapter {id}` runs it")).hint(format!(
            "`ralph --adapter {}{id}` runs the agent of the registry",
            registry::PREFIX
        )));
    }
    if catalog.ids().any(|known| known == id) {
        return Err(
            Failure::new(FailureKind::Usage, format!("there is an adapter `{id}` already")).hint(format!(
                "`ralph adapters show {id}` shows it, and the file that would have to go first"
            )),
        );
    }
    Ok(())
}

/// Refuses a program in the project: it changes with the project, and agents write there.
fn refuse_in_project(project: &Path, launch: &AgentLaunch) -> Result<(), Failure> {
    let LaunchSource::Installed(path) = &launch.source else {
        return Ok(());
    };
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_inside = |path: &PathBuf| path.starts_with(project) || canonical(path).starts_with(canonical(project));
    match is_inside(path) {
        false => Ok(()),
        true => {
            let why = format!(
                "`{}` is {}, which is inside of this project",
                launch.program,
                path.display()
            );
            Err(Failure::new(FailureKind::Usage, why).hint("install it outside, or take the directory from PATH"))
        }
    }
}

fn in_words(
    (entry, registry): (&RegistryEntry, &Registry),
    launch: &AgentLaunch,
    manifest: &Manifest,
    file: &Path,
) -> String {
    let mut text = format!("{}: {} {}\n", entry.id, entry.name, entry.version);
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<10}{value}").expect("a string takes every write");
    };
    line("from", &registry.described());
    line("licence", entry.license.as_deref().unwrap_or("not named"));
    if let Some(repository) = &entry.repository {
        line("sources", repository);
    }
    match &launch.source {
        LaunchSource::Installed(path) => line("installs", &format!("nothing: {} is there", path.display())),
        LaunchSource::Npm(package) => line("installs", &format!("{package} from npm, at its first start, by npx")),
        LaunchSource::Python(package) => line("installs", &format!("{package} from PyPI, at its first start, by uvx")),
    }
    line("runs", &launch.command_line());
    line(
        "writes",
        &format!("in the sandbox, besides the project: {}", manifest.state.join(", ")),
    );
    if manifest.credentials == ralph_agent::login::CredentialSources::default() {
        line(
            "keys",
            "gets the keys of all agents from the environment, since it names none",
        );
    }
    line("adapter", &file.display().to_string());
    text
}
