use super::{super::FileContent, *};

/// Makes a project in which an agent changed guarded files in every possible way.
fn changed_by_an_agent() -> (GuardSandbox, Originals) {
    let sandbox = GuardSandbox::new(&[
        ("test_changed.py", "original"),
        ("test_run.py", "original"),
        ("tests/gone/deep/test_x.py", "x"),
        ("tests/gone/test_y.py", "y"),
        ("tests/stays/test_z.py", "z"),
        ("test_link.py", "no link"),
        ("pytest.ini", "[pytest]"),
        ("src/work.py", "work"),
    ]);
    symlink("src", sandbox.path("tests/was_link")).unwrap();
    let originals = sandbox.taken();
    sandbox.write("test_changed.py", "of the agent");
    sandbox.write("test_run.py", "#!of the agent");
    fs::set_permissions(sandbox.path("test_run.py"), fs::Permissions::from_mode(0o751)).unwrap();
    fs::remove_dir_all(sandbox.path("tests/gone")).unwrap();
    // The empty directory stays.
    sandbox.remove("tests/stays/test_z.py");
    sandbox.remove("test_link.py");
    symlink("src/work.py", sandbox.path("test_link.py")).unwrap();
    sandbox.remove("pytest.ini");
    sandbox.remove("tests/was_link");
    sandbox.write("tests/was_link", "no link any more");
    sandbox.write("conftest.py", "cheat");
    sandbox.write("test_new.py", "new");
    (sandbox, originals)
}

/// Checks everything in the trial except times.
fn assert_in_trial(sandbox: &GuardSandbox) {
    assert_eq!(sandbox.read("test_changed.py"), "original");
    assert_eq!(sandbox.read("test_run.py"), "original");
    assert_eq!(sandbox.read("tests/gone/deep/test_x.py"), "x");
    assert_eq!(sandbox.read("tests/gone/test_y.py"), "y");
    assert_eq!(sandbox.read("tests/stays/test_z.py"), "z");
    assert!(!sandbox.path("test_link.py").is_symlink());
    assert_eq!(sandbox.read("pytest.ini"), "[pytest]");
    assert_eq!(fs::read_link(sandbox.path("tests/was_link")).unwrap(), Path::new("src"));
    assert!(!sandbox.path("conftest.py").exists());
    assert_eq!(sandbox.read("test_new.py"), "new");
    assert_eq!(sandbox.read("src/work.py"), "work");
}

#[test]
fn the_originals_are_in_place_until_the_end() {
    let (sandbox, originals) = changed_by_an_agent();
    let before = sandbox.tree();
    let trial = sandbox.begin(&originals);
    assert_in_trial(&sandbox);
    assert!(sandbox.changes(&originals).is_empty());
    assert!(trial.refused().is_empty());
    let restored = trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
    assert_eq!(restored.len(), 9);
    assert!(!sandbox.record.exists());
    assert_eq!(OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap(), None);
}

/// A whole trial, to be interrupted: it substitutes a guarded file, another file, and one file twice.
fn whole_trial(sandbox: &GuardSandbox, originals: &Originals) -> Result<(), super::super::GuardError> {
    let mut trial = OpenTrial::begin(originals, &sandbox.project, &sandbox.record)?;
    trial.substitute("src/work.py", b"mutant 1")?;
    trial.substitute("src/work.py", b"mutant 2")?;
    trial.substitute("test_changed.py", b"mutant of a test")?;
    trial.end()?;
    Ok(())
}

#[test]
fn a_kill_at_any_step_loses_nothing() {
    let (sandbox, originals) = changed_by_an_agent();
    assert!(steps_of(&sandbox, || whole_trial(&sandbox, &originals)) > 60);
}

/// Stops a trial at each of its steps, which must leave the project as it was; returns how many steps it has.
fn steps_of(sandbox: &GuardSandbox, trial: impl Fn() -> Result<(), super::super::GuardError>) -> usize {
    let before = sandbox.tree();
    let mut stopped = 0;
    while stops::after(stopped, &trial).is_err() {
        OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap();
        assert_eq!(sandbox.tree(), before, "stopped after {stopped} steps");
        assert!(!sandbox.record.exists());
        stopped += 1;
    }
    assert_eq!(sandbox.tree(), before);
    stopped
}

fn file(text: &str) -> FileContent {
    FileContent::File {
        bytes: text.into(),
        mode: 0o644,
    }
}

