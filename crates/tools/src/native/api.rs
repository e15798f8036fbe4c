//! Requests to a model: sends them, retries them if that is useful, and streams the response.

use std::{error::Error, time::Duration};

use jiff::Timestamp;
use ralph_state::http_client;
use reqwest::{Client, RequestBuilder, Response, header::HeaderValue};
use serde_json::Value;

use super::{
    endpoint::{AgentOptions, Endpoint},
    failure::{ApiFailure, FailureClass, retry_after},
    message::ModelRequest,
    wire::{AnswerPiece, ModelReply, Wire},
};

const CONNECTING: Duration = Duration::from_secs(15);
/// The longest silence of a server. Models think, and local ones process long prompts, for minutes.
const SILENCE: Duration = Duration::from_secs(540);
/// The time limit for listing models.
const LISTING: Duration = Duration::from_secs(20);
/// Most bytes of a response that is not a stream.
const BODY_CAP_BYTES: usize = 256 * 1024;
/// Most model names in an error message.
const NAMES_CAP: usize = 8;

#[derive(Debug)]
pub(super) struct Api {
    client: Client,
    endpoint: Endpoint,
    retries: u32,
}

/// Observes a request.
pub(super) trait StreamListener {
    /// A piece of the response has arrived.
    fn take_piece(&mut self, piece: AnswerPiece);
    /// The request failed and is retried after a pause. The response so far is void.
    fn note_retry(&mut self, failure: &ApiFailure, attempt: u32, pause: Duration);
}

impl Api {
    /// Creates the client of the configured endpoint.
    ///
    /// # Errors
    /// A [`ApiFailure`] if this system cannot make connections.
    pub(super) fn new(options: &AgentOptions) -> Result<Self, ApiFailure> {
        let client = http_client::encrypted_if(options.endpoint.is_encrypted())
            .connect_timeout(CONNECTING)
            .read_timeout(SILENCE)
            .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            client: client.map_err(|error| network(&error))?,
            endpoint: options.endpoint.clone(),
            retries: options.retries,
        })
    }

    /// Sends a request, with retries. Cancel safe: dropping the future closes the connection.
    ///
    /// # Errors
    /// The last [`ApiFailure`].
    pub(super) async fn ask(
        &self,
        request: ModelRequest<'_>,
        listener: &mut impl StreamListener,
    ) -> Result<ModelReply, ApiFailure> {
        let body = self.endpoint.body(request);
        let mut attempt = 0;
        loop {
            let failure = match self.ask_once(&body, listener).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            let Some(pause) = failure.pause(attempt).filter(|_| attempt < self.retries) else {
                return Err(failure);
            };
            attempt += 1;
            listener.note_retry(&failure, attempt, pause);
            tokio::time::sleep(pause).await;
        }
    }

    async fn ask_once(&self, body: &Value, listener: &mut impl StreamListener) -> Result<ModelReply, ApiFailure> {
        let request = self.client.post(self.url(self.endpoint.wire.path())).json(body);
        let mut response = self.send(request).await?;
        let mut decoder = self.endpoint.wire.decoder();
        while !decoder.is_over() {
            match response.chunk().await.map_err(|error| network(&error))? {
                None => break,
                Some(bytes) => decoder
                    .feed(&bytes)?
                    .into_iter()
                    .for_each(|piece| listener.take_piece(piece)),
            }
        }
        decoder.end()
    }

    /// The name of the server's only model, used if none is configured.
    ///
    /// # Errors
    /// A [`ApiFailure`] that lists the names, if there is not exactly one.
    pub(super) async fn only_model(&self) -> Result<String, ApiFailure> {
        let request = self.client.get(self.url("/models")).timeout(LISTING);
        let body = capped(self.send(request).await?).await;
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        let listed = body["data"].as_array().into_iter().flatten();
        let names: Vec<&str> = listed.filter_map(|model| model["id"].as_str()).collect();
        match names[..] {
            [only] => Ok(only.to_owned()),
            [] => Err(ApiFailure::new(
                FailureClass::Model,
                "no model is named, and the server lists none: `--model NAME` names one",
            )),
            _ => {
                let more = if names.len() > NAMES_CAP { ", …" } else { "" };
                let some = names[..names.len().min(NAMES_CAP)].join(", ");
                Err(ApiFailure::new(
                    FailureClass::Model,
                    format!("no model is named: `--model NAME` names one of {some}{more}"),
                ))
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.base)
    }

    /// Sends a request and returns its response, unless that has an error status.
    async fn send(&self, request: RequestBuilder) -> Result<Response, ApiFailure> {
        let request = match self.endpoint.wire {
            Wire::Chat | Wire::Responses => request,
            Wire::Anthropic => request.header("anthropic-version", "2023-06-01"),
        };
        let request = match &self.endpoint.key {
            None => request,
            Some(key) => {
                let (name, value) = match self.endpoint.wire {
                    Wire::Chat | Wire::Responses => ("authorization", format!("Bearer {}", key.secret)),
                    Wire::Anthropic => ("x-api-key", key.secret.clone()),
                };
                let mut value = HeaderValue::from_str(&value).map_err(|_| {
                    let text = format!("invalid API key: {} has characters that no key has", key.variable);
                    ApiFailure::new(FailureClass::Auth, text)
                })?;
                value.set_sensitive(true);
                request.header(name, value)
            }
        };
        let response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let wait = retry_after(header, Timestamp::now());
        let failure = ApiFailure::from_response(status.as_u16(), &capped(response).await, wait);
        Err(self.with_next_step(failure))
    }

    /// Adds advice to the text of a failure.
    fn with_next_step(&self, failure: ApiFailure) -> ApiFailure {
        let step = match (failure.class, &self.endpoint.key) {
            (FailureClass::Auth, Some(key)) => format!(" ({} refused the key in {})", self.endpoint.base, key.variable),
            (FailureClass::Auth, None) => format!(" ({} takes a key: set RALPH_NATIVE_API_KEY)", self.endpoint.base),
            (FailureClass::Model, _) => format!(
                " ({}: `--model` names another model, `native.baseUrl` another server)",
                self.endpoint.base
            ),
            _ => return failure,
        };
        ApiFailure {
            text: failure.text + &step,
            ..failure
        }
    }
}

/// The beginning of a response's body, up to a read error.
async fn capped(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > BODY_CAP_BYTES {
            bytes.truncate(BODY_CAP_BYTES);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A failure of the connection, described by its innermost cause: the outer ones are details of the HTTP client.
fn network(error: &reqwest::Error) -> ApiFailure {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let server = error.url().filter(|_| error.is_connect());
    let server = server.map_or_else(String::new, |url| format!(" ({url})"));
    ApiFailure::new(FailureClass::Network, format!("connection error: {cause}{server}"))
}
