//! The sandbox: actions that agents, background tasks and goals are denied though their user could take them, each tried by a real
//! process. The real agents work in it in `agents_loop::a_plan` (strict) and `agents_loop::resuming`.

mod attempts;
mod day;
mod sockets;
pub(crate) mod ssh;

use std::{
    cell::Cell,
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    os::{
        linux::net::SocketAddrExt,
        unix::fs::{PermissionsExt, symlink},
        unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixListener},
    },
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use nix::unistd::getuid;
use ralph_core::event::{Event, GateEvent, Notice, Record};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::harness::{
    Program, SOON, Sandbox, Script,
    agents::{is_on_path, skipped},
};
use attempts::{ATTEMPTS, PRELUDE};

/// Whether this kernel has Landlock. Says that the test is skipped if not.
pub(crate) fn has_landlock(sandbox: &Sandbox) -> bool {
    let shown = sandbox.ralph(["sandbox"]).run(SOON);
    let there = shown.stdout.contains("(this system has Landlock");
    if !there {
        skipped("the sandbox: this kernel has no Landlock");
    }
    there
}

/// Whether this kernel supports the strict sandbox. Says that the test is skipped if not.
pub(crate) fn can_be_strict(sandbox: &Sandbox) -> bool {
    let shown = sandbox
        .ralph(["--sandbox", "strict", "sandbox", "run", "true"])
        .run(SOON);
    let is_strict = shown.code() == Some(0);
    if !is_strict {
        skipped(&format!("the strict sandbox: {}", shown.stderr));
    }
    is_strict
}

/// Things of the user on this machine that a confined program might reach for.
struct UserResources<'a> {
    sandbox: &'a Sandbox,
    outside: PathBuf,
    /// Two servers: `here` is listed as a host, `there` is not.
    here: SocketAddr,
    there: SocketAddr,
    abstract_name: String,
    /// The number of a piece of System V memory.
    memory: String,
    _sockets: (UnixListener, UnixListener, UnixDatagram),
}

impl<'a> UserResources<'a> {
    fn new(sandbox: &'a Sandbox) -> Self {
        let outside = sandbox.home().join("documents");
        for (directory, file) in [(outside.clone(), "readable"), (sandbox.home().join(".ssh"), "id")] {
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(file), "text\n").unwrap();
        }
        fs::create_dir_all(sandbox.home().join(".config")).unwrap();
        for file in [sandbox.home().join(".config/hub"), outside.join("passwords")] {
            fs::write(file, "text\n").unwrap();
        }
        fs::write(sandbox.home().join(".bash_history"), "mysql --password=x\n").unwrap();
        let abstract_name = sandbox.home().display().to_string();
        let address = UnixAddr::from_abstract_name(&abstract_name).unwrap();
        let sockets = (
            UnixListener::bind(outside.join("socket")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
            UnixDatagram::bind(outside.join("log")).unwrap(),
        );
        let made = sandbox.program("ipcmk").args(["--shmem", "9"]).run(SOON);
        let memory = made.stdout.trim().rsplit(' ').next().unwrap().to_owned();
        UserResources {
            sandbox,
            outside,
            memory,
            here: serve(),
            there: serve(),
            abstract_name,
            _sockets: sockets,
        }
    }

    /// A script that makes every attempt and records how each one ended.
    fn attempts(&self, name: &str) -> String {
        let mut text = PRELUDE.to_owned();
        for (variable, value) in [
            ("outside", self.outside.display().to_string()),
            ("here", self.here.to_string()),
            ("there", self.there.to_string()),
            ("abstract", self.abstract_name.clone()),
            ("memory", self.memory.clone()),
            ("keyctl", nix::libc::SYS_keyctl.to_string()),
        ] {
            writeln!(text, "{variable}='{value}'; export {variable}").unwrap();
        }
        for (what, command, ..) in ATTEMPTS {
            writeln!(
                text,
                "echo '{what}:' >> {name}.log; if ( {command} ) >> {name}.log 2>&1; then echo {what} >> {name}.did; else echo {what} >> {name}.failed; fi"
            )
            .unwrap();
        }
        text
    }

