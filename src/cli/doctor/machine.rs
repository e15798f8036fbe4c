//! Checks the machine: guarded processes, sandbox, git, the state directory, the terminal.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError, SyncSender},
    time::Duration,
};

use ralph_core::event::Exit;
use ralph_driver::{PackagesRecord, room_setup};
use ralph_git::NoRepository;
use ralph_system::{
    os::{
        disk::{self, FileSystem},
        watch,
    },
    paths::ProjectPaths,
    proc::{ChildEnd, ConfinementLevel, Launch, Mount, MountWrites, OutputSink, Stdin, Supervisor},
    tree_copy::bytes_in,
};
use ralph_text::{console, with_causes};
use ralph_words::{counted, exceeded_in_words, exit_in_words, lacking_in_words, size_in_words};

use super::model::{DoctorFinding, Fatal, FindingState};
use crate::{
    app::{self, ProjectPlace, check_files},
    config::{Config, SandboxMode},
    error::{Failure, INSTALL_GIT},
    ui::terminal::surroundings,
};

/// Time a shell has to report that it has a terminal.
const PATIENCE: Duration = Duration::from_secs(10);
/// Minimum free space: less is used up by a night of recordings.
const ROOM_BYTES: u64 = 256 << 20;

pub(super) fn findings(
    place: &ProjectPlace,
    config: &Config,
    supervisor: &Supervisor,
    told: &mut dyn FnMut(&DoctorFinding),
) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut add = |finding: DoctorFinding| {
        told(&finding);
        findings.push(finding);
    };
    add(guard(&place.paths, supervisor));
    add(room(place, supervisor));
    packages(place, config).into_iter().for_each(&mut add);
    add(sandbox(
        config.sandbox.mode,
        Supervisor::confinement_level(),
        Supervisor::mediates_connections(),
        Supervisor::separates_queues(),
    ));
    if let Some(sealed) = app::sealed_goals_here(place, config, supervisor) {
        add(sealed_goals(sealed));
    }
    add(git(supervisor));
    add(state(place.paths.state()));
    add(watching(&place.project));
    add(terminal());
    findings
}

/// Starts a process the way agents are started.
fn guard(paths: &ProjectPaths, supervisor: &Supervisor) -> DoctorFinding {
    const NAME: &str = "guard";
    let broken = |why: String| {
        DoctorFinding::new(
            NAME,
            FindingState::Fatal(Fatal::Machine),
            format!("agents cannot be started: {why}"),
        )
        .todo("a container may lack /dev/ptmx, /proc or processes to spare: give it those")
    };
    match run_guarded(paths, supervisor) {
        Ok(()) => DoctorFinding::new(NAME, FindingState::Good, "process supervision works"),
        Err(why) => broken(why),
    }
}

/// Whether goals can run in a copy of the project that they find at its path.
fn room(place: &ProjectPlace, supervisor: &Supervisor) -> DoctorFinding {
    const NAME: &str = "room";
    // Another directory at the same path, as far as the system knows.
    let here = Mount {
        directory: place.project.clone(),
        at: place.project.clone(),
        writes: MountWrites::Here,
    };
    match run_guarded(&place.paths, &supervisor.mounting(vec![here])) {
        Ok(()) => DoctorFinding::new(
            NAME,
            FindingState::Good,
            "goals run in a copy of the project that no agent has been in",
        ),
        Err(why) => DoctorFinding::new(
            NAME,
            FindingState::Weak,
            format!("goals run in the project's directory, where agents work: {why}"),
        )
        .todo(
            "Ubuntu: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`; a container: `--cap-add SYS_ADMIN`; \
             elsewhere: `sysctl user.max_user_namespaces` above 0",
        ),
    }
}

/// The commands that install packages in the room where the work names others; `None` if none is known.
fn packages(place: &ProjectPlace, config: &Config) -> Option<DoctorFinding> {
    const NAME: &str = "packages";
    if let Some(failed) = PackagesRecord::of(&place.paths).failed {
        let text = format!("not installed in the last room: {failed}");
        let weak = DoctorFinding::new(NAME, FindingState::Weak, text);
        return Some(weak.todo("`tree.setup` names the commands that install packages"));
    }
    let commands = room_setup(&config.tree.setup, &place.project);
    let text = format!("`{}` installs in the room what the work names", commands.join("`, `"));
    (!commands.is_empty()).then(|| DoctorFinding::new(NAME, FindingState::Good, text))
}

/// Runs a shell below a guard, and leaves no directory that was not there.
fn run_guarded(paths: &ProjectPaths, supervisor: &Supervisor) -> Result<(), String> {
    let directories = [
        paths.checks(),
        paths.state().to_owned(),
        paths.states().root().to_owned(),
    ];
    let missing = directories.into_iter().filter(|directory| !directory.exists());
    let missing: Vec<PathBuf> = missing.collect();
    let ran = run_shell(paths, supervisor);
    for directory in missing {
        _ = fs::remove_dir(directory); // a run that began meanwhile uses it
    }
    ran
}

