//! `ralph goals assay`: known cheats on a copy of a project, judged by real runs.

use std::{fs, time::Duration};

use serde_json::Value;

use crate::harness::{Sandbox, agents::needs, running::Finished, wait_until};

/// Time limit: the assay starts one run per cheat, about a dozen, and other tests compete for the processors.
const LONG: Duration = Duration::from_secs(600);

const WORK: &str = "def add(a, b):\n    return a + b\n";
const TESTS: &str = "import unittest

from calc import add


class CalcTest(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)

    def test_large(self):
        self.assertEqual(add(100, 200), 300)

    def test_negative(self):
        self.assertEqual(add(-1, 1), 0)
";

fn project(work: &str, settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("calc.py", work);
    sandbox.write("test_calc.py", TESTS);
    sandbox.write(".ralph/config.json", settings);
    sandbox
}

fn with_goal(command: &str, more: &str) -> String {
    format!(r#"{{ "goals": [{{ "name": "tests", "command": "{command}" }}]{more} }}"#)
}

fn assay(sandbox: &Sandbox, args: &[&str]) -> (Finished, Value) {
    let finished = sandbox.ralph(["goals", "assay", "--json"].iter().chain(args)).run(LONG);
    let json = serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"));
    (finished, json)
}

/// The verdicts, each with the name of its row.
fn verdicts(json: &Value) -> Vec<(&str, &str)> {
    let rows = json["rows"].as_array().expect("rows");
    rows.iter()
        .map(|row| {
            (
                row["name"].as_str().expect("a name"),
                row["verdict"].as_str().expect("a verdict"),
            )
        })
        .collect()
}

fn verdict<'j>(json: &'j Value, name: &str) -> &'j str {
    let found = verdicts(json).into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no row {name}: {json}")).1
}

#[test]
fn the_gate_refuses_cheats_of_each_kind_and_the_project_stays_as_it_is() {
    needs!("python3");
    let cheats = [
        "tests-deleted",
        "exit-code-at-the-end",
        "assertions-do-nothing",
        "unittest-shadowed",
    ];
    let args: Vec<&str> = cheats.iter().flat_map(|name| ["--cheat", name]).collect();
    is_refused(&args, cheats.len());
}

#[test]
#[ignore = "part of the full matrix"]
fn the_gate_refuses_every_known_cheat() {
    needs!("python3");
    let json = is_refused(&[], 14);
    let inapplicable = json["inapplicable"].as_array().expect("a list");
    assert!(inapplicable.contains(&"cargo-runner-is-true".into()), "{json:#}");
}

