//! Messages of the user.

use serde::Serialize;

use super::{AnsweredAsk, Delivery, SteeringId, SteeringKind};
use crate::json::ReadJson;

/// Messages of the user.
#[derive(Debug, Clone, PartialEq, Serialize, ReadJson, crate::JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum SteeringEvent {
    #[serde(rename = "steering-queued")]
    Queued {
        id: SteeringId,
        kind: SteeringKind,
        text: String,
        /// The question that the message answers; `None` for an ordinary message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answers: Option<Box<AnsweredAsk>>,
    },
    #[serde(rename = "steering-delivered")]
    Delivered {
        id: SteeringId,
        iteration: u32,
        how: Delivery,
    },
    #[serde(rename = "steering-withdrawn")]
    Withdrawn { id: SteeringId },
}
