//! Commits of what an iteration left, beside what the user has staged.

use std::collections::BTreeSet;

use super::*;
use crate::{CommitHindrance, CommitResult};

fn commit(project: &Project, except: &[&str]) -> CommitResult {
    let except: BTreeSet<PathBuf> = except.iter().map(PathBuf::from).collect();
    project.open().commit_uncommitted(&except, "Subject\n\nBody\n").unwrap()
}

/// The number of files in the commit that was made.
fn made(result: &CommitResult) -> u32 {
    match result {
        CommitResult::Made(made) => made.files,
        other => panic!("{other:?}"),
    }
}

fn status(project: &Project) -> String {
    project.git(["status", "--porcelain", "--untracked-files=all"])
}

/// The files that the last commit changed.
fn committed(project: &Project) -> String {
    project.git(["show", "--format=", "--name-status", "--no-renames", "HEAD"])
}

/// Has git run `script` wherever it can be told to run a program.
fn set_traps(project: &Project, script: &str) {
    let hooks = [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-checkout",
    ];
    for hook in hooks {
        let path = format!(".git/hooks/{hook}");
        project.write(&path, &format!("#!/bin/sh\n{script}\n"));
        project.run("chmod", ["755", &path]);
    }
    project.write(".git/trap", &format!("#!/bin/sh\n{script}\n"));
    project.run("chmod", ["755", ".git/trap"]);
    let trap = project.root.join(".git/trap").display().to_string();
    let settings = [
        ("core.fsmonitor", trap.as_str()),
        ("gpg.program", &trap),
        ("commit.gpgSign", "true"),
        ("core.editor", &trap),
        ("core.pager", &trap),
        ("diff.external", &trap),
    ];
    for (key, value) in settings {
        project.git(["config", key, value]);
    }
}

#[test]
fn changed_new_and_removed_files_are_committed_and_nothing_is_left() {
    let project = Project::new();
    project.write("dir/file", "1\n");
    project.write("is dir/file", "1\n");
    project.commit_all("More");
    let before = project.git(["rev-parse", "HEAD"]);
    project.write("lines", "other\n");
    project.write("new/ä file", "new\n");
    project.write("ignored.log", "x\n");
    project.remove("kept");
    project.remove("dir/file");
    fs::remove_dir(project.root.join("dir")).unwrap();
    project.write("dir", "a file\n");
    project.remove("is dir/file");
    project.write("is dir/file/below", "a directory\n");
    project.write(DONE, "");
    let result = commit(&project, &[]);
    assert_eq!(made(&result), 7, "{}", committed(&project));
    assert_eq!(status(&project), format!("?? {DONE}\n"));
    assert_eq!(project.git(["rev-parse", "HEAD^"]), before);
    assert_eq!(project.git(["log", "-1", "--format=%B"]).trim_end(), "Subject\n\nBody");
    project.git(["fsck", "--strict", "--no-dangling"]);
    assert_eq!(commit(&project, &[]), CommitResult::Nothing);
    assert!(!project.root.join(".git/ralph-commit-index").exists());
    let log = project.git(["reflog", "-1", "main"]);
    assert!(log.contains("commit (ralph): Subject"), "{log}");
}

const DONE: &str = ".ralph-done";

#[test]
fn what_the_user_has_staged_survives_exactly() {
    let project = Project::new();
    for name in ["half", "staged", "gone"] {
        project.write(name, "1\n");
    }
    project.commit_all("More");
    project.write("half", "staged\n");
    project.write("staged", "staged\n");
    project.write("added", "added\n");
    project.git(["add", "half", "staged", "added"]);
    project.git(["rm", "--quiet", "--cached", "gone"]);
    project.write("half", "staged, and more\n");
    project.write("intended", "later\n");
    project.git(["add", "--intent-to-add", "intended"]);
    let before = project.open().uncommitted().unwrap();
    let names = ["added", "gone", "half", "intended", "staged"].map(PathBuf::from);
    assert_eq!(before, names.into());
    let staged = || project.git(["ls-files", "--stage", "half", "staged", "added", "gone", "intended"]);
    let (index, shown) = (staged(), status(&project));
    // The agent's.
    project.write("lines", "other\n");
    project.write("new", "new\n");
    project.git(["add", "new"]);
    let result = project.open().commit_uncommitted(&before, "Work\n").unwrap();
    assert_eq!(made(&result), 2);
    assert_eq!(committed(&project), "M\tlines\nA\tnew\n");
    assert_eq!((staged(), status(&project)), (index, shown));
}

#[test]
fn no_hook_and_no_program_of_the_repositorys_settings_runs() {
    let project = Project::new();
    let evil = project.scratch.join("evil");
    set_traps(&project, &format!("touch '{}'", evil.display()));
    project.write("lines", "other\n");
    let result = commit(&project, &[]);
    assert_eq!(made(&result), 1);
    assert!(!evil.exists(), "a program of the repository ran");
    let signature = project.git(["-c", "core.fsmonitor=false", "cat-file", "commit", "HEAD"]);
    assert!(!signature.contains("gpgsig"), "{signature}");
}

