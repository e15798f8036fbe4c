//! Batches whose plans run on machines that share no files with this one.
//!
//! Such a machine is another sandbox: home, state, temporary directory and paths of its own. Where the system permits,
//! the sandbox of the batch is hidden from it by a mount namespace.

use std::{fs, path::PathBuf};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use crate::{
    confinement::{has_landlock, ssh::start_sshd},
    harness::{
        SOON, Sandbox, Script,
        running::{Finished, Program},
        wait_until, write_program,
    },
    many::merged_plans,
};

/// Shell functions for every agent of these tests.
const HANDS: &str = r#"
plan=$(basename "$RALPH_PLAN" .md)
tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
echo "$plan" 2>/dev/null >> "$HOME/starts"
[ ! -e "$BATCH" ] || touch "$HOME/seen"
case $prompt in *'Use tabs'*) touch "$HOME/steered";; esac
"#;

/// Ticks a task in each of its two iterations, and commits the first one.
const WORKER: &str = r#"
echo "$n" >> "$plan.txt"; tick
[ "$n" -gt 1 ] || { git add --all && git commit --quiet --message "Work of $plan"; }
over done"#;

/// As [`WORKER`], but waits in its first iteration.
const WAITER: &str = r#"
[ "$n" -gt 1 ] || await go
echo "$n" >> "$plan.txt"; tick; over done"#;

/// Writes to a file that all plans write to, and resolves conflicts by keeping both sides.
const QUARRELLER: &str = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt
else
    echo "$plan" >> shared.txt
fi
tick; over done"#;

/// A batch and its hosts, which are sandboxes.
struct Nodes {
    batch: Sandbox,
    hosts: Vec<Sandbox>,
}

impl Nodes {
    /// `agent` is installed on the hosts alone.
    fn new(agent: &str, plans: &[&str], hosts: usize) -> Nodes {
        let hosts = (0..hosts).map(|_| Sandbox::without_git()).collect();
        Nodes::of(Sandbox::new(), hosts, agent, plans)
    }

    fn of(batch: Sandbox, hosts: Vec<Sandbox>, agent: &str, plans: &[&str]) -> Nodes {
        for plan in plans {
            let text = format!("# {plan}\n\n- [ ] One of {plan}\n- [ ] Two of {plan}\n");
            batch.write(&format!("{plan}.md"), &text);
        }
        batch.write("shared.txt", "base\n");
        batch.git(["add", "--all"]);
        batch.git(["commit", "--quiet", "--message", "Plans"]);
        for host in &hosts {
            let batch = format!("BATCH='{}'\n", batch.project().display());
            host.install(&Script::jsonl(&format!("{batch}{HANDS}{agent}")));
        }
        let nodes = Nodes { batch, hosts };
        for (number, host) in nodes.hosts.iter().enumerate() {
            write_program(&nodes.enter(number), &nodes.entering(host));
        }
        nodes
    }

    /// The program that runs a line of `sh` on a host.
    fn enter(&self, host: usize) -> PathBuf {
        self.hosts[host].home().join("enter")
    }

    /// Hides the batch from the host, and takes the host's environment.
    fn entering(&self, host: &Sandbox) -> String {
        let hidden = self.batch.project();
        let hidden = hidden.parent().unwrap().display();
        let environment = host.environment().into_iter();
        let environment = environment.map(|(name, value)| format!("{name}='{}'", value.display()));
        let environment: Vec<String> = environment.collect();
        let fake = env!("CARGO_BIN_EXE_fake-agent");
        format!(
            "#!/bin/sh\n\
             if [ -z \"$INSIDE\" ]; then\n\
             \x20   export INSIDE=1\n\
             \x20   [ $(id -u) = 0 ] && own=-m || own=-Urm\n\
             \x20   if unshare $own true 2>/dev/null; then exec unshare $own sh \"$0\" \"$1\"; fi\n\
             \x20   INSIDE=visible\n\
             fi\n\
             if [ \"$INSIDE\" = 1 ]; then mount -t tmpfs none '{hidden}' && touch '{}/hidden' || exit 99; fi\n\
             cd '{0}' && exec env -i {} FAKE_AGENT='{fake}' sh -c \"$1\"\n",
            host.home().display(),
            environment.join(" ")
        )
    }

