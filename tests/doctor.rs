//! `ralph doctor` and `ralph adapters check` where everything is in order, and where something is missing.

use std::{fs, io::Read, os::unix::fs::symlink, path::PathBuf};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use ralph_core::event::{Event, IterationEvent, Notice, UsageWindow, WindowKind, WindowSample};
use ralph_state::store::accounts::AccountFile;
use ralph_system::{os::now_ms, paths::ProjectPaths};
use serde_json::Value;

use crate::{
    harness::{Program, SOON, Sandbox, Script, running::Finished, write_program},
    tui::Terminal,
};

/// The real ralph in a place where only these agents are installed, given as name and version.
fn doctor(sandbox: &Sandbox, agents: &[(&str, &str)]) -> Program {
    sandbox.ralph(["doctor"]).env("PATH", programs(sandbox, agents))
}

/// A directory with only the programs that ralph needs and these agents.
fn programs(sandbox: &Sandbox, agents: &[(&str, &str)]) -> PathBuf {
    let directory = sandbox.home().join("programs");
    fs::create_dir_all(&directory).unwrap();
    for name in ["git", "sh"] {
        let path = which::which(name).unwrap();
        _ = symlink(path, directory.join(name)); // it is there already
    }
    for (name, version) in agents {
        write_program(&directory.join(name), &format!("#!/bin/sh\necho '{name} {version}'\n"));
    }
    directory
}

/// The line about `name`, without its status sign.
#[track_caller]
fn about<'a>(finished: &'a Finished, name: &str) -> &'a str {
    let mut lines = finished.stdout.lines();
    let found = lines.find_map(|line| line.get(2..)?.split_once(' ')?.1.strip_prefix(name));
    found
        .unwrap_or_else(|| panic!("nothing about {name}:\n{}{}", finished.stdout, finished.stderr))
        .trim_start()
}

/// Advice about `name`: the lines that follow its own.
#[track_caller]
fn todo(finished: &Finished, name: &str) -> Vec<String> {
    about(finished, name);
    let mut lines = finished.stdout.lines();
    lines.find(|line| line.split_whitespace().nth(1) == Some(name));
    lines
        .map_while(|line| Some(line.trim_start().strip_prefix('→')?.trim().to_owned()))
        .collect()
}

#[test]
fn where_all_is_well_it_says_what_a_run_would_use_and_exits_with_0() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    fs::write(sandbox.codex_home().join("auth.json"), "{}").unwrap();
    let finished = doctor(&sandbox, &[("codex", "0.171.0")]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(about(&finished, "default").starts_with("uses `codex`"), "{finished:?}");
    let codex = about(&finished, "codex");
    assert!(codex.starts_with("Codex CLI 0.171.0, as verified · "), "{codex}");
    assert!(codex.ends_with("auth.json is there"), "{codex}");
    assert!(
        about(&finished, "others").starts_with("not installed: "),
        "{finished:?}"
    );
    assert!(about(&finished, "others").contains("claude"), "{finished:?}");
    assert_eq!(about(&finished, "guard"), "process supervision works");
    assert!(!about(&finished, "room").is_empty(), "{finished:?}");
    assert!(about(&finished, "state").contains(" free"), "{finished:?}");
    assert_eq!(about(&finished, "repository"), sandbox.project().to_str().unwrap());
    assert_eq!(about(&finished, "plan"), "PLAN.md: 2 of 2 tasks open");
    assert_eq!(about(&finished, "runs"), "none yet");
    assert!(!finished.stdout.contains('\u{1b}'), "no colours without a terminal");
    assert!(
        finished.stdout.contains("\n\nralph can run here"),
        "{}",
        finished.stdout
    );
    sandbox.assert_clean();
    assert!(!sandbox.state().join("ralph").exists(), "it only looks");
}

#[test]
fn without_any_agent_nothing_can_run_and_it_says_what_to_type() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let finished = doctor(&sandbox, &[]).run(SOON);
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    assert_eq!(about(&finished, "claude"), "`claude` is not installed");
    assert_eq!(todo(&finished, "claude"), ["npm install -g @anthropic-ai/claude-code"]);
    assert!(finished.stdout.ends_with("ralph cannot run here: 1 problem to fix\n"));
    let check = sandbox
        .ralph(["adapters", "check"])
        .env("PATH", programs(&sandbox, &[]))
        .run(SOON);
    assert_eq!(check.code(), Some(4), "{check:?}");
}

