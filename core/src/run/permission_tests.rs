//! Tests of the permissions of a run: which questions stay open, and what is counted.

use super::*;
use crate::{
    event::{
        AnswerPlace, Ask, AskEvent, ConfirmedBy, Decider, Event, GateEvent, GuardedChange, GuardedChangeKind, Question,
        TestsChange,
    },
    testing::{
        iteration_ended, iteration_started, permission_asked, permission_decided, question_answered, question_asked,
    },
};

const USER: Decider = Decider::User { at: AnswerPlace::Page };

fn after(events: impl IntoIterator<Item = Event>) -> Permissions {
    let mut permissions = Permissions::default();
    follow(&mut permissions, events);
    permissions
}

fn follow(permissions: &mut Permissions, events: impl IntoIterator<Item = Event>) {
    events.into_iter().for_each(|event| permissions.apply(100, &event));
}

/// A question that the agent asks with ralph's own tool.
fn asked_by_tool(number: u32) -> Event {
    let question = Question {
        text: format!("question {number}"),
        ..Question::default()
    };
    asked(Ask::by_tool(number, 3, &question))
}

fn asked(ask: Ask) -> Event {
    Event::Ask(AskEvent::Asked { ask: Box::new(ask) })
}

fn tests_questioned(number: u32) -> Event {
    let change = |path: &str, kind| GuardedChange {
        path: path.into(),
        kind,
        part: None,
    };
    let change = TestsChange::new(
        "they were wrong",
        vec![
            change("tests/b.rs", GuardedChangeKind::Changed),
            change("tests/a.rs", GuardedChangeKind::Deleted),
            change("tests/b.rs", GuardedChangeKind::Added),
        ],
        "-old\n+new".to_owned(),
    );
    asked(crate::run::tests_question(number, 3, &change))
}

fn answered(ask: u32, answers: &[&str], by: Decider) -> Event {
    question_answered(ask, answers, by, 1)
}

fn denied(tool: &str, title: &str) -> Event {
    let mut event = permission_decided(None, false, USER, None);
    if let Event::Ask(AskEvent::Answered { answered }) = &mut event {
        (answered.tool, answered.title) = (tool.to_owned(), title.to_owned());
    }
    event
}

fn numbers(asks: &[Ask]) -> Vec<u32> {
    asks.iter().map(|ask| ask.number).collect()
}

#[test]
fn a_new_iteration_begins_without_waits_and_denials_and_keeps_the_questions_in_words() {
    let mut permissions = after([
        asked_by_tool(1),
        permission_asked(2),
        iteration_ended(3),
        permission_asked(3),
        denied("Bash", "git push"),
    ]);
    assert_eq!(numbers(&permissions.unanswered), [1, 2]);
    assert_eq!(permissions.requests_now, 3);
    assert_eq!(permissions.times_denied("Bash", "git push"), 1);
    follow(&mut permissions, [iteration_started(4, None, None)]);
    assert_eq!(
        numbers(&permissions.unanswered),
        [1],
        "an earlier request is of no use any more"
    );
    assert_eq!((permissions.pending.len(), permissions.requests_now), (0, 0));
    assert_eq!(permissions.times_denied("Bash", "git push"), 0);
    assert_eq!(permissions.waited_by(9_000), 0);
    assert_eq!(
        (permissions.asked, permissions.denied),
        (3, 1),
        "the run's own counts go on"
    );
}

#[test]
fn questions_by_tool_are_numbered_with_the_others_and_stored_up_to_a_maximum() {
    let mut permissions = after((1..=70).map(asked_by_tool));
    assert_eq!((permissions.asked, permissions.unanswered.len()), (70, 64));
    assert_eq!(permissions.unanswered[0].request.questions[0].text, "question 1");
    assert_eq!(permissions.unanswered[63].number, 64);
    let missed = [question_asked(71, false), answered(71, &[], Decider::Deadline)];
    follow(&mut permissions, missed);
    assert_eq!(permissions.unanswered.len(), 64);
}

#[test]
fn a_later_question_about_tests_replaces_the_earlier_one_and_no_other() {
    let mut permissions = after([asked_by_tool(1), tests_questioned(2), tests_questioned(3)]);
    assert_eq!((permissions.asked, numbers(&permissions.unanswered)), (3, vec![1, 3]));
    assert_eq!(permissions.about_tests().map(|ask| ask.number), Some(3));
    let confirmed = Event::Gate(GateEvent::TestsConfirmed {
        iteration: 3,
        changes: Vec::new().into(),
        by: ConfirmedBy::User {
            at: AnswerPlace::Page,
            ask: 3,
        },
    });
    follow(&mut permissions, [confirmed]);
    assert_eq!(numbers(&permissions.unanswered), [1]);
    assert_eq!(permissions.about_tests(), None);
}

