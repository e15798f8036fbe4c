//! Faults that the real server cannot be made to show on demand.

use std::{net::TcpListener, path::Path, time::Duration};

use ralph_agent::{
    AgentAdapter, AgentError, NotLive, SessionCommand,
    opencode::{Credentials, ServerError, ServerOptions, ServerTimeouts},
};
use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, ProblemKind, SteeringId};
use ralph_system::proc::StopSpeed;
use serde_json::json;

use super::{
    fake::{BRIEFLY, Behaviour, FakeServer, MessageHandling, SESSION, say},
    live::{LiveAdapter, StartedSession},
};

fn steer(id: SteeringId, text: &str) -> SessionCommand {
    SessionCommand::Steer {
        id,
        text: text.to_owned(),
    }
}

/// Options with short timeouts for a server at `url`.
fn options(url: &str) -> ServerOptions {
    ServerOptions {
        url: Some(url.parse().expect("a URL")),
        patience: ServerTimeouts {
            reconnect: BRIEFLY,
            abort: BRIEFLY,
            ..ServerTimeouts::default()
        },
        ..ServerOptions::default()
    }
}

/// Starts a turn in which a tool runs.
fn in_a_tool(server: &FakeServer, live: &LiveAdapter) -> StartedSession {
    let mut started = live.start();
    server.wait_for("POST /session/ses_1/prompt_async", 1);
    server.set_busy(true);
    server.emit("message.updated", say::user("msg_1"));
    server.emit("message.part.updated", say::prompt("prt_1", "msg_1"));
    server.emit(
        "session.status",
        json!({ "sessionID": SESSION, "status": { "type": "busy" } }),
    );
    server.emit("message.updated", say::assistant("msg_2", None));
    server.emit("message.part.updated", say::tool("prt_2", "msg_2", "running"));
    started.wait_for("tool", |signal| matches!(signal, AgentSignal::ToolStarted { .. }));
    started
}

/// Ends the turn on the server without an event.
fn end_unheard(server: &FakeServer) {
    server.set_messages(say::messages("All done."));
    server.set_busy(false);
}

fn tool_ends(signal: &AgentSignal) -> bool {
    matches!(signal, AgentSignal::ToolEnded { .. })
}

#[test]
fn a_stream_that_is_lost_in_the_middle_of_a_turn_is_caught_up_with() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    end_unheard(&server);
    server.cut_streams();
    let told = started.finish();
    assert_eq!(told.verdict(), (true, Some("All done.")));
    assert_eq!(told.count(tool_ends), 1);
    assert!(told.shown.contains("is re-established"), "{}", told.shown);
    assert_eq!(server.requests("GET /event").len(), 2);
}

#[test]
fn a_turn_goes_on_over_a_new_stream_without_a_word_doubled() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let mut started = in_a_tool(&server, &live);
    server.set_messages(json!([
        say::messages("x")[0],
        { "info": say::assistant("msg_2", None)["info"], "parts": [say::tool("prt_2", "msg_2", "completed")["part"]] },
    ]));
    server.cut_streams();
    started.wait_for("tool's end", tool_ends);
    server.wait_for("GET /event", 2);
    // Repeated by events that were under way, followed by the rest.
    for (kind, event) in [
        ("message.part.updated", say::tool("prt_2", "msg_2", "running")),
        ("message.part.updated", say::tool("prt_2", "msg_2", "completed")),
        ("message.updated", say::assistant("msg_2", Some("tool-calls"))),
        ("message.updated", say::assistant("msg_3", None)),
        ("message.part.updated", say::text("prt_3", "msg_3", "All done.")),
        ("message.updated", say::assistant("msg_3", Some("stop"))),
    ] {
        server.emit(kind, event);
    }
    end_unheard(&server);
    server.emit("session.idle", say::idle());
    let told = started.finish();
    assert_eq!(told.verdict(), (true, Some("All done.")));
    assert_eq!(told.count(tool_ends), 1);
    assert_eq!(
        told.count(|signal| matches!(signal, AgentSignal::ToolStarted { .. })),
        1
    );
    assert_eq!(told.count(|signal| matches!(signal, AgentSignal::Said { .. })), 1);
}

