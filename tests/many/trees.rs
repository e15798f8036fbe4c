//! Work trees in which projects run: setup, teardown, copies, links and ports.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{batch, many, sandbox, show, status};
use crate::harness::{SOON, Sandbox, file_system::on_a_file_system, wait_until};

/// Writes what it finds in its work tree to a file of its plan.
const LOOKER: &str = r#"
{
    cat .env built/name shared/data
    echo "$RALPH_TREE" "$RALPH_PORT" "$RALPH_PORT_1" "$RALPH_PORT_2"
} > "$plan.txt" 2>&1
tick; tick; over done"#;

/// Finishes its tasks.
const QUICK: &str = "echo $plan > $plan.txt; tick; tick; over done";

/// A project with ignored files, and these settings for its work trees.
fn project(agent: &str, tree: &str, plans: &[&str]) -> Sandbox {
    let sandbox = sandbox(agent, plans);
    sandbox.write(".gitignore", ".env*\nbuilt/\nshared/\n*.keep\n");
    sandbox.git(["add", ".gitignore"]);
    sandbox.git(["commit", "--quiet", "--message", "Ignored files"]);
    settings(&sandbox, tree);
    sandbox
}

fn settings(sandbox: &Sandbox, tree: &str) {
    let directory = sandbox.config().join("ralph");
    fs::create_dir_all(&directory).unwrap();
    let text = format!(r#"{{"sandbox": {{"mode": "off"}}, "tree": {{{tree}}}}}"#);
    fs::write(directory.join("config.json"), text).unwrap();
}

fn log(sandbox: &Sandbox, plan: &str) -> String {
    let id = status(sandbox)["batch"].as_str().unwrap().to_owned();
    let batches = glob(&sandbox.state().join("ralph"), "batches");
    fs::read_to_string(batches.join(id).join(format!("{plan}.log"))).unwrap_or_default()
}

/// The only directory of this name in a directory of `root`.
fn glob(root: &Path, name: &str) -> std::path::PathBuf {
    let entries = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path().join(name));
    entries.into_iter().find(|path| path.is_dir()).expect("the directory")
}

#[test]
fn a_work_tree_gets_copies_links_ports_and_a_setup_and_so_does_the_merged_one() {
    let tree = r#""setup": ["mkdir built", "echo $RALPH_TREE > built/name"], "copy": [".env"], "link": ["shared"], "ports": 2"#;
    let sandbox = project(LOOKER, tree, &["api", "ui"]);
    sandbox.write(".env", "KEY=secret\n");
    sandbox.write(".env.other", "not wanted\n");
    sandbox.write("shared/data", "shared\n");
    let goal = "tests=grep -q secret .env && grep -q merge built/name && grep -q shared shared/data && test \"$RALPH_PORT\" -gt 0 || grep -q . built/name";
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2", "--goal", goal]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let mut ports = Vec::new();
    for plan in ["api", "ui"] {
        let seen = show(&sandbox, &format!("{plan}.txt"));
        let lines: Vec<&str> = seen.lines().collect();
        let [key, name, data, variables] = lines[..] else {
            panic!("{seen}")
        };
        assert_eq!((key, data), ("KEY=secret", "shared"), "{seen}");
        let variables: Vec<&str> = variables.split(' ').collect();
        assert!(name == variables[0] && name.starts_with(&format!("{plan}_")), "{seen}");
        assert_eq!(variables[1], variables[2], "{seen}");
        ports.extend([variables[2].to_owned(), variables[3].to_owned()]);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4, "{ports:?}");
    let target = status(&sandbox)["target"].as_str().unwrap().to_owned();
    let files = sandbox.git(["ls-tree", "-r", "--name-only", &target]);
    assert!(!files.contains("shared/") && !files.contains(".env"), "{files}");
    assert!(!files.lines().any(|file| file == "shared"), "{files}");
    let report = many(&sandbox, "report").run(SOON).stdout;
    for step in [
        "copied 1 file (11 bytes)",
        "linked shared",
        "ran `mkdir built`",
        "reserved ports",
    ] {
        assert!(report.contains(step), "{step}: {report}");
    }
}

