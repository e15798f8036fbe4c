//! Plans that are completed, and the output about them.

use std::time::Duration;

use ralph_core::{
    event::{Claim, ClaimEvent, Event, IterationEvent, PlanEvent, Proof, RunEvent, StopReason},
    run::RunView,
};

use super::{notices, outcomes, reason};
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{FunctionAgent, LoopProject, RunningLoop},
    wait_until,
};

#[test]
fn a_plan_is_worked_off_task_by_task_and_the_exit_code_is_0() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.plan(3);
    let commits = sandbox.commits();
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
    assert_eq!(outcomes(&records).len(), 3);
    let claims = events(&records).filter(|event| matches!(event, Event::Claim(ClaimEvent::Made { .. })));
    assert!(matches!(
        claims.collect::<Vec<_>>()[..],
        [Event::Claim(ClaimEvent::Made {
            iteration: 3,
            claim: Claim::PlanComplete
        })]
    ));
    assert_eq!(sandbox.commits(), commits + 3);
    assert!(!sandbox.read("PLAN.md").unwrap().contains("[ ]"));
    sandbox.assert_clean();
    sandbox.assert_nothing_runs();
    assert_eq!(finished.stderr, "");
}

#[test]
fn stdout_is_the_journal_record_by_record_without_a_gap() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    let journal = std::fs::read_to_string(sandbox.the_run().journal()).unwrap();
    assert_eq!(finished.stdout, journal);
    let seqs: Vec<u64> = finished.records().iter().map(|record| record.seq).collect();
    assert_eq!(seqs, (0..seqs.len() as u64).collect::<Vec<_>>());
}

