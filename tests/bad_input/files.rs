//! Pipes, devices and endless files in place of a small text file of the project.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use nix::sys::stat::Mode;
use ralph_core::event::{Event, PlanEvent, RunEvent};

use super::assert_refused;
use crate::harness::{SOON, Sandbox, Script};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox
}

/// Puts a named pipe without a writer at `path` in the project.
fn pipe(sandbox: &Sandbox, path: &str) -> PathBuf {
    let path = sandbox.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    _ = fs::remove_file(&path); // there may be none
    nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    path
}

/// Puts a link to an endless stream of zeros at `path` in the project.
fn endless(sandbox: &Sandbox, path: &str) {
    let path = sandbox.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink("/dev/zero", path).unwrap();
}

/// Puts a file at `path` that does not fit into memory.
fn huge(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().set_len(1 << 40).unwrap();
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], naming: &[&str], hint: &str) {
    let finished = sandbox.looping(args).run(SOON);
    assert_refused(sandbox, &finished, 3, naming, hint);
}

#[test]
fn a_pipe_as_configuration_is_refused_by_name() {
    let sandbox = sandbox();
    pipe(&sandbox, ".ralph/config.json");
    let naming = [".ralph/config.json", "it is a named pipe, not a regular file"];
    refused(&sandbox, &[], &naming, "ralph config");
    let listed = sandbox.ralph(["config"]).run(SOON);
    assert_eq!(listed.code(), Some(3), "{listed:?}");
    assert!(listed.stdout.contains(".ralph/config.json\n"), "{listed:?}");
    assert!(listed.stderr.contains(naming[1]), "{listed:?}");
    let finished = sandbox.ralph(["goals", "check"]).run(SOON);
    assert_refused(&sandbox, &finished, 3, &naming, "ralph config");
    let doctor = sandbox.ralph(["doctor"]).run(SOON);
    assert!(doctor.stdout.contains(naming[1]), "{doctor:?}");
}

#[test]
fn an_endless_configuration_is_refused_by_name() {
    let sandbox = sandbox();
    endless(&sandbox, ".ralph/config.json");
    let naming = [".ralph/config.json", "it is a device, not a regular file"];
    refused(&sandbox, &[], &naming, "ralph config");
    huge(&sandbox.project().join("large.json"));
    fs::remove_file(sandbox.project().join(".ralph/config.json")).unwrap();
    let naming = ["large.json", "it is larger than 1 MiB"];
    refused(&sandbox, &["--config", "large.json"], &naming, "ralph config");
}

#[test]
fn a_configuration_may_be_a_link_to_a_file() {
    let sandbox = sandbox();
    sandbox.write("elsewhere.json", "{ \"limits\": { \"maxTme\": \"1h\" } }\n");
    fs::create_dir_all(sandbox.project().join(".ralph")).unwrap();
    symlink("../elsewhere.json", sandbox.project().join(".ralph/config.json")).unwrap();
    refused(
        &sandbox,
        &[],
        &[".ralph/config.json:1", "limits.maxTme"],
        "limits.maxTime",
    );
}

#[test]
fn a_prompt_that_is_no_small_file_is_refused_by_name() {
    let sandbox = sandbox();
    pipe(&sandbox, ".ralph/prompt.md");
    let naming = [".ralph/prompt.md", "it is a named pipe, not a regular file"];
    refused(&sandbox, &[], &naming, "--prompt-file");
    huge(&sandbox.project().join("large.md"));
    let naming = ["large.md", "it is larger than 1 MiB"];
    refused(&sandbox, &["--prompt-file", "large.md"], &naming, "--prompt-file");
    fs::write(sandbox.project().join("latin.md"), b"Work.\ngr\xfcn\n").unwrap();
    let naming = ["latin.md", "line 2, column 3", "not UTF-8"];
    refused(&sandbox, &["--prompt-file", "latin.md"], &naming, "--prompt-file");
}

#[test]
fn a_plan_that_is_no_file_is_refused_by_name() {
    let sandbox = sandbox();
    pipe(&sandbox, "PLAN.md");
    let naming = ["PLAN.md", "it is a named pipe, not a regular file"];
    refused(&sandbox, &[], &naming, "--plan FILE");
}

#[test]
fn a_plan_of_half_a_million_tasks_is_refused_with_their_number() {
    let sandbox = sandbox();
    sandbox.write("PLAN.md", &"- [ ] a\n".repeat(500_000));
    let naming = ["PLAN.md", "the plan has 500,000 tasks; the maximum is 10,000"];
    refused(&sandbox, &[], &naming, "split it");
}

#[test]
fn a_plan_that_outgrows_its_bound_during_a_run_is_told_with_the_way_back() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "yes -- '- [ ] more' | head -n 20000 >> PLAN.md; over done",
    ));
    let finished = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let Some(Event::Run(RunEvent::Stopped { hints, .. })) = records.last().map(|record| &record.event) else {
        panic!("{finished:?}");
    };
    let told = records.iter().find_map(|record| match &record.event {
        Event::Plan(PlanEvent::NotRead { why }) => Some(why.to_string()),
        _ => None,
    });
    assert!(
        told.is_some_and(|why| why.contains("the plan has 20,002 tasks; the maximum is 10,000")),
        "{finished:?}"
    );
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    assert!(hints.iter().any(|hint| hint.contains("ralph restore 1")), "{hints:?}");
    let largest = finished.stdout.lines().map(str::len).max();
    assert!(largest < Some(64 << 10), "{largest:?} bytes");
}

#[test]
fn an_adapter_that_is_no_small_file_is_refused_by_name_and_harms_no_other() {
    let sandbox = sandbox();
    pipe(&sandbox, ".ralph/adapters/pipe.toml");
    endless(&sandbox, ".ralph/adapters/endless.toml");
    huge(&sandbox.project().join(".ralph/adapters/huge.toml"));
    for (id, why) in [
        ("pipe", "it is a named pipe, not a regular file"),
        ("endless", "it is a device, not a regular file"),
        ("huge", "it is larger than 256 KiB"),
    ] {
        let naming = [&format!("{id}.toml"), why];
        refused(&sandbox, &["--adapter", id], &naming, "ralph adapters show");
    }
    // The agent commits everything it finds.
    fs::remove_file(sandbox.project().join(".ralph/adapters/huge.toml")).unwrap();
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn of_twenty_thousand_adapters_a_bounded_number_is_read_and_the_rest_is_told() {
    let sandbox = sandbox();
    let adapters = sandbox.project().join(".ralph/adapters");
    fs::create_dir_all(&adapters).unwrap();
    let text = adapters.join("a.toml");
    fs::write(&text, "title = \"one of many\"\n").unwrap();
    for number in 0..20_000 {
        fs::hard_link(&text, adapters.join(format!("b{number}.toml"))).unwrap();
    }
    let listed = sandbox.ralph(["adapters"]).run(SOON);
    assert_eq!(listed.code(), Some(0), "{}", listed.stderr);
    assert!(
        listed.stdout.lines().count() < 1_000,
        "{} lines",
        listed.stdout.lines().count()
    );
    assert!(listed.stderr.contains("adapters: too many files"), "{}", listed.stderr);
}
