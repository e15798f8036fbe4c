//! Questions of an agent to the user, and their answers.

use serde::{Deserialize, Serialize};

use super::{TEXT_CAP_BYTES, clip};

/// Maximum number of questions per request in a record. Agents ask a handful.
const QUESTIONS_CAP: usize = 16;
const CHOICES_CAP: usize = 64;

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The topic in a word or two; may be empty.
    pub header: String,
    pub text: String,
    pub choices: Vec<Choice>,
    /// Whether several choices may be selected.
    pub multiple: bool,
    /// Whether the user may answer with text of their own.
    pub free_text: bool,
}

/// An answer that the agent offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Choice {
    pub label: String,
    pub description: String,
}

/// The question that a later message of the user answers, once the agent no longer waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct AnsweredAsk {
    /// The number of the question.
    pub ask: u32,
    pub question: String,
    /// The interface of the answer.
    pub at: AnswerPlace,
}

/// The interface through which the user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPlace {
    /// The terminal user interface of the run.
    Screen,
    /// The command `ralph answer`.
    #[default]
    CommandLine,
    /// The page of `ralph web`.
    Page,
    /// A program, over HTTP.
    Api,
}

impl Question {
    /// Cuts the texts and the number of choices to the sizes allowed in a record.
    #[must_use]
    pub(crate) fn bounded(&self) -> Self {
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

/// Cuts the questions and their number to the sizes allowed in a record.
pub(super) fn bounded(questions: &[Question]) -> Vec<Question> {
    questions.iter().take(QUESTIONS_CAP).map(Question::bounded).collect()
}