#[test]
fn the_question_about_tests_names_each_file_once_and_the_agents_reason() {
    let permissions = after([tests_questioned(1)]);
    let request = &permissions.about_tests().unwrap().request;
    assert_eq!(request.title, "accept the changed tests? tests/a.rs, tests/b.rs");
    assert_eq!(request.paths, ["tests/a.rs", "tests/b.rs"]);
    assert_eq!(request.reason.as_deref(), Some("they were wrong"));
    let without_reason = crate::run::tests_question(1, 3, &TestsChange::default());
    let permissions = after([asked(without_reason)]);
    assert_eq!(permissions.about_tests().unwrap().request.reason, None);
}

#[test]
fn only_changed_tests_are_decided_on_and_everything_else_is_answered() {
    let permissions = after([asked_by_tool(1), tests_questioned(2)]);
    let decisions = permissions.unanswered.iter().map(Ask::is_about_tests);
    assert_eq!(decisions.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn an_open_question_is_told_by_its_number_and_in_words() {
    let of = |event| after([event]).pending.remove(0);
    let (request, questions) = (of(permission_asked(4)), of(question_asked(5, true)));
    let tests = after([tests_questioned(6)]).unanswered.remove(0);
    let block = Block {
        number: 8,
        task: None,
        question: "Which key?".to_owned(),
    };
    for (ask, number, text) in [
        (
            OpenAsk::Waits(&request),
            4,
            "Bash: git push origin main --force-with-lease",
        ),
        (
            OpenAsk::Missed(&questions),
            5,
            "Which colour shall the button have? Which sizes?",
        ),
        (
            OpenAsk::Missed(&tests),
            6,
            "accept the changed tests? tests/a.rs, tests/b.rs",
        ),
        (OpenAsk::Blocks(&block), 8, "Which key?"),
    ] {
        assert_eq!((ask.number(), ask.text().as_str()), (number, text));
    }
}

#[test]
fn only_a_question_that_ran_out_of_time_can_still_be_answered() {
    for (answers, by, open) in [
        (&[][..], Decider::Deadline, vec![1]),
        (&[], USER, vec![]),
        (&["red"], USER, vec![]),
    ] {
        let permissions = after([question_asked(1, false), answered(1, answers, by.clone())]);
        assert_eq!(numbers(&permissions.unanswered), open, "{answers:?} by {by:?}");
        assert!(permissions.pending.is_empty());
    }
}

#[test]
fn the_decider_of_a_question_is_found_among_answers_and_decisions() {
    let rule = Decider::Rule {
        rule: "Bash(git *)".to_owned(),
        origin: "project".to_owned(),
    };
    let permissions = after([
        answered(1, &["red"], USER),
        permission_decided(Some(2), true, rule.clone(), None),
        permission_decided(Some(3), false, Decider::Deadline, None),
        permission_decided(None, false, Decider::Unclear, None),
    ]);
    assert_eq!(permissions.decider(1), Some(&USER));
    assert_eq!(permissions.decider(2), Some(&rule));
    assert_eq!(permissions.decider(3), Some(&Decider::Deadline));
    assert_eq!(permissions.decider(4), None);
}

#[test]
fn denials_are_counted_by_tool_and_title() {
    let permissions = after([
        denied("Bash", "git push"),
        denied("Bash", "rm -r /"),
        denied("Edit", "git push"),
        denied("Bash", "git push"),
    ]);
    let times = |tool, title| permissions.times_denied(tool, title);
    assert_eq!((times("Bash", "git push"), times("Bash", "rm -r /")), (2, 1));
    assert_eq!((times("Edit", "git push"), times("Edit", "rm -r /")), (1, 0));
}

#[test]
fn only_so_many_different_denials_are_stored() {
    let permissions = after((0..70).map(|number| denied("Bash", &format!("command {number}"))));
    assert_eq!((permissions.denied_now.len(), permissions.denied), (64, 70));
}

#[test]
fn a_closed_question_leaves_those_that_wait() {
    let mut permissions = after([
        permission_asked(1),
        permission_asked(2),
        asked_by_tool(3),
        asked_by_tool(4),
    ]);
    permissions.close(3);
    assert_eq!(
        (numbers(&permissions.pending), numbers(&permissions.unanswered)),
        (vec![1, 2], vec![4])
    );
    permissions.close(1);
    assert_eq!(
        (numbers(&permissions.pending), numbers(&permissions.unanswered)),
        (vec![2], vec![4])
    );
}
