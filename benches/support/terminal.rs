//! The reference for floods: the same bytes through the same kind of terminal, to a reader that discards them.

use std::{io::Read, process::Command, time::Duration};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::{
    agent::{self, Log, Script},
    now_ns,
};

/// Runs `script` in a terminal and returns the time from its start to its last byte.
pub fn discarded(script: Script) -> Duration {
    read(script, |_| {})
}

/// Runs `script` in a terminal, passes its output to `take`, and returns the time as [`discarded`] does.
pub fn read(script: Script, mut take: impl FnMut(&[u8])) -> Duration {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = directory.path().join("log");
    let size = PtySize {
        rows: 40,
        cols: 120,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).expect("a terminal");
    let command: Command = agent::alone(script, &log);
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.cwd(directory.path());
    let mut child = pair.slave.spawn_command(builder).expect("a flood");
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        take(&buffer[..count]);
    }
    let end = now_ns();
    child.wait().expect("the flood's end");
    since_start(&log, end)
}

/// Runs `script` with a pipe as its stdout, and returns the time as [`discarded`] does.
pub fn piped_and_discarded(script: Script) -> Duration {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = directory.path().join("log");
    let mut child = agent::alone(script, &log)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a flood");
    let mut reader = child.stdout.take().expect("a pipe");
    let mut buffer = vec![0; 64 * 1024];
    while matches!(reader.read(&mut buffer), Ok(1..)) {}
    let end = now_ns();
    child.wait().expect("the flood's end");
    since_start(&log, end)
}

/// Runs `script` in a detached tmux and returns its time; `None` without tmux.
pub fn in_tmux(script: Script) -> Option<Duration> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = directory.path().join("log");
    let agent = agent::alone(script, &log);
    let words = std::iter::once(agent.get_program()).chain(agent.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let socket = directory.path().join("tmux");
    let tmux = |args: &[&str]| {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(args);
        command.output().ok().filter(|output| output.status.success())
    };
    let run = format!("{}; tmux -S '{}' wait-for -S done", words.join(" "), socket.display());
    tmux(&["new-session", "-d", "-x", "120", "-y", "40", &run])?;
    tmux(&["wait-for", "done"])?;
    let log = Log::read(&log);
    Some(Duration::from_nanos(
        log.ends.first()?.saturating_sub(*log.starts.first()?),
    ))
}

fn since_start(log: &std::path::Path, end: u64) -> Duration {
    let start = Log::read(log).starts[0];
    Duration::from_nanos(end.saturating_sub(start))
}
