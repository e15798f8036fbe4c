//! ralph, its guard or its agent is killed at any moment: the next start continues and nothing is lost.

use std::{
    env, fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_core::{
    event::{
        AgentEvent, AgentSignal, Event, IterationEvent, Outcome, ProblemKind, Record, RunEvent, StopReason, TimeEvent,
        Wait, WaitEnd,
    },
    machine::LoopState,
};
use ralph_state::store::journal;

use ralph_core::testing::{Dice, rounds};

use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FunctionAgent, LoopProject},
    running::{Finished, Running},
    wait_until,
};

/// Enough to keep two cores busy: most of the time is spent waiting for git.
const WORKERS: usize = 4;

/// Runs `work` for every number below `count`, several at a time.
pub fn for_each(count: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        return;
                    }
                    work(n);
                }
            });
        }
    });
}

/// An agent that speaks, works, and has a child that would outlive it.
///
/// A git that was killed in the middle of a commit leaves locks behind, which the agent has to remove.
const AGENT: &str =
    "sleep 600 & said one; rm -f .git/index.lock .git/HEAD.lock .git/refs/heads/*.lock; work; said two; over done";

fn sandbox_with(script: &Script) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(script);
    sandbox
}

fn looping(sandbox: &Sandbox) -> Running {
    sandbox.looping([] as [&str; 0]).start()
}

