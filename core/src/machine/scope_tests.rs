//! Tests of ticks that do not count because of files outside of the scopes of their tasks.

use crate::event::{
    Answer, AnswerPlace, AskEvent, Checkpoint, ClaimEvent, Event, Missing, ScopedTask, Settings, TaskEvent, UserCommand,
};

use super::{
    ScopeFinding, Settlement,
    testing::{Run, plan, preparation},
};

fn begun() -> Run {
    let scoped = |task: &str| ScopedTask {
        task: task.to_owned(),
        only: vec!["src/**".to_owned()],
    };
    Run::begun(Settings {
        scopes: vec![scoped("add"), scoped("last")],
        ..Settings::default()
    })
}

const OPEN: [(&str, bool); 2] = [("add", false), ("last", false)];

/// Runs an iteration whose changes outside of the scope of the first task are these.
fn iterate(run: &mut Run, outside: &[&str], more: u64, ticked: bool) {
    let number = run.state.view.iterations.number;
    run.prepared(super::Preparation {
        checkpoint: Some(Checkpoint {
            commit: format!("c{number}"),
            tree: format!("t{number}"),
            head: None,
        }),
        ..preparation(plan(&OPEN))
    });
    run.end_session();
    let finding = ScopeFinding {
        task: "add".to_owned(),
        outside: outside.iter().map(|file| (*file).to_owned()).collect(),
        more,
        ticked,
    };
    run.settled(Settlement {
        scopes: vec![finding],
        ..Settlement::from_plan(Ok(plan(&OPEN)), 0.5)
    });
}

fn refused(run: &Run) -> Vec<Missing> {
    let refused = run.events.iter().filter_map(|event| match event {
        Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(reasons.to_vec()),
        _ => None,
    });
    refused.flatten().collect()
}

fn asked(run: &Run) -> usize {
    let asked = |event: &&Event| matches!(event, Event::Ask(AskEvent::Asked { .. }));
    run.events.iter().filter(asked).count()
}

fn checked(run: &Run) -> usize {
    let checked = |event: &&Event| matches!(event, Event::Task(TaskEvent::ScopeChecked { .. }));
    run.events.iter().filter(checked).count()
}

fn held(run: &Run) -> Vec<String> {
    run.state.internal.scopes.held().into_iter().collect()
}

#[test]
fn a_tick_with_files_outside_is_refused_and_the_user_asked_once() {
    let mut run = begun();
    iterate(&mut run, &[], 0, false);
    assert_eq!(
        (checked(&run), held(&run).len()),
        (0, 0),
        "nothing is told of a task that keeps to its scope"
    );
    iterate(&mut run, &["b"], 0, false);
    assert_eq!((checked(&run), asked(&run), refused(&run).len()), (1, 0, 0));
    assert_eq!(held(&run), ["add"]);
    iterate(&mut run, &["b"], 0, true);
    let reason = Missing::OutOfScope {
        task: "add".into(),
        files: vec!["b".into()].into(),
        more: 0,
    };
    assert_eq!(refused(&run), [reason]);
    assert_eq!((asked(&run), held(&run).len()), (1, 1));
    iterate(&mut run, &["b"], 0, true);
    assert_eq!((asked(&run), refused(&run).len()), (0, 1), "it is asked already");
    iterate(&mut run, &["b", "c"], 0, true);
    assert_eq!((asked(&run), run.state.view.permissions.unanswered.len()), (1, 1));
    iterate(&mut run, &[], 0, true);
    assert_eq!((refused(&run).len(), held(&run).len()), (0, 0));
    assert_eq!(
        run.state.view.permissions.about_scope(),
        None,
        "the files were put back"
    );
}

#[test]
fn the_tree_before_the_first_iteration_of_a_task_is_kept_until_it_is_done() {
    let mut run = begun();
    let since = |run: &Run| -> Vec<(String, String)> {
        let scopes = run.state.internal.scopes.iter();
        scopes
            .map(|known| {
                (
                    known.task.clone(),
                    known.since.as_ref().map_or_else(String::new, |at| at.tree.clone()),
                )
            })
            .collect()
    };
    iterate(&mut run, &[], 0, false);
    iterate(&mut run, &[], 0, false);
    assert_eq!(since(&run), [("add".to_owned(), "t0".to_owned())]);
    run.prepared(preparation(plan(&[("add", true), ("last", false)])));
    assert_eq!(since(&run), [("last".to_owned(), String::new())]);
}

#[test]
fn the_open_tasks_of_an_iteration_are_those_of_its_beginning() {
    let mut run = begun();
    run.prepared(preparation(plan(&OPEN)));
    run.take(&super::Input::BoxesToggled {
        iteration: 1,
        toggled: vec![1],
    });
    assert!(run.state.view.plan.tasks[1].done);
    assert_eq!(run.state.internal.scopes.open, ["add", "last"]);
}

#[test]
fn accepted_files_count_and_others_do_not() {
    let mut run = begun();
    iterate(&mut run, &["b"], 3, true);
    let ask = run.state.view.permissions.asked;
    let answer = |answer| UserCommand::Answer {
        ask,
        answer,
        at: AnswerPlace::Screen,
    };
    run.command(answer(Answer::Deny { message: None }));
    assert_eq!(held(&run), ["add"]);
    iterate(&mut run, &["b"], 3, true);
    let ask = run.state.view.permissions.asked;
    run.command(UserCommand::Answer {
        ask,
        answer: Answer::Words {
            words: vec!["yes".to_owned()],
        },
        at: AnswerPlace::Screen,
    });
    assert_eq!((held(&run).len(), run.state.view.permissions.about_scope()), (0, None));
    iterate(&mut run, &["b"], 3, true);
    assert_eq!(refused(&run), []);
    for (files, more) in [(&["b", "c"][..], 3), (&["b"], 4)] {
        iterate(&mut run, files, more, true);
        assert_eq!(refused(&run).len(), 1, "{files:?} {more}");
    }
}

#[test]
fn what_cannot_be_determined_is_refused_without_a_question() {
    let mut run = begun();
    iterate(&mut run, &[], 1, true);
    assert_eq!((asked(&run), refused(&run).len(), held(&run).len()), (0, 1, 1));
}
