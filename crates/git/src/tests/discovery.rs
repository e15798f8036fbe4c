//! Finding the repository of a project.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::*;

#[test]
fn a_project_in_no_repository_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let absent = Repository::discover(
        directory.path(),
        directory.path(),
        &States::below(directory.path()),
        &Supervisor::default(),
    )
    .unwrap_err();
    assert!(matches!(absent, NoRepository::NotARepository { .. }), "{absent:?}");
}

#[test]
fn a_bare_repository_has_no_work_tree() {
    let project = Project::unborn();
    project.git(["init", "--quiet", "--bare", "bare"]);
    let absent = project.discover(&project.root.join("bare")).unwrap_err();
    assert!(matches!(absent, NoRepository::Bare { .. }), "{absent:?}");
}

#[test]
fn a_repositorys_own_directory_is_no_project() {
    let project = Project::new();
    let absent = project.discover(&project.root.join(".git")).unwrap_err();
    assert!(matches!(absent, NoRepository::InsideGitDirectory { .. }), "{absent:?}");
}

#[test]
fn an_ordinary_repository_needs_no_words() {
    let project = Project::new();
    let (repository, notes) = project.discover(&project.root).unwrap();
    assert_eq!((repository.root(), notes), (project.root.as_path(), vec![]));
}

#[test]
fn a_project_below_the_root_means_the_whole_repository() {
    let project = Project::new();
    project.write("deep/er/file", "x");
    let (repository, notes) = project.discover(&project.root.join("deep/er")).unwrap();
    assert_eq!(repository.root(), project.root);
    assert_eq!(
        notes,
        [format!(
            "Checkpoints hold the whole repository {}.",
            project.root.display()
        )]
    );
    assert!(files(&project, &before(&repository, 1).checkpoint).contains(&"100644 deep/er/file".to_owned()));
}

#[test]
fn a_project_that_its_repository_ignores_has_none() {
    let project = Project::new();
    project.write(".gitignore", "tmp/\n");
    project.write("tmp/mine/file", "x");
    let absent = project.discover(&project.root.join("tmp/mine")).unwrap_err();
    assert!(matches!(absent, NoRepository::Ignored { .. }), "{absent:?}");
}

#[test]
fn a_repository_that_leads_away_from_the_project_is_none() {
    let other = Project::new();
    for elsewhere in ["../../scratch", "../..", "/"] {
        let project = Project::new();
        project.git(["config", "core.worktree", elsewhere]);
        let absent = project.discover(&project.root).unwrap_err();
        assert!(matches!(absent, NoRepository::WorkTreeElsewhere { .. }), "{absent:?}");
    }
    let project = Project::new();
    project.write(".git/commondir", other.root.join(".git").to_str().unwrap());
    let absent = project.discover(&project.root).unwrap_err();
    assert!(matches!(absent, NoRepository::ReferencesElsewhere { .. }), "{absent:?}");
}

#[test]
fn a_git_directory_of_another_work_tree_is_not_the_project_s() {
    let other = Project::new();
    let linked = other.root.with_file_name("linked");
    other.git(["worktree", "add", "--quiet", linked.to_str().unwrap()]);
    let foreign = [other.root.join(".git"), other.root.join(".git/worktrees/linked")];
    let project = Project::unborn();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    let refused = || {
        let absent = project.discover(&project.root).unwrap_err();
        assert!(matches!(absent, NoRepository::ForeignGitDirectory { .. }), "{absent:?}");
        assert_eq!(
            crate::directories(&project.root, &Supervisor::default()),
            [] as [&Path; 0]
        );
    };
    for directory in &foreign {
        project.write(".git", &format!("gitdir: {}\n", directory.display()));
        refused();
        project.remove(".git");
    }
    symlink(&foreign[0], project.root.join(".git")).unwrap();
    refused();
    assert!(project.discover(&linked).is_ok());
}

#[test]
fn a_repository_may_be_kept_apart_from_its_files() {
    let project = Project::unborn();
    project.git(["init", "--quiet", "--separate-git-dir", "../apart"]);
    project.git(["config", "core.worktree", project.root.to_str().unwrap()]);
    project.write("file", "x");
    assert_eq!(files(&project, &before(&project.open(), 1).checkpoint), ["100644 file"]);
}

#[test]
fn what_is_unusual_is_noted() {
    let project = Project::unborn();
    project.write(".git/MERGE_HEAD", "");
    let (_, notes) = project.discover(&project.root).unwrap();
    let expected = ["no commit yet", "A merge is in progress"];
    assert_eq!(notes.len(), expected.len());
    assert!(
        notes.iter().zip(expected).all(|(note, words)| note.contains(words)),
        "{notes:?}"
    );
}
