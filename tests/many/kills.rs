//! A batch that is killed at any moment, without disk space, or with something in its way continues, merges once and
//! loses nothing.

use std::{fs, path::PathBuf, thread};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::testing::{Dice, rounds};

use super::{QUARRELLER, WORKER, assert_tidy, assert_verified, batch, many, sandbox, show, status};
use crate::harness::{
    SOON, Sandbox,
    processes::is_running,
    running::{Finished, Running},
    wait_until,
};

/// Runs `round` for each number, two at a time.
fn side_by_side(rounds: &[usize], round: fn(usize)) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(number) = rounds.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    round(*number);
                }
            });
        }
    });
}

fn kill_when_journal_has(sandbox: &Sandbox, running: Running, lines: usize) -> Finished {
    let batches = sandbox.paths().state().join("batches");
    let has = || {
        let entries = fs::read_dir(&batches).ok()?;
        let journals = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("events.jsonl")).ok());
        let most = journals.map(|text| text.lines().count()).max();
        most.filter(|most| *most >= lines).map(drop)
    };
    wait_until(SOON, "records", has);
    running.kill();
    running.wait(SOON)
}

#[test]
fn killed_after_any_record_a_batch_neither_merges_twice_nor_loses_a_branch() {
    // Number of records of two plans, the second of which has a conflict and gets a task.
    const RECORDS: usize = 24;
    let cuts: Vec<usize> = (2..RECORDS).step_by((RECORDS / rounds(3)).max(1)).collect();
    side_by_side(&cuts, killed_at);
}

fn killed_at(records: usize) {
    let sandbox = sandbox(QUARRELLER, &["api", "ui"]);
    let goal = "! grep -q '<<<<' shared.txt";
    let args = ["api.md", "ui.md", "--jobs", "2", "--goal", &format!("whole={goal}")];
    kill_when_journal_has(&sandbox, batch(&sandbox, &args).start(), records);
    let table = many(&sandbox, "status").run(SOON);
    let goes_on = |line: &str| line.ends_with("  running");
    assert!(!table.stdout.lines().any(goes_on), "killed after {records}: {table:?}");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "killed after {records}: {resumed:?}");
    assert_verified(&sandbox, goal, &["api", "ui"]);
    assert_tidy(&sandbox);
}