#[test]
fn the_work_is_taken_out_and_its_tests_stay() {
    let library = "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
    let was = "pub fn none() {}\n";
    let sandbox = GuardSandbox::new(&[("src/work.py", "work"), ("test_old.py", "old"), ("src/lib.rs", was)]);
    let originals = sandbox.taken_with(GuardRules {
        rust_blocks: true,
        ..rules()
    });
    sandbox.write("src/work.py", "done");
    sandbox.write("src/new/more.py", "more");
    sandbox.write("src/lib.rs", library);
    sandbox.write("test_old.py", "changed");
    sandbox.write("test_new.py", "new");
    sandbox.write("conftest.py", "new");
    let before = || {
        let files = [
            ("deep/gone.py", file("gone")),
            ("src/lib.rs", file(was)),
            ("src/new/more.py", FileContent::Nothing),
            ("src/same.py", FileContent::Nothing),
            ("src/work.py", file("work")),
            ("test_old.py", file("old")),
            ("test_new.py", FileContent::Nothing),
            ("conftest.py", FileContent::Nothing),
        ];
        files.map(|(path, content)| (path.to_owned(), content)).to_vec()
    };
    let without = || originals.without_work(&sandbox.project, before());
    let paths: Vec<String> = without().unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["deep/gone.py", "src/lib.rs", "src/new/more.py", "src/work.py"]);
    let trial = OpenTrial::replacing(without().unwrap(), &sandbox.project, &sandbox.record).unwrap();
    assert_eq!(sandbox.read("src/work.py"), "work");
    assert_eq!(sandbox.read("deep/gone.py"), "gone");
    assert!(!sandbox.path("src/new/more.py").exists());
    let text = sandbox.read("src/lib.rs");
    assert!(
        text.starts_with(was) && text.contains("fn adds()") && !text.contains("fn add()"),
        "{text}"
    );
    assert_eq!(sandbox.read("test_old.py"), "changed");
    assert_eq!(sandbox.read("test_new.py"), "new");
    trial.end().unwrap();
    let steps = steps_of(&sandbox, || {
        OpenTrial::replacing(without()?, &sandbox.project, &sandbox.record)?
            .end()
            .map(drop)
    });
    assert!(steps > 25, "{steps}");
}

#[test]
fn a_kill_of_the_recovery_loses_nothing_either() {
    let (sandbox, originals) = changed_by_an_agent();
    let before = sandbox.tree();
    let mut stopped = 0;
    loop {
        assert!(stops::after(45, || whole_trial(&sandbox, &originals)).is_err());
        let again = stops::after(stopped, || OpenTrial::recover(&sandbox.record, &sandbox.project));
        if again.is_ok() {
            break;
        }
        OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap();
        assert_eq!(sandbox.tree(), before, "stopped after {stopped} steps");
        stopped += 1;
    }
    assert_eq!(sandbox.tree(), before);
    assert!(stopped > 10, "{stopped}");
}

#[test]
fn a_new_trial_recovers_the_one_before() {
    let (sandbox, originals) = changed_by_an_agent();
    let before = sandbox.tree();
    drop(sandbox.begin(&originals));
    let trial = sandbox.begin(&originals);
    assert_in_trial(&sandbox);
    trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_is_written_meanwhile_gives_way_to_the_agents() {
    let (sandbox, originals) = changed_by_an_agent();
    let before = sandbox.tree();
    let trial = sandbox.begin(&originals);
    sandbox.write("test_changed.py", "of a goal");
    sandbox.remove("test_run.py");
    fs::remove_dir_all(sandbox.path("tests/gone/deep")).unwrap();
    sandbox.write("tests/gone/__pycache__/x.pyc", "");
    sandbox.write("pytest.ini", "of a goal");
    trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn a_directory_of_the_trial_with_something_of_a_goal_is_left() {
    let (sandbox, originals) = changed_by_an_agent();
    let trial = sandbox.begin(&originals);
    sandbox.write("tests/gone/report.txt", "of a goal");
    trial.end().unwrap();
    assert_eq!(sandbox.read("tests/gone/report.txt"), "of a goal");
    assert!(!sandbox.path("tests/gone/deep").exists());
}

#[test]
fn what_is_blocked_stays_in_the_record() {
    let (sandbox, originals) = changed_by_an_agent();
    let before = sandbox.tree();
    let trial = sandbox.begin(&originals);
    sandbox.remove("test_changed.py");
    sandbox.write("test_changed.py/in/the/way", "");
    let error = trial.end().unwrap_err().to_string();
    assert!(error.contains("test_changed.py") && error.contains("record"), "{error}");
    assert!(!sandbox.path("tests/gone").exists());
    fs::remove_dir_all(sandbox.path("test_changed.py")).unwrap();
    let restored = OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap().unwrap();
    assert!(restored.contains(&"test_changed.py".to_owned()), "{restored:?}");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn nothing_is_written_through_a_symlink() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("tests/test_b.py", "b")]);
    let originals = sandbox.taken();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("test_a.py"), "precious").unwrap();
    fs::remove_dir_all(sandbox.path("tests")).unwrap();
    symlink(outside.path(), sandbox.path("tests")).unwrap();
    let before = sandbox.tree();
    assert_eq!(
        sandbox.changes(&originals),
        ["Deleted tests/test_a.py", "Deleted tests/test_b.py"]
    );
    let mut trial = sandbox.begin(&originals);
    assert_eq!(trial.refused(), ["tests/test_a.py", "tests/test_b.py"]);
    assert!(trial.substitute("tests/test_a.py", b"x").is_err());
    assert!(trial.substitute("../outside", b"x").is_err());
    assert!(trial.substitute("a/../../outside", b"x").is_err());
    assert!(trial.substitute("/etc/outside", b"x").is_err());
    trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read(outside.path().join("test_a.py")).unwrap(), b"precious");
}

