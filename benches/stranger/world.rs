//! The machine of a night: a user's home, the agents, their model servers, and the ledger.

use std::{collections::BTreeSet, env, fs, ops::Range, path::Path, thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    harness::{Sandbox, agent::Agent, running::Finished, wait::poll, wait_until, write_program},
    ledger::{Comparison, Ledger, differing},
    stand_in::{Scenario, StandIn, decide, say, shell},
    tasks,
};

/// Longest time for what real agents do.
pub const LONG: Duration = Duration::from_secs(300);

/// The hands of every agent, whose name is the first argument: they apply the patch of the first open task, tick it and
/// commit, and keep the ledger. A task waits before its work while the user says so.
const HANDS: &str = r#"
dir=$(dirname "$0")
note() { printf '%s\n' "$*" >> "$LEDGER"; }
task=$(sed -n '/^- \[ \]/{s/.*\(T[0-9][0-9]\):.*/\1/p;q}' "$RALPH_PLAN")
[ "$task" ] || { note idle "$1"; exit 0; }
note began "$task" "$1"
while [ -e "$dir/hold-$task" ]; do sleep 0.05; done
git apply --index "$dir/tasks/$task.patch" || { note failed "$task"; exit 1; }
sed -i "/^- \[ \].*$task:/s/- \[ \]/- [x]/" "$RALPH_PLAN"
[ "$1" != leaves ] || exit 0
git add --all && git commit --quiet --message "Work on $task" || { note failed "$task"; exit 1; }
note committed "$task" "$1"
"#;

/// A scripted agent; its kind is the first argument.
const SCRIPTED: &str = r#"
dir=$(dirname "$0") kind=$1
cat > /dev/null
note() { printf '%s\n' "$*" >> "$LEDGER"; }
used() {
    note usage "$1" "$2" "$3"
    printf '{"type":"usage","usage":{"inputTokens":%s,"cachedTokens":0,"outputTokens":%s,"costUsd":%s}}\n' "$1" "$2" "$3"
}
over() { printf '{"type":"turn-ended","ok":true,"message":"%s"}\n' "$1"; exit 0; }
note started "$kind"
printf '{"type":"opened","session":"s","model":"words"}\n{"type":"said","text":"I begin."}\n'
used 7001 301 0.05
[ "$kind" != leaks ] || { setsid sleep 3001 & env -i setsid sh -c 'sleep 3002 & wait' & }
[ "$kind" != lies ] || [ -e "$LEDGER.lied" ] || { : > "$LEDGER.lied"; over 'All done. RALPH DONE'; }
sh "$dir/hands" "$kind" > /dev/null 2>&1
used 11000 200 0.07
over 'One task less.'
"#;

/// The kinds of scripted agents.
const SCRIPTS: [&str; 4] = ["works", "leaks", "leaves", "lies"];
/// The real agents. opencode has one configuration, and one model server, for both of its adapters.
const AGENTS: [Agent; 4] = [Agent::Codex, Agent::Claude, Agent::Gemini, Agent::OpencodeServer];

pub struct World {
    pub sandbox: Sandbox,
    pub ledger: Ledger,
    /// Names and subjects.
    pub tasks: Vec<(String, String)>,
    models: Vec<(Agent, StandIn)>,
}

