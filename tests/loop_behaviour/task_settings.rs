//! Tasks that ask for another agent or model, or are handed to one after failures.

use ralph_core::event::{
    AgentEvent, AgentSignal, Escalation, Event, IterationEvent, Record, SessionMode, Settings, TimeEvent, Worker,
};
use serde_json::json;

use super::{notices, reason, started};
use crate::harness::{
    events,
    in_process::{FunctionAgent, LoopProject, Looping},
};

/// An agent that finishes a task in each iteration and says which model was requested.
fn worker() -> FunctionAgent {
    FunctionAgent::jsonl(|turn| async move {
        turn.opened("a session");
        turn.said(&format!("{:?} resumes {:?}", turn.model, turn.resume));
        turn.work();
        turn.over("done");
    })
}

/// A run of the agent `script` with the model `own` over these tasks, which may ask for `second`.
fn looping<'a>(project: &'a LoopProject, tasks: &str, second: &FunctionAgent) -> Looping<'a> {
    project.write("PLAN.md", tasks);
    project
        .looping(&worker())
        .with(|settings| settings.model = Some("own".to_owned()))
        .with_agent(&second.clone().called("second"))
}

/// Agent, model and task of each iteration, in order.
fn iterations(records: &[Record]) -> Vec<String> {
    let each = events(records).filter_map(|event| match event {
        Event::Iteration(IterationEvent::Started {
            adapter, model, task, ..
        }) => {
            let (model, task) = (model.as_deref(), task.as_deref());
            Some(format!("{adapter}/{}: {}", model.unwrap_or("?"), task.unwrap_or("?")))
        }
        _ => None,
    });
    each.collect()
}