#[test]
fn a_link_put_in_the_way_during_a_trial_leads_nowhere() {
    let (sandbox, originals) = changed_by_an_agent();
    let outside = TempDir::new().unwrap();
    let trial = sandbox.begin(&originals);
    fs::rename(sandbox.path("tests"), outside.path().join("moved")).unwrap();
    symlink(outside.path().join("moved"), sandbox.path("tests")).unwrap();
    assert!(trial.end().is_err());
    assert_eq!(fs::read(outside.path().join("moved/stays/test_z.py")).unwrap(), b"z");
    assert_eq!(sandbox.read("test_changed.py"), "of the agent");
    fs::remove_file(sandbox.path("tests")).unwrap();
    fs::rename(outside.path().join("moved"), sandbox.path("tests")).unwrap();
    OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap().unwrap();
    assert!(!sandbox.path("tests/stays/test_z.py").exists());
}

#[test]
fn each_content_has_a_later_second_than_the_one_it_replaces() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    let seconds = || {
        let time = fs::metadata(sandbox.path("test_a.py")).unwrap().modified().unwrap();
        time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
    };
    let originals = sandbox.taken();
    sandbox.write("test_a.py", "b");
    let mut times = vec![seconds()];
    let mut trial = sandbox.begin(&originals);
    times.push(seconds());
    trial.substitute("test_a.py", b"c").unwrap();
    times.push(seconds());
    trial.end().unwrap();
    times.push(seconds());
    assert!(times.is_sorted_by(|one, other| one < other), "{times:?}");
}