    /// Installs an engine whose hosts are reached by a script: `$1` is the host, `$2` what it is to run. `before` is
    /// run first.
    fn reach_by_script(&self, before: &str) {
        self.write_reach(before);
        self.engine(&self.reach());
    }

    fn write_reach(&self, before: &str) {
        let cases =
            (0..self.hosts.len()).map(|number| format!("{number}) enter='{}';;\n", self.enter(number).display()));
        let script = format!(
            "case $1 in\n{}*) echo \"no host $1\" >&2; exit 255;;\nesac\n\
             echo $$ >> \"$HOME/reached\"\n{before}\nexec sh \"$enter\" \"$2\"\n",
            cases.collect::<String>()
        );
        fs::write(self.batch.home().join("reach"), script).unwrap();
    }

    fn reach(&self) -> String {
        let program = self.batch.home().join("reach");
        format!(
            "command = [\"sh\", \"{}\", \"{{host}}\", \"{{command}}\"]\n",
            program.display()
        )
    }

    /// Ends all connections that there are.
    fn cut(&self) {
        let reached = self.batch.read_home("reached").unwrap_or_default();
        for pid in reached.lines().filter_map(|line| line.parse().ok()) {
            _ = kill(Pid::from_raw(pid), Signal::SIGKILL); // most have ended
        }
    }

    fn engine(&self, node: &str) {
        let hosts: Vec<String> = (0..self.hosts.len()).map(|number| format!("\"{number}=2\"")).collect();
        self.engine_of(node, &hosts.join(", "));
    }

    fn engine_of(&self, node: &str, hosts: &str) {
        self.engine_with(node, hosts, env!("CARGO_BIN_EXE_ralph"));
    }

    /// `ralph` is the program on the hosts.
    fn engine_with(&self, node: &str, hosts: &str, ralph: &str) {
        let directory = self.batch.config().join("ralph/engines");
        fs::create_dir_all(&directory).unwrap();
        let text =
            format!("timeout_ms = 20000\npatience_ms = 10000\n[node]\nralph = \"{ralph}\"\nhosts = [{hosts}]\n{node}");
        fs::write(directory.join("ours.toml"), text).unwrap();
    }

    fn many(&self, args: &str) -> Program {
        self.batch.ralph(["many"]).args(args.split_whitespace())
    }

    fn start(&self, plans: &str) -> Program {
        self.many(&format!("--adapter script --engine ours {plans}"))
    }

    #[track_caller]
    fn status(&self) -> Value {
        let finished = self.many("status --json").run(SOON);
        serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
    }

    fn target(&self) -> String {
        self.status()["target"].as_str().expect("a target").to_owned()
    }

    /// Checks that each plan is merged, once, and that the hosts have nothing of it any more.
    #[track_caller]
    fn assert_merged(&self, plans: &[&str]) {
        let mut merged = merged_plans(&self.batch, &self.target());
        merged.sort();
        assert_eq!(merged, plans);
        for host in &self.hosts {
            let state = host.state().join("ralph");
            let entries = fs::read_dir(&state).into_iter().flatten();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            // The repository stays for the next plan.
            let left: Vec<String> = names.filter(|name| name != "nodes" && name != "accounts").collect();
            assert_eq!(left, Vec::<String>::new());
            host.waits_until_nothing_runs();
        }
    }

    /// Checks that the plan is left as it is, for the reason `said`, and merged by `resume` once `mend` was done.
    #[track_caller]
    fn assert_left_and_resumed(&self, finished: &Finished, said: &str, mend: impl FnOnce()) {
        assert_eq!(finished.code(), Some(1), "{said}: {finished:?}");
        assert!(finished.stdout.contains(said), "{said}: {finished:?}");
        mend();
        let resumed = self.many("resume").run(SOON);
        assert_eq!(resumed.code(), Some(0), "{said}: {resumed:?}");
        self.assert_merged(&["api"]);
    }

