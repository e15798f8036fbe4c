//! An agent that does what it is told: the tests' and benches' stand-in for a coding agent.
//!
//! ```text
//! fake-agent STEP…                 one step per argument
//! FAKE_AGENT_SCRIPT=FILE fake-agent     one step per line; empty lines and lines with `#` are skipped
//! ```
//! A step is a word and what follows it. Its standard input is the prompt, as in real runs. After the last step it
//! exits with code 0; a step that cannot be done ends it with a message and code 101.
//!
//! | output | |
//! |---|---|
//! | `say TEXT` · `err TEXT` | a line on stdout, on stderr |
//! | `jsonl TEXT` | the same as `say`, for a line of a structured stream |
//! | `print TEXT` | TEXT without a line end, with `\e`, `\r`, `\n` and `\\` for what they stand for |
//! | `flood BYTES` · `flood-color BYTES` | lines of 79 letters; a coloured log with truecolor, emoji and redraws |
//! | `garbage BYTES` · `long-line BYTES` | broken UTF-8 with NULs; one line without an end |
//! | `size` | the terminal's size as `80x24` |
//! | `promise` | the line with `<promise>…</promise>` that the prompt holds |
//! | `close-output` | stdin, stdout and stderr become `/dev/null` |
//!
//! | work | |
//! |---|---|
//! | `write PATH TEXT` · `append PATH TEXT` | a file with one line; one more line in it |
//! | `tick N` · `tick-next` | ticks the n-th (from 1), the first open `- [ ]` of `$RALPH_PLAN` |
//! | `commit MESSAGE` | `git add -A` and a commit |
//! | `done` | makes `.ralph-done` |
//! | `save-prompt PATH` | writes everything from stdin to PATH |
//! | `cpu MS` | works that long, in time on the CPU |
//!
//! | waiting | |
//! |---|---|
//! | `sleep MS` · `hang` | that long; for ever |
//! | `wait-file PATH` · `wait-size COLSxROWS` | until it is there; until the terminal has that size |
//! | `read-line` | a line from stdin, said as `got LINE` |
//!
//! | trouble | |
//! |---|---|
//! | `ignore-signals` | blocks every signal that can be |
//! | `log-signals PATH` | appends the name of every signal to PATH instead of dying from it |
//! | `exit-on SIGNAL CODE` | exits with CODE when SIGNAL comes |
//! | `exit CODE` · `kill-self SIGNAL` · `kill-parent SIGNAL` · `kill-group SIGNAL` | at once |
//! | `spawn KIND` | a stubborn child, see `offspring.rs`; its pid is in `KIND.pid` |
//!
//! | ways out of a sandbox | |
//! |---|---|
//! | `reach WAY TO` | fails where that way is closed, see `reach.rs` |
//!
//! `fake-agent supervise …` and `fake-agent conformance …` are something else: they play ralph, see `supervise.rs` and
//! `conformance`; `fake-agent language-server …` plays a language server, see `language.rs`.

mod conformance;
mod language;
mod offspring;
mod reach;
mod steps;
mod supervise;

use std::{
    env, fs,
    io::{self, Write},
    process::ExitCode,
};

/// An error message for the reader of a failed test.
type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let outcome = match args.first().map(String::as_str) {
        Some(offspring::SLEEPER) => offspring::sleep(&args[1..]),
        Some(offspring::LAUNCHER) => offspring::launch(&args[1..]),
        Some(offspring::RESPAWNER) => offspring::respawn(&args[1..]),
        Some("language-server") => language::serve(&args[1..]),
        Some("conformance") => conformance::run(&args[1..]),
        Some("supervise") => supervise::run(&args[1..]),
        Some(_) => steps::run(&args),
        None => script().and_then(|script| steps::run(&script)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            _ = writeln!(io::stderr(), "fake-agent: {why}");
            ExitCode::from(101)
        }
    }
}

fn script() -> Outcome<Vec<String>> {
    let path = env::var("FAKE_AGENT_SCRIPT").map_err(|_| "no steps and no FAKE_AGENT_SCRIPT")?;
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}
