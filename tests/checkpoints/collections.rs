//! `git gc`, run by an agent or a user while a checkpoint is made.

use super::*;

/// Runs a git command of ralph's and then `git gc`, once.
const COLLECTING: &str = r#"case "$*" in *write-tree*)
    if ! [ -e "$HOME/collected" ]; then
        touch "$HOME/collected"
        PATH=${PATH#*:} git "$@"
        (unset GIT_OBJECT_DIRECTORY GIT_DIR GIT_COMMON_DIR GIT_WORK_TREE GIT_INDEX_FILE; PATH=${PATH#*:} git gc --quiet --prune=now)
        exit
    fi;;
esac"#;

#[test]
fn a_collection_between_the_objects_and_the_reference_of_a_checkpoint_takes_none_of_them() {
    let mut sandbox = Sandbox::new();
    sandbox.run_before_git_of_ralph(COLLECTING);
    sandbox.write("notes.txt", "not committed\n");
    sandbox.install(&agent("rm notes.txt"));
    let finished = finishes(&sandbox);
    assert_eq!(warnings(&finished.records()), [] as [&str; 0]);
    assert_eq!(sandbox.read_home("collected").as_deref(), Some(""));
    assert_eq!(sandbox.git(["fsck", "--no-dangling"]), "");
    let run = &sandbox.paths().run_ids()[0];
    let notes = format!("refs/ralph/{run}/1-before:notes.txt");
    assert_eq!(sandbox.store_git(["show", &notes]), "not committed\n");
}
