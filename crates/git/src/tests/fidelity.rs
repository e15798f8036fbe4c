//! Checkpoints hold files exactly, and restoring brings them back exactly: bytes, modes, links.

use std::time::Duration;

use super::*;
use crate::{DiffColour, DiffDetail};

const CRLF: &str = "one\r\ntwo\r\n";

impl Project {
    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    /// Defines a filter that leaves a mark when it runs, and loses information.
    fn define_filter(&self) {
        let mark = self.root.join("../ran");
        let mark = mark.display();
        for way in ["clean", "smudge"] {
            self.git([
                "config",
                &format!("filter.f.{way}"),
                &format!("touch '{mark}'; tr a-z A-Z"),
            ]);
        }
        self.git(["config", "filter.f.required", "true"]);
    }

    fn assert_no_filter_ran(&self) {
        assert!(!self.root.join("../ran").exists());
    }
}

/// Makes a checkpoint of `path`, then restores the file after a deletion and after a change.
fn goes_and_comes_back(project: &Project, path: &str) {
    let was = project.bytes(path);
    let repository = project.open();
    before(&repository, 1);
    project.remove(path);
    after(&repository, 1);
    repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&project.bytes(path)),
        String::from_utf8_lossy(&was)
    );
    fs::write(project.root.join(path), "shorter\r\n").unwrap();
    let changed = after(&repository, 2).checkpoint;
    let shown = project.stored(["cat-file", "blob", &format!("{}:{path}", changed.tree)]);
    assert_eq!(shown, "shorter\r\n");
    repository.restore(&run(), 1, Moment::Before).unwrap();
    assert_eq!(project.bytes(path), was);
}

#[test]
fn line_ends_stay_whatever_git_would_turn_them_to() {
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.autocrlf", "input"),
        ("core.eol", "crlf"),
    ] {
        let project = Project::new();
        project.write("file.txt", CRLF);
        project.write(".gitattributes", "*.txt text\n");
        project.git(["config", key, value]);
        project.commit_all("As git stores it");
        goes_and_comes_back(&project, "file.txt");
    }
}

#[test]
fn line_ends_stay_where_only_the_configuration_turns_them() {
    let project = Project::new();
    project.write("file.txt", CRLF);
    project.git(["config", "core.autocrlf", "input"]);
    project.commit_all("As git stores it");
    project.git(["status"]);
    goes_and_comes_back(&project, "file.txt");
}

#[test]
fn no_filter_runs_wherever_it_is_named_and_what_it_would_lose_stays() {
    let places: [fn(&Project); 4] = [
        |project| project.write(".gitattributes", "*.dat filter=f\n"),
        |project| project.write("deep/.gitattributes", "*.dat filter=f ident text eol=crlf\n"),
        |project| project.write(".git/info/attributes", "*.dat filter=f\n"),
        |project| {
            project.write("../attributes", "*.dat filter=f\n");
            let path = project.root.join("../attributes");
            project.git(["config", "core.attributesFile", path.to_str().unwrap()]);
        },
    ];
    for name_it in places {
        let project = Project::new();
        project.write("deep/file.dat", "small letters $Id$\n");
        name_it(&project);
        project.define_filter();
        project.commit_all("As git stores it");
        project.git(["status"]);
        _ = fs::remove_file(project.root.join("../ran")); // the user's own git has run the filter
        project.write("deep/file.dat", "other small letters $Id$\n");
        goes_and_comes_back(&project, "deep/file.dat");
        project.assert_no_filter_ran();
    }
}

