//! `ralph web`: the runs of all projects at one address.

pub mod start;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::SocketAddr,
    os::unix::{
        fs::PermissionsExt,
        net::{UnixListener, UnixStream},
    },
};

use nix::sys::signal::Signal;
use ralph_core::event::{AskEvent, Event, IterationEvent};
use serde_json::{Value, json};

use crate::{
    api::http::{RawAnswer, answer_head, connect, send},
    bad_input::asking,
    harness::{SOON, Sandbox, Script, http::Http, running::Running, wait_until},
};

/// The standing of each run, by the name of its project's parent directory.
fn standings(http: &Http) -> BTreeMap<String, Value> {
    let runs = http.get("/runs").json();
    let glance = |run: &Value| {
        json!([
            run["standing"],
            run["live"],
            run["needsYou"],
            run["asks"],
            run["exitCode"]
        ])
    };
    let runs = runs.as_array().expect("a list");
    runs.iter()
        .map(|run| (run["project"].as_str().expect("a path").to_owned(), glance(run)))
        .collect()
}

/// A `ralph web` that serves.
pub struct Serving {
    /// Its address, by number: only browsers find `ralph.localhost` by themselves.
    pub base: String,
    /// The address that it printed, with a code.
    pub page: String,
    pub token: String,
}

/// Waits until `web` has printed its address, and asks for the token.
#[track_caller]
pub fn serving(web: &Running, sandbox: &Sandbox, flags: &[&str]) -> Serving {
    let page = web.wait_for_line(SOON, |line| line.contains("/#code="));
    let (base, _) = page.split_once("/#code=").expect("a code");
    let printed = sandbox.ralph(["token", "--web"]).args(flags).run(SOON);
    assert_eq!(printed.code(), Some(0), "{printed:?}");
    Serving {
        base: base.replace("ralph.localhost", "127.0.0.1"),
        token: printed.stdout.trim().to_owned(),
        page,
    }
}

