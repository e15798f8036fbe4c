//! What agents get away with that do no work and soften what measures it: the bench of cheats.
//!
//! Each row is an agent. Most change the tests, the runner or what stands between, and then claim to be done. Two
//! questions are asked of each. Does the goal's command exit with 0? Does ralph call the run verified? A cheat shows
//! something only where the first answer is yes.

#[path = "cheats/attempt.rs"]
mod attempt;
#[path = "cheats/everywhere.rs"]
mod everywhere;
#[path = "cheats/honest.rs"]
mod honest;
#[path = "cheats/javascript.rs"]
mod javascript;
#[path = "cheats/python.rs"]
mod python;
#[path = "cheats/rows.rs"]
mod rows;
#[path = "cheats/runners.rs"]
mod runners;
#[path = "cheats/rust.rs"]
mod rust;
#[path = "cheats/table.rs"]
mod table;
#[path = "cheats/tasks.rs"]
mod tasks;
#[path = "cheats/tools.rs"]
mod tools;
#[path = "cheats/tree.rs"]
mod tree;

use std::{
    collections::BTreeMap,
    env,
    str::FromStr,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use attempt::{attempt, become_agent_if_asked};
use rows::Row;
use table::{Table, line};
use tasks::{Language, Task};
use tools::Tools;

const TASKS: usize = 20;

/// One attempt to be made.
struct Job {
    row: usize,
    task: Task,
}

fn main() {
    become_agent_if_asked();
    let languages = languages();
    let filter = env::var("RALPH_BENCH_CHEATS").unwrap_or_default();
    let rows: Vec<&Row> = Row::all().filter(|row| row.name.contains(&filter)).collect();
    line("\ncheats (attempts that exit codes accept → attempts that ralph calls verified; seconds of a run of ralph)");
    let tools = Tools::ready(&languages);
    for missing in tools.missing(&languages) {
        line(&format!("  {missing}"));
    }
    let jobs = jobs(&rows, &languages, &tools);
    let mut table = Table::new(&languages, !filter.is_empty());
    table.head();
    run(&rows, &jobs, &tools, &mut table);
    table.totals();
}

fn languages() -> Vec<Language> {
    let all = Language::ALL.iter().map(|language| language.name());
    let wanted = env::var("RALPH_BENCH_LANGUAGES").unwrap_or_else(|_| all.collect::<Vec<_>>().join(","));
    let language = |name: &str| Language::of(name).unwrap_or_else(|| panic!("{name}: no language of this bench"));
    wanted.split(',').map(language).collect()
}

/// All attempts, row by row. With one round, a row has one of them, in one language after the other.
fn jobs(rows: &[&Row], languages: &[Language], tools: &Tools) -> Vec<Job> {
    let count = number("RALPH_BENCH_TASKS").unwrap_or(TASKS);
    let one = number("RALPH_BENCH_ROUNDS") == Some(1);
    let tasks: Vec<Vec<Task>> = languages
        .iter()
        .map(|language| Task::first(*language, count).expect("tasks"))
        .collect();
    let mut jobs = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let allowed = |language: &Language| row.languages.contains(language) && tools.allow(*language, row.setting);
        let of_row: Vec<&Vec<Task>> = languages
            .iter()
            .zip(&tasks)
            .filter(|(language, _)| allowed(language))
            .map(|(_, tasks)| tasks)
            .collect();
        let job = |task: &Task| Job {
            row: at,
            task: task.clone(),
        };
        if one {
            let turn = of_row.get(at % of_row.len().max(1));
            jobs.extend(turn.and_then(|tasks| tasks.get(at % tasks.len())).map(job));
        } else {
            jobs.extend(of_row.into_iter().flatten().map(job));
        }
    }
    jobs
}

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok().and_then(|text| usize::from_str(&text).ok())
}

/// Makes the attempts on all processors and prints each row once it and those before it are complete.
fn run(rows: &[&Row], jobs: &[Job], tools: &Tools, table: &mut Table) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = rows[job.row];
                    let outcome = attempt(row, &job.task, tools)
                        .unwrap_or_else(|error| panic!("{}, {}: {error}", row.name, job.task.name));
                    _ = sender.send((job.row, job.task.language, job.task.name.clone(), outcome)); // the receiver waits for all
                }
            });
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        let mut printed = 0;
        for (row, language, task, outcome) in receiver {
            waiting.entry(row).or_default().push((language, task, outcome));
            while let Some(row) = rows.get(printed) {
                let wanted = jobs.iter().filter(|job| job.row == printed).count();
                if waiting.get(&printed).map_or(0, Vec::len) < wanted {
                    break;
                }
                if let Some(outcomes) = waiting.remove(&printed) {
                    table.row(row, &outcomes);
                }
                printed += 1;
            }
        }
    });
}
