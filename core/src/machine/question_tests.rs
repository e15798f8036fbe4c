//! Tests of questions in words: they wait like permission requests, and end with or without answers.

use crate::event::{
    AgentSignal, Answer, AnswerPlace, Answered, AskEvent, AskId, AskVerdict, Choice, Decider, Decision, Event,
    IterationEvent, Offer, PermissionMode, PermissionRequest, PlanSnapshot, Question, Ruling, SteeringEvent, TaskEvent,
    ToolKind, Unanswered,
};

use super::{Effect, Input, Settlement, TimerKind, permission_tests::Loop, testing};

fn asked(id: &str) -> Input {
    let choice = |label: &str| Choice {
        label: label.to_owned(),
        description: String::new(),
    };
    let question = Question {
        header: "Colour".to_owned(),
        text: "Which colour?".to_owned(),
        choices: vec![choice("red"), choice("blue")],
        ..Question::default()
    };
    let request = PermissionRequest {
        questions: vec![question],
        ..PermissionRequest::new(
            AskId(id.to_owned()),
            "question",
            ToolKind::Other,
            "Which colour?".to_owned(),
        )
    };
    let by = Decider::Mode {
        mode: PermissionMode::Auto,
    };
    Input::PermissionRequested {
        iteration: 1,
        request: Box::new(request),
        ruling: Ruling {
            decision: Decision::Ask,
            by,
            offer: Offer::default(),
        },
    }
}

/// Lets the deadline of the question pass.
fn be_overdue(running: &mut Loop) {
    let timer = running.armed(TimerKind::Permission).expect("a deadline");
    running.fire(timer);
}

/// The answer that is the only event.
fn the_answer(running: &Loop) -> &Answered {
    match &running.events[..] {
        [Event::Ask(AskEvent::Answered { answered })] => answered,
        others => panic!("{others:?}"),
    }
}

fn answers(answered: &Answered) -> &[Vec<String>] {
    match &answered.verdict {
        AskVerdict::Words { answers, .. } => answers,
        AskVerdict::Allowed | AskVerdict::Denied | AskVerdict::Withdrawn => panic!("{answered:?}"),
    }
}

fn words(text: &str) -> Answer {
    Answer::Words {
        words: vec![text.to_owned()],
    }
}

#[test]
fn a_question_waits_until_one_of_its_choices_is_named() {
    let mut running = Loop::running(Unanswered::Deny);
    running.take(&asked("q"));
    assert!(matches!(&running.events[..], [Event::Ask(AskEvent::Asked { ask })] if ask.number == 1));
    running.answer(1, words("green"));
    assert!(
        running.events.is_empty(),
        "it is none of the choices: {:?}",
        running.events
    );
    running.now_ms += 5_000;
    running.answer(1, words("2"));
    let answered = the_answer(&running);
    let by = Decider::User {
        at: AnswerPlace::Screen,
    };
    assert_eq!((&answered.by, answered.waited_ms), (&by, 5_000));
    assert_eq!(answers(answered), [["blue"]]);
    assert!(
        matches!(&running.effects[..], [.., Effect::AnswerQuestions { id, answers, .. }]
        if id.0 == "q" && *answers == [["blue"]])
    );
    assert!(running.state.view.permissions.pending.is_empty());
    running.answer(1, words("1"));
    assert!(running.events.is_empty(), "it has its answer");
}

#[test]
fn a_question_that_nobody_answers_is_left_to_the_agent_and_is_no_denial() {
    for unanswered in [Unanswered::Deny, Unanswered::Allow] {
        let mut running = Loop::running(unanswered);
        for _ in 0..7 {
            running.take(&asked("q"));
            be_overdue(&mut running);
            let answered = the_answer(&running);
            assert!(answers(answered).is_empty() && answered.by == Decider::Deadline);
        }
        let permissions = &running.state.view.permissions;
        assert_eq!((permissions.denied, permissions.allowed, permissions.asked), (0, 0, 7));
    }
    let mut running = Loop::running(Unanswered::Block);
    running.take(&asked("q"));
    be_overdue(&mut running);
    assert!(matches!(
        &running.events[..],
        [
            Event::Ask(AskEvent::Answered { .. }),
            Event::Iteration(IterationEvent::CancelRequested { .. })
        ]
    ));
}

