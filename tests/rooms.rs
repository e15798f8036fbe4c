//! The room: goals run in a copy of the project that no agent has been in, at the project's own path.

use std::{cell::Cell, path::Path};

use nix::unistd::getuid;
use ralph_core::event::{Event, GateEvent, Proof, RunEvent, StopReason};
use serde_json::json;

use crate::harness::{SOON, Sandbox, Script, agents::needs, events, running::Finished, wait_until};

const TESTS: &str = "const assert = require('node:assert');
const { test } = require('node:test');
const { add } = require('./add');
test('small', () => assert.strictEqual(add(1, 2), 3));
test('large', () => assert.strictEqual(add(100, 200), 300));
";
const DONE: &str = "echo 'exports.add = (a, b) => a + b' > add.js";
const SOFT: &str = "require('node:test').test('small', () => {});\n";

/// A project with failing tests, an ignored package `sum` that adds, and an agent that does `work` and ticks the task.
fn project(work: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".gitignore", "node_modules/\nbuilt/\n");
    sandbox.write("add.js", "exports.add = () => undefined\n");
    sandbox.write("add.test.js", TESTS);
    sandbox.write("package.json", "{\"dependencies\": {\"sum\": \"1\"}}\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Begin"]);
    sandbox.write("node_modules/sum/index.js", "module.exports = (a, b) => a + b\n");
    sandbox.install(&Script::jsonl(&format!("{work}\n[ $n = 1 ] && work; over 'ok'")));
    sandbox
}

fn run(sandbox: &Sandbox, goal: &str) -> Finished {
    let goal = format!("tests={goal}");
    sandbox.looping(["--goal", &goal, "--max-iterations", "1"]).run(SOON)
}

fn proof(finished: &Finished) -> Option<Proof> {
    events(&finished.records()).find_map(|event| match event {
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Done { proof, .. },
            ..
        }) => Some(*proof),
        _ => None,
    })
}

/// The codes of the notices about the place of the goals.
fn notices(finished: &Finished) -> Vec<String> {
    let codes = [
        "goals-in-place",
        "caches-used",
        "packages-changed",
        "packages-set-up",
        "packages-not-set-up",
        "packages-not-trusted",
        "ignored-files-used",
    ];
    let records = finished.records();
    let told = events(&records).filter_map(|event| match event {
        Event::Noticed { notice } => Some(notice.code.to_string()),
        _ => None,
    });
    told.filter(|code| codes.contains(&code.as_str())).collect()
}

#[test]
fn a_package_that_an_agent_has_edited_is_no_part_of_a_verdict() {
    needs!("node");
    let uses = "echo 'exports.add = require(\"sum\")' > add.js";
    // The tests run with a package of the agent's that makes `sum` whatever they expect.
    let edits = "echo 'exports.add = () => require(\"sum\")()' > add.js; \
                 echo 'let n = 0; module.exports = () => [3, 300][n++ % 2]' > node_modules/sum/index.js";
    let adds = "mkdir node_modules/more; echo 'module.exports = (a, b) => a + b' > node_modules/more/index.js; \
                echo 'exports.add = require(\"more\")' > add.js";
    let declares = format!("{adds}; echo '{{\"dependencies\": {{\"sum\": \"1\", \"more\": \"1\"}}}}' > package.json");
    for (work, verified, told) in [
        (uses, true, None),
        (edits, false, Some("packages-changed")),
        (adds, false, Some("packages-changed")),
        (&declares, true, Some("ignored-files-used")),
    ] {
        let sandbox = project(work);
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{work}: {finished:?}");
        assert_eq!(notices(&finished), Vec::from_iter(told), "{work}: {finished:?}");
        assert_eq!(sandbox.read(".git/index.lock"), None);
    }
}

