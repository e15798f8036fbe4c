//! The first hour as `docs/guide/start.md` tells it, typed at a terminal, in five kinds of project.

use std::{env, fs, path::Path};

use crate::{
    harness::{SOON, Sandbox, Script, skipped},
    tui::Terminal,
};

/// A kind of project, and what its user types and sees.
struct Kind {
    files: &'static [(&'static str, &'static str)],
    /// Programs without which the tests of the project cannot run.
    needs: &'static [&'static str],
    task: &'static str,
    /// The work of the agent, as a shell script.
    work: &'static str,
    /// The lines of `ralph init` about the checks that it found.
    checks: &'static [&'static str],
}

impl Kind {
    /// A project of this kind, with an agent that stands in for Codex; `None` if a program is missing.
    fn project(&self) -> Option<Sandbox> {
        if let Some(missing) = self.needs.iter().find(|program| which::which(program).is_err()) {
            skipped(&format!("the first hour: {missing} is not installed"));
            return None;
        }
        let mut sandbox = Sandbox::without_git();
        fs::remove_file(sandbox.project().join("PLAN.md")).expect("the sandbox's plan");
        // Uses the toolchain that built this test: the `cargo` on `PATH` chooses one by the user's home.
        if let Some(cargo) = env::var_os("CARGO") {
            sandbox.add_agent(Path::new(&cargo));
        }
        for (name, text) in self.files {
            sandbox.write(name, text);
        }
        let agent = format!("{}\nsed -i 's/- \\[ \\]/- [x]/' PLAN.md\nover 'It is done.'", self.work);
        sandbox.install_as("codex", &Script::jsonl(&agent));
        Some(sandbox)
    }
}

/// Types what the guide says, in its order, and checks what it says about each command.
fn walk(kind: &Kind) {
    let Some(sandbox) = kind.project() else { return };
    let run = |line: &str| {
        let typed = format!("set -e\nPATH='{}':$PATH\n{line}", bin().display());
        sandbox.program("sh").args(["-c", &typed]).run(SOON)
    };
    let says = |line: &str, expected: &[&str]| {
        let done = run(line);
        let said = format!("{}{}", done.stdout, done.stderr);
        for expected in expected {
            assert!(said.contains(expected), "{line}: {expected}: {said}");
        }
        done.code()
    };
    let terminal = |args: &[&str]| Terminal::start(&sandbox.untrusting_ralph(args), 100, 50);
    let is_verified = !kind.checks.is_empty();

    if is_verified {
        sandbox.git(["init", "--quiet"]);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    } else {
        // "`git init` makes it one".
        assert_eq!(
            says("ralph doctor", &["not in a git repository", "→ git init"]),
            Some(0)
        );
        assert_eq!(says("git init", &[]), Some(0));
    }
    // "which agents are installed and logged in, what is missing, and how to fix it. It changes nothing."
    let before = sandbox.git(["status", "--porcelain", "--ignored"]);
    let doctor = says(
        "ralph doctor",
        &["! codex", "→ run `codex login`", "`ralph init` creates one"],
    );
    assert_eq!(doctor, Some(0));
    // "only shows what it would write"
    let dry = format!("ralph init --dry-run '{}'", kind.task);
    assert_eq!(says(&dry, &[kind.task, "nothing was written"]), Some(0));
    assert_eq!(sandbox.git(["status", "--porcelain", "--ignored"]), before);

    // "asks for the first task and finds the commands […] After one question it runs each of them once, writes them"
    let mut init = terminal(&["init"]);
    init.sees("First task?");
    init.press(&format!("{}\r", kind.task));
    for check in kind.checks {
        init.sees(check);
    }
    init.sees("[Y/n]");
    init.press("\r");
    assert_eq!(init.ends(), 0, "{}", init.text());
    let text = init.text();
    assert!(
        text.contains("wrote PLAN.md") && text.contains("next: `ralph` starts the run"),
        "{text}"
    );
    assert_eq!(text.matches(" passed in ").count(), kind.checks.len(), "{text}");
    // "It never overwrites a file."
    let plan = sandbox.read("PLAN.md").expect("a plan");
    assert!(plan.ends_with(&format!("- [ ] {}\n", kind.task)), "{plan}");
    assert_eq!(
        says("ralph init", &["nothing to do: the plan", "next: `ralph` starts"]),
        Some(0)
    );
    assert_eq!(sandbox.read("PLAN.md").as_ref(), Some(&plan));

    // "runs Codex on the first open task […] until all are done and the goals pass."
    let mut screen = terminal(&["-a", "codex", "--foreground"]);
    let end = if is_verified {
        "✔ DONE, VERIFIED · 1 task"
    } else {
        "… DONE, NOT VERIFIED · 1 task"
    };
    screen.sees(end);
    screen.sees("It is done.");
    // "`?` lists the keys […] and `q` leaves"
    screen.press("?");
    screen.sees("─ keys: ");
    screen.press("?q");
    assert_eq!(screen.ends(), 0);
    assert!(sandbox.read("PLAN.md").is_some_and(|plan| plan.contains("- [x] ")));

    // "what was done, why the run ended, what is unverified, and what needs your attention"
    let (end, verdict) = if is_verified {
        ("done (verified)", "\nDONE, VERIFIED · ")
    } else {
        ("done (not verified)", "\nDONE, NOT VERIFIED · ")
    };
    let unverified = ["Needs you", "Unverified"].map(|heading| format!("\n{heading}\n"));
    let report = run("ralph report").stdout;
    assert!(report.contains(verdict) && report.contains(kind.task), "{report}");
    assert_eq!(
        unverified.map(|heading| report.contains(&heading)),
        [!is_verified; 2],
        "{report}"
    );
    // Runs have short names, everywhere the same.
    assert_eq!(run("ralph report 1").stdout, report);
    assert_eq!(says("ralph status", &["run       1 (", end]), Some(0));
    assert_eq!(says("ralph runs", &["\n1  ", end]), Some(0));
    assert_eq!(says("ralph diff 1 --stat", &["PLAN.md", "2 +-"]), Some(0));
    // The refusal to continue says what to type.
    assert_eq!(
        says(
            "ralph continue",
            &["run 1 (", "is done", "hint: `ralph` starts a new run"]
        ),
        Some(1)
    );
    sandbox.assert_nothing_runs();
}

