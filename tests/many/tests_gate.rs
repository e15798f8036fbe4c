//! A merged tree is judged by tests: those of the target and those of the plan.

use super::{assert_tidy, batch, many, merges::AFTER, show, status};
use crate::harness::{SOON, Sandbox, Script, agents::needs, running::Finished, wait_until};

const TESTS: &str = "const test = require('node:test');
const assert = require('node:assert');
const { add, sub } = require('./add.js');
test('small', () => assert.strictEqual(add(1, 2), 3));
test('large', () => assert.strictEqual(add(100, 200), 300));
test('sub', () => assert.strictEqual(sub(3, 2), 1));
";

/// Runs `$HOME/PLAN.sh`, or `$HOME/resolve.sh` for a merge task, and ends with the words in `$last`.
const AGENT: &str = r#"
plan=$(basename "$RALPH_PLAN" .md)
last=done
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then . "$HOME/resolve.sh"; else . "$HOME/$plan.sh"; fi
sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
over "$last""#;

/// Keeps both sides of a conflict.
const UNION: &str = "sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' add.test.js";

/// Two plans, `api` and `ui`, each with its work in a script; `ui` works once `api` is merged.
fn two(api: &str, ui: &str, resolve: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(AGENT));
    for plan in ["api", "ui"] {
        sandbox.write(&format!("{plan}.md"), &format!("# {plan}\n\n- [ ] One of {plan}\n"));
    }
    sandbox.write(
        "add.js",
        "exports.add = (a, b) => a + b\nexports.sub = (a, b) => a - b\n",
    );
    sandbox.write("add.test.js", TESTS);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    for (name, script) in [("api", api), ("ui", &format!("{AFTER}; {ui}")), ("resolve", resolve)] {
        std::fs::write(sandbox.home().join(format!("{name}.sh")), script).expect("a script");
    }
    sandbox
}

/// Keeps a refused agent from working for ever.
const LIMIT: [&str; 2] = ["--max-iterations", "2"];

fn run(sandbox: &Sandbox, more: &[&str]) -> Finished {
    let args = [
        "api.md",
        "ui.md",
        "--jobs",
        "2",
        "--goal",
        "tests=node --test",
        "--max-iterations",
        "2",
    ];
    batch(sandbox, &args).args(more).run(SOON)
}

/// A line of a test file that adds a test.
fn test(name: &str, expectation: &str) -> String {
    format!("echo \"test('{name}', () => assert.strictEqual({expectation}));\" >> add.test.js")
}

#[test]
fn a_conflict_in_tests_is_resolved_with_the_tests_of_both() {
    needs!("node");
    let sandbox = two(&test("api", "add(1, 1), 2"), &test("ui", "add(2, 2), 4"), UNION);
    let finished = run(&sandbox, &["--require", "verified"]);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let tests = show(&sandbox, "add.test.js");
    assert!(tests.contains("'api'") && tests.contains("'ui'"), "{tests}");
    let status = status(&sandbox);
    assert_eq!(status["proof"], "tests", "{status:#}");
    for plan in status["plans"].as_array().expect("plans") {
        assert_eq!(
            (&plan["proof"], &plan["mergeProof"]),
            (&"tests".into(), &"tests".into()),
            "{plan:#}"
        );
    }
    let shown = many(&sandbox, "status").run(SOON).stdout;
    assert_eq!(shown.matches(", verified)").count(), 2, "{shown}");
    let report = many(&sandbox, "report").run(SOON).stdout;
    assert!(report.contains("the target is verified"), "{report}");
    assert_tidy(&sandbox);
}

#[test]
fn an_agent_that_takes_back_tests_of_the_target_in_a_conflict_is_refused_by_their_number() {
    needs!("node");
    let three = [
        test("a", "add(1, 1), 2"),
        test("b", "add(1, 3), 4"),
        test("c", "add(1, 4), 5"),
    ]
    .join("; ");
    // Keeps only the plan's side.
    let ours = "git checkout --quiet --ours add.test.js; git add add.test.js; git commit --quiet -m 'Keep add.test.js'";
    let sandbox = two(&three, &test("ui", "add(2, 2), 4"), ours);
    let finished = run(&sandbox, &LIMIT);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let said = "goal `tests` ran 4 tests on the merged tree, and 6 tests on the target";
    assert!(finished.stdout.contains(said), "{finished:?}");
    assert!(show(&sandbox, "add.test.js").contains("'c'"));
    assert!(!show(&sandbox, "add.test.js").contains("'ui'"));
}

