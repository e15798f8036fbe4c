//! What an agent asks its user, in words, and the answers it gets.

use serde::{Deserialize, Serialize};

use super::{TEXT_CAP_BYTES, clip};

/// Most questions of one request and most choices of one question that a record has; agents ask for a handful.
const QUESTIONS_CAP: usize = 16;
const CHOICES_CAP: usize = 64;

/// A question to the user.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What it is about, in a word or two; empty if the agent says nothing.
    pub header: String,
    pub text: String,
    pub choices: Vec<Choice>,
    /// More than one choice may be taken.
    pub multiple: bool,
    /// Words of the user's own will do.
    pub free_text: bool,
}

/// One of the answers that an agent offers.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    pub description: String,
}

/// What the agent asked that a message of the user's answers after it waited no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct AnsweredAsk {
    /// Its number.
    pub ask: u32,
    pub question: String,
    /// Where it was answered; none in journals of versions that did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<AnswerPlace>,
}

/// Where a user gives an answer.
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPlace {
    /// On the screen of the run.
    Screen,
    /// With `ralph answer`.
    #[default]
    CommandLine,
    /// On the page of `ralph web`.
    Page,
    /// By a program, over HTTP.
    Api,
}

impl Question {
    pub(super) fn bounded(&self) -> Self {
        let cut = |text: &str| clip(text, TEXT_CAP_BYTES);
        let choices = self.choices.iter().take(CHOICES_CAP);
        Self {
            header: cut(&self.header),
            text: cut(&self.text),
            choices: choices
                .map(|choice| Choice {
                    label: cut(&choice.label),
                    description: cut(&choice.description),
                })
                .collect(),
            multiple: self.multiple,
            free_text: self.free_text,
        }
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &String> {
        let of_choices = self
            .choices
            .iter()
            .flat_map(|choice| [&choice.label, &choice.description]);
        [&self.header, &self.text].into_iter().chain(of_choices)
    }
}

/// As many questions as a record has.
pub(super) fn bounded(questions: &[Question]) -> Vec<Question> {
    questions.iter().take(QUESTIONS_CAP).map(Question::bounded).collect()
}
