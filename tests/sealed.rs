//! Sealed goals: held-out tests stay secret from agents and from the code they write. Real processes try each way to
//! them.

use std::{fs, path::PathBuf};

use ralph_core::event::{ClaimEvent, Event, Missing, Proof, RunEvent, StopReason};
use ralph_system::paths::ProjectPaths;

use crate::harness::{
    SOON, Sandbox, Script,
    agents::{needs, skipped},
    events,
    running::Finished,
    wait_until,
};

/// A word that appears only in the held-out tests and in their output.
const WORD: &str = "xyzzy";

const VISIBLE: &str = "import unittest
from calc import add
class Visible(unittest.TestCase):
    def test_small(self): self.assertEqual(add(1, 2), 3)
";

/// Work that satisfies only the visible test.
const GUESSED: &str = "def add(a, b): return 3";
const RIGHT: &str = "def add(a, b): return a + b";

/// Code that runs during the held-out tests and tries to leak them.
const LEAK: &str = r#"
import glob, os
held = glob.glob("held_out/*") + glob.glob(os.environ["SEALED"] + "/*/*")
held = "".join(open(path).read() for path in held if os.path.isfile(path) and os.access(path, os.R_OK) and not path.endswith(".pyc"))
for place in os.environ["LEAKS"].split(":"):
    try: open(place + "/leaked", "w").write(held)
    except OSError: pass
"#;

/// The report of a tool that was denied held-out files and the listing of a directory above them.
const DENIED: &str = r#"{"type":"tool-ended","call":"1","tool":"sh","ok":false,"output":"cat: ~/sealed/held_out: Permission denied\nls: /: Permission denied"}"#;

/// Attempts of an agent, each of which has to fail.
const ATTEMPTS: [(&str, &str); 15] = [
    ("read", "cat $SEALED/held_out/test_held.py"),
    ("list", "ls $SEALED"),
    ("list-below", "ls $SEALED/held_out"),
    ("write", "echo x > $SEALED/held_out/test_held.py"),
    ("add", "echo x > $SEALED/new"),
    (
        "remove",
        "rm -f $SEALED/held_out/test_held.py; test ! -e $SEALED/held_out/test_held.py",
    ),
    ("read-by-link", "ln -sf $SEALED/held_out/test_held.py link; cat link"),
    ("link", "ln $SEALED/held_out/test_held.py hard"),
    ("move", "mv $SEALED moved"),
    ("output", "cat $XDG_STATE_HOME/ralph/*/runs/*/sealed/*"),
    ("copies", "ls $XDG_STATE_HOME/ralph/*/sealed"),
    ("state", "grep -r xyzzy $XDG_STATE_HOME/ralph"),
    ("project", "grep -rq 'xyz''zy' . && echo found"),
    ("environment", "env | grep 'xyz''zy'"),
    (
        "api",
        "for path in events report run status; do curl --silent --max-time 1 --unix-socket $SOCKET http://x/$path; done > $TMPDIR/api; grep -q 'xyz''zy' $TMPDIR/api",
    ),
];

struct SealedProject {
    sandbox: Sandbox,
    sealed: PathBuf,
}

/// A project with one visible test and three held-out ones; `script` is its agent's work.
fn project(script: &str) -> SealedProject {
    let sandbox = Sandbox::outside_of_tmp();
    sandbox.plan(1);
    sandbox.write("calc.py", "add = None\n");
    sandbox.write("tests/test_calc.py", VISIBLE);
    sandbox.write("tests/__init__.py", "");
    let sealed = sandbox.home().join("sealed");
    fs::create_dir_all(sealed.join("held_out")).unwrap();
    let tests = format!(
        "import unittest\nfrom calc import add\nclass Held(unittest.TestCase):\n    \
         def test_small_{WORD}(self): self.assertEqual(add(1, 2), 3)\n    \
         def test_large_{WORD}(self): self.assertEqual(add(100, 200), 300)\n    \
         def test_negative_{WORD}(self): self.assertEqual(add(-1, 1), 0)\n"
    );
    fs::write(sealed.join("held_out/test_held.py"), tests).unwrap();
    fs::write(sealed.join("held_out/__init__.py"), "").unwrap();
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    let socket = ProjectPaths::new(&sandbox.project(), Some(&sandbox.state().join("ralph")))
        .unwrap()
        .socket();
    sandbox.set_variable("SOCKET", socket);
    sandbox.set_variable("SEALED", sealed.clone());
    sandbox.install(&Script::jsonl(script));
    SealedProject { sandbox, sealed }
}

