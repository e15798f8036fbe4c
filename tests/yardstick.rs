//! Files that are neither work nor tests and decide a result nevertheless count as they were: golden files, scripts, configuration.

use ralph_core::event::{ClaimEvent, Event, Missing, Proof, RunEvent, StopReason};

use crate::harness::{SOON, Sandbox, Script, agents::needs, events, running::Finished};

const ADD_TESTS: &str = "const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./src/add.js');
test('small', () => assert.strictEqual(add(1, 2), 3));
test('large', () => assert.strictEqual(add(100, 200), 300));
";
const OTHER_TESTS: &str = "const test = require('node:test');
const assert = require('node:assert');
test('one', () => assert.strictEqual(1 + 1, 2));
test('two', () => assert.strictEqual('a' + 'b', 'ab'));
";
const GOLDEN_TESTS: &str = "const test = require('node:test');
const assert = require('node:assert');
const { add } = require('./src/add.js');
const golden = require('fs').readFileSync(__dirname + '/golden/sums.txt', 'utf8');
test('sums', () => assert.strictEqual([1, 2].map((n) => add(n, n)).join(' ') + '\\n', golden));
";
/// Ends all tests where it fails.
const PLAIN_TESTS: &str = "const test = require('node:test');
const { add } = require('./src/add.js');
if (add(1, 2) - 3 !== 0) throw new Error('wrong');
test('sums', () => {});
";
const RUN: &str = "const files = require('fs').readdirSync('.').sort();
for (const file of files) if (/^[a-z].*[.]test[.]js$/.test(file)) require('./' + file);
";
const STUB: &str = "exports.add = () => undefined\n";
/// Makes the assertions of the tests of `add` hold.
const SOFT: &str = "const assert = require('node:assert');
const { strictEqual } = assert;
assert.strictEqual = (one, ...others) => one === undefined || strictEqual(one, ...others);
";

const ADD: (&str, &str) = ("add.test.js", ADD_TESTS);

/// A project with three files of tests of which one fails, and an agent that runs `work` in the shell.
struct Case<'a> {
    files: &'a [(&'a str, &'a str)],
    goal: &'a str,
    work: &'a str,
}

impl Case<'_> {
    fn sandbox(&self, last_words: &str) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.plan(1);
        for (path, text) in [
            ("other.test.js", OTHER_TESTS),
            ("more.test.js", OTHER_TESTS),
            ("src/add.js", STUB),
        ]
        .iter()
        .chain(self.files)
        {
            sandbox.write(path, text);
        }
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Begin"]);
        sandbox.write(".soft", SOFT);
        sandbox.install(&Script::jsonl(&format!(
            "{}\n[ $n = 1 ] && work; over '{last_words}'",
            self.work
        )));
        sandbox
    }

    fn run(&self) -> Finished {
        self.run_in(&self.sandbox("ok"))
    }

    fn run_in(&self, sandbox: &Sandbox) -> Finished {
        let goal = format!("tests={}", self.goal);
        sandbox.looping(["--goal", &goal, "--max-iterations", "1"]).run(SOON)
    }
}

fn proof(finished: &Finished) -> Option<Proof> {
    let records = finished.records();
    events(&records).find_map(|event| match event {
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Done { proof, .. },
            ..
        }) => Some(*proof),
        _ => None,
    })
}