/// The journals of all batches and of all runs of a sandbox.
fn journals(sandbox: &Sandbox) -> Vec<PathBuf> {
    let below = |dir: PathBuf| {
        fs::read_dir(dir)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let projects = below(sandbox.state().join("ralph"));
    let records = projects.flat_map(|project| ["batches", "runs"].map(|kind| project.join(kind)));
    records
        .flat_map(below)
        .map(|dir| dir.join("events.jsonl"))
        .filter(|journal| journal.is_file())
        .collect()
}

fn bytes_of_journals(sandbox: &Sandbox) -> u64 {
    let lengths = journals(sandbox)
        .into_iter()
        .map(|journal| fs::metadata(journal).map_or(0, |meta| meta.len()));
    lengths.sum()
}

/// The running processes of runs, by the pids in their journals.
fn jobs(sandbox: &Sandbox) -> Vec<i32> {
    let named = journals(sandbox).into_iter().filter_map(|journal| {
        let text = fs::read_to_string(journal).ok()?;
        let started = text.lines().rev().find(|line| line.contains("\"pid\":"))?;
        let digits = started.split_once("\"pid\":")?.1;
        digits
            .split(|character: char| !character.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    });
    named.filter(|pid| is_running(*pid)).collect()
}

/// A batch takes seconds, and more seeds than this find nothing new.
const MOST_SEEDS: usize = 20;

#[test]
fn killed_at_random_moments_batches_and_jobs_go_on_and_the_target_is_always_verified() {
    let seeds: Vec<usize> = (1..=rounds(2).min(MOST_SEEDS)).collect();
    side_by_side(&seeds, killed_at_random);
}

fn killed_at_random(seed: usize) {
    /// Approximate size of the journals at the end.
    const BYTES: u64 = 48 << 10;
    let mut dice = Dice::new(seed as u64);
    let sandbox = sandbox(QUARRELLER, &["api", "ui"]);
    let goal = "! grep -q '<<<<' shared.txt";
    let args = ["api.md", "ui.md", "--jobs", "2", "--goal", &format!("whole={goal}")];
    let mut running = batch(&sandbox, &args).start();
    let mut log = Vec::new();
    for _ in 0..3 {
        let (at, job) = (bytes_of_journals(&sandbox) + dice.roll(BYTES / 2), dice.roll(3) == 0);
        let moment = || (!is_running(running.pid()) || bytes_of_journals(&sandbox) >= at).then_some(());
        wait_until(SOON, "bytes of journals", moment);
        log.push((at, job));
        match jobs(&sandbox).first() {
            Some(pid) if job => _ = kill(Pid::from_raw(*pid), Signal::SIGKILL), // it may have ended meanwhile
            Some(_) | None => {
                if is_running(running.pid()) {
                    running.kill();
                }
                running.wait(SOON);
                running = many(&sandbox, "resume").start();
            }
        }
    }
    let mut ended = running.wait(SOON);
    if ended.code() != Some(0) {
        // The batch was killed before there was anything to resume, or a job was killed too often.
        ended = match ended.stderr.contains("there is no batch") {
            true => batch(&sandbox, &args).run(SOON),
            false => many(&sandbox, "resume").run(SOON),
        };
    }
    assert_eq!(ended.code(), Some(0), "seed {seed}, killed at {log:?}: {ended:?}");
    assert_verified(&sandbox, goal, &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn git_is_told_to_end_before_it_is_killed_so_that_it_leaves_no_lock_and_who_resumes_waits_for_it() {
    let mut sandbox = sandbox(WORKER, &["api"]);
    sandbox.run_before_git_of_ralph(
        r#"test -z "$RESUMED" || test -e "$HOME/told" || echo "$*" >> "$HOME/early"
case "$*" in
    *"worktree add"*)
        if ! test -e "$HOME/told"; then
            trap 'echo leaving; echo leaving >&2; echo told > "$HOME/told"; exit 1' TERM
            echo adding > "$HOME/adding"
            sleep 3600 &
            wait
        fi ;;
esac"#,
    );
    let running = batch(&sandbox, &["api.md"]).start();
    let is_there = |name: &str| sandbox.home().join(name).exists().then_some(());
    wait_until(SOON, "git", || is_there("adding"));
    running.kill();
    running.wait(SOON);
    let resumed = many(&sandbox, "resume").env("RESUMED", "1").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_eq!(
        (sandbox.read_home("told").as_deref(), sandbox.read_home("early")),
        (Some("told\n"), None)
    );
    assert_tidy(&sandbox);
}

/// A batch that was killed while git wrote the entry of a work tree. git cannot list work trees from then on.
fn killed_in_writing() -> Sandbox {
    let sandbox = sandbox(WORKER, &["api"]);
    kill_when_journal_has(&sandbox, batch(&sandbox, &["api.md"]).start(), 3);
    let id = status(&sandbox)["batch"].as_str().expect("a batch").to_owned();
    let project = sandbox.paths().state().file_name().expect("a name").to_owned();
    let trees = sandbox.state().join("ralph/worktrees").join(project).join(id);
    // The files that git writes before the last one of an entry.
    let entry = sandbox.project().join(".git/worktrees/_merge");
    fs::create_dir_all(&entry).expect("an entry");
    let git_file = trees.join("_merge/.git");
    for (name, text) in [
        ("locked", "initializing"),
        ("gitdir", &format!("{}\n", git_file.display())),
        ("HEAD", &format!("{}\n", "0".repeat(40))),
        ("commondir", ""),
    ] {
        fs::write(entry.join(name), text).expect("a file of the entry");
    }
    let listed = sandbox.program("git").args(["worktree", "list"]).run(SOON);
    assert_ne!(listed.code(), Some(0), "git lists it: {listed:?}");
    sandbox
}

#[test]
fn an_entry_of_a_work_tree_that_git_was_killed_in_writing_is_taken_away() {
    let sandbox = killed_in_writing();
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_tidy(&sandbox);
}

#[test]
fn such_an_entry_is_in_no_new_batch_s_way() {
    let sandbox = killed_in_writing();
    sandbox.git(["branch", "next"]);
    let begun = batch(&sandbox, &["api.md", "--into", "next"]).run(SOON);
    assert_eq!(begun.code(), Some(0), "{begun:?}");
    let listed = sandbox.program("git").args(["worktree", "list"]).run(SOON);
    assert_eq!(listed.code(), Some(0), "{listed:?}");
}

#[test]
fn without_space_for_a_work_tree_a_plan_is_left_with_git_s_reason_and_a_directory_in_its_way_goes() {
    let mut sandbox = sandbox(WORKER, &["api", "ui"]);
    // Part of the files is written, then the disk is full.
    sandbox.run_before_git_of_ralph(
        r#"case "$*" in
    *"worktree add"*/ui*)
        if ! test -e "$HOME/space"; then
            for tree; do case "$tree" in /*/ui) mkdir -p "$tree/half"; echo half > "$tree/half/file" ;; esac; done
            echo 'fatal: cannot write: No space left on device' >&2
            exit 128
        fi ;;
esac"#,
    );
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stdout.contains("ui: not merged: "), "{finished:?}");
    assert!(finished.stdout.contains("No space left on device"), "{finished:?}");
    assert_verified(&sandbox, "test -s api.txt", &["api"]);
    let kept = &status(&sandbox)["plans"][1];
    assert_eq!(kept["phase"]["why"]["type"], "failed", "{kept}");
    sandbox.release("space");
    let resumed = many(&sandbox, "resume").run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert_eq!(show(&sandbox, "ui.txt"), "1\n2\n");
    assert_verified(&sandbox, "test -s api.txt", &["api", "ui"]);
    assert_tidy(&sandbox);
}
