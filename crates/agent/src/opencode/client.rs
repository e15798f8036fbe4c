//! A client for the part of the server's HTTP interface that ralph uses.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use ralph_core::event::PermissionAnswer;
use ralph_state::http_client;
use reqwest::{Method, RequestBuilder, Response, StatusCode, redirect::Policy};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::debug;

use super::{
    Credentials, ServerError,
    asking_rules::{KnownAgent, OpencodeRule},
    asks::PermissionReply,
    feed::Feed,
    server_url::ServerUrl,
    wire::{Health, ListedMessage, ServerPaths, SessionInfo, SessionStatus, WirePermission, WireQuestion},
};
use crate::mcp::McpServer;

/// The timeout of a request that the server only has to look up or store. The first one in a directory also makes it
/// read the project's configuration and install what that requires.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The major version of opencode whose interface this is.
const KNOWN_MAJOR: u32 = 1;
/// Most bytes of one response.
const ANSWER_CAP_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes of an error's text that are read.
const ERROR_CAP_BYTES: usize = 64 * 1024;
/// The bytes of an id that are encoded in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-');

/// A client of one server, for one directory.
#[derive(Debug, Clone)]
pub(super) struct OpencodeClient {
    http: reqwest::Client,
    /// The client for streams, which may last forever but must not be silent for long.
    streams: reqwest::Client,
    url: ServerUrl,
    credentials: Option<Credentials>,
    /// The path of the project on the server's machine.
    directory: String,
}

/// The options of a prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct PromptOptions {
    /// Provider and name.
    pub(super) model: Option<(String, String)>,
    pub(super) agent: Option<String>,
}

impl OpencodeClient {
    /// Creates a client of the server at `url`, for `directory`. `connect` is the timeout of a connection, `silence`
    /// the longest silence of a stream.
    ///
    /// # Errors
    /// [`ServerError::Client`] if the HTTP client cannot be set up.
    pub(super) fn new(
        url: ServerUrl,
        credentials: Option<Credentials>,
        directory: String,
        connect: Duration,
        silence: Duration,
    ) -> Result<Self, ServerError> {
        let builder = || {
            http_client::encrypted_if(url.is_encrypted())
                // The server is on this machine, behind a tunnel, or speaks TLS itself.
                .no_proxy()
                .redirect(Policy::none())
                .connect_timeout(connect)
        };
        let built = |source| ServerError::Client { source };
        Ok(Self {
            http: builder().timeout(REQUEST_TIMEOUT).build().map_err(built)?,
            streams: builder().read_timeout(silence).build().map_err(built)?,
            url,
            credentials,
            directory,
        })
    }

    pub(super) fn url(&self) -> &ServerUrl {
        &self.url
    }

    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    /// Checks whether the server is healthy and has a version that ralph can talk to.
    ///
    /// # Errors
    /// Among others, [`ServerError::TooNew`] if the server reports its version, and [`ServerError::Foreign`] if it
    /// answers with its web application, as opencode 2 does for unknown routes.
    pub(super) async fn greet(&self, timeout: Duration) -> Result<Health, ServerError> {
        let health = self.health(timeout).await?;
        match health.major() > Some(KNOWN_MAJOR) {
            true => Err(ServerError::TooNew {
                url: self.url.clone(),
                version: health.version,
            }),
            false => Ok(health),
        }
    }

    async fn health(&self, timeout: Duration) -> Result<Health, ServerError> {
        let response = self.send(self.get("/global/health").timeout(timeout)).await?;
        let health: Health = self.json(response).await?;
        if !health.healthy {
            return Err(ServerError::Foreign { url: self.url.clone() });
        }
        Ok(health)
    }

    /// Creates a session. Its title is given, so that opencode does not ask a model for one.
    pub(super) async fn create_session(&self, title: &str) -> Result<SessionInfo, ServerError> {
        self.ask(self.post("/session").json(&json!({ "title": title }))).await
    }

    /// Adds rules to a session, which take precedence over those of its agent.
    pub(super) async fn set_rules(&self, id: &str, rules: &[OpencodeRule]) -> Result<SessionInfo, ServerError> {
        let request = self.request(&self.http, Method::PATCH, &session_path(id, ""));
        self.ask(request.json(&json!({ "permission": rules }))).await
    }

    pub(super) async fn agents(&self) -> Result<Vec<KnownAgent>, ServerError> {
        self.list(self.get("/agent")).await
    }

    pub(super) async fn paths(&self) -> Result<ServerPaths, ServerError> {
        self.ask(self.get("/path")).await
    }

