//! `ralph sandbox`: what agents and goals may do on this machine, listed, explained and tried.

use std::{
    ffi::OsString,
    fmt::Write as _,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process,
};

use serde_json::json;

use crate::{
    app::{Confiner, Disk, catalog, confinement, make_missing},
    config::{self, SandboxMode},
    console::{print, print_json},
    error::{Failure, FailureKind},
    permissions::Paths,
    proc::{ConfinementLevel, Supervisor},
    sandbox::{Access, Place, Policy, Why},
    words::place_in_words,
};

use super::{
    args::{Args, SandboxCommand},
    run::sources,
    trust,
};

pub(super) fn run(args: &Args, command: &SandboxCommand, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let catalog = catalog(&place, &loaded.config);
    // As if it were on: what it would be is what is asked.
    let confiner = Confiner::new(&place, &loaded.config, &catalog, supervisor);
    let configured = mode(loaded.config.sandbox.mode);
    let manifest = match &loaded.config.adapter {
        Some(id) => Some(catalog.manifest(id)?),
        None => None,
    };
    let policy = confiner.policy(manifest.as_ref());
    match command {
        SandboxCommand::Show { json: true } => {
            let places = |places: &[Place]| {
                let places = places.iter();
                let places = places.map(|place| json!({ "path": place.path, "why": place_in_words(place.why) }));
                places.collect::<Vec<_>>()
            };
            let shown = json!({
                "mode": configured,
                "landlock": version(confiner.level()),
                "write": places(&policy.write),
                "hidden": places(&policy.hidden),
            });
            print_json(
                &(serde_json::to_string_pretty(&shown).expect("a JSON value has no failing serialisers") + "\n"),
            );
            Ok(0)
        }
        SandboxCommand::Show { json: false } => {
            print(&shown(configured, &confiner, &policy, loaded.config.adapter.as_deref()));
            Ok(0)
        }
        SandboxCommand::Explain { path } => {
            print(&explained(&policy, &Disk::of(&place), path)?);
            Ok(0)
        }
        SandboxCommand::Run { command } => tried(&confiner, &policy, command),
    }
}

fn mode(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::On => "on",
        SandboxMode::Off => "off",
    }
}

fn version(level: ConfinementLevel) -> Option<i32> {
    match level {
        ConfinementLevel::Landlock { abi } => Some(abi),
        ConfinementLevel::None => None,
    }
}

fn shown(configured: &str, confiner: &Confiner, policy: &Policy, adapter: Option<&str>) -> String {
    let mut text = format!("sandbox: {configured}");
    match confiner.level() {
        ConfinementLevel::Landlock { abi } => write!(text, " (this system has Landlock {abi})"),
        ConfinementLevel::None => write!(text, " (this system has no Landlock: nothing would be confined)"),
    }
    .expect(WRITES);
    let whose = adapter.map_or(
        "a goal (`ralph --adapter NAME sandbox show` is for an agent)".to_owned(),
        |id| format!("`{id}`"),
    );
    writeln!(text, "\nfor {whose}").expect(WRITES);
    for (title, places) in [("may be written", &policy.write), ("cannot be read", &policy.hidden)] {
        writeln!(text, "\n{title}:").expect(WRITES);
        let there = places.iter().filter(|place| place.path.exists());
        let rows: Vec<(String, &str)> = there
            .map(|place| (place.path.display().to_string(), place_in_words(place.why)))
            .collect();
        let width = rows.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
        for (path, why) in rows {
            writeln!(text, "  {path:width$}  {why}").expect(WRITES);
        }
    }
    for place in policy.exposed() {
        writeln!(
            text,
            "\nnot hidden: {}, since it lies in a place that may be written",
            place.path.display()
        )
        .expect(WRITES);
    }
    text + "\neverything else may be read and run; the network is open\n"
}

const WRITES: &str = "a string takes every write";

fn explained(policy: &Policy, disk: &Disk, path: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Failure::new(FailureKind::Usage, format!("{}: {error}", path.display())))?;
    let text = absolute.to_str();
    let real = text
        .and_then(|text| disk.canonical(text))
        .map_or(absolute, PathBuf::from);
    let name = real.display();
    Ok(match policy.access(&real) {
        Access::Write(place) => format!("{name}: may be read and written: {}\n", because(place)),
        Access::Hidden(place) => format!(
            "{name}: cannot be read or written: {}\nto show it: \"sandbox\": {{ \"show\": [\"{}\"] }}\n",
            because(place),
            place.path.display()
        ),
        Access::Read => format!(
            "{name}: may be read and run, not written\nto let it be written: \"sandbox\": {{ \"write\": [\"{name}\"] }}\n"
        ),
    })
}

fn because(place: &Place) -> String {
    match place.why {
        Why::Setting => format!("{}, a setting of yours", place.path.display()),
        why => format!("{}, {}", place.path.display(), place_in_words(why)),
    }
}

/// Becomes the command, confined.
fn tried(confiner: &Confiner, policy: &Policy, command: &[OsString]) -> Result<u8, Failure> {
    if confiner.level() == ConfinementLevel::None {
        return Err(Failure::new(
            FailureKind::Failed,
            "this system has no Landlock, so that nothing can be confined",
        )
        .hint("Linux 5.13 or newer has it, unless it is left out of the kernel or of its `lsm=` list"));
    }
    let [program, args @ ..] = command else {
        return Err(Failure::new(FailureKind::Usage, "there is nothing to run"));
    };
    let fails = |why: String| Failure::new(FailureKind::Failed, format!("{}: {why}", program.display()));
    make_missing(policy);
    Supervisor::confine_this_thread(&confinement(policy)).map_err(|error| fails(error.to_string()))?;
    let error = process::Command::new(program).args(args).exec();
    Err(fails(error.to_string()))
}
