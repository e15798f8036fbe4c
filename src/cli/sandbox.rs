//! `ralph sandbox`: lists, explains and tries what agents and goals may do on this machine.

use std::{
    collections::HashSet,
    env,
    ffi::OsString,
    fmt::Write as _,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process,
};

use ralph_agent::{catalog::Catalog, manifest::Manifest};
use ralph_state::control::UserOnlyAction;
use ralph_system::{
    proc::{ConfinementLevel, Supervisor},
    real_paths::RealPaths,
    sandbox::{FilePolicy, ListedPath, ListingReason, PathAccess},
};
use ralph_text::{
    console::{complain, print, print_json},
    pretty_json, shell_quoted,
};
use serde_json::json;

use crate::{
    app::{Confiner, ProjectPlace as AppPlace, catalog, withheld_from_agent, withheld_from_goals},
    config::{self, Config, SandboxMode},
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, SandboxCommand},
    run::sources,
    sandbox_allow, trust,
};

pub(super) fn run(
    args: &Args,
    json: bool,
    command: Option<&SandboxCommand>,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let catalog = catalog(&place, &loaded.config);
    // Built even if the sandbox is off, to show what it would do.
    let confiner = Confiner::new(&place, &loaded.config, &catalog, supervisor);
    let configured = mode(loaded.config.sandbox.mode);
    let manifest = match &loaded.config.adapter {
        Some(id) => Some(catalog.manifest(id)?),
        None => None,
    };
    let policy = confiner.policy(manifest.as_ref());
    let keys = KeyVariables::collect(&catalog, &loaded.config, manifest.as_ref());
    match command {
        None if json => {
            let places = |places: &[ListedPath]| {
                let places = places.iter();
                let places = places.map(|place| json!({ "path": place.path, "why": place.why.in_words() }));
                places.collect::<Vec<_>>()
            };
            let shown = json!({
                "mode": configured,
                "landlock": version(confiner.level()),
                "hosts": confiner.is_strict().then(|| hosts(&confiner, manifest.as_ref())),
                "write": places(&policy.write),
                "hidden": places(&policy.hidden),
                "keys": { "passed": keys.passed, "withheld": keys.withheld },
            });
            print_json(&pretty_json(&shown));
            Ok(0)
        }
        None => {
            let shown = shown(configured, &confiner, &policy, manifest.as_ref());
            print(&format!("{shown}{}", keys.in_words()));
            Ok(0)
        }
        Some(SandboxCommand::Explain { path }) => {
            print(&explained(&policy, &real_path(path)?));
            Ok(0)
        }
        Some(SandboxCommand::Allow { path, yes }) => {
            trust::refuse_agent(&place.paths, UserOnlyAction::Trust)?;
            let file = sources(args, &place).user;
            sandbox_allow::run(&policy, &real_path(path)?, file.as_deref(), *yes)
        }
        Some(SandboxCommand::Run { command }) => tried(confiner, &place, manifest.as_ref(), &keys, command),
    }
}

/// The key variables that are set, and whether they are passed on.
struct KeyVariables {
    passed: Vec<String>,
    withheld: Vec<String>,
}

impl KeyVariables {
    /// The keys for the agent of `manifest`, or for goals without one.
    fn collect(catalog: &Catalog, config: &Config, manifest: Option<&Manifest>) -> Self {
        let withheld = match manifest {
            Some(manifest) => withheld_from_agent(catalog, manifest, config),
            None => withheld_from_goals(catalog, config),
        };
        let set = catalog.keys().into_iter().filter(|name| env::var_os(name).is_some());
        let (withheld, passed) = set.partition(|name| withheld.contains(name));
        Self { passed, withheld }
    }

    fn in_words(&self) -> String {
        let listed = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let (passed, withheld) = (listed(&self.passed), listed(&self.withheld));
        format!(
            "\nkeys that are set: passed on: {passed}; withheld: {withheld} (`keys` in the settings passes on more)\n"
        )
    }
}

fn mode(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::Auto => "auto",
        SandboxMode::On => "on",
        SandboxMode::Strict => "strict",
        SandboxMode::Off => "off",
    }
}

fn hosts(confiner: &Confiner, manifest: Option<&Manifest>) -> Vec<String> {
    confiner.hosts(manifest).iter().map(ToString::to_string).collect()
}

fn version(level: ConfinementLevel) -> Option<i32> {
    match level {
        ConfinementLevel::Landlock { abi } => Some(abi),
        ConfinementLevel::None => None,
    }
}