    /// Lets an agent, a background task and a goal make every attempt in `mode`, as the user with this id. `starting` builds a
    /// command of ralph from the arguments.
    fn try_all(&self, mode: &str, user: &str, starting: impl Fn(&[&str]) -> Program) -> Vec<Record> {
        let sandbox = self.sandbox;
        sandbox.plan(1);
        // Git is told to sign with a program that always fails.
        sandbox.git(["config", "--global", "commit.gpgsign", "true"]);
        sandbox.git(["config", "--global", "gpg.program", "false"]);
        let denied =
            r#"{"type":"tool-ended","call":"1","tool":"sh","ok":false,"output":"cat: ~/.ssh/id: Permission denied"}"#;
        sandbox.install(&Script::jsonl(&format!(
            "printf '%s' \"$prompt\" > prompt.txt\n{}\necho '{denied}'\nsaid ready\n\
             until test -e background.ended; do sleep 0.01; done\nwork; over 'Done.'",
            self.attempts("agent")
        )));
        fs::write(sandbox.project().join("goal.sh"), self.attempts("goal")).unwrap();
        let background = self.attempts("background") + ": > background.ended\n";
        fs::write(sandbox.project().join("background.sh"), background).unwrap();
        // The room in which the goal works is gone when the run is done.
        let goals = r#"{"goals": [{"name": "judge", "command": "sh goal.sh; cat goal.log >&2; sed s/^/did:/ goal.did; sed s/^/failed:/ goal.failed"}]}"#;
        let settings = sandbox.config().join("ralph/config.json");
        fs::write(settings, goals).unwrap();
        let program = starting(&[
            "--adapter",
            "script",
            "--sandbox",
            mode,
            "--headless",
            "--format",
            "jsonl",
        ]);
        let program = program
            .env("RALPH_SANDBOX_HOSTS", self.here.to_string())
            .env("PGPASSFILE", self.outside.join("passwords"));
        let (outside, room) = (self.outside.clone(), sandbox.paths().room().join("tree"));
        let places = [sandbox.project(), room];
        let (ended, ends) = mpsc::channel();
        let listening = thread::spawn(move || listen_at_ports_of_proxy(&places, &outside, &ends));
        let running = program.start();
        running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
        let started = starting(&["tasks", "start", "sh background.sh"]).run(SOON);
        assert_eq!(started.code(), Some(0), "{started:?}");
        let finished = running.wait(SOON);
        drop(ended);
        // The agent and the background task of it have one port, goals another.
        let ports = listening.join().unwrap();
        assert!(mode != "strict" || ports == 2, "{ports}");
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        for who in ["agent", "background"] {
            let lines = |end: &str| sandbox.read(&format!("{who}.{end}")).unwrap_or_default();
            self.assert_attempts(who, mode, user, lines);
        }
        let records = finished.records();
        let printed = crate::harness::events(&records).find_map(|event| match event {
            Event::Gate(GateEvent::GoalChecked { result, .. }) => Some(result.tail.to_string()),
            _ => None,
        });
        let printed = printed.expect("the goal ran");
        self.assert_attempts("goal", mode, user, |end| {
            let lines = printed
                .lines()
                .filter_map(|line| line.strip_prefix(end)?.strip_prefix(':'));
            lines.map(|line| format!("{line}\n")).collect()
        });
        assert_eq!(fs::read_to_string(self.outside.join("readable")).unwrap(), "text\n");
        sandbox.assert_nothing_runs();
        let prompt = sandbox.read("prompt.txt").unwrap();
        assert!(
            prompt.contains("\nA sandbox lets you write to this directory"),
            "{prompt}"
        );
        let place = sandbox.home().join(".ssh");
        assert!(noticed(&records).any(|notice| notice.code == "commits-unsigned" && notice.text.contains("gpg-agent")));
        let socket = self.outside.join("socket");
        let is_refused = |notice: &Notice| {
            notice.code == "socket-refused"
                && notice.data["path"] == *socket.to_string_lossy()
                && !notice.data.contains_key("name")
        };
        let refusals = noticed(&records).filter(|notice| is_refused(notice));
        assert_eq!(refusals.count(), 1, "a refused socket is told once");
        let is_told = noticed(&records)
            .any(|notice| notice.code == "sandbox-hides" && notice.data["place"] == *place.to_string_lossy());
        assert!(is_told, "what a tool was denied is told");
        records
    }

