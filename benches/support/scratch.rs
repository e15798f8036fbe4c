//! A temporary project for one measurement, with its own home, state, repository, plan and adapter.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use ralph_core::event::Record;
use ralph_state::store::journal;
use ralph_system::paths::{ProjectPaths, RunPaths};
use tempfile::TempDir;

use super::{
    agent::{self, Script},
    now_ns,
};

const PLAN: &str = "# Plan\n\n- [ ] Never done\n- [ ] Nor this\n";
/// A collection that a commit starts in the background would be measured, too: ralph waits for its end.
const GIT_CONFIG: &str = "[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
/// Files of one directory, as in typical source trees.
const FILES_PER_DIRECTORY: usize = 50;

pub struct Scratch {
    root: TempDir,
}

impl Scratch {
    /// Makes a repository with one commit: a plan, and `files` files of some hundred bytes to some kilobytes.
    pub fn new(files: usize) -> Scratch {
        let root = tempfile::Builder::new()
            .prefix("ralph-bench-")
            .tempdir()
            .expect("a temporary directory");
        let scratch = Scratch { root };
        for directory in ["home", "config", "state", "cache", "run", "tmp", "project"] {
            fs::create_dir(scratch.path(directory)).expect("a directory");
        }
        fs::write(scratch.path("home/.gitconfig"), GIT_CONFIG).expect("git's configuration");
        fs::write(scratch.project().join("PLAN.md"), PLAN).expect("a plan");
        for number in 0..files {
            scratch.write_file(number, "as it was committed");
        }
        scratch.git(["init", "--quiet"]);
        scratch.git(["add", "--all"]);
        scratch.git(["commit", "--quiet", "--message", "Start"]);
        // git reads files as young as its index again with every command, until the clock has advanced.
        scratch.age();
        scratch
    }

    /// Makes all files older than the index, as in a repository that was not just made.
    fn age(&self) {
        let hour_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
        for file in self.files() {
            let file = fs::File::options().append(true).open(file).expect("a file");
            file.set_modified(hour_ago).expect("a time");
        }
        self.git(["update-index", "-q", "--refresh"]);
    }

    fn files(&self) -> Vec<PathBuf> {
        let listed = self.git(["ls-files", "-z"]);
        let names = listed.split('\0').filter(|name| !name.is_empty());
        names.map(|name| self.project().join(name)).collect()
    }

    /// Writes file number `number`; numbers beyond the committed files make untracked ones.
    pub fn write_file(&self, number: usize, what: &str) {
        let directory = self
            .project()
            .join(format!("src/module{:03}", number / FILES_PER_DIRECTORY));
        fs::create_dir_all(&directory).expect("a directory");
        let lines = 5 + number * 7 % 90;
        let text: String = (0..lines)
            .map(|line| format!("line {line} of file {number}, {what}\n"))
            .collect();
        fs::write(directory.join(format!("file{number:05}.txt")), text).expect("a file");
    }

    /// Adds an adapter `bench` that runs `script`; its log is read with [`agent::Log`].
    pub fn add_agent(&self, dialect: &str, script: &Script) {
        let executable = env::current_exe().expect("the bench's own path");
        let args: Vec<String> = [agent::MARK.to_owned(), self.log().display().to_string()]
            .into_iter()
            .chain(script.args())
            .collect();
        self.add_adapter(dialect, &executable.display().to_string(), &args);
    }

    /// Adds an adapter `bench` that runs a shell script.
    pub fn add_shell_agent(&self, dialect: &str, text: &str) {
        let path = self.path("agent.sh");
        fs::write(&path, text).expect("a script");
        self.add_adapter(dialect, "/bin/sh", &[path.display().to_string()]);
    }

    fn add_adapter(&self, dialect: &str, program: &str, args: &[String]) {
        let directory = self.path("config/ralph/adapters");
        fs::create_dir_all(&directory).expect("a directory");
        let manifest = format!(
            "id = \"bench\"\ntitle = \"Bench\"\ndialect = {dialect:?}\n\
             [command]\nprogram = {program:?}\nargs = {args:?}\nprompt = \"stdin\"\n\
             [stop]\nfirst = \"terminate\"\ngrace_ms = {}\n",
            super::processes::GRACE.as_millis()
        );
        fs::write(directory.join("bench.toml"), manifest).expect("an adapter");
    }

    /// Writes the user's configuration file.
    pub fn configure(&self, json: &str) {
        let path = self.path("config/ralph/config.json");
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, json).expect("a configuration");
    }

    /// Returns a command for the real `ralph`, in the project.
    pub fn ralph<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_ralph"));
        command.args(args);
        command
    }

    /// Returns a headless run of the adapter `bench` with output in `format`.
    pub fn run(&self, format: &str, iterations: usize) -> Command {
        let mut command = self.ralph(["--headless", "--adapter", "bench", "--format", format]);
        command.args(["--max-iterations", &iterations.to_string()]);
        // Agents of benches repeat themselves.
        command.env("RALPH_BREAKER_NO_PROGRESS", "unlimited");
        command.env("RALPH_BREAKER_SAME_ERROR", "unlimited");
        command
    }

    /// Returns a command for any program in the project, with only `PATH` from the environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// Runs git in the project and returns its output.
    pub fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        printed(self.command("git").args(args))
    }

    /// Runs `git add --all` on a copy of the index, the least work for a checkpoint of the work tree.
    pub fn add_all_aside(&self) {
        let copy = self.path("index-copy");
        fs::copy(self.project().join(".git/index"), &copy).expect("a copy of the index");
        let mut git = self.command("git");
        printed(git.args(["add", "--all"]).env("GIT_INDEX_FILE", copy));
    }

    fn paths(&self) -> ProjectPaths {
        ProjectPaths::new(&self.project(), Some(&self.path("state/ralph"))).expect("a state directory")
    }

    /// Returns the socket of a running ralph.
    pub fn socket(&self) -> PathBuf {
        self.paths().socket()
    }

    /// Returns the files of the latest run.
    pub fn latest_run(&self) -> RunPaths {
        let paths = self.paths();
        paths.run(&paths.latest_run().expect("a run"))
    }

    /// Returns the records of the latest run.
    pub fn journal(&self) -> Vec<Record> {
        let (records, _) = journal::read(&self.latest_run().journal()).expect("a whole journal");
        records
    }

    /// Returns the agent's log so far.
    pub fn agent_log(&self) -> agent::Log {
        agent::Log::read(&self.log())
    }

    fn log(&self) -> PathBuf {
        self.path("agent.log")
    }

    pub fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().join(name)
    }
}

/// Runs `command` to its end and returns its output.
///
/// # Panics
/// If the command fails.
pub fn printed(command: &mut Command) -> String {
    let output = command.output().expect("a program that starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs ralph until its limit of iterations, without its output. Returns the start time.
///
/// # Panics
/// If ralph ends for any other reason.
pub fn run_to_limit(command: &mut Command) -> u64 {
    const LIMIT_REACHED: i32 = 6;
    let start = now_ns();
    let output = command.output().expect("a program that starts");
    assert_eq!(
        output.status.code(),
        Some(LIMIT_REACHED),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    start
}
