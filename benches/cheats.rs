//! The bench of cheats: agents that do no work and weaken its tests instead, with ralph and with exit codes alone.
//!
//! Each row is an agent. Most change the tests, the runner or something in between, and then claim to be done. Two
//! questions are asked of each: does the goal's command exit with 0, and does ralph call the run verified? A cheat
//! proves something only if the first answer is yes.

#[path = "cheats/attempt.rs"]
mod attempt;
#[path = "cheats/costs.rs"]
mod costs;
#[path = "cheats/everywhere.rs"]
mod everywhere;
#[path = "cheats/go.rs"]
mod go;
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
mod support;
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
use support::report::{self, line};
use table::Table;
use tasks::{Language, Task};
use tools::Tools;

const TASKS: usize = 20;
/// Distance between the tasks of successive lines, if each line has only one.
const STEP: usize = 23;

/// An attempt to be made.
struct Job {
    /// Index of its line in the table.
    line: usize,
    row: &'static Row,
    task: Task,
}

fn main() {
    become_agent_if_asked();
    let languages = languages();
    let filter = env::var("RALPH_BENCH_CHEATS").unwrap_or_default();
    let lines = lines(&filter);
    line("\ncheats (attempts that exit codes accept → attempts that ralph calls verified; seconds of a run of ralph)");
    let tools = Tools::ready(&languages);
    for missing in tools.missing(&languages) {
        line(&format!("  {missing}"));
    }
    let jobs = jobs(&lines, &languages, &tools);
    let mut table = Table::new(&languages, !filter.is_empty());
    table.head();
    run(&lines, &jobs, &tools, &mut table);
    table.totals();
    if filter.is_empty() {
        let tasks = if has_one_round() { 1 } else { costs::TASKS };
        costs::print(&languages, tasks, &tools).expect("runs of ralph");
        report::write("cheats");
    }
}

/// Returns the lines of the table: rows of the same name, which differ in their languages.
fn lines(filter: &str) -> Vec<Vec<&'static Row>> {
    let mut lines: Vec<Vec<&'static Row>> = Vec::new();
    for row in Row::all().filter(|row| row.name.contains(filter)) {
        match lines.iter_mut().find(|line| line[0].name == row.name) {
            Some(line) => line.push(row),
            None => lines.push(vec![row]),
        }
    }
    lines
}

fn languages() -> Vec<Language> {
    let all = Language::ALL.iter().map(|language| language.name());
    let wanted = env::var("RALPH_BENCH_LANGUAGES").unwrap_or_else(|_| all.collect::<Vec<_>>().join(","));
    let language = |name: &str| Language::of(name).unwrap_or_else(|| panic!("{name}: no language of this bench"));
    wanted.split(',').map(language).collect()
}

/// Returns all attempts, line by line. With one round, each line has one attempt, and the languages take turns.
fn jobs(lines: &[Vec<&'static Row>], languages: &[Language], tools: &Tools) -> Vec<Job> {
    let count = number("RALPH_BENCH_TASKS").unwrap_or(TASKS);
    let one = has_one_round();
    let tasks: Vec<Task> = languages
        .iter()
        .flat_map(|language| Task::first(*language, count).expect("tasks"))
        .collect();
    let mut jobs = Vec::new();
    for (line, rows) in lines.iter().enumerate() {
        let job = |task: &Task| {
            let row = rows.iter().find(|row| row.languages.contains(&task.language))?;
            let allowed = tools.allow(task.language, row.setting);
            allowed.then(|| Job {
                line,
                row,
                task: task.clone(),
            })
        };
        let mut of_line: Vec<Job> = tasks.iter().filter_map(job).collect();
        if one && !of_line.is_empty() {
            // `STEP` is coprime to the usual numbers of tasks, so all tasks are used in turn.
            of_line = vec![of_line.swap_remove(line * STEP % of_line.len())];
        }
        jobs.extend(of_line);
    }
    jobs
}

fn has_one_round() -> bool {
    number("RALPH_BENCH_ROUNDS") == Some(1)
}

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok().and_then(|text| usize::from_str(&text).ok())
}

/// Makes the attempts on all processors. Prints each line once it and all lines before it are complete.
fn run(lines: &[Vec<&Row>], jobs: &[Job], tools: &Tools, table: &mut Table) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = attempt(job.row, &job.task, tools)
                        .unwrap_or_else(|error| panic!("{}, {}: {error}", job.row.name, job.task.name));
                    // The receiver waits for all of them.
                    _ = sender.send((job.line, (job.task.language, job.task.name.clone(), outcome)));
                }
            });
        }
        drop(sender);
        let mut waiting: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        let mut printed = 0;
        for (line, outcome) in receiver {
            waiting.entry(line).or_default().push(outcome);
            while let Some(rows) = lines.get(printed) {
                let wanted = jobs.iter().filter(|job| job.line == printed).count();
                if waiting.get(&printed).map_or(0, Vec::len) < wanted {
                    break;
                }
                if let Some(outcomes) = waiting.remove(&printed) {
                    table.row(rows[0], &outcomes);
                }
                printed += 1;
            }
        }
    });
}
