//! Background tasks: they outlive an iteration, but never the run.

use ralph_core::event::{BackgroundEnd, BackgroundEvent, BackgroundProgress, Event, Exit, IterationEvent, Requester};

use crate::harness::{SOON, Sandbox, Script, events, running::Finished, wait_until};

/// A server that writes one line at once and then stays silent. It leaves no pid file.
const SERVER: &str = "echo listening; exec sleep 600";

#[track_caller]
fn tasks(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox.ralph(["tasks"].iter().chain(args)).run(SOON)
}

#[track_caller]
fn start(sandbox: &Sandbox, command: &str) -> String {
    let started = tasks(sandbox, &["start", command]);
    assert_eq!(started.code(), Some(0), "{started:?}");
    started.stdout
}

/// The printed output of a task; waits until it is not empty.
#[track_caller]
fn output(sandbox: &Sandbox, number: &str) -> String {
    wait_until(SOON, "an output", || {
        let printed = tasks(sandbox, &["output", number]);
        assert_eq!(printed.code(), Some(0), "{printed:?}");
        Some(printed.stdout).filter(|text| !text.is_empty())
    })
}

/// How each task ended, in the order of the ends.
fn ends(finished: &Finished) -> Vec<(u32, BackgroundEnd)> {
    let records = finished.records();
    let ended = events(&records).filter_map(|event| match event {
        Event::Background(BackgroundEvent::Ended { number, result }) => Some((*number, result.end.clone())),
        _ => None,
    });
    ended.collect()
}

fn has_ended(number: u32) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Background(BackgroundEvent::Ended { number: n, .. }) if *n == number)
}

#[test]
fn a_task_outlives_the_iteration_its_end_is_told_once_and_nothing_is_left_after_the_run() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl("said ready; await go$n; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));

    assert!(start(&sandbox, SERVER).starts_with("background task 1 started: echo listening"));
    assert_eq!(output(&sandbox, "1"), "listening\n");
    // Progress is recorded, and shown while the task runs.
    let progress = BackgroundProgress {
        // A terminal ends a line with two bytes.
        output_bytes: 11,
        output_lines: 1,
        last_line: "listening".into(),
    };
    let is_told = |event: &Event| {
        *event
            == Event::Background(BackgroundEvent::Progressed {
                number: 1,
                progress: progress.clone(),
            })
    };
    running.wait_for_record(SOON, is_told);
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(
        status.contains("1: echo listening; exec sleep 600 (running, "),
        "{status}"
    );
    assert!(status.contains("): 1 line, the last: listening\n"), "{status}");
    // A task that ignores `SIGTERM` and has a child in another session.
    start(
        &sandbox,
        "trap '' TERM; (trap '' TERM; exec setsid sleep 600) & while :; do sleep 600; done",
    );
    start(
        &sandbox,
        "printf 'one\\033[1mbold\\033[0m\\n\\377\\0binary\\n'; setsid sleep 600 & exit 3",
    );
    running.wait_for_record(SOON, has_ended(3));
    assert_eq!(output(&sandbox, "3"), "onebold\n\u{fffd}binary\n");

    // The limit leaves room for a third running task, but not for a fourth.
    start(&sandbox, "yes flood");
    let fourth = tasks(&sandbox, &["start", "true"]);
    assert_eq!(fourth.code(), Some(1), "{fourth:?}");
    assert!(
        fourth.stderr.contains("at most 3 background tasks run at a time"),
        "{fourth:?}"
    );
    for (number, again) in [("2", "is"), ("4", "is")] {
        let cancelled = tasks(&sandbox, &["cancel", number]);
        assert_eq!(cancelled.code(), Some(0), "{cancelled:?}");
        let twice = tasks(&sandbox, &["cancel", number]);
        let why = format!("background task {number} {again} ");
        assert!(twice.code() == Some(1) && twice.stderr.contains(&why), "{twice:?}");
    }
    running.wait_for_record(SOON, has_ended(2));
    running.wait_for_record(SOON, has_ended(4));

    let listed = tasks(&sandbox, &[]).stdout;
    for words in ["running", "listening", "cancelled", "exit code 3"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let json: serde_json::Value = serde_json::from_str(&tasks(&sandbox, &["--json"]).stdout).expect("JSON");
    assert_eq!(
        (
            &json[0]["state"],
            &json[0]["lastLine"],
            &json[2]["result"]["end"]["exit"]["code"]
        ),
        (&"running".into(), &"listening".into(), &3.into())
    );
    for (args, why) in [
        (["output", "9"], "there is no background task 9"),
        (["cancel", "9"], "there is no background task 9"),
        (["start", " "], "the command is empty"),
        (["start", "no-such-program"], "`no-such-program`: no such program"),
    ] {
        let refused = tasks(&sandbox, &args);
        assert!(
            refused.code() != Some(0) && refused.stderr.contains(why),
            "{args:?}: {refused:?}"
        );
    }

    sandbox.release("go1");
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { iteration: 2, .. }))
    });
    let prompt = sandbox.prompt(2);
    let (_, told) = prompt.split_once("Background tasks of this run").expect("a section");
    assert!(
        told.contains("Task 1, started by the user, has been running for"),
        "{told}"
    );
    assert!(
        told.contains("(exit code 3)") && told.contains("ended with:\n  onebold"),
        "{told}"
    );
    assert!(told.contains("(cancelled)"), "{told}");
    sandbox.release("go2");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    sandbox.assert_nothing_runs();
    let exited = BackgroundEnd::Exited {
        exit: Exit::Code { code: 3 },
    };
    let ends = ends(&finished);
    assert_eq!(
        (&ends[0], ends.last()),
        (&(3, exited), Some(&(1, BackgroundEnd::RunOver)))
    );
    assert!(!tasks(&sandbox, &[]).stderr.is_empty(), "no run is here any more");
}