    /// How often agents were started, on all hosts together.
    fn starts(&self) -> usize {
        let texts = self.hosts.iter().filter_map(|host| host.read_home("starts"));
        texts.map(|text| text.lines().count()).sum()
    }

    #[track_caller]
    fn wait_for_starts(&self, count: usize) {
        wait_until(SOON, "agents", || (self.starts() >= count).then_some(()));
    }

    fn release(&self) {
        self.hosts.iter().for_each(|host| host.release("go"));
    }
}

#[test]
fn plans_on_hosts_that_share_nothing_end_in_one_verified_target_with_a_conflict_resolved_there() {
    let nodes = Nodes::new(QUARRELLER, &["api", "ui"], 2);
    nodes.reach_by_script("");
    let finished = nodes.start("api.md ui.md --goal all=true").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for line in [
        "4 at a time by ours",
        "submitted to ours as job 0",
        "submitted to ours as job 1",
        "2 of 2 plans merged",
    ] {
        assert!(finished.stdout.contains(line), "{line}: {finished:?}");
    }
    nodes.assert_merged(&["api", "ui"]);
    let shared = nodes.batch.git(["show", &format!("{}:shared.txt", nodes.target())]);
    let mut lines: Vec<&str> = shared.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines, ["api", "base", "ui"], "{finished:?}");
}

#[test]
fn plans_over_a_real_ssh_end_in_one_verified_target_and_outlive_a_cut_connection() {
    let nodes = Nodes::new(WAITER, &["api", "ui"], 1);
    let entry = nodes.hosts[0].home().join("enter-by-ssh");
    let enter = nodes.enter(0);
    write_program(
        &entry,
        &format!("#!/bin/sh\nexec sh '{}' \"$SSH_ORIGINAL_COMMAND\"\n", enter.display()),
    );
    let Some(_server) = start_sshd(&nodes.batch, &format!("ForceCommand {}\n", entry.display())) else {
        return;
    };
    let config = nodes.batch.home().join(".ssh/config");
    let directory = nodes.batch.config().join("ralph/engines");
    fs::create_dir_all(&directory).unwrap();
    let text = format!(
        "[node]\nhosts = [\"bare=2\"]\nargs = [\"-F\", \"{}\"]\nralph = \"{}\"\n",
        config.display(),
        env!("CARGO_BIN_EXE_ralph")
    );
    fs::write(directory.join("ssh.toml"), text).unwrap();
    let running = nodes
        .many("--adapter script --engine ssh api.md ui.md --goal all=true")
        .start();
    nodes.wait_for_starts(2);
    let clients = || {
        let all = nodes.batch.processes().into_iter();
        let clients: Vec<_> = all.filter(|process| process.command.starts_with("ssh -T")).collect();
        (clients.len() >= 2).then_some(clients)
    };
    for client in wait_until(SOON, "connections of both plans", clients) {
        _ = kill(Pid::from_raw(client.pid), Signal::SIGKILL); // a request may just have ended
    }
    running.wait_for_line(SOON, |line| line.contains("its run goes on there"));
    nodes.release();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    nodes.assert_merged(&["api", "ui"]);
    assert_eq!(nodes.starts(), 4, "{finished:?}");
}

#[test]
fn a_run_outlives_a_lost_connection_and_is_followed_again() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("[ ! -e \"$HOME/down\" ] || { echo 'no route to host' >&2; exit 255; }");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    nodes.batch.release("down");
    nodes.cut();
    running.wait_for_line(SOON, |line| {
        line.contains("ours has lost the connection with 0") && line.contains("its run goes on there")
    });
    running.wait_for_line(SOON, |line| line.contains("ours does not reach 0: no route to host"));
    nodes.release();
    nodes.hosts[0].waits_until_nothing_runs();
    fs::remove_file(nodes.batch.home().join("down")).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    nodes.assert_merged(&["api"]);
    assert_eq!(nodes.starts(), 2, "once for each task");
    let report = nodes.many("report").run(SOON);
    assert!(report.stdout.contains("2 iterations"), "{report:?}");
}

