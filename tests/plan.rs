//! `ralph plan`, on its own and while a run works on the plan.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use ralph_core::event::{Event, IterationEvent};
use serde_json::Value;

use crate::harness::{SOON, Sandbox, Script};

#[test]
fn a_plan_is_shown_and_checked_and_what_is_no_plan_is_refused_with_its_place() {
    let sandbox = Sandbox::new();
    let plan = |args: &str| sandbox.ralph(["plan"]).args(args.split_whitespace()).run(SOON);
    sandbox.write(
        "PLAN.md",
        "# Plan\n\n- [x] One\n- [ ] Two\n- [ ] Improve it\n\n-[ ] Three\n",
    );
    let shown = plan("");
    assert_eq!(shown.code(), Some(0), "{shown:?}");
    assert_eq!(
        shown.stdout,
        "Plan\n✔ One\n▸ Two\n○ Improve it\n\nPLAN.md: 1 of 3 tasks done\n\
         1 line not read as a task; `ralph plan check` says why:\n    7  -[ ] Three\n"
    );
    let next = plan("--next");
    assert_eq!((next.code(), &*next.stdout), (Some(0), "Two\n"));
    let checked = plan("check");
    assert_eq!(checked.code(), Some(2), "{checked:?}");
    for line in [
        "PLAN.md:5:7: warning: `improve` alone has no clear end",
        "PLAN.md:7:1: error: there is no space between the list marker and the box",
        "PLAN.md: 3 tasks, 2 open · 1 mistake · 1 warning",
    ] {
        assert!(checked.stdout.contains(line), "{checked:?}");
    }
    let json: Value = serde_json::from_str(&plan("check --json").stdout).unwrap();
    assert_eq!(
        (&json["findings"][1]["line"], &json["findings"][1]["severity"]),
        (&7.into(), &"error".into())
    );
    let json: Value = serde_json::from_str(&plan("--json").stdout).unwrap();
    assert_eq!((&json["done"], &json["current"]), (&1.into(), &4.into()));

    sandbox.write(
        "who.md",
        "- [ ] One {adapter=codx}\n- [x] Two {adapter=gone}\n- [ ] Three {modle=x}\n",
    );
    let who = plan("check -p who.md");
    assert_eq!(who.code(), Some(2), "{who:?}");
    for line in [
        "who.md:1:11: error: there is no adapter `codx`; did you mean `codex`?",
        "who.md:3:14: error: unknown task setting `modle`; did you mean `model`?",
        "who.md: 3 tasks, 2 open · 2 mistakes · 0 warnings",
    ] {
        assert!(who.stdout.contains(line), "{who:?}");
    }

    // Warnings alone are not a failure, and neither is another file name.
    sandbox.write("other.md", "- [ ] Improve it\n");
    for args in ["check --plan other.md", "-p other.md check"] {
        let warned = plan(args);
        assert_eq!(warned.code(), Some(0), "{warned:?}");
        assert!(warned.stdout.contains("other.md:1:7: warning:"), "{warned:?}");
    }
    sandbox.write("done.md", "- [x] One\n");
    let done = plan("--next -p done.md");
    assert_eq!(done.code(), Some(1), "{done:?}");
    assert!(done.stderr.contains("every task is done"), "{done:?}");
    for (name, text, part) in [
        ("empty.md", &b""[..], "empty.md:1:1: error: the plan is empty"),
        ("odd.md", b"- [ ] One\n\xff\n", "odd.md:2:1: error: not UTF-8"),
        ("prd.json", b"[\n  {\"title\": 1 \"a\"}]", "prd.json:2:"),
    ] {
        fs::write(sandbox.project().join(name), text).unwrap();
        let wrong = plan(&format!("check -p {name}"));
        assert_eq!(wrong.code(), Some(2), "{wrong:?}");
        assert!(
            wrong.stdout.contains(part) && wrong.stdout.contains("hint: "),
            "{wrong:?}"
        );
    }
    let missing = plan("check -p none.md");
    assert_eq!(missing.code(), Some(3), "{missing:?}");
    assert!(missing.stderr.contains("none.md: there is no such plan"), "{missing:?}");

    // Like a run, `ralph plan` refuses to choose among several kinds of work.
    for name in ["PLAN.md", "prd.json"] {
        fs::remove_file(sandbox.project().join(name)).unwrap();
    }
    sandbox.write("REFACTOR_PLAN.md", "- [ ] Split it\n");
    sandbox.write("@fix_plan.md", "- [ ] Fix it\n");
    let several = plan("--next");
    assert_eq!(several.code(), Some(3), "{several:?}");
    assert!(several.stderr.contains("different kinds of work"), "{several:?}");
}

