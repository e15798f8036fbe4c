use ralph_core::event::LossKind;

use super::*;
use crate::GitWorks;

/// The loss of a repository after `harm` was done to it, with its place.
fn lost_after(harm: &str) -> (Project, Option<(LossKind, Option<PathBuf>)>) {
    let project = Project::new();
    let repository = project.open();
    let known = before(&repository, 1).checkpoint;
    project.run("sh", ["-c", harm]);
    let works = match repository.checkpoint_since(&run(), 1, Moment::After, &[&known]) {
        Ok((_, Ok(_))) => GitWorks::Yes,
        _ => GitWorks::Doubtful,
    };
    let lost = repository.lost(&[&known], works);
    (project, lost.map(|lost| (lost.how, lost.moved_to)))
}

#[test]
fn a_repository_that_is_gone_or_another_is_lost_and_found_where_it_was_moved() {
    for (harm, how, moved_to) in [
        ("rm -rf .git", LossKind::Gone, None),
        ("mv .git .git.old", LossKind::Gone, Some(".git.old")),
        ("mv .git ../aside", LossKind::Gone, Some("../aside")),
        (
            "rm -rf .git; git init -q; git commit -q --allow-empty -m x",
            LossKind::Replaced,
            None,
        ),
        ("mv .git old; git init -q", LossKind::Replaced, Some("old")),
        (
            "mv .git ../kept; echo 'gitdir: ../kept' > .git",
            LossKind::Replaced,
            Some("../kept"),
        ),
        ("rm -rf .git; : > .git", LossKind::Replaced, None),
    ] {
        let (project, found) = lost_after(harm);
        let (found, place) = found.expect(harm);
        // A directory that is made again may have the identity of the one before.
        assert!(
            found == how || (how, found) == (LossKind::Replaced, LossKind::Emptied),
            "{harm}"
        );
        let place = place.map(|path| path.canonicalize().unwrap());
        assert_eq!(
            place,
            moved_to.map(|to| project.root.join(to).canonicalize().unwrap()),
            "{harm}"
        );
    }
}

#[test]
fn a_repository_that_git_does_not_open_or_that_lost_its_objects_is_lost() {
    for (harm, is_emptied) in [
        ("rm .git/HEAD", false),
        ("rm -rf .git/refs .git/objects", false),
        ("echo '[broken' > .git/config", false),
        ("find .git/objects -type f -delete", true),
    ] {
        let (_project, found) = lost_after(harm);
        let (how, _) = found.expect(harm);
        assert_eq!(how == LossKind::Emptied, is_emptied, "{harm}: {how:?}");
        assert_eq!(
            matches!(how, LossKind::Unreadable { .. }),
            !is_emptied,
            "{harm}: {how:?}"
        );
    }
}

#[test]
fn a_repository_that_is_only_in_another_state_is_not_lost() {
    for harm in [
        "git for-each-ref --format='%(refname)' refs/ralph | xargs -n1 git update-ref -d; git reflog expire --all \
         --expire=now; git gc -q --prune=now",
        "git checkout -q --orphan other; git branch -qD main",
        "rm .git/index; touch .git/index.lock",
        "rm .git/config; mkfifo .git/config",
        "cp -R .git ../copy; rm -rf .git; mv ../copy .git",
    ] {
        let (_project, found) = lost_after(harm);
        assert_eq!(found, None, "{harm}");
    }
}

#[test]
fn a_work_tree_whose_link_to_the_repository_is_gone_is_lost_although_git_works() {
    let project = Project::new();
    project.git(["worktree", "add", "-q", "../tree"]);
    let tree = project.root.join("../tree").canonicalize().unwrap();
    let repository = project.discover(&tree).unwrap().0;
    let known = before(&repository, 1).checkpoint;
    for harm in ["rm", "echo 'gitdir: /nowhere' >"] {
        let status = Command::new("sh")
            .args(["-c", &format!("{harm} .git")])
            .current_dir(&tree)
            .status();
        assert!(status.unwrap().success());
        let lost = repository.lost(&[&known], GitWorks::Yes).expect(harm);
        assert_eq!(
            (lost.how, lost.directory.is_dir()),
            (LossKind::Unlinked, true),
            "{harm}"
        );
    }
}

#[test]
fn the_branch_and_the_remote_of_the_start_are_told_of_a_lost_repository() {
    let project = Project::new();
    project.git(["remote", "add", "origin", "https://me:secret@host/a.git"]);
    let repository = project.open();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    let lost = repository.lost(&[], GitWorks::Doubtful).unwrap();
    assert_eq!(lost.branch.as_deref(), Some("main"));
    assert_eq!(lost.remote.as_deref(), Some("https://host/a.git"));
}
