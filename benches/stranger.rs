//! A night on a stranger's repository: real agents and scripted ones, a user who interferes, kills, a batch, and pull
//! requests. What ralph says of it at the end is compared with a ledger that the agents and the user kept.
//!
//! The tasks are commits of the repository: an agent's work on one is its patch, so the tree at the end is known.

#![allow(clippy::print_stdout)] // a bench prints

#[path = "stranger/batches.rs"]
mod batches;
#[allow(dead_code)]
#[path = "../tests/forge/stand_in.rs"]
mod forge;
#[allow(dead_code, unused_imports, unused_macros)]
#[path = "../tests/harness/mod.rs"]
mod harness;
#[path = "stranger/ledger.rs"]
mod ledger;
#[path = "stranger/one_plan.rs"]
mod one_plan;
#[allow(dead_code, unused_imports)]
#[path = "../tests/stand_in/mod.rs"]
mod stand_in;
#[path = "stranger/tasks.rs"]
mod tasks;
#[path = "stranger/world.rs"]
mod world;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Variable for the repository.
const REPOSITORY: &str = "RALPH_STRANGER";
/// Variable for a part of the name of the parts to try.
const ONLY: &str = "RALPH_STRANGER_ONLY";

/// Part of a night; `None` if something for it is missing.
type Part = fn(&Path) -> Option<ledger::Comparison>;

fn main() -> ExitCode {
    let Some(path) = env::var_os(REPOSITORY).map(PathBuf::from) else {
        println!("\na stranger's night: {REPOSITORY}=PATH names a repository with some history");
        return ExitCode::SUCCESS;
    };
    let only = env::var(ONLY).unwrap_or_default();
    let parts: [(&str, Part); 3] = [
        ("one plan", one_plan::night),
        ("many plans", batches::many_plans),
        ("pull requests", batches::pull_requests),
    ];
    let mut fails = false;
    for (name, night) in parts.into_iter().filter(|(name, _)| name.contains(&only)) {
        println!("\na stranger's night, {name}: {}", path.display());
        let rows = night(&path);
        if rows.is_none() {
            println!("  not tried: a clone, an agent, `gh`, or enough commits whose patches apply are missing");
        }
        // A repository is named for a comparison.
        fails |= rows.is_none_or(|rows| rows.differs);
    }
    ExitCode::from(u8::from(fails))
}
