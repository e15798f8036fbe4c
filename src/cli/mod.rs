//! The command line.

#[cfg(feature = "acp-server")]
mod acp;
mod adapters;
mod adapters_add;
#[cfg(test)]
mod any_arguments_tests;
mod args;
mod attach;
mod choice;
mod comment;
mod comment_args;
mod completions;
mod confirm;
mod confirm_tests;
mod continued;
mod control;
mod demo;
mod diff;
mod doctor;
mod exit_codes;
#[cfg(feature = "telemetry")]
mod export;
mod goals;
mod help;
mod import;
mod import_with_agent;
mod init;
mod init_checks;
mod init_with_agent;
mod listing_args;
mod man;
#[cfg_attr(not(feature = "batch"), path = "no_batch.rs")]
mod many;
mod mcp;
mod mistake;
mod more;
mod notify;
mod one_task;
mod other_flags;
mod own_settings;
mod permissions;
mod plan;
#[cfg(test)]
mod reference_tests;
mod removed;
mod replay;
mod report;
mod restore;
mod run;
mod sandbox;
mod sandbox_allow;
mod scratch_project;
mod setting_flags;
mod setup;
mod status;
mod table;
mod target;
mod tasks;
mod tree;
mod trust;
mod watch;
#[cfg(feature = "page")]
mod web;

use std::{ffi::OsString, path::Path};

use clap::{FromArgMatches, error::ErrorKind};
use ralph_core::event::UserCommand;
use ralph_state::control::ControlError;
use ralph_system::proc::Supervisor;
use ralph_text::{
    AllowedEscapes,
    console::{self, print},
    escape_controls, pretty_json,
};

use crate::{
    config,
    error::Failure,
    ui::{Presentation, headless::OutputFormat},
};

use args::{Args, CliCommand, InitArgs};
use listing_args::{ConfigCommand, GoalsCommand};

