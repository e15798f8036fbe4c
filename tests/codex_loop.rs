//! ralph with the real codex: a plan worked off, and what happens when the model cannot be reached.

use nix::sys::signal::Signal;
use ralph::{
    driver::read_run,
    event::{AgentSignal, Changes, Event, Outcome, ProblemKind, StopReason},
    host::paths::ProjectPaths,
};

use crate::{
    harness::{Program, SOON, Sandbox, agents, wait_until},
    stand_in::{Scenario, StandIn, Step, http, say, shell, silence},
};

/// A sandbox in which codex answers to its name.
fn sandbox() -> Option<Sandbox> {
    let codex = agents::codex()?;
    let mut sandbox = Sandbox::new();
    sandbox.add_agent(&codex);
    Some(sandbox)
}

/// The words an agent's model would say to do one task: make a file, tick the box, commit.
fn work_on(name: &str) -> [Step; 2] {
    let tick = "awk '!t && sub(/- \\[ \\]/, \"- [x]\") { t = 1 } { print }' PLAN.md > P && mv P PLAN.md";
    let command = format!("echo {name} > {name}.txt && {tick} && git add --all && git commit --quiet -m {name}");
    [shell(&command).into(), say(&format!("Wrote {name}.txt.")).into()]
}

fn two_tasks() -> Scenario {
    work_on("hello")
        .into_iter()
        .chain(work_on("world"))
        .fold(Scenario::new(), Scenario::then)
}

fn jsonl(sandbox: &Sandbox) -> Program {
    sandbox.ralph([
        "--adapter",
        "codex",
        "--plan",
        "PLAN.md",
        "--headless",
        "--format",
        "jsonl",
    ])
}

#[test]
fn a_plan_of_two_tasks_is_worked_off() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(two_tasks());
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    let records = finished.records();
    assert!(matches!(
        &records.last().expect("records").event,
        Event::RunStopped { reason: StopReason::Done { verified: false }, totals, .. }
            if totals.tasks_done == 2 && totals.iterations == 2 && totals.usage.input_tokens.is_some()
    ));
    let journal = ProjectPaths::new(&sandbox.project(), Some(&sandbox.state().join("ralph"))).unwrap();
    let (journalled, _) = read_run(&journal, &journal.latest_run().expect("a run")).unwrap();
    assert_eq!(
        records, journalled,
        "stdout has the records of the journal and nothing else"
    );
    assert_eq!(sandbox.commits(), 3, "one commit for each task");
    sandbox.assert_clean();
    assert_eq!(sandbox.read("hello.txt").as_deref(), Some("hello\n"));
    assert_eq!(sandbox.read("world.txt").as_deref(), Some("world\n"));
    sandbox.assert_nothing_runs();
    let prompts: Vec<String> = model
        .main_requests()
        .iter()
        .map(|request| request.prompt().to_owned())
        .collect();
    assert!(prompts[0].contains("Write hello.txt"), "{}", prompts[0]);
    assert!(prompts[2].contains("Write world.txt"), "{}", prompts[2]);
}

#[test]
fn people_read_what_codex_did_and_what_came_of_it() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(two_tasks());
    sandbox.connect_codex(&model, 0);
    let finished = sandbox.ralph(["--adapter", "codex", "--headless"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stderr);
    for expected in [
        "iteration 1: Write hello.txt",
        "Wrote hello.txt.",
        "ralph: done, unverified",
        "2 of 2 tasks done",
    ] {
        assert!(
            finished.stdout.contains(expected),
            "`{expected}` is missing in:\n{}",
            finished.stdout
        );
    }
    assert!(
        !finished.stdout.contains('\u{1b}'),
        "no escape sequences without a terminal"
    );
}

