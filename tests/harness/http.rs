//! Requests to ralph's API, as a program makes them.

use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use futures_util::{Stream, StreamExt};
use ralph_state::http_client::{SentEvent, events};
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::SOON;

/// A port for a program that cannot choose one itself.
///
/// The port lies below the range from which systems assign ports, so that no other process gets it before the program
/// starts.
pub fn free_port() -> u16 {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    loop {
        let port = 20_000 + TRIED.fetch_add(1, Ordering::Relaxed) % 12_000;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// A client of one server.
pub struct Http {
    runtime: Runtime,
    client: reqwest::Client,
    base: String,
    token: Option<String>,
}

/// The answer to a request.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub kind: String,
    pub body: Vec<u8>,
}

impl HttpAnswer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// # Panics
    /// If the body is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// Builds a client without TLS, which needs no certificates of the system.
pub fn plain(client: reqwest::ClientBuilder) -> reqwest::Client {
    #[cfg(feature = "tls")]
    let client = {
        let _ = rustls::crypto::ring::default_provider().install_default(); // another client may have done so
        client.tls_certs_only([])
    };
    client.no_proxy().build().expect("a client")
}

impl Http {
    /// A client of the server at a socket.
    pub fn for_socket(socket: &Path) -> Http {
        Http::new(reqwest::Client::builder().unix_socket(socket), "http://ralph", None)
    }

    /// A client of the server at an address, with a token.
    pub fn for_address(base: &str, token: &str) -> Http {
        Http::new(reqwest::Client::builder(), base, Some(token.to_owned()))
    }

    fn new(client: reqwest::ClientBuilder, base: &str, token: Option<String>) -> Http {
        Http {
            runtime: Builder::new_current_thread().enable_all().build().expect("a runtime"),
            client: plain(client),
            base: base.trim_end_matches('/').to_owned(),
            token,
        }
    }

    async fn sent(&self, method: Method, route: &str, body: Option<&Value>) -> Response {
        let mut request = self.client.request(method, format!("{}{route}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request
            .send()
            .await
            .unwrap_or_else(|error| panic!("{route}: {error:?}"))
    }

    fn answer(&self, method: Method, route: &str, body: Option<&Value>) -> HttpAnswer {
        self.within(SOON, async {
            let response = self.sent(method, route, body).await;
            let kind = response.headers().get("content-type");
            HttpAnswer {
                status: response.status().as_u16(),
                kind: kind.map_or_else(String::new, |kind| kind.to_str().expect("a kind").to_owned()),
                body: response.bytes().await.expect("a body").to_vec(),
            }
        })
    }

    fn within<T>(&self, deadline: Duration, work: impl Future<Output = T>) -> T {
        let done = self
            .runtime
            .block_on(async { tokio::time::timeout(deadline, work).await });
        done.expect("an answer in time")
    }

    pub fn get(&self, route: &str) -> HttpAnswer {
        self.answer(Method::GET, route, None)
    }

    pub fn post(&self, route: &str, body: &Value) -> HttpAnswer {
        self.answer(Method::POST, route, Some(body))
    }

    /// Subscribes to server-sent events.
    pub fn events(&self, route: &str) -> Events<'_> {
        let response = self.within(SOON, self.sent(Method::GET, route, None));
        assert_eq!(response.status().as_u16(), 200, "{route}");
        Events {
            http: self,
            events: Box::new(Box::pin(events(response.bytes_stream()))),
        }
    }
}

/// A stream of events.
pub struct Events<'a> {
    http: &'a Http,
    events: Box<dyn Stream<Item = Result<SentEvent, String>> + Unpin>,
}

impl Events<'_> {
    /// Waits for the first event that `wanted` accepts.
    ///
    /// # Panics
    /// If none arrives, or the stream ends or breaks before.
    #[track_caller]
    pub fn wait_for(&mut self, wanted: impl Fn(&SentEvent) -> bool) -> SentEvent {
        let (http, events) = (self.http, &mut self.events);
        http.within(SOON, async {
            loop {
                let event = events.next().await.expect("an event").expect("a whole event");
                if wanted(&event) {
                    return event;
                }
            }
        })
    }

    /// All remaining events up to the end of the stream.
    #[track_caller]
    pub fn rest(self) -> Vec<SentEvent> {
        let Self { http, events } = self;
        http.within(SOON, events.map(|event| event.expect("a whole event")).collect())
    }
}
