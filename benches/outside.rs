//! The bench of real work: commits of other people's projects, made by an agent and judged by ralph.
//!
//! Each commit is an attempt, in a clone of its project at the commit's parent. `ralph init` finds the goals. The agent makes the
//! commit's changes and claims to be done. The goals pass before and after, so each refusal is wrong, and so is each question for
//! which the manifest has no reason.

#[path = "outside/attempt.rs"]
mod attempt;
#[path = "outside/cheats.rs"]
mod cheats;
#[path = "outside/counts.rs"]
mod counts;
#[path = "outside/manifest.rs"]
mod manifest;
mod support;

use std::{env, path::PathBuf};

use attempt::Place;
use cheats::WAYS;
use counts::Counts;
use manifest::{Commit, Manifest};
use support::report::{self, line, passing};

/// The variable with the directory of the clones.
const CLONES: &str = "RALPH_OUTSIDE";
/// The variable with a part of the names to try, such as `semver` or `semver d913bcd`.
const FILTER: &str = "RALPH_OUTSIDE_ONLY";
/// The variable that limits the commits of each project to a number of them.
const EACH: &str = "RALPH_OUTSIDE_EACH";
/// The variable that limits the attempts to `honest` work or to `cheats`.
const ROWS: &str = "RALPH_OUTSIDE_ROWS";

fn main() {
    let Some(clones) = env::var_os(CLONES).map(PathBuf::from) else {
        passing(&format!(
            "outside: set {CLONES} to a directory that `benches/outside/fetch` has filled"
        ));
        return;
    };
    let filter = env::var(FILTER).unwrap_or_default();
    let rows = env::var(ROWS).unwrap_or_default();
    let each: Option<usize> = env::var(EACH)
        .ok()
        .map(|each| each.parse().expect("a number of commits"));
    let attempts = match &*rows {
        "honest" => "honest work alone, ",
        "cheats" => "cheats alone, ",
        _ => "",
    };
    let sample = each.map(|each| format!("at most {each} commits of each, "));
    line(&format!(
        "\noutside (commits of other people's projects as the work of an agent; {}{attempts}{})",
        sample.unwrap_or_default(),
        jiff::Zoned::now().date()
    ));
    let (mut all, mut exceptions) = (Counts::default(), Vec::new());
    for project in &Manifest::read().project {
        let name = |commit: &Commit| format!("{} {}", project.name(), commit.id);
        let wanted: Vec<Commit> = project
            .commits()
            .filter(|commit| name(commit).contains(&filter))
            .take(each.unwrap_or(usize::MAX))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let place = match Place::new(project, &clones) {
            Ok(place) => place,
            Err(error) => {
                line(&format!("  {}: {error}", project.name()));
                continue;
            }
        };
        let mut counts = Counts::default();
        for commit in &wanted {
            let row = |text: &str| format!("  {:<28} {:<14} {text}", name(commit), commit.kind);
            if rows != "cheats" {
                let result = place.attempt(commit);
                passing(&row(&counts.add(commit, result)));
            }
            for way in WAYS.iter().filter(|_| rows != "honest") {
                let Some(text) = counts.add_way(way, place.cheat(commit, way)) else {
                    break;
                };
                passing(&row(&text));
            }
            exceptions.extend(counts.exceptions.drain(..).map(|text| row(&text)));
        }
        line(&counts.row(&format!("{} ({})", project.name(), project.language)));
        all.merge(counts);
    }
    line("");
    line(&all.row("in all"));
    line("");
    exceptions.iter().for_each(|exception| line(exception));
    if filter.is_empty() && rows != "cheats" {
        report::write("outside");
    }
}