    #[track_caller]
    fn assert_attempts(&self, name: &str, mode: &str, user: &str, lines: impl Fn(&str) -> String) {
        let (did, failed) = (lines("did"), lines("failed"));
        let mut wrong = Vec::new();
        let (mut ways_out, mut open, mut permitted, mut refused) = (0, 0, 0, 0);
        for (what, command, on, strict) in ATTEMPTS {
            let found = (
                did.lines().any(|line| line == what),
                failed.lines().any(|line| line == what),
            );
            assert_ne!(found.0, found.1, "{what} was tried once");
            let Some(verdict) = (if mode == "on" { on } else { strict }) else {
                continue;
            };
            let count = if verdict { &mut permitted } else { &mut ways_out };
            *count += 1;
            if verdict != found.0 {
                let count = if verdict { &mut refused } else { &mut open };
                *count += 1;
                wrong.push((what, command, found.0));
            }
        }
        #[allow(clippy::print_stderr)] // a part of docs/reference/quality.md
        {
            eprintln!(
                "mode {mode}, user {user}, {name}: {ways_out} ways out, {open} open; {permitted} permitted actions, {refused} refused"
            );
        }
        assert!(wrong.is_empty(), "{name}, {mode}: {wrong:#?}\n{}", lines("log"));
    }
}

/// Listens at another address of this machine, at each port that a confined process reads from its environment and names
/// by a file `port-N` in one of the `places`, until `ends` is closed. Returns the number of ports.
fn listen_at_ports_of_proxy(places: &[PathBuf], outside: &Path, ends: &mpsc::Receiver<()>) -> usize {
    let mut bound = BTreeSet::new();
    while ends.recv_timeout(Duration::from_millis(10)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let files = places
            .iter()
            .filter_map(|place| fs::read_dir(place).ok())
            .flatten()
            .flatten();
        let ports: Vec<u16> = files
            .filter_map(|file| file.file_name().to_str()?.strip_prefix("port-")?.parse().ok())
            .collect();
        for port in ports.into_iter().filter(|port| bound.insert(*port)) {
            // In the mode `on`, it is the port of the user's own proxy, which another test may have.
            if let Ok(listener) = TcpListener::bind(("127.0.0.2", port)) {
                thread::spawn(move || listener.incoming().for_each(drop));
            }
            fs::write(outside.join(format!("bound-{port}")), "").unwrap();
        }
    }
    bound.len()
}

impl Drop for UserResources<'_> {
    fn drop(&mut self) {
        self.sandbox
            .program("ipcrm")
            .args(["--shmem-id", &self.memory])
            .run(SOON);
    }
}

/// Answers every request with an empty response until the tests end.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = [0; 1024];
            // The request's content does not matter, but it has to be read or the answer does not arrive.
            _ = client.read(&mut head);
            _ = client.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

fn noticed(records: &[Record]) -> impl Iterator<Item = &Notice> {
    records.iter().filter_map(|record| match &record.event {
        Event::Noticed { notice } => Some(notice),
        _ => None,
    })
}

#[test]
fn a_confined_agent_and_a_confined_goal_work_in_the_project_and_reach_nothing_of_the_users() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    fs::copy(env!("CARGO_BIN_EXE_fake-agent"), sandbox.home().join("reach")).unwrap();
    let records = UserResources::new(&sandbox).try_all("on", &getuid().to_string(), |args| sandbox.ralph(args));
    let is_said = noticed(&records).any(|notice| notice.code == "sandbox-on");
    assert!(is_said, "the record says that the run was confined");
}

#[test]
fn a_strict_sandbox_leaves_an_agent_and_a_goal_nothing_but_the_hosts_that_are_listed() {
    let sandbox = Sandbox::outside_of_tmp();
    if !can_be_strict(&sandbox) {
        return;
    }
    fs::copy(env!("CARGO_BIN_EXE_fake-agent"), sandbox.home().join("reach")).unwrap();
    let user = UserResources::new(&sandbox);
    let records = user.try_all("strict", &getuid().to_string(), |args| sandbox.ralph(args));
    assert_refusals(&user, &records);
}

#[test]
fn a_strict_sandbox_holds_for_another_user_as_well() {
    let sandbox = Sandbox::in_tmp();
    if !getuid().is_root() || !can_be_strict(&sandbox) {
        return;
    }
    let user = UserResources::new(&sandbox);
    let records = try_all_as_another_user(&user, "strict");
    assert_refusals(&user, &records);
}

#[test]
fn a_sandbox_holds_for_another_user_as_well() {
    let homes = Path::new("/home");
    if !getuid().is_root() || !homes.is_dir() {
        return;
    }
    let sandbox = Sandbox::among(homes);
    if has_landlock(&sandbox) {
        try_all_as_another_user(&UserResources::new(&sandbox), "on");
    }
}

