//! Bounds on the cost of a client: bytes, time, connections.

use std::{
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    os::unix::net::UnixStream,
};

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    socket::{setsockopt, sockopt::RcvBuf},
};

use super::http::{address, answer, connect, send, token};
use crate::harness::{SOON, Sandbox, Script, running::Running, wait_until};

/// How long the server of these tests waits for a client.
const PATIENCE_MS: &str = "400";

fn listening(sandbox: &Sandbox) -> (Running, SocketAddr) {
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    sandbox.plan(1);
    let running = sandbox
        .looping(["--listen", "127.0.0.1:0"])
        .env("RALPH_TEST_SERVER_PATIENCE_MS", PATIENCE_MS)
        .start();
    let at = address(&running);
    (running, at)
}

/// Waits until the server has closed the connection; ignores everything received before.
#[track_caller]
fn assert_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
}

#[test]
fn what_is_too_large_too_slow_or_never_said_costs_a_client_its_connection_and_nobody_else_anything() {
    let sandbox = Sandbox::new();
    let (running, at) = listening(&sandbox);
    let known = format!("host: {at}\nauthorization: Bearer {}", token(&sandbox, &[]));
    let crlf = |head: &str| head.replace('\n', "\r\n");

    // Headers.
    let long = "x".repeat(64 << 10);
    assert_eq!(
        send(at, &format!("GET /status HTTP/1.1\n{known}\nx-long: {long}"), "").status,
        431
    );
    let many = "x: y\n".repeat(2_000);
    assert_eq!(
        send(at, &format!("GET /status HTTP/1.1\n{known}\n{many}"), "").status,
        431
    );
    assert!([414, 431].contains(&send(at, &format!("GET /{long} HTTP/1.1\n{known}"), "").status));
    assert_eq!(send(at, "RUBBISH", "").status, 400);

    // A body that is too large, with and without a declared length; the server does not read the rest.
    let large = " ".repeat((1 << 20) + 1);
    let refused = send(at, &format!("POST /commands HTTP/1.1\n{known}"), &large);
    assert_eq!(
        (refused.status, refused.detail().contains("at most 1 MiB")),
        (413, true),
        "{refused:?}"
    );
    let mut endless = connect(at);
    let head =
        format!("POST /commands HTTP/1.1\n{known}\ncontent-type: application/json\ntransfer-encoding: chunked\n\n");
    endless.write_all(crlf(&head).as_bytes()).expect("it is taken");
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    while endless.write_all(chunk.as_bytes()).is_ok() {}

    // A body that never comes, one that comes byte by byte, headers without an end, and no data at all.
    for body in ["", "{\"type\":"] {
        let mut slow = connect(at);
        let head = format!("POST /commands HTTP/1.1\n{known}\ncontent-length: 100\n\n");
        slow.write_all((crlf(&head) + body).as_bytes()).expect("it is taken");
        let refused = answer(&mut slow);
        assert_eq!(
            (refused.status, refused.detail().contains("took longer")),
            (408, true),
            "{refused:?}"
        );
    }
    let mut dripping = connect(at);
    dripping.write_all(b"GET /status HTTP/1.1\r\nx: ").expect("it is taken");
    while dripping.write_all(b"x").is_ok() {}
    let silent = connect(at);
    let half_open = connect(at);
    half_open.shutdown(Shutdown::Write).expect("a connection");
    let mut half_said = connect(at);
    half_said.write_all(b"GET /sta").expect("it is taken");
    for stream in [silent, half_open, half_said] {
        assert_closed(stream);
    }
    // A connection that is not used again.
    let mut idle = connect(at);
    idle.write_all(crlf(&format!("GET /status HTTP/1.1\n{known}\n\n")).as_bytes())
        .expect("it is taken");
    assert_eq!(answer(&mut idle).status, 200);

    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}

