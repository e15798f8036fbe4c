//! Commits and references of checkpoints, in stores that are cleared or packed meanwhile.

use super::*;

const REFERENCES: &str = "refs/ralph/20261120-102835-4f2a";

/// Checks that git finds the checkpoint, and no fault in the repository.
fn assert_sound(project: &Project, checkpoint: &Checkpoint, place: &str) {
    let found = project.stored(["rev-parse", &format!("{REFERENCES}/{place}")]);
    assert_eq!(found.trim_end(), checkpoint.commit);
    assert_eq!(
        project
            .stored(["log", "-1", "--format=%T", &checkpoint.commit])
            .trim_end(),
        checkpoint.tree
    );
    project.stored(["fsck", "--strict", "--no-dangling"]);
}

/// Makes the first checkpoint, and changes a file.
fn begun(project: &Project) -> Repository {
    let repository = project.open();
    before(&repository, 1);
    project.write("new", "x\n");
    repository
}

#[test]
fn git_finds_nothing_wrong_with_them() {
    let project = Project::new();
    let repository = begun(&project);
    let taken = after(&repository, 1).checkpoint;
    assert_sound(&project, &taken, "1-after");
    let format = ["log", "-1", "--format=%an <%ae>%n%cn <%ce>%n%s%n%P%b", &taken.commit];
    let head = project.git(["rev-parse", "HEAD"]);
    let expected = format!(
        "ralph <ralph@localhost>\nralph <ralph@localhost>\nralph {}: after iteration 1\nHead: {head}\n",
        run()
    );
    assert_eq!(project.stored(format), expected);
}

#[test]
fn references_may_be_in_one_table() {
    let project = Project::new();
    if !project
        .try_git(["refs", "migrate", "--ref-format=reftable", "--dry-run"])
        .0
    {
        return; // this git does not know reftables
    }
    // Before the run begins, and while it is running.
    for n in [1, 2] {
        let repository = begun(&project);
        if n == 1 {
            project.git(["refs", "migrate", "--ref-format=reftable"]);
        }
        let taken = after(&repository, n).checkpoint;
        assert_sound(&project, &taken, &format!("{n}-after"));
    }
}

#[test]
fn packed_references_are_overruled() {
    let project = Project::new();
    let repository = begun(&project);
    after(&repository, 1);
    project.stored(["pack-refs", "--all", "--prune"]);
    project.write("new", "y\n");
    let taken = after(&repository, 1).checkpoint;
    assert_sound(&project, &taken, "1-after");
}

#[test]
fn a_lock_on_the_reference_is_respected() {
    let project = Project::new();
    let repository = begun(&project);
    let lock = project.store().join(REFERENCES).join("1-after.lock");
    fs::write(&lock, "").unwrap();
    let error = repository.checkpoint(&run(), 1, Moment::After).unwrap_err();
    assert!(matches!(error, GitError::Refused { .. }), "{error:?}");
    assert!(lock.exists());
    fs::remove_file(lock).unwrap();
    assert_sound(&project, &after(&repository, 1).checkpoint, "1-after");
}

#[test]
fn a_checkpoint_that_was_cleared_away_is_not_named_again() {
    let project = Project::new();
    let repository = begun(&project);
    let gone = after(&repository, 1).checkpoint;
    for place in ["1-before", "1-after"] {
        project.stored(["update-ref", "-d", &format!("{REFERENCES}/{place}")]);
    }
    project.stored(["gc", "--quiet", "--prune=now"]);
    repository.repeat(&gone, &run(), 2, Moment::Before);
    // Neither its name nor a new commit of its tree can be trusted.
    let error = repository.checkpoint(&run(), 2, Moment::After).unwrap_err();
    assert!(matches!(error, GitError::Refused { .. }), "{error:?}");
    let taken = after(&repository, 2).checkpoint;
    assert_sound(&project, &taken, "2-after");
    assert_eq!(content(&project, &taken, "new"), "x\n");
}

#[test]
fn a_tree_that_was_cleared_away_gets_no_commit() {
    let project = Project::new();
    let repository = begun(&project);
    after(&repository, 1);
    for place in ["1-before", "1-after"] {
        project.stored(["update-ref", "-d", &format!("{REFERENCES}/{place}")]);
    }
    project.stored(["gc", "--quiet", "--prune=now"]);
    project.git(["commit", "--quiet", "--allow-empty", "--message", "Moves HEAD"]);
    repository.checkpoint(&run(), 2, Moment::Before).unwrap_err();
    assert_sound(&project, &after(&repository, 2).checkpoint, "2-after");
}

#[test]
fn a_file_that_was_taken_away_from_the_objects_gets_no_tree() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    project.write("src/one/a.txt", "only here\n");
    after(&repository, 1);
    for place in ["1-before", "1-after"] {
        project.stored(["update-ref", "-d", &format!("{REFERENCES}/{place}")]);
    }
    project.stored(["prune", "--expire=now"]);
    project.write("src/one/other", "x\n");
    repository.checkpoint(&run(), 2, Moment::After).unwrap_err();
    let taken = after(&repository, 2).checkpoint;
    assert_eq!(content(&project, &taken, "src/one/a.txt"), "only here\n");
    project.stored(["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn commits_are_counted_right_after_history_was_rewritten() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    let mut last = first.clone();
    let steps: [&[&str]; 5] = [
        &["commit", "--quiet", "--allow-empty", "--message", "One"],
        &["commit", "--quiet", "--allow-empty", "--message", "Two"],
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "--amend",
            "--message",
            "Two again",
        ],
        &["commit", "--quiet", "--allow-empty", "--message", "Three"],
        &["reset", "--quiet", "--soft", "HEAD~2"],
    ];
    let mut counts = Vec::new();
    for (n, step) in (2..).zip(steps) {
        project.git(step);
        let since = [&last, &first];
        let (taken, counted) = repository.checkpoint_since(&run(), n, Moment::After, &since).unwrap();
        let counted = counted.unwrap();
        let counted_alone = since.map(|from| repository.changes(from, &taken.checkpoint).unwrap());
        let counted: Vec<Changes> = counted.iter().map(|counted| counted.changes).collect();
        assert_eq!(counted, counted_alone, "{step:?}");
        counts.push([counted[0].commits, counted[1].commits]);
        last = taken.checkpoint;
    }
    assert_eq!(counts, [[1, 1], [1, 2], [1, 2], [1, 3], [0, 1]]);
}
