//! Agents of the ACP registry: added by `ralph adapters add`, or run as they are by `--adapter acp:ID`.

use std::{env, fs, path::PathBuf};

use crate::{
    agents_loop::{assert_done, in_order, plan_one_task, work_on},
    harness::{SOON, Sandbox, agent::Agent, running::Finished, write_program},
    stand_in::{StandIn, say},
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
    let model = StandIn::start(in_order([&work_on("hello"), &[say("the-check-works").into()]]));
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
        &[
            "no agent `gose`",
            "did you mean `goose`?",
            "there are: amp-acp, auggie, ",
        ],
    );
    assert_refused(
        &sandbox,
        &run(&["--adapter", "acp:gose", "--headless"]),
        3,
        &["did you mean `goose`?"],
    );
    let listed = run(&["adapters", "list", "--registry"]);
    let removed = [
        "`ralph adapters list --registry` was removed",
        "`ralph adapters add NAME`",
    ];
    assert_refused(&sandbox, &listed, 2, &removed);
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

#[test]
fn an_entry_of_a_file_is_told_to_be_an_adapter() {
    let sandbox = Sandbox::new();
    sandbox.write("agent.json", "{}");
    for file in ["./agent.json", "agent.json", "/none.json"] {
        let naming = ["`ralph adapters add FILE.json` was removed", "docs/guide/adapters.md"];
        assert_refused(&sandbox, &added(&sandbox, &[file, "--yes"]), 2, &naming);
    }
}

#[test]
fn the_adapter_that_the_guide_writes_in_place_of_an_entry_is_complete() {
    let sandbox = Sandbox::new();
    let file = adapter_file(&sandbox, "nanocoder");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, written_adapter()).unwrap();
    let shown = sandbox.ralph(["adapters", "show", "nanocoder"]).run(SOON);
    assert!(
        shown.code() == Some(0) && shown.stdout.contains("live.protocol") && !shown.stdout.contains("# broken"),
        "{shown:?}"
    );
}

/// The adapter of nanocoder in the guide, which speaks ACP and is not in the registry.
pub(crate) fn written_adapter() -> &'static str {
    let guide = include_str!("../docs/guide/adapters.md");
    let begin = "```toml\n# ~/.config/ralph/adapters/nanocoder.toml\n";
    let (_, adapter) = guide.split_once(begin).expect("the adapter");
    adapter.split_once("```").expect("its end").0
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
