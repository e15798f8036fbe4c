use std::{env, path::Path, process::ExitCode};

fn main() -> ExitCode {
    // Before anything else: a guard is started for every session, and its start is part of the wait for the agent.
    let args: Vec<_> = env::args_os().take(4).collect();
    if let [_, word, flag, spec] = &args[..]
        && word == "__guard"
        && flag == "--spec"
    {
        return ExitCode::from(ralph::proc::guard::run(Path::new(spec)));
    }
    if let [_, word] = &args[..]
        && word == "__demo-agent"
    {
        return ExitCode::from(ralph::demo::run());
    }
    ExitCode::from(2)
}
