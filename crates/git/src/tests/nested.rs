//! Repositories inside the work tree: submodules, clones and linked work trees, also in ignored directories.

use std::os::unix::fs::symlink;

use ralph_core::event::RepositoryChange;

use super::{
    super::{CheckpointPosition, DiffColour, DiffDetail, NestedChanges, NestedRestore, RestoreResult},
    *,
};

/// Makes a repository with one commit at a path of the project.
fn nested(project: &Project, path: &str) {
    project.git(["init", "--quiet", "--initial-branch=main", path]);
    commit_in(project, path, "code", "1\n");
}

fn commit_in(project: &Project, path: &str, file: &str, text: &str) {
    project.write(format!("{path}/{file}"), text);
    project.git(["-C", path, "add", file]);
    project.git(["-C", path, "commit", "--quiet", "--message", "Inside"]);
}

fn submodule(project: &Project, path: &str) {
    let other = Project::new();
    let url = other.root.to_str().unwrap();
    project.git(["submodule", "add", "--quiet", url, path]);
    project.commit_all("Submodule");
}

/// A project with `path` of each kind that repositories inside are of.
fn kinds() -> Vec<(Project, &'static str)> {
    let make = |path: &'static str, make: &dyn Fn(&Project)| {
        let project = Project::new();
        project.write(".gitignore", "*.log\n/out/\nvendor/*\n");
        project.commit_all("Ignore");
        make(&project);
        (project, path)
    };
    vec![
        make("lib", &|project| submodule(project, "lib")),
        make("a clone", &|project| nested(project, "a clone")),
        make("out/deep/dep", &|project| nested(project, "out/deep/dep")),
        make("vendor/dep", &|project| nested(project, "vendor/dep")),
        make("out/tree", &|project| {
            project.git(["worktree", "add", "--quiet", "-b", "side", "out/tree"]);
        }),
        make("unborn", &|project| {
            project.git(["init", "--quiet", "--initial-branch=main", "unborn"]);
        }),
        make("lib/inner", &|project| {
            nested(project, "lib");
            nested(project, "lib/inner");
        }),
    ]
}

fn counted(repository: &Repository, since: &Checkpoint) -> (Changes, Vec<NestedChanges>) {
    let (_, counted) = repository.checkpoint_since(&run(), 1, Moment::After, &[since]).unwrap();
    let counted = counted.unwrap().remove(0);
    (counted.changes, counted.nested)
}

fn restore(repository: &Repository, n: u32) -> RestoreResult {
    repository.restore(&run(), n, Moment::Before).unwrap()
}

#[test]
fn files_and_commits_in_each_kind_are_recorded_and_counted() {
    for (project, path) in kinds() {
        let repository = project.open();
        let taken = before(&repository, 1);
        assert_eq!(taken.notices, [""; 0], "{path}");
        let first = taken.checkpoint;
        assert_eq!(after(&repository, 1).checkpoint, first, "{path}");
        project.write(format!("{path}/new"), "1\n2\n");
        let untouchable = || {
            let mut files = project.untouchable();
            // Objects of repositories inside; ralph adds some.
            files.retain(|path, _| path.components().all(|part| part.as_os_str() != "objects"));
            files
        };
        let was = untouchable();
        let top = path.split_once("/inner").map_or(path, |(top, _)| top);
        let named = |changes| NestedChanges {
            path: PathBuf::from(top),
            change: RepositoryChange::Changed { changes },
        };
        let dirty = Changes {
            files: 1,
            added: 2,
            ..Changes::default()
        };
        assert_eq!(counted(&repository, &first), (dirty, vec![named(dirty)]), "{path}");
        assert_eq!(untouchable(), was, "{path}");
        let second = after(&repository, 1).checkpoint;
        assert_ne!(second.tree, first.tree, "{path}");
        project.git(["-C", path, "add", "new"]);
        project.git(["-C", path, "commit", "--quiet", "--message", "Inside"]);
        let committed = Changes { commits: 1, ..dirty };
        assert_eq!(
            counted(&repository, &first),
            (committed, vec![named(committed)]),
            "{path}"
        );
        assert_ne!(after(&repository, 1).checkpoint.tree, second.tree, "{path}");
        assert_eq!(project.git(["-C", path, "status", "--porcelain"]), "", "{path}");
    }
}

