//! Ownership of servers: one that the user named keeps running, and one that ralph started ends with it.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use ralph_agent::{AgentAdapter, opencode::ServerOptions};
use ralph_core::event::{AgentEvent, AgentSignal, Event, IterationEvent, Outcome, ProblemKind, TimeEvent};
use ralph_system::proc::StopSpeed;
use serde_json::json;

use super::{fake::FakeServer, live::LiveAdapter, ralph, serve};
use crate::{
    agents_loop::{assert_done, in_order, outcomes, plan_one_task, signals, work_on},
    harness::{
        SOON, Sandbox,
        agent::Agent,
        agents,
        processes::{Process, is_running},
        wait_until,
    },
    stand_in::{Scenario, StandIn, UNTIL_GO, say, shell},
};

/// The opencode servers in a sandbox.
fn servers(sandbox: &Sandbox) -> Vec<Process> {
    let mut processes = sandbox.processes();
    // The guard receives the command in a message, not as arguments, so it does not match.
    processes.retain(|process| process.command.contains("serve --hostname"));
    // A child of a server has the server's arguments until it executes another program.
    let servers: Vec<i32> = processes.iter().map(|process| process.pid).collect();
    processes.retain(|process| process.parent().is_some_and(|parent| !servers.contains(&parent)));
    processes
}

#[test]
#[ignore = "part of the full matrix"]
fn a_server_that_was_named_does_the_work_and_runs_on() {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    let (server, port) = serve(&sandbox, "");
    let finished = ralph(&sandbox)
        .args(["--server", &format!("http://127.0.0.1:{port}")])
        .run(SOON);
    assert_done(&finished, 2, 2);
    assert_eq!(sandbox.commits(), 3, "one commit for each task");
    let told = signals(&finished.records());
    let attached = format!("attached to http://127.0.0.1:{port}, opencode 1.18.33");
    let notices = |signal: &&AgentSignal| matches!(signal, AgentSignal::Noted { text } if *text == attached);
    assert!(told.iter().any(|signal| notices(&signal)), "{told:#?}");
    assert!(is_running(server.pid()));
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it still listens");
    // The server may still be busy with its own work after a turn.
    wait_until(SOON, "nothing but the server runs", || {
        let left: Vec<_> = sandbox.processes().into_iter().map(|process| process.pid).collect();
        (left == [server.pid()]).then_some(())
    });
}

