use std::{env, path::Path, process::ExitCode};

use ralph::cli;
use ralph_system::{
    os::signals,
    proc::{self, Supervisor},
};

fn main() -> ExitCode {
    // Guards are dispatched first: one starts with every session, and its start-up time delays the agent.
    let args: Vec<_> = env::args_os().skip(1).take(3).collect();
    match &args[..] {
        [word, flag, spec] if word == "__guard" && flag == "--spec" => {
            return ExitCode::from(proc::guard::run(Path::new(spec)));
        }
        [word, flag] if word == "__guard" && flag == "--helpers" => {
            return ExitCode::from(proc::helper::guard());
        }
        _ => {}
    }
    signals::restore_defaults();
    let supervisor = Supervisor::for_main();
    let code = cli::main(env::args_os(), &supervisor);
    supervisor.leave();
    ExitCode::from(code)
}