/// The directory of the `ralph` that the user types.
fn bin() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ralph")).parent().expect("a directory")
}

#[test]
fn in_a_crate() {
    walk(&Kind {
        files: &[
            (".gitignore", "target\n"),
            (
                "Cargo.toml",
                "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            ("justfile", "lint:\n    cargo clippy --all-targets -- -D warnings\n"),
            (
                "src/lib.rs",
                "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\n#[test]\nfn it_adds() {\n    assert_eq!(add(2, 3), 5);\n}\n",
            ),
        ],
        needs: &["cargo", "cargo-clippy"],
        task: "Add subtract, with a test",
        work: r"printf '\npub fn subtract(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[test]\nfn it_subtracts() {\n    assert_eq!(subtract(5, 3), 2);\n}\n' >> src/lib.rs",
        checks: &[
            "  tests  cargo test   (Cargo.toml)",
            "  lint   cargo clippy --all-targets -- -D warnings   (justfile)",
        ],
    });
}

#[test]
fn in_a_package_of_npm() {
    walk(&Kind {
        files: &[
            (
                "package.json",
                r#"{ "name": "hello", "version": "1.0.0", "scripts": { "test": "node --test" } }"#,
            ),
            ("add.js", "exports.add = (a, b) => a + b;\n"),
            (
                "test/add.test.js",
                "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../add.js');\n\ntest('it adds', () => assert.strictEqual(add(2, 3), 5));\n",
            ),
        ],
        needs: &["node", "npm"],
        task: "Add subtract, with a test",
        work: r#"printf 'exports.subtract = (a, b) => a - b;\n' >> add.js
printf "const test = require('node:test');\nconst assert = require('node:assert');\nconst { subtract } = require('../add.js');\n\ntest('it subtracts', () => assert.strictEqual(subtract(5, 3), 2));\n" > test/subtract.test.js"#,
        checks: &["  tests  npm run test   (package.json)"],
    });
}

#[test]
fn in_a_project_in_python() {
    walk(&Kind {
        files: &[
            (".gitignore", "__pycache__\n"),
            ("pyproject.toml", "[project]\nname = \"hello\"\nversion = \"0.1.0\"\n"),
            ("hello.py", "def add(a, b):\n    return a + b\n"),
            (
                "tests/test_hello.py",
                "import unittest\n\nimport hello\n\n\nclass Hello(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(hello.add(2, 3), 5)\n",
            ),
        ],
        needs: &["python3"],
        task: "Add subtract, with a test",
        work: r"printf '\n\ndef subtract(a, b):\n    return a - b\n' >> hello.py
printf '\n    def test_subtract(self):\n        self.assertEqual(hello.subtract(5, 3), 2)\n' >> tests/test_hello.py",
        checks: &["  tests  python3 -m unittest discover -s tests   (pyproject.toml)"],
    });
}

#[test]
fn in_a_monorepo() {
    walk(&Kind {
        files: &[
            (".gitignore", "target\nnode_modules\n"),
            (
                "services/api/Cargo.toml",
                "[package]\nname = \"api\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
            ),
            (
                "services/api/src/lib.rs",
                "pub fn add(a: i64, b: i64) -> i64 {\n    a + b\n}\n\n#[test]\nfn it_adds() {\n    assert_eq!(add(2, 3), 5);\n}\n",
            ),
            (
                "web/package.json",
                r#"{ "name": "web", "version": "1.0.0", "scripts": { "test": "node --test" } }"#,
            ),
            ("web/add.js", "exports.add = (a, b) => a + b;\n"),
            (
                "web/test/add.test.js",
                "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('../add.js');\n\ntest('it adds', () => assert.strictEqual(add(2, 3), 5));\n",
            ),
        ],
        needs: &["cargo", "node", "npm"],
        task: "Add subtract to the API, with a test",
        work: r"printf '\npub fn subtract(a: i64, b: i64) -> i64 {\n    a - b\n}\n\n#[test]\nfn it_subtracts() {\n    assert_eq!(subtract(5, 3), 2);\n}\n' >> services/api/src/lib.rs",
        checks: &[
            "  services-api  cd services/api && cargo test   (Cargo.toml)",
            "  web           cd web && npm run test   (package.json)",
        ],
    });
}

#[test]
fn in_an_empty_directory() {
    walk(&Kind {
        files: &[],
        needs: &[],
        task: "Write hello.txt",
        work: "echo hello > hello.txt",
        checks: &[],
    });
}
