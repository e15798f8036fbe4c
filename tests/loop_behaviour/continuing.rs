//! A run that has ended and is continued on request.

use std::{fs, time::Duration};

use nix::sys::signal::Signal;
use ralph_core::event::{Event, IterationEvent, LimitKind, Proof, Record, RunEvent, RunId, StopReason};
use ralph_state::store::journal::{read, read_view};

use super::reason;
use crate::harness::{SOON, Sandbox, Script, events, running::Finished, wait_until};

/// Opens a session and works; hangs once, in the second iteration.
const HANGS_ONCE: &str = r#"echo "$n: $*" >> "$HOME/args"
echo '{"type":"opened","session":"session-'$n'","model":"m"}'
if [ "$n" = 2 ] && [ ! -e "$HOME/ready" ]; then : > "$HOME/ready"; exec sleep 600; fi
work; over done"#;

fn runs(sandbox: &Sandbox) -> Vec<RunId> {
    sandbox.paths().run_ids()
}

/// The journal of the latest run.
fn journal(sandbox: &Sandbox) -> Vec<Record> {
    let run = sandbox.paths().latest_run().expect("a run");
    read(&sandbox.paths().run(&run).journal()).expect("a journal").0
}

fn iterations(records: &[Record]) -> Vec<u32> {
    let started = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { iteration, .. }) => Some(*iteration),
        _ => None,
    });
    started.collect()
}

fn said(finished: &Finished, what: &str) {
    assert!(finished.stderr.contains(what), "{what} is not in {finished:?}");
}

#[test]
fn a_run_that_was_interrupted_is_continued_with_its_settings_counts_and_messages() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl(HANGS_ONCE).resumed_with("--resume={session}"));
    let started = [
        "-a",
        "script",
        "--goal",
        "tests=true",
        "-n",
        "9",
        "--session",
        "resume",
        "PLAN.md",
    ];
    let running = sandbox.ralph(started).start();
    wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.signal(Signal::SIGINT);
    let ended = running.wait(SOON);
    assert_eq!(ended.code(), Some(130), "{ended:?}");
    assert!(
        ended.stdout.contains("hint: `ralph continue` continues this run"),
        "{ended:?}"
    );
    // No option of the first command line has to be repeated.
    let continued = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    let records = journal(&sandbox);
    assert_eq!(*reason(&records), StopReason::done(Proof::ExitCodes));
    assert_eq!(iterations(&records), [1, 2, 3, 4]);
    assert_eq!(runs(&sandbox).len(), 1);
    assert_eq!(
        sandbox.read_home("args").unwrap(),
        "1: \n2: --resume=session-1\n3: --resume=session-2\n4: --resume=session-3\n",
        "the session in which it was interrupted goes on"
    );
    let reopened = |event: &Event| matches!(event, Event::Run(RunEvent::Reopened { continued: true, .. }));
    assert_eq!(events(&records).filter(|event| reopened(event)).count(), 1);
    let resumed = events(&records).find_map(|event| match event {
        Event::Run(RunEvent::Resumed { settings, .. }) => Some(settings.clone()),
        _ => None,
    });
    let settings = resumed.expect("it goes by settings");
    assert_eq!((settings.goals.len(), settings.limits.max_iterations), (1, Some(9)));
    // The run is done now, with nothing left to continue.
    let again = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(again.code(), Some(1), "{again:?}");
    said(
        &again,
        "is done, so there is nothing to continue\nhint: `ralph` starts a new run",
    );
}