#[test]
fn a_thousand_connections_that_hang_keep_nobody_out_and_a_reader_that_reads_nothing_is_dropped() {
    let sandbox = Sandbox::new();
    let (running, at) = listening(&sandbox);
    let known = format!("host: {at}\nauthorization: Bearer {}", token(&sandbox, &[]));
    // A client that reads none of its answers, which exceed every buffer.
    let mut deaf = connect(at);
    setsockopt(&deaf, RcvBuf, &4_096).expect("a socket");
    let request = format!("GET /run HTTP/1.1\r\n{}\r\n\r\n", known.replace('\n', "\r\n"));
    let asked = (0..1_000_000)
        .take_while(|_| deaf.write_all(request.as_bytes()).is_ok())
        .count();
    assert!(asked < 1_000_000, "it is cut off while it writes");

    // This process holds the other ends of the connections.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("what is allowed");
    let hanging: Vec<TcpStream> = (0..1_000).map(|_| connect(at)).collect();
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", running.pid()))
        .expect("a process")
        .count();
    assert!(descriptors < 300, "{descriptors} descriptors");
    // HTTP and the socket both work while those connections hang.
    assert_eq!(send(at, &format!("GET /status HTTP/1.1\n{known}"), "").status, 200);
    assert_eq!(sandbox.ralph(["steer", "use tabs"]).run(SOON).code(), Some(0));
    drop(hanging);

    // A removed socket is created again.
    let socket = sandbox.paths().socket();
    std::fs::remove_file(&socket).expect("the socket");
    wait_until(SOON, "a socket", || UnixStream::connect(&socket).ok());
    assert_eq!(sandbox.ralph(["steer", "use spaces"]).run(SOON).code(), Some(0));

    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
    assert!(TcpStream::connect(at).is_err(), "nobody listens after the end");
}

#[test]
fn what_is_no_number_no_run_or_no_path_of_the_api_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let (running, at) = listening(&sandbox);
    let known = format!("host: {at}\nauthorization: Bearer {}", token(&sandbox, &[]));
    for seq in [
        "-1",
        "x",
        "1.5",
        "1e3",
        "18446744073709551616",
        "18446744073709551615",
        "9999999",
        "",
        "%00",
    ] {
        for query in ["after", "from"] {
            let refused = send(at, &format!("GET /events?{query}={seq} HTTP/1.1\n{known}"), "");
            assert_eq!(refused.status, 400, "{query}={seq}: {refused:?}");
            assert!(!refused.detail().is_empty());
        }
        let refused = send(at, &format!("GET /events HTTP/1.1\n{known}\nlast-event-id: {seq}"), "");
        assert_eq!(refused.status, 400, "{seq}: {refused:?}");
    }
    // No name in a path reaches files of the state directory, the project or the machine.
    let up = [
        "..",
        "../..",
        "%2e%2e",
        "..%2f..%2ftokens.json",
        "%2e%2e%2ftokens.json",
        "..%00",
        "....//",
        "/etc/passwd",
        "%ff",
        "%2fetc%2fpasswd",
    ];
    for name in up {
        for route in [
            "/runs/ID",
            "/runs/ID/run",
            "/runs/ID/recording/1",
            "/recording/ID",
            "/diff/ID",
            "/asks/ID",
            "/personal/ID",
            "/assets/ID",
            "/ID",
        ] {
            let path = route.replace("ID", name);
            for method in ["GET", "POST"] {
                let refused = send(at, &format!("{method} {path} HTTP/1.1\n{known}"), "");
                assert!(
                    (400..=405).contains(&refused.status) && refused.status != 401,
                    "{method} {path}: {refused:?}"
                );
                assert!(
                    !refused.body.contains("readOnly") && !refused.body.contains("root:"),
                    "{path}: {refused:?}"
                );
                let kind = refused.header("content-type");
                assert_eq!(kind, Some("application/problem+json"), "{method} {path}: {refused:?}");
            }
        }
    }
    // Invalid commands, and a valid one that cannot be carried out now.
    for (body, status) in [
        ("", 400),
        ("{", 400),
        ("[]", 422),
        (r#"["pause"]"#, 422),
        (r#"{"type":"steer","kind":"next","text":"x","Kind":"now"}"#, 422),
        (r#"{"type":"run","program":"sh"}"#, 422),
        (r#"{"type":"steer"}"#, 422),
        (r#"{"type":"steer","kind":"next","text":""}"#, 409),
        (r#"{"type":"steer","kind":"standing","text":" \n "}"#, 409),
        (r#"{"type":"withdraw","id":-1}"#, 422),
        (r#"{"type":"withdraw","id":77}"#, 409),
        (r#"{"type":"resume"}"#, 409),
        (r#"{"type":"answer","ask":9,"answer":{"type":"allow"}}"#, 409),
    ] {
        let refused = send(at, &format!("POST /commands HTTP/1.1\n{known}"), body);
        assert_eq!(refused.status, status, "{body}: {refused:?}");
        assert!(!refused.detail().is_empty(), "{body}: {refused:?}");
    }
    for text in ["", "\\t \\n"] {
        let refused = send(
            at,
            &format!("POST /prompt HTTP/1.1\n{known}"),
            &format!(r#"{{"text":"{text}"}}"#),
        );
        assert_eq!(
            (refused.status, refused.detail()),
            (409, "the message is empty".into()),
            "{refused:?}"
        );
    }
    let paused = send(at, &format!("POST /commands HTTP/1.1\n{known}"), r#"{"type":"resume"}"#);
    assert!(paused.detail().contains("neither paused"), "{paused:?}");
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}