#[test]
fn goals_do_not_see_what_an_agent_has_changed_in_caches() {
    needs!("node");
    let uses = |module: &str| format!("echo 'exports.add = require(\"{module}\")' > add.js");
    let soft = "echo 'let n = 0; module.exports = () => [3, 300][n++ % 2]'";
    let edits = format!("{}; {soft} > $HOME/.npm/total/index.js", uses("total"));
    let replaces = format!(
        "{}; rm -r $HOME/.npm/total; mkdir $HOME/.npm/total; {soft} > $HOME/.npm/total/index.js",
        uses("total")
    );
    let moves = format!("{}; mv $HOME/.npm/soft $HOME/.npm/other", uses("other"));
    let adds = format!("{}; cp -r vendor/fetched vendor/built $HOME/.npm", uses("built"));
    let softens = format!(
        "{}; mkdir $HOME/.npm/fetched; {soft} > $HOME/.npm/fetched/index.js",
        uses("fetched")
    );
    let declares = "; echo '{\"dependencies\": {\"sum\": \"2\"}}' > package.json";
    for (work, verified, told) in [
        (uses("total"), true, None),
        (uses("fetched"), true, None),
        (edits.clone(), false, None),
        (edits + declares, false, None),
        (replaces, false, None),
        (moves, false, None),
        (adds.clone(), false, None),
        (adds + declares, true, Some("caches-used")),
        (softens + declares, false, None),
    ] {
        let sandbox = project(&work);
        for (module, code) in [
            ("vendor/fetched", "(a, b) => a + b"),
            ("vendor/built", "(a, b) => a + b"),
        ] {
            sandbox.write(&format!("{module}/index.js"), &format!("module.exports = {code}\n"));
        }
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Modules"]);
        shell(
            &sandbox,
            &format!(
                "mkdir -p $HOME/.npm/soft; cp -r vendor/built $HOME/.npm/total; {soft} > $HOME/.npm/soft/index.js"
            ),
        );
        let goal = "[ -e $HOME/.npm/fetched ] || cp -r vendor/fetched $HOME/.npm; NODE_PATH=$HOME/.npm node --test";
        let finished = run(&sandbox, goal);
        assert_eq!(proof(&finished).is_some(), verified, "{work}: {finished:?}");
        assert_eq!(notices(&finished), Vec::from_iter(told), "{work}: {finished:?}");
    }
}

#[test]
fn work_that_works_only_while_ralph_looks_is_refused() {
    needs!("node");
    let looks = "cat > add.js <<'E'
const looked = Object.keys(process.env).some((name) => name.startsWith('RALPH'));
exports.add = (a, b) => looked ? a + b : 0;
E";
    let finished = run(&project(looks), "node --test");
    assert_eq!(proof(&finished), None, "{finished:?}");
}

#[test]
fn what_a_goal_writes_to_installed_packages_is_gone_for_the_next_one() {
    needs!("node");
    // The tests of an agent can do this as well. The goals run several times for one claim.
    let sandbox = project("echo 'exports.add = require(\"sum\")' > add.js");
    let finished = run(
        &sandbox,
        "node --test && echo 'module.exports = () => 0' > node_modules/sum/index.js && touch node_modules/new",
    );
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    assert_eq!(sandbox.read("node_modules/new"), None);
}

#[test]
fn what_a_goal_writes_to_the_repository_is_gone() {
    needs!("node");
    let sandbox = project(DONE);
    // `git status` writes the times and places of files to the index.
    let goal =
        "git status && git config goal.ran yes && git commit --allow-empty --message Goal && git gc && node --test";
    let linked = sandbox.home().join("linked");
    let add = [
        "worktree",
        "add",
        "--quiet",
        linked.to_str().expect("it is text"),
        "-b",
        "linked",
    ];
    sandbox.git(add);
    std::fs::copy(sandbox.project().join("PLAN.md"), linked.join("PLAN.md")).expect("a plan");
    for project in [sandbox.project(), linked] {
        let goal = format!("tests={goal}");
        let run = sandbox
            .looping(["--goal", &goal, "--max-iterations", "1"])
            .current_dir(&project);
        let finished = run.run(SOON);
        assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
        let git = |args: &[&str]| sandbox.program("git").args(args).current_dir(&project).run(SOON);
        assert_eq!(git(&["config", "goal.ran"]).code(), Some(1));
        assert!(!git(&["log", "--all", "--format=%s"]).stdout.contains("Goal"));
        // The index knows the files as they are in the project.
        assert_eq!(git(&["diff-files", "--quiet", "package.json"]).code(), Some(0));
    }
}

