use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use ralph_core::event::GuardedChangeKind::{Added, Changed, Deleted};
use tempfile::TempDir;

use super::{FileGuard, GuardRules, OpenTrial, Originals, project_dir::stops};

mod trials;

/// A project, and a directory outside of it.
struct GuardSandbox {
    _root: TempDir,
    project: PathBuf,
    store: PathBuf,
    record: PathBuf,
}

impl GuardSandbox {
    fn new(files: &[(&str, &str)]) -> GuardSandbox {
        let root = TempDir::new().unwrap();
        let sandbox = GuardSandbox {
            project: root.path().join("project"),
            store: root.path().join("store"),
            record: root.path().join("record"),
            _root: root,
        };
        fs::create_dir(&sandbox.project).unwrap();
        for (path, text) in files {
            sandbox.write(path, text);
        }
        sandbox
    }

    fn path(&self, path: &str) -> PathBuf {
        self.project.join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    fn taken(&self) -> Originals {
        self.taken_with(rules())
    }

    fn taken_with(&self, rules: GuardRules) -> Originals {
        FileGuard::new(rules).unwrap().take(&self.project, &self.store).unwrap()
    }

    /// Returns the changes, as `kind path part`.
    fn changes(&self, originals: &Originals) -> Vec<String> {
        let changes = originals.changes(&self.project).unwrap();
        let line = |change: &ralph_core::event::GuardedChange| {
            let part = change.part.as_ref().map(|part| format!(" {part}")).unwrap_or_default();
            format!("{:?} {}{part}", change.kind, change.path)
        };
        changes.iter().map(line).collect()
    }

    fn begin(&self, originals: &Originals) -> OpenTrial {
        OpenTrial::begin(originals, &self.project, &self.record).unwrap()
    }

    /// Returns everything in the project, as `type mode content`.
    fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        add_tree(&self.project, &self.project, &mut tree);
        tree
    }
}

fn add_tree(root: &Path, directory: &Path, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode();
        let what = if metadata.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            add_tree(root, &path, tree);
            format!("directory {mode:o}")
        } else {
            format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(&path).unwrap()))
        };
        tree.insert(name, what);
    }
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

fn rules() -> GuardRules {
    GuardRules {
        tests: strings(&["tests/**", "test_*.py"]),
        config: strings(&["conftest.py", "pytest.ini", ".cargo/config.toml"]),
        shadows: strings(&["unittest.py", "unittest/__init__.py", "sitecustomize.py"]),
        except: strings(&["tests/data/**"]),
        ..GuardRules::default()
    }
}

#[test]
fn nothing_changed_in_an_untouched_project() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("conftest.py", ""), ("src/a.py", "")]);
    let originals = sandbox.taken();
    assert_eq!(originals.len(), 2);
    assert_eq!(originals.test_files().collect::<Vec<_>>(), ["tests/test_a.py"]);
    assert!(sandbox.changes(&originals).is_empty());
    sandbox.write("src/a.py", "work");
    assert!(sandbox.changes(&originals).is_empty());
}

#[test]
fn changed_and_deleted_files_are_found_after_a_restart() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("tests/test_b.py", "b"), ("pytest.ini", "x")]);
    sandbox.taken();
    let originals = Originals::load(&sandbox.store).unwrap().unwrap();
    sandbox.write("tests/test_a.py", "A");
    sandbox.remove("tests/test_b.py");
    sandbox.remove("pytest.ini");
    let expected = [
        "Deleted pytest.ini",
        "Changed tests/test_a.py",
        "Deleted tests/test_b.py",
    ];
    assert_eq!(sandbox.changes(&originals), expected);
    assert_eq!(originals.original("tests/test_a.py").unwrap().unwrap(), b"a");
    assert_eq!(originals.original("src/a.py").unwrap(), None);
}

#[test]
fn a_store_that_was_not_finished_is_none() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    assert!(Originals::load(&sandbox.store).unwrap().is_none());
    sandbox.taken();
    fs::remove_file(sandbox.store.join("index.json")).unwrap();
    assert!(Originals::load(&sandbox.store).unwrap().is_none());
    fs::write(sandbox.store.join("index.json"), "{").unwrap();
    assert!(Originals::load(&sandbox.store).is_err());
}

#[test]
fn a_change_that_keeps_size_and_time_is_found() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "assert 1")]);
    let path = sandbox.path("test_a.py");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let originals = sandbox.taken();
    sandbox.write("test_a.py", "assert 2");
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(time)
        .unwrap();
    assert_eq!(sandbox.changes(&originals), ["Changed test_a.py"]);
}

