//! Checkpoints for which git does not look at the files; they equal those that git would make.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{super::index::IndexUpdate, *};

/// Returns the tree that git makes of the files on its own.
fn as_git_has_it(project: &Project) -> String {
    let index = project.scratch.join("reference");
    let users = project.root.join(".git/index");
    fs::copy(&users, &index).unwrap();
    // With the original's time: git reads files again that are as young as their index.
    let age = fs::metadata(users).unwrap().modified().unwrap();
    fs::File::options()
        .append(true)
        .open(&index)
        .unwrap()
        .set_modified(age)
        .unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(&project.root)
            .env("GIT_INDEX_FILE", &index)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    git(&["add", "--all"]);
    let tree = git(&["write-tree"]);
    fs::remove_file(index).unwrap();
    tree
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Ralph,
    Git,
}

/// Runs `step` and checks the checkpoint after it, and whether ralph or git looked at the files.
fn assert_seen(project: &Project, repository: &Repository, by: By, name: &str, step: impl FnOnce()) {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let n = NUMBER.fetch_add(1, Ordering::Relaxed);
    step();
    let found = {
        let mut state = repository.lock();
        repository.follow_index(&mut state, IndexUpdate::Changed).unwrap();
        repository.find_without_git(&mut state).is_some()
    };
    assert_eq!(if found { By::Ralph } else { By::Git }, by, "{name}");
    let taken = after(repository, n).checkpoint;
    let expected = as_git_has_it(project);
    let difference = project.git(["diff-tree", "-r", &expected, &taken.tree]);
    assert_eq!(difference, "", "{name}");
    assert_eq!(taken.tree, expected, "{name}");
    let saved = project.git(["rev-parse", &format!("{}^{{tree}}", taken.commit)]);
    assert_eq!(saved.trim_end(), taken.tree, "{name}");
    let head = project.git(["rev-parse", "HEAD"]);
    assert_eq!(taken.head.as_deref(), Some(head.trim_end()), "{name}");
    project.git(["fsck", "--strict", "--no-dangling", "--connectivity-only"]);
}

/// Makes a project with several directories and a first checkpoint, after which ralph knows the files.
fn known() -> (Project, Repository) {
    let project = Project::new();
    project.write("src/one/a.txt", "a\n");
    project.write("src/one.txt", "between\n");
    project.write("src/two/b.txt", "b\n");
    project.write("target/ignored", "x\n");
    project.write("empty/deep/a.log", "ignored\n");
    project.write(".gitignore", "*.log\ntarget/\n");
    project.commit_all("More");
    let repository = project.open();
    before(&repository, 1);
    assert!(repository.lock().table.is_some());
    (project, repository)
}

#[test]
fn edits_of_known_files_are_found_without_git() {
    let (project, repository) = known();
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, By::Ralph, name, step);
    seen("nothing", &|| ());
    seen("an edit", &|| project.write("src/one/a.txt", "A\n"));
    seen("two at once", &|| {
        project.write("src/two/b.txt", "changed\n");
        project.write("kept", "");
    });
    seen("the same size in the same moment", &|| {
        project.write("src/one/a.txt", "B\n")
    });
    seen("back to what it was", &|| project.write("src/one/a.txt", "a\n"));
    seen("ignored files", &|| {
        project.write("target/more", "x\n");
        project.write("target/ignored", "y\n");
        project.write("empty/deep/a.log", "y\n");
    });
    seen("a mode", &|| project.run("chmod", ["+x", "kept"]));
    seen("a file is gone", &|| project.remove("src/one/a.txt"));
    seen("a directory is gone", &|| {
        fs::remove_dir_all(project.root.join("src/two")).unwrap()
    });
    seen("a commit of it", &|| project.commit_all("Gone"));
    seen("a commit without a change", &|| {
        project.git(["commit", "--quiet", "--allow-empty", "--message", "Empty"]);
    });
    seen("everything is gone but one", &|| project.remove("src/one.txt"));
}

#[test]
fn a_wide_tree_is_looked_through_as_a_narrow_one_is() {
    let project = Project::new();
    for directory in 0..100 {
        project.write(format!("wide/{directory}/deep/a.txt"), "a\n");
        project.write(format!("wide/{directory}/b.txt"), "b\n");
    }
    project.commit_all("Wide");
    let repository = project.open();
    before(&repository, 1);
    let seen = |by, name, step: &dyn Fn()| assert_seen(&project, &repository, by, name, step);
    seen(By::Ralph, "nothing", &|| ());
    seen(By::Ralph, "an edit in each directory", &|| {
        for directory in 0..100 {
            project.write(format!("wide/{directory}/b.txt"), &format!("{directory}\n"));
        }
    });
    seen(By::Ralph, "some files are gone", &|| {
        for directory in (0..100).step_by(7) {
            project.remove(&format!("wide/{directory}/deep/a.txt"));
        }
    });
    for directory in [1, 50, 99] {
        seen(By::Git, "a new file in one of them", &|| {
            project.write(format!("wide/{directory}/deep/new.txt"), "new\n");
        });
    }
}

