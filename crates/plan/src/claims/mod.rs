//! Parses what an agent says about its own work: promises, status blocks, questions. Pure: text in, values out.
//!
//! A claim is never trusted by itself; the machine weighs it against what ralph finds.

mod promise;
mod review;
mod self_report;
mod status;

pub use promise::{final_promise, last_line_promise, promise_line, promise_token};
pub use review::{finding_place, review_answer};
pub use self_report::{StatusPlace, final_question, self_report};
pub use status::{reported, status};
