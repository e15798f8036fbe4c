//! What an agent says of its own work: promises, status blocks, questions. Pure: text in, values out.
//!
//! A claim is never taken as true by itself; the machine weighs it against what ralph finds.

mod promise;
mod review;
mod self_report;
mod status;

pub(crate) use promise::{final_promise, last_line_promise, promise_line, promise_token};
pub(crate) use review::review_answer;
pub(crate) use self_report::{StatusPlace, final_question, self_report};
pub(crate) use status::{reported, status};
