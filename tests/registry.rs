//! Agents of the ACP registry: added by `ralph adapters add`, or run as they are by `--adapter acp:ID`.

use std::{env, fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    agents_loop::{assert_done, in_order, plan_one_task, work_on},
    harness::{SOON, Sandbox, agent::Agent, agents::needs, running::Finished, write_program},
    stand_in::StandIn,
    tui::Terminal,
};

/// A program that speaks ACP if it is called with `acp`: ralph's own agent.
fn agent_program() -> String {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    format!("#!/bin/sh\nfor last; do :; done\n[ \"$last\" = acp ] || exit 9\nexec {ralph} __native-agent\n")
}

/// A sandbox with a program `goose` on PATH that uses `model`.
fn with_goose(model: &StandIn) -> Sandbox {
    let mut sandbox = Agent::Native.sandbox(model, 0).expect("ralph's own agent");
    sandbox.add_program("goose", &agent_program());
    plan_one_task(&sandbox);
    sandbox
}

fn adapter_file(sandbox: &Sandbox, id: &str) -> PathBuf {
    sandbox.config().join(format!("ralph/adapters/{id}.toml"))
}

fn added(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.ralph(["adapters", "add"]).args(args).run(SOON)
}

/// Checks that nothing was added, and that the error names everything in `naming`.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, finished: &Finished, code: i32, naming: &[&str]) {
    assert_eq!(finished.code(), Some(code), "{finished:?}");
    for name in naming {
        assert!(
            finished.stderr.contains(name),
            "`{name}` is not in: {}",
            finished.stderr
        );
    }
    let is_plain = |letter: char| letter == '\n' || !letter.is_control();
    assert!(finished.stderr.chars().all(is_plain), "{:?}", finished.stderr);
    assert!(!sandbox.config().join("ralph/adapters").exists(), "nothing was written");
}

#[test]
fn an_agent_whose_program_is_there_works_without_being_added() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let sandbox = with_goose(&model);
    let finished = sandbox
        .ralph(["--adapter", "acp:goose", "--headless", "--format", "jsonl"])
        .run(SOON);
    assert_done(&finished, 1, 1);
    assert!(
        finished.stdout.contains(r#""adapter":"acp:goose""#),
        "{}",
        finished.stdout
    );
    assert!(!adapter_file(&sandbox, "goose").exists());
    sandbox.assert_nothing_runs();

    let shown = sandbox.ralph(["adapters", "show", "acp:goose"]).run(SOON);
    assert!(shown.stdout.contains("program = \"goose\""), "{shown:?}");
    let checked = sandbox.ralph(["adapters", "check", "acp:goose"]).run(SOON);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    let check = |adapter: &str| {
        sandbox.write("PLAN.md", &format!("- [ ] Write more {{adapter={adapter}}}\n"));
        sandbox.ralph(["plan", "check"]).run(SOON)
    };
    assert_eq!(check("acp:goose").code(), Some(0), "a task may name it");
    assert_eq!(check("acp:gose").code(), Some(2));
    let default = sandbox.ralph(["adapters", "use", "acp:goose"]).run(SOON);
    assert_refused(&sandbox, &default, 2, &["ralph adapters add goose"]);
}

#[test]
fn an_agent_that_is_added_is_an_adapter_like_any_other() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let sandbox = with_goose(&model);
    let unasked = added(&sandbox, &["goose"]);
    assert_refused(
        &sandbox,
        &unasked,
        2,
        &["not a terminal", "`--yes`", "runs      goose acp", "Apache-2.0"],
    );

    let finished = added(&sandbox, &["goose", "--yes"]);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("runs      goose acp") && finished.stdout.contains("github.com/block/goose"));
    let file = fs::read_to_string(adapter_file(&sandbox, "goose")).expect("the adapter");
    assert!(
        file.starts_with("# goose ") && file.contains("\nargs = [\"acp\"]\n"),
        "{file}"
    );
    let finished = sandbox
        .ralph(["--adapter", "goose", "--headless", "--format", "jsonl"])
        .run(SOON);
    assert_done(&finished, 1, 1);

    let again = added(&sandbox, &["goose", "--yes"]);
    assert_eq!(again.code(), Some(2), "{again:?}");
    assert!(
        again.stderr.contains("there is an adapter `goose` already"),
        "{again:?}"
    );
    assert_eq!(fs::read_to_string(adapter_file(&sandbox, "goose")).ok(), Some(file));
}