#[test]
fn a_row_is_printed_while_another_check_goes_on() {
    let sandbox = Sandbox::new();
    let command = doctor(&sandbox, &[("codex", "0.171.0")]);
    let go = sandbox.home().join("go");
    let waits = format!(
        "#!/bin/sh\n'{}' 'wait-file {}'\necho 'claude 2.1.332'\n",
        env!("CARGO_BIN_EXE_fake-agent"),
        go.display()
    );
    write_program(&sandbox.home().join("programs/claude"), &waits);
    let running = command.start();
    running.wait_for_line(SOON, |line| line.contains("Codex CLI 0.171.0"));
    assert!(!running.so_far().contains("Claude Code"), "{}", running.so_far());
    fs::write(&go, "").unwrap();
    let finished = running.wait(SOON);
    assert!(
        about(&finished, "claude").starts_with("Claude Code 2.1.332"),
        "{finished:?}"
    );
}

#[test]
fn an_agent_of_your_own_is_what_runs_where_it_is_the_only_one() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let finished = doctor(&sandbox, &[]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(about(&finished, "default").starts_with("uses `script`"), "{finished:?}");
    let path = std::env::join_paths([programs(&sandbox, &[]), "/usr/bin".into(), "/bin".into()]).unwrap();
    let run = sandbox
        .ralph(["--headless", "--format", "jsonl"])
        .env("PATH", &path)
        .run(SOON);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let chosen = Event::Noticed {
        notice: Notice::warning("adapter-chosen", "using `script` (the only agent installed)"),
    };
    assert!(run.records().iter().any(|record| record.event == chosen), "{run:?}");
    sandbox.install_as("another", &Script::worker());
    sandbox.plan(1);
    let refused = sandbox.ralph(["--headless"]).env("PATH", &path).run(SOON);
    assert_eq!(refused.code(), Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("several are installed: another, script"),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("--adapter another"), "{refused:?}");
}

#[test]
fn of_several_agents_with_a_login_one_is_asked_for_once_and_used_wherever_none_is_named() {
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    let path = programs(&sandbox, &[("claude", "2.1.332"), ("codex", "0.171.0")]);
    fs::write(sandbox.codex_home().join("auth.json"), "{}").unwrap();
    let doctor = || doctor(&sandbox, &[]).run(SOON);
    assert!(
        about(&doctor(), "default").starts_with("uses `codex`"),
        "the one that is logged in: {:?}",
        doctor()
    );
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    fs::write(sandbox.home().join(".claude/.credentials.json"), "{}").unwrap();
    assert!(
        about(&doctor(), "default").starts_with("uses `claude`"),
        "{:?}",
        doctor()
    );

    let init = sandbox.untrusting_ralph(["init", "Write hello.txt"]).env("PATH", &path);
    let mut terminal = Terminal::start(&init, 100, 30);
    terminal.sees("Write PLAN.md? [Y/n]");
    terminal.press("\r");
    terminal.sees("[1 to 2; Enter takes claude]");
    terminal.press("3\r");
    terminal.sees("a number from 1 to 2");
    terminal.press("codex\r");
    assert_eq!(terminal.ends(), 0);
    assert!(
        about(&doctor(), "default").starts_with("uses `codex`, as you chose"),
        "{:?}",
        doctor()
    );
    let ralph = |args: &str| {
        sandbox
            .untrusting_ralph(args.split_whitespace())
            .env("PATH", &path)
            .run(SOON)
    };
    let shown = ralph("config").stdout;
    let adapter = shown.lines().find(|line| line.starts_with("adapter ")).unwrap();
    assert!(
        adapter.contains("\"codex\"") && adapter.contains("chosen.json:2:3"),
        "{adapter}"
    );
    assert!(shown.starts_with("chosen "), "{shown}");

    // With a choice made, `init` does not ask again.
    let mut terminal = Terminal::start(&sandbox.untrusting_ralph(["init"]).env("PATH", &path), 100, 30);
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.written().contains("Default agent"), "{}", terminal.written());

    assert_eq!(ralph("adapters use nope").code(), Some(3));
    assert_eq!(ralph("adapters use claude").code(), Some(0));
    assert!(about(&doctor(), "default").starts_with("uses `claude`, as you chose"));
    sandbox.write(".ralph/config.json", r#"{ "adapter": "codex" }"#);
    assert_eq!(about(&doctor(), "default"), "uses `codex`, as configured");
    fs::remove_file(sandbox.project().join(".ralph/config.json")).unwrap();
    // A chosen agent that was removed no longer counts.
    fs::remove_file(path.join("claude")).unwrap();
    assert!(
        about(&doctor(), "default").starts_with("uses `codex`"),
        "{:?}",
        doctor()
    );
}