#[test]
fn a_server_that_is_gone_for_good_is_a_failure_and_no_hang() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    drop(server);
    let told = started.finish();
    assert_eq!(told.verdict(), (false, None));
    let problem = told.problem().expect("a problem");
    assert_eq!(problem.kind, ProblemKind::Network);
    assert!(problem.text.contains("could not be re-established"), "{}", problem.text);
}

#[test]
fn a_heart_that_stops_beating_is_noticed() {
    let server = FakeServer::start();
    let mut options = options(&server.url());
    options.patience.silence = BRIEFLY;
    let live = LiveAdapter::new(options);
    let started = in_a_tool(&server, &live);
    // The connection stays open, but nothing arrives over it.
    server.wait_for("GET /event", 2);
    end_unheard(&server);
    let told = started.finish();
    assert_eq!(told.verdict(), (true, Some("All done.")));
}

#[test]
fn an_end_that_nobody_told_is_found_by_asking() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    end_unheard(&server);
    server.emit("server.heartbeat", json!({}));
    server.emit("server.heartbeat", json!({}));
    assert_eq!(started.finish().verdict(), (true, Some("All done.")));
}

#[test]
fn an_idle_from_before_is_no_end() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let mut started = live.start();
    server.wait_for("POST /session/ses_1/prompt_async", 1);
    server.emit("session.idle", say::idle());
    // The adapter looks, finds no answer yet, and waits.
    server.wait_for("GET /session/ses_1/message", 1);
    started.opened();
    server.set_messages(say::messages("All done."));
    assert_eq!(started.finish().verdict(), (true, Some("All done.")));
}

#[test]
fn a_message_that_is_taken_at_the_last_moment_is_worked_on() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    assert_eq!(started.session.send(steer(SteeringId(1), "And bananas.")), Ok(()));
    end_unheard(&server);
    server.emit("session.idle", say::idle());
    let body = server.wait_for("POST /session/ses_1/prompt_async", 2);
    assert_eq!(body["parts"][0]["text"], "And bananas.");
    // The server now has the second message and its answer.
    let mut messages = say::messages("All done.");
    let list = messages.as_array_mut().expect("a list");
    list.push(json!({ "info": say::user("msg_4")["info"], "parts": [say::prompt("prt_4", "msg_4")["part"]] }));
    list.push(json!({
        "info": say::assistant("msg_5", Some("stop"))["info"],
        "parts": [say::text("prt_5", "msg_5", "Bananas, too.")["part"]],
    }));
    server.set_messages(messages);
    server.emit("session.idle", say::idle());
    assert_eq!(started.finish().verdict(), (true, Some("Bananas, too.")));
}

/// The server's answers to messages, from all signals.
fn answers(signals: &[AgentSignal]) -> Vec<(SteeringId, bool)> {
    let answers = signals.iter().filter_map(|signal| match signal {
        AgentSignal::MessageAnswered { id, taken, .. } => Some((*id, *taken)),
        _ => None,
    });
    answers.collect()
}

#[test]
fn a_message_that_the_server_refuses_is_told_as_refused_and_the_turn_goes_on() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let mut started = in_a_tool(&server, &live);
    server.treat_messages(MessageHandling::Refused);
    let id = SteeringId(7);
    assert_eq!(started.session.send(steer(id, "And bananas.")), Ok(()));
    started.wait_for("answer", |signal| {
        *signal
            == AgentSignal::MessageAnswered {
                id,
                taken: false,
                text: None,
            }
    });
    end_unheard(&server);
    server.emit("session.idle", say::idle());
    let told = started.finish();
    assert_eq!(told.verdict(), (true, Some("All done.")));
    assert_eq!(answers(&told.signals), [(id, false)]);
}

