//! Interprets the user's words as answers to an agent's questions.

use crate::{
    event::{
        Answer, AnswerPlace, AnsweredAsk, Ask, AskEvent, ConfirmedBy, Event, GateEvent, Question, Remember, RuleScope,
        TEXT_CAP_BYTES, TaskEvent, Text, clip,
    },
    run::RunView,
};

use super::state::LoopState;

/// The meaning of an answer to a request with questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerReading {
    /// The choices or text for each question.
    Answered(Vec<Vec<String>>),
    /// The user declined to answer, possibly with a reason.
    Declined(Option<String>),
}

/// Why an answer is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The number of answers does not match the number of questions.
    Count { given: usize, asked: usize },
    /// The answer is not among the choices, and free text is not accepted.
    NoChoice { given: String, choices: Vec<String> },
    /// Only one choice may be selected.
    OnlyOne { choices: Vec<String> },
    /// The request is for a permission, not a question.
    NotAQuestion,
}

/// Reads an answer to `questions`. A choice is given by its number, from 1, or by its label; several are separated by
/// commas.
///
/// # Errors
/// [`NoAnswer`] if the answer is invalid.
pub fn read(questions: &[Question], answer: &Answer) -> Result<AnswerReading, NoAnswer> {
    match answer {
        // A permission answer stands for the word that was typed.
        Answer::Allow { remember } => {
            let word = match remember.as_ref().map(|remember| remember.scope) {
                None => "yes",
                Some(RuleScope::Run) => "always",
                Some(RuleScope::Project) => "project",
            };
            words(questions, &[word.to_owned()])
        }
        // A question may have a choice `no`.
        Answer::Deny { message: None } => Ok(match questions {
            [only] => chosen(only, "no").map_or(AnswerReading::Declined(None), |no| {
                AnswerReading::Answered(vec![vec![no]])
            }),
            _ => AnswerReading::Declined(None),
        }),
        Answer::Deny { message } => Ok(AnswerReading::Declined(message.clone())),
        Answer::Words { words: said } => words(questions, said),
    }
}

/// The message that carries an answer into the agent's next prompt, when the agent no longer waits for it.
///
/// # Errors
/// `None` if no open question has the number; otherwise [`NoAnswer`].
pub fn late_answer(
    view: &RunView,
    number: u32,
    answer: &Answer,
    at: AnswerPlace,
) -> Result<LateAnswer, Option<NoAnswer>> {
    let open = view.open_ask(number).ok_or(None)?;
    let reading = match open.questions().is_empty() {
        false => read(open.questions(), answer).map_err(Some)?,
        true => match answer {
            Answer::Allow { .. } => AnswerReading::Answered(vec![vec!["yes".to_owned()]]),
            Answer::Words { words } => AnswerReading::Answered(vec![vec![words.join(" ")]]),
            Answer::Deny { message } => AnswerReading::Declined(message.clone()),
        },
    };
    let text = match reading {
        AnswerReading::Answered(answers) => {
            let answers: Vec<String> = answers.iter().map(|answer| answer.join(", ")).collect();
            answers.join("; ")
        }
        AnswerReading::Declined(why) => {
            let words: Vec<String> = ["no".to_owned()].into_iter().chain(why).collect();
            words.join(": ")
        }
    };
    Ok(LateAnswer {
        text: clip(&text, TEXT_CAP_BYTES),
        answers: Box::new(AnsweredAsk {
            ask: number,
            question: open.text(),
            at,
        }),
        added: added(view, number, answer),
    })
}

/// The event that accepts what the agent did, if question `number` asks for it and the answer is yes. Any other answer is a
/// message to the agent.
pub fn confirmed(state: &LoopState, number: u32, answer: &Answer, at: AnswerPlace) -> Option<Event> {
    tests_confirmed(&state.view, number, answer, at).or_else(|| scope_confirmed(state, number, answer, at))
}

fn scope_confirmed(state: &LoopState, number: u32, answer: &Answer, at: AnswerPlace) -> Option<Event> {
    let asked = state
        .view
        .permissions
        .about_scope()
        .filter(|asked| asked.number == number)?;
    answer.is_yes().then(|| {
        let more = state.internal.scopes.iter().map(|changes| changes.more).max();
        Event::Task(TaskEvent::ScopeConfirmed {
            iteration: asked.iteration,
            files: asked.request.paths.iter().map(Text::from).collect(),
            more: more.unwrap_or_default(),
            at,
            ask: number,
        })
    })
}

fn tests_confirmed(view: &RunView, number: u32, answer: &Answer, at: AnswerPlace) -> Option<Event> {
    let asked = view.permissions.about_tests().filter(|asked| asked.number == number)?;
    answer.is_yes().then(|| {
        Event::Gate(GateEvent::TestsConfirmed {
            iteration: asked.iteration,
            changes: asked.changes.clone(),
            by: ConfirmedBy::User { at, ask: number },
        })
    })
}

/// The rules that a late yes adds, as an event. The agent is told yes, and is allowed when it asks again.
fn added(view: &RunView, number: u32, answer: &Answer) -> Option<Event> {
    let Answer::Allow {
        remember: Some(remember),
    } = answer
    else {
        return None;
    };
    // A killed run leaves pending requests.
    let mut open = view.permissions.pending.iter().chain(&view.permissions.unanswered);
    // The missing part of a cut request could be what the rules would allow.
    let ask = open.find(|ask| ask.number == number && ask.request.questions.is_empty() && !ask.cut)?;
    rules_added(ask, remember)
}