/// Makes every attempt as another user, to whom the sandbox is given.
fn try_all_as_another_user(user: &UserResources, mode: &str) -> Vec<Record> {
    let sandbox = user.sandbox;
    let ralph = sandbox.home().join("ralph");
    fs::copy(env!("CARGO_BIN_EXE_ralph"), &ralph).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_fake-agent"), sandbox.home().join("reach")).unwrap();
    let is_given = Cell::new(false);
    user.try_all(mode, OTHER_USER, |args| {
        if !is_given.replace(true) {
            let root = sandbox.home().parent().unwrap().to_owned();
            let given = sandbox.program("chown").args(["-R", OTHER_USER]).arg(root).run(SOON);
            assert_eq!(given.code(), Some(0), "{given:?}");
        }
        let who = ["--reuid", OTHER_USER, "--regid", OTHER_USER, "--clear-groups"];
        sandbox.program("setpriv").args(who).arg(&ralph).args(args)
    })
}

/// A user id that no account has.
const OTHER_USER: &str = "61234";

#[track_caller]
fn assert_refusals(user: &UserResources, records: &[Record]) {
    let listed = user.here.to_string();
    let is_said =
        noticed(records).any(|notice| notice.code == "sandbox-strict" && notice.data["hosts"].contains(&listed));
    assert!(is_said, "the record says what the run was confined to");
    let refused = noticed(records).filter(|notice| notice.code == "connection-refused");
    let mut refused: Vec<String> = refused
        // At the port of the proxy.
        .filter(|notice| notice.data["host"] != "127.0.0.2")
        .map(|notice| format!("{}:{}", notice.data["host"], notice.data["port"]))
        .collect();
    refused.sort();
    // Each refused host is recorded once, however many processes tried it.
    assert_eq!(refused, [user.there.to_string(), "169.254.169.254:80".to_owned()]);
}

#[test]
fn without_a_sandbox_the_same_attempts_reach_all_that_is_the_users_and_by_default_none_does() {
    for (args, reaches) in [(&["--sandbox", "off"][..], true), (&[], false)] {
        let sandbox = Sandbox::outside_of_tmp();
        if !reaches && !has_landlock(&sandbox) {
            return;
        }
        let outside = sandbox.home().join("documents");
        fs::create_dir(&outside).unwrap();
        sandbox.plan(1);
        let attempts = format!(
            "{PRELUDE}echo x > {}/made; kill -0 $guard && echo x > reached",
            outside.display()
        );
        // Its adapter names no state.
        sandbox.install(&Script::jsonl(&format!("{attempts}\nwork; over 'Done.'")));
        let finished = sandbox.ralph(["--adapter", "script"]).args(args).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(outside.join("made").exists(), reaches, "{finished:?}");
        assert_eq!(sandbox.read("reached").is_some(), reaches, "{finished:?}");
    }
}

#[test]
fn a_run_says_which_path_its_goal_and_an_agent_on_a_terminal_were_denied() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    sandbox.plan(1);
    let path = |name: &str| sandbox.home().join(name).display().to_string();
    for directory in ["of-agent", "of-goal"] {
        fs::create_dir(path(directory)).unwrap();
    }
    let denied = format!("echo x > {}/x\nwork", path("of-agent"));
    sandbox.install(&Script::terminal(&denied));
    let goal = format!("tests=mkdir {}/x", path("of-goal"));
    let finished = sandbox.looping(["-n", "1", "--goal", goal.as_str()]).run(SOON);
    let records = finished.records();
    let told = noticed(&records).filter(|notice| notice.code == "sandbox-denied");
    let told: BTreeSet<String> = told.map(|notice| notice.text.to_string()).collect();
    let expected = [("the agent", path("of-agent")), ("a goal", path("of-goal"))].map(|(who, path)| {
        format!("the sandbox kept {who} from writing {path}; `ralph sandbox allow {path}` allows it")
    });
    assert_eq!(told, BTreeSet::from(expected.clone()), "{finished:?}");
    // An agent that ends by it, too.
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!("echo x > {}/x || exit 1", path("of-agent"))));
    let ended = sandbox.looping(["-n", "1"]).run(SOON);
    let records = ended.records();
    let mut told = noticed(&records).filter(|notice| notice.code == "sandbox-denied");
    let said = told.next().map(|notice| notice.text.to_string());
    assert_eq!(said.as_ref(), Some(&expected[0]), "{ended:?}");
}