#[tokio::test(start_paused = true)]
async fn each_task_is_worked_on_by_the_agent_and_with_the_model_it_asks_for() {
    let project = LoopProject::new();
    let tasks = "- [ ] a {adapter=second}\n- [ ] b\n- [ ] c {model=big}\n- [ ] d {model=x adapter=second}\n- [ ] e {adapter=script}\n";
    let resumes = |settings: &mut Settings| settings.session = SessionMode::Resume;
    let finished = looping(&project, tasks, &worker()).with(resumes).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        [
            "second/?: a",
            "script/own: b",
            "script/big: c",
            "second/x: d",
            "script/own: e"
        ]
    );
    assert_eq!(
        notices(&records),
        [
            "the task asks for second",
            "the task asks for script/big",
            "the task asks for second/x",
            "the task asks for script/own"
        ]
    );
    let said = events(&records).filter_map(|event| match event {
        Event::Agent(AgentEvent::Reported {
            signal: AgentSignal::Said { text },
            ..
        }) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "None resumes None",
            "Some(\"own\") resumes None",
            "Some(\"big\") resumes Some(\"a session\")",
            "Some(\"x\") resumes None",
            "Some(\"own\") resumes None",
        ],
        "a session goes on with its own agent alone"
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_the_agent_of_a_task_is_waited_for_and_with_fallback_the_others_stand_in() {
    let limited_once = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 1 && turn.prompt.len() > 1 && !turn.project().join("limited").exists() {
            turn.write("limited", "");
            let until_ms = turn.now_ms() + 3_600_000;
            return turn.failed(&json!({"kind": "rate-limited", "untilMs": until_ms}), "slow down");
        }
        turn.work();
        turn.over("done");
    });
    let tasks = "- [ ] a {adapter=second model=x}\n- [ ] b\n";
    let project = LoopProject::new();
    let finished = looping(&project, tasks, &limited_once).run().await;
    assert_eq!(
        iterations(&finished.records()),
        ["second/x: a", "second/x: a", "script/own: b"]
    );
    let waited = |event: &Event| matches!(event, Event::Time(TimeEvent::WaitStarted { .. }));
    assert!(events(&finished.records()).any(waited), "{finished:?}");

    let project = LoopProject::new();
    let third = worker().called("third");
    let finished = looping(&project, tasks, &limited_once).standing_in(&third).run().await;
    let records = finished.records();
    assert_eq!(iterations(&records), ["second/x: a", "script/own: a", "script/own: b"]);
    assert!(!events(&records).any(waited), "{finished:?}");
    assert!(
        notices(&records).contains(&"continuing with script".to_owned()),
        "{records:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn mistakes_that_come_into_the_plan_during_the_run_are_told_once_and_the_runs_own_settings_are_used() {
    let project = LoopProject::new();
    let editor = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        if turn.n == 1 {
            turn.edit_plan(|plan| plan + "- [ ] b {adapter=gemini}\n- [ ] c {modle=x}\n- [ ] d {model=big}\n");
        }
        turn.over("done");
    });
    project.write("PLAN.md", "- [ ] a\n");
    let finished = project.looping(&editor).run().await;
    assert_eq!(finished.code(), Some(0), "{:?}", reason(&finished.records()));
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        ["script/?: a", "script/?: b", "script/?: c", "script/big: d"]
    );
    assert_eq!(
        notices(&records),
        [
            "the plan, line 3, column 10: unknown task setting `modle`; did you mean `model`?; using the settings of the run",
            "the plan, line 2, column 9: the run was started without adapter `gemini`; using the settings of the run",
            "the task asks for script/big",
        ]
    );
    assert!(events(&records).any(started(4)));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_iterations_get_nowhere_with_is_handed_on_and_the_next_begins_below() {
    let worker = |name: &str| Worker {
        adapter: name.to_owned(),
        model: Some("big".to_owned()),
    };
    // The agent fails once, asks once, and claims once without any work. Then `second` takes over.
    let weak = FunctionAgent::jsonl(|turn| async move {
        match turn.n {
            1 => turn.failed(&json!({"kind": "crashed"}), "boom"),
            2 => turn.failed(&json!({"kind": "overloaded"}), "busy"),
            3 => turn.over(&format!("All done.\n{}", turn.promise())),
            7 => {
                turn.work();
                turn.over("done");
            }
            _ => turn.over("hm"),
        }
    });
    let strong = FunctionAgent::jsonl(|turn| async move {
        if turn.n == 6 {
            turn.work();
        }
        turn.over("done");
    });
    let project = LoopProject::new();
    let steps = vec![worker("script"), worker("second")];
    let escalation = Escalation { steps, after: 2 };
    project.write("PLAN.md", "- [ ] a\n- [ ] b\n");
    let finished = project
        .looping(&weak)
        .with_agent(&strong.called("second"))
        .with(|settings| settings.escalation = escalation.clone())
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(
        iterations(&records),
        [
            "script/?: a",
            "script/?: a",
            "script/?: a",
            "script/big: a",
            "script/big: a",
            "second/big: a",
            "script/?: b",
        ]
    );
    assert_eq!(
        notices(&records),
        [
            "2 iterations made no progress on this task: handing it to script/big",
            "4 iterations made no progress on this task: handing it to second/big",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_stuck_detector_lets_everybody_try_who_takes_over() {
    let steps = ["one", "two", "three"].map(|model| Worker {
        adapter: "script".to_owned(),
        model: Some(model.to_owned()),
    });
    let escalation = |after| Escalation {
        steps: steps.to_vec(),
        after,
    };
    // The last worker takes over for the iteration before which the stuck detector would end the run.
    let agent = |helped: bool| {
        FunctionAgent::jsonl(move |turn| async move {
            if helped && turn.model.as_deref() == Some("three") {
                turn.work();
            }
            turn.over("hm");
        })
    };
    let project = LoopProject::new();
    project.plan(1);
    let looping = project.looping(&agent(true));
    let finished = looping.with(|settings| settings.escalation = escalation(2)).run().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(iterations(&finished.records()).len(), 7);

    let project = LoopProject::new();
    project.plan(1);
    let looping = project.looping(&agent(false));
    let finished = looping.with(|settings| settings.escalation = escalation(2)).run().await;
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    assert_eq!(iterations(&finished.records()).len(), 7, "one try more, and no other");
}