#[test]
fn a_message_that_the_server_takes_is_told_as_taken() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let mut started = in_a_tool(&server, &live);
    let id = SteeringId(7);
    assert_eq!(started.session.send(steer(id, "And bananas.")), Ok(()));
    started.wait_for("answer", |signal| {
        *signal
            == AgentSignal::MessageAnswered {
                id,
                taken: true,
                text: Some("And bananas.".to_owned()),
            }
    });
    started.session.stop(StopSpeed::Immediate);
    started.finish();
}

#[test]
fn a_message_that_the_server_has_not_answered_when_the_session_ends_is_not_told_as_taken() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    server.treat_messages(MessageHandling::Unanswered);
    assert_eq!(started.session.send(steer(SteeringId(7), "And bananas.")), Ok(()));
    server.wait_for("POST /session/ses_1/prompt_async", 2);
    started.session.stop(StopSpeed::Immediate);
    assert_eq!(answers(&started.finish().signals), []);
}

#[test]
fn a_session_takes_messages_only_while_its_turn_runs() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    server.behave(Behaviour::Silent);
    let started = live.start();
    server.wait_for("GET /global/health", 1);
    assert_eq!(started.session.send(steer(SteeringId(1), "Too early.")), Err(NotLive));
    started.session.stop(StopSpeed::Immediate);
    started.finish();
}

#[test]
fn a_permission_of_a_subagent_that_was_asked_for_unheard_is_answered() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let mut started = in_a_tool(&server, &live);
    server.set_children(json!([{ "id": "ses_child" }]));
    server.set_permissions(json!([
        { "id": "per_1", "sessionID": "ses_child", "permission": "bash", "metadata": { "command": "rm x" } },
        { "id": "per_2", "sessionID": "ses_other", "permission": "bash" },
    ]));
    server.cut_streams();
    let asks_to_remove = |signal: &AgentSignal| {
        matches!(signal, AgentSignal::PermissionRequested { request }
            if request.command.as_deref() == Some("rm x") && request.id == AskId("per_1".to_owned()))
    };
    started.wait_for("question", asks_to_remove);
    let message = "Nobody is there.".to_owned();
    let answer = SessionCommand::Answer {
        id: AskId("per_1".to_owned()),
        answer: PermissionAnswer::Deny { message },
    };
    assert_eq!(started.session.send(answer), Ok(()));
    let body = server.wait_for("POST /permission/per_1/reply", 1);
    assert_eq!(body, json!({ "reply": "reject", "message": "Nobody is there." }));
    assert_eq!(
        server.requests("POST /permission/per_2").len(),
        0,
        "it is somebody else's"
    );
    started.session.stop(StopSpeed::Graceful);
    started.finish();
}

#[test]
fn a_stopped_session_is_aborted_on_the_server() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    server.set_busy(false);
    started.session.stop(StopSpeed::Graceful);
    let told = started.finish();
    assert_eq!(told.verdict(), (false, None));
    assert_eq!(server.requests("POST /session/ses_1/abort").len(), 1);
}

#[test]
fn a_server_that_does_not_answer_an_abort_is_not_waited_for() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    server.ignore_aborts();
    started.session.stop(StopSpeed::Graceful);
    assert_eq!(started.finish().verdict(), (false, None));
}

#[test]
fn dropping_a_session_aborts_it() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = in_a_tool(&server, &live);
    server.set_busy(false);
    drop(started);
    server.wait_for("POST /session/ses_1/abort", 1);
}