#[test]
fn a_key_that_is_refused_ends_the_run_with_a_hint() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(http(401));
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox).run(SOON);
    assert_eq!(finished.code(), Some(1), "{}", finished.stderr);
    let Event::RunStopped {
        reason: StopReason::AgentFailed { problem },
        hints,
        totals,
    } = finished.records().pop().expect("records").event
    else {
        panic!("{}", finished.stdout)
    };
    assert_eq!(problem.kind, ProblemKind::Auth);
    assert_eq!(totals.iterations, 1, "trying again would fail the same way");
    assert!(
        hints.iter().any(|hint| hint.contains("ralph adapters check codex")),
        "{hints:?}"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn an_overloaded_model_is_tried_again_later() {
    let Some(sandbox) = sandbox() else { return };
    let steps = [Step::from(http(500))]
        .into_iter()
        .chain(work_on("hello"))
        .chain(work_on("world"));
    let model = StandIn::start(steps.fold(Scenario::new(), Scenario::then));
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox).env("RALPH_BACKOFF_BASE", "10ms").run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let records = finished.records();
    let failed = records.iter().any(|record| {
        matches!(
            &record.event,
            Event::IterationEnded {
                outcome: Outcome::Failed { .. },
                iteration: 1,
                ..
            }
        )
    });
    assert!(failed, "{}", finished.stdout);
    assert_eq!(sandbox.commits(), 3);
}

#[test]
fn a_model_that_says_nothing_is_given_up_after_the_idle_limit() {
    let Some(sandbox) = sandbox() else { return };
    let steps = [silence()].into_iter().chain(work_on("hello")).chain(work_on("world"));
    let model = StandIn::start(steps.fold(Scenario::new(), Scenario::then));
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox)
        .args(["--idle-timeout", "3s"])
        .env("RALPH_BACKOFF_BASE", "10ms")
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let ended = finished.records().iter().any(|record| {
        matches!(
            &record.event,
            Event::IterationEnded {
                outcome: Outcome::Cancelled { .. },
                iteration: 1,
                ..
            }
        )
    });
    assert!(ended, "{}", finished.stdout);
    sandbox.assert_nothing_runs();
}

#[test]
fn an_interrupt_in_the_middle_of_a_tool_call_leaves_nothing_running() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(
        Scenario::new()
            .then(shell("echo $$ > pid; sleep 300"))
            .then(say("Slept.")),
    );
    sandbox.connect_codex(&model, 0);
    let ralph = jsonl(&sandbox).start();
    wait_until(SOON, "the tool runs", || sandbox.read("pid"));
    ralph.signal(Signal::SIGINT);
    let finished = ralph.wait(SOON);
    assert_eq!(finished.code(), Some(130), "{}", finished.stderr);
    sandbox.assert_nothing_runs();
}

#[test]
fn a_session_is_resumed_by_its_id_where_that_is_wanted() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(two_tasks());
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox).args(["--session", "resume"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{}", finished.stdout);
    let records = finished.records();
    let opened: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::AgentReported {
                signal: AgentSignal::Opened { session, .. },
                ..
            } => Some(session.clone()),
            _ => None,
        })
        .collect();
    let resumed = records.iter().find_map(|record| match &record.event {
        Event::IterationStarted {
            iteration: 2, resume, ..
        } => Some(resume.clone()),
        _ => None,
    });
    assert_eq!(opened[0], opened[1], "codex went on with its session");
    assert_eq!(resumed, Some(opened[0].clone()));
    let second = model.main_requests().into_iter().nth(2).expect("a third request");
    assert!(
        second.user_texts.iter().any(|text| text.contains("Write hello.txt")),
        "the first prompt is remembered"
    );
}

#[test]
fn statistics_are_those_of_git() {
    let Some(sandbox) = sandbox() else { return };
    let model = StandIn::start(two_tasks());
    sandbox.connect_codex(&model, 0);
    let finished = jsonl(&sandbox).run(SOON);
    let changes: Vec<Changes> = finished
        .records()
        .iter()
        .filter_map(|record| match &record.event {
            Event::IterationSettled { changes, progress, .. } => {
                assert_eq!(*progress, Some(true));
                *changes
            }
            _ => None,
        })
        .collect();
    // One line of a new file, and one of the plan exchanged.
    let each = Changes {
        commits: 1,
        files: 2,
        added: 2,
        removed: 1,
    };
    assert_eq!(changes, [each, each]);
    let refs = sandbox.git(["for-each-ref", "--format=%(refname)", "refs/ralph/"]);
    assert_eq!(refs.lines().count(), 4, "{refs}");
}
