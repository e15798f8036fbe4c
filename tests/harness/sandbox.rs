//! A project for one test: home, state, git repository and plan in a temporary directory. Its programs see nothing else
//! of the machine but `PATH`.

use std::{
    cell::{Cell, RefCell},
    env,
    ffi::{OsStr, OsString},
    fs::{self, Permissions},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use tempfile::TempDir;

use super::{
    processes::{self, MARK, Process},
    running::Program,
    wait::{SOON, wait_until},
};

const PLAN: &str = "# Plan\n\n- [ ] Write hello.txt\n- [ ] Write world.txt\n";

/// git's configuration. Automatic maintenance after commits is off: a sandbox never needs it.
const GIT_CONFIG: &str = "[user]\n\tname = Sandbox\n\temail = sandbox@example.invalid\n\
                          [init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n";

/// A proxy that refuses every connection.
const CLOSED_PROXY: &str = "http://127.0.0.1:9";

/// One test's part of the machine. Dropping it ends every process in it and removes it.
pub struct Sandbox {
    root: TempDir,
    /// The root without symbolic links, as `/proc` shows it.
    path: PathBuf,
    mark: String,
    /// The directory of programs that ralph runs.
    programs: Option<TempDir>,
    /// Directories of agents, searched before the rest of `PATH`.
    agents: Vec<PathBuf>,
    variables: RefCell<Vec<(&'static str, OsString)>>,
    /// Whether a program was started in it.
    has_run: Cell<bool>,
}

impl Sandbox {
    /// Makes a repository with one commit, which contains `PLAN.md` with two open tasks.
    pub fn new() -> Sandbox {
        let sandbox = Sandbox::without_git();
        sandbox.start_repository();
        sandbox
    }

    /// Makes the same project without a repository.
    pub fn without_git() -> Sandbox {
        Sandbox::without_git_in(&env::temp_dir())
    }

    /// Makes a repository as [`Sandbox::new`], but outside of the temporary directories, which every user may write to.
    ///
    /// # Panics
    /// If neither the build directory nor the home directory is such a place.
    pub fn outside_of_tmp() -> Sandbox {
        let sandbox = Sandbox::without_git_in(&place_outside_of_tmp());
        sandbox.start_repository();
        sandbox
    }

    /// Makes a sandbox directly in /tmp, which other users can enter and a strict sandbox does not write to.
    pub fn in_tmp() -> Sandbox {
        Sandbox::among(Path::new("/tmp"))
    }

    /// Makes a sandbox in `place`.
    pub fn among(place: &Path) -> Sandbox {
        let sandbox = Sandbox::without_git_in(place);
        sandbox.start_repository();
        sandbox
    }

    /// The first sandbox makes the first commit; the others copy the files that git wrote there. The index is not
    /// copied: it holds inodes and times of each sandbox's own files.
    fn start_repository(&self) {
        static FIRST: OnceLock<Vec<Entry>> = OnceLock::new();
        let mut is_first = false;
        let entries = FIRST.get_or_init(|| {
            is_first = true;
            self.git(["init", "--quiet"]);
            self.git(["add", "--all"]);
            self.git(["commit", "--quiet", "--message", "Start"]);
            entries_of(&self.project(), Path::new(".git"))
        });
        if !is_first {
            for entry in entries {
                entry.write_in(&self.project());
            }
            self.git(["add", "--all"]);
        }
    }

    fn without_git_in(place: &Path) -> Sandbox {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let root = tempfile::Builder::new()
            .prefix("ralph-")
            .tempdir_in(place)
            .expect("a temporary directory");
        let path = root.path().canonicalize().expect("the directory just made");
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let sandbox = Sandbox {
            root,
            path,
            mark,
            agents: Vec::new(),
            programs: None,
            variables: RefCell::default(),
            has_run: Cell::new(false),
        };
        for (_, directory) in sandbox.directories() {
            fs::create_dir_all(directory).expect("a directory of the sandbox");
        }
        fs::write(sandbox.home().join(".gitconfig"), GIT_CONFIG).expect("git's configuration");
        fs::create_dir(sandbox.project()).expect("the project's directory");
        sandbox.write("PLAN.md", PLAN);
        sandbox
    }

    /// The project's root, where programs run.
    pub fn project(&self) -> PathBuf {
        self.path.join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub fn state(&self) -> PathBuf {
        self.path.join("state")
    }

    /// The user's configuration directory.
    pub fn config(&self) -> PathBuf {
        self.path.join("config")
    }

    pub fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    pub fn codex_home(&self) -> PathBuf {
        self.path.join("codex")
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("the file's directory");
        fs::write(path, text).expect("a file of the project");
    }

    /// Reads a file of the project; `None` if it does not exist.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.project().join(path)).ok()
    }

    /// Makes a directory for programs that ralph itself runs, and adds it to `PATH`. ralph runs nothing from a temporary
    /// directory.
    pub(super) fn add_programs(&mut self) -> PathBuf {
        let directory = tempfile::tempdir_in(place_outside_of_tmp()).expect("a directory for programs");
        let path = directory.path().to_owned();
        self.programs = Some(directory);
        self.agents.insert(0, path.clone());
        path
    }

    /// Adds the directory of an agent to `PATH`.
    pub fn add_agent(&mut self, program: &Path) {
        self.agents
            .push(program.parent().expect("a program has a directory").to_owned());
    }

    /// Shares what ralph remembers about the real agents between sandboxes, as one user's runs do.
    pub fn share_what_is_known_of_agents(&self) {
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("known-agents");
        fs::create_dir_all(&shared).expect("a directory");
        std::os::unix::fs::symlink(shared, self.path.join("cache/ralph")).expect("a link");
    }

    /// Sets a variable for every program started from now on.
    pub fn set_variable(&self, name: &'static str, value: impl Into<OsString>) {
        self.variables.borrow_mut().push((name, value.into()));
    }

    /// The real `ralph` in the project. The project's own files are trusted: the test has written them.
    pub fn ralph<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Program {
        let has_files = self.project().join(".ralph").symlink_metadata().is_ok();
        self.untrusting_ralph(has_files.then_some("--trust-project")).args(args)
    }

    /// As [`Sandbox::ralph`], but the project's own files are not trusted.
    pub fn untrusting_ralph<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Program {
        self.program(env!("CARGO_BIN_EXE_ralph")).args(args)
    }

    /// Any program in the project, with the sandbox's environment and an empty stdin.
    pub fn program(&self, program: impl AsRef<OsStr>) -> Program {
        self.has_run.set(true);
        let (name, environment) = (program.as_ref(), self.environment());
        let search = environment.iter().find(|(name, _)| *name == "PATH");
        // With a full path, the program starts without a copy of this large process.
        let path = which::which_in(name, search.map(|(_, path)| path), self.project());
        let mut command = Command::new(path.as_deref().map_or(name, Path::as_os_str));
        command
            .arg0(name)
            .current_dir(self.project())
            .env_clear()
            .envs(environment);
        Program::new(command)
    }

    /// Runs git in the project and returns its output.
    ///
    /// # Panics
    /// If git fails.
    pub fn git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        let done = self.program("git").args(args).run(SOON);
        assert!(done.status.success(), "git: {}", done.stderr);
        done.stdout
    }

    /// Counts the commits reachable from HEAD.
    pub fn commits(&self) -> usize {
        self.git(["rev-list", "HEAD"]).lines().count()
    }

    /// Checks that the work tree matches HEAD and the index.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert_eq!(self.git(["status", "--porcelain"]), "", "the work tree is not clean");
    }

    /// Saves project and state as they are now, for [`Sandbox::restore`].
    pub fn keep(&self) {
        self.copy([self.project(), self.state()], &self.kept());
    }

    /// Restores project and state as they were at [`Sandbox::keep`].
    pub fn restore(&self) {
        for directory in [self.project(), self.state()] {
            fs::remove_dir_all(directory).expect("a directory of the sandbox");
        }
        self.copy(["project", "state"].map(|name| self.kept().join(name)), &self.path);
    }

    fn kept(&self) -> PathBuf {
        self.path.join("kept")
    }

    fn copy<const N: usize>(&self, from: [PathBuf; N], to: &Path) {
        fs::create_dir_all(to).expect("a directory of the sandbox");
        let copied = self
            .program("cp")
            .current_dir(&self.path)
            .arg("-a")
            .args(from)
            .arg(to)
            .run(SOON);
        assert!(copied.status.success(), "cp: {}", copied.stderr);
    }

    /// The sandbox's running processes, including detached descendants.
    pub fn processes(&self) -> Vec<Process> {
        processes::in_sandbox(&self.mark, &self.path)
    }

    #[track_caller]
    pub fn assert_nothing_runs(&self) {
        assert_eq!(self.processes(), [], "processes were left running");
    }

    /// Waits until nothing of the sandbox runs: a run outlives its attached screens, and a guard outlives a killed
    /// ralph.
    #[track_caller]
    pub fn waits_until_nothing_runs(&self) {
        wait_until(SOON, "end of all processes", || {
            self.processes().is_empty().then_some(())
        });
    }

    pub fn temporary(&self) -> PathBuf {
        self.path.join("tmp")
    }

    fn directories(&self) -> [(&'static str, PathBuf); 8] {
        [
            ("HOME", self.home()),
            ("XDG_CONFIG_HOME", self.config()),
            ("XDG_DATA_HOME", self.data()),
            ("XDG_STATE_HOME", self.state()),
            ("XDG_CACHE_HOME", self.path.join("cache")),
            ("XDG_RUNTIME_DIR", self.path.join("run")),
            ("CODEX_HOME", self.codex_home()),
            ("TMPDIR", self.temporary()),
        ]
    }

    /// The environment of every program in the sandbox.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let path = env::var_os("PATH").unwrap_or_default();
        let search = self.agents.iter().cloned().chain(env::split_paths(&path));
        let search = env::join_paths(search).expect("directories of PATH have no colon in them");
        let mut environment = vec![
            ("PATH", search),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("STANDIN_KEY", "sk-stand-in".into()),
            // Agents ask for updates, plugins and catalogs even if told not to: no server answers at this address.
            ("HTTP_PROXY", CLOSED_PROXY.into()),
            ("HTTPS_PROXY", CLOSED_PROXY.into()),
            ("NO_PROXY", "127.0.0.1,localhost".into()),
            (MARK, self.mark.as_str().into()),
        ];
        environment.extend(self.variables.borrow().iter().cloned());
        environment.extend(self.directories().map(|(name, path)| (name, path.into_os_string())));
        environment
    }
}

