//! What the guides for contributors show, tried on what there is.

use std::{
    io::Write,
    process::{Command, Stdio},
};

const CONTRIBUTING: &str = include_str!("../CONTRIBUTING.md");

#[test]
fn the_change_that_adds_a_setting_applies() {
    let (_, guide) = CONTRIBUTING.split_once("## Add a setting").expect("a chapter");
    let (_, diff) = guide.split_once("```diff\n").expect("an example");
    let (diff, _) = diff.split_once("```").expect("its end");
    let mut git = Command::new("git")
        .args(["apply", "--check", "-"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git");
    let mut input = git.stdin.take().expect("a pipe");
    input.write_all(diff.as_bytes()).expect("git reads it");
    drop(input);
    let finished = git.wait_with_output().expect("git ends");
    assert!(
        finished.status.success(),
        "the example in CONTRIBUTING.md is out of date: {}",
        String::from_utf8_lossy(&finished.stderr)
    );
}
