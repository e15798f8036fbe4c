//! The content of checkpoints, files they must not touch, and the changes between two of them.

use std::{
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::*;

#[test]
fn a_renamed_file_is_known_by_both_names_and_read_as_it_was() {
    let project = Project::new();
    let repository = project.open();
    let before = after(&repository, 1).checkpoint;
    fs::create_dir(project.root.join("src")).unwrap();
    fs::rename(project.root.join("lines"), project.root.join("src/numbers")).unwrap();
    project.write("kept", "changed\n");
    let now = after(&repository, 2).checkpoint;
    let renamed = [(PathBuf::from("lines"), PathBuf::from("src/numbers"))];
    assert_eq!(repository.renames(&before, &now).unwrap(), renamed);
    assert_eq!(repository.renames(&now, &now).unwrap(), []);
    let spans = [(&now, &now), (&before, &now), (&now, &before)];
    let changed = repository.changed_in_each(&spans).unwrap();
    let named = |at: usize| -> Vec<String> {
        changed[at]
            .iter()
            .map(|(path, kind)| format!("{kind:?} {path}"))
            .collect()
    };
    assert_eq!(named(0), [""; 0]);
    assert_eq!(named(1), ["Changed kept", "Added src/numbers"]);
    assert_eq!(named(2), ["Changed kept", "Added lines"]);
    let files = ["kept".to_owned(), "lines".to_owned()];
    let removed = repository.removed_in_each(&spans, &files).unwrap();
    assert_eq!(removed[1], [("kept".to_owned(), 1), ("lines".to_owned(), 3)]);
    assert_eq!(
        (&removed[0][..], &removed[2][..]),
        (&[][..], &[("kept".to_owned(), 1)][..])
    );
    project.write("kept", "once more\n");
    let later = after(&repository, 3).checkpoint;
    let removed = repository
        .removed_in_each(&[(&now, &later), (&before, &now)], &files[1..])
        .unwrap();
    assert_eq!(
        (&removed[0][..], &removed[1][..]),
        (&[][..], &[("lines".to_owned(), 3)][..])
    );
    project.write("kept", "changed\n");
    let text = |at, file: &str| repository.text_at(at, Path::new(file)).unwrap();
    assert_eq!(text(Some(&before), "lines").as_deref(), Some("1\n2\n3\n"));
    assert_eq!(text(Some(&now), "lines"), None);
    assert_eq!(text(Some(&now), "src"), None, "a directory");
    project.write("kept", "again\n");
    assert_eq!(text(None, "kept").as_deref(), Some("again\n"));
    symlink("/etc/passwd", project.root.join("link")).unwrap();
    assert_eq!(text(None, "link").as_deref(), Some("/etc/passwd"));
    assert_eq!(text(None, "../scratch/x"), None);
}

#[test]
fn all_but_ignored_files_are_in_it() {
    let project = Project::new();
    project.write("new dir/a b", "x\n");
    project.write("made.log", "ignored\n");
    fs::write(project.root.join(OsStr::from_bytes(b"caf\xe9")), "latin").unwrap();
    symlink("nowhere", project.root.join("link")).unwrap();
    fs::set_permissions(project.root.join("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    project.remove("lines");
    let checkpoint = before(&project.open(), 1).checkpoint;
    let bytes = project.stored(["ls-tree", "-r", "-z", "--name-only", &checkpoint.tree]);
    assert!(bytes.contains("caf\u{fffd}"), "{bytes}");
    let mut found = files(&project, &checkpoint);
    found.retain(|file| !file.contains("caf"));
    assert_eq!(
        found,
        ["100644 .gitignore", "100755 kept", "120000 link", "100644 new dir/a b"]
    );
}

#[test]
fn a_reference_among_a_runs_that_leads_to_a_branch_takes_no_branch_with_it() {
    let project = Project::new();
    project.git(["branch", "other"]);
    let repository = project.open();
    before(&repository, 1);
    let link = "refs/ralph/20261120-102835-4f2a/2-before";
    project.git(["symbolic-ref", link, "refs/heads/other"]);
    repository.forget(&run()).unwrap();
    let left = project.git(["for-each-ref", "--format=%(refname)"]);
    assert_eq!(left, "refs/heads/main\nrefs/heads/other\n");
}

#[test]
fn it_is_a_commit_that_names_head_under_its_own_reference() {
    let project = Project::new();
    let checkpoint = before(&project.open(), 7).checkpoint;
    let head = project.git(["rev-parse", "HEAD"]).trim_end().to_owned();
    let shown = project.stored([
        "log",
        "-1",
        "--format=%H %P%an %s %b",
        "refs/ralph/20261120-102835-4f2a/7-before",
    ]);
    let commit = &checkpoint.commit;
    assert_eq!(
        shown,
        format!("{commit} ralph ralph 20261120-102835-4f2a: before iteration 7 Head: {head}\n\n")
    );
    assert_eq!(checkpoint.head, Some(head));
}

#[test]
fn nothing_of_the_users_is_touched() {
    let project = Project::new();
    project.write("staged", "1\n");
    project.git(["add", "staged"]);
    project.write("staged", "2\n");
    project.write("kept", "changed\n");
    project.write("new", "x\n");
    project.git(["config", "core.logAllRefUpdates", "always"]);
    let was = project.untouchable();
    let repository = project.open();
    before(&repository, 1);
    project.write("new", "y\n");
    after(&repository, 1);
    project.write("new", "x\n");
    assert_eq!(project.untouchable(), was);
}

#[test]
fn hooks_and_signing_have_no_part_in_it() {
    let project = Project::new();
    for hook in ["pre-commit", "post-index-change", "reference-transaction", "commit-msg"] {
        let path = project.root.join(".git/hooks").join(hook);
        fs::write(
            &path,
            format!(
                "#!/bin/sh\ntouch '{}'\nexit 1\n",
                project.root.join("ran.log").display()
            ),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    project.git(["config", "commit.gpgSign", "true"]);
    project.write("new", "x\n");
    before(&project.open(), 1);
    assert_eq!(project.read("ran.log"), None);
}

#[test]
fn before_the_first_commit_it_has_no_parent() {
    let project = Project::unborn();
    project.write("first", "x\n");
    let repository = project.open();
    let checkpoint = before(&repository, 1).checkpoint;
    assert_eq!(
        (checkpoint.head.as_ref(), files(&project, &checkpoint)),
        (None, vec!["100644 first".to_owned()])
    );
    project.commit_all("Start");
    let next = after(&repository, 1).checkpoint;
    assert_eq!(
        repository.changes(&checkpoint, &next).unwrap(),
        Changes {
            commits: 1,
            ..Changes::default()
        }
    );
}

#[test]
fn an_empty_unborn_repository_has_an_empty_one() {
    let project = Project::unborn();
    assert_eq!(
        files(&project, &before(&project.open(), 1).checkpoint),
        Vec::<String>::new()
    );
}

#[test]
fn a_detached_head_is_a_head() {
    let project = Project::new();
    project.git(["checkout", "--quiet", "--detach"]);
    let was = project.untouchable();
    assert!(before(&project.open(), 1).checkpoint.head.is_some());
    assert_eq!(project.untouchable(), was);
}

#[test]
fn an_unchanged_tree_is_the_same_commit_under_another_reference() {
    let project = Project::new();
    project.write("new", "x\n");
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    assert_eq!(after(&repository, 1).checkpoint, first);
    assert_eq!(
        project
            .stored(["rev-parse", "refs/ralph/20261120-102835-4f2a/1-after"])
            .trim_end(),
        first.commit
    );
}

#[test]
fn a_repeated_one_is_recorded_without_looking() {
    let project = Project::new();
    let repository = project.open();
    let taken = after(&repository, 1).checkpoint;
    repository.repeat(&taken, &run(), 2, Moment::Before);
    drop(repository);
    assert_eq!(
        project
            .stored(["rev-parse", "refs/ralph/20261120-102835-4f2a/2-before"])
            .trim_end(),
        taken.commit
    );
}

#[test]
fn a_repeated_one_that_gets_no_name_is_said_with_the_next() {
    let project = Project::new();
    let repository = project.open();
    let taken = after(&repository, 1).checkpoint;
    let in_the_way = "refs/ralph/20261120-102835-4f2a/2-before/x";
    project.stored(["update-ref", in_the_way, &taken.commit]);
    repository.repeat(&taken, &run(), 2, Moment::Before);
    let notices = after(&repository, 2).notices;
    assert!(
        matches!(&notices[..], [notice] if notice.contains("git update-ref")),
        "{notices:?}"
    );
}

#[test]
fn a_commit_without_a_change_of_files_is_a_new_checkpoint() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    project.git(["commit", "--quiet", "--allow-empty", "--message", "Nothing"]);
    let next = after(&repository, 1).checkpoint;
    assert_eq!(next.tree, first.tree);
    assert_eq!(
        repository.changes(&first, &next).unwrap(),
        Changes {
            commits: 1,
            ..Changes::default()
        }
    );
}

#[test]
fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
    let project = Project::new();
    let repository = project.open();
    for n in 1..20 {
        project.write("kept", &format!("{n:04}\n"));
        let checkpoint = before(&repository, n).checkpoint;
        assert_eq!(content(&project, &checkpoint, "kept"), format!("{n:04}\n"));
        // Also through the user's index, which is then copied again.
        project.write("kept", &format!("{n:03}+\n"));
        project.git(["add", "kept"]);
        project.write("kept", &format!("{n:03}-\n"));
        let checkpoint = after(&repository, n).checkpoint;
        assert_eq!(content(&project, &checkpoint, "kept"), format!("{n:03}-\n"));
    }
}

/// Waits for the next second of the file system's clock, which lags some milliseconds behind.
fn next_second() {
    const BEHIND: Duration = Duration::from_millis(50);
    let second = || {
        (SystemTime::now() - BEHIND)
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
    };
    let now = second();
    while second() == now {
        thread::yield_now();
    }
}

/// git compares times of files by their seconds, so an index that is written again in the next second hides the change.
#[test]
fn a_change_of_the_same_size_in_the_same_second_is_seen_in_the_next() {
    let project = Project::new();
    let repository = project.open();
    next_second();
    project.write("kept", "aaaa\n");
    before(&repository, 1);
    project.write("kept", "bbbb\n");
    // The user's index changes, so ralph's is written again.
    project.write("lines", "1\n");
    project.git(["add", "lines"]);
    next_second();
    let checkpoint = after(&repository, 1).checkpoint;
    assert_eq!(content(&project, &checkpoint, "kept"), "bbbb\n");
}

#[test]
fn files_directories_and_links_take_each_others_place() {
    let project = Project::new();
    project.write("dir/inner", "x\n");
    project.write("plain", "x\n");
    project.commit_all("More");
    let repository = project.open();
    before(&repository, 1);
    // A directory becomes a link to one with a file of the same name, and a file becomes a directory.
    fs::rename(project.root.join("dir"), project.root.join("moved")).unwrap();
    symlink("moved", project.root.join("dir")).unwrap();
    project.remove("plain");
    project.write("plain/inner", "y\n");
    let expected = [
        "100644 .gitignore",
        "120000 dir",
        "100644 kept",
        "100644 lines",
        "100644 moved/inner",
        "100644 plain/inner",
    ];
    assert_eq!(files(&project, &after(&repository, 1).checkpoint), expected);
    // The other way round.
    project.remove("dir");
    fs::rename(project.root.join("moved"), project.root.join("dir")).unwrap();
    fs::remove_dir_all(project.root.join("plain")).unwrap();
    project.write("plain", "x\n");
    let expected = [
        "100644 .gitignore",
        "100644 dir/inner",
        "100644 kept",
        "100644 lines",
        "100644 plain",
    ];
    assert_eq!(files(&project, &before(&repository, 2).checkpoint), expected);
}

#[test]
fn what_is_no_file_is_passed_over() {
    let project = Project::new();
    let fifo = |name: &str| {
        nix::unistd::mkfifo(&project.root.join(name), nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    project.remove("lines");
    fifo("lines");
    fifo("pipe");
    project.write("new", "x\n");
    let checkpoint = before(&project.open(), 1).checkpoint;
    assert_eq!(
        files(&project, &checkpoint),
        ["100644 .gitignore", "100644 kept", "100644 new"]
    );
}

#[test]
fn a_large_untracked_file_is_left_out_and_said_once() {
    let project = Project::new();
    project.grow("large");
    let repository = project.open();
    let taken = before(&repository, 1);
    assert_eq!(
        taken.notices,
        ["large is untracked, above 32 MiB and left out of checkpoints."]
    );
    assert_eq!(files(&project, &taken.checkpoint).len(), 3);
    let next = after(&repository, 1);
    assert_eq!((next.notices, next.checkpoint), (vec![], taken.checkpoint));
}

#[test]
fn an_untracked_file_is_left_out_once_it_has_grown_large() {
    let project = Project::new();
    project.write("growing", "x\n");
    let repository = project.open();
    assert_eq!(files(&project, &before(&repository, 1).checkpoint).len(), 4);
    project.grow("growing");
    assert_eq!(files(&project, &after(&repository, 1).checkpoint).len(), 3);
}

#[test]
fn a_large_tracked_file_is_in_it() {
    let project = Project::new();
    project.grow("kept");
    let checkpoint = before(&project.open(), 1).checkpoint;
    let size = project.stored(["cat-file", "-s", &format!("{}:kept", checkpoint.tree)]);
    assert_eq!(size.trim_end(), (super::super::UNTRACKED_CAP_BYTES + 1).to_string());
}

#[test]
fn a_file_that_git_cannot_take_costs_only_itself() {
    let project = Project::new();
    for n in 0..9 {
        project.write(format!("good{n}"), "x\n");
    }
    // A name that stands for git's own directory on other systems.
    project.write("dir/git~1", "x\n");
    let taken = before(&project.open(), 1);
    assert_eq!(files(&project, &taken.checkpoint).len(), 3 + 9);
    assert!(
        taken.notices.len() == 1 && taken.notices[0].starts_with("dir/git~1 is left out of"),
        "{:?}",
        taken.notices
    );
}

#[test]
fn what_cannot_be_read_is_said_and_keeps_its_last_state() {
    let project = Project::new();
    project.write("lines", "changed\n");
    project.write("new", "x\n");
    project.write("closed/inner", "x\n");
    for (path, mode) in [("lines", 0o200), ("new", 0o200), ("closed", 0o000)] {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    if project.read("new").is_some() {
        return; // root reads everything
    }
    let taken = before(&project.open(), 1);
    fs::set_permissions(project.root.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(files(&project, &taken.checkpoint).len(), 3);
    assert_eq!(content(&project, &taken.checkpoint, "lines"), "1\n2\n3\n");
    let expected = [
        "lines cannot be read; ",
        "new cannot be read and ",
        "git: warning: could not open directory 'closed/'",
    ];
    assert_eq!(taken.notices.len(), expected.len(), "{:?}", taken.notices);
    assert!(
        taken
            .notices
            .iter()
            .zip(expected)
            .all(|(notice, start)| notice.starts_with(start)),
        "{:?}",
        taken.notices
    );
}

#[test]
fn a_repository_within_is_in_it_by_a_commit() {
    let project = Project::new();
    project.git(["init", "--quiet", "inner"]);
    project.write("inner/file", "x\n");
    project.git(["init", "--quiet", "full"]);
    project.write("full/file", "x\n");
    project.git(["-C", "full", "add", "file"]);
    project.git(["-C", "full", "commit", "--quiet", "--message", "Inner"]);
    let taken = before(&project.open(), 1);
    let files = files(&project, &taken.checkpoint);
    let links: Vec<&String> = files.iter().filter(|file| file.starts_with("160000 ")).collect();
    assert_eq!(links, ["160000 full", "160000 inner"]);
    assert_eq!((files.len(), taken.notices), (5, vec![]));
}

#[test]
fn of_a_submodule_its_commit_is_in_it() {
    let other = Project::new();
    let project = Project::new();
    project.git([
        OsStr::new("submodule"),
        "add".as_ref(),
        "--quiet".as_ref(),
        other.root.as_os_str(),
        "sub".as_ref(),
    ]);
    project.commit_all("Submodule");
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    let inside = project.git(["-C", "sub", "rev-parse", "HEAD"]);
    assert_eq!(project.stored(["rev-parse", &format!("{}:sub", first.tree)]), inside);
    project.write("sub/new", "x\n");
    project.git(["-C", "sub", "add", "new"]);
    project.git(["-C", "sub", "commit", "--quiet", "--message", "Inside"]);
    let next = after(&repository, 1).checkpoint;
    let inside = project.git(["-C", "sub", "rev-parse", "HEAD"]);
    assert_eq!(project.stored(["rev-parse", &format!("{}:sub", next.tree)]), inside);
}

#[test]
fn a_merge_in_progress_stays_in_progress() {
    let project = Project::new();
    project.git(["checkout", "--quiet", "-b", "other"]);
    project.write("kept", "theirs\n");
    project.commit_all("Theirs");
    project.git(["checkout", "--quiet", "main"]);
    project.write("kept", "ours\n");
    project.commit_all("Ours");
    assert!(!project.try_git(["merge", "other"]).0);
    let was = project.untouchable();
    let checkpoint = before(&project.open(), 1).checkpoint;
    assert!(content(&project, &checkpoint, "kept").contains("<<<<<<<"));
    assert_eq!(project.untouchable(), was);
}

#[test]
fn the_agents_lock_on_the_index_is_no_obstacle() {
    let project = Project::new();
    project.write(".git/index.lock", "");
    project.write("new", "x\n");
    let checkpoint = before(&project.open(), 1).checkpoint;
    assert_eq!(content(&project, &checkpoint, "new"), "x\n");
    assert_eq!(project.read(".git/index.lock").as_deref(), Some(""));
}

#[test]
fn a_tracked_file_stays_tracked_though_it_is_ignored() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    project.write("forced.log", "1\n");
    project.git(["add", "--force", "forced.log"]);
    assert_eq!(
        content(&project, &after(&repository, 1).checkpoint, "forced.log"),
        "1\n"
    );
    project.write("forced.log", "2\n");
    assert_eq!(
        content(&project, &before(&repository, 2).checkpoint, "forced.log"),
        "2\n"
    );
}

#[test]
fn what_becomes_ignored_is_in_it_no_more() {
    let project = Project::new();
    let repository = project.open();
    project.write("built/out", "x\n");
    before(&repository, 1);
    project.write(".gitignore", "built/\n");
    let expected = ["100644 .gitignore", "100644 kept", "100644 lines"];
    assert_eq!(files(&project, &after(&repository, 1).checkpoint), expected);
}

#[test]
fn a_linked_work_tree_is_its_own_project() {
    let project = Project::new();
    project.git(["worktree", "add", "--quiet", "--detach", "linked"]);
    project.write("linked/new", "x\n");
    project.write("kept", "changed\n");
    let linked = project.root.join("linked");
    let repository = project.discover(&linked).unwrap().0;
    let checkpoint = before(&repository, 1).checkpoint;
    assert_eq!(repository.root(), linked);
    assert_eq!(content(&project, &checkpoint, "new"), "x\n");
    assert_eq!(content(&project, &checkpoint, "kept"), "kept\n");
    drop(repository);
    assert!(files(&project, &before(&project.open(), 2).checkpoint).contains(&"160000 linked".to_owned()));
}

#[test]
fn files_outside_of_a_sparse_checkout_stay_in_it() {
    let project = Project::new();
    project.write("in/file", "x\n");
    project.write("out/file", "x\n");
    project.commit_all("More");
    project.git(["sparse-checkout", "set", "in"]);
    assert_eq!(project.read("out/file"), None);
    project.write("in/new", "x\n");
    project.write("out/new", "x\n");
    let found = files(&project, &before(&project.open(), 1).checkpoint);
    assert!(
        ["in/file", "in/new", "out/file", "out/new"]
            .iter()
            .all(|name| found.contains(&format!("100644 {name}")))
    );
}

#[test]
fn unusual_indexes_are_read() {
    let project = Project::new();
    project.git(["config", "core.splitIndex", "true"]);
    project.git(["update-index", "--split-index", "--index-version", "4"]);
    project.write("intended", "x\n");
    project.git(["add", "--intent-to-add", "intended"]);
    let repository = project.open();
    let checkpoint = before(&repository, 1).checkpoint;
    assert_eq!(content(&project, &checkpoint, "intended"), "x\n");
    project.remove(".git/index");
    assert_eq!(after(&repository, 1).checkpoint.tree, checkpoint.tree);
}

#[test]
fn without_its_repository_it_is_an_error_even_inside_of_another() {
    let project = Project::new();
    project.git(["init", "--quiet", "inner"]);
    let repository = project.discover(&project.root.join("inner")).unwrap().0;
    project.write("inner/file", "x\n");
    before(&repository, 1);
    fs::remove_dir_all(project.root.join("inner/.git")).unwrap();
    let error = repository.checkpoint(&run(), 1, Moment::After).unwrap_err();
    assert!(
        matches!(&error, GitError::Gone { path } if path.ends_with("inner/.git")),
        "{error:?}"
    );
}

#[test]
fn a_repository_that_was_copied_to_its_place_is_still_the_same() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    fs::rename(project.root.join(".git"), project.root.join("../aside")).unwrap();
    project.run("cp", ["-R", "../aside", ".git"]);
    project.write("new", "x\n");
    assert_eq!(content(&project, &after(&repository, 1).checkpoint, "new"), "x\n");
    // A clone is another repository: it has no checkpoints.
    fs::remove_dir_all(project.root.join(".git")).unwrap();
    project.run("git", ["clone", "--quiet", "../aside", "../clone"]);
    fs::rename(project.root.join("../clone/.git"), project.root.join(".git")).unwrap();
    let error = repository.checkpoint(&run(), 2, Moment::Before).unwrap_err();
    assert!(matches!(error, GitError::Replaced { .. }), "{error:?}");
}

#[test]
fn after_an_error_the_next_one_works() {
    let project = Project::new();
    let repository = project.open();
    before(&repository, 1);
    fs::rename(project.root.join(".git"), project.root.join("gone")).unwrap();
    repository.checkpoint(&run(), 1, Moment::After).unwrap_err();
    fs::rename(project.root.join("gone"), project.root.join(".git")).unwrap();
    project.write("new", "x\n");
    assert_eq!(content(&project, &before(&repository, 2).checkpoint, "new"), "x\n");
}

#[test]
fn changes_count_commits_files_and_lines() {
    let project = Project::new();
    let repository = project.open();
    let from = before(&repository, 1).checkpoint;
    project.write("lines", "1\nII\n3\n4\n");
    fs::rename(project.root.join("kept"), project.root.join("renamed")).unwrap();
    project.commit_all("One");
    project.git(["commit", "--quiet", "--allow-empty", "--message", "Two"]);
    project.write("untracked", "x\ny\n");
    fs::write(project.root.join("binary"), b"\0\x01").unwrap();
    let to = after(&repository, 1).checkpoint;
    let expected = Changes {
        commits: 2,
        files: 4,
        added: 4,
        removed: 1,
    };
    assert_eq!(repository.changes(&from, &to).unwrap(), expected);
    assert_eq!(repository.changes(&to, &to).unwrap(), Changes::default());
}

#[test]
fn commits_since_the_beginning_are_right_whatever_happens_to_the_history() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    let add = |name: &str| {
        project.write(name, "x\n");
        project.commit_all(name);
    };
    let mut iteration = 1;
    let mut counted = |repository: &Repository| {
        let now = after(repository, iteration).checkpoint;
        iteration += 1;
        // Another process counts all of it.
        let anew = project.open().changes(&first, &now).unwrap().commits;
        let known = repository.changes(&first, &now).unwrap().commits;
        assert_eq!(known, anew);
        known
    };
    for number in 1..=3 {
        add(&format!("file-{number}"));
        assert_eq!(counted(&repository), number);
    }
    assert_eq!(counted(&repository), 3, "nothing is new");
    project.git(["commit", "--quiet", "--amend", "--message", "Rewritten"]);
    assert_eq!(counted(&repository), 3);
    project.git(["reset", "--quiet", "--hard", "HEAD~2"]);
    assert_eq!(counted(&repository), 1);
    add("again");
    assert_eq!(counted(&repository), 2);
    // A branch from before the beginning comes in.
    project.git(["checkout", "--quiet", "-b", "old", first.head.as_deref().unwrap()]);
    add("old");
    project.git(["checkout", "--quiet", "-"]);
    project.git(["merge", "--quiet", "--no-edit", "old"]);
    assert_eq!(counted(&repository), 4);
    project.git(["checkout", "--quiet", "old"]);
    assert_eq!(counted(&repository), 1, "another branch");
}

#[test]
fn changes_since_several_checkpoints_come_with_the_next_one() {
    let project = Project::new();
    let repository = project.open();
    let first = before(&repository, 1).checkpoint;
    project.write("kept", "changed\n");
    project.commit_all("One");
    let second = after(&repository, 1).checkpoint;
    project.write("new", "x\ny\n");
    let since = [&second, &first];
    let (taken, counted) = repository.checkpoint_since(&run(), 2, Moment::After, &since).unwrap();
    let expected = since.map(|from| repository.changes(from, &taken.checkpoint).unwrap());
    let changes: Vec<Changes> = counted.unwrap().iter().map(|counted| counted.changes).collect();
    assert_eq!(changes, expected);
    assert_eq!(
        expected.map(|changes| (changes.commits, changes.files)),
        [(0, 1), (1, 2)]
    );
}

#[test]
fn a_checkpoint_is_made_even_if_an_earlier_one_is_gone() {
    let project = Project::new();
    let repository = project.open();
    let gone = Checkpoint {
        tree: "0123456789012345678901234567890123456789".to_owned(),
        ..before(&repository, 1).checkpoint
    };
    project.write("new", "x\n");
    let (taken, counted) = repository.checkpoint_since(&run(), 1, Moment::After, &[&gone]).unwrap();
    assert!(matches!(counted, Err(GitError::Refused { .. })));
    assert!(files(&project, &taken.checkpoint).contains(&"100644 new".to_owned()));
}

#[test]
fn a_checkpoint_that_is_gone_is_an_error() {
    let project = Project::new();
    let repository = project.open();
    let from = before(&repository, 1).checkpoint;
    let to = Checkpoint {
        tree: "0123456789012345678901234567890123456789".to_owned(),
        ..from.clone()
    };
    assert!(matches!(repository.changes(&from, &to), Err(GitError::Refused { .. })));
}

#[test]
fn the_commits_of_many_iterations_are_found_at_once_as_they_are_one_by_one() {
    let project = Project::new();
    let repository = project.open();
    let mut number = 0;
    let mut taken = || {
        number += 1;
        before(&repository, number).checkpoint
    };
    let mut commit = |text: &str| {
        project.write("lines", text);
        project.commit_all(text);
        taken()
    };
    let mut heads = vec![commit("one"), commit("two\twith a tab"), commit("three")];
    let (linear, merges) = (heads.len(), [("side", "four"), ("main-again", "five")]);
    for (branch, text) in merges {
        project.git(["checkout", "--quiet", "-b", branch, "HEAD~1"]);
        heads.push(commit(text));
    }
    project.git(["merge", "--quiet", "--strategy=ours", "--message", "merged", "side"]);
    heads.push(commit("six"));
    let gone = Checkpoint {
        head: Some("0123456789".repeat(4)),
        ..heads[0].clone()
    };
    heads.push(gone);
    let pairs = |heads: &[Checkpoint]| -> Vec<(Checkpoint, Checkpoint)> {
        let each = heads
            .iter()
            .flat_map(|from| heads.iter().map(move |to| (from.clone(), to.clone())));
        each.collect()
    };
    let spans = pairs(&heads);
    let one_by_one: Vec<_> = spans
        .iter()
        .map(|(from, to)| {
            repository
                .commits_within(crate::process::DEADLINE, from, to)
                .unwrap_or_default()
        })
        .collect();
    assert_eq!(repository.commits_of_each(&spans), one_by_one);
    assert!(
        one_by_one
            .iter()
            .flatten()
            .any(|commit| commit.subject == "two\twith a tab")
    );
    let steps: Vec<_> = heads[..linear]
        .windows(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect();
    let chains = repository.chains(&steps);
    for (from, to) in &steps {
        let commits = chains.between(from, to);
        assert_eq!(commits.map(|commits| commits.len()), Some(1), "no other git is asked");
    }
}

#[test]
fn files_are_read_as_they_were_at_an_earlier_checkpoint() {
    let project = Project::new();
    project.write("bin/tool", "#!");
    fs::set_permissions(project.root.join("bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    project.write("gone", "one\n\0two");
    project.write("same", "same");
    symlink("same", project.root.join("link")).unwrap();
    project.commit_all("More");
    let repository = project.open();
    let from = before(&repository, 1).checkpoint;
    assert_eq!(repository.earlier(&from, &from).unwrap(), Some(Vec::new()));
    project.write("bin/tool", "#!/bin/sh");
    fs::remove_file(project.root.join("gone")).unwrap();
    fs::remove_file(project.root.join("link")).unwrap();
    project.write("link", "no link");
    project.write("new dir/née", "new");
    let to = after(&repository, 1).checkpoint;
    let file = |bytes: &str, executable| EarlierContent::File {
        bytes: bytes.into(),
        executable,
    };
    let expected = [
        ("bin/tool", file("#!", true)),
        ("gone", file("one\n\0two", false)),
        ("link", EarlierContent::Link(b"same".to_vec())),
        ("new dir/née", EarlierContent::Nothing),
    ];
    let expected = expected.map(|(path, was)| (PathBuf::from(path), was));
    assert_eq!(repository.earlier(&from, &to).unwrap().unwrap(), expected);
    // More than a claim should wait for.
    for n in 0..600 {
        project.write(format!("many/{n}"), "");
    }
    let to = after(&repository, 2).checkpoint;
    assert_eq!(repository.earlier(&from, &to).unwrap(), None);
}