#[test]
fn a_file_that_git_has_seen_unchanged_is_in_it_as_it_is_and_not_as_git_stores_it() {
    let project = Project::new();
    project.write(".gitattributes", "*.dat filter=f\n");
    project.define_filter();
    project.write("file.dat", "small letters\n");
    project.commit_all("As git stores it");
    // Older than the index, so git does not read its content any more.
    let hour = std::time::Duration::from_secs(3600);
    let past = std::time::SystemTime::now() - hour;
    let file = fs::File::options()
        .write(true)
        .open(project.root.join("file.dat"))
        .unwrap();
    file.set_modified(past).unwrap();
    project.git(["add", "file.dat"]);
    assert_eq!(project.git(["cat-file", "blob", ":file.dat"]), "SMALL LETTERS\n");
    let repository = project.open();
    let checkpoint = before(&repository, 1).checkpoint;
    assert_eq!(content(&project, &checkpoint, "file.dat"), "small letters\n");
    // The user's index changes, with a file that git filtered only now.
    project.write("later.dat", "more small letters\n");
    project.git(["add", "--all"]);
    let checkpoint = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &checkpoint, "file.dat"), "small letters\n");
    assert_eq!(content(&project, &checkpoint, "later.dat"), "more small letters\n");
}

#[test]
fn a_missing_required_filter_costs_no_file() {
    let project = Project::new();
    project.git(["config", "filter.lfs.process", "no-such-program filter-process"]);
    project.git(["config", "filter.lfs.clean", "no-such-program clean"]);
    project.git(["config", "filter.lfs.required", "true"]);
    project.write(".gitattributes", "*.bin filter=lfs\n");
    for n in 0..40 {
        project.write(format!("{n}.bin"), "x\n");
    }
    let taken = before(&project.open(), 1);
    assert_eq!((files(&project, &taken.checkpoint).len(), taken.notices), (44, vec![]));
}

#[test]
fn a_filtered_file_that_nobody_touches_is_no_change() {
    let project = Project::new();
    project.write(".gitattributes", "*.dat filter=f\n*.txt text\n");
    project.define_filter();
    project.write("file.dat", "small letters\n");
    project.write("file.txt", CRLF);
    project.commit_all("As git stores it");
    let repository = project.open();
    let from = before(&repository, 1).checkpoint;
    project.write("new", "x\n");
    project.commit_all("Another");
    let to = after(&repository, 1).checkpoint;
    let changes = repository.changes(&from, &to).unwrap();
    assert_eq!((changes.files, changes.added, changes.removed), (1, 1, 0));
}

#[test]
fn what_the_index_is_told_to_overlook_is_looked_at() {
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        let project = Project::new();
        project.git(["update-index", flag, "kept", "lines"]);
        project.write("kept", "mine\n");
        let repository = project.open();
        let checkpoint = before(&repository, 1).checkpoint;
        assert_eq!(content(&project, &checkpoint, "kept"), "mine\n", "{flag}");
        // Flags that are set during a run, on a changed and on a deleted file.
        project.git([
            "update-index",
            "--no-skip-worktree",
            "--no-assume-unchanged",
            "kept",
            "lines",
        ]);
        project.write("kept", "changed\n");
        project.remove("lines");
        project.git(["update-index", flag, "kept", "lines"]);
        let next = after(&repository, 1).checkpoint;
        assert_eq!(content(&project, &next, "kept"), "changed\n", "{flag}");
        assert_eq!(files(&project, &next), ["100644 .gitignore", "100644 kept"], "{flag}");
        repository.restore(&run(), 1, Moment::Before).unwrap();
        assert_eq!(project.read("kept").as_deref(), Some("mine\n"), "{flag}");
        assert_eq!(project.read("lines").as_deref(), Some("1\n2\n3\n"), "{flag}");
        let flags = project.git(["ls-files", "-v", "kept"]);
        assert!(!flags.starts_with("H "), "the user's index keeps its flag: {flags}");
    }
}

#[test]
fn a_file_that_comes_to_be_outside_of_a_sparse_checkout_is_in_it() {
    let project = Project::new();
    project.write("in/file", "x\n");
    project.write("out/file", "x\n");
    project.commit_all("More");
    project.git(["sparse-checkout", "set", "in"]);
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    project.write("out/file", "made anew\n");
    let next = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &first, "out/file"), "x\n");
    assert_eq!(content(&project, &next, "out/file"), "made anew\n");
}

