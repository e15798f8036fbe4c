//! The texts of an agent around tools that it asks about before it announces them, or without announcing them.

use ralph_core::event::ToolKinds;
use serde_json::{Value, json};

use super::{super::testing, *};

type Session = testing::Session<AcpLive>;

fn opened(asks: ToolKinds) -> Session {
    let mut session = Session::begin(SessionOpening {
        asks,
        ..SessionOpening::default()
    });
    for (id, result) in [(1, json!({"protocolVersion": 1})), (2, json!({"sessionId": "s"}))] {
        session.hear(&json!({"id": id, "result": result}));
    }
    session
}

fn update(session: &mut Session, update: &Value) {
    session.hear(&json!({"method": "session/update", "params": {"sessionId": "s", "update": update}}));
}

fn say(session: &mut Session, text: &str) {
    say_as(session, &Value::Null, text);
}

fn say_as(session: &mut Session, message: &Value, text: &str) {
    let content = json!({"type": "text", "text": text});
    update(
        session,
        &json!({"sessionUpdate": "agent_message_chunk", "messageId": message, "content": content}),
    );
}

fn ask(session: &mut Session, call: &str) {
    let options = json!([{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]);
    let tool = json!({"toolCallId": call, "status": "pending", "kind": "execute", "title": format!("touch {call}")});
    let params = json!({"sessionId": "s", "options": options, "toolCall": tool});
    session.hear(&json!({"id": call, "method": "session/request_permission", "params": params}));
}

fn answer(session: &mut Session, call: &str, answer: PermissionAnswer) {
    let id = AskId(json!(call).to_string());
    session.tell(SessionCommand::Answer { id, answer });
}

fn deny(session: &mut Session, call: &str) {
    let message = "not today".to_owned();
    answer(session, call, PermissionAnswer::Deny { message });
}

fn tool(session: &mut Session, kind: &str, call: &str, status: &str) {
    update(
        session,
        &json!({"sessionUpdate": kind, "toolCallId": call, "status": status, "kind": "execute"}),
    );
}

/// Ends the turn, and lists what was said and which tools were used, in order.
fn told(mut session: Session) -> Vec<String> {
    session.hear(&json!({"id": 3, "result": {"stopReason": "end_turn"}}));
    let told = session.signals.iter().filter_map(|signal| match signal {
        AgentSignal::Said { text } => Some(text.clone()),
        AgentSignal::ToolStarted { input, .. } => Some(format!("> {input}")),
        AgentSignal::ToolEnded { ok: true, .. } => Some("< ok".to_owned()),
        AgentSignal::ToolEnded { output, .. } => Some(format!("< no: {output}")),
        AgentSignal::TurnEnded { message, .. } => Some(format!("the end: {}", message.as_deref().unwrap_or_default())),
        _ => None,
    });
    told.collect()
}

const NOT_DONE: &str = "RALPH NOT DONE: the tests are missing";

#[test]
fn a_text_ends_where_the_agent_asks() {
    for asks in [ToolKinds::NONE, ToolKinds::ALL] {
        for announcement in [None, Some("tool_call"), Some("tool_call_update")] {
            let mut session = opened(asks);
            say(&mut session, "I ");
            say(&mut session, "look.");
            ask(&mut session, "a");
            answer(&mut session, "a", PermissionAnswer::Allow);
            if let Some(kind) = announcement {
                tool(&mut session, kind, "a", "in_progress");
            }
            tool(&mut session, "tool_call_update", "a", "completed");
            say(&mut session, NOT_DONE);
            let end = format!("the end: {NOT_DONE}");
            assert_eq!(told(session), ["I look.", "> touch a", "< ok", NOT_DONE, &end]);
        }
    }
}

#[test]
fn a_use_that_is_denied_is_shown_though_the_agent_never_mentions_it_again() {
    for later in [None, Some("in_progress"), Some("failed")] {
        let mut session = opened(ToolKinds::ALL);
        say(&mut session, "I look.");
        ask(&mut session, "a");
        deny(&mut session, "a");
        if let Some(status) = later {
            tool(&mut session, "tool_call_update", "a", status);
        }
        say(&mut session, NOT_DONE);
        let end = format!("the end: {NOT_DONE}");
        assert_eq!(
            told(session),
            ["I look.", "> touch a", "< no: not today", NOT_DONE, &end]
        );
    }
}

#[test]
fn a_use_that_is_asked_about_again_or_made_all_the_same_is_shown_again() {
    let mut session = opened(ToolKinds::ALL);
    for _ in 0..2 {
        ask(&mut session, "a");
        deny(&mut session, "a");
    }
    tool(&mut session, "tool_call_update", "a", "completed");
    let denied = ["> touch a", "< no: not today"];
    assert_eq!(
        told(session),
        [&denied[..], &denied, &["> touch a", "< ok", "the end: "]].concat()
    );
}

#[test]
fn two_requests_in_a_row_part_what_is_said_before_them_from_what_is_said_after_them() {
    let mut session = opened(ToolKinds::ALL);
    say(&mut session, "Both.");
    ask(&mut session, "a");
    ask(&mut session, "b");
    answer(&mut session, "a", PermissionAnswer::Allow);
    deny(&mut session, "b");
    tool(&mut session, "tool_call_update", "a", "completed");
    say(&mut session, NOT_DONE);
    let end = format!("the end: {NOT_DONE}");
    assert_eq!(
        told(session),
        [
            "Both.",
            "> touch a",
            "> touch b",
            "< no: not today",
            "< ok",
            NOT_DONE,
            &end
        ]
    );
}

#[test]
fn texts_around_a_request_are_two_even_if_the_agent_gives_both_the_same_id() {
    for (before, after) in [("m", "m"), ("m", "n")] {
        let mut session = opened(ToolKinds::ALL);
        say_as(&mut session, &json!(before), "I look.");
        ask(&mut session, "a");
        answer(&mut session, "a", PermissionAnswer::Allow);
        say_as(&mut session, &json!(after), NOT_DONE);
        let end = format!("the end: {NOT_DONE}");
        assert_eq!(told(session), ["I look.", "> touch a", NOT_DONE, &end]);
    }
}

#[test]
fn a_text_without_an_id_ends_with_a_use_that_ends() {
    let parted = |message: Value| {
        let mut session = opened(ToolKinds::NONE);
        tool(&mut session, "tool_call", "a", "in_progress");
        say_as(&mut session, &message, "Meanwhile.");
        tool(&mut session, "tool_call_update", "a", "completed");
        say_as(&mut session, &message, NOT_DONE);
        told(session).pop()
    };
    assert_eq!(parted(Value::Null), Some(format!("the end: {NOT_DONE}")));
    assert_eq!(parted(json!("m")), Some(format!("the end: Meanwhile.{NOT_DONE}")));
}

#[test]
fn a_text_ends_where_a_form_for_the_user_is_declined() {
    let mut session = opened(ToolKinds::NONE);
    say(&mut session, "I ask.");
    session.hear(&json!({"id": "a", "method": "elicitation/create", "params": {}}));
    say(&mut session, NOT_DONE);
    assert_eq!(
        told(session),
        ["I ask.".to_owned(), NOT_DONE.to_owned(), format!("the end: {NOT_DONE}")]
    );
}