#[test]
fn a_state_that_comes_again_is_the_same() {
    for (project, path) in kinds() {
        let repository = project.open();
        let state = || {
            let taken = after(&repository, 1).checkpoint.tree;
            project.write(format!("{path}/new"), "other\n");
            assert_ne!(after(&repository, 1).checkpoint.tree, taken, "{path}");
            taken
        };
        project.write(format!("{path}/new"), "1\n");
        let first = state();
        project.write(format!("{path}/new"), "1\n");
        assert_eq!(state(), first, "{path}");
        project.write(format!("{path}/new"), "1\n");
        let another = project.open();
        assert_eq!(after(&another, 2).checkpoint.tree, first, "another process: {path}");
    }
}

#[test]
fn what_is_recorded_is_kept_there_until_the_run_is_forgotten() {
    for (project, path) in kinds() {
        project.write(format!("{path}/new"), "1\n");
        let repository = project.open();
        before(&repository, 1);
        let names = || project.git(["-C", path, "for-each-ref", "--format=%(refname)", "refs/ralph/"]);
        let prefix = format!("refs/ralph/{}/nested/", run());
        assert!(names().contains(&prefix), "{path}: {}", names());
        drop(repository);
        project.open().forget(&run()).unwrap();
        assert_eq!(names(), "", "{path}");
    }
}

#[test]
fn a_patch_has_what_differs_in_each_kind() {
    for (project, path) in kinds() {
        project.write(format!("{path}/kept"), "kept\n");
        let repository = project.open();
        let first = before(&repository, 1).checkpoint;
        project.write(format!("{path}/kept"), "other\n");
        let second = after(&repository, 1).checkpoint;
        drop(repository);
        let repository = project.open();
        let header = format!("+++ b/{path}/kept");
        for to in [Some(&second), None] {
            let patch = repository.patch(&first, to, Path::new("PLAN.md")).unwrap();
            assert!(patch.contains(&header) && patch.contains("+other"), "{path}: {patch}");
            let shown = repository.difference(&first, to, DiffDetail::Patch, DiffColour::No, &[], Path::new("PLAN.md"));
            let shown = String::from_utf8(shown.unwrap().bytes).unwrap();
            assert!(shown.contains(&header) && shown.contains("+other"), "{path}: {shown}");
        }
    }
}

#[test]
fn one_that_appears_and_vanishes_is_named() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    nested(&project, "lib");
    let one = Changes {
        files: 1,
        ..Changes::default()
    };
    let named = |change| {
        vec![NestedChanges {
            path: "lib".into(),
            change,
        }]
    };
    assert_eq!(counted(&repository, &first), (one, named(RepositoryChange::Appeared)));
    let second = after(&repository, 1).checkpoint;
    fs::remove_dir_all(project.root.join("lib")).unwrap();
    assert_eq!(counted(&repository, &second), (one, named(RepositoryChange::Vanished)));
    assert_eq!(after(&repository, 1).checkpoint.tree, first.tree);
}

#[test]
fn files_whose_repository_is_gone_are_the_projects() {
    let project = Project::new();
    nested(&project, "lib");
    let repository = project.open();
    before(&repository, 1);
    fs::remove_dir_all(project.root.join("lib/.git")).unwrap();
    let taken = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &taken, "lib/code"), "1\n");
    nested(&project, "other");
    before(&repository, 2);
    fs::remove_dir_all(project.root.join("other")).unwrap();
    project.write("other", "a file\n");
    assert_eq!(
        content(&project, &after(&repository, 2).checkpoint, "other"),
        "a file\n"
    );
}

#[test]
fn one_that_is_replaced_is_recorded_anew() {
    let project = Project::new();
    nested(&project, "lib");
    let repository = project.open();
    before(&repository, 1);
    fs::remove_dir_all(project.root.join("lib")).unwrap();
    project.git(["init", "--quiet", "--initial-branch=main", "lib"]);
    commit_in(&project, "lib", "another", "1\n");
    after(&repository, 1);
    let taken = before(&repository, 2);
    assert_eq!(taken.notices, [""; 0]);
    let head = project.git(["-C", "lib", "rev-parse", "HEAD"]);
    assert_eq!(
        project.stored(["rev-parse", &format!("{}:lib", taken.checkpoint.tree)]),
        head
    );
}

