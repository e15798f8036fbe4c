//! Hooks: the user's commands at points of a run, run by the real binary.

use std::fs;

use ralph_core::event::{BackgroundEnd, Event, Hook, HookEvent, IterationEvent, Record};
use serde_json::Value;

use crate::harness::{SOON, Sandbox, Script, events, running::Finished, warnings};

/// A project with these hooks, and a plan of `tasks` tasks.
fn sandbox(hooks: &str, tasks: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(tasks);
    sandbox.write(".ralph/config.json", &format!("{{ \"hooks\": {{ {hooks} }} }}"));
    sandbox.install(&Script::worker());
    sandbox
}

fn ran(sandbox: &Sandbox) -> Finished {
    sandbox.looping_as("text", ["--max-iterations", "9"]).run(SOON)
}

/// The hooks that have ended, in order.
fn ended(records: &[Record]) -> Vec<(Hook, &BackgroundEnd, &str)> {
    let ended = events(records).filter_map(|event| match event {
        Event::Hook(HookEvent::Ended { hook, result, .. }) => Some((*hook, &result.end, &*result.tail)),
        _ => None,
    });
    ended.collect()
}

/// A hook that writes its name, its task and what it is told to files in the home directory.
const LOGGING: &str =
    r#"echo $RALPH_HOOK $RALPH_ITERATION $RALPH_TASK >> ~/log; cat > ~/$RALPH_HOOK.json; env > ~/env; echo told"#;

fn all_logging() -> String {
    let hooks = ["beforeIteration", "afterIteration", "onTaskDone", "onBlocked", "onEnd"];
    hooks.map(|hook| format!("\"{hook}\": \"{LOGGING}\"")).join(", ")
}

#[test]
fn hooks_are_run_at_their_points_with_the_facts_of_the_run() {
    let sandbox = sandbox(&all_logging(), 2);
    sandbox.set_variable("OPENAI_API_KEY", "secret");
    let finished = ran(&sandbox);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(
        sandbox.read_home("log").unwrap(),
        "beforeIteration 1\nafterIteration 1 Task 1\nonTaskDone 1 Task 1\n\
         beforeIteration 2 Task 2\nafterIteration 2 Task 2\nonTaskDone 2 Task 2\nonEnd 2\n"
    );
    let facts = |hook: &str| -> Value {
        let text = sandbox.read_home(&format!("{hook}.json")).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let after = facts("afterIteration");
    assert_eq!(
        (
            &after["outcome"],
            &after["task"],
            &after["tasksDone"],
            &after["adapter"]
        ),
        (&"completed".into(), &"Task 2".into(), &2.into(), &"script".into()),
        "{after}"
    );
    let end = facts("onEnd");
    assert_eq!(
        (&end["exitCode"], &end["end"]),
        (&0.into(), &"done (not verified)".into()),
        "{end}"
    );
    assert!(!sandbox.read_home("env").unwrap().contains("OPENAI_API_KEY"));
    let records = sandbox.journal();
    let exited = |(_, end, tail): &(Hook, &BackgroundEnd, &str)| {
        matches!(end, BackgroundEnd::Exited { exit } if exit.success()) && *tail == "told"
    };
    assert_eq!(ended(&records).len(), 7);
    assert!(ended(&records).iter().all(exited), "{:?}", ended(&records));
    assert!(
        finished.stdout.contains("hook `afterIteration` done in "),
        "{finished:?}"
    );
}

#[test]
fn a_failed_hook_before_an_iteration_stops_the_run_with_its_words() {
    let sandbox = sandbox(
        r#""beforeIteration": "echo the database is down >&2; exit 3", "onEnd": "cat > ~/end.json""#,
        1,
    );
    let finished = ran(&sandbox);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let words = "hook `beforeIteration` failed: exit code 3: the database is down";
    for words in [words, "fix the cause, then `ralph continue`"] {
        let shown = format!("{}{}", finished.stdout, finished.stderr);
        assert!(shown.contains(words), "{words} is not in {finished:?}");
    }
    let started = |event: &Event| matches!(event, Event::Iteration(IterationEvent::Started { .. }));
    assert!(!events(&sandbox.journal()).any(started));
    assert!(sandbox.read_home("end.json").unwrap().contains("\"exitCode\":1"));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains(words), "{report}");
}