/// The error that keeps a session from starting on a server with this behaviour.
fn refusal(behaviour: Behaviour, change: impl FnOnce(&mut ServerOptions)) -> (ServerError, String, ProblemKind) {
    let server = FakeServer::start();
    server.behave(behaviour);
    let mut options = options(&server.url());
    change(&mut options);
    let live = LiveAdapter::new(options);
    let Err(error) = live.adapter.check(Path::new("/")) else {
        panic!("it was accepted")
    };
    let hints = error.hints().join("\n");
    let AgentError::Server { source, .. } = error else {
        panic!("{error:?}")
    };
    let told = live.start().finish();
    assert_eq!(told.verdict(), (false, None));
    (*source, hints, told.problem().expect("a problem").kind)
}

#[test]
fn a_password_that_is_missing_or_wrong_is_told_with_what_to_do() {
    let (error, hint, kind) = refusal(Behaviour::Unauthorized, |_| {});
    assert!(error.to_string().ends_with("the server wants a password"), "{error}");
    assert!(hint.contains("OPENCODE_SERVER_PASSWORD"), "{hint}");
    assert_eq!(kind, ProblemKind::Auth);
    let (error, _, _) = refusal(Behaviour::Unauthorized, |options| {
        options.credentials = Some(Credentials {
            username: "opencode".to_owned(),
            password: "secret".to_owned(),
        });
    });
    assert!(
        error.to_string().ends_with("the server refuses the password"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("secret"));
}

#[test]
fn a_server_that_does_not_say_whether_it_is_well_is_not_waited_for() {
    let (error, hint, kind) = refusal(Behaviour::Silent, |options| options.timeout = BRIEFLY);
    assert!(matches!(error, ServerError::TimedOut { .. }), "{error:?}");
    assert!(hint.contains("--server-timeout"), "{hint}");
    assert_eq!(kind, ProblemKind::Network);
}

#[test]
fn something_else_is_not_taken_for_an_opencode_server() {
    let (error, hint, kind) = refusal(Behaviour::Foreign, |_| {});
    assert!(matches!(error, ServerError::Foreign { .. }), "{error:?}");
    assert!(hint.contains("opencode 2 answers like this"), "{hint}");
    assert_eq!(kind, ProblemKind::Other);
}

#[test]
fn opencode_2_is_refused_by_name_with_the_way_out() {
    let (error, hint, kind) = refusal(Behaviour::TooNew, |_| {});
    assert!(
        error
            .to_string()
            .ends_with("opencode 2.1.3 cannot be driven as a server"),
        "{error}"
    );
    assert!(
        hint.contains("opencode-ai@1") && hint.contains("opencode-run"),
        "{hint}"
    );
    assert_eq!(kind, ProblemKind::Usage, "trying again would not help");
}

#[test]
fn a_server_that_is_not_there_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let live = LiveAdapter::new(options(&url));
    let error = live.adapter.check(Path::new("/")).expect_err("nobody is there");
    assert!(
        error.hints().iter().any(|hint| hint.contains("opencode serve")),
        "{error:?}"
    );
}

#[test]
fn a_program_that_does_not_become_a_server_is_told_with_its_last_words() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let options = ServerOptions {
        port,
        timeout: Duration::from_secs(1),
        ..ServerOptions::default()
    };
    let command = json!({ "command": { "program": "sh", "args": ["-c", "echo 'no database' >&2; exit 3", "{port}"] } });
    let live = LiveAdapter::with(options, command);
    let told = live.start().finish();
    let problem = told.problem().expect("a problem");
    assert_eq!(problem.kind, ProblemKind::Crashed);
    assert!(
        problem.text.contains("exit code 3") && problem.text.contains("no database"),
        "{}",
        problem.text
    );
}

#[test]
fn a_model_without_its_provider_is_refused() {
    let server = FakeServer::start();
    let live = LiveAdapter::new(options(&server.url()));
    let started = live.start_with(|request| request.model = Some("gpt-5".to_owned()));
    let told = started.finish();
    assert_eq!(told.problem().map(|problem| problem.kind), Some(ProblemKind::Usage));
    assert_eq!(server.requests("POST /session").len(), 0);
}