#[test]
fn a_run_on_a_host_that_is_not_reached_is_left_to_itself_by_a_second_interrupt() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("[ ! -e \"$HOME/down\" ] || { echo 'no route to host' >&2; exit 255; }");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    running.wait_for_line(SOON, |line| line.contains("its job has begun"));
    nodes.batch.release("down");
    nodes.cut();
    running.wait_for_line(SOON, |line| line.contains("no route to host; its run goes on there"));
    running.signal(Signal::SIGINT);
    running.wait_for_line(SOON, |line| line.contains("stopping"));
    running.signal(Signal::SIGINT);
    let stopped = running.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    fs::remove_file(nodes.batch.home().join("down")).unwrap();
    nodes.release();
    let resumed = nodes.many("resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    nodes.assert_merged(&["api"]);
    assert_eq!(nodes.starts(), 2, "once for each task: {stopped:?} {resumed:?}");
}

#[test]
fn an_agent_in_its_sandbox_on_a_host_commits_and_is_kept_from_other_places_there() {
    let agent = "echo evil > \"$HOME/../state/ralph/nodes/evil\"\n".to_owned() + WORKER;
    let nodes = Nodes::of(
        Sandbox::outside_of_tmp(),
        vec![Sandbox::outside_of_tmp()],
        &agent,
        &["api"],
    );
    if !has_landlock(&nodes.batch) {
        return;
    }
    nodes.reach_by_script("");
    let finished = nodes.start("api.md --sandbox on").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let target = nodes.target();
    let log = nodes.batch.git(["log", "--format=%s", &target]);
    assert!(log.contains("Work of api\n"), "{log}");
    assert!(!nodes.hosts[0].state().join("ralph/nodes/evil").exists());
}

#[test]
fn a_batch_that_is_killed_finds_its_run_and_what_it_did_meanwhile() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    running.wait_for_line(SOON, |line| line.contains("its job has begun"));
    running.kill();
    running.wait(SOON);
    nodes.release();
    nodes.hosts[0].waits_until_nothing_runs();
    let resumed = nodes.many("resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    nodes.assert_merged(&["api"]);
    assert_eq!(nodes.starts(), 2, "once for each task");
}

#[test]
fn a_job_that_has_begun_without_its_batch_knowing_runs_once() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    let hidden = "sh \"$enter\" \"$2\" | grep --line-buffered -v '\"type\":\"state\"'; exit";
    nodes.reach_by_script(hidden);
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    running.wait_for_line(SOON, |line| line.contains("ours has lost the connection with 0"));
    running.kill();
    let killed = running.wait(SOON);
    assert!(!killed.stdout.contains("submitted"), "{killed:?}");
    nodes.reach_by_script("");
    nodes.release();
    let resumed = nodes.many("resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    nodes.assert_merged(&["api"]);
    assert_eq!(nodes.starts(), 2, "once for each task");
}

#[test]
fn a_run_that_is_killed_with_its_host_goes_on_in_another_job() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    running.wait_for_line(SOON, |line| line.contains("its job has begun"));
    for process in nodes.hosts[0].processes() {
        _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL); // ended with another one
    }
    running.wait_for_line(SOON, |line| line.contains("api: its process was killed"));
    nodes.release();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    nodes.assert_merged(&["api"]);
}

#[test]
fn a_run_on_a_host_is_steered_paused_and_ended_as_one_that_is_here() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    let steered = || {
        let steered = nodes.many("steer api Use tabs").run(SOON);
        (steered.code() == Some(0)).then_some(())
    };
    wait_until(SOON, "the run's socket", steered);
    let tree = nodes.status()["plans"][0]["workTree"]
        .as_str()
        .expect("a work tree")
        .to_owned();
    let there = nodes.batch.ralph(["status", "--json"]).current_dir(tree).run(SOON);
    let there: Value = serde_json::from_str(&there.stdout).expect("the status of the run");
    let shown = [&there["over"], &there["totals"]["tasksOpen"], &there["phase"]];
    assert_eq!(
        shown,
        [&json!(false), &json!(2), &json!("running iteration 1")],
        "{there}"
    );
    running.signal(Signal::SIGINT);
    let stopped = running.wait(SOON);
    assert_eq!(stopped.code(), Some(130), "{stopped:?}");
    nodes.hosts[0].waits_until_nothing_runs();
    nodes.release();
    let resumed = nodes.many("resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    nodes.assert_merged(&["api"]);
    // The run was continued, with the message that it had.
    assert!(nodes.hosts[0].read_home("steered").is_some());
}

