use std::fs;

use super::*;

fn project() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("src")).unwrap();
    fs::write(directory.path().join("src/a.rs"), "fn a() {}\nfn b() {}\nfn b() {}\n").unwrap();
    fs::write(directory.path().join("b.txt"), "one\r\ntwo\r\n").unwrap();
    directory
}

fn looked(project: &Path, name: &str, arguments: Value) -> ToolOutcome {
    carry_out_reading(prepare(name, &arguments.to_string(), project)?.action)
}

fn changed(project: &Path, name: &str, arguments: Value) -> ToolOutcome {
    match prepare(name, &arguments.to_string(), project)?.action {
        ToolAction::Change(edit) => edit.carry_out(),
        other => panic!("{other:?} changes nothing"),
    }
}

#[test]
fn files_are_read_in_parts_listed_and_found() {
    let project = project();
    let at = project.path();
    assert_eq!(
        looked(at, "read", json!({"path": "src/a.rs", "offset": "2", "limit": 1})),
        Ok("    2\tfn b() {}\n[lines 3 to 3 follow: `offset` 3 reads on]\n".to_owned())
    );
    assert_eq!(looked(at, "list_dir", json!({})), Ok("b.txt\nsrc/".to_owned()));
    assert_eq!(
        looked(at, "grep", json!({"pattern": "fn B", "ignore_case": true})),
        Ok("src/a.rs:2: fn b() {}\nsrc/a.rs:3: fn b() {}".to_owned())
    );
    assert_eq!(
        looked(at, "glob", json!({"pattern": "**/*.rs"})),
        Ok("src/a.rs".to_owned())
    );
    for (tool, arguments, word) in [
        ("read", json!({"path": "nothing"}), "no such file"),
        ("read", json!({"path": "src"}), "`list_dir`"),
        ("read", json!({"path": "b.txt", "offset": 9}), "only 2 lines"),
        ("read", json!({}), "needs `path`"),
        ("grep", json!({"pattern": "("}), "not a regular expression"),
        ("glob", json!({"pattern": "*", "path": "nothing"}), "nothing"),
    ] {
        let said = looked(at, tool, arguments).unwrap_err();
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn an_argument_that_a_tool_does_not_know_is_told_with_those_that_it_takes() {
    let project = project();
    let at = project.path();
    let refused = looked(at, "read", json!({"path": "b.txt", "start_line": 1, "end_line": 1}));
    let told = "`read` does not know `start_line`, `end_line`; it takes `path`, `offset`, `limit`. Nothing was done";
    assert_eq!(refused, Err(told.to_owned()));
    let many: Value = (0..9)
        .map(|n| (format!("{n}{}", "x".repeat(100)), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert!(looked(at, "list_dir", many).unwrap_err().len() < 500);
    // Other agents' names, explanations and null values are accepted.
    let other = json!({"file_path": "b.txt", "explanation": "to see it", "start_line": null});
    assert!(looked(at, "read", other).is_ok());
}

#[test]
fn a_search_names_the_files_that_it_passes_over() {
    let project = project();
    let at = project.path();
    fs::write(at.join("latin.txt"), b"gr\xfcn two\n").unwrap();
    fs::write(at.join("large.log"), "two\n".repeat(1 << 20)).unwrap();
    let left = "[not searched: 1 file above 2 MiB (large.log); 1 file of no UTF-8 text (latin.txt)]";
    for (pattern, found) in [("two", "b.txt:2: two"), ("nowhere", "(nothing is found)")] {
        let searched = looked(at, "grep", json!({"pattern": pattern}));
        assert_eq!(searched, Ok(format!("{found}\n{left}")));
    }
}

#[test]
fn what_git_ignores_is_not_searched() {
    let project = project();
    let at = project.path();
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .current_dir(at)
        .status();
    assert!(git.unwrap().success());
    fs::write(at.join(".gitignore"), "b.txt\n").unwrap();
    let found = looked(at, "glob", json!({"pattern": "*"}));
    assert_eq!(found, Ok(".gitignore\nsrc/a.rs".to_owned()));
    assert_eq!(
        looked(at, "grep", json!({"pattern": "two"})),
        Ok("(nothing is found)".to_owned())
    );
}

#[test]
fn an_edit_replaces_exactly_what_it_names() {
    let project = project();
    let at = project.path();
    fs::write(at.join("wide.txt"), "a".repeat(402)).unwrap();
    fs::write(at.join("long.txt"), "a\n".repeat(9)).unwrap();
    for (arguments, word) in [
        (
            json!({"path": "src/a.rs", "old": "fn b() {}", "new": ""}),
            "2 times (lines 2, 3)",
        ),
        (
            json!({"path": "src/a.rs", "old": "n", "new": ""}),
            "3 times (lines 1, 2, 3)",
        ),
        (json!({"path": "wide.txt", "old": "a", "new": ""}), "402 times (line 1)"),
        (
            json!({"path": "long.txt", "old": "a", "new": ""}),
            "9 times (lines 1, 2, 3, 4, 5, …)",
        ),
        (
            json!({"path": "src/a.rs", "old": "fn a", "new": crate::native::history::ARGUMENT_LEFT_OUT}),
            "stands for a text that was left out",
        ),
        (
            json!({"path": "src/a.rs", "old": "fn  a() {}", "new": "x"}),
            "line 1 is like",
        ),
        (
            json!({"path": "src/a.rs", "old": "nothing", "new": "x"}),
            "is not in it",
        ),
        (json!({"path": "src/a.rs", "old": "", "new": "x"}), "`old` is empty"),
        (json!({"path": "src/a.rs", "old": "a", "new": "a"}), "the same"),
        (json!({"path": "c.rs", "old": "a", "new": "b"}), "no such file"),
    ] {
        let said = changed(at, "edit", arguments).unwrap_err();
        assert!(said.contains(word), "{said}");
    }
    changed(
        at,
        "edit",
        json!({"file_path": "src/a.rs", "old_string": "fn a", "new_string": "fn z"}),
    )
    .unwrap();
    changed(
        at,
        "edit",
        json!({"path": "src/a.rs", "old": "fn b", "new": "fn c", "all": true}),
    )
    .unwrap();
    assert_eq!(
        fs::read_to_string(at.join("src/a.rs")).unwrap(),
        "fn z() {}\nfn c() {}\nfn c() {}\n"
    );
    changed(at, "edit", json!({"path": "b.txt", "old": "one\ntwo", "new": "1\n2"})).unwrap();
    assert_eq!(fs::read_to_string(at.join("b.txt")).unwrap(), "1\r\n2\r\n");
    changed(at, "write", json!({"path": "new/deep.txt", "content": "x\n"})).unwrap();
    assert_eq!(fs::read_to_string(at.join("new/deep.txt")).unwrap(), "x\n");
}

#[test]
fn a_change_of_a_file_that_has_changed_meanwhile_is_refused() {
    let project = project();
    let at = project.path();
    let change = |edit: FileEdit| edit.carry_out().unwrap_err();
    let edit = FileEdit::edit(&at.join("b.txt"), "one", "1", false).unwrap();
    fs::write(at.join("b.txt"), "another\n").unwrap();
    assert!(change(edit).contains("changed in the meantime"));
    let edit = FileEdit::write(&at.join("c.txt"), "x").unwrap();
    fs::write(at.join("c.txt"), "another\n").unwrap();
    assert!(change(edit).contains("made in the meantime"));
}

#[test]
fn a_call_that_makes_no_sense_says_what_is_wrong() {
    let at = Path::new("/");
    for (name, arguments, word) in [
        ("delete", "{}", "the tools are read, list_dir, grep"),
        ("shell", "{\"command\": \"ls\"", "are no JSON"),
        ("shell", "[]", "JSON object"),
        ("shell", "{\"command\": 7}", "has to be a text"),
        ("shell", "{\"command\": \"ls\", \"timeout\": -1}", "whole number"),
        ("todo", "{}", "needs `todos`"),
    ] {
        let said = prepare(name, arguments, at).unwrap_err();
        assert!(said.contains(word), "{said}");
    }
    let long = format!("{{\"command\": \"{}\"}}", "x".repeat(2 << 20));
    assert!(prepare("shell", &long, at).unwrap_err().contains("1024 KiB"));
}

#[test]
fn a_command_may_be_a_list_of_words() {
    for (written, command) in [
        (json!("ls -l"), "ls -l"),
        (json!(["bash", "-lc", "ls | wc"]), "ls | wc"),
        (
            json!(["git", "commit", "-m", "it's done"]),
            r"git commit -m 'it'\''s done'",
        ),
    ] {
        let arguments = json!({"cmd": written}).to_string();
        assert_eq!(prepare("shell", &arguments, Path::new("/")).unwrap().title, command);
    }
}
