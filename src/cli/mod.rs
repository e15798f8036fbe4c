//! The command line.

mod adapters;
mod args;
mod attach;
mod confirm;
mod control;
mod demo;
mod diff;
mod doctor;
mod goals;
mod mistake;
mod permissions;
mod replay;
mod report;
mod restore;
mod run;
mod sandbox;
mod setting_flags;
mod status;
mod token;
mod trust;
mod watch;
mod web;

use std::{ffi::OsString, path::Path};

use clap::{CommandFactory, FromArgMatches};

use crate::{
    config,
    console::{self, print},
    error::Failure,
    proc::Supervisor,
    ui::{Presentation, headless::Format},
};

use args::{Args, Command, ConfigCommand, GoalsCommand};

/// Carries out a command line and returns the exit code. Errors are printed to stderr. What `supervisor` has started may
/// still run then.
pub fn main(args: impl IntoIterator<Item = OsString>, supervisor: &Supervisor) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = Args::command()
        .try_get_matches_from(&args)
        .and_then(|matches| Args::from_arg_matches(&matches));
    let result = match parsed {
        Ok(parsed) => dispatch(&parsed, &args, supervisor),
        Err(error) if error.use_stderr() => Err(mistake::failure(&error, &args)),
        Err(help_or_version) => {
            let text = help_or_version.render();
            match Presentation::of_stdout(Format::Text).style.colour {
                true => console::print_coloured(&text.ansi().to_string()),
                false => console::print(&text.to_string()),
            }
            return 0;
        }
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            console::complain(&failure.to_string());
            failure.kind.exit_code()
        }
    }
}

/// Carries out `args`, which were `given`.
fn dispatch(args: &Args, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    if args.status {
        return status::run(args, false);
    }
    if args.reset_circuit {
        return control::reset_circuit(args);
    }
    match &args.command {
        None => run::run(args, given, supervisor),
        Some(Command::Demo { show }) => demo::run(args, show, supervisor),
        Some(Command::Status { json, watch: false }) => status::run(args, *json),
        Some(Command::Status { json, watch: true }) => watch::watch(args, *json),
        Some(Command::Monitor) => watch::watch(args, false),
        Some(Command::Attach {
            run: _,
            url: Some(url),
            token_file,
        }) => attach::attach_at(args, url, token_file.as_deref(), supervisor),
        Some(Command::Attach { run, .. }) => attach::attach(args, run.as_deref(), supervisor),
        Some(Command::Wait { run }) => attach::wait(args, run.as_deref()),
        Some(Command::Steer { now, standing, text }) => control::steer(args, *now, *standing, text),
        Some(Command::Withdraw { id }) => control::withdraw(args, *id),
        Some(Command::Asks { json }) => status::asks(args, *json),
        Some(Command::Answer { ask, words, rules }) => control::answer(args, *ask, words, rules),
        Some(Command::Pause) => control::pause(args),
        Some(Command::Resume { now }) => control::resume(args, *now),
        Some(Command::Skip) => control::skip(args),
        Some(Command::Stop {
            after_iteration,
            at_once,
        }) => control::stop(args, *after_iteration, *at_once),
        Some(Command::ResetCircuit) => control::reset_circuit(args),
        Some(Command::Goals {
            command: GoalsCommand::Check,
        }) => goals::check(args, supervisor),
        Some(Command::Permissions { command }) => permissions::run(args, command),
        Some(Command::Report { run, format }) => report::run(args, run.as_deref(), *format, supervisor),
        Some(Command::Runs) => report::runs(args),
        Some(Command::Diff { n, stat, run }) => diff::run(args, *n, *stat, run.as_deref(), supervisor),
        Some(Command::Restore { n, before, run, yes }) => {
            restore::run(args, *n, *before, run.as_deref(), *yes, supervisor)
        }
        Some(Command::Replay { run, speed }) => replay::run(args, run.as_deref(), *speed, supervisor),
        Some(Command::Sandbox { command }) => sandbox::run(args, command, supervisor),
        Some(Command::Adapters { command }) => adapters::run(args, command, supervisor),
        Some(Command::Doctor { format }) => doctor::run(args, *format, supervisor),
        Some(Command::Config { command }) => configure(args, command),
        Some(Command::Trust { show, revoke }) => trust::run(args, *show, *revoke),
        Some(Command::Web { listen, behind_proxy }) => web::run(args, *listen, behind_proxy, supervisor),
        Some(Command::Token { read_only, web, revoke }) => token::run(args, *read_only, *web, *revoke),
        Some(Command::Guard { spec }) => Ok(crate::proc::guard::run(Path::new(spec))),
        Some(Command::DemoAgent) => Ok(crate::demo::run()),
    }
}

fn configure(args: &Args, command: &ConfigCommand) -> Result<u8, Failure> {
    let place = match command {
        ConfigCommand::Show => trust::place_to_look(args)?,
        ConfigCommand::Schema | ConfigCommand::Path => trust::place_and_what_is_left_out(args)?.0,
    };
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
