//! Tests of parsing cheats and of the edits they make.

use super::*;

fn one(text: &str) -> Cheat {
    let text = format!("[[cheat]]\nname = \"x\"\nwhat = \"It cheats.\"\n{text}");
    Cheat::parse("x.toml", &text).unwrap().remove(0)
}

fn scene() -> Scene {
    Scene {
        tests: vec!["tests/test_a.py".to_owned(), "tests/data.json".to_owned()],
        work: vec!["a.py".to_owned()],
        directories: vec![String::new(), "api".to_owned()],
        runners: ["unittest".to_owned()].into(),
        count: 3,
        ..Scene::default()
    }
}

fn edits(cheat: &Cheat, scene: &Scene) -> Vec<(String, Option<String>)> {
    let read = |path: &str| match path {
        "tests/test_a.py" => Some("def test_a():\n    assert a() == 1\n".to_owned()),
        "tests/data.json" => Some("{}\n".to_owned()),
        "a.py" => Some("def a():\n    return 2\n".to_owned()),
        _ => None,
    };
    let edits = cheat.edits(scene, read).into_iter();
    edits.map(|edit| (edit.path, edit.text)).collect()
}

#[test]
fn tests_are_emptied_deleted_and_renamed_where_they_are_code() {
    for (how, expected) in [
        ("empty = true", vec![("tests/test_a.py", Some(""))]),
        ("delete = true", vec![("tests/test_a.py", None)]),
        (
            "rename = \"*.old\"",
            vec![
                ("tests/test_a.py", None),
                ("tests/test_a.py.old", Some("def test_a():\n    assert a() == 1\n")),
            ],
        ),
    ] {
        let cheat = one(&format!("[[cheat.edit]]\nin = [\"tests\"]\n{how}\n"));
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.map(str::to_owned)))
            .collect();
        assert_eq!(edits(&cheat, &scene()), expected, "{how}");
    }
}

#[test]
fn texts_are_changed_within_and_say_how_many_tests_there_are() {
    let cheat = one(
        "language = \"python\"\n[[cheat.edit]]\nin = [\"work\"]\nprepend = \"# {tests}\\n\"\n\
                     replace = [{ find = '(?m)^( +)return .*$', with = '${1}pass' }]\n",
    );
    let expected = "# 3\ndef a():\n    pass\n".to_owned();
    assert_eq!(edits(&cheat, &scene()), [("a.py".to_owned(), Some(expected))]);
}

#[test]
fn a_path_is_below_each_directory_in_which_goals_run() {
    let cheat = one("[[cheat.edit]]\npath = \"conftest.py\"\nappend = \"x\"\n");
    let paths: Vec<String> = edits(&cheat, &scene()).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["api/conftest.py", "conftest.py"]);
}

#[test]
fn a_script_is_replaced_by_one_in_its_language() {
    let with_scripts = Scene {
        scripts: vec!["check.sh".to_owned(), "check.py".to_owned()],
        ..scene()
    };
    for (language, path) in [("", "check.sh"), ("language = \"python\"\n", "check.py")] {
        let cheat = one(&format!(
            "{language}[[cheat.edit]]\nin = [\"scripts\"]\nwrite = \"x\"\n"
        ));
        let expected = [(path.to_owned(), Some("x".to_owned()))];
        assert_eq!(edits(&cheat, &with_scripts), expected);
    }
}

#[test]
fn a_cheat_does_not_apply_without_its_language_its_runner_its_files_or_what_it_replaces() {
    let write = "[[cheat.edit]]\npath = \"x\"\nwrite = \"x\"\n";
    for text in [
        format!("language = \"rust\"\n{write}"),
        format!("runners = [\"pytest\"]\n{write}"),
        format!("{write}[[cheat.edit]]\nin = [\"scripts\"]\nempty = true\n"),
        "[[cheat.edit]]\nin = [\"work\"]\nreplace = [{ find = 'nowhere', with = '' }]\n".to_owned(),
        "[[cheat.edit]]\npath = \"missing\"\nreplace = [{ find = '', with = 'x' }]\n".to_owned(),
        "[[cheat.edit]]\npath = \"{report}\"\nwrite = \"x\"\n".to_owned(),
        "[[cheat.edit]]\nin = [\"work\"]\nprepend = \"{report}\"\n".to_owned(),
    ] {
        assert_eq!(edits(&one(&text), &scene()), [], "{text}");
    }
    let with_report = Scene {
        reports: vec!["target/junit.xml".to_owned()],
        ..scene()
    };
    let planted = one("[[cheat.edit]]\npath = \"{report}\"\nwrite = \"{report} {tests}\"\n");
    let expected = Some("target/junit.xml 3".to_owned());
    assert_eq!(
        edits(&planted, &with_report),
        [("target/junit.xml".to_owned(), expected)]
    );
}

#[test]
fn a_wrong_file_names_its_line_and_what_may_stand_there() {
    let head = "[[cheat]]\nname = \"x\"\nwhat = \"It cheats.\"\n";
    for (text, line, said) in [
        (
            "[[cheat]]\nname = \"X y\"\nwhat = \"It cheats.\"\nedit = []\n".to_owned(),
            2,
            "lower-case letters",
        ),
        (
            "[[cheat]]\nname = \"x\"\nwhat = \"It cheats\"\nedit = []\n".to_owned(),
            3,
            "one sentence",
        ),
        (format!("{head}language = \"cobol\"\nedit = []\n"), 4, "python, rust"),
        (format!("{head}colour = 1\nedit = []\n"), 4, "colour"),
        (format!("{head}[[cheat.edit]]\nempty = true\n"), 4, "either `in`"),
        (format!("{head}[[cheat.edit]]\nin = [\"tests\"]\n"), 4, "does one thing"),
        (
            format!("{head}[[cheat.edit]]\nin = [\"tests\"]\nempty = true\ndelete = true\n"),
            4,
            "does one thing",
        ),
        (
            format!("{head}[[cheat.edit]]\nin = [\"test\"]\nempty = true\n"),
            5,
            "tests",
        ),
        (
            format!("{head}[[cheat.edit]]\npath = \"../x\"\nempty = true\n"),
            5,
            "in the project",
        ),
        (
            format!("{head}[[cheat.edit]]\nin = [\"tests\"]\nrename = \"old\"\n"),
            6,
            "`*`",
        ),
        (
            format!("{head}[[cheat.edit]]\nin = [\"tests\"]\nreplace = [{{ find = '(', with = '' }}]\n"),
            6,
            "not a pattern",
        ),
    ] {
        let error = Cheat::parse("x.toml", &text).unwrap_err();
        assert_eq!(error.line, Some(line), "{text}{error}");
        let shown = error.to_string();
        assert!(
            shown.starts_with("x.toml, line ") && shown.contains(said),
            "{text}{shown}"
        );
    }
}
