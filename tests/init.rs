//! `ralph init` and `ralph import`: from a project without any ralph files to a run that is verified by the checks they
//! found.

use std::{fs, path::Path};

use crate::{
    harness::{SOON, Sandbox, Script, agents::needs},
    tui::Terminal,
};

const PACKAGE: &str = r#"{ "scripts": { "test": "sh test.sh" } }"#;

/// A project with files of its language, but without a plan.
fn bare() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    sandbox.write("package.json", PACKAGE);
    sandbox.write("test.sh", "test -e work-2.txt\n");
    sandbox
}

#[test]
fn a_submodule_that_a_clone_lacks_is_named_where_tests_fail() {
    needs!("npm");
    let sandbox = bare();
    let modules = "[submodule \"deps/x\"]\n\tpath = deps/x\n\turl = ../x\n";
    sandbox.write(".gitmodules", modules);
    fs::create_dir_all(sandbox.project().join("deps/x")).unwrap();
    let told = || {
        sandbox
            .untrusting_ralph(["init", "--yes", "Write hello.txt"])
            .run(SOON)
            .stderr
    };
    let note = "note: the submodule deps/x is empty; `git submodule update --init --recursive` fetches it";
    let found = told();
    assert!(found.contains("✖ tests failed") && found.contains(note), "{found}");
    sandbox.write("deps/x/a", "");
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    let found = told();
    assert!(found.contains("✖ tests failed") && !found.contains(note), "{found}");
}

#[test]
fn tests_for_which_no_command_is_known_are_named() {
    let sandbox = Sandbox::new();
    let note = || {
        fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
        sandbox
            .untrusting_ralph(["init", "--yes", "Write hello.txt"])
            .run(SOON)
            .stderr
    };
    let found = note();
    assert!(
        found.contains("note: no tests found, so runs of this project will end unverified"),
        "{found}"
    );
    sandbox.write("part/readme", "");
    let part = sandbox.untrusting_ralph(["init", "--dry-run", "Write hello.txt"]);
    let part = part.current_dir(sandbox.project().join("part")).run(SOON).stderr;
    assert!(
        part.contains("hint: this is a part of /") && !found.contains("this is a part"),
        "{part}"
    );
    sandbox.write("test/runtests.jl", "");
    let found = note();
    assert!(
        found.contains("note: no command was found that runs the tests in `test`, so runs"),
        "{found}"
    );
}

#[test]
fn a_project_gets_a_plan_and_goals_once_and_a_run_is_verified_by_them() {
    needs!("npm");
    let sandbox = bare();
    let init = |args: &[&str]| sandbox.untrusting_ralph(["init"]).args(args).run(SOON);
    let tasks = ["Write hello.txt", "Write world.txt"];

    let shown = init(&["--dry-run", tasks[0]]);
    assert_eq!(shown.code(), Some(0), "{shown:?}");
    assert!(
        shown.stdout.contains("npm run test") && shown.stdout.contains("- [ ] Write hello.txt"),
        "{shown:?}"
    );
    assert_eq!(
        (sandbox.read("PLAN.md"), sandbox.read(".ralph/config.json")),
        (None, None)
    );

    // No user is there to agree.
    let refused = init(&["--no-check", tasks[0]]);
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(sandbox.read("PLAN.md"), None);

    let done = init(&["--yes", tasks[0], tasks[1]]);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(
        done.stderr.contains("✖ tests failed")
            && done
                .stderr
                .contains("left out, since it fails now, `ralph goals add 'tests=npm run test'` adds it"),
        "{done:?}"
    );
    assert_eq!(
        sandbox.read(".ralph/config.json"),
        None,
        "nobody wanted a goal that fails"
    );
    let add = |goal: &str| sandbox.untrusting_ralph(["goals", "add", goal]).run(SOON);
    let added = add("tests=npm run test");
    assert_eq!(added.code(), Some(0), "{added:?}");
    for (goal, why) in [
        ("tests=true", "like that of an earlier goal"),
        ("npm run test", "expected NAME=COMMAND"),
    ] {
        let refused = add(goal);
        assert!(refused.code() == Some(3) && refused.stderr.contains(why), "{refused:?}");
    }
    let plan = sandbox.read("PLAN.md").unwrap();
    assert!(
        plan.ends_with("- [ ] Write hello.txt\n- [ ] Write world.txt\n"),
        "{plan}"
    );
    let config = sandbox.read(".ralph/config.json").unwrap();
    let trusted = sandbox.untrusting_ralph(["trust", "--show"]).run(SOON);
    assert_eq!(
        trusted.code(),
        Some(0),
        "what was written for the user is the user's: {trusted:?}"
    );

    // Instructions for agents are written only on request, and never twice.
    assert_eq!(sandbox.read("AGENTS.md"), None);
    let asked_for = init(&["--yes", "--agents-md"]);
    assert_eq!(asked_for.code(), Some(0), "{asked_for:?}");
    let instructions = sandbox.read("AGENTS.md").unwrap();
    assert!(instructions.contains("    npm run test "), "{instructions}");
    let twice = init(&["--yes", "--agents-md"]);
    assert!(twice.stderr.contains("AGENTS.md exists already"), "{twice:?}");

    // A second call changes nothing and lists what exists.
    let again = init(&["--yes"]);
    assert_eq!(again.code(), Some(0), "{again:?}");
    assert!(again.stdout.contains("nothing to do"), "{again:?}");
    let more = init(&["--yes", "More"]);
    assert_eq!(more.code(), Some(2), "{more:?}");
    assert!(more.stderr.contains("a plan exists already: PLAN.md"), "{more:?}");
    assert_eq!(sandbox.read("PLAN.md").unwrap(), plan);
    assert_eq!(sandbox.read(".ralph/config.json").unwrap(), config);

    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.install(&Script::worker());
    let run = sandbox.ralph(["-a", "script", "PLAN.md", "--headless"]).run(SOON);
    assert_eq!(run.code(), Some(0), "{run:?}");
    assert!(run.stdout.contains("done (passed)"), "{}", run.stdout);
}

