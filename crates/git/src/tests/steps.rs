//! Checkpoints after one step each; they equal those that git would make of a copy of the user's index.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

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

/// Runs `step` and checks the checkpoint after it.
fn assert_seen(project: &Project, repository: &Repository, name: &str, step: impl FnOnce()) {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let n = NUMBER.fetch_add(1, Ordering::Relaxed);
    step();
    let taken = after(repository, n).checkpoint;
    let expected = as_git_has_it(project);
    let list = |tree| ["ls-tree", "-r", tree];
    let listed = project.stored(list(&taken.tree));
    assert_eq!(listed, project.git(list(&expected)), "{name}");
    assert_eq!(taken.tree, expected, "{name}");
    let saved = project.stored(["rev-parse", &format!("{}^{{tree}}", taken.commit)]);
    assert_eq!(saved.trim_end(), taken.tree, "{name}");
    let head = project.git(["rev-parse", "HEAD"]);
    assert_eq!(taken.head.as_deref(), Some(head.trim_end()), "{name}");
    project.stored(["fsck", "--strict", "--no-dangling", "--connectivity-only"]);
}

/// Makes a project with several directories and a first checkpoint.
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
    (project, repository)
}

#[test]
fn edits_of_known_files_are_found() {
    let (project, repository) = known();
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, name, step);
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
fn a_wide_tree_is_like_a_narrow_one() {
    let project = Project::new();
    for directory in 0..100 {
        project.write(format!("wide/{directory}/deep/a.txt"), "a\n");
        project.write(format!("wide/{directory}/b.txt"), "b\n");
    }
    project.commit_all("Wide");
    let repository = project.open();
    before(&repository, 1);
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, name, step);
    seen("nothing", &|| ());
    seen("an edit in each directory", &|| {
        for directory in 0..100 {
            project.write(format!("wide/{directory}/b.txt"), &format!("{directory}\n"));
        }
    });
    seen("some files are gone", &|| {
        for directory in (0..100).step_by(7) {
            project.remove(&format!("wide/{directory}/deep/a.txt"));
        }
    });
    for directory in [1, 50, 99] {
        seen("a new file in one of them", &|| {
            project.write(format!("wide/{directory}/deep/new.txt"), "new\n");
        });
    }
}

#[test]
fn new_names_and_other_kinds_are_found() {
    let (project, repository) = known();
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, name, step);
    seen("a new file", &|| project.write("src/one/new.txt", "new\n"));
    seen("its edit", &|| project.write("src/one/new.txt", "newer\n"));
    seen("its commit", &|| project.commit_all("New"));
    seen("new and committed at once", &|| {
        project.write("src/three/c.txt", "c\n");
        project.commit_all("Three");
    });
    seen("a new ignored file", &|| project.write("src/new.log", "x\n"));
    seen("its edit", &|| project.write("src/new.log", "y\n"));
    seen("an ignored file that is tracked", &|| {
        project.git(["add", "--force", "src/new.log"]);
    });
    seen("its edit", &|| project.write("src/new.log", "z\n"));
    seen("a tracked file in an ignored directory", &|| {
        project.git(["add", "--force", "target/ignored"]);
    });
    seen("its edit", &|| project.write("target/ignored", "edited\n"));
    seen("another one beside it", &|| project.write("target/another", "x\n"));
    seen("a link", &|| symlink("kept", project.root.join("link")).unwrap());
    seen("another link", &|| {
        project.remove("link");
        symlink("lines", project.root.join("link")).unwrap();
    });
    seen("a directory in the place of a file", &|| {
        project.remove("kept");
        project.write("kept/inside", "x\n");
    });
    seen("a file in the place of a directory", &|| {
        fs::remove_dir_all(project.root.join("kept")).unwrap();
        project.write("kept", "x\n");
    });
    seen("other ignore rules", &|| {
        project.write(".gitignore", "target/\n*.tmp\n");
        project.write("src/new.tmp", "x\n");
    });
    seen("after that", &|| project.write("src/one.txt", "after\n"));
    seen("a new ignore file", &|| project.write("src/.gitignore", "a.tmp\n"));
}

#[test]
fn rules_outside_of_the_work_tree_are_looked_at_anew_when_they_change() {
    let (project, repository) = known();
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, name, step);
    let exclude = project.root.join(".git/info/exclude");
    seen("a rule of the repository", &|| {
        fs::write(&exclude, "*.one\n").unwrap();
        project.write("a.one", "x\n");
    });
    seen("without it", &|| fs::write(&exclude, "").unwrap());
    let named = project.scratch.join("named");
    seen("a file that the configuration names", &|| {
        project.git(["config", "core.excludesFile", &named.display().to_string()]);
    });
    seen("that comes to be", &|| {
        fs::write(&named, "*.two\n").unwrap();
        project.write("a.two", "x\n");
    });
    let included = project.scratch.join("included");
    seen("a configuration that includes another", &|| {
        project.git(["config", "include.path", &included.display().to_string()]);
    });
    seen("that comes to be", &|| {
        fs::write(&included, "[core]\nexcludesFile = /dev/null\n").unwrap()
    });
    seen("another branch", &|| {
        project.git(["switch", "--quiet", "--create", "other"]);
    });
    seen("an edit", &|| project.write("kept", "edited\n"));
}

#[test]
fn objects_may_be_in_packs() {
    let (project, repository) = known();
    project.git(["gc", "--quiet", "--prune=now"]);
    let seen = |name, step: &dyn Fn()| assert_seen(&project, &repository, name, step);
    seen("the first", &|| project.write("src/one/a.txt", "1\n"));
    seen("the second", &|| project.write("src/one/a.txt", "2\n"));
    seen("other packs", &|| {
        project.git(["gc", "--quiet"]);
        project.write("src/one/a.txt", "3\n");
    });
}