#[test]
fn ralphs_index_is_written_once_git_works_on_it() {
    let (project, repository) = known();
    let index = || fs::read(&repository.index).unwrap();
    let at_first = index();
    let run = run();
    project.write("src/one/a.txt", "edited\n");
    after(&repository, 1);
    assert!(index() == at_first, "nobody needs it");
    project.write("src/.gitattributes", "*.txt -diff\n");
    after(&repository, 2);
    assert!(index() != at_first, "a new file is for git to find");
    let with_attributes = index();
    project.remove("src/.gitattributes");
    after(&repository, 3);
    assert!(index() != with_attributes, "git would look for attributes there");
    // git restores only over files that it has found unchanged itself.
    project.write("src/two/b.txt", "edited\n");
    after(&repository, 4);
    repository.restore(&run, 1, Moment::Before).unwrap();
    assert_eq!(project.read("src/one/a.txt").as_deref(), Some("a\n"));
    assert_eq!(project.read("src/two/b.txt").as_deref(), Some("b\n"));
    assert_seen(&project, &repository, By::Git, "restored", || ());
}

#[test]
fn an_index_that_could_not_be_written_is_begun_anew() {
    let project = Project::unborn();
    fs::write(project.root.join(".git/info/exclude"), "*.log\n").unwrap();
    project.write("a.txt", "a\n");
    project.write("a.log", "ignored and tracked\n");
    project.git(["add", "--force", "a.log"]);
    project.commit_all("Start");
    let repository = project.open();
    before(&repository, 1);
    project.write("a.txt", "edited\n");
    after(&repository, 1);
    let in_the_way = repository.index.with_extension("new");
    fs::create_dir(&in_the_way).unwrap();
    repository.restore(&run(), 1, Moment::Before).unwrap_err();
    fs::remove_dir(in_the_way).unwrap();
    assert_seen(&project, &repository, By::Git, "after that", || ());
}

#[test]
fn what_only_git_can_tell_is_left_to_git_and_known_afterwards() {
    let (project, repository) = known();
    let seen = |by, name, step: &dyn Fn()| assert_seen(&project, &repository, by, name, step);
    seen(By::Git, "a new file", &|| project.write("src/one/new.txt", "new\n"));
    seen(By::Ralph, "its edit", &|| project.write("src/one/new.txt", "newer\n"));
    seen(By::Ralph, "its commit", &|| project.commit_all("New"));
    seen(By::Ralph, "new and committed at once", &|| {
        project.write("src/three/c.txt", "c\n");
        project.commit_all("Three");
    });
    seen(By::Git, "a new ignored file", &|| project.write("src/new.log", "x\n"));
    seen(By::Ralph, "its edit", &|| project.write("src/new.log", "y\n"));
    seen(By::Ralph, "an ignored file that is tracked", &|| {
        project.git(["add", "--force", "src/new.log"]);
    });
    seen(By::Ralph, "its edit", &|| project.write("src/new.log", "z\n"));
    seen(By::Git, "a tracked file in an ignored directory", &|| {
        project.git(["add", "--force", "target/ignored"]);
    });
    seen(By::Ralph, "its edit", &|| project.write("target/ignored", "edited\n"));
    seen(By::Git, "another one beside it", &|| {
        project.write("target/another", "x\n")
    });
    seen(By::Git, "a link", &|| {
        symlink("kept", project.root.join("link")).unwrap()
    });
    seen(By::Ralph, "another link", &|| {
        project.remove("link");
        symlink("lines", project.root.join("link")).unwrap();
    });
    seen(By::Git, "a directory in the place of a file", &|| {
        project.remove("kept");
        project.write("kept/inside", "x\n");
    });
    seen(By::Git, "a file in the place of a directory", &|| {
        fs::remove_dir_all(project.root.join("kept")).unwrap();
        project.write("kept", "x\n");
    });
    seen(By::Git, "other ignore rules", &|| {
        project.write(".gitignore", "target/\n*.tmp\n");
        project.write("src/new.tmp", "x\n");
    });
    seen(By::Ralph, "after that", &|| project.write("src/one.txt", "after\n"));
    seen(By::Git, "a new ignore file", &|| {
        project.write("src/.gitignore", "a.tmp\n")
    });
}

