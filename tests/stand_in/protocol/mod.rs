//! The model APIs the server speaks, one module each.

mod responses;

use serde_json::Value;

use super::{
    connection::{Connection, Halt},
    log::Request,
    scenario::Answer,
};

/// One model API: reads its requests, writes its answers.
pub trait Protocol: Sync {
    fn answers(&self, method: &str, path: &str) -> bool;
    /// Reads a request's body.
    fn read(&self, body: &Value) -> Conversation;
    /// The body of an answer with an error status.
    fn error_body(&self, status: u16) -> Value;
    /// Streams an answer.
    fn stream(&self, request: &Request, answer: &Answer, out: &mut Connection) -> Result<(), Halt>;
}

/// What every API says in its own way.
#[derive(Debug, Default)]
pub struct Conversation {
    pub tools: Vec<String>,
    pub user_texts: Vec<String>,
    pub tool_results: Vec<String>,
}

/// The API that a request is for.
pub fn of(method: &str, path: &str) -> Option<&'static dyn Protocol> {
    const ALL: [&dyn Protocol; 1] = [&responses::Responses];
    ALL.into_iter().find(|protocol| protocol.answers(method, path))
}
