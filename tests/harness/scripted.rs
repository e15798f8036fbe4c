//! Agents that are shell scripts, and the loop that runs them, as a user would.

use std::{ffi::OsStr, fmt::Write as _, fs, path::Path};

use ralph_core::event::{Event, Level, Notice, Record};
use ralph_state::store::journal;
use ralph_system::paths::{ProjectPaths, RunPaths};

use super::{running::Program, sandbox::Sandbox, wait::SOON, write_program};

/// The beginning of every script. The prompt is in `$prompt`, the iteration's number in `$n`.
const PRELUDE: &str = r#"
prompt=$(cat)
n=$RALPH_ITERATION
# Ticks the first open box and commits everything.
work() {
    echo "work of iteration $n" > "work-$n.txt"
    sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
    git add --all && git commit --quiet --message "Work of iteration $n"
}
# Prints the line that claims the end.
promise() { printf '%s\n' "$prompt" | grep -o '<promise>[^<]*</promise>' | head -n 1; }
# Waits until the file is there that `Sandbox::release` makes.
await() { "$FAKE_AGENT" "wait-file $HOME/$1"; }
# Signals of `ralph-jsonl`.
said() { printf '{"type":"said","text":"%s"}\n' "$1"; }
over() { printf '{"type":"turn-ended","ok":true,"message":"%s"}\n' "$1"; }
failed() {
    printf '{"type":"problem","problem":{"kind":%s,"text":"%s"}}\n' "$1" "$2"
    printf '{"type":"turn-ended","ok":false,"message":null}\n'
}
"#;

/// An agent for one test.
pub struct Script {
    dialect: &'static str,
    body: String,
    stop: (&'static str, u32),
    /// Arguments for a resumed session; `{session}` in them is its name.
    resume: Option<&'static str>,
    /// The protocol of the live channel, and the command for `sh -c` that speaks it.
    live: Option<(&'static str, &'static str)>,
}

impl Script {
    /// An agent that is known only by its terminal output.
    pub fn terminal(body: &str) -> Script {
        Script::new("terminal", body)
    }

    /// An agent that speaks `ralph-jsonl`.
    pub fn jsonl(body: &str) -> Script {
        Script::new("ralph-jsonl", body)
    }

    fn new(dialect: &'static str, body: &str) -> Script {
        Script {
            dialect,
            body: body.to_owned(),
            stop: ("terminate", 200),
            resume: None,
            live: None,
        }
    }

    /// An agent that finishes one task in each iteration.
    pub fn worker() -> Script {
        Script::jsonl("said working; work; over 'One task less.'")
    }

    /// Sets the first rung of the stop ladder and its grace.
    pub fn stopped_by(mut self, first: &'static str, grace_ms: u32) -> Script {
        self.stop = (first, grace_ms);
        self
    }

    /// Makes sessions resumable: the script gets `arg`, with the session's name for `{session}`.
    pub fn resumed_with(mut self, arg: &'static str) -> Script {
        self.resume = Some(arg);
        self
    }

    /// Declares a live channel over ACP; `command` is run for it instead of the script.
    pub fn with_acp_command(self, command: &'static str) -> Script {
        self.live_over("acp", command)
    }

    /// As [`Script::with_acp_command`], over another protocol.
    pub fn live_over(mut self, protocol: &'static str, command: &'static str) -> Script {
        self.live = Some((protocol, command));
        self
    }

    fn manifest(&self, id: &str, program: &Path) -> String {
        let (first, grace_ms) = self.stop;
        let mut text = format!(
            "id = \"{id}\"\ndialect = \"{}\"\n[command]\nprogram = \"sh\"\nprompt = \"stdin\"\n",
            self.dialect
        );
        let program = program.display();
        let args = match self.resume {
            Some(arg) => format!("args = [\"{program}\", \"{{resume}}\"]\nresume = [\"{arg}\"]"),
            None => format!("args = [\"{program}\"]"),
        };
        writeln!(text, "{args}\n[stop]\nfirst = \"{first}\"\ngrace_ms = {grace_ms}").expect("a string takes all");
        if let Some((protocol, command)) = self.live {
            writeln!(
                text,
                "[live]\nprotocol = \"{protocol}\"\nargs = [\"-c\", '''{command}''']"
            )
            .expect("a string takes all");
        }
        // A script may report usage in every dialect that can express it.
        text.push_str("[capabilities]\nusage = true\ncost = true\n");
        text
    }
}

impl Sandbox {
    /// Installs the adapter `script` for the user: the project stays unchanged.
    pub fn install(&self, script: &Script) {
        self.install_as("script", script);
    }

    pub fn install_as(&self, id: &str, script: &Script) {
        let program = self.home().join(format!("{id}.sh"));
        fs::write(&program, format!("{PRELUDE}{}\n", script.body)).expect("the agent's script");
        self.install_adapter(id, &script.manifest(id, &program));
    }

