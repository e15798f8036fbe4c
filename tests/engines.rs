//! Batches whose plans run on an engine: real engines where they are installed, and faulty ones.

use std::{env, fs, path::PathBuf, time::SystemTime};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::{
    SOON, Sandbox, Script,
    http::free_port,
    running::{Program, Running},
    skipped, wait_until,
};
use crate::many::merged_plans;

/// Set to `required`, it turns a missing engine into a failure.
const POLICY: &str = "RALPH_TEST_ENGINES";

/// Shell functions for every agent of these tests.
const HANDS: &str = r#"
plan=$(basename "$RALPH_PLAN" .md)
tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
"#;

/// Ticks a task in each of its two iterations.
const WORKER: &str = "echo \"$n\" >> \"$plan.txt\"; tick; over done";
/// Leaves a process in a session of its own that ignores signals and never ends by itself.
const HANGER: &str =
    "echo $n >> ../starts.$plan; setsid sh -c 'trap \"\" TERM INT HUP; exec sleep 3600' & await go; tick; over done";

/// Plans for agents that hang.
const HUNG: [&str; 3] = ["api", "ui", "docs"];

pub(crate) fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let is_required = env::var(POLICY).is_ok_and(|policy| policy == "required");
    assert!(is_there || !is_required, "{program} is required and not installed");
    if !is_there {
        skipped(&format!("a test with the real {program}: it is not installed"));
    }
    is_there
}

fn sandbox(agent: &str, plans: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(&format!("{HANDS}{agent}")));
    for plan in plans {
        let text = format!("# {plan}\n\n- [ ] One of {plan}\n- [ ] Two of {plan}\n");
        sandbox.write(&format!("{plan}.md"), &text);
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plans"]);
    sandbox
}

/// Overrides an engine's manifest as its user would.
fn tune(sandbox: &Sandbox, engine: &str, text: &str) {
    let dir = sandbox.config().join("ralph/engines");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join(format!("{engine}.toml")), text).unwrap();
}

fn many(sandbox: &Sandbox, args: &str) -> Program {
    let program = sandbox.ralph(["many"]).args(args.split_whitespace());
    program.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
}