#[test]
fn an_agent_of_another_version_or_without_a_login_can_be_used() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let agents = [("claude", "9.9.9")];
    let finished = doctor(&sandbox, &agents).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let run = about(&finished, "default");
    assert!(
        run.ends_with("but no agent is logged in, as far as can be told"),
        "{run}"
    );
    assert_eq!(
        about(&finished, "claude"),
        "Claude Code 9.9.9, verified with 2.1.332 · no login found"
    );
    assert_eq!(
        todo(&finished, "claude"),
        ["run `claude` and type `/login`, or set ANTHROPIC_API_KEY"]
    );
    let keyed = doctor(&sandbox, &agents)
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .run(SOON);
    assert!(
        about(&keyed, "claude").ends_with("ANTHROPIC_API_KEY is set"),
        "{keyed:?}"
    );
    assert!(!keyed.stdout.contains("logged in"), "{keyed:?}");
    assert!(!keyed.stdout.contains("sk-secret"), "no key is shown");
    let path = programs(&sandbox, &agents);
    let ended = r#"{"type":"result","subtype":"success","is_error":false,"result":"the-check-works"}"#;
    let script = format!("#!/bin/sh\ncase $1 in --version) echo 'claude 9.9.9' ;; *) echo '{ended}' ;; esac\n");
    write_program(&path.join("claude"), &script);
    let check = sandbox
        .ralph(["adapters", "check", "claude"])
        .env("PATH", path)
        .run(SOON);
    assert_eq!(check.code(), Some(0), "{check:?}");
    assert!(check.stdout.contains("works: answered after "), "{check:?}");
    assert!(
        check.stdout.contains("with version 2.1.332; others should work"),
        "{check:?}"
    );
}

#[test]
fn a_configured_agent_that_is_missing_stops_runs_whatever_else_is_there() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".ralph/config.json", r#"{ "adapter": "gemini" }"#);
    let finished = doctor(&sandbox, &[("codex", "0.171.0")]).run(SOON);
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    assert!(about(&finished, "default").contains("`gemini`"), "{finished:?}");
    assert!(
        todo(&finished, "default")
            .iter()
            .any(|todo| todo.contains("npm install -g @google/gemini-cli")),
        "{finished:?}"
    );
}

#[test]
fn a_server_that_does_not_answer_stops_runs() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    // No server listens on port 1.
    let finished = doctor(&sandbox, &[("opencode", "1.18.33")])
        .env("RALPH_SERVER", "http://127.0.0.1:1")
        .run(SOON);
    assert_eq!(finished.code(), Some(4), "{finished:?}");
    assert!(
        about(&finished, "default").contains("http://127.0.0.1:1"),
        "{finished:?}"
    );
    assert!(!todo(&finished, "default").is_empty(), "{finished:?}");
}

#[test]
fn a_broken_configuration_is_shown_with_its_place_and_the_rest_is_looked_at_all_the_same() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".ralph/config.json", "{\n  \"adaptor\": \"codex\"\n}");
    let finished = doctor(&sandbox, &[("codex", "0.171.0")]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(about(&finished, "settings").contains("config.json:2:"), "{finished:?}");
    assert!(finished.stdout.contains("`adapter`"), "a suggestion: {finished:?}");
    assert!(about(&finished, "codex").contains("0.171.0"), "{finished:?}");
}

#[test]
fn a_broken_adapter_of_ones_own_harms_nobody_else() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(
        ".ralph/adapters/mine.toml",
        "dialect = \"terminal\"\n[command]\nprogramm = \"x\"\n",
    );
    let finished = doctor(&sandbox, &[("codex", "0.171.0")]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(about(&finished, "mine").contains("mine.toml:3"), "{finished:?}");
}

