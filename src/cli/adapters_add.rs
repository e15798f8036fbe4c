//! `ralph adapters add`: makes an adapter of an entry of the ACP registry, after its user has seen what it would install
//! and run.
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
use ralph_system::{files, proc::is_below_a_run, sandbox::holds_credentials};
use ralph_text::{
    console::{self, complain, print, print_coloured},
    escape_name, with_causes,
};

use crate::{
    app::{self, ProjectPlace},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    confirm::is_confirmed,
    table::{TableCell, table},
};

/// Most bytes of a file with an entry.
const FILE_CAP_BYTES: u64 = 64 << 10;
/// The hint for an entry that cannot be used.
const BY_HAND: &str = "an adapter that you write yourself is not limited by this: see docs/guide/adapters.md";

/// An entry, and what is known about it.
struct AgentOffer {
    entry: RegistryEntry,
    /// The source of the entry, as text.
    origin: String,
    /// Whether the agent is in the copy of the registry, which was read before it was compiled in.
    is_known: bool,
}

/// Shows what the agent would install and run, asks, and writes its adapter.
///
/// # Errors
/// A [`Failure`] if the entry cannot be used, if nothing can run it, or if there is no user who agrees.
pub(super) fn add(place: &ProjectPlace, catalog: &Catalog, wanted: &str, yes: bool) -> Result<(), Failure> {
    let offer = AgentOffer::read(wanted)?;
    refuse_taken(catalog, &offer)?;
    let launch = registry::launch(&offer.entry, |name| which::which(name).ok()).map_err(|error| {
        let hints = error.hints.clone();
        Failure::of(FailureKind::AgentUnavailable, &error).hints(hints)
    })?;
    refuse_in_project(&place.project, &launch)?;
    let known = catalog.knows_agent(&offer.entry).filter(|_| offer.is_known);
    if !offer.is_known {
        refuse_foreign_state(catalog, &offer.entry)?;
    }
    let launch = launch.with_variables_of(known.as_ref());
    let text = registry::adapter_text(&offer.entry, &launch, &offer.origin, known.as_ref());
    let manifest = manifest_of_text(&offer.entry.id, &text)?;
    let directory = app::users_adapters().ok_or_else(|| {
        let why = "there is no home directory in which an adapter could be written";
        Failure::new(FailureKind::Configuration, why)
    })?;
    let file = directory.join(format!("{}.toml", offer.entry.id));
    let shown = in_words(&offer, &launch, &manifest, &file);
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
        offer.entry.id
    ));
    Ok(())
}

/// Prints the agents of the registry, and what each would run here.
pub(super) fn list(catalog: &Catalog) {
    let registry = Registry::compiled_in();
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let row = |entry: &RegistryEntry| {
        let launch = registry::launch(entry, |name| which::which(name).ok());
        let here = match &launch {
            Ok(launch) => TableCell::coloured(launch.command_line(), "32"),
            Err(error) => TableCell::coloured(error.hints.first().map_or("", |hint| hint), "2"),
        };
        let adapter = match catalog.ids().any(|id| id == entry.id) {
            true => &entry.id,
            false => "-",
        };
        [
            TableCell::coloured(&entry.id, "1"),
            TableCell::new(&entry.name),
            TableCell::new(&entry.version),
            TableCell::new(entry.license.as_deref().unwrap_or("-")),
            TableCell::new(adapter),
            here,
        ]
    };
    let rows: Vec<_> = registry.entries().iter().map(row).collect();
    let titles = [
        "agent",
        "name",
        "version",
        "licence",
        "adapter",
        "would run, or what installs it",
    ];
    print_coloured(&table(titles, &rows, style));
    print(&format!(
        "\n{}. `ralph adapters add AGENT` adds one, `--adapter acp:AGENT` runs one that is installed.\n",
        registry.described()
    ));
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

impl AgentOffer {
    /// Reads the entry `wanted`: a name is one of the registry, anything that can only be a path is a file.
    fn read(wanted: &str) -> Result<Self, Failure> {
        if !wanted.contains('/') && !wanted.ends_with(".json") {
            let registry = Registry::compiled_in();
            let id = wanted.strip_prefix(registry::PREFIX).unwrap_or(wanted);
            let entry = registry.entry(id).map_err(|error| {
                let hints = error.hints();
                Failure::of(FailureKind::Usage, &error).hints(hints)
            })?;
            return Ok(Self {
                entry: entry.clone(),
                origin: registry.described(),
                is_known: true,
            });
        }
        let at = |error: &dyn std::error::Error| {
            let why = format!("{}: {}", escape_name(wanted), with_causes(error));
            Failure::new(FailureKind::Configuration, why)
        };
        let text = files::read_text(Path::new(wanted), FILE_CAP_BYTES)
            .map_err(|error| at(&error).hint("`ralph adapters list --registry` lists the agents that need no file"))?;
        let entry = RegistryEntry::from_json(&text).map_err(|error| at(&error).hint(BY_HAND))?;
        Ok(Self {
            is_known: Registry::compiled_in().has_agent_of(&entry),
            entry,
            origin: format!("the file {wanted}"),
        })
    }
}

/// Refuses an id that an adapter has.
fn refuse_taken(catalog: &Catalog, offer: &AgentOffer) -> Result<(), Failure> {
    let id = &offer.entry.id;
    if built_in().any(|known| known == id) {
        let failure = Failure::new(FailureKind::Usage, format!("ralph comes with an adapter `{id}`"));
        let failure = failure.hint(format!("`ralph --adapter {id}` runs it"));
        return Err(match offer.is_known {
            true => failure.hint(format!(
                "`ralph --adapter {}{id}` runs the agent of the registry",
                registry::PREFIX
            )),
            false => failure.hint("give the entry another `id`"),
        });
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

/// Refuses an entry of a file whose name would make directories of other programs the agent's own.
fn refuse_foreign_state(catalog: &Catalog, entry: &RegistryEntry) -> Result<(), Failure> {
    let refused = |why: String| {
        let why = format!("`{}` would write what is not its own: {why}", entry.id);
        Err(Failure::new(FailureKind::Configuration, why).hint(BY_HAND))
    };
    if let Some(name) = registry::shared_name(entry) {
        return refused(format!("directories named `{name}` are used by other programs"));
    }
    for place in registry::state_directories(entry, None) {
        if holds_credentials(&place) {
            return refused(format!("keys are in {place}"));
        }
        let owner = catalog.ids().find(|id| {
            let states = catalog.manifest(id).map(|manifest| manifest.state).unwrap_or_default();
            states.iter().any(|state| Path::new(state).starts_with(&place))
        });
        if let Some(owner) = owner {
            return refused(format!("the agent of the adapter `{owner}` keeps its state in {place}"));
        }
    }
    Ok(())
}

fn in_words(offer: &AgentOffer, launch: &AgentLaunch, manifest: &Manifest, file: &Path) -> String {
    let entry = &offer.entry;
    let mut text = format!("{}: {} {}\n", entry.id, entry.name, entry.version);
    let mut line = |name: &str, value: &str| {
        writeln!(text, "  {name:<10}{value}").expect("a string takes every write");
    };
    line("from", &escape_name(&offer.origin));
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