#[test]
fn modes_and_links_come_back_though_the_repository_cares_for_neither() {
    let project = Project::new();
    project.git(["config", "core.fileMode", "false"]);
    project.git(["config", "core.symlinks", "false"]);
    let executable = || fs::metadata(project.root.join("kept")).unwrap().permissions().mode() & 0o100 != 0;
    fs::set_permissions(project.root.join("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("kept", project.root.join("link")).unwrap();
    let repository = project.open();
    before(&repository, 1);
    fs::set_permissions(project.root.join("kept"), fs::Permissions::from_mode(0o644)).unwrap();
    project.remove("link");
    project.write("link", "kept");
    repository.restore(&run(), 1, Moment::Before).unwrap();
    assert!(executable());
    assert_eq!(fs::read_link(project.root.join("link")).unwrap(), Path::new("kept"));
}

#[test]
fn a_change_that_settings_hide_is_seen() {
    let project = Project::new();
    project.git(["config", "core.checkStat", "minimal"]);
    project.git(["config", "core.trustCtime", "false"]);
    let hour = std::time::Duration::from_secs(3600);
    let past = std::time::SystemTime::now() - hour;
    let put = |text: &str| {
        project.write("aside.log", text);
        let file = fs::File::options()
            .write(true)
            .open(project.root.join("aside.log"))
            .unwrap();
        file.set_modified(past).unwrap();
        fs::rename(project.root.join("aside.log"), project.root.join("kept")).unwrap();
    };
    put("kept\n");
    let repository = project.open();
    before(&repository, 1);
    put("KEPT\n");
    assert_eq!(content(&project, &after(&repository, 1).checkpoint, "kept"), "KEPT\n");
}

#[test]
fn a_repository_with_longer_names_of_objects_is_the_same() {
    let project = Project::unborn();
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    project.git(["init", "--quiet", "--object-format=sha256"]);
    project.write("file.txt", CRLF);
    project.write(".gitattributes", "*.txt text\n");
    project.commit_all("As git stores it");
    goes_and_comes_back(&project, "file.txt");
}

#[test]
fn many_files_that_git_refuses_cost_only_themselves_and_are_counted() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    // A content without an object directory. A file in its place keeps git from storing the content.
    let place_of = |content: &String| {
        project.write("bad00", content);
        let id = project.git(["hash-object", "bad00"]);
        project.store().join("objects").join(&id[..2])
    };
    let mut contents = (0..).map(|n| format!("content {n}\n"));
    let content = contents.find(|content| !place_of(content).exists()).unwrap();
    fs::write(place_of(&content), "").unwrap();
    for n in 0..20 {
        project.write(format!("bad{n:02}"), &content);
        project.write(format!("good{n:02}"), "x\n");
    }
    let (status, _) = repository.scan().unwrap();
    let mut work = repository.sort(status, None);
    repository.update_index(&mut work).unwrap();
    let listed = repository.own_index_git().args(["ls-files"]).run().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().filter(|path| path.starts_with("good")).count(), 20);
    assert_eq!(listed.lines().filter(|path| path.starts_with("bad")).count(), 0);
    let notices = work.notices();
    assert_eq!(notices.len(), 11, "{notices:?}");
    assert!(
        notices[..10].iter().all(|notice| notice.starts_with("bad")),
        "{notices:?}"
    );
    assert_eq!(
        notices[10],
        "10 more files are left out of the checkpoint: refused by git."
    );
}

