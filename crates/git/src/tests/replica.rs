//! Copies of the work tree with the files of checkpoints.

use super::*;

#[test]
fn a_copy_gets_the_files_of_one_checkpoint_after_another_and_the_project_keeps_its_own() {
    let project = Project::new();
    project.write(".gitattributes", "* text eol=crlf\n");
    project.write("deep/file", "1\r\n2\n");
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    project.write("deep/file", "new\n");
    project.write("more", "more\n");
    project.remove("kept");
    project.write("x.log", "ignored\n");
    after(&repository, 1);
    let copy = project.scratch.join("copy");
    project.run("cp", ["-a", project.root.to_str().unwrap(), copy.to_str().unwrap()]);
    fs::remove_dir_all(copy.join(".git")).unwrap();
    let was = project.untouchable();
    let replica = repository.replica(&project.root, &copy).unwrap();
    replica.fill(&first.tree).unwrap();
    assert_eq!(fs::read(copy.join("deep/file")).unwrap(), b"1\r\n2\n");
    assert!(copy.join("kept").exists() && copy.join("x.log").exists() && !copy.join("more").exists());
    // A file that a program changed meanwhile is restored.
    fs::write(copy.join("lines"), "changed").unwrap();
    replica.fill(&first.tree).unwrap();
    assert_eq!(fs::read(copy.join("lines")).unwrap(), b"1\n2\n3\n");
    assert!(replica.tree_of_project(&"1".repeat(40)).is_err());
    assert_eq!(project.untouchable(), was);
}

#[test]
fn a_copy_of_a_directory_gets_its_part_of_the_repository() {
    let project = Project::new();
    let repository = project.open();
    let without = before(&repository, 1).checkpoint;
    project.write("api/a", "1\n");
    let first = after(&repository, 1).checkpoint;
    project.write("api/a", "2\n");
    let copy = project.scratch.join("copy");
    let api = project.root.join("api");
    project.run("cp", ["-a", api.to_str().unwrap(), copy.to_str().unwrap()]);
    let replica = repository.replica(&api, &copy).unwrap();
    replica.fill(&replica.tree_of_project(&first.tree).unwrap()).unwrap();
    assert_eq!(fs::read(copy.join("a")).unwrap(), b"1\n");
    assert!(!copy.join("lines").exists());
    replica.fill(&replica.tree_of_project(&without.tree).unwrap()).unwrap();
    assert!(!copy.join("a").exists());
}