    /// Makes opencode start an MCP server. It replaces one of the same name.
    pub(super) async fn connect_mcp_server(&self, server: &McpServer) -> Result<(), ServerError> {
        let body = json!({"name": server.name, "config": server.to_opencode()});
        self.done(self.post("/mcp").json(&body)).await
    }

    /// Makes opencode end an MCP server.
    pub(super) async fn disconnect_mcp_server(&self, name: &str) -> Result<(), ServerError> {
        self.done(self.post(&format!("/mcp/{name}/disconnect"))).await
    }

    /// The names of the connected MCP servers.
    pub(super) async fn connected_mcp_servers(&self) -> Result<Vec<String>, ServerError> {
        let servers: HashMap<String, Value> = self.ask(self.get("/mcp")).await?;
        let connected = servers
            .into_iter()
            .filter(|(_, server)| server["status"] == "connected");
        Ok(connected.map(|(name, _)| name).collect())
    }

    /// The names of all MCP servers.
    pub(super) async fn mcp_servers(&self) -> Result<Vec<String>, ServerError> {
        let servers: HashMap<String, Value> = self.ask(self.get("/mcp")).await?;
        Ok(servers.into_keys().collect())
    }

    /// The session `id`; `None` if it does not exist.
    pub(super) async fn session(&self, id: &str) -> Result<Option<SessionInfo>, ServerError> {
        match self.ask(self.get(&session_path(id, ""))).await {
            Ok(session) => Ok(Some(session)),
            // The server refuses a malformed id with 400.
            Err(ServerError::Refused { status: 400 | 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The sessions of the subagents of session `id`.
    pub(super) async fn children(&self, id: &str) -> Result<Vec<SessionInfo>, ServerError> {
        self.ask(self.get(&session_path(id, "/children"))).await
    }

    /// The last `limit` messages, oldest first. Messages that cannot be parsed are left out.
    pub(super) async fn messages(&self, id: &str, limit: u32) -> Result<Vec<ListedMessage>, ServerError> {
        let request = self.get(&session_path(id, "/message"));
        self.list(request.query(&[("limit", limit)])).await
    }

    /// The states of all sessions that are not idle.
    pub(super) async fn statuses(&self) -> Result<HashMap<String, SessionStatus>, ServerError> {
        self.ask(self.get("/session/status")).await
    }

    /// Sends a prompt to a session. A session that is already working takes it up in the running turn.
    pub(super) async fn prompt(&self, id: &str, text: &str, prompt_options: &PromptOptions) -> Result<(), ServerError> {
        let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
        if let Some((provider, model)) = &prompt_options.model {
            body["model"] = json!({ "providerID": provider, "modelID": model });
        }
        if let Some(agent) = &prompt_options.agent {
            body["agent"] = json!(agent);
        }
        self.done(self.post(&session_path(id, "/prompt_async")).json(&body))
            .await
    }

    /// Aborts the work of a session, including its running tool.
    pub(super) async fn abort(&self, id: &str, timeout: Duration) -> Result<(), ServerError> {
        self.done(self.post(&session_path(id, "/abort")).timeout(timeout)).await
    }

    pub(super) async fn permissions(&self) -> Result<Vec<WirePermission>, ServerError> {
        self.list(self.get("/permission")).await
    }

    pub(super) async fn questions(&self) -> Result<Vec<WireQuestion>, ServerError> {
        self.list(self.get("/question")).await
    }

    /// Answers a permission request, unless another client has already done so. A denial without a message would end
    /// the turn.
    pub(super) async fn answer_permission(&self, reply: &PermissionReply) -> Result<(), ServerError> {
        let (word, body) = match &reply.answer {
            PermissionAnswer::Allow | PermissionAnswer::Words { .. } => ("once", json!({ "reply": "once" })),
            PermissionAnswer::Deny { message } => ("reject", json!({ "reply": "reject", "message": message })),
        };
        let path = format!("/permission/{}/reply", segment(&reply.id));
        match self.done(self.post(&path).json(&body)).await {
            Err(ServerError::Refused { status: 404, message }) if !message.contains("PermissionNotFound") => {
                // The server is older than this route.
                let path = format!("/permissions/{}", segment(&reply.id));
                let path = session_path(&reply.session, &path);
                self.done(self.post(&path).json(&json!({ "response": word }))).await
            }
            Err(ServerError::Refused { status: 404, .. }) => Ok(()),
            result => result,
        }
    }

    /// Answers a question. It is never rejected, since that would end the turn.
    pub(super) async fn answer_question(&self, id: &str, answers: &[Vec<String>]) -> Result<(), ServerError> {
        let path = format!("/question/{}/reply", segment(id));
        match self.done(self.post(&path).json(&json!({ "answers": answers }))).await {
            Err(ServerError::Refused { status: 404, .. }) => Ok(()),
            result => result,
        }
    }

    /// Opens the stream of events.
    pub(super) async fn events(&self) -> Result<Feed, ServerError> {
        let request = self.request(&self.streams, Method::GET, "/event");
        let response = self.send(request.header("accept", "text/event-stream")).await?;
        let kind = response.headers().get("content-type");
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
            return Err(ServerError::Foreign { url: self.url.clone() });
        }
        Ok(Feed::new(response))
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.request(&self.http, Method::GET, path)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.request(&self.http, Method::POST, path)
    }

    fn request(&self, http: &reqwest::Client, method: Method, path: &str) -> RequestBuilder {
        let request = http
            .request(method, format!("{}{path}", self.url))
            .query(&[("directory", &self.directory)]);
        match &self.credentials {
            Some(credentials) => request.basic_auth(&credentials.username, Some(&credentials.password)),
            None => request,
        }
    }

    /// Sends a request whose response has no content of interest.
    async fn done(&self, request: RequestBuilder) -> Result<(), ServerError> {
        self.send(request).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ServerError> {
        let response = self.send(request).await?;
        self.json(response).await
    }

    /// Requests a list and returns the items that can be parsed.
    async fn list<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<Vec<T>, ServerError> {
        let items: Vec<Value> = self.ask(request).await?;
        Ok(items
            .into_iter()
            .filter_map(|item| serde_json::from_value(item).ok())
            .collect())
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, ServerError> {
        let (http, request) = request.build_split();
        let request = request.map_err(|error| self.failed(error))?;
        // The query (with the directory), headers and body are not logged.
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let begun = Instant::now();
        let result = http.execute(request).await;
        let elapsed_ms = begun.elapsed().as_millis();
        match &result {
            Ok(response) => debug!(%method, path, elapsed_ms, status = response.status().as_u16(), "request answered"),
            Err(error) => debug!(%method, path, elapsed_ms, timeout = error.is_timeout(), "request failed"),
        }
        let response = result.map_err(|error| self.failed(error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED {
            return Err(ServerError::Unauthorized {
                url: self.url.clone(),
                password_given: self.credentials.is_some(),
            });
        }
        // If the text cannot be read, the status has to suffice.
        let text = read(response, ERROR_CAP_BYTES).await.unwrap_or_default();
        Err(ServerError::Refused {
            status: status.as_u16(),
            message: message_in(&text),
        })
    }

    async fn json<T: DeserializeOwned>(&self, response: Response) -> Result<T, ServerError> {
        let bytes = read(response, ANSWER_CAP_BYTES)
            .await
            .map_err(|error| self.failed(error))?;
        // The server answers unknown routes with its web page.
        serde_json::from_slice(&bytes).map_err(|_| ServerError::Foreign { url: self.url.clone() })
    }

    fn failed(&self, source: reqwest::Error) -> ServerError {
        let source = source.without_url();
        match source.is_timeout() {
            true => ServerError::TimedOut {
                url: self.url.clone(),
                source,
            },
            false => ServerError::Unreachable {
                url: self.url.clone(),
                source,
            },
        }
    }
}

async fn read(mut response: Response, cap_bytes: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if bytes.len() + chunk.len() > cap_bytes {
            break;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The message in an error's body, with its name: `{"name":…,"data":{"message":…}}`, `{"_tag":…,"message":…}` or plain
/// text.
fn message_in(bytes: &[u8]) -> String {
    let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    let parts: Vec<&str> = [
        text("/name").or(text("/_tag")),
        text("/data/message").or(text("/message")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        String::from_utf8_lossy(bytes).chars().take(200).collect()
    } else {
        parts.join(": ")
    }
}

fn session_path(id: &str, rest: &str) -> String {
    format!("/session/{}{rest}", segment(id))
}

/// Percent-encodes an id as one segment of a path.
fn segment(id: &str) -> PercentEncode<'_> {
    utf8_percent_encode(id, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_never_changes_the_path_it_stands_in() {
        assert_eq!(session_path("ses_1aZ", "/abort"), "/session/ses_1aZ/abort");
        assert_eq!(session_path("../global?x#", ""), "/session/%2E%2E%2Fglobal%3Fx%23");
    }

    #[test]
    fn errors_are_read_in_every_shape_the_server_has() {
        assert_eq!(
            message_in(br#"{"name":"NotFoundError","data":{"message":"Session not found: x"}}"#),
            "NotFoundError: Session not found: x"
        );
        assert_eq!(
            message_in(br#"{"_tag":"PermissionNotFoundError","message":"Permission request not found: x"}"#),
            "PermissionNotFoundError: Permission request not found: x"
        );
        assert_eq!(message_in(b"bad gateway"), "bad gateway");
    }
}