#[test]
fn the_text_of_a_continued_run_counts_what_was_done_before() {
    let sandbox = Sandbox::new();
    let worker = Script::jsonl("work; over done");
    sandbox.install(&worker);
    sandbox.install_as("second", &worker);
    sandbox.write("PLAN.md", "- [ ] One {adapter=second}\n- [ ] Two\n- [ ] Three\n");
    let ended = sandbox.ralph(["--adapter", "script", "-n", "1"]).run(SOON);
    assert_eq!(ended.code(), Some(6), "{ended:?}");
    let continued = sandbox.ralph(["continue", "--iterations", "2"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    let lines = |what: &str| {
        let lines = continued.stdout.lines().filter(|line| line.contains(what));
        lines
            .map(|line| line.split_once(what).unwrap().1.trim().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        lines("· plan: "),
        ["2 tasks open, 1 done", "1 task open, 2 done", "0 tasks open, 3 done"]
    );
    assert_eq!(
        lines("  completed  ").len(),
        3,
        "the table has every iteration: {continued:?}"
    );
    // A task that is done asks for no agent any more.
    assert_eq!(lines("was started without"), [""; 0], "{continued:?}");
}

#[test]
fn a_limit_that_ended_a_run_is_raised_or_the_run_is_not_continued() {
    let sandbox = Sandbox::new();
    let none = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(none.code(), Some(1), "{none:?}");
    said(&none, "no run in this project yet");
    sandbox.plan(4);
    sandbox.install(&Script::jsonl("work; over done"));
    let ended = sandbox.ralph(["--adapter", "script", "-n", "1"]).run(SOON);
    assert_eq!(ended.code(), Some(6), "{ended:?}");
    let refused = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    said(
        &refused,
        "has reached its iteration limit, 1 of 1, so it would end at once\nhint: `ralph continue --iterations 1` continues it",
    );
    sandbox.write("OTHER.md", "- [ ] Task 1\n");
    let other = sandbox.ralph(["continue", "--plan", "OTHER.md"]).run(SOON);
    assert_eq!(other.code(), Some(2), "{other:?}");
    let continued = sandbox.ralph(["continue", "--iterations", "2"]).run(SOON);
    assert_eq!(continued.code(), Some(6), "{continued:?}");
    assert_eq!(iterations(&journal(&sandbox)), [1, 2, 3]);
    // The same command starts a new run, and mentions `ralph continue`.
    let new = sandbox.ralph(["--adapter", "script", "-n", "9"]).run(SOON);
    assert_eq!(new.code(), Some(0), "{new:?}");
    said(&new, "hint: `ralph continue` continues it; a new run starts now");
    assert_eq!(runs(&sandbox).len(), 2);
}

#[test]
fn tasks_at_their_limit_are_allowed_more_or_the_run_is_not_continued() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        r#"if [ "$n" = 1 ]; then echo half > half.txt; over half; else work; over done; fi"#,
    ));
    let ended = sandbox
        .ralph(["--adapter", "script", "--max-iterations-per-task", "1"])
        .run(SOON);
    assert_eq!(ended.code(), Some(8), "{ended:?}");
    let refused = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    said(
        &refused,
        "has only open tasks at their per-task iteration limit, so it would end at once\nhint: `ralph continue \
         --max-iterations-per-task N` allows each of them more",
    );
    assert_eq!(iterations(&journal(&sandbox)), [1]);
    // The per-task limit does not apply to a new task.
    let plan = sandbox.read("PLAN.md").unwrap();
    sandbox.write("PLAN.md", &format!("{plan}- [ ] Another\n"));
    let other = sandbox.ralph(["continue", "-n", "1"]).run(SOON);
    assert!(!other.stderr.contains("per-task"), "{other:?}");
    sandbox.write("PLAN.md", &plan);
    let continued = sandbox.ralph(["continue", "--max-iterations-per-task", "2"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    assert_eq!(iterations(&journal(&sandbox)), [1, 2]);
}

#[test]
fn a_run_that_goes_on_gets_more_of_what_it_may_use_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl("said \"ready $n\"; await go-$n; work; over done"));
    let running = sandbox.looping(["--max-iterations", "1"]).start();
    running.wait_for_record(SOON, super::said("ready 1"));
    let other = sandbox.ralph(["continue", "-n", "3", "--session", "resume"]).run(SOON);
    assert_eq!(other.code(), Some(2), "{other:?}");
    said(&other, "`--session` cannot be changed while the run is active");
    let plain = sandbox.ralph(["continue"]).run(SOON);
    said(&plain, "has not ended: it is running");
    let more = sandbox.ralph(["continue", "--iterations", "2"]).run(SOON);
    let told = "the limit of the run is now 3 iterations, counted from its beginning\n";
    assert_eq!((more.code(), more.stdout.as_str()), (Some(0), told), "{more:?}");
    for n in 1..=3 {
        sandbox.release(&format!("go-{n}"));
    }
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(iterations(&journal(&sandbox)), [1, 2, 3]);
}