#[test]
fn manifests_are_as_they_were_but_for_the_product_and_its_packages() {
    let sandbox = GuardSandbox::new(&[
        ("tests/a.rs", ""),
        ("Cargo.toml", "[package]\nname = \"a\"\n"),
        ("package.json", "{\"scripts\":{\"test\":\"jest\"}}"),
        ("setup.cfg", "[tool:pytest]\naddopts = -x\n"),
    ]);
    let originals = sandbox.taken_with(GuardRules {
        config: strings(&["setup.cfg"]),
        ..rules()
    });
    sandbox.write("Cargo.toml", "[package]\nname = \"b\"\nautotests = false\n");
    sandbox.write("package.json", "broken");
    sandbox.write("pyproject.toml", "[tool.pytest]\nx = 1\n[project]\nname = \"p\"\n");
    sandbox.write("new/pyproject.toml", "[tool.pytest]\nx = 1\n");
    sandbox.remove("setup.cfg");
    let before = sandbox.tree();
    let expected = [
        "Added Cargo.toml package.autotests",
        "Changed package.json",
        "Added pyproject.toml tool.pytest",
        "Deleted setup.cfg",
    ];
    assert_eq!(sandbox.changes(&originals), expected);
    let trial = sandbox.begin(&originals);
    assert_eq!(sandbox.read("Cargo.toml"), "[package]\nname = \"b\"\n");
    assert_eq!(sandbox.read("package.json"), "{\"scripts\":{\"test\":\"jest\"}}");
    assert_eq!(sandbox.read("pyproject.toml"), "[project]\nname = \"p\"\n");
    assert_eq!(sandbox.read("setup.cfg"), "[tool:pytest]\naddopts = -x\n");
    assert!(sandbox.changes(&originals).is_empty());
    trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn tests_in_source_files_are_as_they_were_among_the_agents_work() {
    let test = "#[test]\nfn a() {}\n";
    let module = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n";
    let sandbox = GuardSandbox::new(&[
        ("src/lib.rs", &format!("fn work() {{}}\n{test}")),
        ("src/moved.rs", module),
        ("src/gone.rs", "#[test]\nfn gone() {}\n"),
        ("src/folder.rs", "#[test]\nfn folder() {}\n"),
        ("src/plain.rs", "fn plain() {}\n"),
    ]);
    let originals = sandbox.taken_with(GuardRules {
        rust_blocks: true,
        ..rules()
    });
    assert_eq!(originals.len(), 4);
    sandbox.write("src/lib.rs", "fn better() {}\n#[test]\n#[ignore]\nfn a() {}\n");
    sandbox.remove("src/moved.rs");
    sandbox.write("src/elsewhere.rs", module);
    sandbox.remove("src/gone.rs");
    sandbox.remove("src/folder.rs");
    sandbox.write("src/folder/mod.rs", "fn new() {}\n#[test]\nfn folder() { return }\n");
    sandbox.write("src/plain.rs", "fn plain() { work() }\n");
    let before = sandbox.tree();
    let expected = [
        "Changed src/folder/mod.rs fn folder",
        "Deleted src/gone.rs fn gone",
        "Changed src/lib.rs fn a",
    ];
    assert_eq!(sandbox.changes(&originals), expected);
    let trial = sandbox.begin(&originals);
    assert_eq!(sandbox.read("src/lib.rs"), format!("fn better() {{}}\n{test}"));
    assert_eq!(
        sandbox.read("src/folder/mod.rs"),
        "fn new() {}\n#[test]\nfn folder() {}\n"
    );
    assert_eq!(sandbox.read("src/gone.rs"), "#[test]\nfn gone() {}\n");
    assert!(!sandbox.path("src/moved.rs").exists() && !sandbox.path("src/folder.rs").exists());
    assert!(sandbox.changes(&originals).is_empty());
    trial.end().unwrap();
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn a_block_that_is_in_many_files_is_missed_in_one() {
    let line = "#[cfg(test)]\nmod tests;\n";
    let sandbox = GuardSandbox::new(&[("src/a.rs", line), ("src/b.rs", line)]);
    let originals = sandbox.taken_with(GuardRules {
        rust_blocks: true,
        ..rules()
    });
    sandbox.write("src/a.rs", "");
    assert_eq!(sandbox.changes(&originals), ["Deleted src/a.rs mod tests"]);
    sandbox.write("src/c.rs", line);
    assert!(sandbox.changes(&originals).is_empty());
}

#[test]
fn a_new_file_of_rust_is_named_with_the_file_that_had_its_tests() {
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n";
    let product = "pub fn add() {}\n";
    let sandbox = GuardSandbox::new(&[("src/a.rs", &format!("{product}{tests}")), ("src/b.rs", tests)]);
    let originals = sandbox.taken_with(GuardRules {
        rust_blocks: true,
        ..rules()
    });
    sandbox.write("src/a.rs", product);
    sandbox.write("src/new.rs", tests);
    let renamed = originals.new_files(&sandbox.project).unwrap().renamed;
    let names: Vec<_> = renamed.iter().map(|file| (&*file.from, &*file.to)).collect();
    assert_eq!(names, [("src/a.rs", "src/new.rs")]);
    let FileContent::File { bytes, .. } = &renamed[0].before else {
        panic!("{renamed:?}");
    };
    let text = String::from_utf8_lossy(bytes);
    assert!(text.contains("fn adds()") && text.contains(product), "{text}");
}

#[test]
fn new_tests_can_be_taken_away_and_moved_ones_are_none() {
    let sandbox = GuardSandbox::new(&[("tests/a.rs", "fn a() {}\n"), ("tests/b.rs", "fn b() {}\n")]);
    let originals = sandbox.taken();
    fs::rename(sandbox.path("tests/b.rs"), sandbox.path("tests/moved.rs")).unwrap();
    sandbox.write("tests/new.rs", "fn new() {}\n");
    sandbox.write("tests/a.rs", "fn changed() {}\n");
    let mut trial = OpenTrial::begin(&originals, &sandbox.project, &sandbox.record).unwrap();
    let new = originals.new_tests(&sandbox.project).unwrap();
    assert_eq!(new, ["tests/new.rs"]);
    let renamed = originals.new_files(&sandbox.project).unwrap().renamed;
    let names: Vec<_> = renamed.iter().map(|file| (&*file.from, &*file.to)).collect();
    assert_eq!(names, [("tests/b.rs", "tests/moved.rs")]);
    trial.remove(&new[0]).unwrap();
    assert!(!sandbox.path("tests/new.rs").exists());
    assert_eq!(sandbox.read("tests/a.rs"), "fn a() {}\n");
    drop(trial);
    OpenTrial::recover(&sandbox.record, &sandbox.project).unwrap();
    assert_eq!(sandbox.read("tests/new.rs"), "fn new() {}\n");
    assert_eq!(sandbox.read("tests/a.rs"), "fn changed() {}\n");
    assert_eq!(sandbox.read("tests/moved.rs"), "fn b() {}\n");
}
