//! Lines counted without git agree with git's counts.

use super::{super::without_git, *};

/// Counts the changes between two trees with git.
fn as_git_counts(project: &Project, from: &str, to: &str) -> Changes {
    let numbers = project.git(["diff-tree", "-r", "--numstat", "--find-renames", from, to]);
    let mut changes = Changes::default();
    for line in numbers.lines() {
        let mut fields = line.split('\t').map(|field| field.parse::<u64>().unwrap_or(0));
        changes.files += 1;
        changes.added += fields.next().unwrap();
        changes.removed += fields.next().unwrap();
    }
    changes
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Ralph,
    Git,
}

/// Runs the steps one after the other, and checks after each the changes since the previous one and who counted them.
fn assert_counted(project: &Project, steps: &[(By, &str, &dyn Fn())]) {
    let repository = project.open();
    let mut last = before(&repository, 1).checkpoint;
    for (n, (by, name, step)) in (1..).zip(steps) {
        step();
        let (taken, counted) = repository.checkpoint_since(&run(), n, Moment::After, &[&last]).unwrap();
        let (from, to) = (&last.tree, &taken.checkpoint.tree);
        let expected = as_git_counts(project, from, to);
        assert_eq!(counted.unwrap(), [expected], "{name}");
        let found = without_git::changes(repository.loose().unwrap(), &repository.layout, from, to);
        assert_eq!(found, (*by == By::Ralph).then_some(expected), "{name}");
        let named = project.git(["diff-tree", "-r", "--name-only", "--no-renames", from, to]);
        let mut named: Vec<&[u8]> = named.lines().map(str::as_bytes).collect();
        named.sort_unstable();
        let found = without_git::names(repository.loose().unwrap(), from, to);
        assert!(found.map_or(*by == By::Git, |found| found == named), "{name}");
        last = taken.checkpoint;
    }
}

#[test]
fn one_edit_of_a_file_and_files_that_come_or_go_are_counted_without_git() {
    let project = Project::new();
    project.write("src/deep/a.txt", "1\n2\n3\n4\n5\n");
    project.write("src/b.txt", "b\n");
    project.write("image", "a\0b\n");
    project.commit_all("More");
    assert_counted(
        &project,
        &[
            (By::Ralph, "nothing", &|| ()),
            (By::Ralph, "a line more", &|| {
                project.write("src/deep/a.txt", "1\n2\n3\n4\n5\n6\n")
            }),
            (By::Ralph, "lines less", &|| {
                project.write("src/deep/a.txt", "1\n5\n6\n")
            }),
            (By::Ralph, "other lines", &|| {
                project.write("src/deep/a.txt", "1\nx\ny\nz\n6\n")
            }),
            (By::Ralph, "no end of the last line", &|| {
                project.write("src/deep/a.txt", "1\nx\ny\nz\n6")
            }),
            (By::Ralph, "two files", &|| {
                project.write("src/b.txt", "b\nc\n");
                project.write("lines", "");
            }),
            (By::Ralph, "a binary file", &|| project.write("image", "a\0c\nd\n")),
            (By::Ralph, "a mode", &|| project.run("chmod", ["+x", "kept"])),
            (By::Ralph, "files that come, in a directory that comes", &|| {
                project.write("new/one", "1\n2\n");
                project.write("new/two", "no end");
                project.write("new/three", "");
            }),
            (By::Ralph, "a directory that goes", &|| {
                fs::remove_dir_all(project.root.join("new")).unwrap()
            }),
        ],
    );
}

#[test]
fn what_can_be_compared_in_more_than_one_way_is_left_to_git() {
    let project = Project::new();
    project.write("a.txt", "1\n2\n3\n4\n5\n");
    project.commit_all("More");
    assert_counted(
        &project,
        &[
            (By::Git, "two places", &|| project.write("a.txt", "x\n2\n3\n4\ny\n")),
            (By::Git, "lines that moved", &|| {
                project.write("a.txt", "3\n4\nx\n2\ny\n")
            }),
            (By::Git, "a file that may be another", &|| {
                project.remove("lines");
                project.write("moved", "1\n2\n3\n");
            }),
            (By::Git, "a link", &|| {
                symlink("kept", project.root.join("link")).unwrap()
            }),
            (By::Git, "beside a link", &|| project.write("kept", "kept\nmore\n")),
            (By::Git, "attributes", &|| {
                project.remove("link");
                project.write(".gitattributes", "*.txt binary\n");
            }),
            (By::Git, "a file that they are of", &|| {
                project.write("a.txt", "other\n")
            }),
        ],
    );
}

#[test]
fn settings_about_comparing_and_objects_in_packs_are_left_to_git() {
    for prepare in [
        &["config", "core.bigFileThreshold", "1"][..],
        &["config", "core.attributesFile", "/nowhere"],
        &["gc", "--quiet", "--prune=now"],
    ] {
        let project = Project::new();
        project.git(prepare);
        let write = || project.write("kept", "kept\nmore\n");
        assert_counted(&project, &[(By::Git, prepare[1], &write)]);
    }
}