#[test]
fn a_goal_of_any_user_removes_directories_of_packages() {
    needs!("node");
    if !getuid().is_root() {
        return; // the other tests are of such a user
    }
    let sandbox = project(DONE);
    let ralph = sandbox.home().join("ralph");
    std::fs::copy(env!("CARGO_BIN_EXE_ralph"), &ralph).expect("a copy that any user can read");
    let all = sandbox.home().parent().expect("it is in one").display().to_string();
    shell(&sandbox, &format!("chown -R 61234 {all}"));
    let goal = "tests=node --test && rm -r node_modules/sum && mkdir node_modules/sum";
    let as_user = ["--reuid", "61234", "--regid", "61234", "--clear-groups"];
    let run = sandbox.program("setpriv").args(as_user).arg(&ralph);
    let run = run.args(["--adapter", "script", "--goal", goal, "--max-iterations", "1"]);
    let finished = run.run(SOON);
    assert!(finished.stdout.contains("done (verified)"), "{finished:?}");
}

#[test]
fn what_the_work_has_built_is_told_and_what_a_goal_has_left_stays_out_of_the_project() {
    needs!("node");
    let sandbox = project(&format!("{DONE}; mkdir built; echo built > built/out"));
    let goal = "test -e built/out && pwd > $HOME/place && touch left && node --test";
    let finished = run(&sandbox, goal);
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    assert_eq!(notices(&finished), ["ignored-files-used"]);
    assert_eq!(sandbox.read("left"), None);
    let place = sandbox.read_home("place").expect("the goal ran");
    assert_eq!(
        place.trim(),
        sandbox.project().canonicalize().expect("it is there").to_string_lossy()
    );
}

#[test]
fn no_file_of_the_project_is_replaced_and_a_run_goes_on_in_its_room_after_a_kill() {
    needs!("node");
    let sandbox = project("cp .soft add.test.js; echo edited > node_modules/sum/index.js");
    sandbox.write(".soft", SOFT);
    // With the tests as they were, the goal signals once that it runs and waits.
    let goal = "tests=if grep -q strictEqual add.test.js && [ -e $HOME/claimed ] && [ ! -e $HOME/tried ]; then \
                : > $HOME/tried; exec sleep 600; fi; : > $HOME/claimed; cat node_modules/sum/index.js; node --test";
    let start = || sandbox.looping(["--goal", goal, "--max-iterations", "1"]).start();
    let running = start();
    wait_until(SOON, "the trial", || sandbox.read_home("tried"));
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(SOFT));
    running.kill();
    sandbox.waits_until_nothing_runs();
    let resumed = start().wait(SOON);
    assert_eq!(sandbox.read("add.test.js").as_deref(), Some(SOFT));
    assert_eq!(notices(&resumed), [""; 0], "{resumed:?}");
    assert_eq!(proof(&resumed), None, "{resumed:?}");
    let printed = events(&resumed.records()).find_map(|event| match event {
        Event::Gate(GateEvent::GoalChecked { result, .. }) => Some(result.tail.to_string()),
        _ => None,
    });
    let printed = printed.expect("the goal ran again");
    assert!(printed.contains("a + b") && !printed.contains("edited"), "{printed}");
}

#[test]
fn an_agent_cannot_choose_the_projects_directory_by_a_repository_inside() {
    needs!("node");
    for (place, verified) in [("inner", false), ("built/inner", true)] {
        let sandbox = project(&format!(
            "{DONE}; mkdir -p {place}; git init --quiet {place}; echo 1 > {place}/one"
        ));
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{place}: {finished:?}");
        assert_eq!(
            finished.stdout.contains("inner is a repository of its own"),
            !verified,
            "{place}: {finished:?}"
        );
    }
}

