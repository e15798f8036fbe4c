//! Restoring: files that come back, are deleted, or stay.

use super::{
    super::{CheckpointPosition, RestoreResult},
    *,
};

fn restore(repository: &Repository, n: u32) -> RestoreResult {
    repository.restore(&run(), n, Moment::Before).unwrap()
}

#[test]
fn the_files_are_again_what_they_were() {
    let project = Project::new();
    project.write("untracked", "x\n");
    symlink("kept", project.root.join("link")).unwrap();
    let repository = project.open();
    let was = before(&repository, 1).checkpoint;
    project.write("lines", "other\n");
    project.write("added/later", "y\n");
    project.remove("kept");
    project.remove("link");
    project.write("link/now", "a directory\n");
    project.remove("untracked");
    project.commit_all("All of it");
    let restored = restore(&repository, 1);
    assert_eq!(after(&repository, 1).checkpoint.tree, was.tree);
    assert_eq!(
        restored.written,
        ["kept", "lines", "link", "untracked"].map(PathBuf::from)
    );
    assert_eq!(restored.deleted, ["added/later", "link/now"].map(PathBuf::from));
    assert!(!project.root.join("added").exists());
}

#[test]
fn head_and_index_stay() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    project.write("new", "x\n");
    project.commit_all("New");
    let kept = |project: &Project| {
        let mut files = project.untouchable();
        files.retain(|path, _| path.components().any(|part| part.as_os_str() == ".git"));
        files
    };
    let was = kept(&project);
    restore(&repository, 1);
    assert_eq!(kept(&project), was);
    assert_eq!(project.git(["status", "--porcelain"]), " D new\n");
}

#[test]
fn there_is_a_way_back() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    project.write("new", "worth something\n");
    let restored = restore(&repository, 1);
    assert_eq!(
        (restored.saved, project.read("new")),
        (CheckpointPosition::Restore { k: 1 }, None)
    );
    let saved = repository.list(&run()).unwrap().pop().unwrap();
    assert_eq!(saved.position, restored.saved);
    assert_eq!(content(&project, &saved.checkpoint, "new"), "worth something\n");
    assert_eq!(restore(&repository, 1).saved, CheckpointPosition::Restore { k: 2 });
}

#[test]
fn ignored_and_left_out_files_stay() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    project.write("dir/made.log", "ignored\n");
    project.write("dir/new", "x\n");
    project.grow("large");
    let restored = restore(&repository, 1);
    assert_eq!(restored.deleted, [PathBuf::from("dir/new")]);
    assert_eq!(project.read("dir/made.log").as_deref(), Some("ignored\n"));
    assert!(project.root.join("large").exists());
}

#[test]
fn what_is_in_no_checkpoint_is_never_overwritten() {
    for (path, occupied) in [("now", "now"), ("now", "now/deep/file"), ("now/deep/file", "now")] {
        let project = Project::new();
        let repository = project.open();
        project.write(path, "then\n");
        before(&repository, 1);
        let top = project.root.join("now");
        if top.is_dir() {
            fs::remove_dir_all(&top).unwrap()
        } else {
            fs::remove_file(&top).unwrap()
        }
        project.write(".gitignore", "now\n");
        project.write(occupied, "ignored\n");
        project.write("lines", "changed\n");
        let error = repository.restore(&run(), 1, Moment::Before).unwrap_err();
        assert!(
            matches!(&error, GitError::InTheWay { path, more: 0 } if path == Path::new(occupied)),
            "{error:?}"
        );
        assert_eq!(project.read(occupied).as_deref(), Some("ignored\n"));
        assert_eq!(project.read("lines").as_deref(), Some("changed\n"));
    }
}

#[test]
fn an_unknown_checkpoint_is_refused_before_anything_is_done() {
    let project = Project::new();
    let repository = project.open();
    let error = repository.restore(&run(), 3, Moment::After).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no checkpoint after iteration 3 of run 20261120-102835-4f2a: it has none"
    );
    assert_eq!(repository.list(&run()).unwrap(), []);
}

#[test]
fn checkpoints_are_listed_in_the_order_of_the_run() {
    let project = Project::new();
    let repository = project.open();
    for n in [2, 10, 1] {
        after(&repository, n);
        before(&repository, n);
    }
    restore(&repository, 2);
    let places: Vec<CheckpointPosition> = repository
        .list(&run())
        .unwrap()
        .into_iter()
        .map(|saved| saved.position)
        .collect();
    let iteration = |n, moment| CheckpointPosition::Iteration { n, moment };
    let expected = [1, 2, 10]
        .into_iter()
        .flat_map(|n| [iteration(n, Moment::Before), iteration(n, Moment::After)]);
    assert_eq!(
        places,
        expected
            .chain([CheckpointPosition::Restore { k: 1 }])
            .collect::<Vec<_>>()
    );
}