#[test]
fn a_commit_works_and_nothing_more_in_a_work_tree_a_submodule_a_hidden_directory_and_a_linked_home() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let home = sandbox.home();
    fs::create_dir(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "text\n").unwrap();
    let linked = home.with_file_name("linked");
    symlink(&home, &linked).unwrap();
    let make = r#"
        git worktree add -q ~/tree
        git init -q ~/whole && cd ~/whole
        git -c protocol.file.allow=always submodule --quiet add "$OLDPWD" part && git commit -qm whole
        git init -q ~/.hidden/project && cd ~/.hidden/project && git commit -q --allow-empty -m first
        git init -q ~/plain && cd ~/plain && git commit -q --allow-empty -m first"#;
    let made = sandbox.program("sh").args(["-ec", make]).run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    let attempt = "echo x > new; git add new; git commit -qm new
        if cat ~/.ssh/id || echo x > ~/escaped; then exit 9; fi 2> /dev/null";
    for (directory, home) in [
        ("tree", &home),
        ("whole/part", &home),
        (".hidden/project", &home),
        ("plain", &linked),
    ] {
        // `sandbox run` confines even if the settings turn the sandbox off.
        let run = sandbox.ralph(["sandbox", "run", "--", "sh", "-ec", attempt]);
        let run = run.current_dir(home.join(directory)).env("HOME", home).run(SOON);
        assert_eq!(run.code(), Some(0), "{directory}: {run:?}");
        let explained = sandbox
            .ralph(["sandbox", "explain"])
            .arg(home.join(".ssh/id"))
            .current_dir(home.join(directory))
            .env("HOME", home)
            .run(SOON);
        assert!(
            explained.stdout.contains("cannot be read"),
            "{directory}: {explained:?}"
        );
    }
}

#[test]
fn agents_of_root_read_no_keys_of_other_users() {
    let sandbox = Sandbox::outside_of_tmp();
    let homes = Path::new("/home");
    if !getuid().is_root() || !homes.is_dir() || !has_landlock(&sandbox) {
        return;
    }
    let other = tempfile::tempdir_in(homes).unwrap();
    for (file, adapter, is_read) in [
        (".ssh/id", "codex", false),
        (".config/gh/hosts.yml", "codex", false),
        (".claude/settings.json", "codex", false),
        // The program may be there.
        (".claude/settings.json", "claude", true),
        ("work/text", "codex", true),
    ] {
        let file = other.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "text\n").unwrap();
        let read = sandbox
            .ralph(["--adapter", adapter, "sandbox", "run", "--", "cat"])
            .arg(&file)
            .run(SOON);
        assert_eq!(
            read.code() == Some(0),
            is_read,
            "{adapter}, {}: {read:?}",
            file.display()
        );
    }
}

#[test]
fn queues_of_the_users_programs_are_out_of_reach_where_doctor_does_not_say_that_they_are_shared() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let made = sandbox.program("ipcmk").args(["--queue"]).run(SOON);
    let queue = made.stdout.trim().rsplit(' ').next().unwrap().to_owned();
    let doctor = sandbox.ralph(["doctor"]).run(SOON);
    let is_shared = doctor.stdout.contains("queues and semaphores are shared");
    let inside = |script: &str| {
        sandbox
            .ralph(["--sandbox", "on", "sandbox", "run", "--", "sh", "-ec", script])
            .run(SOON)
    };
    let own = inside("id=$(ipcmk --queue | sed 's/.* //'); ipcrm --queue-id $id");
    assert_eq!(own.code(), Some(0), "{own:?}");
    let removed = inside(&format!("ipcrm --queue-id {queue}"));
    assert_eq!(removed.code() == Some(0), is_shared, "{doctor:?} {removed:?}");
    let left = sandbox.program("ipcrm").args(["--queue-id", &queue]).run(SOON);
    assert_eq!(left.code() == Some(0), !is_shared, "{left:?}");
    assert!(!is_shared || !getuid().is_root(), "{doctor:?}");
}

#[test]
fn a_program_that_an_agent_has_replaced_says_its_version_with_the_rights_of_the_agent() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    // An installation in the agent's own state, as older versions of Claude Code made it.
    let bin = sandbox.home().join(".claude/local");
    fs::create_dir_all(&bin).unwrap();
    let script = "#!/bin/sh\necho x > ~/.claude/ran\necho x > ~/escaped\necho 1.2.3\n";
    fs::write(bin.join("claude"), script).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), env::var("PATH").unwrap());
    for command in [
        ["adapters", "check"].as_slice(),
        &["adapters", "check", "claude"],
        &["doctor"],
    ] {
        for (mode, escapes) in [("auto", false), ("off", true)] {
            let checked = sandbox
                .ralph(["--sandbox", mode])
                .args(command)
                .env("PATH", &path)
                .run(SOON);
            assert!(checked.stdout.contains("1.2.3"), "{checked:?}");
            assert!(sandbox.read_home(".claude/ran").is_some(), "{checked:?}");
            let escaped = sandbox.home().join("escaped");
            assert_eq!(escaped.exists(), escapes, "{command:?}, {mode}");
            _ = fs::remove_file(escaped);
        }
    }
}