#[test]
fn a_plan_that_is_cancelled_ends_on_its_host_even_if_no_batch_follows_it() {
    let nodes = Nodes::new(WAITER, &["api"], 1);
    nodes.reach_by_script("");
    let running = nodes.start("api.md").start();
    nodes.wait_for_starts(1);
    running.wait_for_line(SOON, |line| line.contains("its job has begun"));
    running.kill();
    running.wait(SOON);
    let cancelled = nodes.many("cancel").run(SOON);
    assert_eq!(cancelled.code(), Some(0), "{cancelled:?}");
    nodes.hosts[0].waits_until_nothing_runs();
    assert_eq!(nodes.starts(), 1);
}

#[test]
fn a_host_that_cannot_take_a_plan_is_named_with_the_reason_and_the_next_one_takes_it() {
    let nodes = Nodes::new(WORKER, &["api"], 1);
    nodes.reach_by_script("");
    nodes.engine_of(&nodes.reach(), "\"nowhere=9\", \"0\"");
    let finished = nodes.start("api.md").run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("ours does not reach nowhere: no host nowhere"),
        "{finished:?}"
    );
    nodes.assert_merged(&["api"]);
    if nodes.hosts[0].read_home("hidden").is_some() {
        assert!(
            nodes.hosts[0].read_home("seen").is_none(),
            "the host sees the project of the batch"
        );
    }

    let other = nodes.batch.home().join("other-ralph");
    for (program, said) in [
        ("exit 127", "not submitted: ours finds no ralph on 0"),
        (
            "echo welcome; echo ralph-node 9.9.9; cat >&2",
            "it has ralph 9.9.9, and this is",
        ),
        (
            "echo 'error: unrecognized subcommand' >&2; exit 2",
            "from 0: error: unrecognized subcommand (exit code 2)",
        ),
        ("echo ralph-node 9; exec sleep 600", "it has ralph 9, and this is"),
    ] {
        let nodes = Nodes::new(WORKER, &["api"], 1);
        nodes.reach_by_script("");
        write_program(&other, &format!("#!/bin/sh\n{program}\n"));
        fs::copy(&other, nodes.hosts[0].home().join("ralph")).unwrap();
        let there = nodes.hosts[0].home().join("ralph");
        nodes.engine_with(&nodes.reach(), "\"0\"", &there.display().to_string());
        let finished = nodes.start("api.md").run(SOON);
        nodes.assert_left_and_resumed(&finished, said, || nodes.engine(&nodes.reach()));
    }
}

#[test]
fn commits_that_are_cut_off_or_do_not_fit_on_the_disk_start_nothing() {
    for (before, said) in [
        (
            "dd bs=1 count=30000 2>/dev/null | sh \"$enter\" \"$2\"; exit",
            "the commits were cut off after ",
        ),
        ("ulimit -f 20", ".bundle: File too large"),
    ] {
        let nodes = Nodes::new(WORKER, &["api"], 1);
        // Incompressible.
        let noise = nodes
            .batch
            .program("sh")
            .args(["-c", "head -c 200000 /dev/urandom > noise"])
            .run(SOON);
        assert_eq!(noise.code(), Some(0));
        nodes.batch.git(["add", "--all"]);
        nodes.batch.git(["commit", "--quiet", "--message", "Noise"]);
        nodes.reach_by_script(before);
        let finished = nodes.start("api.md").run(SOON);
        nodes.assert_left_and_resumed(&finished, said, || nodes.write_reach(""));
        assert_eq!(nodes.starts(), 2);
    }
}