#[test]
fn an_agent_that_softens_tests_of_either_side_in_a_conflict_is_refused_by_these() {
    needs!("node");
    // The merged work fails tests of both sides, while their number is unchanged.
    for (broken, side) in [("api", "the target"), ("ui", "the plan's branch")] {
        let api = format!(
            "echo 'exports.api = () => 1' >> add.js; {}",
            test("api", "require('./add.js').api(), 1")
        );
        let ui = format!(
            "echo 'exports.ui = () => 2' > ui.js; {}",
            test("ui", "require('./ui.js').ui(), 2")
        );
        let soften = format!(
            "{UNION}; sed -i \"s/^test('{broken}'.*/test('{broken}', () => assert.ok(true));/\" add.test.js; \
             sed -i 's/exports.{broken} = .*/exports.{broken} = () => 9/' add.js ui.js"
        );
        let sandbox = two(&api, &ui, &soften);
        let finished = run(&sandbox, &LIMIT);
        assert_eq!(finished.code(), Some(1), "{broken}: {finished:?}");
        let said = format!("goal `tests` does not pass with the tests of {side}; changed: add.test.js (changed)");
        assert!(finished.stdout.contains(&said), "{broken}: {finished:?}");
        assert!(!show(&sandbox, "add.test.js").contains("'ui'"));
    }
}

#[test]
fn changed_tests_are_confirmed_in_the_work_tree_of_a_plan_and_then_merged() {
    needs!("node");
    let ui = "sed -i '/sub/d' add.js add.test.js; sed -i \"2a const { add } = require('./add.js');\" add.test.js; \
              last='RALPH TESTS CHANGED: sub is gone'";
    let sandbox = two("echo 'exports.mul = (a, b) => a * b' > mul.js", ui, "false");
    let finished = run(&sandbox, &LIMIT);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(
        finished
            .stdout
            .contains("ui: not merged: done (changed tests are not confirmed)"),
        "{finished:?}"
    );
    let hint = finished
        .stderr
        .lines()
        .find(|line| line.contains("ralph confirm"))
        .expect("a hint");
    let command = hint.split('`').nth(1).expect("a command");
    // The plan stays as it is until the changes are confirmed.
    let resumed = many(&sandbox, "resume").run(SOON);
    assert!(
        resumed.code() == Some(1) && !resumed.stdout.contains("ui: running again"),
        "{resumed:?}"
    );
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let command = command.replace("ralph confirm", &format!("{ralph} confirm --yes"));
    let confirmed = sandbox.program("sh").args(["-c", &command]).run(SOON);
    assert_eq!(confirmed.code(), Some(0), "{command}: {confirmed:?}");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(!resumed.stdout.contains("ui: running again"), "{resumed:?}");
    assert!(!show(&sandbox, "add.test.js").contains("sub"));
    assert_eq!(status(&sandbox)["proof"], "tests");
}

#[test]
fn changed_tests_are_confirmed_while_other_plans_run_and_merged_then() {
    needs!("node");
    let api = "sed -i '/sub/d' add.js add.test.js; sed -i \"2a const { add } = require('./add.js');\" add.test.js; \
               last='RALPH TESTS CHANGED: sub is gone'";
    // The other plan works until the first one is merged.
    let sandbox = two(api, "echo 'exports.mul = (a, b) => a * b' > mul.js", "false");
    let args = ["api.md", "ui.md", "--jobs", "2", "--goal", "tests=node --test"];
    let running = batch(&sandbox, &args).args(LIMIT).start();
    running.wait_for_line(SOON, |line| line.contains("api: not merged"));
    let status = status(&sandbox);
    let tree = status["plans"][0]["workTree"].as_str().expect("a work tree");
    let confirmed = sandbox.ralph(["confirm", "--yes"]).current_dir(tree).run(SOON);
    assert_eq!(confirmed.code(), Some(0), "{confirmed:?}");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        finished.stdout.matches("api: its changed tests were confirmed").count(),
        1,
        "{finished:?}"
    );
    assert!(!show(&sandbox, "add.test.js").contains("sub"));
}

