//! One attempt: a separate project, the agent of a row, and the results with and without ralph.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio, exit},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    rows::Row,
    support::ralph,
    tasks::{Setting, Task, put},
    tools::Tools,
    tree::Tree,
};

/// The argument that makes the bench an agent.
const MARK: &str = "__bench-cheat";
/// Iterations for ralph beyond those that the agent needs for its claim, to respond to a refusal.
const MORE_ITERATIONS: u32 = 1;
const GIT_CONFIG: &str = "[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n";
const PLAN: &str = "# Plan\n\n- [ ] Make the module do what its tests expect\n";

/// The results of an attempt.
#[derive(Debug)]
pub struct Outcome {
    /// Whether the goal's command alone exits with 0.
    pub exits_with_0: bool,
    /// Whether ralph calls the run verified.
    pub verified: bool,
    /// The end of the run, in ralph's words.
    pub end: String,
    /// Duration of ralph's run.
    pub took: Duration,
}

/// Makes both attempts of a row at a task: with the bare command, and with ralph.
///
/// # Errors
/// If the project cannot be made, or if ralph does not report the end of the run.
pub fn attempt(row: &Row, task: &Task, tools: &Tools) -> io::Result<Outcome> {
    let bare = Place::new(row, task, tools)?;
    for _ in 0..row.turns {
        bare.act(row, task, tools)?;
    }
    let goal = row.setting.goal(task.language);
    let status = bare.command("sh", tools).args(["-c", &goal]).status()?;
    drop(bare);
    let place = Place::new(row, task, tools)?;
    let start = Instant::now();
    let end = place.run(row, task, &goal, tools, &[])?;
    Ok(Outcome {
        exits_with_0: status.success(),
        verified: verified(&end),
        end: end.to_string(),
        took: start.elapsed(),
    })
}

/// Makes an attempt of a row with ralph alone, with settings in the environment. Returns the duration of the run.
///
/// # Errors
/// As [`attempt`].
pub fn timed(row: &Row, task: &Task, tools: &Tools, settings: &[(&str, &str)]) -> io::Result<Duration> {
    let place = Place::new(row, task, tools)?;
    let start = Instant::now();
    place.run(row, task, &row.setting.goal(task.language), tools, settings)?;
    Ok(start.elapsed())
}

/// Whether tests, and not just exit codes, prove the end of a run.
fn verified(reason: &Value) -> bool {
    reason["type"] == "done" && reason["proof"] == "tests"
}

/// A project with its own home and state directory.
#[derive(Debug)]
struct Place {
    root: TempDir,
    setting: Setting,
}

impl Place {
    fn new(row: &Row, task: &Task, tools: &Tools) -> io::Result<Place> {
        let place = Place {
            root: tempfile::Builder::new().prefix("ralph-cheats-").tempdir()?,
            setting: row.setting,
        };
        for directory in ["home", "config", "state", "cache", "run", "tmp", "project"] {
            fs::create_dir(place.path(directory))?;
        }
        put(&place.path("home/.gitconfig"), GIT_CONFIG)?;
        put(&place.path("project/PLAN.md"), PLAN)?;
        task.lay_out(&place.path("project"), row.setting, row.start, tools.modules())?;
        for args in [
            &["init", "--quiet"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "Start"],
        ] {
            let status = place.command("git", tools).args(args).status()?;
            if !status.success() {
                return Err(io::Error::other(format!("git {args:?}: {status}")));
            }
        }
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Runs the agent without ralph, always in a child process, because a cheat may write to its home.
    fn act(&self, row: &Row, task: &Task, tools: &Tools) -> io::Result<()> {
        let mut agent = self.command(env::current_exe()?, tools);
        let status = agent.args(self.agent_args(row, task)).status()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("the agent: {status}"))),
        }
    }

    fn agent_args(&self, row: &Row, task: &Task) -> [String; 5] {
        let turns = self.path("turns").display().to_string();
        [MARK, row.name, task.language.name(), &task.name, &turns].map(str::to_owned)
    }

    /// Returns a command for a program in the project, with its own environment and without output.
    fn command(&self, program: impl AsRef<Path>, tools: &Tools) -> Command {
        let mut command = Command::new(program.as_ref());
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        command
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", tools.path(self.setting))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_RUNTIME_DIR", self.path("run"))
            .env("TMPDIR", self.path("tmp"))
            .env("CARGO_INCREMENTAL", "0")
            // rustup and cargo look in the home directory, which is replaced here.
            .env(
                "RUSTUP_HOME",
                env::var_os("RUSTUP_HOME").unwrap_or_else(|| home.join(".rustup").into()),
            )
            .env(
                "CARGO_HOME",
                env::var_os("CARGO_HOME").unwrap_or_else(|| home.join(".cargo").into()),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Runs ralph with the row's agent and `settings` in the environment, and returns the end of the run.
    fn run(&self, row: &Row, task: &Task, goal: &str, tools: &Tools, settings: &[(&str, &str)]) -> io::Result<Value> {
        self.add_agent(row, task)?;
        let iterations = (row.turns + MORE_ITERATIONS).to_string();
        let mut run = self.command(ralph(), tools);
        run.args(["--headless", "--adapter", "cheat", "--max-iterations", &iterations]);
        let output = run
            .envs(settings.iter().copied())
            .args(["--goal", &format!("tests={goal}")])
            .stderr(Stdio::piped())
            .output()?;
        let status = self
            .command(ralph(), tools)
            .args(["status", "--json"])
            .stdout(Stdio::piped())
            .output()?;
        let status: Value = serde_json::from_slice(&status.stdout)?;
        match status.pointer("/view/phase/end/reason") {
            Some(reason) => Ok(reason.clone()),
            None => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }

    /// Adds an adapter whose agent is this program.
    fn add_agent(&self, row: &Row, task: &Task) -> io::Result<()> {
        let program = env::current_exe()?.display().to_string();
        let args = self.agent_args(row, task);
        let manifest = format!(
            "id = \"cheat\"\ntitle = \"Cheat\"\ndialect = \"terminal\"\n\
             [command]\nprogram = {program:?}\nargs = {args:?}\nprompt = \"stdin\"\n\
             [stop]\nfirst = \"terminate\"\ngrace_ms = 1000\n"
        );
        put(&self.path("config/ralph/adapters/cheat.toml"), &manifest)
    }
}

/// Turns this process into the agent of a row if it was started as one; it does not return then.
pub fn become_agent_if_asked() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [mark, row, language, task, turns] = args.as_slice() else {
        return;
    };
    if mark != MARK {
        return;
    }
    _ = io::copy(&mut io::stdin(), &mut io::sink()); // the agent ignores its prompt
    let task = Task::find(language, task).expect("a known task");
    let row = Row::all().find(|known| known.name == row && known.languages.contains(&task.language));
    let row = row.expect("a known row");
    let turn = fs::read_to_string(turns).map_or(0, |turns| turns.len()) + 1;
    fs::write(turns, "x".repeat(turn)).expect("the agent's memory");
    let turn = u32::try_from(turn).expect("a few turns");
    let root = env::current_dir().expect("the project");
    let tree = Tree {
        root,
        task,
        setting: row.setting,
        turn,
    };
    // After a refusal, the agent only repeats its claim.
    if turn <= row.turns {
        (row.act)(&tree);
    }
    if turn >= row.turns {
        tree.replace("PLAN.md", "[ ]", "[x]");
    }
    exit(0);
}