#[test]
fn state_that_cannot_be_written_stops_runs() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let file = sandbox.home().join("file");
    fs::write(&file, "").unwrap();
    let finished = doctor(&sandbox, &[("codex", "0.171.0")])
        .env("RALPH_STATE_DIR", file.join("state"))
        .run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(about(&finished, "state").contains("cannot be written"), "{finished:?}");
    assert!(todo(&finished, "state")[0].contains("--state-dir"), "{finished:?}");
}

#[test]
fn without_a_repository_and_without_git_it_says_what_is_lost() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("PLAN.md"), "- [ ] x\n").unwrap();
    let agents = [("codex", "0.171.0")];
    let bare = doctor(&sandbox, &agents).current_dir(&elsewhere).run(SOON);
    assert_eq!(bare.code(), Some(0), "{bare:?}");
    assert!(about(&bare, "repository").contains("no checkpoints"), "{bare:?}");
    assert_eq!(todo(&bare, "repository"), ["git init"]);

    let without = doctor(&sandbox, &agents);
    fs::remove_file(sandbox.home().join("programs/git")).unwrap();
    let without = without.current_dir(&elsewhere).run(SOON);
    assert_eq!(without.code(), Some(0), "{without:?}");
    assert!(about(&without, "git").starts_with("not installed"), "{without:?}");
    assert!(
        !without.stdout.contains("repository"),
        "one cause is said once: {without:?}"
    );
}

#[test]
fn a_running_ralph_and_what_a_killed_one_left_are_told() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("await never"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let seen = doctor(&sandbox, &[]).run(SOON);
    let pid = format!("ralph is running here (pid {})", running.pid());
    assert_eq!(about(&seen, "runs"), pid, "{seen:?}");
    running.kill();
    running.wait_for_exit(SOON);

    let paths = ProjectPaths::new(&sandbox.project(), Some(&sandbox.state().join("ralph"))).unwrap();
    let run = paths.latest_run().expect("a run");
    let left = sandbox
        .program("sh")
        .args(["-c", "echo ready; exec sleep 600"])
        .env("RALPH_RUN_ID", &run.0)
        .start();
    left.wait_for_line(SOON, |line| line == "ready");
    let seen = doctor(&sandbox, &[]).run(SOON);
    assert_eq!(about(&seen, "runs"), format!("run {run} was interrupted"), "{seen:?}");
    let over = about(&seen, "left over");
    assert!(over.contains(&left.pid().to_string()), "{seen:?}");
    assert!(crate::harness::processes::is_running(left.pid()), "it only looks");
}

#[test]
fn a_file_that_pauses_runs_is_told_before_one_starts() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".ralph-pause", "");
    let finished = doctor(&sandbox, &[("codex", "0.171.0")]).run(SOON);
    assert_eq!(about(&finished, ".ralph-pause"), "a run starts paused", "{finished:?}");
    assert_eq!(sandbox.read(".ralph-pause").as_deref(), Some(""));
}

#[test]
fn programs_get_the_same_as_json() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let finished = doctor(&sandbox, &[("codex", "0.170.1")])
        .args(["--format", "json"])
        .run(SOON);
    let found: Value = serde_json::from_str(&finished.stdout).expect("one JSON value");
    assert_eq!(found["canRun"], true, "{finished:?}");
    let sections = found["sections"].as_array().unwrap();
    let findings = sections
        .iter()
        .flat_map(|section| section["findings"].as_array().unwrap());
    let codex = findings
        .clone()
        .find(|finding| finding["name"] == "codex")
        .expect("a finding about codex");
    assert_eq!(codex["details"]["version"], "0.170.1");
    assert_eq!(codex["details"]["verified"], "0.171.0");
    assert_eq!(codex["details"]["chosen"], "yes");
    assert_eq!(codex["state"], "weak", "nobody is logged in: {codex}");
    let absent = findings.filter(|finding| finding["state"] == "absent").count();
    assert!(absent >= 4, "{finished:?}");
}

