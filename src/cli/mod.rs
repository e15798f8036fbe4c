//! The command line.

mod adapters;
mod args;
mod control;
mod demo;
mod replay;
mod restore;
mod run;
mod status;

use std::{
    ffi::OsString,
    io::{self, Write},
    path::Path,
};

use clap::{CommandFactory, FromArgMatches};

use crate::{
    config,
    error::{Failure, FailureKind},
};

use args::{Args, Command, ConfigCommand};

/// Carries out a command line and returns the exit code. Errors are printed to stderr.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let matches = match Args::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            _ = error.print(); // stdout or stderr is closed; there is nobody to tell
            return if error.use_stderr() {
                FailureKind::Usage.exit_code()
            } else {
                0
            };
        }
    };
    let result = Args::from_arg_matches(&matches)
        .map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))
        .and_then(|args| dispatch(&args));
    match result {
        Ok(code) => code,
        Err(failure) => {
            _ = writeln!(io::stderr(), "{failure}"); // likewise
            failure.kind.exit_code()
        }
    }
}

fn dispatch(args: &Args) -> Result<u8, Failure> {
    if args.status {
        return status::run(args, false);
    }
    match &args.command {
        None => run::run(args),
        Some(Command::Demo) => demo::run(args),
        Some(Command::Status { json }) => status::run(args, *json),
        Some(Command::Steer { now, standing, text }) => control::steer(args, *now, *standing, text),
        Some(Command::Withdraw { id }) => control::withdraw(args, *id),
        Some(Command::Pause) => control::pause(args),
        Some(Command::Resume { now }) => control::resume(args, *now),
        Some(Command::Skip) => control::skip(args),
        Some(Command::Stop {
            after_iteration,
            at_once,
        }) => control::stop(args, *after_iteration, *at_once),
        Some(Command::Restore { n, before, run, yes }) => restore::run(args, *n, *before, run.as_deref(), *yes),
        Some(Command::Replay { run, speed }) => replay::run(args, run.as_deref(), *speed),
        Some(Command::Adapters { command }) => adapters::run(args, command),
        Some(Command::Config { command }) => configure(args, command),
        Some(Command::Guard { spec }) => Ok(crate::proc::guard::run(Path::new(spec))),
        Some(Command::DemoAgent) => Ok(crate::demo::run()),
    }
}

fn configure(args: &Args, command: &ConfigCommand) -> Result<u8, Failure> {
    let place = run::place(args)?;
    let text = match command {
        ConfigCommand::Show => config::show(&config::load(&run::sources(args, &place))?),
        ConfigCommand::Schema => {
            let schema = serde_json::to_string_pretty(&config::schema());
            schema.expect("a JSON value has no failing serialisers") + "\n"
        }
        ConfigCommand::Path => config::paths(&run::sources(args, &place)),
    };
    print(&text);
    Ok(0)
}

/// Writes to stdout. A reader that went away has read enough.
fn print(text: &str) {
    _ = io::stdout().write_all(text.as_bytes());
}
