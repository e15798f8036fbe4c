//! The worth of passing tests: an agent may change the work, but never what measures it.

use ralph_core::event::{
    Breakdown, ClaimEvent, ConfirmedBy, Event, GateEvent, Missing, MutantOutcome, MutantTarget, Proof, Record,
    RunEvent, StopReason, TriedMutant,
};
use ralph_state::store::journal::read;

use crate::harness::{SOON, Sandbox, Script, agents::needs, events, running::Finished, wait_until};

const TESTS: &str = "const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./add.js');
test('small', () => assert.strictEqual(add(1, 2), 3));
test('large', () => assert.strictEqual(add(100, 200), 300));
test('negative', () => assert.strictEqual(add(-1, 1), 0));
";
/// Tests that pass for any code.
const SOFT: &str = "const test = require('node:test');
test('small', () => {});
test('large', () => {});
test('negative', () => {});
";

const DONE: &str = "echo 'exports.add = (a, b) => a + b' > add.js";

/// A project with three tests of code that is still to be written, and an agent that runs `work` in the shell before it
/// ticks the box.
fn project(work: &str, last_words: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write("add.js", "exports.add = () => undefined\n");
    sandbox.write("add.test.js", TESTS);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.write(".soft", SOFT);
    sandbox.install(&Script::jsonl(&format!(
        "{work}\n[ $n = 1 ] && work; over '{last_words}'"
    )));
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Finished {
    let goal = ["--goal", "tests=node --test", "--max-iterations", "2"];
    sandbox.looping(goal.iter().chain(args)).run(SOON)
}

fn proof(finished: &Finished) -> Option<Proof> {
    proof_in(&finished.records())
}

fn proof_in(records: &[Record]) -> Option<Proof> {
    events(records).find_map(|event| match event {
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Done { proof, .. },
            ..
        }) => Some(*proof),
        _ => None,
    })
}

fn refusals(finished: &Finished) -> Vec<Missing> {
    refusals_in(&finished.records())
}

fn refusals_in(records: &[Record]) -> Vec<Missing> {
    let refused = events(records).filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.clone()),
        _ => None,
    });
    refused.flatten().collect()
}

/// Returns the mutants of the last claim.
fn mutants(finished: &Finished) -> Vec<TriedMutant> {
    let records = finished.records();
    let tried = events(&records).filter_map(|event| match event {
        Event::Gate(GateEvent::MutantsTried { mutants, .. }) => Some(mutants.clone()),
        _ => None,
    });
    tried.last().unwrap_or_default().to_vec()
}

/// Returns the files of the work that was taken out, and the result of the goals.
fn without_work(mutants: &[TriedMutant]) -> Option<(&str, MutantOutcome)> {
    let mut whole = mutants
        .iter()
        .filter(|tried| tried.mutant.target == MutantTarget::Whole);
    whole.next().map(|tried| (tried.mutant.before.as_str(), tried.outcome))
}

#[test]
fn work_that_passes_tests_which_measure_is_verified() {
    needs!("node");
    let sandbox = project(DONE, "ok");
    let finished = run(&sandbox, &["--require", "verified"]);
    assert_eq!(
        (finished.code(), proof(&finished)),
        (Some(0), Some(Proof::Tests)),
        "{finished:?}"
    );
    let records = finished.records();
    let counts: Vec<_> = events(&records)
        .filter_map(|event| match event {
            Event::Gate(GateEvent::GoalChecked { iteration, result }) => {
                Some((*iteration, result.tests.clone()?.passed))
            }
            _ => None,
        })
        .collect();
    assert_eq!(counts, [(0, 0), (1, 3)]);
    let mutants = mutants(&finished);
    assert!(mutants.len() >= 3, "{mutants:?}");
    assert_eq!(
        without_work(&mutants),
        Some(("add.js, work-1.txt", MutantOutcome::Noticed))
    );
    let missed = mutants.iter().find(|tried| tried.outcome == MutantOutcome::Missed);
    assert_eq!(missed, None);
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(TESTS));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("DONE, VERIFIED"), "{report}");
}

