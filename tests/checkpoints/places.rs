//! Repositories that point elsewhere, that have changed, or that would block their reader.

use std::fs;

use super::*;

#[test]
fn restore_does_not_follow_core_worktree_out_of_the_project() {
    let sandbox = Sandbox::new();
    let letter = sandbox.home().join("precious/letter.txt");
    fs::create_dir(sandbox.home().join("precious")).unwrap();
    fs::write(&letter, "dear").unwrap();
    sandbox.install(&agent("git config core.worktree ../../home/precious"));
    finishes(&sandbox);
    let restored = sandbox.ralph(["restore", "1", "--yes"]).run(SOON);
    assert_eq!(fs::read_to_string(&letter).unwrap(), "dear");
    assert_eq!(restored.code(), Some(1), "{restored:?}");
    assert!(restored.stderr.contains("core.worktree"), "{restored:?}");
    sandbox.write("PLAN.md", "- [ ] Another\n");
    assert_warns(&finishes(&sandbox), &["no checkpoints", "core.worktree"]);
    assert_eq!(fs::read_to_string(&letter).unwrap(), "dear");
}

#[test]
fn an_index_that_is_no_regular_file_is_named_and_the_checkpoint_is_made_without() {
    for trick in [
        "mkfifo .git/index",
        "ln -s /dev/zero .git/index",
        "ln -s ../PLAN.md .git/index",
        "mkdir .git/index",
    ] {
        let sandbox = Sandbox::new();
        sandbox.install(&agent(&format!("rm -rf .git/index; {trick}")));
        let finished = finishes(&sandbox);
        assert_warns(&finished, &[".git/index", "not a regular file"]);
        assert_eq!(checkpointed(&finished), 2, "{trick}: {finished:?}");
    }
}

#[test]
fn a_pipe_that_git_would_read_is_named_at_once() {
    for file in [
        ".git/config",
        ".git/HEAD",
        ".git/packed-refs",
        ".git/info/exclude",
        ".git/info/attributes",
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
    ] {
        let sandbox = Sandbox::new();
        sandbox.install(&agent(""));
        let path = sandbox.project().join(file);
        _ = fs::remove_file(&path); // not all of them are there
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let finished = finishes(&sandbox);
        assert_warns(&finished, &["no checkpoint", file, "not a regular file"]);
        assert_eq!(checkpointed(&finished), 0, "{file}: {finished:?}");
    }
}

#[test]
fn a_reference_that_never_ends_is_named_at_once() {
    for (trick, file) in [
        ("ln -sf /dev/zero .git/refs/heads/main", ".git/refs/heads/main"),
        (
            "echo 'ref: refs/heads/other' > .git/refs/heads/main; ln -s /dev/zero .git/refs/heads/other",
            ".git/refs/heads/other",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.install(&agent(trick));
        let finished = finishes(&sandbox);
        assert_warns(
            &finished,
            &["no checkpoint after iteration 1", file, "not a regular file"],
        );
        assert_eq!(checkpointed(&finished), 0, "{trick}: {finished:?}");
    }
}

#[test]
fn a_file_of_the_repository_that_is_too_large_for_git_is_named_at_once() {
    let sandbox = Sandbox::new();
    sandbox.install(&agent("truncate -s 1T .git/packed-refs"));
    let finished = finishes(&sandbox);
    assert_warns(
        &finished,
        &["no checkpoint after iteration 1", ".git/packed-refs", "more than 1 GiB"],
    );
}

#[test]
fn a_pipe_that_the_agent_makes_for_git_is_named_at_once() {
    let sandbox = Sandbox::new();
    sandbox.install(&agent("rm .git/config; mkfifo .git/config"));
    let finished = finishes(&sandbox);
    assert_warns(
        &finished,
        &["no checkpoint after iteration 1", ".git/config", "not a regular file"],
    );
}

#[test]
fn a_repository_that_is_put_in_anothers_place_is_noticed_and_the_other_gets_no_checkpoint() {
    for (trick, at) in [
        (
            "git init -q ../home/other; mv .git ../home/mine; echo 'gitdir: ../home/other/.git' > .git",
            "home/other",
        ),
        (
            "git init -q ../home/other; rm -rf .git; ln -s ../home/other/.git .git",
            "home/other",
        ),
        ("mv .git ../home/mine; git init -q .", "project"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.install(&agent(&format!("[ $n = 1 ] && {{ {trick}; }}")));
        let finished = loses_its_repository(&sandbox);
        assert_warns(
            &finished,
            &["no checkpoint after iteration 1", ".git", "another repository"],
        );
        assert_eq!(checkpointed(&finished), 0, "{finished:?}");
        let other = sandbox.project().parent().unwrap().join(at);
        let references = sandbox
            .program("git")
            .args(["for-each-ref"])
            .current_dir(other)
            .run(SOON);
        assert_eq!(references.stdout, "", "{trick}");
    }
}

#[test]
fn a_run_whose_repository_is_deleted_stops_at_once_and_says_how_to_get_it_back() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n- [ ] Three\n");
    sandbox.write("precious", "mine\n");
    sandbox.install(&agent("rm -f precious; [ $n = 2 ] && rm -rf .git"));
    let finished = loses_its_repository(&sandbox);
    assert_eq!(checkpointed(&finished), 1, "the third task is not begun: {finished:?}");
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains(".git does not exist any more"), "{report}");
    let hint = "`git init && git fetch ";
    let (_, back) = report.split_once(hint).unwrap_or_else(|| panic!("{report}"));
    let back = back.split('`').next().unwrap();
    let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read("precious").as_deref(), Some("mine\n"));
    let diff = sandbox.ralph(["diff", "1"]).run(SOON);
    assert!(diff.stdout.contains("-mine"), "{diff:?}");
    let back = format!("git init && git fetch {back}");
    let done = sandbox.program("sh").args(["-c", &back]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_eq!(sandbox.git(["log", "--format=%s", "main"]), "Start\n");
    let restored = sandbox.ralph(["restore", "1", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read("precious"), None);
}

#[test]
fn a_run_whose_repository_was_moved_stops_and_goes_on_once_it_is_moved_back() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n");
    sandbox.install(&agent("[ -e moved ] || { : > moved; mv .git aside; }"));
    loses_its_repository(&sandbox);
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("`mv aside .git`"), "{report}");
    fs::rename(sandbox.project().join("aside"), sandbox.project().join(".git")).unwrap();
    assert_eq!(checkpointed(&finishes(&sandbox)), 1);
}

/// Runs ralph until it stops because the repository of the run is no longer there, although all that was asked for may be
/// done.
#[track_caller]
fn loses_its_repository(sandbox: &Sandbox) -> Finished {
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let report = sandbox.ralph(["report", "--format", "json"]).run(SOON);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("a report");
    let first = report["needsPerson"][0].as_str().expect("a need");
    assert!(first.starts_with("the repository is gone: "), "{first}");
    finished
}