#[test]
fn on_a_terminal_it_is_coloured_unless_nobody_wants_that() {
    let sandbox = Sandbox::new();
    let path = programs(&sandbox, &[("codex", "0.171.0")]);
    let on_terminal = |no_colour: Option<&str>| {
        let size = PtySize {
            rows: 30,
            cols: 100,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ralph"));
        command.arg("doctor");
        command.cwd(sandbox.project());
        command.env_clear();
        command.env("PATH", &path);
        command.env("HOME", sandbox.home());
        command.env("TERM", "xterm-256color");
        if let Some(value) = no_colour {
            command.env("NO_COLOR", value);
        }
        let mut reader = pair.master.try_clone_reader().unwrap();
        let mut child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut shown = Vec::new();
        _ = reader.read_to_end(&mut shown); // ends with an error when the terminal is gone
        child.wait().unwrap();
        String::from_utf8(shown).unwrap()
    };
    let coloured = on_terminal(None);
    assert!(coloured.contains("\u{1b}[32m✔\u{1b}[0m"), "{coloured}");
    assert!(coloured.contains("xterm-256color, 100×30, 256 colours"), "{coloured}");
    let plain = on_terminal(Some("1"));
    assert!(
        !plain.contains('\u{1b}') && plain.contains("no colours (NO_COLOR)"),
        "{plain}"
    );
}

#[test]
fn the_windows_of_each_account_are_shown_while_they_are_known() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let now_ms = now_ms();
    let used = |used_percent, resets_ms| WindowSample {
        at_ms: now_ms,
        window: UsageWindow {
            kind: WindowKind::FiveHour,
            used_percent,
            resets_ms,
            length_ms: 18_000_000,
        },
    };
    let work = sandbox.home().join(".codex-work");
    let states = sandbox.paths().states();
    let keep = |home: PathBuf, sample| {
        let account = AccountFile::new(&states, home.to_str().expect("a name"));
        account.keep(sample).expect("a file of accounts");
    };
    keep(sandbox.codex_home(), used(82, now_ms + 7_200_000));
    keep(work.clone(), used(40, now_ms + 1));
    let second = serde_json::json!({"codex-work": {"base": "codex", "command": {"env": {"CODEX_HOME": work}}}});
    let finished = doctor(&sandbox, &[("codex", "0.171.0")])
        .env("RALPH_ADAPTERS", second.to_string())
        .run(SOON);
    let [first, second] = ["codex ", "codex-work "].map(|name| about(&finished, name));
    assert!(
        first.contains("82% of the five-hour window is used, which is reset in 1h59m"),
        "{first}"
    );
    assert!(!second.contains("window"), "its window was reset: {second}");
}

/// A program that answers as opencode 2 is documented to: it prints the events of opencode 1, and only as a server of its
/// own.
const OPENCODE_2: &str = r#"#!/bin/sh
case "$*" in
--version) echo 2.1.3 ;;
"run --standalone --format json"*)
    cat > /dev/null
    sed -i 's/- \[ \]/- [x]/' "$RALPH_PLAN"
    cat EVENTS ;;
*) echo "unknown option" >&2; exit 1 ;;
esac
"#;

#[test]
fn opencode_2_is_named_with_what_to_set_and_works_a_plan_off_with_that() {
    let mut sandbox = Sandbox::new();
    sandbox.plan(1);
    let events = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/opencode/success.jsonl");
    sandbox.add_program("opencode", &OPENCODE_2.replace("EVENTS", events));
    let finished = sandbox.ralph(["doctor"]).run(SOON);
    let run = about(&finished, "opencode-run");
    assert!(
        run.contains("2.1.3") && run.contains("not tested with opencode 2"),
        "{run}"
    );
    let server = about(&finished, "opencode-server");
    assert!(server.contains("opencode 2 cannot be driven as a server"), "{server}");
    assert!(todo(&finished, "opencode-server")[0].starts_with("install opencode 1"));
    let advice = &todo(&finished, "opencode-run")[0];
    let (_, args) = advice.split_once(" to [").expect("arguments");
    let args: Value = serde_json::from_str(&format!("[{args}")).expect("a list");
    let settings = serde_json::json!({"adapters": {"opencode-run": {"command": {"args": args}}}});
    sandbox.write(".ralph/config.json", &settings.to_string());
    let run = ["--adapter", "opencode-run", "--headless", "--max-iterations", "1"];
    let finished = sandbox.ralph(run).run(SOON);
    // The recorded agent says that more is to be done.
    for line in ["iteration 1 completed", "plan: 0 tasks open, 1 done"] {
        assert!(finished.stdout.contains(line), "{finished:?}");
    }
}
