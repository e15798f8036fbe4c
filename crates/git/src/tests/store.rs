//! The store: what becomes of the project's repository changes no checkpoint.

use super::*;
use crate::{
    AfterCheckpoint, DiffColour, DiffDetail, GitWorks,
    store::{HISTORIES, collection},
};

const REFERENCES: &str = "refs/ralph/20261120-102835-4f2a";

/// A project with the checkpoint before the first iteration of a run, and the file `lines` as an agent changed it.
fn begun() -> (Project, Repository, Checkpoint) {
    let project = Project::new();
    project.write("precious", "not committed\n");
    let repository = project.open();
    repository.begin(&run()).unwrap();
    let first = before(&repository, 1).checkpoint;
    project.write("lines", "changed\n");
    project.remove("precious");
    (project, repository, first)
}

/// Restores the files as they were before the first iteration, as another process does.
fn restored(project: &Project) {
    let scratch = tempfile::tempdir().unwrap();
    let repository = found(project, scratch.path());
    repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(project.read("precious").as_deref(), Some("not committed\n"));
    assert_eq!(project.read("lines").as_deref(), Some("1\n2\n3\n"));
}

/// Finds the repository or what is left of it.
fn found(project: &Project, scratch: &Path) -> Repository {
    let supervisor = Supervisor::default();
    let found = Repository::discover_or_store(&project.root, scratch, &project.states(), &supervisor);
    found.unwrap().0
}

/// Returns the file of an object in the project's repository.
fn object_file(project: &Project, object: &str) -> PathBuf {
    let (directory, file) = object.trim_end().split_at(2);
    project.root.join(".git/objects").join(directory).join(file)
}

/// Compresses the object of a content as git does.
fn stored_object(project: &Project, text: &str) -> Vec<u8> {
    project.write("aside.log", text);
    let object = project.git(["hash-object", "-w", "aside.log"]);
    fs::read(object_file(project, &object)).unwrap()
}

#[test]
fn references_that_an_agent_moves_makes_or_deletes_change_no_checkpoint() {
    for harm in [
        "for-each-ref",
        "update-ref refs/ralph/20261120-102835-4f2a/1-before HEAD",
        "symbolic-ref refs/ralph/20261120-102835-4f2a/1-before refs/heads/main",
    ] {
        let (project, repository, first) = begun();
        project.commit_all("By the agent");
        project.git(harm.split(' '));
        after(&repository, 1);
        drop(repository);
        restored(&project);
        let saved = project.open().list(&run()).unwrap();
        assert_eq!(saved[0].checkpoint, first, "{harm}");
    }
}

#[test]
fn a_repository_that_is_cleared_of_objects_costs_no_checkpoint() {
    let (project, repository, _) = begun();
    project.commit_all("By the agent");
    let second = after(&repository, 1).checkpoint;
    drop(repository);
    project.git(["reset", "--quiet", "--hard", "HEAD~"]);
    project.git(["reflog", "expire", "--all", "--expire=now"]);
    project.git(["gc", "--quiet", "--prune=now", "--aggressive"]);
    assert!(!project.try_git(["cat-file", "-e", &second.tree]).0);
    restored(&project);
    assert_eq!(content(&project, &second, "lines"), "changed\n");
    project.run("sh", ["-c", "find .git/objects -type f -delete"]);
    project.stored(["fsck", "--strict", "--no-dangling"]);
    let repository = found(&project, &project.scratch);
    let around = repository.around(&run(), None, Some(1)).unwrap();
    let AfterCheckpoint::Checkpoint(after) = around.after else {
        panic!("{around:?}")
    };
    let shown = repository.difference(
        &around.before,
        Some(&after),
        DiffDetail::Patch,
        DiffColour::No,
        &[],
        Path::new("PLAN.md"),
    );
    assert!(String::from_utf8_lossy(&shown.unwrap().bytes).contains("+changed"));
}

