//! Children that do not want to end: they block every signal that can be blocked, write their pid and sleep for ever.
//!
//! | kind | |
//! |---|---|
//! | `plain` | in the agent's process group |
//! | `nohup` | started by `nohup` |
//! | `own-group` | in a process group of its own |
//! | `setsid` | in a session of its own |
//! | `double-fork` | in a session of its own, and its parent has ended |
//! | `env-clear-setsid` | in a session of its own, without any environment |
//! | `daemon` | all of that: session, no parent, no environment, no terminal |
//! | `stopped` | a plain one that has stopped itself |
//! | `respawn` | a daemon that replaces itself every few milliseconds, for ever; its pid says nothing |

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{SigSet, Signal, raise},
    unistd::{pause, setsid},
};

use crate::Outcome;

pub const SLEEPER: &str = "--sleeper";
pub const LAUNCHER: &str = "--launcher";
pub const RESPAWNER: &str = "--respawner";

/// Starts a child of `kind` and returns once it has written its pid.
pub fn spawn(kind: &str) -> Outcome<()> {
    let own = env::current_exe().map_err(|error| error.to_string())?;
    let pid_file = env::current_dir()
        .map_err(|error| error.to_string())?
        .join(format!("{kind}.pid"));
    let mut command = Command::new(&own);
    match kind {
        "plain" | "setsid" | "stopped" => command.arg(SLEEPER),
        "nohup" => {
            command = Command::new("nohup");
            command.arg(&own).arg(SLEEPER)
        }
        "own-group" => command.process_group(0).arg(SLEEPER),
        "double-fork" => command.arg(LAUNCHER),
        "env-clear-setsid" => command.env_clear().arg(SLEEPER),
        "daemon" | "respawn" => command
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .arg(LAUNCHER),
        _ => return Err("no such kind of child".to_owned()),
    };
    let child = command
        .arg(kind)
        .arg(&pid_file)
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(20);
    while !pid_file.exists() {
        if Instant::now() > deadline {
            return Err(format!("child {} has not written its pid", child.id()));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// `--launcher KIND PID_FILE`: starts the sleeper and ends, so that the sleeper is an orphan.
pub fn launch(args: &[String]) -> Outcome<()> {
    let own = env::current_exe().map_err(|error| error.to_string())?;
    let word = if args[0] == "respawn" { RESPAWNER } else { SLEEPER };
    Command::new(own)
        .arg(word)
        .args(args)
        .spawn()
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// `--sleeper KIND PID_FILE`
pub fn sleep(args: &[String]) -> Outcome<()> {
    let [kind, pid_file] = args else {
        return Err("a kind and a file, please".to_owned());
    };
    SigSet::all().thread_block().map_err(|errno| errno.to_string())?;
    if matches!(kind.as_str(), "setsid" | "double-fork" | "env-clear-setsid" | "daemon") {
        setsid().map_err(|errno| errno.to_string())?;
    }
    write_pid(Path::new(pid_file))?;
    if kind == "stopped" {
        raise(Signal::SIGSTOP).map_err(|errno| errno.to_string())?;
    }
    loop {
        pause();
    }
}

/// `--respawner KIND PID_FILE`: starts its own successor and ends.
pub fn respawn(args: &[String]) -> Outcome<()> {
    SigSet::all().thread_block().map_err(|errno| errno.to_string())?;
    // Only the first one needs a session: its successors lead no group and are in that session already.
    _ = setsid();
    let own = env::current_exe().map_err(|error| error.to_string())?;
    if !Path::new(&args[1]).exists() {
        write_pid(Path::new(&args[1]))?;
    }
    thread::sleep(Duration::from_millis(2));
    Command::new(own)
        .arg(RESPAWNER)
        .args(args)
        .spawn()
        .map_err(|error| error.to_string())?;
    Ok(())
}

/// Writes the pid in one step: a reader that sees the file sees all of it.
fn write_pid(path: &Path) -> Outcome<()> {
    let unfinished = path.with_extension("tmp");
    fs::write(&unfinished, format!("{}\n", std::process::id()))
        .and_then(|()| fs::rename(&unfinished, path))
        .map_err(|error| format!("{}: {error}", path.display()))
}