#[test]
fn a_link_in_the_place_of_a_writable_directory_opens_nothing_to_the_next_iteration() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let outside = sandbox.home().join("documents");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(sandbox.project().join("build")).unwrap();
    sandbox.plan(2);
    // The escape is found twice: within the run, and when the next run looks up its directories.
    sandbox.install(&Script::jsonl(
        "rmdir build; ln -sfn ~/documents build; echo x > build/escaped-$n; work; over 'One less.'",
    ));
    for _ in 0..2 {
        let args = ["--adapter", "script", "--sandbox", "on", "--headless"];
        let finished = sandbox.ralph(args).env("RALPH_SANDBOX_WRITE", "build").run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        sandbox.plan(2);
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_git_that_an_agent_puts_into_a_directory_of_path_is_not_run_by_ralph() {
    let sandbox = Sandbox::outside_of_tmp();
    let own = sandbox.project().join(".venv/bin");
    fs::create_dir_all(&own).unwrap();
    let ran = sandbox.home().join("ran");
    sandbox.write("planted.sh", &format!("#!/bin/sh\necho \"$@\" >> {}\n", ran.display()));
    // The planted program is gone while the agent itself commits.
    sandbox.install(&Script::jsonl(
        "rm -f .venv/bin/git; work; cp planted.sh .venv/bin/git; chmod +x .venv/bin/git; over 'One less.'",
    ));
    let path = format!("{}:{}", own.display(), env::var("PATH").expect("PATH"));
    for mode in ["on", "off"] {
        sandbox.plan(1);
        let args = ["--adapter", "script", "--sandbox", mode, "--headless"];
        let finished = sandbox.ralph(args).env("PATH", &path).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert!(own.join("git").is_file());
        for command in ["report", "diff", "status", "doctor"] {
            sandbox.ralph([command]).env("PATH", &path).run(SOON);
        }
        assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "", "{mode}");
    }
}

#[test]
fn the_order_and_the_output_of_a_checked_goal_are_not_where_an_agent_writes() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let found = "find \"$TMPDIR\" -mindepth 1; test -z \"$(find \"$TMPDIR\" -mindepth 1)\"";
    let command = format!("look={found}; ! touch \"$XDG_STATE_HOME\"/ralph/*/checks/planted");
    let goal = ["--sandbox", "on", "--goal", command.as_str()];
    let checked = sandbox.ralph(goal.iter().copied().chain(["goals", "check"])).run(SOON);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    let left = fs::read_dir(sandbox.paths().checks()).expect("the directory").count();
    assert_eq!(left, 0);
    // An agent may check goals, too.
    let inside = ["--sandbox", "on", "sandbox", "run", "--"];
    let ralph = [env!("CARGO_BIN_EXE_ralph"), "--goal", "look=true", "goals", "check"];
    let checked = sandbox.ralph(inside.into_iter().chain(ralph)).run(SOON);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
}

#[test]
fn python_keeps_what_it_compiled_before_the_work_and_code_of_agents_cannot_add_to_it() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) || !is_on_path("python3") {
        return;
    }
    sandbox.plan(1);
    let looked = "import importlib.util, sys, unittest
from pathlib import Path
is_kept = Path(importlib.util.cache_from_source(unittest.__file__)).is_file()
try: Path(sys.pycache_prefix, 'planted').write_text('x'); planted = True
except OSError: planted = False
print('kept' if is_kept else 'compiled anew', 'planted' if planted else 'refused')
";
    sandbox.write("look.py", looked);
    sandbox.install(&Script::jsonl("work; over 'One less.'"));
    let args = [
        "--adapter",
        "script",
        "--sandbox",
        "on",
        "--goal",
        "look=python3 look.py",
        "--headless",
        "--format",
        "jsonl",
    ];
    let finished = sandbox
        .ralph(args)
        .env("RALPH_GATE_BASELINE", "on")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let looks = crate::harness::events(&records).filter_map(|event| match event {
        Event::Gate(GateEvent::GoalChecked { result, .. }) => Some(result.tail.trim().to_owned()),
        _ => None,
    });
    assert_eq!(Vec::from_iter(looks), ["kept planted", "kept refused"]);
}

