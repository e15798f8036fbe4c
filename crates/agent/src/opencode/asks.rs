//! Permission requests that wait for an answer, and the order in which the server may be sent answers. Pure.
//!
//! A server that gets a denial for one request of a session silently refuses all other pending requests of that
//! session. A denial is therefore held back until no other request of its session is pending, or allowed and not yet
//! confirmed.

use std::collections::BTreeSet;

use ralph_core::event::{AskId, PermissionAnswer};

use crate::protocol::PENDING_CAP;

use super::wire::WirePermission;

/// The requests of a session.
#[derive(Debug, Default)]
pub(super) struct OpencodeAsks {
    /// Requests whose answer the server has not confirmed.
    open: Vec<OpencodeAsk>,
    /// All allowed requests: the server's confirmation may come late, or twice.
    allowed: BTreeSet<String>,
}

#[derive(Debug)]
struct OpencodeAsk {
    id: String,
    session: String,
    state: AskState,
}

#[derive(Debug, PartialEq, Eq)]
enum AskState {
    Waits,
    Allowed,
    /// With the message for the agent.
    Denied(String),
}

/// The answer to one request, for the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PermissionReply {
    pub(super) id: String,
    pub(super) session: String,
    /// The answer with which the agent continues.
    pub(super) answer: PermissionAnswer,
}

/// The outcome of receiving a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReceivedRequest {
    Asked,
    /// The request is already known.
    Known,
    /// Too many requests are pending; this one is denied.
    NoRoom,
}

impl OpencodeAsks {
    /// Adds a request that needs a decision.
    pub(super) fn receive(&mut self, request: &WirePermission) -> ReceivedRequest {
        if self.knows(&request.id) {
            return ReceivedRequest::Known;
        }
        let waiting = self.open.iter().filter(|ask| ask.state == AskState::Waits).count();
        let room = waiting < PENDING_CAP;
        self.keep(
            request,
            match room {
                true => AskState::Waits,
                false => AskState::Denied("Too many requests wait for an answer.".to_owned()),
            },
        );
        if room {
            ReceivedRequest::Asked
        } else {
            ReceivedRequest::NoRoom
        }
    }

    /// Adds a request that is allowed without a decision; returns the reply, unless the request is already known.
    pub(super) fn allow(&mut self, request: &WirePermission) -> Option<PermissionReply> {
        if self.knows(&request.id) {
            return None;
        }
        self.keep(request, AskState::Allowed);
        self.allowed.insert(request.id.clone());
        Some(PermissionReply {
            id: request.id.clone(),
            session: request.session.clone(),
            answer: PermissionAnswer::Allow,
        })
    }

    /// Records a decision and returns the replies that are due now.
    pub(super) fn decided(&mut self, id: &AskId, answer: PermissionAnswer) -> Vec<PermissionReply> {
        let waits = |ask: &&mut OpencodeAsk| ask.id == id.0 && ask.state == AskState::Waits;
        let Some(ask) = self.open.iter_mut().find(waits) else {
            return Vec::new();
        };
        let session = ask.session.clone();
        match answer {
            PermissionAnswer::Allow | PermissionAnswer::Words { .. } => {
                ask.state = AskState::Allowed;
                self.allowed.insert(id.0.clone());
                vec![PermissionReply {
                    id: id.0.clone(),
                    session,
                    answer: PermissionAnswer::Allow,
                }]
            }
            PermissionAnswer::Deny { message } => {
                ask.state = AskState::Denied(message);
                self.denials(&session)
            }
        }
    }

    /// Records that the server has an answer to a request. Returns whether a decision was still pending, and the
    /// replies that are due now.
    pub(super) fn answered(&mut self, id: &str) -> (bool, Vec<PermissionReply>) {
        let Some(index) = self.open.iter().position(|ask| ask.id == id) else {
            return (false, Vec::new());
        };
        let ask = self.open.remove(index);
        (ask.state == AskState::Waits, self.denials(&ask.session))
    }

    /// The open requests that are missing in the server's list.
    pub(super) fn gone(&self, listed: &[WirePermission]) -> Vec<String> {
        let is_gone = |ask: &&OpencodeAsk| !listed.iter().any(|request| request.id == ask.id);
        self.open.iter().filter(is_gone).map(|ask| ask.id.clone()).collect()
    }

