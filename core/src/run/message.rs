//! Messages of the user to the agent.

use serde::{Deserialize, Serialize};

use super::{End, Recent};
use crate::event::{AnswerPlace, AnsweredAsk, Delivery, SteeringId, SteeringKind};

/// Maximum number of stored deliveries of a standing message.
const DELIVERIES: usize = 1_000;

/// A message of the user and its deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: SteeringId,
    pub kind: SteeringKind,
    pub text: String,
    /// The text of the question that it answers.
    pub question: Option<String>,
    /// The number of that question.
    pub answers: Option<u32>,
    /// The interface through which the user answered.
    pub answered_at: Option<AnswerPlace>,
    pub delivered: Recent<Delivered, DELIVERIES>,
    pub withdrawn: bool,
    /// Whether it was left after the end of the run, which resumes with it.
    #[serde(default)]
    pub left_after_end: bool,
}

/// A delivery of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    pub iteration: u32,
    pub how: Delivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageState {
    Queued,
    /// The last delivery.
    Delivered(Delivered),
    Withdrawn,
}

/// Whether one of the messages of a run was left after its end and waits for it to resume.
pub fn is_message_left(messages: &[Message]) -> bool {
    messages.iter().any(Message::waits_after_end)
}

impl Message {
    pub(super) fn new(id: SteeringId, kind: SteeringKind, text: &str, answers: Option<&AnsweredAsk>) -> Self {
        Self {
            id,
            kind,
            text: text.to_owned(),
            question: answers.map(|answered| answered.question.clone()),
            answers: answers.map(|answered| answered.ask),
            answered_at: answers.map(|answered| answered.at),
            delivered: Recent::default(),
            withdrawn: false,
            left_after_end: false,
        }
    }

    /// Notes whether the run was over when the message was left.
    pub(super) fn left_after(self, end: Option<&End>) -> Self {
        Self {
            left_after_end: end.is_some(),
            ..self
        }
    }

    pub fn state(&self) -> MessageState {
        match (self.withdrawn, self.delivered.last()) {
            (true, _) => MessageState::Withdrawn,
            (false, Some(delivered)) => MessageState::Delivered(*delivered),
            (false, None) => MessageState::Queued,
        }
    }

    /// Whether no agent has seen it yet.
    pub fn is_queued(&self) -> bool {
        self.state() == MessageState::Queued
    }

    /// Whether it was left after the end of the run and no agent has seen it yet.
    pub fn waits_after_end(&self) -> bool {
        self.left_after_end && self.is_queued()
    }

    /// Whether it was left after the end as a reply to all that the agent had asked.
    pub(super) fn is_left_reply(&self) -> bool {
        self.waits_after_end() && self.answers.is_none()
    }

    /// Whether it has been delivered and is repeated in every prompt.
    pub fn is_standing(&self) -> bool {
        self.kind == SteeringKind::Standing && matches!(self.state(), MessageState::Delivered(_))
    }

    /// Whether it belongs in the next prompt, so that it can be withdrawn.
    pub fn is_due(&self) -> bool {
        match (self.kind, self.state()) {
            (_, MessageState::Withdrawn) => false,
            (SteeringKind::Standing, MessageState::Queued | MessageState::Delivered(_)) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Queued) => true,
            (SteeringKind::Next | SteeringKind::Now, MessageState::Delivered(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_standing_message_that_was_delivered_is_repeated() {
        for (kind, stands) in [
            (SteeringKind::Standing, true),
            (SteeringKind::Next, false),
            (SteeringKind::Now, false),
        ] {
            let mut message = Message::new(SteeringId(1), kind, "use tabs", None);
            assert_eq!((message.is_due(), message.is_standing()), (true, false), "{kind:?}");
            message.delivered.push(Delivered {
                iteration: 2,
                how: Delivery::Prompt,
            });
            assert_eq!((message.is_due(), message.is_standing()), (stands, stands));
            message.withdrawn = true;
            assert_eq!((message.is_due(), message.is_standing()), (false, false));
        }
    }
}
