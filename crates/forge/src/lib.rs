//! Issues and pull requests of a forge: what they say, what ralph writes into them, and the client.
//!
//! The forge is reached by its own command-line program, which has the user's token. Everything that comes from a forge
//! was written by others, so texts are data: they are quoted, bounded and cleaned before anything shows or keeps them.

#![deny(unreachable_pub)]

/// The directory of the project in which the plans of issues lie.
pub const ISSUES: &str = ".ralph/issues";

mod address;
mod answer;
mod client;
mod issue;
mod issue_plan;
mod request;
mod request_text;

pub use address::{AddressError, ForgeProgram, ForgeRepository};
pub use answer::{ForgeError, Retry};
pub use client::{Forge, IssueFilter, OpenRequest};
pub use issue::Issue;
pub use issue_plan::{IssueReference, issue_plan, issue_reference, names_issue};
pub use request::{CheckState, FailedRun, RequestState, Reviewed, ReviewedThread};
pub use request_text::{RequestFacts, marker, request_body, request_title, thread_answer};