#[track_caller]
fn status(sandbox: &Sandbox) -> Value {
    let finished = many(sandbox, "status --json").run(SOON);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Checks that each plan is merged, once.
#[track_caller]
fn assert_merged(sandbox: &Sandbox, plans: &[&str]) {
    let status = status(sandbox);
    let target = status["target"].as_str().expect("a target");
    let merged = merged_plans(sandbox, target);
    assert_eq!(merged.len(), plans.len(), "{merged:?}");
    for plan in plans {
        assert!(merged.iter().any(|name| name == plan), "{plan}: {merged:?}");
        assert_eq!(sandbox.git(["show", &format!("{target}:{plan}.txt")]), "1\n2\n");
    }
}

/// How often the agent of a plan was started.
fn starts(sandbox: &Sandbox, plan: &str) -> usize {
    let trees = sandbox.state().join("ralph/worktrees");
    let mut dirs = vec![trees];
    for _ in 0..2 {
        let below = |dir: &PathBuf| fs::read_dir(dir).map(|all| all.map(|one| one.unwrap().path()).collect::<Vec<_>>());
        dirs = dirs.iter().flat_map(|dir| below(dir).unwrap_or_default()).collect();
    }
    let texts = dirs
        .iter()
        .filter_map(|dir| fs::read_to_string(dir.join(format!("starts.{plan}"))).ok());
    texts.map(|text| text.lines().count()).sum()
}

/// The number of agents started for these plans; checks that no plan was started twice.
#[track_caller]
fn started(sandbox: &Sandbox, plans: &[&str]) -> usize {
    let counts: Vec<usize> = plans.iter().map(|plan| starts(sandbox, plan)).collect();
    assert!(counts.iter().all(|count| *count <= 1), "{plans:?}: {counts:?}");
    counts.iter().sum()
}

#[track_caller]
fn wait_for_started(sandbox: &Sandbox, plans: &[&str], count: usize) {
    wait_until(SOON, "agents", || (started(sandbox, plans) >= count).then_some(()));
}

/// A Task Spooler that belongs to the sandbox alone.
fn task_spooler(sandbox: &Sandbox) -> Option<PathBuf> {
    if !is_installed("tsp") {
        return None;
    }
    let socket = sandbox.home().join("tsp");
    sandbox.set_variable("TS_SOCKET", socket.as_os_str());
    sandbox.set_variable("TS_SLOTS", "2");
    tune(sandbox, "task-spooler", "patience_ms = 3000\n[state]\nevery_ms = 100\n");
    Some(socket)
}

fn tsp(sandbox: &Sandbox, args: &str) -> String {
    let finished = sandbox.program("tsp").args(args.split_whitespace()).run(SOON);
    finished.stdout
}

#[test]
fn four_plans_in_a_task_spooler_end_in_one_verified_target() {
    let plans = ["api", "ui", "docs", "tests"];
    let sandbox = sandbox(WORKER, &plans);
    let Some(_) = task_spooler(&sandbox) else { return };
    let args = "--adapter script --engine task-spooler api.md ui.md docs.md tests.md --goal all=true";
    let finished = many(&sandbox, args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for line in [
        "4 plans, 4 at a time by task-spooler",
        "submitted to task-spooler as job 3",
        "its job has begun",
        "done: 4 of 4 plans merged",
    ] {
        assert!(finished.stdout.contains(line), "{line}: {finished:?}");
    }
    assert_merged(&sandbox, &plans);
    tsp(&sandbox, "-K");
    sandbox.waits_until_nothing_runs();
}

#[test]
fn jobs_of_a_task_spooler_outlive_a_batch_that_is_killed_and_are_cancelled_with_all_they_started() {
    let sandbox = sandbox(HANGER, &HUNG);
    let Some(_) = task_spooler(&sandbox) else { return };
    let running = many(&sandbox, "--adapter script --engine task-spooler api.md ui.md docs.md").start();
    wait_for_started(&sandbox, &HUNG, 2);
    running.wait_for_line(SOON, |line| line.contains("as job 2"));
    running.kill();
    running.wait(SOON);
    // Two jobs go on; the third waits for a slot.
    assert_eq!(tsp(&sandbox, "").matches("running").count(), 2);
    let resumed = many(&sandbox, "resume").start();
    resumed.wait_for_line(SOON, |line| line.contains("resuming"));
    resumed.signal(Signal::SIGINT);
    let stopped = resumed.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    // The waiting job was never begun, and no job was begun twice.
    assert_eq!(started(&sandbox, &HUNG), 2);
    tsp(&sandbox, "-K");
    sandbox.waits_until_nothing_runs();
}

#[test]
fn jobs_of_a_task_spooler_outlive_a_batch_whose_terminal_is_gone_with_the_queue_that_it_has_started() {
    let sandbox = sandbox(HANGER, &["api", "ui"]);
    let Some(_) = task_spooler(&sandbox) else { return };
    let running = many(&sandbox, "--adapter script --engine task-spooler api.md ui.md").start();
    wait_for_started(&sandbox, &HUNG, 2);
    running.wait_for_line(SOON, |line| line.contains("as job 1"));
    running.signal(Signal::SIGHUP);
    let stopped = running.wait(SOON);
    assert_eq!(stopped.code(), Some(129), "{stopped:?}");
    assert_eq!(tsp(&sandbox, "").matches("running").count(), 2);
    let resumed = many(&sandbox, "resume").start();
    sandbox.release("go");
    let finished = resumed.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    // Once for each task.
    assert_eq!(["api", "ui"].map(|plan| starts(&sandbox, plan)), [2, 2], "{finished:?}");
    tsp(&sandbox, "-K");
}

fn kill_when(sandbox: &Sandbox, running: Running, event: &str) {
    let batches = sandbox.paths().state().join("batches");
    let is_there = || {
        let entries = fs::read_dir(&batches).ok()?;
        let mut journals = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("events.jsonl")).ok());
        journals.any(|text| text.contains(event)).then_some(())
    };
    wait_until(SOON, event, is_there);
    running.kill();
    running.wait(SOON);
}

