//! HEAD compared with the files of a checkpoint.

use super::*;
use crate::Undelivered;

/// Begins a run in `project`, and returns what HEAD lacks after `work`.
fn undelivered(project: &Project, work: impl FnOnce(&Project)) -> Undelivered {
    let repository = project.open();
    repository.begin(&run()).unwrap();
    before(&repository, 1);
    work(project);
    let latest = repository.checkpoint(&run(), 1, Moment::After).unwrap().checkpoint;
    repository.undelivered(&run(), &latest).unwrap()
}

fn hidden(paths: &[&str]) -> Undelivered {
    Undelivered {
        uncommitted: Vec::new(),
        hidden: paths.iter().map(PathBuf::from).collect(),
    }
}

#[test]
fn committed_work_is_delivered_and_open_work_is_named() {
    let project = Project::new();
    let found = undelivered(&project, |project| {
        project.write("lines", "2\n");
        project.commit_all("Work");
    });
    assert_eq!(found, Undelivered::default());

    let project = Project::new();
    let found = undelivered(&project, |project| {
        project.write("lines", "2\n");
        project.write("new", "2\n");
        project.write("built.log", "git ignores it\n");
        project.remove("kept");
    });
    let uncommitted = ["kept", "lines", "new"].map(PathBuf::from).to_vec();
    assert_eq!((found.uncommitted, found.hidden), (uncommitted, Vec::new()));
}

#[test]
fn changes_that_git_is_told_not_to_see_are_hidden() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let project = Project::new();
        let found = undelivered(&project, |project| {
            project.git(["update-index", flag, "lines"]);
            project.write("lines", "changed\n");
        });
        assert_eq!(found, hidden(&["lines"]), "{flag}");
    }

    // The work is committed, and HEAD has the files of before.
    let project = Project::new();
    let found = undelivered(&project, |project| {
        project.git(["config", "filter.old.clean", "git cat-file blob HEAD:%f"]);
        project.write(".git/info/attributes", "lines filter=old\n");
        project.write("lines", "changed\n");
        project.write("more", "work\n");
        project.commit_all("Work");
    });
    assert_eq!(found, hidden(&["lines"]));

    // The same size and time, with a git that looks at nothing else.
    let project = Project::new();
    let found = undelivered(&project, |project| {
        project.git(["config", "core.checkStat", "minimal"]);
        project.git(["config", "core.trustctime", "false"]);
        let long_ago =
            ["-d", "2001-01-01", "lines"].map(|arg| arg.replace("lines", project.root.join("lines").to_str().unwrap()));
        let touch = || assert!(Command::new("touch").args(&long_ago).status().unwrap().success());
        touch();
        project.git(["update-index", "--refresh"]);
        project.write("lines", "1\n2\n4\n");
        touch();
    });
    assert_eq!(found, hidden(&["lines"]));
}

#[test]
fn replaced_objects_hide_nothing() {
    let project = Project::new();
    let found = undelivered(&project, |project| {
        let old = project.git(["rev-parse", "HEAD:lines"]);
        project.write("lines", "changed\n");
        let new = project.git(["hash-object", "-w", "lines"]);
        project.git(["replace", old.trim_end(), new.trim_end()]);
        project.git(["update-index", "--assume-unchanged", "lines"]);
    });
    assert_eq!(found, hidden(&["lines"]));
}

#[test]
fn conversions_that_a_clone_has_as_well_hide_nothing() {
    let project = Project::new();
    project.write(".gitattributes", "*.txt text eol=crlf\n");
    project.write("some.txt", "one\r\n");
    project.commit_all("Line ends");
    let work = |project: &Project| {
        project.write("some.txt", "one\r\ntwo\r\n");
        project.write("more.txt", "three\r\n");
        project.commit_all("Work");
    };
    assert_eq!(undelivered(&project, work), Undelivered::default());
    // Each of several files is told from the others.
    let found = undelivered(&project, |project| {
        project.write("some.txt", "four\r\n");
        project.commit_all("More work");
        project.git(["update-index", "--skip-worktree", "more.txt"]);
        project.write("more.txt", "other\r\n");
    });
    assert_eq!(found, hidden(&["more.txt"]));
}

#[test]
fn filters_of_the_repository_count_as_they_were_at_the_start() {
    let with_filter = |work: fn(&Project)| {
        let project = Project::new();
        project.git(["config", "filter.upper.clean", "tr a-z A-Z"]);
        project.git(["config", "filter.upper.smudge", "tr A-Z a-z"]);
        project.write(".gitattributes", "*.secret filter=upper\n");
        project.write("a.secret", "word\n");
        project.commit_all("A filter");
        let found = undelivered(&project, |project| {
            project.write("a.secret", "other\n");
            project.write("more", "work\n");
            work(project);
            project.commit_all("Work");
        });
        found.hidden
    };
    assert_eq!(with_filter(|_| ()), Vec::<PathBuf>::new());
    let changed = with_filter(|project| _ = project.git(["config", "filter.upper.clean", "echo WORD #"]));
    assert_eq!(changed, [PathBuf::from("a.secret")]);
}

#[test]
fn a_repository_without_a_commit_has_nothing_to_deliver() {
    let project = Project::unborn();
    assert_eq!(
        undelivered(&project, |project| project.write("new", "2\n")),
        Undelivered::default()
    );
}

#[test]
fn rules_that_are_newer_than_the_run_are_told_from_those_of_its_start() {
    let project = Project::new();
    project.write(".git/info/exclude", "built\n");
    let repository = project.open();
    repository.begin(&run()).unwrap();
    let first = before(&repository, 1).checkpoint;
    project.write(".gitignore", "*.log\n/hidden.py\n");
    project.write("deep/.gitignore", "*\n");
    project.write(".git/info/exclude", "built\n/more.py\n");
    let paths = ["a.log", "hidden.py", "deep/x", "built", "more.py"];
    paths.iter().for_each(|path| project.write(path, ""));
    let newly = |paths: &[&str]| {
        let paths = paths.iter().map(PathBuf::from).collect();
        repository.newly_ignored(&run(), Some(&first), &paths).unwrap()
    };
    let expected = ["hidden.py", "deep/x", "more.py"].map(PathBuf::from);
    assert_eq!(newly(&paths), expected.into());
    project.git(["config", "core.excludesFile", ".git/description"]);
    project.write(".git/description", "aside\n");
    project.write("aside", "");
    assert_eq!(newly(&["aside"]), [PathBuf::from("aside")].into());
}
