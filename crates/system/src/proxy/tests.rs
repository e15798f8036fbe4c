//! Tests of the proxy over sockets, with servers of this machine behind it.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    sync::mpsc::{self, Receiver},
};

use super::{clients::MOST_ANNOUNCED, *};
use crate::sandbox::hosts::AllowedHost;

struct Server {
    port: u16,
    asked: Receiver<String>,
}

/// Answers one request.
fn server() -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, asked) = mpsc::channel();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut text = String::new();
        while !text.ends_with("\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            text.push(char::from(byte[0]));
        }
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\nserved").unwrap();
        sender.send(text).unwrap();
    });
    Server { port, asked }
}

struct Proxied {
    proxy: Proxy,
    refused: Receiver<RefusedConnection>,
    port: u16,
    authorization: String,
}

fn proxied(hosts: &[String]) -> Proxied {
    let (sender, refused) = mpsc::channel();
    let proxy = Proxy::start(move |host| _ = sender.send(host)).unwrap();
    let hosts = hosts.iter().map(|host| AllowedHost::read(host).unwrap()).collect();
    let access = proxy.admit(hosts).unwrap();
    Proxied {
        proxy,
        refused,
        port: access.port,
        authorization: authorization(&access),
    }
}

fn authorization(access: &ProxyAccess) -> String {
    let token = access.url.split([':', '@']).nth(2).unwrap();
    format!("Proxy-Authorization: {}\r\n", head::credentials(USER, token))
}

impl Proxied {
    /// Returns the answer to `request`, read until the connection ends.
    fn answer(&self, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn connect(&self, to: &str) -> String {
        self.answer(&format!(
            "CONNECT {to} HTTP/1.1\r\n{}\r\nGET / HTTP/1.1\r\n\r\n",
            self.authorization
        ))
    }
}

#[test]
fn a_listed_host_is_reached_through_a_tunnel_and_by_a_forwarded_request() {
    let (first, second) = (server(), server());
    let hosts = [first.port, second.port].map(|port| format!("127.0.0.1:{port}"));
    let proxied = proxied(&hosts);
    let answer = proxied.connect(&hosts[0]);
    assert!(
        answer.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"),
        "{answer}"
    );
    assert_eq!(first.asked.recv().unwrap(), "GET / HTTP/1.1\r\n\r\n");
    let answer = proxied.answer(&format!(
        "GET http://{}/x HTTP/1.1\r\n{}\r\n",
        hosts[1], proxied.authorization
    ));
    assert!(answer.ends_with("served"), "{answer}");
    let asked = second.asked.recv().unwrap();
    assert!(
        asked.starts_with("GET /x HTTP/1.1\r\n") && !asked.contains("Proxy"),
        "{asked}"
    );
}

#[test]
fn a_host_that_is_not_listed_is_refused_and_told_of_once() {
    let proxied = proxied(&["example.org".to_owned()]);
    for _ in 0..2 {
        let answer = proxied.connect("169.254.169.254:80");
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains("sandbox.hosts"),
            "{answer}"
        );
    }
    let refused = proxied.refused.try_iter().collect::<Vec<_>>();
    let expected = RefusedConnection {
        host: "169.254.169.254".to_owned(),
        port: 80,
        address: None,
    };
    assert_eq!(refused, [expected]);
}

#[test]
fn a_listed_name_that_leads_to_this_machine_is_refused_unless_the_address_is_listed() {
    let server = server();
    let name = format!("localhost:{}", server.port);
    let proxied_by_name = proxied(std::slice::from_ref(&name));
    let answer = proxied_by_name.connect(&name);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let refused = proxied_by_name.refused.recv().unwrap();
    assert!(
        refused.address.is_some_and(|address| address.is_loopback()),
        "{refused:?}"
    );
    let address = format!("127.0.0.1:{}", server.port);
    let answer = proxied(&[name.clone(), address]).connect(&name);
    assert!(answer.ends_with("served"), "{answer}");
}

#[test]
fn nobody_without_the_token_is_let_in_and_each_port_has_its_own_token_and_list() {
    let server = server();
    let host = format!("127.0.0.1:{}", server.port);
    let mut proxied = proxied(std::slice::from_ref(&host));
    for authorization in ["", "Proxy-Authorization: Basic cmFscGg6\r\n"] {
        let answer = proxied.answer(&format!("CONNECT {host} HTTP/1.1\r\n{authorization}\r\n"));
        assert!(
            answer.starts_with("HTTP/1.1 407") && answer.contains("Proxy-Authenticate: Basic"),
            "{answer}"
        );
    }
    assert_eq!(
        proxied.refused.try_iter().count(),
        0,
        "whoever is not let in is none of the run's"
    );
    let other = proxied.proxy.admit(AllowedHosts::default()).unwrap();
    proxied.port = other.port;
    assert!(
        proxied.connect(&host).starts_with("HTTP/1.1 407"),
        "a token is for its own port"
    );
    proxied.authorization = authorization(&other);
    assert!(proxied.connect(&host).starts_with("HTTP/1.1 403"));
}

#[test]
fn what_is_no_request_ends_with_an_error_and_the_next_one_is_served() {
    let server = server();
    let host = format!("127.0.0.1:{}", server.port);
    let proxied = proxied(std::slice::from_ref(&host));
    assert!(proxied.answer("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400"));
    let mut endless = TcpStream::connect((Ipv4Addr::LOCALHOST, proxied.port)).unwrap();
    while endless.write_all(&[b'x'; 1024]).is_ok() {}
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxied.port)).unwrap();
    stream.shutdown(Shutdown::Both).unwrap();
    assert!(proxied.connect(&host).ends_with("served"));
}

#[test]
fn hosts_that_are_refused_are_told_of_up_to_a_bound() {
    let proxied = proxied(&[]);
    for port in 1..=u16::try_from(MOST_ANNOUNCED).unwrap() + 10 {
        proxied.connect(&format!("example.org:{port}"));
    }
    assert_eq!(proxied.refused.try_iter().count(), MOST_ANNOUNCED);
}