impl World {
    /// Makes a home with all agents, and the project from the repository at `path` with so many tasks.
    pub fn new(path: &Path, wanted: usize, apart: bool) -> Option<World> {
        let mut sandbox = Sandbox::outside_of_tmp();
        let config = sandbox.home().join(".gitconfig");
        let known = fs::read_to_string(&config).expect("git's configuration");
        fs::write(&config, format!("{known}[safe]\n\tdirectory = *\n")).expect("git's configuration");
        let tasks = tasks::find(&sandbox, path, wanted, apart)?;
        let [hands, scripted] = ["hands", "scripted"].map(|name| sandbox.home().join(name));
        write_program(&hands, HANDS);
        write_program(&scripted, SCRIPTED);
        let mut models = Vec::new();
        for agent in AGENTS {
            let command = format!("sh '{}' {}", hands.display(), agent.adapter());
            let model = StandIn::start(Scenario::new().then(decide(
                move |request| match request.tool_results.is_empty() {
                    true => shell(&command),
                    false => say("One task less."),
                },
            )));
            agent.join(&mut sandbox, &model, 1)?;
            models.push((agent, model));
        }
        let price = json!({ "input": 1, "output": 2 });
        let prices = json!({ "stand-in": price, "codex": price, "gemini": price });
        sandbox.set_variable("RALPH_PRICES", prices.to_string());
        sandbox.lighten_opencode();
        for kind in SCRIPTS {
            let manifest = format!(
                "dialect = \"ralph-jsonl\"\n[command]\nprogram = \"sh\"\nargs = [\"{}\", \"{kind}\"]\nprompt = \"stdin\"\n\
                 [capabilities]\nusage = true\ncost = true\n[sandbox]\nwrite = [\"~/.scripted\"]\n",
                scripted.display()
            );
            sandbox.install_adapter(kind, &manifest);
        }
        let ledger = Ledger(sandbox.temporary().join("ledger"));
        sandbox.set_variable("LEDGER", ledger.0.clone());
        Some(World {
            sandbox,
            ledger,
            tasks,
            models,
        })
    }

    /// Commits a file of the user's by its path alone. Returns the commit.
    pub fn user_commits(&self, path: &str, text: &str) -> String {
        self.sandbox.write(path, text);
        self.sandbox.git(["add", path]);
        self.sandbox
            .git(["commit", "--quiet", "--message", "By the user", path]);
        self.sandbox.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// A plan of some tasks, each with its agent.
    pub fn plan<'w>(&self, tasks: Range<usize>, workers: impl Iterator<Item = &'w str>) -> String {
        let lines = self.tasks[tasks].iter().zip(workers);
        let lines = lines.map(|((name, subject), worker)| format!("- [ ] {name}: {subject} {{adapter={worker}}}\n"));
        lines.collect()
    }

    /// Has agents wait at a task.
    pub fn hold(&self, task: &str) {
        fs::write(self.sandbox.home().join(format!("hold-{task}")), "").expect("a file of the home");
    }

    pub fn release(&self, task: &str) {
        fs::remove_file(self.sandbox.home().join(format!("hold-{task}"))).expect("a file of the home");
    }

    /// Waits until an agent waits at a task.
    pub fn began(&self, task: &str) {
        wait_until(LONG, &format!("work on {task}"), || {
            let mut lines = self.ledger.lines("began").into_iter();
            lines.find(|line| line.starts_with(task))
        });
    }

    /// Waits until ralph has read what agents have reported of their use: a ralph that is killed before loses it.
    pub fn is_read(&self, status: &str, usage: &str) {
        poll(Duration::from_secs(10), || {
            let (status, [input, output, _]) = (self.json(status), self.used(0, 0.0).1);
            let read = |count: &str| status.pointer(usage)?[count].as_f64();
            (read("inputTokens")? >= input && read("outputTokens")? >= output).then_some(())
        });
    }

    /// Sends a signal to all that runs.
    pub fn signal(&self, signal: Signal) {
        for process in self.sandbox.processes() {
            _ = kill(Pid::from_raw(process.pid), signal); // it may have ended
        }
    }

    /// Waits for the end of what was killed.
    pub fn all_end(&self) {
        wait_until(LONG, "end of all that runs", || self.is_over());
    }

    fn is_over(&self) -> Option<()> {
        self.sandbox.processes().is_empty().then_some(())
    }

    /// Stops all that runs for some seconds, as a machine that sleeps.
    pub fn suspend(&self) {
        self.signal(Signal::SIGSTOP);
        thread::sleep(Duration::from_secs(3));
        self.signal(Signal::SIGCONT);
    }