/// Sends a request to a Unix socket, as ssh does for a forwarded port, and returns the answer.
fn over_socket(socket: &std::path::Path, head: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("a socket");
    let request = format!("{}\r\nconnection: close\r\n\r\n", head.trim_end());
    stream.write_all(request.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_connection_of_a_process_that_has_ended_is_no_users() {
    let sandbox = Sandbox::new();
    let state = sandbox.state().display().to_string();
    let web = sandbox
        .ralph(["web", "--listen", "127.0.0.1:0", "--state-dir", &state])
        .start();
    let served = serving(&web, &sandbox, &["--state-dir", &state]);
    let (base, token) = (served.base.as_str(), served.token.as_str());
    let port = base.rsplit_once(':').expect("a port").1;
    let socket = sandbox.state().join(format!("web-{port}.sock"));
    wait_until(SOON, "its socket", || UnixStream::connect(&socket).ok());
    let login = format!("POST /login HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}");
    let answer = over_socket(&socket, &login);
    assert!(answer.starts_with("HTTP/1.1 2"), "the user's own: {answer}");
    // On a slow machine the server sees the connection only after the connecting process is gone.
    web.signal(Signal::SIGSTOP);
    let to = format!("{token}{}", socket.display());
    let mut connects = sandbox
        .program(env!("CARGO_BIN_EXE_fake-agent"))
        .arg(format!("reach handed-on {to}"))
        .start();
    assert!(connects.ends_within(SOON), "{}", connects.so_far());
    web.signal(Signal::SIGCONT);
    let answer = connects.wait_for_line(SOON, |line| line.starts_with("HTTP/1.1 "));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[test]
fn the_runs_of_all_projects_are_listed_followed_and_answered_behind_one_token_while_they_come_and_go() {
    let (asking, _) = asking::asking(r#"{ "ask": ["Bash"] }"#, "asks date 1\nworks\n");
    let working = Sandbox::new();
    working.install(&Script::jsonl("said working; await go; work; over Done."));
    let state = asking.state().join("shared");
    let state = state.to_str().expect("a path");
    let web = asking
        .ralph(["web", "--listen", "127.0.0.1:0", "--state-dir", state])
        .start();
    let served = serving(&web, &asking, &["--state-dir", state]);
    let (base, token) = (served.base.as_str(), served.token.as_str());
    let http = Http::for_address(base, token);
    assert_eq!(http.get("/runs").json(), json!([]));
    let port = base.rsplit_once(':').expect("a port").1;
    let socket = std::path::Path::new(state).join(format!("web-{port}.sock"));
    for (shown, status) in [
        (format!("authorization: Bearer {token}"), "200"),
        (String::new(), "401"),
    ] {
        let answer = over_socket(&socket, &format!("GET /runs HTTP/1.1\r\nhost: localhost\r\n{shown}"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }

    let asks = asking.looping(["--state-dir", state]).start();
    let works = working.looping(["--state-dir", state]).start();
    asks.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    works.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let [first, second] = [&asking, &working].map(|sandbox| sandbox.project().display().to_string());
    let standing = standings(&http);
    assert_eq!(standing[&first], json!(["running", true, true, 1, null]));
    assert_eq!(standing[&second], json!(["running", true, false, 0, null]));
    let runs = http.get("/runs").json();
    let id = |project: &str| {
        let run = runs
            .as_array()
            .and_then(|runs| runs.iter().find(|run| run["project"] == project));
        run.expect("a run")["run"].as_str().expect("a name").to_owned()
    };
    let at = |project: &str, route: &str| format!("/runs/{}{route}", id(project));

    // A read-only token may look, but not command.
    let looks = asking
        .ralph(["token", "--web", "--read-only", "--state-dir", state])
        .run(SOON);
    let looking = Http::for_address(base, looks.stdout.trim());
    assert_eq!(looking.get(&at(&first, "/asks")).json()[0]["number"], 1);
    let yes = json!({"type": "allow", "remember": null});
    assert_eq!(looking.post(&at(&first, "/asks/1"), &yes).status, 403);
    // A screen that slows the agent down needs more than reading rights, however its address is written.
    let address = base.trim_start_matches("http://").parse().expect("an address");
    let again = at(&first, "").to_owned() + "/stream";
    for route in ["/stream", "/x/../stream", "/x/%2e%2e/stream", &again] {
        let path = at(&first, route);
        let head = format!("GET {path}?screen=true&hold=true HTTP/1.1\nhost: {address}");
        let answer = send(
            address,
            &format!("{head}\nauthorization: Bearer {}", looks.stdout.trim()),
            "",
        );
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }

    // A connection is cut, and a new one continues at the same place.
    let mut followed = http.events(&at(&first, "/events?from=0"));
    let asked = followed.wait_for(|event| event.event == "asked");
    drop(followed);
    let rest = http.events(&at(&first, &format!("/events?after={}", asked.id)));
    assert_eq!(http.post(&at(&first, "/asks/1"), &yes).status, 200);
    assert_eq!(asks.wait(SOON).code(), Some(0));
    let rest = rest.rest();
    let records = rest
        .iter()
        .filter(|event| !["over", "heartbeat"].contains(&&*event.event));
    let ids: Vec<u64> = records.filter_map(|event| event.id.parse().ok()).collect();
    let next: u64 = asked.id.parse().expect("a number");
    assert!(ids.iter().copied().eq(next + 1..next + 1 + ids.len() as u64), "{ids:?}");
    assert_eq!(rest.last().map(|over| &*over.data), Some(r#"{"exitCode":0}"#));

    // One run has ended and one is killed: their records can still be read.
    works.kill();
    works.wait_for_exit(SOON);
    wait_until(SOON, "no run to be live", || {
        standings(&http).values().all(|run| run[1] == false).then_some(())
    });
    let standing = standings(&http);
    assert_eq!(standing[&first], json!(["over", false, false, 0, 0]));
    assert_eq!(standing[&second], json!(["interrupted", false, false, 0, null]));
    assert_eq!(http.get(&at(&first, "/report")).json()["end"]["exitCode"], 0);
    assert!(http.get(&at(&first, "/diff/1")).text().contains("+- [x] Task 1"));
    assert_eq!(http.get(&at(&second, "/plan")).json()["tasks"][0]["done"], false);
    assert_eq!(http.get(&at(&second, "")).json()["standing"], "interrupted");
    let skip = json!({"type": "skip"});
    assert_eq!(http.post(&at(&second, "/commands"), &skip).status, 409);
    assert_eq!(http.get("/runs/nobody/run").status, 404);
    assert_eq!(http.get("/asks").status, 404);

    web.signal(Signal::SIGINT);
    assert_eq!(web.wait(SOON).code(), Some(0));
}

#[test]
fn what_answers_in_place_of_a_run_is_never_a_document_of_the_page() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    sandbox.plan(1);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let socket = sandbox.paths().socket();
    let mode = std::fs::metadata(&socket).expect("the socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0"]).start();
    let served = serving(&web, &sandbox, &[]);
    let at: SocketAddr = served.base.trim_start_matches("http://").parse().expect("an address");
    let run = sandbox.paths().run_ids().remove(0).0;

    // The run makes its socket anew within seconds.
    let page = "<form action=http://127.0.0.1:1/><input name=token>";
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: a=b\r\nlocation: /\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    );
    std::fs::remove_file(&socket).expect("the socket");
    let impostor = UnixListener::bind(&socket).expect("another socket");
    std::thread::spawn(move || {
        for stream in impostor.incoming() {
            let Ok(mut stream) = stream else { return };
            _ = stream.read(&mut [0; 4096]); // whatever is asked
            _ = stream.write_all(answer.as_bytes()); // the server may have gone
        }
    });
    let head = format!(
        "GET /runs/{run}/run HTTP/1.1\nhost: {at}\nauthorization: Bearer {}",
        served.token
    );
    let told = send(at, &head, "");
    assert!(told.body.contains("<form"), "the impostor has answered: {told:?}");
    assert_eq!(told.header("content-type"), Some("application/octet-stream"));
    let policy = told.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("form-action 'none'") && policy.contains("sandbox"),
        "{policy}"
    );
    assert_eq!((told.header("set-cookie"), told.header("location")), (None, None));
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}

/// An agent that asks a question in its first iteration and works in the others.
pub const BLOCKED: &str = r#"[ "$n" = 1 ] && over "---RALPH_STATUS---\nSTATUS: BLOCKED\nREASON: Which key do I use?\n---END_RALPH_STATUS---" || { work; over Done.; }"#;

#[test]
fn a_run_that_has_ended_blocked_is_answered_behind_the_token_and_resumed_with_the_answer() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(BLOCKED));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(8));
    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0"]).start();
    let served = serving(&web, &sandbox, &[]);
    let base = served.base.as_str();
    let http = Http::for_address(base, &served.token);
    let looks = sandbox.ralph(["token", "--web", "--read-only"]).run(SOON);
    let run = sandbox.paths().run_ids().remove(0).0;
    let ask = http.get(&format!("/runs/{run}/asks")).json()[0]["number"].clone();
    let route = format!("/runs/{run}/asks/{ask}");

    let answer = json!({"type": "words", "words": ["the blue one"]});
    let looking = Http::for_address(base, looks.stdout.trim());
    assert_eq!(looking.post(&route, &answer).status, 403);
    let always = json!({"type": "allow", "remember": {"scope": "run", "rules": []}});
    let refused = http.post(&route, &always);
    assert!(
        refused.status == 409 && refused.text().contains("ralph answer"),
        "{refused:?}"
    );
    let left = http.post(&route, &answer);
    assert_eq!(left.status, 200, "{}", left.text());
    assert!(
        left.text().contains("message 1 is queued") && left.text().contains("`ralph continue` delivers it"),
        "{}",
        left.text()
    );
    let again = http.post(&route, &answer);
    assert!(
        again.status == 409 && again.text().contains("answered by you over HTTP, in message 1"),
        "{}",
        again.text()
    );

    let resumed = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(sandbox.prompt(2).contains("the blue one"), "in the same run");

    // A later run of the project replaces it.
    sandbox.plan(1);
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(8));
    let older = http.post(&route, &answer);
    assert!(
        older.status == 409 && older.text().contains("only the last one accepts answers"),
        "{}",
        older.text()
    );
}