#[test]
fn a_job_that_was_submitted_and_not_recorded_runs_once() {
    let sandbox = sandbox(WORKER, &["api"]);
    let Some(_) = task_spooler(&sandbox) else { return };
    // Prints the id only after the batch was killed.
    let hidden = "[submit]\ncommand = [\"sh\", \"-c\", \"shift; tsp \\\"$@\\\" && sleep 3600\", \"sh\", \"tsp\", \"-n\", \"-L\", \"{name}\", \"sh\", \"{script}\"]\n";
    tune(&sandbox, "task-spooler", &format!("{hidden}[state]\nevery_ms = 100\n"));
    let running = many(&sandbox, "--adapter script --engine task-spooler api.md").start();
    wait_until(SOON, "the job", || tsp(&sandbox, "").contains("batch-").then_some(()));
    kill_when(&sandbox, running, "work-tree-added");
    tune(&sandbox, "task-spooler", "[state]\nevery_ms = 100\n");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_merged(&sandbox, &["api"]);
    assert_eq!(
        tsp(&sandbox, "").lines().filter(|line| line.contains("batch-")).count(),
        1
    );
    tsp(&sandbox, "-K");
}

/// A Slurm for one sandbox and its user alone.
struct Cluster {
    controller: Option<Running>,
    _nodes: Vec<Running>,
}

impl Cluster {
    /// A cluster of one node with two cores.
    fn start(sandbox: &Sandbox) -> Option<Cluster> {
        Cluster::of_nodes(sandbox, &["here"], 2)
    }

    fn of_nodes(sandbox: &Sandbox, nodes: &[&str], cores: u32) -> Option<Cluster> {
        if !["slurmctld", "slurmd", "sbatch"].into_iter().all(is_installed) {
            return None;
        }
        let dir = sandbox.home().join("slurm");
        fs::create_dir_all(dir.join("state")).unwrap();
        for node in nodes {
            fs::create_dir_all(dir.join(format!("spool.{node}"))).unwrap();
        }
        let said = |program: &str, arg: &str| sandbox.program(program).args([arg]).run(SOON).stdout.trim().to_owned();
        let (host, user) = (said("hostname", "-s"), said("id", "-un"));
        let controller = free_port();
        // Several daemons on one machine, each with a name and a port.
        let node = |node: &&str| {
            let port = free_port();
            format!("NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} State=UNKNOWN\n")
        };
        let declared: String = nodes.iter().map(node).collect();
        let here = dir.display();
        let conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/none\nCredType=cred/none\nSlurmctldPort={controller}\n\
             SlurmctldPidFile={here}/controller.pid\nSlurmdPidFile={here}/%n.pid\n\
             StateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool.%n\n\
             SlurmctldLogFile={here}/controller.log\nSlurmdLogFile={here}/%n.log\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\nSwitchType=switch/none\n\
             SchedulerType=sched/builtin\nSchedulerParameters=batch_sched_delay=0,sched_interval=1\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\nKillWait=20\nMinJobAge=2\n\
             {declared}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(dir.join("slurm.conf"), conf).unwrap();
        sandbox.set_variable("SLURM_CONF", dir.join("slurm.conf"));
        tune(
            sandbox,
            "slurm",
            "patience_ms = 5000\n[job]\nmemory_mib = 1\n[state]\nevery_ms = 300\n",
        );
        let mut cluster = Cluster {
            controller: None,
            _nodes: nodes
                .iter()
                .map(|node| sandbox.program("slurmd").args(["-D", "-N", node]).start())
                .collect(),
        };
        cluster.start_controller(sandbox);
        Some(cluster)
    }

    fn start_controller(&mut self, sandbox: &Sandbox) {
        self.controller = Some(sandbox.program("slurmctld").args(["-D"]).start());
        let is_up = || {
            let finished = sandbox.program("sinfo").args(["--noheader", "--format=%T"]).run(SOON);
            let mut states = finished.stdout.lines();
            let are_up = states.all(|state| ["idle", "mixed", "allocated"].contains(&state.trim()));
            (are_up && !finished.stdout.is_empty()).then_some(())
        };
        wait_until(SOON, "the nodes of Slurm", is_up);
    }