/// Makes a pipe of this name beside a file, and takes a checkpoint with a short deadline.
fn checkpoint_beside_pipe(project: &Project, name: &str) -> (Repository, Result<NewCheckpoint, GitError>) {
    project.write("dir/file", "x\n");
    nix::unistd::mkfifo(&project.root.join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut repository = project.open();
    repository.deadline = Duration::from_secs(5);
    let taken = repository.checkpoint(&run(), 1, Moment::Before);
    (repository, taken)
}

#[test]
fn a_nested_file_of_attributes_that_is_a_pipe_is_not_waited_for() {
    let project = Project::new();
    let pipe = "dir/.gitattributes";
    match checkpoint_beside_pipe(&project, pipe).1 {
        Ok(taken) => assert!(files(&project, &taken.checkpoint).contains(&"100644 dir/file".to_owned())),
        // Only git before 2.41 reads attributes for files that are stored unconverted.
        Err(error) => {
            let version = crate::version(&Supervisor::default()).unwrap();
            let minor = version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
            assert!(version.starts_with("2.") && minor < Some(41), "git {version}: {error}");
            assert!(
                matches!(&error, GitError::Blocked { path, .. } if *path == project.root.join(pipe)),
                "{error}"
            );
        }
    }
}

#[test]
fn a_nested_file_of_patterns_that_is_a_pipe_is_waited_for_only_once() {
    let project = Project::new();
    let pipe = project.root.join("dir/.gitignore");
    let (repository, taken) = checkpoint_beside_pipe(&project, "dir/.gitignore");
    let error = taken.unwrap_err();
    assert!(
        matches!(&error, GitError::Blocked { path, .. } if *path == pipe),
        "{error}"
    );
    let said = error.to_string();
    assert!(said.ends_with("dir/.gitignore is not a regular file"), "{said}");
    let error = repository.checkpoint(&run(), 1, Moment::After).unwrap_err();
    assert!(
        matches!(&error, GitError::NotAFile { path } if *path == pipe),
        "{error}"
    );
    fs::remove_file(pipe).unwrap();
    let checkpoint = before(&repository, 2).checkpoint;
    assert!(files(&project, &checkpoint).contains(&"100644 dir/file".to_owned()));
}

#[test]
fn objects_are_what_their_names_say_whatever_the_repository_says_of_them() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    for text in ["work", "more work"] {
        project.write("lines", &format!("{text}\n"));
        project.commit_all(text);
    }
    let last = after(&repository, 1).checkpoint;
    let shown = || {
        let (detail, colour) = (DiffDetail::Patch, DiffColour::No);
        let diff = repository
            .difference(&first, Some(&last), detail, colour, &[], Path::new("PLAN.md"))
            .unwrap();
        let commits = repository
            .commits_within(crate::process::DEADLINE, &first, &last)
            .unwrap();
        let tree = repository.git().args(["log", "-1", "--format=%T"]).run().unwrap();
        (diff.bytes, commits, tree.line().unwrap())
    };
    let named = |name: &str| project.git(["rev-parse", name]).trim().to_owned();
    let is = shown();
    assert_eq!(is.1.len(), 2);
    let [tree, other] = ["HEAD^{tree}", "HEAD~2^{tree}"].map(named);

    project.git(["replace", "HEAD:lines", "HEAD~2:lines"]);
    assert_eq!(shown(), is);
    project.git(["replace", "--delete", &named("HEAD:lines")]);

    project.git(["commit-graph", "write", "--reachable"]);
    let graph = project.root.join(".git/objects/info/commit-graph");
    let bytes = |hex: &str| -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    };
    let mut forged = fs::read(&graph).unwrap();
    // A checkpoint may have the same tree.
    while let Some(at) = forged.windows(20).position(|window| window == bytes(&tree)) {
        forged[at..at + 20].copy_from_slice(&bytes(&other));
    }
    fs::remove_file(&graph).unwrap();
    fs::write(&graph, forged).unwrap();
    assert_eq!(
        project.git(["log", "-1", "--format=%T"]).trim(),
        other,
        "git itself believes it"
    );
    assert_eq!(shown(), is);
    fs::remove_file(&graph).unwrap();

    project.write(".git/info/grafts", &format!("{}\n", named("HEAD")));
    assert_eq!(shown(), is);
}