/// The agent and the model of each iteration.
fn workers(records: &[Record]) -> Vec<(&str, Option<&str>)> {
    let started = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started { adapter, model, .. }) => Some((adapter.as_str(), model.as_deref())),
        _ => None,
    });
    started.collect()
}

#[test]
fn the_next_iteration_of_a_running_run_has_the_agent_and_the_model_that_the_user_names() {
    let sandbox = Sandbox::new();
    sandbox.plan(4);
    let agent = Script::jsonl("said \"ready $n\"; await go-$n; work; over done");
    for id in ["script", "second"] {
        sandbox.install_as(id, &agent);
        let manifest = sandbox.config().join(format!("ralph/adapters/{id}.toml"));
        let text = fs::read_to_string(&manifest).expect("an adapter");
        let with_model = text.replacen(".sh\"]", ".sh\", \"{model}\"]\nmodel = [\"--model={model}\"]", 1);
        fs::write(&manifest, with_model).expect("an adapter");
    }
    let running = sandbox
        .looping(["--model", "a"])
        .env("RALPH_FALLBACK", "second")
        .start();
    let changes: [(&[&str], &str); 3] = [
        (&["--model", "b"], "from the next iteration on: script with model b\n"),
        (&["-a", "second"], "from the next iteration on: second\n"),
        (
            &["--model", "c", "-n", "9"],
            "from the next iteration on: second with model c\n",
        ),
    ];
    for (n, (options, told)) in (1..).zip(changes) {
        running.wait_for_record(SOON, super::said(&format!("ready {n}")));
        let changed = sandbox.ralph([&["continue"], options].concat()).run(SOON);
        assert_eq!(changed.code(), Some(0), "{changed:?}");
        assert!(changed.stdout.starts_with(told), "{changed:?}");
        let again = sandbox.ralph([&["continue"], &options[..2]].concat()).run(SOON);
        said(&again, "the run has this agent and model already");
        sandbox.release(&format!("go-{n}"));
    }
    running.wait_for_record(SOON, super::said("ready 4"));
    let unknown = sandbox.ralph(["continue", "--adapter", "claude"]).run(SOON);
    assert_eq!(unknown.code(), Some(1), "{unknown:?}");
    said(
        &unknown,
        "the run was started without adapter `claude`; `ralph stop`, then `ralph continue --adapter claude`",
    );
    sandbox.release("go-4");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let expected = [
        ("script", Some("a")),
        ("script", Some("b")),
        ("second", None),
        ("second", Some("c")),
    ];
    assert_eq!(workers(&finished.records()), expected);
}

#[test]
fn a_limit_that_a_run_did_not_begin_with_ends_it() {
    let limits = [
        ("--max-cost-usd", "1", LimitKind::MaxCost),
        ("--max-tokens", "10000", LimitKind::MaxTokens),
    ];
    for (flag, most, limit) in limits {
        let sandbox = Sandbox::new();
        sandbox.plan(3);
        let usage = r#"{"type":"usage","usage":{"inputTokens":20000,"cachedTokens":0,"outputTokens":1,"costUsd":2.0}}"#;
        sandbox.install(&Script::jsonl(&format!(
            "said ready; await {limit:?}; echo '{usage}'; work; over done"
        )));
        let running = sandbox.looping([] as [&str; 0]).start();
        running.wait_for_record(SOON, super::said("ready"));
        let added = sandbox.ralph(["continue", flag, most]).run(SOON);
        assert_eq!(added.code(), Some(0), "{added:?}");
        sandbox.release(&format!("{limit:?}"));
        let finished = running.wait(SOON);
        assert_eq!(finished.code(), Some(6), "{finished:?}");
        assert_eq!(*reason(&finished.records()), StopReason::LimitReached { limit });
    }
}

#[test]
fn a_limit_on_what_an_agent_does_not_report_is_not_added() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let manifest = sandbox.config().join("ralph/adapters/script.toml");
    let counts = fs::read_to_string(&manifest).expect("an adapter");
    fs::write(&manifest, counts.replace("usage = true\ncost = true", "")).expect("an adapter");
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, super::said("ready"));
    for (flag, what) in [
        (
            "--max-tokens",
            "script does not report its tokens, so a token limit would not end the run",
        ),
        (
            "--max-cost-usd",
            "script does not report its cost, so a cost limit would not end the run",
        ),
    ] {
        let refused = sandbox.ralph(["continue", flag, "5"]).run(SOON);
        assert_eq!(refused.code(), Some(1), "{refused:?}");
        said(&refused, what);
    }
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}

