//! Odd surroundings in which a run continues with a notice, and a second ralph.

use ralph_core::event::{Event, IterationEvent};

use super::assert_complains;
use crate::harness::{SOON, Sandbox, Script, events, running::Finished, warnings};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    // The agent commits if it can.
    sandbox.install(&Script::jsonl("work >/dev/null 2>&1; over done"));
    sandbox
}

#[track_caller]
fn finishes(sandbox: &Sandbox) -> Finished {
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

#[test]
fn without_a_repository_a_run_works_and_says_what_is_missing() {
    let sandbox = sandbox();
    std::fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    let finished = finishes(&sandbox);
    let warnings = warnings(&finished.records());
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("no checkpoints"), "{warnings:?}");
    assert!(events(&finished.records()).any(|event| matches!(
        event,
        Event::Iteration(IterationEvent::Settled {
            progress: Some(true),
            ..
        })
    )));
}

#[test]
fn a_repository_without_a_commit_is_one_all_the_same() {
    let sandbox = sandbox();
    std::fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    sandbox.git(["init", "--quiet"]);
    let finished = finishes(&sandbox);
    let checkpoints = events(&finished.records())
        .filter(|event| {
            matches!(
                event,
                Event::Iteration(IterationEvent::Settled {
                    checkpoint: Some(_),
                    ..
                })
            )
        })
        .count();
    assert_eq!(checkpoints, 2, "{finished:?}");
}

#[test]
fn a_merge_in_progress_stays_in_progress() {
    let sandbox = sandbox();
    sandbox.git(["checkout", "--quiet", "-b", "other"]);
    sandbox.write("file", "theirs\n");
    sandbox.git(["add", "file"]);
    sandbox.git(["commit", "--quiet", "--message", "Theirs"]);
    sandbox.git(["checkout", "--quiet", "main"]);
    sandbox.write("file", "ours\n");
    sandbox.git(["add", "file"]);
    sandbox.git(["commit", "--quiet", "--message", "Ours"]);
    let merge = sandbox.program("git").args(["merge", "other"]).run(SOON);
    assert_eq!(merge.code(), Some(1), "{merge:?}");
    sandbox.install(&Script::jsonl("sed -i '0,/- \\[ \\]/s//- [x]/' PLAN.md; over done"));
    let finished = finishes(&sandbox);
    assert!(
        warnings(&finished.records()).iter().any(|text| text.contains("merge")),
        "{finished:?}"
    );
    assert!(sandbox.git(["status"]).contains("You have unmerged paths"));
    assert!(sandbox.read("file").unwrap().contains("<<<<<<<"));
}

#[test]
fn a_directory_below_a_repositorys_root_is_a_project_of_its_own() {
    let sandbox = sandbox();
    sandbox.write("sub/PLAN.md", "- [ ] Below\n");
    sandbox.install(&Script::jsonl(
        "sed -i '0,/- \\[ \\]/s//- [x]/' \"$RALPH_PLAN\"; over done",
    ));
    let finished = sandbox
        .looping([] as [&str; 0])
        .current_dir(sandbox.project().join("sub"))
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("sub/PLAN.md").as_deref(), Some("- [x] Below\n"));
    assert!(
        sandbox.read("PLAN.md").unwrap().contains("- [ ]"),
        "the other plan is untouched"
    );
}

#[test]
fn a_second_ralph_is_told_who_is_there_and_how_to_look_at_it() {
    let sandbox = sandbox();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let first = sandbox.looping([] as [&str; 0]).start();
    first.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let second = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(second.code(), Some(5), "{second:?}");
    let pid = format!("pid {}", first.pid());
    let run = sandbox.paths().latest_run().unwrap();
    assert_complains(&second, &["another ralph", &pid, &run.0], "ralph status");
    assert_eq!(second.stdout, "");
    sandbox.release("go");
    assert_eq!(first.wait(SOON).code(), Some(0), "the first one is not disturbed");
}

#[test]
fn two_projects_with_one_state_directory_do_not_meet() {
    let (one, other) = (sandbox(), sandbox());
    one.install(&Script::jsonl("said ready; await go; work; over done"));
    let first = one.looping([] as [&str; 0]).start();
    first.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let finished = other
        .looping(["--state-dir", one.state().join("ralph").to_str().unwrap()])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    one.release("go");
    assert_eq!(first.wait(SOON).code(), Some(0));
}

#[test]
fn an_adapter_of_the_project_is_found() {
    let sandbox = sandbox();
    let manifest = r#"
id = "own"
dialect = "terminal"
[command]
program = "sh"
args = ["-c", "sed -i 's/\\[ \\]/[x]/' PLAN.md"]
prompt = "stdin"
"#;
    sandbox.write(".ralph/adapters/own.toml", manifest);
    let finished = sandbox.looping(["--adapter", "own"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn an_agent_that_exits_at_once_is_tried_again_until_the_limit() {
    let sandbox = sandbox();
    sandbox.install(&Script::terminal("exit 0"));
    let finished = sandbox.looping(["--max-iterations", "3"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
}

#[test]
fn an_agent_that_kills_its_own_group_harms_nobody_else() {
    let sandbox = sandbox();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("[ $n = 1 ] && kill -9 0; work; over done"));
    finishes(&sandbox);
    sandbox.assert_nothing_runs();
}

#[test]
fn an_agent_that_changes_directories_and_closes_its_output_can_still_be_stopped() {
    let sandbox = sandbox();
    sandbox.install(&Script::terminal(
        ": > \"$HOME/ready\"; cd /; exec \"$FAKE_AGENT\" close-output ignore-signals hang",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    crate::harness::wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(running.wait(SOON).code(), Some(130));
    sandbox.assert_nothing_runs();
}