/// A file or directory of a repository.
struct Entry {
    /// Path below the work tree.
    path: PathBuf,
    permissions: Permissions,
    /// `None` for a directory.
    bytes: Option<Vec<u8>>,
}

impl Entry {
    fn write_in(&self, work_tree: &Path) {
        let path = work_tree.join(&self.path);
        match &self.bytes {
            Some(bytes) => fs::write(&path, bytes),
            None => fs::create_dir(&path),
        }
        .expect("an entry of the repository");
        fs::set_permissions(&path, self.permissions.clone()).expect("its permissions");
    }
}

/// A file or a directory with all its content, except the index and sample hooks. Each directory comes before its
/// content.
fn entries_of(work_tree: &Path, path: &Path) -> Vec<Entry> {
    let whole = work_tree.join(path);
    let permissions = fs::metadata(&whole).expect("an entry of the repository").permissions();
    let mut entries = vec![Entry {
        path: path.to_owned(),
        permissions,
        bytes: None,
    }];
    if !whole.is_dir() {
        entries[0].bytes = Some(fs::read(whole).expect("a file of the repository"));
        return entries;
    }
    for entry in fs::read_dir(whole).expect("a directory of the repository") {
        let name = entry.expect("an entry of the repository").file_name();
        if name != "index" && !name.to_string_lossy().ends_with(".sample") {
            entries.extend(entries_of(work_tree, &path.join(name)));
        }
    }
    entries
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !self.has_run.get() {
            return;
        }
        if std::thread::panicking() {
            // A second panic would abort and hide the first.
            _ = std::panic::catch_unwind(|| processes::end_sandbox(&self.mark, &self.path));
            return;
        }
        processes::end_sandbox(&self.mark, &self.path);
        _ = &self.root; // removed after this, when nothing writes there any more
    }
}

