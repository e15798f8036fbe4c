//! Permission requests in words: the request, the decision and its reason, and the reply to the agent.

use ralph_core::{
    event::{Answer, Answered, Ask, AskKind, AskVerdict, Decider, Decision, PermissionMode, Question, RuleScope},
    machine::{NoAnswer, read_answer},
    run::Message,
};

use super::{guarded_changes_in_words, limit_word, short_duration};

/// Maximum number of choices that are listed individually.
const LISTED: usize = 5;

pub fn decision_in_words(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked",
        Decision::Deny => "denied",
    }
}

/// A request for the user: the tool and its purpose.
pub fn asked_in_words(tool: &str, title: &str) -> String {
    match title {
        "" => tool.to_owned(),
        title => format!("{tool}: {title}"),
    }
}

/// The command that answers a request: `ralph answer 3 yes|no`, or `ralph answer 3 1|2` if it has choices.
pub fn answer_command(ask: u32, questions: &[Question]) -> String {
    match questions {
        [] => format!("ralph answer {ask} yes|no"),
        [only] if only.choices.len() > LISTED => format!("ralph answer {ask} 1-{}", only.choices.len()),
        [only] if !only.choices.is_empty() => {
            let numbers: Vec<String> = (1..=only.choices.len()).map(|number| number.to_string()).collect();
            format!("ralph answer {ask} {}", numbers.join("|"))
        }
        [_] => format!("ralph answer {ask} \"…\""),
        [_, _, ..] => "ralph asks".to_owned(),
    }
}

/// The scope of a remembered answer.
pub fn scope_in_words(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Run => "in this run",
        RuleScope::Project => "in this project",
    }
}

/// The decider, as a clause.
pub fn decider_in_words(by: &Decider) -> String {
    match by {
        Decider::Rule { rule, origin } => format!("by `{rule}` ({origin})"),
        Decider::Mode { mode } => format!("by the mode `{}`", mode_word(*mode)),
        Decider::Unclear => "because it is unclear what its command would run".to_owned(),
        Decider::User { .. } => "by you".to_owned(),
        Decider::Deadline => "by the time limit".to_owned(),
        Decider::TooManyPending => "because too many requests wait for an answer".to_owned(),
        Decider::Agent => "by the agent".to_owned(),
        Decider::Limit { limit } => format!("by the {} limit", limit_word(*limit)),
    }
}

pub fn mode_word(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Auto => "auto",
        PermissionMode::Ask => "ask",
        PermissionMode::Restricted => "restricted",
        PermissionMode::Readonly => "readonly",
    }
}

/// The effect of a permission mode set during the run.
pub fn mode_in_words(mode: PermissionMode) -> String {
    let how = match mode {
        PermissionMode::Auto => "allowed",
        PermissionMode::Ask => "put to you",
        PermissionMode::Restricted => "denied",
        PermissionMode::Readonly => "denied, unless they only read",
    };
    format!(
        "permission mode `{}`: requests without a matching rule are now {how}",
        mode_word(mode)
    )
}

/// The answers to questions, on one line.
pub fn answers_in_words(questions: &[String], answers: &[Vec<String>]) -> String {
    let pairs = questions.iter().zip(answers);
    let pairs: Vec<String> = pairs
        .map(|(question, answer)| format!("{question} → {}", answer.join(", ")))
        .collect();
    match pairs.is_empty() {
        true => questions.join(" "),
        false => pairs.join(" · "),
    }
}