#[test]
fn a_question_is_declined_with_a_reason_or_waits_without_end() {
    let mut running = Loop::running(Unanswered::Pause);
    running.take(&asked("q"));
    be_overdue(&mut running);
    assert_eq!(running.state.view.permissions.pending[0].until_ms, None);
    let message = Some("ask me tomorrow".to_owned());
    running.answer(
        1,
        Answer::Deny {
            message: message.clone(),
        },
    );
    let answered = the_answer(&running);
    assert!(answers(answered).is_empty());
    assert_eq!(answered.message, message);
}

#[test]
fn what_nobody_answered_in_time_is_answered_in_the_next_prompt_once() {
    let mut running = Loop::running(Unanswered::Deny);
    running.take(&asked("q"));
    be_overdue(&mut running);
    let open = running.state.view.open_asks();
    assert_eq!((open[0].number(), open[0].text().as_str()), (1, "Which colour?"));
    running.answer(1, words("green"));
    assert!(
        running.events.is_empty(),
        "it is none of the choices: {:?}",
        running.events
    );
    running.answer(1, words("2"));
    let [
        Event::Steering(SteeringEvent::Queued {
            text,
            answers: Some(answered),
            ..
        }),
    ] = &running.events[..]
    else {
        panic!("{:?}", running.events)
    };
    assert_eq!((text.as_str(), answered.question.as_str()), ("blue", "Which colour?"));
    assert_eq!(
        running.state.view.messages[0].question.as_deref(),
        Some("Which colour?")
    );
    running.answer(1, words("1"));
    assert!(running.events.is_empty(), "it has its answer: {:?}", running.events);
}

/// Settles the iteration, whose agent was ended. Returns the question that its task waits for.
fn blocked_after(running: &mut Loop) -> Option<String> {
    let (exit, output_bytes) = (None, 1);
    let signal = AgentSignal::Ended { exit, output_bytes };
    running.take(&Input::Agent { iteration: 1, signal });
    let plan = PlanSnapshot {
        tasks: vec![testing::task("task", false)],
    };
    let settlement = Box::new(Settlement::from_plan(Ok(plan), 0.5));
    running.take(&Input::Settled {
        iteration: 1,
        settlement,
    });
    running.events.iter().find_map(|event| match event {
        Event::Task(TaskEvent::Blocked { question, .. }) => Some(question.to_string()),
        _ => None,
    })
}

#[test]
fn a_task_waits_for_the_request_or_question_that_came_last() {
    let declined = Answer::Deny { message: None };
    let mut running = Loop::running(Unanswered::Block);
    running.take(&asked("q"));
    running.answer(1, declined.clone());
    running.ask("p", Decision::Ask);
    be_overdue(&mut running);
    assert_eq!(blocked_after(&mut running).as_deref(), Some("Bash: git push?"));

    let mut running = Loop::running(Unanswered::Block);
    running.ask("p", Decision::Ask);
    running.answer(1, declined.clone());
    running.take(&asked("q"));
    be_overdue(&mut running);
    assert_eq!(blocked_after(&mut running).as_deref(), Some("Which colour?"));

    // A denial by a rule has no number.
    let mut running = Loop::running(Unanswered::Deny);
    running.state.view.settings.denials.same = 1;
    running.take(&asked("q"));
    running.answer(1, declined);
    running.now_ms += 1_000;
    running.ask("p", Decision::Deny);
    assert_eq!(blocked_after(&mut running).as_deref(), Some("Bash: git push?"));
}