    /// Waits until the controller has saved the state of its jobs, which happens every few seconds and only after a
    /// change. A controller that is killed earlier restarts its jobs.
    fn wait_until_saved(&self, sandbox: &Sandbox) {
        let before = SystemTime::now();
        let change = ["update", "JobId=3", "Comment=known"];
        assert!(sandbox.program("scontrol").args(change).run(SOON).status.success());
        let jobs = sandbox.home().join("slurm/state/job_state");
        let is_saved = || {
            let saved = jobs.metadata().and_then(|metadata| metadata.modified());
            saved.is_ok_and(|saved| saved > before).then_some(())
        };
        wait_until(SOON, "the state of Slurm's jobs", is_saved);
    }

    fn kill_controller(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.kill();
            controller.wait(SOON);
        }
    }
}

#[test]
#[ignore = "part of the full matrix"]
fn four_plans_on_a_busy_node_of_slurm_end_in_one_verified_target() {
    let plans = ["api", "ui", "docs", "tests"];
    let sandbox = sandbox(WORKER, &plans);
    let Some(_cluster) = Cluster::start(&sandbox) else {
        return;
    };
    let args = "--adapter script --engine slurm api.md ui.md docs.md tests.md --goal all=true";
    let finished = many(&sandbox, args).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("submitted to slurm as job 4"), "{finished:?}");
    assert_merged(&sandbox, &plans);
}

#[test]
#[ignore = "part of the full matrix"]
fn a_batch_on_slurm_survives_its_own_end_and_that_of_the_controller_and_leaves_nothing_of_what_is_cancelled() {
    let sandbox = sandbox(HANGER, &HUNG);
    let Some(mut cluster) = Cluster::start(&sandbox) else {
        return;
    };
    let running = many(&sandbox, "--adapter script --engine slurm api.md ui.md docs.md").start();
    wait_for_started(&sandbox, &HUNG, 2);
    running.wait_for_line(SOON, |line| line.contains("submitted to slurm as job 3"));
    cluster.wait_until_saved(&sandbox);
    running.kill();
    running.wait(SOON);
    cluster.kill_controller();
    let resumed = many(&sandbox, "resume").start();
    resumed.wait_for_line(SOON, |line| line.contains(": slurm refused the command: "));
    cluster.start_controller(&sandbox);
    // The job is cancelled from outside: it ends with its agent's processes, and its plan is left as it is.
    sandbox.program("scancel").args(["1"]).run(SOON);
    resumed.wait_for_line(SOON, |line| {
        line.contains("not merged: its job was cancelled at slurm (CANCELLED)")
    });
    wait_for_started(&sandbox, &HUNG, 3);
    resumed.signal(Signal::SIGINT);
    let stopped = resumed.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    assert_eq!(started(&sandbox, &HUNG), 3);
    let left = || {
        sandbox
            .processes()
            .into_iter()
            .filter(|process| process.command.contains("sleep 3600"))
            .count()
    };
    wait_until(SOON, "the end of all that agents left", || (left() == 0).then_some(()));
}

#[test]
#[ignore = "part of the full matrix"]
fn six_plans_on_three_nodes_of_slurm_end_in_one_verified_target() {
    let plans = ["api", "ui", "docs", "tests", "cli", "web"];
    let sandbox = sandbox(&format!("echo \"$SLURMD_NODENAME\" > \"$plan.node\"; {WORKER}"), &plans);
    let Some(_cluster) = Cluster::of_nodes(&sandbox, &["one", "two", "three"], 1) else {
        return;
    };
    tune(
        &sandbox,
        "slurm",
        "patience_ms = 5000\n[job]\nmemory_mib = 1\n[state]\nevery_ms = 300\n",
    );
    let files: Vec<String> = plans.iter().map(|plan| format!("{plan}.md")).collect();
    let args = format!("--adapter script --engine slurm {} --goal all=true", files.join(" "));
    let finished = many(&sandbox, &args).run(SOON * 2);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_merged(&sandbox, &plans);
    let target = status(&sandbox)["target"].as_str().expect("a target").to_owned();
    let node = |plan: &&str| sandbox.git(["show", &format!("{target}:{plan}.node")]);
    let mut nodes: Vec<String> = plans.iter().map(node).collect();
    nodes.sort();
    nodes.dedup();
    assert_eq!(nodes, ["one\n", "three\n", "two\n"]);
}