    /// Whether ralph allowed this request.
    pub(super) fn has_allowed(&self, id: &str) -> bool {
        self.allowed.contains(id)
    }

    fn knows(&self, id: &str) -> bool {
        self.open.iter().any(|ask| ask.id == id)
    }

    fn keep(&mut self, request: &WirePermission, state: AskState) {
        self.open.push(OpencodeAsk {
            id: request.id.clone(),
            session: request.session.clone(),
            state,
        });
    }

    /// The denials of a session, if none of its requests is pending or unconfirmed. The first carries the messages of
    /// all: it may be the only one that the server still processes.
    fn denials(&mut self, session: &str) -> Vec<PermissionReply> {
        let of_session = |ask: &&OpencodeAsk| ask.session == session;
        let denied = |ask: &OpencodeAsk| match &ask.state {
            AskState::Denied(message) => Some((ask.id.clone(), message.clone())),
            AskState::Waits | AskState::Allowed => None,
        };
        let all: Option<Vec<_>> = self.open.iter().filter(of_session).map(denied).collect();
        let Some(mut all) = all else { return Vec::new() };
        self.open.retain(|ask| ask.session != session);
        let mut words: Vec<String> = all.iter().map(|(_, message)| message.clone()).collect();
        words.dedup();
        if let Some((_, first)) = all.first_mut() {
            *first = words.join("\n");
        }
        let reply = |(id, message)| PermissionReply {
            id,
            session: session.to_owned(),
            answer: PermissionAnswer::Deny { message },
        };
        all.into_iter().map(reply).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: &str, session: &str) -> WirePermission {
        WirePermission {
            id: id.to_owned(),
            session: session.to_owned(),
            ..WirePermission::default()
        }
    }

    fn deny(message: &str) -> PermissionAnswer {
        PermissionAnswer::Deny {
            message: message.to_owned(),
        }
    }

    fn ids(replies: &[PermissionReply]) -> Vec<&str> {
        replies.iter().map(|reply| reply.id.as_str()).collect()
    }

    #[test]
    fn a_no_waits_for_the_other_requests_of_its_session_and_carries_the_words_of_all() {
        let mut asks = OpencodeAsks::default();
        for id in ["a", "b", "c"] {
            assert_eq!(asks.receive(&request(id, "s")), ReceivedRequest::Asked);
        }
        assert_eq!(asks.receive(&request("x", "other")), ReceivedRequest::Asked);
        assert_eq!(asks.receive(&request("a", "s")), ReceivedRequest::Known);
        assert_eq!(asks.decided(&AskId("a".to_owned()), deny("not a")), []);
        assert_eq!(
            ids(&asks.decided(&AskId("b".to_owned()), PermissionAnswer::Allow)),
            ["b"]
        );
        assert_eq!(
            asks.decided(&AskId("c".to_owned()), deny("not c")),
            [],
            "b is not confirmed"
        );
        let (withdrawn, replies) = asks.answered("b");
        assert!(!withdrawn);
        assert_eq!(ids(&replies), ["a", "c"]);
        assert_eq!(replies[0].answer, deny("not a\nnot c"));
        assert_eq!(ids(&asks.decided(&AskId("x".to_owned()), deny("no"))), ["x"]);
        assert_eq!(
            asks.decided(&AskId("x".to_owned()), deny("no")),
            [],
            "it has its answer"
        );
    }

    #[test]
    fn a_request_that_the_server_has_an_answer_to_is_withdrawn_and_lets_the_others_go() {
        let mut asks = OpencodeAsks::default();
        asks.receive(&request("a", "s"));
        asks.receive(&request("b", "s"));
        assert_eq!(asks.decided(&AskId("a".to_owned()), deny("no")), []);
        assert_eq!(asks.gone(&[request("a", "s")]), ["b"]);
        let (withdrawn, replies) = asks.answered("b");
        assert!(withdrawn);
        assert_eq!(ids(&replies), ["a"]);
        assert_eq!(asks.answered("b"), (false, Vec::new()));
    }

    #[test]
    fn an_agent_that_asks_without_end_is_denied_what_comes_on_top() {
        let mut asks = OpencodeAsks::default();
        for number in 0..PENDING_CAP {
            assert_eq!(asks.receive(&request(&number.to_string(), "s")), ReceivedRequest::Asked);
        }
        assert_eq!(asks.receive(&request("one more", "s")), ReceivedRequest::NoRoom);
    }
}
