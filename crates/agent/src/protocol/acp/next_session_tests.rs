//! Sessions one after the other with one program.

use ralph_core::event::ToolKinds;
use serde_json::{Value, json};

use super::{super::testing, *};

/// A conversation whose first turn, of session `one`, has ended for `reason`.
fn after_a_turn(capabilities: &Value, reason: &str) -> testing::Session<AcpLive> {
    let mut session = testing::Session::begin(SessionOpening {
        prompt: "First".to_owned(),
        ..SessionOpening::default()
    });
    reply(
        &mut session,
        1,
        &json!({"protocolVersion": 1, "agentCapabilities": capabilities}),
    );
    reply(&mut session, 2, &json!({"sessionId": "one"}));
    reply(&mut session, 3, &json!({"stopReason": reason}));
    session
}

fn next(session: &mut testing::Session<AcpLive>) {
    session.written.clear();
    session.signals.clear();
    session.closed = false;
    let opening = SessionOpening {
        prompt: "Second".to_owned(),
        cwd: "/repo".to_owned(),
        asks: ToolKinds::ALL,
        ..SessionOpening::default()
    };
    session.with(|protocol, _, exchange| protocol.start_another(opening, exchange));
}

fn reply(session: &mut testing::Session<AcpLive>, id: u64, result: &Value) {
    session.hear(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn says(session: &mut testing::Session<AcpLive>, in_session: &str, text: &str) {
    let update = json!({
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
    });
    let params = json!({"sessionId": in_session, "update": update});
    session.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
}

#[test]
fn another_session_is_opened_without_another_greeting_and_its_turn_has_its_own_verdict() {
    let mut session = after_a_turn(&json!({"sessionCapabilities": {"close": {}}}), "end_turn");
    assert!(session.closed && session.protocol.can_go_on());
    next(&mut session);
    assert_eq!(session.written.len(), 1, "the last session is closed first");
    assert_eq!(session.written[0]["method"], "session/close");
    assert_eq!(session.written[0]["params"], json!({"sessionId": "one"}));
    session.hear(&json!({"jsonrpc": "2.0", "id": 4, "error": {"code": -32603, "message": "no such session"}}));
    assert_eq!(session.written[1]["method"], "session/new");
    assert_eq!(session.written[1]["params"]["cwd"], "/repo");
    assert!(!session.protocol.can_go_on(), "its turn is not over");
    reply(&mut session, 5, &json!({"sessionId": "two"}));
    let prompt = &session.written[2]["params"];
    assert_eq!(
        (&prompt["sessionId"], &prompt["prompt"][0]["text"]),
        (&json!("two"), &json!("Second"))
    );
    says(&mut session, "two", "Done.");
    assert_eq!(session.verdicts(), []);
    reply(&mut session, 6, &json!({"stopReason": "end_turn"}));
    assert_eq!(session.verdicts(), [(true, Some("Done."))]);
    assert!(session.closed && session.protocol.can_go_on());
}

#[test]
fn a_session_is_closed_only_by_agents_that_announce_it() {
    let mut session = after_a_turn(&json!({}), "end_turn");
    next(&mut session);
    assert_eq!(session.written.len(), 1);
    assert_eq!(session.written[0]["method"], "session/new");
}

#[test]
fn what_an_agent_still_tells_or_asks_about_an_earlier_session_does_not_reach_the_next() {
    let mut session = after_a_turn(&json!({}), "end_turn");
    next(&mut session);
    let cost = json!({"sessionUpdate": "usage_update", "cost": {"amount": 5.0, "currency": "USD"}});
    let params = json!({"sessionId": "one", "update": cost});
    session.hear(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    reply(&mut session, 4, &json!({"sessionId": "two"}));
    says(&mut session, "one", "An echo.");
    let options = json!([{"optionId": "yes", "kind": "allow_once"}]);
    let params = json!({"sessionId": "one", "toolCall": {"toolCallId": "c", "kind": "execute"}, "options": options});
    session.hear(&json!({"jsonrpc": "2.0", "id": 90, "method": "session/request_permission", "params": params}));
    let refused = session.written.last().expect("an answer");
    assert_eq!(refused["result"], json!({"outcome": {"outcome": "cancelled"}}));
    // A late answer to the first prompt.
    reply(&mut session, 3, &json!({"stopReason": "refusal"}));
    reply(&mut session, 5, &json!({"stopReason": "end_turn"}));
    assert_eq!(session.verdicts(), [(true, None)]);
    let rest = session.signals.iter();
    let rest = rest.filter(|signal| !matches!(signal, AgentSignal::Opened { .. } | AgentSignal::TurnEnded { .. }));
    assert_eq!(rest.collect::<Vec<_>>(), [] as [&AgentSignal; 0]);
}

#[test]
fn a_program_whose_turn_has_failed_gets_no_other_session() {
    let session = after_a_turn(&json!({}), "refusal");
    assert!(session.closed && !session.protocol.can_go_on());
}
