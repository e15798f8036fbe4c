//! The ends of runs: each has one cause, in the same sentence everywhere, and hints of which each works where it is shown.

use serde_json::Value;

use crate::harness::{SOON, Sandbox, Script, running::Finished};

/// An end, what the agent does to bring it about, and what is said.
struct End {
    script: &'static str,
    args: &'static [&'static str],
    git: bool,
    /// The beginning of the sentence.
    says: &'static str,
    /// The commands that the hints name, in their order.
    commands: &'static [&'static str],
}

const IDLE: &[&str] = &["ralph continue", "ralph"];
/// A goal that prints how many tests it ran, and fails where the file of tests is not as it was and the work is.
const COUNTS: &str = "tests=n=$(grep -c ^test tests/all.sh); grep -q 'test b' tests/all.sh && test -e broken && exit 1; \
                      printf 'Ran %s tests in 0.001s\\n\\nOK\\n' $n # python3 -m unittest";

const ENDS: &[End] = &[
    End {
        script: "over Nothing.",
        args: &[],
        git: true,
        says: "stopped: no progress in 6 iterations",
        commands: IDLE,
    },
    End {
        script: "over Nothing.",
        args: &[],
        git: false,
        says: "stopped: no progress in 6 iterations",
        commands: IDLE,
    },
    End {
        script: "[ $n = 2 ] && echo a > a; over Nothing.",
        args: &[],
        git: true,
        says: "stopped: no progress in 6 iterations",
        commands: &["ralph diff 2", "ralph continue", "ralph"],
    },
    End {
        script: "[ $n -lt 3 ] && work; over done",
        args: &["--goal", "tests=echo it fails; exit 3"],
        git: true,
        says: "stopped: goal `tests` still fails (exit code 3), ",
        commands: &["ralph goals check", "ralph continue", "ralph"],
    },
    End {
        script: "[ $n = 1 ] && { sed -i '/^test b/d' tests/all.sh; touch broken; work; work; }; over done",
        args: &["--goal", COUNTS],
        git: true,
        says: "stopped: your tests were weakened: 2 of 3 run (tests/all.sh, iteration 1)",
        commands: &[
            "ralph diff 1 -- tests/all.sh",
            "ralph confirm",
            "ralph continue",
            "ralph",
        ],
    },
    End {
        script: "touch a-$n; over 'RALPH NOT DONE: the key is missing'",
        args: &["--max-iterations", "2"],
        git: true,
        says: "stopped: iteration limit reached",
        commands: &["ralph continue --iterations 2", "ralph"],
    },
    // A limit ends what a refusal kept from its end.
    End {
        script: "echo $n > a; work; over done",
        args: &["--max-iterations", "3", "--goal", "tests=echo it fails; exit 3"],
        git: true,
        says: "stopped: iteration limit reached",
        commands: &["ralph goals check", "ralph continue --iterations 3", "ralph"],
    },
    End {
        script: "[ $n -lt 8 ] && rm -f PLAN.md; over 'A clean tree.'",
        args: &[],
        git: true,
        says: "stopped: not done: the plan cannot be read",
        commands: &["ralph restore 1 --before", "ralph continue"],
    },
    End {
        script: "echo $n >> tests/all.sh; git stash -q; over Later.",
        args: &[],
        git: true,
        says: "stopped: no progress in 6 iterations",
        commands: IDLE,
    },
    End {
        script: "echo '{\"type\":\"usage\",\"usage\":{\"inputTokens\":9,\"outputTokens\":9,\"costUsd\":2}}'; echo a > a-$n; over More.",
        args: &["--max-cost-usd", "3"],
        git: true,
        says: "stopped: cost limit reached",
        commands: &["ralph continue --max-cost-usd 6", "ralph"],
    },
    End {
        script: "failed '{\"kind\":\"model-unknown\"}' 'no such model'",
        args: &[],
        git: true,
        says: "failed: script does not know the model",
        commands: &[],
    },
    End {
        script: "over 'RALPH BLOCKED: Which colour?'",
        args: &[],
        git: true,
        says: "blocked: needs your answer (Which colour?)",
        commands: &["ralph answer N \"ANSWER\"", "ralph asks"],
    },
    End {
        script: "failed '{\"kind\":\"auth\"}' 'no login'",
        args: &[],
        git: true,
        says: "failed: script is not logged in",
        commands: &["ralph adapters check script"],
    },
];

