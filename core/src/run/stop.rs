//! Requests to stop.

use serde::{Deserialize, Serialize};

use crate::event::{RequestedBy, StopRequest};

/// The strongest stop request so far, and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StopAsked {
    pub request: StopRequest,
    pub by: RequestedBy,
}

impl StopAsked {
    /// Combines two requests. The first source that asked for more than "after this iteration" decides the exit code.
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