fn run_shell(paths: &ProjectPaths, supervisor: &Supervisor) -> Result<(), String> {
    let scratch = check_files(paths).map_err(|error| format!("no directory for its files: {error}"))?;
    let run = format!("doctor-{}", std::process::id());
    let launch = Launch {
        args: ["-c", "test -t 0 && test -t 1"].map(OsString::from).into(),
        stdin: Stdin::Terminal,
        ..Launch::new("/bin/sh", Path::new("/"), Duration::from_secs(1), &run, scratch.path())
    };
    let (sender, ended) = mpsc::sync_channel(1);
    let _child = supervisor
        .spawn(launch, Box::new(EndSender(sender)))
        .map_err(|error| with_causes(&error))?;
    match ended.recv_timeout(PATIENCE) {
        Ok(ChildEnd::Exited(Exit::Code { code: 0 })) => Ok(()),
        Ok(ChildEnd::Exited(exit)) => Err(format!("a shell did not find its terminal: {}", exit_in_words(exit))),
        Ok(ChildEnd::NotStarted { why, .. }) => Err(why),
        Ok(ChildEnd::Exceeded(exceeded)) => Err(exceeded_in_words(&exceeded)),
        Ok(ChildEnd::GuardLost) => Err("the guard was killed".to_owned()),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Err(format!("a shell did not end within {} s", PATIENCE.as_secs()))
        }
    }
}

/// Waits for the end and ignores all output.
struct EndSender(SyncSender<ChildEnd>);

impl OutputSink for EndSender {
    fn terminal(&mut self, _bytes: &[u8]) {}
    fn stdout(&mut self, _bytes: &[u8]) {}
    fn ended(&mut self, end: ChildEnd) {
        _ = self.0.send(end); // the waiting side has timed out
    }
}

/// Whether the files of sealed goals can be hidden from agents.
fn sealed_goals(found: Result<usize, Failure>) -> DoctorFinding {
    const NAME: &str = "sealed goals";
    match found {
        Ok(count) => DoctorFinding::new(
            NAME,
            FindingState::Good,
            format!("{}, with files that agents cannot read", counted(count as u64, "goal")),
        ),
        Err(failure) => DoctorFinding::fatal(NAME, Fatal::Configuration, &failure),
    }
}

/// How well agents and goals are confined.
/// `mediates` says whether connections can be refused by address and path, `separates` whether trees have queues of their own.
fn sandbox(mode: SandboxMode, level: ConfinementLevel, mediates: bool, separates: bool) -> DoctorFinding {
    const NAME: &str = "sandbox";
    const NEWER: &str = "Linux 6.12 or newer has Landlock 6; a container's seccomp profile, or another sandbox around \
                         ralph, may forbid it";
    let connecting = "connecting to programs that act outside of the sandbox";
    let lacking = match level {
        ConfinementLevel::Landlock { abi } => {
            let refused = (!mediates).then_some(connecting);
            let lacking: Vec<&str> = lacking_in_words(abi).into_iter().chain(refused).collect();
            lacking.join(", ")
        }
        ConfinementLevel::None => "anything that you may do yourself".to_owned(),
    };
    let system = match level {
        ConfinementLevel::Landlock { abi } if separates => format!("Landlock {abi}"),
        ConfinementLevel::Landlock { abi } => format!("Landlock {abi}; queues and semaphores are shared"),
        ConfinementLevel::None => "no Landlock".to_owned(),
    };
    match (mode, lacking.is_empty()) {
        (SandboxMode::Off, true) => DoctorFinding::new(
            NAME,
            FindingState::Good,
            format!("off ({system}: `--sandbox on` works)"),
        ),
        (SandboxMode::Off, false) => DoctorFinding::new(NAME, FindingState::Good, format!("off ({system})")),
        (SandboxMode::Auto, _) if level == ConfinementLevel::None => {
            let text = "UNCONFINED: this system has no Landlock, so agents can do whatever you can".to_owned();
            DoctorFinding::new(NAME, FindingState::Weak, text).todo(NEWER)
        }
        (SandboxMode::Auto | SandboxMode::On, true) => {
            DoctorFinding::new(NAME, FindingState::Good, format!("on ({system})"))
        }
        (SandboxMode::Strict, true) => DoctorFinding::new(NAME, FindingState::Good, format!("strict ({system})")),
        (SandboxMode::Auto | SandboxMode::On, false) => {
            let text = format!("on ({system}): an agent is not kept from {lacking}");
            DoctorFinding::new(NAME, FindingState::Weak, text).todo(NEWER)
        }
        (SandboxMode::Strict, false) => {
            let text = format!("strict, which this system cannot hold ({system}): runs do not start");
            DoctorFinding::new(NAME, FindingState::Fatal(Fatal::Configuration), text).todo(NEWER)
        }
    }
}

fn git(supervisor: &Supervisor) -> DoctorFinding {
    match ralph_git::version(supervisor) {
        Ok(version) => DoctorFinding::new("git", FindingState::Good, version),
        Err(NoRepository::NoGit) => DoctorFinding::new(
            "git",
            FindingState::Weak,
            "not installed: no checkpoints, no statistics, and progress is judged by the plan alone",
        )
        .todo(INSTALL_GIT),
        Err(error) => DoctorFinding::new("git", FindingState::Weak, with_causes(&error)),
    }
}