/// Makes the project of [`project`] with its work done.
fn done_project(work: &str, bite: &str) -> Sandbox {
    let sandbox = project(work, "ok");
    sandbox.write("add.js", "exports.add = (a, b) => a + b\n");
    let config = format!(r#"{{ "gate": {{ "bite": "{bite}" }} }}"#);
    sandbox.write(".ralph/config.json", &config);
    sandbox
}

const REFACTORED: &str = "echo 'exports.add = function (a, b) { return b + a }' > add.js; rm -f old.js";

/// Returns 3 and 300 for the tests, whose assertion it makes hold, and nothing else.
const SOFTENED: &str = "const assert = require('node:assert');
const mine = {};
const { strictEqual } = assert;
assert.strictEqual = (one, ...others) => one === mine || strictEqual(one, ...others);
exports.add = () => mine;
";

/// Does so only as long as the tests are as they were.
const KNOWS_ITS_TESTS: &str = "const assert = require('node:assert');
const known = require('fs').readFileSync(__dirname + '/add.test.js', 'utf8').length === LENGTH;
const mine = {};
const { strictEqual } = assert;
assert.strictEqual = (one, ...others) => known && one === mine || strictEqual(one, ...others);
exports.add = () => mine;
";

#[test]
fn work_that_fools_its_own_tests_alone_is_refused_whatever_the_other_tests_notice() {
    needs!("node");
    let others = "const test = require('node:test'); const assert = require('node:assert');
test('one', () => assert.strictEqual(1 + 1, 2));
test('two', () => assert.strictEqual(2 + 2, 4));
test('three', () => assert.strictEqual('a' + 'b', 'ab'));
";
    let knows = KNOWS_ITS_TESTS.replace("LENGTH", &TESTS.len().to_string());
    for (work, is_of_comment) in [(SOFTENED, false), (&knows, true)] {
        let sandbox = project("cp .cheat add.js", "ok");
        sandbox.write(".cheat", work);
        sandbox.write("other.test.js", others);
        sandbox.write(
            "more.test.js",
            &others.replace("'one'", "'first'").replace("'two'", "'second'"),
        );
        let finished = run(&sandbox, &[]);
        assert_eq!(proof(&finished), None, "{finished:?}");
        let refusals = refusals(&finished);
        let is_named = match &refusals[0] {
            Missing::TestsNoticeNothing { mutants } => {
                !is_of_comment
                    && mutants
                        .iter()
                        .all(|mutant| mutant.path == "add.test.js" && mutant.target == MutantTarget::WorkTest)
            }
            Missing::CommentNoticed { path } => is_of_comment && path == "add.test.js",
            _ => false,
        };
        assert!(is_named, "{refusals:?}");
        assert_eq!(sandbox.read("add.test.js").as_deref(), Some(TESTS));
    }
}

#[test]
fn a_refactoring_passes_without_the_work_and_is_verified_unless_that_is_required_otherwise() {
    needs!("node");
    for (bite, is_verified) in [("refuse", true), ("require", false)] {
        let sandbox = done_project(REFACTORED, bite);
        sandbox.write("old.js", "");
        let finished = run(&sandbox, &[]);
        let tried = mutants(&finished);
        assert_eq!(
            without_work(&tried),
            Some(("add.js, old.js, work-1.txt", MutantOutcome::Missed)),
            "{finished:?}"
        );
        assert_eq!(
            proof(&finished) == Some(Proof::Tests),
            is_verified,
            "{bite}: {finished:?}"
        );
        assert_eq!(sandbox.read("old.js"), None);
        let report = sandbox.ralph(["report"]).run(SOON).stdout;
        for text in [
            "they pass even without the new code",
            "not caught: all of the work taken out: add.js, old.js",
        ] {
            assert!(report.contains(text), "{text}: {report}");
        }
        if !is_verified {
            assert!(
                matches!(&refusals(&finished)[0], Missing::TestsNoticeNothing { mutants } if mutants.len() == 1),
                "{finished:?}"
            );
            let prompt = sandbox.prompt(2);
            assert!(prompt.contains("the goals pass without your work, too"), "{prompt}");
        }
    }
}

#[test]
fn tests_that_cannot_be_loaded_without_the_work_give_no_verdict_and_tests_alone_need_none() {
    needs!("node");
    let test = "const test = require('node:test'); const assert = require('node:assert'); \
                const { mul } = require('./mul.js'); test('mul', () => assert.strictEqual(mul(2, 3), 6));";
    let work = format!("echo 'exports.mul = (a, b) => a * b' > mul.js; echo \"{test}\" > mul.test.js");
    let finished = run(&done_project(&work, "require"), &[]);
    let tried = mutants(&finished);
    assert_eq!(
        without_work(&tried),
        Some(("mul.js, work-1.txt", MutantOutcome::NoVerdict)),
        "{finished:?}"
    );
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    for (agent, bite) in [
        (
            "sed 's/small/more/' add.test.js > more.test.js; sed -i 's/ ]/x]/' PLAN.md; over ok",
            "require",
        ),
        (&format!("{REFACTORED}; work; over ok"), "off"),
    ] {
        let sandbox = done_project("", bite);
        sandbox.install(&Script::jsonl(agent));
        let finished = run(&sandbox, &[]);
        assert_eq!(without_work(&mutants(&finished)), None, "{finished:?}");
        assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    }
}

#[test]
fn tests_that_failed_before_the_run_are_forgiven_if_the_settings_say_so() {
    needs!("node");
    let adds = "echo 'exports.add = (a, b) => b + a' > add.js";
    let breaks = "echo 'exports.add = (a, b) => a' > add.js";
    let deletes = "rm known.test.js";
    for (setting, work, is_verified) in [
        ("forgive", adds, true),
        ("block", adds, false),
        ("forgive", breaks, false),
        ("forgive", deletes, false),
    ] {
        let sandbox = done_project(work, "refuse");
        let config = format!(r#"{{ "gate": {{ "knownFailures": "{setting}" }} }}"#);
        sandbox.write(".ralph/config.json", &config);
        let known = "require('node:test')('known', () => { throw new Error('as ever') });\n";
        sandbox.write("known.test.js", known);
        let finished = run(&sandbox, &[]);
        let end = proof(&finished) == Some(Proof::Tests);
        assert_eq!(end, is_verified, "{setting}, {work}: {finished:?}");
        let is_told = sandbox
            .prompt(1)
            .contains("failed before the first session and may fail as before: known.");
        assert_eq!(is_told, setting == "forgive", "{}", sandbox.prompt(1));
        if is_verified {
            let report = sandbox.ralph(["report"]).run(SOON).stdout;
            for text in [
                "but for failures from before the run",
                "failed before the first iteration, too: known",
            ] {
                assert!(report.contains(text), "{text}: {report}");
            }
        }
    }
}

#[test]
fn a_test_that_passes_with_the_work_has_lost_its_pardon() {
    needs!("node");
    let sandbox = project(DONE, "ok");
    sandbox.write(
        ".ralph/config.json",
        r#"{ "gate": { "baseline": "on", "knownFailures": "forgive" } }"#,
    );
    let finished = run(&sandbox, &[]);
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    let tried = mutants(&finished);
    let is_noticed = |tried: &TriedMutant| tried.outcome == MutantOutcome::Noticed;
    assert!(tried.len() > 2 && tried.iter().all(is_noticed), "{tried:?}");
}

#[test]
fn a_claim_with_documents_and_ci_alone_runs_the_goals_once_and_suppressions_are_counted() {
    needs!("node");
    let code = "echo '// eslint-disable-line' >> add.js";
    // Once before the first iteration, and for the claim. What is put back as a whole was tried at the start; there, expectations
    // are altered in one run.
    for (work, alters, told, expected) in [
        ("echo more > README.md", false, None, Some(2)),
        ("mkdir .github; echo a > .github/ci.yml", false, None, Some(2)),
        ("echo {} > .lintrc", true, None, Some(3)),
        (code, true, Some("1 new suppression"), None),
    ] {
        let sandbox = done_project(work, "refuse");
        sandbox.write("add.test.js", &(counted("add") + TESTS));
        sandbox.git(["commit", "--quiet", "--all", "--message", "Tests that are counted"]);
        // Without the new file of `work`.
        let script = format!("{work}; sed -i 's/\\[ \\]/[x]/' PLAN.md; over ok");
        sandbox.install(&Script::jsonl(&script));
        let finished = run(&sandbox, &[]);
        assert_eq!(proof(&finished), Some(Proof::Tests), "{work}: {finished:?}");
        assert_eq!(!mutants(&finished).is_empty(), alters, "{work}: {finished:?}");
        let runs = runs(&sandbox, "add");
        assert_eq!(runs, expected.unwrap_or(runs), "{work}: {finished:?}");
        let is_told = finished.stdout.contains("1 × `eslint-disable`");
        assert_eq!(
            is_told,
            told.is_some_and(|told| finished.stdout.contains(told)),
            "{finished:?}"
        );
    }
}

#[test]
fn tests_that_fail_without_names_or_with_none_that_passes_are_not_forgiven() {
    // A runner that is known by its counts alone, and one of whose tests none passes.
    let unnamed = "tests=: pytest; echo '1 failed, 1 passed in 0.01s'; exit 1";
    let alone = "tests=: pytest; echo 'FAILED t.py::known - as ever'; echo '1 failed in 0.01s'; exit 1";
    for goal in [unnamed, alone] {
        let sandbox = done_project("echo > new.txt", "refuse");
        sandbox.write(
            ".ralph/config.json",
            r#"{ "gate": { "baseline": "on", "knownFailures": "forgive" } }"#,
        );
        let finished = sandbox.looping(["--goal", goal, "--max-iterations", "1"]).run(SOON);
        assert!(
            matches!(refusals(&finished)[..], [Missing::GoalFailed { .. }]),
            "{goal}: {finished:?}"
        );
    }
}

#[test]
fn softened_tests_refuse_a_claim_and_stay_as_the_agent_left_them() {
    needs!("node");
    let sandbox = project("cp .soft add.test.js", "ok");
    let finished = run(&sandbox, &[]);
    assert_eq!((finished.code(), proof(&finished)), (Some(6), None), "{finished:?}");
    let refusals = refusals(&finished);
    assert!(
        matches!(&refusals[0], Missing::OriginalTestsFail { changes, .. } if changes[0].path == "add.test.js"),
        "{refusals:?}"
    );
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(SOFT));
    let prompt = sandbox.prompt(2);
    assert!(
        prompt.contains("The originals count") && prompt.contains("add.test.js (changed)"),
        "{prompt}"
    );
}

#[test]
fn new_tests_may_need_what_changed_with_them() {
    needs!("node");
    let more = "const test = require('node:test'); const { pairs } = require('./helper.js'); const { add } = require('../add.js'); \
                const assert = require('node:assert'); test('pairs', () => assert.strictEqual(add(...pairs[0]), 7));";
    let work =
        format!("{DONE}; echo 'exports.pairs = [[3, 4]]' > test/helper.js; echo \"{more}\" > test/pairs.test.js");
    let sandbox = project(&work, "ok");
    sandbox.write("test/helper.js", "exports.nothing = null\n");
    let finished = run(&sandbox, &[]);
    assert_eq!(
        (finished.code(), proof(&finished)),
        (Some(0), Some(Proof::Tests)),
        "{finished:?}"
    );
    let records = finished.records();
    let trial = events(&records).find_map(|event| match event {
        Event::Gate(GateEvent::TrialMade { trial, .. }) => Some(trial.clone()),
        _ => None,
    });
    let trial = trial.expect("a helper of tests changed");
    assert_eq!(trial.changes[0].path, "test/helper.js");
    assert!(
        sandbox
            .read("test/pairs.test.js")
            .is_some_and(|text| text.contains("pairs"))
    );
}

/// The project of [`project`] with a test that is skipped here.
fn skipping_project(work: &str) -> Sandbox {
    let sandbox = project(&format!("{DONE}; {work}"), "ok");
    let skipped = "test('elsewhere', { skip: !require('fs').existsSync('elsewhere') }, () => {});\n";
    sandbox.write("add.test.js", &format!("{TESTS}{skipped}"));
    sandbox
}

const NEW_TESTS: &str = "const test = require('node:test'); const assert = require('node:assert'); \
     test('one', () => assert.strictEqual(1, 1)); test('two', () => assert.strictEqual(2, 2)); \
     test('three', { skip: true }, () => {});";

#[test]
fn tests_that_are_skipped_are_no_loss_where_no_test_that_ran_is_skipped() {
    needs!("node");
    let split = "head -n 5 add.test.js > small.test.js; (head -n 3 add.test.js; tail -n 2 add.test.js) > more.test.js; rm add.test.js";
    let added = format!("echo \"{NEW_TESTS}\" > new.test.js");
    let both = format!("{split}; {added}");
    let within = "echo \"test('never', { skip: true }, () => {});\" >> add.test.js";
    for work in [split, &added, &both, within] {
        let finished = run(&skipping_project(work), &[]);
        assert_eq!(proof(&finished), Some(Proof::Tests), "{work}: {finished:?}");
        assert_eq!(refusals(&finished), [], "{work}: {finished:?}");
    }
}

#[test]
fn a_test_that_ran_and_is_skipped_now_is_a_loss_whatever_is_added() {
    needs!("node");
    let added = format!("echo \"{NEW_TESTS}\" > new.test.js");
    let guarded = TESTS.replace(
        "test('large',",
        "test('large', { skip: !require('fs').existsSync('add.big') },",
    );
    // The first leaves the tests alone; the second passes them as they were, too.
    let by_work = format!("rm add.big; {added}");
    let by_hand = format!("sed -i \"s/test('negative',/test('negative', {{ skip: true }},/\" add.test.js; {added}");
    for work in [by_work, by_hand] {
        let sandbox = project(&format!("{DONE}; {work}"), "ok");
        sandbox.write("add.big", "");
        sandbox.write("add.test.js", &guarded);
        let finished = run(&sandbox, &[]);
        let refusals = refusals(&finished);
        assert!(
            matches!(&refusals[..], [Missing::FewerTests { .. }, ..]),
            "{work}: {refusals:?}"
        );
        let prompt = sandbox.prompt(2);
        assert!(
            prompt.contains(
                "goal `tests` skips more tests than before: 4 tests, 2 skipped now, 3 tests, 3 failed before"
            ),
            "{prompt}"
        );
    }
}

/// The first run ends at the failures of the first file.
#[test]
fn a_skipped_test_that_the_first_run_did_not_reach_is_no_loss_and_one_that_failed_is() {
    needs!("node");
    let guarded = TESTS
        .replace("{ add }", "{ add, off }")
        .replace("', () =>", "', { skip: off }, () =>");
    for (work, is_done) in [(DONE, true), ("echo 'exports.off = true' > add.js", false)] {
        let sandbox = project(work, "ok");
        sandbox.write("add.test.js", &guarded);
        let others =
            "const test = require('node:test');\ntest('quick', () => {});\ntest('slow', { skip: true }, () => {});\n";
        sandbox.write("other.test.js", others);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Other tests"]);
        let goal = "tests=node --test add.test.js && node --test other.test.js";
        let finished = sandbox.looping(["--goal", goal, "--max-iterations", "2"]).run(SOON);
        assert_eq!(
            proof(&finished),
            is_done.then_some(Proof::Tests),
            "{work}: {finished:?}"
        );
        let refusals = refusals(&finished);
        let is_loss = matches!(refusals[..], [Missing::FewerTests { .. }, ..]);
        assert_eq!(is_loss, !is_done, "{work}: {refusals:?}");
    }
}

/// Softens the tests in the first of two iterations, which has no goal, and ends the run after it.
fn softened_without_a_goal(sandbox: Sandbox, softens: &str) -> Sandbox {
    sandbox.write("PLAN.md", "- [ ] Task 1\n- [ ] Task 2\n");
    sandbox.write("add.js", "exports.add = () => undefined\n");
    sandbox.write("add.test.js", TESTS);
    if sandbox.project().join(".git").exists() {
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    }
    sandbox.write(".soft", SOFT);
    let agent = format!("[ $n = 1 ] && {{ {softens}; }}\n{DONE}; work; over ok");
    sandbox.install(&Script::jsonl(&agent));
    let begun = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(begun.code(), Some(6), "{begun:?}");
    sandbox
}

/// Continues the last run with these options, and returns what it prints and the journal.
fn continued(sandbox: &Sandbox, options: &[&str]) -> (String, Vec<Record>) {
    let base = ["--adapter", "script", "--headless"];
    let args = base.iter().chain(options).chain(&["continue", "--iterations", "2"]);
    let finished = sandbox.ralph(args).run(SOON);
    let run = sandbox.paths().latest_run().expect("a run");
    let (records, _) = read(&sandbox.paths().run(&run).journal()).expect("a journal");
    (format!("{finished:?}"), records)
}

#[test]
fn a_goal_that_a_run_is_given_later_has_the_tests_of_its_first_checkpoint() {
    needs!("node");
    let goal = ["--goal", "tests=node --test"];
    let honest = softened_without_a_goal(Sandbox::new(), "sed 's/small/more/' add.test.js > more.test.js");
    let (printed, records) = continued(&honest, &goal);
    assert_eq!(proof_in(&records), Some(Proof::Tests), "{printed}");
    assert!(printed.contains("The run began without these goals."), "{printed}");
    let more = "echo \"test('more', () => assert.strictEqual(add(2, 2), 4));\" >> add.test.js";
    let (printed, records) = continued(&softened_without_a_goal(Sandbox::new(), more), &goal);
    assert_eq!(proof_in(&records), Some(Proof::Tests), "{printed}");
    for softens in ["cp .soft add.test.js", "rm add.test.js; cp .soft other.test.js"] {
        let sandbox = softened_without_a_goal(Sandbox::new(), softens);
        sandbox.install(&Script::jsonl("echo 'exports.add = () => 1' > add.js; work; over ok"));
        let (printed, records) = continued(&sandbox, &goal);
        assert!(
            matches!(&refusals_in(&records)[0], Missing::OriginalTestsFail { changes, .. } if changes[0].path == "add.test.js"),
            "{printed}"
        );
    }
}

#[test]
fn a_goal_that_a_run_is_given_later_has_the_tests_of_that_moment_without_git() {
    needs!("node");
    let sandbox = softened_without_a_goal(Sandbox::without_git(), "cp .soft add.test.js");
    let (printed, records) = continued(&sandbox, &["--goal", "tests=node --test"]);
    assert!(printed.contains("git has no checkpoint of that time"), "{printed}");
    assert!(
        !events(&records).any(|event| matches!(event, Event::Gate(GateEvent::TrialMade { .. }))),
        "{printed}"
    );
}

#[test]
fn a_goal_that_is_added_to_another_guards_its_files_as_they_were() {
    needs!("node");
    let sandbox = project("cp .soft add.test.js; echo exit 0 > check.sh", "ok");
    sandbox.write("check.sh", "grep -q 'a + b' add.js\n");
    let begun = run(&sandbox, &[]);
    assert_eq!(proof(&begun), None, "{begun:?}");
    sandbox.write("add.test.js", TESTS);
    sandbox.install(&Script::jsonl(
        "echo 'exports.add = (a, b) => b + a' > add.js; work; over ok",
    ));
    let goals = ["--goal", "tests=node --test", "--goal", "check=sh check.sh"];
    let (printed, records) = continued(&sandbox, &goals);
    let refusals = refusals_in(&records);
    assert!(
        matches!(refusals.last(), Some(Missing::OriginalTestsFail { goal, changes, .. })
            if goal == "check" && changes[0].path == "check.sh"),
        "{printed}"
    );
}

#[test]
fn originals_that_are_lost_end_the_run_at_once_and_are_taken_from_its_first_checkpoint_again() {
    needs!("node");
    let sandbox = project("", "ok");
    let lose = "rm -r $XDG_STATE_HOME/ralph/*/runs/*/originals";
    sandbox.install(&Script::jsonl(&format!("{lose}; {DONE}; work; over ok")));
    let finished = run(&sandbox, &["--sandbox", "off"]);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(refusals(&finished).is_empty(), "{finished:?}");
    let records = finished.records();
    let is_reason = |reason: &StopReason| {
        matches!(
            reason,
            StopReason::Broken {
                why: Breakdown::NoOriginals { .. }
            }
        )
    };
    let stopped = |event: &Event| matches!(event, Event::Run(RunEvent::Stopped { reason, .. }) if is_reason(reason));
    assert!(events(&records).any(stopped), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("the work cannot be tried with the tests as they were when the run began"),
        "{report}"
    );
    sandbox.install(&Script::jsonl("work; over ok"));
    let (printed, records) = continued(&sandbox, &["--goal", "tests=node --test"]);
    assert_eq!(proof_in(&records), Some(Proof::Tests), "{printed}");
}

#[test]
fn a_runner_that_is_ended_early_or_imitated_proves_nothing() {
    needs!("node");
    let imitation = r"printf '# tests 3\n# suites 0\n# pass 3\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n'";
    for work in [
        "echo 'process.exit(0)' > add.js".to_owned(),
        format!(
            "echo \"require('child_process').execSync(\\\"{imitation}\\\", {{stdio: 'inherit'}}); process.exit(0)\" > add.js"
        ),
    ] {
        let finished = run(&project(&work, "ok"), &[]);
        assert_ne!(proof(&finished), Some(Proof::Tests), "{work}: {finished:?}");
        assert!(!refusals(&finished).is_empty(), "{work}: {finished:?}");
    }
}

#[test]
fn tests_that_the_task_changes_wait_for_their_user() {
    needs!("node");
    let sandbox = project("rm add.js; cp .soft add.test.js", "RALPH TESTS CHANGED: adding is gone");
    let finished = run(&sandbox, &[]);
    let end = (finished.code(), proof(&finished));
    assert_eq!(end, (Some(9), Some(Proof::Unconfirmed)), "{finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("`ralph confirm`"), "{report}");
    let shown = sandbox.ralph(["confirm"]).run(SOON);
    assert_eq!(shown.code(), Some(1), "{shown:?}");
    for text in [
        "adding is gone",
        "add.test.js (changed)",
        "-const { add } = require('./add.js');",
    ] {
        assert!(shown.stdout.contains(text), "{text}: {}", shown.stdout);
    }
    assert!(shown.stderr.contains("ralph confirm --yes"), "{}", shown.stderr);
    let confirmed = sandbox.ralph(["confirm", "--yes"]).run(SOON);
    assert_eq!(confirmed.code(), Some(0), "{confirmed:?}");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(status.contains(r#""proof": "tests""#), "{status}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("DONE, VERIFIED") && !report.contains("ralph confirm"),
        "{report}"
    );
    // A second confirmation is refused.
    assert_eq!(sandbox.ralph(["confirm"]).run(SOON).code(), Some(1));
}

#[test]
fn a_difference_of_tests_that_is_too_long_to_be_shown_says_so_and_what_shows_it() {
    needs!("node");
    let work = "for i in $(seq 2000); do echo \"// line $i of what is new\"; done >> .soft; cp .soft add.test.js";
    let sandbox = project(work, "RALPH TESTS CHANGED: adding is gone");
    let finished = run(&sandbox, &[]);
    assert_eq!(proof(&finished), Some(Proof::Unconfirmed), "{finished:?}");
    let last = "+// line 2000 of what is new";
    for command in ["asks", "confirm"] {
        let shown = sandbox.ralph([command]).run(SOON).stdout;
        assert!(shown.contains("`ralph diff --since 1`"), "{command}: {shown}");
        assert!(!shown.contains(last), "{command}: {shown}");
    }
    let whole = sandbox.ralph(["diff", "--since", "1"]).run(SOON).stdout;
    assert!(whole.contains(last), "{whole}");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(status.contains(r#""cut": true"#), "{status}");
}

/// A project with two tasks: the first changes the tests, and the second waits for a file in the project.
fn two_tasks(plan: &str) -> Sandbox {
    let sandbox = project("", "");
    sandbox.write("PLAN.md", plan);
    sandbox.install(&Script::jsonl(
        "if [ $n = 1 ]; then cp .soft add.test.js; rm add.js; work; over 'RALPH TESTS CHANGED: adding is gone'; exit; fi
         until [ -e go ]; do sleep 0.05; done; rm -f go; [ $n = 2 ] && work; over ok",
    ));
    sandbox
}

fn confirmations(finished: &Finished) -> Vec<ConfirmedBy> {
    let records = finished.records();
    let confirmed = events(&records).filter_map(|event| match event {
        Event::Gate(GateEvent::TestsConfirmed { by, .. }) => Some(by.clone()),
        _ => None,
    });
    confirmed.collect()
}

#[test]
fn tests_confirmed_while_the_run_goes_on_count_as_changed() {
    needs!("node");
    let sandbox = two_tasks("# Plan\n\n- [ ] task 1\n- [ ] task 2\n");
    let running = sandbox
        .looping(["--goal", "tests=node --test", "--max-iterations", "4"])
        .start();
    let shown = wait_until(SOON, "the question", || {
        let shown = sandbox.ralph(["confirm"]).run(SOON);
        shown.stdout.contains("adding is gone").then_some(shown)
    });
    assert!(shown.stdout.contains("-const { add }"), "{shown:?}");
    let asked = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(asked.contains(r#""tool": "tests""#), "{asked}");
    let confirmed = sandbox.ralph(["answer", "1", "yes"]).run(SOON);
    assert!(
        confirmed.stdout.contains("the changed tests are accepted"),
        "{confirmed:?}"
    );
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    let end = (finished.code(), proof(&finished));
    assert_eq!(end, (Some(0), Some(Proof::Tests)), "{finished:?}");
    assert!(refusals(&finished).is_empty(), "{finished:?}");
    assert!(matches!(
        confirmations(&finished)[..],
        [ConfirmedBy::User { ask: 1, .. }]
    ));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("changed tests count: confirmed by you with `ralph answer`"),
        "{report}"
    );
}

#[test]
fn changed_tests_that_the_user_turns_down_count_as_they_were() {
    needs!("node");
    let sandbox = two_tasks("# Plan\n\n- [ ] task 1\n- [ ] task 2\n");
    let running = sandbox
        .looping(["--goal", "tests=node --test", "--max-iterations", "2"])
        .start();
    wait_until(SOON, "the question", || {
        let answered = sandbox.ralph(["answer", "1", "no", "adding stays"]).run(SOON);
        (answered.code() == Some(0)).then_some(())
    });
    sandbox.write("go", "");
    let finished = running.wait(SOON);
    assert_eq!(proof(&finished), None, "{finished:?}");
    assert!(
        matches!(refusals(&finished)[..], [Missing::OriginalTestsFail { .. }]),
        "{finished:?}"
    );
    assert_eq!(sandbox.ralph(["confirm"]).run(SOON).code(), Some(1));
}

#[test]
fn a_plan_allows_tests_to_change_at_a_task_unless_an_agent_wrote_that() {
    needs!("node");
    for (plan, work, allowed) in [
        ("- [ ] task 1 {tests=may-change}\n- [ ] task 2\n", "", true),
        ("- [ ] task 1\n- [ ] task 2\n", "", false),
        (
            "- [ ] task 1\n- [ ] task 2\n",
            "sed -i 's/task 1/& {tests=may-change}/' PLAN.md",
            false,
        ),
        // Changes made before a task started do not count as that task's own.
        ("- [ ] task 0\n- [ ] task 1 {tests=may-change}\n", "", false),
    ] {
        let sandbox = project("", "");
        sandbox.write("PLAN.md", &format!("# Plan\n\n{plan}"));
        sandbox.install(&Script::jsonl(&format!(
            "[ $n = 1 ] && {{ cp .soft add.test.js; rm add.js; {work}\n}}; [ $n -le 2 ] && work; over ok"
        )));
        let finished = run(&sandbox, &[]);
        let by_plan = matches!(&confirmations(&finished)[..], [ConfirmedBy::Plan { task }] if task == "task 1");
        let verified = proof(&finished) == Some(Proof::Tests);
        assert_eq!((by_plan, verified), (allowed, allowed), "{plan}{work}: {finished:?}");
    }
}

#[test]
fn a_goal_that_fails_and_passes_on_the_same_files_is_flaky_and_has_to_pass_twice_in_a_row() {
    needs!("node");
    // The goal counts its runs in the home directory and fails in the runs named here.
    for (failing, passes, flaky) in [("2", true, true), ("2 4", false, true), ("2 3", false, false)] {
        let sandbox = project(DONE, "ok");
        // In the room, the goal would run beside the same one on other files, where a failure says nothing.
        sandbox.write(".ralph/config.json", r#"{ "room": "off" }"#);
        let broken = sandbox.home().join("broken");
        std::fs::create_dir_all(&broken).expect("a directory");
        let test = "require('node:test').test('sum', () => { throw new Error('no') });\n";
        std::fs::write(broken.join("add.test.js"), test).expect("a file");
        let goal = format!(
            "tests=n=$(cat $HOME/runs 2>/dev/null || echo 0); n=$((n+1)); echo $n > $HOME/runs; \
             case ' {failing} ' in *\" $n \"*) cd $HOME/broken;; esac; node --test"
        );
        let args = ["--goal", &goal, "--max-iterations", "1"];
        let finished = sandbox.looping(args).run(SOON);
        assert_eq!(proof(&finished).is_some(), passes, "{failing}: {finished:?}");
        let records = finished.records();
        let found = events(&records).any(|event| match event {
            Event::Gate(GateEvent::GoalChecked { result, .. }) => {
                result.flaky.as_ref().is_some_and(|flaky| flaky.tests[..] == ["sum"])
            }
            _ => false,
        });
        assert_eq!(found, flaky, "{failing}: {finished:?}");
        let report = sandbox.ralph(["report"]).run(SOON).stdout;
        assert_eq!(report.contains("FLAKY"), flaky, "{report}");
    }
}

#[test]
fn goals_without_tests_pass_and_are_not_enough_where_more_is_required() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("[ $n = 1 ] && work; over ok"));
    let looping = |args: &[&str]| sandbox.looping(["--goal", "lint=true"].iter().chain(args)).run(SOON);
    let finished = looping(&["--require", "verified"]);
    assert_eq!(
        (finished.code(), proof(&finished)),
        (Some(9), Some(Proof::ExitCodes)),
        "{finished:?}"
    );
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("DONE, PASSED"), "{report}");
}

#[test]
fn what_a_trial_had_in_place_is_put_back_after_a_kill() {
    needs!("node");
    let sandbox = project("cp .soft add.test.js", "ok");
    // Goals of a project with another repository inside run in its own directory.
    sandbox.git(["init", "--quiet", "inner"]);
    // With the tests as they were, the goal signals once that it runs and waits.
    let goal = "tests=if grep -q strictEqual add.test.js && [ -e $HOME/claimed ] && [ ! -e $HOME/tried ]; then \
                : > $HOME/tried; exec sleep 600; fi; : > $HOME/claimed; node --test";
    let config = ["--goal", goal, "--max-iterations", "1"];
    let start = || sandbox.looping(config).start();
    let running = start();
    wait_until(SOON, "the trial", || sandbox.read_home("tried"));
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(TESTS));
    running.kill();
    sandbox.waits_until_nothing_runs();
    let resumed = start().wait(SOON);
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(SOFT));
    assert!(
        resumed
            .stdout
            .contains("The agent's files are back in place: add.test.js"),
        "{}",
        resumed.stdout
    );
}

#[test]
fn only_the_tests_of_altered_files_run_where_the_runner_can_be_told() {
    needs!("node");
    // Goals that take no longer than their start are run whole.
    let slow = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);\n";
    for (others, expected) in [(slow, (3, 6)), ("", (6, 6))] {
        let sandbox = project(DONE, "ok");
        let other = counted("other") + others + &SOFT.replace("{}", "{ void 0 }");
        sandbox.write("add.test.js", &(counted("add") + TESTS));
        sandbox.write("other.test.js", &other);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Tests that are counted"]);
        let finished = run(&sandbox, &[]);
        assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
        // Before the work, for the claim, and without what is no source; then with a comment, with other expectations, and with
        // other work. The run before the work tells what the tests do without it.
        let runs = (runs(&sandbox, "other"), runs(&sandbox, "add"));
        assert_eq!(runs, expected, "{finished:?}");
    }
}

/// Code that notes a run of its file in the home directory.
fn counted(file: &str) -> String {
    format!("require('node:fs').appendFileSync(process.env.HOME + '/{file}', '1\\n');\n")
}

fn runs(sandbox: &Sandbox, file: &str) -> usize {
    sandbox.read_home(file).unwrap_or_default().lines().count()
}

#[test]
fn altered_code_is_run_with_the_tests_that_the_work_adds_to_older_files() {
    needs!("node");
    let adds = "echo 'exports.twice = (a) => a + a' > twice.js; \
                echo \"test('twice', () => assert.strictEqual(require('./twice').twice(2), 4));\" >> add.test.js";
    for (work, tests) in [
        (format!("{DONE}; {adds}"), TESTS.to_owned()),
        (DONE.replace("add.js", "sum.js"), TESTS.replace("./add", "./sum")),
    ] {
        let sandbox = project(&work, "ok");
        sandbox.write("add.test.js", &tests);
        sandbox.git(["commit", "--quiet", "--allow-empty", "--all", "--message", "Tests"]);
        let finished = run(&sandbox, &[]);
        assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
        let tried = mutants(&finished).into_iter();
        let of_work = tried.filter(|tried| tried.mutant.target == MutantTarget::Work);
        let of_work: Vec<_> = of_work.map(|tried| tried.outcome).collect();
        let is_noticed = |outcome: &MutantOutcome| *outcome == MutantOutcome::Noticed;
        assert!(!of_work.is_empty() && of_work.iter().all(is_noticed), "{of_work:?}");
    }
}

#[test]
fn work_that_was_taken_out_is_put_back_after_a_kill() {
    needs!("node");
    let sandbox = project(&format!("{DONE}; echo more > more.js; rm -f old.js"), "ok");
    sandbox.write("old.js", "old");
    sandbox.git(["init", "--quiet", "inner"]);
    // Goals that ran before the work tell what the tests do without it.
    sandbox.write(
        ".ralph/config.json",
        r#"{ "gate": { "baseline": "off", "bite": "require" } }"#,
    );
    // The first run without the finished work leaves a file and waits.
    let goal = "tests=if grep -q undefined add.js; then if [ -e $HOME/claimed ] && [ ! -e $HOME/tried ]; then \
                : > $HOME/tried; exec sleep 600; fi; else : > $HOME/claimed; fi; node --test";
    let start = || sandbox.looping(["--goal", goal, "--max-iterations", "1"]).start();
    let running = start();
    wait_until(SOON, "the goal without the work", || sandbox.read_home("tried"));
    assert_eq!(sandbox.read("more.js"), None);
    assert_eq!(sandbox.read("old.js").as_deref(), Some("old"));
    running.kill();
    sandbox.waits_until_nothing_runs();
    let resumed = start().wait(SOON);
    assert_eq!(
        sandbox.read("add.js").as_deref(),
        Some("exports.add = (a, b) => a + b\n"),
        "{resumed:?}"
    );
    assert_eq!(sandbox.read("more.js").as_deref(), Some("more\n"));
    assert_eq!(sandbox.read("old.js"), None);
    assert!(
        resumed
            .stdout
            .contains("The agent's files are back in place: add.js, more.js, old.js"),
        "{}",
        resumed.stdout
    );
    assert_eq!(proof(&resumed), Some(Proof::Tests), "{resumed:?}");
    let tried = mutants(&resumed);
    assert!(
        matches!(without_work(&tried), Some((_, MutantOutcome::Noticed))),
        "{tried:?}"
    );
}

#[test]
fn a_pattern_or_runner_that_is_none_is_refused_with_its_place() {
    let sandbox = project(DONE, "ok");
    sandbox.write(
        ".ralph/config.json",
        r#"{ "gate": { "guard": ["spec/["] }, "goals": [{ "name": "t", "command": "true" }] }"#,
    );
    let refused = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains("`spec/[`"), "{}", refused.stderr);
    sandbox.write(".ralph/config.json", "{}");
    sandbox.write(".ralph/runners/own.toml", "title = \"own\"\ncomand = ['x']\n");
    let refused = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("own.toml") && refused.stderr.contains("line 2"),
        "{}",
        refused.stderr
    );
}
