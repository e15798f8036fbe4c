//! The cost of each measure of the gate: the same honest work, with one measure more each time.

use std::{io, time::Duration};

use crate::{
    attempt::timed,
    rows::Row,
    support::report::line,
    tasks::{Language, Task},
    tools::Tools,
};

/// The row whose agent does the work and changes guarded files, so that each measure has something to do.
const ROW: &str = "new tests in the same file";
/// Tasks of each language, beyond one round.
pub const TASKS: usize = 5;
/// Each measure with the variable that turns it off, and the value that does.
const MEASURES: [(&str, &str, &str); 2] = [
    ("goals before the first iteration", "RALPH_GATE_BASELINE", "off"),
    ("small changes, and without the work", "RALPH_GATE_BITE", "off"),
];

/// Prints the mean duration of a run with no measure, and then with one more on each line.
///
/// # Errors
/// If a project cannot be made, or if ralph does not report the end of a run.
pub fn print(languages: &[Language], tasks: usize, tools: &Tools) -> io::Result<()> {
    line(
        "\ncosts (mean seconds of a run whose agent does the work and adds tests, with one measure more on each line)",
    );
    let row = Row::all().find(|row| row.name == ROW).expect("a known row");
    for used in 0..=MEASURES.len() {
        let name = match used.checked_sub(1) {
            None => "exit codes alone",
            Some(last) => MEASURES[last].0,
        };
        let off = MEASURES[used..].iter().map(|(_, variable, value)| (*variable, *value));
        let off: Vec<(&str, &str)> = off.collect();
        let mut cells = String::new();
        for language in languages {
            let mut sum = Duration::ZERO;
            let tasks = Task::first(*language, tasks)?;
            for task in &tasks {
                sum += timed(row, task, tools, &off)?;
            }
            let mean = sum / u32::try_from(tasks.len().max(1)).unwrap_or(u32::MAX);
            cells.push_str(&format!(" {:>14.1} s", mean.as_secs_f64()));
        }
        line(&format!("  {name:<38}{cells}"));
    }
    Ok(())
}
