//! What a user can ask of a running loop, whatever face or terminal it comes from.

use serde::{Deserialize, Serialize};

use crate::event::{SteeringId, SteeringKind, StopRequest};

/// A wish of the user. Imperative; the machine decides what comes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum UserCommand {
    Steer {
        kind: SteeringKind,
        text: String,
    },
    Withdraw {
        id: SteeringId,
    },
    /// Let the running iteration finish and start no other.
    Pause,
    Resume,
    /// End the running iteration and go on with the next.
    Skip,
    /// End a wait and try again.
    RetryNow,
    /// Close the breaker.
    ResetCircuit,
    Stop {
        stop: StopRequest,
    },
}