/// Returns the build directory or the home directory, whichever is not for temporary files.
///
/// # Panics
/// If neither is.
fn place_outside_of_tmp() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let places = [Some(target), env::home_dir()].into_iter().flatten();
    let is_elsewhere = |place: &PathBuf| !["/tmp", "/var/tmp"].iter().any(|tmp| place.starts_with(tmp));
    let mut places = places.filter_map(|place| place.canonicalize().ok());
    places
        .find(is_elsewhere)
        .expect("a directory that is not for temporary files")
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::Signal;
    use ralph_core::event::{Event, TimeEvent};

    use super::*;
    use crate::harness::wait_until;

    #[test]
    fn a_process_in_a_session_of_its_own_is_found_and_ended() {
        let sandbox = Sandbox::new();
        let script = "setsid sh -c 'cd /; echo ready; exec sleep 600' & wait";
        let running = sandbox.program("sh").args(["-c", script]).start();
        running.wait_for_line(SOON, |line| line == "ready");
        running.kill();
        let sleeps = || {
            sandbox
                .processes()
                .into_iter()
                .find(|process| process.command == "sleep 600")
        };
        let left = wait_until(SOON, "the process in its own session", sleeps);
        drop(sandbox);
        assert!(!processes::is_running(left.pid));
    }

    #[test]
    fn a_process_without_its_environment_is_found_by_its_directory() {
        let sandbox = Sandbox::new();
        let running = sandbox
            .program("env")
            .args(["-i", "sh", "-c", "echo ready; exec /bin/sleep 600"])
            .start();
        running.wait_for_line(SOON, |line| line == "ready");
        assert_eq!(
            sandbox
                .processes()
                .iter()
                .map(|process| process.pid)
                .collect::<Vec<_>>(),
            [running.pid()]
        );
    }

    #[test]
    fn a_sandbox_begins_clean_with_one_commit_and_nothing_running() {
        let sandbox = Sandbox::new();
        sandbox.assert_clean();
        sandbox.assert_nothing_runs();
        assert_eq!(sandbox.commits(), 1);
    }

    #[test]
    fn a_program_sees_only_the_environment_of_the_sandbox() {
        let sandbox = Sandbox::new();
        let seen = sandbox.program("env").env("ADDED", "1").run(SOON).stdout;
        assert!(seen.contains("ADDED=1\n") && seen.contains(&format!("HOME={}\n", sandbox.home().display())));
        assert!(!seen.contains("CARGO_MANIFEST_DIR"), "{seen}");
    }

    #[test]
    fn a_program_is_typed_to_and_signalled() {
        let sandbox = Sandbox::new();
        let script = "trap 'echo stopped; exit 3' TERM; read line; echo got $line; while :; do sleep 0.01; done";
        let mut running = sandbox.program("sh").args(["-c", script]).stdin_piped().start();
        running.type_text("hello\n");
        running.wait_for_line(SOON, |line| line == "got hello");
        running.signal(Signal::SIGTERM);
        let finished = running.wait(SOON);
        assert_eq!(
            (finished.code(), finished.stdout.as_str()),
            (Some(3), "got hello\nstopped\n")
        );
    }

    #[test]
    fn output_to_a_file_is_read_from_there() {
        let sandbox = Sandbox::new();
        let file = sandbox.home().join("out");
        let finished = sandbox.program("echo").arg("said").stdout_to(&file).run(SOON);
        assert_eq!(finished.stdout, "said\n");
    }

    #[test]
    fn records_are_read_as_they_are_printed() {
        let sandbox = Sandbox::new();
        let stopped = r#"{"seq":7,"atMs":1,"event":{"type":"unpaused","by":"file"}}"#;
        let mut cat = sandbox.program("cat").stdin_piped().start();
        cat.type_text(&format!("{stopped}\n"));
        let record = cat.wait_for_record(SOON, |event| matches!(event, Event::Time(TimeEvent::Unpaused { .. })));
        cat.close_stdin();
        assert_eq!(cat.wait(SOON).records(), [record]);
    }

    #[test]
    fn an_agent_is_found_by_its_name() {
        let mut sandbox = Sandbox::new();
        let program = sandbox.home().join("bin/agent");
        fs::create_dir(sandbox.home().join("bin")).unwrap();
        fs::copy("/bin/pwd", &program).unwrap();
        sandbox.add_agent(&program);
        let seen = sandbox
            .program("sh")
            .args(["-c", "agent"])
            .current_dir(sandbox.home())
            .run(SOON);
        assert_eq!(seen.stdout, format!("{}\n", sandbox.home().display()));
    }

    #[test]
    fn the_real_ralph_is_started_and_ends_by_itself() {
        let finished = Sandbox::new().ralph(["--no-such-flag"]).run(SOON);
        assert_eq!(finished.code(), Some(2), "{finished:?}");
    }
}