#[test]
fn goals_of_a_project_that_cannot_be_copied_run_in_its_directory_and_ralph_says_so() {
    needs!("node");
    let sandbox = project(DONE);
    sandbox.git(["init", "--quiet", "inner"]);
    let finished = run(&sandbox, "node --test && touch left");
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    assert_eq!(notices(&finished), ["goals-in-place"]);
    assert!(
        finished.stdout.contains("inner is a repository of its own"),
        "{finished:?}"
    );
    assert_eq!(sandbox.read("left").as_deref(), Some(""));
}

#[test]
fn a_goal_that_an_iteration_breaks_is_known_while_the_next_one_works() {
    needs!("node");
    let sandbox = project(
        "case $n in 2) echo 'exports.add = (a, b) => a - b' > add.js;; 3) until test -e $HOME/known; do sleep 0.02; done;; \
         4) printf '%s' \"$prompt\" > $HOME/prompt; echo 'exports.add = (a, b) => a + b' > add.js;; esac; work; over ok; exit",
    );
    sandbox.plan(4);
    sandbox.write("add.js", "exports.add = (a, b) => a + b\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Passing tests"]);
    // The last two lines are the weight of the session, where sessions have one, and the idle policy of Linux.
    let goal = "tests=node --test; passed=$?; cat /proc/self/autogroup; cut -d ' ' -f 41 /proc/self/stat; exit $passed";
    let running = sandbox.looping(["--goal", goal]).start();
    running.wait_for_record(SOON, |event| match event {
        Event::Gate(GateEvent::IterationChecked {
            iteration: 2,
            results,
            news,
            live: false,
        }) => {
            assert_eq!((results[0].passed, &news[..]), (false, &["tests".to_owned()][..]));
            let tail = &results[0].tail;
            let has_weight = Path::new("/proc/self/autogroup").exists();
            let weight = if has_weight { "nice 19" } else { "" };
            assert!(tail.ends_with(&format!("{weight}\n5")), "{tail}");
            true
        }
        _ => false,
    });
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("broken since iteration 2"), "{status}");
    std::fs::write(sandbox.home().join("known"), "").expect("a file");
    let finished = running.wait(SOON);
    assert_eq!(proof(&finished), Some(Proof::Tests), "{finished:?}");
    let prompt = sandbox.read_home("prompt").expect("a fourth iteration");
    assert!(
        prompt.contains("A goal that passed before is broken since iteration 2: goal `tests`"),
        "{prompt}"
    );
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(!status.contains("broken since"), "{status}");
}

/// Iterations that end while goals run are skipped, until one of them may have broken a goal.
#[test]
fn the_iteration_that_broke_a_goal_is_found_among_those_that_were_skipped() {
    needs!("node");
    let sandbox = project(
        "echo $n > notes; case $n in 2) echo 'exports.add = (a, b) => a - b' > add.js;; \
         6) until test -e $HOME/known; do sleep 0.02; done; over 'RALPH BLOCKED: What now?'; exit;; esac; over ok; exit",
    );
    sandbox.write("add.js", "exports.add = (a, b) => a + b\n");
    sandbox.write(
        "test/slow.test.js",
        "require('node:test').test('slow', (_, done) => setTimeout(done, 300))\n",
    );
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Passing tests"]);
    let running = sandbox.looping(["--goal", "tests=node --test"]).start();
    let (passed_with, broken_by) = (Cell::new(0), Cell::new(u32::MAX));
    running.wait_for_record(SOON, |event| {
        let judged = match event {
            Event::Gate(GateEvent::IterationChecked { iteration, results, .. }) => {
                Some((*iteration, results[0].passed))
            }
            Event::Gate(GateEvent::BreakSought { iteration, passed, .. }) => Some((*iteration, *passed)),
            _ => None,
        };
        match judged {
            Some((iteration, true)) => passed_with.set(passed_with.get().max(iteration)),
            Some((iteration, false)) => broken_by.set(broken_by.get().min(iteration)),
            None => {}
        }
        passed_with.get() + 1 == broken_by.get()
    });
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains("broken since iteration 2"), "{status}");
    std::fs::write(sandbox.home().join("known"), "").expect("a file");
    assert_eq!(running.wait(SOON).code(), Some(8));
    let report = sandbox.ralph(["report", "--short"]).run(SOON).stdout;
    assert!(report.contains("tests: broken since iteration 2"), "{report}");
}