/// An engine in a few lines of `sh`, which keeps its jobs in `$dir` and misbehaves as a test asks.
fn bad_engine(sandbox: &Sandbox, submit: &str, state: &str) {
    let dir = sandbox.home().join("engine");
    fs::create_dir_all(&dir).unwrap();
    let script = format!(
        "dir={}\ncase $1 in\n\
         submit) echo \"$2 $4 $5\" >> $dir/submitted; {submit};;\n\
         state) {state};;\n\
         cancel) [ ! -f $dir/pid ] || kill $(cat $dir/pid) 2>/dev/null;;\n\
         esac\n",
        dir.display()
    );
    fs::write(dir.join("engine"), script).unwrap();
    let program = dir.join("engine");
    let program = program.display();
    let manifest = format!(
        "timeout_ms = 1000\npatience_ms = 1500\n\
         [submit]\ncommand = [\"sh\", \"{program}\", \"submit\", \"{{name}}\", \"{{script}}\", \"{{minutes}}\", \"{{seconds}}\"]\njob = '^job (?<job>\\d+)'\n\
         [state]\ncommand = [\"sh\", \"{program}\", \"state\", \"{{job}}\"]\nstate = '^(?<state>\\w+)'\nevery_ms = 100\n\
         unknown = 'no such job'\n\
         [state.means]\nqueued = [\"waits\"]\nrunning = [\"runs\"]\nended = [\"over\"]\ncut_off = [\"late\"]\ncancelled = [\"gone\"]\n\
         [cancel]\ncommand = [\"sh\", \"{program}\", \"cancel\", \"{{job}}\"]\n"
    );
    tune(sandbox, "bad", &manifest);
}

/// Starts the job as a daemon would, and prints its id.
const RUNS: &str = "setsid sh \"$3\" >/dev/null 2>&1 </dev/null & echo $! > $dir/pid; echo job 7";
/// Says that the job waits until it has begun, and gives `answer` from then on.
fn begun(answer: &str) -> String {
    format!("ls $dir/../../state/ralph/*/batches/*/jobs/*.began >/dev/null 2>&1 || {{ echo waits; exit; }}; {answer}")
}

const ENDED: &str = "kill -0 $(cat $dir/pid) 2>/dev/null && echo runs || echo over";

#[test]
fn what_a_bad_engine_does_is_said_in_one_sentence_and_nothing_is_lost() {
    // The engine's reaction to a job and to a query, the resulting message, and whether the plan is merged
    // nevertheless.
    let table: [(&str, &str, &str, bool); 11] = [
        (
            "echo 'no quota' >&2; exit 1",
            ENDED,
            "not submitted: bad refused the command: no quota",
            false,
        ),
        (
            "echo 'yes, master'",
            ENDED,
            "reported no job id: `sh` printed “yes, master”",
            false,
        ),
        (
            "sleep 600",
            ENDED,
            "bad does not answer: `sh`: it did not end within 1 s",
            false,
        ),
        // The engine starts the job, but reports a failure.
        (
            &format!("{RUNS} >/dev/null; sleep 1; exit 1"),
            ENDED,
            "submitted to bad as a job without a reported id",
            true,
        ),
        // The engine starts every job twice.
        (
            &format!("{RUNS}; setsid sh \"$3\" >/dev/null 2>&1 </dev/null &"),
            ENDED,
            "api: done",
            true,
        ),
        (RUNS, &begun("echo 'no such job' >&2; exit 1"), "api: done", true),
        (RUNS, &begun("echo over"), "api: done", true),
        (RUNS, "echo runs", "api: done", true),
        (
            RUNS,
            "echo perhaps",
            "bad reports state “perhaps”, which `state.means` does not list",
            true,
        ),
        (
            "echo job 7",
            "echo gone",
            "not merged: its job was cancelled at bad (gone)",
            false,
        ),
        (
            "echo job 7",
            "echo 'no such job' >&2; exit 1",
            "bad no longer knows its job, which never began",
            false,
        ),
    ];
    for (submit, state, said, merged) in table {
        let sandbox = sandbox(
            "echo $n >> ../starts.$plan; echo \"$n\" >> \"$plan.txt\"; tick; over done",
            &["api"],
        );
        bad_engine(&sandbox, submit, state);
        let finished = many(&sandbox, "--adapter script --engine bad api.md").run(SOON);
        assert!(finished.stdout.contains(said), "{said}: {finished:?}");
        assert_eq!(finished.code(), Some(i32::from(!merged)), "{said}: {finished:?}");
        if merged {
            assert_merged(&sandbox, &["api"]);
        } else {
            // With a working engine, the batch continues where it was.
            bad_engine(&sandbox, RUNS, ENDED);
            let resumed = many(&sandbox, "resume").run(SOON);
            assert_eq!(resumed.code(), Some(0), "{said}: {resumed:?}");
            assert_merged(&sandbox, &["api"]);
        }
    }
}