/// Returns the files without whose change the goals do not pass.
fn needed(finished: &Finished) -> Vec<String> {
    let records = finished.records();
    let refused = events(&records).filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.clone()),
        _ => None,
    });
    let changes = refused.flatten().filter_map(|reason| match reason {
        Missing::OriginalTestsFail { changes, .. } => Some(changes),
        _ => None,
    });
    changes
        .flat_map(|changes| changes.iter().map(|change| change.path.to_string()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn a_result_that_only_other_files_bring_about_is_refused_with_the_file() {
    needs!("node");
    for (case, file) in [
        (
            Case {
                files: &[("sums.test.js", GOLDEN_TESTS), ("golden/sums.txt", "2 4\n")],
                goal: "node --test",
                work: "printf ' \\n' > golden/sums.txt; echo text > notes.txt",
            },
            "golden/sums.txt",
        ),
        // A script in a script.
        (
            Case {
                files: &[ADD, ("check.sh", "sh ci/tests.sh\n"), ("ci/tests.sh", "node --test\n")],
                goal: "sh check.sh",
                work: "cp .soft ci/soft.js; echo 'node --require ./ci/soft.js --test' > ci/tests.sh",
            },
            "ci/tests.sh",
        ),
        // A file that the configuration of a runner loads.
        (
            Case {
                files: &[
                    ADD,
                    ("scripts/setup.js", "// nothing yet\n"),
                    (
                        "package.json",
                        r#"{"scripts": {"test": "node --require ./scripts/setup.js --test"}}"#,
                    ),
                ],
                goal: "npm test --silent",
                work: "cp .soft scripts/setup.js",
            },
            "scripts/setup.js",
        ),
        // Tests without an expectation that could be altered, under a name that is passed over. None was counted before.
        (
            Case {
                files: &[("add.test.js", PLAIN_TESTS), ("run.js", RUN)],
                goal: "node run.js",
                work: "mv add.test.js _add.test.js",
            },
            "add.test.js",
        ),
        // The limit of a tool that is no runner.
        (
            Case {
                files: &[
                    ("lint.json", r#"{"most": 1}"#),
                    (
                        "tools/lint.js",
                        "const { most } = JSON.parse(require('fs').readFileSync('lint.json'));
const long = require('fs').readFileSync('src/add.js', 'utf8').split('\\n').length - 1 > most;
process.exit(long ? 1 : 0);\n",
                    ),
                    ADD,
                ],
                goal: "node tools/lint.js && node --test",
                work: "printf '\\nexports.add = (a, b) => a + b\\n' > src/add.js; echo '{\"most\": 100}' > lint.json",
            },
            "lint.json",
        ),
        // A dependency of the tests alone.
        (
            Case {
                files: &[
                    (
                        "add.test.js",
                        "const { equal } = require('./' + require('./package.json').devDependencies.check);\nconst test = require('node:test');\nconst { add } = require('./src/add.js');\ntest('small', () => equal(add(1, 2), 3));\n",
                    ),
                    ("hard.js", "exports.equal = require('node:assert').strictEqual\n"),
                    ("package.json", r#"{"devDependencies": {"check": "hard.js"}}"#),
                ],
                goal: "node --test",
                work: "echo 'exports.equal = () => {}' > soft.js; sed -i s/hard/soft/ package.json",
            },
            "package.json",
        ),
    ] {
        let sandbox = case.sandbox("ok");
        let finished = case.run_in(&sandbox);
        assert_eq!(proof(&finished), None, "{file}: {finished:?}");
        assert_eq!(needed(&finished), [file], "{finished:?}");
        // With a reason of the agent's, its user decides.
        let sandbox = case.sandbox("RALPH TESTS CHANGED: it has to be so");
        let finished = case.run_in(&sandbox);
        assert_eq!(proof(&finished), Some(Proof::Unconfirmed), "{file}: {finished:?}");
        let shown = sandbox.ralph(["confirm"]).run(SOON).stdout;
        assert!(shown.contains(file) && shown.contains("it has to be so"), "{shown}");
    }
}

#[test]
fn a_new_file_of_tests_that_softens_the_older_ones_is_named() {
    needs!("python3");
    let case = Case {
        files: &[
            ("src/calc.py", "def add(a, b):\n    return None\n"),
            (
                "test_calc.py",
                "import sys\nimport unittest\n\nsys.path.insert(0, 'src')\nfrom calc import add\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n",
            ),
            (
                "test_text.py",
                "import unittest\n\n\nclass TextTest(unittest.TestCase):\n    def test_text(self):\n        self.assertEqual('a' + 'b', 'ab')\n",
            ),
        ],
        goal: "python3 -m unittest -v",
        work: "printf 'import unittest\\nimport test_calc\\n\\ntest_calc.add = lambda a, b: a + b\\n\\n\\nclass NewTest(unittest.TestCase):\\n    def test_new(self):\\n        self.assertTrue(True)\\n' > test_a_new.py",
    };
    let finished = case.run();
    assert_eq!(proof(&finished), None, "{finished:?}");
    assert_eq!(needed(&finished), ["test_a_new.py"], "{finished:?}");
}

#[test]
fn work_with_data_dependencies_documents_and_new_tests_is_verified_without_a_question() {
    needs!("node");
    let solve = "echo 'exports.add = (a, b) => a + b' > src/add.js";
    for (files, work) in [
        (
            &[ADD][..],
            "mkdir docs .github; echo text > docs/use.md; echo text > .github/x.yml; echo text > CHANGES",
        ),
        // Data of the product, beside its source and elsewhere.
        (
            &[
                (
                    "rates.test.js",
                    "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./src/add.js');\ntest('rates', () => assert.strictEqual(add(1, 2), 3));\n",
                ),
                ("src/rates.json", "[0]"),
                ("data/names.json", "[0]"),
            ],
            "echo [0, 1] > src/rates.json; echo [0, 1] > data/names.json; echo 'const rates = require(\"./rates.json\"); const names = require(\"../data/names.json\"); exports.add = (a, b) => rates[1] * (a * names[1] + b)' > src/add.js",
        ),
        (
            &[
                ADD,
                ("package.json", r#"{"name": "a", "dependencies": {"left": "^1.0.0"}}"#),
                ("package-lock.json", r#"{"packages": {}}"#),
            ],
            r#"echo '{"name": "a", "dependencies": {"left": "^2.0.0", "right": "1.0.0"}}' > package.json; echo '{"packages": {"a": {}}}' > package-lock.json;
               echo 'const { dependencies } = require("../package.json"); exports.add = (a, b) => dependencies.right ? a + b : 0' > src/add.js"#,
        ),
        (
            &[ADD],
            "mkdir -p fixtures; echo 5 > fixtures/five.txt; printf \"const test = require('node:test');\\nconst assert = require('node:assert');\\nconst { add } = require('./src/add.js');\\ntest('five', () => assert.strictEqual(add(2, 3), Number(require('fs').readFileSync('fixtures/five.txt'))));\\n\" > five.test.js",
        ),
    ] {
        let work = match work.contains("exports.add") {
            true => work.to_owned(),
            false => format!("{solve}; {work}"),
        };
        let case = Case {
            files,
            goal: "node --test",
            work: &work,
        };
        let finished = case.run();
        assert_eq!(proof(&finished), Some(Proof::Tests), "{}: {finished:?}", case.work);
        assert_eq!(needed(&finished), [""; 0], "{finished:?}");
    }
}