#[test]
fn each_iteration_says_what_it_changed_and_the_end_says_it_of_the_whole_run() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let records = sandbox.looping([] as [&str; 0]).run(SOON).records();
    let changes: Vec<_> = events(&records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Settled { changes, progress, .. }) => Some((changes.unwrap(), *progress)),
            _ => None,
        })
        .map(|(changes, progress)| (changes.commits, changes.files, changes.added, changes.removed, progress))
        .collect();
    assert_eq!(changes, [(1, 2, 2, 1, Some(true)), (1, 2, 2, 1, Some(true))]);
    let Some(Event::Run(RunEvent::Stopped { totals, .. })) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    let all = totals.changes.unwrap();
    assert_eq!((all.commits, all.files, all.added, all.removed), (2, 3, 4, 2));
    assert_eq!((totals.iterations, totals.tasks_done, totals.tasks_open), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_open_tasks_is_nothing_to_do_and_no_agent_runs() {
    let project = LoopProject::new();
    project.write("PLAN.md", "- [x] Done long ago\n");
    let finished = project.looping(&FunctionAgent::worker()).run().await;
    assert_eq!(finished.code(), Some(0));
    let records = finished.records();
    assert!(notices(&records).iter().any(|text| text.contains("nothing to do")));
    assert!(!events(&records).any(|event| matches!(event, Event::Iteration(IterationEvent::Started { .. }))));
}

#[tokio::test(start_paused = true)]
async fn tasks_that_the_agent_adds_to_the_plan_are_worked_off_too() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::terminal(|turn| async move {
        if turn.n == 1 {
            turn.edit_plan(|plan| plan + "- [ ] Found on the way\n");
        }
        turn.work();
    });
    let finished = project.looping(&agent).run().await;
    assert_eq!(finished.code(), Some(0));
    assert_eq!(outcomes(&finished.records()).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_plan_in_json_is_worked_off_like_one_in_markdown() {
    let project = LoopProject::new();
    let agent = FunctionAgent::terminal(|turn| async move { turn.edit_plan(|plan| plan.replacen("false", "true", 1)) });
    let story = |id: u32| format!(r#"{{"id": {id}, "title": "Story {id}", "passes": false}}"#);
    project.write(
        "prd.json",
        &format!("{{\"userStories\": [\n{},\n{}\n]}}\n", story(1), story(2)),
    );
    let looping = project.looping(&agent);
    let finished = looping
        .with(|settings| settings.plan.set_file_name("prd.json"))
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(outcomes(&finished.records()).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_story_is_done_by_the_key_that_its_file_uses_and_the_prompt_names_it() {
    for (key, open, done) in [("complete", "false", "true"), ("status", "\"todo\"", "\"done\"")] {
        let project = LoopProject::new();
        let agent = FunctionAgent::terminal(move |turn| async move {
            let how = format!("set its `{key}` to {done} in the plan");
            assert!(turn.prompt.contains(&how), "{}", turn.prompt);
            turn.edit_plan(|plan| plan.replacen(open, done, 1));
        });
        project.write(
            "prd.json",
            &format!(
                r#"{{"features": [{{"name": "a", "hot": null, "{key}": {open}, "cold": true}}, {{"name": "b", "{key}": {open}}}]}}"#
            ),
        );
        let looping = project.looping(&agent);
        let finished = looping
            .with(|settings| settings.plan.set_file_name("prd.json"))
            .run()
            .await;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let records = finished.records();
        assert_eq!(outcomes(&records).len(), 2);
        let said = notices(&records);
        let remarks: Vec<&String> = said.iter().filter(|text| text.contains("has no effect")).collect();
        assert_eq!(remarks.len(), 1, "{said:?}");
        assert!(remarks[0].starts_with("the plan, line 1, column ") && remarks[0].contains("`cold`"));
    }
}

#[test]
fn a_plan_that_the_agent_destroys_is_told_to_the_next_session_and_has_a_way_back() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::terminal("rm -f PLAN.md"));
    let finished = sandbox.looping(["--max-iterations", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let records = finished.records();
    let said = notices(&records);
    let told = said
        .iter()
        .filter(|text| text.contains("PLAN.md: there is no such plan"));
    assert_eq!(told.count(), 2, "{said:?}");
    let Some(Event::Run(RunEvent::Stopped { hints, .. })) = records.last().map(|record| &record.event) else {
        panic!("no end")
    };
    let hints: Vec<String> = hints.iter().map(ralph_words::hint_in_words).collect();
    assert!(hints.iter().any(|hint| hint.contains("ralph restore")), "{hints:?}");
    // The command in the hint works.
    let words = hints
        .iter()
        .flat_map(|hint| hint.split('`'))
        .find(|word| word.starts_with("ralph restore"))
        .unwrap();
    let restored = sandbox.ralph(words.split(' ').skip(1)).arg("--yes").run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert!(sandbox.read("PLAN.md").is_some(), "{restored:?}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_written_anew_during_the_run_is_read_anew() {
    let project = LoopProject::new();
    project.plan(1);
    let agent = FunctionAgent::jsonl(|turn| async move {
        turn.said("ready");
        turn.wait_for("go").await;
        turn.over("done");
    });
    let running = project.looping(&agent).start();
    running.wait_for_record(super::said("ready")).await;
    project.write("PLAN.md", "- [x] Another task\n- [x] Task 1\n");
    project.release("go");
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let plans = events(&finished.records())
        .filter(|event| matches!(event, Event::Plan(PlanEvent::Read { .. })))
        .count();
    assert_eq!(plans, 2);
}

/// An agent that ticks a task, says so, and continues until it is released.
fn ticking() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        turn.edit_plan(|plan| plan.replacen("[ ]", "[x]", 1).replacen("false", "true", 1));
        turn.said("ticked");
        turn.wait_for("go").await;
        turn.over("done");
    })
}

/// Number of finished and of open tasks, and the current task, as in `ralph status`.
async fn tasks(running: &RunningLoop) -> (u32, u32, Option<String>) {
    let status = running.status().await;
    (status.totals.tasks_done, status.totals.tasks_open, status.task)
}

#[tokio::test(start_paused = true)]
async fn a_box_is_seen_when_it_is_ticked_and_counts_when_the_iteration_ends() {
    let story = |id: u32| format!(r#"{{"title": "Task {id}", "passes": false}}"#);
    let plans = [
        ("PLAN.md", "- [ ] Task 1\n- [ ] Task 2\n".to_owned()),
        ("prd.json", format!("[\n{},\n{}\n]\n", story(1), story(2))),
    ];
    for (name, plan) in plans {
        let project = LoopProject::new();
        project.write(name, &plan);
        let looping = project.looping(&ticking());
        let running = looping.with(|settings| settings.plan.set_file_name(name)).start();
        running.wait_for_record(super::said("ticked")).await;
        assert_eq!(tasks(&running).await, (0, 2, Some("Task 1".to_owned())));
        running.plan_written();
        running
            .wait_for_record(|event| matches!(event, Event::Plan(PlanEvent::Changed { .. })))
            .await;
        assert_eq!(
            tasks(&running).await,
            (1, 1, Some("Task 1".to_owned())),
            "it is still worked on"
        );
        project.release("go");
        let finished = running.wait().await;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let records = finished.records();
        let view = RunView::of(&records);
        let closed: Vec<_> = view
            .iterations
            .rows
            .iter()
            .map(|row| (row.closed, row.progress))
            .collect();
        assert_eq!(closed, [(1, Some(true)), (1, Some(true))]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_half_written_is_not_looked_at_before_the_iteration_ends() {
    let project = LoopProject::new();
    project.plan(2);
    let running = project.looping(&ticking()).start();
    running.wait_for_record(super::said("ticked")).await;
    let whole = project.read("PLAN.md").expect("a plan");
    project.write("PLAN.md", "");
    running.plan_written();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(tasks(&running).await.0, 0);
    project.write("PLAN.md", &whole);
    running.plan_written();
    running
        .wait_for_record(|event| matches!(event, Event::Plan(PlanEvent::Changed { .. })))
        .await;
    project.release("go");
    assert_eq!(running.wait().await.code(), Some(0));
}

#[test]
fn status_tells_of_a_tick_while_the_agent_works() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(
        r"sed -i '0,/\[ \]/s//[x]/' PLAN.md; said ticked; await go; over done",
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, super::said("ticked"));
    wait_until(SOON, "tick in the status", || {
        let status = sandbox.ralph(["status"]).run(SOON).stdout;
        status.contains("1 of 2 done").then_some(())
    });
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn text_for_people_names_every_iteration_and_how_it_ended() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let finished = sandbox.ralph(["--adapter", "script"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for wanted in [
        "limits: 50 iterations · 8h total · 1h per iteration · 10m idle",
        "iteration 1: Write hello.txt",
        "iteration 2: Write world.txt",
        "ralph: done (not verified)",
        "2 of 2 tasks done · 2 iterations",
        "hint: no goal was checked",
    ] {
        assert!(
            finished.stdout.contains(wanted),
            "`{wanted}` is not in:\n{}",
            finished.stdout
        );
    }
    assert!(
        !finished.stdout.contains('\u{1b}'),
        "no colours in a pipe:\n{}",
        finished.stdout
    );
}

#[test]
fn a_run_after_one_that_lost_tasks_or_goals_says_so() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.install(&Script::jsonl(
        "sed -i '/Task 2/d' PLAN.md; [ $n = 2 ] && work; over ok",
    ));
    let first = sandbox
        .looping(["--max-iterations", "2", "--goal", "tests=false"])
        .run(SOON);
    assert_eq!(first.code(), Some(6), "{first:?}");
    let second = sandbox.looping([] as [&str; 0]).run(SOON);
    let records = second.records();
    let said = notices(&records).join("\n");
    assert!(
        said.contains("the task \"Task 2\" vanished from the plan in the last run"),
        "{said}"
    );
    assert!(
        said.contains("goal `tests` from the previous run is not part of this one"),
        "{said}"
    );
    assert_eq!(*reason(&records), StopReason::done(Proof::Nothing));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("vanished from the plan in the last run"), "{report}");
    // The warning was given once; a run after it does not repeat it.
    let third = sandbox.looping([] as [&str; 0]).run(SOON);
    assert!(!notices(&third.records()).join("\n").contains("vanished"), "{third:?}");
}

#[test]
fn open_tasks_that_an_agent_removes_are_owed_named_and_can_be_brought_back() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::jsonl(
        "[ $n = 1 ] && { work; sed -i '/- \\[ \\]/d' PLAN.md; }; over ok",
    ));
    let finished = sandbox.looping_as("text", ["--goal", "ok=true"]).run(SOON);
    assert_eq!(finished.code(), Some(8), "{finished:?}");
    for wanted in [
        "removed from the plan: Task 2 · Task 3",
        "iteration 2: Task 2",
        "does not put them back: Task 2; Task 3",
        "`ralph restore 1 --before`",
    ] {
        assert!(
            finished.stdout.contains(wanted),
            "`{wanted}` is not in:\n{}",
            finished.stdout
        );
    }
    let prompt = sandbox.prompt(2);
    assert!(prompt.contains("Put their lines back where they were"), "{prompt}");
    assert!(
        prompt.contains("put them back, with the same text: Task 2; Task 3"),
        "{prompt}"
    );
}

#[test]
fn an_agent_that_puts_removed_tasks_back_goes_on_with_them() {
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    let agent =
        "case $n in 1) sed -i.old '/- \\[ \\]/d' PLAN.md;; 2) mv PLAN.md.old PLAN.md; work;; *) work;; esac; over ok";
    sandbox.install(&Script::jsonl(agent));
    let finished = sandbox.looping(["--goal", "ok=true"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let plan = sandbox.read("PLAN.md").expect("the plan");
    assert_eq!(plan.matches("[x]").count(), 3, "{plan}");
}