    /// Arguments with the goal: the user's, or one that every tree passes.
    pub fn with_goal(args: &str) -> Vec<String> {
        let own = env::var("RALPH_STRANGER_GOAL").ok();
        let goal = own.unwrap_or_else(|| "! git grep -q -e '^<<<<<<< '".to_owned());
        let args = args.split_whitespace().map(str::to_owned);
        args.chain(["--goal".to_owned(), format!("whole={goal}")]).collect()
    }

    /// The JSON that ralph prints.
    pub fn json(&self, args: &str) -> Value {
        let printed = self.sandbox.ralph(args.split_whitespace()).run(LONG);
        serde_json::from_str(&printed.stdout).unwrap_or_else(|error| panic!("{error}: {printed:?}"))
    }

    /// The sessions of all agents, and their use of tokens and dollars. `unreported` requests were those of codex in a
    /// session that was killed. What claude cost is by its own table, thus `claude`'s word.
    pub fn used(&self, unreported: usize, claude: f64) -> (usize, [f64; 3]) {
        let mut sums = self.ledger.usage();
        let mut sessions = self.ledger.lines("started").len();
        sums[2] += claude;
        for (agent, model) in &self.models {
            let requests = model.main_requests();
            let first = requests.iter().filter(|request| request.tool_results.is_empty());
            sessions += first.count();
            let unreported = if *agent == Agent::Codex { unreported } else { 0 };
            #[allow(clippy::cast_precision_loss)] // some dozens
            let count = (requests.len() - unreported) as f64;
            // The model server's account of each request. Only claude has a cache apart, opencode takes it off the cost.
            let each = match agent {
                Agent::Claude => [1120.0, 50.0, 0.0],
                Agent::OpencodeServer => [1000.0, 50.0, 0.0010],
                _ => [1000.0, 50.0, 0.0011],
            };
            sums.iter_mut().zip(each).for_each(|(sum, each)| *sum += count * each);
        }
        (sessions, sums)
    }

    /// Compares the end of a night: `commit` is to have the patches of all tasks since `start`; the files `of_user` are
    /// to be there.
    pub fn compare_end(&self, last: &Finished, start: &str, commit: &str, of_user: &[&str]) -> Comparison {
        if last.code() != Some(0) {
            println!("{}{}", last.stdout, last.stderr);
        }
        let mut rows = Comparison::default();
        let git = |args: &[&str]| self.sandbox.git(args);
        rows.row("exit code", last.code().unwrap_or(-1), 0);
        rows.nothing("paths lost or altered", self.altered(start, commit));
        let lost = of_user.iter().filter(|path| self.sandbox.read(path).is_none());
        rows.nothing("files of the user lost", lost);
        let kept = git(&["status", "--porcelain"]) + &git(&["stash", "list"]);
        rows.nothing("left uncommitted or stashed", kept.lines());
        rows.nothing("work trees left", git(&["worktree", "list"]).lines().skip(1));
        // A guard outlives a killed ralph for a moment.
        poll(Duration::from_secs(10), || self.is_over());
        let left = self.sandbox.processes();
        rows.nothing("processes left", left.iter().map(|process| &process.command));
        rows
    }

    /// The paths in which `commit` is not `start` with the patches of all tasks. Plans and the user's files are left out.
    fn altered(&self, start: &str, commit: &str) -> BTreeSet<String> {
        let index = self.sandbox.home().join("expected");
        let git = |args: &[&str]| {
            let git = self.sandbox.program("git").env("GIT_INDEX_FILE", &index);
            let done = git.args(args).run(LONG);
            assert!(done.status.success(), "{done:?}");
            done.stdout
        };
        git(&["read-tree", start]);
        for (name, _) in &self.tasks {
            let patch = self.sandbox.home().join(format!("tasks/{name}.patch"));
            git(&["apply", "--cached", &patch.to_string_lossy()]);
        }
        let expected = git(&["write-tree"]);
        let [made, expected] = [commit, expected.trim()].map(|tree| git(&["ls-tree", "-r", "--full-tree", tree]));
        let mut paths = differing(&made, &expected);
        paths.retain(|path| !["PLAN.md", "plans/", "user"].iter().any(|own| path.starts_with(own)));
        paths
    }
}