/// A host that is in other hands: it starts nothing, and answers as each case wants it.
fn hostile(nodes: &Nodes, follow: &str, take: &str) {
    let version = env!("CARGO_PKG_VERSION");
    let program = format!(
        "#!/bin/sh\nread -r request\necho 'ralph-node {version}'\ncase $request in\n\
         *'\"type\":\"start\"'*)\n\
         \x20   echo '{{\"type\":\"ready\",\"known\":[\"--all\",\"HEAD\"]}}'; read -r header\n\
         \x20   echo '{{\"type\":\"state\",\"state\":{{\"type\":\"running\"}}}}'; cat > /dev/null;;\n\
         *'\"type\":\"follow\"'*) {follow};;\n*'\"type\":\"take\"'*) {take};;\n\
         *) echo '{{\"type\":\"done\"}}';;\nesac\n"
    );
    let there = nodes.hosts[0].home().join("ralph");
    write_program(&there, &program);
    nodes.engine_with(&nodes.reach(), "\"0\"", &there.display().to_string());
}

#[test]
fn what_a_host_in_other_hands_sends_changes_nothing_here() {
    let over = r#"echo '{"type":"state","state":{"type":"ended","exit":null,"tail":""}}'"#;
    let journal = r#"printf '{"type":"journal","run":"../../../../evil","from":0,"bytes":3}\n{}\n'"#;
    let gap = r#"printf '{"type":"journal","run":"20261127-000000-a","from":7,"bytes":3}\n{}\n'"#;
    let flood = r#"echo '{"type":"journal","run":"20261127-000000-a","from":0,"bytes":99999999999}'"#;
    let option = r#"echo '{"type":"bundle","tip":"--upload-pack=touch evil","bytes":0}'"#;
    let zeros = "0".repeat(40);
    let garbage = format!(r#"printf '{{"type":"bundle","tip":"{zeros}","bytes":4}}\nevil'"#);
    let nothing = format!(r#"echo '{{"type":"bundle","tip":"{zeros}","bytes":0}}'"#);
    for (follow, take, said) in [
        (
            journal,
            option,
            "cannot follow 0, which named a run \"../../../../evil\"",
        ),
        (gap, option, "that do not continue those known"),
        (flood, option, "was sent 99999999999 bytes at once"),
        (
            over,
            option,
            "0 named \"--upload-pack=touch evil\" as the commit of its work",
        ),
        (over, &garbage, "cannot take in the work of 0: `git bundle"),
        (over, &nothing, "and sent nothing"),
    ] {
        let nodes = Nodes::new(WORKER, &["api"], 1);
        nodes.reach_by_script("");
        hostile(&nodes, follow, take);
        let before = nodes.batch.git(["for-each-ref", "refs/heads/main"]);
        let running = nodes.start("api.md").start();
        running.wait_for_line(SOON, |line| line.contains(said));
        running.kill();
        running.wait(SOON);
        assert_eq!(nodes.batch.git(["for-each-ref", "refs/heads/main"]), before);
        let written = nodes
            .batch
            .program("find")
            .args([nodes.batch.home().parent().unwrap()])
            .args(["-name", "evil*"]);
        assert_eq!(written.run(SOON).stdout, "", "{said}");
    }
}

#[test]
fn a_project_below_the_root_of_its_repository_is_at_the_same_place_on_a_host() {
    let nodes = Nodes::new("pwd >> \"$HOME/where\"; tick; over done", &[], 1);
    nodes.batch.write("web/api.md", "- [ ] One\n");
    nodes.batch.git(["add", "--all"]);
    nodes.batch.git(["commit", "--quiet", "--message", "Web"]);
    nodes.reach_by_script("");
    let web = nodes.batch.project().join("web");
    let finished = nodes.start("api.md").current_dir(web).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let at = nodes.hosts[0].read_home("where").expect("an agent");
    assert!(at.trim_end().ends_with("/api/web"), "{at}");
}