#[test]
fn what_leads_elsewhere_or_blocks_is_left_out_and_named() {
    let elsewhere = Project::new();
    let project = Project::new();
    for path in ["file", "link", "pipe", "broken"] {
        nested(&project, path);
    }
    project.write(".gitignore", "out\n");
    let spoil = |path: &str| fs::remove_dir_all(project.root.join(path).join(".git")).unwrap();
    spoil("file");
    let named = format!("gitdir: {}/.git\n", elsewhere.root.display());
    project.write("file/.git", &named);
    spoil("link");
    symlink(elsewhere.root.join(".git"), project.root.join("link/.git")).unwrap();
    project.write("broken/.git/HEAD", "nothing\n");
    project.write("broken/.git/config", "[core\n");
    project.remove("pipe/.git/HEAD");
    project.run("mkfifo", ["pipe/.git/HEAD"]);
    // git itself opens the HEAD of what it takes for a repository; below an ignored directory it does not look.
    fs::create_dir(project.root.join("out")).unwrap();
    fs::rename(project.root.join("pipe"), project.root.join("out/pipe")).unwrap();
    let was = elsewhere.untouchable();
    let taken = before(&project.open(), 1);
    for path in ["file", "link", "out/pipe"] {
        let says = |notice: &String| notice.starts_with(&format!("{path} is a repository of its own"));
        assert!(taken.notices.iter().any(says), "{path}: {:?}", taken.notices);
    }
    assert_eq!(elsewhere.untouchable(), was);
    assert_eq!(elsewhere.git(["for-each-ref", "refs/ralph/"]), "");
}

