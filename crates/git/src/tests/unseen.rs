//! Files that no checkpoint has.

use super::{super::unseen, *};

#[test]
fn files_outside_and_ignored_ones_are_unseen_unless_a_checkpoint_has_them() {
    let elsewhere = Project::new();
    let project = Project::new();
    project.write(".gitignore", "*.log\nout/\n");
    for path in ["kept", "new", "a.log", "out/deep/file", "included.log", "out/dep/code"] {
        project.write(path, "x\n");
    }
    project.git(["init", "--quiet", "out/dep"]);
    symlink(&elsewhere.root, project.root.join("away")).unwrap();
    let repository = project.open().including(vec!["included.log".to_owned()]);
    before(&repository, 1);
    let at = |path: &str| project.root.join(path);
    let asked = [
        at("kept"),
        at("new"),
        at("a.log"),
        at("out/../out/deep/file"),
        at("out/dep/code"),
        at("included.log"),
        at("away/kept"),
        at("gone.log"),
        elsewhere.root.join("lines"),
        elsewhere.root.join("gone"),
    ];
    let expected = [
        at("a.log"),
        at("out/deep/file"),
        elsewhere.root.join("kept"),
        elsewhere.root.join("lines"),
    ];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(unseen(Some(&repository), &project.root, &asked), expected);
    let without = unseen(None, &project.root, &asked);
    assert_eq!(without.len(), 2, "{without:?}");
}