#[test]
fn a_code_logs_one_browser_in_once_and_a_session_that_is_ended_or_revoked_sees_nothing_more() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    sandbox.plan(1);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let no_web = sandbox.ralph(["token", "--web", "--code"]).run(SOON);
    assert!(
        no_web.code() == Some(1) && no_web.stderr.contains("no `ralph web` is running"),
        "{no_web:?}"
    );
    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0"]).start();
    let served = serving(&web, &sandbox, &[]);
    let at: SocketAddr = served.base.trim_start_matches("http://").parse().expect("an address");
    let ask = |head: &str| send(at, &format!("{head}\nhost: ralph.localhost:1"), "");
    let login = |page: &str| {
        let (_, code) = page.split_once("/#code=").expect("a code");
        ask(&format!("POST /login HTTP/1.1\nauthorization: Code {code}"))
    };
    let cookie = |answer: &RawAnswer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").expect("a cookie");
        cookie.split(';').next().expect("a value").to_owned()
    };
    assert!(served.page.starts_with("http://ralph.localhost:"), "{}", served.page);
    assert!(!served.page.contains(&served.token), "{}", served.page);
    let first = cookie(&login(&served.page));
    let again = login(&served.page);
    assert!(
        again.status == 401 && again.detail().contains("ralph token --web --code"),
        "{again:?}"
    );
    let (_, code) = served.page.split_once("/#code=").expect("a code");
    let elsewhere = ask(&format!("GET /runs HTTP/1.1\nauthorization: Code {code}"));
    assert_eq!(elsewhere.status, 401, "a code only logs in: {elsewhere:?}");
    let another = sandbox.ralph(["token", "--web", "--code"]).run(SOON);
    let second = cookie(&login(another.stdout.trim()));

    let run = sandbox.paths().run_ids().remove(0).0;
    let stream = |cookie: &str| {
        let mut stream = connect(at);
        let head = format!("GET /runs/{run}/events?from=0 HTTP/1.1\nhost: {at}\ncookie: {cookie}\nconnection: close");
        let head = answer_head(&mut stream, &head);
        assert!(
            head.starts_with("http/1.1 200") && head.contains("x-accel-buffering: no"),
            "{head}"
        );
        stream
    };
    let [mut of_first, mut of_second] = [&first, &second].map(|cookie| stream(cookie));
    let by_token = |route: &str| ask(&format!("{route} HTTP/1.1\nauthorization: Bearer {}", served.token));
    let sessions = by_token("GET /sessions");
    assert_eq!(sessions.body.matches("\"number\"").count(), 2, "{sessions:?}");
    let ended = by_token("POST /sessions/1/end");
    assert_eq!(ended.status, 204, "{ended:?}");
    let mut rest = Vec::new();
    of_first.read_to_end(&mut rest).expect("the stream ends");
    let looks = |cookie: &str| ask(&format!("GET /runs HTTP/1.1\ncookie: {cookie}")).status;
    assert_eq!((looks(&first), looks(&second)), (401, 200));
    let revoked = sandbox.ralph(["token", "--web", "--revoke"]).run(SOON);
    assert_eq!(revoked.code(), Some(0), "{revoked:?}");
    of_second.read_to_end(&mut rest).expect("the stream ends");
    assert_eq!(looks(&second), 401);

    // A long answer is compressed for a browser.
    let whole = |encoding: &str| {
        let head = format!(
            "GET /runs/{run}/run HTTP/1.1\nauthorization: Bearer {}\n{encoding}",
            revoked.stdout.trim()
        );
        ask(&head)
    };
    let (plain, packed) = (whole(""), whole("accept-encoding: gzip, deflate"));
    assert_eq!((plain.status, packed.status), (200, 200), "{plain:?}");
    assert_eq!(packed.header("content-encoding"), Some("deflate"), "{packed:?}");
    let length = packed.header("content-length").and_then(|length| length.parse().ok());
    assert!(
        length.is_some_and(|length: usize| length < plain.body.len() / 2),
        "{packed:?}"
    );

    // A session ends when its browser logs out.
    let third = sandbox.ralph(["token", "--web", "--code"]).run(SOON);
    let third = cookie(&login(third.stdout.trim()));
    let out = ask(&format!(
        "POST /logout HTTP/1.1\norigin: http://ralph.localhost:1\ncookie: {third}"
    ));
    assert_eq!((out.status, looks(&third)), (204, 401), "{out:?}");
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
}