#[test]
fn no_program_that_its_settings_name_is_run() {
    let project = Project::new();
    nested(&project, "lib");
    let mark = project.scratch.join("mark");
    let touch = format!("touch '{}'; cat", mark.display());
    for key in [
        "filter.x.clean",
        "filter.x.smudge",
        "core.fsmonitor",
        "diff.external",
        "gpg.program",
    ] {
        project.git(["-C", "lib", "config", key, &touch]);
    }
    project.git(["-C", "lib", "config", "log.showSignature", "true"]);
    project.write("lib/.gitattributes", "* filter=x\n");
    for hook in ["reference-transaction", "post-checkout", "post-index-change"] {
        let path = format!("lib/.git/hooks/{hook}");
        project.write(&path, &format!("#!/bin/sh\n{touch} </dev/null\n"));
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    project.write("lib/code", "2\n");
    assert_eq!(counted(&repository, &first).0.files, 1);
    restore(&repository, 1);
    assert_eq!(project.read("lib/code").as_deref(), Some("1\n"));
    assert!(!mark.exists());
}

#[test]
fn its_files_are_restored_and_the_restore_is_undone() {
    for (project, path) in kinds() {
        project.write(format!("{path}/kept"), "kept\n");
        let repository = project.open();
        let was = before(&repository, 1).checkpoint;
        project.write(format!("{path}/new"), "1\n");
        project.write(format!("{path}/kept"), "other\n");
        let now = after(&repository, 1).checkpoint;
        let restored = restore(&repository, 1);
        let expected = NestedRestore {
            path: path.into(),
            written: vec!["kept".into()],
            deleted: vec!["new".into()],
            moved: None,
            left: None,
        };
        assert_eq!(restored.nested.last(), Some(&expected), "{path}");
        assert_eq!((restored.written, restored.deleted), (vec![], vec![]), "{path}");
        assert_eq!(
            project.read(&format!("{path}/kept")).as_deref(),
            Some("kept\n"),
            "{path}"
        );
        assert_eq!(before(&repository, 2).checkpoint.tree, was.tree, "{path}");
        repository
            .restore_at(&run(), CheckpointPosition::Restore { k: 1 })
            .unwrap();
        assert_eq!(before(&repository, 3).checkpoint.tree, now.tree, "{path}");
        assert_eq!(project.read(&format!("{path}/new")).as_deref(), Some("1\n"), "{path}");
    }
}

#[test]
fn head_of_a_submodule_moves_with_its_files_and_back_again() {
    let project = Project::new();
    submodule(&project, "lib");
    let repository = project.open();
    let head = || project.git(["-C", "lib", "rev-parse", "HEAD"]);
    before(&repository, 1);
    let was = head();
    commit_in(&project, "lib", "kept", "other\n");
    let now = head();
    let restored = restore(&repository, 1);
    let moved = restored.nested[0].moved.as_deref().unwrap();
    assert!(was.starts_with(moved), "{:?}", restored.nested);
    assert_eq!(head(), was);
    assert_eq!(project.read("lib/kept").as_deref(), Some("kept\n"));
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(
        project.git(["-C", "lib", "rev-parse", "main"]),
        now,
        "no branch is moved"
    );
    repository
        .restore_at(&run(), CheckpointPosition::Restore { k: 1 })
        .unwrap();
    assert_eq!(head(), now);
    assert_eq!(project.git(["-C", "lib", "status", "--porcelain"]), "");
}

#[test]
fn what_cannot_be_restored_is_left_and_named_with_the_command() {
    let project = Project::new();
    submodule(&project, "lib");
    nested(&project, "clone");
    let repository = project.open();
    before(&repository, 1);
    let recorded = project.git(["-C", "clone", "rev-parse", "--short=10", "HEAD"]);
    commit_in(&project, "clone", "code", "2\n");
    commit_in(&project, "lib", "kept", "other\n");
    project.write("lib/staged", "x\n");
    project.git(["-C", "lib", "add", "staged"]);
    nested(&project, "later");
    let restored = restore(&repository, 1);
    let left = |path: &str| {
        let nested = restored.nested.iter().find(|nested| nested.path == Path::new(path));
        nested.unwrap().left.clone().unwrap()
    };
    let command = format!("`git -C clone reset {}`", recorded.trim());
    assert!(
        left("clone").starts_with("left at ") && left("clone").contains(&command),
        "{}",
        left("clone")
    );
    assert!(left("lib").contains("staged"), "{}", left("lib"));
    assert!(left("later").contains("no repository there"), "{}", left("later"));
    assert_eq!(project.read("clone/code").as_deref(), Some("1\n"));
    assert_eq!(project.read("later/code").as_deref(), Some("1\n"));
    project.git(["-C", "clone", "reset", "--quiet", recorded.trim()]);
    assert_eq!(project.git(["-C", "clone", "status", "--porcelain"]), "");
    fs::remove_dir_all(project.root.join("lib")).unwrap();
    fs::remove_dir_all(project.root.join("clone")).unwrap();
    let restored = restore(&repository, 1);
    let left: Vec<&String> = restored
        .nested
        .iter()
        .filter_map(|nested| nested.left.as_ref())
        .collect();
    assert!(
        left.iter().any(|left| left.contains("git submodule update --init lib")),
        "{left:?}"
    );
    assert!(left.iter().any(|left| left.contains("gone with it")), "{left:?}");
}

#[test]
fn a_command_for_a_submodule_in_a_submodule_works_where_the_user_types_it() {
    let project = Project::new();
    submodule(&project, "lib");
    let other = Project::new();
    let url = other.root.to_str().unwrap();
    project.git(["-C", "lib", "submodule", "add", "--quiet", url, "inner"]);
    project.git(["-C", "lib", "commit", "--quiet", "--message", "Inner"]);
    let repository = project.open();
    before(&repository, 1);
    fs::remove_dir_all(project.root.join("lib/inner")).unwrap();
    let restored = restore(&repository, 1);
    let left = restored.nested.into_iter().find_map(|nested| nested.left);
    let left = left.expect("a repository that is gone");
    let command = left.split('`').nth(1).unwrap();
    project.git(command.split(' ').skip(1));
    assert!(project.root.join("lib/inner/.git").exists(), "{left}");
}

#[test]
fn files_in_the_place_of_a_repository_stay_when_one_is_restored() {
    let project = Project::new();
    nested(&project, "lib");
    let repository = project.open();
    before(&repository, 1);
    fs::remove_dir_all(project.root.join("lib/.git")).unwrap();
    project.write("lib/more", "x\n");
    let restored = restore(&repository, 1);
    assert!(restored.deleted.is_empty(), "{:?}", restored.deleted);
    assert_eq!(project.read("lib/more").as_deref(), Some("x\n"));
    before(&repository, 2);
    project.git(["init", "--quiet", "lib"]);
    project.git(["-C", "lib", "add", "--all"]);
    project.git(["-C", "lib", "commit", "--quiet", "--message", "Inside"]);
    restore(&repository, 2);
    assert_eq!(project.read("lib/more").as_deref(), Some("x\n"));
}