#[test]
fn the_plan_is_the_last_file_of_a_patch() {
    let project = Project::new();
    project.write("docs/PLAN.md", "- [ ] one\n");
    project.write("lines", "");
    let repository = found(&project, &project.scratch);
    let from = before(&repository, 1).checkpoint;
    project.write("docs/PLAN.md", "- [x] one\n");
    project.write("lines", "diff --git a/docs/PLAN.md b/docs/PLAN.md\n");
    project.write("zeros", "0\n");
    let to = after(&repository, 1).checkpoint;
    let shown = |plan: &str| {
        let plan = project.root.join(plan);
        let shown = repository.difference(&from, Some(&to), DiffDetail::Patch, DiffColour::No, &[], &plan);
        let shown = String::from_utf8(shown.unwrap().bytes).unwrap();
        assert!(repository.patch(&from, Some(&to), &plan).unwrap().ends_with(&shown));
        let names = shown.lines().filter_map(|line| line.strip_prefix("diff --git a/"));
        names
            .map(|names| names.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown("docs/PLAN.md"), ["lines", "zeros", "docs/PLAN.md"]);
    assert_eq!(shown("PLAN.md"), ["docs/PLAN.md", "lines", "zeros"]);
}

#[test]
fn files_come_back_without_the_repository_and_the_history_with_a_new_one() {
    let (project, repository, first) = begun();
    let head = project.git(["rev-parse", "HEAD"]);
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    let lost = repository.lost(&[&first], GitWorks::Doubtful).unwrap();
    drop(repository);
    restored(&project);
    assert!(!project.root.join(".git").exists());
    project.write("lines", "changed again\n");
    project.remove("precious");
    project.git(["init", "--quiet", "--initial-branch=main"]);
    restored(&project);
    let (store, history) = (lost.store.unwrap(), lost.history.unwrap());
    project.git(["fetch", "--quiet", store.to_str().unwrap(), &history]);
    project.git(["reset", "--quiet", "FETCH_HEAD"]);
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);
    assert_eq!(project.git(["status", "--porcelain"]), "?? precious\n");
    project.git(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn an_object_that_an_agent_forges_reaches_no_restore() {
    let (project, repository, _) = begun();
    let forged = stored_object(&project, "forged\n");
    // Written over the files of objects in place, as a hard link would let it through, and made before its content is seen.
    project.write("later.log", "later\n");
    let known = ["HEAD:lines", "HEAD:kept"].map(|name| project.git(["rev-parse", name]));
    let later = project.git(["hash-object", "later.log"]);
    for object in known.iter().chain([&later]) {
        let file = object_file(&project, object);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if file.exists() {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        }
        fs::write(&file, &forged).unwrap();
    }
    assert_eq!(project.git(["cat-file", "blob", "HEAD:lines"]), "forged\n");
    project.write("new", "later\n");
    let second = after(&repository, 1).checkpoint;
    drop(repository);
    assert_eq!(content(&project, &second, "new"), "later\n");
    restored(&project);
    assert_eq!(content(&project, &second, "kept"), "kept\n");
    // The next run begins with the forged objects in the repository.
    let repository = project.open();
    let next = RunId("20261121-102835-4f2a".to_owned());
    repository.begin(&next).unwrap();
    let taken = repository.checkpoint(&next, 1, Moment::Before).unwrap().checkpoint;
    assert_eq!(content(&project, &taken, "lines"), "1\n2\n3\n");
    project.stored(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn what_an_agent_stages_and_commits_is_read_from_the_files() {
    let (project, repository, first) = begun();
    project.write("staged", "staged\n");
    project.write(".gitignore", "*.log\nforced\n");
    project.write("forced", "forced\n");
    project.git(["add", "staged"]);
    project.git(["add", "--force", "forced"]);
    project.write("staged", "present\n");
    let object = project.git(["rev-parse", ":staged"]);
    fs::remove_file(object_file(&project, &object)).unwrap();
    let second = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &second, "staged"), "present\n");
    assert_eq!(content(&project, &second, "forced"), "forced\n");
    // An entry that only the index has, and one whose file is gone and comes back.
    project.git([
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{},only", "1".repeat(40)),
    ]);
    project.remove("forced");
    let third = after(&repository, 2).checkpoint;
    assert!(
        !files(&project, &third)
            .iter()
            .any(|file| file.ends_with(" only") || file.ends_with(" forced"))
    );
    project.write("forced", "again\n");
    project.git(["rm", "--quiet", "--cached", "only"]);
    project.git(["add", "--force", "forced"]);
    let fourth = after(&repository, 3).checkpoint;
    assert_eq!(content(&project, &fourth, "forced"), "again\n");
    assert_eq!(repository.changes(&first, &fourth).unwrap().files, 5);
    project.stored(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn a_file_that_neither_the_work_tree_nor_the_repository_has_is_left_out_and_named() {
    let project = Project::new();
    project.write("out/file", "x\n");
    project.commit_all("More");
    let object = project.git(["rev-parse", "HEAD:out/file"]);
    // Other files are in the repository alone: git 2.34 takes those of the root away, too.
    project.git(["sparse-checkout", "set", "--no-cone", "in"]);
    fs::remove_file(object_file(&project, &object)).unwrap();
    let repository = project.open();
    let taken = before(&repository, 1);
    assert!(
        taken.notices.iter().any(|notice| notice.contains("out/file")),
        "{:?}",
        taken.notices
    );
    assert_eq!(files(&project, &taken.checkpoint).len(), 3);
    project.write("out/file", "y\n");
    assert_eq!(content(&project, &after(&repository, 1).checkpoint, "out/file"), "y\n");
}

#[test]
fn the_store_of_longer_names_of_objects_stands_in_for_its_repository_as_well() {
    let project = Project::unborn();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    project.git(["init", "--quiet", "--object-format=sha256"]);
    project.write("lines", "1\n2\n3\n");
    project.commit_all("Start");
    project.write("precious", "not committed\n");
    let repository = project.open();
    repository.begin(&run()).unwrap();
    before(&repository, 1);
    assert_eq!(
        project
            .stored(["for-each-ref", "--format=%(refname)", REFERENCES])
            .lines()
            .count(),
        3
    );
    project.write("lines", "changed\n");
    project.remove("precious");
    drop(repository);
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    restored(&project);
}

#[test]
fn locks_that_a_killed_git_left_hold_up_no_later_run() {
    let (project, repository, _) = begun();
    drop(repository);
    let store = project.store();
    let locks = [
        format!("{REFERENCES}/1-after.lock"),
        "packed-refs.lock".to_owned(),
        "HEAD.lock".to_owned(),
    ];
    for lock in &locks {
        let hour = std::time::Duration::from_secs(3600);
        let lock = fs::File::create(store.join(lock)).unwrap();
        lock.set_modified(std::time::SystemTime::now() - hour).unwrap();
    }
    // Another process may hold this one.
    let held = store.join("refs/ralph/20261121-102835-4f2a.lock");
    fs::write(&held, "").unwrap();
    let repository = project.open();
    repository.begin(&run()).unwrap();
    after(&repository, 1);
    assert!(!locks.iter().any(|lock| store.join(lock).exists()));
    assert!(held.exists());
}

#[test]
fn a_store_that_cannot_be_made_is_named() {
    let project = Project::new();
    fs::write(project.scratch.join("states"), "a file in the place of a directory").unwrap();
    let error = project.open().begin(&run()).unwrap_err();
    assert!(
        matches!(&error, GitError::Store { path, .. } if path.ends_with("store.git")),
        "{error:?}"
    );
    assert!(project.open().checkpoint(&run(), 1, Moment::Before).is_err());
}

#[test]
fn a_store_that_was_begun_and_not_finished_is_made() {
    let project = Project::new();
    let store = project.states().store(&project.root);
    let aside = store.with_extension(format!("{}.new", std::process::id()));
    fs::create_dir_all(aside.join("objects")).unwrap();
    before(&project.open(), 1);
    assert!(project.store().join("HEAD").is_file());
}

#[test]
fn a_forgotten_run_leaves_no_object_and_another_one_all_of_its() {
    let (project, repository, first) = begun();
    let second = after(&repository, 1).checkpoint;
    let other = RunId("20261121-102835-4f2a".to_owned());
    let kept = repository.checkpoint(&other, 1, Moment::Before).unwrap().checkpoint;
    assert_eq!(kept.tree, second.tree);
    repository.forget(&run()).unwrap();
    collection(repository.store_git(), "now").run().unwrap();
    let has = |object: &str| repository.store_git().args(["cat-file", "-e", object]).run().is_ok();
    assert!(has(&kept.tree) && !has(&first.tree), "{first:?}");
    assert_eq!(content(&project, &kept, "lines"), "changed\n");
    project.stored(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn all_work_trees_of_a_repository_have_one_store() {
    let (project, repository, _) = begun();
    project.git(["worktree", "add", "--quiet", "-b", "plan", "../tree"]);
    let tree = project.root.join("../tree").canonicalize().unwrap();
    let scratch = project.scratch.join("of tree");
    fs::create_dir(&scratch).unwrap();
    let found = Repository::discover(&tree, &scratch, &project.states(), &Supervisor::default());
    let (of_tree, _) = found.unwrap();
    let other = RunId("20261121-102835-4f2a".to_owned());
    of_tree.begin(&other).unwrap();
    let taken = of_tree.checkpoint(&other, 1, Moment::Before).unwrap().checkpoint;
    assert_eq!(content(&project, &taken, "lines"), "1\n2\n3\n");
    assert_eq!(
        content(&project, &after(&repository, 1).checkpoint, "lines"),
        "changed\n"
    );
    of_tree.forget(&other).unwrap();
    drop(repository);
    restored(&project);
    assert_eq!(project.open().list(&other).unwrap(), []);
}

#[test]
fn the_history_of_a_run_is_kept_although_an_agent_rewrites_it() {
    let (project, repository, first) = begun();
    let head = first.head.unwrap();
    project.git(["commit", "--quiet", "--amend", "--message", "Rewritten"]);
    after(&repository, 1);
    repository.begin(&run()).unwrap();
    let listed = project.stored([
        "for-each-ref",
        "--format=%(refname)",
        &format!("{REFERENCES}{HISTORIES}"),
    ]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert_eq!(project.stored(["log", "-1", "--format=%s", &head]), "Start\n");
}