    /// Installs an adapter for the user.
    pub fn install_adapter(&self, id: &str, manifest: &str) {
        let adapters = self.config().join("ralph/adapters");
        fs::create_dir_all(&adapters).expect("the directory of adapters");
        fs::write(adapters.join(format!("{id}.toml")), manifest).expect("an adapter");
    }

    /// The loop over `PLAN.md` with the adapter `script`, its records on stdout, and short waits after failures.
    pub fn looping<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> Program {
        self.looping_as("jsonl", args)
    }

    /// As [`Sandbox::looping`], with another output format.
    pub fn looping_as<I: IntoIterator<Item: AsRef<OsStr>>>(&self, format: &str, args: I) -> Program {
        self.ralph(["--adapter", "script", "--headless", "--format", format])
            .args(args)
            .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
            .env("RALPH_BACKOFF_BASE", "10ms")
            .env("RALPH_BACKOFF_MAX", "40ms")
    }

    /// Runs the shell `script` before each git command of ralph.
    pub fn run_before_git_of_ralph(&mut self, script: &str) {
        self.run_before_git(&format!("if [ \"$GIT_NO_LAZY_FETCH\" = 1 ]; then\n{script}\nfi"));
    }

    /// Runs the shell `script` before each git command.
    pub fn run_before_git(&mut self, script: &str) {
        let git = self.add_programs().join("git");
        let text = format!("#!/bin/sh\n{script}\nPATH=${{PATH#*:}} exec git \"$@\"\n");
        write_program(&git, &text);
    }

    /// Adds a program that ralph trusts to `PATH`.
    pub fn add_program(&mut self, name: &str, text: &str) {
        write_program(&self.add_programs().join(name), text);
    }

    /// Releases a script that waits with `await NAME`.
    pub fn release(&self, name: &str) {
        fs::write(self.home().join(name), "").expect("a file of the sandbox");
    }

    /// Writes a plan with `tasks` open tasks, and commits it.
    pub fn plan(&self, tasks: usize) {
        let tasks: String = (1..=tasks).map(|n| format!("- [ ] Task {n}\n")).collect();
        self.write("PLAN.md", &tasks);
        self.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    }

    /// The pid of the running loop, as it reports it.
    #[track_caller]
    pub fn loop_pid(&self) -> i32 {
        let status = self.ralph(["status", "--json"]).run(SOON).stdout;
        let status: serde_json::Value = serde_json::from_str(&status).expect("a status");
        let pid = status["pid"].as_i64().expect("a running loop");
        i32::try_from(pid).expect("a process")
    }

    pub fn read_home(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.home().join(name)).ok()
    }

    /// The paths of ralph's state for the project.
    pub fn paths(&self) -> ProjectPaths {
        ProjectPaths::new(&self.project(), Some(&self.state().join("ralph"))).expect("a state directory")
    }

    /// Runs git on the store of the project's checkpoints.
    pub fn store_git<I: IntoIterator<Item: AsRef<OsStr>>>(&self, args: I) -> String {
        let store = self.paths().states().store(&self.project());
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.git(["--git-dir".into(), store.into_os_string()].into_iter().chain(args))
    }

    /// The files of the only run.
    ///
    /// # Panics
    /// If there is no run, or more than one.
    #[track_caller]
    pub fn the_run(&self) -> RunPaths {
        let runs = self.paths().run_ids();
        let [run] = &runs[..] else {
            panic!("not one run: {runs:?}")
        };
        self.paths().run(run)
    }

    /// The journal of the only run.
    #[track_caller]
    pub fn journal(&self) -> Vec<Record> {
        journal::read(&self.the_run().journal()).expect("a journal").0
    }

    /// The prompt of an iteration of the only run.
    #[track_caller]
    pub fn prompt(&self, iteration: u32) -> String {
        let path = self.the_run().prompt(iteration);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The terminal recording of an iteration of the only run, so far.
    pub fn recording(&self, iteration: u32) -> String {
        fs::read_to_string(self.the_run().recording(iteration)).unwrap_or_default()
    }
}

/// The notices of records in words, without those about the sandbox that each run of a project in /tmp has.
pub fn notices(records: &[Record]) -> Vec<String> {
    in_words(records, |_| true)
}

/// As [`notices`], but warnings only.
pub fn warnings(records: &[Record]) -> Vec<String> {
    in_words(records, |notice| notice.level == Level::Warning)
}

fn in_words(records: &[Record], is_meant: impl Fn(&Notice) -> bool) -> Vec<String> {
    let notices = events(records).filter_map(Event::notice);
    notices
        .filter(|notice| !["sandbox-on", "sandbox-exposes"].contains(&&*notice.code) && is_meant(notice))
        .map(|notice| notice.text.to_string())
        .collect()
}

/// The events of records.
pub fn events(records: &[Record]) -> impl Iterator<Item = &Event> {
    records.iter().map(|record| &record.event)
}