#[test]
fn on_a_terminal_a_question_decides() {
    let mut sandbox = Sandbox::new();
    sandbox.add_program("goose", &agent_program());
    for (answer, code) in [("n\r", 1), ("\r", 1), ("y\r", 0)] {
        let mut terminal = Terminal::start(&sandbox.untrusting_ralph(["adapters", "add", "goose"]), 100, 30);
        terminal.sees("runs      goose acp");
        terminal.sees("Add it? [y/N]");
        terminal.press(answer);
        assert_eq!(terminal.ends(), code, "{}", terminal.written());
        assert_eq!(adapter_file(&sandbox, "goose").exists(), code == 0);
    }
}

#[test]
fn an_agent_that_is_not_there_is_refused_with_what_installs_it() {
    let sandbox = Sandbox::new();
    let path = sandbox.home().join("empty");
    fs::create_dir(&path).unwrap();
    let run = |args: &[&str]| sandbox.ralph(args).env("PATH", &path).run(SOON);
    assert_refused(
        &sandbox,
        &run(&["adapters", "add", "goose"]),
        4,
        &["`goose` is not on PATH", "ralph downloads no archive"],
    );
    let packages = [
        "none of `auggie`, `npx` is on PATH",
        "npm install -g @augmentcode/auggie@",
    ];
    assert_refused(&sandbox, &run(&["adapters", "add", "auggie"]), 4, &packages);
    let direct = run(&["--adapter", "acp:goose", "--headless"]);
    assert_refused(
        &sandbox,
        &direct,
        4,
        &[
            "`goose` is not on PATH",
            "download https://",
            "`ralph adapters add goose`",
        ],
    );
    assert_refused(
        &sandbox,
        &run(&["adapters", "add", "gose"]),
        2,
        &["no agent `gose`", "did you mean `goose`?"],
    );
    assert_refused(
        &sandbox,
        &run(&["--adapter", "acp:gose", "--headless"]),
        3,
        &["did you mean `goose`?"],
    );
    let listed = run(&["adapters", "list", "--registry"]);
    assert_eq!(listed.code(), Some(0), "{listed:?}");
    let row = |id: &str| {
        listed
            .stdout
            .lines()
            .find(|line| line.starts_with(id))
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        row("goose ").contains("Apache-2.0") && row("goose ").contains("download https://"),
        "{}",
        row("goose")
    );
    assert!(row("auggie ").contains("npm install -g"), "{}", row("auggie"));
}

#[test]
fn npx_gets_the_package_as_it_was_shown_and_nothing_of_the_project() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let mut sandbox = Agent::Native.sandbox(&model, 0).expect("ralph's own agent");
    plan_one_task(&sandbox);
    let called = sandbox.project().join("called");
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let npx = format!(
        "#!/bin/sh\necho \"$AUGMENT_DISABLE_AUTO_UPDATE $*\" > {}\nexec {ralph} __native-agent\n",
        called.display()
    );
    sandbox.add_program("npx", &npx);
    assert_eq!(added(&sandbox, &["auggie", "--yes"]).code(), Some(0));
    let finished = sandbox
        .ralph(["--adapter", "auggie", "--headless", "--format", "jsonl"])
        .run(SOON);
    assert_done(&finished, 1, 1);
    let called = fs::read_to_string(called).expect("npx was called");
    // With a prefix elsewhere, npx reads neither the `.npmrc` nor the programs of the project.
    assert!(
        called.starts_with("1 --prefix / -y @augmentcode/auggie@") && called.ends_with(" --acp\n"),
        "{called}"
    );
}

/// An entry that runs a program that is there.
fn entry(id: &str, args: &Value, env: &Value) -> Value {
    let npx = json!({ "package": "goose@1.0.0", "args": args, "env": env });
    json!({ "id": id, "name": "Mine", "version": "1.0.0", "distribution": { "npx": npx } })
}

