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
#[path = "outside/results.rs"]
mod results;
mod support;

use std::{env, path::PathBuf};

use attempt::{Ending, Place};
use cheats::{WAYS, Way};
use counts::Counts;
use manifest::{Commit, Manifest, Project};
use results::Results;
use support::report::{self, line, passing};

/// The variable with the directory of the clones.
const CLONES: &str = "RALPH_OUTSIDE";
/// The variable with a part of the names to try, such as `semver` or `semver d913bcd`.
const FILTER: &str = "RALPH_OUTSIDE_ONLY";
/// The variable that limits the commits of each project to a number of them.
const EACH: &str = "RALPH_OUTSIDE_EACH";
/// The variable that limits the attempts to `honest` work or to `cheats`.
const ROWS: &str = "RALPH_OUTSIDE_ROWS";
/// The variable that limits the attempts to those without a result.
const NEW: &str = "RALPH_OUTSIDE_NEW";

fn main() {
    let Some(clones) = env::var_os(CLONES).map(PathBuf::from) else {
        passing(&format!(
            "outside: set {CLONES} to a directory that `benches/outside/fetch` has filled"
        ));
        return;
    };
    let filter = env::var(FILTER).unwrap_or_default();
    let rows = env::var(ROWS).unwrap_or_default();
    let only_new = env::var_os(NEW).is_some();
    let each = env::var(EACH).map_or(usize::MAX, |each| each.parse().expect("a number of commits"));
    let manifest = Manifest::read();
    let mut results = Results::read();
    for project in &manifest.project {
        let is_wanted = |commit: &Commit| commit.name(project).contains(&filter);
        let mut wanted: Vec<(Commit, Option<&Way>)> = Vec::new();
        for commit in project.commits().filter(is_wanted).take(each) {
            let work = (rows != "cheats").then_some(None);
            let ways = WAYS.iter().filter(|_| rows != "honest").map(Some);
            let ways = work.into_iter().chain(ways);
            let is_new = |way: &Option<&Way>| !only_new || results.get(project, &commit, *way).is_none();
            wanted.extend(ways.filter(is_new).map(|way| (commit.clone(), way)));
        }
        if wanted.is_empty() {
            continue;
        }
        let place = match Place::new(project, &clones) {
            Ok(place) => place,
            Err(error) => {
                passing(&format!("  {}: {error}", project.name()));
                continue;
            }
        };
        for (commit, way) in wanted {
            // The first way has found out.
            let first = results.get(project, &commit, Some(&WAYS[0]));
            let is_pointless = first.is_some_and(|first| matches!(first.outcome.ending, Ending::Pointless));
            let outcome = match way {
                Some(way) if !way.is_honest && is_pointless => Ending::Pointless.into(),
                _ => place.attempt(&commit, way),
            };
            let text = Counts::default().add(&commit, way, &outcome);
            passing(&row(project, &commit, &text));
            results.keep(project, &commit, way, outcome);
        }
    }
    print(&manifest, &results);
    report::write("outside");
}

/// Prints a row for each project that has results, their sum, and the attempts that are to be named.
fn print(manifest: &Manifest, results: &Results) {
    line("\noutside (commits of other people's projects as the work of an agent)");
    let (mut all, mut exceptions) = (Counts::default(), Vec::new());
    for project in &manifest.project {
        let (mut counts, mut dates) = (Counts::default(), Vec::new());
        for commit in project.commits() {
            for way in [None].into_iter().chain(WAYS.iter().map(Some)) {
                if let Some(record) = results.get(project, &commit, way) {
                    counts.add(&commit, way, &record.outcome);
                    dates.push(&*record.date);
                }
            }
            exceptions.extend(counts.exceptions.drain(..).map(|text| row(project, &commit, &text)));
        }
        if let Some(oldest) = dates.iter().min() {
            let name = format!("{} ({}, {oldest})", project.name(), project.language);
            line(&counts.row(&name));
            all.merge(counts);
        }
    }
    line("");
    line(&all.row("in all"));
    line("");
    exceptions.iter().for_each(|exception| line(exception));
}

fn row(project: &Project, commit: &Commit, text: &str) -> String {
    format!("  {:<28} {:<14} {text}", commit.name(project), commit.kind)
}