#[test]
fn new_tests_are_no_change_and_new_configuration_is_where_it_matters() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("unittest/__init__.py", "")]);
    let originals = sandbox.taken();
    for path in ["tests/test_new.py", "tests/new/test_x.py", "tests/new/conftest.py"] {
        sandbox.write(path, "new");
    }
    assert!(sandbox.changes(&originals).is_empty());
    for path in [
        "tests/conftest.py",
        ".cargo/config.toml",
        "unittest.py",
        "unittest/__init__.py",
    ] {
        sandbox.write(path, "new");
    }
    let expected = ["Added .cargo/config.toml", "Added unittest.py"];
    sandbox.remove("tests/conftest.py");
    assert_eq!(sandbox.changes(&originals), expected);
}

#[test]
fn a_file_that_git_ignores_is_found() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    let originals = sandbox.taken();
    sandbox.write(".gitignore", "sitecustomize.py");
    sandbox.write("sitecustomize.py", "cheat");
    assert_eq!(sandbox.changes(&originals), ["Added sitecustomize.py"]);
}

#[test]
fn a_moved_test_file_is_no_change() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("tests/test_b.py", "b")]);
    let originals = sandbox.taken();
    sandbox.write("tests/unit/test_a.py", "a");
    sandbox.remove("tests/test_a.py");
    assert!(sandbox.changes(&originals).is_empty());
    // A test that is moved to a name without tests is lost.
    sandbox.write("attic/b.txt", "b");
    sandbox.remove("tests/test_b.py");
    assert_eq!(sandbox.changes(&originals), ["Deleted tests/test_b.py"]);
}

#[test]
fn directories_of_tools_are_not_walked_but_a_marker_hides_no_guarded_one() {
    let sandbox = GuardSandbox::new(&[("tests/test_a.py", "a"), ("env/pyvenv.cfg", ""), ("env/test_x.py", "x")]);
    let originals = sandbox.taken();
    assert_eq!(originals.len(), 1);
    for path in [
        "node_modules/conftest.py",
        ".venv/conftest.py",
        "env/conftest.py",
        "new/CACHEDIR.TAG",
        "new/unittest.py",
        "builddir/tests/a.o",
        "parts/unittest.py",
    ] {
        sandbox.write(path, "");
    }
    sandbox.write("builddir/.gitignore", "# Made by Meson\n*\n");
    sandbox.write("parts/.gitignore", "*.o\n");
    assert_eq!(sandbox.changes(&originals), ["Added parts/unittest.py"]);
    sandbox.remove("parts/unittest.py");
    assert!(sandbox.changes(&originals).is_empty());
    sandbox.write("tests/CACHEDIR.TAG", "");
    sandbox.write("tests/conftest.py", "");
    assert_eq!(sandbox.changes(&originals), ["Added tests/conftest.py"]);
}

#[test]
fn symlinks_are_not_followed() {
    let sandbox = GuardSandbox::new(&[
        ("tests/test_a.py", "a"),
        ("more/test_b.py", "b"),
        ("elsewhere/unittest/__init__.py", ""),
    ]);
    symlink("../src/x", sandbox.path("tests/link")).unwrap();
    fs::remove_dir_all(sandbox.path("elsewhere")).unwrap();
    let originals = sandbox.taken();
    assert_eq!(originals.len(), 3);
    assert!(sandbox.changes(&originals).is_empty());
    fs::rename(sandbox.path("tests/test_a.py"), sandbox.path("a")).unwrap();
    symlink("../a", sandbox.path("tests/test_a.py")).unwrap();
    fs::rename(sandbox.path("more"), sandbox.path("less")).unwrap();
    symlink("less", sandbox.path("more")).unwrap();
    fs::remove_file(sandbox.path("tests/link")).unwrap();
    symlink("elsewhere", sandbox.path("tests/link")).unwrap();
    // `less/test_b.py` is a test by its name: it has moved.
    assert_eq!(
        sandbox.changes(&originals),
        ["Changed tests/link", "Changed tests/test_a.py"]
    );
    sandbox.write("less/test_b.py", "B");
    assert_eq!(sandbox.changes(&originals)[0], "Deleted more/test_b.py");
}

#[test]
fn a_symlink_to_a_directory_that_shadows_a_module_is_found() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    let originals = sandbox.taken();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("__init__.py"), "").unwrap();
    symlink(outside.path(), sandbox.path("unittest")).unwrap();
    assert_eq!(sandbox.changes(&originals), ["Added unittest"]);
}

#[test]
fn a_pipe_is_not_opened() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    let make = |path: &str| {
        let made = std::process::Command::new("mkfifo").arg(sandbox.path(path)).status();
        assert!(made.unwrap().success());
    };
    make("test_pipe.py");
    let originals = sandbox.taken();
    assert_eq!(originals.left_out()[0].path, "test_pipe.py");
    sandbox.remove("test_a.py");
    make("test_a.py");
    make("conftest.py");
    assert_eq!(sandbox.changes(&originals), ["Added conftest.py", "Changed test_a.py"]);
    let trial = sandbox.begin(&originals);
    assert_eq!(trial.refused(), ["conftest.py", "test_a.py"]);
    trial.end().unwrap();
}