/// The rules that an answer to `ask` adds; `None` if neither the answer nor the question has any.
pub(super) fn rules_added(ask: &Ask, remember: &Remember) -> Option<Event> {
    let rules = match remember.rules.is_empty() {
        true => ask.offer.rules.clone(),
        false => remember.rules.clone(),
    };
    (!rules.is_empty()).then(|| {
        Event::Ask(AskEvent::RulesAdded {
            iteration: ask.iteration,
            ask: ask.number,
            scope: remember.scope,
            rules,
            over: ask.offer.asked_by.clone(),
        })
    })
}

/// An answer that goes into the next prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct LateAnswer {
    pub text: String,
    pub answers: Box<AnsweredAsk>,
    /// The rules that the answer adds.
    pub added: Option<Event>,
}

fn words(questions: &[Question], said: &[String]) -> Result<AnswerReading, NoAnswer> {
    if questions.is_empty() {
        return Err(NoAnswer::NotAQuestion);
    }
    // A single question is answered by all words together.
    let joined = [said.join(" ")];
    let said = if questions.len() == 1 { &joined } else { said };
    if said.len() != questions.len() {
        return Err(NoAnswer::Count {
            given: said.len(),
            asked: questions.len(),
        });
    }
    let answers = questions.iter().zip(said).map(|(question, said)| one(question, said));
    Ok(AnswerReading::Answered(answers.collect::<Result<_, _>>()?))
}

fn one(question: &Question, said: &str) -> Result<Vec<String>, NoAnswer> {
    let said = said.trim();
    let all: Option<Vec<String>> = match chosen(question, said) {
        // A label may contain commas.
        Some(choice) => Some(vec![choice]),
        None => said.split(',').map(|part| chosen(question, part.trim())).collect(),
    };
    let labels = || question.choices.iter().map(|choice| choice.label.clone()).collect();
    match all {
        Some(all) if all.len() > 1 && !question.multiple => Err(NoAnswer::OnlyOne { choices: labels() }),
        Some(mut all) => {
            let mut known = Vec::new();
            all.retain(|choice| {
                !known.contains(choice) && {
                    known.push(choice.clone());
                    true
                }
            });
            Ok(all)
        }
        None if question.free_text && !said.is_empty() => Ok(vec![clip(said, TEXT_CAP_BYTES)]),
        None => Err(NoAnswer::NoChoice {
            given: said.to_owned(),
            choices: labels(),
        }),
    }
}

/// The label of the choice with this number or label.
fn chosen(question: &Question, said: &str) -> Option<String> {
    let labels = || question.choices.iter().map(|choice| &choice.label);
    let by_label = labels().find(|label| label.eq_ignore_ascii_case(said));
    let number: Option<usize> = said.parse().ok();
    let by_number = || labels().nth(number?.checked_sub(1)?);
    by_label.or_else(by_number).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Choice;

    fn question(labels: &[&str], multiple: bool, free_text: bool) -> Question {
        let choice = |label: &&str| Choice {
            label: (*label).to_owned(),
            description: String::new(),
        };
        Question {
            text: "Which?".to_owned(),
            choices: labels.iter().map(choice).collect(),
            multiple,
            free_text,
            ..Question::default()
        }
    }

    fn said(questions: &[Question], words: &[&str]) -> Result<Vec<Vec<String>>, NoAnswer> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        match read(questions, &Answer::Words { words })? {
            AnswerReading::Answered(answers) => Ok(answers),
            AnswerReading::Declined(_) => panic!("declined"),
        }
    }

    #[test]
    fn choices_are_named_by_number_or_label_and_own_words_only_where_they_will_do() {
        let colours = [question(&["red", "dark, blue"], false, false)];
        for words in [&["2"][..], &["Dark, Blue"], &["dark,", "blue"]] {
            assert_eq!(said(&colours, words).unwrap(), [["dark, blue"]], "{words:?}");
        }
        assert!(matches!(said(&colours, &["green"]), Err(NoAnswer::NoChoice { .. })));
        assert!(matches!(said(&colours, &["0"]), Err(NoAnswer::NoChoice { .. })));
        assert!(matches!(said(&colours, &["1,2"]), Err(NoAnswer::OnlyOne { .. })));
        let open = [question(&["red"], false, true)];
        assert_eq!(said(&open, &["a", "dark", "green"]).unwrap(), [["a dark green"]]);
        assert!(said(&open, &[" "]).is_err());
        let sizes = [question(&["S", "M", "L"], true, false)];
        assert_eq!(said(&sizes, &["3, s,3"]).unwrap(), [["L", "S"]]);
    }

    #[test]
    fn each_of_several_questions_gets_an_answer_of_its_own() {
        let both = [question(&["red"], false, false), question(&["S", "L"], true, false)];
        assert_eq!(said(&both, &["1", "1,2"]).unwrap(), [vec!["red"], vec!["S", "L"]]);
        assert_eq!(said(&both, &["1"]), Err(NoAnswer::Count { given: 1, asked: 2 }));
        assert_eq!(said(&[], &["1"]), Err(NoAnswer::NotAQuestion));
    }

    #[test]
    fn a_no_declines_unless_it_is_one_of_the_choices() {
        let plain = [question(&["red"], false, true)];
        let no = Answer::Deny { message: None };
        assert_eq!(
            read(&[question(&["Yes", "No"], false, false)], &no).unwrap(),
            AnswerReading::Answered(vec![vec!["No".to_owned()]])
        );
        assert_eq!(
            read(&[question(&["red"], false, false)], &no).unwrap(),
            AnswerReading::Declined(None)
        );
        let why = Answer::Deny {
            message: Some("ask me tomorrow".to_owned()),
        };
        assert_eq!(
            read(&plain, &why).unwrap(),
            AnswerReading::Declined(Some("ask me tomorrow".to_owned()))
        );
    }
}