#[test]
fn a_job_that_its_engine_cuts_off_goes_on_in_another_as_long_as_tasks_get_done() {
    let agent = "echo $n >> ../starts.$plan; echo \"$n\" >> \"$plan.txt\"; tick; [ \"$n\" -gt 1 ] || { touch ../cut; await go; }; over done";
    let sandbox = sandbox(agent, &["api"]);
    // The first job is ended once its agent has done a task.
    let state = "[ $(wc -l < $dir/submitted) = 1 ] && ls $dir/../../state/ralph/worktrees/*/*/cut >/dev/null 2>&1 && { kill -9 $(cat $dir/pid); echo late; exit; }; kill -0 $(cat $dir/pid) 2>/dev/null && echo runs || echo over";
    bad_engine(&sandbox, RUNS, state);
    let running = many(&sandbox, "--adapter script --engine bad api.md").start();
    running.wait_for_line(SOON, |line| line.contains("api: cut off by bad (late)"));
    running.wait_for_line(SOON, |line| line.contains("api: running again"));
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let submitted = fs::read_to_string(sandbox.home().join("engine/submitted")).unwrap();
    let asks_for_a_day = |line: &str| line.ends_with(" 1440 86400");
    assert!(
        submitted.lines().count() == 2 && submitted.lines().all(asks_for_a_day),
        "{submitted}"
    );
}

#[test]
fn an_engine_that_is_not_there_or_not_trusted_is_named_before_anything_starts() {
    let sandbox = sandbox(WORKER, &["api"]);
    let refused = |args: &str, code: i32, said: &str| {
        let finished = many(&sandbox, args).run(SOON);
        assert_eq!(finished.code(), Some(code), "{finished:?}");
        assert!(
            finished.stderr.contains(said) && finished.stderr.contains("hint: "),
            "{finished:?}"
        );
        assert_eq!(sandbox.git(["branch", "--list", "ralph/*"]), "");
    };
    refused("--adapter script --engine slrum api.md", 3, "did you mean `slurm`?");
    tune(
        &sandbox,
        "absent",
        "[submit]\ncommand = [\"no-such-queue\"]\njob = '(?<job>.)'\n[state]\ncommand = [\"x\"]\nstate = '(?<state>.)'\n[cancel]\ncommand = [\"x\"]\n",
    );
    refused(
        "--adapter script --engine absent api.md",
        3,
        "program `no-such-queue` is not on PATH",
    );
    tune(&sandbox, "half", "[submit]\ncommand = [\"x\"]\n");
    refused("--adapter script --engine half api.md", 3, "`submit.job` is missing");
    let listed = sandbox.ralph(["engines"]).run(SOON);
    for word in ["local", "slurm", "22.05.8", "not tested", "broken: "] {
        assert!(listed.stdout.contains(word), "{word}: {listed:?}");
    }
}