#[test]
fn a_file_that_is_too_large_is_left_out() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a")]);
    let file = fs::File::create(sandbox.path("test_large.py")).unwrap();
    file.set_len((16 << 20) + 1).unwrap();
    let originals = sandbox.taken();
    assert_eq!(originals.len(), 1);
    assert!(originals.left_out()[0].why.contains("16 MiB"));
}

#[test]
fn an_executable_bit_counts() {
    let sandbox = GuardSandbox::new(&[("check.sh", "x"), ("other", "")]);
    let mode = |mode| fs::set_permissions(sandbox.path("check.sh"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o755);
    let named = GuardRules {
        named: strings(&["check.sh", "nothing/**"]),
        ..rules()
    };
    let originals = sandbox.taken_with(named);
    assert_eq!(originals.unmatched(), ["nothing/**"]);
    mode(0o700);
    assert!(sandbox.changes(&originals).is_empty());
    mode(0o600);
    assert_eq!(sandbox.changes(&originals), ["Changed check.sh"]);
    let trial = sandbox.begin(&originals);
    assert_eq!(
        fs::metadata(sandbox.path("check.sh")).unwrap().permissions().mode() & 0o777,
        0o755
    );
    trial.end().unwrap();
    assert_eq!(
        fs::metadata(sandbox.path("check.sh")).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_file_that_is_named_by_its_path_is_guarded_wherever_it_is() {
    let sandbox = GuardSandbox::new(&[("node_modules/jest/bin/jest.js", "run"), ("tests/a", "")]);
    let named = GuardRules {
        named: strings(&[
            "node_modules/jest/bin/jest.js",
            "node_modules/**",
            "tests/*",
            "no/where",
        ]),
        ..rules()
    };
    let originals = sandbox.taken_with(named);
    assert_eq!(originals.len(), 2);
    assert_eq!(originals.unmatched(), ["no/where"]);
    assert!(sandbox.changes(&originals).is_empty());
    sandbox.write("node_modules/jest/bin/jest.js", "exit");
    assert_eq!(sandbox.changes(&originals), ["Changed node_modules/jest/bin/jest.js"]);
}

#[test]
fn kinds_of_changes_are_in_the_events_terms() {
    let sandbox = GuardSandbox::new(&[("test_a.py", "a"), ("test_b.py", "b")]);
    let originals = sandbox.taken();
    sandbox.write("test_a.py", "A");
    sandbox.remove("test_b.py");
    sandbox.write("conftest.py", "");
    let kinds: Vec<_> = originals
        .changes(&sandbox.project)
        .unwrap()
        .iter()
        .map(|change| change.kind)
        .collect();
    assert_eq!(kinds, [Added, Changed, Deleted]);
}

#[test]
fn the_diff_shows_what_is_guarded_and_nothing_else() {
    let sandbox = GuardSandbox::new(&[
        ("test_a.py", "one\ntwo\n"),
        ("test_b.py", "b\n"),
        ("package.json", "{\"name\":\"a\",\"scripts\":{\"test\":\"jest\"}}"),
        ("src/lib.rs", "fn work() {}\n#[test]\nfn a() { b(); }\n"),
    ]);
    let originals = sandbox.taken_with(GuardRules {
        rust_blocks: true,
        ..rules()
    });
    assert_eq!(originals.diff(&sandbox.project).unwrap(), "");
    sandbox.write("test_a.py", "one\n2\n");
    sandbox.remove("test_b.py");
    sandbox.write("conftest.py", "cheat\n");
    sandbox.write("package.json", "{\"name\":\"b\",\"scripts\":{\"test\":\"true\"}}");
    sandbox.write("src/lib.rs", "fn better() {}\n#[test]\nfn a() {}\n");
    let expected = "\
--- /dev/null
+++ b/conftest.py
@@ -0,0 +1 @@
+cheat
--- a/package.json
+++ b/package.json
@@ -1,6 +1,6 @@
 {
   \"name\": \"b\",
   \"scripts\": {
-    \"test\": \"jest\"
+    \"test\": \"true\"
   }
 }
\\ No newline at end of file
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,3 +1,3 @@
 fn better() {}
 #[test]
-fn a() { b(); }
+fn a() {}
--- a/test_a.py
+++ b/test_a.py
@@ -1,2 +1,2 @@
 one
-two
+2
--- a/test_b.py
+++ /dev/null
@@ -1 +0,0 @@
-b
";
    assert_eq!(originals.diff(&sandbox.project).unwrap(), expected);
    let long: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    sandbox.write("test_a.py", &long);
    let diff = originals.diff(&sandbox.project).unwrap();
    assert!(
        diff.len() < 65 << 10 && diff.ends_with("… and 1 more\n"),
        "{}",
        &diff[diff.len() - 100..]
    );
}