/// Calls ralph as an agent does, and writes its output and exit code to `NAME.out`.
fn call(name: &str, args: &str) -> String {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    format!("{ralph} tasks {args} > \"$HOME/{name}.out\" 2>&1; echo \"code $?\" >> \"$HOME/{name}.out\"\n")
}

#[test]
fn an_agent_has_tasks_of_its_own_and_none_survives_a_ralph_that_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let calls: String = [
        ("start", "start --json -- sleep 600"),
        ("list", ""),
        ("theirs", "cancel 1"),
        ("own", "cancel 2"),
        ("lasting", "start 'echo up; (setsid sleep 600 &) ; sleep 600'"),
    ]
    .into_iter()
    .map(|(name, args)| call(name, args))
    .collect();
    sandbox.install(&Script::jsonl(&format!(
        "if [ $n = 1 ]; then said ready; await go\n{calls}said called; exec sleep 600; fi; work; over done"
    )));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    start(&sandbox, SERVER);
    sandbox.release("go");
    running.wait_for_record(SOON, crate::loop_behaviour::said("called"));
    let called = |name: &str| sandbox.read_home(&format!("{name}.out")).expect("the agent has called");
    assert!(called("start").contains(r#"{"number":2,"#), "{}", called("start"));
    assert!(called("list").contains("echo listening"), "{}", called("list"));
    assert!(
        called("theirs").contains("background task 1 is the user's") && called("theirs").contains("code 1"),
        "{}",
        called("theirs")
    );
    assert!(called("own").contains("code 0"), "{}", called("own"));
    assert!(called("lasting").contains("code 0"), "{}", called("lasting"));
    let by_agent = |event: &Event| {
        matches!(
            event,
            Event::Background(BackgroundEvent::Started {
                by: Requester::Agent,
                number: 3,
                ..
            })
        )
    };
    running.wait_for_record(SOON, by_agent);
    running.kill();
    running.wait(SOON);
    sandbox.waits_until_nothing_runs();

    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let ends = ends(&finished);
    let lost: Vec<u32> = ends
        .iter()
        .filter(|(_, end)| *end == BackgroundEnd::Lost)
        .map(|(number, _)| *number)
        .collect();
    assert!(lost.starts_with(&[1]) && lost.ends_with(&[3]), "{ends:?}");
    assert!(sandbox.prompt(2).contains("ended with ralph, which was killed"));
    sandbox.assert_nothing_runs();
}
