//! Access over TCP: which clients may do what.

use std::net::TcpListener;

use super::http::{RawAnswer, address, send, token};
use crate::harness::{SOON, Sandbox, Script};

/// The cookie that an answer sets, as `NAME=VALUE`.
fn cookie(answer: &RawAnswer) -> String {
    let cookie = answer.header("set-cookie").expect("a cookie");
    cookie.split(';').next().expect("a cookie has a value").to_owned()
}

#[test]
fn over_tcp_only_a_token_from_the_right_place_is_let_in_and_no_further_than_it_goes() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    sandbox.plan(1);
    let running = sandbox
        .looping([
            "--listen",
            "127.0.0.1:0",
            "--behind-proxy",
            "ralph.example,phone.example:8443",
        ])
        .start();
    let at = address(&running);
    let own = format!("host: {at}");
    let (full, reads) = (token(&sandbox, &[]), token(&sandbox, &["--read-only"]));
    let (full_header, reads_header) = (
        format!("authorization: Bearer {full}"),
        format!("authorization: Bearer {reads}"),
    );
    let mut refused = Vec::new();
    let mut refuse = |head: String, status: u16, why: &str| {
        let answer = send(at, &head, "");
        assert_eq!(answer.status, status, "{head}\n{answer:?}");
        assert!(answer.detail().contains(why), "{head}\n{}", answer.detail());
        refused.push(answer);
    };

    // No token, and invalid tokens.
    let near = format!("{}{}", &full[..63], if full.ends_with('0') { '1' } else { '0' });
    for shown in [
        String::new(),
        format!("authorization: Bearer {near}"),
        format!("authorization: Bearer {}", &full[..32]),
        "authorization: Bearer ".to_owned(),
        format!("authorization: Basic {full}"),
        format!("authorization: {full}"),
        format!("cookie: ralph-{}={full}", at.port()),
        format!("cookie: ralph-{}=", at.port()),
    ] {
        for route in [
            "GET /run",
            "GET /events",
            "POST /commands",
            "POST /login",
            "GET /no-such-route",
            "OPTIONS /run",
        ] {
            refuse(format!("{route} HTTP/1.1\n{own}\n{shown}"), 401, "");
        }
    }
    for name in ["token", "access_token", "Authorization"] {
        let head = format!("GET /run?after=1&{name}={full} HTTP/1.1\n{own}\n{full_header}");
        refuse(head, 400, "histories and logs");
    }

    // The right token with another host: a foreign name that resolves to this machine.
    for host in [
        "host: evil.example",
        &format!("host: evil.example:{}", at.port()),
        "host: 127.0.0.1.evil.example",
        "host: 8.8.8.8",
        "host: localhost:x",
        "host: phone.example",
        "",
        &format!("{own}\nhost: evil.example"),
    ] {
        refuse(
            format!("GET /run HTTP/1.1\n{host}\n{full_header}"),
            421,
            "--behind-proxy",
        );
    }
    refuse(
        format!("GET http://evil.example/run HTTP/1.1\n{own}\n{full_header}"),
        421,
        "--behind-proxy",
    );

    // Requests of other pages, with and without a token.
    for origin in [
        "http://evil.example",
        "null",
        &format!("http://localhost:{}", at.port()),
        "http://127.0.0.1:1",
        "x",
    ] {
        for route in ["GET /run", "POST /commands", "POST /login", "OPTIONS /commands"] {
            let head = format!("{route} HTTP/1.1\n{own}\norigin: {origin}\n{full_header}");
            refuse(head, 403, "another page");
        }
    }

    // A read-only token.
    for route in [
        "POST /commands",
        "POST /prompt",
        "POST /cancel",
        "POST /asks/1",
        "POST /personal/trust",
        "PUT /run",
    ] {
        refuse(format!("{route} HTTP/1.1\n{own}\n{reads_header}"), 403, "read-only");
    }

    // A cookie counts only for the page that received it, and differs from the token.
    let login = |token: &str| send(at, &format!("POST /login HTTP/1.1\n{own}\n{token}"), "");
    let (as_user, as_reader) = (login(&full_header), login(&reads_header));
    for (login, read_only) in [(&as_user, "false"), (&as_reader, "true")] {
        assert_eq!(
            (login.status, login.body.as_str()),
            (200, format!(r#"{{"readOnly":{read_only}}}"#).as_str())
        );
        let set = login.header("set-cookie").expect("a cookie");
        assert!(
            set.contains("; httponly; samesite=strict") && set.contains("path=/") && !set.contains("secure"),
            "{set}"
        );
        assert!(!set.contains(&full) && !set.contains(&reads), "{set}");
    }
    let (user_cookie, reader_cookie) = (cookie(&as_user), cookie(&as_reader));
    let steer = r#"{"type":"steer","kind":"next","text":"use tabs"}"#;
    for more in [
        "",
        "origin: http://evil.example",
        "origin: http://localhost:3000",
        "origin: null",
    ] {
        refuse(
            format!("POST /commands HTTP/1.1\n{own}\ncookie: {user_cookie}\n{more}"),
            403,
            "",
        );
    }
    for site in ["cross-site", "same-site"] {
        let head = format!("GET /run HTTP/1.1\n{own}\ncookie: {user_cookie}\nsec-fetch-site: {site}");
        refuse(head, 403, "another page");
    }
    let page = format!("origin: http://{at}");
    refuse(
        format!("POST /commands HTTP/1.1\n{own}\ncookie: {reader_cookie}\n{page}"),
        403,
        "read-only",
    );

    // Requests that are accepted.
    let is_taken = |head: String, body: &str| {
        let answer = send(at, &head, body);
        assert_eq!(answer.status, 200, "{head}\n{answer:?}");
        assert!(answer.header("cache-control").is_some() && answer.header("x-content-type-options") == Some("nosniff"));
        answer
    };
    for (host, token) in [
        (own.as_str(), &full_header),
        (&own, &reads_header),
        // The local end of a tunnel.
        ("host: localhost:9999", &full_header),
        ("host: [::1]:1", &full_header),
        ("host: RALPH.example", &full_header),
        ("host: ralph.example:443", &full_header),
        ("host: phone.example:8443", &full_header),
    ] {
        is_taken(format!("GET /status HTTP/1.1\n{host}\n{token}"), "");
    }
    for cookie in [&user_cookie, &reader_cookie] {
        is_taken(format!("GET /asks HTTP/1.1\n{own}\ncookie: other=1; {cookie}"), "");
    }
    is_taken(format!("POST /commands HTTP/1.1\n{own}\n{full_header}"), steer);
    is_taken(format!("POST /commands HTTP/1.1\n{own}\n{page}\n{full_header}"), steer);
    is_taken(
        format!("POST /commands HTTP/1.1\n{own}\n{page}\ncookie: {user_cookie}"),
        steer,
    );
    // A proxy that passes requests on under its own name, and under this machine's.
    let proxied = "origin: https://ralph.example\nx-forwarded-proto: https";
    is_taken(
        format!("POST /commands HTTP/1.1\nhost: ralph.example\n{proxied}\ncookie: {user_cookie}"),
        steer,
    );
    let secure = is_taken(format!("POST /login HTTP/1.1\n{own}\n{proxied}\n{full_header}"), "");
    assert!(
        secure.header("set-cookie").expect("a cookie").ends_with("; secure"),
        "{secure:?}"
    );

    // Other pages may neither read nor frame an answer, and unknown clients learn how to log in.
    for answer in &refused {
        assert!(!answer.head.contains("access-control"), "{answer:?}");
        assert_eq!(answer.header("x-frame-options"), Some("deny"), "{answer:?}");
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{answer:?}"
        );
        assert_eq!(
            answer.header("www-authenticate").is_some(),
            answer.status == 401,
            "{answer:?}"
        );
        for secret in [&full, &reads] {
            assert!(!answer.body.contains(secret), "{answer:?}");
        }
    }

    // The page contains no data of a run, and has a policy of its own.
    let page = send(at, &format!("GET / HTTP/1.1\n{own}"), "");
    assert!(page.status == 200 && page.body.contains("<!doctype html>"), "{page:?}");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(
        policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert_eq!(
        send(at, &format!("POST / HTTP/1.1\n{own}\n{full_header}"), "").status,
        405
    );

    // Revoked tokens are refused from then on, as are the cookies issued for them.
    let status = sandbox.ralph(["status"]).run(SOON).stdout;
    assert!(status.contains(&format!("listen    http://{at}")), "{status}");
    let status = sandbox.ralph(["status", "--json"]).run(SOON).stdout;
    assert!(status.contains(&format!("\"listen\": \"http://{at}\"")), "{status}");
    let renewed = token(&sandbox, &["--revoke"]);
    assert!(renewed != full && token(&sandbox, &[]) == renewed);
    for old in [
        &full_header,
        &reads_header,
        &format!("cookie: {user_cookie}"),
        &format!("cookie: {reader_cookie}"),
    ] {
        assert_eq!(send(at, &format!("GET /status HTTP/1.1\n{own}\n{old}"), "").status, 401);
    }
    is_taken(
        format!("GET /status HTTP/1.1\n{own}\nauthorization: bearer {renewed}"),
        "",
    );

    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let log = std::fs::read_to_string(sandbox.the_run().log()).expect("the log");
    assert!(
        log.contains("request refused") && log.matches("request refused").count() < 30,
        "{log}"
    );
    for secret in [&full, &reads, &renewed] {
        assert!(!log.contains(secret.as_str()) && !finished.stdout.contains(secret.as_str()));
    }
}

#[test]
fn an_address_where_nobody_can_or_should_listen_ends_a_run_before_it_starts() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    for (address, why, hint) in [
        (taken.as_str(), "something else does already", "--listen 127.0.0.1:0"),
        ("0.0.0.0:0", "other machines can reach it", "ssh -L"),
        ("[::]:0", "other machines can reach it", "--behind-proxy"),
        ("here", "an address of this machine with a port", "127.0.0.1:4180"),
        (
            "example.org:80",
            "an address of this machine with a port",
            "127.0.0.1:4180",
        ),
        ("192.0.2.1:80", "other machines can reach it", "ssh -L"),
    ] {
        let refused = sandbox.looping(["--listen", address]).run(SOON);
        assert_eq!(refused.code(), Some(3), "{address}: {refused:?}");
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains(hint),
            "{address}: {}",
            refused.stderr
        );
    }
    assert!(sandbox.paths().run_ids().is_empty(), "nothing was started");
    // A project's configuration must not decide who can reach its runs.
    sandbox.write(".ralph/config.json", r#"{"listen": "127.0.0.1:0"}"#);
    let refused = sandbox.looping([""; 0]).run(SOON);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("`listen` cannot be set by a project"),
        "{}",
        refused.stderr
    );
}
