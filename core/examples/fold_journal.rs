//! Folds the journal of a run and prints what it came to: `fold_journal FILE`.
//!
//! Each line of `events.jsonl` is a record. Lines that cannot be read are counted: the last one of a run that was killed may be
//! torn, and a newer ralph may know more events.

use std::{env, error::Error, fs, process::ExitCode};

use ralph_core::{event::Record, run::RunView};

fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprint("usage: fold_journal FILE");
        return ExitCode::from(2);
    };
    match summary(&path) {
        Ok(summary) => {
            print(&summary);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprint(&format!("{path}: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn summary(path: &str) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    let mut view = RunView::default();
    let mut unread = 0;
    for line in text.lines() {
        match serde_json::from_str::<Record>(line) {
            Ok(record) => view.apply(&record),
            Err(_) => unread += 1,
        }
    }
    let totals = view.totals();
    Ok(format!(
        "agent       {}\niterations  {}\ntasks       {} done, {} open\ntime        {} s\nend         {:?}\nnot read    {unread} lines",
        view.author(),
        totals.iterations,
        totals.tasks_done,
        totals.tasks_open,
        totals.elapsed_ms / 1000,
        view.stop_reason(),
    ))
}

#[expect(clippy::print_stdout, reason = "it prints what it found")]
fn print(text: &str) {
    println!("{text}");
}

#[expect(clippy::print_stderr, reason = "it says what is wrong")]
fn eprint(text: &str) {
    eprintln!("{text}");
}