fn state(path: &Path) -> DoctorFinding {
    const ELSEWHERE: &str = "name another directory with `--state-dir DIR` or RALPH_STATE_DIR";
    let shown = path.display();
    if let Err(error) = disk::try_to_write(path) {
        let text = format!("{shown}: cannot be written: {error}");
        return DoctorFinding::new("state", FindingState::Fatal(Fatal::Machine), text).todo(ELSEWHERE);
    }
    let system = FileSystem::containing(path);
    let on = system
        .as_ref()
        .map_or_else(String::new, |system| format!(" on {}", system.name));
    let free = disk::free_bytes(path);
    let room = free.map_or_else(String::new, |bytes| format!(", {} free", size_in_words(bytes)));
    let used = size_in_words(bytes_in(path));
    let text = format!("{shown}{on}, {used} used{room}");
    let finding = |state, more: &str| DoctorFinding::new("state", state, format!("{text}{more}"));
    match (&system, free) {
        (_, Some(bytes)) if bytes < ROOM_BYTES => {
            finding(FindingState::Weak, ": little for journals and recordings").todo(ELSEWHERE)
        }
        (Some(system), _) if system.is_remote() => {
            finding(FindingState::Weak, ": locks and sockets may not work there").todo(ELSEWHERE)
        }
        (Some(system), _) if system.is_in_memory() => {
            finding(FindingState::Weak, ": a restart of the machine forgets runs").todo(ELSEWHERE)
        }
        (Some(_) | None, _) => finding(FindingState::Good, ""),
    }
    .detail("path", Some(path.display().to_string()))
    .detail("fileSystem", system.map(|system| system.name))
}

/// Whether changes of `.ralph-pause` and `.ralph-done` are noticed at once.
fn watching(project: &Path) -> DoctorFinding {
    let system = FileSystem::containing(project);
    let slow = "file watching: polling once a second";
    match &system {
        Some(system) if system.is_remote() => {
            DoctorFinding::new("watching", FindingState::Good, format!("{slow} ({})", system.name))
        }
        Some(_) | None if watch::can_be_notified(project) => {
            DoctorFinding::new("watching", FindingState::Good, "file watching: inotify")
        }
        Some(_) | None => DoctorFinding::new(
            "watching",
            FindingState::Weak,
            format!("{slow}: the kernel allows no more watches"),
        )
        .todo("raise fs.inotify.max_user_instances or max_user_watches, if a second is too long"),
    }
}

fn terminal() -> DoctorFinding {
    let around = surroundings();
    if !console::is_terminal() {
        return DoctorFinding::new(
            "terminal",
            FindingState::Good,
            "stdout is not a terminal: a run prints text, as with `--headless`",
        );
    }
    let colours = match around.colorterm.as_str() {
        _ if around.no_color => "no colours (NO_COLOR)",
        "truecolor" | "24bit" => "true colour",
        _ if around.term.contains("256") => "256 colours",
        _ => "16 colours",
    };
    let size = match crossterm::terminal::size() {
        Ok((cols, rows)) if cols > 0 && rows > 0 => format!("{cols}×{rows}"),
        Ok(_) | Err(_) => "size unknown".to_owned(),
    };
    match around.term.as_str() {
        "" | "dumb" => DoctorFinding::new(
            "terminal",
            FindingState::Weak,
            format!("TERM is `{}`: no screen, only text", around.term),
        )
        .todo("set TERM to what your terminal is, such as xterm-256color"),
        term => DoctorFinding::new("terminal", FindingState::Good, format!("{term}, {size}, {colours}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_the_system_cannot_hold_is_said_to_be_weak_or_stops_runs() {
        let of = |mode, level| sandbox(mode, level, true, true).state;
        let old = ConfinementLevel::Landlock { abi: 4 };
        let new = ConfinementLevel::Landlock { abi: 6 };
        assert_eq!(of(SandboxMode::On, new), FindingState::Good);
        assert_eq!(of(SandboxMode::On, old), FindingState::Weak);
        assert_eq!(of(SandboxMode::On, ConfinementLevel::None), FindingState::Weak);
        assert_eq!(of(SandboxMode::Auto, new), FindingState::Good);
        assert_eq!(of(SandboxMode::Auto, ConfinementLevel::None), FindingState::Weak);
        assert_eq!(of(SandboxMode::Strict, new), FindingState::Good);
        assert_eq!(of(SandboxMode::Strict, old), FindingState::Fatal(Fatal::Configuration));
        assert_eq!(of(SandboxMode::Off, ConfinementLevel::None), FindingState::Good);
        assert_eq!(sandbox(SandboxMode::Auto, new, false, true).state, FindingState::Weak);
        assert_eq!(
            sandbox(SandboxMode::Strict, new, false, true).state,
            FindingState::Fatal(Fatal::Configuration)
        );
    }
}