#[test]
fn rules_outside_of_the_work_tree_are_looked_at_anew_when_they_change() {
    let (project, repository) = known();
    let seen = |by, name, step: &dyn Fn()| assert_seen(&project, &repository, by, name, step);
    let exclude = project.root.join(".git/info/exclude");
    seen(By::Git, "a rule of the repository", &|| {
        fs::write(&exclude, "*.one\n").unwrap();
        project.write("a.one", "x\n");
    });
    seen(By::Git, "without it", &|| fs::write(&exclude, "").unwrap());
    let named = project.scratch.join("named");
    seen(By::Git, "a file that the configuration names", &|| {
        project.git(["config", "core.excludesFile", &named.display().to_string()]);
    });
    seen(By::Git, "that comes to be", &|| {
        fs::write(&named, "*.two\n").unwrap();
        project.write("a.two", "x\n");
    });
    let included = project.scratch.join("included");
    seen(By::Git, "a configuration that includes another", &|| {
        project.git(["config", "include.path", &included.display().to_string()]);
    });
    seen(By::Git, "that comes to be", &|| {
        fs::write(&included, "[core]\nexcludesFile = /dev/null\n").unwrap()
    });
    seen(By::Git, "another branch", &|| {
        project.git(["switch", "--quiet", "--create", "other"]);
    });
    seen(By::Ralph, "an edit", &|| project.write("kept", "edited\n"));
}

#[test]
fn what_is_in_packs_is_made_sure_of_by_git_and_believed_as_long_as_they_stay() {
    let (project, repository) = known();
    project.git(["gc", "--quiet", "--prune=now"]);
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, By::Ralph, name, step);
    seen("the first", &|| project.write("src/one/a.txt", "1\n"));
    seen("the second", &|| project.write("src/one/a.txt", "2\n"));
    seen("other packs", &|| {
        project.git(["gc", "--quiet"]);
        project.write("src/one/a.txt", "3\n");
    });
}

#[test]
fn a_file_that_was_taken_away_from_the_objects_gets_no_tree() {
    let (project, repository) = known();
    project.write("src/one/a.txt", "only here\n");
    after(&repository, 1);
    for place in ["1-before", "1-after"] {
        project.git(["update-ref", "-d", &reference(&run(), place)]);
    }
    project.git(["prune", "--expire=now"]);
    project.write("src/one/other", "x\n");
    repository.checkpoint(&run(), 2, Moment::After).unwrap_err();
    let taken = after(&repository, 2).checkpoint;
    assert_eq!(content(&project, &taken, "src/one/a.txt"), "only here\n");
    project.git(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn what_is_unusual_is_always_left_to_git() {
    let project = Project::new();
    project.git(["update-index", "--skip-worktree", "kept"]);
    project.remove("kept");
    let repository = project.open();
    before(&repository, 1);
    assert!(repository.lock().table.is_none());
    let (project, repository) = known();
    project.write("nested/file", "x\n");
    project.git(["init", "--quiet", "nested"]);
    after(&repository, 1);
    assert!(repository.lock().table.is_none());
}

fn reference(run: &RunId, place: &str) -> String {
    format!("refs/ralph/{run}/{place}")
}

#[test]
fn git_is_asked_for_its_settings_once_and_again_when_one_of_their_files_has_changed() {
    let (project, repository) = known();
    let settings = || repository.settings().unwrap().settings;
    let line_ends = || settings().lines(|key| key == "core.autocrlf");
    let first = settings();
    assert!(Arc::ptr_eq(&first, &settings()));
    project.git(["config", "core.autocrlf", "input"]);
    assert_eq!(line_ends(), ["core.autocrlf input"]);
    let included = project.scratch.join("included");
    fs::write(&included, "[core]\n\tautoCRLF\n").unwrap();
    project.git(["config", "include.path", included.to_str().unwrap()]);
    assert_eq!(line_ends(), ["core.autocrlf input", "core.autocrlf"]);
    fs::write(&included, "[core]\n\tautoCRLF = false\n").unwrap();
    assert_eq!(line_ends(), ["core.autocrlf input", "core.autocrlf false"]);
}

#[test]
fn settings_are_known_where_nobody_can_tell_which_files_decide_about_them() {
    let project = Project::new();
    project.git(["config", "core.excludesFile", "~root/ignored"]);
    let repository = project.open();
    let known = repository.settings().unwrap();
    assert!(known.rules.is_none());
    assert_eq!(
        known.settings.lines(|key| key == "core.excludesfile"),
        ["core.excludesfile ~root/ignored"]
    );
    assert!(repository.loose().is_some());
}