impl SealedProject {
    /// Defines the goals in the user's settings, with `more` fields for the sealed one.
    fn goals(&self, sealed: &str, more: &str) {
        let goals = format!(
            r#"{{ "goals": [
                {{ "name": "tests", "command": "python3 -m unittest discover -s tests -t ." }},
                {{ "name": "held-out", "command": "python3 -m unittest discover -v -s held_out -t .", "sealed": "{sealed}"{more} }}
            ] }}"#
        );
        fs::write(self.sandbox.config().join("ralph/config.json"), goals).unwrap();
    }

    fn run(&self, args: &[&str]) -> Finished {
        self.sandbox.looping(args).run(SOON)
    }

    fn state(&self) -> PathBuf {
        let states = self.sandbox.state().join("ralph");
        let mut states = fs::read_dir(states).unwrap().flatten().map(|entry| entry.path());
        states.find(|path| path.join("runs").is_dir()).unwrap()
    }

    fn copies(&self) -> usize {
        fs::read_dir(self.state().join("sealed")).map_or(0, Iterator::count)
    }
}

fn has_landlock(sandbox: &Sandbox) -> bool {
    let shown = sandbox.ralph(["sandbox"]).run(SOON);
    let there = shown.stdout.contains("(this system has Landlock");
    if !there {
        skipped("sealed goals: this kernel has no Landlock");
    }
    there
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

/// A script that makes every attempt and records which ones succeeded.
fn attempts() -> String {
    let tried = ATTEMPTS.map(|(what, command)| {
        format!("echo '{what}:' >> $HOME/../tmp/tried; ( {command} ) >> $HOME/../tmp/tried 2>&1 && echo {what} >> $HOME/../tmp/did")
    });
    tried.join("\n")
}

#[test]
fn an_agent_and_the_code_that_it_writes_learn_nothing_of_held_out_tests_but_how_many_pass() {
    needs!("curl");
    let tries = attempts();
    let project = project(&format!(
        "printf '%s' \"$prompt\" > $HOME/../tmp/prompt-$n\n{tries}\n\
         if [ $n = 1 ]; then printf '%s\\n' '{GUESSED}' > calc.py; else printf '%s\\n' '{RIGHT}' > calc.py; fi\n\
         printf '%s\\n' '{DENIED}'\n\
         cat ../tmp/leak.py >> calc.py\n[ $n = 1 ] && work; over \"$(promise)\""
    ));
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    fs::write(sandbox.temporary().join("leak.py"), LEAK).unwrap();
    let outside = sandbox.home().join("documents");
    fs::create_dir(&outside).unwrap();
    let leaks = [
        sandbox.project(),
        sandbox.temporary(),
        sandbox.home().join("../cache"),
        outside,
        PathBuf::from("/tmp"),
        PathBuf::from("/dev/shm"),
        sandbox.state().join("ralph"),
    ];
    let shown: Vec<String> = leaks.iter().map(|path| path.display().to_string()).collect();
    sandbox.set_variable("LEAKS", shown.join(":"));
    project.goals("~/sealed", "");
    let finished = project.run(&["--sandbox", "on", "--max-iterations", "3"]);
    let read = |path: &str| fs::read_to_string(sandbox.temporary().join(path)).unwrap_or_default();
    assert_eq!(
        (finished.code(), proof(&finished)),
        (Some(0), Some(Proof::Tests)),
        "{finished:?}\n{}",
        read("tried")
    );
    assert_eq!(read("did"), "", "{}", read("tried"));
    // The code ran during the tests, also in the visible goal, where there was nothing to leak.
    for leak in leaks.iter().map(|path| path.join("leaked")) {
        let leaked = fs::read_to_string(&leak).unwrap_or_default();
        _ = fs::remove_file(&leak);
        assert!(!leaked.contains(WORD), "{}: {leaked}", leak.display());
    }
    let api = read("api");
    assert!(
        api.contains("held-out"),
        "the API answers, and has nothing of it: {api}"
    );
    let prompt = read("prompt-2");
    assert!(
        prompt.contains("goal `held-out`: 1 of 3 tests passed. Its tests are held out"),
        "{prompt}"
    );
    for text in [WORD, "test_held", "held_out", "exit code", "Traceback"] {
        assert!(!prompt.contains(text), "{text}: {prompt}");
    }
    let records = finished.records();
    let wanted = events(&records).filter(|event| {
        event
            .notice()
            .is_some_and(|notice| notice.text.contains("tried to read"))
    });
    assert_eq!(
        wanted.count(),
        1,
        "the user hears once of an agent that looks for held-out tests"
    );
    let mut notices = events(&records).filter_map(Event::notice);
    assert!(!notices.any(|notice| ["sandbox-hides", "sandbox-denied"].contains(&&*notice.code)));
    let refused = events(&records).find_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.clone()),
        _ => None,
    });
    assert!(
        matches!(&refused.as_deref(), Some([Missing::GoalFailed { goal, .. }]) if goal == "held-out"),
        "{refused:?}"
    );
    let files = fs::read_dir(project.state().join("runs")).unwrap().flatten();
    let run = files.map(|entry| entry.path()).next().unwrap();
    let journal = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(!journal.contains(WORD), "the journal is read by the API");
    let outputs = fs::read_dir(run.join("sealed")).unwrap().flatten();
    let outputs: String = outputs.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    assert!(outputs.contains(&format!("test_negative_{WORD}")), "{outputs}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(
        report.contains("output, which agents cannot read:") && !report.contains(WORD),
        "{report}"
    );
    assert_eq!(project.copies(), 0, "copies are removed");
    assert!(project.sealed.join("held_out/test_held.py").exists());
}