#[test]
fn an_entry_of_a_file_is_refused_if_it_does_more_than_run_an_agent() {
    let mut sandbox = Sandbox::new();
    sandbox.add_program("goose", &agent_program());
    let archive = |cmd: &str| {
        let target = json!({ "archive": "https://x.test/a.tar.gz", "cmd": cmd });
        let binary: Value = ["linux-x86_64", "linux-aarch64", "darwin-aarch64", "darwin-x86_64"]
            .into_iter()
            .map(|platform| (platform.to_owned(), target.clone()))
            .collect();
        json!({ "id": "mine", "name": "Mine", "version": "1", "distribution": { "binary": binary } })
    };
    let inside = sandbox.project().join("goose").display().to_string();
    let none = json!({});
    for (hostile, code, naming) in [
        (entry("../x", &json!([]), &none), 3, vec!["`id` is `../x`"]),
        (
            entry("mine", &json!(["--acp\nrm -rf ~"]), &none),
            3,
            vec!["distribution.npx.args"],
        ),
        (
            entry("mine", &json!(["\u{1b}]0;title\u{7}"]), &none),
            3,
            vec!["distribution.npx.args"],
        ),
        (
            entry("mine", &json!([]), &json!({ "LD_PRELOAD": "x.so" })),
            3,
            vec!["LD_PRELOAD", "may not set"],
        ),
        (
            entry("mine", &json!([]), &json!({ "PATH": "." })),
            3,
            vec!["`distribution.npx.env.PATH` is `.`"],
        ),
        (archive(&inside), 3, vec!["has to be in the archive"]),
        (archive("./sh"), 3, vec!["runs whatever its arguments say"]),
        (
            entry("gemini", &json!([]), &none),
            2,
            vec!["ralph comes with an adapter `gemini`"],
        ),
        (entry("ssh", &json!([]), &none), 3, vec!["keys are in ~/.ssh"]),
        (
            entry("codex-acp", &json!([]), &none),
            3,
            vec!["the adapter `codex` keeps its state in ~/.codex"],
        ),
        (json!({ "agents": [] }), 3, vec!["not an entry of the ACP registry"]),
    ] {
        sandbox.write("agent.json", &hostile.to_string());
        assert_refused(&sandbox, &added(&sandbox, &["./agent.json", "--yes"]), code, &naming);
    }
    assert_refused(
        &sandbox,
        &added(&sandbox, &["./none.json", "--yes"]),
        3,
        &["./none.json"],
    );
    // A shell would read this; no shell does.
    let curious = json!(["--acp", "; touch x", "$(touch y)", "{model}"]);
    sandbox.write("agent.json", &entry("mine", &curious, &none).to_string());
    let finished = added(&sandbox, &["./agent.json", "--yes"]);
    let said = "runs      goose --acp '; touch x' '$(touch y)' '{model}'";
    assert!(
        finished.code() == Some(0) && finished.stdout.contains(said),
        "{finished:?}"
    );
}

#[test]
fn a_newer_entry_of_a_known_agent_has_the_directories_that_are_known() {
    needs!("npx");
    let sandbox = Sandbox::new();
    let newer = |package: &str| {
        let npx = json!({ "package": package });
        json!({ "id": "pi-acp", "name": "pi", "version": "9.0.0", "distribution": { "npx": npx } }).to_string()
    };
    sandbox.write("agent.json", &newer("pi-acp-too@9.0.0"));
    assert_refused(
        &sandbox,
        &added(&sandbox, &["./agent.json", "--yes"]),
        3,
        &["the adapter `pi` keeps its state in ~/.pi"],
    );
    sandbox.write("agent.json", &newer("pi-acp@9.0.0"));
    let finished = added(&sandbox, &["./agent.json", "--yes"]);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let file = fs::read_to_string(adapter_file(&sandbox, "pi-acp")).expect("the adapter");
    assert!(file.contains("write = [\"~/.pi\"]"), "{file}");
}

#[test]
fn a_program_in_the_project_is_not_added() {
    let sandbox = Sandbox::new();
    let programs = sandbox.project().join("bin");
    write_program(&programs.join("goose"), &agent_program());
    let path = env::join_paths([programs, PathBuf::from("/usr/bin"), PathBuf::from("/bin")]).unwrap();
    let finished = sandbox
        .ralph(["adapters", "add", "goose", "--yes"])
        .env("PATH", path)
        .run(SOON);
    assert_refused(&sandbox, &finished, 2, &["inside of this project"]);
}