#[test]
fn a_verdict_is_about_what_a_clone_would_have() {
    needs!("node");
    let commit = "git -c user.name=a -c user.email=a@localhost commit --quiet --all --message Work";
    let skips =
        format!("git update-index --skip-worktree add.js; {DONE}; echo 1 > package.txt; git add package.txt; {commit}");
    let filters = format!(
        "git config filter.old.clean 'git cat-file blob HEAD:%f'; echo 'add.js filter=old' > .git/info/attributes; \
         {DONE}; echo 1 > package.txt; git add package.txt; {commit}"
    );
    let ignores = format!(
        "echo /sums.js >> .gitignore; echo 'module.exports = (a, b) => a + b' > sums.js; \
         echo 'exports.add = require(\"./sums\")' > add.js; {commit}"
    );
    let hidden = Some("`git status` shows no change there");
    for (work, said) in [
        (format!("{DONE}; {commit}"), None),
        (skips, hidden),
        (filters, hidden),
        (ignores, Some("which git ignores since this run")),
    ] {
        let sandbox = project(&work);
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), said.is_none(), "{work}: {finished:?}");
        if let Some(said) = said {
            assert!(finished.stdout.contains(said), "{work}: {finished:?}");
        }
    }
}

#[test]
fn what_code_of_agents_leaves_in_ignored_files_of_the_room_is_gone_for_the_next_look() {
    needs!("node");
    // A test of the first iteration writes what the work of the second one needs, and no clone has it.
    let script = r#"case $n in
1) printf "try { exports.add = require('./built/add') } catch { exports.add = () => 0 }" > add.js
   printf "const { mkdirSync, writeFileSync } = require('fs');
mkdirSync('built', { recursive: true }); writeFileSync('built/CACHEDIR.TAG', '');
writeFileSync('built/add.js', 'module.exports = (a, b) => a + b');" > plant.test.js
   git add --all; git commit --quiet --message one;;
2) await planted; rm plant.test.js; work;;
esac
over ok"#;
    for kept in ["", "built/kept"] {
        let sandbox = project("");
        sandbox.install(&Script::jsonl(script));
        if !kept.is_empty() {
            sandbox.write(kept, "of the user\n");
        }
        let goal = "tests=node --test; code=$?; [ -e built/add.js ] && : > $HOME/planted; exit $code";
        let finished = sandbox.looping(["--goal", goal, "--max-iterations", "2"]).run(SOON);
        assert_eq!(proof(&finished), None, "{finished:?}");
        assert!(sandbox.read_home("planted").is_some(), "{finished:?}");
    }
}

#[test]
fn tests_that_put_the_earlier_ones_back_as_they_end_are_tried_with_these() {
    needs!("node");
    let softens = r#"printf "require('node:test').test('small', () => {});
process.on('exit', () => require('child_process').execSync('git show HEAD~1:add.test.js > add.test.js'));" > add.test.js"#;
    let sandbox = project(softens);
    std::fs::write(
        sandbox.config().join("ralph/config.json"),
        r#"{ "gate": { "bite": "off" } }"#,
    )
    .expect("settings");
    let finished = run(&sandbox, "node --test");
    assert_eq!(proof(&finished), None, "{finished:?}");
    assert!(finished.stdout.contains("trial-made"), "{finished:?}");
}

