//! Plans whose lines are written in other ways than `- [ ]`, and plans that agents mark, tidy and move.

use ralph_core::event::{Event, PlanEvent, RunEvent};
use ralph_words::stop_in_words;

use super::{notices, outcomes, reason};
use crate::harness::in_process::{AgentTurn, FinishedLoop, FunctionAgent, LoopProject};

/// Runs an agent that edits the plan in each turn, besides working.
async fn run(plan: &str, iterations: u32, edit: fn(u32, String) -> String) -> (LoopProject, FinishedLoop) {
    let project = LoopProject::new();
    project.write("PLAN.md", plan);
    let agent = FunctionAgent::terminal(move |turn: AgentTurn| async move {
        turn.write(&format!("work{}.txt", turn.n), "done\n");
        turn.edit_plan(|plan| edit(turn.n, plan));
    });
    let finished = project.looping(&agent).max_iterations(iterations).run().await;
    (project, finished)
}

/// Ticks the first box.
fn tick(plan: &str) -> String {
    plan.replacen("[ ]", "[x]", 1)
}

#[tokio::test(start_paused = true)]
async fn a_mark_leaves_a_task_open_and_the_next_session_works_on_it() {
    for mark in ["[~]", "[-]", "[🚧]"] {
        let marked = match mark {
            "[~]" => |n, plan: String| {
                if n == 1 {
                    plan.replace("[ ]", "[~]")
                } else {
                    plan.replace("[~]", "[x]")
                }
            },
            "[-]" => |n, plan: String| {
                if n == 1 {
                    plan.replace("[ ]", "[-]")
                } else {
                    plan.replace("[-]", "[x]")
                }
            },
            _ => |n, plan: String| {
                if n == 1 {
                    plan.replace("[ ]", "[🚧]")
                } else {
                    plan.replace("[🚧]", "[✔]")
                }
            },
        };
        let (_project, finished) = run("- [ ] Write the loader\n", 4, marked).await;
        assert_eq!(finished.code(), Some(0), "{mark} {finished:?}");
        assert_eq!(outcomes(&finished.records()).len(), 2, "{mark}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_ticked_with_a_sign_a_strike_or_a_note_is_the_same() {
    let ticks: [fn(u32, String) -> String; 3] = [
        |_, plan| plan.replacen("[ ] Write", "[x] ✅ Write", 1),
        |_, plan| plan.replacen("[ ] Write the", "[x] ~~Write the~~", 1),
        |_, plan| {
            plan.replacen("[ ] Write the parser", "[x] 🎉 Write the parser (1a2b)", 1)
                .replacen("[ ]", "[x]", 1)
        },
    ];
    for (number, tick) in ticks.into_iter().enumerate() {
        let (_project, finished) = run("- [ ] Write the parser\n- [ ] Write the printer\n", 6, tick).await;
        assert_eq!(finished.code(), Some(0), "{number} {finished:?}");
        let edited = finished
            .records()
            .iter()
            .any(|record| matches!(record.event, Event::Plan(PlanEvent::Edited { .. })));
        assert!(!edited, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_may_be_removed_folded_or_moved() {
    let tidied: [fn(u32, String) -> String; 3] = [
        |_, plan| {
            tick(
                &plan
                    .lines()
                    .filter(|line| !line.starts_with("- [x]"))
                    .map(|line| format!("{line}\n"))
                    .collect::<String>(),
            )
        },
        |n, plan| match n {
            2 => tick(&plan.replace("- [x] Write the parser\n- [x] Old\n", "- [x] Parser and the rest\n")),
            _ => tick(&plan),
        },
        |n, plan| match n {
            2 => tick(&plan.replace("- [x] Old\n", "")) + "\n## Archive\n\nOld, and the parser\n",
            _ => tick(&plan),
        },
    ];
    for (number, tidy) in tidied.into_iter().enumerate() {
        let plan = "- [ ] Write the parser\n- [x] Old\n- [ ] Write the printer\n- [ ] Write the tests\n";
        let (_project, finished) = run(plan, 6, tidy).await;
        assert_eq!(finished.code(), Some(0), "{number} {finished:?}");
        let records = finished.records();
        assert_eq!(outcomes(&records).len(), 3, "{number}");
        let Some(Event::Run(RunEvent::Stopped { totals, .. })) = records.last().map(|record| &record.event) else {
            panic!("no end")
        };
        assert!(totals.tasks_done >= 4 && totals.tasks_open == 0, "{number} {totals:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_task_that_goes_elsewhere_is_asked_back_and_no_run_is_done_without_it() {
    // Exit code 6 is the limit on iterations, 8 the question about tasks that were not put back.
    type Move = fn(u32, String) -> String;
    let moves: [(Move, i32); 3] = [
        (|_, plan| plan.replacen("- [ ] Write the parser\n", "", 1), 6),
        (
            |_, plan| plan.replace("- [ ] Write the parser", "<!-- - [ ] Write the parser -->"),
            6,
        ),
        (|_, _| String::new(), 8),
    ];
    for (number, (gone, code)) in moves.into_iter().enumerate() {
        let (project, finished) = run("- [ ] Write the parser\n- [ ] Write the printer\n", 2, gone).await;
        assert_eq!(finished.code(), Some(code), "{number} {finished:?}");
        let prompt = project.prompt(2);
        assert!(
            prompt.contains("put them back, with the same text: Write the parser"),
            "{number} {prompt}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_names_the_lines_that_were_not_read() {
    let unread = [
        (
            "| 1 | Write the printer | [ ] |",
            "1 line of the plan was not read as a task: 3",
        ),
        (
            "> - [ ] Write the printer\n[ ] Send it",
            "2 lines of the plan were not read as tasks: 3, 4",
        ),
        (
            "Text\n\n- good\n- ❌ bad",
            "1 line of the plan was not read as a task: 6",
        ),
    ];
    for (lines, words) in unread {
        let (_project, finished) = run(&format!("- [ ] Write the parser\n\n{lines}\n"), 3, |_, plan| {
            tick(&plan)
        })
        .await;
        let records = finished.records();
        let end = stop_in_words(reason(&records));
        assert_eq!(end, format!("done (not verified), {words}"));
        assert_eq!(finished.code(), Some(0));
    }
    let example = "- [ ] Write the parser\n\n```\n- [ ] no\n```\n";
    let (_project, finished) = run(example, 3, |_, plan| tick(&plan)).await;
    assert_eq!(stop_in_words(reason(&finished.records())), "done (not verified)");
}

#[tokio::test(start_paused = true)]
async fn steps_are_done_in_one_iteration_and_headings_with_boxes_are_tasks() {
    let plan = "### Task 1: a\n- [ ] **Step 1: Test**\n- [ ] **Step 2: Commit**\n### Task 2: b\n- [ ] **Step 1: Test**\n- [ ] **Step 2: Commit**\n";
    let (project, finished) = run(plan, 6, |_, plan| tick(&tick(&plan))).await;
    assert_eq!(outcomes(&finished.records()).len(), 2, "{finished:?}");
    let prompt = project.prompt(2);
    assert!(
        prompt.contains("  Task 2: b\n  (line 5)\n  - [ ] Step 1: Test\n  - [ ] Step 2: Commit\n"),
        "{prompt}"
    );
    let headings =
        "## Work\n\n### [ ] Task 1: load\nread\n\n### [ ] Task 2: print\n\n## Quality\n\n- [~] All tests pass\n";
    let (project, finished) = run(headings, 6, |n, plan| match n {
        3 => plan.replace("[~]", "[x]"),
        _ => tick(&plan),
    })
    .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    assert_eq!(outcomes(&records).len(), 3);
    assert!(
        project
            .prompt(1)
            .contains("  Task 1: load\n  (line 3, below \"Work\")\n"),
        "{}",
        project.prompt(1)
    );
    let said = notices(&records);
    assert!(
        said.iter()
            .any(|text| text.contains("1 task with a mark that is no tick (`[~]`)")),
        "{said:?}"
    );
}
