//! Requests to stop.

use serde::{Deserialize, Serialize};

use crate::event::{RequestedBy, StopRequest};

/// The strongest stop request so far, and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_request_counts_and_the_first_source_that_did_not_want_to_wait() {
        use {RequestedBy::*, StopRequest::*};
        for (earlier, later, expected) in [
            ((AfterIteration, User), (Graceful, Interrupt), (Graceful, Interrupt)),
            (
                (AfterIteration, User),
                (AfterIteration, Interrupt),
                (AfterIteration, User),
            ),
            ((Graceful, User), (Immediate, Interrupt), (Immediate, User)),
            ((Graceful, User), (AfterIteration, Interrupt), (Graceful, User)),
            ((Immediate, User), (Graceful, Terminate), (Immediate, User)),
        ] {
            let asked = |(request, by)| StopAsked { request, by };
            assert_eq!(
                asked(earlier).and(asked(later)),
                asked(expected),
                "{earlier:?}, {later:?}"
            );
        }
    }
}
