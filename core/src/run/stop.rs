//! Requests to stop.

use serde::{Deserialize, Serialize};

use crate::event::{RequestedBy, StopRequest};

/// The strongest request to stop so far, and the first one who made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StopAsked {
    pub request: StopRequest,
    pub by: RequestedBy,
}

impl StopAsked {
    /// What both ask for. Who first asked for more than "after this iteration" decides the exit code.
    pub(super) fn and(self, later: StopAsked) -> StopAsked {
        match self.request {
            StopRequest::AfterIteration if later.request > self.request => later,
            StopRequest::AfterIteration | StopRequest::Graceful | StopRequest::Immediate => StopAsked {
                request: self.request.max(later.request),
                by: self.by,
            },
        }
    }
}