/// The commands of ralph in hints, those that only read first.
fn commands(hints: &[String]) -> Vec<String> {
    let quoted = hints.iter().flat_map(|hint| hint.split('`').skip(1).step_by(2));
    let own = quoted.filter(|quoted| *quoted == "ralph" || quoted.starts_with("ralph "));
    own.map(str::to_owned).collect()
}

fn typed(sandbox: &Sandbox, command: &str) -> Finished {
    let command = command
        .replace("N \"ANSWER\"", "1 blue")
        .replace("ralph confirm", "ralph confirm --yes")
        .replace("--before", "--before --yes");
    let words: Vec<&str> = command
        .split_whitespace()
        .skip(1)
        .map(|word| word.trim_matches('"'))
        .collect();
    // Without a terminal, a run goes on where it is: with its agent, and with little to do.
    match words.first() {
        None | Some(&"continue") => sandbox.looping(words).run(SOON),
        Some(_) => sandbox.ralph(words).run(SOON),
    }
}

#[test]
fn every_end_says_the_same_everywhere_and_each_of_its_hints_works() {
    for end in ENDS {
        let sandbox = if end.git {
            Sandbox::new()
        } else {
            Sandbox::without_git()
        };
        sandbox.write("tests/all.sh", "test a\ntest b\ntest c\n");
        if end.git {
            sandbox.git(["add", "-A"]);
            sandbox.git(["commit", "-qm", "tests"]);
        }
        sandbox.install(&Script::jsonl(end.script));
        let finished = sandbox.looping_as("text", end.args).run(SOON);
        let told = finished.stdout.lines().find_map(|line| line.strip_prefix("ralph: "));
        let told = told.unwrap_or_else(|| panic!("{finished:?}"));
        assert!(told.starts_with(end.says), "{told:?} is not {:?}", end.says);
        let print = |args: &[&str]| sandbox.ralph(args).run(SOON).stdout;
        assert!(print(&["status"]).contains(told), "{told}: {}", print(&["status"]));
        assert!(print(&["runs"]).contains(told), "{told}: {}", print(&["runs"]));
        let short = print(&["report", "--short"]).to_lowercase();
        let beginning = told.split('(').next().unwrap().trim_end().to_lowercase();
        assert!(short.starts_with(&beginning), "{told}: {short}");
        let report: Value = serde_json::from_str(&print(&["report", "--format", "json"])).unwrap();
        let hints: Vec<String> = serde_json::from_value(report["end"]["hints"].clone()).unwrap();
        let commands = commands(&hints);
        assert_eq!(commands, end.commands, "{told}: {hints:?}");
        for command in commands {
            let done = typed(&sandbox, &command);
            assert!(
                !matches!(done.code(), None | Some(2 | 3)) && !done.stderr.contains("error:"),
                "{told}: {command}: {done:?}"
            );
            if command.starts_with("ralph diff") {
                assert!(
                    done.stdout.contains("diff --git"),
                    "{told}: {command} shows nothing: {done:?}"
                );
            }
        }
    }
}

/// The user accepts tests that the agent never mentioned, and the run that goes on is done.
#[test]
fn weakened_tests_are_accepted_by_the_user_after_the_end() {
    let sandbox = Sandbox::new();
    sandbox.write("tests/all.sh", "test a\ntest b\ntest c\n");
    sandbox.git(["add", "-A"]);
    sandbox.git(["commit", "-qm", "tests"]);
    sandbox.install(&Script::jsonl(
        "[ $n = 1 ] && { sed -i '/^test b/d' tests/all.sh; touch broken; work; work; }; over done",
    ));
    assert_eq!(sandbox.looping(["--goal", COUNTS]).run(SOON).code(), Some(7));
    let confirmed = sandbox.ralph(["confirm", "--yes"]).run(SOON);
    assert!(confirmed.stdout.contains("tests/all.sh (changed)"), "{confirmed:?}");
    let again = sandbox.ralph(["confirm"]).run(SOON);
    assert!(again.stderr.contains("no changed tests to confirm"), "{again:?}");
    let done = sandbox.looping(["continue"]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
}

/// A goal of the command line is one of the project until another run.
#[test]
fn the_goals_of_the_last_run_are_listed_and_checked_where_none_are_configured() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.looping(["--goal", "files=ls work-1.txt"]).run(SOON);
    let listed = sandbox.ralph(["goals"]).run(SOON);
    assert!(listed.stdout.contains("files  ls work-1.txt"), "{listed:?}");
    let checked = sandbox.ralph(["goals", "check"]).run(SOON);
    assert!(checked.stdout.contains("✔ files passed"), "{checked:?}");
    assert_eq!(checked.code(), Some(0), "{checked:?}");
}