/// A question to the user on one line, with how to answer it. `time` renders a moment.
pub(super) fn question_in_words(ask: &Ask, time: impl Fn(u64) -> String) -> String {
    let Ask { number, request, .. } = ask;
    match ask.kind {
        AskKind::Permission | AskKind::Question => {
            let until = match ask.until_ms {
                Some(until_ms) => format!("until {}", time(until_ms)),
                None => "for an answer without end".to_owned(),
            };
            let asked = asked_in_words(&request.tool, &request.title);
            let how = match request.questions.first().and_then(|question| question.choices.first()) {
                Some(_) => format!("`ralph answer {number} 1`, as `ralph asks` lists them"),
                None if !request.questions.is_empty() => format!("`ralph answer {number} \"…\"`"),
                None => format!("`ralph answer {number} yes` or `no`"),
            };
            format!("the agent asks ({number}): {asked}; waiting {until}: {how}")
        }
        AskKind::Ticket => format!("question {number}: {}", request.title),
        AskKind::Scope => format!("question {number}: {}: `ralph confirm`", request.title),
        AskKind::Tests => format!(
            "question {number}: accept the changed tests? {}: {}",
            guarded_changes_in_words(&ask.changes),
            request.reason.as_deref().unwrap_or_default()
        ),
    }
}

/// A decision or the outcome of questions, on one line.
pub(super) fn answer_in_words(answered: &Answered) -> String {
    let waited = match answered.waited_ms {
        0..1_000 => String::new(),
        waited_ms => format!(", after {}", short_duration(waited_ms)),
    };
    let asked = || asked_in_words(&answered.tool, &answered.title);
    let (word, what) = match &answered.verdict {
        AskVerdict::Allowed => ("allowed", asked()),
        AskVerdict::Denied => ("denied", asked()),
        AskVerdict::Words { questions, answers } => {
            let word = if answers.is_empty() { "not answered" } else { "answered" };
            (word, answers_in_words(questions, answers))
        }
        AskVerdict::Withdrawn => {
            let number = answered.ask.unwrap_or_default();
            return format!("the agent withdrew question {number}");
        }
    };
    format!("{word}: {what} ({}{waited})", decider_in_words(&answered.by))
}

/// The reply to an agent whose questions get no answer.
pub fn no_answer(by: &Decider, message: Option<&str>) -> String {
    let why = match by {
        Decider::User { .. } => "The user declined to answer.",
        Decider::Rule { .. }
        | Decider::Mode { .. }
        | Decider::Unclear
        | Decider::Deadline
        | Decider::TooManyPending
        | Decider::Agent
        | Decider::Limit { .. } => "No user is available to answer.",
    };
    match message {
        Some(message) => format!("{why} The user says: {message}"),
        None => format!(
            "{why} Decide yourself, and say what you decided and why; if that would be wrong, say that you are BLOCKED, with \
             the question."
        ),
    }
}

/// A message of the user in the form for the agent.
pub fn message_in_prompt(message: &Message) -> String {
    match &message.question {
        Some(question) => format!("You asked: {question}\nThe user answers: {}", message.text),
        None => message.text.clone(),
    }
}

/// Why `answer` is not valid for these questions, and what would be; `None` if it is valid, or if the request has no
/// questions.
pub fn not_an_answer_in_words(ask: u32, questions: &[Question], answer: &Answer) -> Option<String> {
    if questions.is_empty() {
        return None;
    }
    let why = read_answer(questions, answer).err()?;
    Some(no_answer_in_words(ask, &why))
}

/// Why an answer is not valid, and what would be.
pub fn no_answer_in_words(ask: u32, why: &NoAnswer) -> String {
    let listed = |choices: &[String]| {
        let numbered = choices
            .iter()
            .enumerate()
            .map(|(index, label)| format!("{} {label}", index + 1));
        numbered.collect::<Vec<_>>().join(" · ")
    };
    match why {
        NoAnswer::Count { given, asked } => format!(
            "question {ask} needs {asked} answers, and {}; put each answer into quotes",
            match given {
                1 => "1 answer was given".to_owned(),
                given => format!("{given} answers were given"),
            }
        ),
        NoAnswer::NoChoice { given, choices } => {
            format!("`{given}` is not a choice of question {ask}: {}", listed(choices))
        }
        NoAnswer::OnlyOne { choices } => format!("question {ask} needs one of its choices: {}", listed(choices)),
        NoAnswer::NotAQuestion => format!("question {ask} asks for permission: `yes` or `no`"),
    }
}