#[track_caller]
fn finishes(sandbox: &Sandbox) -> Finished {
    let finished = looping(sandbox).wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

fn kill_and_wait(running: Running) -> Finished {
    running.kill();
    running.wait(SOON)
}

/// Checks that no record is missing, every iteration is closed and the plan is done.
#[track_caller]
fn assert_whole(records: &[Record]) {
    let mut state = LoopState::default();
    let mut open = None;
    for (place, record) in records.iter().enumerate() {
        assert_eq!(record.seq, place as u64);
        state.apply(record);
        match &record.event {
            Event::Iteration(IterationEvent::Started { iteration, .. }) => {
                assert_eq!(open.replace(*iteration), None, "{records:#?}")
            }
            Event::Iteration(IterationEvent::Ended { iteration, .. }) => {
                assert_eq!(open.take(), Some(*iteration), "{records:#?}")
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{records:#?}");
    assert_eq!(state.view.plan.open(), 0);
    assert!(matches!(
        records.last().map(|record| &record.event),
        Some(Event::Run(RunEvent::Stopped {
            reason: StopReason::Done { .. },
            ..
        }))
    ));
}

/// Number of tried cuts, each of which costs a second. [`a_run_resumes_from_every_beginning_of_its_journal`] tries
/// every cut in process.
const CUTS: usize = 3;

/// At most `wanted` numbers below `count` in random order, the same ones for the same `RALPH_TEST_SEED`.
pub fn seeded_cuts(count: usize, wanted: usize) -> Vec<usize> {
    let seed = env::var("RALPH_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let mut dice = Dice::new(seed.unwrap_or(20_261_124));
    let mut cuts: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        cuts.swap(last, dice.index(last + 1));
    }
    cuts.truncate(wanted);
    #[allow(clippy::print_stderr)] // shown when the test fails
    {
        eprintln!("chosen: {cuts:?} of {count}");
    }
    cuts
}

#[test]
fn a_killed_ralph_resumes_and_finishes() {
    let sandbox = sandbox_with(&Script::jsonl(AGENT));
    let cuts = seeded_cuts(finishes(&sandbox).records().len(), rounds(CUTS));
    for_each(cuts.len(), |n| killed_after(cuts[n] as u64));
}

fn killed_after(seq: u64) {
    let sandbox = sandbox_with(&Script::jsonl(AGENT));
    let running = looping(&sandbox);
    running.wait_for_line(SOON, |line| line.starts_with(&format!("{{\"seq\":{seq},")));
    let before = kill_and_wait(running);
    sandbox.waits_until_nothing_runs();
    // More records than the printed one may have been written: the journal tells.
    let runs = sandbox.paths().run_ids();
    let written = runs
        .first()
        .map(|run| journal::read(&sandbox.paths().run(run).journal()).expect("a journal").0);
    let last = written.as_ref().and_then(|written| written.last());
    let was_stopped = last.is_some_and(|record| matches!(record.event, Event::Run(RunEvent::Stopped { .. })));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "killed after {seq}: {finished:?}");
    sandbox.assert_nothing_runs();
    sandbox.assert_clean();
    assert_eq!(sandbox.read("PLAN.md").unwrap().matches("[x]").count(), 2);

    // A run that had stopped is not resumed, and with a complete plan there is no other.
    if !before.stdout.contains("run-started") || was_stopped {
        return;
    }
    let records = sandbox.journal();
    assert_whole(&records);
    assert_interruption_is_said(&records);
}

/// A sandbox with a plan that ends only after two claims of the agent, and the arguments for its run.
fn taken_at_its_word(agent: &str) -> (Sandbox, [&'static str; 2]) {
    let sandbox = sandbox_with(&Script::jsonl(agent));
    sandbox.write("PLAN.md", "Make everything better.\n");
    sandbox.git(["commit", "--quiet", "--all", "--message", "Describe it"]);
    (sandbox, ["--promise", "BETTER"])
}

#[test]
fn a_killed_ralph_keeps_the_claims_that_were_made() {
    for agent in ["over '<promise>BETTER</promise>'", "touch .ralph-done; over done"] {
        let (sandbox, args) = taken_at_its_word(agent);
        let finished = sandbox.looping(args).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let cuts = seeded_cuts(finished.records().len(), rounds(CUTS));
        for_each(cuts.len(), |n| claims_outlive_a_kill_after(cuts[n] as u64, agent));
    }
}

fn claims_outlive_a_kill_after(seq: u64, agent: &str) {
    let (sandbox, args) = taken_at_its_word(agent);
    let running = sandbox.looping(args).start();
    running.wait_for_line(SOON, |line| line.starts_with(&format!("{{\"seq\":{seq},")));
    kill_and_wait(running);
    sandbox.waits_until_nothing_runs();
    let finished = sandbox.looping(args).run(SOON);
    assert_eq!(finished.code(), Some(0), "killed after {seq}: {finished:?}");
    assert_eq!(sandbox.read(".ralph-done"), None);
    if sandbox.paths().run_ids().len() > 1 {
        return; // it had not begun, or had ended
    }
    assert_claims_kept(&sandbox.journal());
}

/// Checks that two sessions claimed the end. Only a session that was cut off may have to repeat its claim.
#[track_caller]
fn assert_claims_kept(records: &[Record]) {
    let count = |wanted: fn(&Event) -> bool| events(records).filter(|event| wanted(event)).count();
    let sessions = count(|event| matches!(event, Event::Iteration(IterationEvent::Started { .. })));
    let interrupted = |event: &Event| matches!(event, Event::Iteration(IterationEvent::Ended { outcome, .. }) if *outcome == Outcome::Interrupted);
    let cut_off = count(interrupted);
    assert!((2..=2 + cut_off).contains(&sessions), "{records:#?}");
}

/// Checks that the restart first closes the iteration that ran when ralph was killed: as interrupted, unless its turn
/// was over.
#[track_caller]
fn assert_interruption_is_said(records: &[Record]) {
    let resumed = events(records)
        .position(|event| matches!(event, Event::Run(RunEvent::Resumed { .. })))
        .unwrap_or_else(|| panic!("no restart: {records:#?}"));
    let running = events(&records[..resumed]).fold(false, |running, event| match event {
        Event::Iteration(IterationEvent::Started { .. }) => true,
        Event::Iteration(IterationEvent::Ended { .. }) => false,
        _ => running,
    });
    let turn_ended = events(&records[..resumed]).fold(false, |ended, event| match event {
        Event::Iteration(IterationEvent::Started { .. }) => false,
        Event::Agent(AgentEvent::Reported {
            signal: AgentSignal::TurnEnded { ok: true, .. },
            ..
        }) => true,
        _ => ended,
    });
    let wanted = if turn_ended {
        Outcome::Completed
    } else {
        Outcome::Interrupted
    };
    let closed = matches!(&records[resumed + 1].event, Event::Iteration(IterationEvent::Ended { outcome, .. }) if *outcome == wanted);
    assert_eq!(running, closed, "{records:#?}");
}

/// A cut between two lines of a finished run's journal, or within the last line that is kept.
#[derive(Debug, Clone, Copy)]
struct Cut {
    lines: usize,
    is_torn: bool,
}

impl Cut {
    /// Every cut except those that keep the last line, which ends the run.
    fn all(text: &str) -> impl Iterator<Item = Cut> {
        let lines = 1..text.lines().count();
        lines.flat_map(|lines| [false, true].map(|is_torn| Cut { lines, is_torn }))
    }

    fn whole_lines(self) -> usize {
        self.lines - usize::from(self.is_torn)
    }

    fn beginning_of(self, text: &str) -> String {
        let mut beginning: String = text.split_inclusive('\n').take(self.lines).collect();
        if self.is_torn {
            beginning.truncate(beginning.len() - 20);
        }
        beginning
    }
}

/// Cuts the journal of a finished run at every place, and resumes each beginning in the project as it was before the
/// run.
///
/// `leave` makes the changes that the agent has left at the end of a turn that ralph has not judged yet.
async fn resume_every_beginning(
    agent: &FunctionAgent,
    promise: Option<&str>,
    leave: impl Fn(&LoopProject),
    check: impl Fn(&[Record], bool),
) {
    let project = LoopProject::new();
    if promise.is_some() {
        project.write("PLAN.md", "Make everything better.\n");
    }
    let looping = || match promise {
        Some(words) => project.looping(agent).promise(words),
        None => project.looping(agent),
    };
    let plan = project.read("PLAN.md").expect("a plan");
    assert_eq!(looping().run().await.code(), Some(0));
    project.write("PLAN.md", &plan);
    project.keep();
    let journal = project.the_run().journal();
    let text = fs::read_to_string(&journal).unwrap();
    for cut in Cut::all(&text) {
        project.restore();
        fs::write(&journal, cut.beginning_of(&text)).unwrap();
        if has_unjudged_turn(&project.journal()) {
            leave(&project);
        }
        let finished = looping().run().await;
        assert_eq!(finished.code(), Some(0), "{cut:?}: {finished:?}");
        let resumes = cut.whole_lines() >= 2;
        assert_eq!(project.paths().run_ids().len(), if resumes { 1 } else { 2 }, "{cut:?}");
        if resumes {
            check(&project.journal(), cut.is_torn);
            let kept: String = text.split_inclusive('\n').take(cut.whole_lines()).collect();
            let now = fs::read_to_string(&journal).unwrap();
            assert!(now.starts_with(&kept), "{cut:?}: what was written stays");
        }
    }
}

fn has_unjudged_turn(records: &[Record]) -> bool {
    events(records).fold(false, |unjudged, event| match event {
        Event::Iteration(IterationEvent::Started { .. }) | Event::Agent(AgentEvent::Stated { .. }) => false,
        Event::Agent(AgentEvent::Reported {
            signal: AgentSignal::TurnEnded { .. },
            ..
        }) => true,
        _ => unjudged,
    })
}

#[tokio::test(start_paused = true)]
async fn a_run_resumes_from_every_beginning_of_its_journal() {
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("one");
        turn.work();
        turn.said("two");
        turn.over("done");
    });
    let check = |records: &[Record], is_torn| {
        assert_whole(records);
        assert_interruption_is_said(records);
        let torn = |event: &&Event| event.notice().is_some_and(|notice| notice.code == "journal-torn");
        assert_eq!(
            events(records).filter(torn).count(),
            usize::from(is_torn),
            "{records:#?}"
        );
    };
    resume_every_beginning(&agent, None, |_| {}, check).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_resumes_keeps_the_claims_that_were_made() {
    let check = |records: &[Record], _| assert_claims_kept(records);
    let promises = FunctionAgent::jsonl(|turn| async move { turn.over("<promise>BETTER</promise>") });
    resume_every_beginning(&promises, Some("BETTER"), |_| {}, check).await;
    let leaves_the_file = FunctionAgent::jsonl(|turn| async move {
        turn.write(".ralph-done", "");
        turn.over("done");
    });
    let leave = |project: &LoopProject| project.write(".ralph-done", "");
    resume_every_beginning(&leaves_the_file, Some("BETTER"), leave, check).await;
}

#[test]
fn a_torn_line_is_reported_once() {
    let sandbox = sandbox_with(&Script::jsonl(
        "said ready; [ $n = 3 ] || exec sleep 600; work; work; over done",
    ));
    let ready = |n: u32| {
        let running = looping(&sandbox);
        running.wait_for_record(
            SOON,
            |event| matches!(event, Event::Iteration(IterationEvent::Started { iteration, .. }) if *iteration == n),
        );
        kill_and_wait(running)
    };
    ready(1);
    let path = sandbox.the_run().journal();
    let text = fs::read(&path).unwrap();
    fs::write(&path, [&text[..], b"{\"seq\":99,\"atMs\":1,\"ev"].concat()).unwrap();
    let notices = |finished: Finished| finished.stdout.matches("\"journal-torn\"").count();
    assert_eq!(notices(ready(2)), 1);
    assert_eq!(notices(finishes(&sandbox)), 0);
    assert_whole(&sandbox.journal());
}

#[test]
fn a_wait_keeps_its_deadline_over_a_restart() {
    let sandbox = sandbox_with(&Script::terminal("[ $n = 1 ] && exit 1; work"));
    let start = || {
        let program = sandbox.looping([] as [&str; 0]);
        program
            .env("RALPH_BACKOFF_BASE", "1h")
            .env("RALPH_BACKOFF_MAX", "1h")
            .start()
    };
    let deadline = |running: &Running| {
        let waiting = running.wait_for_record(SOON, |event| {
            matches!(event, Event::Time(TimeEvent::WaitStarted { .. }))
        });
        match waiting.event {
            Event::Time(TimeEvent::WaitStarted {
                until_ms,
                wait,
                attempt,
                ..
            }) => (until_ms, wait, attempt),
            _ => panic!("no wait"),
        }
    };
    let first = start();
    let before = deadline(&first);
    kill_and_wait(first);
    let second = start();
    assert_eq!(deadline(&second), before);
    assert_eq!(before.1, Wait::Backoff);
    assert_eq!(sandbox.ralph(["resume", "--now"]).run(SOON).code(), Some(0));
    assert_eq!(second.wait(SOON).code(), Some(0));
}

#[test]
fn a_wait_that_was_over_before_the_restart_is_over() {
    let sandbox = sandbox_with(&Script::terminal("[ $n = 1 ] && exit 1; work"));
    let first = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_BACKOFF_BASE", "1h")
        .env("RALPH_BACKOFF_MAX", "1h")
        .start();
    first.wait_for_record(SOON, |event| {
        matches!(event, Event::Time(TimeEvent::WaitStarted { .. }))
    });
    kill_and_wait(first);
    let path = sandbox.the_run().journal();
    let text: String = sandbox
        .journal()
        .into_iter()
        .map(|mut record| {
            if let Event::Time(TimeEvent::WaitStarted { until_ms, .. }) = &mut record.event {
                *until_ms = record.at_ms;
            }
            serde_json::to_string(&record).unwrap() + "\n"
        })
        .collect();
    fs::write(path, text).unwrap();
    let records = finishes(&sandbox).records();
    let cause = WaitEnd::Elapsed;
    assert!(events(&records).any(|event| *event == Event::Time(TimeEvent::WaitEnded { cause })));
}

/// The pid of the guard of the running agent.
fn guard(sandbox: &Sandbox) -> i32 {
    wait_until(SOON, "guard", || {
        sandbox
            .processes()
            .into_iter()
            .find(|process| process.command.contains(" __guard --spec"))
            .map(|process| process.pid)
    })
}

#[test]
fn a_guard_that_is_killed_takes_the_agent_with_it_and_the_loop_goes_on() {
    let sandbox = sandbox_with(&Script::jsonl(
        "[ $n = 1 ] && { \"$FAKE_AGENT\" 'spawn daemon'; said ready; exec sleep 600; }; rm -f daemon.pid; work; over done",
    ));
    let running = looping(&sandbox);
    running.wait_for_record(SOON, |event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    kill(Pid::from_raw(guard(&sandbox)), Signal::SIGKILL).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let crashed = |event: &Event| {
        matches!(event, Event::Iteration(IterationEvent::Ended { iteration: 1, outcome: Outcome::Failed { problem }, .. })
            if problem.kind == ProblemKind::Crashed)
    };
    assert!(events(&finished.records()).any(crashed));
    sandbox.assert_nothing_runs();
}

#[test]
fn an_agent_that_is_killed_is_followed_by_another() {
    let sandbox = sandbox_with(&Script::jsonl(
        "[ $n = 1 ] && { said $$; exec sleep 600; }; work; over done",
    ));
    let running = looping(&sandbox);
    let mut pid = 0;
    let said = running.wait_for_line(SOON, |line| line.contains("\"said\""));
    if let Event::Agent(AgentEvent::Reported {
        signal: ralph_core::event::AgentSignal::Said { text },
        ..
    }) = serde_json::from_str::<Record>(&said).unwrap().event
    {
        pid = text.parse().unwrap();
    }
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn what_is_left_when_ralph_and_its_guard_are_killed_is_ended_at_the_next_start() {
    let sandbox = sandbox_with(&Script::jsonl(
        "[ $n = 1 ] && { \"$FAKE_AGENT\" 'spawn setsid'; said ready; exec sleep 600; }; rm -f setsid.pid; work; over done",
    ));
    let running = looping(&sandbox);
    running.wait_for_record(SOON, |event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    let guard = Pid::from_raw(guard(&sandbox));
    // The guard is stopped first: it would otherwise see ralph's end before its own.
    kill(guard, Signal::SIGSTOP).unwrap();
    kill_and_wait_without_output(running);
    kill(guard, Signal::SIGKILL).unwrap();
    assert_ne!(sandbox.processes(), [], "there is something left to be ended");
    let finished = finishes(&sandbox);
    assert!(finished.stdout.contains("\"orphans-ended\""), "{finished:?}");
    sandbox.assert_nothing_runs();
}

/// Kills ralph without waiting for the end of its output, which the guard may still hold open.
fn kill_and_wait_without_output(running: Running) {
    running.kill();
    drop(running);
}

#[test]
fn a_run_over_another_plan_closes_the_one_that_was_cut_off() {
    let sandbox = sandbox_with(&Script::jsonl(
        "said ready; [ -e other ] || exec sleep 600; work; over done",
    ));
    let running = looping(&sandbox);
    running.wait_for_record(SOON, |event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    kill_and_wait(running);
    let first = sandbox.paths().latest_run().unwrap();
    sandbox.write("other", "");
    sandbox.write("OTHER.md", "- [ ] Something else\n");
    let finished = sandbox.looping(["--plan", "OTHER.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let closed = journal::read(&sandbox.paths().run(&first).journal()).unwrap().0;
    assert!(matches!(
        closed.last().unwrap().event,
        Event::Run(RunEvent::Stopped {
            reason: StopReason::Superseded,
            ..
        })
    ));
    let said = |event: &Event| {
        event
            .notice()
            .is_some_and(|notice| notice.code == "run-superseded" && notice.text.contains(&first.0))
    };
    assert!(events(&finished.records()).any(said), "{finished:?}");
    assert_eq!(sandbox.paths().run_ids().len(), 2);
}

#[test]
fn the_same_plan_by_another_name_is_the_same_plan() {
    let sandbox = sandbox_with(&Script::jsonl(
        "said ready; [ $n = 1 ] && exec sleep 600; work; over done",
    ));
    let running = looping(&sandbox);
    running.wait_for_record(SOON, |event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    kill_and_wait(running);
    fs::create_dir(sandbox.project().join("docs")).unwrap();
    let finished = sandbox.looping(["--plan", "docs/../PLAN.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_whole(&sandbox.journal());
}

#[test]
fn a_journal_that_cannot_be_written_after_a_restart_keeps_all_it_had() {
    let sandbox = sandbox_with(&Script::jsonl(
        "said ready; [ $n = 1 ] && exec sleep 600; work; over done",
    ));
    let running = looping(&sandbox);
    running.wait_for_record(SOON, |event| matches!(event, Event::Agent(AgentEvent::Reported { .. })));
    kill_and_wait(running);
    let path: PathBuf = sandbox.the_run().journal();
    let before = fs::read(&path).unwrap();
    let limited = sandbox
        .looping([] as [&str; 0])
        .with_small_files(before.len() / 512 + 1)
        .run(SOON);
    assert_eq!(limited.code(), Some(1), "{limited:?}");
    assert!(limited.stderr.starts_with("error: "), "{limited:?}");
    assert!(fs::read(&path).unwrap().starts_with(&before));
    finishes(&sandbox);
    assert_whole(&sandbox.journal());
}