#[test]
fn builds_with_cargo_and_npm_work_in_either_mode() {
    let sandbox = Sandbox::outside_of_tmp();
    if !can_be_strict(&sandbox) {
        return;
    }
    let cargo = env!("CARGO");
    let tools = Path::new(cargo).parent().unwrap().display();
    let path = format!("{tools}:{}", env::var("PATH").unwrap());
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"tiny\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    sandbox.write("src/lib.rs", "#[test]\nfn works() {}\n");
    sandbox.write(
        "package.json",
        r#"{"dependencies": {"part": "file:part"}, "scripts": {"test": "node -e 0"}}"#,
    );
    sandbox.write("part/package.json", r#"{"name": "part", "version": "1.0.0"}"#);
    let mut build = "cargo test -q --offline && rm -r target".to_owned();
    if is_on_path("npm") {
        build += " && npm install --offline --no-audit && npm test && rm -r node_modules";
    }
    for mode in ["on", "strict"] {
        let built = sandbox
            .ralph(["--sandbox", mode, "sandbox", "run", "--", "sh", "-c", &build])
            .env("PATH", &path)
            .env("RUSTC", Path::new(cargo).with_file_name("rustc"))
            .run(Duration::from_secs(120));
        assert_eq!(built.code(), Some(0), "{mode}: {built:?}");
    }
}

/// A home in which no tool has worked yet, without the network.
#[test]
fn tools_fill_their_caches_in_a_new_home() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    sandbox.install(&Script::worker());
    let cargo = Path::new(env!("CARGO"));
    let tools = cargo.parent().expect("a directory").display();
    let path = format!("{tools}:{}", env::var("PATH").expect("a path"));
    let dependency = sandbox.home().join("dependency");
    fs::create_dir_all(dependency.join("src")).expect("a directory");
    fs::write(dependency.join("src/lib.rs"), "").expect("a file");
    fs::write(
        dependency.join("Cargo.toml"),
        "[package]\nname = \"dependency\"\nedition = \"2021\"\n[workspace]\n",
    )
    .expect("a file");
    let commit = "git init -q && git add -A && git -c user.name=a -c user.email=a@localhost commit -qm a";
    let mut made = std::process::Command::new("sh");
    let made = made.args(["-c", commit]).current_dir(&dependency).status();
    assert!(made.expect("a shell").success());
    sandbox.write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"a\"\nedition = \"2021\"\n[workspace]\n[dependencies]\ndependency = {{ git = \"file://{}\" }}\n",
            dependency.display()
        ),
    );
    sandbox.write("src/lib.rs", "");
    sandbox.write("package/package.json", r#"{ "name": "a", "version": "1.0.0" }"#);
    sandbox.write("go.mod", "module a\n");
    sandbox.write("a.go", "package main\nfunc main() {}\n");
    for (program, command) in [
        ("cargo", "cargo fetch && test -d ~/.cargo/git/db"),
        (
            "npm",
            "npm pack --silent ./package && npm cache add ./a-1.0.0.tgz && test -d ~/.npm/_cacache",
        ),
        ("go", "go build -o /dev/null . && test -d \"$(go env GOCACHE)/00\""),
    ] {
        if program != "cargo" && !is_on_path(program) {
            continue;
        }
        let done = sandbox
            .ralph(["--adapter", "script", "sandbox", "run", "--", "sh", "-c", command])
            .env("PATH", &path)
            .env("RUSTC", cargo.with_file_name("rustc"))
            .run(SOON);
        assert_eq!(done.code(), Some(0), "{command}: {done:?}");
    }
}

/// Runs `work` as in a container that forbids Landlock.
fn without_landlock<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let calls = [
        nix::libc::SYS_landlock_create_ruleset,
        nix::libc::SYS_landlock_add_rule,
        nix::libc::SYS_landlock_restrict_self,
    ];
    let rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    let refused = SeccompAction::Errno(nix::libc::EPERM.unsigned_abs());
    let arch = env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    thread::scope(|scope| {
        let forbidden = scope.spawn(|| {
            apply_filter(&filter).unwrap();
            work()
        });
        forbidden.join().unwrap()
    })
}

