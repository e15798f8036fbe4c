//! ralph's own state within the project, ignored files in checkpoints, and progress without git.

use std::fs;

use super::*;
use ralph_core::event::IterationEvent;

/// Whether each iteration made progress.
fn progress(finished: &Finished) -> Vec<bool> {
    let settled = |event: &Event| match event {
        Event::Iteration(IterationEvent::Settled { progress, .. }) => *progress,
        _ => None,
    };
    events(&finished.records()).filter_map(settled).collect()
}

#[test]
fn a_journal_within_the_project_is_no_progress() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said nothing; over done"));
    let finished = sandbox
        .looping(["--state-dir", "state", "--max-iterations", "3"])
        .run(SOON);
    assert_eq!(progress(&finished), [false, false, false], "{finished:?}");
}

#[test]
fn the_state_of_a_project_that_is_a_home_directory_is_no_progress_with_or_without_git() {
    for git in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.install(&Script::jsonl("said nothing; over done"));
        fs::write(sandbox.home().join("PLAN.md"), "- [ ] Never done\n").unwrap();
        if git {
            let init = sandbox.program("git").args(["init", "--quiet"]);
            assert!(init.current_dir(sandbox.home()).run(SOON).status.success());
        }
        let finished = sandbox
            .looping(["--max-iterations", "3"])
            .env("XDG_STATE_HOME", sandbox.home().join(".local/state"))
            .current_dir(sandbox.home())
            .run(SOON);
        assert_eq!(progress(&finished), [false, false, false], "{git}: {finished:?}");
    }
}

#[test]
fn restore_leaves_a_journal_within_the_project_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.install(&agent("echo changed > file"));
    let finished = sandbox.looping(["--state-dir", "state"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let report = || sandbox.ralph(["--state-dir", "state", "report"]).run(SOON);
    let was = report();
    let arguments = ["--state-dir", "state", "restore", "1", "--before", "--yes"];
    let restored = sandbox.ralph(arguments).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read("file"), None);
    assert!(!restored.stdout.contains("events.jsonl"), "{restored:?}");
    assert_eq!(report().stdout, was.stdout);
}

#[test]
fn ignored_files_that_are_included_are_restored() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", ".env*\n");
    sandbox.write(".env.local", "before\n");
    sandbox.write(
        ".ralph/config.json",
        r#"{ "checkpoint": { "include": [".env.local"] } }"#,
    );
    sandbox.install(&agent("echo after > .env.local; echo after > .env.other"));
    finishes(&sandbox);
    let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read(".env.local").as_deref(), Some("before\n"));
    assert_eq!(sandbox.read(".env.other").as_deref(), Some("after\n"));
}

#[test]
fn without_git_what_is_built_and_fetched_is_no_progress() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    sandbox.write(".gitignore", "/out/\n");
    sandbox.write("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    sandbox.install(&Script::jsonl(
        "mkdir -p node_modules target/debug out; echo $n | tee node_modules/x target/debug/x out/x; over done",
    ));
    let finished = sandbox.looping(["--max-iterations", "3"]).run(SOON);
    assert_eq!(progress(&finished), [false, false, false], "{finished:?}");
}

#[test]
fn without_git_a_project_with_too_many_files_is_told_once_that_its_changes_are_not_seen() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    sandbox.install(&Script::jsonl(
        "[ $n = 1 ] && (mkdir many; cd many; seq 20001 | xargs touch); over done",
    ));
    let finished = sandbox.looping(["--max-iterations", "3"]).run(SOON);
    let said = warnings(&finished.records());
    let blind = said.iter().filter(|text| text.contains("only ticked tasks"));
    assert_eq!(blind.count(), 1, "{said:?}");
}