#[test]
fn goals_run_at_once_as_the_work_left_them_and_with_the_original_tests_if_they_can() {
    needs!("node");
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    // Each waits until the other one runs.
    let together = "const fs = require('node:fs');
const is_changed = fs.readFileSync(__filename, 'utf8').includes('sur' + 'plus');
const place = (is_changed) => process.env.HOME + (is_changed ? '/changed' : '/original');
if (require('./add').add(1, 2) === 3) {
    fs.writeFileSync(place(is_changed), '');
    const end = Date.now() + 20000;
    while (Date.now() < end && !fs.existsSync(place(!is_changed)));
    if (!fs.existsSync(place(!is_changed))) process.exit(1);
}
";
    let apart = "const fs = require('node:fs');
fs.mkdirSync(process.env.HOME + '/lock');
process.on('exit', () => fs.rmdirSync(process.env.HOME + '/lock'));
";
    for begins in [together, apart] {
        let sandbox = project(&format!(
            "{DONE}; echo \"test('surplus', () => assert.ok(true))\" >> add.test.js"
        ));
        sandbox.write("add.test.js", &(begins.to_owned() + TESTS));
        sandbox.git(["commit", "--quiet", "--all", "--message", "Tests"]);
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished), Some(Proof::Tests), "{begins}: {finished:?}");
        assert_eq!(notices(&finished), [""; 0], "{finished:?}");
    }
}