#[test]
fn where_the_system_cannot_confine_on_says_so_and_strict_does_not_start() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let ralph = |mode: &str| {
        let args = [
            "--adapter",
            "script",
            "--sandbox",
            mode,
            "--headless",
            "--format",
            "jsonl",
        ];
        {
            let program = sandbox.ralph(args);
            without_landlock(|| program.run(SOON))
        }
    };
    let strict = ralph("strict");
    assert_eq!(strict.code(), Some(3), "{strict:?}");
    assert!(
        strict.stderr.contains("Landlock version") && strict.stderr.contains("--sandbox on"),
        "{strict:?}"
    );
    assert!(sandbox.read("work-1.txt").is_none());
    let on = ralph("on");
    assert_eq!(on.code(), Some(0), "{on:?}");
    assert!(
        noticed(&on.records()).any(|notice| notice.code == "sandbox-missing"),
        "{on:?}"
    );
    let program = sandbox.ralph(["--sandbox", "on", "doctor"]);
    let doctor = without_landlock(|| program.run(SOON));
    assert!(doctor.stdout.contains("no Landlock"), "{doctor:?}");
}

#[test]
fn a_place_is_explained_with_the_setting_that_would_change_it() {
    let sandbox = Sandbox::outside_of_tmp();
    let explained = |path: &str| sandbox.ralph(["sandbox", "explain", path]).run(SOON).stdout;
    let key = sandbox.home().join(".ssh/id").display().to_string();
    std::fs::create_dir(sandbox.home().join(".ssh")).expect("a directory");
    let shows = format!("to show it: `ralph sandbox allow {key}`");
    assert!(explained(&key).contains("cannot be read or written") && explained(&key).contains(&shows));
    assert!(explained("src/main.rs").contains("may be read and written"));
    assert!(explained("/etc/passwd").contains("may be read and run, not written"));
}

#[test]
fn a_path_is_explained_and_allowed_as_the_sandbox_has_it() {
    let sandbox = Sandbox::outside_of_tmp();
    let home = sandbox.home().to_owned();
    std::fs::create_dir_all(home.join(".cache")).expect("a directory");
    std::fs::create_dir(home.join("data")).expect("a directory");
    let ralph = |args: &[&str]| sandbox.ralph(["sandbox"]).args(args).run(SOON);
    let writes = |directory: &str| {
        let path = home.join(directory).display().to_string();
        let made = ralph(&["run", "--", "mkdir", "-p", &format!("{path}/sub")]);
        (made.code() == Some(0), ralph(&["explain", &path]).stdout)
    };
    // A cache that no tool has used yet, and a directory that is in no list.
    for (place, before, after) in [
        (".cache/pypoetry", "cannot be written: ", "made "),
        ("data", "may be read and run, not written", "added to sandbox.write in "),
        ("new/deep", "may be read and run, not written", "made "),
    ] {
        let path = home.join(place).display().to_string();
        let (may, explained) = writes(place);
        assert!(!may && explained.contains(before), "{place}: {explained}");
        assert!(
            explained.contains(&format!("`ralph sandbox allow {path}`")),
            "{explained}"
        );
        if place == "data" {
            let unasked = ralph(&["allow", &path]);
            assert_eq!(unasked.code(), Some(2), "{unasked:?}");
        }
        let allowed = ralph(&["allow", "--yes", &path]);
        assert!(
            allowed.code() == Some(0) && allowed.stdout.starts_with(after),
            "{allowed:?}"
        );
        let (may, explained) = writes(place);
        assert!(
            may && explained.contains("may be read and written"),
            "{place}: {explained}"
        );
        let again = ralph(&["allow", "--yes", &path]);
        assert!(again.stdout.contains("may be written already"), "{again:?}");
    }
    let home = home.display().to_string();
    let all = ralph(&["allow", "--yes", &home]);
    assert!(
        all.code() == Some(2) && all.stderr.contains("with your keys"),
        "{all:?}"
    );
}

#[test]
fn a_place_that_cannot_be_hidden_is_listed_once() {
    let sandbox = Sandbox::in_tmp();
    let keys = sandbox.home().join(".ssh");
    std::fs::create_dir(&keys).expect("a directory");
    let shown = sandbox.ralph(["sandbox"]).run(SOON).stdout;
    // To an agent of root, the machine's own `~/.ssh` is that of another user.
    let keys = keys.display().to_string();
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains(&keys)).collect();
    let expected = format!("not hidden: {keys}, since it is inside a writable place");
    assert_eq!(lines, [expected]);
}

#[test]
fn a_project_cannot_widen_its_own_sandbox() {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph/config.json", r#"{"sandbox": {"write": ["/"]}}"#);
    let finished = sandbox.ralph(["sandbox"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished.stderr.contains("config.json:1:14") && finished.stderr.contains("cannot be set by a project"),
        "{finished:?}"
    );
}
