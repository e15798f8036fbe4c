//! Requests that answer an agent's question.

use ralph_core::event::AnswerPlace;
use serde::Deserialize;

/// The query of an answer.
#[derive(Debug, Deserialize, crate::schema::JsonSchema)]
pub(super) struct AnswerQuery {
    /// The place at which the user answers.
    #[serde(default = "over_http")]
    pub(super) at: AnswerPlace,
}

fn over_http() -> AnswerPlace {
    AnswerPlace::Api
}
