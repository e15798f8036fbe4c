//! The first hour in a project of each language: `ralph init`, one task, and a run by a real agent whose end the
//! project's own tests verify.

use std::{env, fs, path::Path};

use ralph_core::event::{Proof, StopReason};

use super::{PATIENCE, in_order, stopped, work_by, work_on};
use crate::{harness::agent::Agent, stand_in::StandIn};

/// Sets up a project of these files, whose tests need `hello.txt`, and runs it. The run must end with `proof`.
fn first_hour(agent: Agent, files: &[(&str, &str)], goal: &str, proof: Proof) {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(mut sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    // Uses the toolchain that built this test: the `cargo` on `PATH` chooses one by the user's home.
    if let Some(cargo) = env::var_os("CARGO") {
        sandbox.add_agent(Path::new(&cargo));
    }
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    for (name, text) in files {
        sandbox.write(name, text);
    }
    let init = sandbox
        .untrusting_ralph(["init", "--yes", "Write hello.txt"])
        .run(PATIENCE);
    assert_eq!(init.code(), Some(0), "{init:?}");
    let named = format!("tests={goal}");
    let adds = format!("left out, since it fails now, `ralph goals add '{named}'` adds it");
    assert!(init.stderr.contains(&adds), "there is work to do: {init:?}");
    let added = sandbox.untrusting_ralph(["goals", "add", &*named]).run(PATIENCE);
    assert_eq!(added.code(), Some(0), "{added:?}");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    let finished = sandbox
        .untrusting_ralph(["-a", agent.adapter(), "--headless", "--format", "jsonl"])
        .run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    assert_eq!(reason, StopReason::done(proof), "{}", finished.stdout);
    assert_eq!((totals.tasks_done, totals.iterations), (1, 1), "{}", finished.stdout);
    assert_eq!(finished.code(), Some(0));
    sandbox.assert_nothing_runs();
}

#[test]
fn a_rust_project_is_set_up_and_worked_off_by_codex() {
    first_hour(
        Agent::Codex,
        &[
            (".gitignore", "target\n"),
            (
                "Cargo.toml",
                "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "src/lib.rs",
                "#[test]\nfn it_is_there() {\n    assert!(std::path::Path::new(\"hello.txt\").exists());\n}\n",
            ),
        ],
        "cargo test",
        Proof::Tests,
    );
}

#[test]
fn a_node_project_is_set_up_and_worked_off_by_claude() {
    first_hour(
        Agent::Claude,
        &[
            ("package.json", r#"{ "scripts": { "test": "node test.js" } }"#),
            (
                "test.js",
                "if (!require('fs').existsSync('hello.txt')) process.exit(1)\n",
            ),
        ],
        "npm run test",
        Proof::ExitCodes,
    );
}

#[test]
fn a_python_project_is_set_up_and_worked_off_by_codex() {
    first_hour(
        Agent::Codex,
        &[
            (".gitignore", "__pycache__\n"),
            ("pyproject.toml", "[project]\nname = \"hello\"\nversion = \"0.1.0\"\n"),
            (
                "tests/test_hello.py",
                "import os\nimport unittest\n\n\nclass Hello(unittest.TestCase):\n    def test_it_is_there(self):\n        \
                 self.assertTrue(os.path.exists(\"hello.txt\"))\n",
            ),
        ],
        "python3 -m unittest discover -s tests",
        Proof::Tests,
    );
}

#[test]
fn a_task_on_the_command_line_is_done_by_codex_beside_the_plan_of_the_project() {
    let plan = ".ralph/plans/write-hello-txt.md";
    let model = StandIn::start(in_order([&work_by(plan, "hello")]));
    let Some(sandbox) = Agent::Codex.sandbox(&model, 0) else {
        return;
    };
    let before = sandbox.read("PLAN.md");
    let finished = sandbox
        .untrusting_ralph(["-a", "codex", "--headless", "--format", "jsonl"])
        .args(["-g", "tests=test -e hello.txt", "Write hello.txt"])
        .run(PATIENCE);
    let (reason, _, totals) = stopped(&finished);
    assert_eq!(reason, StopReason::done(Proof::ExitCodes), "{}", finished.stdout);
    assert_eq!((totals.tasks_done, totals.iterations), (1, 1), "{}", finished.stdout);
    assert_eq!(sandbox.read("PLAN.md"), before);
    assert!(model.main_requests()[0].prompt().contains(plan));
    sandbox.assert_nothing_runs();
}
