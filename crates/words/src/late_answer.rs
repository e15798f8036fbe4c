//! Questions of an agent without their user: when the time is up, and when the answer comes too late.

use std::path::Path;

use ralph_core::{
    event::{AnswerPlace, Ask, AskVerdict, ConfirmedBy, Decider, SteeringId, Unanswered},
    run::RunView,
};

use super::permission::{answers_in_words, asked_in_words, decider_in_words};

/// Describes what happens to a waiting question when its time is up, to follow "then".
pub fn unanswered_in_words(view: &RunView, ask: &Ask) -> &'static str {
    let is_in_words = !ask.request.questions.is_empty();
    match view.settings.waiting.unanswered {
        // A question is not denied: its agent goes on without an answer.
        Unanswered::Deny | Unanswered::Allow if is_in_words => "the agent decides alone",
        Unanswered::Deny => "it is denied",
        Unanswered::Allow => "it is allowed",
        Unanswered::Pause => "the run is held",
        Unanswered::Block => "the task is set aside",
    }
}

/// Describes how a question was settled that cannot be answered any more, and who settled it where.
pub fn late_answer_in_words(view: &RunView, ask: u32) -> String {
    let permissions = &view.permissions;
    if let Some(answered) = permissions.answer_to(ask) {
        let by = place_of_decision(&answered.by);
        let asked = || asked_in_words(&answered.tool, &answered.title);
        let (word, what) = match &answered.verdict {
            AskVerdict::Allowed => ("allowed", asked()),
            AskVerdict::Denied => ("denied", asked()),
            AskVerdict::Words { questions, answers } => {
                let word = match (answers.is_empty(), answered.by.is_user()) {
                    (false, _) => "answered",
                    (true, true) => "declined",
                    (true, false) => "left without an answer",
                };
                (word, answers_in_words(questions, answers))
            }
            AskVerdict::Withdrawn => return format!("question {ask} is closed: the agent withdrew it"),
        };
        return format!("question {ask} was {word} {by}{}: {what}", saying(&answered.message));
    }
    let mut messages = view.messages.iter().rev();
    if let Some((message, at)) =
        messages.find_map(|message| (message.answers == Some(ask)).then_some((message, message.answered_at?)))
    {
        let by = place_of_decision(&Decider::User { at });
        return format!(
            "question {ask} was answered {by}, in message {}: {}",
            message.id.0, message.text
        );
    }
    let mut confirmed = view.changed_tests.confirmed.iter().rev();
    let by = confirmed.find_map(|confirmed| match &confirmed.by {
        ConfirmedBy::User { at, ask: number } if *number == ask => Some(Decider::User { at: *at }),
        _ => None,
    });
    if let Some(by) = by {
        let by = place_of_decision(&by);
        return format!("question {ask} was answered {by}: the changed tests are accepted");
    }
    if ask == 0 || ask > permissions.asked {
        return format!("there is no question {ask}");
    }
    format!("question {ask} is no longer open: its iteration is over, and a message or the next iteration followed")
}

/// The notice that a message, or an answer that became one, waits for `ralph continue`; `rules` describes the rules
/// that the answer adds.
pub fn queued_message_in_words(message: SteeringId, plan: &Path, rules: &str) -> String {
    let (number, plan) = (message.0, plan.display());
    format!("message {number} is queued for {plan}: `ralph continue` delivers it{rules}")
}

/// The decider and, for a user, the place of the decision: two users may answer at once.
pub fn place_of_decision(by: &Decider) -> String {
    let who = decider_in_words(by);
    match by {
        Decider::User { at } => match at {
            AnswerPlace::Screen => format!("{who} on the screen"),
            AnswerPlace::CommandLine => format!("{who} with `ralph answer`"),
            AnswerPlace::Page => format!("{who} on the page"),
            AnswerPlace::Api => format!("{who} over HTTP"),
        },
        Decider::Rule { .. }
        | Decider::Mode { .. }
        | Decider::Unclear
        | Decider::Deadline
        | Decider::TooManyPending
        | Decider::Agent
        | Decider::Limit { .. } => who,
    }
}

fn saying(message: &Option<String>) -> String {
    message
        .as_ref()
        .map(|message| format!(", saying \"{message}\""))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{AskEvent, Event, SteeringEvent},
        testing::{
            iteration_ended, iteration_started, permission_asked, permission_decided, question_answered,
            question_asked, question_withdrawn,
        },
    };

    fn view(events: Vec<Event>) -> RunView {
        let mut view = RunView::default();
        view.apply_event(1, &iteration_started(3, None, None));
        events.iter().for_each(|event| view.apply_event(2, event));
        view
    }

    #[test]
    fn whoever_answers_second_reads_what_was_decided_and_by_whom_and_where() {
        let at = |place| Decider::User { at: place };
        for (event, expected) in [
            (
                permission_decided(Some(1), true, at(AnswerPlace::CommandLine), None),
                "question 1 was allowed by you with `ralph answer`: Bash: git push",
            ),
            (
                permission_decided(Some(1), false, at(AnswerPlace::Screen), Some("use a branch")),
                "question 1 was denied by you on the screen, saying \"use a branch\": Bash: git push",
            ),
            (
                permission_decided(Some(1), false, Decider::Deadline, None),
                "question 1 was denied by the time limit: Bash: git push",
            ),
            (question_withdrawn(1), "question 1 is closed: the agent withdrew it"),
        ] {
            assert_eq!(
                late_answer_in_words(&view(vec![permission_asked(1), event]), 1),
                expected
            );
        }
        assert_eq!(late_answer_in_words(&view(Vec::new()), 7), "there is no question 7");
    }

    #[test]
    fn questions_in_words_have_their_answers_told_and_a_late_answer_is_the_message_it_became() {
        let answered = |answers: &[&str], by, message: Option<&str>| {
            let mut event = question_answered(1, answers, by, 1);
            if let Event::Ask(AskEvent::Answered { answered }) = &mut event {
                answered.message = message.map(str::to_owned);
            }
            event
        };
        let screen = Decider::User {
            at: AnswerPlace::Screen,
        };
        for (event, expected) in [
            (
                answered(&["red"], screen.clone(), None),
                "question 1 was answered by you on the screen: Which colour? → red",
            ),
            (
                answered(&[], screen, Some("ask the designer")),
                "question 1 was declined by you on the screen, saying \"ask the designer\": Which colour?",
            ),
        ] {
            assert_eq!(
                late_answer_in_words(&view(vec![question_asked(1, false), event]), 1),
                expected
            );
        }
        let late = Event::Steering(SteeringEvent::Queued {
            id: ralph_core::event::SteeringId(4),
            kind: ralph_core::event::SteeringKind::Next,
            text: "yes".to_owned(),
            answers: Some(Box::new(ralph_core::event::AnsweredAsk {
                ask: 1,
                question: "Bash: git push".to_owned(),
                at: AnswerPlace::CommandLine,
            })),
        });
        let view = view(vec![permission_asked(1), iteration_ended(3), late]);
        assert_eq!(
            late_answer_in_words(&view, 1),
            "question 1 was answered by you with `ralph answer`, in message 4: yes"
        );
    }
}
