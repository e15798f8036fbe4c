//! The sandbox: what agents and goals cannot do though their user can, each tried by a real process. The real agents work
//! in it in `agents_loop::a_plan`.

use std::{fs, path::Path};

use ralph::event::{Event, Notice};

use crate::harness::{SOON, Sandbox, Script, agents::skipped};

/// What everybody who is confined tries, and whether it has to succeed. `$outside` is a directory of the user's.
const ATTEMPTS: [(&str, &str, bool); 17] = [
    ("write-project", "echo x > made.txt", true),
    ("git", "git add made.txt && git commit -q --allow-empty -m made", true),
    ("write-tmp", "echo x > $TMPDIR/x && rm $TMPDIR/x", true),
    ("write-cache", "mkdir -p ~/.cache/a && echo x > ~/.cache/a/b", true),
    (
        "devices",
        "echo x > /dev/null && head -c 1 /dev/urandom > /dev/null",
        true,
    ),
    ("read-user", "cat $outside/readable", true),
    ("own-children", "sleep 60 & kill $!", true),
    ("write-outside", "echo x > $outside/made", false),
    ("append-outside", "echo x >> $outside/readable", false),
    (
        "remove-outside",
        "rm -f $outside/readable; test ! -e $outside/readable",
        false,
    ),
    ("truncate-outside", ": > $outside/readable", false),
    ("read-key", "cat ~/.ssh/id", false),
    ("read-key-by-link", "ln -sf ~/.ssh/id link; cat link", false),
    ("link-key", "ln ~/.ssh/id hard", false),
    ("move-key", "mv ~/.ssh/id moved", false),
    (
        "read-records",
        "cat $XDG_STATE_HOME/ralph/*/runs/*/journal.jsonl",
        false,
    ),
    (
        "detached",
        "setsid sh -c 'echo x > $outside/made' & wait; test -e $outside/made",
        false,
    ),
];

/// Tells the guard above itself, which ends all that it guards, to end.
const KILL_GUARD: &str = r#"p=$$; while [ "$(cat /proc/$p/comm)" != ralph-guard ]; do p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status); done; kill -0 $p"#;

/// Whether this kernel confines. Where it does not, nothing is shown, which is said.
fn has_landlock(sandbox: &Sandbox) -> bool {
    let shown = sandbox.ralph(["sandbox", "show"]).run(SOON);
    let there = shown.stdout.contains("(this system has Landlock");
    if !there {
        skipped("the sandbox: this kernel has no Landlock");
    }
    there
}

fn attempts(name: &str, outside: &Path) -> String {
    let attempts = ATTEMPTS.iter().map(|(what, command, _)| (*what, *command));
    let attempts = attempts.chain([("kill-guard", KILL_GUARD)]);
    let lines = attempts.map(|(what, command)| {
        format!(
            "if ( {command} ) > /dev/null 2>&1; then echo {what} >> {name}.did; else echo {what} >> {name}.failed; fi\n"
        )
    });
    format!("outside={}; export outside\n", outside.display()) + &lines.collect::<String>()
}

#[track_caller]
fn assert_attempts(sandbox: &Sandbox, name: &str) {
    let lines = |file: String| {
        sandbox
            .read(&file)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let succeeds = |wanted: bool| {
        let attempts = ATTEMPTS.iter().filter(move |(.., succeeds)| *succeeds == wanted);
        attempts.map(|(what, ..)| (*what).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(format!("{name}.did")), succeeds(true), "{name}");
    let mut failing = succeeds(false);
    failing.push("kill-guard".to_owned());
    assert_eq!(lines(format!("{name}.failed")), failing, "{name}");
}

#[test]
fn a_confined_agent_and_a_confined_goal_work_in_the_project_and_reach_nothing_of_the_users() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let outside = sandbox.home().join("documents");
    for (directory, file) in [(outside.clone(), "readable"), (sandbox.home().join(".ssh"), "id")] {
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(file), "text\n").unwrap();
    }
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(&format!(
        "{}\nwork; over 'Done.'",
        attempts("agent", &outside)
    )));
    fs::write(sandbox.project().join("goal.sh"), attempts("goal", &outside)).unwrap();
    sandbox.write(
        ".ralph/config.json",
        r#"{"goals": [{"name": "judge", "command": "sh goal.sh"}]}"#,
    );
    let finished = sandbox.ralph(["--adapter", "script", "--sandbox", "on"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_attempts(&sandbox, "agent");
    assert_attempts(&sandbox, "goal");
    assert_eq!(fs::read_to_string(outside.join("readable")).unwrap(), "text\n");
    let said = |notice: &Notice| matches!(notice, Notice::SandboxOn { .. });
    let is_said = sandbox
        .journal()
        .iter()
        .any(|record| matches!(&record.event, Event::Noticed { notice } if said(notice)));
    assert!(is_said, "the record says that the run was confined");
    sandbox.assert_nothing_runs();
}

#[test]
fn without_a_sandbox_the_same_attempts_reach_all_that_is_the_users() {
    let sandbox = Sandbox::outside_of_tmp();
    let outside = sandbox.home().join("documents");
    fs::create_dir(&outside).unwrap();
    sandbox.plan(1);
    let attempts = format!("echo x > {}/made; {KILL_GUARD} && echo x > reached", outside.display());
    sandbox.install(&Script::jsonl(&format!("{attempts}\nwork; over 'Done.'")));
    let finished = sandbox.ralph(["--adapter", "script"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(outside.join("made").exists() && sandbox.read("reached").is_some());
}

#[test]
fn a_linked_work_tree_commits_to_the_repository_that_it_belongs_to() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let tree = sandbox.home().join("tree");
    sandbox.git([Path::new("worktree"), Path::new("add"), Path::new("-q"), &tree]);
    let run = sandbox
        .ralph([
            "sandbox",
            "run",
            "--",
            "sh",
            "-c",
            "echo x > new && git add new && git commit -qm new",
        ])
        .current_dir(&tree)
        .run(SOON);
    // `sandbox run` confines whatever the settings say.
    assert_eq!(run.code(), Some(0), "{run:?}");
    let escape = sandbox
        .ralph(["sandbox", "run", "--", "sh", "-c", "echo x > ../../project/escaped"])
        .current_dir(&tree)
        .run(SOON);
    assert_ne!(escape.code(), Some(0), "{escape:?}");
    assert!(sandbox.read("escaped").is_none());
}

#[test]
fn a_place_is_explained_with_the_setting_that_would_change_it() {
    let sandbox = Sandbox::outside_of_tmp();
    let explained = |path: &str| sandbox.ralph(["sandbox", "explain", path]).run(SOON).stdout;
    let key = sandbox.home().join(".ssh/id").display().to_string();
    assert!(explained(&key).contains("cannot be read or written") && explained(&key).contains(r#""show": ["#));
    assert!(explained("src/main.rs").contains("may be read and written"));
    assert!(explained("/etc/passwd").contains("may be read and run, not written"));
}

#[test]
fn a_project_cannot_widen_its_own_sandbox() {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph/config.json", r#"{"sandbox": {"write": ["/"]}}"#);
    let finished = sandbox.ralph(["sandbox", "show"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished.stderr.contains("config.json:1:14") && finished.stderr.contains("cannot be set by a project"),
        "{finished:?}"
    );
}