#[test]
#[ignore = "part of the full matrix"]
fn a_session_that_somebody_has_deleted_on_the_server_is_followed_by_a_fresh_one() {
    let tick = "awk '!t && sub(/- \\[ \\]/, \"- [x]\") { t = 1 } { print }' PLAN.md > P && mv P PLAN.md";
    let pausing = shell(&format!("{tick}; {UNTIL_GO}"));
    let model = StandIn::start(in_order([&[pausing.into(), say("Ticked.").into()], &work_on("world")]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    let (_server, port) = serve(&sandbox, "");
    let url = format!("http://127.0.0.1:{port}");
    let running = ralph(&sandbox).args(["--server", &url, "--session", "resume"]).start();
    let opened = |event: &Event| {
        matches!(
            event,
            Event::Agent(AgentEvent::Reported {
                signal: AgentSignal::Opened { .. },
                ..
            })
        )
    };
    let Event::Agent(AgentEvent::Reported {
        signal: AgentSignal::Opened {
            session: Some(session), ..
        },
        ..
    }) = running.wait_for_record(SOON, opened).event
    else {
        panic!("a session has an id");
    };
    sandbox.write(".ralph-pause", "");
    sandbox.write("go", "");
    running.wait_for_record(SOON, |event| matches!(event, Event::Time(TimeEvent::Held)));
    delete(port, &session.0);
    std::fs::remove_file(sandbox.project().join(".ralph-pause")).expect("the run is paused");
    let finished = running.wait(SOON);
    assert_done(&finished, 2, 3);
    let ended = outcomes(&finished.records());
    assert!(
        matches!(&ended[..], [Outcome::Completed, Outcome::Failed { problem }, Outcome::Completed] if problem.kind == ProblemKind::SessionLost),
        "{ended:#?}"
    );
}

/// Deletes a session of the server at `port`.
fn delete(port: u16, session: &str) {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a server");
    write!(
        connection,
        "DELETE /session/{session} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    )
    .expect("a request");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
#[ignore = "part of the full matrix"]
fn the_password_of_a_named_server_comes_from_the_environment() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let (_server, port) = serve(&sandbox, "right");
    let url = format!("http://127.0.0.1:{port}");
    let with = |password: &str| {
        let ralph = ralph(&sandbox).args(["--server", &url]);
        ralph.env("OPENCODE_SERVER_PASSWORD", password).run(SOON)
    };
    for (password, why) in [
        ("wrong", "the server refuses the password"),
        ("", "the server wants a password"),
    ] {
        let refused = with(password);
        assert_eq!(refused.code(), Some(4), "{}", refused.stderr);
        let error = format!("error: adapter `opencode-server`: {url}: {why}\nhint: set OPENCODE_SERVER_PASSWORD");
        assert!(refused.stderr.starts_with(&error), "{}", refused.stderr);
        assert_eq!(refused.stdout, "", "nothing was started");
    }
    assert_done(&with("right"), 1, 1);
    let offered = &model.main_requests()[0].tools;
    assert!(offered.iter().any(|tool| tool == "ralph_plan"), "{offered:?}");
}

#[test]
fn one_server_serves_all_iterations_and_ends_with_the_run() {
    let asks = |name: &str| shell(&format!("while [ ! -e {name} ]; do sleep 0.05; done; rm {name}"));
    let [_, hello] = work_on("hello");
    let model = StandIn::start(in_order([
        &[asks("one").into(), hello.clone()],
        &[asks("two").into(), hello],
    ]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    let running = ralph(&sandbox).args(["--max-iterations", "2"]).start();
    let mut seen = Vec::new();
    for (request, file) in [(1, "one"), (3, "two")] {
        model.wait_for_request(request, SOON);
        seen.extend(servers(&sandbox));
        sandbox.write(file, "");
    }
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(6), "{}", finished.stdout);
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(seen[0], seen[1]);
    sandbox.assert_nothing_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn a_server_outlives_a_skipped_iteration_and_is_replaced_when_it_is_killed_in_a_turn() {
    let model = StandIn::start(in_order([
        &[shell("sleep 300").into(), shell("sleep 301").into()],
        &work_on("hello"),
    ]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let running = ralph(&sandbox).start();
    let tool = wait_for_tool(&sandbox, "sleep 300");
    let before = servers(&sandbox);
    let skipped = sandbox.ralph(["skip"]).run(SOON);
    assert_eq!(skipped.code(), Some(0), "{}", skipped.stderr);
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { iteration: 2, .. }))
    });
    assert!(!is_running(tool.pid));
    assert_eq!(servers(&sandbox), before);

    wait_for_tool(&sandbox, "sleep 301");
    let server = servers(&sandbox).pop().expect("a server");
    kill(Pid::from_raw(server.pid), Signal::SIGKILL).expect("it runs");
    let finished = running.wait(SOON);
    assert_done(&finished, 1, 3);
    let ends = outcomes(&finished.records());
    let [
        Outcome::Cancelled { .. },
        Outcome::Failed { problem },
        Outcome::Completed,
    ] = &ends[..]
    else {
        panic!("{ends:?}")
    };
    assert_eq!(problem.kind, ProblemKind::Crashed);
    assert!(problem.text.contains("signal 9"), "{}", problem.text);
    sandbox.assert_nothing_runs();
}

fn wait_for_tool(sandbox: &Sandbox, command: &str) -> Process {
    wait_until(SOON, "tool call", || {
        let mut processes = sandbox.processes().into_iter();
        processes.find(|process| process.command == command)
    })
}

#[test]
#[ignore = "part of the full matrix"]
fn a_ralph_that_is_killed_takes_its_server_along() {
    let model = StandIn::start(Scenario::new().then(shell("sleep 300")).then(say("Slept.")));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    let running = ralph(&sandbox).start();
    wait_for_tool(&sandbox, "sleep 300");
    running.kill();
    wait_until(SOON, "end of everything", || {
        sandbox.processes().is_empty().then_some(())
    });
}

#[test]
#[ignore = "part of the full matrix"]
fn a_server_that_nobody_named_gets_no_prompt_and_its_port_is_passed_over() {
    let model = StandIn::start(say("ok"));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    let stranger = FakeServer::start();
    let port = stranger.port();
    let options = ServerOptions {
        port,
        ..ServerOptions::default()
    };
    let environment: serde_json::Map<_, _> = sandbox
        .environment()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value.into_string().expect("UTF-8"))))
        .collect();
    let program = agents::program("opencode").expect("the sandbox has it");
    let live = LiveAdapter::with(
        options,
        json!({ "command": { "program": program, "env": environment } }),
    );
    let mut started = live.start();
    started.opened();
    started.session.stop(StopSpeed::Graceful);
    let told = started.finish();
    assert!(told.shown.contains(&format!("port {port} is taken")), "{}", told.shown);
    assert_eq!(
        stranger.requests(""),
        [] as [serde_json::Value; 0],
        "it is not even asked who it is"
    );
    assert_eq!(servers(&sandbox).len(), 1, "it stays for the next iteration");
    live.adapter.close();
    sandbox.assert_nothing_runs();
}

#[test]
#[ignore = "part of the full matrix"]
fn an_agent_that_nobody_named_is_opencode_where_it_is_installed() {
    let model = StandIn::start(in_order([&work_on("hello")]));
    let Some(sandbox) = Agent::OpencodeServer.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    let finished = sandbox.ralph(["--headless", "--format", "jsonl"]).run(SOON);
    assert_done(&finished, 1, 1);
    let noticed = finished.records().into_iter().any(|record| {
        record.event.notice().is_some_and(|notice| {
            notice.text.starts_with("using `opencode-server`") && !notice.text.contains("because a server is set")
        })
    });
    assert!(noticed, "{}", finished.stdout);
}
