//! Ignored files that checkpoints include, and ralph's state, which they never do.

use ralph_system::paths::ProjectPaths;

use super::*;

impl Project {
    /// Opens the repository with ralph's state inside the project.
    fn with_state(&self) -> (Repository, ProjectPaths) {
        let paths = ProjectPaths::new(&self.root, Some(&self.root.join("state"))).unwrap();
        fs::create_dir_all(paths.runs()).unwrap();
        fs::write(paths.lock(), "1\n").unwrap();
        (self.open().excluding_state(paths.states()), paths)
    }

    fn including(&self, patterns: &[&str]) -> Repository {
        let patterns = patterns.iter().map(|pattern| (*pattern).to_owned());
        self.open().including(patterns.collect())
    }
}

#[test]
fn ralphs_state_is_in_no_checkpoint_and_is_not_restored() {
    let project = Project::new();
    let (repository, paths) = project.with_state();
    project.write("state/notes", "not ralph's\n");
    let first = before(&repository, 1).checkpoint;
    assert!(files(&project, &first).contains(&"100644 state/notes".to_owned()));
    assert_eq!(files(&project, &first).len(), 4);
    fs::write(paths.lock(), "1\n2\n").unwrap();
    fs::write(paths.latest(), "new").unwrap();
    assert_eq!(after(&repository, 1).checkpoint, first);
    project.write("kept", "changed\n");
    after(&repository, 2);
    repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(project.read("kept").as_deref(), Some("kept\n"));
    assert_eq!(fs::read_to_string(paths.lock()).unwrap(), "1\n2\n");
    assert!(paths.latest().exists());
}

#[test]
fn ralphs_state_is_left_alone_even_if_it_is_tracked() {
    let project = Project::new();
    let (repository, paths) = project.with_state();
    project.commit_all("With the state");
    let first = before(&repository, 1).checkpoint;
    assert_eq!(files(&project, &first).len(), 3);
    fs::write(paths.lock(), "2\n").unwrap();
    assert_eq!(after(&repository, 1).checkpoint, first);
    project.commit_all("With more of it");
    let changes = repository.changes(&first, &after(&repository, 2).checkpoint).unwrap();
    assert_eq!((changes.commits, changes.files), (1, 0));
}

#[test]
fn a_checkpoint_that_has_the_state_in_it_is_restored_without() {
    let project = Project::new();
    let (repository, paths) = project.with_state();
    drop(repository);
    // Made by a ralph that did not know of this state.
    project.write("new", "x\n");
    before(&project.open(), 1);
    fs::write(paths.lock(), "1\n2\n").unwrap();
    project.remove("new");
    let repository = project.open().excluding_state(paths.states());
    let restored = repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(restored.written, [PathBuf::from("new")]);
    assert_eq!(fs::read_to_string(paths.lock()).unwrap(), "1\n2\n");
}

#[test]
fn ignored_files_that_are_included_come_and_go_like_others() {
    let project = Project::new();
    project.write(".gitignore", "*.log\nbuild/\n.env.*\n");
    project.commit_all("Ignore more");
    for path in [
        ".env.local",
        ".env.other",
        "build/app.bin",
        "build/deep/b.bin",
        "build/app.o",
    ] {
        project.write(path, "1\n");
    }
    let repository = project.including(&[".env.local", "build/**/*.bin", "lines"]);
    let first = before(&repository, 1).checkpoint;
    let expected = [
        "100644 .env.local",
        "100644 .gitignore",
        "100644 build/app.bin",
        "100644 build/deep/b.bin",
        "100644 kept",
        "100644 lines",
    ];
    assert_eq!(files(&project, &first), expected);
    // The user's index and the files both change.
    project.write("new", "x\n");
    project.commit_all("New");
    project.write(".env.local", "2\n");
    project.remove("build/app.bin");
    let next = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &next, ".env.local"), "2\n");
    assert_eq!(repository.changes(&first, &next).unwrap().files, 3);
    project.write("build/later.bin", "1\n");
    let restored = repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(restored.deleted, ["build/later.bin", "new"].map(PathBuf::from));
    assert_eq!(project.read(".env.local").as_deref(), Some("1\n"));
    assert_eq!(project.read("build/app.bin").as_deref(), Some("1\n"));
    assert_eq!(project.read("build/app.o").as_deref(), Some("1\n"));
}

#[test]
fn a_large_file_is_left_out_though_it_is_included() {
    let project = Project::new();
    project.grow("large.log");
    project.write("small.log", "x\n");
    let taken = before(&project.including(&["*.log"]), 1);
    assert!(files(&project, &taken.checkpoint).contains(&"100644 small.log".to_owned()));
    assert_eq!(
        taken.notices,
        ["large.log is untracked, above 32 MiB and left out of checkpoints."]
    );
}

#[test]
fn a_long_difference_is_cut_and_says_what_shows_it_all() {
    let project = Project::new();
    let repository = project.open();
    let from = before(&repository, 1).checkpoint;
    project.write("long", &"0123456789abcde\n".repeat(1 << 20));
    let to = after(&repository, 1).checkpoint;
    let shown = repository
        .difference(
            &from,
            Some(&to),
            super::super::DiffDetail::Patch,
            super::super::DiffColour::No,
            &[],
            Path::new("PLAN.md"),
        )
        .unwrap();
    assert_eq!(shown.bytes.len(), 8 << 20);
    let command = shown.whole.unwrap();
    let whole = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(whole.stdout.len() > 16 << 20);
    let patch = repository.patch(&from, Some(&to), Path::new("PLAN.md")).unwrap();
    assert!(patch.len() < (1 << 20) + 200, "{}", patch.len());
    assert!(
        patch.contains("[the patch is longer: `git --git-dir="),
        "{}",
        &patch[patch.len() - 200..]
    );
}
