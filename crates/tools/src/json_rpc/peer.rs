//! Requests to another process: numbers them, and passes each response to its request. Reads and writes nothing itself.

use std::collections::HashMap;

use parking_lot::Mutex;
use ralph_text::json_rpc::request;
use serde_json::Value;
use tokio::sync::oneshot;

/// The reason why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The other side has ended, with the reason.
    Ended(String),
    /// The other side answered with an error.
    Refused {
        code: i64,
        message: String,
    },
    Late,
}

type Outcome = Result<Value, RequestError>;

/// One side of a conversation, with its requests that have no response yet.
#[derive(Debug, Default)]
pub(crate) struct Peer(Mutex<PeerState>);

#[derive(Debug, Default)]
struct PeerState {
    /// The number of the last request.
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
    ended: Option<String>,
}

impl Peer {
    /// Numbers a request. Returns its message, which the caller writes, and the request that waits for the response.
    ///
    /// # Errors
    /// [`RequestError::Ended`]
    pub(crate) fn request(&self, method: &str, params: &Value) -> Result<(Value, SentRequest<'_>), RequestError> {
        let mut state = self.0.lock();
        if let Some(why) = &state.ended {
            return Err(RequestError::Ended(why.clone()));
        }
        state.last += 1;
        let (id, (sender, answer)) = (state.last, oneshot::channel());
        state.waiting.insert(id, sender);
        let sent = SentRequest { peer: self, id, answer };
        Ok((request(id, method, params), sent))
    }

    /// Passes on a response. The response to a request that was given up is dropped.
    pub(crate) fn resolve(&self, id: u64, outcome: Result<Value, Value>) {
        let waiting = self.0.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let refused = |error: Value| RequestError::Refused {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"]
                    .as_str()
                    .unwrap_or("an error without a message")
                    .to_owned(),
            };
            _ = waiting.send(outcome.map_err(refused)); // the request may have been given up meanwhile
        }
    }

    /// Fails all requests, now and later, because of `why`. The first reason counts.
    pub(crate) fn end(&self, why: &str) {
        let mut state = self.0.lock();
        let why = state.ended.get_or_insert_with(|| why.to_owned()).clone();
        for (_, waiting) in state.waiting.drain() {
            _ = waiting.send(Err(RequestError::Ended(why.clone()))); // the request may have been given up meanwhile
        }
    }

    /// The reason given to [`Peer::end`].
    pub(crate) fn ended(&self) -> Option<String> {
        self.0.lock().ended.clone()
    }
}

/// A request without a response. Dropping it gives it up.
pub(crate) struct SentRequest<'a> {
    peer: &'a Peer,
    id: u64,
    answer: oneshot::Receiver<Outcome>,
}

impl SentRequest<'_> {
    /// Waits for the response.
    pub(crate) async fn answer(mut self) -> Outcome {
        let answer = (&mut self.answer).await;
        answer.expect("the peer answers each request that it removes")
    }
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        self.peer.0.lock().waiting.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn each_response_reaches_its_request_and_others_are_dropped() {
        let peer = Peer::default();
        let (first, given_up) = peer.request("a", &json!({})).unwrap();
        let (second, sent) = peer.request("b", &json!({})).unwrap();
        assert_eq!((&first["id"], &second["id"]), (&json!(1), &json!(2)));
        drop(given_up);
        for id in [7, 1, 2, 2] {
            peer.resolve(id, Ok(json!(id)));
        }
        assert_eq!(sent.answer().await, Ok(json!(2)));
        assert_eq!(peer.0.lock().waiting.len(), 0);
    }

    #[tokio::test]
    async fn a_refusal_and_the_end_of_the_other_side_are_told_apart() {
        let peer = Peer::default();
        let (_, refused) = peer.request("a", &json!({})).unwrap();
        let (_, open) = peer.request("b", &json!({})).unwrap();
        peer.resolve(1, Err(json!({"code": -1, "message": "no"})));
        peer.end("exit code 1");
        peer.end("later");
        let ended = RequestError::Ended("exit code 1".to_owned());
        let refusal = RequestError::Refused {
            code: -1,
            message: "no".to_owned(),
        };
        assert_eq!(refused.answer().await, Err(refusal));
        assert_eq!(open.answer().await, Err(ended.clone()));
        assert_eq!(peer.request("c", &json!({})).err(), Some(ended));
    }
}