#[test]
fn hooks_that_hang_flood_or_fail_are_told_and_hold_nothing_up() {
    let sandbox = sandbox(
        r#""timeout": "1s", "beforeIteration": "sleep 600 & echo up", "afterIteration": "yes flood | head -c 3000000",
           "onTaskDone": "sleep 600", "onEnd": "echo late; exit 7""#,
        1,
    );
    let finished = ran(&sandbox);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = sandbox.journal();
    let ended = ended(&records);
    let hooks: Vec<Hook> = ended.iter().map(|(hook, ..)| *hook).collect();
    assert_eq!(
        hooks,
        [
            Hook::BeforeIteration,
            Hook::AfterIteration,
            Hook::OnTaskDone,
            Hook::OnEnd
        ]
    );
    assert!(
        ended[1].2.contains("flood\nflood\n")
            && ended[1].2.ends_with("(the rest was dropped)")
            && ended[1].2.len() <= 2048,
        "{}",
        ended[1].2.len()
    );
    assert_eq!(*ended[2].1, BackgroundEnd::TimedOut { after_ms: 1_000 });
    for words in [
        "hook `onTaskDone` (Task 1) failed: stopped at its limit of 1.0s",
        "hook `onEnd` failed: exit code 7: late",
    ] {
        assert!(
            warnings(&records).iter().any(|told| told.contains(words)),
            "{words}: {:?}",
            warnings(&records)
        );
        let report = sandbox.ralph(["report"]).run(SOON).stdout;
        assert!(report.contains(words), "{words} is not in {report}");
    }
    sandbox.waits_until_nothing_runs();
}

#[test]
fn a_run_that_is_killed_and_resumed_repeats_no_hook_of_a_task_or_of_the_end() {
    let wait = r#""$FAKE_AGENT" "wait-file $HOME/go""#.replace('"', "\\\"");
    let hooks = format!(
        "\"onTaskDone\": \"echo $RALPH_TASK >> ~/done\", \"afterIteration\": \"echo x >> ~/after; [ $RALPH_ITERATION = 2 ] || {wait}\", \
         \"onEnd\": \"echo end >> ~/end; {wait}\""
    );
    let sandbox = sandbox(&hooks, 2);
    let start = || sandbox.looping(["--max-iterations", "9"]).start();
    let started = |hook: Hook| move |event: &Event| matches!(event, Event::Hook(HookEvent::Started { hook: started, .. }) if *started == hook);
    let first = start();
    first.wait_for_record(SOON, started(Hook::OnTaskDone));
    first.kill();
    first.wait(SOON);
    // The hooks of the first task were due, and were lost with ralph.
    let second = start();
    let told = |event: &Event| matches!(event, Event::Hook(HookEvent::Ended { hook: Hook::OnTaskDone, result, .. }) if result.end != BackgroundEnd::Lost);
    second.wait_for_record(SOON, told);
    second.kill();
    let finished = second.wait(SOON);
    let lost = events(&finished.records())
        .filter(
            |event| matches!(event, Event::Hook(HookEvent::Ended { result, .. }) if result.end == BackgroundEnd::Lost),
        )
        .count();
    assert_eq!(lost, 2);
    sandbox.release("go");
    let third = sandbox.looping(["--max-iterations", "9"]).run(SOON);
    assert_eq!(third.code(), Some(0), "{third:?}");
    let tasks: Vec<String> = sandbox.read_home("done").unwrap().lines().map(str::to_owned).collect();
    assert_eq!(tasks, ["Task 2"]);
    let ends = fs::read_to_string(sandbox.home().join("end")).unwrap_or_default();
    assert!(ends.lines().count() <= 1, "{ends}");
}
