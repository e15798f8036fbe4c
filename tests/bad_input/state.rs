//! State that cannot be read or written.

use std::fs;

use ralph_core::event::{Event, RunEvent};

use super::{assert_complains, assert_refused};
use crate::harness::{SOON, Sandbox, Script, events, file_system::on_a_file_system, running::Finished, wait_until};

/// Adds some 30 KB to the journal.
const TALK: &str = "i=0; while [ $i -lt 200 ]; do said 'one of many lines'; i=$((i + 1)); done";

/// A sandbox whose run was killed while its agent worked.
fn cut_off() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "said ready; [ $n = 1 ] && exec sleep 600; work; over done",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    running.kill();
    running.wait(SOON);
    // The guard needs a moment to notice that ralph is gone.
    wait_until(SOON, "the end of the agent", || {
        sandbox.processes().is_empty().then_some(())
    });
    sandbox
}

/// Replaces the journal by `change` of it, and checks that ralph refuses it and does not write to it.
#[track_caller]
fn refused(change: impl Fn(String) -> String, naming: &[&str], hint: &str) {
    let sandbox = cut_off();
    let path = sandbox.the_run().journal();
    let changed = change(fs::read_to_string(&path).unwrap());
    fs::write(&path, &changed).unwrap();
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let path_text = path.display().to_string();
    assert_complains(&finished, &[&[path_text.as_str()], naming].concat(), hint);
    assert_eq!(finished.stdout, "");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        changed,
        "it is left as it was found"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_journal_of_a_newer_ralph() {
    let newer = |text: String| {
        text.replacen("\"version\":1", "\"version\":9", 1).replacen(
            &format!("\"{}\"", env!("CARGO_PKG_VERSION")),
            "\"7.0.0\"",
            1,
        )
    };
    refused(newer, &["ralph 7.0.0", "version 9", "reads version 1"], "--state-dir");
}

#[test]
fn a_journal_of_another_program() {
    refused(
        |_| "{\"log\": \"hello\"}\n".to_owned(),
        &["not a journal of ralph"],
        "move ",
    );
}

#[test]
fn a_journal_with_a_broken_line() {
    refused(
        |text| text.replacen("plan-read", "plan-\u{7}", 1),
        &["line 6", "not a record"],
        "move ",
    );
}

#[test]
fn a_journal_with_a_line_missing() {
    let missing = |text: String| {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.remove(2);
        lines.concat()
    };
    refused(missing, &["line 3", "seq 3 where 2 belongs"], "move ");
}

#[test]
fn what_the_hint_about_a_broken_journal_says_helps() {
    let sandbox = cut_off();
    let run = sandbox.the_run();
    fs::write(run.journal(), "hello\n").unwrap();
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(1));
    fs::rename(run.dir(), sandbox.home().join("broken")).unwrap();
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_state_directory_that_cannot_be_made() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let file = sandbox.home().join("file");
    fs::write(&file, "").unwrap();
    let finished = sandbox.looping(["--state-dir", file.to_str().unwrap()]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_complains(
        &finished,
        &[file.to_str().unwrap(), "Not a directory"],
        "--state-dir DIR",
    );
    assert_eq!(finished.stdout, "");
}

fn with_state_on(options: &str, script: &Script) -> Option<(Sandbox, Finished)> {
    let sandbox = Sandbox::new();
    sandbox.install(script);
    let place = sandbox.state().join("small");
    fs::create_dir(&place).unwrap();
    let place = place.to_str().unwrap().to_owned();
    let program = sandbox
        .looping(["--state-dir", &place])
        .env("RALPH_LIMITS_DISK_FREE", "unlimited");
    let finished = on_a_file_system(program, &sandbox, &place, options)?.run(SOON);
    Some((sandbox, finished))
}

#[test]
fn a_state_directory_that_is_read_only() {
    let Some((sandbox, finished)) = with_state_on("ro", &Script::worker()) else {
        return;
    };
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_complains(&finished, &["state/small", "Read-only file system"], "--state-dir DIR");
    assert_eq!(finished.stdout, "");
    sandbox.assert_clean();
}

#[test]
fn a_disk_that_fills_up_stops_the_run_and_the_agent() {
    // The recording of the agent's terminal fills the disk, and the next record cannot be written.
    let script = format!("\"$FAKE_AGENT\" 'flood 400000' >&2; {TALK}; exec sleep 600");
    let Some((sandbox, finished)) = with_state_on("size=128k", &Script::jsonl(&script)) else {
        return;
    };
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_complains(
        &finished,
        &["events.jsonl", "No space left on device"],
        "free some space",
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn a_limit_on_the_size_of_files_stops_the_run_and_the_agent_and_kills_nobody_without_a_word() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(&format!("{TALK}; exec sleep 600")));
    let finished = sandbox.looping([] as [&str; 0]).with_small_files(16).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_complains(&finished, &["events.jsonl", "File too large"], "free some space");
    sandbox.assert_nothing_runs();
    let records = finished.records();
    assert_eq!(sandbox.journal(), records, "what was shown was written before");
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "the same command goes on: {finished:?}");
}