/// A run that its user interrupted in its second iteration. Its agent finishes all tasks once the run is continued.
pub fn interrupted() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl(HANGS_ONCE));
    let running = sandbox.ralph(["--adapter", "script"]).start();
    wait_until(SOON, "the agent", || sandbox.read_home("ready"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.wait(SOON).code(), Some(130));
    sandbox
}

#[test]
fn of_two_that_continue_a_run_at_once_one_does_and_the_other_is_told() {
    let sandbox = interrupted();
    // The next iterations wait, so that neither command ends before the other has looked.
    sandbox.install(&Script::jsonl("await go; work; over done"));
    let continued = || {
        sandbox
            .ralph(["continue"])
            .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
            .start()
    };
    let mut both = [continued(), continued()];
    let loser = wait_until(SOON, "the end of one", || {
        both.iter_mut().position(|one| one.ends_within(Duration::ZERO))
    });
    sandbox.release("go");
    let [first, second] = both;
    let (loser, winner) = match loser {
        0 => (first, second),
        _ => (second, first),
    };
    let told = loser.wait(SOON);
    assert_eq!(told.code(), Some(5), "{told:?}");
    assert_eq!(told.stderr.matches("error: ").count(), 1, "{told:?}");
    said(&told, "another ralph is already running in this project");
    said(&told, "hint: `ralph attach` shows it");
    let done = winner.wait(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    assert_eq!(runs(&sandbox).len(), 1);
    assert_eq!(iterations(&journal(&sandbox)), [1, 2, 3, 4]);
}

#[test]
fn the_end_of_a_run_stays_as_it_is_whatever_is_left_for_it_until_it_resumes() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("echo more >> made; work; over ok"));
    let done = sandbox.looping(["--goal", "tests=true"]).run(SOON);
    assert_eq!(done.code(), Some(0), "{done:?}");
    let shown = || {
        let report = sandbox.ralph(["report"]).run(SOON).stdout;
        assert!(report.contains("DONE, PASSED"), "{report}");
        let runs = sandbox.ralph(["runs"]).run(SOON).stdout;
        assert!(runs.contains("done (passed)"), "{runs}");
        let view = read_view(&sandbox.paths(), &self::runs(&sandbox)[0]).expect("a view");
        assert!(view.is_over());
        (view.totals().elapsed_ms, view.clock.now_ms)
    };
    let before = shown();
    let made = [
        &["steer", "hi"][..],
        &["steer", "--standing", "there"],
        &["comment", "PLAN.md:1", "why?"],
        &["comment", "--send"],
    ];
    for command in made {
        let left = sandbox.ralph(command).run(SOON);
        assert_eq!(left.code(), Some(0), "{left:?}");
        assert_eq!(shown(), before, "{command:?}");
    }
    let listed = sandbox.ralph(["runs"]).run(SOON).stdout;
    assert!(
        listed.contains("done (passed) · 3 messages wait for `ralph continue`"),
        "{listed}"
    );
    for number in ["2", "3"] {
        let withdrawn = sandbox.ralph(["steer", "--withdraw", number]).run(SOON);
        assert_eq!(withdrawn.code(), Some(0), "{withdrawn:?}");
        assert_eq!(shown(), before);
    }
    let continued = sandbox.ralph(["continue"]).run(SOON);
    assert_eq!(continued.code(), Some(0), "{continued:?}");
    assert!(sandbox.prompt(2).contains("hi"), "{continued:?}");
    let ended = shown();
    // The time in between does not count.
    let (elapsed, passed) = (ended.0 - before.0, ended.1 - before.1);
    assert!(elapsed > 0 && elapsed < passed, "{before:?} {ended:?}");
    let again = sandbox.ralph(["continue"]).run(SOON);
    said(&again, "is done, so there is nothing to continue");
    // A message that is taken back leaves nothing to be continued.
    for command in [&["steer", "more"][..], &["steer", "--withdraw", "4"]] {
        assert_eq!(sandbox.ralph(command).run(SOON).code(), Some(0));
    }
    said(
        &sandbox.ralph(["continue"]).run(SOON),
        "is done, so there is nothing to continue",
    );
    assert_eq!(shown(), ended);
}