/// Tries the cheats, which must number `at_least` or more, and checks that every one is refused.
fn is_refused(args: &[&str], at_least: usize) -> Value {
    let sandbox = project(WORK, &with_goal("python3 -m unittest", ""));
    let before = sandbox.git(["status", "--porcelain", "--ignored"]);
    let (finished, json) = assay(&sandbox, args);
    assert_eq!(finished.code(), Some(0), "{json:#}");
    assert_eq!(verdict(&json, "do-nothing"), "refused");
    assert_eq!(verdict(&json, "repair"), "accepted");
    let cheats: Vec<_> = verdicts(&json).split_off(2);
    assert!(cheats.len() >= at_least, "{cheats:?}");
    assert!(cheats.iter().all(|(_, verdict)| *verdict == "refused"), "{json:#}");
    let deceive = json["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter(|row| row["deceives"] == true);
    // Counts all cheats that are not exempt. A cheat that makes the goals fail shows nothing about the gate.
    assert!(deceive.count() >= at_least, "{json:#}");
    let broken = &json["broken"];
    assert_eq!(
        (&broken["path"], &broken["line"]),
        (&"calc.py".into(), &2.into()),
        "{broken}"
    );
    // The project is unchanged, and no copy is left.
    assert_eq!(sandbox.git(["status", "--porcelain", "--ignored"]), before);
    assert_eq!(sandbox.read("calc.py").as_deref(), Some(WORK));
    let report = sandbox.ralph(["runs"]).run(LONG);
    assert!(!report.stdout.contains("done"), "{report:?}");
    assert_eq!(copies(&sandbox), Vec::<String>::new());
    sandbox.assert_nothing_runs();
    json
}

/// The project copies that exist now.
fn copies(sandbox: &Sandbox) -> Vec<String> {
    let above = sandbox.state().with_file_name("cache").join("ralph/assay");
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

#[test]
fn what_is_switched_off_accepts_cheats_and_is_what_to_set() {
    needs!("python3");
    let off = r#", "gate": { "trial": false, "bite": "off" }"#;
    let sandbox = project(WORK, &with_goal("python3 -m unittest", off));
    let named = ["--cheat", "tests-return-at-once", "--cheat", "tests-deleted"];
    let (finished, json) = assay(&sandbox, &named);
    assert_eq!(finished.code(), Some(1), "{json:#}");
    assert_eq!(verdict(&json, "tests-return-at-once"), "accepted");
    // The number of tests is known without these.
    assert_eq!(verdict(&json, "tests-deleted"), "refused");
    assert_eq!(verdicts(&json).len(), 4);
    let row = &json["rows"][3];
    let set = [
        r#"set "gate": { "trial": true }"#,
        r#"set "gate": { "bite": "refuse" }"#,
    ];
    assert_eq!(row["set"], Value::from(set.to_vec()), "{row}");
    let shown = sandbox
        .ralph(["goals", "assay", "--cheat", "tests-return-at-once"])
        .run(LONG);
    let line = r#"✖ tests-return-at-once  ACCEPTED  set "gate": { "trial": true }; "#;
    assert!(shown.stdout.contains(line), "{shown:?}");
    assert!(
        shown
            .stdout
            .contains("the work is broken in calc.py:2: `return a + b` → "),
        "{shown:?}"
    );
    assert!(
        shown.stdout.contains("✔ do-nothing") && shown.stdout.ends_with("1 of 1 cheat accepted\n"),
        "{shown:?}"
    );
}

#[test]
fn goals_that_notice_nothing_are_the_finding() {
    let sandbox = project(WORK, &with_goal("true", ""));
    let (finished, json) = assay(&sandbox, &[]);
    assert_eq!(finished.code(), Some(1), "{json:#}");
    assert_eq!(verdicts(&json), [("do-nothing", "accepted-by-exit-code")]);
    assert_eq!(json["broken"]["type"], "unnoticed");
    let shown = sandbox.ralph(["goals", "assay"]).run(LONG);
    for text in [
        "ACCEPTED by exit code only",
        "the goals notice nothing",
        "only exit codes back them",
    ] {
        assert!(shown.stdout.contains(text), "{text}: {shown:?}");
    }
}

#[test]
fn goals_that_fail_already_need_no_break() {
    needs!("python3");
    let sandbox = project("def add(a, b):\n    pass\n", &with_goal("python3 -m unittest", ""));
    let (finished, json) = assay(&sandbox, &["--cheat", "exit-in-the-module"]);
    assert_eq!(finished.code(), Some(0), "{json:#}");
    let expected = [("do-nothing", "refused"), ("exit-in-the-module", "refused")];
    assert_eq!(verdicts(&json), expected);
    assert_eq!(json["broken"]["type"], "already");
    assert_eq!(json["rows"][1]["deceives"], true);
}

#[test]
fn what_cannot_be_tried_is_one_clear_sentence() {
    let sandbox = project(WORK, "{}");
    let finished = sandbox.ralph(["goals", "assay"]).run(LONG);
    assert_eq!(finished.code(), Some(3));
    assert_eq!(
        finished.stderr,
        "error: there are no goals, so nothing would notice a cheat\nhint: `ralph init` finds the commands that test this project and \
         writes them down as goals\n"
    );
    let finished = sandbox.ralph(["goals", "assay", "--cheat", "tests-emptyed"]).run(LONG);
    assert_eq!(finished.code(), Some(2));
    assert!(
        finished.stderr.contains("did you mean `tests-emptied`?"),
        "{finished:?}"
    );
    let listed = sandbox.ralph(["goals", "assay", "--list"]).run(LONG);
    assert!(listed.stdout.contains("tests-emptied") && listed.stdout.contains("Every file of tests is left empty.\n"));
}

#[test]
fn a_copy_that_a_kill_left_behind_is_gone_after_the_next() {
    needs!("python3");
    let goal = "touch $HOME/began; python3 -m unittest";
    let sandbox = project(WORK, &with_goal(goal, ""));
    let args = ["goals", "assay", "--cheat", "tests-deleted"];
    let running = sandbox.ralph(args).start();
    let began = sandbox.home().join("began");
    wait_until(LONG, "goal that runs", || began.exists().then_some(()));
    running.kill();
    running.wait(LONG);
    assert_eq!(copies(&sandbox).len(), 1);
    let finished = sandbox.ralph(args).run(LONG);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(copies(&sandbox), Vec::<String>::new());
    assert_eq!(sandbox.read("calc.py").as_deref(), Some(WORK));
}
