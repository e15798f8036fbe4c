//! Finding the repository of a project.

use super::*;

#[test]
fn a_project_in_no_repository_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let absent = Repository::discover(directory.path(), directory.path(), &Supervisor::default()).unwrap_err();
    assert!(matches!(absent, NoRepository::NotARepository { .. }), "{absent:?}");
}

#[test]
fn a_bare_repository_has_no_work_tree() {
    let project = Project::unborn();
    project.git(["init", "--quiet", "--bare", "bare"]);
    let absent =
        Repository::discover(&project.root.join("bare"), &project.scratch, &Supervisor::default()).unwrap_err();
    assert!(matches!(absent, NoRepository::Bare { .. }), "{absent:?}");
}

#[test]
fn a_repositorys_own_directory_is_no_project() {
    let project = Project::new();
    let absent =
        Repository::discover(&project.root.join(".git"), &project.scratch, &Supervisor::default()).unwrap_err();
    assert!(matches!(absent, NoRepository::InsideGitDirectory { .. }), "{absent:?}");
}

#[test]
fn an_ordinary_repository_needs_no_words() {
    let project = Project::new();
    let (repository, notes) = Repository::discover(&project.root, &project.scratch, &Supervisor::default()).unwrap();
    assert_eq!((repository.root(), notes), (project.root.as_path(), vec![]));
}

#[test]
fn a_project_below_the_root_means_the_whole_repository() {
    let project = Project::new();
    project.write("deep/er/file", "x");
    let (repository, notes) =
        Repository::discover(&project.root.join("deep/er"), &project.scratch, &Supervisor::default()).unwrap();
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
    let absent =
        Repository::discover(&project.root.join("tmp/mine"), &project.scratch, &Supervisor::default()).unwrap_err();
    assert!(matches!(absent, NoRepository::Ignored { .. }), "{absent:?}");
}

#[test]
fn a_repository_that_leads_away_from_the_project_is_none() {
    let other = Project::new();
    for elsewhere in ["../../scratch", "../..", "/"] {
        let project = Project::new();
        project.git(["config", "core.worktree", elsewhere]);
        let absent = Repository::discover(&project.root, &project.scratch, &Supervisor::default()).unwrap_err();
        assert!(matches!(absent, NoRepository::WorkTreeElsewhere { .. }), "{absent:?}");
    }
    let project = Project::new();
    project.write(".git/commondir", other.root.join(".git").to_str().unwrap());
    let absent = Repository::discover(&project.root, &project.scratch, &Supervisor::default()).unwrap_err();
    assert!(matches!(absent, NoRepository::ReferencesElsewhere { .. }), "{absent:?}");
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
    project.write(".gitmodules", "");
    project.write(".git/MERGE_HEAD", "");
    let (_, notes) = Repository::discover(&project.root, &project.scratch, &Supervisor::default()).unwrap();
    let expected = ["no commit yet", "A merge is in progress", "Checkpoints record only"];
    assert_eq!(notes.len(), expected.len());
    assert!(
        notes.iter().zip(expected).all(|(note, words)| note.contains(words)),
        "{notes:?}"
    );
}