/// Plans as people write them. The counts of open and done tasks and the lines that are no tasks are those of a person.
#[test]
fn plans_of_many_shapes_have_the_tasks_that_a_person_counts() {
    const COUNTED: [(&str, usize, usize, &[u64]); 22] = [
        ("below-bold.md", 2, 1, &[]),
        ("below-text.md", 3, 0, &[]),
        ("callout.md", 1, 0, &[4, 5]),
        ("cyrillic.md", 1, 2, &[]),
        ("details.md", 2, 1, &[]),
        ("fence-in-fence.md", 2, 0, &[14]),
        ("front-matter.md", 2, 0, &[]),
        ("glued.md", 2, 0, &[1, 2, 4]),
        ("headings.md", 4, 1, &[]),
        ("languages.md", 3, 1, &[]),
        // The legend counts, and `plan check` warns of it.
        ("legend.md", 4, 2, &[]),
        ("marks.md", 4, 1, &[]),
        ("only-headings.md", 2, 1, &[]),
        ("open-comment.md", 3, 0, &[4]),
        ("open-fence.md", 2, 1, &[5]),
        ("parent-with-counter.md", 3, 1, &[]),
        ("same-fence-in-fence.md", 2, 0, &[12]),
        ("signs.md", 3, 1, &[]),
        ("steps.md", 2, 0, &[]),
        ("table.md", 1, 0, &[5, 6, 7]),
        ("ticked-with-a-sign.md", 2, 1, &[]),
        ("two-digits.md", 4, 1, &[]),
    ];
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/plans");
    assert_eq!(fs::read_dir(fixtures).unwrap().count(), COUNTED.len());
    let sandbox = Sandbox::new();
    let counted = COUNTED.map(|(name, ..)| {
        let path = format!("{fixtures}/{name}");
        let shown = sandbox.ralph(["plan", "--json", "--plan", &path]).run(SOON);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown:?}"));
        let list = |key: &str| shown[key].as_array().cloned().unwrap_or_default();
        let done = list("tasks").iter().filter(|task| task["done"] == true).count();
        let unread: Vec<u64> = list("unread").iter().filter_map(|line| line["line"].as_u64()).collect();
        (name, list("tasks").len() - done, done, unread)
    });
    assert_eq!(
        counted,
        COUNTED.map(|(name, open, done, unread)| (name, open, done, unread.to_vec()))
    );
}

#[test]
fn a_task_is_added_in_the_manner_of_the_file_and_a_run_that_works_finds_it() {
    let sandbox = Sandbox::new();
    let add = |args: &[&str]| sandbox.ralph(["plan", "add"]).args(args).run(SOON);
    sandbox.write("PLAN.md", "\u{feff}# Plan\r\n\r\n* [ ] Write 1\r\n\r\n## Later\r\n");
    let plan = sandbox.project().join("PLAN.md");
    fs::set_permissions(&plan, fs::Permissions::from_mode(0o640)).unwrap();
    let link = sandbox.project().join("link.md");
    symlink("PLAN.md", &link).unwrap();
    for args in [&["Write", "2"][..], &["--section", "later", "Write 3", "-p", "link.md"]] {
        let added = add(args);
        assert_eq!(added.code(), Some(0), "{added:?}");
    }
    assert_eq!(
        sandbox.read("PLAN.md").unwrap(),
        "\u{feff}# Plan\r\n\r\n* [ ] Write 1\r\n* [ ] Write 2\r\n\r\n## Later\r\n\r\n- [ ] Write 3\r\n"
    );
    assert_eq!(fs::metadata(&plan).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    for (args, code, part) in [
        (&[" "][..], 2, "a task is one line"),
        (&["a\nb"], 2, "a task is one line"),
        (&["-p", "none.md", "a"], 3, "there is no such plan"),
        (&["-p", "prd.json", "--section", "x", "a"], 2, "no sections"),
    ] {
        sandbox.write("prd.json", r#"[{"title": "a"}]"#);
        let refused = add(args);
        assert_eq!(refused.code(), Some(code), "{refused:?}");
        assert!(
            refused.stderr.contains(part) && refused.stderr.contains("hint: "),
            "{refused:?}"
        );
    }

    // A task is added while the agent works on the last one: the run includes it.
    sandbox.write("PLAN.md", "- [ ] Write hello.txt\n");
    for name in ["prd.json", "link.md"] {
        fs::remove_file(sandbox.project().join(name)).unwrap();
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plan"]);
    sandbox.install(&Script::jsonl("[ $n = 1 ] && await added\nwork\nover 'Done.'"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let added = add(&["Write world.txt"]);
    assert_eq!(added.code(), Some(0), "{added:?}");
    sandbox.release("added");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let plan = sandbox.read("PLAN.md").unwrap();
    assert!(
        plan.contains("- [x] Write hello.txt\n") && plan.contains("- [x] Write world.txt\n"),
        "{plan}"
    );
}

#[test]
fn the_next_prompt_is_shown_as_the_agent_gets_it_and_the_built_in_one_as_a_template() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl("said ready; await go$n; work; over \"done with $n\""));
    let prompt = |args: &[&str]| {
        let printed = sandbox
            .ralph(["-a", "script", "plan", "prompt"].iter().chain(args))
            .run(SOON);
        assert_eq!(printed.code(), Some(0), "{printed:?}");
        printed.stdout
    };
    // Prompts of different runs and sessions differ only in the promise token.
    let without_promise = |text: &str| -> String { text.lines().filter(|line| !line.contains("DONE-")).collect() };
    let first = prompt(&[]);
    assert!(
        first.contains("This is session 1") && first.contains("Task 1"),
        "{first}"
    );
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    assert_eq!(without_promise(&first), without_promise(&sandbox.prompt(1)));
    let steered = sandbox.ralph(["steer", "Use SQLite"]).run(SOON);
    assert_eq!(steered.code(), Some(0), "{steered:?}");
    let next = prompt(&[]);
    assert!(
        next.contains("This is session 2") && next.contains("Use SQLite"),
        "{next}"
    );
    sandbox.release("go1");
    sandbox.release("go2");
    running.wait(SOON);
    assert!(sandbox.prompt(2).contains("Use SQLite"));

    let template = prompt(&["--built-in"]);
    for placeholder in ["{plan}", "{task}", "{iteration}", "{progress}"] {
        assert!(template.contains(placeholder), "{template}");
    }
    sandbox.plan(2);
    let built_in = prompt(&[]);
    sandbox.write("own.md", &template);
    let own = sandbox
        .ralph(["-a", "script", "--prompt-file", "own.md", "plan", "prompt"])
        .run(SOON);
    // A template has no place of the task.
    let built_in = built_in.replace("\n  (line 1)", "");
    assert_eq!(without_promise(&own.stdout), without_promise(&built_in));
}