#[test]
fn files_are_stored_as_the_repositorys_attributes_say() {
    let project = Project::new();
    project.git(["config", "filter.up.clean", "tr a-z A-Z"]);
    project.git(["config", "filter.up.smudge", "tr A-Z a-z"]);
    project.write(".gitattributes", "*.up filter=up\n*.txt text eol=crlf\n");
    project.commit_all("Attributes");
    project.write("one.up", "text\n");
    project.write("two.txt", "text\r\n");
    assert_eq!(made(&commit(&project, &[])), 2);
    assert_eq!(project.git(["cat-file", "blob", "HEAD:one.up"]), "TEXT\n");
    assert_eq!(project.git(["cat-file", "blob", "HEAD:two.txt"]), "text\n");
    assert_eq!(status(&project), "");
}

#[test]
fn nothing_is_committed_during_a_merge_a_conflict_or_without_a_branch() {
    let hindered = |project: &Project, hindrance: CommitHindrance| {
        let facts = || {
            let of = |args: [&str; 2]| project.git(args);
            (of(["rev-parse", "HEAD"]), of(["ls-files", "--stage"]), status(project))
        };
        let before = facts();
        assert_eq!(commit(project, &[]), CommitResult::Hindered(hindrance));
        assert_eq!(facts(), before);
    };
    let project = Project::new();
    project.git(["switch", "--quiet", "-c", "other"]);
    project.write("lines", "other\n");
    project.commit_all("Other");
    project.git(["switch", "--quiet", "main"]);
    project.write("lines", "main\n");
    project.commit_all("Main");
    assert!(!project.try_git(["merge", "other"]).0);
    hindered(&project, CommitHindrance::Operation("merge"));
    project.git(["merge", "--abort"]);
    project.write("lines", "stashed\n");
    project.git(["stash", "--quiet"]);
    project.write("lines", "other again\n");
    project.commit_all("Again");
    assert!(!project.try_git(["stash", "pop"]).0);
    hindered(&project, CommitHindrance::Conflict);
    project.git(["reset", "--quiet", "--hard"]);
    assert!(!project.try_git(["rebase", "other"]).0);
    hindered(&project, CommitHindrance::Operation("rebase"));
    project.git(["rebase", "--abort"]);
    project.git(["checkout", "--quiet", "--detach"]);
    assert_eq!(commit(&project, &[]), CommitResult::Nothing);
    project.write("new", "x\n");
    hindered(&project, CommitHindrance::Detached);
}

#[test]
fn a_branch_without_a_commit_gets_its_first() {
    let project = Project::unborn();
    project.write("one", "1\n");
    project.write("mine", "1\n");
    assert_eq!(made(&commit(&project, &["mine"])), 1);
    assert_eq!(status(&project), "?? mine\n");
    assert_eq!(project.git(["log", "--format=%s"]), "Subject\n");
}

#[test]
fn a_locked_index_loses_nothing_and_the_next_attempt_commits() {
    let project = Project::new();
    project.write("lines", "other\n");
    project.write(".git/index.lock", "");
    let head = project.git(["rev-parse", "HEAD"]);
    let error = project.open().commit_uncommitted(&BTreeSet::new(), "x").unwrap_err();
    assert!(error.to_string().contains("index.lock"), "{error}");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);
    project.remove(".git/index.lock");
    assert_eq!(made(&commit(&project, &[])), 1);
    assert_eq!(status(&project), "");
}

#[test]
fn a_linked_work_tree_commits_on_its_own_branch() {
    let project = Project::new();
    let tree = project.scratch.join("tree");
    project.git(["worktree", "add", "--quiet", "-b", "plan", &tree.display().to_string()]);
    fs::write(tree.join("new"), "x\n").unwrap();
    let scratch = project.scratch.join("of tree");
    fs::create_dir(&scratch).unwrap();
    let (repository, _) = Repository::discover(&tree, &scratch, &project.states(), &Supervisor::default()).unwrap();
    let result = repository.commit_uncommitted(&BTreeSet::new(), "Work\n").unwrap();
    assert_eq!(made(&result), 1);
    assert_eq!(project.git(["log", "--format=%s", "plan"]), "Work\nStart\n");
    assert_eq!(project.git(["log", "--format=%s", "main"]), "Start\n");
    assert_eq!(status(&project), "");
}

#[test]
fn the_commit_has_the_users_identity() {
    let project = Project::new();
    project.git(["config", "user.name", "Someone"]);
    project.git(["config", "user.email", "someone@example.invalid"]);
    project.write("new", "x\n");
    assert_eq!(made(&commit(&project, &[])), 1);
    let people = project.git(["log", "-1", "--format=%an <%ae> %cn"]);
    assert_eq!(people, "Someone <someone@example.invalid> Someone\n");
}

#[test]
fn a_large_untracked_file_stays_uncommitted() {
    let project = Project::new();
    project.grow("core");
    assert_eq!(commit(&project, &[]), CommitResult::Nothing);
    assert_eq!(status(&project), "?? core\n");
}