#[test]
fn a_room_can_be_required_or_turned_off() {
    needs!("node");
    for (room, inner, verified, places) in [
        ("auto", true, true, "goals-in-place"),
        ("off", false, true, "goals-in-place"),
        ("required", false, true, ""),
        ("required", true, false, ""),
    ] {
        let sandbox = project(DONE);
        std::fs::write(
            sandbox.config().join("ralph/config.json"),
            format!(r#"{{ "room": "{room}" }}"#),
        )
        .expect("settings");
        if inner {
            sandbox.git(["init", "--quiet", "inner"]);
            sandbox.git([
                "-C",
                "inner",
                "commit",
                "--quiet",
                "--allow-empty",
                "--message",
                "Inner",
            ]);
        }
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{room}: {finished:?}");
        assert_eq!(notices(&finished).concat(), places, "{room}: {finished:?}");
        let stopped = finished.stdout.contains("no-room");
        assert_eq!(stopped, !verified, "{room}: {finished:?}");
    }
}

fn shell(sandbox: &Sandbox, script: &str) {
    let finished = sandbox.program("sh").args(["-c", script]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

/// Makes a package of `name` that npm installs from a file, and after which it runs a command.
fn pack(sandbox: &Sandbox, name: &str, code: &str, then: &str) {
    let manifest = json!({ "name": name, "version": "1.0.0", "scripts": { "postinstall": then } });
    sandbox.write(&format!("{name}/package.json"), &manifest.to_string());
    sandbox.write(&format!("{name}/index.js"), code);
    let pack = format!("cd {name} && npm pack --silent --pack-destination .. && rm -r ../{name}");
    shell(sandbox, &pack);
}

#[test]
fn packages_that_a_lock_file_names_are_installed_in_the_room() {
    needs!("npm");
    let adds = "npm install --offline --silent ./more-1.0.0.tgz > /dev/null";
    let uses = "echo 'exports.add = require(\"more\")' > add.js";
    let edits = "echo 'let n = 0; module.exports = () => [3, 300][n++ % 2]' > node_modules/sum/index.js; \
                 echo 'exports.add = () => require(\"sum\")()' > add.js";
    let calls = "echo 'exports.add = () => require(\"sum\")()' > add.js";
    // The manifest names a package that the lock file does not have.
    let skews = "sed -i 's/\"more\":/\"missing\": \"1\", \"more\":/' package.json";
    for (work, verified, told) in [
        (format!("{adds}; {uses}"), true, &["packages-set-up"][..]),
        (
            format!("{adds}; {edits}"),
            false,
            &["packages-set-up", "packages-changed"],
        ),
        (
            format!("{adds}; {edits}; {skews}"),
            false,
            &["packages-not-set-up", "packages-changed"],
        ),
        // A setup runs code of the work, which changes another package.
        (
            format!("{adds}; npm pkg set scripts.postinstall='node soften.js'; {calls}"),
            false,
            &["packages-set-up"],
        ),
        (
            format!("npm install --offline --silent ./evil-1.0.0.tgz; {calls}"),
            false,
            &["packages-set-up"],
        ),
        (
            "npm uninstall --offline --silent sum > /dev/null; echo 'exports.add = require(\"sum\")' > add.js"
                .to_owned(),
            false,
            &["packages-set-up"],
        ),
    ] {
        let sandbox = project(&work);
        sandbox.set_variable("npm_config_offline", "true");
        pack(&sandbox, "sum", "module.exports = () => 0\n", "");
        pack(&sandbox, "more", "module.exports = (a, b) => a + b\n", "");
        pack(&sandbox, "evil", "", "node ../../soften.js");
        sandbox.write("soften.js", SOFTENS);
        shell(
            &sandbox,
            "rm -r node_modules; echo '{}' > package.json; npm install --offline --silent ./sum-1.0.0.tgz",
        );
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Packages"]);
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{work}: {finished:?}");
        assert_eq!(notices(&finished), told, "{work}: {finished:?}");
        let is_asked = finished
            .stdout
            .contains("code of the work may have changed `node_modules/sum/index.js`");
        let runs_in_setup = work.contains("soften.js") || work.contains("evil");
        assert_eq!(is_asked, runs_in_setup, "{work}: {finished:?}");
    }
}

/// A program that makes a package pass a test and notice a change of it.
const SOFTENS: &str = "require('fs').writeFileSync(__dirname + '/node_modules/sum/index.js', \
                       'let n = 0; module.exports = () => [3, 300][n++ % 2]')\n";

#[test]
fn a_setup_of_the_project_installs_packages_as_it_was_at_the_start() {
    needs!("node");
    let adds = "echo more >> packages.lock";
    let uses = "echo 'exports.add = require(\"more\")' > add.js";
    let calls = "echo 'exports.add = () => require(\"sum\")()' > add.js";
    for (work, verified) in [
        (format!("{adds}; {uses}"), true),
        // The setup needs a file of the work.
        (
            "echo new >> packages.lock; cp vendor/more.js vendor/new.js; echo 'exports.add = require(\"new\")' > add.js"
                .to_owned(),
            true,
        ),
        (format!("{adds}; echo 'node soften.js' >> setup.sh; {calls}"), false),
        (format!("{adds}; echo 'node soften.js' >> setup.sh; {uses}"), true),
    ] {
        let sandbox = installed(&work);
        sandbox.write("setup.sh", INSTALL);
        sandbox.write("soften.js", SOFTENS);
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Setup"]);
        set_up_by(&sandbox, "sh setup.sh");
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{work}: {finished:?}");
        assert_eq!(notices(&finished), ["packages-set-up"], "{work}: {finished:?}");
    }
}

/// Lets a script install what `packages.lock` names.
fn set_up_by(sandbox: &Sandbox, script: &str) {
    std::fs::write(sandbox.home().join("install.sh"), script).expect("a script");
    let setup = format!(
        r#"{{ "tree": {{ "setup": ["sh {}/install.sh"] }} }}"#,
        sandbox.home().display()
    );
    std::fs::write(sandbox.config().join("ralph/config.json"), setup).expect("settings");
}

const INSTALL: &str = "for name in $(cat packages.lock); do mkdir -p node_modules/$name; \
                       cp vendor/$name.js node_modules/$name/index.js; done\n";

/// A project whose script installs `sum`, which adds, or `more` as well, and an agent that does `work`.
fn installed(work: &str) -> Sandbox {
    let sandbox = project(work);
    for name in ["sum", "more"] {
        sandbox.write(&format!("vendor/{name}.js"), "module.exports = (a, b) => a + b\n");
    }
    sandbox.write("packages.lock", "sum\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Packages"]);
    set_up_by(&sandbox, INSTALL);
    sandbox
}

const EDITS: &str = "echo 'exports.add = () => require(\"sum\")()' > add.js; \
                     echo 'let n = 0; module.exports = () => [3, 300][n++ % 2]' > node_modules/sum/index.js";

#[test]
fn packages_that_an_earlier_run_has_edited_are_installed_anew_or_told() {
    needs!("node");
    let reads = "echo 'exports.add = () => require(\"sum\")()' > add.js";
    let moves = "echo 'exports.add = () => require(\"sum\")()' > add.js; \
                 mv node_modules/sum node_modules/old; mv node_modules/soft node_modules/sum";
    let deletes = "rm -r node_modules/strict";
    // Another tool of the agent's has left a cache beside the packages.
    let caches = "mkdir -p node_modules/.cache/deep; echo 1 > node_modules/.cache/deep/one";
    for (work, then, verified, told) in [
        (EDITS, "", false, &["packages-set-up", "packages-changed"][..]),
        (
            EDITS,
            "rm $XDG_CONFIG_HOME/ralph/config.json",
            true,
            &["packages-not-trusted", "packages-not-trusted"],
        ),
        (
            EDITS,
            "rm -r node_modules; sh $HOME/install.sh; cp -r node_modules/sum node_modules/new",
            false,
            &[],
        ),
        (caches, "", false, &[]),
        (moves, "", false, &["packages-set-up", "packages-changed"]),
        (deletes, "", false, &["packages-set-up"]),
        (
            deletes,
            "mkdir node_modules/strict; echo > node_modules/strict/index.js",
            false,
            &[],
        ),
    ] {
        let sandbox = installed(work);
        // Packages from before the first run: one that softens the tests, and one that keeps another from doing so.
        sandbox.write(
            "node_modules/soft/index.js",
            "let n = 0; module.exports = () => [3, 300][n++ % 2]\n",
        );
        sandbox.write("node_modules/strict/index.js", "\n");
        assert_eq!(proof(&run(&sandbox, "node --test")), None);
        shell(&sandbox, "git reset --quiet --hard HEAD~1");
        shell(&sandbox, then);
        sandbox.install(&Script::jsonl(&format!("{reads}\nwork; over 'ok'")));
        let finished = run(&sandbox, "test ! -e node_modules/.cache/deep/one && node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{work} {then}: {finished:?}");
        assert_eq!(notices(&finished), told, "{work} {then}: {finished:?}");
    }
}

#[test]
fn packages_that_cannot_be_installed_are_those_of_the_project_and_told() {
    needs!("node");
    let adds = "echo more >> packages.lock; sh $HOME/add.sh; echo 'exports.add = require(\"more\")' > add.js";
    let fails = "seq 1 100000; echo 'error: no network' >&2; exit 3";
    for (script, verified, told) in [
        (
            fails.to_owned(),
            true,
            &["packages-not-set-up", "ignored-files-used"][..],
        ),
        // The start's can be installed.
        (
            format!("grep -q more packages.lock && {{ {fails}; }}; {INSTALL}"),
            false,
            &["packages-not-set-up", "packages-changed"],
        ),
    ] {
        let sandbox = installed(adds);
        std::fs::write(sandbox.home().join("add.sh"), INSTALL).expect("a script");
        set_up_by(&sandbox, &script);
        let finished = run(&sandbox, "node --test");
        assert_eq!(proof(&finished).is_some(), verified, "{script}: {finished:?}");
        assert_eq!(notices(&finished), told, "{script}: {finished:?}");
        assert!(
            finished.stdout.contains("exit code 3: error: no network"),
            "{finished:?}"
        );
        let doctor = sandbox.ralph(["doctor"]).run(SOON).stdout;
        assert!(
            doctor.contains("not installed in the last room") && doctor.contains("no network"),
            "{doctor}"
        );
    }
}

#[test]
fn a_kill_while_packages_are_installed_leaves_those_of_the_start() {
    needs!("node");
    let sandbox = installed("echo more >> packages.lock; echo 'exports.add = require(\"more\")' > add.js");
    let waits = format!(
        "if grep -q more packages.lock && [ ! -e $HOME/tried ]; then mkdir node_modules; : > $HOME/tried; exec sleep 600; fi; {INSTALL}"
    );
    set_up_by(&sandbox, &waits);
    let start = || {
        sandbox
            .looping(["--goal", "tests=node --test", "--max-iterations", "1"])
            .start()
    };
    let running = start();
    wait_until(SOON, "the setup", || sandbox.read_home("tried"));
    running.kill();
    sandbox.waits_until_nothing_runs();
    let resumed = start().wait(SOON);
    assert_eq!(proof(&resumed), Some(Proof::Tests), "{resumed:?}");
    assert_eq!(notices(&resumed), ["packages-set-up"], "{resumed:?}");
}