#[test]
fn a_run_with_a_sealed_goal_starts_only_where_its_files_are_kept_from_agents() {
    let project = project("over no");
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    let refused = |sealed: &str, more: &str, args: &[&str], text: &str| {
        project.goals(sealed, more);
        for command in [&["goals", "check"][..], &[]] {
            let all = args.iter().chain(command);
            let finished = match command {
                [] => sandbox.looping(args).run(SOON),
                _ => sandbox.ralph(all).run(SOON),
            };
            assert_eq!(finished.code(), Some(3), "{sealed}: {finished:?}");
            assert!(finished.stderr.contains(text), "{sealed}: {}", finished.stderr);
            assert_eq!(finished.stderr.matches("error:").count(), 1, "{}", finished.stderr);
        }
    };
    let on = &["--sandbox", "on"][..];
    refused("~/sealed", "", &["--sandbox", "off"], "turn it on with `--sandbox on`");
    refused("~/missing", "", on, "home/missing cannot be used: No such file");
    refused("~/sealed/held_out/test_held.py", "", on, "is not a directory");
    sandbox.write("inside/file", "");
    refused("inside", "", on, "project/inside is in the project");
    std::os::unix::fs::symlink(sandbox.project().join("inside"), sandbox.home().join("link")).unwrap();
    refused("~/link", "", on, "project/inside is in the project");
    refused(".", "", on, "is in the project");
    refused("..", "", on, "contains the project");
    refused("$NOWHERE/x", "", on, "begins with a variable that is not set");
    fs::create_dir_all(sandbox.temporary().join("open")).unwrap();
    refused("$TMPDIR/open", "", on, "can be read and written by agents");
    fs::create_dir_all(sandbox.home().join(".ssh/tests")).unwrap();
    refused("~/.ssh/tests", "", on, "keys and passwords");
    refused("~/sealed", r#", "onEdit": true"#, on, "is not run after edits");
    let doctor = sandbox.ralph(["--sandbox", "off", "doctor"]).run(SOON);
    assert!(
        doctor.stdout.contains("sealed goals") && doctor.stdout.contains("--sandbox on"),
        "{doctor:?}"
    );
    // A disabled goal does not stop the start, and its files stay hidden.
    project.goals("~/sealed", r#", "enabled": false"#);
    let read = ["sandbox", "run", "--", "cat"];
    let read = sandbox
        .ralph(read)
        .arg(project.sealed.join("held_out/test_held.py"))
        .run(SOON);
    assert_ne!(read.code(), Some(0), "{read:?}");
    let list = sandbox.ralph(["goals"]).run(SOON).stdout;
    assert!(list.contains("sealed: ~/sealed  off"), "{list}");
}

#[test]
fn held_out_tests_do_not_meet_the_packages_that_an_agent_has_edited() {
    needs!("node");
    const HELD: &str = "const { add } = require('../add');
const check = (a, b) => require('node:test').test('held', () => require('node:assert').equal(add(a, b), a + b));
check(1, 2); check(100, 200);
";
    for (work, verified) in [
        ("echo 'exports.add = require(\"sum\")' > add.js", true),
        // It equals every number.
        (
            "echo 'exports.add = require(\"sum\")' > add.js; \
             echo 'module.exports = (a, b) => ({ [Symbol.toPrimitive]: () => [3, 300][+(a > 1)] })' > node_modules/sum/index.js",
            false,
        ),
    ] {
        let project = project(&format!("{work}; work; over \"$(promise)\""));
        let sandbox = &project.sandbox;
        if !has_landlock(sandbox) {
            return;
        }
        sandbox.write(".gitignore", "node_modules/\n");
        sandbox.write("add.js", "exports.add = () => 0\n");
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Add by a package"]);
        let sum = if verified { "a + b" } else { "0" };
        sandbox.write(
            "node_modules/sum/index.js",
            &format!("module.exports = (a, b) => {sum}\n"),
        );
        fs::write(project.sealed.join("held_out/held.test.js"), HELD).unwrap();
        // The history is there, and nothing is written to it.
        let command = "git log -1 --format=%H && ! touch .git/held && node --test held_out/held.test.js";
        let goal =
            format!(r#"{{ "goals": [{{ "name": "held-out", "command": "{command}", "sealed": "~/sealed" }}] }}"#);
        fs::write(sandbox.config().join("ralph/config.json"), goal).unwrap();
        let finished = project.run(&["--sandbox", "on", "--max-iterations", "1"]);
        assert_eq!(proof(&finished).is_some(), verified, "{work}: {finished:?}");
        assert_eq!(sandbox.read(".git/held"), None);
        assert_eq!(project.copies(), 0, "copies are removed");
    }
}

#[test]
fn goals_check_says_how_many_tests_passed_and_where_the_output_is() {
    needs!("python3");
    let project = project("over no");
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    sandbox.write("calc.py", GUESSED);
    project.goals("~/sealed", "");
    let checked = sandbox.ralph(["--sandbox", "on", "goals", "check"]).run(SOON);
    assert_eq!(checked.code(), Some(1), "{checked:?}");
    assert!(checked.stdout.contains("│ 1 of 3 tests passed"), "{checked:?}");
    assert!(!checked.stdout.contains(WORD), "{checked:?}");
    let line = checked
        .stdout
        .lines()
        .find_map(|line| line.split("cannot read: ").nth(1));
    let output = fs::read_to_string(line.unwrap().trim()).unwrap();
    assert!(output.contains(&format!("test_large_{WORD}")), "{output}");
}

#[test]
fn the_copy_of_a_killed_ralph_is_removed_by_the_next_start() {
    let project = project("work; over 'done'");
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    // The goal creates a file in its copy to signal that it was reached.
    let wait =
        r#"{ "goals": [{ "name": "held-out", "command": ": > reached; exec sleep 600", "sealed": "~/sealed" }] }"#;
    fs::write(sandbox.config().join("ralph/config.json"), wait).unwrap();
    let running = sandbox.looping(["--sandbox", "on"]).start();
    let copy = wait_until(SOON, "the goal in its copy", || {
        let states = fs::read_dir(sandbox.state().join("ralph")).ok()?.flatten();
        let copies = states.flat_map(|state| {
            fs::read_dir(state.path().join("sealed"))
                .into_iter()
                .flatten()
                .flatten()
        });
        copies
            .map(|entry| entry.path())
            .find(|path| path.join("tree/reached").exists())
    });
    running.kill();
    sandbox.waits_until_nothing_runs();
    assert!(copy.is_dir());
    fs::write(sandbox.config().join("ralph/config.json"), "{}").unwrap();
    let finished = project.run(&["--sandbox", "on", "--max-iterations", "1"]);
    assert!(!copy.exists(), "{finished:?}");
    assert_eq!(project.copies(), 0);
}

#[test]
fn tests_that_agents_of_earlier_runs_could_read_are_pointed_out() {
    needs!("python3");
    let project = project("[ $n = 1 ] && printf '%s\\n' 'def add(a, b): return a + b' > calc.py; work; over 'done'");
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    let notices = |finished: &Finished| {
        let found = finished.records();
        let found = found.iter().filter(|record| {
            let text = format!("{:?}", record.event);
            text.contains("could read") && text.contains("home/sealed")
        });
        found.map(|record| format!("{:?}", record.event)).collect::<Vec<_>>()
    };
    fs::write(sandbox.config().join("ralph/config.json"), "{}").unwrap();
    let open = project.run(&[]);
    assert_eq!(open.code(), Some(0), "{open:?}");
    for runs in 0..2 {
        sandbox.plan(1);
        project.goals("~/sealed", "");
        let sealed = project.run(&["--sandbox", "on"]);
        assert_eq!(sealed.code(), Some(0), "{sealed:?}");
        let found = notices(&sealed);
        assert!(
            matches!(&found[..], [one] if one.contains("1 earlier run ")),
            "{runs}: {found:?}"
        );
    }
}

#[test]
fn held_out_tests_judge_merged_trees_and_stay_secret_there_as_well() {
    needs!("python3");
    let project = project(
        r#"tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
        if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
            { cat "$RALPH_PLAN"; printf '%s' "$prompt"; } > $HOME/../tmp/merge
            cat $SEALED/held_out/*.py && touch $HOME/../tmp/seen
            echo 'factor = 1' > right.py
        else
            echo 'factor = 2' > $(basename "$RALPH_PLAN" .md).py
        fi
        tick; over done"#,
    );
    let sandbox = &project.sandbox;
    if !has_landlock(sandbox) {
        return;
    }
    for plan in ["left", "right"] {
        sandbox.write(&format!("{plan}.md"), &format!("# {plan}\n\n- [ ] Double it\n"));
        sandbox.write(&format!("{plan}.py"), "factor = 1\n");
    }
    sandbox.write("calc.py", "def add(a, b): return 3\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plans"]);
    let held = format!(
        "import unittest\nimport left, right\nclass Held(unittest.TestCase):\n    \
         def test_{WORD}(self): self.assertLess(left.factor * right.factor, 4)\n"
    );
    fs::write(project.sealed.join("held_out/test_held.py"), held).unwrap();
    project.goals("~/sealed", "");
    let plans = ["many", "left.md", "right.md", "--adapter", "script", "--sandbox", "on"];
    let limit = ["--jobs", "1", "--max-iterations", "2"];
    let finished = sandbox.ralph(plans.iter().chain(&limit)).run(SOON);
    let merge = fs::read_to_string(sandbox.temporary().join("merge")).unwrap_or_default();
    assert_eq!(finished.code(), Some(0), "{finished:?}\n{merge}");
    assert!(merge.contains("held-out"), "the merged tree was refused: {merge}");
    let shown = [merge.as_str(), &finished.stdout, &finished.stderr];
    assert!(shown.iter().all(|text| !text.contains(WORD)), "{shown:?}");
    assert!(!sandbox.temporary().join("seen").exists());
}