#[test]
fn two_plans_that_lose_nothing_alone_are_not_merged_if_they_do_together() {
    needs!("node");
    // One plan adds tests in a new file, the other makes the runner read only the old one.
    let more = format!(
        "cp add.test.js more.test.js; {}",
        test("more", "add(1, 1), 2").replace(">> add", ">> more")
    );
    let sandbox = two(
        &more,
        "sed -i 's/node --test/node --test add.test.js/' Makefile",
        "true",
    );
    sandbox.write("Makefile", "test:\n\tnode --test\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Makefile"]);
    let args = ["api.md", "ui.md", "--jobs", "2", "--goal", "tests=make --silent test"];
    let finished = batch(&sandbox, &args).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("ui: done (verified)"), "{finished:?}");
    let said = "goal `tests` ran 3 tests on the merged tree, and 7 tests on the target";
    assert!(finished.stdout.contains(said), "{finished:?}");
    assert_eq!(show(&sandbox, "Makefile"), "test:\n\tnode --test\n");
}

#[test]
fn what_was_confirmed_for_one_plan_is_right_for_those_that_began_before() {
    needs!("node");
    let api = "sed -i '/sub/d' add.js add.test.js; sed -i \"2a const { add } = require('./add.js');\" add.test.js; \
               last='RALPH TESTS CHANGED: sub is gone'";
    let sandbox = two(api, "true", "false");
    // The plan does nothing until `again` exists.
    let ui = "[ -e \"$HOME/again\" ] || { over stuck; exit 0; }; echo 'exports.mul = (a, b) => a * b' > mul.js";
    std::fs::write(sandbox.home().join("ui.sh"), ui).expect("a script");
    let finished = run(&sandbox, &["--max-iterations", "1"]);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    std::fs::write(sandbox.home().join("again"), "").expect("a file");
    let tree = &status(&sandbox)["plans"][0]["workTree"];
    let confirm = format!(
        "cd '{}' && {} confirm --yes",
        tree.as_str().expect("a tree"),
        env!("CARGO_BIN_EXE_ralph")
    );
    let confirmed = sandbox.program("sh").args(["-c", &confirm]).run(SOON);
    assert_eq!(confirmed.code(), Some(0), "{confirmed:?}");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(!show(&sandbox, "add.test.js").contains("sub") && !show(&sandbox, "mul.js").is_empty());
}

#[test]
fn a_merge_that_proves_less_than_is_required_is_left() {
    let sandbox = two("true", "true", "false");
    let goal = ["api.md", "--goal", "lint=true"];
    let finished = batch(&sandbox, &goal).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("api: merged (passed);"), "{finished:?}");
    let finished = batch(&sandbox, &goal).args(["--require", "verified"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(
        finished.stdout.contains("api: not merged: done (passed)"),
        "{finished:?}"
    );
}

#[test]
fn what_a_trial_of_a_merge_had_in_place_is_taken_away_after_a_kill() {
    needs!("node");
    // An existing test file changes, so the target's tests are tried; the goal waits once during that trial.
    let sandbox = two("true", &test("ui", "add(2, 2), 4"), "false");
    let goal = "tests=case $PWD in */_merge) if [ -e $HOME/merged ] && [ ! -e $HOME/tried ] && ! grep -q \"'ui'\" add.test.js; then \
                : > $HOME/tried; exec sleep 600; fi; if grep -q \"'ui'\" add.test.js; then : > $HOME/merged; fi;; esac; node --test";
    let args = ["api.md", "ui.md", "--jobs", "2", "--goal", goal];
    let running = batch(&sandbox, &args).start();
    wait_until(SOON, "the trial", || sandbox.read_home("tried"));
    running.kill();
    running.wait(SOON);
    sandbox.waits_until_nothing_runs();
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(show(&sandbox, "add.test.js").contains("'ui'"));
    assert_tidy(&sandbox);
}

#[test]
fn tests_that_failed_before_the_batch_are_forgiven_until_a_plan_makes_them_pass() {
    needs!("node");
    let known = "const { existsSync } = require('node:fs');
require('node:test')('known', () => require('node:assert').ok(existsSync('known') && !existsSync('broken')));
";
    for (api, merged) in [("touch other", 2), ("touch known", 1)] {
        let sandbox = two(api, "touch broken", "false");
        sandbox.write(".ralph/config.json", r#"{ "gate": { "knownFailures": "forgive" } }"#);
        sandbox.write("known.test.js", known);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Add a test that fails"]);
        let finished = run(&sandbox, &["--require", "verified"]);
        let plans = status(&sandbox)["plans"].clone();
        let plans = plans.as_array().expect("plans");
        let count = plans.iter().filter(|plan| plan["mergeProof"] == "tests").count();
        assert_eq!(count, merged, "{api}: {plans:#?} {finished:?}");
        assert_eq!(finished.code(), Some(i32::from(merged < 2)), "{api}: {finished:?}");
    }
}