fn shown(configured: &str, confiner: &Confiner, policy: &FilePolicy, manifest: Option<&Manifest>) -> String {
    let mut text = format!("sandbox: {configured}");
    match confiner.level() {
        ConfinementLevel::Landlock { abi } => write!(text, " (this system has Landlock {abi})"),
        ConfinementLevel::None => write!(text, " (this system has no Landlock: nothing would be confined)"),
    }
    .expect(WRITES);
    let whose = manifest.map_or(
        "a goal (`ralph --adapter NAME sandbox` is for an agent)".to_owned(),
        |manifest| format!("`{}`", manifest.id),
    );
    writeln!(text, "\nfor {whose}").expect(WRITES);
    // An exposed place is listed as such, below.
    let exposed: HashSet<_> = policy.exposed().map(|place| &place.path).collect();
    for (title, places) in [("may be written", &policy.write), ("cannot be read", &policy.hidden)] {
        writeln!(text, "\n{title}:").expect(WRITES);
        let there = places
            .iter()
            .filter(|place| place.path.exists() && !exposed.contains(&place.path));
        let mut rows: Vec<(String, &str)> = there.map(|place| (place.pattern(), place.why.in_words())).collect();
        let mut seen = HashSet::new();
        rows.retain(|(path, _)| seen.insert(path.clone()));
        let width = rows.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
        for (path, why) in rows {
            writeln!(text, "  {path:width$}  {why}").expect(WRITES);
        }
    }
    for place in policy.exposed() {
        writeln!(
            text,
            "\nnot hidden: {}, since it is inside a writable place",
            place.path.display()
        )
        .expect(WRITES);
    }
    text + &match confiner.is_strict() {
        false => "\neverything else may be read and run; the network is open\n".to_owned(),
        true => format!(
            "\neverything else may be read and run; connections only to: {}\n",
            match hosts(confiner, manifest) {
                none if none.is_empty() => "no host".to_owned(),
                hosts => hosts.join(", "),
            }
        ),
    }
}

const WRITES: &str = "a string takes every write";

/// The absolute path without symbolic links.
fn real_path(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::new(FailureKind::Usage, format!("{}: {error}", path.display())))?;
    Ok(RealPaths::default().leads_to(&absolute))
}

fn explained(policy: &FilePolicy, real: &Path) -> String {
    let name = real.display();
    let allow = format!("`ralph sandbox allow {}`", shell_quoted(&name.to_string()));
    match policy.access(real) {
        PathAccess::Write(place) if !place.is_made && !place.path.exists() => format!(
            "{name}: cannot be written: {} is not there, and only what is there when a program starts can be allowed\n\
             to make it: {allow}\n",
            place.path.display()
        ),
        PathAccess::Write(place) => format!("{name}: may be read and written: {}\n", because(place)),
        PathAccess::Hidden(place) if place.why == ListingReason::Sealed => {
            format!("{name}: cannot be read, listed or written: {}\n", because(place))
        }
        PathAccess::Hidden(place) if !place.path.exists() => format!(
            "{name}: is not there; programs that start when {} is there cannot read it: {}\n",
            place.path.display(),
            because(place)
        ),
        PathAccess::Hidden(place) => format!(
            "{name}: cannot be read or written: {}\nto show it: {allow}\n",
            because(place)
        ),
        PathAccess::Read => format!("{name}: may be read and run, not written\nto let it be written: {allow}\n"),
    }
}

pub(super) fn because(place: &ListedPath) -> String {
    match place.why {
        ListingReason::Setting => format!("{}, a setting of yours", place.path.display()),
        why => format!("{}, {}", place.path.display(), why.in_words()),
    }
}

/// Runs the command confined.
fn tried(
    mut confiner: Confiner,
    place: &AppPlace,
    manifest: Option<&Manifest>,
    keys: &KeyVariables,
    command: &[OsString],
) -> Result<u8, Failure> {
    if confiner.level() == ConfinementLevel::None {
        return Err(Failure::new(
            FailureKind::Failed,
            "this system has no Landlock, so nothing can be confined",
        )
        .hint("Linux 5.13 or newer has it, unless it is left out of the kernel or of its `lsm=` list"));
    }
    let [program, args @ ..] = command else {
        return Err(Failure::new(FailureKind::Usage, "there is nothing to run"));
    };
    let fails = |why: String| Failure::new(FailureKind::Failed, format!("{}: {why}", program.display()));
    confiner.enforce(place, |notice| complain(&notice.text))?;
    let confinement = confiner.confinement(manifest)?;
    let name = program.display();
    let mut command = process::Command::new(program);
    command.args(args);
    for name in &keys.withheld {
        command.env_remove(name);
    }
    for (name, value) in &confinement.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // This process decides about the command's connections, so it cannot be replaced by the command.
    let run = Supervisor::start_confined(&confinement, confiner.on_refused(), || command.status());
    let status = run
        .and_then(|status| status)
        .map_err(|error| fails(error.to_string()))?;
    let by_signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(by_signal).unwrap_or(1);
    if code != 0 {
        complain(&format!(
            "{name} ended with {code} in the sandbox; `ralph sandbox explain PATH` shows what it allows for a path, and the setting that allows more"
        ));
    }
    Ok(u8::try_from(code).unwrap_or(1))
}