/// Denials of the same request in one iteration from which on the agent is told to stop trying.
const DENIALS: u32 = 3;

/// The advice after the reason of a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialAdvice {
    FindAnotherWay,
    /// The agent was denied the same request too often.
    StopTrying,
}

impl DenialAdvice {
    /// Returns the advice at this number of denials of the same request in one iteration.
    pub fn after(denials: u32) -> Self {
        match denials < DENIALS {
            true => DenialAdvice::FindAnotherWay,
            false => DenialAdvice::StopTrying,
        }
    }
}

/// The reply to an agent whose request is denied.
pub fn denial(by: &Decider, message: Option<&str>, advice: DenialAdvice) -> String {
    let why = match by {
        Decider::Rule { rule, .. } => format!("The rule `{rule}` of this project's user forbids this."),
        Decider::Mode { .. } => {
            "The rules of this project allow only listed requests, and this is not one of them.".to_owned()
        }
        Decider::Unclear => {
            "It is unclear what this command would run. Write it out: no eval, no computed command names.".to_owned()
        }
        Decider::User { .. } => "The user said no.".to_owned(),
        Decider::Deadline => "No user was available to allow this.".to_owned(),
        Decider::TooManyPending => "Too many of your requests are open already.".to_owned(),
        Decider::Agent => "You withdrew this request.".to_owned(),
        Decider::Limit { limit } => format!("The {} limit is reached.", limit_word(*limit)),
    };
    let then = match (message, advice) {
        (Some(message), _) => format!("The user says: {message}"),
        (None, DenialAdvice::FindAnotherWay) => "Continue without it, or find another way.".to_owned(),
        (None, DenialAdvice::StopTrying) => {
            "Do not try this again. If the task cannot be done without it, say what blocks it and end.".to_owned()
        }
    };
    format!("{why} {then}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{AnswerPlace, AskEvent, Event},
        testing::permission_decided,
    };

    #[test]
    fn an_agent_is_told_who_denied_it_and_what_to_do_and_in_the_end_to_stop_trying() {
        let rule = Decider::Rule {
            rule: "Bash(git push *)".to_owned(),
            origin: "config.json:3:5".to_owned(),
        };
        let first = denial(&rule, None, DenialAdvice::FindAnotherWay);
        assert!(
            first.contains("`Bash(git push *)`") && first.contains("another way"),
            "{first}"
        );
        assert!(
            !first.contains("config.json"),
            "where the rule is, is nothing to the agent: {first}"
        );
        assert!(denial(&rule, None, DenialAdvice::StopTrying).contains("Do not try this again"));
        assert!(
            denial(
                &Decider::User {
                    at: AnswerPlace::Screen
                },
                Some("use a branch"),
                DenialAdvice::StopTrying
            )
            .ends_with("The user says: use a branch")
        );
    }

    #[test]
    fn an_agent_is_warned_from_the_third_denial_of_the_same_request_on() {
        assert_eq!(
            [1, 2, 3, 4].map(|denials| DenialAdvice::after(denials) == DenialAdvice::StopTrying),
            [false, false, true, true]
        );
    }

    #[test]
    fn a_decision_names_what_by_whom_and_how_long_it_was_waited_for() {
        let told = |allowed, by, waited_ms| {
            let Event::Ask(AskEvent::Answered { mut answered }) = permission_decided(Some(1), allowed, by, None) else {
                unreachable!("it answers")
            };
            answered.waited_ms = waited_ms;
            answer_in_words(&answered)
        };
        let user = Decider::User {
            at: AnswerPlace::Screen,
        };
        assert_eq!(told(false, user, 42_000), "denied: Bash: git push (by you, after 42s)");
        let mode = Decider::Mode {
            mode: PermissionMode::Restricted,
        };
        assert_eq!(
            told(false, mode, 3),
            "denied: Bash: git push (by the mode `restricted`)"
        );
    }
}