#[test]
fn a_setup_that_takes_long_is_shown_with_its_command() {
    let sandbox = project(QUICK, "", &["api"]);
    let waits = format!("while ! [ -e '{}/go' ]; do sleep 0.05; done", sandbox.home().display());
    settings(&sandbox, &format!("\"setup\": [{waits:?}]"));
    let running = batch(&sandbox, &["api.md", "--headless"]).start();
    running.wait_for_line(SOON, |line| line.contains("api: running"));
    let shown = wait_until(SOON, "the setup is shown", || {
        let plan = status(&sandbox)["plans"][0]["doing"].clone();
        plan.as_str().filter(|doing| doing.contains("setup")).map(str::to_owned)
    });
    assert!(shown.starts_with("preparing its work tree: setup: while"), "{shown}");
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_work_tree_is_prepared_once_the_disk_has_space() {
    let sandbox = project(QUICK, r#""setup": ["touch built"]"#, &["api"]);
    let disk = sandbox.temporary();
    let filler = disk.join("filler");
    // Leaves less than the tenth of 64 MiB that stays free.
    let full = format!("head -c 62000000 /dev/zero > '{}' && exec \"$@\"", filler.display());
    let program = batch(&sandbox, &["api.md", "--headless"]).under(&["sh", "-c", &full, "sh"]);
    let Some(program) = on_a_file_system(program, &sandbox, disk.to_str().expect("a name"), "size=64m") else {
        return;
    };
    let running = program.start();
    running.wait_for_line(SOON, |line| line.contains("api: running"));
    let shown = wait_until(SOON, "the wait is shown", || {
        let plan = status(&sandbox)["plans"][0]["doing"].clone();
        plan.as_str().filter(|doing| doing.contains("space")).map(str::to_owned)
    });
    assert!(
        shown.starts_with("preparing its work tree: waiting for space: the free space below"),
        "{shown}"
    );
    let root = format!("/proc/{}/root", running.pid());
    fs::remove_file(Path::new(&root).join(filler.strip_prefix("/").unwrap())).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_setup_that_fails_or_floods_stops_its_plan_before_an_agent_starts() {
    let failing = r#""setup": ["true", "echo Cannot find the lock file; exit 3"]"#;
    let flooding = r#""setup": ["yes | head -c 5000000; exit 1"]"#;
    let cases = [
        (failing, "exit code 3", "Cannot find the lock file"),
        (flooding, "exit code 1", "yes |"),
    ];
    for (tree, why, what) in cases {
        let sandbox = project(QUICK, tree, &["api"]);
        let finished = batch(&sandbox, &["api.md"]).run(SOON);
        assert_eq!(finished.code(), Some(1), "{finished:?}");
        let said = finished
            .stdout
            .lines()
            .find(|line| line.contains("not merged"))
            .expect("the end");
        assert!(said.contains("the setup of the work tree failed"), "{said}");
        assert!(said.contains(why) && said.contains(what), "{said}");
        assert!(!show(&sandbox, "api.md").contains("[x]"), "an agent was started");
        assert!(log(&sandbox, "api").len() < 100_000, "a flood is cut");
        // The work tree stays, and is prepared again.
        settings(&sandbox, r#""setup": ["echo fixed"]"#);
        let finished = many(&sandbox, "resume --headless").run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
    }
}

#[test]
fn each_work_tree_is_torn_down_once_before_it_is_removed() {
    let tree = r#""setup": ["echo $RALPH_TREE $RALPH_PORT >> $HOME/begun"], "teardown": ["echo $RALPH_TREE $RALPH_PORT >> $HOME/over"], "ports": 1"#;
    let sandbox = project(QUICK, tree, &["api", "ui"]);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--goal", "tests=true"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let [begun, over] = ["begun", "over"].map(|name| {
        let text = fs::read_to_string(sandbox.home().join(name)).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    });
    assert_eq!(begun, over);
    assert_eq!(over.len(), 4, "two plans, and the merged tree of each: {over:?}");
}

#[test]
fn a_failing_teardown_keeps_the_work_tree_and_says_why() {
    let tree = r#""teardown": ["test -e $HOME/ready || { echo no database; exit 1; }"]"#;
    let sandbox = project(QUICK, tree, &["api"]);
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "the plan is merged: {finished:?}");
    let said = "api: merged; its work tree is kept: the teardown of the work tree failed";
    assert!(
        finished.stdout.contains(said) && finished.stdout.contains("no database"),
        "{finished:?}"
    );
    fs::write(sandbox.home().join("ready"), "").unwrap();
    let cleaned = many(&sandbox, "clean").run(SOON);
    assert_eq!(cleaned.code(), Some(0), "{cleaned:?}");
    assert!(!sandbox.git(["worktree", "list"]).contains("/api"), "{cleaned:?}");
}

#[test]
fn ignored_files_that_no_tool_makes_outlive_their_work_tree() {
    let agent = "echo work > $plan.keep; mkdir -p built/node_modules; echo 2 >> .env.local; touch built/x.keep; tick; tick; over done";
    let sandbox = project(agent, r#""copy": [".env*"]"#, &["api"]);
    sandbox.write(".env", "KEY=secret\n");
    sandbox.write(".env.local", "1\n");
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("which git ignores, are kept in"),
        "{finished:?}"
    );
    assert!(!sandbox.git(["worktree", "list"]).contains("/api"), "{finished:?}");
    let kept = glob(&sandbox.state().join("ralph"), "batches");
    let kept = kept.join(status(&sandbox)["batch"].as_str().unwrap()).join("kept/api");
    assert_eq!(fs::read_to_string(kept.join("api.keep")).unwrap(), "work\n");
    assert_eq!(fs::read_to_string(kept.join(".env.local")).unwrap(), "1\n2\n");
    assert!(!kept.join(".env").exists(), "it is as in the project");
    let cleaned = many(&sandbox, "clean").run(SOON);
    assert!(
        cleaned.stdout.contains("which has files that git ignores"),
        "{cleaned:?}"
    );
    assert!(kept.join("api.keep").exists());
}

#[test]
fn a_copy_that_is_too_large_and_a_link_out_of_the_project_refuse_the_start() {
    let sandbox = project(QUICK, r#""copy": [".env*"], "copyMiB": 1"#, &["api"]);
    sandbox.write(".worktreeinclude", "built/\n");
    sandbox.write("built/large", &"x".repeat(3 << 20));
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(finished.stderr.contains("copies of 1 file, 3 MiB"), "{finished:?}");
    assert!(
        finished.stderr.contains("`built` 3 MiB") && finished.stderr.contains("hint: `tree.copyMiB`"),
        "{finished:?}"
    );
    symlink("/usr", sandbox.project().join("shared")).unwrap();
    settings(&sandbox, r#""link": ["shared"]"#);
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished
            .stderr
            .contains("`tree.link`: `shared` leads out of the project, to /usr"),
        "{finished:?}"
    );
    assert!(status_is_missing(&sandbox), "nothing was begun");
}

fn status_is_missing(sandbox: &Sandbox) -> bool {
    many(sandbox, "status").run(SOON).code() != Some(0)
}

#[test]
fn a_copy_does_not_follow_a_link_that_a_merged_plan_has_made() {
    // `config` becomes a link out of the work tree on the target, before `ui` begins.
    let agent = r#"if [ $plan = api ]; then ln -s "$HOME" config; fi; echo $plan > $plan.txt; tick; tick; over done"#;
    let sandbox = project(agent, r#""copy": ["config/"]"#, &["api", "ui"]);
    sandbox.write("ui.md", "---\nafter: api\n---\n- [ ] One\n- [ ] Two\n");
    sandbox.write(".gitignore", "config/\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "After"]);
    sandbox.write("config/.env", "KEY=secret\n");
    let finished = batch(&sandbox, &["api.md", "ui.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(!sandbox.home().join(".env").exists(), "copied through the link");
}

#[test]
fn a_single_run_in_a_tree_is_merged_into_the_named_branch() {
    let sandbox = project(QUICK, "", &["PLAN"]);
    let run = |args: &str| {
        let program = sandbox.ralph(["--adapter", "script", "--headless", "--tree"]);
        let program = program.args(args.split_whitespace());
        program.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent")).run(SOON)
    };
    let before = sandbox.git(["rev-parse", "main"]);
    let finished = run("parser --plan PLAN.md");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.git(["show", "parser:PLAN.txt"]), "PLAN\n");
    assert_eq!(sandbox.git(["rev-parse", "main"]), before);
    assert!(
        sandbox.read("PLAN.txt").is_none(),
        "the project's own files stay as they are"
    );
    let finished = run("checked --plan PLAN.md --goal made=true --goal there=true");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("(passed)"), "{finished:?}");
    let finished = run("unchecked --goal made=false --plan PLAN.md --max-iterations 1");
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("not merged: stopped"), "{finished:?}");
    let refused = run("twice --goal made=true --goal made=false");
    assert!(refused.stderr.contains("there is a goal `made` already"), "{refused:?}");
    let refused = run("bad..name");
    assert_eq!(refused.code(), Some(2), "{refused:?}");
    assert!(refused.stderr.contains("not the name of a branch"), "{refused:?}");
    let refused = sandbox.ralph(["--tree", "x", "status"]).run(SOON);
    assert!(refused.stderr.contains("goes with no command"), "{refused:?}");
}

#[test]
fn a_project_below_the_root_of_its_repository_is_prepared_where_it_is() {
    let agent = "cat .env shared/data > seen.txt; tick; tick; over done";
    let sandbox = project(agent, r#""copy": [".env"], "link": ["shared"]"#, &["api"]);
    sandbox.write("packages/web/api.md", "- [ ] One\n- [ ] Two\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "A package"]);
    sandbox.write("packages/web/.env", "KEY=web\n");
    sandbox.write("packages/web/shared/data", "shared\n");
    sandbox.write(".env", "KEY=root\n");
    let web = sandbox.project().join("packages/web");
    let finished = batch(&sandbox, &["api.md"]).current_dir(&web).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let target = finished
        .stdout
        .lines()
        .find_map(|line| line.split('`').nth(1))
        .expect("the target")
        .to_owned();
    assert_eq!(
        sandbox.git(["show", &format!("{target}:packages/web/seen.txt")]),
        "KEY=web\nshared\n"
    );
    let files = sandbox.git(["ls-tree", "-r", "--name-only", &target]);
    assert!(!files.contains("packages/web/shared"), "{files}");
    let excluded = fs::read_to_string(sandbox.project().join(".git/info/exclude")).unwrap();
    assert!(excluded.contains("\n/packages/web/shared\n"), "{excluded}");
}