#[test]
fn an_agent_may_write_files_of_any_size_where_ralph_may() {
    let sandbox = Sandbox::new();
    // A file size limit would be inherited. ralph survives one itself, which must not change how its agents react to
    // theirs.
    sandbox.install(&Script::jsonl("(ulimit -f 1; yes > large); said $?; work; over done"));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    // 128 + SIGXFSZ.
    assert!(finished.stdout.contains("\"text\":\"153\""), "{finished:?}");
}

#[test]
fn a_latest_that_is_empty_broken_or_gone_does_not_forget_the_run_that_was_cut_off() {
    for content in [Some(&b""[..]), Some(b"\xff\0"), Some(b"20990101-000000-nowhere"), None] {
        let sandbox = cut_off();
        let latest = sandbox.paths().latest();
        match content {
            Some(content) => fs::write(&latest, content).unwrap(),
            None => fs::remove_file(&latest).unwrap(),
        }
        // A ralph that was killed before it created a journal has left this directory.
        fs::create_dir(sandbox.paths().runs().join("20991231-235959-empty")).unwrap();
        sandbox.install(&Script::worker());
        let finished = sandbox.looping([] as [&str; 0]).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let resumed = |event: &Event| matches!(event, Event::Run(RunEvent::Resumed { .. }));
        assert!(events(&finished.records()).any(resumed), "{content:?}: {finished:?}");
    }
}

#[test]
fn a_lock_that_was_deleted_does_not_let_a_second_ralph_in() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let pid = format!("pid {}", running.pid());
    // The second ralph finds a lock that no process holds. The third finds the one that the second created.
    for deleted in [true, false] {
        if deleted {
            fs::remove_file(sandbox.paths().lock()).unwrap();
        }
        let second = sandbox.looping([] as [&str; 0]).run(SOON);
        assert_eq!(second.code(), Some(5), "{second:?}");
        assert_complains(
            &second,
            &["another ralph is already running in this project", &pid],
            "ralph stop",
        );
        let restore = sandbox.ralph(["restore", "1", "--yes"]).run(SOON);
        assert_eq!(restore.code(), Some(5), "{restore:?}");
    }
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "its agent works on: {finished:?}");
    let next = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(next.code(), Some(0), "{next:?}");
}

#[test]
fn a_state_directory_that_others_may_write_to_is_refused_by_every_command() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let state = sandbox.paths().state().to_owned();
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    for command in [&["status"][..], &["steer", "hello"], &["report"], &["doctor"]] {
        let finished = sandbox.ralph(command).run(SOON);
        assert_refused(&sandbox, &finished, 1, &["writable by other users"], "--state-dir DIR");
    }
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    let close = format!("chmod go-w {}", state.display());
    assert_refused(&sandbox, &finished, 1, &[state.to_str().unwrap()], &close);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
}