#[test]
fn a_goal_that_is_named_is_written_wherever_it_stands_and_what_is_left_out_says_what_is_missing() {
    needs!("npm");
    for (before, after) in [
        (&["--goal", "tests=true"][..], &[][..]),
        (&[], &["--goal", "tests=true"]),
        (&[], &["-g", "tests=true", "--no-check"]),
    ] {
        let sandbox = bare();
        let init = sandbox
            .untrusting_ralph(before)
            .args(["init", "--yes"])
            .args(after)
            .run(SOON);
        assert_eq!(init.code(), Some(0), "{init:?}");
        let config = sandbox.read(".ralph/config.json").unwrap();
        assert!(
            config.contains(r#""command": "true""#) && !config.contains("npm"),
            "{config}"
        );
        let again = sandbox.untrusting_ralph(["init", "--goal", "lint=true"]).run(SOON);
        assert_eq!(again.code(), Some(2), "{again:?}");
        assert!(
            again.stderr.contains("`ralph goals add 'lint=true'` adds the goal"),
            "{again:?}"
        );
    }
    let sandbox = bare();
    sandbox.write("package.json", r#"{ "scripts": { "lint": "no-such-linter ." } }"#);
    let init = sandbox.untrusting_ralph(["init", "--yes"]).run(SOON);
    assert_eq!(init.code(), Some(0), "{init:?}");
    for part in [
        "✖ lint: skipped, since `no-such-linter` is not installed; `npm install` installs it\n",
        "note: once that is installed, `ralph init` adds these goals\n",
        "note: no goal is left, so its runs will end unverified\n",
    ] {
        assert!(init.stderr.contains(part), "{init:?}");
    }
    let more = sandbox.untrusting_ralph(["init", "Write the parser"]).run(SOON);
    assert!(
        more.stderr.contains("`ralph plan add \"Write the parser\"` adds it"),
        "{more:?}"
    );
    let setup = sandbox.untrusting_ralph(["setup", "shop"]).run(SOON);
    assert!(
        setup.stderr.contains("`ralph setup shop --yes` writes this"),
        "{setup:?}"
    );
}

#[test]
fn one_question_at_a_terminal_begins_a_project() {
    needs!("npm");
    let offer = "`ralph init --agents-md` writes an AGENTS.md";
    for (there, answer, kept) in [(None, "", ""), (None, "n", ""), (Some("CLAUDE.md"), "y", "y")] {
        let sandbox = bare();
        if let Some(there) = there {
            sandbox.write(there, "Be brief.\n");
        }
        let mut terminal = Terminal::start(&sandbox.untrusting_ralph(["init"]), 100, 40);
        terminal.sees("First task? (Enter: none yet)");
        terminal.press("Write hello.txt\r");
        terminal.sees("  tests  npm run test   (package.json)");
        terminal.sees("Run each once, then write PLAN.md and .ralph/config.json? [Y/n]");
        assert_eq!(sandbox.read("PLAN.md"), None, "nothing happens before the answer");
        terminal.press(&format!("{answer}\r"));
        if answer != "n" {
            terminal.sees("tests fails now. Keep it as a goal, which the agent has to fix? [y/N]");
            terminal.press(&format!("{kept}\r"));
        }
        assert_eq!(terminal.ends(), 0);
        assert_eq!(sandbox.read(".ralph/config.json").is_some(), kept == "y");
        let plan = sandbox.read("PLAN.md");
        assert_eq!(plan.is_some(), answer != "n");
        assert!(plan.is_none_or(|plan| plan.ends_with("- [ ] Write hello.txt\n")));
        let said = terminal.text();
        // Without a goal there is no command to tell agents, and with instructions of its own nothing to offer.
        assert!(!said.contains(offer), "{said}");
        assert_eq!(said.contains("✖ tests"), answer != "n", "{said}");
    }
}

#[test]
fn tests_that_fail_now_may_be_let_fail_in_the_same_question() {
    needs!("python3");
    let sandbox = Sandbox::new();
    sandbox.write(
        "test_two.py",
        "import unittest\n\n\nclass Two(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 1)\n\n    \
         def test_b(self):\n        self.assertEqual(1, 2)\n",
    );
    let mut terminal = Terminal::start(&sandbox.untrusting_ralph(["init"]), 100, 40);
    terminal.sees("Run each once");
    terminal.press("\r");
    terminal.sees("exit code 1: AssertionError: 1 != 2");
    terminal.sees("f: 1 test may fail as now [y/f/N]");
    terminal.press("f\r");
    assert_eq!(terminal.ends(), 0);
    let config = sandbox.read(".ralph/config.json").unwrap();
    assert!(config.contains("\"knownFailures\": \"forgive\""), "{config}");
}

#[test]
fn ralph_in_a_project_without_a_plan_asks_what_to_do_and_starts() {
    needs!("npm");
    let sandbox = bare();
    sandbox.write("test.sh", "test -e work-1.txt\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.install(&Script::worker());
    let ralph = || Terminal::start(&sandbox.untrusting_ralph(["-a", "script", "--foreground"]), 100, 40);

    let mut nothing = ralph();
    nothing.sees("There is no plan in this project yet.");
    nothing.sees("What should the agent do first?");
    nothing.press("\r");
    nothing.sees("`ralph init` creates one");
    assert_eq!(nothing.ends(), 3);
    assert_eq!(sandbox.read("PLAN.md"), None);

    let mut terminal = ralph();
    terminal.sees("What should the agent do first?");
    terminal.press("Write the first file\r");
    terminal.sees("Run each once, then write PLAN.md and .ralph/config.json? [Y/n]");
    terminal.press("\r");
    terminal.sees("[y/N]");
    terminal.press("y\r");
    terminal.sees("done (passed)");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    let plan = sandbox.read("PLAN.md").unwrap();
    assert!(plan.ends_with("- [x] Write the first file\n"), "{plan}");
}

#[test]
fn where_there_is_no_project_or_half_of_one_nothing_is_lost() {
    let sandbox = bare();
    let home = sandbox
        .untrusting_ralph(["init", "--yes"])
        .current_dir(sandbox.home())
        .run(SOON);
    assert_eq!(home.code(), Some(2), "{home:?}");
    assert!(
        home.stderr.contains("is your home directory, not a project"),
        "{home:?}"
    );

    // A plan under another tool's name is used as the plan; only the goals are missing.
    sandbox.write("@fix_plan.md", "- [ ] One\n");
    let half = sandbox.untrusting_ralph(["init", "--yes", "--no-check"]).run(SOON);
    assert_eq!(half.code(), Some(0), "{half:?}");
    assert!(
        half.stdout.contains("wrote .ralph/config.json") && !half.stdout.contains("wrote PLAN.md"),
        "{half:?}"
    );

    // Below the root of the repository, ralph works in that directory and says so.
    sandbox.write("part/go.mod", "module part\n");
    let part = sandbox.project().join("part");
    let below = sandbox
        .untrusting_ralph(["init", "--yes", "--no-check", "Task"])
        .current_dir(&part)
        .run(SOON);
    assert_eq!(below.code(), Some(0), "{below:?}");
    assert!(below.stderr.contains("below the repository"), "{below:?}");
    assert!(
        fs::read_to_string(part.join(".ralph/config.json"))
            .unwrap()
            .contains("go test -v ./...")
    );

    // If the directory cannot be created, the plan is kept and the error names the file.
    sandbox.write("other/go.mod", "module other\n");
    sandbox.write("other/.ralph", "in the way\n");
    let other = sandbox.project().join("other");
    let failed = sandbox
        .untrusting_ralph(["init", "--yes", "--no-check"])
        .current_dir(&other)
        .run(SOON);
    assert_eq!(failed.code(), Some(1), "{failed:?}");
    assert!(
        failed.stderr.contains(".ralph/config.json: cannot be written"),
        "{failed:?}"
    );
    assert!(other.join("PLAN.md").exists());
    assert_eq!(fs::read_to_string(other.join(".ralph")).unwrap(), "in the way\n");
}

#[test]
fn requirements_of_every_kind_become_a_plan_that_runs_and_what_is_none_is_refused() {
    let sandbox = bare();
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/specs");
    let import = |spec: &Path, to: &str| sandbox.untrusting_ralph(["import", "--to", to]).arg(spec).run(SOON);
    for (name, tasks, first) in [
        ("booking.md", 5, "Book a room for a time"),
        ("issues.json", 4, "Crash when the file is empty (#12)"),
    ] {
        let done = import(&specs.join(name), "-");
        assert_eq!(done.code(), Some(0), "{done:?}");
        let all: Vec<&str> = done
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("- [ ] "))
            .collect();
        assert_eq!((all.len(), all[0]), (tasks, first), "{}", done.stdout);
    }

    // Lines that were not imported are named, and non-goals do not become tasks.
    sandbox.write(
        "prose.md",
        "# Mail\n\nThe system must send a mail. It is blue.\n\n- Log in\n\n## Non goals\n\n- Payments\n",
    );
    let told = import(&sandbox.project().join("prose.md"), "MAIL.md");
    assert_eq!(told.code(), Some(0), "{told:?}");
    assert_eq!(
        sandbox.read("MAIL.md").as_deref(),
        Some("# Mail\n\n- [ ] Log in\n\n## Non goals\n\n* Payments\n")
    );
    for part in [
        "wrote MAIL.md: 1 task, 1 non-goal kept as notes\n",
        "1 passage of ",
        "was left out, not an item of a list: line 3\n",
        "--with-agent",
    ] {
        assert!(told.stderr.contains(part), "{told:?}");
    }

    sandbox.write(
        "spec.md",
        "# Hello\n\n- Write hello.txt\n- Write world.txt\n- write hello.txt!\n",
    );
    let spec = sandbox.project().join("spec.md");
    let done = import(&spec, "PLAN.md");
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(
        done.stderr.contains("wrote PLAN.md: 2 tasks, 1 repetition merged"),
        "{done:?}"
    );
    let plan = sandbox.read("PLAN.md");

    // A thousand tasks, half of them duplicates.
    let many: String = (0..1000).map(|n| format!("- Do thing {}\n", n % 500)).collect();
    sandbox.write("many.md", &many);
    let done = import(&sandbox.project().join("many.md"), "MANY.md");
    assert!(
        done.stderr.contains("wrote MANY.md: 500 tasks, 500 repetitions merged"),
        "{done:?}"
    );
    let many: String = (0..1000).map(|n| format!("- Do thing {n}\n")).collect();
    sandbox.write("many.md", &many);
    let done = import(&sandbox.project().join("many.md"), "-");
    assert_eq!(done.stdout.matches("- [ ] Do thing ").count(), 1000, "{done:?}");

    for (name, bytes, code, part) in [
        ("empty.md", &b""[..], 3, "it is empty"),
        ("paper.pdf", b"%PDF-1.7", 3, "pdftotext"),
        ("words.docx", b"PK\x03\x04", 3, "pandoc"),
        ("odd.bin", b"\x00\xff", 3, "not UTF-8"),
        ("tale.txt", b"It must be fast.", 3, "--with-agent"),
        ("large.md", &vec![b'x'; 50 << 20], 1, "larger than 4 MiB"),
    ] {
        fs::write(sandbox.project().join(name), bytes).unwrap();
        let refused = import(&sandbox.project().join(name), "PLAN.md");
        assert_eq!(refused.code(), Some(code), "{refused:?}");
        assert!(
            refused.stderr.contains(part) && refused.stderr.contains("hint: "),
            "{refused:?}"
        );
    }
    let missing = import(Path::new("nope.md"), "PLAN.md");
    assert_eq!(missing.code(), Some(1), "{missing:?}");
    let again = import(&spec, "PLAN.md");
    assert_eq!(again.code(), Some(1), "{again:?}");
    assert!(
        again
            .stderr
            .contains("PLAN.md is there already, and nothing is overwritten"),
        "{again:?}"
    );
    assert_eq!(sandbox.read("PLAN.md"), plan);

    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.install(&Script::worker());
    let run = sandbox.ralph(["run", "-a", "script", "--headless"]).run(SOON);
    assert_eq!(run.code(), Some(0), "{run:?}");
}

#[test]
fn a_new_project_is_made_whole_or_not_at_all() {
    let sandbox = Sandbox::new();
    let above = sandbox.home().join("projects");
    fs::create_dir(&above).unwrap();
    let setup = |args: &[&str]| {
        sandbox
            .untrusting_ralph(["setup"])
            .args(args)
            .current_dir(&above)
            .run(SOON)
    };
    let done = setup(&["shop", "--yes", "Write hello.txt"]);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(done.stdout.contains("created shop with a first commit"), "{done:?}");
    let shop = above.join("shop");
    let plan = fs::read_to_string(shop.join("PLAN.md")).unwrap();
    assert!(plan.ends_with("- [ ] Write hello.txt\n"), "{plan}");
    let log = sandbox
        .program("git")
        .current_dir(&shop)
        .args(["log", "--format=%s"])
        .run(SOON);
    assert_eq!(log.stdout, "Begin shop\n");

    fs::write(above.join("file"), "mine\n").unwrap();
    fs::create_dir(above.join("empty")).unwrap();
    for (name, part) in [
        ("shop", "exists already and is not empty"),
        ("file", "a file of this name"),
        ("a/b", "a path, not a name"),
        ("..", "does not name"),
        ("", "needs a name"),
    ] {
        let refused = setup(&[name, "--yes"]);
        assert_eq!(refused.code(), Some(2), "{refused:?}");
        assert!(
            refused.stderr.contains(part) && refused.stderr.contains("hint: "),
            "{refused:?}"
        );
    }
    assert_eq!(fs::read_to_string(shop.join("PLAN.md")).unwrap(), plan);
    assert_eq!(setup(&["empty", "--yes", "--dry-run"]).code(), Some(0));
    // No user is there to agree: nothing is left behind.
    for name in ["other", "empty"] {
        let refused = setup(&[name]);
        assert_eq!(refused.code(), Some(2), "{refused:?}");
    }
    assert!(!above.join("other").exists());
    assert_eq!(fs::read_dir(above.join("empty")).unwrap().count(), 0);

    // git has no identity for commits: the project is created, and the message says what to type.
    let nobody = sandbox
        .untrusting_ralph(["setup", "nobody", "--yes"])
        .current_dir(&above)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .run(SOON);
    assert_eq!(nobody.code(), Some(0), "{nobody:?}");
    assert!(
        nobody.stderr.contains("nothing was committed") && nobody.stderr.contains("git config --global user.name"),
        "{nobody:?}"
    );
    assert!(above.join("nobody/PLAN.md").exists());

    // No user can create files there, not even root.
    for (args, part) in [
        (["setup", "closed", "--yes"], "cannot be created"),
        (["init", "--yes", "Task"], "PLAN.md: cannot be written"),
    ] {
        let closed = sandbox.untrusting_ralph(args).current_dir("/proc").run(SOON);
        assert_eq!(closed.code(), Some(1), "{closed:?}");
        assert!(closed.stderr.contains(part), "{closed:?}");
    }
}

#[test]
fn an_agent_writes_the_instructions_beside_the_project_and_they_are_taken_once_somebody_wants_them() {
    let writes = r#"
cp ASSIGNMENT.md "$HOME/assignment"
printf '# Shop\n\n`npm run test` tests it.\n' > AGENTS.md
echo meddled > "$HOME/../project/PLAN.md"
sed -i '0,/\[ \]/s//[x]/' "$RALPH_PLAN"; over Written."#;
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{ "scripts": { "test": "true" } }"#);
    sandbox.install(&Script::jsonl(writes));
    let init = |args: &[&str]| {
        let program = sandbox
            .untrusting_ralph(["-a", "script", "init", "--with-agent", "--no-check"])
            .args(args);
        program.run(SOON)
    };
    let unseen = init(&[]);
    assert_eq!(unseen.code(), Some(2), "{unseen:?}");
    assert!(unseen.stderr.contains("the result cannot be confirmed"), "{unseen:?}");
    assert_eq!(sandbox.read_home("assignment"), None, "it costs no session");

    let plan = sandbox.read("PLAN.md");
    let written = init(&["--yes"]);
    assert_eq!(written.code(), Some(0), "{written:?}");
    assert!(written.stdout.contains("    `npm run test` tests it.\n"), "{written:?}");
    let instructions = sandbox.read("AGENTS.md");
    assert_eq!(instructions.as_deref(), Some("# Shop\n\n`npm run test` tests it.\n"));
    assert_eq!(
        sandbox.read("PLAN.md"),
        plan,
        "what it changes in the project is put back"
    );
    let asked = sandbox.read_home("assignment").unwrap();
    for part in [
        sandbox.project().to_str().unwrap(),
        "* tests: `npm run test`, from package.json\n",
    ] {
        assert!(asked.contains(part), "{asked}");
    }
    let again = init(&["--yes"]);
    assert_eq!(again.code(), Some(2), "{again:?}");
    assert!(again.stderr.contains("AGENTS.md exists already"), "{again:?}");
    sandbox.assert_nothing_runs();
}

#[test]
fn requirements_that_are_seen_are_offered_and_fill_the_plan_that_init_wrote() {
    let sandbox = bare();
    let ralph = |args: &[&str]| sandbox.untrusting_ralph(args).run(SOON);
    sandbox.write("docs/product-requirements.md", "# Shop\n\n- Sell books\n");
    let none = ralph(&["--headless", "-a", "script"]);
    assert_eq!(none.code(), Some(3), "{none:?}");
    assert!(
        none.stderr.contains("`ralph import docs/product-requirements.md`"),
        "{none:?}"
    );
    let done = ralph(&["init", "--yes", "--no-check"]);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert!(
        done.stdout
            .contains("next: `ralph import docs/product-requirements.md`"),
        "{done:?}"
    );
    let unfilled = ralph(&["--headless", "-a", "script"]);
    for part in [
        "has no task yet",
        "`ralph import docs/product-requirements.md`",
        "`ralph plan add",
    ] {
        assert!(unfilled.stderr.contains(part), "{unfilled:?}");
    }
    let filled = ralph(&["import", "docs/product-requirements.md"]);
    assert_eq!(filled.code(), Some(0), "{filled:?}");
    assert_eq!(sandbox.read("PLAN.md").as_deref(), Some("# Shop\n\n- [ ] Sell books\n"));
    let again = ralph(&["import", "docs/product-requirements.md"]);
    assert_eq!(again.code(), Some(1), "a plan with tasks is not overwritten: {again:?}");

    // The text of a user in a plan without tasks stays.
    sandbox.write("PLAN.md", "# Mine\n");
    assert_eq!(ralph(&["import", "docs/product-requirements.md"]).code(), Some(0));
    assert_eq!(
        sandbox.read("PLAN.md").as_deref(),
        Some("# Mine\n\n# Shop\n\n- [ ] Sell books\n")
    );

    // For prose, the way that works is offered.
    sandbox.write("docs/product-requirements.md", "# Shop\n\nIt must sell books.\n");
    sandbox.write("PLAN.md", "# Mine\n");
    let unfilled = ralph(&["--headless", "-a", "script"]);
    let offer = "`ralph import docs/product-requirements.md --with-agent` has an agent make the plan of it";
    assert!(unfilled.stderr.contains(offer), "{unfilled:?}");
}

#[test]
fn a_plan_of_a_directory_above_is_named_with_the_command_that_works_on_it() {
    let sandbox = Sandbox::new();
    let below = sandbox.project().join("a b/c");
    fs::create_dir_all(&below).unwrap();
    let run = |args: &[&str]| sandbox.untrusting_ralph(args).current_dir(&below).run(SOON);
    for args in [
        &["--headless", "-a", "script"][..],
        &["plan"],
        &["--mode", "fix", "--headless", "-a", "script"],
    ] {
        let refused = run(args);
        assert_eq!(refused.code(), Some(3), "{refused:?}");
        let command = format!(
            "PLAN.md in a directory above: `cd {} && ralph`",
            sandbox.project().display()
        );
        assert!(
            refused.stderr.contains("there is no plan") && refused.stderr.contains(&command),
            "{refused:?}"
        );
    }
    fs::write(below.join("PLAN.md"), "- [ ] its own\n").unwrap();
    let own = run(&["plan", "--next"]);
    assert_eq!(own.stdout, "its own\n", "{own:?}");
}
