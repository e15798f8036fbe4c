//! Runs a program in a terminal of its own, prints what it writes, and ends everything that it started: `run_program PROGRAM ARG…`.
//!
//! The example is its own guard, as ralph is: the supervisor starts it once more, with `__guard --spec FILE`.

use std::{
    env,
    error::Error,
    io::{Write, stdout},
    path::PathBuf,
    process::ExitCode,
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use ralph_core::event::Exit;
use ralph_system::proc::{self, ChildEnd, Launch, OutputSink, Stdin, Supervisor};

/// Copies the terminal to stdout, and sends the end.
struct Copy(Sender<ChildEnd>);

impl OutputSink for Copy {
    fn terminal(&mut self, bytes: &[u8]) {
        _ = stdout().write_all(bytes); // a reader that has gone misses the rest
    }

    fn stdout(&mut self, _: &[u8]) {}

    fn ended(&mut self, end: ChildEnd) {
        _ = self.0.send(end); // `main` has failed already
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let args: Vec<_> = env::args_os().skip(1).collect();
    if let [word, flag, spec] = &args[..]
        && word == "__guard"
        && flag == "--spec"
    {
        return Ok(ExitCode::from(proc::guard::run(PathBuf::from(spec).as_path())));
    }
    let (program, args) = args.split_first().ok_or("usage: run_program /path/of/PROGRAM ARG…")?;
    let scratch = tempfile::tempdir()?;
    let (sender, ended) = channel();
    let launch = Launch {
        args: args.to_vec(),
        stdin: Stdin::Terminal,
        ..Launch::new(
            program,
            &env::current_dir()?,
            Duration::from_secs(5),
            "example",
            scratch.path(),
        )
    };
    let child = Supervisor::default().spawn(launch, Box::new(Copy(sender)))?;
    let end = ended.recv()?;
    drop(child);
    match end {
        ChildEnd::Exited(Exit::Code { code }) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))),
        other => Err(format!("{other:?}").into()),
    }
}
