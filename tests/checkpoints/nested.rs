//! Work that is not in the project's own files: in repositories inside the project, outside of it, in ignored files.

use super::*;

/// A project with a repository in `path`, which is a submodule or ignored.
fn with_repository(path: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "/deps/\n*.out\n");
    sandbox.git(["init", "--quiet", path]);
    sandbox.write(&format!("{path}/code"), "0\n");
    sandbox.git(["-C", path, "add", "code"]);
    sandbox.git(["-C", path, "commit", "--quiet", "--message", "Inside"]);
    if path == "lib" {
        // The files that `git submodule add` leaves.
        sandbox.write(".gitmodules", "[submodule \"lib\"]\n\tpath = lib\n\turl = ./lib\n");
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Start"]);
    sandbox
}

fn lines(finished: &Finished) -> String {
    format!("{}{}", finished.stdout, finished.stderr)
}

#[test]
fn work_in_a_repository_inside_the_project_is_progress_and_is_named() {
    let commits = "git -C PATH commit --quiet --all --message more";
    for (path, then, says) in [
        ("lib", ":", "1 file, +1 −0; lib: 0 commits, 1 file, +1 −0"),
        ("lib", commits, "lib: 1 commit, 1 file, +1 −0"),
        ("deps/dep", commits, "deps/dep: 1 commit, 1 file, +1 −0"),
    ] {
        let sandbox = with_repository(path);
        let work = format!("echo $n >> {path}/code; {}; over no", then.replace("PATH", path));
        sandbox.install(&Script::jsonl(&work));
        let finished = sandbox.looping_as("text", ["-n", "7"]).run(SOON);
        // The limit, and not the stuck detector.
        assert_eq!(finished.code(), Some(6), "{path} {then}: {finished:?}");
        assert!(lines(&finished).contains(says), "{path} {then}: {finished:?}");
        let report = sandbox.ralph(["report"]).run(SOON);
        assert!(report.stdout.contains(says), "{path} {then}: {report:?}");
    }
}

#[test]
fn a_restore_tells_what_it_did_in_a_submodule() {
    let sandbox = with_repository("lib");
    let was = sandbox.git(["-C", "lib", "rev-parse", "HEAD"]);
    sandbox.install(&agent(
        "echo $n >> lib/code; git -C lib commit --quiet --all --message more",
    ));
    finishes(&sandbox);
    let now = sandbox.git(["-C", "lib", "rev-parse", "HEAD"]);
    let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    for line in ["lib: wrote code\n", "lib: checked out "] {
        assert!(restored.stdout.contains(line), "{restored:?}");
    }
    assert!(!restored.stdout.contains("wrote   lib"), "{restored:?}");
    assert_eq!(sandbox.git(["-C", "lib", "rev-parse", "HEAD"]), was);
    assert_eq!(sandbox.read("lib/code").as_deref(), Some("0\n"));
    let undone = sandbox.ralph(["restore", "--undo", "--yes"]).run(SOON);
    assert_eq!(undone.code(), Some(0), "{undone:?}");
    assert_eq!(sandbox.git(["-C", "lib", "rev-parse", "HEAD"]), now);
    assert_eq!(sandbox.read("lib/code").as_deref(), Some("0\n1\n2\n"));
}

#[test]
fn what_a_restore_leaves_in_another_repository_is_named_with_the_command() {
    let sandbox = with_repository("deps/dep");
    sandbox.install(&agent(
        "echo $n >> deps/dep/code; git -C deps/dep commit --quiet --all --message more",
    ));
    finishes(&sandbox);
    let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
    let left = "deps/dep: left at ";
    assert!(restored.stdout.contains(left), "{restored:?}");
    assert!(restored.stdout.contains("`git -C deps/dep reset "), "{restored:?}");
    assert_eq!(sandbox.read("deps/dep/code").as_deref(), Some("0\n"));
}

#[test]
fn files_that_only_the_agent_tells_of_are_named_and_are_no_progress() {
    for (file, hint) in [
        ("$HOME/elsewhere", "start ralph in a directory"),
        ("made.out", "\"include\": [\"made.out\"]"),
    ] {
        let sandbox = with_repository("lib");
        sandbox.install(&Script::jsonl(&format!(
            r#"file="{file}"; echo $n > "$file"
            printf '{{"type":"file-changed","path":"%s","change":"updated"}}\n' "$file"; over no"#
        )));
        let finished = sandbox.looping_as("text", ["-n", "9"]).run(SOON);
        assert_eq!(finished.code(), Some(7), "{file}: {finished:?}");
        let name = file.replace("$HOME", sandbox.home().to_str().unwrap());
        let text = lines(&finished);
        let says = format!("changes only outside of what ralph sees: {name}, no progress");
        assert!(text.contains(&says), "{file}: {finished:?}");
        assert!(
            text.contains(hint) && !text.contains("split the task"),
            "{file}: {finished:?}"
        );
        assert!(!text.contains("no changes, no progress"), "{file}: {finished:?}");
        assert!(text.contains("no progress in 6 iterations"), "{file}: {finished:?}");
    }
}