/// Carries out a command line and returns the exit code. Prints errors to stderr. Processes started by `supervisor` may
/// still run on return.
pub fn main(args: impl IntoIterator<Item = OsString>, supervisor: &Supervisor) -> u8 {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let result = match parse(&mut args) {
        // Before the arguments are resolved, which the process that runs in the tree does again.
        Ok(
            ref parsed @ Args {
                command: None,
                tree_of: Some(ref source),
                ..
            },
        ) => tree::run(parsed, source, &args, supervisor),
        Ok(mut parsed) => target::resolve(&mut parsed).and_then(|task| {
            let new_plan = task.map_or(Ok(None), |task| task.write_plan(&mut parsed))?;
            if let Some(branch) = &parsed.tree {
                return many::in_tree(&parsed, branch, &args, supervisor);
            }
            let result = match more::change_run(&parsed) {
                Ok(None) => {
                    continued::resolve(&mut parsed, &mut args).and_then(|()| dispatch(&parsed, &args, supervisor))
                }
                Ok(Some(code)) => Ok(code),
                Err(failure) => Err(failure),
            };
            if let Some(new_plan) = new_plan {
                new_plan.remove_unless_begun(&parsed);
            }
            result
        }),
        Err(error) if error.use_stderr() => Err(mistake::failure(&error, &args)),
        Err(help_or_version) => {
            let text = help_or_version.render();
            match Presentation::for_stdout(OutputFormat::Text).style.colour {
                true => console::print_coloured(&format!("{}\n", text.ansi().to_string().trim_end())),
                false => console::print(&format!("{}\n", text.to_string().trim_end())),
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

/// Parses a command line. Removes the command `run` from it: `ralph run …` means the same as `ralph …`.
fn parse(args: &mut Vec<OsString>) -> Result<Args, clap::Error> {
    let mut matches = match help::command().try_get_matches_from(args.iter()) {
        Ok(matches) => matches,
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            help::command_for_help().try_get_matches_from(args.iter())?
        }
        Err(error) => {
            let meant = mistake::with_other_format(&error, args);
            let tried = meant.map(|meant| (help::command().try_get_matches_from(meant.iter()), meant));
            let Some((Ok(matches), meant)) = tried else {
                return Err(error);
            };
            *args = meant;
            matches
        }
    };
    if let Some(("run", run)) = matches.subcommand() {
        let rest = run.get_many::<OsString>("rest").map_or(0, Iterator::count);
        args.remove(args.len() - rest - 1);
        matches = help::command().try_get_matches_from(args.iter())?;
    }
    Args::from_arg_matches(&matches)
}

/// Carries out `args`, which were parsed from `given`.
fn dispatch(args: &Args, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    match &args.command {
        None | Some(CliCommand::Run { .. }) => {
            init::begin_if_new(args, supervisor)?;
            run::run(args, given, supervisor)
        }
        Some(CliCommand::Continue(_)) => run::run(args, given, supervisor),
        Some(CliCommand::Init(wish)) => init::run(args, wish, supervisor),
        Some(CliCommand::Setup {
            name,
            tasks,
            yes,
            dry_run,
        }) => {
            let wish = InitArgs {
                tasks: tasks.clone(),
                yes: *yes,
                dry_run: *dry_run,
                no_check: true,
                is_new: true,
                ..InitArgs::default()
            };
            setup::run(args, name, &wish, supervisor)
        }
        Some(CliCommand::Import(wish)) => import::run(args, wish, supervisor),
        Some(CliCommand::Demo { show }) => demo::run(args, show, supervisor),
        Some(CliCommand::Status { json, watch: false }) => status::run(args, *json),
        Some(CliCommand::Status { json, watch: true }) => watch::watch(args, *json),
        Some(CliCommand::Attach {
            run: _,
            url: Some(url),
            token_file,
        }) => attach::attach_at(args, url, token_file.as_deref(), supervisor),
        Some(CliCommand::Attach { run, .. }) => attach::attach(args, run.as_deref(), supervisor),
        Some(CliCommand::Wait { run }) => attach::wait(args, run.as_deref()),
        Some(CliCommand::Steer {
            now,
            standing,
            to,
            withdraw,
            text,
        }) => {
            let paths = match to {
                Some(plan) => many::state_of_plan(args, plan, supervisor)?,
                None => run::place(args)?.paths,
            };
            match withdraw {
                Some(id) => control::withdraw(&paths, *id),
                None => control::steer(&paths, (*now, *standing), text),
            }
        }
        Some(CliCommand::Comment(wish)) => comment::run(args, wish),
        Some(CliCommand::Confirm { yes }) => confirm_tests::run(args, *yes),
        Some(CliCommand::Asks { json }) => status::asks(args, *json),
        Some(CliCommand::Answer { ask, words, rules }) => control::answer(args, *ask, words, rules),
        Some(CliCommand::Pause) => match control::pause(args)? {
            Some(code) => Ok(code),
            None => many::pause(args)?.ok_or_else(|| ControlError::NotRunning.into()),
        },
        Some(CliCommand::Resume { now }) => control::resume(args, *now),
        Some(CliCommand::Skip) => control::send(args, UserCommand::Skip),
        Some(CliCommand::Stop {
            after_iteration,
            at_once,
        }) => control::stop(args, *after_iteration, *at_once),
        Some(CliCommand::ResetCircuit) => control::reset_circuit(args),
        Some(CliCommand::Tasks { json, command }) => tasks::run(args, *json, command.as_ref()),
        Some(CliCommand::Goals { command }) => match command {
            None => goals::list(args),
            Some(GoalsCommand::Check { merged }) => goals::check(args, merged.as_deref(), supervisor),
            Some(GoalsCommand::Add { goal }) => goals::add(args, goal),
        },
        Some(CliCommand::Plan {
            plan,
            next,
            json,
            command,
        }) => plan::run(args, plan.as_deref(), (*next, *json), command.as_ref(), supervisor),
        Some(CliCommand::Permissions { json, command }) => permissions::run(args, *json, command.as_ref()),
        #[cfg(feature = "telemetry")]
        Some(CliCommand::Report {
            run,
            otel: Some(target),
            ..
        }) => export::run(args, run.as_deref(), target),
        Some(CliCommand::Report { run, format, short, .. }) => {
            report::run(args, run.as_deref(), (*format, *short), supervisor)
        }
        Some(CliCommand::Runs { all }) => report::runs(args, *all),
        Some(CliCommand::Diff {
            n,
            since,
            stat,
            run,
            paths,
        }) => diff::run(args, (*n, *since, paths), *stat, run.as_deref(), supervisor),
        Some(CliCommand::Restore(wish)) => restore::run(args, wish, supervisor),
        Some(CliCommand::Replay { run, speed }) => replay::run(args, run.as_deref(), *speed, supervisor),
        Some(CliCommand::Sandbox { json, command }) => sandbox::run(args, *json, command.as_ref(), supervisor),
        Some(CliCommand::Adapters { command }) => adapters::run(args, command.as_ref(), supervisor),
        Some(CliCommand::Doctor { format }) => doctor::run(args, *format, supervisor),
        Some(CliCommand::Config { command }) => configure(args, command.as_ref()),
        Some(CliCommand::Trust { show, revoke }) => trust::run(args, *show, *revoke),
        #[cfg(feature = "page")]
        Some(CliCommand::Web(command)) => web::dispatch(args, command, supervisor),
        Some(CliCommand::Mcp { socket, run, without }) => mcp::run(args, socket.as_deref(), run.as_deref(), without),
        #[cfg(feature = "acp-server")]
        Some(CliCommand::Acp(wish)) => acp::run(args, wish, supervisor),
        Some(CliCommand::Batch(command)) => many::dispatch(args, command, given, supervisor),
        Some(CliCommand::Notify) => notify::run(args, supervisor),
        Some(CliCommand::Completions { shell }) => completions::run(*shell),
        Some(CliCommand::Man { directory }) => man::run(directory.as_deref()),
        Some(CliCommand::Guard { spec }) => Ok(ralph_system::proc::guard::run(Path::new(spec))),
        Some(CliCommand::TearDown) => tree::tear_down(args, supervisor),
        Some(CliCommand::DemoAgent) => Ok(crate::demo::run()),
        #[cfg(feature = "native")]
        Some(CliCommand::NativeAgent { model }) => Ok(ralph_tools::native::run(model.clone())),
    }
}

fn configure(args: &Args, command: Option<&ConfigCommand>) -> Result<u8, Failure> {
    if let Some(ConfigCommand::Schema) = command {
        print(&pretty_json(&config::schema()));
        return Ok(0);
    }
    let place = trust::place_to_look(args)?;
    let sources = run::sources(args, &place);
    // Before the files are read: if one cannot be, the list says which there are.
    print(&config::paths(&sources));
    let loaded = config::load(&sources)?;
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    let paint = |line: &str, is_set: bool| match is_set {
        true => escape_controls(line, AllowedEscapes::Plain),
        false => style.paint("2", &escape_controls(line, AllowedEscapes::Plain)),
    };
    console::print_coloured(&format!("\n{}", config::show(&loaded, paint)));
    Ok(0)
}
